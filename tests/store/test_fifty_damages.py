"""More than fifty kinds of damage: doctor names each, a repair brings back what is derived, and no content changes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from clocks import Ticking
from rewinding import last_batch
from store.behind import behind
from store.damages import DEFAULT, NAMED, OUTSIDE, REPAIRED, SETTLED, Damage

from perdure import Memory
from perdure.errors import PerdureError, StoreDamaged, StoreForeign, StoreNewer
from perdure.model import Finding
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import NAMESPACE, amend, remember

DRINKS = ("green tea", "milk", "coffee", "water", "juice", "cocoa", "cider", "soup", "broth", "wine")
# Positions of vectors are counted on when they are computed again, and those of no memory are no content.
CONTENT = {
    **dict.fromkeys(("memory", "entry", "tag", "revision", "payload", "link", "use", "tombstone", "checkpoint"), "*"),
    "namespace": "id, name, seq, number, head, documents, words, tokens, max_items, max_tokens, created_at",
    "generation": "*",
    "vector JOIN memory USING (namespace, passage_hash)": "slot, generation, passage_hash, vector.checksum, data",
}
TRUTH = {**dict.fromkeys(("memory", "revision", "payload"), "*"), "namespace": "id, name, seq, head"}


def opened(path: Path, clock: Ticking | None = None) -> Memory:
    return Memory(path, embedder=WordEmbedder(16), clock=clock or Ticking(), actor="ada")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty memories in three namespaces, in every state, with all that belongs to them."""
    path, clock = tmp_path_factory.mktemp("original") / "memory.db", Ticking()
    with opened(path, clock) as memory:
        for n in range(1, 31):
            memory.remember(f"{DRINKS[n % 10 - 1]} on day {n}", key=f"fact:{n}", tags=[f"t{n}", "drink"])
        for n in range(1, 6):
            memory.update(n, text=f"{DRINKS[n - 1]} on day {n}, corrected", title="Drinks")
        memory.checkpoint("morning")
        memory.forget([6, 7], confirm=True)
        memory.erase([8, 9], confirm=True)
        memory.remember("a mistake", key="fact:slip")
        memory.undo(last_batch(memory))
        memory.capacity(max_items=500)
        work = memory.namespace("work")
        for n in range(15):
            work.remember(f"task {n} of the week", tier="temporary" if n < 3 else "normal", tags=["task"])
        clock.forward(days=40)
        work.work(purge=True)
        home = memory.namespace("home")
        for n in range(15):
            home.remember(f"room {n} of the house", spec_folder="house")
        home.capacity(max_items=10)
        home.remember("the garden")
        memory.checkpoint("evening", all_namespaces=True)
        memory.recall("tea")
        memory.remember("the last one")
        memory.work()
        first, second = memory.get(1), memory.get(2)
    with closing(SqliteStore.open(path, clock=clock)) as store:
        amend(store, first, supersedes=(second.id,), evidence=("https://example.com",))
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    for beside in ("", "-head", "-erased"):
        shutil.copy(f"{original}{beside}", f"{tmp_path / original.name}{beside}")
    return tmp_path / original.name


def content(path: Path, tables: Mapping[str, str] = CONTENT) -> dict[str, object]:
    with behind(path) as raw:
        return {table: _rows(raw, table, columns) for table, columns in tables.items()}


def _rows(raw: Any, table: str, columns: str) -> object:
    live = " WHERE state IN ('active', 'superseded')" if "JOIN" in table else ""
    try:
        return raw.execute(f"SELECT {columns} FROM {table}{live} ORDER BY 1, 2").fetchall()  # noqa: S608
    except apsw.SQLError:
        return None


def found(memory: Memory) -> dict[str, Finding]:
    return {finding.check: finding for finding in memory.doctor() if finding.level != "ok"}


def test_there_are_more_than_fifty_kinds_and_the_store_they_are_done_to_is_sound(path: Path):
    assert len(REPAIRED) + len(SETTLED) + len(NAMED) + len(OUTSIDE) > 50
    with opened(path) as memory:
        assert found(memory) == {}


@pytest.mark.parametrize("damage", REPAIRED)
def test_what_can_be_derived_is_found_and_comes_back_byte_for_byte(path: Path, damage: str):
    before = content(path)
    REPAIRED[damage].do(path)
    with opened(path) as memory:
        named = found(memory)
        assert set(named) >= REPAIRED[damage].checks
        assert any("--repair" in str(named[check].remedy) for check in REPAIRED[damage].checks)
        list(memory.doctor(repair=True))
        assert found(memory) == {}
        memory.work(purge=False)
        assert content(path) == before
        assert [hit.record.number for hit in memory.recall("milk corrected", limit=1)] == [2]
        assert [record.number for record in memory.list(tags=["t3"])] == [3]
        assert memory.remember("a new one").record.number == 33
        assert found(memory) == {}


def test_what_was_written_while_the_triggers_were_gone_is_found_again_after_a_repair(path: Path):
    Damage("DROP TRIGGER entry_insert; DROP TRIGGER entry_update; DROP TRIGGER entry_delete", "").do(path)
    with opened(path) as memory:
        memory.remember("lemonade in the garden")
        memory.update(2, text="buttermilk instead")
        memory.forget(3)
        assert set(found(memory)) == {"schema", "full_text"}
        before = content(path)
        list(memory.doctor(repair=True))
        assert found(memory) == {}
        assert content(path) == before
        assert memory.recall("lemonade")[0].record.number == 33
        assert memory.recall("buttermilk")[0].record.number == 2


@pytest.mark.parametrize("damage", SETTLED)
def test_what_nothing_tells_is_found_and_a_repair_says_what_was_lost(path: Path, damage: str):
    before = content(path, TRUTH)
    SETTLED[damage].do(path)
    with opened(path) as memory:
        assert set(found(memory)) >= SETTLED[damage].checks
        said = {finding.check for finding in memory.doctor(repair=True)}
        assert said & {"repair_schema_lost", "repair_secret", "repair_facts"}
        assert found(memory) == {}
        assert content(path, TRUTH) == before
        memory.forget(20)
        memory.checkpoint("after")
        assert found(memory) == {}


@pytest.mark.parametrize("damage", NAMED)
def test_damage_of_the_log_itself_is_found_and_never_repaired_away(path: Path, damage: str):
    NAMED[damage].do(path)
    before = content(path, TRUTH)
    with opened(path) as memory:
        named = found(memory)
        assert set(named) >= NAMED[damage].checks
        assert all("backup" in str(named[check].remedy) for check in NAMED[damage].checks)
        list(memory.doctor(repair=True))
        assert set(found(memory)) >= NAMED[damage].checks
    assert content(path, TRUTH) == before


@pytest.mark.parametrize("damage", OUTSIDE)
def test_what_the_database_cannot_know_is_found_by_what_stands_beside_it(path: Path, damage: str):
    """A log that was cut is in test_log_head."""
    OUTSIDE[damage].do(path)
    with opened(path) as memory:
        named = found(memory)
        assert set(named) >= OUTSIDE[damage].checks
        assert "chain" not in named
        accepted = [finding for finding in memory.doctor(repair=True) if finding.check == "repair_mirror"]
        assert [finding.sentence.startswith("The store is accepted as it is now.") for finding in accepted] == [True]
        assert found(memory) == {}


@pytest.mark.parametrize("version", [0, 1])
def test_a_store_whose_schema_has_the_wrong_number_gets_the_right_one(path: Path, version: int):
    before = content(path)
    Damage(f"PRAGMA user_version = {version}", "").do(path)
    with opened(path) as memory:
        assert found(memory) == {}
    assert content(path) == before


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("PRAGMA user_version = 1; DROP INDEX memory_age", StoreDamaged),
        ("PRAGMA user_version = 99", StoreNewer),
        ("PRAGMA application_id = 5", StoreForeign),
    ],
)
def test_a_store_that_is_not_what_it_claims_to_be_is_left_as_it_is(path: Path, way: str, error: type[PerdureError]):
    before = content(path)
    Damage(way, "").do(path)
    with pytest.raises(error) as raised:
        opened(path)
    assert raised.value.remedy
    assert content(path) == before


def test_who_keeps_no_versions_is_told_only_of_what_nobody_dropped(tmp_path: Path):
    with closing(SqliteStore.open(tmp_path / "m.db")) as store:
        for text in ("tea", "milk"):
            record = remember(store, text)
            for n in range(4):
                record = amend(store, record, title=f"{n}")
                with store.write(NAMESPACE) as writer:
                    writer.drop_payloads(record.number) if n < 2 else None
        assert _lost(store) == []
        for seq, lost in ((4, [4]), (8, [4, 8]), (10, [4, 8, 10])):
            Damage(f"DELETE FROM payload WHERE id = {DEFAULT + seq}", "").do(tmp_path / "m.db")  # noqa: S608
            assert _lost(store) == lost


def _lost(store: SqliteStore) -> list[int]:
    (finding,) = (finding for finding in store.check() if finding.check == "payloads")
    return [int(seq) for seq in re.findall(r" at (\d+)", finding.sentence)] if finding.level == "problem" else []
