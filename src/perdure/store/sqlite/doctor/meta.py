"""What stands in a store without any log behind it: facts about itself, limits, links, tombstones."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Final

from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.records import CHECKS, RESCUE, Tally
from perdure.store.sqlite.sql import SQL

_SECRET_BYTES: Final = 32
_ENGINE: Final = re.compile(r"\d+(\.\d+)*")
_FORGET: Final = "Run `perdure doctor --repair`: it takes away what makes no sense."
_ANEW: Final = (
    "Bring the store back from a backup; `perdure doctor --repair` makes a new secret, and what was forgotten before "
    "may then come back by an import."
)


def _whole(value: object) -> bool:
    return isinstance(value, int) and value >= 0


_SOUND: Final[dict[str, Callable[[object], bool]]] = {
    "engine": lambda value: isinstance(value, str) and _ENGINE.fullmatch(value) is not None,
    "era": _whole,
    "repairs": _whole,
    "secret": lambda value: isinstance(value, bytes) and len(value) == _SECRET_BYTES,
}


def sound_fact(connection: Database, name: str) -> object:
    """None when there is none, or what is there makes no sense."""
    value = connection.execute(SQL["get_meta"], (name,)).get
    return value if value is not None and _SOUND[name](value) else None


def _nonsense(connection: Database) -> list[str]:
    there = dict[str, object](connection.execute(CHECKS["facts"]).fetchall())
    wrong = [name for name, value in there.items() if name in _SOUND and not _SOUND[name](value)]
    return wrong if "secret" in there else [*wrong, "secret"]


def examine_facts(connection: Database) -> list[Finding]:
    wrong = _nonsense(connection)
    facts = Tally("facts", _ANEW if "secret" in wrong else _FORGET)
    limits, links, graves = Tally("limits", _FORGET), Tally("links", _FORGET), Tally("tombstones", _FORGET)
    for tally, names in (
        (facts, wrong),
        (limits, [repr(name) for (name,) in connection.execute(CHECKS["bad_limits"])]),
        (links, [f"{kind} of {namespace!r}" for namespace, kind in connection.execute(CHECKS["bad_links"])]),
        (graves, [repr(name) for (name,) in connection.execute(CHECKS["bad_tombstones"])]),
    ):
        for name in names:
            tally.add(name)
    return [
        facts.finding("What the store says of itself makes sense.", "Facts about the store that make no sense"),
        limits.finding("Every limit is one.", "Namespaces with a limit that is none"),
        links.finding("Every link leads from a memory.", "Links between memories that do not exist"),
        graves.finding("What was forgotten can be recognised.", "Tombstones that nothing can be recognised by"),
    ]


def repair_facts(connection: Database) -> Iterator[Finding]:
    """Nothing tells what they were, so each is said. A limit that is none would drive every memory out."""
    wrong = _nonsense(connection)
    for name in wrong:
        connection.execute(CHECKS["forget_fact"], (name,))
    if "secret" in wrong:
        connection.execute(SQL["put_meta"], ("secret", secrets.token_bytes(_SECRET_BYTES)))
        sentence = "The store has a new secret: what was forgotten before may come back by an import."
        yield Finding("repair_secret", "warning", sentence, RESCUE)
    elif wrong:
        yield Finding("repair_facts", "ok", f"Facts that made no sense were taken away: {', '.join(wrong)}.")
    for statement, said in (
        ("lift_bad_limits", "namespaces had a limit that was none, and have none now."),
        ("delete_bad_links", "links between memories that do not exist were removed."),
        ("delete_bad_tombstones", "tombstones that nothing could be recognised by were removed."),
        ("date_bad_tombstones", "tombstones without a time count from the last change."),
    ):
        run(connection, CHECKS[statement])
        if connection.changes():
            yield Finding("repair_facts", "ok", f"{connection.changes()} {said}")
