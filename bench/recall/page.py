"""The page that the repository keeps, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from bench.recall.data import CATEGORIES, NAMES
from bench.recall.fits import FLOORS, MOST_FALLEN, MOST_LOST, Fits, leave_one_out, with_floor
from bench.recall.ladder import CHOICES, LADDER, OURS, WEIGHTS
from bench.recall.results import DEPTHS, Answers, Results
from perdure.model import MIN_RELEVANCE
from perdure.recall.recipe import BALANCED

_PROTOCOL: Final = r"""
## How it is measured

One memory for each turn: `text` is what was said, with `[shares image: caption]` where there is one; the date of the
session is `valid_at`, and `metadata.speaker`, `conversation_id` and `session_id` are set. The question is asked word
for word. Evidence ids are read as `D:?(\d+):(\d+)`; those that are not in the dialogue are dropped, and four questions
without evidence are left out. `R@k` is the share of the evidence among the first k. nDCG@10 has the logarithm of 2 from
rank 1; MRR looks at the first fifty. LoCoMo is CC BY-NC 4.0, SciFact's claims CC BY 4.0 and its abstracts ODC-By 1.0;
neither is part of this repository.
"""
_OPENING: Final = """# How well recall finds

Written by `make bench-recall LOCOMO=… SCIFACT=…`; everything is stored and asked through `perdure.Memory`. The
embedding model is the local one that comes with Perdure (all-MiniLM-L6-v2, 22 million parameters, int8). No language
model, no reranker.

![LoCoMo, nDCG@10](recall.svg)
"""


def page(results: Results) -> Iterator[str]:
    yield _OPENING
    yield from _locomo(results)
    yield from _categories(results)
    yield from _sessions(results)
    yield from _pooled(results)
    yield from _times(results)
    yield from _chosen(results)
    yield from _fits(results)
    if results.scifact:
        yield from _scifact(results)
    yield _PROTOCOL.strip()


def _locomo(results: Results) -> Iterator[str]:
    first = next(iter(results.ladder.values()))
    yield "## LoCoMo, turn by turn"
    yield ""
    yield f"The turns of one conversation in a namespace of their own; {len(first.each()):,} questions without"
    yield f"category 5; the last column is the mean of the five categories ({len(first.questions):,} questions). From"
    yield "the fifth line on, each adds one idea to the one before; the interval holds 95 % of 2,000 resamples."
    yield ""
    depths = " | ".join(f"R@{depth}" for depth in DEPTHS)
    yield f"| | nDCG@10 | 95 % | {depths} | MRR | mean of five, nDCG@10 |"
    yield f"|---|{'---|' * (len(DEPTHS) + 4)}"
    for rung in LADDER:
        answers = results.ladder[rung.name]
        low, high = answers.interval
        found = " | ".join(_three(answers.found(depth)) for depth in DEPTHS)
        scores = f"{_three(answers.ndcg)} | {_three(low)}-{_three(high)} | {found} | {_three(answers.mrr)}"
        yield f"| {rung.about} | {scores} | {_three(answers.mean_of_categories)} |"
    yield ""


def _categories(results: Results) -> Iterator[str]:
    ours = results.ladder[OURS.name]
    names = [name for name in ours.of_category(CATEGORIES[0]) if name != "n"]
    yield "| `balanced`, category | n | " + " | ".join(names) + " |"
    yield f"|---|{'---|' * (len(names) + 1)}"
    for category in CATEGORIES:
        scores = ours.of_category(category)
        row = " | ".join(_three(scores[name]) for name in names)
        yield f"| {category} {NAMES[category]} | {scores['n']:.0f} | {row} |"
    yield ""
    yield "| nDCG@10 by category | " + " | ".join(map(str, CATEGORIES)) + " |"
    yield f"|---|{'---|' * len(CATEGORIES)}"
    for rung in LADDER:
        answers = results.ladder[rung.name]
        yield f"| {rung.about} | {' | '.join(_three(answers.of_category(one)['nDCG@10']) for one in CATEGORIES)} |"
    yield ""


def _sessions(results: Results) -> Iterator[str]:
    yield "## LoCoMo, by session"
    yield ""
    yield "All questions. A session stands where its best turn does; `all@5`: all sessions with evidence are among 5."
    yield ""
    names = list(results.ladder[OURS.name].sessions())
    yield "| | " + " | ".join(names) + " |"
    yield f"|---|{'---|' * len(names)}"
    for rung in LADDER:
        scores = results.ladder[rung.name].sessions()
        yield f"| {rung.about} | {' | '.join(_three(scores[name]) for name in names)} |"
    yield ""


def _pooled(results: Results) -> Iterator[str]:
    yield "## LoCoMo, all conversations in one namespace"
    yield ""
    yield "| | nDCG@10 | 95 % | R@10 | mean of five, nDCG@10 |"
    yield "|---|---|---|---|---|"
    for rung in (rung for rung in LADDER if rung.name in results.pooled):
        answers = results.pooled[rung.name]
        yield f"| {rung.about} | {_scores(answers)} | {_three(answers.mean_of_categories)} |"
    yield ""


def _times(results: Results) -> Iterator[str]:
    """Questions about a time alone, then those about something and a time."""
    shares, ndcgs = results.times.shares(), results.times.ndcgs()
    yield "## LoCoMo, questions about a time"
    yield ""
    asked = sum(number for number, _ in shares.values())
    yield f"{asked} questions made from the dates of the conversations, asked five minutes after the last turn, in"
    yield "five wordings such as “What did we talk about on 8 May?” and “Remind me what came up three sessions ago.”"
    yield "Measured is the share of the first ten that are of that time, divided by the most that could be. A session"
    yield "that is still going on does not count as one ago."
    yield ""
    yield "| kind | n | of that time |"
    yield "|---|---|---|"
    for kind, (number, share) in shares.items():
        yield f"| {kind} | {number} | {_three(share)} |"
    yield ""
    yield "Questions of LoCoMo that name no time, with the day or the month of their evidence added:"
    yield ""
    yield "| kind | n | nDCG@10 |"
    yield "|---|---|---|"
    for kind, (number, score) in ndcgs.items():
        yield f"| {kind} | {number} | {_three(score)} |"
    yield ""


def _scores(answers: Answers) -> str:
    low, high = answers.interval
    return f"{_three(answers.ndcg)} | {_three(low)}-{_three(high)} | {_three(answers.found(10))}"


def _chosen(results: Results) -> Iterator[str]:
    yield "## The weights"
    yield ""
    weights = ", ".join(f"{name.removesuffix('_weight')} {getattr(BALANCED, name):g}" for name in WEIGHTS)
    yield f"Beside a memory that weighs 1 itself: {weights}."
    yield "For each conversation the best of these, and of each of them half as large and half as large again, was"
    yield f"chosen on the nine others: nDCG@10 {_three(results.left_out.ndcg)}, mean of five"
    yield f"{_three(results.left_out.mean_of_categories)}. The ideas themselves were found on LoCoMo; leaving one out"
    yield "covers the weights alone. Chosen were:"
    abouts = {rung.name: "the weights above" if rung is OURS else rung.about for rung in CHOICES}
    counts = Counter(results.chosen.values()).most_common()
    yield "; ".join(f"{abouts[name]} ({count} of {len(results.chosen)})" for name, count in counts) + "."
    yield ""


def _fits(results: Results) -> Iterator[str]:
    yield "## Does an answer say when nothing fits?"
    yield ""
    yield "Each conversation in a namespace of its own is asked its own questions, 7 of each other conversation and 20"
    yield f"claims of SciFact, with `balanced`, whose `min_relevance` is {MIN_RELEVANCE:g}. Lost: of the own questions"
    yield "with evidence among the first ten, those that have none left. Chosen: for each conversation the highest of"
    limits = f"loses {MOST_LOST:.0%} at most and costs {_three(MOST_FALLEN)} of nDCG@10 at most"
    yield f"these that on the nine others {limits}."
    yield ""
    yield "| `min_relevance` | empty: SciFact | empty: other conversations | empty: own | lost | nDCG@10 falls by |"
    yield "|---|---|---|---|---|---|"
    for floor in FLOORS:
        yield f"| {floor:g} | {_fit_row(with_floor(results.fits, floor))} |"
    chosen, which = leave_one_out(results.fits)
    counts = Counter(which.values()).most_common()
    yield f"| chosen ({', '.join(f'{floor:g}: {count}' for floor, count in counts)}) | {_fit_row(chosen)} |"
    yield ""


def _fit_row(fits: Fits) -> str:
    shares = (fits.claims_empty, fits.others_empty, fits.own_empty, fits.lost)
    return " | ".join([*(f"{share:.1%}" for share in shares), f"{fits.fallen:.4f}"])


def _scifact(results: Results) -> Iterator[str]:
    first = next(iter(results.scifact.values()))
    yield "## SciFact"
    yield ""
    yield f"Abstracts that stand in no conversation, and {len(first.questions)} claims; the same settings."
    yield ""
    yield "| | nDCG@10 | 95 % | R@10 |"
    yield "|---|---|---|---|"
    for rung in (rung for rung in LADDER if rung.name in results.scifact):
        about = "`balanced`" if rung is OURS else rung.about
        yield f"| {about} | {_scores(results.scifact[rung.name])} |"
    yield ""


def _three(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
