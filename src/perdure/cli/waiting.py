"""What learning waits for, said where no fact, or no contradiction, is found."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from perdure.clock import system_clock
from perdure.episodes.episode import said_at
from perdure.episodes.metadata import CONSOLIDATED_AT
from perdure.episodes.segment import Said, has_ended
from perdure.episodes.work import rules_of
from perdure.ids import EPISODE, MESSAGE

if TYPE_CHECKING:
    from perdure.cli.command import Target
    from perdure.memory import Memory

_MEMORIES_READ: Final = 1000


def next_step(target: Target, memory: Memory, conversation: str | None = None) -> str:
    """What has to happen before something is learned from what was said."""
    missing = what_waits(target, memory, conversation)
    return missing or "Nothing waits: everything that was said here has been looked at."


def what_waits(target: Target, memory: Memory, conversation: str | None = None) -> str:
    """The same, and nothing where everything has been looked at."""
    settings, now = target.own_settings, system_clock()
    messages, episodes = (
        memory.list(key_type=kind, conversation_id=conversation, limit=_MEMORIES_READ).records
        for kind in (MESSAGE, EPISODE)
    )
    if not messages:
        return f"Nothing was said here yet: {target.hint('chat', 'import', 'FILE')}"
    if settings.learn == "off":
        return "Nothing is learned here: the setting `learn` is `off`."
    if waiting := sum(CONSOLIDATED_AT not in episode.metadata for episode in episodes):
        return f"Learn from {_counted(waiting, 'episode')}: {target.hint('consolidate')}"
    in_episodes = {id for episode in episodes for id in episode.evidence}
    begun = {episode.conversation_id for episode in episodes}
    rests: defaultdict[str | None, list[Said]] = defaultdict(list)
    for one in reversed(messages):
        if one.id not in in_episodes:
            rests[one.conversation_id].append(Said(said_at(one), len(one.text)))
    rules = rules_of(settings)
    over = [len(rest) for name, rest in rests.items() if has_ended(rest, rules, now, is_whole=name not in begun)]
    if over:
        return f"Learn from {_counted(sum(over), 'message')}: {target.hint('work')}"
    if not rests:
        return ""
    count = sum(map(len, rests.values()))
    wait = f"{_counted(count, 'message')} {'waits' if count == 1 else 'wait'} for"
    is_silent = all(now - rest[-1].at > rules.close for rest in rests.values())
    ends = (
        f"an episode, which ends {settings.episode_close_minutes:g} minutes after the last one: {target.hint('work')}"
    )
    return f"{wait} {'what follows in the conversation.' if is_silent else ends}"


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
