"""Where the subject of an English clause ends and its verb begins, by word lists and the order of words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from perdure.learn.rules.english.verbs import BASE, MODALS, PARTICIPLES, is_adverb, is_past, third_person
from perdure.text.english import is_common
from perdure.text.keyword_words import FUNCTION_WORDS

Kind = Literal["self", "you", "person", "thing_pronoun", "there", "own", "name", "thing"]
"""Who it is: the speaker, the listener, `he` or `she`, `it` and the like, `there`, somebody or something of the
speaker's, somebody or something with a name, or something else.
"""


class ReadWord(NamedTuple):
    """A word in lower case, as it is spelled, where it stands, and whether a sign stands before it."""

    word: str
    spelled: str
    start: int
    end: int
    breaks: bool


class Head(NamedTuple):
    """`subject` is where the subject begins, `end` is behind it and `verb` is its verb, all as places of tokens. A
    contraction such as `I'm` or `Ben's` is the end of its subject and its verb: `verb` is the place of it then.
    """

    kind: Kind
    subject: int
    end: int
    verb: int
    is_plural: bool = False


def tokens_of(text: str) -> list[ReadWord]:
    found: list[ReadWord] = []
    end = 0
    for match in WORD.finditer(text):
        breaks = text[end : match.start()] != " " and bool(_SIGN.search(text, end, match.start()))
        found.append(ReadWord(match[0].lower(), match[0], match.start(), match.end(), breaks))
        end = match.end()
    return found


def find_head(tokens: Sequence[ReadWord], at: int = 0) -> Head | None:
    """The head of the clause that begins there; None where no clause does."""
    if at >= len(tokens):
        return None
    first = tokens[at].word
    stem, apostrophe, ending = first.partition("'")
    if stem in _PRONOUNS and (not apostrophe or ending in _CONTRACTIONS):
        return of_pronoun(tokens, at, _PRONOUNS[stem], contracted=bool(apostrophe))
    return of_noun(tokens, at)


def find_late_head(tokens: Sequence[ReadWord]) -> Head | None:
    """The head of a clause that begins with words of time, place or manner: `on Tuesdays I go bouldering`."""
    if not tokens or not may_lead(tokens[0]):
        return None
    for at in range(1, min(len(tokens), _LONGEST_LEAD)):
        token = tokens[at]
        starts = token.word.partition("'")[0] in _PRONOUNS or token.word in _OWNERS or token.word == "the"
        if (starts or token.breaks) and tokens[at - 1].word not in _PREPOSITIONS:
            head = find_head(tokens, at)
            if head:
                return head
    return None


def has_verb(tokens: Sequence[ReadWord]) -> bool:
    """Whether there is any finite verb in it, whoever it belongs to."""
    if any(token.word in STRONG or is_past(token.word) for token in tokens):
        return True
    return any(token.word in _NEW_SUBJECTS for token in tokens) or (len(tokens) > 1 and find_head(tokens) is not None)


def may_be_finite(word: str) -> bool:
    return word in STRONG or word in THIRD or is_past(word)


def may_lead(token: ReadWord) -> bool:
    word = token.word
    return word in _LEADS or word in _PREPOSITIONS or is_adverb(word) or _DAY.fullmatch(word) is not None


def of_pronoun(tokens: Sequence[ReadWord], at: int, kind: Kind, *, contracted: bool) -> Head | None:
    if contracted:
        return Head(kind, at, at + 1, at) if at + 1 < len(tokens) else None
    plural = tokens[at].word in {"they", "these", "those"}
    for place in range(at + 1, min(at + 5, len(tokens))):
        word = tokens[place].word
        if word in {"and", "or"} and place == at + 1:
            # `I and my sister love`.
            return next((Head(kind, at, verb, verb, is_plural=True) for verb in verbs(tokens, place + 1)), None)
        if tokens[place].breaks and not is_adverb(word):
            return None
        if is_adverb(word) and not may_be_finite(word):
            continue
        first = kind in {"self", "you"} or plural
        fits = word in STRONG or is_past(word) or word in (BASE if first else THIRD) or word in _BEFORE_ANY
        return Head(kind, at, place, place, plural) if fits else None
    return None


def verbs(tokens: Sequence[ReadWord], at: int) -> list[int]:
    found = range(at + 1, min(at + _LONGEST_SUBJECT, len(tokens)))
    return [place for place in found if tokens[place].word in STRONG or tokens[place].word in BASE][:1]


def of_noun(tokens: Sequence[ReadWord], at: int) -> Head | None:
    """The first verb behind a noun, or a form of `be` or `have` right behind it: `the used car is red`."""
    kind = kind_of_noun(tokens[at], begins=at == 0)
    if kind is None:
        return None
    led = tokens[at].word in _DETERMINERS or tokens[at].word in _OWNERS
    for place, plural, inside in noun_phrase(tokens, at + led):
        word, is_first = tokens[place].word, place == at + led
        if word.endswith("'s") and is_contraction(tokens, place):
            return Head(kind, at, place + 1, place, plural)
        if is_first or not (word in STRONG or is_verb(tokens, place, plural=plural, led=led, inside=inside)):
            continue
        if word in STRONG and tokens[place - 1].word in _JOINS:
            continue
        verb = place if word in STRONG else later_verb(tokens, place)
        return Head(kind, at, without_adverbs(tokens, at, verb), verb, plural)
    return None


def kind_of_noun(token: ReadWord, *, begins: bool) -> Kind | None:
    """None for a word with which no subject begins."""
    word = token.word
    if word in _DETERMINERS or word in _OWNERS:
        return "own" if word in {"my", "our"} else "thing"
    is_function_word = word.partition("'")[0] in _ENGLISH
    if word in _NOT_SUBJECTS or is_function_word or is_past(word) or word.endswith(_CONTRACTED):
        return None
    # Every sentence begins with a capital letter.
    is_named = token.spelled[0].isupper() and (not begins or word == "user" or not is_common(word))
    return "name" if is_named else "thing"


def noun_phrase(tokens: Sequence[ReadWord], start: int) -> Iterator[tuple[int, bool, bool]]:
    """The places of a noun and of what may belong to it, and of each whether what stands before it is several, and
    whether it belongs to a preposition.
    """
    plural = inside = False
    place, behind_apposition = start, -1
    while place < min(len(tokens), start + _LONGEST_SUBJECT):
        token = tokens[place]
        if place > start and token.breaks and place != behind_apposition:
            end = end_of_apposition(tokens, place)
            if end is None:
                return
            place = behind_apposition = end
            continue
        if place > start and token.word in _NEW_SUBJECTS:
            return
        yield place, plural, inside
        if token.word in _JOINS:
            following = tokens[place + 1].word if place + 1 < len(tokens) else ""
            if token.word != "and" or (following in _PRONOUNS and following != "i"):
                return
            plural = True
            place += following == "i"
        elif token.word in _STOPS:
            return
        inside = token.word in _PREPOSITIONS or (inside and token.word in _DETERMINERS)
        plural = plural or (not inside and (token.word in _PLURALS or _PLURAL.fullmatch(token.word) is not None))
        place += 1


def later_verb(tokens: Sequence[ReadWord], place: int) -> int:
    """The verb behind one that belongs to the subject: `a woman called Imke starts`, `the used car is red`."""
    if tokens[place].word in _NAMING and place + 2 < len(tokens) and may_be_finite(tokens[place + 2].word):
        return place + 2
    for later in range(place + 1, min(place + _LONGEST_SUBJECT, len(tokens))):
        token = tokens[later]
        if token.breaks or token.word in _ENDS_SEARCH or token.word in _OWNERS or token.word in _DETERMINERS:
            break
        if token.word in STRONG:
            return later
    return place


def without_adverbs(tokens: Sequence[ReadWord], at: int, end: int) -> int:
    """Where the subject ends, before `finally` and `still`."""
    while end > at + 1 and is_adverb(tokens[end - 1].word):
        end -= 1
    return end


def is_verb(tokens: Sequence[ReadWord], place: int, *, plural: bool, led: bool, inside: bool) -> bool:
    """Whether the word there is the verb of what stands before it, and no noun."""
    word = tokens[place].word
    previous, following = tokens[place - 1].word, tokens[place + 1].word if place + 1 < len(tokens) else ""
    belongs = previous in _DETERMINERS or previous in _OWNERS or previous in _PREPOSITIONS or previous in _JOINS
    is_name = tokens[place].spelled[0].isupper() and not tokens[place].spelled.isupper()
    # `A guy called Vito` is no sentence, `a guy called Vito sings` is one.
    goes_on = place + 2 < len(tokens) and may_be_finite(tokens[place + 2].word)
    is_relative = word in _NAMING and previous in _ANYBODY and not goes_on
    if belongs or inside or is_name or is_relative:
        return False
    if is_past(word):
        return following != "by"
    # `Educational books, all of that`.
    ends = place + 1 < len(tokens) and tokens[place + 1].breaks and not (led and word in BASE)
    if word in THIRD and not ends:
        # `The night shifts are long`; `weekend walks` tells nothing.
        return following not in STRONG and (led or bool(following))
    return plural and word in BASE and not ends


def end_of_apposition(tokens: Sequence[ReadWord], place: int) -> int | None:
    """Behind what is set between commas: `his brother, Anton, does it`, `my agent, Perpetua Lyle, wants it`."""
    for end in range(place + 1, min(place + 4, len(tokens))):
        if tokens[end].breaks:
            named = all(token.spelled[0].isupper() for token in tokens[place:end])
            return end if named and may_be_finite(tokens[end].word) else None
    return None


def is_contraction(tokens: Sequence[ReadWord], place: int) -> bool:
    """Whether `Ben's` is `Ben is`, and not what Ben has."""
    if place + 1 >= len(tokens) or tokens[place + 1].breaks:
        return False
    word = tokens[place + 1].word
    return (
        word in _BEHIND_IS
        or word[0].isdigit()
        or word in PARTICIPLES
        or (is_past(word) and word not in {"used", "left"})
        or (word.endswith("ing") and len(word) > len("thing"))
        or (is_adverb(word) and word not in {"first", "long", "well"})
    )


WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_SIGN: Final = re.compile(
    r"[,;:()\[\]!?\"“”…–—/=]|\s-+\s"  # noqa: RUF001 - dashes
    r"|(?<!\b[A-Z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)\.(?=\s)"
)
_ENGLISH: Final = FUNCTION_WORDS["en"]
_LONGEST_SUBJECT: Final = 9
_LONGEST_LEAD: Final = 9
_PRONOUNS: Final[dict[str, Kind]] = {
    "i": "self", "we": "self", "you": "you", "he": "person", "she": "person", "they": "thing_pronoun",
    "it": "thing_pronoun", "that": "thing_pronoun", "this": "thing_pronoun", "these": "thing_pronoun",
    "those": "thing_pronoun", "there": "there",
}  # fmt: skip
_CONTRACTIONS: Final = frozenset("m re ve ll d s".split())
_OWNERS: Final = frozenset("my our his her their your its".split())
_COUNTS: Final = frozenset("both zero two three four five six several few many most all".split())
_DETERMINERS: Final = frozenset("the a an this that these those some every each no another any other".split()) | _COUNTS
_NEW_SUBJECTS: Final = frozenset(
    "i i'm i've i'd i'll we we're we've he he's she she's they they're you it it's".split()
)
_CONTRACTED: Final = ("n't", "'m", "'ll", "'ve", "'re", "'d")
STRONG: Final = MODALS | frozenset(
    """
    am are aren't is isn't was wasn't were weren't has hasn't have haven't had hadn't do don't does doesn't did didn't
    """.split()
)
THIRD: Final = frozenset(map(third_person, BASE))
_BEFORE_ANY: Final = frozenset(("gotta", "wanna", "gonna"))
_PREPOSITIONS: Final = frozenset(
    """
    about above across after against along among around at before behind below beside between by despite during except
    for from in inside into near of off on onto out outside over past per since through till to towards under until
    upon via with within without
    """.split()
)
_JOINS: Final = frozenset(("and", "or", "but"))
_STOPS: Final = frozenset(
    "because but if so that than though to when where which while who whose not as how why what".split()
)
_ENDS_SEARCH: Final = _STOPS | _PREPOSITIONS | frozenset(("and", "or", "i", "me", "us", "it", "them", "him"))
_NAMING: Final = frozenset(("called", "named"))
_ANYBODY: Final = frozenset("guy woman man girl boy person lady kid bloke chap friend place thing one dog cat".split())
_PLURALS: Final = frozenset("both children folks guys kids men parents people police two three women".split())
_PLURAL: Final = re.compile(r"[a-z]{2,}[^su'\W]s|[a-z]+(?:ches|shes|sses|xes)")
_NOT_SUBJECTS: Final = frozenset(
    "looks sounds seems feels makes turns takes gets goes helps keeps means tastes smells "
    "please thanks sorry yes no nope ok okay hey hi hello here let let's lets not never always just if when".split()
)
_BEHIND_IS: Final = frozenset(
    """
    a an the in on at off out back by with from not now no my our his her their too so very just here there half due
    under over down up gone been got away dead ready free full open closed
    """.split()
)
_LEADS: Final = frozenset(
    """
    today tomorrow tonight yesterday last next this these every each one once some sometimes back later earlier now
    then so maybe perhaps as when whenever while if although though because only
    """.split()
)
_DAY: Final = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:morning|evening|weekend|night)s")
