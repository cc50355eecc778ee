"""S1 D9: the retrospective, by the real command in real git repositories; criteria 5, 10 and 11."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bank.repositories import add_feature, commit, git, make_feature, make_repository
from embed.wires import WIRES
from providers.server import FaultServer, answering
from specs.workshop import LEARNING, Workshop

from perdure import Memory
from perdure.text.keywords import same_word
from perdure.trusted_projects import trust

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
GENERIC = """
code development software system application implementation feature project function method file data error bug fix
update change
""".split()


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(make_feature(tmp_path / "shop"), tmp_path / "m.db")


def test_a_learning_is_written_to_both_places(shop: Workshop):
    """S1 retro both: the database, and the Markdown in the form of the bank."""
    answer = shop.retro(LEARNING)
    record = shop.memory(answer["learnings"][0]["number"])
    assert (record["source"], record["source_project"], record["category"]) == ("retro", "shop", "anti-patterns")
    assert (record["title"], record["text"]) == (LEARNING["name"], LEARNING["description"])
    assert shop.bank("anti-patterns") == (
        f"""\
# Anti-Patterns

### Anti-Pattern: Ask for Encodings
{LEARNING["description"]}
- Observed in: Feature #018
- Confidence: medium
- Last observed: Feature #018
- Observation count: 1
"""
    )


def test_the_markdown_is_only_added_to(shop: Workshop):
    """S1 retro audit: what people wrote stays, byte for byte, and the new entry stands behind it."""
    folder = shop.project / "docs" / "knowledge-bank"
    folder.mkdir(parents=True)
    written = b"\xef\xbb\xbf# Mine\r\n\r\n  odd   spacing\r\n<!-- a\r\n### X -->\r\n### Older\r\nText\r\n- Cost: 1"
    (folder / "anti-patterns.md").write_bytes(written)
    shop.retro(LEARNING)
    after = (folder / "anti-patterns.md").read_bytes()
    assert after.startswith(written)
    assert after[len(written) :].startswith(b"\r\n\r\n### Anti-Pattern: Ask for Encodings\r\n")
    undone = shop("undo", shop.json("log")["revisions"][0]["change"]["batch"], "--yes")
    assert undone.code == 0
    assert (folder / "anti-patterns.md").read_bytes() == after


def test_older_entries_are_confirmed_challenged_and_found_stale(shop: Workshop):
    """S1 retro staleness: count and last observed, a line for what speaks against it, ten later features."""
    shop.retro(LEARNING, {**LEARNING, "name": "Other", "description": "Split uploads by customer."})
    for number in range(19, 29):
        add_feature(shop.project, f"0{number}")
    answer = shop.retro(confirmed=["ask for encodings"], challenged=[{"name": "Other", "reason": "It was slower."}])
    assert (answer["confirmed"], answer["challenged"]) == (["Ask for Encodings"], ["Other"])
    assert re.findall("Observation count: ([0-9])", shop.bank("anti-patterns")) == ["2", "1"]
    assert shop.bank("anti-patterns").endswith("- Challenged: It was slower.\n")
    assert shop.memory(1)["observation_count"] == 2
    assert shop.memory(2)["metadata"]["challenged"] == ["It was slower."]
    assert [(each["name"], each["later_features"]) for each in answer["stale"]] == [("Other", 10)]
    # What a newer feature confirms is stale no longer.
    confirmed = shop.json("bank", "validate", "--feature", "28", "--confirm", "Other")
    assert [each["name"] for each in confirmed["stale"]] == ["Ask for Encodings"]
    assert [each["name"] for each in shop.json("bank", "list", "--stale")["bank_entries"]] == ["Ask for Encodings"]


def test_universal_learnings_reach_the_global_bank(shop: Workshop, stranger: Path):
    """S1 retro promotion: by content hash, once, with a day, and counted up when it was observed again."""
    shop.retro({**LEARNING, "universal": True})
    assert shop.json("bank", "promote", "--universal")["bank_entries"][0]["name"] == "Ask for Encodings"
    path = stranger / ".claude" / "iflow" / "memory" / "anti-patterns.md"
    first = path.read_text(encoding="utf-8")
    assert re.search(r"- Last observed: \d{4}-\d\d-\d\d\n", first)
    assert shop.json("bank", "promote", "--universal")["files"] == []
    # From now on there is a global bank, and a retro tells it.
    shop.retro({**LEARNING, "universal": True})
    again = path.read_text(encoding="utf-8")
    assert (again.count("### "), "Observation count: 2" in again) == (1, True)


def test_the_embedding_is_made_by_the_configured_provider(
    tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch
):
    """S1 retro embedding: by the provider that the front matter names, right away."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    server.always(answering(WIRES["ollama"].answer))
    shop = Workshop(make_feature(tmp_path / "shop"), tmp_path / "m.db", embedder=None)
    shop.configure("memory_embedding_provider: ollama")
    trust(shop.project)
    assert shop.retro(LEARNING)["vectors_pending"] == 0
    assert LEARNING["description"] in str(server.requests[0].json["input"])
    assert server.requests[0].json["model"] == "nomic-embed-text"


def test_keywords_of_the_session_are_taken(shop: Workshop):
    """S1 retro keywords: what the model of the session labels it with, without words that say nothing."""
    given = ["encoding", "uploaded file", "Latin-1", "code", "customers"]
    answer = shop.retro({**LEARNING, "keywords": given})
    assert answer["learnings"][0]["keywords"] == ["encoding", "uploaded file", "Latin-1", "customers"]


def test_references_are_those_of_the_branch(shop: Workshop):
    """S1 retro references: the files that the feature's branch changed, and none that only the main branch did."""
    git(shop.project, "checkout", "-q", "main")
    commit(shop.project, "src/elsewhere.py")
    git(shop.project, "checkout", "-q", "feature/018-import")
    references = shop.retro(LEARNING)["learnings"][0]["references"]
    assert references == ["src/parser.py", "docs/notes.md"]


def test_the_reasoning_is_kept(shop: Workshop):
    """S1 retro reasoning: as the retro told it."""
    shop.retro(LEARNING)
    assert shop.memory(1)["reasoning"] == LEARNING["reasoning"]


def test_without_semantic_memory_only_markdown_is_written(shop: Workshop):
    """S1 retro disabled: no database is made or opened."""
    shop.configure("memory_semantic_enabled: false")
    answer = shop.retro(LEARNING, {**LEARNING, "name": "Leak", "description": f"Never print {SECRET} in logs."})
    assert (answer["batch"], answer["learnings"][0]["number"]) == (None, None)
    assert not shop.store.exists()
    assert "### Anti-Pattern: Ask for Encodings" in shop.bank("anti-patterns")
    assert SECRET not in shop.bank("anti-patterns")
    shop.store.write_bytes(b"no database at all" * 100)
    assert shop.retro(confirmed=["Ask for Encodings"])["confirmed"] == ["Ask for Encodings"]
    assert "Observation count: 2" in shop.bank("anti-patterns")


def test_vectors_are_made_up_fifty_at_a_time(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch):
    """S1 retro re-embedding: a retro makes at most 50 of the vectors that are missing."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    server.always(answering(WIRES["ollama"].answer))
    shop = Workshop(make_feature(tmp_path / "shop"), tmp_path / "m.db", embedder=None)
    with Memory(shop.store, embedder="none") as memory:
        memory.import_([{"text": f"Learning number {n}"} for n in range(70)])
    shop.configure("memory_embedding_provider: ollama")
    trust(shop.project)
    first, second = shop.retro(), shop.retro()
    assert (first["embedded"], first["vectors_pending"]) == (50, 20)
    assert (second["embedded"], second["vectors_pending"]) == (20, 0)


@pytest.mark.parametrize("given", [None, ["encoding"], ["code", "file", "bug"]])
def test_a_learning_has_keywords_that_say_something(shop: Workshop, given: list[str] | None):
    """S1 criterion 5 retro: 3 to 10, at least 3 of them words of the entry or forms of them, none generic."""
    learning = LEARNING if given is None else {**LEARNING, "keywords": given}
    keywords = shop.retro(learning)["learnings"][0]["keywords"]
    text = f"{LEARNING['description']} {LEARNING['reasoning']}".lower()
    words = re.findall(r"\w+", text)
    inside = [
        keyword
        for keyword in keywords
        if keyword.lower() in text
        or any(same_word(part, word) for part in keyword.split() for word in words)
    ]  # fmt: skip
    assert 3 <= len(keywords) <= 10
    assert len(inside) >= 3
    assert not {keyword.lower() for keyword in keywords} & set(GENERIC)


@pytest.mark.parametrize("kind", ["branch", "main", "detached", "shallow", "worktree", "uncommitted"])
def test_a_learning_has_a_file_of_the_feature(tmp_path: Path, kind: str):
    """S1 criterion 10: at least one code file of the feature's git diff, whatever the repository is like."""
    folder = make_feature(tmp_path / "shop")
    if kind == "main":
        git(folder, "checkout", "-q", "main")
        git(folder, "merge", "-q", "--ff-only", "feature/018-import")
        git(folder, "branch", "-q", "-D", "feature/018-import")
    if kind == "detached":
        git(folder, "checkout", "-q", "--detach")
        git(folder, "branch", "-q", "-D", "feature/018-import")
    if kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", "clone")
        folder = tmp_path / "clone"
    if kind == "worktree":
        git(folder, "checkout", "-q", "main")
        git(folder, "worktree", "add", "-q", str(tmp_path / "tree"), "feature/018-import")
        folder = tmp_path / "tree"
    if kind == "uncommitted":
        folder = make_repository(tmp_path / "fresh")
        (folder / "parser.py").write_text("new\n", encoding="utf-8")
        git(folder, "add", "parser.py")
    answer = Workshop(folder, tmp_path / "m.db").retro(LEARNING)
    assert any(name.endswith("parser.py") for name in answer["learnings"][0]["references"])
    assert "### Anti-Pattern: Ask for Encodings" in Workshop(folder, tmp_path / "m.db").bank("anti-patterns")


@pytest.mark.parametrize("reasoning", [None, "", "   "])
def test_a_learning_says_why_it_matters(shop: Workshop, reasoning: str | None):
    """S1 criterion 11: without a reasoning nothing is written, in neither place."""
    told = json.dumps([LEARNING, {**LEARNING, "name": "Second", "reasoning": reasoning}])
    refused = shop("retro", "-", stdin=told)
    assert refused.code == 2
    assert "The reasoning of 'Second' is missing." in refused.err
    assert not shop.store.exists()
    assert not (shop.project / "docs" / "knowledge-bank").exists()
    assert shop.retro(LEARNING)["learnings"][0]["number"] == 1
    assert shop.memory(1)["reasoning"]
