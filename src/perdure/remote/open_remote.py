"""A memory of a server: how it is opened, shared between namespaces, and closed, and how its verbs ask."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Literal, NoReturn, Self, TypeVar

from perdure import settings as configuration
from perdure.auth.token_file import TokenFile
from perdure.clock import Clock, system_clock
from perdure.embed.port import Embedder
from perdure.errors import InvalidInput, StoreRemote, UnknownChoice, shown
from perdure.files import directory
from perdure.ids import is_id, new_id
from perdure.memory import Memory
from perdure.remedies import Remedy, Run
from perdure.remote.connection import SECONDS, ServerConnection, checked_endpoint
from perdure.remote.namespace import RemoteNamespace
from perdure.settings import Settings
from perdure.store.port import Store
from perdure.validation import StrPath, check_namespace, check_single_line, number_in, optional
from perdure.vocabulary import WRITERS

T = TypeVar("T")
_TOKEN: Final = "PERDURE_TOKEN"  # noqa: S105 - the name of a variable
_NOBODY_S_CHOICE: Final = "default"
_MOST_SECONDS: Final = 86_400.0


class OpenRemote(Memory):
    """A namespace of a server, and the connection that it shares with the other namespaces.

    Without a `namespace`, here or in the settings, the server takes the one that the token is good for.
    """

    def __init__(  # noqa: PLR0913 - those of a local memory
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
        del surface, create
        server_s = {"embedder": embedder, "count_tokens": count_tokens, "clock": None if clock is system_clock else 1}
        if own := [name for name, value in server_s.items() if value is not None]:
            raise InvalidInput(f"{own[0]} cannot be chosen here: the server has its own.", remedy="Leave it out.")
        if actor is not None:
            raise InvalidInput("The token says who writes, so no actor can be named.", remedy="Leave it out.")
        seconds = SECONDS if timeout is None else number_in(timeout, 0.001, _MOST_SECONDS)
        if seconds is None:
            raise InvalidInput(f"timeout must be a number of seconds, not {shown(timeout)}.")
        chosen = settings.store.address if settings else configuration.given("store")
        url = str(chosen if store is None else store)
        if settings is not None:
            # "default" was not chosen: the token may be good for another one.
            own = None if settings.namespace == _NOBODY_S_CHOICE else settings.namespace
            namespace, session = namespace or own, session or settings.session
        decides = writer or (settings.writer if settings else configuration.given("writer"))
        headers = _headers(decides, configuration.given("session", session))
        space = configuration.given("namespace", namespace)
        server = ServerConnection(url, token or os.environ.get(_TOKEN) or _local_token(url), seconds)
        self._remote = RemoteNamespace(server, None if space is None else check_namespace(space), headers)

    def namespace(self, name: str) -> Self:
        other = object.__new__(type(self))
        other._remote = self._remote.renamed(check_namespace(name))
        return other

    def writing_as(
        self,
        actor: str | None = None,
        *,
        writer: Literal["person", "model"],
        session: str | None = None,
        surface: str | None = None,
    ) -> Self:
        """A person's token may write as a model; a model's token writes as a model, whatever is said here."""
        del surface
        if actor is not None:
            raise StoreRemote("The token says who writes to a server.", remedy="Open it again with the writer's token.")
        other = object.__new__(type(self))
        other._remote = self._remote.saying(_headers(writer, session))
        return other

    @property
    def actor(self) -> str:
        """The name of the token."""
        return str(self._remote.ask(dict[str, object], "GET", "/v1/whoami")["actor"])

    def batch(self, id: str | None = None) -> AbstractContextManager[str]:
        if id is not None and not is_id(id):
            raise InvalidInput(f"{shown(id)} is not the id of a batch.", remedy="Use the one that `batch()` gave.")
        return self._remote.one_batch(id or new_id())

    def warm(self) -> None:
        """The server is warm, or warms itself."""

    def close(self) -> None:
        self._remote.server.close()

    def __repr__(self) -> str:
        return f"<Memory {self._remote.namespace!r} at {self._remote.server.name}>"

    def _needs_file(self, what: str, command: Run) -> NoReturn:
        raise StoreRemote(
            f"{what} needs the store's file, and {self._remote.server.name} is a server.",
            remedy=Remedy("Run it where ", Run("serve"), " runs: ", command),
        )


def _headers(writer: object, session: object) -> dict[str, str]:
    if writer is not None and writer not in WRITERS:
        raise UnknownChoice(f"There is no writer {shown(writer)}.", remedy="Use 'person' or 'model'.")
    noted = optional(check_single_line, session, "session")
    said = {"perdure-writer": "model"} if writer == "model" else {}
    return said | ({"perdure-session": noted} if noted else {})


def _local_token(url: str) -> str | None:
    """The token that `perdure serve` keeps for the programs of the user who started it, on the user's own store. It is
    for this machine alone.
    """
    if not checked_endpoint(url).is_loopback:
        return None
    return TokenFile(directory("data", os.environ) / "memory.db").local_token()
