from __future__ import annotations

from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput, InvalidReference
from perdure.ids import check_key, content_hash, new_id, parse_reference


def test_ids_are_uuid_version_seven_and_only_ever_grow():
    ids = [new_id() for _ in range(2000)]
    assert ids == sorted(set(ids))
    assert {UUID(found).version for found in ids} == {7}


def test_the_content_hash_ignores_case_and_white_space():
    assert content_hash("  Dark   MODE\n") == content_hash("dark mode")
    assert content_hash("dark mode") == "ddf377084a322427"
    assert content_hash("dark mode") != content_hash("light mode")


@pytest.mark.parametrize("ref", [7, "7", "#7"], ids=repr)
def test_a_number_may_be_written_in_three_ways(ref: int | str):
    assert parse_reference(ref).number == 7


def test_sixteen_digits_are_a_content_hash_and_never_a_number():
    found = parse_reference("1234567890123456")
    assert (found.number, found.hash) == (None, "1234567890123456")


def test_ids_and_keys_are_recognised():
    memory = new_id()
    assert parse_reference(memory.upper()).id == memory
    assert parse_reference("person:alice").key == "person:alice"


@pytest.mark.parametrize("ref", ["", "hello", "0", "#", "-1", "99999999999", True, "a b:c", ":x", "\x00", "12.5"])
def test_what_names_no_memory_is_an_error(ref: int | str):
    with pytest.raises(InvalidReference):
        parse_reference(ref)


@given(st.text())
def test_any_string_is_a_reference_or_a_clear_error(text: str):
    with suppress(InvalidReference):
        assert parse_reference(text).text == text.strip()


@pytest.mark.parametrize("key", ["location:new_york", "person:alice", "fact:weather today", "a:b:c"])
def test_keys_have_a_type_and_an_identifier(key: str):
    assert check_key(key) == key


@pytest.mark.parametrize("key", ["alice", ":alice", "person:", "1:2", "a b:c", "a:\n", "a:" + "x" * 300])
def test_other_strings_are_no_keys(key: str):
    with pytest.raises(InvalidInput):
        check_key(key)
