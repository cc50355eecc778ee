"""Changes of a host's configuration files, as pure functions from a text to a text.

What a person wrote stays: an entry that is not ours is never changed, and neither are comments and spacing. A file that
cannot be changed without losing something of it is refused with the lines to paste.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import PurePath
from typing import Any, Final, TypeAlias, cast

from perdure.errors import Conflict
from perdure.hosts.json_text import changed_json
from perdure.text.jsonc import parse_jsonc, without_comments

Json: TypeAlias = dict[str, Any]

NAME: Final = "perdure"
_BEGIN: Final = "# perdure install: begin"
_END: Final = "# perdure install: end"
_MARKED: Final = re.compile(rf"^(?P<indent>[ ]*){_BEGIN}\n.*?^[ ]*{_END}\n", re.MULTILINE | re.DOTALL)
# With the empty line that we put before it.
_MARKED_TOML: Final = re.compile(rf"(?:(?<=\n)\n)?{_MARKED.pattern}", _MARKED.flags)
_YAML_LIST: Final = re.compile(r"^mcpServers:[ ]*\n(?P<indent>[ ]*)(?=- )", re.MULTILINE)
_YAML_KEY: Final = re.compile(r"^mcpServers:", re.MULTILINE)


def is_ours(command: object, arguments: object = None) -> bool:
    """Whether a command line, as one text or as a program and its arguments, is `perdure mcp` or `perdure hook`."""
    if not isinstance(command, str):
        return False
    if isinstance(arguments, list) and arguments:
        words: list[object] = [command, *cast("list[object]", arguments)]
    else:
        try:
            words = [*shlex.split(command)]
        except ValueError:  # a quote that is never closed
            return False
    return len(words) > 1 and PurePath(str(words[0])).name == NAME and words[1] in {"mcp", "hook"}


def edit_json(given: str | None, change: Callable[[Json], None], remedy: str) -> str | None:
    """The text of a JSON file after a change; None when nothing is left of it. Comments stay, and how it is written."""
    text = given or ""
    before = _json(text, remedy)
    content = deepcopy(before)
    change(content)
    if content == before:
        return given
    if not text.strip():
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    edited = changed_json(text, before, content)
    if _json(edited, remedy) != content:
        raise Conflict("The file is written in a form that we leave alone.", remedy=remedy)
    return edited if content or without_comments(edited) != edited else None


def _json(text: str, remedy: str) -> Json:
    try:
        parsed: object = parse_jsonc(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Conflict(f"The file is not valid JSON: {error}.", remedy=remedy) from error
    if not isinstance(parsed, dict):
        raise Conflict("The file is not a JSON object.", remedy=remedy)
    return cast("Json", parsed)


def put_server(section: str, entry: Json) -> Callable[[Json], None]:
    """Name `perdure` in a table of servers, unless a person has put it there in another form."""

    def change(content: Json) -> None:
        servers = _table(content, section)
        there = servers.get(NAME)
        if there is None or _is_as_installed(there, entry):
            servers[NAME] = entry
        elif not _runs_perdure(there):
            raise Conflict(
                f"A server named {NAME} is there already, and it is not ours.",
                remedy=f"Rename it, or add ours under another name: {json.dumps(entry)}",
            )

    return change


def drop_server(section: str, entry: Json) -> Callable[[Json], None]:
    """Take `perdure` out again, if it is as we put it there, and the table with it if nothing is left of that."""

    def change(content: Json) -> None:
        servers = content.get(section)
        if isinstance(servers, dict) and _is_as_installed(cast("Json", servers).get(NAME), entry):
            del servers[NAME]
            if not servers:
                del content[section]

    return change


def put_hooks(hooks: Mapping[str, Sequence[Json]]) -> Callable[[Json], None]:
    """Our hooks behind those that are there; ours of an earlier version are replaced where they stand."""

    def change(content: Json) -> None:
        events = _table(content, "hooks")
        for event, groups in hooks.items():
            there = events.setdefault(event, [])
            if not isinstance(there, list):
                raise Conflict(f"hooks.{event} is not a list.", remedy="Correct it, then install again.")
            others = _without_ours(cast("list[Any]", there))
            if [group for group in cast("list[Any]", there) if _is_our_group(group)] != list(groups):
                events[event] = [*others, *groups]
        _drop_stale(events, hooks)

    return change


def drop_hooks(content: Json) -> None:
    """Take our hooks out again."""
    events = content.get("hooks")
    if isinstance(events, dict) and events:
        _drop_stale(cast("Json", events), {})
        if not events:
            del content["hooks"]


def _drop_stale(events: Json, wanted: Mapping[str, object]) -> None:
    """Take our hooks away from events that have none now."""
    for event in [event for event in events if event not in wanted and isinstance(events[event], list)]:
        kept = _without_ours(events[event])
        if kept or not events[event]:
            events[event] = kept
        else:
            del events[event]


def _without_ours(groups: list[Any]) -> list[Any]:
    """The groups of others; one to which a person added a hook of their own stays without ours."""
    kept: list[Any] = []
    for group in groups:
        if _is_our_group(group):
            continue
        listed: object = cast("Json", group).get("hooks") if isinstance(group, dict) else None
        if isinstance(listed, list) and any(map(_is_our_hook, cast("list[object]", listed))):
            theirs = [hook for hook in cast("list[object]", listed) if not _is_our_hook(hook)]
            kept.append({**cast("Json", group), "hooks": theirs})
        else:
            kept.append(group)
    return kept


def _is_our_group(group: object) -> bool:
    """Whether a group of hooks holds nothing but ours. Copilot has no groups: there the hook stands alone."""
    if not isinstance(group, dict):
        return False
    listed: object = cast("Json", group).get("hooks", [group])
    hooks = cast("list[object]", listed) if isinstance(listed, list) else []
    return bool(hooks) and all(map(_is_our_hook, hooks))


def _is_our_hook(hook: object) -> bool:
    if not isinstance(hook, dict):
        return False
    given = cast("Json", hook)
    if given.get("type") == "mcp_tool":
        return given.get("server") == NAME and given.get("tool") == "hook"
    return is_ours(given.get("command") or given.get("bash"))


def _runs_perdure(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    command, arguments = (cast("Json", entry).get(name) for name in ("command", "args"))
    words: list[object] = cast("list[object]", command) if isinstance(command, list) else [command]
    more = cast("list[object]", arguments) if isinstance(arguments, list) else []
    return bool(words) and is_ours(words[0], [*words[1:], *more])


def _is_as_installed(there: object, entry: Json) -> bool:
    """Whether an entry is what an installer of ours wrote, be it with another path of the program."""
    if not _runs_perdure(there):
        return False
    return {**cast("Json", there), "command": None} == {**entry, "command": None}


def _table(content: Json, section: str) -> Json:
    table = content.setdefault(section, {})
    if not isinstance(table, dict):
        raise Conflict(f"{section} is not a table.", remedy="Correct it, then install again.")
    return cast("Json", table)


def edit_toml(text: str | None, block: str | None) -> str | None:
    """The text of a TOML file with our marked block at its end, or without it; None when nothing is left of it."""
    rest = _MARKED_TOML.sub("", text or "")
    if block is None:
        return text if rest == (text or "") else rest if rest.strip() else None
    if NAME in _toml(rest).get("mcp_servers", {}):
        return text
    own = f"{_BEGIN}\n{block}{_END}\n"
    if text and own in text and NAME in _toml(text).get("mcp_servers", {}):
        # Hosts and people write tables behind it, which moves nothing.
        return text
    joint = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    edited = f"{rest}{joint}{own}"
    try:
        tomllib.loads(edited)
    except ValueError as error:
        raise Conflict(f"Our lines do not fit into it: {error}.", remedy=f"Add them yourself: {block}") from error
    return edited


def _toml(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise Conflict(f"The file is not valid TOML: {error}.", remedy="Correct it, then install again.") from error


def edit_yaml(text: str | None, item: str | None, head: str) -> str | None:
    """The text of a YAML file with our item in its list `mcpServers`, or without it; `head` begins a new file."""
    rest = _MARKED.sub("", text or "")
    if item is not None and text and (marked := _MARKED.search(text)):
        return text[: marked.start()] + _marked(item, marked["indent"]) + text[marked.end() :]
    if item is None:
        if not text or rest == text:
            return text
        left = re.sub(r"^mcpServers:[ ]*\n(?=[^\s-]|\Z)", "", rest, flags=re.MULTILINE)
        return None if left.strip() in {"", head.strip()} else left
    if re.search(rf"^\s*- name: {NAME}\s*$", rest, re.MULTILINE):
        return text
    if listed := _YAML_LIST.search(rest):
        return rest[: listed.start("indent")] + _marked(item, listed["indent"]) + rest[listed.start("indent") :]
    if _YAML_KEY.search(rest):
        raise Conflict("mcpServers is written in a form that we leave alone.", remedy=f"Add this to it: {item}")
    begin = rest or head
    return f"{begin}{'' if begin.endswith(chr(10)) else chr(10)}mcpServers:\n{_marked(item, '  ')}"


def _marked(item: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in (_BEGIN, *item.splitlines(), _END))
