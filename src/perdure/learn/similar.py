"""The stored memories that a memory may be merged with, nearest first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.embed.port import Generation, whole_vector
from perdure.ids import KINDS
from perdure.learn.joined import may_join
from perdure.lifecycle.write import Plan, PreparedWrite, prepare
from perdure.model import Filter, Record
from perdure.recall.query import check_request, parse_query
from perdure.text.entry import passage_hash
from perdure.text.words import query_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.services import Services
    from perdure.store.port import Reader

# Words and meaning, fused by rank as S4 has it.
RECIPE: Final = "facts"
# How many memories a search looks at: most of them may be kept apart by their scope or their key.
_LOOKED_AT: Final = 16


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not stored yet, and what storing it takes."""

    plan: Plan
    prepared: PreparedWrite

    @property
    def record(self) -> Record:
        return self.plan.record

    @property
    def vector(self) -> NDArray[np.float32] | None:
        prepared = self.prepared
        if prepared.vector is None or prepared.generation is None:
            return None
        return unpacked(prepared.vector, prepared.generation)


def draft_of(services: Services, plan: Plan, earlier: Draft | None = None) -> Draft:
    """With the vector of its text; that of an earlier draft of the same text is used again."""
    same = earlier is not None and passage_hash(earlier.record) == passage_hash(plan.record)
    return Draft(plan, prepare(services, plan, earlier.prepared if earlier and same else None))


class Similar(NamedTuple):
    """A stored memory, and how near it is; None where no vector tells."""

    record: Record
    cosine: float | None
    vector: NDArray[np.float32] | None


def unpacked(vector: bytes, generation: Generation) -> NDArray[np.float32]:
    """The vector of a memory as a whole: what is merged must be the same in every part."""
    import numpy as np

    return whole_vector(np.frombuffer(vector, "<f4").reshape(-1, generation.dimensions))


def similar_memories(services: Services, draft: Draft, excluded: Collection[int] = ()) -> list[Similar]:
    """What may be merged with a draft, by cosine, best first; what has none comes last, in the order of recall. One
    search, which embeds nothing: the vector of the draft is known.
    """
    record, vector, generation = draft.record, draft.vector, draft.prepared.generation
    words = " ".join(query_words(record.text)) or record.text
    limit = _LOOKED_AT + len(excluded)
    request = check_request(services, record.namespace, words, {}, limit=limit, recipe=RECIPE)
    filter = Filter(conversation_id=record.conversation_id, hidden=KINDS)
    request = replace(request, filter=filter, min_relevance=0.0)
    if vector is not None and generation is not None:
        services.recaller().keep_vector(generation, parse_query(request).text, vector)
    hits = services.recaller().recall(request)
    found = [
        hit.record
        for hit in hits
        if hit.record.number not in excluded and may_join(hit.record, record) and may_absorb(services, hit.record)
    ]
    with services.store.read(record.namespace) as reader:
        vectors = vectors_of(reader, found, generation if vector is not None else None)
    similar = [
        Similar(each, None if stored is None or vector is None else float(vector @ stored), stored)
        for each, stored in zip(found, vectors, strict=True)
    ]
    return sorted(similar, key=lambda each: -2.0 if each.cosine is None else each.cosine, reverse=True)


def vectors_of(
    reader: Reader, records: Collection[Record], generation: Generation | None
) -> list[NDArray[np.float32] | None]:
    """The stored vector of each memory, if it has one of this generation."""
    if generation is None:
        return [None for _ in records]
    hashes = [passage_hash(record) for record in records]
    stored = reader.passage_vectors(generation, hashes)
    return [unpacked(stored[each], generation) if each in stored else None for each in hashes]


def may_absorb(services: Services, record: Record) -> bool:
    """A model leaves alone what eviction has to leave alone; a person may merge it."""
    return services.context.is_person or record.importance < services.settings.importance_high
