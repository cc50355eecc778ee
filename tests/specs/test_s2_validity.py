"""S2 "Temporal Validity": a fact that is contradicted ends, and stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory, errors
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    from clocks import HandClock

HOME = "home:user"


def believed(memory: Memory, **times: Any) -> list[str]:
    return [hit.record.text for hit in memory.recall("where does the user live", recipe="facts", **times)]


def test_a_fact_is_never_deleted_for_ever_by_a_model(tmp_path: Path, clock: HandClock):
    """S2 never deleted: forgetting is soft, and a model has no other way."""
    with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock, writer="model") as model:
        model.upsert(HOME, "User lives in Osaka", category="identity")
        with pytest.raises(errors.NotAllowed):
            model.erase(HOME, confirm=True)
        model.forget(HOME)
    with Memory(tmp_path / "m.db", embedder=WordEmbedder(), clock=clock) as memory:
        assert memory.history(HOME)[0].record is not None
        memory.undo(memory.history(HOME)[-1].change.batch)
        assert believed(memory) == ["User lives in Osaka"]


def test_the_new_fact_takes_the_place_of_the_old(memory: Memory, clock: HandClock):
    """S2 contradicted: the old one is found no more, and the new one has the category."""
    memory.upsert(HOME, "User lives in Osaka", category="identity")
    clock.forward(days=1)
    new = memory.upsert(HOME, "User lives in Tokyo").record
    assert (new.category, new.invalid_at) == ("identity", None)
    assert believed(memory) == ["User lives in Tokyo"]


def test_what_was_once_believed_can_be_asked(memory: Memory, clock: HandClock):
    """S2 history: both of what was true and of what was known at a time."""
    memory.upsert(HOME, "User lives in Osaka", category="identity")
    before = clock.now.isoformat()
    clock.forward(days=1)
    memory.upsert(HOME, "User lives in Tokyo")
    assert believed(memory, as_of=before) == ["User lives in Osaka"]
    assert believed(memory, known_at=before) == ["User lives in Osaka"]
    assert [version.record and version.record.text for version in memory.versions(HOME)] == [
        "User lives in Osaka", "User lives in Tokyo",
    ]  # fmt: skip


def test_the_time_since_when_a_fact_is_true_does_not_move(memory: Memory):
    """S2 became valid: saying the fact again, with another time, leaves it."""
    first = memory.remember("User lives in Osaka", valid_at="2019-01-01T00:00:00Z").record
    again = memory.remember("User lives in Osaka", valid_at="2021-01-01T00:00:00Z").record
    assert again.valid_at == first.valid_at
    assert believed(memory, as_of="2020-06-01") == ["User lives in Osaka"]


def test_a_fact_ends_when_that_is_said(memory: Memory, clock: HandClock):
    """S2 superseded: from `invalid_at` on, and not a moment before."""
    memory.remember("User lives in Osaka", valid_at="2019-01-01T00:00:00Z")
    ended = clock.now
    memory.update(1, invalid_at=ended)
    assert believed(memory) == []
    just_before = ended.replace(second=ended.second - 1).isoformat()
    assert believed(memory, as_of=just_before) == ["User lives in Osaka"]
    assert memory.get(1).text == "User lives in Osaka"
