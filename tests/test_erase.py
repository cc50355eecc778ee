"""Erasing: not a byte of it is left in any file, whatever happens on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock
from store.behind import behind
from store.children import Child

from perdure import Memory, errors
from perdure.lifecycle import erase as erasing
from perdure.model import STATES, Record
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.embedder import WordEmbedder

NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)
POINTS = [
    "erase: copies removed",
    "erase: begin", "erase: payloads deleted", "erase: memory deleted", "erase: vectors deleted", "erase: line written",
    "erase: one erased", "erase: before commit", "before commit", "after commit", "erase: committed",
    "scrub: ledger complete", "scrub: log empty", "erase: scrubbed",
]  # fmt: skip
COMMITTED = POINTS.index("after commit")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store" / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with opened(path) as one:
        yield one


def opened(path: Path, **arguments: Any) -> Memory:
    return Memory(path, embedder=WordEmbedder(), clock=lambda: NOW, **arguments)


def left_in_files(path: Path, canary: str) -> list[str]:
    """Every file beside the store that holds the word, in either case."""
    words = [canary.encode(), canary.lower().encode()]
    return [file.name for file in path.parent.iterdir() if any(word in file.read_bytes() for word in words)]


def plant(memory: Memory, canary: str) -> Record:
    """The canary in every field, in an old version, and in what was recalled."""
    made = memory.remember(
        f"first {canary}", key=f"secret:{canary}", title=canary, tags=[canary], metadata={"note": canary},
        reasoning=canary, keywords=[canary], source=canary, spec_folder=canary, references=[canary],
    ).record  # fmt: skip
    memory.update(made.number, text=f"second {canary}", title="Title")
    memory.recall(canary)
    return made


def test_not_a_byte_of_it_is_left_in_any_file(memory: Memory, path: Path):
    memory.remember("kept", tags=["kept"])
    plant(memory, "Kanarienvogel")
    assert left_in_files(path, "Kanarienvogel")
    done = memory.erase("secret:Kanarienvogel", confirm=True)
    assert (done.done, done.deletion, done.scrub_pending, done.remaining) == (True, "hard", False, 1)
    assert left_in_files(path, "Kanarienvogel") == []
    assert [hit.record.text for hit in memory.recall("kept")] == ["kept"]


def test_two_hundred_canaries_are_gone_to_the_last_byte(memory: Memory, path: Path):
    memory.remember("kept")
    for number in range(200):
        memory.remember(f"canary Zeisig{number:04} sings", tags=[f"Zeisig{number:04}"])
    memory.update(50, text="another Zeisig9999 sings, and Zeisig0048 no more")
    assert len(memory.erase("sings", confirm=True).records) == 200
    assert left_in_files(path, "Zeisig") == []
    assert memory.forget("kept", dry_run=True).remaining == 1


def test_the_history_keeps_that_it_happened_and_not_what_it_said(memory: Memory):
    plant(memory, "Kanarienvogel")
    memory.erase(1, confirm=True)
    lines = memory.history(1)
    assert [line.change.operation for line in lines] == ["insert", "update", "erase"]
    assert [line.record for line in lines] == [None, None, None]
    assert [one for one in memory.doctor() if one.level == "problem"] == []


def test_what_is_erased_is_found_on_no_path_and_nothing_brings_it_back(memory: Memory):
    made = plant(memory, "Kanarienvogel")
    batches = [line.change.batch for line in memory.history(1)]
    for _ in range(4):
        memory.recall("second")
    memory.forget(1, mode="hard", confirm=True)
    assert not memory.recall("second Kanarienvogel")
    assert len(memory.list(states=STATES)) == 0
    for reference in (1, made.id, made.content_hash, "secret:Kanarienvogel"):
        with pytest.raises(errors.NotFound):
            memory.get(reference)
        with pytest.raises(errors.PerdureError):
            memory.restore(reference)
    for batch in batches:
        with suppress(errors.Conflict):
            memory.undo(batch)
    assert len(memory.list(states=STATES)) == 0
    again = {"text": "second Kanarienvogel", "spec_folder": "Kanarienvogel"}
    assert memory.import_([again, {**again, "key": "secret:Kanarienvogel"}]).skipped_deleted == 2


def test_a_forgotten_memory_can_be_erased_by_name_and_by_sentence(memory: Memory, path: Path):
    for text in ("Kanarienvogel one", "Kanarienvogel two"):
        memory.remember(text)
    memory.forget([1, 2])
    assert memory.erase(1, confirm=True).done
    assert [record.number for record in memory.erase("everything about Kanarienvogel", confirm=True).records] == [2]
    assert left_in_files(path, "Kanarienvogel") == []


def test_what_was_forgotten_long_ago_can_be_erased_together(memory: Memory):
    for text in ("one", "two", "three"):
        memory.remember(text)
    memory.forget([1, 3])
    assert len(memory.erase(states="deleted", confirm=True).records) == 2
    assert [record.number for record in memory.list()] == [2]


def test_erasing_always_needs_a_yes_also_for_one_memory_that_is_named(memory: Memory):
    memory.remember("Osaka")
    memory.remember("Tokyo")
    for what in (1, "#1", [1], "osaka", "oldest", [1, 2], "before:2030-01-01"):
        with pytest.raises(errors.NeedsConfirmation) as asked:
            memory.erase(what)
        assert not asked.value.preview.done
    assert len(memory.list()) == 2
    assert memory.erase("osaka", confirm=memory.erase("osaka", dry_run=True).token).done
    assert [record.number for record in memory.list()] == [2]


def test_a_model_may_forget_but_not_erase(path: Path):
    with opened(path, writer="model") as memory:
        memory.remember("tea")
        with pytest.raises(errors.NotAllowed):
            memory.erase(1, confirm=True)
        with pytest.raises(errors.NotAllowed):
            memory.forget(1, mode="hard", confirm=True)
        assert memory.forget(1).done


def test_what_only_an_earlier_version_said_is_suggested(memory: Memory):
    memory.remember("Alice lives in Osaka", key="home:alice")
    memory.remember("Alice lives in Tokyo now", key="home:alice")
    memory.remember("Osaka has a castle")
    preview = memory.erase("everything about Osaka", dry_run=True)
    assert [record.number for record in preview.records] == [2]
    assert [record.number for record in preview.suggested] == [1]
    assert any("earlier version" in note for note in preview.notes)


def test_a_preview_of_an_erasure_changes_nothing(memory: Memory, path: Path):
    plant(memory, "Kanarienvogel")
    lines = memory.history(1)
    assert not memory.erase(1, dry_run=True).done
    assert memory.history(1) == lines


def test_it_says_that_copies_made_before_are_not_reached(memory: Memory):
    memory.remember("tea")
    assert any("Exports" in note for note in memory.erase(1, confirm=True).notes)


def test_it_names_the_backups_that_may_still_hold_it(memory: Memory, tmp_path: Path):
    memory.remember("tea")
    memory.remember("cake")
    memory.backup(str(tmp_path / "copy.db"))
    assert any("copy.db" in note for note in memory.erase(1, confirm=True).notes)
    (tmp_path / "copy.db").unlink()
    assert not any("copy.db" in note for note in memory.erase(2, confirm=True).notes)


def test_while_another_process_reads_the_bytes_wait_and_go_later(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erasing, "SCRUB_PATIENCE", 0.05)
    with opened(path) as memory:
        plant(memory, "Kanarienvogel")
        ready, over = os.pipe(), os.pipe()

        def read() -> None:
            with behind(path) as connection:
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM memory").fetchall()
                os.write(ready[1], b".")
                os.read(over[0], 1)

        reader = Child(read)
        os.read(ready[0], 1)
        done = memory.erase(1, confirm=True)
        assert (done.done, done.scrub_pending) == (True, True)
        assert any("another process" in note for note in done.notes)
        assert not memory.recall("Kanarienvogel")
        os.write(over[1], b".")
        assert reader.result()[1] == 0
    with opened(path) as memory:
        assert left_in_files(path, "Kanarienvogel") == []
        assert len(memory.list()) == 0


@pytest.mark.parametrize("point", POINTS[:COMMITTED])
def test_an_erasure_that_fails_inside_erases_none_of_them(memory: Memory, point: str):
    plant(memory, "Kanarienvogel")
    memory.remember("Kanarienvogel too")
    before = [memory.history(number) for number in (1, 2)]
    with buggified(point), pytest.raises(Buggified):
        memory.erase([1, 2], confirm=True)
    assert [memory.history(number) for number in (1, 2)] == before
    assert len(memory.recall("Kanarienvogel")) == 2
    assert memory.erase([1, 2], confirm=True).done


@pytest.mark.parametrize("point", POINTS)
def test_an_erasure_that_was_killed_is_whole_or_not_begun_and_leaves_no_byte(path: Path, point: str):
    with opened(path) as memory:
        memory.remember("kept")
        plant(memory, "Kanarienvogel")
        memory.remember("Kanarienvogel too")

    def erase() -> None:
        with opened(path) as memory, buggified(point, "kill"):
            memory.erase([2, 3], confirm=True)

    assert os.WTERMSIG(Child(erase).result()[1]) == signal.SIGKILL
    with opened(path) as memory:
        numbers = [record.number for record in memory.list(newest=False)]
        assert numbers == ([1] if POINTS.index(point) >= COMMITTED else [1, 2, 3])
        if len(numbers) > 1:
            memory.erase([2, 3], confirm=True)
        assert left_in_files(path, "Kanarienvogel") == []
        assert [one.check for one in memory.doctor() if one.level == "problem"] == []


def test_a_damaged_memory_can_be_erased_by_its_number(path: Path):
    with opened(path) as memory:
        plant(memory, "Kanarienvogel")
    with behind(path) as database:
        database.execute("UPDATE memory SET text = 'other Kanarienvogel' WHERE slot & 4294967295 = 1")
    with opened(path) as memory:
        with pytest.raises(errors.StoreDamaged):
            memory.get(1)
        assert memory.erase(1, confirm=True).done
        assert left_in_files(path, "Kanarienvogel") == []


@pytest.mark.parametrize("verb", ["erase", "forget"])
def test_nothing_of_it_is_held_in_memory_by_who_erased_it(path: Path, verb: str):
    clock = HandClock()
    with Memory(path, embedder=WordEmbedder(), clock=clock) as memory:
        other = memory.namespace("other")
        for one in (memory, other):
            one.remember("first canary", trigger_phrases=["canary song"])
        then = clock.now
        clock.forward(days=1)
        for one in (memory, other):
            one.update(1, text="second canary")
            assert one.recall("canary", known_at=then)
            assert one.match_triggers("canary song")
        if verb == "erase":
            memory.erase(1, confirm=True)
        else:
            memory.forget(1, mode="hard", confirm=True)
        services = memory._services
        pasts, triggers = services.recaller()._pasts, services.triggers()
        assert {key.namespace for key in pasts._indexes} == set(triggers._indexes) == {"other"}
        assert not memory.recall("canary", known_at=then)
        assert not memory.match_triggers("canary song")
