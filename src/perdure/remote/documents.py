"""Documents of a server that are not one value: what they hold, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perdure.embed.port import Generation
from perdure.llm.port import Parked
from perdure.model import Egress, Revision
from perdure.remote.decoding import decode
from perdure.store.stats import GenerationStats, NamespaceStats, StoreStats


@dataclass(frozen=True, slots=True)
class LogPage:
    revisions: list[Revision]
    next: int | None


def stats_of(document: Mapping[str, Any]) -> StoreStats:
    """A token for some namespaces is told nothing about the file."""
    models = [
        GenerationStats(
            generation_of(each["embedder"], each["dimensions"]),
            each["vectors"],
            each["bytes"],
            each["serving"],
        )
        for each in document.get("generations", ())
    ]
    return StoreStats(
        address=document.get("path", ""),
        engine=document.get("engine", ""),
        schema=document.get("schema", 0),
        bytes=document.get("bytes", 0),
        namespaces=decode(tuple[NamespaceStats, ...], document["namespaces"]),
        generations=tuple(models),
    )


def generation_of(label: str, dimensions: int) -> Generation:
    """What a server tells about a vector space: its version is the server's own affair."""
    provider, _, model = label.partition(":")
    return Generation(provider, model, dimensions, "")


def egress_of(document: Mapping[str, Any]) -> Egress:
    return decode(Egress, {**document, "calls": [_renamed(each, {"texts": "items"}) for each in document["calls"]]})


def parked_of(document: Mapping[str, Any]) -> list[Parked]:
    names = {"parked_id": "id", "number": "memory"}
    return decode(list[Parked], [_renamed(each, names) for each in document["parked"]])


def _renamed(entries: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in entries.items()}
