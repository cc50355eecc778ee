"""Writers that do all that can be done to a memory are killed: each call is done whole or not at all, nothing that was
acknowledged is lost, and of what was erased no file holds a piece.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from faults.canaries import CONSONANTS, found_in
from faults.writers import Child, start

from perdure import Memory
from perdure.model import STATES
from perdure.testing.embedder import WordEmbedder

WRITERS = 4
KILLS_PER_STORE = 8
# Long enough that no two canaries share as much by chance.
PIECE = 12
CANARY = 18

# Of a memory: its state, and the name of its text. None: it is erased.
Standing: TypeAlias = tuple[str, str] | None
Standings: TypeAlias = dict[int, Standing]


def canary(seed: str) -> str:
    digest = sha256(seed.encode()).digest()
    return "".join(CONSONANTS[byte % len(CONSONANTS)] for byte in digest[:CANARY])


def text_of(seed: str) -> str:
    chance = random.Random(seed)
    filler = ["".join(chance.choices("aeiouy", k=chance.randint(2, 9))) for _ in range(chance.choice([4, 20, 200]))]
    return f"{canary(seed)} {' '.join(filler)}"


@dataclass
class Life:
    """One writer, in a namespace of its own, and what it knows of its memories. Before each call it tells what the call
    will change, and after it that it is done.
    """

    memory: Memory
    name: str
    tell: Callable[[str], None]
    standings: Standings = field(default_factory=dict[int, Standing])
    # All that a memory ever said, and what it was before the last call.
    said: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    before: Standings = field(default_factory=dict[int, Standing])
    batch: str | None = None
    checkpoints: dict[str, Standings] = field(default_factory=dict[str, Standings])
    count: int = 0

    def go_on(self) -> None:
        chance = random.Random(self.name)
        calls: dict[Callable[[random.Random], None], int] = {
            self.remember: 8, self.correct: 5, self.forget: 3, self.restore: 3, self.erase: 3, self.undo: 3,
            self.checkpoint: 1, self.rewind: 1, self.import_: 2, self.work: 1,
        }  # fmt: skip
        while True:
            chance.choices(list(calls), list(calls.values()))[0](chance)

    def new_text(self) -> str:
        self.count += 1
        return f"{self.name}-{self.count}"

    def of(self, chance: random.Random, state: str) -> int | None:
        found = [number for number, standing in self.standings.items() if standing and standing[0] == state]
        return chance.choice(found) if found else None

    def call(self, after: Standings, do: Callable[[], Any], *, can_undo: bool = True) -> None:
        self.tell(json.dumps({"after": after}))
        batch = getattr(do(), "batch", None)
        self.tell("done")
        self.before = {number: self.standings.get(number) for number in after}
        self.batch = batch if can_undo else None
        for number, standing in after.items():
            if standing and standing[1] not in self.said.setdefault(number, []):
                self.said[number].append(standing[1])
        self.standings |= after

    def remember(self, _: random.Random) -> None:
        seed = self.new_text()
        self.call({len(self.standings) + 1: ("active", seed)}, lambda: self.memory.remember(text_of(seed)))

    def import_(self, _: random.Random) -> None:
        seeds = [self.new_text() for _ in range(3)]
        after: Standings = {len(self.standings) + place: ("active", seed) for place, seed in enumerate(seeds, 1)}
        self.call(after, lambda: self.memory.import_([{"text": text_of(seed)} for seed in seeds]))

    def correct(self, chance: random.Random) -> None:
        if number := self.of(chance, "active"):
            seed = self.new_text()
            self.call({number: ("active", seed)}, lambda: self.memory.update(number, text=text_of(seed)))

    def forget(self, chance: random.Random) -> None:
        if number := self.of(chance, "active"):
            self.call({number: ("deleted", self.said_by(number))}, lambda: self.memory.forget(number))

    def restore(self, chance: random.Random) -> None:
        if number := self.of(chance, "deleted"):
            self.call({number: ("active", self.said_by(number))}, lambda: self.memory.restore(number))

    def erase(self, chance: random.Random) -> None:
        number = self.of(chance, chance.choice(["active", "deleted"]))
        if number:
            self.tell(json.dumps({"erasing": self.said[number]}))
            self.call({number: None}, lambda: self.memory.erase(number, confirm=True), can_undo=False)

    def undo(self, _: random.Random) -> None:
        if batch := self.batch:
            # What was not there before the call is removed.
            after: Standings = {
                number: standing or ("deleted", self.said_by(number)) for number, standing in self.before.items()
            }
            self.call(after, lambda: self.memory.undo(batch), can_undo=False)

    def checkpoint(self, _: random.Random) -> None:
        name = self.new_text()
        snapshot = dict(self.standings)
        self.call({}, lambda: self.memory.checkpoint(name), can_undo=False)
        self.checkpoints[name] = snapshot

    def rewind(self, chance: random.Random) -> None:
        if self.checkpoints:
            name = chance.choice(list(self.checkpoints))
            then = self.checkpoints[name]
            after: Standings = {
                number: then[number] if number in then else ("deleted", standing[1])
                for number, standing in self.standings.items()
                if standing
            }
            self.call(after, lambda: self.memory.restore_checkpoint(name, clear_existing=True), can_undo=False)

    def work(self, _: random.Random) -> None:
        self.call({}, self.memory.work, can_undo=False)

    def said_by(self, number: int) -> str:
        standing = self.standings[number]
        assert standing
        return standing[1]


def live(path: Path, name: str) -> Child:
    def job(tell: Callable[[str], None]) -> None:
        memory = Memory(path, embedder=WordEmbedder(), namespace=name, actor=name)
        Life(memory, name, tell).go_on()

    return start(job)


@dataclass
class Told:
    """What a writer told until it was killed."""

    name: str
    child: Child
    heard: bytearray = field(default_factory=bytearray)

    def listen(self, lines: int) -> None:
        while self.heard.count(b"\n") < lines:
            more = os.read(self.child.acknowledgements, 1 << 16)
            assert more, "the writer ended by itself"
            self.heard += more

    def kill(self) -> None:
        os.kill(self.child.pid, signal.SIGKILL)
        while more := os.read(self.child.acknowledgements, 1 << 16):
            self.heard += more
        os.close(self.child.acknowledgements)
        os.waitpid(self.child.pid, 0)

    def outcomes(self) -> tuple[Standings, Standings, list[str], int]:
        """How its memories stood after what it acknowledged; the same after the call that was under way, if one was;
        what was erased for sure; and how many calls it acknowledged.
        """
        certain: Standings = {}
        last: Standings = {}
        erasing, erased = list[str](), list[str]()
        acknowledged = 0
        for line in self.heard.decode().split("\n")[:-1]:
            if line == "done":
                certain |= last
                erased += erasing
                acknowledged += 1
                last, erasing = {}, []
            elif "erasing" in (told := json.loads(line)):
                erasing = told["erasing"]
            else:
                last = {int(n): (each[0], each[1]) if each else None for n, each in told["after"].items()}
        perhaps: Standings = {**certain, **last}
        return certain, perhaps, erased, acknowledged


def kill_some(path: Path, chance: random.Random, kills: int, calls: int) -> list[Told]:
    """Keep four writers on one store, and kill one after the other when it has done about so many calls."""
    writers: list[Told] = []
    killed: list[Told] = []
    for n in range(kills):
        while len(writers) < WRITERS:
            name = f"w{chance.randrange(10**9)}.{n}.{len(writers)}"
            writers.append(Told(name, live(path, name)))
        victim = writers.pop(chance.randrange(WRITERS))
        victim.listen(chance.randint(calls, 3 * calls))
        select.select([], [], [], chance.uniform(0, 0.02))
        victim.kill()
        killed.append(victim)
    for writer in writers:
        writer.kill()
    return killed + writers


def check(path: Path, writers: list[Told]) -> tuple[int, int]:
    """How many calls were acknowledged, and how many texts erased."""
    calls, gone, kept = 0, list[str](), list[str]()
    with Memory(path, embedder=WordEmbedder()) as memory:
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        for writer in writers:
            certain, perhaps, erased, acknowledged = writer.outcomes()
            space = memory.namespace(writer.name)
            found = {record.number: (record.state, record.text) for record in space.list(states=STATES, limit=10**9)}
            assert found in (texts(certain), texts(perhaps)), writer.name
            calls, gone = calls + acknowledged, gone + erased
            kept += [standing[1] for standing in certain.values() if standing and standing in perhaps.values()]
        memory.work()
    assert found_in(path.parent, [canary(kept[0])], PIECE)
    assert found_in(path.parent, [canary(seed) for seed in gone], PIECE) == {}
    return calls, len(gone)


def texts(standings: Standings) -> dict[int, tuple[str, str]]:
    return {number: (each[0], text_of(each[1])) for number, each in standings.items() if each}


@pytest.mark.soak
def test_whatever_killed_writers_acknowledged_is_done_and_whatever_they_erased_is_gone(tmp_path: Path):
    """`make soak` goes on until so many were killed, so much was acknowledged and so many texts were erased."""
    kills, calls, texts_gone = (
        int(os.environ.get(name, few))
        for name, few in (("PERDURE_MIXED_KILLS", 2), ("PERDURE_MIXED_CALLS", 30), ("PERDURE_MIXED_ERASED", 4))
    )
    seed = int(os.environ.get("PERDURE_SEED", random.randrange(10**6) if "PERDURE_MIXED_KILLS" in os.environ else 3))
    chance = random.Random(seed)
    killed = acknowledged = erased = 0
    while killed < kills or acknowledged < calls or erased < texts_gone:
        folder = tmp_path / str(killed)
        folder.mkdir()
        writers = kill_some(folder / "memory.db", chance, min(KILLS_PER_STORE, kills), calls // kills)
        some_calls, some_erased = check(folder / "memory.db", writers)
        killed, acknowledged, erased = killed + len(writers), acknowledged + some_calls, erased + some_erased
    sys.stdout.write(
        f"{killed} kills, {acknowledged} acknowledged calls, {erased} erased texts: 0 lost, 0 half done, 0 left "
        f"(seed {seed})\n"
    )
