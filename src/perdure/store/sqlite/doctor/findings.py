"""What all checks share: their SQL, their remedies, and a tally of what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perdure.model import Finding
from perdure.store.queries import load_queries
from perdure.store.sqlite.rows import NUMBER_BITS, NUMBER_MASK

CHECKS: Final = load_queries(Path(__file__).with_name("checks.sql"))

REBUILD: Final = "Run `perdure doctor --repair`: it rebuilds this from the memories."
RESTORE_BACKUP: Final = "Save what can be read with `perdure export`, then bring the store back from a backup."
_SHOWN: Final = 5


@dataclass(slots=True)
class Tally:
    """One check: how many things are wrong, and the names of the first few."""

    check: str
    good: str
    bad: str
    remedy: str = REBUILD
    count: int = 0
    names: list[str] = field(default_factory=list[str])

    def add(self, *names: str) -> None:
        self.count += len(names)
        self.names.extend(names[: max(0, _SHOWN - len(self.names))])

    def finding(self) -> Finding:
        if not self.count:
            return Finding(self.check, "ok", self.good)
        return Finding(self.check, "problem", f"{self.bad}: {self.listed}.", self.remedy)

    @property
    def listed(self) -> str:
        more = ", …" if self.count > _SHOWN else ""
        return f"{self.count} ({', '.join(self.names)}{more})"


def memory_label(names: dict[int, str], slot: int) -> str:
    return f"{slot & NUMBER_MASK} of {names.get(slot >> NUMBER_BITS, '?')!r}"
