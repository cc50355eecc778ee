"""Banks for tests: a project's and the global one of a home."""

from __future__ import annotations

from pathlib import Path

LOCAL = {
    "anti-patterns": """\
# Anti-Patterns

Known pitfalls to avoid.

### Anti-Pattern: Guessing Encodings
Guessing the encoding of a text file corrupts names; ask for it.
- Observed in: Feature #002, Feature #018 (twice, in the importer)
- Cost: Two days of repair
- Confidence: high
- Last observed: Feature #018
- Observation count: 3

<!-- Template
### Anti-Pattern: {Name}
{Description}
-->
""",
    "patterns": """\
# Patterns

### Pattern: Thin Orchestrator
Keep the orchestrator thin and delegate to reference files.
- Used in: Feature #018
- Benefit: Reviews take minutes
""",
    "heuristics": """\
# Heuristics

### Read Real Samples
Open three real input files before writing a parser.
- Source: Feature #004
- Last observed: 2026-01-05
""",
}
GLOBAL = {
    "heuristics": """\
# Heuristics

### Read Real Samples
Open three real input files before writing a parser.
- Last observed: 2026-02-01
- Observation count: 5

### Release Early
Nothing ships after Thursday noon.
- Last observed: 2025-12-24
"""
}


def write_bank(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def make_project(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A project with a bank, by default the one above."""
    write_bank(folder / "docs" / "knowledge-bank", LOCAL if files is None else files)
    return folder


def make_global(home: Path, files: dict[str, str] | None = None) -> Path:
    return write_bank(home / ".claude" / "iflow" / "memory", GLOBAL if files is None else files)
