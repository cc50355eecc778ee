"""What the next session of a project will ask first is known while nobody asks anything: a server that has the model
embeds it then, so that no start of a session has to load one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perdure.project import ProjectFolder
from perdure.session.context import SessionContext
from perdure.session.kept import AskedBefore
from perdure.session.signals import collect_signals

if TYPE_CHECKING:
    from pathlib import Path

    from perdure.memory import Memory
    from perdure.session.privacy import Place


def embed_next_question(memory: Memory, place: Place, project: Path, known: str | None) -> str | None:
    """Keep the vector of the question that a session would ask now, unless that is `known`; the question."""
    context = SessionContext(ProjectFolder(project), None, os.environ)
    if not (context.configuration.semantic and context.configuration.injection):
        return known
    question = collect_signals(context.project).query
    if question is not None and question != known:
        memory.learnings(question, limit=1, namespaces=place.read_namespaces, asked=AskedBefore())
    return question
