"""`perdure config`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.render import Column, Table, View
from perdure.cli.settings_text import toml_value, with_value
from perdure.cli.terminal import dim, note, safe
from perdure.errors import InvalidInput, NotFound, SettingsInvalid, shown
from perdure.files import private_folder
from perdure.jsonable import to_jsonable
from perdure.location import locate
from perdure.project import project_directory
from perdure.providers.plugins import Group, require_provider
from perdure.recall.cookbook import own_recipes
from perdure.recall.recipe import recipe_named
from perdure.settings import API_KEYS, SETTINGS, Setting, SettingInForce, check_file, in_force, settings_file
from perdure.text.secrets import redact
from perdure.text_files import replacing

_USERINFO: Final = re.compile(r"//[^/\s@]+@")
_ACTIONS: Final = ("show", "path", "get", "set", "unset")
_WORDS_NEEDED: Final = {"show": "", "path": "", "get": "NAME", "set": "NAME VALUE", "unset": "NAME"}
_NAMES: Final = tuple(setting.name for setting in SETTINGS)
# What most people ever change. A terminal shows these, and every other one that somebody has set.
_USUAL: Final = frozenset("store namespace embedder llm egress learn recipe min_relevance redact background".split())
_EXAMPLES: Final = (
    "perdure config",
    "perdure config --all",
    "perdure config get recipe",
    "perdure config set recipe learnings",
    "perdure config set egress api.openai.com,api.voyageai.com",
    "perdure config unset recipe",
    'cat "$(perdure config path)"',
    "perdure config --json | jq '.settings[0]'",
)
_KEY_REMEDY: Final = f"Keys are read from the environment alone, and never written down: {', '.join(API_KEYS)}."
_UNWRITABLE: Final = (
    "Give yourself write permission on it and its directory, or name another file with the variable PERDURE_CONFIG."
)


# Without a request it can be known whether a provider is installed, and nothing about its model.
_PROVIDERS: Final[dict[str, Group]] = {"embedder": "perdure.embedders", "llm": "perdure.llms"}


def _text(value: Any) -> str:
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)


_COLUMNS: Final[tuple[Column[SettingInForce], ...]] = (
    Column("setting", lambda setting: setting.name, "bold cyan"),
    Column("value", lambda setting: _text(setting.value), fold=True),
    Column("from", lambda setting: setting.origin, "dim", fold=True),
)


@command("config", examples=_EXAMPLES)
@click.argument("action", required=False, type=click.Choice(_ACTIONS), metavar="[show|path|get|set|unset]")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=completing(_NAMES))
@click.argument("value", required=False, metavar="[VALUE]")
@option("--all", "every", is_flag=True, help="In a terminal, show the settings that few people change, too.")
def main(target: Target, *, action: str | None, name: str | None, value: str | None, every: bool) -> View:
    """Show the settings in force and where they come from; change one.

    `show`, or nothing, shows those that people usually change and all that are set; `path` says where the settings
    file is, `get` shows one value, `set` writes one into the file and `unset` takes it out again; comments and
    everything else in the file stay. Several words are separated by commas. A value that is not valid is refused, and
    the file stays as it is.
    docs/reference/settings.md tells what each setting does.

    Of the API keys in the environment it says whether they are there, and nothing else. In a pipe each setting is one
    line: name, value, origin.
    """
    path = settings_file(os.environ)
    if action is None or (action == "show" and name is None):
        return _settings(target, path, every=every)
    given = len([word for word in (name, value) if word is not None])
    if given != len(_WORDS_NEEDED[action].split()):
        raise click.UsageError(f"Say it so: perdure config {action} {_WORDS_NEEDED[action]}".rstrip())
    if name is None:
        missing = [] if path.exists() else [dim("It does not exist yet; `perdure config set` makes it.")]
        return View(json={"path": str(path)}, lines=[safe(str(path))], rows=[(str(path),)], after=missing)
    setting = _known(name)
    if action == "get":
        shown_now = _one(target, setting)
        return View(
            json=to_jsonable(shown_now),
            lines=[safe(_text(shown_now.value))],
            rows=[(_text(shown_now.value),)],
            after=[dim(f"from: {safe(shown_now.origin)}")],
        )
    changed = _write(path, setting, value)
    now = _one(target, setting)
    done = f"Set {setting.name} to {safe(_text(now.value))} in"
    if value is None:
        done = f"Took {setting.name} out of" if changed else f"Nothing to do: {setting.name} was not in"
    after = [dim(f"now {safe(_text(now.value))}, from: {safe(now.origin)}")] if value is None else []
    if value is not None and now.origin != "file":
        done = f"Set {setting.name} in"
        after = [note(f"In force is {safe(_text(now.value))} still, from {safe(now.origin)}.")]
    if setting.name in {"embedder", "llm"} and ":" in str(value):
        after.append(dim(f"whether its key is set and it may be asked: {target.hint('doctor')}"))
    return View(json={**to_jsonable(now), "path": str(path)}, lines=[f"{done} {safe(str(path))}"], after=after)


def _settings(target: Target, path: Path, *, every: bool) -> View:
    settings = _shown(target)
    usual = [each for each in settings if every or each.name in _USUAL or each.origin != "default"]
    rest = len(settings) - len(usual)
    keys = {variable: bool(os.environ.get(variable)) for variable in API_KEYS}
    there = ", ".join(name for name, is_set in keys.items() if is_set)
    return View(
        json={
            "settings": [to_jsonable(setting) for setting in settings],
            "path": str(path),
            "api_keys": [{"variable": name, "is_set": is_set} for name, is_set in keys.items()],
        },
        lines=[Table(_COLUMNS, usual)],
        rows=[(setting.name, _text(setting.value), setting.origin) for setting in settings],
        after=[
            dim(f"settings file: {safe(str(path))}{'' if path.exists() else ', which does not exist'}"),
            dim(f"API keys in the environment: {there or 'none'}"),
            *([dim(f"{rest} more have their default: {target.hint('config', all=True)}")] if rest else []),
        ],
    )


def _shown(target: Target) -> Sequence[SettingInForce]:
    namespace = target.namespaces[0] if target.namespaces else None
    project = project_directory(os.environ)
    in_use = in_force(os.environ, project=project, store=target.store, namespace=namespace)
    for place, setting in enumerate(in_use):
        if isinstance(setting.value, str):
            value = redact(setting.value).text
            # A password in a URL does not belong there, and still less on a screen or in a report. A name may be a key;
            # the store has shown its address without a password already.
            value = value if setting.name == "store" else _USERINFO.sub("//[REDACTED:url_password]@", value)
            in_use[place] = replace(setting, value=value)
    return in_use


def _one(target: Target, setting: Setting) -> SettingInForce:
    return next(each for each in _shown(target) if each.name == setting.name)


def _known(name: str) -> Setting:
    plain = name.lower().replace("-", "_").removeprefix("perdure_")
    found = next((setting for setting in SETTINGS if setting.name == plain), None)
    if found:
        return found
    if name.upper() in API_KEYS or plain.endswith("key"):
        raise InvalidInput(f"{shown(name)} is not a setting.", remedy=_KEY_REMEDY)
    close = get_close_matches(plain, _NAMES, n=1, cutoff=0.6)
    meant = f"Did you mean {close[0]}?" if close else "`perdure config` lists them."
    raise NotFound(f"There is no setting {shown(name)}.", remedy=meant)


def _write(path: Path, setting: Setting, value: str | None) -> bool:
    """Whether the file is another now."""
    try:
        before = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        before = ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}.") from error
    if value is not None and setting.name == "store":
        holds_secret = locate(value).holds_secret
    else:
        is_open = value is None or (redact(value).text == value and not _USERINFO.search(value))
        holds_secret = setting.kind == "text" and not is_open
    if holds_secret:
        raise SettingsInvalid(f"This value of {setting.name} holds a secret.", remedy=_KEY_REMEDY)
    if value is not None and setting.name in _PROVIDERS and ":" in value:
        require_provider(_PROVIDERS[setting.name], value.partition(":")[0])
    after = with_value(before, setting.name, None if value is None else toml_value(setting, value))
    settings = check_file(after.encode(), path, os.environ)
    recipe_named(settings.recipe, own_recipes(settings.recipes))
    if after == before:
        return False
    # A link stays one: what it names is what changes.
    path = path.resolve()
    try:
        private_folder(path.parent)
        with replacing(path) as file:
            file.write(after)
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be written: {error.strerror}.", remedy=_UNWRITABLE) from error
    return True
