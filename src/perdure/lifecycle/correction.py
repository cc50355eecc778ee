"""Correcting a memory that is named by no reference: in a sentence that says what holds now, or by a description of it.

The memory is found, what it would say is shown, and only a yes changes it. A sentence that fits several memories
equally well, or none, changes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final, TypeGuard

from perdure.errors import (
    AmbiguousReference,
    Conflict,
    InvalidInput,
    InvalidReference,
    NeedsConfirmation,
    NotFound,
    shown,
)
from perdure.ids import KINDS
from perdure.lifecycle.instruction import reference_of
from perdure.lifecycle.selection import SelectionScope, similar_memories, text_of
from perdure.lifecycle.similarity import similarity
from perdure.lifecycle.update import update
from perdure.lifecycle.write import check_write
from perdure.model import Record, Remembered
from perdure.results import ProposedCorrection
from perdure.text.corrections import Correction, corrected, read_correction
from perdure.text.descriptions import Description
from perdure.text.meant import choose, choose_corrected
from perdure.text.orders import Order, describe
from perdure.text.preview import one_line
from perdure.text.words import UNSPACED, query_words

_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """What was said: a `sentence`, and, if the sentence only describes the memory, the `text` that it says from now on.
    `confirm` is True or the token of what was shown.
    """

    sentence: str
    text: str | None = None
    confirm: object = False


def is_sentence(ref: object) -> TypeGuard[str]:
    """Whether it is said in words which memory is meant, and not by a reference."""
    if not isinstance(ref, str) or not (" " in ref.strip() or UNSPACED.search(ref)):
        return False
    with suppress(InvalidReference):
        reference_of(ref)
        return False
    return True


def correct(scope: SelectionScope, request: CorrectionRequest) -> Remembered:
    services, confirm = scope.services, request.confirm
    proposed = propose_correction(scope, request.sentence, request.text)
    if not isinstance(confirm, bool | str):
        raise InvalidInput(f"confirm must be True or the token of what was shown, not {shown(confirm)}.")
    if isinstance(confirm, str) and confirm != proposed.token:
        raise Conflict(
            f"The token {shown(confirm)} confirms another correction than the one that is meant now.",
            remedy="Look at it again, and confirm that one; nothing was changed.",
        )
    record = proposed.record
    if confirm is False:
        needed = NeedsConfirmation(
            f"Memory #{record.number} would be corrected.",
            remedy=f"Look at it, and confirm it with the token {proposed.token}; nothing was changed.",
        )
        needed.preview = proposed
        raise needed
    fields, _ = check_write(services, proposed.text, {}, partial=True)
    return update(services, record, fields, expected_version=record.version)


def propose_correction(scope: SelectionScope, sentence: str, text: str | None = None) -> ProposedCorrection:
    """The memory that is meant, and what it would say."""
    if len(sentence) > _LONGEST:
        raise InvalidInput(f"That correction has {len(sentence):,} characters.", remedy="Say it in fewer words.")
    if text is None:
        correction = read_correction(sentence)
        record = corrected_record(scope, sentence, correction)
        said = corrected(record.text, correction)
    else:
        record, said = described_record(scope, describe(sentence)), text
    token = sha256(f"{record.id}@{record.seq} {record.version}\x00{said}".encode()).hexdigest()[:16]
    return ProposedCorrection(record, said, token)


def corrected_record(scope: SelectionScope, sentence: str, correction: Correction) -> Record:
    words = [word.written for word in Description(correction.statement, language=correction.language).words]
    records = candidates(scope, [*words, *query_words(correction.statement)], correction.statement)
    meant = choose_corrected(correction, [record.text for record in records], partial(similarity, scope.services))
    return _only(sentence, [records[place] for place in meant.places or meant.doubtful])


def described_record(scope: SelectionScope, order: Order) -> Record:
    records = candidates(scope, query_words(order.about), order.about)
    meant = choose(order, [text_of(record) for record in records], partial(similarity, scope.services))
    return _only(order.about, [records[place] for place in meant.places or meant.doubtful])


def candidates(scope: SelectionScope, words: list[str], query: str) -> list[Record]:
    """Memories that somebody stored or that were learned; what was said in a conversation stays as it was said."""
    found = similar_memories(scope, words, query)
    return [each for each in found if each.state == "active" and (each.key or "").partition(":")[0] not in KINDS]


def _only(sentence: str, found: list[Record]) -> Record:
    if not found:
        raise NotFound(
            f"No memory fits {shown(sentence)}.",
            remedy="Name the memory by its number, as in `perdure update 7 TEXT`, or store it with `perdure remember`; "
            "nothing was changed.",
        )
    if len(found) > 1:
        listed = "; ".join(f"#{record.number} {one_line(record.text)[:60]}" for record in found[:5])
        raise AmbiguousReference(
            f"{shown(sentence)} fits {len(found)} memories equally well: {listed}.",
            remedy="Say more about the one that you mean, or name it by its number; nothing was changed.",
        )
    return found[0]
