"""`password = …`, `token: …`: a telling name and a value that looks secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from perdure.text.secrets.password_words import ASCII_WORDS, ITS_OWNER, OTHER_STEMS, PASSWORD_WORDS, SAID
from perdure.text.secrets.randomness import RANDOM, is_expression, is_ordinary, is_passphrase, is_template, scrambled
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


# The frequent ones first.
_STEMS = (b"pass", b"key", b"token", b"secret", b"pw", b"credential")
_WORDS = frozenset(
    (
        b"bearer authorization cookie sid phpsessid jsessionid sessionid curl mysql mysqldump mysqladmin redis login "
        b"auth psk identified mnemonic " + b" ".join(ASCII_WORDS)
    ).split()
)
_LETTERS_ALONE = bytes(byte if chr(byte).isascii() and chr(byte).isalpha() else ord(" ") for byte in range(256))


def names_a_secret(text: str, lowered: bytes) -> bool:
    """Whether a word is there beside which a secret may stand. Each search costs as much as cutting the text into
    words, so only what is also a part of longer names is searched for.
    """
    return (
        any(map(lowered.__contains__, _STEMS))
        or not _WORDS.isdisjoint(lowered.translate(_LETTERS_ALONE).split())
        or (not text.isascii() and any(map(text.lower().__contains__, OTHER_STEMS)))
    )


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
    if is_template(text) or regex(r"\s").search(text) or (not value.quoted and is_expression(text, value.after)):
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


_RANDOM_IN_PROSE = 12
_LONG_TOKEN = 16


_DUMMY = (
    r"pass|pwd|secret|token|string|text|your|example|sample|placeholder|required|optional|hidden|none|null|undefined"
    r"|invalid|missing|incorrect|wrong|reset|forgot|confirm|enter|field|input|user|value|type|redact|removed|mask|xxx"
    r"|prompt|default|login|encrypted|hashed|object|label|stdin|vault|keyring"
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
        return bool(likely) and (long or not (prose or value.doubtful)) and not is_ordinary(text)
    if value.doubtful or regex(r"[^@#].{2,}[!@#$%^].+").fullmatch(text):
        return not value.doubtful and long and not regex(r"[^@]+@[^@]+\.[A-Za-z]+").fullmatch(text)
    # Letters alone are a password only in quotes, and not when they are a label ("Passwort") or a type ("string").
    letters = is_passphrase(text) or (value.quoted and regex(r"[a-z]+(?:(?:-[a-z]+){2,})?").fullmatch(text))
    return value.kind == "password" and bool(letters) and not regex(_DUMMY).search(text)
