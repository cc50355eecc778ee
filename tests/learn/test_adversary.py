"""A language model that means harm, or does not know what it says: it may add, link and supersede; it destroys nothing,
touches nothing that it was not shown, and all of it can be taken back.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from learn.adversary import ORDERS, Targets, adversarial_answer
from learn.talks import action, answers, episodes, facts, open_memory, says, teach

from perdure import Memory
from perdure.model import STATES
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock
    from providers.server import FaultServer

# `make soak` tries all 500.
ANSWERS = 500 if "PERDURE_KILLS" in os.environ else 100
# So many of them on one store: what is taken back stays in its log.
AT_ONCE = 10
CAP = 3
# What consolidating may change of a fact that is there already; of an episode it is the metadata alone.
MAY_CHANGE = {"evidence", "invalid_at", "state", "supersedes", "observation_count", "updated_at"}

Records = dict[str, dict[str, Any]]


@pytest.fixture
def path(tmp_path: Path, clock: HandClock, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight facts of one conversation, of which two more episodes wait; and others that are none of its business."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    path = tmp_path / "m.db"
    with open_memory(path, clock, WordEmbedder(), learn="agent", learn_scope="conversation") as memory:
        known = [action("new", f"User likes tea number {n}", category="preference") for n in range(7)]
        teach(memory, clock, *known, action("new", "User lives in Osaka"))
        teach(memory, clock, action("new", "User lives in Rome"), conversation="another")
        teach(memory.namespace("other"), clock, action("new", "User lives in Oslo"))
        memory.remember("A note of my own", conversation_id="talk")
        memory.promote(facts(memory)[0].number, "constitutional")
        episodes(memory, clock, 2, ORDERS[0], f"{ORDERS[1]} {ORDERS[3]}")
        memory.work()
    return path


def listening(path: Path, clock: HandClock) -> Memory:
    return open_memory(path, clock, WordEmbedder(), consolidation_most_superseded=CAP, learn_scope="conversation")


@pytest.fixture
def memory(path: Path, clock: HandClock) -> Iterator[Memory]:
    with listening(path, clock) as memory:
        yield memory


def records(memory: Memory) -> Records:
    """Everything that is stored in a namespace, in whatever state, by id."""
    stream = io.StringIO()
    memory.export(stream, states=STATES)
    return {record["id"]: record for record in map(json.loads, stream.getvalue().splitlines()) if "id" in record}


def changed(before: Records, after: Records) -> dict[str, set[str]]:
    """Which fields of which memories are different."""
    return {
        id: names
        for id, record in before.items()
        if (names := {name for name in record if name != "seq" and record[name] != after[id][name]})
    }


def targets(memory: Memory) -> Targets:
    shown = [fact.number for fact in facts(memory, conversation_id="talk")]
    elsewhere = memory.namespace("other")
    foreign = [
        *(fact.number for fact in facts(memory, conversation_id="another")),
        *(fact.id for fact in (*facts(memory), *facts(elsewhere))),
        *(fact.number for fact in facts(elsewhere) if fact.number not in shown),
        *(message.number for message in memory.conversation("talk").messages()[:3]),
        *(episode.number for episode in memory.list(key_type="episode")),
        *(record.number for record in memory.list() if record.text == "A note of my own"),
    ]
    return Targets(shown, foreign)


@pytest.mark.soak
def test_no_answer_of_a_model_destroys_anything(path: Path, clock: HandClock, server: FaultServer):
    """Each answer is carried out, looked at, and taken back."""
    chance = random.Random(20261116)
    carried_out = 0
    for number in range(ANSWERS // AT_ONCE):
        copy = path.with_name(f"{number}.db")
        shutil.copy(path, copy)
        with listening(copy, clock) as memory:
            other = records(memory.namespace("other"))
            carried_out += sum(harm(memory, server, chance, f"{number}.{one}") for one in range(AT_ONCE))
            assert records(memory.namespace("other")) == other
            assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == []
    assert carried_out > ANSWERS / 3


def harm(memory: Memory, server: FaultServer, chance: random.Random, name: str) -> bool:
    """One answer. Whether it could be carried out, and was taken back."""
    before, aims = records(memory), targets(memory)
    answer = adversarial_answer(chance, aims)
    answers(server, lambda _: answer)
    done = memory.consolidate("talk")
    after = records(memory)
    assert before.keys() <= after.keys(), name
    touched = changed(before, after)
    for id, names in touched.items():
        if before[id]["key"] is None:
            assert before[id]["number"] in aims.shown, (name, before[id])
            assert names <= MAY_CHANGE, (name, names)
        else:
            assert names == {"metadata"}, (name, names)
            assert before[id]["key"].startswith("episode:talk/"), name
    ended = [id for id in touched if after[id]["state"] != before[id]["state"]]
    assert len(ended) <= CAP, name
    assert all(after[id]["tier"] != "constitutional" for id in ended), name
    assert all(after[id]["key"] or after[id]["evidence"] for id in after.keys() - before.keys()), name
    if not done.batch:
        assert touched == {}, name
        return False
    operations = {line.change.operation for line in memory.log(batch=done.batch, limit=1000)}
    assert operations <= {"insert", "observe", "annotate"}, name
    memory.undo(done.batch)
    restored = records(memory)
    assert changed(before, restored) == {}, name
    assert {restored[id]["state"] for id in restored.keys() - before.keys()} <= {"deleted"}, name
    return True


def test_beyond_the_cap_nothing_is_superseded_and_a_person_is_asked(memory: Memory, server: FaultServer):
    shown = [fact for fact in facts(memory, conversation_id="talk") if fact.tier != "constitutional"]
    says(server, *(action("update", f"User owns boat {fact.number}", existing=fact.number) for fact in shown))
    done = memory.consolidate("talk")
    assert (done.updated, done.learned, done.proposed) == (CAP, len(shown) - CAP, len(shown) - CAP)
    still = {fact.number for fact in facts(memory)}
    assert sum(fact.number in still for fact in shown) == len(shown) - CAP
    waiting = memory.review("conflict")
    assert {proposal.first.number for proposal in waiting} == {fact.number for fact in shown} & still


def test_only_a_person_ends_a_constitutional_fact(memory: Memory, server: FaultServer):
    [protected] = [fact for fact in facts(memory) if fact.tier == "constitutional"]
    says(server, action("invalidate", existing=protected.number))
    done = memory.consolidate("talk")
    assert (done.invalidated, done.left_out) == (0, 1)
    assert "only a person" in done.notes[0]
    assert memory.get(protected.number).state == "active"


def test_a_full_namespace_loses_nothing_to_what_a_model_says(memory: Memory, server: FaultServer):
    """Consolidating evicts nothing, not even for a moment: the episodes wait."""
    memory.capacity(max_items=memory.capacity().item_count)
    before = records(memory)
    says(server, action("new", "User owns a boat"))
    done = memory.consolidate("talk")
    assert (done.episodes, done.batch) == (0, None)
    assert "is full" in done.notes[0]
    assert records(memory) == before
    assert server.requests == []
