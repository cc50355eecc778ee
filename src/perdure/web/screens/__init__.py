"""The table of screens, in the order of the menu."""

from __future__ import annotations

from typing import Final

from perdure.web.screens.changes import checkpoints, erased, log, today
from perdure.web.screens.finding import memories, remember, search
from perdure.web.screens.known import conversation, conversations, facts
from perdure.web.screens.one_memory import around, correct, erase, memory
from perdure.web.screens.review import review
from perdure.web.screens.sessions import session, sessions
from perdure.web.screens.upkeep import egress, health, keys
from perdure.web.visit import Screen

SCREENS: Final[tuple[Screen, ...]] = (
    Screen("", "Today", today, "log", "t"),
    Screen("memories", "Memories", memories, "list", "m"),
    Screen("sessions", "Sessions", sessions, "log", "s"),
    Screen("review", "Review", review, "review", "r"),
    Screen("facts", "Facts", facts, "facts", "f"),
    Screen("conversations", "Conversations", conversations, "conversations", "c"),
    Screen("log", "Log", log, "log", "l"),
    Screen("checkpoints", "Back then", checkpoints, "checkpoints", "b"),
    Screen("health", "Health", health, "stats", "h"),
    Screen("egress", "Left the machine", egress, "egress", "e", whole_store=True),
    Screen("erased", "Erased", erased, "log", "x"),
    Screen("remember", "New memory", remember, "remember", "n"),
    Screen("search", "Search", search, "recall"),
    Screen("memory", "Memory", memory, "get"),
    Screen("correct", "Correct", correct, "update"),
    Screen("erase", "Erase", erase, "erase"),
    Screen("around", "Around", around, "get"),
    Screen("session", "Session", session, "log"),
    Screen("conversation", "Conversation", conversation, "list"),
    Screen("help", "Keys", keys, "recall"),
)
