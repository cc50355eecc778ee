"""`python -m bench.learn`: how well it is decided, without a language model, what is learned from texts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.learn import duplicates
from bench.ours import local_embedder
from bench.recall.vectors import Remembering

BENCH = Path(__file__).parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.sts is None and options.sick is None:
        print("The texts are not part of this repository. Name their folders: make bench-learn STS=folder SICK=folder.")
        print("\n".join(duplicates.ORIGIN.values()))
        return 2
    embedder = Remembering(local_embedder(), options.cache)
    parts = duplicates.load(options.sts, options.sick)
    reached = duplicates.report(parts, embedder)
    embedder.keep()
    return 0 if reached else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.learn", description=__doc__)
    for name, about in duplicates.ORIGIN.items():
        variable = name.upper()
        default = os.environ.get(variable) or None
        parser.add_argument(f"--{name}", type=Path, default=default, metavar="FOLDER", help=f"{about} [{variable}]")
    parser.add_argument("--cache", type=Path, default=BENCH / ".cache", help="vectors go here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
