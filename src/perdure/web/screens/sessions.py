"""Sessions of coding agents: what each was told and why, what was left out, what it wrote; and taking it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from perdure.clock import parse_time
from perdure.errors import InvalidInput, NotFound
from perdure.location import from_home
from perdure.model import Record
from perdure.session.kept import KeptPrompt, KeptStart, kept_prompts, kept_start
from perdure.session.listing import list_sessions
from perdure.session.privacy import sessions_off_record, where
from perdure.session.state import read_session
from perdure.text.preview import clip, one_line
from perdure.web.actions import action_form, project_of
from perdure.web.layout import back_then, data_table, empty
from perdure.web.markup import (
    Child,
    Markup,
    a,
    b,
    details,
    div,
    h2,
    h3,
    li,
    nav,
    p,
    pre,
    section,
    small,
    span,
    summary,
    ul,
)
from perdure.web.screens.changes import batch_row, batches
from perdure.web.screens.finding import WHY
from perdure.web.screens.places import oldest_of, past_line
from perdure.web.visit import PAGE, Shown, Visit, past_of, when

_LINES: Final = 200
_TOKEN: Final = 4
_ABOUT: Final = (
    "Guidelines, preferences, who somebody is, and what was decided in the project: told without being asked for, as "
    "far as there is room."
)


def sessions(visit: Visit) -> Shown:
    """Who may see all namespaces sees what sessions were told; others see the sessions that wrote here."""
    past = past_of(visit)
    rows: list[tuple[Child, ...]] = []
    first, is_more = visit.number("from") or 0, False
    if visit.is_whole_store:
        found = list_sessions(visit.memory, limit=first + PAGE + 1, until=past.known_at)[first:]
        is_more = len(found) > PAGE
        for one in found[:PAGE]:
            off = span(" off the record", class_="badge gone") if one.off_record else None
            rows.append((
                [a(clip(one.session, 40), href=visit.link("session", id=one.session)), off], one.project or "",
                when(one.last_at, visit.now), one.injected, one.tokens, one.change_count,
            ))  # fmt: skip
        heads = ("session", "project", "last", "told", "tokens", "changes")
    else:
        seen: dict[str, tuple[Child, int]] = {}
        for line in visit.memory.log(limit=1000, until=past.known_at):
            if line.change.session:
                last, so_far = seen.get(line.change.session, (when(line.change.at, visit.now), 0))
                seen[line.change.session] = (last, so_far + 1)
        rows = [
            (a(clip(name, 40), href=visit.link("session", id=name)), last, changes)
            for name, (last, changes) in seen.items()
        ]
        heads = ("session", "last", "changes")
    listed = (
        data_table(heads, rows, "Sessions")
        if rows
        else empty("No session that is still known had begun by then.")
        if past.known_at
        else empty(
            "No session of a coding agent is known here. Give one this memory, and each of its sessions is listed: "
            "what it was told, and what it wrote.",
            "perdure install claude-code",
        )
    )
    meant = "“Told” counts the memories that a session was told at its start; its changes are what it wrote."
    note = p(meant, class_="note") if rows and visit.is_whole_store else None
    older = a("Older", href=visit.here(**{"from": first + PAGE}), rel="next") if is_more else None
    pages = nav(older, class_="pages", aria_label="Pages") if older else None
    body = [
        back_then(visit, oldest_of(visit), true_then=False),
        div(past_line(visit, past), note, listed, pages, id="list"),
    ]
    return Shown("Sessions", body, ("perdure", "session", "list"), "memory.log(limit=1000)")


def session(visit: Visit) -> Shown:
    id = visit.one("id")
    if id is None:
        raise InvalidInput("The address does not say which session.", remedy="Choose one of the list.")
    lines = visit.memory.log(session=id, limit=_LINES)
    kept = kept_start(id) if visit.is_whole_store else None
    wrote = [batch_row(visit, batch) for batch in batches(lines)]
    body = [
        div(
            action_form(visit, "take-back", {"session": id}),
            record_switch(visit, id),
            privacy_switch(visit, kept),
            class_="acts", role="group", aria_label="Actions",
        ),
        [told(visit, kept), told_at_prompts(visit, id)] if visit.is_whole_store else None,
        section(
            h2("What it wrote"),
            ul(wrote, class_="batches") if wrote else p("It wrote nothing that is in the log here."),
        ),
    ]  # fmt: skip
    return Shown(f"Session {clip(id, 60)}", body, ("perdure", "session", "explain", id), f"memory.log(session={id!r})")


def record_switch(visit: Visit, id: str) -> Child:
    if not visit.is_whole_store:
        return None
    is_off = id in sessions_off_record()
    return action_form(visit, "on-record" if is_off else "off-record", {"session": id}, plain=True)


def privacy_switch(visit: Visit, kept: KeptStart | None) -> Child:
    """For the project that it worked in, where its folder is there."""
    if kept is None:
        return None
    try:
        project = project_of(kept.session)
    except NotFound:
        return None
    is_private = where(project, namespace=visit.home).private
    return action_form(visit, "make-shared" if is_private else "make-private", {"session": kept.session}, plain=True)


def told_at_prompts(visit: Visit, id: str) -> Markup:
    """What its prompts brought to mind, as it was sent, the latest first; of what is older only the memories."""
    kept = kept_prompts(id)
    told_with_text = {str(entry.get("id")) for each in kept for entry in each.entries}
    shown = [each for each in reversed(read_session(id).shown) if each not in told_with_text]
    return section(
        h2("What it was told at prompts"),
        [told_at_prompt(visit, each) for each in kept] or p("No prompt that is still known brought anything to mind."),
        told_before(visit, shown[:PAGE]) if shown else None,
    )


def told_at_prompt(visit: Visit, kept: KeptPrompt) -> Markup:
    tokens = -(-len(kept.text) // _TOKEN)
    return section(
        h3(when(parse_time(kept.at, "at"), visit.now), f", about {tokens:,} tokens"),
        pre(kept.text, class_="text whole", tabindex="0", aria_label="What it was told, as it was sent"),
        entries(visit, "Why each line got in", kept.entries),
        entries(visit, "What found no room", kept.left_out),
    )


def told_before(visit: Visit, ids: Sequence[str]) -> Markup:
    """Memories that the session was shown, at its start or at prompts whose text is not kept any more."""
    found = [told_record(visit, each) for each in ids]
    rows = [
        li(
            a(f"#{record.number}", href=visit.link("memory", n=record.number, namespace=record.namespace)), " ",
            clip(one_line(record.title or record.text), 160), data_row=True,
        )
        if record
        else li("A memory that is not there any more.")
        for record in found
    ]  # fmt: skip
    return details(
        summary(f"Memories that it was shown at its start or earlier ({len(rows)})"),
        p("Which memories a session was shown is kept for a month. In their words of today:", class_="note"),
        ul(rows, class_="memories"),
    )


def told_record(visit: Visit, id: str) -> Record | None:
    """What a session was told may lie in any namespace; most of it lies where they are."""
    for name in sorted(visit.namespaces, key=lambda name: name != visit.namespace):
        with suppress(NotFound, InvalidInput):
            return visit.memory.namespace(name).get(id)
    return None


def told(visit: Visit, kept: KeptStart | None) -> Markup:
    """The very text, what it cost, why each line got in, and what found no room."""
    if kept is None:
        return section(h2("What it was told at its start"), p("That is not known, or not known any more."))
    tokens = -(-len(kept.text) // _TOKEN)
    asked = p("Asked with: ", b(clip(kept.query, 300))) if kept.query else None
    return section(
        h2("What it was told at its start"),
        p(f"About {tokens:,} tokens, in {from_home(kept.project)}. ", small(kept.diagnostics.strip("*") or kept.mode)),
        pre(kept.text, class_="text whole", tabindex="0", aria_label="What it was told, as it was sent")
        if kept.text
        else p("Nothing."),
        asked,
        entries(visit, "Why each line got in", kept.entries),
        entries(visit, "Rules that every session is told", kept.constitutional, "Their tier is constitutional."),
        entries(visit, "About you and the project", kept.about, _ABOUT),
        entries(visit, "What found no room", kept.left_out),
        [p(note, class_="note") for note in kept.notes],
    )


def entries(visit: Visit, title: str, listed: Sequence[Mapping[str, Any]], reason: str = "") -> Child:
    """`reason` is that of all of them, where none has one of its own."""
    if not listed:
        return None
    why = p(reason, class_="note") if reason else None
    return section(
        h3(title), why, ul([li(entry_row(visit, entry), data_row=True) for entry in listed], class_="memories")
    )


def entry_row(visit: Visit, entry: Mapping[str, Any]) -> Child:
    explain: Mapping[str, Mapping[str, Any]] = entry.get("explain") or {}
    signals = [
        (WHY.get(name, name.replace("_", " ")), f"{float(added):+.2f}", str(signal.get("about", "")))
        for name, signal in explain.items()
        if (added := signal.get("contribution"))
    ]
    figure = entry.get("score", entry.get("relevance"))
    score = "" if figure is None else f"{float(figure):.2f}"
    number, namespace = entry.get("number"), entry.get("namespace")
    link = a(f"#{number}", href=visit.link("memory", n=number, namespace=namespace), class_="number")
    why: Child = (
        details(summary("Why"), data_table(("what speaks for it", "how much", ""), signals, "Why it got in"))
        if signals
        else None
    )
    if entry.get("phrase"):
        why = p("The prompt holds its trigger phrase: ", b(clip(str(entry["phrase"]), 200)), class_="note")
    text = clip(one_line(str(entry.get("title") or entry.get("text") or "")), 160)
    rated = span(score, class_="figure") if score else None
    return [div(rated, link, span(text, class_="memory"), class_="line"), why]
