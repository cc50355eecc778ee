"""The verbs of `Memory` and every surface that shows them: names, defaults and words are the same, or the difference is
written down here.

Routes and the client are made of the signatures. Commands and tools are written for people and for models, so each is
compared with the verb that it calls: an argument is offered, or it is left out on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import Parameter as SignatureParameter
from inspect import signature
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import click
import pytest

import perdure
from perdure import Conversation, Memory, tiers, vocabulary
from perdure.cli import app
from perdure.hosts.host import HOSTS
from perdure.http.app import TABLES
from perdure.http.bodies import ImportRequest, Message, MessagesImport
from perdure.mcp.tool import Tool
from perdure.mcp.tools import TOOLS
from perdure.model import CATEGORIES, CONTEXT_TYPES, STATES, TIERS, TRUSTS, Egress
from perdure.operations import ROWS, Operation
from perdure.providers.call import ProviderCall
from perdure.remote.memory import RemoteMemory
from perdure.remote.signatures import arguments_of, hints_of
from perdure.validation import Fields, Filters

# The words that an argument may be, where its type does not list them.
WORDS = {"tier": TIERS, "context_type": CONTEXT_TYPES, "category": CATEGORIES, "trust": TRUSTS, "states": STATES}


@dataclass(frozen=True)
class Shown:
    """How a command or a tool shows the verbs that it calls. `named`: its own name for an argument. `own`: what is no
    argument of theirs. `left_out`: arguments that it does not offer. `defaults`: those that it chooses differently.
    """

    verbs: str
    named: Mapping[str, str] = field(default_factory=dict[str, str])
    own: str = ""
    left_out: str = ""
    defaults: Mapping[str, object] = field(default_factory=dict[str, object])
    # Models and short commands get the fields and filters that serve them, not all.
    chooses_fields: bool = False


# -- commands ----------------------------------------------------------------------------------------------------------

# Options of every command: where it works, and in which form it answers.
EVERYWHERE = {"store", "namespaces", "as_json", "help_all"}
SINGULAR = {
    "tag": "tags", "state": "states", "keyword": "keywords", "reference": "references",
    "trigger_phrase": "trigger_phrases",
}  # fmt: skip
COMMANDS: Mapping[str, Shown] = {
    "remember": Shown("remember", own="lines"),
    "recall": Shown(
        "recall",
        {"no_decay": "use_decay", "no_constitutional": "include_constitutional"},
        own="explain brief",
        left_out="namespaces",
    ),
    "context": Shown("context", {"no_constitutional": "include_constitutional"}, left_out="namespaces"),
    "triggers": Shown("match_triggers", left_out="namespaces told_in"),
    "show": Shown("get", left_out="known_at"),
    "list": Shown("list", {"oldest": "newest"}, own="everything"),
    "summarize": Shown("summarize", {"budget": "token_limit"}),
    "update": Shown(
        "update",
        {"yes": "confirm"},
        own="clear new_text token",
        left_out="source_project conversation_id session_id channel spec_folder file_path anchor_id expected_version",
    ),
    "upsert": Shown("upsert"),
    "validate": Shown("validate"),
    "promote": Shown("promote offers", left_out="after"),
    "forget": Shown("forget", {"yes": "confirm", "hard": "mode"}, own="token"),
    "restore": Shown("restore"),
    "erase": Shown("erase", {"yes": "confirm"}, own="token"),
    "history": Shown("history"),
    "versions": Shown("versions"),
    "version": Shown("version", {"number": "n"}),
    "diff": Shown("diff"),
    "log": Shown("log"),
    "undo": Shown("undo", own="yes"),
    "checkpoint create": Shown("checkpoint"),
    "checkpoint list": Shown("checkpoints"),
    "checkpoint restore": Shown("restore_checkpoint", own="yes"),
    "checkpoint delete": Shown("delete_checkpoint"),
    "conflicts": Shown("conflicts"),
    "review": Shown("review accept reject", {"number": "proposal"}, own="answer"),
    "capacity": Shown("capacity", own="yes"),
    "stats": Shown("stats"),
    "doctor": Shown("doctor", own="host"),
    "egress": Shown("egress"),
    "parked": Shown("parked retry_parked discard_parked", own="retry discard"),
    "work": Shown("work"),
    "backup": Shown("backup", {"file": "path"}),
    "restore-backup": Shown("restore_backup", {"file": "path", "no_keep": "keep"}, own="yes"),
    "export": Shown("export", {"file": "target"}, own="overwrite format"),
    "import": Shown("import_", {"path": "source"}, own="tool text_field"),
    "chat import": Shown("import_messages", {"file": "source"}),
    "chat list": Shown("conversations"),
    "episodes": Shown("episodes", {"conversation": "conversation_id"}, chooses_fields=True),
    "consolidate": Shown("consolidate", {"conversation": "conversation_id"}, left_out="limit"),
    "facts": Shown("facts", {"conversation": "conversation_id"}, chooses_fields=True),
}
# Commands about settings, hosts, servers and sessions: they call no one verb.
NO_VERB = {
    "namespaces", "copy", "migrate", "serve", "token", "config", "bank", "retro", "session", "mcp", "hook", "install",
    "ui", "uninstall", "demo",
    "completion",
}  # fmt: skip


def commands() -> Iterator[tuple[str, click.Command]]:
    root = next(each for each in vars(app).values() if isinstance(each, click.Group))
    for name in app.COMMANDS:
        found = root.get_command(click.Context(root), name)
        assert found is not None
        if isinstance(found, click.Group):
            for part, each in found.commands.items():
                yield f"{name} {part}", each
        else:
            yield name, found


def arguments_shown(shown: Shown) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for verb in shown.verbs.split():
        known |= arguments_of(getattr(Memory, verb))
    return known


def differences(shown: Shown, offered: Mapping[str, object]) -> set[str]:
    """What one has and the other has not, and is not written down."""
    known, left_out = arguments_shown(shown), set(shown.left_out.split())
    assert left_out <= known.keys()
    unexpected = offered.keys() - (known.keys() - left_out)
    missing = {name for name, each in known.items() if not (shown.chooses_fields and each.is_field)}
    return {f"+{name}" for name in unexpected} | {f"-{name}" for name in missing - offered.keys() - left_out}


def differing_defaults(shown: Shown, offered: Mapping[str, object]) -> dict[str, object]:
    known = arguments_shown(shown)
    told = {name: value for name, value in offered.items() if value is not None and not known[name].is_field}
    return {name: value for name, value in told.items() if value != known[name].default}


def test_every_command_shows_a_verb_or_says_that_it_shows_none():
    names = {name for name, _ in commands()}
    assert {name for name in names if name.split()[0] not in NO_VERB} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_the_arguments_and_the_defaults_of_its_verb(name: str):
    shown, found = COMMANDS[name], dict(commands())[name]
    offered: dict[str, object] = {}
    for each in found.params:
        told = each.name or ""
        if told in {*EVERYWHERE, *shown.own.split()} and told not in shown.named:
            continue
        # A flag is said or not; what that means is for the command to say.
        plain = isinstance(each.default, int | float | str) and not getattr(each, "is_flag", False)
        offered[shown.named.get(told, SINGULAR.get(told, told))] = each.default if plain else None
    assert differences(shown, offered) == set()
    assert differing_defaults(shown, offered) == shown.defaults


@pytest.mark.parametrize("name", [name for name, shown in COMMANDS.items() if not shown.chooses_fields])
def test_a_command_completes_the_words_that_its_verb_knows(name: str):
    found, shown = dict(commands())[name], COMMANDS[name]
    for each in found.params:
        argument = SINGULAR.get(each.name or "", each.name or "")
        words = words_of(shown, argument)
        if words and isinstance(each, click.Option):
            offered = [item.value for item in each.shell_complete(click.Context(found), "")]
            assert offered == list(words) or (argument == "states" and set(offered) < set(words)), each.name


def words_of(shown: Shown, argument: str) -> tuple[str, ...]:
    """The words that an argument may be; nothing where any text will do."""
    known = arguments_shown(shown).get(argument)
    if known is None:
        return ()
    kinds = [known.hint] if get_origin(known.hint) is Literal else [*get_args(known.hint)]
    listed = [each for each in kinds if get_origin(each) is Literal]
    # A number may stand beside a word: then the words alone are not the choice.
    is_choice = listed and not {int, float} & {*kinds}
    return WORDS.get(argument) or (get_args(listed[0]) if is_choice else ())


# -- tools -------------------------------------------------------------------------------------------------------------

PLACE = "namespaces"
TOOLS_SHOWN: Mapping[str, Shown] = {
    "remember": Shown(
        "remember save_memory", own="merge", left_out="idempotency_key", chooses_fields=True,
    ),
    "store_memory": Shown(
        "remember", {"name": "title", "description": "text"}, left_out="idempotency_key", chooses_fields=True
    ),
    "recall": Shown(
        "context",
        {"max_tokens": "budget", "project": "source_project"},
        left_out=f"{PLACE} concepts format recipe as_of known_at min_relevance include_constitutional",
        defaults={"limit": 8, "budget": 1500},
        chooses_fields=True,
    ),
    "recall_detail": Shown("recall_detail", {"ids": "refs"}, left_out="level"),
    "memory_update": Shown(
        "update", {"id": "ref"}, left_out="add_tags remove_tags expected_version confirm", chooses_fields=True
    ),
    "forget": Shown("forget", {"ids": "what"}, own="query", left_out="mode dry_run", chooses_fields=True),
    "consolidate": Shown(
        "open_consolidation finish_consolidation", {"facts": "actions"}, defaults={"limit": 3}
    ),
    "memory_search": Shown(
        "recall",
        left_out=f"{PLACE} recipe as_of known_at min_relevance",
        defaults={"use_decay": True},
        chooses_fields=True,
    ),
    "memory_match_triggers": Shown("match_triggers", left_out=f"{PLACE} told_in"),
    "memory_list": Shown("list", own="offset sort_by", left_out="after newest known_at", chooses_fields=True),
    "memory_delete": Shown("forget", {"id": "what"}, left_out="mode keep", chooses_fields=True),
    "memory_validate": Shown("validate", {"id": "ref", "was_useful": "useful"}),
    "memory_stats": Shown("stats"),
    "checkpoint_create": Shown("checkpoint", left_out="all_namespaces"),
    "checkpoint_list": Shown("checkpoints"),
    "checkpoint_restore": Shown("restore_checkpoint", left_out="dry_run"),
    "checkpoint_delete": Shown("delete_checkpoint"),
}  # fmt: skip
# They read files of a project, or answer clients that know two tools alone.
NO_VERB_TOOLS = {"memory_load", "memory_save", "memory_index_scan", "search", "fetch"}


def test_every_tool_shows_a_verb_or_says_that_it_shows_none():
    assert {tool.name for tool in TOOLS} == set(TOOLS_SHOWN) | NO_VERB_TOOLS


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.name in TOOLS_SHOWN], ids=lambda tool: tool.name)
def test_a_tool_has_the_arguments_the_defaults_and_the_words_of_its_verb(tool: Tool):
    shown = TOOLS_SHOWN[tool.name]
    offered = {
        shown.named.get(each.fills, each.fills): each.default
        for each in tool.parameters
        if each.fills not in shown.own.split()
    }
    assert differences(shown, offered) == set()
    assert differing_defaults(shown, offered) == shown.defaults
    for each in tool.parameters:
        words = words_of(shown, shown.named.get(each.fills, each.fills))
        if words and "enum" in each.schema:
            assert set(each.schema["enum"]) <= set(words), each.name
            assert each.fills == "category" or len(each.schema["enum"]) == len(words), each.name


# -- routes and the client ---------------------------------------------------------------------------------------------

# What a server does not offer, or offers in a way of its own: the body that stands for the verb, if one does.
WITHOUT_ROW: Mapping[str, type[Any] | None] = {
    "import_": ImportRequest,
    "import_messages": MessagesImport,
    **dict.fromkeys(
        # Of one conversation, of the episodes, and of what was put before a model.
        "conversation episodes injected uncompared export "
        # What needs the file itself.
        "backup restore_backup doctor note_markdown forgotten_since "
        # What is no verb.
        "batch namespace writing_as warm close".split()
    ),
}


def verbs() -> dict[str, Callable[..., Any]]:
    return {name: each for name in dir(Memory) if not name.startswith("_") and callable(each := getattr(Memory, name))}


def test_every_verb_has_a_row_or_says_why_it_has_none():
    assert verbs().keys() == {row.verb for row in ROWS} | WITHOUT_ROW.keys()
    assert not {row.verb for row in ROWS} & WITHOUT_ROW.keys()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_a_route_takes_every_argument_of_its_verb(row: Operation):
    (route,) = [
        each for table in TABLES for each in table.rows if (each.method, each.path) == (row.method, row.path)
    ]  # fmt: skip
    sent = dict(signature(route.endpoint).parameters)
    body = sent.pop("body", None)
    fields: dict[str, Any] = body.annotation.model_fields if body else {}
    arguments = {name: argument for argument, name in row.names.items()}
    taken = {arguments.get(name, name) for name in [*sent, *fields]} - {"caller", "if_match", "if_none_match"}
    taken |= {"expected_version"} if "if_match" in sent else set()
    known = arguments_of(getattr(Memory, row.verb))
    assert taken == known.keys() - set(row.without)
    assert set(row.without) <= known.keys()
    for name, each in {**sent, **fields}.items():
        told = known.get(arguments.get(name, name))
        if told is not None and told.default is not SignatureParameter.empty and name not in row.places:
            default = list(cast("tuple[Any]", told.default)) if isinstance(told.default, tuple) else told.default
            assert each.default == default, name


def test_a_body_that_is_written_by_hand_has_the_arguments_of_its_verb():
    for verb, body in WITHOUT_ROW.items():
        if body is not None:
            # Instead of a file, its lines or its objects; all namespaces need the store's own file.
            sent = body.model_fields.keys() - {"lines", "records", "messages"}
            assert sent == arguments_of(getattr(Memory, verb)).keys() - {"source", "all_namespaces"}
    said = arguments_of(Conversation.add_message).keys() - {"idempotency_key"}
    assert Message.model_fields.keys() == said


@pytest.mark.parametrize("name", sorted(verbs()))
def test_the_client_has_the_signature_of_every_verb(name: str):
    assert str(signature(getattr(RemoteMemory, name))) == str(signature(getattr(Memory, name)))


def test_memories_are_listed_by_every_filter_in_an_address_too():
    (row,) = [row for row in ROWS if (row.method, row.path) == ("GET", "/v1/memories")]
    assert len(Filters.__annotations__) == 16
    assert Filters.__annotations__.keys() <= arguments_of(Memory.list).keys() - set(row.without)


# -- what has to agree below the surfaces ------------------------------------------------------------------------------


def test_fields_and_tiers_are_the_same_wherever_they_are_listed():
    from perdure.cli.field_options import LISTS
    from perdure.validation import RecordFields

    assert set(LISTS.values()) <= Fields.__annotations__.keys()
    assert Fields.__annotations__.keys() <= RecordFields.__annotations__.keys()
    assert tuple(tiers.TIERS) == TIERS
    assert set(vocabulary.HOOK_HOSTS) <= HOSTS.keys()


def test_a_list_of_words_is_written_once():
    """Elsewhere it is imported. What is shown without any store may load no other module."""
    lists = {
        frozenset(cast("tuple[str, ...]", value)): name
        for name, value in vars(vocabulary).items()
        if name.isupper() and isinstance(value, tuple)
    }
    copies: list[str] = []
    for path in Path(perdure.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        if not any(all(word in text for word in words) for words in lists):
            continue
        tree = ast.parse(text)
        # A signature may list its words, for those who read it: type checkers compare it.
        in_types = {node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple | ast.List | ast.Set) and node not in in_types:
                words = frozenset(str(item.value) for item in node.elts if isinstance(item, ast.Constant))
                if words in lists and path.name not in {"vocabulary.py", "entries.py"}:
                    copies.append(f"{path.name}:{node.lineno} {lists[words]}")
    assert copies == []


def test_types_are_found_by_an_interpreter_that_copies_the_names_it_is_given(monkeypatch: pytest.MonkeyPatch):
    """As Python does from 3.14 on: a server could not start there."""

    def copying(value: Any, localns: Mapping[str, Any]) -> dict[str, Any]:
        return get_type_hints(value, localns=dict(localns))

    monkeypatch.setattr("perdure.remote.signatures.get_type_hints", copying)
    assert get_args(hints_of.__wrapped__(Egress)["calls"]) == (ProviderCall, ...)
