from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def known(user: User):
    user.done("remember", "Alice prefers dark mode")
    return user


def accepted(user: User):
    for _ in range(5):
        user.done("validate", "1", "--useful")
    return user


def test_a_judgement_is_acknowledged_with_the_confidence_it_led_to(known: User):
    assert known.done("validate", "1", "--useful").out == "Judged #1, confidence now 0.64  Alice prefers dark mode\n"
    assert "confidence now 0.46" in known.done("validate", "1", "--not-useful").out


def test_a_judgement_has_to_say_which(known: User):
    assert "--useful or --not-useful" in known.fails(2, "validate", "1").err


def test_the_fifth_useful_offers_a_promotion_and_says_how_to_accept(known: User):
    for _ in range(4):
        assert known.done("validate", "1", "--useful").err == ""
    assert "perdure promote 1" in known.done("validate", "1", "--useful").err


def test_a_judgement_as_json_has_the_record_and_the_offer(known: User):
    found = known.done("validate", "1", "--useful", "--json").json
    assert (found["outcome"], found["record"]["validation_count"], found["offered"]) == ("validated", 1, None)


def test_the_offers_are_listed_and_one_is_accepted(known: User):
    accepted(known)
    assert known.done("promote").rows == [["1", "normal", "critical", "0.90", "5", "Alice prefers dark mode"]]
    assert "critical" in known.screen("promote")
    assert known.done("promote", "--json").json["records"][0]["number"] == 1
    assert known.done("promote", "1").out == "Made #1 critical  Alice prefers dark mode\n"
    nothing = known.done("promote")
    assert (nothing.out, "No memory has an offer" in nothing.err) == ("", True)


def test_a_tier_may_be_named(known: User):
    assert known.done("promote", "1", "--tier", "constitutional").out.startswith("Made #1 constitutional  ")
    assert known.done("promote", "1", "--tier", "constitutional", "--json").json["outcome"] == "unchanged"


def test_a_tier_that_brings_an_end_says_when(known: User):
    assert known.done("promote", "1", "--tier", "temporary").out.startswith("Made #1 temporary, expires in 7 days  ")
    assert known.done("remember", "For now", "--tier", "normal").out == "Remembered #2, expires in 3 months  For now\n"
    assert known.done("update", "2", "--tier", "temporary").out.startswith(
        "Updated #2, still version 1, expires in 7 d"
    )
    assert known.done("promote", "2", "--tier", "important").out == "Made #2 important  For now\n"


def test_what_cannot_be_promoted_is_refused_with_a_way_out(known: User):
    assert "--tier" in known.fails(4, "promote", "1").err
    assert "Use one of" in known.fails(2, "promote", "1", "--tier", "golden").err
    known.fails(2, "promote", "--tier", "critical")
    known.fails(3, "promote", "7")


def test_the_capacity_in_a_pipe_is_one_figure_a_line(known: User):
    rows = known.done("capacity").rows
    figures = {row[0]: row[1] for row in rows if row[0] != "eviction_order"}
    assert (figures["item_count"], figures["max_items"], figures["token_counter"]) == ("1", "", "characters / 4")
    assert [row[:6] for row in rows if row[0] == "eviction_order"] == [
        ["eviction_order", "1", "active", "normal", "0.50", "6"]
    ]


def test_a_limit_is_set_and_taken_away(known: User):
    assert known.done("capacity", "--max-items", "2", "--json").json["max_items"] == 2
    assert known.done("capacity", "--max-tokens", "9", "--json").json["max_items"] == 2
    assert known.done("capacity", "--max-items", "0", "--json").json["max_items"] is None
    known.fails(2, "capacity", "--max-items", "-1")
    known.fails(2, "capacity", "--max-items", "many")


def test_the_capacity_on_a_terminal_says_what_is_full_and_what_goes_first(known: User):
    known.done("remember", "Bob prefers tea")
    page = known.screen("capacity", "--max-items", "1", "--yes")
    assert "2 of 1" in page
    assert "the next write evicts memories" in page
    assert "next to go" in page


def test_a_write_names_what_it_pushed_out(known: User):
    known.done("capacity", "--max-items", "1")
    done = known.done("remember", "Bob prefers tea")
    assert "Evicted #1 to make room" in done.out + done.err
    assert known.done("list").rows[0][0] == "2"


def test_a_write_that_finds_no_room_fails_and_stores_nothing(known: User):
    known.done("update", "1", "--importance", "0.9")
    known.done("capacity", "--max-items", "1")
    assert "protected" in known.fails(4, "remember", "Bob prefers tea").err
    assert len(known.done("list").rows) == 1


def test_work_expires_what_is_due_and_purges_nothing_when_told_not_to(known: User):
    known.done("remember", "Only for a moment", "--expires-at", "2020-01-01")
    found = known.done("work", "--no-purge", "--json").json
    assert (found["expired"], found["purged"], found["held"]) == (1, 0, 0)
    assert "Expired" not in known.done("work", "--purge").out
    assert known.done("list", "--state", "expired").rows[0][0] == "2"
