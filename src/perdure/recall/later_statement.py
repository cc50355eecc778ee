"""Of what a user told an assistant at two times, the later statement stands first where both answer nearly as well, and
above all where its words say that something changed. This needs no facts, and knows such words of several languages.

People among themselves say much about one thing without taking anything back, and long texts say many things: there the
later one is no better, and nothing is moved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from math import inf, nextafter
from typing import TYPE_CHECKING, Final

from perdure.model import SPEAKER, TRUSTS, Hit, Record, Signal
from perdure.recall.relevance import log_odds
from perdure.text.patterns import pattern
from perdure.text.persons import is_user_role
from perdure.text.preview import when
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.recall.keyword_search import Key

# How much less evidence the later one may have, in log-odds, without and with a word of change. Of a few pairs of
# limits the best on four sets of our chats together (bench/learn.md); people's talks are not touched by them.
NEARLY: Final = 0.2
NEARLY_CHANGED: Final = 0.7
# Two statements within this time are both meant.
_MIN_TIME_APART: Final = timedelta(hours=1)
# A longer text says several things.
_MAX_STATEMENT_CHARACTERS: Final = 320
# How many of the first hits are looked at, the first one included.
_MAX_HITS_COMPARED: Final = 6
_MAX_RELEVANCE: Final = 0.9999
_ABOUT: Final = "It was said after #{} and answers nearly as well."
_CHANGED: Final = pattern(
    r"\b(?:any ?more|as of|back to|chang(?:ed|es)|(?:up|down) to|finally|from now on|gave up|instead|left|moved|new"
    r"|no (?:longer|more)|now(?:adays)?|quit|replaced|since|stopped|swapped|switched|these days|used to"
    r"|went (?:up|down|back)|ab sofort|aufgehört|gewechselt|inzwischen|jetzt|kein\w* mehr|mittlerweile|neue?\w?"
    r"|nicht mehr|nun|seit|statt\w*|umgezogen|ahora|cambi\w+|dej[éoó]\w*|desde|en vez|nuev\w+|ya no|arrêté|à la place"
    r"|changé|désormais|depuis|maintenant|n(?:e |\W).{1,12}plus|nouve\w+|agora|em vez|já não|mud(?:ei|ou|amos)"
    r"|nov[ao]s?|adesso|al posto|cambiat[oa]|non .{1,12}più|ora|in plaats|niet meer|nu)\b"
    r"|今|もう|やめ|変わ|変え|代わり|新し|现在|不再|改|换|搬|新|已经",
    re.IGNORECASE,
)  # fmt: skip


def with_later_first(hits: Mapping[Key, Hit], certainty: float) -> dict[Key, Hit]:
    """The hits, with a later statement before the first one where that fits. `certainty` is the share of the evidence
    that counts in a store of this size.
    """
    placed = dict(hits)
    first = next(iter(placed), None)
    if first is None or not _is_statement(placed[first].record):
        return placed
    best = placed[first]
    left = {
        key: (NEARLY_CHANGED if _CHANGED.search(hit.record.text) else NEARLY) * certainty - _ahead(best, hit)
        for key, hit in islice(placed.items(), _MAX_HITS_COMPARED)
        if key[0] == first[0] and hit.outdated is None and _is_later(best.record, hit.record)
    }
    chosen = max(left, key=left.__getitem__, default=first)
    if left.get(chosen, 0.0) <= 0:
        return placed
    hit = placed.pop(chosen)
    gained = _ahead(best, hit)
    signal = Signal(best.relevance, None, gained, 1.0, gained, _ABOUT.format(best.record.number))
    # Above it by the least that there is, so that whoever orders by the score keeps both in their places.
    score, relevance = nextafter(best.score, inf), max(best.relevance, hit.relevance)
    return {
        chosen: replace(hit, relevance=relevance, score=score, explain={**hit.explain, "newer": signal}),
        **placed,
    }


def _ahead(first: Hit, second: Hit) -> float:
    above, below = (log_odds(min(max(hit.relevance, 1 - _MAX_RELEVANCE), _MAX_RELEVANCE)) for hit in (first, second))
    return above - below


def _is_statement(record: Record) -> bool:
    """Whether the user of an assistant said it, or rules learned it from what they said, in few words."""
    speaker = record.metadata.get(SPEAKER)
    is_of_user = record.conversation_id is not None and isinstance(speaker, str) and is_user_role(speaker)
    return is_of_user and len(record.text) <= _MAX_STATEMENT_CHARACTERS


def _is_later(one: Record, other: Record) -> bool:
    is_trusted = TRUSTS.index(other.trust) <= TRUSTS.index(one.trust)
    return is_trusted and _is_statement(other) and when(other) - when(one) > _MIN_TIME_APART
