"""How well a text fits the description that somebody gives of it: `my neighbour's noise`, `Viggo's address`.

A telling word of the description is held by the text, or not. What it does not hold may still be what it is about: then
the words that are left on both sides are compared by their meaning, by whoever can. What tells that the text is about
something else excludes it: another name, an opposite, another person, the other direction. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.text.keyword_words import FUNCTION_WORDS
from perdure.text.negation import NEGATIONS
from perdure.text.opposites import opposites
from perdure.text.patterns import pattern
from perdure.text.phrases import fold
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import terms
from perdure.values import value_class

_TOKEN: Final = pattern(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_HAN_OR_KANA: Final = pattern("[\u3041-\u30ff\u3400-\u9fff々ー]+")
_POSSESSIVE: Final = pattern(r"['\u2019]s?$")
_FIGURE: Final = pattern(
    r"[0-9]|[一二三四五六七八九十百千万億亿两〇]{2,}|[一二三四五六七八九十两](?:号|點|点|時|时|月|日|円|块|元"
    r"|キロ|公斤|歳|岁)"
)
_VAGUE: Final = frozenset(
    """
    bit business data detail details entry entries everything fact facts info information item memory memories note
    notes part record records story stories stuff thing things trace matter topic way kind sort
    forget delete remove erase drop wipe know knew told said say says tell mention mentioned store stored
    daten sache sachen information thema datos cosa cosas tema erzählt gesagt habe
    """.split()
)
# Words for a value: a text that tells it holds a figure.
_FIGURE_NOUNS: Final = frozenset(
    """
    address age amount bill budget code cost costs charge charged debt debts earn fee height income much number pay
    phone pin postcode price rent salary size telephone wage wages weigh weight
    adresse alter betrag code gehalt gewicht höhe kosten lohn miete nummer preis schulden telefon telefonnummer
    edad deuda deudas dirección número peso precio sueldo teléfono
    """.split()
)
_FIGURE_NOUNS_UNSPACED: Final = pattern(
    "地址|住址|电话|電話|号码|號碼|密码|工资|薪资|薪水|体重|体重|身高|价格|年龄|手机|住所|番号|給料|年齢|値段|価格|身長"
)
KIN: Final = frozenset(
    """
    aunt auntie boss boyfriend brother child classmate coach colleague cousin coworker dad daughter doctor ex father
    father-in-law flatmate friend girlfriend godfather godmother grandad granddad granddaughter grandfather grandma
    grandmother grandpa grandson great-aunt great-uncle husband kid kids landlord manager mother mother-in-law mum mom
    neighbour neighbor nephew niece parents partner roommate sister sister-in-law brother-in-law son son-in-law
    stepfather stepmother teacher tenant therapist twin twins uncle wife
    """.split()
)
# What these do is often about the speaker: `my landlord raised the rent`.
_SERVING: Final = frozenset("boss coach doctor landlord manager teacher tenant therapist".split())
_TITLES: Final = frozenset(
    "mr mrs ms miss dr prof professor sir uncle aunt herr frau señor señora don doña doctor doctora".split()
)
CALENDAR: Final = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april may june july august september october november december christmas easter
    """.split()
)
# Orders and other words that begin a sentence before a name, and are no part of it.
_BEFORE_NAMES: Final = frozenset(
    """
    ask call contact email give invite meet message pay phone see send tell text thank visit write remind buy book
    table contract customer case client patient interview appointment campsite hotel garage restaurant film tip call
    """.split()
)
_FIRST_PERSON: Final = frozenset(
    "i i'm i've i'd i'll my me mine we we're we've our ich mein meine meinen wir unser yo mi mis".split()
)
_OTHER_WAY: Final = {
    "to": "from",
    "from": "to",
    "with": "without",
    "without": "with",
    "before": "after",
    "after": "before",
}
# Two words that are not English have the same stem if at least 5 first letters agree and at most 3 follow.
_COMMON_LETTERS: Final = 5
_LAST_LETTERS: Final = 3
_NAME_WEIGHT: Final = 2.0
_HIRAGANA: Final = pattern("[\u3041-\u309f]")
_JAPANESE_WORD: Final = pattern("[\u4e00-\u9fff々]+|[\u30a1-\u30ffー]+|[\u3041-\u309f]{2,}(?=さん|ちゃん|くん|様)")
_CHINESE_FUNCTION: Final = pattern(
    "求职者|应聘者|客户|用户|患者|病人|会员(?!卡)|我们|我們|我|你|他|她|的|了|在|是|和|把|这个|那个|这|那"
    "|去(?=看)|吧|呢|吗|都|也|很|有"
)


class DescribingWord(NamedTuple):
    """A telling word of a description. `stems`: any of these, in a text, is this word."""

    written: str
    stems: tuple[str, ...]
    weight: float
    is_name: bool = False
    is_unspaced: bool = False
    is_value: bool = False


class Fit(NamedTuple):
    """How much of a description a text holds: the weight of its words that are held, and of all; which are not; and
    what is left of the text without those that are. `conflict` says why the text is about something else.
    """

    held: float
    weight: float
    missing: tuple[DescribingWord, ...]
    left: str
    conflict: str = ""

    @property
    def share(self) -> float:
        return self.held / self.weight if self.weight else 0.0


class _Token(NamedTuple):
    """A word as it is written, in lower case, and its stem; of a name no letter is left out: `exact`."""

    written: str
    lower: str
    stem: str
    exact: str


@value_class(slots=False)
class Description:
    """What somebody says a text is about. `states`: it is what the text says, and not what it is about."""

    text: str
    states: bool = False
    language: str = "en"

    @cached_property
    def words(self) -> tuple[DescribingWord, ...]:
        return tuple(telling_words(self.text, self.language))

    @cached_property
    def names(self) -> tuple[DescribingWord, ...]:
        return tuple(word for word in self.words if word.is_name)

    @cached_property
    def required_names(self) -> tuple[DescribingWord, ...]:
        """Those that a text must hold. Of a first name and a surname the surname is enough."""
        following = {
            second.lower for first, second in pairwise(tokens_of(self.text)) if are_one_name(first, second, self.text)
        }
        first = {first.lower for first, second in pairwise(tokens_of(self.text)) if second.lower in following}
        names = {word.written for word in self.names}
        return tuple(word for word in self.names if word.written not in first or not following & names)

    @cached_property
    def is_denied(self) -> bool:
        return is_denied(self.text)

    def fit(self, text: str) -> Fit:
        tokens = list(tokens_of(text))
        has_figure = _FIGURE.search(text) is not None
        held, missing, stems = 0.0, list[DescribingWord](), set[str]()
        for word in self.words:
            share = self._held(word, text, tokens)
            if share:
                stems.update(word.stems)
            else:
                missing.append(word)
            if word.is_value:
                # `the code for the shed` is told by `the padlock of the shed opens with 4471`.
                share = max(share, _FIGURE_SHARE) if has_figure else share * _FIGURE_SHARE
            held += share * word.weight
        left = " ".join(token.written for token in tokens if token.stem not in stems and token.exact not in stems)
        conflict = next(self._conflicts(text, tokens), "")
        return Fit(held, sum(word.weight for word in self.words), tuple(missing), left, conflict)

    def _held(self, word: DescribingWord, text: str, tokens: Sequence[_Token]) -> float:
        if word.is_unspaced:
            return share_of_pairs(word.written, text)
        if word.is_name:
            return float(any(token.exact in word.stems for token in tokens))
        if any(token.stem in word.stems for token in tokens):
            return 1.0
        if word.written == "used":
            return float(_PAST.search(text) is not None)
        return _SIMILAR_SHARE if any(is_inflected(word.written, token.lower) for token in tokens) else 0.0

    def is_of_another(self, text: str) -> bool:
        """Whether a text is about one of the speaker's people, and the description about the speaker or another one."""
        other = person_of(text)
        if (
            not other
            or other in _SERVING
            or other in self.text
            or other in {each.lower for each in tokens_of(self.text)}
        ):
            return False
        return is_own(self.text) or bool(person_of(self.text))

    def _conflicts(self, text: str, tokens: Sequence[_Token]) -> Iterator[str]:
        """What tells that a text is about something else."""
        own = list(tokens_of(self.text))
        for name in self.names:
            places = [place for place, token in enumerate(tokens) if token.exact in name.stems]
            if places and all(is_part_of_name(tokens, place, self.words, text) for place in places):
                yield f"speaks of another {name.written.capitalize()}"
        theirs, ours = {token.stem for token in tokens}, {token.stem: token.lower for token in own}
        for first, second, _ in opposites(ours, theirs):
            if first not in theirs and second not in ours:
                yield f"does not hold '{ours.get(first, first)}', but its opposite"
        ways = set(_ways(tokens))
        for way, word in _ways(own):
            if (_OTHER_WAY[way], word) in ways and (way, word) not in ways:
                yield f"says '{_OTHER_WAY[way]}', not '{way}'"
        if self.is_of_another(text):
            yield "is about somebody else"
        there = _WAY_UNSPACED.findall(text)
        for way, place in _WAY_UNSPACED.findall(self.text):
            if any(place == each and (way in _LEAVING) != (other in _LEAVING) for other, each in there):
                yield f"goes another way than {way}{place}"
        # What denies it says the same otherwise; what says more may say it in other words.
        says_more = any(stem not in ours and stem not in STOPWORDS and "n't" not in stem for stem in theirs)
        if self.states and self.is_denied != is_denied(text) and (not says_more or _HAN_OR_KANA.search(text)):
            yield "does not deny it" if self.is_denied else "denies it"


_FIGURE_SHARE: Final = 0.6
_SIMILAR_SHARE: Final = 0.8


def tokens_of(text: str) -> Iterator[_Token]:
    """A word with hyphens is one word: neither `father-in-law` nor `hip-hop` holds the other."""
    for match in _TOKEN.finditer(text):
        written = _POSSESSIVE.sub("", match[0])
        lower = written.lower().replace("\u2019", "'")
        stems = terms(lower) if "-" not in lower else [lower]
        yield _Token(written, lower, stems[0] if len(stems) == 1 else lower, fold(lower))


def telling_words(text: str, language: str) -> Iterator[DescribingWord]:
    function = STOPWORDS | (FUNCTION_WORDS.get(language, frozenset()) - _TELLING) | _VAGUE
    seen: set[tuple[str, ...]] = set()
    for token in tokens_of(_HAN_OR_KANA.sub(" ", text)):
        if (
            token.lower in function | _FIRST_PERSON
            or token.lower.endswith("n't")
            or (len(token.lower) == 1 and not token.lower.isdigit())
        ):
            continue
        # Whoever shouts names nobody, and nor does a language in which every noun has a capital.
        is_name = (
            language != "de"
            and not text.isupper()
            and token.written[:1].isupper()
            and token.lower not in CALENDAR | _TITLES
        )
        stems = (token.exact if is_name else token.stem,)
        if stems not in seen:
            seen.add(stems)
            weight = _NAME_WEIGHT if is_name else 0.5 if token.lower in _TITLES else 1.0
            yield DescribingWord(token.lower, stems, weight, is_name, is_value=token.lower in _FIGURE_NOUNS)
    for run in _HAN_OR_KANA.finditer(text):
        # In Japanese the endings of words are in hiragana, and a name may be.
        japanese = _HIRAGANA.search(run[0]) is not None
        parts = _JAPANESE_WORD.findall(run[0]) if japanese else _CHINESE_FUNCTION.split(run[0])
        for part in parts:
            if part and (part,) not in seen:
                seen.add((part,))
                is_value = _FIGURE_NOUNS_UNSPACED.search(part) is not None
                yield DescribingWord(part, (part,), float(len(part)), is_unspaced=True, is_value=is_value)


# Words of function that tell something in a description.
_TELLING: Final = frozenset("last next first second alone back together".split())


def share_of_pairs(word: str, text: str) -> float:
    """Of the pairs of characters that a word of an unspaced script is made of, those that a text holds."""
    if len(word) == 1 or word in text:
        return float(word in text)
    pairs = [word[at : at + 2] for at in range(len(word) - 1)]
    return sum(pair in text for pair in pairs) / len(pairs)


def is_inflected(one: str, other: str) -> bool:
    common = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        common += 1
    return common >= _COMMON_LETTERS and max(len(one), len(other)) - common <= _LAST_LETTERS


def is_part_of_name(tokens: Sequence[_Token], place: int, words: Sequence[DescribingWord], text: str) -> bool:
    """Whether a name is only a part of another one there: `Victor Hugo` is not Hugo, the Meridian Hotel no project."""
    known = {stem for word in words for stem in word.stems}
    for at in (place - 1, place + 1):
        if not 0 <= at < len(tokens):
            continue
        other, name = tokens[at], tokens[place]
        between = f"{other.written} {name.written}" if at < place else f"{name.written} {other.written}"
        if between not in text or not other.written[:1].isupper() or other.exact in known or other.stem in known:
            continue
        if other.lower in STOPWORDS | _TITLES | CALENDAR | KIN | (_BEFORE_NAMES if at == 0 else frozenset()):
            continue
        return True
    return False


def are_one_name(first: _Token, second: _Token, text: str) -> bool:
    both = f"{first.written} {second.written}"
    return both in text and first.written[:1].isupper() and second.written[:1].isupper() and first.lower not in _TITLES


def names_in(text: str) -> Iterator[str]:
    """Names of people in a text: words with a capital that begin no sentence."""
    for place, token in enumerate(tokens_of(text)):
        if place and token.written[:1].isupper() and token.lower not in CALENDAR | _TITLES | _FIRST_PERSON:
            yield token.written


def _ways(tokens: Sequence[_Token]) -> Iterator[tuple[str, str]]:
    """Which way leads to what: (`to`, `oslo`)."""
    for way, word in pairwise(tokens):
        if way.lower in _OTHER_WAY:
            yield way.lower, word.stem


def is_denied(text: str) -> bool:
    lower = text.lower().replace("\u2019", "'")
    words = set(re.findall(r"[^\W_]+", lower))
    if "n't" in lower or words & NEGATIONS:
        return True
    return re.search("[不没沒]|ない|ません|ず[にで]|苦手", text) is not None


def without_denials(text: str) -> str:
    """The text without the words that deny something in it, and no other words that say what is to stay."""
    return _DENIAL.sub(" ", text.replace("\u2019", "'"))


_DENIAL: Final = pattern(
    r"\b(?:[a-z]+n't|not|no|never|cannot|without|nobody|none|nicht|kein\w*|nie|ohne|nunca|sin|jamás|pas|jamais)\b"
    r"|[不没沒未无無]|な(?:い|く|かっ|けれ)|ません|ずに",
    re.IGNORECASE,
)


def person_of(text: str) -> str:
    """Which of the speaker's people a text is about, by what they are to them: `My wife works here` is about `wife`.
    Empty where it is about nobody of them.
    """
    if found := _KIN_UNSPACED.match(text):
        return found[1]
    first = [token.lower for token in tokens_of(text)][:_FIRST_WORDS]
    if not first or first[0] not in _DETERMINERS or "i" in first:
        return ""
    return next((word for word in first if word in KIN), "")


def is_over(text: str) -> bool:
    """Whether a text tells of what does not hold any more, and says so."""
    return _OVER.match(text) is not None


def is_own(text: str) -> bool:
    """Whether a description is about the speaker: `where I work`, `my salary`."""
    if _HAN_OR_KANA.search(text):
        return _KIN_UNSPACED.match(text) is None
    return any(token.lower in _FIRST_PERSON for token in tokens_of(text)) and not person_of(text)


_FIRST_WORDS: Final = 4
_OVER: Final = pattern(
    r"\W*(?:until|till|formerly|in the past|years? ago|as a (?:child|kid|student)|bis|früher|hasta|antes)\b",
    re.IGNORECASE,
)
_DETERMINERS: Final = frozenset("my our the her his their a an meine mein mi".split())
_PAST: Final = pattern(
    r"\b(?:until|till|formerly|former|was|were|used to|no longer|any ?more|once|[a-z]{3,}ed)\b", re.IGNORECASE
)
_KIN_UNSPACED: Final = pattern(
    "^(?:我(?:的)?|私の|うちの)?(妹妹|姐姐|哥哥|弟弟|爸爸?|妈妈?|媽媽?|外婆|外公|奶奶|爷爷|儿子|兒子|女儿|女兒"
    "|同事|朋友|表哥|表姐|老婆|老公|丈夫"
    "|妻子|邻居|鄰居|侄子|妹|姉|兄|弟|父|母|夫|妻|息子|娘|祖父|祖母|友だち|友達|隣|同僚|先生)"
)
_WAY_UNSPACED: Final = pattern("(去|到|往|飞|从|由|離)([\u4e00-\u9fff]{2})")
_LEAVING: Final = "从由離"
