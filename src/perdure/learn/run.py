"""One consolidation of some episodes of one conversation: predict, calibrate, write, mark.

Models are asked and texts are embedded before the transaction. Inside it everything is looked at again: when one of the
episodes was consolidated meanwhile, or is not what was read, the run is dropped, and nothing has happened.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.buggify import point
from perdure.clock import format_time
from perdure.embed.port import Generation, passage_vectors, whole_vector
from perdure.episodes.lookup import conversation_count, messages_of_episode
from perdure.episodes.metadata import CONSOLIDATED_AT
from perdure.episodes.surprise import telling_terms
from perdure.errors import EmbedderUnavailable, InvalidInput
from perdure.ids import LEARNED, LEARNED_SESSION, content_hash, parse_reference
from perdure.learn.actions import FactAction
from perdure.learn.fact_changes import FactChanges, PlannedAction
from perdure.learn.judged import Judging
from perdure.learn.known_facts import KnownFacts, scope_of
from perdure.learn.people import People, is_by_program
from perdure.learn.proposals import propose
from perdure.learn.results import Consolidation, FactChange
from perdure.learn.rule_changes import place_statements
from perdure.learn.rule_facts import is_by_rules
from perdure.learn.rules_engine import (
    RULES,
    MessagePart,
    MomentSaid,
    find_saying,
    message_parts,
    people_in,
    stored_vectors,
    telling_messages,
)
from perdure.learn.session_learnings import (
    LEARNED_BY,
    LearningsWritten,
    is_said_by_person,
    plan_learnings,
    preview_learnings,
    write_learnings,
)
from perdure.learn.silent import task_of_silent
from perdure.learn.task import ConsolidationTask, TaskEpisode
from perdure.lifecycle.capacity import fits
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, check_write, plan_write
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import SPEAKER, Record, replace_record
from perdure.store.port import Reader, Writer
from perdure.text.entry import Passage, entry_of, passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.services import Services

GUIDELINE: Final = "guideline"
_FULL: Final = "The namespace {} is full, and consolidating evicts nothing: {} wait."
# What a question to a person takes besides the two facts that it quotes, in tokens.
_PROPOSAL_TOKENS: Final = 200


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of passages, a row for each window, as far as somebody could make them."""

    generation: Generation | None
    windows: Mapping[Passage, NDArray[np.float32]]
    note: str = ""

    def vector(self, passage: Passage) -> NDArray[np.float32] | None:
        """That of the passage as a whole."""
        windows = self.windows.get(passage)
        return None if windows is None else whole_vector(windows)


def embed(services: Services, passages: Iterable[Passage]) -> Embedded:
    """All at once. Without a model that answers there are none, and facts are compared by their words."""
    wanted = list(dict.fromkeys(passages))
    chosen = services.embedders.current()
    if chosen.embedder is None or chosen.generation is None or not wanted:
        return Embedded(chosen.generation, {})
    try:
        made = passage_vectors(chosen.embedder, wanted, None, chosen.generation)
    except EmbedderUnavailable as error:
        return Embedded(chosen.generation, {}, error.note)
    if chosen.is_unmeasured:
        services.measure(chosen.embedder)
    return Embedded(chosen.generation, dict(zip(wanted, made, strict=True)))


def read_episode(reader: Reader, record: Record) -> TaskEpisode:
    return TaskEpisode(record, tuple(messages_of_episode(reader, record)))


def fingerprint(episode: TaskEpisode) -> str:
    """What of an episode an answer rests on: its words and those of its messages, not how it is remembered."""
    parts = [str(one.id) + one.content_hash for one in (episode.record, *episode.messages)]
    return sha256("\n".join((*parts, *episode.record.evidence)).encode()).hexdigest()[:16]


def read_task(
    services: Services, namespace: str, conversation: str, records: Sequence[Record], *, with_facts: bool = True
) -> ConsolidationTask:
    """Predict: the episodes, and the facts that are related to them, nearest first, each once."""
    with services.store.read(namespace) as reader:
        episodes = tuple(read_episode(reader, record) for record in records)
    if not with_facts:
        return ConsolidationTask(namespace, conversation, episodes, ())
    asked = [Passage("", record.text, "") for record in records]
    embedded, limit = embed(services, asked), services.settings.related_facts
    with services.store.read(namespace) as reader:
        scope = scope_of(services.settings, conversation)
        known = KnownFacts(reader, scope, embedded.generation, services.context.clock())
    best: dict[str, float] = {}
    for each in asked:
        for near, cosine in known.nearest(each.text, embedded.vector(each), limit):
            best[near.id] = max(best.get(near.id, -1.0), cosine or 0.0)
    related = sorted(best, key=lambda id: (-best[id], known.records[id].number))[:limit]
    return ConsolidationTask(namespace, conversation, episodes, tuple(known.records[id] for id in related))


def plan_actions(
    services: Services, task: ConsolidationTask, actions: Sequence[FactAction], learned_by: str
) -> tuple[list[PlannedAction], Embedded, list[str]]:
    """Everything about the actions that does not need the transaction: new facts as records, and their vectors."""
    planned, notes = plan_records(services, task, actions, learned_by)
    embedded = embed(services, (passage(one.record) for one in planned if one.record))
    with_vectors = [
        replace(one, vector=embedded.vector(passage(one.record)) if one.record else None) for one in planned
    ]
    return with_vectors, embedded, notes


def plan_records(
    services: Services, task: ConsolidationTask, actions: Sequence[FactAction], learned_by: str
) -> tuple[list[PlannedAction], list[str]]:
    at, notes = services.context.clock(), list[str]()
    planned: list[PlannedAction] = []
    for action in actions:
        chosen = [one for one in task.episodes if not action.evidence or one.record.number in action.evidence]
        evidence = tuple(chosen) or task.episodes
        one = PlannedAction(action, evidence, action.valid_at or max(episode.until for episode in evidence))
        if action.action in {"new", "update"}:
            metadata = {**action.metadata, LEARNED_BY: learned_by}
            given = {"category": action.category, "keywords": action.keywords, "metadata": metadata}
            try:
                fields, found = check_write(services, action.fact, given)
            except InvalidInput as error:
                notes.append(f"An action was left out: {error.sentence}")
                continue
            notes += found
            low = any(episode.record.trust == "low" for episode in evidence)
            low = low or (action.category == GUIDELINE and is_told_by_model(services, action, evidence))
            own = {
                "content_hash": content_hash(cast("Any", fields)["text"]), "source": LEARNED, "evidence": one.evidence,
                "conversation_id": evidence[0].record.conversation_id, "session_id": LEARNED_SESSION,
                "trust": "low" if low else "normal", "valid_at": one.at if action.valid_at else min(one.at, at),
                "confidence": action.confidence,
            }  # fmt: skip
            record = plan_write(None, task.namespace, cast("Any", {**fields, **own}), at).record
            one = replace(one, record=record)
        planned.append(one)
    return planned, notes


def is_told_by_model(services: Services, action: FactAction, episodes: Sequence[TaskEpisode]) -> bool:
    """Whether a model wrote one of the messages that share most words with what an assistant should do: it must not
    give orders in the name of a person.
    """
    words = telling_terms([action.fact])
    said = [message for episode in episodes for message in episode.messages]
    shared = [len(words & telling_terms([message.text])) for message in said]
    behind = [message for message, count in zip(said, shared, strict=True) if count == max(shared)]
    return any(is_by_program(message) or not is_said_by_person(services, message) for message in behind)


@dataclass
class FactsRead:
    """The facts that a run read, for the next one of the same scope: of a thousand chats each has a run of its own."""

    known: KnownFacts | None = None
    namespace: str = ""
    seq: int = 0

    def read(
        self, services: Services, task: ConsolidationTask, generation: Generation | None
    ) -> tuple[KnownFacts, int]:
        """The facts of the scope of a task, and since which position of the log they have to be looked at again."""
        scope = scope_of(services.settings, task.conversation_id)
        known, self.known = self.known, None
        if known and (self.namespace, known.conversation, known.generation) == (task.namespace, scope, generation):
            return known, self.seq
        seq = services.store.position(task.namespace, None).seq
        with services.store.read(task.namespace) as reader:
            return KnownFacts(reader, scope, generation, services.context.clock()), seq

    def keep(self, task: ConsolidationTask, known: KnownFacts, stored: Mapping[str, Record], seq: int) -> None:
        known.records |= {id: record for id, record in stored.items() if id in known.records}
        # All that was written before these was looked at inside their transaction.
        seq = max([seq, *(record.seq for record in stored.values())])
        self.known, self.namespace, self.seq = known, task.namespace, seq


def apply_actions(
    services: Services,
    task: ConsolidationTask,
    actions: Sequence[FactAction],
    learned_by: str,
    batch: WriteBatch,
    *,
    dry_run: bool = False,
    read_before: FactsRead | None = None,
) -> Consolidation | None:
    """Write and mark, in one transaction. None when the episodes are not what they were any more. `read_before` are the
    facts that the run before this one read.
    """
    planned, embedded, notes = plan_actions(services, task, actions, learned_by)
    learnings, rules = plan_learnings(services, task, embed), LearningsWritten()
    shown = {fact.number: str(fact.content_hash) for fact in task.facts}
    known, seq = (read_before or FactsRead()).read(services, task, embedded.generation)
    told = [one for one in planned if is_by_rules(one.action)]
    judging = judge_ahead(services, task, told, known) if learned_by == RULES else None

    def decide(inside: Reader) -> FactChanges | None:
        known.refresh(inside, seq)
        if any(not is_pending(inside, episode) for episode in task.episodes):
            return None
        changes = FactChanges(inside, known, shown, services.settings, batch.at)
        for one in planned:
            if not is_by_rules(one.action):
                changes.apply(one)
        place_statements(changes, told, judging)
        # What was ended after all is no conflict any more.
        changes.conflicts = [pair for pair in changes.conflicts if {pair.first, pair.second} <= known.records.keys()]
        return changes

    if dry_run:
        with services.store.read(task.namespace) as reader:
            changes = decide(reader)
            stored = {id: plan.record for id, plan in changes.plans.items()} if changes else {}
            proposed = len(changes.conflicts) if changes else 0
            full = changes is not None and not has_room(services, reader, changes, learnings.texts)
            rules = preview_learnings(reader, learnings) if changes and not full else rules
    else:
        proposed, stored, full = 0, dict[str, Record](), False
        with services.store.write(task.namespace) as writer:
            changes = decide(writer)
            if changes is not None and not (full := not has_room(services, writer, changes, learnings.texts)):
                stored = write_facts(services, writer, changes, embedded, batch)
                proposed = write_proposals(services, writer, changes, stored, batch)
                rules = write_learnings(services, writer, learnings, batch)
                mark(services, writer, task.episodes, learned_by, batch)
        point("consolidation: done")
        if read_before is not None and changes is not None and not full:
            read_before.keep(task, known, stored, seq)
    if changes is None:
        return None
    if full:
        return Consolidation(notes=(full_note(task),), done=not dry_run)
    notes += [*changes.notes, *([embedded.note] if embedded.note else [])]
    now = {**changes.known.records, **stored}
    # What took the place of a fact that had ended before leaves that as it is.
    past = [id for _, *both in changes.decided for id in both if id and id not in now]
    with services.store.read(task.namespace) as reader:
        now |= {record.id: record for id in past for record in reader.find(parse_reference(id))}
        decided = tuple(
            FactChange(action, now[id], now[old] if old else None, conversation_count(reader, now[id]))
            for action, id, old in changes.decided
        )
    decided, proposed = (*decided, *rules.changes), proposed + rules.proposed
    counts = Counter(change.action for change in decided)
    return Consolidation(
        episodes=len(task.episodes), learned=counts["new"], reinforced=counts["reinforce"], updated=counts["update"],
        invalidated=counts["invalidate"], proposed=proposed, left_out=changes.left_out, changes=decided,
        batch=None if dry_run else batch.id, done=not dry_run, notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def judge_ahead(
    services: Services, task: ConsolidationTask, told: Sequence[PlannedAction], known: KnownFacts
) -> Judging | None:
    """What the judge says of the new messages beside the facts near them, asked before the transaction. None where
    there is no judge.
    """
    if not services.judge or known.generation is None:
        return None
    people = people_in(services, task)
    messages = [message for episode in task.episodes for message in episode.messages if not is_by_program(message)]
    with services.store.read(task.namespace) as reader:
        vectors = stored_vectors(reader, known.generation, messages)
    facts = defaultdict[MomentSaid, list[str]](list)
    for one in told:
        if one.record:
            said = one.at, str(one.record.metadata.get(SPEAKER)), one.record.conversation_id or ""
            facts[said].append(one.action.fact)
    parts = plan_parts(services, task, facts, people)
    # A model elsewhere is not asked twice.
    if known.generation.provider == "local":
        add_vectors(services, vectors, {message.id: passage(message) for message in messages})
        add_vectors(services, vectors, part_passages(parts))
    telling = telling_messages(task, told, parts, people, vectors)
    before, facts = task_of_silent(services, task, vectors, known.generation, known.conversation)
    find = partial(find_saying, people, known.generation)
    silent = plan_parts(services, before, facts, people)
    if known.generation.provider == "local":
        add_vectors(services, vectors, part_passages(silent))
    with services.store.read(task.namespace) as reader:
        earlier = telling_messages(before, [], silent, people, vectors)
        judging = Judging(services.judge, telling, earlier, known, find)
        judging.look_ahead(reader, known)
    return judging


def add_vectors(services: Services, vectors: dict[str, NDArray[np.float32]], wanted: Mapping[str, Passage]) -> None:
    """Those that are missing, as far as they can be made."""
    missing = {key: one for key, one in wanted.items() if key not in vectors}
    embedded = embed(services, missing.values())
    vectors |= {key: vector for key, one in missing.items() if (vector := embedded.vector(one)) is not None}


def part_passages(parts: Sequence[tuple[MessagePart, PlannedAction | None]]) -> dict[str, Passage]:
    """What is embedded of parts, by their words. The vector of a message also tells who said it, and when."""
    return {part.said: Passage("", part.said, "") for part, _ in parts}


def plan_parts(
    services: Services, task: ConsolidationTask, facts: Mapping[MomentSaid, Sequence[str]], people: People
) -> list[tuple[MessagePart, PlannedAction | None]]:
    """What was said; what no fact was made of as the fact that it may become, too."""
    messages = ((message, episode.record) for episode in task.episodes for message in episode.messages)
    parts = message_parts(messages, facts, people)
    actions = [part.action for part in parts if part.action]
    planned = {id(one.action): one for one in plan_records(services, task, actions, RULES)[0]}
    return [(part, planned.get(id(part.action))) for part in parts]


def is_pending(reader: Reader, episode: TaskEpisode) -> bool:
    """Whether an episode is what was read, and nobody has consolidated it."""
    now = next(iter(reader.fetch([episode.record.number])), None)
    if now is None or now.state != "active" or CONSOLIDATED_AT in now.metadata:
        return False
    return fingerprint(read_episode(reader, now)) == fingerprint(episode)


def full_note(task: ConsolidationTask) -> str:
    count = len(task.episodes)
    return _FULL.format(task.namespace, "1 episode" if count == 1 else f"{count:,} episodes")


def has_room(
    services: Services, reader: Reader, changes: FactChanges | None = None, learnings: Sequence[str] = ()
) -> bool:
    """Whether what is new fits without evicting anything: what a model says must not cost another memory."""
    count = services.tokens.count
    new = [plan.record.text for plan in changes.plans.values() if plan.previous is None] if changes else [""]
    texts = [*new, *learnings]
    pairs = len(changes.conflicts) if changes else 0
    if not texts and not pairs:
        return True
    return fits(services, reader, len(texts) + pairs, sum(map(count, texts)) + pairs * _PROPOSAL_TOKENS)


def write_facts(
    services: Services, writer: Writer, changes: FactChanges, embedded: Embedded, batch: WriteBatch
) -> dict[str, Record]:
    stored: dict[str, Record] = {}
    for id, plan in changes.plans.items():
        prepared = PreparedWrite(entry_of(plan.record, services.tokens.count), generation=embedded.generation)
        windows = embedded.windows.get(passage(plan.record)) if plan.previous is None else None
        if windows is not None:
            prepared = replace(prepared, vector=windows.tobytes())
        stored[id] = apply_plan(services, writer, plan, batch, prepared, room=False).record
        point("consolidation: fact put")
    return stored


def write_proposals(
    services: Services, writer: Writer, changes: FactChanges, stored: Mapping[str, Record], batch: WriteBatch
) -> int:
    """Of pairs that a person was not asked about yet."""
    proposed = 0
    for first, second, reasons, cosine in changes.conflicts:
        pair = [stored.get(id) or changes.known.records[id] for id in (first, second)]
        made = propose(
            services, writer, batch, kind="conflict", first=pair[0], second=pair[1], reasons=reasons, cosine=cosine
        )
        proposed += made is not None
        point("consolidation: proposed")
    return proposed


def mark(
    services: Services, writer: Writer, episodes: Iterable[TaskEpisode], learned_by: str, batch: WriteBatch
) -> None:
    for episode in episodes:
        [record] = writer.fetch([episode.record.number])
        metadata = {**record.metadata, CONSOLIDATED_AT: format_time(batch.at)}
        marked = replace_record(record, metadata=metadata)
        plan = Plan(record, marked, "annotate", "annotated", provenance={LEARNED_BY: learned_by})
        apply_plan(services, writer, plan, batch)
        point("consolidation: episode marked")
