"""Which statements of single messages become facts, one by one: `statements.json`.

A fact is the expected one if most of the words of either are words of the other; dates in brackets do not count.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from perdure.learn.rules.english.statements import statements

SETS: Final = Path(__file__).parent / "sets"
_NEAR: Final = 0.7
_DATES: Final = re.compile(r" \((?:from |until )?\d{4}[^)]*\)")


class Noted(NamedTuple):
    """`missed` is what a careful person would note and the rules did not, `extra` what the rules alone did."""

    kind: str
    text: str
    found: tuple[str, ...]
    missed: tuple[str, ...]
    extra: tuple[str, ...]


def read() -> Iterator[Noted]:
    told = json.loads((SETS / "statements.json").read_text("utf-8"))
    at = datetime.fromisoformat(told["date"])
    for one in told["statements"]:
        made = [each.fact for each in statements(one["text"], told["speaker"], at, listener=told["listener"])]
        found = [fact for fact in made if any(_near(fact, other) for other in one["facts"])]
        missed = [fact for fact in one["facts"] if not any(_near(fact, other) for other in made)]
        extra = [fact for fact in made if fact not in found]
        yield Noted(one["kind"], one["text"], tuple(found), tuple(missed), tuple(extra))


def report() -> None:
    counts: Counter[str] = Counter()
    for one in read():
        counts["expected"] += len(one.found) + len(one.missed)
        counts["found"] += len(one.found)
        counts["extra"] += len(one.extra)
        if not one.found and not one.missed:
            counts["without"] += 1
            counts["wrongly"] += bool(one.extra)
    print(
        f"\nSingle messages (statements.json): {counts['found']} of {counts['expected']} facts found,"
        f" {counts['extra']} others made; {counts['wrongly']} of {counts['without']} messages without a fact gave one"
    )


def _near(one: str, other: str) -> bool:
    first, second = (set(re.findall(r"\w+", _DATES.sub("", text).lower())) for text in (one, other))
    return len(first & second) >= _NEAR * len(first | second)
