"""What the user of an assistant orders or corrects in a conversation, carried out on memories and facts.

Only what is plain is carried out, and all of it can be taken back: memories are forgotten or corrected, and never
erased. A message does so if a person wrote it here, as the only user of the conversation. What was imported, is trusted
less, was written by a model or came through a server changes nothing: who may write there may not delete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.episodes.episode import said_at
from perdure.errors import PerdureError
from perdure.ids import KINDS, LEARNED
from perdure.lifecycle.correction import candidates
from perdure.lifecycle.forget import ForgetRequest, forget, numbers_in_words
from perdure.lifecycle.selection import SelectionScope, scope, text_of
from perdure.lifecycle.similarity import similarity
from perdure.lifecycle.update import update
from perdure.lifecycle.write import check_write
from perdure.lifecycle.write_context import is_by_person
from perdure.model import ROLE, SPEAKER, Filter, Record
from perdure.store.port import Reader
from perdure.text.chat_orders import correction_said, order_said
from perdure.text.corrections import StatedCorrection, corrected
from perdure.text.meant import choose_plainly, corrects_plainly
from perdure.text.orders import Order
from perdure.text.persons import is_user_role
from perdure.text.words import query_words
from perdure.tiers import ONLY_PEOPLE
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.learn.task import ConsolidationTask
    from perdure.services import Services

# In the provenance of a change: the message that ordered it.
SAID_IN: Final = "said_in"
# Whoever has these reads what is said here over the network, and their rights end with the request.
_SERVERS: Final = ("http", "mcp")
_MOST_FORGOTTEN: Final = 100
_NOT_SAID: Final = Filter(hidden=tuple(KINDS))
_LEARNED: Final = Filter(sources=(LEARNED,))


def carry_out_orders(services: Services, task: ConsolidationTask) -> list[str]:
    """What was done about each message of these episodes, in words."""
    notes: list[str] = []
    with services.store.read(task.namespace) as reader:
        messages = [message for episode in task.episodes for message in episode.messages]
        orders = [message for message in messages if may_order(reader, message, messages)]
        # Most namespaces hold conversations and what was learned from them: nothing that a search could find.
        is_any_written = bool(set(reader.numbers(_NOT_SAID)) - set(reader.numbers(_LEARNED))) if orders else False
    writing = services.written_by(replace(services.context, surface="work", is_person=False))
    where = scope(writing, task.namespace, {})
    for message in orders:
        if (order := order_said(message.text)) is not None:
            notes += _forget(where, message, order)
        elif is_any_written and (correction := correction_said(message.text)) is not None:
            notes += _correct(where, message, correction)
    return notes


def may_order(reader: Reader, message: Record, messages: Sequence[Record]) -> bool:
    """Whether a message is the user's own word, said here."""
    if not is_user_role(str(message.metadata.get(ROLE, ""))) or message.trust == "low" or message.source == "import":
        return False
    users = {
        str(one.metadata.get(SPEAKER))
        for one in messages
        if one.conversation_id == message.conversation_id and is_user_role(str(one.metadata.get(ROLE, "")))
    }
    lines = reader.revisions(message.number)
    if len(users) != 1 or not lines:
        return False
    return all(is_by_person(line.change) and not line.change.surface.startswith(_SERVERS) for line in lines[:1])


def _forget(where: SelectionScope, message: Record, order: Order) -> Iterator[str]:
    known = list(_known_before(where, message, query_words(order.sentence), order.about))
    places = choose_plainly(order, [text_of(record) for record in known], partial(similarity, where.services))
    if not 0 < len(places) <= _MOST_FORGOTTEN:
        return
    request = ForgetRequest([known[place].number for place in places], provenance={SAID_IN: message.id})
    try:
        done = forget(where, request)
    except PerdureError as error:
        yield f"What message #{message.number} says to forget stays: {error.sentence}"
        return
    numbers = numbers_in_words([record.number for record in done.records])
    yield f"Forgot {numbers}, as message #{message.number} says. Take it back: perdure undo {done.batch}"


def _correct(where: SelectionScope, message: Record, correction: StatedCorrection) -> Iterator[str]:
    words = query_words(f"{correction.statement} {correction.denied}")
    # What rules learned they correct themselves.
    known = [
        record for record in _known_before(where, message, words, correction.statement) if record.source != LEARNED
    ]
    place = corrects_plainly(correction, [record.text for record in known], partial(similarity, where.services))
    if place is None:
        return
    record, text = known[place], corrected(known[place].text, correction)
    if text == record.text:
        return
    try:
        fields, _ = check_write(where.services, text, {}, partial=True)
        done = update(where.services, record, fields, expected_version=record.version, provenance={SAID_IN: message.id})
    except PerdureError as error:
        yield f"Memory #{record.number}, which message #{message.number} corrects, stays as it is: {error.sentence}"
        return
    yield f"Corrected #{record.number}, as message #{message.number} says. Take it back: perdure undo {done.batch}"


def _known_before(where: SelectionScope, message: Record, words: Sequence[str], query: str) -> Iterator[Record]:
    """What was known when it was said, without what only a person may change."""
    for record in candidates(where, list(words), query):
        is_said = (record.key or "").partition(":")[0] in KINDS
        if not is_said and record.tier != ONLY_PEOPLE and record.created_at <= said_at(message):
            yield record
