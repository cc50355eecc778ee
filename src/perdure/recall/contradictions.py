"""Two memories that cannot both be true, of which nobody has decided: both are marked, and the newer one stands first.

What a person has to decide is a proposal (learn/proposals.py): a memory whose evidence are the two. So it is found by
its links, and it counts while both are there and say what they said when it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf, nextafter
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.ids import EPISODE, LEARNED, PROPOSAL
from perdure.model import TRUSTS, Contradiction, Filter, Hit, Record, Signal
from perdure.recall.learned_from import ToldWords
from perdure.values import replace
from perdure.visibility import is_visible, kind_of, matches_filter

if TYPE_CHECKING:
    from datetime import datetime

    from perdure.recall.keyword_search import Key
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.store.port import Reader, Store

_CONFLICT: Final = f"{PROPOSAL}:conflict/"
_NOW: Final = Filter()
_NAMES: Final = ("first", "second")


class OpenConflict(NamedTuple):
    """Two active memories, and the number of the proposal about them."""

    proposal: int
    older: Record
    newer: Record


def with_contradictions(
    store: Store, request: SearchRequest, query: ParsedQuery, hits: Mapping[Key, Hit]
) -> dict[Key, Hit]:
    """The hits, each with what it contradicts. A newer memory stands before the older one, also if that alone was
    found: whoever takes the first answer should not take the older one for true. What is trusted less is not moved. A
    message counts as the fact that was learned from it and that the question asks for.
    """
    placed = dict(hits)
    for namespace, name in enumerate(request.namespaces):
        records = [hit.record for (place, _), hit in hits.items() if place == namespace]
        if not records:
            continue
        with store.read(name) as reader:
            told = facts_asked_about(reader, records, frozenset(map(hash, query.stems)))
            conflicts = open_conflicts(reader, [*records, *told.values()], request.now)
        numbers = {message: fact.number for message, fact in told.items()}
        for conflict in conflicts:
            both = conflict.older, conflict.newer
            # A hit is a fact of the conflict, or the message that told it.
            older, newer = (
                [key for key in placed if key[0] == namespace and fact.number in {key[1], numbers.get(key[1])}]
                for fact in both
            )
            is_trusted_less = TRUSTS.index(conflict.newer.trust) > TRUSTS.index(conflict.older.trust)
            if older and not is_trusted_less:
                key = newer[0] if newer else (namespace, conflict.newer.number)
                placed = newer_first(placed, older[0], key, conflict, request, query)
                newer = [key] if key in placed else newer
            for keys, other, is_newer in ((older, conflict.newer, False), (newer, conflict.older, True)):
                told_against = Contradiction(other.number, other.text, conflict.proposal, is_newer)
                for key in keys:
                    hit = placed[key]
                    placed[key] = replace(hit, contradicts=(*hit.contradicts, told_against))
    return dict(islice(placed.items(), request.limit))


def facts_asked_about(reader: Reader, records: Sequence[Record], asked: frozenset[int]) -> dict[int, Record]:
    """By the number of each message, the fact learned from it that the question asks for: the only one, or the one
    that holds most words of the question. `asked` are those words, as hashes.
    """
    messages = {one.id: one for one in records if one.conversation_id is not None and one.source != LEARNED}
    episodes = reader.linked(list(messages), ["evidence"], EPISODE) if messages else []
    links = reader.linked(list({link.source for link in episodes}), ["evidence"]) if episodes else []
    facts = {one.id: one for one in reader.fetch(sorted({link.number for link in links})) if one.source == LEARNED}
    found: dict[int, Record] = {}
    for of_message in episodes:
        message = messages[of_message.target]
        own = ToldWords.of(message)
        learned = [facts[link.source] for link in links if link.target == of_message.source and link.source in facts]
        held = [
            (len(words.words & asked), fact)
            for fact in learned
            if fact.state == "active" and own.says(words := ToldWords.of(fact)) and not own.tells_more(words, asked)
        ]
        most = max((count for count, _ in held), default=0)
        best = [fact for count, fact in held if count == most]
        if len(best) == 1 and (most or len(held) == 1):
            found[message.number] = best[0]
    return found


def newer_first(
    hits: dict[Key, Hit], older: Key, newer: Key, conflict: OpenConflict, request: SearchRequest, query: ParsedQuery
) -> dict[Key, Hit]:
    """The hits with the `newer` one before the `older`; either is a fact of the conflict, or a message that told it."""
    below, own, record = hits[older], hits.get(newer), conflict.newer
    order = [key for key in hits if key != newer]
    if own is None:
        is_shown = is_visible(record, request.filter, request.now) and matches_filter(record, request.filter)
        # Who puts words in quotation marks wants what holds them.
        if query.required or not is_shown:
            return hits
    elif list(hits).index(newer) < list(hits).index(older):
        return hits
    order.insert(order.index(older), newer)
    gained = below.score - (own.score if own else 0.0)
    signal = Signal(below.score, None, gained, 1.0, gained, f"It is newer than #{below.record.number}.")
    explain = {**(own.explain if own else {}), "contradicts": signal}
    relevance = max(below.relevance, own.relevance if own else 0.0)
    # Above it by the least that there is, so that whoever orders by the score keeps both in their places.
    moved = Hit(own.record if own else record, relevance, nextafter(below.score, inf), explain)
    if own:
        moved = replace(moved, concepts=own.concepts, contradicts=own.contradicts, outdated=own.outdated)
    return {key: moved if key == newer else hits[key] for key in order}


def is_about(proposal: Record, first: Record, second: Record) -> bool:
    """Whether a proposal is about these two memories, in the words that they have."""
    told = proposal.metadata
    return [(each.id, each.content_hash) for each in (first, second)] == [
        (told.get(f"{which}_id"), told.get(f"{which}_hash")) for which in _NAMES
    ]


def open_conflicts(reader: Reader, records: Iterable[Record], now: datetime) -> list[OpenConflict]:
    """Those of any of these memories, each once. Without one, this is one query."""
    known = {record.number: record for record in records}
    links = reader.linked([record.id for record in known.values()], ["evidence"], PROPOSAL)
    proposals = reader.fetch(sorted({link.number for link in links})) if links else []
    told: dict[int, list[int]] = {}
    for each in proposals:
        if each.state == "active" and (each.key or "").startswith(_CONFLICT) and kind_of(each.key or "") is not None:
            numbers = (each.metadata.get("first"), each.metadata.get("second"))
            told[each.number] = [number for number in numbers if isinstance(number, int)]
    missing = {number for pair in told.values() for number in pair} - known.keys()
    known |= {record.number: record for record in reader.fetch(sorted(missing))} if missing else {}
    found: list[OpenConflict] = []
    for proposal in proposals:
        pair = [known[number] for number in told.get(proposal.number, ()) if number in known]
        if len(pair) != len(_NAMES) or not all(is_visible(each, _NOW, now) for each in pair):
            continue
        older, newer = pair
        if is_about(proposal, older, newer):
            found.append(OpenConflict(proposal.number, older, newer))
    return found
