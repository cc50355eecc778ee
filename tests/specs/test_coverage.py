"""Every statement has a test, and no test claims a statement that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from specs.statements import S0, S1, S2, S3, S4

STATEMENTS = S0 | S1 | S2 | S3 | S4
NAME = re.compile(r"(S\d [^:]+): ")


def claims() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_s*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = NAME.match(ast.get_docstring(node) or "")
                found.setdefault(name[1] if name else "", []).append(f"{path.name}::{node.name}")
    return found


def test_every_statement_has_a_test():
    assert set(STATEMENTS) - set(claims()) == set()


def test_every_test_names_its_statement():
    claimed = claims()
    assert {name: tests for name, tests in claimed.items() if name not in STATEMENTS} == {}
    assert {name: tests for name, tests in claimed.items() if len(tests) > 1} == {}
