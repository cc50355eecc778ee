"""Random bytes of a closed file are changed: never a wrong answer, never a crash, and doctor sees what matters."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest

from perdure.errors import StoreDamaged, StoreError
from perdure.ids import parse_reference
from perdure.model import STATES, Filter, Record
from perdure.store.port import Position
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, draft, embed, insert, read_once, vector

TRIALS = int(os.environ.get("PERDURE_FLIPS", "60"))
MEMORIES = 120
EVERY = Filter(states=STATES)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "memory.db"
    source = random.Random(3)
    words = [f"word{n}" for n in range(300)]
    with closing(SqliteStore.open(path)) as store:
        with store.write(NAMESPACE) as writer:
            records = [
                insert(writer, draft(" ".join(source.choices(words, k=30)), tags=("t",))) for _ in range(MEMORIES)
            ]
        embed(store, records)
        for record in records[::10]:
            amend(store, record, title="Changed")
    return path


def everything(store: SqliteStore) -> list[object]:
    """Every way of reading content."""
    return [
        read_once(store).page(EVERY, after=None, limit=1000, newest=False),
        [read_once(store).find(parse_reference(number)) for number in range(1, MEMORIES + 1, 7)],
        [read_once(store).revisions(number) for number in range(1, MEMORIES + 1, 7)],
        store.stats(GENERATION).namespaces,
        store.namespaces(),
        store.pending(GENERATION, 9),
        store.index_changes(NAMESPACE, GENERATION, Position()).removed,
    ]


def damage(path: Path, source: random.Random) -> None:
    content = bytearray(path.read_bytes())
    at = source.randrange(len(content))
    for offset in range(at, min(at + source.choice([1, 1, 4, 64]), len(content))):
        content[offset] ^= source.randrange(1, 256)
    path.write_bytes(bytes(content))


def test_a_changed_byte_is_never_served_as_content_and_never_crashes(tmp_path: Path, original: Path):
    with closing(SqliteStore.open(original)) as store:
        sound = everything(store)
        records = {record.number: record for record in read_once(store).fetch(range(1, MEMORIES + 1))}
    for seed in range(TRIALS):
        path = tmp_path / f"{seed}.db"
        shutil.copy(original, path)
        damage(path, random.Random(seed))
        noticed, served = examine(path)
        assert all(record == records[record.number] for record in served)
        if not noticed:
            # Doctor may overlook only what was in nobody's use.
            with closing(SqliteStore.open(path)) as store:
                assert everything(store) == sound
        path.unlink()


def examine(path: Path) -> tuple[bool, list[Record]]:
    """Whether the damage was noticed, by doctor or by a reader, and what was served all the same."""
    served: list[Record] = []
    try:
        with closing(SqliteStore.open(path)) as store:
            noticed = any(finding.level == "problem" for finding in store.check())
            for number in range(1, MEMORIES + 1):
                with suppress(StoreDamaged):
                    served += read_once(store).fetch([number])
            read_once(store).keyword_search(["word1", "word2"], Filter(), NOON, 9)
            everything(store)
            return noticed, served
    except StoreError:
        return True, served


def test_a_changed_vector_is_found_by_doctor(tmp_path: Path, original: Path):
    path = tmp_path / "memory.db"
    content = original.read_bytes()
    assert content.count(vector()) >= 1
    path.write_bytes(content.replace(vector(), vector(0, 1, 0, 0), 1))
    with closing(SqliteStore.open(path)) as store:
        assert [finding.check for finding in store.check() if finding.level == "problem"] == ["vectors"]
