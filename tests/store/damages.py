"""More than fifty kinds of damage, each done to a closed store behind its back, by what can be done about it."""

# ruff: noqa: S608 - all that stands in these statements are numbers from here

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import apsw
from store.behind import behind

from perdure.model import Record, replace_record
from perdure.store.doctor.chain import line_of
from perdure.store.hash_chain import digest_of, genesis, link
from perdure.store.rows import decode_row, encode_payload, encode_row
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.store.sqlite.sql import SQL
from perdure.text.entry import passage_hash

Way: TypeAlias = "str | Callable[[Any], object]"

# The row ids of the namespaces, as test_fifty_damages makes them: add a number, or a position in the log.
DEFAULT, WORK, HOME = 1 << 32, 2 << 32, 3 << 32

_NAN = struct.pack("<16f", *([0.1] * 15), float("nan"))
_HALF_ZERO = struct.pack("<16f", *([0.1] * 16)) + bytes(64)
_ENTRY = "terms, title, text, keywords, reasoning, tags, anchor, folder, tokens"
_WORDS = "title, text, keywords, reasoning, tags, anchor, folder"


@dataclass(frozen=True, slots=True)
class Damage:
    """SQL or a function of a connection, and the checks that must name what it did."""

    way: Way
    named: str

    @property
    def checks(self) -> set[str]:
        return set(self.named.split())

    def do(self, path: Path) -> None:
        with behind(path) as raw:
            raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            raw.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").fetchall()
            if isinstance(self.way, str):
                raw.execute(self.way).fetchall()
            else:
                self.way(raw)


def memory_row(record: Record, passage: bytes) -> tuple[Any, ...]:
    """A row of the first namespace, as the statement `put_memory` takes it."""
    return 1, *encode_row(record, DEFAULT + record.number, passage)


def consistent(number: int, **changes: Any) -> Callable[[Any], None]:
    """An edit of a memory by somebody who knows how to compute its checksum."""

    def edit(raw: Any) -> None:
        ((*row,),) = raw.execute(f"{SQL['select_memory']} {SQL['by_slot']}", (DEFAULT + number,)).fetchall()
        record = replace_record(decode_row(tuple(row), "default"), **changes)
        raw.execute(SQL["put_memory"], memory_row(record, passage_hash(record)))

    return edit


def strange_passage(raw: Any) -> None:
    ((*row,),) = raw.execute(f"{SQL['select_memory']} {SQL['by_slot']}", (DEFAULT + 2,)).fetchall()
    raw.execute(SQL["put_memory"], memory_row(decode_row(tuple(row), "default"), bytes(16)))


def intruder(raw: Any) -> None:
    """A memory that nobody wrote, sound in itself."""
    ((*row,),) = raw.execute(f"{SQL['select_memory']} {SQL['by_slot']}", (DEFAULT + 2,)).fetchall()
    record = replace_record(
        decode_row(tuple(row), "default"), number=77, id=f"{'0' * 8}-0000-7000-8000-{'0' * 12}", key=None
    )
    raw.execute(SQL["put_memory"], memory_row(record, passage_hash(record)))
    raw.execute(f"INSERT INTO entry SELECT {DEFAULT + 77}, {_ENTRY} FROM entry WHERE slot = {DEFAULT + 2}")


def rewritten(raw: Any) -> None:
    """A forger who changes a memory and what its line said, and computes the whole log anew to its end."""
    ((*row,),) = raw.execute(f"{SQL['select_memory']} {SQL['by_slot']}", (DEFAULT + 10,)).fetchall()
    record = replace_record(decode_row(tuple(row), "default"), importance=1.0)
    raw.execute(SQL["put_memory"], memory_row(record, passage_hash(record)))
    forged, head = encode_payload(record), genesis("default")
    for row in raw.execute(CHECKS["examine_revisions"], (1,)).fetchall():
        line, _, salt, _ = line_of(row)
        if line.seq == record.seq:
            raw.execute("UPDATE payload SET body = ? WHERE id = ?", (forged, DEFAULT + line.seq))
            line = line._replace(digest=digest_of(salt, forged.encode()))
        head = link(head, line)
        edited = (line.digest, head, line.seq)
        raw.execute("UPDATE revision SET digest = ?, hash = ? WHERE namespace = 1 AND seq = ?", edited)
    raw.execute("UPDATE namespace SET head = ? WHERE id = 1", (head,))


def last_line_with_all_its_traces(raw: Any) -> None:
    raw.execute(
        "DELETE FROM payload WHERE id = (SELECT 1 << 32 | seq FROM namespace WHERE id = 1);"
        " DELETE FROM memory WHERE namespace = 1 AND seq = (SELECT seq FROM namespace WHERE id = 1);"
        " DELETE FROM entry WHERE slot NOT IN (SELECT slot FROM memory);"
        " DELETE FROM tag WHERE slot NOT IN (SELECT slot FROM memory);"
        " DELETE FROM revision WHERE namespace = 1 AND seq = (SELECT seq FROM namespace WHERE id = 1);"
        " UPDATE namespace SET seq = seq - 1, number = number - 1 WHERE id = 1;"
        " UPDATE namespace SET head = (SELECT hash FROM revision WHERE namespace = 1 ORDER BY seq DESC) WHERE id = 1"
    ).fetchall()


# Everything here is brought back: the index, tags, counts and vectors from the records, the records from the log.
REPAIRED: dict[str, Damage] = {
    # Records.
    "the text of a memory was edited": Damage(f"UPDATE memory SET text = 'x' WHERE slot = {DEFAULT + 2}", "records"),
    "a text was edited by somebody who computed the checksum": Damage(consistent(2, text="poison"), "records"),
    "a state was edited by somebody who computed the checksum": Damage(consistent(2, state="deleted"), "history"),
    "a tier was edited by somebody who computed the checksum": Damage(consistent(2, tier="constitutional"), "history"),
    "an importance was edited by somebody who computed the checksum": Damage(consistent(3, importance=1.0), "history"),
    "a forgotten memory was made active again": Damage(consistent(6, state="active"), "history entries"),
    "an expiry was put off": Damage(consistent(4, expires_at=None, session_id="s"), "history"),
    "a key was edited": Damage(f"UPDATE memory SET key = 'another:key' WHERE slot = {DEFAULT + 3}", "records"),
    "two keys are swapped": Damage(
        f"UPDATE memory SET key = 'hold' WHERE slot = {DEFAULT + 3};"
        f" UPDATE memory SET key = 'fact:3' WHERE slot = {DEFAULT + 4};"
        f" UPDATE memory SET key = 'fact:4' WHERE slot = {DEFAULT + 3}",
        "records",
    ),
    "two ids are swapped": Damage(
        f"CREATE TEMP TABLE held AS SELECT slot, id FROM memory WHERE slot IN ({DEFAULT + 1}, {DEFAULT + 2});"
        f" UPDATE memory SET id = zeroblob(16) WHERE slot = {DEFAULT + 1};"
        f" UPDATE memory SET id = (SELECT id FROM held WHERE slot = {DEFAULT + 1}) WHERE slot = {DEFAULT + 2};"
        f" UPDATE memory SET id = (SELECT id FROM held WHERE slot = {DEFAULT + 2}) WHERE slot = {DEFAULT + 1}",
        "records",
    ),
    "two texts are swapped": Damage(
        f"UPDATE memory SET text = (SELECT other.text FROM memory AS other WHERE other.slot ="
        f" {2 * DEFAULT + 5} - memory.slot) WHERE slot IN ({DEFAULT + 2}, {DEFAULT + 3})",
        "records",
    ),
    "a checksum was edited": Damage(f"UPDATE memory SET checksum = 1 WHERE slot = {DEFAULT + 2}", "records"),
    "a passage's hash was edited by somebody who computed the checksum": Damage(strange_passage, "records"),
    "a memory was filed under another namespace": Damage(
        f"UPDATE memory SET namespace = 2 WHERE slot = {DEFAULT + 2}", "records"
    ),
    "a text is no text any more": Damage(
        f"UPDATE memory SET text = CAST(x'ff' AS TEXT) WHERE slot = {DEFAULT + 2}", "records"
    ),
    "a memory is missing": Damage(f"DELETE FROM memory WHERE slot = {DEFAULT + 2}", "records"),
    "a whole namespace of memories is missing": Damage(
        "DELETE FROM memory WHERE namespace = 2; DELETE FROM entry WHERE slot >> 32 = 2;"
        " DELETE FROM tag WHERE namespace = 2",
        "records",
    ),
    "an erased memory was put back": Damage(
        f"CREATE TEMP TABLE held AS SELECT * FROM memory WHERE slot = {DEFAULT + 10};"
        f" UPDATE held SET slot = {DEFAULT + 8}, id = zeroblob(16), key = NULL; INSERT INTO memory SELECT * FROM held",
        "erased",
    ),
    "what an erased memory said was put back": Damage(
        f"INSERT INTO payload SELECT {DEFAULT + 8}, salt, body FROM payload WHERE id = {DEFAULT + 1}", "erased chain"
    ),
    # The entries of the index.
    "an entry is missing": Damage(f"DELETE FROM entry WHERE slot = {DEFAULT + 2}", "entries statistics full_text"),
    "every entry is missing": Damage("DELETE FROM entry", "entries statistics"),
    "an entry too many": Damage(
        f"INSERT INTO entry SELECT {DEFAULT + 6}, {_ENTRY} FROM entry WHERE slot = {DEFAULT + 2}",
        "entries statistics full_text",
    ),
    "an entry of no memory": Damage(
        f"INSERT INTO entry SELECT {DEFAULT + 99}, {_ENTRY} FROM entry WHERE slot = {DEFAULT + 2}",
        "entries statistics foreign_keys",
    ),
    "one entry missing and another one too many, so that the counts agree": Damage(
        f"UPDATE entry SET slot = {DEFAULT + 6} WHERE slot = {DEFAULT + 2}", "entries full_text"
    ),
    "two entries are swapped": Damage(
        f"UPDATE entry SET slot = 1 WHERE slot = {DEFAULT + 2};"
        f" UPDATE entry SET slot = {DEFAULT + 2} WHERE slot = {DEFAULT + 3};"
        f" UPDATE entry SET slot = {DEFAULT + 3} WHERE slot = 1",
        "entries full_text",
    ),
    "the words of an entry were edited": Damage(
        f"UPDATE entry SET text = 'other' WHERE slot = {DEFAULT + 2}", "entries full_text"
    ),
    "the terms of an entry are nonsense": Damage(
        f"UPDATE entry SET terms = x'01020304' WHERE slot = {DEFAULT + 2}", "entries"
    ),
    "the tokens of an entry are below nothing": Damage(
        f"UPDATE entry SET tokens = -7 WHERE slot = {DEFAULT + 2}", "entries statistics"
    ),
    "the tokens of an entry are more than any text has": Damage(
        f"UPDATE entry SET tokens = 1 << 40 WHERE slot = {DEFAULT + 2}", "entries statistics"
    ),
    # The full-text index and its shadow tables.
    "a memory is not in the full-text index": Damage(
        f"INSERT INTO entry_fts (entry_fts, rowid, {_WORDS}) SELECT 'delete', slot, {_WORDS} FROM entry"
        f" WHERE slot = {DEFAULT + 2}",
        "full_text",
    ),
    "the full-text index has a word too many": Damage(
        f"INSERT INTO entry_fts (rowid, {_WORDS}) VALUES ({DEFAULT + 2}, '', 'ghost', '', '', '', '', '')", "full_text"
    ),
    "two memories are swapped in the full-text index": Damage(
        f"INSERT INTO entry_fts (entry_fts, rowid, {_WORDS}) SELECT 'delete', slot, {_WORDS} FROM entry"
        f" WHERE slot IN ({DEFAULT + 2}, {DEFAULT + 3});"
        f" INSERT INTO entry_fts (rowid, {_WORDS}) SELECT {2 * DEFAULT + 5} - slot, {_WORDS} FROM entry"
        f" WHERE slot IN ({DEFAULT + 2}, {DEFAULT + 3})",
        "full_text",
    ),
    "the full-text index is empty": Damage("INSERT INTO entry_fts (entry_fts) VALUES ('delete-all')", "full_text"),
    "the pages of the full-text index are gone": Damage("DELETE FROM entry_fts_data WHERE id > 10", "full_text"),
    "a page of the full-text index was edited": Damage(
        "UPDATE entry_fts_data SET block = zeroblob(length(block)) WHERE id > 10", "full_text"
    ),
    "a page of the full-text index was put beside another": Damage(
        "INSERT INTO entry_fts_data SELECT id + 1, block FROM entry_fts_data WHERE id > 10 LIMIT 1;"
        " UPDATE entry_fts_data SET block = x'00' WHERE id = (SELECT min(id) FROM entry_fts_data WHERE id > 10)",
        "full_text",
    ),
    "the full-text index has lost its structure": Damage("DELETE FROM entry_fts_data WHERE id = 10", "full_text"),
    "the full-text index is of no known format": Damage(
        "UPDATE entry_fts_config SET v = 99 WHERE k = 'version'", "full_text"
    ),
    # Tags.
    "a tag is missing": Damage(f"DELETE FROM tag WHERE slot = {DEFAULT + 2}", "tags"),
    "a tag that its memory does not have": Damage(f"INSERT INTO tag VALUES (1, 'ghost', {DEFAULT + 2})", "tags"),
    "a tag of no memory": Damage(f"INSERT INTO tag VALUES (1, 'ghost', {DEFAULT + 99})", "tags foreign_keys"),
    "a tag under another namespace": Damage(f"INSERT INTO tag VALUES (2, 'ghost', {DEFAULT + 2})", "tags"),
    "the tags of two memories are swapped": Damage(
        f"UPDATE tag SET slot = {2 * DEFAULT + 5} - slot"
        f" WHERE tag <> 'drink' AND slot IN ({DEFAULT + 2}, {DEFAULT + 3})",
        "tags",
    ),
    # Counts.
    "the number of memories is wrong": Damage("UPDATE namespace SET documents = documents + 1", "statistics"),
    "the number of words is wrong": Damage("UPDATE namespace SET words = 0 WHERE id = 2", "statistics"),
    "the number of tokens is wrong": Damage("UPDATE namespace SET tokens = -1 WHERE id = 1", "statistics"),
    "a number would be given out twice": Damage("UPDATE namespace SET number = 1 WHERE id = 1", "counters"),
    "no number can be given out any more": Damage("UPDATE namespace SET number = 1 << 40 WHERE id = 1", "counters"),
    "a vector would be overlooked": Damage("UPDATE namespace SET vector = 0 WHERE id = 1", "counters"),
    "the next vector would land in another namespace": Damage(
        "UPDATE namespace SET vector = 1 << 40 WHERE id = 1", "counters"
    ),
    # Vectors.
    "a vector was edited": Damage(f"UPDATE vector SET data = zeroblob(64) WHERE id = {DEFAULT + 1}", "vectors"),
    "a vector's checksum was edited": Damage(f"UPDATE vector SET checksum = 1 WHERE id = {DEFAULT + 1}", "vectors"),
    "a vector is too short": Damage(
        f"UPDATE vector SET data = zeroblob(4), checksum = {crc32(bytes(4))} WHERE id = {DEFAULT + 1}", "vectors"
    ),
    "a vector has a number that is none": Damage(
        f"UPDATE vector SET data = x'{_NAN.hex()}', checksum = {crc32(_NAN)} WHERE id = {DEFAULT + 1}", "vectors"
    ),
    "the second vector of a long memory has no direction": Damage(
        f"UPDATE vector SET data = x'{_HALF_ZERO.hex()}', checksum = {crc32(_HALF_ZERO)} WHERE id = {DEFAULT + 1}",
        "vectors",
    ),
    "a vector has no direction": Damage(
        f"UPDATE vector SET data = zeroblob(64), checksum = {crc32(bytes(64))} WHERE id = {DEFAULT + 1}", "vectors"
    ),
    "the vectors of two passages are swapped": Damage(
        "CREATE TEMP TABLE held AS SELECT id, passage_hash FROM vector;"
        f" UPDATE vector SET passage_hash = x'00' WHERE id = {DEFAULT + 2};"
        f" UPDATE vector SET passage_hash = (SELECT passage_hash FROM held WHERE id = {DEFAULT + 2})"
        f" WHERE id = {DEFAULT + 1};"
        f" UPDATE vector SET passage_hash = (SELECT passage_hash FROM held WHERE id = {DEFAULT + 1})"
        f" WHERE id = {DEFAULT + 2}",
        "vectors",
    ),
    "a vector under another namespace": Damage(f"UPDATE vector SET namespace = 2 WHERE id = {DEFAULT + 1}", "vectors"),
    "a vector of no namespace": Damage(f"UPDATE vector SET namespace = 9 WHERE id = {DEFAULT + 1}", "foreign_keys"),
    "a vector of no model": Damage(
        f"UPDATE vector SET generation = 9 WHERE id = {DEFAULT + 1}", "foreign_keys vectors"
    ),
    "a model with other dimensions than its vectors": Damage("UPDATE generation SET dimensions = 8", "vectors"),
    "a model by another name": Damage("UPDATE generation SET name = 'a/b/16/1'", "vectors"),
    "the model of all vectors is missing": Damage("DELETE FROM generation", "vectors foreign_keys"),
    # What the schema does by itself.
    "the trigger that tells the full-text index is gone": Damage("DROP TRIGGER entry_insert", "schema"),
    "a trigger does something else": Damage(
        "DROP TRIGGER entry_delete; CREATE TRIGGER entry_delete AFTER DELETE ON entry BEGIN SELECT 1; END", "schema"
    ),
    "a trigger that nobody knows": Damage(
        "CREATE TRIGGER thief AFTER INSERT ON memory BEGIN DELETE FROM memory WHERE slot = new.slot; END", "schema"
    ),
    "an index is gone": Damage("DROP INDEX memory_age", "schema"),
    "the index that leads to histories is gone": Damage("DROP INDEX revision_version", "schema"),
    "an index over something else": Damage(
        "DROP INDEX memory_content; CREATE INDEX memory_content ON memory (namespace)", "schema"
    ),
    "an index that kept keys apart is gone, and two memories have one key": Damage(
        f"DROP INDEX memory_key; UPDATE memory SET key = 'fact:3' WHERE slot = {DEFAULT + 4}", "schema records"
    ),
    "a vector twice, and the index that kept them apart is gone": Damage(
        f"DROP INDEX vector_passage; INSERT INTO vector SELECT {DEFAULT + 90}, namespace, generation, passage_hash,"
        f" checksum, data FROM vector WHERE id = {DEFAULT + 1}",
        "schema vectors",
    ),
    "the full-text index is gone altogether": Damage("DROP TABLE entry_fts", "schema"),
    **{
        f"the table {table} of the full-text index is gone": Damage(f"DROP TABLE {table}", "schema")
        for table in ("entry_fts_data", "entry_fts_idx", "entry_fts_config")
    },
    "the table of the memories is gone": Damage("DROP TABLE memory", "schema"),
    "the table of the entries is gone": Damage("DROP TABLE entry", "schema"),
    "the table of the tags is gone": Damage("DROP TABLE tag", "schema"),
    "the table of the vectors is gone": Damage("DROP TABLE vector", "schema"),
    "the table of the links is gone": Damage("DROP TABLE link", "schema"),
    "the table of the reviews is gone": Damage("DROP TABLE review", "schema"),
    # Around the memories.
    "use of no memory": Damage(f"INSERT INTO use (slot) VALUES ({DEFAULT + 99})", "foreign_keys"),
    "a review of no memory": Damage(f"INSERT INTO review VALUES ({DEFAULT + 99}, 1, 1, 1)", "foreign_keys"),
    "a link is missing": Damage("DELETE FROM link WHERE kind = 'supersedes'", "links"),
    "a link from no memory": Damage(
        f"INSERT INTO link VALUES ({DEFAULT + 99}, 'evidence', zeroblob(16))", "links foreign_keys"
    ),
    "a link that its memory does not have": Damage(
        "INSERT INTO link SELECT slot, 'supersedes', zeroblob(16) FROM memory LIMIT 1", "links"
    ),
    "a link of no known kind": Damage(
        "INSERT INTO link SELECT slot, 'hates', zeroblob(16) FROM memory LIMIT 1", "links integrity"
    ),
    "a limit of nothing": Damage("UPDATE namespace SET max_tokens = 0 WHERE id = 1", "limits"),
    "nobody knows which engine wrote last": Damage("UPDATE meta SET value = 'x' WHERE name = 'engine'", "facts"),
    "the count of repairs is no number": Damage("INSERT INTO meta VALUES ('repairs', 'often')", "facts"),
    "the count of lives is no number": Damage("INSERT INTO meta VALUES ('era', 'first')", "facts"),
    "a generation that is not there serves": Damage("UPDATE meta SET value = 9 WHERE name = 'serving'", "facts"),
    "what serves is no generation": Damage("UPDATE meta SET value = 'all' WHERE name = 'serving'", "facts"),
    "an answer is parked about no memory": Damage(
        f"INSERT INTO parked VALUES (1, 1, {DEFAULT + 99}, 'keywords', 'm', 'e', 'tea', 1, 1)", "parked foreign_keys"
    ),
    "an answer is parked in another namespace": Damage(
        f"INSERT INTO parked VALUES (1, 2, {DEFAULT + 1}, 'keywords', 'm', 'e', 'tea', 1, 1)", "parked"
    ),
}

# Nothing tells what these were. A repair makes the store usable again, and says what was lost.
SETTLED: dict[str, Damage] = {
    "a limit below nothing": Damage("UPDATE namespace SET max_items = -5 WHERE id = 1", "limits"),
    "a text of an erased memory is known by nobody": Damage(
        "UPDATE tombstone SET digest = substr(digest, 2)", "tombstones"
    ),
    "a text was buried at no time": Damage("UPDATE tombstone SET at = 1 << 62", "tombstones"),
    "the table of the tombstones is gone": Damage("DROP TABLE tombstone", "schema"),
    "the table of the calls is gone": Damage("DROP TABLE provider_call", "schema"),
    "the table of what is parked is gone": Damage("DROP TABLE parked", "schema"),
    "the table of the checkpoints is gone": Damage("DROP TABLE checkpoint", "schema checkpoints"),
    "the secret is missing": Damage("DELETE FROM meta WHERE name = 'secret'", "facts"),
    "the secret is no secret": Damage("UPDATE meta SET value = 'secret' WHERE name = 'secret'", "facts"),
}

# Nothing here can be brought back but by a backup: it is named again and again, and a repair leaves it as it is.
NAMED: dict[str, Damage] = {
    "the first line of the log is missing": Damage("DELETE FROM revision WHERE namespace = 1 AND seq = 1", "chain"),
    "a line in the middle of the log is missing": Damage(
        "DELETE FROM revision WHERE namespace = 1 AND seq = 9", "chain"
    ),
    "the last line of the log is missing": Damage(
        "DELETE FROM revision WHERE namespace = 1 AND seq = (SELECT seq FROM namespace WHERE id = 1)", "chain"
    ),
    "a line was added to the log": Damage(
        "INSERT INTO revision SELECT namespace, 999, number, memory, version, operation, actor, surface, session, NULL,"
        " at, batch, digest, hash FROM revision WHERE namespace = 1 AND seq = 1",
        "chain",
    ),
    "two lines of the log are swapped": Damage(
        "UPDATE revision SET seq = -1 WHERE namespace = 1 AND seq = 3;"
        " UPDATE revision SET seq = 3 WHERE namespace = 1 AND seq = 4;"
        " UPDATE revision SET seq = 4 WHERE namespace = 1 AND seq = -1",
        "chain",
    ),
    "the log was numbered anew": Damage(
        "UPDATE revision SET seq = -seq WHERE namespace = 1; UPDATE revision SET seq = 1 - seq WHERE namespace = 1",
        "chain",
    ),
    **{
        f"the {column} of a line was edited": Damage(
            f"UPDATE revision SET {column} = {value} WHERE namespace = 1 AND seq = 2",
            "chain",
        )
        for column, value in {
            "actor": "'mallory'",
            "at": "at + 1",
            "batch": "'b'",
            "session": "'s'",
            "operation": "'undo'",
            "surface": "'x'",
            "request": "'r'",
            "number": "3",
            "version": "9",
            "memory": "zeroblob(16)",
            "digest": "zeroblob(32)",
            "hash": "zeroblob(32)",
        }.items()
    },
    "a line of no namespace": Damage("UPDATE revision SET namespace = 9 WHERE namespace = 3", "chain foreign_keys"),
    "what a line said was edited": Damage(
        f"UPDATE payload SET body = replace(body, 'green', 'black') WHERE id = {DEFAULT + 1}", "chain"
    ),
    "what a line said is not JSON": Damage(f"UPDATE payload SET body = '{{' WHERE id = {DEFAULT + 1}", "chain"),
    "the salt of a line was edited": Damage(
        f"UPDATE payload SET salt = zeroblob(16) WHERE id = {DEFAULT + 1}", "chain"
    ),
    "what two lines said is swapped": Damage(
        f"UPDATE payload SET id = 1 WHERE id = {DEFAULT + 2};"
        f" UPDATE payload SET id = {DEFAULT + 2} WHERE id = {DEFAULT + 3};"
        f" UPDATE payload SET id = {DEFAULT + 3} WHERE id = 1",
        "chain",
    ),
    "what the newest line of a memory said is gone": Damage(
        f"DELETE FROM payload WHERE id = {DEFAULT + 2}", "payloads"
    ),
    "what an earlier line of a memory said is gone": Damage(
        f"DELETE FROM payload WHERE id = {DEFAULT + 1}", "payloads"
    ),
    "something was said in no line": Damage(
        f"INSERT INTO payload SELECT {DEFAULT + 999}, salt, body FROM payload WHERE id = {DEFAULT + 1}", "payloads"
    ),
    "the head of the log was edited": Damage("UPDATE namespace SET head = zeroblob(32) WHERE id = 1", "chain"),
    "the end of the log was moved on": Damage("UPDATE namespace SET seq = seq + 1 WHERE id = 1", "chain"),
    "a namespace has another name": Damage("UPDATE namespace SET name = 'elsewhere' WHERE id = 2", "chain"),
    "a namespace is missing": Damage("DELETE FROM namespace WHERE id = 3", "foreign_keys records"),
    **{
        f"the table of the {table}s is gone": Damage(f"DROP TABLE {table}", "schema")
        for table in ("revision", "payload", "namespace")
    },
    "the table of the facts is gone": Damage("DROP TABLE meta", "schema facts"),
    "a table has a column too many": Damage("ALTER TABLE memory ADD COLUMN extra TEXT", "schema"),
    "a memory that nobody wrote": Damage(intruder, "history"),
    "a memory outside every namespace": Damage(
        f"UPDATE memory SET slot = {(9 << 32) + 5} WHERE slot = {DEFAULT + 5}", "records"
    ),
    "a text and what its line said were edited": Damage(
        f"UPDATE memory SET text = 'x' WHERE slot = {DEFAULT + 2};"
        f" UPDATE payload SET body = replace(body, 'milk', 'x') WHERE id = {DEFAULT + 32}",
        "records chain",
    ),
    "a text was buried in no namespace": Damage("UPDATE tombstone SET namespace = 9", "foreign_keys"),
    "a checkpoint beyond the end of the log": Damage(
        "UPDATE checkpoint SET positions = '{\"1\": 999}' WHERE name = 'morning'", "checkpoints"
    ),
    "a checkpoint that cannot be read": Damage(
        "UPDATE checkpoint SET positions = '{' WHERE name = 'morning'", "checkpoints"
    ),
    "a checkpoint of no namespace": Damage("UPDATE checkpoint SET namespace = 9 WHERE name = 'morning'", "checkpoints"),
}

# The database is sound in itself; only what stands beside it knows.
OUTSIDE: dict[str, Damage] = {
    "the last line was removed with all its traces": Damage(last_line_with_all_its_traces, "mirror"),
    "the whole log was computed anew after an edit": Damage(rewritten, "mirror"),
    "the store has another secret": Damage("UPDATE meta SET value = randomblob(32) WHERE name = 'secret'", "mirror"),
}
