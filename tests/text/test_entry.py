"""What the keyword index keeps of a memory."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids import content_hash, new_id
from perdure.model import Record
from perdure.text.bm25 import K1, WordCounts, length_norm, saturation
from perdure.text.entry import (
    TERM_BYTES,
    entry_of,
    pack_terms,
    passage,
    passage_hash,
    term_hash,
    terms_length,
    unpack_terms,
)
from perdure.text.words import query_words, terms

NOW = datetime(2026, 3, 14, tzinfo=UTC)


def record(text: str = "Alice prefers dark mode", **fields: Any) -> Record:
    return Record(
        id=new_id(), number=1, namespace="n", content_hash=content_hash(text), text=text, created_at=NOW,
        updated_at=NOW, **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "wanted"}, {"text": "wanted"}, {"keywords": ("wanted",)}, {"trigger_phrases": ("wanted",)},
        {"reasoning": "wanted"}, {"tags": ("wanted",)}, {"category": "wanted"}, {"anchor_id": "wanted"},
        {"spec_folder": "specs/wanted"}, {"metadata": {"speaker": "Wanted"}},
    ],
    ids=str,
)  # fmt: skip
def test_every_field_that_may_be_searched_is_in_the_entry(fields: Any):
    assert term_hash(terms("wanted")[0]) in unpack_terms(entry_of(record(**fields)).terms)


def test_the_date_and_the_speaker_are_part_of_what_is_searched_and_embedded():
    spoken = record(valid_at=datetime(2023, 5, 8, tzinfo=UTC), metadata={"speaker": "Caroline"})
    assert "".join(passage(spoken)) == "[8 May 2023] Caroline: Alice prefers dark mode"
    held = unpack_terms(entry_of(spoken).terms)
    assert all(term_hash(word) in held for word in terms(" ".join(query_words("caroline may 2023"))))


def test_what_is_embedded_decides_about_the_vector_and_nothing_else_does():
    plain = record()
    assert passage_hash(plain) == passage_hash(record(tags=("ui",), reasoning="because"))
    others = (
        record(title="Theme"), record(category="preference"), record(keywords=("ui",)), record(valid_at=NOW),
    )  # fmt: skip
    assert passage_hash(plain) not in {passage_hash(other) for other in others}


@given(st.lists(st.sampled_from("abcdefgh") | st.text(max_size=5)))
def test_packed_terms_say_which_and_how_often(found: list[str]):
    packed = pack_terms(found)
    length = terms_length(packed)
    assert unpack_terms(packed) == Counter(map(term_hash, found))
    assert length == terms_length(packed) == len(found)
    assert len(packed) == TERM_BYTES * len(set(map(term_hash, found)))


def test_the_order_of_words_makes_no_difference():
    assert pack_terms(["a", "b", "a"]) == pack_terms(["b", "a", "a"])


def test_more_than_255_times_counts_as_255():
    packed = pack_terms(["often"] * 1000)
    assert (unpack_terms(packed), terms_length(packed)) == ({term_hash("often"): 255}, 255)


@given(st.integers(1, 10**6), st.data())
def test_a_rarer_word_is_worth_more_and_every_word_something(documents: int, data: st.DataObject):
    fewer, more = sorted(data.draw(st.tuples(*[st.integers(1, documents)] * 2)))
    counts = WordCounts(documents, documents, {0: fewer, 1: more})
    assert counts.idf(0, 0) >= counts.idf(1, 0) > 0


@given(st.floats(1, 255), st.floats(0, 1), st.floats(0, 10_000), st.floats(1, 1000))
def test_more_often_is_better_within_a_bound_and_longer_is_worse(
    times: float, more: float, length: float, average: float
):
    norm = length_norm(length, average)
    assert 0 < saturation(times, norm) <= saturation(times + more, norm) <= K1 + 1
    assert saturation(times, length_norm(length + 1, average)) <= saturation(times, norm)
