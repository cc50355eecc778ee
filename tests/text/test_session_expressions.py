"""Words for sessions, words for events, and what a question asks beside them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.discourse import content_words
from perdure.text.event_expressions import find_event
from perdure.text.session_expressions import find_session_ranges


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in our first session", (1, 1, False, "")),
        ("the 3rd conversation", (3, 3, False, "")),
        ("session #4", (4, 4, False, "")),
        ("what was said in session twelve?", (12, 12, False, "")),
        ("in sessions 2 through 4", (2, 4, False, "")),
        ("sessions 4-2", (2, 4, False, "")),
        ("our first two chats", (1, 2, False, "")),
        ("three sessions ago", (3, 3, True, "")),
        ("a couple of conversations ago", (2, 2, True, "")),
        ("over the last three sessions", (1, 3, True, "")),
        ("last time we spoke", (1, 1, True, "")),
        ("the last time you and I talked", (1, 1, True, "")),
        ("when we last spoke", (1, 1, True, "")),
        ("what was it last time?", (1, 1, True, "")),
        ("in the most recent chat", (1, 1, True, "")),
        ("the conversation before last", (2, 2, True, "")),
        ("the first time we talked", (1, 1, False, "")),
        ("in this conversation", (0, 0, True, "")),
        ("since our last session", (1, 1, True, "since")),
        ("till the second chat", (2, 2, False, "until")),
    ],
)
def test_sessions_are_counted_from_the_first_or_back_from_now(text: str, expected: tuple[int, int, bool, str]):
    (found,) = find_session_ranges(text)
    assert (found.first, found.last, found.back, found.bound) == expected
    assert found.words in text


@pytest.mark.parametrize(
    "text",
    [
        "her first session",
        "the first session of yoga",
        "Bob's last conversation",
        "a session about boats",
        "the last time she swam",
        "the first talk show",
        "session",
        "sessions and chats",
    ],
)
def test_what_is_not_ours_is_no_session(text: str):
    assert find_session_ranges(text) == ()


WORDS = st.sampled_from("the last first 3 session ago sessions to we spoke time before".split())


@given(st.text(max_size=80) | st.lists(WORDS, max_size=12).map(" ".join))
def test_no_text_is_an_error_and_mentions_stand_where_they_say(text: str):
    mentions = find_session_ranges(text)
    assert all(text[found.start : found.end].split() == found.words.split() for found in mentions)
    assert all(one.end <= next_.start for one, next_ in pairwise(mentions))
    event = find_event(text)
    assert event is None or event.event in text
    content_words(text)


@pytest.mark.parametrize(
    ("text", "relation", "event"),
    [
        ("What did we eat before we moved?", "before", "we moved"),
        ("what changed since the trip to Kyoto", "since", "the trip to Kyoto"),
        ("After Alice's wedding, what did she say?", "after", "Alice's wedding"),
        ("When we were in Rome, what did we eat?", "when", "we were in Rome"),
        ("what did we eat while travelling", "when", "travelling"),
    ],
)
def test_an_event_may_stand_for_a_time(text: str, relation: str, event: str):
    found = find_event(text)
    assert found is not None
    assert (found.relation, found.event) == (relation, event)


@pytest.mark.parametrize(
    "text",
    ["When did we move?", "When we moved?", "have you been here before?", "until then", "since when?", "after all"],
)
def test_a_word_before_nothing_is_no_event(text: str):
    assert find_event(text) is None


def test_an_event_is_not_found_inside_a_time():
    assert find_event("since March", ((0, 11),)) is None


@pytest.mark.parametrize(
    "text",
    ["What did we talk about?", "Remind me what came up.", "Can you summarize our conversation?", "what happened",
     "what did we work on", "Recap, please", "Give me the key points of our chat", "What was going on?", ""],
)  # fmt: skip
def test_words_that_only_say_that_something_was_said_tell_nothing(text: str):
    assert content_words(text) == ()


@pytest.mark.parametrize(
    ("text", "telling"),
    [("how is work", ("how", "work")), ("Where did we go?", ("where", "go")), ("did we mention boats", ("boats",))],
)
def test_whatever_is_asked_for_is_told_by_a_word(text: str, telling: tuple[str, ...]):
    assert content_words(text) == telling
