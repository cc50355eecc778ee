"""The recall index of one namespace: every column by which recall filters, matches and weighs memories.

It is a cache of the store, in memory, refreshed by position in the log. A snapshot never changes, so any number of
threads can read it while rows are added behind it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from perdure.buggify import point
from perdure.clock import to_micros
from perdure.ids import LEARNED_SESSION
from perdure.model import Filter
from perdure.recall.append_array import AppendOnlyArray
from perdure.recall.array_file import release_unused
from perdure.recall.conversation import NOBODY, ConversationIndex, SpeakerIndex
from perdure.recall.index_file import IndexFile, state_of
from perdure.recall.lexical import MOST_ROWS, Lexical, LexicalBuilder
from perdure.recall.refresh import read_changes, read_rows, read_vectors
from perdure.recall.signals import DEFAULT_STABILITY, is_stability
from perdure.recall.vectors import PAIRED, SAMPLE, VectorBuilder, Vectors
from perdure.store.capabilities import index_folder_of, vector_scan_of
from perdure.store.port import IndexRow, LogFilter, Position, Store
from perdure.text.entry import TERM_BYTES
from perdure.tiers import MOST_BELIEVED_CONFIDENCE, MOST_BELIEVED_OBSERVATIONS
from perdure.values import field, replace, value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.embed.port import Generation
    from perdure.recall.array_file import FileState, SelectedRows
    from perdure.recall.known_cosines import KnownCosines
    from perdure.recall.query import SearchRequest
    from perdure.store.index_folder import IndexFolder, WritingTurn

Mask: TypeAlias = "NDArray[np.bool_]"

_ALWAYS: Final = np.iinfo(np.int64).min
_FOREVER: Final = np.iinfo(np.int64).max
_FLOAT_BYTES: Final = 4
_TERM: Final = np.dtype([("term", "<u4"), ("frequency", "u1")])
# Rows that are gone stay until they are a quarter of all, then the index is filled anew.
_GONE_SHARE: Final = 4
_FEW_GONE: Final = 1000
_EMPTY_BYTES: Final = 1 << 14
_FILTERS_KEPT: Final = 16
# Fewer memories than these are read from the store as quickly as a file is opened.
_LEAST_IN_FILE: Final = 2048
# A file is written anew when so many memories, or such a share of all, changed since: a new process reads these.
_FEW_CHANGED: Final = 512
_CHANGED_SHARE: Final = 128
# A hook has time for a file of so many memories at most; of more, whoever lives on writes it.
MOST_ROWS_HURRIED: Final = 20_000
# A process that goes on writing memories rests from writing files for so many times as long as the last one took.
_REST: Final = 19
# After the first question, and again after so many, what they mapped of the vectors and freed is let go.
_QUESTIONS_MAPPED: Final = 16
# Of a smaller file what further questions map may stay in memory.
_KEPT_MAPPED: Final = 256 << 20
_UNKNOWN: Final = -2


@value_class
class Columns:
    """One value of each for every row. `group` is one session of one conversation; it and the other codes are -1 where
    there is none, and `Vocabulary` says what they stand for.
    """

    number: NDArray[np.int64]
    active: Mask
    deprecated: Mask
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    dated: NDArray[np.int64]
    updated_at: NDArray[np.int64]
    observations: NDArray[np.int64]
    confidence: NDArray[np.float64]
    importance: NDArray[np.float64]
    stability: NDArray[np.float64]
    question_share: NDArray[np.float32]
    tier: NDArray[np.int32]
    kind: NDArray[np.int32]
    category: NDArray[np.int32]
    anchor: NDArray[np.int32]
    conversation: NDArray[np.int32]
    group: NDArray[np.int32]
    speaker: NDArray[np.int32]
    introduction: NDArray[np.int32]
    has_low_trust: Mask
    told_in: NDArray[np.int32]


_DTYPES: Final[dict[str, Any]] = {
    "number": np.int64, "active": np.bool_, "deprecated": np.bool_, "valid_from": np.int64, "valid_until": np.int64,
    "expires_at": np.int64, "dated": np.int64, "updated_at": np.int64, "observations": np.int64,
    "confidence": np.float64, "importance": np.float64, "stability": np.float64, "question_share": np.float32,
    "tier": np.int32, "kind": np.int32, "category": np.int32, "anchor": np.int32,
    "conversation": np.int32, "group": np.int32, "speaker": np.int32, "introduction": np.int32,
    "has_low_trust": np.bool_, "told_in": np.int32,
}  # fmt: skip


# What the codes of a column stand for is the attribute of the vocabulary that has this name.
_CODES: Final = {
    "tier": "tiers", "kind": "kinds", "category": "categories", "anchor": "anchors", "conversation": "conversations",
    "group": "groups", "told_in": "told_in", "speaker": "speakers", "introduction": "names",
}  # fmt: skip
_SPEAKERS: Final = ("speaker", "introduction")
# An introduction is so many times the code of a name, and what is marked of it.
_MARKS: Final = 4


class Codes:
    """Small numbers for values that repeat. They are only ever added to, so that earlier columns stay true."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values = list(values)
        self._codes: dict[Any, int] = {None: NOBODY} | {value: code for code, value in enumerate(self.values)}

    def encode(self, values: Sequence[Any]) -> list[int]:
        distinct = set(values)
        for value in distinct.difference(self._codes):
            self._codes[value] = len(self.values)
            self.values.append(value)
        if len(distinct) == 1:
            return [self._codes[values[0]]] * len(values)
        return [self._codes[value] for value in values]

    def code(self, value: Any) -> int:
        """One that no row has where the value never came."""
        return self._codes.get(value, _UNKNOWN)


class Vocabulary:
    """What the codes of an index stand for."""

    def __init__(self, values: Mapping[str, Sequence[Any]] = MappingProxyType({})) -> None:
        """`values` as `used` gives them, read from JSON."""
        codes = {name: Codes(values.get(name, ())) for name in _CODES if name not in (*_SPEAKERS, "group")}
        self.tiers, self.kinds, self.categories = codes["tier"], codes["kind"], codes["category"]
        self.anchors, self.conversations, self.told_in = codes["anchor"], codes["conversation"], codes["told_in"]
        self.groups = Codes((conversation, session) for conversation, session in values.get("group", ()))
        self.speakers, self.names = (SpeakerIndex(values.get(name, ())) for name in _SPEAKERS)

    def used(self, columns: Mapping[str, NDArray[Any]]) -> tuple[dict[str, list[Any]], dict[str, NDArray[Any]]]:
        """What the codes in these columns stand for, and the columns with codes of nothing else."""
        values: dict[str, list[Any]] = {}
        changed: dict[str, NDArray[Any]] = {}
        for column, attribute in _CODES.items():
            known: list[Any] = getattr(self, attribute).values
            codes = columns[column]
            marks = codes % _MARKS if column == "introduction" else None
            if marks is not None:
                codes = np.where(codes == NOBODY, NOBODY, codes // _MARKS)
            # One place more than there are codes, so that the code of nothing falls on it.
            used = np.zeros(len(known) + 1, np.bool_)
            used[codes] = True
            values[column] = [value for value, is_used in zip(known, used.tolist(), strict=False) if is_used]
            if used[:-1].all():
                continue
            lookup = np.append(np.cumsum(used[:-1], dtype=np.int32) - 1, np.int32(NOBODY)).astype(np.int32)
            codes = lookup[codes]
            changed[column] = codes if marks is None else np.where(codes == NOBODY, NOBODY, _MARKS * codes + marks)
        return values, changed

    def columns(self, rows: Sequence[IndexRow]) -> Columns:
        (
            numbers, _, _, active, tiers, kinds, valid_from, valid_until, expires_at, dated, updated_at, categories,
            observations, confidence, importance, anchors, conversations, sessions, speakers, question_shares,
            stabilities, _, _, introductions, low_trusts, told_in,
        ) = zip(*rows, strict=True)  # fmt: skip
        sittings: Sequence[tuple[str, str | None] | None] = conversations
        if conversations.count(None) < len(rows):
            sittings = [
                None if conversation is None or session == LEARNED_SESSION else (conversation, session)
                for conversation, session in zip(conversations, sessions, strict=True)
            ]
        values: dict[str, Sequence[Any]] = {
            "number": numbers,
            "active": active,
            "deprecated": [tier == "deprecated" for tier in tiers] if "deprecated" in tiers else [False] * len(rows),
            "valid_from": _filled(valid_from, _ALWAYS),
            "valid_until": _filled(valid_until, _FOREVER),
            "expires_at": _filled(expires_at, _FOREVER),
            "dated": dated,
            "updated_at": updated_at,
            "observations": _believed(observations, low_trusts, MOST_BELIEVED_OBSERVATIONS),
            "confidence": _believed(confidence, low_trusts, MOST_BELIEVED_CONFIDENCE),
            "importance": importance,
            "stability": _filled(
                stabilities, DEFAULT_STABILITY, lambda given: given if is_stability(given) else DEFAULT_STABILITY
            ),
            "question_share": question_shares,
            "tier": self.tiers.encode(tiers),
            "kind": self.kinds.encode(kinds),
            "category": self.categories.encode(categories),
            "anchor": self.anchors.encode(anchors),
            "conversation": self.conversations.encode(conversations),
            "group": self.groups.encode(sittings),
            "speaker": _filled(speakers, NOBODY, lambda speaker: self.speakers.code(speaker) if speaker else NOBODY),
            "introduction": _filled(
                introductions,
                NOBODY,
                lambda given: _MARKS * self.names.code(given.name) + 2 * given.is_nickname + given.corrects,
            ),
            "has_low_trust": low_trusts,
            "told_in": self.told_in.encode(told_in),
        }
        return Columns(**{name: _column(values[name], dtype) for name, dtype in _DTYPES.items()})


def _believed(values: Sequence[Any], low_trusts: Sequence[bool], most: float) -> Sequence[Any]:
    """What a file of strangers says about itself counts up to a limit."""
    if True not in low_trusts:
        return values
    return [min(value, most) if low else value for value, low in zip(values, low_trusts, strict=True)]


def _column(values: Sequence[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Mostly a column says the same of all rows, which is seen sooner than each value is converted."""
    if values[0] == values[-1] and values.count(values[0]) == len(values):
        return np.full(len(values), values[0], dtype)
    return np.array(values, dtype)


def _filled(values: Sequence[Any], default: float, read: Callable[[Any], float] | None = None) -> Sequence[Any]:
    """With the default for None, and the others as they are or as they are to be read. Mostly all are None, which is
    quickly seen.
    """
    if values.count(None) == len(values):
        return [default] * len(values)
    if read is not None:
        return [default if value is None else read(value) for value in values]
    return [default if value is None else value for value in values]


@value_class
class _Batch:
    """Rows from the store as arrays. `ends` says where in `terms` each row ends. Two rows with the same `signatures`
    hold the same words. `vectors` has a row for each, of zeros where there is no vector that can be compared; `windows`
    are those of the further windows of long memories, by row.
    """

    columns: Columns
    terms: NDArray[np.uint32]
    frequencies: NDArray[np.uint8]
    ends: NDArray[np.intp]
    lengths: NDArray[np.uint32]
    signatures: NDArray[np.uint64]
    has_vector: Mask
    vectors: NDArray[np.float32]
    windows: Mapping[int, NDArray[np.float32]]

    @classmethod
    def of(
        cls,
        rows: Sequence[IndexRow],
        vocabulary: Vocabulary,
        dimensions: int,
        vectors_: Sequence[bytes | None] | None = None,
    ) -> _Batch:
        held = [row.terms for row in rows]
        entries = np.frombuffer(b"".join(held), _TERM)
        terms, frequencies = entries["term"].astype(np.uint32), entries["frequency"].copy()
        ends = np.cumsum([len(each) // TERM_BYTES for each in held], dtype=np.intp)
        sums = [
            np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
            for values in (frequencies, terms * frequencies.astype(np.uint64))
        ]
        lengths, signatures = (np.diff(total[ends], prepend=np.uint64(0)) for total in sums)
        size = _FLOAT_BYTES * dimensions
        given = [row.vector for row in rows] if vectors_ is None else vectors_
        whole = [vector if vector and size and len(vector) % size == 0 else None for vector in given]
        windows = {
            row: np.frombuffer(vector, "<f4").reshape(-1, dimensions)[1:]
            for row, vector in enumerate(whole)
            if vector is not None and len(vector) > size
        }
        has_vector = np.array([vector is not None for vector in whole], np.bool_)
        packed = b"".join([vector[:size] for vector in whole if vector is not None])
        vectors = np.frombuffer(packed, "<f4").reshape(int(np.count_nonzero(has_vector)), dimensions)
        # One NaN or infinity among the vectors would spoil every answer. Their lengths tell it in one pass.
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(np.vecdot(vectors, vectors))
            for row in [row for row, each in windows.items() if not np.isfinite(np.vecdot(each, each)).all()]:
                finite[np.count_nonzero(has_vector[:row])] = False
        has_vector[has_vector] = finite
        if not has_vector.all():
            known, vectors = vectors[finite], np.zeros((len(rows), dimensions), np.float32)
            vectors[has_vector] = known
        columns, lengths = vocabulary.columns(rows), lengths.astype(np.uint32)
        windows = {row: each for row, each in windows.items() if has_vector[row]}
        return cls(columns, terms, frequencies, ends, lengths, signatures, has_vector, vectors, windows)


@value_class
class Snapshot:
    """The index at one position of the log. A row is one version of a memory; `alive` are the newest versions of
    memories that are still there. `timed`: some rows are valid only for a time; `superseded`: some hold no more.
    `conversation` is None when nobody speaks in this namespace.
    """

    position: Position
    columns: Columns
    alive: Mask
    timed: bool
    superseded: bool
    lexical: Lexical
    vectors: Vectors
    conversation: ConversationIndex | None
    vocabulary: Vocabulary
    _filtered: dict[Filter, Mask] = field(default_factory=dict[Filter, Mask])
    # Of filters of kinds, states and places alone: what they let through that may be shown.
    _visible: dict[Filter, Mask] = field(default_factory=dict[Filter, Mask])

    def visible(self, request: SearchRequest) -> Mask:
        """`perdure.visibility.is_visible`, of every row. Where the request asks what was true at a time, memories that
        are superseded by now count as well, if they were true then and are not expired since.
        """
        filter = request.filter
        tier = "deprecated" if filter.tier == "deprecated" else None
        kinds = Filter(states=request.states, tier=tier, hidden=filter.hidden, told_in=filter.told_in)
        visible = self._visible.get(kinds)
        if visible is None:
            visible = self._of_kinds(kinds)
            if len(self._visible) >= _FILTERS_KEPT:
                self._visible.clear()
            self._visible[kinds] = visible
        columns = self.columns
        if self.timed and (filter.states == ("active",) or request.as_of is not None):
            moment, known = to_micros(request.true_at), to_micros(request.known_by)
            visible = visible & (columns.valid_from <= moment) & (columns.valid_until > moment)
            visible = visible & (columns.expires_at > max(moment, known))
        return visible

    def _of_kinds(self, filter: Filter) -> Mask:
        """The rows that may be shown, as far as that does not depend on the time."""
        columns = self.columns
        visible = self.alive
        if "superseded" not in filter.states:
            visible = visible & columns.active
        elif "active" not in filter.states:
            visible = visible & ~columns.active
        if filter.tier != "deprecated":
            visible = visible & ~columns.deprecated
        for code, kind in enumerate(self.vocabulary.kinds.values):
            if kind in filter.hidden:
                visible = visible & (columns.kind != code)
        for code, places in enumerate(self.vocabulary.told_in.values if filter.told_in else ()):
            if not any(place in json.loads(places) for place in filter.told_in):
                visible = visible & (columns.told_in != code)
        return visible

    def without_vector(self, hidden: Sequence[str]) -> int:
        """How many memories wait for their vectors, but for those of kinds that are hidden."""
        codes = [self.vocabulary.kinds.code(kind) for kind in hidden]
        # Few wait, so that the kinds of all others need not be looked at.
        waiting = np.flatnonzero(self.alive & ~self.vectors.present)
        return len(waiting) - int(np.count_nonzero(np.isin(self.columns.kind[waiting], codes)))

    def of_conversation(self, conversation: str) -> Mask:
        return self.columns.conversation == self.vocabulary.conversations.code(conversation)

    def rows_with(self, numbers: Sequence[int]) -> Mask:
        """The rows of these memories."""
        chosen = np.array(numbers, np.int64)
        listed = np.zeros(int(self.columns.number.max(initial=0)) + 1, np.bool_)
        listed[chosen[chosen < len(listed)]] = True
        return listed[self.columns.number]

    def of_categories(self, names: Sequence[str]) -> Mask:
        column, code = self.columns.category, self.vocabulary.categories.code
        rows = self._filtered.get(Filter(categories=tuple(names)))
        if rows is None:
            rows = np.logical_or.reduce([column == code(name) for name in names])
            self._keep_filtered(Filter(categories=tuple(names)), rows)
        return rows

    def passing(self, filter: Filter, numbers: Callable[[], Sequence[int]]) -> Mask:
        """The rows that pass this filter. `numbers` reads which memories these are, once for each snapshot."""
        rows = self._filtered.get(filter)
        if rows is None:
            rows = self.rows_with(numbers())
            self._keep_filtered(filter, rows)
        return rows

    def _keep_filtered(self, filter: Filter, rows: Mask) -> None:
        if len(self._filtered) >= _FILTERS_KEPT:
            self._filtered.clear()
        self._filtered[filter] = rows

    def without(self, numbers: Sequence[int]) -> Snapshot:
        """The same snapshot, as if these memories had never been there; it shares everything that is large."""
        return self._without_rows(self.rows_with(numbers) & self.alive)

    def only(self, categories: Sequence[str]) -> Snapshot:
        """The same snapshot, as if there were no memories but those of some categories."""
        gone = self.alive & ~self.of_categories(categories)
        if not gone.any():
            return self
        left, columns, vectors = self._without_rows(gone), self.columns, self.vectors
        rows = np.flatnonzero(left.alive & left.vectors.present)
        taken = tuple(vectors.at(rows[:: max(1, len(rows) // most)]) for most in (SAMPLE, PAIRED))
        is_spoken = (columns.group[left.alive] != NOBODY).any() or (columns.speaker[left.alive] != NOBODY).any()
        return replace(
            left, vectors=replace(left.vectors, taken=taken), conversation=left.conversation if is_spoken else None
        )

    def _without_rows(self, gone: Mask) -> Snapshot:
        if not gone.any():
            return self
        alive, lexical, has_vector = self.alive & ~gone, self.lexical, self.vectors.present & ~gone
        return replace(
            self,
            alive=alive,
            lexical=replace(
                lexical,
                alive=alive,
                documents=lexical.documents - int(np.count_nonzero(gone)),
                words=lexical.words - int(lexical.lengths[gone].sum()),
            ),
            vectors=replace(self.vectors, present=has_vector, count=int(np.count_nonzero(has_vector))),
            conversation=self.conversation and replace(self.conversation, alive=alive),
            _filtered={},
            _visible={},
        )


class NamespaceIndex:
    """Rows are only ever added: a memory with other words or another vector gets a new row, and its old one counts as
    gone. Any other change is written into a copy of the column.
    """

    def __init__(
        self,
        namespace: str,
        generation: Generation | None,
        categories: Sequence[str] = (),
        known: KnownCosines | None = None,
    ) -> None:
        """With `categories`, of memories of these alone, and of what changes later. With `known`, it answers that one
        question, and reads no vectors.
        """
        self.namespace = namespace
        self.known = known
        self.categories = categories
        self.generation = generation
        self.snapshot: Snapshot | None = None
        self._questions = 0
        self._lock = threading.Lock()
        self._rests_until = 0.0
        # The file that was there when one was looked for.
        self._seen: FileState | None = None
        self._clear()

    def _clear(self) -> None:
        self._position = Position()
        self._columns = {name: AppendOnlyArray(dtype) for name, dtype in _DTYPES.items()}
        self._signatures = AppendOnlyArray(np.uint64)
        self._alive = AppendOnlyArray(np.bool_)
        self._vocabulary = Vocabulary()
        # By number, one more than the row: room in a file is made of zeros.
        self._row_after = np.zeros(1, np.intp)
        self._timed = False
        self._superseded = False
        self._spoken = False
        self.documents = 0
        self._words = 0
        self._lexical = LexicalBuilder()
        dimensions = 1 if self.known else self.generation.dimensions if self.generation else 0
        self._row_bytes = 0
        self.file: IndexFile | None = None
        self._changed_since_file = 0
        # Of the rows that were read at first, where only some categories were.
        self._passages: list[bytes] = []
        self._vectors = VectorBuilder(dimensions, exact=bool(self.categories))

    @property
    def nbytes(self) -> int:
        parts = (*self._columns.values(), self._signatures, self._alive, self._lexical, self._vectors)
        return _EMPTY_BYTES + self._row_bytes + sum(part.nbytes for part in parts)

    def current(self, store: Store) -> Snapshot:
        """The namespace as it is now. Readers wait for each other only when it has changed."""
        snapshot = self.snapshot
        if (
            snapshot is None
            or snapshot.position != store.position(self.namespace, self.generation)
            or (self.file is not None and self.file.is_changed())
        ):
            with self._lock:
                return self._update(store)
        if self._lexical.untidy and self._lock.acquire(blocking=False):
            try:
                return self._update(store)
            finally:
                self._lock.release()
        return snapshot

    def release(self, store: Store) -> None:
        """Called after each question: now and then what they took of memory is let go, and the file counts as used."""
        is_first, is_due = self._questions == 0, self._questions % _QUESTIONS_MAPPED == 0
        self._questions += 1
        if self.file is None or not is_due:
            return
        if is_first or self.file.state.size > _KEPT_MAPPED:
            self._vectors.release()
            release_unused()
        if folder := index_folder_of(store):
            self.file.note_use(folder)

    def cosines(self, question: NDArray[np.float32]) -> tuple[list[bytes], NDArray[np.float32]] | None:
        """The passages of an index of some categories, and their cosines; None if other rows came since."""
        vectors = self._vectors.view(self.known and self.known.question)
        if len(self._passages) != len(vectors.present):
            return None
        rows = np.flatnonzero(vectors.present)
        return [self._passages[row] for row in rows.tolist()], vectors.cosines(question, rows)

    def filled(self, rows: Sequence[IndexRow]) -> Snapshot:
        """A snapshot of these rows, for an index that is made once and read from no store."""
        if rows:
            self._append(_Batch.of(rows, self._vocabulary, self._vectors.dimensions))
            if self._lexical.untidy:
                self._lexical.tidy(self._alive.view)
        return self._take_snapshot()

    def _update(self, store: Store) -> Snapshot:
        position = store.position(self.namespace, self.generation)
        gone = len(self._alive) - self.documents
        mostly_gone = not self.documents or gone > max(_FEW_GONE, len(self._alive) // _GONE_SHARE)
        if self.snapshot is None or (self.file is not None and self.file.is_changed()):
            self._load(store, position)
        elif position != self._position and (mostly_gone or self.known):
            self._load(store, position, from_file=False)
        elif position != self._position and not self._catch_up(store, position):
            self._load(store, position)
        # Not right after loading: a process that asks only once need not wait for the sorting.
        if self.snapshot is not None and self._lexical.untidy:
            self._lexical.tidy(self._alive.view)
        self.snapshot = self._take_snapshot()
        return self.snapshot

    def _catch_up(self, store: Store, position: Position) -> bool:
        """Read what changed; False when everything has to be read."""
        changes = read_changes(store, self.namespace, self.generation, self._position, position, len(self._alive))
        if self.file is not None and (changes is None or changes.removed):
            self._clear_if_erased(store)
        if changes is None:
            return False
        self._remove(self._rows_of(np.array(changes.removed, np.int64)))
        if changes.rows:
            self._change(changes.rows)
        self._position = position
        self._changed_since_file += len(changes.rows) + len(changes.removed)
        return True

    @property
    def is_file_due(self) -> bool:
        """Whether a new process would read so much from the store that a file of what is here pays off."""
        if self.known or self.categories or self.snapshot is None:
            return False
        # One that was removed serves this process alone.
        is_missing = self.file is None or state_of(self.file.path) is None
        least = _LEAST_IN_FILE if is_missing else max(_FEW_CHANGED, self.documents // _CHANGED_SHARE)
        new = self.documents if is_missing else self._changed_since_file
        return least <= new and self.documents <= MOST_ROWS

    def is_resting(self) -> bool:
        """Whether this process wrote a file a moment ago: whoever imports a million memories in portions would write
        each of them a hundred times otherwise.
        """
        return monotonic() < self._rests_until

    def write_file(self, store: Store) -> bool:
        """Write a file of the namespace as it is now, unless somebody else writes one, or has since this process looked
        for one. Then what is here is let go: from the next question on this process reads the file, as all others do.
        """
        folder = index_folder_of(store)
        if folder is None:
            return False
        begun = monotonic()
        # What is written is read after the turn began: whoever erases something ends it after that is committed.
        with folder.writing() as turn:
            if turn is None:
                return False
            is_other = state_of(folder.file(self.namespace, self.generation)) not in (None, self._seen)
            is_written = not is_other and self._write_in_turn(store, folder, turn)
        if is_other or is_written:
            with self._lock:
                self.snapshot = None
        self._rests_until = monotonic() + _REST * (monotonic() - begun)
        return is_written

    def _write_in_turn(self, store: Store, folder: IndexFolder, turn: WritingTurn) -> bool:
        with self._lock:
            seen, vectors = self._update(store).vectors, self._vectors
        vectors.arrange(seen)
        point("index: arranged")
        with self._lock:
            self._update(store)
            about, arrays = self._contents()
        return IndexFile.write(folder, turn, self.namespace, self.generation, about, arrays)

    def _contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any] | SelectedRows]]:
        """All but the rows that are gone and what was said of them."""
        rows = np.flatnonzero(self._alive.view)
        every = len(rows) == len(self._alive)
        columns = {name: column.view if every else column.view[rows] for name, column in self._columns.items()}
        values, changed = self._vocabulary.used(columns)
        columns |= changed
        numbers = columns["number"]
        row_after = np.zeros(int(numbers.max(initial=0)) + 1, np.intp)
        row_after[numbers] = np.arange(1, len(rows) + 1)
        arrays: dict[str, NDArray[Any] | SelectedRows] = {f"column.{name}": column for name, column in columns.items()}
        arrays["row_after"] = row_after
        arrays["signatures"] = self._signatures.view if every else self._signatures.view[rows]
        arrays |= {f"lexical.{name}": array for name, array in self._lexical.arrays(rows).items()}
        arrays |= {f"vectors.{name}": array for name, array in self._vectors.arrays(rows).items()}
        arrays["vocabulary"] = np.frombuffer(json.dumps(values).encode(), np.uint8)
        kinds = {"timed": self._timed, "superseded": self._superseded, "spoken": self._spoken}
        position = (self._position.seq, self._position.vector, self._position.repairs, self._position.head.hex())
        return {"rows": len(rows), "words": self._words, "position": position, **kinds}, arrays

    def _open_file(self, store: Store) -> bool:
        """Begin where a file ends, if there is one that is whole."""
        folder = None if self.known or self.categories else index_folder_of(store)
        if folder is None:
            return False
        self._seen = state_of(folder.file(self.namespace, self.generation))
        file = IndexFile.open(folder, self.namespace, self.generation)
        if file is None:
            return False
        self._seen = file.state
        about, arrays = file.about, file.arrays
        size: int = about["rows"]
        for name, column in self._columns.items():
            column.over(arrays[f"column.{name}"], size)
        self._signatures.over(arrays["signatures"], size)
        self._alive.extend(np.ones(size, np.bool_))
        self._vocabulary = Vocabulary(json.loads(arrays["vocabulary"].tobytes()))
        self._row_after = arrays["row_after"]
        self._timed, self._superseded, self._spoken = about["timed"], about["superseded"], about["spoken"]
        self.documents, self._words = size, about["words"]
        self._lexical = LexicalBuilder.over(file.part("lexical."), size)
        self._vectors = VectorBuilder.over(file.part("vectors."), size, self._vectors.dimensions)
        seq, vector, repairs, head = about["position"]
        self._position, self.file = Position(seq, vector, repairs, bytes.fromhex(head)), file
        return True

    def _clear_if_erased(self, store: Store) -> None:
        """Whoever erases on another machine does not reach the files of this one."""
        folder, erased = index_folder_of(store), LogFilter(operation="erase", after=self._position.seq)
        if folder is not None and folder.is_cache:
            with suppress(OSError), store.read(self.namespace) as reader:
                if reader.log(erased, limit=1):
                    folder.clear()

    def _take_snapshot(self) -> Snapshot:
        columns = Columns(**{name: column.view for name, column in self._columns.items()})
        alive = self._alive.view
        conversation = None
        if self._spoken:
            conversation = ConversationIndex(
                columns.number,
                alive,
                columns.dated,
                columns.group,
                columns.speaker,
                columns.question_share,
                columns.conversation,
                columns.introduction,
                self._vocabulary.speakers,
                self._vocabulary.names,
            )
        return Snapshot(
            self._position,
            columns,
            alive,
            self._timed,
            self._superseded,
            self._lexical.view(alive, self.documents, self._words),
            self._vectors.view(self.known and self.known.question),
            conversation,
            self._vocabulary,
        )

    def _load(self, store: Store, position: Position, *, from_file: bool = True) -> None:
        self._clear()
        # Whatever a file holds that its sums do not tell, the store is always there.
        with suppress(LookupError, TypeError, ValueError):
            if from_file and self._open_file(store) and self._catch_up(store, position):
                return
        self._clear()
        known, dimensions, generation = self.known, self._vectors.dimensions, self.generation
        scanned: dict[bytes, bytes] | None = None
        if known is None and generation is not None and not self.categories and (scan := vector_scan_of(store)):
            scanned, generation = read_vectors(scan, self.namespace, generation), None
        pages = read_rows(store, self.namespace, generation, categories=self.categories, vectors=known is None)
        for rows in pages:
            vectors: Sequence[bytes | None] | None = known and known.of(rows, self.namespace, store)
            if scanned is not None:
                vectors = [scanned.get(row.passage) for row in rows]
            self._append(_Batch.of(rows, self._vocabulary, dimensions, vectors))
            self._passages += [row.passage for row in rows] if self.categories else ()
        self._position = position

    def _append(self, batch: _Batch) -> None:
        first, numbers = len(self._alive), batch.columns.number
        for name, column in self._columns.items():
            column.extend(getattr(batch.columns, name))
        self._signatures.extend(batch.signatures)
        self._alive.extend(np.ones(len(numbers), np.bool_))
        self._lexical.extend(batch.terms, batch.frequencies, batch.ends, batch.lengths)
        self._vectors.extend(batch.vectors, batch.has_vector)
        for row, windows in batch.windows.items():
            self._vectors.add_windows(first + row, windows)
        self.documents += len(numbers)
        self._words += int(batch.lengths.sum())
        self._note_kinds(batch.columns)
        needed = int(numbers.max()) + 1
        if needed > len(self._row_after):
            grown = np.zeros(max(needed, 2 * len(self._row_after)), np.intp)
            grown[: len(self._row_after)] = self._row_after
            self._row_after, self._row_bytes = grown, grown.nbytes
        self._row_after[numbers] = np.arange(first + 1, first + 1 + len(numbers))

    def _note_kinds(self, columns: Columns) -> None:
        """Most namespaces have neither times nor turns of a conversation, and then nothing has to look at them."""
        ends = np.minimum(columns.valid_until, columns.expires_at)
        self._timed = self._timed or bool((columns.valid_from != _ALWAYS).any() or (ends != _FOREVER).any())
        self._superseded = self._superseded or not columns.active.all()
        self._spoken = self._spoken or bool((columns.group != NOBODY).any() or (columns.speaker != NOBODY).any())

    def _rows_of(self, numbers: NDArray[np.int64]) -> NDArray[np.intp]:
        """The row of each memory, or -1."""
        known = numbers < len(self._row_after)
        return np.where(known, self._row_after[numbers * known] - 1, -1)

    def _remove(self, rows: NDArray[np.intp]) -> None:
        rows = rows[rows >= 0]
        if len(rows):
            self._alive.replace(rows, np.False_)
            self._vectors.remove(rows)
            self._row_after[self._columns["number"].view[rows]] = 0
            self.documents -= len(rows)
            self._words -= int(self._lexical.lengths[rows].sum())

    def _change(self, rows: Sequence[IndexRow]) -> None:
        """Bring rows up to date. Often only a vector has come, or a column that is not searched is different."""
        batch = _Batch.of(rows, self._vocabulary, self._vectors.dimensions)
        old = self._rows_of(batch.columns.number)
        if (old < 0).all():
            self._append(batch)
            return
        same_words = (old >= 0) & (self._signatures.view[old] == batch.signatures)
        had_vector = self._vectors.present[old]
        arrived = same_words & ~had_vector & batch.has_vector & (old >= self._vectors.in_file)
        if arrived.any():
            self._vectors.fill(old[arrived], batch.vectors[arrived])
            for row, windows in batch.windows.items():
                if arrived[row]:
                    self._vectors.add_windows(int(old[row]), windows)
        same_vector = (had_vector == batch.has_vector) & (self._vectors.matrix[old] == batch.vectors).all(axis=1)
        for row in np.flatnonzero(same_vector).tolist() if batch.windows or self._vectors.has_windows else ():
            before, now = self._vectors.windows_of(int(old[row])), batch.windows.get(row)
            same_vector[row] = len(before) == 0 if now is None else np.array_equal(before, now)
        kept = arrived | (same_words & same_vector)
        for name, column in self._columns.items():
            values = getattr(batch.columns, name)
            different = kept & (column.view[old] != values)
            if different.any():
                column.replace(old[different], values[different])
        self._note_kinds(batch.columns)
        new = np.flatnonzero(~kept).tolist()
        if new:
            self._remove(old[new])
            self._append(_Batch.of([rows[which] for which in new], self._vocabulary, self._vectors.dimensions))


def is_outdated(store: Store, namespace: str, generation: Generation | None) -> bool:
    """Whether a new process would read much from the store, as far as the positions tell."""
    folder, position = index_folder_of(store), store.position(namespace, generation)
    if folder is None or position.seq < _LEAST_IN_FILE:
        return False
    seq, vector = IndexFile.position(folder, namespace, generation) or (0, 0)
    return max(position.seq - seq, position.vector - vector) >= _FEW_CHANGED or seq > position.seq


def is_in_file(store: Store, namespace: str, generation: Generation | None) -> bool:
    """Whether a new process would read little from the store, because nearly all is in a file."""
    folder = index_folder_of(store)
    known = None if folder is None else IndexFile.position(folder, namespace, generation)
    return known is not None and not is_outdated(store, namespace, generation)


class IndexCache:
    """The indexes of the namespaces in use, within a bound on memory: the least recently used go first. The one just
    used always stays, however large it is.
    """

    def __init__(self, store: Store, memory_bytes: int) -> None:
        self._store = store
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._indexes: OrderedDict[str, NamespaceIndex] = OrderedDict()
        # Whether one of them was read from a file.
        self.reads_files = False

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._indexes

    def write_files(self, *, at_end: bool = False, is_hurried: bool = False) -> int:
        """Write the files that are missing or behind, of the namespaces in use; how many. `at_end`: the process ends,
        so that it does not rest. `is_hurried`: somebody waits, so that only small ones are written.
        """
        most = MOST_ROWS_HURRIED if is_hurried else MOST_ROWS
        with self._lock:
            indexes = [index for index in self._indexes.values() if at_end or not index.is_resting()]
        indexes = [index for index in indexes if index.documents <= most]
        return sum(index.is_file_due and index.write_file(self._store) for index in indexes)

    def release(self, namespaces: Sequence[str]) -> None:
        """A question about these was answered."""
        for index in filter(None, map(self._indexes.get, namespaces)):
            index.release(self._store)

    def snapshot(self, namespace: str, generation: Generation | None) -> Snapshot:
        """The namespace as it is now. Without a generation only its words matter, and any index has them."""
        with self._lock:
            index = self._indexes.get(namespace)
            if index is None or (generation is not None and index.generation != generation):
                index = self._indexes[namespace] = NamespaceIndex(namespace, generation)
            self._indexes.move_to_end(namespace)
        before = index.snapshot
        snapshot = index.current(self._store)
        self.reads_files = self.reads_files or index.file is not None
        if snapshot is not before:
            with self._lock:
                size = sum(held.nbytes for held in self._indexes.values())
                while size > self._memory_bytes and len(self._indexes) > 1:
                    size -= self._indexes.popitem(last=False)[1].nbytes
        return snapshot
