"""What Perdure wants of itself, and whether this run shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bench.cold import BARE, COMMAND
from bench.ours import Perdure, PerdureEmbedding
from bench.run import AtSize, Results
from bench.worker import ALL

US = Perdure.name
OURSELVES = (Perdure.name, PerdureEmbedding.name)
ONLY_VECTORS = "chromadb, vectors only"

INGEST: Final = 0.9
EXACT: Final = 0.99
COMMON: Final = 2.0
ADD: Final = 3.0
AHEAD: Final = {10_000: 3.0}
MILLISECONDS: Final = {100_000: 5.0}


@dataclass(frozen=True, slots=True)
class Verdict:
    goal: str
    found: str
    met: bool | None


def verdicts(results: Results) -> Iterator[Verdict]:
    for at in results.sizes:
        yield from _of_size(at)
    if results.ingest:
        share, shares = results.ingest.share, results.ingest.shares
        found = f"{share:.2f} ({min(shares):.2f} to {max(shares):.2f})"
        yield Verdict(f"ingest, not compared, at least {INGEST} of the bare embedder", found, share >= INGEST)
        yield Verdict("the same, each memory compared with those near it", f"{results.ingest.compared_share:.2f}", None)


def _of_size(at: AtSize) -> Iterator[Verdict]:
    times = AHEAD.get(at.size, 1.0)
    rivals = {
        name: timing.p50 / at.recall[US].p50
        for name, timing in at.recall.items()
        if name not in OURSELVES and name != ONLY_VECTORS
    }
    if rivals:
        name, ratio = min(rivals.items(), key=lambda item: item[1])
        goal = f"{at.size:,}: hybrid recall faster than every peer" + (f", {times:.0f} times" if times > 1 else "")
        yield Verdict(goal, f"{ratio:.1f} times ({name})", ratio >= times)
    if aim := MILLISECONDS.get(at.size):
        p50 = at.recall[US].p50
        yield Verdict(f"{at.size:,}: hybrid recall in {aim:.0f} ms", f"{p50:.1f} ms", p50 <= aim)
    yield from _adds(at)
    if at.exact:
        yield Verdict(f"{at.size:,}: exactness at least {EXACT}", f"{at.exact[US]:.3f}", at.exact[US] >= EXACT)
    ratio = at.common[US].p50 / at.recall[US].p50
    yield Verdict(f"{at.size:,}: five common words at most {COMMON:.0f} questions", f"{ratio:.2f}", ratio <= COMMON)
    ratio = at.cold[COMMAND].p50 / at.cold[BARE].p50
    yield Verdict(f"{at.size:,}: cold `perdure recall`", f"{ratio:.0f} times `{BARE}`", None)


def _adds(at: AtSize) -> Iterator[Verdict]:
    if US not in at.adds.add:
        return
    ours = at.adds.add[US].p50
    others = {name: timing.p50 / ours for name, timing in at.adds.add.items() if name not in (*OURSELVES, "sqlite-vec")}
    if others:
        yield _add(f"{at.size:,}: durable add {ADD:.0f} times faster than every peer but sqlite-vec", others)
    if synced := {name: ratio for name, ratio in others.items() if ALL[name].syncs}:
        yield _add(f"{at.size:,}: the same, among those that sync to disk", synced)


def _add(goal: str, ratios: Mapping[str, float]) -> Verdict:
    name, ratio = min(ratios.items(), key=lambda item: item[1])
    return Verdict(goal, f"{ratio:.1f} times ({name})", ratio >= ADD)
