"""Where a conversation is cut into episodes: S2's rules, as far as they need no model. Pure functions.

The rules look at each message when it is the newest one, and at those before it that belong to no episode yet; so a
conversation that is stored long afterwards is cut as if one had listened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

# What the rules say when a message has come: wait for more, cut behind it, cut before it, or leave it to a model.
Verdict: TypeAlias = Literal["open", "full", "gap", "judge"]
# Why an episode ends where it ends. The last three are what a model may say.
Boundary: TypeAlias = Literal["size", "temporal gap", "content shift", "goal completion", "prediction error"]

LONG_SILENCE: Final = timedelta(days=1)
_ANSWERED: Final = 2


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that begin with `episode_`. `closes_short`: what is shorter than an episode becomes one as well when
    nothing comes after it.
    """

    min_messages: int = 5
    max_messages: int = 30
    gap: timedelta = timedelta(minutes=15)
    short_message: int = 5
    close: timedelta = timedelta(hours=1)
    closes_short: bool = False

    @property
    def fewest(self) -> int:
        """Of so many messages an episode may be made: the one that ends it belongs to the next."""
        return max(1, self.min_messages - 1)

    @property
    def fewest_closed(self) -> int:
        """Of so many messages an episode may be made when nothing comes after them."""
        return 1 if self.closes_short else self.fewest


class Said(NamedTuple):
    """When a message was said, and how many characters it has."""

    at: datetime
    length: int


class Cut(NamedTuple):
    """How many messages are before a cut, and why it is there."""

    end: int
    boundary: Boundary


def judge(messages: Sequence[Said], rules: Rules) -> Verdict:
    """About messages that belong to no episode yet, of which the last is the newest."""
    if len(messages) < rules.min_messages:
        return "open"
    if len(messages) >= rules.max_messages:
        return "full"
    if len(messages) > 1 and messages[-1].at - messages[-2].at > rules.gap:
        return "gap"
    return "open" if messages[-1].length <= rules.short_message else "judge"


def has_ended(messages: Sequence[Said], rules: Rules, now: datetime, *, is_whole: bool = False) -> bool:
    """Whether open messages are an episode although nothing came after them: they are old enough to be cut off by
    whatever is said next. `is_whole`: the conversation holds nothing else. The short rest of a longer one waits a day
    for what follows, and longer while nobody has answered.
    """
    silence = max(rules.close, rules.gap)
    if len(messages) < rules.fewest and not is_whole:
        silence = max(silence, LONG_SILENCE)
    fewest = rules.fewest_closed if is_whole else min(rules.fewest, max(rules.fewest_closed, _ANSWERED))
    return len(messages) >= fewest and now - messages[-1].at > silence


def first_cut(messages: Sequence[Said], rules: Rules, ask: Callable[[int], Cut | None] = lambda _: None) -> Cut | None:
    """Where the first episode of these messages ends, or None while it is open. `ask` is for what the rules leave to a
    model: it gets the number of messages up to the newest one. Without it, that stays open too.
    """
    for newest in range(1, len(messages) + 1):
        verdict = judge(messages[:newest], rules)
        if verdict == "full":
            return Cut(newest, "size")
        if verdict == "gap":
            return Cut(newest - 1, "temporal gap")
        if verdict == "judge" and (found := ask(newest)):
            return found
    return None
