"""One damaged memory hides no other one, and its history brings it back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from perdure import Memory, errors


@pytest.fixture
def damaged(tmp_path: Path) -> Iterator[Memory]:
    path = tmp_path / "agent.db"
    with Memory(path, embedder="none") as memory:
        for kind in ("red", "green", "sour", "sweet", "old"):
            memory.remember(f"{kind} apples", tags=[kind])
    connection: Any = apsw.Connection(str(path))
    connection.execute("UPDATE memory SET text = 'tampered apples' WHERE text = 'sour apples'")
    connection.close()
    with Memory(path, embedder="none") as memory:
        yield memory


def test_the_other_memories_are_listed_recalled_and_exported(damaged: Memory, tmp_path: Path):
    assert {record.number for record in damaged.list()} == {1, 2, 4, 5}
    assert {hit.record.number for hit in damaged.recall("apples")} == {1, 2, 4, 5}
    exported = damaged.export(tmp_path / "out.jsonl")
    assert (exported.written, exported.damaged) == (4, (3,))


def test_the_damaged_one_is_never_served_as_if_it_were_sound(damaged: Memory):
    with pytest.raises(errors.StoreDamaged) as raised:
        damaged.get(3)
    assert "doctor" in raised.value.remedy
    assert any(found.level == "problem" for found in damaged.doctor())


def test_its_history_is_readable_and_a_repair_brings_it_back(damaged: Memory):
    (line,) = damaged.history(3)
    assert line.record is not None
    assert line.record.text == "sour apples"
    damaged.doctor(repair=True)
    assert damaged.get(3).text == "sour apples"
    assert {hit.record.number for hit in damaged.recall("sour")} == {3}
    assert [found for found in damaged.doctor() if found.level == "problem"] == []
