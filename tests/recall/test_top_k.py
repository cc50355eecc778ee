"""The best of an array, compared with sorting it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.top_k import top_k, top_k_newest


@given(
    st.integers(0, 2**32), st.integers(0, 30_000), st.integers(1, 400), st.sampled_from([0.0, 0.01, 0.5, 0.999, 1.0]),
    st.sampled_from([3, 50, 10**9]),
)  # fmt: skip
def test_the_largest_are_found_with_their_ties_and_never_a_zero(
    seed: int, size: int, count: int, zeros: float, distinct: int
):
    rng = np.random.default_rng(seed)
    values = (1 + rng.integers(0, distinct, size)).astype(np.float32)
    values[rng.random(size) < zeros] = 0
    found = top_k(values, count)
    positive = np.flatnonzero(values > 0)
    last = np.sort(values[positive])[::-1][:count]
    expected = positive[values[positive] >= last[-1]] if len(last) else positive
    assert found.tolist() == expected.tolist()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 10**6)), unique_by=lambda pair: pair[1]), st.integers(1, 9))
def test_of_equal_ones_the_newest_are_kept(pairs: list[tuple[int, int]], count: int):
    values = np.array([value for value, _ in pairs], np.float32)
    numbers = np.array([number for _, number in pairs], np.int64)
    kept = top_k_newest(np.arange(len(pairs)), values, numbers, count)
    expected = sorted(range(len(pairs)), key=lambda at: (-values[at], -numbers[at]))[:count]
    assert sorted(kept.tolist()) == sorted(expected)
