"""`python -m bench.recall`: how well recall finds, on real data, through `perdure.Memory`; with --save, as a page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.corpus import ORIGIN, DataMissing
from bench.ours import local_embedder
from bench.recall.data import Collection, locomo, scifact
from bench.recall.fits import ask_all
from bench.recall.ladder import CHOICES, LADDER, OURS
from bench.recall.page import page
from bench.recall.plot import plot
from bench.recall.results import Answers, Results, leave_one_out, over, pooled
from bench.recall.runs import stored
from bench.recall.times import measured as measured_times
from bench.recall.vectors import Remembering
from bench.run import told

BENCH = Path(__file__).parent.parent
_POOLED = ("words", "meaning", "facts", "sum", OURS.name)
_SCIFACT = ("words", "meaning", "facts", OURS.name)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.locomo is None:
        print(f"The texts are not part of this repository. Get {ORIGIN['locomo']},", file=sys.stderr)
        print("and name it: make bench-recall LOCOMO=path SCIFACT=folder.", file=sys.stderr)
        return 2
    try:
        conversations = locomo(options.locomo)
        abstracts = scifact(options.scifact) if options.scifact else None
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    results = _measured(conversations, abstracts, options.cache)
    lines = list(page(results))
    print("\n".join(lines))
    if options.save:
        (BENCH / "recall.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (BENCH / "recall.svg").write_text(plot(results), encoding="utf-8")
    return 0


def _measured(conversations: Sequence[Collection], abstracts: Collection | None, cache: Path) -> Results:
    embedder = Remembering(local_embedder(), cache)
    with stored(conversations, embedder) as memory:
        ladder: dict[str, Answers] = {}
        for rung in LADDER:
            with told(rung.about):
                ladder[rung.name] = over(memory, conversations, rung)
        tried = {OURS.name: ladder[OURS.name]}
        for rung in CHOICES[1:]:
            with told(rung.about):
                tried[rung.name] = over(memory, conversations, rung, 10)
        left_out, chosen = leave_one_out(conversations, tried)
        together: dict[str, Answers] = {}
        for rung in (rung for rung in LADDER if rung.name in _POOLED):
            with told(f"all conversations in one namespace: {rung.about}"):
                together[rung.name] = pooled(memory, conversations, rung)
        with told("questions that nothing fits"):
            fits = ask_all(memory, conversations, abstracts.questions if abstracts else ())
    with told("questions about times"):
        times = measured_times(conversations, embedder)
    embedder.keep()
    science: dict[str, Answers] = {}
    if abstracts is not None:
        with told("SciFact"), stored([abstracts], embedder) as memory:
            science = {rung.name: over(memory, [abstracts], rung) for rung in LADDER if rung.name in _SCIFACT}
        embedder.keep()
    return Results(ladder, together, left_out, chosen, science, fits, times)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    for name in ORIGIN:
        variable = name.upper()
        about = f"{ORIGIN[name]} [{variable}]"
        parser.add_argument(f"--{name}", type=Path, default=os.environ.get(variable), metavar="PATH", help=about)
    parser.add_argument("--cache", type=Path, default=BENCH / ".cache", help="vectors go here")
    parser.add_argument("--save", action="store_true", help="write bench/recall.md and bench/recall.svg")
    return parser


if __name__ == "__main__":
    sys.exit(main())
