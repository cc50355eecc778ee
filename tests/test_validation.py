from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput, PerdureError, TextTooLong, UnknownChoice
from perdure.validation import MAX_TEXT_BYTES, check_fields, check_filters, check_namespace, check_text

BAD_FIELDS: list[tuple[dict[str, Any], type[PerdureError], str]] = [
    ({"category": "moods"}, UnknownChoice, "moods"),
    ({"tier": "platinum"}, UnknownChoice, "tier"),
    ({"context_type": "gossip"}, UnknownChoice, "context_type"),
    ({"trust": "absolute"}, UnknownChoice, "trust"),
    ({"mood": "good"}, UnknownChoice, "no field 'mood'"),
    ({"key": "no colon"}, InvalidInput, "key"),
    ({"key": "person:"}, InvalidInput, "key"),
    ({"valid_at": "next Tuesday"}, InvalidInput, "valid_at"),
    ({"valid_at": 12}, InvalidInput, "valid_at"),
    ({"expires_at": "0"}, InvalidInput, "expires_at"),
    ({"importance": 1.5}, InvalidInput, "importance"),
    ({"importance": float("nan")}, InvalidInput, "importance"),
    ({"confidence": True}, InvalidInput, "confidence"),
    ({"confidence": "certain"}, InvalidInput, "high, medium, low"),
    ({"confidence": "0.5"}, InvalidInput, "confidence"),
    ({"tags": "ui"}, InvalidInput, "tags"),
    ({"tags": [""]}, InvalidInput, "tags"),
    ({"tags": [7]}, InvalidInput, "tags"),
    ({"tags": map(str, range(10**6))}, InvalidInput, "more than 64"),
    ({"keywords": [str(n) for n in range(11)]}, InvalidInput, "more than 10"),
    ({"title": "x" * 1025}, TextTooLong, "title"),
    ({"title": "  "}, InvalidInput, "title is empty"),
    ({"source": None}, InvalidInput, "source"),
    ({"metadata": {"bad key": 1}}, InvalidInput, "bad key"),
    ({"metadata": {"when": object()}}, InvalidInput, "JSON"),
    ({"metadata": {"x": float("inf")}}, InvalidInput, "JSON"),
    ({"metadata": {"x": "a\x00b"}}, InvalidInput, "NUL"),
    ({"metadata": {"x": "y" * 70_000}}, TextTooLong, "metadata"),
    ({"metadata": ["x"]}, InvalidInput, "mapping"),
]


@pytest.mark.parametrize(("fields", "error", "words"), BAD_FIELDS, ids=lambda value: str(value)[:40].split(" at 0x")[0])
def test_a_bad_field_is_one_clear_error_that_names_it(fields: dict[str, Any], error: type[PerdureError], words: str):
    with pytest.raises(error) as raised:
        check_fields(fields)
    assert words in raised.value.sentence
    assert raised.value.remedy


def test_fields_come_back_clean_and_typed():
    clean = check_fields(
        {"tags": [" ui ", "ui", "b"], "valid_at": "2026-03-14", "importance": 1, "metadata": {"a": [1]}, "title": None}
    )
    assert clean == {
        "tags": ("ui", "b"),
        "valid_at": datetime(2026, 3, 14, tzinfo=UTC),
        "importance": 1.0,
        "metadata": {"a": [1]},
        "title": None,
    }


def test_a_category_of_ones_own_is_accepted_once_it_is_known():
    assert check_fields({"category": "moods"}, {"moods"}) == {"category": "moods"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidInput),
        (" \n\t", InvalidInput),
        ("a\x00b", InvalidInput),
        ("half \ud800 pair", InvalidInput),
        (b"bytes", InvalidInput),
        (None, InvalidInput),
        ("x" * (MAX_TEXT_BYTES + 1), TextTooLong),
        ("é" * (MAX_TEXT_BYTES // 2 + 1), TextTooLong),
    ],
    ids=["empty", "blank", "NUL", "surrogate", "bytes", "none", "long", "long in bytes"],
)
def test_a_text_that_cannot_be_stored_is_refused(text: Any, error: type[PerdureError]):
    with pytest.raises(error):
        check_text(text)


def test_a_text_of_exactly_one_mebibyte_is_accepted():
    assert len(check_text("x" * MAX_TEXT_BYTES)) == MAX_TEXT_BYTES


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1).filter(str.strip))
def test_any_other_text_passes_untouched(text: str):
    assert check_text(text) == text


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 201, "\x00", 5, "\x7f"])
def test_a_namespace_must_be_a_printable_name(name: Any):
    with pytest.raises(InvalidInput):
        check_namespace(name)


@pytest.mark.parametrize("name", ["default", "team a", "user:42", "'; DROP TABLE memory; --", "東京"])
def test_hostile_looking_namespaces_are_only_names(name: str):
    assert check_namespace(name) == name


@pytest.mark.parametrize(
    "filters",
    [
        {"colour": "red"},
        {"tier": "x"},
        {"states": ["gone"]},
        {"since": "soon"},
        {"context_type": "x"},
        {"category": "x"},
    ],
)
def test_a_misspelt_filter_is_an_error_and_not_an_empty_answer(filters: dict[str, Any]):
    with pytest.raises(InvalidInput):
        check_filters(filters)


def test_filters_take_one_value_or_several():
    one, several = (
        check_filters({"category": "goal", "tags": "a"}),
        check_filters({"category": ["goal"], "tags": ["a"]}),
    )
    assert one == several
    assert check_filters({"category": None}) == check_filters({})
