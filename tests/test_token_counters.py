"""A caller may count tokens with a function of its own: budgets meant for another model hold by that model's count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, SemanticMemoryStore
from perdure.errors import InvalidInput, SettingsInvalid


def by_words(text: str) -> int:
    return len(text.split())


def by_letters(text: str) -> int:
    return len(text)


class Tokenizer:
    def __call__(self, text: str) -> int:
        return 3 * len(text.split())


def opened(path: Path, counter: Callable[[str], int] | None) -> Memory:
    return Memory(path / "m.db", embedder="none", count_tokens=counter)


@given(budget=st.integers(1, 400))
@pytest.mark.parametrize("counter", [by_words, by_letters])
def test_no_context_has_more_tokens_than_its_budget_by_the_callers_count(
    tmp_path_factory: pytest.TempPathFactory, counter: Callable[[str], int], budget: int
):
    path = tmp_path_factory.getbasetemp() / f"counted {counter.__name__}"
    path.mkdir(exist_ok=True)
    with opened(path, counter) as memory:
        if not len(memory.list()):
            for number in range(12):
                memory.remember(f"Bridge {number} crosses the river. " + "It is old and made of stone. " * number)
        made = memory.context("which bridge crosses the river?", budget=budget)
    assert counter(made.text) == made.tokens <= budget
    assert made.token_counter == counter.__name__


def test_every_answer_with_a_budget_names_the_callers_counter(tmp_path: Path):
    with opened(tmp_path, by_words) as memory:
        memory.remember("The river has seven bridges.", tier="constitutional")
        capacity, summary = memory.capacity(), memory.summarize(token_limit=50)
        assert memory.constitution().tokens == 5
    assert (capacity.tokens, capacity.token_counter) == (5, "by_words")
    assert (summary.tokens, summary.token_counter) == (by_words(summary.text), "by_words")


def test_an_object_that_can_be_called_counts_under_the_name_of_its_class(tmp_path: Path):
    with opened(tmp_path, Tokenizer()) as memory:
        memory.remember("The river has seven bridges.")
        capacity = memory.capacity()
    assert (capacity.tokens, capacity.token_counter) == (15, "Tokenizer")


def test_the_limit_of_a_namespace_is_counted_by_the_callers_counter(tmp_path: Path):
    with opened(tmp_path, by_words) as memory:
        memory.capacity(max_tokens=10)
        memory.remember("one two three four five")
        assert memory.remember("six seven eight nine ten").evicted == ()
        evicted = memory.remember("one word too many now").evicted
    assert [record.text for record in evicted] == ["one two three four five"]


def test_what_a_memory_takes_was_counted_by_whoever_wrote_it(tmp_path: Path):
    with opened(tmp_path, by_words) as memory:
        memory.remember("five words are in here")
    with opened(tmp_path, by_letters) as memory:
        assert (memory.capacity().tokens, memory.capacity().token_counter) == (5, "by_letters")
        memory.remember("eight...")
        assert memory.capacity().tokens == 5 + 8


def test_doctor_does_not_doubt_the_callers_count(tmp_path: Path):
    with opened(tmp_path, by_letters) as memory:
        memory.remember("The river has seven bridges.")
        assert [finding for finding in memory.doctor() if finding.level != "ok"] == []
        assert [finding for finding in memory.doctor(repair=True) if finding.level != "ok"] == []
        assert memory.capacity().tokens == 28


def test_the_store_of_the_specification_takes_a_counter_too(tmp_path: Path):
    with SemanticMemoryStore(tmp_path / "m.db", embedder="none", count_tokens=by_words) as store:
        store.memorize("The river has seven bridges.")
        assert store.get_capacity_info().token_usage == 5


def broken(text: str) -> int:
    raise ValueError("no vocabulary")


@pytest.mark.parametrize("answer", ["12", 1.5, None, True, -1, 10**9])
def test_a_counter_that_does_not_count_is_refused_before_a_store_is_made(tmp_path: Path, answer: object):
    def odd(text: str) -> int:
        return cast("int", answer)

    with pytest.raises(
        InvalidInput, match=r"count_tokens \(odd\) (failed: TypeError|says .* for a text of 24)"
    ) as refused:
        opened(tmp_path, odd)
    assert "takes a text" in refused.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("counter", "sentence"), [(12, "is not a function"), (broken, "ValueError: no vocabulary")])
def test_a_counter_that_cannot_be_called_is_refused(tmp_path: Path, counter: Any, sentence: str):
    with pytest.raises(InvalidInput, match=sentence):
        opened(tmp_path, counter)
    assert list(tmp_path.iterdir()) == []


def test_a_counter_that_fails_later_is_an_error_and_nothing_is_half_done(tmp_path: Path):
    works = True

    def moody(text: str) -> int:
        if not works:
            raise RuntimeError("out of order")
        return len(text.split())

    with opened(tmp_path, moody) as memory:
        memory.remember("The river has seven bridges.")
        works = False
        with pytest.raises(InvalidInput, match=r"count_tokens \(moody\) failed: RuntimeError: out of order"):
            memory.remember("It has eight now.")
        with pytest.raises(InvalidInput, match="out of order"):
            memory.context("bridges", budget=100)
        assert [hit.record.number for hit in memory.recall("bridges")] == [1]
        works = True
        assert memory.remember("It has eight now.").record.number == 2


def test_an_integer_of_another_library_is_an_integer(tmp_path: Path):
    numpy = pytest.importorskip("numpy")
    with opened(tmp_path, lambda text: numpy.int64(len(text.split()))) as memory:
        memory.remember("The river has seven bridges.")
        assert memory.capacity().tokens == 5


def test_the_name_of_a_model_is_checked_also_as_an_argument(tmp_path: Path):
    with pytest.raises(SettingsInvalid, match="embedder is 'loca'"):
        Memory(tmp_path / "m.db", embedder="loca")
