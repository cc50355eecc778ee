"""The index file beside a store: all processes share it, none trusts one that is not right, and nothing erased is in
it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from index_files import QUESTIONS, SIZE, THINGS, answers, index_files, made, opened, scanned, wrong
from store.children import Child, give_away, in_child

from perdure import Memory
from perdure.buggify import arm, disarm
from perdure.recall import array_file, index, vectors
from perdure.recall.index import NamespaceIndex
from perdure.store import index_folder
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from postgres_stores import EmptyStores


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody has asked, so that the file is there."""
    home = made(tmp_path_factory.mktemp("asked"))
    with opened(home) as memory:
        answers(memory)
    return home


@pytest.fixture
def home(asked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(asked, tmp_path / "home"))


def reads(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each page had that was read of the whole namespace."""
    store, read = memory._services.store, list[int]()
    whole = store.index_rows

    def counted(*arguments: Any, **named: Any) -> Any:
        rows = whole(*arguments, **named)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(store, "index_rows", counted)
    return read


def test_a_new_process_answers_from_the_file_what_the_store_would_have_it_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    with opened(home) as memory:
        read = reads(memory, monkeypatch)
        found = answers(memory)
        assert read == []
    assert found == scanned(home)
    assert wrong(home) == []


def written(home: Path) -> str:
    """Another one after every time that more was written: a number of a file is given again, and moments are coarse."""
    return hashlib.sha256(index_files(home)[0].read_bytes()).hexdigest()


def test_the_files_are_their_owners_alone(home: Path):
    (file,) = index_files(home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_what_changed_since_the_file_was_written_is_read_from_the_store(home: Path):
    before = written(home)
    with opened(home) as memory:
        new = memory.remember("Emil keeps newts", conversation_id="talk 1", metadata={"speaker": "Emil"}).record.number
        memory.update(3, text="Ada keeps newts too")
        memory.forget(5)
    with opened(home) as memory:
        found = answers(memory, ["newts", "Emil"])
        assert {3, new} <= {number for number, *_ in found[0]}
    by_store = scanned(home, ["newts", "Emil"])
    assert [[hit[:2] for hit in each] for each in found] == [[hit[:2] for hit in each] for each in by_store]
    assert wrong(home) == []
    assert written(home) == before


def test_the_file_is_written_anew_when_much_has_changed(home: Path):
    before = written(home)
    with opened(home) as memory:
        memory.import_({"text": f"Emil newts {n}"} for n in range(600))
        memory.forget([*range(1, 40)])
        memory.work()
    assert written(home) != before
    assert wrong(home) == []


def test_a_process_that_imports_in_portions_writes_the_file_once_and_again_at_its_end(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index, "_REST", 1e6)
    files = {written(home)}
    with opened(home) as memory:
        for portion in range(4):
            memory.import_({"text": f"Emil newts {portion} {n}"} for n in range(600))
            memory.work()
            files.add(written(home))
        assert len(files) == 2
    assert written(home) not in files
    assert wrong(home) == []


def test_a_hook_does_not_keep_anybody_waiting_for_a_large_file(home: Path, monkeypatch: pytest.MonkeyPatch):
    for file in index_files(home):
        file.unlink()

    def ask() -> None:
        with Memory(home / "m.db", embedder=WordEmbedder(), surface="hook", writer="model") as memory:
            assert answers(memory)

    monkeypatch.setattr(index, "MOST_ROWS_HURRIED", SIZE - 1)
    ask()
    assert index_files(home) == []
    monkeypatch.setattr(index, "MOST_ROWS_HURRIED", SIZE)
    ask()
    assert len(index_files(home)) == 1


def test_a_process_that_lives_on_takes_the_newer_file_when_there_is_one(home: Path):
    with opened(home) as living:
        answers(living)
        with opened(home) as other:
            other.import_({"text": f"Emil newts {n}"} for n in range(600))
            other.work()
        assert living.recall("Emil newts 7", min_relevance=0)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        assert f"{index_files(home)[0].name}\n" in maps
        del maps
        assert answers(living) == scanned(home)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what is mapped")
def test_a_process_that_asked_once_keeps_no_vectors_in_its_memory(home: Path):
    with opened(home) as memory:
        memory.recall("clay", min_relevance=0)
        indexes = memory._services.recaller()._indexes
        assert indexes is not None
        matrix = indexes.snapshot("default", WordEmbedder().generation).vectors.matrix
        start, mapped = f"{matrix.ctypes.data:x}-", Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines()
        beginning = next(place for place, line in enumerate(mapped) if line.startswith(start))
        resident = next(line for line in mapped[beginning:] if line.startswith("Rss:"))
        assert index_files(home)[0].name in mapped[beginning]
        assert int(resident.split()[1]) * 1024 < matrix.nbytes / 10


def test_the_learnings_of_a_new_process_are_those_of_the_file_and_weighed_among_themselves(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    """Words count among learnings, however many other memories hold them, with and without a file."""
    with opened(home) as memory:
        memory.import_({"text": f"Bees need clay and {THINGS[n % 8]} {n}", "category": "patterns"} for n in range(40))
        memory.remember("Clay cracks in the rain", category="heuristics", conversation_id="talk 3")
        memory.work()

    def learnings(memory: Memory) -> list[tuple[int, float, float]]:
        found = memory.learnings("clay and rain", limit=10, min_relevance=0).recall
        return [(hit.record.number, hit.score, hit.relevance) for hit in found]

    with opened(home) as memory:
        read = reads(memory, monkeypatch)
        by_file = learnings(memory)
        assert read == []
    with opened(home) as memory:
        memory._services.store.__dict__["index_folder"] = None
        by_store = learnings(memory)
    assert [number for number, *_ in by_file] == [number for number, *_ in by_store]
    assert [pytest.approx(each) for each in by_store] == by_file


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _overwrite(at: int, content: bytes) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with file.open("r+b") as stream:
            stream.seek(at)
            stream.write(content)

    return change


def _of_other(about: dict[str, Any], **said: object) -> Callable[[Path], None]:
    """A head that is whole and says something else."""

    def change(file: Path) -> None:
        content = file.read_bytes()
        size = int.from_bytes(content[16:24], "little")
        head = json.loads(content[32 : 32 + size])
        head |= said
        head["about"] |= about
        told = json.dumps(head, separators=(",", ":")).encode()
        sums = len(told).to_bytes(8, "little") + zlib.crc32(told).to_bytes(8, "little")
        _overwrite(0, content[:16] + sums + told)(file)

    return change


def _other(file: Path) -> Path:
    """Another store with memories that say the same."""
    home = made(file.parents[2] / "other")
    with opened(home) as memory:
        answers(memory)
    return home


def _damage(file: Path) -> None:
    """A few bytes of the vocabulary, which is the last of the arrays; each begins at a multiple of 64 KiB. As the disk
    would do it, the file says that nothing was written.
    """
    before = file.stat()
    with file.open("r+b") as stream:
        stream.seek(-(1 << 16), os.SEEK_END)
        stream.write(b"\x7f\x7f\x7f\x7f")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


WRONG: dict[str, Callable[[Path], object]] = {
    "torn": _cut,
    "empty": lambda file: os.truncate(file, 0),
    "a damaged head": _overwrite(60, b"\0\0\0\0"),
    "no index at all": _overwrite(0, b"something else entirely"),
    "of another version": _of_other({"made": [1, "0.0.0", "default", None]}),
    "of another log": _of_other({"position": [2000, 2000, 0, "00" * 8]}),
    "ahead of the log": _of_other({"position": [9_999_999, 0, 0, "00" * 8]}),
    "of another kind of machine": _of_other({}, byteorder="big"),
    "of another user": give_away,
    "readable by others": lambda file: file.chmod(0o644),
    "a link": lambda file: (file.rename(file.parents[1] / "moved"), file.symlink_to(file.parents[1] / "moved")),
    "of another store": lambda file: file.write_bytes(b"".join(map(Path.read_bytes, index_files(_other(file))))),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_not_right_is_not_used_and_written_anew(what: str, home: Path):
    (file,) = index_files(home)
    WRONG[what](file)
    with opened(home) as memory:
        found = answers(memory)
    assert found == scanned(home)
    (file,) = index_files(home)
    array_file.check_arrays(file)
    assert wrong(home) == []


def test_after_the_machine_was_started_again_a_damaged_byte_is_noticed(home: Path, monkeypatch: pytest.MonkeyPatch):
    (file,) = index_files(home)
    _damage(file)
    for module in (index_folder, array_file):
        monkeypatch.setattr(module, "boot_id", lambda: "another start")
    with opened(home) as memory:
        assert answers(memory) == scanned(home)
    array_file.check_arrays(index_files(home)[0])


def index_findings(home: Path, *, repair: bool = False) -> list[str]:
    with opened(home) as memory:
        return [found.level for found in memory.doctor(repair=repair) if found.check == "index_files"]


def test_doctor_reads_all_of_an_index_file_and_a_repair_removes_a_damaged_one(home: Path):
    (file,) = index_files(home)
    assert index_findings(home) == ["ok"]
    _damage(file)
    assert index_findings(home) == ["problem"]
    assert index_files(home) == [file]
    assert index_findings(home, repair=True) == ["ok"]
    assert index_files(home) == []
    assert index_findings(home) == ["ok"]


def test_after_the_machine_was_started_again_a_whole_file_is_checked_once(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(array_file, "boot_id", lambda: "another start")
    checked = list[object]()

    def check(descriptor: int, _sections: object) -> None:
        checked.append(descriptor)

    monkeypatch.setattr(array_file, "_check", check)
    for _ in range(3):
        with opened(home) as memory:
            assert answers(memory)
    assert len(checked) == 1


def test_erasing_removes_the_file_before_it_answers(home: Path):
    with opened(home) as memory:
        number = memory.remember(
            "bcdfghjklm npqrstvwxz", conversation_id="xkcdqwrtz", metadata={"speaker": "Wqrtzxkcd"}
        ).record.number
        vector = WordEmbedder().embed_passages(["bcdfghjklm npqrstvwxz"])[0]
        memory.import_({"text": f"Emil newts {n}"} for n in range(600))
        memory.work()
        (file,) = index_files(home)
        content = file.read_bytes()
        assert b"xkcdqwrtz" in content
        assert b"Wqrtzxkcd" in content
        assert memory.erase(number, confirm=True).done
        assert index_files(home) == []
        answers(memory)
        memory.work()
    content = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in (b"xkcdqwrtz", b"Wqrtzxkcd", vector.tobytes()):
        assert secret not in content
    assert index_files(home)
    assert wrong(home) == []


def test_what_was_forgotten_before_is_in_no_file_that_is_written_after_it_was_erased(home: Path):
    """A process that lives on knows rows that are gone; it writes none of them."""
    with opened(home) as living:
        number = living.remember("bcdfghjklm", metadata={"speaker": "Wqrtzxkcd"}).record.number
        answers(living)
        living.erase(number, confirm=True)
        living.import_({"text": f"Emil newts {n}"} for n in range(600))
        living.work()
        assert b"Wqrtzxkcd" not in index_files(home)[0].read_bytes()
    assert wrong(home) == []


def test_whoever_writes_a_file_while_something_is_erased_stops(home: Path):
    waiting, go = os.pipe()

    def erases() -> bool:
        os.close(go)
        with opened(home) as memory:
            os.read(waiting, 1)
            return memory.erase(7, confirm=True).done

    # Forked before there is a lock, which it would share.
    seen, erasing = list[str](), Child(erases)

    def act(label: str) -> None:
        seen.append(label)
        if seen.count("index: section written") == 1:
            os.write(go, b".")
            while index_files(home):
                os.sched_yield()

    with opened(home) as memory:
        memory.import_({"text": f"Emil newts {n}"} for n in range(600))
        answers(memory)
        arm(act)
        try:
            memory.close()
        finally:
            disarm()
    assert "index: switched" not in seen
    assert erasing.result() == (True, 0)
    assert index_files(home) == []


def test_without_room_on_the_disk_the_answer_is_the_same_and_no_part_of_a_file_stays(home: Path):
    import resource
    import signal

    for file in index_files(home):
        file.unlink()

    def full() -> list[Any]:
        with opened(home) as memory:
            found = answers(memory)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        return found

    assert in_child(full) == scanned(home)
    assert index_files(home) == []


def test_without_room_on_the_disk_what_was_read_from_the_store_is_not_read_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    for file in index_files(home):
        file.unlink()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with opened(home) as memory:
        found, read = answers(memory), reads(memory, monkeypatch)
        with monkeypatch.context() as patched:
            patched.setattr(array_file.os, "pwrite", full)
            memory.work()
        assert index_files(home) == []
        assert answers(memory) == found
        assert read == []
    assert len(index_files(home)) == 1


def test_a_folder_that_cannot_be_made_makes_nothing_fail(tmp_path: Path):
    home = made(tmp_path)
    shutil.rmtree(home / "m.db-index", ignore_errors=True)
    (home / "m.db-index").write_text("in the way", encoding="utf-8")
    with opened(home) as memory:
        assert len(answers(memory)) == len(QUESTIONS)


def test_a_backup_holds_no_index_and_a_restored_store_trusts_none(home: Path, tmp_path: Path):
    with opened(home) as memory:
        copy = tmp_path / "copy" / "backup.db"
        copy.parent.mkdir()
        memory.backup(copy)
        assert not [path for path in copy.parent.iterdir() if "index" in path.name]
        memory.remember("Emil keeps newts")
        memory.restore_backup(copy)
        assert index_files(home) == []
        assert "newts" not in memory.recall("newts", min_relevance=0)[0].record.text
    assert wrong(home) == []


def test_a_small_namespace_has_no_file(tmp_path: Path):
    home = made(tmp_path, 100)
    with opened(home) as memory:
        answers(memory)
    assert not (home / "m.db-index").exists()
    assert SIZE > 100


def test_a_machine_keeps_files_of_a_database_and_removes_them_when_others_erased_something(
    postgres_stores: EmptyStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    url = postgres_stores.url(postgres_stores.new_schema())

    def on(machine: str) -> Memory:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / machine))
        return Memory(url, embedder=WordEmbedder(), actor="ada")

    def files(machine: str) -> list[Path]:
        return sorted((tmp_path / machine).rglob(f"*{index_folder.SUFFIX}"))

    with on("one") as memory:
        memory.import_({"text": f"Ada tea {n}", "conversation_id": "xkcdqwrtz"} for n in range(SIZE))
        memory.work()
        by_database = answers(memory)
    for machine in ("one", "two"):
        with on(machine) as memory:
            answers(memory)
    assert (len(files("one")), len(files("two"))) == (1, 1)
    with on("two") as memory:
        read = reads(memory, monkeypatch)
        assert answers(memory) == by_database
        assert read == []
    with on("one") as memory:
        memory.erase(7, confirm=True)
        assert files("one") == []
    before = files("two")[0].read_bytes()
    with on("two") as memory:
        answers(memory)
    assert files("two")[0].read_bytes() != before


def test_the_least_used_files_go_first(tmp_path: Path):
    folder = index_folder.IndexFolder(tmp_path, 250)
    old, used, new = (folder.file(name, None) for name in ("old", "used", "new"))
    for moment, path in enumerate((old, used, new)):
        path.write_bytes(b"." * 100)
        os.utime(path, (moment, moment))
    os.utime(used, (9, 1))
    folder.prune(new)
    assert folder.index_files() == sorted([used, new])


def test_in_a_file_with_cells_rows_and_vectors_are_those_of_the_store(home: Path, monkeypatch: pytest.MonkeyPatch):
    """As in one of very many memories: written from the store, from a file without cells, and from one with them."""
    monkeypatch.setattr(vectors, "LEAST_ROWS", 1)
    monkeypatch.setattr(vectors, "EXACT_ROWS", 100)

    def in_cells() -> int:
        with opened(home) as memory:
            found = NamespaceIndex("default", WordEmbedder().generation).current(memory._services.store).vectors
            assert found.signs is not None
            assert found.signs.cells is not None
            return len(found.signs.cells.rows)

    for file in index_files(home):
        file.unlink()
    with opened(home) as memory:
        answers(memory)
    assert wrong(home) == []
    assert in_cells() == SIZE
    for portion in range(2):
        with opened(home) as memory:
            memory.import_({"text": f"Emil newts {portion} {n}"} for n in range(600))
            memory.work()
            memory.forget([*range(1 + 40 * portion, 41 + 40 * portion)])
            newt = memory.recall(f"Emil newts {portion} 7", limit=100, min_relevance=0)
            assert f"Emil newts {portion} 7" in [hit.record.text for hit in newt]
        assert wrong(home) == []
    assert SIZE < in_cells() <= SIZE + 1200 - 40
    with opened(home) as memory:
        assert memory.erase(100, confirm=True).done
        assert index_files(home) == []
        assert len(answers(memory)) == len(QUESTIONS)
    assert wrong(home) == []
