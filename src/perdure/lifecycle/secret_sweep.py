"""Secrets that a store holds already, in its history too: finding them, and taking them out for good.

A memory from which secrets are taken gets a revision without them. The payloads of the earlier revisions that held them
are dropped, as when a memory is erased, and the new revision says which: the chain proves all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from perdure.errors import NotAllowed, StoreDamaged, StoreError
from perdure.ids import content_hash
from perdure.lifecycle.erase import SCRUB_PATIENCE, drop_told_texts, known_backups
from perdure.lifecycle.write import Plan, apply_plan
from perdure.lineage import DROPPED
from perdure.model import Finding, Json, Record, Revision, replace_record
from perdure.store.capabilities import Scrubbed, listed, scrub
from perdure.store.port import LogFilter, Progress, Store
from perdure.text.secrets import Redact, redact_nested
from perdure.validation import changes_content
from perdure.values import field_names

if TYPE_CHECKING:
    from perdure.services import Services

_PAGE_SIZE: Final = 500
_NOT_FROM_A_CALLER: Final = frozenset({"id", "namespace", "content_hash", "state"})
_TEXTS: Final = tuple(name for name in field_names(Record) if name not in _NOT_FROM_A_CALLER)
_REMEDY: Final = (
    "Make it invalid where it is used. `perdure doctor --secrets --repair` takes it out of the memory and its history "
    "for good; `perdure erase {number}` erases the whole memory."
)


@dataclass(slots=True)
class Exposure:
    """What the log says of one memory: which kinds of secrets, at which positions and in which versions."""

    kinds: dict[str, None] = field(default_factory=dict[str, None])
    seqs: list[int] = field(default_factory=list[int])
    versions: dict[int, None] = field(default_factory=dict[int, None])
    newest: int = 0

    def add(self, line: Revision, kinds: list[str]) -> None:
        self.kinds.update(dict.fromkeys(kinds))
        self.versions[line.version] = None
        self.seqs.append(line.seq)

    def finding(self, namespace: str, number: int) -> Finding:
        where = "now" if self.newest in self.seqs else "in its history only"
        sentence = (
            f"Memory #{number} in {namespace!r} holds {', '.join(self.kinds)} {where}: version "
            f"{', '.join(map(str, self.versions))}; log entries {', '.join(map(str, self.seqs))}."
        )
        return Finding("secrets", "problem", sentence, _REMEDY.format(number=number))


def sweep_secrets(services: Services, *, repair: bool, progress: Progress | None = None) -> Iterator[Finding]:
    """A finding for each memory that holds or held secrets, and for each parked output that does. None quotes one."""
    if repair and not services.context.is_person:
        raise NotAllowed("A model cannot take secrets out of the history.", remedy="Ask a person to do it.")
    store = services.store
    found = entries = 0
    for name in store.namespaces():
        exposures, end = find_exposures(services, name, progress)
        entries += end
        for number, exposure in exposures.items():
            found += 1
            yield take_out_secrets(services, name, number) if repair else exposure.finding(name, number)
        for parked in store.parked(name):
            kinds: list[str] = []
            redact_nested([parked.output, parked.error], services.redact, kinds)
            if not kinds:
                continue
            found += 1
            told = ", ".join(dict.fromkeys(kinds))
            what = f"What a language model said, parked as {parked.id} in {name!r}, holds {told}"
            if repair:
                with store.write(name) as writer:
                    writer.unpark(parked.id)
                yield Finding("repair_secrets", "ok", f"{what}; it was thrown away.")
            else:
                yield Finding("secrets", "problem", f"{what}.", "`perdure doctor --secrets --repair` throws it away.")
    if not found:
        yield Finding("secrets", "ok", f"No secret was found in {entries} log entries.")
    elif repair:
        yield from scrub_bytes(services)


def find_exposures(
    services: Services, namespace: str, progress: Progress | None = None
) -> tuple[dict[int, Exposure], int]:
    """By number, and where the log ends."""
    exposures: dict[int, Exposure] = {}
    newest: dict[int, int] = {}
    end = 0
    for page, reached, end in log_pages(services.store, namespace):
        for line in page:
            newest[line.number] = line.seq
            if kinds := kinds_in(line, services.redact):
                exposures.setdefault(line.number, Exposure()).add(line, kinds)
        if progress:
            progress(reached, end)
    for number, exposure in exposures.items():
        exposure.newest = newest[number]
    return exposures, end


def log_pages(store: Store, namespace: str) -> Iterator[tuple[list[Revision], int, int]]:
    """The log from its beginning, how far each page reaches, and where the log ends. A page at a time, so that nobody
    has to wait for a long read; what cannot be read is left to the other checks of doctor.
    """
    with store.read(namespace) as reader:
        end = max((line.seq for line in reader.log(LogFilter(), limit=1)), default=0)
    for seq in range(0, end, _PAGE_SIZE):
        with store.read(namespace) as reader:
            try:
                page = reader.log(LogFilter(after=seq, before=seq + _PAGE_SIZE + 1), limit=_PAGE_SIZE, newest=False)
            except StoreDamaged:
                page = list[Revision]()
                for at in range(seq, seq + _PAGE_SIZE):
                    with suppress(StoreDamaged):
                        page += reader.log(LogFilter(after=at, before=at + 2), limit=1)
        yield page, min(seq + _PAGE_SIZE, end), end


def kinds_in(line: Revision, redact: Redact) -> list[str]:
    kinds: list[str] = []
    if line.record is not None:
        redact_nested([getattr(line.record, name) for name in _TEXTS], redact, kinds)
    redact_nested(line.change.provenance, redact, kinds)
    return kinds


def take_out_secrets(services: Services, namespace: str, number: int) -> Finding:
    """The memory cannot change between reading and writing it: both happen inside the write."""
    batch = services.context.batch()
    try:
        with services.store.write(namespace, frees_space=True) as writer:
            current = writer.by_number(number)
            held = {line.seq: kinds for line in writer.revisions(number) if (kinds := kinds_in(line, services.redact))}
            if current is None or not held:
                return Finding("repair_secrets", "ok", f"Memory #{number} in {namespace!r} was changed meanwhile.")
            plan = plan_without_secrets(current, services.redact, list(held))
            apply_plan(services, writer, plan, batch, room=False)
            writer.drop_payloads(number, held)
    except StoreDamaged as error:
        return Finding("repair_secrets", "problem", error.sentence, f"Erase it: perdure erase {number}")
    services.drop(namespace)
    sentence = (
        f"Took {', '.join(dict.fromkeys(chain(*held.values())))} out of memory #{number} in {namespace!r}; the content "
        f"of {len(held)} log entries was dropped."
    )
    return Finding("repair_secrets", "ok", sentence)


def plan_without_secrets(current: Record, redact: Redact, dropped: list[int]) -> Plan:
    """Pure. A key that holds a secret cannot be redacted, it would name something else: the memory loses it."""
    safe: dict[str, Any] = {name: redact_nested(getattr(current, name), redact, []) for name in _TEXTS}
    changes = {name: value for name, value in safe.items() if value != getattr(current, name)}
    if "key" in changes:
        changes["key"] = None
    if "text" in changes:
        changes["content_hash"] = content_hash(changes["text"])
    provenance: Mapping[str, Json] = {DROPPED: list[Json](dropped)}
    record = replace_record(current, **changes)
    if changes_content(changes):
        return Plan(current, record, "update", "updated", provenance=provenance)
    return Plan(current, record, "annotate", "annotated", provenance=provenance)


def scrub_bytes(services: Services, check: str = "repair_secrets") -> Iterator[Finding]:
    """Remove the bytes of what was dropped from every file, and say where they may still be."""
    scrubbed = Scrubbed(done=False)
    with suppress(StoreError):
        scrubbed = scrub(services.store, patience=SCRUB_PATIENCE)
    drop_told_texts()
    if not scrubbed.done:
        sentence = "The bytes may still be in a log or an unfinished copy that another process uses."
        yield Finding(check, "warning", sentence, "They are removed when anybody opens the store next.")
    if scrubbed.left:
        remedy = "The database's administrator can remove them there."
        yield Finding(check, "warning", listed(scrubbed.left), remedy)
    if backups := known_backups(services.store):
        sentence = f"Backups that may still hold them: {', '.join(backups)}."
        yield Finding(check, "warning", sentence, "Delete them, and make a new one: perdure backup")
