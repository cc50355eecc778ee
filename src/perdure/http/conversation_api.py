"""The routes `/api/v0`: a product sends the messages of its conversations, and asks what is known from them. Facts are
made by learning alone; nothing here writes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starlette.responses import PlainTextResponse, Response

from perdure.clock import format_time
from perdure.episodes.metadata import CONSOLIDATED_AT, DIFFICULTY, REVIEWED_AT, STABILITY, SURPRISE, UNTIL
from perdure.errors import InvalidInput, NotFound
from perdure.http.bodies import AddMessage, ContextPreRetrieve, RetrieveMemory
from perdure.http.routing import Asking, Caller, Routes, header_text, json_response
from perdure.http.verbs import Key
from perdure.ids import BY_HAND, LEARNED
from perdure.learn.render import facts_markdown
from perdure.memory import Memory
from perdure.model import FACT_CATEGORIES, Hit, Record, Remembered
from perdure.text.preview import one_line

CONVERSATION_API: Final = Routes("conversation memory")
RETRIEVED: Final = {"semantic": list[dict[str, Any]], "episodic": list[dict[str, Any]]}
# From this surprise on an episode is called a key moment, and `low` shows what was said.
_KEY_MOMENT: Final = 0.7
# For this many of the best episodes, `auto` shows what was said.
_EPISODES_IN_DETAIL: Final = 2
_MILLISECOND: Final = 1000


@CONVERSATION_API.add(
    "POST", "/api/v0/add_message", "write", repeatable=True, summary="Store what somebody said", answer=Remembered
)
def add_message(caller: Asking, body: AddMessage, idempotency_key: Key = None) -> Response:
    """It is on disk when this answers; episodes and facts are made of it later."""
    message, at = body.message, body.message.timestamp
    if isinstance(at, int):
        try:
            at = format_time(datetime.fromtimestamp(at / _MILLISECOND, UTC))
        except (ValueError, OverflowError, OSError) as error:
            raise InvalidInput("timestamp is not a time in milliseconds since 1970.") from error
    conversation = caller.memory.conversation(body.conversation_id)
    key = header_text(idempotency_key)
    return json_response(
        conversation.add_message(message.role, message.content, at=at, speaker=message.speaker, idempotency_key=key)
    )


@CONVERSATION_API.add(
    "POST", "/api/v0/retrieve_memory", "read", summary="What is known and what happened, as Markdown",
    response_class=PlainTextResponse,
)  # fmt: skip
def retrieve_memory(caller: Asking, body: RetrieveMemory) -> Response:
    facts, episodes = _facts(caller, body), _episodes(caller, body)
    known = facts_markdown(hit.record for hit in facts)
    happened = "\n".join(episode_lines(caller.memory, episodes, body.detail))
    return PlainTextResponse("\n\n".join(filter(None, (known, happened))))


@CONVERSATION_API.add("POST", "/api/v0/retrieve_memory/raw", "read", summary="The same, as data", answer=RETRIEVED)
def retrieve_memory_raw(caller: Asking, body: RetrieveMemory) -> Response:
    facts, episodes = _facts(caller, body), _episodes(caller, body)
    return json_response({
        "semantic": [fact_document(hit) for hit in facts],
        "episodic": [episode_document(caller.memory, hit) for hit in episodes],
    })  # fmt: skip


@CONVERSATION_API.add(
    "POST", "/api/v0/context_pre_retrieve", "read", summary="What is known, as Markdown for a system prompt",
    response_class=PlainTextResponse,
)  # fmt: skip
def context_pre_retrieve(caller: Asking, body: ContextPreRetrieve) -> Response:
    """Facts alone. No episode is retrieved, so none is reviewed for it."""
    return PlainTextResponse(facts_markdown(hit.record for hit in _facts(caller, body)))


def _facts(caller: Caller, body: ContextPreRetrieve) -> Sequence[Hit]:
    """What was learned, and what a person told. What a model stored as a memory is no fact here (S2)."""
    if not body.query.strip():
        raise InvalidInput("query is empty.", remedy="Ask in words.")
    if body.query_embedding is not None:
        raise InvalidInput(
            f"query_embedding is not taken: nothing says which model made its {len(body.query_embedding)} numbers.",
            remedy="Leave query_embedding out; the question is embedded with the model of the stored vectors.",
        )
    found = caller.memory.recall(
        body.query, recipe="facts", limit=body.semantic_limit, conversation_id=body.conversation_id,
        category=body.category or FACT_CATEGORIES, source=(LEARNED, BY_HAND), include_constitutional=False,
    )  # fmt: skip
    return found.hits


def _episodes(caller: Caller, body: RetrieveMemory) -> Sequence[Hit]:
    found = caller.memory.episodes(body.query, limit=body.episodic_limit, conversation_id=body.conversation_id)
    return found.hits


def fact_document(hit: Hit) -> dict[str, Any]:
    record = hit.record
    return {
        "id": record.id,
        "conversation_id": record.conversation_id,
        "category": record.category,
        "fact": record.text,
        "keywords": record.keywords,
        "source_episodic_ids": record.evidence,
        "valid_at": record.valid_at or record.created_at,
        "invalid_at": record.invalid_at,
        "created_at": record.created_at,
        "score": hit.score,
    }


def episode_document(memory: Memory, hit: Hit) -> dict[str, Any]:
    record, metadata = hit.record, hit.record.metadata
    return {
        "id": record.id,
        "conversation_id": record.conversation_id,
        "title": record.title or "",
        "summary": record.text,
        "messages": [
            {"role": message.metadata.get("role"), "content": message.text, "timestamp": message.valid_at}
            for message in _messages(memory, record)
        ],
        "surprise": metadata.get(SURPRISE),
        "start_at": record.valid_at,
        "end_at": metadata.get(UNTIL),
        "stability": metadata.get(STABILITY),
        "difficulty": metadata.get(DIFFICULTY),
        "last_reviewed_at": metadata.get(REVIEWED_AT),
        "consolidated_at": metadata.get(CONSOLIDATED_AT),
        "created_at": record.created_at,
        "score": hit.score,
    }


def episode_lines(memory: Memory, episodes: Sequence[Hit], detail: str) -> Iterator[str]:
    if episodes:
        yield "## Episodic Memory"
    for rank, hit in enumerate(episodes, 1):
        record, surprise = hit.record, hit.record.metadata.get(SURPRISE)
        surprising = isinstance(surprise, int | float) and surprise >= _KEY_MOMENT
        key_moment = ", key moment" if surprising else ""
        yield f"### {one_line(record.title or f'Memory {rank}')} [rank: {rank}, score: {hit.score:.2f}{key_moment}]"
        yield f"**When:** {record.metadata.get(UNTIL) or format_time(record.created_at)}"
        yield f"**Content:** {one_line(record.text)}"
        wanted = {"auto": rank <= _EPISODES_IN_DETAIL, "low": rank == 1 and surprising, "high": True, "none": False}
        if wanted[detail]:
            yield "**Details:**"
            yield from (
                f"- {message.metadata.get('role')}: {one_line(message.text)}" for message in _messages(memory, record)
            )
        yield ""


def _messages(memory: Memory, episode: Record) -> Iterator[Record]:
    """What was said in it, as far as it is there."""
    for id in episode.evidence:
        try:
            message = memory.get(id)
        except NotFound:
            continue
        if message.state == "active":
            yield message
