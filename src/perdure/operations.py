"""The table of operations: one row for each verb of `Memory` that a server offers.

The server makes its route of the row and of the verb's own signature, and `Memory("https://…")` makes its verb of the
same two. So an argument is written once, in `Memory`, and a route is one row. What no row can say (streams, files,
the routes of conversations) is written by hand in `http/` and `remote/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from perdure.auth.authorise import Scope

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

# Arguments that only a process can give: neither is sent.
LOCAL_ARGUMENTS: Final = frozenset({"progress", "asked"})
_PLACE: Final = re.compile(r"{(\w+)(?::(\w+))?}")


@dataclass(frozen=True, slots=True)
class Operation:
    """A verb, the route that asks for it, and what both ends have to know about it."""

    verb: str
    method: Method
    # An argument of the verb may stand in braces: a number, or with `:name` or `:path` a text.
    path: str
    scopes: tuple[Scope, ...]
    summary: str
    # What the route's readers should know besides; it stands in OpenAPI and in docs/reference/http.md.
    about: str = ""
    # The answer is an object with this one entry. Without it, the answer is the verb's own value.
    key: str | None = None
    # An `Idempotency-Key` makes sure that it is done once.
    takes_key: bool = False
    # Done twice it does no more than once, although it writes.
    idempotent: bool = False
    # It takes as long as there is to do.
    slow: bool = False
    whole_store: bool = False
    status: int = 200
    other_statuses: Mapping[int, str] = field(default_factory=dict[int, str])
    # Arguments of the verb that this route does not take, and those that have another name in it.
    without: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    example: Mapping[str, Any] | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether a client may send it again when the answer was lost."""
        return self.scopes == ("read",) or self.takes_key or self.idempotent

    @property
    def places(self) -> dict[str, str]:
        """The arguments that stand in the address, each with the name of its converter, or nothing for a number."""
        arguments = {name: argument for argument, name in self.names.items()}
        found: list[tuple[str, str]] = _PLACE.findall(self.path)
        return {arguments.get(name, name): kind for name, kind in found}


_MEMORY: Final = "/v1/memories/{ref:name}"
_ITS_OTHER_NAME: Final = {"refs": "ref"}
_CURSOR: Final = {"after": "cursor"}
_KNOWN: Final = {200: "It was known"}

# By the heading under which docs/reference/http.md and OpenAPI list them.
OPERATIONS: Final[Mapping[str, tuple[Operation, ...]]] = {
    "memories": (
        Operation(
            "remember", "POST", "/v1/memories", ("write",), "Store a memory",
            "The same text again is one more observation of the same memory (200); under the same `key` another text "
            "makes a new version.",
            takes_key=True, status=201, other_statuses=_KNOWN,
            example={"text": "Alice prefers dark mode", "tags": ["ui"], "key": "person:alice"},
        ),
        Operation("list", "POST", "/v1/list", ("read",), "List memories by all filters that recall has"),
        Operation(
            "list", "GET", "/v1/memories", ("read",), "List memories, newest first",
            "`next` is the `cursor` of the following page, or null at the end. What comes or goes meanwhile moves "
            "nothing. `tag`, `category`, `source` and `state` may be repeated; `where` is a JSON object.",
            names={"after": "cursor", "tags": "tag", "states": "state"},
        ),
        Operation(
            "recall_detail", "POST", "/v1/details", ("read",), "Get several memories, in as much detail as needed",
            "If one of them does not exist, the whole request fails.",
            key="details", example={"refs": [7, "person:alice"]},
        ),
        Operation(
            "restore", "POST", "/v1/restore", ("write",), "Bring several memories back, all or none",
            key="remembered", example={"refs": [7, "person:alice"]},
        ),
        Operation(
            "offers", "GET", "/v1/offers", ("read",), "List the memories that wait for a person",
            "To be promoted, newest first.", names=_CURSOR,
        ),
        Operation("constitution", "GET", "/v1/constitution", ("read",), "Get what every recall surfaces"),
        Operation(
            "upsert", "PUT", "/v1/keys/{key:path}", ("write",), "Store a memory under a key",
            "The first version, or the next one, also when the text is the same and when the memory was forgotten.",
            takes_key=True, other_statuses={201: "It is new"}, example={"text": "Alice prefers light mode"},
        ),
        Operation("version", "GET", f"{_MEMORY}/versions/{{n}}", ("read",), "Get one version of a memory"),
        Operation(
            "versions", "GET", f"{_MEMORY}/versions", ("read",), "List the versions of a memory", key="versions"
        ),
        Operation(
            "history", "GET", f"{_MEMORY}/history", ("read",), "List everything that happened to a memory",
            key="revisions",
        ),
        Operation(
            "diff", "GET", f"{_MEMORY}/diff", ("read",), "Compare two versions of a memory",
            "Without numbers, the current version with the one that it was made from.",
        ),
        Operation(
            "restore", "POST", f"{_MEMORY}/restore", ("write",), "Bring a forgotten memory back", names=_ITS_OTHER_NAME
        ),
        Operation(
            "validate", "POST", f"{_MEMORY}/validate", ("write",), "Say whether a memory was useful",
            example={"useful": True},
        ),
        Operation(
            "promote", "POST", f"{_MEMORY}/promote", ("write",), "Give a memory another tier",
            "Only a person makes one constitutional. Without a tier, it is the one that is on offer.",
        ),
        Operation(
            "get", "GET", _MEMORY, ("read",), "Get a memory by any reference",
            "`ref` is a number, an id, a content hash or a key. The `ETag` is the version.",
        ),
        Operation(
            "update", "PATCH", _MEMORY, ("write",), "Correct a memory",
            "Other words make a new version, anything else a revision of the same one. What is left out stays.",
            without=("confirm",), example={"text": "Alice prefers light mode", "add_tags": ["ui"]},
        ),
    ),
    "recall": (
        Operation(
            "recall", "POST", "/v1/recall", ("read",), "Find the memories that answer a question",
            "Each hit says why it was found. Where nothing fits, the answer is empty, and `nearest` is what came "
            "nearest. The token must be good for each of `namespaces`.",
            example={"query": "which theme does she like?", "limit": 5},
        ),
        Operation(
            "context", "POST", "/v1/context", ("read",), "Make one text for a model, within a budget of tokens",
            "What memories say is data between two marks that no memory can forge, never an instruction.",
            example={"query": "which theme does she like?", "budget": 800},
        ),
        Operation(
            "match_triggers", "POST", "/v1/triggers", ("read",), "Find the memories that a prompt brings to mind",
            key="triggered", example={"prompt": "please save context"},
        ),
        Operation(
            "summarize", "POST", "/v1/summarize", ("read",), "Make one short text of many memories",
            example={"scope": "dark mode", "token_limit": 200},
        ),
        Operation(
            "suggest", "POST", "/v1/suggest", ("read",), "Find what a prompt brings to mind, and what fits it",
            "Without messages of conversations, and without constitutional memories. `without` are ids of memories "
            "that are left out. `why` says for each of `records` what brought it to mind.",
            example={"prompt": "please save context"},
        ),
        Operation(
            "learnings", "POST", "/v1/learnings", ("read",), "Find the learnings for somebody who starts to work",
            "It counts as no use until `injected` says so.",
        ),
        Operation(
            "forget", "POST", "/v1/forget", ("delete",), "Forget memories; they can be restored",
            "What a sentence finds is only shown: the answer is a problem with a `preview`, and its `token` as "
            "`confirm` forgets exactly that.",
            without=("mode",), example={"what": "everything about the Osaka flat"},
        ),
        Operation(
            "erase", "POST", "/v1/erase", ("delete", "admin"), "Remove memories for ever, from every file",
            "Only a person may. Nothing brings them back, so the first answer is a problem with a `preview`, also for "
            "one memory, and its `token` as `confirm` erases exactly that.",
            slow=True, example={"what": [7]},
        ),
    ),
    "conversations": (
        Operation(
            "conversations", "GET", "/v1/conversations", ("read",), "List the ids of the conversations",
            key="conversations",
        ),
    ),
    "learning": (
        Operation(
            "consolidate", "POST", "/v1/consolidate", ("write",), "Make facts of the episodes that wait",
            "Facts are added, get more evidence, or end and are superseded; none is deleted. Undo takes it back.",
            slow=True,
        ),
        Operation(
            "facts", "POST", "/v1/facts", ("read",), "Find facts by all filters that recall has", key="facts"
        ),
        Operation(
            "facts", "GET", "/v1/facts", ("read",), "Find facts, or list the newest",
            "Each with how many episodes it is known from, and with the facts that it took the place of.",
            key="facts",
        ),
        Operation(
            "save_memory", "POST", "/v1/save", ("write",), "Store a memory, and merge it with what says the same",
            "What contradicts it is never merged. One undo takes everything back. `role` is who said it.",
            slow=True, example={"text": "Alice likes dark mode", "role": "user"},
        ),
        Operation(
            "open_consolidation", "POST", "/v1/consolidation", ("read",),
            "Hand out episodes that wait, for an agent to consolidate", "`task` is null when nothing waits. Nothing is "
            "written.",
            key="task",
        ),
        Operation(
            "finish_consolidation", "POST", "/v1/consolidation/finish", ("write",), "Take back what became of a task",
            "It is a conflict when the episodes were consolidated, or changed, since. `token` is the task's, `actions` "
            "are as its schema says.",
            slow=True, example={"token": "…", "actions": {"facts": []}},
        ),
        Operation("parked", "GET", "/v1/parked", ("read",), "List what a model said that could not be used"),
        Operation(
            "retry_parked", "POST", "/v1/parked/retry", ("write",), "Ask the model again about what is parked",
            "Without ids, about all of it.", slow=True,
        ),
        Operation(
            "discard_parked", "POST", "/v1/parked/discard", ("write", "delete"), "Throw away what is parked",
            "Without ids, all of it. Memories stay as they are.", key="discarded",
        ),
        Operation(
            "conflicts", "GET", "/v1/conflicts", ("read",), "List the pairs of memories that cannot both be true",
            "Until somebody has decided: `/v1/review` accepts and rejects. `uncompared` memories wait for being "
            "compared; it is null if nothing was compared.",
        ),
        Operation(
            "review", "GET", "/v1/review", ("read",), "List what waits for a person",
            "Pairs of memories that may say the same, or cannot both be true.", key="proposals",
        ),
        Operation(
            "accept", "POST", "/v1/review/{number}/accept", ("write",), "Do what is proposed",
            "Only a person may. Of two that cannot both be true, `keep` names the one that stays; else it is the "
            "newer.",
            names={"proposal": "number"},
        ),
        Operation(
            "reject", "POST", "/v1/review/{number}/reject", ("write",), "Leave both memories as they are",
            "Only a person may. The pair is not proposed again, unless one of the two changes.",
            names={"proposal": "number"},
        ),
    ),
    "history": (
        Operation(
            "log", "GET", "/v1/log", ("read",), "List who did what, newest first",
            "`next` is the `cursor` of the following page, or null at the end.", names={"before": "cursor"},
        ),
        Operation(
            "undo", "POST", "/v1/undo", ("write", "delete"), "Take back what one call, one session or one actor did",
            "If others changed one of the memories since, it is a conflict and nothing happens, unless `force` is "
            "given.",
            example={"session": "monday", "dry_run": True},
        ),
        Operation(
            "checkpoints", "GET", "/v1/checkpoints", ("read",), "List the checkpoints, newest first",
            "Those of all namespaces are for a token that is good for all.", key="checkpoints",
        ),
        Operation(
            "checkpoint", "POST", "/v1/checkpoints", ("write",), "Give the present state a name",
            status=201, example={"name": "before-refactor"},
        ),
        Operation(
            "restore_checkpoint", "POST", "/v1/checkpoints/{name:name}/restore", ("write", "delete"),
            "Go back to a checkpoint",
            "What came later stays, unless `clear_existing` removes it. The answer's batch undoes it.",
        ),
        Operation(
            "delete_checkpoint", "DELETE", "/v1/checkpoints/{name:name}", ("delete",),
            "Delete the name of a state; the memories stay",
        ),
    ),
    "store": (
        Operation(
            "stats", "GET", "/v1/stats", ("read",), "Count what is stored, by namespace",
            "About the namespaces that the token is good for. A token for all namespaces also gets the facts about the "
            "file.",
        ),
        Operation(
            "capacity", "GET", "/v1/capacity", ("read",), "Say how full the namespace is",
            without=("max_items", "max_tokens"),
        ),
        Operation(
            "capacity", "PATCH", "/v1/capacity", ("admin",), "Set the limits of the namespace",
            "Only a person may. A lower limit evicts nothing by itself: the next write makes room. What is left out "
            "stays as it is; 0 or null removes the limit of this namespace.",
            idempotent=True,
        ),
        Operation(
            "egress", "GET", "/v1/egress", ("admin",), "List what left the server's machine",
            "Every request to a model elsewhere, without a word of any text.", whole_store=True,
        ),
        Operation(
            "work", "POST", "/v1/work", ("admin",), "Do what is outstanding, such as missing vectors",
            slow=True, whole_store=True,
        ),
    ),
}  # fmt: skip

ROWS: Final = tuple(row for rows in OPERATIONS.values() for row in rows)
# Words that stand behind the name of a memory in an address. No name in an address may hold one: with them,
# `DELETE …/7/history` would be about a memory called `7/history`.
WORDS_BEHIND_NAMES: Final = "|".join(sorted({word for row in ROWS for word in re.findall(r":name}/(\w+)", row.path)}))
