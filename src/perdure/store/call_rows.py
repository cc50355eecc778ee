"""Calls of providers as every store reads them from its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from perdure.clock import from_micros
from perdure.providers.call import ProviderCall


def decode_calls(rows: Iterable[Sequence[Any]]) -> list[ProviderCall]:
    found: list[ProviderCall] = []
    for row in rows:
        (
            at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost,
            outcome,
        ) = row  # fmt: skip
        call = ProviderCall(
            at=from_micros(at), provider=provider, model=model, host=host, purpose=purpose, items=items,
            sent_bytes=sent_bytes, received_bytes=received_bytes, input_tokens=input_tokens,
            output_tokens=output_tokens, cost=cost, outcome=outcome,
        )  # fmt: skip
        found.append(call)
    return found
