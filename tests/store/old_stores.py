"""Make a small store in which everything has happened once, and write down all that it answers.

    python tests/store/old_stores.py tests/store/made_by_0_1_0

was run with the code of that version, and test_old_stores.py opens what it made with today's code, which has other
names for some things. Run it again, into a folder of its own, at a release whose stores differ from those here.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from perdure import Memory
from perdure.model import STATES, Recall
from perdure.testing.embedder import WordEmbedder

NAME = "memory.store"
SIDE_FILES = ("-head", "-erased")
BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)
# When the answers are written down: after everything, and before the clock could be said to have jumped.
END = datetime(2026, 3, 1, 20, tzinfo=UTC)
NAMESPACES = ("default", "team")
ERASED_TEXT = "The door code is four nine two seven"
FORGOTTEN_TEXT = "The old office is in Nagoya"


class Clock:
    """Moves on by ten seconds with each look."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


def main(folder: Path) -> None:
    with TemporaryDirectory() as scratch:
        made = Path(scratch, "made", NAME)
        make(made)
        seen = Path(scratch, "seen", NAME)
        shutil.copytree(made.parent, seen.parent)
        with open_at_the_end(seen) as memory:
            expected = everything(memory)
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("", *SIDE_FILES):
            shutil.copyfile(f"{made}{suffix}", folder / f"{NAME}{suffix}")
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
    (folder / "expected.json").write_text(f"{text}\n", encoding="utf-8")


def open_at_the_end(path: Path) -> Memory:
    return Memory(path, embedder=WordEmbedder(), clock=lambda: END)


def make(path: Path) -> None:
    clock, embedder = Clock(), WordEmbedder()

    def opened(**author: str) -> Memory:
        return Memory(path, embedder=embedder, clock=clock, **author)  # pyright: ignore[reportArgumentType]

    with opened(actor="alice", session="monday") as memory:
        say_facts(memory)
        say_conversation(memory)
    with opened(actor="bob", session="tuesday") as memory:
        change(memory)
        embedder.down = True
        memory.remember("This memory was stored while the embedder was down")
        embedder.down = False
        limit_the_team(memory.namespace("team"))
    with opened(actor="helper", session="wednesday", writer="model") as memory:
        memory.remember("Proposed: always answer in French", tier="constitutional")
        taken_back = memory.remember("The model made this up")
        memory.undo(taken_back.batch)
    with opened(actor="alice") as memory:
        memory.erase(memory.remember(ERASED_TEXT, key="secret:door").record.number, confirm=True)
        memory.recall("where does Alice live")
        memory.get("city:alice")


def say_facts(memory: Memory) -> None:
    memory.upsert("city:alice", "Alice lives in Osaka", valid_at="2019-04-01", category="identity", tags=["home"])
    memory.upsert("city:alice", "Alice lives in Tokyo", valid_at="2025-06-01", category="identity", tags=["home"])
    memory.remember("Never deploy on a Friday", tier="constitutional", category="guideline")
    memory.remember("Alice prefers dark mode", category="preference", tags=["ui", "theme"], importance=0.9)
    memory.remember("Alice prefers dark mode", tags=["said again"])
    memory.remember(
        "Save the plan and the open questions to notes.md",
        title="Saving the context",
        summary="Save plan and questions",
        trigger_phrases=["save context", "write it down"],
        metadata={"origin": {"page": 3}, "checked": True},
    )
    memory.remember(
        "Retries must be idempotent",
        category="patterns",
        confidence=0.8,
        reasoning="The queue delivered twice",
        source="manual",
        source_project="billing",
        spec_folder="specs/007-retries",
        file_path="docs/queue.md",
        anchor_id="summary",
        references=["https://example.org/queue"],
        evidence=["episode-12"],
    )
    memory.remember("The demo is at noon", tier="temporary", expires_at="2026-03-01T12:00:00Z")
    memory.remember("The old printer needs a driver", tier="deprecated")
    memory.remember("漢字 and naïve 🧠 text with\na second line", context_type="discovery")


def say_conversation(memory: Memory) -> None:
    turns = (
        ("Alice", "Shall we paint the kitchen green?"),
        ("Bob", "Green is fine, but the window frames stay white."),
        ("Alice", "Good. The painter comes on Thursday."),
        ("Bob", "I will move the shelves before he comes."),
    )
    for minute, (speaker, text) in enumerate(turns):
        memory.remember(
            text,
            source="episode",
            conversation_id="kitchen",
            session_id="kitchen-1",
            channel="chat",
            metadata={"speaker": speaker},
            valid_at=datetime(2026, 2, 20, 18, minute, tzinfo=UTC),
        )


def change(memory: Memory) -> None:
    memory.checkpoint("before the changes", description="Everything as it was said", metadata={"by": "bob"})
    memory.update("city:alice", add_tags=["checked"])
    number = memory.remember("The shop opens at nine").record.number
    memory.update(number, text="The shop opens at ten")
    memory.undo(memory.update(number, text="The shop opens at eleven").batch)
    memory.update(number, text="The shop opens at half past ten")
    for useful in (True, True, False):
        memory.validate(number, useful=useful)
    memory.promote(number, tier="important")
    gone = memory.remember(FORGOTTEN_TEXT).record.number
    memory.forget(gone)
    restored = memory.remember("The bicycle is in the cellar").record.number
    memory.forget(restored)
    memory.restore(restored)
    memory.remember("It ended before it was looked at", expires_at="2026-03-01T08:00:01Z")
    memory.work()
    memory.checkpoint("after the changes")


def limit_the_team(team: Memory) -> None:
    team.remember("The team meets on Monday", importance=0.9)
    team.remember("The coffee machine was broken", importance=0.1)
    team.remember("The intern starts in May", importance=0.2)
    team.capacity(max_items=3, max_tokens=10_000)
    team.remember("The server room has a new lock", importance=0.8)
    team.import_([{"text": "An imported line", "created_at": "2025-01-01T00:00:00Z"}])
    team.remember("The same request", idempotency_key="request-1")


def everything(memory: Memory) -> dict[str, Any]:
    """All that can be read, as JSON, by the names of today. Looking counts as use, so records are read first."""
    answer = {name: namespace(memory.namespace(name)) for name in NAMESPACES}
    problems = [str(finding) for finding in memory.doctor() if finding.level == "problem"]
    return {"namespaces": answer, "problems": problems}


def namespace(memory: Memory) -> dict[str, Any]:
    records = memory.list(states=STATES, limit=100)
    log = memory.log(limit=1000)
    numbers = [record.number for record in records]
    capacity = memory.capacity()
    return {
        "records": [as_json(record) for record in records],
        "log": [{**as_json(replace(line, record=None)), "erased": line.record is None} for line in log],
        "history": {str(number): [line.seq for line in memory.history(number)] for number in numbers},
        "versions": {str(number): versions(memory, number) for number in numbers},
        "checkpoints": [
            {
                "name": checkpoint.name,
                "positions": dict(checkpoint.positions),
                "memories": checkpoint.memory_count,
                "description": checkpoint.description,
                "metadata": as_json(checkpoint.metadata),
            }
            for checkpoint in memory.checkpoints()
        ],
        "limits": [capacity.item_count, capacity.max_items, capacity.max_tokens],
        "constitution": [record.number for record in memory.constitution().records],
        "answers": answers(memory),
        "triggers": [match.record.number for match in memory.match_triggers("please save context now")],
    }


def versions(memory: Memory, number: int) -> list[Any]:
    return [
        [
            version.version,
            version.record and version.record.text,
            list(version.lineage),
            version.current,
            version.taken_back,
        ]
        for version in memory.versions(number)
    ]


def answers(memory: Memory) -> dict[str, Any]:
    question = "where does Alice live"
    # What weighs use is asked first: an answer counts as use at once.
    recalled = {
        "by tier": memory.recall("shop", recipe="tiered"),
        "learnings": memory.recall("queue retries", recipe="learnings", category="patterns"),
        "by meaning and words": memory.recall(question),
        "what was true": memory.recall(question, as_of="2022-01-01"),
        "what was known": memory.recall("which city was Osaka", known_at=BEGIN + timedelta(seconds=15)),
        "in a conversation": memory.recall("What did Bob say about the window frames?"),
        "by concepts": memory.recall(concepts=["kitchen", "green"]),
        "by filter": memory.recall("Alice", tags=["home"]),
        "what is gone": memory.recall("office Nagoya door code"),
    }
    return {name: hits(recall) for name, recall in recalled.items()}


def hits(recall: Recall) -> dict[str, Any]:
    return {
        "mode": recall.mode,
        "constitutional": [record.number for record in recall.constitutional],
        "hits": [[hit.record.number, hit.record.version, round(hit.score, 6)] for hit in recall],
    }


def as_json(value: object) -> Any:
    """Without what a dataclass does not say: a field that is added later and has nothing to say changes nothing."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        said = {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
        return {name: item for name, item in said.items() if item not in (None, [], {})}
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in cast("list[object]", value)]
    return value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
