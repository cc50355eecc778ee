"""When nothing is found: what stood in the way, and what to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast

from perdure.model import INDEXED_STATES, Filter
from perdure.recall.concepts import NO_NEEDS, Needs
from perdure.recall.question import Question
from perdure.store.port import Store
from perdure.text.words import query_words

NO_MEMORIES: Final = "There is no memory in {} yet."
NOT_ALL: Final = "No memory holds all of these. Memories with each: {}. Ask with fewer concepts."
NO_PHRASE: Final = "No memory holds the exact phrase; without the quotation marks {}."
FILTERED: Final = "Nothing passes all of the filters; without {} {}."
OTHER_WORDS: Final = "No memory holds any of these words; other words may find it."

_ORDINARY: Final = Filter()
_ANY: Final = Filter(states=INDEXED_STATES)
# What a caller calls each part of a filter; the two ends of a time are one.
_PARTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("tags", ("tags",)),
    ("category", ("categories",)),
    ("source", ("sources",)),
    ("context_type", ("context_type",)),
    ("tier", ("tier",)),
    ("source_project", ("source_project",)),
    ("spec_folder", ("spec_folder",)),
    ("conversation_id", ("conversation_id",)),
    ("the time", ("since", "until")),
    ("states", ("states",)),
)


def reasons(question: Question, store: Store, count: Callable[[Question], int]) -> Iterator[str]:
    """`count` says how many would be found for another question."""
    if not any(store.page(name, _ANY, after=None, limit=1, newest=True) for name in question.namespaces):
        # Of other namespaces nothing is said here, not even their names: who asks may not see them.
        yield NO_MEMORIES.format(" or ".join(map(repr, question.namespaces)) or "no namespace")
        return
    found = [*_filters(question, count), *_needs(question, count)]
    yield from found
    if not found and question.words and not count(question._replace(filter=_ORDINARY, needs=NO_NEEDS)):
        yield OTHER_WORDS


def _filters(question: Question, count: Callable[[Question], int]) -> Iterator[str]:
    for name, fields in _PARTS:
        usual = {field: getattr(_ORDINARY, field) for field in fields}
        given = {field: getattr(question.filter, field) for field in fields}
        if given != usual:
            others = count(question._replace(filter=replace(question.filter, **usual)))
            if others:
                yield FILTERED.format(f"{name} {_said(given)}".strip(), _number(others))


def _needs(question: Question, count: Callable[[Question], int]) -> Iterator[str]:
    concepts, phrases = question.needs.concepts, question.needs.phrases
    if concepts:
        holding = {each: count(question._replace(words=query_words(each), needs=Needs((each,)))) for each in concepts}
        yield NOT_ALL.format(", ".join(f"{concept} ({number:,})" for concept, number in holding.items()))
    if phrases:
        others = count(question._replace(needs=Needs(concepts)))
        if others:
            yield NO_PHRASE.format(_number(others))


def _said(given: Mapping[str, Any]) -> str:
    return " to ".join(_value(value) for value in given.values() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}"
    return " ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)


def _number(count: int) -> str:
    return "there is 1" if count == 1 else f"there are {count:,}"
