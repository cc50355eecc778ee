"""Pairs of sentences with a score: 1 for the same meaning, less for what is only near."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

from training.snapshots import Snapshot
from training.templates import LIVES, PROJECTS
from training.wording import fill

Pair = tuple[str, str, float]

WIKI_SPLIT = (
    "google-research-datasets/wiki-split",
    "80f5bddf42d1a68201b7b107ee4b8d86d82e9fde",
    "CC BY-SA 4.0",
    "README.md",
)
XQUAD = ("google-deepmind/xquad", "7d30520c717524000f0d9d2f9c10a069acd9d285", "CC BY-SA 4.0", "CC-BY-SA4.0.txt")
OWN_PAIRS = 9000


def read_pairs(snapshots: Path, rng: Random) -> dict[str, list[Pair]]:
    return {
        "wiki-split": _wiki_split(Snapshot(snapshots, *WIKI_SPLIT[:2])),
        "xquad": _xquad(Snapshot(snapshots, *XQUAD[:2])),
        "own": own_pairs(rng),
    }


def _wiki_split(snapshot: Snapshot) -> list[Pair]:
    """A long sentence, and the same in two sentences."""

    def plain(text: str) -> str:
        text = text.replace("<::::>", " ").replace(" ''", '"').replace("'' ", '"')
        return re.sub(r"\s+([.,;:?!')%])|(\()\s+", r"\1\2", " ".join(text.split()))

    lines = [
        line.split("\t") for _, text in snapshot.texts(["tune.tsv", "validation.tsv"]) for line in text.splitlines()
    ]
    return [(plain(cells[0]), plain(cells[1]), 1.0) for cells in lines if len(cells) > 1]


def _xquad(snapshot: Snapshot) -> list[Pair]:
    """The same question in English and in German or Spanish."""
    asked = {
        code: [
            qa["question"]
            for article in json.loads(snapshot.text(f"xquad.{code}.json"))["data"]
            for part in article["paragraphs"]
            for qa in part["qas"]
        ]
        for code in ("en", "de", "es")
    }
    return [(one, two, 1.0) for code in ("de", "es") for one, two in zip(asked["en"], asked[code], strict=True)]


def own_pairs(rng: Random) -> list[Pair]:
    """Two statements of one relation: with the same value they mean the same, with another value they contradict."""
    found: list[Pair] = []
    while len(found) < OWN_PAIRS:
        relation = rng.choice(LIVES + PROJECTS)
        one, two = rng.sample(relation.says, 2)
        value, other = fill(rng.choice(relation.values), rng), fill(rng.choice(relation.values), rng)
        kind = rng.choice(["same", "value", "relation"])
        if kind == "same":
            found.append((fill(one, rng, v=value), fill(two, rng, v=value), 0.9))
        elif kind == "value" and value != other:
            found.append((fill(one, rng, v=value), fill(rng.choice([one, two]), rng, v=other), 0.5))
        elif kind == "relation":
            another = rng.choice([each for each in LIVES + PROJECTS if each is not relation])
            found.append(
                (fill(one, rng, v=value), fill(rng.choice(another.says), rng, v=rng.choice(another.values)), 0.0)
            )
    return found
