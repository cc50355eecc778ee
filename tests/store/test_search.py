"""How candidates are chosen when there are too many: the choice may be coarse, the scores never are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from store.behind import behind

from perdure.model import Filter
from perdure.store.port import KeywordSearch, Scored
from perdure.store.sqlite import search
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.conformance.search import scores
from perdure.testing.records import NAMESPACE, NOON, draft, insert, read_once, remember

COMMON = [f"common{n}" for n in range(6)]


@pytest.fixture
def crowded(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """Two hundred memories of common words, a few with a rare one, and room to look at ten."""
    monkeypatch.setattr(search, "_CANDIDATES", 10)
    monkeypatch.setattr(search, "_POSTINGS", 120)
    monkeypatch.setattr(search, "_MAX_SCORED_ALL", 20)
    source = random.Random(11)
    with store.write(NAMESPACE) as writer:
        for n in range(200):
            words = source.sample(COMMON, 2) + ["filler"] * source.randint(0, 5)
            if n in (50, 60, 70):
                words += ["rare"]
            if n == 100:
                words = [*COMMON]
            tags = ("few",) if n % 20 == 0 else ("many",)
            state = "superseded" if n > 150 else "active"
            insert(writer, draft(" ".join(words), tags=tags, state=state))
    return store


def ask(store: SqliteStore, words: Sequence[str], filter: Filter | None = None, limit: int = 3) -> list[Scored]:
    return read_once(store).keyword_search(words, filter or Filter(), NOON, limit).best


def exact(store: SqliteStore, words: Sequence[str]) -> dict[int, float]:
    return scores(list(store.index_rows(NAMESPACE, None, 0, 1000)), list(words))


@pytest.mark.parametrize("words", [["rare"], ["rare", *COMMON[:2]], COMMON[:1], COMMON[:3], COMMON, ["rare", *COMMON]])
def test_every_score_is_exact_however_few_candidates_there_were(crowded: SqliteStore, words: list[str]):
    expected = exact(crowded, words)
    found = ask(crowded, words)
    assert len(found) == 3
    assert {scored.number: pytest.approx(scored.score) for scored in found} == {
        scored.number: expected[scored.number] for scored in found
    }
    assert [scored.score for scored in found] == sorted((scored.score for scored in found), reverse=True)


def test_memories_with_the_rare_word_come_before_all_others(crowded: SqliteStore):
    best = sorted(exact(crowded, ["rare", "common0"]).items(), key=lambda item: -item[1])[:3]
    assert [scored.number for scored in ask(crowded, ["common0", "rare"])] == [number for number, _ in best]
    assert {number for number, _ in best} == {51, 61, 71}


def test_the_memory_that_holds_all_common_words_is_found_among_those_that_hold_some(crowded: SqliteStore):
    assert ask(crowded, COMMON)[0].number == 101
    assert ask(crowded, COMMON[:4])[0].number == 101


def test_a_filter_that_lets_few_pass_is_answered_exactly(crowded: SqliteStore):
    expected = exact(crowded, COMMON)
    numbers = {number for number in read_once(crowded).numbers(Filter(tags=("few",))) if number in expected}
    found = ask(crowded, COMMON, Filter(tags=("few",)), limit=50)
    assert {scored.number for scored in found} == numbers


def test_a_filter_that_lets_many_pass_still_holds(crowded: SqliteStore):
    found = ask(crowded, COMMON, Filter(tags=("many",)), limit=5)
    assert len(found) == 5
    assert {scored.number for scored in found} <= set(read_once(crowded).numbers(Filter(tags=("many",))))


def test_memories_that_may_not_be_shown_do_not_use_up_the_room(crowded: SqliteStore):
    """The newest fifty are superseded: the first portions bring nothing."""
    found = ask(crowded, COMMON[:2], limit=8)
    assert len(found) == 8
    assert all(scored.number <= 151 for scored in found)


def test_when_time_runs_out_the_answer_is_what_was_scored_until_then(
    crowded: SqliteStore, monkeypatch: pytest.MonkeyPatch
):
    """Time passes only when it is looked at, here after a few steps each."""
    monkeypatch.setattr(search, "_STEPS_BETWEEN_LOOKS", 25)
    monkeypatch.setattr(search, "_COUNTING_SECONDS", 10**9)
    expected = exact(crowded, COMMON)
    answers: list[KeywordSearch] = []
    for seconds in range(4000):
        monkeypatch.setattr(search, "_SCORING_SECONDS", seconds)
        monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=count().__next__))
        answers.append(read_once(crowded).keyword_search(COMMON, Filter(), NOON, 10))
        if answers[-1].complete:
            break
    assert (answers[0].best, answers[0].complete) == ([], False)
    assert answers[-1].complete
    partial = [found for found in answers if not found.complete and 0 < len(found.best) < len(answers[-1].best)]
    assert partial
    for one in (one for found in partial for one in found.best):
        assert one.score == pytest.approx(expected[one.number])


def test_words_that_could_not_be_counted_in_time_are_left_out(crowded: SqliteStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "_STEPS_BETWEEN_LOOKS", 25)
    monkeypatch.setattr(search, "_SCORING_SECONDS", 10**9)
    answers: list[KeywordSearch] = []
    for seconds in range(0, 4000, 10):
        monkeypatch.setattr(search, "_COUNTING_SECONDS", seconds)
        monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=count().__next__))
        assert len(read_once(crowded).word_counts(COMMON).containing) <= len(COMMON)
        answers.append(read_once(crowded).keyword_search(COMMON, Filter(), NOON, 10))
        if answers[-1].complete:
            break
    assert (answers[0].best, answers[0].complete) == ([], False)
    assert any(found.best for found in answers if not found.complete)
    assert answers[-1] == read_once(crowded).keyword_search(COMMON, Filter(), NOON, 10)


@pytest.mark.parametrize("documents", [0, -3, 1, 10**12])
def test_counters_that_are_wrong_make_no_search_fail(store: SqliteStore, path: Path, documents: int):
    for text in ("tea", "tea and milk", "milk"):
        remember(store, text)
    with behind(path) as connection:
        connection.execute("UPDATE namespace SET documents = ?, words = ?", (documents, documents))
    found = read_once(store).keyword_search(["tea", "milk"], Filter(), NOON, 9).best
    assert found[0].number == 2
    assert all(scored.score > 0 for scored in found)


def test_who_holds_the_words_is_not_known_when_time_runs_out(crowded: SqliteStore, monkeypatch: pytest.MonkeyPatch):
    everyone = read_once(crowded).numbers_with_all(COMMON[:2])
    assert everyone.complete
    assert everyone.numbers
    monkeypatch.setattr(search, "_STEPS_BETWEEN_LOOKS", 1)
    monkeypatch.setattr(search, "_COUNTING_SECONDS", 0)
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=count().__next__))
    assert not read_once(crowded).numbers_with_all(COMMON[:2]).complete
    assert read_once(crowded).numbers_with_all([]).complete
