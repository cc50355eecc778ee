"""`perdure recall`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import command, option
from perdure.cli.explain import show_bars, signals_field
from perdure.cli.filters import AS_OF, KNOWN_AT, about_the_past, chosen, filter_options, in_words
from perdure.cli.layout import clip, wrap
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, notes, row, safe, say, tell, width
from perdure.cli.stdin import words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import INDEXED_STATES, Hit, Recall, Record

if TYPE_CHECKING:
    from perdure.memory import Memory

_LINES_PER_HIT: Final = 5
_ALWAYS: Final = "constitutional"
# So many other namespaces are named where one is empty.
_NAMED: Final = 8
_EXAMPLES = (
    'perdure recall "which theme does she like?"',
    "perdure recall deployment --tag ops --since 2w --limit 3 --explain",
    "perdure recall 'release steps' -n alice -n team",
    "perdure recall 'where does Alice live' --as-of 2026-01-01",
    "perdure recall 'where does Alice live' --known-at yesterday",
    "perdure recall deployment --recipe tiered --no-decay",
    "perdure recall deployment --brief",
    "perdure recall --concept oauth --concept errors",
    """perdure recall 'who said "over my dead body" last week'""",
    "perdure recall theme --json | jq -r '.hits[].record.text'",
)


@command("recall", examples=_EXAMPLES)
@click.argument("query", nargs=-1)
@option("--limit", "-l", type=int, default=10, show_default=True, help="At most so many.")
@option(
    "--concept",
    "concepts",
    multiple=True,
    metavar="WORDS",
    help="Only memories that hold this, and how often; two to five of them.",
)
@option("--recipe", metavar="NAME", help="How to weigh the signals.  [default: balanced]")
@option("--explain", is_flag=True, help="Show what each signal gave to the score.")
@option("--brief", is_flag=True, help="Show one short line of each memory; `show` tells the rest.")
@AS_OF
@KNOWN_AT
@option("--no-decay", is_flag=True, help="Let memories that were not used for long count as much as others.")
@option("--no-constitutional", is_flag=True, help="Leave out the memories that are always shown.")
@filter_options(INDEXED_STATES)
@with_target(several=True)
def main(  # noqa: PLR0913 - one for each option
    target: Target,
    *,
    query: tuple[str, ...],
    concepts: tuple[str, ...],
    limit: int,
    recipe: str | None,
    explain: bool,
    brief: bool,
    no_decay: bool,
    no_constitutional: bool,
    **options: Any,
) -> None:
    r"""Find memories by meaning and by words.

    QUERY is a question or some words; `-`, or nothing with a pipe, reads standard input. A "phrase" in quotation marks
    must stand in the memory word for word; a time such as `last week` makes memories of that time come up. With
    --concept there need not be a QUERY.

    In a pipe each hit is one line of fields with tabs between them: number, score, namespace, time, category, tags,
    title, text (with --concept how often each is held, with --explain the signals). Tab, line break and backslash
    inside a field are written \t, \n and \\.

    Constitutional memories come first, with that word in place of a score. With --as-of or --known-at there are none:
    such an answer shows only what was, and does not count as use.
    """
    question = words_or_stdin(query, "The question") if query or not concepts else None
    asked = " ".join(concepts) if question is None else question
    past: dict[str, datetime | None] = {name: options.pop(name) for name in ("as_of", "known_at")}
    filters = chosen(options)
    several = target.namespaces if len(target.namespaces) > 1 else None
    with target.memory() as memory:
        found = memory.recall(
            question,
            concepts=concepts or None,
            limit=limit,
            namespaces=several,
            recipe=recipe,
            use_decay=False if no_decay else None,
            include_constitutional=not no_constitutional,
            **past,
            **filters,
        )
        if target.json:
            answer = {"lines": list(_brief(found))} if brief else to_jsonable(found)
            target.answer({**to_jsonable({name: moment for name, moment in past.items() if moment}), **answer})
            return
        notes((*about_the_past(**past), *found.notes))
        if not found:
            _nothing(target, memory, asked, found, filters, then=any(past.values()))
    if brief:
        for one in _brief(found):
            say(safe(f"{one['namespace']} {one['line']}" if several else one["line"]))
        return
    show_constitutional(found, several=several is not None)
    show_hits(found, asked, explain=explain, several=several is not None, then=any(past.values()))


def _brief(found: Recall) -> Iterator[dict[str, Any]]:
    from perdure.text.preview import one_line_preview

    for record in (*found.constitutional, *(hit.record for hit in found)):
        yield {"number": record.number, "namespace": record.namespace, "line": one_line_preview(record)}


def show_constitutional(found: Recall, *, several: bool = False) -> None:
    for record in found.constitutional:
        if not fancy():
            row(*_fields(record, _ALWAYS))
            continue
        place = f"{safe(record.namespace)} " if several else ""
        name = click.style(f"#{record.number}", fg="cyan", bold=True)
        say(f"{place}{name}  {click.style(_ALWAYS, fg='magenta')}  {dim(_joined(_facts(record)))}")
        _text(record, frozenset())
        say()


def show_hits(found: Recall, question: str, *, explain: bool, several: bool = False, then: bool = False) -> None:
    """`then`: the hits are versions of the past, and say which."""
    if not fancy():
        for hit in found:
            _row(hit, explain=explain)
        return
    words = _telling(question)
    # What stands above already is said once, unless the arithmetic was asked for.
    above = frozenset[str]() if explain else {record.id for record in found.constitutional}
    for position, hit in enumerate(hit for hit in found if hit.record.id not in above):
        if position:
            say()
        _paragraph(hit, found[0].score, words, explain=explain, several=several, then=then)


def _row(hit: Hit, *, explain: bool) -> None:
    concepts = [_counted(hit.concepts)] if hit.concepts else []
    row(*_fields(hit.record, f"{hit.score:.4f}"), *concepts, *([signals_field(hit.explain)] if explain else []))


def _fields(record: Record, score: str) -> tuple[object, ...]:
    when = format_time(record.valid_at or record.created_at)
    tags = ",".join(record.tags)
    return record.number, score, record.namespace, when, record.category, tags, record.title, record.text


def _paragraph(hit: Hit, best: float, words: frozenset[str], *, explain: bool, several: bool, then: bool) -> None:
    record = hit.record
    name = click.style(f"#{record.number}", fg="cyan", bold=True)
    place = f"{safe(record.namespace)} " if several else ""
    facts = _joined([f"version {record.version}", *_facts(record)] if then else _facts(record))
    say(f"{place}{name}  {click.style(f'{hit.score:.2f}', fg='green')}  {dim(facts)}")
    _text(record, words)
    if hit.concepts:
        say(f"    {dim(safe(f'Contains: {_counted(hit.concepts)}'))}")
    if explain:
        show_bars(hit.explain, best)


def _counted(concepts: Mapping[str, int]) -> str:
    return ", ".join(f"{concept} ({count})" for concept, count in concepts.items())


def _text(record: Record, words: frozenset[str]) -> None:
    marks = glyphs()
    if record.title:
        say(f"    {click.style(safe(clip(record.title, width() - 4, marks.more)), bold=True)}")
    for line in wrap(safe(record.text), width() - 4, _LINES_PER_HIT, marks.more):
        say(f"    {_highlighted(line, words)}")


def _joined(facts: list[str]) -> str:
    marks = glyphs()
    return clip(f" {marks.dot} ".join(facts), width() - 24, marks.more)


def _facts(record: Record) -> list[str]:
    facts = [record.category or "", ", ".join(record.tags), record.key or ""]
    facts.append(age(record.valid_at or record.created_at))
    if record.state != "active":
        facts.append(record.state)
    return [safe(fact) for fact in facts if fact]


def _telling(question: str) -> frozenset[str]:
    from perdure.text.stopwords import STOPWORDS

    return frozenset(word for word in re.findall(r"\w{2,}", question.lower()) if word not in STOPWORDS)


def _highlighted(line: str, words: frozenset[str]) -> str:
    return re.sub(r"\w+", lambda m: click.style(m[0], bold=True) if m[0].lower() in words else m[0], line)


def _nothing(
    target: Target, memory: Memory, question: str, found: Recall, filters: Mapping[str, Any], *, then: bool
) -> None:
    """An empty answer says what was tried, and what to try next."""
    tried = f"Nothing found for {clip(question, 60)!r}"
    tried += f" among those with {in_words(filters)}" if filters else ""
    tried += f" (searched by {_MODES[found.mode]})" if found.mode in _MODES else ""
    tell(safe(f"{tried}."))
    if filters or then:
        without = "the filters" if filters else "the time"
        tell(f"  Try without {without}: {target.hint('recall', question)}")
    elif len(memory.list(limit=1)):
        tell(f"  Try other words, or look through everything: {target.hint('list')}")
    else:
        tell(f"  There is no memory here yet. Store one: {target.hint('remember', 'Alice prefers dark mode')}")
        elsewhere = [safe(one.name) for one in memory.stats().namespaces if any(one.states.values())]
        if elsewhere:
            more = glyphs().more if len(elsewhere) > _NAMED else ""
            tell(f"  Namespaces with memories: {', '.join(elsewhere[:_NAMED])}{more}")


_MODES: Final = {"hybrid": "meaning and words", "keyword": "words alone", "vector": "meaning alone"}
