"""Proposals: what Perdure may not decide alone about two memories, kept until a person accepts or rejects it.

A proposal is a memory like any other, so the log, undo and export know it; but it is shown only where it is asked for.
Its key follows from the two memories, so that one pair has one proposal of each kind, whoever makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from perdure.episodes.keys import key_of, position_of
from perdure.ids import MAX_NUMBER, PROPOSAL, content_hash
from perdure.learn.results import Proposal, ProposalKind
from perdure.lifecycle.write import apply_plan, plan_write
from perdure.model import Filter, Json, Record
from perdure.recall.contradictions import is_about
from perdure.text.preview import clip, one_line, one_line_preview
from perdure.validation import MAX_METADATA_BYTES, check_choice, check_limit
from perdure.visibility import has_expired

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Reader, Writer
    from perdure.validation import RecordFields

PROPOSAL_KINDS: Final[tuple[ProposalKind, ...]] = get_args(ProposalKind)
# In the metadata of a proposal that a person has answered.
DECISION: Final = "decision"
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"

_QUESTIONS: Final[dict[ProposalKind, str]] = {
    "merge": "Do these two memories say the same, so that one is enough?",
    "conflict": "These two memories cannot both be true. Which one is?",
}
_SHOWN: Final = 300
_PAGE: Final = 100
_POSITIONS: Final = 10**8 - 1
# Hash collisions are about 1 in 10^8; this many neighbouring positions are tried for a free one.
_MOST_PROBES: Final = 64
# Behind a longer text nothing else would fit into the metadata of the proposal; it can be made again.
_LONGEST_TEXT: Final = MAX_METADATA_BYTES // 8


def propose(  # noqa: PLR0913 - all that a person wants to know before the answer
    services: Services,
    writer: Writer,
    batch: WriteBatch,
    *,
    kind: ProposalKind,
    first: Record,
    second: Record,
    reasons: Sequence[str] = (),
    cosine: float | None = None,
    text: str | None = None,
) -> Record | None:
    """Put a proposal about two stored memories into this transaction, and answer it. None where the pair has an open
    one already, or where a person rejected it and neither of the two says anything else since.
    """
    older, newer = sorted((first, second), key=lambda record: (said_at(record), record.number))
    key, existing = find_proposal(writer, kind, older, newer)
    if existing and (is_about(existing, older, newer) or is_about(existing, newer, older)):
        rejected = existing.metadata.get(DECISION) == REJECTED
        if rejected or existing.state == "active":
            return None
    kept = text if text is not None and len(text.encode()) <= _LONGEST_TEXT else None
    metadata: dict[str, Json] = {
        "first": older.number, "first_id": older.id, "first_hash": older.content_hash,
        "second": newer.number, "second_id": newer.id, "second_hash": newer.content_hash,
        "reasons": list(reasons), "cosine": None if cosine is None else round(cosine, 4), "text": kept,
    }  # fmt: skip
    words = question_of(kind, older, newer, reasons, kept)
    same_scope = older.conversation_id == newer.conversation_id
    fields: RecordFields = {
        "key": key, "text": words, "content_hash": content_hash(words), "source": PROPOSAL,
        "title": f"{kind} #{older.number}, #{newer.number}?",
        "importance": 0.0, "metadata": metadata, "evidence": (older.id, newer.id),
        "conversation_id": older.conversation_id if same_scope else None,
    }  # fmt: skip
    plan = plan_write(existing, older.namespace, fields, batch.at, force_new_version=True)
    # A proposal is no reason to evict a memory: it goes first when room is made for something else.
    return apply_plan(services, writer, plan, batch, room=False).record


def said_at(record: Record) -> datetime:
    """When a memory began to be true, or was said in the words that it has. Of one that was corrected that is when it
    was last said.
    """
    return record.valid_at or (record.updated_at if record.version > 1 else record.created_at)


def find_proposal(reader: Reader, kind: ProposalKind, first: Record, second: Record) -> tuple[str, Record | None]:
    """The key that the proposal of this kind about two memories has or would have, and the proposal, in any state."""
    pair = sorted((str(first.id), str(second.id)))
    start = int.from_bytes(sha256("\n".join(pair).encode()).digest()[:8])
    key = ""
    for step in range(_MOST_PROBES):
        key = key_of(PROPOSAL, kind, 1 + (start + step) % _POSITIONS)
        found = reader.by_key(key)
        if found is None or sorted((str(found.metadata.get("first_id")), str(found.metadata.get("second_id")))) == pair:
            return key, found
    return key, None


def review(services: Services, namespace: str, kind: str | None, limit: int) -> list[Proposal]:
    """The open proposals, newest first."""
    if kind is not None:
        check_choice(PROPOSAL_KINDS, kind, "kind")
    most, now = check_limit(limit), services.context.clock()
    proposals: list[Proposal] = []
    after: int | None = None
    with services.store.read(namespace) as reader:
        while len(proposals) < most:
            page = reader.page(Filter(key_type=PROPOSAL), after=after, limit=_PAGE, newest=True)
            opened = (open_proposal(reader, record, now) for record in page)
            proposals += (each for each in opened if each and kind in {None, each.kind})
            if len(page) < _PAGE:
                break
            after = page[-1].number
    return proposals[:most]


def open_proposal(reader: Reader, record: Record, now: datetime) -> Proposal | None:
    """The proposal that a memory holds, if it is one and still waits for an answer: both memories are active, and say
    what they said when it was made.
    """
    kind = kind_of(record)
    if kind is None or record.state != "active":
        return None
    told: dict[str, Any] = dict(record.metadata)
    numbers = [told.get("first"), told.get("second")]
    if not all(isinstance(number, int) and 0 < number <= MAX_NUMBER for number in numbers):
        return None
    pair = reader.fetch(cast("list[int]", numbers))
    if len(pair) != len(numbers) or not is_about(record, *pair):
        return None
    if any(each.state != "active" or has_expired(each, now) for each in pair):
        return None
    reasons, cosine, text = told.get("reasons"), told.get("cosine"), told.get("text")
    first, second = pair
    return Proposal(
        record.number,
        kind,
        first,
        second,
        tuple(map(str, cast("list[object]", reasons))) if isinstance(reasons, list) else (),
        float(cosine) if isinstance(cosine, int | float) else None,
        text if isinstance(text, str) else None,
        record.created_at,
    )


def kind_of(record: Record) -> ProposalKind | None:
    """What a memory proposes, if it is a proposal of Perdure's own."""
    type_, _, name = (record.key or "").partition(":")
    if type_ != PROPOSAL or position_of(name) is None:
        return None
    return next((kind for kind in PROPOSAL_KINDS if name.startswith(f"{kind}/")), None)


def question_of(kind: ProposalKind, first: Record, second: Record, reasons: Sequence[str], text: str | None) -> str:
    """A proposal as a person reads it."""
    lines = [_QUESTIONS[kind], *(clip(one_line_preview(each), _SHOWN) for each in (first, second))]
    if reasons:
        lines.append(f"Why you are asked: {'; '.join(reasons)}.")
    if text is not None:
        lines.append(f"One memory would say: {clip(one_line(text), _SHOWN)}")
    return "\n".join(lines)
