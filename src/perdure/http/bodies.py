"""What the bodies of requests may hold. The façade checks the values; here is only which names there are, and of which
type. It is the one module of the server that knows pydantic.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from perdure.validation import MAX_REFERENCES, Scalar

MAX_LIMIT = 100
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
OneOrSeveral: TypeAlias = str | list[str]
Reference: TypeAlias = int | str
References: TypeAlias = Annotated[list[Reference], Field(max_length=MAX_REFERENCES)]


class Body(BaseModel):
    """A name that does not exist is refused: a misspelt one must not be ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *without: str) -> dict[str, Any]:
        """What the request says, by the names that the façade has for it."""
        return self.model_dump(exclude_unset=True, exclude=set(without))


class MemoryFields(Body):
    """What may be said about a memory besides its text. docs/reference/records.md explains each field."""

    title: str | None = None
    abstract: str | None = None
    summary: str | None = None
    reasoning: str | None = None
    category: str | None = None
    context_type: str = "general"
    tags: list[str] = []
    keywords: list[str] = []
    references: list[str] = []
    trigger_phrases: list[str] = []
    metadata: dict[str, Any] | None = None
    source: str = "manual"
    source_project: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None
    channel: str | None = None
    spec_folder: str | None = None
    file_path: str | None = None
    anchor_id: str | None = None
    evidence: list[str] = []
    trust: str = "normal"
    tier: str = "normal"
    importance: Share = 0.5
    confidence: Share | Literal["high", "medium", "low"] = 0.5
    valid_at: str | None = None
    invalid_at: str | None = None
    expires_at: str | None = None


class NewMemory(MemoryFields):
    """A memory to store."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "Alice prefers dark mode", "tags": ["ui"], "key": "person:alice"}]}
    )
    text: str
    key: str | None = None


class KeyedMemory(MemoryFields):
    """What to store under a key."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Alice prefers light mode"}]})
    text: str


class Correction(MemoryFields):
    """What to change; everything else stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "Alice prefers light mode", "add_tags": ["ui"]}]}
    )
    text: str | None = None
    key: str | None = None
    add_tags: list[str] = []
    remove_tags: list[str] = []


class CorrectionSentence(Body):
    """A sentence that says what holds now, or, with a `text`, one that describes the memory which says that from now
    on; and `confirm`, the token of the preview that the first answer holds.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"sentence": "The choir sings at 8, not at 7"}]})
    sentence: str
    text: str | None = None
    confirm: bool | str = False


class FilterFields(Body):
    """What memories are narrowed by. Times may be words: `last week`, `3d`."""

    tags: OneOrSeveral = []
    category: OneOrSeveral | None = None
    source: OneOrSeveral | None = None
    context_type: str | None = None
    tier: str | None = None
    source_project: str | None = None
    spec_folder: str | None = None
    conversation_id: str | None = None
    key_type: str | None = None
    where: dict[str, Scalar | list[Scalar]] | None = None
    min_importance: Share | None = None
    max_importance: Share | None = None
    since: str | None = None
    until: str | None = None
    when: str | None = None
    states: OneOrSeveral = "active"


class RecallFields(FilterFields):
    concepts: list[str] | None = None
    limit: Limit = 10
    namespaces: list[str] | None = Field(None, description="Several namespaces; the token must be good for each.")
    recipe: str | None = None
    as_of: str | None = None
    known_at: str | None = None
    min_relevance: Share | None = None
    include_constitutional: bool = True


class RecallQuestion(RecallFields):
    """A question, or concepts, or both."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "which theme does she like?", "limit": 5}]})
    query: str | None = None
    use_decay: bool | None = None


class ContextQuestion(RecallFields):
    """A question, and how many tokens the answer may have."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "which theme does she like?", "budget": 800}]})
    query: str
    limit: Limit = 50
    budget: int = 2000
    format: Literal["text", "records"] = "text"


class Prompt(Body):
    """A prompt that may bring memories to mind. `told_in` are the names of the project that asks: what was imported
    from another that nobody trusts is left out.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "please save context"}]})
    prompt: str
    limit: Limit = 3
    namespaces: list[str] | None = None
    told_in: list[str] = []


class SummaryQuestion(FilterFields):
    """Which memories to sum up, and in how many tokens."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"scope": "dark mode", "token_limit": 200}]})
    scope: str | None = None
    token_limit: int = 500


class Deletion(FilterFields):
    """Which memories: a reference, several, or a sentence; `keep` names those that stay. What a sentence finds needs
    `confirm`, the token of the preview that the first answer holds.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"what": "everything about the Osaka flat"}, {"what": [7]}]}
    )
    what: Reference | list[Reference] | None = None
    keep: Reference | list[Reference] | None = None
    confirm: bool | str = False
    dry_run: bool = False


class EraseRequest(Deletion):
    """The same, for ever; it always needs `confirm`. `related`: also what was made of them, `all`: and what they were
    made of.
    """

    related: Literal["derived", "all", "none"] = "derived"


class ListQuestion(FilterFields):
    """Which memories to list. `after` is `next` of the page before."""

    limit: Limit = 20
    after: int | None = None
    newest: bool = True
    known_at: str | None = None


class SeveralMemories(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"refs": [7, "person:alice"]}]})
    refs: References


class DetailQuestion(SeveralMemories):
    """Which memories, and how much of each: a line, an abstract, or all."""

    level: Literal["index", "abstract", "full"] = "full"


class SavedMemory(MemoryFields):
    """A memory to store and to merge with what says the same. `role` is who said it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Alice likes dark mode", "role": "user"}]})
    text: str
    key: str | None = None
    role: str | None = None


class NewLimits(Body):
    """What is left out stays as it is; 0 or null removes the limit of this namespace."""

    max_items: int | None = None
    max_tokens: int | None = None


class FactQuestion(FilterFields):
    """Without a query, the newest. `about`: a person, by any name that they go by, or a thing."""

    query: str | None = None
    about: str | None = None
    limit: Limit = 20
    history: bool = False


class ImportRequest(Body):
    """Memories as objects, or as the lines of an export. `trusted` keeps what they say of themselves."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"records": [{"text": "Alice prefers dark mode"}]}]})
    records: list[dict[str, Any]] | None = None
    lines: str | None = None
    trusted: bool = False
    revive: bool = False
    dry_run: bool = False


class MessagesImport(Body):
    """Messages of conversations, each with `conversation_id`, `role` and `content`; as objects, or as lines."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"messages": [{"conversation_id": "support-42", "role": "user", "content": "Hello"}]}]
        }
    )
    messages: list[dict[str, Any]] | None = None
    lines: str | None = None
    dry_run: bool = False


class NewMessages(Body):
    """What was said, in its order: each with `role` and `content`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello"}]}]})
    messages: list[dict[str, Any]]


class LearningsQuestion(Body):
    """Without a query, by prominence alone. `told_in` are the names of the project that asks: what was imported from
    another that nobody trusts is left out. So is what fits less than `min_relevance`, and with `project` what was
    learned in another one.
    """

    query: str | None = None
    limit: Limit = 20
    namespaces: list[str] | None = None
    recipe: str = "learnings"
    told_in: list[str] = []
    min_relevance: Share = 0.0
    project: str | None = None


class Suggestion(Prompt):
    """`without` are ids of memories that are left out."""

    limit: Limit = 5
    without: list[str] = []


class ParkedIds(Body):
    """Without ids, all of it."""

    ids: list[int] | None = None


class Usefulness(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"useful": True}]})
    useful: bool


class Promotion(Body):
    """Without a tier, the one that is on offer."""

    tier: str | None = None


class UndoRequest(Body):
    """What to take back: a batch, a session or an actor's writes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"session": "monday", "dry_run": True}]})
    batch: str | None = None
    session: str | None = None
    actor: str | None = None
    since: str | None = None
    force: bool = False
    dry_run: bool = False
    all_namespaces: bool = False


class NewCheckpoint(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "before-refactor"}]})
    name: str
    description: str | None = None
    spec_folder: str | None = None
    metadata: dict[str, Any] | None = None
    all_namespaces: bool = False


class CheckpointRestore(Body):
    clear_existing: bool = False
    dry_run: bool = False


class Message(Body):
    """What somebody said."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "user", "content": "I moved to Osaka"}]})
    role: str
    content: str
    at: str | None = None
    speaker: str | None = None
    session_id: str | None = None


class Work(Body):
    """How much of it; nothing means all."""

    limit: int | None = None
    purge: bool | None = None
    drop_old_vectors: bool = False


class TaskRequest(Body):
    """Of one conversation, or of whichever waits longest."""

    conversation_id: str | None = None
    limit: int | None = None


class TaskAnswer(Body):
    """What was made of a task: `token` is the task's, `actions` are as its schema says."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"token": "…", "actions": {"facts": []}}]})
    token: str
    actions: dict[str, Any] | list[dict[str, Any]]


class ConsolidationRequest(Body):
    """Of one conversation, or of all."""

    conversation_id: str | None = None
    dry_run: bool = False
    limit: int | None = None


class ProposalAnswer(Body):
    keep: Reference | None = None


# What `/api/v0` takes.


class ChatMessage(Body):
    """`speaker` is the name of whoever speaks in that role, if they have one. `timestamp` is ISO 8601, or milliseconds
    since 1970; without one it was said now.
    """

    role: str
    content: str
    speaker: str | None = None
    timestamp: int | str | None = None


class AddMessage(Body):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"conversation_id": "support-42", "message": {"role": "user", "content": "I moved to Osaka"}}]
        }
    )
    conversation_id: str
    message: ChatMessage


class ContextPreRetrieve(Body):
    """What is known that matters for a question. `query_embedding` must be left out, or null: Perdure embeds the
    question with the model whose vectors it searches, and cannot tell which model made another vector.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"conversation_id": "support-42", "query": "where does she live?"}]}
    )
    conversation_id: str
    query: str
    query_embedding: list[float] | None = None
    semantic_limit: Limit = 20
    detail: Literal["auto", "none", "low", "high"] = "auto"
    category: str | None = None


class RetrieveMemory(ContextPreRetrieve):
    """The same, and what happened."""

    episodic_limit: Limit = 10
