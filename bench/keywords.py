"""`python -m bench.keywords`: whether the keywords that Perdure itself chooses are what S1's criterion 5 asks for.

Real sentences, stored as learnings through `perdure.Memory`: turns of LoCoMo and claims of SciFact, and abstracts as
long texts. A sentence counts from eight words on: below that, most are greetings. 3 to 10 keywords, three of them in
the text (as they are written, or as another form of a word), none of the generic list. A turn of eight words and more
may still have fewer than three that tell anything, so the goal for turns is lower.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.corpus import ORIGIN, DataMissing
from bench.recall.data import locomo, scifact
from perdure import Memory
from perdure.text.keyword_words import GENERIC
from perdure.text.keywords import is_in_text

# The share of the texts that must meet the criterion.
GOALS: Final = {"turns": 0.95, "claims": 0.99, "abstracts": 0.99}
_EACH: Final = 300
_SHOWN: Final = 20
_FEWEST_WORDS: Final = 8
_LEAST, _MOST = 3, 10


@dataclass(frozen=True, slots=True)
class Keyworded:
    """A text and its keywords, judged by each part of the criterion."""

    text: str
    keywords: tuple[str, ...]

    @property
    def enough(self) -> bool:
        return _LEAST <= len(self.keywords) <= _MOST

    @property
    def as_written(self) -> bool:
        told = " ".join(self.text.lower().split())
        return sum(keyword.lower() in told for keyword in self.keywords) >= _LEAST

    @property
    def in_text(self) -> bool:
        return sum(is_in_text(keyword, self.text) for keyword in self.keywords) >= _LEAST

    @property
    def specific(self) -> bool:
        return not GENERIC & {keyword.lower() for keyword in self.keywords}

    @property
    def meets(self) -> bool:
        return self.enough and self.in_text and self.specific


def measure(texts: Iterable[str], directory: Path) -> list[Keyworded]:
    """All are in one store, so that words which are common there weigh less."""
    with Memory(directory / "m.db", embedder="none") as memory:
        stored = [memory.remember(text, category="patterns").record for text in texts]
    return [Keyworded(record.text, record.keywords) for record in stored]


def sampled(texts: Iterable[str], chance: random.Random, count: int) -> list[str]:
    sentences = sorted({text for text in texts if len(text.split()) >= _FEWEST_WORDS})
    return chance.sample(sentences, min(count, len(sentences)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.keywords", description=__doc__)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("LOCOMO"), metavar="PATH")
    parser.add_argument("--scifact", type=Path, default=os.environ.get("SCIFACT"), metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=7, help="which sentences (default: %(default)s)")
    parser.add_argument("--each", type=int, default=_EACH, help="how many of each kind (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.locomo is None or options.scifact is None:
        print(f"The texts are not part of this repository. Get {ORIGIN['locomo']}, and", file=sys.stderr)
        print(f"{ORIGIN['scifact']}; then: make bench-keywords LOCOMO=path SCIFACT=folder.", file=sys.stderr)
        return 2
    try:
        turns = [memory["text"] for talk in locomo(options.locomo) for memory in talk.memories]
        abstracts = scifact(options.scifact)
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    chance = random.Random(options.seed)  # noqa: S311 - it has to be the same every time
    kinds = {
        "turns": sampled(turns, chance, options.each),
        "claims": sampled((question.text for question in abstracts.questions), chance, options.each),
        "abstracts": sampled((memory["text"] for memory in abstracts.memories), chance, options.each),
    }
    print(
        f"{'':<10} {'n':>5} {'3 to 10':>8} {'3 as written':>13} {'3 in any form':>14} {'none generic':>13} {'all':>6}"
    )
    reached = True
    for name, texts in kinds.items():
        with TemporaryDirectory() as directory:
            judged = measure(texts, Path(directory))
        shares = [
            sum(getattr(one, part) for one in judged) / len(judged)
            for part in ("enough", "as_written", "in_text", "specific", "meets")
        ]
        reached = reached and shares[-1] >= GOALS[name]
        print(f"{name:<10} {len(judged):>5} {shares[0]:>8.3f} {shares[1]:>13.3f} {shares[2]:>14.3f} {shares[3]:>13.3f} "
              f"{shares[4]:>6.3f}")  # fmt: skip
        for one in [one for one in judged if not one.meets][:5]:
            print(f"    too few: {one.text[:90]!r} {', '.join(one.keywords)}")
        for one in judged[: _SHOWN // len(kinds) + 1]:
            print(f"    {' '.join(one.text.split())[:110]}\n        {' | '.join(one.keywords)}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
