"""`python -m bench.triggers`: what it costs to see which memories a prompt brings to mind, as ratios within one run.

The phrases are made up of a few hundred words, so that many of them begin alike.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from bench.turns import Side, in_turn
from perdure import Memory
from perdure.text.words import tokens

# A hundred times as many phrases, of which a hundred times as many are in the prompt; and what reading it costs anyway.
GROWTH_GOAL: Final = 5.0
READING_GOAL: Final = 25.0
_FEW: Final = 100
_MANY: Final = 10_000
_EACH: Final = 4
_ROUNDS: Final = 300
_SYLLABLES: Final = ("ka", "mo", "ri", "ten", "su", "val", "dor", "lin", "mar", "net")
_WORDS: Final = tuple(a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in ("", "s", "ing"))


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of the processor, medians: a prompt against few phrases and many, cutting it into words alone, and
    the first time.
    """

    few: float
    many: float
    reading: float
    first: float


def measure(directory: Path, rounds: int = _ROUNDS) -> Costs:
    chance = random.Random(7)  # noqa: S311 - it has to be the same every time
    prompts = [" ".join(chance.choices(_WORDS, k=60)) for _ in range(rounds)]
    with Memory(directory / "m.db", embedder="none") as memory:
        few = _filled(memory.namespace("few"), _FEW, chance)
        many = _filled(memory.namespace("many"), _MANY, chance)
        first = in_turn({"first": lambda _: many(prompts[0])}, 1, process_time, warming=0)["first"][0]
        sides: dict[str, Side] = {
            "few": lambda turn: few(prompts[turn % rounds]),
            "many": lambda turn: many(prompts[turn % rounds]),
            "reading": lambda turn: tokens(prompts[turn % rounds]),
        }
        samples = in_turn(sides, rounds, process_time)
    return Costs(median(samples["few"]), median(samples["many"]), median(samples["reading"]), first)


def _filled(memory: Memory, phrases: int, chance: random.Random) -> Callable[[str], object]:
    for _ in range(phrases // _EACH):
        made = [" ".join(chance.choices(_WORDS, k=chance.randint(2, 4))) for _ in range(_EACH)]
        memory.remember(f"When to say: {made[0]}.", trigger_phrases=made)
    return memory.match_triggers


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.triggers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how many prompts (default: %(default)s)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as directory:
        costs = measure(Path(directory), options.rounds)
    growth, reading = costs.many / costs.few, costs.many / costs.reading
    print(f"a prompt of 60 words, {_FEW:,} phrases:    {costs.few:.3f} ms")
    print(f"a prompt of 60 words, {_MANY:,} phrases: {costs.many:.3f} ms, the first time {costs.first:.0f} ms")
    print(f"cutting it into words alone:          {costs.reading:.3f} ms")
    print(f"{_MANY:,} against {_FEW:,} phrases: {growth:.2f} times (goal: at most {GROWTH_GOAL})")
    print(f"matching against reading the prompt: {reading:.1f} times (goal: at most {READING_GOAL})")
    return 0 if growth <= GROWTH_GOAL and reading <= READING_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
