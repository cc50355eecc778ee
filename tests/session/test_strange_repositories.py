"""A repository runs nothing and asks nobody, whatever its settings name."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bank.repositories import commit, git, make_feature, make_repository
from hook.hosts import PATIENCE, HostSession, tell
from session.traps import Trap, plain_clone, strange_repository, trap_in
from specs.workshop import LEARNING, Workshop

import perdure.git
from perdure.git import is_tracked
from perdure.session.branch import branch_files, feature_work
from perdure.session.signals import collect_signals


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    with trap_in(tmp_path / "trap") as trap:
        yield trap


def ask_everything(project: Path) -> None:
    """Every question to git that the product has."""
    collect_signals(project, seconds=20)
    feature_work(project)
    is_tracked(project / "part0" / "file.py")
    is_tracked(project / "HEAD")


@pytest.mark.parametrize("has_holes", [False, True], ids=["whole", "partial clone"])
def test_no_setting_of_a_repository_makes_git_run_a_program_or_ask_a_server(
    tmp_path: Path, trap: Trap, has_holes: bool
):
    project = strange_repository(tmp_path / "project", has_holes=has_holes)
    # The submodule's own settings count as soon as git enters it.
    configs = {
        folder: (folder / "config").read_text("utf-8") for folder in (project / ".git", project / "inner" / ".git")
    }
    for way, settings in trap.settings().items():
        for folder, config in configs.items():
            (folder / "config").write_text(config, encoding="utf-8")
            trap.set(folder, settings)
        ask_everything(project)
        assert (way, trap.caught) == (way, "")


def test_a_folder_that_looks_like_a_repository_is_taken_for_none(tmp_path: Path, trap: Trap):
    original = strange_repository(tmp_path / "original", has_holes=True)
    inside = plain_clone(original, tmp_path / "clone")
    config = (inside / "config").read_text(encoding="utf-8")
    for way, settings in trap.settings().items():
        (inside / "config").write_text(config, encoding="utf-8")
        trap.set(inside, {**settings, "core.worktree": str(original)})
        ask_everything(inside)
        assert (way, trap.caught) == (way, "")
    # Nor where no repository is around it.
    shutil.move(inside, tmp_path / "alone")
    ask_everything(tmp_path / "alone")
    assert trap.caught == ""


@pytest.mark.parametrize(
    ("has_holes", "way", "command"),
    [
        (False, "core.fsmonitor", ("diff", "HEAD")),
        (False, "filter.trap.clean", ("diff", "--name-only", "HEAD")),
        (False, "include.path", ("ls-files",)),
        (True, "remote.origin.uploadpack", ("-c", "protocol.allow=never", "diff", "--name-only", "HEAD~3..HEAD")),
        (True, "a remote by ext", ("diff", "--name-only", "HEAD~3..HEAD")),
        (True, "a remote by http", ("diff", "--name-only", "HEAD~3..HEAD")),
    ],
)
def test_git_itself_falls_into_these_traps(
    tmp_path: Path, trap: Trap, has_holes: bool, way: str, command: tuple[str, ...]
):
    """So that the tests above can fail."""
    project = strange_repository(tmp_path / "project", has_holes=has_holes)
    trap.set(project / ".git", trap.settings()[way])
    # Where it is a server, git waits for its answer; where it is a program, git waits for its end.
    run = subprocess.Popen(["git", *command], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S607
    if "http" in way:
        assert select.select([trap.listener], [], [], PATIENCE)[0]
        run.kill()
    run.wait(PATIENCE)
    assert trap.caught


def test_sessions_and_retros_in_a_strange_repository_run_nothing_of_it(tmp_path: Path, trap: Trap):
    settings = trap.settings()
    together = {
        name: value
        for way in ("core.fsmonitor", "filter.trap.clean", "diff.trap.textconv", "remote.origin.uploadpack")
        for name, value in settings[way].items()
    }
    project = strange_repository(tmp_path / "project", has_holes=True)
    trap.set(project / ".git", together)
    for folder in (project, plain_clone(project, tmp_path / "clone")):
        session = HostSession("claude", folder)
        tell(session, session.start())
        shop = Workshop(folder, tmp_path / f"{folder.name}.db")
        assert shop.retro({**LEARNING})["done"]
        assert shop("bank", "import", "--trusted").code == 0
        assert shop("session", "private", "--project", str(folder)).code == 0
        assert shop("erase", "1", "--yes").code == 0
        assert trap.caught == ""


def test_a_program_called_git_in_the_repository_is_not_run(tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch):
    project = make_feature(tmp_path / "project")
    shutil.copy(trap.program, project / "git")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    ask_everything(project)
    assert trap.caught == ""
    assert "src/parser.py" in feature_work(project).files


def test_the_environment_of_a_host_leads_git_nowhere_else(tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch):
    project, other = make_feature(tmp_path / "project"), make_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap.program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.program))
    assert "src/parser.py" in feature_work(project).files
    assert trap.caught == ""


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither git nor its child ever ends; the pipe that the child holds is closed when it is gone."""
    project, alive, slow = make_repository(tmp_path / "project"), tmp_path / "alive", tmp_path / "bin" / "git"
    os.mkfifo(alive)
    os.mkfifo(tmp_path / "never")
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\n(echo x; exec cat {tmp_path}/never) > {alive} &\nexec cat {tmp_path}/never\n", "utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    assert perdure.git.git(project, "rev-parse", "HEAD", seconds=1) is None
    is_closed = False
    while not is_closed and select.select([reader], [], [], PATIENCE)[0]:
        is_closed = not os.read(reader, 10)
    os.close(reader)
    assert is_closed


def test_a_repository_that_never_answers_is_asked_no_second_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    project, slow, asked = make_feature(tmp_path / "project"), tmp_path / "bin" / "git", tmp_path / "asked"
    os.mkfifo(tmp_path / "never")
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\necho $* >> {asked}\nexec cat {tmp_path}/never\n", "utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    assert feature_work(project, seconds=2).files == ()
    assert len(asked.read_text("utf-8").splitlines()) == 1


def test_the_files_in_work_are_those_that_git_names(tmp_path: Path):
    project = make_repository(tmp_path / "project")
    for name in ("kept.py", "touched.py", "changed.py", "removed.py", "renamed.py", "staged.py", "same_size.py"):
        commit(project, name)
    (project / "link").symlink_to("kept.py")
    (project / "other_link").symlink_to("kept.py")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Links")
    (project / "touched.py").write_text("changed\n", encoding="utf-8")
    os.utime(project / "touched.py", (1, 1))
    (project / "changed.py").write_text("something else\n", encoding="utf-8")
    (project / "same_size.py").write_text("CHANGED\n", encoding="utf-8")
    os.utime(project / "same_size.py", (1, 1))
    (project / "removed.py").unlink()
    (project / "staged.py").write_text("staged\n", encoding="utf-8")
    (project / "new.py").write_text("new\n", encoding="utf-8")
    git(project, "add", "staged.py", "new.py")
    git(project, "mv", "renamed.py", "moved.py")
    (project / "link").unlink()
    (project / "link").symlink_to("changed.py")
    (project / "untracked.py").write_text("x\n", encoding="utf-8")
    (project / "other_link").unlink()
    os.mkfifo(project / "other_link")
    named = git(project, "diff", "--name-only", "--diff-filter=d", "HEAD").split()
    assert set(branch_files(project)) == {*named} - {"other_link"}
    assert {"changed.py", "same_size.py", "staged.py", "new.py", "moved.py", "link"} == {*named} - {"other_link"}


def test_before_the_first_commit_what_was_added_is_in_work(tmp_path: Path):
    project = make_repository(tmp_path / "project")
    (project / "new.py").write_text("new\n", encoding="utf-8")
    git(project, "add", "new.py")
    assert branch_files(project) == ("new.py",)
