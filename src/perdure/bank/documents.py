"""What agents read at their start: CLAUDE.md, AGENTS.md and their kind, each section a memory; and the files that an
agent writes for itself (`~/.claude/projects/SLUG/memory/*.md`), each a memory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from perdure.bank.front_matter import split_front_matter, text_of
from perdure.bank.sections import Section, key_of_section

KIND: Final = "document"
AGENT_FILES: Final = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
INDEX: Final = "MEMORY.md"
_MAX_LINE: Final = 1024
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)")
_HEADING: Final = re.compile(r"^(#{1,2})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_LINK: Final = re.compile(r"^\s*[-*+]\s+\[[^\]]*\]\([^)]+\.md\).*$", re.MULTILINE)
_NOT_IN_A_NAME: Final = re.compile(r"[^\w]+")


def sections_of_document(path: str, text: str, project: str | None, name_in_key: str) -> list[Section]:
    """Pure: a memory for each section below a heading of the first or second rank, in the order of the file.
    `name_in_key` is what keys call the project.
    """
    _, body = split_front_matter(text.replace("\r\n", "\n"))
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in body.splitlines():
        fenced ^= bool(_FENCE.match(line))
        if not fenced and (heading := _HEADING.match(line)):
            parts.append((heading[2], []))
        else:
            parts[-1][1].append(line)
    name = Path(path).name
    sections: list[Section] = []
    taken: set[str] = set()
    for heading, lines in parts:
        content = "\n".join(lines).strip()
        if not content:
            continue
        anchor = slug = _NOT_IN_A_NAME.sub("-", heading.casefold()).strip("-") or "top"
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{slug}-{number}"
        taken.add(anchor)
        title = f"{name}: {heading}" if heading else name
        fields: dict[str, Any] = {"title": title[:_MAX_LINE], "file_path": path, "anchor_id": anchor[:_MAX_LINE]}
        if project:
            fields["source_project"] = project
        sections.append(Section(key_of_section(KIND, name_in_key, path, anchor=anchor), content, fields))
    return sections


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
