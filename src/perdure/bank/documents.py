"""What agents read at their start: CLAUDE.md, AGENTS.md and their kind, each section a memory; and the files that an
agent writes for itself (`~/.claude/projects/SLUG/memory/*.md`), each a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from perdure.bank.front_matter import split_front_matter, text_of, texts_of
from perdure.bank.sections import Section, key_of_section
from perdure.validation import MAX_ITEMS

KIND: Final = "document"
AGENT_FILES: Final = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
INDEX: Final = "MEMORY.md"
_MAX_LINE: Final = 1024
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)")
_FENCES: Final = re.compile(_FENCE.pattern, re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,2}[ \t]+(.+?)[ \t]*#*[ \t]*$")
_THIRD_HEADING: Final = re.compile(r"^###[ \t]+(.+?)[ \t]*#*[ \t]*$")
_BETWEEN_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n\s*")
# What notes mark in a line of a list: `- [decision] Use PostgreSQL #storage`. A box to tick, and a link, are no marks.
_MARKED_LINE: Final = re.compile(r"^[ \t]*[-*] \[([a-z][\w -]{1,30})\][ \t](.*)$", re.MULTILINE)
_TAG: Final = re.compile(r"(?<=[ \t])#([A-Za-z][\w/-]{1,60})(?!\S)")
# What notes of Obsidian and basic-memory link to: `[[Note]]`, `[[Note|as shown]]`, `[[Note#Heading]]`.
_WIKILINK: Final = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]*)?\]\]")
# Of what stands above a text: where it is known, and which files a rule is for.
_KEPT_VALUES: Final = ("permalink", "globs")
# A section that is longer is split.
MAX_SECTION: Final = 4000
_LINK: Final = re.compile(r"^\s*[-*+]\s+\[[^\]]*\]\([^)]+\.md\).*$", re.MULTILINE)
_NOT_IN_A_NAME: Final = re.compile(r"[^\w]+")


def sections_of_document(
    path: str, text: str, project: str | None, name_in_key: str, *, by_permalink: bool = True
) -> list[Section]:
    """Pure: a memory for each section below a heading of the first or second rank, in the order of the file; of a long
    one, for each part below a heading of the third rank, and for as many paragraphs as a memory may well hold. What
    stands above the text, and the marks of its lines, become tags and metadata; notes that it links to are references.
    A permalink names a note wherever its file is moved, unless another note has it. `name_in_key` is what keys call the
    project.
    """
    values, body = split_front_matter(text.replace("\r\n", "\n"))
    name = text_of(values, "title", "description") or Path(path).name
    own_name = _slug(name.removesuffix(".md"))
    tags = [*texts_of(values, "tags"), *texts_of(values, "type")]
    kept = {key: value for key in _KEPT_VALUES if (value := text_of(values, key) or list(texts_of(values, key)))}
    sections: list[Section] = []
    taken: set[str] = set()
    for heading, content in parts_of(body):
        anchor = slug = _slug(heading) or "top"
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{slug}-{number}"
        taken.add(anchor)
        # Most notes begin with their own name as a heading: once is enough.
        title = heading if slug == own_name else f"{name}: {heading}" if heading else name
        fields: dict[str, Any] = {"title": title[:_MAX_LINE], "file_path": path, "anchor_id": anchor[:_MAX_LINE]}
        lines = _MARKED_LINE.findall(f"{content}\n")
        marked = dict.fromkeys((*tags, *(tag for kind, line in lines for tag in (kind, *_TAG.findall(f" {line}")))))
        if linked := dict.fromkeys(name.strip() for name in _WIKILINK.findall(content)):
            fields["references"] = [name[:_MAX_LINE] for name in linked if name][:MAX_ITEMS]
        if marked:
            fields["tags"] = [tag[:_MAX_LINE] for tag in marked][:MAX_ITEMS]
        if kept:
            fields["metadata"] = kept
        if project:
            fields["source_project"] = project
        place = (text_of(values, "permalink") if by_permalink else None) or path
        key = key_of_section(KIND, name_in_key, place, anchor=anchor)
        sections.append(Section(key, content, fields))
    return sections


def _slug(name: str) -> str:
    return _NOT_IN_A_NAME.sub("-", name.casefold()).strip("-")


def parts_of(body: str) -> Iterator[tuple[str, str]]:
    """The sections of a text with their headings; one that is long in its parts, and these by paragraphs."""
    for heading, content in split_at(body, _HEADING):
        if len(content) <= MAX_SECTION:
            yield heading, content
            continue
        for below, part in split_at(content, _THIRD_HEADING):
            named = f"{heading}: {below}" if heading and below else heading or below
            yield from ((named, portion) for portion in in_portions(part))


def split_at(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """What stands below each heading; nothing where that is empty. A heading in code is none."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        if not fenced and (heading := pattern.match(line)):
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    for heading, lines in parts:
        if content := "\n".join(lines).strip():
            yield heading, content


def in_portions(text: str) -> Iterator[str]:
    """As many paragraphs at a time as a memory may well hold; one that is longer stays whole, and so does code."""
    portion = ""
    for paragraph in _BETWEEN_PARAGRAPHS.split(text):
        is_open = len(_FENCES.findall(portion)) % 2
        if portion and not is_open and len(portion) + len(paragraph) > MAX_SECTION:
            yield portion
            portion = ""
        portion = f"{portion}\n\n{paragraph}" if portion else paragraph
    if portion.strip():
        yield portion


def section_of_own_memory(slug: str, name: str, text: str, project: str | None) -> Section | None:
    """Pure: a file that an agent wrote for itself. Of its index only what is no link to another file counts."""
    values, body = split_front_matter(text.replace("\r\n", "\n"))
    if name == INDEX:
        body = _LINK.sub("", body)
        if not re.sub(r"^#.*$", "", body, flags=re.MULTILINE).strip():
            return None
    content = body.strip()
    if not content:
        return None
    kind = text_of(values, "type", "metadata.type")
    title = text_of(values, "description", "name") or Path(name).stem.replace("_", " ").replace("-", " ")
    fields: dict[str, Any] = {"title": title[:_MAX_LINE], "file_path": f"{slug}/memory/{name}"}
    if kind:
        fields["tags"] = [kind]
    if project:
        fields["source_project"] = project
    return Section(key_of_section(KIND, "claude-code", slug, name), content, fields)
