"""Every action, done by its form as a person would, and taken back by the undo that the answer offers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from learn.proposals import proposed
from web.pages import Page, page_of

from perdure import Memory
from perdure.learn.results import ProposalKind
from perdure.model import Record
from perdure.session.kept import KeptStart, keep
from perdure.session.privacy import sessions_off_record, where
from perdure.testing.embedder import WordEmbedder
from perdure.web.actions import ABOUT, ACTIONS, check_back
from perdure.web.visit import needs_of

if TYPE_CHECKING:
    from clocks import HandClock


def text_of(memory: Memory, number: int) -> str | None:
    record = memory.history(number)[-1].record
    return record.text if record and record.state == "active" else None


def test_the_table_of_actions_is_made_of_verbs_and_their_arguments():
    from perdure.remote.signatures import arguments_of

    for action in ACTIONS.values():
        assert needs_of(action.verb)[0]
        known = arguments_of(getattr(Memory, action.verb))
        assert set(action.fields) <= known.keys(), action.name
        if action.call is None:
            assert set(ABOUT.get(action.name, ())) <= known.keys(), action.name


def test_a_memory_is_corrected_and_the_correction_taken_back_and_done_again(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    number = numbers["wrong"]
    form = page.get("correct", n=number)
    done = page.do(form, "correct", text="The team meets on Tuesdays at ten", tags="team, weekly")
    assert "Done: corrected #" in done.words
    assert text_of(remembered, number) == "The team meets on Tuesdays at ten"
    assert remembered.get(number).tags == ("team", "weekly")
    undone = page.do(done, "undo")
    assert text_of(remembered, number) == "The team meets on Mondays at ten"
    page.do(undone, "undo")
    assert text_of(remembered, number) == "The team meets on Tuesdays at ten"


def test_a_correction_of_something_that_changed_meanwhile_is_refused(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    form = page.get("correct", n=numbers["wrong"])
    remembered.update(numbers["wrong"], text="The team meets on Fridays")
    refused = page.do(form, "correct", text="The team meets on Tuesdays")
    assert refused.status == 412
    assert text_of(remembered, numbers["wrong"]) == "The team meets on Fridays"


def test_saving_a_form_without_a_change_changes_nothing(page: Page, remembered: Memory, numbers: dict[str, int]):
    before = len(remembered.history(numbers["learning"]))
    page.do(page.get("correct", n=numbers["learning"]), "correct")
    assert len(remembered.history(numbers["learning"])) == before


def test_a_memory_is_forgotten_and_comes_back(page: Page, remembered: Memory, numbers: dict[str, int]):
    number = numbers["theme"]
    done = page.do(page.get("memory", n=number), "forget")
    assert text_of(remembered, number) is None
    page.do(done, "undo")
    assert text_of(remembered, number)
    page.do(page.get("memory", n=number), "forget")
    page.do(page.get("memory", n=number), "restore")
    assert text_of(remembered, number)


def test_something_new_is_remembered_and_taken_back(page: Page, remembered: Memory):
    done = page.do(page.get("remember"), "remember", text="Line one\r\nLine two", tags="a, b", category="preference")
    (record,) = remembered.list().records
    assert (record.text, record.tags, record.category) == ("Line one\nLine two", ("a", "b"), "preference")
    page.do(done, "undo")
    assert remembered.list().records == ()


def test_an_earlier_version_is_restored_as_a_new_one(page: Page, remembered: Memory, numbers: dict[str, int]):
    done = page.do(page.get("memory", n=numbers["port"]), "restore-version")
    assert text_of(remembered, numbers["port"]) == "The staging server listens on port 8080"
    page.do(done, "undo")
    assert text_of(remembered, numbers["port"]) == "The staging server listens on port 9090"


def test_a_memory_is_judged_until_it_is_offered_a_tier_and_promoted(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    number = numbers["theme"]
    for _ in range(6):
        page.do(page.get("memory", n=number), "useful")
    assert "offer for a higher tier" in page.get("review").words
    done = page.do(page.get("review"), "promote")
    assert remembered.get(number).tier == "critical"
    page.do(done, "undo")
    assert remembered.get(number).tier == "normal"
    page.do(page.get("memory", n=number), "useful", 1)
    assert remembered.get(number).validation_count == 7


def test_any_line_of_the_log_is_taken_back_after_a_look_at_what_that_does(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    log = page.get("log", session="5f0c9a4e-monday")
    look = page.do(log, "undo")
    assert "Nothing was changed yet" in look.words
    assert "goes, as it did not exist: Bob owns the billing service" in look.words
    assert text_of(remembered, numbers["agent"])
    done = page.do(look, "undo")
    assert text_of(remembered, numbers["agent"]) is None
    page.do(done, "undo")
    assert text_of(remembered, numbers["agent"])


def test_what_others_changed_since_is_taken_back_first_or_overruled_after_a_look(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    first = remembered.remember("Tea is at four")
    number = first.record.number
    remembered.update(number, text="Tea is at five")
    form = {"batch": first.batch or "", "back": f"log?batch={first.batch}"}
    refused = page.post("undo", form)
    assert refused.status == 409
    assert "Changed since" in refused.words
    assert "--force" not in refused.words
    looked = page.do(refused, "undo", which=1)
    assert f"#{number} goes, as it did not exist: Tea is at five" in looked.words
    assert text_of(remembered, number) == "Tea is at five"
    done = page.do(looked, "undo")
    assert text_of(remembered, number) is None
    page.do(done, "undo")
    assert text_of(remembered, number) == "Tea is at five"
    # Or one after the other.
    first = remembered.remember("Milk is in the fridge")
    number = first.record.number
    remembered.update(number, text="Milk is on the table")
    form = {"batch": first.batch or "", "back": f"log?batch={first.batch}"}
    page.do(page.do(page.post("undo", form), "undo"), "undo")
    assert text_of(remembered, number) == "Milk is in the fridge"
    page.do(page.post("undo", form), "undo")
    assert text_of(remembered, number) is None
    # What was taken back already can be brought back.
    again = page.post("undo", form)
    assert "taken back already" in again.words
    page.do(page.do(again, "undo"), "undo")
    assert text_of(remembered, number) == "Milk is in the fridge"


def test_a_session_that_others_changed_since_is_taken_back_all_the_same(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    remembered.update(numbers["agent"], text="Bob and Chen own the billing service")
    refused = page.do(page.get("session", id="5f0c9a4e-monday"), "take-back")
    assert "Changed since" in refused.words
    looked = page.do(refused, "take-back")
    assert "Bob and Chen own the billing service" in looked.words
    page.do(looked, "take-back")
    assert text_of(remembered, numbers["agent"]) is None


def test_what_was_typed_is_not_lost_when_somebody_else_was_faster(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    form = page.get("correct", n=numbers["wrong"])
    remembered.update(numbers["wrong"], text="The team meets on Fridays")
    refused = page.do(form, "correct", text="The team meets on Tuesdays, in the large room")
    assert refused.status == 412
    assert "The team meets on Tuesdays, in the large room" in refused.words
    assert f'href="correct?n={numbers["wrong"]}"' in refused.text


def test_a_session_is_taken_back_whole_and_brought_back(page: Page, remembered: Memory, numbers: dict[str, int]):
    look = page.do(page.get("session", id="5f0c9a4e-monday"), "take-back")
    assert "Bob owns the billing service" in look.words
    assert "What the session was told is not kept any longer" in look.words
    done = page.do(look, "take-back")
    assert text_of(remembered, numbers["agent"]) is None
    page.do(done, "undo")
    assert text_of(remembered, numbers["agent"])


def test_a_session_goes_off_the_record_and_on_again(page: Page, numbers: dict[str, int]):
    done = page.do(page.get("session", id="5f0c9a4e-monday"), "off-record")
    assert sessions_off_record() == ["5f0c9a4e-monday"]
    on_again = page.do(done, "on-record")
    assert sessions_off_record() == []
    # The banner has the undo of it.
    assert "The session is on the record again. Undo" in on_again.words
    assert page.do(on_again, "off-record").status == 200
    assert sessions_off_record() == ["5f0c9a4e-monday"]


def test_a_hit_of_a_search_is_tagged_and_promoted_where_it_stands(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    number = numbers["theme"]
    found = page.get("search", q="who prefers dark mode")
    which = [form["ref"] for form in found.forms("tag")].index([str(number)])
    tagged = page.do(found, "tag", which, add_tags="night, eyes")
    assert set(remembered.get(number).tags) == {"ui", "alice", "night", "eyes"}
    page.do(tagged, "undo")
    assert set(remembered.get(number).tags) == {"ui", "alice"}
    promoted = page.do(page.get("search", q="who prefers dark mode"), "promote", which, tier="critical")
    assert remembered.get(number).tier == "critical"
    page.do(promoted, "undo")
    assert remembered.get(number).tier == "normal"
    # The past cannot be changed.
    past = page.get("search", q="who prefers dark mode", known_at="1h")
    assert past.forms("tag") == past.forms("promote") == []
    ids = re.findall(r' id="([^"]*)"', page.get("search", q="staging server port, dark mode, Thursdays").text)
    assert len(ids) == len(set(ids))


def test_the_project_of_a_session_is_made_private_and_shared_again(page: Page, tmp_path: Path, numbers: dict[str, int]):
    # The folder of this one is not on this machine.
    assert page.get("session", id="5f0c9a4e-monday").forms("make-private") == []
    assert page.post("make-private", session="5f0c9a4e-monday", back="sessions").status == 404
    project = tmp_path / "website"
    project.mkdir()
    keep(KeptStart(
        session="tuesday", project=str(project), at="2026-03-14T11:00:00Z", source="startup", mode="semantic", text="",
    ))  # fmt: skip
    done = page.do(page.get("session", id="tuesday"), "make-private")
    assert "recalled nowhere else" in done.words
    assert where(project).private
    shared = page.do(done, "make-shared")
    assert "common again" in shared.words
    assert not where(project).private


def test_going_back_to_a_named_state_shows_first_what_it_does_and_can_be_taken_back(
    page: Page, remembered: Memory, numbers: dict[str, int]
):
    remembered.update(numbers["theme"], text="Alice prefers light mode")
    done = page.do(page.get("checkpoints"), "checkpoint", name="light", description="as of today")
    assert "This state has a name now" in done.words
    assert "The memories stay. The name goes" in page.do(done, "delete-checkpoint").words
    names = [form["name"] for form in page.get("checkpoints").forms("go-back")]
    look = page.do(page.get("checkpoints"), "go-back", names.index(["before-refactor"]))
    assert "becomes what it was before" in look.words
    back = page.do(look, "go-back")
    assert text_of(remembered, numbers["theme"]) == "Alice prefers dark mode in every editor"
    page.do(back, "undo")
    assert text_of(remembered, numbers["theme"]) == "Alice prefers light mode"
    younger = remembered.remember("Bread is bought on Saturdays").record.number
    look = page.do(page.get("checkpoints"), "go-back", names.index(["light"]))
    assert "There is nothing to do" in look.words
    assert "1 memory is younger than the checkpoint and stays. " in look.words
    assert "--clear-existing" not in look.words
    without = page.do(look, "go-back")
    assert f"#{younger} goes, as it did not exist" in without.words
    page.do(page.do(without, "go-back"), "undo")
    assert text_of(remembered, younger) == "Bread is bought on Saturdays"
    asked = page.do(page.get("checkpoints"), "delete-checkpoint", names.index(["light"]))
    assert "no undo brings it back" in asked.words
    assert "perdure checkpoint delete light" in asked.words
    assert len(remembered.checkpoints()) == 2
    page.do(asked, "delete-checkpoint")
    assert [each.name for each in remembered.checkpoints()] == ["before-refactor"]


def test_erasing_asks_for_the_count_and_gives_a_receipt(
    page: Page, remembered: Memory, numbers: dict[str, int], tmp_path: Path
):
    number = numbers["wrong"]
    look = page.do(page.get("erase", n=number), "erase")
    assert "Type 1 to erase 1 memory for good" in look.words
    wrong = page.do(look, "erase", typed="2")
    assert "not the number that was asked for" in wrong.words
    assert text_of(remembered, number)
    receipt = page.do(wrong, "erase", typed="1")
    assert "Receipt: 1 memory erased" in receipt.words
    assert "no text is left" in receipt.words
    assert "Every file was rewritten." in receipt.words
    assert remembered.history(number)[-1].hash in receipt.words
    (kept,) = re.findall(r'href="(erased\?batch=[^"]*)"', receipt.text)
    assert "no text is left" in page.get(kept).words
    assert "1 memory" in page.get("erased").words
    assert "This memory was erased" in page.get("memory", n=number).words
    assert b"meets on Mondays" not in (tmp_path / "memory.db").read_bytes()
    # Nothing brings it back, so no undo is offered for it.
    assert "Receipt" in page.get("log").words


def test_a_receipt_of_a_database_speaks_of_no_files(
    remembered: Memory, numbers: dict[str, int], tmp_path: Path, clock: HandClock
):
    page = page_of(remembered, tmp_path, clock=clock, store="postgresql://team@db.example/memories").sign_in()
    look = page.do(page.get("erase", n=numbers["wrong"]), "erase")
    receipt = page.do(look, "erase", typed="1").words
    assert "Its rows are gone from the database." in receipt
    assert "file was rewritten" not in receipt


def test_erasing_what_changed_since_the_look_asks_again(page: Page, remembered: Memory, numbers: dict[str, int]):
    look = page.do(page.get("erase", n=numbers["wrong"]), "erase")
    remembered.update(numbers["wrong"], text="The team meets on Fridays")
    again = page.do(look, "erase", typed="1")
    assert "Type 1 to erase" in again.words
    assert text_of(remembered, numbers["wrong"])


def test_limits_are_set_and_work_is_done(page: Page, remembered: Memory, numbers: dict[str, int]):
    page.do(page.get("health"), "limits", max_items="500")
    assert remembered.capacity().max_items == 500
    lower = page.do(page.get("health"), "limits", max_items="40", max_tokens="9000")
    undone = page.do(lower, "limits")
    assert (remembered.capacity().max_items, remembered.capacity().max_tokens) == (500, None)
    page.do(undone, "limits")
    assert (remembered.capacity().max_items, remembered.capacity().max_tokens) == (40, 9000)
    page.do(page.get("health"), "limits", max_items="")
    assert remembered.capacity().max_items is None
    assert "outstanding is done" in page.do(page.get("health"), "work").words
    assert "Nothing waited" in page.do(page.get("facts"), "consolidate").words or "Done" in page.get("").words


def test_the_store_is_checked_on_the_page(page: Page, numbers: dict[str, int]):
    checked = page.do(page.get("health"), "doctor")
    assert "0 problems" in checked.words
    assert "The log of every namespace is unbroken." in checked.words
    assert "None" not in checked.words


def test_pairs_are_decided_and_each_decision_is_taken_back(tmp_path: Path, clock: HandClock):
    with Memory(tmp_path / "pairs.db", embedder=WordEmbedder(), clock=clock, actor="ada") as memory:
        page = page_of(memory, tmp_path, clock=clock).sign_in()
        pairs: list[tuple[Record, Record]] = []
        kinds: tuple[tuple[ProposalKind, str], ...] = (("conflict", "tram"), ("merge", "boat"))
        for kind, name in kinds:
            first, second = (memory.remember(f"The {name} costs {price} euros").record for price in (2, 3))
            proposed(memory, first, second, kind)
            pairs.append((first, second))
        shown = page.get("review")
        assert "Perhaps only one of them is true" in shown.words
        assert "Do they say the same?" in shown.words
        for first, second in pairs:
            assert first.text in shown.words
            assert second.text in shown.words
        with memory.batch():
            memory.remember("The tram is red")
            proposed(memory, *pairs[0], "merge")
        today = page.get("").words
        assert "remembered #7, proposed 1 pair to decide about" in today
        assert "#7 The tram is red" in today
        assert "#8 " not in today
        assert "is only one of them true: #1, #2?" in today
        before = len(memory.review())
        rejected = page.do(page.get("review"), "reject")
        assert len(memory.review()) == before - 1
        page.do(rejected, "undo")
        assert len(memory.review()) == before
        first, second = pairs[0]
        keeping = next(
            place
            for place, form in enumerate(page.get("review").forms("accept"))
            if form.get("keep") == [str(first.number)]
        )
        kept = page.do(page.get("review"), "accept", keeping)
        assert memory.history(first.number)[-1].record.state == "active"  # pyright: ignore[reportOptionalMemberAccess]
        assert memory.history(second.number)[-1].record.state != "active"  # pyright: ignore[reportOptionalMemberAccess]
        page.do(kept, "undo")
        assert memory.history(second.number)[-1].record.state == "active"  # pyright: ignore[reportOptionalMemberAccess]


ODD = ("", " ", "x", "-1", "1.5", "nan", "1e999", "on", "\x00", "9" * 30, "²", "before-refactor", "5f0c9a4e-monday")


@pytest.mark.parametrize("name", ACTIONS)
def test_a_form_that_says_too_little_or_nonsense_is_answered_with_what_is_wrong(
    page: Page, numbers: dict[str, int], name: str
):
    fields = (*ACTIONS[name].fields, *ABOUT.get(name, ()))
    sent: list[dict[str, str]] = [{}, *({field: odd} for field in fields for odd in ODD)]
    sent += [dict.fromkeys(fields, odd) for odd in ODD]
    for each in sent:
        answer = page.post(name, each, back="./")
        assert answer.status < 500, (each, answer.words)
        assert answer.status == 303 or answer.headers["content-type"].startswith("text/html"), each


def test_blanks_are_no_memory_and_no_correction(page: Page, remembered: Memory, numbers: dict[str, int]):
    before = len(remembered.log(limit=100))
    assert "text is empty" in page.post("remember", text="  ", back="./").words
    form = page.get("correct", n=numbers["wrong"])
    assert "text is empty" in page.do(form, "correct", text=" \n ").words
    assert len(remembered.log(limit=100)) == before


def test_what_goes_wrong_inside_is_told_as_a_page(page: Page, remembered: Memory, monkeypatch: pytest.MonkeyPatch):
    page.sign_in()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Memory, "log", fail)
    answer = page.get("log")
    assert (answer.status, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Something unexpected happened" in answer.words
    assert b"content-security-policy" in {name.encode() for name in answer.headers}


def test_a_form_leads_nowhere_else(page: Page):
    import pytest

    from perdure.errors import BadRequest

    for good in ("./", "memory?n=7", "./?namespace=a%2Fb", "log?session=x&before=3"):
        assert check_back(good) == good
    for bad in (
        "//attacker.example",
        "https://attacker.example",
        "/v1/log",
        "\\\\attacker.example",
        "javascript:1",
        "?x",
    ):
        with pytest.raises(BadRequest):
            check_back(bad)
