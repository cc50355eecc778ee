"""S1 D2: what is found before anything is weighed, and what is left when a part is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from specs.full_text import without_full_text

from perdure import Hit, Memory, Recall
from perdure.embed.port import Generation
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

PROMINENCE = {"observations", "confidence", "recency", "recalls"}
WITHOUT_NUMPY = """
import json, sys
sys.modules["numpy"] = None
from perdure import Memory

with Memory(sys.argv[1]) as memory:
    answer = memory.recall(json.loads(sys.argv[2]), recipe="learnings")
texts, signals = [hit.record.text for hit in answer], list(answer[0].explain)
print(json.dumps({"mode": answer.mode, "texts": texts, "signals": signals, "notes": answer.notes}))
"""


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def learned(embedder: WordEmbedder, clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        learn(memory)
        yield memory


def learn(memory: Memory) -> None:
    memory.remember("Read real file samples", category="heuristics")
    memory.remember("Roll back within minutes", category="patterns", confidence=1.0)
    memory.remember("Sleeping tests are flaky", category="anti-patterns", confidence=0.0)


def ask(memory: Memory, query: str | None, **options: Any) -> Recall:
    return memory.recall(query, recipe="learnings", **options)


def asked_without_numpy(path: Path, query: str | None) -> dict[str, Any]:
    """What another process answers, which cannot import numpy."""
    asking = [sys.executable, "-c", WITHOUT_NUMPY, str(path), json.dumps(query)]
    return json.loads(subprocess.run(asking, capture_output=True, encoding="utf-8", check=True).stdout)


def texts(answer: Recall) -> set[str]:
    return {hit.record.text.split()[0] for hit in answer}


def named(answer: Recall, word: str) -> Hit:
    return next(hit for hit in answer if hit.record.text.startswith(word))


@pytest.fixture
def no_full_text(tmp_path: Path, embedder: WordEmbedder, clock: HandClock) -> Iterator[Memory]:
    """The same in a store whose full-text index is gone."""
    path = tmp_path / "m.db"
    with Memory(path, embedder=embedder, clock=clock) as memory:
        learn(memory)
    without_full_text(path)
    with Memory(path, embedder=embedder, clock=clock) as memory:
        yield memory


# -- step 1 ------------------------------------------------------------------------------------------------------------


def test_without_a_question_prominence_alone_decides(learned: Memory):
    """S1 retrieval no query: ranking uses prominence only, with all the weight."""
    answer = ask(learned, None)
    assert [hit.record.confidence for hit in answer] == [1.0, 0.5, 0.0]
    assert all(set(hit.explain) == PROMINENCE for hit in answer)
    assert all(sum(signal.weight for signal in hit.explain.values()) == pytest.approx(1) for hit in answer)


def test_without_a_question_nothing_is_embedded(learned: Memory, embedder: WordEmbedder):
    """S1 retrieval no call: neither a vector is made nor a word looked up."""
    before = embedder.embedded
    embedder.down = True
    assert len(ask(learned, None)) == 3
    assert embedder.embedded == before


def test_without_a_question_every_entry_is_ranked(learned: Memory):
    """S1 retrieval zero scores: all entries are passed on."""
    assert texts(ask(learned, None)) == {"Read", "Roll", "Sleeping"}


# -- step 2 ------------------------------------------------------------------------------------------------------------


def test_a_vector_score_is_a_cosine(learned: Memory):
    """S1 retrieval vector: cosine similarity, from -1 to 1."""
    answer = ask(learned, "read real file samples")
    assert all(-1.0 <= hit.explain["vector"].raw <= 1.0 for hit in answer)
    assert named(answer, "Read").explain["vector"].raw == max(hit.explain["vector"].raw for hit in answer)


def test_every_entry_with_a_vector_is_a_candidate(learned: Memory):
    """S1 retrieval all entries: also those that share no word with the question."""
    assert texts(ask(learned, "read files")) == {"Read", "Roll", "Sleeping"}


def test_a_vector_of_another_model_is_not_compared(learned: Memory, clock: HandClock):
    """S1 retrieval same model: the question is embedded as the entries are; others wait for their vectors."""
    other = WordEmbedder(version="2")
    assert other.generation != Generation("testing", "words", 64, "1")
    with Memory(learned._services.store, embedder=other, clock=clock) as changed:
        answer = ask(changed, "read files")
        assert (answer.mode, texts(answer)) == ("keyword", {"Read"})
        changed.work()
        assert ask(changed, "read files").mode == "hybrid"


@pytest.mark.parametrize("wordy", [True, False])
def test_a_composed_query_searches_for_its_file_names(clock: HandClock, wordy: bool):
    """S1 retrieval composed: a description of 100 words does not keep the changed files from being searched for."""
    description = " ".join(f"{word}{number}" for number in range(25) for word in ("parse", "token", "rule", "case"))
    with Memory(":memory:", embedder="none" if wordy else WordEmbedder(), clock=clock) as memory:
        for number in range(3):
            memory.remember(f"{description}, chapter {number}")
        memory.remember("tokenizer.py keeps one cache for each thread")
        memory.remember("The bread is in the oven")
        answer = ask(memory, f"grammar: {description}. Phase: implement. Files: src/tokenizer.py README.md", limit=10)
        (found,) = [hit for hit in answer if hit.record.number == 4]
        assert found.explain["keyword"].raw > 0


@pytest.mark.parametrize("field", ["title", "text", "keywords", "reasoning"])
@pytest.mark.parametrize("wordy", [True, False])
def test_words_are_found_in_every_field(clock: HandClock, field: str, wordy: bool):
    """S1 retrieval fields: name, description, keywords and reasoning."""
    fields: dict[str, Any] = {"text": "An entry"} | {field: ["gazpacho"] if field == "keywords" else "gazpacho"}
    with Memory(":memory:", embedder="none" if wordy else WordEmbedder(), clock=clock) as memory:
        memory.remember(**fields)
        memory.remember("Another entry")
        assert ask(memory, "gazpacho")[0].record.number == 1


def test_a_better_match_has_a_higher_word_score(clock: HandClock):
    """S1 retrieval keyword: higher is more relevant."""
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("parse the file")
        memory.remember("parse the dates")
        memory.remember("unrelated")
        both, one = sorted(ask(memory, "parse file"), key=lambda hit: hit.record.number)
        assert both.explain["keyword"].raw > one.explain["keyword"].raw > 0


def test_by_words_only_matching_entries_are_candidates(learned: Memory, embedder: WordEmbedder):
    """S1 retrieval matching: what holds no word of the question is not found by words."""
    embedder.down = True
    assert texts(ask(learned, "flaky file")) == {"Read", "Sleeping"}


# -- step 3 ------------------------------------------------------------------------------------------------------------


def test_candidates_of_both_ways_are_united(learned: Memory, embedder: WordEmbedder):
    """S1 merge union: found by meaning or by words."""
    embedder.down = True
    learned.remember("A gazpacho without a vector", category="patterns")
    embedder.down = False
    assert texts(ask(learned, "gazpacho")) == {"Read", "Roll", "Sleeping", "A"}


def test_an_entry_found_both_ways_carries_both_scores(learned: Memory):
    """S1 merge both: a word score and a vector score."""
    hit = named(ask(learned, "real file samples"), "Read")
    assert hit.explain["keyword"].raw > 0
    assert hit.explain["vector"].raw > 0


def test_an_entry_found_one_way_carries_a_zero_for_the_other(learned: Memory, embedder: WordEmbedder):
    """S1 merge one: zero, with the weight that the signal has for all."""
    embedder.down = True
    learned.remember("A gazpacho without a vector", category="patterns")
    embedder.down = False
    answer = ask(learned, "gazpacho")
    assert (named(answer, "A").explain["vector"].raw, named(answer, "A").explain["vector"].contribution) == (0, 0)
    assert (named(answer, "Read").explain["keyword"].raw, named(answer, "Read").explain["keyword"].weight) == (0, 0.2)


# -- degradation -------------------------------------------------------------------------------------------------------


def test_without_a_provider_words_remain(learned: Memory, embedder: WordEmbedder):
    """S1 degradation provider: vector retrieval is skipped, and the answer says so."""
    embedder.down = True
    answer = ask(learned, "flaky tests")
    assert (answer.mode, texts(answer)) == ("keyword", {"Sleeping"})
    assert answer.notes


def test_without_a_full_text_index_meaning_remains(no_full_text: Memory):
    """S1 degradation fts: all entries by meaning, and no error. The words are not lost either: the index in memory has
    them, so that `mode` still says `hybrid`.
    """
    answer = ask(no_full_text, "flaky tests")
    assert (answer.mode, answer[0].record.text) == ("hybrid", "Sleeping tests are flaky")
    assert all("vector" in hit.explain for hit in answer)
    assert {"Read", "Roll", "Sleeping"} == texts(answer)


def test_without_both_every_entry_is_ranked_by_prominence(tmp_path: Path):
    """S1 degradation both: all entries are passed to ranking with zero retrieval scores, in a process that has neither
    vectors nor a full-text index.
    """
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        learn(memory)
    without_full_text(tmp_path / "m.db")
    answer = asked_without_numpy(tmp_path / "m.db", "flaky tests")
    assert answer["mode"] == "none"
    assert answer["texts"] == ["Roll back within minutes", "Read real file samples", "Sleeping tests are flaky"]
    assert set(answer["signals"]) == PROMINENCE
    assert recaller.NO_FTS in answer["notes"]


def test_without_numpy_words_and_prominence_remain(tmp_path: Path):
    """S1 degradation numpy: keyword and prominence retrieval only, in a process that cannot import numpy."""
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        learn(memory)
    answer = asked_without_numpy(tmp_path / "m.db", "flaky tests")
    assert (answer["mode"], answer["texts"]) == ("keyword", ["Sleeping tests are flaky"])
    assert set(answer["signals"]) == PROMINENCE | {"keyword"}
    assert len(asked_without_numpy(tmp_path / "m.db", None)["texts"]) == 3
