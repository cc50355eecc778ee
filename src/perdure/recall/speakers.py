"""Speakers that a query names. A name says who is meant, not what: it leaves the query before that is embedded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words, query_words

# With the possessive, which goes with the name.
_WORD: Final = re.compile(r"([^\W_]+)(['’]s\b)?\s*")  # noqa: RUF001 - as it is written
# Fewer words than these say too little without the name.
_LEAST_WORDS: Final = 2


class NamedSpeakers(NamedTuple):
    """`words` are the names found, folded; `rest` is the query without them."""

    words: frozenset[str]
    rest: str


class KnownSpeakers(Protocol):
    """The speakers of one namespace."""

    def knows(self, word: str) -> bool: ...

    def is_capitalised(self, word: str) -> bool: ...


class SpeakerIndex:
    """The speakers of a namespace, by code and by each word of their names. It is only ever added to, so that codes
    that were handed out stay true.
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
            words = frozenset(all_words(speaker)) - STOPWORDS
            self._words.append(words)
            for word in words:
                self._by_word.setdefault(word, []).append(code)
                self._capitalised[word] = self._capitalised.get(word, True) and not speaker.islower()
            self._codes[speaker] = code
        return code

    def knows(self, word: str) -> bool:
        return word in self._by_word

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


def find_speakers(text: str, known: Iterable[KnownSpeakers]) -> NamedSpeakers:
    """The words of a query that are names of speakers, and the query without them, unless too little is left of it."""
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
    return NamedSpeakers(frozenset(names), rest if len(telling) >= _LEAST_WORDS else text)


def _fold_word(word: str) -> str:
    words = all_words(word)
    return words[0] if words else ""
