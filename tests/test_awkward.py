"""What a caller meets when something was not meant so: an embedder that is none, a clock without a zone, an empty path,
an error or a memory that is sent to another process.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from perdure import Memory, PerdureError, errors
from perdure.embed.port import Generation
from perdure.testing.embedder import WordEmbedder


class _Remote:
    """An embedder of somebody's own, whose provider is away."""

    generation = Generation("remote", "their-model", 4, "1")

    def __init__(self, error: Exception) -> None:
        self.error = error

    def embed_query(self, text: str) -> Any:
        raise self.error

    def embed_passages(self, texts: Sequence[str], progress: Any = None) -> Any:
        raise self.error


class _Nameless(WordEmbedder):
    @property
    def generation(self) -> Any:
        raise RuntimeError("no key")

    @generation.setter
    def generation(self, value: Any) -> None:
        pass


@pytest.mark.parametrize(
    "embedder", [5, len, WordEmbedder, object(), {"generation": 1}, _Nameless()], ids=lambda each: type(each).__name__
)
def test_what_is_no_embedder_is_refused_when_the_memory_is_made(tmp_path: Path, embedder: Any):
    with pytest.raises(errors.InvalidInput, match="embedder") as refused:
        Memory(tmp_path / "m.db", embedder=embedder)
    assert "Embedder" in refused.value.remedy


@pytest.mark.parametrize("error", [ConnectionError("host is away"), errors.EmbedderUnavailable("host is away.")])
def test_an_embedder_that_fails_is_named_by_its_own_error_and_ours_is_not_recommended(error: Exception):
    with Memory(":memory:", embedder=_Remote(error)) as memory:
        done = memory.remember("Alice likes tea")
        assert "host is away" in " ".join(done.notes)
        notes = " ".join(memory.recall("tea").notes)
        assert "host is away" in notes
        assert "pip install" not in notes + " ".join(done.notes)


def test_a_clock_without_a_zone_is_one_clear_error():
    with pytest.raises(errors.InvalidInput, match="zone"):
        Memory(":memory:", embedder="none", clock=datetime.now).remember("tea")


def test_an_empty_path_is_called_empty():
    with pytest.raises(errors.SettingsInvalid, match=r"store .* cannot be ''"):
        Memory("")


@pytest.mark.parametrize("cls", errors.all_errors())
def test_an_error_is_the_same_after_it_was_pickled(cls: type[PerdureError]):
    for error in (cls("It is so.", remedy="Do this."), cls("It is so."), cls()):
        error.preview = ("what", 1)  # pyright: ignore[reportAttributeAccessIssue]
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert (type(copy), str(copy), copy.as_dict()) == (cls, str(error), error.as_dict())
        assert copy.preview == ("what", 1)


def test_a_memory_is_not_sent_to_another_process():
    with Memory(":memory:", embedder="none") as memory, pytest.raises(TypeError, match="open the store again"):
        pickle.dumps(memory)


@pytest.mark.parametrize("decay", [True, False, None])
def test_decay_may_be_asked_for_with_any_recipe(decay: bool | None):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Alice likes tea")
        assert len(memory.recall("tea", use_decay=decay)) == 1
        with pytest.raises(errors.InvalidInput):
            memory.recall("tea", use_decay=1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("alice", "no colon"),
        ("人:東京", "letters from a to z"),
        ("a b:c", "letters from a to z"),
        ("1a:c", "begins with a letter"),
        (":b", "begins with a letter"),
        ("a:", "identifier is empty"),
        ("a: b", "begins with a space"),
        ("a:b\nc", "control character"),
        ("a" * 65 + ":b", "64 characters"),
        ("a:" + "b" * 300, "identifier 256"),
    ],
)
def test_what_is_wrong_with_a_key_is_said(key: str, wrong: str):
    with Memory(":memory:", embedder="none") as memory, pytest.raises(errors.InvalidInput, match=wrong) as refused:
        memory.upsert(key, "text")
    assert "type:identifier" in refused.value.remedy


def test_what_was_reverted_in_several_namespaces_is_told_for_each():
    with Memory(":memory:", embedder="none") as memory:
        for name in ("a", "b", "c"):
            memory.namespace(name).remember("one")
        memory.checkpoint("all", all_namespaces=True)
        memory.namespace("a").update(1, add_tags=["x"])
        memory.namespace("b").remember("two")
        memory.namespace("b").update(1, add_tags=["x"])
        done = memory.restore_checkpoint("all", clear_existing=True)
        assert {name: (part.reverted, part.removed) for name, part in done.parts.items()} == {
            "a": ((1,), ()),
            "b": ((1,), (2,)),
        }
        assert {part.batch for part in done.parts.values()} == {done.batch}
        assert memory.namespace("a").undo(memory.namespace("a").update(1, add_tags=["y"]).batch).parts == {}
