"""What is said in a session, kept as a conversation: the turn is on disk when `capture` returns, the store gets it when
there is time.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from hashlib import sha256
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.session.own_text import without_own_text
from perdure.session.spool import Spool, SpooledMessage

if TYPE_CHECKING:
    from perdure.session.privacy import Place
    from perdure.settings import Settings

# Whatever is behind so many characters is not kept: nobody said it, it was pasted.
MAX_CHARACTERS: Final = 32_000
# What is behind so many is not even looked at.
_MOST_READ: Final = 10 * MAX_CHARACTERS
_OF_SECRETS: Final = f"{ascii_letters}{digits}+/=_.~%-"
# Without a name for the turn, the same words within so many seconds are the same turn.
_SAME_TURN: Final = 60


class Turn(NamedTuple):
    """What one side said. `turn` is the host's own name for it, if it has one: two hooks that are told of the same turn
    are told the same name.
    """

    session: str
    role: str
    text: str
    turn: str = ""
    project: str | None = None
    channel: str | None = None
    speaker: str | None = None


def capture(settings: Settings, place: Place, turn: Turn) -> bool:
    """Whether something was kept. Secrets are taken out before anything is on disk."""
    # Half of a surrogate pair and NUL are no text that can be stored.
    said = cut(turn.text, _MOST_READ)
    text = without_own_text(said.encode("utf-8", "replace").decode().replace("\0", ""))
    if not place.recording or not text:
        return False
    text = cut(text, MAX_CHARACTERS)
    text = redacted(settings, text)
    name = turn.turn or str(int(time.time()) // _SAME_TURN)
    parts = "\0".join((turn.session, turn.role, turn.speaker or "", name, text))
    message = SpooledMessage(
        namespace=place.namespace,
        conversation=turn.session,
        role=turn.role,
        content=text,
        at=datetime.now(UTC).isoformat(),
        key=sha256(parts.encode()).hexdigest(),
        source_project=turn.project,
        channel=turn.channel,
        speaker=turn.speaker,
    )
    return Spool(settings.store).put(message)


def redacted(settings: Settings, text: str) -> str:
    if not settings.redact:
        return text
    from perdure.text.secrets import redactor

    return redactor(settings.redact_patterns)(text).text


def cut(text: str, most: int) -> str:
    """Not in the middle of what may be a secret: half of one would not be seen."""
    return text if len(text) <= most else f"{text[:most].rstrip(_OF_SECRETS).rstrip()} […]"
