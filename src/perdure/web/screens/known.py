"""What was learned: facts with what they took the place of, and the conversations that they come from."""

from __future__ import annotations

from typing import Any, Final

from perdure.errors import InvalidInput
from perdure.learn.results import Fact
from perdure.model import FACT_CATEGORIES, ROLE, SPEAKER, STATES, Record
from perdure.text.preview import clip, one_line
from perdure.web.actions import action_form
from perdure.web.layout import back_then, badges, empty, hidden, memory_link, memory_list, paged, spoken
from perdure.web.markup import (
    Child,
    Markup,
    a,
    b,
    button,
    del_,
    div,
    form,
    h2,
    input_,
    label,
    li,
    p,
    page_link,
    section,
    small,
    span,
    ul,
)
from perdure.web.results import count
from perdure.web.screens.finding import was_true
from perdure.web.screens.places import oldest_of, page_then, past_line
from perdure.web.visit import PAGE, BackThen, Shown, Visit, past_of, when

_LISTED: Final = 500
_SAID: Final = 1000


def facts(visit: Visit) -> Shown:
    """By a question, about somebody, or the newest; as they were known where a slider says so."""
    past, question, about = past_of(visit), visit.one("q"), visit.one("about")
    ask = form(
        hidden(visit),
        label("About whom or what", for_="about"),
        input_(id="about", name="about", value=about, placeholder="Ada"),
        button("Show", type="submit"),
        action=page_link("facts"), method="get", class_="inline",
    )  # fmt: skip
    listed: Child
    if past != BackThen():
        listed = past_facts(visit, past)
    else:
        found = visit.memory.facts(question, about=about, limit=PAGE)
        listed = ul(
            [
                li(
                    div(
                        span(f"#{fact.record.number}", class_="number"), memory_link(visit, fact.record), class_="line"
                    ),
                    div(badges(visit, fact.record), small(
                        when(fact.record.valid_at or fact.record.created_at, visit.now), known_from(fact)
                    ), class_="about"),
                    [p(del_(clip(one_line(record.text), 140)), " ",
                       small("until ", when(record.invalid_at, visit.now) if record.invalid_at else "then"))
                     for record in fact.earlier[:5]],
                    data_row=True,
                )
                for fact in found
            ],
            class_="memories",
        ) if found else empty(
            "No fact is known here. Facts are learned from conversations, and each keeps what it took the place of.",
            "perdure chat import talks.jsonl", "perdure consolidate",
        )  # fmt: skip
    body = [
        ask,
        div(action_form(visit, "consolidate", {}, plain=True), class_="row"),
        back_then(visit, oldest_of(visit)),
        div(past_line(visit, past), listed, id="list"),
    ]
    return Shown("Facts", body, **spoken(visit, "facts", *([question] if question else []), about=about, limit=PAGE))


def known_from(fact: Fact) -> str:
    return (
        f", from {count(fact.conversation_count, 'conversation', 'conversations')}" if fact.conversation_count else ""
    )


def past_facts(visit: Visit, past: BackThen) -> Child:
    given: dict[str, Any] = {"until": past.as_of, "states": ("active", "superseded")} if past.as_of else {}
    page = page_then(visit, past, category=FACT_CATEGORIES, **given)
    records = [record for record in page if was_true(record, past)]
    return [memory_list(visit, records, past=past) if records else empty("No fact was known then."), paged(visit, page)]


def conversations(visit: Visit) -> Shown:
    past = past_of(visit)
    ids = visit.memory.conversations()
    known = {"known_at": past.options["known_at"]} if past.known_at else {}
    rows = [
        li(
            div(a(clip(id, 80), href=visit.link("conversation", id=id, **known), class_="memory"),
                small("began ", when(first.created_at, visit.now)), class_="line"),
            p(clip(one_line(first.text), 140), class_="note") if first.state == "active" else None,
            data_row=True,
        )
        for id in ids[:_LISTED]
        for first in visit.memory.list(limit=1, newest=False, conversation_id=id, states=STATES)
        if past.known_at is None or first.created_at <= past.known_at
    ]  # fmt: skip
    listed = (
        [
            ul(rows, class_="memories"),
            p(f"{len(ids) - _LISTED:,} more are not looked at.") if len(ids) > _LISTED else None,
        ]
        if rows
        else empty("No conversation was stored by then.")
        if past.known_at
        else empty("No conversation is stored here. Bring some, or let your coding agent's sessions be kept:",
                   "perdure chat import talks.jsonl", "perdure install claude-code")
    )  # fmt: skip
    body = [back_then(visit, oldest_of(visit), true_then=False), div(past_line(visit, past), listed, id="list")]
    return Shown("Conversations", body, **spoken(visit, "conversations", command="chat list"))


def conversation(visit: Visit) -> Shown:
    """What was said, in its order, and what was learned from it."""
    id = visit.one("id")
    if id is None:
        raise InvalidInput("The address does not say which conversation.", remedy="Choose one of the list.")
    past = past_of(visit)
    known: dict[str, Any] = {"known_at": past.known_at} if past.known_at else {}
    page = visit.memory.list(limit=PAGE, after=visit.number("after"), newest=False, conversation_id=id, **known)
    learned = visit.memory.facts(conversation_id=id, limit=PAGE) if past == BackThen() else ()
    facts = {fact.record.number for fact in learned}
    said = [said_row(visit, record, past) for record in page if record.number not in facts]
    body = [
        section(h2("Learned from it"), memory_list(visit, [fact.record for fact in learned])) if learned else None,
        back_then(visit, oldest_of(visit), true_then=False),
        div(past_line(visit, past), h2("What was said"), ul(said, class_="memories") if said
            else empty("Nothing is stored of it."), paged(visit, page), id="list"),
    ]  # fmt: skip
    return Shown(f"Conversation {clip(id, 60)}", body, **spoken(visit, "list", conversation_id=id, limit=PAGE))


def said_row(visit: Visit, record: Record, past: BackThen) -> Markup:
    """Who said it, and what; of a long text its beginning."""
    speaker = record.metadata.get(SPEAKER) or record.metadata.get(ROLE)
    number = visit.link("memory", n=record.number, **past.options)
    return li(
        div(
            b(clip(str(speaker), 40)) if speaker else None, a(f"#{record.number}", href=number),
            badges(visit, record), small(when(record.valid_at or record.created_at, visit.now)), class_="about",
        ),
        p(clip(record.text, _SAID), class_="text"),
        data_row=True,
    )  # fmt: skip
