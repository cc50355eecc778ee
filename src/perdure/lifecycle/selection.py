"""Which memories an order to forget means. It only reads, and finds all of them or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from perdure.clock import format_time
from perdure.errors import InvalidInput, StoreDamaged
from perdure.ids import Reference
from perdure.lifecycle.instruction import Instruction, named, parse
from perdure.model import INDEXED_STATES, STATES, EvictionCandidate, Filter, Record, State, replace_record
from perdure.store.port import EvictionRule
from perdure.text.entry import entry_of, term_hash, unpack_terms
from perdure.text.words import clean, terms

if TYPE_CHECKING:
    from perdure.services import Services

MOST: Final = 10_000
_PAGE: Final = 500
# More than any namespace has: whatever holds the rarest word is a candidate.
_ALL: Final = 1_000_000

Find: TypeAlias = Callable[[str], Record]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: `filter` is what the caller narrowed it to, or nothing. `every_state` looks at memories that are
    forgotten already as well, unless the filter says otherwise. `note_use` writes down what was used until now.
    """

    services: Services
    namespace: str
    find: Find
    filter: Filter | None
    every_state: bool
    note_use: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """`named` says that each was called by its name, and none was searched for."""

    records: tuple[Record, ...]
    understood: str
    named: bool


def select(scope: Scope, what: object, now: datetime) -> Selection:
    # Bytes are a sequence of numbers too, but hardly meant as such.
    if isinstance(what, list | tuple | range):
        return _each(scope, cast("Sequence[object]", what))
    instruction = parse(what, now, scoped=_narrows(scope.filter))
    understood = f"{instruction.understood}{_in_words(scope.filter)}"
    if instruction.reference is not None:
        return _each(scope, [instruction.reference.text])
    if instruction.kind != "matching":
        return Selection(_last(scope, instruction), understood, named=False)
    found = _limited(_matching(scope, instruction, now))
    return Selection(tuple(sorted(found, key=lambda record: record.number)), understood, named=False)


def _each(scope: Scope, references: Sequence[object]) -> Selection:
    if _narrows(scope.filter):
        raise InvalidInput("A memory that is named needs no filter.", remedy="Leave one of the two out.")
    if not references:
        raise InvalidInput("The list names no memory.", remedy="Put a reference into it; nothing was changed.")
    if len(references) > MOST:
        raise _too_many()
    instructions = [named(reference) for reference in references]
    found = [_one(scope, one.reference) for one in instructions if one.reference]
    records = tuple({record.number: record for record in found}.values())
    numbers = ", ".join(f"#{record.number}" for record in records[:20])
    more = f" and {len(records) - 20:,} more" if len(records) > 20 else ""  # noqa: PLR2004
    return Selection(records, f"{'memory' if len(records) == 1 else 'memories'} {numbers}{more}", named=True)


def _one(scope: Scope, reference: Reference) -> Record:
    """What is to be erased may be damaged: then it is what the log says it was."""
    try:
        return scope.find(reference.text)
    except StoreDamaged:
        lines = scope.services.store.revisions(scope.namespace, reference.number or 0) if scope.every_state else []
        known = [replace_record(line.record, seq=line.seq) for line in lines if line.record]
        if not known:
            raise
        return known[-1]


def _last(scope: Scope, instruction: Instruction) -> tuple[Record, ...]:
    """One active memory, or none. Of equal ones the oldest number."""
    store, namespace = scope.services.store, scope.namespace
    scope.note_use()
    allowed = set(store.matching(namespace, replace(scope.filter or Filter(), states=("active",))))
    standings = (one for one in store.evictable(namespace, _NOBODY_PROTECTED, _ALL) if one.number in allowed)
    order = _last_used if instruction.kind == "oldest" else _importance
    best = min(standings, key=lambda one: (order(one), one.number), default=None)
    return tuple(store.fetch(namespace, [best.number])) if best else ()


# Whoever says it by name may forget what eviction must leave alone.
_NOBODY_PROTECTED: Final = EvictionRule(low=0, high=2, protected_tiers=())


def _last_used(standing: EvictionCandidate) -> datetime:
    return standing.last_used


def _importance(standing: EvictionCandidate) -> float:
    return standing.importance


def _matching(scope: Scope, instruction: Instruction, now: datetime) -> Iterator[Record]:
    wanted = replace(
        scope.filter or Filter(),
        states=_states(scope),
        created_since=instruction.since,
        created_until=instruction.until,
    )
    if not instruction.words:
        found = _pages(scope, wanted)
    else:
        needed = _terms(instruction)
        found = (record for record in _candidates(scope, instruction, wanted, now) if _holds(record, needed))
    return (
        record for record in found if instruction.covers(record.created_at) and _spells(record, instruction.letters)
    )


def _spells(record: Record, letters: Sequence[str]) -> bool:
    said = " ".join(
        (record.text, record.title or "", record.reasoning or "", *record.tags, *record.keywords)
    ).casefold()
    return all(word in said for word in letters)


def formerly(scope: Scope, what: object, now: datetime) -> Iterator[Record]:
    """Memories that held all the words of a sentence in an earlier version, whether they do so now or not."""
    instruction = parse(what, now, scoped=True) if isinstance(what, str) else None
    if instruction is None or not instruction.words:
        return
    needed = _terms(instruction)
    store, namespace = scope.services.store, scope.namespace
    for record in store.fetch(namespace, store.multi_version_numbers(namespace)):
        lines = store.revisions(namespace, record.number)
        if instruction.covers(record.created_at) and any(_holds(line.record, needed) for line in lines if line.record):
            yield record


def _terms(instruction: Instruction) -> set[int]:
    return {term_hash(term) for word in instruction.words for term in terms(clean(word))}


def _candidates(scope: Scope, instruction: Instruction, wanted: Filter, now: datetime) -> Iterator[Record]:
    """At least those that hold all the words: what is indexed by way of the rarest of them, the rest one by one."""
    indexed = [state for state in wanted.states if state in INDEXED_STATES]
    numbers = _with_rarest(scope, instruction.words, replace(wanted, states=INDEXED_STATES), now) if indexed else ()
    if numbers is None:
        yield from _pages(scope, wanted)
        return
    store, namespace = scope.services.store, scope.namespace
    for portion in _portions(numbers):
        yield from (record for record in store.fetch(namespace, portion) if record.state in indexed)
    others = tuple(state for state in wanted.states if state not in INDEXED_STATES)
    if others:
        yield from _pages(scope, replace(wanted, states=others))


def _with_rarest(scope: Scope, words: Sequence[str], wanted: Filter, now: datetime) -> Sequence[int] | None:
    """The numbers of all memories with the rarest of the words; None when there was no time to find them all."""
    store, namespace = scope.services.store, scope.namespace
    containing = store.word_counts(namespace, words).containing
    rarest = min(
        words, key=lambda word: min((containing.get(term_hash(term), 0) for term in terms(clean(word))), default=0)
    )
    # Search leaves out what is deprecated, unless it is asked for it.
    filters = [wanted] if wanted.tier else [wanted, replace(wanted, tier="deprecated")]
    found = [store.keyword(namespace, [rarest], filter, now, _ALL) for filter in filters]
    if not all(one.complete for one in found):
        return None
    return sorted({number for one in found for number, _ in one.best})


def _holds(record: Record, needed: set[int]) -> bool:
    return needed <= unpack_terms(entry_of(record).terms).keys()


def _pages(scope: Scope, wanted: Filter) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = scope.services.store.page(scope.namespace, wanted, after=after, limit=_PAGE, newest=False)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].number


def _portions(numbers: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(numbers)
    while portion := list(islice(rest, _PAGE)):
        yield portion


def _limited(found: Iterable[Record]) -> list[Record]:
    records = list(islice(found, MOST + 1))
    if len(records) > MOST:
        raise _too_many()
    return records


def _too_many() -> InvalidInput:
    return InvalidInput(
        f"That would be more than {MOST:,} memories at once.",
        remedy="Narrow it by a time or a filter, and do it in parts; nothing was changed.",
    )


def _states(scope: Scope) -> tuple[State, ...]:
    if scope.filter is not None and scope.filter.states != _UNSAID:
        return scope.filter.states
    return STATES if scope.every_state else INDEXED_STATES


_UNSAID: Final[tuple[State, ...]] = ()


def _narrows(filter: Filter | None) -> bool:
    """Whether it is a scope of its own. Being active is none: that is everything there is."""
    if filter is None:
        return False
    others = replace(filter, states=_UNSAID) != Filter(states=_UNSAID)
    return others or (filter.states != _UNSAID and not set(filter.states) & set(INDEXED_STATES))


def _in_words(filter: Filter | None) -> str:
    """`, of spec folder 007, of tags ui`; nothing when nothing narrows it."""
    if filter is None:
        return ""
    given = {field.name: getattr(filter, field.name) for field in fields(filter)}
    return "".join(
        f", of {name.replace('_', ' ')} {_value(value)}"
        for name, value in given.items()
        if value not in (None, (), False)
    )


def _value(value: object) -> str:
    if isinstance(value, datetime):
        return format_time(value)
    return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
