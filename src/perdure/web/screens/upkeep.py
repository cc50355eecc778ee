"""How the store is: counts, room, tokens, settings, what left the machine; and the keys of the page."""

from __future__ import annotations

import os
import re
from typing import Final

from perdure.location import from_home
from perdure.settings import in_force
from perdure.text.secrets import redact
from perdure.web.actions import action_form, field_form
from perdure.web.layout import copied, data_table, each_of, empty, spoken
from perdure.web.markup import Child, a, dd, div, dl, dt, h2, kbd, p, section, span
from perdure.web.visit import Shown, Visit, when

_DAY_HEADS: Final = ("day", "model", "host", "requests", "texts", "bytes", "tokens", "cost")
_CALL_HEADS: Final = ("when", "host", "purpose", "texts", "bytes", "outcome")
_JUMPS: Final = (
    "t today, m memories, s sessions, r review, f facts, c conversations, l log, b back then, h health, "
    "e what left the machine, x erased, n new memory"
)
_USERINFO: Final = re.compile(r"//[^/\s@]+@")


def health(visit: Visit) -> Shown:
    stats = visit.memory.stats()
    seen = [each for each in stats.namespaces if visit.is_whole_store or each.name in (visit.token.namespaces or ())]
    rows = [
        (
            a(each.name, href=visit.link("memories", namespace=each.name)), each.states.get("active", 0),
            each.states.get("deleted", 0), each.revision_count, each.vectors_pending,
            when(each.newest, visit.now) if each.newest else "",
        )
        for each in seen
    ]  # fmt: skip
    about = (
        p(f"{from_home(stats.address)}: {stats.bytes / 1e6:,.1f} MB, {stats.engine}, schema {stats.schema}.")
        if visit.is_whole_store
        else None
    )
    body = [
        about,
        data_table(("namespace", "records", "forgotten", "changes", "vectors missing", "newest"), rows, "Namespaces"),
        p("Records are memories, what was said, episodes, and pairs that wait to be decided.", class_="note"),
        section(
            h2("Is all in order?"),
            p("Everything is compared with something else: records with the log, the log with its chain."),
            div(action_form(visit, "doctor", {}), action_form(visit, "work", {}, plain=True), class_="row"),
        )
        if visit.may("work", whole_store=True)
        else None,
        room(visit),
        tokens(visit),
        settings(visit),
    ]  # fmt: skip
    return Shown("Health", body, **spoken(visit, "stats"))


def room(visit: Visit) -> Child:
    capacity = visit.memory.capacity()

    def of(used: int, most: int | None) -> str:
        return f"{used:,} of {most:,}" if most else f"{used:,}, without a limit"

    return section(
        h2(f"Room in {visit.namespace}"),
        dl(
            dt("records"), dd(of(capacity.item_count, capacity.max_items)),
            dt("tokens"), dd(of(capacity.tokens, capacity.max_tokens)),
            dt("never evicted"), dd(f"{capacity.protected:,}"),
        ),
        field_form(visit, "limits", {}, {"max_items": capacity.max_items, "max_tokens": capacity.max_tokens}),
    )  # fmt: skip


def tokens(visit: Visit) -> Child:
    """The tokens of servers, for whoever may see the whole store; never a secret."""
    if visit.tokens is None or not visit.may("work", whole_store=True):
        return None
    rows = [
        (
            token.name, ", ".join(token.scopes), "all" if token.namespaces is None else ", ".join(token.namespaces),
            token.writer,
            "revoked" if token.revoked_at else when(token.expires_at, visit.now) if token.expires_at else "no end",
        )
        for token in visit.tokens.list()
    ]  # fmt: skip
    listed = data_table(("name", "may", "namespaces", "writes as", "until"), rows, "Tokens")
    return section(
        h2("Tokens"), listed if rows else empty("Nobody has a token.", "perdure token create ada --writer person")
    )


def settings(visit: Visit) -> Child:
    if not visit.may("work", whole_store=True):
        return None
    rows = [
        (setting.name, _USERINFO.sub("//…@", redact(from_home(_told(setting.value))).text), from_home(setting.origin))
        for setting in in_force(os.environ)
        if setting.origin != "default" or setting.name in {"store", "embedder", "llm", "egress"}
    ]
    return section(h2("Settings in force"), data_table(("setting", "value", "from"), rows, "Settings"),
                   p("All others have their defaults: ", span("perdure config"), ".", class_="note"))  # fmt: skip


def _told(value: object) -> str:
    """A setting as it is typed."""
    return ", ".join(map(str, each_of(value))) or "none"


def egress(visit: Visit) -> Shown:
    """Everything that left the machine, and never a word of it."""
    found = visit.memory.egress(limit=200)
    hosts = ", ".join(found.allowed)
    days = [
        (day.day, f"{day.provider}:{day.model}", day.host, day.requests, day.texts, f"{day.sent_bytes:,}",
         f"{day.input_tokens + day.output_tokens:,}", "" if day.cost is None else f"{day.cost:.4f}")
        for day in found.days
    ]  # fmt: skip
    calls = [
        (when(call.at, visit.now), call.host, call.purpose, call.items, f"{call.sent_bytes:,}", call.outcome)
        for call in found.calls
    ]
    body: list[Child] = [p(f"Texts may be sent to: {hosts}." if hosts else "No text may be sent anywhere.")]
    if not calls:
        body.append(empty("Nothing has ever left this machine.", "perdure config get egress"))
    else:
        body += [
            section(h2("By day"), data_table(_DAY_HEADS, days, "By day")),
            section(h2("The newest requests"), data_table(_CALL_HEADS, calls, "Requests")),
        ]  # fmt: skip
    if found.allowed:
        stop = copied("perdure config set egress none", "Command that stops it")
        told = p("The page changes no setting. This does; what runs already has to be started anew:")
        body.append(section(h2("To stop it"), told, stop))
    return Shown("What left this machine", body, **spoken(visit, "egress", limit=200))


def keys(visit: Visit) -> Shown:
    told = (
        ("/", "search"), ("j k", "the next and the previous line"), ("Enter", "open it"), ("e", "correct it"),
        ("f", "forget it"), ("a r", "accept or say yes, or keep both"),
        ("u", "take back what was just done, or this change"),
        ("g, then a letter", f"another screen: {_JUMPS}"),
        ("?", "this list"),
    )  # fmt: skip
    return Shown("Keys", dl([[dt(kbd(key)), dd(what)] for key, what in told]), **spoken(visit, "recall", "…"))
