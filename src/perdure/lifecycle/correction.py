"""Correcting a memory that is named by no reference: in a sentence that says what holds now, or by a description of it.

The memory is found, what it would say is shown, and only a yes changes it. A sentence that fits several memories
equally well, or none, changes nothing.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from perdure.errors import (
    AmbiguousReference,
    Conflict,
    InvalidInput,
    NeedsConfirmation,
    NotFound,
    shown,
)
from perdure.ids import KINDS
from perdure.lifecycle.selection import SelectionScope, scope, similar_memories, text_of
from perdure.lifecycle.similarity import similarity
from perdure.lifecycle.update import update
from perdure.lifecycle.write import check_write
from perdure.model import ProposedCorrection, Record, Remembered
from perdure.remedies import Remedy, Run
from perdure.text.corrections import StatedCorrection, corrected, read_correction
from perdure.text.descriptions import Description
from perdure.text.meant import choose, choose_corrected
from perdure.text.orders import Order, describe
from perdure.text.preview import one_line
from perdure.text.words import query_words

if TYPE_CHECKING:
    from perdure.services import Services

_MAX_CHARACTERS: Final = 2000


def correct(services: Services, namespace: str, sentence: str, text: str | None, confirm: object) -> Remembered:
    """Correct the memory that a sentence is about; with a `text`, which it says from now on, the sentence only
    describes it. `confirm` is True or the token of what was shown.
    """
    proposed = propose_correction(scope(services, namespace, {}), sentence, text)
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


def propose_correction(where: SelectionScope, sentence: str, text: str | None = None) -> ProposedCorrection:
    """The memory that is meant, and what it would say."""
    if len(sentence) > _MAX_CHARACTERS:
        raise InvalidInput(f"That correction has {len(sentence):,} characters.", remedy="Say it in fewer words.")
    if text is None:
        correction = read_correction(sentence)
        record = corrected_record(where, sentence, correction)
        said = corrected(record.text, correction)
    else:
        record, said = described_record(where, describe(sentence)), text
    token = sha256(f"{record.id}@{record.seq} {record.version}\x00{said}".encode()).hexdigest()[:16]
    return ProposedCorrection(record, said, token)


def corrected_record(where: SelectionScope, sentence: str, correction: StatedCorrection) -> Record:
    words = [word.written for word in Description(correction.statement, language=correction.language).words]
    records = candidates(where, [*words, *query_words(correction.statement)], correction.statement)
    meant = choose_corrected(correction, [record.text for record in records], partial(similarity, where.services))
    return _only(sentence, [records[place] for place in meant.places or meant.doubtful])


def described_record(where: SelectionScope, order: Order) -> Record:
    records = candidates(where, query_words(order.about), order.about)
    meant = choose(order, [text_of(record) for record in records], partial(similarity, where.services))
    return _only(order.about, [records[place] for place in meant.places or meant.doubtful])


def candidates(where: SelectionScope, words: list[str], query: str) -> list[Record]:
    """Memories that somebody stored or that were learned; what was said in a conversation stays as it was said."""
    found = similar_memories(where, words, query)
    return [each for each in found if each.state == "active" and (each.key or "").partition(":")[0] not in KINDS]


def _only(sentence: str, found: list[Record]) -> Record:
    if not found:
        raise NotFound(
            f"No memory fits {shown(sentence)}.",
            remedy=Remedy(
                "Name the memory by its number, as in ",
                Run("update", 7, "TEXT"),
                ", or store it with ",
                Run("remember"),
                "; nothing was changed.",
            ),
        )
    if len(found) > 1:
        listed = "; ".join(f"#{record.number} {one_line(record.text)[:60]}" for record in found[:5])
        raise AmbiguousReference(
            f"{shown(sentence)} fits {len(found)} memories equally well: {listed}.",
            remedy="Say more about the one that you mean, or name it by its number; nothing was changed.",
        )
    return found[0]
