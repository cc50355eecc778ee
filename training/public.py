"""Writes the public pairs that the judge is trained on beside our own texts.

    python -m training.public --snapshots FOLDER --out public.json

FOLDER holds one git directory for each source, named `owner+name`. The result is the same at every run.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

from training.inference import Judged
from training.snapshots import Snapshot
from training.sources import PAIR_SOURCES

SEED = 21
PER_LABEL = 3000  # of each source
MAX_WORDS = 40
LABELS = ("ends", "same", "refines", "apart")


def plain(text: str) -> str:
    """A text in one line, without the spaces and marks that a tokenizer left."""
    text = text.replace("``", '"').replace("''", '"').replace("-LRB-", "(").replace("-RRB-", ")").replace("~", " ")
    text = re.sub(r"\s+([.,;:?!)%])|([(£$])\s+", r"\1\2", " ".join(text.split()))
    return re.sub(r"\s+(n't|'(?:s|m|re|ve|d|ll)\b)", r"\1", text).strip()


def fit(pairs: Iterable[Judged], rng: Random) -> list[Judged]:
    """The short pairs, each once, mixed, and at most so many of a label. Two texts that were given two labels are left
    out.
    """
    labels: dict[tuple[str, str], str] = {}
    for older, newer, label in pairs:
        texts = (plain(older), plain(newer))
        lengths = [len(text.split()) for text in texts]
        if min(lengths) > 1 and max(lengths) <= MAX_WORDS and texts[0].lower() != texts[1].lower():
            labels[texts] = label if labels.get(texts, label) == label else ""
    mixed = [(older, newer, label) for (older, newer), label in labels.items() if label]
    rng.shuffle(mixed)
    kept: list[Judged] = []
    seen: Counter[str] = Counter()
    for pair in mixed:
        seen[pair[2]] += 1
        if seen[pair[2]] <= PER_LABEL:
            kept.append(pair)
    return kept


def collect(snapshots: Path) -> dict[str, list[Judged]]:
    """The pairs of every source. Each has its own seed, so that a change in one does not change the others."""
    found: dict[str, list[Judged]] = {}
    print("| source | ends | same | refines | apart |\n| --- | --- | --- | --- | --- |")
    for source in PAIR_SOURCES:
        snapshot = Snapshot(snapshots, source.repository, source.commit)
        snapshot.text(source.licence_file)  # a source without its licence is refused
        rng = Random(f"{SEED} {source.name}")
        found[source.name] = fit(source.read(snapshot, rng), rng)
        counts = Counter(label for _, _, label in found[source.name])
        print(f"| {source.name} | " + " | ".join(f"{counts[label]:,}" for label in LABELS) + " |", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the public pairs of Perdure's judge.")
    parser.add_argument(
        "--snapshots", type=Path, required=True, help="the folder with the git directories of the sources"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write, e.g. public.json")
    given = parser.parse_args()
    part = given.out.with_name(given.out.name + ".part")
    part.write_text(json.dumps(collect(given.snapshots), ensure_ascii=False, indent=0), encoding="utf-8")
    part.replace(given.out)


if __name__ == "__main__":
    main()
