"""Our own small validator against the reference one, and the sentences by which it names a fault."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.llm.schema import LIMITS, NOTES, SHAPES, fault, reduced
from perdure.model import Json

WORDS = st.sampled_from(["a", "b", "word", "ä", "\U0001f600", ""])
NUMBERS = st.one_of(st.integers(-3, 12), st.sampled_from([0.0, 1.0, 1.5, -2.5, 1e300]))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    size = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
            "properties": st.dictionaries(WORDS, inner, max_size=3),
            "required": st.lists(WORDS, max_size=2, unique=True),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": NUMBERS,
            "maximum": NUMBERS,
            "minItems": size,
            "maxItems": size,
            "minLength": size,
            "maxLength": size,
            "title": WORDS,
            "description": WORDS,
        },
    )


SCHEMAS = st.recursive(st.fixed_dictionaries({}, optional={"type": TYPES}), schemas, max_leaves=6)


@settings(max_examples=300)
@given(SCHEMAS, VALUES)
def test_the_validator_agrees_with_the_reference_one(schema: dict[str, Any], value: Any):
    reference: Any = pytest.importorskip("jsonschema").Draft202012Validator(schema)
    assert (fault(schema, value) is None) == reference.is_valid(value)


@settings(max_examples=100)
@given(SCHEMAS, VALUES)
def test_what_the_whole_schema_allows_its_reduced_form_allows_too(schema: dict[str, Any], value: Any):
    """A provider that follows the reduced form can always give an answer that the whole one takes."""
    if fault(schema, value) is None:
        for known in (SHAPES, SHAPES - {"const"}, SHAPES | LIMITS):
            assert fault(reduced(schema, known), value) is None


@settings(max_examples=100)
@given(SCHEMAS)
def test_a_reduced_schema_uses_only_the_words_that_are_known(schema: dict[str, Any]):
    known = SHAPES - {"const"}

    def check(part: Any) -> None:
        assert set(part) <= known | NOTES
        for inner in [*part.get("properties", {}).values(), *part.get("anyOf", [])]:
            check(inner)
        for word in ("items", "additionalProperties"):
            if isinstance(part.get(word), dict):
                check(part[word])

    check(reduced(schema, known))


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"type": "object"}, [], "The answer is a list and must be an object."),
        ({"type": ["string", "null"]}, 7, "The answer is 7 and must be a string or null."),
        ({"type": "integer"}, 1.5, "The answer is 1.5 and must be a whole number."),
        ({"type": "integer"}, True, "The answer is true and must be a whole number."),
        ({"enum": ["add", "drop"]}, "ADD", 'The answer is "ADD" and must be "add" or "drop".'),
        ({"const": 1}, True, "The answer is true and must be 1."),
        ({"maximum": 1}, 2, "The answer is 2; the most is 1."),
        ({"minLength": 2}, "ä", "The answer has 1 characters; the least is 2."),
        (
            {"properties": {"facts": {"items": {"required": ["id"]}}}},
            {"facts": [{"id": 1}, {}]},
            'facts[1] has no "id".',
        ),
        ({"items": {"properties": {"a": {"type": "null"}}}}, [{"a": 0}], "[0].a is 0 and must be null."),
        (
            {"anyOf": [{"type": "null"}, {"type": "string"}]},
            3,
            "The answer has none of the allowed forms; of the last: The answer is 3 and must be a string.",
        ),
        ({"type": "null"}, "x" * 100, f'The answer is "{"x" * 59}… and must be null.'),
    ],
)
def test_a_fault_is_named_with_its_place(schema: dict[str, Any], value: Json, sentence: str):
    assert fault(schema, value) == sentence


def test_a_schema_that_asks_for_a_check_that_nobody_makes_is_an_error():
    with pytest.raises(TypeError, match="'pattern'"):
        fault({"type": "string", "pattern": "x"}, "x")
