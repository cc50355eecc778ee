"""One memory: what it says and said, when it was true and known, where it comes from, who was told it, and what is
around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from perdure.clock import format_local, parse_time
from perdure.errors import InvalidInput, NotFound, PerdureError
from perdure.ids import EPISODE, KINDS, LEARNED, is_said
from perdure.model import BY_MODEL, STATES, Record, Revision, Version
from perdure.recall.learned_from import ToldWords
from perdure.session.kept import kept_prompts_about, kept_starts
from perdure.text.diff import word_diff
from perdure.text.preview import clip, one_line
from perdure.values import field_names
from perdure.visibility import GONE_STATES
from perdure.web.actions import WORDED, action_form, field_form
from perdure.web.charts import MOST_AROUND, GraphNode, TimeBar, graph_around, time_bars
from perdure.web.layout import badges, data_table, empty, spoken
from perdure.web.markup import (
    Child,
    Markup,
    a,
    code,
    dd,
    del_,
    details,
    div,
    dl,
    dt,
    h2,
    ins,
    li,
    nav,
    p,
    pre,
    section,
    span,
    summary,
    ul,
)
from perdure.web.results import DONE, by_words, count, is_proposed
from perdure.web.visit import Shown, Visit, past_of, when

# What of a record is shown in words elsewhere on the screen.
_SHOWN: Final = frozenset({
    "text", "title", "tags", "category", "tier", "state", "metadata", "evidence", "supersedes", "merged_from", "seq",
    "namespace",
})  # fmt: skip
_DEEPEST: Final = 60
# So many versions are compared at once, and fewer where they are long: it takes time that grows as the square of it.
_VERSIONS: Final = 20
_COMPARED: Final = 8_000_000
_REFERENCES: Final = 20
# Of one conversation so many episodes are looked at, and so many facts.
_LEARNED: Final = 500


def number_of(visit: Visit) -> int:
    number = visit.number("n")
    if number is None:
        raise InvalidInput("The address does not say which memory.", remedy="Choose one of the list.")
    return number


def memory(visit: Visit) -> Shown:
    number, past = number_of(visit), past_of(visit)
    lines = visit.memory.history(number)
    record = lines[-1].record and (with_use(visit, number) or lines[-1].record)
    if past.known_at is not None:
        record = visit.memory.get(number, known_at=past.known_at)
    if record is None:
        return erased_memory(visit, number, lines)
    versions = visit.memory.versions(number)
    is_past = past.known_at is not None
    then = (
        p(
            "As it was known ",
            when(past.known_at, visit.now),
            ". ",
            a("As it is now", href=visit.here(known_at=None, known=None)),
            class_="note",
        )
        if past.known_at
        else None
    )
    body = [
        then,
        div(badges(visit, record, most_tags=None), class_="row"),
        pre(record.text, class_="text whole", tabindex="0", aria_label="Text"),
        None if is_past else acts(visit, record),
        section(h2("When"), time_bars(spans(record, lines), visit.now), class_="when"),
        section(h2("Where it comes from"), origin(visit, record, lines)),
        told_section(visit, record),
        version_section(visit, record, versions),
        section(h2("What happened to it"), history_list(visit, lines)),
        details(summary("All fields"), fields(record)),
    ]
    title = f"#{number} {record.title}" if record.title else f"Memory #{number}"
    return Shown(title, body, **spoken(visit, "get", number, command="show"))


def with_use(visit: Visit, number: int) -> Record | None:
    """The memory as it is, with how often it was used, which no history says; looking here is no use of it."""
    found = visit.memory.list(limit=1, after=number + 1, states=STATES)
    return next((each for each in found if each.number == number), None)


def erased_memory(visit: Visit, number: int, lines: Sequence[Revision]) -> Shown:
    batch = lines[-1].change.batch
    body = [
        p("This memory was erased. Nothing of what it said is left."),
        p(a("Its receipt", href=visit.link("erased", batch=batch))),
        section(h2("What happened to it"), history_list(visit, lines)),
    ]
    return Shown(f"Memory #{number}", body, **spoken(visit, "history", number))


def acts(visit: Visit, record: Record) -> Markup:
    """What may be done with it now."""
    number = record.number
    if record.state in GONE_STATES:
        shown: list[Child] = [action_form(visit, "restore", {"refs": number}, key="a")]
    else:
        correct_it = (
            a("Correct", href=visit.link("correct", n=number), class_="button", data_key="e")
            if visit.may("update")
            else None
        )
        shown = [
            correct_it,
            action_form(visit, "forget", {"what": number}, plain=True),
            action_form(visit, "useful", {"ref": number, "useful": "yes"}, plain=True),
            action_form(visit, "useful", {"ref": number, "useful": "no"}, title="Not useful", plain=True),
        ]
    around_it = a("What is around it", href=visit.link("around", n=number), class_="button plain")
    erase_it = (
        a("Erase for good", href=visit.link("erase", n=number), class_="button danger")
        if visit.may("erase") and visit.is_person
        else None
    )
    return div(shown, around_it, erase_it, class_="acts", role="group", aria_label="Actions")


def spans(record: Record, lines: Sequence[Revision]) -> list[TimeBar]:
    """Two axes: when it was true, and when it was known here."""
    true_from = record.valid_at or record.created_at
    gone = lines[-1].change.at if record.state in GONE_STATES else None
    return [
        TimeBar("true", true_from, record.invalid_at if record.invalid_at and record.invalid_at > true_from else None),
        TimeBar("known", lines[0].change.at, gone),
    ]


def origin(visit: Visit, record: Record, lines: Sequence[Revision]) -> Markup:
    change = lines[0].change
    by = f"{change.actor}{by_words(change)}, through {change.surface.removesuffix(BY_MODEL)}"
    rows: list[tuple[str, Child]] = [("written", [by, ", ", when(change.at, visit.now)])]
    if session := record.session_id or change.session:
        rows.append(("session", a(session, href=visit.link("session", id=session))))
    if record.conversation_id:
        rows.append(
            ("conversation", a(record.conversation_id, href=visit.link("conversation", id=record.conversation_id)))
        )
    if record.source_project:
        rows.append(
            ("project", a(record.source_project, href=visit.link("memories", source_project=record.source_project)))
        )
    if record.key and record.key.partition(":")[0] not in KINDS:
        rows.append(("key", code(record.key)))
    rows += [("source", record.source), ("trust", record.trust)]
    for title, ids in (
        ("learned from", record.evidence),
        ("took the place of", record.supersedes),
        ("merged from", record.merged_from),
    ):
        if ids:
            more = len(ids) - _REFERENCES
            listed = [li(reference(visit, id)) for id in ids[:_REFERENCES]]
            rows.append((title, ul(listed, li(f"and {more:,} more") if more > 0 else None)))
    if made := facts_from(visit, record):
        rows.append(("made of it", ul([li(named(visit, each)) for each in made[:_REFERENCES]])))
    if record.metadata:
        rows.append(("metadata", ul([li(code(f"{name}: {value}")) for name, value in record.metadata.items()])))
    return dl([[dt(title), dd(value)] for title, value in rows])


def facts_from(visit: Visit, record: Record) -> list[Record]:
    """The facts of its conversation that were learned from a message or an episode. Their evidence is an episode: which
    of its messages told them, their words and times say.
    """
    if not is_said(record.key) or not record.conversation_id:
        return []
    within: Any = {"conversation_id": record.conversation_id, "limit": _LEARNED, "newest": False}
    episodes = visit.memory.list(key_type=EPISODE, **within)
    ids = {record.id, *(each.id for each in episodes if record.id in each.evidence)}
    learned = [each for each in visit.memory.list(source=LEARNED, **within) if ids.intersection(each.evidence)]
    if record.id in {each.id for each in episodes}:
        return learned
    told = ToldWords.of(record)
    return [each for each in learned if told.says(ToldWords.of(each), of_its_episode=True)]


def named(visit: Visit, record: Record) -> Child:
    return [a(f"#{record.number}", href=visit.link("memory", n=record.number)), " ", clip(one_line(record.text), 120)]


def reference(visit: Visit, id: str) -> Child:
    """A memory that another one names, as far as it is there."""
    try:
        line = visit.memory.history(id)[-1]
    except PerdureError:
        return code(id)
    text = one_line(line.record.text) if line.record else "erased"
    return [a(f"#{line.number}", href=visit.link("memory", n=line.number)), " ", clip(text, 120)]


def told_section(visit: Visit, record: Record) -> Child:
    """Which sessions were told it; only who may see all namespaces learns of sessions elsewhere."""
    if not visit.is_whole_store:
        return None
    told = list(sessions_told(str(record.id)))
    listed = [
        li(a(clip(kept.session, 40), href=visit.link("session", id=kept.session)), f" at its start, {place}")
        for kept, place in told
    ]
    listed += [
        li(a(clip(session, 40), href=visit.link("session", id=session)), " at a prompt, ", when(at, visit.now))
        for session, at in prompts_told(str(record.id))
    ]
    used = (
        f"It answered a search or began a session {count(record.recall_count, 'time', 'times')}"
        if record.recall_count
        else "It has answered no search and begun no session yet"
    )
    last = [", the last time ", when(record.recalled_at, visit.now)] if record.recalled_at else None
    return section(
        h2("Who was told it"),
        ul(listed) if listed else p("No session that is still known was told it."),
        p(used, last, "."),
    )


def sessions_told(id: str) -> Iterable[tuple[Any, str]]:
    for kept in kept_starts():
        for place, entries in (
            ("as a learning", kept.entries),
            ("as a rule", kept.constitutional),
            ("as what is about you", kept.about),
        ):
            if any(entry.get("id") == id for entry in entries):
                yield kept, place


def prompts_told(id: str) -> Iterable[tuple[str, datetime]]:
    """Each session whose prompts brought it to mind, with the latest time."""
    latest: dict[str, datetime] = {}
    for kept in kept_prompts_about(id):
        latest.setdefault(kept.session, parse_time(kept.at, "at"))
    return latest.items()


def version_section(visit: Visit, record: Record, versions: Sequence[Version]) -> Child:
    """Each version as what changed in its words, the newest first: of many some, and a way to those before them."""
    if len(versions) < 2:  # noqa: PLR2004
        return section(h2("Versions"), p("It always said this."))
    before = visit.number("versions")
    listed = [each for each in reversed(versions) if before is None or each.version < before]
    known = {each.version: each for each in versions}
    shown, spent = list[Version](), 0
    for each in listed[:_VERSIONS]:
        if spent < _COMPARED:
            shown.append(each)
            spent += len(each.record.text) ** 2 if each.record else 0
    rows = [version_row(visit, record, each, known) for each in shown]
    more = None
    if len(listed) > len(shown):
        told = f"Earlier versions ({len(listed) - len(shown):,})"
        more = nav(a(told, href=visit.here(versions=shown[-1].version)), class_="pages", aria_label="Versions")
    return section(h2("Versions"), ul(rows, class_="versions"), more)


def version_row(visit: Visit, record: Record, version: Version, known: Mapping[int, Version]) -> Markup:
    earlier = known.get(version.lineage[-1]) if version.lineage else None
    body: Child = p("Its text is gone.")
    if version.record is not None:
        body = pre(version.record.text, class_="text", tabindex="0")
        if earlier is not None and earlier.record is not None:
            body = difference(earlier.record, version.record)
    again = None
    if not version.current and version.record is not None and record.state == "active":
        again = action_form(visit, "restore-version", {"ref": record.number, "n": version.version}, plain=True)
    state = "now" if version.current else "taken back" if version.taken_back else ""
    head = [
        f"Version {version.version} {state} ",
        span(f"by {version.change.actor} "),
        when(version.change.at, visit.now),
    ]
    return li(div(head, class_="about"), body, again)


def difference(before: Record, after: Record) -> Child:
    """The text with what went and what came; and the other words, where they changed."""
    kinds = {"same": span, "removed": del_, "added": ins}
    text = [kinds[part.kind](part.text) for part in word_diff(before.text, after.text)]
    others = [
        p(
            f"{name}: ",
            del_(old) if old else None,
            " " if old and new else None,
            ins(new) if new else None,
            class_="note",
        )
        for name in WORDED
        if name != "text" and (old := getattr(before, name)) != (new := getattr(after, name))
    ]
    return [others, pre(text, class_="text diff", tabindex="0")]


def history_list(visit: Visit, lines: Sequence[Revision]) -> Markup:
    rows = [
        (
            when(line.change.at, visit.now), DONE[line.change.operation], line.change.actor,
            a(line.change.session, href=visit.link("session", id=line.change.session)) if line.change.session else "",
            line.version, a("details", href=visit.link("log", batch=line.change.batch)),
        )
        for line in reversed(lines[-_DEEPEST:])
    ]  # fmt: skip
    return data_table(("when", "what", "who", "session", "version", ""), rows, "History")


def fields(record: Record) -> Markup:
    """Whatever else is known of it, as the command `show` names it."""
    rows: list[list[Markup]] = []
    for name in field_names(Record):
        value: Any = getattr(record, name)
        if name in _SHOWN or value in (None, (), "", 0):
            continue
        told = format_local(value) if isinstance(value, datetime) else str(value)
        rows.append([dt(name), dd(", ".join(map(str, value)) if isinstance(value, tuple) else told)])  # pyright: ignore[reportUnknownArgumentType]
    return dl(rows)


def correct(visit: Visit) -> Shown:
    number = number_of(visit)
    record = present(visit, number)
    values = {name: getattr(record, name) for name in ("text", "title", "tags", "category", "importance")}
    about = {"ref": number, "expected_version": record.version}
    back = visit.link("memory", n=number)
    there = replace(visit, screen="memory", query={"n": (str(number),)} | _place(visit))
    return Shown(
        f"Correct #{number}",
        [
            p(
                "Other words make a new version; the old one stays in its history",
                ", and one undo takes it back." if visit.may("undo") else ".",
            ),
            kept_as_is(visit, record),
            field_form(there, "correct", about, values),
            p(a("Leave it as it is", href=back)),
        ],
        **spoken(visit, "update", number, text="…"),
    )


def kept_as_is(visit: Visit, record: Record) -> Child:
    made = facts_from(visit, record)[:_REFERENCES]
    return [p("Facts were learned from it. They stay as they are until you correct them, too:"),
            ul([li(named(visit, each)) for each in made])] if made else None  # fmt: skip


def erase(visit: Visit) -> Shown:
    number = number_of(visit)
    record = visit.memory.history(number)[-1].record
    if record is None:
        raise NotFound(f"Memory #{number} is erased already.")
    there = replace(visit, screen="memory", query={"n": (str(number),)} | _place(visit))
    return Shown(
        f"Erase #{number}?",
        [
            pre(clip(record.text, 600), class_="text", tabindex="0"),
            p("Forgetting hides a memory and can be taken back. Erasing removes it from every file, for good. "
              "Next you see everything that would go, and are asked to type how many memories that are."),
            field_form(there, "erase", {"what": number}, {"related": "derived"}, title="Show what would go"),
            p(a("Leave it as it is", href=visit.link("memory", n=number))),
        ],
        **spoken(visit, "erase", number),
    )  # fmt: skip


def _place(visit: Visit) -> dict[str, tuple[str, ...]]:
    return {} if visit.namespace == visit.home else {"namespace": (visit.namespace,)}


def present(visit: Visit, number: int) -> Record:
    """The memory as it is, which is no use of it."""
    record = visit.memory.history(number)[-1].record
    if record is None or record.state in GONE_STATES:
        raise NotFound(f"Memory #{number} is {'erased' if record is None else record.state}.")
    return record


def around(visit: Visit) -> Shown:
    """What a memory is tied to: evidence, what took the place of what, the same key, session and conversation."""
    number = number_of(visit)
    record = visit.memory.history(number)[-1].record
    if record is None:
        raise NotFound(f"Memory #{number} is erased.")
    found: dict[int, GraphNode] = {}
    for each in neighbours(visit, record):
        if each.number != number:
            found.setdefault(each.number, each)
    near = list(found.values())[:MOST_AROUND]
    rows = [
        (a(f"#{each.number}", href=visit.link("memory", n=each.number)), each.kind, clip(one_line(each.text), 140))
        for each in near
    ]
    listed = data_table(("memory", "how", "text"), rows, "What is around it")
    body = (
        div(graph_around(visit, number, near), listed, class_="around")
        if near
        else empty("Nothing is tied to this memory: no evidence, no session, no conversation, no successor.")
    )
    return Shown(
        f"Around #{number}",
        [p(a(clip(one_line(record.title or record.text), 140), href=visit.link("memory", n=number))), body],
        **spoken(visit, "history", number),
    )


def neighbours(visit: Visit, record: Record) -> Iterable[GraphNode]:
    for kind, ids in (("evidence", record.evidence), ("superseded", record.supersedes), ("merged", record.merged_from)):
        for id in ids[:40]:
            try:
                line = visit.memory.history(id)[-1]
            except PerdureError:
                continue
            yield GraphNode(line.number, line.record.text if line.record else "erased", kind)
    for fact in facts_from(visit, record):
        yield GraphNode(fact.number, fact.text, "made of it")
    near: list[tuple[str, dict[str, Any]]] = []
    if record.conversation_id:
        near.append(("conversation", {"conversation_id": record.conversation_id}))
    # What was said, and episodes, have keys of a type that says nothing.
    if record.key and (kind := record.key.partition(":")[0]) not in KINDS:
        near.append((f"also a {kind}", {"key_type": kind}))
    for kind, filters in near:
        for other in visit.memory.list(limit=40, **filters):
            yield GraphNode(other.number, other.text, kind)
    session = record.session_id or visit.memory.history(record.number)[0].change.session
    if session:
        for line in visit.memory.log(session=session, limit=100):
            if line.record is not None and not is_proposed(line):
                yield GraphNode(line.number, line.record.text, "session")
