"""A second implementation of the plain pipeline, in the simplest possible style, for comparison alone. It shares no
line with the one in the package.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RANK = {"high": 3, "medium": 2, "low": 1}
SHOWN = {
    "anti-patterns": "### Anti-Patterns to Avoid",
    "heuristics": "### Heuristics",
    "patterns": "### Patterns to Follow",
}


def entries_of(path: Path, category: str, source: str) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return []
    text = re.sub("<!--.*?-->", "", text, flags=re.DOTALL)
    found: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    headers, fenced = 0, False
    for line in text.split("\n"):
        if line.startswith("### "):
            headers += 1
            fenced = False
            title = line[4:].strip()
            current = None
            if title:
                name = re.sub("^(Anti-Pattern: |Pattern: )", "", title).strip()
                current = {"name": name, "header": "### " + title, "text": [], "meta": [], "position": headers}
                found.append(current)
        elif not fenced and (re.match("##? |##?$", line.replace("\t", " ")) or re.match("---+ *$", line.strip("\t"))):
            current = None
        elif current:
            if line.strip().startswith(("```", "~~~")):
                fenced = not fenced
            if current["meta"] or line.startswith("- "):
                current["meta"].append(line)
            else:
                current["text"].append(line)
    for entry in found:
        entry["category"], entry["source"] = category, source
        read_metadata(entry)
        entry["text"] = "\n".join(entry["text"]).strip()
        entry["meta"] = "\n".join(entry["meta"]).strip()
    return found


def read_metadata(entry: dict[str, Any]) -> None:
    entry["count"], entry["confidence"], entry["recency"] = 1, "medium", entry["position"]
    for line in entry["meta"]:
        field, _, value = line.strip().partition(":")
        value = value.strip()
        if field.lower() == "- observation count" and re.fullmatch("[0-9]+", value):
            entry["count"] = int(value)
        if field.lower() == "- confidence" and value.lower() in RANK:
            entry["confidence"] = value.lower()
        if field.lower() == "- last observed":
            entry["recency"] = entry["position"]
            if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
                year, month, day = map(int, value.split("-"))
                entry["recency"] = datetime(year, month, day, tzinfo=UTC).timestamp()


def chosen(project: Path, store: Path, limit: int) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = []
    for folder, source in ((project / "docs" / "knowledge-bank", "local"), (store, "global")):
        for category in ("anti-patterns", "patterns", "heuristics"):
            every += entries_of(folder / (category + ".md"), category, source)
    unique: list[dict[str, Any]] = []
    for entry in every:
        same = [other for other in unique if other["text"].lower().split() == entry["text"].lower().split()]
        if not same:
            unique.append(entry)
        elif entry["count"] > same[0]["count"]:
            unique[unique.index(same[0])] = entry
    queues: dict[str, list[dict[str, Any]]] = {}
    for category in SHOWN:
        queue = [entry for entry in unique if entry["category"] == category]
        queue.sort(key=lambda entry: (-entry["count"], -RANK[entry["confidence"]], -entry["recency"]))
        if queue:
            queues[category] = queue
    result: list[dict[str, Any]] = []
    if limit >= 3 * len(queues):
        for queue in queues.values():
            result += queue[:3]
            del queue[:3]
    for queue in queues.values():
        while queue and len(result) < limit:
            result.append(queue.pop(0))
    return result


def block(entries: list[dict[str, Any]]) -> str:
    if not entries:
        return ""
    text = "## Engineering Memory (from knowledge bank)\n\n"
    for category, heading in SHOWN.items():
        some = [entry for entry in entries if entry["category"] == category]
        if some:
            text += heading + "\n"
        for entry in some:
            text += entry["header"] + "\n"
            if entry["text"]:
                text += entry["text"] + "\n"
            if entry["meta"]:
                text += entry["meta"] + "\n"
            text += "\n"
    return text + "---"


def injection(entries: list[dict[str, Any]], project: Path, at: datetime) -> str:
    told = {
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "project": project.name,
        "entries_injected": len(entries),
        "sources": {
            "local": len([entry for entry in entries if entry["source"] == "local"]),
            "global": len([entry for entry in entries if entry["source"] == "global"]),
        },
        "entry_names": [entry["name"] for entry in entries],
    }
    return json.dumps(told, indent=2)
