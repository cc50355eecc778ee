"""Every screen: what it shows, to whom, and the same as a command and in Python."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from learn.proposals import TEA, proposed
from web.hostile_store import Said, category, plain, say_everywhere
from web.hostile_texts import HOSTILE
from web.pages import Answer, Page, fields_of, page_of

from perdure import Memory
from perdure.auth.authorise import SCOPES, Scope
from perdure.auth.token_file import TokenFile
from perdure.cli.app import perdure as program
from perdure.session.kept import KeptPrompt, keep_prompt, prompted_entry
from perdure.session.privacy import Place
from perdure.session.prompt import prompt_context
from perdure.session.state import session_state
from perdure.text.unsafe_characters import written_out
from perdure.web.actions import ACTIONS
from perdure.web.app import asset
from perdure.web.screens import SCREENS
from perdure.web.visit import needs_of

if TYPE_CHECKING:
    from clocks import HandClock

FILES = ("page.css", "page.js", "icon.svg")


def asked(name: str, numbers: dict[str, int]) -> dict[str, Any]:
    """What the address of a screen has to say."""
    memory = {"n": numbers["port"]}
    return {
        "memory": memory, "correct": memory, "erase": memory, "around": {"n": numbers["agent"]},
        "session": {"id": "5f0c9a4e-monday"}, "conversation": {"id": "support-42"},
        "search": {"q": "which port does staging use"},
    }.get(name, {})  # fmt: skip


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name or "today")
def test_every_screen_shows_the_same_as_a_command_and_in_python(
    page: Page, numbers: dict[str, int], remembered: Memory, tmp_path: Path, screen: Any
):
    shown = page.get(screen.name, **asked(screen.name, numbers))
    assert shown.status == 200, shown.words
    command, python = (unescape(found) for found in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", shown.text)[-2:])
    words = shlex.split(command)
    assert words[0] == "perdure"
    done = CliRunner().invoke(program, [*words[1:], "--store", str(tmp_path / "memory.db"), "--json"])
    # A screen that asks first shows a command that asks first, too.
    assert done.exit_code == 0 or screen.name in {"erase", "correct"}, done.output
    if screen.name not in {"erase", "correct"}:
        eval(python, {"memory": remembered})  # noqa: S307 - it is what the screen tells people to run


def test_an_empty_memory_teaches_how_to_begin(page: Page):
    for screen, command in (
        ("", "perdure remember"), ("memories", "perdure install claude-code"), ("sessions", "perdure install"),
        ("review", "perdure conflicts"), ("facts", "perdure chat import"), ("conversations", "perdure chat import"),
        ("checkpoints", "perdure checkpoint create"), ("egress", "perdure config get egress"),
        ("erased", "perdure erase"), ("search", "perdure recall"),
    ):  # fmt: skip
        assert command in page.get(screen).words, screen


def test_nothing_is_loaded_from_elsewhere_and_all_of_it_is_small(page: Page, numbers: dict[str, int]):
    for screen in SCREENS:
        text = page.get(screen.name, **asked(screen.name, numbers)).text
        addresses = re.findall(r'(?:href|src|action)="([^"]*)"', text)
        assert [each for each in addresses if re.match(r"[a-z]+:|//|/", each)] == [], screen.name
        assert "style=" not in text
        assert " on" not in "".join(re.findall(r"<[^>]*>", text)).replace(" only", "").replace(" one", "")
    assert sum(len(asset(name)) for name in FILES) < 30_000
    assert not any(b"http" in asset(name).replace(b"http://www.w3.org/2000/svg", b"") for name in FILES)


def test_today_groups_what_changed_by_what_one_undo_takes_back(page: Page, remembered: Memory):
    with remembered.batch():
        remembered.remember("Bread is bought on Saturdays")
        remembered.remember("Milk is bought on Tuesdays")
    remembered.remember("Tea is bought when it is gone")
    today = page.get("")
    assert len(today.forms("undo")) == 2
    assert "remembered #1, #2" in today.words
    taken_back = page.do(page.do(today, "undo"), "undo")
    assert "took back #3" in taken_back.words
    # An undo of an undo is told as one, and offers to undo it, not to redo it.
    again = page.do(taken_back, "undo")
    assert "Done: undid the undo of #3. Undo" in again.words
    assert "Redo" not in again.words
    assert page.get("").words.count("undid the undo of #3") == 1
    taken_back = page.do(again, "undo")
    assert "Done: took back #3. Redo" in taken_back.words
    today = page.get("")
    assert "Redo" in today.words
    assert "taken back" in today.words
    assert len(today.forms("undo")) == 2
    with remembered.batch():
        for shelf in range(120):
            remembered.remember(f"Shelf {shelf} is full")
    today = page.get("").words
    assert "remembered 120 memories by" in today
    assert "remembered #1, #2" in today


def test_pairs_that_were_proposed_step_by_step_stand_in_one_line_and_hide_no_change(page: Page, remembered: Memory):
    remembered.remember("The canteen opens at noon")
    with remembered.batch():
        steps = [remembered.remember(f"Step {place} of the runbook").record for place in range(131)]
    for first, second in pairwise(steps):
        proposed(remembered, first, second, "conflict")
    shown = page.get("")
    assert "proposed 130 pairs to decide about in 130 steps" in shown.words
    assert "The canteen opens at noon" in shown.words
    assert len(shown.forms("undo")) == 2
    assert len(page.get("log").forms("undo")) > 100


def test_who_wrote_a_line_leads_to_all_that_they_wrote_and_takes_it_back(page: Page, remembered: Memory):
    numbers = [remembered.writing_as("bob", writer="person").remember(text).record.number for text in ("One", "Two")]
    (link,) = set(re.findall(r'href="(log\?actor=bob)"', page.get("").text))
    theirs = page.get(link)
    page.do(page.do(theirs, "undo"), "undo")
    assert [remembered.history(number)[-1].record.state for number in numbers] == ["deleted", "deleted"]  # pyright: ignore[reportOptionalMemberAccess]


def test_many_sessions_and_many_receipts_go_on_on_a_next_page(page: Page, remembered: Memory):
    for place in range(60):
        remembered.writing_as("codex", writer="model", session=f"visit-{place:02}").remember(f"Learned on day {place}")
    first = page.get("sessions")
    following = page.get("sessions", **{"from": 50})
    assert 'href="sessions?from=50"' in first.text
    listed = [name for each in (first, following) for name in re.findall(r"visit-\d\d", each.words)]
    assert len(listed) == len(set(listed)) == 60
    assert "Older" not in following.words
    for place in range(201):
        remembered.erase(remembered.remember(f"Secret {place}").record.number, confirm=True)
    newest = page.get("erased")
    (older,) = re.findall(r'href="(erased\?before=\d+)"', newest.text)
    assert newest.words.count("Receipt") == 200
    assert page.get(older).words.count("Receipt") == 1


def test_what_changed_since_the_last_visit_is_marked(page: Page, remembered: Memory, clock: HandClock):
    page.sign_in()
    clock.forward(hours=1)
    remembered.remember("Bread is bought on Saturdays")
    clock.forward(hours=1)
    page.sign_in()
    assert "new remembered" in page.get("").words
    clock.forward(hours=1)
    page.sign_in()
    assert "new remembered" not in page.get("").words


def test_a_search_says_why_and_from_where_on_an_answer_counts(page: Page, numbers: dict[str, int]):
    found = page.get("search", q="staging server port")
    assert "#2" in found.words
    assert "<mark>staging</mark>" in found.text
    assert "what speaks for it" in found.words
    assert "is left out" in found.words
    nothing = page.get("search", q="what is the zebra crossing")
    assert nothing.words.count("is about that") == 1
    assert "<mark>the</mark>" not in nothing.text


def test_filters_are_part_of_the_address_and_each_can_be_taken_away(page: Page, numbers: dict[str, int]):
    found = page.get("memories", tags="servers")
    assert "port 9090" in found.words
    assert "dark mode" not in found.words
    assert "tags: servers" in found.words
    assert 'href="memories"' in found.text
    both = page.get("memories", tags=["ui", "alice"])
    assert "dark mode" in both.words
    assert 'href="memories?tags=ui"' in both.text
    assert 'href="memories?tags=alice"' in both.text


def test_a_memory_shows_its_versions_its_times_and_who_was_told_it(page: Page, numbers: dict[str, int]):
    shown = page.get("memory", n=numbers["port"])
    assert re.search(r"<del>8080</del>.*<ins>9090</ins>", shown.text)
    assert "key server:staging source" in shown.words
    assert 'role="img"' in shown.text
    told = page.get("memory", n=numbers["wrong"])
    assert "5f0c9a4e-monday at its start" in told.words


def test_a_memory_says_how_often_it_was_of_use_and_looking_at_it_is_none(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    assert "It has answered no search" in page.get("memory", n=numbers["theme"]).words
    remembered.recall("dark mode in every editor")
    remembered.recall("who prefers dark mode")
    page.get("memory", n=numbers["theme"])
    shown = page.get("memory", n=numbers["theme"]).words
    assert "It answered a search or began a session 2 times, the last time just now" in shown
    assert "access_count" not in shown


def test_of_very_many_versions_some_are_compared_and_the_others_are_a_link_away(page: Page, remembered: Memory):
    number = remembered.remember("The door code is 0").record.number
    for code in range(1, 50):
        remembered.update(number, text=f"The door code is {code}")
    seen: list[str] = []
    answer = page.get("memory", n=number)
    while True:
        shown = re.findall(r"Version (\d+) ", answer.words)
        assert len(shown) <= 20
        seen += shown
        following = re.search(r'href="(memory[^"]*versions=[^"]*)"', answer.text)
        if following is None:
            break
        answer = page.get(unescape(following[1]))
    assert seen == [str(version) for version in range(50, 0, -1)]


def test_a_version_shows_what_changed_in_its_title_too(page: Page, remembered: Memory):
    number = remembered.remember("Ask at the desk", title="Badges").record.number
    remembered.update(number, text="Ask at the front desk", title="Lost badges")
    shown = page.get("memory", n=number).text
    assert "<del>Badges</del> <ins>Lost badges</ins>" in shown
    assert "<ins>front </ins>" in shown


def test_a_message_shows_which_facts_were_learned_from_it_where_it_is_read_and_where_it_is_corrected(
    page: Page, remembered: Memory
):
    talk = remembered.conversation("garden")
    said = talk.add_message("user", "I live in Lagos and my sister Rin is allergic to peanuts")
    answer = talk.add_message("assistant", "Noted")
    remembered.conversation("kitchen").add_message("user", "I prefer tea to coffee")
    for each in (talk, remembered.conversation("kitchen")):
        each.end()
    remembered.work()
    facts = {fact.record.number: fact.record for fact in remembered.facts()}
    own = [number for number, record in facts.items() if record.conversation_id == "garden"]
    assert own
    assert len(own) < len(facts)
    for screen in ("memory", "correct"):
        shown = page.get(screen, n=said.record.number).words
        assert all(f"#{number} {facts[number].text}" in shown for number in own)
        assert not any(f"#{number} " in shown for number in facts.keys() - set(own))
        assert "made of it" not in page.get(screen, n=answer.record.number).words
        assert "learned from it" not in page.get(screen, n=answer.record.number).words
    assert "They stay as they are until you correct them" in page.get("correct", n=said.record.number).words
    around = page.get("around", n=said.record.number).words
    assert all(f"#{number} made of it" in around for number in own)


def test_a_memory_shows_all_its_tags_and_a_list_the_first_of_them(page: Page, remembered: Memory):
    number = remembered.remember("Tagged", tags=[f"tag{place:02}" for place in range(12)]).record.number
    assert "#tag11" in page.get("memory", n=number).words
    listed = page.get("memories").words
    assert "#tag07" in listed
    assert "#tag11" not in listed
    assert "and 4 more tags" in listed


def test_every_list_can_be_seen_as_it_was_known_and_as_it_was_true(
    page: Page, remembered: Memory, numbers: dict[str, int], clock: HandClock
):
    first = remembered.history(numbers["port"])[0].change.at
    then = page.get("memories", known=int(first.timestamp()) + 60)
    assert "port 8080" in then.words
    assert "port 9090" not in then.words
    assert "Mondays" not in then.words
    assert "port 8080" in page.get("memory", n=numbers["port"], known_at=first.isoformat()).words
    assert "port 8080" in page.get("search", q="staging port", known=int(first.timestamp()) + 60).words
    remembered.remember("The flat in Osaka is rented", valid_at="2025-01-01", invalid_at="2025-06-01")
    true_then = page.get("memories", as_of="2025-03-01")
    assert "Osaka is rented" in true_then.words
    assert "dark mode" not in true_then.words
    for screen in ("log", "facts"):
        assert page.get(screen, known=int(first.timestamp()) + 60).status == 200
    assert page.get("memories", known="x").status == 422


def test_a_slider_that_stays_at_its_end_means_now_however_late_the_form_is_sent(
    page: Page, remembered: Memory, numbers: dict[str, int], clock: HandClock
):
    clock.forward(days=100, seconds=7)
    first = page.get("memories")
    fields = fields_of(first.text)
    clock.forward(hours=1)
    remembered.remember("The lift is out of order")
    then = page.get("memories", known=fields["known"], true=fields["true"], end=fields["end"])
    assert "The lift is out of order" in then.words
    assert "As it was" not in then.words
    for tag in re.findall(r'<input[^>]*type="range"[^>]*>', first.text):
        least, most, step = (int(re.findall(rf'{name}="(\d+)"', tag)[0]) for name in ("min", "max", "step"))
        assert (most - least) % step == 0
        assert least <= remembered.history(1)[0].change.at.timestamp()


def test_a_session_shows_what_it_was_told_why_and_what_it_wrote(page: Page, numbers: dict[str, int]):
    shown = page.get("session", id="5f0c9a4e-monday")
    for words in (
        "What it was told",
        "## Learned before",
        "Why each line got in",
        "its meaning +0.40",
        "how much it stands out +0.40",
        "What it wrote",
        "Bob owns",
    ):
        assert words in shown.words, words
    assert "website" in page.get("sessions").words


def seconds(moment: datetime, more: int = 60) -> int:
    return int(moment.timestamp()) + more


def test_lists_of_what_happened_show_what_had_happened_by_then(
    page: Page, remembered: Memory, numbers: dict[str, int], clock: HandClock
):
    before = seconds(remembered.history(numbers["port"])[0].change.at)
    monday = seconds(remembered.history(numbers["agent"])[0].change.at)
    clock.forward(days=1)
    remembered.writing_as("claude-code", writer="model", session="late-friday").remember("The lift is out of order")
    remembered.conversation("support-43").add_message("user", "The lift is stuck")
    remembered.erase(numbers["wrong"], confirm=True)
    clock.forward(days=1)
    for screen, early, late in (
        ("sessions", "5f0c9a4e-monday", "late-friday"),
        ("conversations", "support-42", "support-43"),
        ("erased", "ada 1 memory", "ada 1 memory"),
    ):
        now = page.get(screen).words
        assert "Known then" in now, screen
        assert early in now, screen
        assert late in now, screen
        then = page.get(screen, known=before).words
        assert early not in then, screen
        assert "by then" in then, screen
    then = page.get("sessions", known=monday).words
    assert "5f0c9a4e-monday" in then
    assert "late-friday" not in then
    then = page.get("conversations", known=seconds(clock(), -3 * 86400 // 2))
    assert "support-42" in then.words
    assert "support-43" not in then.words
    # What it leads to is of the same time.
    assert "known_at=" in then.text


def test_sessions_of_a_token_are_those_that_had_written_by_then(
    remembered: Memory, numbers: dict[str, int], tmp_path: Path, clock: HandClock
):
    tokens = TokenFile(tmp_path / "memory.db", clock)
    _, secret = tokens.create("bob", scopes=("read",), namespaces=("default",))
    page = page_of(remembered, tmp_path, tokens=tokens, clock=clock).sign_in(secret)
    before = seconds(remembered.history(numbers["port"])[0].change.at)
    assert "5f0c9a4e-monday" in page.get("sessions").words
    assert "5f0c9a4e-monday" not in page.get("sessions", known=before).words


def test_review_of_the_past_is_what_still_waits_and_had_been_proposed_by_then(
    page: Page, remembered: Memory, clock: HandClock
):
    for hour, name in ((1, "tram"), (2, "boat")):
        first, second = (remembered.remember(f"The {name} costs {price} euros").record for price in (hour, hour + 5))
        proposed(remembered, first, second)
        clock.forward(hours=5)
    first = min(each.created_at for each in remembered.review())
    then = page.get("review", known=seconds(first)).words
    assert "The tram costs" in then
    assert "The boat costs" not in then
    assert "What was decided since is in the log" in then
    assert "Nothing that still waits" in page.get("review", known=seconds(first, -60)).words


def test_a_session_shows_which_memories_its_prompts_brought_to_mind(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    session = "5f0c9a4e-monday"
    assert "No prompt that is still known" in page.get("session", id=session).words
    elsewhere = remembered.namespace("team").remember("The release is on Friday").record
    gone = remembered.remember("The cellar is flooded").record
    told = remembered.get(numbers["theme"])
    with session_state(session) as state:
        state.show([str(told.id), str(elsewhere.id), str(gone.id)])
    remembered.erase(gone.number, confirm=True)
    shown = page.get("session", id=session)
    assert "In their words of today" in shown.words
    assert told.text in shown.words
    assert "A memory that is not there any more" in shown.words
    assert f'href="memory?n={elsewhere.number}&amp;namespace=team"' in shown.text


def test_a_session_shows_what_a_prompt_was_answered_as_it_was_sent_and_why(page: Page, remembered: Memory):
    session = "5f0c9a4e-tuesday"
    by_phrase = remembered.remember("Freeze the branch", trigger_phrases=["ship it"]).record
    place = Place("default", ("default",))
    block = prompt_context(remembered, place, session, "The tests are green, ship it")
    entries = [prompted_entry(record, why) for record, why in block.inside]
    no_room = [prompted_entry(remembered.remember("The cellar is dry").record, None)]
    at = "2026-03-02T12:00:00Z"
    keep_prompt(KeptPrompt(session=session, at=at, text=block.text, entries=entries, left_out=no_room))
    shown = page.get("session", id=session).words
    assert "Freeze the branch" in block.text
    assert " ".join(block.text.split()) in " ".join(shown.split())
    assert "The prompt holds its trigger phrase: ship it" in shown
    assert "What found no room" in shown
    assert "The cellar is dry" in shown
    assert "5f0c9a4e-tuesday at a prompt" in page.get("memory", n=by_phrase.number).words


def test_egress_says_how_it_is_stopped_where_anything_may_leave(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
):
    for hosts, is_told in (("none", False), ("api.openai.com", True)):
        monkeypatch.setenv("PERDURE_EGRESS", hosts)
        with Memory(tmp_path / "memory.db", embedder="none", clock=clock) as memory:
            egress = page_of(memory, tmp_path, clock=clock).sign_in().get("egress").words
        assert ("perdure config set egress none" in egress) == is_told


def test_a_store_at_home_is_shown_as_a_person_would_type_it(stranger: Path, clock: HandClock):
    with Memory(stranger / "memory.db", embedder="none", clock=clock) as memory:
        health = page_of(memory, stranger, clock=clock).sign_in().get("health").words
    assert "~/memory.db:" in health


def test_the_command_and_the_python_of_a_screen_have_a_button_that_copies_them(page: Page):
    assert re.findall(r"<button[^>]* data-copy[^>]*>", page.get("").text) != []
    assert 'aria-label="Copy: Command"' in page.get("").text
    assert 'aria-label="Copy: Python"' in page.get("").text


def test_what_a_memory_is_tied_to_is_drawn_and_listed(page: Page, remembered: Memory, numbers: dict[str, int]):
    around = page.get("around", n=numbers["agent"])
    assert 'class="graph"' in around.text
    assert "Node 20" in around.words
    # What was said in one conversation is tied to it, and to no other one.
    first, other = (
        remembered.conversation(name).add_message("user", f"Hello from {name}").record for name in ("Kyoto", "Osaka")
    )
    said = remembered.conversation("Kyoto").add_message("assistant", "Good morning").record
    around = page.get("around", n=first.number).words
    assert f"#{said.number}" in around
    assert f"#{other.number} " not in around
    # What a session proposed about others is to be decided, and ties nothing together.
    agent = remembered.writing_as("claude-code", writer="model", session="tea")
    tea, fond = (agent.remember(text).record for text in TEA)
    pair = proposed(agent, tea, fond)
    around = page.get("around", n=tea.number).words
    assert pair is not None
    assert f"#{fond.number} " in around
    assert f"#{pair.number} " not in around


def test_an_address_of_nothing_says_so_and_leads_on(page: Page, numbers: dict[str, int]):
    answer = page.get("memory", n=9999)
    assert answer.status == 404
    assert "That is not here" in answer.words
    assert "--namespace" not in answer.words
    assert 'href="memories"' in answer.text
    assert page.get("nowhere").status == 404
    assert "That cannot be shown" in page.get("memories", tier="best").words


def test_a_page_of_a_list_leads_to_the_next_one(page: Page, remembered: Memory):
    for number in range(120):
        remembered.remember(f"Shelf {number} holds the box {number * 7}")
    first = page.get("memories")
    assert first.text.count("data-row") == 50
    (following,) = re.findall(r'href="(memories\?after=\d+)" rel="next"', first.text)
    assert "#70 " in page.get(following).words


@pytest.mark.parametrize("scopes", [("read",), ("read", "write"), ("read", "write", "delete"), SCOPES])
@pytest.mark.parametrize("writer", ["person", "model"])
def test_what_a_token_may_not_do_is_not_shown_and_is_refused(
    remembered: Memory,
    numbers: dict[str, int],
    tmp_path: Path,
    clock: HandClock,
    scopes: tuple[Scope, ...],
    writer: str,
):
    tokens = TokenFile(tmp_path / "memory.db", clock)
    _, secret = tokens.create("bob", scopes=scopes, namespaces=("default",), writer=writer)
    page = page_of(remembered, tmp_path, tokens=tokens, clock=clock).sign_in(secret)
    remembered.namespace("secret").remember("The treasure is below the oak")
    before = len(remembered.log(limit=100))
    offered: set[str] = set()
    for screen in SCREENS:
        answer = page.get(screen.name, **asked(screen.name, numbers))
        assert answer.status in {200, 403}, (screen.name, answer.words)
        assert "oak" not in answer.words
        offered |= set(re.findall(r'<form action="([^"]*)" method="post"', answer._reordered))
    for name, action in ACTIONS.items():
        needed, whole = needs_of(action.verb)
        allowed = set(needed) <= set(scopes) and not (whole or action.whole_store)
        allowed = allowed and (writer == "person" or not action.is_for_persons)
        refused = page.post(name, back="./")
        assert (refused.status == 403) == (not allowed), (name, refused.words)
        assert name not in offered or allowed, name
        assert page.post(name, back="./", namespace="secret").status == 403, name
    assert page.get("memories", namespace="secret").status == 403
    assert page.get("egress").status == 403
    assert len(remembered.log(limit=100)) - before <= 2


def test_a_model_is_offered_no_undo_of_what_a_person_did_and_no_decision(
    remembered: Memory, tmp_path: Path, clock: HandClock
):
    first, second = (remembered.remember(text).record for text in ("Ada likes tea", "Ada is fond of tea"))
    proposed(remembered, first, second)
    tokens = TokenFile(tmp_path / "memory.db", clock)
    scopes: tuple[Scope, ...] = ("read", "write", "delete")
    _, secret = tokens.create("agent", scopes=scopes, namespaces=("default",), writer="model")
    page = page_of(remembered, tmp_path, tokens=tokens, clock=clock).sign_in(secret)
    assert page.get("").forms("undo") == page.get("log").forms("undo") == []
    assert "Waits for a person: 1 pair" in page.get("").words
    assert "Only a person decides." in page.get("review").words
    page.do(page.get("remember"), "remember", text="Bob likes coffee")
    assert len(page.get("").forms("undo")) == 1


def test_who_did_something_is_a_person_a_model_or_background_work(
    page: Page, remembered: Memory, numbers: dict[str, int], clock: HandClock
):
    clock.forward(days=30)
    page.do(page.get("health"), "work")
    # As an import of a folder of notes writes.
    remembered.writing_as(writer="model", surface="files").remember("The cellar floods in May.")
    # As a hook keeps what was said.
    remembered.writing_as(writer="model", surface="hook").remember("Shall I try again?")
    told = page.get("log").words
    assert "by ada (from files)" in told
    assert "by ada (a session)" in told
    assert "by claude-code (a model)" in told
    assert "by ada (background work)" in told
    assert "by ada (a model)" not in told


def test_an_address_may_say_anything(page: Page, numbers: dict[str, int]):
    for screen in SCREENS:
        for name in ("name", "screen", "visit", "self", "was", "said", "text", "class"):
            answer = page.get(screen.name, **asked(screen.name, numbers), **{name: "limits", "known_at": "1h"})
            assert answer.status == 200, (screen.name, name, answer.words)


def test_who_may_take_nothing_back_is_promised_no_undo(remembered: Memory, tmp_path: Path, clock: HandClock):
    first, second = (remembered.remember(text).record for text in ("Ada likes tea", "Ada is fond of tea"))
    proposed(remembered, first, second)
    tokens = TokenFile(tmp_path / "memory.db", clock)
    for scopes, is_promised in ((("read", "write"), False), (SCOPES, True)):
        name = "-".join(scopes)
        _, secret = tokens.create(name, scopes=scopes, namespaces=("default",), writer="person")
        page = page_of(remembered, tmp_path, tokens=tokens, clock=clock).sign_in(secret)
        review, correct = page.get("review").words, page.get("correct", n=first.number).words
        assert "keeps both" in review
        assert ("can be taken back" in review) is ("one undo takes it back" in correct) is is_promised


def test_a_server_of_several_namespaces_lets_one_choose(page: Page, remembered: Memory, numbers: dict[str, int]):
    remembered.namespace("team").remember("The release is on Friday")
    shown = page.get("memories", namespace="team")
    assert "The release is on Friday" in shown.words
    assert "dark mode" not in shown.words
    assert "namespace=team" in shown.text
    moved = page.do(page.get("memory", n=1, namespace="team"), "forget")
    assert remembered.namespace("team").list().records == ()
    assert "Undo" in moved.words


def test_hostile_texts_are_shown_as_texts_in_every_field_of_every_screen(
    tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_CATEGORIES", ",".join(map(category, HOSTILE)))
    monkeypatch.setenv("PERDURE_ACTOR", HOSTILE[0])
    tokens = TokenFile(tmp_path / "memory.db", clock)
    with Memory(tmp_path / "memory.db", embedder="none", clock=clock, actor=HOSTILE[0]) as memory:
        page = page_of(memory, tmp_path, tokens=tokens, clock=clock).sign_in()
        for text in HOSTILE:
            said = say_everywhere(memory, text, tokens)
            for name, query in addresses_of(text, said):
                require_no_markup(page.get(name, **query), name, text)
            require_no_markup(page.post("undo", session=said.session, back="log"), "undo", text)
            require_no_markup(page.post("take-back", session=said.session, back="log"), "take-back", text)
            require_no_markup(page.post("erase", what=said.number, back="log"), "erase", text)
            require_no_markup(page.post("go-back", name=plain(text)[:150], back="log"), "go-back", text)
            require_no_markup(page.post("remember", text=text, key=text, back="./"), "remember", text)
            require_no_markup(page.post("correct", text=text, ref=said.number, expected_version=1, back="./"), "", text)
            assert page.post("remember", text="x", back=text).status in {303, 400}
        for name in (screen.name for screen in SCREENS if screen.key):
            require_no_markup(page.get(name), name, "")


def addresses_of(text: str, said: Said) -> list[tuple[str, dict[str, Any]]]:
    memory, name = {"n": said.number}, said.session
    return [
        ("memory", memory), ("correct", memory), ("erase", memory), ("around", memory),
        ("session", {"id": name}), ("conversation", {"id": name}), ("search", {"q": text}),
        ("memories", {"tags": text}), ("memories", {"category": category(text)}), ("memories", {"tier": text}),
        ("memories", {"source_project": name}), ("memories", {"namespace": name}), ("", {"namespace": name}),
        ("log", {"session": name}), ("log", {"actor": name[:60]}), ("log", {"since": text}), ("log", {"batch": text}),
        ("facts", {"about": text}), ("facts", {"q": text}), ("checkpoints", {}), ("review", {}),
        ("erased", {"batch": said.erased}), ("erased", {"batch": text}), ("memory", {"n": text}),
        ("memories", {"known_at": text}), ("", {"done": text}), ("", {"said": text}),
    ]  # fmt: skip


OURS = set(
    """html head meta title link script body header a strong form label input button select option nav ul li main div
    h1 h2 h3 p pre code details summary footer span kbd small time table thead tbody tr th td section dl dt dd mark svg
    rect text circle line ins del textarea output b""".split()
)


def require_no_markup(answer: Answer, name: str, text: str) -> None:
    """Every tag is one that we make, with attributes that we make, and the invisible is written out."""
    assert answer.status in {200, 303, 400, 404, 409, 412, 422}, (name, answer.status)
    tags = re.findall(r"<([a-zA-Z0-9]+)((?:\s+[a-zA-Z0-9-]+(?:=\"[^\"]*\")?)*)\s*/?>", answer.text)
    assert {tag for tag, _ in tags} <= OURS, (name, text)
    # Whatever else begins with a bracket would be a tag that the line above did not understand.
    assert len(re.findall(r"<(?![/!])", answer.text)) == len(tags), (name, text)
    names = {
        found for _, each in tags for found in re.findall(r"\s([a-zA-Z-]+)(?==|\s|$)", re.sub(r'"[^"]*"', '""', each))
    }
    assert not {each for each in names if each.startswith("on") or each in {"style", "srcdoc"}}, (name, text)
    assert len(re.findall("<script", answer.text)) == (1 if answer.body else 0), (name, text)
    shown = re.sub(r"<textarea.*?</textarea>|value=\"[^\"]*\"", "", answer.text, flags=re.DOTALL)
    assert not set("\u202e\u2066\u200b\ufeff\x1b") & set(shown), (name, written_out(text))
