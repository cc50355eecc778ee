"""The memory of a server that never refuses to start: it is opened when it is needed, and again after a failure."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from perdure.errors import PerdureError
    from perdure.location import StoreLocation
    from perdure.memory import Memory
    from perdure.session.background import WorkTarget
    from perdure.session.privacy import Place


class LazyMemory:
    """One memory for all threads. A store that cannot be opened fails the call that needs it, and is tried again by the
    next one: after mending it the host need not be restarted.
    """

    def __init__(
        self,
        store: str | None,
        namespace: str | None,
        session: str | None,
        project: Path | None = None,
        failure: PerdureError | None = None,
    ) -> None:
        """`project` is the directory of the host's project: its settings count, and only its files are read. With a
        `failure` nothing is ever opened.
        """
        self._failure = failure
        self.project: Final = project
        self._store = store
        self._namespace = namespace
        self._session = session
        self._lock = threading.Lock()
        # By namespace: one store, seen as each of them.
        self._memories: dict[str, Memory] = {}
        self.tasks: MutableMapping[str, str] = {}
        # Whether the model that makes vectors runs in this process.
        self.embeds_here = False
        # What the next session of the project would ask first, once it was embedded.
        self._next_question: str | None = None
        # Where the store is, once it was opened.
        self.store: StoreLocation | None = None

    @property
    def options(self) -> dict[str, str | None]:
        """What the command line said; the settings say the rest."""
        return {"store": self._store, "namespace": self._namespace}

    def place(self, session: str | None = None) -> Place:
        """Where this project's memories go now: a person may have made it private a moment ago. A host that clears its
        session does not tell its servers the new one, so the project's latest session counts as well, unless it is
        known of which `session` the call is.
        """
        from perdure.session.privacy import latest_session, where

        if self._namespace is None:
            from perdure.settings import load

            self._namespace = load().namespace
        if session not in {None, self._session}:
            return where(self.project, session, namespace=self._namespace)
        place = where(self.project, self._session, namespace=self._namespace)
        latest = None if place.project is None else latest_session(place.project)
        if place.recording and latest not in {None, self._session}:
            return where(self.project, latest, namespace=self._namespace)
        return place

    def open(self, place: Place | None = None) -> Memory:
        """The memory for where this project's memories go, which somebody may just have looked up."""
        if self._failure is not None:
            raise self._failure
        namespace = (place or self.place()).namespace
        with self._lock:
            if namespace in self._memories:
                return self._memories[namespace]
            if self._memories:
                memory = next(iter(self._memories.values())).namespace(namespace)
            else:
                from perdure.location import locate
                from perdure.memory import Memory
                from perdure.session.configuration import session_settings

                settings = session_settings(self.project)
                self.embeds_here = settings.embedder in {"local", "none"}
                self.store = locate(self._store) if self._store else settings.store
                memory = Memory(
                    self._store, settings=settings, namespace=namespace, session=self._session,
                    surface="mcp", writer="model",
                )  # fmt: skip
            self._memories[namespace] = memory
            return memory

    def work_target(self) -> WorkTarget | None:
        """The memory as `perdure work` would open it, for all sessions and projects. The file of one project sends no
        other's memories to its model: where it names another than the user does, no vectors are made. A session that is
        off the record writes nothing at all; a store that is a server's has somebody who works.
        """
        from contextlib import nullcontext

        from perdure.memory import Memory
        from perdure.session.background import WorkTarget
        from perdure.session.configuration import session_settings
        from perdure.settings import load, override

        settings, used = load(store=self._store), session_settings(self.project, store=self._store)
        has_worker = settings.store.kind == "server"
        if self._failure is not None or not settings.background or has_worker or not self.place().recording:
            return None
        if settings == used:
            own = self.open()
            return WorkTarget(nullcontext(own.writing_as(own.actor, writer="model", session=None)), settings.store)
        if (settings.embedder, settings.embedder_dimensions) != (used.embedder, used.embedder_dimensions):
            settings = override(settings, embedder="none")
        return WorkTarget(Memory(settings=settings, surface="mcp", writer="model"), settings.store)

    def embed_next_question(self) -> None:
        """Embed what the next session of the project will ask first. Nothing of it is kept for one that is off the
        record, and no model elsewhere is asked.
        """
        from perdure.session.ahead import embed_next_question
        from perdure.session.configuration import session_settings

        if self._failure is not None or self.project is None:
            return
        settings, place = session_settings(self.project, store=self._store), self.place()
        if settings.background and settings.embedder == "local" and settings.store.kind != "server" and place.recording:
            memory = self.open(place)
            self._next_question = embed_next_question(memory, place, self.project, self._next_question)

    def written_in(self, session: str | None, memory: Memory) -> Memory:
        """The same memory for a call that tells its session, where the server was started without one."""
        return memory if session in (None, self._session) else memory.writing_as(writer="model", session=session)

    def discard(self, memory: Memory) -> None:
        """Open another one next time: the file of this one is no longer the store."""
        with self._lock:
            if memory in self._memories.values():
                self._memories.clear()
        memory.close()

    def close(self) -> None:
        with self._lock:
            memory = next(iter(self._memories.values()), None)
            self._memories.clear()
        if memory is not None:
            memory.close()
