"""Routes of single memories: store, list, get, correct, forget, and what happened to them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from fastapi import Header, Query
from starlette.responses import Response

from perdure.errors import BadRequest, InvalidInput, VersionConflict, shown
from perdure.http.bodies import (
    MAX_LIMIT,
    Correction,
    CorrectionSentence,
    DetailQuestion,
    KeyedMemory,
    ListQuestion,
    NewMemory,
    Promotion,
    SeveralMemories,
    Usefulness,
)
from perdure.http.routing import Asking, Routes, header_text, json_response, version_tag
from perdure.ids import is_sentence
from perdure.jsonable import list_document, past_document
from perdure.model import Constitution, Detail, Diff, Forgotten, Record, Remembered, Revision, Version
from perdure.model import Page as PageOfMemories

MEMORIES: Final = Routes("memories")
_TAG: Final = re.compile(r'"(\d{1,9})"')

Key = Annotated[str | None, Header(description="Repeated with the same key, the request does nothing more.")]
Match = Annotated[str | None, Header(description='The version that it must have now, such as "3"; else 412.')]
Page = Annotated[int, Query(ge=1, le=MAX_LIMIT)]


@MEMORIES.add(
    "POST", "/v1/memories", "write", repeatable=True, status_code=201, responses={200: {"description": "It was known"}},
    summary="Store a memory", answer=Remembered,
)  # fmt: skip
def remember(caller: Asking, body: NewMemory, idempotency_key: Key = None) -> Response:
    """The same text again is one more observation of the same memory (200); under the same `key` another text makes a
    new version.
    """
    fields = caller.own_session(body.given("text"))
    return _written(caller.memory.remember(body.text, idempotency_key=header_text(idempotency_key), **fields))


@MEMORIES.add("GET", "/v1/memories", "read", summary="List memories, newest first", answer=PageOfMemories)
def list_memories(  # noqa: PLR0913 - one for each thing a caller may decide
    caller: Asking,
    *,
    limit: Page = 20,
    cursor: Annotated[int | None, Query(ge=1, description="`next` of the page before.")] = None,
    newest: bool = True,
    tag: Annotated[list[str] | None, Query(description="Repeated: all of them.")] = None,
    category: Annotated[list[str] | None, Query(description="Repeated: any of them.")] = None,
    source: Annotated[list[str] | None, Query(description="Repeated: any of them.")] = None,
    state: Annotated[list[str] | None, Query(description="`active` unless it is given.")] = None,
    tier: str | None = None,
    conversation_id: str | None = None,
    spec_folder: str | None = None,
    source_project: str | None = None,
    key_type: str | None = None,
    since: str | None = None,
    until: str | None = None,
    when: str | None = None,
    known_at: str | None = None,
) -> Response:
    """`next` is the `cursor` of the following page, or null at the end. What comes or goes meanwhile moves nothing."""
    filters: dict[str, Any] = {
        "tags": tag, "category": category, "source": source, "states": state, "tier": tier, "key_type": key_type,
        "conversation_id": conversation_id, "spec_folder": spec_folder, "source_project": source_project,
        "since": since, "until": until, "when": when,
    }  # fmt: skip
    given: Any = {name: value for name, value in filters.items() if value is not None}
    page = caller.memory.list(limit=limit, after=cursor, newest=newest, known_at=known_at, **given)
    return json_response(past_document(page))


@MEMORIES.add("POST", "/v1/list", "read", summary="List memories by all filters that recall has", answer=PageOfMemories)
def list_by(caller: Asking, body: ListQuestion) -> Response:
    return json_response(caller.memory.list(**body.given()))


@MEMORIES.add(
    "POST", "/v1/details", "read", summary="Get several memories, in as much detail as needed",
    answer={"details": list[Detail]},
)  # fmt: skip
def details(caller: Asking, body: DetailQuestion) -> Response:
    """If one of them is not there, none is answered."""
    return json_response(list_document("details", caller.memory.recall_detail(body.refs, level=body.level)))


@MEMORIES.add(
    "POST", "/v1/restore", "write", summary="Bring several memories back, all or none",
    answer={"remembered": list[Remembered]},
)  # fmt: skip
def restore_several(caller: Asking, body: SeveralMemories) -> Response:
    return json_response(list_document("remembered", caller.memory.restore(body.refs)))


@MEMORIES.add(
    "GET", "/v1/reference", "read", summary="Say which memory a reference means",
    answer={"id": str, "number": int},
)  # fmt: skip
def reference(caller: Asking, ref: str) -> Response:
    """For a key that cannot stand in an address, such as one that ends in `/history`. It counts as no use."""
    line = caller.memory.history(ref)[-1]
    return json_response({"id": line.memory, "number": line.number})


@MEMORIES.add("GET", "/v1/offers", "read", summary="List the memories that wait for a person", answer=PageOfMemories)
def offers(caller: Asking, limit: Page = 20, cursor: Annotated[int | None, Query(ge=1)] = None) -> Response:
    """To be promoted, newest first."""
    return json_response(caller.memory.offers(limit=limit, after=cursor))


@MEMORIES.add("GET", "/v1/constitution", "read", summary="Get what every recall surfaces", answer=Constitution)
def constitution(caller: Asking) -> Response:
    return json_response(caller.memory.constitution())


@MEMORIES.add(
    "PUT", "/v1/keys/{key:path}", "write", repeatable=True, responses={201: {"description": "It is new"}},
    summary="Store a memory under a key", answer=Remembered,
)  # fmt: skip
def upsert(
    caller: Asking,
    key: str,
    body: KeyedMemory,
    if_match: Match = None,
    if_none_match: Annotated[str | None, Header(description="`*`: only if no memory has the key; else 412.")] = None,
    idempotency_key: Key = None,
) -> Response:
    """The first version, or the next one, also when the text is the same and when the memory was forgotten."""
    if if_none_match not in (None, "*"):
        raise BadRequest("If-None-Match can only be *.")
    expected = 0 if if_none_match else _expected(if_match)
    fields: Any = caller.own_session(body.given("text"))
    return _written(
        caller.memory.upsert(
            key, body.text, expected_version=expected, idempotency_key=header_text(idempotency_key), **fields
        )
    )


@MEMORIES.add(
    "GET", "/v1/memories/{ref:name}/versions/{n}", "read", summary="Get one version of a memory", answer=Version
)
def version(caller: Asking, ref: str, n: int) -> Response:
    return json_response(caller.memory.version(ref, n))


@MEMORIES.add(
    "GET",
    "/v1/memories/{ref:name}/versions",
    "read",
    summary="List the versions of a memory",
    answer={"versions": list[Version]},
)
def versions(caller: Asking, ref: str) -> Response:
    return json_response(list_document("versions", caller.memory.versions(ref)))


@MEMORIES.add(
    "GET",
    "/v1/memories/{ref:name}/history",
    "read",
    summary="List everything that happened to a memory",
    answer={"revisions": list[Revision]},
)
def history(caller: Asking, ref: str) -> Response:
    return json_response(list_document("revisions", caller.memory.history(ref)))


@MEMORIES.add("GET", "/v1/memories/{ref:name}/diff", "read", summary="Compare two versions of a memory", answer=Diff)
def diff(caller: Asking, ref: str, before: int | None = None, after: int | None = None) -> Response:
    """Without numbers, the current version with the one that it was made from."""
    return json_response(caller.memory.diff(ref, before, after))


@MEMORIES.add(
    "POST", "/v1/memories/{ref:name}/restore", "write", summary="Bring a forgotten memory back", answer=Remembered
)
def restore(caller: Asking, ref: str) -> Response:
    return _written(caller.memory.restore(ref))


@MEMORIES.add(
    "POST", "/v1/memories/{ref:name}/validate", "write", summary="Say whether a memory was useful", answer=Remembered
)
def validate(caller: Asking, ref: str, body: Usefulness) -> Response:
    return _written(caller.memory.validate(ref, body.useful))


@MEMORIES.add(
    "POST", "/v1/memories/{ref:name}/promote", "write", summary="Give a memory another tier", answer=Remembered
)
def promote(caller: Asking, ref: str, body: Promotion) -> Response:
    """Only a person makes one constitutional."""
    return _written(caller.memory.promote(ref, body.tier))


@MEMORIES.add("GET", "/v1/memories/{ref:name}", "read", summary="Get a memory by any reference", answer=Record)
def get(caller: Asking, ref: str, known_at: str | None = None) -> Response:
    """`ref` is a number, an id, a content hash or a key. The `ETag` is the version."""
    record = caller.memory.get(ref, known_at=known_at)
    return json_response(record, headers=version_tag(record))


@MEMORIES.add("PATCH", "/v1/memories/{ref:name}", "write", summary="Correct a memory", answer=Remembered)
def update(caller: Asking, ref: str, body: Correction, if_match: Match = None) -> Response:
    """Other words make a new version, anything else a revision of the same one."""
    fields: Any = body.given()
    return _written(caller.memory.update(ref, expected_version=_expected(if_match), **fields))


@MEMORIES.add("POST", "/v1/correct", "write", summary="Correct the memory that a sentence is about", answer=Remembered)
def correct(caller: Asking, body: CorrectionSentence) -> Response:
    """What would be corrected is only shown: the answer is a problem with a `preview`, and its `token` as `confirm`
    corrects exactly that.
    """
    if not is_sentence(body.sentence):
        raise InvalidInput(
            f"{shown(body.sentence)} is no sentence.",
            remedy="Say what holds now in a few words, or PATCH the memory by its reference; nothing was changed.",
        )
    return _written(caller.memory.update(body.sentence, text=body.text, confirm=body.confirm))


@MEMORIES.add(
    "DELETE", "/v1/memories/{ref:name}", "delete", summary="Forget a memory; it can be restored", answer=Forgotten
)
def forget(caller: Asking, ref: str, if_match: Match = None) -> Response:
    memory, expected = caller.memory, _expected(if_match)
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


def _written(done: Remembered) -> Response:
    status = 201 if done.outcome == "inserted" else 200
    headers = {**version_tag(done.record), "Location": f"/v1/memories/{done.record.number}"}
    return json_response(done, status, headers)


def _expected(if_match: str | None) -> int | None:
    """The version that an `If-Match` names."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _TAG.fullmatch(if_match.strip())
    if found is None:
        raise BadRequest("If-Match must be one version.", remedy='Send the ETag of the memory as it was, such as "3".')
    return int(found[1])
