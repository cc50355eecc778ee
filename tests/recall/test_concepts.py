"""Concepts: an answer holds each of them, and says how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.model import Recall
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder
from perdure.text.words import query_words, searchable, terms

WORDS = ["oauth", "errors", "error", "tea", "callback", "café", "東京", "parseFile"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@pytest.fixture(params=["hybrid", "from disk"])
def shelf(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder() if request.param == "hybrid" else "none") as memory:
        memory.remember("OAuth failed: an error in the oauth callback. Errors again, OAuth!", tags=["auth"])
        memory.remember("OAuth works, and there is no single error", tags=["ok"])
        memory.remember("OAuth is a protocol")
        memory.remember("errors in the callback", category="patterns")
        yield memory


def counted(answer: Recall) -> dict[int, dict[str, int]]:
    return {hit.record.number: dict(hit.concepts) for hit in answer}


def test_each_hit_says_how_often_it_holds_each_concept(shelf: Memory):
    answer = shelf.recall(concepts=["oauth", "errors"])
    assert counted(answer) == {1: {"oauth": 3, "errors": 2}, 2: {"oauth": 1, "errors": 1}}


def test_a_query_ranks_what_the_concepts_leave(shelf: Memory):
    answer = shelf.recall("does it work?", concepts=["oauth", "errors"])
    assert [hit.record.number for hit in answer] == [2, 1]


def test_a_concept_of_several_words_needs_all_of_them_in_any_order(shelf: Memory):
    answer = shelf.recall(concepts=["callback of oauth", "errors"])
    assert counted(answer) == {1: {"callback of oauth": 1, "errors": 2}}


def test_filters_narrow_further(shelf: Memory):
    assert counted(shelf.recall(concepts=["oauth", "errors"], tags=["ok"])).keys() == {2}
    assert not shelf.recall(concepts=["oauth", "errors"], category="patterns")


def test_several_namespaces_are_asked_together(shelf: Memory):
    shelf.namespace("other").remember("oauth error")
    answer = shelf.recall(concepts=["oauth", "errors"], namespaces=["default", "other"])
    assert {(hit.record.namespace, hit.record.number) for hit in answer} == {
        ("default", 1),
        ("default", 2),
        ("other", 1),
    }


def test_without_concepts_a_hit_counts_none(shelf: Memory):
    assert shelf.recall("oauth", min_relevance=0)[0].concepts == {}


def test_an_answer_of_nothing_says_in_how_many_each_concept_is(shelf: Memory):
    answer = shelf.recall(concepts=["oauth", "bananas"])
    assert not answer
    assert "oauth (3), bananas (0)" in answer.notes[-1]


def test_a_concept_without_a_word_is_held_by_nothing_and_is_no_error(shelf: Memory):
    answer = shelf.recall("oauth", concepts=["oauth", "?!"])
    assert (list(answer), answer.notes) == ([], (recaller.NO_CONCEPT,))


@pytest.mark.parametrize(
    "concepts", [[], ["one"], ["same", "same"], list("abcdef"), "text", 7, ["a", 7], ["a", " "], [None, None]], ids=repr
)
def test_too_few_too_many_or_no_texts_are_refused_with_a_remedy(concepts: Any):
    with Memory(":memory:", embedder="none") as memory, pytest.raises(errors.InvalidInput) as raised:
        memory.recall("tea", concepts=concepts)
    assert "concepts" in raised.value.sentence or "concept" in raised.value.sentence
    assert raised.value.remedy


def test_other_recipes_know_concepts_too(shelf: Memory):
    for recipe in ("tiered", "facts"):
        assert counted(shelf.recall(concepts=["oauth", "errors"], recipe=recipe)).keys() == {1, 2}


@pytest.mark.parametrize("model", [True, False])
def test_concepts_are_looked_for_in_the_words_of_then(model: bool):
    clock = HandClock()
    with Memory(":memory:", embedder=WordEmbedder() if model else "none", clock=clock) as memory:
        memory.remember("oauth errors, oauth")
        memory.remember("tea")
        then = clock.now
        clock.forward(days=1)
        memory.update(1, text="all is well with tea")
        memory.remember("oauth error of today")
        for known in (then, then + timedelta(hours=1)):
            assert counted(memory.recall(concepts=["oauth", "errors"], known_at=known)) == {
                1: {"oauth": 2, "errors": 1}
            }
        assert counted(memory.recall(concepts=["oauth", "errors"])) == {3: {"oauth": 1, "errors": 1}}


@given(
    st.lists(texts, min_size=1, max_size=12, unique=True),
    st.lists(st.sampled_from(WORDS) | texts, min_size=2, max_size=5, unique=True),
)
def test_the_counts_are_what_counting_gives(documents: list[str], concepts: list[str]):
    expected: dict[str, dict[str, int]] = {}
    for document in documents:
        held = Counter(terms(searchable(document)))
        counts = {each: min(held[terms(word)[0]] for word in query_words(each)) for each in concepts}
        if all(counts.values()):
            expected[document] = counts
    with Memory(":memory:", embedder="none") as memory, pytest.MonkeyPatch.context() as patch:
        for number, document in enumerate(documents):
            memory.remember(document, key=f"number:{number}")
        for from_disk in (9, 0):
            patch.setattr(recaller, "_RECALLS_FROM_DISK", from_disk)
            answer = memory.recall(concepts=concepts, limit=100)
            assert {hit.record.text: dict(hit.concepts) for hit in answer} == expected


texts_of_words = st.text(min_size=1, max_size=20).filter(str.strip)


@given(st.none() | st.text(max_size=40), st.lists(texts_of_words, min_size=2, max_size=5, unique_by=str.strip))
def test_no_text_of_a_concept_is_an_error(query: str | None, concepts: list[str]):
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        memory.remember("tea on monday")
        memory.recall(query, concepts=concepts)
