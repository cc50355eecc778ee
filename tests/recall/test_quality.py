"""Recall may not get worse: on real conversations, where their data is, and on the notes that we wrote to judge it."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.embed.local import unavailable
from perdure.text.stopwords import STOPWORDS
from perdure.text.time_expressions import find_time_ranges
from perdure.text.words import terms

REPOSITORY = Path(__file__).parents[2]
LOCOMO = Path(os.environ.get("PERDURE_BENCH_DATA", ""), "locomo10.json")
NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
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
def test_of_the_questions_that_our_own_notes_do_not_answer_at_least_half_have_no_answer():
    """What is shown all the same is below the number from which on a memory answers."""
    from bench.ours import local_embedder
    from bench.recall.results import ANSWERS_IT
    from bench.recall.runs import asked, stored
    from bench.recall.sets import notes
    from bench.recall.systems import DEFAULT

    (collection,) = notes(Path())
    with stored([collection], local_embedder()) as memory:
        absent = asked(memory.namespace(collection.name), collection.absent, DEFAULT)
    assert sum(max(answer.relevances, default=0.0) < ANSWERS_IT for answer in absent) >= len(absent) / 2


@NEEDS_MODEL
@pytest.mark.parametrize("kind", ["notes", "assistant-chats", "human-chats"])
def test_a_memory_is_found_by_a_word_that_it_alone_holds(kind: str):
    from bench.ours import local_embedder
    from bench.recall.runs import asked, stored
    from bench.recall.sets import SOURCES
    from bench.recall.systems import DEFAULT

    source = next(source for source in SOURCES if source.name == kind)
    collections = source.load(Path()).collections
    first, asked_for = 0, 0
    with stored(collections, local_embedder()) as memory:
        for each in collections:
            held = Counter(word for one in each.memories for word in set(terms(one["text"])))
            alone = {
                word: one["metadata"]["name"]
                for one in each.memories
                for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", one["text"])
                if held[terms(word)[0]] == 1 and word.lower() not in STOPWORDS and not find_time_ranges(word, NOW)
            }
            for word, name in list(alone.items())[::2]:
                (answer,) = asked(memory.namespace(each.name), [word], DEFAULT)
                asked_for += 1
                first += list(answer.names[:1]) == [name]
    assert asked_for >= 10
    assert first >= 0.9 * asked_for


def test_every_question_of_our_own_sets_has_an_answer_that_is_there():
    from bench.recall.sets import SOURCES

    for source in SOURCES:
        for collection in source.load(Path()).collections if not source.needs else ():
            names = {memory["metadata"]["name"] for memory in collection.memories}
            assert len(names) == len(collection.memories)
            assert all(question.gold and question.gold <= names for question in collection.questions)
            assert len({question.text for question in collection.questions}) == len(collection.questions)
