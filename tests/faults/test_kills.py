"""Acknowledged means on disk: writers are killed at random points, and nothing they acknowledged is missing."""

from __future__ import annotations

import os
import random
import select
import sys
from pathlib import Path

import pytest
from faults.writers import Child, sentence, start, write_for_ever

from perdure import Memory
from perdure.testing.records import read_once

WRITERS = 4
KILLS_PER_STORE = 40


def kill_some(path: Path, seed: int, kills: int) -> list[list[str]]:
    """Keep four writers on one store and kill them, one after the other, at moments nobody chose."""
    source = random.Random(seed)
    children: list[Child] = []
    said: list[list[str]] = []
    for n in range(kills):
        while len(children) < WRITERS:
            children.append(start(write_for_ever(path, f"w{seed}.{n}.{len(children)}")))
        victim = children.pop(source.randrange(WRITERS))
        # Wait for a first acknowledgement, so that the kill lands among writes and not in the start-up.
        select.select([victim.acknowledgements], [], [], 30)
        select.select([], [], [], source.uniform(0, 0.05))
        said.append(victim.kill())
    said.extend(child.kill() for child in children)
    return said


def check(path: Path, said: list[list[str]]) -> int:
    """Every acknowledged change is there, byte for byte; beyond them at most one unfinished call per writer."""
    expected: dict[int, tuple[str, str]] = {}
    for lines in said:
        for line in lines:
            what, number, seed = line.split(" ")
            expected[int(number)] = (what, seed)
    with Memory(path, embedder="none") as memory:
        problems = [finding for finding in memory.doctor() if finding.level == "problem"]
        assert problems == []
        store = memory._services.store
        last = max(expected, default=0) + len(said)
        found = {record.number: record for record in read_once(store, "default").fetch(range(1, last + 1))}
    unknown = set(found) - set(expected)
    assert len(unknown) <= len(said)
    for number in unknown:
        assert found[number].text == sentence(found[number].text.split(" ")[0])
    for number, (what, seed) in expected.items():
        record = found[number]
        assert record.text in {sentence(seed), sentence(f"{seed}-corrected")}
        if what == "corrected":
            assert record.text == sentence(seed)
        if what == "forgotten":
            assert record.state == "deleted"
    return sum(len(lines) for lines in said)


def run(tmp_path: Path, kills: int, seed: int) -> None:
    acknowledged = 0
    for start_at in range(0, kills, KILLS_PER_STORE):
        path = tmp_path / f"{start_at}.db"
        said = kill_some(path, seed + start_at, min(KILLS_PER_STORE, kills - start_at))
        acknowledged += check(path, said)
    assert acknowledged > kills
    sys.stdout.write(f"{kills} kills, {acknowledged} acknowledged changes, 0 lost (seed {seed})\n")


@pytest.mark.soak
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path):
    """CI chooses its victims by a fixed seed; a soak, which says how many kills it wants, by a new one each time."""
    kills = os.environ.get("PERDURE_KILLS")
    seed = random.randrange(10**6) if kills else 7
    run(tmp_path, int(kills or 200), int(os.environ.get("PERDURE_SEED", seed)))
