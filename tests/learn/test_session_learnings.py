"""What people say in coding sessions becomes learnings of the project: rules, corrections, decisions, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from perdure import Memory
from perdure.learn.rules.english.project_rules import project_rules
from perdure.model import FACT_CATEGORIES, LEARNING_CATEGORIES, Record
from perdure.session.listing import forget_session

if TYPE_CHECKING:
    from clocks import HandClock

PROJECT = "billing"
# Ten sessions as they are: most of what is said in them is about the work at hand.
TEN_SESSIONS = (
    ("Fix the invoice total", "Where does 19 % come from? We never guess tax rates.", "ok"),
    ("Write a CLI for the export", "no, use click here, we use click everywhere", "looks good"),
    ("Release 1.4", "Squash is forbidden in this repo.", "yes, tag it"),
    ("Add a column to orders", "use the safe pattern next time: add nullable, backfill in batches, then set not null"),
    ("Why is the queue slow?", "We are moving from RabbitMQ to NATS this month, so don't add new consumers on rabbit."),
    ("Review the parser", "Always handle the empty file first.", "my name is Priya by the way"),
    ("Log the payment", "Never log card numbers, not even masked ones.", "run the tests"),
    ("Which database for the cache?", "We decided to use SQLite for the cache because it needs no server."),
    ("Format the code", "don't reformat vendored files because the diff gets unreadable", "thanks"),
    ("use a bigger font here", "make it blue", "should we always use blue?"),
)
NINE_RULES = ("tax rates", "click", "squash", "backfill", "NATS", "empty file", "card numbers", "SQLite", "vendored")


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock, surface="hook", writer="model") as opened:
        yield opened


def session(memory: Memory, clock: HandClock, *prompts: str, id: str = "s1", project: str = PROJECT) -> None:
    """One session as a hook tells it: each prompt, and what the model answers."""
    said: list[dict[str, object]] = []
    for prompt in prompts:
        said.append({"role": "user", "content": prompt, "at": clock.forward(minutes=1)})
        said.append({"role": "assistant", "content": "We always do that. Done.", "at": clock.forward(seconds=10)})
    for one in said:
        one |= {"session_id": id, "source_project": project, "channel": "claude"}
    memory.writing_as(writer="model", session=id).conversation(id).add_messages(said)
    clock.forward(hours=3)


def learned(memory: Memory) -> Sequence[Record]:
    return memory.list(category=LEARNING_CATEGORIES, limit=100, newest=False).records


def test_ten_ordinary_sessions_leave_their_rules_and_decisions_as_learnings(memory: Memory, clock: HandClock):
    for number, prompts in enumerate(TEN_SESSIONS):
        session(memory, clock, *prompts, id=f"s{number}")
    memory.work()
    found = learned(memory)
    for words in NINE_RULES:
        assert [one for one in found if words.lower() in one.text.lower()], words
    assert len(found) == len(NINE_RULES)
    assert {one.source_project for one in found} == {PROJECT}
    assert {one.trust for one in found} == {"normal"}
    assert all(memory.get(episode).conversation_id == one.session_id for one in found for episode in one.evidence)
    facts = [fact.text for fact in memory.list(category=FACT_CATEGORIES, limit=100)]
    assert facts == ["User's name is Priya"]


def test_a_learning_stands_alone_and_names_its_project_in_the_place_of_here(memory: Memory, clock: HandClock):
    session(memory, clock, "Release 1.4", "no! Squash merges are forbidden in this repo, auditors want every commit")
    memory.work()
    [one] = learned(memory)
    assert one.text == "Squash merges are forbidden in billing, auditors want every commit."
    assert str(one.metadata["said"]).startswith("Squash merges are forbidden in this repo")
    assert (one.category, one.title) == ("anti-patterns", "Squash merges are forbidden in billing")
    session(memory, clock, "Add a column `due` to orders", "Next time add it nullable first", id="s2")
    memory.work()
    assert learned(memory)[-1].text == "When asked to “Add a column `due` to orders”: add it nullable first."


@pytest.mark.parametrize(
    "prompt",
    [
        "use a bigger font here", "don't show the legend this time", "should we never use eval?", "never mind",
        "I always forget the command", "The button is always disabled on mobile.", "we never got an answer",
        "```\n# never edit this file\n```", "> We always use the SAVE10 coupon.",
        "ERROR never commit this file", "app/x.rb:12:5: C: Always use a guard clause.", "All tests pass.",
        "2026-03-01 12:00:00 INFO we never reach this line", "we should add a test", "no, the other one", "go with it",
    ],
)  # fmt: skip
def test_what_is_asked_once_reported_pasted_or_a_question_is_no_learning(memory: Memory, clock: HandClock, prompt: str):
    session(memory, clock, "Have a look at the form", prompt)
    memory.work()
    assert learned(memory) == ()


@pytest.mark.parametrize(
    "said",
    [
        "can you please not put business logic into views? that's what services are for",
        "I'd rather you never touch the migrations that are already merged.", "We'll use Redis Streams for events.",
        "we're standardizing on pydantic v2, v1 models are legacy", "The rule here is one class per file.",
        "Heads up: prod reads from the replica only.", "don't hardcode colors", "Logging goes through structlog.",
        "never use `git add -A`, add files one by one", "The team decided against GraphQL.", "We only support Firefox.",
        "That's not how we do it: we inject dependencies through the constructor.", "no console.log in committed code",
        "Every new table needs created_at and updated_at.", "dates: always ISO, never locale formats",
        "Remember that the staging environment is wiped every night.", "Only Anna may deploy to production.",
        "whenever you change the schema, regenerate the client", "moment is deprecated, use date-fns.",
        "It's our policy to squash before merging.", "All new endpoints go behind a feature flag.",
        "Do not log customer emails, that's a GDPR problem.", "Postgres it is, then.", "PRs need two approvals.",
        "Releases are always tagged from main, never from a branch.", "SQL is kept in .sql files, never in strings.",
        "Protocol numbers are never reused.", "Releases are cut on Tuesdays, no exceptions.",
    ],
)  # fmt: skip
def test_rules_are_read_in_whatever_words(said: str):
    assert project_rules(said, PROJECT, "Write it")


@pytest.mark.parametrize(
    "said",
    [
        "the api must be down", "we must be close", "It has to be somewhere in src.", "the test only fails in CI",
        "add a button that always shows the menu", "write a function that never returns null", "stop explaining",
        "fix the bug where users cannot log in", "The endpoint must return 404 if the order does not exist.",
        "use the second approach", "let's use the new function here", "we have to fix this today", "not now",
        "don't delete the file yet", "no need to run the tests", "we can always revert it", "use more whitespace",
        "Don't stop until the tests pass.", "only change the first file", "every time I run it it crashes",
        "whenever I open the page it hangs", "when I click it, nothing happens", "nobody knows why",
        "everything is broken", "our tests must be broken", "We never merged that branch.", "our server is slow",
        "Users never see the dialog.", "Images are always cut at the bottom.", "Old builds are never deleted",
        "Drafts are kept in the editor, never saved", "Mails are always sent twice, never once.",
        "Prices are always rounded up, never down, can you look?", "Temp files are never reused since yesterday",
    ],
)  # fmt: skip
def test_what_sounds_like_a_rule_and_is_none_is_not_read_as_one(said: str):
    assert project_rules(said, PROJECT, "Write it") == []


def test_a_document_that_somebody_pasted_is_no_list_of_learnings():
    document = " ".join(f"Requests of kind {number} must be logged." for number in range(20))
    assert project_rules(document, PROJECT) == []


def test_a_session_of_one_prompt_is_learned_from_as_soon_as_it_ends(memory: Memory, clock: HandClock):
    said = {"session_id": "s1", "source_project": PROJECT, "channel": "claude"}
    talk = memory.conversation("s1")
    talk.add_messages([{"role": "user", "content": "Never deploy on Fridays.", "at": clock.now, **said}])
    memory.work()
    assert learned(memory) == ()
    assert talk.end()
    assert not talk.end()
    memory.work()
    assert [one.text for one in learned(memory)] == ["Never deploy on Fridays."]


def test_the_same_rule_again_is_an_observation(memory: Memory, clock: HandClock):
    for number in range(3):
        session(memory, clock, "Fix the total", "We never guess tax rates.", id=f"s{number}")
        memory.work()
    [one] = learned(memory)
    assert (one.observation_count, len(one.evidence), one.version) == (3, 3, 1)


def test_one_undo_takes_back_what_a_run_learned(memory: Memory, clock: HandClock):
    session(memory, clock, "Fix the total", "We never guess tax rates.")
    memory.work()
    [one] = learned(memory)
    memory.undo(memory.history(one.number)[0].change.batch)
    assert learned(memory) == ()
    assert [change.record.text for change in memory.consolidate(dry_run=True).changes] == [one.text]
    memory.consolidate()
    assert [again.text for again in learned(memory)] == [one.text]


def test_a_rule_that_was_forgotten_does_not_return_from_what_was_said_before(memory: Memory, clock: HandClock):
    session(memory, clock, "Fix the total", "We never guess tax rates.", id="s1")
    memory.work()
    memory.forget(learned(memory)[0].number)
    clock.forward(days=-1)
    session(memory, clock, "Fix the total", "We never guess tax rates.", id="s0")
    clock.forward(days=2)
    memory.work()
    assert learned(memory) == ()
    session(memory, clock, "Fix the total", "We never guess tax rates.", id="s2")
    memory.work()
    assert len(learned(memory)) == 1


def test_what_is_contrary_to_an_earlier_rule_replaces_it_or_is_asked_about(clock: HandClock):
    with Memory(":memory:", clock=clock, surface="hook", writer="model") as memory:
        session(memory, clock, "Install it", "We always use npm to install packages in this repo.", id="s1")
        session(memory, clock, "Install it", "We no longer use npm to install packages in this repo.", id="s2")
        memory.work()
        assert len(learned(memory)) == 1 or memory.conflicts()
        assert "no longer" in max(learned(memory), key=lambda one: one.number).text


def test_a_forgotten_session_takes_its_learnings_with_it(memory: Memory, clock: HandClock):
    session(memory, clock, "Fix the total", "We never guess tax rates.", id="s1")
    session(memory, clock, "Fix the total", "We never guess tax rates.", "Never log card numbers.", id="s2")
    memory.work()
    forget_session(memory, "s2")
    assert [one.text for one in learned(memory)] == ["We never guess tax rates."]


def test_whoever_erases_what_was_said_erases_what_was_learned_from_it(clock: HandClock):
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        session(memory, clock, "Fix the total", "We never guess tax rates.", "Never log card numbers.")
        memory.work()
        said = next(one for one in memory.conversation("s1").messages() if "tax rates" in one.text)
        memory.erase(said.number, confirm=True)
        assert [one.text for one in learned(memory)] == ["Never log card numbers."]
