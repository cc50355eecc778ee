from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from learnings import LEARNINGS

from perdure.text.bm25 import WordCounts
from perdure.text.entry import term_hash
from perdure.text.keyword_terms import stem
from perdure.text.keyword_words import GENERIC
from perdure.text.keywords import extract_keywords, is_generic, same_word, usable_keywords
from perdure.text.stopwords import STOPWORDS
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS

PIECES = st.sampled_from(
    [
        "parseFile", "SQLITE_BUSY", "connection pool", "data", "fixes", "the", "of", "Files", "E1042", "C++", "don't",
        "Alice's", "[REDACTED:aws_key]", "https://example.org/a", "3.11", "Verbindungen", "数据库连接池", "接続プール",
        "커넥션을", "`git rebase --onto`", "\u202e", ".", ",", "\n", "src/clock.py", "0123456789abcdef0123", "x" * 80,
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map(" ".join))


def one_space(text: str) -> str:
    return " ".join(text.split()).lower()


@given(TEXTS, st.none() | TEXTS, st.none() | TEXTS)
@example("Fix the bug in the code", "Data", "Update the file")
def test_keywords_are_few_stand_in_the_texts_and_are_never_generic(text: str, title: str | None, reasoning: str | None):
    keywords = extract_keywords(text, title, reasoning)
    assert len(keywords) <= 10
    assert len(set(keywords)) == len(keywords)
    told = one_space(f"{text}\n{reasoning or ''}\n{title or ''}")
    for keyword in keywords:
        assert one_space(keyword) in told
        assert keyword.lower() not in GENERIC | STOPWORDS
        assert len(keyword) <= 64
        assert not UNSAFE_CHARACTERS.search(keyword)
    assert extract_keywords(text, title, reasoning) == keywords


@given(st.lists(st.one_of(st.none(), st.integers(), TEXTS), max_size=20))
def test_what_a_model_offers_is_taken_only_as_far_as_it_is_usable(offered: list[object]):
    keywords = usable_keywords(offered)
    assert len(keywords) <= 10
    for keyword in keywords:
        assert keyword.lower() not in GENERIC | STOPWORDS
        assert 1 < len(keyword) <= 64
        assert not UNSAFE_CHARACTERS.search(keyword)
    assert usable_keywords(keywords) == keywords


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The connection pool was exhausted, so the connection pool grew.", "connection pool"),
        ("Then parseFile returns None", "parseFile"),
        ("We saw E1042 again", "E1042"),
        ("SQLITE_BUSY means that another process writes", "SQLITE_BUSY"),
        ("Ann moved to New York in spring", "New York"),
        ("The parser in src/clock.py is slow", "src/clock.py"),
        ("Never use `git push --force` here", "git push --force"),
        ("Templates in C++ are slow to compile", "C++"),
        ("Der Verbindungspool war erschöpft", "Verbindungspool"),
        ("Sonst läuft der Verbindungspool leer", "Verbindungspool"),
        ("Никогда не закрывайте соединение внутри транзакции", "транзакции"),
        ("发布新版本之前必须运行全部测试。", "运行全部测试"),
        ("See docs/CONTRIBUTING.md#rebase first", "docs/CONTRIBUTING.md"),
        ("数据库连接池不要泄漏连接", "数据库连接池"),
        ("接続プールが枯渇した", "接続プール"),
        ("데이터베이스를 닫는다", "데이터베이스"),
        ("Le serveur de production est en panne", "serveur"),
    ],
)
def test_what_a_person_would_choose_is_chosen(text: str, expected: str):
    assert expected in extract_keywords(text)


def test_forms_of_one_word_are_one_keyword():
    keywords = extract_keywords("Parsing was slow. The parser is a bottleneck; headers and a header, too. Parse less.")
    assert sum(same_word(keyword, "parser") for keyword in keywords) == 1
    assert sum(same_word(keyword, "header") for keyword in keywords) == 1
    assert "bottleneck" in keywords


@pytest.mark.parametrize(
    ("one", "other"),
    [("parse", "parsing"), ("parser", "parse"), ("connections", "connection"), ("Verbindung", "Verbindungen")],
)
def test_forms_of_a_word_are_the_same_word(one: str, other: str):
    assert same_word(one, other)
    assert same_word(other, one)


@pytest.mark.parametrize(("one", "other"), [("pool", "poll"), ("cache", "cat"), ("date", "data"), ("test", "text")])
def test_other_words_are_not(one: str, other: str):
    assert not same_word(one, other)


@pytest.mark.parametrize("word", ["Files", "errors", "fixed", "updates", "bug fix", "software system", "changing"])
def test_a_generic_word_is_generic_in_every_form(word: str):
    assert is_generic(word)


@pytest.mark.parametrize("word", ["error handling", "fixture", "database", "file parser"])
def test_a_term_with_a_generic_word_in_it_may_tell_something(word: str):
    assert not is_generic(word)


@pytest.mark.parametrize("text", ["", "fix", "Fix the bug", "It is what it is.", "42", "...", "\u202e\u202e"])
def test_a_text_without_a_telling_word_has_no_keyword(text: str):
    assert extract_keywords(text) == ()


@pytest.mark.parametrize("text", ["Alice", "Read it", "Bob and Alice"])
def test_a_text_with_fewer_than_three_telling_words_gives_what_there_is(text: str):
    assert 1 <= len(extract_keywords(text)) < 3


def test_five_words_are_enough():
    assert len(extract_keywords("Tests need a fixed clock")) >= 3


CROWDED = "The gateway, the resolver, a certificate, the proxy, a cookie, the socket and the ledger are old."


def test_words_that_are_common_in_the_store_weigh_less():
    asked: list[str] = []

    def counted(words: Sequence[str]) -> WordCounts:
        asked.extend(words)
        return WordCounts(10_000, 100_000, {term_hash(stem(word)): 9_000 for word in ("gateway", "certificate")})

    assert {"gateway", "certificate"} <= set(extract_keywords(CROWDED))
    assert not {"gateway", "certificate"} & set(extract_keywords(CROWDED, count_words=counted))
    assert len(asked) == 7


def test_the_store_is_not_asked_where_every_term_finds_room():
    def counted(_: Sequence[str]) -> WordCounts:
        raise AssertionError

    assert len(extract_keywords("The gateway and the resolver need a certificate", count_words=counted)) == 3


def test_of_a_long_text_few_words_are_looked_up():
    asked: list[str] = []

    def counted(words: Sequence[str]) -> WordCounts:
        asked.extend(words)
        return WordCounts(0, 0, {})

    text = " and ".join(f"the {first}{second}x" for first in ("ka", "mo", "ri", "ten") for second in "abcdefghijklm")
    assert extract_keywords(text, count_words=counted) == extract_keywords(text)
    assert 0 < len(asked) <= 3 * 16


@pytest.mark.parametrize("piece", ["connection pool ", "parseFile ", "中", "`", "[REDACTED:", "a.b/", "A-", "x"])
def test_of_a_long_text_only_the_beginning_is_read(piece: str):
    """What stands behind it changes nothing, so its cost is bounded."""
    text = piece * (100_000 // len(piece))
    assert extract_keywords(text) == extract_keywords(f"{text[:50_000]} Istanbul lies behind it")


def test_criterion_five_holds_for_our_own_sentences():
    """S1, criterion 5: 3 to 10 keywords, three of them in description or reasoning, none of the generic list."""
    for text, reasoning in LEARNINGS:
        keywords = extract_keywords(text, reasoning=reasoning)
        assert 3 <= len(keywords) <= 10
        assert not GENERIC & {keyword.lower() for keyword in keywords}
        told = f"{text}\n{reasoning or ''}".lower()
        assert sum(keyword.lower() in told for keyword in keywords) >= 3
