"""The entries of an episode's metadata. Times are written as `clock.format_time` does it."""

from __future__ import annotations

from typing import Final

FIRST_MESSAGE: Final = "first_message"
UNTIL: Final = "until"
SURPRISE: Final = "surprise"
BOUNDARY: Final = "boundary"
MADE_BY: Final = "made_by"
STABILITY: Final = "stability"
DIFFICULTY: Final = "difficulty"
REVIEWED_AT: Final = "reviewed_at"
CONSOLIDATED_AT: Final = "consolidated_at"
# Of a message: after what it was said, where the clock went back.
SAID_AFTER: Final = "said_after"
# Of a message: nothing follows it for now, because the session has ended.
ENDED: Final = "ended"
