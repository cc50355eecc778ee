"""Whom a question names. A name says who is meant, not what: it leaves the question before its meaning is compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from perdure.text.stopwords import STOPWORDS
from perdure.text.words import all_words, query_words

# With the possessive, which goes with the name.
_WORD: Final = re.compile(r"([^\W_]+)(['’]s\b)?\s*")  # noqa: RUF001 - as it is written
# Fewer words than these say too little without the name.
_LEAST_WORDS: Final = 2


class Named(NamedTuple):
    """`words` are the names found, folded; `rest` is the question without them."""

    words: frozenset[str]
    rest: str


class Names(Protocol):
    """Who may be named."""

    def knows(self, word: str) -> bool: ...

    def written_large(self, word: str) -> bool: ...


class Speakers:
    """Who speaks in a namespace, by a small number, and by each word of the name. Only ever added to, so that what was
    handed out stays true.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._by_word: dict[str, list[int]] = {}
        self._words: list[frozenset[str]] = []
        self._cased: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self._words)

    def code(self, speaker: str) -> int:
        found = self._codes.get(speaker)
        if found is None:
            found = len(self._words)
            words = frozenset(all_words(speaker)) - STOPWORDS
            self._words.append(words)
            for word in words:
                self._by_word.setdefault(word, []).append(found)
                self._cased[word] = self._cased.get(word, True) and not speaker.islower()
            self._codes[speaker] = found
        return found

    def knows(self, word: str) -> bool:
        return word in self._by_word

    def bearing(self, word: str) -> Sequence[int]:
        """Who has this word in the name."""
        return self._by_word.get(word, ())

    def written_large(self, word: str) -> bool:
        """Whether it is a name only with a capital letter: `Will`, but not `user`."""
        return self._cased.get(word, True)

    def called(self, words: Collection[str]) -> list[int]:
        """Whoever bears one of these names; of those who share one, whoever is called by the most."""
        found: set[int] = set()
        asked = frozenset(words)
        for word in asked:
            shared = [(len(self._words[code] & asked), code) for code in self.bearing(word)]
            most = max((count for count, _ in shared), default=0)
            found.update(code for count, code in shared if count == most)
        return sorted(found)


def find_names(text: str, everyone: Iterable[Names]) -> Named:
    """The words of the question that are names of those who speak."""
    groups = list(everyone)
    if not groups:
        return Named(frozenset(), text)
    small = text == text.lower()
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = _folded(match[1])
        for speakers in groups:
            if speakers.knows(word) and (small or match[1][0].isupper() or not speakers.written_large(word)):
                found.add(word)
    return Named(frozenset(found), _without(text, found.__contains__) if found else text)


def _without(text: str, is_name: Callable[[str], bool]) -> str:
    rest = _WORD.sub(lambda match: "" if is_name(_folded(match[1])) else match[0], text).strip()
    telling = [word for word in query_words(rest) if word not in STOPWORDS]
    return rest if len(telling) >= _LEAST_WORDS else text


def _folded(word: str) -> str:
    words = all_words(word)
    return words[0] if words else ""
