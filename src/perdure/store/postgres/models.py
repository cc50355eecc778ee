"""What a store keeps about models: generations of vectors, calls of providers, and output that could not be used."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from perdure.clock import from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict
from perdure.llm.port import Parked
from perdure.providers.call import ProviderCall
from perdure.store.call_rows import decode_calls
from perdure.store.postgres.pool import EVERYWHERE, SHARED, PostgresPool
from perdure.store.postgres.reader import generation_key
from perdure.store.rows import FLOAT_BYTES, storable
from perdure.store.stats import GenerationStats

_CALLS_KEPT: Final = timedelta(days=400)


def require_generation(pool: PostgresPool, sql: Mapping[str, str], generation: Generation) -> int:
    """The id of a generation, which is made when it is new. The first of a store serves at once."""
    key = generation_key(generation)
    with pool.writing(SHARED) as transaction:
        transaction.send(
            sql["create_generation"],
            {
                "id": key, "provider": generation.provider, "model": generation.model,
                "dimensions": generation.dimensions, "version": generation.version,
                "made_at": time.time_ns() // 1000,
            },
        )  # fmt: skip
        transaction.send(sql["first_serves"], {"id": key})
    return key


def generations(pool: PostgresPool, sql: Mapping[str, str]) -> list[GenerationStats]:
    (rows,) = pool.ask(EVERYWHERE, (sql["generations"], None))
    return [
        GenerationStats(
            Generation(provider, model, dimensions, version), vectors, vectors * dimensions * FLOAT_BYTES, serving
        )
        for provider, model, dimensions, version, serving, vectors in rows
    ]


def drop_vectors(pool: PostgresPool, sql: Mapping[str, str], generation: Generation, limit: int) -> int:
    """Namespace by namespace, each in a transaction of its own."""
    key = generation_key(generation)
    serving, namespaces = pool.ask(EVERYWHERE, (sql["serving"], None), (sql["namespaces_with_vectors"], {"id": key}))
    if serving and serving[0][0] == key:
        raise Conflict(f"The vectors of {generation.name} answer, so they are not dropped.")
    dropped = 0
    for (packed,) in namespaces:
        if dropped >= limit:
            break
        namespace = UUID(bytes=packed)
        with pool.writing(namespace) as transaction:
            bindings = {"namespace": namespace, "id": key, "limit": limit - dropped}
            dropped += len(transaction.ask(sql["drop_vectors"], bindings))
    if dropped < limit:
        with pool.writing(SHARED) as transaction:
            transaction.send(sql["delete_generation"], {"id": key})
    return dropped


def write_calls(pool: PostgresPool, sql: Mapping[str, str], calls: Sequence[ProviderCall]) -> None:
    with pool.writing(SHARED) as transaction:
        for call in calls:
            row = (
                to_micros(call.at), uuid4(), call.provider, call.model, call.host, call.purpose, call.items,
                call.sent_bytes, call.received_bytes, call.input_tokens, call.output_tokens, call.cost, call.outcome,
            )  # fmt: skip
            transaction.send(sql["put_call"], row)
        newest = max(call.at for call in calls)
        transaction.send(sql["prune_calls"], {"earliest": to_micros(newest - _CALLS_KEPT)})


def calls(pool: PostgresPool, sql: Mapping[str, str], since: int, limit: int | None) -> list[ProviderCall]:
    (rows,) = pool.ask(EVERYWHERE, (sql["calls"], {"since": since, "limit": limit}))
    return decode_calls(rows)


def parked_columns(parked: Parked) -> dict[str, Any]:
    """As it is kept: a model may say anything."""
    texts = {name: storable(getattr(parked, name)) for name in ("purpose", "model", "error", "output")}
    return {**texts, "number": parked.memory or 0, "attempts": parked.attempts, "at": to_micros(parked.at)}


def parked(pool: PostgresPool, sql: Mapping[str, str], namespace: UUID, name: str) -> list[Parked]:
    (rows,) = pool.ask(namespace, (sql["parked"], {"namespace": namespace}))
    return [
        Parked(
            id=id, namespace=name, purpose=purpose, memory=number or None, model=model, error=error, output=output,
            attempts=attempts, at=from_micros(at),
        )
        for id, purpose, number, model, error, output, attempts, at in rows
    ]  # fmt: skip
