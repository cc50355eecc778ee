"""Routes of learning: making facts of conversations, and answering what only a person may decide."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import ConsolidationRequest, ProposalAnswer
from perdure.http.memories import Page
from perdure.http.routing import Asking, Routes, json_response
from perdure.jsonable import list_document

LEARNING: Final = Routes("learning")


@LEARNING.add("POST", "/v1/consolidate", "write", summary="Make facts of the episodes that wait")
def consolidate(caller: Asking, body: ConsolidationRequest) -> Response:
    """Facts are added, get more evidence, or end and are superseded; none is deleted. Undo takes it back."""
    return json_response(caller.memory.consolidate(**body.given()))


@LEARNING.add("GET", "/v1/facts", "read", summary="Find facts, or list the newest")
def facts(
    caller: Asking,
    *,
    query: str | None = None,
    conversation_id: str | None = None,
    category: Annotated[list[str] | None, Query(description="Repeated: any of them.")] = None,
    history: Annotated[bool, Query(description="Also facts that ended.")] = False,
    limit: Page = 20,
) -> Response:
    """Each with how many episodes it is known from, and with the facts that it took the place of."""
    filters: Any = {"conversation_id": conversation_id, "category": category}
    given = {name: value for name, value in filters.items() if value is not None}
    return json_response(list_document("facts", caller.memory.facts(query, limit=limit, history=history, **given)))


@LEARNING.add("GET", "/v1/conflicts", "read", summary="List the pairs of memories that cannot both be true")
def conflicts(caller: Asking, limit: Page = 20) -> Response:
    """Until somebody has decided: `/v1/review` accepts and rejects."""
    return json_response(list_document("proposals", caller.memory.conflicts(limit=limit)))


@LEARNING.add("GET", "/v1/review", "read", summary="List what waits for a person")
def review(caller: Asking, kind: Literal["merge", "conflict"] | None = None, limit: Page = 20) -> Response:
    """Pairs of memories that may say the same, or cannot both be true."""
    return json_response(list_document("proposals", caller.memory.review(kind, limit=limit)))


@LEARNING.add("POST", "/v1/review/{number}/accept", "write", summary="Do what is proposed")
def accept(caller: Asking, number: int, body: ProposalAnswer) -> Response:
    """Only a person may. Of two that cannot both be true, `keep` names the one that stays; else it is the newer."""
    return json_response(caller.memory.accept(number, keep=body.keep))


@LEARNING.add("POST", "/v1/review/{number}/reject", "write", summary="Leave both memories as they are")
def reject(caller: Asking, number: int) -> Response:
    """Only a person may. The pair is not proposed again, unless one of the two changes."""
    return json_response(caller.memory.reject(number))
