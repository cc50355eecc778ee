"""Routes that find memories, and the ones that forget several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import (
    MAX_LIMIT,
    ContextQuestion,
    Deletion,
    EraseRequest,
    LearningsQuestion,
    Prompt,
    RecallQuestion,
    SeveralMemories,
    Suggestion,
    SummaryQuestion,
)
from perdure.http.routing import Asking, Caller, Routes, json_response
from perdure.jsonable import list_document, to_jsonable
from perdure.model import Context, Forgotten, Recall, Record, Summary, Triggered
from perdure.recall.learnings import LearningsFound
from perdure.remote.decoding import hints_of
from perdure.text.preview import one_line_preview

FINDING: Final = Routes("recall")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A memory as `search` lists it."""

    id: str
    title: str
    url: str


@FINDING.add("POST", "/v1/recall", "read", summary="Find the memories that answer a question", answer=Recall)
def recall(caller: Asking, body: RecallQuestion) -> Response:
    """Each hit says why it was found. Where nothing fits, the answer is empty, and `nearest` is what came nearest."""
    _authorise(caller, body.namespaces)
    return json_response(caller.memory.recall(**body.given()))


@FINDING.add(
    "POST", "/v1/context", "read", summary="Make one text for a model, within a budget of tokens", answer=Context
)
def context(caller: Asking, body: ContextQuestion) -> Response:
    """What memories say is data between two marks that no memory can forge, never an instruction."""
    _authorise(caller, body.namespaces)
    return json_response(caller.memory.context(**body.given()))


@FINDING.add(
    "POST",
    "/v1/triggers",
    "read",
    summary="Find the memories that a prompt brings to mind",
    answer={"triggered": list[Triggered]},
)
def triggers(caller: Asking, body: Prompt) -> Response:
    _authorise(caller, body.namespaces)
    return json_response(list_document("triggered", caller.memory.match_triggers(**body.given())))


@FINDING.add("POST", "/v1/summarize", "read", summary="Make one short text of many memories", answer=Summary)
def summarize(caller: Asking, body: SummaryQuestion) -> Response:
    return json_response(caller.memory.summarize(**body.given()))


@FINDING.add(
    "POST", "/v1/suggest", "read", summary="Find what a prompt brings to mind, and what fits it",
    answer={"records": list[Record]},
)  # fmt: skip
def suggest(caller: Asking, body: Suggestion) -> Response:
    """Without messages of conversations, and without constitutional memories."""
    _authorise(caller, body.namespaces)
    return json_response({"records": caller.memory.suggest(**body.given())})


@FINDING.add(
    "POST", "/v1/learnings", "read", summary="Find the learnings for somebody who starts to work", answer=LearningsFound
)
def learnings(caller: Asking, body: LearningsQuestion) -> Response:
    """It counts as no use until `injected` says so."""
    _authorise(caller, body.namespaces)
    return json_response(caller.memory.learnings(**body.given()))


@FINDING.add(
    "POST", "/v1/injected", "read", summary="Count that memories were put before a model", answer={"count": int}
)
def injected(caller: Asking, body: SeveralMemories) -> Response:
    """Each is one recall."""
    lines = [caller.memory.history(ref)[-1] for ref in body.refs]
    records = [line.record for line in lines if line.record is not None]
    caller.memory.injected(records)
    return json_response({"count": len(records)})


@FINDING.add("POST", "/v1/forget", "delete", summary="Forget memories; they can be restored", answer=Forgotten)
def forget(caller: Asking, body: Deletion) -> Response:
    """What a sentence finds is only shown: the answer is a problem with a `preview`, and its `token` as `confirm`
    forgets exactly that.
    """
    return json_response(caller.memory.forget(**body.given()))


@FINDING.add(
    "POST", "/v1/erase", "delete", "admin", summary="Remove memories for ever, from every file", answer=Forgotten
)
def erase(caller: Asking, body: EraseRequest) -> Response:
    """Only a person may. Nothing brings them back, so the first answer is a problem with a `preview`, also for one
    memory, and its `token` as `confirm` erases exactly that.
    """
    return json_response(caller.memory.erase(**body.given()))


@FINDING.add(
    "GET",
    "/v1/search",
    "read",
    summary="Search, for clients that know `search` and `fetch`",
    answer={"results": list[SearchResult]},
)
def search(caller: Asking, query: str, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 10) -> Response:
    """`results`, each with the `id` that `fetch` takes."""
    found = caller.memory.recall(query, limit=limit)
    return json_response({"results": [_found(hit.record) for hit in found]})


@FINDING.add(
    "GET",
    "/v1/fetch",
    "read",
    summary="Get what `search` found",
    answer={**hints_of(SearchResult), "text": str, "metadata": dict[str, Any]},
)
def fetch(caller: Asking, id: str) -> Response:
    record = caller.memory.get(id)
    return json_response({**to_jsonable(_found(record)), "text": record.text, "metadata": record.metadata})


def _found(record: Record) -> SearchResult:
    return SearchResult(record.id, one_line_preview(record), f"perdure://memory/{record.number}")


def _authorise(caller: Caller, namespaces: Sequence[str] | None) -> None:
    for name in namespaces or ():
        caller.authorise(name)
