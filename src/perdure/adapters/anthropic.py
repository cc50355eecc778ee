"""Anthropic's memory tool: the files below `/memories` that Claude keeps, each a memory with its history.

`PerdureMemoryTool` is for the synchronous client, `AsyncPerdureMemoryTool` for the other one. What the tool did can be
undone, its files are found by recall as everything else, and deleting one is soft. Sentences for the model are as the
documentation of the tool gives them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from perdure.adapters.documents import Documents, Moment, name_of, sentence_of, text_of
from perdure.errors import PerdureError, VersionConflict
from perdure.memory import Memory
from perdure.model import Record

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand as Create,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818DeleteCommand as Delete,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818InsertCommand as Insert,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818RenameCommand as Rename,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818StrReplaceCommand as StrReplace,
    )
    from anthropic.types.beta import (
        BetaMemoryTool20250818ViewCommand as View,
    )

KIND: Final = "memories"
ROOT: Final = "/memories"
_MAX_LINES: Final = 999_999
_NUMBER_WIDTH: Final = 6
_SHOWN_DEPTH: Final = 2
_LINES_AROUND: Final = 2
_UNITS: Final = "BKMG"
_RANGE: Final = 2

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class MemoryFiles:
    """The files below `/memories` in a memory, and what each command does to them."""

    def __init__(self, memory: Memory, known_at: Moment = None) -> None:
        self._documents = Documents(memory, KIND, "memory-tool", known_at)

    def files(self) -> dict[str, str]:
        """Every file by its path."""
        return {name_of(record): text_of(record) for record in self._documents.under(ROOT)}

    def view(self, command: View) -> str:
        path = _checked(command.path)
        file = None if path == ROOT else self._documents.get(path)
        if file is None:
            return self._listing(path, command.path)
        lines = text_of(file).split("\n")
        if len(lines) > _MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == _RANGE:
            first = max(1, command.view_range[0])
            last = last if command.view_range[1] == -1 else command.view_range[1]
        shown = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def create(self, command: Create) -> str:
        path = _checked(command.path)
        if path == ROOT or self._is_folder(path) or self._is_below_a_file(path):
            raise ToolError(f"File {command.path} already exists")
        try:
            self._write(path, command.file_text, 0)
        except VersionConflict as error:
            raise ToolError(f"File {command.path} already exists") from error
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: StrReplace) -> str:
        path, file, content = self._opened(command.path)
        old = command.old_str
        starts = [at for at in range(len(content)) if content.startswith(old, at)] if old in content else []
        if not starts:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        numbers = [content.count("\n", 0, start) + 1 for start in starts]
        if content.count(old) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, numbers))}. Please ensure it is unique"
            )
        changed = content.replace(old, command.new_str)
        self._write(path, changed, file.version)
        lines, at = changed.split("\n"), numbers[0] - 1
        begin = max(0, at - _LINES_AROUND)
        shown = _numbered(lines[begin : at + _LINES_AROUND + 1], begin + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, command: Insert) -> str:
        path, file, content = self._opened(command.path)
        lines = content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        self._write(path, changed if changed.endswith("\n") else f"{changed}\n", file.version)
        return f"The file {command.path} has been edited."

    def delete(self, command: Delete) -> str:
        path = _checked(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        self._documents.remove(*(self._below(path) or _missing(command.path)))
        return f"Successfully deleted {command.path}"

    def rename(self, command: Rename) -> str:
        old, new = _checked(command.old_path), _checked(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == ROOT or self._below(new) or self._is_below_a_file(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        moved = self._below(old) or _missing(command.old_path)
        with self._documents.memory.batch():
            for record in moved:
                self._write(new + name_of(record).removeprefix(old), text_of(record), 0)
            self._documents.remove(*moved)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        self._documents.remove(*self._documents.under(ROOT))
        return "All memory cleared"

    def _opened(self, shown: str) -> tuple[str, Record, str]:
        path = _checked(shown)
        file = None if path == ROOT else self._documents.get(path)
        if file is None:
            if path == ROOT or self._is_folder(path):
                raise ToolError(f"The path {shown} is not a file.")
            raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")
        return path, file, text_of(file)

    def _write(self, path: str, text: str, expected_version: int) -> None:
        parts = path.split("/")
        folders = ["/".join(parts[:depth]) for depth in range(2, len(parts))]
        self._documents.put(path, text, folders, {}, expected_version=expected_version)

    def _is_folder(self, path: str) -> bool:
        return next(self._documents.under(path), None) is not None

    def _is_below_a_file(self, path: str) -> bool:
        parts = path.split("/")
        return any(self._documents.get("/".join(parts[:depth])) for depth in range(3, len(parts)))

    def _below(self, path: str) -> list[Record]:
        """The file of this path, or the files of this folder."""
        file = self._documents.get(path)
        return [file] if file else list(self._documents.under(path))

    def _listing(self, path: str, shown: str) -> str:
        sizes = {name_of(record): len(text_of(record).encode()) for record in self._documents.under(path)}
        if not sizes and path != ROOT:
            raise ToolError(f"The path {shown} does not exist. Please provide a valid path.")
        entries: dict[tuple[str, ...], int] = {}
        for name, size in sizes.items():
            parts = tuple(name.removeprefix(f"{path}/").split("/"))
            if any(part.startswith(".") for part in parts[:_SHOWN_DEPTH]):
                continue
            for depth in range(1, min(len(parts), _SHOWN_DEPTH) + 1):
                # A folder is shown with what its files take together.
                entry = parts[:depth] if depth == len(parts) else (*parts[:depth], "")
                entries[entry] = entries.get(entry, 0) + size
        lines = [f"{_size(sum(sizes.values()))}\t{shown}"]
        lines += [f"{_size(size)}\t{shown}/{'/'.join(entry)}" for entry, size in sorted(entries.items())]
        header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
        return "\n".join((header, *lines))


def _checked(path: str) -> str:
    """The path in the one form that it is kept in."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    parts: list[str] = []
    for part in path.removeprefix(ROOT).split("/"):
        if part == "..":
            if not parts:
                raise ToolError(f"Path {path} would escape /memories directory")
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join((ROOT, *parts))


def _missing(shown: str) -> NoReturn:
    raise ToolError(f"The path {shown} does not exist")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    unit = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    value = size / 1024**unit
    return f"{value:.0f}{_UNITS[unit]}" if value == int(value) else f"{value:.1f}{_UNITS[unit]}"


def _told(command: Callable[Arguments, str]) -> Callable[Arguments, str]:
    """The model sees a refusal of the memory as an error of the tool."""

    @wraps(command)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> str:
        try:
            return command(*arguments, **named)
        except VersionConflict as error:
            raise ToolError("The file was changed meanwhile. View it again, and repeat the command.") from error
        except PerdureError as error:
            raise ToolError(sentence_of(error)) from error

    return call


class PerdureMemoryTool(BetaAbstractMemoryTool):
    """The memory tool on a `Memory`, which is the attribute `perdure`: `tool.perdure.undo(session=…)`. With `known_at`
    the files are what they were at that time, for reading alone.
    """

    def __init__(self, memory: Memory, *, known_at: Moment = None, **named: Any) -> None:
        super().__init__(**named)
        self.perdure = memory
        self.files = MemoryFiles(memory, known_at)

    def view(self, command: View) -> str:
        return _told(self.files.view)(command)

    def create(self, command: Create) -> str:
        return _told(self.files.create)(command)

    def str_replace(self, command: StrReplace) -> str:
        return _told(self.files.str_replace)(command)

    def insert(self, command: Insert) -> str:
        return _told(self.files.insert)(command)

    def delete(self, command: Delete) -> str:
        return _told(self.files.delete)(command)

    def rename(self, command: Rename) -> str:
        return _told(self.files.rename)(command)

    def clear_all_memory(self) -> str:
        return _told(self.files.clear_all_memory)()


class AsyncPerdureMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client: each command runs in a worker thread."""

    def __init__(self, memory: Memory, *, known_at: Moment = None, **named: Any) -> None:
        super().__init__(**named)
        self.perdure = memory
        self.files = MemoryFiles(memory, known_at)

    async def view(self, command: View) -> str:
        return await asyncio.to_thread(_told(self.files.view), command)

    async def create(self, command: Create) -> str:
        return await asyncio.to_thread(_told(self.files.create), command)

    async def str_replace(self, command: StrReplace) -> str:
        return await asyncio.to_thread(_told(self.files.str_replace), command)

    async def insert(self, command: Insert) -> str:
        return await asyncio.to_thread(_told(self.files.insert), command)

    async def delete(self, command: Delete) -> str:
        return await asyncio.to_thread(_told(self.files.delete), command)

    async def rename(self, command: Rename) -> str:
        return await asyncio.to_thread(_told(self.files.rename), command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(_told(self.files.clear_all_memory))
