"""Routes about the store itself, and the ones that operators ask."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from queue import Queue
from threading import Thread
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Query
from starlette.responses import Response, StreamingResponse

from perdure.errors import NotAllowed
from perdure.http.bodies import ImportRequest, NewLimits, Work
from perdure.http.memories import Page
from perdure.http.metrics import MEDIA_TYPE
from perdure.http.routing import Asking, Caller, Routes, json_response
from perdure.jsonable import egress_document, stats_document, token_document
from perdure.model import Capacity, Egress, Imported, MaintenanceResult, State
from perdure.remote.decoding import hints_of
from perdure.store.stats import NamespaceStats

UPKEEP: Final = Routes("store")
# A token for some namespaces is told of those alone.
STATS: Final = {
    "namespaces": list[NamespaceStats], "path?": str, "engine?": str, "schema?": int, "bytes?": int,
    "generations?": list[dict[str, Any]],
}  # fmt: skip
WHOAMI: Final = {
    "actor": str, "token_id": str, "scopes": list[str], "granted_namespaces": list[str] | None, "writer": str,
    "expires_at": datetime | None,
}  # fmt: skip
EGRESS: Final = {**hints_of(Egress), "calls": list[dict[str, Any]]}
# How many lines of an export wait for a slow reader.
_AHEAD: Final = 256


@UPKEEP.add("GET", "/v1/stats", "read", summary="Count what is stored, by namespace", answer=STATS)
def stats(caller: Asking) -> Response:
    """Of the namespaces that the token is good for. Only one that is good for all is told about the file."""
    granted = caller.token.namespaces
    document = stats_document(caller.memory.stats(), granted or ())
    if granted is not None:
        document = {"namespaces": document["namespaces"]}
    return json_response(document)


@UPKEEP.add("GET", "/v1/whoami", "read", summary="Say what the token allows, and who it writes as", answer=WHOAMI)
def whoami(caller: Asking) -> Response:
    """`granted_namespaces` is null where it is good for all."""
    token = token_document(caller.token)
    return json_response({"actor": token["name"], **{name: token[name] for name in WHOAMI if name != "actor"}})


@UPKEEP.add("GET", "/v1/capacity", "read", summary="Say how full the namespace is", answer=Capacity)
def capacity(caller: Asking) -> Response:
    return json_response(caller.memory.capacity())


@UPKEEP.add("PATCH", "/v1/capacity", "admin", summary="Set the limits of the namespace", answer=Capacity)
def set_limits(caller: Asking, body: NewLimits) -> Response:
    """Only a person may. A lower limit evicts nothing by itself: the next write makes room."""
    return json_response(caller.memory.capacity(**body.given()))


@UPKEEP.add(
    "GET", "/v1/egress", "admin", whole_store=True, summary="List what left the server's machine", answer=EGRESS
)
def egress(caller: Asking, since: str | None = None, limit: Page = 20) -> Response:
    """Every request to a model elsewhere, without a word of any text."""
    return json_response(egress_document(caller.memory.egress(since=since, limit=limit)))


@UPKEEP.add("POST", "/v1/import", "write", summary="Take over memories that an export wrote", answer=Imported)
def import_memories(caller: Asking, body: ImportRequest) -> Response:
    """One bad record, and none is stored. Only a person may call them trusted."""
    if body.trusted and not caller.is_person:
        raise NotAllowed("Only a person may import memories as trusted.")
    source = body.records if body.lines is None else StringIO(body.lines)
    imported = caller.memory.import_(source or (), trusted=body.trusted, revive=body.revive, dry_run=body.dry_run)
    return json_response(imported)


@UPKEEP.add(
    "POST",
    "/v1/work",
    "admin",
    whole_store=True,
    summary="Do what is outstanding, such as missing vectors",
    answer=MaintenanceResult,
)
def work(caller: Asking, body: Work) -> Response:
    return json_response(caller.memory.work(**body.given()))


@UPKEEP.add(
    "GET", "/v1/export", "read", summary="Stream the namespace as JSON Lines",
    response_class=StreamingResponse,
)  # fmt: skip
def export(caller: Asking, state: Annotated[list[State], Query()] = ["active"]) -> Response:  # noqa: B006
    """What `perdure export` writes. The last line is whole only if the stream ended by itself."""
    return StreamingResponse(exported_lines(caller, state), media_type="application/x-ndjson")


@UPKEEP.add("GET", "/metrics", "admin", whole_store=True, summary="Figures for Prometheus", response_class=Response)
def metrics(caller: Asking) -> Response:
    text = caller.serving.metrics.text(caller.memory.stats())
    return Response(text.encode(), media_type=MEDIA_TYPE)


def add_health(app: FastAPI) -> None:
    """The one thing that everybody may ask, and it tells nothing else."""

    @app.get("/healthz", tags=["store"], summary="Whether the server answers")
    def healthz() -> dict[Literal["status"], Literal["ok"]]:
        return {"status": "ok"}


class _Gone(Exception):
    """The reader of a stream went away."""


class _LineQueue:
    """A text file to write to, whose lines somebody else reads. A writer who is faster waits."""

    def __init__(self) -> None:
        self.lines: Queue[str | BaseException | None] = Queue(_AHEAD)
        self.gone = False

    def write(self, text: str) -> int:
        if self.gone:
            raise _Gone
        self.lines.put(text)
        return len(text)


def exported_lines(caller: Caller, states: list[State]) -> Iterator[str]:
    """The lines of an export, while it is being made."""
    target = _LineQueue()

    def run() -> None:
        end: BaseException | None = None
        try:
            file: Any = target
            caller.memory.export(file, states=states)
        except BaseException as error:  # noqa: BLE001 - whoever reads has to hear of it
            end = error
        if not target.gone:
            target.lines.put(end)

    Thread(target=run, daemon=True).start()
    try:
        while (line := target.lines.get()) is not None:
            if isinstance(line, BaseException):
                raise line
            yield line
    finally:
        target.gone = True
        while not target.lines.empty():
            target.lines.get_nowait()
