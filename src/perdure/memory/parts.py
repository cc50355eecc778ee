"""The composition root: which store, which embedder, and what a memory and its namespaces share."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from perdure.embed import local
from perdure.embed.port import Embedder
from perdure.errors import EmbedderUnavailable, InvalidInput, shown
from perdure.lifecycle.engine import Engine, Policy
from perdure.lifecycle.usage import UseCounter
from perdure.lifecycle.write_context import Author
from perdure.model import Finding
from perdure.settings import Settings
from perdure.store.port import Store

if TYPE_CHECKING:
    from perdure.recall.pipeline import Recaller
    from perdure.recall.recipe import Recipe
    from perdure.recall.triggers import Triggers

CLOSE_PATIENCE: Final = 0.25


class Parts:
    """What a memory and its namespaces share: the store, the embedder, and what is built from them when needed."""

    def __init__(
        self, store: Store, *, owned: bool, embedder: Embedder | None, settings: Settings, author: Author
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.settings = settings
        self.author = author
        self.recipes = _own_recipes(settings)
        self.uses = UseCounter(store)
        self.engine = Engine(store, embedder, author, Policy.of(settings), self.uses)
        self._owned = owned
        self._closed = False
        self._said = False
        self._lock = threading.Lock()
        self._recaller: Recaller | None = None
        self._triggers: Triggers | None = None
        _alive.add(self)

    def renew(self) -> None:
        """In a forked child: the parent's counts are the parent's, and a lock that a thread of it held stays held."""
        self.uses = UseCounter(self.store)
        self._lock = threading.Lock()
        self._recaller = None
        self._triggers = None
        if isinstance(self.embedder, local.LocalEmbedder):
            self.embedder = _local_embedder(self.settings)
        self.engine = replace(self.engine, embedder=self.embedder, uses=self.uses)

    def say_once(self) -> tuple[str, ...]:
        """That memories wait for a model that is not there; nobody needs to hear it with each of them."""
        if self._said or self.embedder is not None or self.settings.embedder == "none":
            return ()
        self._said = True
        finding = why_no_embedder(self.settings)
        return (f"Stored without a vector, so found by keyword alone. {finding.sentence} {finding.remedy}",)

    def recipe(self, name: str | None) -> Recipe:
        """The one of this name, built in or the user's own; without a name the usual one."""
        from perdure.recall.recipe import recipe_named

        return recipe_named(self.settings.recipe if name is None else name, self.recipes)

    def recaller(self) -> Recaller:
        from perdure.recall.pipeline import Recaller

        with self._lock:
            if self._recaller is None:
                size = int(self.settings.index_megabytes * (1 << 20))
                self._recaller = Recaller(self.store, self.embedder, memory_bytes=size)
            return self._recaller

    def triggers(self) -> Triggers:
        from perdure.recall.triggers import Triggers

        with self._lock:
            if self._triggers is None:
                self._triggers = Triggers(self.store)
            return self._triggers

    def drop(self, namespace: str) -> None:
        """Hold no text of a namespace from which some was erased; what is needed again is read again."""
        with self._lock:
            recaller, triggers = self._recaller, self._triggers
        if recaller is not None:
            recaller.drop(namespace)
        if triggers is not None:
            triggers.drop(namespace)

    def close(self) -> None:
        with self._lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        try:
            self.uses.flush(patience=CLOSE_PATIENCE)
        finally:
            if self._owned:
                self.store.close()


def assemble(
    store: str | os.PathLike[str] | Store | None, embedder: Embedder | str | None, rules: Settings, author: Author
) -> Parts:
    chosen = _local_embedder(rules) if embedder is None or isinstance(embedder, str) else embedder
    if store is not None and not isinstance(store, str | os.PathLike):
        if not hasattr(store, "keyword"):
            raise InvalidInput(f"{shown(store)} is not a store.", remedy="Give a path, or nothing for your own memory.")
        return Parts(store, owned=False, embedder=chosen, settings=rules, author=author)
    from perdure.store.sqlite.store import SqliteStore

    opened = SqliteStore.open(rules.store, busy_seconds=rules.busy_seconds, clock=author.clock)
    return Parts(opened, owned=True, embedder=chosen, settings=rules, author=author)


def _own_recipes(settings: Settings) -> dict[str, Recipe]:
    if not settings.recipes:
        return {}
    from perdure.recall.cookbook import own_recipes

    return own_recipes(settings.recipes)


def _local_embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none" or local.unavailable() is not None:
        return None
    return local.LocalEmbedder(settings.cache)


def why_no_embedder(settings: Settings) -> Finding:
    if settings.embedder == "none":
        return Finding("embedder", "ok", "Recall by meaning is switched off: embedder is `none`.")
    reason = local.unavailable() or EmbedderUnavailable()
    return Finding("embedder", "warning", reason.sentence, reason.remedy)


_alive: Final[WeakSet[Parts]] = WeakSet()


def _renew_after_fork() -> None:
    for parts in list(_alive):
        parts.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
