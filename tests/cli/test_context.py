from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from recall.sealed import opened

from perdure.model import Context
from perdure.recall.envelope import RULE

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def known(user: User) -> User:
    user.done("remember", "Never push to main", "--tier", "constitutional", "--category", "guideline")
    user.done("remember", "Alice prefers dark mode", "--category", "preference", "--trigger-phrase", "dark mode")
    user.done("remember", "Bob plays chess", "--trigger-phrase", "play chess", "--trigger-phrase", "opening")
    return user


# -- context -------------------------------------------------------------------------------------------------------


def test_the_packed_text_is_printed_and_the_cost_is_said_aside(known: User):
    answer = known.done("context", "dark", "mode")
    first, mark, *items, end = answer.out.splitlines()
    assert first == RULE
    assert mark.startswith("<memories ")
    assert end == f"</{mark[1:]}"
    assert [item.split(": ")[1] for item in items] == ["Never push to main", "Alice prefers dark mode"]
    assert "of 2,000 tokens (characters / 4)" in answer.err


def test_the_text_is_the_same_on_a_terminal_and_in_a_pipe(known: User):
    known.done("remember", "red\x1b[31m end\n# heading dark")
    screen, plain = known.screen("context", "dark end"), known.done("context", "dark end").out
    assert [one.text for one in opened(screen.rstrip("\n"))] == [one.text for one in opened(plain.rstrip("\n"))]
    assert "\x1b" not in screen
    assert opened(plain.rstrip("\n"))[1].text == "red\x1b[31m end\n# heading dark"


def test_what_found_no_room_is_named(known: User):
    answer = known.done("context", "dark chess", "--budget", "56", "--no-constitutional")
    assert "no room for #" in answer.err
    assert (
        "tokens are too few for any of 2 memories"
        in known.done("context", "dark chess", "--budget", "5", "--no-constitutional").err
    )


def test_what_was_said_twice_is_counted(known: User):
    known.done("remember", "Alice prefers dark mode!", "--key", "fact:theme")
    assert "1 said the same as another" in known.done("context", "dark mode").err


def test_the_document_has_every_field_of_a_context(known: User):
    made = known.done("context", "dark mode", "--budget", "300", "--json").json
    assert list(made) == [field.name for field in dataclasses.fields(Context)]
    assert [one["record"]["number"] for one in made["items"]] == [1, 2]
    assert made["tokens"] <= made["budget"] == 300


def test_one_json_object_per_line_can_be_asked_for(known: User):
    out = known.done("context", "chess", "--format", "records").out.rstrip("\n")
    assert [one.number for one in opened(out, "records")] == [1, 3]
    assert "format" in known.fails(2, "context", "chess", "--format", "html").err


def test_an_empty_context_says_what_was_tried(user: User, known: User):
    answer = known.done("context", "quark", "--no-constitutional", "--tag", "ui")
    assert answer.out == ""
    assert "Nothing found for 'quark' among memories with tags ui." in answer.err
    assert "perdure list" in answer.err


def test_the_question_may_come_through_a_pipe(known: User):
    assert "chess" in known.done("context", "-", stdin="chess\n").out


# -- triggers ------------------------------------------------------------------------------------------------------


def test_a_prompt_brings_up_memories_one_to_a_line(known: User):
    rows = known.done("triggers", "Bob", "played", "chess", "in", "dark", "mode").rows
    assert rows == [
        ["2", "0.95", "default", "dark mode", "Alice prefers dark mode"],
        ["3", "0.85", "default", "play chess", "Bob plays chess"],
    ]
    assert len(known.done("triggers", "--limit", "1", "play chess in dark mode").rows) == 1


def test_a_terminal_gets_a_paragraph_for_each(known: User):
    assert known.screen("triggers", "dark mode").splitlines() == [
        "#2  1.00  dark mode",
        "    Alice prefers dark mode",
    ]


def test_triggers_as_json(known: User):
    (one,) = known.done("triggers", "an opening", "--json").json["triggered"]
    assert (one["phrase"], one["confidence"], one["record"]["number"]) == ("opening", 0.95, 3)
    assert known.done("triggers", "tea", "--json").json == {"triggered": []}


def test_no_trigger_says_how_to_give_one(known: User):
    answer = known.done("triggers", "tea")
    assert answer.out == ""
    assert "No trigger phrase in 'tea'." in answer.err
    assert "--trigger-phrase" in answer.err


# -- brief and explain ---------------------------------------------------------------------------------------------


def test_brief_recall_is_one_short_line_for_each(known: User):
    lines = known.done("recall", "dark mode", "--brief").out.splitlines()
    assert [line.split()[0] for line in lines] == ["#1", "#2"]
    assert lines[1].endswith(" [preference] Alice prefers dark mode")
    assert known.screen("recall", "dark mode", "--brief").splitlines() == lines
    answer = known.done("recall", "dark mode", "--brief", "--json").json
    assert [one["line"] for one in answer["lines"]] == lines


@pytest.mark.parametrize("columns", ["40", "60", "100", "200"])
def test_bars_fit_the_terminal_and_stand_below_each_other(known: User, columns: str):
    screen = known.screen("recall", "chess", "--explain", "--recipe", "tiered", COLUMNS=columns, NO_COLOR="1")
    assert max(map(len, screen.splitlines())) <= int(columns)
    bars = [line for line in screen.splitlines() if "█" in line or "░" in line]
    assert len(bars) > 2
    assert len({line.index(next(mark for mark in line if mark in "█░")) for line in bars}) == 1
    assert "\x1b" not in screen
    for part in ("raw", "rank 1", " x "):
        assert part in screen


def test_a_bar_is_as_long_as_its_part_in_the_best_score(known: User):
    hit = known.done("recall", "chess", "--recipe", "tiered", "--json").json["hits"][0]
    screen = known.screen("recall", "chess", "--explain", "--recipe", "tiered")
    for name, signal in hit["explain"].items():
        (line,) = [line for line in screen.splitlines() if line.strip().startswith(f"{name} ")]
        length = line.count("█") + line.count("░")
        assert line.count("█") == pytest.approx(length * signal["contribution"] / hit["score"], abs=0.51)


def test_in_a_pipe_every_number_is_plain(known: User):
    ((*_, signals),) = [row for row in known.done("recall", "chess", "--explain").rows if row[1] != "constitutional"]
    score, *each = signals.split(",")
    assert float(score.removeprefix("score=")) > 0
    for signal in each:
        names = [part.split("=")[0] for part in signal.split(" ")]
        assert names[1:] == ["weight", "normalised", "raw", "rank"]
