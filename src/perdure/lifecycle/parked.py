"""What language models said that could not be used: to look at it, to ask again, to throw it away.

Who asks a model parks what it cannot use by `Store.park`, under the purpose of its question, and has a function that
asks such a question again: those of this room are in `_RETRIES`, others are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from perdure.errors import NotFound, ProviderUnavailable
from perdure.ids import MAX_NUMBER
from perdure.lifecycle import keyword_work
from perdure.llm.port import Parked
from perdure.model import ParkedRetry
from perdure.remedies import Remedy, Run
from perdure.validation import check_int

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services

# By purpose: asks again, and takes away or replaces what is parked. True when nothing of it is parked any more.
Retries: TypeAlias = Mapping[str, "Callable[[Services, Parked, WriteBatch], bool]"]
_RETRIES: Final[Retries] = {keyword_work.PURPOSE: keyword_work.retry}


def parked(services: Services, namespace: str) -> list[Parked]:
    """Oldest first."""
    return services.store.parked(namespace)


def retry(
    services: Services, namespace: str, ids: Sequence[int] | None = None, others: Retries = _RETRIES
) -> ParkedRetry:
    """Ask again, one question after the other; None: all of them. When a model cannot be asked, what is left waits.
    What the answers change is one batch.
    """
    batch = replace(services.context, surface="work", is_person=False).batch()
    answered: list[int] = []
    still_parked: list[int] = []
    notes: list[str] = []
    waiting = _chosen(services, namespace, ids)
    for position, item in enumerate(waiting):
        again = _RETRIES.get(item.purpose) or others.get(item.purpose)
        if again is None:
            still_parked.append(item.id)
            notes.append(f"This version of Perdure does not ask for {item.purpose!r}; {item.id} stays parked.")
            continue
        try:
            (answered if again(services, item, batch) else still_parked).append(item.id)
        except ProviderUnavailable as error:
            still_parked += [left.id for left in waiting[position:]]
            notes.append(error.note)
            break
    return ParkedRetry(tuple(answered), tuple(still_parked), batch.id if answered else None, tuple(notes))


def discard(services: Services, namespace: str, ids: Sequence[int] | None = None) -> tuple[int, ...]:
    """Throw away; None: everything that is parked here. Memories stay as they are."""
    chosen = _chosen(services, namespace, ids)
    return tuple(item.id for item in chosen if services.store.unpark(namespace, item.id))


def _chosen(services: Services, namespace: str, ids: Sequence[int] | None) -> list[Parked]:
    here = services.store.parked(namespace)
    if ids is None:
        return here
    by_id = {item.id: item for item in here}
    for id in ids:
        check_int(id, "id", 1, MAX_NUMBER)
        if id not in by_id:
            raise NotFound(
                f"Nothing is parked under {id} in {namespace}.",
                remedy=Remedy(Run("parked"), " lists what is parked."),
            )
    return [by_id[id] for id in dict.fromkeys(ids)]
