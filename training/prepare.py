"""Writes the training data: our own texts and the sources of the table, read from snapshots.

    python -m training.prepare --snapshots FOLDER --out train.json.xz

FOLDER holds one git directory for each source, named `owner+name`. The result is the same at every run.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from random import Random
from typing import Any

from training import templates, written
from training.pairs import read_pairs
from training.snapshots import Snapshot
from training.sources import SOURCES
from training.templates import Group

SEED = 20


def collect(snapshots: Path) -> dict[str, Any]:
    """All groups by source, and pairs of sentences with their score. Every source has its own seed, so that a change in
    one does not change the others.
    """
    groups: dict[str, list[Group]] = templates.build(Random(SEED)) | written.build(Random(SEED))
    for source in SOURCES:
        snapshot = Snapshot(snapshots, source.repository, source.commit)
        snapshot.text(source.licence_file)  # a source without its licence is refused
        groups[source.name] = source.read(snapshot, Random(f"{SEED} {source.name}"))
        _count(source.name, groups[source.name])
    kept = {
        name: [group for group in found if group["qs"] and len(group["docs"]) > 1] for name, found in groups.items()
    }
    return {"src": kept, "pairs": read_pairs(snapshots, Random(SEED))}


def _count(name: str, groups: list[Group]) -> None:
    docs, questions = (sum(len(group[part]) for group in groups) for part in ("docs", "qs"))
    print(f"| {name} | {len(groups):,} | {docs:,} | {questions:,} |", flush=True)


def write(data: dict[str, Any], out: Path) -> None:
    """The data as packed JSON, under its name only when it is whole."""
    part = out.with_name(out.name + ".part")
    with lzma.open(part, "wt", preset=6, encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False)
    part.replace(out)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the training data of Perdure's encoder.")
    parser.add_argument(
        "--snapshots", type=Path, required=True, help="the folder with the git directories of the sources"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write, e.g. train.json.xz")
    given = parser.parse_args()
    data = collect(given.snapshots)
    print("| source | groups | documents | questions |\n| --- | --- | --- | --- |")
    for name, groups in data["src"].items():
        _count(name, groups)
    for name, found in data["pairs"].items():
        print(f"pairs {name}: {len(found):,}")
    write(data, given.out)
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
