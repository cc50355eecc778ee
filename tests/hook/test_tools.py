"""What a session does with its tools, told by the hook: nothing is kept unless somebody asks for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.user import User
from hook.hosts import HostSession

from perdure import Memory
from perdure.hook.program import respond
from perdure.model import LEARNING_CATEGORIES, Record
from perdure.session.privacy import go_off_record, make_private
from perdure.session.tool_use import MAX_ERROR, MAX_FAILED, MAX_FILES, MAX_FIXES, is_fix, tool_use_of

if TYPE_CHECKING:
    from perdure.session.tool_use import ToolUse

# Later than any clock of a machine that runs.
NEVER = 1e9
PUSH, PUSH_TO = "git push", "git push -u origin main"
NO_UPSTREAM = "fatal: The current branch main has no upstream branch."


class Session:
    """A session of Claude Code, whose hook runs in this process."""

    def __init__(self, project: Path, id: str = "s1") -> None:
        self.host, self.project, self.uses = HostSession("claude", project, id), project, 0

    def tell(self, event: dict[str, Any]) -> None:
        assert respond(json.dumps(event).encode(), (), NEVER) == ""

    def use(self, tool: str, event: str = "PostToolUse", **fields: Any) -> None:
        self.uses += 1
        own = {"hook_event_name": event, "tool_name": tool, "tool_use_id": f"toolu_{self.uses}"}
        self.tell({"session_id": self.host.id, "cwd": str(self.project), **own, **fields})

    def works(self, command: str) -> None:
        self.use("Bash", tool_input={"command": command}, tool_response={"stdout": "ok", "interrupted": False})

    def fails(self, command: str, error: str = NO_UPSTREAM) -> None:
        told = f"Exit code 128\n{error}"
        self.use("Bash", "PostToolUseFailure", tool_input={"command": command}, error=told, is_interrupt=False)

    def edits(self, file: str) -> None:
        self.use("Edit", tool_input={"file_path": str(self.project / file)}, tool_response={"filePath": file})

    def end(self) -> None:
        self.tell(self.host.end())

    @property
    def kept(self) -> ToolUse:
        return tool_use_of(self.host.id)


@pytest.fixture
def session(project: Path, stranger: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    monkeypatch.setenv("PERDURE_LEARN_FROM_TOOLS", "true")
    return Session(project)


def learned() -> Sequence[Record]:
    with Memory(embedder="none") as memory:
        memory.work()
        return memory.list(category=LEARNING_CATEGORIES, limit=100).records


def test_unless_the_setting_asks_for_it_nothing_is_kept_of_tools(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PERDURE_LEARN_FROM_TOOLS")
    session.edits("app.py")
    session.fails(PUSH)
    session.works(PUSH_TO)
    assert (session.kept.files, session.kept.failed, session.kept.fixes) == ([], [], [])
    session.end()
    assert learned() == ()


def test_a_command_that_worked_instead_of_one_that_failed_is_learned_with_its_session(session: Session):
    session.fails(PUSH)
    session.works("git status")
    session.works(PUSH_TO)
    session.end()
    [one] = learned()
    assert one.text == "In website the command `git push` fails; `git push -u origin main` works."
    assert (one.category, one.source_project, one.session_id) == ("heuristics", "website", "s1")
    assert one.metadata == {"learned_by": "tool use", "said": f"`git push` failed: {NO_UPSTREAM}"}
    assert (one.confidence, one.trust) == (0.2, "low")
    with Memory(embedder="none") as memory:
        assert {memory.get(id).conversation_id for id in one.evidence} == {"s1"}


def test_the_same_two_commands_in_another_session_are_an_observation(session: Session):
    for id, error in (("s1", NO_UPSTREAM), ("s2", "fatal: no upstream")):
        other = Session(session.project, id)
        other.fails(PUSH, error)
        other.works(PUSH_TO)
        other.end()
        found = learned()
    [one] = found
    assert (one.observation_count, len(one.evidence)) == (2, 2)


def test_what_was_not_mended_or_mended_by_a_change_teaches_nothing(session: Session):
    session.fails("npm test")
    session.fails("npm test")
    session.works("npm run build")
    session.fails("deploy", "app.py has a mistake")
    session.edits("app.py")
    session.works("deploy --wait")
    session.fails("release")
    session.use("Write", tool_input={"file_path": "/etc/hosts"}, tool_response={})
    session.works("release --wait")
    session.fails("git fetch")
    session.works("git fetch")
    session.end()
    assert learned() == ()
    assert [one["command"] for one in session.kept.failed] == ["npm test", "deploy", "release", "git fetch"]


@pytest.mark.parametrize(
    ("failed", "worked", "mended"),
    [
        ("pytest tests", "uv run pytest tests", True), ("npm test", "CI=1 npm test", True),
        ("python -m pytest", ".venv/bin/pytest", True), ("git pull", "git pull --rebase", True),
        ("npm test", "npm test -- --run", True),
        ("pytest", "pytest tests/unit", False), ("pytest tests/a.py", "pytest tests/b.py", False),
        ("grep -q x app.py", "grep -q x app.py lib.py", False),
        ("git commit -m x", "git commit -m x --no-verify", False),
        ("git push", "git push -f", False), ("git push", "git push origin main | tail -1", False),
        ("git push", "hg push", False), ("git push 'x", "git push x", False),
    ],
)  # fmt: skip
def test_a_command_mends_another_if_it_does_the_same_and_leaves_no_check_out(failed: str, worked: str, mended: bool):
    assert is_fix(failed, worked) == mended


def test_no_secret_no_output_and_no_place_is_kept_of_a_command(session: Session):
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    session.fails(f"git push https://x:{token}@example.org/a.git", f"the whole output\nremote: bad {token}")
    session.works(f"git push -u https://x:{token}@example.org/a.git")
    session.fails(f"cd {session.project} && {session.project}/bin/deploy", "x" * 500)
    session.fails("first\nsecond")
    session.fails("y" * 300)
    kept = json.dumps([session.kept.failed, session.kept.fixes])
    assert token not in kept
    assert "whole output" not in kept
    push, deploy = session.kept.failed
    assert (push["error"].startswith("remote: bad"), session.kept.fixes) == (True, [])
    assert deploy["command"] == "bin/deploy"
    assert len(deploy["error"]) <= MAX_ERROR + len(" […]")


def test_what_is_kept_of_a_session_is_bounded(session: Session):
    for number in range(MAX_FILES + 1):
        session.edits(f"src/{number}.py")
    session.use("Write", tool_input={"file_path": "/etc/hosts"}, tool_response={})
    for number in range(MAX_FAILED + 1):
        session.fails(f"deploy {number}")
        session.works(f"deploy {number} --wait")
    assert session.kept.files == [f"src/{number}.py" for number in range(1, MAX_FILES + 1)]
    assert len(session.kept.failed) == MAX_FAILED
    assert len(session.kept.fixes) == MAX_FIXES


def test_a_failure_that_a_host_tells_with_its_exit_code_counts_once(session: Session):
    told: dict[str, Any] = {
        "tool_input": {"command": PUSH},
        "tool_response": json.dumps({"stderr": NO_UPSTREAM, "exit_code": 128}),
    }
    session.use("Bash", **told)
    session.uses -= 1
    session.use("Bash", **told)
    session.use("Bash", tool_input={"command": "sleep 9"}, tool_response={"interrupted": True, "exit_code": 130})
    odd_inputs: tuple[Any, ...] = (None, [], 7, {"command": 7})
    for odd in odd_inputs:
        session.use("Bash", tool_input=odd, tool_response=odd)
    assert session.kept.failed == [{"command": PUSH, "error": NO_UPSTREAM, "open": True}]


@pytest.mark.parametrize("kind", ["private", "off the record"])
def test_a_private_project_and_a_session_off_the_record_keep_nothing(session: Session, kind: str):
    if kind == "private":
        make_private(session.project)
    else:
        go_off_record("s1")
    session.edits("app.py")
    session.fails(PUSH)
    session.works(PUSH_TO)
    session.end()
    assert (session.kept.files, session.kept.failed, session.kept.fixes) == ([], [], [])
    assert learned() == ()


def test_one_undo_takes_what_was_learned_back_and_forgetting_the_session_takes_all_of_it(session: Session):
    session.tell(session.host.prompt("Always push with an upstream branch."))
    session.fails(PUSH)
    session.works(PUSH_TO)
    session.end()
    with Memory(embedder="none") as memory:
        memory.work()
        both = memory.list(category=LEARNING_CATEGORIES).records
        [batch] = {memory.history(one.number)[0].change.batch for one in both}
        assert len(both) == 2
        assert batch is not None
        memory.undo(batch)
        assert memory.list(category=LEARNING_CATEGORIES).records == ()
    user = User({"PERDURE_EMBEDDER": "none"})
    user.done("session", "forget", "s1", "--yes")
    assert user.done("session", "tools", "s1", "--json").json["failed_commands"] == []
    assert learned() == ()


def test_erasing_the_conversation_of_a_session_takes_what_is_kept_of_its_tools(session: Session):
    session.fails(PUSH)
    session.works(PUSH_TO)
    session.end()
    assert len(learned()) == 1
    user = User({"PERDURE_EMBEDDER": "none"})
    user.done("erase", "--conversation-id", "s1", "--dry-run")
    assert session.kept.fixes
    user.done("erase", "--conversation-id", "s1", "--yes")
    assert (session.kept.failed, session.kept.fixes) == ([], [])
    assert learned() == ()


def test_what_is_kept_is_shown(session: Session):
    user = User({"PERDURE_EMBEDDER": "none"})
    assert "Nothing is kept of the tools of session s1." in user.done("session", "tools", "s1").err
    session.edits("app.py")
    session.fails(PUSH)
    session.works(PUSH_TO)
    assert user.done("session", "tools", "s1").out.splitlines() == [
        "file\tapp.py\t", f"failed\t{PUSH}\t{NO_UPSTREAM}", f"worked\t{PUSH_TO}\t{PUSH}",
    ]  # fmt: skip


def test_a_session_s_tools_are_no_answer_to_where_it_stopped(session: Session):
    session.tell(session.host.prompt("Please push the branch to the server"))
    session.tell(session.host.stop("The branch is pushed."))
    session.fails(PUSH)
    session.works(PUSH_TO)
    session.end()
    told = respond(json.dumps(HostSession("claude", session.project, "s2").start()).encode(), (), NEVER)
    assert "Done at the end: The branch is pushed." in told
