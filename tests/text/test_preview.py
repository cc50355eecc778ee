from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model import Record
from perdure.testing.records import draft
from perdure.text.preview import abstract, clip, one_line_preview


def record(text: str, **fields: Any) -> Record:
    return replace(draft(text, **fields), number=12)


@pytest.mark.parametrize(
    ("text", "fields", "line"),
    [
        ("Alice prefers dark mode", {"category": "preference"}, "#12 2026-03-14 [preference] Alice prefers dark mode"),
        ("It works. Or not.", {"title": "Login"}, "#12 2026-03-14 Login: It works. Or not."),
        ("It works.", {"abstract": "A report."}, "#12 2026-03-14 A report."),
        ("a\n# b\x1b[31m", {}, "#12 2026-03-14 a b [31m"),
        ("word " * 40, {}, "#12 2026-03-14 word word word word word word word word word word word word word…"),
    ],
)
def test_a_line_says_which_when_what_kind_and_what(text: str, fields: dict[str, Any], line: str):
    assert one_line_preview(record(text, **fields)) == line


@given(
    text=st.text(min_size=1),
    title=st.none() | st.text(min_size=1),
    category=st.sampled_from([None, "preference", "anti-patterns"]),
)
def test_any_memory_is_one_line_of_about_twenty_tokens(text: str, title: str | None, category: str | None):
    line = one_line_preview(record(text, title=title, category=category))
    assert len(line.splitlines()) == 1
    assert len(line) <= 81
    assert line.startswith("#12 2026-03-14")


def test_a_dense_script_gets_fewer_characters():
    assert len(one_line_preview(record("東京" * 100))) < 45


def test_an_abstract_is_the_one_written_or_the_first_sentences():
    text = "Alice moved. " * 50
    assert abstract(record(text, abstract="Short.")) == "Short."
    assert abstract(record(text, summary="Longer.")) == "Longer."
    made = abstract(record(text))
    assert made.startswith("Alice moved. Alice moved.")
    assert len(made) <= 240


@given(text=st.text(), room=st.integers(1, 50))
def test_what_is_clipped_fits_and_is_a_beginning(text: str, room: int):
    clipped = clip(text, room)
    assert clipped == text or text.startswith(clipped.removesuffix("…"))
    assert len(clipped) <= max(room, 1)


@pytest.mark.parametrize(
    "code",
    [
        0xAD, 0x34F, 0x180E, 0x200B, *range(0x2060, 0x2065), *range(0x206A, 0x2070), 0x3164, 0xFE00, 0xFE0E,
        0xE0100, 0xE01EF,
    ],
    ids="U+{:04X}".format,
)  # fmt: skip
def test_a_character_that_nobody_sees_is_in_no_line(code: int):
    assert one_line_preview(record(f"a{chr(code)}b")) == "#12 2026-03-14 a b"


@pytest.mark.parametrize("text", ["❤\ufe0f", "👩\u200d💻", "می\u200cگیرم"])
def test_what_emoji_and_persian_are_written_with_stays(text: str):
    assert one_line_preview(record(text)) == f"#12 2026-03-14 {text}"
