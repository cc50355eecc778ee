"""The verbs of learning: what `Memory` does with what it was told. Each loads what it needs when it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from perdure import lifecycle
from perdure.ids import content_hash
from perdure.lifecycle.comparison import COLD_LINES
from perdure.model import Identity
from perdure.open_memory import OpenMemory
from perdure.validation import Fields, Filters, Reference, check_bool
from perdure.values import replace

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from perdure.learn.merge_results import Saved
    from perdure.learn.results import Consolidation, Decision, Fact, Proposal
    from perdure.learn.task import ConsolidationTask
    from perdure.lifecycle.comparison import Comparison
    from perdure.lifecycle.write import WriteRequest
    from perdure.llm.port import Parked
    from perdure.model import ParkedRetry, Record, Remembered
    from perdure.recall.learnings import AskedVectors, LearningsFound
    from perdure.store.port import Progress


class LearningMemory(OpenMemory):
    """A memory that learns and merges, and asks a person about what it may not decide alone."""

    def consolidate(
        self,
        conversation_id: str | None = None,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Make facts of the episodes that wait, of one conversation or of all, however few they are: the language model
        of the settings is asked, or rules find them. Facts are added, get more evidence, or end and are superseded;
        none is deleted, and undoing the batch of the answer takes all of it back.

        `work` does so when a session has ended, when enough episodes wait in the namespace or a surprising one, or
        when the oldest has waited for a day. `dry_run` changes nothing. `limit` is how many episodes are looked at.
        """
        from perdure.learn.consolidate import consolidate

        dry = check_bool(dry_run, "dry_run")
        return consolidate(
            self._services, self._namespace, conversation_id, dry_run=dry, limit=limit, progress=progress
        )

    def open_consolidation(
        self, conversation_id: str | None = None, *, limit: int | None = None
    ) -> ConsolidationTask | None:
        """Hand out the oldest episodes of a conversation that wait, with the facts that are related to them and with
        instructions, for the agent itself to consolidate. None when nothing waits. Nothing is written.
        """
        from perdure.learn.consolidate import open_consolidation

        return open_consolidation(self._services, self._namespace, conversation_id, limit)

    def finish_consolidation(
        self, token: str, actions: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> Consolidation:
        """Take back what the agent makes of a task, as its schema says. Only facts that the task showed can be named:
        any other number means a new fact. A Conflict is raised when the episodes were consolidated, or changed, since.
        """
        from perdure.learn.agent_task import finish

        return finish(self._services, self._namespace, token, actions)

    def facts(
        self,
        query: str | None = None,
        *,
        about: str | None = None,
        limit: int = 20,
        history: bool = False,
        **filters: Unpack[Filters],
    ) -> tuple[Fact, ...]:
        """Find the facts that answer the query best, by the recipe `facts`; without a query, list the newest. Filters
        are as in `recall`: `conversation_id` stays within one conversation, `category` is one of S2's eight. Each comes
        with the facts that it took the place of; with `history`, facts that ended are found as well.

        `about` is a person, by any name that they go by, or a thing: what is known of them alone, by category, the
        newest first.
        """
        from perdure.learn.facts import find_facts

        return find_facts(self._services, self._namespace, query, filters, limit=limit, history=history, about=about)

    def _written(self, done: Remembered, notes: tuple[str, ...] = (), *, check_budget: bool = True) -> Remembered:
        """The answer of a write, with everything that its caller should hear."""
        if check_budget and done.outcome != "repeated" and done.record.tier == "constitutional":
            notes = (*notes, *lifecycle.constitution.over_budget(self._services, done.record))
        notes = (*notes, *done.notes, *(self._services.note_missing_embedder() if done.vector_pending else ()))
        return replace(done, notes=notes) if notes else done

    def _comparison(self, request: WriteRequest | None = None) -> Comparison | None:
        """Who compares what is written next with what is near it; None where that is left to `work`, or to nobody."""
        services, namespace = self._services, self._namespace
        generation = services.embedders.current().generation
        # How near is near is known of the local model alone.
        if generation is None or generation.provider != "local" or services.judge is None:
            return None
        if services.context.is_in_batch or services.context.surface == "hook":
            return None
        if not services.has_index(namespace) and services.store.position(namespace, generation).seq > COLD_LINES:
            return None
        from perdure.learn.compare import WriteComparison

        return WriteComparison(services, request)

    def conflicts(self, *, limit: int = 20) -> list[Proposal]:
        """List the pairs of memories that cannot both be true and of which nobody has decided yet, newest first. They
        are proposals: `accept` and `reject` settle them. `uncompared` says how many memories nobody has looked at.
        """
        return self.review("conflict", limit=limit)

    def uncompared(self) -> int | None:
        """Count the memories that nobody has compared with those near them, up to a thousand: `work` does it. None
        where nobody compares: without the local model, and with `learn` other than `auto`.
        """
        from perdure.learn.compare_work import uncompared

        return uncompared(self._services, self._namespace)

    def save_memory(self, text: str, *, role: str | None = None, **fields: Unpack[Fields]) -> Saved:
        """Store a memory, and merge it with what says the same: what is known to the letter is one more observation.

        `role` is `user` or `assistant` and stands before the text that is stored. Memories of the same scope become one
        when they are nearer than `merge_always` and their words have nothing against it; where neither is clear, the
        language model decides, and without one a person (`review`). What contradicts the text is never merged. The
        memories that became one stay, restorable, and one undo takes everything back.
        """
        from perdure.learn.save import save_memory

        return save_memory(self._services, self._namespace, text, role, fields)

    def review(self, kind: str | None = None, *, limit: int = 20) -> list[Proposal]:
        """List what waits for a person, newest first: pairs of memories that may say the same (`merge`), or cannot both
        be true (`conflict`).
        """
        from perdure.learn.proposals import review

        return review(self._services, self._namespace, kind, limit)

    def accept(self, proposal: Proposal | Reference, *, keep: Reference | None = None) -> Decision:
        """Do what is proposed: merge two memories, whatever the gate says, which the notes tell; or let the newer of
        two that cannot both be true supersede the older, `keep` the one of them that you name. One undo takes it back.
        Only a person may do this.
        """
        from perdure.learn.review import accept

        return accept(self._services, self._namespace, proposal, keep)

    def reject(self, proposal: Proposal | Reference) -> Decision:
        """Leave both memories of a proposal as they are. The pair is not proposed again, unless one of them changes.
        Only a person may do this.
        """
        from perdure.learn.review import reject

        return reject(self._services, self._namespace, proposal)

    def learnings(
        self,
        query: str | None = None,
        *,
        limit: int = 20,
        namespaces: Sequence[str] | None = None,
        recipe: str = "learnings",
        asked: AskedVectors | None = None,
        told_in: Sequence[str] = (),
        min_relevance: float = 0.0,
        project: str | None = None,
    ) -> LearningsFound:
        """Find the learnings for somebody who starts to work, each with its reasons: patterns, anti-patterns and
        heuristics. Without a query they are ordered by prominence alone. It counts as no use until `injected` says so.
        `asked` keeps the vectors of queries, so that one that was asked before needs no model. `told_in` are the names
        of the project that asks: what was imported from another that nobody trusts is left out. With `min_relevance`,
        from 0 to 1, what fits less is left out, and with `project` what was learned in another one.
        """
        from perdure.recall.learnings import find_learnings

        names = namespaces or [self._namespace]
        return find_learnings(
            self._services, query, names, limit=limit, recipe=recipe, asked=asked, told_in=tuple(told_in),
            min_relevance=min_relevance, project=project,
        )  # fmt: skip

    def injected(self, records: Sequence[Record]) -> None:
        """Count that these memories were put before a model without being asked for, best first: each is one recall."""
        self._services.usage.recalled(records, self._services.context.clock())

    def note_markdown(self, project: Path | None = None, shared: Path | None = None) -> None:
        """Note that memories of this namespace also stand in Markdown files: in the knowledge bank and the memory files
        of a project, or in a bank that projects share. Erasing a memory takes it out of them.
        """
        from perdure.bank.copies import note_folders

        note_folders(self._services.store, self._namespace, project, shared)

    def forgotten_since(self, text: str, key: str | None = None) -> datetime | None:
        """Since when this text, under this key, is forgotten, corrected or erased here; None where it is not."""
        with self._services.store.read(self._namespace) as reader:
            said = self._services.redact(text).text
            return reader.tombstone_since(Identity(content_hash(said), key))

    def parked(self) -> list[Parked]:
        """List what a language model said in this namespace that could not be used, oldest first."""
        return lifecycle.parked.parked(self._services, self._namespace)

    def retry_parked(self, ids: Sequence[int] | None = None) -> ParkedRetry:
        """Ask the language model again about what is parked under these ids, or about all of it."""
        from perdure.learn.consolidate import RETRIES

        return lifecycle.parked.retry(self._services, self._namespace, ids, RETRIES)

    def discard_parked(self, ids: Sequence[int] | None = None) -> tuple[int, ...]:
        """Throw away what is parked under these ids, or all of it, and answer what was thrown away. Memories stay as
        they are.
        """
        return lifecycle.parked.discard(self._services, self._namespace, ids)
