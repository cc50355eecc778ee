"""Groups that were written by hand, line by line: notes of many people and teams, talks, and learnings with the prompts
that they help. The files are in `texts/written`.

    # what this store is
    - a memory
    ? a question that it answers | the same need in other words
    - a memory that nothing asks for
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random

from training.templates import Group
from training.wording import MONTHS, TEXTS, asked, options

WRITTEN = TEXTS / "written"
# The files of a kind begin with its name.
KINDS = ("notes", "chats", "learnings")
# Every eighth group is kept, to judge by.
HELD_OUT = 8


def read_groups(file: Path) -> list[Group]:
    groups: list[Group] = []
    for line in file.read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            groups.append({"docs": [], "qs": []})
        elif mark == "-":
            groups[-1]["docs"].append(rest.strip())
        elif mark == "?":
            groups[-1]["qs"] += [(question, [len(groups[-1]["docs"]) - 1]) for question in options(rest)]
    return [group for group in groups if group["qs"]]


def build(rng: Random) -> dict[str, list[Group]]:
    """The groups of each kind, plain and as the product writes passages: with a date, without a speaker."""
    found: dict[str, list[Group]] = {}
    for kind in KINDS:
        groups, _ = split(kind)
        found[f"own written {kind}"] = [form for group in groups for form in _forms(group, kind, rng)]
    return found


def split(kind: str) -> tuple[list[Group], list[Group]]:
    """The groups to train on, and those to judge by."""
    groups = [group for file in sorted(WRITTEN.glob(f"{kind}_*.txt")) for group in read_groups(file)]
    return [one for place, one in enumerate(groups) if place % HELD_OUT], groups[::HELD_OUT]


def _forms(group: Group, kind: str, rng: Random) -> Iterator[Group]:
    yield _reworded(group, rng)
    yield _reworded({"docs": _dated(group["docs"], rng), "qs": group["qs"]}, rng)
    if kind == "chats":
        yield _reworded({"docs": [text.partition(": ")[2] or text for text in group["docs"]], "qs": group["qs"]}, rng)


def _dated(docs: list[str], rng: Random) -> list[str]:
    day = date(2019, 1, 1) + timedelta(days=rng.randint(0, 2600))
    found: list[str] = []
    for text in docs:
        day += timedelta(days=rng.randint(1, 40) if rng.random() < 0.2 else 0)
        found.append(f"[{day.day} {MONTHS[day.month - 1]} {day.year}] {text}")
    return found


def _reworded(group: Group, rng: Random) -> Group:
    """Each question as it is written or as somebody in a hurry types it."""
    asks = [(asked(text, rng, polite=False) if rng.random() < 0.3 else text, gold) for text, gold in group["qs"]]
    return {"docs": group["docs"], "qs": asks}
