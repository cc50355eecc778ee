"""What to do about an error, as a value: sentences, and in them commands and options that each reader calls otherwise.
`Run("restore", 7)` is `perdure restore 7` on the command line, `memory.restore(7)` in Python, a tool for a model,
and `POST /v1/memories/7/restore` over HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast, get_args

Words: TypeAlias = Literal["cli", "python", "mcp", "http"]
READERS: Final[tuple[Words, ...]] = get_args(Words)

# Commands that are called otherwise in Python; all others have the name of their verb.
_VERBS: Final[Mapping[str, str]] = {
    "show": "get", "import": "import_", "restore-backup": "restore_backup", "checkpoint list": "checkpoints",
    "checkpoint delete": "delete_checkpoint",
}  # fmt: skip
# Commands that are not verbs of a memory: the operator runs them.
_NO_VERB: Final = frozenset(
    "bank config copy install mcp migrate namespaces retro serve session token uninstall".split()
)
# Verbs that say something without an argument.
_NO_ARGUMENT: Final = frozenset("doctor egress list log parked review work checkpoints".split())
_TOOLS: Final[Mapping[str, str]] = {
    "checkpoint delete": "checkpoint_delete", "checkpoint list": "checkpoint_list",
    "forget": "forget", "list": "recall", "recall": "recall", "remember": "remember", "show": "recall_detail",
    "update": "memory_update",
}  # fmt: skip
# Options that are no arguments of a verb.
_PLACES: Final[Mapping[tuple[str, str], str]] = {
    ("python", "store"): "Memory(path)",
    ("python", "namespace"): "memory.namespace(…)",
    ("http", "namespace"): "?namespace=",
}
_PERSON: Final[Mapping[str, str]] = {
    "mcp": "A person can run that command.",
    "http": "The server's operator can run that command.",
}


class Run:
    """A command with its arguments: numbers, ids, names in capitals that stand for something; and its options."""

    __slots__ = ("arguments", "name", "options")

    def __init__(self, name: str, *arguments: object, **options: Any) -> None:
        self.name, self.arguments, self.options = name, arguments, options

    def told(self, reader: Words) -> str | None:
        """In the words of the reader; None where they have none for it."""
        if reader == "cli":
            return " ".join(("perdure", self.name, *map(str, self.arguments), *self._flags()))
        if self.name.partition(" ")[0] in _NO_VERB:
            return None
        if reader == "python":
            return self._call()
        if reader == "mcp":
            tool = None if self.options else _TOOLS.get(self.name)
            return tool and " ".join((tool, *map(str, self.arguments)))
        return self._route()

    def _flags(self) -> list[str]:
        flags: list[str] = []
        for name, value in self.options.items():
            option = f"--{name.replace('_', '-')}"
            flags += [option] if value is True else [f"{option} {each}" for each in _several(value)]
        return flags

    def _call(self) -> str:
        options = dict(self.options)
        memory = f"Memory({_literal(options.pop('store'))})" if "store" in options else "memory"
        verb = _VERBS.get(self.name, self.name)
        told = [_literal(each) for each in self.arguments]
        told += [f"{name}={_literal(value)}" for name, value in options.items()]
        return f"{memory}.{verb}({', '.join(told) or ('' if verb in _NO_ARGUMENT else '…')})"

    def _route(self) -> str | None:
        from perdure.operations import ROWS

        verb = _VERBS.get(self.name, self.name)
        if verb == "forget":
            return f"DELETE /v1/memories/{_first(self.arguments)}"
        # What is about one memory has its address; else the way to ask that needs no body is the shortest to say.
        ways = sorted((not row.places, row.method != "GET", row.method, row.path) for row in ROWS if row.verb == verb)
        if not ways:
            return None
        _, _, method, path = ways[0]
        return f"{method} {re.sub('{[^}]*}', _first(self.arguments), path, count=1)}"


class Flag:
    """An option of the command that failed."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def told(self, reader: Words) -> str:
        if reader == "cli" or (self.name == "store" and reader != "python"):
            return f"--{self.name.replace('_', '-')}"
        plain = f"{self.name}=True" if reader == "python" else self.name
        return f"`{_PLACES.get((reader, self.name), plain)}`"


class Remedy:
    """Texts, commands and options, in their order. A reader for whom other words are needed is told those."""

    __slots__ = ("others", "parts")

    def __init__(self, *parts: str | Run | Flag, **others: str) -> None:
        self.parts, self.others = parts, others

    def told(self, reader: Words) -> str:
        if reader in self.others:
            return self.others[reader]
        words, for_a_person = list[str](), False
        for place, part in enumerate(self.parts):
            if isinstance(part, Run):
                own = part.told(reader)
                for_a_person |= own is None and part.name not in {"mcp", "serve"}
                # A command at the end stands alone, to be copied.
                is_alone = reader == "cli" and words and words[-1].endswith(": ") and place == len(self.parts) - 1
                told = own or part.told("cli")
                words.append(f"{told}" if is_alone else f"`{told}`")
            else:
                words.append(part if isinstance(part, str) else part.told(reader))
        text = "".join(words)
        if for_a_person and reader in _PERSON and "person" not in text:
            text = f"{text}{'' if text.endswith('.') else '.'} {_PERSON[reader]}"
        return text


def _first(arguments: tuple[object, ...]) -> str:
    return str(arguments[0]) if arguments else "{ref}"


def _literal(value: object) -> str:
    """A name in capitals stands for something; all else is what it is."""
    return value if isinstance(value, str) and value.isupper() else repr(value)


def _several(value: object) -> list[object]:
    return [*cast("list[object]", value)] if isinstance(value, list) else [value]
