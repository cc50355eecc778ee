"""Importing a knowledge bank: what becomes of its entries, again and again, and what is left out."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from bank.banks import make_global, make_project, write_bank

from perdure import Memory
from perdure.bank import entries, importing
from perdure.bank.importing import import_bank, import_if_empty


@pytest.fixture
def project(tmp_path: Path, stranger: Path) -> Path:
    make_global(stranger)
    return make_project(tmp_path / "shop")


def test_every_field_of_an_entry_has_its_place(memory: Memory, project: Path):
    done = import_bank(memory, project)
    assert (done.inserted, done.present, done.unfinished, done.skipped) == (4, 0, 0, ())
    first = memory.get(1)
    assert (first.title, first.category, first.confidence) == ("Guessing Encodings", "anti-patterns", 1.0)
    assert first.text == "Guessing the encoding of a text file corrupts names; ask for it."
    assert (first.observation_count, first.source, first.source_project) == (3, "import", "shop")
    assert first.references == ("Feature #002", "Feature #018 (twice, in the importer)")
    assert {name: value for name, value in first.metadata.items() if name != "told_in"} == {
        "observed_in": "Feature #002, Feature #018 (twice, in the importer)",
        "cost": "Two days of repair",
        "last_observed": "Feature #018",
        "bank_lines": ["Cost: Two days of repair"],
    }
    # Of two entries that say the same the one that was observed more often counts; a day is when it was observed.
    samples = memory.get(3)
    assert (samples.title, samples.observation_count, samples.source_project) == ("Read Real Samples", 5, None)
    assert samples.updated_at.date().isoformat() == "2026-02-01"


def test_lines_for_the_reasoning_and_the_keywords_are_read_where_somebody_wrote_them(memory: Memory, tmp_path: Path):
    """No retro writes them: the form of an entry is that of the tools that it is shared with."""
    text = (
        "### Ask\nAsk first.\n- Reasoning: It saves\n  a day.\n- Keywords: question, code, first answer\n- Cost: none\n"
    )
    import_bank(memory, make_project(tmp_path / "site", {"heuristics": text}), private=True, trusted=True)
    ask = memory.get(1)
    assert (ask.reasoning, ask.keywords) == ("It saves\na day.", ("question", "first answer"))
    assert ask.metadata == {"cost": "none", "bank_lines": ["Cost: none"]}


def test_a_repository_is_trusted_less_than_the_home(memory: Memory, project: Path):
    import_bank(memory, project)
    assert {record.title: record.trust for record in memory.list()} == {
        "Guessing Encodings": "low", "Thin Orchestrator": "low", "Read Real Samples": "normal",
        "Release Early": "normal",
    }  # fmt: skip


def test_what_was_forgotten_or_corrected_stays_so(memory: Memory, project: Path):
    import_bank(memory, project)
    memory.forget(1)
    memory.update(2, text="Keep the orchestrator thin.")
    again = import_bank(memory, project)
    assert (again.inserted, again.present, again.batch) == (0, 2, None)
    assert [(skipped.name, skipped.line_number) for skipped in again.skipped] == [
        ("Guessing Encodings", 5), ("Thin Orchestrator", 3),
    ]  # fmt: skip
    assert all(skipped.reason.startswith("Forgotten or corrected here") for skipped in again.skipped)
    assert import_bank(memory, project, revive=True).inserted == 2


def test_one_undo_takes_an_import_back_and_no_session_repeats_it(memory: Memory, project: Path):
    done = import_bank(memory, project)
    assert done.batch is not None
    assert len(memory.undo(done.batch).removed) == 4
    assert import_if_empty(memory, project, budget=60).inserted == 0
    assert memory.list().records == ()


def test_what_cannot_be_a_memory_is_named_with_its_reason(memory: Memory, project: Path):
    folder = write_bank(
        project / "docs" / "knowledge-bank",
        {
            "heuristics": "### Nameless\n### \nText.\n### Kept\nWorks.\n- Observation count: lots\n",
            "constitution": "### Never\nNever.\n",
        },
    )
    (folder / "patterns.md").write_bytes(b"### Pattern: Latin\nCaf\xe9.\n")
    (folder / "anti-patterns.md").write_text(f"### {'x' * 2000}\nA name that is too long.\n", encoding="utf-8")
    skipped = import_bank(memory, project, private=True).skipped
    told = {(Path(each.path).name, each.line_number): each.reason for each in skipped}
    assert told.pop(("anti-patterns.md", 1)).startswith("title ")
    assert told == {
        ("heuristics.md", 1): "The entry has no description.",
        ("heuristics.md", 2): "The entry has no name.",
        ("heuristics.md", 4): "Its observation count 'lots' is not a number; 1 is used.",
        ("patterns.md", 0): "The file is not UTF-8: byte 22 is wrong.",
        ("constitution.md", 0): "Not a file of learnings: these are anti-patterns.md, patterns.md and heuristics.md.",
    }
    assert [record.title for record in memory.list()] == ["Kept"]


def test_an_import_that_ran_out_of_time_goes_on_in_the_next_session(memory: Memory, tmp_path: Path):
    entries = "\n".join(f"### Rule {n}\nRule number {n} of many.\n" for n in range(300))
    project = make_project(tmp_path / "large", {"heuristics": entries})
    first = import_if_empty(memory, project, budget=0)
    assert (first.inserted, first.unfinished) == (0, 300)
    assert import_if_empty(memory, project, budget=60).inserted == 300


def test_a_project_is_imported_once_and_later_edits_are_not(memory: Memory, project: Path, tmp_path: Path):
    assert import_if_empty(memory, project, budget=60).inserted == 4
    bank = project / "docs" / "knowledge-bank" / "patterns.md"
    bank.write_text(bank.read_text(encoding="utf-8") + "\n### Pattern: New\nAdded by hand.\n", encoding="utf-8")
    assert import_if_empty(memory, project, budget=60).inserted == 0
    assert import_bank(memory, project).inserted == 1
    # Another project of the same store has a first session of its own.
    other = make_project(tmp_path / "other", {"patterns": "### Pattern: Other\nOf another project.\n"})
    assert import_if_empty(memory, other, budget=60).inserted == 1


def test_a_bank_with_secrets_is_imported_without_them(memory: Memory, tmp_path: Path):
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    text = f"### Rotate Keys\nThe token {token} was in the log.\n"
    done = import_bank(memory, make_project(tmp_path / "leaky", {"heuristics": text}))
    assert "redacted" in done.notes[0]
    assert token not in memory.get(1).text


def test_a_dry_run_counts_and_stores_nothing(memory: Memory, project: Path):
    planned = import_bank(memory, project, dry_run=True)
    assert (planned.inserted, planned.present, planned.batch) == (4, 0, None)
    assert memory.list().records == ()


def test_a_field_that_goes_on_in_the_next_line_is_one_field(memory: Memory, tmp_path: Path):
    text = "### Rule\nText.\n- Example: first line\n  second line\n- Cost: 1\n- Cost: 2\n- 7 wonders: listed\n"
    import_bank(memory, make_project(tmp_path / "shop", {"heuristics": text}), private=True, trusted=True)
    assert memory.get(1).metadata == {
        "example": "first line\nsecond line", "cost": ["1", "2"], "field_7_wonders": "listed",
        "bank_lines": ["Example: first line second line", "Cost: 1", "Cost: 2", "7 wonders: listed"],
    }  # fmt: skip


def test_a_file_that_is_too_large_is_not_read(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(entries, "MAX_BANK_BYTES", 100)
    project = make_project(tmp_path / "shop", {"heuristics": f"### Rule\n{'long ' * 50}\n"})
    assert import_bank(memory, project).skipped[0].reason == "The file cannot be read: it is larger than 0 MiB."


def test_the_lines_below_a_description_are_found(memory: Memory, tmp_path: Path):
    """What it cost, and what to do instead, is half of an entry."""
    text = (
        "### Anti-Pattern: Guessing encodings\nGuessing the encoding corrupts names.\n- Cost: two repaired imports\n"
        "- Instead: Ask for the encoding, or sniff and confirm\n- always in writing\n- Observation count: 2\n"
    )
    project = make_project(tmp_path / "shop", {"anti-patterns": text})
    import_bank(memory, project, private=True)
    for question in ("two repaired imports", "sniff and confirm", "in writing"):
        assert [hit.record.title for hit in memory.recall(question)] == ["Guessing encodings"]


def test_what_an_earlier_version_imported_gets_its_lines_from_its_own_bank_alone(memory: Memory, tmp_path: Path):
    text = "### Rule\nAsk first.\n- Instead: {}\n"
    fields = {"category": "heuristics", "source": "import", "source_project": "shop", "trust": "low"}
    memory.import_([{"text": "Ask first.", **fields}], trusted=True)
    for name, advice in (("other", "guess"), ("shop", "wait"), ("shop-again", "guess")):
        import_bank(memory, make_project(tmp_path / name, {"heuristics": text.format(advice)}), private=True)
    assert memory.get(1).metadata["bank_lines"] == ["Instead: wait"]


def test_a_first_import_that_is_cut_short_has_the_strongest_of_each_kind(memory: Memory, tmp_path: Path):
    """The next sessions take the rest, and need no time for what is there."""
    kinds = {
        kind: "".join(f"### {kind} {n}\nText of {kind} {n}.\n- Observation count: {n}\n" for n in range(1, 101))
        for kind in ("anti-patterns", "patterns", "heuristics")
    }
    project = make_project(tmp_path / "shop", kinds)
    ticks = count()
    with pytest.MonkeyPatch.context() as patch:
        # The time is up after the first portion.
        patch.setattr(importing, "monotonic", lambda: next(ticks))
        done = import_bank(memory, project, private=True, budget=1.5)
        found = Counter(record.category for record in memory.list(limit=1000))
        assert done.unfinished
        assert min(found[kind] for kind in kinds) >= 40
        assert {"heuristics 100", "patterns 100", "anti-patterns 100"} <= {r.title for r in memory.list(limit=1000)}
        for _ in range(2):
            import_bank(memory, project, private=True, budget=1.5)
    assert len(memory.list(limit=1000).records) == 300
