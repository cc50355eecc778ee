"""Redaction: which finders a text needs, and what becomes of what they find.

Most text holds no secret, so `_find` first decides from a few whole-text byte operations which families could match
at all; no regular expression is compiled or run for text that rules them all out. Every pattern is linear: an
unbounded run is either the end of its pattern, or guarded on the left so that it starts once per run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, cast

from perdure.text.secrets.account_numbers import find_account_numbers
from perdure.text.secrets.assignments import find_assignments, names_a_secret
from perdure.text.secrets.commands import find_command_passwords, find_password_lines
from perdure.text.secrets.private_keys import find_private_keys, find_seed_phrases
from perdure.text.secrets.spans import JUDGED, MARK, PLACEHOLDER, SecretSpan, regex
from perdure.text.secrets.urls_and_headers import find_authorization, find_cookies, find_signatures, find_url_passwords
from perdure.text.secrets.vendor_tokens import SHAPES, find_tokens


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets.

    `found` names the kind of every placeholder in `text`, in order of appearance. A placeholder left by an earlier
    pass counts too, which makes redacting twice the same as redacting once. To ask whether a text still held a
    secret, compare `text` with what went in.
    """

    text: str
    found: tuple[str, ...]


Redact: TypeAlias = Callable[[str], Redacted]


def redactor(own: Mapping[str, str]) -> Redact:
    """`redact` with patterns of one's own, by kind, as `check_patterns` leaves them. This is the one door for what is
    written, sent or logged on behalf of a user.
    """
    return partial(redact, own=dict(own)) if own else redact


def redact(text: str, *, own: Mapping[str, str] | None = None) -> Redacted:
    """Replace every secret in `text` by `[REDACTED:kind]`; text without secrets comes back as the same object."""
    kinds = (*own, *KINDS) if own else KINDS
    # Taking one secret out can lay bare another that was glued to it, so look again until nothing is left.
    for _ in range(_MAX_PASSES):
        spans = _find(text)
        if own:
            from perdure.text.secrets.own_patterns import find_own

            spans += find_own(own, text)
        if not spans:
            break
        # Overlapping spans are joined, so that no byte of either survives; the most telling kind names the whole.
        merged: list[SecretSpan] = []
        for span in sorted(spans):
            if merged and span.start < merged[-1].end:
                last = merged.pop()
                kind = min(last.kind, span.kind, key=kinds.index)
                merged.append(SecretSpan(last.start, max(last.end, span.end), kind))
            else:
                merged.append(span)
        pieces: list[str] = []
        at = 0
        for span in merged:
            pieces += (text[at : span.start], f"[REDACTED:{span.kind}]")
            at = span.end
        values = {text[span.start : span.end]: span.kind for span in merged[:_MAX_VALUES_REPEATED]}
        text = "".join((*pieces, text[at:]))
        # What was found once is as secret where nothing points at it, unless it might be a word.
        for value, kind in values.items():
            if len(value) >= _UNMISTAKABLE and regex(r"[0-9]").search(value) and regex(r"[A-Za-z]").search(value):
                text = text.replace(value, f"[REDACTED:{kind}]")
    if MARK not in text:
        return Redacted(text, ())
    return Redacted(text, tuple(kind for kind in regex(PLACEHOLDER).findall(text) if kind in kinds))


def redact_nested(value: Any, redact: Redact, kinds: list[str]) -> Any:
    """The same for every text in a value as JSON has them; `kinds` gets what was taken out."""
    if isinstance(value, str):
        result = redact(value)
        if result.text != value:  # a text that was redacted long ago names its kinds too
            kinds.extend(result.found)
        return result.text
    if isinstance(value, tuple):
        return tuple(dict.fromkeys(redact_nested(item, redact, kinds) for item in cast("tuple[Any, ...]", value)))
    if isinstance(value, list):
        return [redact_nested(item, redact, kinds) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {
            redact_nested(name, redact, kinds): _redact_entry(name, item, redact, kinds)
            for name, item in cast("Mapping[Any, Any]", value).items()
        }
    return value


def _redact_entry(name: object, item: Any, redact: Redact, kinds: list[str]) -> Any:
    """An entry `"password": "…"` is told by its name, as in a text."""
    safe = redact_nested(item, redact, kinds)
    if safe is not item or not isinstance(name, str) or not isinstance(item, str) or len(item) > JUDGED:
        return safe
    told = redact(f'{name}="{item}"')
    if not regex(rf'"{PLACEHOLDER}"').fullmatch(told.text, len(name) + 1):
        return item
    kinds.extend(told.found)
    return told.text[len(name) + 2 : -1]


_MAX_PASSES: Final = 16
# Values of one pass that are searched for in the rest of the text.
_MAX_VALUES_REPEATED: Final = 16
_UNMISTAKABLE: Final = 8


def _find(text: str) -> list[SecretSpan]:
    # Byte tables turn "sixteen token characters in a row" and "thirteen digits" into operations some twenty times
    # cheaper than any regular expression over the same text.
    raw = text.encode("ascii", "replace")
    spans: list[SecretSpan] = []
    if _SHORTEST_RUN in raw.translate(_RUNS):
        letters = raw.translate(_SOLID_RUNS)
        spans += find_tokens(text, solid=32 if b"a" * 32 in letters else 16 if b"a" * 16 in letters else 0)
        if "PRIVATE KEY" in text:
            spans += find_private_keys(text)
    if "://" in text:
        if "@" in text:
            spans += find_url_passwords(text)
        if "sig=" in text or "otpauth" in text:
            spans += find_signatures(text)
    digits = len(raw.translate(None, _NO_DIGITS))
    if digits >= _SHORTEST_NUMBER:
        spans += find_account_numbers(text, raw, digits)
    if digits and raw.count(b":") >= _COLONS_OF_PGPASS:
        spans += find_password_lines(text)
    if "hrase" in text:
        spans += find_seed_phrases(text.replace("\u0130", "i").lower())
    if (digits or ":" in text or "=" in text or "-" in text) and names_a_secret(text, raw.lower()):
        # U+0130 is the one character that grows when lowered; offsets must stay those of the original.
        lowered = text.replace("\u0130", "i").lower()
        spans += find_assignments(text, lowered)
        spans += find_authorization(text, lowered)
        spans += find_command_passwords(text, lowered)
        spans += find_cookies(text, lowered)
        spans += find_seed_phrases(lowered)
    return spans


def _table(symbols: dict[int, str]) -> bytes:
    return bytes(ord(symbols.get(byte, " ")) for byte in range(256))


_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS | frozenset(b"_-"), "a"))
_SOLID_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS, "a"))
_NO_DIGITS = bytes(frozenset(range(256)) - _DIGITS)
_SHORTEST_RUN = b"a" * 16
_SHORTEST_NUMBER = 9
_COLONS_OF_PGPASS = 4


# Most telling first: where two findings overlap, the earlier kind names the placeholder.
KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        kind
        for kinds in (
            ("private_key",),
            (shape.kind for shape in SHAPES),
            (
                "aws_secret_key",
                "totp_secret",
                "seed_phrase",
                "url_password",
                "card",
                "iban",
                "ssn",
                "bearer_token",
                "basic_auth",
                "cookie",
            ),
            ("password", "api_key", "secret", "token"),
        )
        for kind in kinds
    )
)
