"""The options that say something about a memory besides its text; `remember` and `update` share them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from perdure.cli import stored_names
from perdure.cli.command import Function, option
from perdure.cli.time_options import time_option
from perdure.errors import InvalidInput
from perdure.model import CATEGORIES, CONFIDENCE_LABELS, CONTEXT_TYPES, TIERS, TRUSTS, Json

if TYPE_CHECKING:
    import click

CONTENT: Final = "What it says"
ORIGIN: Final = "Where it comes from"
STANDING: Final = "How much it counts"
TIME: Final = "When it holds"
_TIMES: Final = "a time such as 2026-03-14, 3d"

# Options that may be repeated, and the list of a record that they fill.
LISTS: Final = {
    "tag": "tags", "keyword": "keywords", "reference": "references", "trigger_phrase": "trigger_phrases",
    "evidence": "evidence",
}  # fmt: skip


def completing(values: Sequence[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Offers the values, and leaves it to the engine to refuse others: settings may add some."""

    def complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def _one(name: str, section: str, text: str, **attributes: Any) -> Callable[[Function], Function]:
    return option(name, section=section, help=text, **attributes)


def _many(name: str, section: str, text: str, **attributes: Any) -> Callable[[Function], Function]:
    return option(*name.split(), section=section, help=f"{text} Repeatable.", multiple=True, **attributes)


def _choice(name: str, section: str, text: str, values: Sequence[str], *, rare: bool = False) -> Callable[..., Any]:
    listed = f"{text}: {', '.join(values)}."
    complete = completing(values)
    return option(*name.split(), section=section, help=listed, metavar="NAME", shell_complete=complete, rare=rare)


KEY_OPTION: Final = (
    _one("--key", CONTENT, "An identity of your own, such as person:alice: saying it again makes a new version."),
)
ORIGIN_OPTIONS: Final = (
    _one("--source-project", ORIGIN, "The project it was learned in.", rare=True),
    _one("--conversation-id", ORIGIN, "The conversation it belongs to.", rare=True),
    option("--session", "session_id", also=("--session-id",), section=ORIGIN, help="The session it comes from."),
    _one("--channel", ORIGIN, "The channel it came through.", rare=True),
    _one("--spec-folder", ORIGIN, "The folder of the specification it belongs to.", rare=True),
    _one("--file-path", ORIGIN, "The file it stands in.", rare=True),
    _one("--anchor-id", ORIGIN, "The anchor inside that file.", rare=True),
)
_OPTIONS: Final = (
    *KEY_OPTION,
    _one("--title", CONTENT, "A short name for it."),
    _choice("--category -c", CONTENT, "What kind of memory", CATEGORIES),
    _many("--tag -t", CONTENT, "A label to filter by.", shell_complete=stored_names.tags),
    _one("--abstract", CONTENT, "One sentence about it.", rare=True),
    _one("--summary", CONTENT, "A longer account.", rare=True),
    _one("--reasoning", CONTENT, "Why it is so.", rare=True),
    _choice("--context-type", CONTENT, "What it was made in", CONTEXT_TYPES, rare=True),
    _many("--keyword", CONTENT, "A word that should find it, up to ten.", rare=True),
    _many("--reference", CONTENT, "A link, path or other memory it refers to.", rare=True),
    _many("--trigger-phrase", CONTENT, "A phrase that should bring it to mind.", rare=True),
    _many("--metadata", CONTENT, "An entry of your own; the value is JSON, or else text.", metavar="NAME=VALUE"),
    _one("--source", ORIGIN, "What stored it.", rare=True),
    *ORIGIN_OPTIONS,
    _many("--evidence", ORIGIN, "The id of an episode that supports it.", rare=True),
    _choice("--trust", ORIGIN, "How far its origin is trusted", TRUSTS, rare=True),
    _choice("--tier", STANDING, "Its tier", TIERS),
    _one("--importance", STANDING, "From 0 to 1.", type=float),
    _one("--confidence", STANDING, f"From 0 to 1, or {', '.join(CONFIDENCE_LABELS)}.", rare=True),
    _one("--valid-at", TIME, f"When it became true: {_TIMES} (ago), 'last Monday'.", **time_option("valid_at")),
    _one(
        "--invalid-at",
        TIME,
        f"When it ceased to be true: {_TIMES} (ago), yesterday.",
        rare=True,
        **time_option("invalid_at"),
    ),
    _one(
        "--expires-at", TIME, f"When to stop showing it: {_TIMES} (from now), 'next week'.", **time_option("expires_at")
    ),
)


def field_options(without: Collection[object] = ()) -> Callable[[Function], Function]:
    """All of them, or all but those that a command has no use for."""

    def decorate(function: Function) -> Function:
        for add in reversed([each for each in _OPTIONS if each not in without]):
            function = add(function)
        return function

    return decorate


def given_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields the user named, by the names they have in a record."""
    fields = {LISTS.get(name, name): value for name, value in options.items() if value is not None and value != ()}
    if "confidence" in fields:
        with suppress(ValueError):
            fields["confidence"] = float(fields["confidence"])
    if "metadata" in fields:
        fields["metadata"] = dict(read_entries(fields["metadata"], "--metadata"))
    return fields


def read_entries(pairs: Iterable[str], option_name: str) -> Iterator[tuple[str, Json]]:
    """NAME=VALUE as name and value: JSON, or else the text itself."""
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(f"{pair[:60]!r} is not a metadata entry.", remedy=f"Write {option_name} NAME=VALUE.")
        try:
            yield name, json.loads(value)
        except (ValueError, RecursionError):
            yield name, value
