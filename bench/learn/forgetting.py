"""Whether forgetting and correcting do what a person means: `forgetting.json`, and `forgetting_more.json` beside it.

The README beside the sets says when a case passes. An instruction is given once, in the words that stand there, and
what is shown before it happens is confirmed; one for a conversation is said there, and learned from with the rules.
`python -m bench.learn.forgetting --failures` also says what became of each case that failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from bench.ours import local_embedder
from perdure import Memory
from perdure.embed.port import Embedder
from perdure.errors import NeedsConfirmation, PerdureError
from perdure.model import Record
from perdure.settings import load

SETS = Path(__file__).parent / "sets"
_BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_CHAT = "chat"


class Outcome(NamedTuple):
    """What became of a case: why it failed, in words, empty where it passed; and what was answered."""

    case: Mapping[str, Any]
    wrong: str
    answer: str


class Clock:
    """It stands still until it is moved."""

    def __init__(self) -> None:
        self.now = _BEGIN

    def __call__(self) -> datetime:
        return self.now


def report(embedder: Embedder) -> None:
    print("\nForgetting and correcting in ordinary words (bench/learn/sets/README.md)")
    for name in ("forgetting", "forgetting_more"):
        outcomes = measure(embedder, load_cases(name))
        print(f"  {name}.json: {_passed(outcomes)}")
        for field in ("verb", "language", "half", "kind"):
            groups: defaultdict[str, list[Outcome]] = defaultdict(list)
            for outcome in outcomes:
                if field in outcome.case:
                    groups[outcome.case[field]].append(outcome)
            if groups:
                print(f"    by {field}: {', '.join(f'{each} {_passed(group)}' for each, group in groups.items())}")


def load_cases(name: str) -> list[Mapping[str, Any]]:
    return json.loads((SETS / f"{name}.json").read_text("utf-8"))["cases"]


def measure(embedder: Embedder, cases: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """Each case in a store of its own."""
    outcomes: list[Outcome] = []
    for case in cases:
        clock = Clock()
        with Memory(":memory:", settings=load(None, learn="rules"), embedder=embedder, clock=clock) as memory:
            before: dict[int, Record] = {}
            for each in case["memories"]:
                clock.now += timedelta(minutes=1)
                before[each["id"]] = memory.remember(each["text"]).record
            clock.now += timedelta(days=1)
            answer = carry_out(memory, clock, case["verb"], case["instruction"])
            outcomes.append(Outcome(case, "; ".join(wrongs(memory, case, before)), answer))
    return outcomes


def carry_out(memory: Memory, clock: Clock, verb: str, instruction: str) -> str:
    if verb == _CHAT:
        memory.conversation(_CHAT).add_message("user", instruction)
        clock.now += timedelta(days=2)
        memory.work()
        return "said"
    call = {"forget": memory.forget, "erase": memory.erase, "update": memory.update}[verb]
    try:
        done = call(instruction)
    except NeedsConfirmation as needed:
        call(instruction, confirm=needed.preview.token)
        return "confirmed"
    except PerdureError as error:
        return f"refused: {error.sentence}"
    return "; ".join(("answered", *done.notes))


def wrongs(memory: Memory, case: Mapping[str, Any], before: Mapping[int, Record]) -> Iterator[str]:
    """Everything about a case that is not as it has to be."""
    now = {record.id: record for record in memory.list(states=("active",), limit=1000)}
    for id in case["gone"]:
        if before[id].id in now:
            yield f"{id} is still there"
        elif case["verb"] == "erase" and _is_stored(memory, before[id].id):
            yield f"{id} is forgotten, and not erased"
    for id in case["stay"]:
        after = now.get(before[id].id)
        if after is None:
            yield f"{id} is gone"
        elif (after.text, after.version) != (before[id].text, before[id].version):
            yield f"{id} says now: {after.text}"
    says = case.get("says")
    if says:
        old = before[says["id"]]
        places = [record for record in now.values() if record.id == old.id or old.id in record.supersedes]
        text = " ".join(record.text for record in places).lower()
        missing = [part for part in says["text contains"] if part.lower() not in text]
        left = [part for part in says.get("text lacks", ()) if part.lower() in text]
        if missing or left:
            yield f"{says['id']} says now: {text or 'nothing'} (without {missing}, with {left})"


def _is_stored(memory: Memory, id: str) -> bool:
    try:
        memory.get(id)
    except PerdureError:
        return False
    return True


def _passed(outcomes: Sequence[Outcome]) -> str:
    passed = sum(not outcome.wrong for outcome in outcomes)
    return f"{passed}/{len(outcomes)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.learn.forgetting", description=__doc__)
    parser.add_argument("--failures", action="store_true", help="also print each case that failed")
    parser.add_argument("--set", default="forgetting", help="the file in bench/learn/sets, without .json")
    parser.add_argument("--half", help="only cases of this half: open, or held back")
    options = parser.parse_args()
    if not options.failures:
        report(local_embedder())
        return 0
    cases = [case for case in load_cases(options.set) if options.half in {None, case.get("half")}]
    outcomes = measure(local_embedder(), cases)
    for place, (case, wrong, answer) in enumerate(outcomes):
        if wrong:
            print(f"{place} {case['verb']} {case['language']} {case['kind']}: {case['instruction']}")
            for each in case["memories"]:
                print(f"    {each['id']} {each['text']}{'  (to go)' if each['id'] in case['gone'] else ''}")
            print(f"  {wrong}\n  {answer}")
    print(_passed(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
