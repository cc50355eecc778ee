"""Lists of words that several rooms and surfaces know. Each stands here once; a test looks for copies.

Nothing is imported for it but `typing`: hooks and `perdure mcp` read it when they start.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

State: TypeAlias = Literal["active", "superseded", "merged", "deleted", "expired", "evicted"]
Writer: TypeAlias = Literal["person", "model"]
# A coding agent whose hooks Perdure answers, by the name that `perdure install` has for it.
HookHost: TypeAlias = Literal["claude-code", "codex", "copilot", "gemini"]

STATES: Final[tuple[State, ...]] = get_args(State)
WRITERS: Final[tuple[Writer, ...]] = get_args(Writer)
HOOK_HOSTS: Final[tuple[HookHost, ...]] = get_args(HookHost)
TIERS: Final = ("constitutional", "critical", "important", "normal", "temporary", "deprecated")
CONTEXT_TYPES: Final = ("research", "implementation", "decision", "discovery", "general")
# What a limit of a namespace may be set to; a number and None are its value, and that of the settings.
Limit: TypeAlias = "int | Literal['unchanged'] | None"
UNCHANGED: Final = "unchanged"
TRUSTS: Final = ("high", "normal", "low")
LEARNING_CATEGORIES: Final = ("anti-patterns", "patterns", "heuristics")
FACT_CATEGORIES: Final = (
    "identity", "preference", "interest", "personality", "relationship", "experience", "goal", "guideline",
)  # fmt: skip
CATEGORIES: Final = LEARNING_CATEGORIES + FACT_CATEGORIES
# Who finds the keywords of a learning.
KEYWORD_TIERS: Final = ("auto", "claude", "haiku", "ollama", "off")
# Whose memories `perdure import --from` finds by itself.
IMPORT_TOOLS: Final = ("claude-code", "claude-mem", "codex", "editors", "iflow", "mem0", "opencode")
