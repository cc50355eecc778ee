"""Finding memories: by a question, and in a list; as they are, as they were known, and as they were true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from perdure.model import CATEGORIES, STATES, TIERS, Hit, Record, Signal
from perdure.text.stopwords import STOPWORDS
from perdure.web.actions import action_form, field_form
from perdure.web.charts import relevance_bar
from perdure.web.layout import (
    back_then,
    badges,
    data_table,
    empty,
    hidden,
    memory_link,
    memory_list,
    paged,
    spoken,
    state_words,
)
from perdure.web.markup import (
    Child,
    Markup,
    a,
    button,
    details,
    div,
    form,
    input_,
    label,
    li,
    mark,
    option,
    p,
    page_link,
    section,
    select,
    small,
    span,
    summary,
    ul,
)
from perdure.web.screens.places import oldest_of, page_then, past_line
from perdure.web.visit import PAGE, BackThen, Shown, Visit, past_of, when

# Filters that an address may hold, by the name of the verb's argument; and the words that some of them may be.
FILTERS: Final = (
    "tags", "category", "tier", "source", "states", "conversation_id", "key_type", "source_project", "since", "until",
)  # fmt: skip
_CHOICES: Final = {"category": CATEGORIES, "tier": TIERS, "states": STATES}
_PASSAGE: Final = 280
_FOUND: Final = 20
_MODES: Final = {"hybrid": "words and meaning", "keyword": "words", "vector": "meaning", "time": "the time"}
# What speaks for a hit, as people say it.
WHY: Final = {
    "prior": "where every memory begins", "keyword": "its words", "vector": "its meaning",
    "relevance": "how well it fits", "sentence": "one sentence of it", "clause": "one clause of the question",
    "part": "the part of it that is nearest",
    "unknown": "words that nothing here has",
    "learned": "it was learned from what was said", "time": "the time that was asked for", "newer": "it is newer",
    "observations": "how often it was said", "confidence": "how sure it is", "recency": "how new it is",
    "recalls": "how often it was recalled", "decay": "how lately it was used", "anchor": "its anchor",
    "named": "who is meant", "assistant": "that an assistant said it", "brief": "how short it is",
    "when": "that it says when", "asking": "that it is a question", "neighbours": "what was said beside it",
    "answering": "that it is an answer", "around": "what was said around it", "prominence": "how much it stands out",
}  # fmt: skip


def filters_of(visit: Visit) -> dict[str, Any]:
    """What narrows a list, of the address."""
    given: dict[str, Any] = {}
    for name in FILTERS:
        values = tuple(value.strip() for value in visit.query.get(name, ()) if value.strip())
        if values:
            given[name] = values if name in {"tags", "states"} else values[0]
    return given


def filters_in_force(visit: Visit, filters: dict[str, Any]) -> list[Markup]:
    """The filters in force; each leads to the list without it."""
    given = {name: (value,) if isinstance(value, str) else value for name, value in filters.items()}
    return [
        a(
            f"{name}: {each} ✕", class_="badge", aria_label=f"Without {name} {each}",
            href=visit.here(**{name: tuple(other for other in values if other != each), "after": None}),
        )
        for name, values in given.items()
        for each in values
    ]  # fmt: skip


def filter_form(visit: Visit, filters: dict[str, Any]) -> Markup:
    kept = {
        name: value for name, value in visit.query.items() if name in {"q", "known_at", "as_of", "known", "true", "end"}
    }
    fields: list[Markup] = []
    for name in ("tags", "category", "tier", "states", "since", "until"):
        value, id = filters.get(name), f"by-{name}"
        told: str = value if isinstance(value, str) else next(iter(value or ()), "")
        if name in _CHOICES:
            options = [option(state_words(word), value=word, selected=word == told) for word in _CHOICES[name]]
            control = select(option("any" if name != "states" else "active", value=""), options, id=id, name=name)
        else:
            hint = "last week" if name in {"since", "until"} else None
            control = input_(id=id, name=name, value=told, placeholder=hint)
        fields.append(div(label(name, for_=id), control))
    return details(
        summary("Filters"),
        form(
            hidden(visit, **kept), div(fields, class_="grid"), button("Show", type="submit"),
            action=page_link(visit.screen), method="get",
        ),
        class_="filters",
    )  # fmt: skip


def memories(visit: Visit) -> Shown:
    """The memories of a namespace, newest first."""
    past, filters = past_of(visit), filters_of(visit)
    true_then: dict[str, Any] = {}
    if past.as_of:
        true_then = {"until": past.as_of, "states": filters.get("states", ("active", "superseded"))}
    page = page_then(visit, past, **{**filters, **true_then})
    records = [record for record in page if was_true(record, past)]
    listed = memory_list(visit, records, past=past) if records else nothing_here(visit, filters, past)
    body = [
        div(filters_in_force(visit, filters), class_="row"),
        filter_form(visit, filters),
        back_then(visit, oldest_of(visit)),
        div(past_line(visit, past), listed, paged(visit, page), id="list"),
    ]
    aside = a("New memory", href=visit.link("remember")) if visit.may("remember") else None
    options = {**filters, **({"known_at": past.options["known_at"]} if past.known_at else {})}
    return Shown("Memories", body, **spoken(visit, "list", limit=PAGE, **options), aside=aside)


def was_true(record: Record, past: BackThen) -> bool:
    return past.as_of is None or record.invalid_at is None or record.invalid_at > past.as_of


def nothing_here(visit: Visit, filters: dict[str, Any], past: BackThen) -> Markup:
    if filters or past != BackThen() or visit.one("after"):
        return empty("No memory is like this. Take a filter away, or move the slider.")
    return empty(
        "Nothing is remembered here yet. Tell it something, give it to your coding agent, or bring what you have:",
        'perdure remember "Alice prefers dark mode"', "perdure install claude-code", "perdure import CLAUDE.md",
    )  # fmt: skip


def search(visit: Visit) -> Shown:
    """What answers a question, why, and from which relevance on it counts."""
    question, past, filters = visit.one("q"), past_of(visit), filters_of(visit)
    if question is None:
        return Shown(
            "Search",
            empty("Ask in words, as you would ask a person; a “phrase” in quotation marks must stand in the memory.",
                  'perdure recall "which theme does she like?"'),
            **spoken(visit, "recall", "which theme does she like?"),
        )  # fmt: skip
    found = visit.memory.recall(question, limit=_FOUND, **past.given, **filters)
    rows = [hit_row(visit, hit, question, past) for hit in found]
    nearest: Child = None
    if not rows:
        nearest = section(
            p(f"Nothing is about that. No memory reaches the relevance {found.min_relevance:.2f} that an answer needs.",
              class_="empty", role="status"),
            p("The nearest is:") if found.nearest else None,
            ul([hit_row(visit, found.nearest, question, past)], class_="memories") if found.nearest else None,
        )  # fmt: skip
    found_by = _MODES.get(found.mode, found.mode)
    floor = p(f"Whatever is below {found.min_relevance:.2f} is left out; found by {found_by}.", class_="note")
    body = [
        div(filters_in_force(visit, filters), class_="row"),
        filter_form(visit, filters),
        back_then(visit, oldest_of(visit)),
        div(
            past_line(visit, past),
            # Where nothing is found, the notes tell of the nearest, which stands below.
            [p(note, class_="note") for note in found.notes] if rows or not found.nearest else None,
            ul(rows, class_="memories") if rows else nearest,
            floor if rows else None,
            id="list",
        ),
    ]
    options = {**filters, **past.options}
    return Shown(f"“{question[:80]}”", body, **spoken(visit, "recall", question, limit=_FOUND, **options))


def hit_row(visit: Visit, hit: Hit, question: str, past: BackThen) -> Markup:
    record, passage = hit.record, marked(passage_of(hit), question)
    notes = [a(str(each), href=visit.link("memory", n=each.number), class_="badge gone") for each in hit.contradicts]
    if hit.outdated:
        notes.append(span(str(hit.outdated), class_="badge gone"))
    is_past = past != BackThen()
    acts = None if is_past else action_form(visit, "forget", {"what": record.number}, plain=True)
    return li(
        div(
            relevance_bar(hit.relevance),
            span(f"{hit.relevance:.2f}", class_="figure", aria_label=f"relevance {hit.relevance:.2f}"),
            span(f"#{record.number}", class_="number"),
            memory_link(visit, record, past, None if record.title else passage),
            class_="line",
        ),
        p(passage, class_="text") if record.title else None,
        div(
            badges(visit, record), small(when(record.valid_at or record.created_at, visit.now)),
            notes, acts, class_="about",
        ),
        div(why(hit.explain), None if is_past else tag_and_promote(visit, record), class_="more"),
        data_row=True,
    )  # fmt: skip


def tag_and_promote(visit: Visit, record: Record) -> Child:
    about = {"ref": record.number}
    forms = [field_form(visit, "tag", about), field_form(visit, "promote", about, {"tier": record.tier})]
    return details(summary("Tag or promote"), div(forms, class_="grid")) if any(forms) else None


def passage_of(hit: Hit) -> str:
    """What of a long memory comes nearest to the question."""
    text, passage = hit.record.text, hit.passage
    start = max(passage[0] - 40, 0) if passage and len(text) > _PASSAGE else 0
    cut = text[start : start + _PASSAGE]
    return f"{'…' if start else ''}{cut}{'…' if start + _PASSAGE < len(text) else ''}"


def marked(text: str, question: str) -> list[Child]:
    """The words of the question that say what it is about, marked where they stand."""
    asked = re.findall(r"\w{3,}", question)[:40]
    words = {re.escape(word) for word in asked if word.lower() not in STOPWORDS}
    if not words:
        return [text]
    parts = re.split(rf"\b({'|'.join(sorted(words, key=len, reverse=True))})", text, flags=re.IGNORECASE)
    return [mark(part) if place % 2 else part for place, part in enumerate(parts)]


def why(explain: Any) -> Markup:
    signals: Sequence[tuple[str, Signal]] = list(explain.items())
    rows = [
        (WHY.get(name, name.replace("_", " ")), f"{signal.contribution:+.2f}", signal.rank or "", signal.about)
        for name, signal in signals
        if signal.contribution
    ]
    return details(summary("Why"), data_table(("what speaks for it", "how much", "rank", ""), rows, "Why it was found"))


def remember(visit: Visit) -> Shown:
    """A form for a new memory."""
    return Shown(
        "New memory",
        [p("What should be remembered? The same words again are one more observation of the same memory."),
         field_form(visit, "remember", {})],
        **spoken(visit, "remember", "Alice prefers dark mode", tags=["ui"]),
    )  # fmt: skip
