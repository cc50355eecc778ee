"""Recall may not get worse: on real conversations, where their data is, and on the notes that we wrote to judge it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from perdure.embed.local import unavailable

REPOSITORY = Path(__file__).parents[2]
LOCOMO = Path(os.environ.get("PERDURE_BENCH_DATA", ""), "locomo10.json")
NEEDS_MODEL = pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")


@pytest.fixture(autouse=True)
def _bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(REPOSITORY)])


@pytest.mark.skipif(not LOCOMO.is_file(), reason="PERDURE_BENCH_DATA does not hold locomo10.json")
def test_two_conversations_are_answered_as_well_as_ever():
    from bench.ours import local_embedder
    from bench.recall.data import locomo
    from bench.recall.results import over
    from bench.recall.runs import stored
    from bench.recall.systems import DEFAULT

    conversations = locomo(LOCOMO)[:2]
    with stored(conversations, local_embedder()) as memory:
        answers = over(memory, conversations, DEFAULT)
    assert answers.ndcg > 0.6
    assert answers.found(10) > 0.75


@NEEDS_MODEL
def test_our_own_notes_are_found_as_well_as_ever():
    from bench.ours import local_embedder
    from bench.recall.results import over
    from bench.recall.runs import stored
    from bench.recall.sets import notes
    from bench.recall.systems import DEFAULT

    (collection,) = notes(Path())
    with stored([collection], local_embedder()) as memory:
        answers = over(memory, [collection], DEFAULT)
    assert answers.any_found(1) > 0.65
    assert answers.any_found(3) > 0.75
    assert answers.empty < 0.1


@NEEDS_MODEL
@pytest.mark.xfail(strict=True, reason="with the present weights 19 of the 20 reach the floor")
def test_half_of_the_questions_that_our_own_notes_do_not_answer_have_no_answer():
    from bench.ours import local_embedder
    from bench.recall.runs import asked, stored
    from bench.recall.sets import notes
    from bench.recall.systems import DEFAULT

    (collection,) = notes(Path())
    with stored([collection], local_embedder()) as memory:
        absent = asked(memory.namespace(collection.name), collection.absent, DEFAULT)
    assert sum(not answer.names for answer in absent) >= 10


def test_every_question_of_our_own_sets_has_an_answer_that_is_there():
    from bench.recall.sets import SOURCES

    for source in SOURCES:
        for collection in source.load(Path()).collections if not source.needs else ():
            names = {memory["metadata"]["name"] for memory in collection.memories}
            assert len(names) == len(collection.memories)
            assert all(question.gold and question.gold <= names for question in collection.questions)
            assert len({question.text for question in collection.questions}) == len(collection.questions)
