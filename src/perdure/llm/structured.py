"""Putting a question to a language model whose answer must be JSON of a schema.

What it says is never trusted: the JSON is looked for, read strictly, and checked. An answer that cannot be used is
answered with what is wrong with it, at most twice.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final, cast

from perdure.errors import ModelOutputInvalid, ModelUnavailable, PerdureError, shown
from perdure.llm.port import LanguageModel, Question, Schema
from perdure.llm.schema import fault
from perdure.model import Json

REPAIRS: Final = 2
# Nothing that is asked for is a hundredth of it; what is longer is not even looked at.
MAX_CHARACTERS: Final = 1_000_000
# How much of an answer is shown to the model again, and kept for people to see.
_SHOWN_AGAIN: Final = 2_000
_MAX_OUTPUT_KEPT: Final = 20_000
_MOST_DIGITS: Final = 300

_FORM: Final = "Answer with one JSON object and nothing else. It must match this JSON Schema:"
# What a reasoning model thinks aloud; servers that should take it out do not always.
_THOUGHTS: Final = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)
# A brace that is meant as JSON; any other, such as that of `{name}`, belongs to the prose.
_OPENING: Final = re.compile(r'\{\s*["}]')


def ask(
    llm: LanguageModel, question: Question, *, seconds: float, clock: Callable[[], float] = monotonic
) -> dict[str, Json]:
    """The answer, which matches the question's schema. `seconds` are for the answer and its repairs together.

    Raises `ModelOutputInvalid`, which holds all outputs, when none can be used. A model that cannot be reached is not
    asked again: what it raises goes to the caller.
    """
    deadline = clock() + seconds
    form = f"{_FORM}\n{json.dumps(question.schema, ensure_ascii=False)}"
    asked = replace(question, instructions=f"{question.instructions}\n\n{form}")
    outputs: list[str] = []
    wrong = ""
    for _ in range(1 + REPAIRS):
        try:
            output = str(llm.answer(asked, seconds=max(deadline - clock(), 0.0)))
        except ModelOutputInvalid as refusal:
            raise _invalid(refusal.sentence, [*outputs, *refusal.outputs]) from refusal
        except PerdureError:
            raise
        except Exception as error:
            # A plugin may do anything.
            raise ModelUnavailable(f"{llm.name} failed: {type(error).__name__}: {error}.") from error
        try:
            return read_answer(output, question.schema)
        except ValueError as error:
            wrong = str(error)
        outputs.append(output)
        if clock() >= deadline:
            break
        correction = f"An earlier answer could not be used: {wrong} It stands below the text. Answer again, correctly."
        asked = replace(
            question,
            instructions=f"{question.instructions}\n\n{form}\n\n{correction}",
            text=f"{question.text}\n\nThe earlier answer, which could not be used:\n{storable(output[:_SHOWN_AGAIN])}",
        )
    times = f"answered {len(outputs)} times" if len(outputs) > 1 else "answered"
    raise _invalid(f"{llm.name} {times} in another form than was asked for: {wrong}", outputs)


def _invalid(sentence: str, outputs: Sequence[str]) -> ModelOutputInvalid:
    error = ModelOutputInvalid(sentence)
    error.outputs = tuple(
        storable(
            output if len(output) <= _MAX_OUTPUT_KEPT else f"{output[:_MAX_OUTPUT_KEPT]}… (of {len(output)} characters)"
        )
        for output in outputs
    )
    return error


def storable(text: str) -> str:
    """Half a surrogate pair cannot be written anywhere; it is shown by its number instead."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_answer(output: str, schema: Schema) -> dict[str, Json]:
    """The JSON object of an answer, checked. Raises `ValueError`, whose sentence says what is wrong, and where."""
    if len(output) > MAX_CHARACTERS:
        raise ValueError(f"The answer has {len(output)} characters; {MAX_CHARACTERS} are the most.")
    text = output.removeprefix("\ufeff").strip()
    try:
        try:
            value: Json = _DECODER.decode(text)
        except json.JSONDecodeError:
            # There is prose or a fence around it. Thoughts go first: they may hold drafts of the answer.
            value = find_object(_THOUGHTS.sub("", text))
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("The answer is nested too deeply.") from None
    except UnicodeEncodeError:
        raise ValueError("A string in the answer holds half a surrogate pair, which is not a character.") from None
    if wrong := fault(schema, value):
        raise ValueError(wrong)
    return cast("dict[str, Json]", value)


def find_object(text: str) -> Json:
    """The one JSON object in a text that holds other things, too. The same one may stand there twice."""
    found: list[Json] = []
    opening = _OPENING.search(text)
    while opening:
        try:
            value, end = _DECODER.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                raise ValueError("The JSON ends in the middle.") from None
            around = text[max(error.pos - 20, 0) : error.pos + 20]
            raise ValueError(f"The JSON is broken at {shown(around)}: {error.msg}.") from None
        if found and value != found[0]:
            raise ValueError("The answer holds several JSON objects, and it is not clear which one counts.")
        found.append(value)
        opening = _OPENING.search(text, end)
    if not found:
        raise ValueError("There is no JSON object in the answer." if text.strip() else "The answer is empty.")
    return found[0]


def without_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"The key {shown(key)} stands there twice.")
        members[key] = value
    return members


def _number(digits: str) -> int | float:
    """A number, NaN or an infinity, of which only the first can be kept."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"A number has {len(digits)} digits.")
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is not a number that can be kept.")
    return int(digits) if digits.lstrip("-").isdecimal() else value


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=without_duplicates, parse_float=_number, parse_int=_number, parse_constant=_number
)
