"""What a memory and its namespaces share: the store, the embedder, the settings, who writes, and what is built of them.

This is the composition root: it alone chooses which store and which embedder are used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, Literal

from perdure import lifecycle
from perdure.after_fork import renew_after_fork
from perdure.clock import Clock, system_clock
from perdure.embed.choice import Chosen, EmbedderChoice
from perdure.embed.port import Embedder, Generation, check_embedder, why_unavailable
from perdure.errors import EmbedderUnavailable, InvalidInput, PerdureError, SettingsInvalid, StoreError, shown
from perdure.lifecycle.usage import UseCounter
from perdure.lifecycle.write_context import WriteContext
from perdure.model import Filter, Finding, Recall
from perdure.remedies import Flag, Remedy
from perdure.settings import Settings
from perdure.store.capacity import EvictionRule
from perdure.store.port import Store
from perdure.text.tokens import TokenCounter, counter_by, counter_of
from perdure.values import replace, value_class

if TYPE_CHECKING:
    from perdure.auth.tokens import Tokens
    from perdure.embed.judge import PairVerdict
    from perdure.llm.port import LanguageModel
    from perdure.model import Migrated
    from perdure.providers.access import Access
    from perdure.recall.recaller import Recaller
    from perdure.recall.recipe import Recipe
    from perdure.recall.triggers import Triggers
    from perdure.store.postgres.address import Address
    from perdure.store.transfer import CopiedNamespace
    from perdure.text.secrets import Redact

CLOSE_PATIENCE: Final = 0.25


@value_class(frozen=False)
class Indexes:
    """What is built when somebody first looks for something, and shared by all who write."""

    recaller: Recaller | None = None
    triggers: Triggers | None = None


# Who lives for a moment asks a server for the vector of a question, before it loads a model for that. A host starts one
# MCP server for every window: the first has the model for all.
_SHARING: Final[Mapping[str, Literal["asks", "serves", "both"]]] = {
    "hook": "asks",
    "cli": "asks",
    "mcp": "both",
    "http": "serves",
}


class Services:
    """One set of services serves a memory, all its namespaces and all its threads."""

    def __init__(
        self,
        store: str | os.PathLike[str] | Store | None,
        embedder: Embedder | str | None,
        settings: Settings,
        context: WriteContext,
        *,
        count_tokens: Callable[[str], int] | None = None,
        create: bool = True,
    ) -> None:
        self.settings = settings
        self.context = context
        self._given = None if embedder is None or isinstance(embedder, str) else check_embedder(embedder)
        # What a caller names must be there. With what is in the settings, memories are stored and found by words.
        if isinstance(embedder, str) and ":" in settings.embedder:
            from perdure.providers.plugins import require_provider

            require_provider("perdure.embedders", settings.embedder.partition(":")[0])
        self._own_counter = None if count_tokens is None else counter_by(count_tokens)
        self.eviction_rule = EvictionRule(settings.importance_low, settings.importance_high)
        self.grace = timedelta(days=min(settings.grace_days, timedelta.max.days))
        self.recipes: dict[str, Recipe] = {}
        if settings.recipes:
            from perdure.recall.cookbook import own_recipes

            self.recipes = own_recipes(settings.recipes)
        self._owns_store = store is None or isinstance(store, str | os.PathLike)
        if store is None or isinstance(store, str | os.PathLike):
            store = open_store(settings, clock=context.clock, create=create)
        elif not hasattr(store, "read"):
            raise InvalidInput(f"{shown(store)} is not a store.", remedy="Give a path, or nothing for your own memory.")
        self.store: Store = store
        self.usage = UseCounter(store)
        self.embedders = EmbedderChoice(store, self._open_target, self._open_earlier)
        self._lock = threading.Lock()
        self._indexes = Indexes()
        self._language_models: dict[str, LanguageModel] = {}
        self._closed = False
        self._said_no_vectors = False
        renew_after_fork(self)

    @property
    def shown(self) -> str:
        """Where the store is, for people: as it was named, or as it says itself."""
        return self.settings.store.shown if self._owns_store else self.store.address

    @cached_property
    def access(self) -> Access:
        """What is allowed to those who ask a provider."""
        from perdure.providers.access import Access

        redact = self.redact
        return Access(
            egress=self.settings.egress,
            redact=lambda text: redact(text).text,
            allow=partial(lifecycle.egress.allow, self),
            record=partial(lifecycle.egress.record, self),
            clock=self.context.clock,
        )

    @cached_property
    def judge(self) -> Callable[[Sequence[tuple[str, str]]], Sequence[PairVerdict]] | None:
        """Who says what a newer statement does to an older one; None without a judge: rules alone are wanted, no
        model is, or the local one is not installed.
        """
        if self.settings.learn != "auto" or not self.wants_vectors:
            return None
        from perdure.embed import judge

        return judge.judge if judge.is_available() else None

    @property
    def wants_vectors(self) -> bool:
        return self._given is not None or self.settings.embedder != "none"

    @property
    def embedder(self) -> Embedder | None:
        """The embedder in use; None if there is none, and `embedder_finding` says why."""
        chosen = self.embedders.current()
        return None if chosen.generation is None else chosen.embedder

    def measure(self, embedder: Embedder) -> None:
        """Measure a model that is new here. It was asked a moment ago and answered; if it fails now, `work` does it."""
        self.embedders.has_tried_to_measure = True
        lifecycle.vectors.measure(self.store, embedder)

    def _open_target(self) -> Embedder | None:
        """The embedder that was given, or that of the settings."""
        name = self.settings.embedder
        return self._given if self._given is not None or name == "none" else self._open_embedder(name)

    def _open_earlier(self, generation: Generation) -> Embedder:
        """The embedder of another generation; of the packaged model's predecessor, the model that followed it."""
        embedder = self._open_embedder(generation.label, generation.dimensions)
        if generation.provider == "local":
            from perdure.embed import local

            if generation == local.UNTRAINED:
                return local.LocalEmbedder(generation=generation, sharing=_SHARING.get(self.context.surface, "alone"))
        return embedder

    def _open_embedder(self, name: str, dimensions: int = 0) -> Embedder:
        """No request is made, and nothing of a provider is imported before this."""
        if name.partition(":")[0] == "local":
            from perdure.embed import local

            if reason := local.unavailable():
                raise reason
            return local.LocalEmbedder(sharing=_SHARING.get(self.context.surface, "alone"))
        from perdure.embed.registry import open_embedder

        return open_embedder(name, self.settings, self.access, dimensions=dimensions)

    @cached_property
    def redact(self) -> Redact:
        """Takes secrets out of a text, the user's own among them: of all that is written, sent or logged."""
        from perdure.text.secrets import redactor

        return redactor(self.settings.redact_patterns)

    @cached_property
    def tokens(self) -> TokenCounter:
        return self._own_counter or counter_of(self.embedders.open_target())

    def recaller(self) -> Recaller:
        from perdure.recall.recaller import Recaller

        with self._lock:
            if self._indexes.recaller is None:
                size = int(self.settings.index_megabytes * (1 << 20))
                self._indexes.recaller = Recaller(
                    self.store,
                    self.embedders,
                    constitution=lambda name: lifecycle.constitution.constitution(self, name).records,
                    make_few_vectors=self._make_few_vectors,
                    memory_bytes=size,
                    index_limit=self.settings.index_limit,
                    wants_model=self.wants_vectors,
                )
            return self._indexes.recaller

    def write_index_files(self, *, every: bool = False, at_end: bool = False, is_hurried: bool = False) -> int:
        """Write the index files that are missing or behind: of the namespaces that were searched here, or of every one.
        How many were written. Nothing depends on it, so that nothing fails by it.
        """
        recaller = self.recaller() if every else self._indexes.recaller
        try:
            return (
                0 if recaller is None else recaller.write_index_files(every=every, at_end=at_end, is_hurried=is_hurried)
            )
        except (OSError, PerdureError):
            return 0

    def has_index(self, namespace: str) -> bool:
        """Whether somebody has searched a namespace, so that what is near something in it is quickly found."""
        recaller = self._indexes.recaller
        return recaller is not None and recaller.has_index(namespace)

    def _make_few_vectors(self) -> int:
        """A hook has no second to spare, and a server does such work in the background."""
        return 0 if self.context.surface in {"hook", "http"} else lifecycle.vectors.make_few_vectors(self)

    def triggers(self) -> Triggers:
        from perdure.recall.triggers import Triggers

        with self._lock:
            if self._indexes.triggers is None:
                self._indexes.triggers = Triggers(self.store)
            return self._indexes.triggers

    def language_model(self, name: str) -> LanguageModel:
        """The language model of this name, such as `ollama:qwen3`. It is opened once, and asked for nothing here."""
        from perdure.llm.registry import open_llm

        with self._lock:
            if name not in self._language_models:
                self._language_models[name] = open_llm(name, self.settings, self.access)
            return self._language_models[name]

    def search(self, query: str, namespace: str, filter: Filter, *, limit: int, recipe: str | None = None) -> Recall:
        """What recall finds in one namespace now, and fits. It counts as no use."""
        from perdure.recall.query import check_request

        request = check_request(self, namespace, query, {}, limit=limit, recipe=recipe, for_model=True)
        return self.recaller().recall(replace(request, filter=filter))

    def drop(self, namespace: str) -> None:
        """Drop the cached texts of a namespace from which something was erased; what is needed is read again."""
        with self._lock:
            recaller, triggers = self._indexes.recaller, self._indexes.triggers
        if recaller is not None:
            recaller.drop(namespace)
        if triggers is not None:
            triggers.drop(namespace)

    def embedder_finding(self, target: Chosen | None = None, *, online: bool = False) -> Finding:
        """Whether recall by meaning works, and if not, why. `target`: what was just opened, so as not to ask twice.
        `online`: it is asked next.
        """
        if not self.wants_vectors:
            return Finding("embedder", "ok", "Recall by meaning is switched off: embedder is `none`.")
        target = target or self.embedders.target()
        reason = why_unavailable(target.embedder) or self.embedders.failure
        if target.generation is None or reason is not None:
            reason = reason or EmbedderUnavailable()
            level = "problem" if isinstance(reason.__cause__, SettingsInvalid) else "warning"
            return Finding("embedder", level, reason.sentence, reason.cli_remedy)
        name = target.generation.name
        if hasattr(target.embedder, "unavailable"):
            how = "" if online else "; `perdure doctor --online` says whether it answers"
            return Finding("embedder", "ok", f"Recall by meaning asks {name}{how}.")
        return Finding("embedder", "ok", f"Recall by meaning works: {name}.")

    def note_missing_embedder(self) -> tuple[str, ...]:
        """A note that memories wait for a model that is not installed. It is given once, not with each of them."""
        if self._said_no_vectors or self.embedder is not None or not self.wants_vectors:
            return ()
        self._said_no_vectors = True
        finding = self.embedder_finding()
        return (f"Stored without a vector, so found by keyword alone. {finding.sentence} {finding.remedy}",)

    def written_by(self, context: WriteContext) -> Services:
        """The same services, with everything that they hold or will hold, for another writer."""
        other = copy(self)
        other.context = context
        renew_after_fork(other)
        return other

    def close(self) -> None:
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        if "access" in self.__dict__:
            self.access.close()
        self.write_index_files(at_end=True, is_hurried=self.context.surface == "hook")
        if self._owns_store:
            self.store.close()
        else:
            self.store.flush_use(patience=CLOSE_PATIENCE)

    def renew(self) -> None:
        """In a forked child: a lock that a thread of the parent held stays held."""
        self._lock = threading.Lock()
        self._indexes = Indexes()
        self.embedders = EmbedderChoice(self.store, self._open_target, self._open_earlier)


def copy_stores(
    source: str,
    target: str,
    namespaces: Sequence[str] | None,
    told: Callable[[str, int, int], None],
    *,
    dry_run: bool = False,
) -> list[CopiedNamespace]:
    """Copy a store with its log into another one. A file may be made for that, a database must have its tables."""
    from perdure.settings import load
    from perdure.store.transfer import copy_store, missing_lines

    with closing(open_store(load(store=source), create=False)) as giving:
        if dry_run and load(store=target).store.is_missing:
            return missing_lines(giving, None, namespaces)
        with closing(open_store(load(store=target), create=not dry_run)) as taking:
            if dry_run:
                return missing_lines(giving, taking, namespaces)
            return copy_store(giving, taking, namespaces, lambda one: told(one.name, one.new_lines, one.new_vectors))


def copy_tokens(source: str, target: str, *, dry_run: bool = False) -> int:
    """Let the servers of another store accept the tokens of this one; how many were new there."""
    from perdure.settings import load

    places = [load(store=source), load(store=target)]
    if any(place.store.kind == "memory" for place in places):
        return 0
    with open_tokens(places[0]) as here, open_tokens(places[1]) as there:
        return here.copy_to(there, dry_run=dry_run)


def migrate_store(
    settings: Settings, *, partitions: int = 0, shards: int = 0, role: str | None = None, rewrite: bool = False
) -> Migrated:
    """Make the tables of a store in a database, or bring them up to date. Opening one never does."""
    from perdure.store.postgres.migrate import migrate

    return migrate(_database(settings), partitions=partitions, shards=shards, role=role, rewrite=rewrite)


def migration_statements(
    settings: Settings, *, partitions: int = 0, shards: int = 0, role: str | None = None
) -> list[str]:
    """What `migrate_store` would run in an empty database, for an administrator who runs it by hand."""
    from perdure.store.postgres.migrate import every_statement

    return every_statement(_database(settings).schema, partitions=partitions, shards=shards, role=role)


def _database(settings: Settings) -> Address:
    if settings.store.kind != "database" or settings.store.scheme != "postgresql":
        raise InvalidInput(
            "The store is not a PostgreSQL database, so it has no tables to make.",
            remedy=Remedy(
                "A store in a file is brought up to date when it is opened. Name a database with ", Flag("store"), "."
            ),
        )
    from perdure.providers.plugins import load_store

    load_store(settings.store.scheme)
    from perdure.store.postgres.address import parse_address

    return parse_address(settings.store.address, settings.store.shown)


def open_store(settings: Settings, *, clock: Clock = system_clock, create: bool = True) -> Store:
    """The store that the settings name. One in a database is an entry point by the scheme of its address, a function
    with these arguments. The store in a file is opened directly: to look for entry points takes longer than to open it.
    """
    location = settings.store
    if location.kind != "database":
        from perdure.store.sqlite.store import SqliteStore

        return SqliteStore.open(location.path, create=create, busy_seconds=settings.busy_seconds, clock=clock)
    from perdure.providers.plugins import load_store

    return load_store(location.scheme)(settings, clock=clock, create=create)


@contextmanager
def open_tokens(settings: Settings) -> Generator[Tokens]:
    """The tokens of the store that the settings name: in the database, where that keeps them, else in a file."""
    from perdure.auth.token_file import TokenFile
    from perdure.store.capabilities import KeepsTokens

    if settings.store.kind != "database":
        yield TokenFile(settings.store)
        return
    with closing(open_store(settings, create=False)) as store:
        yield store.access_tokens() if isinstance(store, KeepsTokens) else TokenFile(settings.store)


def remove_unused_store(settings: Settings) -> bool:
    """Remove the store if nothing was ever stored in it and no other process has it open. True when it is gone."""
    from perdure.store.sqlite.store import SqliteStore

    try:
        return SqliteStore.open(settings.store.path, create=False).remove_if_unused()
    except (StoreError, OSError):
        return False
