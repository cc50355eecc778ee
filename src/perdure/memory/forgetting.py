"""The verbs that take a memory away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

from perdure.errors import UnknownChoice, shown
from perdure.memory.core import Core, Reference
from perdure.model import INDEXED_STATES, Filter, Forgotten, Record
from perdure.validation import Filters, check_bool, check_filters

if TYPE_CHECKING:
    from perdure.lifecycle.selection import SelectionScope

_SUGGESTED: Final = 5


class Forgetting(Core):
    def forget(
        self,
        what: Reference | Sequence[Reference] | None = None,
        *,
        mode: Literal["soft", "hard"] = "soft",
        confirm: bool | str = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> Forgotten:
        """Forget memories: they leave every list and every search at once, and `restore` or `undo` brings them back.

        `what` is a reference, several of them, `oldest`, `least important`, `before:2026-03-14`, or a sentence such as
        "everything about the Osaka flat". Filters narrow it, or say alone what goes. Whatever a sentence finds, and
        more than one memory that a time or a filter finds, needs `confirm=True` or the token of a preview:
        `NeedsConfirmation.preview`, or what `dry_run` answers.
        """
        from perdure.lifecycle.forget import ForgetRequest, forget

        if mode == "hard":
            return self.erase(what, confirm=confirm, dry_run=dry_run, **filters)
        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use 'soft' or 'hard'.")
        check_bool(dry_run, "dry_run")
        scope = self._scope(filters, every_state=False)
        return self._suggesting(forget(scope, ForgetRequest(what, confirm, dry_run)), what, scope.filter)

    def erase(
        self,
        what: Reference | Sequence[Reference] | None = None,
        *,
        confirm: bool | str = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> Forgotten:
        """Erase memories for ever, with all their versions, from every file of the store. Nothing brings them back.

        `what` is as in `forget`, in whatever state the memories are. All but a single memory that is named needs
        `confirm`.
        """
        from perdure.lifecycle.erase import erase
        from perdure.lifecycle.forget import ForgetRequest

        check_bool(dry_run, "dry_run")
        scope = self._scope(filters, every_state=True)
        try:
            answer = erase(scope, ForgetRequest(what, confirm, dry_run))
        finally:
            self._services.drop(self._namespace)
        return self._suggesting(answer, what, scope.filter)

    def _scope(self, filters: Mapping[str, Any], *, every_state: bool) -> SelectionScope:
        from perdure.lifecycle.selection import SelectionScope

        services = self._services
        given = {name: value for name, value in filters.items() if value is not None}
        wanted = check_filters(given, services.settings.categories, services.context.clock()) if given else None
        if wanted is not None and "states" not in given:
            wanted = replace(wanted, states=())
        return SelectionScope(services, self._namespace, self._find, wanted, every_state)

    def _suggesting(self, answer: Forgotten, what: object, filter: Filter | None) -> Forgotten:
        """Nothing holds all the words: what recall would find may have been meant, and is left alone."""
        if answer.done:
            self._services.usage.flush_some()
        if answer.records or not isinstance(what, str):
            return answer
        found = (*answer.suggested, *self._suggestions(what, filter))
        return replace(answer, suggested=tuple({record.number: record for record in found}.values()))

    def _suggestions(self, what: str, filter: Filter | None) -> tuple[Record, ...]:
        from perdure.lifecycle.instruction import parse
        from perdure.recall.query import SearchRequest

        services = self._services
        now = services.context.clock()
        words = " ".join(parse(what, now, scoped=True).words)
        if not words:
            return ()
        states = tuple(state for state in INDEXED_STATES if not filter or not filter.states or state in filter.states)
        request = SearchRequest(
            query=words,
            namespaces=(self._namespace,),
            filter=replace(filter or Filter(), states=states or INDEXED_STATES),
            limit=_SUGGESTED,
            recipe=services.recipe(None),
            now=now,
        )
        found = services.recaller().recall(request)
        return tuple(hit.record for hit in found)
