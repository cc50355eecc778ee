"""What a session is told without asking: what helps in its project, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from specs.projects import feature, learn, repository, told

from perdure import Memory
from perdure.model import LEARNING_CATEGORIES

if TYPE_CHECKING:
    from clocks import HandClock


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "website")


@pytest.mark.parametrize("spec", [None, "Tablebases of the endgame with six pieces"])
def test_a_project_with_which_nothing_has_to_do_is_told_nothing(project: Path, spec: str | None):
    if spec:
        feature(project, spec=spec)
    with Memory(":memory:", embedder="none") as memory:
        for number in range(5):
            learn(memory, f"Invoice {number} is rounded once", LEARNING_CATEGORIES[number % 3], source_project="ledger")
        assert told(project, memory).text == ""


def test_without_signals_at_most_five_of_the_project_are_told(project: Path):
    with Memory(":memory:", embedder="none") as memory:
        for number in range(8):
            learn(memory, f"Other{number}", source_project="ledger", confidence="high")
            learn(memory, f"Own{number}", source_project="website", confidence="low")
        texts = [hit.record.text for hit in told(project, memory).entries]
    assert len(texts) == 5
    assert all(text.startswith("Own") for text in texts)


def test_what_was_told_before_does_not_keep_others_out(project: Path, clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        for number in range(5):
            learn(memory, f"First{number}", source_project="website")
        for _ in range(10):
            assert len(told(project, memory).entries) == 5
        clock.forward(days=1)
        learn(memory, "Newest", source_project="website")
        assert memory.get(1).recall_count == 10
        assert "Newest" in {hit.record.text for hit in told(project, memory).entries}
