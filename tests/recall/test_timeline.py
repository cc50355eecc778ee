"""Which memories stand for a time, and which sessions there were: pure functions."""

from __future__ import annotations

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.timeline import PAUSE, SessionKey, allot, sessions_of, spread

sizes = st.lists(st.integers(1, 30), max_size=20)
limits = st.integers(1, 60)


@given(sizes, limits)
def test_room_is_allotted_in_full_and_never_beyond_what_there_is(sizes: list[int], limit: int):
    turns = allot(sizes, limit)
    assert sum(turns) == min(limit, sum(sizes))
    assert all(0 <= turn <= size for turn, size in zip(turns, sizes, strict=True))


@given(sizes, limits)
def test_every_group_has_its_turn_before_another_has_a_second(sizes: list[int], limit: int):
    turns = allot(sizes, limit)
    if max(turns, default=0) > 1:
        assert min(turns) >= 1


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), max_size=60), limits)
def test_what_stands_for_a_time_is_in_order_and_of_every_part_of_it(rows: list[tuple[int, float]], limit: int):
    rows.sort(key=lambda row: row[0])
    days, weights = [day for day, _ in rows], [weight for _, weight in rows]
    chosen = spread(days, weights, limit)
    assert len(chosen) == min(limit, len(rows))
    assert all(one < next_ for one, next_ in pairwise(chosen))
    if limit >= len(set(days)):
        assert {days[position] for position in chosen} == set(days)


def test_of_those_that_follow_each_other_the_heaviest_is_chosen():
    assert spread([1] * 6, [0, 5, 0, 0, 0, 5], 2) == [1, 5]
    assert spread([1, 1, 1, 2], [1, 3, 2, 0], 2) == [1, 3]


@given(st.lists(st.integers(0, 50 * PAUSE), min_size=1, max_size=40))
def test_a_pause_begins_a_session_and_nothing_else_does(moments: list[int]):
    key: SessionKey = (0, "c", None)
    spans = sessions_of({key: moments})
    assert [span.first for span in spans] == sorted(span.first for span in spans)
    assert all(any(span.first <= moment <= span.last for span in spans) for moment in moments)
    assert all(later.first - earlier.last > PAUSE for earlier, later in pairwise(spans))
    ordered = sorted(moments)
    gaps = sum(later - earlier > PAUSE for earlier, later in pairwise(ordered))
    assert len(spans) == gaps + 1


def test_a_named_session_is_one_however_long_it_pauses():
    spans = sessions_of({(0, "c", "s"): [0, 10 * PAUSE], (0, "c", "t"): [5 * PAUSE]})
    assert [(span.first, span.last) for span in spans] == [(0, 10 * PAUSE), (5 * PAUSE, 5 * PAUSE)]
    assert [key for key, _ in groupby(spans)] == spans
