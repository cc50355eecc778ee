"""What the signature of a verb says: the arguments that can be sent, each with its type, and the type of the answer. A
server makes its routes of it, and a client its verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, Final, get_args, get_type_hints

from perdure.operations import LOCAL_ARGUMENTS

# What annotations name without importing it when they run, by the module that has it.
_LATE: Final[Mapping[str, str]] = {
    "AskedVectors": "recall.learnings",
    "Consolidation": "learn.results",
    "ConsolidationTask": "learn.task",
    "Conversation": "episodes.conversation",
    "Decision": "learn.results",
    "Fact": "learn.results",
    "LearningsFound": "recall.learnings",
    "Parked": "llm.port",
    "ParkedRetry": "model",
    "Progress": "store.port",
    "Proposal": "learn.results",
    "ProposalKind": "learn.results",
    "ProviderCall": "providers.call",
    "Record": "model",
    "Remembered": "model",
    "Saved": "learn.merge_results",
    "StoreStats": "store.stats",
}


@cache
def hints_of(value: Any) -> dict[str, Any]:
    """The types of the fields of a value, of the entries of a mapping, or of the arguments of a function."""
    names: dict[str, Any] = {"Json": Any, "Schema": Mapping[str, Any]}
    while True:
        try:
            return get_type_hints(value, localns=names)
        # Not a mapping that imports what it lacks: from Python 3.14 on the names are copied before they are looked up.
        except NameError as unknown:
            if unknown.name not in _LATE or unknown.name in names:
                raise
            names[unknown.name] = getattr(import_module(f"perdure.{_LATE[unknown.name]}"), unknown.name)


@dataclass(frozen=True, slots=True)
class Argument:
    """`default` is `Parameter.empty` where there is none. A field or a filter may be left out all the same."""

    hint: Any
    default: Any
    is_field: bool = False


@cache
def arguments_of(verb: Callable[..., Any]) -> Mapping[str, Argument]:
    """By name, in their order; `**fields` and `**filters` as what they may hold."""
    hints = hints_of(verb)
    arguments: dict[str, Argument] = {}
    for name, parameter in signature(verb).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            (fields,) = get_args(hints[name])
            arguments |= {
                field: Argument(hint, Parameter.empty, is_field=True) for field, hint in hints_of(fields).items()
            }
        elif name != "self" and name not in LOCAL_ARGUMENTS:
            arguments[name] = Argument(hints[name], parameter.default)
    return arguments


@cache
def answer_of(verb: Callable[..., Any]) -> Any:
    """The type of what it answers."""
    return hints_of(verb)["return"]
