"""Doctor: every check of a store. Each namespace is looked at in a transaction of its own, so at its own moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from uuid import UUID

from perdure.embed.port import Generation
from perdure.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError, StoreUnreachable
from perdure.model import Finding
from perdure.store.doctor.findings import Tally
from perdure.store.erasure import ERASE, dropped_by_name
from perdure.store.hash_chain import digest_of, genesis
from perdure.store.postgres import checkpoints
from perdure.store.postgres.connection import Row
from perdure.store.postgres.doctor.namespace import ExaminedNamespace
from perdure.store.postgres.pool import EVERYWHERE, PostgresPool
from perdure.store.postgres.reader import generation_key
from perdure.store.postgres.sql import doctor_queries
from perdure.store.postgres.writer import SECRET_BYTES
from perdure.store.rows import NUMBER_MASK

_TALLIES: Final = (
    "records", "history", "entries", "tags", "links", "statistics", "counters", "chain", "payloads", "erased",
    "checkpoints", "vectors", "facts", "limits", "tombstones", "parked",
)  # fmt: skip
_ASK_OPERATOR: Final = "Ask the administrator of the database to set it: docs/postgres.md says why."


class _Checkup:
    """What was found so far, check by check."""

    def __init__(self, namespaces: list[Row]) -> None:
        self.namespaces = namespaces
        self.tallies = {name: Tally(name) for name in _TALLIES}
        self.emptied = 0
        self.earlier_vectors = 0

    def add(self, check: str, *names: str) -> None:
        self.tallies[check].add(*names)

    def records(self, examined: ExaminedNamespace) -> None:
        """One pass over all records, which answers five questions."""
        for check, number in examined.ask("not_indexed"):
            self.add(check, examined.label(number))
        self.add("records", *map(examined.label, examined.missing()))
        for row in examined.rows():
            answers = {
                "records": row.record is not None,
                "history": row.record is None or row.matches_log,
                "entries": row.record is None or row.entry_is_right,
                "tags": row.tags_are_right,
                "links": row.links_are_right,
            }
            for check, right in answers.items():
                if not right:
                    self.add(check, examined.label(row.slot))

    def counters(self, examined: ExaminedNamespace) -> None:
        own = examined.counters()
        if (own.documents, own.words, own.tokens) != examined.entry_counts():
            self.add("statistics", repr(examined.name))
        ((newest, newest_vector),) = examined.ask("newest_of_namespace")
        if not newest <= own.number <= NUMBER_MASK or not newest_vector <= own.vector <= NUMBER_MASK:
            self.add("counters", repr(examined.name))
        if own.secret_bytes != SECRET_BYTES:
            self.add("facts", f"secret of {examined.name!r}")
        if any(limit is not None and limit < 1 for limit in (own.max_items, own.max_tokens)):
            self.add("limits", repr(examined.name))
        if examined.ask("bad_tombstones")[0][0]:
            self.add("tombstones", repr(examined.name))

    def log(self, examined: ExaminedNamespace) -> None:
        """An erased memory has no payloads. With versioning off, those before the newest one of a memory were dropped,
        up to the position `unversioned`. Where secrets were taken out, a later entry names those that went. Any other
        missing payload is damage.
        """
        own = examined.counters()
        last = (0, genesis(examined.name))
        erased: set[int] = set()
        without_payload: defaultdict[int, list[int]] = defaultdict(list)
        first_payload: dict[int, int] = {}
        for line, fits, stored, salt, body in examined.chain():
            if not fits or (body is not None and digest_of(salt, body) != line.digest):
                self.add("chain", f"{examined.name!r} at {line.seq}")
            last = (line.seq, stored)
            self.emptied += body is None
            if line.operation == ERASE:
                erased.add(line.number)
            elif body is None:
                without_payload[line.number].append(line.seq)
            else:
                first_payload.setdefault(line.number, line.seq)
        if last != (own.seq, own.head):
            self.add("chain", f"{examined.name!r} at its end")
        for number in without_payload.keys() - erased:
            seqs = without_payload[number]
            newest = first_payload.get(number, seqs[-1])
            lost = {seq for seq in seqs if seq >= newest or seq > own.unversioned}
            if lost:
                lost -= dropped_by_name(body for (body,) in examined.ask("bodies", number=number))
            self.add("payloads", *(f"{examined.name!r} at {seq}" for seq in sorted(lost)))
        self.add("payloads", *(f"{examined.name!r} at {seq}" for (seq,) in examined.ask("payloads_nowhere")))

    def erasures(self, examined: ExaminedNamespace) -> None:
        self.add("erased", *map(examined.label, examined.erased_leftovers()))

    def vectors(self, examined: ExaminedNamespace) -> None:
        self.add("vectors", *(f"{position} of {examined.name!r}" for position in examined.bad_vectors()))
        self.earlier_vectors += examined.ask("vectors_of_earlier_texts")[0][0]

    def checkpoints(self, rows: list[Row]) -> None:
        ends = {name: seq for _, name, seq, _ in self.namespaces}
        for row in rows:
            try:
                positions = checkpoints.decoded(row, self.namespaces).positions
            except StoreDamaged:
                positions = None
            if positions is None or any(seq > ends[name] for name, seq in positions.items()):
                self.add("checkpoints", repr(row[1]))

    def findings(self) -> Iterator[Finding]:
        note = f" The content of {self.emptied} log entries was erased or dropped." if self.emptied else ""
        for name, tally in self.tallies.items():
            yield tally.finding(note=note if name == "chain" else "")


def check(pool: PostgresPool, sql: Mapping[str, str]) -> Iterator[Finding]:
    checks = doctor_queries(pool.address.schema)
    namespaces, everything, generations = pool.ask(
        EVERYWHERE,
        (sql["namespaces"], None),
        (checks["examine_checkpoints"], {"namespace": checkpoints.EVERYTHING}),
        (checks["generation_rows"], None),
    )
    yield from check_server(pool)
    checkup = _Checkup(namespaces)
    checkup.checkpoints(everything)
    for key, *columns in generations:
        generation = Generation(*columns)
        if generation_key(generation) != key:
            checkup.add("vectors", f"all of {generation.name!r}")
    steps: tuple[Callable[[ExaminedNamespace], None], ...] = (
        checkup.records, checkup.counters, checkup.log, checkup.erasures, checkup.vectors,
    )  # fmt: skip
    for key, name, *_ in namespaces:
        try:
            with pool.reading(UUID(bytes=key), scans=True) as transaction:
                examined = ExaminedNamespace(transaction, pool.address.schema, key, name)
                for step in steps:
                    step(examined)
                checkup.checkpoints(examined.ask("examine_checkpoints"))
        except (StoreBusy, StoreClosed, StoreUnreachable):
            raise
        except StoreError as error:
            checkup.add("records", f"{name!r}: {error.sentence}")
    yield from checkup.findings()
    (serving,) = pool.ask(EVERYWHERE, (sql["serving"], None))
    (counts,) = pool.ask(EVERYWHERE, (sql["pending_counts"], {"generation": serving[0][0] if serving else 0}))
    missing = sum(count for _, count in counts)
    earlier = checkup.earlier_vectors
    yield Finding("earlier_vectors", "ok", f"Vectors of earlier texts, which a repair removes: {earlier}.")
    yield Finding("pending", "ok", f"Passages without a vector of the model that answers: {missing}.")


def check_server(pool: PostgresPool) -> Iterator[Finding]:
    """Whether an acknowledged write survives the server, and where the bytes of erased memories may stay."""
    try:
        schema = pool.address.schema
        (rows,) = pool.ask(EVERYWHERE, (doctor_queries(schema)["server_settings"], {"schema": schema}))
    except StoreUnreachable:
        raise
    except StoreError as error:
        yield Finding(
            "server", "warning", f"The settings of the server cannot be read: {error.sentence}", _ASK_OPERATOR
        )
        return
    fsync, full_pages, commits, archive, standbys, slots, checksums, dead = rows[0]
    unsafe = [
        f"{name} is {value}"
        for name, value in (("fsync", fsync), ("full_page_writes", full_pages), ("synchronous_commit", commits))
        if value in ("off", "local")
    ]
    if unsafe:
        sentence = f"The server may lose acknowledged writes: {', '.join(unsafe)}."
        yield Finding("server", "warning", sentence, _ASK_OPERATOR)
    else:
        yield Finding("server", "ok", "The server keeps what it acknowledges.")
    if checksums == "on":
        yield Finding("page_checksums", "ok", "The server checks its pages.")
    else:
        yield Finding("page_checksums", "warning", "The server does not check its pages.", _ASK_OPERATOR)
    copies = [f"{count} {what}" for count, what in ((standbys, "standbys"), (slots, "replication slots")) if count]
    copies += ["an archive of its log"] if archive != "off" else []
    kept = f" The server has {', '.join(copies)}." if copies else ""
    counted = f"about {dead:,} now, which `perdure migrate --rewrite` by the owner of the tables removes"
    sentence = f"Erased bytes stay in dead rows ({counted}) and in the server's log until it is rewritten.{kept}"
    yield Finding("erased_bytes", "ok", sentence)
