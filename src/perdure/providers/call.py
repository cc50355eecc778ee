"""One request to a provider, as the list of what left this machine has it. It never holds a word of a text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """`purpose` says what it was for, such as `embed query` or `keywords`; `outcome` is `ok` or the code of an error.
    `cost` is None where the price is not known.
    """

    at: datetime
    provider: str
    model: str
    host: str
    purpose: str
    items: int
    sent_bytes: int
    received_bytes: int
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    outcome: str = "ok"
