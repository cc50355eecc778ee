"""Routes of learning: making facts of conversations, and answering what only a person may decide."""

from __future__ import annotations

from typing import Final, Literal

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
