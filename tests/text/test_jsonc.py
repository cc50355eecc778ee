"""JSON with comments and trailing commas says the same as without them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.text.jsonc import line_of, parse_jsonc, plain_json

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
BETWEEN = st.sampled_from(["", " ", "\n", '// it\'s, } a "comment"\n', '/* , ] \n " */', "\t/**/"])


def commented(value: Any, draw: Any) -> str:
    """The value as JSON, with anything that may stand between two of its parts."""
    if isinstance(value, list):
        items = [commented(item, draw) for item in value]  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, dict):
        items = [f"{json.dumps(name)}{draw(BETWEEN)}:{commented(item, draw)}" for name, item in value.items()]  # pyright: ignore[reportUnknownVariableType]
    else:
        return f"{draw(BETWEEN)}{json.dumps(value)}{draw(BETWEEN)}"
    begin, end = "[]" if isinstance(value, list) else "{}"
    trailing = draw(st.sampled_from(["", ","])) if items else ""
    return f"{draw(BETWEEN)}{begin}{','.join(items)}{trailing}{draw(BETWEEN)}{end}{draw(BETWEEN)}"


@settings(max_examples=100)
@given(st.data())
def test_comments_and_trailing_commas_change_nothing(data: st.DataObject):
    value = data.draw(VALUES)
    assert parse_jsonc(commented(value, data.draw)) == value


@given(VALUES)
def test_what_is_json_already_is_read_as_json(value: Any):
    text = json.dumps(value, indent=1)
    assert plain_json(text) == text
    assert parse_jsonc(text) == json.loads(text)


@given(st.text(alphabet='{}[]",:/*\\\n a1-', max_size=30))
def test_any_text_is_read_or_refused_with_its_line(text: str):
    line = 1
    try:
        parse_jsonc(text)
    except json.JSONDecodeError as error:
        line = error.lineno
    assert 1 <= line <= text.count("\n") + 1


@pytest.mark.parametrize(
    "text", ["", "{", "[,]", "[1,,]", "{,}", '{"a" 1}', "[NaN]", "[Infinity]", "/* open", "// only"]
)
def test_what_is_no_json_stays_none(text: str):
    with pytest.raises(json.JSONDecodeError):
        parse_jsonc(text)


def test_a_value_is_found_by_its_line():
    text = '{\n  // "decay": 1\n  "memory": {\n    "decay": {\n      "minFloor": 2\n    }\n  }\n}'
    assert line_of(text, ("memory", "decay", "minFloor")) == 5
    assert line_of(text, ("memory", "nothing")) == 3
