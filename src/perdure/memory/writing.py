"""The verbs that change a memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from perdure.draft import Clean, Fields, check_fields, check_filters, check_line, check_text
from perdure.memory.core import Core, Reference
from perdure.model import Record, Remembered


class Writing(Core):
    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> Remembered:
        """Store a memory. The same text again is an observation of the one that is there; the same key a new version.

        A call repeated with the same `idempotency_key` does nothing and answers what the first one stored.
        """
        from perdure.lifecycle.remember import remember

        clean, notes = self._clean({"text": check_text(text)}, fields)
        request = check_line(idempotency_key, "idempotency_key") if idempotency_key is not None else None
        done = remember(self._parts.engine, self._namespace, clean, request)
        return self._done(done, notes)

    def update(
        self,
        ref: Reference,
        *,
        text: str | None = None,
        add_tags: Iterable[str] = (),
        remove_tags: Iterable[str] = (),
        **fields: Unpack[Fields],
    ) -> Remembered:
        """Correct a memory. Other words (text, title, abstract, summary, reasoning) make a new version, anything else
        a revision of the same one. `metadata` changes the entries it names; an empty one removes them all.
        """
        from perdure.lifecycle.change import update

        clean, notes = self._clean({} if text is None else {"text": check_text(text)}, fields)
        gained, lost = check_filters({"tags": add_tags}).tags, check_filters({"tags": remove_tags}).tags

        def correct(record: Record) -> Clean:
            relative: Clean = {}
            if gained or lost:
                tags = dict.fromkeys((*clean.get("tags", record.tags), *gained))
                relative["tags"] = check_fields({"tags": [tag for tag in tags if tag not in lost]})["tags"]
            if clean.get("metadata"):
                relative["metadata"] = {**record.metadata, **clean["metadata"]}
            return clean | relative

        done = update(self._parts.engine, self._find(ref), correct)
        return self._done(done, notes)

    def restore(self, ref: Reference) -> Record:
        """Bring a forgotten memory back, exactly as it was."""
        from perdure.lifecycle.change import restore

        return restore(self._parts.engine, self._find(ref))
