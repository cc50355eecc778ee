"""What is kept of the tools of a session, if the setting `learn_from_tools` asks for it: which files were changed,
which commands failed, and which ones worked instead.

All of it is bounded and without secrets, and stands in the session's own small file. Of what a command wrote the last
line of a failure is kept. A command that works mends one that failed if both run the same program and no file was
changed between them: after a change, nobody knows which of the two helped.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from perdure.learn.tool_fixes import CommandFix, text_of_fixes
from perdure.session.capture import cut, redacted
from perdure.session.state import read_session, session_state
from perdure.values import field, field_values, value_class

if TYPE_CHECKING:
    from perdure.settings import Settings

MAX_FILES: Final = 50
MAX_FAILED: Final = 20
MAX_FIXES: Final = 3
MAX_COMMAND: Final = 200
MAX_ERROR: Final = 160
_MAX_COMMAND_READ: Final = 2_000
_MAX_ERROR_READ: Final = 4_000
_EDITS: Final = frozenset(("Edit", "MultiEdit", "NotebookEdit", "Write"))
_REDACTED: Final = "[REDACTED"
# Before the command itself: where it is run, and variables that are set for it.
_IN_FOLDER: Final = re.compile(r"^cd [^;&|]+ && ")
_BOTH_STREAMS: Final = re.compile(r"\s*2>&1$")
_VARIABLE: Final = re.compile(r"\w+=")
_RUNNERS: Final = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("bundle", "exec"), ("pnpm", "exec"),
    ("python", "-m"), ("python3", "-m"), ("npx",),
)  # fmt: skip
# That they fail is an answer to a question.
_ASKS: Final = frozenset(
    ("cat", "cd", "cmp", "curl", "diff", "echo", "find", "grep", "head", "kill", "ls", "pgrep", "rg", "sleep", "stat",
     "tail", "test", "wc", "which")
)  # fmt: skip
# That they fail says something of the code: they mend nothing by looking at less of it.
_JUDGES_CODE: Final = frozenset(
    ("bun", "cargo", "ctest", "deno", "dotnet", "eslint", "go", "gradle", "gradlew", "jest", "make", "mocha", "mvn",
     "mypy", "node", "nox", "npm", "phpunit", "pnpm", "prettier", "pyright", "pytest", "python", "python3", "rake",
     "rspec", "ruff", "tox", "tsc", "vitest", "yarn")
)  # fmt: skip
# Whoever leaves a check out has not mended what it found.
_BYPASSES: Final = re.compile(
    r"-f|--(?:no-|force|skip|ignore|allow|break|exclude|deselect|dry-run|collect-only|help|version).*"
)
_EXIT_CODE: Final = re.compile(r"(?:Error: )?Exit code (\d+)", re.IGNORECASE)


class ToolOutcome(NamedTuple):
    failed: bool
    output: str = ""


@value_class(frozen=False)
class ToolUse:
    """`files` are relative to the project. Of a failed command the last line of what it wrote is known, and whether it
    is still `open`. `told` counts the fixes that stand in the conversation of the session.
    """

    files: list[str] = field(default_factory=list[str])
    failed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    fixes: list[list[str]] = field(default_factory=list[list[str]])
    told: int = 0

    def touch(self, file: str | None) -> None:
        """None is a file of which nothing is kept. What works from now on may work because of the change."""
        if file is not None:
            self.files = [*(one for one in self.files if one != file), file][-MAX_FILES:]
        for one in self.failed:
            one["open"] = False

    def fail(self, command: str, error: str) -> None:
        others = [one for one in self.failed if one["command"] != command]
        self.failed = [*others, {"command": command, "error": error, "open": True}][-MAX_FAILED:]

    def succeed(self, command: str) -> None:
        """The latest failure that this command mends, if there is one; the same command that works after all mends
        itself, and teaches nothing.
        """
        for one in reversed(self.failed):
            if one["open"] and one["command"] == command:
                one["open"] = False
            elif one["open"] and is_fix(one["command"], command):
                fix = [one["command"], one["error"], command]
                is_known = any((known[0], known[2]) == (fix[0], fix[2]) for known in self.fixes)
                if len(self.fixes) < MAX_FIXES and not is_known:
                    self.fixes.append(fix)
                one["open"] = False
                return


def note_tool(session: str, event: str, fields: Mapping[str, Any], project: Path, settings: Settings) -> None:
    """What a host tells after a tool was used, by the event of this name. Tools that neither run a command nor
    change a file are left alone.
    """
    given: Any = fields.get("tool_input")
    outcome = outcome_of(event, fields)
    if not isinstance(given, Mapping) or outcome is None:
        return
    asked = cast("Mapping[str, object]", given)
    name, use = fields.get("tool_name"), fields.get("tool_use_id")
    command = known_command(asked.get("command"), project, settings) if name == "Bash" else None
    is_edit = name in _EDITS and not outcome.failed
    if command is None and not is_edit:
        return
    with session_state(session) as state:
        if isinstance(use, str) and use and not state.is_first(f"tool {use[:100]}", unique=True):
            return
        tools = read_tools(state.tools)
        if is_edit:
            tools.touch(known_file(asked.get("file_path") or asked.get("notebook_path"), project, settings))
        elif command is not None and outcome.failed:
            tools.fail(command, last_line(outcome.output, settings))
        elif command is not None:
            tools.succeed(command)
        state.tools = field_values(tools)


def outcome_of(event: str, fields: Mapping[str, Any]) -> ToolOutcome | None:
    """Whether a tool failed, and what it wrote. None of one that was stopped, or goes on in the background."""
    response = fields.get("tool_response", "")
    if event.lower().endswith("failure"):
        return None if fields.get("is_interrupt") else ToolOutcome(failed=True, output=str(fields.get("error") or ""))
    if isinstance(response, str):
        try:
            parsed: object = json.loads(response)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            code = _EXIT_CODE.match(response)
            return ToolOutcome(code is not None and int(code[1]) != 0, response)
        response = cast("dict[str, Any]", parsed)
    if not isinstance(response, Mapping):
        return ToolOutcome(failed=False)
    told = cast("Mapping[str, Any]", response)
    if told.get("interrupted") or told.get("backgroundTaskId"):
        return None
    codes = (told.get(name) for name in ("exit_code", "exitCode", "is_error", "isError"))
    output = next((told[name] for name in ("stderr", "error", "stdout", "output") if told.get(name)), "")
    return ToolOutcome(any(bool(code) for code in codes), str(output))


def known_command(command: object, project: Path, settings: Settings) -> str | None:
    """A command as it is kept: one line, without secrets and without where the project is. None if it is too long."""
    if not isinstance(command, str) or len(command) > _MAX_COMMAND_READ:
        return None
    text = _BOTH_STREAMS.sub("", _IN_FOLDER.sub("", command.strip(), count=1)).replace(f"{project}{os.sep}", "")
    if not text or len(text) > MAX_COMMAND or not text.isprintable():
        return None
    return redacted(settings, text)


def known_file(path: object, project: Path, settings: Settings) -> str | None:
    """Relative to the project; None of a file that is not in it."""
    if not isinstance(path, str) or not path.isprintable():
        return None
    root, file = os.path.realpath(project), os.path.realpath(project / path)
    if not PurePath(file).is_relative_to(root) or file == root:
        return None
    return cut(redacted(settings, PurePath(file).relative_to(root).as_posix()), MAX_COMMAND)


def last_line(output: str, settings: Settings) -> str:
    """Secrets are looked for in more than the line: some have several."""
    text = redacted(settings, output[-_MAX_ERROR_READ:].encode("utf-8", "replace").decode())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = "".join(letter if letter.isprintable() else " " for letter in lines[-1]) if lines else ""
    return "" if _EXIT_CODE.fullmatch(told) else cut(told, MAX_ERROR)


def is_fix(failed: str, worked: str) -> bool:
    """Whether the second command does what the first one tried: it runs the same program on at least the same things,
    and leaves no check out.
    """
    before, after = words_of(failed), words_of(worked)
    if before is None or after is None or _REDACTED in failed + worked:
        return False
    program, wanted = before[0], Counter(word for word in before[1:] if not word.startswith("-"))
    if program != after[0] or program in _ASKS:
        return False
    given = Counter(word for word in after[1:] if not word.startswith("-"))
    is_same = given == wanted if program in _JUDGES_CODE else wanted <= given
    return is_same and not any(_BYPASSES.fullmatch(word) for word in after if word not in before)


def words_of(command: str) -> list[str] | None:
    """The program without its folder, and its arguments, whoever runs it. None of several commands at once: nobody
    knows which of them failed.
    """
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return None
    if not words or any(set(word) <= set("();<>|&") for word in words) or "`" in command or "$(" in command:
        return None
    while words and _VARIABLE.match(words[0]):
        words.pop(0)
    for runner in _RUNNERS:
        if len(words) > len(runner) and (PurePath(words[0]).name, *words[1 : len(runner)]) == runner:
            words = words[len(runner) :]
            break
    return [PurePath(words[0]).name, *words[1:]] if words else None


def untold_fixes(session: str) -> str:
    """What the conversation of a session has to be told of its tools; from now on it was told."""
    with session_state(session) as state:
        tools = read_tools(state.tools)
        untold = [CommandFix(*fix) for fix in tools.fixes[tools.told :]]
        tools.told = len(tools.fixes)
        state.tools = field_values(tools) if state.tools else {}
    return text_of_fixes(untold)


def tool_use_of(session: str) -> ToolUse:
    """What is kept of a session's tools."""
    return read_tools(read_session(session).tools)


def discard_tool_use(session: str) -> None:
    if read_session(session).tools:
        with session_state(session) as state:
            state.tools = {}


def read_tools(values: Mapping[str, Any]) -> ToolUse:
    """Where somebody else has written into the file, nothing is known."""
    try:
        failed = [{"command": str(one["command"]), "error": str(one["error"]), "open": bool(one["open"])}
                  for one in values.get("failed", ())]  # fmt: skip
        fixes = [list(map(str, CommandFix(*fix))) for fix in values.get("fixes", ())]
        return ToolUse(list(map(str, values.get("files", ()))), failed, fixes, int(values.get("told", 0)))
    except (TypeError, ValueError, KeyError):
        return ToolUse()
