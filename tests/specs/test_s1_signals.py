"""S1 D2, step 1: the signals of a session's context, and the query that is composed of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from specs.projects import feature, git, repository

from perdure.session.signals import collect_signals


def asked(project: Path) -> str | None:
    return collect_signals(project, seconds=20).query


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "website", commits=5)


def test_the_feature_is_called_by_its_slug(project: Path):
    """S1 signal feature: that of the feature whose status is active."""
    feature(project, "011-deploy", status="completed", spec="Deploys.")
    feature(project, "012-parser", slug="the-parser", spec="Parses.")
    assert (asked(project) or "").startswith("the-parser: Parses.")


def test_the_description_ends_before_the_first_heading(project: Path):
    """S1 signal description: what spec.md says above its first `##`."""
    feature(project, spec="# Spec: Parser\n\nBuild a parser\nfor files\n\n## Overview\n\nMore.", prd="Something else.")
    assert "parser: Build a parser for files. Phase" in (asked(project) or "")


def test_without_a_specification_the_prd_describes(project: Path):
    """S1 signal prd: its first paragraph."""
    feature(project, prd="Users want a parser.\n\n## Problem\n\nNone.")
    assert "parser: Users want a parser." in (asked(project) or "")


def test_a_long_description_is_cut(project: Path):
    """S1 signal words: after a hundred."""
    feature(project, spec=" ".join(f"word{number}" for number in range(1, 151)))
    assert "word100. Phase" in (asked(project) or "")


def test_the_phase_is_the_last_that_was_completed(project: Path):
    """S1 signal phase: as the feature's file says."""
    feature(project, spec="Parses.", lastCompletedPhase="implement")
    assert ". Phase: implement. " in (asked(project) or "")


def test_the_files_are_those_of_the_last_three_commits(project: Path):
    """S1 signal files: their names, with a space between, and no more than twenty."""
    assert asked(project) == "file3.py file4.py file5.py"
    for number in range(30):
        (project / f"new{number:02}.py").touch()
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "many")
    files = (asked(project) or "").split()
    assert len(files) == 20
    assert set(files) <= {path.name for path in project.iterdir()}


@pytest.mark.parametrize("detached", [False, True])
def test_a_short_history_has_the_files_of_its_last_commit(tmp_path: Path, project: Path, detached: bool):
    """S1 signal shallow: with two commits, and in a shallow clone, detached or not."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "2", project.as_uri(), str(clone))
    if detached:
        git(clone, "checkout", "--quiet", "--detach")
    assert asked(clone) == "file5.py"
    assert asked(repository(tmp_path / "young", commits=2)) == "file2.py"


def test_without_a_commit_there_are_no_files(tmp_path: Path):
    """S1 signal no commits: nor in a folder that git does not know; nothing fails."""
    assert asked(repository(tmp_path / "empty")) is None
    (tmp_path / "plain").mkdir()
    assert asked(tmp_path / "plain") is None
    assert asked(tmp_path / "nowhere") is None


def test_everything_together_is_one_query(project: Path):
    """S1 signal query: name, description, phase and files, in these words."""
    feature(project, spec="Build a parser")
    assert asked(project) == "parser: Build a parser. Phase: design. Files: file3.py file4.py file5.py"


def test_without_a_feature_the_files_are_the_query(project: Path):
    """S1 signal files only: nothing else stands in it, also where the feature's file is broken."""
    feature(project, status="planned", spec="Not yet.")
    (project / "docs" / "features" / "013-broken").mkdir()
    (project / "docs" / "features" / "013-broken" / ".meta.json").write_text("{", encoding="utf-8")
    assert asked(project) == "file3.py file4.py file5.py"
