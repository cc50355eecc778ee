"""Finding the memories that an instruction to forget means. It reads only, and finds all of them or fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.clock import format_time
from perdure.errors import InvalidInput, StoreDamaged
from perdure.ids import Reference
from perdure.lifecycle.instruction import Instruction, Kind, parse, reference_of, says_what_stays
from perdure.lifecycle.lookup import find
from perdure.lifecycle.similarity import similarity
from perdure.model import INDEXED_STATES, STATES, Filter, NearMiss, Record, State, replace_record
from perdure.store.capacity import EvictionRule
from perdure.store.paging import records
from perdure.text.descriptions import Description, names_in, person_of
from perdure.text.entry import fields_of
from perdure.text.identifiers import form_of, identifiers_in
from perdure.text.meant import choose
from perdure.text.orders import says_everything
from perdure.text.words import MAX_QUERY_WORDS
from perdure.validation import check_filters
from perdure.visibility import where_in_words

if TYPE_CHECKING:
    from perdure.services import Services

MAX_SELECTED: Final = 10_000
# More than any namespace has.
_ALL: Final = 1_000_000
_LISTED: Final = 20
_NEAR_MISSES: Final = 5
# A word in more memories than this describes none of them. Of what recall finds, at most 50 are compared.
_MAX_WITH_WORD: Final = 1000
_MAX_SIMILAR: Final = 50
# A person may forget by `oldest` what eviction must leave alone.
_NOTHING_PROTECTED: Final = EvictionRule(low=0, high=2, protected_tiers=())
_NO_STATES: Final[tuple[State, ...]] = ()


@dataclass(frozen=True, slots=True)
class SelectionScope:
    """Where to look. `filter` is what the caller narrowed it to, with no states unless the caller named some.
    `every_state` also looks at memories that are forgotten, expired or evicted.
    """

    services: Services
    namespace: str
    filter: Filter | None
    every_state: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The memories that were found, by number, and the instruction that found them; None if it was references.
    `kept` are the numbers of those that stay in any case. `doubtful` fit equally well, so that none of them is meant
    plainly; `reasons` say why memories that a sentence names in part are not meant, by number.
    """

    records: tuple[Record, ...]
    understood: str
    instruction: Instruction | None = None
    kept: frozenset[int] = frozenset()
    doubtful: tuple[Record, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict[int, str])

    @property
    def kind(self) -> Kind:
        return self.instruction.kind if self.instruction else "reference"


def scope(
    services: Services, namespace: str, filters: Mapping[str, Any], *, every_state: bool = False
) -> SelectionScope:
    """Where a call looks, with its filters checked."""
    given = {name: value for name, value in filters.items() if value is not None}
    filter = check_filters(given, services.settings.categories, services.context.clock()) if given else None
    if filter is not None:
        # Nothing hides from who takes memories away.
        filter = replace(filter, hidden=(), states=filter.states if "states" in given else _NO_STATES)
    return SelectionScope(services, namespace, filter, every_state)


def select(scope: SelectionScope, what: object, now: datetime, keep: object = None) -> Selection:
    """Find the memories that `what` means; `keep` names those that stay, whatever it means."""
    filter = scope.filter or Filter(states=_NO_STATES)
    # A filter that names states which recall sees does not restrict anything.
    hidden = filter.states != _NO_STATES and not set(filter.states) & set(INDEXED_STATES)
    narrowed = hidden or replace(filter, states=_NO_STATES) != Filter(states=_NO_STATES)
    references = _references(what)
    instruction = parse(what, now, scoped=narrowed) if references is None else None
    if instruction and instruction.reference:
        instruction, references = None, [instruction.reference]
    if references is not None and narrowed:
        raise InvalidInput("A memory that is named needs no filter.", remedy="Leave one of the two out.")
    named = _references(keep)
    if named is None and keep is not None:
        named = [reference_of(keep)]
    kept = _by_references(scope, named) if named else None
    if instruction is None:
        selection = _by_references(scope, references or ())
    else:
        selection = _by_instruction(scope, instruction, filter, kept)
    if kept is None:
        return selection
    numbers = frozenset(record.number for record in kept.records)
    records = tuple(record for record in selection.records if record.number not in numbers)
    return replace(
        selection, records=records, understood=f"{selection.understood}, but {kept.understood}", kept=numbers
    )


def _references(what: object) -> list[Reference] | None:
    """The references of a list. Bytes are a sequence of numbers too, but hardly meant as such."""
    if isinstance(what, list | tuple | range):
        return [reference_of(item) for item in cast("Sequence[object]", what)]
    return None


def _by_instruction(
    scope: SelectionScope, instruction: Instruction, filter: Filter, kept: Selection | None
) -> Selection:
    understood, kind = instruction.understood, instruction.kind
    for name, value in asdict(filter).items():
        if value not in (None, (), False):
            text = format_time(value) if isinstance(value, datetime) else value
            text = where_in_words(filter.where) if name == "where" else text
            text = ", ".join(cast("tuple[str, ...]", text)) if isinstance(text, tuple) else text
            understood += f", of {name.replace('_', ' ')} {text}"
    if kind in {"oldest", "least important"}:
        # The least recently used or the least important active memory; of equal ones the one with the lowest number.
        with scope.services.store.read(scope.namespace) as reader:
            allowed = set(reader.numbers(replace(scope.filter or Filter(), states=("active",))))
            allowed -= {record.number for record in kept.records} if kept else set()
            least = min(
                (each for each in reader.eviction_candidates(_NOTHING_PROTECTED, _ALL) if each.number in allowed),
                key=lambda each: (each.last_used if kind == "oldest" else each.importance, each.number),
                default=None,
            )
            return Selection(tuple(reader.fetch([least.number])) if least else (), understood, instruction)
    matches = list(islice(_matches(scope, instruction), MAX_SELECTED + 1))
    if len(matches) > MAX_SELECTED:
        raise _too_many()
    if instruction.order is not None:
        selection = by_description(scope, instruction, matches, understood, kept)
        if selection is not None:
            return selection
    return Selection(tuple(sorted(matches, key=lambda record: record.number)), understood, instruction)


def by_description(
    scope: SelectionScope, instruction: Instruction, matches: Sequence[Record], understood: str, kept: Selection | None
) -> Selection | None:
    """The memories that a sentence means, of those that hold all its words, that hold some, and that recall finds. None
    where its words are looked for to the letter.
    """
    order, wanted = instruction.order, instruction.wanted
    if order is None or wanted is None:
        return None
    if found := identifiers_in(order.about):
        forms = [form_of(each) for each in found]
        every = _matches(scope, replace(instruction, wanted=None, since=None, until=None))
        held = [record for record in every if any(form.search(text_of(record)) for form in forms)]
        return Selection(tuple(held), f"every memory that holds {' or '.join(map(repr, found))}", instruction)
    if not wanted.known_to_index or not Description(order.about).words:
        return None
    candidates = {record.number: record for record in matches}
    kept_numbers = {record.number for record in kept.records} if kept else set[int]()
    is_timed = instruction.since is not None or instruction.until is not None
    names: Sequence[str] = wanted.words
    for query in (order.about, ""):
        found = similar_memories(scope, names, query)
        candidates |= {record.number: record for record in found if record.number not in kept_numbers}
        ordered = [candidates[number] for number in sorted(candidates)]
        texts = [text_of(record) for record in ordered]
        meant = choose(order, texts, partial(similarity, scope.services), exactly=is_timed)
        # A person who is described may be called by name elsewhere.
        names = sorted({name for place in meant.places for name in names_in(texts[place])})
        if not person_of(order.about) or not names:
            break
    if is_timed and not meant.places:
        return None
    chosen = tuple(sorted((ordered[place] for place in meant.places), key=lambda record: record.number))
    if instruction.denial and order.states and not chosen:
        raise says_what_stays(instruction.denial)
    if matches and not chosen and (says_everything(order.sentence) or not meant.doubtful):
        # What holds every word is about it, where nothing fits better.
        return None
    exact = {record.number for record in matches}
    if any(record.number not in exact for record in chosen):
        words = " and ".join(f"'{word}'" for word in wanted.written)
        understood = f"what fits {words} best, in whatever words"
    doubtful = tuple(ordered[place] for place in meant.doubtful)
    reasons = {ordered[place].number: why for place, why in meant.reasons.items()}
    return Selection(chosen, understood, instruction, doubtful=doubtful, reasons=reasons)


def similar_memories(scope: SelectionScope, words: Sequence[str], query: str) -> list[Record]:
    """Memories that hold one of the words of a description, and those that recall finds by a query."""
    filter = scope.filter or Filter()
    states = filter.states if scope.filter and filter.states != _NO_STATES else INDEXED_STATES
    filter = replace(filter, states=states)
    numbers: set[int] = set()
    with scope.services.store.read(scope.namespace) as reader:
        for word in words[:MAX_QUERY_WORDS]:
            found = reader.numbers_with_all((word,)).numbers
            numbers.update(found if len(found) <= _MAX_WITH_WORD else ())
    if query and set(states) & set(INDEXED_STATES):
        hits = scope.services.search(query, scope.namespace, filter, limit=_MAX_SIMILAR)
        numbers.update(hit.record.number for hit in hits)
    if not numbers:
        return []
    return list(records(scope.services.store, scope.namespace, replace(filter, numbers=tuple(sorted(numbers)))))


def text_of(record: Record) -> str:
    """What a memory says, and behind it all else that is searched."""
    title, text, *others = fields_of(record)
    return "\n".join(filter(None, (text, title, *others)))


def near_misses(scope: SelectionScope, selection: Selection, without: Iterable[Record]) -> tuple[list[NearMiss], int]:
    """Memories that a sentence names in part and leaves alone, those that hold most of its words first; and how many
    more there are. Memories that were named to be kept, or are among those `without`, are left out.
    """
    instruction = selection.instruction
    if instruction is None or instruction.kind != "sentence" or instruction.wanted is None:
        return [], 0
    held = Counter[int]()
    with scope.services.store.read(scope.namespace) as reader:
        for word in instruction.wanted.words[:MAX_QUERY_WORDS]:
            numbers = reader.numbers_with_all((word,)).numbers
            # A word that nearly all memories hold names none of them.
            held.update(numbers if len(numbers) <= MAX_SELECTED else ())
        others = {record.number for record in (*selection.records, *without)} | selection.kept
        filter = replace(scope.filter or Filter(), numbers=tuple(held.keys() - others))
        states = filter.states if scope.filter and filter.states != _NO_STATES else INDEXED_STATES
        allowed = reader.numbers(replace(filter, states=states)) if filter.numbers else ()
        ordered = sorted(allowed, key=lambda number: (-held[number], number))
        records = reader.fetch(ordered[:_NEAR_MISSES])
    by_number = {record.number: record for record in records}
    found = [by_number[number] for number in ordered if number in by_number]
    # What holds all the words is left out for another reason.
    told = {record.number: selection.reasons.get(record.number) for record in found if instruction.held_by(record)}
    reasons = [told.get(record.number) or instruction.why_not(record) for record in found]
    return list(map(NearMiss, found, reasons)), len(ordered) - len(found)


def matching_earlier_versions(scope: SelectionScope, selection: Selection) -> Iterator[Record]:
    """Memories that held all the words of a sentence in an earlier version alone."""
    instruction = selection.instruction
    if instruction is None or instruction.wanted is None:
        return
    selected = {record.number for record in selection.records} | selection.kept
    with scope.services.store.read(scope.namespace) as reader:
        for record in reader.fetch([number for number in reader.with_several_versions() if number not in selected]):
            versions = (line.record for line in reader.revisions(record.number) if line.record)
            if instruction.covers(record.created_at) and any(map(instruction.held_by, versions)):
                yield record


def _by_references(scope: SelectionScope, references: Sequence[Reference]) -> Selection:
    if not references:
        raise InvalidInput("The list names no memory.", remedy="Put a reference into it; nothing was changed.")
    if len(references) > MAX_SELECTED:
        raise _too_many()
    store = scope.services.store
    selected: dict[int, Record] = {}
    for reference in references:
        try:
            record = find(store, scope.namespace, reference.text)
        except StoreDamaged:
            # A damaged memory can still be erased: then it is what the log says it was.
            with store.read(scope.namespace) as reader:
                lines = reader.revisions(reference.number or 0) if scope.every_state else []
            logged = [replace_record(line.record, seq=line.seq) for line in lines if line.record]
            if not logged:
                raise
            record = logged[-1]
        selected[record.number] = record
    numbers = ", ".join(f"#{number}" for number in list(selected)[:_LISTED])
    more = f" and {len(selected) - _LISTED:,} more" if len(selected) > _LISTED else ""
    noun = "memory" if len(selected) == 1 else "memories"
    return Selection(tuple(selected.values()), f"{noun} {numbers}{more}")


def _matches(scope: SelectionScope, instruction: Instruction) -> Iterator[Record]:
    """Memories that hold all the words and were created at the time that the instruction names."""
    store, namespace = scope.services.store, scope.namespace
    states = STATES if scope.every_state else INDEXED_STATES
    if scope.filter is not None and scope.filter.states != _NO_STATES:
        states = scope.filter.states
    filter = replace(scope.filter or Filter(), created_since=instruction.since, created_until=instruction.until)
    filters = [replace(filter, states=states)]
    wanted = instruction.wanted
    if wanted:
        with store.read(namespace) as reader:
            search = reader.numbers_with_all(wanted.words[:MAX_QUERY_WORDS])
        if search.complete:
            # The words of indexed memories are looked up; only the others are read one by one.
            indexed = tuple(state for state in states if state in INDEXED_STATES)
            others = tuple(state for state in states if state not in INDEXED_STATES)
            filters = [replace(filter, states=indexed, numbers=tuple(search.numbers))] if indexed else []
            filters += [replace(filter, states=others)] if others else []
    for part in filters:
        yield from (record for record in records(store, namespace, part) if instruction.held_by(record))


def _too_many() -> InvalidInput:
    return InvalidInput(
        f"That would be more than {MAX_SELECTED:,} memories at once.",
        remedy="Narrow it by a time or a filter, and do it in parts; nothing was changed.",
    )
