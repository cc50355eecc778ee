"""`python -m bench.secrets [PATH/TO/locomo10.json]`: which planted secrets are found, which harmless text is touched.

The secrets come from `tests/planted_secrets.py`, of as many seeds as are asked for. Harmless are the turns of LoCoMo
(snap-research/locomo on GitHub, CC BY-NC 4.0; not part of this repository), and the lines of this repository's code and
of the standard library of the Python that runs this. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any, Final

from perdure.text.secrets import redact
from tests.planted_secrets import Planted, planted, unlisted

RECALL_GOAL: Final = 0.95
HARMLESS_GOAL: Final = 0.005
_SOURCE: Final = Path(__file__).parents[1] / "src"
# Where the source shows what a secret looks like.
_SHOWS_SECRETS: Final = _SOURCE / "perdure" / "text" / "secrets"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.secrets", description=__doc__)
    parser.add_argument("locomo", nargs="?", type=Path, help="locomo10.json")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args(arguments)
    seeds = range(1000, 1000 + options.seeds)
    goals = [_recall("planted", planted, seeds) >= RECALL_GOAL]
    _recall("of vendors without a pattern", unlisted, seeds)
    library = Path(sysconfig.get_paths()["stdlib"])
    ours = (path for path in _SOURCE.rglob("*.py") if _SHOWS_SECRETS not in path.parents)
    goals.append(_harmless("lines of our own code", _lines(ours)) <= HARMLESS_GOAL)
    standard = (path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    goals.append(_harmless("lines of the standard library", _lines(standard)) <= HARMLESS_GOAL)
    if options.locomo:
        goals.append(_harmless("turns of conversations", list(_turns(options.locomo))) <= HARMLESS_GOAL)
    else:
        print("Without conversations: name locomo10.json (make bench-secrets LOCOMO=path).")
    return 0 if all(goals) else 1


def _recall(what: str, plant: Callable[[int], Iterable[Planted]], seeds: Iterable[int]) -> float:
    secrets = [secret for seed in seeds for secret in plant(seed)]
    missed = Counter(secret.kind for secret in secrets if secret.secret in redact(secret.text).text)
    share = 1 - missed.total() / len(secrets)
    kinds = len({secret.kind for secret in secrets})
    worst = ", ".join(f"{kind} {count}" for kind, count in missed.most_common(5))
    print(f"{what}: {share:.1%} of {len(secrets)} secrets of {kinds} kinds are found; missed: {worst or 'none'}")
    return share


def _harmless(what: str, texts: Sequence[str]) -> float:
    began = process_time()
    touched = sum(redact(text).text is not text for text in texts)
    took = process_time() - began
    share = touched / len(texts)
    print(f"{what}: {touched} of {len(texts)} are touched ({share:.3%}), {1e6 * took / len(texts):.1f} µs each")
    return share


def _lines(paths: Iterable[Path]) -> list[str]:
    found: list[str] = []
    for path in paths:
        try:
            found += path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
    return found


def _turns(path: Path) -> Iterator[str]:
    samples: list[dict[str, dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    for sample in samples:
        for name, part in sample["conversation"].items():
            if re.fullmatch(r"session_\d+", name):
                yield from (turn["text"] for turn in part)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
