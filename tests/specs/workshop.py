"""A project with a store of its own, and a user who runs retros in it, by the real commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.user import Answer, User

LEARNING: dict[str, Any] = {
    "name": "Ask for Encodings",
    "description": "Guessing the encoding of an uploaded file corrupts the names of customers; ask for it.",
    "reasoning": "Two imports were repaired by hand, because Latin-1 was read as UTF-8.",
    "category": "anti-patterns",
}


@dataclass(frozen=True)
class Workshop:
    project: Path
    store: Path
    embedder: str | None = "none"

    def __call__(self, *words: str, stdin: str | None = None, **environment: str) -> Answer:
        own = {"PERDURE_STORE": str(self.store), "PERDURE_ACTOR": "ada"}
        own |= {"PERDURE_EMBEDDER": self.embedder} if self.embedder else {}
        # Commands that know of projects are told which one; the others are not.
        told = ("--project", str(self.project)) if words[0] in {"retro", "bank"} else ()
        answer = User({"COLUMNS": "100"})(*words, *told, stdin=stdin, **own, **environment)
        assert "Traceback" not in answer.err
        return answer

    def json(self, *words: str, **given: Any) -> Any:
        answer = self(*words, "--json", **given)
        assert answer.code == 0, answer
        return answer.json

    def retro(self, *learnings: dict[str, Any], dry_run: bool = False, **more: Any) -> Any:
        """What a retro of these learnings answers."""
        told = json.dumps({"learnings": list(learnings), **more})
        return self.json("retro", "-", *(["--dry-run"] if dry_run else []), stdin=told)

    def configure(self, *lines: str) -> None:
        """Front matter for the project's sessions."""
        path = self.project / ".claude" / "iflow-dev.local.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(["---", *lines, "---", ""]), encoding="utf-8")

    def memory(self, number: int) -> Any:
        return self.json("show", str(number))

    def bank(self, name: str) -> str:
        return (self.project / "docs" / "knowledge-bank" / f"{name}.md").read_text(encoding="utf-8")
