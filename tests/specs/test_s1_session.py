"""S1's session start: what is injected and counted, its diagnostics, and what is left when a part is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from embed.wires import WIRES
from mcp_server.host import served
from providers.server import Behaviour, FaultServer, answering, hang
from specs.entries import TOPICS
from specs.projects import bank, configure, feature, inside, learn, repository, told

from perdure import Memory, settings
from perdure.bank.plain import plain_block
from perdure.embed.local import unavailable
from perdure.model import LEARNING_CATEGORIES
from perdure.session.configuration import session_settings
from perdure.session.start import MOST_CHARACTERS
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.embedder import WordEmbedder
from perdure.trusted_projects import trust

if TYPE_CHECKING:
    from clocks import HandClock
    from providers.server import Connection, Received

    from perdure.store.port import Reader

TITLE = "## Engineering Memory (from knowledge bank)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "website")


@pytest.fixture
def learned(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock) as memory:
        learn(memory, "Read real file samples before writing a parser", confidence="high")
        learn(memory, "Swallowed parse errors hide for weeks", "anti-patterns")
        learn(memory, "Rollback within minutes", "patterns")
        yield memory


@pytest.fixture
def own(stranger: Path) -> Path:
    """A person's own store, without a model, and with something learned."""
    with Memory(embedder="none") as memory:
        learn(memory, "Stored in the database")
    return stranger / ".local/share/perdure/memory.db"


# -- D8, recall tracking -----------------------------------------------------------------------------------------------


def test_what_is_injected_counts_as_recalled(project: Path, learned: Memory, clock: HandClock):
    """S1 tracking count: once for each session that gets it, with the time."""
    told(project, learned)
    record = learned.get(1)
    assert (record.recall_count, learned.get(2).recall_count) == (1, 1)
    assert record.recalled_at is not None


def test_what_was_recalled_often_counts_more(project: Path, learned: Memory):
    """S1 tracking prominence: ten sessions give the whole signal."""
    for _ in range(10):
        told(project, learned)
    (hit, *_) = told(project, learned).entries
    assert hit.explain["recalls"].normalised == pytest.approx(1.0)


def test_recalls_are_in_the_database_after_the_session_has_started(own: Path, project: Path):
    """S1 tracking written: another process sees them."""
    told(project)
    with Memory(own, embedder="none") as memory:
        assert memory.get(1).recall_count == 1


def test_three_sessions_are_three_recalls(own: Path, project: Path):
    """S1 criterion 3: and the time is that of the last one."""
    times: list[datetime] = []
    recalls = 0
    for number in range(3):
        told(project, session=f"session {number}")
        with Memory(own, embedder="none") as memory:
            record = memory.get(1)
            recalls = record.recall_count
            times += [record.recalled_at] if record.recalled_at else []
    assert (recalls, len(times)) == (3, 3)
    assert times == sorted(set(times))


def test_a_resume_in_the_same_state_gets_the_same_text_and_counts_nothing(own: Path, project: Path):
    """S1 tracking resume: hosts drop what they were told before; after compaction it is told and counted again."""
    first = told(project, session="monday")
    again = told(project, session="monday", source="resume")
    forked = told(project, session="tuesday", source="resume")
    assert again.text == forked.text == first.text
    assert told(project, session="monday", source="compact").text == first.text
    with Memory(own, embedder="none") as memory:
        assert memory.get(1).recall_count == 2
        learn(memory, "Learned since")
    assert "Learned since" in told(project, session="monday", source="resume").text


# -- D10, diagnostics --------------------------------------------------------------------------------------------------


def test_the_line_of_a_block_from_the_store(project: Path, learned: Memory):
    """S1 diagnostics active: how many of how many, found by what, asked what, by which model."""
    feature(project, spec="Build a parser for real file samples that never fails")
    line = inside(told(project, learned))[-1]
    assert line == (
        '*Memory: 1 entries from 3 | semantic: active (vector=3, fts5=1) | context: "parser: Build a parser for real '
        'file samples that never fail..." | model: words*'
    )


def test_the_line_of_a_block_from_the_files(project: Path, stranger: Path):
    """S1 diagnostics fallback: how many of the project, how many of the user."""
    bank(project, Samples="Read real samples", Errors="Errors are no noise")
    store = stranger / "data.db"
    store.write_bytes(b"no database")
    block = told(project, environ={"HOME": str(stranger), "PERDURE_STORE": str(store)})
    assert inside(block)[-1] == "*Memory: 2 entries (2 local, 0 global) | semantic: disabled*"


def test_the_block_has_a_heading_for_each_category(project: Path, learned: Memory):
    """S1 diagnostics block: the line extends the block that sessions know."""
    learned.remember("Answer in British English", tier="constitutional")
    lines = inside(told(project, learned))
    assert lines[0] == TITLE
    assert [line for line in lines if line.startswith("###")] == [
        "### Constitution",
        "### Anti-Patterns to Avoid", "### Anti-Pattern: Swallowed",
        "### Heuristics", "### Read",
        "### Patterns to Follow", "### Pattern: Rollback",
    ]  # fmt: skip
    assert lines[-2] == "---"


# -- degradation and constraints ---------------------------------------------------------------------------------------


def test_the_query_of_a_session_is_embedded_as_its_entries_are(project: Path, clock: HandClock):
    """S1 embedding session: once, by the same model; without a query not at all."""
    with Memory(":memory:", embedder=(embedder := WordEmbedder()), clock=clock) as memory:
        learn(memory, "Read real file samples")
        before = embedder.embedded
        assert told(project, memory).query is None
        assert embedder.embedded == before
        feature(project, spec="Parse real files")
        assert told(project, memory).entries[0].explain["vector"].raw > 0


@pytest.mark.parametrize("slow", [hang, None])
def test_a_provider_that_hangs_leaves_the_words(project: Path, monkeypatch: pytest.MonkeyPatch, slow: Behaviour | None):
    """S1 constraint session: the embedder gets what is left of the time, and then words must do."""
    wire = WIRES["ollama"]
    feature(project, spec="Parse real file samples")
    with FaultServer() as server:
        server.always(answering(wire.answer))
        monkeypatch.setenv("PERDURE_EMBEDDER", wire.model)
        monkeypatch.setenv("PERDURE_EMBEDDER_URL", server.url)
        with Memory() as memory:
            learn(memory, "Read real file samples")
        if slow:
            server.always(slow)
        block = told(project, budget=4.0 if slow else 50.0)
    signals = block.entries[0].explain
    assert block.mode == "semantic"
    assert ("vector" in signals, signals["keyword"].raw > 0) == (slow is None, True)


def late(connection: Connection, request: Received) -> None:
    """As slow as a provider across the world."""
    threading.Event().wait(0.3)
    answering(WIRES["gemini"].answer)(connection, request)


def test_a_provider_far_away_is_waited_for(project: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 criterion 9b: three tenths of a second leave time for everything, within the two seconds of a start."""
    configure(project, memory_embedding_provider="gemini")
    trust(project)
    feature(project, spec="Parse real file samples")
    with FaultServer() as server:
        server.always(answering(WIRES["gemini"].answer))
        monkeypatch.setenv("PERDURE_EMBEDDER_URL", f"{server.url}/v1beta")
        monkeypatch.setenv("GEMINI_API_KEY", "sk-test")
        with Memory(settings=session_settings(project)) as memory:
            learn(memory, "Read real file samples")
        server.always(late)
        # A machine that is busy with much else is given more; `make bench-session` shows the time.
        block = told(project, budget=10.0)
    assert "vector=1" in block.diagnostics
    assert "model: gemini-embedding-001" in block.diagnostics


@contextmanager
def hanging() -> Generator[Callable[..., object]]:
    """What takes longer than the test."""
    release = threading.Event()

    def wait(*_: object, **__: object) -> object:
        return release.wait()

    try:
        yield wait
    finally:
        release.set()


@contextmanager
def locked(store: Path) -> Generator[None]:
    """Another program has the file for itself."""
    script = (
        "import sqlite3, sys\n"
        "file = sqlite3.connect(sys.argv[1])\n"
        "file.execute('PRAGMA locking_mode = EXCLUSIVE')\n"
        "file.execute('BEGIN EXCLUSIVE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.stdin.close()


@pytest.mark.parametrize("fault", ["foreign", "directory", "locked", "slow"])
def test_without_the_database_the_files_are_told(
    project: Path, own: Path, fault: str, monkeypatch: pytest.MonkeyPatch, stranger: Path
):
    """S1 criterion 7c: whatever is wrong with it, as the Markdown pipeline tells them, and no error."""
    bank(project, Samples="Read real samples")
    plain = plain_block(project)
    if fault == "foreign":
        own.write_bytes(b"something else" * 1000)
    elif fault == "directory":
        own.unlink()
        own.mkdir()
    with hanging() as wait, locked(own) if fault == "locked" else nullcontext():
        if fault == "slow":
            monkeypatch.setattr(SqliteStore, "open", wait)
        block = told(project, budget=0.8 if fault == "slow" else 50.0)
    assert block.mode == "plain"
    assert inside(block) == [*plain.splitlines(), block.diagnostics]


def test_whatever_is_broken_a_session_starts(project: Path, stranger: Path):
    """S1 constraint output: with nothing to tell, it is told nothing."""
    store = stranger / "data.db"
    store.write_bytes(b"no database")
    assert told(project, environ={"HOME": str(stranger), "PERDURE_STORE": str(store)}).text == ""
    assert told(project / "nowhere").text == ""
    (project / ".claude").mkdir()
    (project / ".claude" / "iflow-dev.local.md").write_bytes(b"---\nmemory_injection_limit: \xff\n")
    assert told(project).text == ""


def test_a_start_never_takes_longer_than_it_may(project: Path, own: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 constraint timeout: whoever waits for a store that never answers gets an answer all the same."""
    with hanging() as wait:
        monkeypatch.setattr(Memory, "learnings", wait)
        assert told(project, budget=0.5).mode == "none"


def test_the_block_fits_into_a_host(project: Path, clock: HandClock):
    """S1 constraint room: hosts cut what is longer; the balance of the categories stays."""
    configure(project, memory_injection_limit=100)
    feature(project, spec="braces commas quotes escapes")
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        for number in range(240):
            said = "braces commas quotes escapes " * 40 if number < 60 else "something else"
            learn(memory, f"\N{GRINNING FACE}nicode{number} {said}", LEARNING_CATEGORIES[min(number // 25, 2)])
        block = told(project, memory)
    assert len(block.text.encode("utf-16-le")) // 2 <= MOST_CHARACTERS
    assert block.left_out
    for category in LEARNING_CATEGORIES:
        assert sum(hit.record.category == category for hit in block.entries) >= 3


def test_the_store_is_one_file_that_readers_and_writers_share(own: Path):
    """S1 constraint file: in WAL mode, and a writer waits for another one at least five seconds."""
    assert own.read_bytes()[18:20] == b"\x02\x02"
    assert settings.load().busy_seconds >= 5


# -- the toggle and the criteria ---------------------------------------------------------------------------------------


def test_the_store_is_used_unless_the_file_says_otherwise(project: Path, own: Path):
    """S1 toggle on: the Markdown of the bank is imported, and the store answers."""
    bank(project, Samples="Read real samples")
    configure(project, memory_semantic_enabled=True)
    for _ in range(2):
        block = told(project)
        assert block.mode == "semantic"
        assert "Stored in the database" in block.text
        assert block.text.count("Read real samples") == 1


def test_switched_off_the_files_alone_are_told(project: Path, stranger: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 criterion 6: byte for byte what the Markdown pipeline tells, and no store is opened or made."""
    bank(project, Samples="Read real samples", Errors="Errors are no noise")
    configure(project, memory_semantic_enabled=False)
    monkeypatch.setattr(SqliteStore, "open", None)
    block = told(project)
    assert block.text == plain_block(project)
    assert not (stranger / ".local/share/perdure/memory.db").exists()


def test_what_one_project_learned_another_is_told(tmp_path: Path, clock: HandClock):
    """S1 criterion 2 session: ranked by what the other one is about."""
    other = repository(tmp_path / "project-b")
    feature(other, spec="Parse a file with error handling")
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock) as memory:
        learn(memory, "Rollback within minutes", source_project="project-b")
        learn(memory, "Parse errors of a file need its line", source_project="project-a")
        block = told(other, memory)
    assert block.entries[0].record.source_project == "project-a"


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_a_session_is_told_what_its_feature_is_about(project: Path, clock: HandClock):
    """S1 criterion 1 session: of fifty learnings, at least 15 of the 20 about parsers among 25, and hardly others."""
    configure(project, memory_injection_limit=25)
    feature(project, "012-parser", spec="building a file parser with error handling")
    with Memory(clock=clock) as memory:
        place = 0
        for topic, entries in TOPICS.items():
            for title, text in entries:
                learn(memory, text, LEARNING_CATEGORIES[place % 3], title=title, source_project=topic)
                place += 1
        block = told(project, memory)
    about_parsers = sum(hit.record.source_project == "parser" for hit in block.entries)
    assert 15 <= about_parsers <= len(block.entries) <= about_parsers + 2


def test_a_session_is_told_some_of_each_category(project: Path, clock: HandClock):
    """S1 criterion 12 session: at least three of each that fit, however many of another category fit better."""
    feature(project, spec="braces commas quotes escapes")
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        for number in range(30):
            learn(memory, f"Pattern{number}: braces commas quotes escapes", "patterns", confidence="high")
        for number in range(4):
            learn(memory, f"Heuristic{number}, with more words: braces commas quotes escapes", "heuristics")
            learn(memory, f"Mistake{number}, with more words: braces commas quotes escapes", "anti-patterns")
        for number in range(60):
            learn(memory, f"Other{number}")
        shown = [hit.record.category for hit in told(project, memory).entries]
    assert len(shown) == 20
    assert min(shown.count(category) for category in LEARNING_CATEGORIES) >= 3


def test_a_learning_that_the_model_stored_is_told_to_the_next_session(project: Path, tmp_path: Path):
    """S1 criterion 4 session: by the server's tool, in another project."""
    with served(tmp_path / "m.db") as host:
        host.call(
            "store_memory", name="Read samples", description="Read real file samples", reasoning="Guesses were wrong",
            category="heuristics",
        )  # fmt: skip
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        assert "### Read samples\nRead real file samples" in told(project, memory).text


def test_everything_compiles():
    """S1 criterion 13: every module of the package."""
    package = Path(told.__code__.co_filename).parents[2] / "src" / "perdure"
    for path in package.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_ten_thousand_entries_are_weighed_in_one_pass(project: Path, monkeypatch: pytest.MonkeyPatch):
    """S1 criterion 9a: nothing is asked of the store for each entry; `make bench-session` shows the time."""
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        for number in range(60):
            learn(memory, f"Learning {number} about parsers")
        reads: list[str] = []
        read = memory._services.store.read

        def counting(namespace: str) -> AbstractContextManager[Reader]:
            reads.append(namespace)
            return read(namespace)

        monkeypatch.setattr(memory._services.store, "read", counting)
        feature(project, spec="parsers")
        assert told(project, memory).entries
    assert len(reads) < 20
