"""What a tool is: a row of a table. How its arguments are read, and what it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeGuard, cast

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Context, Detail
    from perdure.session.origin import Origin

Schema: TypeAlias = Mapping[str, Any]
ToolSet: TypeAlias = Literal["core", "reference", "all", "connector"]

TEXT: Final[Schema] = {"type": "string"}
SWITCH: Final[Schema] = {"type": "boolean"}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
NUMBER: Final[Schema] = {"type": "integer"}
NUMBERS: Final[Schema] = {"type": "array", "items": NUMBER}
SHARE: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}
MAX_LIMIT: Final = 100
# Claude Code keeps back tools without this until a model searches for them.
_ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
# How many messages of a session are searched for the last answer.
_MESSAGES_SEARCHED: Final = 10
_SWITCHES: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


LIMIT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value from JSON is an object."""
    return isinstance(value, dict)


def in_short(schema: Schema) -> Schema:
    """What is always in an answer, and of which type: some hosts put it before their model, which sees the answer."""
    always = schema.get("required", ())
    kinds = {name: {"type": schema["properties"][name]["type"]} for name in always}
    return {"type": "object", "properties": kinds, "required": list(always)}


def choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, by the name that the schema shows. It is also understood in any other case, with or
    without underscores, and by its `aliases`. A `reference` is shown as a number, and any name of a memory will do.
    """

    name: str
    schema: Schema
    description: str
    required: bool = False
    default: int | bool | str | None = None
    aliases: tuple[str, ...] = ()
    reference: bool = False
    fills: str = ""

    def __post_init__(self) -> None:
        """What it `fills` is the name that the tool's function has for it: for `specFolder` that is `spec_folder`."""
        object.__setattr__(self, "fills", self.fills or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower())


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers, twice: hosts show a model either the data or the text, so each must say everything."""

    data: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a tool's function is given besides its arguments."""

    memory: Memory
    origin: Origin
    # Tokens of tasks that were handed out, by a handle that a model can copy without a mistake.
    tasks: MutableMapping[str, str]
    # The directory of the host's project, whose files may be read; None over HTTP.
    project: Path | None = None
    # Where a private project looks: its own namespace and the common one. None: in the one that the memory is of.
    namespaces: tuple[str, ...] | None = None

    def said_just_now(self, found: Context) -> Collection[str]:
        """The ids of what was found and tells a model nothing: the turn that it answers now, and short messages."""
        from perdure.recall.same_question import is_short_message

        own = self.origin.session
        told = [one.record for one in found.items if one.record.key]
        left_out = {record.id for record in told if is_short_message(record)}
        if own and any(record.conversation_id == own for record in told):
            turns = self.memory.conversation(own).messages(limit=_MESSAGES_SEARCHED)
            answered = max((place for place, one in enumerate(turns) if one.metadata.get("role") != "user"), default=-1)
            left_out |= {one.id for one in turns[answered + 1 :]}
        return left_out

    def details(self, refs: Any) -> tuple[Detail, ...]:
        """Memories in full, by any of their names. What a private project does not have is looked for in common; where
        both have a memory of a number, nobody knows which is meant, and both are answered.
        """
        from perdure.errors import NotFound

        if self.namespaces is None:
            return self.memory.recall_detail(refs)
        found: list[Detail] = []
        for ref in cast("list[Any]", refs) if isinstance(refs, list) else [refs]:
            named: list[Detail] = []
            for name in self.namespaces:
                with suppress(NotFound):
                    if not named or str(ref).lstrip("#").isdigit():
                        named += self.memory.namespace(name).recall_detail(ref)
            found += named or self.memory.recall_detail(ref)
        return tuple(found)


@dataclass(frozen=True)
class Tool:
    """A row of the table. `run` is the function; `writes` and `destroys` are what hosts decide by whether to ask."""

    name: str
    title: str
    description: str
    run: Callable[..., ToolAnswer]
    parameters: tuple[Parameter, ...]
    output: Schema
    sets: tuple[ToolSet, ...]
    writes: bool = False
    destroys: bool = False
    repeatable: bool = True
    always_load: bool = False
    _by_name: dict[str, Parameter] = field(init=False, repr=False, compare=False, default_factory=dict[str, Parameter])

    def __post_init__(self) -> None:
        for parameter in self.parameters:
            for name in (parameter.name, *parameter.aliases):
                self._by_name.setdefault(_folded(name), parameter)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        properties: dict[str, Schema] = {}
        for each in self.parameters:
            default = {} if each.default is None else {"default": each.default}
            properties[each.name] = {**each.schema, "description": each.description, **default}
        required = [each.name for each in self.parameters if each.required]
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": properties, **({"required": required} if required else {})},
            "outputSchema": in_short(self.output),
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.writes,
                "destructiveHint": self.destroys,
                "idempotentHint": self.repeatable,
                "openWorldHint": False,
            },
            **({"_meta": {_ALWAYS_LOAD: True}} if self.always_load else {}),
        }

    def arguments(self, given: object) -> dict[str, Any]:
        """The arguments by the names that `run` has for them, checked. What is null was not given."""
        from perdure.errors import InvalidInput, UnknownChoice, shown
        from perdure.llm.schema import fault

        if not is_object(given):
            raise InvalidInput(f"The arguments of {self.name} must be an object.")
        read: dict[str, Any] = {}
        for name, raw in given.items():
            parameter = self._by_name.get(_folded(name))
            if parameter is None:
                names = ", ".join(each.name for each in self.parameters) or "none"
                raise UnknownChoice(
                    f"{self.name} has no argument {shown(name)}.", remedy=f"Its arguments are: {names}."
                )
            if raw is None:
                continue
            if parameter.fills in read:
                raise InvalidInput(f"{parameter.name} was given twice, the second time as {shown(name)}.")
            value = _read(parameter.schema, raw)
            if not parameter.reference and not (parameter.schema is TEXT and isinstance(value, str)):
                checked = {"type": "object", "properties": {parameter.name: parameter.schema}}
                if wrong := fault(checked, {parameter.name: value}):
                    raise InvalidInput(wrong, remedy=f"{parameter.name}: {parameter.description}")
            read[parameter.fills] = value
        for parameter in self.parameters:
            if parameter.required and parameter.fills not in read:
                raise InvalidInput(
                    f"{self.name} needs {parameter.name}.", remedy=f"{parameter.name}: {parameter.description}"
                )
            if parameter.default is not None:
                read.setdefault(parameter.fills, parameter.default)
        return read


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _read(schema: Schema, value: Any) -> Any:
    """Models write `"5"` for 5, `"true"` for true, one text for a list of texts, and lists as JSON inside a text. What
    cannot be read so stays as it is, and the schema refuses it.
    """
    kind = schema["type"]
    if kind == "array":
        if isinstance(value, str) and value.lstrip().startswith("["):
            with suppress(ValueError):
                value = json.loads(value)
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        value = [_read(schema["items"], item) for item in items]
    elif kind == "object" and is_object(value):
        known = schema.get("properties", {})
        given = {name: item for name, item in value.items() if item is not None}
        value = {name: _read(known[name], item) if name in known else item for name, item in given.items()}
    elif kind == "boolean" and isinstance(value, str):
        value = _SWITCHES.get(value.strip().lower(), value)
    elif kind in {"integer", "number"}:
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value.strip().removeprefix("#"))
        if isinstance(value, float) and value.is_integer():
            value = int(value)
    return value
