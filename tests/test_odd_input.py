"""Whatever a caller passes, the answer is an answer or one of our own errors, and nothing is half done."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from perdure import Memory, errors
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no")


class Nowhere(tzinfo):
    def utcoffset(self, dt: datetime | None) -> Any:
        return 5

    def tzname(self, dt: datetime | None) -> str:
        return "nowhere"

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None


class Tier(str, Enum):  # noqa: UP042 - the older kind shows itself as Tier.NORMAL
    NORMAL = "normal"


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


ODD: list[Any] = [
    None, True, 5, -1, 0, 1.5, float("nan"), float("inf"), 10**5000, b"bytes", "", "\x00", "\ud800", [], [5], [""], {},
    {1: 2}, nested(950), object(), Unprintable(), datetime(2026, 1, 1, tzinfo=Nowhere()), "x" * 100_000,
]  # fmt: skip

CALLS: dict[str, Callable[[Memory, Any], object]] = {
    "remember": lambda memory, odd: memory.remember(odd),
    "idempotency_key": lambda memory, odd: memory.remember("x", idempotency_key=odd),
    "recall": lambda memory, odd: memory.recall(odd),
    "limit": lambda memory, odd: memory.recall("x", limit=odd),
    "recipe": lambda memory, odd: memory.recall("x", recipe=odd),
    "namespaces": lambda memory, odd: memory.recall("x", namespaces=odd),
    "get": lambda memory, odd: memory.get(odd),
    "after": lambda memory, odd: memory.list(after=odd),
    "update": lambda memory, odd: memory.update(1, text=odd),
    "add_tags": lambda memory, odd: memory.update(1, add_tags=odd),
    "forget": lambda memory, odd: memory.forget(odd),
    "mode": lambda memory, odd: memory.forget(1, mode=odd),
    "confirm": lambda memory, odd: memory.forget("oldest", confirm=odd),
    "erase": lambda memory, odd: memory.erase(odd),
    "erase several": lambda memory, odd: memory.erase([odd, odd], confirm=True),
    "dry_run": lambda memory, odd: memory.forget(1, dry_run=odd),
    "restore": lambda memory, odd: memory.restore(odd),  # pyright: ignore[reportUnknownLambdaType]
    "history": lambda memory, odd: memory.history(odd),
    "namespace": lambda memory, odd: memory.namespace(odd),
    "export": lambda memory, odd: memory.export(odd),
    "states": lambda memory, odd: memory.export(io.StringIO(), states=odd),
    "import": lambda memory, odd: memory.import_(odd),
    "import a list": lambda memory, odd: memory.import_([odd]),
    "import text": lambda memory, odd: memory.import_([{"text": odd}]),
    "import time": lambda memory, odd: memory.import_([{"text": "x", "updated_at": odd}], trusted=True),
    "import count": lambda memory, odd: memory.import_([{"text": "x", "observation_count": odd}], trusted=True),
    **{
        f"field {name}": lambda memory, odd, name=name: memory.remember("x", **{name: odd})
        for name in (
            "key",
            "title",
            "category",
            "tags",
            "keywords",
            "metadata",
            "tier",
            "importance",
            "valid_at",
            "trust",
        )
    },
    **{
        f"filter {name}": lambda memory, odd, name=name: memory.list(**{name: odd})
        for name in ("tags", "category", "source", "tier", "since", "until", "states", "spec_folder")
    },
}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with Memory(":memory:", embedder="none") as opened:
        opened.remember("x marks the spot")
        yield opened


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_argument_of_any_kind_raises_anything_but_our_errors(memory: Memory, call: Callable[[Memory, Any], object]):
    for odd in ODD:
        with suppress(errors.PerdureError):
            call(memory, odd)
    assert [found for found in memory.doctor() if found.level == "problem"] == []


@pytest.mark.parametrize("store", [5, b"x.db", object(), 1.5], ids=lambda store: type(store).__name__)
def test_what_is_no_store_is_refused_at_once(store: Any):
    with pytest.raises(errors.InvalidInput):
        Memory(store)


@pytest.mark.parametrize("name", ["actor", "surface", "session"])
@pytest.mark.parametrize("value", [5, "", "\x00", b"x"], ids=repr)
def test_who_writes_must_be_a_name(name: str, value: Any):
    with pytest.raises(errors.PerdureError):
        Memory(":memory:", **{name: value})


def test_a_member_of_an_enumeration_is_stored_as_the_text_it_stands_for(memory: Memory):
    memory.remember(Tier.NORMAL, tier=Tier.NORMAL, tags=[Tier.NORMAL])
    record = memory.get(2)
    assert (record.text, record.tier, record.tags) == ("normal", "normal", ("normal",))


def test_a_memory_that_could_never_have_been_true_is_refused(memory: Memory):
    with pytest.raises(errors.InvalidInput):
        memory.remember("y", valid_at="2026-02-01", invalid_at="2026-01-01")
    memory.remember("y", valid_at="2026-02-01")
    with pytest.raises(errors.InvalidInput):
        memory.update(2, invalid_at="2026-02-01")


def test_arguments_beat_a_settings_object(tmp_path: Path):
    rules = load(store=tmp_path / "other.db", namespace="theirs")
    with Memory(":memory:", settings=rules, embedder="none", namespace="mine") as memory:
        memory.remember("y")
        assert memory.stats().namespaces[0].name == "mine"
        assert memory.recall("y").mode == "keyword"
    assert not (tmp_path / "other.db").exists()


def test_a_tilde_is_the_home_directory(stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Memory("~/mine.db", embedder="none") as memory:
        memory.remember("y")
    assert (stranger / "mine.db").exists()
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("PERDURE_STORE", "~nosuchuser/x"), ("PERDURE_BUSY_SECONDS", "1e300"), ("PERDURE_INDEX_MEGABYTES", "1e308")],
)
def test_a_setting_that_cannot_be_used_is_named(variable: str, value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.SettingsInvalid) as raised:
        Memory(embedder="none")
    assert variable in raised.value.sentence


class Foreign(WordEmbedder):
    """A foreign embedder in one of its bad moods."""

    def __init__(self, mood: Callable[[Any], Any]) -> None:
        super().__init__()
        self.mood = mood

    def embed_passages(self, texts: Any, progress: Any = None) -> Any:
        return self.mood(super().embed_passages(texts, progress))


def refuse(_: object) -> None:
    raise ConnectionError("connection reset")


MOODS: dict[str, Callable[[Any], Any]] = {
    "not a number": lambda vectors: vectors * float("nan"),
    "infinite": lambda vectors: vectors + float("inf"),
    "zero": lambda vectors: vectors * 0,
    "other dimensions": lambda vectors: vectors[:, :5],
    "too few": lambda vectors: vectors[:0],
    "words": lambda vectors: [["one"] * 64],
    "nothing": lambda vectors: None,
    "an exception": refuse,
}


@pytest.mark.parametrize("mood", MOODS.values(), ids=MOODS)
def test_a_bad_vector_is_never_stored_and_the_text_always_is(mood: Callable[[Any], Any]):
    with Memory(":memory:", embedder=Foreign(mood)) as memory:
        done = memory.remember("tea on monday")
        assert done.vector_pending
        assert done.notes
        assert memory.recall("tea").mode == "keyword"
        assert memory.recall("tea")[0].record.text == "tea on monday"
        assert memory.work().vectors_pending == 1


def test_vectors_of_another_float_type_are_taken_as_they_are_meant():
    with Memory(":memory:", embedder=Foreign(lambda vectors: vectors.astype(float).tolist())) as memory:
        assert not memory.remember("tea on monday").vector_pending
        assert memory.recall("tea").mode == "hybrid"


def test_a_store_that_was_taken_away_still_closes(tmp_path: Path):
    memory = Memory(tmp_path / "agent.db", embedder="none")
    memory.remember("tea")
    memory.recall("tea")
    (tmp_path / "agent.db").unlink()
    memory.close()
    with pytest.raises(errors.StoreClosed):
        memory.get(1)
