"""No text of a question is an error: not its syntax, not its characters, not its size."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from perdure import Memory
from perdure.model import Filter
from perdure.recall.index import NamespaceIndex
from perdure.recall.query import ParsedQuery
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import read_once
from perdure.text.words import MAX_QUERY_WORDS, query_words

NOW = datetime(2026, 3, 14, tzinfo=UTC)
STRINGS = 100_000
PARTS = 4
THROUGH_EVERYTHING = 1000

SYNTAX = (
    *"\"'`*^:+-(){}[]<>|&!~#@$%,.;/\\=?", '""', "''", "--", "/*", "*/", ";--", '"a" *', "^a", "a* ", "a + b", "x'00'",
    "AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR(a b, 5)", "text:", "title : x", "{title text}:", "- title:", "1e999",
    "-0", "NaN", "NULL", "%s", "%n", "{}", "${x}", "../", "DROP TABLE memory", "' OR 1=1",
)  # fmt: skip
CHARACTERS = (
    "\x00", "\x01", "\x1a", "\x7f", "\ufeff", "\ufffd", "\uffff", "\ud800", "\udfff", "\udc00\ud800", "\u200b",
    "\u200d", "\u202e", "\u2066", "\u0301", "a\u0301\u0302\u0303", "\t", "\n", "\r\n", "\u2028", " " * 50,
)  # fmt: skip
TEXTS = (
    "tea", "Monday", "running", "東京都", "ネコ", "한국어", "ไทย", "שלום", "مرحبا", "हिन्दी", "ñandú", "ﬁ", "①", "İ",
    "ß", "🧠", "👩‍👩‍👧", "🇯🇵", "parseFile", "HTTPServer", "snake_case", "a" * 300, "A" * 300, "aA" * 200, "9" * 400,
)  # fmt: skip
PIECES = (*SYNTAX, *CHARACTERS, *TEXTS)


@pytest.fixture
def shelf() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none") as memory:
        for text in ("tea on Monday", "東京都でお茶", "parseFile(HTTPServer)", "NEAR AND OR NOT"):
            memory.remember(text)
        yield memory


def hostile(count: int, seed: int) -> Iterator[str]:
    """Pieces of syntax and of odd text, joined, cut and mixed up; now and then something huge."""
    chance = random.Random(seed)
    for _ in range(count):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 8)))
        way = chance.random()
        if way < 0.2:
            at = chance.randint(0, len(text))
            text = text[:at] + chr(chance.choice((chance.randint(0, 0x10FFFF), chance.randint(0, 0x2FF)))) + text[at:]
        elif way < 0.3:
            text = "".join(chance.sample(text, len(text)))
        elif way < 0.301:
            text *= 5000
        yield text


@pytest.mark.parametrize("part", range(PARTS))
def test_a_hundred_thousand_hostile_strings_find_the_same_on_disk_and_in_memory_without_an_error(
    shelf: Memory, part: int
):
    """What they find is compared for one in ten."""
    store = shelf._services.store
    snapshot = NamespaceIndex("default", None).current(store)
    for number, text in enumerate(hostile(STRINGS // PARTS, part)):
        words = query_words(text)
        assert len(words) <= MAX_QUERY_WORDS
        query = ParsedQuery(text, words)
        scores = snapshot.lexical.scores(query.terms, None, query.parts)
        search = read_once(store).keyword_search(words, Filter(), NOW, 5)
        assert search.complete
        if number % 10 == 0:
            assert len(search.best) == (scores > 0).sum()


@pytest.mark.parametrize("model", [True, False], ids=["by words and meaning", "by words from disk"])
def test_hostile_strings_go_through_the_whole_of_recall_without_an_error(model: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("perdure.recall.recaller._RECALLS_FROM_DISK", 10**9)
    with Memory(":memory:", embedder=WordEmbedder() if model else "none") as memory:
        for text in ("tea on Monday", "東京都でお茶", "parseFile(HTTPServer)", "NEAR AND OR NOT"):
            memory.remember(text)
        for text in hostile(THROUGH_EVERYTHING, 2):
            answer = memory.recall(text)
            assert answer.mode in ({"hybrid", "vector", "none"} if model else {"keyword", "none"})


@pytest.mark.parametrize("query", ["x" * 10_000_000, "word " * 2_000_000, "東" * 3_000_000, "aB" * 4_000_000])
def test_of_a_huge_question_only_the_beginning_is_looked_at(query: str):
    assert 1 <= len(query_words(query)) <= MAX_QUERY_WORDS
