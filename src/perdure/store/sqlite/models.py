"""What a store keeps about models: generations of vectors, calls of providers, and output that could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, cast

from perdure.clock import from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict
from perdure.llm.port import Parked
from perdure.providers.call import ProviderCall
from perdure.store.call_rows import decode_calls
from perdure.store.rows import FLOAT_BYTES, slot_of, storable
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.reader import NO_GENERATION, generation_id
from perdure.store.sqlite.sql import SQL
from perdure.store.stats import GenerationStats
from perdure.values import replace

_CALLS_KEPT: Final = timedelta(days=400)
_MOST_CALLS: Final = 200_000


def require_generation(connection: Database, generation: Generation) -> int:
    """The id of a generation, which is made when it is new. The first of a store serves at once."""
    generation_key = generation_id(connection, generation)
    if generation_key == NO_GENERATION:
        columns = (generation.name, generation.provider, generation.model, generation.dimensions, generation.version)
        generation_key = cast("int", connection.execute(SQL["create_generation"], columns).get)
        connection.execute(SQL["first_serves"], (generation_key,))
    return generation_key


def generations(connection: Database) -> list[GenerationStats]:
    return [
        GenerationStats(
            Generation(provider, model, dimensions, version), vectors, vectors * dimensions * FLOAT_BYTES, serving == 1
        )
        for provider, model, dimensions, version, serving, vectors in connection.execute(SQL["generations"])
    ]


def drop_vectors(connection: Database, generation: Generation, limit: int) -> int:
    generation_key = generation_id(connection, generation)
    if connection.execute(SQL["get_meta"], ("serving",)).get == generation_key:
        raise Conflict(f"The vectors of {generation.name} answer, so they are not dropped.")
    connection.execute(SQL["drop_vectors"], (generation_key, limit))
    dropped = connection.changes()
    if dropped < limit:
        connection.execute(SQL["delete_generation"], (generation_key,))
    return dropped


def write_calls(connection: Database, calls: Sequence[ProviderCall]) -> None:
    for call in calls:
        row = (
            to_micros(call.at), call.provider, call.model, call.host, call.purpose, call.items, call.sent_bytes,
            call.received_bytes, call.input_tokens, call.output_tokens, call.cost, call.outcome,
        )  # fmt: skip
        connection.execute(SQL["put_call"], row)
    newest = max(call.at for call in calls)
    connection.execute(SQL["prune_calls"], (to_micros(newest - _CALLS_KEPT), _MOST_CALLS))


def calls(connection: Database, since: int, limit: int) -> list[ProviderCall]:
    return decode_calls(connection.execute(SQL["calls"], (since, limit)))


def park(connection: Database, namespace: int, parked: Parked) -> Parked | None:
    """As it is kept, with its id."""
    texts = [storable(text) for text in (parked.purpose, parked.model, parked.error, parked.output)]
    slot = None if parked.memory is None else slot_of(namespace, parked.memory)
    row = (namespace, slot, *texts, parked.attempts, to_micros(parked.at))
    parked_id: int | None = connection.execute(SQL["park"], row).get
    purpose, model, error, output = texts
    kept = replace(parked, id=parked_id or 0, purpose=purpose, model=model, error=error, output=output)
    return None if parked_id is None else kept


def parked(connection: Database, namespace: int, name: str) -> list[Parked]:
    return [
        Parked(
            id=id, namespace=name, purpose=purpose, memory=memory, model=model, error=error, output=output,
            attempts=attempts, at=from_micros(at),
        )
        for id, purpose, memory, model, error, output, attempts, at in connection.execute(SQL["parked"], (namespace,))
    ]  # fmt: skip
