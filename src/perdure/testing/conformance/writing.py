"""Writing: all or nothing, in order, without gaps, and exactly as given."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.ids import content_hash
from perdure.model import (
    CATEGORIES,
    SCOPE_FIELDS,
    STATES,
    TIERS,
    USE_FIELDS,
    Filter,
    Identity,
    Record,
    identity_of,
)
from perdure.store.port import About, LogFilter, Position, Store
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    NOON,
    amend,
    change,
    draft,
    insert,
    problems,
    read_once,
    remember,
    vector,
)
from perdure.text.entry import entry_of

# Everything that is text: no half of a surrogate pair and no NUL, but every odd character else.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
SOME_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60)
MANY = st.lists(TEXTS, max_size=4).map(tuple)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
SHARES = st.floats(0, 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
METADATA = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
FIELDS = st.fixed_dictionaries(
    {"created_at": MOMENTS, "updated_at": MOMENTS},
    optional={
        **dict.fromkeys(("title", "abstract", "summary", "reasoning", "source_project", "conversation_id"), TEXTS),
        **dict.fromkeys(("session_id", "channel", "spec_folder", "file_path", "anchor_id"), st.none() | TEXTS),
        **dict.fromkeys(("tags", "keywords", "references", "trigger_phrases"), MANY),
        **dict.fromkeys(("evidence", "supersedes", "merged_from"), MANY),
        **dict.fromkeys(("importance", "confidence"), SHARES),
        **dict.fromkeys(("valid_at", "invalid_at", "expires_at"), st.none() | MOMENTS),
        **dict.fromkeys(("source", "context_type", "trust"), SOME_TEXTS),
        "category": st.none() | st.sampled_from(CATEGORIES),
        "tier": st.sampled_from(TIERS),
        "state": st.sampled_from(STATES),
        "metadata": METADATA,
        "version": st.integers(1, 2**40),
        "observation_count": st.integers(1, 2**40),
        "validation_count": st.integers(0, 2**40),
    },
)


class WritingTests(StoreTestBase):
    def test_what_a_write_is_about_changes_no_answer(self, store: Store) -> None:
        first, keyed = remember(store, "tea"), remember(store, "coffee", key="drink:coffee")
        about = [
            About(identity_of(first), "call-1", first.number),
            About(identity_of(keyed), None, keyed.number),
            About(identity_of(draft("milk")), "call-2", 99),
            About(),
        ]
        with store.write(NAMESPACE, about) as writer:
            assert writer.by_content(identity_of(first)) == writer.by_number(1) == first
            assert writer.by_key("drink:coffee") == keyed
            assert writer.log(LogFilter(request="call-1"), limit=1) == []
            assert (writer.last_version(1), writer.last_version(99)) == (1, 0)
            assert writer.lift_tombstone(identity_of(first)) is None
            milk = insert(writer, draft("milk"), request="call-2")
            assert writer.by_content(identity_of(milk)) == milk
            assert [line.number for line in writer.log(LogFilter(request="call-2"), limit=1)] == [3]
            changed = replace(first, state="deleted")
            ended = writer.put(changed, change("forget"), entry_of(changed))
            assert writer.by_content(identity_of(first)) is None
            assert writer.by_number(1) == ended
            writer.add_tombstone(identity_of(first), "forgotten", NOON)
            assert writer.lift_tombstone(identity_of(first)) == NOON

    @pytest.mark.parametrize("field", ["text", "title", "tags", "metadata"])
    def test_a_nul_is_refused_and_what_only_looks_like_one_is_not(self, store: Store, field: str) -> None:
        def holding(text: str) -> dict[str, Any]:
            return {field: {"tags": (text,), "metadata": {"a": [text]}}.get(field, text)}

        def of(text: str) -> Record:
            return replace(draft("tea"), **holding(text))

        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            insert(writer, of("a\x00b"))
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            insert(writer, of("a\\\x00b"))
        with store.write(NAMESPACE) as writer:
            kept = insert(writer, of(r"a\u0000b \\u0000"))
        assert read_once(store).fetch([kept.number]) == [kept]

    def test_a_memory_is_numbered_from_one_and_reads_back_as_it_was_put(self, store: Store) -> None:
        first, second = remember(store, "tea in the morning"), remember(store, "coffee at night")
        assert (first.number, second.number) == (1, 2)
        assert read_once(store).fetch([1, 2]) == [first, second]

    def test_large_numbers_are_asked_for_after_small_ones(self, store: Store) -> None:
        record = remember(store, "tea")
        for large in (1 << 15, 1 << 31):
            assert read_once(store).fetch([1]) == [record]
            assert read_once(store).fetch([1, large]) == [record]
            assert read_once(store).fetch([large]) == []

    def test_a_put_answers_with_its_place_in_the_log(self, store: Store) -> None:
        first = remember(store, "tea")
        again = amend(store, first, title="Drinks")
        assert (first.seq, again.seq, again.number) == (1, 2, 1)
        assert read_once(store).fetch([1]) == [again]

    def test_every_field_survives_being_stored(self, store: Store) -> None:
        values: dict[str, Any] = {
            "key": "person:alice", "version": 3, "title": "T", "abstract": "A", "summary": "S", "reasoning": "R",
            "category": "goal", "context_type": "decision", "tags": ("b", "a"), "keywords": ("k",),
            "references": ("r",), "trigger_phrases": ("t",), "metadata": {"speaker": "Ann", "deep": {"list": [1]}},
            "source": "chat", "source_project": "P", "conversation_id": "c", "session_id": "s", "channel": "ch",
            "spec_folder": "f", "file_path": "p", "anchor_id": "an", "evidence": ("e1", "e2"),
            "supersedes": ("s1",), "merged_from": ("m1", "m2"), "trust": "low",
            "tier": "critical", "importance": 0.1, "confidence": 0.9, "observation_count": 7, "validation_count": 2,
            "valid_at": NOON - timedelta(days=1), "invalid_at": NOON, "expires_at": NOON + timedelta(microseconds=1),
            "state": "superseded",
        }  # fmt: skip
        left = {field.name for field in fields(Record)} - set(values) - set(USE_FIELDS)
        assert left == {"id", "number", "namespace", "content_hash", "seq", "text", "created_at", "updated_at"}
        record = remember(store, "tea", **values)
        assert read_once(store).fetch([record.number]) == [record]
        assert read_once(store).revisions(record.number)[0].record == record

    @settings(RELAXED)
    @given(text=SOME_TEXTS, values=FIELDS)
    def test_whatever_is_text_comes_back_exactly(self, text: str, values: dict[str, Any]) -> None:
        with closing(self.open_store()) as store:
            record = remember(store, text, **values)
            assert read_once(store).fetch([1]) == [record]
            assert read_once(store).revisions(1)[0].record == record
            assert problems(store) == []

    def test_a_megabyte_of_text_comes_back_exactly(self, store: Store) -> None:
        text = "Straße 東京 parseFile \n" * 40_000
        record = remember(store, text)
        assert read_once(store).fetch([1])[0].text == text
        assert read_once(store).revisions(1)[0].record == record

    def test_text_that_no_file_can_keep_is_refused_and_nothing_changes(self, store: Store) -> None:
        bad: list[dict[str, Any]] = [
            {"title": "half \ud800"},
            {"tags": ("\udc00",)},
            {"metadata": {"number": float("nan")}},
        ]
        for odd in bad:
            with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
                writer.put(replace(draft("tea", **odd), number=writer.next_number()), change(), entry_of(draft("tea")))
        assert store.namespaces() == []

    def test_an_exception_leaves_everything_as_it_was(self, store: Store) -> None:
        kept = remember(store, "tea", tags=["hot"])
        before = _everything(store)

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                new = insert(writer, draft("coffee", tags=("hot", "black")))
                changed = replace(kept, title="Drinks", state="deleted")
                writer.put(changed, change("forget"), entry_of(changed))
                writer.put_vector(GENERATION, entry_of(new).passage_hash, vector())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert _everything(store) == before

    def test_numbers_places_and_namespaces_of_a_failed_write_are_given_out_again(self, store: Store) -> None:
        def fail(namespace: str) -> None:
            with store.write(namespace) as writer:
                insert(writer, draft("lost", namespace))
                raise ZeroDivisionError

        for namespace in ("new", "newer"):
            with pytest.raises(ZeroDivisionError):
                fail(namespace)
        assert store.namespaces() == []
        record = remember(store, "kept", "newer")
        assert (record.number, record.seq, store.namespaces()) == (1, 1, ["newer"])

    def test_threads_that_write_at_once_leave_no_gap(self, store: Store) -> None:
        def write(worker: int) -> list[Record]:
            return [remember(store, f"memory {worker} {n}") for n in range(8)]

        with ThreadPoolExecutor(4) as threads:
            records = [record for found in threads.map(write, range(4)) for record in found]
        assert sorted(record.number for record in records) == list(range(1, 33))
        assert sorted(record.seq for record in records) == list(range(1, 33))
        assert problems(store) == []

    def test_several_memories_go_in_one_transaction(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            records = [insert(writer, draft(f"memory {n}")) for n in range(5)]
        assert [record.seq for record in records] == [1, 2, 3, 4, 5]
        assert read_once(store).fetch(range(1, 6)) == records

    def test_a_key_is_found_in_any_state(self, store: Store) -> None:
        record = remember(store, "tea", key="drink:tea")
        amend(store, record, "forget", state="deleted")
        with store.write(NAMESPACE) as writer:
            found = writer.by_key("drink:tea")
            assert found is not None
            assert found.state == "deleted"
            assert writer.by_key("drink:coffee") is None

    def test_keys_change_places_in_one_transaction_with_one_line_each(self, store: Store) -> None:
        tea, milk = remember(store, "tea", key="drink:a"), remember(store, "milk", key="drink:b")
        with store.write(NAMESPACE) as writer:
            for record in (tea, milk):
                writer.release_key(record.number)
            for record, key in ((tea, "drink:b"), (milk, "drink:a")):
                writer.put(replace(record, key=key), change("undo"), entry_of(record))
        assert [record.key for record in read_once(store).fetch([1, 2])] == ["drink:b", "drink:a"]
        assert store.position(NAMESPACE, None).seq == 4

    def test_only_an_active_memory_without_a_key_is_a_duplicate(self, store: Store) -> None:
        remember(store, "tea", key="drink:tea")
        forgotten = remember(store, "Tea")
        amend(store, forgotten, "forget", state="deleted")
        with store.write(NAMESPACE) as writer:
            assert writer.by_content(identity_of(forgotten)) is None
        again = remember(store, "TEA")
        with store.write(NAMESPACE) as writer:
            assert writer.by_content(identity_of(forgotten)) == again

    def test_the_same_text_in_another_scope_is_no_duplicate(self, store: Store) -> None:
        scopes: list[dict[str, str]] = [{}, *({name: value} for name in SCOPE_FIELDS for value in ("one", "two"))]
        records = [remember(store, "tea", **scope) for scope in scopes]
        assert [read_once(store).by_content(identity_of(record)) for record in records] == records
        assert read_once(store).by_content(Identity(content_hash("tea"), None, "one", "one")) is None

    def test_where_it_was_said_is_kept_with_the_line_and_erased_with_it(self, store: Store) -> None:
        record = remember(store, "tea")
        told = {"source_project": "apollo", "speaker": "Ann"}
        with store.write(NAMESPACE) as writer:
            writer.put(record, replace(change("observe"), provenance=told), entry_of(record))
            assert [line.change.provenance for line in writer.revisions(1)] == [{}, told]
            writer.erase(1, change("erase"))
        assert [line.change.provenance for line in read_once(store).revisions(1)] == [{}, {}, {}]

    def test_an_idempotency_key_finds_the_line_that_it_wrote_and_serves_once(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            record = insert(writer, draft("tea"), request="call-1")
        amend(store, record, text="milk")
        with store.write(NAMESPACE) as writer:
            (line,) = writer.log(LogFilter(request="call-1"), limit=9)
            assert (line.number, line.record) == (1, record)
            assert writer.log(LogFilter(request="call-2"), limit=9) == []
            writer.erase(1, change("erase"))
            assert [line.record for line in writer.log(LogFilter(request="call-1"), limit=9)] == [None]
        assert [revision.change.request for revision in read_once(store).revisions(1)] == ["call-1", None, None]

    def test_a_transaction_sees_what_it_wrote_itself(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            assert writer.by_number(1) is None
            record = insert(writer, draft("tea", key="drink:tea"))
            assert writer.by_number(1) == writer.by_key("drink:tea") == record
            assert writer.fetch([1]) == writer.page(Filter(), after=None, limit=9, newest=True) == [record]
            assert [scored.number for scored in writer.keyword_search(["tea"], Filter(), NOON, 9).best] == [1]
            assert [line.record for line in writer.revisions(1)] == [record]

    def test_a_read_sees_one_moment_while_others_write(self, store: Store) -> None:
        record = remember(store, "tea")
        written = threading.Event()

        def write() -> None:
            amend(store, record, text="green tea")
            written.set()

        thread = threading.Thread(target=write)
        with store.read(NAMESPACE) as reader:
            assert reader.by_number(1) == record
            thread.start()
            if self.reads_during_writes:
                assert written.wait(30)
            assert reader.by_number(1) == record
            assert reader.log(LogFilter(), limit=9) == reader.revisions(1)
            assert len(reader.revisions(1)) == 1
        thread.join()
        assert read_once(store).fetch([1])[0].text == "green tea"

    def test_neither_a_reader_nor_a_writer_outlives_its_transaction(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            insert(writer, draft("tea"))
        with store.read(NAMESPACE) as reader:
            assert reader.by_number(1)
        for ended in (reader, writer):
            with pytest.raises(RuntimeError, match="ended"):
                ended.by_number(1)

    def test_a_namespace_that_does_not_exist_reads_as_empty_and_is_not_made(self, store: Store) -> None:
        with store.read("nowhere") as reader:
            assert reader.fetch([1]) == reader.page(Filter(), after=None, limit=9, newest=True) == []
            assert reader.by_number(1) is reader.by_key("k") is reader.by_content(Identity(content_hash("tea"))) is None
            assert reader.log(LogFilter(), limit=9) == reader.damaged() == []
        assert store.namespaces() == []

    def test_a_record_of_another_namespace_or_number_is_refused(self, store: Store) -> None:
        record = remember(store, "tea", "other")
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.put(record, change(), entry_of(record))
        with pytest.raises(InvalidInput), store.write("other") as writer:
            writer.put(replace(record, number=7), change(), entry_of(record))
        assert store.namespaces() == ["other"]

    def test_several_namespaces_are_written_together_or_not_at_all(self, store: Store) -> None:
        with store.write_together(["one", "two"]) as (one, two):
            insert(one, draft("tea", "one"))
            insert(two, draft("milk", "two"))
        with pytest.raises(RuntimeError), store.write_together(["one", "two"]) as (one, two):
            insert(one, draft("lost", "one"))
            insert(two, draft("lost", "two"))
            raise RuntimeError
        for name, text in (("one", "tea"), ("two", "milk")):
            assert [record.text for record in read_once(store, name).fetch(range(1, 9))] == [text]
            assert store.position(name, None).seq == 1


def _everything(store: Store) -> tuple[object, ...]:
    every = Filter(states=STATES)
    return (
        store.namespaces(),
        read_once(store).page(every, after=None, limit=100, newest=False),
        read_once(store).page(Filter(tags=("hot",)), after=None, limit=100, newest=False),
        read_once(store).revisions(1),
        store.position(NAMESPACE, GENERATION),
        store.index_rows(NAMESPACE, GENERATION, 0, 100),
        store.index_changes(NAMESPACE, GENERATION, Position()),
        read_once(store).keyword_search(["tea", "coffee"], Filter(), NOON, 10).best,
        store.stats(GENERATION).namespaces,
    )
