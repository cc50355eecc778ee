"""Erased means that the bytes are gone, from every file, whatever held them and whatever happened in the middle."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults.canaries import Words, found_in, pieces, window
from faults.writers import start
from store.behind import behind

from perdure import Memory
from perdure.model import Record
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import amend, read_once

ERASURES = int(os.environ.get("PERDURE_ERASURES", "200"))
# With this one SQLite leaves copies of rows in unused parts of pages, which only a rewrite of the file removes.
SEED = int(os.environ.get("PERDURE_SEED", "11"))
POINTS = [
    "erase: begin", "erase: payloads deleted", "erase: memory deleted", "erase: vectors deleted",
    "erase: line written", "erase: one erased", "erase: before commit", "before commit", "after commit",
    "erase: noted", "erase: committed", "scrub: swept", "scrub: ledger complete", "scrub: log empty",
    "scrub: file rewritten", "scrub: log empty again", "erase: scrubbed",
]  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """The numbers of memories that are erased together, and what nobody may find afterwards."""

    numbers: list[int]
    canaries: list[str]


def plant(memory: Memory, words: Words) -> Planted:
    """A memory that says something secret wherever a memory can."""
    here = [words.canary() for _ in range(9)]
    capital = here[8].capitalize()
    record = memory.remember(
        f"{words.filler()} {here[0]} {words.filler()} {capital}",
        key=f"person:{here[1]}",
        tags=[here[2], "oai"],
        metadata={"aeiou": here[3], here[4]: [1, {"eia": here[5]}]},
        title=f"aio {here[6]}",
        reasoning=f"ouia {here[7]}",
        keywords=[here[7]],
    ).record
    if words.source.random() < 0.5:
        here += [words.canary(), words.canary()]
        memory.update(record.number, text=f"{here[-1]} {words.filler()}", tags=[here[-2]])
    if words.source.random() < 0.3:
        memory.forget(record.number)
    here += [words.canary(), words.canary()]
    memory._services.store.park(
        "default", purpose="keywords", memory=record.number, model="ollama:m", error=f"No list: {here[-2]}.",
        output=f"{words.filler()} {here[-1]}", attempts=3, at=record.created_at,
    )  # fmt: skip
    return Planted([record.number], here)


def plant_merged(memory: Memory, words: Words) -> Planted:
    """Memories that are linked: one was merged from two others, and the name of where it was heard is secret, too."""
    here = [words.canary() for _ in range(4)]
    sources = [memory.remember(f"{words.filler()} {each}").record for each in here[:2]]
    merged = memory.remember(f"{here[2]} {words.filler()}").record
    link(memory, merged, *sources, heard=f"https://example.com/{here[3]}")
    return Planted([merged.number, *(source.number for source in sources)], here)


def link(memory: Memory, merged: Record, *sources: Record, heard: str) -> None:
    amend(memory._services.store, merged, merged_from=tuple(source.id for source in sources), evidence=(heard,))


def fill(memory: Memory, words: Words, count: int) -> list[Planted]:
    """Canaries among many other memories, so that rows are moved from page to page."""
    planted: list[Planted] = []
    for n in range(count):
        for _ in range(2):
            memory.remember(words.filler(), tags=["".join(words.source.choices("aeiou", k=8))])
        planted.append(plant_merged(memory, words) if n % 8 == 3 else plant(memory, words))
    return planted


def test_a_byte_scan_finds_nothing_of_what_was_erased(tmp_path: Path):
    words = Words(SEED)
    with Memory(tmp_path / "memory.db", embedder=WordEmbedder()) as memory:
        planted = fill(memory, words, ERASURES)
        assert found_in(tmp_path, planted[0].canaries)
        words.source.shuffle(planted)
        for n, each in enumerate(planted, 1):
            done = memory.erase(each.numbers, confirm=True)
            assert done.done
            assert not done.scrub_pending
            if n % 20 == 0:
                assert found_in(tmp_path, [canary for gone in planted[:n] for canary in gone.canaries]) == {}
        canaries = [canary for gone in planted for canary in gone.canaries]
        assert found_in(tmp_path, canaries) == {}
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
        memory.remember(words.filler())
    assert found_in(tmp_path, canaries) == {}
    ledger = (tmp_path / "memory.db-erased").read_text("utf-8").splitlines()
    assert len(ledger) == sum(len(each.numbers) for each in planted)


@pytest.mark.parametrize("point", POINTS)
def test_an_erasure_that_was_killed_is_whole_or_has_not_begun(tmp_path: Path, point: str):
    from perdure.testing.buggify import buggified

    path, words = tmp_path / "memory.db", Words(len(point))
    with Memory(path, embedder=WordEmbedder()) as memory:
        planted = fill(memory, words, 8)

    def erase(each: Planted) -> None:
        with Memory(path, embedder=WordEmbedder()) as memory, buggified(point, "kill"):
            memory.erase(each.numbers, confirm=True)

    gone = 0
    for each in planted:
        _, status = start(lambda _, each=each: erase(each)).finish()
        assert os.WTERMSIG(status) == signal.SIGKILL
        with Memory(path, embedder="none") as memory:
            left = read_once(memory._services.store, "default").fetch(each.numbers)
            if left:
                assert len(left) == len(each.numbers)
                assert any(canary in left[0].text.lower() for canary in each.canaries)
            else:
                gone += 1
                assert found_in(tmp_path, each.canaries) == {}
            assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    assert gone == (0 if POINTS.index(point) < POINTS.index("after commit") else len(planted))


def test_while_another_process_reads_the_answer_says_that_bytes_wait_and_later_they_are_gone(tmp_path: Path):
    path, words = tmp_path / "memory.db", Words(5)
    with Memory(path, embedder="none") as memory:
        (each,) = fill(memory, words, 1)
        with behind(path) as other:
            other.execute("BEGIN")
            assert other.execute("SELECT count(*) FROM memory").get
            done = memory.erase(each.numbers, confirm=True)
            assert done.scrub_pending
            made = memory.backup(tmp_path / "copy")
            assert not set(pieces(each.canaries[0])) & set(window().findall(Path(made.path).read_bytes()))
            assert "memory.db-wal" in found_in(tmp_path, each.canaries)
            other.execute("COMMIT")
    assert found_in(tmp_path, each.canaries) == {}


@pytest.mark.parametrize("point", ["backup: copying", "backup: checked", "restore: fetched", "restore: checked"])
def test_what_is_erased_is_gone_from_what_a_killed_backup_or_restore_has_left(tmp_path: Path, point: str):
    from perdure.testing.buggify import buggified

    path, words, elsewhere = tmp_path / "memory.db", Words(7), tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Memory(path, embedder="none") as memory:
        planted = fill(memory, words, 3)
        memory.backup(tmp_path / "first")

        def die() -> None:
            with Memory(path, embedder="none") as other, buggified(point, "kill"):
                other.backup(elsewhere / "copy") if point.startswith("backup") else other.restore_backup(
                    tmp_path / "first", keep=False
                )

        assert os.WTERMSIG(start(lambda _: die()).finish()[1]) == signal.SIGKILL
        (tmp_path / "first").unlink()
        assert any("partial" in name or "restoring" in name for name in found_in(tmp_path, planted[0].canaries))
        done = memory.erase([number for each in planted for number in each.numbers], confirm=True)
        assert not done.scrub_pending
    assert found_in(tmp_path, [canary for each in planted for canary in each.canaries]) == {}


def test_use_and_vectors_that_come_late_bring_nothing_back(tmp_path: Path):
    path, words = tmp_path / "memory.db", Words(6)
    with Memory(path, embedder=WordEmbedder()) as memory, Memory(path, embedder="none") as other:
        (each,) = fill(memory, words, 1)
        assert memory.recall(each.canaries[0], min_relevance=0)
        memory.get(each.numbers[0])
        late = other.remember(each.canaries[0]).record.number
        waiting = memory._services.store.pending(WordEmbedder().generation, 10)
        assert other.erase([*each.numbers, late], confirm=True).done
        vector = WordEmbedder().embed_query("late").tobytes()
        for passage in waiting:
            with memory._services.store.write(passage.namespace) as writer:
                assert not writer.put_vectors(WordEmbedder().generation, [(passage.passage_hash, vector)])
        assert {*each.numbers, late}.isdisjoint(hit.record.number for hit in memory.recall(each.canaries[0]))
    assert found_in(tmp_path, each.canaries) == {}
    with Memory(path, embedder="none") as memory:
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
