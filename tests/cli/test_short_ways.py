"""Short ways to say what everybody types: update REF TEXT, list in a pipe, version alone, namespaces; and a variable
that nobody reads is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import perdure

if TYPE_CHECKING:
    from cli.user import User


def test_a_memory_is_corrected_by_saying_what_it_is_now(newcomer: User):
    newcomer.done("remember", "Alice prefers dark mode")
    newcomer.done("update", "1", "Alice prefers light mode")
    assert newcomer.done("show", "1", "--json").json["text"] == "Alice prefers light mode"


def test_a_text_that_is_given_twice_is_refused(newcomer: User):
    newcomer.done("remember", "Alice prefers dark mode")
    assert "given twice" in newcomer.fails(2, "update", "1", "light", "--text", "dark").err


def test_a_pipe_gets_every_memory_and_a_page_is_twenty(newcomer: User):
    newcomer.done("remember", "--lines", stdin="".join(f"note {number}\n" for number in range(130)))
    assert len(newcomer.done("list").out.splitlines()) == 130
    assert len(newcomer.done("list", "--limit", "7").out.splitlines()) == 7
    assert len(newcomer.done("list", "--json").json["records"]) == 20
    assert len(newcomer.done("list", "--all", "--json").json["records"]) == 130
    newcomer.fails(2, "list", "--all", "--limit", "7")
    assert len(newcomer.done("log").out.splitlines()) == 130
    assert len(newcomer.done("log", "--limit", "7").out.splitlines()) == 7
    assert len(newcomer.done("log", "--json").json["revisions"]) == 20


def test_version_alone_is_the_programs(newcomer: User):
    assert newcomer.done("version").out == f"perdure {perdure.__version__}\n"
    assert newcomer.done("version", "--json").json == {"version": perdure.__version__}
    newcomer.done("remember", "Alice prefers dark mode")
    assert newcomer.done("version", "1", "1", "--json").json["version"] == 1
    assert "Which version of 1?" in newcomer.fails(2, "version", "1").err


@pytest.mark.parametrize("words", [("namespaces",), ("namespaces", "--json")])
def test_the_namespaces_of_a_store_are_listed(newcomer: User, words: tuple[str, ...]):
    newcomer.done("remember", "Alice prefers dark mode", "--namespace", "alice")
    newcomer.done("remember", "Bob prefers tea")
    answer = newcomer.done(*words)
    assert ("alice" in answer.out, "default" in answer.out) == (True, True)


def test_a_variable_that_nothing_reads_is_named_with_the_one_that_was_meant(newcomer: User):
    answer = newcomer.done("version", PERDURE_STOR="x.db", PERDURE_HOME="there")
    assert "PERDURE_STOR is set, and nothing reads it. Did you mean PERDURE_STORE?" in answer.err
    assert "PERDURE_HOME is set, and nothing reads it. Did you mean PERDURE_STORE?" in answer.err
    assert "reads it.\n" in newcomer.done("version", PERDURE_XYZZY="1").err
    assert newcomer.done("version", "--json", PERDURE_STOR="x.db").err == ""


def test_a_line_that_cannot_be_imported_is_named_once_and_a_field_of_your_own_is_shown_its_place(user: User):
    answer = user.fails(2, "import", "-", stdin='{"text": "tea"}\nnope\n')
    assert "Line 2 is not JSON: Expecting value at character 1." in answer.err
    answer = user.fails(2, "import", "-", stdin='{"text": "tea", "colour": "red"}\n')
    assert "no field 'colour'; what is your own goes under `metadata`." in answer.err
    answer = user.fails(2, "import", "-", stdin='{"content": "tea"}\n')
    assert "no field 'content'; its words go under `text`, and" in answer.err
