"""Searching by words: the score is BM25, whatever finds the candidates, and nothing is found that should not be."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.model import Filter
from perdure.store.port import IndexRow, Store
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, draft, insert, read_once, remember
from perdure.text.bm25 import TermWorths, WordCounts, length_norm, saturation
from perdure.text.entry import term_hash, terms_length, unpack_terms
from perdure.text.words import query_stems, query_words

HOSTILE = [
    '"', '""', "'", "*", "a*", "^a", "a AND", "NOT", "OR OR", "NEAR(a b)", "title:tea", "{title text}:tea", "-tea",
    "+tea", "(tea", "tea)", "\ud800", "tea\ud800", "ﬁ", "🙂", "東京都", "a b", "x" * 5000,
    "-- ", ";", "%", "\\", "",
]  # fmt: skip


def scores(rows: list[IndexRow], words: list[str]) -> dict[int, float]:
    """BM25 as the index in memory computes it, from what the store hands out."""
    counts = {row.number: unpack_terms(row.terms) for row in rows}
    containing = Counter(term for found in counts.values() for term in found)
    total = WordCounts(len(rows), sum(terms_length(row.terms) for row in rows), containing)
    stems = query_stems(words)
    parts = {term_hash(whole): list(map(term_hash, some)) for whole, some in stems.parts.items()}
    known = {term: total.idf(term, 0) for term in containing}
    worths = TermWorths.of(list(map(term_hash, stems.words)), parts, known)
    found: dict[int, float] = {}
    for row in rows:
        norm, held = length_norm(float(terms_length(row.terms)), total.average), counts[row.number]
        score = sum(worth * saturation(float(held[term]), norm) for term, worth in worths.words.items() if term in held)
        for whole in worths.wholes:
            apart = sum(worth for part, worth in whole.parts.items() if part in held) * saturation(1.0, norm)
            together = whole.worth * saturation(float(held.get(whole.term, 0)), norm)
            score += max(together, apart)
        if score and row.active and row.tier != "deprecated":
            found[row.number] = score
    return found


def agree(store: Store, words: list[str], limit: int = 1000) -> None:
    rows = list(store.index_rows(NAMESPACE, None, 0, 10_000))
    expected, terms = scores(rows, words), {row.number: row.terms for row in rows}
    found, counts, _ = read_once(store).keyword_search(words, Filter(), NOON, limit)
    assert counts == read_once(store).word_counts(words)
    assert all(scored.terms == terms[scored.number] for scored in found)
    assert {scored.number: pytest.approx(scored.score) for scored in found} == expected
    assert [scored.score for scored in found] == sorted((scored.score for scored in found), reverse=True)


class SearchTests(StoreTestBase):
    def test_holding_tells_who_holds_every_word_in_whatever_form(self, store: Store) -> None:
        remember(store, "tea running in the café", tags=("hot",))
        remember(store, "tea and milk", title="Runs")
        remember(store, "milk")
        gone = remember(store, "tea runs")
        amend(store, gone, state="deleted")
        remember(store, "tea runs elsewhere", namespace="elsewhere")
        assert sorted(read_once(store).numbers_with_all(["tea"]).numbers) == [1, 2]
        assert sorted(read_once(store).numbers_with_all(["tea", "run"]).numbers) == [1, 2]
        assert list(read_once(store).numbers_with_all(["cafe", "hot"]).numbers) == [1]
        assert list(read_once(store).numbers_with_all(["tea", "coffee"]).numbers) == []
        assert list(read_once(store).numbers_with_all(["teaCafe", "hot"]).numbers) == [1]
        assert list(read_once(store).numbers_with_all([]).numbers) == []
        assert list(read_once(store, "nobody").numbers_with_all(["tea"]).numbers) == []

    @pytest.mark.parametrize("word", HOSTILE)
    def test_no_word_to_hold_is_an_error(self, store: Store, word: str) -> None:
        remember(store, "tea")
        read_once(store).numbers_with_all([word, "tea"])

    def test_numbers_are_a_filter(self, store: Store) -> None:
        for _ in range(3):
            remember(store, "tea")
        for wanted in ((), (2,), (1, 3, 99, -1)):
            filter = Filter(numbers=wanted)
            assert {found.number for found in read_once(store).keyword_search(["tea"], filter, NOON, 9).best} == {
                number for number in wanted if number in (1, 2, 3)
            }
            assert set(read_once(store).numbers(filter)) == set(wanted) & {1, 2, 3}

    def test_the_best_match_comes_first(self, store: Store) -> None:
        remember(store, "Bob likes coffee")
        remember(store, "Alice prefers dark mode in every editor she uses")
        remember(store, "the mode of the editor")
        found = read_once(store).keyword_search(query_words("dark editor mode"), Filter(), NOON, 10).best
        assert [scored.number for scored in found] == [2, 3]

    def test_words_are_found_whatever_their_form(self, store: Store) -> None:
        record = remember(store, "She was running parseFile in 東京都, in a café", title="Straße", keywords=("snakes",))
        for query in (
            "runs",
            "parse",
            "file",
            "parseFile",
            "東京",
            "京都",
            "cafe",
            "CAFÉ",
            "snake",
            "STRASSE",
            "straße",
        ):
            found = read_once(store).keyword_search(query_words(query), Filter(), NOON, 10).best
            assert [scored.number for scored in found] == [record.number] or query == "STRASSE", query

    def test_every_searchable_field_is_searched(self, store: Store) -> None:
        fields: list[dict[str, Any]] = [
            {"title": "wanted"}, {"keywords": ("wanted",)}, {"trigger_phrases": ("wanted",)}, {"tags": ("wanted",)},
            {"reasoning": "wanted"}, {"anchor_id": "wanted"}, {"spec_folder": "wanted"},
            {"metadata": {"speaker": "Wanted"}},
        ]  # fmt: skip
        for n, values in enumerate(fields):
            remember(store, f"memory {n}", **values)
        remember(store, "no match")
        found = read_once(store).keyword_search(["wanted"], Filter(), NOON, 99).best
        assert sorted(scored.number for scored in found) == list(range(1, len(fields) + 1))

    def test_the_score_is_the_one_an_index_in_memory_computes(self, store: Store) -> None:
        source = random.Random(7)
        vocabulary = [f"w{n}" for n in range(60)]
        with store.write(NAMESPACE) as writer:
            for _ in range(150):
                insert(writer, draft(" ".join(source.choices(vocabulary, range(60, 0, -1), k=source.randint(1, 30)))))
        for size in (1, 2, 5, 20):
            agree(store, source.sample(vocabulary, size))

    @settings(RELAXED, max_examples=15)
    @given(st.data())
    def test_the_score_stays_right_while_memories_change(self, data: st.DataObject) -> None:
        words = st.lists(
            st.sampled_from(["tea", "milk", "mug", "東京", "running", "parseFile", "parse", "file", "FileSystem"]),
            min_size=1,
            max_size=6,
        )
        store = self.open_store()
        records = [remember(store, " ".join(data.draw(words))) for _ in range(data.draw(st.integers(1, 6)))]
        for _ in range(data.draw(st.integers(0, 6))):
            at = data.draw(st.integers(0, len(records) - 1))
            state = data.draw(st.sampled_from(["active", "superseded", "deleted"]))
            records[at] = amend(store, records[at], text=" ".join(data.draw(words)), state=state)
        agree(store, data.draw(words))
        store.close()

    def test_the_limit_keeps_the_best(self, store: Store) -> None:
        for n in range(1, 9):
            remember(store, "tea " * n)
        every = read_once(store).keyword_search(["tea"], Filter(), NOON, 99).best
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 3).best == every[:3]
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 0).best == []

    def test_of_more_equal_memories_than_are_wanted_the_newest_are_found(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            for _ in range(700):
                insert(writer, draft("tea in the morning"))
        for words in (["tea"], ["tea", "morning"]):
            found = read_once(store).keyword_search(words, Filter(), NOON, 50).best
            assert [scored.number for scored in found] == list(range(700, 650, -1))

    def test_several_namespaces_counted_together_score_as_one(self, store: Store) -> None:
        texts = ["tea", "tea and milk", "milk, sugar and a mug", "a mug", "rain"]
        for n, text in enumerate(texts):
            remember(store, text)
            remember(store, text, f"part {n % 2}")
        words = ["tea", "milk", "nowhere"]
        parts = [read_once(store, name).word_counts(words) for name in ("part 0", "part 1", "nobody")]
        counts = WordCounts.together(parts)
        assert counts == read_once(store).word_counts(words)
        apart = [
            found
            for name in ("part 0", "part 1")
            for found in read_once(store, name).keyword_search(words, Filter(), NOON, 9, counts).best
        ]
        whole = read_once(store).keyword_search(words, Filter(), NOON, 9).best
        assert sorted(found.score for found in apart) == pytest.approx(sorted(found.score for found in whole))

    def test_no_words_and_no_memories_find_nothing(self, store: Store) -> None:
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == []
        remember(store, "tea")
        assert read_once(store).keyword_search([], Filter(), NOON, 9).best == []

    @pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
    def test_no_word_is_an_error(self, store: Store, word: str) -> None:
        remember(store, "tea in the morning")
        assert [scored.number for scored in read_once(store).keyword_search([word, "tea"], Filter(), NOON, 9).best] == [
            1
        ]
        read_once(store).keyword_search([word], Filter(), NOON, 9)

    @settings(RELAXED)
    @given(words=st.lists(st.text(max_size=20), max_size=5))
    def test_no_words_are_an_error(self, store: Store, words: list[str]) -> None:
        read_once(store).keyword_search(words, Filter(), NOON, 9)

    @pytest.mark.parametrize("state", ["merged", "deleted", "expired", "evicted"])
    def test_a_memory_that_left_the_index_is_not_found_and_comes_back_with_its_state(
        self, store: Store, state: Any
    ) -> None:
        record = remember(store, "tea")
        amend(store, record, "forget", state=state)
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == []
        assert read_once(store).keyword_search(["tea"], Filter(states=(state, "active")), NOON, 9).best == []
        amend(store, record, "restore", state="active")
        assert len(read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best) == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"state": "superseded"},
            {"tier": "deprecated"},
            {"valid_at": NOON + timedelta(seconds=1)},
            {"invalid_at": NOON},
            {"expires_at": NOON},
            {"valid_at": NOON - timedelta(days=9), "invalid_at": NOON - timedelta(days=1)},
        ],
        ids=str,
    )
    def test_what_ordinary_recall_must_not_show_is_not_found(self, store: Store, fields: dict[str, Any]) -> None:
        remember(store, "tea", **fields)
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == []

    @pytest.mark.parametrize(
        ("fields", "wanted"),
        [
            ({"state": "superseded", "invalid_at": NOON - timedelta(days=1)}, {"states": ("active", "superseded")}),
            ({"tier": "deprecated"}, {"tier": "deprecated"}),
            ({"valid_at": NOON, "invalid_at": NOON + timedelta(seconds=1)}, {}),
        ],
        ids=str,
    )
    def test_what_is_asked_for_is_found(self, store: Store, fields: dict[str, Any], wanted: dict[str, Any]) -> None:
        remember(store, "tea", **fields)
        assert len(read_once(store).keyword_search(["tea"], Filter(**wanted), NOON, 9).best) == 1

    def test_a_search_leaves_out_the_kinds_that_are_hidden(self, store: Store) -> None:
        for key in ("episode:c/00000001", "episode:c/1", "proposal:merge/00000001", "message:c/00000001"):
            remember(store, "tea", key=key)
        for hidden, left in (
            ((), {1, 2, 3, 4}),
            (("episode",), {2, 3, 4}),
            (("episode", "proposal"), {2, 4}),
            (("message",), {1, 2, 3}),
        ):
            filter = Filter(hidden=hidden)
            found = read_once(store).keyword_search(["tea"], filter, NOON, 9).best
            assert {scored.number for scored in found} == left
            assert set(read_once(store).numbers(filter)) == left

    def test_a_filter_holds_for_a_search_too(self, store: Store) -> None:
        remember(store, "tea", tags=("hot",))
        remember(store, "tea")
        found = read_once(store).keyword_search(["tea"], Filter(tags=("hot",)), NOON, 9).best
        assert [scored.number for scored in found] == [1]

    def test_the_old_words_of_a_memory_no_longer_find_it(self, store: Store) -> None:
        record = remember(store, "tea")
        amend(store, record, text="coffee")
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == []
        assert len(read_once(store).keyword_search(["coffee"], Filter(), NOON, 9).best) == 1

    def test_a_rare_word_is_found_among_many_common_ones(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            for n in range(2500):
                insert(writer, draft("the common words of every memory" + (" treasure" if n == 1234 else "")))
        words = ["common", "words", "every", "memory", "treasure"]
        assert read_once(store).keyword_search(words, Filter(), NOON, 5).best[0].number == 1235
        assert len(read_once(store).keyword_search(words[:4], Filter(), NOON, 20).best) == 20
