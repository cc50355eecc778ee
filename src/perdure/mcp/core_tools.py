"""The tools that every model gets: few, because each takes room in its prompt."""

from __future__ import annotations

from typing import Any, Final

from perdure.ids import CAPTURED
from perdure.mcp import schemas
from perdure.mcp.tool import (
    LIMIT,
    NUMBER,
    NUMBERS,
    SHARE,
    SWITCH,
    TEXT,
    TEXTS,
    Parameter,
    Tool,
    ToolAnswer,
    ToolCall,
    choice,
)
from perdure.vocabulary import FACT_CATEGORIES, LEARNING_CATEGORIES, TIERS

_TEXT_ALIASES: Final = ("content", "memory", "fact", "note", "body", "observation", "message")
ID_ALIASES: Final = ("number", "memory", "memoryId", "ref", "reference", "key")
# How many open tasks one process remembers; the token itself is always understood.
_MAX_TASKS: Final = 64


def remember(call: ToolCall, *, text: str, merge: bool = False, role: str | None = None, **fields: Any) -> ToolAnswer:
    from perdure.mcp.views import saved_answer, written_answer

    if merge or role:
        return saved_answer(call.memory.save_memory(text, role=role, source=CAPTURED, **call.origin.fields, **fields))
    return written_answer(call.memory.remember(text, source=CAPTURED, **call.origin.fields, **fields))


def store_memory(call: ToolCall, *, name: str, description: str, reasoning: str, **fields: Any) -> ToolAnswer:
    from perdure.errors import InvalidInput
    from perdure.mcp.views import written_answer

    for field, value in (("name", name), ("description", description), ("reasoning", reasoning)):
        if not value.strip():
            raise InvalidInput(f"{field} is empty.", remedy="Say what was learned and why; nothing was stored.")
    done = call.memory.remember(
        description,
        title=name,
        reasoning=reasoning,
        confidence="medium",
        source=CAPTURED,
        **call.origin.fields,
        **fields,
    )
    return written_answer(done)


def recall(
    call: ToolCall, *, query: str, limit: int, max_tokens: int, project: str | None = None, **filters: Any
) -> ToolAnswer:
    from perdure.mcp.views import context_answer

    found = call.memory.context(
        query, limit=limit, budget=max_tokens, source_project=project, namespaces=call.namespaces, **filters
    )
    return context_answer(found, without=call.said_just_now(found))


def recall_detail(call: ToolCall, *, ids: list[int | str]) -> ToolAnswer:
    from perdure.mcp.views import details_answer

    return details_answer(call.details(ids))


def memory_update(call: ToolCall, *, id: int | str, **changes: Any) -> ToolAnswer:
    from perdure.errors import InvalidInput
    from perdure.mcp.views import written_answer

    if not changes:
        raise InvalidInput("Nothing to change was given.", remedy="Give a new text, title, tier or another field.")
    return written_answer(call.memory.update(id, **changes))


def forget(
    call: ToolCall,
    *,
    ids: list[int | str] | None = None,
    query: str | None = None,
    keep: list[int | str] | None = None,
    confirm: str | None = None,
) -> ToolAnswer:
    from perdure.errors import InvalidInput
    from perdure.mcp.views import forgotten_answer

    if (ids is None) == (query is None):
        raise InvalidInput("Give either ids or query.", remedy="ids name memories, a query says what they are about.")
    if ids is not None:
        return forgotten_answer(call.memory.forget(ids, keep=keep, confirm=confirm or False))
    # Also what `oldest` finds is shown before it goes.
    return forgotten_answer(call.memory.forget(query, keep=keep, confirm=confirm or False, dry_run=not confirm))


def consolidate(
    call: ToolCall,
    *,
    limit: int,
    token: str | None = None,
    facts: list[dict[str, Any]] | None = None,
    conversation_id: str | None = None,
) -> ToolAnswer:
    from hashlib import sha256

    from perdure.errors import InvalidInput
    from perdure.mcp.views import answer, consolidated_answer, task_answer

    if token is not None:
        # What a model leaves out is said as the task's own schema wants it.
        missing: dict[str, Any] = {"existing_fact_id": None, "keywords": []}
        actions = [{**missing, **fact} for fact in facts or ()]
        return consolidated_answer(call.memory.finish_consolidation(call.tasks.get(token, token), actions))
    if facts is not None:
        raise InvalidInput("facts need the token of the call that showed the episodes.")
    task = call.memory.open_consolidation(conversation_id, limit=limit)
    if task is None:
        return answer({"done": True, "episodes": 0}, "No episodes wait: 0 to consolidate.")
    handle = sha256(task.token.encode()).hexdigest()[:12]
    call.tasks[handle] = task.token
    if len(call.tasks) > _MAX_TASKS:
        del call.tasks[next(iter(call.tasks))]
    return task_answer(task, handle)


ID: Final = Parameter("id", NUMBER, "Its number.", required=True, aliases=ID_ALIASES, reference=True)
_IDS: Final = Parameter(
    "ids", NUMBERS, "Their numbers.", aliases=(*ID_ALIASES, "id", "numbers", "refs"), reference=True
)
_CATEGORY: Final = Parameter(
    "category", TEXT, f"{', '.join(FACT_CATEGORIES)}; of learnings {', '.join(LEARNING_CATEGORIES)}."
)
_TAGS: Final = Parameter("tags", TEXTS, "Labels.", aliases=("tag", "labels"))

_FACT: Final = schemas.object_of(
    "action category fact",
    action=choice("new", "reinforce", "update", "invalidate"),
    existing_fact_id=NUMBER,
    category=TEXT,
    fact=TEXT,
    keywords=TEXTS,
)

CORE_TOOLS: Final = (
    Tool(
        "remember",
        "Remember",
        "Save what should outlive this session: a preference, a decision, a fact about people or the project. One "
        "thing per call, in a sentence that stands alone. Secrets are taken out.",
        remember,
        (
            Parameter("text", TEXT, "What to remember.", required=True, aliases=_TEXT_ALIASES),
            Parameter("title", TEXT, "A heading.", aliases=("name", "subject")),
            _CATEGORY,
            _TAGS,
            Parameter("key", TEXT, "Such as person:alice; again: a new version."),
            Parameter("importance", SHARE, "0 to 1.", aliases=("importanceWeight",)),
            Parameter("merge", SWITCH, "Merge it with what says the same."),
            Parameter("role", choice("user", "assistant"), "Who said it, if merged."),
            Parameter("validAt", TEXT, "True since: 2026-03-14, yesterday.", aliases=("date",)),
        ),
        schemas.WRITTEN,
        ("core", "reference"),
        writes=True,
        repeatable=False,
        always_load=True,
    ),
    Tool(
        "store_memory",
        "Store a learning",
        "Save what was learned in engineering work, at once: a mistake to avoid (anti-patterns), an approach that "
        "worked (patterns), a rule of thumb (heuristics). Sessions start with these. Else use remember.",
        store_memory,
        (
            Parameter("name", TEXT, "A short title.", required=True, aliases=("title",)),
            Parameter("description", TEXT, "What was learned.", required=True, aliases=(*_TEXT_ALIASES, "text")),
            Parameter("reasoning", TEXT, "Why it holds.", required=True, aliases=("why",)),
            Parameter("category", choice(*LEARNING_CATEGORIES), "Its kind.", required=True, aliases=("type",)),
            Parameter("references", TEXTS, "Related files, features.", aliases=("refs", "files")),
        ),
        schemas.WRITTEN,
        ("core", "reference"),
        writes=True,
        repeatable=False,
        always_load=True,
    ),
    Tool(
        "recall",
        "Recall",
        "Look up what is remembered, before you answer or start work: people, preferences, decisions, earlier "
        "sessions, mistakes. Ask in plain words; times such as 'last week' count, a \"phrase\" must be there. Best "
        "first; what has no room is listed with its number, for recall_detail.",
        recall,
        (
            Parameter(
                "query", TEXT, "A question or words.", required=True, aliases=("q", "question", "text", "search")
            ),
            Parameter("limit", LIMIT, "Maximum number.", default=8, aliases=("k", "topK", "n", "maxResults")),
            Parameter(
                "maxTokens",
                {"type": "integer", "minimum": 100, "maximum": 20_000},
                "Its length.",
                default=1500,
                aliases=("budget", "tokens"),
            ),
            Parameter("category", TEXT, "As for remember."),
            Parameter("tags", TEXTS, "With all of these tags.", aliases=("tag", "labels")),
            Parameter("when", TEXT, "Of this time: last week, in March.", aliases=("time", "date")),
            Parameter("project", TEXT, "Learned in this project.", aliases=("sourceProject",)),
        ),
        schemas.MEMORIES,
        ("core", "reference"),
        always_load=True,
    ),
    Tool(
        "recall_detail",
        "Recall in full",
        "Read memories in full, by the numbers that recall gave.",
        recall_detail,
        (Parameter("ids", NUMBERS, "Such as [12, 15].", required=True, aliases=_IDS.aliases, reference=True),),
        schemas.MEMORIES,
        ("core", "reference"),
    ),
    Tool(
        "memory_update",
        "Correct a memory",
        "Correct a memory, or change how much it matters. The old text stays in its history. For a new fact use "
        "remember.",
        memory_update,
        (
            ID,
            Parameter("text", TEXT, "The corrected text.", aliases=_TEXT_ALIASES[:1] + _TEXT_ALIASES[2:]),
            Parameter("title", TEXT, "The new title.", aliases=("name",)),
            Parameter("triggerPhrases", TEXTS, "Phrases that bring it up.", aliases=("triggers",)),
            Parameter(
                "importanceWeight",
                SHARE,
                "0 to 1.",
                aliases=("importance", "weight"),
                fills="importance",
            ),
            Parameter(
                "importanceTier",
                choice(*TIERS),
                "Its rank.",
                aliases=("tier",),
                fills="tier",
            ),
            Parameter("tags", TEXTS, "All its tags.", aliases=("labels",)),
        ),
        schemas.WRITTEN,
        ("core", "reference"),
        writes=True,
        repeatable=False,
    ),
    Tool(
        "forget",
        "Forget",
        "Forget memories, when the user asks for it. By ids at once; what a query finds is listed first, and needs a "
        "second call with confirm. A person can bring them back.",
        forget,
        (
            _IDS,
            Parameter(
                "query",
                TEXT,
                "What about: everything about the Osaka flat.",
                aliases=("what", "about", "text"),
            ),
            Parameter("keep", NUMBERS, "Memories that stay.", reference=True),
            Parameter("confirm", TEXT, "What the first call answered.", aliases=("token",)),
        ),
        schemas.FORGOTTEN,
        ("core",),
        writes=True,
        destroys=True,
    ),
    Tool(
        "consolidate",
        "Consolidate",
        "Turn past conversations into facts, when asked to. The first call answers episodes and what to do; the second "
        "takes facts and token. Repeat until nothing waits.",
        consolidate,
        (
            Parameter("token", TEXT, "What the first call answered."),
            Parameter("facts", schemas.list_of(_FACT), "What they tell.", aliases=("actions",)),
            Parameter("conversationId", TEXT, "Of this one only.", aliases=("conversation",)),
            Parameter("limit", LIMIT, "Episodes at a time.", default=3),
        ),
        schemas.CONSOLIDATION,
        ("core",),
        writes=True,
        repeatable=False,
    ),
)
