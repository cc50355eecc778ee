"""Whether a value looks like a secret: random, or a word, a name, a hole to be filled in."""

from __future__ import annotations

from perdure.text.secrets.spans import regex


def scrambled(value: str) -> int:
    """Count the characters of `value` that sit in parts no one would write as a word, a number or a short name."""
    wordlike = regex(r"[A-Za-z]{1,15}|[a-z]+|[A-Z]+|[0-9]+|[A-Za-z]{1,12}[0-9]{1,4}|[0-9]{1,4}[A-Za-z]{1,10}")
    parts = regex(r"[^A-Za-z0-9]+").split(value)
    scrambled = 0
    for part in parts:
        # A type name may have a number in it, such as `Sha256HashAlgorithm`.
        humps = regex(r"[A-Z][a-z]{2,}|\A[a-z]{2,}").findall(part)
        if part and not wordlike.fullmatch(part) and 10 * sum(map(len, humps)) < 7 * len(part):
            scrambled += len(part)
    return scrambled


def is_varied(value: str) -> bool:
    """Tell a token from its documentation (`ghp_xxxxxxxx…`, `T00000000/B00000000/XXXX…`)."""
    return len(set(value)) >= _VARIED


def is_numbered(value: str) -> bool:
    return is_varied(value) and any(character.isdigit() for character in value)


def is_random(value: str) -> bool:
    return is_varied(value) and scrambled(value) >= RANDOM


def is_long_random(value: str) -> bool:
    return is_varied(value) and scrambled(value) >= 2 * RANDOM


_VARIED = 8
RANDOM = 8


def is_template(text: str) -> bool:
    """Recognise a hole to be filled in, a mask, or a placeholder of ours."""
    return bool(
        regex(r"\$\{|\{\{|\$\(|%\(|\[REDACTED:|\.\.\.|…|<[^<>\s]+>|&lt;|\{[A-Za-z_][A-Za-z0-9_.]*\}").search(text)
        or regex(r"\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z0-9_]+%|\{[^{}]*\}|:[a-z_]+").fullmatch(text)
    )
