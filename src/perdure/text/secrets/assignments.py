"""`password = …`, `token: …`: a telling name and a value that looks secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from perdure.text.secrets.password_words import ITS_OWNER, PASSWORD_WORDS, SAID
from perdure.text.secrets.randomness import RANDOM, is_template, scrambled
from perdure.text.secrets.spans import JUDGED, SecretSpan, end_of_run, regex

# Matched against lowered text. Only the value is replaced, so what stands before the name matters for keys alone:
# a primary key, a cache key or a key of a dictionary is no secret.
_NAMES = (
    ("password", "pass", r"pass(?:w(?:or[dt]|d)|phrase|code|(?<=[_-]pass))"),
    ("password", "pw", r"pw(?:d|(?<![a-z0-9]pw))"),
    ("password", "psk", r"psk(?<![a-z]psk)"),
    *(("password", stem, name) for stem, name in PASSWORD_WORDS),
    ("secret", "secret", r"secret"),
    ("secret", "credential", r"credentials?"),
    ("token", "token", r"token"),
    ("key", "key", r"key"),
)
_KEY_OF = (
    r"(?:(?P<aws_secret_key>secret[ _-]?access)|(?P<api_key>api|access|auth|account|app|service|subscription|storage"
    r"|licen[cs]e|webhook|admin|deploy|bot|client|integration|ingest|write|sas)"
    r"|(?P<secret>secret|private|signing|encryption|master|hmac|jwt|cipher|recovery|totp|2fa|mfa))[ _-]?\Z"
)
# Page and lock tokens, resource names (`arn:…:secret:name`, `Vault::Secret`) and our own placeholders only sound like
# secrets. Were a placeholder taken for a name, each pass could redact what follows it, and so on down the text.
_HARMLESS = (
    r"(?::|::[a-z]{1,30}|\[redacted:[a-z0-9_]{1,32}|(?:next|page|pagination|starting|continuation|backward|forward|sync"
    r"|cursor|lock|idempotency|public[_-]?key)[ _-]?)\Z"
)
_OPERATOR = (
    r"(?:[_-]?(?:[0-9]{1,2}|prod|production|dev|staging|test|live|value|old|new))?"
    r"(?:(?:" + ITS_OWNER + r"| \([^()\n]{1,40}\))?[\"'`*\])\\]{0,4}"
    r"(?P<op>[ \t]{0,4}:[ \t]{0,4}[a-z][a-z0-9_.\[\]| ]{0,30}=(?=[ \t]{0,4}[\"'])"
    r"|[ \t]{0,4}(?::=|=>|->|={1,3}|:)|" + SAID + r")|[\"'](?P<pair>,(?=[ \t]{0,4}[\"']))|[ \t*`]{0,8}(?P<weak>[ |>]))"
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
# "the password X", "login dana password X": told without a word between.
_SPOKEN = (
    r"(?:\b(?:the|with|use|using|my|his|her|your|our|new|old|temporary|initial)|\blogin[ \t]+\S{1,32})\s+[a-z]{0,12}\Z"
)
_CONTEXT = 48


class _Value(NamedTuple):
    """`doubtful`: nothing but its look says that this is the value."""

    text: str
    kind: str
    quoted: bool
    line: bool
    doubtful: bool
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
    doubtful = name["pair"] is not None
    if name["weak"] and not regex(_BEFORE[name["weak"]]).search(before):
        if kind != "password" or name["weak"] != " " or not regex(_SPOKEN).search(before):
            return None
        doubtful = True
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
        # Where no blank stands before a value, none needs to stand behind it: `パスワードは…です`.
        if name["op"] and not name["op"].isascii() and (ascii_part := regex(r"[!-~]{6,}").match(text, start, end)):
            end = ascii_part.end()
    return _Value(text[start : min(end, start + JUDGED)], kind, quoted, line, doubtful, start, end, text[end : end + 2])


def _secret_value(value: _Value) -> bool:
    text = value.text
    if is_template(text) or regex(r"\s").search(text) or (not value.quoted and _expression(value)):
        return False
    if value.kind == "password" or (value.kind == "secret" and (value.quoted or value.line) and "-" not in text):
        return _password(value)
    if not regex(r"[A-Za-z]").search(text) or not regex(r"[0-9]").search(text):
        return False
    if regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(?:sha|md)[0-9]+[:=-]|[a-z][a-z0-9+.]*://|arn:").match(text):
        return False
    if value.doubtful or not (value.quoted or value.line):
        return scrambled(text) >= _RANDOM_IN_PROSE
    mixed = len(text) >= _LONG_TOKEN and regex(r"[a-z]").search(text) and regex(r"[A-Z]").search(text)
    return scrambled(text) >= (RANDOM // 2 if mixed else RANDOM)


def _expression(value: _Value) -> bool:
    """Recognise what is no value but code: a call, an index, an attribute, a constant, a numbered variable."""
    call = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*[(\[]|{_IDENTIFIER}(?:\.{_IDENTIFIER})+=[A-Za-z]"
    name = (
        rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+"
        r"|[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20})+|[a-z]{1,20}(?:_[a-z]{1,20})+_?[0-9]{0,2}"
    )
    code = regex(call).match(value.text) or regex(name).fullmatch(value.text)
    return value.after[:1] in ("(", "[") or code is not None


_RANDOM_IN_PROSE = 12
_LONG_TOKEN = 16


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
_JOINING = (
    r"\b(?:and|the|for|not|you|but|are|was|all|any|can|its|our|out|has|how|one|per|off|own|too|use|via|end|set|with|from"
    r"|that|this|have|than|into|only|once|each|must|same|time|side|based|level|case|like|free|safe|side|wide|specific)\b"
)
_WORD_AND_DIGITS = r"[A-Za-z]{3,}[0-9]{2,}[^A-Za-z0-9]?\w?"
_SHORTEST_PASSWORD = 6
_LONG_PASSWORD = 8


def _password(value: _Value) -> bool:
    text = value.text
    if len(text) < _SHORTEST_PASSWORD or regex(r"(.)\1*").fullmatch(text):
        return False
    long = len(text) >= _LONG_PASSWORD
    prose = not value.quoted and not value.line and regex(r"[ \t][A-Za-z]").match(value.after) is not None
    if not regex(r"[A-Za-z]").search(text):
        return not (prose or value.doubtful) and regex(r"[0-9]+").fullmatch(text) is not None
    if regex(r"[0-9]").search(text):
        likely = not value.doubtful or scrambled(text) >= RANDOM or regex(_WORD_AND_DIGITS).fullmatch(text)
        return bool(likely) and (long or not (prose or value.doubtful)) and not _ordinary(text)
    if value.doubtful or regex(r"[^@#].{2,}[!@#$%^].+").fullmatch(text):
        return not value.doubtful and long and not regex(r"[^@]+@[^@]+\.[A-Za-z]+").fullmatch(text)
    return value.kind == "password" and not regex(_DUMMY).search(text) and _letters(text, quoted=value.quoted)


def _letters(text: str, *, quoted: bool) -> bool:
    """Letters alone are a password only in quotes, and not when they are a label ("Passwort") or a type ("string"); or
    when they are several words that make no sense together: `correct-horse-battery`, not `state-of-the-art`.
    """
    if regex(r"[a-z]{3,}(?:-[a-z]{3,}){2,}").fullmatch(text) and not regex(_JOINING).search(text):
        return True
    return quoted and regex(r"[a-z]+(?:(?:-[a-z]+){2,})?").fullmatch(text) is not None


def _ordinary(text: str) -> bool:
    """Recognise what follows `password:` in a sentence about passwords: `sha256`, `8-digit`, `2024-05-01`, `v1.2`."""
    if regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z][a-z0-9+.]*://").match(text):
        return True
    if regex(r"\.{0,2}~?/[A-Za-z0-9_./-]+").fullmatch(text):
        return scrambled(text) < RANDOM
    parts = regex(r"[-_./:+]").split(text)
    technical = [part for part in parts if regex(rf"{_TECHNICAL}|[0-9]{{1,3}}").fullmatch(part)]
    return bool(technical) and all(part in technical or regex(r"[A-Za-z]*|[0-9]+").fullmatch(part) for part in parts)
