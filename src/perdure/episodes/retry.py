"""Asking a language model again about an episode of which it said nothing that could be used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from perdure.episodes.episode import EpisodeWords
from perdure.episodes.episode_model import Background, describe, model_to_ask, park
from perdure.episodes.lookup import episodes_of, messages_of_episode
from perdure.episodes.metadata import MADE_BY, SURPRISE
from perdure.errors import ModelOutputInvalid, ModelUnavailable
from perdure.ids import content_hash
from perdure.lifecycle.write import Plan, apply_plan, is_unchanged
from perdure.llm.port import Parked
from perdure.model import Record, replace_record
from perdure.store.port import Reader

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services

_NAME_A_MODEL: Final = "Name one in the setting `llm`, or throw away what is parked."


def retry_episode(services: Services, parked: Parked, batch: WriteBatch) -> bool:
    """Ask the model that the settings name now about the episode that a message belongs to. True when it has new words,
    or there is none any more; then nothing is parked any more. While the message is open, `work` asks.
    """
    store = services.store
    with store.read(parked.namespace) as reader:
        first = reader.by_number(parked.memory) if parked.memory else None
        episode = episode_with(reader, first) if first else None
        messages = messages_of_episode(reader, episode) if episode else []
    if first is None or episode is None or not messages:
        store.unpark(parked.namespace, parked.id)
        return True
    model = model_to_ask(services.settings)
    if model is None:
        raise ModelUnavailable("The settings allow no language model to be asked about episodes.", remedy=_NAME_A_MODEL)
    try:
        about = describe(services, model, messages, Background())
    except ModelOutputInvalid as error:
        park(services, model, first, error, parked.attempts + 1)
        return False
    with store.write(parked.namespace) as writer:
        if is_unchanged(writer, episode):
            apply_plan(services, writer, in_other_words(episode, about), replace(batch, at=services.context.clock()))
    store.unpark(parked.namespace, parked.id)
    return True


def episode_with(reader: Reader, message: Record) -> Record | None:
    episodes = episodes_of(reader, message.conversation_id or "")
    return next((episode for episode in episodes if message.id in episode.evidence), None)


def in_other_words(episode: Record, about: EpisodeWords) -> Plan:
    """Pure: an episode with another title and text. How long it is remembered stays as it is."""
    metadata = {**episode.metadata, SURPRISE: round(about.surprise, 3), MADE_BY: about.made_by}
    hash = content_hash(about.text)
    changed = replace_record(episode, title=about.title, text=about.text, content_hash=hash, metadata=metadata)
    return Plan(episode, changed, "update", "updated")
