"""`python -m bench.learn`: how well it is decided, without a language model, what is learned from texts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.corpus import ORIGIN, DataMissing, load
from bench.learn import (
    chats,
    corrections,
    cost,
    duplicates,
    episodes,
    forgetting,
    merging,
    noted,
    recall,
    sessions,
    statements,
)
from bench.ours import local_embedder
from bench.recall.data import locomo
from bench.recall.vectors import Remembering

BENCH = Path(__file__).parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.sts is None and options.sick is None and options.locomo is None:
        print("The texts are not part of this repository. Name what you have: make bench-learn STS=folder SICK=folder")
        print("\n".join((f"LOCOMO=path. LOCOMO: {ORIGIN['locomo']}", *duplicates.ORIGIN.values())))
    reached, corpus = True, None
    corrections.report(local_embedder())
    chats.report(local_embedder())
    cost.report_chats(local_embedder())
    noted.report()
    sessions.report()
    duplicates.report_own()
    forgetting.report(local_embedder())
    if options.sts or options.sick:
        embedder = Remembering(local_embedder(), options.cache)
        reached = duplicates.report(duplicates.load(options.sts, options.sick), embedder) and reached
        embedder.keep()
    if options.locomo:
        try:
            conversations = locomo(options.locomo)
            corpus = load(options.locomo, None, local_embedder(), options.cache, lambda _done, _total: None)
        except DataMissing as error:
            print(error, file=sys.stderr)
            return 2
        reached = statements.report(conversations) and reached
        reached = episodes.report(conversations, local_embedder()) and reached
        reached = cost.report(conversations, local_embedder()) and reached
        remembering = Remembering(local_embedder(), options.cache)
        reached = recall.report(conversations, remembering) and reached
        remembering.keep()
    if options.merging:
        reached = merging.report(corpus) and reached
    return 0 if reached else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.learn", description=__doc__)
    for name, about in duplicates.ORIGIN.items():
        variable = name.upper()
        default = os.environ.get(variable) or None
        parser.add_argument(f"--{name}", type=Path, default=default, metavar="FOLDER", help=f"{about} [{variable}]")
    parser.add_argument("--locomo", type=Path, default=os.environ.get("LOCOMO") or None, metavar="PATH")
    parser.add_argument(
        "--no-merging", dest="merging", action="store_false", help="leave out what saving costs: it takes minutes"
    )
    parser.add_argument("--cache", type=Path, default=BENCH / ".cache", help="vectors go here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
