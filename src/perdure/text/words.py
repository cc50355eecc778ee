"""From any text to the words that the keyword index knows.

The index and the query go through the same two steps: `searchable` (letters folded, identifiers split, unspaced scripts
cut into pairs) and SQLite's own `unicode61` and `porter` tokenizers, borrowed through apsw, so that what is counted in
memory is what the full-text index holds.

A word such as `parseFile` is in the index whole and in its parts. In a query it stays as it is written, and stands for
the whole word in any case or for its parts.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from perdure.text.patterns import pattern
from perdure.text.stopwords import STOPWORDS

if TYPE_CHECKING:
    from apsw import FTS5Tokenizer

MAX_QUERY_CHARACTERS: Final = 8192
MAX_QUERY_WORDS: Final = 64

# Scripts written without spaces between words: Thai, Lao, Burmese, Khmer, Hangul, kana, Han.
UNSPACED = pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Tried only where a run begins, and once: from every character of a long run it would take quadratic time.
_CAMEL = pattern(r"(?<![^\W_])(?>[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)(?![^\W_])")
_HUMP = pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Most texts have no such place, and this tells it ten times as fast.
HUMPED: Final = pattern(r"[A-Z](?:(?<=[a-z0-9].)|[A-Z][a-z])")

# What people write or leave out as they like, and unicode61 keeps or takes for the end of a word: Hebrew points, Arabic
# vowel marks and the stroke that stretches a word.
_POINTS: Final = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_VOWELS: Final = "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
OPTIONAL_MARKS: Final = pattern(f"[{_POINTS}{_VOWELS}]")
_GREEK: Final = "\u0370-\u03ff\u1f00-\u1fff"
_EMOJI: Final = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
FOLDED: Final = pattern(f"[{_POINTS}{_VOWELS}{_GREEK}{_EMOJI}ß\u1e9e]")
# The private letters that stand for emoji, which unicode61 would leave out.
_FIRST_EMOJI: Final = "\u2600"
_PRIVATE: Final = 0xF0000
_PRIVATE_LETTERS: Final = 0xFFFE

# Signs that belong to the word they touch, and make it another one: C++, C#, @ana. So does a dot before it, in `.NET`
# but neither in `end.Next` nor in `...and`.
_SIGNS: Final = pattern(rb"[+#@&/\\*=|~^%$]+|\.(?<![A-Za-z0-9.\x80-\xff+#@&/\\*=|~^%$]\.)(?=[A-Za-z])")

_local = threading.local()


def clean(text: str) -> str:
    """What SQLite can hold: no NUL, no half of a surrogate pair. For queries; a memory with these is refused."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


class Token(NamedTuple):
    """A word of a text, its case and accents folded, with its stem and the signs that touch it."""

    word: str
    stem: str
    before: str = ""
    after: str = ""


class _Folds(dict[int, str]):
    """What each character becomes, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = folded = chr(code)
        if character in "ß\u1e9e":
            folded = "ss"
        elif OPTIONAL_MARKS.match(character):
            folded = ""
        elif character >= _FIRST_EMOJI and FOLDED.match(character):
            folded = f" {chr(_PRIVATE + code % _PRIVATE_LETTERS)} "
        elif FOLDED.match(character):
            folded = unicodedata.normalize("NFD", character)[0]
        self[code] = folded
        return folded


_FOLDS: Final = _Folds()


def searchable(text: str) -> str:
    """`parseFile` also as `parse File`; 東京都 as 東 京 都 東京 京都. Idempotent enough that order does not matter."""
    if not text.isascii():
        text = UNSPACED.sub(
            lambda run: f" {' '.join(run[0])} {_pairs(run) if len(run[0]) > 1 else ''}", fold_letters(text)
        )
    if not HUMPED.search(text):
        return text
    return _CAMEL.sub(lambda identifier: f"{identifier[0]} {_HUMP.sub(' ', identifier[0])}", text)


def fold_letters(text: str) -> str:
    """One form for what is written in several, where unicode61 knows none: Greek without accents, `ß` as `ss`, Hebrew
    and Arabic without their points and vowel marks. Each emoji is a word.
    """
    text = unicodedata.normalize("NFKC", text)
    return text.translate(_FOLDS) if FOLDED.search(text) else text


def unspaced(character: str) -> bool:
    """Whether it is of a script that puts no space between words."""
    return UNSPACED.match(character) is not None


def terms(searchable_text: str) -> list[str]:
    """Stemmed terms, in order, with repetitions."""
    return [token for (token, *_) in _tokenize("porter", searchable_text.encode("utf-8"))]


def tokens(text: str, *, parts: bool = False) -> list[Token]:
    """Every word in the order of the text, of an unspaced script every character. `parts`: `parseFile` is two words."""
    text = clean(text)
    if not text.isascii():
        text = UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", fold_letters(text))
    if parts:
        text = split_identifiers(text)
    data, stems = text.encode("utf-8"), terms(text)
    runs = [(run.start(), run.end(), run[0].decode()) for run in _SIGNS.finditer(data)]
    if not runs:
        return [Token(word, stem) for (word, *_), stem in zip(_tokenize("unicode61", data), stems, strict=True)]
    before, after = {end: signs for _, end, signs in runs}, {start: signs for start, _, signs in runs if signs != "."}
    words = _tokenize("unicode61", data, offsets=True)
    return [
        Token(word, stem, before.get(start, ""), after.get(end, ""))
        for (start, end, word, *_), stem in zip(words, stems, strict=True)
    ]


def is_identifier(text: str) -> bool:
    """Whether a word of it is made of several, as `parseFile` is."""
    return HUMPED.search(text) is not None and _CAMEL.search(text) is not None


def split_identifiers(text: str) -> str:
    """`parseFile` as `parse File`."""
    return _CAMEL.sub(lambda identifier: _HUMP.sub(" ", identifier[0]), text)


def parts_of(word: str) -> list[str]:
    """The words that a word such as `parseFile` is made of; none when none of them tells anything."""
    if not _CAMEL.fullmatch(word):
        return []
    parts = _HUMP.sub(" ", word).lower().split()
    return [] if STOPWORDS.issuperset(parts) else parts


def query_words(query: str) -> list[str]:
    """The distinct words worth searching for, in order. Stopwords leave, unless there is nothing else."""
    words = all_words(query)
    return [word for word in words if word not in STOPWORDS] or words


def all_words(query: str) -> list[str]:
    """The distinct words of a question or a phrase, in order; those that are made of several as they are written."""
    text = clean(query[:MAX_QUERY_CHARACTERS])
    if not text.isascii():
        # A run of an unspaced script asks for its pairs alone: single characters match too much.
        text = UNSPACED.sub(_pairs, fold_letters(text))
    data = text.encode("utf-8")
    if not HUMPED.search(text):
        return list(dict.fromkeys(word for (word, *_) in _tokenize("unicode61", data)))
    words: dict[str, str] = {}
    for start, end, word, *_ in _tokenize("unicode61", data, offsets=True):
        written = data[start:end].decode()
        words.setdefault(word, word)
        if words[word] == word and _CAMEL.fullmatch(written):
            words[word] = written
    return list(words.values())


def spelled_out(words: Iterable[str]) -> list[str]:
    """Each word, and behind it the parts it is made of; no stopwords among these."""
    spelled: dict[str, None] = {}
    for word in words:
        spelled[word.lower() if word.isascii() else word] = None
        spelled |= dict.fromkeys(part for part in parts_of(word) if part not in STOPWORDS)
    return list(spelled)


class QueryStems(NamedTuple):
    """`words`: for each stem of a query one word that has it. `parts`: the same of the parts of a word that is made of
    several, by its stem; parts that are words of the query themselves are not among them.
    """

    words: dict[str, str]
    parts: dict[str, dict[str, str]]


def query_stems(words: Sequence[str]) -> QueryStems:
    """Words as `query_words` gives them; of any other text its words."""
    joined = " ".join(words)
    stems = terms(joined)
    if len(stems) != len(words):
        words = [word for text in words for word in all_words(text)]
        stems = terms(" ".join(words))
    held: dict[str, str] = {}
    for stem, word in zip(stems, words, strict=True):
        held.setdefault(stem, word)
    parts: dict[str, dict[str, str]] = {}
    for stem, word in () if joined.islower() else zip(stems, words, strict=True):
        telling = [part for part in parts_of(word) if part not in STOPWORDS]
        apart = zip(terms(" ".join(telling)), telling, strict=True)
        if own := {part_stem: part for part_stem, part in apart if part_stem not in held}:
            parts.setdefault(stem, own)
    return QueryStems(held, parts)


def _tokenize(name: str, text: bytes, *, offsets: bool = False) -> list[tuple[Any, ...]]:
    """The tokens of SQLite's own tokenizer, `offsets`: behind where each begins and ends. Each thread borrows one, from
    a connection of its own.
    """
    import apsw

    tokenizer: FTS5Tokenizer | None = getattr(_local, name, None)
    if tokenizer is None:
        connection: apsw.Connection = getattr(_local, "connection", None) or apsw.Connection("")
        folding = ["unicode61", "remove_diacritics", "2"]
        tokenizer = connection.fts5_tokenizer(name, folding[1:] if name == "unicode61" else folding)
        _local.connection = connection
        setattr(_local, name, tokenizer)
    tokens = tokenizer(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=offsets)
    return cast("list[tuple[Any, ...]]", tokens)


def _pairs(run: re.Match[str]) -> str:
    characters = run[0]
    pairs = [characters[i : i + 2] for i in range(len(characters) - 1)]
    return f" {' '.join(pairs) or characters} "
