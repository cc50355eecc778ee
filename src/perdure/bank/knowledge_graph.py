"""The file of the reference memory server of the Model Context Protocol, or of a relative of it: a graph of entities
and relations, as JSON lines. An entity with its observations is a memory, and a relation is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from perdure.bank.sections import Section, Unread, key_of_section

ENTITY: Final = "entity"
RELATION: Final = "relation"
_MAX_LINE: Final = 1024
_ENDS: Final = ("from", "relationType", "to")


def kind_in_graph(line: Mapping[str, Any]) -> str | None:
    """Whether a line is an entity or a relation. Relatives leave out the `type`: the other fields tell it."""
    if line.get("type") in {ENTITY, RELATION}:
        return str(line["type"])
    if line.get("type") is not None:
        return None
    if "name" in line and isinstance(line.get("observations"), list):
        return ENTITY
    return RELATION if all(name in line for name in _ENDS) else None


def sections_of_graph(lines: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[list[Section], list[Unread]]:
    """Pure. Later lines about the same entity add to it."""
    entities: dict[str, tuple[str, list[str]]] = {}
    relations: dict[tuple[str, str, str], None] = {}
    unread: list[Unread] = []
    for number, line in lines:
        kind = kind_in_graph(line)
        if kind == ENTITY and isinstance(line.get("name"), str) and line["name"].strip():
            told = cast("list[Any]", line["observations"]) if isinstance(line.get("observations"), list) else []
            entity = entities.setdefault(line["name"].strip(), (str(line.get("entityType") or ""), []))
            entity[1].extend([text for each in told if (text := observation_text(each)) and text not in entity[1]])
        elif kind == RELATION and all(isinstance(line.get(name), str) and line[name].strip() for name in _ENDS):
            relations[line["from"].strip(), line["relationType"].strip(), line["to"].strip()] = None
        else:
            unread.append(Unread(f"line {number}", "It is neither an entity nor a relation."))
    sections = [entity_section(name, kind, observations) for name, (kind, observations) in entities.items()]
    for source, verb, target in relations:
        words = re.sub(r"[_\s]+", " ", verb)
        key = key_of_section(RELATION, source, verb, target)
        sections.append(Section(key, f"{source} {words} {target}", {"tags": [verb[:_MAX_LINE]]}))
    return sections, unread


def observation_text(observation: object) -> str:
    """An observation is a text, or an object with one."""
    if isinstance(observation, Mapping):
        fields = cast("Mapping[str, object]", observation)
        observation = next((fields[name] for name in ("text", "content") if isinstance(fields.get(name), str)), "")
    return str(observation).strip()


def entity_section(name: str, kind: str, observations: list[str]) -> Section:
    head = f"{name} ({kind})" if kind else name
    fields: dict[str, Any] = {"title": " ".join(name.split())[:_MAX_LINE]}
    if kind.strip():
        fields["tags"] = [" ".join(kind.split())[:_MAX_LINE]]
    return Section(key_of_section(ENTITY, name), "\n".join([head, *(f"- {text}" for text in observations)]), fields)
