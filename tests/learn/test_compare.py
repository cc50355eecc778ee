"""What is written is compared with what is near it: a contradiction is noticed at once, and nothing is decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.user import User
from learn.contrary import COMPATIBLE, CONTRADICTIONS, needs_judge
from mcp_server.host import served
from serve.running import RunningServer

from perdure import Memory, tools
from perdure.errors import NotAllowed

if TYPE_CHECKING:
    from clocks import HandClock

pytestmark = needs_judge


@pytest.fixture
def mind(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    """A memory with the local model."""
    with Memory(tmp_path / "m.db", clock=clock) as memory:
        yield memory


def told(memory: Memory, older: str = "Mira lives in Lisbon", newer: str = "Mira lives in Porto") -> tuple[int, int]:
    return memory.remember(older).record.number, memory.remember(newer).record.number


@pytest.mark.parametrize(("older", "newer", "question"), CONTRADICTIONS)
def test_a_contradiction_is_named_proposed_and_marked_with_the_newer_first(
    mind: Memory, older: str, newer: str, question: str
):
    first, done = mind.remember(older).record, mind.remember(newer)
    ((number, text, proposal, is_newer),) = [
        (each.number, each.text, each.proposal, each.is_newer) for each in done.contradicts
    ]
    assert (number, text, is_newer) == (first.number, older, True)
    assert [each.number for each in mind.conflicts()] == [proposal]
    hits = mind.recall(question)
    assert [(hit.text, str(*hit.contradicts)) for hit in hits] == [
        (newer, f"contradicts the older #{first.number}"),
        (older, f"contradicts the newer #{done.record.number}"),
    ]


@pytest.mark.parametrize(("first", "second"), COMPATIBLE)
def test_what_can_both_be_true_is_no_contradiction(mind: Memory, first: str, second: str):
    told(mind, first, second)
    assert mind.conflicts() == []
    assert not any(hit.contradicts for hit in mind.recall(second))


ABOUT_WEEKDAYS = (
    "Tuesday is when the paper bin goes out, the brown one on Friday.",
    "The team lunch is on the first Thursday of the month, at the Vietnamese place by the canal.",
    "I go swimming on Mondays and Thursdays before work.",
)
MOVED = "We moved the weekly planning from Monday to Wednesday at ten, because of the people in Lima."


def test_a_statement_that_seems_to_end_everything_near_it_ends_nothing(mind: Memory):
    for text in ABOUT_WEEKDAYS:
        mind.remember(text)
    assert mind.remember(MOVED).contradicts == ()


def test_nor_does_it_when_many_are_imported_and_the_older_ones_are_compared_first(
    mind: Memory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("perdure.learn.compare_work._GROUP", 4)
    others = (
        f"{name} sings in the choir." for name in ("Ada", "Bo", "Cy", "Di", "Eli", "Fay", "Gus", "Hal", "Ivy", "Jo")
    )
    more = (
        "The lake was frozen.",
        "Oak burns slowly.",
        "Our cat hates rain.",
        "Salt melts ice.",
        "The attic is dusty.",
    )
    mind.import_([{"text": text} for text in (*ABOUT_WEEKDAYS, *others, *more, MOVED)])
    mind.work()
    assert mind.conflicts() == []


def test_the_command_line_says_what_is_contradicted_and_what_to_do(tmp_path: Path):
    user = User({"PERDURE_STORE": str(tmp_path / "m.db"), "PERDURE_EMBEDDER": "local", "NO_COLOR": "1"})
    for older, newer, question in CONTRADICTIONS:
        number = user.done("remember", older, "--json").json["record"]["number"]
        answer = user.done("remember", newer)
        assert f"Contradicts #{number}  {older}" in answer.err
        assert "perdure review" in answer.err
        page = user.screen("recall", question)
        assert page.index(f"contradicts the older #{number}") < page.index(newer) < page.index(older)
    for texts in COMPATIBLE:
        assert not any(user.done("remember", text, "--json").json["contradicts"] for text in texts)
    assert len(user.done("conflicts", "--json").json["proposals"]) == len(CONTRADICTIONS)


def test_a_model_is_told_by_number_what_it_contradicts_and_sees_both_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_EMBEDDER", "local")
    with served(tmp_path / "m.db") as host:
        for older, newer, question in CONTRADICTIONS:
            number = host.call("remember", text=older)["number"]
            answer = host.call("remember", text=newer)
            assert answer["contradicts"] == [number]
            origins = {each["text"]: each["origin"] for each in host.call("recall", query=question)["memories"]}
            assert f"contradicts the older #{number}" in origins[newer]
            assert f"contradicts the newer #{answer['number']}" in origins[older]
        for texts in COMPATIBLE:
            assert not any("contradicts" in host.call("remember", text=text) for text in texts)
        said = host.text("remember", text="The dev server listens on port 7070")
    assert "Both stay until a person says which one is true." in said
    assert "8080" not in said, "what a memory says stands in an envelope, or nowhere"


def test_the_server_answers_contradictions_with_what_is_stored_and_found(tmp_path: Path):
    with RunningServer(tmp_path / "m.db", environment={"PERDURE_EMBEDDER": "local"}) as server:
        for older, newer, question in CONTRADICTIONS:
            number = server("POST", "/v1/memories", {"text": older}).json["record"]["number"]
            done = server("POST", "/v1/memories", {"text": newer}).json
            assert [(each["number"], each["text"]) for each in done["contradicts"]] == [(number, older)]
            hits = server("POST", "/v1/recall", {"query": question, "limit": 2}).json["hits"]
            assert [hit["record"]["text"] for hit in hits] == [newer, older]
            assert [hit["contradicts"][0]["is_newer"] for hit in hits] == [True, False]
        for texts in COMPATIBLE:
            stored = [server("POST", "/v1/memories", {"text": text}).json for text in texts]
            assert not any(done["contradicts"] for done in stored)
        conflicts = server("GET", "/v1/conflicts").json
        assert (len(conflicts["proposals"]), conflicts["uncompared"]) == (len(CONTRADICTIONS), 0)
        with Memory(f"http://{server.address}", token=server.owner) as memory:
            assert memory.uncompared() == 0
            assert memory.recall("where does Mira live?")[0].contradicts[0].text == "Mira lives in Lisbon"


def test_whoever_takes_only_the_first_answer_gets_the_newer_one(mind: Memory):
    told(mind, "We use Postgres for orders", "We switched to MySQL for orders")
    (hit,) = mind.recall("do we use Postgres for orders?", limit=1)
    assert hit.text == "We switched to MySQL for orders"


def test_a_context_says_which_of_its_memories_contradict_each_other(mind: Memory):
    older, newer = told(mind)
    text = mind.context("where does Mira live?").text
    assert text.index(f"#{newer} (contradicts the older #{older}): ") < text.index(
        f"#{older} (contradicts the newer #{newer}): "
    )
    assert f"contradicts the older #{older}" in tools.recall(mind, "where does Mira live?")


@pytest.mark.parametrize("answer", ["accept", "reject"])
def test_once_somebody_has_decided_nothing_is_marked_and_nothing_asked_again(mind: Memory, answer: str):
    told(mind)
    getattr(mind, answer)(mind.conflicts()[0])
    hits = mind.recall("where does Mira live?")
    assert not any(hit.contradicts for hit in hits)
    assert (hits[0].text, len(hits)) == ("Mira lives in Porto", 1 if answer == "accept" else 2)
    mind.remember("Mira lives in Porto")
    assert (mind.work().contradictions_found, mind.conflicts()) == (0, [])


def test_one_undo_takes_back_the_memory_and_the_question(mind: Memory):
    mind.remember("Mira lives in Lisbon")
    mind.undo(mind.remember("Mira lives in Porto").batch)
    (hit,) = mind.recall("where does Mira live?")
    assert (hit.text, hit.contradicts, mind.conflicts()) == ("Mira lives in Lisbon", (), [])


def test_a_question_about_the_past_marks_nothing(mind: Memory, clock: HandClock):
    told(mind)
    clock.forward(hours=1)
    assert not any(hit.contradicts for hit in mind.recall("where does Mira live?", as_of=clock()))


def test_a_model_contradicts_a_person_and_decides_nothing(tmp_path: Path):
    with Memory(tmp_path / "m.db") as person, Memory(tmp_path / "m.db", writer="model") as model:
        person.remember("Mira lives in Lisbon")
        (contradiction,) = model.remember("Mira lives in Porto").contradicts
        assert {record.state for record in person.list()} == {"active"}
        with pytest.raises(NotAllowed):
            model.accept(contradiction.proposal)


def test_what_is_trusted_less_does_not_stand_before_what_it_contradicts(mind: Memory):
    mind.remember("Mira lives in Lisbon")
    mind.remember("Mira lives in Porto", trust="low")
    hits = mind.recall("where is the place in which Mira lives, Lisbon?")
    assert [(hit.text, len(hit.contradicts)) for hit in hits] == [
        ("Mira lives in Lisbon", 1),
        ("Mira lives in Porto", 1),
    ]


def test_what_became_true_earlier_is_the_older_one(mind: Memory):
    mind.remember("Mira lives in Porto", valid_at="2026-02-01")
    (contradiction,) = mind.remember("Mira lives in Lisbon", valid_at="2025-02-01").contradicts
    assert not contradiction.is_newer
    assert mind.recall("where does Mira live?")[0].text == "Mira lives in Porto"


def test_a_correction_is_compared_when_its_words_change(mind: Memory, clock: HandClock):
    mind.upsert("person:mira", "Mira lives in Porto")
    clock.forward(days=1)
    mind.remember("Mira lives in Porto now, near the river")
    clock.forward(days=1)
    assert mind.upsert("person:mira", "Mira lives in Porto").contradicts == ()
    (found,) = mind.upsert("person:mira", "Mira moved away from Porto to Braga").contradicts
    assert (found.text, found.is_newer) == ("Mira lives in Porto now, near the river", True)
    assert mind.update("person:mira", title="Mira").contradicts == ()
    assert mind.recall("where does Mira live?")[0].record.key == "person:mira"


@pytest.mark.parametrize(
    "fields",
    [
        ({"conversation_id": "a"}, {"conversation_id": "b"}),
        ({"source_project": "shop"}, {"source_project": "clinic"}),
        ({"metadata": {"speaker": "Ana"}}, {"metadata": {"speaker": "Ben"}}),
        ({"key": "server:staging"}, {"key": "server:production"}),
    ],
)
def test_what_is_of_two_places_two_people_or_two_things_is_not_compared(
    mind: Memory, fields: tuple[dict[str, object], dict[str, object]]
):
    first, second = fields
    mind.remember("The server listens on port 8080", **first)  # pyright: ignore[reportArgumentType]
    done = mind.remember("The server listens on port 9090", **second)  # pyright: ignore[reportArgumentType]
    assert done.contradicts == ()


def test_the_same_in_other_words_is_one_more_observation(mind: Memory):
    first = mind.remember("Alice prefers dark mode").record
    done = mind.remember("Alice prefers the dark mode.")
    assert (done.outcome, done.record.number, done.record.observation_count) == ("observed", first.number, 2)
    assert done.record.text == "Alice prefers dark mode"
    assert any(f"#{first.number} says the same" in note for note in done.notes)
    mind.undo(done.batch)
    assert mind.get(first.number).observation_count == 1


@pytest.mark.parametrize(
    "given",
    [
        {"tags": ["ui"]},
        {"title": "Themes"},
        {"key": "person:alice"},
        {"metadata": {"seen": 1}},
        {"expires_at": "2030-01-01"},
        {"conversation_id": "elsewhere"},
        {"idempotency_key": "once"},
    ],
)
def test_whoever_says_more_than_a_text_gets_a_memory_of_its_own(mind: Memory, given: dict[str, object]):
    mind.remember("Alice prefers dark mode")
    done = mind.remember("Alice prefers the dark mode.", **given)  # pyright: ignore[reportArgumentType]
    assert (done.outcome, done.record.text) == ("inserted", "Alice prefers the dark mode.")
    if "idempotency_key" in given:
        again = mind.remember("Alice prefers the dark mode.", **given)  # pyright: ignore[reportArgumentType]
        assert (again.outcome, again.record.number) == ("repeated", done.record.number)


def test_what_is_written_many_at_a_time_is_compared_by_work(mind: Memory):
    with mind.batch():
        for older, newer, _ in CONTRADICTIONS:
            told(mind, older, newer)
    assert (mind.uncompared(), mind.conflicts()) == (2 * len(CONTRADICTIONS), [])
    done = mind.work()
    assert (done.memories_compared, done.contradictions_found) == (2 * len(CONTRADICTIONS), len(CONTRADICTIONS))
    assert mind.uncompared() == 0
    assert {(each.first.text, each.second.text) for each in mind.conflicts()} == {pair[:2] for pair in CONTRADICTIONS}
    assert mind.work().memories_compared == 0


def test_what_was_compared_when_it_was_written_is_not_compared_again(mind: Memory):
    told(mind)
    assert (mind.uncompared(), mind.work().memories_compared) == (0, 0)


def test_a_cold_process_leaves_a_large_store_to_work_until_somebody_has_searched_it(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder="none") as memory:
        memory.import_([{"text": f"Parcel {number} was sent"} for number in range(2_001)])
    with Memory(path) as memory:
        told(memory)
        assert memory.conflicts() == []
        memory.recall("where does Mira live?")
        assert "Mira lives in Porto" in [each.text for each in memory.remember("Mira lives in Braga").contradicts]


def test_conflicts_say_what_nobody_has_compared(tmp_path: Path):
    store = str(tmp_path / "m.db")
    user = User({"PERDURE_STORE": store, "PERDURE_EMBEDDER": "local", "PERDURE_LAYOUT": "terminal"})
    user.done("remember", "--lines", stdin="Mira lives in Lisbon\nStandup is at nine\n")
    assert "2 memories were not compared yet: perdure work" in user.done("conflicts").err
    assert "Compared 2." in user.done("work").out
    assert user.done("conflicts").err.splitlines() == ["No contradiction is known."]
    assert "compared by the local model" in user.done("conflicts", PERDURE_EMBEDDER="none").err


def test_without_the_model_nothing_is_compared(memory: Memory):
    told(memory)
    assert (memory.uncompared(), memory.conflicts(), memory.work().memories_compared) == (None, [], 0)
