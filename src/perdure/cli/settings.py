"""`perdure settings`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Final

from perdure.cli.command import Target, command
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim, safe
from perdure.jsonable import to_jsonable
from perdure.project import project_directory
from perdure.settings import API_KEYS, SettingInForce, in_force, settings_file
from perdure.text.secrets import redact


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


@command("settings", examples=("perdure settings", "perdure settings --json | jq '.settings[0]'"))
def main(target: Target) -> View:
    """Show every setting in force, and where it comes from.

    Of the API keys in the environment it says whether they are there, and nothing else. In a pipe each setting is one
    line: name, value, origin.
    """
    namespace = target.namespaces[0] if target.namespaces else None
    # A password in a URL does not belong there, and still less on a screen or in a report.
    settings = [
        replace(setting, value=redact(setting.value).text) if isinstance(setting.value, str) else setting
        for setting in in_force(
            os.environ, project=project_directory(os.environ), store=target.store, namespace=namespace
        )
    ]
    keys = {variable: bool(os.environ.get(variable)) for variable in API_KEYS}
    path = settings_file(os.environ)
    exists = path.exists()
    there = ", ".join(name for name, is_set in keys.items() if is_set)
    return View(
        json={
            "settings": [to_jsonable(setting) for setting in settings],
            "path": str(path),
            "api_keys": [{"variable": name, "is_set": is_set} for name, is_set in keys.items()],
        },
        lines=[Table(_COLUMNS, settings)],
        rows=[(setting.name, _text(setting.value), setting.origin) for setting in settings],
        after=[
            dim(f"settings file: {safe(str(path))}{'' if exists else ', which does not exist'}"),
            dim(f"API keys in the environment: {there or 'none'}"),
        ],
    )
