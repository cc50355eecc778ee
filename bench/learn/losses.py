"""At which step a change of the thirty chats is lost: `python -m bench.learn.losses`.

Whatever the judge is asked while `work` runs is noted. A pair belongs to a change if its older text is a fact of the
old message and most words of its newer text stand in the new one. The set that is held back is not looked at here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from bench.learn.chats import OPEN, Chats, Said, message_named, told
from bench.ours import local_embedder
from perdure.embed import judge
from perdure.embed.judge import PairVerdict
from perdure.learn.judged import LIKELY
from perdure.learn.rules.english.changes import happened_once
from perdure.learn.rules.english.statements import is_english
from perdure.learn.rules.languages import without_dates
from perdure.memory import Memory
from perdure.model import Record

_MOST_WORDS_ELSEWHERE = 0.4
_WORD = re.compile(r"\w+")


def main() -> None:
    asked: dict[tuple[str, str], float] = {}
    steps: Counter[str] = Counter()
    with listening(asked), told(local_embedder(), "auto", OPEN) as users:
        for memory, chats in users:
            for name, change in ((chat["name"], change) for chat in chats.chats for change in chat["changes"]):
                old, new = message_named(name, change["old"]), message_named(name, change["new"])
                step = lost_at(memory, chats, old, new, asked)
                steps[step] += 1
                print(f"{step:32} {name}: {change['about']}")
    print()
    for step, count in steps.most_common():
        print(f"{count:4}  {step}")


@contextmanager
def listening(asked: dict[tuple[str, str], float]) -> Generator[None]:
    """Note what the judge is asked, and what it says of the end of the older statement."""
    whole = judge.judge

    def judged(pairs: Sequence[tuple[str, str]]) -> list[PairVerdict]:
        verdicts = whole(pairs)
        asked.update((pair, verdict.ends) for pair, verdict in zip(pairs, verdicts, strict=True))
        return verdicts

    judge.judge = judged
    try:
        yield
    finally:
        judge.judge = whole


def lost_at(memory: Memory, chats: Chats, old: Said, new: Said, asked: dict[tuple[str, str], float]) -> str:
    texts, facts = chats.texts, chats.learned_from(old)
    scores = list(scores_of(facts, texts[new], asked))
    steps = {
        "ended": chats.ended_by(old, new),
        "not English": not (is_english(texts[old]) and is_english(texts[new])),
        "no fact of the old message": not facts,
        "proposed": is_proposed(memory, facts, chats.learned_from(new)),
        "the old fact only happened once": all(happened_once(fact.text) for fact in facts),
        "another message ended it": any(fact.state == "superseded" for fact in facts),
        "never compared": not scores,
        "the judge is not sure": max(scores, default=0) >= LIKELY,
    }
    return next((step for step, is_so in steps.items() if is_so), "the judge does not see it")


def is_proposed(memory: Memory, old: Sequence[Record], new: Sequence[Record]) -> bool:
    ids = {fact.id for fact in old}, {fact.id for fact in new}
    return any(
        (one.first.id in ids[0] and one.second.id in ids[1]) or (one.first.id in ids[1] and one.second.id in ids[0])
        for one in memory.conflicts()
        if one.second
    )


def scores_of(facts: Sequence[Record], text: str, asked: dict[tuple[str, str], float]) -> Iterator[float]:
    older, words = {without_dates(fact.text) for fact in facts}, set(_WORD.findall(text.lower()))
    for (one, other), ends in asked.items():
        told = set(_WORD.findall(other.lower()))
        if one in older and len(told - words) <= _MOST_WORDS_ELSEWHERE * len(told):
            yield ends


if __name__ == "__main__":
    main()
