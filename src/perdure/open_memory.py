"""An open memory: how it is opened, shared between namespaces, and closed. `Memory` adds the verbs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, Never, Self

from perdure import settings as configuration
from perdure.clock import Clock, system_clock
from perdure.embed.port import Embedder
from perdure.errors import InvalidInput, NotAllowed
from perdure.lifecycle.write_context import WriteContext
from perdure.location import is_server
from perdure.model import Filter
from perdure.services import Services
from perdure.settings import Settings
from perdure.store.port import Store
from perdure.validation import StrPath, check_bool, check_namespace


def is_remote(store: object = None, *, settings: Settings | None = None, **_: object) -> bool:
    """Whether the arguments of a memory, or the settings, name a server."""
    chosen = settings.store.address if settings else configuration.given("store")
    return is_server(chosen if store is None else store)


class OpenMemory:
    """A namespace of a store, and the services that it shares with the other namespaces."""

    def __init__(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        store: StrPath | Store | None = None,
        *,
        namespace: str | None = None,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        actor: str | None = None,
        surface: str = "python",
        session: str | None = None,
        writer: Literal["person", "model"] | None = None,
        clock: Clock = system_clock,
        count_tokens: Callable[[str], int] | None = None,
        create: bool = True,
        token: str | None = None,
        timeout: float | None = None,
    ) -> None:
        if token is not None or timeout is not None:
            raise InvalidInput("token and timeout are for the URL of a server.", remedy="Leave them out for a file.")
        arguments: dict[str, Any] = {"namespace": namespace, "actor": actor, "session": session}
        arguments["store"] = store if isinstance(store, str | os.PathLike) else None
        arguments["embedder"] = embedder if isinstance(embedder, str) else None
        chosen = configuration.override(settings, **arguments) if settings else configuration.load(**arguments)
        self._namespace = check_namespace(chosen.namespace)
        context = WriteContext.checked(chosen.actor, surface, chosen.session, writer or chosen.writer, clock)
        create = check_bool(create, "create")
        self._services = Services(store, embedder, chosen, context, count_tokens=count_tokens, create=create)

    def namespace(self, name: str) -> Self:
        """The same memory seen as another namespace. It shares this one's store; closing either closes both."""
        other = object.__new__(type(self))
        other._namespace = check_namespace(name)
        other._services = self._services
        return other

    def writing_as(
        self,
        actor: str | None = None,
        *,
        writer: Literal["person", "model"],
        session: str | None = None,
        surface: str | None = None,
    ) -> Self:
        """The same memory written by somebody else: what a server does for each of its callers. Without an
        `actor` it is the same one, in the same session. It shares this one's store; closing either closes both.
        """
        own = self._services.context
        if writer == "person" and not own.is_person:
            raise NotAllowed("A model may not write as a person.")
        who, sitting = (own.actor, session or own.session) if actor is None else (actor, session)
        context = WriteContext.checked(who, surface or own.surface, sitting, writer, own.clock)
        other = object.__new__(type(self))
        other._namespace = self._namespace
        other._services = self._services.written_by(context)
        return other

    @property
    def actor(self) -> str:
        """Who is written into the history of what this memory changes."""
        return self._services.context.actor

    def batch(self, id: str | None = None) -> AbstractContextManager[str]:
        """`with memory.batch() as batch:` makes one batch of everything that this thread or task writes inside: each
        call is on disk when it answers, and one `undo(batch)` takes all of them back. `id` goes on with a batch of
        before.
        """
        return self._services.context.one_batch(id)

    def warm(self) -> None:
        """Load the index, and the model if it runs here, so that the first recall does not wait for them. It counts as
        no use, and nothing is asked of a server.
        """
        if self._services.settings.embedder in {"local", "none"}:
            self._services.search("memory", self._namespace, Filter(), limit=1)

    def close(self) -> None:
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Never:
        raise TypeError("A Memory cannot be pickled: open the store again where it is needed.")

    def __repr__(self) -> str:
        return f"<Memory {self._namespace!r} in {self._services.shown!r}>"


def namespace_names(memory: OpenMemory) -> list[str]:
    """The names of all namespaces, without counting what is in them."""
    return memory._services.store.namespaces()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def store_address(memory: OpenMemory) -> str:
    """Where the store is, for people, without counting what is in it."""
    return memory._services.store.address  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


# Python names the function that does not know an argument: it shall be the class that the caller named.
OpenMemory.__init__.__qualname__ = "Memory"
