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


class _LateNames(dict[str, Any]):
    """The types that annotations name, imported when somebody looks at them."""

    def __missing__(self, name: str) -> Any:
        if name not in _LATE:
            raise KeyError(name)
        return getattr(import_module(f"perdure.{_LATE[name]}"), name)


@cache
def hints_of(value: Any) -> dict[str, Any]:
    """The types of the fields of a value, of the entries of a mapping, or of the arguments of a function."""
    return get_type_hints(value, localns=_LateNames(Json=Any, Schema=Mapping[str, Any]))


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
