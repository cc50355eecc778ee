"""What Perdure may not decide alone waits for a person, is asked once, and every answer can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from learn.proposals import only, pair, proposed

from perdure import Memory, errors
from perdure.testing.embedder import WordEmbedder


def test_a_proposal_names_both_memories_and_says_why_it_asks(memory: Memory):
    first, second = pair(memory)
    proposed(memory, second, first)
    proposal = only(memory)
    assert (proposal.kind, proposal.first, proposal.second) == ("merge", first, second)
    assert (proposal.reasons, proposal.cosine) == (("the words differ",), 0.85)
    assert proposal.line == f"#{proposal.number} merge: #1 Ada likes tea. | #2 Ada is fond of tea."
    assert "Why you are asked: the words differ." in memory.get(proposal.number).text


def test_a_pair_is_proposed_once_in_whatever_order(memory: Memory):
    first, second = pair(memory)
    assert proposed(memory, first, second)
    assert proposed(memory, first, second) is None
    assert proposed(memory, second, first) is None
    assert proposed(memory, first, second, "conflict"), "another question is another proposal"
    assert [each.kind for each in memory.review()] == ["conflict", "merge"]
    assert [each.kind for each in memory.review("merge")] == ["merge"]


def test_a_rejected_pair_is_not_proposed_again_until_one_of_them_says_something_else(memory: Memory):
    first, second = pair(memory)
    proposed(memory, first, second)
    memory.reject(only(memory))
    assert (memory.review(), proposed(memory, first, second)) == ([], None)
    changed = memory.update(second.number, text="Ada is fond of green tea.").record
    assert proposed(memory, first, changed)
    assert only(memory).second == changed


def test_a_rejection_is_taken_back(memory: Memory):
    first, second = pair(memory)
    proposed(memory, first, second)
    before = only(memory)
    rejected = memory.reject(before.number)
    assert (rejected.decision, rejected.records) == ("rejected", (first, second))
    memory.undo(rejected.batch)
    assert only(memory) == before


@pytest.mark.parametrize("change", ["forget", "reword", "erase"])
def test_a_proposal_about_a_memory_that_is_gone_or_says_something_else_is_not_listed(memory: Memory, change: str):
    first, second = pair(memory)
    proposal = proposed(memory, first, second)
    assert proposal
    if change == "forget":
        memory.forget(second.number)
    elif change == "erase":
        memory.erase(second.number, confirm=True)
    else:
        memory.update(second.number, text="Ada grows tea.")
    assert memory.review() == []
    with pytest.raises((errors.Conflict, errors.NotFound)):
        memory.reject(proposal.number)


def test_a_model_answers_no_proposal(memory: Memory, tmp_path: Path):
    first, second = pair(memory)
    proposed(memory, first, second)
    with Memory(f"{tmp_path}/model.db", embedder="none", writer="model") as model:
        proposed(model, *pair(model))
        with pytest.raises(errors.NotAllowed, match="Only a person may accept or reject a proposal"):
            model.reject(only(model))
        assert len(model.review()) == 1, "but it may see what waits"


def test_what_is_no_proposal_is_not_answered(memory: Memory):
    first, _ = pair(memory)
    with pytest.raises(errors.NotFound, match="#1 is not a proposal"):
        memory.reject(first.number)
    memory.upsert("proposal:mine", "A key that somebody gave.")
    with pytest.raises(errors.NotFound, match="is not a proposal"):
        memory.reject("proposal:mine")
    with pytest.raises(errors.UnknownChoice):
        memory.review("mergers")


def test_a_proposal_is_shown_only_where_it_is_asked_for():
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        first, second = pair(memory)
        proposal = proposed(memory, first, second)
        assert proposal
        answer = memory.recall("Ada likes tea", min_relevance=0)
        assert {hit.record.number for hit in answer} == {first.number, second.number}
        assert answer.notes == (), "that it waits for a vector concerns nobody"
        assert {record.number for record in memory.list()} == {first.number, second.number}
        assert [record.number for record in memory.list(key_type="proposal")] == [proposal.number]


def test_a_proposal_evicts_no_memory_and_goes_first():
    with Memory(":memory:", embedder="none") as memory:
        first, second = pair(memory)
        memory.capacity(max_items=2)
        proposal = proposed(memory, first, second)
        assert proposal
        assert len(memory.list()) == 2
        memory.capacity(max_items=3)
        evicted = memory.remember("Ada has a cat").evicted
        assert [record.number for record in evicted] == [proposal.number]
        assert proposed(memory, first, second), "what was evicted can be proposed again"


def test_many_proposals_that_are_over_do_not_hide_one_that_waits(memory: Memory):
    first, second = pair(memory)
    proposed(memory, first, second)
    waiting = only(memory)
    for place in range(150):
        other = memory.remember(f"Grace likes drink {place}.").record
        proposed(memory, first, other)
        memory.forget(other.number)
    assert memory.review(limit=1) == [waiting]
