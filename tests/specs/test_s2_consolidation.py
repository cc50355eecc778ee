"""S2 "Lifecycle", "Schema" and "Thresholds Reference": how episodes become facts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from learn.talks import action, episodes, facts, open_memory, says, talk, teach, texts

from perdure.embed.port import Generation, Vectors
from perdure.learn.render import facts_markdown
from perdure.model import FACT_CATEGORIES
from perdure.testing.embedder import WordEmbedder
from perdure.values import field_values

if TYPE_CHECKING:
    from pathlib import Path

    from clocks import HandClock
    from providers.server import FaultServer

    from perdure import Memory, Record

SCHEMA_FIELDS = ["action", "existing_fact_id", "category", "fact", "keywords"]


class Angles:
    """Puts the first text that it knows into the direction that a test gives it, in degrees; others across."""

    def __init__(self, **angles: float) -> None:
        self.angles = angles
        self.generation = Generation("testing", "angles", 3, "1")
        self.calls: list[list[str]] = []

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: object = None) -> Vectors:
        import numpy as np

        self.calls.append(list(texts))
        rows: list[tuple[float, float, float]] = []
        for text in texts:
            angle = next((angle for word, angle in self.angles.items() if word in text.split()), None)
            turned = math.radians(angle or 0)
            rows.append((0, 0, 1) if angle is None else (math.cos(turned), math.sin(turned), 0))
        return np.array(rows, np.float32)


def cosine(value: float) -> float:
    """The angle of this cosine, in degrees."""
    return math.degrees(math.acos(value))


@pytest.fixture(autouse=True)
def _server(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    says(server)


@pytest.fixture
def memory(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    """A memory whose episodes wait until somebody consolidates them, in the scope of S2."""
    with open_memory(tmp_path / "m.db", clock, WordEmbedder(), learn="agent", learn_scope="conversation") as opened:
        yield opened


@pytest.fixture
def watching(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    """The same memory, with a language model that `work` asks."""
    with open_memory(tmp_path / "m.db", clock, WordEmbedder(), learn_scope="conversation") as opened:
        yield opened


def asked(server: FaultServer) -> dict[str, Any]:
    """What the model was shown with the last question."""
    return json.loads(server.requests[-1].json["messages"][-1]["content"])


def waiting(memory: Memory) -> list[Record]:
    found = memory.list(key_type="episode", limit=100, newest=False)
    return [record for record in found if "consolidated_at" not in record.metadata]


@pytest.mark.parametrize(("surprise", "consolidated"), [(0.85, 1), (math.nextafter(0.85, 0), 0)])
def test_one_surprising_episode_is_consolidated_at_once(
    memory: Memory, watching: Memory, clock: HandClock, surprise: float, consolidated: int
):
    """S2 trigger flashbulb: from 0.85 on, itself included."""
    episodes(memory, clock, 1)
    memory.work()
    memory.update(waiting(memory)[0].number, metadata={"surprise": surprise})
    assert watching.work().episodes_consolidated == consolidated


@pytest.mark.parametrize(("count", "consolidated"), [(2, 0), (3, 3)])
def test_three_episodes_are_enough(memory: Memory, watching: Memory, clock: HandClock, count: int, consolidated: int):
    """S2 trigger threshold: two wait, three do not; another conversation does not count."""
    episodes(memory, clock, count)
    episodes(memory, clock, 1, conversation="another")
    memory.work()
    assert watching.work().episodes_consolidated == consolidated


def test_nobody_waits_for_a_model_when_something_is_said(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 trigger offline: messages are stored, episodes are made, and only `work` asks the model."""
    episodes(watching, clock, 3)
    memory.work()
    assert server.requests == []
    watching.work()
    assert len(server.requests) == 1


def test_facts_that_fit_the_episodes_are_shown(memory: Memory, watching: Memory, clock: HandClock, server: FaultServer):
    """S2 related: the nearest first."""
    teach(memory, clock, action("new", "User sails every spring"), action("new", "User grows green tomatoes"))
    episodes(memory, clock, 1, "My tomatoes are not green any more, the tomatoes are red")
    memory.work()
    watching.consolidate()
    assert [line.rpartition("] ")[2] for line in asked(server)["existing_knowledge"]] == [
        "User grows green tomatoes", "User sails every spring",
    ]  # fmt: skip


def test_twenty_facts_are_shown_at_most(memory: Memory, watching: Memory, clock: HandClock, server: FaultServer):
    """S2 related limit: of twenty-one."""
    teach(memory, clock, *(action("new", f"User owns the {word} boat") for word in "abcdefghijklmnopqrstu"))
    assert len(facts(memory)) == 21
    episodes(memory, clock, 1)
    memory.work()
    watching.consolidate()
    assert len(asked(server)["existing_knowledge"]) == 20


def test_only_active_facts_of_the_conversation_are_shown(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 related scope: neither those of another conversation, nor what is true no longer, nor what has no category."""
    teach(memory, clock, action("new", "User lives in Oslo"), conversation="another")
    teach(memory, clock, action("new", "User lives in Rome"), action("new", "User speaks Latin"))
    memory.remember("User lives in Paris", conversation_id="talk")
    memory.remember("User lives in London", category="identity")
    rome = next(fact for fact in facts(memory) if "Rome" in fact.text)
    teach(memory, clock, action("invalidate", existing=rome.number))
    episodes(memory, clock, 1)
    memory.work()
    watching.consolidate("talk")
    [shown] = asked(server)["existing_knowledge"]
    assert shown.endswith("User speaks Latin")


def test_a_fact_that_fits_several_episodes_is_shown_once(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 related once: as it is of both."""
    teach(memory, clock, action("new", "User grows tomatoes"))
    episodes(memory, clock, 2, "Tomatoes are red", "Tomatoes are round")
    memory.work()
    watching.consolidate()
    assert len(asked(server)["existing_knowledge"]) == 1


def test_all_episodes_of_a_run_are_one_question(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 one call: three episodes, one request, one JSON object of the schema."""
    episodes(memory, clock, 3)
    memory.work()
    watching.work()
    assert len(server.requests) == 1
    assert len(asked(server)["episodes"]) == 3


def test_the_instructions_name_the_categories_and_the_actions(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 system prompt: each of the eight with what it captures, each of the four with what it does."""
    episodes(memory, clock, 3)
    memory.work()
    watching.work()
    said = server.requests[0].json["messages"][0]
    assert said["role"] == "system"
    for name in (*FACT_CATEGORIES, "new", "reinforce", "update", "invalidate"):
        assert re.search(rf"^- {name}: \w", said["content"], re.MULTILINE)


def test_the_model_sees_known_facts_summaries_and_messages(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 user prompt: facts by number and category, episodes with their summaries and what was said."""
    teach(memory, clock, action("new", "User lives in Osaka", category="identity"))
    episodes(memory, clock, 1, "I moved to Tokyo")
    memory.work()
    watching.consolidate()
    known = facts(memory)[0]
    shown = asked(server)
    assert shown["existing_knowledge"] == [f"[ID: {known.number}] [identity] User lives in Osaka"]
    [episode] = shown["episodes"]
    assert "I moved to Tokyo" in episode["summary"]
    assert [said["text"] for said in episode["messages"]][-1] == "I moved to Tokyo"


def test_an_answer_has_the_five_fields_of_a_fact(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 output: action, existing_fact_id, category, fact and keywords are what is asked for, and what is stored."""
    says(server, action("new", "User met Alex", category="experience", keywords=["Alex"]))
    episodes(memory, clock, 3)
    memory.work()
    watching.work()
    item = server.requests[0].json["format"]["properties"]["facts"]["items"]
    assert list(item["properties"]) == SCHEMA_FIELDS
    assert item["properties"]["category"]["enum"] == list(FACT_CATEGORIES)
    [fact] = facts(watching)
    assert (fact.text, fact.category, fact.keywords) == ("User met Alex", "experience", ("Alex",))


def test_all_facts_are_embedded_together_before_they_are_written(tmp_path: Path, clock: HandClock):
    """S2 embedded before: in one call, while nothing is written yet."""
    embedder = Angles()
    with open_memory(tmp_path / "m.db", clock, embedder, learn="agent") as memory:
        written: list[int] = []
        make = embedder.embed_passages

        def embed(texts: Sequence[str], progress: object = None) -> Vectors:
            written.append(len(facts(memory)))
            return make(texts, progress)

        episodes(memory, clock, 1)
        memory.work()
        task = memory.open_consolidation()
        assert task is not None
        embedder.calls.clear()
        embedder.embed_passages = embed
        memory.finish_consolidation(task.token, [action("new", "User sails"), action("new", "User sings")])
        assert [len(call) for call in embedder.calls] == [2]
        assert written == [0]
        assert len(facts(memory)) == 2


def test_category_fact_and_keywords_are_embedded(tmp_path: Path, clock: HandClock):
    """S2 embed input: `{category}: {fact} {keywords}`, and neither date nor speaker."""
    embedder = Angles()
    with open_memory(tmp_path / "m.db", clock, embedder, learn="agent") as memory:
        teach(memory, clock, action("new", "User met Alex", category="experience", keywords=["Alex", "Rust"]))
        assert ["experience: User met Alex Alex Rust"] in embedder.calls
        assert memory.work().embedded == 0


def test_facts_and_marks_are_one_change(memory: Memory, clock: HandClock):
    """S2 one transaction: one batch has all of it, and one undo takes all of it back."""
    done = teach(memory, clock, action("new", "User sails"), action("new", "User sings"))
    assert done.batch is not None
    assert [line.change.operation for line in memory.log(batch=done.batch)] == ["annotate", "insert", "insert"]
    memory.undo(done.batch)
    assert facts(memory) == []
    assert len(waiting(memory)) == 1


@pytest.mark.parametrize(("alike", "count"), [(0.95, 1), (0.949999, 2)])
def test_a_new_fact_is_compared_with_those_that_are_known(tmp_path: Path, clock: HandClock, alike: float, count: int):
    """S2 new: from 0.95 on it is a duplicate, which reinforces; otherwise it is inserted."""
    embedder = Angles(The=0.0, User=cosine(alike))
    with open_memory(tmp_path / "m.db", clock, embedder, learn="agent") as memory:
        teach(memory, clock, action("new", "The user prefers dark mode", category="preference"))
        done = teach(memory, clock, action("new", "User prefers dark mode", category="preference"))
        assert (done.learned, done.reinforced) == (count - 1, 2 - count)
        assert len(facts(memory)) == count
        assert [len(fact.evidence) for fact in facts(memory)] == ([2] if count == 1 else [1, 1])


def test_reinforcing_adds_evidence_and_nothing_else(memory: Memory, clock: HandClock):
    """S2 reinforce: the new episode is appended; the words stay, whatever the model says."""
    teach(memory, clock, action("new", "User lives in Osaka", keywords=["Osaka"]))
    [before] = facts(memory)
    teach(memory, clock, action("reinforce", "User has always lived in Kyoto", existing=before.number))
    [after] = facts(memory)
    assert (after.text, after.keywords, after.version) == (before.text, before.keywords, before.version)
    assert after.evidence[:1] == before.evidence
    assert len(after.evidence) == 2
    assert (after.valid_at, after.invalid_at) == (before.valid_at, None)


def test_updating_ends_the_old_fact_and_inserts_a_new_one(memory: Memory, clock: HandClock):
    """S2 update: both are there, linked; the old one ends when the new one begins."""
    teach(memory, clock, action("new", "User lives in Osaka"))
    [old] = facts(memory)
    teach(memory, clock, action("update", "User lives in Tokyo", existing=old.number))
    [new] = facts(memory)
    [ended] = facts(memory, states="superseded")
    assert (new.text, new.number != old.number, new.invalid_at) == ("User lives in Tokyo", True, None)
    assert new.supersedes == (old.id,)
    assert (ended.number, ended.text, ended.version, ended.invalid_at) == (old.number, old.text, 1, new.valid_at)


def test_invalidating_sets_the_time_at_which_a_fact_ended(memory: Memory, clock: HandClock):
    """S2 invalidate: it stays, word for word, and can be read."""
    teach(memory, clock, action("new", "User lives in Osaka"))
    [old] = facts(memory)
    teach(memory, clock, action("invalidate", existing=old.number))
    assert facts(memory) == []
    ended = memory.get(old.number)
    assert ended.invalid_at is not None
    assert old.valid_at is not None
    assert old.valid_at < ended.invalid_at <= clock.now
    assert (ended.text, ended.evidence, ended.category) == (old.text, old.evidence, old.category)


@pytest.mark.parametrize("kind", ["reinforce", "update", "invalidate"])
@pytest.mark.parametrize(
    "id", [None, 0, -1, 2**40, "550e8400-e29b-41d4-a716-446655440000", "all", "foreign", "message"]
)
def test_an_id_that_was_not_shown_means_a_new_fact(memory: Memory, clock: HandClock, kind: str, id: object):
    """S2 guard: whatever it is, also when a memory of another conversation, or a message, has it. But what should end
    is not asserted by it: nothing happens.
    """
    teach(memory, clock, action("new", "User lives in Rome"), conversation="another")
    teach(memory, clock, action("new", "User lives in Osaka"))
    names = {"foreign": facts(memory, conversation_id="another")[0].number, "message": 1}
    before = {record.number: record for record in facts(memory)}
    done = teach(memory, clock, action(kind, "User grows tomatoes", existing=names.get(str(id), id)))
    learned = [] if kind == "invalidate" else ["User grows tomatoes"]
    assert (done.learned, done.reinforced, done.updated, done.invalidated) == (len(learned), 0, 0, 0)
    after = {record.number: record for record in facts(memory)}
    assert {number: after[number] for number in before} == before
    assert [record.text for number, record in after.items() if number not in before] == learned


@pytest.mark.parametrize(("nearer", "count"), [(4, 5), (5, 7)])
def test_five_facts_are_compared_with_a_new_one(tmp_path: Path, clock: HandClock, nearer: int, count: int):
    """S2 duplicate candidates: the duplicate is found as the fifth nearest, and not as the sixth."""
    boats = [f"User owns boat {name}" for name in ("Ada", "Bea", "Cleo", "Dora", "Eve")][:nearer]
    angles = {name: float(place) for place, name in enumerate(("Ada", "Bea", "Cleo", "Dora", "Eve"), 1)}
    embedder = Angles(**angles, The=10.0, User=0.0)
    with open_memory(tmp_path / "m.db", clock, embedder, learn="agent") as memory:
        known = ["The user prefers dark mode", *boats]
        teach(memory, clock, *(action("new", text) for text in known))
        assert len(facts(memory)) == nearer + 1
        teach(memory, clock, action("new", "User prefers dark mode"))
        assert len(facts(memory)) == count


def test_an_episode_is_marked_and_consolidated_once(
    memory: Memory, watching: Memory, clock: HandClock, server: FaultServer
):
    """S2 marked: with the time, in the batch that wrote the facts; then nobody asks about it again."""
    says(server, action("new", "User sails"))
    episodes(memory, clock, 3)
    memory.work()
    watching.work()
    assert waiting(watching) == []
    [fact] = facts(watching)
    marked = [watching.get(id) for id in fact.evidence]
    now = clock.now.isoformat().replace("+00:00", "Z")
    assert all(record.metadata["consolidated_at"] == now for record in marked)
    batches = {watching.history(record.number)[-1].change.batch for record in (fact, *marked)}
    assert len(batches) == 1
    watching.work()
    assert watching.consolidate().episodes == 0
    assert len(server.requests) == 1


def test_a_fact_has_an_id_of_its_own(memory: Memory, clock: HandClock):
    """S2 id: a UUID of version 7."""
    teach(memory, clock, action("new", "User sails"))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", facts(memory)[0].id)


def test_a_fact_belongs_to_its_conversation(memory: Memory, clock: HandClock):
    """S2 isolation: the same words in two conversations are two facts, and each has its own evidence."""
    for name in ("talk", "another"):
        teach(memory, clock, action("new", "User sails"), conversation=name)
    one, other = facts(memory)
    assert [one.conversation_id, other.conversation_id] == ["talk", "another"]
    assert set(one.evidence).isdisjoint(other.evidence)


@pytest.mark.parametrize("category", [*FACT_CATEGORIES, "mood", "", None])
def test_a_fact_has_one_of_eight_categories(memory: Memory, clock: HandClock, category: Any):
    """S2 eight categories: any other is no answer."""
    from perdure.errors import InvalidInput

    told = action("new", "User sails", category=category)
    if category in FACT_CATEGORIES:
        teach(memory, clock, told)
        assert facts(memory)[0].category == category
    else:
        with pytest.raises(InvalidInput, match="category"):
            teach(memory, clock, told)
        assert facts(memory) == []


def test_a_fact_names_the_episodes_that_say_so(memory: Memory, watching: Memory, clock: HandClock, server: FaultServer):
    """S2 provenance: all of the run, by id."""
    says(server, action("new", "User sails"))
    episodes(memory, clock, 3)
    memory.work()
    watching.work()
    told = [record.id for record in watching.list(key_type="episode", newest=False)]
    assert list(facts(watching)[0].evidence) == told


def test_only_evidence_and_the_end_of_a_fact_ever_change(memory: Memory, clock: HandClock):
    """S2 immutable: category, fact, keywords, valid_at and conversation stay, whatever is told later."""
    teach(memory, clock, action("new", "User lives in Osaka", keywords=["Osaka"]))
    [first] = facts(memory)
    teach(memory, clock, action("reinforce", "x", existing=first.number, category="goal", keywords=["y"]))
    teach(memory, clock, action("update", "User lives in Rome", existing=first.number, category="goal"))
    names = ("id", "text", "category", "keywords", "valid_at", "conversation_id", "created_at", "version")
    history = [line.record for line in memory.history(first.number) if line.record]
    assert len(history) == 3
    assert {tuple(getattr(record, name) for name in names) for record in history} == {
        tuple(getattr(first, name) for name in names)
    }


def test_a_fact_has_the_time_at_which_it_was_learned(memory: Memory, clock: HandClock):
    """S2 created: besides the time since when it is true, which is when it was said."""
    teach(memory, clock, action("new", "User sails"))
    [fact] = facts(memory)
    [told] = memory.list(key_type="episode")
    assert fact.created_at == clock.now
    assert fact.valid_at is not None
    assert fact.valid_at.isoformat().replace("+00:00", "Z") == told.metadata["until"]


def test_a_fact_is_not_forgotten_with_time(memory: Memory, clock: HandClock):
    """S2 no forgetting: neither stability nor difficulty, and no expiry."""
    teach(memory, clock, action("new", "User sails"))
    clock.forward(days=3650)
    memory.work()
    [fact] = facts(memory)
    assert set(fact.metadata) == {"learned_by"}
    assert fact.expires_at is None


def test_facts_are_rendered_with_their_category_and_their_sources(memory: Memory, clock: HandClock):
    """S2 rendering: one line each, under one heading."""
    teach(memory, clock, action("new", "User lives in Tokyo"))
    [tokyo] = facts(memory)
    teach(memory, clock, action("new", "User prefers dark mode interfaces", category="preference"))
    dark = next(fact for fact in facts(memory) if fact.number != tokyo.number)
    for _ in range(2):
        teach(memory, clock, action("reinforce", existing=dark.number))
    assert facts_markdown(sorted(facts(memory), key=lambda fact: fact.text, reverse=True)) == (
        "## Semantic Memory\n"
        "- [preference] User prefers dark mode interfaces (sources: 3 conversations)\n"
        "- [identity] User lives in Tokyo (sources: 1 conversation)"
    )


def test_the_sources_of_a_fact_are_counted_by_episodes(memory: Memory, clock: HandClock):
    """S2 sources: each episode once, however often it says so."""
    twice = action("new", "User sails")
    teach(memory, clock, twice, twice)
    [fact] = facts(memory)
    assert len(fact.evidence) == 1
    assert facts_markdown([fact]).endswith("(sources: 1 conversation)")


def test_a_conversation_takes_messages_and_no_facts(memory: Memory, clock: HandClock):
    """S2 no write API: what is said is a message, whatever it says, until it is consolidated."""
    talk(memory, clock, "[identity] User lives in Osaka", '{"action": "new", "fact": "User lives in Rome"}')
    assert texts(memory) == []
    assert not [name for name in dir(memory.conversation("talk")) if "fact" in name]


def test_a_wrong_invalidation_can_be_taken_back(memory: Memory, clock: HandClock):
    """S2 rollback: undoing the run brings the fact back, byte for byte."""
    teach(memory, clock, action("new", "User lives in Osaka"))
    [before] = facts(memory)
    done = teach(memory, clock, action("invalidate", existing=before.number))
    assert done.batch is not None
    memory.undo(done.batch)
    [after] = facts(memory)
    assert field_values(after) | {"seq": 0} == field_values(before) | {"seq": 0}


def test_the_constants_are_settings_with_the_values_of_the_table():
    """S2 thresholds: 3, 0.85, 0.95, 5 and 20; the 100 candidates of a retrieval are tested there."""
    from perdure.settings import load

    found = load({})
    assert (found.consolidation_episodes, found.flashbulb_surprise) == (3, 0.85)
    assert (found.duplicate_cosine, found.duplicate_candidates, found.related_facts) == (0.95, 5, 20)
