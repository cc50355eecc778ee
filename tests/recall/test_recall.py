"""Recall as a user of the library meets it: by words and by meaning, and every step down from there."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import types
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.embed.choice import EmbedderChoice
from perdure.embed.port import Embedder, Generation
from perdure.errors import EmbedderUnavailable
from perdure.model import Recall, Record
from perdure.recall import lexical, recaller, vectors
from perdure.recall.index import Snapshot
from perdure.recall.query import OUT_OF_TIME, SearchRequest
from perdure.recall.recaller import Recaller
from perdure.recall.recipe import BALANCED, RECIPES
from perdure.store.port import IndexRow, Store
from perdure.store.sqlite import search
from perdure.store.sqlite.reader import SqliteReader
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.embedder import WordEmbedder

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
WORDS = ["tea", "coffee", "rain", "monday", "friday", "runs", "running", "東京", "parseFile"]


def asks_only(store: Store, embedder: Embedder | None) -> Recaller:
    def no_other(generation: Generation) -> Embedder:
        raise EmbedderUnavailable(f"{generation.name} is not here.")

    return Recaller(store, EmbedderChoice(store, lambda: embedder, no_other))


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder(), clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def wordy() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=lambda: NOW) as opened:
        yield opened


def asking(query: str, **options: Any) -> SearchRequest:
    given: dict[str, Any] = {"namespaces": ("default",), "limit": 5, "recipe": BALANCED, "now": NOW, **options}
    return SearchRequest(query=query, **given)


def found(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


def scores(answer: Recall) -> dict[int, float]:
    return {hit.record.number: hit.score for hit in answer}


# -- modes ---------------------------------------------------------------------------------------------------------


def test_by_words_and_by_meaning(memory: Memory):
    memory.remember("tea on monday")
    memory.remember("rain in spring")
    answer = memory.recall("tea", min_relevance=0)
    assert (answer.mode, answer.notes) == ("hybrid", ())
    assert found(answer)[0] == "tea on monday"
    assert set(answer[0].explain) == {"prior", "keyword", "vector"}
    assert [answer[0].explain[name].rank for name in ("keyword", "vector")] == [1, 1]
    assert answer[1].explain["keyword"].rank is None


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\x00"])
def test_an_empty_question_has_no_answer_and_says_so(memory: Memory, query: str):
    memory.remember("tea")
    answer = memory.recall(query)
    assert (list(answer), answer.mode, answer.notes) == ([], "none", (recaller.NOTHING_ASKED,))


def test_a_question_without_a_word_is_answered_by_meaning_alone(memory: Memory):
    memory.remember("tea")
    answer = memory.recall("?!", min_relevance=0)
    assert answer.mode == "vector"
    assert [set(hit.explain) for hit in answer] == [{"prior", "vector"}]


def test_a_question_without_a_word_and_without_a_model_has_no_answer(wordy: Memory):
    wordy.remember("tea")
    answer = wordy.recall("?!")
    assert (list(answer), answer.mode) == ([], "none")
    assert answer.notes == (recaller.NO_WORDS,)


def test_without_a_model_by_words_alone(wordy: Memory):
    wordy.remember("tea on monday")
    answer = wordy.recall("tea")
    assert (answer.mode, answer.notes, found(answer)) == ("keyword", (), ["tea on monday"])
    assert set(answer[0].explain) == {"prior", "keyword"}


def test_while_the_model_lost_for_now_by_words_alone():
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("tea on monday")
        assert memory.recall("tea").mode == "hybrid"
        embedder.down = True
        answer = memory.recall("some tea")
        assert (answer.mode, found(answer)) == ("keyword", ["tea on monday"])
        assert "down" in answer.notes[0]


def test_for_a_question_asked_again_the_model_is_not_needed():
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("tea on monday")
        memory.recall("tea")
        embedder.down = True
        memory.namespace("other").recall("tea")
        assert memory.recall("tea", limit=3).mode == "hybrid"


def test_of_many_questions_those_asked_last_are_kept():
    asked: list[str] = []

    class Listening(WordEmbedder):
        def embed_query(self, text: str):
            asked.append(text)
            return super().embed_query(text)

    with Memory(":memory:", embedder=Listening()) as memory:
        memory.remember("tea on monday")
        for cup in range(300):
            memory.recall(f"tea cup {cup}")
            memory.recall("tea")
        memory.recall("tea cup 299")
        memory.recall("tea cup 0")
    assert asked == ["tea cup 0", "tea", *(f"tea cup {cup}" for cup in range(1, 300)), "tea cup 0"]


def test_before_there_are_vectors_by_words_alone_and_afterwards_by_both():
    embedder = WordEmbedder()
    embedder.down = True
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("tea on monday")
        memory.remember("tea on friday")
        embedder.down = False
        assert memory.recall("tea").notes == (recaller.NO_VECTORS,)
        memory.remember("a pot of black tea for the whole family on a rainy day")
        answer = memory.recall("tea", min_relevance=0)
        assert (answer.mode, answer.notes) == ("hybrid", (recaller.WAITING.format(2),))
        assert [hit.record.number for hit in answer] == [2, 1, 3]
        assert [set(hit.explain) for hit in answer] == [*[{"prior", "keyword"}] * 2, {"prior", "keyword", "vector"}]


def test_without_numpy_by_words_alone(wordy: Memory, monkeypatch: pytest.MonkeyPatch):
    wordy.remember("tea on monday")
    engine = asks_only(wordy._services.store, WordEmbedder())
    monkeypatch.setitem(sys.modules, "numpy", None)
    for _ in range(6):
        answer = engine.recall(asking("tea"))
        assert (answer.mode, answer.notes, found(answer)) == ("keyword", (recaller.NO_NUMPY,), ["tea on monday"])


def test_asking_once_by_words_loads_no_numpy(tmp_path: Path):
    script = f"""
import sys
from perdure import Memory
with Memory({str(tmp_path / "m.db")!r}, embedder="none") as memory:
    memory.remember("tea on monday")
    assert len(memory.recall("tea")) == 1
assert "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", [ValueError("out of order"), MemoryError(), OSError("gone")], ids=repr)
def test_an_embedder_that_fails_in_its_own_way_leaves_the_words(memory: Memory, fault: Exception):
    class Faulty(WordEmbedder):
        def embed_query(self, text: str) -> Any:
            raise fault

    memory.remember("tea on monday")
    answer = asks_only(memory._services.store, Faulty()).recall(asking("tea"))
    assert (answer.mode, found(answer)) == ("keyword", ["tea on monday"])
    assert type(fault).__name__ in answer.notes[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_a_vector_that_cannot_be_compared_spoils_no_answer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, value: float
):
    for text in ("tea on monday", "tea on friday", "tea in the rain"):
        memory.remember(text)
    store = memory._services.store
    index_rows = store.index_rows

    def spoil_the_second(*asked: Any, **options: Any) -> list[IndexRow]:
        rows = list(index_rows(*asked, **options))
        if rows:
            rows[1] = rows[1]._replace(vector=array("f", [value] * 64).tobytes())
        return rows

    monkeypatch.setattr(store, "index_rows", spoil_the_second)
    answer = memory.recall("tea")
    assert answer.mode == "hybrid"
    assert set(found(answer)) == {"tea on monday", "tea on friday", "tea in the rain"}
    assert {hit.record.number for hit in answer if "vector" not in hit.explain} == {2}
    assert all(0 <= hit.score <= 1 for hit in answer)


def test_a_search_that_takes_too_long_is_cut_short_and_says_so(wordy: Memory, monkeypatch: pytest.MonkeyPatch):
    wordy.remember("tea on monday")
    monkeypatch.setattr(search, "_STEPS_BETWEEN_LOOKS", 1)
    monkeypatch.setattr(search, "_COUNTING_SECONDS", -1.0)
    answer = wordy.recall("tea")
    assert (answer.mode, answer.notes) == ("keyword", (OUT_OF_TIME,))


# -- cold and warm -------------------------------------------------------------------------------------------------


@given(st.lists(texts, min_size=1, max_size=25), texts, st.sampled_from(WORDS), st.data())
def test_by_words_the_first_answers_and_the_later_ones_are_the_same(
    documents: list[str], query: str, tag: str, data: st.DataObject
):
    """The first come from disk, the later ones from memory."""
    filters: dict[str, Any] = data.draw(st.sampled_from([{}, {"tags": [tag]}, {"states": ["superseded", "active"]}]))
    with Memory(":memory:", embedder="none", clock=lambda: NOW) as memory:
        for text in documents:
            memory.remember(text, tags=text.split()[:1])
        memory.forget(1)
        cold = [memory.recall(query, limit=100, **filters) for _ in range(recaller._RECALLS_FROM_DISK)]
        assert memory._services.recaller()._indexes is None
        warm = [memory.recall(query, limit=100, **filters) for _ in range(3)]
        assert memory._services.recaller()._indexes is not None
    for answer in (*cold[1:], *warm):
        assert scores(answer) == pytest.approx(scores(cold[0]), abs=1e-5)
        assert [hit.record.number for hit in answer] == [hit.record.number for hit in cold[0]]


@given(st.lists(texts, min_size=1, max_size=40, unique=True), texts)
def test_the_answer_is_the_same_before_and_after_sorting_and_by_signs(documents: list[str], query: str):
    with (
        Memory(":memory:", embedder=WordEmbedder(), clock=lambda: NOW) as memory,
        pytest.MonkeyPatch.context() as patch,
    ):
        memory.import_({"text": text} for text in documents)
        memory.work()
        first = memory.recall(query, limit=100)
        patch.setattr(lexical, "SCANNED_ENTRIES", 0)
        patch.setattr(vectors, "EXACT_ROWS", 4)
        memory.remember("something else, about nothing of that")
        memory.forget(len(memory.list(limit=100)))
        for _ in range(2):
            later = memory.recall(query, limit=100)
            assert scores(later) == pytest.approx(scores(first), abs=1e-5)


@given(st.lists(st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=5).map(" ".join), min_size=12), texts)
def test_of_more_equal_memories_than_candidates_the_same_come_first_from_disk_and_from_memory(
    documents: list[str], query: str
):
    few = replace(BALANCED, candidates=4)
    with Memory(":memory:", embedder="none", clock=lambda: NOW) as memory:
        for number, text in enumerate(documents):
            memory.remember(text, key=f"number:{number}")
        engine = asks_only(memory._services.store, None)
        answers = [engine.recall(asking(query, limit=2, recipe=few)) for _ in range(recaller._RECALLS_FROM_DISK + 1)]
        assert "default" in (engine._indexes or ())
    for answer in answers[1:]:
        assert [hit.record.number for hit in answer] == [hit.record.number for hit in answers[0]]


def test_of_two_hundred_and_fifty_equal_memories_the_newest_come_first_always(wordy: Memory):
    for number in range(250):
        wordy.remember("tea on monday", key=f"tea:{number}")
    for _ in range(recaller._RECALLS_FROM_DISK + 2):
        assert [hit.record.number for hit in wordy.recall("tea", limit=5)] == [250, 249, 248, 247, 246]


def test_how_often_a_namespace_was_asked_is_counted_for_a_bounded_number_of_them(
    wordy: Memory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recaller, "_NAMESPACES_COUNTED", 3)
    for number in range(10):
        assert not wordy.recall("tea", namespaces=[f"n{number}"])
    assert len(wordy._services.recaller()._asked) <= 3


# -- what is looked at ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["hybrid", "from disk", "in memory"])
def shelf(request: pytest.FixtureRequest) -> Iterator[Memory]:
    embedder = WordEmbedder() if request.param == "hybrid" else "none"
    with Memory(":memory:", embedder=embedder, clock=lambda: NOW) as memory:
        memory.remember("tea, ordinary", tags=["a"])
        memory.remember("tea, deprecated", tier="deprecated", tags=["a"])
        memory.remember("tea, from tomorrow", valid_at=NOW + timedelta(days=1), tags=["b"])
        memory.remember("tea, until now", invalid_at=NOW, tags=["b"])
        memory.remember("tea, expiring", expires_at=NOW + timedelta(days=1), category="preference")
        memory.remember("tea, forgotten")
        memory.forget(6)
        for _ in range(4 if request.param == "in memory" else 0):
            memory.recall("tea")
        yield memory


FILTERS: list[tuple[dict[str, Any], set[int]]] = [
    ({}, {1, 5}),
    ({"tags": ["a"]}, {1}),
    ({"tags": ["b"]}, set()),
    ({"category": "preference"}, {5}),
    ({"tier": "normal"}, {1, 5}),
    ({"tier": "deprecated"}, {2}),
    ({"tier": "deprecated", "tags": ["a"]}, {2}),
    ({"tags": ["nowhere"]}, set()),
    ({"states": ["active", "superseded"]}, {1, 3, 4, 5}),
    ({"states": ["active", "superseded"], "tier": "deprecated"}, {2}),
    ({"states": ["superseded"]}, set()),
    ({"until": NOW - timedelta(days=9)}, set()),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=str)
def test_filters_and_ordinary_rules_hold_wherever_the_answer_comes_from(
    shelf: Memory, filters: Any, expected: set[int]
):
    for _ in range(2):
        assert set(scores(shelf.recall("tea", **filters))) == expected


def test_time_passes_without_a_write():
    clock = [NOW]
    with Memory(":memory:", embedder=WordEmbedder(), clock=lambda: clock[0]) as memory:
        memory.remember("tea until tomorrow", invalid_at=NOW + timedelta(days=1))
        memory.remember("tea from tomorrow", valid_at=NOW + timedelta(days=1))
        assert found(memory.recall("tea")) == ["tea until tomorrow"]
        clock[0] += timedelta(days=1)
        assert found(memory.recall("tea")) == ["tea from tomorrow"]


def test_a_filter_sees_what_was_written_since(memory: Memory):
    memory.remember("tea on monday", tags=["a"])
    assert len(memory.recall("tea", tags=["a"])) == 1
    memory.remember("tea on friday", tags=["a"])
    assert len(memory.recall("tea", tags=["a"])) == 2
    memory.forget(1)
    assert found(memory.recall("tea", tags=["a"])) == ["tea on friday"]


def test_any_number_of_different_filters_can_be_asked_with(memory: Memory):
    for number in range(40):
        memory.remember(f"tea {number}", tags=[f"t{number}"])
    for _ in range(2):
        for number in range(40):
            assert found(memory.recall("tea", tags=[f"t{number}"])) == [f"tea {number}"]


def test_each_change_is_seen_by_the_next_question(memory: Memory):
    memory.remember("tea on monday")
    memory.recall("tea")
    memory.remember("coffee on friday")
    assert found(memory.recall("coffee", limit=1)) == ["coffee on friday"]
    memory.update(2, text="rain on sunday")
    assert found(memory.recall("rain", limit=1)) == ["rain on sunday"]
    memory.forget(2)
    assert found(memory.recall("rain")) == []
    memory.restore(2)
    assert found(memory.recall("rain", limit=1)) == ["rain on sunday"]


def test_what_another_process_writes_is_seen_too(tmp_path: Path):
    with (
        Memory(tmp_path / "m.db", embedder=WordEmbedder()) as one,
        Memory(tmp_path / "m.db", embedder=WordEmbedder()) as two,
    ):
        one.remember("tea")
        assert found(two.recall("tea")) == ["tea"]
        one.remember("coffee")
        assert found(two.recall("coffee", limit=1)) == ["coffee"]


def test_several_namespaces_are_ranked_together_and_named_ones_only(memory: Memory):
    other = memory.namespace("bob")
    memory.remember("tea on monday")
    other.remember("tea on monday")
    other.remember("rain on monday")
    memory.namespace("eve").remember("tea on monday")
    answer = memory.recall("tea monday", namespaces=["default", "bob", "bob", "nobody"], min_relevance=0)
    assert {(hit.record.namespace, hit.record.text) for hit in answer[:2]} == {
        ("default", "tea on monday"),
        ("bob", "tea on monday"),
    }
    assert found(answer)[2:] == ["rain on monday"]
    assert not memory.recall("tea", namespaces=["nobody"])
    assert not memory.recall("tea", namespaces=[])


@pytest.fixture(params=["hybrid", "from disk", "in memory", "from both"])
def neighbours(request: pytest.FixtureRequest) -> Iterator[Memory]:
    """The default namespace is small, its neighbour large: no word is rare in the one, every word is in the other."""
    embedder = WordEmbedder() if request.param == "hybrid" else "none"
    with Memory(":memory:", embedder=embedder, clock=lambda: NOW) as memory:
        memory.remember("the deployment password rotates monthly")
        memory.namespace("large").import_({"text": f"garden chair {number}"} for number in range(400))
        memory.namespace("large").remember("deployment of the garden furniture")
        memory.work()
        warm = {"in memory": ["default", "large"], "from both": ["large"]}.get(request.param, [])
        for _ in range(4):
            for name in warm:
                memory.recall("deployment", namespaces=[name])
        yield memory


def test_a_memory_of_a_small_namespace_competes_with_those_of_a_large_one_as_if_they_were_one(neighbours: Memory):
    asked = ["default", "large"]
    answer = neighbours.recall("deployment password rotates", namespaces=asked, limit=2, min_relevance=0)
    assert found(answer) == ["the deployment password rotates monthly", "deployment of the garden furniture"]
    assert answer[1].explain["keyword"].normalised < 0.4


@given(st.lists(st.tuples(texts, st.integers(0, 2)), min_size=1, max_size=25), texts, st.booleans())
def test_by_words_several_namespaces_score_as_one_that_holds_all_of_them(
    documents: list[tuple[str, int]], query: str, warm: bool
):
    names = ["part 0", "part 1", "part 2"]
    with Memory(":memory:", embedder="none", clock=lambda: NOW) as memory:
        for number, (text, part) in enumerate(documents):
            memory.remember(text, key=f"number:{number}")
            memory.namespace(names[part]).remember(text, key=f"number:{number}")
        for _ in range(recaller._RECALLS_FROM_DISK if warm else 0):
            memory.recall(query, namespaces=names[:2])
        whole = memory.recall(query, limit=100)
        apart = memory.recall(query, namespaces=names, limit=100)
    assert {hit.record.key: hit.explain["keyword"].raw for hit in apart} == pytest.approx(
        {hit.record.key: hit.explain["keyword"].raw for hit in whole}, rel=1e-5
    )


def test_equal_memories_come_newest_first(memory: Memory):
    for number in range(30):
        memory.remember("tea on monday", key=f"tea:{number}")
    numbers = [hit.record.number for hit in memory.recall("tea", limit=10)]
    assert numbers == list(range(30, 20, -1))


def test_words_of_one_stem_count_once(memory: Memory):
    memory.remember("she runs")
    once, twice = memory.recall("running")[0], memory.recall("running runs")[0]
    assert once.explain["keyword"].raw == twice.explain["keyword"].raw


@pytest.mark.parametrize("query", ["東京", "京", "parsefile", "file", "PARSE"])
def test_parts_of_names_and_of_unspaced_scripts_are_found(wordy: Memory, query: str):
    wordy.remember("東京都 parseFile")
    wordy.remember("unrelated")
    for _ in range(6):
        assert len(wordy.recall(query)) == 1


# -- races and threads ---------------------------------------------------------------------------------------------


def test_a_memory_forgotten_while_it_is_being_ranked_is_not_in_the_answer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    for text in ("tea on monday", "tea on friday", "tea"):
        memory.remember(text)
    read, forgotten = memory._services.store.read, list[int]()

    def forget_first(namespace: str) -> Any:
        if not forgotten:
            forgotten.append(1)
            memory.forget(1)
        return read(namespace)

    monkeypatch.setattr(memory._services.store, "read", forget_first)
    answer = memory.recall("tea", limit=2)
    assert len(answer) == 2
    assert forgotten[0] not in scores(answer)


def test_a_memory_that_cannot_be_read_leaves_a_shorter_answer(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    memory.remember("tea on monday")
    memory.remember("tea on friday")
    fetch = SqliteReader.fetch

    def fetch_but_one(reader: SqliteReader, numbers: Sequence[int]) -> list[Record]:
        return [record for record in fetch(reader, numbers) if record.number != 1]

    monkeypatch.setattr(SqliteReader, "fetch", fetch_but_one)
    assert [hit.record.number for hit in memory.recall("tea")] == [2]


def test_many_threads_ask_while_one_writes(tmp_path: Path):
    failures: list[object] = []
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as memory:
        memory.remember("tea 0")

        def ask() -> None:
            try:
                failures.extend("nothing found" for _ in range(25) if not memory.recall("tea"))
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        readers = [threading.Thread(target=ask) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(1, 30):
            memory.remember(f"tea {number}")
        for reader in readers:
            reader.join()
        assert failures == []
        assert len(memory.recall("tea", limit=100)) == 30


def test_a_closed_store_is_named(tmp_path: Path):
    store = SqliteStore.open(tmp_path / "m.db")
    engine = asks_only(store, WordEmbedder())
    store.close()
    with pytest.raises(Exception, match="closed"):
        engine.recall(asking("tea"))


# -- one scorer --------------------------------------------------------------------------------------------------------


turns = st.fixed_dictionaries({
    "text": texts,
    "tier": st.sampled_from(["normal", "critical", "temporary"]),
    "importance": st.sampled_from([0.2, 0.5, 1.0]),
    "metadata": st.sampled_from([{}, {"stability": 12}, {"stability": "long"}]),
    "anchor_id": st.sampled_from(["tea", "rain monday", "x"]),
})  # fmt: skip


@pytest.mark.parametrize("recipe", ["balanced", "facts", "tiered", "episodes"])
@given(memories=st.lists(turns, min_size=1, max_size=8), query=texts)
def test_every_recipe_scores_the_same_from_disk_and_from_memory(
    recipe: str, memories: list[dict[str, Any]], query: str
):
    now = [NOW]
    with Memory(":memory:", embedder="none", clock=lambda: now[0]) as memory:
        for number, fields in enumerate(memories):
            memory.remember(**fields, key=f"memory:{number}")
            now[0] += timedelta(hours=30)
        # The recaller counts no use, which would count in the second answer.
        engine = memory._services.recaller()
        request = asking(query, recipe=RECIPES[recipe], limit=20, now=now[0], min_relevance=0.1)
        disk = engine.recall(request)
        assert engine._indexes is None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recaller, "_RECALLS_FROM_DISK", 0)
            index = engine.recall(request)
        assert [hit.record.number for hit in disk] == [hit.record.number for hit in index]
        for one, other in zip(disk, index, strict=True):
            assert one.relevance == pytest.approx(other.relevance, abs=2e-4)
            assert one.score == pytest.approx(other.score, abs=1e-5)
            assert {name: signal.normalised for name, signal in one.explain.items()} == pytest.approx(
                {name: signal.normalised for name, signal in other.explain.items()}, abs=2e-6
            )


def test_an_explanation_can_be_copied_and_compared(memory: Memory):
    memory.remember("tea on monday")
    (hit,) = memory.recall("tea")
    again = pickle.loads(pickle.dumps(hit))  # noqa: S301
    assert (again, copy.deepcopy(hit)) == (hit, hit)
    assert dict(hit.explain) == again.explain
    assert repr(hit.explain) == repr(dict(hit.explain))


def test_an_answer_that_nobody_looked_at_keeps_no_index_alive(memory: Memory):
    memory.remember("tea on monday", conversation_id="c", metadata={"speaker": "Ann"})
    answer = memory.recall("what did Ann say of tea")
    waiting: list[Any] = [hit.explain for hit in answer]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type | types.FunctionType | types.ModuleType):
            continue
        seen.add(id(value))
        assert not isinstance(value, Snapshot)
        waiting += gc.get_referents(value)
