"""The text that a session starts with: the constitution, then learnings under the heading of their category, then a
line of diagnostics, all of it data between two marks. It depends on nothing but what it is given, so that the same
state has the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from perdure.bank.entries import CATEGORIES, HEADINGS, PREFIXES, TITLE, BankEntry
from perdure.clock import local_day
from perdure.recall.envelope import enclose, unused_mark
from perdure.text.entry import ADVICE, advice_first
from perdure.text.patterns import pattern
from perdure.text.preview import clip, one_line
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS
from perdure.tiers import believed_confidence, believed_observations

if TYPE_CHECKING:
    from perdure.model import Hit, Record

Item = TypeVar("Item")

CONSTITUTION: Final = "### Constitution"
_END: Final = "---"
# How many characters of a description are shown, and of the lines below it: the most that leave room for all entries.
_LENGTHS: Final = (4000, 1200, 800, 300, 150)
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
    r"^(?=\s*(?:#|---+\s*$|\*Memory:|- (?:Observation count|Confidence|From|Memory|Why):))", re.MULTILINE
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
    """At most `room` characters, as hosts count them. Where not all fit, the weakest are abridged first; then the best
    three of each category come before the others.
    """
    lines = [f"- {harmless(one_line(record.text))}" for record in constitution]
    top = [TITLE, "", *([CONSTITUTION, *lines, ""] if lines else [])]
    if not (lines or hits):
        return Filled("", (), ())
    text, inside = _fill(
        top,
        hits,
        balanced_order(hits, _category_of_hit),
        _category_of_hit,
        lambda hit, length: entry(hit, length, own_namespace),
        room,
    )
    left_out = tuple(hit for hit in hits if hit.record.id not in {one.record.id for one in inside})
    return Filled(text, tuple(inside), left_out)


def fill_plain_block(entries: Sequence[BankEntry], room: int) -> tuple[str, list[BankEntry]]:
    """The block of the Markdown pipeline, byte for byte where it finds room; else with the weakest entries abridged,
    and the weakest of these left out. Beside it the entries that are in it.
    """
    from perdure.bank.plain import prominence, render_block

    whole = render_block(entries)
    if units(whole) <= room:
        return whole, list(entries)
    strongest = sorted(entries, key=prominence, reverse=True)
    return _fill(
        [TITLE, ""], entries, balanced_order(strongest, _category_of_entry), _category_of_entry, plain_entry, room
    )


def _category_of_hit(hit: Hit) -> str | None:
    return hit.record.category


def _category_of_entry(bank_entry: BankEntry) -> str | None:
    return bank_entry.category


def _fill(
    top: Sequence[str],
    items: Sequence[Item],
    order: Sequence[Item],
    category: Callable[[Item], str | None],
    shown: Callable[[Item, int], list[str]],
    room: int,
) -> tuple[str, list[Item]]:
    """The text below `top`, and the items in it, each below the heading of its category. `order` has the strongest
    first.
    """
    categories = set(map(category, items))
    headings = [heading for name, heading in HEADINGS.items() if name in categories]
    lines = within_room(order, shown, room - _size([*top, *headings, _END]) + 1)
    inside = {id(item): lines[place] for place, item in enumerate(order) if place in lines}
    kept = [item for item in items if id(item) in inside]
    text = list(top)
    for name, heading in HEADINGS.items():
        some = [inside[id(item)] for item in kept if category(item) == name]
        text += [heading, *(line for entry_lines in some for line in entry_lines)] if some else []
    return "\n".join([*text, _END]), kept


def within_room(order: Sequence[Item], shown: Callable[[Item, int], list[str]], room: int) -> dict[int, list[str]]:
    """The lines of the items, strongest first, that find room, by their places: the weakest are abridged first, all of
    them before any is left out.
    """
    lines = {place: shown(item, _LENGTHS[0]) for place, item in enumerate(order)}
    sizes = {place: _size(some) for place, some in lines.items()}
    total = sum(sizes.values())
    for length in _LENGTHS[1:]:
        for place in reversed(range(len(order))):
            if total <= room:
                return lines
            lines[place] = shown(order[place], length)
            total += _size(lines[place]) - sizes[place]
            sizes[place] = _size(lines[place])
    for place in reversed(range(len(order))):
        if total > room:
            total -= sizes[place]
            del lines[place]
    return lines


def _size(lines: Sequence[str]) -> int:
    return len(lines) + sum(map(units, lines))


def balanced_order(hits: Sequence[Item], category: Callable[[Item], str | None]) -> list[Item]:
    """The best three of each category, then the others, each best first."""
    first = [hit for name in CATEGORIES for hit in [hit for hit in hits if category(hit) == name][:_GUARANTEED]]
    guaranteed = {id(hit) for hit in first}
    return [hit for hit in hits if id(hit) in guaranteed] + [hit for hit in hits if id(hit) not in guaranteed]


def entry(hit: Hit, length: int, own_namespace: str) -> list[str]:
    """A learning as it would stand in a knowledge bank, with the lines below it that there is room for, advice first,
    and why it was learned. What most of them are, medium and seen once, is left out; its number is told where the tools
    of a session know it.
    """
    record = hit.record
    name = clip(one_line(record.title or record.text), _TITLE)
    text = record.text if len(record.text) <= length else clip(record.text, length)
    observations, confidence = believed_observations(record), confidence_word(believed_confidence(record))
    below = _within([harmless(f"- {one_line(line)}") for line in advice_first(record)], length)
    if record.reasoning and _size(below) < length:
        below += _within([f"- Why: {harmless(one_line(record.reasoning))}"], length - _size(below))
    return [
        f"### {PREFIXES.get(record.category or '', '')}{harmless(name)}",
        # A rule of one sentence is its own title.
        *([] if text.strip(" .") == name.strip(" .") else [harmless(text.strip())]),
        *below,
        *([f"- Observation count: {observations}"] if observations > 1 else []),
        *([f"- Confidence: {confidence}"] if confidence != "medium" else []),
        f"- From: {origin_of(record)}",
        *([f"- Memory: #{record.number}"] if record.namespace == own_namespace else []),
        "",
    ]


def _within(lines: Sequence[str], length: int) -> list[str]:
    """The first of the lines, abridged if need be, and as many more as there is room for."""
    shown: list[str] = []
    for line in lines:
        left = length - _size(shown)
        if shown and left < len(line):
            break
        shown.append(clip(line, max(left, _LENGTHS[-1])))
    return shown


def plain_entry(bank_entry: BankEntry, length: int) -> list[str]:
    """An entry of a bank as it stands in its file, but for its length."""
    lines = [line for line in bank_entry.metadata if line.strip()]
    lines.sort(key=lambda line: not line.casefold().lstrip("- ").startswith(ADVICE))
    text = bank_entry.description
    text = text if len(text) <= length else clip(text, length)
    return [bank_entry.header, *([text] if text else []), *_within(lines, length), ""]


def origin_of(record: Record) -> str:
    """Which project it comes from, whether that is trusted less than others, and when it was last said."""
    project = harmless(clip(one_line(record.source_project), _NAME)) if record.source_project else ""
    trust = "low trust" if record.trust == "low" else ""
    return ", ".join(filter(None, (project, trust, local_day(record.updated_at))))


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
    """The line of a block that came from the store, as S1 has it; where nothing was asked, it says so."""
    if query is None:
        return f"*Memory: {told} entries from {total} | semantic: not asked | context: none*"
    return (
        f"*Memory: {told} entries from {total} | semantic: active (vector={by_meaning}, fts5={by_words}) | "
        f'context: "{one_line(query)[:_QUERY]}..." | model: {model or "none"}*'
    )


def plain_diagnostics(local: int, shared: int) -> str:
    """The line of a block that came from the Markdown files alone."""
    return f"*Memory: {local + shared} entries ({local} local, {shared} global) | semantic: disabled*"


def problem_line(problem: str) -> str:
    return note_line(f"{problem} The defaults are in use.")


def note_line(note: str) -> str:
    return f"*Memory: {harmless(one_line(note))}*"


def units(text: str) -> int:
    """The length of a text as hosts in JavaScript count it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
