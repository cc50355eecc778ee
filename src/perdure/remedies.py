"""Remedies in the words of whoever reads them.

A remedy is written once, in the words of the command line: `perdure restore 7`, `--force`. Python, the tools of a model
and the HTTP API call the same things by names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

Words: TypeAlias = Literal["cli", "python", "mcp", "http"]

# A command with its arguments: numbers, ids, names in capitals, options, and the values of some of these.
_WITH_VALUE: Final = ("--tier", "--trust", "--store", "--related", "--erased", "--scope")
_VALUED: Final = rf"(?:{'|'.join(_WITH_VALUE)}) [\w./~-]*[\w/~-]"
_ARGUMENT: Final = rf"{_VALUED}|--[a-z-]+|[0-9a-f]{{8}}(?:-[0-9a-f]{{4,12}}){{4}}|\d+\b|[A-Z]{{2,}}\b"
_NAME: Final = "config unset [a-z_]+|(?:bank|checkpoint|config|session|token) [a-z]+|[a-z][a-z-]*"
_COMMAND: Final = re.compile(rf"`?\bperdure (?P<name>{_NAME})(?P<arguments>(?: (?:{_ARGUMENT}))*)`?")
# Options that are arguments in Python and in a request, too. Others are those of a server, which its person starts.
_OPTION: Final = re.compile(r"--(?:force|overwrite|revive|expected-version|namespace|store)(?![\w-])")
_SERVERS: Final = ("mcp", "serve")
_PLACES: Final[Mapping[tuple[Words, str], str]] = {
    ("python", "--store"): "`Memory(path)`",
    ("python", "--namespace"): "`memory.namespace(…)`",
    ("http", "--namespace"): "`?namespace=`",
}

# What a command is called elsewhere; one that is missing has no other name there.
_METHODS: Final[Mapping[str, str]] = {
    "show": "get", "import": "import_", "restore-backup": "restore_backup", "checkpoint list": "checkpoints",
    "checkpoint delete": "delete_checkpoint",
} | {name: name for name in (
    "backup", "doctor", "egress", "erase", "export", "forget", "history", "list", "log", "parked", "promote", "recall",
    "remember", "restore", "review", "undo", "update", "work",
)}  # fmt: skip
_TOOLS: Final[Mapping[str, str]] = {
    "checkpoint delete": "checkpoint_delete", "checkpoint list": "checkpoint_list",
    "forget": "forget", "list": "recall", "recall": "recall", "remember": "remember", "show": "recall_detail",
    "update": "memory_update",
}  # fmt: skip
_ROUTES: Final[Mapping[str, str]] = {
    "checkpoint delete": "DELETE /v1/checkpoints/{}", "checkpoint list": "GET /v1/checkpoints",
    "egress": "GET /v1/egress", "erase": "POST /v1/erase", "forget": "DELETE /v1/memories/{}",
    "history": "GET /v1/memories/{}/history",
    "list": "GET /v1/memories", "log": "GET /v1/log", "parked": "GET /v1/parked",
    "promote": "POST /v1/memories/{}/promote", "recall": "POST /v1/recall", "remember": "POST /v1/memories",
    "restore": "POST /v1/memories/{}/restore", "review": "GET /v1/review", "show": "GET /v1/memories/{}",
    "undo": "POST /v1/undo", "update": "PATCH /v1/memories/{}", "work": "POST /v1/work",
}  # fmt: skip
_NO_ARGUMENT: Final = frozenset({"doctor", "egress", "list", "log", "parked", "review", "work", "checkpoint list"})
# Where a remedy speaks of the surroundings of the command line, and not of a command.
_OWN: Final[Mapping[Words, Mapping[str, str]]] = {
    "python": {
        "store_missing": "Check the path, or leave out create=False to make a store there.",
        "unauthenticated": "Give one as `Memory(token=…)`, or put it into PERDURE_TOKEN; `perdure token create`, where "
        "the server runs, makes one.",
    },
    "http": {
        "unauthenticated": "Send one as `Authorization: Bearer TOKEN`; `perdure token create` makes one. Whoever runs "
        "the server can run that command.",
    },
    "mcp": {
        "not_found": "Look for it with recall; its number is behind the #.",
        "conflict": "Look at it with recall_detail, then decide.",
        "bad_reference": "Give the number of the memory, as recall shows it behind the #.",
    },
}
_PERSON: Final[Mapping[Words, str]] = {
    "mcp": "A person can run that command.",
    "http": "Whoever runs the server can run that command.",
}


def in_words_of(reader: Words, remedy: str, *, code: str = "", is_default: bool = False) -> str:
    """The remedy of an error with this `code`; `is_default`: it is the one of its class."""
    own = _OWN.get(reader, {}) if is_default else {}
    if reader == "cli" or code in own:
        return own.get(code, remedy)
    rewrite = {"python": as_call, "mcp": as_tool, "http": as_route}[reader]
    for_a_person = False

    def command(found: re.Match[str]) -> str:
        nonlocal for_a_person
        told = rewrite(found["name"], found["arguments"].split())
        for_a_person |= told is None and found["name"] not in _SERVERS
        return f"`perdure {found['name']}{found['arguments']}`" if told is None else f"`{told}`"

    def option(found: re.Match[str]) -> str:
        name = found[0]
        if name in {"--store", "--namespace"}:
            return _PLACES.get((reader, name), name)
        return f"`{_keyword(name) if reader == 'python' else name.removeprefix('--').replace('-', '_')}`"

    # Options of a command are part of it; those that are left stand alone.
    parts = re.split(r"(`[^`]*`)", _COMMAND.sub(command, remedy))
    told = "".join(part if part.startswith("`") else _OPTION.sub(option, part) for part in parts)
    if for_a_person and reader in _PERSON and "person" not in told:
        told = f"{told}{'' if told.endswith('.') else '.'} {_PERSON[reader]}"
    return told


def as_call(name: str, arguments: Sequence[str]) -> str | None:
    if name not in _METHODS:
        return None
    memory, told = "memory", list[str]()
    words = iter(arguments)
    for word in words:
        if word == "--store":
            memory = f"Memory({_literal(next(words, 'PATH'))})"
        elif word.startswith("--"):
            told.append(_keyword(word, next(words, None) if word in _WITH_VALUE else None))
        else:
            told.append(_literal(word))
    return f"{memory}.{_METHODS[name]}({', '.join(told) or ('' if name in _NO_ARGUMENT else '…')})"


def _literal(word: str) -> str:
    """A number, a name in capitals that stands for something, or a text."""
    return word if word.isdigit() or word.isupper() else repr(word)


def _keyword(option: str, value: str | None = None) -> str:
    plain = option.removeprefix("--").replace("-", "_")
    if plain.startswith("no_"):
        return f"{plain.removeprefix('no_')}=False"
    return f"{plain}={'True' if value is None else _literal(value)}"


def as_tool(name: str, arguments: Sequence[str]) -> str | None:
    if name not in _TOOLS or any(word.startswith("--") for word in arguments):
        return None
    return " ".join((_TOOLS[name], *arguments))


def as_route(name: str, arguments: Sequence[str]) -> str | None:
    return _ROUTES[name].format(arguments[0] if arguments else "{ref}") if name in _ROUTES else None
