"""The hits of a recall, packed into a budget of tokens. Pure functions of values.

Which memories get in is decided best first. A memory that would take more than its share is shortened until everything
is in; then those that were shortened get the room that is left, best first.

The layout is another matter: best first as well, but what was said in one session of one conversation stands together,
in the order in which it was said. `Yes, the blue one` means nothing before the question it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

from perdure.model import Context, ContextItem, Form, Hit, Omitted, Recall, Record
from perdure.recall.envelope import PLAIN, Style, enclose, item, random_mark, unused_mark, whole_text
from perdure.recall.excerpt import excerpt, terms_of
from perdure.recall.near_duplicates import Shingles, is_near_duplicate
from perdure.text.preview import when
from perdure.text.tokens import TokenCounter

# A memory takes at most a quarter of the budget before all others had their turn, and a paragraph is no luxury.
_SHARES: Final = 4
_PARAGRAPH: Final = 64
# Fewer tokens say nothing; and a text with more characters for each token that is left does not have to be counted.
_FEW: Final = 8
_LONG: Final = 12


@dataclass(frozen=True, slots=True)
class Pack:
    """How to pack: about what, into how much room, counted and written how."""

    query: str
    budget: int
    counter: TokenCounter
    style: Style = PLAIN
    draw: Callable[[], str] = random_mark


def pack(answer: Recall, how: Pack) -> Context:
    """The constitutional memories, then the hits, each memory once. Of hits with the same score, the newest first."""
    found: dict[tuple[str, int], tuple[Record, float | None]] = {}
    for record in answer.constitutional:
        found.setdefault((record.namespace, record.number), (record, None))
    for _, equals in groupby(answer.hits, key=lambda hit: hit.score):
        for hit in sorted(equals, key=lambda hit: when(hit.record), reverse=True):
            found.setdefault((hit.record.namespace, hit.record.number), (hit.record, hit.relevance))
    packer = _Packer(how, {(hit.record.namespace, hit.record.number): hit for hit in answer.hits})
    packed: list[tuple[tuple[str, int], Shingles]] = []
    duplicates: dict[tuple[str, int], tuple[str, int]] = {}
    for key, (record, relevance) in found.items():
        if packer.is_full():
            break
        shingles = Shingles.of(record)
        same = next((other for other, others in packed if is_near_duplicate(shingles, others)), None)
        if same is not None:
            duplicates[key] = same
        elif packer.add(record, relevance):
            packed.append((key, shingles))
    packer.lengthen()
    items, text = packer.within_budget()
    kept = {(one.record.namespace, one.record.number) for one in items}
    omitted = tuple(
        # A repetition of something that had to go after all found no room either.
        Omitted(record, "duplicate" if duplicates.get(key) in kept else "budget")
        for key, (record, _) in found.items()
        if key not in kept
    )
    return Context(
        text,
        packer.count(text) if text else 0,
        how.budget,
        how.counter.name,
        tuple(items),
        omitted,
        packer.mark,
        answer.mode,
        answer.notes,
        answer.nearest,
    )


class _Entry(NamedTuple):
    """A memory in one of its forms, the line that it is in the text, and how many tokens that takes."""

    item: ContextItem
    line: str
    cost: int


def arrange(entries: Sequence[_Entry]) -> list[_Entry]:
    """Constitutional memories, then the sessions as their best memory ranks, each in the order in which it was said."""
    sessions: dict[object, list[_Entry]] = {}
    for position, entry in enumerate(entries):
        record = entry.item.record
        alone = entry.item.relevance is None or record.conversation_id is None
        key = position if alone else (record.namespace, record.conversation_id, record.session_id)
        sessions.setdefault(key, []).append(entry)
    if len(sessions) == len(entries):
        return list(entries)
    return [
        entry
        for session in sessions.values()
        for entry in sorted(session, key=lambda each: (when(each.item.record), each.item.record.number))
    ]


class _Packer:
    """The entries so far, and the tokens that are left. They are kept as a sum of parts, which is quick and mostly too
    careful; when by that sum there is no room, the whole text is counted.
    """

    def __init__(self, how: Pack, hits: Mapping[tuple[str, int], Hit]) -> None:
        self._how = how
        self._hits = hits
        self._entries: list[_Entry] = []
        self._counted: dict[str, int] = {}
        # A mark as long as the real one: that is drawn at the end, when it is known what it must not be.
        self.mark = how.draw()
        self._left = how.budget - self.count(enclose((), self.mark))
        self._exact = True
        # By this counter a whole costs what its parts do, as far as was seen: to count it again would gain nothing.
        self._additive = False

    @cached_property
    def _terms(self) -> frozenset[str]:
        return terms_of(self._how.query)

    def is_full(self) -> bool:
        return self._left < _FEW and (self._additive or not self._recount() or self._left < _FEW)

    def add(self, record: Record, relevance: float | None) -> bool:
        """Add a memory in full if that is not more than its share, else shortened, else not at all. Constitutional
        memories have a budget of their own, and no share.
        """
        share = self._how.budget if relevance is None else max(_PARAGRAPH, self._how.budget // _SHARES)
        added = self._fitting(record, relevance, min(self._left, share))
        if (added is None or added.item.form != "full") and not self._additive and self._recount():
            added = self._fitting(record, relevance, min(self._left, share))
        if added is not None:
            self._entries.append(added)
            self._left -= added.cost
            self._exact = False
        return added is not None

    def lengthen(self) -> None:
        """Give those that were shortened, best first, as much more of their text as there is room for."""
        shortened = [entry for entry in self._entries if entry.item.form != "full"]
        if not shortened:
            return
        self._recount()
        for short in shortened:
            record, relevance, form = short.item.record, short.item.relevance, short.item.form
            room = self._left + short.cost
            longer = self._entry(record, relevance, "full", record.text) if len(record.text) <= room * _LONG else None
            if longer is None or len(longer.item.text) > room * _LONG or longer.cost > room:
                longer = self._excerpt(record, relevance, room, sparing=True) if form == "excerpt" else None
            if longer is None or (longer.item.form == "excerpt" and len(longer.item.text) <= len(short.item.text)):
                continue
            before = self._entries, self._left
            self._entries = [longer if entry is short else entry for entry in self._entries]
            self._exact = False
            self._recount()
            if self._left < 0:
                self._entries, self._left = before

    def within_budget(self) -> tuple[list[ContextItem], str]:
        """The items laid out, and their text. Whatever the sum said: one over the budget is never given away."""
        entries, fewer = self._entries, 1
        while entries:
            arranged = arrange(entries)
            text = self._sealed(arranged)
            if self.count(text) <= self._how.budget:
                return [entry.item for entry in arranged], text
            entries = entries[:-fewer]
            fewer *= 2
        return [], ""

    def _sealed(self, entries: Sequence[_Entry]) -> str:
        if not entries:
            return ""
        lines = [entry.line for entry in entries]
        if any(self.mark in line for line in lines):
            self.mark = unused_mark(lines, self._how.draw)
        return enclose(lines, self.mark)

    def count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._how.counter.count(text)
        return self._counted[text]

    def _fitting(self, record: Record, relevance: float | None, room: int) -> _Entry | None:
        """The memory in the longest form that fits."""
        forms: tuple[tuple[Form, str | None], ...] = (
            ("full", record.text),
            ("summary", record.summary),
            ("abstract", record.abstract),
        )
        for form, text in forms:
            if text and len(text) <= room * _LONG and (form == "full" or len(text) < len(record.text)):
                entry = self._entry(record, relevance, form, text)
                if entry.cost <= room:
                    return entry
        return self._excerpt(record, relevance, room)

    def _excerpt(self, record: Record, relevance: float | None, room: int, *, sparing: bool = False) -> _Entry | None:
        def cost(text: str) -> int:
            return self._entry(record, relevance, "excerpt", text).cost

        if room < _FEW or cost("") > room - _FEW:
            return None
        hit = self._hits.get((record.namespace, record.number))
        text = excerpt(record.text, self._terms, room, cost, sparing=sparing, passage=hit and hit.passage)
        return self._entry(record, relevance, "excerpt", text) if text else None

    def _entry(self, record: Record, relevance: float | None, form: Form, text: str) -> _Entry:
        hit = self._hits.get((record.namespace, record.number))
        marks = (hit.outdated, hit.contradicts) if hit else (None, ())
        packed = ContextItem(record, whole_text(record, text, form), form, relevance, *marks)
        line = item(packed, self._how.style)
        return _Entry(packed, line, self.count(line + "\n"))

    def _recount(self) -> bool:
        """Whether there is more room than the sum said."""
        before = self._left
        if not self._exact:
            self._left = self._how.budget - self.count(self._sealed(arrange(self._entries)))
            self._exact = True
            self._additive = self._left <= before
        return self._left > before
