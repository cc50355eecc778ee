"""The frameworks' own tests, as they are, on our adapters. They are fetched when they are run, and never kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

HERE = Path(__file__).parent
OF_FOLDERS = "it is about links and rights of a file system, and there is none"
OF_CONNECTIONS = "it is about the connections and locks of their SQLite store"
OF_TABLES = "it looks for tables of their SQLite store"
OF_FIELDS = "it asks for a vector of each field; a memory is one text"
IN_THE_LOOP = "their store refuses a synchronous call in the event loop's thread; ours answers"
OF_ROWS = "it writes a broken row into their table"
TOO_LARGE = "a memory has at most 1 MiB, so the file is refused when it is created, not when it is viewed"


@dataclass(frozen=True)
class Suite:
    repository: str
    commit: str
    # What names a clone where the repository cannot be fetched.
    variable: str
    # By its path here, the path there.
    files: Mapping[str, str]
    # What is put before them, from `foreign`.
    conftest: str
    count: int
    # Each that fails, with the reason why it does.
    failing: Mapping[str, str]
    # Without this module the suite is skipped.
    needs: str
    # Which of the files is run; others may be there because it imports them.
    run: str = "."


_ANTHROPIC = (
    "test_mkdir_parents_not_world_writable_under_permissive_umask",
    "test_symlink_validation_reject_symlink_pointing_outside_memories",
    "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside",
    "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside",
)
_LARGE = "test_view_error_for_files_with_too_many_lines"
_CANCELLED = "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome"

_LANGGRAPH = (
    "https://github.com/langchain-ai/langgraph",
    "f09cfe8ffc1eeffd68f4b628ed69c30f7cad229f",
    "LANGGRAPH_REPO",
)

SUITES = {
    "langgraph": Suite(
        *_LANGGRAPH,
        {"test_store.py": "libs/checkpoint-sqlite/tests/test_store.py"},
        "langgraph_store.py",
        65,
        {
            "test_nonnull_migrations": "it reads the migrations of their SQLite store",
            "test_vector_store_initialization": OF_TABLES,
            "test_embed_with_path[cosine]": OF_FIELDS,
        },
        "langgraph.store.sqlite",
    ),
    "langgraph-async": Suite(
        *_LANGGRAPH,
        {
            "tests/__init__.py": "libs/checkpoint-sqlite/tests/__init__.py",
            "tests/test_store.py": "libs/checkpoint-sqlite/tests/test_store.py",
            "tests/test_async_store.py": "libs/checkpoint-sqlite/tests/test_async_store.py",
        },
        "langgraph_store.py",
        29,
        {
            "test_no_running_loop[memory]": IN_THE_LOOP,
            "test_no_running_loop[file]": IN_THE_LOOP,
            "test_vector_store_initialization": OF_TABLES,
            "test_embed_with_path": OF_FIELDS,
        },
        "langgraph.store.sqlite.aio",
        "tests/test_async_store.py",
    ),
    "openai-agents": Suite(
        "https://github.com/openai/openai-agents-python",
        "7f7a44f8dc0650296bd5ab6c745c9bcbaa6ac3b7",
        "OPENAI_AGENTS_REPO",
        {
            "tests/__init__.py": "tests/__init__.py",
            "tests/test_responses.py": "tests/test_responses.py",
            "tests/memory/test_session.py": "tests/memory/test_session.py",
            "tests/memory/test_session_limit.py": "tests/memory/test_session_limit.py",
        },
        "openai_agents_session.py",
        68,
        {
            "test_sqlite_session_close_closes_worker_thread_connections": OF_CONNECTIONS,
            "test_sqlite_session_closed_rejects_empty_add_items": OF_CONNECTIONS,
            "test_sqlite_session_file_lock_is_shared_across_instances": OF_CONNECTIONS,
            "test_sqlite_session_failed_add_items_releases_write_lock": OF_CONNECTIONS,
            "test_sqlite_session_failed_clear_session_rolls_back": OF_CONNECTIONS,
            "test_sqlite_session_failed_pop_item_releases_write_lock": OF_CONNECTIONS,
            "test_sqlite_session_rollback_failure_evicts_connection": OF_CONNECTIONS,
            "test_sqlite_session_close_retries_quarantined_connection": OF_CONNECTIONS,
            "test_sqlite_session_pop_item_skips_corrupt_most_recent": OF_ROWS,
            "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": OF_ROWS,
            "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": OF_ROWS,
            "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": OF_ROWS,
            **{f"{_CANCELLED}[{operation}]": OF_CONNECTIONS for operation in ("add", "pop", "clear")},
        },
        "agents",
    ),
    "anthropic": Suite(
        "https://github.com/anthropics/anthropic-sdk-python",
        "009b035305e0724ce108ebd796935f91711fc6e1",
        "ANTHROPIC_REPO",
        {"test_filesystem.py": "tests/lib/tools/memory_tools/test_filesystem.py"},
        "anthropic_tool.py",
        63,
        {
            **{f"{cls}.{test}": OF_FOLDERS for cls in ("TestBetaLocal", "TestBetaAsyncLocal") for test in _ANTHROPIC},
            "TestBetaAsyncLocal.test_validate_path_returns_resolved_path_not_symlink_target": OF_FOLDERS,
            **{f"{cls}.{_LARGE}": TOO_LARGE for cls in ("TestBetaLocal", "TestBetaAsyncLocal")},
        },
        "anthropic.tools.memory",
    ),
}


def text_of(suite: Suite, path: str) -> str:
    """A file of the repository at the commit: of the clone that a variable names, or of one that is fetched."""
    clone = Path(os.environ.get(suite.variable) or Path(sys.prefix) / "foreign" / suite.commit)
    if not clone.exists():
        for command in (
            ["init", "-q", str(clone)],
            ["-C", str(clone), "fetch", "-q", "--depth=1", suite.repository, suite.commit],
        ):
            if subprocess.run(["git", *command], check=False).returncode:
                shutil.rmtree(clone, ignore_errors=True)
                pytest.fail(
                    f"{suite.repository} could not be fetched. Name a clone that has {suite.commit}: "
                    f"make test-adapters {suite.variable}=path"
                )
    shown = subprocess.run(
        ["git", "-C", str(clone), "show", f"{suite.commit}:{path}"], capture_output=True, check=False, encoding="utf-8"
    )
    assert shown.returncode == 0, f"{suite.variable}: {shown.stderr}"
    return shown.stdout


@pytest.mark.parametrize("name", SUITES)
def test_the_tests_of_a_framework_pass_but_for_those_with_a_reason(name: str, tmp_path: Path):
    suite = SUITES[name]
    pytest.importorskip(suite.needs, reason="`make test-adapters` has it")
    for here, there in suite.files.items():
        (tmp_path / here).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / here).write_text(text_of(suite, there), encoding="utf-8")
    shutil.copy(HERE / "foreign" / suite.conftest, tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=results.xml", suite.run]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)
    cases = list(ET.parse(tmp_path / "results.xml").iter("testcase"))  # noqa: S314 - pytest wrote it
    failing = {
        f"{of_class}.{case.get('name')}" if (of_class := _class(case)) else str(case.get("name"))
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    print(f"{name}: {len(cases) - len(failing)} of {len(cases)} pass")
    assert failing == set(suite.failing), done.stdout[-3000:]
    assert len(cases) == suite.count


def test_the_page_of_the_adapters_says_how_many_pass(repository: Path):
    page = (repository / "docs/adapters/README.md").read_text(encoding="utf-8")
    told = [
        (int(found[1]), int(found[2])) for found in re.finditer(r"^\|[^|]+\| (\d+) \| (\d+) \|", page, re.MULTILINE)
    ]
    assert told == [(suite.count - len(suite.failing), suite.count) for suite in SUITES.values()]


def _class(case: ET.Element) -> str:
    """`TestBetaLocal` of a class in a module."""
    last = str(case.get("classname")).rpartition(".")[2]
    return last.removesuffix("FilesystemMemoryTool") if last.endswith("FilesystemMemoryTool") else ""
