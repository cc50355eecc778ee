"""The statements of queries.sql and setup.sql, by name, for one schema of a database."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perdure.store.queries import load_queries

DEFAULT_SCHEMA: Final = "perdure"
_FOLDER: Final = Path(__file__).parent
# Before the name of a table. The settings of the policies begin so as well, in quotation marks, and keep their names.
_QUALIFIER: Final = f"{DEFAULT_SCHEMA}."
_EXTENSION: Final = "pgvector."
_QUOTED: Final = f"'{_QUALIFIER}"
_KEPT: Final = "'\0"


def quoted_name(name: str) -> str:
    """As SQL takes it for a name and nothing else."""
    return '"' + name.replace('"', '""') + '"'


def in_schema(sql: str, schema: str) -> str:
    """The same statement for the tables of another schema."""
    if schema == DEFAULT_SCHEMA:
        return sql
    kept = sql.replace(_QUOTED, _KEPT).replace(
        f"SCHEMA IF NOT EXISTS {DEFAULT_SCHEMA}", f"SCHEMA IF NOT EXISTS {quoted_name(schema)}"
    )
    kept = kept.replace(f"SCHEMA {DEFAULT_SCHEMA} ", f"SCHEMA {quoted_name(schema)} ")
    return kept.replace(_QUALIFIER, f"{quoted_name(schema)}.").replace(_KEPT, _QUOTED)


@lru_cache
def _queries(file: str, schema: str) -> Mapping[str, str]:
    return MappingProxyType({name: in_schema(sql, schema) for name, sql in load_queries(_FOLDER / file).items()})


def queries(schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    return _queries("queries.sql", schema)


def nearest_queries(schema: str, extension: str) -> Mapping[str, str]:
    """For a database with pgvector, which is in the schema `extension`."""
    return with_type_schema(_queries("nearest.sql", schema), extension)


def with_type_schema(statements: Mapping[str, str], extension: str) -> Mapping[str, str]:
    return {name: sql.replace(_EXTENSION, f"{quoted_name(extension)}.") for name, sql in statements.items()}


def setup_queries(schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    return _queries("setup.sql", schema)


def doctor_queries(schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    return _queries("doctor/checks.sql", schema)


def token_queries(schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    return _queries("tokens.sql", schema)


def transfer_queries(schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    return _queries("transfer.sql", schema)
