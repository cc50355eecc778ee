"""Search by meaning: few rows exactly, many by their signs first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.feed import unit

from perdure.recall import vectors
from perdure.recall.array_file import SelectedRows
from perdure.recall.vectors import VectorBuilder

if TYPE_CHECKING:
    from numpy.typing import NDArray


def built(matrix: NDArray[np.float32], present: NDArray[np.bool_] | None = None) -> VectorBuilder:
    builder = VectorBuilder(matrix.shape[1])
    builder.extend(matrix, np.ones(len(matrix), np.bool_) if present is None else present)
    return builder


def like_texts(rng: np.random.Generator, count: int, dimensions: int) -> NDArray[np.float32]:
    """Off centre, and wider in some directions than in others: as embeddings of texts lie."""
    directions = unit(np.random.default_rng(dimensions), dimensions, dimensions)
    points = rng.standard_normal((count, dimensions)) * np.arange(1, dimensions + 1) ** -0.6 @ directions
    points += 0.5 * np.linalg.norm(points, axis=1).mean() * directions[0]
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def top(matrix: NDArray[np.float32], query: NDArray[np.float32], count: int = 10) -> set[int]:
    return set(np.argsort(-(matrix @ query), kind="stable")[:count].tolist())


@pytest.mark.parametrize("dimensions", [384, 768, 100])
def test_of_many_rows_nearly_all_of_the_nearest_are_found(dimensions: int):
    rng = np.random.default_rng(dimensions)
    matrix = like_texts(rng, 12_000, dimensions)
    view = built(matrix).view()
    assert view.signs is not None
    shares: list[float] = []
    for query in 0.8 * matrix[:40] + 0.6 * like_texts(rng, 40, dimensions):
        near = view.nearest(query, None, 100)
        best = near.rows[np.argsort(-near.cosines)[:10]]
        shares.append(len(set(best.tolist()) & top(matrix, query)) / 10)
        assert near.cosines == pytest.approx(matrix[near.rows] @ query, abs=1e-5)
    assert np.mean(shares) >= 0.99


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 70), st.integers(1, 20))
def test_of_few_rows_exactly_the_nearest_allowed_ones_are_found(seed: int, rows: int, dimensions: int, count: int):
    rng = np.random.default_rng(seed)
    matrix, present, allowed = unit(rng, rows, dimensions), rng.random(rows) < 0.8, rng.random(rows) < 0.7
    matrix[~present] = 0
    query = unit(rng, dimensions)
    near = built(matrix, present).view().nearest(query, allowed, count)
    possible = present & allowed
    assert possible[near.rows].all()
    expected = np.sort((matrix @ query)[possible])[::-1][:count]
    assert np.sort(near.cosines)[::-1][:count] == pytest.approx(expected, abs=1e-5)


def test_a_row_that_is_not_allowed_is_never_found_among_many():
    rng = np.random.default_rng(1)
    matrix = like_texts(rng, 9000, 64)
    allowed = rng.random(9000) < 0.6
    for query in matrix[:20]:
        assert allowed[built(matrix).view().nearest(query, allowed, 50).rows].all()


def test_rows_that_came_later_or_got_their_vector_later_are_found_by_their_signs():
    rng = np.random.default_rng(2)
    matrix = like_texts(rng, 6000, 64)
    late = np.arange(0, 6000, 7)
    present = np.ones(6000, np.bool_)
    present[late] = False
    empty = matrix.copy()
    empty[late] = 0
    builder = built(empty[:5000], present[:5000])
    before = builder.view()
    builder.extend(empty[5000:], present[5000:])
    builder.fill(late, matrix[late])
    view = builder.view()
    for row in (*late[:10].tolist(), 5999):
        near = view.nearest(matrix[row], None, 10)
        assert row in near.rows
        assert row not in before.nearest(matrix[row], None, 10).rows


def test_signs_are_taken_anew_when_there_are_twice_as_many_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "EXACT_ROWS", 100)
    rng = np.random.default_rng(3)
    builder = built(unit(rng, 150, 16))
    first = builder.view().signs
    builder.extend(unit(rng, 100, 16), np.ones(100, np.bool_))
    second = builder.view().signs
    builder.extend(unit(rng, 100, 16) + 1, np.ones(100, np.bool_))
    third = builder.view().signs
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.mean == second.mean).all()
    assert not np.allclose(second.mean, third.mean)


def test_identical_rows_have_identical_cosines_wherever_they_stand():
    rng = np.random.default_rng(4)
    matrix = unit(rng, 500, 384)
    matrix[[7, 100, 499]] = matrix[0]
    cosines = built(matrix).view().cosines(unit(rng, 384), np.arange(500))
    assert len({cosines[row] for row in (0, 7, 100, 499)}) == 1


@pytest.mark.parametrize("count", [12_000, 10**9])
def test_all_rows_can_be_asked_for_even_one_whose_signs_are_all_opposite(count: int):
    matrix = like_texts(np.random.default_rng(1), 12_000, 64)
    matrix[7] = -matrix[0]
    near = built(matrix).view().nearest(matrix[0], None, count)
    assert len(near.rows) >= 11_999


def windowed(rng: np.random.Generator, rows: int, dimensions: int, most: int) -> tuple[VectorBuilder, list[Any]]:
    """Rows of which every other one has up to `most` further windows, some of which came after later rows; and the
    vectors of each.
    """
    each = [unit(rng, 1 + (row % 2) * int(rng.integers(1, most + 1)), dimensions) for row in range(rows)]
    matrix, present = np.array([windows[0] for windows in each]), np.ones(rows, np.bool_)
    later = np.flatnonzero(rng.random(rows) < 0.3)
    matrix[later], present[later] = 0, False
    builder = built(matrix, present)
    for row in [*sorted(set(range(rows)) - set(later.tolist())), *later.tolist()]:
        if not present[row]:
            builder.fill(np.array([row]), each[row][:1])
        if len(each[row]) > 1:
            builder.add_windows(row, each[row][1:])
    return builder, each


def best(windows: NDArray[np.float32], query: NDArray[np.float32]) -> float:
    return float((windows @ query).max()) - 0.02 * float(np.log(min(len(windows), 8)))


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 20))
def test_of_a_long_memory_the_best_window_counts(seed: int, rows: int, count: int):
    rng = np.random.default_rng(seed)
    builder, each = windowed(rng, rows, 8, 5)
    gone, query, allowed = rng.permutation(rows)[: rows // 4], unit(rng, 8), rng.random(rows) < 0.7
    before = builder.view()
    builder.remove(gone)
    possible = allowed.copy()
    possible[gone] = False
    expected = np.array([best(windows, query) for windows in each])
    near = builder.view().nearest(query, allowed, count)
    assert near.cosines == pytest.approx(expected[near.rows], abs=1e-5)
    wanted = [row for row in np.argsort(-expected, kind="stable").tolist() if possible[row]][:count]
    assert set(wanted) <= set(near.rows.tolist())
    assert before.cosines(query, np.arange(rows)) == pytest.approx(expected, abs=1e-5)
    for row, windows in enumerate(each):
        found = before.best_window(query, row)
        assert found == (None if len(windows) == 1 else (int((windows @ query).argmax()), len(windows)))


def test_of_many_windows_nearly_all_of_the_nearest_are_found():
    rng = np.random.default_rng(5)
    builder, each = windowed(rng, 5_000, 64, 6)
    view = builder.view()
    assert view.signs is not None
    assert view.windows is not None
    assert view.windows.vectors.signs is not None
    shares: list[float] = []
    for row in range(1, 81, 2):
        query = 0.8 * each[row][-1] + 0.6 * unit(rng, 64)
        expected = np.array([best(windows, query) for windows in each])
        near = view.nearest(query, None, 100).best(10)
        assert row in near.rows
        shares.append(len(set(near.rows.tolist()) & set(np.argsort(-expected)[:10].tolist())) / 10)
    assert np.mean(shares) >= 0.95


def mapped(builder: VectorBuilder, size: int) -> VectorBuilder:
    """As a process has it that opens the file."""
    arrays = builder.arrays(np.arange(size))
    whole = {name: each.array[each.rows] if isinstance(each, SelectedRows) else each for name, each in arrays.items()}
    return VectorBuilder.over(whole, size, builder.dimensions)


def in_cells(rng: np.random.Generator, count: int, dimensions: int, monkeypatch: pytest.MonkeyPatch) -> VectorBuilder:
    monkeypatch.setattr(vectors, "LEAST_ROWS", 1)
    builder = built(like_texts(rng, count, dimensions))
    builder.view()
    return mapped(builder, count)


def share_found(view: vectors.Vectors, queries: NDArray[np.float32], allowed: NDArray[np.bool_]) -> float:
    shares: list[float] = []
    rows = np.flatnonzero(allowed & view.present)
    for query in queries:
        near = view.nearest(query, allowed, 100)
        assert allowed[near.rows].all()
        assert near.cosines == pytest.approx(view.matrix[near.rows] @ query, abs=1e-5)
        best = near.rows[np.argsort(-near.cosines, kind="stable")[:10]]
        shares.append(len(set(best.tolist()) & set(rows[list(top(view.matrix[rows], query))].tolist())) / 10)
    return float(np.mean(shares))


@pytest.mark.parametrize("which", ["all", "a third", "the near ones", "the far ones"])
def test_in_the_cells_of_a_file_nearly_all_of_the_nearest_are_found(which: str, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(7)
    view = in_cells(rng, 20_000, 64, monkeypatch).view()
    queries = (0.8 * view.matrix[:40] + 0.6 * like_texts(rng, 40, 64)).astype(np.float32)
    nearness = view.matrix @ queries.mean(axis=0)
    allowed = {
        "all": np.ones(20_000, np.bool_),
        "a third": rng.random(20_000) < 0.33,
        "the near ones": nearness > np.median(nearness),
        "the far ones": nearness <= np.median(nearness),
    }[which]
    assert view.signs is not None
    assert view.signs.cells is not None
    assert share_found(view, queries, allowed) >= 0.97


def test_what_came_after_a_file_with_cells_was_written_is_found_and_is_in_cells_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
):
    rng = np.random.default_rng(8)
    builder = in_cells(rng, 9_000, 64, monkeypatch)
    later = like_texts(rng, 3_000, 64)
    late = np.arange(0, 3_000, 7)
    present, empty = np.ones(3_000, np.bool_), later.copy()
    present[late], empty[late] = False, 0
    builder.extend(empty, present)
    builder.fill(9_000 + late, later[late])
    gone = np.arange(0, 12_000, 5)
    builder.remove(gone)
    assert builder.in_file >= 9_000
    for each in (builder, mapped(builder, 12_000)):
        view, kept = each.view(), ~np.isin(np.arange(12_000), gone)
        assert share_found(view, view.matrix[8_990:9_050:3], kept) >= 0.97
        for row in (9_001, 9_007, 11_999):
            assert row in view.nearest(view.matrix[row], None, 10).rows
    assert view.signs is not None
    assert view.signs.cells is not None
    assert len(view.signs.cells.rows) == 12_000


def test_a_file_of_some_rows_has_their_signs_in_its_own_cells(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(9)
    builder = in_cells(rng, 9_000, 64, monkeypatch)
    rows = np.flatnonzero(rng.random(9_000) < 0.8)
    builder.arrange(builder.view())
    arrays = builder.arrays(rows)
    whole = {name: each.array[each.rows] if isinstance(each, SelectedRows) else each for name, each in arrays.items()}
    view = VectorBuilder.over(whole, len(rows), 64).view()
    assert (view.matrix == builder.matrix[rows]).all()
    assert share_found(view, view.matrix[:40], np.ones(len(rows), np.bool_)) >= 0.97


@pytest.mark.parametrize("count", [9_000, 10**9])
def test_all_rows_of_a_file_with_cells_can_be_asked_for(count: int, monkeypatch: pytest.MonkeyPatch):
    view = in_cells(np.random.default_rng(1), 9_000, 64, monkeypatch).view()
    assert len(view.nearest(view.matrix[0], None, count).rows) >= 8_999


def test_the_windows_of_long_memories_are_in_cells_of_their_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "LEAST_ROWS", 1)
    rng = np.random.default_rng(5)
    builder, each = windowed(rng, 5_000, 64, 6)
    builder.arrange(builder.view())
    view = mapped(builder, 5_000).view()
    assert view.windows is not None
    assert view.windows.vectors.signs is not None
    assert view.windows.vectors.signs.cells is not None
    shares: list[float] = []
    for row in range(1, 81, 2):
        query = (0.8 * each[row][-1] + 0.6 * unit(rng, 64)).astype(np.float32)
        expected = np.array([best(windows, query) for windows in each])
        near = view.nearest(query, None, 100).best(10)
        assert row in near.rows
        shares.append(len(set(near.rows.tolist()) & set(np.argsort(-expected)[:10].tolist())) / 10)
    assert np.mean(shares) >= 0.95
