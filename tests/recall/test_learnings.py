"""The recipe `learnings` from the outside: its answers are those of the formula, computed naively from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import START, HandClock
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import Hit, Memory, Recall
from perdure.embed.port import Vectors
from perdure.model import LEARNING_CATEGORIES, Filter, Record
from perdure.recall import candidates, recaller
from perdure.recall.query import SearchRequest
from perdure.recall.ranking import select
from perdure.recall.recipe import LEARNINGS, MOST_SCORED
from perdure.session.kept import AskedBefore
from perdure.store.port import IndexRow, Use
from perdure.testing.embedder import WordEmbedder
from perdure.text.entry import passage

WORDS = ["parser", "deploy", "test", "token", "file", "error"]
CATEGORIES = [*LEARNING_CATEGORIES, "goal", None]

learned = st.fixed_dictionaries(
    {
        "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
        "category": st.sampled_from(CATEGORIES),
        "confidence": st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]),
        "days": st.integers(0, 200),
        "said": st.integers(1, 4),
        "recalls": st.integers(0, 14),
    }
)
libraries = st.lists(learned, min_size=1, max_size=16)
questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


def filled(library: Sequence[dict[str, Any]], embedder: Any, clock: HandClock) -> Memory:
    memory = Memory(":memory:", embedder=embedder, clock=clock)
    learn(memory, library, clock)
    return memory


def learn(memory: Memory, library: Sequence[dict[str, Any]], clock: HandClock) -> None:
    for place, one in enumerate(library):
        clock.now = START + timedelta(days=200 - one["days"])
        for _ in range(one["said"]):
            text = f"{' '.join(one['words'])} number{place}"
            memory.remember(text, category=one["category"], confidence=one["confidence"])
        uses = [Use("default", memory.list(limit=1).records[0].number, one["recalls"], clock.now, 0, None)]
        memory._services.store.note_use(uses)
    clock.now = START + timedelta(days=200)


def prominence(record: Record, most: int, clock: HandClock) -> float:
    days = (clock.now - record.updated_at) / timedelta(days=1)
    return (
        0.3 * record.observation_count / most
        + 0.2 * record.confidence
        + 0.3 / (1 + days / 30)
        + 0.2 * min(record.recall_count / 10, 1)
    )


def by_the_formula(
    memory: Memory, matches: Mapping[int, tuple[float, float | None]], clock: HandClock
) -> dict[int, float]:
    """Number to score; `matches` are BM25 and, where there is one, cosine."""
    records = {record.number: record for record in memory.list(limit=100)}
    most = max(record.observation_count for record in records.values())
    words = max((word for word, _ in matches.values()), default=0.0)
    meaning = max((cosine or 0.0 for _, cosine in matches.values()), default=0.0)
    weights = (0.2 if words > 0 else 0.0, 0.5 if meaning > 0 else 0.0, 0.3)
    total = sum(weights)
    return {
        number: (
            (weights[0] * word / words if words > 0 else 0.0)
            + (weights[1] * max(cosine or 0.0, 0.0) / meaning if meaning > 0 else 0.0)
            + weights[2] * prominence(records[number], most, clock)
        )
        / total
        for number, (word, cosine) in matches.items()
    }


def bm25(memory: Memory, query: str) -> dict[int, float]:
    """From the explanations of another recipe, by words alone."""
    wordy = Memory(memory._services.store, embedder="none", clock=memory._services.context.clock)
    return {hit.record.number: hit.explain["keyword"].raw for hit in wordy.recall(query, limit=100)}


def cosines(memory: Memory, query: str) -> dict[int, float]:
    embedder = WordEmbedder()
    question = embedder.embed_query(query)
    records = memory.list(limit=100).records
    vectors = embedder.embed_passages(["".join(passage(record)) for record in records])
    return {record.number: float(vector @ question) for record, vector in zip(records, vectors, strict=True)}


def agree(answer: Recall, expected: dict[int, float]) -> None:
    assert {hit.record.number: hit.score for hit in answer} == pytest.approx(expected, abs=1e-4)
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
    for hit in answer:
        assert 0 <= hit.score <= 1 + 1e-9
        assert hit.score == pytest.approx(sum(signal.contribution for signal in hit.explain.values()))
        assert sum(signal.weight for signal in hit.explain.values()) == pytest.approx(1)


@given(libraries, questions)
@settings(max_examples=15)
def test_by_words_and_meaning_every_memory_has_the_score_of_the_formula(library: list[dict[str, Any]], query: str):
    clock = HandClock()
    with filled(library, WordEmbedder(), clock) as memory:
        words, meaning = bm25(memory, query), cosines(memory, query)
        matches = {number: (words.get(number, 0.0), cosine) for number, cosine in meaning.items()}
        expected = by_the_formula(memory, matches, clock)
        agree(memory.recall(query, recipe="learnings", limit=100), expected)


@given(libraries, questions)
@settings(max_examples=10)
def test_by_words_alone_what_matches_has_the_score_of_the_formula(library: list[dict[str, Any]], query: str):
    clock = HandClock()
    with filled(library, "none", clock) as memory:
        matches = {number: (word, None) for number, word in bm25(memory, query).items()}
        expected = by_the_formula(memory, matches, clock)
        agree(memory.recall(query, recipe="learnings", limit=100), expected)


@given(library=libraries)
@settings(max_examples=8)
def test_without_a_question_prominence_orders_everything(library: list[dict[str, Any]]):
    clock = HandClock()
    with filled(library, WordEmbedder(), clock) as memory:
        everything = {record.number: (0.0, None) for record in memory.list(limit=100)}
        expected = by_the_formula(memory, everything, clock)
        answer = memory.recall(recipe="learnings", limit=100)
        agree(answer, expected)
        assert (answer.mode, answer.notes) == ("none", (recaller.BY_PROMINENCE,))


@given(libraries, questions, st.integers(1, 14))
@settings(max_examples=10)
def test_a_smaller_limit_gives_the_best_of_the_whole_and_three_of_each_kind(
    library: list[dict[str, Any]], query: str, limit: int
):
    with filled(library, WordEmbedder(), HandClock()) as memory:
        # Neither counts as use, which would count in the other.
        whole = memory._services.search(query, "default", Filter(), limit=100, recipe="learnings")
        few = memory._services.search(query, "default", Filter(), limit=limit, recipe="learnings")
        assert list(few) == select(LEARNINGS, list(whole), limit, lambda hit: hit.record.category)


@given(libraries, questions, st.integers(1, 4))
@settings(max_examples=15)
def test_where_not_all_can_be_compared_those_that_are_have_the_score_of_the_formula(
    library: list[dict[str, Any]], query: str, limit: int
):
    clock = HandClock()
    few = replace(LEARNINGS, candidates=2 * limit, per_category=0)
    with pytest.MonkeyPatch.context() as patch, filled(library, WordEmbedder(), clock) as memory:
        request = SearchRequest(query=query, namespaces=("default",), limit=100, recipe=LEARNINGS, now=clock.now)
        whole = memory._services.recaller().recall(request)
        exact = {hit.record.number: hit.score for hit in whole}
        patch.setattr(candidates, "MOST_SCORED", 2)
        answer = memory._services.recaller().recall(replace(request, limit=limit, recipe=few))
        assert len(answer) == min(limit, len(exact))
        assert [hit.score for hit in answer] == pytest.approx([exact[hit.record.number] for hit in answer])


def numbers(answer: Sequence[Hit]) -> list[int]:
    return [hit.record.number for hit in answer]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["words and meaning", "words"])
def memory(request: pytest.FixtureRequest, clock: HandClock) -> Memory:
    return Memory(":memory:", embedder="none" if request.param == "words" else WordEmbedder(), clock=clock)


def test_what_changes_counts_at_once(memory: Memory, clock: HandClock):
    memory.remember("tea on monday")
    memory.remember("tea on friday")
    assert numbers(memory.recall("tea", recipe="learnings")) == [2, 1]
    memory.remember("tea on monday")
    assert numbers(memory.recall("tea", recipe="learnings")) == [1, 2]
    memory.update(2, confidence=1.0)
    memory.remember("tea on friday")
    assert numbers(memory.recall("tea", recipe="learnings")) == [2, 1]
    memory.forget(2)
    assert numbers(memory.recall("tea", recipe="learnings")) == [1]
    for _ in range(5):
        memory.remember("tea on sunday")
    answer = memory.recall("tea", recipe="learnings")
    assert [hit.explain["observations"].raw for hit in answer] == [5, 2]


def test_filters_hold(memory: Memory):
    memory.remember("tea on monday", category="patterns")
    memory.remember("tea on friday", category="heuristics")
    memory.remember("tea on sunday", category="patterns", tier="deprecated")
    for query in ("tea", None):
        assert numbers(memory.recall(query, recipe="learnings", category="patterns")) == [1]
        assert sorted(numbers(memory.recall(query, recipe="learnings"))) == [1, 2]
        assert numbers(memory.recall(query, recipe="learnings", tier="deprecated")) == [3]


@pytest.mark.parametrize("memory", ["words and meaning", "words"], indirect=True)
def test_the_past_is_weighed_as_it_was(memory: Memory, clock: HandClock):
    memory.remember("tea on monday")
    memory.remember("tea on friday")
    then = clock.now
    clock.forward(days=10)
    for _ in range(3):
        memory.remember("tea on monday")
    assert numbers(memory.recall("tea", recipe="learnings")) == [1, 2]
    answer = memory.recall("tea", recipe="learnings", known_at=then)
    assert numbers(answer) == [2, 1]
    assert {hit.explain["observations"].normalised for hit in answer} == {1.0}
    assert {hit.explain["recency"].normalised for hit in answer} == {1.0}
    assert numbers(memory.recall(recipe="learnings", known_at=then)) == [2, 1]


def test_several_namespaces_are_weighed_together(memory: Memory):
    ours, theirs = memory, memory.namespace("theirs")
    ours.remember("tea on monday")
    for _ in range(4):
        theirs.remember("tea on friday")
    answer = ours.recall("tea", recipe="learnings", namespaces=["default", "theirs"])
    assert [(hit.record.namespace, hit.explain["observations"].normalised) for hit in answer] == [
        ("theirs", 1.0),
        ("default", 0.25),
    ]


class Scattered(WordEmbedder):
    """Every text somewhere at random, but always at the same place."""

    def embed_passages(self, texts: Sequence[str], progress: Any = None) -> Vectors:
        places = [np.random.default_rng(sum(text.encode())).standard_normal(16) for text in texts]
        vectors = np.array(places, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_of_more_memories_than_vectors_are_compared_one_by_one_each_is_still_weighed(clock: HandClock):
    """The best twenty of six thousand are those of the formula, the far ones with confidence among them."""
    embedder = Scattered(16)
    texts = [f"learning {'x' * (n % 97)} {n}" for n in range(6000)]
    sure = np.array([n * 37 % 100 / 100 for n in range(6000)])
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        records = ({"text": text, "confidence": one} for text, one in zip(texts, sure.tolist(), strict=True))
        memory.import_(records, trusted=True)
        memory.work()
        found = [hit.score for hit in memory.recall("???", recipe="learnings", limit=20)]
        near = embedder.embed_passages(["".join(passage(memory.get(1))).replace(texts[0], text) for text in texts])
    cosines = near @ embedder.embed_query("???")
    total = (0.5 * cosines.clip(0) / cosines.max() + 0.3 * (0.3 + 0.2 * sure + 0.3)) / 0.8
    assert found == pytest.approx(np.sort(total)[::-1][:20].tolist(), abs=1e-4)


def test_of_a_few_matches_among_very_many_memories_recalls_count_at_every_limit(
    clock: HandClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0)
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.import_({"text": f"tea {n}", "category": "goal"} for n in range(40))
        memory.import_({"text": f"coffee {n}"} for n in range(MOST_SCORED))
        memory._services.store.note_use([Use("default", 1, 10, clock.now, 0, None)])
        for query in ("tea", None):
            whole = memory.recall(query, recipe="learnings", category="goal", limit=40)
            assert numbers(whole)[:2] == [1, 40]
            for limit in (1, 3):
                few = memory.recall(query, recipe="learnings", category="goal", limit=limit)
                assert numbers(few) == numbers(whole)[:limit]


def test_a_cold_search_for_learnings_reads_learnings_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A store may hold many more messages; and what is learned later is found as well."""
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as memory:
        for number in range(5):
            memory.remember(f"Message {number} about parsers")
        memory.remember("Parsers need samples", category="heuristics")
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as memory:
        read: list[int] = []
        rows_of = memory._services.store.index_rows

        def counting(*arguments: Any, **options: Any) -> Sequence[IndexRow]:
            rows = rows_of(*arguments, **options)
            read.extend(row.number for row in rows)
            return rows

        monkeypatch.setattr(memory._services.store, "index_rows", counting)
        found = memory.learnings("parsers")
        assert ([hit.record.number for hit in found.recall], found.total, read) == ([6], 1, [6])
        memory.remember("Parsers fail loudly", category="patterns")
        memory.remember("Another message about parsers")
        found = memory.learnings("parsers")
        assert ({hit.record.number for hit in found.recall}, found.total, read) == ({6, 7}, 2, [6])
        memory.recall("parsers")
        warm = memory.learnings("parsers")
        assert ({hit.record.number for hit in warm.recall}, warm.total) == ({6, 7}, 2)


def test_a_question_asked_before_gets_the_same_answer_and_reads_no_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: HandClock
):
    """Also when something was learned, changed or forgotten since; each time in a process of its own."""
    kept = AskedBefore({"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)})
    read: list[int] = []

    def ask(asked: AskedBefore | None) -> list[tuple[int, float, float]]:
        with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
            rows_of = memory._services.store.index_rows

            def counting(*arguments: Any, **options: Any) -> Sequence[IndexRow]:
                rows = rows_of(*arguments, **options)
                read.append(sum(len(row.vector or b"") for row in rows))
                return rows

            monkeypatch.setattr(memory._services.store, "index_rows", counting)
            read.clear()
            found = memory.learnings("token error in the parser", asked=asked)
            assert found.recall.mode == "hybrid"
            return [(hit.record.number, hit.score, hit.relevance) for hit in found.recall]

    def change(step: int) -> None:
        with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
            if step == 0:
                memory.import_({"text": f"{w} {n}", "category": "patterns"} for n, w in enumerate(WORDS * 5))
            elif step == 1:
                memory.remember("the parser says which token is an error", category="heuristics")
            elif step == 2:
                memory.update(1, text="an error of the parser names the token")
            elif step == 3:
                memory.forget([6], confirm=True)
            memory.work()

    for step in range(5):
        change(step)
        ask(kept)
        assert ask(kept) == ask(None)
        ask(kept)
        assert sum(read) == 0
    for file in (tmp_path / "perdure/sessions/asked").iterdir():
        file.write_bytes(file.read_bytes()[:-20])
    assert ask(kept) == ask(None)


def test_a_question_asked_before_that_names_a_speaker_gets_the_same_answer(tmp_path: Path, clock: HandClock):
    """It is also compared without the name, which the cosines that were kept do not know."""
    kept = AskedBefore({"XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)})

    def ask(asked: AskedBefore | None) -> list[tuple[int, float, float]]:
        with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
            found = memory.learnings("Which parser token error did Ann see?", asked=asked)
            return [(hit.record.number, hit.score, hit.relevance) for hit in found.recall]

    with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
        for text in ("the parser token is an error", "Ann never parses a token", "the error is of Ann"):
            memory.remember(text, category="heuristics", conversation_id="c", metadata={"speaker": "Ann"})
        memory.work()
    answer = ask(kept)
    assert ask(kept) == answer == ask(None)
