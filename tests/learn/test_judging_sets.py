"""The sets by which learning is judged are well formed, so that a failed case is never a slip of the set."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

SETS = Path(__file__).parent.parent.parent / "bench" / "learn" / "sets"


def read(name: str) -> list[dict[str, Any]]:
    return json.loads((SETS / f"{name}.json").read_text(encoding="utf-8"))[name if name != "forgetting" else "cases"]


CHATS, PAIRS, CASES, STATEMENTS = read("chats"), read("pairs"), read("forgetting"), read("statements")
DUPLICATES = read("duplicates")
BY_NAME = {chat["name"]: chat for chat in CHATS}


def message(chat: dict[str, Any], reference: int | str) -> dict[str, Any]:
    if isinstance(reference, int):
        return chat["messages"][reference - 1]
    name, number = reference.split(":")
    assert name != chat["name"]
    assert BY_NAME[name]["user"] == chat["user"]
    return BY_NAME[name]["messages"][int(number) - 1]


def every(field: str) -> list[dict[str, Any]]:
    return [entry for chat in CHATS for entry in chat[field]]


def test_the_chats_are_as_many_and_as_mixed_as_the_page_says() -> None:
    assert len(BY_NAME) == len(CHATS) == 30
    assert Counter(chat["kind"] for chat in CHATS) == {"assistant": 18, "human": 6, "coding": 6}
    assert Counter(chat["language"] for chat in CHATS) == {"en": 25, "de": 1, "es": 1, "fr": 1, "ja": 1, "zh": 1}
    assert (len(every("messages")), len(every("changes")), len(every("not_changes"))) == (536, 101, 43)
    assert (len(every("questions")), len(every("not_facts"))) == (191, 59)
    assert Counter(question["kind"] for question in every("questions")) == {
        "changed": 98, "stable": 69, "name": 13, "time": 11,
    }  # fmt: skip
    assert sum(count > 1 for count in Counter(chat["user"] for chat in CHATS).values()) >= 5


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat["name"])
def test_what_a_chat_refers_to_exists_and_stands_in_the_order_of_time(chat: dict[str, Any]) -> None:
    messages = chat["messages"]
    assert [said["id"] for said in messages] == list(range(1, len(messages) + 1))
    dates = [datetime.fromisoformat(said["date"]) for said in messages]
    assert dates == sorted(dates)
    assert dates[0].tzinfo is not None
    assert all(1 <= number <= len(messages) for number in chat["not_facts"])
    for change in [*chat["changes"], *chat["not_changes"]]:
        old, new = message(chat, change["old"]), message(chat, change["new"])
        assert datetime.fromisoformat(old["date"]) < datetime.fromisoformat(new["date"])
        assert "assistant" not in {old["speaker"], new["speaker"]}
    for question in chat["questions"]:
        assert question["current"]
        assert all(message(chat, number) for number in [*question["current"], *question["outdated"]])
        assert not set(question["current"]) & set(question["outdated"])
        assert question["outdated"] or question["kind"] != "changed"


def test_what_is_no_fact_is_part_of_no_change_and_answers_no_question() -> None:
    for chat in CHATS:
        ended = {change["old"] for change in chat["changes"]} | {change["new"] for change in chat["changes"]}
        answers = {number for question in chat["questions"] for number in question["current"]}
        assert not set(chat["not_facts"]) & (ended | answers)


def test_the_pairs_are_as_many_and_as_mixed_as_the_page_says() -> None:
    labels = Counter(pair["label"] for pair in PAIRS)
    assert labels == {"ends": 49, "neither": 38, "adds": 9, "contradicts": 9, "same": 8, "refines": 7}
    assert all(
        pair.keys() == {"a", "b", "speaker_a", "speaker_b", "date_a", "date_b", "label", "why"} for pair in PAIRS
    )
    assert all(datetime.fromisoformat(pair["date_a"]) < datetime.fromisoformat(pair["date_b"]) for pair in PAIRS)


def test_the_duplicates_are_as_many_and_as_mixed_as_the_page_says() -> None:
    assert Counter(pair["label"] for pair in DUPLICATES) == {"same": 30, "contrary": 30}
    assert all(pair.keys() == {"first", "second", "label", "why"} for pair in DUPLICATES)


def test_the_forgetting_cases_are_as_many_and_as_mixed_as_the_page_says() -> None:
    assert Counter(case["language"] for case in CASES) == {"en": 98, "zh": 20, "ja": 20, "de": 7, "es": 5}
    assert {case["verb"] for case in CASES} == {"forget", "erase", "update", "chat"}
    assert sum(case.get("refused", False) for case in CASES) == 15


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["instruction"])
def test_each_memory_of_a_forgetting_case_goes_stays_or_is_corrected(case: dict[str, Any]) -> None:
    texts = {memory["id"]: memory["text"] for memory in case["memories"]}
    corrected = [case["says"]["id"]] if "says" in case else []
    assert 4 <= len(texts) <= 8
    assert sorted([*case["gone"], *case["stay"], *corrected]) == sorted(texts)
    assert case["stay"]
    changes = bool(case["gone"] or corrected)
    assert changes != (case.get("refused", False) or case["kind"] == "keep")
    for number in corrected:
        says = case["says"]
        lacks = says.get("text lacks", [])
        assert any(part not in texts[number] for part in says["text contains"]) or lacks
        assert all(part in texts[number] and part not in case["instruction"] for part in lacks)
        assert all(part in texts[number] + case["instruction"] for part in says["text contains"])


def test_the_single_messages_are_as_many_as_the_page_says() -> None:
    assert (len(STATEMENTS), sum(not one["facts"] for one in STATEMENTS)) == (188, 66)
    assert all(one.keys() == {"kind", "text", "facts"} and one["text"].strip() for one in STATEMENTS)


def test_no_text_occurs_twice() -> None:
    texts = [
        *(one["text"] for one in STATEMENTS),
        *(said["text"] for said in every("messages")),
        *(text for pair in PAIRS for text in (pair["a"], pair["b"])),
        *(text for pair in DUPLICATES for text in (pair["first"], pair["second"])),
        *(memory["text"] for case in CASES for memory in case["memories"]),
        *(case["instruction"] for case in CASES),
    ]
    assert [text for text, count in Counter(texts).items() if count > 1] == []
    questions = [(chat["user"], question["question"]) for chat in CHATS for question in chat["questions"]]
    assert len(set(questions)) == len(questions)


def test_of_two_facts_each_case_names_what_ends_and_what_goes_on_by_words_of_the_message() -> None:
    cases: list[dict[str, Any]] = json.loads((SETS / "one_of_two.json").read_text(encoding="utf-8"))["cases"]
    assert Counter(case["ends"] is not None for case in cases) == {True: 30, False: 10}
    for case in cases:
        words = [*filter(None, [case["ends"]]), *case["stays"]]
        assert len(words) == 2
        assert all(word.lower() in case["told"].lower() for word in words), case["told"]
