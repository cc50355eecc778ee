"""The plain pipeline, byte for byte: compared with a second implementation on banks that nobody would write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bank import plain_reference
from hypothesis import given
from hypothesis import strategies as st

from perdure.bank.plain import plain_block

if TYPE_CHECKING:
    import pytest

AT = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
FILES = ("anti-patterns", "patterns", "heuristics")

LINES = st.sampled_from("""
### Anti-Pattern: Guessing encodings|### Pattern: Thin orchestrator|### Line budgets|### Pattern: |### |###|###no entry
#### A deeper heading|# Title|## Section|#hashtag|##|---|-----|--- |----x|- |-|-no field|* star
Read real samples first.|read  REAL samples first.|Ask for the encoding.|Keep it thin.||   |	tabbed	|
naïve ünïcode 日本
- Observation count: 1|- Observation count: 2|- Observation count: 7|- observation COUNT: 3|- Observation count: many
  - Observation count: 4|- Observation count:|- Confidence: high|- Confidence: LOW|- Confidence: medium
- Confidence: sure
- Last observed: 2026-01-02|- Last observed: 2025-11-30|- Last observed: Feature #018|- Last observed:
- Cost: hours: three
- Observed in: Feature #002|- Source: Feature #018|- Challenged: not in Rust|  a continued line
- Used in: a <!-- b --> c
<!--|-->|<!-- one line -->|text <!-- inside --> text|```|~~~|# in code or not|*Memory: forged | semantic: disabled*
""".strip().replace("\n", "|").split("|"))  # fmt: skip


@st.composite
def bank_files(draw: st.DrawFn) -> str:
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join(draw(st.lists(LINES, max_size=25))) + draw(st.sampled_from(["", end, 2 * end]))


@given(
    banks=st.lists(st.one_of(st.none(), bank_files()), min_size=6, max_size=6),
    limit=st.integers(-1, 20),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_every_bank_gives_the_block_of_the_reference(
    tmp_path_factory: pytest.TempPathFactory, banks: list[str | None], limit: int, mark: str
):
    project, store = (tmp_path_factory.mktemp(name) for name in ("project", "store"))
    local = project / "docs" / "knowledge-bank"
    local.mkdir(parents=True)
    places = [folder / f"{name}.md" for folder in (local, store) for name in FILES]
    for path, text in zip(places, banks, strict=True):
        if text is not None:
            path.write_text(mark + text, encoding="utf-8", newline="")
    expected = plain_reference.chosen(project, store, limit)
    assert plain_block(project, store, limit, AT) == plain_reference.block(expected)
    record = store / ".last-injection.json"
    assert record.exists() == bool(expected)
    if expected:
        assert record.read_text("utf-8") == plain_reference.injection(expected, project, AT)


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def test_a_block_is_the_entries_as_they_stand(tmp_path: Path):
    bank = tmp_path / "docs" / "knowledge-bank"
    write(
        bank,
        "anti-patterns",
        """\
# Anti-Patterns

Known pitfalls.

### Anti-Pattern: Working in Wrong Worktree
Making changes in the main worktree when a feature worktree exists.
- Observed in: Feature #002
- Cost: Had to stash and re-apply

<!-- Template
### Anti-Pattern: {Name}
{Description}
-->
""",
    )
    write(bank, "heuristics", "# Heuristics\n\n### Line Budgets\nAim for 90 % of a budget.\n- Source: Feature #018\n")
    write(bank, "constitution", "### Never\nNot a learning.\n")
    assert plain_block(tmp_path, tmp_path / "none") == (
        """\
## Engineering Memory (from knowledge bank)

### Anti-Patterns to Avoid
### Anti-Pattern: Working in Wrong Worktree
Making changes in the main worktree when a feature worktree exists.
- Observed in: Feature #002
- Cost: Had to stash and re-apply

### Heuristics
### Line Budgets
Aim for 90 % of a budget.
- Source: Feature #018

---"""
    )


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path):
    bank = tmp_path / "docs" / "knowledge-bank"
    write(bank, "heuristics", "### Kept\nStill shown.\n")
    (bank / "patterns.md").write_bytes(b"### Pattern: Latin\nCaf\xe9.\n")
    (bank / "anti-patterns.md").mkdir()
    assert "Still shown." in plain_block(tmp_path, tmp_path / "none")
    assert "Latin" not in plain_block(tmp_path, tmp_path / "none")


def test_a_pipe_with_the_name_of_a_bank_keeps_nobody_waiting(tmp_path: Path):
    bank = tmp_path / "docs" / "knowledge-bank"
    write(bank, "heuristics", "### Kept\nStill shown.\n")
    os.mkfifo(bank / "patterns.md")
    assert "Still shown." in plain_block(tmp_path, tmp_path / "none")


def test_where_nothing_can_be_noted_the_block_is_shown_all_the_same(tmp_path: Path):
    write(tmp_path / "docs" / "knowledge-bank", "heuristics", "### Kept\nStill shown.\n")
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    assert "Still shown." in plain_block(tmp_path, tmp_path / "file")


def test_the_pipeline_needs_the_standard_library_alone():
    script = """
import json, sys
import perdure.bank.plain
print(json.dumps(sorted(name for name in sys.modules if not name.startswith("_"))))
"""
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, check=True, env=source_path())
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.partition(".")[0] not in {*sys.stdlib_module_names, "perdure"}] == []
    assert {name for name in loaded if name.startswith("perdure")} == {
        "perdure", "perdure.bank", "perdure.bank.entries", "perdure.bank.plain", "perdure.text",
        "perdure.text.patterns", "perdure.vocabulary",
    }  # fmt: skip
    assert not {"sqlite3", "dataclasses", "hashlib", "inspect", "logging", "threading"} & set(loaded)


def source_path() -> dict[str, str]:
    import perdure

    return {"PYTHONPATH": str(Path(perdure.__file__).parent.parent)}
