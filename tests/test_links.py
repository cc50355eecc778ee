"""What a memory was concluded from, replaced or was merged from: fields of the record, which go wherever it goes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory, Record
from perdure.errors import PerdureError
from perdure.ids import new_id
from perdure.model import State
from perdure.testing.records import amend, read_once

if TYPE_CHECKING:
    from clocks import HandClock


def say(memory: Memory, text: str, **links: tuple[str, ...]) -> Record:
    """A memory with links, as Perdure itself writes them."""
    record = memory.remember(text, conversation_id="c").record
    return amend(memory._services.store, record, **links) if links else record  # pyright: ignore[reportArgumentType]


def links(memory: Memory, record: Record) -> list[tuple[int, str, str]]:
    found = read_once(memory._services.store).links(record.id)
    return [(link.number, link.kind, link.target) for link in found]


def moved(memory: Memory, clock: HandClock, *, trusted: bool, **options: Any) -> Memory:
    """Another memory, into which everything was imported."""
    file = io.StringIO()
    memory.export(file, **options)
    file.seek(0)
    other = Memory(":memory:", embedder="none", clock=clock)
    other.import_(file, trusted=trusted)
    return other


@pytest.mark.parametrize("field", ["supersedes", "merged_from"])
def test_no_caller_says_what_a_memory_replaced_or_was_merged_from(memory: Memory, field: str):
    memory.remember("tea", key="drink:tea")
    given: dict[str, Any] = {field: [new_id()]}
    for attempt in (
        lambda: memory.remember("milk", **given),
        lambda: memory.upsert("drink:tea", "green tea", **given),
        lambda: memory.update(1, **given),
    ):
        with pytest.raises((PerdureError, TypeError)):
            attempt()
    assert [record.text for record in memory.list()] == ["tea"]


def test_undo_takes_back_links_and_brings_them_back(memory: Memory):
    first, second = say(memory, "Alice lives in Osaka"), say(memory, "Alice lives in Tokyo")
    amend(memory._services.store, second, supersedes=(first.id,))
    assert links(memory, first) == [(2, "supersedes", first.id)]
    batch = memory.log(limit=1)[0].change.batch
    undone = memory.undo(batch)
    assert memory.get(2).supersedes == ()
    assert links(memory, first) == []
    memory.undo(undone.batch)
    assert memory.get(2).supersedes == (first.id,)
    assert links(memory, first) == [(2, "supersedes", first.id)]


def test_what_is_asked_of_the_past_has_the_links_of_then(memory: Memory, clock: HandClock):
    first, second = say(memory, "Alice lives in Osaka"), say(memory, "Alice lives in Tokyo")
    before = clock()
    clock.forward(hours=1)
    amend(memory._services.store, second, supersedes=(first.id,))
    assert memory.list(known_at=before).records[1].supersedes == ()


def test_said_again_a_memory_keeps_more_evidence_than_a_caller_can_give(memory: Memory):
    many = tuple(new_id() for _ in range(100))
    say(memory, "tea", evidence=many)
    assert memory.remember("tea", conversation_id="c", evidence=["e1"]).record.evidence == many


def test_a_trusted_import_keeps_links_between_the_memories_of_the_file(memory: Memory, clock: HandClock):
    early = say(memory, "an early episode")
    many = tuple(new_id() for _ in range(100))
    fact = say(memory, "Alice drinks tea", supersedes=(early.id,), evidence=many)
    late = say(memory, "a late episode", merged_from=(early.id, fact.id))
    amend(memory._services.store, memory.get(fact.number), evidence=(*many, late.id, "https://example.org"))
    with moved(memory, clock, trusted=True) as other:
        here = [other.get(number) for number in (1, 2, 3)]
        assert not {record.id for record in here} & {early.id, fact.id, late.id}
        assert here[1].supersedes == (here[0].id,)
        assert here[2].merged_from == (here[0].id, here[1].id)
        assert here[1].evidence == (*many, here[2].id, "https://example.org")
        assert (2, "evidence", here[2].id) in links(other, here[2])


def test_a_file_names_the_memories_that_are_here_already(memory: Memory):
    episode = say(memory, "an episode")
    lines = [
        {"text": "Alice drinks tea", "id": new_id(), "evidence": ["a0000000-0000-0000-0000-00000000000a"]},
        {"text": "an episode", "conversation_id": "c", "id": "a0000000-0000-0000-0000-00000000000a"},
    ]
    memory.import_(lines)
    assert memory.get(2).evidence == (episode.id,)


def test_of_a_record_that_is_not_imported_the_name_stays(memory: Memory, clock: HandClock):
    gone = say(memory, "an old fact")
    say(memory, "a new fact", supersedes=(gone.id,))
    memory.forget(gone.number)
    with moved(memory, clock, trusted=True, states=("active", "deleted")) as other:
        assert other.get(1).supersedes == (gone.id,)


@pytest.mark.parametrize("state", ["superseded", "merged"])
def test_a_trusted_import_keeps_what_others_took_the_place_of(memory: Memory, clock: HandClock, state: State):
    before, after = say(memory, "Alice lives in Osaka"), say(memory, "Alice lives in Tokyo")
    amend(memory._services.store, before, state=state, invalid_at=clock())
    amend(memory._services.store, after, supersedes=(before.id,))
    file = io.StringIO()
    memory.export(file, states=("active", state))
    with Memory(":memory:", embedder="none", clock=clock) as other:
        for known in (0, 2):
            file.seek(0)
            done = other.import_(file, trusted=True)
            assert (done.inserted, done.present) == (2 - known, known)
        [current] = other.list()
        assert current.supersedes == (before.id,)
        kept = other.get(before.id)
        assert (kept.text, kept.state, kept.invalid_at) == (before.text, state, clock())
        file.seek(0)
        assert other.import_(file).inserted == 0
        other.undo(other.log(limit=1)[0].change.batch)
        assert len(other.list(states=("active", state))) == 0


def test_a_stranger_s_file_claims_neither_to_replace_nor_to_be_merged(memory: Memory, clock: HandClock):
    first = say(memory, "an episode")
    many = tuple(new_id() for _ in range(100))
    say(memory, "a fact", supersedes=(first.id,), merged_from=(first.id,), evidence=(first.id, *many))
    with moved(memory, clock, trusted=False) as other:
        episode, fact = other.get(1), other.get(2)
        assert fact.supersedes == fact.merged_from == ()
        assert fact.evidence == (episode.id, *many[:63])


@pytest.mark.parametrize("names", ["tea", ["tea"], [1], {"a": 1}])
def test_a_link_of_a_trusted_import_is_an_id(memory: Memory, names: object):
    with pytest.raises(PerdureError, match="supersedes is not a list of ids"):
        memory.import_([{"text": "tea", "supersedes": names}], trusted=True)


def test_two_records_of_a_file_with_one_id_are_two_memories(memory: Memory):
    name = new_id()
    lines = [{"text": "tea", "id": name}, {"text": "milk", "id": name}, {"text": "both", "evidence": [name]}]
    assert memory.import_(lines, trusted=True).inserted == 3
    assert memory.get(3).evidence[0] in {record.id for record in memory.list()}


def test_a_change_of_links_is_shown_and_repaired(memory: Memory):
    first, second = say(memory, "Alice lives in Osaka"), say(memory, "Alice lives in Tokyo")
    amend(memory._services.store, second, text="Alice lives in Kyoto", supersedes=(first.id,))
    changes = {change.field: change.new for change in memory.diff(2, 1, 2).field_changes}
    assert changes["supersedes"] == (first.id,)
    assert json.loads(json.dumps(memory.history(2)[-1].record.supersedes)) == [first.id]  # pyright: ignore[reportOptionalMemberAccess]


def test_a_write_without_links_runs_no_statement_about_them(memory: Memory):
    seen: list[str] = []
    store: Any = memory._services.store
    with store._pool.writing() as connection:
        raw: Any = connection

    def note(cursor: object, sql: str, bindings: object) -> bool:
        seen.append(sql)
        return True

    raw.exec_trace = note
    memory.remember("tea", tags=["hot"])
    memory.update(1, text="green tea")
    assert seen
    assert not [sql for sql in seen if " link" in sql or "review" in sql]
    memory.remember("milk", evidence=[new_id()])
    assert sum(" link" in sql for sql in seen) == 1
