"""Which sessions there were, and taking back what one of them wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Unpack

from perdure.clock import parse_time
from perdure.errors import NotAllowed
from perdure.ids import EPISODE
from perdure.model import LEARNING_CATEGORIES, Record, RevertResult
from perdure.open_memory import namespace_names, store_address
from perdure.project import project_label
from perdure.session.kept import discard_told, kept_starts
from perdure.session.privacy import sessions_off_record
from perdure.session.spool import Spool
from perdure.session.tool_use import discard_tool_use

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.validation import Filters

_LINES: Final = 1000
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class SessionSeen:
    """`last_at` is when it last began or wrote, `change_count` how much of the newest part of the log is its, with the
    turns that wait to be stored; 0 once all of it was taken back.
    """

    session: str
    last_at: datetime
    project: str | None = None
    injected: int = 0
    tokens: int = 0
    change_count: int = 0
    off_record: bool = False


@dataclass(frozen=True, slots=True)
class TakenBack:
    """One memory of a session: `removed`, `reverted` to what it was before, `forgotten` because it was made of what the
    session said, or `skipped`.
    """

    namespace: str
    number: int
    outcome: str
    text: str


@dataclass(frozen=True, slots=True)
class SessionForgotten:
    """`waiting` counts turns that were not in the store yet, and are gone. Undoing `batch` brings the others back."""

    session: str
    memories: tuple[TakenBack, ...]
    waiting: int = 0
    batch: str | None = None
    notes: tuple[str, ...] = ()


def list_sessions(
    memory: Memory,
    environ: Mapping[str, str] | None = None,
    limit: int | None = None,
    until: datetime | None = None,
) -> list[SessionSeen]:
    """Those that began lately or wrote lately, newest first."""
    return list(islice(sessions_seen(memory, environ, until), limit))


def latest_writer(memory: Memory) -> str | None:
    """The latest session of which something is there that can be taken back."""
    return next((one.session for one in sessions_seen(memory) if one.change_count), None)


def sessions_seen(
    memory: Memory, environ: Mapping[str, str] | None = None, until: datetime | None = None
) -> Iterator[SessionSeen]:
    """The newest first. With `until`, those that had begun or written by then, with what they had written by then,
    whether or not it was taken back; when a session went off the record is not kept, so none is called so.
    """
    seen: dict[str, SessionSeen] = {}
    off = frozenset[str]() if until else frozenset(sessions_off_record(environ))
    label = cache(project_label)
    for kept in kept_starts(environ):
        tokens = -(-len(kept.text) // 4)
        at = parse_time(kept.at, "at")
        if until and at > until:
            continue
        told = len(kept.entries) + len(kept.constitutional) + len(kept.about)
        seen[kept.session] = SessionSeen(kept.session, at, label(kept.project) if kept.project else "", told, tokens)
    changes, last_writers = changes_by_session(memory, until)
    for session in {*seen, *changes, *off}:
        known = seen.get(session)
        times = changes.get(session, [])
        moments = [*times, *([known.last_at] if known else [])]
        if not moments:
            continue
        seen[session] = SessionSeen(
            session, max(moments), known.project if known else None, known.injected if known else 0,
            known.tokens if known else 0, len(times), session in off,
        )  # fmt: skip
    for one in sorted(seen.values(), key=lambda one: one.last_at, reverse=True):
        is_past_writer = until is None and one.change_count and one.session not in last_writers
        if is_past_writer and is_taken_back(memory, one.session):
            yield replace(one, change_count=0)
        else:
            yield one


def changes_by_session(
    memory: Memory, until: datetime | None = None
) -> tuple[dict[str, list[datetime]], set[str | None]]:
    """When each session wrote lately, with the turns that wait to be stored; and the sessions with a change that is
    still the newest of its memory.
    """
    changes: dict[str, list[datetime]] = {}
    newest: dict[tuple[str, int], str | None] = {}
    for name in namespace_names(memory):
        for line in memory.namespace(name).log(limit=_LINES, until=until):
            newest.setdefault((name, line.number), line.change.session)
            if line.change.session:
                changes.setdefault(line.change.session, []).append(line.change.at)
    waiting = Spool(store_address(memory)).messages()
    for message in waiting:
        at = parse_time(message.at, "at")
        if until is None or at <= until:
            changes.setdefault(message.conversation, []).append(at)
    return changes, {*newest.values(), *(message.conversation for message in waiting)}


def is_taken_back(memory: Memory, session: str) -> bool:
    try:
        return not has_changes(memory.undo(session=session, all_namespaces=True, force=True, dry_run=True))
    except NotAllowed:
        # There is something, which only a person takes back.
        return False


def has_changes(result: RevertResult) -> bool:
    return any(part.reverted or part.removed for part in (result, *dict(result.parts).values()))


def forget_session(
    memory: Memory,
    session: str,
    *,
    force: bool = False,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> SessionForgotten:
    """Take back everything that a session wrote, by hooks and by tools alike, in all namespaces: its changes are
    undone, and what was made of its messages since is forgotten. One undo of the batch brings everything back.
    """
    undo = partial(undo_session, memory, session, force=force)
    planned = undo(dry_run=True)
    parts = dict(planned.parts) or {namespace_of_session(memory, session): planned}
    gone = [one for name, part in parts.items() for one in planned_changes(memory.namespace(name), name, part)]
    known = {(one.namespace, one.number) for one in gone}
    made = {
        name: [record for record in made_of_conversation(memory, name, session) if (name, record.number) not in known]
        for name in namespace_names(memory)
    }
    gone += (
        TakenBack(name, record.number, "forgotten", record.title or record.text)
        for name, records in made.items()
        for record in records
    )
    if dry_run:
        return SessionForgotten(session, tuple(gone), notes=planned.notes if gone else ())
    # First, so that nobody stores it meanwhile.
    waiting = Spool(store_address(memory)).discard(session)
    with memory.batch() as batch:
        done = undo(dry_run=False)
        for name, records in made.items():
            if records:
                memory.namespace(name).forget([record.number for record in records], confirm=True)
    discard_told(session, environ)
    discard_tool_use(session)
    wrote = done.batch is not None or any(made.values())
    return SessionForgotten(session, tuple(gone), waiting, batch if wrote else None, done.notes if gone else ())


def undo_session(memory: Memory, session: str, *, force: bool, dry_run: bool) -> RevertResult:
    """Where its changes were undone before, nothing is left to undo; what was made of them may still be there."""
    from perdure.errors import Conflict

    undo = partial(memory.undo, session=session, all_namespaces=True)
    try:
        return undo(force=force, dry_run=dry_run)
    except Conflict:
        # What others changed since can be overruled; what was undone cannot be undone again.
        forced = undo(force=True, dry_run=True)
        if has_changes(forced):
            raise
        return forced


def planned_changes(memory: Memory, name: str, part: RevertResult) -> Iterator[TakenBack]:
    """What will be undone, in the words that are still there."""
    for outcome, numbers in (("removed", part.removed), ("reverted", part.reverted)):
        for number in numbers:
            records = (line.record for line in reversed(memory.history(number)) if line.record)
            record = next(records, None)
            yield TakenBack(name, number, outcome, (record.title or record.text) if record else "")
    yield from (TakenBack(name, one.number, "skipped", one.reason) for one in part.skipped)


def namespace_of_session(memory: Memory, session: str) -> str:
    """An answer about one namespace does not name it."""
    names = namespace_names(memory)
    return next((name for name in names if memory.namespace(name).log(session=session, limit=1)), names[0])


def made_of_conversation(memory: Memory, namespace: str, session: str) -> list[Record]:
    """Messages, episodes and facts of the session's conversation that are still there, and the learnings that were made
    of it. What is also known from another conversation stays.
    """
    view = memory.namespace(namespace)
    episodes = _all(view, conversation_id=session, key_type=EPISODE)
    own = {record.id for record in episodes}
    learnings = _all(view, category=LEARNING_CATEGORIES) if own else ()
    made = [*_all(view, conversation_id=session), *(record for record in learnings if record.evidence)]
    return [*(record for record in made if not set(record.evidence) - own), *episodes]


def _all(memory: Memory, **filters: Unpack[Filters]) -> Sequence[Record]:
    records: list[Record] = []
    after: int | None = None
    while True:
        page = memory.list(limit=_PAGE, after=after, **filters)
        records += page.records
        if page.next is None:
            return records
        after = page.next
