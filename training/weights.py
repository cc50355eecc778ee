"""How often each source is drawn, and which ones are general texts that are to stay where they are."""

from __future__ import annotations

from typing import Final

# Ours make nearly half of all draws. A source that is not named here, such as the commits of a repository, weighs
# `OTHER`.
WEIGHTS: Final = {
    "own conversations": 1.5,
    "own assistant chats": 1.8,
    "own notes": 0.8,
    "own team chats": 0.6,
    "own changes": 0.8,
    "own long messages": 0.8,
    "own learnings": 0.8,
    "own languages": 0.7,
    "own written notes": 2.2,
    "own written chats": 1.6,
    "own written learnings": 1.2,
    "crd3": 1.2,
    "schema-guided": 1.0,
    "multidogo": 0.8,
    "topical-chat": 1.2,
    "qmsum": 1.2,
    "qamr": 1.2,
    "xquad": 1.2,
    "strategyqa": 1.0,
    "mdn": 1.0,
    "kubernetes": 0.8,
    "docker": 0.6,
    "github": 0.8,
    "fastapi": 0.5,
    "tldr": 0.8,
    "same wiki-split": 0.4,
    "same xquad": 0.3,
    "same own": 0.3,
}
OTHER: Final = 0.3
ANCHORS: Final = frozenset({"mdn", "kubernetes", "docker", "github", "strategyqa", "xquad", "qamr"})
