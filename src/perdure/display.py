"""How values look where Python shows them: short in a terminal, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_MOST_CHARACTERS: Final = 60
_MOST_SHOWN: Final = 10


def short(text: str) -> str:
    """The beginning of a text, quoted, on one line."""
    line = " ".join(text[: 4 * _MOST_CHARACTERS].split())
    return repr(line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 1]}…")


def short_list(values: Sequence[object]) -> str:
    """The first values, and how many there are beside them."""
    more = len(values) - _MOST_SHOWN
    return f"[{', '.join(map(repr, values[:_MOST_SHOWN]))}{f', … {more} more' if more > 0 else ''}]"


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """A table for a notebook. What memories say is shown as text, whatever is in it."""
    from html import escape

    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
