"""What people said before and no fact was made of, as far as it is near to what they say now.

Rules read few of all the words in which people tell something. A newer message that ends such a part of a message
makes a fact of it that has ended: recall then knows that it is outdated.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from perdure.episodes.lookup import episodes_of
from perdure.episodes.metadata import CONSOLIDATED_AT
from perdure.ids import MESSAGE
from perdure.learn.people import is_by_program
from perdure.learn.rules_engine import MomentSaid, moment_key, moment_said, speaker_of
from perdure.learn.task import TaskEpisode
from perdure.model import FACT_CATEGORIES, SPEAKER, Filter, Record
from perdure.recall.query import SearchRequest
from perdure.recall.recipe import BALANCED
from perdure.visibility import places_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perdure.embed.port import Generation
    from perdure.learn.task import ConsolidationTask
    from perdure.services import Services
    from perdure.store.port import Reader

# How many messages near to one are looked at: some are of others, or told a fact.
_LOOKED_AT: Final = 8
# What is less near ends nothing: of the ends that were right in our chats the farthest was at .25.
_LEAST_COSINE: Final = 0.25
_MOMENT: Final = timedelta(microseconds=1)


def task_of_silent(
    services: Services,
    task: ConsolidationTask,
    vectors: Mapping[str, NDArray[np.float32]],
    generation: Generation,
    conversation: str | None,
) -> tuple[ConsolidationTask, Mapping[MomentSaid, Sequence[str]]]:
    """The messages of earlier runs that are near to those of this one, in the episodes they are of, and the facts that
    were ever made of what was said then.
    """
    here = {message.number: message for episode in task.episodes for message in episode.messages}
    every = Filter(key_type=MESSAGE, conversation_id=conversation)
    with services.store.read(task.namespace) as reader:
        if set(reader.numbers(every)) <= here.keys():
            return replace(task, episodes=()), {}
    request = SearchRequest(
        query=None, namespaces=(task.namespace,), recipe=BALANCED, now=services.context.clock(), filter=every
    )
    numbers: set[int] = set()
    for message in here.values():
        if (vector := vectors.get(message.id)) is not None:
            _, near = services.recaller().nearest(request, generation, vector, _LOOKED_AT)
            numbers.update(number for number, cosine in near if cosine >= _LEAST_COSINE)
    with services.store.read(task.namespace) as reader:
        near_by = reader.fetch(sorted(numbers - here.keys()))
        found = [one for one in near_by if not is_by_program(one) and places_of(one) is None]
        facts = {moment_key(one): facts_of(reader, one) for one in found}
        by_conversation = {one.conversation_id or "": list[Record]() for one in found}
        for one in found:
            by_conversation[one.conversation_id or ""].append(one)
        episodes = [
            TaskEpisode(episode, tuple(one for one in said if one.id in made_of))
            for name, said in by_conversation.items()
            for episode in episodes_of(reader, name)
            # What still waits is read when its turn comes.
            if CONSOLIDATED_AT in episode.metadata and (made_of := set(episode.evidence))
        ]
    return replace(task, episodes=tuple(one for one in episodes if one.messages)), facts


def facts_of(reader: Reader, message: Record) -> list[str]:
    """What was ever made a fact of what somebody said at the time of a message."""
    at = moment_said(message).at
    told = Filter(
        conversation_id=message.conversation_id,
        categories=FACT_CATEGORIES,
        since=at,
        until=at + _MOMENT,
        states=("active", "superseded", "deleted"),
    )
    facts = reader.fetch(list(reader.numbers(told)))
    return [fact.text for fact in facts if fact.metadata.get(SPEAKER) == speaker_of(message)]
