"""One namespace of a server, as one memory asks it."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar
from urllib.parse import quote

from perdure.ids import new_id, parse_reference
from perdure.model import Remembered
from perdure.remote.connection import Asked, Method, ServerConnection
from perdure.remote.decoding import Undecodable, decode
from perdure.validation import Reference

T = TypeVar("T")
# What stands behind the name of a memory in an address.
_ROUTE_WORD: Final = re.compile(r"/(?:diff|history|promote|restore|validate|versions)(?:/|$)")
# The batch that the running thread or task has opened on a server, if any.
_opened: Final[ContextVar[tuple[ServerConnection, str] | None]] = ContextVar("opened_on_server", default=None)


class RemoteNamespace:
    """Without a `namespace`, the server takes the one that the token is good for. `headers` say who writes and when."""

    def __init__(self, server: ServerConnection, namespace: str | None, headers: Mapping[str, str]) -> None:
        self.server = server
        self.namespace = namespace
        self._headers = headers

    def renamed(self, namespace: str) -> RemoteNamespace:
        return RemoteNamespace(self.server, namespace, self._headers)

    def saying(self, headers: Mapping[str, str]) -> RemoteNamespace:
        """Written by somebody else, or in another session."""
        kept = {name: value for name, value in self._headers.items() if name != "perdure-writer"}
        return RemoteNamespace(self.server, self.namespace, {**kept, **headers})

    @contextmanager
    def one_batch(self, id: str) -> Generator[str]:
        before = _opened.set((self.server, id))
        try:
            yield id
        finally:
            _opened.reset(before)

    def ask(
        self,
        answer: type[T],
        method: Method,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        repeats: bool = False,
        slow: bool = False,
    ) -> T:
        """One request, and its answer as a value of this type."""
        asked = self.asked(method, path, query, headers, body=body, repeats=repeats or method == "GET", slow=slow)
        document = self.server.ask(asked)
        try:
            return decode(answer, document)
        except Undecodable as error:
            raise self.server.foreign(f"a document whose {str(error).strip('. ')}") from error

    def write_once(
        self,
        method: Method,
        path: str,
        body: Mapping[str, object],
        key: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> Remembered:
        """A write that may be sent again when its answer is lost: by its key, the server does it once."""
        said = {**(headers or {}), "idempotency-key": key or new_id()}
        return self.ask(Remembered, method, path, body, headers=said, repeats=True)

    def asked(
        self,
        method: Method,
        path: str,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Asked:
        batch = _opened.get()
        said = {**self._headers, **(headers or {})}
        if batch and batch[0] is self.server and method != "GET":
            said["perdure-batch"] = batch[1]
        asked_of = {} if self.namespace is None else {"namespace": self.namespace}
        return Asked(method=method, path=path, query={**(query or {}), **asked_of}, headers=said, **more)

    def read(self, answer: type[T], path: str, body: Mapping[str, object]) -> T:
        """What is asked by a body, and changes nothing but counts of use."""
        return self.ask(answer, "POST", path, given(body), repeats=True)

    def path(self, ref: Reference, *behind: str) -> str:
        """The address of a memory. A key that holds a word of an address is looked up first."""
        name = parse_reference(ref).text.removeprefix("#")
        if _ROUTE_WORD.search(name):
            name = self.ask(dict[str, Any], "GET", "/v1/reference", query={"ref": name})["id"]
        return "/".join(("/v1/memories", quote(name, safe=""), *behind))


def given(fields: Mapping[str, object]) -> dict[str, object]:
    """Without what was left out."""
    return {name: value for name, value in fields.items() if value is not None}
