"""Processes that write into one conversation are killed: what they acknowledged is there, in its place, and no place is
empty or taken twice.
"""

from __future__ import annotations

import random
import select
from collections.abc import Callable
from pathlib import Path

from faults.writers import Child, start

from perdure import Memory

WRITERS = 3
KILLS = 24


def speak_for_ever(path: Path, name: str) -> Callable[[Callable[[str], None]], None]:
    def job(acknowledge: Callable[[str], None]) -> None:
        with Memory(path, embedder="none") as memory:
            talk, n = memory.conversation("c"), 0
            while True:
                record = talk.add_message("user", f"{name} {n}").record
                acknowledge(f"{record.key}\t{record.text}")
                n += 1

    return job


def test_killed_writers_lose_no_message_and_leave_no_gap(tmp_path: Path):
    path, source = tmp_path / "m.db", random.Random(11)
    Memory(path, embedder="none").close()
    children: list[Child] = []
    said: list[str] = []
    for n in range(KILLS):
        while len(children) < WRITERS:
            children.append(start(speak_for_ever(path, f"w{n}.{len(children)}")))
        victim = children.pop(source.randrange(WRITERS))
        select.select([victim.acknowledgements], [], [], 30)
        select.select([], [], [], source.uniform(0, 0.03))
        said += victim.kill()
    for child in children:
        said += child.kill()
    with Memory(path, embedder="none") as memory:
        records = memory.conversation("c").messages()
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    assert [record.key for record in records] == [f"message:c/{n:08}" for n in range(1, len(records) + 1)]
    stored = {f"{record.key}\t{record.text}" for record in records}
    assert said
    assert set(said) <= stored
    assert len(stored) <= len(said) + KILLS + WRITERS
