"""One namespace of a server, as one memory asks it."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar
from urllib.parse import quote

from perdure.ids import check_key, new_id, parse_reference
from perdure.operations import WORDS_BEHIND_NAMES, Method, Operation
from perdure.remote.connection import Asked, ServerConnection
from perdure.remote.decoding import Undecodable, decode
from perdure.validation import check_version

T = TypeVar("T")
_WORD_BEHIND: Final = re.compile(rf"/(?:{WORDS_BEHIND_NAMES})(?:/|$)")
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

    def call(self, row: Operation, answer: type[T], given: Mapping[str, Any]) -> T:
        """What a row of the table asks for, with the arguments of its verb, and its answer as a value of this type."""
        left, address, headers = dict(given), row.path, dict[str, str]()
        for argument, kind in row.places.items():
            name = row.names.get(argument, argument)
            address = address.replace(f"{{{name}{kind and f':{kind}'}}}", self._named(argument, left.pop(argument)))
        if (version := left.pop("expected_version", None)) is not None:
            # A version that it must not have yet is said in another way.
            is_new = version == 0 and "key" in row.places
            checked = check_version(version, "expected_version")
            headers |= {"if-none-match": "*"} if is_new else {"if-match": f'"{checked}"'}
        if row.takes_key:
            # By its key the server does it once, so that it may be sent again when its answer is lost.
            headers["idempotency-key"] = left.pop("idempotency_key", None) or new_id()
        sent = {row.names.get(name, name): value for name, value in left.items()}
        in_address = row.method in {"GET", "DELETE"}
        document: Any = self.ask(
            answer if row.key is None else dict[str, answer],
            row.method,
            address,
            None if in_address else sent,
            query=sent if in_address else None,
            headers=headers,
            repeats=row.may_repeat,
            slow=row.slow,
        )
        return document if row.key is None else document[row.key]

    def _named(self, argument: str, value: Any) -> str:
        """What stands in an address for an argument. A key that holds a word of an address is looked up first."""
        name = str(value)
        if argument in {"ref", "refs"}:
            name = parse_reference(value).text.removeprefix("#")
            if _WORD_BEHIND.search(name):
                name = self.ask(dict[str, Any], "GET", "/v1/reference", query={"ref": name})["id"]
        return quote(check_key(value) if argument == "key" else name, safe="")
