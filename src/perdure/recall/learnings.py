"""The learnings that a session starts with: what was asked, weighed and chosen, and counted as no use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from perdure.model import LEARNING_CATEGORIES, Recall
from perdure.recall.query import SearchRequest, check_request, parse_query

if TYPE_CHECKING:
    from perdure.embed.port import Generation
    from perdure.services import Services


class AskedVectors(Protocol):
    """Vectors of questions that were asked before, by the name of their model: a new process need not load it then."""

    def get(self, generation: str, question: str) -> bytes | None: ...

    def put(self, generation: str, question: str, vector: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class LearningsFound:
    """`total` is how many learnings there are. `model` embedded the question, if it was embedded."""

    recall: Recall
    total: int
    model: str | None


def find_learnings(
    services: Services,
    query: str | None,
    namespaces: Sequence[str],
    limit: int,
    recipe: str,
    asked: AskedVectors | None = None,
) -> LearningsFound:
    filters = {"category": LEARNING_CATEGORIES}
    request = check_request(services, namespaces[0], query, filters, limit=limit, namespaces=namespaces, recipe=recipe)
    generation = services.embedders.current().generation if query else None
    if asked is not None and generation is not None:
        recall = _with_known_vector(services, request, generation, asked)
    else:
        recall = services.recaller().recall(request)
    total = recall.compared.searched
    if not total:
        for name in request.namespaces:
            with services.store.read(name) as reader:
                total += len(reader.numbers(request.filter))
    by_meaning = recall.mode in {"hybrid", "vector"} and generation is not None
    return LearningsFound(recall, total, generation.model if generation and by_meaning else None)


def _with_known_vector(
    services: Services, request: SearchRequest, generation: Generation, asked: AskedVectors
) -> Recall:
    recaller, text = services.recaller(), parse_query(request).text
    known = asked.get(generation.name, text)
    if known is not None and len(known) == 4 * generation.dimensions:
        import numpy as np

        recaller.keep_vector(generation, text, np.frombuffer(known, np.float32))
        return recaller.recall(request)
    recall = recaller.recall(request)
    vector = recaller.vector_kept(generation, text)
    if vector is not None:
        asked.put(generation.name, text, vector.astype("<f4").tobytes())
    return recall
