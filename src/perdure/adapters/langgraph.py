"""A LangGraph store: `PerdureStore` is a `BaseStore`, with true keys, namespaces, filters and expiry, searched by
meaning and by words at once. A put is a new version of a memory and a delete is soft, so both can be undone.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from operator import eq, ge, gt, le, lt, ne
from threading import Event, Thread
from typing import Any, Final, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from perdure.adapters.documents import Documents, Moment, name_of
from perdure.bank.framework_documents import LangGraph, fits_metadata
from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.model import Hit, Record

_WHOLE: Final = "$"
_FILTER_KEY: Final = re.compile(r"[A-Za-z0-9_.-]+")
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip
# The recipe that looks at meaning alone, and its signal.
_MEANING: Final = "meaning"
_VECTOR: Final = "vector"
_CANDIDATES: Final = 100
_MISSING: Final = object()
_MINUTES_BETWEEN_SWEEPS: Final = 5


class PerdureStore(BaseStore):
    """A store of LangGraph in a `Memory`, which is the attribute `perdure`: `store.perdure.undo(session=…)`.

    `fields` are the paths of a value that are searched, unless a put says otherwise. `min_relevance` leaves out what
    fits less; 0, as in the stores of LangGraph, fills the limit with whatever comes nearest. A score says how well an
    item fits, from 0 to 1; with `similarity` only meaning counts, and a score is a cosine, as in their stores. `ttl` is
    as in theirs. With `known_at` the store is what it was at that time, for reading alone.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        fields: Sequence[str] = (_WHOLE,),
        min_relevance: float = 0.0,
        similarity: bool = False,
        ttl: TTLConfig | None = None,
        known_at: Moment = None,
    ) -> None:
        self.perdure = memory
        self.ttl_config = ttl
        self._documents = Documents(memory, LangGraph.KIND, "langgraph", known_at)
        self._fields = tuple(fields)
        self._min_relevance = min_relevance
        self._similarity = similarity
        self._sweeper: tuple[Future[None], Thread] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The reads of a batch see what was there before its puts; of several puts of one key the last counts."""
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list_namespaces(op))
                case PutOp():
                    _check_labels(op.namespace)
                    puts[LangGraph.name(op.namespace, op.key)] = op
                    results.append(None)
                case _:  # pyright: ignore[reportUnnecessaryComparison] - a caller may give anything
                    raise ValueError(f"Unknown operation type: {type(op)}")
        if puts:
            with self.perdure.batch():
                for name, op in puts.items():
                    self._put(name, op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Expire what is due, and answer how much that was. It is hidden in any case."""
        return self.perdure.work(limit=1).expired

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep again and again in a thread, until `stop_ttl_sweeper` or until what this answers is cancelled. What has
        expired is hidden without it, and `perdure work` sweeps as well.
        """
        self.stop_ttl_sweeper()
        ended: Future[None] = Future()
        thread = Thread(target=self._sweep_until, args=(ended, sweep_interval_minutes), name="ttl-sweeper", daemon=True)
        self._sweeper = ended, thread
        thread.start()
        return ended

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the thread, and say whether it has ended within these seconds."""
        if self._sweeper is None:
            return True
        ended, thread = self._sweeper
        with suppress(InvalidStateError):
            ended.set_result(None)
        thread.join(timeout)
        return not thread.is_alive()

    def _sweep_until(self, ended: Future[None], minutes: float | None) -> None:
        stop = Event()
        ended.add_done_callback(lambda _: stop.set())
        interval = minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or _MINUTES_BETWEEN_SWEEPS
        while not stop.wait(interval * 60):
            try:
                self.sweep_ttl()
            except PerdureError as error:
                # A store that is busy is swept the next time.
                if not error.retryable:
                    with suppress(InvalidStateError):
                        ended.set_exception(error)

    def _get(self, op: GetOp) -> Item | None:
        _check_labels(op.namespace)
        record = self._documents.get(LangGraph.name(op.namespace, op.key))
        if record is None:
            return None
        if op.refresh_ttl:
            self._refresh([record])
        return Item(**_item(record))

    def _put(self, name: str, op: PutOp) -> None:
        if op.value is None:
            if record := self._documents.get(name):
                self._documents.remove(record)
            return
        paths = self._fields if op.index is None else op.index or ()
        text = "\n".join(_texts(op.value, paths)) or LangGraph.readable(op.value)
        entries: dict[str, Any] = {LangGraph.SEARCHABLE: op.index is not False, LangGraph.TTL: op.ttl}
        if fits_metadata(op.value):
            entries[LangGraph.VALUE] = op.value
        else:
            # What is too large for metadata, or too deep, is the text.
            text = json.dumps(op.value)
        folders = LangGraph.folders(op.namespace)
        expires = None if op.ttl is None else _span(op.ttl)
        self._documents.put(name, text, folders, entries, expires_at=expires)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        _check_labels(op.namespace_prefix)
        for key in op.filter or ():
            if not _FILTER_KEY.fullmatch(key):
                raise ValueError(f"Invalid filter key: {key!r}. Use letters, digits, '_', '.' and '-'.")
        folder = LangGraph.folder(op.namespace_prefix) if op.namespace_prefix else None
        end = op.offset + op.limit
        if not op.query:
            found = [(record, None) for record in self._documents.under(folder) if _passes(record, op.filter)]
            found.sort(key=lambda pair: pair[0].updated_at, reverse=True)
        else:
            found = self._ranked(op, folder, end)
        chosen = found[op.offset : end]
        if op.refresh_ttl:
            self._refresh([record for record, _ in chosen])
        return [SearchItem(**_item(record), score=score) for record, score in chosen]

    def _ranked(self, op: SearchOp, folder: str | None, wanted: int) -> list[tuple[Record, float | None]]:
        """A filter is applied to what recall finds, so with one more is asked for until enough passes."""
        # Where the order is by cosine, pages of any size are cut from the same candidates.
        asked = max(wanted, _CANDIDATES if self._similarity else 1)
        while True:
            answer = self._documents.search(
                op.query or "",
                folder,
                asked,
                self._min_relevance,
                _MEANING if self._similarity else None,
                searchable=True,
            )
            found = [(hit.record, self._score(hit)) for hit in answer if _passes(hit.record, op.filter)]
            if len(found) >= wanted or len(answer) < asked:
                # A relevance is rounded, a cosine is not.
                return sorted(found, key=lambda pair: -(pair[1] or 0)) if self._similarity else found
            asked *= 4

    def _score(self, hit: Hit) -> float | None:
        if not self._similarity:
            return hit.relevance
        signal = hit.explain.get(_VECTOR)
        return signal.raw if signal else None

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
        namespaces = {_address(record)[0] for record in self._documents.under(None)}
        for condition in op.match_conditions or ():
            namespaces = {namespace for namespace in namespaces if _matches(namespace, condition)}
        if op.max_depth is not None:
            namespaces = {namespace[: op.max_depth] for namespace in namespaces}
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _refresh(self, records: Iterable[Record]) -> None:
        """Begin the time to live again of what has one."""
        if self._documents.is_past:
            return
        for record in records:
            ttl = record.metadata.get(LangGraph.TTL)
            if isinstance(ttl, int | float):
                self.perdure.update(record.number, expires_at=_span(ttl))


def _check_labels(namespace: Sequence[str]) -> None:
    """`BaseStore` has checked what came by its methods, but not what is given to `batch`."""
    with suppress(ImportError):
        from langgraph.store.base import validate_op_namespace

        validate_op_namespace(GetOp(tuple(namespace), ""))


def _address(record: Record) -> tuple[tuple[str, ...], str]:
    *namespace, key = json.loads(name_of(record))
    return tuple(namespace), key


def _span(minutes: float) -> str:
    """A time ahead in words, which the memory reckons by its own clock."""
    return f"in {max(round(minutes * 60), 1)} seconds"


def _value(record: Record) -> dict[str, Any]:
    value = record.metadata.get(LangGraph.VALUE)
    return json.loads(record.text) if value is None else json.loads(json.dumps(value))


def _item(record: Record) -> dict[str, Any]:
    namespace, key = _address(record)
    times = {"created_at": record.created_at, "updated_at": record.updated_at}
    return {"namespace": namespace, "key": key, "value": _value(record), **times}


def _texts(value: Mapping[str, Any], paths: Iterable[str]) -> list[str]:
    texts: list[str] = []
    for path in paths:
        texts += [LangGraph.readable(value)] if path == _WHOLE else get_text_at_path(dict(value), tokenize_path(path))
    return list(dict.fromkeys(text for text in texts if text.strip()))


def _passes(record: Record, filter: Mapping[str, Any] | None) -> bool:
    if not filter:
        return True
    value = _value(record)
    return all(_compare(_reached(value, key), wanted) for key, wanted in filter.items())


def _reached(value: Any, key: str) -> Any:
    """The entry of this name, or what a dotted name reaches inside."""
    if not isinstance(value, Mapping):
        return _MISSING
    entries = cast("Mapping[str, Any]", value)
    head, dot, rest = key.partition(".")
    if key in entries:
        return entries[key]
    return _reached(entries[head], rest) if dot and head in entries else _MISSING


def _compare(own: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return _is_equal(own, wanted)
    conditions = cast("Mapping[str, Any]", wanted)
    if not any(name.startswith("$") for name in conditions):
        return isinstance(own, Mapping) and all(
            _compare(_reached(own, name), each) for name, each in conditions.items()
        )
    return all(_holds(own, name, each) for name, each in conditions.items())


def _holds(own: Any, operator: str, wanted: Any) -> bool:
    if operator not in _COMPARISONS:
        raise ValueError(f"Unsupported operator: {operator}. Use one of {', '.join(_COMPARISONS)}.")
    if operator == "$eq":
        return _is_equal(own, wanted)
    if operator == "$ne":
        return not _is_equal(own, wanted)
    try:
        return own is not _MISSING and bool(_COMPARISONS[operator](own, wanted))
    except TypeError:
        return False


def _is_equal(own: Any, wanted: Any) -> bool:
    """True is not 1: a filter for one must not find the other."""
    if own is _MISSING:
        return wanted is None
    return own == wanted and isinstance(own, bool) == isinstance(wanted, bool)


def _matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type not in {"prefix", "suffix"}:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", label} for label, wanted in zip(part, path, strict=True))
