"""The options that narrow what `recall` and `list` show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from perdure.cli.command import Function, option
from perdure.cli.fields import completing
from perdure.cli.moments import moment, stamp
from perdure.model import CATEGORIES, CONTEXT_TYPES, TIERS, State

_SECTION: Final = "Only those"
_NAMES: Final = {"tag": "tags", "state": "states"}

AS_OF: Final = option("--as-of", **moment("as_of"), help="What was true at this time: 2026-03-14T09:30, 3d, yesterday.")
KNOWN_AT: Final = option("--known-at", **moment("known_at"), help="What was known at this time, in the words of then.")

_OPTIONS: Final = (
    option("--tag", "-t", section=_SECTION, multiple=True, help="with this tag; repeated: with all of them."),
    option("--category", "-c", section=_SECTION, multiple=True, metavar="NAME", shell_complete=completing(CATEGORIES),
           help="of this category; repeated: of any of them."),
    option("--source", section=_SECTION, multiple=True, help="stored by this source; repeated: by any of them."),
    option("--since", section=_SECTION, **moment("since"), help="from this time on: 2026-03-14, 3d, 2w, yesterday."),
    option("--until", section=_SECTION, **moment("until", whole_day=True),
           help="up to this time; a date includes the whole day."),
    option("--when", section=_SECTION, metavar="WORDS", help="of this time: 'last week', 'in March', 'since Monday'."),
    option("--context-type", section=_SECTION, metavar="NAME", shell_complete=completing(CONTEXT_TYPES),
           help=f"made in: {', '.join(CONTEXT_TYPES)}."),
    option("--tier", section=_SECTION, metavar="NAME", shell_complete=completing(TIERS), help="of this tier."),
    option("--source-project", section=_SECTION, help="learned in this project."),
    option("--spec-folder", section=_SECTION, help="of this specification folder."),
    option("--conversation-id", section=_SECTION, help="of this conversation."),
)  # fmt: skip


def filter_options(states: Sequence[State], default: str = "active") -> Callable[[Function], Function]:
    in_state = option(
        "--state", section=_SECTION, multiple=True, metavar="NAME", shell_complete=completing(states),
        help=f"in this state: {', '.join(states)}; repeated: in any of them.  [default: {default}]",
    )  # fmt: skip

    def decorate(function: Function) -> Function:
        for add in (in_state, *reversed(_OPTIONS)):
            function = add(function)
        return function

    return decorate


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The filters in use, by the names the façade gives them."""
    return {_NAMES.get(name, name): value for name, value in options.items() if value is not None and value != ()}


def about_the_past(as_of: datetime | None, known_at: datetime | None) -> tuple[str, ...]:
    """That an answer is not about now."""
    true = f"This was true on {stamp(as_of)}" if as_of else ""
    known = f"as it was known on {stamp(known_at)}" if known_at else ""
    if not known_at:
        return (f"{true}, as far as is known now.",) if true else ()
    return (f"{true}, {known}." if true else f"This is {known}.",)


def in_words(filters: Mapping[str, Any]) -> str:
    """`tags ui, since 2026-03-14` for an answer that came out empty."""
    return ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in filters.items())


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
