"""What changed: Today, the log with its undo, going back, and what was erased."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from perdure.lifecycle.model_rights import is_of_person
from perdure.model import Revision
from perdure.text.preview import clip
from perdure.web.actions import action_form, field_form
from perdure.web.layout import back_then, data_table, empty, spoken
from perdure.web.markup import Child, Markup, PageLink, a, div, h2, li, nav, p, section, small, span, ul
from perdure.web.results import (
    by_words,
    count,
    is_proposed,
    is_taken_back,
    is_undo_of_undo,
    line_text,
    receipt_screen,
    told_changes,
    without_proposals,
)
from perdure.web.screens.places import oldest_of, past_line
from perdure.web.visit import PAGE, Shown, Visit, past_of, when

_ENTRIES: Final = 20
_TODAY: Final = 100
_MOST: Final = 500
_LOOKED_AT: Final = 1500
_LINES: Final = 200
_SHOWN: Final = 4
_FIRST: Final = (
    'perdure remember "Alice prefers dark mode"', "perdure install claude-code", "perdure import CLAUDE.md"
)  # fmt: skip


def today(visit: Visit) -> Shown:
    """What changed, by what one undo takes back; what waits; and how the store is."""
    lines = visit.memory.log(limit=_TODAY)
    is_more = len(lines) == _TODAY
    entries = entries_of(lines)
    # One call may have made very many lines, as an import does; and what was proposed about them afterwards hides
    # nothing that somebody did.
    while is_more and len(entries) < _ENTRIES and len(without_proposals(lines)) < _MOST and len(lines) < _LOOKED_AT:
        page = visit.memory.log(limit=_MOST, before=lines[-1].seq)
        lines, is_more = [*lines, *page], len(page) == _MOST
        entries = entries_of(lines)
    newest, last = newest_of(lines), lines[-1] if is_more else None
    rows = [
        batch_row(visit, entry[0], newest, is_cut=entry[0][-1] is last)
        if len(entry) == 1
        else proposed_row(visit, entry, is_cut=entry[-1][-1] is last)
        for entry in entries[:_ENTRIES]
    ]
    body: Child = (
        ul(rows, class_="batches", data_seq=lines[0].seq)
        if rows
        else empty("Nothing is remembered here yet. One of these begins:", *_FIRST)
    )
    return Shown(
        "Today",
        [waiting_line(visit), h2("What changed"), body, p(a("All of the log", href=visit.link("log")))],
        **spoken(visit, "log", limit=max(len(lines), _TODAY)),
    )


def entries_of(lines: Sequence[Revision]) -> list[list[list[Revision]]]:
    """The batches of a log, newest first; those that only propose pairs, one behind the other, together."""
    entries: list[list[list[Revision]]] = []
    for proposes, run in groupby(batches(lines), key=lambda batch: all(map(is_proposed, batch))):
        steps = list(run)
        entries += [steps] if proposes else [[batch] for batch in steps]
    return entries


def proposed_row(visit: Visit, run: Sequence[Sequence[Revision]], *, is_cut: bool = False) -> Markup:
    """What was proposed in several steps, in one line: what to decide about it is in the review."""
    told = count(len({line.number for batch in run for line in batch}), "pair", "pairs")
    told = f"at least {told}" if is_cut else told
    change = run[0][0].change
    return li(
        div(
            span("new ", class_="badge ok") if visit.since is not None and change.at > visit.since else None,
            span(f"proposed {told} to decide about", class_="did"),
            small(f"in {len(run)} steps, each in the ", a("log", href=visit.link("log")), ", ",
                  when(change.at, visit.now)),
            a("Decide", href=visit.link("review"), class_="end") if visit.may("review") else None,
            class_="line",
        ),
        data_row=True,
    )  # fmt: skip


def waiting_line(visit: Visit) -> Child:
    """What waits for a person, and health in one line."""
    told: list[Markup] = []
    proposals = visit.memory.review(limit=PAGE) if visit.may("review") else ()
    offers = visit.memory.offers(limit=PAGE).records if visit.may("offers") else ()
    parked = visit.memory.parked() if visit.may("parked") else ()
    for found, one, many in (
        (proposals, "pair to decide about", "pairs to decide about"),
        (offers, "promotion on offer", "promotions on offer"),
        (parked, "parked answer", "parked answers"),
    ):
        if found:
            more = "+" if len(found) >= PAGE else ""
            told.append(a(f"{len(found)}{more} {one if len(found) == 1 else many}", href=visit.link("review")))
    whose = "you" if visit.is_person else "a person"
    waits = span(f"Nothing waits for {whose}.") if not told else [span(f"Waits for {whose}: "), told]
    return div(div(waits, class_="row"), health_line(visit), class_="waiting", role="status")


def health_line(visit: Visit) -> Markup:
    left: Child = None
    if visit.may("egress", whole_store=True):
        calls = visit.memory.egress(limit=1).calls
        left = ["Something last left this machine ", when(calls[0].at, visit.now), ". "] if calls else (
            "Nothing has ever left this machine. "
        )  # fmt: skip
    return small(left, a("How the store is", href=visit.link("health")))


def batches(lines: Sequence[Revision]) -> Iterator[list[Revision]]:
    """The lines of a log, newest first, by what one undo takes back."""
    for _, group in groupby(lines, key=lambda line: line.change.batch):
        yield list(group)


def line_link(visit: Visit, line: Revision) -> PageLink:
    """To the memory; of a pair that was proposed, to where somebody decides about it."""
    return visit.link("review") if is_proposed(line) else visit.link("memory", n=line.number)


def newest_of(lines: Sequence[Revision]) -> dict[int, Revision]:
    """The last line of each memory, of the end of a log."""
    return {line.number: line for line in reversed(lines)}


def batch_row(
    visit: Visit, lines: Sequence[Revision], newest: Mapping[int, Revision] | None = None, *, is_cut: bool = False
) -> Markup:
    """`newest` has the last line of each memory, where that is known; `is_cut`: the call may have made more lines."""
    change = lines[0].change
    is_new = visit.since is not None and change.at > visit.since
    session = (
        [" in ", a(clip(change.session, 24), href=visit.link("session", id=change.session))] if change.session else None
    )
    # What was proposed about memories says no more than how much it is, beside the memories themselves.
    told = (without_proposals(lines) or lines)[::-1]
    texts = [
        li(a(f"#{line.number}", href=line_link(visit, line)), " ", line_text(line), class_="changed")
        for line in told[:_SHOWN]
    ]  # fmt: skip
    more = len(told) - _SHOWN
    is_final = all(line.change.operation == "erase" for line in lines)
    is_again = is_undo_of_undo(visit, lines)
    undo: Child = None
    if is_final:
        undo = a("Receipt", href=visit.link("erased", batch=change.batch), class_="end")
    elif newest and is_taken_back(lines, newest):
        undo = span("taken back", class_="badge end")
    # A model takes back only what models did.
    elif visit.is_person or not is_of_person(lines):
        title = "Redo" if not is_again and all(line.change.operation == "undo" for line in lines) else ""
        undo = action_form(visit, "undo", {"batch": change.batch}, title=title, key="u", plain=True)
    return li(
        div(
            span("new ", class_="badge ok") if is_new else None,
            span(told_changes(lines, is_undo_of_undo=is_again), ", and more" if is_cut else None, class_="did"),
            small(
                "by ", a(change.actor, href=visit.link("log", actor=change.actor)), by_words(change) or None,
                session, ", ", when(change.at, visit.now),
                " ", a("details", href=visit.link("log", batch=change.batch)),
            ),
            undo,
            class_="line",
        ),
        ul(texts, li(f"and {more} more") if more > 0 else None, class_="changes"),
        data_row=True,
    )  # fmt: skip


def log(visit: Visit) -> Shown:
    """Who did what, by what one undo takes back."""
    past = past_of(visit)
    names = ("batch", "session", "actor", "operation", "since")
    filters = {name: value for name in names if (value := visit.one(name))}
    until = {"until": past.known_at} if past.known_at else {}
    lines = visit.memory.log(limit=_LINES, before=visit.number("before"), **filters, **until)  # pyright: ignore[reportArgumentType]
    chips = [
        a(f"{name}: {clip(value, 40)} ✕", href=visit.here(**{name: None}), class_="badge",
          aria_label=f"Without {name} {value}")
        for name, value in filters.items()
    ]  # fmt: skip
    take_back = [
        action_form(visit, "undo", {name: filters[name]}, title=f"Take back all of this {word}", key="")
        for name, word in (("session", "session"), ("actor", "writer"), ("batch", "change"))
        if name in filters
    ]
    is_newest = not (filters or until or visit.one("before"))
    newest = newest_of(lines) if is_newest else None
    last = lines[-1] if len(lines) == _LINES else None
    rows = [batch_row(visit, batch, newest, is_cut=batch[-1] is last) for batch in batches(lines)]
    more = len(lines) == _LINES and lines[-1].seq > 1
    body = [
        div(chips, take_back, class_="row"),
        back_then(visit, oldest_of(visit), true_then=False),
        div(
            ul(rows, class_="batches") if rows else empty("No line of the log is like this."),
            older_link(visit, lines[-1].seq) if more else None,
            id="list",
        ),
    ]
    options = {**filters, **({"until": past.options["known_at"]} if until else {})}
    return Shown("Log", body, **spoken(visit, "log", limit=_LINES, **options))


def older_link(visit: Visit, seq: int) -> Markup:
    return nav(a("Older", href=visit.here(before=seq), rel="next"), class_="pages", aria_label="Pages")


def checkpoints(visit: Visit) -> Shown:
    """States that have a name, to go back to, and the same list at any other time."""
    found = visit.memory.checkpoints()
    rows = [
        (
            each.name, each.description or "", "all namespaces" if each.namespace is None else each.namespace,
            each.memory_count, when(each.created_at, visit.now),
            div(
                action_form(visit, "go-back", {"name": each.name}, plain=True),
                action_form(visit, "delete-checkpoint", {"name": each.name}, plain=True),
                class_="row",
            ),
        )
        for each in found
        if each.namespace is not None or visit.is_whole_store
    ]  # fmt: skip
    listed = data_table(("name", "about", "where", "records", "made", ""), rows, "Named states")
    return Shown(
        "Back then",
        [
            p("Every list can be seen as it was: open “Back then” above it. ",
              a("The memories of any time", href=visit.link("memories", known_at="7d")), "."),
            section(h2("Named states"), listed if rows else empty(
                "No state has a name yet. Name the present one, and going back to it is one step.",
                "perdure checkpoint create before-refactor",
            )),
            section(h2("Name the present state"), field_form(visit, "checkpoint", {}))
            if visit.may("checkpoint") else None,
        ],
        **spoken(visit, "checkpoints", command="checkpoint list"),
    )  # fmt: skip


def erased(visit: Visit) -> Shown:
    """Receipts, made of the log: what was erased, when and by whom, without a word of it."""
    batch = visit.one("batch")
    if batch is not None:
        return receipt_screen(visit, batch)
    past = past_of(visit)
    until = {"until": past.options["known_at"]} if past.known_at else {}
    lines = visit.memory.log(operation="erase", limit=_LINES, before=visit.number("before"), **until)
    rows = [
        (
            when(group[0].change.at, visit.now), group[0].change.actor, count(len(group)),
            a("Receipt", href=visit.link("erased", batch=group[0].change.batch)),
        )
        for group in batches(lines)
    ]  # fmt: skip
    listed = (
        data_table(("when", "by", "how many", ""), rows, "What was erased")
        if rows
        else empty("Nothing had been erased by then.")
        if until
        else empty(
            "Nothing was ever erased here. Forgetting hides a memory; erasing removes it for good:", "perdure erase 7"
        )
    )
    # Where everything was erased, time begins with that.
    oldest = oldest_of(visit) or past.known_at or (lines[-1].change.at if lines else None)
    older = older_link(visit, lines[-1].seq) if len(lines) == _LINES else None
    body = [back_then(visit, oldest, true_then=False), div(past_line(visit, past), listed, older, id="list")]
    return Shown("Erased", body, **spoken(visit, "log", operation="erase", limit=_LINES, **until))
