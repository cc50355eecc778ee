"""Recall answers with what is true now: what took the place of a fact stands before whatever said the fact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory, Recall
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock

MONDAY = datetime(2025, 3, 3, 9, tzinfo=UTC)
AROUND = ("My sister Yui is visiting in October.", "We went to a museum.", "I'm allergic to peanuts.", "It rained.")


def open_memory(path: Path, clock: HandClock, **options: Any) -> Memory:
    """Every message is an episode, so that nothing waits for the end of one."""
    values = load(store=path, embedder="none", learn="rules", episode_min_messages=1, episode_max_messages=1)
    return Memory(path, settings=values, clock=clock, **options)


@pytest.fixture(params=["words", "words from disk", "words and meaning"])
def memory(tmp_path: Path, clock: HandClock, request: pytest.FixtureRequest) -> Iterator[Memory]:
    options = {"embedder": WordEmbedder()} if request.param == "words and meaning" else {}
    with open_memory(tmp_path / "m.db", clock, **options) as memory:
        if request.param == "words":  # Who asks more often than a few times has an index in memory.
            for _ in range(5):
                memory.recall("anything")
        yield memory


def tell(memory: Memory, *sayings: str, conversation: str = "talk", first_day: int = 0) -> None:
    """What Mara said, weeks apart and among other things; all of it is learned from."""
    texts = [text for saying in sayings for text in (saying, *AROUND)]
    memory.import_messages(
        {
            "conversation_id": conversation,
            "role": "user",
            "speaker": "Mara",
            "content": text,
            "at": MONDAY + timedelta(days=first_day + 4 * place),
        }
        for place, text in enumerate(texts)
    )
    memory.work()
    memory.consolidate()


def texts(hits: Recall) -> list[str]:
    return [hit.record.text for hit in hits]


def test_the_current_statement_stands_before_the_message_that_said_the_old_one(memory: Memory):
    tell(memory, "I live in Osaka and I work as a nurse.", "Guess what: I moved to Tokyo.")
    for limit in (1, 2, 4, 10):
        found = texts(memory.recall("Where does Mara live?", limit=limit))
        assert "Tokyo" in found[0]
        assert not any("Osaka" in text for text in found[:1])
    said = next(hit.record for hit in memory.recall("Where does Mara live?") if "Osaka" in hit.record.text)
    assert (said.valid_at, said.conversation_id) == (MONDAY, "talk")


@pytest.mark.parametrize(
    ("sayings", "question", "current"),
    [
        (("I live in Osaka.", "I moved to Tokyo.", "I moved to Kyoto."), "Where does Mara live?", "Kyoto"),
        (("I work for Siemens.", "I now work for Bosch."), "Which company does Mara work for?", "Bosch"),
        (("I love green tea.", "I don't like green tea any more."), "Does Mara love green tea?", "any more"),
        (("My favourite colour is blue.", "My favourite colour is red now."), "favourite colour of Mara", "red"),
    ],
)
def test_corrections_of_places_jobs_and_preferences_win(
    memory: Memory, sayings: tuple[str, ...], question: str, current: str
):
    tell(memory, *sayings)
    assert current in texts(memory.recall(question, limit=4))[0]
    assert current in memory.context(question, budget=200).text


def test_a_conversation_that_is_filled_in_later_reads_the_same(memory: Memory):
    tell(memory, "I moved to Tokyo.", first_day=100)
    tell(memory, "I live in Osaka.")
    assert "Tokyo" in texts(memory.recall("Where does Mara live?", limit=4))[0]


def test_what_was_never_corrected_keeps_its_place(memory: Memory):
    tell(memory, "I live in Osaka and I have a dog called Biko.", "I moved to Tokyo.")
    assert "Biko" in texts(memory.recall("What is the dog of Mara called?", limit=4))[0]
    assert "peanuts" in texts(memory.recall("What is Mara allergic to?", limit=4))[0]


def test_a_question_about_something_else_that_the_old_fact_said_is_not_answered_by_the_new_one(memory: Memory):
    tell(memory, "I'm 34, and have two pets.", "I'm 35, my birthday was yesterday.")
    found = memory.recall("Which pets?", limit=4, min_relevance=0)
    assert "pets" in found[0].record.text
    assert not any("35" in hit.record.text and "supersedes" in hit.explain for hit in found)
    assert "35" in texts(memory.recall("Is Mara 34?", limit=4))[0]


def test_an_explanation_says_whose_place_a_fact_took_and_still_adds_up(memory: Memory):
    tell(memory, "I live in Osaka.", "I moved to Tokyo.")
    first = memory.recall("Where does Mara live?", limit=4)[0]
    [before] = memory.facts("Tokyo")[0].earlier
    assert first.explain["supersedes"].about == f"It took the place of #{before.number}."
    evidence = sum(signal.contribution for signal in first.explain.values())
    assert 1 / (1 + exp(-evidence)) == pytest.approx(first.relevance, abs=1e-4)


def test_the_past_and_a_filter_decide_what_may_answer(memory: Memory):
    tell(memory, "I live in Osaka.", "I moved to Tokyo.")
    then = memory.recall("Where does Mara live?", as_of=MONDAY + timedelta(days=1), limit=1)
    assert "Osaka" in texts(then)[0]
    assert not any("Tokyo" in text for text in texts(memory.recall("Where does Mara live?", category="preference")))


def test_what_a_person_corrects_answers_in_its_new_words_alone(memory: Memory):
    kept = memory.remember("The office of the team is in Berlin.")
    memory.update(kept.record.number, text="The office of the team is in Hamburg.")
    assert texts(memory.recall("Where is the office of the team?")) == ["The office of the team is in Hamburg."]


def test_a_fact_and_its_message_take_one_place_whose_explanation_names_the_other(memory: Memory):
    tell(memory, "I live in Osaka.")
    for limit in (3, 20):
        found = memory.recall("Does Mara live in Osaka?", limit=limit)
        [one] = [hit for hit in found if "Osaka" in hit.text]
        assert "says it, too" in one.explain["same_place"].about
        assert [hit.relevance for hit in found] == sorted((hit.relevance for hit in found), reverse=True)


def test_a_message_that_said_what_holds_no_more_is_marked_and_stands_behind_what_holds_now(memory: Memory):
    tell(memory, "I live in Osaka.", "I moved to Tokyo.")
    found = memory.recall("Where does Mara live?")
    [old] = [hit for hit in found if "Osaka" in hit.text]
    [new] = [hit for hit in found if "Tokyo" in hit.text]
    assert old.outdated is not None
    assert (old.outdated.until, old.outdated.successor) == (MONDAY + timedelta(days=20), new.record.number)
    assert new.outdated is None
    assert new.relevance > old.relevance
    assert str(old.outdated) in memory.context("Where does Mara live?").text
    assert str(old.outdated) in old.line


def test_of_a_message_with_several_facts_the_one_that_is_asked_for_decides(memory: Memory):
    tell(memory, "I live in Osaka. I work as a nurse.", "I moved to Tokyo.")
    first = memory.recall("Does Mara work as a nurse?")[0]
    assert "nurse" in first.text
    assert first.outdated is None
    assert any(hit.outdated for hit in memory.recall("Does Mara live in Osaka?") if "Osaka" in hit.text)


def test_who_asks_for_the_past_gets_it_first_and_dated(memory: Memory):
    tell(memory, "I live in Osaka.", "I moved to Tokyo.")
    first = memory.recall("Where did Mara live before?")[0]
    assert "Osaka" in first.text
    assert first.outdated is not None


@pytest.mark.parametrize("speaker", ["Mara", None])
def test_of_two_statements_that_answer_equally_the_newer_one_stands_first(speaker: str | None, clock: HandClock):
    with Memory(":memory:", settings=load(None, learn="off"), embedder=WordEmbedder(1024), clock=clock) as memory:
        who = {"speaker": speaker} if speaker else {}
        said = ("The colour of my bicycle is blue today", "The colour of my bicycle is green today")
        for day, text in enumerate(said):
            memory.conversation("talk").add_message("user", text, at=MONDAY + timedelta(days=30 * day), **who)
            memory.conversation("talk").add_message("assistant", "Thank you", at=MONDAY + timedelta(days=30 * day))
        memory.work()
        found = memory.recall("Is the colour of the bicycle blue today or green?", limit=2)
        assert texts(found) == [*reversed(said)]
        assert found[0].relevance >= found[1].relevance
        earlier = memory.recall("Which colour of the bicycle was it before, blue or green?", limit=2)
        assert not any("newer" in hit.explain for hit in earlier)


@pytest.mark.parametrize(
    ("before", "after", "question"),
    [
        (
            "My landlord is Mr Okoye.",
            "The flat was sold, Mrs Brandt is the landlord these days.",
            "who is the landlord?",
        ),
        (
            "Mi gimnasio está en la calle Mayor.",
            "Ahora voy a otro gimnasio, en la plaza Nueva.",
            "¿dónde está el gimnasio?",
        ),
    ],
)
def test_what_a_user_told_an_assistant_later_stands_first_in_any_language(
    before: str, after: str, question: str, clock: HandClock
):
    with Memory(":memory:", settings=load(None, learn="off"), clock=clock) as memory:
        for name, who, text, day in (
            ("chat", {}, before, 0),
            ("chat", {}, after, 40),
            ("people", {"speaker": "Mara"}, before, 0),
            ("people", {"speaker": "Mara"}, after, 40),
        ):
            talk = memory.namespace(name).conversation("talk")
            talk.add_message("user", text, at=MONDAY + timedelta(days=day), **who)
            talk.add_message("user", "It rained.", at=MONDAY + timedelta(days=day, minutes=1), **who)
        memory.work()
        first, second = memory.namespace("chat").recall(question, limit=2)
        assert [first.text, second.text] == [after, before]
        assert first.score > second.score
        assert "newer" in first.explain
        # Between people it says nothing that somebody spoke of the same thing later.
        assert memory.namespace("people").recall(question, limit=2)[0].text == before


def test_what_a_user_said_in_the_same_breath_keeps_its_order(clock: HandClock):
    with Memory(":memory:", settings=load(None, learn="off"), clock=clock) as memory:
        told = "My landlord is Mr Okoye.", "The flat was sold, Mrs Brandt is the landlord these days."
        for minute, text in enumerate(told):
            memory.conversation("talk").add_message("user", text, at=MONDAY + timedelta(minutes=minute))
        memory.work()
        assert memory.recall("who is the landlord?", limit=2)[0].text == told[0]


def test_an_outdated_message_is_not_taken_for_the_fact_that_replaced_it(memory: Memory):
    tell(memory, "I live in Osaka now.", "I live in Tokyo now.")
    found = memory.recall("Who lives in Osaka now?")
    assert "Tokyo" in found[0].text
    assert [str(hit.outdated)[:5] for hit in found if "Osaka" in hit.text] == ["until"]


def test_a_message_that_told_a_contested_fact_stands_behind_the_newer_statement_and_is_marked(memory: Memory):
    told = (
        ("Lena", "Hello everybody! I live in Ulm. My name is on the door of the old mill."),
        ("Bob", "Lena lives in Bonn."),
        ("Bob", "It rained."),
    )
    memory.conversation("talk").add_messages(
        {"role": "user", "speaker": speaker, "content": text, "at": MONDAY + timedelta(days=30 * place)}
        for place, (speaker, text) in enumerate(told)
    )
    memory.work()
    memory.consolidate()
    hits = memory.recall("does Lena live in the old mill?")
    assert "Bonn" in hits[0].text
    [message] = [hit for hit in hits if hit.text.startswith("Hello")]
    assert str(*message.contradicts).startswith("contradicts the newer #")
