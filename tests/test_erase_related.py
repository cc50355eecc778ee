"""Erasing follows links: what was made of an erased memory and holds its words goes as well, or is made anew."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import io
import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import NOON, HandClock
from learn.placed import PlacedEmbedder, near
from store.children import Child

from perdure import Memory, Record, errors
from perdure.ids import EPISODE, PROPOSAL, new_id
from perdure.model import STATES
from perdure.store.capabilities import scrub
from perdure.testing.buggify import buggified
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import amend

CANARY = "Kanarienvogel"
TALK = (
    ("Alice", "Last weekend we went to Osaka and visited the castle by the river."),
    ("Bob", "I would like to see the castle as well, maybe in the spring."),
    ("Alice", f"The door code of the flat is {CANARY}, please keep it safe."),
    ("Bob", "Thanks, I will water the plants on Tuesday and on Friday."),
    ("Alice", "Great, the plants in the kitchen need the most water."),
)


@pytest.fixture(autouse=True)
def nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests say themselves what was learned."""
    monkeypatch.setenv("PERDURE_LEARN", "off")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with opened(path) as one:
        yield one


def opened(path: Path) -> Memory:
    return Memory(path, embedder=WordEmbedder(), clock=HandClock())


def talk(memory: Memory, conversation: str = "flat", lines: Sequence[tuple[str, str]] = TALK) -> list[Record]:
    """One episode: a stretch of talk, a long silence, and one word more that stays open."""
    begin = NOON - timedelta(days=2)
    messages = [
        {"role": "user", "speaker": speaker, "content": text, "at": begin + minute * timedelta(minutes=1)}
        for minute, (speaker, text) in enumerate(lines)
    ]
    later: list[dict[str, Any]] = [
        {"role": "user", "speaker": "Bob", "content": "Hello again, how are you?", "at": NOON}
    ]
    memory.conversation(conversation).add_messages([*messages, *later])
    memory.work()
    return memory.conversation(conversation).messages()


def episodes(memory: Memory) -> list[Record]:
    return sorted(memory.list(key_type=EPISODE).records, key=lambda one: one.number)


def learn(memory: Memory, text: str, *evidence: Record, **fields: Any) -> Record:
    """A fact as consolidation writes it."""
    at: dict[str, Any] = {"conversation_id": "flat", "category": "experience", "source": "consolidation"}
    record = memory.remember(text, **at).record
    return amend(memory._services.store, record, evidence=tuple(one.id for one in evidence), **fields)


def left_in_files(path: Path, word: str) -> list[str]:
    words = [word.encode(), word.lower().encode()]
    return [file.name for file in path.parent.iterdir() if any(each in file.read_bytes() for each in words)]


def texts(memory: Memory, **filters: Any) -> list[str]:
    return [record.text for record in memory.list(**filters)]


def is_sound(memory: Memory) -> bool:
    return not [finding for finding in memory.doctor() if finding.level == "problem"]


def plant(memory: Memory) -> Record:
    """The message with the secret, and everything that was made of it; the message itself is the answer."""
    messages = talk(memory)
    [episode] = episodes(memory)
    code = learn(memory, f"The door code is {CANARY}", episode, keywords=("code", CANARY))
    castle = learn(memory, "Alice visited the castle of Osaka", episode)
    learn(memory, "Alice went to Osaka", castle, merged_from=(castle.id,))
    memory.remember(f"Which is true: {CANARY}?", key=f"{PROPOSAL}:conflict/00000007", evidence=[code.id, castle.id])
    memory._services.store.park(
        "default", purpose="consolidation", memory=episode.number, model="m", error="No list.",
        output=f"The code is {CANARY}", attempts=3, at=NOON,
    )  # fmt: skip
    return messages[2]


def test_an_erased_message_leaves_its_words_in_no_file_of_the_store(memory: Memory, path: Path):
    message = plant(memory)
    assert left_in_files(path, CANARY)
    done = memory.erase(message.number, confirm=True)
    assert (done.done, done.scrub_pending) == (True, False)
    assert left_in_files(path, CANARY) == []
    file = io.StringIO()
    memory.export(file, states=STATES)
    assert CANARY not in file.getvalue()
    assert memory.parked() == []
    assert is_sound(memory)


def test_the_episode_is_made_anew_of_the_messages_that_are_left(memory: Memory):
    message = plant(memory)
    [before] = episodes(memory)
    memory.erase(message.number, confirm=True)
    [after] = episodes(memory)
    assert (after.key, after.conversation_id, after.created_at) == (before.key, "flat", before.created_at)
    assert CANARY not in f"{after.text}{after.title}"
    assert after.evidence == tuple(id for id in before.evidence if id != message.id)
    for name in ("surprise", "boundary", "stability", "difficulty", "reviewed_at"):
        assert after.metadata[name] == before.metadata[name]
    assert "castle" in after.text


def test_facts_that_others_say_too_stay_and_name_the_new_episode(memory: Memory):
    message = plant(memory)
    memory.erase(message.number, confirm=True)
    [episode] = episodes(memory)
    facts = {fact.text: fact for fact in memory.list(category="experience")}
    assert facts.keys() == {"Alice visited the castle of Osaka", "Alice went to Osaka"}
    assert facts["Alice visited the castle of Osaka"].evidence == (episode.id,)


def test_an_earlier_version_of_a_fact_that_stays_is_dropped_when_it_held_the_words(memory: Memory, path: Path):
    messages = talk(memory)
    [episode] = episodes(memory)
    fact = learn(memory, f"The castle and {CANARY} are in Osaka", episode)
    memory.update(fact.number, text="The castle is in Osaka")
    memory.erase(messages[2].number, confirm=True)
    assert memory.get(fact.number).text == "The castle is in Osaka"
    assert left_in_files(path, CANARY) == []
    assert is_sound(memory)


def test_of_twenty_messages_that_are_erased_one_by_one_no_word_is_left(memory: Memory, path: Path):
    source = random.Random(11)
    said: dict[str, list[str]] = {}
    for name in "abcd":
        said[name] = [f"Zeisig{name}{place:04}" for place in range(5)]
        talk(memory, name, [("Alice", f"{word} sits on the roof of house {word[-2:]}.") for word in said[name]])
    made = {episode.conversation_id or "": episode for episode in episodes(memory)}
    for number in range(30):
        names = source.sample("abcd", source.randint(1, 3))
        words = [source.choice(said[name]) for name in names]
        learn(memory, f"Fact {number}: {' and '.join(words)} on the roof", *(made[name] for name in names))
    everything = [word for words in said.values() for word in words]
    source.shuffle(everything)
    for word in everything:
        [message] = [one for name in said for one in memory.conversation(name).messages() if word in one.text]
        memory.erase(message.number, confirm=True)
        assert left_in_files(path, word) == []
    assert texts(memory, category="experience") == episodes(memory) == []
    assert is_sound(memory)


def test_an_episode_and_its_facts_go_when_no_message_is_left(memory: Memory, path: Path):
    plant(memory)
    [episode] = episodes(memory)
    numbers = [memory.get(id).number for id in episode.evidence]
    done = memory.erase(numbers, confirm=True)
    assert {*done.related} >= {episode.number}
    assert episodes(memory) == []
    assert texts(memory, category="experience") == []
    assert left_in_files(path, CANARY) == []
    assert is_sound(memory)


def test_a_fact_with_evidence_in_another_conversation_stays(memory: Memory):
    first = talk(memory)
    talk(memory, "other", [("Alice", text.replace(CANARY, "Zeisig")) for _, text in TALK])
    one, other = episodes(memory)
    fact = learn(memory, "There is a castle in Osaka", one, other)
    memory.erase([record.number for record in first], confirm=True)
    [left] = episodes(memory)
    assert memory.get(fact.number).evidence == (left.id,) == (other.id,)


def test_the_preview_lists_all_that_would_go_and_says_what_stays(memory: Memory):
    message = plant(memory)
    everything = {record.number for record in memory.list(states=STATES, limit=100)}
    with pytest.raises(errors.NeedsConfirmation) as asked:
        memory.erase(message.number)
    preview = asked.value.preview
    assert preview.records[0].number == message.number
    assert {record.number for record in preview.records} == {message.number, *preview.related}
    assert preview == memory.erase(message.number, dry_run=True)
    assert any("made anew" in note.lower() for note in preview.notes)
    memory.erase(message.number, confirm=preview.token)
    gone = everything - {record.number for record in memory.list(states=STATES, limit=100)}
    assert gone | {one.number for one in preview.records} == {one.number for one in preview.records}


def test_a_token_does_not_confirm_what_was_learned_since(memory: Memory):
    message = plant(memory)
    token = memory.erase(message.number, dry_run=True).token
    learn(memory, f"{CANARY} opens the flat", *episodes(memory))
    with pytest.raises(errors.Conflict):
        memory.erase(message.number, confirm=token)


def test_nothing_brings_anything_of_it_back(memory: Memory, tmp_path: Path):
    message = plant(memory)
    memory.checkpoint("before")
    file = io.StringIO()
    memory.export(file, states=STATES)
    memory.backup(tmp_path / "copy")
    batches = {line.change.batch for line in memory.log(limit=500)}
    done = memory.erase(message.number, confirm=True)
    for batch in (*batches, done.batch):
        with suppress(errors.PerdureError):
            memory.undo(batch, force=True)
    memory.restore_checkpoint("before")
    file.seek(0)
    memory.import_(file, trusted=True)
    assert not [text for text in texts(memory, states=STATES, limit=100) if CANARY in text]
    assert not [record for record in memory.list(key_type=EPISODE, states=STATES) if CANARY in record.text]
    memory.restore_backup(tmp_path / "copy", keep=False)
    assert not [text for text in texts(memory, states=STATES, limit=100) if CANARY in text]
    assert not [record for record in memory.list(key_type=EPISODE, states=STATES) if CANARY in record.text]


def test_with_none_only_the_memory_itself_goes_and_the_answer_names_the_others(memory: Memory, path: Path):
    message = plant(memory)
    [episode] = episodes(memory)
    done = memory.erase(message.number, related="none", confirm=True)
    assert (done.related, [record.number for record in done.records]) == ((), [message.number])
    assert any(f"#{episode.number}" in note for note in done.notes)
    assert episodes(memory) == [episode]


def test_what_a_fact_was_made_of_stays_and_is_named(memory: Memory):
    message = plant(memory)
    fact = next(one for one in memory.list(category="experience") if CANARY in one.text)
    done = memory.erase(fact.number, confirm=True)
    assert any(f"stays: #{message.number}." in note and "--related all" in note for note in done.notes)
    assert memory.get(message.number) == message


def test_with_all_a_fact_takes_along_the_messages_that_hold_its_words(memory: Memory, path: Path):
    message = plant(memory)
    fact = next(one for one in memory.list(category="experience") if CANARY in one.text)
    done = memory.erase(fact.number, related="all", confirm=True)
    assert message.number in done.related
    assert left_in_files(path, CANARY) == []
    [episode] = episodes(memory)
    assert "castle" in episode.text
    assert len(memory.conversation("flat").messages()) == len(TALK)


def test_with_all_an_episode_takes_along_its_messages(memory: Memory, path: Path):
    plant(memory)
    [episode] = episodes(memory)
    memory.erase(episode.number, related="all", confirm=True)
    assert [message.text for message in memory.conversation("flat").messages()] == ["Hello again, how are you?"]
    assert left_in_files(path, CANARY) == []


def test_a_merged_memory_goes_and_its_other_sources_come_back_to_life(memory: Memory, path: Path):
    store = memory._services.store
    first, second = memory.remember(f"Alice likes {CANARY}").record, memory.remember("Alice likes green tea").record
    merged = memory.remember(f"Alice likes {CANARY} and green tea").record
    merged = amend(store, merged, merged_from=(first.id, second.id))
    more = amend(store, memory.remember(f"Alice likes {CANARY}, green tea, milk").record, merged_from=(merged.id,))
    for record in (first, second, merged):
        amend(store, memory.get(record.number), state="merged")
    done = memory.erase(first.number, confirm=True)
    assert done.related == (merged.number, more.number)
    assert texts(memory) == ["Alice likes green tea"]
    assert left_in_files(path, CANARY) == []


def test_what_an_erased_fact_had_superseded_holds_again(memory: Memory):
    messages = talk(memory)
    [episode] = episodes(memory)
    old = learn(memory, "The castle is by the river", episode, state="superseded", invalid_at=NOON)
    learn(memory, f"The door code is {CANARY}", episode, supersedes=(old.id,))
    memory.erase(messages[2].number, confirm=True)
    again = memory.get(old.number)
    assert (again.state, again.invalid_at) == ("active", None)


def test_of_several_that_say_the_same_the_last_one_holds_again_with_the_new_episode_as_evidence(memory: Memory):
    messages = talk(memory)
    [episode] = episodes(memory)
    old = learn(memory, "The castle is by the river", episode, state="superseded", invalid_at=NOON)
    newer = learn(memory, f"The door code is {CANARY}", episode, supersedes=(old.id,), state="superseded")
    again = learn(memory, "The castle is by the river", episode, supersedes=(newer.id,), valid_at=NOON)
    amend(memory._services.store, again, state="superseded")
    learn(memory, f"The code is {CANARY}", episode, supersedes=(again.id,))
    memory.erase(messages[2].number, confirm=True)
    [new] = episodes(memory)
    [fact] = memory.list(category="experience").records
    assert (fact.number, fact.evidence) == (again.number, (new.id,))
    assert memory.get(old.number).evidence == (new.id,)


def test_what_somebody_else_superseded_too_stays_superseded(memory: Memory):
    messages = talk(memory)
    [episode] = episodes(memory)
    old = learn(memory, "The castle is by the river", episode, state="superseded", invalid_at=NOON)
    learn(memory, f"The door code is {CANARY}", episode, supersedes=(old.id,))
    learn(memory, "The castle has water", episode, supersedes=(old.id,))
    memory.erase(messages[2].number, confirm=True)
    assert memory.get(old.number).state == "superseded"


def test_what_an_agent_learned_from_the_message_goes_and_what_it_was_shown_is_too_old(memory: Memory, path: Path):
    messages = talk(memory)
    later = memory.open_consolidation()
    assert later
    said: dict[str, Any] = {"action": "new", "existing_fact_id": None, "category": "experience", "keywords": []}
    done = memory.finish_consolidation(
        later.token,
        [
            {**said, "fact": f"Alice's door opens with {CANARY}"},
            {**said, "fact": "Alice saw a castle"},
            {**said, "fact": "Somebody entrusted confidential credentials"},
        ],
    )
    assert done.learned == 3
    talk(memory, "other")
    task = memory.open_consolidation("other")
    assert task
    memory.erase([messages[2].number, memory.conversation("other").messages()[2].number], confirm=True)
    assert texts(memory, category="experience") == ["Alice saw a castle"]
    with pytest.raises(errors.Conflict):
        memory.finish_consolidation(task.token, [{**said, "fact": f"The code is {CANARY}"}])
    assert left_in_files(path, CANARY) == []
    assert memory.open_consolidation("flat") is None
    assert memory.open_consolidation("other")


def test_what_rules_learned_from_the_message_goes_and_what_it_replaced_holds_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_LEARN", "rules")
    with opened(path) as memory:
        said = ("Good to see you again.", "My sister Anna works as a nurse.", "I live in Osaka.", "The tea is good.")
        talk(memory, lines=[("Alice", text) for text in (*said, f"I moved to {CANARY}.")])
        memory.consolidate()
        assert "Alice lives in Osaka" not in texts(memory)
        [moved] = [message for message in memory.conversation("flat").messages() if CANARY in message.text]
        memory.erase(moved.number, confirm=True)
        assert "Alice lives in Osaka" in texts(memory)
        assert "Anna is Alice's sister" in texts(memory)
        assert left_in_files(path, CANARY) == []
        memory.consolidate()
        assert left_in_files(path, CANARY) == []
        assert is_sound(memory)


def test_a_person_s_own_memory_that_only_names_other_evidence_is_not_touched(memory: Memory):
    messages = talk(memory)
    own = memory.remember(f"My note about {CANARY}", evidence=[new_id(), "https://example.org"]).record
    memory.erase(messages[2].number, confirm=True)
    assert memory.get(own.number) == own


def test_forgetting_a_message_says_what_was_made_of_it(memory: Memory):
    message = plant(memory)
    [episode] = episodes(memory)
    done = memory.forget(message.number)
    [note] = [note for note in done.notes if "Made of it" in note]
    assert f"#{episode.number}," in note
    assert episodes(memory) == [episode]


def test_correcting_a_message_says_what_was_made_of_it(memory: Memory):
    message = plant(memory)
    [episode] = episodes(memory)
    done = memory.update(message.number, text="Something else")
    [note] = [note for note in done.notes if "Made of it" in note]
    assert f"#{episode.number}," in note
    assert memory.update(message.number, tags=["seen"]).notes == ()
    plain = memory.remember("A note", evidence=[message.id]).record
    assert memory.update(plain.number, text="Another note").notes == ()


def test_there_is_no_other_choice(memory: Memory):
    memory.remember("tea")
    with pytest.raises(errors.UnknownChoice):
        memory.erase(1, related="some")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "point", ["erase: one erased", "erase: another changed", "erase: before commit", "after commit", "erase: scrubbed"]
)
@pytest.mark.parametrize("nth", [1, 2])
def test_an_erasure_that_is_killed_has_happened_whole_or_not_at_all(path: Path, point: str, nth: int):
    with opened(path) as memory:
        message = plant(memory)
        before = memory.list(states=STATES, limit=100), episodes(memory)

    def erase() -> None:
        with opened(path) as memory, buggified(point, "kill", nth):
            memory.erase(message.number, confirm=True)

    status = Child(erase).result()[1]
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) == signal.SIGKILL
    with opened(path) as memory:
        after = memory.list(states=STATES, limit=100), episodes(memory)
        assert is_sound(memory)
        if point in {"erase: one erased", "erase: another changed", "erase: before commit"} and os.WIFSIGNALED(status):
            assert after == before
            memory.erase(message.number, confirm=True)
        assert scrub(memory._services.store, patience=5).done
        assert left_in_files(path, CANARY) == []


def test_somebody_who_learns_while_it_is_erased_makes_it_look_again(path: Path):
    with opened(path) as memory, opened(path) as other:
        message = plant(memory)
        [episode] = episodes(memory)
        drawn = memory._services.context.clock

        calls: list[datetime] = []

        def clock() -> datetime:
            # The second look at the clock is for the batch: the memories were selected by then.
            calls.append(drawn())
            if len(calls) == 2:
                learn(other, f"{CANARY} is the code", episode)
            return calls[-1]

        object.__setattr__(memory._services.context, "clock", clock)
        memory.erase(message.number, confirm=True)
        assert left_in_files(path, CANARY) == []


def test_what_was_saved_and_merged_comes_apart_again(path: Path):
    first, second = f"Bob is a fan of {CANARY}", "Bob likes green tea a lot"
    places = {first: near(0.95), second: near(1), f"{first}. {second}": near(0.99)}
    with Memory(path, embedder=PlacedEmbedder(places)) as memory:
        source = memory.save_memory(first).record
        memory.save_memory(second)
        assert texts(memory) == [f"{first}. {second}"]
        memory.erase(source.number, confirm=True)
        assert texts(memory) == [second]
        assert left_in_files(path, CANARY) == []
        assert is_sound(memory)
