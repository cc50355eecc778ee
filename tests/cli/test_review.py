"""`perdure review`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from learn.proposals import pair, proposed

from perdure import Memory

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def waiting(store: Path) -> str:
    with Memory(store, embedder="none") as memory:
        proposal = proposed(memory, *pair(memory))
    assert proposal
    return str(proposal.number)


def test_with_nothing_to_answer_it_says_so(user: User):
    user.done("remember", "Ada likes tea.")
    assert "Nothing waits for you." in user.done("review").err


def test_it_lists_both_memories_the_reasons_and_what_to_type(user: User, waiting: str):
    page = user.screen("review", NO_COLOR="1")
    assert f"#{waiting}  merge: do these two say the same?  cosine 0.85" in page
    assert "Ada likes tea." in page
    assert "Ada is fond of tea." in page
    assert "the words differ" in page
    (row,) = user.done("review").rows
    assert row[:5] == [waiting, "merge", "1", "2", "0.85"]
    (document,) = user.done("review", "--json").json["proposals"]
    assert (document["kind"], document["first"]["number"], document["second"]["number"]) == ("merge", 1, 2)
    assert f"perdure review accept {waiting}" in user.done("review").err


def test_a_rejected_proposal_is_gone_and_can_be_taken_back(user: User, waiting: str):
    answer = user.done("review", "reject", waiting)
    assert f"Rejected #{waiting}." in answer.out
    assert user.done("review").out == ""
    user.done("undo", "--yes")
    assert len(user.done("review").rows) == 1


def test_an_answer_needs_a_proposal(user: User, waiting: str):
    assert "Say which proposal" in user.fails(2, "review", "accept").err
    assert "is not a proposal" in user.fails(3, "review", "reject", "1").err
    for answer in ("accept", "reject"):
        failed = user.fails(3, "review", answer, "99").err
        assert "There is no proposal 99." in failed
        assert "`perdure review` lists what waits." in failed
    assert "There is no kind" in user.fails(2, "review", "--kind", "mergers").err
    assert waiting


def test_an_accepted_merge_shows_what_became_of_the_memories(user: User, waiting: str):
    answer = user.done("review", "accept", waiting)
    assert f"Accepted #{waiting}." in answer.out
    assert "Ada likes tea. Ada is fond of tea." in answer.out
    assert "note: The gate" in answer.err
    assert "take it back: perdure undo" in answer.err
    assert [row[0] for row in user.done("list").rows] == ["4"]
    assert "was accepted" in user.fails(4, "review", "accept", waiting).err
    user.done("undo", "--yes")
    assert len(user.done("list").rows) == 2


def test_of_a_conflict_either_memory_can_be_kept(user: User, store: Path):
    with Memory(store, embedder="none") as memory:
        memory.save_memory("Alice lives in Osaka")
        (number,) = memory.save_memory("Alice lives in Tokyo").proposals
    page = user.screen("review", NO_COLOR="1")
    assert "conflict: which of these two is true?" in page
    document = user.done("review", "accept", str(number), "--keep", "1", "--json").json
    assert [(record["number"], record["state"]) for record in document["records"]] == [(2, "superseded"), (1, "active")]
    assert "--keep belongs to accept" in user.fails(2, "review", "--keep", "1").err
