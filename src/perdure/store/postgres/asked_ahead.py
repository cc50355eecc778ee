"""Questions that a write transaction will ask, asked together with its beginning: one trip to the server for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from perdure.store.postgres.connection import Bindings, Row
from perdure.store.postgres.pool import Question, Transaction

_Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]


# What an answer is about: the number, key or text of a memory, an idempotency key, or a tombstone.
Subject: TypeAlias = tuple[str, Any]
_SUBJECTS: Final = ("number", "key", "content_hash", "request", "digests")


class AskedAhead:
    """A transaction that knows some answers already. Each is true until the transaction changes what it is about, which
    `forget` tells.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.schema = transaction.schema
        self._answers: dict[_Key, list[Row]] = {}
        self._about: dict[Subject, list[_Key]] = {}

    def look_ahead(self, first: Question, others: Sequence[Question], memories: str) -> list[Row]:
        """The answer to the first question; those to the others are kept. Statements that begin with `memories` answer
        with rows of memories, which begin with a number.
        """
        answer, *answers = self._transaction.ask_all([first, *others])
        self._answers, self._about = {}, {}
        for question, rows in zip(others, answers, strict=True):
            key = _key(*question)
            self._answers[key] = rows
            subjects = [part for part in key[1] if part[0] in _SUBJECTS]
            if key[0].startswith(memories):
                subjects += (("number", row[0]) for row in rows)
            for subject in subjects:
                self._about.setdefault(subject, []).append(key)
        return answer

    def forget(self, *subjects: Subject) -> None:
        if self._answers:
            for subject in subjects:
                for key in self._about.get(subject, ()):
                    self._answers.pop(key, None)

    def forget_tombstones(self) -> None:
        if self._answers:
            self.forget(*(subject for subject in self._about if subject[0] == "digests"))

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
