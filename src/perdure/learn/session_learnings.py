"""Learnings of a project, made of what people say in its sessions (`project_rules`).

They are written in the transaction that marks the episodes, so that each is made once, and one undo takes back the run.
A rule that is said again is observed. One that is contrary to an earlier one takes its place where the judge of two
statements is sure and both were learned from sessions; else a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from perdure.buggify import point
from perdure.embed.port import Generation
from perdure.episodes.episode import said_at
from perdure.errors import EmbedderUnavailable, InvalidInput, StoreError
from perdure.ids import CAPTURED, content_hash, parse_reference
from perdure.learn.compare import LEAST_COSINE, Contrary, Neighbour, contrary_of, find_neighbours, may_compare
from perdure.learn.judged import SURE
from perdure.learn.people import is_by_program, is_of_session, is_tool_use
from perdure.learn.proposals import propose
from perdure.learn.results import FactChange, Proposal
from perdure.learn.review import supersede
from perdure.learn.rules.languages import ProjectRule, rules_for
from perdure.learn.sameness import Verdict, duplicate_verdict
from perdure.learn.tool_fixes import TOOL_SPEAKER, fixes_in
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, check_write, plan_observation, plan_write
from perdure.lifecycle.write_context import is_by_person
from perdure.model import LEARNING_CATEGORIES, Record, identity_of
from perdure.text.entry import entry_of, passage
from perdure.text.pasted import without_pasted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.learn.run import Embedded
    from perdure.learn.task import ConsolidationTask, TaskEpisode
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Reader, Writer
    from perdure.text.entry import Passage

    Embed = Callable[[Services, Iterable[Passage]], Embedded]

LEARNED_BY: Final = "learned_by"
# In the metadata of a learning: the words of the person.
SAID: Final = "said"
HOOK: Final = "hook"
_RULES: Final = "rules"
# What happened once in one session may have had another reason.
_CONFIDENCE_OF_TOOLS: Final = 0.2
# `ok` and `go on` ask for nothing by themselves.
_FEWEST_WORDS_OF_REQUEST: Final = 3
# From here on the judge is believed that two rules say the same.
_SAME: Final = 0.5


class ToldRule(NamedTuple):
    rule: ProjectRule
    message: Record
    episode: Record


@dataclass(frozen=True, slots=True)
class PlannedLearning:
    """`contraries` are what it cannot hold together with; `same` says it in other words; both by id."""

    told: ToldRule
    record: Record
    windows: NDArray[np.float32] | None
    same: frozenset[str]
    contraries: tuple[tuple[Contrary, bool], ...]

    @property
    def at(self) -> datetime:
        return said_at(self.told.message)


@dataclass(frozen=True, slots=True)
class SessionLearnings:
    """What the sessions of one run say, before it is decided what is new in it."""

    planned: tuple[PlannedLearning, ...] = ()
    generation: Generation | None = None

    @property
    def texts(self) -> list[str]:
        return [one.record.text for one in self.planned]


class LearningsWritten(NamedTuple):
    changes: tuple[FactChange, ...] = ()
    proposed: int = 0


def told_rules(episodes: Iterable[TaskEpisode]) -> Iterator[ToldRule]:
    """What people said, in the order of the episodes, each with what they had asked for before."""
    for episode in episodes:
        asked = ""
        for message in episode.messages:
            if is_tool_use(message):
                yield from (ToldRule(rule, message, episode.record) for rule in rules_of_tools(message))
            if is_of_session(message) and not is_by_program(message):
                for rule in rules_for(message.text).project_rules(message.text, message.source_project, asked):
                    yield ToldRule(rule, message, episode.record)
                first = next(iter(without_pasted(message.text).splitlines()), "")
                asked = first if len(first.split()) >= _FEWEST_WORDS_OF_REQUEST else asked


def rules_of_tools(message: Record) -> Iterator[ProjectRule]:
    """The same two commands are the same learning, whatever the failed one said this time."""
    for fix in fixes_in(message.text):
        text = f"In {message.source_project} the command `{fix.failed}` fails; `{fix.worked}` works."
        said = f"`{fix.failed}` failed: {fix.error}" if fix.error else f"`{fix.failed}` failed"
        yield ProjectRule(text, f"Run {fix.worked}", "heuristics", _CONFIDENCE_OF_TOOLS, said)


def plan_learnings(services: Services, task: ConsolidationTask, embed: Embed) -> SessionLearnings:
    """Everything that needs no transaction: records, vectors, and what the judge says of those that are near."""
    drafts: list[tuple[ToldRule, Record]] = []
    for told in told_rules(task.episodes):
        record = draft_of(services, task.namespace, told)
        if record is not None:
            drafts.append((told, record))
    if not drafts:
        return SessionLearnings()
    embedded = embed(services, (passage(record) for _, record in drafts))
    planned: list[PlannedLearning] = []
    for told, record in sorted(drafts, key=lambda draft: said_at(draft[0].message)):
        vector = embedded.vector(passage(record))
        # Two commands are the same by their letters alone, and contrary to nothing that somebody said.
        before = [one.record for one in planned]
        near = [] if is_tool_use(told.message) else neighbours_of(services, record, vector, embedded, before)
        same, contraries = compare_rule(services, record, near)
        windows = embedded.windows.get(passage(record))
        planned.append(PlannedLearning(told, record, windows, same, contraries))
    return SessionLearnings(tuple(planned), embedded.generation)


def draft_of(services: Services, namespace: str, told: ToldRule) -> Record | None:
    """The learning as a record; None where a setting has no such category, or nothing of it may be stored."""
    rule, message, episode = told
    learned_by = TOOL_SPEAKER if is_tool_use(message) else _RULES
    given = {
        "category": rule.category, "title": rule.title, "confidence": rule.confidence,
        "metadata": {LEARNED_BY: learned_by, SAID: rule.said},
    }  # fmt: skip
    try:
        fields, _ = check_write(services, rule.text, given)
    except InvalidInput:
        return None
    origin = {
        "content_hash": content_hash(cast("Any", fields)["text"]), "source": CAPTURED, "evidence": (episode.id,),
        "source_project": message.source_project, "session_id": message.session_id, "channel": message.channel,
        "trust": "normal" if is_said_by_person(services, message) else "low", "valid_at": said_at(message),
    }  # fmt: skip
    return plan_write(None, namespace, cast("Any", {**fields, **origin}), services.context.clock()).record


def is_said_by_person(services: Services, message: Record) -> bool:
    """The prompt that a hook tells is a person's; what else a model stores as a message may be its own."""
    if message.trust == "low" or is_tool_use(message):
        return False
    with services.store.read(message.namespace) as reader:
        change = reader.revisions(message.number)[0].change
    return is_by_person(change) or change.surface.partition(" ")[0] == HOOK


def neighbours_of(
    services: Services,
    record: Record,
    vector: NDArray[np.float32] | None,
    embedded: Embedded,
    before: Sequence[Record],
) -> list[Neighbour]:
    """The learnings near a new one: those that are stored, and those that were said before it in the same run."""
    if vector is None or embedded.generation is None:
        return []
    try:
        _, stored = find_neighbours(services, record, vector, embedded.generation)
    except (EmbedderUnavailable, StoreError):
        stored = []
    own = [(one, embedded.vector(passage(one))) for one in before if may_compare(record, one)]
    new = [Neighbour(one, float(other @ vector)) for one, other in own if other is not None]
    near = [*stored, *(one for one in new if one.cosine >= LEAST_COSINE)]
    return [one for one in near if one.record.category in LEARNING_CATEGORIES and one.record.id != record.id]


def compare_rule(
    services: Services, record: Record, near: Sequence[Neighbour]
) -> tuple[frozenset[str], tuple[tuple[Contrary, bool], ...]]:
    """Which of them say the same; and which are contrary, with whether the newer one surely ends the older one."""
    if not near or services.judge is None:
        return frozenset(), ()
    try:
        verdicts = services.judge([(one.record.text, record.text) for one in near])
    except EmbedderUnavailable:
        return frozenset(), ()
    same: set[str] = set()
    contraries: list[tuple[Contrary, bool]] = []
    for one, verdict in zip(near, verdicts, strict=True):
        alike = duplicate_verdict(one.record.text, record.text, one.cosine)
        if alike.verdict is Verdict.SAME and verdict.same >= _SAME:
            same.add(one.record.id)
        elif contrary := contrary_of(record, one, verdict):
            contraries.append((contrary, verdict.ends >= SURE and may_be_ended(one.record, record)))
    return frozenset(same), tuple(contraries)


def may_be_ended(older: Record, newer: Record) -> bool:
    """What a person or a tool stored themselves is ended by nobody but a person; trust ends no more trust."""
    return older.metadata.get(LEARNED_BY) == _RULES and not (older.trust == "normal" and newer.trust == "low")


def preview_learnings(reader: Reader, learnings: SessionLearnings) -> LearningsWritten:
    """What would be written: each rule that is not known yet, and each that is known once more."""
    changes: list[FactChange] = []
    for one in learnings.planned:
        if not _is_forgotten(reader, one):
            known = reader.by_content(identity_of(one.record)) or _still_there(reader, one.same, {})
            changes.append(FactChange("reinforce" if known else "new", known or one.record, None, 1))
    return LearningsWritten(tuple(changes))


def write_learnings(
    services: Services, writer: Writer, learnings: SessionLearnings, batch: WriteBatch
) -> LearningsWritten:
    """Inside the transaction, where everything that was compared is looked at again."""
    changes: list[FactChange] = []
    written: dict[str, int] = {}
    proposed = 0
    for one in learnings.planned:
        if _is_forgotten(writer, one):
            continue
        known = writer.by_content(identity_of(one.record)) or _still_there(writer, one.same, written)
        if known is not None:
            changes += observe(services, writer, known, one, batch)
            written[one.record.id] = known.number
            continue
        entry = entry_of(one.record, services.tokens.count)
        prepared = PreparedWrite(entry, generation=learnings.generation)
        if one.windows is not None:
            prepared = PreparedWrite(entry, one.windows.tobytes(), learnings.generation)
        stored = apply_plan(
            services, writer, Plan(None, one.record, "insert", "inserted"), batch, prepared, room=False
        ).record
        written[one.record.id] = stored.number
        point("consolidation: learning put")
        ended: Record | None = None
        for contrary, is_sure in one.contraries:
            other = _still_there(writer, {contrary.other.record.id}, written)
            if other is None or other.number == stored.number:
                continue
            if is_sure:
                opened = Proposal(0, "conflict", other, stored, contrary.reasons, None, None, batch.at)
                ended, stored = supersede(services, writer, batch, opened, stored)
            else:
                made = propose(
                    services, writer, batch, kind="conflict", first=other, second=stored, reasons=contrary.reasons,
                    cosine=contrary.other.cosine,
                )  # fmt: skip
                proposed += made is not None
        changes.append(FactChange("update" if ended else "new", stored, ended, 1))
    return LearningsWritten(tuple(changes), proposed)


def _is_forgotten(reader: Reader, one: PlannedLearning) -> bool:
    """Whether these words were forgotten or corrected after they were said."""
    since = reader.tombstone_since(identity_of(one.record))
    return since is not None and one.at <= since


def _still_there(reader: Reader, ids: Iterable[str], written: dict[str, int]) -> Record | None:
    """The first of these learnings that is active; some of them may have been written a moment ago."""
    for id in sorted(ids):
        found = reader.by_number(written[id]) if id in written else next(iter(reader.find(parse_reference(id))), None)
        if found is not None and found.state == "active":
            return found
    return None


def observe(
    services: Services, writer: Writer, known: Record, one: PlannedLearning, batch: WriteBatch
) -> list[FactChange]:
    """Once for each episode that says so."""
    episode = one.told.episode
    if episode.id in known.evidence:
        return []
    given = {"text": known.text, "content_hash": known.content_hash, "evidence": (episode.id,)}
    plan = plan_observation(known, cast("Any", given), batch.at)
    observed = apply_plan(services, writer, plan, batch, room=False).record
    return [FactChange("reinforce", observed, None, len(observed.evidence))]
