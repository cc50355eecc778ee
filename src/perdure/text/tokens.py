"""How long a text is for a language model. One counter for everything, and every answer says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, cast

_CHARACTERS_PER_TOKEN: Final = 4


class CountsTokens(Protocol):
    """An embedder that has a tokenizer of its own at hand."""

    @property
    def token_counter(self) -> str: ...

    def count_tokens(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class TokenCounter:
    name: str
    count: Callable[[str], int]


def estimate(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


ESTIMATE: Final = TokenCounter("characters / 4", estimate)


def counter_of(embedder: object) -> TokenCounter:
    """The embedder's own tokenizer when it has one, else an estimate."""
    if not hasattr(embedder, "count_tokens"):
        return ESTIMATE
    counts = cast("CountsTokens", embedder)
    return TokenCounter(counts.token_counter, counts.count_tokens)
