"""The options that narrow what a command works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from perdure.cli import stored_names
from perdure.cli.command import Function, option
from perdure.cli.field_options import completing, read_entries
from perdure.cli.terminal import note
from perdure.cli.time_options import stamp, time_option
from perdure.clock import format_local
from perdure.model import CATEGORIES, CONTEXT_TYPES, INDEXED_STATES, TIERS, Json, State
from perdure.validation import Filters

FILTERS: Final = "Filters"
_NAMES: Final = {"tag": "tags", "state": "states"}
_TIMES: Final = ("since", "until", "when")

KNOWN_AT: Final = option("--known-at", **time_option("known_at"), help="Search the store as it was at this time.")
SINCE: Final = option(
    "--since", section=FILTERS, **time_option("since"), help="from this time on: 2026-03-14, 3d, 'last week', Monday."
)
UNTIL: Final = option(
    "--until", section=FILTERS, **time_option("until"),
    help="up to this time; a day, a week or a month that is named is included.",
)  # fmt: skip

_OPTIONS: Final = (
    option("--tag", "-t", section=FILTERS, multiple=True, shell_complete=stored_names.tags,
           help="has this tag; repeated: has all of them."),
    option("--category", "-c", section=FILTERS, multiple=True, metavar="NAME", shell_complete=completing(CATEGORIES),
           help="is of this category; repeated: of any of them."),
    option("--source", section=FILTERS, rare=True, multiple=True,
           help="stored by this source; repeated: by any of them."),
    SINCE,
    UNTIL,
    option("--when", section=FILTERS, metavar="WORDS",
           help="of this time: 'last week', 'in March', 'since Monday', 24h."),
    option("--context-type", section=FILTERS, rare=True, metavar="NAME", shell_complete=completing(CONTEXT_TYPES),
           help=f"made in: {', '.join(CONTEXT_TYPES)}."),
    option("--tier", section=FILTERS, metavar="NAME", shell_complete=completing(TIERS), help="has this tier."),
    option("--source-project", section=FILTERS, rare=True, help="learned in this project."),
    option("--spec-folder", section=FILTERS, rare=True, help="belongs to this specification folder."),
    option("--conversation-id", section=FILTERS, rare=True, help="belongs to this conversation."),
    option("--key-type", section=FILTERS, rare=True, metavar="NAME",
           help="has a key of this type: person of person:alice."),
    option("--where", section=FILTERS, multiple=True, metavar="NAME=VALUE",
           help="has this metadata entry; the value is JSON, or else text. Repeated: all names, any value of each."),
    option("--min-importance", section=FILTERS, rare=True, type=float, help="is at least so important, from 0 to 1."),
    option("--max-importance", section=FILTERS, rare=True, type=float, help="is at most so important."),
)  # fmt: skip


_SEARCH: Final = (
    option("--concept", "concepts", multiple=True, metavar="WORDS",
           help="Only memories that hold this; give two to five of them."),
    option("--recipe", metavar="NAME", shell_complete=stored_names.recipes,
           help="How to weigh the signals.  [default: balanced]"),
    option("--min-relevance", type=float, metavar="NUMBER",
           help="Leave out what fits less well, from 0 to 1; 0 leaves out nothing.  [default: the recipe's]"),
    option("--as-of", **time_option("as_of"),
           help="What was true at this time: 2026-03-14T09:30, 3d; of a day, at its beginning."),
    KNOWN_AT,
    option("--no-constitutional", is_flag=True, help="Leave out the memories that are always shown."),
)  # fmt: skip


def filter_options(states: Sequence[State], default: str = "active") -> Callable[[Function], Function]:
    in_state = option(
        "--state", section=FILTERS, multiple=True, metavar="NAME", shell_complete=completing(states),
        help=f"is in this state: {', '.join(states)}; repeated: in any of them.  [default: {default}]",
    )  # fmt: skip
    return _adding((*_OPTIONS, in_state))


def search_options(function: Function) -> Function:
    """What `recall` and `context` share: their names are those of the façade's parameters."""
    return _adding(_SEARCH)(filter_options(INDEXED_STATES)(function))


def _adding(options: Sequence[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for add in reversed(options):
            function = add(function)
        return function

    return decorate


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, by the names the façade gives them."""
    given = {_NAMES.get(name, name): value for name, value in options.items() if value is not None and value != ()}
    if "where" in given:
        entries: dict[str, list[Json]] = {}
        for name, value in read_entries(given["where"], "--where"):
            entries.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        given["where"] = entries
    return given


def about_the_past(as_of: datetime | None, known_at: datetime | None) -> tuple[str, ...]:
    """A note that an answer is not about now."""
    true = f"This was true on {stamp(as_of)}" if as_of else ""
    known = f"as it was known on {stamp(known_at)}" if known_at else ""
    if not known_at:
        return (note(f"{true}, as far as is known now."),) if true else ()
    return (note(f"{true}, {known}." if true else f"This is {known}."),)


def filters_in_words(options: Mapping[str, Any]) -> str:
    """` with tags ui since 2026-03-14 00:00 UTC`, for an answer that came out empty; nothing without a filter."""
    times: list[str] = []
    others: list[str] = []
    for name, value in ((_NAMES.get(name, name), value) for name, value in options.items()):
        if value is None or value == () or name not in Filters.__annotations__:
            continue
        if isinstance(value, datetime):
            shown = format_local(value, "%Y-%m-%d %H:%M")
        else:
            shown = " ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
        (times if name in _TIMES else others).append(f"{name.replace('_', ' ')} {shown}")
    return "".join(f" {part}" for part in (*(["with " + ", ".join(others)] if others else []), *times))
