"""`perdure retro` and `perdure bank`: what they show, what they refuse, and where they may write."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from bank.banks import make_project
from bank.repositories import add_feature, make_feature
from specs.workshop import LEARNING, Workshop

from perdure import Memory
from perdure.bank.importing import import_if_empty
from perdure.cli import retro
from perdure.mcp.prompts import get_prompt
from perdure.session.retro_request import read_request


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(make_feature(tmp_path / "shop"), tmp_path / "m.db")


@pytest.fixture
def flags() -> list[str]:
    return [word for name in ("name", "description", "reasoning", "category") for word in (f"--{name}", LEARNING[name])]


def test_a_dry_run_shows_exactly_what_will_change(shop: Workshop, flags: list[str]):
    planned = shop("retro", *flags, "--dry-run")
    assert planned.code == 0
    assert not shop.store.exists()
    assert not (shop.project / "docs" / "knowledge-bank").exists()
    assert "dry run: nothing was written" in planned.err
    added = [line[1:] for line in planned.out.splitlines() if re.match(r"\+(?!\+)", line)]
    done = shop("retro", *flags)
    assert shop.bank("anti-patterns").splitlines() == added
    assert "#1 Ask for Encodings (anti-patterns, new)" in done.out
    assert "perdure undo" in done.err
    again = shop("retro", *flags, "--dry-run")
    assert "#1 Ask for Encodings (anti-patterns, seen again)" in again.out
    assert [line for line in again.out.splitlines() if line.startswith(("-- ", "+- "))][-1] == "+- Observation count: 2"


def test_the_prompt_leads_a_model_to_json_that_retro_takes(memory: Memory):
    prompt = get_prompt(lambda: memory, "retro", {})
    assert prompt is not None
    text = prompt["messages"][0]["content"]["text"]
    asked = read_request(text.partition("```json\n")[2].partition("```")[0])
    assert (len(asked.learnings), len(asked.confirmed), len(asked.challenged)) == (1, 1, 1)
    assert len(asked.learnings[0].keywords) >= 3
    assert "perdure retro -" in text


WRONG: list[tuple[Any, str]] = [
    ("not json", "not valid JSON"),
    ("42", "A retro is a JSON object."),
    ({"lessons": []}, "A retro has no 'lessons'."),
    ({"learnings": {}}, "learnings is not a list."),
    (["text"], "'text' is not a learning."),
    ([{**LEARNING, "tags": []}], "A learning has no 'tags'."),
    ([{**LEARNING, "description": " "}], "The description of 'Ask for Encodings' is missing."),
    ([{**LEARNING, "category": "ideas"}], "There is no category 'ideas'."),
    ([{**LEARNING, "confidence": "sure"}], "There is no confidence 'sure'."),
    ([{**LEARNING, "keywords": [1]}], "are lists of texts"),
    ([{**LEARNING, "name": "x" * 2000}], "Learning 'xxx"),
    ({"confirmed": [7]}, "confirmed has names"),
    ({"challenged": [{"name": "x"}]}, "confirmed has names, challenged has names with a reason."),
    ({"confirmed": ["Nobody"]}, "No entry is called 'Nobody'."),
    ([LEARNING, {**LEARNING, "reasoning": 1}], "The reasoning of 'Ask for Encodings' is missing."),
]


@pytest.mark.parametrize(("told", "sentence"), WRONG)
def test_what_is_wrong_is_said_and_nothing_is_written(shop: Workshop, told: Any, sentence: str):
    refused = shop("retro", "-", stdin=told if isinstance(told, str) else json.dumps(told))
    assert refused.code != 0
    assert sentence in refused.err
    assert not (shop.project / "docs" / "knowledge-bank").exists()
    assert not shop.store.exists() or shop.json("list")["records"] == []


def test_nothing_to_keep_is_a_mistake(shop: Workshop):
    assert "There is nothing to keep." in shop("retro").err
    assert "give no other learnings" in shop("retro", "-", "--name", "x", stdin="[]").err
    assert "cannot be read" in shop("retro", "nowhere.json").err


def test_a_retro_that_learned_nothing_has_nothing_to_take_back(shop: Workshop):
    done = shop("retro", "-", stdin="[]")
    assert (done.code, "perdure undo" in done.err) == (0, False)
    assert shop.retro()["batch"] is None


def test_on_a_terminal_nothing_said_is_asked_for(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    def can_ask(_target: object) -> bool:
        return True

    monkeypatch.setattr(retro, "can_ask", can_ask)
    answers = [LEARNING[name] for name in ("category", "name", "description", "reasoning")]
    told = shop("retro", stdin="\n".join(answers) + "\n")
    assert "What was learned: " in told.err
    assert "#1 Ask for Encodings (anti-patterns, new)" in told.out
    assert shop.memory(1)["reasoning"] == LEARNING["reasoning"]


def test_without_git_a_day_and_what_was_given_are_all_there_is(tmp_path: Path):
    bare = Workshop(make_project(tmp_path / "bare", {}), tmp_path / "m.db")
    answer = bare.retro({**LEARNING, "references": ["src/upload.py"]})
    assert answer["learnings"][0]["references"] == ["src/upload.py"]
    assert answer["notes"][0].startswith("git tells of no changed files")
    assert re.search(r"- Observed in: bare\n.*\n- Last observed: \d{4}-\d\d-\d\d\n", bare.bank("anti-patterns"))


@pytest.mark.parametrize("broken", ["a file for the folder", "not UTF-8"])
def test_where_the_bank_cannot_be_written_the_store_is_not_either(shop: Workshop, broken: str):
    folder = shop.project / "docs" / "knowledge-bank"
    if broken == "not UTF-8":
        folder.mkdir(parents=True)
        (folder / "anti-patterns.md").write_bytes(b"Caf\xe9\n")
    else:
        folder.write_text("in the way", encoding="utf-8")
    refused = shop("retro", "-", stdin=json.dumps([LEARNING]))
    assert refused.code != 0
    assert not shop.store.exists()


def test_two_entries_of_one_name_are_told_apart_by_their_hash(shop: Workshop):
    shop.retro(LEARNING, {**LEARNING, "description": "Another text under the same name."})
    refused = shop("retro", "--confirm", "ask for encodings")
    assert "2 entries are called 'ask for encodings'." in refused.err
    hashes = re.findall("[0-9a-f]{16}", refused.err)
    assert shop.json("retro", "--confirm", hashes[1])["confirmed"] == ["Ask for Encodings"]
    assert [shop.memory(number)["observation_count"] for number in (1, 2)] == [1, 2]


def test_a_learning_of_a_session_is_confirmed_by_its_name(shop: Workshop):
    """One that stands in no file, because a model stored it in the middle of its work."""
    shop("remember", "Lock the row before the sum", "--title", "Lock first", "--category", "patterns")
    assert shop.json("bank", "validate", "--confirm", "lock FIRST")["confirmed"] == ["Lock first"]
    assert shop.memory(1)["observation_count"] == 2
    assert not (shop.project / "docs" / "knowledge-bank").exists()


def test_where_nothing_is_said_of_an_entry_there_is_nothing_to_take_back(shop: Workshop):
    shop.retro(LEARNING)
    answer = shop("bank", "validate")
    assert (answer.code, answer.out) == (0, "")
    assert "none is stale" in answer.err
    assert "undo" not in answer.err


def test_an_entry_that_only_the_markdown_has_is_stored_when_it_is_confirmed(shop: Workshop):
    shop.retro(LEARNING)
    make_project(shop.project, {"patterns": "### Pattern: By Hand\nWritten later by a person.\n"})
    assert shop.retro(confirmed=["by hand"])["confirmed"] == ["By Hand"]
    record = shop.memory(2)
    assert (record["title"], record["source"], record["observation_count"]) == ("By Hand", "import", 2)
    assert shop.bank("patterns").endswith("- Observation count: 2\n- Last observed: Feature #018\n")


def test_a_private_project_keeps_its_learnings(shop: Workshop):
    assert shop("session", "private", "--project", str(shop.project)).code == 0
    shop.retro({**LEARNING, "universal": True})
    assert shop.json("list")["records"] == []
    assert "is private" in shop("bank", "promote", "--universal").err
    assert not (Path.home() / ".claude").exists()
    spaces = {space["name"]: space["states"] for space in shop.json("stats")["namespaces"]}
    assert [states for name, states in spaces.items() if name.startswith("private:shop:")] == [{"active": 1}]


def test_a_session_off_the_record_has_no_retro(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_SESSION", "s1")
    assert shop("session", "off", "s1").code == 0
    refused = shop("retro", "-", stdin=json.dumps([LEARNING]))
    assert "off the record" in refused.err
    assert not (shop.project / "docs" / "knowledge-bank").exists()


def test_what_a_session_learned_is_taken_back_with_it(shop: Workshop):
    answer = shop("retro", "-", "--json", stdin=json.dumps([LEARNING]), PERDURE_SESSION="monday")
    assert answer.json["learnings"][0]["number"] == 1
    assert shop.memory(1)["session_id"] == "monday"
    assert shop("undo", "--session", "monday", "--yes").code == 0
    assert shop.json("list")["records"] == []
    # The file still says it: what a person asks for is imported, and no session does it unasked.
    assert LEARNING["name"] in shop.bank("anti-patterns")
    with Memory(shop.store, embedder="none") as memory:
        assert import_if_empty(memory, shop.project, 60).inserted == 0
    assert shop("bank", "import").out == "Imported 1 new, 0 known.\n"


def test_an_import_says_what_it_left_out(shop: Workshop):
    make_project(shop.project)
    (shop.project / "docs" / "knowledge-bank" / "patterns.md").write_text("### Pattern: Bare\n", encoding="utf-8")
    planned = shop("bank", "import", "--dry-run")
    assert planned.out.startswith("Would import 2 new, 0 known.")
    assert not shop.store.exists()
    done = shop("bank", "import")
    assert done.out.splitlines()[0] == "Imported 2 new, 0 known."
    assert "  line 1, Bare: The entry has no description." in done.out
    assert "take it back: perdure undo" in done.err
    shutil.rmtree(shop.project / "docs" / "knowledge-bank")
    assert "There is no knowledge bank here." in shop("bank", "import").err


def test_the_entries_are_listed_as_a_session_sees_them(shop: Workshop):
    make_project(shop.project)
    rows = shop("bank", "list").rows
    assert [row[1:6] for row in rows] == [
        ["anti-patterns", "Guessing Encodings", "3", "high", "Feature #018"],
        ["heuristics", "Read Real Samples", "1", "medium", "2026-01-05"],
        ["patterns", "Thin Orchestrator", "1", "medium", ""],
    ]
    assert not shop.store.exists()
    assert "Nothing is stale." in shop("bank", "list", "--stale").err


def test_one_entry_is_promoted_by_its_name(shop: Workshop, stranger: Path):
    make_project(shop.project)
    assert "Name an entry" in shop("bank", "promote").err
    assert "No entry is called 'nobody'." in shop("bank", "promote", "nobody").err
    planned = shop("bank", "promote", "thin orchestrator", "--dry-run")
    assert "+### Pattern: Thin Orchestrator" in planned.out
    assert not (stranger / ".claude").exists()
    assert "Promoted: Thin Orchestrator (patterns)" in shop("bank", "promote", "Pattern: thin orchestrator").out
    written = (stranger / ".claude" / "iflow" / "memory" / "patterns.md").read_text(encoding="utf-8")
    assert "- Benefit: Reviews take minutes\n" in written
    assert written.endswith("- Promoted from: shop\n")


def test_what_became_of_older_entries_is_told(shop: Workshop):
    make_project(shop.project)
    for number in range(30, 40):
        add_feature(shop.project, f"0{number}")
    told = shop(
        "bank", "validate", "--confirm", "Thin Orchestrator", "--challenge", "Read Real Samples", "None existed."
    )
    # Of an entry that was observed on a day nothing tells how many features ago that was.
    assert [line for line in told.out.splitlines() if not line.startswith("written")] == [
        "Confirmed: Thin Orchestrator",
        "Challenged: Read Real Samples",
        "Stale: Guessing Encodings (last observed Feature #018, 10 features ago)",
    ]
