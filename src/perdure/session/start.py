"""The start of a session: one text with what earlier sessions learned, within a budget of time, whatever is broken.

Step by step down: meaning and words from the store, then words alone when the embedder does not answer in time, then
the Markdown of the knowledge bank when the store does not, then nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar

from perdure.marks import mark_name
from perdure.project import nearest_with, project_at
from perdure.project_settings import INDEX_FILE
from perdure.session.context import SessionContext
from perdure.session.kept import AskedBefore
from perdure.session.privacy import note_session
from perdure.session.signals import collect_signals
from perdure.session.state import noted, put_note
from perdure.values import field, replace, value_class

if TYPE_CHECKING:
    from perdure.location import StoreLocation
    from perdure.memory import Memory
    from perdure.model import Hit, Record
    from perdure.recall.learnings import AskedVectors
    from perdure.session.configuration import SessionConfiguration
    from perdure.session.context import ChosenSettings
    from perdure.session.kept import KeptStart
    from perdure.session.privacy import Place
    from perdure.settings import Settings

Source: TypeAlias = Literal["startup", "resume", "clear", "compact"]
BlockMode: TypeAlias = Literal["semantic", "plain", "none"]
Result = TypeVar("Result")

BUDGET_SECONDS: Final = 2.0
# Hosts cut a context of more than 10,000 characters.
MOST_CHARACTERS: Final = 9_500
# The shares of the time that looking for words alone and the Markdown pipeline must still have.
_FOR_WORDS: Final = 1 / 6
_FOR_PLAIN: Final = 1 / 8
# Seconds: how long a write waits, what counting takes, what git gets.
_BUSY: Final = 0.3
_FOR_COUNTING: Final = 0.3
_FOR_GIT: Final = 0.4
_LEAST: Final = 0.05
# Fewer entries may take fewer digits.
_DIGITS: Final = 8


@value_class(kw_only=True)
class SessionBlock:
    """What a session gets. `text` is empty where there is nothing to say. `entries` are the learnings in it, best
    first, each with its reasons; `about` are other memories in it; `left_out` found no room. `diagnostics` is the line
    that the text ends with. `mode`: `semantic` (from the store), `plain` (from the Markdown files alone) or `none`.
    `repeated`: it is the text that the session had before. `from_files`: so many entries of Markdown files are in it,
    and none of the store.
    """

    text: str = ""
    entries: tuple[Hit, ...] = ()
    constitutional: tuple[Record, ...] = ()
    about: tuple[Record, ...] = ()
    left_out: tuple[Hit, ...] = ()
    diagnostics: str = ""
    notes: tuple[str, ...] = ()
    query: str | None = None
    mode: BlockMode = "none"
    repeated: bool = False
    from_files: int = 0

    @property
    def tokens(self) -> int:
        """About as many tokens as the text costs a model."""
        from perdure.text.tokens import estimate

        return estimate(self.text)


NOTHING: Final = SessionBlock()


class MadeBlock(NamedTuple):
    """A block, and what is left to do once it is sure to be used."""

    block: SessionBlock
    finish: Callable[[], None] = lambda: None


@value_class(kw_only=True)
class SessionStart:
    """One start: for whom, and until when by `monotonic`. `given` are the memory or the settings to use, where they are
    not those of the context. `asked` holds the query, once git was asked; `problems` what keeps the store from being
    opened.
    """

    context: SessionContext
    given: Memory | Settings | None
    source: Source
    deadline: float
    counts: bool
    configuration: SessionConfiguration
    asked: list[str | None] = field(default_factory=list[str | None])
    problems: list[str] = field(default_factory=list[str])

    @property
    def session(self) -> str | None:
        return self.context.session

    @property
    def environ(self) -> Mapping[str, str]:
        return self.context.environ

    @property
    def bank_project(self) -> Path:
        """The folder whose knowledge bank is told: the nearest, if a repository has several."""
        from perdure.bank.entries import LOCAL_FOLDER

        return nearest_with(self.context.project, *LOCAL_FOLDER)

    @property
    def tree(self) -> Path:
        return self.context.project.tree

    @property
    def left(self) -> float:
        return max(self.deadline - monotonic(), _LEAST)

    def block(self) -> SessionBlock:
        if not self.configuration.injection or not self.configuration.limit:
            return NOTHING
        if not self.configuration.semantic:
            return self.plain(between_marks=self.configuration.is_of_strangers(self.environ))
        for_words, for_plain = self.left * _FOR_WORDS, self.left * _FOR_PLAIN
        made = in_time(self.from_store, self.left - for_words - for_plain)
        if made is None and self.left <= for_words + for_plain:
            # It was late, because of the embedder most likely. A store that failed is not asked again.
            made = in_time(partial(self.from_store, meaning=False), self.left - for_plain)
        if made is None:
            return self.plain(between_marks=True)
        in_time(made.finish, min(self.left, _FOR_COUNTING))
        return made.block

    def plain(self, *, between_marks: bool) -> SessionBlock:
        """The block of the Markdown pipeline, byte for byte where a host has room for it and nothing has to be added.
        It stands between marks in the place of the store's, and where strangers chose it. Then, and where it is
        abridged, a line says so; what is wrong with the configuration is told in any case.
        """
        from perdure.bank.entries import global_bank
        from perdure.bank.plain import note_injection, plain_selection, render_block

        folder = global_bank(self.environ.get("HOME"))
        entries = plain_selection(self.bank_project, folder, self.configuration.limit)
        text, diagnostics = render_block(entries), ""
        problems = (*self.configuration.told, *self.problems)
        if self.problems or (
            text
            and (between_marks or problems or len(text.encode("utf-16-le", "surrogatepass")) // 2 > MOST_CHARACTERS)
        ):
            from perdure.session.block import (
                ENVELOPE,
                enclosed,
                fill_plain_block,
                note_line,
                plain_diagnostics,
                problem_line,
            )

            lines = [*map(problem_line, self.configuration.told), *map(note_line, dict.fromkeys(self.problems))]
            more = sum(len(line) + 1 for line in (plain_diagnostics(len(entries), 0), *lines))
            whole, entries = fill_plain_block(entries, MOST_CHARACTERS - ENVELOPE - _DIGITS - more)
            shared = sum(entry.is_global for entry in entries)
            diagnostics = plain_diagnostics(len(entries) - shared, shared)
            lines = [*filter(None, (whole, diagnostics)), *lines]
            text = enclosed(lines) if between_marks else "\n".join(lines)
        if self.counts and entries:
            note_injection(entries, self.context.project.folder, folder)
        mode: BlockMode = "plain" if text else "none"
        return SessionBlock(text=text, mode=mode, diagnostics=diagnostics, from_files=len(entries))

    def from_store(self, *, meaning: bool = True) -> MadeBlock:
        """The block by meaning and words, or by words alone. Raises whatever keeps it from being made."""
        from perdure.memory import Memory

        query = self.query()
        if isinstance(self.given, Memory):
            return self.of_memory(self.given, self.context.place(), query)
        chosen = self.chosen_settings()
        settings = self.given or chosen.settings
        place = self.context.place(settings.namespace)
        memory = self.open_memory(settings if meaning else replace(settings, embedder="none"), place)
        if memory is None:
            return MadeBlock(NOTHING)
        try:
            if meaning and self.counts and place.recording:
                with suppress(Exception):
                    self.take_in(memory, place, settings.store)
            made = replace(self, configuration=chosen.configuration).of_memory(memory, place, query)
        except BaseException:
            memory.close()
            raise

        def finish() -> None:
            with memory:
                made.finish()

        return MadeBlock(made.block, finish)

    def chosen_settings(self) -> ChosenSettings:
        """Where the user's own settings are wrong, the session is told why no store answers."""
        from perdure.errors import SettingsInvalid

        try:
            return self.context.chosen
        except SettingsInvalid as error:
            self.problems.append(error.note)
            raise

    def query(self) -> str | None:
        """What the session is about. The second step need not ask git again."""
        if not self.asked:
            self.asked.append(collect_signals(self.context.project, seconds=min(_FOR_GIT, self.left / 4)).query)
        return self.asked[0]

    def open_memory(self, settings: Settings, place: Place) -> Memory | None:
        """The memory of the session. A store is made only where there is something to put into it."""
        from perdure.errors import StoreMissing
        from perdure.memory import Memory

        # The embedder gets what is left but for the rest of the work.
        seconds = max(min(settings.provider_seconds, self.left * (1 - _FOR_WORDS - _FOR_PLAIN)), _LEAST)
        hurried = replace(settings, busy_seconds=min(settings.busy_seconds, _BUSY), provider_seconds=seconds)
        opened = partial(
            Memory, settings=hurried, namespace=place.namespace, session=self.session, surface="hook", writer="model"
        )
        try:
            return opened(create=False)
        except StoreMissing:
            return opened() if self.counts and place.recording and self.has_sources() else None

    def has_sources(self) -> bool:
        """Whether a first run finds anything to take in."""
        from perdure.bank.entries import global_bank, local_bank
        from perdure.bank.takeover import known_databases

        folders = (local_bank(self.bank_project), global_bank(self.environ.get("HOME")), self.tree / "specs")
        return any(folder.is_dir() for folder in folders) or bool(known_databases(self.tree, None))

    def of_memory(self, memory: Memory, place: Place, query: str | None) -> MadeBlock:
        from perdure.session.kept import kept_start

        state = state_of(memory, place, self.configuration, query)
        if self.source == "resume" and (before := self.same_as_before(state)):
            return MadeBlock(before)
        resumed = kept_start(self.session, self.environ) if self.source == "resume" and self.session else None
        # What the session was told before is still before its model.
        known = (
            frozenset(str(one["id"]) for one in (*resumed.entries, *resumed.constitutional, *resumed.about))
            if resumed
            else None
        )
        block = build_block(
            memory, place, self.configuration, query, AskedBefore(self.environ), known or frozenset(), self.session
        )
        if resumed and not (block.entries or block.constitutional or block.about):
            return MadeBlock(replace(repeated_block(resumed), query=query))

        def finish() -> None:
            if self.counts and block.text:
                memory.injected([hit.record for hit in block.entries])
            if self.counts and self.session and place.recording:
                self.keep(block, state, resumed)

        return MadeBlock(block, finish)

    def take_in(self, memory: Memory, place: Place, store: StoreLocation) -> None:
        """On a first run, what other tools left: the knowledge bank, earlier databases, memory files. Imports that
        take longer than their share of the time continue in the background, or wait for the next session. Sources that
        have not changed since everything was taken in are not looked at again.
        """
        target, sources = f"{self.bank_project}\n{place.namespace}", mark_name(self.state_of_sources(store))
        if noted("taken-in", target, self.environ) == sources:
            return
        from perdure.bank.first_access import on_first_access
        from perdure.bank.importing import import_if_empty

        share, name = self.left / 4, self.context.project.root.name
        imported = import_if_empty(memory, self.bank_project, share, private=place.private, name=name)
        take = partial(on_first_access, memory, self.tree, name, self.environ, private=place.private)
        looked = in_time(take, share)
        if looked is not None and not imported.unfinished:
            put_note("taken-in", target, sources, self.environ)

    def state_of_sources(self, store: StoreLocation) -> str:
        """What there is to take in, and where to: files that changed or were replaced have another state. Memory files
        lie too deep for that; a project that has them is always looked at.
        """
        from perdure.bank.entries import global_bank, local_bank

        shared, local = global_bank(self.environ.get("HOME")), local_bank(self.bank_project)
        states: list[object] = [monotonic()] if (self.tree / "specs").is_dir() else []
        for path in (local, shared, shared / "memory.db", self.tree / INDEX_FILE):
            with suppress(OSError):
                states.append((str(path), path.stat().st_mtime_ns))
        with suppress(OSError):
            states.append((store.shown, store.path.stat().st_ino if store.kind == "file" else 0))
        return repr(states)

    def same_as_before(self, state: str) -> SessionBlock | None:
        """The text that the session had, if it would be made of the same: a host drops it then. A session that is
        resumed under another name has that of the one before it.
        """
        from perdure.session.kept import kept_start, kept_starts

        kept = kept_start(self.session, self.environ) if self.session else None
        if kept is None or kept.state != state:
            others = kept_starts(self.environ, str(self.context.project.folder))
            kept = next((one for one in others if one.state == state), None)
        return None if kept is None else repeated_block(kept)

    def keep(self, block: SessionBlock, state: str, resumed: KeptStart | None) -> None:
        """With what the session was told before it was resumed, so that it is not told again."""
        from perdure.clock import format_time, system_clock
        from perdure.session.kept import KeptStart, entry_of, keep, memory_of

        kept = KeptStart(
            session=self.session or "", project=str(self.context.project.folder), at=format_time(system_clock()),
            source=self.source, mode=block.mode, text=block.text, state=state, query=block.query,
            diagnostics=block.diagnostics, notes=list(block.notes),
            entries=[*(resumed.entries if resumed else ()), *(entry_of(hit) for hit in block.entries)],
            left_out=[entry_of(hit) for hit in block.left_out],
            constitutional=[
                *(resumed.constitutional if resumed else ()), *(memory_of(record) for record in block.constitutional),
            ],
            about=[*(resumed.about if resumed else ()), *(memory_of(record) for record in block.about)],
        )  # fmt: skip
        keep(kept, self.environ)


def repeated_block(kept: KeptStart) -> SessionBlock:
    return SessionBlock(
        text=kept.text, diagnostics=kept.diagnostics, notes=tuple(kept.notes), query=kept.query, mode="semantic",
        repeated=True,
    )  # fmt: skip


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
    context = SessionContext(project_at(project_dir), session, os.environ if environ is None else environ)
    return context_block(context, memory_or_settings, source=source, budget=budget, counts=counts)


def context_block(
    context: SessionContext,
    given: Memory | Settings | None = None,
    *,
    source: Source = "startup",
    budget: float = BUDGET_SECONDS,
    counts: bool = True,
) -> SessionBlock:
    """The same, where it is known already what holds in the project."""
    deadline = monotonic() + budget
    try:
        if context.session and counts:
            note_session(context.project, context.session, context.environ)
        return SessionStart(
            context=context, given=given, source=source, deadline=deadline, counts=counts,
            configuration=context.configuration,
        ).block()  # fmt: skip
    except Exception:  # noqa: BLE001 - a session starts, whatever is broken here
        return NOTHING


def in_time(work: Callable[[], Result], seconds: float) -> Result | None:
    """What the work answers; None if it fails, or is not done by then. It is left behind: nobody can stop a thread that
    waits for a disk.
    """
    done: list[Result] = []

    def run() -> None:
        with suppress(Exception):
            done.append(work())

    thread = threading.Thread(target=run, name="perdure-session", daemon=True)
    thread.start()
    thread.join(max(seconds, _LEAST))
    return done[0] if done else None


def build_block(
    memory: Memory,
    place: Place,
    configuration: SessionConfiguration,
    query: str | None,
    asked: AskedVectors,
    known: frozenset[str] = frozenset(),
    session: str | None = None,
) -> SessionBlock:
    """What a session would get now that has these memories already. It counts as no use."""
    from perdure.session.about import about
    from perdure.session.block import ENVELOPE, diagnostics, enclosed, fill_block, problem_line
    from perdure.session.choice import choose_learnings

    constitution = [
        record for name in reversed(place.read_namespaces) for record in memory.namespace(name).constitution().records
    ]
    always = known.union(record.id for record in constitution)
    constitution = [record for record in constitution if record.id not in known]
    found = choose_learnings(memory, place, configuration, query, asked, always)
    hits, compared = found.hits, found.compared
    told = (*always, *(hit.record.id for hit in hits))
    part = about(memory, place, session, told, with_last_session=not known)
    problems = [problem_line(problem) for problem in configuration.told]
    line = diagnostics(len(hits), found.total, compared.by_meaning, compared.by_words, query, found.model)
    room = MOST_CHARACTERS - ENVELOPE - sum(len(each) + 1 for each in (part.text, line, *problems)) - _DIGITS
    filled = fill_block(constitution, hits, room, place.namespace)
    if not filled.text and not part.text:
        return SessionBlock(query=query, notes=found.notes)
    line = diagnostics(len(filled.entries), found.total, compared.by_meaning, compared.by_words, query, found.model)
    return SessionBlock(
        text=enclosed([*filter(None, (part.text, filled.text)), line, *problems]),
        entries=filled.entries,
        constitutional=tuple(constitution),
        about=part.records,
        left_out=filled.left_out,
        diagnostics=line,
        notes=found.notes,
        query=query,
        mode="semantic",
    )


def state_of(memory: Memory, place: Place, configuration: SessionConfiguration, query: str | None) -> str:
    """Everything that decides about the text but the clock and the use of memories."""
    positions = [next((line.seq for line in memory.namespace(name).log(limit=1)), 0) for name in place.read_namespaces]
    weights, wrong = sorted(configuration.weights.items()), configuration.told
    return repr((query, configuration.limit, weights, wrong, place.read_namespaces, positions))
