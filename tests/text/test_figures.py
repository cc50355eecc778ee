"""Numbers of a text in one form."""

from __future__ import annotations

import pytest

from perdure.text.figures import numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a dog and an apple", []),
        ("two dogs", ["2"]),
        ("a hundred and twenty dogs", ["120"]),
        ("twenty five", ["25"]),
        ("3 3.0 3rd third", ["3", "3", "3", "3"]),
        ("1,000 1000 1k", ["1000", "1000", "1000"]),
        ("38bn 38 billion", ["38000000000", "38000000000"]),
        ("25% 25", ["25", "25"]),
        ("-5 +5", ["-5", "5"]),
        ("3,5 3.5", ["3.5", "3.5"]),
        ("10:30 1.2.3", ["10:30", "1.2.3"]),
        ("a few several half", []),
        ("a couple of", ["2"]),
        ("the second of a minute", []),
        (f"{'9' * 40} {'9' * 39}8", ["9" * 40, "9" * 39 + "8"]),
        ("", []),
    ],
)
def test_a_number_has_one_form_however_it_is_written(text: str, numbers: list[str]):
    assert numbers_in(text.split()) == numbers
