"""What is done about facts: one contract for everybody who consolidates, be it a model, the agent itself or rules.

An answer is never trusted. It names facts by the numbers under which they were shown; any other number means a new
fact, or nothing where a fact should end. Where it says several things about one fact that exclude each other, a person
is asked; and nothing can be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast, get_args

from perdure.errors import InvalidInput
from perdure.llm.port import Schema
from perdure.model import FACT_CATEGORIES, NOTHING, Json
from perdure.text.keywords import usable_keywords
from perdure.validation import check_text

Action: TypeAlias = Literal["new", "reinforce", "update", "invalidate"]

# How sure a fact is that a model or an agent learned: it cannot tell itself.
LEARNED_CONFIDENCE: Final = 0.7
LONGEST_FACT: Final = 1_000
MOST_ACTIONS: Final = 200
_MOST_KEYWORDS: Final = 20
_NUMBER: Final = re.compile(r"(?:\[?ID: ?|#)?([0-9]{1,10})\]?")

SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MOST_ACTIONS,
            "items": {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": list(get_args(Action))},
                    "existing_fact_id": {
                        "description": "The ID of the fact that is reinforced, updated or invalidated; else null.",
                        "anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 64}, {"type": "null"}],
                    },
                    "category": {"type": "string", "enum": list(FACT_CATEGORIES)},
                    "fact": {"type": "string", "maxLength": LONGEST_FACT},
                    "keywords": {
                        "type": "array",
                        "items": {"type": "string", "maxLength": 200},
                        "maxItems": _MOST_KEYWORDS,
                    },
                },
                "required": ["action", "existing_fact_id", "category", "fact", "keywords"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class FactAction:
    """`existing` is the number of the fact that the action is about; what is new may be `against` one. `evidence` are
    the numbers of the episodes that say so; none means all of the run. `valid_at` is since when it is true; None: since
    the end of the newest of them.
    """

    action: Action
    existing: int | None
    category: str
    fact: str
    keywords: tuple[str, ...] = ()
    valid_at: datetime | None = None
    confidence: float = LEARNED_CONFIDENCE
    evidence: tuple[int, ...] = ()
    against: int | None = None
    metadata: Mapping[str, Json] = field(default_factory=lambda: NOTHING)


def parse_actions(answer: Mapping[str, Json]) -> list[FactAction]:
    """The actions of an answer that matches `SCHEMA`. `check_actions` says which of them count."""
    return [
        FactAction(
            cast("Action", item["action"]),
            fact_number(item["existing_fact_id"]),
            str(item["category"]),
            " ".join(str(item["fact"]).split()),
            usable_keywords(cast("Sequence[object]", item["keywords"])),
        )
        for item in cast("Sequence[Mapping[str, Json]]", answer["facts"])
    ]


def check_actions(actions: Iterable[FactAction], known: Collection[int]) -> tuple[list[FactAction], list[str]]:
    """The actions that can be carried out, whoever gave them, and what a person should hear of the others. `known` are
    the numbers of the facts that were shown: what names no such fact is new, and ends nothing.
    """
    notes: list[str] = []
    news: list[FactAction] = []
    about: dict[int, list[FactAction]] = {}
    for one in actions:
        action = replace(one, existing=None) if one.action == "new" else one
        if action.action == "invalidate" and action.existing not in known:
            notes.append("Invalidate names no fact that was shown, so nothing ends.")
            continue
        if action.action != "new" and action.existing not in known:
            notes.append(f"{action.action.capitalize()} names no fact that was shown, so it counts as new.")
            action = replace(action, action="new", existing=None)
        if action.action in {"new", "update"}:
            try:
                check_text(action.fact, "A fact")
            except InvalidInput as error:
                notes.append(f"An action was left out: {error.sentence}")
                continue
        # What is new comes last, in a group of its own: it is compared with what holds then.
        group = news if action.existing is None else about.setdefault(action.existing, [])
        group.append(action)
    agreed = [one for number, told in about.items() for one in _agree(number, told, notes)]
    return [*agreed, *news], notes


def _agree(number: int, told: Sequence[FactAction], notes: list[str]) -> list[FactAction]:
    """What counts of the actions about one fact. It cannot hold and end, and of two values it has one: what
    excludes what comes first is new, and against it; of more than two values the first two count.
    """
    updates = list({one.fact.casefold(): one for one in reversed(told) if one.action == "update"}.values())[::-1]
    holds = [one for one in told if one.action == "reinforce"]
    ends = [one for one in told if one.action == "invalidate"]
    if holds and ends and not updates:
        notes.append(f"The answer says of fact #{number} that it holds and that it ended, so it stays as it is.")
        return []
    values = [*holds[:1], *updates] if updates else [*holds[:1], *ends[:1]]
    if len(values) > 1:
        notes.append(f"The answer says different things of fact #{number}; `perdure conflicts` shows them.")
    return values[:1] + [replace(one, action="new", existing=None, against=number) for one in values[1:2]]


def fact_number(value: Json) -> int | None:
    """A number, however it is written; an id of whatever other form is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    written = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(written[1]) if written else None
