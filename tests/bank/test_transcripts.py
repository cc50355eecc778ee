"""Whatever stands in a transcript, it is read: what was said is stored, and nothing keeps the rest out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bank.agents import SAID, SESSION, claude_transcript, codex_rollout, lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure import Memory
from perdure.bank.sections import ImportReport
from perdure.bank.transcripts import Agent, import_transcripts, said_by_user

ODD = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
NAMES = st.sampled_from(["timestamp", "sessionId", "uuid", "message", "payload", "type"])
CHANGES = st.lists(st.tuples(st.integers(0, 30), NAMES, ODD), max_size=6)
TRANSCRIPTS: tuple[tuple[Agent, Callable[[], list[dict[str, Any]]]], ...] = (
    ("claude-code", claude_transcript),
    ("codex", codex_rollout),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHANGES)
def test_odd_values_never_keep_a_transcript_out(tmp_path: Path, changes: list[tuple[int, str, Any]]):
    for agent, make in TRANSCRIPTS:
        rows = make()
        for place, name, value in changes:
            rows[place % len(rows)][name] = value
        path = lines(tmp_path / "t.jsonl", rows)
        with Memory(":memory:", embedder="none") as memory:
            done = import_transcripts(memory, [path], agent, ImportReport(agent, str(path)))
            assert done.unread == ()


def test_a_message_without_a_time_is_kept(tmp_path: Path):
    rows = [{**row, "timestamp": "later"} for row in claude_transcript()]
    with Memory(":memory:", embedder="none") as memory:
        import_transcripts(memory, [lines(tmp_path / "t.jsonl", rows)], "claude-code", ImportReport("x", "y"))
        assert [(one.metadata["role"], one.text) for one in memory.conversation(SESSION).messages()] == SAID


def test_of_a_prompt_only_what_a_person_wrote_counts():
    assert said_by_user("<system-reminder>a\nb</system-reminder>Hello <b>you</b>") == "Hello <b>you</b>"
    assert said_by_user("Look at this: <system-reminder>never closed") == "Look at this:"
    assert said_by_user("<task-notification>done</task-notification>") == ""
