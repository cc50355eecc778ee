"""A memory in which a hostile text stands wherever somebody may say anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from learn.proposals import parked, proposed

from perdure.remote.signatures import arguments_of
from perdure.session.kept import KeptPrompt, KeptStart, keep, keep_prompt, memory_of

if TYPE_CHECKING:
    from perdure import Memory
    from perdure.auth.tokens import Tokens

# Fields whose values are one of a list, numbers, times, memories that are there; and the text itself.
NO_TEXT: Final = frozenset({
    "context_type", "trust", "tier", "importance", "confidence", "valid_at", "invalid_at", "expires_at", "evidence",
    "text", "idempotency_key",
})  # fmt: skip


@dataclass(frozen=True)
class Said:
    """Where a text stands now."""

    number: int
    session: str
    erased: str


def plain(text: str) -> str:
    """On one line, without what no name may have."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def say_everywhere(memory: Memory, text: str, tokens: Tokens | None = None) -> Said:
    name = plain(text)
    agent = memory.writing_as(name[:60], writer="model", session=name)
    fields = fields_of(text)
    assert fields.keys() == arguments_of(type(memory).remember).keys() - NO_TEXT
    number = agent.remember(text, **fields).record.number
    agent.update(number, text=f"{text} again", title=f"{name} again")
    memory.conversation(name).add_message(name[:40], text)
    parked(memory, number, text, model=name)
    other = agent.remember(f"{text} or not", category="preference", source_project=name).record
    proposed(memory, agent.get(number), other, "conflict" if number % 2 else "merge")
    signals = {name: {"contribution": 1.0, "about": text}}
    entry = {"number": number, "namespace": name, "id": "x", "title": text, "text": text, "score": 1.0,
             "explain": signals}  # fmt: skip
    told = {**entry, **memory_of(agent.get(number)), "phrase": text, "relevance": 0.5}
    keep(KeptStart(
        session=name, project=text, at="2026-03-14T11:00:00Z", source="startup", mode="semantic", text=text,
        query=text, diagnostics=text, notes=[text], entries=[entry, told], left_out=[entry], constitutional=[entry],
        about=[entry, told],
    ))  # fmt: skip
    keep_prompt(KeptPrompt(
        session=name, at="2026-03-14T11:30:00Z", text=text, entries=[told, {**entry, "phrase": None}], left_out=[entry]
    ))  # fmt: skip
    memory.checkpoint(name[:150], description=text)
    memory.namespace(name).remember(text, tags=[name])
    if tokens is not None:
        tokens.create(name, namespaces=(name,))
    person = memory.writing_as(name[:60], writer="person", session=name)
    erased = person.erase(person.remember(f"{text} and gone").record.number, confirm=True).batch
    return Said(number, name, erased or "")


def fields_of(text: str) -> dict[str, Any]:
    """Every field of `remember` that may hold any text."""
    name = plain(text)
    return {
        **dict.fromkeys(("abstract", "summary", "reasoning", "title"), text),
        **dict.fromkeys(("source", "source_project", "conversation_id", "session_id", "channel"), name),
        **dict.fromkeys(("spec_folder", "file_path", "anchor_id"), name),
        **{field: [name] for field in ("tags", "keywords", "references", "trigger_phrases")},
        "metadata": {"said": text, "nested": {text: [text]}}, "key": f"said:{name}", "category": category(text),
    }  # fmt: skip


def category(text: str) -> str:
    """A category of one's own, which the setting `categories` names."""
    return plain(text).replace(",", "")
