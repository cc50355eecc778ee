"""Outstanding work on conversations: messages behind the last episode become episodes, and episodes that were retrieved
are reviewed. Both follow from the state of the store, so any process may do it, and none does it twice.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.buggify import point
from perdure.episodes.episode import EpisodeWords, episode_fields, extract, said_at, terms_of
from perdure.episodes.episode_model import Background, EpisodeModel, model_to_ask
from perdure.episodes.keys import conversations_with, last_position, numbers_by_position, position_of
from perdure.episodes.lookup import messages_after
from perdure.episodes.messages import is_last
from perdure.episodes.reviews import review_episodes
from perdure.episodes.segment import Cut, Rules, Said, first_cut, has_ended
from perdure.episodes.surprise import RECENT, surprise, telling_terms
from perdure.errors import StoreReadOnly
from perdure.ids import EPISODE, LEARNED, MESSAGE
from perdure.lifecycle.capacity import fits
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, is_same, plan_write
from perdure.model import FACT_CATEGORIES, Filter, Record, identity_of
from perdure.store.port import Progress, Reader
from perdure.text.entry import entry_of

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.settings import Settings

# Notes about a namespace: what was looked at, and what a model was asked.
_SEEN: Final = "episodes seen"
_ASKED: Final = "episodes"
_FACTS: Final = 100
_FACTS_SHOWN: Final = 20
_EPISODES_SHOWN: Final = 3
_BATCH_SIZE: Final = 16
_READ_AT_ONCE: Final = 500
# So few new lines of the log are looked at again each time.
_FEW_LINES: Final = 200
_FULL: Final = "The namespace {} is full, and making episodes evicts nothing: what was said waits."
_WAITING: Final = (
    "Some conversations wait for the language model, which was asked often enough; run `perdure work` again."
)


class EndedEpisode(NamedTuple):
    """An episode that is over: where it ends, its messages, what it says of itself, and its telling terms."""

    cut: Cut
    messages: Sequence[Record]
    about: EpisodeWords
    terms: frozenset[str]


class NewEpisode(NamedTuple):
    """An episode that is not stored yet, and the messages that it is made of."""

    plan: Plan
    messages: Sequence[Record]


class StoredEpisodes(NamedTuple):
    """The positions of the episodes that were stored, and whether the others have no room."""

    positions: list[int]
    is_full: bool = False


class EpisodeWork(NamedTuple):
    """How many episodes were made, how many reviewed, and what a person should hear."""

    made: int = 0
    reviewed: int = 0
    notes: tuple[str, ...] = ()


def work_on_episodes(services: Services, progress: Progress | None = None) -> EpisodeWork:
    """In every namespace. What is made is one batch, and what is reviewed another."""
    context = replace(services.context, surface="work", is_person=False)
    making, reviewing = context.batch(), context.batch()
    model = EpisodeModel(services, model_to_ask(services.settings))
    made = done = 0
    full: list[str] = []
    for namespace in services.store.namespaces():
        maker = EpisodeMaker(services, namespace, making, model)
        waiting = open_conversations(services, namespace, maker.rules)
        for place, conversation in enumerate(waiting.names, 1):
            made += maker.make_episodes(conversation)
            if progress and made:
                progress(place, len(waiting.names))
        maker.note_questions()
        full += [_FULL.format(namespace)] if maker.is_full else []
        if waiting.is_news and maker.is_done:
            with suppress(StoreReadOnly):
                services.store.put_note(_SEEN, json.dumps([*waiting.position, maker.still_open]), namespace)
        done += review_episodes(services, namespace, reviewing)
    notes = [*full, *model.notes, *([_WAITING] if model.is_exhausted else ())]
    if model.parked:
        answers = "1 answer" if model.parked == 1 else f"{model.parked:,} answers"
        notes.append(f"{answers} about episodes could not be used; `perdure parked` shows what the model said.")
    return EpisodeWork(made, done, tuple(notes))


def rules_of(settings: Settings) -> Rules:
    return Rules(
        settings.episode_min_messages,
        settings.episode_max_messages,
        timedelta(minutes=settings.episode_gap_minutes),
        settings.episode_short_message,
        timedelta(minutes=settings.episode_close_minutes),
        closes_short=settings.learn_scope == "subject",
    )


class OpenConversations(NamedTuple):
    """The conversations that changed, or were open, and have enough messages behind their last episode. When all of
    them were looked at, the note `episodes seen` should say `position`, and which are open still.
    """

    names: Sequence[str]
    position: Sequence[object]
    is_news: bool


def open_conversations(services: Services, namespace: str, rules: Rules) -> OpenConversations:
    store, now = services.store, services.store.position(namespace, None).seq
    decided_by = [*map(str, astuple(rules)), model_to_ask(services.settings)]
    try:
        seen, decided_before, waiting = json.loads(store.note(_SEEN, namespace) or "")
        still_open = [int(number) for number in waiting]
    except (ValueError, TypeError):
        seen, decided_before, still_open = 0, decided_by, list[int]()
    if decided_before != decided_by or seen > now:
        seen = 0
    with store.read(namespace) as reader:
        numbers = [*reader.changed_after(seen), *still_open] if seen else []
        changed = dict.fromkeys(() if seen else conversations_with(reader, MESSAGE)) | {
            record.conversation_id: None
            for start in range(0, len(numbers), _READ_AT_ONCE)
            for record in reader.fetch(numbers[start : start + _READ_AT_ONCE])
            if record.conversation_id and (record.key or "").startswith(f"{MESSAGE}:")
        }
        found = [
            name
            for name in changed
            if last_position(reader, MESSAGE, name) - last_position(reader, EPISODE, name) >= rules.fewest_closed
        ]
    # Looking at a few lines again costs less than writing down that they were looked at.
    return OpenConversations(found, [now, decided_by], is_news=now - seen > _FEW_LINES)


@dataclass
class EpisodeMaker:
    """Makes the episodes of one namespace. `questions` says, by the number of the first open message, up to how many
    messages a model was asked; only in the store is it known that it said no.
    """

    services: Services
    namespace: str
    batch: WriteBatch
    model: EpisodeModel
    questions: dict[str, int] = field(default_factory=dict[str, int])
    has_facts: bool | None = None

    def __post_init__(self) -> None:
        self.rules = rules_of(self.services.settings)
        self.wanted = self.model.name
        self.was_disturbed = False
        self.is_full = False
        # The first open message of each conversation whose last episode only waits for time to pass.
        self.still_open: list[int] = []
        if self.model.name:
            with suppress(ValueError, TypeError, AttributeError):
                noted = json.loads(self.services.store.note(_ASKED, self.namespace) or "{}")
                self.questions = {str(first): int(asked) for first, asked in noted.items()}
        self.noted = dict(self.questions)

    @property
    def is_done(self) -> bool:
        """Whether everything was looked at, and by the model, where one was to be asked."""
        return (
            not self.was_disturbed
            and not self.is_full
            and not self.model.is_exhausted
            and self.model.name == self.wanted
        )

    def note_questions(self) -> None:
        """Note what the model need not be asked again."""
        if self.questions != self.noted:
            with suppress(StoreReadOnly):
                self.services.store.put_note(_ASKED, json.dumps(self.questions), self.namespace)

    def make_episodes(self, conversation: str) -> int:
        """Cut what is open. Each episode is one transaction, in which everything it rests on is looked at again."""
        with self.services.store.read(self.namespace) as reader:
            last = last_position(reader, EPISODE, conversation)
            messages = list(messages_after(reader, conversation, last))
            self.is_full = self.is_full or not fits(self.services, reader, 1, 0)
        said = [Said(said_at(message), len(message.text.strip())) for message in messages]
        before = Before(self, conversation, last)
        made = start = 0
        waiting: list[NewEpisode] = []
        while not self.model.is_exhausted and not self.is_full:
            window = slice(start, start + max(self.rules.max_messages, self.rules.min_messages))
            found = self._next_episode(messages[window], said[window], before)
            if found is not None:
                fields = episode_fields(conversation, found.messages, found.about, found.cut.boundary)
                plan = plan_write(None, self.namespace, fields, self.batch.at)
                waiting.append(NewEpisode(plan, found.messages))
                before.add(found)
                self.questions.pop(str(found.messages[0].number), None)
                start += found.cut.end
            # What a model said took long, and is kept at once.
            if waiting and (found is None or self.model.name or len(waiting) >= _BATCH_SIZE):
                stored = store_episodes(self.services, waiting, last, self.batch)
                if stored is None:
                    self.was_disturbed = True
                    break
                self.is_full = stored.is_full
                made, last, waiting = made + len(stored.positions), max([last, *stored.positions]), []
            if found is None:
                break
        if len(messages) - start >= self.rules.fewest_closed:
            self.still_open.append(messages[start].number)
        return made

    def _next_episode(self, messages: Sequence[Record], said: Sequence[Said], before: Before) -> EndedEpisode | None:
        """The first episode of what is open, if it is over."""
        about: EpisodeWords | None = None

        def ask(newest: int) -> Cut | None:
            nonlocal about
            first, least = str(messages[0].number), self.rules.min_messages
            if self.model.name is None or newest - self.questions.get(first, 0) < least:
                return None
            judged = self.model.judge(messages[:newest], before.background, max(1, least - 1))
            if judged is None:
                # A model that could not be asked is asked again the next time.
                if self.model.name:
                    self.questions[first] = newest
                return None
            about = judged.about
            return Cut(judged.end, judged.boundary)

        cut = first_cut(said, self.rules, ask)
        now = self.services.context.clock()
        is_over = len(said) >= self.rules.fewest_closed and is_last(messages[-1])
        if cut is None and (is_over or has_ended(said, self.rules, now, is_whole=before.is_empty)):
            cut = Cut(len(said), "temporal gap")
        if cut is None:
            return None
        group = messages[: cut.end]
        if about is None and self.model.name:
            about = self.model.describe(group, before.background)
        if about is not None:
            return EndedEpisode(cut, group, about, terms_of(group))
        made = extract(group, self.services.tokens)
        return EndedEpisode(cut, group, EpisodeWords(made.title, made.text, before.surprise_of(made.terms)), made.terms)

    def facts_of(self, reader: Reader, conversation: str) -> list[Record]:
        """What is known, the newest first. Where no conversation has any facts, that is found out once."""
        if self.has_facts is None:
            self.has_facts = bool(reader.page(Filter(categories=FACT_CATEGORIES), after=None, limit=1, newest=True))
        if not self.has_facts:
            return []
        filter = Filter(conversation_id=conversation, categories=FACT_CATEGORIES)
        return reader.page(filter, after=None, limit=_FACTS, newest=True)


@dataclass
class Before:
    """What was said before an episode, and what is known. It is read when somebody asks."""

    maker: EpisodeMaker
    conversation: str
    last: int
    has_added: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the conversation has no episode yet."""
        return not self.last and not self.has_added

    @cached_property
    def _episodes(self) -> tuple[deque[frozenset[str]], deque[str]]:
        with self.maker.services.store.read(self.maker.namespace) as reader:
            return recent_episodes(reader, self.conversation, self.last)

    @cached_property
    def _facts(self) -> list[Record]:
        with self.maker.services.store.read(self.maker.namespace) as reader:
            return self.maker.facts_of(reader, self.conversation)

    @cached_property
    def _known(self) -> frozenset[str]:
        """Without what was learned from the conversation: that says nothing but what was said, and when it was learned
        depends on when somebody worked, on which no episode must depend.
        """
        return telling_terms(fact.text for fact in self._facts if fact.source != LEARNED)

    def surprise_of(self, terms: frozenset[str]) -> float:
        return surprise(terms, self._episodes[0], self._known)

    @property
    def background(self) -> Background:
        return Background(list(self._episodes[1]), [fact.text for fact in self._facts[:_FACTS_SHOWN]])

    def add(self, found: EndedEpisode) -> None:
        self.has_added = True
        terms, texts = self._episodes
        terms.append(found.terms)
        texts.append(found.about.text)


def store_episodes(
    services: Services, episodes: Sequence[NewEpisode], last: int, batch: WriteBatch
) -> StoredEpisodes | None:
    """All in one transaction, and only what has room without evicting a memory. None when somebody else was faster, or
    changed one of the messages: then nothing is stored, and the next run looks at them again. An episode that was
    erased does not come back.
    """
    batch = replace(batch, at=services.context.clock())
    entries = [PreparedWrite(entry_of(plan.record, services.tokens.count)) for plan, _ in episodes]
    messages = [message for _, group in episodes for message in group]
    first = episodes[0].plan.record
    stored: list[int] = []
    with services.store.write(first.namespace) as writer:
        if last_position(writer, EPISODE, first.conversation_id or "") != last:
            return None
        current = writer.fetch([message.number for message in messages])
        if len(current) != len(messages) or not all(map(is_same, current, messages)):
            return None
        for (plan, _), entry in zip(episodes, entries, strict=True):
            if writer.tombstone_since(identity_of(plan.record)) is None:
                if not fits(services, writer, 1, services.tokens.count(plan.record.text)):
                    return StoredEpisodes(stored, is_full=True)
                apply_plan(services, writer, plan, batch, entry, room=False)
                stored.append(position_of(plan.record.key or "") or 0)
                point("episode put")
    point("episodes stored")
    return StoredEpisodes(stored)


def recent_episodes(reader: Reader, conversation: str, last: int) -> tuple[deque[frozenset[str]], deque[str]]:
    """What was said in each of the last episodes, as terms; and what the very last ones say."""
    if not last:
        return deque(maxlen=RECENT), deque(maxlen=_EPISODES_SHOWN)
    episodes = list(numbers_by_position(reader, EPISODE, conversation))[-RECENT - 1 :]
    ends = [position for position, _ in episodes]
    begin = ends[0] if len(ends) > RECENT else 0
    groups: dict[int, list[Record]] = {end: [] for end in ends if end > begin}
    for message in messages_after(reader, conversation, begin):
        place = position_of(message.key or "") or 0
        if place > last:
            break
        groups[min(end for end in groups if end >= place)].append(message)
    shown = reader.fetch([number for _, number in episodes[-_EPISODES_SHOWN:]])
    texts = (record.text for record in shown if record.state == "active")
    return deque(map(terms_of, groups.values()), maxlen=RECENT), deque(texts, maxlen=_EPISODES_SHOWN)
