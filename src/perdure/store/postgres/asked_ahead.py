"""What a write transaction says together: the questions it will ask, with its beginning, in one trip to the server for
all; and the rows that it puts, several in one statement.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from perdure.store.postgres.connection import Bindings, Row
from perdure.store.postgres.pool import Question, Transaction

_Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]


# What an answer is about: the number, key or text of a memory, an idempotency key, or a tombstone.
Subject: TypeAlias = tuple[str, Any]
_SUBJECTS: Final = ("number", "key", "content_hash", "request", "digests")


# Rows in one statement. Other numbers of rows go one by one, so that there are only two statements to prepare.
ROWS_TOGETHER: Final = 16
_ROW: Final = re.compile(r"(?<=VALUES )\((?:\s*%(?:\(\w+\))?s,?)+\s*\)")
_PLACE: Final = re.compile(r"%(?:\((\w+)\))?s")


class Together(NamedTuple):
    """One question instead of many. `answer` picks the answer to one of them from the rows for all."""

    question: Question
    parts: Sequence[Question]
    answer: Callable[[Question, list[Row]], list[Row]]


class AskedAhead:
    """A transaction that knows some answers already. Each is true until the transaction changes what it is about, which
    `forget` tells. Rows that are `put` are sent before whatever else is said, and `send_rows` sends them at the end.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.schema = transaction.schema
        self._answers: dict[_Key, list[Row]] = {}
        self._about: dict[Subject, list[_Key]] = {}
        self._rows: dict[str, dict[Hashable, Row]] = {}

    def put(self, sql: str, key: Hashable, bindings: Bindings) -> None:
        """A row for the statement, which puts rows by VALUES. `key` is what no two rows of one statement may share."""
        rows = self._rows.setdefault(sql, {})
        if key in rows or len(rows) == ROWS_TOGETHER:
            self.send_rows()
            rows = self._rows.setdefault(sql, {})
        rows[key] = _row(sql, bindings)

    def send_rows(self) -> None:
        waiting, self._rows = self._rows, {}
        for sql, rows in waiting.items():
            if len(rows) == ROWS_TOGETHER:
                together = [value for row in rows.values() for value in row]
                self._transaction.send_numbered(_of_rows(sql, ROWS_TOGETHER), together)
            else:
                for row in rows.values():
                    self._transaction.send_numbered(_of_rows(sql, 1), row)

    def look_ahead(
        self, first: Question, others: Sequence[Question], memories: str, together: Sequence[Together] = ()
    ) -> list[Row]:
        """The answer to the first question; those to the others are kept. Statements that begin with `memories` answer
        with rows of memories, which begin with a number.
        """
        answer, *answers = self._transaction.ask_all([first, *others, *(each.question for each in together)])
        self._answers, self._about = {}, {}
        for question, rows in zip(others, answers[: len(others)], strict=True):
            self._keep(question, rows, memories)
        for each, rows in zip(together, answers[len(others) :], strict=True):
            for question in each.parts:
                self._keep(question, each.answer(question, rows), memories)
        return answer

    def _keep(self, question: Question, rows: list[Row], memories: str) -> None:
        key = _key(*question)
        self._answers[key] = rows
        subjects = [part for part in key[1] if part[0] in _SUBJECTS]
        if key[0].startswith(memories):
            subjects += (("number", row[0]) for row in rows)
        for subject in subjects:
            self._about.setdefault(subject, []).append(key)

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
        self.send_rows()
        return self._transaction.ask(sql, bindings, prepare=prepare)

    def ask_all(self, questions: Sequence[Question], *, prepare: bool | None = None) -> list[list[Row]]:
        self.send_rows()
        return self._transaction.ask_all(questions, prepare=prepare)

    def send(self, sql: str, bindings: Bindings = None, *, prepare: bool | None = None) -> None:
        self.send_rows()
        self._transaction.send(sql, bindings, prepare=prepare)


@lru_cache
def _names(sql: str) -> tuple[str, ...]:
    """Of the values of a row, in their order, where the statement has names for them."""
    row = _ROW.search(sql)
    return tuple(_PLACE.findall(row[0])) if row else ()


def _row(sql: str, bindings: Bindings) -> Row:
    return tuple(bindings[name] for name in _names(sql)) if isinstance(bindings, Mapping) else tuple(bindings or ())


@lru_cache
def _of_rows(sql: str, count: int) -> str:
    """The statement for several rows, whose values have numbers instead of names."""
    numbers = itertools.count(1)

    def rows(found: re.Match[str]) -> str:
        return ", ".join(_PLACE.sub(lambda _: f"${next(numbers)}", found[0]) for _ in range(count))

    return _ROW.sub(rows, sql)


def _key(sql: str, bindings: Bindings) -> _Key:
    if not isinstance(bindings, Mapping):
        return sql, ()
    return sql, tuple((name, _hashable(bindings[name])) for name in sorted(bindings))


def _hashable(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
