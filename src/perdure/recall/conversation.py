"""Conversation features: what was said just before and after a memory, its session, and who speaks.

A turn of a conversation says little by itself: what it is about was often said one or two turns before, and a question
is answered by what follows. So a word of the question that it lacks counts in part if a neighbour holds it, and a turn
gains a part of what a neighbour has in advance of it; both the more words it has itself: `Great.` beside an answer is
none. The latter holds between people; a message to an assistant stands by itself, unless
it answers a question. What only asks counts less, and so does what an assistant said, unless that is asked for: people
ask for what they told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

import numpy as np

from perdure.recall.relevance import (
    ANSWERING,
    ASKING,
    ASSISTANT,
    BRIEF,
    BRIEF_OF_SPEAKER,
    FLOOR,
    INTRODUCED,
    MEANT,
    NEIGHBOUR,
    TELLS_WHEN,
    WHOLE_TURN,
)
from perdure.recall.signals import DECIMALS, SignalColumn, total_of
from perdure.text.patterns import pattern
from perdure.text.persons import ROLES, Role
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words, query_words, spelled_out
from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.introduced import IntroducedNames

# How many turns before and after count as neighbours.
REACH: Final = 2
# The code of a row without a speaker or a session.
NOBODY: Final = -1
# Of two things that an assistant said and that are just found, the better one stays before the other by this share.
_STILL_BETTER: Final = 0.02
# The words of a turn that only say when it was and who said it.
_PREFIX_WORDS: Final = 4

# With the possessive, which goes with the name.
_WORD: Final = pattern(r"([^\W_]+)(['’]s\b)?\s*")  # noqa: RUF001 - as it is written
_ASSISTANT_ROLE: Final[frozenset[Role]] = frozenset({"assistant"})
_EVERY_ROLE: Final[frozenset[Role]] = frozenset(get_args(Role))
# Fewer words than these say too little without the name.
_LEAST_WORDS: Final = 2
_STEPS: Final = np.array([*range(-1, -REACH - 1, -1), *range(1, REACH + 1)])[:, np.newaxis]


class NamedSpeakers(NamedTuple):
    """`words` are the names found, folded; `rest` is the query without them. `labelled`: what they say bears such a
    name, which is that of its speaker and not one that they gave to themselves.
    """

    words: frozenset[str]
    rest: str
    labelled: bool = True


class SpeakerIndex:
    """The speakers of a namespace, or the names that they gave to themselves, by code and by each word of them. It is
    only ever added to, so that codes that were handed out stay true.
    """

    def __init__(self, speakers: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._in_role: dict[Role, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}
        self._words: list[frozenset[str]] = []
        self._capitalised: dict[str, bool] = {}
        for speaker in speakers:
            self.code(speaker)

    @property
    def values(self) -> list[str]:
        return list(self._codes)

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
            if role := ROLES.get(speaker.casefold()):
                self._in_role.setdefault(role, []).append(code)
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

    def in_roles(self, roles: Collection[Role]) -> list[int]:
        """The codes of the speakers that are a role and no person."""
        return [code for role in roles for code in self._in_role.get(role, ())]

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
    name, four times the code of it in `names`, two more if it is a nickname, and one if it corrects the names before.
    """

    numbers: NDArray[np.int64]
    alive: NDArray[np.bool_]
    dated: NDArray[np.int64]
    group: NDArray[np.int32]
    speaker: NDArray[np.int32]
    question_share: NDArray[np.float32]
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
        from perdure.recall.introduced import IntroducedNames

        rows = np.flatnonzero((self.introduction != NOBODY) & self.alive & (self.group != NOBODY))
        rows = rows[self.speaker[rows] != NOBODY]
        name, marks = np.divmod(self.introduction[rows], 4)
        return IntroducedNames(
            self.numbers[rows], self.conversation[rows], self.speaker[rows], name, marks % 2 == 1, marks > 1, self.names
        )

    def labels(self, word: str) -> bool:
        """Whether what somebody says bears this name."""
        bearing = self.speakers.bearing(word)
        return bool(bearing) and any(code < len(self._heard) and self._heard[code] for code in bearing)

    def knows(self, word: str) -> bool:
        return self.labels(word) or (self.names.knows(word) and bool(self._introduced.called((word,))))

    def is_capitalised(self, word: str) -> bool:
        return self.speakers.is_capitalised(word) and self.names.is_capitalised(word)

    def said_by(self, rows: NDArray[np.intp], words: Collection[str]) -> NDArray[np.bool_]:
        """Which of the rows are said by somebody of such a name."""
        said = self._said_by_codes(rows, self.speakers.called(words))
        for speaker, conversations in self._introduced.called(words) if any(map(self.names.knows, words)) else ():
            theirs = self.speaker[rows] == speaker
            said |= theirs if conversations is None else theirs & np.isin(self.conversation[rows], conversations)
        return said

    def in_role(self, rows: NDArray[np.intp], roles: frozenset[Role]) -> NDArray[np.bool_]:
        """Which of the rows are said in one of these roles."""
        meant = self._known_roles.get(roles)
        if meant is None:
            meant = self._known_roles[roles] = self._among_speakers(self.speakers.in_roles(roles))
        return meant[self.speaker[rows]]

    @cached_property
    def _known_roles(self) -> dict[frozenset[Role], NDArray[np.bool_]]:
        """Who is in these roles, as far as somebody asked."""
        return {}

    def _said_by_codes(self, rows: NDArray[np.intp], codes: Iterable[int]) -> NDArray[np.bool_]:
        return self._among_speakers(codes)[self.speaker[rows]]

    def _among_speakers(self, codes: Iterable[int]) -> NDArray[np.bool_]:
        """By the code of a speaker: whether it is one of these."""
        # One place more than there are speakers, so that the code of nobody falls on it.
        meant = np.zeros(len(self._heard) + 1, np.bool_)
        meant[[code for code in codes if code < len(self._heard)]] = True
        return meant

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

    @cached_property
    def _facts(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The living rows of what was learned from conversations, in the order of their moments, and these."""
        rows = np.flatnonzero(self.alive & (self.conversation != NOBODY) & (self.group == NOBODY))
        rows = rows[np.argsort(self.dated[rows], kind="stable")]
        return rows, self.dated[rows]

    def facts_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """What may have been learned from these rows: facts of the same conversation that hold from the moment on at
        which a row was said.
        """
        facts, moments = self._facts
        said = self.dated[rows]
        first = np.searchsorted(moments, said, "left")
        counts = np.searchsorted(moments, said, "right") - first
        starts = np.repeat(first - counts.cumsum() + counts, counts)
        found = facts[starts + np.arange(len(starts))]
        return np.unique(found[self.conversation[found] == np.repeat(self.conversation[rows], counts)])

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
    # A role is the name of everything that was said in it, so that it tells nothing.
    labelled = any(speakers.labels(name) for name in names if name not in ROLES for speakers in groups)
    least = _LEAST_WORDS if labelled else 1
    return NamedSpeakers(frozenset(names), rest if len(telling) >= least else text, labelled)


def _fold_word(word: str) -> str:
    if word.isascii():
        return word.lower()
    words = spelled_out(all_words(word))
    return words[0] if words else ""


@value_class
class ConversationFeatures:
    """Of each candidate: the positions of its neighbours among the candidates (-1: none), the share of it that asks,
    whether the query means who says it, whether an assistant says it that is not meant, how much of a whole turn it
    is, whether a person says it and not a role, whether it tells a time that the query asks for, whether it was learned
    from the conversation, whether the query means who says it by their name, and that one which they gave
    to themselves, and what those words of the query are worth that it lacks and its neighbours hold.
    """

    neighbours: NDArray[np.int32]
    question_share: NDArray[np.float64]
    meant: NDArray[np.bool_]
    assistant: NDArray[np.bool_]
    whole: NDArray[np.float64]
    person: NDArray[np.bool_]
    tells_when: NDArray[np.bool_]
    learned: NDArray[np.bool_]
    by_name: NDArray[np.bool_]
    introduced: NDArray[np.bool_]
    worth_around: NDArray[np.float64]

    @classmethod
    def of(  # noqa: PLR0913 - what is known of a turn comes from several places
        cls,
        index: ConversationIndex,
        rows: NDArray[np.intp],
        neighbours: NDArray[np.intp],
        lengths: NDArray[np.uint32],
        *,
        named: NDArray[np.bool_],
        by_name: NDArray[np.bool_],
        introduced: NDArray[np.bool_],
        roles: frozenset[Role],
        tells_when: NDArray[np.bool_],
        worth_around: NDArray[np.float64],
    ) -> ConversationFeatures:
        """Of candidate rows in ascending order and their neighbours; one that is no candidate does not count. `lengths`
        are the words of each, `named` who is named, `by_name` who is named as a person, `introduced` by a name that
        they gave to themselves, `roles` who is meant besides.
        """
        # One place more than there are rows, so that -1 falls on it.
        places = np.full(len(index.numbers) + 1, -1, np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        by_assistant = index.in_role(rows, _ASSISTANT_ROLE)
        meant = named | index.in_role(rows, roles) if roles else named
        in_session = index.group[rows] != NOBODY
        # What nobody said, such as a note or a fact, is as long as it has to be.
        is_said = in_session | (index.speaker[rows] != NOBODY)
        person = ~index.in_role(rows, _EVERY_ROLE)
        return cls(
            places[neighbours],
            index.question_share[rows].astype(np.float64),
            meant,
            by_assistant & ~meant,
            np.where(is_said, ((lengths.astype(np.float64) - _PREFIX_WORDS) / WHOLE_TURN).clip(0.0, 1.0), 1.0),
            person,
            tells_when,
            (index.conversation[rows] != NOBODY) & ~in_session,
            by_name,
            introduced,
            worth_around,
        )

    @classmethod
    def none(cls, count: int) -> ConversationFeatures:
        """Of candidates that stand in no conversation."""
        no, nothing = np.zeros(count, np.bool_), np.zeros(count)
        nobody = np.full((2 * REACH, count), -1, np.int32)
        return cls(nobody, nothing, no, no, np.ones(count), no, no, no, no, no, nothing)

    @classmethod
    def joined(cls, parts: Sequence[ConversationFeatures]) -> ConversationFeatures:
        """Of the candidates of several namespaces, one behind the other."""
        starts = np.cumsum([0, *(len(part.meant) for part in parts[:-1])], dtype=np.int32)
        neighbours = [
            np.where(part.neighbours >= 0, part.neighbours + start, -1)
            for part, start in zip(parts, starts, strict=True)
        ]
        return cls(
            np.concatenate(neighbours, axis=1),
            np.concatenate([part.question_share for part in parts]),
            np.concatenate([part.meant for part in parts]),
            np.concatenate([part.assistant for part in parts]),
            np.concatenate([part.whole for part in parts]),
            np.concatenate([part.person for part in parts]),
            np.concatenate([part.tells_when for part in parts]),
            np.concatenate([part.learned for part in parts]),
            np.concatenate([part.by_name for part in parts]),
            np.concatenate([part.introduced for part in parts]),
            np.concatenate([part.worth_around for part in parts]),
        )


def conversation_columns(
    evidence: NDArray[np.float64],
    features: ConversationFeatures,
    weight: float,
    word_weight: float,
    *,
    asks_who: bool = False,
) -> dict[str, SignalColumn]:
    """What the conversation adds to the evidence that each candidate has by itself. `word_weight` is what a unit of
    BM25 adds. `asks_who`: nothing is asked but who somebody is.
    """
    brief = np.where(features.by_name & ~features.introduced, BRIEF_OF_SPEAKER, BRIEF) if asks_who else BRIEF
    brevity = 1.0 - features.whole
    own: dict[str, SignalColumn] = {}
    if features.meant.any():
        # All that a user says is said by the user: that makes nothing an answer.
        meant = features.meant & (features.by_name | (evidence >= 0))
        each_weight = weight * np.where(features.introduced & features.person, INTRODUCED, MEANT)
        own["named"] = SignalColumn(features.meant, meant.astype(float), each_weight, optional=True)
    if features.assistant.any():
        said = features.assistant.astype(float)
        own["assistant"] = SignalColumn(features.assistant, said, weight * ASSISTANT, optional=True)
    own["brief"] = SignalColumn(brevity, brevity, weight * brief, optional=True)
    if features.tells_when.any():
        tells = features.tells_when.astype(float)
        own["when"] = SignalColumn(features.tells_when, tells, weight * TELLS_WHEN, optional=True)
    if features.question_share.any():
        own["asking"] = SignalColumn(features.question_share, features.question_share, weight * ASKING, optional=True)
    own_evidence = evidence
    for column in own.values():
        evidence = evidence + np.asarray(column.weight * column.share)
    around = features.neighbours
    # What a neighbour has in advance: nothing where there is none.
    ahead = np.where(around >= 0, np.maximum(evidence[around] - evidence, 0.0), 0.0)
    lends: dict[str, SignalColumn] = {}
    if features.person.any():
        lent = features.whole * features.person * (ahead * features.person[around]).max(axis=0, initial=0.0)
        lends["neighbours"] = SignalColumn(lent, lent.round(DECIMALS), weight * NEIGHBOUR, optional=True)
    if "asking" in own:
        answered = features.whole * ahead[0] * features.question_share[around[0]]
        lends["answering"] = SignalColumn(answered, answered.round(DECIMALS), weight * ANSWERING, optional=True)
    if features.worth_around.any():
        words_around = (features.whole * features.worth_around).round(DECIMALS)
        lends["around"] = SignalColumn(features.worth_around, words_around, weight * word_weight, optional=True)
    columns = own | lends
    if "assistant" in own:
        lost = own_evidence + np.asarray(total_of(columns))
        columns["assistant"] = still_found(own["assistant"], own_evidence, lost, features.whole)
    return columns


def still_found(
    assistant: SignalColumn, before: NDArray[np.float64], after: NDArray[np.float64], whole: NDArray[np.float64]
) -> SignalColumn:
    """What it takes from a message that an assistant says it. What is more than a phrase, and fits by its evidence
    before that, is still found: behind what others said, the better ones first.
    """
    lifted = np.maximum(FLOOR + _STILL_BETTER * (before - FLOOR) - after, 0.0) * ((before > FLOOR) & (whole == 1.0))
    taken = -np.asarray(assistant.weight * assistant.share)
    share = np.where(taken > 0, np.maximum(1.0 - lifted / np.maximum(taken, 1e-9), 0.0), 0.0)
    return assistant._replace(share=share * np.asarray(assistant.share))
