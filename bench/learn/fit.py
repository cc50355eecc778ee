"""The weights of `PairEvidence` (learn/judged.py), chosen anew on all sets of chats: `python -m bench.learn.fit`.

While `work` runs, the judge is asked of every pair that it might be asked of. A pair counts as an end if the set says
that the newer message changed what the older one said; of several pairs of two such messages only the likeliest counts,
since one end is enough. All other pairs are none, and those that the set names as look-alikes count twice. Each set is
decided once by the weights that the others choose: that is what chats can expect that nobody wrote cases for.

`--locomo` adds talks in which nothing should end.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bench.learn.chats import SETS_OF_CHATS, Chats, message_named, told
from bench.learn.recall import import_turns
from bench.ours import local_embedder
from bench.recall.data import locomo
from perdure import Memory
from perdure.embed.judge import judge
from perdure.learn import judged
from perdure.learn.judged import EndingCandidate, Judging, PairEvidence, TellingMessage, as_said, without_words
from perdure.learn.rules.languages import without_dates
from perdure.settings import load
from perdure.store.port import Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Figures = NDArray[np.float64]

_TALKS: Final = 4
_LOOK_ALIKE: Final = 2.0
_RIDGE: Final = 1e-4
_ROUNDS: Final = 6
_STEPS: Final = 60
_THRESHOLDS: Final = (0.2, 0.24, 0.28, 0.32, 0.36, 0.4)


class Compared(NamedTuple):
    """A part of a message beside a fact near it, and what speaks for an end."""

    older: str
    newer: str
    at: datetime
    part: str
    fact: str
    evidence: PairEvidence


class Pair(NamedTuple):
    """The same with what the set says of it: which change of the set it is, if it is one, or which look-alike."""

    compared: Compared
    change: int | None = None
    look_alike: int | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.learn.fit", description=__doc__)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("LOCOMO") or None, metavar="PATH")
    options = parser.parse_args(arguments)
    sets = {name: pairs_of(name) for name in SETS_OF_CHATS}
    others = talks(options.locomo) if options.locomo else []
    print("threshold: changes ended, look-alikes, other pairs; each set by the weights that the others choose")
    chosen = {name: fit([*others, *(pair for each in sets if each != name for pair in sets[each])]) for name in sets}
    for threshold in _THRESHOLDS:
        counts = sum((decided(sets[name], chosen[name], threshold) for name in sets), Counter[str]())
        present = sum((decided(pairs, np.array(judged.WEIGHTS), threshold) for pairs in sets.values()), Counter[str]())
        print(f"  {threshold:.2f}: {_told(counts)}; by the present weights {_told(present)}")
    weights = fit([*others, *(pair for pairs in sets.values() for pair in pairs)])
    if others:
        wrong = {t: decided(others, weights, t)["others"] for t in _THRESHOLDS}
        print(f"  of talks in which nothing ends: {wrong}")
    print(f"WEIGHTS = {tuple(weights.round(2).tolist())}")


def _told(counts: Counter[str]) -> str:
    return f"{counts['changes']}, {counts['look-alikes']}, {counts['others']}"


@contextmanager
def listening(found: list[Compared]) -> Generator[None]:
    """Note each pair that is weighed, with what the judge says of it, asked or not."""
    weigh, known = Judging.weigh, dict[tuple[str, str], float]()

    def ends(pairs: Sequence[tuple[str, str]]) -> list[float]:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in known))
        known.update((pair, verdict.ends) for pair, verdict in zip(new, judge(new), strict=True))
        return [known[pair] for pair in pairs]

    def weighed(self: Judging, reader: Reader, pairs: Sequence[tuple[TellingMessage, EndingCandidate]]) -> list[float]:
        older = [self.saying(reader, near.fact) for _, near in pairs]
        words = ends([(without_dates(near.fact.text), message.part.text) for message, near in pairs])
        messages = ends([as_said(said, message.saying) for said, (message, _) in zip(older, pairs, strict=True)])
        for said, (message, near), of_words, of_messages in zip(older, pairs, words, messages, strict=True):
            evidence = without_words(said, message, near)._replace(words=of_words, messages=of_messages)
            found.append(
                Compared(said.said, message.saying.said, message.at, message.part.text, near.fact.text, evidence)
            )
        return weigh(self, reader, pairs)

    Judging.weigh = weighed
    try:
        yield
    finally:
        Judging.weigh = weigh


def pairs_of(name: str) -> list[Pair]:
    found: list[Compared] = []
    with listening(found), told(local_embedder(), "auto", name) as users:
        cases = {kind: _cases((chats for _, chats in users), kind) for kind in ("changes", "not_changes")}
    return [
        Pair(one, cases["changes"].get(said := (one.older, one.newer, one.at)), cases["not_changes"].get(said))
        for one in dict.fromkeys(found)
    ]


def _cases(users: Iterable[Chats], kind: str) -> Mapping[tuple[str, str, datetime], int]:
    cases: dict[tuple[str, str, datetime], int] = {}
    for chats in users:
        for chat in chats.chats:
            for case in chat[kind]:
                old, new = message_named(chat["name"], case["old"]), message_named(chat["name"], case["new"])
                cases[chats.texts[old], chats.texts[new], chats.dates[new]] = len(cases)
    return cases


def talks(path: Path) -> list[Pair]:
    """Of talks between two people, in which what is told seldom ends anything that was told."""
    found: list[Compared] = []
    conversations = locomo(path)[:_TALKS]
    with listening(found), Memory(":memory:", settings=load(None, learn="auto"), embedder=local_embedder()) as memory:
        import_turns(memory, conversations)
        memory.work()
    return [Pair(one) for one in dict.fromkeys(found)]


def fit(pairs: Sequence[Pair]) -> Figures:
    """By logistic regression; which pair of two messages is the end is chosen by the weights of the round before."""
    figures = np.array([pair.compared.evidence.values() for pair in pairs])
    changes = defaultdict[tuple[int, str], list[int]](list)
    for place, pair in enumerate(pairs):
        if pair.change is not None:
            changes[pair.change, pair.compared.newer].append(place)
    share = np.array([_LOOK_ALIKE if pair.look_alike is not None else 1.0 for pair in pairs])
    share[[place for places in changes.values() for place in places]] = 0.0
    weights = np.array(judged.WEIGHTS)
    for _ in range(_ROUNDS):
        likely = figures @ weights
        ends = [max(places, key=lambda place: likely[place]) for places in changes.values()]
        is_end = np.zeros(len(pairs))
        is_end[ends] = 1.0
        weights = regression(figures, is_end, np.where(is_end, 1.0, share))
    return weights


def regression(figures: Figures, is_end: Figures, share: Figures) -> Figures:
    weights, ridge = np.zeros(figures.shape[1]), _RIDGE * len(is_end)
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-(figures @ weights)))
        slope = figures.T @ (share * (is_end - likely)) - ridge * weights
        bend = (figures.T * (share * likely * (1 - likely))) @ figures + ridge * np.eye(len(weights))
        weights += np.linalg.solve(bend, slope)
    return weights


def decided(pairs: Sequence[Pair], weights: Figures, threshold: float) -> Counter[str]:
    """What would end if each part of a message ended the fact that it most likely ends, and nothing else counted."""
    parts = defaultdict[tuple[datetime, str, str], list[Pair]](list)
    for pair in pairs:
        parts[pair.compared.at, pair.compared.newer, pair.compared.part].append(pair)
    found: dict[str, set[object]] = {"changes": set(), "look-alikes": set(), "others": set()}
    for each in parts.values():
        likely = judged.logistic(weights.tolist(), (best := _best(each, weights)).compared.evidence.values())
        if likely < threshold:
            continue
        if best.change is not None:
            found["changes"].add(best.change)
        elif best.look_alike is not None:
            found["look-alikes"].add(best.look_alike)
        else:
            found["others"].add((best.compared.fact, best.compared.at))
    return Counter({name: len(ended) for name, ended in found.items()})


def _best(pairs: Sequence[Pair], weights: Figures) -> Pair:
    return max(pairs, key=lambda pair: float(np.array(pair.compared.evidence.values()) @ weights))


if __name__ == "__main__":
    main()
