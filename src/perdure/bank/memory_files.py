"""The memory files of a project: `specs/<folder>/memory/DD-MM-YY_HH-MM__topic.md` (S3). Each section between
`<!-- ANCHOR:id -->` and `<!-- /ANCHOR:id -->` is a memory, and the rest of the file is one.

Only files inside the project are read: no link leads out of it, and nothing but a regular file of text is opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure.bank.front_matter import Values, split_front_matter, text_of, texts_of
from perdure.bank.sections import (
    UNTRUSTED,
    ImportOptions,
    ImportReport,
    Section,
    Unread,
    key_of_section,
    known_sections,
    name_in_keys,
    store_sections,
)
from perdure.errors import ImportFailed, shown
from perdure.model import CONTEXT_TYPES, TIERS

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Record
    from perdure.settings import Settings

KIND: Final = "file"
SPECS: Final = "specs"
_FOLDER: Final = "memory"
MAX_FILE_BYTES: Final = 4 << 20
_MAX_PHRASES: Final = 64
_MAX_LINE: Final = 1024
_NAME: Final = re.compile(r"(\d\d)-(\d\d)-(\d\d)_(\d\d)-(\d\d)__(.+)\.md")
_ANCHOR: Final = re.compile(r"<!--\s*(/?)\s*ANCHOR:\s*([^\s>]+?)\s*-->", re.IGNORECASE)
_FENCE: Final = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_TRIGGERS: Final = re.compile(
    r"^(#{1,6})[ \t]+trigger phrases[ \t]*\r?\n(.*?)(?=^#{1,6}[ \t]|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_TRIGGER_VALUES: Final = re.compile(
    r"^(?:trigger_phrases|triggerPhrases|triggers)[ \t]*:.*\n(?:[ \t]*-[ \t].*\n|[ \t]+.*\n)*", re.MULTILINE
)
_WORD: Final = re.compile(r"\w+")
_LISTED: Final = re.compile(r"^[ \t]*[-*+][ \t]+(.+?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file that was read: its sections by anchor, None for the rest of it, and what was odd about it."""

    path: str
    spec_folder: str
    title: str
    texts: Mapping[str | None, str]
    values: Values = field(default_factory=dict[str, "str | list[str]"])
    trigger_phrases: tuple[str, ...] = ()
    at: datetime | None = None
    notes: tuple[str, ...] = ()


def parse_memory_file(path: str, text: str) -> MemoryFile:
    """Pure. `path` is the one inside the project, with slashes."""
    values, body = split_front_matter(text.replace("\r\n", "\n"))
    phrases = texts_of(values, "trigger_phrases", "triggerPhrases", "triggers")
    if block := _TRIGGERS.search(body):
        phrases = tuple(dict.fromkeys((*phrases, *(item.strip("`\"' ") for item in _LISTED.findall(block[2])))))
        # The list says when the file is meant, and is no part of what it says.
        body = body[: block.start()] + "".join(marks_in(block[2])) + body[block.end() :]
    phrases = tuple(phrase[:_MAX_LINE] for phrase in phrases if phrase)
    texts, notes = split_anchors(body)
    name = PurePosixPath(path)
    heading = _HEADING.search(texts.get(None, ""))
    named = _NAME.fullmatch(name.name)
    topic = (named[6] if named else name.stem).replace("-", " ").replace("_", " ").strip() or name.stem
    title = text_of(values, "title") or (heading[1] if heading else topic)
    at = time_in_name(named) if named else None
    if at is None:
        notes = [*notes, f"{name.name} does not begin with a time (DD-MM-YY_HH-MM__)."]
    if len(phrases) > _MAX_PHRASES:
        notes = [*notes, f"Of {len(phrases)} trigger phrases the first {_MAX_PHRASES} count."]
    folder = "/".join(name.parts[1:-2])
    return MemoryFile(
        path, folder, title[:_MAX_LINE], texts, values, phrases[:_MAX_PHRASES], at, tuple(notes)
    )  # fmt: skip


class Part(NamedTuple):
    """A part of a text: a mark of an anchor, or what stands between two marks. None is the rest of the file."""

    anchor: str | None
    start: int
    end: int
    is_mark: bool = False


def split_anchors(body: str) -> tuple[dict[str | None, str], list[str]]:
    """The text of each anchor without that of the anchors inside it, the rest under None, and what was odd. Anchors
    inside a fenced block of code are an example, and count as text.
    """
    parts, notes = parts_of(body)
    said: dict[str | None, list[str]] = {}
    for part in parts:
        said.setdefault(part.anchor, []).append("" if part.is_mark else body[part.start : part.end])
    texts = {anchor: "".join(strings).strip() for anchor, strings in said.items()}
    notes += [f"The anchor {shown(anchor)} is empty." for anchor, text in texts.items() if anchor and not text]
    return {anchor: text for anchor, text in texts.items() if text}, notes


def parts_of(body: str) -> tuple[list[Part], list[str]]:
    """The text in parts, in its order, and what was odd about it."""
    fences = [(fence.start(), fence.end()) for fence in _FENCE.finditer(body)]
    parts: list[Part] = []
    taken: set[str] = set()
    open_anchors: list[tuple[str, str]] = []
    notes: list[str] = []
    position = 0
    for mark in _ANCHOR.finditer(body):
        if any(start <= mark.start() < end for start, end in fences):
            continue
        parts.append(Part(open_anchors[-1][1] if open_anchors else None, position, mark.start()))
        position, anchor = mark.end(), mark[2]
        own: str | None = None
        if not mark[1]:
            name = anchor
            if name in taken:
                name = next(other for n in range(2, 1 << 20) if (other := f"{anchor}-{n}") not in taken)
                notes.append(f"The anchor {shown(anchor)} is there again; the later one is called {shown(name)}.")
            taken.add(name)
            open_anchors.append((anchor, own := name))
        elif any(anchor == name for name, _ in open_anchors):
            while (closed := open_anchors.pop())[0] != anchor:
                notes.append(f"The anchor {shown(closed[0])} is not closed; it ends with the one around it.")
            own = closed[1]
        else:
            notes.append(f"The anchor {shown(anchor)} is closed, but was not open.")
        parts.append(Part(own, mark.start(), mark.end(), is_mark=True))
    parts.append(Part(open_anchors[-1][1] if open_anchors else None, position, len(body)))
    notes += [f"The anchor {shown(name)} is not closed; it goes on to the end." for name, _ in open_anchors]
    return parts, notes


def without_sections(text: str, says: Callable[[str], bool]) -> str:
    """Pure: a file without the sections that say something; the others, and what is inside one, stay as they stand.
    Nothing is left of a file that says nothing else.
    """
    plain = text.replace("\r\n", "\n")
    file = parse_memory_file("", plain)
    meant = {anchor for anchor, section in file.texts.items() if says(section)}
    if not meant or len(meant) == len(file.texts):
        return "" if meant else text
    _, body = split_front_matter(plain)
    head = len(plain) - len(body)
    parts, _ = parts_of(body)
    cut = [(part.start + head, part.end + head) for part in parts if part.anchor in meant]
    if holder_of(file.texts) in meant:
        cut += [found.span() for found in _TRIGGER_VALUES.finditer(plain[:head])]
        if block := _TRIGGERS.search(body):
            inside = [part for part in parts if not part.is_mark]
            spans = ((max(each.start, block.start()), min(each.end, block.end())) for each in inside)
            cut += [(start + head, end + head) for start, end in spans if start < end]
    returns = [place.start() for place in re.finditer("\r\n", text)]
    kept, position = list[str](), 0
    for start, end in sorted(cut):
        kept.append(text[position : max(position, in_original(start, returns))])
        position = max(position, in_original(end, returns))
    return "".join([*kept, text[position:]])


def in_original(place: int, returns: Sequence[int]) -> int:
    """A place of a text with plain line ends, in the text as it stands: `returns` are the carriage returns of it."""
    return place + sum(found - count < place for count, found in enumerate(returns))


def holder_of(texts: Mapping[str | None, str]) -> str | None:
    """The section that has the trigger phrases of a file: the phrases mean the file, and one prompt must not find it
    several times.
    """
    return None if None in texts else next(iter(texts), None)


def fields_of(file: MemoryFile, project: str | None) -> tuple[dict[str, Any], list[str]]:
    """Pure: what all memories of a file share, and what of its front matter was not understood."""
    shared: dict[str, Any] = {"spec_folder": file.spec_folder, "file_path": file.path}
    notes: list[str] = []
    if project:
        shared["source_project"] = project
    choices = (
        ("tier", TIERS, ("importance_tier", "importanceTier", "tier")),
        ("context_type", CONTEXT_TYPES, ("context_type", "contextType")),
    )
    for name, allowed, names in choices:
        value = text_of(file.values, *names)
        if value in allowed:
            shared[name] = value
        elif value:
            notes.append(f"There is no {name} {shown(value)}; it is one of {', '.join(allowed)}.")
    if weight := text_of(file.values, "importance_weight", "importanceWeight"):
        try:
            shared["importance"] = min(max(float(weight), 0.0), 1.0)
        except ValueError:
            notes.append(f"importance_weight cannot be {shown(weight)}.")
    for name in ("session_id", "channel"):
        if value := text_of(file.values, name):
            shared[name] = value
    if tags := texts_of(file.values, "tags"):
        shared["tags"] = tags
    return shared, notes


def sections_of(file: MemoryFile, project: str | None, name: str) -> tuple[list[Section], list[str]]:
    """Pure: the memories of a file, and what was odd about it. `name` is what keys call the project."""
    shared, notes = fields_of(file, project)
    sections: list[Section] = []
    holder = holder_of(file.texts)
    for anchor, text in file.texts.items():
        heading = _HEADING.search(text)
        title = file.title if anchor is None else f"{file.title}: {heading[1] if heading else anchor}"
        fields = {**shared, "title": " ".join(title.split())[:_MAX_LINE]}
        if anchor is not None:
            fields["anchor_id"] = anchor[:_MAX_LINE]
        if anchor == holder and file.trigger_phrases:
            fields["trigger_phrases"] = file.trigger_phrases
        key = key_of_section(KIND, name, file.path, anchor=anchor)
        sections.append(Section(key, text, fields, file.at))
    return sections, [*file.notes, *notes]


# -- files -------------------------------------------------------------------------------------------------------------


def find_memory_files(project: Path, spec_folder: str | None = None) -> Iterator[Path]:
    """The memory files below `specs/`, in the order of their paths; folders that are links are not entered."""
    top = project / SPECS
    inside = folder_name(spec_folder)
    for directory, folders, names in os.walk(top / inside if inside else top):
        folders.sort()
        if Path(directory).name == _FOLDER:
            yield from (Path(directory) / name for name in sorted(names) if name.endswith(".md"))


def folder_name(spec_folder: str | None) -> str | None:
    """A spec folder as memories name it: `specs/049-auth/` is `049-auth`."""
    if spec_folder is None:
        return None
    parts = [part for part in PurePosixPath(spec_folder.replace("\\", "/")).parts if part not in {"/", "."}]
    return "/".join(parts[1:] if parts[:1] == [SPECS] else parts)


def read_inside(project: Path, path: Path) -> tuple[str, str]:
    """The path of a file inside the project, with slashes, and its text; ImportFailed says why it is not read."""
    given = shown(str(path))
    try:
        root = project.resolve(strict=True)
        real = (project / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ImportFailed(f"{given} cannot be found.", remedy="Give a path inside the project.") from error
    if not real.is_relative_to(root):
        raise ImportFailed(f"{given} is outside of the project.", remedy=f"Only files inside {root} are read.")
    relative = real.relative_to(root).as_posix()
    try:
        # Not blocking: a pipe with that name would wait for ever.
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ImportFailed(f"{relative} is not a regular file.")
            content = stream.read(MAX_FILE_BYTES + 1) if status.st_size <= MAX_FILE_BYTES else b""
    except OSError as error:
        raise ImportFailed(f"{relative} cannot be read: {error.strerror}.") from error
    if status.st_size > MAX_FILE_BYTES or len(content) > MAX_FILE_BYTES:
        raise ImportFailed(f"{relative} has {status.st_size:,} bytes; a file may have {MAX_FILE_BYTES:,}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{relative} is not text in UTF-8.") from error
    if "\0" in text:
        raise ImportFailed(f"{relative} is not text in UTF-8.")
    return relative, text


def is_memory_file(relative: str) -> bool:
    parts = PurePosixPath(relative).parts
    return len(parts) >= 4 and parts[0] == SPECS and parts[-2] == _FOLDER and parts[-1].endswith(".md")  # noqa: PLR2004


def save_memory_file(memory: Memory, project: Path, path: Path, options: ImportOptions = UNTRUSTED) -> ImportReport:
    """Index one memory file; ImportFailed if it is none, or cannot be read."""
    relative, text = read_inside(project, path)
    if not is_memory_file(relative):
        raise ImportFailed(
            f"{relative} is not a memory file.",
            remedy="Memory files are specs/<folder>/memory/*.md; nothing was stored.",
        )
    return _store(memory, project, [(relative, text)], ImportReport("memory files", relative), options)


def scan_memory_files(
    memory: Memory, project: Path, options: ImportOptions = UNTRUSTED, spec_folder: str | None = None
) -> ImportReport:
    """Index all memory files of a project, or of one of its spec folders. What is in no file any more is forgotten."""
    folder = folder_name(spec_folder)
    where = f"{SPECS}/{folder}" if folder else SPECS
    if folder and ".." in PurePosixPath(folder).parts:
        raise ImportFailed(f"{shown(spec_folder)} is not a spec folder.", remedy="Name one below specs/.")
    if not (project / where).is_dir():
        raise ImportFailed(f"There is no folder {where} in the project.", remedy="Name one below specs/.")
    files: list[tuple[str, str]] = []
    unread: list[Unread] = []
    for path in find_memory_files(project, folder):
        try:
            files.append(read_inside(project, path))
        except ImportFailed as error:
            unread.append(Unread(path.relative_to(project).as_posix(), error.sentence))
    report = ImportReport("memory files", where, unread=tuple(unread))
    return _store(memory, project, files, report, options, covered=f"{where}/")


def _store(
    memory: Memory,
    project: Path,
    files: Sequence[tuple[str, str]],
    report: ImportReport,
    options: ImportOptions,
    covered: str | None = None,
) -> ImportReport:
    """`covered` is where all files were looked for; one that could not be read now is not gone."""
    options = replace(options, project=project)
    name = name_in_keys(project, options.project_name)
    sections: list[Section] = []
    notes: list[str] = []
    for path, text in files:
        own, odd = sections_of(parse_memory_file(path, text), options.project_name, name)
        sections += own
        notes += [f"{path}: {note}" for note in odd]
    known = known_sections(memory, KIND, options.project_name)
    kept = {section.key for section in sections}
    read, failed = {path for path, _ in files}, {each.what for each in report.unread}

    def is_gone(record: Record) -> bool:
        path = record.file_path or ""
        below = covered is not None and path.startswith(covered) and path not in failed
        own = record.key == key_of_section(KIND, name, path, anchor=record.anchor_id)
        return own and record.key not in kept and (path in read or below)

    gone = [record for record in known.values() if is_gone(record)]
    if sections and not options.dry_run:
        memory.note_markdown(project)
    return store_sections(memory, sections, known, replace(report, notes=tuple(notes)), options, gone)


# -- when to save ------------------------------------------------------------------------------------------------------


def save_is_due(prompts: int, settings: Settings) -> bool:
    """Pure: whether the agent should be reminded to save the context after so many prompts of its session."""
    every = settings.auto_save_interval
    return every > 0 and prompts > 0 and prompts % every == 0


def save_phrase(prompt: str, settings: Settings) -> str | None:
    """Pure: the configured phrase with which a prompt asks to save the context, if it does."""
    said = _WORD.findall(prompt.casefold())
    for phrase in settings.save_phrases:
        words = _WORD.findall(phrase.casefold())
        if words and any(said[start : start + len(words)] == words for start in range(len(said))):
            return phrase
    return None


SAVE_REMINDER: Final = (
    "Save the context now: write what was decided, found and left open to "
    "specs/<folder>/memory/DD-MM-YY_HH-MM__topic.md (sections between <!-- ANCHOR:id --> and <!-- /ANCHOR:id -->), and "
    "call memory_save with its path; without such a folder, use store_memory."
)


def time_in_name(named: re.Match[str]) -> datetime | None:
    day, month, year, hour, minute = (int(number) for number in named.groups()[:5])
    try:
        return datetime(2000 + year, month, day, hour, minute).astimezone()
    except (ValueError, OverflowError):
        return None


def marks_in(text: str) -> Iterator[str]:
    """The marks of anchors, so that a list between them does not leave one of them alone."""
    return (f"{mark[0]}\n" for mark in _ANCHOR.finditer(text))
