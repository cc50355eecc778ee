"""Writing into a bank: nothing that people wrote is lost, whoever else writes at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.bank.editing import appending, challenging, edit_file, new_entry, observing
from perdure.bank.entries import BankEntry, parse_bank
from perdure.errors import ExportFailed


def entry(description: str, name: str = "Rule") -> BankEntry:
    return new_entry(name, description, "patterns", observed_in="Feature #001", last_observed="Feature #001")


AWKWARD = st.lists(
    st.sampled_from(
        ["- item", "### Header", "# Title", "---", "```", "plain words", "", "  - deep", "a <!-- b", "--> c"]
    ),
    min_size=1,
    max_size=8,
).map("\n".join)


@given(before=AWKWARD, description=AWKWARD)
def test_whatever_a_description_holds_it_is_read_again_as_it_was_meant(before: str, description: str):
    new = entry(f"Begin {description}")
    text = appending(new)(before)
    assert text.startswith(before)
    found = [each for each in parse_bank(text, "patterns").entries if each.name == "Rule"]
    # A comment that stands open in front of it swallows it, as in every reader of Markdown.
    if "<!--" not in before:
        assert [each.identity for each in found] == [new.identity]
        assert found[0].metadata == new.metadata


def test_a_line_is_changed_and_all_others_stay(tmp_path: Path):
    path = tmp_path / "patterns.md"
    before = (
        "\ufeff# Patterns\r\n\r\n### Pattern: One\r\nFirst  text\r\n- Observation count: 3 <!-- was 2 -->\r\n"
        "- Cost: x\r\n- Last observed: Feature #001\r\n\r\n## Notes\r\nmine\r\n### Pattern: Two\r\nSecond text"
    )
    path.write_bytes(before.encode("utf-8"))
    one, two = parse_bank(path.read_text(encoding="utf-8-sig"), "patterns").entries
    edit_file(path, [observing(one, "Feature #007"), challenging(two, "Too slow"), observing(two, "2026-03-14")])
    after = path.read_bytes().decode("utf-8")
    assert after == before.replace("count: 3", "count: 4").replace("Feature #001", "Feature #007") + (
        "\r\n- Challenged: Too slow\r\n- Observation count: 2\r\n- Last observed: 2026-03-14"
    )


def test_many_writers_lose_nothing(tmp_path: Path):
    path = tmp_path / "bank" / "patterns.md"

    def write(number: int) -> None:
        edit_file(path, [appending(entry(f"Rule number {number}", f"Rule {number}"))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    names = {each.name for each in parse_bank(path.read_text(encoding="utf-8"), "patterns").entries}
    assert names == {f"Rule {n}" for n in range(40)}
    assert [each.name for each in path.parent.iterdir()] == ["patterns.md"]


def test_what_an_editor_saves_meanwhile_is_kept(tmp_path: Path):
    path = tmp_path / "patterns.md"
    path.write_text("# Mine\n", encoding="utf-8")
    saved: list[str] = []

    def edit(text: str) -> str:
        if not saved:
            saved.append("# Mine, edited\n")
            path.write_text(saved[0], encoding="utf-8")
        return appending(entry("Added"))(text)

    _, after = edit_file(path, [edit])
    assert after.startswith("# Mine, edited\n\n### Pattern: Rule\nAdded\n")
    assert path.read_text(encoding="utf-8") == after


def test_a_link_stays_a_link_and_rights_stay_as_they_are(tmp_path: Path):
    real = tmp_path / "real.md"
    real.write_text("# Patterns\n", encoding="utf-8")
    real.chmod(0o640)
    (tmp_path / "patterns.md").symlink_to(real)
    edit_file(tmp_path / "patterns.md", [appending(entry("Added"))])
    assert (tmp_path / "patterns.md").is_symlink()
    assert "Added" in real.read_text(encoding="utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_no_text_is_left_alone(tmp_path: Path):
    path = tmp_path / "patterns.md"
    path.write_bytes(b"Caf\xe9")
    with pytest.raises(ExportFailed, match="was not changed"):
        edit_file(path, [appending(entry("Added"))])
    assert path.read_bytes() == b"Caf\xe9"
