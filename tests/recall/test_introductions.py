"""Whoever said `I'm Jonas` is meant by a question that names Jonas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from clocks import NOON, HandClock

from perdure import Memory
from perdure.model import Recall
from perdure.testing.embedder import WordEmbedder

LEIPZIG, HAMBURG = "I live in Leipzig near the station", "I live in Hamburg near the harbour"


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder(1024), clock=clock) as opened:
        yield opened


def tell(memory: Memory, conversation: str, said: Sequence[str], speaker: str = "user") -> None:
    """What somebody says, and what an assistant answers."""
    talk = memory.conversation(conversation)
    for text in said:
        talk.add_message(speaker, text)
        talk.add_message("assistant", "Nice to hear from you, Jonas!")
    memory.work()


def named(answer: Recall) -> set[str]:
    """What is said by whoever the question names."""
    return {hit.record.text for hit in answer if "named" in hit.explain}


def first(answer: Recall) -> str:
    return answer[0].record.text


@pytest.mark.parametrize(
    "introduction",
    ["Hi, I'm Jonas.", "My name is Jonas", "my name is jonas", "Please call me Jonas", "Hello, this is Jonas",
     "Jonas here", "Ich heiße Jonas", "Je m'appelle Jonas", "Me llamo Jonas", "I am Jonas Weber and need your help"],
)  # fmt: skip
def test_a_name_asks_for_what_its_bearer_says(memory: Memory, introduction: str):
    tell(memory, "c", [introduction, LEIPZIG, "Trains were late again"])
    answer = memory.recall("Where does Jonas live?", min_relevance=0)
    assert first(answer) == LEIPZIG
    assert named(answer) == {introduction, LEIPZIG, "Trains were late again"}


def test_a_question_in_lower_case_names_them_as_well(memory: Memory):
    tell(memory, "c", ["I'm Jonas", LEIPZIG])
    assert LEIPZIG in named(memory.recall("where does jonas live?", min_relevance=0))


@pytest.mark.parametrize(
    "said", ["My brother is Jonas", "I'm Jonas's sister", "Do you know Jonas?", "I met Jonas here"]
)
def test_a_name_that_is_said_of_another_is_not_the_speakers(memory: Memory, said: str):
    tell(memory, "c", [said, LEIPZIG])
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) == set()


def test_two_people_who_are_the_same_speaker_stay_two(memory: Memory):
    tell(memory, "one", ["I'm Jonas", LEIPZIG])
    tell(memory, "two", ["I'm Mia", HAMBURG])
    tell(memory, "three", ["I live in Rome near the river"])
    of_jonas, of_mia = (memory.recall(f"Where does {name} live?", min_relevance=0) for name in ("Jonas", "Mia"))
    assert (first(of_jonas), named(of_jonas)) == (LEIPZIG, {"I'm Jonas", LEIPZIG})
    assert (first(of_mia), named(of_mia)) == (HAMBURG, {"I'm Mia", HAMBURG})


def test_two_speakers_of_one_conversation_stay_two(memory: Memory):
    tell(memory, "c", ["I'm Jonas", LEIPZIG])
    tell(memory, "c", ["I'm Mia", HAMBURG], speaker="guest")
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) == {"I'm Jonas", LEIPZIG}
    assert named(memory.recall("Where does Mia live?", min_relevance=0)) == {"I'm Mia", HAMBURG}


def test_a_name_may_be_given_in_several_conversations(memory: Memory):
    tell(memory, "one", ["I'm Jonas", LEIPZIG])
    tell(memory, "two", ["Jonas here again", "I live with a dog"])
    tell(memory, "three", ["I'm Mia", HAMBURG])
    assert named(memory.recall("How does Jonas live?", min_relevance=0)) >= {LEIPZIG, "I live with a dog"}
    assert HAMBURG not in named(memory.recall("How does Jonas live?", min_relevance=0))


def test_where_only_one_person_ever_gave_a_name_it_holds_in_every_conversation(memory: Memory):
    tell(memory, "one", ["I'm Jonas"])
    tell(memory, "two", [LEIPZIG])
    answer = memory.recall("Where does Jonas live?", min_relevance=0)
    assert (first(answer), named(answer)) == (LEIPZIG, {"I'm Jonas", LEIPZIG})


def test_other_namespaces_know_nothing_of_a_name(memory: Memory):
    tell(memory, "c", ["I'm Jonas", HAMBURG])
    other = memory.namespace("other")
    tell(other, "c", [LEIPZIG])
    assert named(other.recall("Where does Jonas live?", min_relevance=0)) == set()
    both = memory.recall("Where does Jonas live?", namespaces=["default", "other"], min_relevance=0)
    assert named(both) == {"I'm Jonas", HAMBURG}


def test_a_correction_takes_back_the_name_before(memory: Memory):
    tell(memory, "c", ["I'm Jonas", "No, I'm Jona", LEIPZIG])
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) == set()
    assert LEIPZIG in named(memory.recall("Where does Jona live?", min_relevance=0))


def test_a_short_form_is_one_name_more(memory: Memory):
    tell(memory, "c", ["I'm Jonas", "You can call me Jo", LEIPZIG])
    assert LEIPZIG in named(memory.recall("Where does Jonas live?", min_relevance=0))
    assert LEIPZIG in named(memory.recall("Where does Jo live?", min_relevance=0))


def test_of_two_who_share_a_name_the_one_is_meant_who_is_called_by_more_of_it(memory: Memory):
    tell(memory, "one", ["I'm Jonas Weber", LEIPZIG])
    tell(memory, "two", ["I'm Jonas Klein", HAMBURG])
    assert named(memory.recall("Where does Jonas Klein live?", min_relevance=0)) == {"I'm Jonas Klein", HAMBURG}
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) >= {LEIPZIG, HAMBURG}


@pytest.mark.parametrize("way", ["forget", "erase", "update"])
def test_a_name_is_gone_at_once_with_the_message_that_gave_it(memory: Memory, way: str):
    tell(memory, "c", ["I'm Jonas", LEIPZIG])
    assert LEIPZIG in named(memory.recall("Where does Jonas live?", min_relevance=0))
    if way == "update":
        memory.update(1, text="Good morning")
    else:
        memory.forget(1) if way == "forget" else memory.erase(1, confirm=True)
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) == set()


def test_a_name_that_is_given_later_is_known_at_once(memory: Memory):
    tell(memory, "c", [LEIPZIG])
    assert named(memory.recall("Where does Jonas live?", min_relevance=0)) == set()
    memory.conversation("c").add_message("user", "By the way, I'm Jonas")
    assert LEIPZIG in named(memory.recall("Where does Jonas live?", min_relevance=0))


def test_what_was_known_before_a_name_was_given_has_no_name(memory: Memory, clock: HandClock):
    tell(memory, "c", [LEIPZIG])
    before = clock()
    clock.forward(days=1)
    tell(memory, "c", ["I'm Jonas"])
    assert LEIPZIG in named(memory.recall("Where does Jonas live?", min_relevance=0))
    assert named(memory.recall("Where does Jonas live?", known_at=before, min_relevance=0)) == set()
    assert LEIPZIG in named(
        memory.recall("Where does Jonas live?", known_at=before + timedelta(days=2), min_relevance=0)
    )


def test_a_name_is_found_again_when_the_store_is_opened_again(tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder=WordEmbedder(1024)) as memory:
        tell(memory, "c", ["I'm Jonas", LEIPZIG])
    with Memory(tmp_path / "memory.db", embedder=WordEmbedder(1024)) as memory:
        assert first(memory.recall("Where does Jonas live?", min_relevance=0)) == LEIPZIG


def test_who_is_named_as_the_speaker_keeps_the_name(memory: Memory):
    talk = memory.conversation("c")
    talk.add_message("user", "You can call me Annie", speaker="Ann Lee")
    talk.add_message("user", LEIPZIG, speaker="Ann Lee")
    talk.add_message("user", HAMBURG, speaker="Bob")
    for name in ("Ann", "Lee", "Annie"):
        assert LEIPZIG in named(memory.recall(f"Where does {name} live?", min_relevance=0))
        assert HAMBURG not in named(memory.recall(f"Where does {name} live?", min_relevance=0))


def test_what_somebody_said_at_a_time_is_asked_for_by_the_name_they_gave(memory: Memory, clock: HandClock):
    tell(memory, "c", ["I'm Jonas", LEIPZIG])
    clock.forward(days=1)
    answer = memory.recall("What did Jonas say yesterday?")
    assert [hit.record.text for hit in answer] == ["I'm Jonas", LEIPZIG]
    assert answer.mode == "time"


def test_a_question_that_is_nothing_but_the_name_finds_who_gave_it(memory: Memory):
    tell(memory, "c", [LEIPZIG, "I'm Jonas", "Trains were late again"])
    assert first(memory.recall("Who is Jonas?", min_relevance=0)) == "I'm Jonas"


def test_of_several_people_the_one_who_gave_the_name_is_meant_though_another_says_more_of_the_words(memory: Memory):
    talk = memory.conversation("c")
    for speaker, text in (
        ("S1", "Hi, I'm Bo"), ("S2", "I'm Cleo"), ("S1", "I keep the red bicycle down in the dry shed"),
        ("S2", "Mine, the bicycle, I keep up in the attic"),
    ):  # fmt: skip
        talk.add_message("user", text, speaker=speaker)
    memory.work()
    assert "attic" in first(memory.recall("Where does Cleo keep the red bicycle?", min_relevance=0))
    assert "shed" in first(memory.recall("Where does Bo keep the bicycle?", min_relevance=0))
