"""One story through every verb. It is told to a local file and to a server, and its answers must be the same."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from perdure import Memory
from perdure.errors import NeedsConfirmation, PerdureError

MARCH = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MARK = re.compile(r"(?<=memories )[0-9a-f]{16}")
# What belongs to a place or to a moment, not to the answer: who wrote where, and checksums over all of it.
APART = {"actor", "surface", "request", "digest", "hash", "token", "mark", "path", "bytes", "last_used", "version"}


class Comparable:
    """Answers without times, and with ids in the order in which they come up."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def __call__(self, value: object, name: str = "") -> Any:  # noqa: PLR0911 - one for each kind
        if isinstance(value, datetime):
            return value if value == MARCH else "a time"
        if is_dataclass(value) and not isinstance(value, type):
            kept = [each.name for each in fields(value) if each.name not in APART or type(value).__name__ == "Record"]
            return (type(value).__name__, *((name, self(getattr(value, name), name)) for name in kept))
        if isinstance(value, Mapping):
            entries = cast("Mapping[str, object]", value)
            return {key: self(item, key) for key, item in entries.items() if key not in APART}
        if isinstance(value, str):
            value = MARK.sub("", value).replace("'9999'", "9999")
            return ID.sub(lambda found: self._ids.setdefault(found[0], f"id {len(self._ids)}"), value)
        if isinstance(value, tuple | list):
            items = [self(item, name) for item in cast("Iterable[object]", value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, float):
            return round(value, 4)
        return value


def writing(memory: Memory) -> Iterable[object]:
    yield memory.remember(
        "Alice prefers dark mode", tags={"ui"}, category="preference", key="person:alice", valid_at=MARCH,
        metadata={"severity": [1, {"deep": None}], "project": "x"}, trigger_phrases=["which theme"],
    )  # fmt: skip
    yield memory.remember("Alice prefers dark mode", key="person:alice")
    yield memory.remember("The Osaka flat has a balcony", importance=0.9, confidence="high")
    yield memory.remember("Die Wohnung in Ōsaka 🏠", title="Wohnung", idempotency_key="schlüssel-1")
    yield memory.remember("Die Wohnung in Ōsaka 🏠", title="Wohnung", idempotency_key="schlüssel-1")
    yield memory.remember("Measure before you optimise the balcony", category="heuristics")
    yield memory.upsert("doc:a/history", "A key that looks like an address")
    yield memory.upsert("doc:a/history", "A key that looks like an address", expected_version=1)
    yield memory.update("doc:a/history", text="A key, corrected", add_tags=["odd"], expected_version=2)
    yield memory.update(2, remove_tags=["none"], summary="balcony")
    yield memory.validate(2, True)
    yield memory.promote(2, "critical")
    yield memory.save_memory("The Osaka flat has a balcony", role="user")


def reading(memory: Memory) -> Iterable[object]:
    for ref in (1, "#1", "person:alice", "doc:a/history"):
        yield memory.get(ref)
    yield memory.list(limit=2)
    yield memory.list(limit=500, newest=False, where={"project": ["x", "y"]}, min_importance=0.1)
    yield memory.recall("which theme does Alice like?", limit=3)
    yield memory.recall(concepts=["Osaka", "balcony"], recipe="balanced", include_constitutional=False)
    yield memory.recall("nothing of the kind whatsoever", min_relevance=0.9)
    yield memory.recall("dark mode", as_of=MARCH, known_at="2020-01-01")
    yield memory.context("dark mode", budget=300)
    yield memory.context("dark mode", budget=300, format="records")
    yield memory.recall_detail([1, "person:alice"], level="index")
    yield memory.match_triggers("which theme shall it be?")
    yield memory.suggest("which theme shall it be?", limit=2, without={memory.get(2).id})
    found = memory.learnings("balcony")
    yield found
    yield memory.injected(found.recall.relevant)
    yield memory.summarize(token_limit=60)
    yield memory.constitution()
    yield memory.offers()
    yield memory.capacity()
    yield memory.versions("doc:a/history")
    yield memory.version("doc:a/history", 1)
    yield memory.diff("doc:a/history")
    yield memory.history("person:alice")
    yield memory.log(limit=500)
    yield memory.log(operation="update", limit=1)
    yield memory.stats().namespaces
    yield [each.name for each in memory.stats().namespaces]


def going_back(memory: Memory) -> Iterable[object]:
    yield memory.checkpoint("before", description="all well", metadata={"by": "test"})
    yield memory.checkpoints()
    with pytest.raises(NeedsConfirmation) as asked:
        memory.forget("everything about the Osaka flat")
    yield asked.value.preview
    yield memory.forget("everything about the Osaka flat", confirm=asked.value.preview.token)
    yield memory.restore([2])
    yield memory.forget([1, 2], dry_run=True)
    gone = memory.forget(1)
    yield gone
    yield memory.restore(1)
    with memory.batch() as batch:
        memory.remember("One of two")
        memory.remember("Two of two")
    yield memory.undo(batch)
    yield memory.log(batch=batch)
    yield memory.restore_checkpoint("before", clear_existing=True)
    yield memory.delete_checkpoint("before")
    yield memory.erase("doc:a/history", confirm=True)
    yield memory.capacity(max_items=50)
    yield memory.capacity(max_items=None)


def talking(memory: Memory) -> Iterable[object]:
    talk = memory.conversation("support/42")
    yield talk.add_message("user", "I moved to Osaka last week", at=MARCH, speaker="Ada", idempotency_key="m1")
    yield talk.add_message("user", "I moved to Osaka last week", at=MARCH, speaker="Ada", idempotency_key="m1")
    said = ["Good for you", "My cat is called Mochi", "A fine name", "I like green tea", "Noted"]
    yield talk.add_messages({"role": "user", "content": text, "at": MARCH} for text in said)
    lines = "".join(
        json.dumps({"conversation_id": "other", "role": "user", "content": f"word {n}", "at": "2026-03-14"}) + "\n"
        for n in range(3)
    )
    yield memory.import_messages(io.StringIO(lines))
    yield memory.import_messages([json.loads(line) for line in lines.splitlines()], dry_run=True)
    yield talk.messages()
    yield talk.messages(limit=2)
    yield memory.conversations()
    yield memory.work(limit=100)
    episodes = memory.list(key_type="episode")
    yield episodes
    yield [talk.messages(episode=episode) for episode in episodes]
    yield memory.episodes("Osaka", limit=2)
    task = memory.open_consolidation()
    yield task and (task.conversation_id, task.facts, [each.record.number for each in task.episodes])
    yield memory.consolidate(dry_run=True)
    yield memory.consolidate()
    yield memory.facts()
    yield memory.facts("where does the user live?", history=True, category="identity")
    yield memory.facts(about="user")
    yield memory.conflicts()
    yield memory.parked()
    yield memory.retry_parked()
    yield memory.discard_parked()
    yield memory.egress().calls


def deciding(memory: Memory) -> Iterable[object]:
    """Proposals, of memories that cannot both be true."""
    yield memory.save_memory("The meeting is on Monday at 10 am", category="identity")
    yield memory.save_memory("The meeting is not on Monday at 10 am", category="identity")
    waiting = memory.review()
    yield waiting
    for proposal in waiting[:1]:
        yield memory.reject(proposal)
    for proposal in waiting[1:2]:
        yield memory.accept(proposal.number)


def carrying(memory: Memory) -> Iterable[object]:
    file = io.StringIO()
    yield memory.export(file, states=["active", "deleted"])
    lines = file.getvalue().splitlines()
    yield len(lines), json.loads(lines[0])["perdure_export"], sorted(json.loads(lines[1]))
    elsewhere = memory.namespace("elsewhere")
    yield elsewhere.import_(io.StringIO(file.getvalue()), trusted=True)
    yield elsewhere.import_([{"text": "A stranger's word", "tags": ["new"]}], revive=True)
    yield elsewhere.list(limit=200, newest=False)
    yield memory.recall("Osaka", namespaces=["default", "elsewhere"], limit=4)


def refusing(memory: Memory) -> Iterable[object]:
    """Errors: the same class, the same sentence, the same remedy."""
    broken = '{"text": "good"}\n{"text": \n'
    refused: list[Callable[[], object]] = [
        lambda: memory.get(9_999),
        lambda: memory.get("no reference at all"),
        lambda: memory.get(True),
        lambda: memory.remember("   "),
        lambda: memory.remember("x", category="nonsense"),
        lambda: memory.upsert("no key", "x"),
        lambda: memory.update(1, text="x", expected_version=77),
        lambda: memory.upsert("person:alice", "x", expected_version=0),
        lambda: memory.recall("x", since="the day after never"),
        lambda: memory.recall("x", recipe="none such"),
        lambda: memory.list(limit=0),
        lambda: memory.undo("00000000"),
        lambda: memory.restore_checkpoint("none such"),
        lambda: memory.version(1, 99),
        lambda: memory.forget("x", mode=cast("Any", "loud")),
        lambda: memory.recall_detail([1, 9_999]),
        lambda: memory.import_(io.StringIO(broken)),
        lambda: memory.import_(cast("Any", 7)),
        lambda: memory.export(cast("Any", 7)),
        lambda: memory.conversation("support/42").add_messages([{"role": "user"}]),
        lambda: memory.finish_consolidation("no token", []),
        lambda: memory.accept(1),
        lambda: memory.batch("no id").__enter__(),
        lambda: memory.namespace(" "),
    ]
    for call in refused:
        with pytest.raises(PerdureError) as caught:
            call()
        yield type(caught.value).__name__, caught.value.sentence, caught.value.remedy, caught.value.code


CHAPTERS = (writing, reading, going_back, talking, deciding, carrying, refusing)


def tell(memory: Memory) -> dict[str, list[object]]:
    comparable = Comparable()
    return {chapter.__name__: [comparable(answer) for answer in chapter(memory)] for chapter in CHAPTERS}
