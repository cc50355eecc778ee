"""An episode: what one stretch of a conversation was about, made of the words that were said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Final, NamedTuple, cast

from perdure.clock import format_time
from perdure.episodes.forgetting import first_state
from perdure.episodes.keys import key_of, position_of
from perdure.episodes.messages import SOURCE
from perdure.episodes.metadata import (
    BOUNDARY,
    DIFFICULTY,
    FIRST_MESSAGE,
    MADE_BY,
    REVIEWED_AT,
    STABILITY,
    SURPRISE,
    UNTIL,
)
from perdure.episodes.surprise import telling_terms
from perdure.ids import EPISODE, content_hash
from perdure.lifecycle.summary import Material, Sentence, rank, telling_sentences
from perdure.model import SPEAKER, Record
from perdure.text.tokens import TokenCounter
from perdure.validation import RecordFields

RULES: Final = "rules"
# Beside the sessions of the conversation: a turn's neighbours are turns, and an episode's are episodes.
SESSION: Final = "episodes"
_SUMMARY_TOKENS: Final = 120
_TITLE: Final = 80


class EpisodeWords(NamedTuple):
    """What an episode says of itself. `made_by` is `rules`, or the model that chose the words and the surprise."""

    title: str
    text: str
    surprise: float
    made_by: str = RULES


def said_at(message: Record) -> datetime:
    return message.valid_at or message.created_at


def episode_fields(conversation: str, messages: Sequence[Record], about: EpisodeWords, boundary: str) -> RecordFields:
    """What is stored of an episode. Its key has the position of its last message, its evidence is all of them."""
    surprise = round(about.surprise, 3)
    state = first_state(surprise)
    times = [said_at(message) for message in messages]
    first, last = (position_of(messages[place].key or "") for place in (0, -1))
    fields = {
        "key": key_of(EPISODE, conversation, last or 0),
        "text": about.text,
        "content_hash": content_hash(about.text),
        "title": about.title,
        "conversation_id": conversation,
        "session_id": SESSION,
        "source": SOURCE,
        "trust": "low" if any(message.trust == "low" for message in messages) else "normal",
        "valid_at": min(times),
        "evidence": tuple(message.id for message in messages),
        "metadata": {
            FIRST_MESSAGE: first,
            UNTIL: format_time(max(times)),
            SURPRISE: surprise,
            BOUNDARY: boundary,
            MADE_BY: about.made_by,
            STABILITY: round(state.stability, 4),
            DIFFICULTY: round(state.difficulty, 4),
            REVIEWED_AT: format_time(max(times)),
        },
    }
    return cast("RecordFields", fields)


class Extract(NamedTuple):
    """What rules make of messages: a title, a text, and all the terms that tell something."""

    title: str
    text: str
    terms: frozenset[str]


def extract(messages: Sequence[Record], counter: TokenCounter) -> Extract:
    """The most telling sentences, as they were said; the title is the best of them."""
    names = telling_terms(str(message.metadata.get(SPEAKER)) for message in messages)
    # As of its own time: whenever an episode is made, it says the same.
    ended = max(map(said_at, messages))
    ranked = [
        replace(sentence, score=sentence.score * worth_of_sentence(sentence, names))
        for sentence in rank([Material(message) for message in messages], ended)
    ]
    chosen = choose_sentences(ranked, counter.count)
    spoken: dict[int, list[str]] = {}
    for sentence in sorted(chosen, key=lambda one: (one.record.number, one.index)):
        spoken.setdefault(sentence.record.number, []).append(sentence.text)
    by_number = {message.number: message for message in messages}
    lines = [f"{by_number[number].metadata.get(SPEAKER)}: {' '.join(texts)}" for number, texts in spoken.items()]
    told = frozenset(term for sentence in ranked for term in sentence.weights)
    return Extract(title_of(chosen[0].text), "\n".join(lines), told)


def terms_of(messages: Sequence[Record]) -> frozenset[str]:
    """The same terms as in an extract."""
    sentences = (sentence for message in messages for sentence in telling_sentences(message.text))
    return frozenset(term for _, _, terms in sentences for term in terms)


def title_of(text: str) -> str:
    """One line of at most 80 characters."""
    title = " ".join(text.split())
    return title if len(title) <= _TITLE else f"{title[:_TITLE].rsplit(' ', 1)[0].rstrip(' ,;:.')}…"


def choose_sentences(ranked: Sequence[Sentence], count: Callable[[str], int]) -> list[Sentence]:
    """The best first, as many as fit; a sentence counts less the more of its terms were told already."""
    left, told, room = sorted(ranked, key=attrgetter("score"), reverse=True), set[str](), _SUMMARY_TOKENS
    chosen: list[Sentence] = []
    while left and room > 0:
        best = max(left, key=lambda one: one.score * (1 - len(one.weights.keys() & told) / (len(one.weights) + 1)))
        left.remove(best)
        room -= count(best.text)
        if not chosen or room >= 0:
            chosen.append(best)
            told |= best.weights.keys()
    return chosen


def worth_of_sentence(sentence: Sentence, names: AbstractSet[str]) -> float:
    """Little is said by few words, by calling somebody by name, and by a question."""
    told = len(sentence.weights.keys() - names)
    return (1 - 0.7**told) * (0.5 if sentence.text.rstrip().endswith("?") else 1.0)
