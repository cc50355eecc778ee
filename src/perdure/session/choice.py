"""Which learnings a session starts with: how many is decided by how well they fit, their order by S1's score."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.recall.fitting import LEAST_AT_START, MOST_UNASKED, best_of, fitting_learnings, is_of, learnings_by_words
from perdure.values import value_class

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Compared, Hit, Record
    from perdure.recall.learnings import AskedVectors
    from perdure.session.configuration import SessionConfiguration
    from perdure.session.privacy import Place

# So many that fit are compared; S1's order chooses among more.
_MOST_COMPARED: Final = 100


@value_class
class ChosenLearnings:
    """The learnings in the order in which they count, how many there are in all, and how they were found."""

    hits: list[Hit]
    total: int
    model: str | None
    compared: Compared
    notes: tuple[str, ...]


def choose_learnings(
    memory: Memory,
    place: Place,
    configuration: SessionConfiguration,
    query: str | None,
    asked: AskedVectors,
    told_always: frozenset[str],
) -> ChosenLearnings:
    """What fits the question; without one, or where nobody can compare it, the few that matter most here. While some
    have no vector yet, which only their words could find, places that stay free go to the most prominent ones of the
    project. `told_always` are ids of what the session is told in any case.
    """
    project, limit = place.told_in, configuration.limit
    ask = partial(
        memory.learnings, limit=_MOST_COMPARED, namespaces=place.read_namespaces, recipe=configuration.recipe,
        told_in=project,
    )  # fmt: skip

    def is_own(record: Record) -> bool:
        return is_of(record, project) or (place.private and record.namespace == place.namespace)

    def untold(hits: Iterable[Hit]) -> list[Hit]:
        return [hit for hit in hits if hit.record.id not in told_always]

    found = ask(query, asked=asked, min_relevance=0.0 if query is None else LEAST_AT_START)
    recall = found.recall

    def prominent() -> list[Hit]:
        names = [name[1:] for name in project if name.startswith("/")]
        every = {hit.record.id: hit for hit in (recall if query is None else ask(None).recall)}
        if len(every) >= _MOST_COMPARED:
            # There are more: those of the project may stand behind.
            every = {hit.record.id: hit for name in names for hit in ask(None, project=name).recall} | every
        # Those of no project are told as well, and those that the files of this one say, too.
        own = [hit for hit in untold(every.values()) if is_own(hit.record)]
        return sorted(own, key=lambda hit: (-hit.score, hit.record.source_project not in names))

    if query is None:
        hits: list[Hit] = []
    elif recall.compared.by_meaning:
        hits = fitting_learnings(untold(recall), is_own, limit)
    else:
        # Where meanings were to be compared and could not be, what has few words in common was left out.
        by_words = ask(query, asked=asked).recall if recall.min_relevance else recall
        hits = learnings_by_words(untold(by_words), is_own, limit)
    if found.waiting or query is None or not (hits or recall.compared.by_meaning):
        known = {hit.record.id for hit in hits}
        free = limit - len(hits) if found.waiting else min(limit, MOST_UNASKED)
        hits += best_of([hit for hit in prominent() if hit.record.id not in known], free)
    return ChosenLearnings(hits, found.total, found.model, recall.compared, recall.notes)
