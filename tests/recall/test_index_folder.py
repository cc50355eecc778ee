"""The folder of index files: what somebody does to it while programs use it, and what an erasure leaves in it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from index_files import SIZE, answers, index_files, made, opened, scanned, wrong
from store.children import Child, give_away, in_child, unprivileged

from perdure import Memory
from perdure.buggify import arm, disarm
from perdure.recall import array_file
from perdure.store import index_folder
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

SECRET = b"Wqrtzxkcd"


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


def _flipped(source: random.Random, file: Path) -> None:
    with file.open("r+b") as stream:
        for _ in range(source.choice((1, 30, 3000))):
            at = source.randrange(file.stat().st_size)
            stream.seek(at)
            old = stream.read(1)[0]
            stream.seek(at)
            stream.write(bytes([old ^ 1 << source.randrange(8)]))


def _emptied(source: random.Random, file: Path) -> None:
    start = source.randrange(file.stat().st_size)
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(bytes(source.randrange(1 << 20)))


def _cut(source: random.Random, file: Path) -> None:
    os.truncate(file, source.randrange(file.stat().st_size))


def _cut_and_as_long_as_before(source: random.Random, file: Path) -> None:
    size = file.stat().st_size
    _cut(source, file)
    os.truncate(file, size)


DAMAGES = (_flipped, _emptied, _cut, _cut_and_as_long_as_before)


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_is_written_into_a_file_is_noticed_by_who_opens_it(
    damage: Callable[[random.Random, Path], None], home: Path
):
    source, expected = random.Random(damage.__name__), scanned(home)
    for _ in range(8):
        (file,) = index_files(home)
        damage(source, file)
        with opened(home) as memory:
            assert answers(memory) == expected
        array_file.check_arrays(index_files(home)[0])
    assert wrong(home) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_is_written_into_a_file_that_is_mapped_is_noticed_at_the_next_question(
    damage: Callable[[random.Random, Path], None], home: Path
):
    """In a process of its own, because looking at what was cut off would end it."""

    def living() -> list[bool]:
        source, right = random.Random(damage.__name__), list[bool]()
        with opened(home) as memory:
            expected = answers(memory)
            for _ in range(8):
                (file,) = index_files(home)
                damage(source, file)
                right.append(answers(memory) == expected)
                memory.work()
        return right

    assert in_child(living) == [True] * 8
    assert wrong(home) == []


def test_what_others_keep_in_the_folder_stays(home: Path):
    folder = home / "m.db-index"
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "deeper").mkdir()
    with opened(home) as memory:
        done = memory.erase(7, confirm=True)
        assert (done.done, done.scrub_pending) == (True, False)
        answers(memory)
        memory.work()
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (folder / "deeper").is_dir()
    assert wrong(home) == []


def test_a_link_in_place_of_the_folder_is_not_followed_and_what_it_leads_to_stays(home: Path, tmp_path: Path):
    folder, elsewhere = home / "m.db-index", tmp_path / "elsewhere"
    shutil.rmtree(folder)
    elsewhere.mkdir()
    (elsewhere / "letter.txt").write_text("mine", encoding="utf-8")
    folder.symlink_to(elsewhere)
    with opened(home) as memory:
        found = answers(memory)
        memory.work()
    assert found == scanned(home)
    with opened(home) as memory:
        done = memory.erase(7, confirm=True)
        assert (done.done, done.scrub_pending) == (True, False)
    assert [path.name for path in elsewhere.iterdir()] == ["letter.txt"]


def test_from_a_folder_that_was_moved_behind_a_link_an_erasure_removes_the_files(home: Path, tmp_path: Path):
    folder = home / "m.db-index"
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    with opened(home) as memory:
        memory.erase(7, confirm=True)
    assert list(moved.glob("*.index")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_in_a_folder_of_another_user_nothing_is_written(home: Path):
    folder = home / "m.db-index"
    shutil.rmtree(folder)
    folder.mkdir(0o777)
    give_away(folder)
    with opened(home) as memory:
        found = answers(memory)
        memory.work()
    assert found == scanned(home)
    assert list(folder.iterdir()) == []


@pytest.fixture
def commons(asked: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The store outside pytest's own directories, which only root may enter, and of a user without rights."""
    with TemporaryDirectory(prefix="perdure-test-") as directory:
        home = Path(shutil.copytree(asked, Path(directory) / "home"))
        give_away(Path(directory), home, *home.rglob("*"))
        monkeypatch.setenv("HOME", directory)
        yield home


def test_in_a_folder_that_cannot_be_written_answers_are_right_and_an_erasure_says_that_bytes_are_left(commons: Path):
    folder = commons / "m.db-index"
    folder.chmod(0o500)

    def ask_and_erase() -> tuple[bool, bool]:
        with opened(commons) as memory:
            memory.import_({"text": f"Emil newts {n}"} for n in range(600))
            memory.work()
            return answers(memory) == scanned(commons), memory.erase(7, confirm=True).scrub_pending

    def erase_again() -> bool:
        with opened(commons) as memory:
            return memory.erase(8, confirm=True).scrub_pending

    assert unprivileged(ask_and_erase) == (True, True)
    assert len(index_files(commons)) == 1
    folder.chmod(0o700)
    assert unprivileged(erase_again) is False
    assert index_files(commons) == []


def test_a_program_that_lives_on_writes_the_file_anew_that_an_erasure_by_another_removed(home: Path):
    with opened(home) as living:
        answers(living)
        with opened(home) as other:
            other.erase(7, confirm=True)
        assert index_files(home) == []
        answers(living)
        # What a server does in the background.
        assert living._services.write_index_files() == 1
        array_file.check_arrays(index_files(home)[0])
    assert wrong(home) == []


@pytest.mark.parametrize("where", ["index: arranged", "index: section written", "index: written"])
def test_an_erasure_does_not_wait_for_who_writes_a_file_and_nothing_erased_is_left(where: str, home: Path):
    """The writer stands still from when it was about to read, or had written some, until the erasure has answered."""
    waiting, go = os.pipe()
    answered, answer = os.pipe()
    with opened(home) as memory:
        number = memory.remember("bcdfghjklm", metadata={"speaker": SECRET.decode()}).record.number
        memory.import_({"text": f"Emil newts {n}"} for n in range(600))

    def holding(files: list[Path]) -> list[str]:
        return [path.name for path in files if SECRET in path.read_bytes()]

    def erases() -> tuple[bool, bool, list[str]]:
        os.close(go)
        os.close(answered)
        with opened(home) as memory:
            os.read(waiting, 1)
            done = memory.erase(number, confirm=True)
            left = holding([path for path in home.rglob("*") if path.is_file()])
        os.write(answer, b".")
        return done.done, done.scrub_pending, left

    # Forked before there is a lock, which it would share.
    seen, erasing = list[str](), Child(erases)

    def act(label: str) -> None:
        seen.append(label)
        if label == where and seen.count(where) == 1:
            os.write(go, b".")
            os.read(answered, 1)

    with opened(home) as memory:
        answers(memory)
        arm(act)
        try:
            memory.close()
        finally:
            disarm()
    os.close(answer)
    (done, is_pending, left), status = erasing.result()
    assert (done, is_pending, left, status) == (True, False, [], 0)
    assert ("index: switched" in seen) is (where == "index: arranged" and bool(index_files(home)))
    assert holding([path for path in home.rglob("*") if path.is_file()]) == []
    assert wrong(home) == []


def test_what_a_program_has_mapped_of_an_erased_memory_is_in_no_file(home: Path):
    with opened(home) as living:
        number = living.remember("bcdfghjklm", metadata={"speaker": SECRET.decode()}).record.number
        living.import_({"text": f"Emil newts {n}"} for n in range(600))
        living.work()
        answers(living)
        assert SECRET in index_files(home)[0].read_bytes()
        with opened(home) as other:
            other.erase(number, confirm=True)
            content = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
            assert SECRET not in content
        answers(living)
        living._services.write_index_files()
        assert SECRET not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert wrong(home) == []


def test_with_the_vectors_of_a_model_of_before_its_file_goes(home: Path):
    (before,) = index_files(home)
    with Memory(home / "m.db", embedder=WordEmbedder(version="2"), actor="ada") as memory:
        memory.work()
        memory.recall("tea")
        memory.work()
        assert before in index_files(home)
        assert len(index_files(home)) == 2
        memory.work(drop_old_vectors=True)
        assert before not in index_files(home)
        assert len(index_files(home)) == 1


class TestCacheOfDatabase:
    """Machines that keep files of one database."""

    @pytest.fixture(autouse=True)
    def database(self, postgres_stores: EmptyStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = postgres_stores.url(postgres_stores.new_schema())
        self.place, self.patch = tmp_path, monkeypatch
        with self.on("one") as memory:
            memory.import_({"text": f"Ada tea {n}", "conversation_id": "xkcdqwrtz"} for n in range(SIZE))
            memory.work()

    def on(self, machine: str, **settings: Any) -> Memory:
        self.patch.setenv("XDG_DATA_HOME", str(self.place / machine))
        return Memory(self.url, embedder=WordEmbedder(), actor="ada", **settings)

    def files(self, machine: str) -> list[Path]:
        return sorted((self.place / machine).rglob(f"*{index_folder.SUFFIX}"))

    def test_a_program_that_lives_on_removes_them_when_another_machine_erased_something(self):
        with self.on("two") as memory:
            answers(memory)
        assert len(self.files("two")) == 1
        with self.on("two") as living:
            answers(living)
            with self.on("one") as memory:
                memory.erase(7, confirm=True)
            answers(living)
            assert self.files("two") == []
            living._services.write_index_files()
            assert len(self.files("two")) == 1

    def test_one_that_is_larger_than_all_may_be_is_not_written(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PERDURE_INDEX_FILE_MEGABYTES", "1")
        with self.on("two") as memory:
            found = answers(memory)
            assert answers(memory) == found
        assert self.files("two") == []

    def test_who_lives_on_and_asks_counts_as_using_its_file(self):
        with self.on("two") as memory:
            answers(memory)
        (file,) = self.files("two")
        with self.on("two") as memory:
            answers(memory)
            moment = file.stat().st_mtime_ns
            os.utime(file, ns=(1, moment))
            for _ in range(16):
                memory.recall("tea", min_relevance=0)
            assert file.stat().st_atime_ns > 1
            assert file.stat().st_mtime_ns == moment
