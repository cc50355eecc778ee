"""What the starts of sessions leave for later ones, a file each in the user's data directory, replaced whole; and what
their prompts brought to mind, a line each.

The text is kept for a while, so that a resume gets the same and a person can ask why. The vectors of questions are,
each with the cosines of the learnings: the project is often still what it was, and then no model is loaded and no
vector read. Their files are named by a hash, so that they say nothing of the question.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

from perdure.files import private_folder, write_private
from perdure.marks import mark_name
from perdure.session.state import session_folder
from perdure.text.preview import clip
from perdure.values import field, field_values, value_class

if TYPE_CHECKING:
    from perdure.model import Hit, Record, SuggestedBy

_FOLDER: Final = "started"
_PROMPTED: Final = "prompted"
_MOST_PROMPTS: Final = 50
# A file of prompts that is larger is cut to the newest of them.
_LARGEST: Final = 256 << 10
# So much of a memory is kept besides what was sent of it, in characters.
_LONGEST_TEXT: Final = 400
_MOST: Final = 200
_ASKED: Final = "asked"
# With ten thousand learnings each takes 120 kB.
_MOST_ASKED: Final = 50
_CHECKSUM_BYTES: Final = 4


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


@value_class(kw_only=True)
class KeptPrompt:
    """What one prompt of a session brought to mind: the text as it was sent, and entries as a start has them. The
    prompt itself is not kept here.
    """

    session: str
    at: str
    text: str
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


def keep_prompt(kept: KeptPrompt, environ: Mapping[str, str] | None = None) -> None:
    """One line more for the session: hooks run at the same time, and a line is written at once. Where it cannot be kept
    it is not.
    """
    folder = session_folder(environ) / _PROMPTED
    path = folder / f"{mark_name(kept.session)}.jsonl"
    line = json.dumps(field_values(kept)).encode("utf-8", "surrogatepass") + b"\n"
    with suppress(OSError):
        private_folder(folder)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(line)
            is_large = file.tell() > _LARGEST
        if is_large:
            write_private(path, b"".join(path.read_bytes().splitlines(keepends=True)[-_MOST_PROMPTS // 2 :]))
        for old in _files(folder)[_MOST:]:
            old.unlink(missing_ok=True)


def prompted_entry(record: Record, why: SuggestedBy | None) -> dict[str, Any]:
    """A memory that a prompt brought to mind, and why, as JSON."""
    memory = {**memory_of(record), "text": clip(record.text, _LONGEST_TEXT)}
    if why is None:
        return memory
    explain = {name: field_values(signal) for name, signal in why.explain.items()}
    return {**memory, "phrase": why.phrase, "relevance": why.relevance, "explain": explain}


def kept_prompts(session: str, environ: Mapping[str, str] | None = None) -> list[KeptPrompt]:
    """What its prompts brought to mind, the newest first."""
    return _prompts(session_folder(environ) / _PROMPTED / f"{mark_name(session)}.jsonl")


def kept_prompts_about(id: str, environ: Mapping[str, str] | None = None) -> Iterator[KeptPrompt]:
    """The prompts of any session that brought this memory to mind, the newest session first."""
    for path in _files(session_folder(environ) / _PROMPTED):
        for kept in _prompts(path, holding=id):
            if any(entry.get("id") == id for entry in kept.entries):
                yield kept


def start_without_text(kept: KeptPrompt) -> KeptStart:
    """The start of a session that was told nothing at its start, as its first prompt knows it."""
    return KeptStart(session=kept.session, project="", at=kept.at, source="", mode="none", text="")


def _prompts(path: Path, holding: str = "") -> list[KeptPrompt]:
    """Half of a line, of a hook that was killed, is none."""
    found: list[KeptPrompt] = []
    with suppress(OSError):
        for line in reversed(path.read_bytes().splitlines()[-_MOST_PROMPTS:]):
            with suppress(ValueError, TypeError):
                if holding.encode() in line:
                    found.append(KeptPrompt(**cast("dict[str, Any]", json.loads(line))))
    return found


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


def discard_told(session: str, environ: Mapping[str, str] | None = None) -> None:
    with suppress(OSError):
        (session_folder(environ) / _PROMPTED / f"{mark_name(session)}.jsonl").unlink(missing_ok=True)
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


class AskedBefore:
    """A file ends with the checksum of what is before it: half of a file is none."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._folder = session_folder(environ) / _ASKED

    def get(self, generation: str, question: str) -> bytes | None:
        try:
            content = self._path(generation, question).read_bytes()
        except OSError:
            return None
        known, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
        return known if checksum == crc32(known).to_bytes(_CHECKSUM_BYTES) else None

    def put(self, generation: str, question: str, content: bytes) -> None:
        with suppress(OSError):
            private_folder(self._folder)
            for old in _files(self._folder)[_MOST_ASKED - 1 :]:
                old.unlink(missing_ok=True)
            checksum = crc32(content).to_bytes(_CHECKSUM_BYTES)
            write_private(self._path(generation, question), content + checksum)

    def _path(self, generation: str, question: str) -> Path:
        return self._folder / mark_name(f"{generation}\n{question}")
