"""Trigger phrases: a phrase that is in the prompt is found, whatever its form; one that is not, never."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from recall.feed import PLAIN

from perdure.recall import triggers
from perdure.recall.triggers import Match, Phrases
from perdure.store.port import IndexRow
from perdure.text.words import tokens

NOW = datetime(2026, 3, 14, tzinfo=UTC)


def row(
    number: int, phrases: tuple[str, ...], importance: float, valid_from: int | None, valid_until: int | None
) -> IndexRow:
    return PLAIN._replace(
        number=number,
        trigger_phrases=phrases,
        importance=importance,
        valid_from=valid_from,
        valid_until=valid_until,
    )


NOTHING = row(99, ("zzz never said zzz",), 0.5, None, None)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=30).filter(
    lambda text: bool(text.strip())
)
AROUND = st.lists(st.sampled_from(["please", "auth work", "für", "東京", "parseFile", "—", "🎉", "x"])).map(" ".join)


def phrases(*rows: tuple[str, ...]) -> Phrases:
    return Phrases([NOTHING, *(row(number, texts, 0.5, None, None) for number, texts in enumerate(rows, 1))])


def found(held: Phrases, prompt: str) -> list[tuple[int, str, float]]:
    return [(match.number, match.phrase, match.confidence) for match in held.matches(prompt, NOW)]


@given(phrase=WORDS, before=AROUND, after=AROUND)
def test_a_phrase_anywhere_in_a_prompt_is_always_found(phrase: str, before: str, after: str):
    (match,) = phrases((phrase,)).matches(f"{before} {phrase} {after}", NOW)
    assert (match.number, match.phrase) == (1, phrase)
    assert match.confidence >= 0.95


@given(phrase=WORDS, prompt=WORDS)
def test_nothing_that_shares_no_word_is_found(phrase: str, prompt: str):
    spoken = {stem for parts in (False, True) for _, stem, *_ in tokens(prompt, parts=parts)}
    meant = {stem for parts in (False, True) for _, stem, *_ in tokens(phrase, parts=parts)}
    assume(meant)
    assume(not spoken & meant)
    assert found(phrases((phrase,)), prompt) == []


@given(
    rows=st.lists(st.lists(WORDS, min_size=1, max_size=3).map(tuple), max_size=6),
    changes=st.lists(st.tuples(st.integers(1, 6), st.none() | st.lists(WORDS, min_size=1, max_size=2).map(tuple))),
)
def test_phrases_that_follow_changes_find_what_new_ones_would(
    rows: list[tuple[str, ...]], changes: list[tuple[int, tuple[str, ...] | None]]
):
    held, plain = phrases(*rows), dict(enumerate(rows, 1))
    for number, texts in changes:
        if texts is None:
            held.remove(number)
            plain.pop(number, None)
        else:
            held.put(row(number, texts, 0.5, None, None))
            plain[number] = texts
    fresh = Phrases(row(number, texts, 0.5, None, None) for number, texts in plain.items())
    prompt = " ".join(phrase for texts in [*rows, *(texts for _, texts in changes if texts)] for phrase in texts)
    assert held.matches(prompt, NOW) == fresh.matches(prompt, NOW)
    assert {match.number for match in held.matches(prompt, NOW)} == set(plain)


@pytest.mark.parametrize(
    ("phrase", "prompt", "confidence"),
    [
        ("save context", "save context", 1.0),
        ("Save Context", "SAVE CONTEXT!", 1.0),
        ("save context", "save context for the auth work", 0.95),
        ("save context", "please, save... context", 0.95),
        ("naïve café", "a NAIVE cafe somewhere", 0.95),
        ("naive cafe", "a naïve café somewhere", 0.95),
        ("save context", "we saved the day", None),
        ("save context", "saving contexts now", 0.75),
        ("save context", "save contexts now", 0.85),
        ("save context", "context save", None),
        ("save", "unsaved", None),
        ("OAuth callback", "the oauth callback failed", 0.95),
        ("parseFile", "why does parsefile fail", 0.95),
        ("parseFile", "why does parse file fail", 0.95),
        ("parse file", "why does parseFile fail", 0.95),
        ("東京都", "私は東京都に住んでいます", 0.95),
        ("東京", "京都と東の話", None),
        ("リリース手順", "次のリリース手順を教えて", 0.95),
        ("발표", "내일 발표가 있어요", 0.95),
        ("🎉", "release is out 🎉🎉", 0.95),
        ("c++", "a C++ question", 0.95),
        ("  padded  phrase ", "a padded   phrase", 0.95),
    ],
)
def test_case_accents_inflection_and_scripts(phrase: str, prompt: str, confidence: float | None):
    expected = [] if confidence is None else [(1, phrase, confidence)]
    assert found(phrases((phrase,)), prompt) == expected


def test_the_surest_stands_first_then_the_longest_then_the_most_important_then_the_newest():
    held = Phrases([
        row(1, ("auth",), 0.9, None, None),
        row(2, ("auth work",), 0.1, None, None),
        row(3, ("auths",), 1.0, None, None),
        row(4, ("auth",), 0.5, None, None),
        row(5, ("auth",), 0.5, None, None),
    ])  # fmt: skip
    assert [match.number for match in held.matches("save context for the auth work", NOW)] == [2, 1, 5, 4, 3]


def test_a_memory_is_found_once_by_its_best_phrase():
    held = phrases(("context", "save context", "contexts"))
    assert found(held, "save context now") == [(1, "save context", 0.95)]


def test_a_memory_that_is_not_true_yet_or_no_longer_is_not_brought_up():
    at = int(NOW.timestamp() * 1_000_000)
    rows = [(at, None), (at + 1, None), (None, at), (None, at + 1), (at, at + 1)]
    held = Phrases(row(number, ("tea",), 0.5, *times) for number, times in enumerate(rows, 1))
    assert sorted(match.number for match in held.matches("tea", NOW)) == [1, 4, 5]


def test_a_prompt_of_any_oddness_raises_nothing():
    held = phrases(("save context",))
    for prompt in ("", "\x00", "\ud800 save context", "\n" * 1000, "a" * 100_000, "́"):
        assert isinstance(held.matches(prompt, NOW), list)
    assert held.matches("\ud800 save context", NOW) == [Match(1, "save context", 1.0, 2, 0.5)]


def test_a_phrase_said_over_and_over_is_compared_once():
    held = phrases(tuple("a " * count for count in range(1, 500)))
    assert [match.number for match in held.matches("a " * 1000, NOW)] == [1]
    assert len(list(held._occurrences("a " * 1000))) == 499
    assert max(held._lengths["a"]) == triggers._PHRASE_WORDS


def test_of_a_phrase_in_ever_new_forms_a_few_are_compared():
    endings = ("", "ed", "s", "ing", "ion", "ions", "ive", "ively")
    prompt = " ".join(f"connect{first} connect{second}" for first in endings for second in endings)
    held = phrases(*[("connecting connected",)] * 50)
    assert len(held.matches(prompt, NOW)) == 50
    assert len(list(held._occurrences(prompt))) == triggers._FORMS * 50


def test_a_long_phrase_is_known_by_its_first_words_and_a_long_prompt_by_its_own():
    phrase = " ".join(f"word{number}" for number in range(100))
    held = phrases((phrase,), ("tea",))
    assert found(held, f"now {phrase}") == [(1, phrase, 0.95)]
    assert found(held, "x " * (triggers._PROMPT_WORDS - 1) + "tea") == [(2, "tea", 0.95)]
    assert found(held, "x " * triggers._PROMPT_WORDS + "tea") == []
