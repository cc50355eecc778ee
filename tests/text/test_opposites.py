"""Words that exclude each other."""

from __future__ import annotations

from perdure.text import opposites as table
from perdure.text.opposites import Opposites, opposites
from perdure.text.words import terms


def test_words_exclude_each_other_whichever_comes_first():
    assert opposites(["open"], ["close"]) == [Opposites("open", "close", when=False)]
    assert opposites(["close"], ["open"]) == [Opposites("close", "open", when=False)]
    assert opposites(["red"], ["blue", "green"]) == [("red", "blue", False), ("red", "green", False)]
    assert opposites(["larg"], ["big"]) == opposites(["stone"], ["democraci"]) == []


def test_weekdays_months_and_parts_of_a_day_tell_a_time():
    assert opposites(["mondai"], ["tuesdai"]) == [Opposites("mondai", "tuesdai", when=True)]
    assert opposites(["mar"], ["april"]) == [Opposites("mar", "april", when=True)]


def test_a_prefix_turns_a_word_round():
    assert opposites(["fold"], ["unfold"]) == [Opposites("fold", "unfold", when=False)]
    assert opposites(["distrust"], ["trust"]) == [Opposites("distrust", "trust", when=False)]
    assert opposites(["care"], ["careless"]) == [Opposites("care", "careless", when=False)]
    assert opposites(["homeless"], ["home"]) == [Opposites("homeless", "home", when=False)]
    assert opposites(["to"], ["into"]) == opposites(["less"], ["less"]) == []


def test_no_word_stands_on_two_sides_of_a_group():
    """It would exclude itself."""
    for group in (table._TIMES + table._OPPOSITES + table._KINDS).split(";"):
        sides = [{*terms(side), *side.split()} for side in group.split("/")]
        assert sum(map(len, sides)) == len({word for side in sides for word in side}), group
