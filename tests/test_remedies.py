from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any, cast

import pytest

import perdure
from perdure import Memory, errors
from perdure.embed.port import Generation
from perdure.remedies import Words, in_words_of

SOURCE = Path(perdure.__file__).parent
BATCH = "01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11"
# What only the command line can do: it has no name elsewhere.
COMMANDS_ALONE = r"`perdure (?:bank|config|install|mcp|retro|serve|session|token)\b[^`]*"


def written_remedies() -> list[str]:
    """Every remedy in the source outside of the command line, with 7 for whatever is filled in."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if "cli" in path.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            value = node.value if isinstance(node, ast.keyword) and node.arg == "remedy" else None
            if isinstance(value, ast.JoinedStr):
                found.add("".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in value.values))
            elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(value.value)
    return sorted(found | {error.default_remedy for error in errors.all_errors()})


def test_no_remedy_speaks_shell_to_a_python_program():
    remedies = written_remedies()
    assert len(remedies) > 100
    for remedy in remedies:
        told = re.sub(COMMANDS_ALONE, "`", in_words_of("python", remedy))
        assert "perdure " not in re.sub(r"than this Perdure|`pip [^`]*`", "", told), told
        assert not re.search(r" --(?!allow-host|port|no-auth)[a-z]", told), told


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
    assert in_words_of(reader, "Bring it back: perdure restore 7") == told


@pytest.mark.parametrize(
    ("remedy", "told"),
    [
        (f"Undo that first (perdure undo {BATCH}), or use --force.",
         f"Undo that first (`memory.undo('{BATCH}')`), or use `force=True`."),
        ("perdure promote 3 --tier important. It is offered then.",
         "`memory.promote(3, tier='important')`. It is offered then."),
        ("Run `perdure doctor --secrets --repair`.", "Run `memory.doctor(secrets=True, repair=True)`."),
        ("Make one: perdure backup FILE --store /srv/x.db", "Make one: `Memory('/srv/x.db').backup(FILE)`"),
        ("Leave --no-auth out; `perdure token create --all-namespaces`.",
         "Leave --no-auth out; `perdure token create --all-namespaces`."),
        ("perdure backup --store", "`Memory(PATH).backup(…)`"),
    ],
)  # fmt: skip
def test_arguments_become_arguments_of_python(remedy: str, told: str):
    assert in_words_of("python", remedy) == told


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
    error = errors.NotFound("Nothing.", remedy="See `perdure log`.")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(copy), copy.cli_remedy) == ("Nothing. See `memory.log()`.", "See `perdure log`.")


def test_an_argument_that_memory_does_not_have_is_said_of_memory():
    with pytest.raises(TypeError, match=r"^Memory\(\) got an unexpected keyword argument 'user'"):
        Memory(user="x")  # pyright: ignore[reportCallIssue]
