"""What is shown before something is done, and after it: previews that wait for a yes, what was done with its undo, and
the receipt of an erasure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from perdure.clock import format_local
from perdure.errors import Conflict, NotFound, PerdureError, VersionConflict
from perdure.ids import PROPOSAL
from perdure.model import BY_MODEL, Change, Finding, Forgotten, MarkdownCopy, RevertResult, Revision
from perdure.remedies import Flag, Remedy, Run
from perdure.text.preview import clip, one_line
from perdure.web.actions import ABOUT, ACTIONS, Given, PageAction, action_form, check_back, is_erasure, undo_form
from perdure.web.layout import data_table, each_of, hidden, memory_list, refusal, with_code
from perdure.web.markup import (
    NOTHING,
    Child,
    Markup,
    PageLink,
    a,
    button,
    code,
    div,
    form,
    h2,
    input_,
    label,
    li,
    p,
    page_link,
    pre,
    section,
    small,
    span,
    strong,
    ul,
)
from perdure.web.visit import Shown, Visit

# What was done to memories, as people say it.
DONE: Final[Mapping[str, str]] = {
    "insert": "remembered", "observe": "observed again", "update": "corrected", "annotate": "changed",
    "validate": "judged", "promote": "promoted", "forget": "forgot", "restore": "brought back", "expire": "expired",
    "evict": "evicted", "undo": "took back", "rewind": "set back", "erase": "erased",
}  # fmt: skip
_LISTED: Final = 200
_LINE: Final = 140
# What a proposal is about, before the two numbers and a question mark.
_PROPOSED: Final = {"merge": "do they say the same:", "conflict": "is only one of them true:"}
_BY_OPTION: Final = "; clear_existing (--clear-existing) would remove them."
_BY_OTHERS: Final = {
    "work": " (background work)", "files": " (from files)", "takeover": " (from files)", "import": " (from files)",
    "hook": " (a session)",
}  # fmt: skip
# So many memories are named one by one.
_FEW: Final = 3


def count(n: int, word: str = "memory", words: str = "memories") -> str:
    return f"{n:,} {word if n == 1 else words}"


def told_changes(lines: Sequence[Revision], *, is_undo_of_undo: bool = False) -> str:
    """`corrected #12, forgot #13`, in the order in which it was done, and what was proposed about it last; of many only
    how many. `is_undo_of_undo`: it took an undo back.
    """
    told: list[str] = []
    for done in dict.fromkeys(_done(line) for line in without_proposals(lines)[::-1]):
        numbers = sorted({line.number for line in lines if _done(line) == done})
        which = ", ".join(f"#{number}" for number in numbers) if len(numbers) <= _FEW else count(len(numbers))
        told.append(f"{'undid the undo of' if is_undo_of_undo else done} {which}")
    if pairs := len({line.number for line in lines if is_proposed(line)}):
        told.append(f"proposed {count(pairs, 'pair', 'pairs')} to decide about")
    return ", ".join(told)


def _done(line: Revision) -> str:
    return PROPOSAL if is_proposed(line) else DONE[line.change.operation]


def is_proposed(line: Revision) -> bool:
    """Whether it adds a pair for somebody to decide about."""
    return line.change.operation == "insert" and line.record is not None and line.record.source == PROPOSAL


def is_taken_back(lines: Sequence[Revision], newest: Mapping[int, Revision]) -> bool:
    """Whether an undo, or a way back, made all of it other than a call left it; `newest` has the last line of each
    memory.
    """
    return all(
        (last := newest.get(line.number)) is not None
        and last.change.operation in {"undo", "rewind"}
        and last.change.batch != line.change.batch
        and (line.change.operation == "undo" or _state(last) != _state(line))
        for line in lines
    )


def is_undo_of_undo(visit: Visit, lines: Sequence[Revision]) -> bool:
    """Whether it is the undo of an undo: what it changed is as it was before the undo before it."""
    if not lines or any(line.change.operation != "undo" for line in lines):
        return False
    steps = [line for line in visit.memory.history(lines[0].number) if line.seq <= lines[0].seq]
    is_again = False
    for place in range(2, len(steps)):
        undone = steps[place].change.operation == steps[place - 1].change.operation == "undo"
        is_again = undone and not is_again and _state(steps[place]) == _state(steps[place - 2])
    return is_again


def by_words(change: Change) -> str:
    """What stands behind the name of whoever changed something: not every text that counts like a model's is one's."""
    if not change.surface.endswith(BY_MODEL):
        return ""
    return _BY_OTHERS.get(change.surface.removesuffix(BY_MODEL), " (a model)")


def _state(line: Revision) -> tuple[object, ...]:
    record = line.record
    return () if record is None else (
        record.text, record.title, record.state, record.tags, record.tier, record.category, record.importance,
        record.validation_count,
    )  # fmt: skip


def without_proposals(lines: Sequence[Revision]) -> list[Revision]:
    return [line for line in lines if not is_proposed(line)]


def done_banner(visit: Visit, batch: str) -> Child:
    """What was just done, and its undo."""
    everywhere = bool(visit.one("all")) and visit.is_whole_store
    try:
        lines = visit.memory.log(batch=batch, limit=_LISTED)
    except PerdureError:
        return None
    is_again = is_undo_of_undo(visit, lines)
    told = told_changes(lines, is_undo_of_undo=is_again) or ("taken back, in other namespaces" if everywhere else "")
    if not told:
        return None
    is_final = all(line.change.operation == "erase" for line in lines) and lines
    undone = bool(lines) and all(line.change.operation == "undo" for line in lines)
    undo = None if is_final else action_form(
        visit, "undo", {"batch": batch, "sure": "1", "all_namespaces": "on" if everywhere else None},
        title="Redo" if undone and not (everywhere or is_again) else "Undo", key="u",
    )  # fmt: skip
    return div(span(f"Done: {told}."), undo, role="status", class_="banner")


def said_banner(visit: Visit, name: str) -> Child:
    """Our own words about an action: an address cannot say its own."""
    action = ACTIONS.get(name)
    told = (action.said or "Nothing had to be changed.") if action else None
    return div(span(told), undo_form(visit, name), role="status", class_="banner") if told else None


# -- before ------------------------------------------------------------------------------------------------------------


def preview_screen(
    visit: Visit,
    action: PageAction,
    given: Given,
    sent: Mapping[str, tuple[str, ...]],
    back: str,
) -> Shown | None:
    """What would be done; None where it is confirmed."""
    if action.asks == "count":
        return _erase_preview(visit, action, given, sent, back)
    sure: Child = form(
        hidden(visit, **_repeated(action, sent), sure="1", back=back),
        button(f"Yes: {action.title.lower()}", type="submit", data_key="a"),
        action=page_link(action.name),
        method="post",
        class_="act",
    )
    what: Child = p(action.warns)
    if action.asks == "look":
        preview: Any = action.do(visit, {**given, "dry_run": True})
        given = {**given, "dry_run": True}
        warning = p(action.warns) if action.warns and visit.is_whole_store else None
        what = [p("Nothing was changed yet. This is what would happen:"), _previewed(visit, preview), warning]
        if not _anything(preview):
            what, sure = [p("There is nothing to do."), _previewed(visit, preview)], None
    younger: Child = None
    if action.name == "go-back" and not given.get("clear_existing"):
        younger = form(
            hidden(visit, **{**_repeated(action, sent), "clear_existing": "on"}, back=back),
            button("See it without what is younger", type="submit", class_="plain"),
            action=page_link(action.name),
            method="post",
            class_="act",
        )
    return Shown(
        f"{action.title}?",
        section(what, div(sure, younger, a("Leave it as it is", href=PageLink(back)), class_="row")),
        ("perdure", *_as_command(action, given)),
        f"memory.{action.verb}({', '.join(f'{k}={v!r}' for k, v in given.items())})",
    )


_COMMANDS: Final = {
    "take-back": "session forget", "go-back": "checkpoint restore", "delete-checkpoint": "checkpoint delete",
    "discard": "parked --discard",
}  # fmt: skip


def _as_command(action: PageAction, given: Given) -> list[str]:
    words = _COMMANDS.get(action.name, action.verb).split()
    for name, value in given.items():
        if name in {"batch", "what"} or (action.name in _COMMANDS and name in {"session", "name", "ids"}):
            words += map(str, each_of(value))
        elif value:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


def _repeated(action: PageAction, sent: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    names = {*action.fields, *ABOUT.get(action.name, ())}
    return {name: list(values) for name, values in sent.items() if name in names}


def _anything(preview: Any) -> bool:
    if isinstance(preview, RevertResult):
        parts = (preview, *dict(preview.parts).values())
        return any(part.reverted or part.removed for part in parts)
    return bool(getattr(preview, "memories", None) or getattr(preview, "records", None))


def _previewed(visit: Visit, preview: Any) -> Child:
    # Of what is younger a button of its own takes care here.
    notes = [p(note.replace(_BY_OPTION, "."), class_="note") for note in getattr(preview, "notes", ())]
    if isinstance(preview, RevertResult):
        parts = dict(preview.parts) or {visit.namespace: preview}
        titled = len(parts) > 1
        return [[_reverted(visit, name, part, titled=titled) for name, part in parts.items()], notes]
    if isinstance(preview, Forgotten):
        return [memory_list(visit, preview.records), notes]
    rows = [
        (
            one.outcome, one.namespace,
            a(f"#{one.number}", href=visit.link("memory", n=one.number, namespace=one.namespace)), one.text[:200],
        )
        for one in preview.memories
    ]  # fmt: skip
    return [
        data_table(("what", "namespace", "memory", "text"), rows, "What would be taken back") if rows else None,
        notes,
    ]


def _reverted(visit: Visit, name: str, part: RevertResult, *, titled: bool) -> Markup:
    rows: list[Markup] = []
    memory = visit.memory.namespace(name)
    for outcome, numbers in (
        ("becomes what it was before", part.reverted),
        ("goes, as it did not exist", part.removed),
    ):
        rows += (
            li(
                a(f"#{number}", href=visit.link("memory", n=number, namespace=name)), f" {outcome}: ",
                small(line_text(memory.history(number)[-1])),
            )
            for number in numbers[:_LISTED]
        )  # fmt: skip
    rows += (li(f"#{one.number} stays: {one.reason}") for one in part.skipped[:_LISTED])
    return section(h2(name) if titled else None, ul(rows)) if rows else NOTHING


def line_text(line: Revision) -> str:
    """What a memory said, in one line."""
    if line.record is None:
        return "its text is gone"
    if line.record.source == PROPOSAL:
        kind, _, pair = (line.record.title or line.record.text).partition(" ")
        return f"{_PROPOSED.get(kind, kind)} {pair}"
    return clip(one_line(line.record.title or line.record.text), _LINE)


def _erase_preview(
    visit: Visit, action: PageAction, given: Given, sent: Mapping[str, tuple[str, ...]], back: str
) -> Shown | None:
    preview: Forgotten = action.do(visit, {**given, "dry_run": True})
    expected, typed = str(len(preview.records)), (sent.get("typed") or ("",))[0].strip()
    if typed == expected and (sent.get("sure") or ("",))[0] == preview.token:
        return None
    these = count(len(preview.records))
    ask = form(
        hidden(visit, **_repeated(action, sent), sure=preview.token, back=back),
        label(f"Type {expected} to erase {these} for good", for_="typed"),
        input_(id="typed", name="typed", inputmode="numeric", autocomplete="off", required=True),
        div(
            button("Erase for good", type="submit", class_="danger"),
            a("Leave it as it is", href=PageLink(back)),
            class_="row",
        ),
        action=page_link("erase"),
        method="post",
        class_="stack",
    )
    return Shown(
        f"Erase {these}?",
        section(
            p("That is not the number that was asked for.", role="alert", class_="bad") if typed else None,
            p(strong("Nothing brings it back."), " Every version goes, from every file of the store."),
            memory_list(visit, preview.records),
            _copies(preview.copies, "Copies in Markdown files that go too"),
            [p(note, class_="note") for note in preview.notes],
            ask,
        ),
        ("perdure", "erase", *map(str, [given.get("what", "")]), "--dry-run"),
        f"memory.erase({given.get('what')!r}, dry_run=True)",
    )


def _copies(copies: Sequence[MarkdownCopy], title: str) -> Child:
    rows = [(copy.path, copy.line_number or "", copy.outcome, copy.reason or "") for copy in copies]
    return section(h2(title), data_table(("file", "line", "", ""), rows, title)) if rows else None


# -- instead -----------------------------------------------------------------------------------------------------------


def refused_screen(visit: Visit, action: PageAction, sent: Mapping[str, tuple[str, ...]], error: PerdureError) -> Shown:
    """What was not done, and what can be done now; what was typed is not lost."""
    back = (sent.get("back") or ("./",))[0]
    with suppress(PerdureError):
        visit = visit.at(check_back(back))
    text = (sent.get("text") or ("",))[0]
    typed = (p("What you typed:"), pre(text, class_="text", tabindex="0", aria_label="What you typed"))
    ways = [*other_choices(visit, action, sent, error)]
    if isinstance(error, VersionConflict):
        # It was there a moment ago, in these words.
        ways = [
            a("Correct it as it is now", href=visit.link("correct", n=(sent.get("ref") or ("",))[0]), class_="button")
        ]
    told = (
        p("Nothing was changed."),
        div(ways, a("Leave it as it is", href=visit.here()), class_="row"),
    )  # fmt: skip
    return Shown("That was not done", [refusal(error, visit, *(told if ways else ())), typed if text.strip() else None])


def other_choices(
    visit: Visit, action: PageAction, sent: Mapping[str, tuple[str, ...]], error: PerdureError
) -> Iterator[Child]:
    """Where others changed since what is to be taken back: their change first, or over it. Both show first what they
    would do.
    """
    parts = error.advice.parts if isinstance(error, Conflict) and isinstance(error.advice, Remedy) else ()
    is_forcible = any(isinstance(part, Flag) and part.name == "force" for part in parts)
    for part in parts:
        if isinstance(part, Run) and part.name == "undo":
            title = "Take that change back first" if is_forcible else "Bring it back"
            yield action_form(visit, "undo", {"batch": part.arguments[0]}, title=title, key="")
    if is_forcible and "force" in ABOUT.get(action.name, ()):
        about = {**_repeated(action, sent), "force": "on"}
        yield action_form(visit, action.name, about, title="Take it back all the same", key="", plain=True)


# -- after -------------------------------------------------------------------------------------------------------------


def result_screen(visit: Visit, action: PageAction, result: Any, back: str) -> Shown | None:
    """What has more to say than a line: an erasure, and a look at the store."""
    if is_erasure(result):
        return receipt_screen(visit, result.batch or "", result)
    if action.name == "doctor":
        return findings_screen(result, back)
    return None


def receipt_screen(visit: Visit, batch: str, erased: Forgotten | None = None) -> Shown:
    """That memories were erased: what the log proves, and right after it also what was said about files."""
    lines = [line for line in visit.memory.log(batch=batch, limit=1000) if line.change.operation == "erase"]
    if not lines:
        raise NotFound("Nothing was erased by that.", remedy="See what was: the screen Erased.")
    change = lines[0].change
    rows = [
        (
            f"#{line.number}", code(str(line.memory)),
            "text left" if _has_text(visit, line) else "no text is left", code(line.hash),
        )
        for line in lines
    ]  # fmt: skip
    said: Child = None
    if erased is not None:
        is_database = visit.settings.store.kind == "database"
        scrubbed = "Its rows are gone from the database" if is_database else "Every file was rewritten"
        said = section(
            h2("Files"),
            p(f"{'Some bytes wait for another process' if erased.scrub_pending else scrubbed}."),
            _copies(erased.copies, "Copies in Markdown files"),
            [p(note, class_="note") for note in erased.notes],
        )
    verify = action_form(visit, "doctor", {}, title="Check the whole store again", key="")
    return Shown(
        f"Receipt: {count(len({line.number for line in lines}))} erased",
        section(
            p(f"Erased by {change.actor} on {format_local(change.at)}. "
              "The lines of the log stay, without a word of what was erased, and prove that it happened."),
            data_table(("memory", "id", "looked at just now", "hash of the line in the log"), rows, "What was erased"),
            said,
            p("This page can be made again at any time from the log: ",
              a("keep its address", href=visit.link("erased", batch=batch)), "."),
            verify,
        ),
        ("perdure", "log", "--batch", batch),
        f"memory.log(batch={batch!r})",
    )  # fmt: skip


def _has_text(visit: Visit, line: Revision) -> bool:
    """Whether any line of the log, or the store itself, still holds the memory."""
    history = visit.memory.history(line.number)
    return any(one.record is not None for one in history)


def findings_screen(findings: Sequence[Finding], back: str) -> Shown:
    rows = [
        (
            span(found.level, class_=f"badge {found.level}"),
            found.check,
            with_code(" ".join(filter(None, (found.sentence, found.remedy)))),
        )
        for found in findings
    ]
    bad = sum(found.level == "problem" for found in findings)
    return Shown(
        "The store was checked",
        section(
            p(f"{count(bad, 'problem', 'problems')} in {count(len(findings), 'check', 'checks')}.", role="status"),
            data_table(("", "check", "what was found"), rows, "Checks"),
            p(a("Back", href=PageLink(back))),
        ),
        ("perdure", "doctor"),
        "list(memory.doctor())",
    )
