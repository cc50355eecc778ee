"""From any text to the words that the keyword index knows.

The index and the query go through the same two steps: `searchable` (identifiers split, unspaced scripts cut into
pairs) and SQLite's own `unicode61` and `porter` tokenizers, borrowed through apsw, so that what is counted in memory is
what the full-text index holds.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from typing import TYPE_CHECKING, Final, cast

from perdure.text.stopwords import STOPWORDS

if TYPE_CHECKING:
    from apsw import FTS5Tokenizer

MAX_QUERY_CHARACTERS: Final = 8192
MAX_QUERY_WORDS: Final = 64

# Scripts written without spaces between words: Thai, Lao, Burmese, Khmer, Hangul, kana, Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Tried only where a run begins: from every character of a long run it would take quadratic time.
_CAMEL = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_local = threading.local()


def clean(text: str) -> str:
    """What SQLite can hold: no NUL, no half of a surrogate pair. For queries; a memory with these is refused."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")


def searchable(text: str) -> str:
    """`parseFile` also as `parse File`; 東京都 as 東 京 都 東京 京都. Idempotent enough that order does not matter."""
    if not text.isascii():
        text = _UNSPACED.sub(
            lambda run: f" {' '.join(run[0])} {_pairs(run) if len(run[0]) > 1 else ''}",
            unicodedata.normalize("NFKC", text),
        )
    return _CAMEL.sub(_with_parts, text)


def unspaced(character: str) -> bool:
    """Whether it is of a script that puts no space between words."""
    return _UNSPACED.match(character) is not None


def terms(searchable_text: str) -> list[str]:
    """Stemmed terms, in order, with repetitions."""
    return [token for (token, *_) in _tokenize("porter", searchable_text)]


def words_and_stems(text: str, *, parts: bool = False) -> list[tuple[str, str]]:
    """Every word, its case and accents folded, with its stem, in the order of the text; of an unspaced script every
    character. `parts`: `parseFile` as `parse File`.
    """
    text = clean(text)
    if not text.isascii():
        text = _UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", unicodedata.normalize("NFKC", text))
    if parts:
        text = _CAMEL.sub(lambda identifier: _HUMP.sub(" ", identifier[0]), text)
    return list(zip((word for (word, *_) in _tokenize("unicode61", text)), terms(text), strict=True))


def has_parts(text: str) -> bool:
    """Whether a word of it is made of several, as `parseFile` is."""
    return _CAMEL.search(text) is not None


def query_words(query: str) -> list[str]:
    """The distinct words worth searching for, in order. Stopwords leave, unless there is nothing else."""
    words = all_words(query)
    telling = [word for word in words if word not in STOPWORDS]
    return (telling or words)[:MAX_QUERY_WORDS]


def all_words(query: str) -> list[str]:
    """The distinct words of a question or a phrase, in order."""
    text = clean(query[:MAX_QUERY_CHARACTERS])
    if not text.isascii():
        # A run of an unspaced script asks for its pairs alone: single characters match too much.
        text = _UNSPACED.sub(_pairs, unicodedata.normalize("NFKC", text))
    text = _CAMEL.sub(_with_parts, text)
    return list(dict.fromkeys(token for (token, *_) in _tokenize("unicode61", text)))


def _tokenize(name: str, text: str) -> list[tuple[str, ...]]:
    """The tokens of SQLite's own tokenizer. Each thread borrows one, from a connection of its own."""
    import apsw

    tokenizer: FTS5Tokenizer | None = getattr(_local, name, None)
    if tokenizer is None:
        connection: apsw.Connection = getattr(_local, "connection", None) or apsw.Connection("")
        folding = ["unicode61", "remove_diacritics", "2"]
        tokenizer = connection.fts5_tokenizer(name, folding[1:] if name == "unicode61" else folding)
        _local.connection = connection
        setattr(_local, name, tokenizer)
    tokens = tokenizer(text.encode("utf-8"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    return cast("list[tuple[str, ...]]", tokens)


def _pairs(run: re.Match[str]) -> str:
    characters = run[0]
    pairs = [characters[i : i + 2] for i in range(len(characters) - 1)]
    return f" {' '.join(pairs) or characters} "


def _with_parts(identifier: re.Match[str]) -> str:
    return f"{identifier[0]} {_HUMP.sub(' ', identifier[0])}"
