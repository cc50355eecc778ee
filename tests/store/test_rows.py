"""Values at the edge of what a row or a payload can hold."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from perdure.errors import InvalidInput, StoreDamaged
from perdure.ids import MemoryId, parse_reference
from perdure.store.rows import decode_payload, encode_payload, pack_id
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, change, draft, read_once, remember
from perdure.text.entry import entry_of


def test_numbers_come_back_equal_whatever_type_they_had(store: SqliteStore):
    remember(store, "tea", importance=1, confidence=-0.0)
    (record,) = read_once(store).find(parse_reference(1))
    assert (record.importance, record.confidence) == (1.0, 0.0)


def test_metadata_may_be_any_mapping(store: SqliteStore):
    remember(store, "tea", metadata=MappingProxyType({"a": MappingProxyType({"b": range(2)})}))
    assert read_once(store).fetch([1])[0].metadata == {"a": {"b": [0, 1]}}


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": float("inf")}])
def test_metadata_that_is_no_json_is_refused(store: SqliteStore, metadata: dict[str, object]):
    with pytest.raises(InvalidInput, match="JSON"):
        remember(store, "tea", metadata=metadata)


@pytest.mark.parametrize("id", ["", "not an id", "00", "0198c0de-0000-7000-8000-00000000000"])
def test_an_id_that_is_none_is_refused(store: SqliteStore, id: str):
    with pytest.raises(InvalidInput, match="is not an id"):
        pack_id(id)
    with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
        record = replace(draft("tea", id=MemoryId(id)), number=writer.next_number())
        writer.put(record, change(), entry_of(record))


def test_a_number_beyond_64_bits_is_refused(store: SqliteStore):
    with pytest.raises(InvalidInput):
        remember(store, "tea", observation_count=2**70)
    assert store.namespaces() == []


@pytest.mark.parametrize("body", ["{", "[]", "{}", '{"created_at": 5}', '{"nobody": 1}'])
def test_a_payload_that_cannot_be_read_is_damage(body: str):
    with pytest.raises(StoreDamaged):
        decode_payload(body)


def test_a_payload_leaves_out_what_is_empty_and_what_is_use():
    record = draft("tea", metadata={"z": 1, "a": [True, None]}, recall_count=5)
    body = encode_payload(record)
    assert "recall_count" not in body
    assert "title" not in body
    assert '"metadata":{"a":[true,null],"z":1}' in body
    assert decode_payload(body).record == replace(record, recall_count=0)
