"""What learning costs beside embedding, in processor time on LoCoMo.

`deciding`: cutting a conversation into episodes, their summaries and surprise, and the facts that rules find in them,
without a store. `work`: all of it through `Memory.work`, reading and writing included, but no vectors. Both as shares
of the time in which the packaged model embeds the same turns. `whole`: `Memory.work` with the vectors of the messages,
of their episodes and of the facts, for two of the conversations. `of_chats`: the same for the short messages of the
chats in English with an assistant or a coding agent (sets/chats.json).
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any, Final

from bench.learn.chats import OPEN, SETS, Chats
from bench.learn.recall import import_turns
from bench.recall.data import Collection
from perdure import Memory, Record
from perdure.embed.port import Embedder
from perdure.episodes.episode import extract, said_at
from perdure.episodes.segment import Rules, Said, first_cut
from perdure.episodes.surprise import surprise
from perdure.learn.people import People
from perdure.learn.rules.languages import choose
from perdure.learn.rules_engine import facts_told
from perdure.location import locate
from perdure.settings import Settings, load
from perdure.text.tokens import counter_of

MOST_TIME: Final = 0.25
# Of all that `work` does, in times of embedding the messages.
MOST_WHOLE: Final = 3.0
_WHOLE: Final = 2
# One turn of so many is embedded.
_PART: Final = 10
_RECENT: Final = 5


def report(conversations: Sequence[Collection], embedder: Embedder) -> bool:
    """Prints it; whether deciding takes at most a quarter of embedding, and all of `work` at most three times."""
    texts = [one["text"] for each in conversations for one in each.memories]
    embedder.embed_passages(texts[:1])
    start = process_time()
    embedder.embed_passages(texts[::_PART])
    embedding = (process_time() - start) * len(texts) / len(texts[::_PART])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=locate(path), cache=Path(folder), actor="bench", embedder="none", learn="rules")
        with Memory(path, settings=settings) as memory:
            memory.work()
            import_turns(memory, conversations)
            talks = [memory.namespace(each.name).conversation(each.name).messages() for each in conversations]
            start = process_time()
            for talk in talks:
                _decide(talk)
            deciding = process_time() - start
            start = process_time()
            memory.work()
            working = process_time() - start
    print(
        f"\ncost of {len(texts)} turns, in processor time: embedding {1e6 * embedding / len(texts):.0f} µs a turn;",
        end="",
    )
    print(f" deciding {deciding / embedding:.3f} of it (goal {MOST_TIME}), work {working / embedding:.3f}")
    whole = _whole(conversations[:_WHOLE], embedder)
    reached = "reached" if whole <= MOST_WHOLE else "MISSED"
    print(f"all of work, its vectors included: for 100 messages {whole:.2f} times embedding them", end="")
    print(f" (goal: at most {MOST_WHOLE:.0f}: {reached})")
    return deciding <= MOST_TIME * embedding and whole <= MOST_WHOLE


def _whole(conversations: Sequence[Collection], embedder: Embedder) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=locate(path), cache=Path(folder), actor="bench", learn="auto")
        with Memory(path, settings=settings, embedder=embedder) as memory:
            memory.work()
            import_turns(memory, conversations)
            texts = [
                message.text
                for each in conversations
                for message in memory.namespace(each.name).conversation(each.name).messages()
            ]
            start = process_time()
            memory.work()
            working = process_time() - start
            start = process_time()
            embedder.embed_passages(texts)
            return working / (process_time() - start)


def report_chats(embedder: Embedder) -> None:
    shares = "; ".join(f"learn = {learn} {of_chats(learn, embedder):.2f}" for learn in ("off", "rules", "auto"))
    print(f"\nall of work on short messages of ordinary chats, in times of embedding them: {shares}")


def of_chats(learn: str, embedder: Embedder) -> float:
    by_user: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for chat in json.loads((SETS / OPEN).read_text("utf-8"))["chats"]:
        if chat["language"] == "en" and chat["kind"] != "human":
            by_user[chat["user"]].append(chat)
    texts = [one["text"] for chats in by_user.values() for chat in chats for one in chat["messages"]]
    with tempfile.TemporaryDirectory() as folder:
        with Memory(Path(folder) / "chats.db", settings=load(None, learn=learn), embedder=embedder) as store:
            for user, chats in by_user.items():
                Chats(chats).tell(store.namespace(user), None)
            start = process_time()
            store.work()
            working = process_time() - start
        start = process_time()
        embedder.embed_passages(texts)
        return working / (process_time() - start)


def _decide(talk: Sequence[Record]) -> None:
    counter, recent = counter_of(None), deque[frozenset[str]](maxlen=_RECENT)
    said = [Said(said_at(message), len(message.text.strip())) for message in talk]
    start, rules = 0, Rules()
    while cut := first_cut(said[start : start + rules.max_messages], rules):
        group = talk[start : start + cut.end]
        terms = extract(group, counter).terms
        surprise(terms, recent, frozenset())
        recent.append(terms)
        for _, statement in choose(list(facts_told(group, People()))):
            _ = statement.keywords
        start += cut.end
