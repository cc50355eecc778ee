"""The façade: every verb of Perdure, and the one place where its parts are put together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO, TypeAlias, TypeGuard, Unpack, cast

from perdure import settings as configuration
from perdure.clock import Clock, system_clock
from perdure.draft import Clean, Fields, Filters, check_fields, check_filters, check_namespace, check_text
from perdure.embed import local
from perdure.embed.port import Embedder
from perdure.errors import AmbiguousReference, EmbedderUnavailable, InvalidInput, NotFound, UnknownChoice
from perdure.ids import parse_reference
from perdure.lifecycle.author import Author
from perdure.lifecycle.use import UseCounter
from perdure.model import Finding, Imported, Page, Recall, Record, Remembered, Revision, State, Worked
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
        given = settings or configuration.load(
            store=store if isinstance(store, str | os.PathLike) else None,
            namespace=namespace,
            embedder=embedder if isinstance(embedder, str) else None,
            actor=actor,
            session=session,
        )
        self._namespace = check_namespace(namespace or given.namespace)
        author = Author(actor or given.actor, surface, session or given.session, clock)
        self._parts = _assemble(store, embedder, given, author)

    # -- write ---------------------------------------------------------------------------------------------------

    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> Remembered:
        """Store a memory. The same text again is an observation of the one that is there; the same key a new version.

        A call repeated with the same `idempotency_key` does nothing and answers what the first one stored.
        """
        from perdure.lifecycle.remember import remember

        parts = self._parts
        clean, notes = self._clean({"text": check_text(text)}, fields)
        request = check_text(idempotency_key, "idempotency_key")[:200] if idempotency_key is not None else None
        done = remember(parts.store, parts.embedder, parts.author, self._namespace, clean, request)
        return self._done(done, notes)

    def update(self, ref: Reference, *, text: str | None = None, **fields: Unpack[Fields]) -> Remembered:
        """Correct a memory. New text, title or reasoning makes a new version; anything else a revision of the same."""
        from perdure.lifecycle.change import update

        clean, notes = self._clean({} if text is None else {"text": check_text(text)}, fields)
        done = update(self._parts.store, self._parts.embedder, self._parts.author, self._find(ref), clean)
        return self._done(done, notes)

    def forget(self, ref: Reference, mode: Literal["soft"] = "soft") -> Record:
        """Forget a memory: it leaves every list and every search at once, and `restore` brings it back."""
        from perdure.lifecycle.change import forget

        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {mode!r:.40}.", remedy="Use mode='soft'.")
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

        if isinstance(namespaces, str):
            raise InvalidInput("namespaces must be a list of names.", remedy="Write namespaces=['…'].")
        parts = self._parts
        now = parts.author.clock()
        found = parts.recaller().recall(
            query,
            [check_namespace(name) for name in namespaces] if namespaces is not None else [self._namespace],
            check_filters(filters, parts.settings.categories),
            limit=_check_limit(limit),
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
        most = _check_limit(limit)
        wanted = check_filters(filters, self._parts.settings.categories)
        records = self._parts.store.page(self._namespace, wanted, after=after, limit=most + 1, newest=newest)
        more = len(records) > most
        return Page(tuple(records[:most]), records[most - 1].number if more else None)

    def history(self, ref: Reference) -> list[Revision]:
        """Everything that ever happened to a memory, oldest first, also when it is forgotten."""
        return self._parts.store.revisions(self._namespace, self._find(ref).number)

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
            return Worked(0, 0, (" ".join(filter(None, (finding.sentence, finding.remedy))),))
        return embed_pending(parts.store, parts.embedder, limit, progress)

    def export(
        self,
        target: str | os.PathLike[str] | TextIO,
        *,
        states: Sequence[State] = ("active",),
        progress: Progress | None = None,
    ) -> int:
        """Write this namespace as JSON Lines; answers how many. A path is replaced whole or not at all."""
        from perdure.lifecycle.transfer import export, replacing

        parts = self._parts
        with ExitStack() as stack:
            named = isinstance(target, str | os.PathLike)
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
        from perdure.lifecycle.transfer import drafts_of, import_drafts, lines_of, rereadable

        parts = self._parts

        def drafts(items: Iterable[Mapping[str, Any]]) -> Iterator[Clean]:
            rules = parts.settings
            return drafts_of(items, rules.categories, trusted=trusted, redact=rules.redact)

        with ExitStack() as stack:
            if isinstance(source, str | os.PathLike) or _is_stream(source):
                lines = stack.enter_context(rereadable(source))
                total = sum(1 for _ in drafts(lines_of(lines)))
                lines.seek(0)
                checked = drafts(lines_of(lines))
            else:
                checked = list(drafts(cast("Iterable[Mapping[str, Any]]", source)))
                total = len(checked)
            return import_drafts(parts.store, parts.author, self._namespace, checked, total, progress)

    def doctor(self, *, repair: bool = False) -> Iterator[Finding]:
        """Look at everything that can be wrong; with `repair`, first rebuild what is derived from the records."""
        parts = self._parts
        if parts.embedder is None:
            yield _why_no_embedder(parts.settings)
        else:
            yield Finding("embedder", "ok", f"Recall by meaning works: {parts.embedder.generation.name}.")
        if repair:
            yield from parts.store.repair()
        yield from parts.store.check()

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
        return redact_fields(clean) if self._parts.settings.redact else (clean, ())

    def _done(self, done: Remembered, notes: tuple[str, ...]) -> Remembered:
        self._parts.uses.flush(patience=0)
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
        if not closed:
            self.uses.flush(patience=_CLOSE_PATIENCE)
            if self._owned:
                self.store.close()


def _assemble(
    store: str | os.PathLike[str] | Store | None,
    embedder: Embedder | Literal["local", "none"] | None,
    settings: Settings,
    author: Author,
) -> _Parts:
    chosen = _local_embedder(settings) if embedder is None or isinstance(embedder, str) else embedder
    if store is not None and not isinstance(store, str | os.PathLike):
        return _Parts(store, owned=False, embedder=chosen, settings=settings, author=author)
    from perdure.store.sqlite.store import SqliteStore

    opened = SqliteStore.open(store or settings.store, busy_seconds=settings.busy_seconds, clock=author.clock)
    return _Parts(opened, owned=True, embedder=chosen, settings=settings, author=author)


def _local_embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none" or local.unavailable() is not None:
        return None
    return local.LocalEmbedder(settings.cache)


def _why_no_embedder(settings: Settings) -> Finding:
    if settings.embedder == "none":
        return Finding("embedder", "ok", "Recall by meaning is switched off: embedder is `none`.")
    reason = local.unavailable() or EmbedderUnavailable()
    return Finding("embedder", "warning", reason.sentence, reason.remedy)


def _is_stream(source: TextIO | Iterable[Mapping[str, Any]]) -> TypeGuard[TextIO]:
    return hasattr(source, "readline")


def _check_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT}, not {limit!r:.40}.")
    return limit
