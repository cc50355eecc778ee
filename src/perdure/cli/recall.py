"""`perdure recall`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.filter_options import about_the_past, filters_in_words, given_options, search_options
from perdure.cli.render import View, empty_answer
from perdure.cli.score_view import score_bars, signals_field
from perdure.cli.stdin import words_or_stdin
from perdure.cli.terminal import dim, glyphs, note, number_label, safe, width
from perdure.cli.text_layout import clip, wrap
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import brief_document, past_document
from perdure.model import Hit, Outdated, Recall, Record
from perdure.recall.envelope import doubt_about
from perdure.recall.same_question import without_same_question
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.memory import Memory

_LINES_PER_HIT: Final = 5
# A passage has about 400 characters, and what answers may be its end.
_LINES_OF_PASSAGE: Final = 8
_ALWAYS: Final = "constitutional"
_MAX_NAMESPACES_NAMED: Final = 8
_MODES: Final = {
    "hybrid": "meaning and words",
    "keyword": "words alone",
    "vector": "meaning alone",
    "time": "time alone",
}
_EXAMPLES: Final = (
    'perdure recall "which theme does she like?"',
    "perdure recall deployment --tag ops --since 2w --limit 3 --explain",
    "perdure recall 'release steps' -n alice -n team",
    "perdure recall 'where does Alice live' --as-of 2026-01-01",
    "perdure recall 'where does Alice live' --known-at yesterday",
    "perdure recall deployment --recipe tiered --no-decay",
    "perdure recall 'what does she drink?' --min-relevance 0",
    "perdure recall deployment --brief",
    "perdure recall --concept oauth --concept errors",
    """perdure recall 'who said "over my dead body" last week'""",
    "perdure recall theme --json | jq -r '.hits[].record.text'",
)


@command("recall", examples=_EXAMPLES, several=True)
@click.argument("query", nargs=-1)
@option("--limit", "-l", type=int, default=10, show_default=True, help="Maximum number of results.")
@option("--explain", is_flag=True, help="Show what each signal gave to the score.")
@option("--brief", is_flag=True, help="Show one short line of each memory; `show` tells the rest.")
@option("--no-decay", is_flag=True, help="Let memories that were not used for long count as much as others.")
@search_options
def main(
    target: Target,
    *,
    query: tuple[str, ...],
    explain: bool,
    brief: bool,
    no_decay: bool,
    no_constitutional: bool,
    **options: Any,
) -> View:
    r"""Find memories by meaning and by words.

    QUERY is a question or some words; `-`, or nothing with a pipe, reads standard input. A "phrase" in quotation marks
    must stand in the memory word for word; a time such as `last week` makes memories of that time come up. With
    --concept there need not be a QUERY.

    In a pipe each hit is one line of fields with tabs between them: number, relevance, namespace, time, category, tags,
    title, text (with --concept how often each is held, with --explain the score and its signals). Tab, line break and
    backslash inside a field are written \t, \n and \\.

    The number of a hit is its relevance: how well it fits, from 0 to 1. Where nothing fits, the answer is empty and
    says what came nearest.

    Constitutional memories come first, with that word in place of a relevance. With --as-of or --known-at they are left
    out, and the answer does not count as use.
    """
    question = words_or_stdin(query, "The question") if query or not options["concepts"] else None
    asked = " ".join(options["concepts"]) if question is None else question
    times = {"as_of": options["as_of"], "known_at": options["known_at"]}
    with target.memory() as memory:
        recall = memory.recall(
            question,
            namespaces=target.several,
            use_decay=False if no_decay else None,
            include_constitutional=not no_constitutional,
            **given_options(options),
        )
        if question is not None and not explain:
            recall = replace(recall, hits=without_same_question(recall.hits, question))
        again = partial(target.hint, "recall", asked, no_constitutional=no_constitutional)
        nothing = () if recall else _nothing(target, memory, asked, recall, options, again)
    before = (*about_the_past(**times), *map(note, recall.notes), *nothing)
    if brief:
        document = brief_document(recall)
        heads = (f"{each['namespace']} " if target.several else "" for each in document["lines"])
        lines = [safe(head + each["line"]) for head, each in zip(heads, document["lines"], strict=True)]
        return View(json=past_document(document, **times), lines=lines, before=before)
    rows: list[Sequence[object]] = [_row(record, _ALWAYS) for record in recall.constitutional]
    for hit in _below(recall, explain=explain):
        concepts = [_counted(hit.concepts)] if hit.concepts else []
        signals = [signals_field(hit.explain, hit.score)] if explain else []
        rows.append((*_row(hit.record, f"{hit.relevance:.4f}"), *concepts, *signals))
    return View(
        json=past_document(recall, **times),
        lines=_page(recall, asked, explain=explain, several=bool(target.several), past=any(times.values())),
        rows=rows,
        before=before,
    )


def _row(record: Record, relevance: str) -> Sequence[object]:
    when, tags = format_time(record.valid_at or record.created_at), ",".join(record.tags)
    return record.number, relevance, record.namespace, when, record.category, tags, record.title, record.text


def _page(recall: Recall, question: str, *, explain: bool, several: bool, past: bool) -> Iterator[str]:
    """`past`: the hits are versions of the past, and say which."""
    from perdure.text.stopwords import STOPWORDS

    words = frozenset(word for word in re.findall(r"\w{2,}", question.lower()) if word not in STOPWORDS)
    for record in recall.constitutional:
        yield _heading(record, click.style(_ALWAYS, fg="magenta"), several=several)
        yield from _text(record, frozenset())
        yield ""
    hits = _below(recall, explain=explain)
    # What speaks against a memory makes no other bar longer.
    signals = [hit.explain.values() for hit in hits] if explain else []
    most = max((sum(max(signal.contribution, 0.0) for signal in each) for each in signals), default=1.0)
    for position, hit in enumerate(hits):
        if position:
            yield ""
        version = (f"version {hit.record.version}",) if past else ()
        marked = (*map(str, hit.contradicts), *version)
        shown = click.style(f"{hit.relevance:.2f}", fg="green")
        yield _heading(hit.record, shown, *marked, several=several, outdated=hit.outdated)
        yield from _text(hit.record, words, question, hit.passage)
        if hit.concepts:
            yield f"    {dim(safe(f'Contains: {_counted(hit.concepts)}'))}"
        if explain:
            yield from score_bars(hit.explain, hit.score, most)


def _below(recall: Recall, *, explain: bool) -> list[Hit]:
    """A constitutional memory stands above already; it is said once, unless the arithmetic was asked for."""
    above = frozenset[str]() if explain else {record.id for record in recall.constitutional}
    return [hit for hit in recall if hit.record.id not in above]


def _heading(record: Record, relevance: str, *first: str, several: bool, outdated: Outdated | None = None) -> str:
    """`first` is what must be seen, however much else there is to say."""
    marks, state = glyphs(), record.state if record.state != "active" else None
    state = str(outdated) if outdated else state
    when = age(record.valid_at or record.created_at)
    facts = (*first, record.category, ", ".join(record.tags), record.key, when, state, doubt_about(record))
    shown = clip(f" {marks.dot} ".join(safe(fact) for fact in facts if fact), width() - 24, marks.more)
    namespace = f"{safe(record.namespace)} " if several else ""
    return f"{namespace}{number_label(record.number)}  {relevance}  {dim(shown)}"


def _text(
    record: Record, words: frozenset[str], question: str = "", passage: tuple[int, int] | None = None
) -> Iterator[str]:
    """Title and text, or what stands around the passage of it that was found; the words of the question stand out."""
    marks, columns, text, lines = glyphs(), width() - 4, record.text, _LINES_PER_HIT
    if passage is not None:
        from perdure.recall.excerpt import excerpt, terms_of

        lines = _LINES_OF_PASSAGE
        text = excerpt(text, terms_of(question), lines * columns, len, passage=passage)
    if record.title:
        yield f"    {click.style(safe(clip(record.title, columns, marks.more)), bold=True)}"
    for line in wrap(safe(text), columns, lines, marks.more):
        marked = re.sub(r"\w+", lambda m: click.style(m[0], bold=True) if m[0].lower() in words else m[0], line)
        yield f"    {marked}"


def _counted(concepts: Mapping[str, int]) -> str:
    return ", ".join(f"{concept} ({count})" for concept, count in concepts.items())


def _nothing(
    target: Target,
    memory: Memory,
    question: str,
    recall: Recall,
    options: Mapping[str, Any],
    again: Callable[..., str],
) -> tuple[str, ...]:
    """An empty answer says what was tried, and what to try next."""
    narrowed = filters_in_words(options)
    tried = f"Nothing found for {clip(question, 60)!r}"
    tried += f" among memories{narrowed}" if narrowed else ""
    tried += f" (searched by {_MODES[recall.mode]})." if recall.mode in _MODES else "."
    if narrowed or options["as_of"] or options["known_at"]:
        without = "the filters" if narrowed else "the time"
        return empty_answer(tried, f"Try without {without}: {again()}")
    if recall.nearest is not None:
        return empty_answer(tried, f"Show it all the same: {again(min_relevance=0)}")
    if len(memory.list(limit=1)):
        return empty_answer(tried, f"Try other words, or look through everything: {target.hint('list')}")
    elsewhere = [safe(each.name) for each in memory.stats().namespaces if any(each.states.values())]
    more = glyphs().more if len(elsewhere) > _MAX_NAMESPACES_NAMED else ""
    others = f"Namespaces with memories: {', '.join(elsewhere[:_MAX_NAMESPACES_NAMED])}{more}"
    return empty_answer(tried, f"There is no memory here yet. {target.first_memory}", *([others] if elsewhere else []))
