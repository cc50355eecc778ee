"""Whether a memory holds a word: one answer for concepts, trigger phrases, and what is to be forgotten or erased.

A word is held in any case and inflection. `parseFile` is held whole, or as its parts in order. Signs count to the
letter: `C++` is neither `C` nor `C#`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from perdure.model import Record
from perdure.text.entry import columns_of, fields_of
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import Token, parts_of, query_words, terms, tokens
from perdure.values import value_class

# Behind a single letter these make another word of it: C is not C++.
_SUFFIXES: Final = ("+", "#")


def is_held(wanted: Token, found: Token) -> bool:
    """Whether a word of a text, of the same stem, is the wanted one. Signs that were not asked for do not matter."""
    if wanted.before and not _same_signs(wanted.before[::-1], found.before[::-1]):
        return False
    if wanted.after:
        return _same_signs(wanted.after, found.after)
    return not (_is_letter(wanted) and found.after.startswith(_SUFFIXES))


def _same_signs(wanted: str, found: str) -> bool:
    """From the word outwards: `++` also before other signs, as in `**C++**`, but `+` is not `++`."""
    return found.startswith(wanted) and found[len(wanted) : len(wanted) + 1] != wanted[-1]


def _is_letter(token: Token) -> bool:
    return len(token.word) == 1 and token.word.isascii() and token.word.isalpha()


class HeldWords:
    """The words of one memory, in all the fields that are searched."""

    def __init__(self, record: Record) -> None:
        self._record = record

    @cached_property
    def stems(self) -> Counter[str]:
        """As the index has them."""
        return Counter(terms("\n".join(columns_of(self._record))))

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens("\n".join(fields_of(self._record)))

    @cached_property
    def tokens_of_parts(self) -> list[Token]:
        return tokens("\n".join(fields_of(self._record)), parts=True)


@value_class(slots=False)
class WantedWords:
    """The telling words of a text, each of which a memory must hold."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that an index is asked for: a memory that holds the wanted ones has all of these."""
        return tuple(query_words(self.text))

    @cached_property
    def _exact(self) -> tuple[Token, ...]:
        """Those of which an index does not know all."""
        telling = {word.lower() for word in self.words}
        found = (token for token in tokens(self.text) if token.before or token.after or token.word in telling)
        return tuple(dict.fromkeys(token for token in found if token.before or token.after or _is_letter(token)))

    @cached_property
    def _identifiers(self) -> dict[str, tuple[str, ...]]:
        """The stems of the parts of each word that is made of several."""
        return {word: tuple(terms(" ".join(parts))) for word in self.words if (parts := parts_of(word))}

    @property
    def written(self) -> list[str]:
        """The words for a person to read."""
        exact = [f"{token.before}{token.word}{token.after}" for token in self._exact]
        return exact + [word for word in self.words if word not in {token.word for token in self._exact}]

    @property
    def known_to_index(self) -> bool:
        """Whether every memory that has the words in the index holds them."""
        return not self._exact and not self._identifiers

    def held_by(self, record: Record) -> bool:
        return self.count(HeldWords(record)) > 0

    def count(self, held: HeldWords) -> int:
        """How often a memory holds the words: as often as the rarest of them."""
        exact = {token.word for token in self._exact}
        counts = [
            sum(found.stem == token.stem and is_held(token, found) for found in held.tokens) for token in self._exact
        ]
        for word in self.words:
            if parts := self._identifiers.get(word):
                counts.append(max(held.stems[terms(word)[0]], count_in_order(parts, held.tokens_of_parts)))
            elif word not in exact:
                counts.append(min(held.stems[stem] for stem in terms(word)))
        return min(counts, default=0)


def count_in_order(parts: Sequence[str], found: Sequence[Token]) -> int:
    """How often these stems stand one behind the other; a single stopword may stand between two: `parse the file`."""
    count, at = 0, 0
    while at < len(found):
        end = at
        for part in parts:
            if end > at and found[end : end + 1] and found[end].stem != part and found[end].word in STOPWORDS:
                end += 1
            if not found[end : end + 1] or found[end].stem != part:
                break
            end += 1
        else:
            count += 1
            at = end - 1
        at += 1
    return count
