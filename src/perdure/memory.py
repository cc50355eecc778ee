"""The façade: every verb of Perdure, and the one place where its parts are put together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO, TypeAlias, TypeGuard, Unpack, cast
from weakref import WeakSet

from perdure import settings as configuration
from perdure.clock import Clock, system_clock
from perdure.draft import (
    Clean,
    Fields,
    Filters,
    check_fields,
    check_filters,
    check_line,
    check_namespace,
    check_namespaces,
    check_query,
    check_text,
    check_whole,
)
from perdure.embed import local
from perdure.embed.port import Embedder
from perdure.errors import (
    AmbiguousReference,
    EmbedderUnavailable,
    ExportFailed,
    ImportFailed,
    InvalidInput,
    NotFound,
    StoreDamaged,
    UnknownChoice,
    shown,
)
from perdure.ids import MAX_NUMBER, parse_reference
from perdure.lifecycle.author import Author
from perdure.lifecycle.use import UseCounter
from perdure.model import (
    INDEXED_STATES,
    Exported,
    Finding,
    Imported,
    Page,
    Recall,
    Record,
    Remembered,
    Revision,
    State,
    Worked,
)
from perdure.settings import Settings
from perdure.store.port import Store, StoreStats

if TYPE_CHECKING:
    from perdure.recall.pipeline import Recaller

Reference: TypeAlias = int | str
Progress: TypeAlias = Callable[[int, int | None], None]

MAX_LIMIT: Final = 100
_CLOSE_PATIENCE: Final = 0.25


class Memory:
    """One durable memory: a local file, or whatever else implements the store.

    Without arguments it opens the user's own memory. It is safe to share between threads, and any number of
    processes may open the same file. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Store | None = None,
        *,
        namespace: str | None = None,
        embedder: Embedder | Literal["local", "none"] | None = None,
        settings: Settings | None = None,
        actor: str | None = None,
        surface: str = "python",
        session: str | None = None,
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
        author = Author(
            check_line(rules.actor, "actor"),
            check_line(surface, "surface"),
            check_line(rules.session, "session") if rules.session is not None else None,
            clock,
        )
        self._parts = _assemble(store, embedder, rules, author)

    # -- write ---------------------------------------------------------------------------------------------------

    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> Remembered:
        """Store a memory. The same text again is an observation of the one that is there; the same key a new version.

        A call repeated with the same `idempotency_key` does nothing and answers what the first one stored.
        """
        from perdure.lifecycle.remember import remember

        parts = self._parts
        clean, notes = self._clean({"text": check_text(text)}, fields)
        request = check_line(idempotency_key, "idempotency_key") if idempotency_key is not None else None
        done = remember(parts.store, parts.embedder, parts.author, self._namespace, clean, request)
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

        done = update(self._parts.store, self._parts.embedder, self._parts.author, self._find(ref), correct)
        return self._done(done, notes)

    def forget(self, ref: Reference, mode: Literal["soft"] = "soft") -> Record:
        """Forget a memory: it leaves every list and every search at once, and `restore` brings it back."""
        from perdure.lifecycle.change import forget

        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use mode='soft'.")
        return forget(self._parts.store, self._parts.author, self._find(ref))

    def restore(self, ref: Reference) -> Record:
        """Bring a forgotten memory back, exactly as it was."""
        from perdure.lifecycle.change import restore

        return restore(self._parts.store, self._parts.author, self._find(ref))

    # -- read ----------------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        **filters: Unpack[Filters],
    ) -> Recall:
        """The memories that answer the query best, each with its reasons. Never waits for a writer."""
        from perdure.recall.recipe import recipe_named

        parts = self._parts
        now = parts.author.clock()
        wanted = check_filters(filters, parts.settings.categories)
        if not set(wanted.states) <= set(INDEXED_STATES):
            raise UnknownChoice(
                f"Recall does not look into memories that are {', '.join(wanted.states)}.",
                remedy=f"It can look into {' and '.join(INDEXED_STATES)} ones; `list` shows all.",
            )
        found = parts.recaller().recall(
            check_query(query),
            [self._namespace] if namespaces is None else check_namespaces(namespaces),
            wanted,
            limit=check_whole(limit, "limit", 1, MAX_LIMIT),
            recipe=recipe_named(recipe or parts.settings.recipe),
            now=now,
        )
        parts.uses.recalled((hit.record for hit in found), now)
        return found

    def get(self, ref: Reference) -> Record:
        """One memory by its number, id, content hash or key."""
        record = self._find(ref)
        if record.state in {"deleted", "evicted", "expired"}:
            raise NotFound(
                f"Memory #{record.number} is {record.state}.",
                remedy=f"Bring it back with `perdure restore {record.number}`.",
            )
        self._parts.uses.accessed(record, self._parts.author.clock())
        return record

    def list(
        self, *, limit: int = 20, after: int | None = None, newest: bool = True, **filters: Unpack[Filters]
    ) -> Page:
        """Memories by number, newest first. `Page.next` is the `after` of the following page."""
        most = check_whole(limit, "limit", 1, MAX_LIMIT)
        if after is not None:
            check_whole(after, "after", 0, MAX_NUMBER)
        wanted = check_filters(filters, self._parts.settings.categories)
        records = self._parts.store.page(self._namespace, wanted, after=after, limit=most + 1, newest=newest)
        more = len(records) > most
        return Page(tuple(records[:most]), records[most - 1].number if more else None)

    def history(self, ref: Reference) -> list[Revision]:
        """Everything that ever happened to a memory, oldest first, also when it is forgotten."""
        store, reference = self._parts.store, parse_reference(ref)
        try:
            number = self._find(ref).number
        except StoreDamaged:
            # The log may still hold what the record lost; by its number it can be read without the record.
            if reference.number is None:
                raise
            number = reference.number
        return store.revisions(self._namespace, number)

    def stats(self) -> StoreStats:
        """What the store holds, per namespace."""
        embedder = self._parts.embedder
        return self._parts.store.stats(embedder.generation if embedder else None)

    # -- the rest ------------------------------------------------------------------------------------------------

    def namespace(self, name: str) -> Memory:
        """The same memory seen as another namespace. It shares this one's store; closing either closes both."""
        other = object.__new__(Memory)
        other._namespace = check_namespace(name)
        other._parts = self._parts
        return other

    def work(self, *, limit: int | None = None, progress: Progress | None = None) -> Worked:
        """Do what is outstanding, in every namespace: give their vectors to the memories that have none."""
        from perdure.lifecycle.work import embed_pending

        parts = self._parts
        parts.uses.flush(patience=_CLOSE_PATIENCE)
        if parts.embedder is None:
            finding = _why_no_embedder(parts.settings)
            waiting = sum(space.pending for space in self.stats().namespaces)
            return Worked(0, waiting, (" ".join(filter(None, (finding.sentence, finding.remedy))),))
        return embed_pending(parts.store, parts.embedder, limit, progress)

    def export(
        self,
        target: str | os.PathLike[str] | TextIO,
        *,
        states: Sequence[State] = ("active",),
        progress: Progress | None = None,
    ) -> Exported:
        """Write this namespace as JSON Lines. A path is replaced whole or not at all."""
        from perdure.lifecycle.transfer import export, replacing

        parts = self._parts
        with ExitStack() as stack:
            named = isinstance(target, str | os.PathLike)
            if not named and not hasattr(target, "write"):
                raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
            stream = stack.enter_context(replacing(target)) if named else target
            wanted = check_filters({"states": states}).states
            return export(parts.store, self._namespace, stream, wanted, parts.author.clock(), progress)

    def import_(
        self,
        source: str | os.PathLike[str] | TextIO | Iterable[Mapping[str, Any]],
        *,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Read memories from JSON Lines or from mappings. All are checked first: one bad record, and none is stored.

        `trusted` keeps the source, trust, times and counts that an export of your own carries.
        """
        from perdure.lifecycle.transfer import Incoming, import_records, incoming_of, lines_of, rereadable

        parts = self._parts

        def checked_of(items: Iterable[Mapping[str, Any]]) -> Iterator[Incoming]:
            rules = parts.settings
            return incoming_of(items, rules.categories, trusted=trusted, redact=rules.redact)

        with ExitStack() as stack:
            if isinstance(source, str | os.PathLike) or _is_stream(source):
                lines = stack.enter_context(rereadable(source))
                total = sum(1 for _ in checked_of(lines_of(lines)))
                lines.seek(0)
                checked = checked_of(lines_of(lines))
            else:
                checked = list(checked_of(_mappings(source)))
                total = len(checked)
            return import_records(parts.store, parts.author, self._namespace, checked, total, progress)

    def doctor(self, *, repair: bool = False) -> Iterator[Finding]:
        """Look at everything that can be wrong. With `repair`, first rebuild what is derived, and bring damaged records
        back from their history where it can be proven.
        """
        parts = self._parts
        repaired = list(parts.store.repair()) if repair else []
        embedder = parts.embedder
        model = (
            Finding("embedder", "ok", f"Recall by meaning works: {embedder.generation.name}.")
            if embedder
            else _why_no_embedder(parts.settings)
        )
        return chain((model,), repaired, parts.store.check())

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory {self._namespace!r}>"

    def _find(self, ref: Reference) -> Record:
        found = self._parts.store.find(self._namespace, parse_reference(ref))
        if not found:
            raise NotFound(f"No memory {ref!r:.80} in namespace {self._namespace!r}.")
        if len(found) > 1:
            listed = "; ".join(f"#{record.number} {record.key or record.text[:40]!r}" for record in found[:5])
            raise AmbiguousReference(f"{ref!r:.80} may mean {len(found)} memories: {listed}.")
        return found[0]

    def _clean(self, text: Clean, fields: Mapping[str, object]) -> tuple[Clean, tuple[str, ...]]:
        from perdure.lifecycle.redaction import redact_fields

        clean = text | check_fields(fields, self._parts.settings.categories)
        if clean.get("metadata", {}) is None:
            clean["metadata"] = {}
        return redact_fields(clean) if self._parts.settings.redact else (clean, ())

    def _done(self, done: Remembered, notes: tuple[str, ...]) -> Remembered:
        self._parts.uses.flush_some()
        notes = (*notes, *done.notes, *(self._parts.say_once() if done.pending else ()))
        return replace(done, notes=notes) if notes else done


class _Parts:
    """What a memory and its namespaces share: the store, the embedder, and what is built from them when needed."""

    def __init__(
        self, store: Store, *, owned: bool, embedder: Embedder | None, settings: Settings, author: Author
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.settings = settings
        self.author = author
        self.uses = UseCounter(store)
        self._owned = owned
        self._closed = False
        self._said = False
        self._lock = threading.Lock()
        self._recaller: Recaller | None = None
        _alive.add(self)

    def renew(self) -> None:
        """In a forked child: the parent's counts are the parent's, and a lock that a thread of it held stays held."""
        self.uses = UseCounter(self.store)
        self._lock = threading.Lock()
        self._recaller = None
        if isinstance(self.embedder, local.LocalEmbedder):
            self.embedder = _local_embedder(self.settings)

    def say_once(self) -> tuple[str, ...]:
        """That memories wait for a model that is not there; nobody needs to hear it with each of them."""
        if self._said or self.embedder is not None or self.settings.embedder == "none":
            return ()
        self._said = True
        finding = _why_no_embedder(self.settings)
        return (f"Stored without a vector, so found by keyword alone. {finding.sentence} {finding.remedy}",)

    def recaller(self) -> Recaller:
        from perdure.recall.pipeline import Recaller

        with self._lock:
            if self._recaller is None:
                size = int(self.settings.index_megabytes * (1 << 20))
                self._recaller = Recaller(self.store, self.embedder, memory_bytes=size)
            return self._recaller

    def close(self) -> None:
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        try:
            self.uses.flush(patience=_CLOSE_PATIENCE)
        finally:
            if self._owned:
                self.store.close()


def _assemble(
    store: str | os.PathLike[str] | Store | None, embedder: Embedder | str | None, rules: Settings, author: Author
) -> _Parts:
    chosen = _local_embedder(rules) if embedder is None or isinstance(embedder, str) else embedder
    if store is not None and not isinstance(store, str | os.PathLike):
        if not hasattr(store, "keyword"):
            raise InvalidInput(f"{shown(store)} is not a store.", remedy="Give a path, or nothing for your own memory.")
        return _Parts(store, owned=False, embedder=chosen, settings=rules, author=author)
    from perdure.store.sqlite.store import SqliteStore

    opened = SqliteStore.open(rules.store, busy_seconds=rules.busy_seconds, clock=author.clock)
    return _Parts(opened, owned=True, embedder=chosen, settings=rules, author=author)


def _local_embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none" or local.unavailable() is not None:
        return None
    return local.LocalEmbedder(settings.cache)


def _why_no_embedder(settings: Settings) -> Finding:
    if settings.embedder == "none":
        return Finding("embedder", "ok", "Recall by meaning is switched off: embedder is `none`.")
    reason = local.unavailable() or EmbedderUnavailable()
    return Finding("embedder", "warning", reason.sentence, reason.remedy)


def _mappings(source: object) -> Iterable[Mapping[str, Any]]:
    if not isinstance(source, Iterable):
        raise ImportFailed(f"{shown(source)} holds no records.", remedy="Give a path, a file or mappings.")
    return cast("Iterable[Mapping[str, Any]]", source)


def _is_stream(source: TextIO | Iterable[Mapping[str, Any]]) -> TypeGuard[TextIO]:
    return hasattr(source, "readline")


_alive: Final[WeakSet[_Parts]] = WeakSet()


def _renew_after_fork() -> None:
    for parts in list(_alive):
        parts.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
