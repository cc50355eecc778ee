"""What was found, packed into a budget of tokens. Pure functions of values.

Who gets in is decided best first. A memory that would take more than its share speaks in fewer words until everything
is in; then those that were cut short get the room that is left, best first.

How it is laid out is another matter: best first as well, but what was said in one sitting of one conversation stands
together, in the order in which it was said. `Yes, the blue one` means nothing before the question it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from perdure.model import Context, ContextItem, Form, Hit, Omitted, Recall, Record
from perdure.recall.envelope import PLAIN, Style, enclose, item, random_mark, unused_mark
from perdure.recall.excerpt import excerpt
from perdure.recall.near_duplicates import Shingles, is_near_duplicate
from perdure.text.preview import when
from perdure.text.tokens import TokenCounter
from perdure.text.words import query_words, terms

# A memory takes at most a quarter of the budget before all others had their turn, and a paragraph is no luxury.
_SHARES: Final = 4
_PARAGRAPH: Final = 64
# Fewer tokens say nothing; and a text with more characters for each token that is left does not have to be counted.
_FEW: Final = 8
_LONG: Final = 12


_Key: TypeAlias = tuple[str, int]


class _Wanted(NamedTuple):
    record: Record
    score: float | None


@dataclass(frozen=True, slots=True)
class Pack:
    """How to pack: about what, into how much room, counted and written how."""

    query: str
    budget: int
    counter: TokenCounter
    style: Style = PLAIN
    draw: Callable[[], str] = random_mark


def pack(found: Recall, how: Pack) -> Context:
    wanted = _wanted(found)
    room = _Room(how)
    repeated = _fill(room, wanted)
    packed = room.within(room.lengthened())
    taken = {_key(one.record) for one in packed}
    left_out = tuple(
        # A repetition of something that had to go after all found no room either.
        Omitted(one.record, "duplicate" if repeated.get(_key(one.record)) in taken else "budget")
        for one in wanted
        if _key(one.record) not in taken
    )
    text = room.sealed(packed)
    tokens = room.count(text) if text else 0
    return Context(
        text, tokens, how.budget, how.counter.name, tuple(packed), left_out, room.mark, found.mode, found.notes
    )


def _wanted(found: Recall) -> list[_Wanted]:
    """What is always surfaced, then the hits, each memory once."""
    each = [_Wanted(record, None) for record in found.constitutional]
    each += [_Wanted(hit.record, hit.score) for hit in newest_first(found.hits)]
    once = {_key(one.record): one for one in reversed(each)}
    return [one for one in each if once[_key(one.record)] is one]


def _fill(room: _Room, wanted: Sequence[_Wanted]) -> dict[_Key, _Key]:
    """Place what fits. The answer is what was not placed because it says the same as another, and which."""
    placed: list[tuple[_Key, Shingles]] = []
    repeated: dict[_Key, _Key] = {}
    for one in wanted:
        if room.is_full():
            break
        key, gist = _key(one.record), Shingles.of(one.record)
        same = next((other for other, known in placed if is_near_duplicate(gist, known)), None)
        if same is not None:
            repeated[key] = same
        elif room.place(one):
            placed.append((key, gist))
    return repeated


def _key(record: Record) -> _Key:
    return record.namespace, record.number


def newest_first(hits: Sequence[Hit]) -> Iterator[Hit]:
    """In their order; of those next to each other that score the same, the newest truth first."""
    for _, equals in groupby(hits, key=lambda hit: hit.score):
        yield from sorted(equals, key=lambda hit: when(hit.record), reverse=True)


def arranged(packed: Sequence[ContextItem]) -> list[ContextItem]:
    """What is always surfaced, then the sittings as their best memory ranks, each in its own order."""
    sittings: dict[object, list[ContextItem]] = {}
    for place, one in enumerate(packed):
        sittings.setdefault(_sitting(one) or (place,), []).append(one)
    return [one for sitting in sittings.values() for one in sorted(sitting, key=_said_at)]


def _sitting(packed: ContextItem) -> object:
    record = packed.record
    if packed.score is None or record.conversation_id is None:
        return None
    return record.namespace, record.conversation_id, record.session_id


def _said_at(packed: ContextItem) -> tuple[datetime, int]:
    return when(packed.record), packed.record.number


@dataclass(slots=True)
class _Room:
    """What is left of the budget. It is kept as a sum of parts, which is quick and mostly too careful; when by that
    sum there is no room, it is counted exactly.
    """

    how: Pack
    left: int = 0
    exact: bool = True
    # By this counter a whole costs what its parts do, as far as was seen: to count it again would gain nothing.
    additive: bool = False
    placed: list[ContextItem] = field(default_factory=list[ContextItem])
    about: frozenset[str] = frozenset()
    known: dict[str, int] = field(default_factory=dict[str, int])
    # A mark as long as the real one: that is drawn at the end, when it is known what it must not be.
    mark: str = ""

    def __post_init__(self) -> None:
        self.mark = self.how.draw()
        self.about = frozenset(terms(" ".join(query_words(self.how.query))))
        self.left = self.how.budget - self.count(enclose((), self.mark))

    def is_full(self) -> bool:
        return self.left < _FEW and (self.additive or not self._recount() or self.left < _FEW)

    def place(self, one: _Wanted) -> bool:
        """In full if that is not more than its share, else in fewer words, else not at all. What is always surfaced
        has a budget of its own, and no share.
        """
        share = self.how.budget if one.score is None else max(_PARAGRAPH, self.how.budget // _SHARES)
        placed = self._fitting(one, min(self.left, share))
        if (placed is None or placed.form != "full") and not self.additive and self._recount():
            placed = self._fitting(one, min(self.left, share))
        if placed is not None:
            self.placed.append(placed)
            self.left -= self._cost(placed)
            self.exact = False
        return placed is not None

    def lengthened(self) -> list[ContextItem]:
        """Those that were cut short, best first, with as much more of what they say as there is room for."""
        self._recount()
        for one in [packed for packed in self.placed if packed.form != "full"]:
            longer = self._longer(one, self.left + self._cost(one))
            if longer is not None:
                self._put(longer, instead_of=one)
        return self.placed

    def within(self, packed: list[ContextItem]) -> list[ContextItem]:
        """Laid out. Whatever the sum said: a text over the budget is never given away."""
        fewer = 1
        while packed and self.count(self.sealed(arranged(packed))) > self.how.budget:
            packed = packed[:-fewer]
            fewer *= 2
        return arranged(packed)

    def sealed(self, packed: Sequence[ContextItem]) -> str:
        if not packed:
            return ""
        items = [item(one, self.how.style) for one in packed]
        if any(self.mark in one for one in items):
            self.mark = unused_mark(items, self.how.draw)
        return enclose(items, self.mark)

    def count(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = self.how.counter.count(text)
        return self.known[text]

    def _fitting(self, one: _Wanted, room: int) -> ContextItem | None:
        for said, form in _forms(one.record):
            packed = ContextItem(one.record, _titled(one.record, said), form, one.score)
            if len(said) <= room * _LONG and self._cost(packed) <= room:
                return packed
        return self._excerpt(one, room)

    def _longer(self, one: ContextItem, room: int) -> ContextItem | None:
        full = ContextItem(one.record, _titled(one.record, one.record.text), "full", one.score)
        if len(full.text) <= room * _LONG and self._cost(full) <= room:
            return full
        again = self._excerpt(_Wanted(one.record, one.score), room, sparing=True) if one.form == "excerpt" else None
        return again if again and len(again.text) > len(one.text) else None

    def _excerpt(self, one: _Wanted, room: int, *, sparing: bool = False) -> ContextItem | None:
        def packed(said: str) -> ContextItem:
            return ContextItem(one.record, _titled(one.record, said), "excerpt", one.score)

        if room < _FEW or self._cost(packed("")) > room - _FEW:
            return None
        said = excerpt(one.record.text, self.about, room, lambda said: self._cost(packed(said)), sparing=sparing)
        return packed(said) if said else None

    def _put(self, packed: ContextItem, *, instead_of: ContextItem) -> None:
        before = self.placed, self.left
        self.placed = [packed if each is instead_of else each for each in self.placed]
        self.exact = False
        self._recount()
        if self.left < 0:
            self.placed, self.left = before

    def _recount(self) -> bool:
        """Whether there is more room than the sum said."""
        before = self.left
        if not self.exact:
            self.left = self.how.budget - self.count(self.sealed(arranged(self.placed)))
            self.exact = True
            self.additive = self.left <= before
        return self.left > before

    def _cost(self, packed: ContextItem) -> int:
        return self.count(item(packed, self.how.style) + "\n")


def _forms(record: Record) -> Iterator[tuple[str, Form]]:
    """The ways to say it, the longest first."""
    yield record.text, "full"
    shorter: list[tuple[str | None, Form]] = [(record.summary, "summary"), (record.abstract, "abstract")]
    for said, form in shorter:
        if said and len(said) < len(record.text):
            yield said, form


def _titled(record: Record, said: str) -> str:
    return f"{record.title}\n{said}" if record.title else said
