"""What is told without a verb: `wedding on the 12th of September`, `flowers: peonies everywhere`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.learn.rules.english.clause_heads import ReadWord, has_verb, tokens_of
from perdure.learn.rules.english.moods import MOODS
from perdure.learn.rules.english.verbs import BASE, is_adverb, is_past
from perdure.text.keyword_words import FUNCTION_WORDS

_ENGLISH: Final = FUNCTION_WORDS["en"]
_MOST_WORDS: Final = 18
_FEWEST_WORDS: Final = 3
_LABEL: Final = re.compile(r"(?P<label>(?:my |our |the )?(?:[\w'-]+ ){0,2}[\w'-]+): (?P<value>\S.*)")
_NO_LABELS: Final = frozenset(
    "note notes ps example question answer edit update fyi warning todo rule rules error".split()
)
_NOUN_PHRASE: Final = re.compile(
    r"(?P<noun>(?:(?:the|my|our|a|an) )?[\w'-]+(?: [\w'-]+){0,3}?),? (?:(?:the )?\d+(?:st|nd|rd|th)\b|on|in|at|from"
    r"|for|until|since|with|of|near|by)\b.+",
    re.IGNORECASE,
)
# So much, or so long, of something; what is when.
_AMOUNT: Final = (
    r"(?:(?:about|around|only|almost|over) )?(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
)
_MEASURE: Final = re.compile(
    rf"{_AMOUNT} ?[a-z]+s? (?:in|left|so far|done|total|without|at|per|a (?:day|week|month|year))(?: (?!a row)\S.*)?$",
    re.IGNORECASE,
)
_SCHEDULE: Final = re.compile(
    rf"(?:(?:in the (?:morning|evening|afternoon)|at (?:night|noon)|every (?:day|morning|evening|night|\w+day)"
    rf"|on \w+days)"
    rf"[:,]? (?:{_AMOUNT}|half|no|only)\b.+|(?:mon|tues|wednes|thurs|fri|satur|sun)days? (?:at )?\d.*)",
    re.IGNORECASE,
)
_BORN: Final = re.compile(r"([A-Z][\w'-]+), born\b")
_SPECIFIC: Final = re.compile(r"\d|\s[A-Z]\w")


class Note(NamedTuple):
    """`text` as it was said, with whom it is about before it where nothing else says so."""

    text: str
    subject: str


def read_note(text: str, tokens: Sequence[ReadWord]) -> Note | None:
    """None where it says nothing in particular: a name or a number has to be in it."""
    if not _FEWEST_WORDS <= len(tokens) <= _MOST_WORDS or not _UNCLEAR.isdisjoint(token.word for token in tokens):
        return None
    if label := _LABEL.fullmatch(text):
        return _labelled(label)
    if born := _BORN.match(text):
        return Note(f"{born[1]} was {text[born.end() - len('born') :]}", born[1])
    if not has_verb(tokens) and (_MEASURE.match(text) or _SCHEDULE.match(text)):
        return Note(f"I: {text}", "")
    return _noun_phrase(text, tokens)


def _noun_phrase(text: str, tokens: Sequence[ReadWord]) -> Note | None:
    first = tokens[0].word
    owned = first in _OWNERS
    noun = tokens[1] if owned else tokens[0]
    if noun.word in _ENGLISH or noun.word in MOODS or (not owned and (noun.word in BASE or is_past(noun.word))):
        return None
    phrase = _NOUN_PHRASE.fullmatch(text)
    acts = is_adverb(noun.word) or (noun.word.endswith("ing") and noun.word[:-3] in BASE)
    if acts or phrase is None or not _SPECIFIC.search(text, 1):
        return None
    return Note(f"I: {text}" if first[0].isdigit() else text, phrase["noun"].lower())


def _labelled(label: re.Match[str]) -> Note | None:
    words = label["label"].lower().split()
    value = tokens_of(label["value"])
    content = [token for token in value if token.word not in _ENGLISH and token.word not in MOODS]
    if words[0] in BASE or words[0] in _ENGLISH - _OWNERS or not _NO_LABELS.isdisjoint(words) or not content:
        return None
    is_clause = has_verb(value) or value[0].word in BASE
    return None if is_clause else Note(label[0], label["label"].lower())


_OWNERS: Final = frozenset(("my", "our", "the", "a", "an"))
_UNCLEAR: Final = frozenset(
    "it it's that that's this them these those you your he she they i i'm we who what which if".split()
)
