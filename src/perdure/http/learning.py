"""Routes of learning: making facts of conversations, and answering what only a person may decide."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import (
    ConsolidationRequest,
    FactQuestion,
    ParkedIds,
    ProposalAnswer,
    SavedMemory,
    TaskAnswer,
    TaskRequest,
)
from perdure.http.memories import Page
from perdure.http.routing import Asking, Routes, json_response
from perdure.jsonable import list_document, parked_document
from perdure.learn.merge_results import Saved
from perdure.learn.results import Consolidation, Decision, Fact, Proposal
from perdure.learn.task import ConsolidationTask
from perdure.model import ParkedRetry

LEARNING: Final = Routes("learning")
PARKED: Final = {"parked": list[dict[str, Any]]}


@LEARNING.add("POST", "/v1/consolidate", "write", summary="Make facts of the episodes that wait", answer=Consolidation)
def consolidate(caller: Asking, body: ConsolidationRequest) -> Response:
    """Facts are added, get more evidence, or end and are superseded; none is deleted. Undo takes it back."""
    return json_response(caller.memory.consolidate(**body.given()))


@LEARNING.add("GET", "/v1/facts", "read", summary="Find facts, or list the newest", answer={"facts": list[Fact]})
def facts(
    caller: Asking,
    *,
    query: str | None = None,
    about: Annotated[str | None, Query(description="Only what is known of this person or thing.")] = None,
    conversation_id: str | None = None,
    category: Annotated[list[str] | None, Query(description="Repeated: any of them.")] = None,
    history: Annotated[bool, Query(description="Also facts that ended.")] = False,
    limit: Page = 20,
) -> Response:
    """Each with how many episodes it is known from, and with the facts that it took the place of."""
    filters: Any = {"about": about, "conversation_id": conversation_id, "category": category}
    given = {name: value for name, value in filters.items() if value is not None}
    return json_response(list_document("facts", caller.memory.facts(query, limit=limit, history=history, **given)))


@LEARNING.add(
    "POST", "/v1/facts", "read", summary="Find facts by all filters that recall has", answer={"facts": list[Fact]}
)
def facts_by(caller: Asking, body: FactQuestion) -> Response:
    return json_response(list_document("facts", caller.memory.facts(**body.given())))


@LEARNING.add("POST", "/v1/save", "write", summary="Store a memory, and merge it with what says the same", answer=Saved)
def save(caller: Asking, body: SavedMemory) -> Response:
    """What contradicts it is never merged. One undo takes everything back."""
    return json_response(caller.memory.save_memory(**caller.own_session(body.given())))


@LEARNING.add(
    "POST", "/v1/consolidation", "read", summary="Hand out episodes that wait, for an agent to consolidate",
    answer={"task": ConsolidationTask | None},
)  # fmt: skip
def open_consolidation(caller: Asking, body: TaskRequest) -> Response:
    """`task` is null when nothing waits. Nothing is written."""
    return json_response({"task": caller.memory.open_consolidation(**body.given())})


@LEARNING.add(
    "POST", "/v1/consolidation/finish", "write", summary="Take back what became of a task", answer=Consolidation
)
def finish_consolidation(caller: Asking, body: TaskAnswer) -> Response:
    """It is a conflict when the episodes were consolidated, or changed, since."""
    return json_response(caller.memory.finish_consolidation(body.token, body.actions))


@LEARNING.add("GET", "/v1/parked", "read", summary="List what a model said that could not be used", answer=PARKED)
def parked(caller: Asking) -> Response:
    return json_response(parked_document(caller.memory.parked()))


@LEARNING.add(
    "POST", "/v1/parked/retry", "write", summary="Ask the model again about what is parked", answer=ParkedRetry
)
def retry_parked(caller: Asking, body: ParkedIds) -> Response:
    return json_response(caller.memory.retry_parked(body.ids))


@LEARNING.add(
    "POST",
    "/v1/parked/discard",
    "write",
    "delete",
    summary="Throw away what is parked",
    answer={"discarded": list[int]},
)
def discard_parked(caller: Asking, body: ParkedIds) -> Response:
    """Memories stay as they are."""
    return json_response({"discarded": caller.memory.discard_parked(body.ids)})


@LEARNING.add(
    "GET",
    "/v1/conflicts",
    "read",
    summary="List the pairs of memories that cannot both be true",
    answer={"proposals": list[Proposal], "uncompared": int | None},
)
def conflicts(caller: Asking, limit: Page = 20) -> Response:
    """Until somebody has decided: `/v1/review` accepts and rejects. `uncompared` memories wait for being compared; it
    is null where nobody compares.
    """
    proposals, uncompared = caller.memory.conflicts(limit=limit), caller.memory.uncompared()
    return json_response({**list_document("proposals", proposals), "uncompared": uncompared})


@LEARNING.add("GET", "/v1/review", "read", summary="List what waits for a person", answer={"proposals": list[Proposal]})
def review(caller: Asking, kind: Literal["merge", "conflict"] | None = None, limit: Page = 20) -> Response:
    """Pairs of memories that may say the same, or cannot both be true."""
    return json_response(list_document("proposals", caller.memory.review(kind, limit=limit)))


@LEARNING.add("POST", "/v1/review/{number}/accept", "write", summary="Do what is proposed", answer=Decision)
def accept(caller: Asking, number: int, body: ProposalAnswer) -> Response:
    """Only a person may. Of two that cannot both be true, `keep` names the one that stays; else it is the newer."""
    return json_response(caller.memory.accept(number, keep=body.keep))


@LEARNING.add("POST", "/v1/review/{number}/reject", "write", summary="Leave both memories as they are", answer=Decision)
def reject(caller: Asking, number: int) -> Response:
    """Only a person may. The pair is not proposed again, unless one of the two changes."""
    return json_response(caller.memory.reject(number))
