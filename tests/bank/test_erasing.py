"""Erasing a memory: its Markdown copies go as well, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bank.banks import GLOBAL, LOCAL, make_global, make_project
from bank.projects import OAUTH, OAUTH_PATH, write
from bank.repositories import git
from cli.user import User
from hook.hosts import HostSession, tell
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.bank.documents import AGENT_FILES
from perdure.bank.editing import appending, new_entry, removing
from perdure.bank.entries import CATEGORIES
from perdure.bank.importing import import_bank
from perdure.bank.memory_files import scan_memory_files, without_sections
from perdure.bank.sections import ImportOptions
from perdure.bank.sources import import_source, recognise
from perdure.ids import content_hash
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import Buggified, buggified

SAMPLES = "Open three real input files before writing a parser."


@pytest.fixture
def user(tmp_path: Path) -> User:
    store = tmp_path / "memory.db"
    SqliteStore.open(store).close()
    return User({"PERDURE_STORE": str(store), "PERDURE_EMBEDDER": "none", "COLUMNS": "100"})


@pytest.fixture
def shared(stranger: Path) -> Path:
    return make_global(stranger)


@pytest.fixture
def project(tmp_path: Path, shared: Path) -> Path:
    return make_project(tmp_path / "shop")


def bank(project: Path, category: str) -> Path:
    return project / "docs" / "knowledge-bank" / f"{category}.md"


def test_an_erased_learning_leaves_the_project_and_the_global_bank(memory: Memory, project: Path, shared: Path):
    import_bank(memory, project)
    planned = memory.erase(content_hash(SAMPLES), dry_run=True)
    found = [(str(bank(project, "heuristics")), 3, "found"), (str(shared / "heuristics.md"), 3, "found")]
    assert [(copy.path, copy.line_number, copy.outcome) for copy in planned.copies] == sorted(found)
    assert SAMPLES in bank(project, "heuristics").read_text("utf-8")

    done = memory.erase(content_hash(SAMPLES), confirm=True)

    assert {copy.outcome for copy in done.copies} == {"removed"}
    assert bank(project, "heuristics").read_text("utf-8") == "# Heuristics\n"
    kept = GLOBAL["heuristics"].replace(GLOBAL["heuristics"].partition("### Release")[0], "# Heuristics\n\n")
    assert (shared / "heuristics.md").read_text("utf-8") == kept
    assert [bank(project, name).read_text("utf-8") for name in ("patterns", "anti-patterns")] == [
        LOCAL["patterns"], LOCAL["anti-patterns"],
    ]  # fmt: skip
    assert import_bank(memory, project).inserted == 0


def test_a_template_in_a_comment_behind_the_entry_stays(memory: Memory, project: Path):
    import_bank(memory, project)
    memory.erase(1, confirm=True)
    start = LOCAL["anti-patterns"].partition("### Anti-Pattern: Guessing")[0]
    template = LOCAL["anti-patterns"][LOCAL["anti-patterns"].index("<!--") :]
    assert bank(project, "anti-patterns").read_text("utf-8") == start + template


def test_what_was_corrected_or_redacted_here_is_found_in_the_file_all_the_same(memory: Memory, project: Path):
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    bank(project, "patterns").write_text(f"# Patterns\n\n### Pattern: Key\nThe key is {secret} there.\n", "utf-8")
    import_bank(memory, project)
    encodings, key = memory.list(newest=False).records[:2]
    assert secret not in key.text
    memory.update(encodings.number, text="Ask for the encoding of a file.")
    done = memory.erase([encodings.number, key.number], confirm=True)
    assert {Path(copy.path).name for copy in done.copies} == {"anti-patterns.md", "patterns.md"}
    assert "Guessing the encoding" not in bank(project, "anti-patterns").read_text("utf-8")
    assert bank(project, "patterns").read_text("utf-8") == "# Patterns\n"


def test_another_namespace_and_another_store_do_not_reach_the_files(memory: Memory, project: Path, tmp_path: Path):
    import_bank(memory, project)
    other = memory.namespace("somebody")
    other.remember(SAMPLES, category="heuristics", source="import")
    assert other.erase(1, confirm=True).copies == ()
    with Memory(tmp_path / "other.db", embedder="none") as elsewhere:
        elsewhere.remember(SAMPLES, category="heuristics", source="import")
        assert elsewhere.erase(1, confirm=True).copies == ()
    assert SAMPLES in bank(project, "heuristics").read_text("utf-8")


def test_a_process_that_dies_between_file_and_store_is_finished_by_erasing_again(memory: Memory, project: Path):
    import_bank(memory, project)
    with buggified("erase: copies removed"), pytest.raises(Buggified):
        memory.erase(1, confirm=True)
    assert "Guessing the encoding" not in bank(project, "anti-patterns").read_text("utf-8")
    assert memory.get(1).state == "active"
    assert memory.erase(1, confirm=True).done


def test_what_sessions_were_told_is_gone_before_the_memory_is(memory: Memory, stranger: Path):
    memory.remember("Alice prefers dark mode")
    told = stranger / ".local/share/perdure/sessions/started/5f3c.json"
    told.parent.mkdir(parents=True)
    told.write_text("Alice prefers dark mode", "utf-8")
    with buggified("erase: committed"), pytest.raises(Buggified):
        memory.erase(1, confirm=True)
    assert not told.exists()


def test_a_link_is_not_followed_and_what_cannot_be_written_is_named(memory: Memory, project: Path, tmp_path: Path):
    import_bank(memory, project, private=True)
    outside = bank(project, "patterns").rename(tmp_path / "mine.md")
    bank(project, "patterns").symlink_to(outside)
    (copy,) = memory.erase(2, confirm=True).copies
    assert (copy.outcome, copy.line_number) == ("kept", 3)
    assert "link" in (copy.reason or "")
    assert outside.read_text("utf-8") == LOCAL["patterns"]


def test_a_project_that_is_gone_is_named(memory: Memory, project: Path):
    import_bank(memory, project, private=True)
    project.rename(project.with_name("moved"))
    (copy,) = memory.erase(1, confirm=True).copies
    assert (copy.path, copy.outcome) == (str(project / "docs" / "knowledge-bank"), "kept")
    assert "not there" in (copy.reason or "")


def test_of_a_file_in_git_it_is_said_that_the_history_still_holds_it(memory: Memory, project: Path):
    git(project, "init")
    git(project, "add", ".")
    import_bank(memory, project, private=True)
    (copy,) = memory.erase(1, confirm=True).copies
    assert (copy.outcome, copy.reason) == ("removed", "git tracks the file, and its history still holds it.")


def test_a_section_leaves_its_memory_file_and_the_others_stay(memory: Memory, tmp_path: Path):
    file = write(tmp_path / "site")
    options = ImportOptions("site", trusted=True)
    scan_memory_files(memory, tmp_path / "site", options)
    decision = next(record for record in memory.list() if record.anchor_id == "decision")
    (copy,) = memory.erase(decision.number, confirm=True).copies
    assert (copy.path, copy.outcome) == (str(tmp_path / "site" / OAUTH_PATH), "removed")
    start, end = OAUTH.index("<!-- ANCHOR:decision -->"), OAUTH.index("<!-- /ANCHOR:decision -->")
    assert file.read_text("utf-8") == OAUTH[:start] + OAUTH[end + len("<!-- /ANCHOR:decision -->") :]
    assert scan_memory_files(memory, tmp_path / "site", options).inserted == 0
    rest = next(record for record in memory.list() if record.anchor_id is None)
    memory.erase(rest.number, confirm=True)
    assert "Expired codes" in file.read_text("utf-8")
    assert not {"left open", "oauth callback,"} & set(file.read_text("utf-8").lower().split("\n"))
    assert "trigger_phrases" not in file.read_text("utf-8")
    memory.erase(memory.list().records[0].number, confirm=True)
    assert not file.exists()


def test_a_section_that_says_something_else_by_now_stays_and_is_named(memory: Memory, tmp_path: Path):
    file = write(tmp_path / "site")
    scan_memory_files(memory, tmp_path / "site", ImportOptions("site", trusted=True))
    changed = OAUTH.replace("Expired codes are", "Old codes are")
    file.write_text(changed, "utf-8")
    errors = next(record for record in memory.list() if record.anchor_id == "errors")
    (copy,) = memory.erase(errors.number, confirm=True).copies
    assert (copy.outcome, file.read_text("utf-8")) == ("kept", changed)


def test_a_file_that_is_no_bank_stays_and_is_named(memory: Memory, tmp_path: Path):
    path = tmp_path / AGENT_FILES[0]
    path.write_text("# Style\nTabs, never spaces.\n", "utf-8")
    import_source(memory, recognise(path), ImportOptions("site"))
    (copy,) = memory.erase(1, confirm=True).copies
    assert (copy.path, copy.outcome) == ("CLAUDE.md", "kept")
    assert "Tabs" in path.read_text("utf-8")
    import_source(memory, recognise(path), ImportOptions("site"))
    assert memory.list().records == ()


def test_the_command_says_what_it_took_out_of_which_file(user: User, project: Path):
    user.done("bank", "import", "--project", str(project))
    planned = user.done("erase", "1", "--dry-run")
    assert f"Goes with it: {bank(project, 'anti-patterns')}, line 5." in planned.err
    told = user.done("erase", "1", "--yes", "--json").json
    assert [(copy["line_number"], copy["outcome"]) for copy in told["copies"]] == [(5, "removed")]
    done = user.done("erase", "2", "--yes")
    assert f"Removed from {bank(project, 'patterns')}, line 3." in done.err


WORD = "Quetzalcoatlus"


def test_an_unusual_word_is_in_no_file_after_it_was_erased(user: User, tmp_path: Path, shared: Path, stranger: Path):
    """The learning is written to both banks, told to a session, asked for, and said in a turn that waits."""
    project = make_project(tmp_path / "site", {})
    file = f"---\ntriggers: [{WORD}]\n---\nThe {WORD} flies.\n<!-- ANCHOR:b -->\nKept.\n<!-- /ANCHOR:b -->\n"
    write(project, text=file)
    learning = ("--name", f"Ask the {WORD}", "--description", f"A {WORD} knows the way.", "--reasoning", WORD)
    at = ("--project", str(project))
    user.done("retro", *learning, "--category", "heuristics", "--universal", "--promote", *at)
    session = HostSession("claude", project)
    configuration = project / ".claude" / "iflow-dev.local.md"
    configuration.parent.mkdir()
    for source, text in (("startup", ""), ("clear", "---\nmemory_semantic_enabled: false\n---\n")):
        configuration.write_text(text, "utf-8")
        assert WORD in tell(session, session.start(source), **user.environment).context
    configuration.unlink()
    tell(session, session.prompt(f"Where does the {WORD} live?"), **user.environment)
    held = files_with(WORD, stranger, tmp_path)
    assert {"heuristics.md", ".last-injection.json", "memory.db"} <= {path.name for path in held}
    assert {"memory.db-spool", "started", "memory"} <= {path.parent.name for path in held}

    user.done("erase", f"everything about {WORD}", "--yes")

    assert files_with(WORD, stranger, tmp_path) == []


def files_with(word: str, *folders: Path) -> list[Path]:
    words = (word.encode(), word.lower().encode())
    files = [Path(top) / name for folder in folders for top, _, names in os.walk(folder) for name in names]
    return [file for file in files if any(word in file.read_bytes() for word in words)]


LINES = st.text(st.sampled_from("ab #-\n"), max_size=40)


@given(LINES, LINES, st.sampled_from(CATEGORIES), st.sampled_from(["\n", "\r\n"]))
def test_appending_and_removing_leaves_every_other_byte(above: str, text: str, category: str, end: str):
    before = f"# Title\n\n{above}\n".replace("\n", end)
    entry = new_entry("Name", f"x {text}", category, observed_in="here", last_observed="2026-01-01")
    after = removing(category, lambda said: content_hash(said) == entry.content_hash)(appending(entry)(before))
    assert after.rstrip("\r\n") == before.rstrip("\r\n")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y\r\n", "\n"])), max_size=6))
def test_what_is_cut_out_of_a_memory_file_is_what_was_meant(parts: list[tuple[str, str]]):
    text = "".join(f"<!-- ANCHOR:{name} -->{said}<!-- /ANCHOR:{name} -->\r\n" for name, said in parts) + "end\n"
    left = without_sections(text, lambda said: said == "x")
    assert (
        left
        == "".join(
            f"<!-- ANCHOR:{name} -->{said}<!-- /ANCHOR:{name} -->\r\n" if said != "x" else "\r\n"
            for name, said in parts
        )
        + "end\n"
    )
