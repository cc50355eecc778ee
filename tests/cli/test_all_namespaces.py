"""One file for all namespaces: out with `export`, in with `import`, taken back with one undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory
from perdure.ids import new_id

if TYPE_CHECKING:
    from cli.user import User

SAID = [("alice", "tea"), ("alice", "milk"), ("bob", "tea"), ("team", "deploys go through CI")]


def held(store: Path, namespace: str) -> list[dict[str, Any]]:
    """What a namespace says, without what a store numbers for itself."""
    with Memory(store, namespace=namespace, embedder="none") as memory:
        texts = [record.text for record in memory.list(newest=False)]
        return [{"text": text, "tags": memory.recall(text, limit=1)[0].record.tags} for text in texts]


@pytest.fixture
def file(user: User, tmp_path: Path) -> Path:
    for namespace, text in SAID:
        user.done("remember", text, "-n", namespace, "--tag", namespace)
    path = tmp_path / "everything.jsonl"
    done = user.done("export", str(path), "--all-namespaces")
    assert "Exported 4 memories of 3 namespaces" in done.out
    return path


def test_each_memory_comes_back_into_its_own_namespace(user: User, store: Path, file: Path, tmp_path: Path):
    other = tmp_path / "other.db"
    user.done("import", str(file), "--all-namespaces", "--trusted", "--store", str(other))
    for namespace in ("alice", "bob", "team"):
        assert held(other, namespace) == held(store, namespace)
    again = tmp_path / "again.jsonl"
    user.done("export", str(again), "--all-namespaces", "--store", str(other))
    first, second = (
        [(line["namespace"], line["text"], line["created_at"]) for line in map(json.loads, lines) if "text" in line]
        for lines in (file.read_text(encoding="utf-8").splitlines(), again.read_text(encoding="utf-8").splitlines())
    )
    assert sorted(first) == sorted(second)
    assert sorted(line[:2] for line in first) == sorted(SAID)


def test_one_undo_takes_all_of_it_back(user: User, file: Path, tmp_path: Path):
    other = str(tmp_path / "other.db")
    done = user.done("import", str(file), "--all-namespaces", "--store", other)
    hint = next(line for line in done.err.splitlines() if line.startswith("take it back: perdure undo"))
    assert "--all-namespaces" in hint
    user.done(*hint.removeprefix("take it back: perdure ").split(), "--yes")
    assert {row[1] for row in user.done("namespaces", "--store", other).rows} == {"0"}


def test_without_asking_all_of_it_goes_into_the_one_namespace(user: User, file: Path, tmp_path: Path):
    other = tmp_path / "other.db"
    user.done("import", str(file), "-n", "mine", "--store", str(other))
    assert sorted(one["text"] for one in held(other, "mine")) == sorted({text for _, text in SAID})
    assert [row[0] for row in user.done("namespaces", "--store", str(other)).rows] == ["mine"]


def test_what_a_record_names_is_found_in_its_own_namespace(memory: Memory):
    records: list[dict[str, Any]] = []
    for name in ("alice", "bob"):
        tea = new_id()
        records += [
            {"id": tea, "text": "tea", "namespace": name},
            {"id": new_id(), "text": "milk", "namespace": name, "evidence": [tea]},
        ]
    memory.import_([records[0], records[2], records[1], records[3]], trusted=True, all_namespaces=True)
    for name in ("alice", "bob"):
        tea, milk = memory.namespace(name).list(newest=False)
        assert (tea.text, milk.text, milk.evidence) == ("tea", "milk", (tea.id,))


def test_a_record_that_says_no_namespace_keeps_all_of_them_out(user: User, store: Path):
    answer = user.fails(
        2, "import", "-", "--all-namespaces", stdin='{"text": "tea", "namespace": "a"}\n{"text": "milk"}\n'
    )
    assert "Line 2: It does not say its namespace." in answer.err
    assert not held(store, "a")


@pytest.mark.parametrize("words", [("export", "x.jsonl"), ("import", "-")])
def test_all_namespaces_and_one_of_them_are_not_asked_together(user: User, words: tuple[str, ...]):
    assert "not both" in user.fails(2, *words, "--all-namespaces", "-n", "alice", stdin="").err
