"""The routes that are made of the table of operations: each takes the arguments of its verb and answers its value.

Where a verb cannot simply be called, or its answer is not its value, a function here stands for it (`own_answer`).
Routes that have no row are in `other_routes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Header, Query
from starlette.responses import Response

from perdure.errors import BadRequest, InvalidInput
from perdure.http.answers import Answer
from perdure.http.bodies import Body, body_of, query_type
from perdure.http.routing import Asking, Caller, Routes, Row, header_text, json_response
from perdure.jsonable import egress_document, log_document, parked_document, revert_document, stats_document
from perdure.learn.results import Proposal
from perdure.lifecycle.checkpoint import MAX_LISTED, no_checkpoint
from perdure.memory import Memory
from perdure.model import Checkpoint, Egress, Record, Remembered, RevertResult, Revision
from perdure.operations import OPERATIONS, Operation
from perdure.remote.signatures import answer_of, arguments_of, hints_of
from perdure.store.stats import NamespaceStats

Given: TypeAlias = dict[str, Any]
Key = Annotated[str | None, Header(description="Repeated with the same key, the request does nothing more.")]
Match = Annotated[str | None, Header(description='The version that it must have now, such as "3"; else 412.')]
NoMatch = Annotated[str | None, Header(description="`*`: only if no memory has the key; else 412.")]

_TAG: Final = re.compile(r'"(\d{1,9})"')
_REVERTED: Final = {**hints_of(RevertResult), "done": bool}


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """What answers in the place of the verb alone, and the type of its answer."""

    call: Callable[[Caller, Given], Any]
    answer: Answer


_OWN_ANSWERS: Final[dict[str, OwnAnswer]] = {}


def own_answer(verb: str, answer: Answer) -> Callable[[Callable[[Caller, Given], Any]], Callable[[Caller, Given], Any]]:
    def decorate(call: Callable[[Caller, Given], Any]) -> Callable[[Caller, Given], Any]:
        _OWN_ANSWERS[verb] = OwnAnswer(call, answer)
        return call

    return decorate


@own_answer("parked", {"parked": list[dict[str, Any]]})
def parked(caller: Caller, given: Given) -> Any:
    return parked_document(caller.memory.parked(**given))


@own_answer("conflicts", {"proposals": list[Proposal], "uncompared": int | None})
def conflicts(caller: Caller, given: Given) -> Any:
    return {"proposals": caller.memory.conflicts(**given), "uncompared": caller.memory.uncompared()}


@own_answer("log", {"revisions": list[Revision], "next": int | None})
def log(caller: Caller, given: Given) -> Any:
    return log_document(caller.memory.log(**given), given["limit"])


@own_answer("undo", _REVERTED)
def undo(caller: Caller, given: Given) -> Any:
    return revert_document(caller.memory.undo(**given))


@own_answer("checkpoints", {"checkpoints": list[Checkpoint]})
def checkpoints(caller: Caller, given: Given) -> Any:
    """Without those of all namespaces, for a token of some."""
    limit = given.pop("limit")
    listed = caller.memory.checkpoints(limit=MAX_LISTED, **given)
    shown = [each for each in listed if each.namespace is not None or caller.token.namespaces is None]
    return {"checkpoints": shown[:limit]}


@own_answer("restore_checkpoint", _REVERTED)
def restore_checkpoint(caller: Caller, given: Given) -> Any:
    _require_visible(caller, given["name"])
    return revert_document(caller.memory.restore_checkpoint(**given))


@own_answer("delete_checkpoint", Checkpoint)
def delete_checkpoint(caller: Caller, given: Given) -> Any:
    _require_visible(caller, given["name"])
    return caller.memory.delete_checkpoint(**given)


def _require_visible(caller: Caller, name: str) -> None:
    """A checkpoint that leads back in all namespaces is not there for a token of some."""
    if caller.token.namespaces is not None:
        found = (each for each in caller.memory.checkpoints(limit=MAX_LISTED) if each.name == name)
        if any(each.namespace is None for each in found):
            raise no_checkpoint(name)


# A token for some namespaces is told of those alone.
@own_answer(
    "stats",
    {
        "namespaces": list[NamespaceStats], "path?": str, "engine?": str, "schema?": int, "bytes?": int,
        "generations?": list[dict[str, Any]],
    },
)  # fmt: skip
def stats(caller: Caller, given: Given) -> Any:
    granted = caller.token.namespaces
    document = stats_document(caller.memory.stats(**given), granted or ())
    return document if granted is None else {"namespaces": document["namespaces"]}


@own_answer("egress", {**hints_of(Egress), "calls": list[dict[str, Any]]})
def egress(caller: Caller, given: Given) -> Any:
    return egress_document(caller.memory.egress(**given))


def routes_of(tag: str) -> Routes:
    """The routes of the rows under this heading; those that are written by hand may be added."""
    routes = Routes(tag)
    routes.rows += [_row(operation, tag) for operation in OPERATIONS.get(tag, ())]
    return routes


def _row(operation: Operation, tag: str) -> Row:
    special = _OWN_ANSWERS.get(operation.verb)
    value = answer_of(getattr(Memory, operation.verb)) if special is None else special.answer
    if operation.verb == "restore":
        # The verb answers one memory or several, as it was asked; the two routes ask in one way each.
        value = tuple[Remembered, ...] if operation.key else Remembered
    answer = {operation.key: value} if operation.key and special is None else value
    options = {
        "tags": [tag],
        "summary": operation.summary,
        "status_code": operation.status,
        "responses": {status: {"description": told} for status, told in operation.other_statuses.items()},
    }
    return Row(
        operation.method,
        operation.path,
        _endpoint(operation, None if special is None else special.call),
        operation.scopes,
        operation.whole_store,
        operation.takes_key,
        answer,
        options,
    )


def _parameters(operation: Operation) -> dict[str, tuple[Any, Any]]:
    """Where each argument of the verb stands in a request, by the name that it has there: its type and its default."""
    verb, places = getattr(Memory, operation.verb), operation.places
    known = {name: each for name, each in arguments_of(verb).items() if name not in operation.without}
    parameters: dict[str, tuple[Any, Any]] = {"caller": (Asking, Parameter.empty)}
    elsewhere, has_body = {*operation.without, *places}, operation.method in {"POST", "PUT", "PATCH"}
    if "idempotency_key" in known:
        parameters["idempotency_key"] = (Key, None)
        elsewhere.add("idempotency_key")
    if "expected_version" in known:
        parameters["if_match"] = (Match, None)
        # Only a key can name a memory that is not there yet.
        parameters |= {"if_none_match": (NoMatch, None)} if "key" in places else {}
        elsewhere.add("expected_version")
    for name, argument in known.items():
        sent = operation.names.get(name, name)
        if name in places:
            parameters[sent] = (str if places[name] else int, Parameter.empty)
        elif not has_body and name not in elsewhere:
            default = None if argument.is_field else argument.default
            parameters[sent] = (Annotated[query_type(name, argument), Query()], default)
    title = "".join(map(str.capitalize, operation.verb.split("_")))
    body = body_of(f"{title}Request", verb, without=elsewhere, example=operation.example) if has_body else None
    return {**parameters, "body": (body, Parameter.empty)} if body else parameters


def _endpoint(operation: Operation, special: Callable[[Caller, Given], Any] | None) -> Callable[..., Response]:
    """What FastAPI calls with what a request says."""
    arguments = {name: argument for argument, name in operation.names.items()}
    # A memory that is corrected keeps the session that it comes from.
    is_new = operation.method != "PATCH" and "session_id" in arguments_of(getattr(Memory, operation.verb))

    def endpoint(caller: Caller, body: Body | None = None, **sent: Any) -> Response:
        given = {} if body is None else body.given()
        if "if_match" in sent:
            given["expected_version"] = expected_version(sent.pop("if_match"), sent.pop("if_none_match", None))
        if "idempotency_key" in sent:
            given["idempotency_key"] = header_text(sent.pop("idempotency_key"))
        given |= {arguments.get(name, name): value for name, value in sent.items() if value is not None}
        if isinstance(given.get("where"), str):
            given["where"] = _json_object(given["where"])
        for name in given.get("namespaces") or ():
            caller.authorise(name)
        if given.get("all_namespaces"):
            caller.authorise(None)
        if is_new:
            given = caller.own_session(given)
        if special is not None:
            return json_response(special(caller, given), operation.status)
        value = getattr(caller.memory, operation.verb)(**given)
        return answer_with(value if operation.key is None else {operation.key: value}, operation.status)

    endpoint.__doc__ = operation.about or None
    endpoint.__name__ = operation.verb
    endpoint.__signature__ = Signature([
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=default)
        for name, (hint, default) in _parameters(operation).items()
    ])  # fmt: skip
    return endpoint


def answer_with(value: object, status: int = 200) -> Response:
    """A memory's version is its tag; what was written says where it is, and by its status whether it is new."""
    headers: Mapping[str, str] = {}
    if isinstance(value, Remembered):
        status = 201 if value.outcome == "inserted" else 200
        headers = {"ETag": f'"{value.record.version}"', "Location": f"/v1/memories/{value.record.number}"}
    elif isinstance(value, Record):
        headers = {"ETag": f'"{value.version}"'}
    return json_response(value, status, headers)


def expected_version(if_match: str | None, if_none_match: str | None = None) -> int | None:
    """The version that the headers ask for; 0 for a memory that is not there yet."""
    if if_none_match not in (None, "*"):
        raise BadRequest("If-None-Match can only be *.")
    if if_none_match:
        return 0
    if if_match is None or if_match.strip() == "*":
        return None
    found = _TAG.fullmatch(if_match.strip())
    if found is None:
        raise BadRequest("If-Match must be one version.", remedy='Send the ETag of the memory as it was, such as "3".')
    return int(found[1])


def _json_object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("where must be a JSON object.", remedy='Write {"project": "x"}, percent-encoded.') from error
