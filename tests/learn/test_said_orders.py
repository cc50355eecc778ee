"""What a user orders to forget, or corrects, in a conversation: what is plain is done, and all of it comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from serve.running import RunningServer

from perdure import Memory

if TYPE_CHECKING:
    from clocks import HandClock

PARTY = "The surprise party for Runa is on the 9th"
ORDER = "forget what I said about the surprise party, she found out anyway"


def said(memory: Memory, clock: HandClock, *messages: str, role: str = "user") -> tuple[str, ...]:
    """What `work` notes when the conversation is over."""
    clock.forward(hours=1)
    for message in messages:
        memory.conversation("chat").add_message(role, message)
    clock.forward(days=2)
    return memory.work().notes


def alive(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list(limit=100) if record.conversation_id is None)


@pytest.mark.parametrize(
    ("order", "goes", "stays"),
    [
        (ORDER, PARTY, "Runa hates marzipan"),
        ("Please forget what I told you about Anton.", "Anton is our guest until May", "Antonia waters the plants"),
        ("My back is fine again, you can stop reminding me of the exercises.",
         "Remind me of the back exercises every evening", "Remind me to water the orchids"),
        ("You don't have to call me Captain any longer.", "Call me Captain", "Captain Nemo is our goldfish"),
        ("The parking permit has run out, you can delete it.", "The parking permit number is P-887",
         "My fishing permit is green"),
        ("健身卡到期了，不用再提醒我去了。", "每周二提醒我去健身房", "每周四提醒我交水费"),  # noqa: RUF001 - as it is written
        ("もう天気は教えてくれなくていいです。", "毎朝、天気を教えてください", "毎晩、予定を教えてください"),
        ("Das mit dem Pflegedienst kannst du streichen.", "Der Pflegedienst kommt morgens", "Der Gärtner kommt abends"),
    ],
)  # fmt: skip
def test_a_plain_order_forgets_what_it_is_about_and_says_how_to_take_it_back(
    memory: Memory, clock: HandClock, order: str, goes: str, stays: str
):
    memory.remember(goes)
    memory.remember(stays)
    notes = said(memory, clock, order)
    assert alive(memory) == [stays]
    [note] = [note for note in notes if note.startswith("Forgot #1, as message")]
    memory.undo(note.rpartition(" ")[2])
    assert alive(memory) == sorted((goes, stays))


@pytest.mark.parametrize(
    "mention",
    [
        "I always forget my keys.", "Will you forget my keys?", "Don't forget where my keys are!",
        "Did you forget my keys?",
        "Oh, I completely forgot about my keys.", "forget it, I'll look for my keys myself",
        "I can relax, forget my keys, and get lost in a book.", "My sister said: never forget my keys.",
        "If you forget my keys I am locked out.", "The kids can go without my keys", "别忘了我的钥匙 my keys",
        "Everything but my keys can go.", "Forget everything except my keys.",
    ],
)  # fmt: skip
def test_who_only_mentions_forgetting_orders_nothing(memory: Memory, clock: HandClock, mention: str):
    memory.remember("My keys are on the hook")
    memory.remember("The kids can swim")
    said(memory, clock, mention)
    assert alive(memory) == ["My keys are on the hook", "The kids can swim"]


def test_an_order_that_fits_several_memories_changes_nothing(memory: Memory, clock: HandClock):
    memory.remember("Chicken feeding plan: grain at six")
    memory.remember("Rabbit feeding plan: hay at nine")
    said(memory, clock, "Nobody needs the feeding plan any more.")
    assert len(alive(memory)) == 2


def test_what_else_was_said_tells_which_of_several_is_meant(memory: Memory, clock: HandClock):
    memory.remember("Chicken feeding plan: grain at six")
    memory.remember("Rabbit feeding plan: hay at nine")
    said(memory, clock, "We gave the rabbit away, nobody needs the feeding plan any more.")
    assert alive(memory) == ["Chicken feeding plan: grain at six"]


def test_a_correction_makes_a_new_version_that_names_the_message(memory: Memory, clock: HandClock):
    memory.remember("The meeting with Ilse is on Tuesday at nine")
    memory.remember("The meeting with Else is on Tuesday at nine")
    notes = said(memory, clock, "Oops, the meeting with Ilse is on Wednesday, not on Tuesday, sorry.")
    assert alive(memory) == [
        "The meeting with Else is on Tuesday at nine", "The meeting with Ilse is on Wednesday at nine",
    ]  # fmt: skip
    message = memory.conversation("chat").messages()[0]
    assert f"Corrected #1, as message #{message.number} says." in "".join(notes)
    assert memory.history(1)[-1].change.provenance["said_in"] == message.id
    first = memory.history(1)[0].record
    assert first is not None
    assert first.text == "The meeting with Ilse is on Tuesday at nine"


def test_to_erase_something_in_a_conversation_only_forgets_it(memory: Memory, clock: HandClock):
    memory.remember(PARTY)
    said(memory, clock, "Please erase everything about the surprise party for ever.")
    assert [record.text for record in memory.list(states="deleted")] == [PARTY]
    assert memory.restore(1).record.text == PARTY


def test_what_was_stored_after_it_was_said_is_not_meant(memory: Memory, clock: HandClock):
    memory.conversation("chat").add_message("user", ORDER)
    clock.forward(hours=1)
    memory.remember(PARTY)
    clock.forward(days=2)
    memory.work()
    assert alive(memory) == [PARTY]


def test_what_only_a_person_may_change_stays(memory: Memory, clock: HandClock):
    memory.remember(PARTY, tier="constitutional")
    said(memory, clock, ORDER)
    assert alive(memory) == [PARTY]


def test_an_imported_conversation_deletes_nothing(memory: Memory, clock: HandClock):
    memory.remember(PARTY)
    clock.forward(hours=1)
    memory.import_messages([{"conversation_id": "old", "role": "user", "content": ORDER, "at": clock()}])
    clock.forward(days=2)
    memory.work()
    assert alive(memory) == [PARTY]


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_nobody_but_the_user_orders_anything(memory: Memory, clock: HandClock, role: str):
    memory.remember(PARTY)
    said(memory, clock, ORDER, role=role)
    assert alive(memory) == [PARTY]


def test_a_model_that_writes_as_the_user_orders_nothing(memory: Memory, clock: HandClock):
    memory.remember(PARTY)
    said(memory.writing_as(writer="model"), clock, ORDER)
    said(memory, clock)
    assert alive(memory) == [PARTY]


def test_in_a_conversation_of_several_people_nobody_orders_anything(memory: Memory, clock: HandClock):
    memory.remember(PARTY)
    clock.forward(hours=1)
    talk = memory.conversation("chat")
    talk.add_message("user", "The party is on the 9th, right?", speaker="Mel")
    talk.add_message("user", ORDER, speaker="Caroline")
    clock.forward(days=2)
    memory.work()
    assert alive(memory) == [PARTY]


def test_what_comes_through_a_server_deletes_nothing(tmp_path: Path):
    store = tmp_path / "memory.db"
    with RunningServer(store) as server, Memory(server.started["url"], token=server.owner) as remote:
        remote.remember(PARTY)
        remote.conversation("chat").add_message("user", ORDER)
        remote.work()
        remote.consolidate()
    with Memory(store, embedder="none") as memory:
        memory.consolidate()
        assert alive(memory) == [PARTY]


def test_a_preview_of_a_consolidation_carries_out_nothing(memory: Memory, clock: HandClock):
    memory.remember(PARTY)
    clock.forward(hours=1)
    memory.conversation("chat").add_message("user", ORDER)
    clock.forward(minutes=1)
    memory.work()
    memory.consolidate(dry_run=True)
    assert alive(memory) == [PARTY]
