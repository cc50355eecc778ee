"""Shared by all checks: their sentences, and a tally of the problems they find."""

from __future__ import annotations

from typing import Final

from perdure.model import Finding
from perdure.store.rows import RESTORE
from perdure.values import field, value_class

_REPAIR: Final = RESTORE.told("cli")
REBUILD: Final = "Run `perdure doctor --repair`: it rebuilds this from the memories."
REMOVE: Final = "Run `perdure doctor --repair`: it removes what is invalid."
RESTORE_BACKUP: Final = "Save what can be read with `perdure export`, then bring the store back from a backup."
_DELETE_CHECKPOINT: Final = "Delete it with `perdure checkpoint delete`, or bring the store back from a backup."
_ERASE_REST: Final = "Run `perdure doctor --repair`: it erases the rest."
_SHOWN: Final = 5

# For each check: the sentence of a sound store, the words before a list of problems, and the remedy.
_SENTENCES: Final = {
    "records": ("Every memory is as it was written.", "Memories that are missing or not as they were written", _REPAIR),
    "history": ("Every memory matches its newest log entry.", "Memories unlike their newest log entry", _REPAIR),
    "entries": ("The keyword index matches the memories.", "Memories with a missing or wrong index entry", REBUILD),
    "tags": ("The tag index matches the memories.", "Memories whose tags are indexed wrongly", REBUILD),
    "statistics": ("The index statistics are correct.", "Namespaces with wrong index statistics", REBUILD),
    "counters": ("ID counters are correct.", "Namespaces that would give an ID to a second memory", REBUILD),
    "chain": ("The log of every namespace is unbroken.", "Log entries that do not fit", RESTORE_BACKUP),
    "payloads": ("Log contents match their checksums.", "Log entries that lost their content", RESTORE_BACKUP),
    "erased": ("No erased text is left.", "Erased memories that are still partly there", _ERASE_REST),
    "checkpoints": (
        "Every checkpoint is a position in the log.", "Checkpoints without a position in the log", _DELETE_CHECKPOINT,
    ),
    "vectors": ("Every vector is as it was stored.", "Vectors that are not as they were stored", REBUILD),
    "facts": ("Store metadata is valid.", "Invalid store metadata", REMOVE),
    "limits": ("All capacity limits are valid.", "Namespaces with an invalid capacity limit", REMOVE),
    "links": ("The link index matches the memories.", "Memories whose links are indexed wrongly", REBUILD),
    "parked": ("Parked answers belong to memories.", "Parked answers about missing memories", REMOVE),
    "tombstones": ("Deletion markers are valid.", "Invalid deletion markers, by namespace", REMOVE),
}  # fmt: skip


@value_class(frozen=False)
class Tally:
    """One check: how many problems it found, and the names of the first few."""

    check: str
    count: int = 0
    names: list[str] = field(default_factory=list[str])

    def add(self, *names: str) -> None:
        self.count += len(names)
        self.names.extend(names[: max(0, _SHOWN - len(self.names))])

    def finding(self, *, note: str = "", remedy: str | None = None) -> Finding:
        good, bad, usual_remedy = _SENTENCES[self.check]
        if not self.count:
            return Finding(self.check, "ok", good + note)
        return Finding(self.check, "problem", f"{bad}: {self.listed}.", remedy or usual_remedy)

    @property
    def listed(self) -> str:
        more = ", …" if self.count > _SHOWN else ""
        return f"{self.count} ({', '.join(self.names)}{more})"
