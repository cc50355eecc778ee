"""`python -m bench`: measure, print, and with --save write the page that the repository keeps."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench.chart import chart
from bench.contender import Contender
from bench.corpus import ORIGIN, DataMissing, load
from bench.ours import local_embedder
from bench.peers import PEERS
from bench.report import page
from bench.run import run, told

HERE = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.locomo is None:
        print(f"The texts are not part of this repository. Get {ORIGIN['locomo']},", file=sys.stderr)
        print("and name it: make bench LOCOMO=path (or python -m bench --locomo path).", file=sys.stderr)
        return 2
    peers = _peers(options.peers)
    missing = [peer.name for peer in peers if find_spec(_module(peer)) is None]
    if missing:
        print(f"Not installed: {', '.join(missing)}. `make bench-peers` installs them on the side.", file=sys.stderr)
        return 2
    try:
        with told("reading and embedding the texts"):
            corpus = load(options.locomo, options.scifact, local_embedder(), options.cache, _progress)
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    results = run(corpus, options.sizes, peers, options.peer_limit, options.cache)
    lines = list(page(results, _command(options)))
    print("\n".join(lines))
    if options.json:
        options.json.write_text(json.dumps(dataclasses.asdict(results), indent=1) + "\n", encoding="utf-8")
    if options.save:
        lines.insert(2, "![Hybrid recall](results.svg)\n")
        (HERE / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (HERE / "results.svg").write_text(chart(results), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    for name in ("locomo", "scifact"):
        variable = name.upper()
        about = f"{ORIGIN[name]} [{variable}]"
        parser.add_argument(f"--{name}", type=Path, default=os.environ.get(variable), metavar="PATH", help=about)
    parser.add_argument(
        "--sizes", type=_sizes, default=os.environ.get("BENCH_SIZES") or "1000,10000,100000",
        help="how many memories (default: %(default)s) [BENCH_SIZES]",
    )  # fmt: skip
    names = ",".join(peer.name for peer in PEERS)
    parser.add_argument("--peers", nargs="?", const="all", default="", help=f"all of {names}, or some of them")
    parser.add_argument("--peer-limit", type=int, default=100_000, help="above it only ours (default: %(default)s)")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="vectors and stores go here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures as JSON")
    parser.add_argument("--save", action="store_true", help="write bench/results.md and bench/results.svg")
    return parser


def _sizes(value: str) -> list[int]:
    return [int(size.replace("_", "")) for size in value.split(",")]


def _peers(named: str) -> list[type[Contender]]:
    wanted = {name.strip() for name in named.split(",")}
    return [peer for peer in PEERS if named == "all" or {peer.name, peer.store, peer.packages[0]} & wanted - {""}]


def _module(peer: type[Contender]) -> str:
    return peer.packages[0].replace("-", "_")


def _command(options: argparse.Namespace) -> str:
    given = ["make", "bench-peers" if options.peers else "bench", "LOCOMO=locomo10.json"]
    given += ["SCIFACT=scifact/corpus.jsonl"] if options.scifact else []
    given.append(f"BENCH_SIZES={','.join(map(str, options.sizes))}")
    return shlex.join(given)


def _progress(done: int, total: int) -> None:
    print(f"\r  {done:,} of {total:,}", end="" if done < total else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
