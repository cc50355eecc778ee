"""Consolidation beyond what S2 says: who may answer, what happens when something changed meanwhile, and what stays as a
person left it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from learn.talks import action, answers, episodes, facts, open_memory, says, talk, teach, texts

from perdure import Memory
from perdure.errors import Conflict, InvalidInput
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock
    from providers.cloud import Cloud
    from providers.server import FaultServer

    from perdure.learn.task import ConsolidationTask


@pytest.fixture
def path(tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    return tmp_path / "m.db"


@pytest.fixture
def memory(path: Path, clock: HandClock) -> Iterator[Memory]:
    """A memory whose episodes wait for the agent."""
    with open_memory(path, clock, WordEmbedder(), learn="agent") as opened:
        yield opened


def handed_out(memory: Memory, clock: HandClock, *sayings: str) -> ConsolidationTask:
    episodes(memory, clock, 1, *sayings)
    memory.work()
    task = memory.open_consolidation()
    assert task is not None
    return task


def test_an_agent_is_told_everything_it_needs(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    task = handed_out(memory, clock, "I moved to Tokyo")
    assert task.conversation_id == "talk"
    assert [fact.text for fact in task.facts] == ["User lives in Osaka"]
    assert [message.text for message in task.episodes[0].messages][-1] == "I moved to Tokyo"
    assert "no instruction to you" in task.instructions
    assert task.schema["required"] == ["facts"]


def test_where_nothing_waits_there_is_no_task(memory: Memory, clock: HandClock):
    assert memory.open_consolidation() is None
    talk(memory, clock, "I live in Osaka")
    memory.work()
    assert memory.open_consolidation() is None
    teach(memory, clock, action("new", "User lives in Osaka"))
    assert memory.open_consolidation() is None
    assert memory.open_consolidation("another") is None


@pytest.mark.parametrize("alone", [True, False])
def test_an_agent_may_answer_with_the_actions_alone(memory: Memory, clock: HandClock, alone: bool):
    task, told = handed_out(memory, clock), [action("new", "User sails")]
    assert memory.finish_consolidation(task.token, told if alone else {"facts": told}).learned == 1
    assert facts(memory)[0].metadata["learned_by"] == "agent"


FORGED: dict[str, Callable[[str], Any]] = {
    "empty": lambda _: "",
    "cut": lambda token: token[:-1],
    "other letters": lambda token: token.swapcase(),
    "longer": lambda token: f"x{token}",
    "unsigned": lambda token: token.replace(".", ""),
    "half a pair": lambda _: "\ud800.\ud800",
    "none": lambda _: None,
    "other content": lambda token: f"eyJuYW1lc3BhY2UiOiJkZWZhdWx0In0=.{token.rpartition('.')[2]}",
}


@pytest.mark.parametrize("name", FORGED)
def test_no_token_can_be_forged(memory: Memory, clock: HandClock, name: str):
    task = handed_out(memory, clock)
    with pytest.raises(InvalidInput, match="token"):
        memory.finish_consolidation(FORGED[name](task.token), [action("new", "User sails")])
    assert facts(memory) == []


def test_a_token_is_good_in_its_own_namespace_and_store_alone(memory: Memory, clock: HandClock, tmp_path: Path):
    task = handed_out(memory, clock)
    with pytest.raises(InvalidInput, match="token"):
        memory.namespace("other").finish_consolidation(task.token, [])
    with open_memory(tmp_path / "other.db", clock, learn="agent") as other:
        handed_out(other, clock)
        with pytest.raises(InvalidInput, match="token"):
            other.finish_consolidation(task.token, [])


OTHER_FORMS: list[Any] = [
    None, "delete all", 7, {}, {"facts": None}, {"facts": {}}, [None], [{}], [{"action": "delete"}],
    [{**action("new", "User sails"), "tier": "constitutional"}], [action("new", "x" * 1001)],
    [action("new", "\ud800")], [action("new", "User sails", category="admin")], [object()],
    [action("new", f"User sails {n}") for n in range(201)],
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(OTHER_FORMS)))
def test_an_answer_of_another_form_changes_nothing(memory: Memory, clock: HandClock, place: int):
    task = handed_out(memory, clock)
    with pytest.raises(InvalidInput):
        memory.finish_consolidation(task.token, OTHER_FORMS[place])
    assert facts(memory) == []
    assert memory.finish_consolidation(task.token, [action("new", "User sails")]).learned == 1


def test_who_answers_second_changes_nothing(memory: Memory, clock: HandClock):
    task = handed_out(memory, clock)
    again = memory.open_consolidation()
    assert again is not None
    memory.finish_consolidation(task.token, [action("new", "User sails")])
    with pytest.raises(Conflict, match="consolidated or changed"):
        memory.finish_consolidation(again.token, [action("new", "User sings")])
    assert texts(memory) == ["User sails"]


CHANGES: dict[str, Callable[[Memory, int], object]] = {
    "forgotten": lambda memory, message: memory.forget(message),
    "erased": lambda memory, message: memory.erase(message, confirm=True),
    "corrected": lambda memory, message: memory.update(message, text="I never lived anywhere"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_taken_out_of_an_episode_meanwhile_is_not_learned(memory: Memory, clock: HandClock, name: str):
    task = handed_out(memory, clock, "My secret is a house in Osaka")
    CHANGES[name](memory, task.episodes[0].messages[-1].number)
    with pytest.raises(Conflict, match="consolidated or changed"):
        memory.finish_consolidation(task.token, [action("new", "User has a house in Osaka")])
    assert facts(memory) == []


def test_a_review_of_an_episode_is_no_change_of_what_it_says(memory: Memory, clock: HandClock):
    task = handed_out(memory, clock, "I live in Osaka")
    memory.update(task.episodes[0].record.number, metadata={"stability": 99.0})
    assert memory.finish_consolidation(task.token, [action("new", "User lives in Osaka")]).learned == 1
    assert memory.get(task.episodes[0].record.number).metadata["stability"] == 99.0


def test_a_fact_that_a_person_corrected_meanwhile_stays_as_it_is(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"), action("new", "User sails"))
    osaka, sails = facts(memory)
    task = handed_out(memory, clock)
    memory.update(osaka.number, text="User lives in Nara")
    memory.forget(sails.number)
    told = [action("invalidate", existing=osaka.number), action("reinforce", existing=sails.number)]
    done = memory.finish_consolidation(task.token, told)
    assert (done.invalidated, done.reinforced, done.left_out) == (0, 0, 2)
    assert texts(memory) == ["User lives in Nara"]


def test_what_somebody_forgot_is_not_learned_again_from_what_was_said_before(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    task = handed_out(memory, clock, "I still live in Osaka")
    memory.forget(facts(memory)[0].number)
    done = memory.finish_consolidation(task.token, [action("new", "User lives in Osaka")])
    assert (done.learned, done.left_out) == (0, 1)
    assert "forgotten or corrected" in done.notes[-1]
    again = handed_out(memory, clock, "Did I say that I live in Osaka?")
    assert memory.finish_consolidation(again.token, [action("new", "User lives in Osaka")]).learned == 1


def test_what_was_true_before_may_be_true_again(memory: Memory, clock: HandClock):
    """A fact that was superseded leaves no tombstone: nobody wanted its words gone."""
    teach(memory, clock, action("new", "User lives in Osaka"))
    for city in ("Tokyo", "Osaka"):
        [now] = facts(memory)
        teach(memory, clock, action("update", f"User lives in {city}", existing=now.number))
    assert texts(memory) == ["User lives in Osaka"]
    assert texts(memory, states="superseded") == ["User lives in Osaka", "User lives in Tokyo"]


def test_what_is_told_later_but_was_true_earlier_finds_its_place(memory: Memory, clock: HandClock):
    """Tokyo since noon, then what was said in the morning: first Kyoto, then, between the two, Nara."""
    noon = clock.forward(days=10)
    clock.forward(days=1)
    for hours, city in ((0, "Tokyo"), (-6, "Kyoto"), (-3, "Nara")):
        times = [noon + timedelta(hours=hours, minutes=n) for n in range(30)]
        memory.conversation("talk").add_messages(
            {"role": "user", "content": f"Message of {city} at {at}", "at": at} for at in times
        )
        memory.work()
        task = memory.open_consolidation()
        assert task is not None
        kind = "update" if task.facts else "new"
        existing = task.facts[0].number if task.facts else None
        memory.finish_consolidation(task.token, [action(kind, f"User lives in {city}", existing=existing)])
    [tokyo] = facts(memory)
    kyoto, nara = facts(memory, states="superseded")
    assert (tokyo.text, tokyo.supersedes) == ("User lives in Tokyo", (nara.id,))
    assert (nara.text, nara.supersedes, nara.invalid_at) == ("User lives in Nara", (kyoto.id,), tokyo.valid_at)
    assert (kyoto.text, kyoto.supersedes, kyoto.invalid_at) == ("User lives in Kyoto", (), nara.valid_at)


def test_the_past_is_found_by_the_words_of_then(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    then = clock.now
    [now] = facts(memory)
    teach(memory, clock, action("update", "User lives in Tokyo", existing=now.number))
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("where does the user live", "User lives in Tokyo", {}),
        ("where does the user live", "User lives in Osaka", {"as_of": then}),
        ('"User lives in Osaka"', "User lives in Osaka", {"states": ("active", "superseded")}),
    ]
    for query, found, options in asked:
        hits = memory.recall(query, recipe="facts", conversation_id="talk", category="identity", **options)
        assert hits[0].record.text == found


def test_contradictions_are_no_duplicates(memory: Memory, clock: HandClock):
    """However near they are: both stay, and a person is asked."""
    teach(memory, clock, action("new", "User drinks coffee and tea and milk and juice and water every single morning"))
    said = "User never drinks coffee and tea and milk and juice and water every single morning"
    done = teach(memory, clock, action("new", said))
    assert (done.learned, done.proposed) == (1, 1)
    assert len(facts(memory)) == 2
    [proposal] = memory.review("conflict")
    assert (proposal.first.number, proposal.second.number) == tuple(fact.number for fact in facts(memory))


def test_what_is_ended_after_all_is_no_conflict(memory: Memory, clock: HandClock):
    drinks = "User drinks coffee and tea and milk and juice and water every single morning"
    teach(memory, clock, action("new", drinks))
    number = facts(memory)[0].number
    told = [action("new", drinks.replace("drinks", "never drinks")), action("invalidate", existing=number)]
    done = teach(memory, clock, *told)
    assert (done.learned, done.invalidated, done.proposed) == (1, 1, 0)
    assert memory.review("conflict") == []


def test_the_sources_of_a_fact_are_the_conversations_that_say_so(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User sails"))
    teach(memory, clock, action("new", "User sails"))
    [fact] = memory.facts()
    assert (fact.source_count, fact.line) == (2, "[identity] User sails (sources: 1 conversation)")
    done = teach(memory, clock, action("new", "User sails"), conversation="another")
    assert [change.line for change in done.changes] == ["[identity] User sails (sources: 2 conversations)"]
    [fact] = memory.facts()
    assert (fact.source_count, fact.line) == (3, "[identity] User sails (sources: 2 conversations)")
    memory.remember("User rows", category="interest")
    assert memory.facts("rows")[0].line == "[interest] User rows (remembered)"


def test_what_another_process_leaves_of_a_run_does_not_wait(
    memory: Memory, path: Path, clock: HandClock, server: FaultServer
):
    """While a model thinks about three episodes, somebody else consolidates the first of them."""
    episodes(memory, clock, 3)
    memory.work()
    asked: list[str] = []

    def answer(question: str) -> dict[str, Any]:
        asked.append(question)
        if len(asked) == 1:
            task = memory.open_consolidation("talk", limit=1)
            assert task is not None
            memory.finish_consolidation(task.token, [action("new", "User sails")])
        return {"facts": [action("new", "User rows")]}

    answers(server, answer)
    clock.forward(minutes=90)
    with open_memory(path, clock) as listening:
        done = listening.work()
    assert (done.episodes_consolidated, len(asked), done.notes) == (2, 2, ())
    assert memory.open_consolidation() is None
    assert texts(memory) == ["User sails", "User rows"]


def contradictions(memory: Memory) -> list[set[str]]:
    return [{found.first.text, found.second.text} for found in memory.conflicts()]


def test_an_answer_with_two_new_values_for_one_fact_is_a_conflict_of_these_two(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    number = facts(memory)[0].number
    done = teach(
        memory, clock,
        action("update", "User lives in Tokyo", existing=number),
        action("invalidate", existing=number),
        action("update", "User lives in Rome", existing=number),
        action("update", "user lives in rome", existing=number),
        action("update", "User lives in Lima", existing=number),
    )  # fmt: skip
    assert (done.updated, done.invalidated, done.learned, done.proposed) == (1, 0, 1, 1)
    assert texts(memory) == ["User lives in Tokyo", "User lives in Rome"]
    assert contradictions(memory) == [{"User lives in Tokyo", "User lives in Rome"}]
    assert len(done.notes) == 1


def test_an_answer_that_reinforces_ends_and_updates_one_fact_ends_nothing_and_a_person_is_asked(
    memory: Memory, clock: HandClock
):
    teach(memory, clock, action("new", "User lives in Osaka"))
    number = facts(memory)[0].number
    done = teach(
        memory, clock,
        action("reinforce", existing=number),
        action("invalidate", existing=number),
        action("update", "User lives in Tokyo", existing=number),
        action("update", "User lives in Rome", existing=number),
    )  # fmt: skip
    assert (done.reinforced, done.updated, done.invalidated, done.learned) == (1, 0, 0, 1)
    assert texts(memory) == ["User lives in Osaka", "User lives in Tokyo"]
    assert contradictions(memory) == [{"User lives in Osaka", "User lives in Tokyo"}]


def test_a_fact_that_an_answer_both_reinforces_and_ends_stays_as_it_is(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    [before] = facts(memory)
    done = teach(
        memory, clock, action("reinforce", existing=before.number), action("invalidate", existing=before.number)
    )
    assert facts(memory) == [before]
    assert any("holds and that it ended" in note for note in done.notes)


def test_what_was_taken_back_is_not_consolidated_again_by_itself(
    memory: Memory, path: Path, clock: HandClock, server: FaultServer
):
    says(server, action("new", "User lives in Osaka"))
    episodes(memory, clock, 3)
    memory.work()
    with open_memory(path, clock, WordEmbedder()) as listening:
        listening.work()
        batch = listening.history(facts(listening)[0].number)[0].change.batch
        listening.undo(batch)
        assert listening.work().episodes_consolidated == 0
        assert facts(listening) == []
        assert listening.consolidate().learned == 1


def test_secrets_are_neither_asked_about_nor_stored(memory: Memory, path: Path, clock: HandClock, server: FaultServer):
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    says(server, action("new", f"User has the key {secret}"))
    episodes(memory, clock, 1, f"My key is {secret}, keep it")
    memory.work()
    with open_memory(path, clock) as listening:
        done = listening.consolidate()
    assert secret not in str(server.requests[-1].body)
    assert secret not in texts(memory)[0]
    assert any("Redacted" in note for note in done.notes)


def test_what_an_embedder_cannot_embed_now_is_learned_all_the_same(path: Path, clock: HandClock):
    embedder = WordEmbedder()
    with open_memory(path, clock, embedder, learn="agent") as memory:
        teach(memory, clock, action("new", "User sails"))
        task = handed_out(memory, clock)
        embedder.down = True
        done = memory.finish_consolidation(task.token, [action("new", "User sings"), action("new", "user  SAILS")])
        assert (done.learned, done.reinforced) == (1, 1)
        assert any("The test embedder is down." in note for note in done.notes)
        embedder.down = False
        assert memory.work().embedded == 1


@pytest.mark.parametrize("value", ["off", "agent"])
def test_nobody_is_asked_where_learning_is_switched_off(path: Path, clock: HandClock, server: FaultServer, value: str):
    with open_memory(path, clock, learn=value) as memory:
        episodes(memory, clock, 3)
        assert memory.work().episodes_consolidated == 0
        done = memory.consolidate()
    assert (done.episodes, server.requests) == (0, [])
    assert "`learn`" in done.notes[0]


def test_a_preview_changes_nothing_and_comes_true(memory: Memory, path: Path, clock: HandClock, server: FaultServer):
    """Also when the model would say something else the second time."""
    teach(memory, clock, action("new", "User lives in Osaka"), action("new", "User sails"))
    osaka, sails = facts(memory)
    episodes(memory, clock, 2)
    memory.work()
    told = [
        action("update", "User lives in Tokyo", existing=osaka.number), action("new", "User likes tea"),
        action("reinforce", existing=sails.number),
    ]  # fmt: skip
    says(server, *told)
    with open_memory(path, clock, WordEmbedder()) as listening:
        before, lines = facts(listening), listening.log(limit=1)
        preview = listening.consolidate(dry_run=True)
        assert (preview.done, preview.batch) == (False, None)
        assert (facts(listening), listening.log(limit=1)) == (before, lines)
        answers(server, lambda _: "Something else")
        done = listening.consolidate()
    assert [(one.action, one.record.text, one.replaced and one.replaced.number) for one in done.changes] == [
        (one.action, one.record.text, one.replaced and one.replaced.number) for one in preview.changes
    ]
    assert (done.updated, done.learned, done.reinforced) == (1, 1, 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [({"egress": "api.openai.com", "daily_tokens": 10}, "Background work stops for today"), ({}, "egress")],
    ids=["budget", "egress"],
)
def test_nothing_is_sent_beyond_the_budget_and_to_hosts_that_are_not_named(
    memory: Memory, path: Path, clock: HandClock, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, given: Any, said: str
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    provider = cloud("api.openai.com")
    episodes(memory, clock, 3)
    memory.work()
    with open_memory(path, clock, llm="openai:gpt-5-mini", **given) as listening:
        done = listening.work()
        assert any(said in note and "The episodes wait." in note for note in done.notes)
    assert provider.requests == []
    assert facts(memory) == []


def test_one_answer_ends_a_quarter_of_what_was_shown_at_most(memory: Memory, clock: HandClock):
    teach(memory, clock, *(action("new", f"User owns boat number {n} of {n * 7}") for n in range(20)))
    task = handed_out(memory, clock, "I sold all of my boats")
    assert len(task.facts) == 20
    done = memory.finish_consolidation(task.token, [action("invalidate", existing=one.number) for one in task.facts])
    assert (done.invalidated, done.left_out) == (5, 15)
    assert "5 facts at most" in done.notes[0]


def test_a_later_chat_may_end_what_a_model_learned_in_an_earlier_one(memory: Memory, clock: HandClock):
    teach(memory, clock, action("new", "User lives in Osaka"))
    episodes(memory, clock, 1, "I moved to Tokyo", conversation="another")
    memory.work()
    task = memory.open_consolidation("another")
    assert task is not None
    [osaka] = task.facts
    memory.finish_consolidation(task.token, [action("update", "User lives in Tokyo", existing=osaka.number)])
    assert texts(memory) == ["User lives in Tokyo"]
