"""One damaged memory among five: the others are read as if nothing had happened, and it is never served itself."""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from store.behind import behind

from perdure.errors import StoreDamaged
from perdure.ids import content_hash, parse_reference
from perdure.model import Filter, Identity
from perdure.store.port import Use
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import GENERATION, NAMESPACE, NOON, read_once, remember

TAMPERED = "UPDATE memory SET text = 'tampered' WHERE slot = (1 << 32 | 3)"
NO_TEXT = "UPDATE memory SET text = CAST(x'ff' AS TEXT) WHERE slot = (1 << 32 | 3)"
TEXTS = [f"memory {number} of tea" for number in range(1, 6)]
DAMAGE = pytest.mark.parametrize("damage", [TAMPERED, NO_TEXT], ids=["another text", "no text"])


@pytest.fixture
def five(path: Path) -> Path:
    with closing(SqliteStore.open(path)) as store:
        for number, text in enumerate(TEXTS, 1):
            remember(store, text, key=f"memory:{number}", tags=("t",))
    return path


def damaged(path: Path, *statements: str) -> SqliteStore:
    with behind(path) as raw:
        for statement in statements:
            raw.execute(statement)
    return SqliteStore.open(path)


@DAMAGE
def test_lists_and_recall_go_on_without_the_damaged_memory(five: Path, damage: str):
    with closing(damaged(five, damage)) as store:
        for newest, numbers in ((False, [1, 2, 4, 5]), (True, [5, 4, 2, 1])):
            page = read_once(store).page(Filter(), after=None, limit=9, newest=newest)
            assert [record.number for record in page] == numbers
        assert [record.number for record in read_once(store).fetch([5, 3, 1])] == [5, 1]
        assert sorted(read_once(store).numbers(Filter(tags=("t",)))) == [1, 2, 3, 4, 5]
        assert len(store.index_rows(NAMESPACE, None, 0, 9)) == 5
        assert len(store.pending(GENERATION, 9)) == 4
        assert store.pending_count(GENERATION) == 5


@DAMAGE
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("newest", [True, False])
def test_a_page_is_full_until_the_end_whatever_is_left_out(five: Path, damage: str, limit: int, newest: bool):
    with closing(damaged(five, damage)) as store:
        found: list[int] = []
        while True:
            after = found[-1] if found else None
            page = read_once(store).page(Filter(), after=after, limit=limit, newest=newest)
            found += [record.number for record in page]
            if len(page) < limit:
                break
        assert sorted(found) == [1, 2, 4, 5]


def test_many_damaged_memories_in_a_row_do_not_end_a_page(five: Path):
    others = "UPDATE memory SET text = 'x' WHERE slot IN (1 << 32 | 2, 1 << 32 | 4)"
    with closing(damaged(five, NO_TEXT, others)) as store:
        assert [record.number for record in read_once(store).page(Filter(), after=None, limit=2, newest=True)] == [5, 1]
        assert read_once(store).damaged() == [2, 3, 4]


@DAMAGE
def test_what_was_left_out_can_be_named_whatever_its_state_claims(five: Path, damage: str):
    with closing(damaged(five, damage, "UPDATE memory SET state = 'none' WHERE slot = (1 << 32 | 1)")) as store:
        assert read_once(store).damaged() == [1, 3]
        assert len(read_once(store).page(Filter(), after=None, limit=9, newest=True)) == 3


@DAMAGE
@pytest.mark.parametrize("ref", [3, "memory:3", content_hash(TEXTS[2])])
def test_who_asks_for_the_damaged_memory_itself_learns_how_to_get_it_back(five: Path, damage: str, ref: str | int):
    with closing(damaged(five, damage)) as store:
        with pytest.raises(StoreDamaged, match="repair=True"):
            read_once(store).find(parse_reference(ref))
        assert [record.number for record in read_once(store).find(parse_reference(2))] == [2]


@DAMAGE
def test_the_history_of_a_damaged_memory_can_be_read(five: Path, damage: str):
    with closing(damaged(five, damage)) as store:
        (revision,) = read_once(store).revisions(3)
        assert revision.record is not None
        assert revision.record.text == TEXTS[2]


def test_use_that_makes_no_sense_does_not_hide_a_memory(five: Path):
    with closing(damaged(five, "INSERT INTO use VALUES (1 << 32 | 3, 7, 9223372036854775807, 1, NULL)")) as store:
        (record,) = read_once(store).fetch([3])
        assert (record.text, record.recall_count, record.recalled_at) == (TEXTS[2], 0, None)


def test_counting_use_is_never_worth_an_error(five: Path):
    with closing(damaged(five, "DROP TABLE use")) as store:
        store.note_use([Use(NAMESPACE, 1, 1, NOON, 0, None)])
        assert store.flush_use(patience=1) is False


def test_a_running_recall_index_learns_what_a_repair_brought_back(five: Path):
    with closing(damaged(five, "UPDATE entry SET terms = x'' WHERE slot = (1 << 32 | 3)")) as store:
        since = store.position(NAMESPACE, None)
        list(store.repair())
        rows = store.index_changes(NAMESPACE, None, since).rows
        assert [row.number for row in rows if row.terms] == [1, 2, 3, 4, 5]


def test_a_forgotten_text_leaves_nothing_that_can_be_guessed(path: Path):
    text, namespace = "my password is swordfish", "somebody"
    known = content_hash(text)
    guesses = [text.encode(), known.encode(), bytes.fromhex(known)]
    hashed = [*guesses, namespace.encode() + known.encode(), namespace.encode() + b"\x00" + known.encode()]
    guesses += [digest for guess in hashed for digest in (sha256(guess).digest(), sha256(guess).hexdigest().encode())]
    tombstones: set[bytes] = set()
    for name in ("one.db", "two.db"):
        file = path.with_name(name)
        with closing(SqliteStore.open(file)) as store:
            with store.write(namespace) as writer:
                writer.add_tombstone(Identity(known), "forgotten", NOON)
            content = b"".join(each.read_bytes() for each in path.parent.glob(f"{name}*"))
            assert b"forgotten" in content
            assert [guess for guess in guesses if guess in content] == []
        with behind(file) as raw:
            tombstones.add(raw.execute("SELECT digest FROM tombstone").get)
    assert len(tombstones) == 2
