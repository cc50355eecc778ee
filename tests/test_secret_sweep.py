"""`doctor --secrets`: what got into a store as it was is found, and taken out to the last byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure import Memory, errors
from perdure.model import Finding
from perdure.testing.embedder import WordEmbedder

TOKEN = "ghp_" + "q7W2e9R4t1Y6" * 3
PASSWORD = "Lantern" + "4471!"
BADGE = "BDG-" + "204417"


@pytest.fixture
def careless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Memory]:
    """Opens a store that does not redact what it is given."""

    def opened(**options: object) -> Memory:
        monkeypatch.setenv("PERDURE_REDACT", "off")
        memory = Memory(tmp_path / "store" / "m.db", embedder=WordEmbedder())
        monkeypatch.delenv("PERDURE_REDACT")
        return memory

    (tmp_path / "store").mkdir()
    return opened


def files_with(directory: Path, secret: str) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def found(findings: list[Finding], check: str = "secrets") -> list[str]:
    return [finding.sentence for finding in findings if finding.check == check]


def problems(memory: Memory) -> list[Finding]:
    return [finding for finding in memory.doctor() if finding.level == "problem"]


def test_a_secret_is_named_by_memory_namespace_version_and_kind_and_never_quoted(
    careless: Callable[[], Memory], tmp_path: Path
):
    with careless() as memory:
        memory.remember("The build takes four minutes")
        memory.remember(f"The deploy token is {TOKEN}")
        memory.update(2, text="The deploy token is in the vault")
        memory.namespace("work").remember("harmless", metadata={"login": {"password": PASSWORD}}, tags=["x"])
        findings = list(memory.doctor(secrets=True))
    first, second = found(findings)
    assert first.startswith("Memory #2 in 'default' holds github_token in its history only: version 1; log entries 2.")
    assert second.startswith("Memory #1 in 'work' holds password now: version 1; log entries 1.")
    assert "perdure erase 2" in (findings[0].remedy or "")
    assert {finding.level for finding in findings} == {"problem"}
    assert not any(secret in str(findings) for secret in (TOKEN, PASSWORD))


def test_a_clean_store_is_told_so(careless: Callable[[], Memory]):
    with careless() as memory:
        memory.remember("Nothing to hide")
        assert [finding.level for finding in memory.doctor(secrets=True)] == ["ok"]
        assert [finding.level for finding in memory.doctor(secrets=True, repair=True)] == ["ok"]


def test_taken_out_a_secret_is_in_no_file_and_the_memory_says_the_rest(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        memory.remember(f"first version with {TOKEN}", key="note:deploy", title=f"about {TOKEN}")
        memory.update("note:deploy", text=f"second version with {TOKEN} and password: {PASSWORD}")
        memory.update("note:deploy", tags=["deploy"])
        memory.remember(f"another one, {TOKEN}", reasoning=f"because {PASSWORD} is the password: {PASSWORD}")
        memory.forget(2)
        assert files_with(tmp_path, TOKEN) != []
        done = list(memory.doctor(secrets=True, repair=True))
        assert {finding.level for finding in done} == {"ok"}
        record = memory.get("note:deploy")
        assert record.text == "second version with [REDACTED:github_token] and password: [REDACTED:password]"
        assert record.title == "about [REDACTED:github_token]"
        assert (record.tags, record.version) == (("deploy",), 3)
        assert problems(memory) == []
        assert [finding.level for finding in memory.doctor(secrets=True)] == ["ok"]
        assert memory.recall("version deploy").hits[0].record.number == 1
        assert memory.recall(TOKEN).hits == () or TOKEN not in str(memory.recall(TOKEN))
    assert files_with(tmp_path, TOKEN) == []
    assert files_with(tmp_path, PASSWORD) == []


def test_of_a_secret_in_the_history_alone_only_those_entries_go(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        memory.remember("version one", key="note:a")
        memory.update("note:a", text=f"version two, {TOKEN}")
        memory.update("note:a", text="version three")
        list(memory.doctor(secrets=True, repair=True))
        assert memory.get("note:a").text == "version three"
        texts = [line.record.text if line.record else None for line in memory.history("note:a")]
        assert texts == ["version one", None, "version three", "version three"]
        assert problems(memory) == []
        assert [finding for finding in memory.doctor(repair=True) if finding.level == "problem"] == []
        assert memory.get("note:a").version == 3
    assert files_with(tmp_path, TOKEN) == []


def test_what_was_taken_out_cannot_be_undone(careless: Callable[[], Memory]):
    with careless() as memory:
        memory.remember(f"a token: {TOKEN}")
        list(memory.doctor(secrets=True, repair=True))
        with pytest.raises(errors.Conflict, match="was not kept"):
            memory.undo(memory.history(1)[-1].change.batch)
        assert memory.get(1).text == "a token: [REDACTED:github_token]"
        assert problems(memory) == []


def test_two_memories_may_say_the_same_once_their_secrets_are_gone(careless: Callable[[], Memory]):
    with careless() as memory:
        memory.remember(f"a token: {TOKEN}")
        memory.remember(f"a token: {TOKEN[:-1]}Z")
        list(memory.doctor(secrets=True, repair=True))
        assert {record.text for record in memory.list()} == {"a token: [REDACTED:github_token]"}
        assert problems(memory) == []


def test_a_key_that_holds_a_secret_is_given_up(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        memory.remember("harmless", key=f"token:{TOKEN}")
        list(memory.doctor(secrets=True, repair=True))
        assert memory.get(1).key is None
        assert problems(memory) == []
    assert files_with(tmp_path, TOKEN) == []


def test_ones_own_patterns_count_and_progress_is_told(
    careless: Callable[[], Memory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with careless() as memory:
        for number in range(3):
            memory.remember(f"Dana's badge {number} is {BADGE}")
    monkeypatch.setenv("PERDURE_REDACT_PATTERNS", "{badge = 'BDG-[0-9]{6}'}")
    told: list[tuple[int, int | None]] = []
    with Memory(tmp_path / "store" / "m.db", embedder="none") as memory:
        assert (
            len(found(list(memory.doctor(secrets=True, progress=lambda done, total: told.append((done, total)))))) == 3
        )
        list(memory.doctor(secrets=True, repair=True))
    assert told == [(3, 3)]
    assert files_with(tmp_path, BADGE) == []


def test_parked_output_with_a_secret_is_found_and_thrown_away(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        record = memory.remember("harmless").record
        memory._services.store.park(
            "default",
            purpose="keywords",
            memory=1,
            model="ollama:qwen3",
            error="not JSON",
            output=f"the token is {TOKEN}",
            attempts=3,
            at=record.created_at,
        )
        assert "parked as 1 in 'default', holds github_token" in found(list(memory.doctor(secrets=True)))[0]
        list(memory.doctor(secrets=True, repair=True))
        assert memory._services.store.parked("default") == []
    assert files_with(tmp_path, TOKEN) == []


def test_a_model_may_look_but_not_take_out(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        memory.remember(f"a token: {TOKEN}")
    with Memory(tmp_path / "store" / "m.db", embedder="none", writer="model") as memory:
        assert len(found(list(memory.doctor(secrets=True)))) == 1
        with pytest.raises(errors.NotAllowed):
            list(memory.doctor(secrets=True, repair=True))


def test_backups_that_may_still_hold_it_are_named(careless: Callable[[], Memory], tmp_path: Path):
    with careless() as memory:
        memory.remember(f"a token: {TOKEN}")
        memory.backup(tmp_path / "copy.db")
        warnings = [finding for finding in memory.doctor(secrets=True, repair=True) if finding.level == "warning"]
    assert [str(tmp_path / "copy.db") in finding.sentence for finding in warnings] == [True]


def test_everything_that_reads_the_past_copes_with_what_is_gone(careless: Callable[[], Memory]):
    with careless() as memory:
        memory.remember("version one", key="note:a")
        memory.checkpoint("before")
        then = memory.update("note:a", text=f"version two, {TOKEN}").record.updated_at
        memory.update("note:a", text="version three")
        list(memory.doctor(secrets=True, repair=True))
        assert TOKEN not in json.dumps([str(version) for version in memory.versions("note:a")])
        assert TOKEN not in str(memory.recall("version", known_at=then))
        assert TOKEN not in str(list(memory.log()))
        memory.restore_checkpoint("before")
        assert memory.get("note:a").text == "version one"
        assert problems(memory) == []
