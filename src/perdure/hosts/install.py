"""Perdure into a host's configuration, and out of it: planned as texts first, then written file by file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from errno import EACCES
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

from perdure.bank.editing import decode, file_changes, replace_file
from perdure.errors import Conflict, ExportFailed, SettingsInvalid
from perdure.files import directory, write_private
from perdure.hosts.host import ConfigurationFile, Host, Scope
from perdure.settings import load

Outcome: TypeAlias = Literal["created", "changed", "removed", "unchanged"]

# Hosts that let their user say where their files are.
_MOVED: Final = ((".claude.json", "CLAUDE_CONFIG_DIR"), (".claude/", "CLAUDE_CONFIG_DIR"), (".codex/", "CODEX_HOME"),
                 (".config/", "XDG_CONFIG_HOME"))  # fmt: skip
# Applications whose files are not below ~/.config on macOS.
_ON_MACOS: Final = (".config/Code/", ".config/Claude/")
# Applications start their servers without the shell's PATH.
_WITHOUT_PATH: Final = frozenset({"claude-desktop", "cursor", "vscode", "windsurf"})
_MAX_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """A file, what of Perdure stands in it, and what becomes of it, line by line: what else it says may be secret."""

    path: str
    holds: str
    outcome: Outcome
    diff: str


@dataclass(frozen=True, slots=True)
class Installation:
    """`pending` is what a person still has to do in the host."""

    agent: str
    scope: Scope
    changes: tuple[ConfigurationChange, ...]
    pending: str | None = None


def install(
    host: Host, scope: Scope, project: Path, environ: Mapping[str, str], *, keep: bool = True, dry_run: bool = False
) -> Installation:
    """Put Perdure into the host's files, or without `keep` take it out. All changes are planned before one is made."""
    command = perdure_command(host, environ)
    base = user_files(environ) if scope == "user" else project_files(project)
    places = host.places(scope, base, command, tools=learns_from_tools(environ))
    planned = [_change(place, environ, keep=keep) for place in places]
    if not dry_run:
        for place in places:
            _write(place, environ, keep=keep)
    return Installation(host.name, scope, tuple(planned), host.pending.get(scope) if keep else None)


def learns_from_tools(environ: Mapping[str, str]) -> bool:
    """Settings with a mistake in them choose nothing, and do not keep anybody from installing."""
    try:
        return load(environ).learn_from_tools
    except SettingsInvalid:
        return False


def perdure_command(host: Host, environ: Mapping[str, str]) -> str:
    """How the host calls this program: by its name where the host looks along the same PATH, which stays the same when
    Perdure is upgraded; else by its whole path.
    """
    found = shutil.which("perdure", path=environ.get("PATH"))
    if found and host.name not in _WITHOUT_PATH:
        return "perdure"
    beside = Path(sys.executable).with_name("perdure")
    if found is None and not beside.exists():
        raise Conflict(
            "The command `perdure` is not on your PATH.",
            remedy="Install it with `uv tool install perdure` or `pipx install perdure`, then install again.",
        )
    return found or str(beside)


def plugin_folder() -> Path:
    """The marketplace with the plugin for Claude Code, Codex and Copilot, as it was installed."""
    return Path(__file__).with_name("marketplace")


def user_files(environ: Mapping[str, str]) -> Callable[[str], Path]:
    """Where a file of the user is, by its usual place below the home directory."""
    home = Path(environ.get("HOME") or Path.home())

    def place(usual: str) -> Path:
        if sys.platform == "darwin" and usual.startswith(_ON_MACOS):
            return home / "Library/Application Support" / usual.removeprefix(".config/")
        for prefix, variable in _MOVED:
            if usual.startswith(prefix) and environ.get(variable):
                return Path(environ[variable]) / (usual.removeprefix(prefix) or usual)
        return existing_file(home / usual)

    return place


def project_files(project: Path) -> Callable[[str], Path]:
    return lambda usual: existing_file(project / usual)


def existing_file(path: Path) -> Path:
    """The file with comments, where a person has that one."""
    commented = path.with_suffix(".jsonc")
    return commented if path.suffix == ".json" and commented.exists() and not path.exists() else path


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        remedy = "Make it readable, then install again."
        raise ExportFailed(f"{path} cannot be read: {error.strerror}.", remedy=remedy) from error


def _change(place: ConfigurationFile, environ: Mapping[str, str], *, keep: bool) -> ConfigurationChange:
    before, after = _edited(place, _read(place.path), environ, keep=keep)
    if after == before:
        outcome: Outcome = "unchanged"
    else:
        outcome = "removed" if after is None else "created" if before is None else "changed"
    changed = file_changes([place.path], [(before or "", after or "")])
    return ConfigurationChange(str(place.path), place.about, outcome, "".join(change.diff for change in changed))


def _edited(
    place: ConfigurationFile, content: bytes | None, environ: Mapping[str, str], *, keep: bool
) -> tuple[str | None, str | None]:
    """The text before and after. A file that has not changed since `install` is its backup again."""
    if content is None and not keep:
        return None, None
    try:
        before = None if content is None else decode(content)
        backup = None if keep else _read(_backup(place.path, environ))
        if backup is not None:
            earlier = decode(backup)
            if _in_its_line_ends(earlier, lambda text: place.edit(text, True)) == before:  # noqa: FBT003
                return before, earlier
        return before, _in_its_line_ends(before, lambda text: place.edit(text, keep))
    except ValueError as error:
        remedy = "Save it as UTF-8, then install again."
        raise ExportFailed(f"{place.path} cannot be read: {error}.", remedy=remedy) from error
    except Conflict as error:
        raise Conflict(f"{place.path}: {error.sentence}", remedy=error.advice) from error


def _backup(path: Path, environ: Mapping[str, str]) -> Path:
    """Where the file as it was before Perdure was put into it is kept, until it is taken out again."""
    name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return directory("data", environ) / "installed" / f"{name}.backup"


def _in_its_line_ends(text: str | None, edit: Callable[[str | None], str | None]) -> str | None:
    """The text after an edit that knows one kind of line end; a file from Windows keeps its own."""
    if text is None or "\n" not in text or text.count("\n") != text.count("\r\n"):
        return edit(text)
    edited = edit(text.replace("\r\n", "\n"))
    return edited and edited.replace("\n", "\r\n")


def _write(place: ConfigurationFile, environ: Mapping[str, str], *, keep: bool) -> None:
    """Replace the file in one step; a link stays one. What a host writes at the same time is read again, not lost."""
    target, backup = Path(os.path.realpath(place.path)), _backup(place.path, environ)
    try:
        for _ in range(_MAX_ATTEMPTS):
            content = _read(target)
            before, after = _edited(place, content, environ, keep=keep)
            if after == before:
                return
            if content is not None and after is not None and not os.access(target, os.W_OK):
                # Replacing it would be possible, but its owner made it read-only.
                raise PermissionError(EACCES, os.strerror(EACCES))
            if content is None:
                backup.unlink(missing_ok=True)
            elif keep and _in_its_line_ends(before, lambda text: place.edit(text, False)) == before:  # noqa: FBT003
                write_private(backup, content)
            if after is None:
                target.unlink()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                if not replace_file(target, content, after):
                    continue
            if not keep:
                backup.unlink(missing_ok=True)
            return
    except OSError as error:
        remedy = "Make it writable, then install again."
        raise ExportFailed(f"{place.path} cannot be written: {error.strerror}.", remedy=remedy) from error
    raise Conflict(f"{place.path} changes all the time.", remedy="Close the host, then install again.")
