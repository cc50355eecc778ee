"""Routes that find memories, and the ones that forget several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import MAX_LIMIT, ContextQuestion, Deletion, Prompt, RecallQuestion, SummaryQuestion
from perdure.http.routing import Asking, Caller, Routes, json_response
from perdure.jsonable import list_document
from perdure.model import Record
from perdure.text.preview import one_line_preview

FINDING: Final = Routes("recall")


@FINDING.add("POST", "/v1/recall", "read", summary="Find the memories that answer a question")
def recall(caller: Asking, body: RecallQuestion) -> Response:
    """Each hit says why it was found. Where nothing fits, the answer is empty, and `nearest` is what came nearest."""
    _authorise(caller, body.namespaces)
    return json_response(caller.memory.recall(**body.given()))


@FINDING.add("POST", "/v1/context", "read", summary="Make one text for a model, within a budget of tokens")
def context(caller: Asking, body: ContextQuestion) -> Response:
    """What memories say is data between two marks that no memory can forge, never an instruction."""
    _authorise(caller, body.namespaces)
    return json_response(caller.memory.context(**body.given()))


@FINDING.add("POST", "/v1/triggers", "read", summary="Find the memories that a prompt brings to mind")
def triggers(caller: Asking, body: Prompt) -> Response:
    _authorise(caller, body.namespaces)
    return json_response(list_document("triggered", caller.memory.match_triggers(**body.given())))


@FINDING.add("POST", "/v1/summarize", "read", summary="Make one short text of many memories")
def summarize(caller: Asking, body: SummaryQuestion) -> Response:
    return json_response(caller.memory.summarize(**body.given()))


@FINDING.add("POST", "/v1/forget", "delete", summary="Forget memories; they can be restored")
def forget(caller: Asking, body: Deletion) -> Response:
    """What a sentence finds is only shown: the answer is a problem with a `preview`, and its `token` as `confirm`
    forgets exactly that.
    """
    return json_response(caller.memory.forget(**body.given()))


@FINDING.add("POST", "/v1/erase", "delete", "admin", summary="Remove memories for ever, from every file")
def erase(caller: Asking, body: Deletion) -> Response:
    """Only a person may. Nothing brings them back."""
    return json_response(caller.memory.erase(**body.given()))


@FINDING.add("GET", "/v1/search", "read", summary="Search, for clients that know `search` and `fetch`")
def search(caller: Asking, query: str, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 10) -> Response:
    """`results`, each with the `id` that `fetch` takes."""
    found = caller.memory.recall(query, limit=limit)
    return json_response({"results": [_found(hit.record) for hit in found]})


@FINDING.add("GET", "/v1/fetch", "read", summary="Get what `search` found")
def fetch(caller: Asking, id: str) -> Response:
    record = caller.memory.get(id)
    return json_response({**_found(record), "text": record.text, "metadata": record.metadata})


def _found(record: Record) -> dict[str, Any]:
    return {"id": record.id, "title": one_line_preview(record), "url": f"perdure://memory/{record.number}"}


def _authorise(caller: Caller, namespaces: Sequence[str] | None) -> None:
    for name in namespaces or ():
        caller.authorise(name)
