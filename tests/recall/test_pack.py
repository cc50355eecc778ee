"""A context: never over its budget, best first, nothing twice, and nothing lost without a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.sealed import opened

from perdure.embed.local import LocalEmbedder, unavailable
from perdure.model import Context, Format, Hit, Recall, Record
from perdure.recall.envelope import Style
from perdure.recall.pack import Pack, pack
from perdure.testing.records import NOON, draft
from perdure.text.tokens import ESTIMATE, TokenCounter, counter_of, estimate

FORMATS: tuple[Format, ...] = get_args(Format)
WORDS = TokenCounter("words", lambda text: len(text.split()))
LETTERS = TokenCounter("letters", len)
HARSH = TokenCounter("harsh", lambda text: estimate(text) + text.count("\n") ** 2)
WHIMSICAL = TokenCounter("whimsical", lambda text: estimate(text) + (len(text) % 7) * 3)
COUNTERS = [ESTIMATE, WORDS, LETTERS, HARSH, WHIMSICAL]
SENTENCES = ["Alice lives in Osaka.", "Bob plays chess!", "No.", "東京に住む。", "x" * 90]
TEXTS = st.lists(
    st.text(min_size=1).filter(lambda text: bool(text.strip()))
    | st.lists(st.sampled_from(SENTENCES), min_size=1).map(" ".join),
    max_size=12,
)


def record(text: str, number: int, **fields: Any) -> Record:
    return replace(draft(text, **fields), number=number)


def recall(*texts: str | Record, always: Sequence[Record] = ()) -> Recall:
    """As found, best first."""
    records = [record(one, number) if isinstance(one, str) else one for number, one in enumerate(texts, 1)]
    hits = [Hit(one, 1.0, 1 - place / 100, {}) for place, one in enumerate(records)]
    return Recall(tuple(hits), "keyword", (), tuple(always))


def made(found: Recall, budget: int = 2000, query: str = "", counter: TokenCounter = ESTIMATE) -> Context:
    return pack(found, Pack(query, budget, counter))


def numbers(context: Context) -> list[int]:
    return [one.record.number for one in context.items]


def left_out(context: Context) -> list[tuple[int, str]]:
    return [(one.record.number, one.reason) for one in context.omitted]


# -- the budget ----------------------------------------------------------------------------------------------------


@given(
    texts=TEXTS,
    always=TEXTS,
    budget=st.integers(1, 400),
    counter=st.sampled_from(COUNTERS),
    format=st.sampled_from(FORMATS),
    title=st.none() | st.text(min_size=1, max_size=30),
)
def test_no_context_is_over_its_budget_and_every_memory_is_in_it_or_named(
    texts: list[str], always: list[str], budget: int, counter: TokenCounter, format: Format, title: str | None
):
    rules = [record(text, 100 + place, title=title) for place, text in enumerate(always)]
    found = recall(*(record(text, place, title=title) for place, text in enumerate(texts, 1)), always=rules)
    context = pack(found, Pack("Alice chess", budget, counter, Style(format)))
    assert context.tokens == (counter.count(context.text) if context.text else 0)
    assert context.tokens <= budget
    assert sorted([*numbers(context), *(number for number, _ in left_out(context))]) == sorted(
        [*range(1, len(texts) + 1), *(100 + place for place in range(len(always)))]
    )
    if context.text:
        assert [one.text for one in opened(context.text, format)] == [one.text for one in context.items]


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
@given(texts=TEXTS, budget=st.integers(1, 300))
def test_the_models_own_tokenizer_is_obeyed_as_well(texts: list[str], budget: int):
    counter = counter_of(LocalEmbedder())
    context = made(recall(*texts), budget, counter=counter)
    assert counter.count(context.text) <= budget
    assert context.token_counter == counter.name != ESTIMATE.name


@pytest.mark.parametrize("budget", [400, 2000])
def test_most_of_the_budget_is_used(budget: int):
    context = made(
        recall(*(f"Note {number} says that server {number} was restarted." for number in range(200))), budget
    )
    assert budget - 20 <= context.tokens <= budget
    assert numbers(context) == list(range(1, len(context.items) + 1))


def test_a_budget_too_small_for_anything_gives_nothing_and_says_so():
    context = made(recall("Alice lives in Osaka", "Bob plays chess"), 5)
    assert (context.text, context.tokens, context.items) == ("", 0, ())
    assert left_out(context) == [(1, "budget"), (2, "budget")]


def test_nothing_found_is_an_empty_text():
    assert made(recall()).text == ""


# -- what is in it -------------------------------------------------------------------------------------------------


def test_what_is_always_surfaced_stands_on_top_and_is_not_repeated_among_the_hits():
    rule = record("Never push to main", 9, tier="constitutional")
    context = made(recall("Alice lives in Osaka", replace(rule), always=[rule]))
    assert numbers(context) == [9, 1]
    assert context.items[0].relevance is None
    assert "#9 (constitutional): Never push to main" in context.text
    assert left_out(context) == []


def test_what_is_always_surfaced_comes_before_the_best_hit_when_room_is_short():
    rule = record("Never push to main", 9)
    context = made(recall("Alice lives in Osaka", always=[rule]), 56)
    assert numbers(context) == [9]
    assert left_out(context) == [(1, "budget")]


def test_of_equal_hits_the_newest_truth_stands_first():
    old = record("Alice lives in Osaka", 1, valid_at=NOON - timedelta(days=900))
    new = record("Alice lives in Tokyo", 2, valid_at=NOON)
    better = record("Alice moves often", 3, valid_at=NOON - timedelta(days=9000))
    hits = (Hit(better, 1.0, 0.9, {}), Hit(old, 1.0, 0.5, {}), Hit(new, 1.0, 0.5, {}))
    assert numbers(made(Recall(hits, "keyword"))) == [3, 2, 1]


def test_what_was_said_in_one_sitting_stands_together_in_the_order_it_was_said():
    def turn(number: int, session: str, minute: int, conversation: str | None = "c1") -> Record:
        at = NOON + timedelta(minutes=minute)
        return record(f"turn {number}", number, conversation_id=conversation, session_id=session, valid_at=at)

    hits = [turn(5, "b", 50), turn(2, "a", 20), turn(4, "b", 40), turn(1, "a", 10), turn(9, "b", 90, None)]
    assert numbers(made(recall(*hits))) == [4, 5, 1, 2, 9]


def test_who_gets_in_is_decided_by_rank_and_not_by_where_it_stands():
    best = record("Best. " * 30, 9, conversation_id="c", valid_at=NOON + timedelta(days=1))
    earlier = record("Earlier. " * 30, 1, conversation_id="c", valid_at=NOON)
    context = made(recall(best, earlier), 110)
    assert context.items[-1].record.number == 9
    assert context.items[-1].form == "full"


# -- fewer words ---------------------------------------------------------------------------------------------------

LONG = " ".join(f"Filler number {number} says little." for number in range(120))


@pytest.mark.parametrize(
    ("fields", "form", "said"),
    [
        ({"summary": "A longer account."}, "summary", "A longer account."),
        ({"abstract": "One sentence."}, "abstract", "One sentence."),
        ({"summary": "S " * 3000, "abstract": "One sentence."}, "abstract", "One sentence."),
        ({}, "excerpt", "Filler number 0 says little."),
    ],
)
def test_a_long_text_speaks_in_fewer_words_rather_than_not_at_all(fields: dict[str, Any], form: str, said: str):
    context = made(recall(record(LONG, 1, **fields)), 300)
    assert (context.items[0].form, context.items[0].text.startswith(said)) == (form, True)
    assert "(abridged)" in context.text
    assert left_out(context) == []


def test_an_excerpt_holds_the_sentences_that_answer_the_question():
    text = f"{LONG} Alice hates rain. {LONG} She likes Osaka."
    context = made(recall(text), 200, query="what does Alice hate?")
    assert " … Alice hates rain. …\n" in context.text
    assert "#1 (abridged)" in context.text


def test_no_memory_takes_more_than_its_share_while_others_wait():
    context = made(recall(LONG, "Alice lives in Osaka.", "Bob plays chess."), 400)
    assert numbers(context) == [1, 2, 3]
    assert estimate(context.items[0].text) <= 100


def test_what_was_cut_short_gets_the_room_that_is_left():
    text = LONG[:1500]
    assert made(recall(text), 500).items[0].form == "full"
    assert made(recall(text, "Bob plays chess."), 500).items[0].text == text


def test_a_title_stands_before_what_is_said():
    context = made(recall(record("Use OAuth.", 1, title="Login")))
    assert "#1: Login\n  | Use OAuth.\n" in context.text
    assert context.items[0].text == "Login\nUse OAuth."


# -- once ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again",
    ["alice lives in OSAKA!", "Alice lives in the Osaka", "  Alice   lives in Ósaka.", "Alice lived in Osaka"],
)
def test_what_says_the_same_is_said_once(again: str):
    context = made(recall("Alice lives in Osaka.", again, "Bob plays chess."))
    assert numbers(context) == [1, 3]
    assert left_out(context) == [(2, "duplicate")]


def test_a_long_text_with_a_word_changed_is_said_once():
    words = [f"word{'abcdefghijklmnopqrstuvwxyz'[number % 26]}{'xyz'[number % 3]}" for number in range(78)]
    other = [*words[:40], "different", *words[41:]]
    assert left_out(made(recall(" ".join(words), " ".join(other)))) == [(2, "duplicate")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The limit is 10.", "The limit is 100."),
        ("Alice likes tea.", "Alice does not like tea."),
        ("Alice likes tea.", "Bob likes tea."),
        ("I like him.", "I like her."),
        (f"{LONG} The port is 80.", f"{LONG} The port is 81."),
        (f"{LONG} It is safe.", f"{LONG} It is not safe."),
        ("🎉", "🔥"),
    ],
)
def test_a_number_a_name_or_a_not_makes_a_difference(first: str, second: str):
    assert left_out(made(recall(first, second), 20_000)) == []


def test_two_speakers_and_two_days_are_two_statements():
    said = [
        record("I love hiking.", 1, metadata={"speaker": "Alice"}, valid_at=NOON),
        record("I love hiking.", 2, metadata={"speaker": "Bob"}, valid_at=NOON),
        record("I love hiking.", 3, metadata={"speaker": "Bob"}, valid_at=NOON + timedelta(days=7)),
        record("I love hiking!", 4, metadata={"speaker": "Bob"}, valid_at=NOON + timedelta(minutes=5)),
    ]
    assert left_out(made(recall(*said))) == [(4, "duplicate")]


def test_memories_of_several_namespaces_are_told_apart():
    found = recall(record("Tea", 1, namespace="alice"), record("Coffee", 1, namespace="team"))
    context = pack(found, Pack("", 500, ESTIMATE, Style(several=True)))
    assert "#1 (in alice): Tea" in context.text
    assert "#1 (in team): Coffee" in context.text
    assert left_out(context) == []


@given(texts=TEXTS, budget=st.integers(1, 300))
def test_the_same_findings_make_the_same_context_but_for_the_mark(texts: list[str], budget: int):
    found = recall(*texts)
    first, second = (made(found, budget, "Alice") for _ in range(2))
    assert first.mark != second.mark
    assert first.text.replace(first.mark, "") == second.text.replace(second.mark, "")
    assert first.omitted == second.omitted
