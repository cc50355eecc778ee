"""Writes what people say in talks, for the judge to learn what ends nothing.

    python -m training.talks --snapshots FOLDER --out talks.json

The rules of `perdure.learn` read the turns of each talk, as they do when Perdure learns. Two facts of one person in one
talk, or a fact and a later turn, that are near each other are judged by the installed judge. Nearly always neither ends
the other: what the judge takes for an end are mistakes, and those are written beside the rest.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from perdure.embed.judge import judge
from perdure.embed.local import LocalEmbedder
from perdure.learn.rules.english.statements import statements
from training import templates
from training.changes import NAMES, USER, told
from training.inference import turns_of_personas
from training.snapshots import Snapshot
from training.sources import PAIR_SOURCES, SOURCES

SEED: Final = 20
# Of each source, so many talks, and of each talk so many turns of whoever speaks most.
MOST_TALKS: Final = {
    "topical-chat": (120, 60), "crd3": (50, 80), "qmsum": (40, 80), "own conversations": (80, 40),
    "own assistant chats": (80, 40), "persona talks": (800, 30),
}  # fmt: skip
STRETCH: Final = 400
FEWEST_TURNS: Final = 4
LEAST_COSINE: Final = 0.25
NEAREST: Final = 3
# So large a part of the pairs, those that the judge before takes for an end the most, is drawn more often.
HARDEST: Final = 0.05
_SAID_AT: Final = datetime(2026, 3, 4, 12, tzinfo=UTC)
_PREFIX: Final = re.compile(r"^(?:\[[^\]]*\] )?(?:([\w' ]{1,24}): )?")


class Older(NamedTuple):
    """A fact or a turn, and which turn of the talk told it."""

    text: str
    turn: int


def read_talks(snapshots: Path) -> dict[str, list[list[str]]]:
    """The turns of each talk of each source, as the sources give them."""
    built = templates.build(random.Random(SEED))
    found = {name: [group["docs"] for group in built[name]] for name in MOST_TALKS if name in built}
    for source in SOURCES:
        if source.name in MOST_TALKS:
            snapshot = Snapshot(snapshots, source.repository, source.commit)
            found[source.name] = [group["docs"] for group in source.read(snapshot, random.Random(SEED))]
    [personas] = (source for source in PAIR_SOURCES if source.name == "persona talks")
    snapshot = Snapshot(snapshots, personas.repository, personas.commit)
    found[personas.name] = list(turns_of_personas(snapshot))
    return found


def said_by_one(docs: Sequence[str], most: int, choose: random.Random) -> list[str]:
    """What whoever speaks most says in a stretch of a talk."""
    start = choose.randrange(max(1, len(docs) - STRETCH))
    by_speaker: defaultdict[str, list[str]] = defaultdict(list)
    for turn in docs[start : start + STRETCH]:
        match = _PREFIX.match(turn)
        text, speaker = (turn[match.end() :], match[1] or USER) if match else (turn, USER)
        if 3 <= len(text.split()) <= 40 and "ssistant" not in speaker:
            by_speaker[speaker].append(text)
    return max(by_speaker.values(), key=len, default=list[str]())[:most]


def near_pairs(said: Sequence[str], name: str, embedder: LocalEmbedder) -> Iterator[tuple[str, str]]:
    """Facts of a talk with later facts and later turns that are near them."""
    facts = [
        Older(one.fact, place) for place, text in enumerate(said) for one in statements(text, name, _SAID_AT)
    ]  # fmt: skip
    later = facts + [Older(told(text, name), place) for place, text in enumerate(said) if not text.endswith("?")]
    if not facts:
        return
    vectors = embedder.embed_passages([one.text for one in later])
    cosines = vectors @ vectors[: len(facts)].T
    for place, newer in enumerate(later):
        before = [number for number, older in enumerate(facts) if older.turn < newer.turn]
        for number in sorted(before, key=lambda number: -cosines[place, number])[:NEAREST]:
            if cosines[place, number] > LEAST_COSINE and facts[number].text != newer.text:
                yield facts[number].text, newer.text


def main() -> None:
    parser = argparse.ArgumentParser(description="Write turns and facts of talks of which neither ends the other.")
    parser.add_argument("--snapshots", type=Path, required=True, help="the folder with the git directories")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    choose, embedder = random.Random(options.seed), LocalEmbedder()
    talks: list[list[str]] = []
    pairs: list[tuple[str, str]] = []
    for source, found in read_talks(options.snapshots).items():
        most, turns = MOST_TALKS[source]
        for docs in choose.sample(found, min(most, len(found))):
            said = said_by_one(docs, turns, choose)
            if len(said) >= FEWEST_TURNS:
                name = choose.choice((USER, USER, *NAMES[:13]))
                pairs += near_pairs(said, name, embedder)
                talks.append(said)
        print(f"{source}: {len(talks):,} talks and {len(pairs):,} pairs so far", flush=True)
    ends = [verdict.ends for verdict in judge(pairs)]
    order = sorted(range(len(pairs)), key=lambda place: -ends[place])
    hard = order[: round(HARDEST * len(pairs))]
    written = {"talks": talks, "hard": [pairs[one] for one in hard], "near": [pairs[one] for one in order[len(hard) :]]}
    options.out.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    print(f"{len(pairs):,} pairs; of {len(hard):,} the judge says that they end with at least {ends[hard[-1]]:.3f}")


if __name__ == "__main__":
    main()
