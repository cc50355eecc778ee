"""Words made of several, such as JavaScript: the whole word in any case, or its parts, which count for less."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.model import Recall
from perdure.recall import recaller
from perdure.text.stopwords import STOPWORDS

# A question, a memory with the word, and one with its parts alone.
MIXED = [
    ("JavaScript", "we write the frontend in javascript", "The script of the play is set on Java"),
    ("GitHub", "we keep the code on github", "the git tutorial says a hub is a switch"),
    ("McDonald", "mary mcdonald takes insulin", "Donald and the MC"),
    ("McDonald", "Mary McDonald has diabetes", "Donald and the MC"),
]


def texts(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


@pytest.fixture(params=["from disk", "in memory"])
def shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if request.param == "from disk" else 0)
    with Memory(":memory:", embedder="none") as memory:
        yield memory


@pytest.mark.parametrize(("query", "whole", "parts"), MIXED)
def test_the_whole_word_comes_before_its_parts(shelf: Memory, query: str, whole: str, parts: str):
    shelf.remember(whole)
    shelf.remember(parts)
    assert texts(shelf.recall(query)) == [whole, parts]


@pytest.mark.parametrize(("query", "whole", "parts"), MIXED)
def test_with_a_model_the_whole_word_comes_first_as_well(query: str, whole: str, parts: str):
    with Memory(":memory:") as memory:
        memory.remember(whole)
        memory.remember(parts)
        assert memory.recall(query).mode == "hybrid"
        assert texts(memory.recall(query))[0] == whole


def test_a_whole_word_in_another_namespace_comes_before_parts_in_this_one(shelf: Memory):
    shelf.remember("The script of the play is set on Java")
    shelf.namespace("team").remember("we write the frontend in javascript, and tests in it as well")
    answer = shelf.recall("JavaScript", namespaces=["default", "team"])
    assert [hit.record.namespace for hit in answer] == ["team", "default"]


def test_a_word_is_found_whole_or_in_parts_from_either_side(shelf: Memory):
    shelf.remember("see parseFile()")
    shelf.remember("we parse the file twice")
    shelf.remember("parsefile is old")
    assert set(texts(shelf.recall("parseFile"))) == {"see parseFile()", "we parse the file twice", "parsefile is old"}
    assert texts(shelf.recall("parseFile"))[-1] == "we parse the file twice"
    assert set(texts(shelf.recall("parse file"))) == {"see parseFile()", "we parse the file twice"}
    assert set(texts(shelf.recall("parsefile"))) == {"see parseFile()", "parsefile is old"}


def test_where_no_memory_holds_the_whole_word_its_parts_stand_for_it(shelf: Memory):
    shelf.remember("we parse the file")
    shelf.remember("a file")
    shelf.remember("tea")
    assert texts(shelf.recall("parseFile")) == ["we parse the file", "a file"]


@pytest.mark.parametrize("spelling", ["OAuth", "oauth", "OAUTH", "oAuth"])
def test_a_concept_and_a_phrase_are_held_in_any_case(shelf: Memory, spelling: str):
    shelf.remember("we use oauth for login")
    shelf.remember("OAuth is for the login too")
    shelf.remember("a login without it")
    assert len(shelf.recall(concepts=[spelling, "login"])) == 2
    assert len(shelf.recall(f'"{spelling}"')) == 2


def test_a_concept_and_a_phrase_are_held_in_parts(shelf: Memory):
    shelf.remember("we parse the file")
    shelf.remember("parse file, quickly")
    shelf.remember("the file was quickly sent, nobody could parse it")
    assert set(texts(shelf.recall(concepts=["parseFile", "we"]))) == {"we parse the file"}
    assert set(texts(shelf.recall(concepts=["parseFile", "quickly"]))) == {"parse file, quickly"}
    assert set(texts(shelf.recall('"parseFile"'))) == {"parse file, quickly"}
    shelf.remember("call parseFile here")
    assert set(texts(shelf.recall('"parse file"'))) == {"parse file, quickly", "call parseFile here"}


def test_a_concept_is_counted_whole_or_in_parts(shelf: Memory):
    shelf.remember("parseFile calls parsefile, which would parse the file; tea")
    (hit,) = shelf.recall(concepts=["parseFile", "tea"])
    assert dict(hit.concepts) == {"parseFile": 2, "tea": 1}


@pytest.mark.parametrize("verb", ["forget", "erase"])
@pytest.mark.parametrize("name", ["McDonald", "mcdonald", "MCDONALD"])
def test_forgetting_by_a_name_finds_every_spelling_of_it(shelf: Memory, verb: str, name: str):
    shelf.remember("Mary McDonald has diabetes")
    shelf.remember("mary mcdonald takes insulin")
    shelf.remember("MCDONALD, MARY: file 7")
    shelf.remember("Donald and the MC")
    with pytest.raises(errors.NeedsConfirmation) as asked:
        getattr(shelf, verb)(f"everything about {name}")
    assert asked.value.preview is not None
    assert [record.number for record in asked.value.preview.records] == [1, 2, 3]
    getattr(shelf, verb)(f"everything about {name}", confirm=True)
    assert [record.number for record in shelf.list()] == [4]


def test_an_earlier_version_with_another_spelling_is_named_when_erasing(shelf: Memory):
    shelf.remember("MCDONALD takes insulin", key="person:mary")
    shelf.upsert("person:mary", "Mary takes insulin")
    answer = shelf.erase("everything about McDonald", dry_run=True)
    assert [record.number for record in (*answer.records, *answer.suggested)] == [1]


part = st.from_regex("[A-Z][a-z]{1,5}", fullmatch=True).filter(lambda text: text.lower() not in STOPWORDS)
identifiers = st.tuples(st.from_regex("[a-z]{2,5}", fullmatch=True) | part, part).map("".join)
frames = st.lists(st.sampled_from(["tea", "milk", "mug", "sugar"]), max_size=4)


@given(identifiers, frames, st.integers(1, 4), st.integers(0, 3))
@example("parseFile", [], 4, 0)
def test_a_memory_with_the_whole_word_never_ranks_below_one_with_its_parts(
    word: str, frame: list[str], times: int, others: int
):
    parts = "".join(f" {letter}" if letter.isupper() else letter for letter in word).lower().split()
    whole = [*frame, word.lower(), *["filler"] * (len(parts) * times - 1)]
    with Memory(":memory:", embedder="none") as memory, pytest.MonkeyPatch.context() as patch:
        memory.remember(" ".join(whole))
        memory.remember(" ".join([*frame, *parts * times]))
        for number in range(others):
            memory.remember("tea", key=f"tea:{number}")
        ranked: list[dict[int, float]] = []
        for from_disk in (9, 0):
            patch.setattr(recaller, "_RECALLS_FROM_DISK", from_disk)
            answer = memory.recall(" ".join([word, *frame]), min_relevance=0)
            ranked.append({hit.record.number: hit.explain["keyword"].raw for hit in answer})
        assert ranked[0] == pytest.approx(ranked[1], rel=1e-5)
        assert ranked[0][1] > ranked[0].get(2, 0.0)
