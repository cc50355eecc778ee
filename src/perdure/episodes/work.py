"""Outstanding work on conversations: messages behind the last episode become episodes, and episodes that were retrieved
are reviewed. Both follow from the state of the store, so any process may do it, and none does it twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.buggify import point
from perdure.episodes.episode import episode_fields, said_at, words_of_messages
from perdure.episodes.keys import conversations, last_position, numbers_by_position, position_of
from perdure.episodes.lookup import messages_after
from perdure.episodes.reviews import review_episodes
from perdure.episodes.segment import Rules, Said, cut
from perdure.episodes.surprise import RECENT, surprise, telling_terms
from perdure.ids import EPISODE, MESSAGE
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, is_unchanged, plan_write
from perdure.model import FACT_CATEGORIES, Filter, Record
from perdure.store.port import Reader
from perdure.text.entry import entry_of

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services

# So many facts of a conversation count as known.
_FACTS: Final = 100


class EpisodeWork(NamedTuple):
    """How many episodes were made, and how many reviewed."""

    made: int = 0
    reviewed: int = 0


def work_on_episodes(services: Services) -> EpisodeWork:
    """In every namespace. What is made is one batch, and what is reviewed another."""
    context = replace(services.context, surface="work", is_person=False)
    making, reviewing = context.batch(), context.batch()
    made = done = 0
    for namespace in services.store.namespaces():
        for conversation in with_open_messages(services, namespace):
            made += make_episodes(services, namespace, conversation, making)
        done += review_episodes(services, namespace, reviewing)
    return EpisodeWork(made, done)


def rules_of(services: Services) -> Rules:
    settings = services.settings
    return Rules(
        settings.episode_min_messages,
        settings.episode_max_messages,
        timedelta(minutes=settings.episode_gap_minutes),
        settings.episode_short_message,
    )


def with_open_messages(services: Services, namespace: str) -> list[str]:
    """The conversations that have enough messages behind their last episode."""
    least = services.settings.episode_min_messages
    with services.store.read(namespace) as reader:
        found: list[str] = []
        for number in [number for _, number in conversations(reader, MESSAGE)]:
            [record] = reader.fetch([number]) or [None]
            name = record.conversation_id if record else None
            if name and last_position(reader, MESSAGE, name) - last_position(reader, EPISODE, name) >= least:
                found.append(name)
    return found


def make_episodes(services: Services, namespace: str, conversation: str, batch: WriteBatch) -> int:
    """Cut what is open. Each episode is one transaction, in which everything it rests on is looked at again."""
    with services.store.read(namespace) as reader:
        last = last_position(reader, EPISODE, conversation)
        recent = recent_episodes(reader, conversation, last)
        known = telling_terms(fact.text for fact in facts_of(reader, conversation))
        messages = list(messages_after(reader, conversation, last))
    said = [Said(said_at(message), len(message.text.strip())) for message in messages]
    made = start = 0
    for end, boundary in cut(said, rules_of(services)):
        group = messages[start:end]
        terms = telling_terms(message.text for message in group)
        words = words_of_messages(group, services.tokens)
        fields = episode_fields(conversation, group, surprise(terms, recent, known), words, boundary)
        if not store_episode(services, namespace, plan_write(None, namespace, fields, batch.at), group, last, batch):
            break
        recent.append(terms)
        last, start, made = position_of(group[-1].key or "") or last, end, made + 1
    return made


def store_episode(
    services: Services, namespace: str, plan: Plan, messages: Sequence[Record], last: int, batch: WriteBatch
) -> bool:
    """False when somebody else was faster, or changed one of the messages: the next run looks at them again."""
    batch = replace(batch, at=services.context.clock())
    entry = PreparedWrite(entry_of(plan.record, services.tokens.count))
    conversation = plan.record.conversation_id or ""
    with services.store.write(namespace) as writer:
        if last_position(writer, EPISODE, conversation) != last:
            return False
        if not all(is_unchanged(writer, message) for message in messages):
            return False
        apply_plan(services, writer, plan, batch, entry)
        point("episode put")
    point("episode stored")
    return True


def recent_episodes(reader: Reader, conversation: str, last: int) -> deque[frozenset[str]]:
    """What was said in each of the last episodes, as terms."""
    ends = [position for position, _ in numbers_by_position(reader, EPISODE, conversation)][-RECENT - 1 :]
    begin = ends[0] if len(ends) > RECENT else 0
    texts: dict[int, list[str]] = {end: [] for end in ends if end > begin}
    for message in messages_after(reader, conversation, begin):
        place = position_of(message.key or "") or 0
        if place > last:
            break
        texts[min(end for end in texts if end >= place)].append(message.text)
    return deque(map(telling_terms, texts.values()), maxlen=RECENT)


def facts_of(reader: Reader, conversation: str) -> list[Record]:
    filter = Filter(conversation_id=conversation, categories=FACT_CATEGORIES)
    return reader.page(filter, after=None, limit=_FACTS, newest=True)
