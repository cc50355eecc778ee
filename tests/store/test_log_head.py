"""Changes that are gone without a trace in the database: the mirror beside it says so."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from store.behind import behind
from store.children import Child

from perdure.model import Finding
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import buggified
from perdure.testing.records import NAMESPACE, amend, remember

CUTS = 150
FLIPS = 150


def mirror_of(store: SqliteStore) -> list[Finding]:
    return [finding for finding in store.check() if finding.check == "mirror"]


def looked_at(path: Path) -> tuple[int, list[Finding]]:
    with closing(SqliteStore.open(path)) as store:
        return store.position(NAMESPACE, None).seq, mirror_of(store)


def accept(path: Path) -> list[Finding]:
    with closing(SqliteStore.open(path)) as store:
        return [finding for finding in store.repair() if finding.check == "repair_mirror"]


def copied(path: Path, directory: Path) -> Path:
    """The store as a killed process left it, with what lies beside it; SQLite makes the `-shm` anew."""
    directory.mkdir()
    for each in ("", "-wal", "-head"):
        shutil.copyfile(f"{path}{each}", f"{directory / path.name}{each}")
    return directory / path.name


def abandoned(path: Path, changes: int) -> None:
    """A store whose process was killed, so that its log stays behind."""

    def write() -> None:
        store = SqliteStore.open(path)
        records = [remember(store, f"memory {n} " + "word " * (n % 70)) for n in range(changes - 5)]
        for record in records[:5]:
            amend(store, record, text=f"{record.text} corrected")
        os.kill(os.getpid(), signal.SIGKILL)

    assert os.WTERMSIG(Child(write).result()[1]) == signal.SIGKILL


def cut(log: Path, at: int) -> None:
    os.truncate(log, at)


def flip(log: Path, at: int) -> None:
    content = bytearray(log.read_bytes())
    content[at] ^= 0x40
    log.write_bytes(content)


@pytest.mark.parametrize(("damage", "times"), [(cut, CUTS), (flip, FLIPS)])
def test_whenever_a_damaged_log_loses_changes_doctor_reports_it(
    path: Path, tmp_path: Path, damage: Callable[[Path, int], None], times: int
):
    changes, source = 30, random.Random(7)
    abandoned(path, changes)
    assert looked_at(copied(path, tmp_path / "whole"))[0] == changes
    lost = 0
    for n in range(times):
        copy = copied(path, tmp_path / str(n))
        log = copy.with_name(f"{copy.name}-wal")
        damage(log, source.randrange(log.stat().st_size))
        seq, (finding, *others) = looked_at(copy)
        assert others == []
        assert (finding.level == "problem") == (seq < changes), (n, seq)
        if seq < changes:
            lost += 1
            missing = (
                "the last change is missing" if seq == changes - 1 else f"the last {changes - seq} changes are missing"
            )
            assert missing in finding.sentence
        shutil.rmtree(copy.parent)
    assert lost > times / 2


def test_a_log_that_is_gone_altogether_is_reported_as_well(path: Path, tmp_path: Path):
    abandoned(path, 10)
    copy = copied(path, tmp_path / "copy")
    copy.with_name(f"{copy.name}-wal").unlink()
    seq, (finding,) = looked_at(copy)
    assert (seq, finding.level) == (0, "problem")
    assert "the last 10 changes are missing" in finding.sentence


def test_a_last_line_that_was_removed_with_all_its_traces_is_found(path: Path):
    with closing(SqliteStore.open(path)) as store:
        for n in range(3):
            remember(store, f"memory {n}")
    with behind(path) as database:
        database.execute("DELETE FROM revision WHERE seq = 3; DELETE FROM payload WHERE id & 4294967295 = 3")
        database.execute("DELETE FROM memory WHERE seq = 3; DELETE FROM entry WHERE slot & 4294967295 = 3")
        database.execute("UPDATE namespace SET seq = 2, head = (SELECT hash FROM revision WHERE seq = 2)")
    with closing(SqliteStore.open(path)) as store:
        found = list(store.check())
        assert next(finding for finding in found if finding.check == "chain").level == "ok"
        (finding,) = mirror_of(store)
        assert finding.level == "problem"
        assert "'default': the last change is missing" in finding.sentence


def test_what_was_lost_is_still_reported_after_the_log_has_come_further(path: Path):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "one")
    shutil.copyfile(path, path.with_name("old"))
    with closing(SqliteStore.open(path)) as store:
        remember(store, "two")
    shutil.copyfile(path.with_name("old"), path)
    with closing(SqliteStore.open(path)) as store:
        for n in range(5):
            remember(store, f"another {n}")
        (finding,) = mirror_of(store)
        assert finding.level == "problem"
        assert "change 2 is not the original one" in finding.sentence
        assert "accepted as it is now" in next(f.sentence for f in store.repair() if f.check == "repair_mirror")
        assert [finding.level for finding in mirror_of(store)] == ["ok"]


def test_a_store_replaced_by_an_older_copy_is_found_and_can_be_accepted(path: Path):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "one")
        remember(store, "elsewhere", "work")
    shutil.copyfile(path, path.with_name("old"))
    with closing(SqliteStore.open(path)) as store:
        remember(store, "two")
    shutil.copyfile(path.with_name("old"), path)
    _, (finding,) = looked_at(path)
    assert finding.level == "problem"
    assert len(accept(path)) == 1
    assert accept(path) == []
    assert [finding.level for finding in looked_at(path)[1]] == ["ok"]


def test_a_process_that_died_before_it_could_mirror_its_change_is_no_problem(path: Path):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "one")

    def die() -> None:
        with closing(SqliteStore.open(path)) as store, buggified("after commit", "kill"):
            remember(store, "two")

    assert os.WTERMSIG(Child(die).result()[1]) == signal.SIGKILL
    assert looked_at(path)[1][0].level == "ok"
    with closing(SqliteStore.open(path)) as store:
        remember(store, "three")
    with behind(path) as database:
        database.execute("UPDATE namespace SET seq = 2")
    assert "the last change is missing" in looked_at(path)[1][0].sentence


def test_a_store_without_a_mirror_is_in_order_and_gets_one_with_the_next_change(path: Path):
    with closing(SqliteStore.open(path)) as store:
        assert [finding.level for finding in mirror_of(store)] == ["ok"]
        remember(store, "one")
    mirror = path.with_name(f"{path.name}-head")
    assert mirror.stat().st_mode & 0o777 == 0o600
    mirror.write_bytes(b"nonsense")
    assert looked_at(path)[1][0].level == "ok"


def test_the_mirror_of_another_store_is_a_warning_and_the_next_change_replaces_it(path: Path, tmp_path: Path):
    for each in (path, tmp_path / "other.db"):
        with closing(SqliteStore.open(each)) as store:
            remember(store, "one")
    shutil.copyfile(tmp_path / "other.db-head", f"{path}-head")
    assert looked_at(path)[1][0].level == "warning"
    with closing(SqliteStore.open(path)) as store:
        remember(store, "two")
        assert mirror_of(store)[0].level == "ok"


@pytest.mark.parametrize("trap", ["directory", "link", "the store itself"])
def test_a_mirror_that_cannot_be_written_never_fails_a_change(path: Path, trap: str):
    mirror = path.with_name(f"{path.name}-head")
    target = path.with_name("precious")
    target.write_text("precious", encoding="utf-8")
    with closing(SqliteStore.open(path)) as store:
        if trap == "directory":
            mirror.mkdir()
        elif trap == "link":
            mirror.symlink_to(target)
        else:
            os.link(path, mirror)
        assert remember(store, "one").number == 1
        assert [finding.level for finding in mirror_of(store)] == ["ok"]
    assert target.read_text(encoding="utf-8") == "precious"


def test_a_store_that_lost_its_secret_is_still_written_checked_and_repaired(path: Path):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "one")
    with behind(path) as database:
        database.execute("DELETE FROM meta WHERE name = 'secret'")
    with closing(SqliteStore.open(path)) as store:
        assert remember(store, "two").number == 2
        assert [finding.level for finding in mirror_of(store)] == ["problem"]
        assert "repair_secret" in {finding.check for finding in store.repair() if finding.level == "warning"}
        assert [finding.level for finding in mirror_of(store)] == ["ok"]
