"""A text that is longer than a model reads, cut into windows that it reads one by one.

No tokenizer takes part: the same text gives the same windows in every process, so their offsets need not be stored.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from unicodedata import category

from perdure.text.entry import Passage
from perdure.text.patterns import pattern

# Of a longer text the beginning is embedded, about 100 kB of English. Its words are all found.
MAX_WINDOWS: Final = 256
# To embed more takes seconds: nobody who writes or asks waits for that, `work` does it.
FEW_WINDOWS: Final = 128

# What a tokenizer takes for one or a few tokens. Latin letters stand together; elsewhere each character is one.
_PIECE: Final = pattern(
    "(?s:([a-zA-Z\u00c0-\u024f]{1,64})|([0-9]{1,64})|(\\s{1,64})|[\U0001f1e6-\U0001f1ff]{2}|.)"  # two make a flag
)
_WORD: Final = pattern("[a-zA-Z\u00c0-\u024f]+")
_DIGITS_PER_TOKEN: Final = 3
# English tokenizers cut the words of other languages, and names in code, into smaller parts.
_LETTERS_PER_TOKEN: Final = 7
_FOREIGN_LETTERS_PER_TOKEN: Final = 3
_ENGLISH: Final = frozenset(
    "a and are as at be for have i in is it my of on or that the this to was we with you".split()
)
# Of an English text a quarter or more are among those words, of a German one hardly any.
_ENGLISH_SHARE: Final = 12
_WORDS_LOOKED_AT: Final = 512
# What fits by this estimate hardly ever has more tokens than the model reads.
_FITTING_SHARE: Final = 0.875
# Of a text that does not fit, a window has half of that, about 400 characters of English: among five other paragraphs
# the one that is asked for is hardly heard.
_WINDOW_SHARE: Final = _FITTING_SHARE / 2
# Spaces cost nothing, but a window has an end.
_CHARACTERS_PER_TOKEN: Final = 8
_SENTENCE_END: Final = frozenset(".!?\u2026\u061f\u06d4\u0964\u0965\u3002\uff01\uff1f\uff61")
_NEEDS_NO_SPACE: Final = frozenset("\u3002\uff01\uff1f\uff61")
# How well a text can be cut at a place, best last.
_ANYWHERE, _WORD_END, _SENTENCE, _PARAGRAPH = range(4)
# Where a paragraph had to be cut, a window begins with what the one before it ended with: at most this share of it.
_OVERLAP_SHARE: Final = 8
# What a reader takes for one character has several code points, but never more.
_LONGEST_CHARACTER: Final = 32
_JOINER: Final = "\u200d"
# By their Unicode category: accents and vowel signs, joiners, halves of surrogate pairs, skin tones.
_CONTINUING: Final = frozenset({"Mn", "Mc", "Me", "Cf", "Cs", "Sk"})


class Window(NamedTuple):
    """What is embedded, and from where to where it stands in the text of the memory. Where `start` is `end`, it holds
    keywords alone.
    """

    text: str
    start: int
    end: int


class _Cut(NamedTuple):
    """A place between two pieces, what the text costs up to there, and how well it can be cut there."""

    at: int
    cost: int
    quality: int


def windows(passage: Passage, tokens: int | None) -> list[Window]:
    """The passage as one window if a model that reads so many tokens reads all of it, or without a limit. Else each
    window begins as the passage does (date, speaker, title), and holds a part of the text. Together they hold all of
    it, in its order, unless there would be more than `MAX_WINDOWS`.
    """
    whole, size = "".join(passage), len(passage.text)
    if tokens is None:
        return [Window(whole, 0, size)]
    fitting = int(tokens * _FITTING_SHARE)
    # No character is more than one token.
    if len(whole) <= fitting:
        return [Window(whole, 0, size)]
    words = _WORD.findall(whole[: _WORDS_LOOKED_AT * _CHARACTERS_PER_TOKEN].lower())
    is_english = _ENGLISH_SHARE * sum(word in _ENGLISH for word in words) >= len(words)
    letters = _LETTERS_PER_TOKEN if is_english else _FOREIGN_LETTERS_PER_TOKEN
    beginning = whole[: fitting * _CHARACTERS_PER_TOKEN]
    if len(beginning) == len(whole) and _cuts(beginning, letters)[-1].cost <= fitting:
        return [Window(whole, 0, size)]
    most = int(tokens * _WINDOW_SHARE)
    found: list[Window] = []
    cuts = _cuts(passage.head[: most * _CHARACTERS_PER_TOKEN], letters)
    head = passage.head[: max(cut.at for cut in cuts if cut.cost <= most // 2)]
    room = most - max(cut.cost for cut in cuts if cut.cost <= most // 2)
    body = passage.text + passage.keywords
    cuts = _cuts(body[: MAX_WINDOWS * room * _CHARACTERS_PER_TOKEN], letters)
    first, last = 0, len(cuts) - 1
    while first < last and len(found) < MAX_WINDOWS:
        end, first, start = *_next(cuts, first, room), cuts[first].at
        part = body[start : cuts[end].at].lstrip()
        start = cuts[end].at - len(part)
        part = part.rstrip()
        if part:
            found.append(Window(head + part, min(start, size), min(start + len(part), size)))
    return found or [Window(whole, 0, size)]


def takes_long(passage: Passage, tokens: int | None) -> bool:
    """Whether there are more windows than somebody waits for."""
    if tokens is None or len(passage.text) <= FEW_WINDOWS * tokens:
        return False
    return len(windows(passage, tokens)) > FEW_WINDOWS


def _next(cuts: list[_Cut], first: int, room: int) -> tuple[int, int]:
    """Where the window ends that begins at this place, and where the one after it begins. The last two share what is
    left, so that none is a mere rest.
    """
    begin, last = cuts[first], len(cuts) - 1
    left = cuts[last].cost - begin.cost
    most = room if left <= room else min(room, left // 2 + room // _OVERLAP_SHARE)
    end = first + 1
    while (
        end < last
        and cuts[end + 1].cost - begin.cost <= most
        and cuts[end + 1].at - begin.at <= most * _CHARACTERS_PER_TOKEN
    ):
        end += 1
    if end == last:
        return end, end
    second_half = range((first + end) // 2 + 1, end + 1)
    end = max(second_half, key=lambda place: (cuts[place].quality, place))
    following = end
    if cuts[end].quality < _PARAGRAPH:
        # The last sentence of this window if it is short, else, inside a sentence, some of its last words.
        while following > first + 1 and cuts[end].cost - cuts[following - 1].cost <= room // _OVERLAP_SHARE:
            following -= 1
        shared = range(following, end + 1)
        following = max(shared, key=lambda place: (min(cuts[place].quality, _SENTENCE), -place))
    return end, following


def _cuts(text: str, letters_per_token: int) -> list[_Cut]:
    """Every place where the text can be cut, its beginning and its end among them."""
    cuts = [_Cut(0, 0, _PARAGRAPH)]
    cost, before = 0, ""
    for piece in _PIECE.finditer(text):
        at, this, quality = piece.start(), piece[0], _ANYWHERE
        if before.isspace():
            quality = _WORD_END
            if before.count("\n") > 1:
                quality = _PARAGRAPH
            elif "\n" in before or text[max(0, at - len(before) - 1)] in _SENTENCE_END:
                quality = _SENTENCE
        elif before in _NEEDS_NO_SPACE:
            quality = _SENTENCE
        if piece[3] is None:
            inside = not this.isascii() and (before.endswith(_JOINER) or category(this[0]) in _CONTINUING)
            if at and (not inside or at - cuts[-1].at > _LONGEST_CHARACTER):
                cuts.append(_Cut(at, cost, quality))
            per_token = letters_per_token if piece[1] else _DIGITS_PER_TOKEN if piece[2] else 1
            cost += -(-len(this) // per_token)
        before = this
    cuts.append(_Cut(len(text), cost, _PARAGRAPH))
    return cuts
