"""Who may see what a session writes, through the hook's functions, the server's tools and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.user import User
from hook.hosts import HostSession, tell
from mcp_server.host import served
from specs.projects import git, learn, repository, told

from perdure import Memory
from perdure.session.capture import Turn, capture
from perdure.session.origin import Origin
from perdure.session.privacy import (
    begin_after_clear,
    go_off_record,
    go_on_record,
    make_private,
    make_shared,
    note_cleared,
    where,
)
from perdure.session.spool import Spool
from perdure.settings import load

SESSION = "5f0c9a4e-1111-4222-8333-944455566677"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "secret-plans", commits=1)


@pytest.fixture
def store(stranger: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own store, without a model."""
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    with Memory() as memory:
        learn(memory, "Common knowledge about deploys")
    return stranger / ".local/share/perdure/memory.db"


@pytest.fixture
def user(store: Path) -> User:
    return User({"PERDURE_STORE": str(store), "PERDURE_EMBEDDER": "none", "COLUMNS": "100", "NO_COLOR": "1"})


def called(store: Path, project: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    with served(store, origin=Origin("plans", SESSION), project=project, tools="all") as host:
        return host.result(tool, **arguments)


def texts(store: Path, namespace: str = "default") -> set[str]:
    with Memory(store, namespace=namespace, embedder="none") as memory:
        return {record.text for record in memory.list(limit=100).records}


def test_what_a_private_project_learns_is_its_own(store: Path, project: Path, tmp_path: Path):
    root, new = make_private(project)
    assert (root, new) == (project, True)
    place = where(project)
    assert place.private
    called(store, project, "remember", text="The plan is called Osaka")
    assert texts(store) == {"Common knowledge about deploys"}
    assert texts(store, place.namespace) == {"The plan is called Osaka"}
    elsewhere = called(store, repository(tmp_path / "other"), "recall", query="what is the plan called?")
    assert "Osaka" not in str(elsewhere)


def test_a_private_project_sees_what_is_common(store: Path, project: Path):
    make_private(project)
    called(store, project, "store_memory", name="Plan", description="Private plan about deploys", reasoning="Said so",
         category="patterns")  # fmt: skip
    found = str(called(store, project, "recall", query="deploys"))
    assert "Private plan" in found
    assert "Common knowledge" in found
    block = told(project)
    assert "Private plan about deploys" in block.text
    assert "Common knowledge about deploys" in block.text


def test_a_number_that_a_private_project_and_the_common_memory_have_is_answered_with_both(store: Path, project: Path):
    with Memory(store, embedder="none") as memory:
        learn(memory, "Common knowledge about tea")
    make_private(project)
    called(store, project, "remember", text="Private plan about deploys")
    found = called(store, project, "recall", query="deploys")["structuredContent"]["memories"]
    own = where(project).namespace[:30]
    assert {(each["number"], own in each["origin"]) for each in found} == {(1, True), (1, False)}
    told = called(store, project, "recall_detail", ids=[1, 2])
    details = told["structuredContent"]["memories"]
    assert [(each["number"], own in each["origin"]) for each in details] == [(1, True), (1, False), (2, False)]
    assert "in default" in details[1]["origin"]
    assert "in default" in told["content"][0]["text"]
    # Whatever names one memory in all the world is answered with that one.
    with Memory(store, embedder="none") as memory:
        id = memory.get(2).id
    assert len(called(store, project, "recall_detail", ids=[id])["structuredContent"]["memories"]) == 1


def test_folders_and_worktrees_of_a_private_project_are_private(project: Path, tmp_path: Path):
    make_private(project)
    (project / "src" / "deep").mkdir(parents=True)
    git(project, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    places = {where(folder).namespace for folder in (project, project / "src" / "deep", tmp_path / "tree")}
    assert places == {where(project).namespace}
    assert not where(tmp_path).private
    make_shared(tmp_path / "tree")
    assert not where(project).private


def test_a_folder_that_only_claims_to_be_a_worktree_of_a_private_project_sees_and_stores_nothing_of_it(
    store: Path, project: Path, tmp_path: Path
):
    """Nothing goes to all projects either: it may be a worktree that was moved."""
    make_private(project)
    called(store, project, "remember", text="A secret plan")
    tree, other = tmp_path / "tree", tmp_path / "other"
    git(project, "worktree", "add", "--quiet", str(tree))
    other.mkdir()
    (other / ".git").write_bytes((tree / ".git").read_bytes())
    assert "A secret plan" in str(called(store, tree, "recall", query="secret plan"))
    assert "A secret plan" not in str(called(store, other, "recall", query="secret plan"))
    refused = called(store, other, "remember", text="Another plan")
    assert (refused["isError"], "git worktree repair" in str(refused["content"])) == (True, True)
    tree.rename(tmp_path / "moved")
    assert not where(tmp_path / "moved").recording
    git(tmp_path / "moved", "worktree", "repair")
    assert where(tmp_path / "moved").namespace == where(project).namespace


def test_nothing_of_a_session_off_the_record_is_stored(store: Path, project: Path):
    go_off_record(SESSION)
    answer = called(store, project, "remember", text="Not to be kept")
    assert answer["isError"]
    assert "off the record" in str(answer["content"])
    assert not capture(load(), where(project, SESSION), Turn(SESSION, "user", "Not to be kept"))
    told(project, session=SESSION)
    assert not Spool(store).waiting()
    assert texts(store) == {"Common knowledge about deploys"}
    assert not called(store, project, "recall", query="deploys")["isError"]


def test_a_session_comes_back_on_the_record(store: Path, project: Path):
    go_off_record(SESSION)
    go_on_record(SESSION)
    assert not called(store, project, "remember", text="To be kept")["isError"]
    assert "To be kept" in texts(store)


def test_a_server_that_was_not_told_the_new_session_stores_nothing(store: Path, project: Path):
    """After `/clear` a host has a new session, and its servers still know the old one."""
    told(project, session="the new one")
    go_off_record("the new one")
    assert called(store, project, "remember", text="Not to be kept")["isError"]


def test_what_is_stored_after_a_clear_is_of_the_new_session(store: Path, project: Path):
    """Its hooks are told the new one, its server is not."""
    first, second = HostSession("claude", project, SESSION), HostSession("claude", project, "second")
    tell(first, {**first.end(), "reason": "clear"})
    tell(second, second.start("clear"))
    note_cleared(project, "second")
    begin_after_clear(project, "third")
    called(store, project, "remember", text="Said in the third session")
    with Memory(store, embedder="none") as memory:
        assert memory.list().records[0].session_id == "third"
        assert memory.log(limit=1)[0].change.session == "third"


def test_a_session_off_the_record_stays_so_when_it_is_cleared(store: Path, project: Path):
    go_off_record(SESSION)
    note_cleared(project, SESSION)
    begin_after_clear(project, "second")
    assert called(store, project, "remember", text="Not to be kept")["isError"]
    assert not where(project, "second").recording


def test_a_call_that_tells_its_session_is_refused_when_that_is_off_the_record(store: Path, project: Path):
    """Codex tells it with each call, and starts its servers without."""
    go_off_record("off")
    with served(store, origin=Origin("plans"), project=project) as host:
        answers = [
            host.request(
                "tools/call", name="remember", arguments={"text": f"Said in {name}"}, _meta={"sessionId": name}
            )
            for name in ("off", "on")
        ]
        # The latest session of the project is another one's business.
        told(project, session="off")
        answers.append(
            host.request("tools/call", name="remember", arguments={"text": "Said again"}, _meta={"sessionId": "on"})
        )
    assert [answer["isError"] for answer in answers] == [True, False, False]
    assert texts(store) == {"Common knowledge about deploys", "Said in on", "Said again"}


def test_where_it_cannot_be_told_nothing_is_stored(store: Path, project: Path, stranger: Path):
    marks = stranger / ".local/share/perdure/sessions/private"
    marks.parent.mkdir(parents=True)
    marks.symlink_to(marks)
    assert not where(project).recording
    assert called(store, project, "remember", text="Perhaps private")["isError"]


def test_a_project_becomes_private_while_a_server_runs(store: Path, project: Path):
    with served(store, origin=Origin("plans", SESSION), project=project) as host:
        host.call("remember", text="Said in common")
        make_private(project)
        host.call("remember", text="Said in private")
    assert "Said in common" in texts(store)
    assert texts(store, where(project).namespace) == {"Said in private"}


def test_a_session_is_taken_back_whole(store: Path, project: Path, user: User):
    """What its tools stored, what it changed, what was said in it, and what was made of that."""
    called(store, project, "remember", text="Stored by the session")
    called(store, project, "memory_update", id=1, text="Changed by the session")
    place = where(project, SESSION)
    for number in range(6):
        capture(load(), place, Turn(SESSION, "user", f"Turn {number}: I live in Osaka now"))
    with Memory(store, embedder="none") as memory:
        assert Spool(store).drain(memory) == 6
        memory.work()
    capture(load(), place, Turn(SESSION, "user", "Not in the store yet"))
    preview = user.done("session", "forget", SESSION, "--dry-run")
    assert ["removed", "default", "2", "Stored by the session"] in preview.rows
    assert "Changed by the session" in texts(store)
    refused = user.fails(4, "session", "forget", SESSION)
    assert "--yes" in refused.err
    user.done("session", "forget", SESSION, "--yes")
    assert texts(store) == {"Common knowledge about deploys"}
    assert not Spool(store).waiting()
    with Memory(store, embedder="none") as memory:
        assert not memory.list(conversation_id=SESSION).records
        assert not memory.episodes("Osaka")


def test_taking_a_session_back_can_be_taken_back(store: Path, project: Path, user: User):
    called(store, project, "remember", text="Stored by the session")
    done = user.done("session", "forget", SESSION, "--yes", "--json").json
    user.done("undo", done["batch"], "--all-namespaces")
    assert "Stored by the session" in texts(store)


def test_what_was_made_of_a_session_goes_also_after_its_changes_were_undone(store: Path, project: Path, user: User):
    for number in range(6):
        capture(load(), where(project, SESSION), Turn(SESSION, "user", f"I live in Osaka now. That was turn {number}."))
    with Memory(store, settings=load(episode_max_messages=5, consolidation_episodes=1)) as memory:
        Spool(store).drain(memory)
        assert memory.work().facts_changed
        memory.undo(session=SESSION)
        assert memory.list(conversation_id=SESSION).records
    user.done("session", "forget", SESSION, "--yes")
    assert texts(store) == {"Common knowledge about deploys"}
    assert "wrote nothing" in user.done("session", "forget", SESSION, "--yes").err


def test_a_session_that_wrote_nothing_has_nothing_to_take_back(user: User):
    assert "wrote nothing" in user.done("session", "forget", "nobody", "--yes").err


def test_sessions_are_listed_with_what_they_were_told(store: Path, project: Path, user: User):
    told(project, session=SESSION)
    called(store, project, "remember", text="Stored by the session")
    go_off_record(SESSION)
    (row,) = user.done("session", "list").rows
    assert (row[0], row[2:]) == (SESSION, ["secret-plans", "1", row[4], "1", "true"])
    assert "off the record" in user.screen("session", "list")
