from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from perdure.cli.app import COMMANDS, perdure
from perdure.cli.command import Command

if TYPE_CHECKING:
    from cli.user import User


def command(name: str) -> click.Command:
    found = perdure.get_command(click.Context(perdure), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_in_the_table_is_the_command_s_own(name: str):
    assert command(name).name == name
    assert command(name).get_short_help_str(200) == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_parse(user: User, name: str):
    found = command(name)
    assert isinstance(found, Command)
    assert found.examples
    text = user.done(name, "--help").out
    for line in found.examples:
        assert line in text
        assert f"perdure {name}" in line


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_takes_json_namespace_and_store(user: User, name: str):
    text = user.done(name, "-h").out
    for option in ("--json", "-n, --namespace", "-s, --store"):
        assert option in text


def test_no_command_shows_the_help(user: User):
    assert user.done().out == user.done("--help").out


def test_the_version_is_the_package_s(user: User):
    from perdure import __version__

    assert user.done("--version").out == f"perdure {__version__}\n"
