"""The documentation is executed or compared: it cannot say what the code does not do."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from transcripts import blocks

import perdure
from perdure import errors, settings
from perdure.cli.app import COMMANDS
from perdure.cli.app import perdure as program
from perdure.mcp.tools import TOOLS
from perdure.recall.recipe import RECIPES

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
MARKDOWN = sorted(
    path
    for folder in (
        "",
        "docs",
        "docs/adapters",
        "docs/reference",
        "bench",
        "bench/learn/sets",
        "bench/recall/sets",
        "bench/session_sets",
        "training",
    )
    for path in (REPOSITORY / folder).glob("*.md")
)
PAGES = [*MARKDOWN, REPOSITORY / "llms.txt"]
PACKAGE = REPOSITORY / "src" / "perdure"
DESIGN = (DOCS / "design.md").read_text(encoding="utf-8")


def reference(page: str) -> str:
    return (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")


def shell_lines(text: str) -> list[str]:
    """Every command line in the page's shell blocks, without prompts and comments."""
    lines = [line for language in ("sh", "console") for block in blocks(text, language) for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith(("$ ", "perdure ", "make "))]


def test_the_reference_is_what_the_code_says():
    command = [sys.executable, "tools/docs.py", "--check"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_with_each_of_its_options(name: str):
    section = reference("cli").split(f"## perdure {name}\n")[1].split("\n## ")[0]
    command = program.get_command(click.Context(program), name)
    assert command is not None
    for part, text in parts_of(command, section):
        options = [one for parameter in part.params if isinstance(parameter, click.Option) for one in parameter.opts]
        # An older name of an option still works, and is shown nowhere.
        older = {name for parameter in part.params for name in getattr(parameter, "also", ())}
        assert [option for option in options if option not in text and option not in older] == []


def parts_of(command: click.Command, section: str) -> list[tuple[click.Command, str]]:
    """The command with its section, or each part of a group with its own."""
    if not isinstance(command, click.Group):
        return [(command, section)]
    sections = {name: section.split(f"### perdure {command.name} {name}\n")[1] for name in command.commands}
    return [(part, sections[name].split("\n### ")[0]) for name, part in command.commands.items()]


def test_every_setting_recipe_error_and_verb_is_documented():
    verbs = [name for name, _ in inspect.getmembers(perdure.Memory, inspect.isfunction) if not name.startswith("_")]
    assert [row.name for row in settings.SETTINGS if f"`{row.variable}`" not in reference("settings")] == []
    assert [name for name in RECIPES if f"`{name}`" not in reference("recipes")] == []
    assert [verb for verb in verbs if f"### `{verb}`" not in reference("python")] == []
    for page in (reference("errors"), (DOCS / "troubleshooting.md").read_text(encoding="utf-8")):
        assert [cls.code for cls in errors.all_errors() if f"`{cls.code}`" not in page] == []


def test_every_tool_is_documented_with_each_of_its_parameters():
    page = reference("tools")
    for tool in TOOLS:
        section = page.split(f"## {tool.name}\n")[1].split("\n## ")[0]
        assert [each.name for each in tool.parameters if f"| `{each.name}` |" not in section] == []
    guide = (DOCS / "mcp.md").read_text(encoding="utf-8")
    assert [tool.name for tool in TOOLS if f"`{tool.name}`" not in guide] == []


def test_the_tree_of_errors_is_drawn_as_it_is():
    drawn = re.findall(r"^    ([│ ├└─]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert [(len(branch) // 4, name) for branch, name in drawn] == list(tree_of(errors.PerdureError))


def tree_of(error: type[errors.PerdureError], depth: int = 0) -> Iterator[tuple[int, str]]:
    yield depth, error.__name__
    for child in error.__subclasses__():
        yield from tree_of(child, depth + 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_command_line_shown_is_one_that_parses(page: Path):
    for line in shell_lines(page.read_text(encoding="utf-8")):
        words = shlex.split(line.split(" | ")[0], comments=True)
        if words[0] == "perdure" and len(words) > 1 and not words[1].startswith("-"):
            command = program.get_command(click.Context(program), words[1])
            arguments = [word for word in words[2:] if word != "<"]
            if isinstance(command, click.Group) and arguments:
                command = command.get_command(click.Context(command), arguments.pop(0))
            assert command is not None, line
            command.make_parser(click.Context(command)).parse_args(arguments)


def test_every_make_command_shown_exists():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= targets, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_link_leads_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'(?:src(?:set)?|href)="([^"]+)"', text)
    for link in links:
        if link.startswith("https://"):
            continue  # that of another; nothing here may need the network
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_the_navigation_leads_a_newcomer_to_every_page_once():
    front = (DOCS / "README.md").read_text(encoding="utf-8")
    groups = runpy.run_path(str(DOCS / "conf.py"))["navigation"](front)
    assert list(groups) == ["Start", "Guides", "Concepts", "Reference", "Project"]
    named = [(DOCS / path).resolve() for links in groups.values() for _, path, _ in links]
    assert sorted(named) == sorted(set(PAGES) - {DOCS / "README.md"})


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_module_and_function_that_the_design_names_exists():
    """Modules are written as `folder/`, `folder/module.py` or `module.py`, what they define as `module.py: name`."""
    packages = [REPOSITORY, PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py|\.sql))(?:: ([\w.]+))?`", DESIGN)
    assert len(named) > 50
    paths = {module: [package / module for package in packages if (package / module).exists()] for module, _ in named}
    assert [module for module, found in paths.items() if not found] == []
    assert [f"{module}: {name}" for module, name in named if name and name not in definitions(paths[module][0])] == []


def definitions(path: Path) -> set[str]:
    """`function`, `Class` and `Class.method`, of one module."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def test_the_design_names_every_package_and_every_module_of_the_first_floor():
    packages = [path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")]
    rooms = [f"{package}/" for package in packages if package != "."]
    modules = [path.name for path in PACKAGE.glob("[a-z]*.py")]
    assert [name for name in sorted(rooms + modules) if f"`{name}`" not in DESIGN] == []


def test_every_page_that_the_code_names_exists():
    named = {
        page
        for path in (REPOSITORY / "src").rglob("*.py")
        for page in re.findall(r"docs/[\w/.-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert [page for page in sorted(named) if not (REPOSITORY / page).exists()] == []


def test_every_test_that_a_page_names_as_a_proof_exists():
    named = {name for page in PAGES for name in re.findall(r"`(tests/[\w/]+\.py)`", page.read_text(encoding="utf-8"))}
    assert len(named) > 30
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []
