"""The verbs of learning, asked of a server."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from perdure.model import Record
from perdure.remote.namespace import given
from perdure.remote.open_remote import OpenRemote
from perdure.validation import Fields, Filters, Reference

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from perdure.learn.merge_results import Saved
    from perdure.learn.results import Consolidation, Decision, Fact, Proposal
    from perdure.learn.task import ConsolidationTask
    from perdure.llm.port import Parked
    from perdure.model import ParkedRetry
    from perdure.recall.learnings import AskedVectors, LearningsFound
    from perdure.store.port import Progress


class RemoteLearning(OpenRemote):
    def consolidate(
        self,
        conversation_id: str | None = None,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        from perdure.learn.results import Consolidation

        del progress
        body = given({"conversation_id": conversation_id, "dry_run": dry_run, "limit": limit})
        return self._remote.ask(Consolidation, "POST", "/v1/consolidate", body, slow=True)

    def open_consolidation(
        self, conversation_id: str | None = None, *, limit: int | None = None
    ) -> ConsolidationTask | None:
        from perdure.learn.task import ConsolidationTask

        body = {"conversation_id": conversation_id, "limit": limit}
        return self._remote.read(dict[str, ConsolidationTask | None], "/v1/consolidation", body)["task"]

    def finish_consolidation(
        self, token: str, actions: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> Consolidation:
        from perdure.learn.results import Consolidation

        body = {"token": token, "actions": actions}
        return self._remote.ask(Consolidation, "POST", "/v1/consolidation/finish", body, slow=True)

    def facts(
        self,
        query: str | None = None,
        *,
        about: str | None = None,
        limit: int = 20,
        history: bool = False,
        **filters: Unpack[Filters],
    ) -> tuple[Fact, ...]:
        from perdure.learn.results import Fact

        body = {"query": query, "about": about, "limit": limit, "history": history, **filters}
        return self._remote.read(dict[str, tuple[Fact, ...]], "/v1/facts", body)["facts"]

    def save_memory(self, text: str, *, role: str | None = None, **fields: Unpack[Fields]) -> Saved:
        from perdure.learn.merge_results import Saved

        return self._remote.ask(Saved, "POST", "/v1/save", {"text": text, **given({"role": role}), **fields}, slow=True)

    def review(self, kind: str | None = None, *, limit: int = 20) -> list[Proposal]:
        from perdure.learn.results import Proposal

        query = {"kind": kind, "limit": limit}
        return self._remote.ask(dict[str, list[Proposal]], "GET", "/v1/review", query=query)["proposals"]

    def uncompared(self) -> int | None:
        return self._remote.ask(dict[str, Any], "GET", "/v1/conflicts", query={"limit": 1})["uncompared"]

    def accept(self, proposal: Proposal | Reference, *, keep: Reference | None = None) -> Decision:
        return self._decide(proposal, "accept", given({"keep": keep}))

    def reject(self, proposal: Proposal | Reference) -> Decision:
        return self._decide(proposal, "reject", None)

    def _decide(self, proposal: Proposal | Reference, answer: str, body: Mapping[str, object] | None) -> Decision:
        from perdure.learn.results import Decision

        named = proposal if isinstance(proposal, int | str) else proposal.number
        number = named if isinstance(named, int) else self.get(named).number
        return self._remote.ask(Decision, "POST", f"/v1/review/{number}/{answer}", body)

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
        """The server keeps the vectors of questions itself."""
        del asked
        from perdure.recall.learnings import LearningsFound

        body = {
            "query": query, "limit": limit, "namespaces": namespaces, "recipe": recipe, "told_in": list(told_in),
            "min_relevance": min_relevance, "project": project,
        }  # fmt: skip
        return self._remote.read(LearningsFound, "/v1/learnings", body)

    def injected(self, records: Sequence[Record]) -> None:
        for name in dict.fromkeys(record.namespace for record in records):
            refs = [record.id for record in records if record.namespace == name]
            self._remote.renamed(name).ask(dict[str, int], "POST", "/v1/injected", {"refs": refs})

    def note_markdown(self, project: Path | None = None, shared: Path | None = None) -> None:
        """A server changes no files on the machines of those who ask it."""

    def forgotten_since(self, text: str, key: str | None = None) -> datetime | None:
        """A server does not say it."""
        del text, key

    def suggest(
        self,
        prompt: str,
        *,
        limit: int = 5,
        namespaces: Sequence[str] | None = None,
        without: Container[str] = (),
        told_in: Sequence[str] = (),
    ) -> tuple[Record, ...]:
        known = list(cast("Iterable[str]", without)) if isinstance(without, Iterable) else []
        body = {
            "prompt": prompt, "limit": limit, "namespaces": namespaces, "without": known, "told_in": list(told_in),
        }  # fmt: skip
        found = self._remote.read(dict[str, tuple[Record, ...]], "/v1/suggest", body)["records"]
        return tuple(record for record in found if record.id not in without)

    def parked(self) -> list[Parked]:
        from perdure.remote.documents import parked_of

        return parked_of(self._remote.ask(dict[str, Any], "GET", "/v1/parked"))

    def retry_parked(self, ids: Sequence[int] | None = None) -> ParkedRetry:
        from perdure.model import ParkedRetry

        return self._remote.ask(ParkedRetry, "POST", "/v1/parked/retry", given({"ids": ids}), slow=True)

    def discard_parked(self, ids: Sequence[int] | None = None) -> tuple[int, ...]:
        return self._remote.ask(dict[str, tuple[int, ...]], "POST", "/v1/parked/discard", given({"ids": ids}))[
            "discarded"
        ]
