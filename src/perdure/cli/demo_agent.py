"""The second act of `perdure demo`: a coding agent, three sessions of it, two projects.

Its host is played here: it starts the hook and the server that `perdure install` puts into a host's configuration, and
tells them what Claude Code tells them. What the model would say is scripted; what it is told is not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from perdure.cli.demo_script import Chapter, Check
from perdure.cli.terminal import dim, safe, width
from perdure.cli.text_layout import wrap

if TYPE_CHECKING:
    from perdure.cli.demo import Demo

_NAMESPACE: Final = "coding-agent"
_TASK: Final = "A patient gets two appointments whenever the connection is lost and the booking request is repeated."
_MISTAKE: Final = "never send it again"
_LESSON: Final = f"A POST that is sent again after a timeout places the order twice: {_MISTAKE}."
_CORRECTED: Final = "A POST that is sent again after a timeout places the order twice, unless it has the same key."
_NONSENSE: Final = "Tests that fail on a Friday can be switched off."
_LEARNED: Final = (
    {"name": "Silent retries", "description": _LESSON, "reasoning": "The first one had arrived.",
     "category": "anti-patterns"},
    {"name": "Pictures in the page", "description": "Scale product pictures in the background: no page may wait.",
     "reasoning": "The catalogue took nine seconds.", "category": "anti-patterns"},
)  # fmt: skip
_FEATURE: Final = Path("docs", "features", "7-booking")
_FILES: Final[Mapping[str, Mapping[Path, str]]] = {
    "shop": {Path("checkout.py"): "ORDERS = []\n"},
    "clinic": {
        _FEATURE / ".meta.json": json.dumps({"id": "7", "slug": "booking", "status": "active"}),
        _FEATURE / "spec.md": f"# Booking\n\n{_TASK}\n",
    },
}
# Lines of the block that are left out here: a screen is small.
_LEFT_OUT: Final = ("## ", "### Anti-Patterns to Avoid", "- ", "---", "*")
# A host's own command has two seconds; a demo that runs on a busy machine may take longer.
_PATIENT: Final = ("--seconds", "20")
Scene: TypeAlias = "Callable[[Demo], Iterator[str]]"


def make_projects(demo: Demo) -> Iterator[str]:
    """Two repositories, and a home directory without anything in it; settings of the user still count."""
    home = demo.folder / "home"
    settings = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    demo.environment |= {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": settings}
    demo.environment |= {"PERDURE_NAMESPACE": _NAMESPACE, "PERDURE_PROJECT": ""}
    home.mkdir()
    for project, files in _FILES.items():
        for name, text in files.items():
            path = demo.folder / project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        if git := shutil.which("git"):
            _commit(git, demo.folder / project)
    return iter(())


def _commit(git: str, project: Path) -> None:
    """Whatever the surroundings say: inside a hook of git, `GIT_DIR` is another repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*person, "commit", "-qm", "Begin")):
        subprocess.run((git, *words), cwd=project, env=environment, check=False, capture_output=True)  # noqa: S603


def starts(project: str, source: str = "startup") -> Scene:
    """A session starts: the host asks the hook what the model is to be told."""

    def scene(demo: Demo) -> Iterator[str]:
        session, demo.folder = demo.environment["PERDURE_SESSION"], Path(demo.environment["HOME"]).with_name(project)
        here = str(demo.folder)
        demo.environment |= {"CLAUDE_PROJECT_DIR": here, "CLAUDE_CODE_SESSION_ID": session}
        event = {"hook_event_name": "SessionStart", "source": source, "session_id": session, "cwd": here}
        yield demo.prompt(f"perdure hook {' '.join(_PATIENT)}") + dim(f"    # SessionStart ({source}) in {project}")
        answer = demo.writer("hook", *_PATIENT).communicate(json.dumps(event).encode())[0]
        told: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
        if told not in demo.told:
            in_short = (line.lstrip("# ") for line in told.splitlines() if line and not line.startswith(_LEFT_OUT))
            yield from (f"{dim('|')} {safe(part)}" for line in in_short for part in wrap(line, width() - 2))
        demo.told.append(told)

    return scene


def calls(tool: str, corrects: str | None = None, **arguments: str) -> Scene:
    """The model calls a tool of the server that runs beside the session; `corrects` is the name of what it changes."""

    def scene(demo: Demo) -> Iterator[str]:
        given: dict[str, Any] = {"id": demo.numbers.get(corrects, 0), **arguments} if corrects else dict(arguments)
        said = " ".join(str(given[name]) for name in ("id", "text", "description") if name in given)
        for line in wrap(f"the model calls {tool}: {said}", width()):
            yield dim(safe(line))
        result = _call(demo, {"name": tool, "arguments": given})
        good = bool(result) and not result["isError"]
        demo.kept &= good
        if good and "name" in arguments:
            demo.numbers[arguments["name"]] = result["structuredContent"]["number"]
        yield from (part["text"] for part in result.get("content", ()))

    return scene


def _call(demo: Demo, call: Mapping[str, Any]) -> dict[str, Any]:
    """Through `perdure mcp`, which runs until its host closes the pipe."""
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    }
    messages = ({"id": 1, "method": "initialize", "params": client}, {"id": 2, "method": "tools/call", "params": call})
    server = demo.writer("mcp")
    feed, out = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)
    answer: dict[str, Any] = {}
    for message in messages:
        feed.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        feed.flush()
        line = out.readline()
        answer = json.loads(line or b"{}")
    feed.close()
    server.wait()
    out.close()
    return answer.get("result", {})


def found_by_meaning(demo: Demo) -> Iterator[str]:
    """Which of the learnings is told first, and by which signals."""
    if not demo.told[-1]:
        says = "The session is told nothing: without a model nothing says that the lesson of the shop fits."
        yield from demo.remark(says, good=demo.ask("recall", _TASK)["mode"] == "keyword")
        return
    explained: dict[str, Any] = demo.ask("session", "explain", "--last")
    entries: list[dict[str, Any]] = explained.get("entries", [])
    title, signals = (entries[0]["title"], entries[0]["explain"]) if entries else ("", {"vector": {"rank": 0}})
    good = title == "Silent retries" and signals["vector"]["rank"] == 1 and "keyword" not in signals
    says = "The lesson of the shop comes first, in a clinic: found by meaning, with no word in common."
    yield from demo.remark(says if good else "The lesson of the shop should have come first.", good=good)


def explain_the_first(demo: Demo) -> Iterator[str]:
    if not demo.told[-1]:
        return
    yield demo.prompt("perdure session explain --last | head -n 1")
    line = demo.answer("session", "explain", "--last", PERDURE_LAYOUT="plain").partition("\n")[0]
    yield from map(safe, wrap(line.replace("\t", "  "), width()))


AGENT_STORY: Final = (
    Chapter("A coding agent: session 1, in the project shop", "first",
            "`perdure install claude-code` has given it a hook and a server. The first session is told nothing, for "
            "nothing was learned yet. Its model learns two things, and stores them.", (
        make_projects,
        starts("shop"),
        Check(lambda demo: not demo.told[-1], "Told nothing.", "It was told something that nobody learned!"),
        *(calls("store_memory", **learned) for learned in _LEARNED),
    )),
    Chapter("Session 2, in the project clinic", "second",
            f'Another repository, another task: "{_TASK}" This is what the model reads first.', (
        starts("clinic"),
        found_by_meaning,
        explain_the_first,
    )),
    Chapter("Correct it", "second", "The lesson was only half right: with a key, sending again is safe.", (
        calls("memory_update", "Silent retries", text=_CORRECTED),
    )),
    Chapter("Session 3, in the shop again", "third", "The mistake is not repeated.", (
        starts("shop"),
        Check(lambda demo: _CORRECTED in demo.told[-1] and _MISTAKE not in demo.told[-1],
              "Told the correction, and not what was corrected.", "It was told the mistake again!"),
        starts("shop", "resume"),
        Check(lambda demo: demo.told[-1] == demo.told[-2] != "",
              "Resumed, it gets the same text letter for letter, which hosts drop: nothing is told twice.",
              "Resumed, it was told something else!"),
    )),
    Chapter("Take the session back", "third", "This session goes wrong. What it wrote is taken back, and no more.", (
        calls("store_memory", name="Fridays", description=_NONSENSE, reasoning="It was late.", category="heuristics"),
        "perdure session forget third --yes",
        Check(lambda demo: _NONSENSE not in demo.stored() and _CORRECTED in demo.stored(),
              "The nonsense is gone, the correction of session 2 is not.", "It took back the wrong things!"),
    )),
)  # fmt: skip
