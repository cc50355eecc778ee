"""The start of a session: one text with what earlier sessions learned, within a budget of time, whatever is broken.

Step by step down: meaning and words from the store, then words alone when the embedder does not answer in time, then
the Markdown of the knowledge bank when the store does not, then nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from perdure.session.configuration import FILE, SessionConfiguration, read_configuration, session_settings
from perdure.session.signals import collect_signals

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Hit, Record
    from perdure.session.privacy import Place
    from perdure.settings import Settings

Source: TypeAlias = Literal["startup", "resume", "clear", "compact"]
BlockMode: TypeAlias = Literal["semantic", "plain", "none"]
Result = TypeVar("Result")

BUDGET_SECONDS: Final = 2.0
# Hosts cut a context of more than 10,000 characters.
MOST_CHARACTERS: Final = 9_500
# Seconds: what the Markdown pipeline needs, what ranking and writing need behind the embedder, how long a write waits.
_FOR_PLAIN: Final = 0.3
_BEHIND_EMBEDDER: Final = 0.4
_BUSY: Final = 0.3
_FOR_COUNTING: Final = 0.3
_FOR_GIT: Final = 0.4
_LEAST: Final = 0.05
# Fewer entries may take fewer digits.
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBlock:
    """What a session gets. `text` is empty where there is nothing to say. `entries` are the learnings in it, best
    first, each with its reasons; `left_out` found no room. `diagnostics` is the line that the text ends with. `mode`:
    `semantic` (from the store), `plain` (from the Markdown files alone) or `none`. `repeated`: it is the text that the
    session had before.
    """

    text: str = ""
    entries: tuple[Hit, ...] = ()
    constitutional: tuple[Record, ...] = ()
    left_out: tuple[Hit, ...] = ()
    diagnostics: str = ""
    notes: tuple[str, ...] = ()
    query: str | None = None
    mode: BlockMode = "none"
    repeated: bool = False

    @property
    def tokens(self) -> int:
        """About as many tokens as the text costs a model."""
        from perdure.text.tokens import estimate

        return estimate(self.text)


NOTHING: Final = SessionBlock()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One start: for whom, from where, and until when."""

    given: Memory | Settings | None
    project: Path
    source: Source
    session: str | None
    deadline: float
    counts: bool
    environ: Mapping[str, str]
    configuration: SessionConfiguration

    @property
    def left(self) -> float:
        return max(self.deadline - monotonic(), _LEAST)


def session_block(
    memory_or_settings: Memory | Settings | None,
    project_dir: str | os.PathLike[str],
    *,
    source: Source = "startup",
    budget: float = BUDGET_SECONDS,
    session: str | None = None,
    counts: bool = True,
    environ: Mapping[str, str] | None = None,
) -> SessionBlock:
    """Never raises, and takes no longer than `budget` seconds: what cannot be had in time is left out. Without a memory
    or settings, those of the project's sessions are used. `counts`: what is injected counts as recalled, and is kept
    for a resume.
    """
    deadline = monotonic() + budget
    try:
        start = _Start(
            given=memory_or_settings, project=Path(project_dir), source=source, session=session, deadline=deadline,
            counts=counts, environ=os.environ if environ is None else environ,
            configuration=read_configuration(project_dir),
        )  # fmt: skip
        if session and counts:
            from perdure.session.privacy import note_session

            note_session(project_dir, session, start.environ)
        if not start.configuration.injection or not start.configuration.limit:
            return NOTHING
        if not start.configuration.semantic:
            return _plain(start)
        made = in_time(partial(_from_store, start), start.left - _FOR_PLAIN)
        if made is None:
            return _plain(start, fallback=True)
        in_time(made.finish, min(start.left, _FOR_COUNTING))
    except Exception:  # noqa: BLE001 - a session starts, whatever is broken here
        return NOTHING
    return made.block


def in_time(work: Callable[[], Result], seconds: float) -> Result | None:
    """What the work answers; None if it fails, or is not done by then. It is left behind: nobody can stop a thread that
    waits for a disk.
    """
    done: list[Result] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception:  # noqa: BLE001 - whoever waits sees that nothing came
            return

    thread = threading.Thread(target=run, name="perdure-session", daemon=True)
    thread.start()
    thread.join(max(seconds, _LEAST))
    return done[0] if done else None


def _plain(start: _Start, *, fallback: bool = False) -> SessionBlock:
    """The block of the Markdown pipeline; in the place of the store's, with a line that says so."""
    from perdure.bank.entries import global_bank
    from perdure.bank.plain import plain_block, plain_selection
    from perdure.session.block import plain_diagnostics

    folder = global_bank(start.environ.get("HOME"))
    if not start.counts:
        from perdure.bank.plain import render_block

        text = render_block(plain_selection(start.project, folder, start.configuration.limit))
    else:
        text = plain_block(start.project, folder, start.configuration.limit)
    if not text or not fallback:
        return SessionBlock(text=text, mode="plain" if text else "none")
    shown = plain_selection(start.project, folder, start.configuration.limit)
    shared = sum(entry.is_global for entry in shown)
    line = plain_diagnostics(len(shown) - shared, shared)
    return SessionBlock(text=f"{text}\n{line}", mode="plain", diagnostics=line)


class _Made(NamedTuple):
    """A block, and what is left to do once it is sure to be used."""

    block: SessionBlock
    finish: Callable[[], None]


def _from_store(start: _Start) -> _Made:
    """The block by meaning and words. Raises whatever keeps it from being made."""
    from perdure.memory import Memory
    from perdure.session.privacy import where

    signals = collect_signals(start.project, seconds=min(_FOR_GIT, start.left / 4))
    settings = session_settings(start.project, environ=start.environ, configuration=start.configuration)
    if start.given is not None and not isinstance(start.given, Memory):
        settings = start.given
    place = where(start.project, start.session, namespace=settings.namespace, environ=start.environ)
    if isinstance(start.given, Memory):
        return _of_memory(start, start.given, place, signals.query)
    memory = _open(start, settings, place)
    if memory is None:
        return _Made(NOTHING, lambda: None)
    try:
        made = _of_memory(start, memory, place, signals.query)
    except BaseException:
        memory.close()
        raise

    def finish() -> None:
        with memory:
            made.finish()

    return _Made(made.block, finish)


def _open(start: _Start, settings: Settings, place: Place) -> Memory | None:
    """The memory of the session. A store is made only where there is something to put into it."""
    from perdure.errors import StoreMissing
    from perdure.memory import Memory

    # The embedder gets what is left but for the rest of the work.
    seconds = max(min(settings.provider_seconds, start.left - _FOR_PLAIN - _BEHIND_EMBEDDER), _LEAST)
    hurried = replace(settings, busy_seconds=min(settings.busy_seconds, _BUSY), provider_seconds=seconds)
    open_memory = partial(
        Memory, settings=hurried, namespace=place.namespace, session=start.session, surface="hook", writer="model"
    )  # fmt: skip
    try:
        return open_memory(create=False)
    except StoreMissing:
        return open_memory() if place.recording and has_sources(start.project, start.environ) else None


def has_sources(project: Path, environ: Mapping[str, str]) -> bool:
    """Whether a first run finds anything to take in."""
    from perdure.bank.entries import global_bank, local_bank

    folders = (local_bank(project), global_bank(environ.get("HOME")), project / "specs")
    return any(folder.is_dir() for folder in folders)


def _of_memory(start: _Start, memory: Memory, place: Place, query: str | None) -> _Made:
    state = state_of(memory, place, start.configuration, query)
    if start.source == "resume" and (kept := _same_as_before(start, state)):
        return _Made(kept, lambda: None)
    block = build_block(memory, place, start.configuration, query)

    def finish() -> None:
        if start.counts and block.text:
            count_injection(memory, block)
            if start.session and place.recording:
                _keep(start, block, state)

    return _Made(block, finish)


def build_block(memory: Memory, place: Place, configuration: SessionConfiguration, query: str | None) -> SessionBlock:
    """What a session would get now. It counts as no use."""
    from perdure.session.block import diagnostics, fill_block, problem_line

    constitution = [record for name in reversed(place.read_namespaces) for record in _constitution(memory, name)]
    always = {record.id for record in constitution}
    ask = partial(
        memory.learnings, limit=configuration.limit + len(always), namespaces=place.read_namespaces,
        recipe=configuration.recipe,
    )  # fmt: skip
    found = ask(query)
    if query is not None and not found.recall and found.total:
        # No word of the query is known here, and nobody can compare meanings: what matters most will do.
        found = ask(None)
    hits = [hit for hit in found.recall if hit.record.id not in always][: configuration.limit]
    compared = found.recall.compared
    problems = [problem_line(FILE, problem) for problem in configuration.problems]
    line = diagnostics(len(hits), found.total, compared.by_meaning, compared.by_words, query, found.model)
    room = MOST_CHARACTERS - sum(len(each) + 1 for each in (line, *problems)) - _DIGITS
    filled = fill_block(constitution, hits, room, place.namespace)
    if not filled.text:
        return SessionBlock(query=query, notes=found.recall.notes)
    line = diagnostics(len(filled.entries), found.total, compared.by_meaning, compared.by_words, query, found.model)
    return SessionBlock(
        text="\n".join([filled.text, line, *problems]),
        entries=filled.entries,
        constitutional=tuple(constitution),
        left_out=filled.left_out,
        diagnostics=line,
        notes=found.recall.notes,
        query=query,
        mode="semantic",
    )


def _constitution(memory: Memory, namespace: str) -> tuple[Record, ...]:
    return memory.namespace(namespace).constitution().records


def state_of(memory: Memory, place: Place, configuration: SessionConfiguration, query: str | None) -> str:
    """Everything that decides about the text but the clock and the use of memories."""
    positions = [next((line.seq for line in memory.namespace(name).log(limit=1)), 0) for name in place.read_namespaces]
    return repr((query, configuration.limit, sorted(configuration.weights.items()), place.read_namespaces, positions))


def count_injection(memory: Memory, block: SessionBlock) -> None:
    memory.injected([hit.record for hit in block.entries])


def _same_as_before(start: _Start, state: str) -> SessionBlock | None:
    """The text that the session had, if it would be made of the same: a host drops it then. A session that is resumed
    under another name has that of the one before it.
    """
    from perdure.session.kept import kept_start, kept_starts

    kept = kept_start(start.session, start.environ) if start.session else None
    if kept is None or kept.state != state:
        others = kept_starts(start.environ, str(start.project))
        kept = next((one for one in others if one.state == state), None)
    if kept is None or kept.mode != "semantic":
        return None
    return SessionBlock(
        text=kept.text, diagnostics=kept.diagnostics, notes=tuple(kept.notes), query=kept.query, mode="semantic",
        repeated=True,
    )  # fmt: skip


def _keep(start: _Start, block: SessionBlock, state: str) -> None:
    from perdure.clock import format_time, system_clock
    from perdure.session.kept import KeptStart, entry_of, keep, memory_of

    kept = KeptStart(
        session=start.session or "", project=str(start.project), at=format_time(system_clock()), source=start.source,
        mode=block.mode, text=block.text, state=state, query=block.query, diagnostics=block.diagnostics,
        notes=list(block.notes), entries=[entry_of(hit) for hit in block.entries],
        left_out=[entry_of(hit) for hit in block.left_out],
        constitutional=[memory_of(record) for record in block.constitutional],
    )  # fmt: skip
    keep(kept, start.environ)
