"""The learnings that a session starts with: what was asked, weighed and chosen, and counted as no use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure.model import LEARNING_CATEGORIES, Recall
from perdure.recall.query import check_request

if TYPE_CHECKING:
    from perdure.services import Services


@dataclass(frozen=True, slots=True)
class LearningsFound:
    """`total` is how many learnings there are. `model` embedded the question, if it was embedded."""

    recall: Recall
    total: int
    model: str | None


def find_learnings(
    services: Services, query: str | None, namespaces: Sequence[str], limit: int, recipe: str
) -> LearningsFound:
    filters = {"category": LEARNING_CATEGORIES}
    request = check_request(
        services, namespaces[0], query, filters, limit=limit, namespaces=namespaces, recipe=recipe
    )  # fmt: skip
    recall = services.recaller().recall(request)
    total = 0
    for name in request.namespaces:
        with services.store.read(name) as reader:
            total += len(reader.numbers(request.filter))
    generation = services.embedders.current().generation if recall.mode in {"hybrid", "vector"} else None
    return LearningsFound(recall, total, generation.model if generation else None)
