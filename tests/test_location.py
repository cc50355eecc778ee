"""Where a store is, what is shown of it, and where that belongs which is not in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from perdure import Memory, errors
from perdure.auth.token_file import TokenFile
from perdure.location import installed_stores, locate
from perdure.session.spool import Spool, SpooledMessage
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import remember

DATABASE = "postgresql://ann:s3cret@db.example/mem"
TURN = SpooledMessage("default", "c1", "user", "The deploy key is rotated on Friday.", "2026-01-01T00:00:00Z", "k" * 32)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://db/mem", "postgresql://db/mem"),
        ("POSTGRES://ann@db:5433,db2/mem", "postgresql://ann@db:5433,db2/mem"),
        (DATABASE, "postgresql://ann@db.example/mem"),
        ("postgresql://:s3cret@db/mem", "postgresql://@db/mem"),
        ("postgresql://ann:s3c/re@t@db/mem", "postgresql://ann@db/mem"),
        ("postgresql://db/mem?schema=own&password=s3cret&sslmode=require", "postgresql://db/mem?schema=own"),
        ("postgresql:///?service=mem&sslpassword=s3cret", "postgresql:///?service=mem"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str):
    location = locate(address)
    assert (location.kind, location.scheme, location.shown) == ("database", "postgresql", shown)
    assert "s3c" not in f"{location!r} {location.beside('spool')}"
    assert location.address == address


def test_what_belongs_to_a_file_stands_beside_it(tmp_path: Path):
    location = load(store=tmp_path / "m.db").store
    assert location.beside("tokens") == tmp_path / "m.db-tokens"
    assert (location.kind, location.shown, location.path) == ("file", str(tmp_path / "m.db"), tmp_path / "m.db")


def test_what_belongs_to_a_database_is_among_the_user_s_data_whatever_the_password(tmp_path: Path):
    environ = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    folder = load(environ, store=DATABASE).store.beside("spool")
    assert folder == load(environ, store=DATABASE.replace("s3cret", "changed")).store.beside("spool")
    assert folder != load(environ, store=DATABASE.replace("/mem", "/other")).store.beside("spool")
    assert folder.parent == tmp_path / "data/perdure"


def test_a_database_has_tokens_and_a_spool_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    location = locate(DATABASE)
    _, secret = TokenFile(location).create("agent", namespaces=None)
    assert TokenFile(DATABASE).find(secret).name == "agent"
    assert Spool(location).put(TURN)
    assert Spool(DATABASE).messages() == [TURN]
    with pytest.raises(errors.StoreRemote) as failed:
        _ = location.path
    assert "s3cret" not in str(failed.value)
    assert not location.is_missing


def test_a_store_in_memory_has_no_place_for_tokens_and_keeps_no_turns():
    with pytest.raises(errors.InvalidInput, match="lives in memory"):
        TokenFile(":memory:")
    spool = Spool(":memory:")
    assert not spool.put(TURN)
    assert (spool.messages(), list(spool.findings())) == ([], [])


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that somebody installed, which brings a store of its own, and one whose driver is missing."""
    info = tmp_path / "strange_store-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-store\nVersion: 1.0\n", encoding="utf-8")
    points = "[perdure.stores]\nstrange = strange_store:open_store\ntorn = strange_store_without_driver:open_store\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (tmp_path / "strange_store.py").write_text(
        "from perdure.testing.memory_store import MemoryStore\n"
        "def open_store(settings, *, clock, create):\n"
        "    assert settings.store.address == 'strange://ann:s3cret@here/x'\n"
        "    return MemoryStore(clock)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    installed_stores.cache_clear()
    yield
    installed_stores.cache_clear()


@pytest.mark.usefixtures("other_package")
def test_any_package_may_bring_a_store():
    with Memory("strange://ann:s3cret@here/x", embedder="none") as memory:
        memory.remember("The tide is low at noon")
        assert memory.recall("tide").hits[0].record.text == "The tide is low at noon"
        assert repr(memory) == "<Memory 'default' in 'strange://ann@here/x'>"


@pytest.mark.usefixtures("other_package")
def test_one_server_at_a_time_does_the_work_of_a_database():
    opened = partial(Memory, "strange://ann:s3cret@here/x", embedder=WordEmbedder())
    for surface, works in (("http", False), ("mcp", False), ("cli", True)):
        with opened(surface=surface) as memory:
            store = memory._services.store
            remember(store, "The tide is low at noon")
            assert store.lease("work", "a server elsewhere", 60)
            assert bool(memory.work().embedded) is works
            assert store.lease("work", "a server elsewhere", 0)
            assert memory.work(limit=9).vectors_pending == 0
            assert store.pending_count(WordEmbedder().generation) == 0


@pytest.mark.usefixtures("other_package")
def test_a_store_whose_driver_is_missing_says_what_to_install():
    with pytest.raises(errors.StoreUnreadable) as failed:
        Memory("torn://ann:s3cret@here/x")
    assert "strange_store_without_driver" in failed.value.sentence
    assert "s3cret" not in f"{failed.value} {failed.value.cli_remedy}"


def no_package(_group: str, _name: str) -> dict[str, object]:
    return {}


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("perdure.providers.plugins.packages_with", no_package)
    with pytest.raises(errors.StoreUnreadable) as failed:
        Memory(DATABASE)
    assert failed.value.cli_remedy == "pip install 'perdure[postgres]'"
    assert "s3cret" not in f"{failed.value} {failed.value!r}"
