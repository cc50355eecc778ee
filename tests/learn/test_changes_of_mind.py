"""What people say in ordinary words ends what they said before, or leaves it alone, as a reader would say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from clocks import NOON, HandClock

from perdure import Memory
from perdure.model import FACT_CATEGORIES, Record
from perdure.settings import load

AROUND = (("assistant", "Good to know."), ("user", "What is the plural of octopus?"), ("assistant", "Octopuses."))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", settings=load(None), clock=HandClock(NOON)) as found:
        yield found


def chat(memory: Memory, name: str, text: str, day: int, **who: str) -> None:
    """A chat of its own, in which somebody says something among other things."""
    at = NOON - timedelta(days=300 - day)
    told: list[dict[str, object]] = [{"role": "user", **who, "content": text, "at": at}]
    for minute, (role, words) in enumerate(AROUND, 1):
        speaker = who if role == "user" else {}
        told.append({"role": role, **speaker, "content": words, "at": at + timedelta(minutes=minute)})
    memory.conversation(name).add_messages(told)


def first_facts(memory: Memory, before: str, after: str, **who: Any) -> list[Record]:
    """What became of the facts that the first of two chats told."""
    chat(memory, "chat-1", before, 0, **who.get("first", {}))
    chat(memory, "chat-2", after, 20, **who.get("second", {}))
    memory.work()
    facts = memory.list(category=FACT_CATEGORIES, states=("active", "superseded"), limit=100)
    return [one for one in facts if one.valid_at == NOON - timedelta(days=300)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lyon.", "We've just moved to Nice."),
        ("I moved to Lisbon.", "I moved to Porto."),
        ("I work as a cook.", "I quit cooking."),
        ("I work as a cook.", "I became a pilot."),
        ("I work at Renault.", "I joined Airbus."),
        ("I love beer.", "I can't stand beer any more."),
        ("My dentist is Dr. Roux.", "My dentist is Dr. Petit now."),
        ("I have a cat named Zoe.", "Zoe died."),
        ("I use Emacs.", "I switched to Vim."),
        ("I'm vegan.", "I eat cheese again."),
    ],
)
def test_a_change_of_mind_ends_what_was_said_before(memory: Memory, before: str, after: str):
    ended = [fact for fact in first_facts(memory, before, after) if fact.state == "superseded"]
    assert ended
    assert {fact.invalid_at for fact in ended} == {NOON - timedelta(days=280)}


@pytest.mark.parametrize("home", ["I moved to Porto.", "I live in Porto."])
def test_a_home_goes_on_beside_the_job_that_is_told_a_minute_later(memory: Memory, home: str):
    told = [
        {"role": "user", "content": text, "at": NOON - timedelta(days=1) + timedelta(minutes=minute)}
        for minute, text in enumerate((home, "I am at Brotkorb now.", "And I got a bike."))
    ]
    memory.conversation("chat").add_messages(told)
    memory.work()
    assert {fact.state for fact in memory.list(category=FACT_CATEGORIES) if "Porto" in fact.text} == {"active"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The retention of events is 30 days.", "Bump retention, legal wants events kept for a whole year"),
        ("I take bisoprolol 2.5 in the morning", "doctor doubled the bisoprolol, so five it is"),
    ],
)
def test_a_message_in_which_no_word_tells_of_a_change_may_be_one(memory: Memory, before: str, after: str):
    assert {fact.state for fact in first_facts(memory, before, after)} == {"superseded"}


SILENT = ("I take the 14 bus to get there", "they axed the 14, it's the tram for me")


@pytest.mark.parametrize("works_between", [True, False])
def test_a_message_of_which_no_fact_was_made_ends_as_well(memory: Memory, works_between: bool):
    chat(memory, "chat-1", SILENT[0], 0)
    if works_between:
        memory.work()
        assert not memory.list(category=FACT_CATEGORIES)
    chat(memory, "chat-2", SILENT[1], 20)
    memory.work()
    [ended] = memory.list(category=FACT_CATEGORIES, states=("superseded",))
    assert (ended.valid_at, ended.invalid_at) == (NOON - timedelta(days=300), NOON - timedelta(days=280))
    assert "tram" in memory.recall("how do I get to rehearsals, by bus or tram?")[0].text


def test_a_message_without_a_fact_is_not_ended_by_somebody_else(memory: Memory):
    chat(memory, "chat-1", SILENT[0], 0, speaker="Ann")
    chat(memory, "chat-2", SILENT[1], 20, speaker="Bob")
    memory.work()
    assert not memory.list(category=FACT_CATEGORIES, states=("superseded",))


def test_a_message_that_was_erased_is_no_fact_that_ended(memory: Memory):
    chat(memory, "chat-1", SILENT[0], 0)
    memory.work()
    [said] = [one for one in memory.conversation("chat-1").messages() if one.text == SILENT[0]]
    memory.erase(said.number, confirm=True)
    chat(memory, "chat-2", SILENT[1], 20)
    memory.work()
    assert not memory.list(category=FACT_CATEGORIES, states=("superseded",))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "Unser Architekt ist Herr Brandt.",
            "Herr Brandt hat hingeworfen, jetzt macht Frau Seidel als Architektin weiter.",
        ),
        ("I run a food truck. Payment: cash only, sorry.", "We finally take cards as well, no more cash only."),
    ],
)
def test_what_rules_do_not_read_is_compared_part_by_part(memory: Memory, before: str, after: str):
    assert any(fact.state == "superseded" for fact in first_facts(memory, before, after))


def test_one_message_ends_one_fact_of_another_message(memory: Memory):
    facts = first_facts(memory, "I live in Ulm and I have a dog named Bo.", "I moved to Bonn. The flat there is tiny.")
    assert [fact.text for fact in facts if fact.state == "superseded"] == ["User lives in Ulm"]


def test_what_one_message_said_twice_ends_together(memory: Memory):
    found = first_facts(memory, "I have a cat named Zoe.", "Zoe died.")
    assert len(found) > 1
    assert {fact.state for fact in found} == {"superseded"}


def test_who_moved_to_another_country_does_not_live_in_the_old_city(memory: Memory):
    assert {fact.state for fact in first_facts(memory, "I live in Lyon.", "I moved to Portugal.")} == {"superseded"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lyon.", "I almost moved to Nice last year."),
        ("I live in Lyon.", "I nearly moved to Nice last year."),
        ("I live in Lyon.", "I'm moving to Nice next spring."),
        ("I live in Lyon.", "I moved to Nice in 2012 and returned in 2014."),
        ("I live in Lyon.", "I live in France."),
        ("I live in France.", "I live in Lyon."),
        ("I live in Lyon.", "I live in an old house."),
        ("I live in Lyon.", "My brother moved to Nice."),
        ("I work as a cook.", "I work as a referee at weekends, too."),
        ("My dentist is Dr. Roux.", "My doctor is Dr. Petit."),
    ],
)
def test_what_only_looks_like_a_change_ends_nothing(memory: Memory, before: str, after: str):
    assert {fact.state for fact in first_facts(memory, before, after)} == {"active"}


def test_what_somebody_says_of_themselves_is_not_ended_by_what_another_says(memory: Memory):
    facts = first_facts(
        memory, "I live in Ulm.", "Lena moved to Bonn.", first={"speaker": "Lena"}, second={"speaker": "Bob"}
    )
    assert {fact.state for fact in facts} == {"active"}


def test_with_rules_alone_no_model_decides():
    with Memory(":memory:", settings=load(None, learn="rules"), clock=HandClock(NOON)) as memory:
        facts = first_facts(memory, "I use Emacs.", "I switched to Vim.")
        assert {fact.state for fact in facts} == {"active"}


@pytest.mark.parametrize("order", ["012", "021", "102", "120", "201", "210"])
def test_the_order_in_which_chats_are_read_does_not_matter(memory: Memory, order: str):
    sayings = ("I drive a Volvo.", "I sold the Volvo and drive a Renault now.", "The Renault is gone, I have a Skoda.")
    for place in map(int, order):
        chat(memory, f"chat-{place}", sayings[place], 20 * place)
        memory.consolidate()
        memory.work()
    facts = memory.list(category=FACT_CATEGORIES, states=("active", "superseded"), limit=100)
    told = {fact.text for fact in facts if fact.state == "active"}
    assert not any("drives a" in text for text in told), told
