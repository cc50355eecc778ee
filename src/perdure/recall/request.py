"""From what a caller asked to one checked `SearchRequest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from perdure.clock import parse_time
from perdure.errors import UnknownChoice
from perdure.recall.query import SearchRequest
from perdure.validation import (
    check_bool,
    check_concepts,
    check_indexed_filters,
    check_int,
    check_namespaces,
    check_query,
    optional,
)

if TYPE_CHECKING:
    from perdure.services import Services

MAX_LIMIT: Final = 100


def check_request(  # noqa: PLR0913 - one for each thing a caller may decide
    services: Services,
    namespace: str,
    query: str | None,
    filters: Mapping[str, Any],
    *,
    concepts: Sequence[str] | None,
    limit: int,
    namespaces: Sequence[str] | None,
    recipe: str | None,
    as_of: datetime | str | None,
    known_at: datetime | str | None,
    use_decay: bool | None = None,
) -> SearchRequest:
    """One search, complete: what the caller left out comes from the settings."""
    settings, now = services.settings, services.context.clock()
    true_at, known_by = optional(parse_time, as_of, "as_of"), optional(parse_time, known_at, "known_at")
    chosen = services.recipe(recipe or None)
    if use_decay is not None and check_bool(use_decay, "use_decay") and not chosen.fades:
        raise UnknownChoice(
            f"The recipe {chosen.name} knows no decay.", remedy="Ask with recipe='tiered', or leave use_decay out."
        )
    return SearchRequest(
        query=None if query is None else check_query(query),
        concepts=check_concepts(concepts),
        limit=check_int(limit, "limit", 1, MAX_LIMIT),
        namespaces=(namespace,) if namespaces is None else tuple(dict.fromkeys(check_namespaces(namespaces))),
        recipe=chosen,
        filter=check_indexed_filters(
            filters, settings.categories, true_at or known_by or now, "Recall does not look into memories"
        ),
        as_of=true_at,
        known_at=known_by,
        use_decay=settings.decay if use_decay is None else use_decay,
        decay_exempt=settings.decay_exempt,
        now=now,
    )
