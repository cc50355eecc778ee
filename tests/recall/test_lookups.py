"""A few words that are looked up: what holds them is found, however little it means beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure import Memory
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.model import Recall

pytestmark = pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")

ANSWERS_IT = 0.5
NOTES = (
    "Yilmaz repairs the lift on Mondays",
    "My car is a Honda",
    "The wifi password is sommerwiese",
    "The guest network has no password at all",
    "We meet Piet at the harbour",
    "Vehicles may be parked behind the barn",
    "The job queue is stuck again",
    "I work as a carpenter",
)


@pytest.fixture(scope="module")
def notes() -> Iterator[Memory]:
    with Memory(":memory:", embedder=LocalEmbedder()) as memory:
        for text in NOTES:
            memory.remember(text)
        yield memory


def texts(answer: Recall) -> list[str]:
    return [hit.text for hit in answer]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Yilmaz", 0), ("yilmaz", 0), ("who is Piet?", 4), ("What about Piet", 4), ("what's the Honda?", 1), ("car", 1),
        ("wifi password", 2), ("Piet harbour", 4), ("job", 6), ("lift repair", 0),
    ],
)  # fmt: skip
def test_what_holds_the_words_stands_first_and_answers(notes: Memory, query: str, first: int):
    best = notes.recall(query)[0]
    assert best.text == NOTES[first]
    assert best.relevance >= ANSWERS_IT


def test_likenesses_are_found_where_nothing_holds_the_word(notes: Memory):
    assert texts(notes.recall("automobile"))[0] in {NOTES[1], NOTES[5]}


def test_a_question_is_not_answered_by_its_words_alone(notes: Memory):
    assert texts(notes.recall("what is his job?"))[0] == NOTES[7]
    looked_up, asked = (
        next(hit.relevance for hit in notes.recall(query, min_relevance=0) if hit.text == NOTES[6])
        for query in ("job", "what is his job?")
    )
    assert asked < looked_up - 0.2


def test_a_word_that_many_memories_hold_says_little(notes: Memory):
    with Memory(":memory:", embedder=LocalEmbedder()) as memory:
        for number in range(40):
            memory.remember(f"The harbour has a crane number {number}")
        memory.remember("Nobody swims in the port")
        gains = {hit.explain["keyword"].contribution for hit in memory.recall("harbour")}
    (rare,) = {hit.explain["keyword"].contribution for hit in notes.recall("harbour") if hit.text == NOTES[4]}
    assert max(gains) < rare / 2


def test_what_the_bearer_of_a_name_says_is_not_found_by_that_name_alone():
    with Memory(":memory:", embedder=LocalEmbedder()) as memory:
        talk = memory.conversation("talk")
        for speaker, text in (
            ("Ewan", "I live in Perth with three dogs."), ("Mara", "I play the harp."), ("Ewan", "Ok, see you!"),
            ("Mara", "Ha, lovely."), ("Ewan", "Bye!"),
        ):  # fmt: skip
            talk.add_message("user", text, speaker=speaker)
        memory.work()
        for query in ("who is Ewan?", "Ewan"):
            answer = memory.recall(query, min_relevance=0)
            small_talk = {"Ok, see you!", "Ha, lovely.", "Bye!"}
            assert answer[0].text == "I live in Perth with three dogs."
            assert all(hit.relevance < ANSWERS_IT for hit in answer if hit.text in small_talk)
