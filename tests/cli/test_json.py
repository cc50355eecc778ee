"""One key has one meaning and one type, in the JSON documents of all commands."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from bank.banks import make_project
from bank.repositories import add_feature
from cli.json_keys import documented, keys_of
from learn.proposals import pair, proposed
from specs.workshop import LEARNING

from perdure import Memory
from perdure.cli.app import COMMANDS, perdure
from perdure.clock import system_clock
from perdure.providers.call import ProviderCall
from perdure.session.tool_use import note_tool
from perdure.settings import load
from perdure.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cli.user import User

# Successes, dry runs, empty answers and refusals. DIR is a directory of the test.
SCENARIO = """
list
recall tea
context tea
summarize
log
promote
checkpoint list
namespaces
triggers tea
remember "Alice prefers dark mode" --key person:alice --title Theme --tag ui --category preference --metadata page=7
remember "Bob drinks green tea" --importance 0.9 --valid-at 2026-01-01 --expires-at 3y --reasoning "He said so"
remember "Always be kind" --tier constitutional
remember "Save context means: write it down" --trigger-phrase "save context"
remember "Alice likes the dark mode of every editor" --abstract a --summary s --idempotency-key k --file-path f
remember --lines
update person:alice --text "Alice prefers light mode" --importance 0.8
update person:alice --text "Alice prefers light mode"
upsert city:alice "Alice lives in Osaka" --evidence e1 --reference r1 --keyword home
upsert city:alice "Alice lives in Tokyo" --title Home
validate 2 --useful
validate 2 --useful
validate 2 --useful
validate 2 --useful
validate 2 --useful
validate 2 --useful
promote
promote 2
show 1
list --limit 2
list --tag nowhere
list --known-at now
recall tea --explain
recall tea --brief --as-of now
recall --concept green --concept tea
recall tea --as-of now --known-at now
recall nothing --tag nowhere
context "dark mode"
context "dark mode tea" --budget 60
context tea --as-of now
summarize
summarize --budget 20
triggers "please save context"
history 1
versions city:alice
version city:alice 1
diff city:alice
log --limit 2
checkpoint create before --description "Before" --spec-folder auth
checkpoint create all --all-namespaces
checkpoint list
namespaces
remember "After the checkpoint"
checkpoint restore all --dry-run
checkpoint restore all --clear-existing --yes
checkpoint delete before
checkpoint delete before
undo
undo --dry-run
undo --yes
undo 00000000
forget "dark mode"
forget "the green mountains"
forget 5 --dry-run
forget 5
restore 5
erase 5 --dry-run
erase 5 --yes
history 5
undo --actor ana --force --dry-run
capacity
capacity --max-items 6 --max-tokens 1000
remember "This one evicts another"
review
review reject PROPOSAL
parked
parked 1
parked --retry
parked 1 --discard
parked 1
stats
config
install cursor --dry-run
uninstall cursor --dry-run
egress
egress --since yesterday --limit 1
work
doctor
export DIR/out.jsonl
import DIR/out.jsonl
import DIR/out.jsonl -n other
import DIR/CLAUDE.md
import DIR/specs
chat import DIR/chat.jsonl
chat list
work
episodes
episodes tea
consolidate
chat import DIR/talk.jsonl -n talk
config set learn off
work
config unset learn
consolidate --dry-run -n talk
consolidate -n talk
facts
recall "who lives in Osaka now?" -n talk
facts tea --history
conflicts
token create reader --scope read --expires-at 30d
token create owner --all-namespaces --writer person
token list
token revoke reader
token revoke reader
session list
session tools monday
session start --project DIR
session explain --project DIR
session private --project DIR
session shared --project DIR
session trust --project DIR
session distrust --project DIR
session off monday
session on monday
session forget monday --dry-run --force
retro DIR/retro.json --project DIR/shop -n shop --dry-run
retro DIR/retro.json --project DIR/shop -n shop
bank import --project DIR/shop -n shop
bank list --project DIR/shop
bank validate --project DIR/shop -n shop
bank promote --universal --project DIR/shop -n shop
migrate
copy --from DIR/memory.db --to DIR/copied.db --dry-run
copy --from DIR/memory.db --to DIR/copied.db
backup DIR/copy.backup
restore-backup DIR/copy.backup
restore-backup DIR/copy.backup --yes
ui --close
"""
SERVER = {"url", "page"}
# Of a store in a database.
DATABASE = {"schema_before", "statements"}
DEMO = {"kept_every_promise", "seconds"}
# Of a store that has vectors, in `perdure stats`, and of memories that were compared; the store of this test has no
# model.
VECTORS = {"embedder", "dimensions", "vectors", "serving", "is_newer"}


def test_a_key_has_one_type_in_all_documents_and_the_page_names_it(user: User, store: Path, tmp_path: Path):
    keys: set[str] = set()
    types: defaultdict[str, set[str]] = defaultdict(set)
    lines = [line.replace("DIR", str(tmp_path)) for line in SCENARIO.strip().splitlines()]
    (tmp_path / "chat.jsonl").write_text('{"conversation_id": "c", "role": "user", "content": "Tea, please"}', "utf-8")
    (tmp_path / "CLAUDE.md").write_text("# Rules\nTea is served at five.", "utf-8")
    (tmp_path / "specs/tea/memory").mkdir(parents=True)
    (tmp_path / "specs/tea/memory/large.md").write_bytes(b"\xff")
    (tmp_path / "talk.jsonl").write_text("\n".join(conversation()), "utf-8")
    make_shop(tmp_path)
    waiting = None
    for line in lines:
        if line == "parked":
            ask_models_elsewhere(store)
        if line == "session tools monday":
            use_tools("monday", tmp_path)
        if line == "review":
            with Memory(store, embedder="none") as memory:
                waiting = proposed(memory, *pair(memory))
        words = shlex.split(line.replace("PROPOSAL", str(waiting.number if waiting else "")))
        answer = user(*words, "--json", stdin="tea is green\n", PERDURE_SESSION="monday")
        for document in filter(None, (answer.out, answer.err)):
            for key, type_ in keys_of(json.loads(document)):
                keys.add(key)
                types[key] |= {type_} - {"null"}
    for found in types.values():
        if len(found) > 1:
            found.discard("array")
    assert {key: found for key, found in types.items() if len(found) > 1} == {}
    page = documented()
    assert {key: found for key, found in types.items() if not found <= {page.get(key), "array"}} == {}
    # Nulls and empty lists have no type to compare; their keys have to be on the page all the same.
    assert keys <= page.keys()
    assert page.keys() - keys == DEMO | VECTORS | SERVER | DATABASE


def make_shop(folder: Path) -> None:
    """A project with a knowledge bank, old enough for a stale entry, and a retro of it."""
    shop = make_project(folder / "shop")
    (shop / "docs" / "knowledge-bank" / "constitution.md").write_text("Be kind.", "utf-8")
    for number in range(30, 40):
        add_feature(shop, f"0{number}")
    challenged = [{"name": "Read Real Samples", "reason": "There were none."}]
    learnings = [{**LEARNING, "universal": True}]
    told = {"learnings": learnings, "confirmed": ["Thin Orchestrator"], "challenged": challenged}
    (folder / "retro.json").write_text(json.dumps(told), "utf-8")


def use_tools(session: str, project: Path) -> None:
    """A command fails, and another one works instead."""
    for event, command in (("PostToolUseFailure", "git pull"), ("PostToolUse", "git pull --rebase")):
        told = {"tool_name": "Bash", "tool_input": {"command": command}, "error": "There is no branch."}
        note_tool(session, event, told, project, load())
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "tea.py")}}
    note_tool(session, "PostToolUse", edit, project, load())


def conversation() -> Iterator[str]:
    """An episode that says one thing and then another, and what is said after it."""
    cities = ("Osaka", "Osaka", "Osaka", "Tokyo", "Tokyo", "Rome")
    for hour, city in enumerate(cities):
        at = f"2026-03-01T1{2 * (hour == 5)}:0{hour}:00Z"
        yield json.dumps({"conversation_id": "t", "role": "user", "content": f"I live in {city} now", "at": at})


def ask_models_elsewhere(store: Path) -> None:
    """What only a provider can bring about."""
    call = ProviderCall(
        at=system_clock(), provider="openai", model="gpt-5-mini", host="api.openai.com", purpose="keywords", items=1,
        sent_bytes=900, received_bytes=300, input_tokens=200, output_tokens=50, cost=0.0004,
    )  # fmt: skip
    opened = SqliteStore.open(store)
    opened.record_calls([call, replace(call, cost=None, outcome="provider_unavailable")])
    said = {"purpose": "keywords", "model": "ollama:qwen3", "error": "There is not JSON.", "output": "Hello!"}
    assert opened.park("default", memory=1, attempts=1, at=call.at, **said)
    opened.close()


def test_every_command_is_in_the_scenario():
    paths: set[str] = set()
    for name in COMMANDS.keys() - {"completion", "demo", "hook", "mcp", "serve"}:
        command = perdure.get_command(click.Context(perdure), name)
        parts = command.commands if isinstance(command, click.Group) else None
        paths |= {name} if parts is None else {f"{name} {part}" for part in parts}
    assert {path for path in paths if not any(line.startswith(path) for line in SCENARIO.splitlines())} == set()
