"""Whatever is wrong, a hook exits with 0 within its time and says nothing but an answer in the form of its host; what
it kept is there, once, when things are right again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hook.hosts import PATIENCE, UNHURRIED, HookRun, HostSession, run_hook, started, tell
from specs.projects import bank, feature
from store.behind import behind

from perdure import Memory
from perdure.session.spool import Spool

QUESTION = "When is the deploy key rotated?"
# Root passes through all permissions; without these rights it is stopped like anybody else.
UNPRIVILEGED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
needs_rights = pytest.mark.skipif(bool(UNPRIVILEGED) and shutil.which("setpriv") is None, reason="needs setpriv")
ARMED = """
from perdure.testing.buggify import arm_from_environment
arm_from_environment()
from perdure.__main__ import main
main()
"""


def events(session: HostSession) -> list[dict[str, Any]]:
    """One of each kind."""
    return [session.start(), session.prompt(QUESTION), session.stop("Every Friday."), session.end()]


def is_valid(run: HookRun, host: str) -> bool:
    """Exit code 0, nothing that a host would show, and nothing or one answer in its form, not too long."""
    if run.exit_code != 0 or run.err:
        return False
    if not run.out:
        return True
    answer = json.loads(run.out)
    keys = {"additionalContext"} if host.startswith("copilot") else {"hookSpecificOutput"}
    return set(answer) == keys and 0 < len(run.context) <= 9_500


def said() -> list[str]:
    with Memory(embedder="none") as memory:
        talks = [memory.conversation(id).messages() for id in memory.conversations()]
    return [message.text for talk in talks for message in talk]


def damaged(store: Path) -> None:
    with store.open("r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * 20_000)


def of_the_future(store: Path) -> None:
    with behind(store) as other:
        other.pragma("user_version", 99)


def no_database(store: Path) -> None:
    store.write_bytes(b"this is no database at all, and that is that" * 100)


def a_folder(store: Path) -> None:
    store.unlink()
    store.mkdir()


@pytest.mark.parametrize(
    ("breakage", "host"),
    [(damaged, "claude"), (of_the_future, "codex"), (no_database, "gemini"), (a_folder, "copilot")],
)
def test_a_store_that_cannot_be_used_never_costs_the_host_anything(
    breakage: Callable[[Path], None], host: str, project: Path, known: Path
):
    with behind(known) as other:
        other.pragma("journal_mode", "delete")
    breakage(known)
    session = HostSession(host, project)
    runs = [run_hook(json.dumps(event).encode(), environment=session.environment) for event in events(session)]
    assert [is_valid(run, host) for run in runs] == [True] * 4
    assert len(list(known.with_name("memory.db-spool").glob("*.json"))) == 2


@needs_rights
@pytest.mark.parametrize("path", [".", "memory.db"], ids=["folder", "file"])
def test_a_store_that_may_only_be_read_is_read_and_the_session_goes_on(path: str, project: Path, known: Path):
    session = HostSession("claude", project)
    with Memory(embedder="none") as memory:
        memory.conversation("x").add_message("user", "so that nothing is left to be done")
    for file in known.parent.glob("memory.db-*"):
        file.unlink()
    (known.parent / path).chmod(0o500 if path == "." else 0o400)
    runs = [
        run_hook(json.dumps(event).encode(), *UNHURRIED, environment=session.environment, prefix=UNPRIVILEGED)
        for event in events(session)
    ]
    (known.parent / path).chmod(0o700 if path == "." else 0o600)
    assert [is_valid(run, "claude") for run in runs] == [True] * 4
    assert path == "." or "every Friday by the platform team" in runs[1].context
    if path == "memory.db":
        tell(session, session.end())
        assert {QUESTION, "Every Friday."} <= set(said())


def test_on_a_full_disk_a_session_is_told_what_the_knowledge_bank_says(project: Path, known: Path):
    """No file may grow, as on a disk without room: neither the store can be opened nor anything noted down."""
    bank(project, Samples="Read real samples")
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    session = HostSession("claude", project)
    content = json.dumps(session.start()).encode()
    run = run_hook(content, *UNHURRIED, environment=session.environment, script=full + ARMED)
    assert is_valid(run, "claude")
    assert "Read real samples" in run.context
    assert run.context.splitlines()[-2].endswith("semantic: disabled*")


def test_a_store_that_does_not_exist_yet_begins_with_what_was_said(project: Path, store: Path):
    session = HostSession("codex", project)
    for event in events(session):
        assert is_valid(run_hook(json.dumps(event).encode(), *UNHURRIED, environment=session.environment), "codex")
    assert said() == [QUESTION, "Every Friday."]


def test_while_another_process_writes_a_prompt_is_answered_and_what_is_said_waits(project: Path, known: Path):
    session = HostSession("claude", project)
    with behind(known) as other:
        other.execute("BEGIN IMMEDIATE")
        runs = [tell(session, event) for event in events(session)]
        assert "every Friday by the platform team" in runs[1].context
        other.execute("ROLLBACK")
    assert len(list(known.with_name("memory.db-spool").glob("*.json"))) == 2
    session.turn = 2
    tell(session, session.stop("And that was that."))
    assert said() == [QUESTION, "Every Friday.", "And that was that."]
    assert list(known.with_name("memory.db-spool").iterdir()) == []


def test_a_store_that_nobody_else_may_even_read_keeps_no_host_waiting(project: Path, known: Path):
    """The usual two seconds: what is not done by then is left."""
    with behind(known) as other:
        other.pragma("journal_mode", "delete")
        other.execute("BEGIN EXCLUSIVE")
        session = HostSession("gemini", project)
        runs = [run_hook(json.dumps(event).encode(), environment=session.environment) for event in events(session)]
        other.execute("ROLLBACK")
    assert [is_valid(run, "gemini") for run in runs] == [True] * 4


@pytest.mark.parametrize(
    "content",
    [
        b"", b"not json", b"[]", b"null", b'"x"', b"{", b"\xff\xfe\x00", b"[" * 100_000,
        b'{"hook_event_name": 7, "session_id": ["x"], "prompt": {"a": 1}, "cwd": 12}',
        b'{"hook_event_name": "PreToolUse", "session_id": "x", "tool_input": {}}',
    ],
    ids=range(10),
)  # fmt: skip
def test_odd_input_is_no_error(content: bytes, stranger: Path):
    assert run_hook(content) == HookRun(0, "", "")


def test_hostile_strings_are_only_strings(project: Path, known: Path):
    awkward = "\ud800 \x00 \x1b[31m ../../etc/passwd '; DROP TABLE memories; -- {{7*7}} ${HOME} \u202e"
    event = {
        "hook_event_name": "Stop", "session_id": awkward, "prompt_id": awkward, "cwd": awkward, "timestamp": awkward,
        "last_assistant_message": f"{awkward} rotated",
    }  # fmt: skip
    assert run_hook(json.dumps(event).encode(), *UNHURRIED) == HookRun(0, "", "")
    prompt = {**event, "hook_event_name": "UserPromptSubmit", "prompt": f"{QUESTION} {awkward}", "cwd": str(project)}
    assert is_valid(run_hook(json.dumps(prompt).encode(), *UNHURRIED), "claude")
    assert is_valid(run_hook(json.dumps({**prompt, "hook_event_name": "Stop"}).encode(), *UNHURRIED), "claude")


def test_ten_megabytes_are_read_and_cut(project: Path, known: Path):
    session = HostSession("claude", project)
    tell(session, session.prompt(f"{QUESTION} " + "and so on " * (1 << 20)))
    tell(session, session.end())
    (kept,) = said()
    assert kept.startswith(QUESTION)
    assert len(kept) <= 32_100


@pytest.mark.parametrize(
    "odd", ["*Memory: 1 entries " + "| semantic: " * 700_000, "<command-name " * 700_000, "A" * 10**7]
)
def test_no_text_takes_longer_because_of_what_it_holds(project: Path, known: Path, odd: str):
    session = HostSession("claude", project)
    tell(session, session.stop(f"Rotated. {odd}!"))
    (kept,) = said()
    assert kept.startswith("Rotated.")


def test_a_pattern_of_the_user_that_never_ends_keeps_no_host_waiting(project: Path, known: Path):
    settings = project / "perdure.toml"
    settings.write_text('[redact_patterns]\nendless = "(a+)+b"\n', encoding="utf-8")
    session = HostSession("claude", project)
    content = json.dumps(session.stop("a" * 64)).encode()
    own = {**session.environment, "PERDURE_CONFIG": str(settings)}
    assert run_hook(content, "--seconds", "0.5", environment=own) == HookRun(0, "", "")


def test_one_odd_file_in_the_spool_keeps_no_other_back(project: Path, known: Path):
    folder = known.with_name(f"{known.name}-spool")
    folder.mkdir()
    (folder / "0.json").mkdir()
    os.mkfifo(folder / "1.json")
    odd = (
        "[" * 100_000,
        "[]",
        '{"namespace": "a\\nb", "conversation": "c", "role": "x", "content": "", "at": "", "key": ""}',
    )
    for place, content in enumerate((*odd, odd[2].replace('"c"', "[1]"))):
        (folder / f"{place + 2}.json").write_text(content, encoding="utf-8")
    session = HostSession("claude", project)
    tell(session, session.stop("Rotated."))
    assert said() == ["Rotated."]
    assert len(list(folder.glob("*.rejected"))) == 4


@pytest.mark.parametrize("config", ["{,}", "[" * 100_000, "1" * 5000])
def test_a_session_starts_with_the_user_s_memories_whatever_a_file_of_the_project_holds(
    project: Path, known: Path, config: str
):
    with Memory(embedder="none") as memory:
        memory.remember("Never deploy on Friday", title="Fridays", category="anti-patterns")
    path = project / ".opencode/memory/config.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text(config, encoding="utf-8")
    session = HostSession("claude", project)
    told = tell(session, session.start()).context
    assert "Never deploy on Friday" in told
    assert f"*Memory: {path}, line 1, is not JSON" in told.splitlines()[-2]
    assert told.splitlines()[-2].endswith(" The defaults are in use.*")


def a_file(place: Path) -> None:
    place.write_bytes(b"")


def a_link_to_nowhere(place: Path) -> None:
    place.symlink_to(place.with_name("nowhere"))


@pytest.mark.parametrize("obstacle", [a_file, a_link_to_nowhere])
def test_a_turn_is_kept_also_where_something_else_has_the_place_of_the_turns(
    project: Path, known: Path, obstacle: Callable[[Path], None]
):
    obstacle(known.with_name("memory.db-spool"))
    session = HostSession("claude", project)
    tell(session, session.prompt("The deploy key is rotated every Monday."))
    (kept,) = known.with_name("memory.db-spool-2").glob("*.json")
    assert b"every Monday" in kept.read_bytes()
    (finding,) = Spool(known).findings()
    assert (finding.level, finding.check) == ("warning", "spool")
    assert "memory.db-spool is not a folder of yours" in finding.sentence
    tell(session, session.stop("Noted."))
    assert not kept.exists()
    with Memory(embedder="none") as memory:
        said = [record.text for record in memory.conversation(session.id).messages()]
    assert said == ["The deploy key is rotated every Monday.", "Noted."]


def test_a_host_that_does_not_close_its_end_is_not_waited_for(stranger: Path):
    with started("--seconds", "0.5") as process:
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""


def test_nothing_that_is_printed_by_accident_reaches_the_host(project: Path, known: Path, tmp_path: Path):
    noisy = "import os\nos.system('echo stray')\nprint('stray')\n"
    script = f"import perdure.session.prompt_kinds as kinds\nkinds.is_trivial = lambda _: exec({noisy!r})\n{ARMED}"
    session = HostSession("claude", project)
    run = run_hook(json.dumps(session.prompt(QUESTION)).encode(), *UNHURRIED, script=script)
    assert is_valid(run, "claude")
    assert run.context


@pytest.mark.parametrize("event", ["start", "prompt"])
def test_a_model_that_takes_too_long_is_not_waited_for(project: Path, known: Path, event: str):
    """Words are looked for in the time that is left."""
    with Memory(embedder="none") as memory:
        memory.remember("Deploy keys are rotated every Friday by the platform team", title="Keys", category="patterns")
    feature(project, spec="rotate the deploy keys")
    slow = "import threading, perdure.embed.local as local\nlocal.unavailable = lambda: threading.Event().wait()\n"
    session = HostSession("claude", project)
    content = session.start() if event == "start" else session.prompt(QUESTION)
    run = run_hook(
        json.dumps(content).encode(), "--seconds", "5",
        environment={**session.environment, "PERDURE_EMBEDDER": "local"}, script=slow + ARMED,
    )  # fmt: skip
    assert "every Friday by the platform team" in run.context
    assert event == "prompt" or "semantic: active (vector=0, fts5=1)" in run.context


@pytest.mark.parametrize(("host", "prompt"), [("copilot", "Rotate the keys"), ("claude", "Where were we?")])
def test_a_prompt_that_cannot_be_answered_in_time_is_answered_with_what_is_known(
    project: Path, known: Path, host: str, prompt: str
):
    with Memory(embedder="none") as memory:
        memory.remember("The user prefers short answers", category="preference")
    before = HostSession(host, project, id="before")
    tell(before, before.prompt("Write a parser."))
    tell(before, before.stop("Done, but the quotes are still open."))
    tell(before, before.end())
    endless = (
        "import threading, perdure.session.prompt as prompts\nprompts.prompt_context = lambda *_: endless.wait()\n"
    )
    script = endless + "endless = threading.Event()\n" + ARMED
    session = HostSession(host, project, id="now")
    content = json.dumps(session.prompt(prompt)).encode()
    run = run_hook(content, "--seconds", "5", environment=session.environment, script=script)
    assert is_valid(run, host)
    assert "the quotes are still open" in run.context
    assert ("prefers short answers" in run.context) == (host == "copilot")


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("before a message has its name", [QUESTION, "And then?"]),
        ("before commit", [QUESTION, "Every Friday.", "And then?"]),
        ("after commit", [QUESTION, "Every Friday.", "And then?"]),
        ("before stored messages are removed", [QUESTION, "Every Friday.", "And then?"]),
    ],
)
def test_a_hook_that_is_killed_loses_nothing_and_doubles_nothing(
    label: str, kept: list[str], project: Path, known: Path
):
    """The prompt was acknowledged; the answer of the model was not when its hook died, and may be there or not."""
    session = HostSession("claude", project)
    tell(session, session.prompt(QUESTION))
    content = json.dumps(session.stop("Every Friday.")).encode()
    environment = {**session.environment, "PERDURE_BUGGIFY": f"{label}:kill"}
    assert run_hook(content, *UNHURRIED, environment=environment, script=ARMED).exit_code == -signal.SIGKILL
    session.turn = 2
    tell(session, session.prompt("And then?"))
    tell(session, session.end())
    assert said() == kept


def test_eight_hooks_at_once_keep_everything_once(project: Path, known: Path):
    sessions = [HostSession("claude", project, id=f"session-{number // 2}", turn=number % 2) for number in range(8)]
    processes = [started(*UNHURRIED, environment=session.environment) for session in sessions]
    for process, session in zip(processes, sessions, strict=True):
        assert process.stdin is not None
        process.stdin.write(json.dumps(session.stop(f"This is {session.id}, {session.turn}.")).encode())
        process.stdin.close()
    assert [process.wait(PATIENCE) for process in processes] == [0] * 8
    for process in processes:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() + process.stderr.read() == b""
        process.stdout.close()
        process.stderr.close()
    tell(sessions[0], sessions[0].end())
    assert sorted(said()) == [f"This is session-{number // 2}, {number % 2}." for number in range(8)]


@pytest.mark.soak
def test_a_large_store_is_searched_in_time_or_not_at_all(project: Path, known: Path):
    size = 100_000 if "PERDURE_KILLS" in os.environ else 2_000
    words = "alpha beta gamma delta deploy key rotated friday parser cache index".split()
    with Memory(embedder="none") as memory:
        memory.import_(
            {"text": f"{words[n % 11]} {words[n // 11 % 11]} number {n} {words[n // 121 % 11]}"} for n in range(size)
        )
    session = HostSession("claude", project)
    runs = [run_hook(json.dumps(event).encode(), environment=session.environment) for event in events(session)]
    assert [is_valid(run, "claude") for run in runs] == [True] * 4


def modules_loaded(content: Sequence[dict[str, Any]]) -> set[str]:
    script = f"""
import json, os, sys, time
from perdure.hook.program import respond
for event in {content!r}:
    respond(json.dumps(event).encode(), [], time.monotonic() + 50)
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def test_a_hook_loads_no_more_than_its_event_needs(project: Path, known: Path):
    """Modules are counted, not time: a hook runs at every prompt."""
    session = HostSession("claude", project)
    nothing = modules_loaded([{"hook_event_name": "PostToolBatch", "session_id": "x"}])
    assert not nothing & {"perdure.settings", "perdure.model", "dataclasses", "apsw", "click"}
    assert len(nothing) < 90
    trivial = modules_loaded([session.prompt("yes please"), session.prompt("<task-notification>x")])
    assert not trivial & {"perdure.memory", "apsw", "numpy", "click", "rich", "asyncio"}
    session.turn = 2
    kept = modules_loaded([session.stop("Every Friday.")])
    assert not kept & {"perdure.recall.recaller", "numpy", "tokenizers", "click", "rich", "asyncio"}


@pytest.mark.parametrize("umask", ["0", "022", "077"])
def test_whatever_the_umask_nobody_else_reads_what_a_hook_keeps(project: Path, stranger: Path, umask: str):
    """The hook may come before everything else."""
    bank(project, Sampling="Read real samples before you write a parser")
    prefix = ["sh", "-c", f'umask {umask}; exec "$@"', "sh"]
    session = HostSession("claude", project)
    for event in [*events(session), session.start("resume")]:
        run_hook(json.dumps(event).encode(), *UNHURRIED, environment=session.environment, prefix=prefix)
    data = stranger / ".local/share/perdure"
    kept = [data, *data.rglob("*")]
    assert {path.name for path in kept} >= {"memory.db", "sessions", "notes.json", "running", "bank-imports"}
    modes = {str(path): oct(path.stat().st_mode & 0o777) for path in kept}
    assert modes == {str(path): "0o700" if path.is_dir() else "0o600" for path in kept}
