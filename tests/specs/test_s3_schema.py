"""S3 section 5: what a memory holds, by which defaults and within which checks; its history; what is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory, errors
from perdure.clock import format_time

if TYPE_CHECKING:
    from clocks import HandClock

CONTEXT_TYPES = ("research", "implementation", "decision", "discovery", "general")
TIERS = ("constitutional", "critical", "important", "normal", "temporary", "deprecated")


def test_a_memory_has_a_whole_number(memory: Memory):
    """S3 schema id: an integer of its own, which is never given again."""
    assert [memory.remember(text).record.number for text in ("one", "two")] == [1, 2]
    memory.erase(2, confirm=True)
    assert memory.remember("three").record.number == 3
    assert memory.get(1).text == "one"


def test_a_memory_says_where_it_stands(memory: Memory):
    """S3 schema place: spec_folder, file_path and anchor_id."""
    memory.remember(
        "OAuth callback flow", spec_folder="049-auth", file_path="specs/049-auth/memory/oauth.md", anchor_id="callback"
    )
    record = memory.get(1)
    assert (record.spec_folder, record.file_path, record.anchor_id) == (
        "049-auth", "specs/049-auth/memory/oauth.md", "callback",
    )  # fmt: skip


def test_a_memory_has_a_title_and_content(memory: Memory):
    """S3 schema content: the title may be missing, the content may not."""
    memory.remember("OAuth callback flow", title="OAuth")
    memory.remember("Without a title")
    assert [(memory.get(number).title, memory.get(number).text) for number in (1, 2)] == [
        ("OAuth", "OAuth callback flow"), (None, "Without a title"),
    ]  # fmt: skip
    with pytest.raises(errors.InvalidInput):
        memory.remember("")


def test_the_time_of_its_making_is_now(memory: Memory, clock: HandClock):
    """S3 schema created: created_at is now unless history says otherwise."""
    assert memory.remember("one").record.created_at == clock.now


def test_a_correction_has_its_time(memory: Memory, clock: HandClock):
    """S3 schema updated: updated_at is when the content changed last."""
    made = memory.remember("one").record.created_at
    changed = clock.forward(days=1)
    record = memory.update(1, text="two").record
    assert (record.created_at, record.updated_at) == (made, changed)


def test_the_weight_is_a_half(memory: Memory):
    """S3 schema weight: importance is 0.5 unless said."""
    assert memory.remember("one").record.importance == 0.5


@pytest.mark.parametrize("tier", [*TIERS, "urgent", "", "NORMAL", 3])
def test_only_six_tiers_are_accepted(memory: Memory, tier: str):
    """S3 schema tier check: the six names, and nothing is stored with another."""
    if tier in TIERS:
        assert memory.remember("one", tier=tier).record.tier == tier
        return
    with pytest.raises(errors.InvalidInput):
        memory.remember("one", tier=tier)
    assert len(memory.list()) == 0


def test_the_tier_is_normal(memory: Memory):
    """S3 schema tier default: normal, and without an end, because nobody chose it."""
    record = memory.remember("one").record
    assert (record.tier, record.expires_at) == ("normal", None)


@pytest.mark.parametrize("context", [*CONTEXT_TYPES, "meeting", "", "General", 3])
def test_only_five_contexts_are_accepted(memory: Memory, context: str):
    """S3 schema context check: the five names, and nothing is stored with another."""
    if context in CONTEXT_TYPES:
        assert memory.remember("one", context_type=context).record.context_type == context
        return
    with pytest.raises(errors.InvalidInput):
        memory.remember("one", context_type=context)
    assert len(memory.list()) == 0


def test_the_context_is_general(memory: Memory):
    """S3 schema context default: general."""
    assert memory.remember("one").record.context_type == "general"


def test_a_memory_says_which_session_it_comes_from(memory: Memory):
    """S3 schema session: channel and session_id."""
    record = memory.remember("one", channel="terminal", session_id="s-1").record
    assert (record.channel, record.session_id) == ("terminal", "s-1")


def test_access_is_counted(memory: Memory, clock: HandClock):
    """S3 schema access: a count from 0, and the time of the last one."""
    record = memory.remember("one").record
    assert (record.access_count, record.accessed_at) == (0, None)
    read = clock.forward(hours=1)
    memory.get(1)
    memory.get(1)
    clock.forward(hours=1)
    record = memory.get(1)
    assert (record.access_count, record.accessed_at) == (2, read)


def test_validation_is_counted(memory: Memory):
    """S3 schema validation: a count from 0, and a confidence of 0.5 to begin with."""
    record = memory.remember("one").record
    assert (record.validation_count, record.confidence) == (0, 0.5)
    assert memory.validate(1, True).record.validation_count == 1


def test_trigger_phrases_are_a_list(memory: Memory):
    """S3 schema triggers: empty unless said, kept in their order."""
    assert memory.remember("one").record.trigger_phrases == ()
    memory.remember("two", trigger_phrases=["save context", "document this"])
    assert memory.get(2).trigger_phrases == ("save context", "document this")


@pytest.mark.parametrize("wanted", ["spec_folder", "tier", "context_type", "since"])
def test_memories_are_found_by_what_is_indexed(memory: Memory, clock: HandClock, wanted: str):
    """S3 schema indexes: by folder, by tier, by context and by the time of their making."""
    memory.remember("An early note", spec_folder="001-a", tier="normal", context_type="general")
    moment = clock.forward(days=1)
    memory.remember("A late note", spec_folder="002-b", tier="critical", context_type="decision")
    values: dict[str, Any] = {
        "spec_folder": "002-b", "tier": "critical", "context_type": "decision", "since": format_time(moment),
    }  # fmt: skip
    chosen = {wanted: values[wanted]}
    assert [record.number for record in memory.list(**chosen)] == [2]
    assert [hit.record.number for hit in memory.recall("note", **chosen)] == [2]


def test_every_change_of_a_field_is_in_the_history(memory: Memory, clock: HandClock):
    """S3 schema history: memory, field, old value, new value and time of every change."""
    memory.remember("one")
    clock.forward(hours=1)
    memory.update(1, title="A title")
    changed = clock.forward(hours=1)
    memory.update(1, importance=0.9, tags=["x"])
    before, after = memory.history(1)[-2:]
    assert before.record
    assert after.record
    fields = ("title", "importance", "tags", "text")
    differ = {
        name: (getattr(before.record, name), getattr(after.record, name))
        for name in fields
        if getattr(before.record, name) != getattr(after.record, name)
    }
    assert differ == {"importance": (0.5, 0.9), "tags": ((), ("x",))}
    assert (after.number, after.change.at, after.change.actor) == (1, changed, "ana")


def test_history_goes_with_an_erased_memory(memory: Memory):
    """S3 schema history cascade: what a memory said goes from its history when it is erased."""
    memory.remember("one")
    memory.update(1, text="two")
    memory.erase(1, confirm=True)
    lines = memory.history(1)
    assert [line.record for line in lines] == [None] * len(lines)
    assert lines[-1].change.operation == "erase"


def test_a_checkpoint_has_its_fields(memory: Memory, clock: HandClock):
    """S3 schema checkpoints: name, description, time, count of memories, metadata."""
    memory.remember("one")
    memory.remember("two")
    memory.checkpoint("before", description="Before it all", metadata={"ticket": 12})
    (found,) = memory.checkpoints()
    assert (found.name, found.description, found.created_at, found.memory_count, found.metadata) == (
        "before", "Before it all", clock.now, 2, {"ticket": 12},
    )  # fmt: skip


@pytest.mark.parametrize("field", ["title", "text", "anchor_id", "spec_folder"])
def test_every_searchable_field_finds(field: str):
    """S3 schema fts columns: title, content, anchor and folder."""
    with Memory(":memory:", embedder="none") as memory:
        fields: dict[str, Any] = {"text": "nothing of the kind"} | {field: "oauth-callback"}
        memory.remember(**fields)
        memory.remember("something else")
        for query in ("oauth", "callback"):
            assert [hit.record.number for hit in memory.recall(query)] == [1]


@pytest.mark.parametrize("query", ["discuss", "DISCUSSING", "deployment", "cafe", "Café", "CAFÉ"])
def test_words_are_stemmed_and_folded(query: str):
    """S3 schema fts tokenizer: porter over unicode61, so that endings, case and accents do not matter."""
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Deployments are discussed in the café")
        assert len(memory.recall(query)) == 1


@pytest.mark.parametrize("context", CONTEXT_TYPES)
def test_a_context_can_be_asked_for(memory: Memory, context: str):
    """S3 context types: each is stored, and narrows a search."""
    for one in CONTEXT_TYPES:
        memory.remember(f"A note from {one}", context_type=one)
    assert [hit.record.context_type for hit in memory.recall("note", context_type=context)] == [context]
