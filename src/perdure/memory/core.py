"""What every group of verbs stands on: one namespace of one store, found, checked and closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

from perdure import settings as configuration
from perdure.clock import Clock, system_clock
from perdure.embed.port import Embedder
from perdure.errors import AmbiguousReference, NotFound, UnknownChoice, shown
from perdure.ids import parse_reference
from perdure.lifecycle.write_context import WriteContext
from perdure.model import Record, Remembered
from perdure.services import Services
from perdure.settings import Settings
from perdure.store.port import Store
from perdure.validation import RecordFields, check_fields, check_namespace, check_single_line

Reference: TypeAlias = int | str
Progress: TypeAlias = Callable[[int, int | None], None]


class Core:
    def __init__(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        store: str | os.PathLike[str] | Store | None = None,
        *,
        namespace: str | None = None,
        embedder: Embedder | Literal["local", "none"] | None = None,
        settings: Settings | None = None,
        actor: str | None = None,
        surface: str = "python",
        session: str | None = None,
        writer: Literal["person", "model"] = "person",
        clock: Clock = system_clock,
    ) -> None:
        said: dict[str, Any] = {
            "store": store if isinstance(store, str | os.PathLike) else None,
            "namespace": namespace,
            "embedder": embedder if isinstance(embedder, str) else None,
            "actor": actor,
            "session": session,
        }
        rules = configuration.override(settings, **said) if settings else configuration.load(**said)
        self._namespace = check_namespace(rules.namespace)
        if writer not in {"person", "model"}:
            raise UnknownChoice(f"There is no writer {shown(writer)}.", remedy="Use 'person' or 'model'.")
        context = WriteContext(
            check_single_line(rules.actor, "actor"),
            check_single_line(surface, "surface"),
            check_single_line(rules.session, "session") if rules.session is not None else None,
            clock,
            is_person=writer == "person",
        )
        self._services = Services(store, embedder, rules, context)

    def namespace(self, name: str) -> Self:
        """The same memory seen as another namespace. It shares this one's store; closing either closes both."""
        other = object.__new__(type(self))
        other._namespace = check_namespace(name)
        other._services = self._services
        return other

    def close(self) -> None:
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory {self._namespace!r}>"

    def _find(self, ref: Reference) -> Record:
        found = self._services.store.find(self._namespace, parse_reference(ref))
        if not found:
            raise NotFound(f"No memory {ref!r:.80} in namespace {self._namespace!r}.")
        if len(found) > 1:
            listed = "; ".join(f"#{record.number} {record.key or record.text[:40]!r}" for record in found[:5])
            raise AmbiguousReference(f"{ref!r:.80} may mean {len(found)} memories: {listed}.")
        return found[0]

    def _clean(self, text: RecordFields, fields: Mapping[str, object]) -> tuple[RecordFields, tuple[str, ...]]:
        from perdure.lifecycle.redaction import redact_fields

        clean = text | check_fields(fields, self._services.settings.categories)
        if clean.get("metadata", {}) is None:
            clean["metadata"] = {}
        return redact_fields(clean) if self._services.settings.redact else (clean, ())

    def _done(self, done: Remembered, notes: tuple[str, ...]) -> Remembered:
        self._services.usage.flush_some()
        notes = (*notes, *done.notes, *(self._services.note_missing_embedder() if done.vector_pending else ()))
        return replace(done, notes=notes) if notes else done
