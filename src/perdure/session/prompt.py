"""What a prompt brings to mind, as a short text for the model: data between two marks, nothing that it was shown
already, and nothing at all unless something fits.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from perdure.model import ContextItem, Record, SuggestedBy, Suggestions
from perdure.recall.envelope import Style, enclose, item, unused_mark, whole_text
from perdure.session.state import session_state
from perdure.values import value_class

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.session.privacy import Place

MAX_CHARACTERS: Final = 1_500
_LIMIT: Final = 5
_LONGEST: Final = 400
_SHORTEST: Final = 100
# What is asked for stands at the beginning or at the end of a long prompt; between them is what was pasted.
_BEGINNING: Final = 1_500
_END: Final = 500


@value_class
class PromptBlock:
    """The text for the model; each memory in it, and each that found no room, with why the prompt brings it to mind."""

    text: str = ""
    inside: tuple[tuple[Record, SuggestedBy | None], ...] = ()
    left_out: tuple[tuple[Record, SuggestedBy | None], ...] = ()


def prompt_context(memory: Memory, place: Place, session: str, prompt: str) -> PromptBlock:
    """The memories that this prompt brings to mind and this session has not been shown."""
    asked = prompt if len(prompt) <= _BEGINNING + _END else f"{prompt[:_BEGINNING]}\n{prompt[-_END:]}"
    with session_state(session) as state:
        shown = frozenset(state.shown)
    found = memory.suggest(asked, limit=_LIMIT, namespaces=place.read_namespaces, without=shown, told_in=place.told_in)
    block = render(found, asked, several=len(place.read_namespaces) > 1)
    if block.inside:
        with session_state(session) as state:
            state.show([record.id for record, _ in block.inside])
    return block


def render(found: Suggestions, asked: str, *, several: bool) -> PromptBlock:
    """As many of the memories as find room, best first, and the text with them; of a long one its title, the sentences
    that have most in common with what is asked, and what to do instead.
    """
    lines: list[str] = []
    inside: list[tuple[Record, SuggestedBy | None]] = []
    left_out: list[tuple[Record, SuggestedBy | None]] = []
    for record, why in zip_longest(found.records, found.why):
        shown = ContextItem(record, whole_text(record, record.text, "full"), "full", 1.0)
        if len(shown.text) > _LONGEST:
            from perdure.recall.excerpt import excerpt, terms_of

            room = max(_LONGEST - len(whole_text(record, "", "excerpt")), _SHORTEST)
            some = excerpt(record.text, terms_of(asked), room, len)
            shown = ContextItem(record, whole_text(record, some, "excerpt"), "excerpt", 1.0)
        line = item(shown, Style(several=several))
        if len(enclose([*lines, line], "0" * 16)) <= MAX_CHARACTERS:
            lines.append(line)
            inside.append((record, why))
        else:
            left_out.append((record, why))
    return PromptBlock(enclose(lines, unused_mark(lines)) if lines else "", tuple(inside), tuple(left_out))
