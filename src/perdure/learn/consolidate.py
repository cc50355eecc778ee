"""When episodes are consolidated, by whom, and how often.

Nothing is queued: an episode without `consolidated_at` is the job. So nothing is lost when a process dies, and any
process may do it. Episodes whose answer is parked wait until somebody asks again or throws it away; those whose
consolidation was taken back wait until somebody says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from perdure.episodes import episode_model
from perdure.episodes.episode import said_at
from perdure.episodes.keys import conversations_with
from perdure.episodes.lookup import last_message, unconsolidated
from perdure.episodes.messages import check_conversation, is_last
from perdure.episodes.metadata import CONSOLIDATED_AT, SURPRISE
from perdure.episodes.retry import retry_episode
from perdure.episodes.segment import LONG_SILENCE
from perdure.episodes.work import rules_of
from perdure.errors import ModelOutputInvalid, ModelUnavailable, ProviderUnavailable, SettingsInvalid
from perdure.ids import EPISODE, MAX_NUMBER
from perdure.learn.actions import check_actions
from perdure.learn.model_engine import MOST_EPISODES, PREVIEW, PURPOSE, ModelEngine
from perdure.learn.results import Consolidation, total
from perdure.learn.rules_engine import RulesEngine
from perdure.learn.run import FactsRead, apply_actions, full_note, has_room, read_task
from perdure.learn.said_orders import carry_out_orders
from perdure.learn.task import ConsolidationTask, Engine
from perdure.lifecycle.parked import Retries
from perdure.llm.port import Parked
from perdure.model import Record
from perdure.store.port import Progress, Reader
from perdure.validation import check_int

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.settings import Settings

# A model whose answers cannot be used so often in a row is not asked again in this call.
_MOST_INVALID: Final = 3
_READ_BY_A_MODEL: Final = "What they say can be recalled; a language model makes facts of it (the setting `llm`)."
# How often what another process left of a run is looked at again.
_MOST_ATTEMPTS: Final = 5
_DISTURBED: Final = "Another process consolidates the same episodes, and some of them wait; run `perdure work` again."
_NAME_A_MODEL: Final = "Name one in the setting `llm`, or throw away what is parked."


def engine_of(services: Services, *, keeps: bool = False) -> Engine | None:
    """Who consolidates; None: nobody here. `keeps`: what a model answers is kept for the next time."""
    settings = services.settings
    if settings.learn == "auto" and settings.llm != "none":
        return ModelEngine(services, settings.llm, keeps)
    return RulesEngine(services) if settings.learn in {"auto", "rules"} else None


def due_episodes(
    services: Services, reader: Reader, waiting: Mapping[str, list[Record]]
) -> Iterator[tuple[str, list[Record]]]:
    """Of the episodes that wait in a namespace, by conversation, those that are to be consolidated now. They wait
    together, for three of them, for the end of a session, or for a day; with the scope `conversation`, each
    conversation by itself for three.
    """
    settings, now = services.settings, services.context.clock()
    if settings.learn_scope == "conversation":
        yield from ((name, found) for name, found in waiting.items() if are_enough(found, settings))
        return
    every = [record for found in waiting.values() for record in found]
    is_late = any(now - (record.valid_at or record.created_at) > LONG_SILENCE for record in every)
    if is_late or are_enough(every, settings) or any(is_over(services, reader, name) for name in waiting):
        yield from waiting.items()


def is_over(services: Services, reader: Reader, conversation: str) -> bool:
    """Whether the session has ended: somebody said so, or nothing was said for so long."""
    rules = rules_of(services.settings)
    last = last_message(reader, conversation)
    if last is None or is_last(last):
        return last is not None
    return services.context.clock() - said_at(last) > max(rules.close, rules.gap)


def are_enough(waiting: Sequence[Record], settings: Settings) -> bool:
    """Enough episodes, or one that is surprising enough alone."""
    enough = len(waiting) >= max(settings.consolidation_episodes, 1)
    surprises = (record.metadata.get(SURPRISE) for record in waiting)
    return enough or any(isinstance(one, int | float) and one >= settings.flashbulb_surprise for one in surprises)


def pending_episodes(reader: Reader, conversation: str, parked: Sequence[Parked], *, forced: bool) -> list[Record]:
    """Oldest first. Unless it is forced, without those that wait for somebody."""
    found = unconsolidated(reader, conversation)
    if forced:
        return found
    held: set[int] = set()
    for place, record in enumerate(found):
        for item in parked:
            if item.memory == record.number:
                # What one question was about: it and those that followed then.
                asked = (one for one in found[place : place + MOST_EPISODES] if one.created_at <= item.at)
                held.update(one.number for one in asked)
    return [record for record in found if record.number not in held and not is_taken_back(reader, record)]


def is_taken_back(reader: Reader, episode: Record) -> bool:
    """Whether it was consolidated before, and somebody undid that."""
    lines = reader.revisions(episode.number)
    return any(line.record is not None and CONSOLIDATED_AT in line.record.metadata for line in lines)


@dataclass
class Consolidator:
    """One call: it asks an engine for one run after the other, and no model in vain for long."""

    services: Services
    engine: Engine
    dry_run: bool = False
    done: list[Consolidation] = field(default_factory=list[Consolidation])
    notes: list[str] = field(default_factory=list[str])
    invalid: int = 0
    parked: int = 0
    given_up: bool = False
    was_disturbed: bool = False
    """Whether somebody else consolidated some of the episodes of a run meanwhile, so that the others still wait."""
    facts: FactsRead = field(default_factory=FactsRead)
    unread: int = 0

    def run(self, namespace: str, conversation: str, episodes: Sequence[Record], batch: WriteBatch) -> None:
        services = self.services
        batch = replace(batch, at=services.context.clock())
        task = read_task(services, namespace, conversation, episodes, with_facts=self.engine.needs_facts)
        with services.store.read(namespace) as reader:
            if not has_room(services, reader):
                self.notes.append(full_note(task))
                return
        if not self.dry_run:
            self.notes += carry_out_orders(services, task)
        try:
            done = run_task(services, task, self.engine, batch, dry_run=self.dry_run, read_before=self.facts)
            self.done.append(done)
            self.invalid = 0
            if isinstance(self.engine, RulesEngine):
                self.unread += self.engine.unread(task)
            self.was_disturbed = self.was_disturbed or not (done.episodes or done.notes)
        except ModelOutputInvalid as error:
            self._unusable(task, error)
        except (ProviderUnavailable, SettingsInvalid) as error:
            self._give_up(error.note)

    def _unusable(self, task: ConsolidationTask, error: ModelOutputInvalid) -> None:
        if self.dry_run:
            self.notes.append(error.note)
            return
        park(self.services, task.episodes[0].record, self.engine.name, error, attempts=1)
        self.parked += 1
        self.invalid += 1
        if self.invalid >= _MOST_INVALID:
            self._give_up(error.note)

    def _give_up(self, why: str) -> None:
        self.given_up = True
        self.notes.append(f"{why} The episodes wait.")

    def result(self) -> Consolidation:
        notes = list(self.notes)
        if self.unread:
            messages = "1 message is" if self.unread == 1 else f"{self.unread:,} messages are"
            notes.append(f"{messages} not in English, and rules read no other language. {_READ_BY_A_MODEL}")
        if self.parked:
            answers = "1 answer" if self.parked == 1 else f"{self.parked:,} answers"
            notes.append(f"{answers} of a language model could not be used; `perdure parked` shows what it said.")
        return total(self.done, notes, done=not self.dry_run)


def run_task(
    services: Services,
    task: ConsolidationTask,
    engine: Engine,
    batch: WriteBatch,
    *,
    dry_run: bool = False,
    read_before: FactsRead | None = None,
) -> Consolidation:
    """One run. It answers nothing when somebody else was faster."""
    known = {fact.number for fact in task.facts}
    actions, notes = check_actions(engine.actions(task), known)
    done = apply_actions(
        services, task, actions, engine.name, batch, dry_run=dry_run, read_before=None if dry_run else read_before
    )
    if done is None:
        return Consolidation(done=not dry_run)
    if not dry_run and done.episodes:
        unpark(services, task)
    return replace(done, notes=(*notes, *done.notes))


def consolidate(
    services: Services,
    namespace: str,
    conversation: object = None,
    *,
    dry_run: bool = False,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Consolidation:
    """All episodes that wait in this namespace, or in one conversation of it, however few."""
    most = MAX_NUMBER if limit is None else check_int(limit, "limit", 1, MAX_NUMBER)
    name = None if conversation is None else check_conversation(services, conversation)
    engine = engine_of(services, keeps=dry_run)
    if engine is None:
        who = "learning is switched off" if services.settings.learn == "off" else "the agent itself consolidates"
        return Consolidation(notes=(f"Nothing was done: {who} (the setting `learn`).",), done=not dry_run)
    batch = replace(services.context, is_person=False).batch()
    worker = Consolidator(services, engine, dry_run)
    with services.store.read(namespace) as reader:
        names = conversations_with(reader, EPISODE) if name is None else [name]
        waiting = [(each, pending_episodes(reader, each, (), forced=True)) for each in names]
    groups = together(services, engine, waiting)
    run_all(worker, [(namespace, each, episodes, batch) for each, episodes in groups], most, progress)
    return worker.result()


def work_on_consolidation(services: Services, limit: int | None, progress: Progress | None) -> Consolidation:
    """What is due, in every namespace. Each run is a batch of its own."""
    engine = engine_of(services)
    if engine is None:
        return Consolidation()
    worker = Consolidator(services, engine)
    most = MAX_NUMBER if limit is None else limit
    for _ in range(_MOST_ATTEMPTS):
        worker.was_disturbed = False
        left = most - sum(done.episodes for done in worker.done)
        run_all(worker, due_everywhere(services, engine), left, progress)
        if worker.given_up or not worker.was_disturbed:
            break
    else:
        worker.notes.append(_DISTURBED)
    return worker.result()


def due_everywhere(services: Services, engine: Engine) -> list[tuple[str, str, list[Record], WriteBatch]]:
    """The episodes that are to be consolidated now, in the groups in which the engine takes them."""
    context = replace(services.context, surface="work", is_person=False)
    due: list[tuple[str, str, list[Record], WriteBatch]] = []
    for namespace in services.store.namespaces():
        parked = [item for item in services.store.parked(namespace) if item.purpose == PURPOSE]
        with services.store.read(namespace) as reader:
            names = conversations_with(reader, EPISODE)
            found = {name: pending_episodes(reader, name, parked, forced=False) for name in names}
            waiting = {name: episodes for name, episodes in found.items() if episodes}
            groups = together(services, engine, due_episodes(services, reader, waiting))
            due += [(namespace, name, episodes, context.batch()) for name, episodes in groups]
    return due


def together(
    services: Services, engine: Engine, waiting: Iterable[tuple[str, list[Record]]]
) -> list[tuple[str, list[Record]]]:
    """The episodes that one run after the other takes, by conversation. Who says which episode tells what may look at
    several conversations at once, where facts are compared over all of them: of many chats most are short.
    """
    groups = [(name, episodes) for name, episodes in waiting if episodes]
    if not engine.joins_conversations or services.settings.learn_scope == "conversation" or not groups:
        return groups
    return [(groups[0][0], [record for _, episodes in groups for record in episodes])]


def run_all(
    worker: Consolidator,
    waiting: Sequence[tuple[str, str, Sequence[Record], WriteBatch]],
    most: int,
    progress: Progress | None,
) -> None:
    total = min(most, sum(len(episodes) for _, _, episodes, _ in waiting))
    looked_at = 0
    for namespace, conversation, episodes, batch in waiting:
        rest = iter(episodes[: total - looked_at])
        while not worker.given_up and (group := list(islice(rest, worker.engine.most_episodes))):
            worker.run(namespace, conversation, group, batch)
            looked_at += len(group)
            if progress:
                progress(looked_at, total)
            if worker.dry_run and (left := len(list(rest))):
                # What they mean depends on the facts that are not written now.
                worker.notes.append(f"{left:,} later episodes are not in this preview.")


def park(services: Services, episode: Record, model: str, error: ModelOutputInvalid, attempts: int) -> None:
    redact = services.redact
    services.store.park(
        episode.namespace, purpose=PURPOSE, memory=episode.number, model=model, error=redact(error.sentence).text,
        output=redact("\n\n".join(error.outputs)).text, attempts=attempts, at=services.context.clock(),
    )  # fmt: skip


def unpark(services: Services, task: ConsolidationTask) -> None:
    numbers = {episode.record.number for episode in task.episodes}
    for item in services.store.parked(task.namespace):
        if item.purpose in {PURPOSE, PREVIEW} and item.memory in numbers:
            services.store.unpark(task.namespace, item.id)


def retry(services: Services, parked: Parked, batch: WriteBatch) -> bool:
    """Ask the model that the settings name now about episodes whose answer is parked. True when nothing is parked any
    more: they are consolidated, or gone.
    """
    with services.store.read(parked.namespace) as reader:
        record = next(iter(reader.fetch([parked.memory])), None) if parked.memory else None
        conversation = record.conversation_id if record else None
        waiting = unconsolidated(reader, conversation) if conversation else []
    places = [place for place, one in enumerate(waiting) if one.number == parked.memory]
    if not places or conversation is None:
        services.store.unpark(parked.namespace, parked.id)
        return True
    engine = engine_of(services)
    if not isinstance(engine, ModelEngine):
        raise ModelUnavailable("The settings allow no language model to be asked to consolidate.", remedy=_NAME_A_MODEL)
    group = waiting[places[0] : places[0] + MOST_EPISODES]
    task = read_task(services, parked.namespace, conversation, group)
    try:
        done = run_task(services, task, engine, replace(batch, at=services.context.clock()))
    except ModelOutputInvalid as error:
        park(services, task.episodes[0].record, engine.name, error, parked.attempts + 1)
        return False
    return done.episodes > 0


def open_consolidation(
    services: Services, namespace: str, conversation: object = None, limit: int | None = None
) -> ConsolidationTask | None:
    """The oldest episodes of one conversation that wait, for the agent to consolidate; None when none do."""
    from perdure.learn.agent_task import with_token

    most = MOST_EPISODES if limit is None else check_int(limit, "limit", 1, MAX_NUMBER)
    name = None if conversation is None else check_conversation(services, conversation)
    with services.store.read(namespace) as reader:
        names = conversations_with(reader, EPISODE) if name is None else [name]
        waiting = ((each, pending_episodes(reader, each, (), forced=True)) for each in names)
        first = next(((each, episodes) for each, episodes in waiting if episodes), None)
    if first is None:
        return None
    return with_token(services, read_task(services, namespace, first[0], first[1][:most]))


def discard_preview(services: Services, parked: Parked, _: WriteBatch) -> bool:
    """What a preview kept is thrown away: the next consolidation asks."""
    return services.store.unpark(parked.namespace, parked.id)


# What `Memory.retry_parked` knows besides what the lifecycle asks itself.
RETRIES: Final[Retries] = {PURPOSE: retry, PREVIEW: discard_preview, episode_model.PURPOSE: retry_episode}
