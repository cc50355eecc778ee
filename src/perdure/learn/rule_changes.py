"""From statements to changes of facts, inside the transaction that writes them.

Statements that fill a slot are placed in time among all that is known of it; the others are new, or known already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, cast

from perdure.ids import new_id
from perdure.learn.fact_changes import (
    FORGOTTEN,
    LOW_TRUST,
    ConflictingPair,
    DecidedChange,
    FactChanges,
    PlannedAction,
    begins,
)
from perdure.learn.judged import DOUBTED, Endings, Judging
from perdure.learn.people import NAME, NICKNAME, GivenName, People
from perdure.learn.rule_facts import (
    BY_OTHERS,
    SAID_AT,
    SAID_ELSEWHERE,
    SLOT,
    SUBJECT,
    VALUE,
    KnownFact,
    PlacedFact,
    ToldFact,
    Topic,
    assertion_in,
    is_by_rules,
    is_own,
    moments_said,
    origin_of,
    place,
    read_again,
    speaker_in,
    told_elsewhere,
    topic_of,
)
from perdure.learn.rules.languages import rules_for
from perdure.learn.validity import Assertion, Moment
from perdure.lifecycle.import_export import is_blocked
from perdure.lifecycle.write_context import is_by_person
from perdure.model import FACT_CATEGORIES, Change, Filter, Record, Revision, State, replace_record, without_use
from perdure.store.port import LogFilter, Reader
from perdure.tiers import ONLY_PEOPLE
from perdure.validation import scalar_json

_SAME_MOMENT: Final = "both were said at the same time"
_SETTLED: Final = "rules do not overrule what somebody settled"
# A fact that ended the moment it began would never have been true.
_MOMENT: Final = timedelta(microseconds=1)


def place_statements(
    changes: FactChanges,
    planned: Sequence[PlannedAction],
    judging: Judging | None = None,
) -> None:
    """What rules found, of whatever topics. The order in which it is given does not matter. Without a judge the slots
    alone say what ends what.
    """
    names = [*names_known(changes.reader, changes.known.conversation), *names_in(one.record for one in planned)]
    people = People(names)
    by_topic: defaultdict[Topic, list[PlannedAction]] = defaultdict(list)
    for one in sorted(planned, key=lambda one: (one.at, one.action.fact)):
        topic = topic_of(one.record, people) if one.record else None
        if topic and one.record and not changes.is_forgotten(one.record, one):
            by_topic[topic].append(one)
    leave_out_forgotten(changes, by_topic, people)
    known = known_facts(changes, [topic for topic in by_topic if topic.slot], people)
    for topic, told in by_topic.items():
        if topic.slot:
            doubted = doubtful(told, known[topic], judging) if judging else []
            believed = [one for one in told if one not in doubted]
            if believed:
                TopicChanges(changes, believed, people).carry_out(known[topic])
            told = [as_event(one) for one in doubted]  # noqa: PLW2901 - what is left of them
        for one in told:
            add_event(changes, one)
    if judging:
        Endings(changes, people, judging).carry_out()


def doubtful(told: Sequence[PlannedAction], known: Sequence[KnownFact], judging: Judging) -> list[PlannedAction]:
    """Those that fill a slot otherwise than what was said before, and of which the judge says that they end none of it:
    who almost moved lives where they lived.
    """
    said = [(one.record.text, one.assertion, one.said[0].at) for one in known]
    said += [(one.action.fact, assertion_in(one.action), one.at) for one in told]
    found: list[PlannedAction] = []
    for one in told:
        contrary = [
            text for text, assertion, at in said if at < one.at and assertion.contradicts(assertion_in(one.action))
        ]
        if contrary and all(judging.ends_by(text, one.action.fact) < DOUBTED for text in contrary):
            found.append(one)
    return found


def as_event(planned: PlannedAction) -> PlannedAction:
    """The same, filling no slot."""
    fact = cast("Record", planned.record)
    metadata = {name: value for name, value in fact.metadata.items() if name != SAID_AT} | {SLOT: ""}
    return replace(
        planned,
        action=replace(planned.action, metadata=metadata),
        record=replace_record(fact, metadata=metadata),
    )


def names_known(reader: Reader, conversation: str | None) -> Iterator[GivenName]:
    """The names that speakers gave to themselves, as facts have them; of one conversation, or of the namespace."""
    where = ((SLOT, tuple(cast("str", scalar_json(slot)) for slot in (NAME, NICKNAME))),)
    filter = Filter(conversation_id=conversation, categories=("identity",), where=where)
    yield from names_in(reader.fetch(sorted(reader.numbers(filter))))


def names_in(facts: Iterable[Record | None]) -> Iterator[GivenName]:
    for fact in facts:
        slot = fact.metadata.get(SLOT) if fact else None
        if fact and slot in {NAME, NICKNAME} and People().label(str(fact.metadata.get(SUBJECT))) == speaker_in(fact):
            name = str(fact.metadata.get(VALUE))
            yield GivenName(fact.conversation_id or "", speaker_in(fact), name, is_nickname=slot == NICKNAME)


def leave_out_forgotten(changes: FactChanges, by_topic: dict[Topic, list[PlannedAction]], people: People) -> None:
    """What was said before a fact was forgotten that says the same, in whatever words, is not learned."""
    forgotten: dict[tuple[Topic, Assertion], datetime] = {}
    for record in facts_about(changes, by_topic, ("deleted",)):
        since, topic = changes.forgotten_since(record), topic_of(record, people)
        if since and topic:
            said = topic, assertion_in(record)
            forgotten[said] = max(since, forgotten.get(said, since))
    for topic, told in by_topic.items() if forgotten else ():
        kept = [one for one in told if not is_blocked(forgotten.get((topic, assertion_in(one.action))), one.said_at)]
        for _ in range(len(told) - len(kept)):
            changes.skip(FORGOTTEN)
        told[:] = kept


def facts_about(changes: FactChanges, topics: Collection[Topic], states: tuple[State, ...]) -> Sequence[Record]:
    """What rules learned that fills a slot of one of these topics, of whomever."""
    slots = tuple({cast("str", scalar_json(topic.slot)) for topic in topics if topic.slot})
    if not slots:
        return ()
    filter = Filter(
        conversation_id=changes.known.conversation, categories=FACT_CATEGORIES, where=((SLOT, slots),), states=states
    )
    return changes.reader.fetch(sorted(changes.reader.numbers(filter)))


def add_event(changes: FactChanges, planned: PlannedAction) -> None:
    """What happened is true since it was first told."""
    fact = changes.add(planned, planned.record) if planned.record else None
    if fact and is_by_rules(fact) and planned.at < begins(fact):
        changes.change(fact, "annotate", valid_at=planned.at)


def known_facts(changes: FactChanges, topics: Collection[Topic], people: People) -> dict[Topic, list[KnownFact]]:
    """What rules learned of these topics, and what others said of them."""
    known: dict[Topic, list[KnownFact]] = {topic: [] for topic in topics}
    for record in facts_about(changes, topics, ("active", "superseded")):
        if (topic := topic_of(record, people)) and topic in known:
            known[topic].append(known_fact(changes.reader, record, people))
    for record in changes.known.records.values() if topics else ():
        if is_by_rules(record):
            continue
        for topic, assertion in readings(record, people):
            if topic in known:
                known[topic].append(KnownFact(record, assertion, (Moment(begins(record)),), is_settled=True))
    return known


def readings(record: Record, people: People) -> Iterator[tuple[Topic, Assertion]]:
    """What a memory says in the words that it has, one assertion for each topic."""
    found: set[Topic] = set()
    for one in read_again(record, speaker_in(record)):
        topic = Topic(people.subject(one.subject, record.conversation_id or ""), one.slot)
        if topic not in found:
            found.add(topic)
            yield topic, Assertion(rules_for(record.text).plain_value(one.value), one.affirmed)


def known_fact(reader: Reader, record: Record, people: People) -> KnownFact:
    """What holds, and a person changed since it was learned, is settled. Other words that cannot be read agree with
    nothing. Who kept it and ended another one said it again, so that what was said before that does not overrule it.
    """
    assertion, said = assertion_in(record), tuple(moments_said(record)) or (Moment(begins(record)),)
    settled_at, is_reworded, vouched = None, False, list[Moment]()
    for before, after in pairwise(reader.revisions(record.number)):
        same_words = before.version == after.version
        if is_by_person(after.change) and (not same_words or is_restored(reader, after.change)):
            settled_at = after.change.at
            is_reworded |= not same_words
        elif is_by_person(after.change) and ends_more(before, after):
            vouched.append(Moment(after.change.at))
            said = tuple(dict.fromkeys((*said, *vouched)))
    if is_reworded:
        topic = topic_of(record, people)
        again = (assertion for each, assertion in readings(record, people) if each == topic)
        assertion = next(again, Assertion(record.text))
    if settled_at is None or record.state != "active":
        # Who ended it did not say it again.
        own, is_settled = is_own(record, people), record.tier == ONLY_PEOPLE
        return KnownFact(record, assertion, said, is_settled, own, tuple(vouched))
    return KnownFact(record, assertion, (Moment(settled_at),), is_settled=True, vouched=(Moment(settled_at),))


def ends_more(before: Revision, after: Revision) -> bool:
    """Whether a change made a fact supersede another one."""
    return bool(before.record and after.record and set(after.record.supersedes) - set(before.record.supersedes))


def is_restored(reader: Reader, change: Change) -> bool:
    """Whether it was brought back for its own sake, and not because what had ended it was erased."""
    erased = LogFilter(batch=change.batch, operation="erase")
    return change.operation == "restore" and not reader.log(erased, limit=1)


class TopicChanges:
    """The changes of one topic by what was said about it."""

    def __init__(self, changes: FactChanges, told: Sequence[PlannedAction], people: People) -> None:
        self.changes = changes
        self.told = told
        self.facts = [
            ToldFact(one.action, origin_of(one.record), is_own(one.record, people)) for one in told if one.record
        ]

    def carry_out(self, known: Sequence[KnownFact]) -> None:
        records = {one.record.id: one.record for one in known}
        placed = place(known, self.facts)
        ending = {fact.known.record.id for fact in placed if fact.known and is_ending(fact, fact.known.record)}
        if self.changes.superseded + len(ending) > self.changes.settings.consolidation_most_superseded:
            known = [replace(one, is_settled=True) if one.record.id in ending else one for one in known]
            placed = place(known, self.facts)
        # What ends goes first: nothing new may be compared with it.
        order = sorted(range(len(placed)), key=lambda index: placed[index].known is None)
        ids = {index: self._write(placed[index]) for index in order}
        records |= {id: self.changes.plans[id].record for id in ids.values() if id in self.changes.plans}
        decided = {ids[other] for fact in placed for other in fact.supersedes}
        for index, fact in enumerate(placed):
            supersedes = [ids[other] for other in fact.supersedes if ids[other] != ids[index]]
            self._link(records.get(ids[index]), supersedes, decided)
            for other in fact.conflicts:
                self._conflict(ids[index], ids[other], fact, placed[other])

    def _write(self, fact: PlacedFact) -> str:
        """The id of the memory that it became."""
        changes = self.changes
        chosen = set(map(id, fact.actions))
        told = [one for one in self.told if id(one.action) in chosen]
        evidence = tuple(id for one in told for id in one.evidence)
        if fact.known is None:
            return self._add(fact, told, evidence)
        record = changes.current(fact.known.record)
        if not set(evidence) <= set(record.evidence):
            changes.decided.append(DecidedChange("reinforce", record.id))
            evidence, count = union(record.evidence, evidence), record.observation_count + 1
            record = changes.change(record, "observe", evidence=evidence, observation_count=count)
        if not fact.known.is_settled:
            changes.superseded += is_ending(fact, record)
            self._change(record, times_of(fact, record, changes.at))
        for absorbed in fact.absorbed:
            part, whole = changes.change(absorbed, "annotate", state="merged"), changes.current(record)
            evidence, parts = union(whole.evidence, part.evidence), union(whole.merged_from, (part.id,))
            self._change(whole, {"evidence": evidence, "merged_from": parts})
        return record.id

    def _add(self, fact: PlacedFact, told: Sequence[PlannedAction], evidence: tuple[str, ...]) -> str:
        changes = self.changes
        if not told and fact.like:
            # It was said before and after something that became known only now.
            copy = replace_record(
                without_use(fact.like), id=new_id(), number=0, seq=0, version=1, created_at=changes.at,
                updated_at=changes.at, observation_count=1, supersedes=(), merged_from=(),
                trust=fact.like.trust if fact.is_trusted else "low",
            )  # fmt: skip
            record = replace_record(copy, **times_of(fact, copy, changes.at))
            changes.insert(record, None)
            return record.id
        first, record = told[0], cast("Record", told[0].record)
        record = replace_record(record, evidence=union((), evidence), **times_of(fact, record, changes.at))
        if fact.end:
            changes.insert(record, first.vector)
            changes.decided.append(DecidedChange("new", record.id))
            return record.id
        return (changes.add(first, record) or record).id

    def _link(self, record: Record | None, supersedes: Sequence[str], decided: Collection[str]) -> None:
        """What it superseded for another reason than what was said stays."""
        if record is None:
            return
        changes = self.changes
        news = [DecidedChange("update", record.id, one) for one in supersedes if one not in record.supersedes]
        told = {one for change in news for one in (change.id, change.replaced)}
        changes.decided[:] = [one for one in changes.decided if one.action != "new" or one.id not in told]
        changes.decided += news
        others = tuple(other for other in record.supersedes if other not in decided)
        self._change(record, {"supersedes": (*others, *supersedes)})

    def _conflict(self, id: str, other: str, fact: PlacedFact, against: PlacedFact) -> None:
        reason = _SAME_MOMENT if fact.is_trusted == against.is_trusted else LOW_TRUST
        reason = reason if fact.is_own == against.is_own else BY_OTHERS
        reason = _SETTLED if against.known and against.known.is_settled else reason
        known = ({one.first, one.second} for one in self.changes.conflicts)
        if fact.end is None and against.end is None and id != other and {id, other} not in known:
            self.changes.conflicts.append(ConflictingPair(id, other, (reason,)))

    def _change(self, record: Record, fields: dict[str, Any]) -> None:
        changed = {name: value for name, value in fields.items() if getattr(record, name) != value}
        if changed:
            self.changes.change(record, "annotate", **changed)


def is_ending(fact: PlacedFact, record: Record) -> bool:
    return fact.end is not None and record.state == "active"


def times_of(fact: PlacedFact, record: Record, now: datetime) -> dict[str, Any]:
    """Since when and until when it holds, and when it was said: by now, also if the clock went back."""
    begin = min(fact.said[0].at, now)
    elsewhere = told_elsewhere(record, fact.origins)
    known = {name: value for name, value in record.metadata.items() if name != SAID_ELSEWHERE}
    return {
        "valid_at": begin,
        "invalid_at": fact.end and max(fact.end.at, begin + _MOMENT),
        "state": "superseded" if fact.end else "active",
        "metadata": {
            **known,
            SAID_AT: [str(moment) for moment in fact.said],
            **({SAID_ELSEWHERE: elsewhere} if elsewhere else {}),
        },
    }


def union(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
