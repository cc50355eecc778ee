"""Search inside the database, where it has pgvector: the rows that matter for one question, without an index of all.

The server compares every vector of a namespace, in half precision. Whoever asks gets the vectors themselves of what is
near, so that scores come out as from an index.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from perdure.embed.port import Generation
from perdure.ids import LEARNED_SESSION
from perdure.model import Filter
from perdure.store.capabilities import Chances
from perdure.store.port import IndexRow
from perdure.store.postgres.connection import NumberArray
from perdure.store.postgres.filters import conditions
from perdure.store.postgres.index_feed import index_row
from perdure.store.postgres.reader import PostgresReader, generation_key
from perdure.visibility import kind_of

# A vector of half precision holds no larger numbers.
_LARGEST: Final = 60_000.0
# So many times as many passages as are wanted are looked at before a filter: mostly enough pass.
_LOOKED_AT: Final = 4


def near_columns(vector: bytes, dimensions: int) -> dict[str, Any]:
    """What the server compares beside the vector itself; nothing for what half precision cannot hold."""
    fits = sum(map(abs, array("f", vector))) < _LARGEST
    return {"near": NumberArray(vector) if fits else None, "dimensions": dimensions}


class PostgresSearch(PostgresReader):
    """A reader whose statements are those of nearest.sql as well."""

    def totals(self) -> tuple[int, int]:
        own = self._own()
        return own.documents, own.words

    def nearest(
        self, generation: Generation, question: bytes, chances: Chances, filter: Filter, now: datetime, limit: int
    ) -> list[int]:
        where, bindings = conditions(self._sql, filter, now)
        sql = f"{self._sql['nearest']} {where} {self._sql['nearest_first']}"
        asked = {
            **self._bindings, **bindings, "generation": generation_key(generation), "question": NumberArray(question),
            "cost": chances.cost, "chances": chances.most, "limit": limit,
        }  # fmt: skip
        looked_at = _LOOKED_AT * limit
        rows = self._transaction.ask(sql, {**asked, "looked_at": looked_at}, prepare=False)
        if len(rows) < limit and self._own().documents > looked_at:
            rows = self._transaction.ask(sql, {**asked, "looked_at": None}, prepare=False)
        return [number for (number,) in rows]

    def not_compared(self, generation: Generation, limit: int) -> list[int]:
        rows = self._ask("without_near", generation=generation_key(generation), limit=limit)
        return [number for (number,) in rows]

    def waiting(self, generation: Generation, hidden: Sequence[str]) -> tuple[int, int]:
        ((count,),) = self._ask_about("count_without_vector", generation)
        keys = self._ask_about("without_vector", generation) if count else ()
        kinds = [kind_of(key) if key else None for (key,) in keys]
        return self._own().documents - len(kinds), sum(kind not in hidden for kind in kinds)

    def speakers(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for number, said in self._ask("speakers", learned=LEARNED_SESSION):
            with suppress(ValueError):
                found.append((number, "" if said is None else str(json.loads(said))))
        return found

    def around(self, numbers: Sequence[int], reach: int, *, facts: bool) -> list[int]:
        asked: Mapping[str, Any] = {**self._bindings, "numbers": list(numbers), "learned": LEARNED_SESSION}
        questions = [(self._sql["around"], {**asked, "reach": reach})]
        questions += [(self._sql["facts_of"], asked)] if facts else []
        return [number for rows in self._transaction.ask_all(questions) for (number,) in rows]

    def most_observed(self) -> list[int]:
        return [number for (number,) in self._ask("most_observed")]

    def index_rows_of(self, numbers: Sequence[int], generation: Generation) -> list[IndexRow]:
        sql = " ".join(self._sql[part] for part in ("index_numbers", "index_columns", "index_rows_of"))
        rows = self._transaction.ask(sql, {**self._bindings, "numbers": list(numbers)}, prepare=False)
        passages = list({row[-4] for row in rows})
        found = dict(self._ask("vectors_of_passages", generation=generation_key(generation), passages=passages))
        return [index_row((number, terms, found.get(columns[-4]), *columns)) for number, terms, *columns in rows]

    def taken(self, generation: Generation, step: int, wide_step: int) -> list[tuple[int, bytes]]:
        rows = self._ask("taken", generation=generation_key(generation), step=step, wide_step=wide_step)
        return [(place, data) for place, data in rows]

    def _ask_about(self, name: str, generation: Generation) -> list[tuple[Any, ...]]:
        return self._ask(name, generation=generation_key(generation))
