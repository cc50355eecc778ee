"""Why nothing was found, and what to try next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, cast

from perdure.clock import local_day
from perdure.model import Filter, Hit
from perdure.recall.query import ParsedQuery, RequiredTerms, SearchRequest
from perdure.store.port import Store
from perdure.text.preview import clip, one_line
from perdure.text.words import query_words
from perdure.values import replace
from perdure.visibility import where_in_words

NO_MEMORIES: Final = "There is no memory in {} yet."
NOT_ALL: Final = "No memory holds all of these. Memories with each: {}. Ask with fewer concepts."
NO_PHRASE: Final = "No memory holds the exact phrase; without the quotation marks {}."
FILTERED: Final = "Nothing passes all of the filters; without {} {}."
NEAREST: Final = (
    "Nothing here is about that. The nearest is {} with a relevance of {:.2f}, below {:g}; other words may help."
)
NOTHING_NEAR: Final = "Nothing is about that, with the filters or without them; other words may help."
OTHER_WORDS: Final = "No memory holds any of these words; other words may find it."

_PREVIEW: Final = 60
_NO_FILTER: Final = Filter()
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
    ("key_type", ("key_type",)),
    ("where", ("where",)),
    ("importance", ("min_importance", "max_importance")),
    ("the time", ("since", "until")),
    ("states", ("states",)),
)


def explain_no_results(
    request: SearchRequest,
    query: ParsedQuery,
    store: Store,
    count: Callable[[SearchRequest, ParsedQuery], int],
    nearest: Hit | None,
) -> list[str]:
    """`count` says how many memories another search would find; `nearest` was found, and does not fit."""
    for name in request.namespaces:
        with store.read(name) as reader:
            if reader.load().items:
                break
    else:
        # Of other namespaces nothing is said here, not even their names: who asks may not see them.
        return [NO_MEMORIES.format(" or ".join(map(repr, request.namespaces)) or "no namespace")]
    notes = list(explain_filters(request, query, count))
    required = query.required or RequiredTerms()
    concepts = required.concepts
    if concepts:
        holding = {
            concept: count(request, replace(query, words=query_words(concept), required=RequiredTerms((concept,))))
            for concept in concepts
        }
        notes.append(NOT_ALL.format(", ".join(f"{concept} ({number:,})" for concept, number in holding.items())))
    if required.phrases:
        others = count(request, replace(query, required=RequiredTerms(concepts) if concepts else None))
        if others:
            notes.append(NO_PHRASE.format(_there_are(others)))
    if nearest is not None:
        record = nearest.record
        # Notes stand outside of the envelope: what a model is told there is nothing that a memory says.
        said = "" if request.by_model else f" {clip(one_line(record.title or record.text), _PREVIEW)!r}"
        notes.append(NEAREST.format(f"#{record.number}{said}", nearest.relevance, request.min_relevance))
    elif not notes and query.words:
        unfiltered = Filter(hidden=request.filter.hidden)
        wider, free = replace(request, filter=unfiltered), replace(query, required=None)
        others = count(wider, free)
        if not others:
            notes.append(NOTHING_NEAR if count(replace(wider, min_relevance=0.0), free) else OTHER_WORDS)
        elif request.filter != unfiltered:
            notes.append(FILTERED.format("any", _there_are(others)))
    return notes


def explain_filters(
    request: SearchRequest, query: ParsedQuery, count: Callable[[SearchRequest, ParsedQuery], int]
) -> Iterator[str]:
    """What would be found without one part of the filter."""
    for name, fields in _PARTS:
        usual = {field: getattr(_NO_FILTER, field) for field in fields}
        given = {field: getattr(request.filter, field) for field in fields}
        if given != usual:
            others = count(replace(request, filter=replace(request.filter, **usual)), query)
            if others:
                words = " to ".join(_in_words(field, value) for field, value in given.items() if value is not None)
                yield FILTERED.format(f"{name} {words}".strip(), _there_are(others))


def _in_words(field: str, value: Any) -> str:
    if field == "where":
        return where_in_words(value)
    if isinstance(value, datetime):
        return local_day(value)
    return " ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)


def _there_are(count: int) -> str:
    return "there is 1" if count == 1 else f"there are {count:,}"
