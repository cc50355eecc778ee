"""The text that a session starts with: the constitution, then learnings under the heading of their category, then a
line of diagnostics, all of it data between two marks. It depends on nothing but what it is given, so that the same
state has the same text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.bank.entries import CATEGORIES, PREFIXES
from perdure.bank.plain import HEADINGS, TITLE
from perdure.recall.envelope import enclose, unused_mark
from perdure.text.patterns import pattern
from perdure.text.preview import clip, one_line
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS
from perdure.tiers import believed_confidence, believed_observations

if TYPE_CHECKING:
    from perdure.model import Hit, Record

CONSTITUTION: Final = "### Constitution"
_END: Final = "---"
# How many characters of a description are shown: the most that leave room for all entries.
_LENGTHS: Final = (4000, 1200, 600, 300, 150)
_GUARANTEED: Final = 3
_TITLE: Final = 120
_QUERY: Final = 60
_NAME: Final = 40
_MARK: Final = 16
ENVELOPE: Final = len(enclose([""], "0" * _MARK))
_HIGH: Final = 5 / 6
_MEDIUM: Final = 0.5
# A line of a memory that would look like one of the block, or of the host.
_LOOKS_LIKE_OURS: Final = pattern(
    r"^(?=\s*(?:#|---+\s*$|\*Memory:|- (?:Observation count|Confidence|From|Memory):))", re.MULTILINE
)
_TAG: Final = pattern(
    r"<(?=/?(?:system|task|hook|user|human|assistant|command|local-command|memories)\b)", re.IGNORECASE
)


class Filled(NamedTuple):
    """The block without its diagnostics, the learnings in it, and those that found no room, both best first."""

    text: str
    entries: tuple[Hit, ...]
    left_out: tuple[Hit, ...]


def fill_block(constitution: Sequence[Record], hits: Sequence[Hit], room: int, own_namespace: str) -> Filled:
    """At most `room` characters, as hosts count them. Where not all fit, long descriptions are abridged first; then
    the best three of each category come before the others.
    """
    lines = [f"- {harmless(one_line(record.text))}" for record in constitution]
    top = [TITLE, "", *([CONSTITUTION, *lines, ""] if lines else [])]
    if not lines and not hits:
        return Filled("", (), ())
    for length in _LENGTHS:
        text = _join(top, {id(hit): entry(hit, length, own_namespace) for hit in hits}, hits)
        if units(text) <= room:
            return Filled(text, tuple(hits), ())
    shortest = {id(hit): entry(hit, _LENGTHS[-1], own_namespace) for hit in hits}
    kept: list[Hit] = []
    for hit in balanced_order(hits):
        if units(_join(top, shortest, [*kept, hit])) <= room:
            kept.append(hit)
    inside = {id(hit) for hit in kept}
    entries = tuple(hit for hit in hits if id(hit) in inside)
    return Filled(_join(top, shortest, entries), entries, tuple(hit for hit in hits if id(hit) not in inside))


def balanced_order(hits: Sequence[Hit]) -> list[Hit]:
    """The best three of each category, then the others, each best first."""
    first = [hit for name in CATEGORIES for hit in [hit for hit in hits if hit.record.category == name][:_GUARANTEED]]
    guaranteed = {id(hit) for hit in first}
    return [hit for hit in hits if id(hit) in guaranteed] + [hit for hit in hits if id(hit) not in guaranteed]


def _join(top: Sequence[str], entries: Mapping[int, Sequence[str]], hits: Sequence[Hit]) -> str:
    lines = list(top)
    for category, heading in HEADINGS.items():
        some = [hit for hit in hits if hit.record.category == category]
        lines += [heading] if some else []
        for hit in some:
            lines += entries[id(hit)]
    return "\n".join([*lines, _END])


def entry(hit: Hit, length: int, own_namespace: str) -> list[str]:
    """A learning as it would stand in a knowledge bank. Its number is told where the tools of a session know it."""
    record = hit.record
    name = clip(one_line(record.title or record.text), _TITLE)
    text = record.text if len(record.text) <= length else clip(record.text, length)
    number = [f"- Memory: #{record.number}"] if record.namespace == own_namespace else []
    return [
        f"### {PREFIXES.get(record.category or '', '')}{harmless(name)}",
        harmless(text.strip()),
        f"- Observation count: {believed_observations(record)}",
        f"- Confidence: {confidence_word(believed_confidence(record))}",
        *([f"- From: {origin}"] if (origin := origin_of(record)) else []),
        *number,
        "",
    ]


def origin_of(record: Record) -> str:
    """Which project it comes from, and whether that is trusted less than others."""
    project = harmless(clip(one_line(record.source_project), _NAME)) if record.source_project else ""
    return ", ".join(filter(None, (project, "low trust" if record.trust == "low" else "")))


def enclosed(lines: Sequence[str]) -> str:
    """The lines between two marks that nothing in them holds. The same lines have the same marks."""
    text = "\n".join(lines)
    marks = (sha256(f"{number}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:_MARK] for number in count())
    return enclose([text], unused_mark([text], marks.__next__))


def harmless(text: str) -> str:
    """Nothing that a memory says may look like a heading, the end of the block, or a mark of the host."""
    seen = UNSAFE_CHARACTERS.sub(" ", text)
    return _LOOKS_LIKE_OURS.sub(r"\\", _TAG.sub("‹", seen))  # noqa: RUF001 - as it is written


def confidence_word(confidence: float) -> str:
    """The nearest of 1/3, 2/3 and 1; what nobody judged yet is medium."""
    return "high" if confidence > _HIGH else "medium" if confidence >= _MEDIUM else "low"


def diagnostics(told: int, total: int, by_meaning: int, by_words: int, query: str | None, model: str | None) -> str:
    """The line of a block that came from the store, as S1 has it."""
    context = one_line(str(query))[:_QUERY]
    return (
        f"*Memory: {told} entries from {total} | semantic: active (vector={by_meaning}, fts5={by_words}) | "
        f'context: "{context}..." | model: {model or "none"}*'
    )


def plain_diagnostics(local: int, shared: int) -> str:
    """The line of a block that came from the Markdown files alone."""
    return f"*Memory: {local + shared} entries ({local} local, {shared} global) | semantic: disabled*"


def problem_line(problem: str) -> str:
    return f"*Memory: {harmless(one_line(problem))} The defaults are in use.*"


def units(text: str) -> int:
    """The length of a text as hosts in JavaScript count it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
