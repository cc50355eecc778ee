"""The hits of a recall, packed into a budget of tokens. Pure functions of values.

Which memories get in is decided best first. A memory that would take more than its share is shortened until everything
is in; then those that were shortened get the room that is left, best first.

The layout is another matter: best first as well, but what was said in one session of one conversation stands together,
in the order in which it was said. `Yes, the blue one` means nothing before the question it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from perdure.model import Context, ContextItem, Form, Omitted, Recall, Record
from perdure.recall.envelope import PLAIN, Style, enclose, item, random_mark, unused_mark
from perdure.recall.excerpt import excerpt
from perdure.recall.near_duplicates import Shingles, is_near_duplicate
from perdure.text.preview import when
from perdure.text.tokens import TokenCounter
from perdure.text.words import query_words, spelled_out, terms

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
    packer = _Packer(how)
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
    items = packer.within_budget()
    kept = {(one.record.namespace, one.record.number) for one in items}
    omitted = tuple(
        # A repetition of something that had to go after all found no room either.
        Omitted(record, "duplicate" if duplicates.get(key) in kept else "budget")
        for key, (record, _) in found.items()
        if key not in kept
    )
    text = packer.sealed(items)
    tokens = packer.count(text) if text else 0
    return Context(
        text,
        tokens,
        how.budget,
        how.counter.name,
        tuple(items),
        omitted,
        packer.mark,
        answer.mode,
        answer.notes,
        answer.nearest,
    )


def arrange(items: Sequence[ContextItem]) -> list[ContextItem]:
    """Constitutional memories, then the sessions as their best memory ranks, each in the order in which it was said."""
    sessions: dict[object, list[ContextItem]] = {}
    for position, one in enumerate(items):
        record = one.record
        alone = one.relevance is None or record.conversation_id is None
        key = position if alone else (record.namespace, record.conversation_id, record.session_id)
        sessions.setdefault(key, []).append(one)
    return [
        one
        for session in sessions.values()
        for one in sorted(session, key=lambda one: (when(one.record), one.record.number))
    ]


class _Packer:
    """The items so far, and the tokens that are left. They are kept as a sum of parts, which is quick and mostly too
    careful; when by that sum there is no room, the whole text is counted.
    """

    def __init__(self, how: Pack) -> None:
        self._how = how
        self._items: list[ContextItem] = []
        self._terms = frozenset(terms(" ".join(spelled_out(query_words(how.query)))))
        self._lines: dict[tuple[str, int, Form, str], str] = {}
        self._counted: dict[str, int] = {}
        # A mark as long as the real one: that is drawn at the end, when it is known what it must not be.
        self.mark = how.draw()
        self._left = how.budget - self.count(enclose((), self.mark))
        self._exact = True
        # By this counter a whole costs what its parts do, as far as was seen: to count it again would gain nothing.
        self._additive = False

    def is_full(self) -> bool:
        return self._left < _FEW and (self._additive or not self._recount() or self._left < _FEW)

    def add(self, record: Record, relevance: float | None) -> bool:
        """Add a memory in full if that is not more than its share, else shortened, else not at all. Constitutional
        memories have a budget of their own, and no share.
        """
        share = self._how.budget if relevance is None else max(_PARAGRAPH, self._how.budget // _SHARES)
        added = self._fitting(record, relevance, min(self._left, share))
        if (added is None or added.form != "full") and not self._additive and self._recount():
            added = self._fitting(record, relevance, min(self._left, share))
        if added is not None:
            self._items.append(added)
            self._left -= self._cost(added)
            self._exact = False
        return added is not None

    def lengthen(self) -> None:
        """Give those that were shortened, best first, as much more of their text as there is room for."""
        self._recount()
        for short in [one for one in self._items if one.form != "full"]:
            room = self._left + self._cost(short)
            longer = self._item(short.record, short.relevance, "full", short.record.text)
            if len(longer.text) > room * _LONG or self._cost(longer) > room:
                longer = None
                if short.form == "excerpt":
                    longer = self._excerpt(short.record, short.relevance, room, sparing=True)
            if longer is None or (longer.form == "excerpt" and len(longer.text) <= len(short.text)):
                continue
            before = self._items, self._left
            self._items = [longer if one is short else one for one in self._items]
            self._exact = False
            self._recount()
            if self._left < 0:
                self._items, self._left = before

    def within_budget(self) -> list[ContextItem]:
        """The items laid out. Whatever the sum said: a text over the budget is never given away."""
        items, fewer = self._items, 1
        while items and self.count(self.sealed(arrange(items))) > self._how.budget:
            items = items[:-fewer]
            fewer *= 2
        return arrange(items)

    def sealed(self, items: Sequence[ContextItem]) -> str:
        if not items:
            return ""
        lines = [self._line(one) for one in items]
        if any(self.mark in line for line in lines):
            self.mark = unused_mark(lines, self._how.draw)
        return enclose(lines, self.mark)

    def count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._how.counter.count(text)
        return self._counted[text]

    def _fitting(self, record: Record, relevance: float | None, room: int) -> ContextItem | None:
        """The memory in the longest form that fits."""
        forms: tuple[tuple[Form, str | None], ...] = (
            ("full", record.text),
            ("summary", record.summary),
            ("abstract", record.abstract),
        )
        for form, text in forms:
            if text and len(text) <= room * _LONG and (form == "full" or len(text) < len(record.text)):
                packed = self._item(record, relevance, form, text)
                if self._cost(packed) <= room:
                    return packed
        return self._excerpt(record, relevance, room)

    def _excerpt(
        self, record: Record, relevance: float | None, room: int, *, sparing: bool = False
    ) -> ContextItem | None:
        def cost(text: str) -> int:
            return self._cost(self._item(record, relevance, "excerpt", text))

        if room < _FEW or cost("") > room - _FEW:
            return None
        text = excerpt(record.text, self._terms, room, cost, sparing=sparing)
        return self._item(record, relevance, "excerpt", text) if text else None

    def _item(self, record: Record, relevance: float | None, form: Form, text: str) -> ContextItem:
        return ContextItem(record, f"{record.title}\n{text}" if record.title else text, form, relevance)

    def _recount(self) -> bool:
        """Whether there is more room than the sum said."""
        before = self._left
        if not self._exact:
            self._left = self._how.budget - self.count(self.sealed(arrange(self._items)))
            self._exact = True
            self._additive = self._left <= before
        return self._left > before

    def _cost(self, packed: ContextItem) -> int:
        return self.count(self._line(packed) + "\n")

    def _line(self, packed: ContextItem) -> str:
        """The memory as it stands in the text. It is counted and laid out several times, and written once."""
        key = (packed.record.namespace, packed.record.number, packed.form, packed.text)
        if key not in self._lines:
            self._lines[key] = item(packed, self._how.style)
        return self._lines[key]
