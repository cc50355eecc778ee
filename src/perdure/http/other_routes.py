"""Routes that no row of the table of operations can say: streams, files, conversations, and answers for clients that
are not Perdure's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from queue import Queue
from threading import Thread
from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI, Query
from starlette.responses import Response, StreamingResponse

from perdure.errors import InvalidInput, NotAllowed, NotFound, VersionConflict, shown
from perdure.http.bodies import (
    MAX_LIMIT,
    CorrectionSentence,
    ImportRequest,
    Limit,
    Message,
    MessagesImport,
    NewMessages,
    SeveralMemories,
)
from perdure.http.metrics import MEDIA_TYPE
from perdure.http.routing import Asking, Caller, header_text, json_response
from perdure.http.verbs import Key, Match, answer_with, expected_version, routes_of
from perdure.ids import is_sentence
from perdure.jsonable import to_jsonable, token_document
from perdure.model import Forgotten, Imported, Page, Recall, Record, Remembered, State
from perdure.remote.signatures import hints_of
from perdure.text.preview import one_line_preview

MEMORIES: Final = routes_of("memories")
FINDING: Final = routes_of("recall")
CONVERSATIONS: Final = routes_of("conversations")
LEARNING: Final = routes_of("learning")
LOG: Final = routes_of("history")
UPKEEP: Final = routes_of("store")
WHOAMI: Final = {
    "actor": str, "token_id": str, "scopes": list[str], "granted_namespaces": list[str] | None, "writer": str,
    "expires_at": datetime | None,
}  # fmt: skip
# How many lines of an export wait for a slow reader.
_MAX_WAITING_LINES: Final = 256
_LINES: Final = "application/x-ndjson"


# -- single memories ---------------------------------------------------------------------------------------------------


@MEMORIES.add(
    "GET", "/v1/reference", "read", summary="Say which memory a reference means",
    answer={"id": str, "number": int},
)  # fmt: skip
def reference(caller: Asking, ref: str) -> Response:
    """For a key that cannot stand in an address, such as one that ends in `/history`. It counts as no use."""
    line = caller.memory.history(ref)[-1]
    return json_response({"id": line.memory, "number": line.number})


@MEMORIES.add("POST", "/v1/correct", "write", summary="Correct the memory that a sentence is about", answer=Remembered)
def correct(caller: Asking, body: CorrectionSentence) -> Response:
    """What would be corrected is only shown: the answer is a problem with a `preview`, and its `token` as `confirm`
    corrects exactly that.
    """
    if not is_sentence(body.sentence):
        raise InvalidInput(
            f"{shown(body.sentence)} is not a sentence.",
            remedy="Say what holds now in a few words, or PATCH the memory by its reference; nothing was changed.",
        )
    return answer_with(caller.memory.update(body.sentence, text=body.text, confirm=body.confirm))


@MEMORIES.add(
    "DELETE", "/v1/memories/{ref:name}", "delete", summary="Forget a memory; it can be restored", answer=Forgotten
)
def forget(caller: Asking, ref: str, if_match: Match = None) -> Response:
    memory, expected = caller.memory, expected_version(if_match)
    # A sentence names no memory, and what looks like one must not select others.
    number = memory.get(ref).number
    confirm: bool | str = False
    if expected is not None:
        preview = memory.forget(number, dry_run=True)
        if [record.version for record in preview.records] != [expected]:
            raise VersionConflict(f"Memory #{number} has another version than {expected} now.")
        # The token is good for exactly what the preview showed.
        confirm = preview.token
    return json_response(memory.forget(number, confirm=confirm))


# -- finding -----------------------------------------------------------------------------------------------------------


@FINDING.add(
    "POST", "/v1/injected", "read", summary="Count that memories were put before a model", answer={"count": int}
)
def injected(caller: Asking, body: SeveralMemories) -> Response:
    """Each is one recall."""
    lines = [caller.memory.history(ref)[-1] for ref in body.refs]
    records = [line.record for line in lines if line.record is not None]
    caller.memory.injected(records)
    return json_response({"count": len(records)})


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A memory as `search` lists it."""

    id: str
    title: str
    url: str


@FINDING.add(
    "GET", "/v1/search", "read", summary="Search, for clients that know `search` and `fetch`",
    answer={"results": list[SearchResult]},
)  # fmt: skip
def search(caller: Asking, query: str, limit: Limit = 10) -> Response:
    """`results`, each with the `id` that `fetch` takes."""
    found = caller.memory.recall(query, limit=limit)
    return json_response({"results": [_result(hit.record) for hit in found]})


@FINDING.add(
    "GET", "/v1/fetch", "read", summary="Get what `search` found",
    answer={**hints_of(SearchResult), "text": str, "metadata": dict[str, Any]},
)  # fmt: skip
def fetch(caller: Asking, id: str) -> Response:
    record = caller.memory.get(id)
    return json_response({**to_jsonable(_result(record)), "text": record.text, "metadata": record.metadata})


def _result(record: Record) -> SearchResult:
    return SearchResult(record.id, one_line_preview(record), f"perdure://memory/{record.number}")


# -- conversations -----------------------------------------------------------------------------------------------------


@CONVERSATIONS.add("GET", "/v1/conversations/{id:path}/messages", "read", summary="List the last messages", answer=Page)
def messages(
    caller: Asking,
    id: str,
    limit: Limit = MAX_LIMIT,
    episode: Annotated[str | None, Query(description="Of this episode alone.")] = None,
) -> Response:
    """In the order in which they were said."""
    # Its last line in the log: to look at it so is no use of it.
    record = None if episode is None else caller.memory.history(episode)[-1].record
    if episode is not None and record is None:
        raise NotFound(f"The episode {shown(episode)} was erased.")
    found = caller.memory.conversation(id).messages(limit=limit, episode=record)
    return json_response({"records": found, "next": None})


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/batch", "write", summary="Store several messages, all or none",
    answer=Imported,
)  # fmt: skip
def add_messages(caller: Asking, id: str, body: NewMessages) -> Response:
    messages = map(caller.own_session, body.messages)
    return json_response(caller.memory.conversation(id).add_messages(messages))


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/end", "write", summary="Say that nothing follows for now",
    answer={"ended": bool},
)  # fmt: skip
def end(caller: Asking, id: str) -> Response:
    """The next work learns from what was said, without waiting for silence. False where that was known."""
    return json_response({"ended": caller.memory.conversation(id).end()})


@CONVERSATIONS.add(
    "POST", "/v1/messages", "write", summary="Take over conversations that were written down elsewhere",
    answer=Imported,
)  # fmt: skip
def import_messages(caller: Asking, body: MessagesImport) -> Response:
    """What is stored already is not stored again."""
    source = body.messages if body.lines is None else StringIO(body.lines)
    return json_response(caller.memory.import_messages(source or (), dry_run=body.dry_run))


@CONVERSATIONS.add(
    "POST", "/v1/conversations/{id:path}/messages", "write", repeatable=True, status_code=201,
    summary="Store what somebody said", answer=Remembered,
)  # fmt: skip
def add_message(caller: Asking, id: str, body: Message, idempotency_key: Key = None) -> Response:
    message = caller.own_session(body.given())
    done = caller.memory.conversation(id).add_message(**message, idempotency_key=header_text(idempotency_key))
    return json_response(done, 201, {"ETag": f'"{done.record.version}"'})


@CONVERSATIONS.add(
    "GET", "/v1/episodes", "read", summary="List or search the episodes of conversations", answer=Recall | Page
)
def episodes(
    caller: Asking,
    query: str | None = None,
    conversation_id: str | None = None,
    limit: Limit = 20,
    cursor: Annotated[int | None, Query(ge=1, description="`next` of the page before; not with a query.")] = None,
) -> Response:
    """With a `query` the best first, else the newest first."""
    filters: Any = {} if conversation_id is None else {"conversation_id": conversation_id}
    if query is not None:
        return json_response(caller.memory.episodes(query, limit=limit, **filters))
    return json_response(caller.memory.list(key_type="episode", limit=limit, after=cursor, **filters))


# -- the store ---------------------------------------------------------------------------------------------------------


@UPKEEP.add("GET", "/v1/whoami", "read", summary="Say what the token allows, and who it writes as", answer=WHOAMI)
def whoami(caller: Asking) -> Response:
    """`granted_namespaces` is null where it is good for all."""
    token = token_document(caller.token)
    return json_response({"actor": token["name"], **{name: token[name] for name in WHOAMI if name != "actor"}})


@UPKEEP.add("POST", "/v1/import", "write", summary="Take over memories that an export wrote", answer=Imported)
def import_memories(caller: Asking, body: ImportRequest) -> Response:
    """One bad record, and none is stored. Only the token of a person may call them trusted."""
    if body.trusted and caller.token.writer != "person":
        raise NotAllowed("Only a person may import memories as trusted.")
    source = body.records if body.lines is None else StringIO(body.lines)
    imported = caller.memory.import_(source or (), trusted=body.trusted, revive=body.revive, dry_run=body.dry_run)
    return json_response(imported)


@UPKEEP.add(
    "GET", "/v1/export", "read", summary="Stream the namespace as JSON Lines",
    response_class=StreamingResponse, responses={200: {"description": "Done", "content": {_LINES: {}}}},
)  # fmt: skip
def export(caller: Asking, state: Annotated[list[State], Query()] = ["active"]) -> Response:  # noqa: B006
    """What `perdure export` writes. The last line is whole only if the stream ended by itself."""
    return StreamingResponse(exported_lines(caller, state), media_type=_LINES)


@UPKEEP.add(
    "GET", "/metrics", "admin", whole_store=True, summary="Figures for Prometheus",
    response_class=Response, responses={200: {"description": "Done", "content": {"text/plain": {}}}},
)  # fmt: skip
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
        self.lines: Queue[str | BaseException | None] = Queue(_MAX_WAITING_LINES)
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
