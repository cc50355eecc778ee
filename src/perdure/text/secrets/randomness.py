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


_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,40}"


def is_expression(text: str, after: str) -> bool:
    """Recognise what is no value but code: a call, an index, an attribute, a constant, a numbered variable."""
    call = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*[(\[]|{_IDENTIFIER}(?:\.{_IDENTIFIER})+=[A-Za-z]"
    name = (
        rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+"
        r"|[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20})+|[a-z]{1,20}(?:_[a-z]{1,20})+_?[0-9]{0,2}"
    )
    return after[:1] in ("(", "[") or bool(regex(call).match(text) or regex(name).fullmatch(text))


_JOINING = (
    r"\b(?:and|the|for|not|you|but|are|was|all|any|can|its|our|out|has|how|one|per|off|own|too|use|via|end|set|with|from"
    r"|that|this|have|than|into|only|once|each|must|same|time|side|based|level|case|like|free|safe|side|wide|specific)\b"
)


def is_passphrase(text: str) -> bool:
    """Recognise several words that make no sense together: `correct-horse-battery`, not `state-of-the-art`."""
    return bool(regex(r"[a-z]{3,}(?:-[a-z]{3,}){2,}").fullmatch(text)) and not regex(_JOINING).search(text)


_TECHNICAL = (
    r"(?i:(?:sha|md|base|oauth|auth|argon|pbkdf|hs|rs|es|ps|utf|aes|rsa|rfc|http|ed|blake|tls|ipv|python|py|node|v|x"
    r"|version|step|phase|level|section|option|line|page|issue|part|java|win|web|s|ec|p|h|k|i|l)[0-9]{1,5}[a-z]{0,4}"
    r"|[0-9]{1,4}(?:x|s|ms|m|h|d|k|kb|mb|gb|min|mins|hrs?|hours?|days?|weeks?|months?|years?|chars?|characters?"
    r"|digits?|bits?|bytes?|letters?|symbols?|words?|times?|attempts?|tries|th|st|nd|rd))"
)


def is_ordinary(text: str) -> bool:
    """Recognise what follows `password:` in a sentence about passwords: `sha256`, `8-digit`, `2024-05-01`, `v1.2`."""
    if regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z][a-z0-9+.]*://").match(text):
        return True
    if regex(r"\.{0,2}~?/[A-Za-z0-9_./-]+").fullmatch(text):
        return scrambled(text) < RANDOM
    parts = regex(r"[-_./:+]").split(text)
    technical = [part for part in parts if regex(rf"{_TECHNICAL}|[0-9]{{1,3}}").fullmatch(part)]
    return bool(technical) and all(part in technical or regex(r"[A-Za-z]*|[0-9]+").fullmatch(part) for part in parts)
