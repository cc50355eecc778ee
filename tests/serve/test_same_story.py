"""`Memory("file")`, `Memory("postgresql://…")` and `Memory("http://…")` before either answer the same, verb by verb."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from serve.running import RunningServer
from serve.story import CHAPTERS, tell

from perdure import Conversation, Memory
from perdure.errors import StoreRemote
from perdure.remote.conversation import RemoteConversation
from perdure.remote.memory import RemoteMemory
from perdure.settings import load

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

# What needs the file itself, or whoever serves it: each says where to run it.
LOCAL_ALONE = {"backup", "restore_backup", "doctor", "writing_as somebody else"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, postgres_stores: EmptyStores) -> dict[str, dict[str, list[object]]]:
    """In the scope of S2, so that an episode waits."""
    folder, scope = tmp_path_factory.mktemp("story"), {"PERDURE_LEARN_SCOPE": "conversation"}
    settings = load({"HOME": str(folder), **scope}, embedder="none")
    with Memory(folder / "local.db", settings=settings) as memory:
        local = tell(memory)
    stories = {"file": local}
    with Memory(postgres_stores.new_url(), settings=settings) as memory:
        stories["database"] = tell(memory)
    for name, store in (("server", folder / "served.db"), ("server before a database", postgres_stores.new_url())):
        served = RunningServer(store, environment=scope)
        with served as server, Memory(server.started["url"], token=server.owner) as memory:
            stories[name] = tell(memory)
    return stories


@pytest.mark.parametrize("chapter", [chapter.__name__ for chapter in CHAPTERS])
def test_every_store_answers_what_a_file_answers(told: dict[str, dict[str, list[object]]], chapter: str):
    assert told["file"][chapter]
    for store, story in told.items():
        assert without_places(story[chapter]) == told["file"][chapter], store


def without_places(told: Any) -> Any:
    """Only a database says after an erasure where its own bytes may still be."""
    if not isinstance(told, list | tuple):
        return told
    parts = list(cast("list[Any]", told))
    kept = [without_places(part) for part in parts if not str(part).startswith("Bytes of it may still be in")]
    return kept if isinstance(told, list) else tuple(kept)


def public(kind: type) -> dict[str, Any]:
    return {name: value for name in dir(kind) if not name.startswith("_") and callable(value := getattr(kind, name))}


@pytest.mark.parametrize(("local", "remote"), [(Memory, RemoteMemory), (Conversation, RemoteConversation)])
def test_every_verb_is_there_with_the_same_signature(local: type, remote: type):
    verbs = public(local)
    assert len(verbs) >= 3
    assert {name: str(signature(verb)) for name, verb in public(remote).items()} == {
        name: str(signature(verb)) for name, verb in verbs.items()
    }
    # A verb that is not asked of the server would look for an engine that is not there.
    by_others = {"episodes", "conflicts"}
    inherited = {name for name in verbs if getattr(remote, name) is getattr(local, name)}
    assert inherited <= by_others
    assert str(signature(RemoteMemory.__init__)) == str(signature(Memory.__init__))


def test_what_cannot_be_done_from_afar_says_where_to_do_it(shared: RunningServer, tmp_path: Path):
    with Memory(shared.started["url"], token=shared.owner) as memory:
        calls = {
            "backup": lambda: memory.backup(tmp_path / "copy"),
            "restore_backup": lambda: memory.restore_backup(tmp_path / "copy"),
            "doctor": lambda: memory.doctor(repair=True),
            "writing_as somebody else": lambda: memory.writing_as("somebody", writer="model"),
        }
        assert set(calls) == LOCAL_ALONE
        for name, call in calls.items():
            with pytest.raises(StoreRemote) as refused:
                call()
            assert "perdure" in refused.value.remedy or "token" in refused.value.remedy, name
