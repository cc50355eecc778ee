"""Whatever JSON a provider sends back, an adapter gives a text or one of the errors that callers expect."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm.scripted import ABOUT_BRIDGES, GOOD
from llm.wires import WIRES, Wire

from perdure.errors import ModelUnavailable
from perdure.llm.port import LanguageModel
from perdure.llm.structured import ask

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)


class Answering:
    """In the place of a client, and of the options that make one: gives one answer, whatever it is asked."""

    provider = model = "testing"
    url = "http://127.0.0.1"

    def __init__(self, value: Any) -> None:
        self._value = value

    def client(self, *_: Any, **__: Any) -> Answering:
        return self

    def post(self, *_: Any, **__: Any) -> Any:
        return self._value


def opened(wire: Wire, value: Any) -> LanguageModel:
    return importlib.import_module(wire.module).open_model(wire.model, Answering(value))


@st.composite
def spoiled(draw: st.DrawFn, good: Any) -> Any:
    """A good answer in which one value, however deep, is something else or not there."""
    kind = type(good).__name__
    inner: dict[Any, Any] = (
        {place: good[place] for place in range(len(good))} if kind == "list" else good if kind == "dict" else {}
    )
    if not inner or draw(st.booleans()):
        return draw(ANYTHING)
    chosen = draw(st.sampled_from(list(inner)))
    if draw(st.integers(0, 4)) == 0:
        changed = {key: value for key, value in inner.items() if key != chosen}
    else:
        changed = {**inner, chosen: draw(spoiled(inner[chosen]))}
    return list(changed.values()) if kind == "list" else changed


@pytest.mark.parametrize("provider", WIRES)
@settings(max_examples=100)
@given(st.data())
def test_whatever_is_answered_it_is_a_text_or_a_model_that_is_unavailable(provider: str, data: st.DataObject):
    wire = WIRES[provider]
    whole = data.draw(st.sampled_from([wire.says(GOOD), *wire.refusals]))
    value = data.draw(spoiled(whole))
    try:
        answer = ask(opened(wire, value), ABOUT_BRIDGES, seconds=60)
    except ModelUnavailable as error:
        str(error).encode()
    else:
        assert answer == {"keywords": ["bridge", "Limmat"]}
