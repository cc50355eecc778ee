"""`python -m bench.learn.sessions`: which learnings of a project are made of coding sessions (`sets/sessions.json`).

Each session is told as hooks tell it, message by message, in the order of the file, two days apart. A learning is the
expected one if it holds all words of `says` (`a|b`: one of them), is of the project, and stands alone: it speaks of no
`User`. Every other learning is wrong. `--failures` prints what was missed, what was made wrongly, and where a category
is another one than expected. `--set` names a file of the same form.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.ours import local_embedder
from perdure import Memory, Record

SET: Final = Path(__file__).parent / "sets" / "sessions.json"
_BEGIN: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_LEARNINGS: Final = ("anti-patterns", "heuristics", "patterns")
_MOST: Final = 1000


class Judged(NamedTuple):
    """What one session gave. `other` are learnings that say what is expected, in another category."""

    name: str
    found: tuple[str, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    other: tuple[str, ...]


def judge(path: Path = SET) -> list[Judged]:
    sessions = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", embedder=local_embedder()) as memory:
        for number, session in enumerate(sessions):
            tell(memory, f"session-{number}", session, _BEGIN + timedelta(days=2 * number))
        memory.work()
        made = memory.list(category=_LEARNINGS, limit=_MOST).records
        return [
            judged(session, [one for one in made if f"session-{number}" in conversations(memory, one)])
            for number, session in enumerate(sessions)
        ]


def tell(memory: Memory, name: str, session: Mapping[str, Any], at: datetime) -> None:
    """As a hook does: what the model and the person said goes in under the name of the session."""
    messages = [
        {**message, "at": at + timedelta(minutes=3 * minute), "session_id": name, "channel": "claude",
         "source_project": session["project"], "idempotency_key": f"hook {name} {minute}"}
        for minute, message in enumerate(session["messages"])
    ]  # fmt: skip
    memory.writing_as(writer="model", session=name).conversation(name).add_messages(messages)


def conversations(memory: Memory, record: Record) -> set[str]:
    """Where the evidence of a learning was said."""
    return {memory.get(episode).conversation_id or "" for episode in record.evidence}


def judged(session: Mapping[str, Any], made: Sequence[Record]) -> Judged:
    found: list[str] = []
    missed: list[str] = []
    other: list[str] = []
    right: set[str] = set()
    for expected in session["learn"]:
        fits = [one for one in made if says(one, expected["says"]) and one.source_project == session["project"]]
        right.update(one.id for one in fits)
        (found if fits else missed).append(" + ".join(expected["says"]))
        if fits and all(one.category not in expected["category"].split("|") for one in fits):
            other.append(f"{fits[0].category}: {fits[0].text}")
    wrong = [f"{one.category}: {one.text}" for one in made if one.id not in right]
    return Judged(session["name"], tuple(found), tuple(missed), tuple(wrong), tuple(other))


def says(record: Record, words: Sequence[str]) -> bool:
    text = f"{record.title or ''} {record.text}".lower()
    stands_alone = not text.replace(record.title or "", "").strip().startswith(("user ", "the user "))
    return stands_alone and all(any(part.lower() in text for part in word.split("|")) for word in words)


def report(path: Path = SET, *, failures: bool = False) -> None:
    results = judge(path)
    counts = Counter({name: sum(len(getattr(one, name)) for one in results) for name in ("found", "missed", "wrong")})
    made, expected = counts["found"] + counts["wrong"], counts["found"] + counts["missed"]
    print(
        f"\nLearnings of {len(results)} coding sessions: recall {counts['found']} of {expected}"
        f" ({counts['found'] / max(expected, 1):.2f}), precision {counts['found']} of {made}"
        f" ({counts['found'] / max(made, 1):.2f}); {sum(len(one.other) for one in results)} in another category"
    )
    if failures:
        print("\n".join(lines(results)))


def lines(results: Sequence[Judged]) -> Iterator[str]:
    for one in results:
        for kind in ("missed", "wrong", "other"):
            yield from (f"  {one.name}: {kind}: {text}" for text in getattr(one, kind))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.learn.sessions", description=__doc__)
    parser.add_argument("--set", type=Path, default=SET, help="a file of the same form")
    parser.add_argument("--failures", action="store_true", help="print what was missed and made wrongly")
    options = parser.parse_args(arguments)
    report(options.set, failures=options.failures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
