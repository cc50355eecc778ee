"""Which of the learnings that were found a session starts with: the more there are, the more has to speak for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from perdure import Memory
from perdure.model import Hit
from perdure.recall.fitting import fitting_learnings


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none") as memory:
        yield memory


def found(
    memory: Memory, relevances: Sequence[float], texts: Sequence[str] = (), project: str = "website"
) -> list[Hit]:
    hits: list[Hit] = []
    for number, relevance in enumerate(relevances):
        text = texts[number] if texts else f"What was learned about the matter of number {number:02}"
        record = memory.remember(text, category="patterns", source_project=project).record
        hits.append(Hit(record, relevance, relevance, {}))
    return hits


def told(hits: Sequence[Hit]) -> list[float]:
    return [hit.relevance for hit in fitting_learnings(hits, lambda record: record.source_project == "website", 20)]


def test_a_few_are_told_as_soon_as_they_are_answers(memory: Memory):
    assert told(found(memory, [0.31, 0.3, 0.3])) == [0.31, 0.3, 0.3]


def test_the_more_are_told_the_better_the_next_has_to_fit(memory: Memory):
    assert told(found(memory, [0.45] * 7 + [0.31] * 5)) == [0.45] * 7
    assert told(found(memory, [0.45] * 12)) == [0.45] * 12


def test_of_average_ones_the_sixth_is_told_as_the_first_and_the_tenth_has_to_fit_better(memory: Memory):
    assert told(found(memory, [0.28] * 8)) == [0.28] * 6
    assert told(found(memory, [0.37] * 10)) == [0.37] * 10
    assert told(found(memory, [0.35] * 10)) == [0.35] * 9


def test_a_longer_one_has_to_fit_better(memory: Memory):
    long = "What was learned about the matter. " * 20
    texts = [*(f"Short one of number {number}" for number in range(7)), long]
    assert told(found(memory, [0.5] * 7 + [0.36], texts)) == [0.5] * 7
    texts = [*(f"Another one of number {number}, as long as all: {long}" for number in range(7)), f"Last: {long}"]
    assert told(found(memory, [0.5] * 7 + [0.36], texts)) == [0.5] * 7 + [0.36]


def test_what_was_learned_elsewhere_has_to_answer_where_something_of_the_project_fits(memory: Memory):
    elsewhere = found(memory, [0.6, 0.45], ["Learned elsewhere", "Learned elsewhere, too"], "ledger")
    own = found(memory, [0.32], ["Learned here"])
    assert told([*elsewhere, *own]) == [0.6, 0.32]
    assert told(elsewhere) == [0.6, 0.45]
