"""What rules learn of conversations, without any model: facts appear, corrections win, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import Memory, Record
from perdure.model import FACT_CATEGORIES
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
CONVERSATION = "talk"


def day(number: float) -> datetime:
    return MONDAY + timedelta(days=number)


def open_memory(path: Path, clock: HandClock, **options: Any) -> Memory:
    """Every message is an episode, so that nothing waits for the end of one."""
    values = load(store=path, embedder="none", learn="rules", episode_min_messages=1, episode_max_messages=1)
    return Memory(path, settings=values, clock=clock, **options)


@pytest.fixture
def memory(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db", clock) as memory:
        yield memory


def tell(memory: Memory, *sayings: tuple[float, str], speaker: str = "Ada", conversation: str = CONVERSATION) -> None:
    """What somebody said on which day; it is learned before anything else is said."""
    memory.import_messages(
        {"conversation_id": conversation, "role": "user", "speaker": speaker, "content": text, "at": day(at)}
        for at, text in sayings
    )
    memory.work()
    memory.consolidate()


def known(memory: Memory, **filters: Any) -> set[str]:
    return {fact.record.text for fact in memory.facts(limit=100, **filters)}


def spans(memory: Memory) -> list[tuple[str, str, datetime | None, datetime | None]]:
    """Every fact that was ever true, and when."""
    records = memory.list(limit=1000, category=FACT_CATEGORIES, states=("active", "superseded")).records
    return sorted(
        ((one.text, one.state, one.valid_at, one.invalid_at) for one in records), key=lambda row: (row[0], str(row[2:]))
    )


def current(memory: Memory, text: str) -> Record:
    [record] = [fact.record for fact in memory.facts(limit=100) if fact.record.text == text]
    return record


def test_a_conversation_becomes_facts_without_a_model(memory: Memory):
    tell(
        memory,
        (0, "I live in Oslo and I work as a nurse. My sister Anna loves chess."),
        (1, "What a day! How are you?"),
        (2, "I'm allergic to peanuts."),
    )
    assert known(memory) >= {"Ada is allergic to peanuts", "Anna is Ada's sister"}
    assert any("Oslo" in text for text in known(memory))
    assert known(memory, category="relationship") == {"Anna is Ada's sister"}


def test_a_fact_says_who_learned_it_from_what_and_how_sure_that_is(memory: Memory):
    tell(memory, (0, "I live in Oslo."), (1, "Maybe I should move to Rome."))
    fact = current(memory, "Ada lives in Oslo")
    assert (fact.category, fact.source, fact.metadata["learned_by"]) == ("identity", "consolidation", "rules")
    assert (fact.metadata["subject"], fact.metadata["slot"], fact.metadata["value"]) == ("Ada", "lives_in", "Oslo")
    assert fact.valid_at == day(0)
    [episode] = fact.evidence
    [message] = memory.get(episode).evidence
    assert memory.get(message).text == "I live in Oslo."
    assert 0 < min(one.record.confidence for one in memory.facts()) <= fact.confidence < 1


def test_what_an_assistant_or_a_tool_says_is_no_fact(memory: Memory):
    for role in ("assistant", "system", "tool"):
        memory.conversation(CONVERSATION).add_message(role, "I live in Oslo and I love chess.")
    memory.work()
    assert memory.consolidate().learned == 0
    assert known(memory) == set()


def test_a_secret_that_was_taken_out_is_no_fact(memory: Memory):
    tell(memory, (0, "My token is ghp_abcdefghijklmnopqrstuvwxyz0123456789. I live in Osaka."))
    assert known(memory) == {"Ada lives in Osaka"}


def test_a_correction_takes_the_place_of_what_was_said_before(memory: Memory):
    tell(memory, (0, "I live in Osaka."), (5, "I moved to Tokyo."))
    [fact] = memory.facts()
    [before] = fact.earlier
    assert (fact.record.text, before.text) == ("Ada moved to Tokyo", "Ada lives in Osaka")
    assert fact.record.supersedes == (before.id,)
    assert (before.state, before.valid_at, before.invalid_at) == ("superseded", day(0), day(5))
    assert (fact.record.valid_at, fact.record.invalid_at) == (day(5), None)


def test_what_was_superseded_is_found_only_where_the_past_is_asked_for(memory: Memory):
    tell(memory, (0, "I live in Osaka."), (5, "I live in Tokyo."))
    question = "where does Ada live"
    assert [hit.record.text for hit in memory.recall(question, category="identity")] == ["Ada lives in Tokyo"]
    assert "Ada lives in Osaka" not in memory.context(question).text
    before = memory.recall(question, as_of=day(1), category="identity")
    assert [hit.record.text for hit in before] == ["Ada lives in Osaka"]
    assert known(memory, history=True) == {"Ada lives in Tokyo"}
    assert [one.text for one in memory.facts(question, history=True)[0].earlier] == ["Ada lives in Osaka"]
    # Whichever of the two answers the question better: there is room for one.
    [fact] = memory.facts("where does Ada live, in Osaka?", history=True, limit=1)
    assert fact.record.text == "Ada lives in Tokyo"


def test_somebody_may_go_back_to_where_they_were(memory: Memory):
    tell(memory, (0, "I live in Osaka."))
    tell(memory, (1, "I live in Tokyo."))
    tell(memory, (2, "I live in Osaka."))
    assert known(memory) == {"Ada lives in Osaka"}
    assert spans(memory) == [
        ("Ada lives in Osaka", "superseded", day(0), day(1)),
        ("Ada lives in Osaka", "active", day(2), None),
        ("Ada lives in Tokyo", "superseded", day(1), day(2)),
    ]
    assert [one.text for one in memory.facts()[0].earlier] == ["Ada lives in Tokyo", "Ada lives in Osaka"]


def test_what_becomes_known_later_is_put_where_it_belongs(memory: Memory):
    tell(memory, (0, "I live in Osaka."), (4, "I live in Tokyo."))
    tell(memory, (2, "I live in Kyoto."))
    assert known(memory) == {"Ada lives in Tokyo"}
    assert [(one.text, one.valid_at, one.invalid_at) for one in memory.facts()[0].earlier] == [
        ("Ada lives in Kyoto", day(2), day(4)),
        ("Ada lives in Osaka", day(0), day(2)),
    ]


def test_what_is_denied_ends_without_a_successor(memory: Memory):
    tell(memory, (0, "I love sushi."), (1, "I live in Rome."), (2, "I don't like sushi anymore."))
    assert known(memory) == {"Ada doesn't like sushi anymore", "Ada lives in Rome"}


def test_denying_something_else_leaves_a_fact_alone(memory: Memory):
    tell(memory, (0, "I live in Oslo."), (1, "I don't live in Rome."))
    assert known(memory) == {"Ada lives in Oslo", "Ada doesn't live in Rome"}


def test_what_was_said_again_is_reinforced_and_not_trusted_more(memory: Memory):
    tell(memory, (0, "I live in Oslo."))
    first = current(memory, "Ada lives in Oslo")
    tell(memory, (3, "I live in Oslo."))
    again = current(memory, "Ada lives in Oslo")
    assert (again.id, again.valid_at) == (first.id, day(0))
    assert len(again.evidence) == 2
    assert (again.trust, again.confidence) == (first.trust, first.confidence)
    assert memory.facts()[0].line == "[identity] Ada lives in Oslo (sources: 1 conversation)"


def test_others_live_where_they_live(memory: Memory):
    tell(memory, (0, "I live in Oslo."))
    tell(memory, (1, "I live in Rome."), speaker="Ben")
    tell(memory, (2, "I live in Bern."), conversation="another")
    assert known(memory) == {"Ben lives in Rome", "Ada lives in Bern"}
    assert known(memory, conversation_id="another") == {"Ada lives in Bern"}


def test_messages_without_a_time_are_in_the_order_of_the_conversation(memory: Memory):
    memory.import_messages(
        {"conversation_id": CONVERSATION, "role": "user", "content": text}
        for text in ("I live in Osaka.", "I live in Tokyo.", "I live in Osaka.", "I live in Kyoto.")
    )
    memory.work()
    assert known(memory) == {"User lives in Kyoto"}
    assert len(memory.facts()[0].earlier) == 3


def test_what_was_said_at_one_moment_is_left_to_a_person(memory: Memory):
    tell(memory, (0, "I live in Rome."), (1, "I live in Osaka."), (1, "I live in Tokyo."))
    assert known(memory) == {"Ada lives in Osaka", "Ada lives in Tokyo"}
    [conflict] = memory.conflicts()
    assert {conflict.first.text, conflict.second.text} == known(memory)
    assert conflict.reasons == ("both were said at the same time",)


@pytest.mark.parametrize(
    ("kept", "gone"), [("Ada lives in Osaka", "Ada lives in Tokyo"), ("Ada lives in Tokyo", "Ada lives in Osaka")]
)
def test_what_a_person_decided_stays_decided(memory: Memory, clock: HandClock, kept: str, gone: str):
    """Until something else is said after that."""
    tell(memory, (1, "I live in Osaka."), (1, "I live in Tokyo."))
    [conflict] = memory.conflicts()
    clock.now = day(3)
    memory.accept(conflict, keep=current(memory, kept).number)
    tell(memory, (2, "I don't live in Rome."))
    assert known(memory) == {kept, "Ada doesn't live in Rome"}
    [fact] = [fact for fact in memory.facts(history=True) if fact.record.text == kept]
    assert [one.text for one in fact.earlier] == [gone]
    assert memory.conflicts() == []
    clock.now = day(5)
    tell(memory, (4, gone.replace("Ada lives", "I live")))
    assert known(memory) == {gone, "Ada doesn't live in Rome"}


def test_a_later_statement_decides_what_was_undecided(memory: Memory):
    tell(memory, (1, "I live in Osaka."), (1, "I live in Tokyo."))
    tell(memory, (2, "I live in Tokyo."))
    assert known(memory) == {"Ada lives in Tokyo"}
    assert memory.conflicts() == []


def test_what_a_person_corrected_is_not_superseded_by_rules(memory: Memory, clock: HandClock):
    tell(memory, (0, "I live in Osaka."))
    clock.now = day(3)
    memory.update(current(memory, "Ada lives in Osaka").number, text="Ada lives in Kyoto")
    tell(memory, (5, "I live in Tokyo."))
    assert known(memory) == {"Ada lives in Kyoto", "Ada lives in Tokyo"}
    [conflict] = memory.conflicts()
    assert (conflict.first.text, conflict.second.text) == ("Ada lives in Kyoto", "Ada lives in Tokyo")


def test_what_was_said_before_a_person_corrected_it_is_history(memory: Memory, clock: HandClock):
    tell(memory, (1, "I live in Osaka."))
    clock.now = day(3)
    memory.update(current(memory, "Ada lives in Osaka").number, text="Ada lives in Kyoto")
    tell(memory, (2, "I live in Tokyo."))
    assert known(memory) == {"Ada lives in Kyoto"}
    assert memory.conflicts() == []


def test_what_a_person_remembered_is_not_superseded_by_rules(memory: Memory, clock: HandClock):
    clock.now = day(0)
    own = memory.remember("Ada lives in Oslo", category="identity", conversation_id=CONVERSATION).record
    tell(memory, (5, "I live in Tokyo."))
    assert memory.get(own.number).state == "active"
    [conflict] = memory.conflicts()
    assert (conflict.first.number, conflict.second.text) == (own.number, "Ada lives in Tokyo")


@pytest.mark.parametrize("later", ["Rome", "Oslo", "Lima"])
def test_what_a_person_ended_stays_ended_and_ends_nothing(memory: Memory, clock: HandClock, later: str):
    tell(memory, (0, "I live in Rome."), (0, "I live in Oslo."))
    clock.now = day(3)
    memory.accept(memory.conflicts()[0], keep=current(memory, "Ada lives in Rome").number)
    settled = [span for span in spans(memory) if span[1] == "superseded"]
    tell(memory, (5, f"I live in {later}."))
    assert known(memory) == {f"Ada lives in {later}"}
    assert set(settled) < set(spans(memory))
    until = None if later == "Rome" else day(5)
    assert ("Ada lives in Rome", day(0), until) in [(text, since, end) for text, _, since, end in spans(memory)]
    assert "Ada lives in Oslo" in {one.text for one in memory.facts()[0].earlier}
    assert memory.conflicts() == []


def test_learning_goes_on_after_an_undo_was_taken_back(memory: Memory, clock: HandClock):
    tell(memory, (0, "I live in Rome."), (1, "I live in Oslo."))
    clock.now = day(3)
    undone = memory.undo(memory.history(current(memory, "Ada lives in Oslo").number)[0].change.batch)
    memory.undo(undone.batch)
    tell(memory, (5, "I live in Lima."))
    assert spans(memory)[-1] == ("Ada lives in Rome", "superseded", day(0), day(1))
    assert known(memory) == {"Ada lives in Lima"}
    assert memory.conflicts() == []


def test_what_was_forgotten_is_not_learned_again_from_what_was_said_before(memory: Memory, clock: HandClock):
    tell(memory, (0, "I live in Osaka."))
    clock.now = day(3)
    memory.forget(current(memory, "Ada lives in Osaka").number)
    tell(memory, (1, "I live in Osaka."))
    assert known(memory) == set()
    tell(memory, (4, "I live in Osaka."))
    assert known(memory) == {"Ada lives in Osaka"}


def test_what_only_an_erased_message_said_does_not_stand_in_the_way_of_what_is_said_later(memory: Memory):
    tell(memory, (0, "I live in Osaka."), (1, "I live in Tokyo."))
    memory.erase("message:talk/00000002", confirm=True)
    assert known(memory) == {"Ada lives in Osaka"}
    tell(memory, (2, "I live in Kyoto."))
    assert known(memory) == {"Ada lives in Kyoto"}
    assert memory.conflicts() == []


def test_what_was_taken_back_is_learned_again_only_when_somebody_says_so(memory: Memory):
    tell(memory, (0, "I live in Osaka."))
    tell(memory, (1, "I live in Tokyo."))
    memory.undo(memory.history(current(memory, "Ada lives in Tokyo").number)[-1].change.batch)
    memory.work()
    assert known(memory) == {"Ada lives in Osaka"}
    memory.consolidate()
    assert known(memory) == {"Ada lives in Tokyo"}


def test_one_undo_takes_back_what_one_run_learned(memory: Memory):
    tell(memory, (0, "I live in Osaka."))
    before = memory.list(limit=100).records
    memory.import_messages(
        [
            {
                "conversation_id": CONVERSATION,
                "role": "user",
                "speaker": "Ada",
                "content": "I live in Rome.",
                "at": day(1),
            }
        ]
    )
    memory.work()
    memory.undo(memory.history(current(memory, "Ada lives in Rome").number)[-1].change.batch)
    assert known(memory) == {"Ada lives in Osaka"}
    assert current(memory, "Ada lives in Osaka").invalid_at is None
    assert {one.id for one in before} <= {one.id for one in memory.list(limit=100).records}


def test_one_run_supersedes_no_more_facts_than_the_settings_allow(tmp_path: Path, clock: HandClock):
    things = ("sushi", "chess", "Rome", "tea")
    with open_memory(tmp_path / "m.db", clock) as memory:
        tell(memory, *((0, f"I love {thing}.") for thing in things))
    values = load(
        store=tmp_path / "m.db", embedder="none", learn="rules", episode_min_messages=1, episode_max_messages=1,
        consolidation_most_superseded=2,
    )  # fmt: skip
    with Memory(tmp_path / "m.db", settings=values, clock=clock) as memory:
        memory.import_messages(
            {
                "conversation_id": CONVERSATION,
                "role": "user",
                "speaker": "Ada",
                "content": f"I hate {thing}.",
                "at": day(1),
            }
            for thing in things
        )
        memory.work()
        superseded = [row for row in spans(memory) if row[1] == "superseded"]
        assert len(superseded) == 2
        assert len(memory.conflicts()) == 2


@settings(max_examples=15)
@given(
    sayings=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from(
                ("I live in Osaka.", "I live in Tokyo.", "I don't live in Osaka.", "I love tea.", "I hate tea.")
            ),
        ),
        min_size=1,
        max_size=7,
    ),
    order=st.randoms(use_true_random=False),
    sizes=st.lists(st.integers(1, 3), min_size=7, max_size=7),
)
def test_the_order_in_which_it_becomes_known_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, sayings: list[tuple[int, str]], order: Any, sizes: Sequence[int]
):
    """Live, filled in later, or back to front: the same facts hold, and held, at the same times."""

    def learned(batches: Iterable[Sequence[tuple[int, str]]]) -> object:
        with open_memory(tmp_path_factory.mktemp("any") / "m.db", HandClock()) as memory:
            for batch in batches:
                tell(memory, *batch)
            return spans(memory), {frozenset((one.first.text, one.second.text)) for one in memory.conflicts()}

    said = sorted(set(sayings))
    shuffled = list(said)
    order.shuffle(shuffled)
    batches: list[list[tuple[int, str]]] = []
    for size in sizes:
        batches.append(shuffled[:size])
        shuffled = shuffled[size:]
    assert learned([said]) == learned(batch for batch in batches if batch)


def test_with_vectors_near_duplicates_are_reinforced(tmp_path: Path, clock: HandClock):
    with open_memory(tmp_path / "m.db", clock, embedder=WordEmbedder()) as memory:
        tell(memory, (0, "I went hiking in the Alps with Ben."))
        tell(memory, (3, "I went hiking in the Alps with Ben!"))
        [fact] = memory.facts()
        assert (len(fact.record.evidence), fact.record.valid_at) == (2, day(0))


def test_a_fact_and_the_message_it_was_learned_from_do_not_take_two_places(tmp_path: Path, clock: HandClock):
    with open_memory(tmp_path / "m.db", clock, embedder=WordEmbedder()) as memory:
        tell(memory, (0, "I live in Oslo."), (1, "My brother Ben lives in Bergen."), (2, "I love chess."))
        memory.work()
        for question in ("where does Ada live", "who loves chess"):
            texts = [hit.record.text for hit in memory.recall(question, limit=2, min_relevance=0)]
            assert len(texts) == 2
            assert not {"I live in Oslo.", "Ada lives in Oslo"} <= set(texts)
            assert not {"I love chess.", "Ada loves chess"} <= set(texts)
        everything = [hit.record.text for hit in memory.recall("where does Ada live", limit=20, min_relevance=0)]
        assert len({"I live in Oslo.", "Ada lives in Oslo"} & set(everything)) == 1


@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_memory_that_has_the_key_of_an_episode_keeps_nobody_from_learning(memory: Memory, position: int):
    memory.upsert(f"episode:{CONVERSATION}/{position:08}", "Somebody else's notes.")
    tell(memory, *((day, text) for day, text in enumerate(("I live in Oslo.", "I love chess.", "I'm a nurse.", "Hm."))))
    assert "Ada is a nurse" in known(memory)


@pytest.mark.parametrize("kept", ["Oslo", "Rome"])
def test_what_was_said_before_a_person_decided_does_not_overrule_the_decision(
    memory: Memory, clock: HandClock, kept: str
):
    tell(memory, (0, "I live in Oslo."))
    tell(memory, (0, "I live in Rome."))
    [conflict] = memory.conflicts()
    clock.now = day(10)
    memory.accept(conflict, keep=current(memory, f"Ada lives in {kept}").number)
    for told in ("Oslo", "Rome", "Kyoto"):
        tell(memory, (5, f"I live in {told}."))
        assert known(memory) == {f"Ada lives in {kept}"}
    clock.now = day(30)
    tell(memory, (20, "I moved to Bonn."))
    assert known(memory) == {"Ada moved to Bonn"}
