"""What waits for a person: pairs that may be one, contradictions, promotions, and answers that could not be used."""

from __future__ import annotations

from typing import Final

from perdure.learn.results import Proposal
from perdure.web.actions import action_form
from perdure.web.layout import back_then, empty, memory_list, spoken
from perdure.web.markup import Child, Markup, a, div, h2, h3, kbd, li, p, pre, section, small, span, ul
from perdure.web.screens.places import oldest_of, past_line
from perdure.web.visit import PAGE, Shown, Visit, past_of, when

# How many that wait are looked at for those of a time.
_MOST: Final = 1000


def review(visit: Visit) -> Shown:
    """What was decided is not in the queue of any time: of the past, only what still waits can be told."""
    past = past_of(visit)
    moment = past.known_at or visit.now
    waiting = visit.memory.review(limit=PAGE if past.known_at is None else _MOST)
    proposals = [each for each in waiting if past.known_at is None or each.created_at <= moment][:PAGE]
    # When a promotion came on offer is not kept.
    offers = visit.memory.offers(limit=PAGE).records if past.known_at is None else ()
    parked = [each for each in visit.memory.parked() if past.known_at is None or each.at <= moment]
    parts: list[Child] = []
    if proposals:
        can_undo = visit.may("undo")
        keys: Child = None
        if not visit.is_person:
            keys = p("Only a person decides.", class_="note")
        elif visit.may("accept"):
            keys = p(
                "Each decision can be taken back. " if can_undo else None, "Keys: ", kbd("j"), " ", kbd("k"), " move, ",
                kbd("a"), " accepts, ", kbd("r"), " keeps both", [", ", kbd("u"), " takes back"] if can_undo else None,
                ".", class_="note",
            )  # fmt: skip
        pairs = ul([pair(visit, proposal) for proposal in proposals], class_="pairs")
        parts.append(section(h2("Pairs"), keys, pairs))
    if offers:
        more = {
            record.number: action_form(visit, "promote", {"ref": record.number}, title="Promote") for record in offers
        }
        parts.append(section(h2("On offer for a higher tier"), memory_list(visit, offers, more=more)))
    if parked:
        rows = [
            li(
                div(b_purpose(each.purpose), small(f"{each.model}, ", when(each.at, visit.now)), class_="line"),
                p(each.error), pre(each.output[:400], class_="text", tabindex="0"),
                div(action_form(visit, "retry", {"ids": each.id}, plain=True),
                    action_form(visit, "discard", {"ids": each.id}, plain=True), class_="row"),
                data_row=True,
            )
            for each in parked
        ]  # fmt: skip
        parts.append(section(h2("Parked: what a model said that could not be used"), ul(rows, class_="pairs")))
    nothing = (
        empty("Nothing that still waits for you had been proposed by then.")
        if past.known_at
        else empty(
            "Nothing waits for you. Memories that may say the same, or cannot both be true, are proposed here as they "
            "are written.",
            "perdure conflicts",
        )
    )
    note = p(
        "Of what still waits, this had been proposed by then. What was decided since is in the ",
        a("log", href=visit.link("log")), "; since when a promotion is on offer is not kept.", class_="note",
    ) if past.known_at else None  # fmt: skip
    body = [
        back_then(visit, oldest_of(visit), true_then=False),
        div(past_line(visit, past), note, parts or nothing, id="list"),
    ]
    return Shown("Review", body, **spoken(visit, "review", limit=PAGE))


def b_purpose(purpose: str) -> Markup:
    return span(purpose, class_="did")


def pair(visit: Visit, proposal: Proposal) -> Markup:
    """Both texts side by side, with why they are proposed."""
    is_conflict = proposal.kind == "conflict"
    sides = [
        div(
            h3(
                a(f"#{record.number}", href=visit.link("memory", n=record.number)), " ",
                small(word, " ", when(record.valid_at or record.created_at, visit.now)),
            ),
            pre(record.text, class_="text", tabindex="0"),
            action_form(
                visit, "accept", {"proposal": proposal.number, "keep": record.number}, title=f"Keep #{record.number}",
                key="a" if record is proposal.second else "",
            )
            if is_conflict
            else None,
            class_="side",
        )
        for record, word in ((proposal.first, "older,"), (proposal.second, "newer,"))
    ]  # fmt: skip
    merge = None if is_conflict else action_form(visit, "accept", {"proposal": proposal.number}, title="Make them one")
    near = "" if proposal.cosine is None else f" Nearness {proposal.cosine:.2f}."
    asked = "Perhaps only one of them is true. Which one stays?" if is_conflict else "Do they say the same?"
    return li(
        p(asked, " ", small(f"{'; '.join(proposal.reasons)}.{near}")),
        div(sides, class_="sides"),
        p("One memory for both would say: ", proposal.text) if proposal.text else None,
        div(merge, action_form(visit, "reject", {"proposal": proposal.number}, plain=True), class_="row"),
        data_row=True,
    )
