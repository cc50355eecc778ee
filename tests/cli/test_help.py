from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest

from perdure.cli.app import COMMANDS, FIRST, GROUPS, perdure
from perdure.cli.command import NO_STORE, WHOLE_STORE, Command, Group
from perdure.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from cli.user import User


def command(path: str) -> click.Command:
    found: click.Command = perdure
    for name in path.split():
        assert isinstance(found, click.Group)
        part = found.get_command(click.Context(found), name)
        assert part is not None
        found = part
    return found


def leaves() -> list[str]:
    """Every command that does something, those inside a group by their two names."""
    groups = {
        "bank": ("import", "list", "promote", "validate"),
        "checkpoint": ("create", "list", "restore", "delete"),
        "chat": ("import", "list"),
        "session": (
            "start",
            "explain",
            "list",
            "tools",
            "forget",
            "off",
            "on",
            "private",
            "shared",
            "trust",
            "distrust",
        ),
        "token": ("create", "list", "revoke"),
    }
    return [" ".join((name, *part)) for name in COMMANDS for part in ([(p,) for p in groups.get(name, ())] or [()])]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_in_the_table_is_the_command_s_own(name: str):
    assert command(name).name == name
    assert command(name).get_short_help_str(200) == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_parts_of_every_group_are_known_here(name: str):
    found = command(name)
    parts = [path.split()[1] for path in leaves() if path.startswith(f"{name} ")]
    assert parts == (list(found.commands) if isinstance(found, Group) else [])


@pytest.mark.parametrize("name", leaves())
def test_every_command_has_examples_that_parse(user: User, name: str):
    found = command(name)
    assert isinstance(found, Command)
    assert found.examples
    text = user.done(*name.split(), "--help").out
    for line in found.examples:
        assert line in text
        assert f"perdure {name}" in line


@pytest.mark.parametrize("name", [name for name in leaves() if name not in {"completion", "hook", "mcp"}])
def test_every_command_takes_json_and_offers_a_store_and_a_namespace_where_they_mean_something(user: User, name: str):
    text = user.done(*name.split(), "-h").out
    assert "--json" in text
    assert ("-s, --store" in text) == (name not in NO_STORE)
    assert ("-n, --namespace" in text) == (name not in WHOLE_STORE | NO_STORE)


def test_a_hint_names_no_namespace_to_a_command_that_has_none(user: User):
    said = '{"conversation_id": "c", "role": "user", "content": "Tea, please", "at": "2026-03-01T10:00:00Z"}'
    user.done("chat", "import", "-", "-n", "team", stdin=said)
    assert "perdure work\n" in user.done("facts", "-n", "team").err


def test_the_help_shows_the_defaults_that_the_settings_give(user: User):
    text = user.done("list", "--help", PERDURE_NAMESPACE="team", PERDURE_STORE="/srv/memory.db").out
    assert "[default: team]" in text
    assert "/srv/memory.db]" in text
    assert "[default: all]" in user.done("stats", "--help").out
    assert "the setting store" in " ".join(user.done("list", "--help", PERDURE_DAILY_TOKENS="x").out.split())


@pytest.mark.parametrize("name", ["remember", "recall", "list", "update", "upsert", "forget", "context"])
def test_options_that_few_people_need_are_in_the_longer_help_alone(user: User, name: str):
    short, long = user.done(name, "--help").out, user.done(name, "--help-all").out
    assert "--help-all" in short
    assert "--context-type" not in short
    assert "--context-type" in long
    assert "--tag" in short


def test_an_option_that_the_help_leaves_out_works(user: User):
    user.done("remember", "tea", "--spec-folder", "specs/1")
    assert user.done("list", "--spec-folder", "specs/1", "--json").json["records"]


def test_the_help_fits_one_screen_and_names_every_command_once(user: User):
    text = user.done("--help").out
    named = re.findall(r"[a-z][a-z-]+", text[text.index("Start here") : text.index("Examples")])
    assert len(text.splitlines()) <= 50
    for name in COMMANDS:
        assert name in named, name
        assert (COMMANDS[name][1] in " ".join(text.split())) == (name in FIRST.split()), name


def test_the_longer_help_says_what_every_command_does_and_which_exit_codes_there_are(user: User):
    text = " ".join(user.done("--help-all").out.split())
    for _, sentence in (*COMMANDS.values(), *EXIT_CODES.items()):
        assert sentence in text
    assert "PERDURE_STORE" in text


def test_no_command_shows_the_help(user: User):
    assert user.done().out == user.done("--help").out


def test_a_group_without_a_part_shows_its_help_with_an_example_of_each(user: User):
    text = user.done("checkpoint").out
    assert text == user.done("checkpoint", "--help").out
    for part in ("create", "list", "restore", "delete"):
        assert f"  perdure checkpoint {part}" in text


def test_a_part_that_a_group_does_not_have_is_a_wrong_use(user: User):
    assert "No such command" in user.fails(2, "checkpoint", "explode").err


def test_the_version_is_the_package_s(user: User):
    from perdure import __version__

    assert user.done("--version").out == f"perdure {__version__}\n"


@pytest.mark.parametrize("name", ["recall", "checkpoint", "checkpoint list"])
def test_both_help_options_are_known_whoever_asked_for_the_help_before(user: User, name: str):
    found = command(name)
    found.get_help(click.Context(found))
    assert user.done(*name.split(), "-h").out == user.done(*name.split(), "--help").out


def test_every_command_stands_in_one_group_of_the_help():
    assert sorted(" ".join(GROUPS.values()).split()) == sorted(COMMANDS)
