"""The agent itself consolidates: it is handed episodes with the facts that are related, and gives actions back.

Nothing is kept meanwhile. What was shown stands in the token, which only this store can make; so an answer cannot name
anything else, and one that comes too late changes nothing.
"""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.errors import Conflict, InvalidInput
from perdure.learn.actions import SCHEMA, check_actions, parse_actions
from perdure.learn.model_engine import INSTRUCTIONS
from perdure.learn.run import apply_actions, fingerprint, read_episode
from perdure.learn.task import ConsolidationTask
from perdure.llm.structured import read_answer
from perdure.model import replace_record

if TYPE_CHECKING:
    from perdure.learn.results import Consolidation
    from perdure.services import Services

AGENT: Final = "agent"
_SECRET: Final = "consolidation secret"  # noqa: S105 - the name of the note
_BYTES: Final = 32
_OPEN_AGAIN: Final = "Ask for the episodes again; nothing was changed."


def with_token(services: Services, task: ConsolidationTask) -> ConsolidationTask:
    """The task as it is handed out."""
    content = {
        "namespace": task.namespace,
        "conversation": task.conversation_id,
        "episodes": [[one.record.number, fingerprint(one)] for one in task.episodes],
        "facts": [[fact.number, fact.content_hash] for fact in task.facts],
    }
    packed = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    token = f"{urlsafe_b64encode(packed).decode()}.{_signature(services, packed)}"
    return replace(task, instructions=INSTRUCTIONS, schema=SCHEMA, token=token)


def finish(services: Services, namespace: str, token: object, answer: object) -> Consolidation:
    """Carry out what the agent answers."""
    task = read_token(services, namespace, token)
    given: object = {"facts": cast("object", answer)} if isinstance(answer, list | tuple) else answer
    try:
        checked = read_answer(json.dumps(given), SCHEMA)
    except (TypeError, ValueError, RecursionError) as error:
        remedy = "The schema of the task says how actions look; nothing was changed."
        raise InvalidInput(f"The actions cannot be read: {error}", remedy=remedy) from error
    known = {fact.number for fact in task.facts}
    actions, notes = check_actions(parse_actions(checked), known)
    batch = replace(services.context, is_person=False).batch()
    done = apply_actions(services, task, actions, AGENT, batch)
    if done is None:
        raise _too_late()
    return replace(done, notes=(*notes, *done.notes))


def read_token(services: Services, namespace: str, token: object) -> ConsolidationTask:
    """The task that was handed out with this token. A Conflict when its episodes are not as they were."""
    content = read_content(services, token)
    if content is None or content["namespace"] != namespace:
        raise InvalidInput("This token belongs to no task of this memory.", remedy=_OPEN_AGAIN)
    with services.store.read(namespace) as reader:
        fetched = (reader.fetch([number]) for number, _ in content["episodes"])
        episodes = tuple(read_episode(reader, record) for found in fetched for record in found)
        by_number = {record.number: record for record in reader.fetch([number for number, _ in content["facts"]])}
    if [[one.record.number, fingerprint(one)] for one in episodes] != content["episodes"]:
        raise _too_late()
    # With the words that were shown: a fact that says something else by now is not the one that is meant.
    facts = [
        replace_record(by_number[number], content_hash=words)
        for number, words in content["facts"]
        if number in by_number
    ]
    return ConsolidationTask(namespace, content["conversation"], episodes, tuple(facts), token=str(token))


def read_content(services: Services, token: object) -> dict[str, Any] | None:
    """What this store put into a token; None for whatever somebody else made."""
    head, _, signature = token.rpartition(".") if isinstance(token, str) else ("", "", "")
    try:
        packed = urlsafe_b64decode(head)
    except ValueError:
        return None
    is_ours = hmac.compare_digest(signature.encode("utf-8", "replace"), _signature(services, packed).encode())
    return json.loads(packed) if is_ours else None


def _too_late() -> Conflict:
    sentence = "The episodes of this task were consolidated or changed since they were handed out."
    return Conflict(sentence, remedy=_OPEN_AGAIN)


def _signature(services: Services, packed: bytes) -> str:
    """Made with a secret that only the store knows; it is made when it is first needed."""
    store = services.store
    if store.note(_SECRET) is None:
        store.put_note(_SECRET, secrets.token_hex(_BYTES))
    return hmac.new((store.note(_SECRET) or "").encode(), packed, sha256).hexdigest()
