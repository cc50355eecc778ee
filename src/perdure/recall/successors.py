"""What took the place of a learned fact answers in its stead, and before the messages that said what held before.

Who asks where somebody lives means where they live now, and `moved to Tokyo` looks less like that question than `lives
in Osaka`. So a fact that holds no more passes its relevance on to the fact that superseded it, and so does a message
from which it was learned. Such a message stays, because it was said; it counts less, and is marked as outdated. Of a
message that told several facts, the fact nearest to the question decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.ids import LEARNED, MemoryId, parse_reference
from perdure.model import Hit, Outdated, Record, Signal
from perdure.recall.learned_from import ToldWords
from perdure.recall.ranking import Explanation
from perdure.recall.relevance import OUTDATED, log_odds, relevance
from perdure.text.preview import when
from perdure.text.words import terms
from perdure.values import replace
from perdure.visibility import is_visible, matches_filter

if TYPE_CHECKING:
    from perdure.recall.keyword_search import Key
    from perdure.recall.query import ParsedQuery, SearchRequest
    from perdure.recall.ranking import EndedFacts
    from perdure.store.port import Reader, Store

# So many times in a row may a fact have been superseded.
_MOST_STEPS: Final = 32
# A message that answers much better than the fact answers by something else that it said.
_NEARLY: Final = 0.5
# Of the facts that a message told, those that answer so well beside the best may be meant.
_AS_NEAR: Final = 0.9
# A relevance of 1 has no log-odds.
_HIGHEST: Final = 0.9999


class EndedFact(NamedTuple):
    """A fact that holds no more, how well it answers, and what holds instead of it and may be shown. `messages` are the
    ids of those that its episodes hold, of a fact that does not name the moments at which it was said.
    """

    record: Record
    told: ToldWords
    relevance: float
    score: float
    namespace: int
    current: tuple[Record, ...]
    outdated: Outdated
    messages: frozenset[str] = frozenset()


class FactsLookedAt(NamedTuple):
    """Facts that hold no more, best first. `told`: of each message, the facts that may have been learned from it, each
    with its score, be they in force or not. `asked` are the words of the question, as hashes.
    """

    ended: Sequence[EndedFact]
    told: Mapping[Key, Sequence[tuple[Record, float]]]
    asked: frozenset[int]


def read_ended_facts(store: Store, request: SearchRequest, query: ParsedQuery, facts: EndedFacts) -> FactsLookedAt:
    """What holds no more, as far as the question asks for what holds now."""
    ended: list[EndedFact] = []
    records: dict[Key, Record] = {}
    scores = {(one.namespace, one.number): one for one in facts.ranked}
    for namespace, name in enumerate(request.namespaces):
        numbers = [one.number for one in facts.ranked if one.namespace == namespace]
        if not numbers:
            continue
        with store.read(name) as reader:
            found = reader.fetch(numbers)
            past = [fact for fact in found if fact.state == "superseded" and not matches_past(query, fact)]
            current = current_facts(reader, past)
            messages = {fact.id: messages_of(reader, fact) for fact in past}
        records |= {(namespace, fact.number): fact for fact in found}
        for fact in past:
            visible = [one for one in current[fact.id] if is_visible(one, request.filter, request.now)]
            shown = [one for one in visible if matches_filter(one, request.filter) and holds_concepts(query, one)]
            outdated = Outdated(fact.invalid_at, visible[0].number if visible else None)
            one = scores[namespace, fact.number]
            told, said = ToldWords.of(fact), messages[fact.id]
            ended.append(
                EndedFact(fact, told, one.relevance, one.score, namespace, tuple(shown), outdated, said)
            )  # fmt: skip
    by_message = {
        key: [(records[key[0], number], scores[key[0], number].score) for number in some if (key[0], number) in records]
        for key, some in facts.told.items()
    }
    return FactsLookedAt(sorted(ended, key=lambda one: -one.score), by_message, frozenset(map(hash, query.stems)))


def holds_concepts(query: ParsedQuery, record: Record) -> bool:
    return query.required is None or all(query.required.counts(record).values())


def messages_of(reader: Reader, fact: Record) -> frozenset[str]:
    """Of a fact that rules did not learn: a model does not say which of the messages told it."""
    if "said_at" in fact.metadata:
        return frozenset()
    episodes = (episode for id in fact.evidence for episode in reader.find(parse_reference(id)))
    return frozenset(message for episode in episodes for message in episode.evidence)


def matches_past(query: ParsedQuery, fact: Record) -> bool:
    """Whether the query asks for what a fact says although it holds no more: for a time at which it held, or for
    something else that it says.
    """
    if fact.invalid_at and any(span.until and span.until <= fact.invalid_at for span in query.time_ranges):
        return True
    return matches_rest(query, fact)


def matches_rest(query: ParsedQuery, fact: Record) -> bool:
    """Whether the query asks for something else that the fact says: of `is 34, and has two pets` the age was
    superseded, and a question about pets is none about the age.
    """
    subject, value = fact.metadata.get("subject"), fact.metadata.get("value")
    before, found, behind = fact.text.partition(value) if isinstance(value, str) and value else (fact.text, "", "")
    if not behind:
        return False
    asked = set(query.stems).difference(terms(str(subject)))
    return len(asked.intersection(terms(behind))) > len(asked.intersection(terms(before + found)))


def current_facts(reader: Reader, facts: Iterable[Record]) -> dict[MemoryId, list[Record]]:
    """By the id of each fact: those that superseded it, or what did so, and that nothing superseded."""
    origins = {fact.id: {fact.id} for fact in facts}
    current: dict[MemoryId, list[Record]] = {fact: [] for fact in origins}
    left = origins
    for _ in range(_MOST_STEPS):
        links = reader.linked(list(left), ["supersedes"]) if left else []
        if not links:
            break
        newer = {record.id: record for record in reader.fetch([link.number for link in links])}
        following: dict[MemoryId, set[MemoryId]] = {}
        for link in links:
            record = newer.get(link.source)
            if record is None:
                continue
            for origin in left[link.target]:
                if record.state == "superseded":
                    following.setdefault(record.id, set()).add(origin)
                elif record not in current[origin]:
                    current[origin].append(record)
        left = following
    return current


def with_successors(
    hits: Mapping[Key, Hit], looked_at: FactsLookedAt, request: SearchRequest, *, asks_for_the_past: bool
) -> dict[Key, Hit]:
    """The hits with what holds now: each at the place of what held before it, or higher, and before the messages that
    said it, which are marked. Who asks for the past gets the marks alone.
    """
    outdated = {key: ended for key, hit in hits.items() if (ended := ended_in(key, hit, looked_at))}
    placed = dict(hits)
    for one in () if asks_for_the_past else looked_at.ended:
        said = [hits[key] for key, ended in outdated.items() if ended is one]
        fit = max([one.relevance, *(hit.relevance for hit in said)])
        score = max([one.score, *(hit.score for hit in said)])
        for record in one.current if fit >= request.min_relevance else ():
            key = (one.namespace, record.number)
            about = f"It took the place of #{one.record.number}."
            own = placed.get(key)
            if own is None or own.score < score:
                placed[key] = with_relevance(own or Hit(record, 0.0, 0.0, {}), fit, score, "supersedes", about, request)
    for key, one in outdated.items():
        hit = placed[key]
        if asks_for_the_past:
            placed[key] = replace(hit, outdated=one.outdated)
            continue
        fit = float(relevance(log_odds(min(hit.relevance, _HIGHEST)) + OUTDATED))
        # What fits stays in the answer: it is dated, and says what holds instead.
        fit = max(fit, min(hit.relevance, request.min_relevance))
        score = fit if request.recipe.is_relevance else hit.score * fit / hit.relevance
        about = f"It is no longer true: {one.outdated}."
        placed[key] = replace(with_relevance(hit, fit, score, "outdated", about, request), outdated=one.outdated)
    return dict(sorted(placed.items(), key=lambda item: (-item[1].score, item[1].outdated is not None)))


def with_relevance(hit: Hit, fit: float, score: float, name: str, about: str, request: SearchRequest) -> Hit:
    """The hit with another relevance and score, and a signal of this name that says why."""
    fit = max(fit, hit.relevance) if score > hit.score else fit
    gained = score - hit.score
    if request.recipe.is_relevance:
        gained = log_odds(min(fit, _HIGHEST)) - (log_odds(min(hit.relevance, _HIGHEST)) if hit.explain else 0.0)

    def make() -> dict[str, Signal]:
        return {**hit.explain, name: Signal(fit, None, gained, 1.0, gained, about)}

    return replace(hit, relevance=fit, score=score, explain=Explanation(make))


def ended_in(key: Key, hit: Hit, looked_at: FactsLookedAt) -> EndedFact | None:
    """The fact that a message told, that holds no more and that the question asks for: the nearest to it of all that
    were learned from the message.
    """
    record = hit.record
    if record.source == LEARNED or record.conversation_id is None:
        return None
    own = ToldWords.of(record)
    learned = [(score, fact.number) for fact, score in looked_at.told.get(key, ()) if own.says(ToldWords.of(fact))]
    best = max(learned, default=(0.0, 0))[0]
    nearest = {number for score, number in learned if score >= _AS_NEAR * best}
    for one in looked_at.ended:
        if one.namespace != key[0] or hit.score * _NEARLY > one.score or own.tells_more(one.told, looked_at.asked):
            continue
        if one.record.number in nearest or (not nearest and told_ended(record, own, one)):
            return one
    return None


def told_ended(record: Record, own: ToldWords, one: EndedFact) -> bool:
    """Whether a message said what holds no more, before that ended."""
    if one.record.invalid_at is not None and when(record) >= one.record.invalid_at:
        return False
    return own.says(one.told, of_its_episode=record.id in one.messages)
