"""The façade, verb by verb, as a user of the library meets it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock, Ticking

from perdure import Memory, errors
from perdure.clock import format_time
from perdure.embed.port import Progress, Vectors
from perdure.recall.relevance import relevance
from perdure.testing.embedder import WordEmbedder


class Interrupting(WordEmbedder):
    """Lets something happen between the reading and the writing of a correction."""

    def __init__(self, interrupt: Callable[[], object]) -> None:
        super().__init__()
        self.interrupt: Callable[[], object] | None = interrupt

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        interrupt, self.interrupt = self.interrupt, None
        if interrupt:
            interrupt()
        return super().embed_passages(texts, progress)


def overtake(other: Memory) -> None:
    other.update(1, title="T2", add_tags=["theirs"])


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock, actor="ada", session="s1") as opened:
        yield opened


# In two parts, so that no scanner takes this file for a leak.
SECRET = "ghp_" + "x7Kq2VbN9tLmZ4cR8wYpD3fHs6GjUe1AoB5v"


def texts(found: Any) -> list[str]:
    return [getattr(item, "record", item).text for item in found]


# -- remember ------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_recalled_with_its_fields(memory: Memory):
    done = memory.remember("Alice prefers dark mode", tags=["ui"], category="preference", importance=0.8)
    assert (done.outcome, done.record.number, done.record.version) == ("inserted", 1, 1)
    (hit,) = memory.recall("dark")
    assert hit.record.text == "Alice prefers dark mode"
    assert (hit.record.tags, hit.record.category, hit.record.importance) == (("ui",), "preference", 0.8)
    assert hit.score > 0


def test_the_same_text_again_is_an_observation_that_brings_its_tags(memory: Memory, clock: HandClock):
    memory.remember("Alice prefers dark mode", tags=["ui"])
    later = clock.forward(days=1)
    again = memory.remember("  alice PREFERS dark mode ", tags=["theme"])
    assert (again.outcome, again.record.number, again.record.version) == ("observed", 1, 1)
    assert (again.record.observation_count, again.record.tags) == (2, ("ui", "theme"))
    assert again.record.text == "Alice prefers dark mode"
    assert again.record.updated_at == later
    assert texts(memory.recall("theme")) == ["Alice prefers dark mode"]


def test_what_is_said_about_a_known_text_is_taken_over(memory: Memory):
    memory.remember("Alice prefers dark mode", category="interest", title="Theme")
    done = memory.remember("Alice prefers dark mode", category="preference", tier="critical")
    record = done.record
    assert (done.outcome, record.category, record.tier, record.title) == ("observed", "preference", "critical", "Theme")


def test_a_text_known_in_other_letters_keeps_its_first_wording_and_says_so(memory: Memory):
    memory.remember("grep -l lists files")
    done = memory.remember("grep -L lists files")
    assert done.record.text == "grep -l lists files"
    assert "different case or spacing" in done.notes[0]
    keyed = memory.remember("Use grep -l", key="tool:grep")
    assert memory.remember("Use GREP -l", key="tool:grep").record.version == keyed.record.version + 1


def test_a_new_version_keeps_what_the_caller_does_not_mention(memory: Memory):
    memory.remember("Osaka", key="home:alice", category="identity", tags=["home"], importance=0.9)
    record = memory.remember("Tokyo", key="home:alice").record
    assert (record.category, record.tags, record.importance) == ("identity", ("home",), 0.9)


def test_tags_gather_up_to_their_limit_and_the_export_can_still_be_imported(memory: Memory, tmp_path: Path):
    memory.remember("much observed", tags=[f"a{n}" for n in range(64)])
    done = memory.remember("much observed", tags=["one more"])
    assert len(done.record.tags) == 64
    assert "tags" in done.notes[0]
    memory.export(tmp_path / "out.jsonl")
    assert memory.namespace("copy").import_(tmp_path / "out.jsonl").inserted == 1


def test_the_same_key_with_other_words_is_a_new_version(memory: Memory):
    memory.remember("New York is in the United States", key="location:new_york")
    done = memory.remember("New York is the largest city in the US", key="location:new_york")
    assert (done.outcome, done.record.number, done.record.version) == ("updated", 1, 2)
    assert memory.get("location:new_york").text == "New York is the largest city in the US"
    assert [line.version for line in memory.history(1)] == [1, 2]


def test_the_same_text_under_two_keys_is_two_memories_and_their_hash_is_ambiguous(memory: Memory):
    first = memory.remember("It rains", key="fact:today").record
    memory.remember("It rains", key="fact:tomorrow")
    with pytest.raises(errors.AmbiguousReference) as raised:
        memory.get(first.content_hash)
    assert "fact:today" in raised.value.sentence
    assert "fact:tomorrow" in raised.value.sentence


def test_a_call_repeated_with_its_idempotency_key_changes_nothing(memory: Memory):
    first = memory.remember("Deploys happen on Tuesdays", idempotency_key="abc")
    again = memory.remember("Deploys happen on Tuesdays", idempotency_key="abc")
    assert (again.outcome, again.record.id, again.record.observation_count) == ("repeated", first.record.id, 1)


def test_an_idempotency_key_cannot_stand_for_two_memories(memory: Memory):
    memory.remember("Deploys happen on Tuesdays", idempotency_key="abc")
    with pytest.raises(errors.Conflict):
        memory.remember("Deploys happen on Fridays", idempotency_key="abc")
    with pytest.raises(errors.TextTooLong):
        memory.remember("one", idempotency_key="k" * 2000)
    assert len(memory.list()) == 1


def test_without_a_model_the_first_answer_says_so_and_the_later_ones_do_not(monkeypatch: pytest.MonkeyPatch):
    missing = errors.EmbedderUnavailable("The local model is not installed.", remedy="Install it.")
    monkeypatch.setattr("perdure.embed.local.unavailable", lambda: missing)
    with Memory(":memory:") as memory:
        first, second = memory.remember("one"), memory.remember("two")
        assert first.vector_pending
        assert second.vector_pending
        assert "not installed. Install it." in first.notes[0]
        assert second.notes == ()
        doctor = next(found for found in memory.doctor() if found.check == "embedder")
        assert (doctor.level, doctor.remedy) == ("warning", "Install it.")
        assert memory.recall("one").mode == "keyword"


def test_whoever_switched_the_model_off_is_not_told_so(memory: Memory):
    assert memory.remember("one").notes == ()


def test_a_secret_is_replaced_before_it_is_stored(memory: Memory):
    done = memory.remember(f"The token is {SECRET}, keep it", metadata={"env": {"TOKEN": SECRET}})
    assert SECRET not in done.record.text
    assert SECRET not in str(done.record.metadata)
    assert "Redacted" in done.notes[0]
    assert SECRET not in str(memory.history(1))


def test_a_secret_is_found_in_whatever_field_it_is(memory: Memory):
    fields: Any = dict.fromkeys(("title", "source", "file_path", "session_id", "channel", "anchor_id"), SECRET)
    lists: Any = {name: [SECRET] for name in ("tags", "keywords", "references", "evidence", "trigger_phrases")}
    memory.remember("harmless", **fields, **lists)
    assert SECRET not in str(memory.history(1))
    with pytest.raises(errors.InvalidInput):
        memory.remember("harmless too", key=f"token:{SECRET}")


def test_redaction_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_REDACT", "off")
    with Memory(":memory:", embedder="none") as memory:
        assert SECRET in memory.remember(f"The token is {SECRET}").record.text


@pytest.mark.parametrize("text", ["", "a\x00b", "\ud800", "x" * (2**20 + 1)], ids=["empty", "NUL", "surrogate", "long"])
def test_a_refused_text_leaves_nothing_behind(memory: Memory, text: str):
    with pytest.raises(errors.InvalidInput):
        memory.remember(text)
    assert len(memory.list()) == 0
    assert memory.stats().namespaces == ()


def test_a_text_of_one_mebibyte_comes_back_to_the_byte(memory: Memory):
    text = "päß 漢字 " * (2**20 // 18)
    memory.remember(text)
    assert memory.get(1).text == text


# -- update, forget, restore ----------------------------------------------------------------------------------------


def test_a_correction_makes_a_new_version_and_keeps_the_old_one(memory: Memory, clock: HandClock):
    memory.remember("Alice prefers dark mode")
    later = clock.forward(hours=1)
    done = memory.update(1, text="Alice prefers light mode")
    assert (done.outcome, done.record.version, done.record.updated_at) == ("updated", 2, later)
    assert texts(memory.recall("light")) == ["Alice prefers light mode"]
    assert not memory.recall("dark")
    first, second = memory.history(1)
    assert first.record
    assert first.record.text == "Alice prefers dark mode"
    assert (second.change.operation, second.change.actor, second.change.session) == ("update", "ada", "s1")


def test_a_change_of_labels_is_a_revision_of_the_same_version(memory: Memory, clock: HandClock):
    made = memory.remember("Alice prefers dark mode").record
    clock.forward(hours=1)
    done = memory.update(1, tags=["ui"], tier="critical")
    assert (done.outcome, done.record.version, done.record.updated_at) == ("annotated", 1, made.updated_at)
    assert [line.change.operation for line in memory.history(1)] == ["insert", "annotate"]


def test_an_update_that_changes_nothing_writes_nothing(memory: Memory):
    memory.remember("Alice prefers dark mode", tags=["ui"])
    assert memory.update(1, text="Alice prefers dark mode", tags=["ui"]).outcome == "unchanged"
    assert len(memory.history(1)) == 1


def test_tags_and_metadata_are_changed_relative_to_what_is_there(memory: Memory):
    memory.remember("one", tags=["a", "b"], metadata={"x": 1, "y": 2})
    record = memory.update(1, add_tags=["c"], remove_tags=["a"], metadata={"y": 3, "z": 4}).record
    assert (record.tags, record.metadata) == (("b", "c"), {"x": 1, "y": 3, "z": 4})
    assert memory.update(1, metadata={}).record.metadata == {}


def test_a_correction_that_was_overtaken_is_applied_to_what_is_there_then(tmp_path: Path):
    path = tmp_path / "agent.db"
    with Memory(path, embedder="none") as other, Memory(path, embedder=Interrupting(lambda: overtake(other))) as memory:
        other.remember("old", title="T1", tags=["a"])
        record = memory.update(1, text="new", title="T1", add_tags=["mine"]).record
        assert (record.text, record.title, record.tags) == ("new", "T1", ("a", "theirs", "mine"))


def test_two_who_remember_the_same_at_once_make_one_memory(tmp_path: Path):
    path = tmp_path / "agent.db"
    with Memory(path, embedder="none") as other:
        with Memory(path, embedder=Interrupting(lambda: other.remember("tea"))) as memory:
            done = memory.remember("tea", tags=["mine"])
            assert (done.outcome, done.record.observation_count, done.record.tags) == ("observed", 2, ("mine",))
        with Memory(path, embedder=Interrupting(lambda: other.remember("one", key="a:b", title="T"))) as memory:
            done = memory.remember("two", key="a:b")
            assert (done.outcome, done.record.version, done.record.title) == ("updated", 2, "T")
            assert done.vector_pending
        assert len(other.list()) == 2


def test_a_key_that_names_another_memory_cannot_be_taken(memory: Memory):
    memory.remember("one", key="a:one")
    memory.remember("two", key="a:two")
    with pytest.raises(errors.Conflict):
        memory.update("a:two", key="a:one")
    assert memory.get("a:two").text == "two"


def test_a_forgotten_memory_is_gone_from_every_path_and_comes_back_exactly(memory: Memory):
    made = memory.remember("Alice prefers dark mode", tags=["ui"], key="person:alice").record
    memory.forget(1)
    assert not memory.recall("dark")
    assert not memory.recall("dark", tags=["ui"])
    assert len(memory.list()) == 0
    for ref in (1, made.id, made.content_hash, "person:alice"):
        with pytest.raises(errors.NotFound):
            memory.get(ref)
    back = memory.restore(1).record
    assert (back.text, back.tags, back.version, back.state) == (made.text, made.tags, 1, "active")
    assert texts(memory.recall("dark")) == ["Alice prefers dark mode"]
    assert [line.change.operation for line in memory.history(1)] == ["insert", "forget", "restore"]


def test_forgetting_twice_restoring_twice_and_correcting_the_forgotten_are_conflicts(memory: Memory):
    memory.remember("Alice prefers dark mode")
    with pytest.raises(errors.Conflict):
        memory.restore(1)
    memory.forget(1)
    with pytest.raises(errors.Conflict) as twice:
        memory.forget(1)
    with pytest.raises(errors.Conflict) as corrected:
        memory.update(1, text="new")
    assert "memory.restore(1)" in twice.value.remedy
    assert "memory.restore(1)" in corrected.value.remedy
    assert len(memory.history(1)) == 2


def test_the_same_words_said_again_after_forgetting_are_a_new_memory(memory: Memory):
    memory.remember("Alice prefers dark mode")
    memory.forget(1)
    assert memory.remember("Alice prefers dark mode").record.number == 2


def test_a_key_said_again_after_forgetting_comes_back_as_a_new_version(memory: Memory):
    memory.remember("Osaka", key="home:alice")
    memory.forget("home:alice")
    done = memory.remember("Tokyo", key="home:alice")
    assert (done.record.number, done.record.version, done.record.state) == (1, 2, "active")


def test_a_way_to_forget_that_does_not_exist_is_refused(memory: Memory):
    memory.remember("x")
    with pytest.raises(errors.UnknownChoice):
        memory.forget(1, mode="medium")  # pyright: ignore[reportArgumentType]
    assert memory.get(1).state == "active"


# -- recall, list, get ----------------------------------------------------------------------------------------------


@pytest.fixture
def shelf(memory: Memory, clock: HandClock) -> Memory:
    memory.remember("red apples", tags=["fruit", "red"], category="preference", source="chat")
    clock.forward(days=1)
    memory.remember("green apples", tags=["fruit", "green"], category="interest", source="retro")
    clock.forward(days=1)
    memory.remember("apple pie", tags=["cake"], category="preference", source="chat", valid_at="2020-01-01")
    return memory


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"red apples", "green apples", "apple pie"}),
    ({"tags": ["fruit"]}, {"red apples", "green apples"}),
    ({"tags": ["fruit", "red"]}, {"red apples"}),
    ({"category": "preference"}, {"red apples", "apple pie"}),
    ({"category": ["preference", "interest"]}, {"red apples", "green apples", "apple pie"}),
    ({"source": "retro"}, {"green apples"}),
    ({"since": "2026-03-15"}, {"green apples"}),
    ({"until": "2026-03-14"}, {"red apples", "apple pie"}),
    ({"until": "2021-01-01"}, {"apple pie"}),
    ({"tags": ["nothing"]}, set()),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=[str(filters) for filters, _ in FILTERS])
def test_recall_and_list_see_only_what_the_filters_let_through(shelf: Memory, filters: Any, expected: set[str]):
    assert set(texts(shelf.recall("apple", **filters))) == expected
    assert set(texts(shelf.list(**filters))) == expected


def test_recall_does_not_look_into_the_forgotten_and_list_does(shelf: Memory):
    shelf.forget(1)
    with pytest.raises(errors.UnknownChoice):
        shelf.recall("apple", states="deleted")
    assert texts(shelf.list(states="deleted")) == ["red apples"]


def test_recall_reads_several_namespaces_only_when_they_are_named(memory: Memory):
    memory.remember("tea in the morning")
    other = memory.namespace("bob")
    other.remember("tea in the evening")
    assert texts(memory.recall("tea")) == ["tea in the morning"]
    assert texts(other.recall("tea")) == ["tea in the evening"]
    both = memory.recall("tea", namespaces=["default", "bob"])
    assert {hit.record.namespace for hit in both} == {"default", "bob"}
    assert not memory.recall("tea", namespaces=["nobody"])


def test_a_number_of_another_namespace_is_not_found_like_one_that_never_was(memory: Memory):
    memory.remember("secret of default", key="a:b")
    other = memory.namespace("bob")
    for ref in (1, "a:b", memory.get(1).id, memory.get(1).content_hash):
        with pytest.raises(errors.NotFound):
            other.get(ref)


def test_every_hit_says_how_its_score_came_about(shelf: Memory):
    for hit in shelf.recall("red apples"):
        assert relevance(sum(signal.contribution for signal in hit.explain.values())) == hit.score
    for hit in shelf.recall("red apples", recipe="facts"):
        assert sum(signal.contribution for signal in hit.explain.values()) == pytest.approx(hit.score)


def test_without_a_model_the_answer_says_that_it_is_by_keyword(shelf: Memory):
    found = shelf.recall("apples")
    assert found.mode == "keyword"


def test_expired_and_no_longer_valid_memories_leave_ordinary_recall(memory: Memory, clock: HandClock):
    memory.remember("lives in Osaka", invalid_at=format_time(clock.now + timedelta(days=1)))
    memory.remember("lives in a tent", expires_at=clock.now + timedelta(days=2))
    memory.remember("lives in a dream", tier="deprecated")
    assert len(memory.recall("lives")) == 2
    clock.forward(days=1, hours=1)
    assert texts(memory.recall("lives")) == ["lives in a tent"]
    clock.forward(days=1)
    assert not memory.recall("lives")
    assert texts(memory.recall("lives", tier="deprecated")) == ["lives in a dream"]


def test_pages_follow_each_other_without_gap_or_repetition(memory: Memory):
    for n in range(7):
        memory.remember(f"memory {n}")
    seen: list[int] = []
    after = None
    while True:
        page = memory.list(limit=3, after=after)
        seen += [record.number for record in page]
        after = page.next
        if after is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    assert [record.number for record in memory.list(limit=2, newest=False)] == [1, 2]


@pytest.mark.parametrize("limit", [0, -1, "5", 2.5, True, None, float("inf")])
def test_a_limit_that_is_no_whole_number_of_one_or_more_is_an_error(memory: Memory, limit: Any):
    for call in (partial(memory.recall, "x"), partial(memory.context, "x"), memory.list, memory.offers):
        with pytest.raises(errors.InvalidInput, match="1 or more"):
            call(limit=limit)


@pytest.mark.parametrize("embedder", ["none", WordEmbedder()], ids=["by words", "by meaning"])
@pytest.mark.parametrize("limit", [150, 10**9, 10**30])
def test_any_limit_is_taken_and_nothing_is_left_out(embedder: Any, limit: int):
    clock = Ticking()
    with Memory(":memory:", embedder=embedder, clock=clock) as memory:
        memory.import_([{"text": f"apple {n}"} for n in range(150)])
        memory.work()
        every = set(range(1, 151))
        for _ in range(5):
            assert {hit.record.number for hit in memory.recall("apple", limit=limit, min_relevance=0)} == every
        page = memory.list(limit=limit)
        assert ([record.number for record in page], page.next) == (sorted(every, reverse=True), None)
        packed = memory.context("apple", limit=limit, budget=100_000, min_relevance=0)
        assert {item.record.number for item in packed.items} | {each.record.number for each in packed.omitted} == every
        then = clock.now
        memory.update(7, text="pear")
        past = memory.recall("apple", limit=limit, known_at=then, min_relevance=0)
        assert {hit.record.number for hit in past} == every
        assert {record.number for record in memory.list(limit=limit, known_at=then)} == every
        assert len(memory.list(limit=149)) == 149
        assert memory.list(limit=149).next == 2
        assert len(memory.recall_detail(range(1, 151), level="index")) == 150


def test_use_is_counted_and_leaves_no_trace_in_history(memory: Memory, clock: HandClock):
    memory.remember("Alice prefers dark mode")
    for _ in range(3):
        clock.forward(minutes=1)
        memory.recall("dark")
    memory.get(1)
    record = memory.get(1)
    assert (record.recall_count, record.recalled_at, record.access_count) == (3, clock.now, 1)
    assert len(memory.history(1)) == 1


# -- in and out, and the rest ---------------------------------------------------------------------------------------


def test_an_export_imported_elsewhere_says_the_same(shelf: Memory, tmp_path: Path):
    shelf.remember("keyed", key="a:b", metadata={"deep": {"list": [1, 2.5, None]}}, keywords=["k"])
    assert shelf.export(tmp_path / "out.jsonl").written == 4
    other = shelf.namespace("copy")
    done = other.import_(tmp_path / "out.jsonl", trusted=True)
    assert (done.inserted, done.updated, done.present) == (4, 0, 0)
    for original, copy in zip(shelf.list(), other.list(), strict=True):
        same = ("text", "tags", "category", "source", "key", "metadata", "created_at", "updated_at", "valid_at")
        assert [getattr(copy, name) for name in same] == [getattr(original, name) for name in same]


def test_importing_twice_changes_nothing_the_second_time(shelf: Memory, tmp_path: Path):
    shelf.export(tmp_path / "out.jsonl")
    done = shelf.import_(tmp_path / "out.jsonl")
    assert (done.inserted, done.present) == (0, 3)
    assert shelf.get(1).observation_count == 1


def test_an_old_export_does_not_undo_a_correction(memory: Memory, clock: HandClock, tmp_path: Path):
    memory.remember("Osaka", key="home:alice")
    memory.export(tmp_path / "old.jsonl")
    clock.forward(days=1)
    memory.update("home:alice", text="Tokyo")
    done = memory.import_(tmp_path / "old.jsonl", trusted=True)
    assert (done.updated, done.skipped_deleted, memory.get("home:alice").text) == (0, 1, "Tokyo")


def test_a_newer_statement_of_a_key_is_taken_over(memory: Memory):
    memory.remember("Osaka", key="home:alice", tags=["home"])
    done = memory.import_([{"text": "Tokyo", "key": "home:alice"}])
    record = memory.get("home:alice")
    assert (done.updated, record.text, record.version, record.tags) == (1, "Tokyo", 2, ("home",))


def test_what_was_forgotten_where_it_comes_from_is_not_imported(memory: Memory, tmp_path: Path):
    memory.remember("forgotten")
    memory.forget(1)
    assert memory.export(tmp_path / "out.jsonl", states=["deleted"]).written == 1
    done = memory.import_(tmp_path / "out.jsonl", trusted=True)
    assert done.inserted == 0
    assert "not active" in done.notes[0]


def test_an_import_says_that_it_redacted_secrets(memory: Memory):
    done = memory.import_([{"text": f"the token is {SECRET}"}])
    assert "redacted" in done.notes[0]
    assert SECRET not in memory.get(1).text


def test_an_import_may_begin_with_a_byte_order_mark(memory: Memory, tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "one"}\n')
    assert memory.import_(tmp_path / "in.jsonl").inserted == 1
    assert memory.import_(io.StringIO('\ufeff{"text": "two"}\n')).inserted == 1


def test_an_untrusted_import_is_labelled_as_such(memory: Memory):
    memory.import_([{"text": "from the web", "source": "manual", "trust": "high", "created_at": "1999-01-01"}])
    record = memory.get(1)
    assert (record.source, record.trust, record.created_at.year) == ("import", "low", 2026)


@pytest.mark.parametrize(
    "bad", ["{", "[]", '"x"', '{"txt": 1}', '{"text": ""}', '{"text": "x", "tier": "gold"}', '{"perdure_export": 99}']
)
def test_one_bad_line_and_nothing_of_the_file_is_stored(memory: Memory, tmp_path: Path, bad: str):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "good"}\n' + bad + "\n", encoding="utf-8")
    with pytest.raises(errors.ImportFailed) as raised:
        memory.import_(path)
    assert raised.value.remedy
    assert len(memory.list()) == 0


def test_a_file_that_is_not_text_or_not_there_is_a_clear_error(memory: Memory, tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing"):
        with pytest.raises(errors.ImportFailed):
            memory.import_(tmp_path / name)


def test_an_export_that_fails_leaves_the_old_file_alone(shelf: Memory, tmp_path: Path):
    path = tmp_path / "out.jsonl"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(errors.UnknownChoice):
        shelf.export(path, states=["nonsense"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(errors.ExportFailed):
        shelf.export(tmp_path / "no" / "such" / "place")
    assert path.read_text(encoding="utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_stats_count_each_namespace_by_state(memory: Memory):
    memory.remember("one")
    memory.remember("two")
    memory.forget(2)
    memory.namespace("bob").remember("three")
    found = {space.name: space.states for space in memory.stats().namespaces}
    assert found == {"default": {"active": 1, "deleted": 1}, "bob": {"active": 1}}


def test_a_closed_memory_says_so(memory: Memory):
    memory.close()
    memory.close()
    with pytest.raises(errors.StoreClosed):
        memory.remember("too late")
    with pytest.raises(errors.StoreClosed):
        memory.recall("too late")


def test_the_doctor_finds_a_healthy_store_healthy(memory: Memory):
    memory.remember("Alice prefers dark mode", tags=["ui"])
    assert [found for found in memory.doctor() if found.level == "problem"] == []


def test_memories_outlive_the_memory_object(tmp_path: Path):
    path = tmp_path / "agent.db"
    with Memory(path, embedder="none") as first:
        first.remember("Alice prefers dark mode")
    with Memory(path, embedder="none") as second:
        assert texts(second.recall("dark")) == ["Alice prefers dark mode"]
