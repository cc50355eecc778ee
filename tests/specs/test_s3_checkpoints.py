"""S3, the checkpoint tools: create, list, restore, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perdure import Memory, errors

if TYPE_CHECKING:
    from clocks import HandClock


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list(newest=False)]


def test_a_checkpoint_keeps_the_present_state(memory: Memory):
    """S3 checkpoint create: saves the current state under a name that is given once."""
    memory.remember("one")
    made = memory.checkpoint("first", description="To begin with", metadata={"by": "hand"})
    assert (made.name, made.memory_count, made.actor) == ("first", 1, "ana")
    with pytest.raises(errors.Conflict):
        memory.checkpoint("first")
    with pytest.raises(errors.InvalidInput):
        memory.checkpoint("")


def test_a_checkpoint_can_be_of_one_folder(memory: Memory):
    """S3 checkpoint folder: what is in other folders is left alone, and lists can be narrowed to it."""
    memory.remember("auth one", spec_folder="049-auth")
    memory.remember("other one", spec_folder="050-other")
    memory.checkpoint("auth", spec_folder="049-auth")
    memory.checkpoint("all")
    memory.update(1, text="auth two")
    memory.update(2, text="other two")
    memory.restore_checkpoint("auth", clear_existing=True)
    assert texts(memory) == ["auth one", "other two"]
    assert [one.name for one in memory.checkpoints(spec_folder="049-auth")] == ["auth"]


def test_checkpoints_are_listed(memory: Memory, clock: HandClock):
    """S3 checkpoint list: newest first, fifty unless more are asked for."""
    for number in range(60):
        memory.checkpoint(f"c{number}")
        clock.forward(hours=1)
    assert len(memory.checkpoints()) == 50
    assert [one.name for one in memory.checkpoints(limit=2)] == ["c59", "c58"]


def test_a_checkpoint_is_restored(memory: Memory):
    """S3 checkpoint restore: corrected, forgotten and re-ranked memories are what they were; what is new stays."""
    for text in ("one", "two", "three"):
        memory.remember(text)
    memory.checkpoint("before")
    memory.update(1, text="changed")
    memory.forget(2)
    memory.update(3, tier="critical")
    memory.remember("four")
    done = memory.restore_checkpoint("before")
    assert sorted(done.reverted) == [1, 2, 3]
    assert texts(memory) == ["one", "two", "three", "four"]
    assert memory.get(3).tier == "normal"
    with pytest.raises(errors.NotFound):
        memory.restore_checkpoint("never made")


def test_a_restore_may_clear_what_came_later(memory: Memory):
    """S3 checkpoint restore clears: with clearExisting what is younger goes; softly, and an undo brings it back."""
    memory.remember("one")
    memory.checkpoint("before")
    memory.remember("two")
    done = memory.restore_checkpoint("before", clear_existing=True)
    assert (texts(memory), done.removed) == (["one"], (2,))
    memory.undo(done.batch)
    assert texts(memory) == ["one", "two"]


def test_a_checkpoint_is_deleted(memory: Memory):
    """S3 checkpoint delete: the name goes, the memories stay."""
    memory.remember("one")
    memory.checkpoint("before")
    memory.delete_checkpoint("before")
    assert memory.checkpoints() == []
    assert texts(memory) == ["one"]
    with pytest.raises(errors.NotFound):
        memory.restore_checkpoint("before")


def test_before_the_refactoring(memory: Memory):
    """S3 checkpoint scenario: create one before major changes, list it, restore it."""
    memory.remember("The auth system uses sessions", key="decision:auth", tier="critical")
    memory.checkpoint("pre-refactor-v2", description="Before major auth system refactor")
    memory.upsert("decision:auth", "The auth system uses tokens")
    memory.remember("Tokens expire after an hour")
    assert [one.description for one in memory.checkpoints()] == ["Before major auth system refactor"]
    memory.restore_checkpoint("pre-refactor-v2", clear_existing=True)
    assert memory.get("decision:auth").text == "The auth system uses sessions"
    assert [hit.record.key for hit in memory.recall("which auth system is it?")] == ["decision:auth"]
