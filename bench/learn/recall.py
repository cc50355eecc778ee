"""Whether what was learned of conversations helps to find what was said in them, on LoCoMo.

Each conversation is imported as messages into a namespace of its own, and `work` makes episodes and facts of them by
rules, with the packaged embedder and no language model. All questions but the adversarial ones are asked.

What is credited: a message with the turn it is; a fact with the turns in which it was said, which are those messages
of its episodes of which the rules make this very fact; an episode with all its turns. A turn counts once: whatever
repeats it takes a place of the ranking and gains nothing. For nDCG a place that brings a turn of the evidence counts 1,
however many it brings; so the best that episodes can reach is below 1.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Final, TypeAlias

from bench.recall.data import ADVERSARIAL, Collection
from bench.recall.measures import interval
from perdure import Memory, Record
from perdure.embed.port import Embedder
from perdure.learn.people import People
from perdure.learn.rules_engine import facts_told
from perdure.location import locate
from perdure.settings import Settings

_DEPTHS: Final = (5, 10, 20)
_NO_EPISODES: Final = 1_000_000

# Of each question: the places of its ranking, best first, with the memory that stands there.
Search: TypeAlias = Callable[[Memory, str], Sequence[Record]]


def report(conversations: Sequence[Collection], embedder: Embedder) -> bool:
    """Prints it; whether recall is not worse with facts and episodes than without."""
    print(
        "\nrecall: turns alone, as messages; with facts and episodes, as recall serves them by default; facts alone and"
    )
    print(
        "episodes alone, by the recipes of these names. R@k: share of the turns of the evidence behind the first k.\n"
    )
    print(f"{'':28}    R@5   R@10   R@20  nDCG@10   facts in ten")
    with _stored(conversations, embedder, learns=False) as memory:
        alone = _measure("turns alone", memory, conversations, _recalled)
    with _stored(conversations, embedder, learns=True) as memory:
        beside = _measure("turns, facts and episodes", memory, conversations, _recalled)
        _measure("facts", memory, conversations, _facts)
        _measure("episodes", memory, conversations, _episodes)
    gains = [one - other for one, other in zip(beside, alone, strict=True)]
    low, high = interval(gains)
    print(f"\nnDCG@10 with facts and episodes, less that of turns alone: {mean(gains):+.4f} [{low:+.4f}, {high:+.4f}]")
    return mean(gains) >= 0


@contextmanager
def _stored(conversations: Sequence[Collection], embedder: Embedder, *, learns: bool) -> Generator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=locate(path), cache=Path(folder), actor="bench", learn="rules")
        if not learns:
            settings = replace(
                settings, learn="off", episode_min_messages=_NO_EPISODES, episode_max_messages=_NO_EPISODES
            )
        with Memory(path, embedder=embedder, settings=settings) as memory:
            import_turns(memory, conversations)
            worked = memory.work()
            if worked.vectors_pending or learns != bool(worked.facts_changed):
                raise RuntimeError(f"This was not stored as it should be: {worked}.")
            yield memory


def import_turns(memory: Memory, conversations: Sequence[Collection]) -> None:
    """Each conversation as messages, in a namespace of its own."""
    for conversation in conversations:
        memory.namespace(conversation.name).import_messages(
            {
                "conversation_id": conversation.name, "id": one["metadata"]["name"], "role": "user",
                "content": one["text"], "speaker": one["metadata"]["speaker"], "at": one["valid_at"],
                "session_id": one["session_id"],
            }
            for one in conversation.memories
        )  # fmt: skip


def _recalled(memory: Memory, question: str) -> list[Record]:
    return [hit.record for hit in memory.recall(question, limit=max(_DEPTHS), min_relevance=0.0)]


def _facts(memory: Memory, question: str) -> list[Record]:
    return [fact.record for fact in memory.facts(question, limit=max(_DEPTHS))]


def _episodes(memory: Memory, question: str) -> list[Record]:
    return [hit.record for hit in memory.episodes(question, limit=max(_DEPTHS))]


def _measure(name: str, memory: Memory, conversations: Sequence[Collection], search: Search) -> list[float]:
    """Prints a row, and gives nDCG@10 of each question."""
    found: dict[int, list[float]] = {depth: [] for depth in _DEPTHS}
    gained: list[float] = []
    facts: list[float] = []
    for conversation in conversations:
        space = memory.namespace(conversation.name)
        credit = _Credit(space, conversation)
        for question in conversation.questions:
            if question.category == ADVERSARIAL:
                continue
            records = search(space, question.text)
            places = [credit.turns(record) & question.gold for record in records]
            for depth in _DEPTHS:
                found[depth].append(len(frozenset[str]().union(*places[:depth])) / len(question.gold))
            gained.append(_ndcg(places, len(question.gold)))
            facts.append(sum(record.category is not None for record in records[:10]))
    shares = "  ".join(f"{mean(found[depth]):.3f}" for depth in _DEPTHS)
    print(f"{name:28}  {shares}    {mean(gained):.4f}   {mean(facts):.2f}")
    return gained


def _ndcg(places: Sequence[frozenset[str]], gold: int, k: int = 10) -> float:
    known: set[str] = set()
    gained = 0.0
    for rank, turns in enumerate(places[:k]):
        gained += bool(turns - known) / math.log2(rank + 2)
        known |= turns
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(k, gold)))


class _Credit:
    """Which turns a memory stands for."""

    def __init__(self, memory: Memory, conversation: Collection) -> None:
        # Positions are counted from 1, in the order of the file.
        messages = memory.conversation(conversation.name).messages()
        names = [str(one["metadata"]["name"]) for one in conversation.memories]
        self._names = {str(message.id): name for message, name in zip(messages, names, strict=True)}
        self._told: dict[str, set[str]] = {}
        for message, facts in zip(messages, facts_told(messages, People()), strict=True):
            for fact in facts:
                self._told.setdefault(fact.fact, set()).add(self._names[message.id])
        self._episodes = {
            str(episode.id): frozenset(self._names[id] for id in episode.evidence)
            for episode in memory.list(limit=1000, key_type="episode").records
        }

    def turns(self, record: Record) -> frozenset[str]:
        if record.id in self._names:
            return frozenset((self._names[record.id],))
        if record.id in self._episodes:
            return self._episodes[record.id]
        within = frozenset[str]().union(*(self._episodes.get(id, frozenset[str]()) for id in record.evidence))
        return within & self._told.get(record.text, set())
