"""The way to one provider's server: the only door through which a text can leave this machine."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import quote

from perdure.after_fork import renew_after_fork
from perdure.errors import EgressForbidden, ProviderRefused, ProviderUnavailable
from perdure.model import Json
from perdure.providers.access import Access
from perdure.providers.address import Endpoint, check_endpoint, parse_url
from perdure.providers.answer import Answer, content, failure
from perdure.providers.breaker import Breaker
from perdure.providers.call import ProviderCall
from perdure.providers.options import ApiKey

if TYPE_CHECKING:
    from perdure.providers.connections import Connections

# How many tokens went in and came out, as an answer says it itself.
Usage: TypeAlias = Callable[[Json], tuple[int, int]]

CHARACTERS_PER_TOKEN: Final = 4
# What the next request would hear as well: the key, the rights, the model's name or the URL is wrong.
_REFUSED_TO_ALL: Final = frozenset({301, 302, 303, 307, 308, 401, 403, 404})


class ProviderClient:
    """One for each provider and URL, shared between threads. It keeps no key: see `ApiKey`."""

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        url: str,
        access: Access,
        headers: Mapping[str, str] | None = None,
        api_key: ApiKey | None = None,
    ) -> None:
        self.provider = provider
        self.model = model
        self.url = url
        self._access = access
        self._headers = dict(headers or {})
        self._key = api_key
        self._closed = False
        self._connections: Connections | None = None
        self.renew()
        access.clients.add(self)
        renew_after_fork(self)

    def __repr__(self) -> str:
        return f"ProviderClient({self.provider}:{self.model})"

    def check(self) -> Endpoint:
        """The server, if the settings allow it and the key is there; else the error, without a request."""
        endpoint = parse_url(self.url)
        check_endpoint(endpoint, self._access.egress)
        self._key_header()
        if self._closed:
            raise ProviderUnavailable(
                f"The connections to {self.provider} are closed.", remedy="Open the memory again."
            )
        return endpoint

    def sendable(self, text: str) -> str:
        """The text as it may leave this machine. Whoever sends only a part of it cuts this: half of a secret is not
        recognised any more.
        """
        try:
            stays = parse_url(self.url).is_loopback
        except EgressForbidden:
            stays = False
        return text if stays else self._access.redact(text)

    def post(
        self,
        path: str,
        body: Mapping[str, Json],
        *,
        purpose: str,
        items: int,
        seconds: float,
        usage: Usage | None = None,
    ) -> Json:
        """Sends a body as JSON and gives the JSON of the answer, within `seconds` from beginning to end. `usage` finds
        the tokens in it; without it they are estimated. Raises `ProviderUnavailable`, `ProviderRefused` or
        `EgressForbidden`, and nothing else.
        """
        deadline = time.monotonic() + seconds
        endpoint = self.check()
        if not endpoint.is_loopback:
            body = {name: _redacted(value, self._access.redact) for name, value in body.items()}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        sent = text.encode("utf-8", "replace")
        call = ProviderCall(
            at=self._access.clock(),
            provider=self.provider,
            model=self.model,
            host=endpoint.host,
            purpose=purpose,
            items=items,
            sent_bytes=len(sent),
            received_bytes=0,
            input_tokens=len(text) // CHARACTERS_PER_TOKEN,
            outcome="interrupted",
        )
        if not endpoint.is_loopback:
            self._access.allow(call)
        if rest := self._breaker.admit(seconds):
            raise self._resting(rest)
        try:
            answer = self._exchange(endpoint, path, sent, deadline, seconds)
            call = replace(call, received_bytes=len(answer.body))
            value = self._value(answer, endpoint)
            call = replace(call, outcome="ok")
            if usage is not None:
                with suppress(LookupError, TypeError, ValueError, AttributeError, OverflowError):
                    went_in, came_out = map(int, usage(value))
                    call = replace(call, input_tokens=max(0, went_in), output_tokens=max(0, came_out))
        except ProviderUnavailable as error:
            import httpcore2

            call = replace(call, outcome=error.code)
            if isinstance(error.__cause__, httpcore2.ConnectError | httpcore2.ConnectTimeout | httpcore2.PoolTimeout):
                call = replace(call, sent_bytes=0, input_tokens=0)
            raise
        finally:
            # An address that may not be connected to was not. All else is told, whatever became of it.
            if not endpoint.is_loopback and call.outcome != EgressForbidden.code:
                self._access.record(call)
        return value

    def close(self) -> None:
        """Close every connection. A request that is under way fails, and so does each later one."""
        with self._lock:
            connections, self._connections, self._closed = self._connections, None, True
        if connections is not None:
            connections.close()

    def renew(self) -> None:
        """In a forked child: a lock that one of the parent's threads held stays held."""
        self._lock = threading.Lock()
        self._breaker = Breaker()

    def _connected(self, endpoint: Endpoint) -> Connections:
        import httpcore2

        from perdure.providers.connections import Connections

        with self._lock:
            if self._closed:
                raise httpcore2.ConnectError("the memory was closed")
            if self._connections is None:
                self._connections = Connections(endpoint, self._access.egress)
            return self._connections

    def _exchange(self, endpoint: Endpoint, path: str, sent: bytes, deadline: float, seconds: float) -> Answer:
        import httpcore2

        from perdure.providers.network import reason_of

        who = f"{self.provider} at {endpoint.authority}"
        headers = {**self._headers, **self._key_header()}
        try:
            return self._connected(endpoint).exchange("POST", quote(path, safe="/:"), headers, sent, deadline)
        except httpcore2.TimeoutException as error:
            raise self._failed(ProviderUnavailable(f"{who} did not answer within {seconds:g} s.")) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            raise self._failed(ProviderUnavailable(f"{who} could not be asked: {reason_of(error)}.")) from error

    def _value(self, answer: Answer, endpoint: Endpoint) -> Json:
        """The JSON of an answer, or the error it stands for, in the provider's words but without any secret."""
        who = f"{self.provider} at {endpoint.authority}"
        secret = self._secret()

        def clean(text: str) -> str:
            return self._access.redact(text.replace(secret, "[key]") if secret else text)

        variable = self._key.variable if self._key is not None else None
        error = failure(answer, who, variable=variable, now=self._access.clock(), clean=clean)
        if error is None:
            try:
                value = content(answer, who)
            except ProviderUnavailable as problem:
                self._failed(problem)
                raise
            self._breaker.succeed()
            return value
        if isinstance(error, ProviderRefused) and answer.status not in _REFUSED_TO_ALL:
            # It answers, and does not want this one request.
            self._breaker.succeed()
        else:
            self._failed(error)
        raise error

    def _failed(self, error: ProviderUnavailable) -> ProviderUnavailable:
        self._breaker.fail(error, error.retry_after)
        return error

    def _resting(self, rest: float) -> ProviderUnavailable:
        """The error of the last request again, of the same kind, without a request."""
        last = self._breaker.last_error or ProviderUnavailable()
        error = type(last)(f"{last.sentence} It is asked again in {max(1, round(rest))} s.", remedy=last.advice)
        error.retry_after, error.status = rest, last.status
        return error

    def _secret(self) -> str:
        return os.environ.get(self._key.variable, "").strip() if self._key is not None else ""

    def _key_header(self) -> dict[str, str]:
        key, secret = self._key, self._secret()
        if key is None or (not secret and not key.required):
            return {}
        remedy = f"Set {key.variable} in the environment; keys are read from nowhere else."
        if not secret:
            raise ProviderRefused(f"{self.provider} needs a key, and {key.variable} is not set.", remedy=remedy)
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderRefused(f"The key in {key.variable} holds signs that no key has.", remedy=remedy)
        return {key.header: f"{key.prefix}{secret}"}


def _redacted(value: Json, redact: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _redacted(entry, redact) for name, entry in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, Sequence):
        return [_redacted(entry, redact) for entry in cast("Sequence[Json]", value)]
    return value
