"""One text as it is compared with another: its words, and which of them are names and numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

from perdure.text.english import is_common
from perdure.text.figures import numbers_in, read_figure
from perdure.text.question_share import QUESTION_MARKS
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import HUMPED, UNSPACED, clean, fold_letters, terms

_TOKEN: Final = re.compile(
    r"(?:(?<![\w.)])[-+])?[0-9]+(?:[.,:/-][0-9]+)*(?:%|[^\W\d_]+)?"  # a number, a date, a time of day
    r"|\w+(?:[.:@_]\w+)*[+#]*"  # a word, an identifier, a file, C++
    r"|[<>≤≥=≠→←↑↓$€£¥₹]"
    r"|[\U000f0000-\U0010ffff]"  # an emoji, as `fold_letters` leaves it
)
_DOTTED: Final = re.compile(r"\b(?:[A-Z]\.){2,}")
_CONTRACTED: Final = re.compile(r"\b(?:wo|ca)(?=n't\b)|(?:n't|\Bnnot|'(?:s|d|m|re|ve|ll))\b", re.IGNORECASE)
_LONG_FORMS: Final = {
    "wo": "will", "ca": "can", "n't": " not", "nnot": "n not", "'m": " am", "'re": " are", "'ve": " have",
    "'ll": " will",
}  # fmt: skip
_NO_MORE: Final = re.compile(
    r"\b(?:no|not) (?:(more|greater|larger|later|longer)|(?:less|fewer|earlier)) than\b", re.IGNORECASE
)
_DATE: Final = re.compile(
    r"\b([12][0-9]{3})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?(?:[T ](?=[0-9])|\b)", re.ASCII
)
_UNIT: Final = re.compile(
    r"(?<![\w.,:/-])([-+]?[0-9]+(?:[.,][0-9]+)*)(?!(?:st|nd|rd|th)\b)(?=[a-zA-Z]{1,3}\b)", re.ASCII
)
_HOUR: Final = re.compile(r"\b(1[0-2]|0?[1-9])(?:[:.]([0-5][0-9]))?\s?([ap])\.?m\b\.?", re.ASCII | re.IGNORECASE)
_MONTHS: Final = "january february march april may june july august september october november december".split()
# Where the name of a people is not that of its country with an ending.
_COUNTRIES: Final = {
    "US": "america", "USA": "america", "UK": "britain", "British": "britain", "Spanish": "spain", "French": "france",
    "German": "germany", "Greek": "greece", "Danish": "denmark", "Swedish": "sweden", "Polish": "poland",
    "Turkish": "turkey", "Swiss": "switzerland", "Irish": "ireland", "Scottish": "scotland", "Finnish": "finland",
    "Thai": "thailand", "Norwegian": "norway", "Dutch": "netherlands", "Filipino": "philippines",
    "Afghan": "afghanistan", "Icelandic": "iceland", "Welsh": "wales", "Israeli": "israel", "Argentine": "argentina",
    "Peruvian": "peru",
}  # fmt: skip
_BEFORE_A_SENTENCE: Final = frozenset(".!?:;\n")
_OPENING: Final = " \"'“‘(«*_"  # noqa: RUF001 - as they are written
# In a headline common words have a capital letter, too, or all have: it tells nothing.
_COMMON_WITH_CAPITALS: Final = 2
_SHORTEST_HEADLINE: Final = 4
# Titles and the forms of companies are no names.
_TITLES: Final = frozenset("capt co corp dr gen gmbh inc llc ltd mr mrs ms plc rev st".split())
_NO_NAMES: Final = ("any", "every", "no", "one", "some")
_INDEFINITE: Final = frozenset(
    "a an eight five four many nine one seven several six some somebody someone ten three two".split()
)
_SINGULAR: Final = frozenset("can could did does had has is said says was will would".split())


class Claim(NamedTuple):
    """Its words as they are `spelled`, in lower case, and their stems, in order. `names` are stems. `subject` is the
    first word where that may be a name: every sentence begins with a capital letter. `is_indefinite`: it begins as
    `A man` does, and may be about another one than the next text that begins so.
    """

    spelled: list[str]
    words: list[str]
    stems: list[str]
    counts: Counter[str]
    names: frozenset[str]
    numbers: Counter[str]
    subject: str
    is_question: bool
    is_headline: bool
    is_indefinite: bool

    def spell(self, *stems: str) -> tuple[str, ...]:
        """The words that have these stems, in order."""
        return tuple(dict.fromkeys(word for word, stem in zip(self.words, self.stems, strict=True) if stem in stems))


def read_claim(text: str) -> Claim:
    text = spell_out(text)
    found = list(_TOKEN.finditer(text))
    spelled = [match[0] for match in found]
    words = [_COUNTRIES.get(word) or word.lower() for word in spelled]
    plain = [word for word in words if word.isascii() and word.isalpha()]
    stem_of = dict(zip(plain, terms(" ".join(plain)), strict=True))
    stems = [stem_of.get(word, word) for word in words]
    common = sum(word[0].isupper() and is_common(word.lower()) for word in spelled[1:])
    is_headline = common >= _COMMON_WITH_CAPITALS or (
        len(spelled) >= _SHORTEST_HEADLINE and not any(word[0].islower() for word in spelled)
    )
    names = frozenset(
        stem
        for match, word, stem in zip(found, words, stems, strict=True)
        if word not in _TITLES
        and (
            (not is_headline and _has_capital(text, match))
            if word.isalpha()
            else read_figure(word) is None and any(map(str.isalpha, word))
        )
    )
    return Claim(
        spelled,
        words,
        stems,
        Counter(stems),
        names,
        Counter(numbers_in(words)),
        words[0] if _is_name_of_somebody(spelled, words) else "",
        is_question=any(mark in text for mark in QUESTION_MARKS),
        is_headline=is_headline,
        is_indefinite=_begins_indefinite(words),
    )


def _begins_indefinite(words: list[str]) -> bool:
    if words[:1] == ["there"]:
        words = words[2:]
    return bool(words) and (words[0] in _INDEFINITE or words[0].isdigit())


def spell_out(text: str) -> str:
    """Contractions, dates, times of day and dotted names in one form; the characters of an unspaced script apart."""
    text = clean(text)
    if not text.isascii():
        text = UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", fold_letters(text))
        text = text.replace("’", "'").replace("−", "-")  # noqa: RUF001 - as they are written
    if "'" in text or "annot" in text:
        text = _CONTRACTED.sub(lambda short: _LONG_FORMS.get(short[0].lower(), ""), text)
    if " than" in text:
        text = _NO_MORE.sub(lambda bound: "at most" if bound[1] else "at least", text)
    if "." in text:
        text = _DOTTED.sub(lambda dotted: dotted[0].replace(".", "") + " ", text)
    if any(map(str.isdigit, text)):
        text = _DATE.sub(lambda date: f"{(date[3] or '').lstrip('0')} {_MONTHS[int(date[2]) - 1]} {date[1]} ", text)
        text = _HOUR.sub(lambda hour: f"{int(hour[1]) % 12 + 12 * (hour[3] in 'pP'):02}:{hour[2] or '00'}", text)
        text = _UNIT.sub(r"\1 ", text)
    return text


def _has_capital(text: str, word: re.Match[str]) -> bool:
    """Whether it has one that is not there because a sentence begins, as `camelCase` has."""
    if not word[0][0].isupper() or len(word[0]) == 1:
        return HUMPED.search(word[0]) is not None
    before = text[max(0, word.start() - 4) : word.start()].rstrip(_OPENING)[-1:]
    return before != "" and before not in _BEFORE_A_SENTENCE


def _is_name_of_somebody(spelled: list[str], words: list[str]) -> bool:
    """Whether the text begins as `Ann likes` does, and neither as `A dog` nor as `Dogs are`."""
    if len(words) == 1 or not words or not spelled[0][0].isupper():
        return False
    if words[0] in STOPWORDS or words[0].startswith(_NO_NAMES):
        return False
    return words[1] in _SINGULAR or words[1].endswith(("s", "ed"))
