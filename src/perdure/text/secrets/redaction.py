"""Redaction: which finders a text needs, and what becomes of what they find.

Most text holds no secret, so `_find` first decides from a few whole-text byte operations which families could match
at all; no regular expression is compiled or run for text that rules them all out. Every pattern is linear: an
unbounded run is either the end of its pattern, or guarded on the left so that it starts once per run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from perdure.text.secrets.account_numbers import find_cards
from perdure.text.secrets.assignments import find_assignments
from perdure.text.secrets.private_keys import find_private_keys
from perdure.text.secrets.spans import MARK, PLACEHOLDER, SecretSpan, regex
from perdure.text.secrets.urls_and_headers import find_authorization, find_url_passwords
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
    for _ in range(_PASSES):
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
        text = "".join((*pieces, text[at:]))
    if MARK not in text:
        return Redacted(text, ())
    return Redacted(text, tuple(kind for kind in regex(PLACEHOLDER).findall(text) if kind in kinds))


_PASSES: Final = 16


def _find(text: str) -> list[SecretSpan]:
    # Byte tables turn "sixteen token characters in a row" and "thirteen digits" into operations some twenty times
    # cheaper than any regular expression over the same text.
    raw = text.encode("ascii", "replace")
    spans: list[SecretSpan] = []
    if _SHORTEST_RUN in raw.translate(_RUNS):
        spans += find_private_keys(text)
        spans += find_tokens(text, solid=_SHORTEST_RUN in raw.translate(_SOLID_RUNS))
    if "@" in text and "://" in text:
        spans += find_url_passwords(text)
    digits = len(raw.translate(None, _NO_DIGITS))
    if digits >= _SHORTEST_CARD:
        spans += find_cards(text)
    if digits or ":" in text or "=" in text:
        lowered_raw = raw.lower()
        if any(name in lowered_raw for name in _NAME_STEMS):
            # U+0130 is the one character that grows when lowered; offsets must stay those of the original.
            lowered = text.replace("\u0130", "i").lower()
            spans += find_assignments(text, lowered)
            spans += find_authorization(text, lowered)
    return spans


def _table(symbols: dict[int, str]) -> bytes:
    return bytes(ord(symbols.get(byte, " ")) for byte in range(256))


_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS | frozenset(b"_-"), "a"))
_SOLID_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS, "a"))
_NO_DIGITS = bytes(frozenset(range(256)) - _DIGITS)
_SHORTEST_RUN = b"a" * 16
_SHORTEST_CARD = 13


# The frequent ones first.
_NAME_STEMS = (b"pass", b"key", b"token", b"secret", b"pw", b"credential", b"bearer", b"authorization")


# Most telling first: where two findings overlap, the earlier kind names the placeholder.
KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        kind
        for kinds in (
            ("private_key",),
            (shape.kind for shape in SHAPES),
            ("aws_secret_key", "url_password", "card", "bearer_token", "basic_auth"),
            ("password", "api_key", "secret", "token"),
        )
        for kind in kinds
    )
)
