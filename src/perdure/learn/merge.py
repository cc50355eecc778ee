"""The loop that makes one memory of several which say the same (S4): search, decide, merge, look at the result, repeat.

It ends when the gate rejects a merge, when nothing is left to merge with, or after as many rounds as the settings
allow. It only plans: `learn/save.py` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.errors import InvalidInput, ProviderUnavailable, SettingsInvalid
from perdure.learn.joined import join_texts, joined_record, lost_words, split_role
from perdure.learn.merge_model import LONGEST, ask_to_merge
from perdure.learn.merge_results import MergeOutcome, MergeStep
from perdure.learn.proposals import ProposalKind
from perdure.learn.sameness import Verdict, merge_verdict, normal_form
from perdure.learn.similar import Draft, Similar, draft_of, similar_memories
from perdure.lifecycle.write import Plan
from perdure.model import Record
from perdure.validation import MAX_TEXT_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.services import Services

# How many of the memories that a search found are compared with the new one, nearest first.
_COMPARED: Final = 3


class Merge(NamedTuple):
    """`absorbed` is stored, `current` comes new or was merged before; `merged` stands for both."""

    absorbed: Record
    current: Draft
    merged: Draft


class OpenQuestion(NamedTuple):
    """What a person will be asked about the saved memory and another one."""

    kind: ProposalKind
    other: Similar
    reasons: tuple[str, ...]


@dataclass
class MergeLoop:
    """One save, planned: nothing is written here. `duplicate` says the same but for a full stop."""

    services: Services
    merges: list[Merge] = field(default_factory=list[Merge])
    questions: list[OpenQuestion] = field(default_factory=list[OpenQuestion])
    steps: list[MergeStep] = field(default_factory=list[MergeStep])
    notes: list[str] = field(default_factory=list[str])
    duplicate: Record | None = None
    searches: int = 0
    asked: int = 0

    def again(self) -> MergeLoop:
        """Before it begins anew; what it cost so far is counted on."""
        self.duplicate = None
        for planned in (self.merges, self.questions, self.steps, self.notes):
            planned.clear()
        return self

    def run(self, draft: Draft) -> Draft:
        """The memory that stands for the draft in the end: the draft itself, or what it was merged into."""
        rounds = self.services.settings.merge_rounds
        found = self._search(draft) if rounds else []
        for _ in range(rounds):
            chosen = self._choose(draft, found)
            if chosen is None:
                break
            other, text = chosen
            joined = joined_record(other.record, draft.record, text, draft.record.created_at)
            merge = Merge(other.record, draft, draft_of(self.services, Plan(None, joined, "insert", "inserted")))
            found = self._pass_gate(merge, other)
            if found is None:
                break
            self.merges.append(merge)
            draft = merge.merged
        absorbed = {merge.absorbed.number for merge in self.merges}
        self.questions = [each for each in self.questions if each.other.record.number not in absorbed]
        return draft

    def _search(self, draft: Draft, *absorbed: Record) -> list[Similar]:
        self.searches += 1
        gone = [merge.absorbed.number for merge in self.merges]
        return similar_memories(self.services, draft, [*gone, *(record.number for record in absorbed)])

    def _choose(self, draft: Draft, found: Sequence[Similar]) -> tuple[Similar, str] | None:
        """The nearest memory that is the same as the draft, and what one memory for both says."""
        settings, may_ask = self.services.settings, self.services.settings.llm != "none"
        body = split_role(draft.record.text)[1]
        for other in found[:_COMPARED]:
            says = split_role(other.record.text)[1]
            verdict = merge_verdict(says, body, other.cosine, always=settings.merge_always, never=settings.merge_never)
            if verdict.verdict is Verdict.DIFFERENT:
                break
            if not self.merges and normal_form(says) == normal_form(body):
                self.duplicate = other.record
                return None
            if verdict.verdict is Verdict.CONFLICTS:
                self._propose("conflict", other, verdict.reasons)
                continue
            text = None
            if verdict.verdict is Verdict.SAME:
                text = join_texts(other.record.text, draft.record.text)
            elif may_ask and other.cosine is not None:
                # S4 asks about the most similar one alone.
                may_ask, text = False, self._ask(other, draft.record.text, agreed=not verdict.reasons)
            else:
                self._leave_open(other, verdict.reasons, agreed=not verdict.reasons)
            if text is not None and len(text.encode()) <= MAX_TEXT_BYTES:
                return other, text
            if text is not None:
                self._step(other, "apart", ("together they are longer than a memory may be",))
        return None

    def _ask(self, other: Similar, text: str, *, agreed: bool) -> str | None:
        """What the language model makes of both; None where they stay two."""
        if max(len(other.record.text), len(text)) > LONGEST:
            self._leave_open(other, ("a language model is not asked about long texts",), agreed=agreed)
            return None
        self.asked += 1
        try:
            worded = ask_to_merge(self.services, other.record.text, text)
        except (ProviderUnavailable, SettingsInvalid, InvalidInput) as error:
            self.notes.append(error.note)
            self._leave_open(other, ("the language model did not decide it",), agreed=agreed)
            return None
        if worded is None:
            self._step(other, "apart", ("the language model keeps them apart",))
            return None
        if lost := lost_words(worded, other.record.text, text):
            self._step(other, "unfaithful", (f"the language model dropped {', '.join(lost)}",))
            return None
        return worded

    def _leave_open(self, other: Similar, reasons: tuple[str, ...], *, agreed: bool) -> None:
        """Without anybody who decides, what is close enough is proposed to a person: of several, the nearest. Where the
        words have something against it (not `agreed`), only what would be merged without them is close enough.
        """
        settings, cosine = self.services.settings, other.cosine
        asked = any(question.kind == "merge" for question in self.questions)
        close = cosine is not None and cosine >= settings.merge_propose
        if close and not asked and (agreed or (cosine or 0) > settings.merge_always):
            self._propose("merge", other, reasons)
        else:
            self._step(other, "apart", reasons)

    def _propose(self, kind: ProposalKind, other: Similar, reasons: tuple[str, ...]) -> None:
        """Once for each pair, however often the loop comes by."""
        if any(question.other.record.number == other.record.number for question in self.questions):
            return
        self.questions.append(OpenQuestion(kind, other, reasons))
        self._step(other, "conflict" if kind == "conflict" else "proposed", reasons)

    def _pass_gate(self, merge: Merge, other: Similar) -> list[Similar] | None:
        """What the merged memory may be merged with next, or None where the gate rejects it; then both stay as they
        are. Faithfulness costs no search, so it comes first.
        """
        settings = self.services.settings
        faithful = faithfulness(merge.merged, [merge.current.vector, other.vector])
        if faithful is None or faithful < settings.merge_faithfulness:
            self._step(other, "unfaithful", faithfulness=faithful)
            return None
        found = self._search(merge.merged, merge.absorbed)
        near = neighbour_score(found, settings.merge_neighbours)
        crowded = near > settings.merge_neighbour_score
        self._step(other, "crowded" if crowded else "merged", faithfulness=faithful, neighbours=near)
        return None if crowded else found

    def _step(
        self,
        other: Similar,
        outcome: MergeOutcome,
        reasons: tuple[str, ...] = (),
        faithfulness: float | None = None,
        neighbours: float | None = None,
    ) -> None:
        self.steps.append(MergeStep(other.record.number, outcome, other.cosine, reasons, faithfulness, neighbours))


def faithfulness(merged: Draft, sources: Sequence[NDArray[np.float32] | None]) -> float | None:
    """The cosine of a merged text to the farthest of its sources; None where there is no vector to compare."""
    vector, known = merged.vector, [source for source in sources if source is not None]
    if vector is None or len(known) < len(sources):
        return None
    return min(float(vector @ source) for source in known)


def neighbour_score(found: Sequence[Similar], count: int) -> float:
    """The mean cosine to the `count` nearest others. One that is not there counts 0: a single near one is no crowd."""
    cosines = [each.cosine for each in found if each.cosine is not None][:count]
    return sum(cosines) / max(count, 1)
