"""What is the same memory: a key wherever it is said, else a text within its conversation, folder, file and anchor."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import pytest
from clocks import NOON, HandClock
from store.behind import behind

from perdure import Memory, SemanticMemoryStore, errors
from perdure.ids import content_hash
from perdure.model import SCOPE_FIELDS, STATES, Record
from perdure.settings import load
from perdure.values import field_names

TOKYO = "User lives in Tokyo"


def everything(memory: Memory) -> list[Record]:
    return list(memory.list(states=STATES, newest=False))


def texts(memory: Memory, **filters: Any) -> list[str]:
    return [record.text for record in memory.list(newest=False, **filters)]


# -- scope -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", SCOPE_FIELDS)
def test_the_same_text_in_another_scope_is_another_memory(memory: Memory, field: str):
    scopes: list[dict[str, Any]] = [{}, {field: "one"}, {field: "two"}]
    for number, scope in enumerate(scopes, 1):
        done = memory.remember(TOKYO, **scope)
        assert (done.outcome, done.record.number, done.notes) == ("inserted", number, ())
    for number, scope in enumerate(scopes, 1):
        again = memory.remember("user  lives in TOKYO", **scope)
        assert (again.outcome, again.record.number, again.record.observation_count) == ("observed", number, 2)
    assert [getattr(record, field) for record in everything(memory)] == [None, "one", "two"]


def test_a_conversation_keeps_what_another_one_says_as_well(memory: Memory):
    memory.remember(TOKYO, conversation_id="c1")
    memory.remember(TOKYO, conversation_id="c2")
    for conversation in ("c1", "c2"):
        assert [hit.record.text for hit in memory.recall("Tokyo", conversation_id=conversation)] == [TOKYO]
    memory.forget("everything about Tokyo", conversation_id="c2", confirm=True)
    assert (texts(memory, conversation_id="c1"), texts(memory, conversation_id="c2")) == ([TOKYO], [])


def test_a_folder_keeps_what_another_one_says_as_well(memory: Memory):
    memory.remember("Use tabs", spec_folder="001")
    memory.remember("Use tabs", spec_folder="002")
    assert [texts(memory, spec_folder=folder) for folder in ("001", "002")] == [["Use tabs"], ["Use tabs"]]


def test_an_import_brings_a_text_into_each_of_its_scopes(memory: Memory):
    records = [{"text": "Thanks!", "conversation_id": name} for name in ("c1", "c2", "c1")]
    done = memory.import_(records)
    assert (done.inserted, done.present) == (2, 1)
    assert len(memory.recall("thanks", conversation_id="c2")) == 1
    assert memory.import_(records).present == 3


def test_a_hash_that_names_several_memories_lists_them_with_their_scopes(memory: Memory):
    hash_ = memory.remember(TOKYO, conversation_id="c1").record.content_hash
    memory.remember(TOKYO, conversation_id="c2")
    with pytest.raises(errors.AmbiguousReference, match=r"2 memories: #1 'User lives in Tokyo' c1; #2 .* c2"):
        memory.get(hash_)


def test_what_is_forgotten_in_one_conversation_may_come_into_another(memory: Memory):
    for name in ("c1", "c2"):
        memory.remember(TOKYO, conversation_id=name)
    memory.forget(2)
    older = [{"text": TOKYO, "conversation_id": name} for name in ("c1", "c2", "c3")]
    done = memory.import_(older)
    assert (done.present, done.skipped_deleted, done.inserted) == (1, 1, 1)
    assert [record.conversation_id for record in memory.list(newest=False)] == ["c1", "c3"]
    assert "it is remembered again" in memory.remember(TOKYO, conversation_id="c2").notes[0]


def test_what_is_erased_in_one_file_does_not_come_back_into_it(memory: Memory):
    for name in ("a.md", "b.md"):
        memory.remember(TOKYO, file_path=name)
    memory.erase(1, confirm=True)
    done = memory.import_([{"text": TOKYO, "file_path": name} for name in ("a.md", "b.md")])
    assert (done.present, done.skipped_deleted, done.inserted) == (1, 1, 0)


def test_an_idempotency_key_is_of_one_scope(memory: Memory):
    memory.remember(TOKYO, conversation_id="c1", idempotency_key="k")
    assert memory.remember(TOKYO, conversation_id="c1", idempotency_key="k").outcome == "repeated"
    with pytest.raises(errors.Conflict, match="elsewhere"):
        memory.remember(TOKYO, conversation_id="c2", idempotency_key="k")


def test_a_tombstone_of_an_older_store_keeps_a_text_out_of_every_scope(clock: HandClock, tmp_path: Path):
    path = tmp_path / "memory.db"
    with Memory(path, embedder="none", clock=clock) as memory:
        memory.remember("something else")
    with behind(path) as raw:
        secret = raw.execute("SELECT value FROM meta WHERE name = 'secret'").get
        digest = hmac.digest(secret, b"default\x00" + content_hash(TOKYO).encode(), "sha256")
        at = int(NOON.timestamp() * 1_000_000)
        raw.execute("INSERT INTO tombstone VALUES (1, ?, ?, 'forgotten')", (digest, at))
    with Memory(path, embedder="none", clock=clock) as memory:
        scopes: list[dict[str, str]] = [{}, {"conversation_id": "c1"}, {"key": "home:user"}]
        for scope in scopes:
            assert memory.import_([{"text": TOKYO, **scope}]).skipped_deleted == 1
        assert "it is remembered again" in memory.remember(TOKYO, conversation_id="c1").notes[0]
        assert memory.import_([{"text": TOKYO}]).inserted == 1


# -- origin ----------------------------------------------------------------------------------------------------------


def test_a_project_that_says_it_again_does_not_take_it_away(memory: Memory):
    memory.remember(TOKYO, source_project="a", session_id="s1", channel="chat", metadata={"speaker": "Ann", "x": 1})
    told = {"source_project": "b", "session_id": "s2", "channel": "mail"}
    again = memory.remember(TOKYO, **told, metadata={"speaker": "Bob", "y": 2})  # pyright: ignore[reportArgumentType]
    record = again.record
    assert (record.source_project, record.session_id, record.channel) == ("a", "s1", "chat")
    assert record.metadata == {"speaker": "Ann", "x": 1, "y": 2}
    assert again.outcome == "observed"
    (note,) = again.notes
    assert note.startswith("It keeps its own source_project (a), session_id (s1), channel (chat), speaker (Ann);")
    assert note.endswith("what you gave is in its history: perdure history 1")
    assert len(memory.recall("Tokyo", source_project="a")) == 1
    assert not memory.recall("Tokyo", source_project="b")
    provenance = [line.change.provenance for line in memory.history(1)]
    assert provenance == [{}, {**told, "speaker": "Bob"}]
    assert memory.log(limit=1)[0].change.provenance == provenance[1]


def test_an_origin_that_was_not_known_stays_unknown(memory: Memory):
    memory.remember(TOKYO)
    again = memory.remember(TOKYO, source_project="b", source="web", metadata={"speaker": "Bob"})
    assert (again.record.source_project, again.record.source, again.record.metadata) == (None, "manual", {})
    assert "source (manual), source_project (none), speaker (none)" in again.notes[0]


def test_the_same_origin_again_is_no_news_and_is_kept_with_the_line(memory: Memory):
    memory.remember(TOKYO, source_project="a")
    assert memory.remember(TOKYO, source_project="a").notes == ()
    assert memory.history(1)[-1].change.provenance == {"source_project": "a"}


def test_a_memory_with_a_key_keeps_its_origin_wherever_it_is_said(memory: Memory):
    memory.upsert("home:user", TOKYO, conversation_id="c1", metadata={"speaker": "Ann", "x": 1})
    done = memory.upsert("home:user", "User lives in Osaka", conversation_id="c2", metadata={"speaker": "Bob"})
    assert (done.record.number, done.record.version, done.record.conversation_id) == (1, 2, "c1")
    assert done.record.metadata == {"speaker": "Ann"}
    assert "conversation_id (c1), speaker (Ann)" in done.notes[0]
    again = memory.remember("User lives in Osaka", key="home:user", conversation_id="c3")
    assert (again.outcome, again.record.conversation_id) == ("observed", "c1")
    assert [line.change.provenance for line in memory.history(1)] == [
        {},
        {"conversation_id": "c2", "speaker": "Bob"},
        {"conversation_id": "c3"},
    ]


def test_where_it_was_said_again_is_erased_with_it(clock: HandClock, tmp_path: Path):
    path = tmp_path / "memory.db"
    with Memory(path, embedder="none", clock=clock) as memory:
        memory.remember(TOKYO)
        memory.remember(TOKYO, source_project="Kanarienvogel")
        memory.erase(1, confirm=True)
        assert [line.change.provenance for line in memory.history(1)] == [{}, {}, {}]
    assert all(b"Kanarienvogel" not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("field", [*SCOPE_FIELDS, "source_project", "session_id", "channel", "speaker"])
def test_a_correction_does_not_change_where_a_memory_comes_from(memory: Memory, field: str):
    def origin(value: str) -> dict[str, Any]:
        return {"metadata": {field: value}} if field == "speaker" else {field: value}

    memory.remember(TOKYO, **origin("a"))
    memory.remember("something else")
    for number in (1, 2):
        with pytest.raises(errors.InvalidInput, match=f"The {field} of memory #{number} says where it comes from"):
            memory.update(number, **origin("b"))
    assert memory.update(1, **origin("a")).outcome == "unchanged"
    assert memory.update(1, metadata={}).record.metadata == (origin("a")["metadata"] if field == "speaker" else {})
    assert len(memory.log()) == 2


# -- said again, and different ---------------------------------------------------------------------------------------


def test_saying_a_fact_again_does_not_move_the_time_from_which_it_is_true(memory: Memory, clock: HandClock):
    memory.remember("Alice lives in Osaka", valid_at="2019-01-01")
    clock.forward(days=1)
    again = memory.remember("Alice lives in Osaka", valid_at="2021-01-01")
    assert again.record.valid_at == memory.version(1, 1).record.valid_at  # pyright: ignore[reportOptionalMemberAccess]
    assert "valid_at (2019-01-01T00:00:00Z)" in again.notes[0]
    assert len(memory.recall("Alice", as_of="2020-06-01")) == 1
    assert memory.history(1)[-1].change.provenance == {"valid_at": "2021-01-01T00:00:00Z"}


def test_a_time_that_was_not_known_is_learned_unless_the_memory_is_older(memory: Memory):
    memory.remember("Alice lives in Osaka")
    later = memory.remember("Alice lives in Osaka", valid_at="2030-01-01")
    assert (later.record.valid_at, "valid_at (none)" in later.notes[0]) == (None, True)
    assert len(memory.recall("Alice")) == 1
    assert memory.remember("Alice lives in Osaka", valid_at="2019-01-01").notes == ()
    assert not memory.recall("Alice", as_of="2018-06-01")


def test_an_end_before_the_known_beginning_is_not_taken(memory: Memory):
    memory.remember("Alice lives in Osaka", valid_at="2019-01-01")
    done = memory.remember("Alice lives in Osaka", valid_at="2015-01-01", invalid_at="2016-01-01")
    assert (done.record.invalid_at, "valid_at" in done.notes[0], "invalid_at" in done.notes[0]) == (None, True, True)
    assert memory.remember("Alice lives in Osaka", invalid_at="2024-01-01").record.invalid_at is not None


@pytest.mark.parametrize("field", ["title", "abstract", "summary", "reasoning"])
def test_other_words_about_it_make_a_version(memory: Memory, field: str):
    memory.remember("fact one", **{field: "T1"})  # pyright: ignore[reportArgumentType]
    assert memory.remember("fact one", **{field: "T1"}).outcome == "observed"  # pyright: ignore[reportArgumentType]
    done = memory.remember("Fact  one", **{field: "T2"}, source_project="b")  # pyright: ignore[reportArgumentType]
    assert (done.outcome, done.record.version, done.record.observation_count) == ("updated", 2, 3)
    assert (done.record.text, getattr(done.record, field), done.record.source_project) == ("fact one", "T2", None)
    assert [getattr(each.record, field) for each in memory.versions(1)] == ["T1", "T2"]
    memory.undo(done.batch)
    assert getattr(memory.get(1), field) == "T1"


@pytest.mark.parametrize("way", ["remember", "update"])
def test_a_time_of_expiry_in_the_past_is_noted(memory: Memory, way: str):
    if way == "update":
        memory.remember("tea")
        done = memory.update(1, expires_at="2020-01-01")
    else:
        done = memory.remember("tea", expires_at="2020-01-01")
    assert done.notes == ("Its expires_at, 2020-01-01, is in the past, so recall does not show it.",)
    assert not memory.recall("tea")


# -- keys ------------------------------------------------------------------------------------------------------------


def test_the_tombstone_of_one_key_s_value_does_not_concern_another_key(memory: Memory):
    memory.upsert("city:bob", "Rome")
    memory.upsert("city:bob", "Paris")
    done = memory.import_([{"key": "city:alice", "text": "Rome"}, {"key": "city:bob", "text": "Rome"}])
    assert (done.inserted, done.skipped_deleted) == (1, 1)
    assert memory.get("city:alice").text == "Rome"


def test_an_upsert_on_an_evicted_key_is_a_new_memory_at_version_1(clock: HandClock):
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        first = store.upsert("a:1", "one")
        store.upsert("a:1", "two")
        clock.forward(hours=1)
        store.upsert("b:1", "three")
        clock.forward(hours=1)
        before = everything(store.memory)
        again = store.upsert("a:1", "four")
        assert (again.version, again.lineage, again.item_id == first.item_id) == (1, (), False)
        old = store.memory.history(first.item_id)[-1]
        assert (old.change.operation, old.record and old.record.key) == ("annotate", None)
        with pytest.raises(errors.NotFound):
            store.get_version("a:1", 2)
        undone = store.memory.undo(again.batch)
        assert [comparable(record) for record in everything(store.memory)[:-1]] == [*map(comparable, before)]
        store.memory.undo(undone.batch)
        assert store.memory.get("a:1").text == "four"
        back = store.restore(first.item_id)
        assert (back.key, back.content, back.version) == (None, "two", 2)


def comparable(record: Record) -> tuple[object, ...]:
    """Byte for byte, but for the position in the log and the counts of use."""
    names = (name for name in field_names(Record) if name != "seq" and not name.startswith(("recall", "access")))
    return tuple(getattr(record, name) for name in names)


@pytest.mark.parametrize("way", ["import", "update"])
def test_an_evicted_memory_gives_up_its_key_to_whoever_takes_it(clock: HandClock, way: str):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=1)) as memory:
        memory.remember("one", key="a:1")
        clock.forward(hours=1)
        memory.remember("two")
        if way == "import":
            assert memory.import_([{"text": "three", "key": "a:1"}]).inserted == 1
        else:
            memory.update(2, key="a:1")
        assert (memory.get("a:1").version, everything(memory)[0].key) == (1, None)
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_a_key_that_a_forgotten_memory_has_is_refused_with_its_number(memory: Memory):
    memory.remember("one", key="a:1")
    memory.forget(1)
    memory.remember("two")
    with pytest.raises(errors.Conflict, match="'a:1' names memory #1, which is deleted"):
        memory.update(2, key="a:1")


# -- twins -----------------------------------------------------------------------------------------------------------


def test_a_memory_is_not_restored_beside_one_that_says_the_same(memory: Memory):
    memory.remember("x", conversation_id="c1")
    memory.forget(1)
    memory.remember("X", conversation_id="c1")
    memory.remember("x")
    with pytest.raises(errors.Conflict, match="#2 says the same") as refused:
        memory.restore(1)
    assert "memory.forget(2)" in refused.value.remedy
    memory.forget(2)
    assert memory.restore(1).record.state == "active"


def test_a_text_is_not_corrected_to_what_another_memory_says(memory: Memory):
    memory.remember("x")
    memory.remember("y")
    memory.remember("x", conversation_id="c1")
    memory.remember("x", key="letter:x")
    with pytest.raises(errors.Conflict, match="#1 says the same"):
        memory.update(2, text="X")
    with pytest.raises(errors.Conflict, match="#1 says the same"):
        memory.update("letter:x", key=None)
    assert memory.update(3, text="y").outcome == "updated"
    assert memory.update(1, text="X").outcome == "updated"


def test_two_forgotten_twins_are_not_restored_together(memory: Memory):
    for _ in range(2):
        memory.remember("x")
        memory.forget(memory.list().records[0].number)
    with pytest.raises(errors.Conflict, match="#1 says the same"):
        memory.restore([1, 2])
    assert texts(memory) == []


@pytest.mark.parametrize("way", ["undo", "checkpoint"])
def test_undo_may_make_twins_and_says_so(memory: Memory, way: str):
    memory.remember("x")
    memory.checkpoint("before")
    forgotten = memory.forget(1)
    memory.remember("x")
    back = memory.undo(forgotten.batch) if way == "undo" else memory.restore_checkpoint("before")
    assert back.notes[-1:] == ("Two memories say the same now: #1 and #2. Forget one of them if you need it once.",)
    assert texts(memory) == ["x", "x"]


# -- restoring several, and what it answers --------------------------------------------------------------------------


def test_restoring_answers_like_every_write(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=2)) as memory:
        for name in ("a", "b"):
            memory.remember(name, key=f"t:{name}")
            clock.forward(hours=1)
        memory.forget("t:a")
        memory.remember("c", key="t:c")
        done = memory.restore("t:a")
        assert (done.outcome, [gone.key for gone in done.evicted]) == ("updated", ["t:b"])
        memory.undo(done.batch)
        assert sorted(record.key or "" for record in memory.list()) == ["t:b", "t:c"]


def test_the_semantic_store_says_what_a_restore_evicted(clock: HandClock):
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        store.upsert("t:a", "a")
        clock.forward(hours=1)
        store.upsert("t:b", "b")
        done = store.restore("t:a")
        assert (done.content, [gone.key for gone in done.evicted]) == ("a", ["t:b"])
        assert store.memory.undo(done.batch).batch


def test_several_memories_are_restored_in_one_batch(memory: Memory):
    for text in ("one", "two", "three"):
        memory.remember(text)
    memory.forget([1, 2, 3])
    done = memory.restore([1, "#2", 3, 1])
    assert [each.record.number for each in done] == [1, 2, 3]
    assert len({each.batch for each in done}) == 1
    memory.undo(done[0].batch)
    assert texts(memory) == []
    assert memory.restore([]) == ()


def test_if_one_memory_cannot_be_restored_none_is(memory: Memory):
    for text in ("one", "two"):
        memory.remember(text)
    memory.forget(1)
    with pytest.raises(errors.Conflict, match="#2 is active"):
        memory.restore([1, 2])
    assert texts(memory) == ["two"]


def test_what_is_restored_together_does_not_evict_each_other(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=2)) as memory:
        for text in ("one", "two"):
            memory.remember(text)
        memory.forget([1, 2])
        memory.remember("three")
        done = memory.restore([1, 2])
        assert [[gone.number for gone in each.evicted] for each in done] == [[], [3]]
        memory.forget([1, 2])
        memory.capacity(max_items=1)
        with pytest.raises(errors.CapacityExceeded):
            memory.restore([1, 2])
        assert texts(memory) == []


# -- answers that did nothing ----------------------------------------------------------------------------------------


def test_an_answer_that_did_nothing_has_no_batch(memory: Memory):
    memory.remember("one", tier="important")
    forgotten = memory.forget("everything about zebras at all", dry_run=True)
    answers: list[Any] = [
        memory.update(1),
        memory.promote(1, "important"),
        memory.import_([{"text": "one"}]),
        memory.import_([]),
        forgotten,
        memory.undo(session="nobody"),
    ]
    assert [answer.batch for answer in answers] == [None] * len(answers)
    assert len(memory.log()) == 1


def test_an_idempotency_key_of_an_erased_memory_says_so(memory: Memory):
    memory.remember("one", idempotency_key="k")
    memory.erase(1, confirm=True)
    with pytest.raises(errors.Conflict, match="#1, which was erased since") as refused:
        memory.remember("one", idempotency_key="k")
    assert "new key" in refused.value.remedy


def test_undoing_what_was_evicted_for_good_says_that_it_was_evicted(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock, settings=load(max_items=1, grace_days=0)) as memory:
        memory.remember("one")
        done = memory.remember("two")
        with pytest.raises(errors.Conflict, match="It was evicted on 2026-03-14 to make room"):
            memory.undo(done.batch)
