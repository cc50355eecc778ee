"""The log of every namespace, proved again: that its lines are those that were written, and say what they said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.doctor.records import CHECKS, RESCUE, Tally, line_of
from perdure.store.sqlite.erasure import ERASE, dropped_until
from perdure.store.sqlite.hash_chain import Line, digest_of, genesis, link
from perdure.store.sqlite.rows import NUMBER_MASK


@dataclass(slots=True)
class Said:
    """Which lines of one log say nothing any more."""

    silent: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    spoke: dict[int, int] = field(default_factory=dict[int, int])
    erased: set[int] = field(default_factory=set[int])
    count: int = 0

    def note(self, line: Line, *, silent: bool) -> None:
        if line.operation == ERASE:
            self.erased.add(line.number)
        elif silent:
            self.silent.setdefault(line.number, []).append(line.seq)
        else:
            self.spoke.setdefault(line.number, line.seq)
        self.count += silent

    def lost(self, dropped: int) -> Iterator[int]:
        """Lines that should still say something. Whoever keeps no versions drops what all lines of a memory before its
        newest said: never that one, never one behind another that still speaks, and none behind `dropped`.
        """
        for number, lines in self.silent.items():
            if number in self.erased:
                continue
            begins = self.spoke.get(number, lines[-1])
            yield from (seq for seq in lines if seq >= begins or seq > dropped)


def examine_log(connection: Database) -> list[Finding]:
    broken, silent = Tally("chain", RESCUE), Tally("payloads", RESCUE)
    gone = 0
    for namespace, name, seq, _, head, *_ in connection.execute(CHECKS["counters"]).fetchall():
        expected, last, said = genesis(name), 0, Said()
        for row in connection.execute(CHECKS["examine_revisions"], (namespace,)):
            line, stored, salt, body = line_of(row)
            expected = link(expected, line)
            said.note(line, silent=body is None)
            intact = body is None or digest_of(salt, body) == line.digest
            if not intact or expected != stored or line.seq != last + 1:
                broken.add(f"{name!r} at {line.seq}")
            # Go on from what is stored, so that one broken line is counted once.
            expected, last = stored, line.seq
        if (last, expected) != (seq, head):
            broken.add(f"{name!r} at its end")
        for lost in said.lost(dropped_until(connection, namespace)):
            silent.add(f"{name!r} at {lost}")
        gone += said.count
    for (payload,) in connection.execute(CHECKS["payloads_nowhere"]):
        silent.add(f"none at {payload & NUMBER_MASK}")
    note = f" {gone} payloads were erased." if gone else ""
    return [
        broken.finding(f"The log of every namespace is unbroken.{note}", "Lines of the log that do not fit"),
        silent.finding("Every line says what it said, but for what was erased.", "Lines that lost what they said"),
    ]
