"""Everything doctor can find, provoked behind the store's back; what is derived is repaired, the rest is named."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from store.behind import behind
from store.damages import memory_row

from perdure.ids import ContentHash
from perdure.model import STATES, Checkpoint, Filter, Finding
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, NOON, amend, change, embed, read_once, remember
from perdure.text.entry import passage_hash

# Damage to a record alone, and what else must be named: the log is the truth, so a repair brings the record back.
RECORDS: dict[str, tuple[str, set[str]]] = {
    "a text was changed": ("UPDATE memory SET text = 'x' WHERE slot = (1 << 32 | 2)", {"records"}),
    "only the case of a text was changed": ("UPDATE memory SET text = 'TEA' WHERE slot = (1 << 32 | 1)", {"records"}),
    "a text is no text any more": ("UPDATE memory SET text = CAST(x'ff' AS TEXT)", {"records"}),
    "a state was changed": ("UPDATE memory SET state = 'active' WHERE state = 'deleted'", {"records"}),
    "a state is none": ("UPDATE memory SET state = 'lost' WHERE slot = (1 << 32 | 1)", {"records"}),
    "a passage's hash was changed": ("UPDATE memory SET passage_hash = zeroblob(16)", {"records"}),
    "everything was changed": ("UPDATE memory SET text = slot, tags = '[', title = '', created_at = 1", {"records"}),
    "a record is of an earlier line": ("UPDATE memory SET seq = 1, title = NULL, checksum = 1", {"records"}),
    "a memory is missing": ("DELETE FROM memory WHERE slot = (1 << 32 | 1)", {"records"}),
    "a memory is missing with all that belongs to it": (
        (
            "DELETE FROM memory WHERE slot = (1 << 32 | 2); DELETE FROM entry WHERE slot = (1 << 32 | 2);"
            " DELETE FROM tag WHERE slot = (1 << 32 | 2)"
        ),
        {"records"},
    ),
    "every memory is missing": ("DELETE FROM memory; DELETE FROM entry; DELETE FROM tag", {"records"}),
    "early lines of the log are broken too": (
        "UPDATE memory SET text = 'x' WHERE slot = (1 << 32 | 2); UPDATE revision SET actor = 'me' WHERE seq = 3",
        {"records", "chain"},
    ),
}

# Nothing can bring these back but a backup; doctor says so and a repair leaves them alone.
TRUTH: dict[str, tuple[str, set[str]]] = {
    "a memory was moved": ("UPDATE memory SET slot = slot + 50 WHERE slot = (1 << 32 | 1)", {"records"}),
    "a text and its payload were changed": (
        "UPDATE memory SET text = 'x' WHERE slot = (1 << 32 | 1); UPDATE payload SET body = replace(body, 'tea', 'x')",
        {"records", "chain"},
    ),
    "a text was changed and its payload is gone": (
        "UPDATE memory SET text = 'sea' WHERE slot = (1 << 32 | 1); DELETE FROM payload",
        {"records"},
    ),
    "a text was changed and its payload is no text": (
        "UPDATE memory SET text = 'sea' WHERE slot = (1 << 32 | 1); UPDATE payload SET body = CAST(x'ff' AS TEXT)",
        {"records", "chain"},
    ),
    "a text was changed and its line has no place in the chain": (
        "UPDATE memory SET text = 'sea' WHERE slot = (1 << 32 | 2); UPDATE revision SET actor = 'me' WHERE seq = 5",
        {"records", "chain"},
    ),
    "a text was changed and a later line is missing": (
        "UPDATE memory SET text = 'sea' WHERE slot = (1 << 32 | 2); DELETE FROM revision WHERE seq = 5",
        {"records", "chain"},
    ),
    "a memory is missing with its payload": (
        "DELETE FROM memory WHERE slot = (1 << 32 | 1); DELETE FROM payload WHERE id = (1 << 32 | 1)",
        {"records"},
    ),
    "a memory is missing and its line has no place in the chain": (
        "DELETE FROM memory WHERE slot = (1 << 32 | 2); UPDATE revision SET actor = 'me' WHERE seq = 5",
        {"records", "chain"},
    ),
    "a line of the log was changed": ("UPDATE revision SET actor = 'somebody else' WHERE seq = 1", {"chain"}),
    "a time in the log was changed": ("UPDATE revision SET at = at + 1 WHERE seq = 2", {"chain"}),
    "a line of the log is missing": ("DELETE FROM revision WHERE seq = 1", {"chain"}),
    "the end of the log is missing": ("DELETE FROM revision WHERE seq = 5", {"chain", "history"}),
    "a payload was changed": ("UPDATE payload SET body = replace(body, 'tea', 'sea')", {"chain", "history"}),
    "a payload is not JSON": ("UPDATE payload SET body = '{' WHERE id = (1 << 32 | 1)", {"chain"}),
    "the head was changed": ("UPDATE namespace SET head = zeroblob(32)", {"chain"}),
    "the log's end was moved": ("UPDATE namespace SET seq = seq + 1", {"chain"}),
}


@pytest.fixture
def sound(path: Path) -> Path:
    """Two memories that can be found, one that was forgotten, one in another namespace, vectors and a correction."""
    with closing(SqliteStore.open(path)) as store:
        first, second = remember(store, "tea", tags=("hot",)), remember(store, "coffee", tags=("hot", "black"))
        amend(store, remember(store, "milk"), "forget", state="deleted")
        embed(store, [first, second])
        amend(store, second, title="Drinks")
        remember(store, "elsewhere", "other")
    return path


def break_it(path: Path, sql: str) -> None:
    with behind(path) as raw:
        raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        raw.execute(f"PRAGMA foreign_keys = OFF; {sql}").fetchall()


def problems(store: SqliteStore) -> dict[str, Finding]:
    return {finding.check: finding for finding in store.check() if finding.level == "problem"}


def records(store: SqliteStore) -> object:
    return [
        (
            read_once(store, name).page(Filter(states=STATES), after=None, limit=9, newest=False),
            read_once(store, name).revisions(1),
        )
        for name in (NAMESPACE, "other")
    ]


def found(store: SqliteStore, word: str) -> list[int]:
    return [scored.number for scored in read_once(store).keyword_search([word], Filter(), NOON, 9).best]


def test_a_sound_store_has_nothing_to_report(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        findings = {finding.check: finding for finding in store.check()}
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert set(findings) == {
        "engine", "file_system", "permissions", "log", "integrity", "foreign_keys", "full_text", "records", "history",
        "entries", "tags", "statistics", "counters", "chain", "erased", "checkpoints", "vectors", "earlier_vectors",
        "pending", "mirror", "schema", "payloads", "facts", "limits", "links", "tombstones", "parked",
    }  # fmt: skip
    assert findings["earlier_vectors"].sentence.endswith(": 1.")
    assert findings["pending"].sentence.endswith(": 2.")


@pytest.mark.parametrize("damage", TRUTH)
def test_damage_to_records_or_log_is_named_and_never_repaired_away(sound: Path, damage: str):
    sql, expected = TRUTH[damage]
    break_it(sound, sql)
    with closing(SqliteStore.open(sound)) as store:
        named = problems(store)
        assert set(named) >= expected
        assert all("backup" in str(named[check].remedy) for check in expected)
        list(store.repair())
        assert set(problems(store)) >= expected


@pytest.mark.parametrize("damage", RECORDS)
def test_a_damaged_record_is_brought_back_from_the_log_byte_for_byte(sound: Path, damage: str):
    sql, expected = RECORDS[damage]
    before = every_row(sound)
    with closing(SqliteStore.open(sound)) as store:
        answers = records(store)
    break_it(sound, sql)
    with closing(SqliteStore.open(sound)) as store:
        named = problems(store)
        assert set(named) >= expected
        assert "--repair" in str(named["records"].remedy)
        repaired = {finding.check: finding for finding in store.repair()}
        assert repaired["repair_records"].level == "ok"
        assert "repair_records_left" not in repaired
        assert set(problems(store)) == expected - {"records"}
        assert records(store) == answers
        assert (found(store, "tea"), found(store, "coffee"), found(store, "milk")) == ([1], [2], [])
    assert every_row(sound) == before


def every_row(path: Path) -> list[object]:
    with behind(path) as raw:
        return [raw.execute(f"SELECT * FROM {table} ORDER BY slot").fetchall() for table in ("memory", "entry", "tag")]  # noqa: S608


def test_a_record_that_cannot_be_brought_back_is_named_and_left_as_it_is(sound: Path):
    break_it(sound, TRUTH["a text and its payload were changed"][0])
    damaged = every_row(sound)
    with closing(SqliteStore.open(sound)) as store:
        left = {finding.check: finding for finding in store.repair()}["repair_records_left"]
        assert (left.level, "1 of 'default'" in left.sentence, "backup" in str(left.remedy)) == ("problem", True, True)
        assert read_once(store).damaged() == [1]
        assert found(store, "coffee") == [2]
    assert every_row(sound)[0] == damaged[0]


def test_damaged_memories_that_took_each_others_names_get_their_own_back(sound: Path):
    break_it(
        sound,
        "UPDATE memory SET id = zeroblob(16) WHERE slot = (1 << 32 | 1);"
        " UPDATE memory SET id = (SELECT memory FROM revision WHERE seq = 1) WHERE slot = (1 << 32 | 2)",
    )
    with closing(SqliteStore.open(sound)) as store:
        assert [finding.check for finding in store.repair() if finding.level == "problem"] == []
        assert problems(store) == {}


def test_a_record_that_was_changed_without_a_revision_differs_from_its_history(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        (record,) = read_once(store).fetch([1])
        with store._pool.writing() as connection:
            connection.execute(SQL["put_memory"], memory_row(replace(record, importance=1.0), passage_hash(record)))
        assert set(problems(store)) >= {"history"}
        list(store.repair())
        assert problems(store) == {}
        assert read_once(store).fetch([1]) == [record]


def test_a_content_hash_that_is_not_of_the_text_is_damage(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        (record,) = read_once(store).fetch([1])
        with store._pool.writing() as connection:
            connection.execute(
                SQL["put_memory"], memory_row(replace(record, content_hash=ContentHash("0" * 16)), bytes(16))
            )
        assert set(problems(store)) >= {"records"}


def test_a_payload_that_was_dropped_leaves_the_chain_proved(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        with store.write(NAMESPACE) as writer:
            writer.drop_payloads(2)
        assert problems(store) == {}
        assert next(f for f in store.check() if f.check == "chain").sentence.endswith(
            "1 log entries was erased or dropped."
        )
        assert [revision.record is None for revision in read_once(store).revisions(2)] == [True, False]


@pytest.fixture
def half_erased(sound: Path) -> Path:
    """Memory 1 was erased, but somebody put its row and what it said back."""
    tables = {"memory": "slot", "entry": "slot", "payload": "id"}
    kept: dict[str, list[tuple[object, ...]]] = {}
    with behind(sound) as raw:
        for table, column in tables.items():
            kept[table] = raw.execute(f"SELECT * FROM {table} WHERE {column} = (1 << 32 | 1)").fetchall()  # noqa: S608
    with closing(SqliteStore.open(sound)) as store:
        erase(store, 1)
        assert problems(store) == {}
    with behind(sound) as raw:
        for table, rows in kept.items():
            raw.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows[0]).fetchall()  # noqa: S608
    return sound


def erase(store: SqliteStore, number: int) -> None:
    with store.write(NAMESPACE) as writer:
        writer.erase(number, change("erase"))


def test_what_is_left_of_an_erased_memory_is_found_and_goes(half_erased: Path):
    with closing(SqliteStore.open(half_erased)) as store:
        named = problems(store)
        assert set(named) >= {"erased", "history"}
        assert "1 of 'default'" in named["erased"].sentence
        repaired = {finding.check: finding for finding in store.repair()}
        assert repaired["repair_erased"].level == "ok"
        assert "repair_records_left" not in repaired
        assert problems(store) == {}
        assert read_once(store).fetch([1]) == []
        assert {revision.record for revision in read_once(store).revisions(1)} == {None}
        assert found(store, "tea") == []


def test_a_payload_alone_that_is_left_of_an_erased_memory_goes(half_erased: Path):
    break_it(half_erased, "DELETE FROM memory WHERE slot = (1 << 32 | 1); DELETE FROM entry WHERE slot = (1 << 32 | 1)")
    with closing(SqliteStore.open(half_erased)) as store:
        assert set(problems(store)) >= {"erased"}
        list(store.repair())
        assert problems(store) == {}
        assert {revision.record for revision in read_once(store).revisions(1)} == {None}


def test_an_erasure_that_the_chain_does_not_prove_erases_nothing(sound: Path):
    break_it(sound, "UPDATE revision SET operation = 'erase' WHERE namespace = 1 AND seq = 5")
    with closing(SqliteStore.open(sound)) as store:
        (before,) = read_once(store).fetch([2])
        assert set(problems(store)) >= {"chain", "erased"}
        repaired = {finding.check: finding for finding in store.repair()}
        assert "2 of 'default'" in repaired["repair_records_left"].sentence
        assert read_once(store).fetch([2]) == [before]
        assert set(problems(store)) >= {"chain", "erased"}


def test_a_damaged_memory_can_be_erased(sound: Path):
    break_it(
        sound,
        "UPDATE memory SET text = CAST(x'ff' AS TEXT) WHERE slot = (1 << 32 | 1);"
        " UPDATE payload SET body = CAST(x'ff' AS TEXT) WHERE id = (1 << 32 | 1)",
    )
    with closing(SqliteStore.open(sound)) as store:
        assert read_once(store).damaged() == [1]
        erase(store, 1)
        assert read_once(store).damaged() == []
        assert problems(store) == {}
    with behind(sound) as raw:
        assert raw.execute("SELECT count(*) FROM vector WHERE namespace = 1").fetchall() == [(0,)]


def test_a_memory_that_is_missing_can_be_erased_for_good(sound: Path):
    break_it(sound, RECORDS["every memory is missing"][0])
    with closing(SqliteStore.open(sound)) as store:
        erase(store, 1)
        list(store.repair())
        assert read_once(store).fetch([1]) == []
        assert [record.number for record in read_once(store).fetch([2, 3])] == [2, 3]
        assert problems(store) == {}


def test_the_number_of_an_erased_memory_is_not_given_out_again_by_a_damaged_counter(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        erase(store, 3)
    break_it(sound, "UPDATE namespace SET number = 2")
    with closing(SqliteStore.open(sound)) as store:
        assert "counters" in problems(store)
        list(store.repair())
        assert problems(store) == {}
        assert remember(store, "next").number == 4


@pytest.mark.parametrize(
    "wrong",
    [
        "positions = '{'", "positions = '[]'", "positions = '{\"1\": 99}'", "positions = '{\"1\": -1}'",
        "positions = '{\"1\": \"2\"}'", "positions = '{\"77\": 1}'", "positions = '{\"x\": 1}'", "metadata = '{'",
        "created_at = 1 << 62", "positions = '{\"2\": 1}'", "positions = '{}'", "metadata = '[1]'",
    ],
)  # fmt: skip
def test_a_checkpoint_that_is_no_position_is_named_and_can_be_deleted(sound: Path, wrong: str):
    with closing(SqliteStore.open(sound)) as store:
        for name in ("good", "bad"):
            store.put_checkpoint(Checkpoint(name, NAMESPACE, {}, 0, NOON, "tester"))
        assert problems(store) == {}
    break_it(sound, f"UPDATE checkpoint SET {wrong} WHERE name = 'bad'")  # noqa: S608
    with closing(SqliteStore.open(sound)) as store:
        assert set(problems(store)) == {"checkpoints"}
        assert "'bad'" in problems(store)["checkpoints"].sentence
        assert "good" in [checkpoint.name for checkpoint in store.checkpoints(NAMESPACE)]
        assert store.delete_checkpoint(NAMESPACE, "bad")
        assert problems(store) == {}


def test_vectors_of_earlier_texts_are_counted_and_removed_by_a_repair(sound: Path):
    with closing(SqliteStore.open(sound)) as store:
        list(store.repair())
        assert next(f for f in store.check() if f.check == "earlier_vectors").sentence.endswith(": 0.")


def test_doctor_is_not_misled_by_what_it_read_before_another_process_changed_the_index(sound: Path):
    with closing(SqliteStore.open(sound)) as store, closing(SqliteStore.open(sound)) as other:
        assert problems(store) == {}
        found(store, "tea")
        for n in range(20):
            remember(other, f"more {n}")
        list(other.repair())
        assert problems(store) == {}


def test_an_index_of_sqlite_that_does_not_fit_its_table_is_found_and_made_anew(sound: Path):
    break_it(
        sound,
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'content_hash,', 'version,')"
        " WHERE name = 'memory_content'; PRAGMA writable_schema = OFF",
    )
    with closing(SqliteStore.open(sound)) as store:
        named = problems(store)
        assert "memory_content" in named["integrity"].sentence
        assert "--repair" in str(named["integrity"].remedy)
        list(store.repair())
        assert problems(store) == {}


def test_a_file_that_others_may_read_is_a_warning_with_the_command_that_mends_it(sound: Path):
    sound.chmod(0o644)
    with closing(SqliteStore.open(sound)) as store:
        finding = next(f for f in store.check() if f.check == "permissions")
    assert finding.level == "warning"
    assert str(finding.remedy).startswith(f"Run: chmod 600 {sound}")


@pytest.mark.parametrize(("mode", "may"), [(0o770, "put files into"), (0o1777, None), (0o755, None)])
def test_a_folder_that_others_may_write_to_is_a_warning(sound: Path, mode: int, may: str | None):
    sound.parent.chmod(mode)
    with closing(SqliteStore.open(sound)) as store:
        finding = next(f for f in store.check() if f.check == "permissions")
    assert finding.level == ("warning" if may else "ok")
    assert finding.remedy == (f"Run: chmod 700 {sound.parent}" if may else None)
    assert may is None or may in finding.sentence


def test_the_folder_of_our_own_data_is_nobody_else_s(stranger: Path, sound: Path):
    data = stranger / ".local/share/perdure"
    data.mkdir(parents=True)
    data.chmod(0o755)
    with closing(SqliteStore.open(sound)) as store:
        finding = next(f for f in store.check() if f.check == "permissions")
        assert (finding.level, finding.remedy) == ("warning", f"Run: chmod 700 {data}")
        data.chmod(0o700)
        assert next(f for f in store.check() if f.check == "permissions").level == "ok"


def test_a_table_that_cannot_be_read_is_a_finding_and_not_a_crash(sound: Path):
    break_it(sound, "DROP TABLE payload")
    with closing(SqliteStore.open(sound)) as store:
        assert set(problems(store)) >= {"records", "chain"}
