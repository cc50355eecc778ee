"""Where a host's memories come from: its project, its session, its name. A host tells them by its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from perdure.project import project_label

# What hosts put into the environment of the servers that they start.
_PROJECT: Final = ("PERDURE_PROJECT", "CLAUDE_PROJECT_DIR")
_SESSION: Final = ("PERDURE_SESSION", "CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
# Where Codex says it with each call; it passes next to nothing on to the servers that it starts.
_SESSION_OF_CALL: Final = "sessionId"
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Origin:
    """`project` and `session` are written into every memory, `client` is the name of the host's program."""

    project: str | None = None
    session: str | None = None
    client: str | None = None

    def named(self, client: object) -> Origin:
        """With the name that the client gives itself, if that is one."""
        name = cast("Mapping[str, object]", client).get("name") if isinstance(client, Mapping) else None
        clean = " ".join(name.split())[:_MOST] if isinstance(name, str) else ""
        return replace(self, client=clean) if clean and clean.isprintable() else self

    def within(self, meta: Mapping[str, object]) -> Origin:
        """With the session that a call tells, if nobody told it before."""
        told = meta.get(_SESSION_OF_CALL)
        if self.session or not isinstance(told, str) or not (told.strip() and told.isprintable()):
            return self
        return replace(self, session=told[:_MOST])

    def now(self) -> Origin:
        """With the session that goes on with the one that the host told of, if it was cleared since."""
        from perdure.session.privacy import current_session

        session = current_session(self.session)
        return self if session == self.session else replace(self, session=session)

    @property
    def fields(self) -> dict[str, Any]:
        """What a memory says about where it comes from."""
        given = {"source_project": self.project, "session_id": self.session, "channel": self.client}
        return {name: value for name, value in given.items() if value is not None}


def find_origin(environ: Mapping[str, str], project: str | None = None, session: str | None = None) -> Origin:
    """What was said on the command line, else what the environment tells, else the repository that the host started
    the server in. A folder is known by its repository, and any other path by its last part, so that a project has one
    name on every machine.
    """
    told = (environ[name] for name in _PROJECT if environ.get(name))
    place = project or next(told, None) or _repository()
    name = Path(place).name[:_MOST] if place else ""
    if place and Path(place).is_absolute() and Path(place).is_dir():
        name = project_label(place)
    session = session or next((environ[name] for name in _SESSION if environ.get(name)), None)
    return Origin(name if name and name.isprintable() else None, session)


def _repository() -> str | None:
    try:
        here = Path.cwd()
    except OSError:
        return None
    return next((str(folder) for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), None)
