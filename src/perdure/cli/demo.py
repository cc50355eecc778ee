"""`perdure demo`: it runs real commands as real processes, shows what they say, and checks every remark about it.

The host of the coding agent is played here: it starts the hook and the server that `perdure install` puts into a host's
configuration. What its model would say is scripted; what it is told is not.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import IO, Any, Final, cast

import click

from perdure.cli.command import Target, command
from perdure.cli.exit_codes import FAILED, OK
from perdure.cli.render import View
from perdure.cli.terminal import dim, safe, width
from perdure.cli.text_layout import wrap
from perdure.errors import Conflict

_PERDURE: Final = (sys.executable, "-P", "-m", "perdure")
_QUESTION: Final = "which food is somebody allergic to?"
_CORRECTED: Final = "Bob gets hives from peanuts and from shellfish"
_NONSENSE: Final = "Peanuts are safe for everybody"
_NOTES: Final = tuple(f"Note {number}: measurement {number * 7919 % 1000}" for number in range(1, 601))
_KILLED_AFTER: Final = 40
_TASK: Final = "A patient gets two appointments whenever the connection is lost and the booking request is repeated."
_MISTAKE: Final = "never send it again"
_LESSON: Final = f"A POST that is sent again after a timeout places the order twice: {_MISTAKE}."
_LESSON_CORRECTED: Final = "A POST that is sent again after a timeout places the order twice, unless it has a key."
# Lines of what a session is told that are left out here: a screen is small.
_LEFT_OUT: Final = ("## ", "### Anti-Patterns to Avoid", "- ", "---", "*", "<", "Between")
# A host's own command has two seconds; a demo that runs on a busy machine may take longer.
_HOOK: Final = ("hook", "--seconds", "20")


@dataclass(slots=True)
class Demo:
    """Plays the story. `output` is where the commands write to, `folder` where they are run."""

    environment: dict[str, str]
    output: int | None
    folder: Path = Path()
    kept: bool = True

    def play(self) -> Iterator[str]:
        yield from self.title("An agent learns something. It is on disk before it is acknowledged.", "monday")
        yield from self.run('perdure remember "Bob gets hives from peanuts" --key person:bob')
        yield from self.run('perdure remember "The staging database is rebuilt every night at 02:00" --tag ops')
        yield from self.title("Somebody asks, in words of their own.", "monday")
        yield from self.run(f'perdure recall "{_QUESTION}" --limit 1')
        by_meaning = json.loads(self.answer("recall", _QUESTION, "--json"))["mode"] != "keyword"
        says = "Question and answer have no word in common: it was found by meaning, by a model on this machine."
        says = says if by_meaning else "There is no model here, so Perdure searches by words alone, and says so."
        yield from self.check("peanuts" in self.answer("recall", _QUESTION) or not by_meaning, says)
        yield from self.title("A correction is a new version; the old one stays.", "tuesday")
        yield from self.run(f'perdure update person:bob --text "{_CORRECTED}"')
        yield from self.title("A hostile web page makes an agent write nonsense. One call undoes it.", "tuesday")
        yield from self.run(f'PERDURE_SESSION=mallory perdure remember "{_NONSENSE}"')
        yield from self.run("perdure undo --session mallory --yes")
        undone = _CORRECTED in self.stored() and _NONSENSE not in self.stored()
        yield from self.check(undone, "Everything is as it was before that session.")
        yield from self.title("A writer takes notes from a file, and is killed in the middle.", "wednesday")
        yield from self.kill_a_writer()
        yield from self.title("A coding agent in the project shop: its model learns a lesson.", "first", "shop")
        learned = {"name": "Silent retries", "reasoning": "The first one had arrived.", "category": "anti-patterns"}
        yield from self.call("store_memory", description=_LESSON, **learned)
        yield from self.title(f'Another project, another task: "{_TASK}"', "second", "clinic")
        told = yield from self.start_session()
        says = "The lesson of the shop comes first, in a clinic: found by meaning, with hardly a word in common."
        yield from self.check(bool(told) == by_meaning, says if told else "Without a model nothing says that it fits.")
        yield from self.call("memory_update", id=1, text=_LESSON_CORRECTED)
        yield from self.title("The shop again.", "third", "shop")
        told = yield from self.start_session()
        corrected = _LESSON_CORRECTED in told and _MISTAKE not in told
        yield from self.check(corrected, "Told the correction, and not what was corrected.")

    def title(self, sentence: str, session: str, project: str = "") -> Iterator[str]:
        """Begin a session, in a project with a feature of its own."""
        self.environment["PERDURE_SESSION"] = session
        if project:
            self.folder = Path(self.environment["HOME"], project)
            feature = self.folder / "docs" / "features" / "7-booking"
            if project == "clinic":
                feature.mkdir(parents=True)
                (feature / ".meta.json").write_text('{"id": "7", "slug": "booking", "status": "active"}', "utf-8")
                (feature / "spec.md").write_text(f"# Booking\n\n{_TASK}\n", "utf-8")
            self.folder.mkdir(exist_ok=True)
            named = {"CLAUDE_PROJECT_DIR": str(self.folder), "CLAUDE_CODE_SESSION_ID": session, "PERDURE_PROJECT": ""}
            self.environment |= {**named, "PERDURE_NAMESPACE": "coding-agent"}
        return iter(("", *(click.style(line, bold=True) for line in wrap(sentence, width()))))

    def run(self, line: str) -> Iterator[str]:
        """Run a command for everyone to see; it has to succeed."""
        yield f"{dim('$')} {click.style(line, fg='cyan')}"
        words, variables = shlex.split(line), dict[str, str]()
        while "=" in words[0]:
            name, _, variables[name] = words.pop(0).partition("=")
        sys.stdout.flush()
        self.kept &= self._start(*words[1:], variables=variables, stdout=self.output, stderr=STDOUT).wait() == 0

    def check(self, good: bool, says: str) -> Iterator[str]:  # noqa: FBT001
        self.kept &= good
        says = says if good else f"It should have been so: {says}"
        return (click.style(line, fg="green" if good else "red") for line in wrap(says, width()))

    def start_session(self) -> Generator[str, None, str]:
        """The host asks the hook what the model is to be told."""
        event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(self.folder)}
        event["session_id"] = self.environment["PERDURE_SESSION"]
        line = click.style(f"perdure {' '.join(_HOOK)}", fg="cyan")
        yield f"{dim('$')} {line}" + dim(f"    # SessionStart (startup) in {self.folder.name}")
        answer = self._start(*_HOOK, stdin=PIPE, stdout=PIPE).communicate(json.dumps(event).encode())[0]
        told: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
        in_short = (line.lstrip("# ") for line in told.splitlines() if line and not line.startswith(_LEFT_OUT))
        yield from (f"{dim('|')} {safe(part)}" for line in in_short for part in wrap(line, width() - 2))
        return told

    def call(self, tool: str, **arguments: Any) -> Iterator[str]:
        """The model calls a tool of the server that runs beside the session, until its host closes the pipe."""
        said = arguments.get("description") or arguments.get("text")
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "demo", "version": "1"}}
        called = {"name": tool, "arguments": arguments}
        with self._start("mcp", stdin=PIPE, stdout=PIPE) as server:
            feed, out, answer = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout), b""
            for number, (method, params) in enumerate((("initialize", client), ("tools/call", called))):
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                feed.write(json.dumps(message).encode() + b"\n")
                feed.flush()
                answer = out.readline()
        self.kept &= not json.loads(answer or b"{}").get("result", {"isError": True})["isError"]
        return (dim(safe(line)) for line in wrap(f"the model calls {tool}: {said}", width()))

    def kill_a_writer(self) -> Iterator[str]:
        """Every note that was acknowledged before the writer died has to be in the store."""
        yield f"{dim('$')} {click.style('perdure remember --lines < notes.txt', fg='cyan')}"
        notes = self.folder / "notes.txt"
        notes.write_text("\n".join(_NOTES), "utf-8")
        lines: list[bytes] = []
        with notes.open("rb") as feed, self._start("remember", "--lines", stdin=feed, stdout=PIPE) as writer:
            for line in cast("IO[bytes]", writer.stdout):
                lines.append(line)
                if len(lines) == _KILLED_AFTER:
                    writer.kill()
        # A line that was cut off is no acknowledgement; one that waited in the pipe is.
        acknowledged = [line.decode("utf-8").rstrip() for line in lines if line.endswith(b"\n")]
        yield from map(safe, [*acknowledged[-1:], "Killed"])
        stored, count = self.stored(), len(acknowledged)
        kept = sum(note in stored for note in _NOTES[:count])
        says = f"{count} notes were acknowledged before the kill, and {kept} of them are there."
        yield from self.check(kept == count > 0, says)

    def stored(self) -> set[str]:
        return {json.loads(line).get("text", "") for line in self.answer("export", "-").splitlines()}

    def answer(self, *words: str) -> str:
        """What a command writes, behind the scenes."""
        return self._start(*words, stdout=PIPE).communicate()[0].decode("utf-8")

    def _start(
        self, *words: str, variables: Mapping[str, str] | None = None, **streams: Any
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **self.environment, **(variables or {})}
        streams = {"stdin": DEVNULL, "stderr": DEVNULL, **streams}
        return subprocess.Popen[bytes]((*_PERDURE, *words), env=environment, cwd=self.folder, **streams)


@command("demo", examples=("perdure demo", "perdure demo --store story.db    # and look around afterwards"))
def main(target: Target) -> View:
    """Watch a short story on a temporary store.

    Remember, recall, correct, take back, and a crash; then a coding agent, in three sessions and two projects. Real
    commands with their real output, offline, in under a minute. With --store the store is kept. Exit code 1 when
    anything did not come out as promised.
    """
    if target.store and Path(target.store).exists():
        raise Conflict(f"{target.store} exists; the demo wants a store of its own.", remedy="Name a new file.")
    namespace = target.namespaces[0] if target.namespaces else "default"
    # Hints name the program as a shell finds it.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    environment = {"PERDURE_NAMESPACE": namespace, "PERDURE_LAYOUT": "terminal", "PATH": path}
    demo = Demo(environment, output=DEVNULL if target.json else None)
    seconds: list[float] = []

    def play() -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="perdure-demo-", ignore_cleanup_errors=True) as directory:
            store = Path(target.store).absolute() if target.store else Path(directory) / "memory.db"
            demo.environment["PERDURE_STORE"] = str(store)
            demo.folder = Path(directory)
            # The coding agent has a home without anything in it; settings of the user still count.
            settings = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
            demo.environment |= {"HOME": directory, "XDG_DATA_HOME": directory, "XDG_CONFIG_HOME": settings}
            yield click.style("Perdure: memory that outlives the session.", bold=True)
            yield dim(f"in a store of its own: {safe(str(store))}{'' if target.store else ', removed at the end'}")
            began = time.monotonic()
            yield from demo.play()
            seconds.append(time.monotonic() - began)
        yield ""
        if not demo.kept:
            yield click.style("Not everything came out as promised: see the red lines.", fg="red", bold=True)
        installed = shlex.quote(os.path.relpath(Path(sysconfig.get_path("scripts"), "perdure")))
        perdure = "perdure" if shutil.which("perdure") else safe(installed)
        yield f"That took {seconds[0]:.0f} seconds, and no network. For your coding agent, and for yourself:"
        yield f"  {perdure} install claude-code"
        yield f'  {perdure} remember "Perdure has kept its promises"'

    def document() -> dict[str, Any]:
        for _ in play():
            pass
        return {"kept_every_promise": demo.kept, "seconds": round(seconds[0], 1)}

    return View(json=document, lines=play(), exit_code=lambda: OK if demo.kept else FAILED)
