"""S3: the search for several concepts, and the phrases that bring a memory to mind."""

from __future__ import annotations

from typing import Any

import pytest

from perdure import Memory, errors
from perdure.testing.embedder import WordEmbedder

CONCEPTS = ["oauth", "errors", "callback"]


@pytest.mark.parametrize("number", [1, 2, 5, 6])
def test_two_to_five_concepts_can_be_asked_for(memory: Memory, number: int):
    """S3 concepts number: neither fewer nor more."""
    words = [f"word{n}" for n in range(number)]
    memory.remember(" ".join(words))
    if 2 <= number <= 5:
        assert len(memory.recall(concepts=words)) == 1
    else:
        with pytest.raises(errors.InvalidInput, match="2 to 5"):
            memory.recall(concepts=words)


def test_an_answer_holds_all_of_the_concepts(memory: Memory):
    """S3 concepts all: a memory that lacks one is no answer, however well it fits the rest."""
    memory.remember("oauth oauth oauth callback callback callback")
    memory.remember("The callback of OAuth reports an error in a long text about many other things as well")
    memory.remember("errors in the callback")
    assert [hit.record.number for hit in memory.recall(concepts=CONCEPTS)] == [2]


def test_an_answer_says_how_often_it_holds_each(memory: Memory):
    """S3 concepts counts: as in `oauth (5), errors (3), callback (7)`."""
    memory.remember(" ".join(["oauth"] * 5 + ["error"] * 3 + ["callbacks"] * 7))
    assert memory.recall(concepts=CONCEPTS)[0].concepts == {"oauth": 5, "errors": 3, "callback": 7}


def test_a_phrase_in_a_prompt_brings_its_memory(memory: Memory):
    """S3 triggers match: the phrase, and how sure that is; another prompt brings nothing."""
    memory.remember("Write the plan to notes.md", trigger_phrases=["save context", "document this"])
    (match,) = memory.match_triggers("save context for the auth work")
    assert (match.phrase, match.confidence, match.record.number) == ("save context", 0.95, 1)
    assert memory.match_triggers("the auth work has no context to save") == ()


class _Silent(WordEmbedder):
    def embed_query(self, text: str) -> Any:
        raise AssertionError("a model was asked")


def test_triggers_are_looked_up_without_a_model(memory: Memory):
    """S3 triggers fast: among thousands of phrases too; what it takes is measured by `make bench-triggers`."""
    with Memory(":memory:", embedder=_Silent()) as many:
        many.import_({"text": f"memory {n}", "trigger_phrases": [f"phrase {n}"]} for n in range(2000))
        assert [match.record.text for match in many.match_triggers("here is phrase 1234 again")] == ["memory 1234"]


def test_other_phrases_count_at_once(memory: Memory):
    """S3 triggers update: the new ones match, and the old ones no longer do."""
    memory.remember("Write the plan to notes.md", trigger_phrases=["save context"])
    memory.match_triggers("save context")
    memory.update(1, trigger_phrases=["store the plan"])
    assert memory.match_triggers("save context") == ()
    assert len(memory.match_triggers("please store the plan")) == 1
