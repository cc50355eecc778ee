"""What is done about facts: one contract for everybody who consolidates, be it a model, the agent itself or rules.

An answer is never trusted. It names facts by the numbers under which they were shown; any other number means a new
fact. Each fact is the target of one action at most, and nothing can be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast

from perdure.errors import InvalidInput, shown
from perdure.ids import content_hash
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
_NUMBER: Final = re.compile(r"#?([0-9]{1,10})")

CATEGORIES: Final = {
    "identity": "name, location, occupation, age, demographic facts",
    "preference": "likes, dislikes, favorites, rankings",
    "interest": "topics, hobbies, domains the person engages with",
    "personality": "communication style, emotional tendencies, traits",
    "relationship": "dynamics between user and assistant, shared references, routines",
    "experience": "skills, past events, professional background",
    "goal": "desires, plans, aspirations",
    "guideline": "how the assistant should behave: rules, tone preferences, conditional instructions",
}

SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MOST_ACTIONS,
            "items": {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["new", "reinforce", "update", "invalidate"]},
                    "existing_fact_id": {
                        "description": "The number of the fact that is reinforced, updated or invalidated; else null.",
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


def parse_actions(answer: Mapping[str, Json], known: Collection[int]) -> tuple[list[FactAction], list[str]]:
    """The actions of an answer that matches `SCHEMA`, as far as they can be carried out, and what a person should hear
    of the others. `known` are the numbers of the facts that were shown.
    """
    actions: list[FactAction] = []
    notes: list[str] = []
    for item in cast("Sequence[Mapping[str, Json]]", answer["facts"]):
        action = cast("Action", item["action"])
        existing = None if action == "new" else _number(item["existing_fact_id"])
        if action != "new" and existing not in known:
            notes.append(f"{shown(item['existing_fact_id'])} is no fact that was shown: {action} counts as new.")
            action, existing = "new", None
        fact = " ".join(str(item["fact"]).split())
        try:
            fact = check_text(fact, "A fact") if action in {"new", "update"} else fact
        except InvalidInput as error:
            notes.append(f"An action was left out: {error.sentence}")
            continue
        keywords = usable_keywords(cast("Sequence[object]", item["keywords"]))
        actions.append(FactAction(action, existing, str(item["category"]), fact, keywords))
    return actions, notes


def without_repeats(actions: Iterable[FactAction]) -> tuple[list[FactAction], list[str]]:
    """Without those that say the same again, and with one action about each fact: the first counts, and what another
    one says is not lost but new.
    """
    chosen: list[FactAction] = []
    notes: list[str] = []
    told: set[int] = set()
    said: set[str] = set()
    for one in actions:
        action = one
        if one.existing is not None and one.existing in told:
            notes.append(f"Another action about fact #{one.existing} comes first: {one.action} does not count.")
            if one.action != "update":
                continue
            action = replace(one, action="new", existing=None)
        if action.action in {"new", "update"}:
            words = content_hash(action.fact)
            if action.action == "new" and words in said:
                continue
            said.add(words)
        if action.existing is not None:
            told.add(action.existing)
        chosen.append(action)
    return chosen, notes


def _number(value: Json) -> int | None:
    """A number, however it is written; an id of whatever other form is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    written = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(written[1]) if written else None
