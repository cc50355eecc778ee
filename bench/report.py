"""The figures as a page: ratios first, because they travel; milliseconds second, because they are this machine's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final, TypeAlias

from bench.cold import BARE, COMMAND
from bench.goals import US, verdicts
from bench.measure import Timing
from bench.run import AtSize, Results
from bench.worker import ALL

Row: TypeAlias = Sequence[str]

_TWO_DIGITS: Final = 10


_SHAPED: Final = (
    "Three of these rows were shaped by what was found, and count for less: the one on peers that sync to disk was",
    "added after a first run (LanceDB was seen to sync nothing), the limit for common words is our own, and ingest is",
    "measured in alternating chunks since two runs of the simpler way disagreed.",
)


def page(results: Results, command: str) -> Iterator[str]:
    yield from ("# How fast Perdure is", "")
    yield from _introduction(results)
    yield from ("", "## Goals", "")
    marks = {True: "met", False: "missed", None: ""}
    yield from table(
        ("goal", "found", ""), [(verdict.goal, verdict.found, marks[verdict.met]) for verdict in verdicts(results)]
    )
    yield from ("", *_SHAPED)
    yield from ("", "## Times slower than Perdure, in the same run", "")
    yield from _against_us(results.sizes)
    yield from ("", "## Milliseconds, p50 (p95)", "")
    yield from _milliseconds(results.sizes)
    yield from ("", "## The rest of it", "")
    yield from _rest(results)
    yield from ("", "## How to repeat it", "")
    yield from _repeat(results, command)


def table(head: Row, rows: Iterable[Row]) -> Iterator[str]:
    """A Markdown table that is also readable as it stands."""
    every = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(head))]
    for number, row in enumerate(every):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def _introduction(results: Results) -> Iterator[str]:
    where = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    yield f"Written by `python -m bench`. Machine: {where}."
    yield "Packages: " + ", ".join(f"{name} {version}" for name, version in results.packages.items()) + "."
    yield ""
    yield "Everyone answers the same question in turn, each in a process of its own, in random order, so that whatever"
    yield "else the machine does hits all alike, with a short pause between two calls: a tight loop would be faster."
    yield "Vectors are given: embedding is in no figure but where it is named."
    yield f"The first {results.real_texts:,} memories are real with their real vectors: turns of LoCoMo, sentences of"
    yield "SciFact. Above that number texts are recombined from them, and vectors accordingly, with some noise."
    yield "Questions are those of LoCoMo. A hybrid recall answers with the ten best texts, by words and by meaning."


def _against_us(sizes: Sequence[AtSize]) -> Iterator[str]:
    others = [name for name in _names(sizes) if name != US]
    rows = [
        (f"{at.size:,}", what, *(_ratio(timings, name) for name in others))
        for what in _measures(sizes[0])
        for at in sizes
        if len(timings := _measures(at)[what]) > 1
    ]
    yield from table(("memories", "", *others), rows)


def _milliseconds(sizes: Sequence[AtSize]) -> Iterator[str]:
    rows = [
        (name, f"{at.size:,}", *(_timing(timings.get(name)) for timings in _measures(at).values()))
        for name in _names(sizes)
        for at in sizes
        if name in at.recall
    ]
    yield from table(("", "memories", *_measures(sizes[0])), rows)


def _measures(at: AtSize) -> dict[str, Mapping[str, Timing]]:
    cold = {US if name == COMMAND else name: timing for name, timing in at.cold.items() if name != BARE}
    return {
        "hybrid recall": at.recall,
        "five common words": at.common,
        "durable add": at.adds.add,
        "add after a recall": at.adds.add_after_recall,
        "recall after an add": at.adds.recall_after_add,
        "cold process": cold,
    }


def _rest(results: Results) -> Iterator[str]:
    rows = [
        (
            name,
            f"{at.size:,}",
            f"{at.exact[name]:.3f}" if name in at.exact else "",
            f"{at.disk[name] / at.size:,.0f}" if name in at.disk else "",
            f"{at.resident[name] / 1e6:,.0f}",
            f"{at.size / at.built[name]:,.0f}" if name in at.built else "",
            f"{at.opened[name]:,.0f}",
            f"{at.first[name]:,.0f}",
        )
        for name in _names(results.sizes)
        for at in results.sizes
        if name in at.recall
    ]
    head = (
        "",
        "memories",
        "exactness",
        "bytes a memory",
        "resident MB",
        "built, rows/s",
        "import and open, ms",
        "first recall, ms",
    )
    yield from table(head, rows)
    yield ""
    yield "Exactness: the share of the ten nearest vectors that a question finds whose word stands in no text."
    last = results.sizes[-1]
    split = ", ".join(f"{name} {size / last.size:,.0f}" for name, size in last.tables.items() if size >= last.size)
    yield f"Perdure's bytes a memory at {last.size:,}, by table with its indexes: {split}."
    for at in results.sizes:
        bare, ours = at.cold[BARE].p50, at.cold[COMMAND].p50
        yield f"Cold `perdure recall`, question embedded, at {at.size:,}: {ours:.0f} ms; `{BARE}`: {bare:.0f} ms."
    if results.ingest:
        yield (
            f"Ingest, embedding included: {median(results.ingest.stored):.0f} texts/s, and "
            f"{median(results.ingest.compared):.0f} where `work` compares them; the bare embedder on the same texts: "
            f"{median(results.ingest.bare):.0f}. The five common words: {results.common_words}."
        )


def _repeat(results: Results, command: str) -> Iterator[str]:
    yield from ("```", command, "```", "")
    for name in _names(results.sizes):
        yield f"- **{name}**: {ALL[name].about}{'' if ALL[name].syncs else '; its adds are not synced to disk'}"


def _names(sizes: Sequence[AtSize]) -> list[str]:
    return list(dict.fromkeys(name for at in sizes for name in at.recall))


def _ratio(timings: Mapping[str, Timing], name: str) -> str:
    if name not in timings:
        return ""
    ratio = timings[name].p50 / timings[US].p50
    return f"{ratio:,.0f}" if ratio >= _TWO_DIGITS else f"{ratio:.2g}"


def _timing(timing: Timing | None) -> str:
    return f"{short(timing.p50)} ({short(timing.p95)})" if timing else ""


def short(milliseconds: float) -> str:
    return f"{milliseconds:,.{2 if milliseconds < _TWO_DIGITS else 0}f}"
