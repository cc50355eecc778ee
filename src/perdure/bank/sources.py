"""Where memories may be imported from: what kind of thing a path is, and where tools put their own."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from perdure.bank.documents import AGENT_FILES, section_of_own_memory, sections_of_document
from perdure.bank.documents import KIND as DOCUMENT
from perdure.bank.knowledge_graph import ENTITY, RELATION, kind_in_graph, sections_of_graph
from perdure.bank.markdown_folder import is_markdown_export
from perdure.bank.memory_files import SPECS, is_memory_file, read_inside, save_memory_file, scan_memory_files
from perdure.bank.sections import (
    ImportOptions,
    ImportReport,
    Section,
    Unread,
    key_of_section,
    known_sections,
    name_in_keys,
    store_sections,
)
from perdure.bank.tables import SUFFIXES
from perdure.bank.takeover import known_databases, take_over
from perdure.bank.transcripts import Agent, import_transcripts, objects_in
from perdure.errors import ImportFailed
from perdure.files import NOT_REGULAR, read_regular
from perdure.remedies import Remedy, Run
from perdure.vocabulary import LEARNING_CATEGORIES

if TYPE_CHECKING:
    from perdure.bank.importers.item import Importer
    from perdure.memory import Memory
    from perdure.model import Record

Kind: TypeAlias = Literal[
    "records", "messages", "database", "memory files", "document", "agent memory", "knowledge graph",
    "claude-code transcripts", "codex transcripts", "table", "Markdown export",
]  # fmt: skip
TRANSCRIPTS: Final[Mapping[str, Agent]] = {"claude-code transcripts": "claude-code", "codex transcripts": "codex"}
_SQLITE: Final = b"SQLite format 3\0"
_LINES_READ: Final = 200
_BEGINNING: Final = 64 << 10
_LOOKED_THROUGH: Final = 64 << 20
_PIPE_IT: Final = Remedy(
    "Pipe what it says instead: ", Run("import", "-"), ".", python="Give `memory.import_(…)` what it says instead."
)
_PLAIN_LINES: Final = Remedy(
    "Lines of text: ",
    Run("remember", lines=True),
    " reads them and makes each a memory. JSON: an object with a `text` on each line, or an array of them. A table: "
    "name it .csv, with a column `text`. Markdown: name it .md. Nothing was stored.",
    python="Give memories as mappings, each with a `text`. JSON: an object with a `text` on each line, or an array of "
    "them. A table: name it .csv, with a column `text`. Markdown: name it .md. Nothing was stored.",
)
_NO_EXPORT: Final = Remedy(
    "A zip file is read if it is the export of ChatGPT, Claude, Gemini or OpenMemory, and not an empty one. Unpack any "
    "other, and import the files; ",
    Run("import", help=True),
    " lists what is known.",
    python="A zip file is read if it is the export of ChatGPT, Claude, Gemini or OpenMemory, and not an empty one.",
)
# What exports of other products are called; what they are, their content says.
_EXPORTS: Final = (".zip", ".json", ".af", ".txt", ".md")
_MARKDOWN: Final = (".md", ".mdc")
_RULES: Final = (".cursorrules", ".windsurfrules", ".clinerules")
# Folders whose names begin with a dot, in which people keep rules.
_KEPT_FOLDERS: Final = (".clinerules", ".continue", ".cursor", ".github", ".windsurf")
_EDITORS: Final = (
    ".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/*.md", ".cursor/rules/*.mdc", ".windsurf/rules/*.md",
    ".continue/rules/*.md", ".github/copilot-instructions.md", ".github/instructions/*.md", "memory-bank/*.md",
)  # fmt: skip
# Where other tools keep a database in the home of their user.
_DATABASES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-mem": (".claude-mem/claude-mem.db",),
    "mem0": (".mem0/history.db",),
}
_ZIP: Final = ".zip"
_CHROMA: Final = "chroma.sqlite3"
_BANK: Final = tuple(f"{category}.md" for category in LEARNING_CATEGORIES)


@dataclass(frozen=True, slots=True)
class Source:
    """Something to import. `root` is the project that it belongs to, if there is one; `importer` reads what another
    product exported.
    """

    kind: Kind | str
    paths: tuple[Path, ...]
    root: Path | None = None
    importer: Importer | None = None

    @property
    def label(self) -> str:
        first = str(self.paths[0])
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1:,} more"


def recognise(path: Path) -> Source:
    """What a path is, by its place, its name or what stands in it; ImportFailed says what was expected."""
    if path.is_dir():
        return recognise_folder(path.absolute())
    if path.exists() and not path.is_file():
        raise ImportFailed(f"{path} is {NOT_REGULAR}.", remedy=_PIPE_IT)
    if source := exported_source(path):
        return source
    if path.suffix.lower() == _ZIP:
        raise ImportFailed(f"{path} holds nothing that is known here.", remedy=_NO_EXPORT)
    project = project_around(path.absolute())
    if is_document(path):
        return recognise_document(path, project)
    if begins_with(path, _SQLITE):
        return Source("database", (path,), project)
    return Source("table" if path.suffix.lower() in SUFFIXES else kind_of_lines(path), (path,))


def recognise_document(path: Path, project: Path | None) -> Source:
    if project is not None and is_memory_file(path.absolute().relative_to(project).as_posix()):
        return Source("memory files", (path,), project)
    if path.name in _BANK:
        raise ImportFailed(f"{path} belongs to a knowledge bank.", remedy=Remedy("Use ", Run("bank import"), "."))
    if is_agent_memory(path.absolute().parent):
        return Source("agent memory", (path,), directory_of(path.absolute().parent.parent))
    around = path.absolute().parents
    return Source("document", (path,), next((each for each in around if (each / ".git").exists()), around[0]))


def exported_source(path: Path) -> Source | None:
    """What another product exported or keeps, which its content tells; None for anything else."""
    from perdure.bank.importers.archive import ZIP_MAGIC
    from perdure.bank.importers.store import find_importer

    is_database = path.is_file() and begins_with(path, _SQLITE)
    if path.is_file() and path.suffix.lower() not in _EXPORTS and not begins_with(path, _SQLITE, ZIP_MAGIC):
        return None
    importer = find_importer(path, database=is_database)
    return Source(importer.kind, (path,), importer=importer) if importer else None


def begins_with(path: Path, *magic: bytes) -> bool:
    try:
        return read_regular(path, max(map(len, magic))).startswith(magic)
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}.") from error


def kind_of_lines(path: Path) -> Kind:
    """Of a file of JSON lines, by its beginning; what is nothing else is an export, whose reader says what is wrong."""
    try:
        content = read_regular(path, _BEGINNING)
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}.") from error
    beginning = content.removeprefix(codecs.BOM_UTF8).strip()
    if not beginning.startswith((b"{", b"[")) and (beginning or len(content) > _BEGINNING):
        raise ImportFailed(f"{path} is neither JSON nor a table nor Markdown.", remedy=_PLAIN_LINES)
    for count, (_, line) in enumerate(objects_in(path, most=_LOOKED_THROUGH)):
        if "conversation_id" in line and "role" in line:
            return "messages"
        kind = str(line.get("type"))
        if kind_in_graph(line):
            return "knowledge graph"
        if kind in {"session_meta", "response_item", "event_msg"} and "payload" in line:
            return "codex transcripts"
        if "sessionId" in line and "type" in line:
            return "claude-code transcripts"
        if "perdure_export" in line or "text" in line or count >= _LINES_READ:
            return "records"
    return "records"


def recognise_folder(path: Path) -> Source:
    if SPECS in path.parts or (path / SPECS).is_dir():
        is_inside = SPECS in path.parts
        depth = len(path.parts) - 1 - path.parts[::-1].index(SPECS) if is_inside else len(path.parts)
        return Source("memory files", (path if is_inside else path / SPECS,), Path(*path.parts[:depth]))
    if is_agent_memory(path):
        return Source("agent memory", tuple(sorted(path.glob("*.md"))), directory_of(path.parent))
    # Chroma keeps its database in a folder, beside its vectors.
    kept = path / _CHROMA if (path / _CHROMA).is_file() else path
    source = Source("Markdown export", (path,)) if is_markdown_export(path) else exported_source(kept)
    if source:
        return source
    files = tuple(file for file in sorted(path.rglob("*.jsonl")) if file.is_file())
    kinds: list[tuple[Kind, Path]] = [(kind_of_lines(file), file) for file in files]
    for kind, _ in kinds:
        if kind in {"claude-code transcripts", "codex transcripts"}:
            return Source(kind, tuple(file for other, file in kinds if other == kind))
    if any((path / name).is_file() for name in _BANK):
        raise ImportFailed(f"{path} is a knowledge bank.", remedy=Remedy("Use ", Run("bank import"), "."))
    if notes := tuple(notes_in(path)):
        return Source("document", notes, path)
    raise ImportFailed(
        f"{path} holds nothing that is known here.",
        remedy=Remedy(
            "Name a file, a project with specs/, a folder of Markdown notes, or one of transcripts; ",
            Run("import", help=True),
            " lists them.",
        ),
    )


def is_document(path: Path) -> bool:
    """Whether a file is Markdown by its name: notes, and the rules of editors."""
    return path.suffix in _MARKDOWN or path.name in _RULES


def notes_in(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, such as a vault of Obsidian; not those that programs keep for themselves."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name in _KEPT_FOLDERS or not name.startswith((".", "node_modules"))
        )
        yield from (Path(place, name) for name in sorted(files) if is_document(Path(name)))


def is_agent_memory(folder: Path) -> bool:
    return folder.name == "memory" and folder.parent.parent.name == "projects"


def project_around(path: Path) -> Path | None:
    """The folder in which `specs/` stands, or `.opencode`, for a path inside one of them."""
    for name in (SPECS, ".opencode"):
        if name in path.parts[:-1]:
            return Path(*path.parts[: path.parts.index(name)])
    return None


def sources_of(tool: str, project: Path | None, home: Path, environ: Mapping[str, str]) -> list[Source]:
    """What a tool keeps where it puts things, as far as it is there."""
    sources: list[Source] = []
    if tool == "claude-code":
        folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        slugs = sorted(each for each in (folder / "projects").glob("*") if each.is_dir())
        sources += [
            Source("agent memory", files, directory_of(slug))
            for slug in slugs
            if (files := tuple(sorted((slug / "memory").glob("*.md"))))
        ]
        transcripts = tuple(file for slug in slugs for file in sorted(slug.glob("*.jsonl")))
        sources += [Source("claude-code transcripts", transcripts)] if transcripts else []
        sources += document_sources([folder / "CLAUDE.md"], None)
        sources += document_sources(agent_files(project, "CLAUDE"), project)
    elif tool == "codex":
        folder = Path(environ.get("CODEX_HOME") or home / ".codex")
        rollouts = tuple(sorted((folder / "sessions").rglob("*.jsonl")))
        sources += [Source("codex transcripts", rollouts)] if rollouts else []
        sources += document_sources([folder / "AGENTS.md"], None)
        sources += document_sources(agent_files(project, "AGENTS"), project)
    elif tool in _DATABASES:
        files = [home / name for name in _DATABASES[tool] if (home / name).is_file()]
        sources += [source for path in files if (source := exported_source(path))]
    elif tool == "editors" and project is not None:
        sources += document_sources(sorted(rules_in(project)), project)
    elif tool == "iflow":
        sources += [Source("database", (path,), None) for path in known_databases(None, home)]
    elif tool == "opencode" and project is not None:
        sources += [Source("database", (path,), project) for path in known_databases(project, None)]
        sources += [Source("memory files", (project / SPECS,), project)] if (project / SPECS).is_dir() else []
    return sources


def rules_in(project: Path) -> Iterator[Path]:
    """Where editors keep their rules in a project."""
    found = (path for pattern in _EDITORS for path in project.glob(pattern))
    return (path for path in found if path.is_file() and is_document(path))


def agent_files(project: Path | None, beginning: str) -> list[Path]:
    return [] if project is None else [project / name for name in AGENT_FILES if name.startswith(beginning)]


def document_sources(paths: Iterable[Path], root: Path | None) -> list[Source]:
    return [Source("document", (path,), root) for path in paths if path.is_file()]


# -- importing ---------------------------------------------------------------------------------------------------------


def import_source(memory: Memory, source: Source, options: ImportOptions) -> ImportReport:
    """Import one source, as one batch. What is `records` or a `table`, `Memory.import_` takes."""
    report = ImportReport(source.kind, source.label)
    if source.importer:
        from perdure.bank.importers.store import import_with

        return import_with(memory, source.importer, source.paths[0], options)
    if source.kind == "database":
        return take_over(memory, source.paths[0], source.root, options)
    if source.kind == "memory files" and source.root is not None:
        return import_memory_files(memory, source.paths[0], source.root, options)
    if agent := TRANSCRIPTS.get(source.kind):
        return import_transcripts(memory, source.paths, agent, report, options)
    if source.kind == "messages":
        done = memory.import_messages(source.paths[0], dry_run=options.dry_run, progress=options.progress)
        return replace(
            report, inserted=done.inserted, present=done.present, kept_forgotten=done.skipped_deleted,
            notes=done.notes, batch=done.batch,
        )  # fmt: skip
    if source.kind == "knowledge graph":
        sections, unread = sections_of_graph(objects_in(source.paths[0]))
        kinds = (ENTITY, RELATION)
    else:
        sections, unread = read_documents(source, options.project_name)
        kinds = (DOCUMENT,)
    known = {key: record for kind in kinds for key, record in known_sections(memory, kind).items()}
    kept = {section.key for section in sections}
    # Of a file that is read whole, what is no longer in it is gone.
    files = {section.fields.get("file_path") for section in sections} - {None}
    name = name_in_keys(source.root, options.project_name)
    gone = [
        record
        for record in known.values()
        if record.key not in kept and record.file_path in files and record.key in own_keys(name, record)
    ]
    placed = replace(options, project=source.root if source.kind == "document" else None)
    return store_sections(memory, sections, known, replace(report, unread=tuple(unread)), placed, gone)


def can_revive(source: Source) -> bool:
    """Whether what was forgotten of it can be imported again. Messages stay forgotten, and what another tool forgot."""
    return source.kind not in {"database", "messages", *TRANSCRIPTS}


def own_keys(name: str, record: Record) -> set[str]:
    """Under which keys the import of this folder may have stored a section: by its file, or by the note's permalink."""
    places = {record.file_path or "", str(record.metadata.get("permalink") or record.file_path or "")}
    return {key_of_section(DOCUMENT, name, place, anchor=record.anchor_id) for place in places}


def import_memory_files(memory: Memory, path: Path, project: Path, options: ImportOptions) -> ImportReport:
    named = replace(options, project_name=options.project_name or project.name)
    if path.is_file():
        return save_memory_file(memory, project, path.absolute(), named)
    relative = path.absolute().relative_to(project).as_posix().removesuffix("/memory")
    return scan_memory_files(memory, project, named, None if relative == SPECS else relative)


def read_documents(source: Source, name: str | None) -> tuple[list[Section], list[Unread]]:
    sections: list[Section] = []
    unread: list[Unread] = []
    taken: set[str] = set()
    for path in source.paths:
        # What an agent keeps itself does not stand in its project.
        inside = source.root if source.root and source.kind == "document" else path.absolute().parent
        try:
            relative, text = read_inside(inside, path.absolute())
        except ImportFailed as error:
            unread.append(Unread(str(path), error.sentence))
            continue
        if source.kind == "agent memory":
            own = section_of_own_memory(path.absolute().parent.parent.name, path.name, text, name)
            sections += [own] if own else []
        else:
            in_keys = name_in_keys(source.root, name)
            found = sections_of_document(relative, text, name, in_keys)
            if not taken.isdisjoint(section.key for section in found):
                found = sections_of_document(relative, text, name, in_keys, by_permalink=False)
            taken.update(section.key for section in found)
            sections += found
    return sections, unread


def directory_of(folder: Path) -> Path | None:
    """Where the agent worked whose transcripts are in a folder: one of them says it."""
    for path in sorted(folder.glob("*.jsonl"))[:3]:
        for count, (_, line) in enumerate(objects_in(path)):
            if isinstance(line.get("cwd"), str) and line["cwd"]:
                return Path(line["cwd"])
            if count >= _LINES_READ:
                break
    return None
