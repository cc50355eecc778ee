"""More than one memory goes only when somebody has seen which, and said so."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Literal

from perdure.errors import Conflict, InvalidInput, NeedsConfirmation, shown
from perdure.model import Forgotten, Record


def token_of(namespace: str, mode: Literal["soft", "hard"], records: Iterable[Record]) -> str:
    """Stands for exactly these memories as they are now: a change to one of them, or one more, makes another token."""
    said = [
        namespace,
        mode,
        *sorted(f"{one.number}@{one.seq} {one.version} {one.state} {one.content_hash}" for one in records),
    ]
    return sha256("\x00".join(said).encode("utf-8", "replace")).hexdigest()[:16]


def require(preview: Forgotten, confirm: object, *, going: int, certain: bool) -> None:
    """`going` is how many there are, `certain` that nobody needs to be asked. A token that is given must fit anyway."""
    if not isinstance(confirm, bool | str):
        raise InvalidInput(f"confirm must be True or the token of a preview, not {shown(confirm)}.")
    if isinstance(confirm, str) and confirm != preview.token:
        raise Conflict(
            f"The token {shown(confirm)} confirms other memories than those that match now.",
            remedy="Look at the preview again, and confirm that one; nothing was changed.",
        )
    if confirm is False and not certain:
        what = "1 memory" if going == 1 else f"{going:,} memories"
        verb = "forgotten" if preview.deletion == "soft" else "erased for ever"
        raise NeedsConfirmation(
            f"{what} would be {verb}: {preview.understood}.",
            remedy=f"Look at the list, and confirm it with the token {preview.token}; nothing was changed.",
        )
