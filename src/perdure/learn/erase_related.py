"""What erasing a memory does to others: whatever was made of it and holds its words goes as well, or is made anew.

An episode that loses messages is erased, and one that is made of the messages that are left takes its place: so neither
its history nor a restored backup brings a word back. A fact goes when nothing is left that it was concluded from, or
when one of its telling words was said in the erased messages and in none of those that are left, or none of its words
is said there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from perdure.episodes.episode import EpisodeWords, episode_fields, extract
from perdure.episodes.lookup import messages_of_episode
from perdure.episodes.metadata import BOUNDARY, CONSOLIDATED_AT, DIFFICULTY, REVIEWED_AT, STABILITY, SURPRISE
from perdure.episodes.surprise import UNKNOWN, telling_terms
from perdure.errors import StoreDamaged
from perdure.ids import EPISODE, PROPOSAL, Reference, is_id
from perdure.learn.people import NAME, NICKNAME
from perdure.learn.rule_facts import SLOT, VALUE
from perdure.lifecycle.erase import RelatedChanges
from perdure.lifecycle.write import Plan, lookup, plan_write
from perdure.lineage import DROPPED
from perdure.model import FACT_CATEGORIES, SPEAKER, Filter, Identity, Json, Record, State, identity_of, replace_record
from perdure.store.port import LINK_KINDS, Reader
from perdure.text.preview import when
from perdure.validation import check_choice, scalar_json
from perdure.visibility import kind_of

if TYPE_CHECKING:
    from perdure.services import Services

Related: TypeAlias = Literal["derived", "all", "none"]
RELATED: Final[tuple[Related, ...]] = get_args(Related)
# The entries of the metadata of facts, learnings and messages that are said in words.
_SAID_IN_METADATA: Final = ("subject", "value", "said", SPEAKER)
# What an episode that is made anew keeps: how it was cut, how well it is remembered, that it was learned from.
_KEPT: Final = (SURPRISE, BOUNDARY, STABILITY, DIFFICULTY, REVIEWED_AT, CONSOLIDATED_AT)
# Of so many memories that are erased it is said what they were made of.
_FEW: Final = 20
_NO_WORDS: Final = frozenset[str]()


def related_search(
    services: Services, related: Related
) -> Callable[[Reader, Sequence[Record], datetime], RelatedChanges] | None:
    """How erasing finds what else it has to touch; None where it should touch nothing else."""
    check_choice(RELATED, related, "choice of what is related")
    return None if related == "none" else partial(related_changes, services, related)


def related_changes(
    services: Services, related: Related, reader: Reader, records: Sequence[Record], at: datetime
) -> RelatedChanges:
    named: dict[str, Record] = {record.id: record for record in records}
    sources: dict[str, Record] = {}
    if related == "all" or len(records) <= _FEW:
        for record in records:
            sources |= {source.id: source for source in sources_with_words(reader, record)}
    search = DerivedSearch(reader, sources | named if related == "all" else named)
    search.run()
    gone = search.erased
    replaced: dict[str, Record] = {
        episode.id: episode_without(services, episode, left, at) for episode, left in search.replaced.values()
    }
    plans = [Plan(None, record, "insert", "inserted") for record in replaced.values()]
    changed = {record.id: search.without(record, replaced) for record in search.kept.values()}
    for record in search.revived():
        plan = changed.get(record.id, Plan(record, record, "restore", "updated"))
        changed[record.id] = replace(plan, record=as_active(plan.record), operation="restore", outcome="updated")
    plans += changed.values()
    chosen = {record.number for record in records}
    return RelatedChanges(
        tuple(sorted((record for record in gone.values() if record.number not in chosen), key=lambda one: one.number)),
        tuple(plans),
        tuple(parked_about(services, search)) if records else (),
        tuple(record.number for record, _ in search.replaced.values()),
        tuple(sorted(source.number for source in sources.values() if source.id not in gone)),
    )


def parked_about(services: Services, search: DerivedSearch) -> Iterator[int]:
    """What a language model said about several messages or episodes of a conversation is parked with the first."""
    namespace = next(iter(search.named.values())).namespace
    conversations = {record.conversation_id for record in search.erased.values()} - {None}
    for output in services.store.parked(namespace):
        about = search.reader.fetch([output.memory] if output.memory else [])
        held = telling_terms((output.output, output.error)) & search.words
        if held or any(each.conversation_id in conversations for each in about):
            yield output.id


def sources_with_words(reader: Reader, record: Record) -> Iterator[Record]:
    """What a memory was made of: those messages that share a telling word with it besides names of who speaks, and
    everything that it was merged from. Of an episode all its messages.
    """
    for id in (*record.evidence, *record.merged_from):
        for source in by_id(reader, id):
            if kind_of(source.key or "") != EPISODE:
                yield source
                continue
            yield from sources_of_fact(reader, record, source)


def sources_of_fact(reader: Reader, fact: Record, episode: Record) -> Iterator[Record]:
    messages = messages_of_episode(reader, episode)
    speakers = telling_terms(str(message.metadata.get(SPEAKER)) for message in messages)
    words = telling_terms([fact.text]) - speakers
    return (message for message in messages if words & telling_terms([message.text]))


def by_id(reader: Reader, name: str) -> list[Record]:
    # What is damaged tells nothing that could be compared.
    with suppress(StoreDamaged):
        return reader.find(Reference(name, id=name)) if is_id(name) else []
    return []


@dataclass
class DerivedSearch:
    """Follows links from the memories that are erased until nothing else is touched. `erased` are all that are erased,
    by id; `replaced` the episodes among them that are made anew, with the messages that are left; `kept` what was made
    of erased memories and says nothing that only they said.
    """

    reader: Reader
    named: dict[str, Record]
    erased: dict[str, Record] = field(default_factory=dict[str, Record])
    replaced: dict[str, tuple[Record, list[Record]]] = field(default_factory=dict[str, tuple[Record, list[Record]]])
    kept: dict[str, Record] = field(default_factory=dict[str, Record])
    words: frozenset[str] = _NO_WORDS
    messages: dict[str, list[Record]] = field(default_factory=dict[str, list[Record]])

    def run(self) -> None:
        self.erased = dict(self.named)
        versions = (line.record for each in self.named.values() for line in self.reader.revisions(each.number))
        self.words = telling_terms(
            text for record in (*self.named.values(), *versions) if record for text in texts_of(record)
        )
        fresh = list(self.erased.values())
        while fresh:
            links = self.reader.linked([record.id for record in fresh], ["evidence", "merged_from"])
            # What stayed may have rested on what goes now.
            kept = (record.number for record in self.kept.values())
            numbers = (*kept, *(link.number for link in links), *self.worded_with(fresh))
            before = set(self.erased)
            for record in self.reader.fetch(list(dict.fromkeys(numbers))):
                if record.id not in self.erased:
                    self.judge(record)
            fresh = [record for id, record in self.erased.items() if id not in before]

    def worded_with(self, erased: Iterable[Record]) -> Iterator[int]:
        """The facts that call a speaker by a name which they gave in what is erased, in whatever conversation."""
        for name in erased:
            if name.metadata.get(SLOT) not in {NAME, NICKNAME}:
                continue
            speaker, words = scalar_json(name.metadata.get(SPEAKER)), telling_terms([str(name.metadata.get(VALUE))])
            filter = Filter(categories=FACT_CATEGORIES, where=((SPEAKER, (speaker or "",)),), states=get_args(State))
            for fact in self.reader.fetch(sorted(self.reader.numbers(filter))):
                if words & telling_terms([fact.text]):
                    yield fact.number

    def judge(self, record: Record) -> None:
        self.kept.pop(record.id, None)
        kind = kind_of(record.key or "")
        if kind == EPISODE:
            left = [] if self.erased.keys() >= set(record.evidence) else self.messages_left(record)
            if left and record.state == "active":
                self.replaced[record.id] = record, left
            self.erased[record.id] = record
        elif kind == PROPOSAL or not record.evidence or self.holds_words(record, self.sources_left(record)):
            self.erased[record.id] = record
        else:
            self.kept[record.id] = record

    def messages_left(self, episode: Record) -> list[Record]:
        if episode.id not in self.messages:
            self.messages[episode.id] = messages_of_episode(self.reader, episode)
        return [message for message in self.messages[episode.id] if message.id not in self.erased]

    def sources_left(self, record: Record) -> list[Record]:
        """Everything that is left of what a memory was made of: of episodes their messages."""
        left: list[Record] = []
        for name in (*record.evidence, *record.merged_from):
            if name in self.replaced:
                left += self.replaced[name][1]
            elif name not in self.erased:
                for source in by_id(self.reader, name):
                    is_episode = kind_of(source.key or "") == EPISODE
                    left += self.messages_left(source) if is_episode else [source]
        return left

    def holds_words(self, record: Record, left: Sequence[Record]) -> bool:
        """Whether a memory says what only erased ones said, or what nothing says that is left."""
        own = telling_terms(texts_of(record))
        said = telling_terms(source.text for source in left)
        if own & (self.words - telling_terms(text for source in left for text in texts_of(source))):
            return True
        return not own & said if left else all(map(is_id, record.evidence))

    def without(self, record: Record, replaced: dict[str, Record]) -> Plan:
        """A memory that stays names the episodes that were made anew, and those of its earlier versions that held the
        words are dropped without a trace.
        """
        left = self.sources_left(record)
        fields = {
            kind: tuple(
                replaced[name].id if name in replaced else name
                for name in getattr(record, kind)
                if name in replaced or name not in self.erased
            )
            for kind in LINK_KINDS
        }
        dropped: list[Json] = [
            line.seq
            for line in self.reader.revisions(record.number)
            if line.record and self.holds_words(line.record, left)
        ]
        provenance: dict[str, Json] = {DROPPED: dropped} if dropped else {}
        return Plan(record, replace_record(record, **fields), "annotate", "annotated", provenance=provenance)

    def revived(self) -> Iterable[Record]:
        """What a memory that goes had replaced, or was merged from, holds again: unless it goes as well, or something
        else that stays replaced it, or says the same. Of several that say the same, the last one.
        """
        names = (
            name
            for record in self.erased.values()
            if record.id not in self.named
            for name in (*record.merged_from, *record.supersedes)
            if name not in self.erased
        )
        found: dict[Identity, Record] = {}
        for name in dict.fromkeys(names):
            for record in by_id(self.reader, name):
                holders = self.reader.linked([record.id], ["merged_from", "supersedes"])
                same = lookup(self.reader, identity_of(record))
                if (
                    record.state in {"merged", "superseded"}
                    and all(link.source in self.erased for link in holders)
                    and (same is None or same.id == record.id or same.id in self.erased)
                ):
                    identity = identity_of(record)
                    found[identity] = max(found.get(identity, record), record, key=lambda one: (when(one), one.number))
        return found.values()


def texts_of(record: Record) -> Iterable[str]:
    """What a memory says in words."""
    told = (record.metadata.get(name) for name in _SAID_IN_METADATA)
    texts = (record.text, record.title, record.abstract, record.summary, record.reasoning, *record.keywords, *told)
    return (text for text in texts if isinstance(text, str))


def as_active(record: Record) -> Record:
    ended = None if record.state == "superseded" else record.invalid_at
    return replace_record(record, state="active", invalid_at=ended)


def episode_without(services: Services, episode: Record, left: Sequence[Record], at: datetime) -> Record:
    """The same episode without what was erased: what was learned from it and how well it is remembered stays."""
    told = episode.metadata
    surprise = told.get(SURPRISE)
    surprise = surprise if isinstance(surprise, int | float) else UNKNOWN
    made = extract(left, services.tokens)
    about = EpisodeWords(made.title, made.text, surprise)
    fields = episode_fields(episode.conversation_id or "", left, about, str(told.get(BOUNDARY)))
    record = plan_write(None, episode.namespace, {**fields, "key": episode.key}, at).record
    kept = {name: told[name] for name in _KEPT if name in told}
    return replace_record(record, metadata={**record.metadata, **kept}, created_at=episode.created_at)
