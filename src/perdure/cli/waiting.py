"""What learning waits for, said where no fact is found."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from perdure.clock import system_clock
from perdure.ids import EPISODE, MESSAGE

if TYPE_CHECKING:
    from perdure.cli.command import Target
    from perdure.memory import Memory

_LOOKED_AT: Final = 1000
_CONSOLIDATED_AT: Final = "consolidated_at"


def next_step(target: Target, memory: Memory, conversation: str | None = None) -> str:
    """What has to happen before something is learned from what was said."""
    settings = target.own_settings
    messages, episodes = (
        memory.list(key_type=kind, conversation_id=conversation, limit=_LOOKED_AT).records
        for kind in (MESSAGE, EPISODE)
    )
    if not messages:
        return f"Nothing was said here yet: {target.hint('chat', 'import', 'FILE')}"
    if settings.learn == "off":
        return "Nothing is learned here: the setting `learn` is `off`."
    in_episodes = {id for episode in episodes for id in episode.evidence}
    oldest = min((episode.number for episode in episodes), default=0) if len(episodes) == _LOOKED_AT else 0
    open_messages = [one for one in messages if one.id not in in_episodes and one.number > oldest]
    waiting = [episode for episode in episodes if _CONSOLIDATED_AT not in episode.metadata]
    if waiting:
        return f"Learn from {_counted(len(waiting), 'episode')}: {target.hint('consolidate')}"
    if not open_messages:
        return "Nothing waits: everything that was said here has been looked at."
    last = max(one.valid_at or one.created_at for one in open_messages)
    if system_clock() - last > timedelta(minutes=settings.episode_close_minutes):
        return f"Learn from {_counted(len(open_messages), 'message')}: {target.hint('work')}"
    wait = f"{_counted(len(open_messages), 'message')} {'waits' if len(open_messages) == 1 else 'wait'} for an episode"
    return f"{wait}, which ends {settings.episode_close_minutes:g} minutes after the last one: {target.hint('work')}"


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
