"""What is learned of ordinary chats, and whether recall answers with what holds now: `chats.json` and `pairs.json`.

The README beside the sets says when a case passes. A fact comes from the message at whose time it was said; what ended
it is the message at whose time it ends.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from perdure import Memory
from perdure.embed.port import Embedder
from perdure.learn.validity import read_moment
from perdure.model import FACT_CATEGORIES, Json, Record
from perdure.settings import load

SETS = Path(__file__).parent / "sets"
OPEN = "chats.json"
HELD_BACK = "chats_held_back.json"
FURTHER = "chats_further.json"
UNSEEN = "chats_unseen.json"
PROBING = "chats_probing.json"
EVERYDAY = "chats_everyday.json"
FRESH = "chats_fresh.json"
SETS_OF_CHATS = (OPEN, HELD_BACK, FURTHER, UNSEEN, PROBING, EVERYDAY, FRESH)
_ROLES = ("user", "assistant")
_FIRST = 3
_LATER = timedelta(seconds=1)
_MOST = 1000
_TOLD_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
# Said behind each statement of a pair, so that it stands in a chat.
_AROUND = (
    ("assistant", "Thanks for telling me."), ("user", "Can you convert two cups to millilitres?"),
    ("assistant", "That is about 480 millilitres."), ("user", "And what is the plural of octopus?"),
    ("assistant", "Octopuses."),
)  # fmt: skip


class Said(NamedTuple):
    """A message of a chat, by the name of the chat and its id there."""

    chat: str
    id: int


@dataclass
class Chats:
    """The chats of one user, in the order of their dates, and what became of them."""

    chats: Sequence[Mapping[str, Any]]
    messages: dict[str, Said] = field(default_factory=dict[str, Said])
    dates: dict[Said, datetime] = field(default_factory=dict[Said, datetime])
    texts: dict[Said, str] = field(default_factory=dict[Said, str])
    facts: list[Record] = field(default_factory=list[Record])
    origins: dict[str, frozenset[Said]] = field(default_factory=dict[str, frozenset[Said]])

    def tell(self, memory: Memory, conversation: str | None) -> None:
        """Store all that was said, each chat as a conversation of its own unless one is named for all."""
        said = sorted(
            ((chat, one) for chat in self.chats for one in chat["messages"]), key=lambda each: each[1]["date"]
        )
        told: defaultdict[str, list[tuple[Said, dict[str, object]]]] = defaultdict(list)
        for chat, one in said:
            key, name = Said(chat["name"], one["id"]), one["speaker"]
            self.dates[key], self.texts[key] = datetime.fromisoformat(one["date"]), one["text"]
            who = {"role": name} if name in _ROLES else {"role": "user", "speaker": name}
            told[conversation or chat["name"]].append((key, {**who, "content": one["text"], "at": one["date"]}))
        for id, messages in told.items():
            talk = memory.conversation(id)
            talk.add_messages([message for _, message in messages])
            self.messages |= {
                record.id: key for record, (key, _) in zip(talk.messages(), messages, strict=True)
            }  # fmt: skip

    def read_facts(self, memory: Memory) -> None:
        for fact in memory.list(category=FACT_CATEGORIES, states=("active", "superseded"), limit=_MOST):
            moments = {fact.valid_at, *map(_moment, _strings(fact.metadata.get("said_at")))}
            said = (self.messages[id] for episode in fact.evidence for id in memory.get(episode).evidence)
            self.facts.append(fact)
            self.origins[fact.id] = frozenset(one for one in said if self.dates[one] in moments)

    def learned_from(self, said: Said) -> list[Record]:
        return [fact for fact in self.facts if said in self.origins[fact.id]]

    def ended_by(self, old: Said, new: Said) -> bool:
        """Whether a fact of the one message ended at the time of the other."""
        at = self.dates[new]
        ends = (fact.invalid_at for fact in self.learned_from(old) if fact.state == "superseded")
        return any(end is not None and abs(end - at) < _LATER for end in ends)


def report(embedder: Embedder) -> None:
    print("\nThirty ordinary chats, each a conversation of its own (bench/learn/sets/README.md)")
    for learn in ("auto", "rules", "off"):
        counts = measure(embedder, learn)
        print(f"  learn = {learn}: {_told(counts)}")
    together = measure(embedder, "auto", together=True)
    print(f"  all chats of a user as one conversation: {_told(together)}")
    print(f"\nTwelve more chats, held back: {_told(measure(embedder, 'auto', HELD_BACK))}")
    print(f"\nTen further chats: {_told(measure(embedder, 'auto', FURTHER))}")
    print(f"\nEight unseen chats in five languages: {_told(measure(embedder, 'auto', UNSEEN))}")
    print(f"\nTen people in two chats each, chosen to probe: {_told(measure(embedder, 'auto', PROBING))}")
    print(f"\nEight everyday chats: {_told(measure(embedder, 'auto', EVERYDAY))}")
    print(f"\nFourteen fresh chats: {_told(measure(embedder, 'auto', FRESH))}")
    print(f"  pairs of statements: {_counted(pairs(embedder))}")
    print(f"  one of two facts of a message ends: {_of_two(one_of_two(embedder))}")


def _of_two(counts: Counter[str]) -> str:
    return (
        f"{counts['ended']}/{counts['ends']} ended, {counts['unknown']} of them were no fact; "
        f"{counts['wrong']}/{counts['stays']} that go on ended, {counts['lost']} were no fact"
    )


def _told(counts: Counter[str]) -> str:
    def of(what: str, all: str) -> str:
        return f"{counts[what]}/{counts[all]}"

    parts = [f"{counts['facts']} facts, {counts['active']} active"]
    if counts["facts"]:
        parts += [
            f"changes that ended the earlier fact {of('ended', 'changes')} ({counts['without']} had none)",
            f"look-alikes that did {of('wrongly ended', 'look-alikes')}",
            f"messages without a fact that gave one {of('no facts', 'not facts')}",
        ]
    for kind in ("all", "changed"):
        asked = f"{kind} questions"
        parts.append(
            f"{asked}: first {of(f'{kind} first', asked)}, in the first {_FIRST} {of(f'{kind} soon', asked)}, "
            f"outdated first {of(f'{kind} outdated', asked)}"
        )
    return "\n    ".join(parts)


def _counted(counts: Counter[str]) -> str:
    labels = sorted({name.partition(":")[0] for name in counts})
    return "; ".join(
        f"{label} {counts[f'{label}:right']}/{counts[f'{label}:all']} right"
        f" ({counts[f'{label}:without']} without a first fact)"
        for label in labels
    )  # fmt: skip


def measure(embedder: Embedder, learn: str, name: str = OPEN, *, together: bool = False) -> Counter[str]:
    counts: Counter[str] = Counter()
    with told(embedder, learn, name, together=together) as users:
        for memory, chats in users:
            counts += judged(memory, chats)
    return counts


@contextmanager
def told(embedder: Embedder, learn: str, name: str, *, together: bool = False) -> Generator[list[tuple[Memory, Chats]]]:
    """The chats of each user of a set, after `work`, in a namespace of their own."""
    by_user: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for chat in json.loads((SETS / name).read_text("utf-8"))["chats"]:
        by_user[chat["user"]].append(chat)
    with tempfile.TemporaryDirectory() as folder:
        settings = load(None, learn=learn)
        with Memory(Path(folder) / "chats.db", settings=settings, embedder=embedder) as store:
            users = [(store.namespace(user), Chats(chats)) for user, chats in by_user.items()]
            for memory, chats in users:
                chats.tell(memory, "everything" if together else None)
            store.work()
            for memory, chats in users:
                chats.read_facts(memory)
            yield users


def judged(memory: Memory, chats: Chats) -> Counter[str]:
    counts = Counter(facts=len(chats.facts), active=sum(fact.state == "active" for fact in chats.facts))
    for chat in chats.chats:
        name = chat["name"]
        for change in chat["changes"]:
            old, new = message_named(name, change["old"]), message_named(name, change["new"])
            counts["changes"] += 1
            counts["without"] += not chats.learned_from(old)
            counts["ended"] += chats.ended_by(old, new)
        for alike in chat["not_changes"]:
            counts["look-alikes"] += 1
            counts["wrongly ended"] += chats.ended_by(
                message_named(name, alike["old"]), message_named(name, alike["new"])
            )
        for id in chat["not_facts"]:
            counts["not facts"] += 1
            counts["no facts"] += {message_named(name, id)} in chats.origins.values()
        for question in chat["questions"]:
            counts.update(answered(memory, chats, name, question))
    return counts


def answered(memory: Memory, chats: Chats, chat: str, question: Mapping[str, Any]) -> Iterator[str]:
    current, outdated = (
        frozenset(message_named(chat, each) for each in question[which]) for which in ("current", "outdated")
    )  # fmt: skip
    hits = [
        frozenset({chats.messages[hit.record.id]}) if hit.record.id in chats.messages
        else chats.origins.get(hit.record.id, frozenset())
        for hit in memory.recall(question["question"], limit=_FIRST)
    ]  # fmt: skip
    # What was said again by the message of a change is current.
    good = [bool(hit & current) for hit in hits]
    for kind in ("all", *(("changed",) if question["kind"] == "changed" else ())):
        yield f"{kind} questions"
        if good[:1] == [True]:
            yield f"{kind} first"
        elif hits and hits[0] & outdated:
            yield f"{kind} outdated"
        if any(good):
            yield f"{kind} soon"


def pairs(embedder: Embedder) -> Counter[str]:
    """Each pair in a namespace of its own, in two chats."""
    found = json.loads((SETS / "pairs.json").read_text("utf-8"))["pairs"]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "pairs.db", embedder=embedder) as store:
        for number, pair in enumerate(found):
            for which in "ab":
                at, name = datetime.fromisoformat(pair[f"date_{which}"]), pair[f"speaker_{which}"]
                _say(store.namespace(f"pair-{number}"), f"chat-{which}", name, pair[which], at)
        store.work()
        for number, pair in enumerate(found):
            memory, label = store.namespace(f"pair-{number}"), pair["label"]
            at = datetime.fromisoformat(pair["date_a"])
            facts = memory.list(category=FACT_CATEGORIES, states=("active", "superseded"), limit=_MOST)
            first = [fact for fact in facts if fact.valid_at == at]
            is_active, conflicts = any(fact.state == "active" for fact in first), bool(memory.conflicts())
            is_ended = bool(first) and any(fact.state == "superseded" for fact in first)
            right = {"ends": is_ended, "contradicts": is_active and conflicts, "same": not conflicts}
            counts[f"{label}:all"] += 1
            counts[f"{label}:without"] += not first
            counts[f"{label}:right"] += right.get(label, not is_ended)
    return counts


def one_of_two(embedder: Embedder) -> Counter[str]:
    """Each case in a namespace of its own, in two chats a month apart."""
    cases = json.loads((SETS / "one_of_two.json").read_text("utf-8"))["cases"]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "two.db", embedder=embedder) as store:
        for number, case in enumerate(cases):
            memory = store.namespace(f"case-{number}")
            _say(memory, "chat-a", "user", case["told"], _TOLD_AT)
            _say(memory, "chat-b", "user", case["later"], _TOLD_AT + timedelta(days=30))
        store.work()
        for number, case in enumerate(cases):
            memory = store.namespace(f"case-{number}")
            facts = memory.list(category=FACT_CATEGORIES, states=("active", "superseded"), limit=_MOST)
            first = [fact for fact in facts if fact.valid_at == _TOLD_AT]
            for word in filter(None, [case["ends"]]):
                states = {fact.state for fact in first if word.lower() in fact.text.lower()}
                counts["ends"] += 1
                counts["ended"] += states == {"superseded"}
                counts["unknown"] += not states
            for word in case["stays"]:
                states = {fact.state for fact in first if word.lower() in fact.text.lower()}
                counts["stays"] += 1
                counts["wrong"] += states == {"superseded"}
                counts["lost"] += not states
    return counts


def _say(memory: Memory, chat: str, name: str, text: str, at: datetime) -> None:
    """A statement, and small talk behind it."""
    who = {"role": name} if name in _ROLES else {"role": "user", "speaker": name}
    messages: list[dict[str, object]] = [{**who, "content": text, "at": at}]
    for minute, (role, around) in enumerate(_AROUND, 1):
        speaker = who if role == "user" else {"role": role}
        messages.append({**speaker, "content": around, "at": at + timedelta(minutes=minute)})
    memory.conversation(chat).add_messages(messages)


def message_named(chat: str, reference: int | str) -> Said:
    if isinstance(reference, int):
        return Said(chat, reference)
    other, _, id = reference.rpartition(":")
    return Said(other, int(id))


def _strings(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _moment(text: str) -> datetime | None:
    moment = read_moment(text)
    return moment.at if moment else None
