"""A retrospective: what was learned goes into the store and into the Markdown of the knowledge bank, and the entries
that were there before are confirmed, challenged, or found stale.

Everything is checked, and every file tried, before the first write. The store is written first: it keeps the reasoning
and the keywords, which the Markdown has no lines for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perdure.bank.editing import Edit, FileChange, challenging, edit_file, file_changes, new_entry, observing
from perdure.bank.entries import BankEntry, global_bank, local_bank, read_bank, without_comments
from perdure.bank.importing import BankImport, checked_fields, import_entries, import_if_empty
from perdure.bank.promotion import UNIVERSAL, named_entry, plain_name, promoting
from perdure.bank.staleness import StaleEntry, feature_numbers, stale_entries
from perdure.errors import ExportFailed, InvalidInput, NotFound, PerdureError, shown
from perdure.ids import content_hash
from perdure.model import LEARNING_CATEGORIES, SCOPE_FIELDS, Record
from perdure.remedies import Remedy, Run
from perdure.session.branch import FeatureWork, code_references
from perdure.session.retro_request import Learning, RetroRequest
from perdure.text.keywords import usable_keywords
from perdure.trusted_projects import is_trusted, project_id
from perdure.validation import MAX_ITEMS, MAX_KEYWORDS, check_fields, check_text

if TYPE_CHECKING:
    from perdure.memory import Memory

# As many missing vectors are made at the end of a retro.
RE_EMBEDDED: Final = 50
_LEAST_KEYWORDS: Final = 3


@dataclass(frozen=True, slots=True)
class RetroLearning:
    """What became of one learning. `number` is None where nothing was stored."""

    name: str
    category: str
    outcome: str
    number: int | None
    references: tuple[str, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetroResult:
    """What a retro did, or would do while `done` is false. `batch` is what an undo takes back from the store; Markdown
    stays, as the trail of what was said.
    """

    learnings: tuple[RetroLearning, ...]
    confirmed: tuple[str, ...]
    challenged: tuple[str, ...]
    stale: tuple[StaleEntry, ...]
    files: tuple[FileChange, ...]
    done: bool
    batch: str | None = None
    embedded: int = 0
    vectors_pending: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retro:
    """Where a retro writes, and what it knows. Without a `memory` only Markdown is written, and no store is touched.
    `project` is the folder whose bank is written, `name` what memories call it. `shared` is the global bank; `promote`
    says that it may be made.
    """

    project: Path
    name: str
    memory: Memory | None
    work: FeatureWork
    day: date
    origin: Mapping[str, Any] = field(default_factory=dict[str, Any])
    redact: Callable[[str], str] = str
    shared: Path = field(default_factory=global_bank)
    promote: bool = False
    private: bool = False

    @property
    def last_observed(self) -> str:
        return self.work.observed or self.day.isoformat()

    def run(self, request: RetroRequest, *, dry_run: bool = False) -> RetroResult:
        learnings = [self._without_secrets(learning) for learning in request.learnings]
        for learning in learnings:
            self._require_storable(learning)
        known = self._known()
        confirmed = [self._resolve(ref, known) for ref in request.confirmed]
        challenged = [(self._resolve(ref, known), self.redact(reason)) for ref, reason in request.challenged]
        edits = self._edits(learnings, confirmed, challenged)
        planned = [edit_file(path, changes, dry_run=True) for path, changes in edits.items()]
        for path in edits:
            self._require_own(path)
            _require_writable(path)
        stored, batch, notes = [self._planned(learning) for learning in learnings], None, list[str]()
        if self.memory and not dry_run:
            stored, batch, notes = self._store(self.memory, learnings, confirmed, challenged)
        if not dry_run:
            try:
                planned = [edit_file(path, changes) for path, changes in edits.items()]
            except ExportFailed as error:
                raise _with_batch(error, batch) from error
        if not self.work.files and learnings:
            notes.append("git tells of no changed files, so that only the references that were given are stored.")
        result = RetroResult(
            tuple(stored),
            tuple(target.name for target in confirmed),
            tuple(target.name for target, _ in challenged),
            tuple(self._stale(learnings, confirmed)),
            tuple(file_changes(list(edits), planned)),
            done=not dry_run,
            batch=batch if learnings or confirmed or challenged else None,
            notes=tuple(dict.fromkeys(notes)),
        )
        return self._with_vectors(result) if self.memory and not dry_run else result

    # -- what it was told ----------------------------------------------------------------------------------------------

    def _without_secrets(self, learning: Learning) -> Learning:
        clean = self.redact
        return replace(
            learning,
            name=clean(learning.name),
            description=clean(without_comments(learning.description)).strip(),
            reasoning=clean(learning.reasoning),
            keywords=usable_keywords(map(clean, learning.keywords)),
            references=tuple(map(clean, learning.references)),
        )

    def _require_storable(self, learning: Learning) -> None:
        """As the store will ask, also where there is none, so that a rebuild finds nothing that it cannot take."""
        try:
            check_text(learning.description, "description")
            check_fields({"title": learning.name, "reasoning": learning.reasoning, "references": learning.references})
        except PerdureError as error:
            raise InvalidInput(f"Learning {shown(learning.name)}: {error.sentence}", remedy=error.advice) from error

    def _require_own(self, path: Path) -> None:
        """A repository may hold links that lead anywhere, and what is learned must not be written there."""
        own, root = local_bank(self.project), os.path.realpath(self.project)
        if path.is_relative_to(own) and not Path(os.path.realpath(path)).is_relative_to(root):
            if is_trusted(self.project):
                return
            raise ExportFailed(
                f"{path} leads out of the project, so nothing was written.",
                remedy=Remedy(
                    "Put a file in its place; or, if you made the link, trust the project: ",
                    Run("session trust"),
                    ".",
                ),
            )

    def _known(self) -> list[BankEntry]:
        shared = () if self.private else read_bank(self.shared, is_global=True).entries
        return [*read_bank(local_bank(self.project)).entries, *shared]

    def _resolve(self, ref: str, known: Sequence[BankEntry]) -> _Target:
        """The entry or the memory that is meant: by its name or its content hash, or by the number of the memory."""
        record = self._stored(ref)
        if record is not None:
            entry = next((entry for entry in known if entry.content_hash == record.content_hash), None)
            return _Target(record.title or f"#{record.number}", entry, record)
        if entry := named_entry(ref, known):
            return _Target(entry.name, entry, self._stored(entry.content_hash))
        titled = [record for record in self._learnings() if plain_name(record.title or "") == plain_name(ref)]
        if len(titled) != 1:
            raise NotFound(
                f"No entry is called {shown(ref)}.",
                remedy=Remedy(Run("bank list"), " names them; nothing was written."),
            )
        return _Target(titled[0].title or "", None, titled[0])

    def _stored(self, ref: str) -> Record | None:
        if self.memory is None:
            return None
        try:
            record = self.memory.get(ref)
        except PerdureError:
            return None
        return record if record.state == "active" else None

    def _learnings(self) -> list[Record]:
        if self.memory is None:
            return []
        return list(self.memory.list(limit=10_000, category=LEARNING_CATEGORIES))

    # -- Markdown ------------------------------------------------------------------------------------------------------

    def _edits(
        self,
        learnings: Sequence[Learning],
        confirmed: Sequence[_Target],
        challenged: Sequence[tuple[_Target, str]],
    ) -> dict[Path, list[Edit]]:
        edits: dict[Path, list[Edit]] = {}
        local = {entry.identity: entry for entry in read_bank(local_bank(self.project)).entries}
        for learning in learnings:
            entry = self._new_entry(learning)
            known = local.get(entry.identity)
            path = Path(known.path) if known else local_bank(self.project) / f"{learning.category}.md"
            # It is appended where it is not yet there, also by this retro.
            edits.setdefault(path, []).append(observing(known or entry, self.last_observed))
            if learning.universal and not self.private and (self.promote or self.shared.is_dir()):
                shared = known._replace(observation_count=known.observation_count + 1) if known else entry
                edits.setdefault(self.shared / f"{shared.category}.md", []).append(
                    promoting(shared, self.name, self.day)
                )
        for target in confirmed:
            if entry := target.entry:
                last = self.day.isoformat() if entry.is_global else self.last_observed
                edits.setdefault(Path(entry.path), []).append(observing(entry, last))
        for target, reason in challenged:
            if entry := target.entry:
                edits.setdefault(Path(entry.path), []).append(challenging(entry, reason))
        return edits

    def _stale(self, learnings: Sequence[Learning], confirmed: Sequence[_Target]) -> list[StaleEntry]:
        """Of the project's entries those that nobody spoke of for long; what was learned or held now is not."""
        spoken_of = {content_hash(learning.description) for learning in learnings}
        spoken_of |= {target.entry.content_hash for target in confirmed if target.entry}
        entries = read_bank(local_bank(self.project)).entries
        others = [entry for entry in entries if entry.content_hash not in spoken_of]
        return stale_entries(others, feature_numbers(self.project))

    def _new_entry(self, learning: Learning) -> BankEntry:
        return new_entry(
            learning.name,
            learning.description,
            learning.category,
            observed_in=self.work.observed or self.name,
            last_observed=self.last_observed,
            confidence=learning.confidence or "medium",
            fields=(UNIVERSAL,) if learning.universal else (),
        )

    # -- the store -----------------------------------------------------------------------------------------------------

    def _planned(self, learning: Learning) -> RetroLearning:
        existing = self._stored(content_hash(learning.description))
        outcome = "observed" if existing else "inserted"
        references = self._references(learning)
        number = existing.number if existing else None
        return RetroLearning(learning.name, learning.category, outcome, number, references, learning.keywords)

    def _references(self, learning: Learning) -> tuple[str, ...]:
        """What was given, then files that the branch changed."""
        about = f"{learning.name} {learning.description} {learning.reasoning}"
        files = map(self.redact, code_references(self.work.files, about))
        return tuple(dict.fromkeys((*learning.references, *files)))[:MAX_ITEMS]

    def _store(
        self,
        memory: Memory,
        learnings: Sequence[Learning],
        confirmed: Sequence[_Target],
        challenged: Sequence[tuple[_Target, str]],
    ) -> tuple[list[RetroLearning], str, list[str]]:
        """One batch. A bank that was never imported is imported first, and can be taken back by itself."""
        imported = import_if_empty(memory, self.project, float("inf"), private=self.private, name=self.name)
        notes = [f"Imported {imported.inserted:,} entries of the bank first."] if imported.inserted else []
        memory.note_markdown(self.project, None if self.private else self.shared)
        stored: list[RetroLearning] = []
        with memory.batch() as batch:
            for learning in learnings:
                existing = self._stored(content_hash(learning.description))
                done = memory.remember(learning.description, **self._fields(learning, existing))
                record = done.record
                stored.append(
                    RetroLearning(
                        learning.name,
                        learning.category,
                        done.outcome,
                        record.number,
                        record.references,
                        record.keywords,
                    )
                )
                notes += [note for note in done.notes if not note.startswith("It keeps its own")]
            for target in confirmed:
                record = self._require_record(memory, target)
                scope = {name: value for name in ("key", *SCOPE_FIELDS) if (value := getattr(record, name))}
                memory.remember(record.text, metadata={"last_observed": self.last_observed}, **scope)
            for target, reason in challenged:
                record = self._require_record(memory, target)
                before = record.metadata.get("challenged", [])
                reasons = [*before] if isinstance(before, list | tuple) else [before]
                told = [*reasons, *([] if reason in reasons else [reason])]
                memory.update(record.number, metadata={"challenged": told})
        return stored, batch, notes

    def _fields(self, learning: Learning, existing: Record | None) -> dict[str, Any]:
        """What the store is told; a learning that is known keeps what it has, and gets more."""
        references = (*(existing.references if existing else ()), *self._references(learning))
        keywords = (*(existing.keywords if existing else ()), *learning.keywords)
        metadata = {"observed_in": self.work.observed or self.name, "last_observed": self.last_observed}
        if learning.universal:
            metadata["scope"] = "universal"
        fields: dict[str, Any] = {
            "title": existing.title if existing and existing.title else learning.name,
            "reasoning": learning.reasoning,
            "category": learning.category,
            "references": list(dict.fromkeys(references))[:MAX_ITEMS],
            "metadata": metadata,
            "source": "retro",
            **self.origin,
            "source_project": self.name,
        }
        if learning.confidence or existing is None:
            fields["confidence"] = learning.confidence or "medium"
        # A few labels are too few to find it by: Perdure chooses better ones itself.
        if len(learning.keywords) >= _LEAST_KEYWORDS:
            fields["keywords"] = list(dict.fromkeys(keywords))[:MAX_KEYWORDS]
        return fields

    def _require_record(self, memory: Memory, target: _Target) -> Record:
        """The memory that is confirmed or challenged. An entry that is only in the Markdown is stored now."""
        if target.record is None and target.entry is not None:
            told_in = None if is_trusted(self.project) else project_id(self.project)
            fields, _ = checked_fields([target.entry], self.name, told_in=told_in)
            import_entries(memory, fields, BankImport(), None, None, revive=True)
            return memory.get(target.entry.content_hash)
        return memory.get(target.record.number if target.record else target.name)

    def _with_vectors(self, result: RetroResult) -> RetroResult:
        if self.memory is None:
            return result
        work = self.memory.work(limit=RE_EMBEDDED, purge=False)
        learnings = tuple(
            replace(each, keywords=self.memory.get(each.number).keywords) if each.number else each
            for each in result.learnings
        )
        notes = (*result.notes, *work.notes)
        return replace(
            result, learnings=learnings, embedded=work.embedded, vectors_pending=work.vectors_pending, notes=notes
        )


@dataclass(frozen=True, slots=True)
class _Target:
    name: str
    entry: BankEntry | None
    record: Record | None


def _require_writable(path: Path) -> None:
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ExportFailed(f"{folder} cannot be written to.", remedy="Change its rights; nothing was written.")


def _with_batch(error: ExportFailed, batch: str | None) -> ExportFailed:
    if batch is None:
        return error
    return ExportFailed(f"{error.sentence} The store has the learnings: perdure undo {batch} takes them back.")
