"""The judging sets: texts of many kinds, each with questions and the names of what answers them.

A set is a `Source` below: what it is, which path it needs, and a function that reads it. Those of other people are not
part of this repository; ours are in the folder `sets`.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from bench.corpus import DataMissing, checked
from bench.recall.data import Collection, JudgingSet, Question, locomo, scifact

OWN: Final = Path(__file__).parent / "sets"
DEV: Final = "dev.json.xz: development sets, each a list of groups with `docs` and `qs` (a question, and its documents)"

Json: TypeAlias = Mapping[str, Any]
Ids: TypeAlias = "int | Sequence[Ids] | Mapping[str, Ids] | None"

_DAY: Final = "%d %B %Y"
_ANCHOR: Final = "%B-%d-%Y"
_SAID: Final = re.compile(r"(?:\[(\d{1,2} [A-Z][a-z]+ \d{4})\] )?(?:([#A-Z][^:]{0,30}): )?(.+)", re.DOTALL)


class Source(NamedTuple):
    """`needs` is the name of the path that the set is read from; ours need none."""

    name: str
    about: str
    kind: str
    needs: str
    read: Callable[[Path], Sequence[Collection]]

    def load(self, path: Path) -> JudgingSet:
        return JudgingSet(self.name, self.about, self.kind, self.read(path))


def beam(path: Path) -> list[Collection]:
    """One for each chat, a memory for each message. `path`: the file, or the folder where it lies alone."""
    file = next(iter(sorted(path.glob("*.json"))), path) if path.is_dir() else path
    return [_beam_chat(chat) for chat in json.loads(checked(file, "beam"))]


def _beam_chat(chat: Json) -> Collection:
    name = f"beam-{chat['chat']}"
    memories: list[dict[str, Any]] = []
    anchor: datetime | None = None
    for message in chat["messages"]:
        if message["time_anchor"]:
            anchor = datetime.strptime(message["time_anchor"], _ANCHOR).replace(tzinfo=UTC)
        memories.append(
            _message(
                name, message["id"], message["content"],
                speaker=message["role"], role=message["role"], session=message["session"], at=anchor,
            )
        )  # fmt: skip
    questions = [
        Question(item["question"], frozenset(f"{name} {number}" for number in numbers), ability=item["ability"])
        for item in chat["questions"]
        if (numbers := set(_numbers(item.get("source_chat_ids"))))
    ]
    absent = [item["question"] for item in chat["questions"] if item["ability"] == "abstention"]
    return Collection(name, memories, questions, absent)


def _numbers(ids: Ids) -> Iterator[int]:
    if isinstance(ids, int):
        yield ids
    elif ids is not None:
        for one in ids.values() if isinstance(ids, Mapping) else ids:
            yield from _numbers(one)


def development(path: Path, name: str, *, conversations: bool) -> list[Collection]:
    """One for each group. A document is `[3 February 2024] Lucas: text`, of which date and speaker may be missing."""
    return [
        Collection(
            f"{name}-{number}",
            [
                _said(f"{name}-{number}", place, text, in_conversation=conversations)
                for place, text in enumerate(group["docs"])
            ],
            [Question(text, frozenset(f"{name}-{number} {one}" for one in gold)) for text, gold in group["qs"]],
        )
        for number, group in enumerate(_development_file(path)[name], 1)
    ]


@cache
def _development_file(path: Path) -> Mapping[str, Sequence[Json]]:
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)["src"]
    except (OSError, lzma.LZMAError) as error:
        raise DataMissing(f"{path} cannot be read: {error}. It is {DEV}; give its path as --dev or DEV=.") from error


def _said(collection: str, place: int, document: str, *, in_conversation: bool) -> dict[str, Any]:
    date, speaker, text = _SAID.fullmatch(document).groups()  # pyright: ignore[reportOptionalMemberAccess]
    at = datetime.strptime(date, _DAY).replace(tzinfo=UTC) if date else None
    if in_conversation:
        return _message(collection, place, text, speaker=speaker, at=at)
    # With the key of its place: the same words again are another document.
    return {**_memory(f"{collection} {place}", text, speaker=speaker, at=at), "key": f"turn:{place}"}


def notes(_: Path) -> list[Collection]:
    return [_own_memories("notes")]


def ward(_: Path) -> list[Collection]:
    return [_own_memories("ward")]


def freight(_: Path) -> list[Collection]:
    return [_own_memories("freight")]


def orchard(_: Path) -> list[Collection]:
    return [_own_memories("orchard")]


def luthier(_: Path) -> list[Collection]:
    return [_own_memories("luthier")]


def learnings(_: Path) -> list[Collection]:
    return [_own_memories("learnings")]


def _own_memories(name: str) -> Collection:
    content: Json = json.loads((OWN / f"{name}.json").read_text("utf-8"))
    memories = [_memory(f"{name} {one['id']}", one["text"], title=one.get("title")) for one in content["memories"]]
    return Collection(name, memories, _own_questions(name, content), content.get("absent", ()))


def chats(_: Path, kind: str) -> list[Collection]:
    content: Json = json.loads((OWN / "chats.json").read_text("utf-8"))
    return [_own_chat(chat) for chat in content["chats"] if chat["kind"] == kind]


def _own_chat(chat: Json) -> Collection:
    name, is_assistant = chat["name"], chat["kind"] == "assistant"
    memories = [
        _message(
            name, one["id"], one["text"],
            speaker=one["speaker"], role=one["speaker"] if is_assistant else "user", session=one["session"],
            at=datetime.fromisoformat(one["date"]).replace(tzinfo=UTC),
        )
        for one in chat["messages"]
    ]  # fmt: skip
    return Collection(name, memories, _own_questions(name, chat), chat.get("absent", ()))


def _own_questions(name: str, content: Json) -> list[Question]:
    return [
        Question(item["question"], frozenset(f"{name} {number}" for number in item["answers"]))
        for item in content["questions"]
    ]


def _message(
    collection: str, place: int, text: str, *, speaker: str | None, role: str | None = None, session: int | None = None,
    at: datetime | None,
) -> dict[str, Any]:  # fmt: skip
    """A memory that stands in a conversation, with the key of its place: the same words again are another message."""
    of_session = {} if session is None else {"session_id": f"session_{session}"}
    return {
        **_memory(f"{collection} {place}", text, speaker=speaker, role=role, at=at),
        "key": f"turn:{place}",
        "conversation_id": collection,
        **of_session,
    }


def _memory(
    name: str, text: str, *, title: str | None = None, speaker: str | None = None, role: str | None = None,
    at: datetime | None = None,
) -> dict[str, Any]:  # fmt: skip
    fields = {"title": title, "valid_at": at.isoformat() if at else None}
    metadata = {"name": name, "speaker": speaker, "role": role}
    return {
        "text": text,
        **{key: value for key, value in fields.items() if value is not None},
        "metadata": {key: value for key, value in metadata.items() if value is not None},
    }


def _one(read: Callable[[Path], Collection]) -> Callable[[Path], list[Collection]]:
    return lambda path: [read(path)]


def _dev(name: str, *, conversations: bool) -> Callable[[Path], list[Collection]]:
    return partial(development, name=name, conversations=conversations)


SOURCES: Final = (
    Source("locomo", "LoCoMo, ten conversations of two friends", "human chats", "locomo", locomo),
    Source("beam", "BEAM, chats 1 to 10", "assistant chats", "beam", beam),
    Source("scifact", "SciFact, claims and abstracts", "documents", "scifact", _one(scifact)),
    Source("circa", "Circa, indirect answers", "short answers", "dev", _dev("circa", conversations=False)),
    Source("friendsqa", "FriendsQA, scenes of a series", "human chats", "dev", _dev("friendsqa", conversations=True)),
    Source("qmsum", "QMSum, meetings", "human chats", "dev", _dev("qmsum", conversations=True)),
    Source("crd3", "CRD3, a game played aloud", "human chats", "dev", _dev("crd3", conversations=True)),
    Source("sgd", "SGD, bookings with an assistant", "assistant chats", "dev", _dev("sgd", conversations=True)),
    Source("relations", "unseen relations, made by templates", "notes", "dev", _dev("synth_held", conversations=False)),
    Source("notes", "60 notes of our own", "notes", "", notes),
    Source("ward", "60 notes of a nurse who studies", "notes", "", ward),
    Source("freight", "60 notes of a developer of freight software", "notes", "", freight),
    Source("orchard", "60 notes of a fruit farmer", "notes", "", orchard),
    Source("luthier", "60 notes of a violin maker", "notes", "", luthier),
    Source("assistant-chats", "four chats of our own", "assistant chats", "", partial(chats, kind="assistant")),
    Source("human-chats", "two chats of our own", "human chats", "", partial(chats, kind="human")),
    Source("learnings", "60 learnings of our own", "learnings", "", learnings),
)
