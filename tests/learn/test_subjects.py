"""Facts are about somebody, whichever chat they were said in; people are known by their names, and two stay two."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import NOON, HandClock
from learn.talks import action

from perdure import Memory
from perdure.learn.results import Consolidation
from perdure.model import FACT_CATEGORIES
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

ANSWERS = ("Good to know.", "Thank you for telling me.", "I see.")


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON)


def opened(clock: HandClock, path: Path | str = ":memory:", **settings: Any) -> Memory:
    return Memory(path, settings=load(None, embedder="none", **settings), clock=clock)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with opened(clock) as found:
        yield found


def chat(memory: Memory, name: str, *sayings: str, day: int = 0, **who: str) -> None:
    """A chat of its own: what somebody says, and what an assistant answers."""
    told: list[dict[str, object]] = []
    for place, text in enumerate(sayings):
        at = NOON - timedelta(days=300 - day) + timedelta(minutes=place)
        told.append({"role": "user", **who, "content": text, "at": at})
        answer = ANSWERS[place % len(ANSWERS)]
        told.append({"role": "assistant", "content": answer, "at": at + timedelta(seconds=20)})
    memory.conversation(name).add_messages(told)


def known(memory: Memory, **filters: Any) -> set[str]:
    chosen: dict[str, Any] = {"category": FACT_CATEGORIES, **filters}
    return {one.text for one in memory.list(limit=100, **chosen)}


def test_what_is_said_in_a_later_chat_ends_what_was_said_in_an_earlier_one(memory: Memory):
    chat(memory, "chat-1", "I live in Ulm.", "I work as a cook.")
    memory.work()
    assert known(memory) == {"User lives in Ulm", "User works as a cook"}
    chat(memory, "chat-2", "I live in Bonn now.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Bonn now", "User works as a cook"}
    [fact] = memory.facts("where does the user live?", limit=1)
    assert [old.text for old in fact.earlier] == ["User lives in Ulm"]
    assert fact.record.conversation_id == "chat-2"


def test_it_does_not_matter_which_chat_becomes_known_first(memory: Memory):
    chat(memory, "chat-2", "I live in Bonn now.", day=90)
    memory.work()
    chat(memory, "chat-1", "I live in Ulm.")
    memory.work()
    assert known(memory) == {"User lives in Bonn now"}


def test_what_is_said_again_in_another_chat_is_one_fact_with_more_evidence(memory: Memory):
    chat(memory, "chat-1", "I'm allergic to shellfish.")
    chat(memory, "chat-2", "I'm allergic to shellfish.", day=3)
    memory.work()
    [fact] = memory.facts()
    assert len(fact.record.evidence) == 2


def test_the_setting_keeps_each_conversation_to_itself(clock: HandClock):
    with opened(clock, learn_scope="conversation") as memory:
        chat(memory, "chat-1", "I live in Ulm.", "Hello?", "Are you there?")
        chat(memory, "chat-2", "I live in Bonn.", "Hello?", "Are you there?", day=90)
        chat(memory, "chat-3", "I live in Kiel.", day=99)
        memory.work()
        memory.consolidate()
        assert known(memory) == {"User lives in Ulm", "User lives in Bonn"}


def test_a_chat_of_two_messages_is_learned_from_when_it_is_over(memory: Memory, clock: HandClock):
    memory.conversation("chat-1").add_messages(
        [{"role": "user", "content": "I live in Ulm."}, {"role": "assistant", "content": "Nice."}]
    )
    assert memory.work().episodes_made == 0
    clock.forward(minutes=61)
    memory.work()
    assert known(memory) == {"User lives in Ulm"}


def test_as_many_facts_come_of_many_chats_as_of_one_conversation(clock: HandClock):
    sayings = ("I live in Ulm.", "My sister Eva is a vet.", "I'm allergic to nuts.", "I love old trains.", "I'm 34.")
    facts: list[set[str]] = []
    for names in (["all"] * len(sayings), [f"chat-{place}" for place in range(len(sayings))]):
        with opened(clock) as memory:
            for place, (name, text) in enumerate(zip(names, sayings, strict=True)):
                chat(memory, name, text, day=place)
            memory.work()
            facts.append(known(memory))
    assert facts[0] == facts[1]
    assert "User lives in Ulm" in facts[0]


def test_episodes_of_several_chats_wait_together(clock: HandClock):
    """One or two wait while somebody still speaks; the third makes them enough."""
    with opened(clock, flashbulb_surprise=1) as memory:
        for place in range(3):
            at = clock.now
            said = ["I live in Ulm.", "Tell me a story", "A longer one", "And another one", "I went for a walk"]
            memory.conversation(f"chat-{place}").add_messages(
                {"role": "user", "content": text, "at": at - timedelta(minutes=50 if n < 4 else 0)}
                for n, text in enumerate(said)
            )
            assert memory.work().episodes_consolidated == (0 if place < 2 else 3)


def test_an_episode_waits_for_a_day_at_most(clock: HandClock):
    with opened(clock, flashbulb_surprise=1) as memory:
        talk = memory.conversation("talk")
        for text in ("I live in Ulm.", "Tell me a story", "A longer one", "And another one"):
            talk.add_message("user", text)
        done: list[int] = []
        for _ in range(30):
            clock.forward(minutes=55)
            talk.add_message("user", "I am still here, somehow")
            done.append(memory.work().episodes_consolidated)
            if done[-1]:
                break
        assert sum(done) >= 1


def test_what_others_say_of_somebody_does_not_end_what_they_said_themselves(memory: Memory):
    memory.conversation("us").add_messages(
        [
            {"role": "user", "speaker": "Lena", "content": "I live in Ulm.", "at": NOON - timedelta(days=90)},
            {"role": "user", "speaker": "Bob", "content": "Lena lives in Hell.", "at": NOON - timedelta(days=60)},
        ]
    )
    memory.work()
    assert known(memory) == {"Lena lives in Ulm", "Lena lives in Hell"}
    [conflict] = memory.conflicts()
    assert "themselves" in conflict.reasons[0]


def test_what_somebody_says_of_themselves_ends_what_others_said(memory: Memory):
    memory.conversation("us").add_messages(
        [
            {"role": "user", "speaker": "Bob", "content": "Lena lives in Paris.", "at": NOON - timedelta(days=90)},
            {"role": "user", "speaker": "Lena", "content": "I live in Ulm.", "at": NOON - timedelta(days=60)},
        ]
    )
    memory.work()
    assert known(memory) == {"Lena lives in Ulm"}
    assert memory.conflicts() == []


def test_two_named_people_in_one_namespace_stay_two(memory: Memory):
    chat(memory, "chat-1", "I live in Ulm.", "Please always answer in English.", speaker="Ada")
    chat(memory, "chat-2", "I live in Bonn.", "Please always answer in German.", day=30, speaker="Ben")
    memory.work()
    assert known(memory, category="identity") == {"Ada lives in Ulm", "Ben lives in Bonn"}
    assert len(known(memory, category="guideline")) == 2


def test_users_who_give_different_names_in_their_chats_are_two(memory: Memory):
    chat(memory, "chat-1", "Hi, I'm Lena.", "I live in Ulm.")
    chat(memory, "chat-2", "Hi, I'm Tom.", "I live in Bonn.", day=30)
    memory.work()
    assert {"Lena lives in Ulm", "Tom lives in Bonn"} <= known(memory)


def test_a_name_that_is_said_once_is_known_in_every_chat(memory: Memory):
    chat(memory, "chat-1", "Hi, I'm Lena, I live in Ulm and I work as a cook.")
    memory.work()
    assert known(memory) == {"User's name is Lena", "Lena lives in Ulm", "Lena works as a cook"}
    chat(memory, "chat-2", "I live in Bonn now.", day=90)
    memory.work()
    assert known(memory) == {"User's name is Lena", "Lena lives in Bonn now", "Lena works as a cook"}
    assert memory.recall("where does Lena live?")[0].record.text == "Lena lives in Bonn now"


def test_a_name_that_is_said_later_belongs_to_the_same_person(memory: Memory):
    chat(memory, "chat-1", "I live in Ulm.")
    memory.work()
    chat(memory, "chat-2", "My name's Lena by the way.", "I live in Bonn now.", day=90)
    memory.work()
    assert known(memory) == {"User's name is Lena", "Lena lives in Bonn now"}


@pytest.mark.parametrize("saying", ["Call me Leni.", "Can you call me Leni?"])
def test_a_nickname_is_one_more_name_of_the_same_person(clock: HandClock, saying: str):
    with Memory(":memory:", embedder=WordEmbedder(1024), clock=clock) as memory:
        chat(memory, "chat-1", "Hi, I'm Lena.", "I live in Ulm.")
        chat(memory, "chat-2", saying, day=30)
        memory.work()
        assert {"User's name is Lena", "User goes by Leni"} <= known(memory)
        for name in ("Lena", "Leni"):
            first = memory.recall(f"where does {name} live?", min_relevance=0)[0]
            assert "Ulm" in first.record.text
            assert "named" in first.explain
        chat(memory, "chat-3", "I live in Bonn now.", day=90)
        memory.work()
        assert "Lena lives in Ulm" not in known(memory)


def test_the_user_and_a_speaker_of_the_same_name_are_one_person(memory: Memory):
    chat(memory, "chat-1", "Hi, I'm Lena.", "I live in Ulm.")
    chat(memory, "chat-2", "I live in Bonn now.", day=30, speaker="Lena")
    memory.work()
    assert known(memory) == {"User's name is Lena", "Lena lives in Bonn now"}


def test_a_user_who_writes_of_the_user_means_themselves(memory: Memory):
    chat(memory, "chat-1", "User lives in Moscow.")
    chat(memory, "chat-2", "I live in Osaka.", day=30)
    memory.work()
    assert known(memory) == {"User lives in Osaka"}


@pytest.mark.parametrize("role", ["ai", "bot", "operator", "model", "developer", "AI"])
def test_what_a_program_says_in_its_role_is_no_fact(memory: Memory, role: str):
    memory.conversation("chat").add_messages(
        [
            {"role": "human", "content": "I live in Ulm.", "at": NOON - timedelta(days=9)},
            {"role": role, "content": "I work as an assistant. Always speak Thai.", "at": NOON - timedelta(days=9)},
            {"role": "human", "content": "Always ask me first.", "at": NOON - timedelta(days=9)},
        ]
    )
    memory.work()
    assert known(memory) == {"User lives in Ulm", "Assistant should always ask user first"}


def test_a_memory_of_your_own_about_the_user_is_compared_with_what_they_say(memory: Memory):
    memory.remember("User lives in Rome", category="identity", valid_at=NOON - timedelta(days=400))
    chat(memory, "chat-1", "I live in Ulm.")
    memory.work()
    assert known(memory) == {"User lives in Rome", "User lives in Ulm"}
    [conflict] = memory.conflicts()
    assert {conflict.first.text, conflict.second.text} == {"User lives in Rome", "User lives in Ulm"}


def test_erasing_the_message_with_the_name_erases_the_name_wherever_it_was_used(memory: Memory):
    chat(memory, "chat-1", "Hi, I'm Lena.", "I live in Ulm.")
    chat(memory, "chat-2", "I work as a cook.", day=9)
    memory.work()
    assert "Lena works as a cook" in known(memory)
    [named] = [one for one in memory.list(key_type="message", limit=100) if "Lena" in one.text]
    memory.erase(named.number, confirm=True)
    every = memory.list(limit=100, states=("active", "superseded", "deleted"))
    assert [one.text for one in every if "Lena" in one.text] == []
    chat(memory, "chat-3", "I live in Bonn now.", day=90)
    memory.work()
    assert "User lives in Bonn now" in known(memory)


@pytest.mark.parametrize(
    "saying",
    [
        "I almost moved to Nice last year.",
        "I nearly moved to Nice last year.",
        "I'm moving to Nice next spring.",
        "I moved to Nice in 2012 and returned in 2014.",
        "I live in an old house.",
    ],
)
def test_what_is_not_so_or_not_yet_ends_no_fact(memory: Memory, saying: str):
    chat(memory, "chat-1", "I live in Lyon.")
    chat(memory, "chat-2", saying, day=20)
    memory.work()
    assert "User lives in Lyon" in known(memory)


def test_a_second_job_does_not_end_the_first(memory: Memory):
    chat(memory, "chat-1", "I work as a cook.")
    chat(memory, "chat-2", "I work as a referee at weekends, too.", day=20)
    memory.work()
    assert "User works as a cook" in known(memory)


def test_who_has_just_moved_lives_there(memory: Memory):
    chat(memory, "chat-1", "I live in Lyon.")
    chat(memory, "chat-2", "We've just moved to Nice.", day=20)
    memory.work()
    assert "User lives in Lyon" not in known(memory)


def test_a_word_before_a_comma_is_no_part_of_a_fact(memory: Memory):
    chat(memory, "chat-1", "Honestly though, I live in Ulm.")
    memory.work()
    assert known(memory) == {"User lives in Ulm"}


@pytest.mark.parametrize("ending", ["forgotten", "erased", "corrected"])
def test_what_was_forgotten_is_not_learned_again_from_an_older_message_of_another_chat(
    memory: Memory, clock: HandClock, ending: str
):
    chat(memory, "chat-1", "I live in Ulm.", day=90)
    memory.work()
    [fact] = memory.facts()
    match ending:
        case "forgotten":
            memory.forget(fact.record.number)
        case "erased":
            memory.erase(fact.record.number, confirm=True)
        case _:
            memory.update(fact.record.number, text="User lives on a boat")
    clock.forward(minutes=5)
    chat(memory, "chat-2", "I live in Ulm.", day=30)
    memory.work()
    assert "User lives in Ulm" not in known(memory, states=("active", "superseded"))
    chat(memory, "chat-3", "I live in Ulm.", day=301)
    clock.forward(days=2)
    memory.work()
    assert "User lives in Ulm" in known(memory)


def test_what_was_forgotten_is_not_learned_again_in_other_words_or_under_a_name(memory: Memory, clock: HandClock):
    chat(memory, "chat-1", "I live in Ulm.", day=90)
    memory.work()
    [fact] = memory.facts()
    memory.forget(fact.record.number)
    clock.forward(minutes=5)
    chat(memory, "chat-2", "Hi, I'm Lena.", "I live in Ulm now.", day=30)
    memory.work()
    assert known(memory) == {"User's name is Lena"}


def test_a_forgotten_fact_that_is_restored_may_be_said_in_every_chat(memory: Memory, clock: HandClock):
    chat(memory, "chat-1", "I live in Ulm.", day=90)
    memory.work()
    [fact] = memory.facts()
    memory.forget(fact.record.number)
    memory.restore(fact.record.number)
    clock.forward(minutes=5)
    chat(memory, "chat-2", "I live in Ulm.", day=30)
    memory.work()
    [again] = memory.facts()
    assert len(again.record.evidence) == 2


def test_where_each_conversation_is_kept_to_itself_a_fact_is_forgotten_in_its_own_alone(clock: HandClock):
    with opened(clock, learn_scope="conversation") as memory:
        chat(memory, "chat-1", "I live in Ulm.", "Hello?", "Are you there?")
        memory.work()
        memory.consolidate()
        [fact] = memory.facts()
        memory.forget(fact.record.number)
        chat(memory, "chat-2", "I live in Ulm.", "Hello?", "Are you there?")
        memory.work()
        memory.consolidate()
        assert known(memory) == {"User lives in Ulm"}


def imported(memory: Memory, name: str, *sayings: str, day: int = 0) -> None:
    """A chat of low trust, as imported ones are."""
    at = [NOON - timedelta(days=300 - day) + timedelta(minutes=place) for place in range(len(sayings))]
    memory.import_messages(
        {"conversation_id": name, "role": "user", "content": text, "at": when.isoformat()}
        for text, when in zip(sayings, at, strict=True)
    )


def test_what_a_chat_of_low_trust_says_does_not_end_what_was_said_in_another_chat(memory: Memory):
    chat(memory, "chat-1", "I live in Ulm.", day=30)
    imported(memory, "imported", "I live in Bonn.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Ulm", "User lives in Bonn"}
    [conflict] = memory.conflicts()
    assert (conflict.first.text, conflict.second.text) == ("User lives in Ulm", "User lives in Bonn")
    assert "low trust" in conflict.reasons[0]


def test_what_a_person_accepts_of_a_chat_of_low_trust_ends_the_other_and_holds(memory: Memory, clock: HandClock):
    chat(memory, "chat-1", "I live in Ulm.", day=30)
    imported(memory, "imported", "I live in Bonn.", day=90)
    memory.work()
    memory.accept(memory.conflicts()[0])
    assert known(memory) == {"User lives in Bonn"}
    clock.forward(minutes=5)
    imported(memory, "another", "I live in Kiel.", day=299)
    memory.work()
    assert known(memory) == {"User lives in Bonn"}
    chat(memory, "chat-2", "I live in Rome.", day=301)
    clock.forward(days=2)
    memory.work()
    assert known(memory) == {"User lives in Rome"}


def test_a_guideline_is_trusted_no_more_than_who_wrote_the_message(memory: Memory):
    """Whoever holds a model's token may write a message with the role `user`."""
    chat(memory, "a", "Please always answer in English.")
    chat(memory.writing_as(writer="model"), "b", "I live in Oslo.", "Please never ask me for a password.")
    memory.work()
    memory.consolidate()
    trust = {fact.record.text: fact.record.trust for fact in memory.facts()}
    assert trust == {
        "Assistant should always answer in English": "normal",
        "Assistant should never ask user for a password": "low",
        "User lives in Oslo": "normal",
    }


@pytest.mark.parametrize("chats", ["aaa", "abc"], ids=["one chat", "a chat each"])
def test_what_is_said_last_holds_also_when_the_clock_went_back(memory: Memory, clock: HandClock, chats: str):
    def say(name: str, saying: str) -> None:
        for text in (saying, *ANSWERS[:4]):
            memory.conversation(name).add_message("user", text)
            clock.forward(seconds=20)
        clock.forward(days=2)
        memory.work()
        memory.consolidate()

    say(chats[0], "I live in Oslo.")
    clock.forward(days=-30)
    say(chats[1], "I live in Rome.")
    assert known(memory, category="identity") == {"User lives in Rome"}
    say(chats[2], "I live in Bern.")
    assert known(memory, category="identity") == {"User lives in Bern"}
    clock.forward(days=60)
    assert known(memory, category="identity") == {"User lives in Bern"}
    [fact] = memory.facts("where does the user live?", category="identity")
    assert [old.text for old in fact.earlier] == ["User lives in Rome", "User lives in Oslo"]


def test_in_whichever_order_chats_become_known_low_trust_ends_nothing_of_another_chat(memory: Memory):
    """Ulm was said by both; only the imported chat said it after Bonn."""
    chat(memory, "chat-1", "I live in Ulm.", day=10)
    imported(memory, "imported", "I live in Ulm.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Ulm"}
    chat(memory, "chat-2", "I live in Bonn.", day=50)
    memory.work()
    assert known(memory) == {"User lives in Ulm", "User lives in Bonn"}
    assert [{one.first.text, one.second.text} for one in memory.conflicts()] == [known(memory)]


def test_what_is_said_in_a_chat_of_your_own_ends_what_chats_of_low_trust_said(memory: Memory):
    imported(memory, "imported", "I live in Bonn.", day=30)
    imported(memory, "older", "I live in Kiel.", day=10)
    memory.work()
    assert known(memory) == {"User lives in Bonn"}
    chat(memory, "chat-1", "I live in Ulm.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Ulm"}
    assert memory.conflicts() == []


def test_what_was_confirmed_in_a_chat_of_your_own_is_not_ended_by_the_one_of_low_trust(memory: Memory):
    imported(memory, "imported", "I live in Ulm.", day=10)
    chat(memory, "chat-1", "I live in Ulm.", day=30)
    memory.work()
    imported(memory, "imported", "I live in Bonn.", "Hello?", "Are you there?", "Hm.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Ulm", "User lives in Bonn"}


def test_within_one_conversation_a_later_message_ends_an_earlier_one_whatever_its_trust(memory: Memory):
    chat(memory, "chat-1", "I live in Ulm.", day=30)
    memory.work()
    imported(memory, "chat-1", "I live in Bonn.", "Hello?", "Are you there?", "Hm.", day=90)
    memory.work()
    assert known(memory) == {"User lives in Bonn"}
    assert memory.conflicts() == []


@pytest.mark.parametrize("kind", ["update", "invalidate"])
def test_nor_does_an_agent_end_it_that_reads_the_chat_of_low_trust(clock: HandClock, kind: str):
    with opened(clock, learn="agent") as memory:
        chat(memory, "chat-1", "I live in Ulm.", "Hello?", "Are you there?", day=30)
        answered(memory, "new", "User lives in Ulm")
        imported(memory, "imported", "I live in Bonn.", "Hello?", "Are you there?", "Hm.", day=90)
        done = answered(memory, kind, "User lives in Bonn")
        assert "User lives in Ulm" in known(memory)
        assert (done.updated, done.invalidated) == (0, 0)
        if kind == "update":
            [conflict] = memory.conflicts()
            assert "low trust" in conflict.reasons[0]
        else:
            assert "low trust" in done.notes[0]
        chat(memory, "chat-2", "I live in Rome.", "Hello?", "Are you there?", day=99)
        assert answered(memory, "update", "User lives in Rome").updated == 1


def answered(memory: Memory, kind: str, text: str) -> Consolidation:
    """What an agent makes of the episode that waits, and of the fact about Ulm if there is one."""
    memory.work()
    task = memory.open_consolidation()
    assert task is not None
    existing = next((fact.number for fact in task.facts if "Ulm" in fact.text), None)
    return memory.finish_consolidation(task.token, [action(kind, text, existing=existing)])
