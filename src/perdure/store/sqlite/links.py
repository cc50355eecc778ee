"""Links between memories, and from memories to what they came from."""

from __future__ import annotations

from perdure.clock import from_micros, to_micros
from perdure.errors import InvalidInput
from perdure.ids import MemoryId
from perdure.store.port import LINK_KINDS, Link
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.rows import pack_id, pack_name, unpack_id, unpack_name
from perdure.store.sqlite.sql import SQL


def put_link(connection: Database, namespace: int, link: Link) -> None:
    if link.kind not in LINK_KINDS:
        raise InvalidInput(f"There is no kind of link called {link.kind!r:.40}.")
    row = (namespace, pack_id(link.source), link.kind, pack_name(link.target), to_micros(link.at))
    connection.execute(SQL["put_link"], row)


def links(connection: Database, namespace: int, memory: MemoryId) -> list[Link]:
    rows = connection.execute(SQL["links"], (namespace, pack_id(memory)))
    return [Link(unpack_id(source), kind, unpack_name(target), from_micros(at)) for source, kind, target, at in rows]
