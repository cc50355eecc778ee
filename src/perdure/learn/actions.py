"""What is done about facts: one contract for everybody who consolidates, be it a model, the agent itself or rules.

An answer is never trusted. It names facts by the numbers under which they were shown; any other number means a new
fact. Each fact is the target of one action at most, and nothing can be deleted.
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
    """`existing` is the number of the fact that the action is about. `evidence` are the numbers of the episodes that
    say so; none means all of the run. `valid_at` is since when it is true; None: since the end of the newest of them.
    """

    action: Action
    existing: int | None
    category: str
    fact: str
    keywords: tuple[str, ...] = ()
    valid_at: datetime | None = None
    confidence: float = LEARNED_CONFIDENCE
    evidence: tuple[int, ...] = ()
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
    the numbers of the facts that were shown: what names no such fact is new. Of several actions about one fact the
    first counts, and what another one would make of it is new.
    """
    checked: list[FactAction] = []
    notes: list[str] = []
    told: set[int] = set()
    for one in actions:
        action = one
        if one.action == "new":
            action = replace(one, existing=None)
        elif one.existing not in known:
            notes.append(f"{one.action.capitalize()} names no fact that was shown, so it counts as new.")
            action = replace(one, action="new", existing=None)
        elif one.existing in told:
            notes.append(f"Another action about fact #{one.existing} comes first, so {one.action} does not count.")
            if one.action != "update":
                continue
            action = replace(one, action="new", existing=None)
        if action.action in {"new", "update"}:
            try:
                check_text(action.fact, "A fact")
            except InvalidInput as error:
                notes.append(f"An action was left out: {error.sentence}")
                continue
        if action.existing is not None:
            told.add(action.existing)
        checked.append(action)
    return checked, notes


def fact_number(value: Json) -> int | None:
    """A number, however it is written; an id of whatever other form is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    written = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(written[1]) if written else None
