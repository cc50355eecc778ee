from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure.cli.exit_codes import EXIT_CODES
from perdure.errors import all_errors
from perdure.memory import Memory

if TYPE_CHECKING:
    from cli.user import User


def test_every_error_ends_in_a_documented_exit_code():
    assert {error.exit_code for error in all_errors()} <= set(EXIT_CODES)


def test_help_lists_every_exit_code(user: User):
    text = user.done("--help-all").out
    for code, meaning in EXIT_CODES.items():
        assert f"  {code}" in text
        assert meaning.split()[0] in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "99"), 3, "No memory '99' in namespace 'default'."),
        (("show", "not a reference"), 2, "does not name a memory"),
        (("remember", ""), 2, "text is empty"),
        (("remember", "x", "--category", "nonsense"), 2, "no category 'nonsense'"),
        (("remember", "x", "--tier", "nonsense"), 2, "no tier 'nonsense'"),
        (("remember", "x", "--valid-at", "soon"), 2, "valid_at is not a time"),
        (("remember", "x", "--valid-at", "99999y"), 2, "valid_at is not a time"),
        (("remember", "x", "--importance", "7"), 2, "importance must be a number from 0 to 1"),
        (("remember", "x", "--importance", "high"), 2, "'high' is not a valid float"),
        (("remember", "x", "--metadata", "nonsense"), 2, "is not a metadata entry"),
        (("remember", "x", "--key", "nonsense"), 2, "is not a key"),
        (("remember", "x", "--lines"), 2, "--lines reads standard input"),
        (("remember", "x", "-n", "\t"), 2, "is not a namespace"),
        (("remember", "x", "-n", "a", "-n", "b"), 2, "one namespace"),
        (("remember", "a\udcffb"), 2, "The text to remember is not UTF-8 text: byte 1 is wrong."),
        (("list", "--state", "nonsense"), 2, "no state 'nonsense'"),
        (("list", "--since", "nonsense"), 2, "since is not a time"),
        (("list", "--nonsense"), 2, "No such option"),
        (("search", "x"), 2, "Did you mean `perdure recall`?"),
        (("serch", "x"), 2, "Did you mean `perdure recall`?"),
        (("remembr", "x"), 2, "Did you mean `perdure remember`?"),
        (("qqq",), 2, "There is no command 'qqq'."),
        (("show",), 2, "Missing argument"),
        (("forget",), 2, "You did not say which memories"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_a_remedy(user: User, words: tuple[str, ...], code: int, said: str):
    answer = user.fails(code, *words)
    first, *remedy = answer.err.splitlines()
    assert first.startswith("error: ")
    assert said in first
    assert remedy
    assert all(line.startswith("  ") for line in remedy)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("--port", "1"), "It comes after the command, as in `perdure serve --port …`."),
        (("--json", "list"), "as in `perdure COMMAND --json …`."),
        (("work", "-n", "mira"), "This command is about all namespaces at once."),
        (("install", "clod-code"), "Did you mean 'claude-code'?"),
        (("promote", "1", "gold"), "For example: perdure promote 7 --tier constitutional"),
        (("update", "1"), "For example: perdure update 7 "),
    ],
)
def test_a_wrong_use_is_told_the_right_one(user: User, words: tuple[str, ...], remedy: str):
    user.done("remember", "one")
    assert remedy in user.fails(2, *words).err


@pytest.mark.parametrize("words", [("show", "99"), ("remember", "", "-n", "x"), ("qqq",), ("list", "--nonsense")])
def test_with_json_a_failure_is_one_document_on_stderr(user: User, words: tuple[str, ...]):
    answer = user.fails(user(*words).code, *words, "--json")
    assert set(json.loads(answer.err)) == {"code", "error", "remedy", "retryable"}


def test_text_that_is_not_utf_8_is_refused(user: User):
    assert "not UTF-8" in user.fails(2, "remember", "-", stdin=b"\xff\xfe bad").err


def test_a_text_over_a_mebibyte_is_refused(user: User):
    assert "1,048,576" in user.fails(2, "remember", "-", stdin=b"x" * (1 << 20) + b"y\n").err
    user.done("remember", "-", stdin=b"x" * (1 << 20) + b"\n")


def test_a_setting_that_makes_no_sense_is_refused(user: User):
    user.fails(2, "list", PERDURE_EMBEDDER="nonsense")
    user.done("remember", "one")
    assert "PERDURE_LAYOUT" in user.fails(2, "list", PERDURE_LAYOUT="nonsense").err


def test_a_store_that_is_no_store_is_refused(user: User, store: Path):
    store.write_bytes(b"This is not a database, it is a text about one. " * 100)
    user.fails(5, "list")
    assert store.read_bytes().startswith(b"This is not a database")


@pytest.fixture
def broken(user: User, monkeypatch: pytest.MonkeyPatch):
    def explode(*_: object, **__: object):
        raise RuntimeError("the pieces\x1b[31m")

    monkeypatch.setattr(Memory, "list", explode)
    return user


def test_the_unexpected_is_one_line_without_a_traceback(broken: User):
    answer = broken.fails(1, "list")
    assert "Something unexpected happened in Perdure: RuntimeError: the pieces\\x1b[31m" in answer.err
    assert "PERDURE_TRACEBACK=1" in answer.err
    assert json.loads(broken.fails(1, "list", "--json").err)["code"] == "unexpected"


def test_a_traceback_can_be_asked_for(broken: User):
    answer = broken("list", PERDURE_TRACEBACK="1")
    assert answer.code == 1
    assert "Traceback" in answer.err
    assert "error: Something unexpected" in answer.err


def test_a_file_that_cannot_be_read_is_named(user: User, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object):
        raise PermissionError(13, "Permission denied", "/etc/secret")

    monkeypatch.setattr(Memory, "list", refuse)
    assert "error: /etc/secret: Permission denied." in user.fails(1, "list").err


def test_an_interrupt_ends_with_its_own_code(user: User, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "list", interrupt)
    assert "error: Interrupted." in user.fails(130, "list").err
    assert json.loads(user.fails(130, "list", "--json").err)["code"] == "interrupted"


@pytest.mark.parametrize("text", ["- a bullet", "-5 degrees", "--- a line"])
def test_a_text_that_begins_with_a_dash_is_answered_with_how_it_is_written(user: User, text: str):
    assert f"perdure remember -- '{text}'" in user.fails(2, "remember", text).err
    user.done("remember", "--", text)
    assert "--tag" in user.fails(2, "remember", "--tga", "x y", "tea").err


def test_an_export_that_cannot_be_written_names_the_file_that_was_asked_for(user: User, tmp_path: Path):
    long = str(tmp_path / ("x" * 250))
    error = user.fails(2, "export", long).err
    assert "cannot be written: File name too long." in error
    assert ".xxx" not in error


def test_errors_name_no_page_that_an_installed_program_has_not():
    assert not [error.code for error in all_errors() if "docs/" in error().remedy]
