"""`python -m bench.told`: how much of what a session is told helps, and how much of what helps it is told, on a judging
set of learnings of several projects; and what projects are told with which nothing in the store has to do.

Each start is one of a real repository, with a feature and commits; each prompt is the first of its session.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from bench.goals import Verdict
from bench.report import table
from perdure import Memory
from perdure.session.privacy import where
from perdure.session.prompt import prompt_context
from perdure.session.start import session_block

_SETS: Final = Path(__file__).parent / "session_sets"
SETS: Final = tuple(_SETS / f"{name}.json" for name in ("told", "told_terse", "told_plain", "told_field", "told_team"))
GOALS: Final = {"start": (0.60, 0.55), "prompt": (0.70, 0.55)}
MOST_TOLD_TO_STRANGERS: Final = 1.0
_UNHURRIED: Final = 60.0
# Learnings are of the last four months, one after the other in an order of no meaning.
_DAYS: Final = 120
_STRIDE: Final = 37


@dataclass(frozen=True, slots=True)
class Learning:
    name: str
    title: str
    fields: Mapping[str, Any]


@dataclass(slots=True)
class Counts:
    """Sums over cases. A case where nothing helps counts under `foreign` alone."""

    cases: int = 0
    told: int = 0
    helping: int = 0
    wanted: int = 0
    foreign: list[int] = field(default_factory=list[int])

    def add(self, told: set[str], wanted: set[str]) -> None:
        if not wanted:
            self.foreign.append(len(told))
            return
        self.cases += 1
        self.told += len(told)
        self.helping += len(told & wanted)
        self.wanted += len(wanted)

    @property
    def precision(self) -> float:
        return self.helping / self.told if self.told else 0.0

    @property
    def recall(self) -> float:
        return self.helping / self.wanted if self.wanted else 0.0

    @property
    def told_to_strangers(self) -> float:
        return sum(self.foreign) / len(self.foreign) if self.foreign else 0.0


def learnings(judging: Mapping[str, Any]) -> list[Learning]:
    found: list[Learning] = []
    for project, topics in judging["projects"].items():
        for topic, entries in topics.items():
            for number, (category, title, text, *more) in enumerate(entries, 1):
                fields = {"text": text, "title": title, "category": category, "source": "retro"}
                fields |= {"source_project": project, "confidence": 2 / 3}
                details: dict[str, Any] = more[0] if more else {}
                fields |= {"observation_count" if name == "count" else name: details[name] for name in details}
                found.append(Learning(f"{project}/{topic}/{number}", title, fields))
    return found


def wanted(case: Mapping[str, Any], known: Sequence[Learning]) -> set[str]:
    names = case["relevant"]
    return {one.name for one in known if any(one.name == name or one.name.startswith(f"{name}/") for name in names)}


def fill(memory: Memory, known: Sequence[Learning]) -> None:
    now = datetime.now(UTC)
    rows: list[dict[str, Any]] = []
    for number, one in enumerate(known):
        at = (now - timedelta(days=number * _STRIDE % _DAYS)).isoformat()
        rows.append({**one.fields, "created_at": at, "updated_at": at})
    memory.import_(rows, trusted=True)
    memory.work()


def project(folder: Path, case: Mapping[str, Any]) -> Path:
    """A repository whose last commit changed these files, with this feature active."""
    root = folder / case["project"]
    root.mkdir(parents=True)
    run(root, "init", "--quiet")
    run(root, "commit", "--quiet", "--allow-empty", "--message", "begin")
    for name in case.get("files", ()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n", encoding="utf-8")
    run(root, "add", ".")
    run(root, "commit", "--quiet", "--allow-empty", "--message", "go on")
    if "slug" in case:
        feature = root / "docs" / "features" / f"001-{case['slug']}"
        feature.mkdir(parents=True)
        meta = {"slug": case["slug"], "status": "active", "lastCompletedPhase": case["phase"]}
        (feature / ".meta.json").write_text(json.dumps(meta), encoding="utf-8")
        (feature / "spec.md").write_text(f"# {case['slug']}\n\n{case['spec']}\n\n## Details\n", encoding="utf-8")
    return root


def run(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    subprocess.run(command, cwd=root, check=True)  # noqa: S603 - ourselves


def measure(judging: Mapping[str, Any], folder: Path, misses: list[str], embedder: str = "local") -> dict[str, Counts]:
    known = learnings(judging)
    counts = {
        "start with a feature": Counts(),
        "start with files alone": Counts(),
        "start": Counts(),
        "prompt": Counts(),
    }
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    with patch.dict(os.environ, environ, clear=True), Memory(folder / "m.db", embedder=embedder) as memory:
        fill(memory, known)
        for number, case in enumerate(judging["starts"]):
            root = project(folder / str(number), case)
            block = session_block(memory, root, budget=_UNHURRIED, counts=False, environ=environ)
            titles = {hit.record.title for hit in block.entries}
            told = {one.name for one in known if one.title in titles}
            kind = "start with a feature" if "slug" in case else "start with files alone"
            for name in (kind, "start"):
                counts[name].add(told, wanted(case, known))
            misses.append(line(case.get("slug") or " ".join(case["files"]), told, wanted(case, known)))
        for number, case in enumerate(judging["prompts"]):
            root = folder / "prompts" / str(number) / case["project"]
            root.mkdir(parents=True)
            place = where(root, f"session {number}", namespace="default", environ=environ)
            text = prompt_context(memory, place, f"session {number}", case["prompt"]).text
            told = {one.name for one in known if one.title in text}
            counts["prompt"].add(told, wanted(case, known))
            misses.append(line(case["prompt"], told, wanted(case, known)))
    return counts


def line(what: str, told: set[str], wanted: set[str]) -> str:
    groups = {"helps": told & wanted, "does not": told - wanted, "not told": wanted - told}
    return "\n".join([what, *(f"  {name}: {', '.join(sorted(some))}" for name, some in groups.items())])


def verdicts(counts: Mapping[str, Counts]) -> Iterator[Verdict]:
    for name, (precision, recall) in GOALS.items():
        found = counts[name]
        yield Verdict(
            f"{name}: precision at least {precision:.2f}", f"{found.precision:.3f}", found.precision >= precision
        )
        yield Verdict(f"{name}: recall at least {recall:.2f}", f"{found.recall:.3f}", found.recall >= recall)
    strangers = counts["start"].told_to_strangers
    goal = f"a project with which nothing has to do: told at most {MOST_TOLD_TO_STRANGERS:g}"
    yield Verdict(goal, f"{strangers:.2f}", strangers <= MOST_TOLD_TO_STRANGERS)


def page(name: str, counts: Mapping[str, Counts]) -> Iterator[str]:
    yield from (f"# What a session is told: {name}", "")
    rows = [
        (
            name, str(one.cases), f"{one.told / max(one.cases, 1):.1f}", f"{one.precision:.3f}", f"{one.recall:.3f}",
            str(len(one.foreign)), f"{one.told_to_strangers:.2f}",
        )
        for name, one in counts.items()
    ]  # fmt: skip
    yield from table(("", "cases", "told", "precision", "recall", "foreign", "told there"), rows)
    yield ""
    marks = {True: "met", False: "missed", None: ""}
    yield from table(("goal", "found", ""), [(one.goal, one.found, marks[one.met]) for one in verdicts(counts)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.told", description=__doc__)
    parser.add_argument(
        "--set", type=Path, action="append", help="a judging set (default: those of bench/session_sets)"
    )
    parser.add_argument("--cases", action="store_true", help="also print what each case was told")
    parser.add_argument("--fit", action="store_true", help="choose the limits anew, and print them")
    parser.add_argument("--embedder", default="local", help="`none`: by words alone (default: %(default)s)")
    options = parser.parse_args(arguments)
    sets: list[Path] = options.set or list(SETS)
    if options.fit:
        from bench.told_fit import fit

        print("\n".join(fit(sets)))
        return 0
    for path in sets:
        judging, cases = json.loads(path.read_text(encoding="utf-8")), list[str]()
        with TemporaryDirectory(prefix="perdure-bench-") as folder:
            counts = measure(judging, Path(folder), cases, options.embedder)
        print("\n".join([*(cases if options.cases else ()), *page(path.stem, counts), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
