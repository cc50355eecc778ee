"""Killed while it builds an index file, arranges it in cells, merges what is new or switches, and eight processes at
once: no wrong answer, one builder, nothing of what was erased.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.writers import start
from index_files import answers, index_files, made, opened, scanned, wrong

from perdure.buggify import arm, disarm
from perdure.recall import vectors

KILLS = int(os.environ.get("PERDURE_INDEX_KILLS", "24"))
PROCESSES = 8
ERASED = "Wqrtzxkcdbhg"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = made(tmp_path_factory.mktemp("built"))
    with opened(home) as memory:
        answers(memory)
    return home


def points(act: Callable[[], None], at: int) -> Callable[[str], None]:
    """Act at the n-th point that is passed while a file is written."""
    left = [at]

    def passed(label: str) -> None:
        if label.startswith("index: "):
            left[0] -= 1
            if not left[0]:
                act()

    return passed


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def points_of_writing(home: Path) -> int:
    """How many points are passed while a file is written anew."""
    passed = list[str]()
    for file in index_files(home):
        file.unlink()
    with opened(home) as memory:
        answers(memory)
        arm(passed.append)
        try:
            memory.work()
        finally:
            disarm()
    return sum(label.startswith("index: ") for label in passed)


@pytest.mark.soak
@pytest.mark.parametrize("in_cells", [False, True], ids=["in order", "in cells"])
def test_killed_at_any_point_of_writing_no_answer_is_wrong_and_nothing_erased_is_left(
    in_cells: bool, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of three writers in turn one builds the file, one merges what is new into it, one follows an erasure. In cells is
    a file of very many memories, and they are made anew as it grows.
    """
    if in_cells:
        monkeypatch.setattr(vectors, "LEAST_ROWS", 1)
        monkeypatch.setattr(vectors, "EXACT_ROWS", 100)
    home, source = Path(shutil.copytree(built, tmp_path / "home")), random.Random(28)
    killed, most = 0, points_of_writing(home)
    for turn in range(KILLS):
        at = source.randint(1, most)

        def job(_: Callable[[str], None], turn: int = turn, at: int = at) -> None:
            with opened(home) as memory:
                if turn % 3 == 0:
                    for file in index_files(home):
                        file.unlink()
                elif turn % 3 == 1:
                    memory.import_({"text": f"Emil newts {turn} {n}"} for n in range(520))
                else:
                    number = memory.remember("bcdfghjklm", metadata={"speaker": ERASED}).record.number
                    memory.work()
                    memory.erase(number, confirm=True)
                answers(memory, ["who likes tea?"])
                arm(points(die, at))
                memory.work()

        _, status = start(job).finish()
        killed += os.WIFSIGNALED(status)
        assert os.WIFSIGNALED(status) or status == 0
        if turn % 3 == 2:
            content = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
            assert ERASED.encode() not in content
        assert wrong(home) == []
    assert killed > KILLS // 3
    with opened(home) as memory:
        found = answers(memory)
        memory.work()
    assert found == scanned(home)
    assert len(index_files(home)) == 1


def test_eight_processes_at_once_write_one_file_and_answer_alike(built: Path, tmp_path: Path):
    home = Path(shutil.copytree(built, tmp_path / "home"))
    for file in index_files(home):
        file.unlink()
    expected = scanned(home)
    ready, go = os.pipe()

    def job(say: Callable[[str], None]) -> None:
        os.close(go)
        with opened(home) as memory:
            os.read(ready, 1)
            say("right" if answers(memory) == expected else "wrong")
            arm(lambda label: say(label) if label == "index: switched" else None)

    children = [start(job) for _ in range(PROCESSES)]
    os.close(ready)
    os.close(go)
    said = [child.finish() for child in children]
    assert [(lines[0], status) for lines, status in said] == [("right", 0)] * PROCESSES
    assert sum(lines.count("index: switched") for lines, _ in said) == 1
    assert len(index_files(home)) == 1
    assert wrong(home) == []
