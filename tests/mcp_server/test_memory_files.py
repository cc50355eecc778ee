"""Memory files through the tools of S3, as a host's model saves, scans and loads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bank.projects import OAUTH, OAUTH_PATH, write
from mcp_server.host import Host, ToolFailed, served, started

from perdure.session.origin import Origin


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "website"
    write(folder)
    return folder


@pytest.fixture
def agent(store: Path, project: Path) -> Iterator[Host]:
    with served(store, tools="reference", origin=Origin("website"), project=project) as host:
        yield host


def test_a_file_that_was_saved_is_loaded_by_its_anchor(agent: Host, project: Path):
    saved = agent.call("memory_save", filePath=OAUTH_PATH)
    assert (saved["inserted"], saved["updated"], saved["present"]) == (0, 0, 3)
    for folder in ("049-auth", "specs/049-auth", "specs/049-auth/"):
        (loaded,) = agent.call("memory_load", specFolder=folder, anchorId="errors")["memories"]
        assert "Expired codes are answered with 400." in loaded["text"]
    write(project, text=OAUTH.replace("with 400", "with 401"))
    assert agent.call("memory_save", file_path=OAUTH_PATH)["updated"] == 1


def test_a_scan_finds_every_file_and_a_folder_only_its_own(agent: Host, project: Path):
    write(project, "specs/050-parser/memory/01-12-25_09-00__lines.md", "The parser reads one line at a time")
    assert agent.call("memory_index_scan", specFolder="050-parser")["inserted"] == 1
    assert agent.call("memory_index_scan")["present"] == 4
    write(project, text=OAUTH.replace("with 400", "with 401"))
    assert agent.call("memory_index_scan", force=True)["updated"] == 4


def test_a_server_without_a_project_reads_no_file(store: Path):
    with served(store, tools="reference") as host:
        for tool, arguments in (("memory_save", {"filePath": OAUTH_PATH}), ("memory_index_scan", {})):
            with pytest.raises(ToolFailed, match="no project directory") as failed:
                host.call(tool, **arguments)
            assert failed.value.code == "not_allowed"


def test_a_path_out_of_the_project_is_refused_with_a_reason(agent: Host, project: Path):
    write(project.parent, "secret.md", "a secret")
    with pytest.raises(ToolFailed, match="outside of the project"):
        agent.call("memory_save", filePath="../secret.md")


def test_a_phrase_of_the_projects_configuration_asks_for_the_context_to_be_saved(agent: Host, project: Path):
    write(project, ".opencode/memory/config.jsonc", '{"triggers": {"phrases": ["save context", "document this"]}}')
    answer = agent.call("memory_match_triggers", prompt="Please save context for the auth work")
    assert (answer["matched"], answer["trigger"], answer["confidence"]) == (True, "save context", 0.95)
    assert agent.call("memory_match_triggers", prompt="What is context?")["matched"] is False


def test_a_server_that_starts_in_a_project_indexes_its_files_in_the_background(store: Path, project: Path):
    with started("--store", str(store), "--tools", "reference", folder=project) as host:
        calls = (host.call("memory_list", specFolder="049-auth") for _ in range(10_000))
        assert next(len(found["memories"]) for found in calls if len(found["memories"]) == 3)
        assert host.end() == 0
