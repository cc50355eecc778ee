"""`perdure retro`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.confirm import DRY_RUN, can_ask
from perdure.cli.field_options import given_fields
from perdure.cli.project_options import PROJECT, open_retro
from perdure.cli.render import View
from perdure.cli.retro_view import retro_view
from perdure.cli.stdin import read_text
from perdure.errors import InvalidInput
from perdure.model import LEARNING_CATEGORIES

if TYPE_CHECKING:
    from perdure.session.retro_request import RetroRequest

_EXAMPLES: Final = (
    "perdure retro learnings.json --dry-run",
    "perdure retro --category heuristics --name 'Read samples' --description 'Open real files.' --reasoning Why",
    "perdure retro --confirm 'Read real samples' --challenge 'Thin orchestrator' 'It hid the errors'",
)
_LEARNING: Final = "Learning"
_MOST_BYTES: Final = 1 << 22


@command("retro", examples=_EXAMPLES, creates=True)
@click.argument("file", required=False, type=FilePath(dir_okay=False, allow_dash=True))
@option("--name", section=_LEARNING, help="A short title.")
@option("--description", section=_LEARNING, help="What was learned.")
@option("--reasoning", section=_LEARNING, help="Why it matters, and how it was found out.")
@option("--category", section=_LEARNING, type=click.Choice(LEARNING_CATEGORIES), help="Which kind of learning.")
@option("--keyword", "keywords", section=_LEARNING, multiple=True, help="A label to find it by. Repeatable.")
@option("--reference", "references", section=_LEARNING, multiple=True, help="A file, feature or project. Repeatable.")
@option("--confidence", section=_LEARNING, type=click.Choice(("high", "medium", "low")), help="How sure it is.")
@option("--universal", section=_LEARNING, is_flag=True, help="It holds in every project.")
@option("--confirm", "confirmed", section="Older entries", multiple=True, metavar="ENTRY", help="It held. Repeatable.")
@option(
    "--challenge", "challenged", section="Older entries", multiple=True, nargs=2, metavar="ENTRY REASON",
    help="It did not hold, and why. Repeatable.",
)  # fmt: skip
@option("--feature", metavar="NUMBER", help="The feature that this was.  [default: the active one, or the branch's]")
@option("--promote", is_flag=True, help="Make the global bank for universal learnings if there is none.")
@PROJECT
@DRY_RUN
def main(
    target: Target,
    *,
    file: str | None,
    confirmed: tuple[str, ...],
    challenged: tuple[tuple[str, str], ...],
    feature: str | None,
    promote: bool,
    project: Path | None,
    dry_run: bool,
    **learning: Any,
) -> View:
    """Keep what was learned, in the store and in the project's knowledge bank.

    FILE is JSON as a model writes it, `-` is standard input; or say one learning with options; or say nothing on a
    terminal, and you are asked. References are filled from what the branch changed. An ENTRY is named by its name, its
    content hash or the number of its memory.
    """
    request = _request(target, file, given_fields(learning), confirmed, challenged)
    with open_retro(target, project, feature=feature, promote=promote, dry_run=dry_run) as retro:
        result = retro.run(request, dry_run=dry_run)
    return retro_view(target, result)


def _request(
    target: Target,
    file: str | None,
    learning: dict[str, Any],
    confirmed: tuple[str, ...],
    challenged: tuple[tuple[str, str], ...],
) -> RetroRequest:
    from perdure.session.retro_request import RetroRequest, check_learning, read_request

    lists = {name: list(cast("tuple[str, ...]", value)) for name, value in learning.items() if isinstance(value, tuple)}
    told: dict[str, Any] = {name: value for name, value in (learning | lists).items() if value}
    if file is not None:
        if told or confirmed or challenged:
            raise click.UsageError("FILE says everything; give no other learnings or entries with it.")
        return read_request(_content(file))
    if told or confirmed or challenged:
        return RetroRequest((check_learning(told),) if told else (), confirmed, challenged)
    if not can_ask(target):
        raise click.UsageError("There is nothing to keep. Give a FILE, `-`, or --name and its other options.")
    asked = {key: click.prompt(text, err=True, **more) for key, text, more in _QUESTIONS}
    return RetroRequest((check_learning(asked),))


_QUESTIONS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("category", "Kind", {"type": click.Choice(LEARNING_CATEGORIES)}),
    ("name", "Short title", {}),
    ("description", "What was learned", {}),
    ("reasoning", "Why it matters, and how it was found out", {}),
)


def _content(file: str) -> str:
    if file == "-":
        return read_text()
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidInput(
            f"{file} cannot be read: {reason}.", remedy="Check its name; nothing was written."
        ) from error
