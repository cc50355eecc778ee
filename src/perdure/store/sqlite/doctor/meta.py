"""Checks of data that no log proves: the store's metadata, capacity limits, tombstones and parked output."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Final

from perdure.model import Finding
from perdure.store.doctor.findings import RESTORE_BACKUP, Tally
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.store.sqlite.sql import SQL

_SECRET_BYTES: Final = 32
_ENGINE: Final = re.compile(r"\d+(\.\d+)*")
_ANEW: Final = (
    "Bring the store back from a backup; `perdure doctor --repair` makes a new secret, and then an import may bring "
    "back what was forgotten before."
)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


_VALID: Final[dict[str, Callable[[object], bool]]] = {
    "engine": lambda value: isinstance(value, str) and _ENGINE.fullmatch(value) is not None,
    "era": _is_count,
    "repairs": _is_count,
    "serving": _is_count,
    "secret": lambda value: isinstance(value, bytes) and len(value) == _SECRET_BYTES,
}
_INVALID_ROWS: Final = {
    "limits": f"{CHECKS['limits']} {CHECKS['bad_limit']}",
    "tombstones": CHECKS["bad_tombstones"],
    "parked": f"{CHECKS['parked']} {CHECKS['parked_nowhere']}",
}
_REPAIRS: Final = (
    (f"{CHECKS['lift_limits']} {CHECKS['bad_limit']}", "namespaces had an invalid capacity limit; it was removed."),
    (CHECKS["delete_bad_tombstones"], "deletion markers without a digest were removed."),
    (f"{CHECKS['delete_parked']} {CHECKS['parked_nowhere']}", "parked answers about missing memories were removed."),
    (CHECKS["date_bad_tombstones"], "deletion markers with an invalid time got the time of the last change."),
)


def valid_meta(connection: Database, name: str) -> object:
    """None when there is no such value, or it is invalid."""
    value = connection.execute(SQL["get_meta"], (name,)).get
    return value if value is not None and _VALID[name](value) else None


def _invalid_names(connection: Database) -> list[str]:
    stored = dict[str, object](connection.execute(CHECKS["all_meta"]).fetchall())
    invalid = [name for name, value in stored.items() if name in _VALID and not _VALID[name](value)]
    if "serving" not in invalid and connection.execute(CHECKS["serves_nothing"]).get:
        invalid.append("serving")
    return invalid if "secret" in stored else [*invalid, "secret"]


def check_meta(connection: Database) -> list[Finding]:
    metadata = Tally("facts")
    metadata.add(*_invalid_names(connection))
    findings = [metadata.finding(remedy=_ANEW if "secret" in metadata.names else None)]
    for check, query in _INVALID_ROWS.items():
        tally = Tally(check)
        tally.add(*(name for (name,) in connection.execute(query)))
        findings.append(tally.finding())
    return findings


def repair_meta(connection: Database) -> Iterator[Finding]:
    """The right values are lost, so every removal is reported. An invalid limit would evict every memory."""
    invalid = _invalid_names(connection)
    for name in invalid:
        connection.execute(CHECKS["delete_meta"], (name,))
    if "secret" in invalid:
        connection.execute(SQL["put_meta"], ("secret", secrets.token_bytes(_SECRET_BYTES)))
        sentence = "The store has a new secret: an import may bring back what was forgotten before."
        yield Finding("repair_secret", "warning", sentence, RESTORE_BACKUP)
    elif invalid:
        yield Finding("repair_facts", "ok", f"Invalid store metadata was removed: {', '.join(invalid)}.")
    for statement, sentence in _REPAIRS:
        run(connection, statement)
        if connection.changes():
            yield Finding("repair_facts", "ok", f"{connection.changes()} {sentence}")
