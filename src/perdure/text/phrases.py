"""Exact phrases: what stands in quotation marks in a question has to stand so in a memory.

In a long text, or one of several lines, quotation marks mean nothing: it was written for somebody else, or is code.
Case, accents and white space do not matter, everything else does; but `parseFile` and `parse file` are the same. A
phrase is made of whole words, but for scripts that put no space between them. Pure functions.
"""

from __future__ import annotations

import unicodedata
from typing import Final, NamedTuple

from perdure.model import Record
from perdure.text.entry import speaker_and_date
from perdure.text.patterns import pattern
from perdure.text.words import OPTIONAL_MARKS, all_words, is_identifier, split_identifiers, unspaced

# More than a question needs. The marks of those beyond are just text.
MAX_PHRASES: Final = 8
# With more words around its phrases a question is a text that quotes.
MOST_WORDS_AROUND: Final = 24

_MARKS: Final = frozenset('"“”„«»「」『』')
# Behind a letter or a digit a straight mark opens nothing (5" x 3"), and before one it closes nothing.
_QUOTED: Final = pattern(
    '(?<![A-Za-z0-9])"([^"]+)"(?![A-Za-z0-9])|“([^“”„]+)”|„([^“”„]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』'
)
_ACCENTS: Final = pattern("[\u0300-\u036f]")
_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")


class QuotedText(NamedTuple):
    """A query without its quotation marks, the part of it that is not quoted, and the phrases that are."""

    text: str
    unquoted: str
    phrases: tuple[str, ...] = ()


def split_phrases(query: str) -> QuotedText:
    """A mark without its partner, and marks around no word, are just text; so are all in a text that quotes."""
    if _MARKS.isdisjoint(query):
        return QuotedText(query, query)
    phrases: dict[str, None] = {}
    text: list[str] = []
    rest: list[str] = []
    start = 0
    for match in _QUOTED.finditer(query):
        phrase = next(filter(None, match.groups()))
        if len(phrases) < MAX_PHRASES and all_words(phrase):
            phrases[phrase] = None
            before = query[start : match.start()]
            text += [before, phrase]
            rest.append(before)
            start = match.end()
    unquoted = " ".join([*rest, query[start:]])
    if "\n" in unquoted.strip() or len(unquoted.split()) > MOST_WORDS_AROUND:
        return QuotedText(query, query)
    return QuotedText(" ".join([*text, query[start:]]).strip(), unquoted, tuple(phrases))


def fold(text: str) -> str:
    """The same for two texts that differ in case, accents, white space or the form of the characters alone."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        apart = OPTIONAL_MARKS.sub("", _ACCENTS.sub("", apart))
        text = unicodedata.normalize("NFKC", apart).translate(_APOSTROPHES)
    return " ".join(text.casefold().split())


def contains_phrase(phrase: str, text: str) -> bool:
    """Both folded. Where the phrase begins and ends, no word may go on."""
    at = text.find(phrase)
    while at >= 0:
        if not _goes_on(text, at) and not _goes_on(text, at + len(phrase)):
            return True
        at = text.find(phrase, at + 1)
    return False


def spellings(text: str) -> tuple[str, ...]:
    """The text folded, and, where a word of it is made of several, folded with these apart."""
    return (fold(text), fold(split_identifiers(text))) if is_identifier(text) else (fold(text),)


def has_phrases(record: Record, phrases: tuple[tuple[str, ...], ...]) -> bool:
    """Whether each of the phrases, given in its spellings, stands in one of the fields that are searched."""
    if not phrases:
        return True
    alone = (record.title, record.reasoning, record.category, record.anchor_id, record.spec_folder)
    listed = (*record.keywords, *record.trigger_phrases, *record.tags)
    written = [spellings(field) for field in (speaker_and_date(record) + record.text, *alone, *listed) if field]
    fields = [text for texts in written for text in texts]
    return all(any(contains_phrase(phrase, field) for field in fields for phrase in forms) for forms in phrases)


def _goes_on(text: str, at: int) -> bool:
    """Whether a word goes on from the character before this place to the one after it."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after in "+#":
        # C is not C++, and C+ is not either.
        return before == after or (before.isalpha() and not text[max(at - 2, 0) : at - 1].isalnum())
    return before.isalnum() and after.isalnum() and not unspaced(before) and not unspaced(after)
