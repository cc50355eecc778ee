"""What requests may hold, made of the signature of the verb that answers them: the names, and their types. The verb
checks the values. It is the one module of the server that knows pydantic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from perdure.remote.signatures import Argument, arguments_of
from perdure.validation import Reference

# The most that one answer lists.
MAX_LIMIT: Final = 100
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
_SEVERAL: Final = frozenset({list, tuple, Iterable, Sequence, Collection, Container})
# From 0 to 1: the verb says so, and OpenAPI tells it.
_SHARES: Final = frozenset({"importance", "confidence", "min_importance", "max_importance", "min_relevance"})
_SHARE: Final = Annotated[float, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]


class Body(BaseModel):
    """A name that does not exist is refused: a misspelt one must not be ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *without: str) -> dict[str, Any]:
        """What the request says, by the names that the verb has for it."""
        return self.model_dump(exclude_unset=True, exclude=set(without))


def body_of(
    name: str,
    verb: Callable[..., Any],
    *,
    without: Collection[str] = (),
    example: Mapping[str, Any] | None = None,
) -> type[Body] | None:
    """The body that holds the arguments of a verb, or nothing for one that needs none."""
    fields = {
        argument: (json_type(argument, each), _default(each))
        for argument, each in arguments_of(verb).items()
        if argument not in without
    }
    if not fields:
        return None
    examples: Any = {"examples": [dict(example)]} if example else None
    config = ConfigDict(extra="forbid", strict=True, json_schema_extra=examples)
    base = cast("type[Body]", type(name, (Body,), {"model_config": config, "__module__": __name__}))
    return create_model(name, __base__=base, **cast("Any", fields))


def _default(argument: Argument) -> Any:
    if argument.is_field:
        # It may be left out, and then nothing is said about it.
        return Field(default_factory=lambda: None)
    if argument.default is Parameter.empty:
        return ...
    return list(cast("tuple[Any, ...]", argument.default)) if isinstance(argument.default, tuple) else argument.default


def json_type(name: str, argument: Argument) -> Any:
    """The type of an argument as JSON has it."""
    if name == "limit" and isinstance(argument.default, int):
        return Limit
    return _json_type(argument.hint, is_share=name in _SHARES)


def _json_type(hint: Any, *, is_share: bool = False) -> Any:  # noqa: PLR0911 - one for each kind of type
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is datetime:
        return str
    if hint is float and is_share:
        return _SHARE
    if isinstance(hint, NewType):
        return _json_type(hint.__supertype__)
    if origin is Literal:
        # The verb refuses other words, in its own.
        return Annotated[str, WithJsonSchema({"type": "string", "enum": list(arguments)})]
    if origin in {UnionType, Union}:
        return Union[tuple(_json_type(each, is_share=is_share) for each in arguments)]  # noqa: UP007 - made of a tuple
    if origin in _SEVERAL:
        return list[_json_type(arguments[0])]
    if origin in {dict, Mapping}:
        return dict[str, _json_type(arguments[1])]
    return hint


def query_type(name: str, argument: Argument) -> Any:
    """The type of an argument behind the question mark of an address: several values are one that is repeated, and an
    object is written as JSON.
    """
    kind = json_type(name, argument)
    kinds = get_args(kind) if get_origin(kind) in {UnionType, Union} else (kind,)
    if any(get_origin(each) is dict for each in kinds):
        return str | None
    several = next((each for each in kinds if get_origin(each) is list), None)
    return several | None if several else kind | None if argument.is_field else kind


# -- the bodies of routes that are written by hand ---------------------------------------------------------------------


class CorrectionSentence(Body):
    """A sentence that says what holds now, or, with a `text`, one that describes the memory which says that from now
    on; and `confirm`, the token of the preview that the first answer holds.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"sentence": "The choir sings at 8, not at 7"}]})
    sentence: str
    text: str | None = None
    confirm: bool | str = False


class SeveralMemories(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"refs": [7, "person:alice"]}]})
    refs: list[Reference]


class ImportRequest(Body):
    """Memories as objects, or as the lines of an export. `trusted` keeps what they say of themselves."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"records": [{"text": "Alice prefers dark mode"}]}]})
    records: list[dict[str, Any]] | None = None
    lines: str | None = None
    trusted: bool = False
    revive: bool = False
    dry_run: bool = False


class MessagesImport(Body):
    """Messages of conversations, each with `conversation_id`, `role` and `content`; as objects, or as lines."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"messages": [{"conversation_id": "support-42", "role": "user", "content": "Hello"}]}]
        }
    )
    messages: list[dict[str, Any]] | None = None
    lines: str | None = None
    dry_run: bool = False


class NewMessages(Body):
    """What was said, in its order: each with `role` and `content`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello"}]}]})
    messages: list[dict[str, Any]]


class Message(Body):
    """What somebody said."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "user", "content": "I moved to Osaka"}]})
    role: str
    content: str
    at: str | None = None
    speaker: str | None = None
    session_id: str | None = None


# What `/api/v0` takes.


class ChatMessage(Body):
    """`speaker` is the name of whoever speaks in that role, if they have one. `timestamp` is ISO 8601, or milliseconds
    since 1970; without one it was said now.
    """

    role: str
    content: str
    speaker: str | None = None
    timestamp: int | str | None = None


class AddMessage(Body):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"conversation_id": "support-42", "message": {"role": "user", "content": "I moved to Osaka"}}]
        }
    )
    conversation_id: str
    message: ChatMessage


class ContextPreRetrieve(Body):
    """What is known that matters for a question. `query_embedding` must be left out, or null: Perdure embeds the
    question with the model whose vectors it searches, and cannot tell which model made another vector.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"conversation_id": "support-42", "query": "where does she live?"}]}
    )
    conversation_id: str
    query: str
    query_embedding: list[float] | None = None
    semantic_limit: Limit = 20
    detail: Literal["auto", "none", "low", "high"] = "auto"
    category: str | None = None


class RetrieveMemory(ContextPreRetrieve):
    """The same, and what happened."""

    episodic_limit: Limit = 10
