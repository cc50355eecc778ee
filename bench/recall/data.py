"""What a judging set is, and the two that other benchmarks read as well: LoCoMo and SciFact, as memories and questions.
Neither is part of this repository: see bench/corpus.py. The other sets are in bench/recall/sets.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.corpus import DataMissing, checked

CATEGORIES: Final = (1, 2, 3, 4, 5)
ADVERSARIAL: Final = 5
# As the authors' own code has them.
NAMES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_TURN: Final = re.compile(r"D:?(\d+):(\d+)")
_DATE: Final = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` are the names of the documents that answer it. LoCoMo has a `category` of 1 to 5, BEAM an `ability`."""

    text: str
    gold: frozenset[str]
    category: int = 0
    ability: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """What is stored in one namespace and asked there. Each memory has its name in `metadata.name`."""

    name: str
    memories: Sequence[dict[str, Any]]
    questions: Sequence[Question]
    absent: Sequence[str] = ()
    """Questions that nothing there answers."""


@dataclass(frozen=True, slots=True)
class JudgingSet:
    """Texts of one kind. Its mean counts as much as that of every other set, however many questions it has."""

    name: str
    about: str
    kind: str
    collections: Sequence[Collection]

    @property
    def questions(self) -> list[Question]:
        return [question for each in self.collections for question in each.questions]

    @property
    def memories(self) -> int:
        return sum(len(each.memories) for each in self.collections)

    def quick(self, most_memories: int, most_questions: int) -> JudgingSet:
        """The first collections, and questions spread over them: a rough answer in a short time."""
        kept: list[Collection] = []
        for each in self.collections:
            if kept and sum(len(one.memories) for one in (*kept, each)) > most_memories:
                break
            kept.append(each)
        step = max(1, round(sum(len(each.questions) for each in kept) / most_questions))
        return replace(self, collections=[replace(each, questions=each.questions[::step]) for each in kept])


def locomo(path: Path) -> list[Collection]:
    """One for each conversation, a memory for each turn."""
    return [_conversation(sample) for sample in json.loads(checked(path, "locomo"))]


def session_of(name: str) -> str:
    """The session of a turn called `conversation D3:12`."""
    return name.rpartition(":")[0]


def _conversation(sample: dict[str, Any]) -> Collection:
    name, talk = sample["sample_id"], sample["conversation"]
    memories: list[dict[str, Any]] = []
    for session in sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])):
        date = datetime.strptime(talk[f"{session}_date_time"], _DATE).replace(tzinfo=UTC)
        memories += (_memory(name, session, date, turn) for turn in talk[session])
    known: frozenset[str] = frozenset(memory["metadata"]["name"] for memory in memories)
    questions = [
        Question(item["question"], gold, item["category"])
        for item in sample["qa"]
        if (gold := known & {_name(name, *found) for line in item["evidence"] for found in _TURN.findall(line)})
    ]
    return Collection(name, memories, questions)


def _name(conversation: str, session: str, turn: str) -> str:
    return f"{conversation} D{int(session)}:{int(turn)}"


def _slug(name: str) -> str:
    return re.sub(r"\W", "_", name).lower()


def _memory(conversation: str, session: str, date: datetime, turn: dict[str, Any]) -> dict[str, Any]:
    caption = f" [shares image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    name = _name(conversation, *_TURN.findall(turn["dia_id"])[0])
    return {
        "text": turn["text"] + caption,
        "key": f"turn:{_slug(name)}",
        "conversation_id": conversation,
        "session_id": session,
        "valid_at": date.isoformat(),
        "metadata": {"speaker": turn["speaker"], "name": name},
    }


def scifact(path: Path) -> Collection:
    """`path`: corpus.jsonl, or the folder where it lies beside queries.jsonl and qrels/test.tsv."""
    corpus = path / "corpus.jsonl" if path.is_dir() else path
    memories = [
        {
            "text": document["text"],
            "title": document["title"],
            "key": f"abstract:{document['_id']}",
            "metadata": {"name": document["_id"]},
        }
        for document in map(json.loads, checked(corpus, "scifact").splitlines())
    ]
    try:
        asked = [json.loads(line) for line in (corpus.parent / "queries.jsonl").read_text("utf-8").splitlines()]
        judged = (corpus.parent / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]
    except OSError as error:
        raise DataMissing(f"Beside {corpus}, {error.filename} cannot be read: {error.strerror}.") from error
    gold: dict[str, set[str]] = {}
    for query, document, score in (line.split("\t") for line in judged):
        if int(score) > 0:
            gold.setdefault(query, set()).add(document)
    questions = [Question(one["text"], frozenset(gold[one["_id"]])) for one in asked if one["_id"] in gold]
    return Collection("scifact", memories, questions)
