"""The Store port on PostgreSQL: each method borrows a connection and lets the module of its noun do the work."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from perdure.buggify import point
from perdure.clock import Clock, from_micros, system_clock, to_micros
from perdure.embed.port import Generation
from perdure.errors import OutcomeUnknown, PerdureError, StoreBusy, StoreRolledBack, StoreUnreachable
from perdure.model import BY_MODEL, Checkpoint, Finding, Record
from perdure.store.capabilities import NamespaceSize, Scrubbed, VectorPage
from perdure.store.index_folder import IndexFolder
from perdure.store.port import About, IndexChanges, IndexRow, Pending, Position, Review, Use, UseCount
from perdure.store.postgres import checkpoints, index_feed, transfer
from perdure.store.postgres.address import Address, parse_address
from perdure.store.postgres.connection import Row
from perdure.store.postgres.erasure_ledger import ErasureLedger
from perdure.store.postgres.log_notes import LogNotes
from perdure.store.postgres.migrate import NEAR, check_schema, newest_schema
from perdure.store.postgres.models import require_generation
from perdure.store.postgres.pool import EVERYWHERE, RECONNECT_PAUSE_SECONDS, SHARED, PostgresPool, Transaction
from perdure.store.postgres.reader import PostgresReader, generation_key, namespace_key
from perdure.store.postgres.sql import nearest_queries, queries, setup_queries, transfer_queries
from perdure.store.postgres.use import PostgresUse
from perdure.store.postgres.writer import SMALLEST_COUNTED_ANYWAY, PostgresWriter, WriterSettings
from perdure.store.rows import ALL_WRITTEN, NUMBER_MASK
from perdure.store.use import with_unwritten
from perdure.text.entry import passage

if TYPE_CHECKING:
    from pathlib import Path

    from perdure.auth.tokens import Tokens
    from perdure.llm.port import Parked
    from perdure.providers.call import ProviderCall
    from perdure.settings import Settings
    from perdure.store.hash_chain import LogEnd
    from perdure.store.postgres.nearest import PostgresSearch
    from perdure.store.stats import GenerationStats, StoreStats
    from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow

DEFAULT_CONNECTIONS: Final = 16
# One for a transaction, and one for what may not be part of it.
LEAST_CONNECTIONS: Final = 2
# More vectors than these that pgvector does not know are too many to send with each question.
MOST_NOT_COMPARED: Final = 1000
_LAST_HASH: Final = b"\xff" * 33
_LONG_AGO: Final = -(1 << 62)
_KEEPS_BYTES: Final = (
    "dead rows of the database until it is vacuumed", "its write-ahead log", "its standbys, archives and base backups",
)  # fmt: skip


def open_store(settings: Settings, *, clock: Clock = system_clock, create: bool = True) -> PostgresStore:  # noqa: ARG001
    """The entry point of `postgresql://` stores. `perdure migrate` alone makes tables, so `create` means nothing."""
    address = parse_address(settings.store.address, settings.store.shown)
    return PostgresStore.open(
        address,
        busy_seconds=settings.busy_seconds,
        clock=clock,
        connections=max(LEAST_CONNECTIONS, settings.store_connections),
        notes=settings.store.beside("head"),
        ledger=settings.store.beside("erased"),
        indexes=IndexFolder(
            settings.store.beside("index"), int(settings.index_file_megabytes * (1 << 20)), is_cache=True
        ),
    )


def _of_note(namespace: str | None) -> UUID:
    """A remark about the store as a whole stands where no namespace is."""
    return checkpoints.EVERYTHING if namespace is None else namespace_key(namespace)


class PostgresStore:
    """One schema of one database. Safe to use from any thread."""

    def __init__(
        self,
        address: Address,
        pool: PostgresPool,
        clock: Clock,
        notes: Path | None = None,
        ledger: Path | None = None,
        extension: str | None = None,
        indexes: IndexFolder | None = None,
    ) -> None:
        """`extension`: the schema that pgvector is in, if the tables were made for it."""
        self._address = address
        self._pool = pool
        self._clock = clock
        self._sql = queries(address.schema)
        if extension is not None:
            self._sql = MappingProxyType({**self._sql, **nearest_queries(address.schema, extension)})
        self._use = PostgresUse(pool, self._sql)
        self._writer_settings = WriterSettings(self._sql, clock, self._require_generation, {})
        self._log_notes = None if notes is None else LogNotes(notes, self._hashes_at)
        self._ledger = None if ledger is None else ErasureLedger(ledger)
        self.index_folder = indexes
        # The generation that serves, by its id, as it was last read; None when it has to be read again.
        self._serving: tuple[int | None, Generation | None] | None = None

    @classmethod
    def open(
        cls,
        address: Address,
        *,
        busy_seconds: float = 30.0,
        clock: Clock = system_clock,
        connections: int = DEFAULT_CONNECTIONS,
        notes: Path | None = None,
        ledger: Path | None = None,
        indexes: IndexFolder | None = None,
    ) -> PostgresStore:
        """The tables must be there: `perdure migrate` makes them. `notes` is the file that shows which lines are gone
        after a failover; without it nobody knows. `ledger` is the file that lists what is erased, `indexes` are those
        that this machine keeps.
        """
        pool = PostgresPool(address, most=connections, busy_seconds=busy_seconds)
        try:
            setup = setup_queries(address.schema)
            found, extensions = pool.ask(SHARED, (setup["schema_of"], None), (setup["vector_extension"], None))
            check_schema(dict(found))
        except BaseException:
            pool.close()
            raise
        has_near = bool(extensions) and NEAR in dict(found)
        return cls(address, pool, clock, notes, ledger, extensions[0][0] if has_near else None, indexes)

    @property
    def address(self) -> str:
        return self._address.shown

    def __repr__(self) -> str:
        return f"PostgresStore({self._address.shown!r})"

    @contextmanager
    def read(self, namespace: str) -> Generator[PostgresReader]:
        with self._pool.reading(namespace_key(namespace)) as transaction:
            yield PostgresReader(transaction, self._sql, namespace, self._use.unwritten.get(namespace, ALL_WRITTEN))

    @contextmanager
    def write(
        self,
        namespace: str,
        about: Sequence[About] = (),
        *,
        frees_space: bool = False,  # noqa: ARG002 - a server keeps no reserve
    ) -> Generator[PostgresWriter]:
        with self._writing([namespace], about, None) as (writer,):
            yield writer

    def write_together(
        self, namespaces: Sequence[str], *, patience: float | None = None
    ) -> AbstractContextManager[Sequence[PostgresWriter]]:
        return self._writing(namespaces, (), patience)

    @contextmanager
    def _writing(
        self, namespaces: Sequence[str], about: Sequence[About], patience: float | None
    ) -> Generator[Sequence[PostgresWriter]]:
        keys = {name: namespace_key(name) for name in namespaces}
        scope = next(iter(keys.values())) if len(keys) == 1 else EVERYWHERE
        writers: dict[str, PostgresWriter] = {}
        try:
            with self._pool.writing(scope, patience) as transaction:
                # Locked in the order of their keys, so that no two transactions wait for each other.
                for name in sorted(keys, key=lambda name: keys[name].int):
                    writers[name] = self._writer(transaction, name, about)
                yield [writers[name] for name in namespaces]
                finished = [writer.finish() for writer in writers.values()]
                if not any(finished):
                    transaction.roll_back()
        except OutcomeUnknown:
            if not self._was_kept(writers.values()):
                raise StoreRolledBack from None
        for writer in writers.values():
            self._learn_serving(writer.serving)
            if self._log_notes is not None and (lines := writer.noted_lines):
                self._log_notes.note(lines, writer.found_lines)
            if self._ledger is not None and writer.erased:
                # The erasure has happened, so nothing may fail here.
                with suppress(OSError):
                    self._ledger.append(writer.erased, self._clock())
        if grown := max((writer.doubled_to for writer in writers.values()), default=0):
            self._refresh_statistics(small=grown < SMALLEST_COUNTED_ANYWAY)

    def _refresh_statistics(self, *, small: bool) -> None:
        """Tell the planner how large the tables have become. Until the server does so by itself, it takes a namespace
        for a handful of rows, and reads the whole of it to find one. A role without the right to is only warned.

        A namespace that is `small` says nothing new where many others have been counted.
        """
        with suppress(PerdureError), self._pool.writing(EVERYWHERE) as transaction:
            counted = transaction.ask(self._sql["rows_counted"], {"schema": self._address.schema}) if small else []
            if all(rows < SMALLEST_COUNTED_ANYWAY for (rows,) in counted):
                transaction.send(self._sql["refresh_statistics"], prepare=False)

    def _hashes_at(self, namespace: UUID, seqs: Sequence[int]) -> dict[int, bytes]:
        (rows,) = self._pool.ask(namespace, (self._sql["line_hashes"], {"namespace": namespace, "seqs": list(seqs)}))
        return dict(rows)

    def _names(self) -> dict[UUID, str]:
        return {UUID(bytes=key): name for key, name, *_ in self._ask_everywhere("namespaces")}

    def _was_kept(self, writers: Iterable[PostgresWriter]) -> bool:
        """Whether a transaction whose connection was lost at its end was committed: the log has its last line, whose
        hash no other transaction can have. The lock is taken first, so that one that still goes on has ended. Where
        that one has made the namespace, there is nothing to lock yet; but who makes it, too, waits for it.
        """
        lines = [(writer.key, *line) for writer in writers if (line := writer.last_line)]
        if not lines:
            raise OutcomeUnknown
        key, seq, head = lines[0]
        own = {"namespace": key, "seq": seq}
        made = {**own, "name": "", "secret": b"", "head": b"", "created_at": 0}
        questions = [(self._sql[name], own) for name in ("open_namespace", "line_hash")]
        deadline = time.monotonic() + self._pool.busy_seconds
        while True:
            try:
                with self._pool.writing(key) as transaction:
                    transaction.send(self._sql["create_namespace"], made)
                    _, hashes = transaction.ask_all(questions)
                    transaction.roll_back()
            except (StoreUnreachable, StoreBusy):
                if time.monotonic() > deadline:
                    raise OutcomeUnknown from None
                time.sleep(RECONNECT_PAUSE_SECONDS)
            else:
                return hashes == [(head,)]

    def _writer(self, transaction: Transaction, name: str, about: Sequence[About] = ()) -> PostgresWriter:
        return PostgresWriter(
            transaction, self._writer_settings, name, about, self._use.unwritten.get(name, ALL_WRITTEN),
            () if self._log_notes is None else self._log_notes.wanted(namespace_key(name)),
        )  # fmt: skip

    def _require_generation(self, generation: Generation) -> None:
        require_generation(self._pool, self._sql, generation)
        self._serving = None

    def _learn_serving(self, serving: int | None) -> None:
        if self._serving is not None and self._serving[0] != serving:
            self._serving = None

    def _ask(self, namespace: str, name: str, **bindings: Any) -> list[Row]:
        """One question about one namespace."""
        key = namespace_key(namespace)
        (rows,) = self._pool.ask(key, (self._sql[name], {"namespace": key, **bindings}))
        return rows

    def _ask_everywhere(self, name: str, **bindings: Any) -> list[Row]:
        (rows,) = self._pool.ask(EVERYWHERE, (self._sql[name], bindings or None))
        return rows

    def _ask_shared(self, name: str, **bindings: Any) -> list[Row]:
        (rows,) = self._pool.ask(SHARED, (self._sql[name], bindings or None))
        return rows

    def position(self, namespace: str, generation: Generation | None) -> Position:
        rows = self._ask(namespace, "position")
        if not rows:
            return Position()
        seq, vector, repairs, head, serving = rows[0]
        self._learn_serving(serving)
        return Position(seq, vector if generation else 0, repairs, head)

    def index_rows(
        self,
        namespace: str,
        generation: Generation | None,
        after: int,
        limit: int,
        *,
        with_triggers: bool = False,
        categories: Sequence[str] = (),
        vectors: bool = True,
    ) -> Sequence[IndexRow]:
        key = namespace_key(namespace)
        source = "index_rows_with_triggers" if with_triggers else "index_rows"
        bindings: dict[str, Any] = {"namespace": key, "after": max(0, min(after, NUMBER_MASK)), "limit": limit}
        if categories:
            source = "index_rows_of_categories"
            bindings["categories"] = list(categories)
        sql = " ".join(self._sql[part] for part in ("index_numbers", "index_columns", source))
        with self._pool.reading(key) as transaction:
            rows = transaction.ask(sql, bindings)
            found: dict[bytes, bytes] = {}
            if generation is not None and rows:
                passages = list({row[-4] for row in rows})
                wanted = {"namespace": key, "generation": generation_key(generation), "passages": passages}
                found = dict(transaction.ask(self._sql["vectors_of_passages"], wanted))
        return [
            index_feed.index_row(
                (number, terms, found.get(columns[-4]) if vectors else found.get(columns[-4]) and b"", *columns)
            )
            for number, terms, *columns in rows
        ]

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        key = namespace_key(namespace)
        own = {"namespace": key}
        with self._pool.reading(key) as transaction:
            positions, hashes = transaction.ask_all(
                [(self._sql["position"], own), (self._sql["line_hash"], {**own, "seq": since.seq})]
            )
            if not positions:
                return IndexChanges([], [], anew=since.seq > 0)
            anew = positions[0][2] != since.repairs
            if since.seq and not anew:
                anew = not hashes or not since.head or not hashes[0][0].startswith(since.head)
            if anew:
                since = Position()
            bindings = {**own, "seq": since.seq, "vector": since.vector, "generation": generation_key(generation)}
            sql = " ".join(self._sql[part] for part in ("index_changed", "index_columns", "index_changes"))
            rows = transaction.ask(sql, bindings)
        return IndexChanges(
            [index_feed.index_row(row) for row in rows if row[1] is not None],
            [row[0] for row in rows if row[1] is None],
            anew,
        )

    def index_vectors(self, namespace: str, generation: Generation, after: int, limit: int) -> VectorPage:
        rows = self._ask(namespace, "vectors_after", generation=generation_key(generation), after=after, limit=limit)
        return VectorPage({passage: data for _, passage, data in rows}, rows[-1][0] if rows else after)

    def size_of(self, namespace: str, generation: Generation | None) -> NamespaceSize:
        if "size_of" not in self._sql or generation is None:
            with self.read(namespace) as reader:
                return NamespaceSize(reader.load().items, finds_nearest=False)
        rows = self._ask(namespace, "size_of", generation=generation_key(generation), most=MOST_NOT_COMPARED + 1)
        memories, unknown = rows[0] if rows else (0, 0)
        return NamespaceSize(memories, finds_nearest=unknown <= MOST_NOT_COMPARED)

    @contextmanager
    def searching(self, namespace: str) -> Generator[PostgresSearch]:
        from perdure.store.postgres.nearest import PostgresSearch

        with self._pool.reading(namespace_key(namespace)) as transaction:
            unwritten = self._use.unwritten.get(namespace, ALL_WRITTEN)
            yield PostgresSearch(transaction, self._sql, namespace, unwritten)

    def use_counts(self, namespace: str, numbers: Sequence[int] | None = None) -> Sequence[UseCount]:
        key = namespace_key(namespace)
        sql, bindings = self._sql["use_counts"], dict[str, Any](namespace=key)
        if numbers is not None:
            sql = f"{sql} {self._sql['use_of_numbers']}"
            bindings["numbers"] = [number for number in numbers if 0 < number <= NUMBER_MASK]
        (rows,) = self._pool.ask(key, (sql, bindings))
        counts: list[UseCount] = [(number, recalls, used) for number, recalls, used in rows]
        return with_unwritten(counts, self._use.unwritten.get(namespace, ALL_WRITTEN), numbers)

    def pending(self, generation: Generation, limit: int, start: bytes = b"") -> list[Pending]:
        """Those of damaged memories are left out, and others take their place."""
        key = generation_key(generation)
        passages: list[Pending] = []
        with self._pool.reading(EVERYWHERE) as transaction:
            for first, last in ((start, _LAST_HASH), (b"", start)) if start else ((b"", _LAST_HASH),):
                wanted = asked = limit - len(passages)
                while wanted > 0:
                    bindings = {"generation": key, "first": first, "last": last, "limit": asked}
                    rows = transaction.ask(self._sql["pending"], bindings)
                    records = self._sound(transaction, [(name, number) for name, _, _, number in rows])
                    found = [
                        Pending(name, passage_hash, passage(record))
                        for (name, _, passage_hash, _), record in zip(rows, records, strict=True)
                        if record is not None
                    ]
                    if len(found) >= wanted or len(rows) < asked:
                        passages += found[:wanted]
                        break
                    asked += wanted
        return passages

    def _sound(self, transaction: Transaction, places: Sequence[tuple[str, int]]) -> list[Record | None]:
        """The memories at these places; None for those that are damaged or gone."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for name, number in places:
            numbers[name].append(number)
        records = {
            (name, record.number): record
            for name, some in numbers.items()
            for record in PostgresReader(transaction, self._sql, name).fetch(some)
        }
        return [records.get(place) for place in places]

    def pending_count(self, generation: Generation) -> int:
        rows = self._ask_everywhere("pending_counts", generation=generation_key(generation))
        return sum(count for _, count in rows)

    def serving_generation(self) -> Generation | None:
        if self._serving is None:
            rows = self._ask_shared("serving")
            key, generation = None, None
            if rows:
                key, provider, model, dimensions, version = rows[0]
                generation = None if provider is None else Generation(provider, model, dimensions, version)
            self._serving = key, generation
            return generation
        return self._serving[1]

    def serve(self, generation: Generation, without: Collection[bytes] = ()) -> bool:
        """What is written between the look and the change is merely pending."""
        missing = self.pending(generation, len(without) + 1)
        if any(pending.passage_hash not in without for pending in missing):
            return False
        key = require_generation(self._pool, self._sql, generation)
        with self._pool.writing(SHARED) as transaction:
            transaction.send(self._sql["serve"], {"id": key})
        self._serving = None
        point("serve: committed")
        return True

    def generations(self) -> list[GenerationStats]:
        from perdure.store.postgres.models import generations

        return generations(self._pool, self._sql)

    def drop_vectors(self, generation: Generation, limit: int) -> int:
        from perdure.store.postgres.models import drop_vectors

        return drop_vectors(self._pool, self._sql, generation, limit)

    def calibration(self, generation: Generation) -> float | None:
        rows = self._ask_shared("calibration", id=generation_key(generation))
        return rows[0][0] if rows else None

    def put_calibration(self, generation: Generation, unrelated: float) -> None:
        key = require_generation(self._pool, self._sql, generation)
        with self._pool.writing(SHARED) as transaction:
            transaction.send(self._sql["put_calibration"], {"id": key, "unrelated": float(unrelated)})
        self._serving = None

    def record_calls(self, calls: Sequence[ProviderCall]) -> None:
        self._use.note_calls(calls)

    def calls(self, since: datetime | None, limit: int | None = None) -> list[ProviderCall]:
        from perdure.store.postgres.models import calls

        with self._use.unwritten_calls() as unwritten:
            written = calls(self._pool, self._sql, _LONG_AGO if since is None else to_micros(since), limit)
        newest = [call for call in reversed(unwritten) if since is None or call.at >= since]
        return sorted((*newest, *written), key=lambda call: call.at, reverse=True)[:limit]

    def calls_total(self, since: datetime) -> tuple[int, float]:
        with self._use.unwritten_calls() as unwritten:
            ((tokens, cost),) = self._ask_shared("calls_total", since=to_micros(since))
        recent = [call for call in unwritten if call.at >= since]
        tokens += sum(call.input_tokens + call.output_tokens for call in recent)
        return tokens, cost + sum(call.cost or 0.0 for call in recent)

    def park(
        self,
        namespace: str,
        *,
        purpose: str,
        memory: int | None,
        model: str,
        error: str,
        output: str,
        attempts: int,
        at: datetime,
    ) -> Parked | None:
        from perdure.llm.port import Parked
        from perdure.store.postgres.models import parked_columns
        from perdure.values import replace

        if not (memory is None or 0 < memory <= NUMBER_MASK) or not self._ask(namespace, "namespace_row"):
            return None
        parked = Parked(
            id=0, namespace=namespace, purpose=purpose, memory=memory, model=model, error=error, output=output,
            attempts=attempts, at=at,
        )  # fmt: skip
        columns = parked_columns(parked)
        with self.write(namespace) as writer:
            id = writer.park(columns)
        texts = {name: columns[name] for name in ("purpose", "model", "error", "output")}
        return None if id is None else replace(parked, id=id, **texts)

    def parked(self, namespace: str) -> list[Parked]:
        from perdure.store.postgres.models import parked

        return parked(self._pool, self._sql, namespace_key(namespace), namespace)

    def unpark(self, namespace: str, id: int) -> bool:
        key = namespace_key(namespace)
        if not 0 < id <= NUMBER_MASK:
            return False
        with self._pool.writing(key) as transaction:
            return bool(transaction.ask(self._sql["unpark"], {"namespace": key, "id": id}))

    def note_use(self, uses: Sequence[Use]) -> None:
        self._use.count(uses)

    def note_reviews(self, reviews: Sequence[Review]) -> None:
        self._use.note_reviews(reviews)

    def pending_reviews(self, namespace: str) -> list[Review]:
        return [
            Review(namespace, number, rank, from_micros(first), from_micros(last))
            for number, rank, first, last in self._ask(namespace, "pending_reviews")
        ]

    def flush_use(self, *, patience: float) -> bool:
        """Counting use is never worth an error."""
        try:
            self._use.flush(patience=patience)
        except PerdureError:
            return False
        return True

    def namespaces(self) -> list[str]:
        return [name for _, name, *_ in self._ask_everywhere("namespaces")]

    def due(self, now: datetime, limit: int) -> list[Record]:
        return self._sound_records("due", {"moment": to_micros(now)}, limit)

    def purgeable(self, until: datetime, limit: int, *, by_models: bool = False) -> list[Record]:
        bindings = {"moment": to_micros(until), "by_model": None if by_models else BY_MODEL}
        return self._sound_records("purgeable", bindings, limit)

    def _sound_records(self, statement: str, bindings: Mapping[str, Any], limit: int) -> list[Record]:
        """Damaged memories are left out, and others take their place."""
        asked = limit
        while True:
            with self._pool.reading(EVERYWHERE) as transaction:
                rows = transaction.ask(self._sql[statement], {**bindings, "limit": asked})
                found = self._sound(transaction, [(name, number) for name, _, number in rows])
            records = [record for record in found if record is not None]
            if len(records) >= limit or len(rows) < asked:
                return records[:limit]
            asked += limit

    def write_times_after(self, moment: datetime) -> list[datetime]:
        rows = self._ask_everywhere("times_after", moment=to_micros(moment))
        return [from_micros(at) for at in sorted({at for row in rows for at in row})]

    def note(self, name: str, namespace: str | None = None) -> str | None:
        own = _of_note(namespace)
        (rows,) = self._pool.ask(own, (self._sql["note"], {"namespace": own, "name": name}))
        return rows[0][0] if rows else None

    def put_note(self, name: str, value: str, namespace: str | None = None) -> None:
        own = _of_note(namespace)
        with self._pool.writing(own) as transaction:
            transaction.send(self._sql["put_note"], {"namespace": own, "name": name, "value": value})

    def lease(self, name: str, owner: str, seconds: float) -> bool:
        bindings = {"name": name, "owner": owner, "microseconds": int(seconds * 1_000_000)}
        with self._pool.writing(SHARED) as transaction:
            return bool(transaction.ask(self._sql["lease"], bindings))

    def put_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        with self._pool.writing(EVERYWHERE) as transaction:
            if checkpoint.namespace is None:
                logs = transaction.ask(self._sql["namespaces"])
            else:
                # A namespace that nobody has written to yet can be gone back to as well.
                logs = [self._writer(transaction, checkpoint.namespace).log_end]
            return checkpoints.put_checkpoint(transaction, self._sql, checkpoint, logs)

    def checkpoints(self, namespace: str) -> list[Checkpoint]:
        return checkpoints.checkpoints(self._pool, self._sql, namespace_key(namespace))

    def delete_checkpoint(self, namespace: str | None, name: str) -> bool:
        key = checkpoints.EVERYTHING if namespace is None else namespace_key(namespace)
        with self._pool.writing(key) as transaction:
            return bool(transaction.ask(self._sql["delete_checkpoint"], {"namespace": key, "name": name}))

    def stats(self, generation: Generation | None) -> StoreStats:
        from perdure.store.postgres.statistics import namespace_statistics, server_version
        from perdure.store.stats import StoreStats

        generation = generation or self.serving_generation()
        namespaces, bytes_used = namespace_statistics(self._pool, self._sql, generation_key(generation))
        return StoreStats(
            address=self._address.shown,
            engine=server_version(self._pool),
            schema=newest_schema(),
            bytes=bytes_used,
            namespaces=namespaces,
            generations=tuple(self.generations()),
        )

    def check(self) -> Iterator[Finding]:
        from perdure.store.postgres.doctor import check

        yield from check.check(self._pool, self._sql)
        if self._log_notes is not None:
            yield from self._log_notes.check(self._names())

    def repair(self) -> Iterator[Finding]:
        from perdure.store.postgres.doctor import repair

        yield from repair.repair(self._pool, self._sql)
        if self._log_notes is not None:
            yield from self._log_notes.accept(self._names())

    def scrub(self, *, patience: float) -> Scrubbed:  # noqa: ARG002  (nobody is waited for)
        """No statement of Perdure finds what was erased. Its bytes are the database's own, and in places that only
        whoever keeps the database can reach. What this machine keeps in files goes now; another one that has such files
        sees in the log that something was erased, before it reads them.
        """
        with suppress(OSError):
            if self.index_folder is not None:
                self.index_folder.clear()
            return Scrubbed(done=True, left=_KEEPS_BYTES)
        return Scrubbed(done=False, left=_KEEPS_BYTES)

    def access_tokens(self) -> Tokens:
        from perdure.store.postgres.tokens import TokenTable

        return TokenTable(self._pool, self._clock)

    def log_end(self, namespace: str) -> LogEnd | None:
        return transfer.log_end(self._pool, namespace_key(namespace))

    def logged_lines(self, namespace: str, after: int, limit: int) -> list[LoggedLine]:
        return transfer.logged_lines(self._pool, namespace_key(namespace), after, limit)

    def extras(self, namespace: str) -> NamespaceExtras:
        own = [checkpoint for checkpoint in self.checkpoints(namespace) if checkpoint.namespace == namespace]
        return transfer.extras(self._pool, namespace_key(namespace), own, self.parked(namespace))

    def vector_rows(self, namespace: str, generation: Generation, after: int, limit: int) -> list[VectorRow]:
        return transfer.vector_rows(self._pool, namespace_key(namespace), generation, after, limit)

    def receiving(self, namespace: str) -> AbstractContextManager[PostgresWriter]:
        return self.write(namespace)

    def copy_checkpoint(self, checkpoint: Checkpoint) -> None:
        sql = transfer_queries(self._address.schema)["copy_checkpoint"]
        with self._pool.writing(EVERYWHERE) as transaction:
            transaction.send(sql, checkpoints.columns(checkpoint))

    def close(self) -> None:
        self._use.close()
        if self._log_notes is not None:
            self._log_notes.sync()
        self._pool.close()
