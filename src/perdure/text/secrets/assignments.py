"""`password = …`, `token: …`: a telling name and a value that looks secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from perdure.text.secrets.randomness import RANDOM, is_template, scrambled
from perdure.text.secrets.spans import JUDGED, SecretSpan, end_of_run, regex

# Matched against lowered text. Only the value is replaced, so what stands before the name matters for keys alone:
# a primary key, a cache key or a key of a dictionary is no secret.
_NAMES = (
    ("password", "pass", r"pass(?:w(?:or[dt]|d)|phrase|code|(?<=[_-]pass))"),
    ("password", "pw", r"pw(?:d|(?<![a-z0-9]pw))"),
    ("secret", "secret", r"secret"),
    ("secret", "credential", r"credentials?"),
    ("token", "token", r"token"),
    ("key", "key", r"key"),
)
_KEY_OF = (
    r"(?:(?P<aws_secret_key>secret[ _-]?access)|(?P<api_key>api|access|auth|account|app|service|subscription)"
    r"|(?P<secret>secret|private|signing|encryption|master))[ _-]?\Z"
)
# Page and lock tokens, resource names (`arn:…:secret:name`, `Vault::Secret`) and our own placeholders only sound like
# secrets. Were a placeholder taken for a name, each pass could redact what follows it, and so on down the text.
_HARMLESS = (
    r"(?::|::[a-z]{1,30}|\[redacted:[a-z_]{1,24}|(?:next|page|pagination|starting|continuation|backward|forward|sync"
    r"|cursor|lock|idempotency|public[_-]?key)[ _-]?)\Z"
)
_OPERATOR = (
    r"(?:[_-]?(?:[0-9]{1,2}|prod|production|dev|staging|test|live|value|old|new))?"
    r"(?:(?: (?:for|of|on|to) [^:=\n]{1,40}?| \([^()\n]{1,40}\))?[\"'`*\])\\]{0,4}"
    r"(?P<op>[ \t]{0,4}:[ \t]{0,4}[a-z][a-z0-9_.\[\]| ]{0,30}=(?=[ \t]{0,4}[\"'])"
    r"|[ \t]{0,4}(?::=|=>|->|={1,3}|:)|[ \t]+(?:is|was)(?=[ \t]))"
    r"|[ \t*`]{0,8}(?P<weak>[ |>]))"
    r"[ \t]{0,8}\*{0,2}[ \t]{0,8}(?:[brfu]{1,2}(?=[\"']))?"
)

_QUOTED = (
    r"\"(?P<double>(?:[^\"\\\n]|\\.){1,4096}+)\"|'(?P<single>(?:[^'\\\n]|\\.){1,4096}+)'|`(?P<tick>[^`\n]{1,4096}+)`"
    r"|\\[\"'](?P<escaped>[^\"'\\\n]{1,4096}+)\\[\"']"
)
_BARE = r"\\?[\"'`]?(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\]{1,256})"
_BARE_REST = r"[^\s\"'`,;&|<>(){}\[\]\\]*"
# On a line of its own, `DB_PASSWORD=a&b,(c` is one value up to the next blank.
_LINE = r"(?P<bare>[^\s\"'`]{1,256})"
_LINE_REST = r"[^\s\"'`]*"
_LINE_START = r"(?:\A|\n)[ \t]*(?:export |set |env |- )?[a-z0-9_.-]*\Z"
_BEFORE = {
    " ": r"(?:\A|[\s\"'])--?[a-z0-9_-]*\Z",  # --password hunter22
    "|": r"\|[ \t*`]*[a-z0-9_ .-]*\Z",  # | password | hunter22 |
    ">": r"<[a-z0-9_:.-]*\Z",  # <password>hunter22</password>
}
_CONTEXT = 48


class _Value(NamedTuple):
    text: str
    kind: str
    quoted: bool
    line: bool
    start: int
    end: int
    after: str


def find_assignments(text: str, lowered: str) -> Iterator[SecretSpan]:
    for kind, stem, name in _NAMES:
        if stem not in lowered:
            continue
        done = 0
        for match in regex(name + _OPERATOR).finditer(lowered):
            # Names inside a value already taken are skipped, or a long run of them would be walked once for each.
            if match.start() < done:
                continue
            value = _value(text, lowered, match, kind)
            if value and _secret_value(value):
                rest = _LINE_REST if value.line else _BARE_REST
                done = value.end if value.quoted else end_of_run(rest, text, value.start, value.end)
                yield SecretSpan(value.start, done, value.kind)


def _value(text: str, lowered: str, name: re.Match[str], kind: str) -> _Value | None:
    before = lowered[max(0, name.start() - _CONTEXT) : name.start()]
    if name["weak"] and not regex(_BEFORE[name["weak"]]).search(before):
        return None
    if regex(_HARMLESS).search(before):
        return None
    if kind == "key":
        of = regex(_KEY_OF).search(before)
        if of is None or of.lastgroup is None:
            return None
        kind = of.lastgroup
    line = name["op"] == "=" and regex(_LINE_START).search(before) is not None
    value = regex(_QUOTED).match(text, name.end()) or regex(_LINE if line else _BARE).match(text, name.end())
    if value is None or value.lastgroup is None:
        return None
    quoted = value.lastgroup != "bare"
    start, end = value.span(value.lastgroup)
    if not quoted and not line and end - start < JUDGED:
        end = start + len(text[start:end].rstrip(".:?"))
    return _Value(text[start : min(end, start + JUDGED)], kind, quoted, line, start, end, text[end : end + 2])


def _secret_value(value: _Value) -> bool:
    text = value.text
    if is_template(text) or regex(r"\s").search(text):
        return False
    if not value.quoted:
        # An expression is no secret: a call, an index, an attribute, a constant, a numbered variable.
        call = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*[(\[]|{_IDENTIFIER}(?:\.{_IDENTIFIER})+=[A-Za-z]"
        name = (
            rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+"
            r"|[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20})+|[a-z]{1,20}(?:_[a-z]{1,20})+_?[0-9]{0,2}"
        )
        if value.after[:1] in ("(", "[") or regex(call).match(text) or regex(name).fullmatch(text):
            return False
    if value.kind == "password" or (value.kind == "secret" and (value.quoted or value.line) and "-" not in text):
        return _password(value)
    if not regex(r"[A-Za-z]").search(text) or not regex(r"[0-9]").search(text):
        return False
    if regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(?:sha|md)[0-9]+[:=-]|[a-z][a-z0-9+.]*://|arn:").match(text):
        return False
    return scrambled(text) >= (RANDOM if value.quoted or value.line else _RANDOM_IN_PROSE)


_RANDOM_IN_PROSE = 12


_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,40}"
_TECHNICAL = (
    r"(?i:(?:sha|md|base|oauth|auth|argon|pbkdf|hs|rs|es|ps|utf|aes|rsa|rfc|http|ed|blake|tls|ipv|python|py|node|v|x"
    r"|version|step|phase|level|section|option|line|page|issue|part|java|win|web|s|ec|p|h|k|i|l)[0-9]{1,5}[a-z]{0,4}"
    r"|[0-9]{1,4}(?:x|s|ms|m|h|d|k|kb|mb|gb|min|mins|hrs?|hours?|days?|weeks?|months?|years?|chars?|characters?"
    r"|digits?|bits?|bytes?|letters?|symbols?|words?|times?|attempts?|tries|th|st|nd|rd))"
)
_DUMMY = (
    r"pass|pwd|secret|token|string|text|your|example|sample|placeholder|required|optional|hidden|none|null|undefined"
    r"|invalid|missing|incorrect|wrong|reset|forgot|confirm|enter|field|input|user|value|type|redact|removed|mask|xxx"
    r"|prompt|default|login|encrypted|hashed|object|label|stdin|vault|keyring"
)
_SHORTEST_PASSWORD = 6
_LONG_PASSWORD = 8


def _password(value: _Value) -> bool:
    text = value.text
    if len(text) < _SHORTEST_PASSWORD or regex(r"(.)\1*").fullmatch(text):
        return False
    long = len(text) >= _LONG_PASSWORD
    prose = not value.quoted and not value.line and regex(r"[ \t][A-Za-z]").match(value.after) is not None
    if not regex(r"[A-Za-z]").search(text):
        return not prose and regex(r"[0-9]+").fullmatch(text) is not None
    if regex(r"[0-9]").search(text):
        return (long or not prose) and not _ordinary(text)
    if regex(r"[^@#].{2,}[!@#$%^].+").fullmatch(text):
        return long and not regex(r"[^@]+@[^@]+\.[A-Za-z]+").fullmatch(text)
    # Letters alone are a password only in quotes, and not when they are a label ("Passwort") or a type ("string").
    if value.kind != "password" or not value.quoted or regex(_DUMMY).search(text):
        return False
    return regex(r"[a-z]+(?:(?:-[a-z]+){2,})?").fullmatch(text) is not None


def _ordinary(text: str) -> bool:
    """Recognise what follows `password:` in a sentence about passwords: `sha256`, `8-digit`, `2024-05-01`, `v1.2`."""
    if regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z][a-z0-9+.]*://").match(text):
        return True
    if regex(r"\.{0,2}~?/[A-Za-z0-9_./-]+").fullmatch(text):
        return scrambled(text) < RANDOM
    parts = regex(r"[-_./:+]").split(text)
    technical = [part for part in parts if regex(rf"{_TECHNICAL}|[0-9]{{1,3}}").fullmatch(part)]
    return bool(technical) and all(part in technical or regex(r"[A-Za-z]*|[0-9]+").fullmatch(part) for part in parts)
