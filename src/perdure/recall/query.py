"""A search request, and the query in it taken apart: words, exact phrases, concepts, and the times it names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from perdure.clock import parse_time
from perdure.ids import LEARNED, PROPOSAL
from perdure.model import INDEXED_STATES, MIN_RELEVANCE, Filter, Record, State
from perdure.recall.recipe import Recipe, recipe_named
from perdure.text.entry import term_hash
from perdure.text.patterns import pattern
from perdure.text.phrases import QuotedText, has_phrases, spellings, split_phrases
from perdure.text.stopwords import STOPWORDS
from perdure.text.wanted import HeldWords, WantedWords
from perdure.text.words import MAX_QUERY_CHARACTERS, MAX_QUERY_WORDS, all_words, clean, query_stems, query_words
from perdure.validation import (
    check_bool,
    check_concepts,
    check_filters,
    check_limit,
    check_namespaces,
    check_query,
    check_share,
)
from perdure.values import field, replace, value_class

if TYPE_CHECKING:
    from perdure.recall.time_questions import TimeQuestion
    from perdure.services import Services
    from perdure.text.bm25 import WordCounts
    from perdure.text.time_expressions import TimeRange

# A phrase of common words: reading so many memories takes about as long as a search may.
MOST_LOOKED_AT: Final = 5000
TOO_MANY: Final = "Only the newest {:,} of {:,} memories with these words were looked at for the exact phrase."

ONLY_THE_BEGINNING: Final = "Only the first {:,} characters of the question were read."
OUT_OF_TIME: Final = "The search took too long and was cut short. Ask with fewer or rarer words."
MANY_WORDS: Final = "The question has {:,} telling words; the {} that the fewest memories hold count."

# How many superseded facts are followed to what took their place.
MOST_SUPERSEDED: Final = 8

_NO_FILTER: Final = Filter()
_NO_CONCEPTS: Final[Mapping[str, int]] = {}
_NO_PARTS: Final[Mapping[int, tuple[int, ...]]] = {}
# Every text that names a time has something of this. Most texts have nothing of it, and need no closer look.
_MAY_NAME_A_TIME: Final = pattern(
    r"day|week|month|year|night|morning|noon|evening|quarter|\b(?:(?:19|20)[0-9]{2}|[0-9]+ ?[smhdwy])"
    r"|\b(?:jan|january|feb|february|mar|march|apr|april|may|june?|july?|aug|august|sept?|september|oct|october|nov"
    "|november|dec|december|mon|tues?|weds?|thur?s?|fri|sat|sun|spring|summer|autumn|fall|winter|q[1-4]"
    "|secs?|seconds?|mins?|minutes?|hrs?|hours?|wks?|yrs?|recently|lately|tomorrow|ago"
    r"|christmas|easter|halloween|thanksgiving|nineteen|twenty|on the [\w-]+(?:st|nd|rd|th)"
    "|sessions?|conversations?|chats?|talks?|discussions?|sittings?"
    r"|last|time|when|before|since|after|until|till|while|during)\b"
)
# It names one thing, as `100`, `2023` and `18th` do not.
_CODE: Final = pattern("(?=.*[0-9])(?!(?:19|20)[0-9][0-9]$|[0-9]+[a-z]{1,2}$).{4}")
# Of more words than these a sentence is made.
_MOST_LOOKED_UP: Final = 3
_ASKS_WHO: Final = pattern(r"\s*(?:[Ww]ho|[Ww]hat)(?:\s+(?:is|was|are|were|about)|.s)\s+(?:the\s+)?")
# Who asks so asks for what held once.
_ASKS_FOR_THE_PAST: Final = pattern(
    r"\b(?:before|previous|previously|former|formerly|used to|original|originally|in the past|first|back then)\b"
)
# Who asks so asks what happened, and not what holds now.
_ASKS_WHAT_HAPPENED: Final = pattern(r"\b(?:did|was|were|had)\b")
# Behind this something else may begin.
_SENTENCE_END: Final = pattern(r"[\n\r.!?\u2026\u3002\uff01\uff1f]\s*\S")


@value_class(kw_only=True)
class SearchRequest:
    """One search, checked and complete: what is asked, where, about which time, and how matches are weighed.

    `as_of` asks what was true at a time, `known_at` what was known at a time. Nothing below `min_relevance` is an
    answer. `include_constitutional`: the constitutional memories of the present are surfaced as well. `session` is the
    one in which it is asked, if that is known. `by_model`: a model asks. `is_question`: if nothing of a time that it
    names fits the rest, what is of that time is the answer, and if nothing is found, the answer says why. What is no
    question names times and quotes texts without asking for them. Without a query and concepts, a recipe with a
    prominence weight orders every memory by prominence. The fields from `is_past` on follow from the others:

    - `candidates`: how many of the best by words, and of the best by meaning, are compared.
    - `shortlist`: where the query names a time, how many of the best of that time are compared as well.
    - `states`: what a memory may be in now. A memory that was true at a time may be superseded by now.
    - `true_at`: when a memory must be true. What was known at a time was known about that time.
    - `known_by`: when a memory must be known. One that had expired by then is not known any more.
    - `looks_back`: learned facts that hold no more count for what took their place.
    """

    query: str | None
    namespaces: tuple[str, ...]
    recipe: Recipe
    now: datetime
    concepts: tuple[str, ...] = ()
    limit: int = 10
    filter: Filter = _NO_FILTER
    as_of: datetime | None = None
    known_at: datetime | None = None
    use_decay: bool = True
    decay_exempt: tuple[str, ...] = ()
    decay_rates: Mapping[str, float] = field(default_factory=dict[str, float])
    decay_floor: float = 0.0
    min_relevance: float = 0.0
    include_constitutional: bool = False
    session: str | None = None
    by_model: bool = False
    is_question: bool = True
    is_past: bool = field(init=False)
    candidates: int = field(init=False)
    shortlist: int = field(init=False)
    states: tuple[State, ...] = field(init=False)
    true_at: datetime = field(init=False)
    known_by: datetime = field(init=False)
    looks_back: bool = field(init=False)

    def __post_init__(self) -> None:
        true_then = self.as_of is not None and self.filter.states == ("active",)
        object.__setattr__(self, "namespaces", tuple(dict.fromkeys(self.namespaces)))
        object.__setattr__(self, "is_past", self.as_of is not None or self.known_at is not None)
        object.__setattr__(self, "candidates", max(self.recipe.candidates, 2 * self.limit))
        object.__setattr__(self, "shortlist", max(self.recipe.candidates // 2, self.limit))
        object.__setattr__(self, "states", INDEXED_STATES if true_then else self.filter.states)
        object.__setattr__(self, "true_at", self.as_of or self.known_at or self.now)
        object.__setattr__(self, "known_by", self.known_at or self.now)
        learns, shown = self.recipe.learned_discount > 0, self.filter.states == ("active",)
        told = not self.filter.sources or LEARNED in self.filter.sources
        object.__setattr__(self, "looks_back", learns and shown and told and not self.is_past)


def check_request(  # noqa: PLR0913 - one for each thing a caller may decide
    services: Services,
    namespace: str,
    query: str | None,
    filters: Mapping[str, Any],
    *,
    limit: int,
    concepts: Sequence[str] | None = None,
    namespaces: Sequence[str] | None = None,
    recipe: str | None = None,
    as_of: datetime | str | None = None,
    known_at: datetime | str | None = None,
    min_relevance: float | None = None,
    include_constitutional: bool = False,
    use_decay: bool | None = None,
    for_model: bool = False,
) -> SearchRequest:
    """One search, complete: what the caller left out comes from the settings. `for_model`: a model reads the answer,
    and must not get what does not fit, whatever the recipe.
    """
    settings, now = services.settings, services.context.clock()
    true_at = None if as_of is None else parse_time(as_of, "as_of", now)
    known_by = None if known_at is None else parse_time(known_at, "known_at", now)
    chosen = recipe_named(recipe or settings.recipe, services.recipes)
    # The settings decide from which relevance on a memory is an answer, but not that a recipe leaves out what is below.
    least = chosen.min_relevance or (MIN_RELEVANCE if for_model else 0.0)
    least = least if settings.min_relevance is None or not least else settings.min_relevance
    filter = check_filters(
        filters, settings.categories, true_at or known_by or now, refusal="Recall does not look into memories"
    )
    return SearchRequest(
        query=None if query is None else check_query(query),
        concepts=() if concepts is None else check_concepts(concepts),
        limit=check_limit(limit),
        namespaces=(namespace,) if namespaces is None else tuple(check_namespaces(namespaces)),
        recipe=chosen,
        filter=replace(filter, hidden=(PROPOSAL,)) if chosen.forgets and filter.hidden else filter,
        as_of=true_at,
        known_at=known_by,
        use_decay=settings.decay if use_decay is None else check_bool(use_decay, "use_decay"),
        decay_exempt=settings.decay_exempt,
        decay_rates=settings.decay_rates,
        decay_floor=settings.decay_floor,
        include_constitutional=check_bool(include_constitutional, "include_constitutional"),
        session=services.context.session,
        by_model=not services.context.is_person,
        min_relevance=least if min_relevance is None else check_share(min_relevance, "min_relevance"),
        now=now,
    )


@value_class(slots=False)
class RequiredTerms:
    """What a memory must hold to be an answer at all, as the caller wrote it. A memory holds a concept when it holds
    all of its telling words, in whatever order; it holds a phrase word for word.
    """

    concepts: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that an index is asked for. A memory that has all of these may still lack something."""
        words = [word for wanted in self._wanted.values() for word in wanted.words]
        words += [word for phrase in self.phrases for word in all_words(phrase)]
        return tuple(dict.fromkeys(words))[:MAX_QUERY_WORDS]

    @cached_property
    def terms(self) -> tuple[list[int], Mapping[int, tuple[int, ...]]]:
        """The same as the index in memory knows them."""
        return term_hashes(self.words), hashed_parts(query_stems(self.words).parts)

    @cached_property
    def _wanted(self) -> Mapping[str, WantedWords]:
        return {concept: WantedWords(concept) for concept in self.concepts}

    @property
    def can_be_met(self) -> bool:
        """A concept without a word is held by nothing."""
        return all(wanted.words for wanted in self._wanted.values())

    @cached_property
    def _spelled_phrases(self) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys(map(spellings, self.phrases)))

    @property
    def decided_by_words(self) -> bool:
        """Whether a memory that has all of the words holds everything."""
        known = all(wanted.known_to_index for wanted in self._wanted.values())
        return known and not self.phrases and len(self.words) < MAX_QUERY_WORDS

    def met_by(self, record: Record) -> bool:
        return has_phrases(record, self._spelled_phrases) and all(self.counts(record).values())

    def counts(self, record: Record) -> Mapping[str, int]:
        """How often each concept stands in the memory."""
        if not self.concepts:
            return _NO_CONCEPTS
        held = HeldWords(record)
        return {concept: wanted.count(held) for concept, wanted in self._wanted.items()}


@value_class
class ParsedQuery:
    """A query taken apart: `text` is what a model embeds, `words` are what the keyword index is asked for, `terms` are
    the same words as the index in memory knows them, stemmed and hashed, and `parts` what those are made of that are
    made of several. `stems` are all of these, `codes` those terms with digits that name one thing, such as `E1042`.
    `is_long`: there are more words than can be searched for; `word_count` is how many there were at first. `sentences`
    are the terms of each sentence, where there are several: what fits one of them fits. Where the recipe weighs times,
    `times` is what it says about time, `time_ranges` are the times that are known so far, and `time_weight` is what
    these weigh. `is_prompt`: it is what somebody told an agent, which says more than one thing; `clauses` are these.
    """

    text: str
    words: Sequence[str]
    required: RequiredTerms | None = None
    time_ranges: tuple[TimeRange, ...] = ()
    times: TimeQuestion | None = None
    time_weight: float = 0.0
    sentences: tuple[Sequence[int], ...] = ()
    word_count: int = 0
    is_prompt: bool = False
    clauses: tuple[str, ...] = ()
    is_lookup: bool = False
    stems: tuple[str, ...] = field(init=False)
    terms: list[int] = field(init=False)
    codes: list[int] = field(init=False)
    parts: Mapping[int, tuple[int, ...]] = field(init=False)
    is_long: bool = field(init=False)

    def __post_init__(self) -> None:
        words, parts = query_stems(self.words)
        stems = dict.fromkeys((*words, *(stem for some in parts.values() for stem in some)))
        object.__setattr__(self, "stems", tuple(stems))
        object.__setattr__(self, "terms", list(dict.fromkeys(map(term_hash, words))))
        object.__setattr__(self, "codes", [term_hash(word) for word in words if _CODE.match(word)])
        object.__setattr__(self, "parts", hashed_parts(parts) if parts else _NO_PARTS)
        object.__setattr__(self, "is_long", len(self.words) > MAX_QUERY_WORDS)
        object.__setattr__(self, "word_count", max(self.word_count, len(self.terms)))

    @property
    def content(self) -> ParsedQuery:
        """The query without its words of time: no memory fits worse because it does not hold `7 days ago`."""
        words = query_words(self.times.content) if self.times else ()
        return replace(self, words=words, word_count=0) if words else self

    @property
    def asks_for_the_past(self) -> bool:
        """Whether it asks for what held once, and not for what holds now."""
        return _ASKS_FOR_THE_PAST.search(self.text.lower()) is not None

    @property
    def asks_what_happened(self) -> bool:
        """Whether it asks for an event or for what held once: there the newest of several is no better than others."""
        return self.asks_for_the_past or _ASKS_WHAT_HAPPENED.search(self.text.lower()) is not None

    def without(self, names: Collection[str]) -> ParsedQuery:
        """The query without the words that are such names, unless it has no others."""
        words = [word for word in self.words if word not in names]
        return replace(self, words=words, word_count=0) if words else self

    def rarest(self, counts: WordCounts) -> ParsedQuery:
        """The query with those of its words alone that the fewest memories hold."""
        holding: dict[str, int] = {}
        stems, parts = query_stems(self.words)
        for stem, word in stems.items():
            held = [counts.containing.get(term_hash(each), 0) for each in (stem, *parts.get(stem, ()))]
            if any(held):
                holding[word] = held[0] or min(filter(None, held))
        return replace(self, words=(sorted(holding, key=holding.__getitem__) or self.words)[:MAX_QUERY_WORDS])


def looks_up(text: str, telling: Sequence[str]) -> bool:
    """Whether a text is telling words alone, or asks who or what bears a name. Other questions are not given."""
    asks_who = _ASKS_WHO.match(text)
    rest = text[asks_who.end() :] if asks_who else text
    is_named = asks_who is None or all(word[0].isupper() for word in rest.split() if word[0].isalpha())
    return is_named and len(all_words(rest)) == len(telling)


def meeting_requirements(
    required: RequiredTerms, numbers: Iterable[int], fetch: Callable[[Sequence[int]], Iterable[Record]]
) -> tuple[list[int], tuple[str, ...]]:
    """Those of the memories with all the required words that really meet the requirements, and a note when there were
    too many to look at.
    """
    newest = sorted(numbers, reverse=True)
    if required.decided_by_words:
        return newest, ()
    meeting = [record.number for record in fetch(newest[:MOST_LOOKED_AT]) if required.met_by(record)]
    return meeting, (TOO_MANY.format(MOST_LOOKED_AT, len(newest)),) if len(newest) > MOST_LOOKED_AT else ()


def term_hashes(words: Sequence[str]) -> list[int]:
    return list(dict.fromkeys(map(term_hash, query_stems(words).words)))


def hashed_parts(parts: Mapping[str, Iterable[str]]) -> dict[int, tuple[int, ...]]:
    return {term_hash(stem): tuple(map(term_hash, some)) for stem, some in parts.items()}


def parse_query(request: SearchRequest) -> ParsedQuery:
    """Never an error, whatever the text. Times are reckoned from the moment that the question is about."""
    asked = clean((request.query or "")[:MAX_QUERY_CHARACTERS]).strip()
    quoted = split_phrases(asked) if request.is_question else QuotedText(asked, asked)
    concepts = tuple(dict.fromkeys(map(clean, request.concepts)))
    required = RequiredTerms(concepts, quoted.phrases) if concepts or quoted.phrases else None
    unquoted, times = quoted.unquoted, None
    if _MAY_NAME_A_TIME.search(unquoted.lower()):
        from perdure.recall.time_questions import read_time_question

        times = read_time_question(unquoted, request.true_at)
        unquoted = times.rest if times else unquoted
    needed = (*quoted.phrases, *concepts)
    words = query_words(" ".join((unquoted, *needed)))
    if STOPWORDS.issuperset(words):
        words = query_words(" ".join((quoted.unquoted, *needed)))
    times = times if request.recipe.time_weight and request.is_question else None
    ranges = times.ranges if times else ()
    text = quoted.text or " ".join(concepts)
    parsed = ParsedQuery(text, words, required, ranges, times, request.recipe.time_weight)
    if request.is_question and 0 < len(words) <= _MOST_LOOKED_UP and ("?" not in unquoted or _ASKS_WHO.match(unquoted)):
        parsed = replace(parsed, is_lookup=looks_up(unquoted, words))
    if request.recipe.is_relevance and not request.is_question:
        from perdure.text.clauses import clauses

        parsed = replace(parsed, is_prompt=True, clauses=clauses(text))
    if _SENTENCE_END.search(text):
        from perdure.text.sentences import sentences

        several = tuple(term_hashes(query_words(sentence)) for sentence in sentences(text))
        return replace(parsed, sentences=several) if len(several) > 1 else parsed
    return parsed
