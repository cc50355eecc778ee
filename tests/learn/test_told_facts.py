"""What people say in ordinary words becomes facts: one statement each, about the right one, and nothing of chatter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from clocks import NOON, HandClock

from perdure import Memory
from perdure.model import FACT_CATEGORIES, Record
from perdure.settings import load


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", settings=load(None, embedder="none"), clock=HandClock(NOON)) as found:
        yield found


def say(memory: Memory, *sayings: str, **who: str) -> list[Record]:
    """What somebody says to an assistant that answers, and the facts that are known afterwards."""
    told: list[dict[str, object]] = []
    for place, text in enumerate(sayings):
        at = NOON - timedelta(days=30) + timedelta(minutes=place)
        told.append({"role": "user", **who, "content": text, "at": at})
        told.append({"role": "assistant", "content": "I see.", "at": at + timedelta(seconds=20)})
    memory.conversation("chat").add_messages(told)
    memory.work()
    memory.consolidate()
    return list(memory.list(limit=200, category=FACT_CATEGORIES))


def facts(memory: Memory, *sayings: str, **who: str) -> set[str]:
    return {fact.text for fact in say(memory, *sayings, **who)}


@pytest.mark.parametrize(
    ("saying", "told"),
    [
        ("We've just moved to Nice.", {"User has just moved to Nice"}),
        ("I quit cooking.", {"User quit cooking"}),
        ("I became a pilot.", {"User became a pilot"}),
        ("I joined Airbus.", {"User joined Airbus"}),
        ("I can't stand beer any more.", {"User can't stand beer any more"}),
        ("My dentist is Dr. Petit now.", {"User's dentist is Dr. Petit now"}),
        ("Zoe died.", {"Zoe died"}),
        ("I switched to Vim.", {"User switched to Vim"}),
        ("I eat cheese again.", {"User eats cheese again"}),
        ("Nadia left, Omar runs the shop now.", {"Nadia left", "Omar runs the shop now"}),
        ("I left the kitchen and teach at a school for chefs now.",
         {"User left the kitchen", "User teaches at a school for chefs now"}),
        ("And I moved to Bonn for it.", {"User moved to Bonn"}),
    ],
)  # fmt: skip
def test_what_changed_is_a_fact(memory: Memory, saying: str, told: set[str]):
    assert facts(memory, saying) == told


@pytest.mark.parametrize(
    ("saying", "told"),
    [
        ("the stand-up is at ten now", "The stand-up is at ten now"),
        ("Deploys moved to Tuesdays.", "Deploys moved to Tuesdays"),
        ("bins are collected on thursdays", "Bins are collected on thursdays"),
        ("line length is 100 in this repo", "Line length is 100 in this repo"),
        ("Jonas's on leave until May", "Jonas is on leave until May"),
        ("A woman called Imke starts on the 3rd.", "A woman called Imke starts on the 3rd"),
        ("They have changed my tablets.", "User's tablets were changed"),
        ("flowers: peonies and dill", "Flowers: peonies and dill"),
        ("We are open on Sundays again.", "User's place is open on Sundays again"),
    ],
)
def test_what_is_told_of_things_is_a_fact(memory: Memory, saying: str, told: str):
    [fact] = facts(memory, saying)
    assert fact.partition(" (")[0] == told


@pytest.mark.parametrize(
    ("saying", "told"),
    [
        ("im a vet btw", "User is a vet"),
        ("i dont eat pork", "User doesn't eat pork"),
        ("so, plot twist: I sold the bike", "User sold the bike"),
        ("ok next thing. i've cancelled the gym", "User has cancelled the gym"),
        ("Honestly though, I live in Ulm", "User lives in Ulm"),
        ("Got the keys to the new place in Graz!", "User got the keys to the new place in Graz"),
        ("not going back to choir", "User is not going back to choir"),
        ("Can't do Thursdays any more.", "User can't do Thursdays any more"),
        ("can you redo the plan, I moved to Bonn", "User moved to Bonn"),
        ("Since I have gout, which fish can I eat?", "User has gout"),
        ("I'm staying at the Ritz — no wait, it's the Savoy.", "User is staying at the Savoy"),
        ("The party is on Friday, sorry, Saturday.", "The party is on Saturday"),
    ],
)
def test_how_somebody_writes_does_not_matter(memory: Memory, saying: str, told: str):
    [fact] = facts(memory, saying)
    assert fact.partition(" (")[0] == told


@pytest.mark.parametrize(
    "saying",
    [
        "Mine is on the 3rd of June.",
        "Chess is the best game ever, fight me",
        "I'm so tired today.",
        "I could scream.",
        "If I win the lottery, I'm buying an island.",
        "The house is too quiet.",
        "My head is soup today.",
        "Translate this: the train is late",
        "where have you been all my life",
        "It was there all the time.",
        "explain it with examples, i get bored by theory",
    ],
)
def test_chatter_is_no_fact(memory: Memory, saying: str):
    assert facts(memory, saying) == set()


@pytest.mark.parametrize(
    ("saying", "category", "slot"),
    [
        ("Redis is 8 now.", "experience", ""),
        ("Deployment moved to Azure.", "experience", ""),
        ("Yoga moved from Mondays to Fridays.", "experience", ""),
        ("I drive to Rome every week", "experience", ""),
        ("I get the keys on Monday", "experience", ""),
        ("I'm 34.", "identity", "age"),
        ("I drive a Fiat", "preference", "drives:fiat"),
        ("Lena moved to Bonn.", "identity", "lives_in"),
    ],
)
def test_a_thing_has_no_age_and_no_home(memory: Memory, saying: str, category: str, slot: str):
    [fact] = say(memory, saying)
    assert (fact.category, fact.metadata["slot"]) == (category, slot)


def test_a_habit_has_no_date(memory: Memory):
    [fact] = facts(memory, "I spend a lot of time by the lake in the summer.")
    assert fact == "User spends a lot of time by the lake in the summer"


def test_he_and_she_are_whoever_was_named_before_also_in_a_question(memory: Memory):
    told = facts(
        memory, "What shall I give my nephew Emil? He loves trains.", "Carys rang. She got the post in Bristol."
    )
    assert told == {"Emil loves trains", "Carys got the post in Bristol"}


@pytest.mark.parametrize(
    ("saying", "told"),
    [
        ("no emojis please", "Assistant should use no emojis"),
        ("tabs, not spaces, please", "Assistant should use tabs, not spaces"),
        ("You can use emojis again.", "Assistant can use emojis again"),
        ("don't touch the config folder without asking me",
         "Assistant should not touch the config folder without asking user"),
        ("You don't have to ask before running tests any more.",
         "Assistant doesn't have to ask before running tests any more"),
        ("please keep it short", "Assistant should keep it short"),
        ("Rule for you: no unwrap() outside tests", "Rule for assistant: No unwrap() outside tests"),
    ],
)  # fmt: skip
def test_instructions_and_what_takes_them_back_are_guidelines(memory: Memory, saying: str, told: str):
    [fact] = say(memory, saying)
    assert (fact.text, fact.category) == (told, "guideline")


def test_no_fact_loses_its_place_to_others(memory: Memory):
    names = ("Ulm", "Bonn", "Kiel", "Graz", "Bern", "Oslo", "Rome", "Lima", "Nice", "Bath", "Cork", "Lodz")
    told = facts(memory, *(f"I saw the old harbour of {name} last year." for name in names))
    assert len(told) == len(names)


def test_what_is_not_in_english_stays_a_message_and_is_counted(memory: Memory):
    sayings = ("Ich wohne seit drei Jahren in Bremen.", "我住在上海。", "I live in Ulm.", "lol", "ok!!")
    memory.conversation("chat").add_messages(
        {"role": "user", "content": text, "at": NOON - timedelta(days=3)} for text in sayings
    )
    done: Any = memory.work()
    assert [note for note in done.notes if note.startswith("2 messages are not in English")]
    assert {fact.text for fact in memory.list(category=FACT_CATEGORIES)} == {"User lives in Ulm"}
