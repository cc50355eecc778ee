"""What a language model must do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from perdure.model import Json
from perdure.values import value_class

Schema: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`instructions` are ours, `text` is what they are about; the two never mix, so that a memory gives no orders.

    `purpose` is what the list of calls says, such as `keywords`. `schema` is the JSON Schema of the answer, in the
    words of `llm/schema.py`: an object at the top, every object closed (`additionalProperties` is false) and each of
    its properties required, because the strict forms of the providers know no other.
    """

    purpose: str
    instructions: str
    text: str
    schema: Schema
    max_output_tokens: int = 1024


class LanguageModel(Protocol):
    """Answers a question; `llm/structured.py: ask` is how to put one."""

    @property
    def name(self) -> str:
        """`provider:model`, as in the settings."""
        ...

    def answer(self, question: Question, *, seconds: float) -> str:
        """The text of its answer, which should be JSON of the schema and may be anything. Temperature 0 and a fixed
        seed where the provider knows one.

        Raises `ProviderUnavailable` or what is below it, never anything else: when it cannot be asked, and as
        `ModelOutputInvalid` when it does not want to answer.
        """
        ...


@value_class(kw_only=True)
class Parked:
    """What a language model said that could not be used, kept until somebody asks again or throws it away.

    `memory` is the number of the memory it was asked about, if it was one.
    """

    id: int
    namespace: str
    purpose: str
    memory: int | None
    model: str
    error: str
    output: str
    attempts: int
    at: datetime
