"""Keywords of memories that came without any: who is to find them, and what a write does about it.

Those that a caller gave always stay. A write never asks a model: without one, Perdure chooses by itself at once, and
with one `work` does it later (`lifecycle/keyword_work.py`). The line of the log that brought keywords which nobody gave
says who chose them; so they are known from others, and are made anew when the words of the memory change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from perdure.errors import IndexDamaged
from perdure.lifecycle.write_context import CHOSEN_BY
from perdure.model import Record, Revision, replace_record
from perdure.settings import Settings
from perdure.text.bm25 import WordCounts

if TYPE_CHECKING:
    from perdure.lifecycle.write import Plan
    from perdure.services import Services
    from perdure.store.port import Reader
    from perdure.validation import RecordFields

PERDURE: Final = "perdure"
HAIKU: Final = "anthropic:claude-haiku-5-5"
OLLAMA: Final = "ollama:qwen3"
_WORDS: Final = ("text", "title", "reasoning")

AddKeywords: TypeAlias = "Callable[[Plan], Plan]"


def models_to_ask(settings: Settings) -> tuple[str, ...]:
    """The language models that `work` asks for keywords, one after the other; none where Perdure chooses by itself."""
    configured = () if settings.llm == "none" else (settings.llm,)
    local = tuple(name for name in configured if name.startswith("ollama:"))
    by_tier = {"auto": configured, "haiku": (HAIKU, *local), "ollama": local or (OLLAMA,)}
    return by_tier.get(settings.keywords, ())


def keywords_at_write(
    services: Services, namespace: str, fields: RecordFields, existing: Record | None
) -> AddKeywords | None:
    """What adds keywords to the plan of a write, or None when the caller gave some. Everything that takes time is done
    here, before the transaction.
    """
    if fields.get("keywords"):
        return None
    told: dict[str, Any] = {name: fields.get(name, getattr(existing, name, None)) for name in _WORDS}
    chosen: tuple[str, ...] = ()
    with services.store.read(namespace) as reader:
        replaceable = existing if existing and is_chosen(reader.revisions(existing.number)) else None
        if services.settings.keywords != "off" and not models_to_ask(services.settings):
            chosen = own_keywords(reader, **told)

    def add(plan: Plan) -> Plan:
        before, record = plan.previous, plan.record
        if plan.operation not in {"insert", "update"}:
            return plan
        if record.keywords and (before is None or replaceable is None or before.seq != replaceable.seq):
            return plan
        if chosen == record.keywords:
            return plan
        provenance = {**plan.provenance, CHOSEN_BY: PERDURE} if chosen else plan.provenance
        return replace(plan, record=replace_record(record, keywords=chosen), provenance=provenance)

    return add


def own_keywords(reader: Reader, *, text: str, title: str | None, reasoning: str | None) -> tuple[str, ...]:
    """What Perdure itself chooses; words that are common in the namespace weigh less."""
    from perdure.text.keywords import extract_keywords

    def counted(words: Sequence[str]) -> WordCounts:
        try:
            return reader.word_counts(words)
        except IndexDamaged:
            return WordCounts(0, 0, {})

    return extract_keywords(text, title, reasoning, counted)


def is_chosen(lines: Sequence[Revision]) -> bool:
    """Whether the keywords that a memory has now are such as Perdure, or a model that it asked, chose for it. When it
    cannot be known, because the payload is gone, somebody gave them.
    """
    newest = lines[-1].record if lines else None
    return newest is not None and any(
        CHOSEN_BY in line.change.provenance and line.record and line.record.keywords == newest.keywords
        for line in lines
    )
