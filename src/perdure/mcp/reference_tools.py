"""The tools of the memory specification (S3), by the names and parameters that it gives them."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from perdure.mcp import schemas
from perdure.mcp.core_tools import ID, ID_ALIASES
from perdure.mcp.tool import LIMIT, NUMBER, SWITCH, TEXT, TEXTS, Parameter, Tool, ToolAnswer, ToolCall, choice
from perdure.remedies import Remedy, Run
from perdure.vocabulary import CONTEXT_TYPES, TIERS

if TYPE_CHECKING:
    from pathlib import Path

    from perdure.memory import Memory
    from perdure.model import Hit, Record

_ORDERS: Final = ("created_at", "updated_at", "importance_weight")
_PAGE_SIZE: Final = 1000
# How sure a phrase of the settings is that stands in a prompt word for word, as a memory's own would be.
_WITHIN_A_PROMPT: Final = 0.95


def memory_search(
    call: ToolCall, *, query: str | None = None, concepts: list[str] | None = None, **options: Any
) -> ToolAnswer:
    from perdure.errors import InvalidInput
    from perdure.mcp.views import Found, found_answer, one

    if query is None and concepts is None:
        raise InvalidInput("Give a query, or two to five concepts.", remedy="query: how did we do authentication")
    recalled = call.memory.recall(query, concepts=concepts, recipe="tiered", namespaces=call.namespaces, **options)
    above = {record.number for record in recalled.constitutional}
    hits = [hit for hit in recalled if hit.record.number not in above]
    matches = [Found(one(hit.record, _match_text(hit)), {"score": round(hit.score)}) for hit in hits]
    always = [Found(one(record, _place_and_text(record))) for record in recalled.constitutional]
    return found_answer([*always, *matches], recalled.notes)


def _match_text(hit: Hit) -> str:
    """As the specification shows a result: `[92%] specs/049-auth/…` and below it what the memory says."""
    held = ", ".join(f"{concept} ({count})" for concept, count in hit.concepts.items())
    contains = f"\nContains: {held}" if held else ""
    return f"[{round(hit.score)}%] {_place_and_text(hit.record)}{contains}"


def _place_and_text(record: Record) -> str:
    from perdure.text.preview import abstract

    place = record.file_path or record.spec_folder
    text = f"{record.title}\n{abstract(record)}" if record.title else abstract(record)
    return f"{place}\n{text}" if place else text


def memory_load(
    call: ToolCall,
    *,
    spec_folder: str | None = None,
    anchor_id: str | None = None,
    memory_id: int | str | None = None,
) -> ToolAnswer:
    from perdure.errors import InvalidInput, NotFound
    from perdure.mcp.views import details_answer

    if memory_id is not None:
        return details_answer(call.details(memory_id))
    if spec_folder is None:
        raise InvalidInput("Give specFolder or memoryId.", remedy="memory_list shows the memories of all folders.")
    numbers = numbers_of_folder(call, spec_folder, anchor_id)
    if not numbers:
        where = spec_folder if anchor_id is None else f"{spec_folder}, anchor {anchor_id}"
        raise NotFound(f"There is no memory of {where}.", remedy="memory_list shows the memories of all folders.")
    return details_answer(call.memory.recall_detail(numbers))


def numbers_of_folder(call: ToolCall, spec_folder: str, anchor_id: str | None) -> list[int]:
    """Of the own project, where another one has a folder of the same name. `specs/049-auth` is `049-auth`."""
    folder = spec_folder.strip("/")
    for name in dict.fromkeys((spec_folder, folder.removeprefix("specs/"))):
        listed = call.memory.list(spec_folder=name, limit=_PAGE_SIZE, newest=False)
        found = [record for record in listed if anchor_id is None or record.anchor_id == anchor_id]
        own = [record for record in found if record.source_project in {None, call.origin.project}]
        if found:
            return [record.number for record in own or found]
    return []


def memory_save(call: ToolCall, *, file_path: str, force: bool) -> ToolAnswer:
    from pathlib import Path

    from perdure.bank.memory_files import save_memory_file
    from perdure.bank.sections import ImportOptions
    from perdure.mcp.views import indexed_answer

    project = _project_of(call)
    options = ImportOptions(call.origin.project, force=force)
    return indexed_answer(save_memory_file(call.memory, project, Path(file_path), options))


def memory_index_scan(call: ToolCall, *, force: bool, spec_folder: str | None = None) -> ToolAnswer:
    from perdure.bank.memory_files import scan_memory_files
    from perdure.bank.sections import ImportOptions
    from perdure.mcp.views import indexed_answer

    project = _project_of(call)
    options = ImportOptions(call.origin.project, force=force)
    return indexed_answer(scan_memory_files(call.memory, project, options, spec_folder))


def _project_of(call: ToolCall) -> Path:
    from perdure.errors import NotAllowed

    if call.project is None:
        raise NotAllowed(
            "This server has no project directory, so it reads no files.",
            remedy=Remedy(
                "Use ", Run("mcp"), " in the project, or store the text itself with remember; nothing was stored."
            ),
        )
    return call.project


def memory_match_triggers(call: ToolCall, *, prompt: str, limit: int) -> ToolAnswer:
    from perdure.bank.memory_files import SAVE_REMINDER, save_phrase
    from perdure.mcp.views import Found, found_answer, one
    from perdure.settings import load
    from perdure.trusted_projects import names_of

    # Hosts call it with every prompt, so phrases of an untrusted file must not trigger anything.
    places = () if call.project is None else names_of(call.project)
    triggered = call.memory.match_triggers(prompt, limit=limit, namespaces=call.namespaces, told_in=places)
    matches = [
        Found(
            one(each.record, f"trigger: {each.phrase} (confidence {each.confidence})\n{_place_and_text(each.record)}"),
            {"trigger": each.phrase, "confidence": each.confidence},
        )
        for each in triggered
    ]
    asked = save_phrase(prompt, load(project=call.project))
    saving = {} if asked is None else {"trigger": asked, "confidence": _WITHIN_A_PROMPT}
    first = matches[0].more if matches else saving
    notes = () if asked is None else (f"trigger: {asked}. {SAVE_REMINDER}",)
    return found_answer(matches, notes, more={"matched": bool(first), **first})


def memory_list(call: ToolCall, *, limit: int, offset: int, sort_by: str, spec_folder: str | None = None) -> ToolAnswer:
    from perdure.mcp.views import Found, found_answer, one

    most = offset + limit
    if sort_by == "created_at":
        wanted = list(call.memory.list(limit=most + 1, spec_folder=spec_folder))
    else:
        field = "importance" if sort_by == "importance_weight" else sort_by
        every = _all(call.memory, spec_folder)
        wanted = heapq.nlargest(most + 1, every, key=lambda record: (getattr(record, field), record.number))
    more = {"next": most} if len(wanted) > most else {}
    return found_answer([Found(one(record, _place_and_text(record))) for record in wanted[offset:most]], more=more)


def _all(memory: Memory, spec_folder: str | None) -> Iterator[Record]:
    after: int | None = None
    while True:
        page = memory.list(limit=_PAGE_SIZE, after=after, spec_folder=spec_folder)
        yield from page
        after = page.next
        if after is None:
            return


def memory_delete(
    call: ToolCall, *, confirm: bool, dry_run: bool, id: int | str | None = None, spec_folder: str | None = None
) -> ToolAnswer:
    from perdure.errors import InvalidInput
    from perdure.mcp.views import forgotten_answer

    if (id is None) == (spec_folder is None):
        raise InvalidInput("Give either id or specFolder.", remedy="With specFolder, confirm must be true as well.")
    if id is not None:
        # In a list it can only name a memory: `oldest` alone would be an instruction.
        done = call.memory.forget([id], dry_run=dry_run)
    else:
        # However many there are: one memory that a filter finds would go at once.
        done = call.memory.forget(spec_folder=spec_folder, confirm=confirm, dry_run=dry_run or not confirm)
    return forgotten_answer(done, confirm="true")


def memory_validate(call: ToolCall, *, id: int | str, was_useful: bool) -> ToolAnswer:
    from perdure.mcp.views import written_answer

    done = call.memory.validate(id, was_useful)
    judged = {"confidence": round(done.record.confidence, 2), "validations": done.record.validation_count}
    return written_answer(done, **judged)


def memory_stats(call: ToolCall) -> ToolAnswer:
    """Of its own namespace: a model must not learn what others there are."""
    from perdure.mcp.views import answer

    capacity, stats = call.memory.capacity(), call.memory.stats()
    own = next((each for each in stats.namespaces if each.name == capacity.namespace), None)
    serving = next((each.generation.label for each in stats.generations if each.serving), "none")
    data = {
        "namespace": capacity.namespace,
        "memories": capacity.item_count,
        "tokens": capacity.tokens,
        "versions": capacity.version_count,
        "states": dict(own.states) if own else {},
        "categories": dict(own.categories) if own else {},
        "vectors_pending": own.vectors_pending if own else 0,
        "embedder": serving,
    }
    return answer(data, json.dumps(data, ensure_ascii=False))


def checkpoint_create(call: ToolCall, *, name: str, **options: Any) -> ToolAnswer:
    from perdure.mcp.views import checkpoints_answer

    return checkpoints_answer([call.memory.checkpoint(name, **options)], "created")


def checkpoint_list(call: ToolCall, *, limit: int, spec_folder: str | None = None) -> ToolAnswer:
    from perdure.mcp.views import checkpoints_answer

    return checkpoints_answer(call.memory.checkpoints(spec_folder=spec_folder, limit=limit))


def checkpoint_restore(call: ToolCall, *, name: str, clear_existing: bool) -> ToolAnswer:
    from perdure.mcp.views import reverted_answer

    return reverted_answer(call.memory.restore_checkpoint(name, clear_existing=clear_existing))


def checkpoint_delete(call: ToolCall, *, name: str) -> ToolAnswer:
    from perdure.mcp.views import checkpoints_answer

    return checkpoints_answer([call.memory.delete_checkpoint(name)], "deleted")


_FOLDER: Final = Parameter("specFolder", TEXT, "Only memories of this spec folder.", aliases=("folder", "spec"))
_NAME: Final = Parameter("name", TEXT, "The name of the checkpoint.", required=True, aliases=("checkpoint",))

REFERENCE_TOOLS: Final = (
    Tool(
        "memory_search",
        "Search memories",
        "Search memories by meaning and words, ranked by relevance, importance tier, recency and keywords. Give a "
        "query, or two to five concepts that a memory must all hold.",
        memory_search,
        (
            Parameter("query", TEXT, "A question or some words.", aliases=("q", "question", "text", "search")),
            Parameter("concepts", TEXTS, "Two to five concepts, all of which must match."),
            Parameter("limit", LIMIT, "The most results.", default=10, aliases=("k", "topK", "n", "maxResults")),
            _FOLDER,
            Parameter("tier", choice(*TIERS), "Only memories of this tier.", aliases=("importanceTier",)),
            Parameter("contextType", choice(*CONTEXT_TYPES), "Only memories of this kind of work."),
            Parameter("useDecay", SWITCH, "Let memories that were not used for long count less.", default=True),
            Parameter("includeConstitutional", SWITCH, "Put constitutional memories first.", default=True),
        ),
        schemas.FOUND,
        ("reference",),
    ),
    Tool(
        "memory_load",
        "Load memories",
        "Load the memories of a spec folder in full, or of one anchor in it, or one memory by its number.",
        memory_load,
        (
            Parameter("specFolder", TEXT, "The spec folder.", aliases=("folder", "spec")),
            Parameter("anchorId", TEXT, "Only this section of its documents.", aliases=("anchor",)),
            Parameter("memoryId", NUMBER, "The number of one memory.", aliases=("id", "number"), reference=True),
        ),
        schemas.FOUND,
        ("reference",),
    ),
    Tool(
        "memory_save",
        "Save a memory file",
        "Index one memory file of the project, specs/<folder>/memory/*.md, after you wrote it: each section between "
        "<!-- ANCHOR:id --> and <!-- /ANCHOR:id --> becomes a memory, what changed a new version. force writes "
        "unchanged sections as well.",
        memory_save,
        (
            Parameter("filePath", TEXT, "The file, in the project.", required=True, aliases=("file", "path")),
            Parameter("force", SWITCH, "Also what did not change, or was forgotten.", default=False),
        ),
        schemas.INDEXED,
        ("reference",),
        writes=True,
    ),
    Tool(
        "memory_index_scan",
        "Scan the memory files",
        "Index all memory files of the project, or of one spec folder. What is in no file any more is hidden; a person "
        "can bring it back.",
        memory_index_scan,
        (_FOLDER, Parameter("force", SWITCH, "Also what did not change, or was forgotten.", default=False)),
        schemas.INDEXED,
        ("reference",),
        writes=True,
        destroys=True,
    ),
    Tool(
        "memory_match_triggers",
        "Match trigger phrases",
        "Find memories whose trigger phrase occurs in a prompt; fast, for each prompt of the user.",
        memory_match_triggers,
        (
            Parameter("prompt", TEXT, "What the user wrote.", required=True, aliases=("text", "query", "message")),
            Parameter("limit", LIMIT, "The most memories.", default=3),
        ),
        schemas.TRIGGERED,
        ("reference",),
    ),
    Tool(
        "memory_list",
        "List memories",
        "Browse memories page by page, newest first unless sortBy says otherwise. To find something use memory_search.",
        memory_list,
        (
            Parameter("limit", LIMIT, "The size of a page.", default=20),
            Parameter("offset", {"type": "integer", "minimum": 0}, "How many to leave out first.", default=0),
            _FOLDER,
            Parameter("sortBy", choice(*_ORDERS), "The highest value first.", default="created_at", aliases=("sort",)),
        ),
        schemas.FOUND,
        ("reference",),
    ),
    Tool(
        "memory_delete",
        "Delete memories",
        "Remove a memory by its number, or all memories of a spec folder with confirm. A person can bring them back.",
        memory_delete,
        (
            Parameter("id", NUMBER, "The number of the memory.", aliases=ID_ALIASES, reference=True),
            Parameter("specFolder", TEXT, "Remove all memories of this folder.", aliases=("folder", "spec")),
            Parameter("confirm", SWITCH, "Needed with specFolder; else they are only listed.", default=False),
            Parameter("dryRun", SWITCH, "Only list what would be removed.", default=False),
        ),
        schemas.FORGOTTEN,
        ("reference",),
        writes=True,
        destroys=True,
    ),
    Tool(
        "memory_validate",
        "Validate a memory",
        "Say whether a memory was useful, after you used it. Its confidence rises or falls; after five judgements and "
        "from 0.9 on the tier critical is offered.",
        memory_validate,
        (ID, Parameter("wasUseful", SWITCH, "Whether it was.", required=True, aliases=("useful",))),
        schemas.WRITTEN,
        ("reference",),
        writes=True,
        repeatable=False,
    ),
    Tool(
        "memory_stats",
        "Count memories",
        "Count what is stored, by state and category, and say which model recall by meaning uses.",
        memory_stats,
        (),
        schemas.STATS,
        ("reference",),
    ),
    Tool(
        "checkpoint_create",
        "Create a checkpoint",
        "Name the present state of the memory before a large change, to go back to it.",
        checkpoint_create,
        (
            _NAME,
            Parameter("description", TEXT, "What it is for."),
            Parameter("specFolder", TEXT, "Only the memories of this folder.", aliases=("folder", "spec")),
            Parameter("metadata", {"type": "object"}, "Anything else to keep with it."),
        ),
        schemas.CHECKPOINTS,
        ("reference",),
        writes=True,
        repeatable=False,
    ),
    Tool(
        "checkpoint_list",
        "List checkpoints",
        "List the checkpoints that can be restored, newest first.",
        checkpoint_list,
        (_FOLDER, Parameter("limit", LIMIT, "The most checkpoints.", default=50)),
        schemas.CHECKPOINTS,
        ("reference",),
    ),
    Tool(
        "checkpoint_restore",
        "Restore a checkpoint",
        "Make the memory what it was at a checkpoint. Memories that were made later stay, unless clearExisting removes "
        "them. A person can undo it.",
        checkpoint_restore,
        (_NAME, Parameter("clearExisting", SWITCH, "Remove memories that were made later.", default=False)),
        schemas.REVERTED,
        ("reference",),
        writes=True,
        destroys=True,
    ),
    Tool(
        "checkpoint_delete",
        "Delete a checkpoint",
        "Delete the name of a checkpoint; the memories stay.",
        checkpoint_delete,
        (_NAME,),
        schemas.CHECKPOINTS,
        ("reference",),
        writes=True,
        destroys=True,
    ),
)
