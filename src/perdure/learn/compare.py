"""A memory beside its nearest neighbours: whether one of them says the same, and which of them cannot be true with it.

Two look at each pair. The judge of two statements (embed/judge.py) knows how people say that something has changed; the
rules of `differences.py` see that two statements have the same form and another value, which the judge often takes for
a second fact. Nothing is ended here: a person decides, so that being wrong costs one question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.errors import EmbedderUnavailable, StoreDamaged, StoreError
from perdure.ids import KINDS
from perdure.learn.differences import REASONS
from perdure.learn.joined import MANY, may_join, split_role
from perdure.learn.proposals import propose, said_at
from perdure.learn.sameness import Verdict, duplicate_verdict, merge_verdict
from perdure.learn.save import observe_known
from perdure.learn.similar import unpacked
from perdure.lifecycle.write import Plan, PreparedWrite, is_unchanged
from perdure.lifecycle.write_context import COMPARED_WITH
from perdure.model import ORIGIN_FIELDS, SCOPE_FIELDS, SPEAKER, Contradiction, Filter, Record, Remembered
from perdure.recall.query import SearchRequest
from perdure.recall.recipe import BALANCED
from perdure.store.port import LogFilter
from perdure.values import replace
from perdure.visibility import is_visible

if TYPE_CHECKING:
    from datetime import datetime

    from perdure.embed import judge
    from perdure.embed.port import Generation, Vectors
    from perdure.lifecycle.write import WriteRequest
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Writer

# How many of the nearest memories are compared, and how near they have to be.
NEAREST: Final = 4
LEAST_COSINE: Final = 0.3
# How many memories are read to find those: some of them are of another scope.
MAX_READ: Final = 24
# How many characters of a statement the judge reads. A longer text is a document, and says many things.
MAX_STATEMENT_CHARACTERS: Final = 320
# From here on the judge is believed that the newer one ends the older one. Of 353 observations of two talks of LoCoMo,
# told in their order, 9 are called a contradiction, and 8 from .86 on; with the judge before, nearly all wrongly.
_SURE: Final = 0.83
# From here on the judge is believed that two statements are about different things, whatever the rules say.
_APART: Final = 0.5
# A statement that seems to end more of its neighbours ends none: the judge then reads its words of change ("we moved
# the planning to Wednesday") and not what has changed.
MAX_ENDED_AT_ONCE: Final = 2
_SAME: Final = 0.5
# From this cosine on two statements may be the same: less than where facts are compared, because the judge agrees, too.
_SAME_FROM: Final = 0.93
_ENDED: Final = "the newer one seems to end the older one"
_OBSERVED: Final = (
    "#{} says the same in other words, so it was counted there. With a title, a tag or a key it would be a memory of "
    "its own."
)
_SHOWN: Final = Filter(hidden=KINDS)
_PERSONS: Final = (
    frozenset(("i", "me", "my", "mine", "we", "us", "our", "ours")),
    frozenset(("you", "your", "yours")),
    frozenset(("he", "him", "his")),
    frozenset(("she", "her", "hers")),
    frozenset(("they", "them", "their", "theirs")),
)
_WORD: Final = re.compile(r"[a-z]+")


class Neighbour(NamedTuple):
    record: Record
    cosine: float


class Contrary(NamedTuple):
    """What a memory cannot be true together with, and why."""

    other: Neighbour
    reasons: tuple[str, ...]

    @property
    def seems_ended(self) -> bool:
        """Whether the judge alone says so."""
        return self.reasons == (_ENDED,)


def is_statement(record: Record, now: datetime) -> bool:
    """Whether it says one thing, and may be shown."""
    return len(record.text) <= MAX_STATEMENT_CHARACTERS and is_visible(record, _SHOWN, now)


def may_compare(one: Record, other: Record) -> bool:
    """Whether two statements can be about one thing: they are of one scope, one speaker and one role, and not of two
    projects. Two keys name two things, of which their texts need not tell.
    """
    projects = {record.source_project for record in (one, other)} - {None}
    return (
        (one.key is None or other.key is None)
        and len(projects) <= 1
        and all(getattr(one, name) == getattr(other, name) for name in SCOPE_FIELDS)
        and split_role(one.text)[0] == split_role(other.text)[0]
        and one.metadata.get(SPEAKER) == other.metadata.get(SPEAKER)
    )


def in_order(one: Record, other: Record) -> tuple[Record, Record]:
    """The older and the newer; what is not stored yet is the newest."""
    older, newer = sorted((one, other), key=lambda record: (said_at(record), record.number or MANY))
    return older, newer


def are_of_two_persons(one: str, other: str) -> bool:
    """`my editor` and `her editor`."""
    first, second = (set(_WORD.findall(text.lower())) for text in (one, other))
    persons = [{place for place, words in enumerate(_PERSONS) if words & said} for said in (first, second)]
    return all(persons) and persons[0].isdisjoint(persons[1])


def find_neighbours(
    services: Services, record: Record, vector: Vectors, generation: Generation, excluded: Collection[int] = ()
) -> tuple[int, list[Neighbour]]:
    """What a memory is compared with, nearest first; and before it the position of the log at which that was so."""
    now = services.context.clock()
    request = SearchRequest(query=None, namespaces=(record.namespace,), recipe=BALANCED, now=now, filter=_SHOWN)
    seq, found = services.recaller().nearest(request, generation, vector, MAX_READ)
    left_out = {record.number, *excluded}
    cosines = {number: cosine for number, cosine in found if cosine >= LEAST_COSINE and number not in left_out}
    if not cosines:
        return seq, []
    with services.store.read(record.namespace) as reader:
        records = reader.fetch(list(cosines))
    near = (each for each in records if is_statement(each, now) and may_compare(record, each))
    return seq, [Neighbour(each, cosines[each.number]) for each in islice(near, NEAREST)]


def judge_pairs(services: Services, pairs: Sequence[tuple[Record, Neighbour]]) -> list[judge.PairVerdict]:
    """What the newer of each pair does to the older."""
    if services.judge is None:
        raise EmbedderUnavailable
    told = [tuple(split_role(each.text)[1] for each in in_order(record, near.record)) for record, near in pairs]
    return [*services.judge([(older, newer) for older, newer in told])]


def contrary_of(record: Record, near: Neighbour, verdict: judge.PairVerdict) -> Contrary | None:
    """None where both statements may be true."""
    older, newer = (split_role(each.text)[1] for each in in_order(record, near.record))
    if verdict.ends < _SURE and (verdict.apart >= _APART or are_of_two_persons(older, newer)):
        return None
    by_rules = merge_verdict(older, newer, near.cosine)
    # What holds in production says nothing of staging, and what Ann has nothing of what Bob has; the judge reads only
    # that the value is another one.
    if any(reason.startswith(REASONS["subject"]) for reason in by_rules.reasons):
        return None
    if verdict.ends < _SURE:
        return Contrary(near, by_rules.reasons) if by_rules.verdict is Verdict.CONFLICTS else None
    return Contrary(near, (_ENDED,))


def contraries_of(record: Record, judged: Iterable[tuple[Neighbour, judge.PairVerdict]]) -> list[Contrary]:
    """Which of its neighbours a memory cannot be true together with."""
    found = [contrary for near, verdict in judged if (contrary := contrary_of(record, near, verdict))]
    ended = sum(each.seems_ended for each in found)
    return [each for each in found if ended <= MAX_ENDED_AT_ONCE or not each.seems_ended]


def propose_conflict(
    services: Services, writer: Writer, batch: WriteBatch, record: Record, contrary: Contrary
) -> Contradiction | None:
    """None where the other memory is not any more what was compared, or where the pair is proposed or settled."""
    other, cosine = contrary.other
    if not is_unchanged(writer, other):
        return None
    try:
        proposal = propose(
            services,
            writer,
            batch,
            kind="conflict",
            first=other,
            second=record,
            reasons=contrary.reasons,
            cosine=cosine,
        )
    except StoreDamaged:
        return None
    is_newer = in_order(record, other)[1] is record
    return Contradiction(other.number, other.text, proposal.number, is_newer) if proposal else None


class WriteComparison:
    """The comparison of one memory when it is written (lifecycle/comparison.py)."""

    def __init__(self, services: Services, request: WriteRequest | None = None) -> None:
        self._services = services
        self._request = request
        self._seq: int | None = None
        self._near: Sequence[Neighbour] = ()
        self._contraries: Sequence[Contrary] = ()

    def observe(self, plan: Plan, prepared: PreparedWrite) -> Remembered | None:
        services, record, before = self._services, plan.record, plan.previous
        generation, vector = prepared.generation, prepared.vector
        has_new_words = before is None or before.state != "active" or before.text != record.text
        if not has_new_words or vector is None or generation is None:
            return None
        if not is_statement(record, services.context.clock()):
            return None
        try:
            seq, near = find_neighbours(services, record, unpacked(vector, generation), generation)
            verdicts = judge_pairs(services, [(record, each) for each in near]) if near else []
        except (EmbedderUnavailable, StoreError):
            # Comparing never fails a write: `work` tries again.
            return None
        self._seq, self._near = seq, near
        if not near:
            return None
        judged = list(zip(near, verdicts, strict=True))
        for each, verdict in judged:
            if before is None and self._says_the_same(record, each, verdict) and self._request:
                known = observe_known(services, self._request, each.record)
                if known is not None:
                    return replace(known, notes=(*known.notes, _OBSERVED.format(each.record.number)))
        self._contraries = contraries_of(record, judged)
        return None

    def _says_the_same(self, record: Record, near: Neighbour, verdict: judge.PairVerdict) -> bool:
        """Whether nothing is lost if the other memory is observed instead: whoever gives more than a text, or an
        idempotency key, means a memory of its own.
        """
        request = self._request
        if request is None or request.idempotency_key or request.fields.keys() - _ONLY_WORDS:
            return False
        if verdict.same < _SAME or not may_join(near.record, record):
            return False
        alike = duplicate_verdict(
            split_role(near.record.text)[1], split_role(record.text)[1], near.cosine, at_least=_SAME_FROM
        )
        return alike.verdict is Verdict.SAME

    def mark(self, writer: Writer, plan: Plan) -> Plan:
        # What somebody else wrote meanwhile was not looked at, so `work` compares once more.
        if self._seq is None or writer.log(LogFilter(after=self._seq), limit=1):
            return plan
        numbers = [near.record.number for near in self._near]
        return replace(plan, provenance={**plan.provenance, COMPARED_WITH: numbers})

    def propose(self, writer: Writer, batch: WriteBatch, record: Record) -> tuple[Contradiction, ...]:
        proposed = (propose_conflict(self._services, writer, batch, record, each) for each in self._contraries)
        return tuple(each for each in proposed if each)


_ONLY_WORDS: Final = {"text", "content_hash", *ORIGIN_FIELDS}
