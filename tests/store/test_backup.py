"""A backup is a whole and checked copy; bringing it back is all or nothing, and never brings back what was erased."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

import pytest
from store.behind import behind
from store.children import Child, give_away, in_child, unprivileged

from perdure import Memory
from perdure.buggify import arm, disarm
from perdure.errors import BackupFailed, Conflict, StoreBusy, StoreReadOnly
from perdure.lifecycle.erase import known_backups
from perdure.model import Forgotten
from perdure.store.sqlite import store as module
from perdure.store.sqlite.backup import staging
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import NAMESPACE, change, remember

MAKING = ["backup: copying", "backup: copied", "backup: checked", "backup: named"]
BEFORE = [
    "restore: fetched",
    "restore: checked",
    "restore: erased",
    "restore: adapted",
    "restore: kept",
    "restore: writing",
]
AFTER = ["restore: written", "restore: mirrored"]


def texts(path: Path) -> list[str]:
    with Memory(path, embedder="none") as memory:
        return [record.text for record in memory.list(limit=100, newest=False)]


def problems(path: Path) -> list[str]:
    with Memory(path, embedder="none") as memory:
        return [finding.sentence for finding in memory.doctor() if finding.level == "problem"]


def rollback(_: StoreFile) -> str:
    return "delete"


def killed_at(point: str, job: Callable[[], object]) -> bool:
    def run() -> None:
        with buggified(point, "kill"):
            job()

    status = Child(run).result()[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "memories.backup"


@pytest.fixture
def memory(path: Path) -> Generator[Memory]:
    with Memory(path, embedder=WordEmbedder()) as memory:
        memory.remember("tea in the morning", key="drink:morning", tags=["tea"])
        memory.remember("coffee in the evening")
        memory.namespace("work").remember("the deploy runs at noon")
        yield memory


def test_a_backup_is_one_private_file_with_everything_in_it_and_its_checksum_beside_it(memory: Memory, copy: Path):
    seen: list[tuple[int, int | None]] = []
    made = memory.backup(copy, lambda done, total: seen.append((done, total)))
    assert sorted(each.name for each in copy.parent.iterdir()) == ["memories.backup", "memories.backup.sha256"]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert made.sha256 == sha256(copy.read_bytes()).hexdigest()
    assert copy.with_name("memories.backup.sha256").read_text("utf-8") == f"{made.sha256}  memories.backup\n"
    assert (made.path, made.bytes, made.memory_count, made.revision_count) == (str(copy), copy.stat().st_size, 3, 3)
    assert seen
    assert seen[-1][0] == seen[-1][1]
    assert texts(copy) == ["tea in the morning", "coffee in the evening"]
    assert problems(copy) == []


def test_a_backup_holds_one_moment_while_others_write(memory: Memory, path: Path, copy: Path):
    with closing(SqliteStore.open(path)) as other:

        def write(done: int, total: int | None) -> None:
            remember(other, f"meanwhile {done} {total}")

        memory.backup(copy, write)
    assert len(texts(copy)) == 2
    assert len(texts(path)) > 2


def test_a_backup_never_replaces_a_store_in_use_a_directory_or_unasked_a_file(memory: Memory, path: Path, copy: Path):
    for taken in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-head")):
        with pytest.raises(BackupFailed, match="in use"):
            memory.backup(taken, overwrite=True)
    for wrong in (copy.parent, copy / "no" / "such", ""):
        with pytest.raises(BackupFailed):
            memory.backup(wrong, overwrite=True)
    copy.write_text("precious", encoding="utf-8")
    with pytest.raises(Conflict, match="exists"):
        memory.backup(copy)
    assert copy.read_text("utf-8") == "precious"
    assert memory.backup(copy, overwrite=True).memory_count == 3
    copy.with_name("link").symlink_to(copy)
    with pytest.raises(BackupFailed, match="not a regular file"):
        memory.backup(copy.with_name("link"), overwrite=True)


def test_a_damaged_store_gets_no_backup(memory: Memory, path: Path, copy: Path):
    with behind(path) as database:
        database.execute("UPDATE memory SET text = 'another' WHERE slot & 4294967295 = 1")
    with pytest.raises(BackupFailed, match="is damaged"):
        memory.backup(copy)
    assert list(copy.parent.iterdir()) == []


@pytest.mark.parametrize("point", MAKING)
def test_a_backup_that_was_killed_leaves_nothing_that_the_next_one_does_not_clean_up(
    path: Path, copy: Path, point: str
):
    with closing(SqliteStore.open(path)) as store:
        remember(store, "one")
        made = store.backup(str(copy))
        remember(store, "two")
        before = copy.read_bytes()
        assert killed_at(point, lambda: SqliteStore.open(path).backup(str(copy), overwrite=True))
        if point != "backup: named":
            assert copy.read_bytes() == before
            assert sha256(before).hexdigest() == made.sha256
        store.backup(str(copy), overwrite=True)
    assert sorted(each.name for each in copy.parent.iterdir()) == ["memories.backup", "memories.backup.sha256"]
    assert texts(copy) == ["one", "two"]


@pytest.mark.parametrize("point", MAKING)
def test_what_is_erased_after_a_backup_was_killed_is_gone_from_what_it_left_or_that_is_named(
    path: Path, copy: Path, point: str
):
    with Memory(path, embedder="none") as memory:
        memory.remember("brightwater")
        assert killed_at(point, lambda: Memory(path, embedder="none").backup(copy))
        left = [each for each in copy.parent.iterdir() if "partial" in each.name]
        assert bool(left) == (point != "backup: named")
        done = memory.erase(1, confirm=True)
        assert not done.scrub_pending
        named = any(str(copy) in note for note in done.notes)
    assert named == (point == "backup: named")
    assert [each.name for each in copy.parent.iterdir()] == (["memories.backup"] if named else [])


def test_a_copy_that_a_killed_restore_has_kept_is_named_by_an_erasure(path: Path, copy: Path):
    with Memory(path, embedder="none") as memory:
        memory.backup(copy)
        memory.remember("brightwater")
        assert killed_at("restore: kept", lambda: Memory(path, embedder="none").restore_backup(copy))
        (kept,) = (each for each in path.parent.iterdir() if ".before-" in each.name and each.suffix != ".sha256")
        done = memory.erase(1, confirm=True)
    assert any(str(kept) in note for note in done.notes)


def test_what_somebody_is_working_on_is_left_to_them_and_an_erasure_waits_for_it(path: Path, copy: Path):
    answers: list[tuple[bool, list[str]]] = []

    def erase(number: int) -> tuple[bool, list[str]]:
        with Memory(path, embedder="none") as other:
            pending = other.erase(number, confirm=True).scrub_pending
        return pending, [each.name for each in path.parent.iterdir() if "restoring" in each.name]

    def meanwhile(label: str) -> None:
        if label == "restore: checked":
            disarm()
            answers.extend([in_child(lambda: erase(1)), erase(2)])

    with Memory(path, embedder="none") as memory:
        for text in ("brightwater", "coldstream", "tea"):
            memory.remember(text)
        memory.backup(copy)
        arm(meanwhile)
        try:
            assert memory.restore_backup(copy, keep=False).erased == 2
        finally:
            disarm()
    assert [(pending, bool(left)) for pending, left in answers] == [(True, True), (True, True)]
    assert not [each for each in path.parent.iterdir() if each.is_file() and b"brightwater" in each.read_bytes()]
    with behind(path) as database:
        assert database.execute("SELECT count(*) FROM meta WHERE name = 'scrub'").get == 0


def test_a_backup_that_is_being_made_is_named_by_an_erasure_that_comes_too_late_for_it(path: Path, copy: Path):
    answers: list[Forgotten] = []

    def meanwhile(label: str) -> None:
        if label == "backup: checked":
            disarm()
            answers.append(in_child(erase))

    def erase() -> Forgotten:
        with Memory(path, embedder="none") as other:
            return other.erase(1, confirm=True)

    with Memory(path, embedder="none") as memory:
        memory.remember("brightwater")
        arm(meanwhile)
        try:
            memory.backup(copy)
        finally:
            disarm()
    assert texts(copy) == ["brightwater"]
    assert answers[0].scrub_pending
    assert any(str(copy) in note for note in answers[0].notes)


def test_a_leftover_is_not_taken_for_that_of_a_living_process_with_the_same_number(path: Path, copy: Path):
    with Memory(path, embedder="none") as memory:
        memory.remember("tea")
        memory.backup(copy)
        for number in (1, os.getpid()):
            for side in ("", "-journal"):
                path.with_name(f"{path.name}.restoring-{number}{side}").touch()
            copy.with_name(f"{copy.name}.partial-{number}").touch()
        memory.restore_backup(copy, keep=False)
        memory.backup(copy, overwrite=True)
    left = [each.name for each in (*path.parent.iterdir(), *copy.parent.iterdir())]
    assert not [name for name in left if "restoring" in name or "partial" in name]


def test_a_file_with_a_name_like_ours_is_left_alone(path: Path, copy: Path):
    mine = [path.with_name(f"{path.name}.restoring-{name}") for name in ("notes.txt", "1-mine", "")]
    for each in mine:
        each.touch()
    mine.append(path.with_name(f"{path.name}.restoring-7"))
    mine[-1].mkdir()
    with Memory(path, embedder="none") as memory:
        memory.remember("tea")
        memory.backup(copy)
        memory.restore_backup(copy, keep=False)
        assert not memory.erase(1, confirm=True).scrub_pending
    assert all(each.exists() for each in mine)


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_backups_to_one_place_at_once_do_not_disturb_each_other(
    memory: Memory, path: Path, copy: Path, overwrite: bool
):
    with Memory(path, embedder="none") as other:

        def meanwhile(label: str) -> None:
            if label == "backup: copied":
                disarm()
                other.backup(copy, overwrite=overwrite)

        arm(meanwhile)
        try:
            if overwrite:
                memory.backup(copy, overwrite=True)
            else:
                with pytest.raises(Conflict, match="exists"):
                    memory.backup(copy)
        finally:
            disarm()
    assert sorted(each.name for each in copy.parent.iterdir()) == ["memories.backup", "memories.backup.sha256"]
    assert sha256(copy.read_bytes()).hexdigest() in copy.with_name("memories.backup.sha256").read_text("utf-8")
    assert texts(copy) == ["tea in the morning", "coffee in the evening"]


def test_a_store_becomes_what_its_backup_was_and_can_be_taken_back(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    memory.upsert("drink:morning", "water in the morning")
    memory.remember("milk at night")
    memory.namespace("later").remember("a namespace that the backup does not know")
    done = memory.restore_backup(copy)
    assert (done.memory_count, done.erased, done.notes) == (3, 0, ())
    assert texts(path) == ["tea in the morning", "coffee in the evening"]
    assert memory.namespace("later").list().records == ()
    assert problems(path) == []
    assert done.kept
    assert Path(done.kept).name.startswith("memory.db.before-")
    memory.restore_backup(done.kept)
    assert texts(path) == ["water in the morning", "coffee in the evening", "milk at night"]
    assert len(memory.namespace("later").list().records) == 1
    assert problems(path) == []


def test_the_memory_that_restores_a_backup_sees_the_new_content_at_once(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    memory.remember("milk at night")
    assert [hit.record.text for hit in memory.recall("milk", limit=1)] == ["milk at night"]
    memory.restore_backup(copy, keep=False)
    assert sorted(hit.record.text for hit in memory.recall("milk tea coffee", min_relevance=0)) == [
        "coffee in the evening",
        "tea in the morning",
    ]
    # Number 3 was given out; it is not given out again.
    assert memory.remember("juice at noon").record.number == 4
    assert memory.list().records[0].text == "juice at noon"
    assert memory.namespace("work").get(1).text == "the deploy runs at noon"
    assert problems(path) == []


def test_a_store_that_is_open_elsewhere_is_not_replaced(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    memory.remember("milk at night")
    before = texts(path)
    with Memory(path, embedder="none"), pytest.raises(StoreBusy, match="has the store open") as refused:
        memory.restore_backup(copy)
    assert "Close every other program" in refused.value.remedy
    assert not [each for each in path.parent.iterdir() if "restoring" in each.name or "before" in each.name]
    assert texts(path) == before
    memory.remember("juice at noon")
    assert memory.restore_backup(copy).memory_count == 3
    assert problems(path) == []


def test_a_store_that_another_process_has_open_is_not_replaced(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    opened, done = os.pipe(), os.pipe()

    def hold() -> int:
        with Memory(path, embedder="none") as other:
            other.remember("in the other process")
            os.write(opened[1], b"x")
            os.read(done[0], 1)
            return len(other.list())

    child = Child(hold)
    os.read(opened[0], 1)
    with pytest.raises(StoreBusy, match="has the store open"):
        memory.restore_backup(copy)
    os.write(done[1], b"x")
    assert child.result() == (3, 0)
    assert memory.restore_backup(copy, keep=False).memory_count == 3
    assert texts(path) == ["tea in the morning", "coffee in the evening"]


def test_a_namespace_that_the_backup_lacks_is_empty_and_gives_no_number_out_twice(memory: Memory, copy: Path):
    memory.backup(copy)
    memory.namespace("later").remember("one")
    memory.restore_backup(copy, keep=False)
    memory.namespace("even later").remember("two")
    assert memory.namespace("later").list().records == ()
    assert memory.namespace("later").remember("three").record.number == 2
    assert [record.text for record in memory.namespace("later").list()] == ["three"]
    assert [record.text for record in memory.namespace("even later").list()] == ["two"]


def test_what_was_erased_since_does_not_come_back(memory: Memory, path: Path, copy: Path):
    memory.remember("brightwater is the password", key="secret:bank", tags=["brightwater"])
    memory.backup(copy)
    memory.erase("secret:bank", confirm=True)
    done = memory.restore_backup(copy)
    assert (done.memory_count, done.erased) == (3, 1)
    memory.restore_backup(copy, keep=False)
    for each in path.parent.iterdir():
        assert each.is_dir() or b"brightwater" not in each.read_bytes(), each
    assert [revision.change.operation for revision in memory.history(3)] == ["insert", "erase"]
    assert memory.history(3)[-1].change.surface == "restore"
    assert problems(path) == []


def test_what_was_erased_does_not_come_back_when_the_store_itself_was_lost(path: Path, copy: Path):
    with Memory(path, embedder="none") as memory:
        memory.remember("brightwater is the password")
        memory.remember("tea")
        memory.backup(copy)
        memory.erase(1, confirm=True)
    for each in ("", "-wal", "-shm", "-head"):
        path.with_name(path.name + each).unlink(missing_ok=True)
    with Memory(path, embedder="none") as memory:
        assert memory.restore_backup(copy).erased == 1
    assert texts(path) == ["tea"]
    assert b"brightwater" not in path.read_bytes()
    assert problems(path) == []


def test_what_was_erased_since_does_not_come_back_from_an_older_file_either(path: Path, copy: Path):
    old = [{"text": text, "updated_at": "2020-01-01T00:00:00Z"} for text in ("brightwater", "tea", "milk")]
    with Memory(path, embedder="none") as memory:
        twice = memory.remember("tea").record.number
        memory.backup(copy)
        memory.namespace("later").remember("brightwater")
        memory.namespace("later").erase(1, confirm=True)
        memory.erase(memory.remember("brightwater").record.number, confirm=True)
        # The same text by another id: the backup brings it back, and what is alive is not buried.
        memory.forget(twice)
        memory.erase(memory.remember("tea").record.number, confirm=True)
        memory.forget(memory.remember("milk").record.number)
        memory.restore_backup(copy, keep=False)
        assert memory.namespace("later").import_(old[:1]).skipped_deleted == 1
        again = memory.import_(old)
        assert (again.skipped_deleted, again.present, again.inserted) == (1, 1, 1)
        memory.upsert("drink:any", "tea")
    assert texts(path) == ["tea", "milk", "tea"]
    assert problems(path) == []


def test_a_backup_that_is_restored_elsewhere_says_what_it_cannot_know_and_can_be_told(tmp_path: Path, copy: Path):
    old, new, third = (tmp_path / f"{name}.db" for name in ("old", "new", "third"))
    with Memory(old, embedder="none") as memory:
        memory.remember("brightwater is the password")
        memory.remember("tea")
        memory.backup(copy)
        notes = " ".join(memory.erase(1, confirm=True).notes)
        assert "over this store" in notes
        assert "--erased" in notes
        wrong = [old, copy, tmp_path, tmp_path / "nothing"]
        with Memory(new, embedder="none") as moved:
            done = moved.restore_backup(copy)
            assert done.erased == 0
            assert "--erased" in " ".join(done.notes)
            for each in wrong:
                with pytest.raises(BackupFailed):
                    moved.restore_backup(copy, erased=each)
            assert len(moved.list()) == 2
            done = moved.restore_backup(copy, keep=False, erased=tmp_path / "old.db-erased")
            assert (done.erased, done.notes) == (1, ())
            assert moved.import_([{"text": "brightwater is the password"}]).skipped_deleted == 1
    assert texts(new) == ["tea"]
    assert b"brightwater" not in new.read_bytes()
    # It is told once.
    for side in ("", "-wal", "-shm", "-head"):
        new.with_name(new.name + side).unlink(missing_ok=True)
    with Memory(new, embedder="none") as moved:
        assert (moved.restore_backup(copy).erased, len(moved.list())) == (1, 1)
    with Memory(third, embedder="none") as moved:
        done = moved.restore_backup(copy, erased=tmp_path / "old.db-erased")
        assert (done.erased, done.notes) == (1, ())


def test_the_backup_itself_is_never_changed_nor_given_company(memory: Memory, copy: Path):
    memory.backup(copy)
    copy.chmod(0o400)
    before = copy.read_bytes()
    memory.restore_backup(copy, keep=False)
    assert copy.read_bytes() == before
    assert sorted(each.name for each in copy.parent.iterdir()) == ["memories.backup", "memories.backup.sha256"]


def damaged_bytes(copy: Path) -> None:
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)


def damaged_memory(copy: Path) -> None:
    copy.with_name(f"{copy.name}.sha256").unlink()
    with behind(copy) as database:
        database.execute("UPDATE memory SET text = 'another' WHERE slot & 4294967295 = 1")


def half(copy: Path) -> None:
    copy.with_name(f"{copy.name}.sha256").unlink()
    os.truncate(copy, copy.stat().st_size // 2)


def empty(copy: Path) -> None:
    copy.with_name(f"{copy.name}.sha256").unlink()
    os.truncate(copy, 0)


def nonsense(copy: Path) -> None:
    copy.with_name(f"{copy.name}.sha256").unlink()
    copy.write_bytes(b"this is no database " * 1000)


def missing(copy: Path) -> None:
    copy.unlink()


def unfinished(copy: Path) -> None:
    copy.with_name(f"{copy.name}-wal").write_bytes(b"something")


@pytest.mark.parametrize("damage", [damaged_bytes, damaged_memory, half, empty, nonsense, missing, unfinished])
def test_a_backup_that_is_not_in_order_changes_nothing(
    memory: Memory, path: Path, copy: Path, damage: Callable[[Path], None]
):
    memory.backup(copy)
    memory.remember("milk at night")
    damage(copy)
    with pytest.raises(BackupFailed) as refused:
        memory.restore_backup(copy)
    assert "doctor" not in refused.value.cli_remedy
    assert refused.value.sentence.count(str(copy)) == 1
    if damage in {damaged_bytes, damaged_memory, half}:
        assert "another copy" in refused.value.cli_remedy
    assert len(texts(path)) == 3
    assert not [each for each in path.parent.iterdir() if "restoring" in each.name or "before" in each.name]


def test_a_backup_of_another_store_goes_only_into_an_empty_one(memory: Memory, path: Path, tmp_path: Path, copy: Path):
    memory.backup(copy)
    with Memory(tmp_path / "other.db", embedder="none") as other:
        assert other.restore_backup(copy).memory_count == 3
        other.remember("milk")
    with Memory(tmp_path / "third.db", embedder="none") as third:
        third.remember("mine")
        with pytest.raises(BackupFailed, match="another store") as refused:
            third.restore_backup(copy)
        assert "Memory(NEW)" in refused.value.remedy
        assert len(third.list()) == 1
    assert problems(tmp_path / "other.db") == []


def test_two_stores_that_went_different_ways_are_not_mixed(memory: Memory, path: Path, tmp_path: Path, copy: Path):
    memory.backup(tmp_path / "twin.db")
    memory.namespace("ours").remember("one")
    with Memory(tmp_path / "twin.db", namespace="theirs", embedder="none") as twin:
        twin.remember("two")
        twin.backup(copy)
    memory.restore_backup(copy)
    assert memory.namespace("ours").list().records == ()
    assert [record.text for record in memory.namespace("theirs").list()] == ["two"]
    assert memory.namespace("ours").remember("three").record.number == 2
    assert problems(path) == []


def test_a_store_in_memory_can_be_backed_up_and_brought_back(copy: Path):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("tea")
        memory.backup(copy)
        memory.remember("coffee")
        assert memory.restore_backup(copy).kept is None
        assert [record.text for record in memory.list()] == ["tea"]


def test_a_backup_comes_back_in_rollback_mode_too(path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "choose_journal", rollback)
    with Memory(path, embedder="none") as memory:
        memory.remember("tea")
        memory.backup(copy)
        memory.remember("coffee")
        memory.restore_backup(copy)
        assert [record.text for record in memory.list()] == ["tea"]
    assert problems(path) == []


def test_a_damaged_store_is_kept_as_it_is_and_replaced(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    with behind(path) as database:
        database.execute("UPDATE memory SET text = 'another' WHERE slot & 4294967295 = 1")
    assert memory.restore_backup(copy).kept
    assert problems(path) == []
    assert texts(path)[0] == "tea in the morning"


@pytest.mark.parametrize("point", [*BEFORE, *AFTER])
def test_a_restore_that_was_killed_leaves_the_old_store_or_the_new_one(
    path: Path, copy: Path, point: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(staging, "PAGES", 4)
    with Memory(path, embedder="none") as memory:
        gone = memory.remember("brightwater").record.number
        memory.remember("tea")
        memory.backup(copy)
        memory.erase(gone, confirm=True)
        memory.remember("coffee")
    assert killed_at(point, lambda: Memory(path, embedder="none").restore_backup(copy))
    expected = ["tea", "coffee"] if point in BEFORE else ["tea"]
    assert texts(path) == expected
    assert not [each.name for each in path.parent.iterdir() if "restoring" in each.name]
    assert problems(path) == []
    assert not any(b"brightwater" in each.read_bytes() for each in (path, path.with_name(f"{path.name}-head")))
    with Memory(path, embedder="none") as memory:
        memory.restore_backup(copy, keep=False)
        memory.remember("milk")
    assert texts(path) == ["tea", "milk"]
    assert problems(path) == []
    assert not [each.name for each in path.parent.iterdir() if "restoring" in each.name]
    assert not [each for each in path.parent.iterdir() if each.is_file() and b"brightwater" in each.read_bytes()]


@pytest.mark.parametrize("point", BEFORE)
def test_a_restore_that_failed_leaves_a_store_that_works_on(
    memory: Memory, path: Path, copy: Path, point: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(staging, "PAGES", 4)
    memory.backup(copy)
    memory.remember("milk")
    with buggified(point), pytest.raises(Buggified):
        memory.restore_backup(copy)
    memory.remember("juice")
    assert len(texts(path)) == 4
    assert problems(path) == []


def test_what_somebody_wrote_in_the_last_moment_is_in_the_copy_that_is_kept(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)

    def write() -> None:
        with closing(SqliteStore.open(path)) as other:
            remember(other, "in the last moment")

    def meanwhile(label: str) -> None:
        if label == "restore: checked":
            disarm()
            in_child(write)

    arm(meanwhile)
    try:
        kept = memory.restore_backup(copy).kept
    finally:
        disarm()
    assert kept
    assert "in the last moment" in texts(Path(kept))
    assert "in the last moment" not in texts(path)


def test_what_others_wrote_since_the_last_read_is_in_the_copy_that_is_kept(path: Path, copy: Path):
    def write(*lines: str) -> None:
        with Memory(path, embedder="none") as memory:
            for line in lines:
                memory.remember(line)

    write("one", "two")
    with Memory(path, embedder="none") as memory:
        memory.backup(copy)
    with Memory(path, embedder="none") as memory:
        memory.remember("three")
        write("four, of another connection")
        restored = memory.restore_backup(copy)
        assert restored.kept is not None
        assert texts(Path(restored.kept)) == ["one", "two", "three", "four, of another connection"]
        assert problems(Path(restored.kept)) == []
        assert memory.remember("new").record.number == 5


@pytest.mark.parametrize("point", ["restore: erased", "restore: adapted", "restore: kept"])
def test_nobody_reads_or_writes_while_the_content_is_replaced(memory: Memory, path: Path, copy: Path, point: str):
    memory.backup(copy)
    answers: list[str] = []

    def open_it(label: str) -> None:
        if label == point:
            disarm()
            with pytest.raises(StoreBusy):
                SqliteStore.open(path, busy_seconds=0.01)
            answers.append("refused")

    arm(open_it)
    try:
        memory.restore_backup(copy)
    finally:
        disarm()
    assert answers == ["refused"]
    assert problems(path) == []


def test_what_somebody_erased_in_the_last_moment_stays_erased(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)

    def erase() -> None:
        with closing(SqliteStore.open(path)) as other, other.write(NAMESPACE) as writer:
            writer.erase(1, change("erase"))

    def meanwhile(label: str) -> None:
        if label == "restore: checked":
            disarm()
            in_child(erase)

    arm(meanwhile)
    try:
        assert memory.restore_backup(copy).erased == 1
    finally:
        disarm()
    assert texts(path) == ["coffee in the evening"]


def test_the_store_knows_where_its_copies_are_as_long_as_they_are_there(memory: Memory, copy: Path):
    assert known_backups(memory._services.store) == ()
    memory.backup(copy)
    memory.backup(copy.with_name("second"))
    memory.backup(copy, overwrite=True)
    assert known_backups(memory._services.store) == (str(copy), str(copy.with_name("second")))
    copy.with_name("second").unlink()
    kept = memory.restore_backup(copy).kept
    assert known_backups(memory._services.store) == (kept, str(copy))


def test_a_copy_that_cannot_be_looked_at_is_known_all_the_same(commons: Path):
    ours, hidden = commons / "ours", commons / "hidden"

    def known() -> tuple[str, ...]:
        with closing(SqliteStore.open(ours / "memory.db")) as store:
            store.backup(str(hidden / "copy"))
            hidden.chmod(0)
            try:
                return known_backups(store)
            finally:
                hidden.chmod(0o700)

    ours.mkdir()
    hidden.mkdir()
    give_away(ours, hidden)
    assert unprivileged(known) == (str(hidden / "copy"),)


def test_a_store_that_came_from_a_backup_knows_the_copies_of_the_first_one_too(
    memory: Memory, tmp_path: Path, copy: Path
):
    memory.backup(copy.with_name("first"))
    memory.backup(copy)
    with Memory(tmp_path / "new.db", embedder="none") as moved:
        kept = moved.restore_backup(copy).kept
        assert known_backups(moved._services.store) == (kept, str(copy), str(copy.with_name("first")))


def test_backups_made_at_once_are_all_known(memory: Memory, path: Path, copy: Path):
    def back_up(name: str) -> None:
        with closing(SqliteStore.open(path)) as store:
            for n in range(4):
                store.backup(str(copy.with_name(f"{name}{n}")))

    children = [Child(lambda name=name: back_up(name)) for name in "abcd"]
    assert [child.result()[1] for child in children] == [0] * 4
    assert {Path(each).name for each in known_backups(memory._services.store)} == {
        f"{name}{n}" for name in "abcd" for n in range(4)
    }


def test_a_backup_made_while_another_comes_back_is_known_afterwards(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)

    def back_up() -> None:
        with Memory(path, embedder="none") as other:
            other.backup(copy.with_name("meanwhile"))

    def meanwhile(label: str) -> None:
        if label == "restore: checked":
            disarm()
            in_child(back_up)

    arm(meanwhile)
    try:
        memory.restore_backup(copy, keep=False)
    finally:
        disarm()
    assert set(known_backups(memory._services.store)) == {str(copy), str(copy.with_name("meanwhile"))}


def test_a_copy_made_by_hand_without_a_checksum_is_used_and_said(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    shutil.copyfile(copy, copy.with_name("by hand"))
    assert "no checksum" in memory.restore_backup(copy.with_name("by hand")).notes[0]


def test_a_store_that_cannot_be_written_is_not_replaced(memory: Memory, path: Path, copy: Path):
    memory.backup(copy)
    with closing(SqliteStore.open(path)) as store:
        store._log_head = None
        with pytest.raises(StoreReadOnly):
            store.restore_backup(str(copy), keep=True)


def test_processes_that_come_while_a_backup_is_restored_wait_and_then_go_on(path: Path, copy: Path):
    with Memory(path, embedder="none") as memory:
        memory.remember("tea")
        memory.backup(copy)

    def write(name: str) -> list[int]:
        numbers: list[int] = []
        for n in range(25):
            with Memory(path, embedder="none") as other:
                numbers.append(other.remember(f"{name} {n}").record.number)
        return numbers

    children = [Child(lambda name=name: write(name)) for name in ("one", "two", "three")]
    restored = 0
    while restored < 3:
        with Memory(path, embedder="none") as memory, suppress(StoreBusy):
            restored += memory.restore_backup(copy, keep=False).memory_count
    answers = [child.result() for child in children]
    assert [status for _, status in answers] == [0, 0, 0]
    given = [number for numbers, _ in answers for number in numbers]
    assert len(given) == len(set(given)) == 75
    assert problems(path) == []
