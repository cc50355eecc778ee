"""What one event costs, counted and not timed: how many of our modules a hook imports, and how many calls of named
functions it makes. A count is the same on every machine.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bank.banks import make_project
from hook.hosts import HostSession, run_hook
from learnings import LEARNINGS

from perdure import Memory

# About a twentieth more than what was counted. What has no name is not counted: not every Python calls a function for a
# comprehension.
MOST_MODULES = {"start": 120, "start with a feature": 121, "prompt": 129}
MOST_CALLS = {"start": 3097, "start with a feature": 2790, "prompt": 1850}
COUNTING = """
import json, sys, threading, time
from pathlib import Path

import perdure

package, calls = str(Path(perdure.__file__).parent), [0]

def count(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package) and not code.co_name.startswith("<"):
        calls[0] += 1

threading.setprofile(count)
sys.setprofile(count)
from perdure.hook.program import respond

told = respond(sys.stdin.buffer.read(), [], time.monotonic() + 50)
sys.setprofile(None)
modules = [name for name in sys.modules if name.partition(".")[0] == "perdure"]
print(json.dumps({"told": told, "calls": calls[0], "modules": modules}))
"""


@pytest.fixture
def busy(project: Path, stranger: Path) -> Path:
    """A project with a knowledge bank, decisions and learnings of its own, and learnings of others."""
    make_project(project)
    with Memory(embedder="none") as memory:
        for number, (text, reasoning) in enumerate(LEARNINGS):
            kind = ("patterns", "anti-patterns", "heuristics")[number % 3]
            name = "website" if number % 2 else "another"
            memory.remember(text, category=kind, reasoning=reasoning, source_project=name)
        memory.remember("We decided to parse files with the new parser", source_project="website")
        memory.remember("The user wants short answers")
    return project


@pytest.mark.parametrize("event", MOST_CALLS)
def test_a_hook_imports_few_modules_and_makes_few_calls(event: str, busy: Path):
    if event == "start with a feature":
        feature = busy / "docs" / "features" / "002-parser"
        feature.mkdir(parents=True)
        (feature / ".meta.json").write_text('{"slug": "parser", "status": "active"}', encoding="utf-8")
        (feature / "spec.md").write_text("# Parser\nThe parser reads real file samples.\n", encoding="utf-8")
    first, session = HostSession("claude", busy, id="first"), HostSession("claude", busy, id="second")
    # The first session imports the bank.
    run_hook(json.dumps(first.start()).encode(), script=COUNTING)
    asked = session.prompt("How does the parser read file samples?") if event == "prompt" else session.start()
    counted = json.loads(run_hook(json.dumps(asked).encode(), script=COUNTING).out)
    assert "parser" in counted["told"]
    assert len(counted["modules"]) <= MOST_MODULES[event], sorted(counted["modules"])
    assert counted["calls"] <= MOST_CALLS[event]
