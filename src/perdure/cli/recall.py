"""`perdure recall`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import command, option
from perdure.cli.filters import chosen, filter_options, in_words
from perdure.cli.layout import cells, clip, pad, wrap
from perdure.cli.moments import age
from perdure.cli.screen import Glyphs, dim, fancy, glyphs, notes, row, safe, say, tell, width
from perdure.cli.stdin import words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.model import INDEXED_STATES, Hit, Recall, Record, Signal
from perdure.plain import plain

if TYPE_CHECKING:
    from perdure.memory import Memory

_LINES_PER_HIT: Final = 5
_BAR_CELLS: Final = 24
_EXAMPLES = (
    'perdure recall "which theme does she like?"',
    "perdure recall deployment --tag ops --since 2w --limit 3 --explain",
    "perdure recall 'release steps' -n alice -n team",
    "perdure recall theme --json | jq -r '.hits[].record.text'",
)


@command("recall", examples=_EXAMPLES)
@click.argument("query", nargs=-1)
@option("--limit", "-l", type=int, default=10, show_default=True, help="At most so many.")
@option("--recipe", metavar="NAME", help="How to weigh the signals.  [default: balanced]")
@option("--explain", is_flag=True, help="Show what each signal gave to the score.")
@filter_options(INDEXED_STATES)
@with_target(several=True)
def main(
    target: Target, *, query: tuple[str, ...], limit: int, recipe: str | None, explain: bool, **options: Any
) -> None:
    r"""Find memories by meaning and by words.

    QUERY is a question or some words; `-`, or nothing with a pipe, reads standard input. In a pipe each hit is one
    line of fields with tabs between them: number, score, namespace, time, category, tags, title, text (and with
    --explain the signals). Tab, line break and backslash inside a field are written \t, \n and \\.
    """
    question = words_or_stdin(query, "The question")
    filters = chosen(options)
    several = target.namespaces if len(target.namespaces) > 1 else None
    with target.memory() as memory:
        found = memory.recall(question, limit=limit, namespaces=several, recipe=recipe, **filters)
        if target.json:
            target.answer(plain(found))
            return
        notes(found.notes)
        if not found:
            _nothing(target, memory, question, found, filters)
    show_hits(found, question, explain=explain, several=several is not None)


def show_hits(found: Recall, question: str, *, explain: bool, several: bool = False) -> None:
    if not fancy():
        for hit in found:
            _row(hit, explain=explain)
        return
    words = _telling(question)
    for position, hit in enumerate(found):
        if position:
            say()
        _paragraph(hit, found[0].score, words, explain=explain, several=several)


def _row(hit: Hit, *, explain: bool) -> None:
    record = hit.record
    signals = [",".join(f"{name}={signal.contribution:.4f}" for name, signal in hit.explain.items())] if explain else []
    when = format_time(record.valid_at or record.created_at)
    tags = ",".join(record.tags)
    row(record.number, f"{hit.score:.4f}", record.namespace, when, record.category, tags, record.title, record.text,
        *signals)  # fmt: skip


def _paragraph(hit: Hit, best: float, words: frozenset[str], *, explain: bool, several: bool) -> None:
    record, marks = hit.record, glyphs()
    name = click.style(f"#{record.number}", fg="cyan", bold=True)
    place = f"{safe(record.namespace)} " if several else ""
    facts = f" {marks.dot} ".join(_facts(record))
    say(f"{place}{name}  {click.style(f'{hit.score:.2f}', fg='green')}  {dim(clip(facts, width() - 24, marks.more))}")
    if record.title:
        say(f"    {click.style(safe(clip(record.title, width() - 4, marks.more)), bold=True)}")
    for line in wrap(safe(record.text), width() - 4, _LINES_PER_HIT, marks.more):
        say(f"    {_highlighted(line, words)}")
    if explain:
        _bars(hit.explain, best, marks)


def _facts(record: Record) -> list[str]:
    facts = [record.category or "", ", ".join(record.tags), record.key or ""]
    facts.append(age(record.valid_at or record.created_at))
    if record.state != "active":
        facts.append(record.state)
    return [safe(fact) for fact in facts if fact]


def _bars(signals: Mapping[str, Signal], best: float, marks: Glyphs) -> None:
    column = max((cells(name) for name in signals), default=0)
    for name, signal in signals.items():
        share = signal.contribution / best if best > 0 else 0.0
        filled = round(_BAR_CELLS * min(max(share, 0.0), 1.0))
        bar = click.style(marks.full * filled, fg="green") + dim(marks.rest * (_BAR_CELLS - filled))
        say(f"    {pad(safe(name), column)}  {bar}  {signal.contribution:.3f} {dim(_arithmetic(signal))}")


def _arithmetic(signal: Signal) -> str:
    if signal.rank is None and not signal.raw:
        return "(no match)"
    rank = f", rank {signal.rank}" if signal.rank is not None else ""
    return f"= {signal.weight:.2f} x {signal.normalised:.2f} (raw {signal.raw:.3f}{rank})"


def _telling(question: str) -> frozenset[str]:
    from perdure.text.stopwords import STOPWORDS

    return frozenset(word for word in re.findall(r"\w{2,}", question.lower()) if word not in STOPWORDS)


def _highlighted(line: str, words: frozenset[str]) -> str:
    return re.sub(r"\w+", lambda m: click.style(m[0], bold=True) if m[0].lower() in words else m[0], line)


def _nothing(target: Target, memory: Memory, question: str, found: Recall, filters: Mapping[str, Any]) -> None:
    """An empty answer says what was tried, and what to try next."""
    tried = f"Nothing found for {clip(question, 60)!r}"
    tried += f" among those with {in_words(filters)}" if filters else ""
    tried += f" (searched by {_MODES[found.mode]})" if found.mode in _MODES else ""
    tell(safe(f"{tried}."))
    if filters:
        tell(f"  Try without the filters: {target.hint('recall', question)}")
    elif len(memory.list(limit=1)):
        tell(f"  Try other words, or look through everything: {target.hint('list')}")
    else:
        tell(f"  There is no memory here yet. Store one: {target.hint('remember', 'Alice prefers dark mode')}")


_MODES: Final = {"hybrid": "meaning and words", "keyword": "words alone", "vector": "meaning alone"}
