"""The verbs that change a memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from perdure.errors import InvalidInput
from perdure.memory.core import Core, Reference
from perdure.model import Record, Remembered
from perdure.validation import (
    Fields,
    KeyedFields,
    RecordFields,
    check_fields,
    check_filters,
    check_int,
    check_single_line,
    check_text,
)


class Writing(Core):
    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> Remembered:
        """Store a memory. The same text again is an observation of the one that is there; the same key a new version.

        A call repeated with the same `idempotency_key` does nothing and answers what the first one stored.
        """
        from perdure.lifecycle.remember import Saying, remember

        clean, notes = self._clean({"text": check_text(text)}, fields)
        done = remember(self._services, self._namespace, Saying(clean, _request(idempotency_key)))
        return self._said(done, notes)

    def upsert(
        self,
        key: str,
        text: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[KeyedFields],
    ) -> Remembered:
        """Store a memory under its key (`type:identifier`): version 1, or a new version of what is there, also when it
        says the same, and also when it was forgotten.

        With `expected_version` only if that is the version it has now; 0 means that no such memory may be alive.
        """
        from perdure.lifecycle.remember import Saying, remember

        clean, notes = self._clean({"text": check_text(text)}, {**fields, "key": _named(key)})
        expected = None if expected_version is None else check_int(expected_version, "expected_version", 0, 2**31)
        saying = Saying(clean, _request(idempotency_key), afresh=True, expected=expected)
        return self._said(remember(self._services, self._namespace, saying), notes)

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
        from perdure.lifecycle.update import update

        clean, notes = self._clean({} if text is None else {"text": check_text(text)}, fields)
        gained, lost = check_filters({"tags": add_tags}).tags, check_filters({"tags": remove_tags}).tags

        def correct(record: Record) -> RecordFields:
            relative: RecordFields = {}
            if gained or lost:
                tags = dict.fromkeys((*clean.get("tags", record.tags), *gained))
                relative["tags"] = check_fields({"tags": [tag for tag in tags if tag not in lost]})["tags"]
            if clean.get("metadata"):
                relative["metadata"] = {**record.metadata, **clean["metadata"]}
            return clean | relative

        done = update(self._services, self._find(ref), correct)
        return self._said(done, notes)

    def restore(self, ref: Reference) -> Record:
        """Bring a forgotten, expired or evicted memory back, as it was."""
        from perdure.lifecycle.update import restore

        return restore(self._services, self._find(ref)).record

    def _said(self, done: Remembered, notes: tuple[str, ...]) -> Remembered:
        if done.record.tier == "constitutional" and done.outcome != "repeated":
            from perdure.lifecycle.constitution import over_budget

            notes = (*notes, *over_budget(self._services, done.record))
        return self._done(done, notes)


def _request(idempotency_key: str | None) -> str | None:
    return None if idempotency_key is None else check_single_line(idempotency_key, "idempotency_key")


def _named(key: str | None) -> str:
    if key is None:
        raise InvalidInput("A memory is upserted under a key.", remedy="Write it as type:identifier, or use remember.")
    return key
