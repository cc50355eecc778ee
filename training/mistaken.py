"""Finds near turns of talks that a judge takes for an end, so that the next one learns better.

    python -m training.mistaken --talks train.json.xz --out mistaken.json

Two turns of one person in one talk that are near each other are told as facts are, and judged by the installed judge.
Nearly always neither ends the other: what it takes for an end are mistakes, and those are written beside the rest.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from perdure.embed.judge import judge
from perdure.embed.local import LocalEmbedder
from training.changes import NAMES, USER, told

# Of each source, so many talks, and of each talk so many turns of whoever speaks most.
SOURCES: Final = {
    "topical-chat": (150, 70), "crd3": (60, 90), "qmsum": (60, 90), "own conversations": (150, 40),
    "own assistant chats": (100, 40),
}  # fmt: skip
STRETCH: Final = 400
FEWEST_TURNS: Final = 6
LEAST_COSINE: Final = 0.3
NEAREST: Final = 2
MISTAKE: Final = 0.25
_PREFIX: Final = re.compile(r"^(?:\[[^\]]*\] )?(?:([\w' ]{1,24}): )?")


class Turns(NamedTuple):
    older: str
    newer: str


def statements(docs: Sequence[str], most: int, choose: random.Random) -> list[str]:
    """What whoever speaks most says in a stretch of a talk, told as facts are."""
    start = choose.randrange(max(1, len(docs) - STRETCH))
    by_speaker: defaultdict[str, list[str]] = defaultdict(list)
    for turn in docs[start : start + STRETCH]:
        match = _PREFIX.match(turn)
        text, speaker = (turn[match.end() :], match[1] or USER) if match else (turn, USER)
        if 4 <= len(text.split()) <= 30 and not text.rstrip().endswith("?") and "ssistant" not in speaker:
            by_speaker[speaker].append(text)
    said = max(by_speaker.values(), key=len, default=list[str]())[:most]
    name = choose.choice((USER, USER, USER, *NAMES[:13]))
    return [told(text, name) for text in said]


def near_turns(sources: Mapping[str, Any], choose: random.Random) -> Iterator[Turns]:
    embedder = LocalEmbedder()
    for name, (talks, turns) in SOURCES.items():
        for group in choose.sample(sources[name], min(talks, len(sources[name]))):
            said = statements(group["docs"], turns, choose)
            if len(said) < FEWEST_TURNS:
                continue
            vectors = embedder.embed_passages(said)
            cosines = vectors @ vectors.T
            for newer in range(1, len(said)):
                for older in np.argsort(-cosines[newer, :newer])[:NEAREST]:
                    if cosines[newer, older] > LEAST_COSINE and said[older] != said[newer]:
                        yield Turns(said[older], said[newer])


def main() -> None:
    parser = argparse.ArgumentParser(description="Find near turns of talks that the judge takes for an end.")
    parser.add_argument("--talks", type=Path, required=True, help="the encoder's data, as training.prepare wrote it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    with lzma.open(options.talks, "rt", encoding="utf-8") as file:
        sources: Mapping[str, Any] = json.load(file)["src"]
    pairs = list(near_turns(sources, random.Random(options.seed)))
    verdicts = judge(pairs)
    found = {"hard": list[Turns](), "near": list[Turns]()}
    for pair, verdict in zip(pairs, verdicts, strict=True):
        found["hard" if verdict.ends > MISTAKE else "near"].append(pair)
    options.out.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    print(f"{len(pairs):,} pairs of near turns, {len(found['hard']):,} of them mistaken for an end")


if __name__ == "__main__":
    main()
