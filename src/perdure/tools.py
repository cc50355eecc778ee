"""Three plain functions for an agent that may call tools: `remember`, `recall` and `recall_detail` (S4).

Each takes a `Memory` and answers text for a model: what is stored stands in an envelope, as data with numbers to refer
to, and what went wrong is said with what to do about it. Nothing is raised but what is wrong with the program. The
docstrings are written for the model: give them as the descriptions of the tools.

    from perdure import Memory, tools

    memory = Memory("agent.db", writer="model")
    my_tools = tools.bind(memory)

`bind` gives functions with a signature and a docstring of their own, as frameworks read them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Final, get_type_hints, overload

from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.model import ContextItem, Hit, Record
from perdure.recall.envelope import PLAIN, enclose, item, unused_mark
from perdure.text.preview import abstract

if TYPE_CHECKING:
    from perdure.async_memory import AsyncMemory

NOTHING_FOUND: Final = "No memory fits."


def remember(memory: Memory, text: str, role: str | None = None, category: str | None = None) -> str:
    """Store one statement so that it is known in later conversations: a fact, a preference, a decision, a correction.

    Write a full sentence that can be understood alone, with names instead of "he" or "it", and one statement per call.
    Do not look first whether it is known already: what says the same becomes one memory, and what contradicts an
    earlier memory is kept beside it until a person decides.

    Args:
        text: The statement.
        role: Who said it, "user" or "assistant", if that matters.
        category: What kind of statement it is, such as "preference", "identity", "goal" or "guideline", if one fits.
    """
    fields = {} if category is None else {"category": category}
    try:
        saved = memory.save_memory(text, role=role, **fields)  # pyright: ignore[reportArgumentType] - it is checked there
    except PerdureError as error:
        return _refused(error)
    record = saved.record
    numbers = " and ".join(f"#{each.number}" for each in saved.absorbed)
    sentence = {
        "inserted": f"Remembered as #{record.number}.",
        "observed": f"Known already as #{record.number}, said {record.observation_count} times.",
        "merged": f"Merged with {numbers} into #{record.number}.",
    }[saved.outcome]
    asked = [f"A person will decide about proposal #{number}." for number in saved.proposals]
    lines = [sentence, *asked, *saved.notes]
    if saved.outcome == "merged":
        lines.append(_as_data([_item(record, record.text)]))
    return "\n".join(lines)


def recall(memory: Memory, query: str, limit: int = 5) -> str:
    """Search what was remembered in earlier conversations, by meaning and by words.

    Use it before you answer from memory, and whenever something was said or decided before. The answer has a few
    sentences of each memory, with its date and its number; `recall_detail` gives the full text of a number.

    Args:
        query: What you want to know, as a question or in a few words.
        limit: How many memories at most.
    """
    try:
        answer = memory.recall(query, limit=limit)
    except PerdureError as error:
        return _refused(error)
    found = {record.number: _item(record, abstract(record)) for record in answer.constitutional}
    for hit in answer:
        found.setdefault(hit.record.number, _item(hit.record, abstract(hit.record), hit))
    if not found:
        return "\n".join((NOTHING_FOUND, *answer.notes))
    return "\n".join((_as_data(found.values()), *answer.notes))


def recall_detail(memory: Memory, numbers: int | list[int]) -> str:
    """Read memories in full.

    Args:
        numbers: The numbers of the memories, as `recall` gave them.
    """
    try:
        details = memory.recall_detail(numbers)
    except PerdureError as error:
        return _refused(error)
    return _as_data(_item(detail.record, detail.text) for detail in details)


TOOLS: Final[tuple[Callable[..., str], ...]] = (remember, recall, recall_detail)


@overload
def bind(memory: Memory) -> list[Callable[..., str]]: ...
@overload
def bind(memory: AsyncMemory) -> list[Callable[..., Coroutine[Any, Any, str]]]: ...
def bind(memory: Memory | AsyncMemory) -> list[Callable[..., Any]]:
    """The tools for one memory, as functions that a framework can describe to a model by their names, signatures and
    docstrings. Of an `AsyncMemory` they are coroutine functions.
    """
    return [_bound(tool, memory) for tool in TOOLS]


def _bound(tool: Callable[..., str], memory: Memory | AsyncMemory) -> Callable[..., Any]:
    # Neither `partial` nor `wraps` will do: frameworks read the annotations, and some look behind `__wrapped__`.
    if isinstance(memory, Memory):

        def call(*arguments: Any, **named: Any) -> str:
            return tool(memory, *arguments, **named)

        bound: Callable[..., Any] = call
    else:

        async def call_in_thread(*arguments: Any, **named: Any) -> str:
            return await memory.call(tool, *arguments, **named)

        bound = call_in_thread
    hints = get_type_hints(tool)
    del hints["memory"]
    _, *parameters = signature(tool).parameters.values()
    typed = [each.replace(annotation=hints[each.name]) for each in parameters]
    bound.__name__ = bound.__qualname__ = tool.__name__
    bound.__doc__ = tool.__doc__
    bound.__annotations__ = hints
    bound.__signature__ = Signature(typed, return_annotation=str)
    return bound


def _item(record: Record, text: str, hit: Hit | None = None) -> str:
    form = "full" if text == record.text else "abstract"
    marks = (hit.outdated, hit.contradicts) if hit else (None, ())
    return item(ContextItem(record, text, form, 1.0, *marks), PLAIN)


def _as_data(told: Iterable[str]) -> str:
    """Memories between two marks that none of them holds."""
    items = list(told)
    return enclose(items, unused_mark(items))


def _refused(error: PerdureError) -> str:
    return f"Not done: {error.sentence} {error.remedy_for('mcp')}"
