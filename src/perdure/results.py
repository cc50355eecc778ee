"""What the rarer verbs answer. `perdure.model` hands these values out, and loads them when somebody asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from perdure.ids import MemoryId
from perdure.model import Change, Contradiction, Form, Hit, Level, Mode, Omitted, Outdated, Record

_NO_PARTS: Mapping[str, RevertResult] = {}


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory: `record` as that version last was, None once it was erased.

    `lineage` are the versions it was made from, oldest first; one that was taken back by an undo is in no other's.
    """

    memory: MemoryId
    number: int
    version: int
    record: Record | None
    lineage: tuple[int, ...]
    change: Change
    current: bool
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A part of a text that two versions share, or that only one of them has."""

    kind: Literal["same", "removed", "added"]
    text: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a memory before and after a change."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Diff:
    """From one version of a memory to another: the text in parts, and every other field that differs."""

    before: Version
    after: Version
    text_diff: tuple[DiffPart, ...]
    field_changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class MarkdownCopy:
    """What a Markdown file holds of a memory that is erased: an entry of a knowledge bank, which begins at a line, or a
    part of a memory file. It was `found` and goes with the memory, was `removed`, or is `kept`; `reason` says why, or
    where it still is besides.
    """

    path: str
    line_number: int = 0
    outcome: Literal["found", "removed", "kept"] = "found"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A memory that a sentence to forget names in part, and that stays; `reason` says why."""

    record: Record
    reason: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What `forget` or `erase` did, or would do: while `done` is false nothing has happened.

    `understood` says how the instruction was read, `token` confirms exactly these memories. `related` are the numbers
    of those that nobody named, and that go because they were made of the others. `suggested` may have been meant as
    well, and are never touched; `near_misses` hold some of the words of a sentence, but not all, or are of another
    time: these stay too. `scrub_pending` says that erased bytes wait in a log, or in an unfinished copy, that
    another process holds. `copies` are those in Markdown files.
    """

    records: tuple[Record, ...]
    deletion: Literal["soft", "hard"]
    done: bool
    understood: str
    token: str
    batch: str | None = None
    related: tuple[int, ...] = ()
    suggested: tuple[Record, ...] = ()
    remaining: int = 0
    scrub_pending: bool = False
    notes: tuple[str, ...] = ()
    copies: tuple[MarkdownCopy, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedCorrection:
    """What `update` would do about a sentence: `record` is the memory that it is about, as it is now, and `text` what
    it would say. `token` confirms exactly that.
    """

    record: Record
    text: str
    token: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A memory that could not be brought back, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RevertResult:
    """What `undo` or `restore_checkpoint` did. `reverted` are the numbers of memories that are as they were, `removed`
    of those that did not exist then; undoing `batch` takes it back. It is None when nothing was written. Numbers are of
    one namespace: with several, `parts` has a result of its own for each in which something was done.
    """

    batch: str | None
    reverted: tuple[int, ...]
    removed: tuple[int, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    parts: Mapping[str, RevertResult] = field(default_factory=lambda: _NO_PARTS)


@dataclass(frozen=True, slots=True)
class Summary:
    """A text within its budget, and the memories it was made from. `omitted_count` counts those that found no room."""

    text: str
    tokens: int
    budget: int
    sources: tuple[Record, ...]
    omitted_count: int
    token_counter: str
    made_by: str = "extract"


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A memory as a context says it: `text` is all of it, or what found room. Constitutional ones have no relevance.
    `outdated` and `contradicts` are as in `Hit`.
    """

    record: Record
    text: str
    form: Form
    relevance: float | None = None
    outdated: Outdated | None = None
    contradicts: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a model should know, within `budget` tokens: `text` is data between two lines with a `mark` that no memory
    can hold, and empty when there is nothing to say. `items` are in the order of the text; `nearest` as in `Recall`.
    """

    text: str
    tokens: int
    budget: int
    token_counter: str
    items: tuple[ContextItem, ...]
    omitted: tuple[Omitted, ...]
    mark: str
    mode: Mode
    notes: tuple[str, ...] = ()
    nearest: Hit | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Context {self.tokens} of {self.budget} tokens, {len(self.items)} memories>"


@dataclass(frozen=True, slots=True)
class Detail:
    """A memory at one level of detail: a line of about 20 tokens, an abstract, or everything it says."""

    record: Record
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Triggered:
    """A memory that a prompt brings to mind, the phrase that does it, and how sure that is: 1 when the prompt is the
    phrase, 0.95 when it holds the phrase word for word, less when words are inflected.
    """

    record: Record
    phrase: str
    confidence: float
