"""How long a text is for a language model. One counter for everything, and every answer says which."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Final, cast

from perdure.errors import InvalidInput, shown
from perdure.values import value_class

# No tokenizer makes more of one character; a count beyond that would evict every other memory.
MOST_PER_CHARACTER: Final = 32
_CHARACTERS_PER_TOKEN: Final = 4
_SAMPLE: Final = "Alice prefers dark mode."
_COUNTER_REMEDY: Final = "Give a function that takes a text and returns how many tokens it has; nothing was changed."


@value_class
class TokenCounter:
    name: str
    count: Callable[[str], int]


def estimate(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


ESTIMATE: Final = TokenCounter("characters / 4", estimate)


def counter_of(embedder: object) -> TokenCounter:
    """The embedder's own tokenizer when it has one, else an estimate."""
    counter: object = getattr(embedder, "token_counter", None)
    return counter if isinstance(counter, TokenCounter) else ESTIMATE


def counter_by(function: object) -> TokenCounter:
    """A counter of the caller's. It is tried once now, so that one that cannot count is refused before anything is
    opened. What it says later is checked as well: a guess in its place would break a budget without a word.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise InvalidInput(f"count_tokens is {shown(function)}, which is not a function.", remedy=_COUNTER_REMEDY)

    def count(text: str) -> int:
        try:
            counted: object = function(text)
            tokens = -1 if isinstance(counted, bool) else index(cast("int", counted))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise InvalidInput(f"count_tokens ({name}) failed: {reason:.200}", remedy=_COUNTER_REMEDY) from error
        if not 0 <= tokens <= MOST_PER_CHARACTER * (len(text) + 1):
            sentence = f"count_tokens ({name}) says {shown(counted)} for a text of {len(text)} characters."
            raise InvalidInput(sentence, remedy=_COUNTER_REMEDY)
        return tokens

    count(_SAMPLE)
    return TokenCounter(name, count)
