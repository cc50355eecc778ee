"""Whether a fact was learned from a message. The two say the same, so they take one place of an answer.

A fact names the moments at which it was said and not the messages. A message of such a moment that shares words with
the fact is one of them, and so is any other of the conversation that holds nearly all of its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.clock import format_time
from perdure.ids import LEARNED
from perdure.model import Hit, Record, Signal
from perdure.recall.near_duplicates import NEGATIONS
from perdure.recall.ranking import Explanation
from perdure.text.preview import when
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import searchable, terms
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.recall.keyword_search import Key

MAX_CHARACTERS_COMPARED: Final = 4096
MAX_TEXTS_KNOWN: Final = 1024
_known: Final[dict[tuple[int, int], _Words]] = {}
# The share of a fact's words that a message of the conversation holds, if it says the fact; one of the episode of which
# the fact was made; and one of the moment at which the fact was said, because a fact calls people by their names and a
# message says `I`.
_SAYS: Final = 0.75
_SAYS_IN_EPISODE: Final = 0.5
_SAYS_AT_THAT_MOMENT: Final = 0.34
_ADDED_DATES: Final = re.compile(r" \([0-9]{4}[^)]*\)")


class _Words(NamedTuple):
    """The telling words of a text as hashes, because what is kept of a text must not tell it; and whether it denies."""

    telling: frozenset[int]
    denies: bool

    @classmethod
    def of(cls, text: str) -> _Words:
        key = (hash(text), len(text))
        if (known := _known.get(key)) is None:
            words = frozenset(terms(searchable(_ADDED_DATES.sub("", text))))
            known = cls(frozenset(map(hash, words - STOPWORDS)), not words.isdisjoint(NEGATIONS))
            if len(_known) >= MAX_TEXTS_KNOWN:
                _known.clear()
            _known[key] = known
        return known


@dataclass(frozen=True, slots=True)
class ToldWords:
    """What a learned fact says, or a message, without the dates that were added to it. `moments` are those at which a
    fact was said, or the one of a message; `position` is where a message stands in its conversation. `value` are the
    words that tell a fact apart from others of its kind: `Tokyo` of `lives in Tokyo`.
    """

    conversation: str | None
    words: frozenset[int]
    denies: bool
    moments: frozenset[str]
    position: str
    value: frozenset[int] = frozenset()

    @classmethod
    def of(cls, record: Record) -> ToldWords:
        speaker, said_at = record.metadata.get("speaker"), record.metadata.get("said_at")
        text = record.text[:MAX_CHARACTERS_COMPARED]
        words, denies = _Words.of(f"{speaker} {text}" if isinstance(speaker, str) else text)
        moments = {each for each in said_at if isinstance(each, str)} if isinstance(said_at, list) else set[str]()
        position = (record.key or "").rpartition("/")[2].lstrip("0")
        value = record.metadata.get("value")
        telling = _Words.of(value).telling if isinstance(value, str) and record.source == LEARNED else frozenset[int]()
        said = frozenset(moments or {format_time(when(record))})
        return cls(record.conversation_id, words, denies, said, position, telling)

    def says(self, fact: ToldWords, *, of_its_episode: bool = False) -> bool:
        """Whether this message tells the fact. What was told in the first person has other forms of verbs, and a
        message without any `not` does not say that something is not so.
        """
        if self.conversation is None or (fact.denies and not self.denies):
            return False
        [moment] = self.moments
        share = len(fact.words & self.words) / max(len(fact.words), 1)
        # Messages that have no time of their own are told apart by where they stand.
        if moment in fact.moments or f"{moment} {self.position}" in fact.moments:
            return share >= _SAYS_AT_THAT_MOMENT
        if not fact.value <= self.words:
            return False
        if of_its_episode:
            return share >= _SAYS_IN_EPISODE
        return self.conversation == fact.conversation and share >= _SAYS

    def tells_more(self, fact: ToldWords, asked: frozenset[int]) -> bool:
        """Whether this message holds more words of a question beside the fact than in it: of `I'm 34, and have two
        pets` the age is a fact of its own, and a question about pets is none about the age.
        """
        held = self.words & asked
        return 2 * len(held - fact.words) > len(held)


def without_repeats(hits: Mapping[Key, Hit], limit: int) -> dict[Key, Hit]:
    """The first hits, best first: of a fact and the messages from which it was learned, the one that stands first,
    whose explanation names the next, and which what is outdated names as its successor.
    """
    if len({hit.record.source == LEARNED for hit in hits.values()}) == 1:
        return dict(islice(hits.items(), limit))
    kept: dict[Key, tuple[Hit, ToldWords]] = {}
    others: dict[Key, Hit] = {}
    shown: dict[Key, int] = {}
    for key, hit in hits.items():
        is_fact, own = hit.record.source == LEARNED, ToldWords.of(hit.record)
        for first, (other, told) in kept.items():
            is_one = is_fact != (other.record.source == LEARNED) and not hit.outdated and not other.outdated
            if is_one and (told.says(own) if is_fact else own.says(told)):
                others.setdefault(first, hit)
                shown[key] = other.record.number
                break
        else:
            if len(kept) < limit:
                kept[key] = (hit, own)
    best = {key: with_other(hit, others[key]) if key in others else hit for key, (hit, _) in kept.items()}
    for (namespace, number), hit in best.items():
        outdated = hit.outdated
        if outdated and outdated.successor and (instead := shown.get((namespace, outdated.successor))):
            best[namespace, number] = replace(hit, outdated=replace(outdated, successor=instead))
    return best


def with_other(hit: Hit, other: Hit) -> Hit:
    """A hit whose explanation names what shares its place."""

    def make() -> dict[str, Signal]:
        kind = "The fact" if other.record.source == LEARNED else "The message"
        about = f"{kind} #{other.record.number} says it, too, with a relevance of {other.relevance:.2f}."
        return {**hit.explain, "same_place": Signal(other.relevance, None, 0.0, 0.0, 0.0, about)}

    return replace(hit, explain=Explanation(make))
