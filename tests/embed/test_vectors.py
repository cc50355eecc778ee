"""Whatever an embedder gives, only finite vectors of length 1 and of the right size get past the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from perdure import Memory
from perdure.embed.port import Embedder, Generation, Progress, Vectors, checked_vectors
from perdure.errors import EmbedderUnavailable

SIZE = 4


class Gives:
    """An embedder that gives what it was told to."""

    generation = Generation("testing", "gives", SIZE, "1")

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def embed_query(self, text: str) -> Vectors:
        return self.rows[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self.rows


def checked(rows: Any, texts: str | Sequence[str]) -> Vectors:
    return checked_vectors(cast("Embedder", Gives(rows)), texts)


@pytest.mark.parametrize(
    "row",
    [
        [3.0, 4.0, 0.0, 0.0],
        [3, 4, 0, 0],
        np.array([3, 4, 0, 0], np.float64),
        np.array([3e30, 4e30, 0, 0], np.float32),
        [3e300, 4e300, 0.0, 0.0],
        [3e-300, 4e-300, 0.0, 0.0],
        np.array([3, 4, 0, 0], np.float16),
        np.array([3, 4, 0, 0], np.int64),
    ],
    ids=repr,
)
def test_a_vector_of_any_length_and_any_kind_of_number_comes_out_at_length_one(row: Any):
    for made in (checked([row], "a query"), checked([row, row], ["one", "two"])[1]):
        assert made.dtype == np.float32
        assert made.flags.c_contiguous
        assert np.allclose(made, [0.6, 0.8, 0, 0], atol=1e-6)


def test_a_vector_that_is_of_length_one_already_is_not_copied():
    rows = np.array([[0.6, 0.8, 0, 0], [0, 1, 0, 0]], np.float32)
    assert checked(rows, ["one", "two"]) is rows
    assert np.shares_memory(checked(rows, "a query"), rows)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0.0, 0.0, 0.0, 0.0], "of zeros"),
        ([1.0, float("nan"), 0.0, 0.0], "not finite"),
        ([1.0, float("inf"), 0.0, 0.0], "not finite"),
        (np.array([1, np.inf, 0, 0], np.float32), "not finite"),
        (["0.6", "0.8", "0", "0"], "does not consist of numbers"),
        ([0.6, None, 0.0, 0.0], "does not consist of numbers"),
        ([True, False, False, False], "does not consist of numbers"),
        ([[0.6], [0.8], [0.0], [0.0]], "shape"),
        ([0.6, [0.8], 0.0, 0.0], "ValueError"),
        ([0.6, 0.8, 0.0], "shape"),
        ([0.6, 0.8, 0.0, 0.0, 0.0], "shape"),
        (np.array([1j, 0, 0, 0]), "does not consist of numbers"),
        ("0.6", "shape"),
        (None, "shape"),
    ],
    ids=repr,
)
def test_what_is_no_vector_is_refused_with_the_reason(row: Any, said: str):
    for rows, texts in (([row], "a query"), ([row], ["one passage"])):
        with pytest.raises(EmbedderUnavailable) as refused:
            checked(rows, texts)
        assert said in refused.value.sentence


@pytest.mark.parametrize("count", [0, 1, 3])
def test_more_or_fewer_vectors_than_texts_are_refused(count: int):
    with pytest.raises(EmbedderUnavailable, match="shape"):
        checked([[1.0, 0, 0, 0]] * count, ["one", "two"])


def test_no_texts_have_no_vectors():
    assert checked(np.empty((0, SIZE), np.float32), []).shape == (0, SIZE)
    assert checked(np.empty((0, SIZE)), []).shape == (0, SIZE)


def test_the_vectors_of_the_other_texts_are_at_hand_when_some_are_bad():
    rows = [[3.0, 4.0, 0.0, 0.0], [0.0] * SIZE, [0.0, 2.0, 0.0, 0.0], [float("nan")] * SIZE]
    with pytest.raises(EmbedderUnavailable) as refused:
        checked(rows, ["one", "two", "three", "four"])
    good = refused.value.good
    assert good is not None
    assert {place: [round(float(one), 3) for one in vector] for place, vector in good.items()} == {
        0: [0.6, 0.8, 0, 0],
        2: [0, 1, 0, 0],
    }


def test_what_an_embedder_calls_good_is_checked_like_the_rest():
    class Partly(Gives):
        def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
            error = EmbedderUnavailable("One of them is too rude.")
            error.good = {0: [0, 2, 0, 0], 1: [float("nan")] * SIZE, 2: [1.0], 3: "rude", 4: None, 5: [[1.0] * SIZE]}
            raise error

    with pytest.raises(EmbedderUnavailable, match="too rude") as refused:
        checked_vectors(Partly(None), ["text"] * 6)
    good = refused.value.good
    assert good is not None
    assert list(good) == [0]
    assert np.allclose(good[0], [0, 1, 0, 0])


def test_a_memory_keeps_unit_vectors_of_an_embedder_that_gives_none():
    class Long(Gives):
        def embed_query(self, text: str) -> Vectors:
            return np.array([30.0, 40, 0, 0])

        def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
            return np.array([[3.0, 4, 0, 0]] * len(texts))

    with Memory(":memory:", embedder=Long(None)) as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
        found = memory.recall("dark mode", min_relevance=0)
        assert found.mode == "hybrid"
        assert found[0].explain["vector"].raw == pytest.approx(1, abs=1e-6)
