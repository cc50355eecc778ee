"""Routes that look back and go back: the log, undo, checkpoints."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from perdure.http.bodies import MAX_LIMIT, CheckpointRestore, NewCheckpoint, UndoRequest
from perdure.http.routing import Asking, Caller, Routes, json_response
from perdure.jsonable import list_document, log_document, revert_document
from perdure.lifecycle.checkpoint import MAX_LISTED, no_checkpoint
from perdure.model import Checkpoint, Operation, RevertResult, Revision
from perdure.remote.decoding import hints_of

LOG: Final = Routes("history")
REVERTED: Final = {**hints_of(RevertResult), "done": bool}


@LOG.add(
    "GET",
    "/v1/log",
    "read",
    summary="List who did what, newest first",
    answer={"revisions": list[Revision], "next": int | None},
)
def log(  # noqa: PLR0913 - one for each thing a caller may decide
    caller: Asking,
    *,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 20,
    cursor: Annotated[int | None, Query(ge=1, description="`next` of the page before.")] = None,
    batch: str | None = None,
    session: str | None = None,
    actor: str | None = None,
    operation: Operation | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Response:
    lines = caller.memory.log(
        limit=limit, before=cursor, batch=batch, session=session, actor=actor, operation=operation, since=since,
        until=until,
    )  # fmt: skip
    return json_response(log_document(lines, limit))


@LOG.add(
    "POST",
    "/v1/undo",
    "write",
    "delete",
    summary="Take back what one call, one session or one actor did",
    answer=REVERTED,
)
def undo(caller: Asking, body: UndoRequest) -> Response:
    """If others changed one of the memories since, it is a conflict and nothing happens, unless `force` is given."""
    if body.all_namespaces:
        caller.authorise(None)
    return json_response(revert_document(caller.memory.undo(**body.given())))


@LOG.add(
    "GET",
    "/v1/checkpoints",
    "read",
    summary="List the checkpoints, newest first",
    answer={"checkpoints": list[Checkpoint]},
)
def checkpoints(
    caller: Asking, spec_folder: str | None = None, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50
) -> Response:
    """Those of all namespaces are for a token that is good for all."""
    listed = caller.memory.checkpoints(spec_folder=spec_folder, limit=MAX_LISTED)
    shown = [each for each in listed if each.namespace is not None or caller.token.namespaces is None]
    return json_response(list_document("checkpoints", shown[:limit]))


@LOG.add(
    "POST", "/v1/checkpoints", "write", status_code=201, summary="Give the present state a name", answer=Checkpoint
)
def create_checkpoint(caller: Asking, body: NewCheckpoint) -> Response:
    if body.all_namespaces:
        caller.authorise(None)
    fields: Any = body.given("name")
    return json_response(caller.memory.checkpoint(body.name, **fields), 201)


@LOG.add(
    "POST", "/v1/checkpoints/{name:name}/restore", "write", "delete", summary="Go back to a checkpoint", answer=REVERTED
)
def restore_checkpoint(caller: Asking, name: str, body: CheckpointRestore) -> Response:
    """What came later stays, unless `clear_existing` removes it. The answer's batch undoes it."""
    require_visible(caller, name)
    return json_response(revert_document(caller.memory.restore_checkpoint(name, **body.given())))


@LOG.add(
    "DELETE",
    "/v1/checkpoints/{name:name}",
    "delete",
    summary="Delete the name of a state; the memories stay",
    answer=Checkpoint,
)
def delete_checkpoint(caller: Asking, name: str) -> Response:
    require_visible(caller, name)
    return json_response(caller.memory.delete_checkpoint(name))


def require_visible(caller: Caller, name: str) -> None:
    """A checkpoint that leads back in all namespaces is not there for a token of some."""
    if caller.token.namespaces is not None:
        found = (each for each in caller.memory.checkpoints(limit=MAX_LISTED) if each.name == name)
        if any(each.namespace is None for each in found):
            raise no_checkpoint(name)
