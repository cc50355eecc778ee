"""From a text to the terms that may be its keywords: words as they are written, and words that stand together.

There is no grammar here, only what can be seen: capital letters, endings, what stands before and after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from perdure.text.keyword_words import FUNCTION_WORDS, GENERIC, NOT_ADVERBS, WEAK_WORDS
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS
from perdure.text.words import HUMPED, UNSPACED, terms

MAX_CHARACTERS: Final = 64
# `opening`: it begins a sentence, so its capital letter says nothing. `verb`: what stands around it lets expect one.
Kind: TypeAlias = Literal["word", "opening", "participle", "verb", "weak", "code", "acronym", "name", "number"]

_SCRIPTS: Final = UNSPACED.pattern[1:-2]
_LETTER: Final = rf"[^\W{_SCRIPTS}]"
_TOKEN: Final = re.compile(
    rf"`(?P<code>[^`\n]{{1,{MAX_CHARACTERS}}})`"
    r"|(?P<skipped>\[REDACTED:[^\]\n]{0,64}\]|[a-z]{2,8}://[^\s<>()]+)"
    rf"|(?P<run>[{_SCRIPTS}]+)"
    rf"|(?P<word>(?<![\w.])(?:\.|--|_+)?[^\W_{_SCRIPTS}](?:{_LETTER}|[.\-/:'\u2019](?={_LETTER}))*(?:\+\+|\#(?!\w)|\(\))?)"
)
_WHITE: Final = re.compile(r"[ \t]*\n?[ \t]*")
_BEGINS_SENTENCE: Final = re.compile(r"(?:^|[.!?:;\n])[^\w.!?:;\n]*$")
_NUMBER: Final = re.compile(r"[\d.,:/\-]+(?:st|nd|rd|th|s|am|pm|x)?|\d+[.,:/\-].*", re.IGNORECASE)
# `cAMP-induced` is a word like others, `PX-4711` is not.
_COMPOUND: Final = re.compile(r"[^\W_]+(?:-[^\W_]+)*-[^\W\dA-Z_]{3,}")
_CODE: Final = re.compile(r"_|[./:]|\(\)$|\+\+$|\#$|^--|(?=.*\d)(?=.*[^\W\d])")
_PATH: Final = re.compile(r".*/.*[._/].*|[^/]*_[^/]*/.*")
# Nobody chooses a checksum or a blob for a keyword.
_HASH: Final = re.compile(r"(?=[^-]*\d)[0-9a-f]{7,}|(?=[^-]*\d)[0-9a-f-]{20,}|[^\W_]{33,}", re.IGNORECASE)
_GLUED: Final = re.compile(r"([^\W\d_]*[a-zà-ÿ])[.:]([A-Z][a-z]+)")
_CONTRACTION: Final = re.compile(r"(.+?)['\u2019](s|t|re|ve|ll|d|m)", re.IGNORECASE)
# A verb stands behind these more often than not, and before those, unless a noun has been announced.
_BEFORE_VERBS: Final = frozenset(
    "to can could will would should must may might cannot not never always i you we they he she it who please let "
    "lets dont".split()
)
_BEHIND_VERBS: Final = frozenset(
    "a an the my your his her its our their this these those some any all it them me us him".split()
)
_BEFORE_NOUNS: Final = frozenset(
    "a an the my your his her its our their this these those some any all every each no in on at of for with from by "
    "under over into via per about without during between through against".split()
)
_NOUN_ENDINGS: Final = ("ion", "ions", "ity", "ities", "ment", "ments", "ness", "ance", "ence", "ship", "ism")
# Capital letters of a longer word are for emphasis.
_LONG: Final = 7
_KANA: Final = re.compile("[\u3041-\u30fa]")
_JAPANESE: Final = re.compile("[\u3005\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff]{2,12}")
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_CHINESE_PARTICLES: Final = re.compile(
    "不要|不能|不会|不是|没有|可以|应该|必须|需要|使用|之前|之后|以前|以后|因为|所以|如果|但是|而且|或者|以及|我们|你们|他们|她们|它们|这个|那个|"
    "一个|什么|怎么|时候|已经|还是|就是|自己|[的了是在和与及或我你他她它们这那就也都很到要去会着把被让从对为以等而但则每个种之其并且先再又将由于向给跟比最"
    "更太还只才用请]"
)
_CHINESE: Final = re.compile(f"[{_HAN}]{{2,12}}")
_KOREAN: Final = re.compile(
    "\\A([\uac00-\ud7ff]{2,}?)(?:은|는|이|가|을|를|의|에|에서|에게|로|으로|와|과|도|만|까지|부터|입니다|합니다|했다|한다|하다|된다)?\\Z"
)
_LONGEST_NAME: Final = 4
_LONGEST_TERM: Final = 3


class Word(NamedTuple):
    """`joins`: it may form a term with the word before it."""

    text: str
    kind: Kind
    joins: bool = False


class Term(NamedTuple):
    words: tuple[Word, ...]
    position: int

    @property
    def text(self) -> str:
        """As it is written, but for the capital letter of a sentence that begins with it."""
        first, *others = self.words
        common = others or first.text.endswith((*_NOUN_ENDINGS, "ing", "ed"))
        begin = first.text.lower() if first.kind == "opening" and common and first.text[1:].islower() else first.text
        return " ".join((begin, *(word.text for word in others)))


@lru_cache(4096)
def stem(word: str) -> str:
    """As the index has it; of a word that the index takes for several, all of them."""
    return " ".join(terms(word)) or word.lower()


def language_of(text: str) -> str:
    """The language whose function words are most frequent; English when in doubt."""
    found = Counter(re.findall(r"[^\W\d_]+", text[:2000].lower()))
    hits = {name: sum(found[word] for word in words & found.keys()) for name, words in FUNCTION_WORDS.items()}
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] > hits["en"] else "en"


def words_of(text: str) -> list[Word]:
    """Every word that may be part of a keyword, in order; function words are what separates them."""
    language = language_of(text)
    functions = FUNCTION_WORDS["en"] | FUNCTION_WORDS[language]
    found: list[Word] = []
    before, end, announced = "", -1, False
    for match in _TOKEN.finditer(text):
        adjacent = end >= 0 and _WHITE.fullmatch(text, end, match.start()) is not None
        if run := match["run"]:
            found += words_of_run(run, japanese=_KANA.search(text) is not None)
            end = -1
        elif code := match["code"]:
            if re.search(r"[^\W\d]", code) and not UNSAFE_CHARACTERS.search(code):
                found.append(Word(" ".join(code.split()), "code"))
            end = -1
        elif match["word"]:
            begins = _BEGINS_SENTENCE.search(text, max(0, match.start() - 8), match.start()) is not None
            for part in split_word(match["word"]):
                lower = part.lower()
                if lower in functions or not (kind := kind_of(part, before, begins=begins, language=language)):
                    if (
                        adjacent
                        and lower in _BEHIND_VERBS
                        and found[-1].kind in {"word", "opening", "participle"}
                        and not announced
                    ):
                        found[-1] = Word(found[-1].text, "verb")
                    adjacent = False
                else:
                    # A participle begins a term (`nested transaction`) and does not end one. In German a noun ends it.
                    behind_noun = adjacent and language == "de" and part == lower and found[-1].text[0].isupper()
                    joins = adjacent and kind != "participle" and not behind_noun
                    found.append(Word(lower if kind == "weak" else part, kind, joins))
                    announced, adjacent = before in _BEFORE_NOUNS or (joins and announced), True
                before, begins = lower, False
            # `Crohn's disease` is no `Crohn disease`.
            end = match.end() if adjacent and found[-1].text.endswith(match["word"][-1]) else -1
    return found


def split_word(written: str) -> list[str]:
    """`Alice's` is Alice, `and/or` two words, `read.Then` two sentences; `src/clock.py` is one word."""
    if written.isalnum():
        return [written]
    if contraction := _CONTRACTION.fullmatch(written):
        return [contraction[1] if contraction[2].lower() == "s" else "not"]
    if "/" in written and not _PATH.fullmatch(written) and not written.isupper():
        return written.split("/")
    glued = _GLUED.fullmatch(written)
    return [glued[1], glued[2]] if glued else [written]


def kind_of(word: str, before: str, *, begins: bool, language: str) -> Kind | None:
    """None when it can be no part of a keyword."""
    lower, kind = word.lower(), shape_of(word)
    if kind != "word":
        return kind
    if word[0].isupper() and not (begins or word.isupper() or language == "de"):
        return "name"
    adverb = lower.endswith("ly") and lower not in NOT_ADVERBS
    if lower in WEAK_WORDS or (adverb and language == "en"):
        kind = "weak"
    elif word[0].isupper() and language != "de":
        kind = "opening"
    elif language == "en" and not lower.endswith(_NOUN_ENDINGS):
        participle = lower.endswith("ed") and len(lower) > len("speed")
        kind = "participle" if participle else "verb" if before in _BEFORE_VERBS else "word"
    return kind


def shape_of(word: str) -> Kind | None:
    """What the letters alone tell."""
    if len(word) == 1 or len(word) > MAX_CHARACTERS or _HASH.fullmatch(word):
        return "number" if word.isdigit() else None
    if word.isalpha() and word.islower():
        return "word"
    if _NUMBER.fullmatch(word):
        return "number"
    if not _COMPOUND.fullmatch(word) and (HUMPED.search(word) or _CODE.search(word)):
        return "code"
    return "acronym" if word.isupper() and len(word) < _LONG else "word"


def words_of_run(run: str, *, japanese: bool) -> Iterator[Word]:
    """Of a script without spaces, what stands between its particles."""
    if japanese:
        found = _JAPANESE.findall(run)
    elif "\uac00" <= run[0] <= "\ud7ff":
        found = _KOREAN.findall(run)
    elif "\u3400" <= run[0] <= "\u9fff":
        found = _CHINESE.findall(_CHINESE_PARTICLES.sub(" ", run))
    else:
        found = [run] if len(run) <= MAX_CHARACTERS // 2 else []
    return (Word(one, "word") for one in found)


def terms_of(words: Sequence[Word]) -> list[Term]:
    """Words that stand together, in pairs from the end (`reviewer | iteration count`), because the last one tells
    what it is; a pair that occurs again stays together. Names are kept whole.
    """
    pairs = Counter((stem(one.text), stem(two.text)) for one, two in pairwise(words) if _fit(one, two))
    found: list[Term] = []
    start = 0
    while start < len(words):
        end = start + 1
        while end < len(words) and _fit(words[end - 1], words[end]):
            end += 1
        found += pairs_of(words[start:end], start, pairs)
        start = end
    return found


def _fit(one: Word, two: Word) -> bool:
    """Whether two adjacent words may be of one term."""
    if not two.joins:
        return False
    if two.kind == "number":
        return one.kind in {"name", "acronym"}
    if "name" in {one.kind, two.kind}:
        return two.kind in {one.kind, "acronym"}
    if one.kind not in {"word", "opening", "acronym", "participle"} or two.kind not in {"word", "acronym"}:
        return False
    return not {one.text.lower(), two.text.lower()} <= GENERIC


def pairs_of(chain: Sequence[Word], position: int, pairs: Counter[tuple[str, str]]) -> Iterator[Term]:
    held = max((pairs[stem(one.text), stem(two.text)] for one, two in pairwise(chain)), default=0)
    # The first word of a sentence is often a verb: `Close database connections`.
    whole = len(chain) == _LONGEST_TERM and chain[0].kind != "opening" and held == 1
    if chain[0].kind == "name" or whole:
        yield Term(tuple(chain[:_LONGEST_NAME]), position)
        return
    end = len(chain)
    while end > 0:
        last = [pairs[stem(one.text), stem(two.text)] for one, two in pairwise(chain[max(0, end - 3) : end])]
        # Of three words, the first two belong together if they do elsewhere and the last two do not.
        size = 1 if end == 1 or last[0] > max(1, last[-1]) else 2
        yield Term(tuple(chain[end - size : end]), position + end - size)
        end -= size
