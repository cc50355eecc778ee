"""What a shell offers to complete a word with: names that the store in force holds. Without a store, or with one that
is elsewhere, nothing: a key press waits for no network, and a completion never complains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import click

    from perdure.memory import Memory
    from perdure.model import Record

Complete: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[str]]"

_PAGES: Final = 5
_PAGE: Final = 100


def _from_store(names: Callable[[Memory], Iterable[str]]) -> Complete:
    def complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        try:
            from perdure.memory import Memory
            from perdure.settings import load

            store, chosen = ctx.params.get("store"), ctx.params.get("namespaces") or (None,)
            if load(store=store).store.kind != "file":
                return []
            with Memory(store, namespace=chosen[0], embedder="none", create=False) as memory:
                return sorted({name for name in names(memory) if name.startswith(incomplete)})
        except Exception:  # noqa: BLE001 - whatever it is, a person who types has not asked for it
            return []

    return complete


def _newest(memory: Memory) -> Iterable[Record]:
    """Some hundred memories say what is in use, however many there are."""
    after: int | None = None
    for _ in range(_PAGES):
        page = memory.list(limit=_PAGE, after=after)
        yield from page
        if (after := page.next) is None:
            return


def recipes(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        from perdure.recall.recipe import RECIPES
        from perdure.settings import load

        known = [*RECIPES, *load(store=ctx.params.get("store")).recipes]
    except Exception:  # noqa: BLE001
        return []
    return [name for name in known if name.startswith(incomplete)]


namespaces: Final = _from_store(lambda memory: (each.name for each in memory.stats().namespaces))
tags: Final = _from_store(lambda memory: (tag for record in _newest(memory) for tag in record.tags))
keys: Final = _from_store(lambda memory: (record.key for record in _newest(memory) if record.key))
checkpoints: Final = _from_store(lambda memory: (each.name for each in memory.checkpoints()))
