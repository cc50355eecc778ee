"""What tests of undo and of checkpoints compare: everything a namespace holds, as far as history goes."""

from __future__ import annotations

from typing import TypeAlias

from perdure import Memory, Record
from perdure.model import STATES, replace_record

States: TypeAlias = dict[int, Record]


def historic(record: Record) -> Record:
    """Without its position in the log and the counts of its use, which are not history."""
    return replace_record(record, seq=0, recall_count=0, recalled_at=None, access_count=0, accessed_at=None)


def states(memory: Memory) -> States:
    """Every memory in whatever state, by number."""
    return {record.number: historic(record) for record in memory.list(states=STATES, limit=10**9, newest=False)}


def alive(memory: Memory) -> States:
    return {number: record for number, record in states(memory).items() if record.state == "active"}


def removed(record: Record) -> Record:
    return replace_record(record, state="deleted")


def last_batch(memory: Memory) -> str:
    return memory.log(limit=1)[0].change.batch


def problems(memory: Memory) -> list[str]:
    return [finding.sentence for finding in memory.doctor() if finding.level == "problem"]
