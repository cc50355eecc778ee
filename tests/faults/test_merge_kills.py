"""Killed while it merges, and many savers at once: no text is lost, nothing is merged twice, every lineage is whole."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from faults.writers import Child, start
from learn.placed import PlacedEmbedder, near
from rewinding import problems, states

from perdure import Memory, Record
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.embedder import WordEmbedder

FAN, LIKES = "Bob is a fan of green tea", "Bob likes green tea a lot"
PLACES = {FAN: near(0.95), LIKES: near(1), f"{FAN}. {LIKES}": near(0.99)}
INSIDE = [
    ("merge: planned", 1),
    ("merge: absorbed", 1),
    *(("put: memory written", nth) for nth in (1, 2, 3)),
    *(("put: revision written", nth) for nth in (1, 2, 3)),
    ("merge: written", 1),
    ("before commit", 1),
]
THREADS, SAVES, KILLS = 4, 6, 12
# Near duplicates, in the order of their words: whoever merges them has to look at all that the others just saved.
TOPICS = ("green tea", "dark mode", "long walks")
FORMS = ("Bob likes {} a lot", "Bob likes {} a whole lot", "Bob really likes {} a lot", "Bob likes {} quite a lot")


def opened(home: Path) -> Memory:
    return Memory(home / "m.db", embedder=PlacedEmbedder(PLACES), actor="ada")


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("half")
    with opened(home) as memory:
        memory.save_memory(FAN)
    return home


@pytest.mark.parametrize(("point", "nth"), INSIDE)
def test_killed_inside_a_merge_nothing_has_happened_and_it_can_be_done_again(
    half: Path, tmp_path: Path, point: str, nth: int
):
    home = Path(shutil.copytree(half, tmp_path / "store"))
    with opened(home) as memory:
        before = states(memory)

    def job(_: Callable[[str], None]) -> None:
        with opened(home) as memory, buggified(point, "kill", nth):
            memory.save_memory(LIKES)

    _, status = start(job).finish()
    assert os.WIFSIGNALED(status), point
    assert os.WTERMSIG(status) == signal.SIGKILL
    with opened(home) as memory:
        assert problems(memory) == []
        assert states(memory) == before
        assert memory.save_memory(LIKES).outcome == "merged"
        whole([*memory.list(states=["active", "merged"])])


def test_a_merge_that_fails_half_way_leaves_nothing(half: Path, tmp_path: Path):
    home = Path(shutil.copytree(half, tmp_path / "store"))
    with opened(home) as memory:
        before = states(memory)
        with buggified("merge: written"), pytest.raises(Buggified):
            memory.save_memory(LIKES)
        assert states(memory) == before
        assert memory.save_memory(LIKES).outcome == "merged"


def whole(records: Iterable[Record]) -> None:
    """Every merged memory became one other, which names it, and every name leads to a merged one."""
    by_id = {record.id: record for record in records}
    named = Counter(id for record in by_id.values() for id in record.merged_from)
    assert set(named.values()) <= {1}, "a memory was merged twice"
    assert {record.id for record in by_id.values() if record.state == "merged"} == set(named)


def kept(memory: Memory, texts: Iterable[str]) -> list[Record]:
    """All memories, after making sure that each text is stored to the letter, and that something active stands for
    it.
    """
    records = list(memory.list(states=["active", "merged"], limit=10_000))
    stored = {record.text for record in records}
    assert set(texts) <= stored
    words = [set(record.text.lower().replace(".", "").split()) for record in records if record.state == "active"]
    assert all(any(set(text.lower().split()) <= held for held in words) for text in texts)
    whole(records)
    return records


def test_savers_at_once_lose_no_text_and_merge_nothing_twice(tmp_path: Path):
    said: list[str] = []
    failed: list[BaseException] = []

    def save(number: int, memory: Memory) -> None:
        source = random.Random(number)
        try:
            for _ in range(SAVES):
                text = source.choice(FORMS).format(source.choice(TOPICS))
                memory.save_memory(text)
                said.append(text)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must see it
            failed.append(error)

    with Memory(tmp_path / "m.db", embedder=WordEmbedder(512)) as memory:
        threads = [threading.Thread(target=save, args=(number, memory)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        records = kept(memory, said)
        assert sum(record.observation_count for record in records if record.state == "active") >= len(said)
        assert problems(memory) == []


def test_killed_savers_lose_no_text_that_they_acknowledged(tmp_path: Path):
    path, source = tmp_path / "m.db", random.Random(4)
    Memory(path, embedder=WordEmbedder(512)).close()

    def save_for_ever(seed: int) -> Callable[[Callable[[str], None]], None]:
        def job(acknowledge: Callable[[str], None]) -> None:
            words = random.Random(seed)
            with Memory(path, embedder=WordEmbedder(512)) as memory:
                while True:
                    text = f"{words.choice(FORMS).format(words.choice(TOPICS))} {words.choice('abcdefgh')}"
                    memory.save_memory(text)
                    acknowledge(text)

        return job

    children: list[Child] = []
    said: list[str] = []
    for n in range(KILLS):
        while len(children) < 2:
            children.append(start(save_for_ever(100 * n + len(children))))
        victim = children.pop(source.randrange(2))
        select.select([victim.acknowledgements], [], [], 30)
        select.select([], [], [], source.uniform(0, 0.05))
        said += victim.kill()
    for child in children:
        said += child.kill()
    with Memory(path, embedder=WordEmbedder(512)) as memory:
        assert said
        kept(memory, said)
        assert problems(memory) == []
