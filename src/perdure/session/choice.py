"""Which learnings a session starts with: how many is decided by how well they fit, their order by S1's score."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.model import MIN_RELEVANCE
from perdure.recall.fitting import MOST_UNASKED, best_of, fitting_learnings, is_of, learnings_by_words
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

    def prominent() -> list[Hit]:
        names = [name[1:] for name in project if name.startswith("/")]
        of_project = [hit for name in names for hit in ask(None, project=name).recall]
        # Those of no project are told as well, and those that the files of this one say, too.
        every = {hit.record.id: hit for hit in (*of_project, *ask(None).recall)}
        own = [hit for hit in every.values() if is_own(hit.record) and hit.record.id not in told_always]
        return sorted(own, key=lambda hit: -hit.score)

    found = ask(query, asked=asked, min_relevance=0.0 if query is None else MIN_RELEVANCE)
    recall = found.recall
    fits = [hit for hit in recall if hit.record.id not in told_always]
    hits = [] if query is None else fitting_learnings(fits, is_own, limit)
    if query is not None and not recall.compared.by_meaning:
        by_words = [hit for hit in ask(query, asked=asked).recall if hit.record.id not in told_always]
        hits = learnings_by_words(by_words, is_own, limit)
    if found.waiting or query is None or not (hits or recall.compared.by_meaning):
        known = {hit.record.id for hit in hits}
        free = limit - len(hits) if found.waiting else min(limit, MOST_UNASKED)
        hits += best_of([hit for hit in prominent() if hit.record.id not in known], free)
    return ChosenLearnings(hits, found.total, found.model, recall.compared, recall.notes)
