"""The store by the names of its specification: memorize, remember, forget, upsert, summarize.

What it answers are values of its own, which hold everything the specification lists, and nothing that it does not know.
`SemanticMemoryStore.memory` is the whole of Perdure on the same memories.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Self, cast, overload

from perdure import settings as configuration
from perdure.clock import Clock, system_clock
from perdure.embed.port import Embedder
from perdure.errors import InvalidInput, NeedsConfirmation, NotFound, shown
from perdure.memory import Memory
from perdure.model import EvictionCandidate, Forgotten, Json, Mode, Record, Remembered
from perdure.settings import Settings
from perdure.store.port import Store
from perdure.tiers import last_used
from perdure.validation import Fields, Filters, Reference, StrPath, check_query

# The instructions that say exactly what is to go, and so need no yes; whatever else is said is a sentence, and may be
# misunderstood.
_KEY: Final = re.compile(r"\s*key:\S+:.*", re.IGNORECASE | re.DOTALL)
_EXPLICIT: Final = re.compile(r"\s*(?:oldest|least\s+important|before:\s*[-+:.\dTZ ]+)\s*", re.IGNORECASE)
# Calls that the turn trace holds.
MAX_TRACE: Final = 1000
# The fields that an item and a record have in common.
_SAME_NAMES: Final = ("key", "version", "importance", "tags", "source", "metadata", "created_at", "updated_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item at one version. `lineage` are the versions before it, oldest first; `accessed_at` is when it was last
    read, found or changed. `score` is its relevance, when it was found by a prompt.
    """

    item_id: str
    key: str | None
    content: str
    version: int
    lineage: tuple[int, ...]
    importance: float
    tags: tuple[str, ...]
    source: str
    metadata: Mapping[str, Json]
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memorized(Item):
    """The item that `memorize` or `upsert` stored, or `restore` brought back. `evicted` had to go because the store was
    full. `memory.undo(batch)` takes it back.
    """

    confirmed: bool = True
    batch: str | None = None
    evicted: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches(Sequence[Item]):
    """The items found, most relevant first. `mode` and `notes` say how, and what was missing, if anything."""

    items: tuple[Item, ...]
    mode: Mode
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """While `confirmed` is false nothing has happened: `items` would go, and `confirm=token` makes it so.

    `size` is how many items the store holds now.
    """

    confirmed: bool
    items: tuple[Item, ...]
    size: int
    mode: Literal["soft", "hard"]
    understood: str
    token: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """`sources` are the items that the text was made from; `left_out` counts those that found no room."""

    text: str
    token_count: int
    token_limit: int
    sources: tuple[Item, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class CapacityInfo:
    """`token_usage` counts the current version of each item. `least_recently_used` would be evicted first, in this
    order. `evicting` says that a limit is set at all.
    """

    item_count: int
    token_usage: int
    max_items: int | None
    max_tokens: int | None
    least_recently_used: tuple[EvictionCandidate, ...]
    importance: Mapping[str, float]
    protected_count: int
    evicting: bool
    policy: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """An item as one version had it, and who made that version, how and when."""

    item: Item
    version: int
    lineage: tuple[int, ...]
    current: bool
    operation: str
    actor: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """One call in the turn trace: its name, what it was asked (a key, a prompt, an instruction), which items it found,
    stored or removed, and who called it when.
    """

    operation: str
    asked: str | None
    item_ids: tuple[str, ...]
    at: datetime
    actor: str
    session: str | None


class SemanticMemoryStore:
    """Facts under keys, with versions, searched by meaning and by words. Every verb is named as the specification names
    it. A setting that is not given is the user's own, or its default.
    """

    def __init__(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        store: StrPath | Store | None = None,
        *,
        importance_threshold_high: float | None = None,
        importance_threshold_low: float | None = None,
        enable_versioning: bool | None = None,
        enable_soft_delete: bool | None = None,
        max_items: int | None = None,
        max_tokens: int | None = None,
        namespace: str | None = None,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        actor: str | None = None,
        surface: str = "python",
        session: str | None = None,
        writer: Literal["person", "model"] | None = None,
        clock: Clock = system_clock,
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        rules = configuration.override(
            settings or configuration.load(),
            importance_high=importance_threshold_high,
            importance_low=importance_threshold_low,
            versioning=enable_versioning,
            soft_delete=enable_soft_delete,
            max_items=max_items,
            max_tokens=max_tokens,
        )
        self._memory = Memory(
            store, namespace=namespace, embedder=embedder, settings=rules, actor=actor, surface=surface,
            session=session, writer=writer, clock=clock, count_tokens=count_tokens,
        )  # fmt: skip
        self._clock = clock
        self._who = (rules.actor if actor is None else actor, rules.session if session is None else session)
        # Reads stand in no log. They are kept here, in this process: what was asked is not for the file.
        self._trace: deque[TracedOperation] = deque(maxlen=MAX_TRACE)

    @property
    def memory(self) -> Memory:
        """Everything else that Perdure can do with these memories, such as history, undo and checkpoints."""
        return self._memory

    def close(self) -> None:
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def memorize(self, item: str | Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> Memorized:
        """Store an item, or a new version of it if its key is known. An item is a text, or a mapping with a `text`."""
        text, fields = _text_and_fields(item, metadata)
        key = fields.pop("key", None)
        done = self._memory.remember(text, **fields) if key is None else self._memory.upsert(key, text, **fields)
        self._traced("memorize", key, done.record)
        return self._memorized(done)

    def upsert(self, key: str, item: str | Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> Memorized:
        """Store an item under its key (`type:identifier`): a new one, or the next version of the one that is there."""
        text, fields = _text_and_fields(item, metadata)
        if fields.pop("key", key) != key:
            raise InvalidInput("The item names another key.", remedy="Name it once; nothing was changed.")
        done = self._memory.upsert(key, text, **fields)
        self._traced("upsert", key, done.record)
        return self._memorized(done)

    def remember(self, prompt: str, metadata: Mapping[str, Any] | None = None) -> Matches:
        """The items that answer the prompt, by meaning and by words. `metadata` are filters (tags, source, …) and
        `limit`; any other name is an entry that the item must have, as `memorize` stored it.
        """
        given = dict(_mapping(metadata, "metadata"))
        limit = given.pop("limit", 10)
        filters = {name: given.pop(name) for name in Filters.__annotations__ if name in given}
        if given:
            filters["where"] = {**_mapping(filters.get("where"), "where"), **given}
        answer = self._memory.recall(prompt, limit=limit, **cast("Filters", filters))
        self._traced("remember", prompt, *(hit.record for hit in answer))
        return Matches(tuple(self._item(hit.record, hit.relevance) for hit in answer), answer.mode, answer.notes)

    def forget(
        self, forget_instructions: str, mode: Literal["soft", "hard"] = "soft", *, confirm: bool | str = False
    ) -> ForgetResult:
        """Remove items: `key:type:identifier`, `oldest`, `least important`, `before:timestamp`, or a sentence.

        A sentence that may mean several items is answered with what would go, until it is confirmed; so is a key, if
        what was made of its item would go for ever, too.
        """
        explicit = _EXPLICIT.fullmatch(check_query(forget_instructions)) is not None
        try:
            done = self._memory.forget(forget_instructions, mode=mode, confirm=explicit or confirm)
        except NeedsConfirmation as asked:
            done: Forgotten = asked.preview
            if len(done.records) == 1 and _KEY.fullmatch(forget_instructions):
                done = self._memory.forget(forget_instructions, mode=mode, confirm=done.token)
        self._traced("forget", forget_instructions, *(done.records if done.done else ()))
        items = tuple(map(self._item, done.records))
        return ForgetResult(done.done, items, done.remaining, done.deletion, done.understood, done.token, done.notes)

    def restore(self, item_id: Reference) -> Memorized:
        """Bring a softly deleted or evicted item back."""
        (done,) = self._memory.restore([item_id])
        self._traced("restore", str(item_id), done.record)
        return self._memorized(done)

    def summarize(self, scope: str | None = None, token_limit: int = 500) -> StoreSummary:
        """One text of at most `token_limit` tokens: key facts and relationships of all items, or of those in scope."""
        summary = self._memory.summarize(scope, token_limit=token_limit)
        self._traced("summarize", scope, *summary.sources)
        sources = tuple(map(self._item, summary.sources))
        return StoreSummary(summary.text, summary.tokens, summary.budget, sources, summary.omitted_count)

    def get_capacity_info(self) -> CapacityInfo:
        capacity = self._memory.capacity()
        self._traced("get_capacity_info", None)
        return CapacityInfo(
            item_count=capacity.item_count,
            token_usage=capacity.tokens,
            max_items=capacity.max_items,
            max_tokens=capacity.max_tokens,
            least_recently_used=capacity.eviction_order,
            importance=capacity.importance_range,
            protected_count=capacity.protected,
            evicting=capacity.max_items is not None or capacity.max_tokens is not None,
            policy=capacity.policy,
        )

    def get_version(self, item_id: Reference, version: int) -> ItemVersion:
        """Get an item as one version had it. An evicted item is gone with all its versions."""
        stored = self._memory.version(item_id, version)
        newest = self._memory.history(item_id)[-1].record
        if stored.record is None or newest is None or newest.state == "evicted":
            raise NotFound(f"Version {version} of {shown(item_id)} is gone.", remedy="See what is left: `versions`.")
        self._traced("get_version", f"{item_id} {version}", stored.record)
        item = Item(**_fields_of(stored.record, stored.lineage))
        change = stored.change
        return ItemVersion(item, version, stored.lineage, stored.current, change.operation, change.actor, change.at)

    query_version = get_version

    def get(self, item_id: Reference) -> Item:
        """Get an item by its key or its id, as it is now. It counts as access."""
        record = self._memory.get(item_id)
        self._traced("get", str(item_id), record)
        return self._item(record)

    def turn_trace(self) -> tuple[TracedOperation, ...]:
        """List the newest thousand calls of this object, reads included, oldest first. `memory.log` lists every write,
        of all writers.
        """
        return tuple(self._trace)

    def _traced(self, operation: str, asked: str | None, *records: Record) -> None:
        ids = tuple(record.id for record in records)
        self._trace.append(TracedOperation(operation, asked, ids, self._clock(), *self._who))

    def _memorized(self, done: Remembered) -> Memorized:
        fields = _fields_of(done.record, self._lineage(done.record))
        evicted = tuple(map(self._item, done.evicted))
        return Memorized(**fields, batch=done.batch, evicted=evicted, notes=done.notes)

    def _item(self, record: Record, score: float | None = None) -> Item:
        return Item(**_fields_of(record, self._lineage(record)), score=score)

    def _lineage(self, record: Record) -> tuple[int, ...]:
        """The versions before this one, also of an item that is erased: the log keeps their numbers."""
        if record.version == 1:
            return ()
        versions = self._memory.versions(record.number)
        return next((version.lineage for version in versions if version.version == record.version), ())


def _fields_of(record: Record, lineage: tuple[int, ...]) -> dict[str, Any]:
    return {
        "item_id": record.id,
        "content": record.text,
        "lineage": lineage,
        "accessed_at": last_used(record),
        **{name: getattr(record, name) for name in _SAME_NAMES},
    }


def _text_and_fields(item: str | Mapping[str, Any], metadata: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """The text of an item, and everything said about it by the names that a memory has for it."""
    given: dict[str, Any] = {} if isinstance(item, str) else dict(_mapping(item, "item"))
    named = [name for name in ("text", "content") if name in given]
    if not isinstance(item, str) and len(named) != 1:
        raise InvalidInput("An item is a text, or a mapping with one `text`.", remedy="Say what to memorize.")
    text = item if isinstance(item, str) else given.pop(named[0])
    given |= _mapping(metadata, "metadata")
    fields = {name: given.pop(name) for name in Fields.__annotations__ if name in given}
    if given:
        fields["metadata"] = {**_mapping(fields.get("metadata"), "metadata"), **given}
    return text, fields


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a mapping of names to values, not {shown(value)}.")
    return cast("Mapping[str, Any]", value)
