"""A language model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perdure.llm.port import Question

KEYWORDS = {
    "type": "object",
    "properties": {
        "keywords": {
            "type": "array",
            "items": {"type": "string", "minLength": 2, "maxLength": 40},
            "minItems": 1,
            "maxItems": 10,
        }
    },
    "required": ["keywords"],
    "additionalProperties": False,
}
ABOUT_BRIDGES = Question(
    purpose="keywords",
    instructions="Name the keywords of the text.",
    text="The bridge over the Limmat opens at 05:30.",
    schema=KEYWORDS,
    max_output_tokens=200,
)
GOOD = '{"keywords": ["bridge", "Limmat"]}'


class ScriptedModel:
    """Says one output after the other, the last one again and again. `asked` is what it was asked."""

    name = "testing:scripted"

    def __init__(self, outputs: Iterable[str | Exception], then: Callable[[], object] = lambda: None) -> None:
        self._outputs = list(outputs)
        self._then = then
        self.asked: list[Question] = []
        self.seconds: list[float] = []

    def answer(self, question: Question, *, seconds: float) -> str:
        output = self._outputs[min(len(self.asked), len(self._outputs) - 1)]
        self.asked.append(question)
        self.seconds.append(seconds)
        self._then()
        if isinstance(output, Exception):
            raise output
        return output
