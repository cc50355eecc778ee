"""Signs make another word: C++ is neither C nor C#. So for concepts, phrases, triggers and what is to be forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure import Memory
from perdure.recall import recaller

LANGUAGES = {
    1: "errors in C++ and in C++ again",
    2: "errors in C# code",
    3: "errors without vitamin c",
    4: "errors of .NET on Windows",
    5: "errors in the net income",
    6: "errors in F# scripts",
    7: "errors about grade f",
}
HELD = {
    "C++": {1},
    "c++": {1},
    "C#": {2},
    "c": {3},
    "C": {3},
    ".NET": {4},
    "net": {4, 5},
    "F#": {6},
    "f": {7},
    "c+": set[int](),
    "##": set[int](),
}


@pytest.fixture(params=["from disk", "in memory"])
def shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if request.param == "from disk" else 0)
    with Memory(":memory:", embedder="none") as memory:
        for text in LANGUAGES.values():
            memory.remember(text)
        yield memory


@pytest.mark.parametrize(("word", "expected"), HELD.items())
def test_a_concept_is_held_to_the_letter(shelf: Memory, word: str, expected: set[int]):
    assert {hit.record.number for hit in shelf.recall(concepts=[word, "errors"])} == expected


@pytest.mark.parametrize(("word", "expected"), [(word, held) for word, held in HELD.items() if word != "##"])
def test_a_phrase_is_held_to_the_letter(shelf: Memory, word: str, expected: set[int]):
    assert {hit.record.number for hit in shelf.recall(f'"{word}"')} == expected


@pytest.mark.parametrize(("word", "expected"), [(word, held) for word, held in HELD.items() if word != "##"])
@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_what_is_to_be_forgotten_is_held_to_the_letter(shelf: Memory, verb: str, word: str, expected: set[int]):
    found = getattr(shelf, verb)(f"everything about {word}", dry_run=True)
    assert {record.number for record in found.records} == expected


@pytest.mark.parametrize(("word", "expected"), [(word, held) for word, held in HELD.items() if word != "##"])
def test_a_trigger_phrase_is_held_to_the_letter(word: str, expected: set[int]):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("a note", trigger_phrases=[word])
        assert {number for number, prompt in LANGUAGES.items() if memory.match_triggers(prompt)} == expected


def test_a_concept_with_signs_is_counted_to_the_letter(shelf: Memory):
    shelf.remember("C++ and C# errors")
    hits = shelf.recall(concepts=["C++", "errors"])
    assert {hit.record.number: dict(hit.concepts) for hit in hits} == {
        1: {"C++": 2, "errors": 1},
        8: {"C++": 1, "errors": 1},
    }


@pytest.mark.parametrize("prompt", ["take vitamin c daily", "c", "C", "C#", "c+", "c+++", "learn c, not c"])
def test_a_trigger_with_signs_needs_them(prompt: str):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Compile with warnings", trigger_phrases=["c++"])
        assert not memory.match_triggers(prompt)


@pytest.mark.parametrize("prompt", ["C++", "a c++ question", "C/C++", "**C++**", "(C++)", "is it C++?"])
def test_other_signs_around_a_word_do_not_matter(prompt: str):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Compile with warnings", trigger_phrases=["c++"])
        assert [found.record.number for found in memory.match_triggers(prompt)] == [1]


def test_the_instruction_is_said_back_with_its_signs(shelf: Memory):
    assert "'c++'" in shelf.forget("everything about C++", dry_run=True).understood


def test_a_plain_question_ranks_by_what_it_finds(shelf: Memory):
    assert shelf.recall("C++ errors")[0].record.number in (1, 2, 3)
