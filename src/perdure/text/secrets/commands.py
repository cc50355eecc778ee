"""Passwords in commands (`curl -u dana:…`) and in files of credentials (`.netrc`, `.pgpass`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.text.secrets.randomness import is_template
from perdure.text.secrets.spans import SecretSpan, regex

_QUOTED_OR_BARE = r"(?:\"(?P<double>[^\"\n]{3,256})\"|'(?P<single>[^'\n]{3,256})'|(?P<bare>[^\s\"'|;&<>]{3,256}))"
_UP_TO_QUOTE = r"(?P<bare>[^\s\"']{3,256})"
_OPTIONS = r"[^\n|;]{0,200}?[ \t]"
# A command, how it goes on up to the password, and how the password ends.
_COMMANDS = (
    ("sshpass", r"[ \t]+-p[ \t]*", _QUOTED_OR_BARE),
    ("redis-cli", rf"{_OPTIONS}(?:-a|--pass)[ =]", _QUOTED_OR_BARE),
    ("login", rf"{_OPTIONS}-p[ \t]+", _QUOTED_OR_BARE),  # docker login, az login
    ("mysql", rf"(?:dump|admin|import)?{_OPTIONS}-p(?=[^ \t\n])", _QUOTED_OR_BARE),
    ("mariadb", rf"(?:-dump|-admin)?{_OPTIONS}-p(?=[^ \t\n])", _QUOTED_OR_BARE),
    ("-pass", r"(?:in|out)?[ =]pass:", _QUOTED_OR_BARE),  # openssl
    ("requirepass", r"[ \t]+", _QUOTED_OR_BARE),  # redis.conf
    ("with password ", r"(?=')", _QUOTED_OR_BARE),  # SQL
    ("identified by ", r"(?=')", _QUOTED_OR_BARE),  # SQL
    ("curl", rf"{_OPTIONS}(?:-[a-tv-z]{{0,6}}u|--user|--proxy-user)[ =]{{0,2}}[\"']?[^\s:\"']{{1,80}}:", _UP_TO_QUOTE),
    ("echo", r"[ \t]+[\"']?[a-z_][a-z0-9_-]{0,31}:(?=[^\n]{3,256}\|[ \t]*(?:sudo )?chpasswd)", _UP_TO_QUOTE),
    ("auth=(", r"[ \t]{0,4}[\"'][^\"'\n]{1,80}[\"'],[ \t]{0,4}[\"']", _UP_TO_QUOTE),
    ("machine", r"[ \t]+\S{1,200}\s{1,80}login\s{1,80}\S{1,200}\s{1,80}password[ \t]+", _UP_TO_QUOTE),  # .netrc
)
_PGPASS = r":(?:[0-9]{2,5}|\*):[^\s:]{1,63}:[^\s:]{1,63}:(?P<bare>[^\s:]{3,256})(?=\r?\n|\Z)"


def find_command_passwords(text: str, lowered: str) -> Iterator[SecretSpan]:
    for command, options, value_pattern in _COMMANDS:
        if command not in lowered:
            continue
        literal = re.escape(command)
        for match in regex(rf"{literal}(?<![a-z0-9]{literal}){options}").finditer(lowered):
            value = regex(value_pattern).match(text, match.end())
            if value and value.lastgroup and not _is_harmless(value[value.lastgroup]):
                yield SecretSpan(*value.span(value.lastgroup), "password")


def find_password_lines(text: str) -> Iterator[SecretSpan]:
    """Lines of `.pgpass`: host, port, database, user, password."""
    for match in regex(_PGPASS).finditer(text):
        host = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
        if regex(r"[^\s:]+").fullmatch(host) and not _is_harmless(match["bare"]):
            yield SecretSpan(*match.span("bare"), "password")


def _is_harmless(value: str) -> bool:
    """A hole, a mask, an option, a port, a variable of the shell, or the word itself."""
    known = r"[*x.•]+|\$.*|%[a-z0-9_]+%|-.*|\(.*|[0-9]{1,5}|password|passwd|pass|secret|token"
    return is_template(value) or regex(known).fullmatch(value.lower()) is not None
