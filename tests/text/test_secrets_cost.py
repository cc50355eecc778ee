"""Taking secrets out costs time in proportion to the text, whatever the text is. Work is counted, never timed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from perdure.text.secrets import redact

# The interpreter's own reader of regular expressions, which has no public name.
PARSER: Any = import_module("re._parser")
COMPILER: Any = import_module("re._compiler")

FINDERS = (
    "account_numbers",
    "assignments",
    "commands",
    "private_keys",
    "randomness",
    "redaction",
    "spans",
    "urls_and_headers",
    "vendor_tokens",
)

HOSTILE = (
    *(
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "sk-",
        "sk-a1",
        "ghp_",
        "github_pat_",
        "glpat-.a",
        "xoxe.xox",
        "SG.aaaaaaaaaaaaaaaaaaaa.",
    ),
    *(
        "AKIA",
        "AKIAA2AAAAAAAAAAAAAA,",
        "AC0",
        "hooks.slack.com/services/",
        "whsec_",
        "a",
        "a1-",
        "\\neyJ",
        "[REDACTED:",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 40 + "\n",
        "-----BEGIN ",
        "://a:",
        "://a:b@",
    ),
    *(
        "4",
        "4111 ",
        "4111 1111 1111 " + "1111 ",
        "password=",
        "password: ",
        "password for ",
        "password (a",
        "password: a a",
    ),
    *(
        'token="',
        "token=\"token='",
        'password="\\',
        "password='{a",
        "password=<",
        "password=${",
        "PASSWORD=A_",
        "token:",
    ),
    *("secret_key=", "api key: ", "password=a.b", "password: str = ", "<password>", "| password ", "--password ", "pw"),
    *(
        "authorization:",
        "bearer a1b2c3d4e5f6g7",
        "token=a1b2c3d4e5f6g7h8",
        "token=a1b2c3d4e5f6g7h8 ",
        "password=\u0130",
    ),
    *(
        "curl -u a:",
        "curl ",
        "mysql -p",
        "login -p ",
        "sshpass -p",
        "redis-cli ",
        "machine a login b ",
        "echo a:",
        "auth=('a', '",
        "identified by '",
    ),
    *(
        "cookie: a",
        "cookie: sid=a1b2c3d4e5f6g7h8i9;",
        "sessionid=",
        "?sig=",
        "otpauth://a?secret=",
        "seed phrase: abandon ",
        "mnemonic=zoo ",
    ),
    *("DE89 ", "DE89370400440532013000", "123-45-", "a:1:b:c:d\n", ":1:", "MT", "MTAw.", "0/1", "dp.pt.", "cio", "0f"),
    *("mot de passe est ", "contraseña: ", "密码是", "パスワードは", "пароль: a-b-", "clave de "),
)

OPENINGS = ('password="', "password=", "token: ", "eyJ", "sk-", "://a:", "Bearer ")
FILLINGS = ("a", "a1", "\\", "{", "<", ".", "=", "@", ":", "-")


class Work:
    """Stands in for `spans.regex` and counts each call, and each character that a call was given or took."""

    def __init__(self) -> None:
        self.steps = 0
        self.scanned: set[str] = set()
        self._compiled: dict[str, CountedPattern] = {}

    def __call__(self, pattern: str) -> CountedPattern:
        return self._compiled.setdefault(pattern, CountedPattern(pattern, self))


class CountedPattern:
    def __init__(self, pattern: str, work: Work) -> None:
        self.real = re.compile(pattern)
        self.work = work

    def finditer(self, text: str, *within: int) -> Iterator[re.Match[str]]:
        self.work.scanned.add(self.real.pattern)
        for match in self.real.finditer(text, *within):
            self.work.steps += 1 + len(match[0])
            yield match

    def match(self, text: str, *within: int) -> re.Match[str] | None:
        match = self.real.match(text, *within)
        self.work.steps += 1 + len(match[0] if match else "")
        return match

    def search(self, text: str) -> re.Match[str] | None:
        return self._whole(text, self.real.search)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._whole(text, self.real.fullmatch)

    def findall(self, text: str) -> list[Any]:
        return self._whole(text, self.real.findall)

    def split(self, text: str) -> list[Any]:
        return self._whole(text, self.real.split)

    def _whole(self, text: str, call: Callable[[str], Any]) -> Any:
        self.work.steps += 1 + len(text)
        return call(text)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work()
    for module in FINDERS:
        monkeypatch.setattr(f"perdure.text.secrets.{module}.regex", counted)
    return counted


def steps(work: Work, text: str) -> int:
    work.steps = 0
    redact(text)
    return work.steps


def assert_linear(count: Callable[[str], int], make: Callable[[int], str], size: int) -> None:
    """Eight times the text costs 8 times as much if linear, 64 times if quadratic."""
    small, large = make(size), make(8 * size)
    assert count(large) <= 16 * max(count(small), len(small)), small[:40]


def repeated(piece: str) -> Callable[[int], str]:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def endless(opening: str, filling: str) -> Callable[[int], str]:
    return lambda size: (opening + filling * size)[:size]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_on_hostile_text_grows_with_its_length_not_its_square(piece: str, work: Work):
    assert_linear(lambda text: steps(work, text), repeated(piece), 1 << 13)


@pytest.mark.parametrize("opening", OPENINGS)
def test_the_work_on_one_endless_value_grows_with_its_length_not_its_square(opening: str, work: Work):
    for filling in FILLINGS:
        assert_linear(lambda text: steps(work, text), endless(opening, filling), 1 << 13)


def test_no_pattern_walks_the_same_run_again_from_within(work: Work):
    """What a search tries and gives up is not seen from outside: an open run that must be followed by something else is
    walked at every place where the pattern begins. Guarded on the left, it begins once for each run.
    """
    for piece in HOSTILE:
        redact(repeated(piece)(1 << 12))
    openings = [opening for pattern in sorted(work.scanned) for opening in up_to_open_runs(pattern)]
    assert len(openings) >= 4
    texts = [*map(repeated, HOSTILE), *(endless(opening, filling) for opening in OPENINGS for filling in FILLINGS)]
    for make in texts:
        assert_linear(lambda text: walked(openings, text), make, 1 << 9)


def test_an_unguarded_pattern_is_seen_to_walk_its_runs_again():
    unguarded = up_to_open_runs(r"key[a-z]{8,}=")
    guarded = up_to_open_runs(r"(?<![a-z])key[a-z]{8,}=")
    assert_linear(lambda text: walked(guarded, text), repeated("key"), 1 << 9)
    with pytest.raises(AssertionError):
        assert_linear(lambda text: walked(unguarded, text), repeated("key"), 1 << 9)


def up_to_open_runs(pattern: str) -> list[re.Pattern[str]]:
    """The pattern cut off behind each unbounded run after which it can still fail."""
    parsed: Any = PARSER.parse(pattern)
    unbounded = 1 << 31
    return [
        COMPILER.compile(parsed[: at + 1])
        for at in range(len(parsed))
        if parsed[at : at + 1].getwidth()[1] >= unbounded and parsed[at + 1 :].getwidth()[0] > 0
    ]


def walked(openings: list[re.Pattern[str]], text: str) -> int:
    """The characters under all runs from all places where one begins."""
    matches = (opening.match(text, at) for opening in openings for at in range(len(text)))
    return sum(len(match[0]) for match in matches if match)
