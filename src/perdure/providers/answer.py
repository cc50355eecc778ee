"""What a provider's server answered, and what it means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from perdure.errors import ProviderRefused, ProviderUnavailable
from perdure.model import Json

_MOST_READ: Final = 2000
_MOST_SHOWN: Final = 300
_REDIRECTED_HOST: Final = re.compile(r"(?:https?:)?//(?:[^/@]*@)?([a-z0-9._-]+)", re.IGNORECASE)
_OK: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)
_SERVER_ERROR: Final = range(500, 600)
_NOT_ALLOWED: Final = frozenset({401, 403})
_NOT_FOUND: Final = 404
# 4xx that pass: too slow, not now, too early, too many.
_PASSING: Final = frozenset({408, 409, 423, 425, 429})
_NO_KEY: Final = "The server wants a key; `perdure config show` lists the variables from which keys are read."
_WRONG_URL: Final = "Check the URL: it may lead to a page instead of the provider's interface."


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def content(answer: Answer, who: str) -> Json:
    """The JSON of a good answer. Raises `ProviderUnavailable` if it is none."""
    kind = answer.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if not kind.endswith("json"):
        raise ProviderUnavailable(f"{who} answered with {one_line(kind)} instead of JSON.", remedy=_WRONG_URL)
    try:
        return json.loads(answer.body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        # The message of a JSONDecodeError would quote the text.
        why = (
            f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else one_line(str(error))
        )
        raise ProviderUnavailable(f"{who} answered with something that is not valid JSON: {why}.") from error


def _no_number(name: str) -> Json:
    # Python would take NaN and Infinity; neither is JSON, and neither may get into a vector.
    raise ValueError(f"it holds {name}")


def failure(
    answer: Answer, who: str, *, variable: str | None, now: datetime, clean: Callable[[str], str]
) -> ProviderUnavailable | None:
    """The error that a status stands for; None for a good one. `variable` is where the key came from; `clean` takes
    out of the provider's words what nobody should read.
    """
    status = answer.status
    if status in _OK:
        return None
    said = one_line(clean(provider_words(answer)))
    said = f": {said.rstrip('.')}." if said else "."
    if status in _REDIRECT:
        target = _REDIRECTED_HOST.match(answer.headers.get("location", ""))
        where = target[1] if target else "another page"
        error = ProviderRefused(
            f"{who} redirects to {where}, and Perdure follows no redirect.",
            remedy="Check the URL in the settings; a key is never sent on to another host.",
        )
    elif status not in _PASSING and status not in _SERVER_ERROR:
        remedy = "Check the model's name and what it takes; the provider's own words say what it did not like."
        if status in _NOT_ALLOWED:
            remedy = f"Check the key in {variable}, and what it may be used for." if variable else _NO_KEY
        elif status == _NOT_FOUND:
            remedy = "Check the model's name and the URL in the settings."
        error = ProviderRefused(f"{who} refused the request ({status}){said}", remedy=remedy)
    else:
        error = ProviderUnavailable(f"{who} cannot answer now ({status}){said}")
        error.retry_after = retry_after(answer.headers, now)
    error.status = status
    return error


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """In how many seconds the server wants to be asked again, if it says so in a way that can be read."""
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return millis / 1000
    given = headers.get("retry-after", "")
    if (seconds := _number(given)) is not None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def provider_words(answer: Answer) -> str:
    """The provider's own message, from wherever in its JSON it keeps it, else the beginning of a plain text."""
    try:
        found: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        page = b"<" in answer.body[:100]
        return "" if page else answer.body[:_MOST_READ].decode("utf-8", "replace")
    # {"error": {"message": …}}, [{"error": …}], {"error": …}, {"detail": …}, {"detail": [{"msg": …}]}
    for _ in range(4):
        if isinstance(found, list):
            found = cast("list[Any]", found)[0] if found else None
        if not isinstance(found, dict):
            break
        entries = cast("dict[str, Any]", found)
        found = next((entries[name] for name in ("error", "message", "msg", "detail") if entries.get(name)), None)
    return found[:_MOST_READ] if isinstance(found, str) else ""


def one_line(text: str) -> str:
    """Foreign words as they may stand in a sentence: one line, no signs that a terminal would obey, not too long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"
