from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from perdure.cli.app import COMMANDS, GROUPS, perdure
from perdure.cli.command import Command, Group

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
        "session": ("start", "explain", "list", "forget", "off", "on", "private", "shared"),
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
def test_every_command_takes_json_namespace_and_store(user: User, name: str):
    text = user.done(*name.split(), "-h").out
    for option in ("--json", "-n, --namespace", "-s, --store"):
        assert option in text


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
