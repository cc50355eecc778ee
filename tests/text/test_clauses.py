"""A prompt cut into clauses."""

from __future__ import annotations

from perdure.text.clauses import MAX_CLAUSES, clauses


def test_what_is_asked_stands_alone_beside_greeting_and_reason():
    said = "Good morning, please round the invoice totals because a customer complained. Thank you!"
    assert clauses(said) == ("please round the invoice totals", "a customer complained.")


def test_a_single_clause_is_the_prompt_itself():
    assert clauses("round the invoice totals") == ()


def test_of_a_long_paste_the_first_and_the_last_clauses_count():
    said = "\n".join(f"this is line {number}" for number in range(100))
    found = clauses(said)
    assert len(found) == MAX_CLAUSES
    assert (found[0], found[-1]) == ("this is line 0", "this is line 99")
