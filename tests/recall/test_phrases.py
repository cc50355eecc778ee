"""Exact phrases in quotation marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import timedelta

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.model import Recall
from perdure.recall import query as parsing
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder
from perdure.text.phrases import contains_phrase, fold, split_phrases


@pytest.fixture(params=["hybrid", "from disk"])
def shelf(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder() if request.param == "hybrid" else "none") as memory:
        memory.remember("She said: over my dead body")
        memory.remember("My body is not dead, and the game is over")
        memory.remember("Café\n  au Lait, please", title="What to drink")
        memory.remember("東京都でお茶を飲む")
        memory.remember("He ran over the bodies", keywords=["dead body"])
        yield memory


def numbers(answer: Recall) -> set[int]:
    return {hit.record.number for hit in answer}


PHRASES = {
    '"over my dead body"': {1},
    '"Dead Body"': {1, 5},
    "who said “over my dead body” and when": {1},
    "„my dead“ game": {1},
    "«cafe au lait»": {3},
    '"CAFÉ  AU"': {3},
    '"what to drink"': {3},
    '"to drink café"': set[int](),
    '"bod"': set[int](),
    '"body is" "game is over"': {2},
    '"dead body" "game is over"': set[int](),
    "「お茶」": {4},
    '"東京"': {4},
    '"京東"': set[int](),
}


@pytest.mark.parametrize(("query", "expected"), PHRASES.items(), ids=str)
def test_a_phrase_must_stand_in_the_memory(shelf: Memory, query: str, expected: set[int]):
    assert numbers(shelf.recall(query)) == expected


@pytest.mark.parametrize(
    "query", ['dead "body', "dead” body“", '5" x 3" body', 'dead "" body', 'dead "?!" body', "it's body"]
)
def test_marks_without_a_partner_or_a_word_are_just_text(shelf: Memory, query: str):
    assert {1, 2, 5} <= numbers(shelf.recall(query, min_relevance=0))


def test_the_rest_of_the_question_ranks(shelf: Memory):
    assert shelf.recall('"dead body" she said')[0].record.number == 1
    assert shelf.recall('he ran, "dead body"')[0].record.number == 5


def test_an_answer_of_nothing_says_what_there_is_without_the_marks(shelf: Memory):
    answer = shelf.recall('"body over dead"')
    assert not answer
    assert answer.notes[-1].startswith("No memory holds the exact phrase; without the quotation marks there are")


def test_filters_and_concepts_go_with_it(shelf: Memory):
    assert numbers(shelf.recall('"dead body"', concepts=["over", "said"])) == {1}
    assert not shelf.recall('"dead body"', until="2020-01-01")


def test_a_phrase_in_the_words_of_then():
    clock = HandClock()
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("over my dead body")
        memory.remember("dead over my body")
        then = clock.now + timedelta(hours=1)
        clock.forward(days=1)
        memory.update(1, text="body over my dead")
        assert numbers(memory.recall('"my dead body"', known_at=then)) == {1}
        assert numbers(memory.recall('"my dead body"', as_of=then)) == {1}
        assert not memory.recall('"my dead body"')


def test_a_phrase_of_common_words_is_looked_for_in_the_newest_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parsing, "MOST_LOOKED_AT", 3)
    with Memory(":memory:", embedder="none") as memory:
        for number in range(5):
            memory.remember(f"the tea, number {number}")
        answer = memory.recall('"the tea"')
    assert numbers(answer) == {3, 4, 5}
    assert parsing.TOO_MANY.format(3, 5) in answer.notes


@pytest.mark.parametrize("from_disk", [9, 0])
def test_only_what_passes_the_filter_is_looked_at_for_a_phrase(from_disk: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parsing, "MOST_LOOKED_AT", 3)
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", from_disk)
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("the red fox jumped", tags=["old"])
        for number in range(5):
            memory.remember(f"red {number}, then fox")
        answer = memory.recall('"red fox"', tags=["old"])
    assert numbers(answer) == {1}
    assert answer.notes == ()


words = st.sampled_from(["tea", "Tea", "the", "café", "cafe", "running", "runs", "東京", "お茶", "it's", "it\u2019s"])
sentences = st.lists(words, min_size=1, max_size=6).map(" ".join)


@given(st.lists(sentences, min_size=1, max_size=10), sentences)
def test_what_is_found_is_what_a_plain_look_at_the_normalised_text_finds(documents: list[str], phrase: str):
    def plain(text: str) -> str:
        apart = unicodedata.normalize("NFD", text.casefold().replace("\u2019", "'"))
        return " " + unicodedata.normalize("NFC", apart.replace("\u0301", "")) + " "

    expected = {number for number, text in enumerate(documents, 1) if plain(phrase) in plain(text)}
    with Memory(":memory:", embedder="none") as memory, pytest.MonkeyPatch.context() as patch:
        for number, text in enumerate(documents):
            memory.remember(text, key=f"number:{number}")
        for from_disk in (9, 0):
            patch.setattr(recaller, "_RECALLS_FROM_DISK", from_disk)
            assert numbers(memory.recall(f'"{phrase}"', limit=100)) == expected


@given(st.text(alphabet=st.sampled_from("\"“”„«»「」『』ab é\u0301東\ud800\x00'\u2019 \n."), max_size=30))
def test_no_arrangement_of_marks_is_an_error(query: str):
    quoted = split_phrases(query)
    assert len(quoted.phrases) <= 8
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        memory.remember("a é 東")
        memory.recall(query)


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str):
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=20), st.text(max_size=20), st.text(min_size=1, max_size=10))
def test_a_phrase_between_spaces_occurs(before: str, after: str, phrase: str):
    assert contains_phrase(phrase, f"{before} {phrase} {after}")


def test_what_stands_next_to_it_in_a_conversation_is_no_answer():
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        for number, text in enumerate(("we talked about tea", "the dead body of tea", "tea it is", "tea body dead")):
            memory.remember(
                text,
                conversation_id="c",
                session_id="s",
                metadata={"speaker": "Ann"},
                valid_at=f"2026-01-0{number + 1}",
            )
        assert numbers(memory.recall('what did Ann say of "dead body"')) == {2}
        assert numbers(memory.recall("what did Ann say", concepts=["tea", "dead"])) == {2, 4}
        assert numbers(memory.recall("what did Ann say about tea", when="1 January 2026")) == {1}
