"""How `make docs` makes a site of the pages: Sphinx with MyST, which reads Markdown, and the theme Furo.

Pages are read where they stand, in docs/, bench/, training/ and beside the README, so that a link is the same here, on
the site and where the repository is browsed. The lists of docs/README.md are the navigation.
"""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
FRONT = "docs/README"
(VERSION,) = re.findall(r'__version__ = "(.+)"', (REPOSITORY / "src/perdure/__init__.py").read_text("utf-8"))

project = "Perdure"
extensions = ["myst_parser"]
root_doc = FRONT
include_patterns = [
    "docs/**.md",
    "bench/*.md",
    "bench/*/sets/README.md",
    "bench/session_sets/README.md",
    "training/README.md",
    "*.md",
]
exclude_patterns = [".*", "dist", "packages", "requirements", "site", "src", "tests", "tools"]
# Anchors as others make them of headings; and nothing in a line means more than it does in plain Markdown.
myst_heading_anchors = 6
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
html_theme = "furo"
html_title = f"Perdure {VERSION}"
html_show_copyright = False
html_use_index = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_search_scorer = str(REPOSITORY / "docs/scorer.js")


def navigation(front: str) -> dict[str, list[tuple[str, str, str]]]:
    """Of each page its title, its path and what is in it, below the headings of docs/README.md."""
    headings = re.split(r"^## (.+)$", front, flags=re.MULTILINE)[1:]
    return {
        heading: re.findall(r"^- \[([^]]+)\]\(([^)]+)\)(.*)", text, re.MULTILINE)
        for heading, text in zip(headings[::2], headings[1::2], strict=True)
    }


def add_navigation(app: Any, page: str, source: list[str]) -> None:
    """Sphinx draws the navigation from tables of contents; the front page gets one for each of its headings."""
    if page != FRONT:
        return
    for heading, links in navigation(source[0]).items():
        pages = [f"{title} <{path}>" for title, path, _ in links if path.endswith(".md")]
        source[0] += "\n".join(["\n", "```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```"])


def add_plain_files(app: Any, failure: Exception | None) -> None:
    """An entrance, and for agents llms.txt with the pages it links to: the Markdown of each, beside its HTML."""
    site = Path(app.outdir)
    (site / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={FRONT}.html">\n', "utf-8")
    shutil.copy(REPOSITORY / "llms.txt", site)
    for page in app.env.found_docs:
        shutil.copy(REPOSITORY / f"{page}.md", site / f"{page}.md")


def setup(app: Any) -> None:
    console: Any = import_module("pygments.lexers.shell").BashSessionLexer

    class Transcript(console):
        """A line that begins with `#` is a memory's number here, not what the superuser types."""

        _ps1rgx = re.compile(r"^(\$ )(.*\n?)")

    app.add_lexer("console", Transcript)
    app.add_lexer("csv", import_module("pygments.lexers.special").TextLexer)
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_plain_files)
