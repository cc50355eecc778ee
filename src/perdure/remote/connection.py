"""The way to a Perdure server: one request and its answer, or the error that the server meant.

What only reads, and what an idempotency key makes sure of, is sent once more when the connection is lost. Nothing else
is: it is unknown whether it was done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, cast
from urllib.parse import urlencode

from perdure import __version__, errors
from perdure.clock import format_time
from perdure.errors import (
    EgressForbidden,
    InvalidInput,
    NeedsConfirmation,
    NoRoute,
    PerdureError,
    RateLimited,
    StoreClosed,
    StoreForeign,
    StoreUnreachable,
    StoreUnsafe,
    shown,
)
from perdure.location import refuse_secrets
from perdure.model import Forgotten, ProposedCorrection
from perdure.operations import Method
from perdure.providers.address import Endpoint, parse_url
from perdure.providers.answer import Answer, one_line, retry_after
from perdure.providers.connections import Connections, ExchangeFailed, explained, headers_of
from perdure.remedies import Remedy
from perdure.remote.decoding import Undecodable, decode

SECONDS: Final = 60.0
# For work that takes as long as there is to do.
LONG_SECONDS: Final = 3600.0
# A server that is named as the store is meant, wherever it is.
_ANYWHERE: Final = ("0.0.0.0/0", "::/0")
_OK: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)
_TOO_MANY: Final = 429
# What a proxy answers while the server behind it is away.
_AWAY: Final = frozenset({502, 503, 504})
# Whatever a newer server calls an error, its status says of which kind it is.
_BY_STATUS: Final[Mapping[int, type[PerdureError]]] = {
    401: errors.Unauthenticated,
    403: errors.AccessDenied,
    404: errors.NotFound,
    409: errors.Conflict,
    412: errors.VersionConflict,
    422: InvalidInput,
}
_UNKNOWN: Final = "It is unknown whether it was done: look at what is there, then decide."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `repeats`: asked twice it does no more than once. `slow`: it takes as long as there is to do."""

    method: Method
    path: str
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    body: Mapping[str, object] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    repeats: bool = False
    slow: bool = False

    @property
    def target(self) -> str:
        given = {name: plain(value) for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(given, doseq=True)}" if given else self.path

    @property
    def content(self) -> bytes | None:
        if self.body is None:
            return None
        try:
            return json.dumps(plain(self.body), allow_nan=False).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"What was given cannot be sent: {one_line(str(error)).rstrip('.')}.") from error


class ServerConnection:
    """One server and the token for it, shared by a memory, all its namespaces and all its threads."""

    def __init__(self, url: str, token: str | None, seconds: float) -> None:
        endpoint = checked_endpoint(url)
        if token is not None and not (token and token.isascii() and token.isprintable() and " " not in token):
            raise InvalidInput("The token holds signs that no token has.", remedy="Give it as it was shown.")
        self.name = f"{endpoint.scheme}://{endpoint.authority}{endpoint.path}"
        self._headers = {"user-agent": f"perdure/{__version__}"}
        self._headers |= {"authorization": f"Bearer {token}"} if token else {}
        self._seconds = seconds
        self._connections: Connections | None = Connections(endpoint, _ANYWHERE)

    def close(self) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

    def ask(self, asked: Asked) -> Any:
        """The JSON of the answer. A server that wants fewer requests is waited for, as long as there is time."""
        seconds = LONG_SECONDS if asked.slow else self._seconds
        deadline, content, target = time.monotonic() + seconds, asked.content, asked.target
        headers = {**self._headers, **asked.headers}
        tries = 1 if asked.repeats else 0
        while True:
            try:
                with explained():
                    answer = self._open().exchange(asked.method, target, headers, content, deadline)
            except ExchangeFailed as error:
                if tries and error.sent and not error.timed_out:
                    tries -= 1
                    continue
                raise self._failed(error, seconds, asked) from error
            wait = retry_after(answer.headers, datetime.now(UTC)) if answer.status == _TOO_MANY else None
            if wait is None or time.monotonic() + wait >= deadline:
                return self._value(answer)
            time.sleep(wait)

    @contextmanager
    def lines(self, asked: Asked) -> Generator[Iterator[str]]:
        """The lines of a long answer, as they come. One that breaks off is an error, never a short answer."""
        deadline = time.monotonic() + LONG_SECONDS
        headers = {**self._headers, **asked.headers}
        try:
            with explained(), self._open().stream(asked.method, asked.target, headers, None, deadline) as response:
                if response.status not in _OK:
                    self._value(Answer(response.status, headers_of(response), response.read()))
                yield _split(response.iter_stream())
        except ExchangeFailed as error:
            raise self._failed(error, LONG_SECONDS, asked) from error

    def _open(self) -> Connections:
        if self._connections is None:
            raise StoreClosed
        return self._connections

    def _failed(self, error: ExchangeFailed, seconds: float, asked: Asked) -> PerdureError:
        if self._connections is None:
            return StoreClosed()
        what = f"did not answer within {seconds:g} s" if error.timed_out else f"could not be asked: {error}"
        remedy = _UNKNOWN if error.sent and not asked.repeats else None
        return StoreUnreachable(f"The server {self.name} {what}.", remedy=remedy)

    def _value(self, answer: Answer) -> Any:
        status, kind = answer.status, answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        document: Any = None
        if kind.endswith("json"):
            try:
                document = json.loads(answer.body)
            except (ValueError, RecursionError) as error:
                raise self.foreign("something that is not valid JSON") from error
        if status in _OK and document is not None:
            return document
        if status not in _OK and isinstance(document, dict) and "code" in document:
            raise error_of(status, cast("dict[str, Any]", document), answer.headers, self.name)
        if status in _REDIRECT:
            raise StoreForeign(
                f"The server {self.name} sends on to another address, and Perdure does not follow.",
                remedy="Name the address itself; a token is never sent on.",
            )
        if status in _AWAY:
            raise StoreUnreachable(f"The server {self.name} cannot answer now ({status}).")
        raise self.foreign(f"{status} and {one_line(kind) or 'nothing'}")

    def foreign(self, what: str) -> StoreForeign:
        """What no server of Perdure says, or none of a version that this one understands."""
        return StoreForeign(
            f"The server {self.name} answered with {what}, which Perdure {__version__} cannot read.",
            remedy="Check the address; if it is right, use the same version of Perdure at both ends.",
        )


def checked_endpoint(url: str) -> Endpoint:
    """The server that a URL names, if what is sent to it cannot be read on the way."""
    refuse_secrets(url)
    try:
        endpoint = parse_url(url)
    except EgressForbidden as error:
        raise InvalidInput(
            f"{shown(url)} is not a URL.", remedy="Write https://host, or on this machine http://127.0.0.1:8733."
        ) from error
    if endpoint.scheme != "https" and not endpoint.is_loopback:
        raise StoreUnsafe(
            f"{shown(url)} begins with http://, so that everybody on the way could read the memories and the token.",
            remedy="Write https://; without it only a server on this machine is asked.",
        )
    return endpoint


def error_of(status: int, document: Mapping[str, Any], headers: Mapping[str, str], server: str) -> PerdureError:
    """The error that a problem document stands for: of the same class as a local memory raises."""
    by_code = {each.code: each for each in errors.all_errors()}
    nearest = _BY_STATUS.get(status, PerdureError)
    kind = by_code.get(str(document["code"]), nearest)
    remedy: str | Remedy | None = str(document.get("remedy") or "") or None
    if remedy == kind().remedy_for("http"):
        # This is the default of its class, so it is rendered for the caller on this side.
        remedy = None
    elif remedy and isinstance(document.get("remedies"), dict):
        remedy = Remedy(remedy, **{reader: str(told) for reader, told in document["remedies"].items()})
    if kind is NoRoute:
        remedy = f"{server} may be older than this Perdure {__version__}; upgrade it, or check the address."
    error = kind(str(document.get("error") or "") or None, remedy=remedy)
    if isinstance(error, RateLimited):
        error.retry_after = retry_after(headers, datetime.now(UTC))
    if isinstance(error, NeedsConfirmation) and "preview" in document:
        try:
            kind = Forgotten if "deletion" in document["preview"] else ProposedCorrection
            error.preview = decode(kind, document["preview"])
        except Undecodable:
            error.preview = None
    return error


def plain(value: object) -> Any:
    """What a caller gave, as JSON has it: a time in UTC, and whatever can be gone through as a list."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(item) for item in cast("Iterable[object]", value)]
    return value


def _split(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in whole)
    if rest:
        yield rest.decode()
