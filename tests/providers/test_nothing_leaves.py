"""With `egress` none, which is the default, nothing leaves this machine: not a packet, not a look-up, not a socket."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from providers.audit import network_events

from perdure import Memory
from perdure.embed.port import import_runtime

# The ways of the command line through the embedder.
COMMANDS = [
    ["remember", "The boiler is serviced every October."],
    ["recall", "when is the heating looked after?"],
    ["work"],
    ["doctor"],
]
# What the interpreter tells of sockets, of whatever kind, and of starting another process that could open one.
PROGRAM = """
import sys
seen = []
names = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "subprocess.", "os.system", "os.posix_spawn")
sys.addaudithook(lambda event, arguments: seen.append(event) if event.startswith(names) else None)
from perdure.cli.app import main
try:
    main()
finally:
    loaded = {"httpcore2", "h11", "ssl"} & set(sys.modules)
    print("events", sorted(set(seen)), "loaded", sorted(loaded), file=sys.stderr)
"""


@pytest.mark.parametrize("embedder", ["local", "none"])
def test_without_a_provider_no_command_opens_a_socket(tmp_path: Path, embedder: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_EMBEDDER", embedder)
    monkeypatch.setenv("PERDURE_STORE", str(tmp_path / "a.db"))
    for command in COMMANDS if embedder == "local" else COMMANDS[:2]:
        words = [sys.executable, "-c", PROGRAM, *command]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[-1] == "events [] loaded []", command


def test_what_runs_a_model_is_forbidden_to_report_its_use_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "stand_in_runtime.py").write_text(
        "import os\nforbidden = os.environ.get('ORT_DISABLE_TELEMETRY')\n", encoding="utf-8"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    assert import_runtime("stand_in_runtime").forbidden == "1"


def test_without_a_provider_the_system_sees_no_socket_of_the_internet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The system calls themselves: also what a library would do behind the interpreter's back."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    monkeypatch.setenv("PERDURE_STORE", str(tmp_path / "a.db"))
    trace = tmp_path / "calls"
    for command in COMMANDS[:2]:
        words = [sys.executable, "-m", "perdure", *command]
        watch = [strace, "-f", "-qq", "-e", "trace=%network", "-o", str(trace)]
        done = subprocess.run([*watch, *words], capture_output=True, encoding="utf-8", check=False)
        if "ptrace" in done.stderr:
            pytest.skip("this system lets nobody trace a process")
        assert done.returncode == 0, done.stderr
        calls = trace.read_text(encoding="utf-8")
        assert re.findall(r"^.*(?:AF_INET|AF_INET6|AF_PACKET|AF_NETLINK|sendto).*$", calls, re.MULTILINE) == []


def test_without_a_provider_a_memory_in_a_program_asks_nobody(tmp_path: Path):
    with network_events() as events, Memory(tmp_path / "a.db") as memory:
        memory.remember("The boiler is serviced every October.")
        memory.recall("when is the heating looked after?")
        memory.work()
    assert events == []
