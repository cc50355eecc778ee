"""A memory in its conversation: what stands next to it, its session, who speaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.model import Hit, Recall
from perdure.recall.conversation import REACH, ConversationFeatures, conversation_columns
from perdure.recall.relevance import relevance
from perdure.recall.signals import total_of
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
AROUND = {"neighbours", "named", "asking", "answering", "brief", "when", "assistant", "around"}
PLAIN = {"conversation_weight": 0.0, "learned_discount": 0.0}
TALK = (
    ("Ann", "Lovely weather over the harbour."),
    ("Bob", "What did you shape at the pottery course?"),
    ("Ann", "A blue vase, for grandmother."),
    ("Bob", "Grand."),
    ("Ann", "Trains were late again."),
    ("Bob", "As always on Mondays."),
)


class Hands:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def memory(hands: Hands) -> Iterator[Memory]:
    settings = load({}, recipes={"plain": PLAIN})
    with Memory(":memory:", embedder=WordEmbedder(), clock=hands, settings=settings) as opened:
        yield opened


def tell(memory: Memory, talk: Sequence[tuple[str, str]] = TALK, conversation: str = "one", session: str = "1") -> None:
    for speaker, text in talk:
        memory.remember(text, conversation_id=conversation, session_id=session, metadata={"speaker": speaker})
    memory.work()


def found(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


def hit(answer: Recall, text: str) -> Hit:
    return next(one for one in answer if one.record.text == text)


def test_an_answer_that_shares_no_word_is_found_beside_its_question(memory: Memory):
    vase = "A blue vase with two thin handles and a lid, for grandmother."
    tell(memory, [*TALK[:2], ("Ann", vase), *TALK[3:]])
    for number in range(300):
        memory.remember(f"Kiln shelf {number}: glaze, clay, brushes.")
    memory.work()
    answer, plain = (memory.recall("pottery course shape", recipe=each, min_relevance=0) for each in (None, "plain"))
    assert hit(answer, vase).explain["keyword"].raw == 0
    assert hit(answer, vase).explain["neighbours"].contribution > 0
    assert vase not in found(plain)
    assert not AROUND & {name for one in plain for name in one.explain}


def test_a_question_counts_less_than_what_answers_it(memory: Memory):
    tell(memory)
    answer = memory.recall("pottery course shape", min_relevance=0)
    assert hit(answer, TALK[1][1]).explain["asking"].contribution < 0
    assert "asking" not in hit(answer, TALK[2][1]).explain
    assert hit(answer, TALK[2][1]).explain["answering"].contribution > 0
    assert "answering" not in hit(answer, TALK[0][1]).explain


def test_a_turn_of_few_words_gains_little_from_its_neighbours(memory: Memory):
    answering = "I made a blue vase with two handles, and painted birds on it."
    tell(memory, [("Ann", "Oh."), TALK[1], ("Ann", answering)])
    answer = memory.recall("pottery course shape", min_relevance=0)
    assert "neighbours" not in hit(answer, "Oh.").explain
    assert hit(answer, TALK[1][1]).explain.keys().isdisjoint({"neighbours", "answering"})
    assert "neighbours" in hit(answer, answering).explain


def test_a_word_that_stands_beside_a_turn_counts_half_and_one_farther_away_a_quarter(memory: Memory):
    heated = "We heated it all night long, with oak and birch and peat."
    storm = "Not for a minute, there was a storm outside us."
    tell(memory, [("Ben", "The cottage has a stove."), ("Ann", heated), ("Ben", "And the windows?"), ("Ann", storm)])
    for number in range(20):
        memory.remember(f"Shelf {number}: glaze, clay, brushes.")
    memory.work()
    answer = memory.recall("cottage stove oak storm", limit=30, min_relevance=0)
    # One of 24 memories holds each word: two of the words stand beside it, and one two turns away.
    assert hit(answer, heated).explain["around"].raw == pytest.approx(1.25 * math.log1p(23.5 / 1.5))
    assert all("around" not in one.explain for one in answer if one.record.text.startswith("Shelf"))


def test_what_an_assistant_said_counts_less_unless_that_is_asked_for(memory: Memory):
    talk = memory.conversation("one")
    talk.add_message("user", "My train to Leipzig leaves at noon on Fridays.")
    talk.add_message("assistant", "The train to Leipzig leaves at noon on Fridays then.")
    memory.work()
    told = memory.recall("When does my train to Leipzig leave?", min_relevance=0)
    assert [one.record.metadata["speaker"] for one in told] == ["user", "assistant"]
    assert told[1].explain["assistant"].contribution < 0
    asked = memory.recall("What did you tell me about the noon train to Leipzig on Fridays?", min_relevance=0)
    assert [one.record.metadata["speaker"] for one in asked if "named" in one.explain] == ["assistant"]
    assert all("assistant" not in one.explain for one in asked)


@pytest.mark.parametrize("question", ["When did Ann visit the museum?", "How long ago was the visit to the museum?"])
def test_what_tells_a_time_comes_first_where_it_is_asked_when(memory: Memory, question: str):
    tell(memory, [("Ann", "I went to visit the museum yesterday."), ("Ann", "I went to visit the museum gladly.")])
    answer = memory.recall(question, min_relevance=0)
    assert answer[0].record.text == "I went to visit the museum yesterday."
    assert [one.record.text for one in answer if "when" in one.explain] == ["I went to visit the museum yesterday."]


def test_a_time_counts_only_where_it_is_asked_for(memory: Memory):
    tell(memory, [("Ann", "I went to visit the museum last week.")])
    assert "when" not in memory.recall("What did Ann feel when she saw the museum?", min_relevance=0)[0].explain


def test_only_what_is_near_in_the_same_session_is_lifted(memory: Memory):
    tell(memory, TALK[:2], session="1")
    tell(memory, TALK[2:], session="2")
    answer = memory.recall("pottery course shape", limit=20, min_relevance=0)
    assert "neighbours" in hit(answer, TALK[0][1]).explain
    assert {"neighbours", "answering"}.isdisjoint(hit(answer, TALK[2][1]).explain)


def test_other_writes_between_two_turns_do_not_part_them(memory: Memory):
    for number, turn in enumerate(TALK):
        tell(memory, [turn])
        memory.remember(f"Something else entirely {number}.")
        tell(memory, [("Cid", f"Elsewhere {number}.")], conversation="two")
    answer = memory.recall("pottery course shape", limit=20, min_relevance=0)
    assert hit(answer, TALK[2][1]).explain["answering"].normalised > 0.3


def test_what_is_forgotten_lends_nothing(memory: Memory):
    tell(memory)
    before = hit(memory.recall("pottery course shape", limit=20, min_relevance=0), TALK[2][1])
    question = next(one for one in memory.list().records if one.text == TALK[1][1])
    memory.forget(question.number)
    after = hit(memory.recall("pottery course shape", limit=20, min_relevance=0), TALK[2][1])
    lent = after.explain.get("neighbours")
    assert lent is None or lent.normalised < before.explain["neighbours"].normalised


def test_a_memory_that_joins_a_conversation_is_seen_there(memory: Memory):
    tell(memory, TALK[1:2])
    vase = memory.remember("A blue vase, for grandmother.")
    memory.work()
    answer = memory.recall("pottery course shape", min_relevance=0)
    assert all("neighbours" not in one.explain for one in answer)
    memory.forget(vase.record.number)
    memory.remember("A blue vase, for grandmother.", conversation_id="one", session_id="1")
    memory.work()
    joined = hit(memory.recall("pottery course shape", min_relevance=0), "A blue vase, for grandmother.")
    assert joined.explain["neighbours"].contribution > 0


def test_who_is_named_is_lifted_and_a_fact_about_them_too(memory: Memory):
    tell(memory, [("Ann", "I adore jazz records."), ("Bob", "I adore jazz records, too.")])
    memory.remember("Ann collects jazz records.")
    memory.remember("Cats dislike jazz records.")
    memory.work()
    answer = memory.recall("Which jazz records does Ann adore?")
    named = {one.record.text for one in answer if "named" in one.explain}
    assert named == {"I adore jazz records.", "Ann collects jazz records."}
    assert answer[0].record.text == "I adore jazz records."


def test_who_is_named_does_not_outweigh_who_says_what_is_asked_for(memory: Memory):
    tell(memory, [("Ann", "I adore jazz records."), ("Bob", "Trains were late.")])
    tell(memory, [("Ann", "Buses were late."), ("Bob", "I sailed around the cape in a wooden boat.")], session="2")
    mistaken = memory.recall("Where did Ann sail in a wooden boat, around the cape?", min_relevance=0)
    assert mistaken[0].record.metadata["speaker"] == "Bob"
    assert all(one.record.metadata["speaker"] == "Ann" for one in mistaken if "named" in one.explain)


def test_the_question_is_also_embedded_without_the_name_where_somebody_bears_it(memory: Memory):
    asked: list[str] = []

    class Listening(WordEmbedder):
        def embed_query(self, text: str):
            asked.append(text)
            return super().embed_query(text)

    with Memory(":memory:", embedder=Listening()) as listening:
        listening.recall("Which jazz records does Ann adore?")
        tell(listening)
        listening.recall("Which jazz records does Ann adore?")
        listening.recall("Which jazz records does Ann own?", recipe="facts")
    assert asked == [
        "Which jazz records does Ann adore?",
        "Which jazz records does adore?",
        "Which jazz records does own?",
        "Which jazz records does Ann own?",
    ]


def test_contributions_are_the_evidence_that_the_score_amounts_to(memory: Memory):
    tell(memory, [*TALK, ("Ann", "The pottery course was by Lake Como, since last week.")])
    memory.conversation("two").add_message("assistant", "Ann may shape a vase at the pottery course.")
    for number in range(20):
        memory.remember(f"Ann shapes vase {number} at the course.")
    memory.work()
    answer = memory.recall("When did Ann shape something at the pottery course?", limit=50, min_relevance=0)
    assert {name for one in answer for name in one.explain} >= AROUND
    for one in answer:
        assert 0 < one.score == one.relevance < 1
        assert one.score == relevance(sum(signal.contribution for signal in one.explain.values()))
    assert all(one.score >= other.score for one, other in pairwise(answer))


def test_without_conversations_nothing_is_different(memory: Memory):
    for number in range(30):
        memory.remember(f"Is course {number} about pottery? Ann says so.")
    memory.work()
    query = "What about pottery course 7, Ann?"
    answer, plain = (memory.recall(query, recipe=recipe, min_relevance=0) for recipe in (None, "plain"))
    assert [(one.record.number, one.score) for one in answer] == [(one.record.number, one.score) for one in plain]
    assert not AROUND & {name for one in answer for name in one.explain}


def test_neighbours_count_among_thousands_of_memories(memory: Memory):
    memory.import_({"text": f"Shelf {number} holds glaze."} for number in range(2500))
    tell(memory)
    memory.import_({"text": f"Kiln {number} is hot."} for number in range(2500))
    memory.work()
    question = "What did you shape at the pottery course?"
    answer = memory.recall(question, conversation_id="one", limit=20, min_relevance=0)
    assert hit(answer, TALK[2][1]).explain["neighbours"].contribution > 0


def test_several_namespaces_keep_their_conversations_apart(memory: Memory):
    tell(memory)
    other = memory.namespace("other")
    tell(other, [("Ann", "A green cup, for grandfather.")])
    answer = memory.recall(
        "What did you shape at the pottery course?", namespaces=["default", "other"], limit=20, min_relevance=0
    )
    assert "neighbours" in hit(answer, TALK[2][1]).explain
    assert "neighbours" not in hit(answer, "A green cup, for grandfather.").explain


def test_the_past_has_its_conversations_too(memory: Memory, hands: Hands):
    tell(memory)
    then = hands.now
    vase = next(one for one in memory.list().records if one.text == TALK[2][1])
    memory.forget(vase.number)
    memory.remember("A fact that came later.")
    memory.work()
    answer = memory.recall("pottery course shape", known_at=then, limit=20, min_relevance=0)
    assert TALK[2][1] in found(answer)
    assert "neighbours" in hit(answer, TALK[0][1]).explain


def test_by_words_alone_conversations_are_found_as_ever(hands: Hands):
    with Memory(":memory:", embedder="none", clock=hands) as wordy:
        tell(wordy)
        for _ in range(5):
            assert found(wordy.recall("pottery course"))[0] == TALK[1][1]


evidences = st.floats(-5, 5).map(lambda evidence: round(evidence, 6))


@st.composite
def features(draw: st.DrawFn, count: int) -> ConversationFeatures:
    def some(values: st.SearchStrategy[float | bool]) -> np.ndarray:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)))

    around = draw(st.lists(st.integers(-1, count - 1), min_size=2 * REACH * count, max_size=2 * REACH * count))
    asking, whole, worth = some(st.floats(0, 1)), some(st.floats(0, 1)), some(st.floats(0, 20))
    meant, assistant, person, dated, learned, by_name, introduced = (some(st.booleans()) for _ in range(7))
    near = np.array(around, np.int32).reshape(2 * REACH, count)
    return ConversationFeatures(
        near, asking, meant, assistant & ~meant, whole, person, dated, learned, by_name, introduced & by_name, worth
    )


def with_conversation(own: np.ndarray, around: ConversationFeatures, weight: float = 1.0) -> np.ndarray:
    return own + np.asarray(total_of(conversation_columns(own, around, weight, 0.05)))


@given(st.lists(evidences, min_size=1, max_size=8), st.floats(0, 1))
def test_what_stands_in_no_conversation_gains_and_loses_nothing(own: list[float], weight: float):
    evidence = np.array(own)
    assert (with_conversation(evidence, ConversationFeatures.none(len(own)), weight) == evidence).all()


@given(st.data(), st.lists(evidences, min_size=2, max_size=8))
def test_a_better_match_lowers_neither_itself_nor_a_neighbour(data: st.DataObject, own: list[float]):
    around = data.draw(features(len(own)))
    better = np.array(own)
    better[0] += 1.0
    before, after = with_conversation(np.array(own), around), with_conversation(better, around)
    assert (after >= before - 1e-5).all()


def test_speakers_who_come_while_somebody_reads_change_nothing_for_the_reader(memory: Memory):
    tell(memory, TALK)
    memory.recall("vase")
    snapshot = memory._services.recaller()._snapshot("default", WordEmbedder().generation)
    around = snapshot.conversation
    assert around is not None
    rows = np.arange(len(around.numbers))
    before = around.said_by(rows, {"ann"})
    around.speakers.code("Ann Other")
    around.speakers.code("Cleo")
    assert (around.said_by(rows, {"ann", "cleo"}) == before).all()
    assert not around.knows("cleo")


def test_a_name_that_nobody_bears_any_more_is_a_word_like_any_other(memory: Memory):
    tell(memory, TALK)
    memory.remember("Blue tiles by the window", conversation_id="c", metadata={"speaker": "Zoltan"})
    memory.recall("Zoltan blue")
    memory.erase(len(TALK) + 1, confirm=True)
    warm = memory.recall("what is blue for Zoltan in the window")
    cold = Memory(memory._services.store, embedder=WordEmbedder(), clock=lambda: NOW)
    assert [(hit.record.number, hit.score) for hit in warm] == [
        (hit.record.number, hit.score) for hit in cold.recall("what is blue for Zoltan in the window")
    ]
