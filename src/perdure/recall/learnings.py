"""The learnings that a session starts with: what was asked, weighed and chosen, and counted as no use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from perdure.model import LEARNING_CATEGORIES, Recall
from perdure.recall.query import SearchRequest, check_request, parse_query
from perdure.values import replace, value_class

if TYPE_CHECKING:
    from perdure.embed.port import Generation
    from perdure.services import Services


class AskedVectors(Protocol):
    """The vectors of questions that were asked before, by the name of their model, each with the cosines that learnings
    had with it: a new process need not load the model then, nor read their vectors.
    """

    def get(self, generation: str, question: str) -> bytes | None: ...

    def put(self, generation: str, question: str, content: bytes) -> None: ...


@value_class
class LearningsFound:
    """`total` is how many learnings there are. `model` embedded the question, if it was embedded. `waiting`: some
    learnings have no vector yet, and are found by their words alone.
    """

    recall: Recall
    total: int
    model: str | None
    waiting: bool = False


def find_learnings(  # noqa: PLR0913 - one for each thing a caller may decide
    services: Services,
    query: str | None,
    namespaces: Sequence[str],
    *,
    limit: int,
    recipe: str,
    asked: AskedVectors | None,
    told_in: tuple[str, ...],
    min_relevance: float,
    project: str | None,
) -> LearningsFound:
    filters = {"category": LEARNING_CATEGORIES}
    request = check_request(
        services, namespaces[0], query, filters, limit=limit, namespaces=namespaces, recipe=recipe,
        min_relevance=min_relevance,
    )  # fmt: skip
    every = replace(request.filter, told_in=told_in)
    generation = services.embedders.current().generation if query else None
    # Words alone say too little of how well a learning fits.
    least = 0.0 if generation is None else min_relevance
    own = replace(every, source_project=project)
    request = replace(request, filter=own, is_question=False, min_relevance=least)
    if asked is not None and generation is not None:
        recall = _ask_again(services, request, generation, asked)
    else:
        recall = services.recaller().recall(request)
    total = recall.compared.searched
    if not total:
        for name in request.namespaces:
            with services.store.read(name) as reader:
                total += len(reader.numbers(every))
    by_meaning = recall.mode in {"hybrid", "vector"} and generation is not None
    from perdure.recall.recaller import NO_VECTORS, WAITING

    waiting = any(note == NO_VECTORS or note.startswith(WAITING.partition("{")[0]) for note in recall.notes)
    return LearningsFound(recall, total, generation.model if generation and by_meaning else None, waiting)


def _ask_again(services: Services, request: SearchRequest, generation: Generation, asked: AskedVectors) -> Recall:
    """Recall, with what is known of the question; what is new about it is kept."""
    recaller, text, size = services.recaller(), parse_query(request).text, 4 * generation.dimensions
    content, known, in_files = asked.get(generation.name, text) or b"", None, recaller.reads_files(request, generation)
    if len(content) < size:
        # Half of what loading a model takes needs no interpreter: it goes on while the learnings are read.
        load: Callable[[], None] | None = getattr(services.embedders.current().embedder, "load_beside", None)
        if load is not None:
            load()
    else:
        import numpy as np

        from perdure.recall.known_cosines import KnownCosines

        vector = np.frombuffer(content[:size], "<f4")
        recaller.keep_vector(generation, text, vector)
        # How near unrelated texts are is told from the vectors, where nobody has measured it.
        if len(content) > size and not in_files and services.embedders.current().unrelated is not None:
            known = KnownCosines(vector, generation, content[size:])
            recaller.keep_cosines(request, text, known, generation)
    recall = recaller.recall(request)
    vector = recaller.vector_kept(generation, text)
    if vector is not None and (known is None or known.has_new):
        from perdure.recall.known_cosines import pack

        pairs = [pack(*found) for found in recaller.cosines(request, vector)]
        found = b"".join([vector.astype("<f4").tobytes(), *pairs])
        if found != content:
            asked.put(generation.name, text, found)
    return recall
