"""Every public name is plain English, a word of the field, or explained in docs/glossary.md."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import perdure
from perdure.cli.app import perdure as program
from perdure.settings import SETTINGS

REPOSITORY = Path(__file__).parent.parent
PACKAGE = REPOSITORY / "src" / "perdure"
GLOSSARY = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+) \|$", GLOSSARY, re.MULTILINE)
OURS = {term: meaning for term, meaning in ROWS if term not in {"word", "---"}}
# What a word may end in, and what its shortest form has in that place.
ENDINGS = {
    "s": ("",), "es": ("",), "ies": ("y",), "ed": ("", "e"), "ied": ("y",), "ing": ("", "e"), "er": ("", "e"),
    "or": ("", "e"), "est": ("", "e"), "ion": ("", "e"), "ation": ("", "e"), "ment": ("",), "able": ("", "e"),
    "ible": ("", "e"), "ity": ("", "e"), "al": ("", "e"), "ness": ("",), "ly": ("",),
}  # fmt: skip
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@cache
def plain_words() -> frozenset[str]:
    """Words that any engineer knows, in their shortest form. What they mean here must be what they mean elsewhere."""
    text = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8")
    return frozenset(" ".join(line for line in text.splitlines() if not line.startswith("#")).split())


def glossary_words() -> set[str]:
    return {word for term in OURS for word in term.split()}


def shortest_forms(word: str) -> Iterator[str]:
    """The word, and what it may be a plural, a participle, an agent or the opposite of."""
    yield word
    if word.startswith("un"):
        yield from shortest_forms(word.removeprefix("un"))
    for ending, stems in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            for rest in stems:
                yield from shortest_forms(stem + rest)
            if stem[-1] == stem[-2]:
                yield stem[:-1]


def unexplained(names: set[str]) -> dict[str, str]:
    """The words that nobody explains, each with a name that has it."""
    explained = plain_words() | glossary_words()
    return {
        word.lower(): name
        for name in sorted(names)
        for word in WORD.findall(name)
        if len(word) > 1 and explained.isdisjoint(shortest_forms(word.lower()))
    }


def public_names() -> set[str]:
    return {*perdure.__all__, *verbs(), *(row.name for row in SETTINGS), *options(program), *source_names()}


def verbs() -> Iterator[str]:
    for facade in (perdure.Memory, perdure.SemanticMemoryStore):
        yield from inspect.signature(facade).parameters
        for name, method in inspect.getmembers(facade, inspect.isfunction):
            if not name.startswith("_"):
                yield name
                yield from inspect.signature(method).parameters


def options(command: click.Command) -> Iterator[str]:
    yield command.name or ""
    for parameter in command.params:
        yield from (parameter.name or "", *parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from options(part)


def source_names() -> Iterator[str]:
    """Modules, their public classes and functions, and the fields of those classes."""
    for path in PACKAGE.rglob("*.py"):
        if PACKAGE / "testing" in path.parents:
            continue
        yield from path.relative_to(PACKAGE).with_suffix("").parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield node.name
                yield from fields(node)


def fields(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                yield item.target.id


def test_every_public_name_is_plain_english_or_in_the_glossary():
    """Rename it; or explain it in docs/glossary.md; or, if every engineer knows the word, add it to tests/words.txt."""
    assert unexplained(public_names()) == {}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("remember_wibble", "wibble"),
        ("MeritCache", "merit"),
        ("--glance", "glance"),
        ("beside", "beside"),
        ("surroundings", "surroundings"),
        ("Graveyard", "graveyard"),
    ],
)
def test_a_name_that_nobody_explains_is_noticed(name: str, word: str):
    assert unexplained({name}) == {word: name}


def test_a_name_of_known_words_passes_in_every_form():
    assert unexplained({"remembered_memories", "TombstoneFilter", "--dry-run", "embedding", "skipped", "writer"}) == {}


def test_the_list_of_plain_words_holds_only_what_is_needed():
    used = {form for name in public_names() for word in WORD.findall(name) for form in shortest_forms(word.lower())}
    assert sorted(plain_words() - used) == []
    assert [word for word in sorted(plain_words()) if plain_words().intersection([*shortest_forms(word)][1:])] == []
    assert sorted(plain_words() & glossary_words()) == []


def test_the_glossary_explains_each_word_in_one_sentence():
    assert len(OURS) > 40
    assert [term for term, meaning in OURS.items() if not meaning[0].isupper() or not meaning.endswith(".")] == []
    assert [term for term, meaning in OURS.items() if ". " in meaning] == []
