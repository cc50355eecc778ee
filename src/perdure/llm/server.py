"""What all language models on servers have in common. An adapter is the rest: the address, the key, and the form of a
question and of its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from perdure.errors import ModelOutputInvalid, ModelUnavailable, ProviderRefused, ProviderUnavailable
from perdure.llm.port import Question
from perdure.model import Json

if TYPE_CHECKING:
    from perdure.providers.client import ProviderClient
    from perdure.remedies import Remedy

# Any number will do, as long as it is always the same.
SEED: Final = 42
# Models that reason count their thoughts as output. It is only a limit: unused tokens cost nothing.
THINKING_TOKENS: Final = 4096

_NOT_FOUND: Final = 404

Body: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFormat:
    """How one provider wants to be asked. `answer` finds the text in what it sends back, and raises
    `ModelOutputInvalid` where it says that it does not want to answer. `usage` finds the tokens of the question and of
    the answer.

    `optional` are the fields of the body that a model may not know, each with a pattern by which a refusal names it:
    such a question is put again without that field, and all later ones, too. `no_model` is what to do when the server
    does not have the model.
    """

    path: str
    body: Callable[[Question], Body]
    answer: Callable[[Any], str]
    usage: Callable[[Any], tuple[int, int]]
    optional: Mapping[str, str] = field(default_factory=dict[str, str])
    no_model: Remedy | None = None

    def body_without(self, names: frozenset[str], question: Question) -> Body:
        """The body without these fields, be they at the top or one level below."""
        return {
            name: {key: inner for key, inner in value.items() if key not in names}
            if isinstance(value, Mapping)
            else value
            for name, value in self.body(question).items()
            if name not in names
        }


class ServerModel:
    """A language model that a provider runs."""

    def __init__(self, client: ProviderClient, format: ChatFormat) -> None:
        self.name = f"{client.provider}:{client.model}"
        self._client = client
        self._format = format
        self._unknown: frozenset[str] = frozenset()

    def unavailable(self) -> ProviderUnavailable | None:
        """Why it cannot be asked: no key, or a host that may not be asked. No request is made."""
        try:
            self._client.check()
        except ProviderUnavailable as error:
            return error
        return None

    def answer(self, question: Question, *, seconds: float) -> str:
        deadline = monotonic() + seconds
        while True:
            unknown = self._unknown
            try:
                said = self._client.post(
                    self._format.path,
                    self._format.body_without(unknown, question),
                    purpose=question.purpose,
                    items=1,
                    seconds=max(deadline - monotonic(), 0.0),
                    usage=self._format.usage,
                )
            except ProviderRefused as error:
                # Each time round at least one more field is left out, so it ends.
                named = {name for name, words in self._format.optional.items() if re.search(words, error.sentence)}
                if named <= unknown:
                    if error.status == _NOT_FOUND and self._format.no_model:
                        raise ProviderRefused(error.sentence, remedy=self._format.no_model) from error
                    raise
                self._unknown = unknown | named
            else:
                break
        try:
            return self._format.answer(said)
        except (LookupError, TypeError, AttributeError) as error:
            raise ModelUnavailable(
                f"{self.name} did not answer in the form that it documents: {type(error).__name__}: {error}."
            ) from error


def refused(why: str, said: object = "") -> ModelOutputInvalid:
    """The model, or a filter of its provider, does not want to answer. Asking again would not change that."""
    error = ModelOutputInvalid(f"The model did not want to answer: {why}.")
    error.outputs = (str(said),)
    return error
