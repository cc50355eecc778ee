"""Three plain functions for an agent that may call tools: `remember`, `recall` and `recall_detail` (S4).

Each takes a `Memory` and answers text for a model: what is stored stands in an envelope, as data with numbers to refer
to, and what went wrong is said with what to do about it. Nothing is raised but what is wrong with the program. The
docstrings are written for the model: give them as the descriptions of the tools.

    from functools import partial
    from perdure import Memory, tools

    memory = Memory("agent.db", writer="model")
    my_tools = [partial(tool, memory) for tool in tools.TOOLS]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from perdure.errors import PerdureError
from perdure.model import ContextItem, Hit, Record
from perdure.recall.envelope import PLAIN, enclose, item, unused_mark
from perdure.text.preview import abstract

if TYPE_CHECKING:
    from perdure.memory import Memory

NOTHING_FOUND: Final = "No memory fits."


def remember(memory: Memory, text: str, role: str | None = None, category: str | None = None) -> str:
    """Store one statement so that it is known in later conversations: a fact, a preference, a decision, a correction.

    Write a full sentence that can be understood alone, with names instead of "he" or "it", and one statement per call.
    Do not look first whether it is known already: what says the same becomes one memory, and what contradicts an
    earlier memory is kept beside it until a person decides.

    text: the statement.
    role: who said it, "user" or "assistant", if that matters.
    category: what kind of statement it is, such as "preference", "identity", "goal" or "guideline", if one fits.
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

    query: what you want to know, as a question or in a few words.
    limit: how many memories at most.
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


def recall_detail(memory: Memory, numbers: int | Sequence[int]) -> str:
    """Read memories in full.

    numbers: the number of a memory, or several of them, as `recall` gave them.
    """
    try:
        details = memory.recall_detail(numbers)
    except PerdureError as error:
        return _refused(error)
    return _as_data(_item(detail.record, detail.text) for detail in details)


TOOLS: Final[tuple[Callable[..., str], ...]] = (remember, recall, recall_detail)


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
