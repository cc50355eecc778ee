"""S2 "segmentation": where a conversation is cut into episodes, by the rules that ask no model."""

from __future__ import annotations

from datetime import timedelta

import pytest
from clocks import NOON

from perdure.episodes.segment import Cut, Rules, Said, first_cut, judge

MINUTE = timedelta(minutes=1)
RULES = Rules()


def talk(count: int, *, gap: timedelta = MINUTE, length: int = 40) -> list[Said]:
    """Messages a minute apart; the newest comes after the gap, with this length."""
    times = [NOON + n * MINUTE for n in range(count - 1)]
    last = (times[-1] if times else NOON) + gap
    return [*(Said(at, 40) for at in times), Said(last, length)]


def cut(messages: list[Said], rules: Rules) -> list[tuple[int, str]]:
    """All cuts, one after the other."""
    found: list[tuple[int, str]] = []
    begin = 0
    while one := first_cut(messages[begin:], rules):
        begin += one.end
        found.append((begin, one.boundary))
    return found


@pytest.mark.parametrize(("count", "verdict"), [(1, "open"), (4, "open"), (5, "gap")])
def test_fewer_than_five_messages_are_never_cut(count: int, verdict: str):
    """S2 segments minimum: fewer than 5 messages: do not split."""
    assert judge(talk(count, gap=timedelta(days=1)), RULES) == verdict


@pytest.mark.parametrize(("count", "cuts"), [(29, []), (30, [30]), (31, [30]), (60, [30, 60])])
def test_thirty_messages_are_cut(count: int, cuts: list[int]):
    """S2 segments maximum: 30 or more: split."""
    assert cut(talk(count), RULES) == [(end, "size") for end in cuts]


@pytest.mark.parametrize(("gap", "cuts"), [(15 * MINUTE, []), (15 * MINUTE + timedelta(seconds=1), [6])])
def test_a_silence_cuts_before_the_newest_message(gap: timedelta, cuts: list[int]):
    """S2 segments gap: more than 15 minutes after the previous one: split."""
    assert cut(talk(7, gap=gap), RULES) == [(end, "temporal gap") for end in cuts]


@pytest.mark.parametrize(("length", "verdict"), [(5, "open"), (6, "judge")])
def test_a_short_message_is_no_reason_to_cut(length: int, verdict: str):
    """S2 segments short: 5 characters or fewer: do not split, whatever a model might say."""
    assert judge(talk(7, length=length), RULES) == verdict


def test_the_rules_come_in_their_order():
    """S2 segments order: a short message after a silence, and one of thirty, are cut all the same."""
    assert judge(talk(7, gap=timedelta(hours=1), length=2), RULES) == "gap"
    assert judge(talk(30, gap=timedelta(hours=1), length=2), RULES) == "full"
    assert judge(talk(4, gap=timedelta(hours=1)), RULES) == "open"


def test_what_no_rule_decides_a_model_may_judge():
    """S2 segments otherwise: a model may judge; without one nothing is cut."""
    assert judge(talk(12), RULES) == "judge"
    assert cut(talk(12), RULES) == []
    asked: list[int] = []

    def ask(newest: int) -> Cut | None:
        asked.append(newest)
        return Cut(newest, "goal completion") if newest == 9 else None

    assert first_cut(talk(12), RULES, ask) == (9, "goal completion")
    assert asked == [5, 6, 7, 8, 9]
