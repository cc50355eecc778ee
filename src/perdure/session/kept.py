"""What sessions were started with: kept for a while, so that a resume gets the same text and a person can ask why.

Each session has a file of its own in the user's data directory, replaced whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.files import write_private
from perdure.marks import mark_name
from perdure.session.places import session_folder
from perdure.values import field, field_values, value_class

if TYPE_CHECKING:
    from perdure.model import Hit, Record

_FOLDER: Final = "started"
_MOST: Final = 200


@value_class(kw_only=True)
class KeptStart:
    """`state` is everything that the text was made of, as one text. An entry of `entries` or `left_out` is a JSON
    object: which memory, and by which signals it was chosen.
    """

    session: str
    project: str
    at: str
    source: str
    mode: str
    text: str
    state: str = ""
    query: str | None = None
    diagnostics: str = ""
    notes: list[str] = field(default_factory=list[str])
    constitutional: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    about: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    left_out: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def keep(kept: KeptStart, environ: Mapping[str, str] | None = None) -> None:
    """Where it cannot be kept, the next resume finds it anew."""
    folder = session_folder(environ) / _FOLDER
    path = folder / f"{mark_name(kept.session)}.json"
    with suppress(OSError):
        write_private(path, json.dumps(field_values(kept)).encode("utf-8", "surrogatepass"))
        files = _files(folder)
        for old in files[_MOST:]:
            old.unlink(missing_ok=True)


def entry_of(hit: Hit) -> dict[str, Any]:
    """A learning that was chosen, and why, as JSON."""
    explain = {name: field_values(signal) for name, signal in hit.explain.items()}
    return {**memory_of(hit.record), "score": hit.score, "relevance": hit.relevance, "explain": explain}


def memory_of(record: Record) -> dict[str, Any]:
    return {
        "number": record.number, "namespace": record.namespace, "id": str(record.id), "title": record.title,
        "category": record.category, "source_project": record.source_project, "text": record.text,
    }  # fmt: skip


def kept_start(session: str, environ: Mapping[str, str] | None = None) -> KeptStart | None:
    return _load(session_folder(environ) / _FOLDER / f"{mark_name(session)}.json")


def kept_starts(environ: Mapping[str, str] | None = None, project: str | None = None) -> list[KeptStart]:
    """The newest first; with `project`, those of one project alone."""
    found = map(_load, _files(session_folder(environ) / _FOLDER))
    return [kept for kept in found if kept is not None and project in {None, kept.project}]


def discard_start(session: str, environ: Mapping[str, str] | None = None) -> None:
    with suppress(OSError):
        (session_folder(environ) / _FOLDER / f"{mark_name(session)}.json").unlink()


def _files(folder: Path) -> list[Path]:
    with suppress(OSError):
        dated = [(file.stat().st_mtime_ns, file.path) for file in os.scandir(folder)]
        return [Path(path) for _, path in sorted(dated, reverse=True)]
    return []


def _load(path: Path) -> KeptStart | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
        return KeptStart(**cast("dict[str, Any]", values))
    except (OSError, ValueError, TypeError):
        return None
