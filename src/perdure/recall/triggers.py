"""Triggers: the memories with a trigger phrase in a prompt, whatever its case, accents and inflection; signs such as
those of `C++` count.

No model and no search: the stems of every phrase are a key of one dictionary, and the prompt is looked up in it, from
every word of it, as many words at a time as a phrase that begins there has.
"""

from __future__ import annotations

import json
import threading
import unicodedata
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias, TypeVar

from perdure.clock import to_micros
from perdure.ids import ON_REQUEST
from perdure.model import Filter, Record, Triggered
from perdure.recall.refresh import read_changes, read_rows
from perdure.store.port import IndexRow, Position, Store
from perdure.text.wanted import is_held
from perdure.text.words import Token, clean, is_identifier, tokens
from perdure.values import replace
from perdure.visibility import is_visible

# A phrase that is all of the prompt; one that is in it word for word; and what it loses when every word is inflected.
_ALL: Final = 1.0
_WITHIN: Final = 0.95
_INFLECTED: Final = 0.2

# Limits that keep long prompts fast: characters and words of the prompt, forms of a repeated phrase, and the first
# words by which a phrase is found.
_LOOKED_AT: Final = 1 << 20
_PROMPT_WORDS: Final = 10_000
_FORMS: Final = 8
_PHRASE_WORDS: Final = 16
_NAMESPACES: Final = 256
_ORDINARY: Final = Filter(hidden=ON_REQUEST)

Stems: TypeAlias = tuple[str, ...]
Key = TypeVar("Key", bound="Stems | str")


class Match(NamedTuple):
    """`words` is how many of them the phrase has."""

    number: int
    phrase: str
    confidence: float
    words: int
    importance: float


class _Phrase(NamedTuple):
    row: IndexRow
    text: str
    words: tuple[Token, ...]


class Phrases:
    """The trigger phrases of one namespace, by their stems."""

    def __init__(self, rows: Iterable[IndexRow] = ()) -> None:
        self._rows: dict[int, IndexRow] = {}
        self._phrases: defaultdict[Stems, list[_Phrase]] = defaultdict(list)
        # By the first stem: how many phrases that begin with it have how many words.
        self._lengths: defaultdict[str, Counter[int]] = defaultdict(Counter)
        # Phrases without a word, such as a lone emoji, are looked for as they are written.
        self._signs: defaultdict[str, list[_Phrase]] = defaultdict(list)
        for row in rows:
            self.put(row)

    def put(self, row: IndexRow) -> None:
        self.remove(row.number)
        if not row.trigger_phrases or not row.active or row.tier == "deprecated":
            return
        # Words and vector are not needed here, and are large.
        row = row._replace(terms=b"", vector=None)
        self._rows[row.number] = row
        for phrase, stems in _keys(row):
            if stems:
                self._phrases[stems].append(phrase)
                self._lengths[stems[0]][len(stems)] += 1
            else:
                self._signs[_sign(phrase.text)].append(phrase)

    def remove(self, number: int) -> None:
        row = self._rows.pop(number, None)
        for phrase, stems in _keys(row) if row else ():
            if stems:
                _take_out(self._phrases, stems, phrase)
                self._lengths[stems[0]] -= Counter({len(stems): 1})
                if not self._lengths[stems[0]]:
                    del self._lengths[stems[0]]
            else:
                _take_out(self._signs, _sign(phrase.text), phrase)

    def matches(self, prompt: str, now: datetime, told_in: Collection[str] = ()) -> list[Match]:
        """The best match of each memory: by confidence, then the longest phrase, the most important, the newest. With
        `told_in`, without what may be told elsewhere alone.
        """
        moment = to_micros(now)
        best: dict[int, Match] = {}
        for phrase, confidence in self._occurrences(prompt[:_LOOKED_AT]):
            row = phrase.row
            ends = (end for end in (row.valid_until, row.expires_at) if end is not None)
            if (row.valid_from is not None and row.valid_from > moment) or any(end <= moment for end in ends):
                continue
            if told_in and row.told_in and not any(place in json.loads(row.told_in) for place in told_in):
                continue
            match = Match(row.number, phrase.text, confidence, len(phrase.words), row.importance)
            if row.number not in best or _order(match) < _order(best[row.number]):
                best[row.number] = match
        return sorted(best.values(), key=_order)

    def _occurrences(self, prompt: str) -> Iterator[tuple[_Phrase, float]]:
        """The phrases that stand in the prompt, and how sure that is."""
        for reading in _readings(prompt):
            words, stems = tuple(reading), tuple(token.stem for token in reading)
            forms: defaultdict[Stems, set[tuple[Token, ...]]] = defaultdict(set)
            for start, stem in enumerate(stems[:_PROMPT_WORDS]):
                for length in self._lengths.get(stem, ()):
                    key, form = stems[start : start + length], words[start : start + length]
                    if key not in self._phrases or form in forms[key] or len(forms[key]) >= _FORMS:
                        continue
                    forms[key].add(form)
                    most = _ALL if len(form) == len(words) else _WITHIN
                    for phrase in self._phrases[key]:
                        if all(map(is_held, phrase.words, form)):
                            pairs = zip(phrase.words, form, strict=True)
                            inflected = sum(wanted.word != found.word for wanted, found in pairs)
                            yield phrase, round(most - _INFLECTED * inflected / len(form), 4)
        if self._signs:
            text = _sign(prompt)
            for sign, phrases in self._signs.items():
                if sign in text:
                    yield from ((phrase, _ALL if sign == text else _WITHIN) for phrase in phrases)


class Triggers:
    """Finds the memories that a prompt triggers, from phrases that follow the log. Safe to use from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._indexes: OrderedDict[str, _TriggerIndex] = OrderedDict()

    def match(
        self, prompt: str, namespaces: Sequence[str], limit: int, now: datetime, told_in: tuple[str, ...] = ()
    ) -> list[Triggered]:
        found = ((name, match) for name in namespaces for match in self._matches(name, prompt, now, told_in))
        matches = sorted((_order(match), name, match) for name, match in found)
        shown = replace(_ORDINARY, told_in=told_in)
        triggered: list[Triggered] = []
        for start in range(0, len(matches), limit):
            some = [(name, match) for _, name, match in matches[start : start + limit]]
            triggered += self._still_so(some, shown, now)
            if len(triggered) >= limit:
                break
        return triggered[:limit]

    def drop(self, namespace: str) -> None:
        with self._lock:
            self._indexes.pop(namespace, None)

    def _still_so(self, matches: Sequence[tuple[str, Match]], shown: Filter, now: datetime) -> Iterator[Triggered]:
        """The index is of a moment ago; the record is as it is."""
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for name, match in matches:
            numbers[name].append(match.number)
        records: dict[tuple[str, int], Record] = {}
        for name, some in numbers.items():
            with self._store.read(name) as reader:
                records |= {(name, record.number): record for record in reader.fetch(some)}
        for name, match in matches:
            record = records.get((name, match.number))
            if record and is_visible(record, shown, now) and match.phrase in record.trigger_phrases:
                yield Triggered(record, match.phrase, match.confidence)

    def _matches(self, namespace: str, prompt: str, now: datetime, told_in: Collection[str]) -> list[Match]:
        with self._lock:
            index = self._indexes.setdefault(namespace, _TriggerIndex(self._store, namespace))
            self._indexes.move_to_end(namespace)
            if len(self._indexes) > _NAMESPACES:
                self._indexes.popitem(last=False)
        return index.matches(prompt, now, told_in)


class _TriggerIndex:
    """The trigger phrases of a namespace, refreshed by position in its log."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._lock = threading.Lock()
        self._position: Position | None = None
        self._phrases = Phrases()

    def matches(self, prompt: str, now: datetime, told_in: Collection[str]) -> list[Match]:
        with self._lock:
            position = self._store.position(self._namespace, None)
            if position != self._position:
                self._refresh(position)
            return self._phrases.matches(prompt, now, told_in)

    def _refresh(self, position: Position) -> None:
        changes = None
        if self._position is not None:
            changes = read_changes(self._store, self._namespace, None, self._position, position, 0)
        if changes is None:
            pages = read_rows(self._store, self._namespace, None, with_triggers=True)
            self._phrases = Phrases(row for page in pages for row in page)
        else:
            for number in changes.removed:
                self._phrases.remove(number)
            for row in changes.rows:
                self._phrases.put(row)
        self._position = position


def _keys(row: IndexRow) -> Iterator[tuple[_Phrase, Stems]]:
    """Every phrase with its stems; `parseFile` also as the two words it is made of."""
    for text in row.trigger_phrases:
        for reading in _readings(text):
            first_words = reading[:_PHRASE_WORDS]
            yield _Phrase(row, text, tuple(first_words)), tuple(token.stem for token in first_words)


def _readings(text: str) -> Iterator[list[Token]]:
    yield tokens(text)
    if is_identifier(text):
        yield tokens(text, parts=True)


def _take_out(phrases: dict[Key, list[_Phrase]], key: Key, phrase: _Phrase) -> None:
    held = phrases[key]
    held.remove(phrase)
    if not held:
        del phrases[key]


def _sign(text: str) -> str:
    return unicodedata.normalize("NFKC", clean(text)).casefold().strip()


def _order(match: Match) -> tuple[float, int, int, float, int]:
    return -match.confidence, -match.words, -len(match.phrase), -match.importance, -match.number
