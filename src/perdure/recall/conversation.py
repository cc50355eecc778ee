"""Conversation features: what was said just before and after a memory, its session, and who speaks.

A turn of a conversation says little by itself: what it is about was often said one or two turns before, and a question
is answered by what follows. So a turn also counts by how well its neighbours match, by the words of the query that they
hold together with it, by the best turn of its session, and by what it tells in particular: names, or a time. A memory
outside any conversation has no neighbours; words and meaning then count for them as well, so that neither kind has an
advantage over the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.recall.introduced import IntroducedNames
from perdure.recall.recipe import ConversationWeights
from perdure.recall.signals import DECIMALS
from perdure.text.patterns import pattern
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words, query_words, spelled_out
from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many turns before and after count as neighbours.
REACH: Final = 2
# The code of a row without a speaker or a session.
NOBODY: Final = -1
# What follows a question gains so much of what the question loses.
_ANSWER_PART: Final = 0.5
# When others say something that fits better by a quarter, who is named does not count.
_MISTAKEN: Final = 4.0
# The signals that do not tell one turn of a session or of a speaker from another.
_OF_MANY: Final = ("session", "named")

# With the possessive, which goes with the name.
_WORD: Final = pattern(r"([^\W_]+)(['’]s\b)?\s*")  # noqa: RUF001 - as it is written
# Fewer words than these say too little without the name.
_LEAST_WORDS: Final = 2
_STEPS: Final = np.array([*range(-1, -REACH - 1, -1), *range(1, REACH + 1)])[:, np.newaxis]


class NamedSpeakers(NamedTuple):
    """`words` are the names found, folded; `rest` is the query without them."""

    words: frozenset[str]
    rest: str


class SpeakerIndex:
    """The speakers of a namespace, or the names that they gave to themselves, by code and by each word of them. It is
    only ever added to, so that codes that were handed out stay true.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._by_word: dict[str, list[int]] = {}
        self._words: list[frozenset[str]] = []
        self._capitalised: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self._words)

    def code(self, speaker: str) -> int:
        code = self._codes.get(speaker)
        if code is None:
            code = len(self._words)
            words = frozenset(spelled_out(all_words(speaker))) - STOPWORDS
            self._words.append(words)
            for word in words:
                self._by_word.setdefault(word, []).append(code)
                self._capitalised[word] = self._capitalised.get(word, True) and not speaker.islower()
            self._codes[speaker] = code
        return code

    def knows(self, word: str) -> bool:
        return word in self._by_word

    def labels(self, word: str) -> bool:
        return self.knows(word)

    def bearing(self, word: str) -> Sequence[int]:
        """The speakers who have this word in their names."""
        return self._by_word.get(word, ())

    def is_capitalised(self, word: str) -> bool:
        """Whether it is a name only with a capital letter: `Will`, but not `user`."""
        return self._capitalised.get(word, True)

    def called(self, words: Collection[str]) -> list[int]:
        """The speakers who bear one of these names; of those who share one, whoever is called by the most."""
        called: set[int] = set()
        asked = frozenset(words)
        for word in asked:
            shared = [(len(self._words[code] & asked), code) for code in self.bearing(word)]
            most = max((count for count, _ in shared), default=0)
            called.update(code for count, code in shared if count == most)
        return sorted(called)


@value_class(slots=False)
class ConversationIndex:
    """The conversation columns of every row of a snapshot: `group` is one session of one conversation. What was learned
    from a conversation stands in none of its sessions. `introduction` is, of a message in which the speaker gives their
    name, twice the code of it in `names`, and one more if it corrects the names before.
    """

    numbers: NDArray[np.int64]
    alive: NDArray[np.bool_]
    group: NDArray[np.int32]
    speaker: NDArray[np.int32]
    question_share: NDArray[np.float32]
    name_share: NDArray[np.float32]
    conversation: NDArray[np.int32]
    introduction: NDArray[np.int32]
    speakers: SpeakerIndex
    names: SpeakerIndex

    @cached_property
    def _heard(self) -> NDArray[np.bool_]:
        """By the code of a speaker: whether a living row is said by them. The list of speakers itself grows while
        others write, and keeps whoever was forgotten.
        """
        heard = np.zeros(int(self.speaker.max(initial=NOBODY)) + 1, np.bool_)
        living = self.speaker[self.alive]
        heard[living[living != NOBODY]] = True
        return heard

    @cached_property
    def _introduced(self) -> IntroducedNames:
        rows = np.flatnonzero((self.introduction != NOBODY) & self.alive & (self.group != NOBODY))
        rows = rows[self.speaker[rows] != NOBODY]
        name, corrects = np.divmod(self.introduction[rows], 2)
        return IntroducedNames(
            self.numbers[rows], self.conversation[rows], self.speaker[rows], name, corrects == 1, self.names
        )

    def labels(self, word: str) -> bool:
        """Whether what somebody says bears this name."""
        return any(code < len(self._heard) and self._heard[code] for code in self.speakers.bearing(word))

    def knows(self, word: str) -> bool:
        return self.labels(word) or (self.names.knows(word) and bool(self._introduced.called((word,))))

    def is_capitalised(self, word: str) -> bool:
        return self.speakers.is_capitalised(word) and self.names.is_capitalised(word)

    def said_by(self, rows: NDArray[np.intp], words: Collection[str]) -> NDArray[np.bool_]:
        """Which of the rows are said by somebody of such a name."""
        # One place more than around are speakers, so that the code of nobody falls on it.
        meant = np.zeros(len(self._heard) + 1, np.bool_)
        meant[[code for code in self.speakers.called(words) if code < len(self._heard)]] = True
        said = meant[self.speaker[rows]]
        for speaker, conversations in self._introduced.called(words) if any(map(self.names.knows, words)) else ():
            theirs = self.speaker[rows] == speaker
            said |= theirs if conversations is None else theirs & np.isin(self.conversation[rows], conversations)
        return said

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The living rows of conversations, as they were said: numbers are given in the order of writing."""
        rows = np.flatnonzero(self.alive & (self.group != NOBODY))
        keys = (self.group[rows].astype(np.int64) << 32) | self.numbers[rows]
        # Mostly in order already, from which this kind of sorting profits.
        return rows[np.argsort(keys, kind="stable")]

    @cached_property
    def _positions(self) -> NDArray[np.intp]:
        """Where each row stands in `_order`, or -1."""
        positions = np.full(len(self.numbers), -1, np.intp)
        positions[self._order] = np.arange(len(self._order))
        return positions

    def neighbours(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Of each row a column of those before and after it, the nearest before it first; -1 where around is none."""
        if not len(self._order):
            return np.full((2 * REACH, len(rows)), -1, np.intp)
        position = self._positions[rows]
        around = position + _STEPS
        neighbours = self._order.take(around, mode="clip")
        same_group = (self.group[neighbours] == self.group[rows]) & (position >= 0)
        return np.where(same_group & (around >= 0) & (around < len(self._order)), neighbours, -1)


def find_speakers(text: str, known: Iterable[ConversationIndex | SpeakerIndex]) -> NamedSpeakers:
    """The words of a query that are names of speakers, and the query without them, unless too little is left of it.

    What somebody says bears the name that its speaker has, but not the one that they gave to themselves: with that,
    only what others say to them would be found, so that any word beside it is enough.
    """
    groups = list(known)
    if not groups:
        return NamedSpeakers(frozenset(), text)
    lower_case = text == text.lower()
    names: set[str] = set()
    for match in _WORD.finditer(text):
        word = _fold_word(match[1])
        for speakers in groups:
            if speakers.knows(word) and (lower_case or match[1][0].isupper() or not speakers.is_capitalised(word)):
                names.add(word)
    if not names:
        return NamedSpeakers(frozenset(), text)
    rest = _WORD.sub(lambda match: "" if _fold_word(match[1]) in names else match[0], text).strip()
    telling = [word for word in query_words(rest) if word not in STOPWORDS]
    least = _LEAST_WORDS if any(speakers.labels(name) for name in names for speakers in groups) else 1
    return NamedSpeakers(frozenset(names), rest if len(telling) >= least else text)


def _fold_word(word: str) -> str:
    if word.isascii():
        return word.lower()
    words = spelled_out(all_words(word))
    return words[0] if words else ""


@value_class
class ConversationFeatures:
    """Of each candidate: its `group`, the positions of its neighbours among the candidates (-1: none), whether it has
    no neighbour at all, the share of it that asks, how many names it holds, whether the query names its speaker or
    holds its name, the `coverage` of the query's words by it and its neighbours, whether it tells a time that the query
    asks for, and whether it was learned from the conversation.
    """

    group: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    alone: NDArray[np.bool_]
    question_share: NDArray[np.float64]
    name_share: NDArray[np.float64]
    named: NDArray[np.bool_]
    coverage: NDArray[np.float64]
    tells_when: NDArray[np.bool_]
    learned: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        index: ConversationIndex,
        rows: NDArray[np.intp],
        neighbours: NDArray[np.intp],
        *,
        named: NDArray[np.bool_],
        coverage: NDArray[np.float64],
        tells_when: NDArray[np.bool_],
    ) -> ConversationFeatures:
        """Of candidate rows in ascending order and their neighbours; one that is no candidate does not count."""
        # One place more than there are rows, so that -1 falls on it.
        places = np.full(len(index.numbers) + 1, -1, np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        return cls(
            index.group[rows],
            places[neighbours],
            neighbours.max(axis=0, initial=-1) < 0,
            index.question_share[rows].astype(np.float64),
            index.name_share[rows].astype(np.float64),
            named,
            coverage,
            tells_when,
            (index.conversation[rows] != NOBODY) & (index.group[rows] == NOBODY),
        )

    @classmethod
    def none(cls, count: int) -> ConversationFeatures:
        """Of candidates that stand in no conversation."""
        no, nothing = np.zeros(count, np.bool_), np.zeros(count)
        nowhere, around = np.full(count, NOBODY, np.int32), np.full((2 * REACH, count), -1, np.int32)
        return cls(nowhere, around, ~no, nothing, nothing, no, nothing, no, no)

    @classmethod
    def joined(cls, parts: Sequence[ConversationFeatures]) -> ConversationFeatures:
        """Of the candidates of several namespaces, one behind the other."""
        starts = np.cumsum([0, *(len(part.group) for part in parts[:-1])], dtype=np.int32)
        taken = np.cumsum([0, *(part.group.max(initial=NOBODY) + 1 for part in parts[:-1])], dtype=np.int32)
        groups = [
            np.where(part.group == NOBODY, NOBODY, part.group + first) for part, first in zip(parts, taken, strict=True)
        ]
        neighbours = [
            np.where(part.neighbours >= 0, part.neighbours + start, -1)
            for part, start in zip(parts, starts, strict=True)
        ]
        return cls(
            np.concatenate(groups),
            np.concatenate(neighbours, axis=1),
            np.concatenate([part.alone for part in parts]),
            np.concatenate([part.question_share for part in parts]),
            np.concatenate([part.name_share for part in parts]),
            np.concatenate([part.named for part in parts]),
            np.concatenate([part.coverage for part in parts]),
            np.concatenate([part.tells_when for part in parts]),
            np.concatenate([part.learned for part in parts]),
        )


def _likely_meant(scores: NDArray[np.float64], named: NDArray[np.bool_]) -> float:
    """From 1 to 0: whether who is named is likely meant, by their best score and that of everybody else. A question may
    be mistaken about who it was.
    """
    best, others = scores[named].max(initial=0.0), scores[~named].max(initial=0.0)
    return max(0.0, 1.0 - _MISTAKEN * (others - best) / others) if others > best else 1.0


class ConversationBoost(NamedTuple):
    """`own`: by how much the weights of words and meaning shrink beside the conversation signals, of each candidate.
    `shares` are those of the conversation signals, by name, and `weights` of those that count here.
    """

    own: NDArray[np.float64]
    shares: Mapping[str, NDArray[np.float64]]
    weights: Mapping[str, float]


def conversation_boost(
    match: NDArray[np.float64], features: ConversationFeatures, given: ConversationWeights
) -> ConversationBoost:
    """`match` is how well each candidate matches by itself, in 0..1; so is the score with these signals."""
    lent = np.where(features.neighbours >= 0, match[features.neighbours], 0.0)
    in_session = features.group != NOBODY
    # One place more than there are groups, so that the code of none falls on it.
    best = np.zeros(int(features.group.max(initial=NOBODY)) + 2)
    np.maximum.at(best, features.group, match)
    shares = {
        "neighbours": lent.max(axis=0, initial=0.0),
        "session": best[features.group] * in_session,
        "named": features.named.astype(float),
        "asking": match * features.question_share,
        "answering": lent[0] * features.question_share[features.neighbours[0]],
        "coverage": features.coverage * ~features.alone,
        # Names are no reason to find something that does not match at all.
        "proper_names": features.name_share * (match > 0),
        "when": match * features.tells_when,
    }
    weights = {
        "neighbours": given.neighbours,
        "session": given.session,
        "named": given.named if features.named.any() else 0.0,
        "asking": -given.asking,
        "answering": _ANSWER_PART * given.asking,
        "coverage": given.coverage,
        "proper_names": given.proper_names,
        "when": given.when if features.tells_when.any() else 0.0,
    }
    total = 1 + sum(weight for weight in weights.values() if weight > 0)
    # Where around is no neighbour or no session, a memory itself counts for it.
    own = 1 + features.alone * (given.neighbours + given.coverage) + ~in_session * given.session
    if weights["named"]:
        others = (weights[name] * share for name, share in shares.items() if name not in _OF_MANY)
        shares["named"] *= _likely_meant(match * own + sum(others), features.named)
    worth = np.asarray(1 - given.learned * features.learned, np.float64)
    return ConversationBoost(
        own * worth / total,
        {name: (share * worth).round(DECIMALS) for name, share in shares.items()},
        {name: weight / total for name, weight in weights.items() if weight},
    )
