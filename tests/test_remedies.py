from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any, cast

import pytest

import perdure
from perdure import Memory, errors
from perdure.cli.app import COMMANDS
from perdure.embed.port import Generation
from perdure.remedies import Flag, Remedy, Run, Words

SOURCE = Path(perdure.__file__).parent
BATCH = "01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11"
# What only the command line can do: it has no name elsewhere.
SHELL = re.compile(r"\bperdure [a-z]|--(?!allow-host|port|no-auth)[a-z]")
COMMANDS_ALONE = r"`perdure (?:bank|config|copy|install|mcp|migrate|namespaces|retro|serve|session|token)\b[^`]*"


def test_no_remedy_outside_of_the_command_line_speaks_shell():
    """A command in a remedy is a `Run`, which every surface names in its own words."""
    shell: list[str] = []
    for path in SOURCE.rglob("*.py"):
        if "cli" in path.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            value = node.value if isinstance(node, ast.keyword) and node.arg == "remedy" else None
            texts = [each.value for each in ast.walk(value) if isinstance(each, ast.Constant)] if value else []
            shell += [f"{path.name}: {text}" for text in texts if isinstance(text, str) and SHELL.search(text)]
    assert shell == []


@pytest.mark.parametrize("error", errors.all_errors(), ids=lambda error: error.code)
def test_what_an_error_says_by_itself_is_for_a_python_program_too(error: type[errors.PerdureError]):
    assert not SHELL.search(re.sub(COMMANDS_ALONE, "`", error().remedy))


@pytest.mark.parametrize(
    ("reader", "told"),
    [
        ("cli", "Bring it back: perdure restore 7"),
        ("python", "Bring it back: `memory.restore(7)`"),
        ("mcp", "Bring it back: `perdure restore 7`. A person can run that command."),
        ("http", "Bring it back: `POST /v1/memories/7/restore`"),
    ],
)
def test_each_surface_says_it_in_its_own_words(reader: Words, told: str):
    assert Remedy("Bring it back: ", Run("restore", 7)).told(reader) == told


@pytest.mark.parametrize(
    ("remedy", "told"),
    [
        (Remedy("Undo that first (", Run("undo", BATCH), "), or use ", Flag("force"), "."),
         f"Undo that first (`memory.undo('{BATCH}')`), or use `force=True`."),
        (Remedy(Run("promote", 3, tier="important"), ". It is offered then."),
         "`memory.promote(3, tier='important')`. It is offered then."),
        (Remedy("Run ", Run("doctor", secrets=True, repair=True), "."),
         "Run `memory.doctor(secrets=True, repair=True)`."),
        (Remedy("Make one: ", Run("backup", "FILE", store="/srv/x.db")),
         "Make one: `Memory('/srv/x.db').backup(FILE)`"),
        (Remedy("Leave --no-auth out; ", Run("token create", all_namespaces=True), "."),
         "Leave --no-auth out; `perdure token create --all-namespaces`."),
        (Remedy("Choose another with ", Flag("store"), "."), "Choose another with `Memory(path)`."),
    ],
)  # fmt: skip
def test_arguments_become_arguments_of_python(remedy: Remedy, told: str):
    assert remedy.told("python") == told


def test_every_command_that_a_remedy_names_is_one_that_exists():
    named: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Run":
                named |= {str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)}
    assert len(named) > 20
    assert {name.split()[0] for name in named} <= COMMANDS.keys()
    for name in sorted(named):
        call = Run(name).told("python")
        assert call is None or hasattr(Memory, call.removeprefix("memory.").partition("(")[0]), name


def test_a_command_is_a_route_by_the_table_of_operations():
    told = {
        "show": "GET /v1/memories/7", "forget": "DELETE /v1/memories/7", "list": "GET /v1/memories",
        "history": "GET /v1/memories/7/history", "log": "GET /v1/log", "work": "POST /v1/work",
        "checkpoint delete": "DELETE /v1/checkpoints/7", "review": "GET /v1/review", "remember": "POST /v1/memories",
    }  # fmt: skip
    without = {"list", "log", "work", "review", "remember"}
    said = {name: Run(name, *(() if name in without else (7,))).told("http") for name in told}
    assert said == told
    assert Run("update").told("http") == "PATCH /v1/memories/{ref}"
    assert Run("backup", "FILE").told("http") is None


def test_what_a_memory_raises_names_calls_of_python(tmp_path: Path):
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.remember("tea")
        memory.forget(1)
        with pytest.raises(errors.Conflict, match=r"Bring it back first: `memory\.restore\(1\)`") as refused:
            memory.update(1, text="green tea")
        assert refused.value.remedy == "Bring it back first: `memory.restore(1)`"
        assert refused.value.cli_remedy == "Bring it back first: perdure restore 1"
        with pytest.raises(errors.NotFound, match=r"namespace with `memory\.namespace\(…\)`"):
            memory.get(99)
    with pytest.raises(errors.StoreMissing, match="leave out create=False"):
        Memory(tmp_path / "nothing.db", create=False)


def test_a_note_of_an_answer_is_in_the_words_of_the_command_line(tmp_path: Path):
    class Down:
        generation = Generation("test", "down", 3, "1")

        def embed_query(self, text: str) -> object:
            raise ConnectionError(f"no answer for {text}")

        embed_passages = embed_query

    with Memory(tmp_path / "memory.db", embedder=cast("Any", Down())) as memory:
        memory.remember("tea")
        (note,) = memory.recall("tea").notes
    assert "ConnectionError: no answer for tea" in note
    assert "`perdure work`" in note


def test_a_copied_error_says_the_same():
    error = errors.NotFound("Nothing.", remedy=Remedy("See ", Run("log"), "."))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(copy), copy.cli_remedy) == ("Nothing. See `memory.log()`.", "See `perdure log`.")


def test_an_argument_that_memory_does_not_have_is_said_of_memory():
    with pytest.raises(TypeError, match=r"^Memory\(\) got an unexpected keyword argument 'user'"):
        Memory(user="x")  # pyright: ignore[reportCallIssue]
