"""Questions that a write transaction will ask, asked together with its beginning: one trip to the server for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from perdure.store.postgres.connection import Bindings, Row
from perdure.store.postgres.pool import Question, Transaction

_Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]


class AskedAhead:
    """A transaction that knows some answers already. They are true while its own changes do not touch them: `forget`
    says when that ends.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.schema = transaction.schema
        self._answers: dict[_Key, list[Row]] = {}

    def look_ahead(self, first: Question, others: Sequence[Question]) -> list[Row]:
        """The answer to the first question; those to the others are kept."""
        answer, *answers = self._transaction.ask_all([first, *others])
        self._answers = {_key(*question): rows for question, rows in zip(others, answers, strict=True)}
        return answer

    def forget(self, statement: str | None = None) -> None:
        """All answers, or those of one statement."""
        if self._answers:
            keep = (
                {} if statement is None else {key: rows for key, rows in self._answers.items() if key[0] != statement}
            )
            self._answers = keep

    def forget_all_but(self, statement: str) -> None:
        if self._answers:
            self._answers = {key: rows for key, rows in self._answers.items() if key[0] == statement}

    def ask(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> list[Row]:
        if self._answers and (rows := self._answers.get(_key(sql, bindings))) is not None:
            return rows
        return self._transaction.ask(sql, bindings, prepare=prepare)

    def ask_all(self, questions: Sequence[Question], *, prepare: bool | None = None) -> list[list[Row]]:
        return self._transaction.ask_all(questions, prepare=prepare)

    def send(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> None:
        self._transaction.send(sql, bindings, prepare=prepare)


def _key(sql: str, bindings: Bindings) -> _Key:
    if not isinstance(bindings, Mapping):
        return sql, ()
    return sql, tuple((name, _hashable(bindings[name])) for name in sorted(bindings))


def _hashable(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
