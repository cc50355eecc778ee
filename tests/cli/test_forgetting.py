"""`perdure forget` and `perdure erase`: the list first, then the question; in a pipe the list and a token."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User

OSAKA = "everything about the Osaka flat"


@pytest.fixture
def known(user: User):
    user.done("remember", "The Osaka flat has two rooms", "--spec-folder", "007")
    user.done("remember", "Flats in Osaka are dear")
    user.done("remember", "Alice prefers dark mode", "--key", "person:alice")
    return user


def alive(user: User) -> list[str]:
    return sorted(row[0] for row in user.done("list").rows)


def test_a_sentence_waits_for_a_yes_even_for_one_match_and_can_be_taken_back(known: User):
    waiting = known("forget", "everything about dark mode")
    assert (waiting.code, waiting.out) == (4, "Would forget #3  Alice prefers dark mode\n")
    answer = known.done("forget", "everything about dark mode", "--yes")
    assert answer.out == "Forgot #3  Alice prefers dark mode\n"
    understood, back = answer.err.splitlines()
    assert understood.startswith("understood: every memory that holds 'dark' and 'mode'")
    assert back == "take it back: perdure restore 3"
    known.done("restore", "3")
    assert "understood" not in known.done("forget", "3").err


def test_a_sentence_needs_no_quotes(known: User):
    assert known.done("forget", "least", "important", "--dry-run").out.startswith("Would forget #1")
    assert known("forget", "everything", "about", "dark", "mode", "--dry-run").out.startswith("Would forget #3")


def test_references_and_words_do_not_mix(known: User):
    answer = known.fails(2, "forget", "1", "osaka")
    assert "in quotes" in answer.err


def test_in_a_pipe_several_matches_are_listed_and_wait_for_a_yes(known: User):
    answer = known("forget", OSAKA)
    assert answer.code == 4
    assert answer.out.splitlines() == [
        "Would forget #1  The Osaka flat has two rooms",
        "Would forget #2  Flats in Osaka are dear",
    ]
    assert "2 memories would be forgotten" in answer.err
    assert alive(known) == ["1", "2", "3"]
    assert known.done("forget", OSAKA, "--yes").out.count("Forgot") == 2
    assert alive(known) == ["3"]


def test_the_hint_to_go_ahead_works_as_it_stands(known: User):
    answer = known("forget", "flat", "--since", "2020-01-01", "--namespace", "default")
    hint = answer.err.split("Go ahead: perdure ")[1].strip()
    assert known.done(*shlex.split(hint)).out.count("Forgot") == 2


def test_a_token_confirms_the_list_it_came_with_and_no_other(known: User):
    token = json.loads(known.fails(4, "forget", OSAKA, "--json").err)["preview"]["token"]
    known.done("remember", "An Osaka flat again")
    assert "confirms other memories" in known.fails(4, "forget", OSAKA, "--confirm", token).err
    token = known.done("forget", OSAKA, "--dry-run", "--json").json["token"]
    done = known.done("forget", OSAKA, "--confirm", token, "--json").json
    assert (done["done"], [one["number"] for one in done["records"]], done["remaining"]) == (True, [1, 2, 4], 1)


def test_with_json_the_list_is_part_of_the_failure_and_stdout_stays_empty(known: User):
    failure = json.loads(known.fails(4, "forget", OSAKA, "--json").err)
    assert (failure["code"], failure["preview"]["done"]) == ("needs_confirmation", False)
    assert [record["number"] for record in failure["preview"]["records"]] == [1, 2]
    assert failure["remedy"].endswith(failure["preview"]["token"])


def test_a_dry_run_says_how_to_go_ahead_with_exactly_that(known: User):
    for words in (("forget", OSAKA), ("forget", "oldest"), ("erase", "3")):
        answer = known.done(*words, "--dry-run")
        hint = answer.err.split("nothing was changed; go ahead: perdure ")[1].strip()
        known.done(*shlex.split(hint))
    assert alive(known) == []


def test_what_went_together_comes_back_by_the_hint(known: User, store: Path):
    answer = known.done("forget", OSAKA, "--yes", "--store", str(store))
    hint = answer.err.removeprefix("take it back: perdure ").split()
    known.done(*hint)
    assert alive(known) == ["1", "2", "3"]


def test_a_folder_is_a_scope(known: User):
    assert known.done("forget", "--spec-folder", "007").out == "Forgot #1  The Osaka flat has two rooms\n"


def test_everything_is_no_scope(known: User):
    assert "does not say which" in known.fails(2, "forget", "everything", "--yes").err
    assert "You did not say which" in known.fails(2, "forget", "--yes").err


def test_when_nothing_matches_what_is_near_is_shown_beside_the_answer(known: User):
    answer = known.done("forget", "the Osaka castle")
    assert answer.out == ""
    assert "nothing was changed" in answer.err
    assert "perhaps #1" in answer.err
    assert alive(known) == ["1", "2", "3"]


def test_a_dry_run_shows_and_leaves(known: User):
    answer = known.done("forget", "oldest", "--dry-run")
    assert answer.out == "Would forget #1  The Osaka flat has two rooms\n"
    assert "least recently used" in answer.err
    assert alive(known) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("key", "left"), [(b"y\n", ["3"]), (b"what\nYES\n", ["3"]), (b"n\n", ["1", "2", "3"]), (b"\n", ["1", "2", "3"])]
)
def test_on_a_terminal_it_asks_and_does_what_it_is_told(known: User, key: bytes, left: list[str]):
    code, out, err = known.on_a_terminal(key, "forget", OSAKA)
    assert code == 0
    assert out.count("Would forget #") == 2
    assert "Forget these 2? [y/N]" in err
    assert ("Answer y for yes or n for no." in err) == key.startswith(b"what")
    assert alive(known) == left


def test_erase_asks_on_a_terminal_even_for_one(known: User):
    code, out, err = known.on_a_terminal(b"n\n", "erase", "3")
    assert (code, "Erase this for ever? [y/N]" in err) == (0, True)
    assert alive(known) == ["1", "2", "3"]
    code, out, err = known.on_a_terminal(b"y\n", "erase", "3")
    assert out.splitlines()[-1] == "Erased #3"
    assert alive(known) == ["1", "2"]


@pytest.mark.parametrize("words", [("erase", "3"), ("erase", "person:alice"), ("forget", "3", "--hard")])
def test_in_a_pipe_erasing_one_memory_waits_for_a_yes_and_says_how(known: User, words: tuple[str, ...]):
    answer = known(*words)
    assert (answer.code, answer.out) == (4, "Would erase #3  Alice prefers dark mode\n")
    assert "1 memory would be erased for ever" in answer.err
    assert alive(known) == ["1", "2", "3"]
    failure = json.loads(known.fails(4, *words, "--json").err)
    assert (failure["code"], failure["preview"]["done"]) == ("needs_confirmation", False)
    hint = answer.err.split("Go ahead: perdure ")[1].strip()
    assert known.done(*shlex.split(hint)).out == "Erased #3\n"


def test_erase_says_the_number_and_not_the_words(known: User, store: Path):
    answer = known.done("erase", "person:alice", "--yes")
    assert answer.out == "Erased #3\n"
    assert "dark" not in answer.err
    assert "Exports" in answer.err
    assert all(b"dark mode" not in file.read_bytes() for file in store.parent.iterdir() if file.is_file())


def test_forget_hard_is_erase(known: User):
    assert known.done("forget", "3", "--hard", "--yes").out == "Erased #3\n"
    known.fails(3, "show", "3")


def test_erase_by_a_sentence_waits_for_a_yes_even_for_one(known: User):
    answer = known("erase", "dark mode")
    assert (answer.code, answer.out) == (4, "Would erase #3  Alice prefers dark mode\n")
    assert known.done("erase", "dark mode", "--yes").out == "Erased #3\n"


def test_what_was_forgotten_can_be_erased_by_its_state(known: User):
    known.done("forget", "1", "2")
    assert known.done("erase", "--state", "deleted", "--yes").out == "Erased #1\nErased #2\n"


def test_erase_in_json_says_all_of_the_answer(known: User):
    done = known.done("erase", "3", "--yes", "--json").json
    assert (done["deletion"], done["done"], done["scrub_pending"], done["remaining"]) == ("hard", True, False, 2)


def test_erase_lists_what_was_made_of_a_memory_and_takes_the_choice_along(user: User):
    source = json.loads(user.done("remember", "Alice likes a Kanarienvogel", "--json").out)["record"]
    user.done("remember", "Somebody likes a Kanarienvogel", "--evidence", source["id"])
    asked = user("erase", "1")
    assert asked.code == 4
    assert asked.out.splitlines() == [
        "Would erase #1  Alice likes a Kanarienvogel",
        "Would erase #2 too  Somebody likes a Kanarienvogel",
    ]
    alone = user.done("erase", "1", "--related", "none", "--dry-run")
    assert "--related none" in alone.err
    assert "Made of it, and kept as it is: #2" in alone.err
    assert json.loads(user.done("erase", "1", "--yes", "--json").out)["related"] == [2]
    assert user.done("list").out == ""


# -- sentences that say what is to stay -------------------------------------------------------------------------------


@pytest.fixture
def teller(user: User) -> User:
    for text in ("Bob likes tea", "Alice likes coffee", "Never call Bob, not before nine"):
        user.done("remember", text)
    return user


@pytest.mark.parametrize("sentence", ["everything but Bob", "don't forget that Bob likes tea", "alles außer Bob"])
def test_the_command_line_refuses_it_whatever_is_confirmed(teller: User, sentence: str):
    for verb in ("forget", "erase"):
        for option in ((), ("--yes",), ("--dry-run",)):
            failed = teller.fails(2, verb, sentence, *option)
            assert "could remove what should stay" in failed.err
            assert "Nothing was changed" in failed.err
    code, _, err = teller.on_a_terminal(b"y\n", "erase", sentence)
    assert (code, "could remove" in err) == (2, True)
    assert len(teller.done("list").rows) == 3


def test_the_command_line_takes_quotes_and_exceptions(teller: User):
    assert teller.done("forget", '"not before nine"', "--dry-run").out.startswith("Would forget #3")
    waiting = teller("forget", "everything about Bob", "--keep", "3")
    assert waiting.out == "Would forget #1  Bob likes tea\n"
    hint = waiting.err.split("Go ahead: perdure ")[1].strip()
    assert "--keep 3" in hint
    assert teller.done(*shlex.split(hint)).out == "Forgot #1  Bob likes tea\n"
    assert teller.done("erase", "--min-importance", "0", "--except", "3", "--except", "1", "--yes").out == "Erased #2\n"


def test_the_command_line_shows_what_stays(teller: User):
    answer = teller("erase", "Bob likes")
    assert answer.out == "Would erase #1  Bob likes tea\n"
    assert "stays #2  Alice likes coffee (does not hold 'bob')" in answer.err
    assert "stays #3  Never call Bob, not before nine (does not hold 'likes')" in answer.err
    told = json.loads(teller.fails(4, "erase", "Bob likes", "--json").err)["preview"]["near_misses"]
    assert [(each["record"]["number"], each["reason"]) for each in told] == [
        (2, "does not hold 'bob'"), (3, "does not hold 'likes'"),
    ]  # fmt: skip
