"""Of a long question the rarest words count, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.model import Recall
from perdure.recall import recaller
from perdure.recall.query import MANY_WORDS, ONLY_THE_BEGINNING
from perdure.testing.embedder import WordEmbedder


@pytest.fixture(params=["hybrid", "from disk", "in memory"])
def shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if request.param == "from disk" else 0)
    with Memory(":memory:", embedder=WordEmbedder() if request.param == "hybrid" else "none") as memory:
        yield memory


def texts(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


def test_a_word_behind_sixty_four_unknown_ones_is_found(shelf: Memory):
    shelf.remember("a needle in the hay")
    question = " ".join(f"unknown{number}" for number in range(64)) + " needle"
    answer = shelf.recall(question, min_relevance=0)
    assert texts(answer) == ["a needle in the hay"]
    assert MANY_WORDS.format(65, 64) in answer.notes
    # One word of 65 does not fit well enough by itself, but the answer names what holds it.
    usual = shelf.recall(question)
    assert usual.nearest is not None
    assert usual.nearest.record.text == "a needle in the hay"
    assert MANY_WORDS.format(65, 64) in usual.notes


def test_sixty_four_words_are_no_long_question(shelf: Memory):
    shelf.remember("a needle in the hay")
    answer = shelf.recall(" ".join(f"unknown{number}" for number in range(63)) + " needle", min_relevance=0)
    assert texts(answer) == ["a needle in the hay"]
    assert not any("telling words" in note for note in answer.notes)


def test_file_names_behind_a_long_description_are_searched_for(shelf: Memory):
    """S1 composes a query so: the description first, then `Files:` and their names."""
    description = " ".join(f"describing{number}" for number in range(100))
    for number in range(3):
        shelf.remember(f"{description} of file {number}")
    shelf.remember("The module tokenizer.py keeps its cache for each thread")
    shelf.remember("Something else altogether")
    answer = shelf.recall(f"{description} Files: tokenizer.py, other.py", limit=10, min_relevance=0)
    assert "The module tokenizer.py keeps its cache for each thread" in texts(answer)
    assert any(hit.explain["keyword"].raw > 0 for hit in answer if "tokenizer" in hit.record.text)


def test_rare_is_what_few_memories_of_all_the_namespaces_hold(shelf: Memory):
    common = [f"common{number}" for number in range(64)]
    for number in range(3):
        shelf.remember(f"{' '.join(common)}, note {number}")
        shelf.namespace("other").remember(f"{' '.join(common)} and the word rare, note {number}")
    shelf.remember("a rare word")
    answer = shelf.recall(" ".join([*common, "rare"]), namespaces=["default", "other"], limit=10, min_relevance=0)
    assert "a rare word" in texts(answer)


def test_a_concept_of_many_words_needs_all_of_them(shelf: Memory):
    words = [f"word{number}" for number in range(80)]
    shelf.remember(" ".join(words) + " tea")
    shelf.remember(" ".join(words[:-1]) + " tea")
    answer = shelf.recall(concepts=[" ".join(words), "tea"])
    assert [hit.record.number for hit in answer] == [1]


def test_a_phrase_of_many_words_needs_all_of_them(shelf: Memory):
    words = [f"word{number}" for number in range(80)]
    shelf.remember(" ".join(words))
    shelf.remember(" ".join(words[:-1]) + " other")
    assert [hit.record.number for hit in shelf.recall('"' + " ".join(words) + '"')] == [1]


def test_a_sentence_of_many_words_forgets_what_holds_all_of_them(shelf: Memory):
    words = [f"word{number}" for number in range(80)]
    shelf.remember(" ".join(words))
    shelf.remember(" ".join(words[:-1]))
    found = shelf.forget("everything about " + " ".join(words), dry_run=True)
    assert [record.number for record in found.records] == [1]


def test_a_long_question_of_unknown_words_finds_nothing_and_says_both(shelf: Memory):
    shelf.remember("tea")
    answer = shelf.recall(" ".join(f"unknown{number}" for number in range(70)), recipe="tiered")
    assert MANY_WORDS.format(70, 64) in answer.notes


def test_of_a_huge_question_the_beginning_is_read_and_the_answer_says_so(shelf: Memory):
    shelf.remember("a needle in the hay")
    assert ONLY_THE_BEGINNING.format(8192) not in shelf.recall("needle").notes
    answer = shelf.recall("needle " + "x" * 10_000)
    assert texts(answer) == ["a needle in the hay"]
    assert ONLY_THE_BEGINNING.format(8192) in answer.notes


VOCABULARY = [f"w{number}" for number in range(90)]


@given(
    st.lists(st.lists(st.sampled_from([*VOCABULARY, "parseFile"]), min_size=1, max_size=8), min_size=1, max_size=10),
    st.lists(st.sampled_from([*VOCABULARY, "parseFile"]), min_size=66, max_size=90, unique=True),
)
def test_the_same_words_are_chosen_on_disk_and_in_memory(documents: list[list[str]], question: list[str]):
    with Memory(":memory:", embedder="none") as memory, pytest.MonkeyPatch.context() as patch:
        for number, words in enumerate(documents):
            memory.remember(" ".join(words), key=f"number:{number}")
        found: list[dict[int, float]] = []
        for from_disk in (9, 0):
            patch.setattr(recaller, "_RECALLS_FROM_DISK", from_disk)
            answer = memory.recall(" ".join(question), limit=50, min_relevance=0)
            found.append({hit.record.number: hit.explain["keyword"].raw for hit in answer})
        assert found[0] == pytest.approx(found[1], rel=1e-5)
