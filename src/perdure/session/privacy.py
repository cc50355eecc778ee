"""Who may see what a session writes: a project can be private, and a session off the record.

Everything that writes for a coding agent asks `where` first: the hook, the MCP server and the commands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from perdure.marks import has_marks, is_marked, mark_name, marked, remove_mark, set_mark
from perdure.project import ProjectFolder, project_at, project_root
from perdure.remedies import Remedy, Run
from perdure.session.state import noted, put_note, session_folder, take_note
from perdure.trusted_projects import names_of
from perdure.values import value_class

NOT_RECORDING: Final = "This session is off the record: nothing is stored."
_LONGEST_NAME: Final = 80
# Between the end of a session that is cleared and the beginning of the next one lie less than so many seconds.
_CLEARED_SECONDS: Final = 60


@value_class(slots=False)
class Place:
    """Where memories of a project are written, and where they are looked for: its own first, then the common ones.
    Unless `recording`, nothing may be written; `reason` says why.
    """

    namespace: str
    read_namespaces: tuple[str, ...]
    recording: bool = True
    private: bool = False
    reason: str = ""
    project: ProjectFolder | None = None

    @cached_property
    def label(self) -> str | None:
        """As memories of the project name it."""
        return None if self.project is None else self.project.label or None

    @cached_property
    def told_in(self) -> tuple[str, ...]:
        """The names of the project: what was imported from another one that nobody trusts is not told in it."""
        return () if self.project is None else names_of(self.project)

    def require_recording(self) -> None:
        if not self.recording:
            from perdure.errors import NotAllowed

            raise NotAllowed(
                self.reason, remedy=Remedy("A person can put it on the record again: ", Run("session on"), ".")
            )


def where(
    project_dir: str | os.PathLike[str] | None,
    session: str | None = None,
    *,
    namespace: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Place:
    """`namespace` is the common one, by default that of the settings. Where the marks cannot be read, nothing is
    recorded: what was meant to be private must not become common.
    """
    environ = os.environ if environ is None else environ
    if namespace is None:
        from perdure.settings import load

        namespace = load(environ).namespace
    folder, here = session_folder(environ), None if project_dir is None else project_at(project_dir)
    try:
        private = None if here is None else _private_root(folder, here)
        claimed = None if here is None or private else here.claimed_root
        foreign = claimed is not None and is_marked(folder / "private", str(claimed))
        off = session is not None and is_marked(folder / "off", session)
    except OSError as error:
        reason = f"Nothing is stored: {folder} cannot be read ({error.strerror})."
        return Place(namespace, (namespace,), recording=False, reason=reason, project=here)
    if foreign:
        reason = f"Nothing is stored: {claimed} is private, and does not know this worktree (`git worktree repair`)."
        return Place(namespace, (namespace,), recording=False, reason=reason, project=here)
    own = (namespace,) if private is None else (private_namespace(private), namespace)
    reason = NOT_RECORDING if off else ""
    return Place(own[0], own, recording=not off, private=private is not None, reason=reason, project=here)


def private_namespace(root: Path) -> str:
    """The namespace of a private project: its name, and a hash of its path, so that no two projects share one."""
    name = "".join(letter if letter.isprintable() else "-" for letter in root.name[:_LONGEST_NAME])
    return f"private:{name}:{mark_name(str(root))[:12]}"


def make_private(project_dir: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> tuple[Path, bool]:
    """From now on nothing of this project is recalled elsewhere. Answers its root, and whether that is new."""
    root = project_root(project_dir)
    return root, set_mark(session_folder(environ) / "private", str(root))


def make_shared(project_dir: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> tuple[Path, bool]:
    """From now on what is learned in this project is common again; what was private stays where it is."""
    folder = session_folder(environ)
    root = _private_root(folder, project_at(project_dir)) or project_root(project_dir)
    return root, remove_mark(folder / "private", str(root))


def go_off_record(session: str, environ: Mapping[str, str] | None = None) -> bool:
    """From now on nothing of this session is stored. Answers whether that is new."""
    return set_mark(session_folder(environ) / "off", session)


def go_on_record(session: str, environ: Mapping[str, str] | None = None) -> bool:
    return remove_mark(session_folder(environ) / "off", session)


def note_session(project_dir: str | os.PathLike[str], session: str, environ: Mapping[str, str] | None = None) -> None:
    """Remember which session of a project is the latest."""
    put_note("latest", str(project_root(project_dir)), session, environ)


def latest_session(project_dir: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> str | None:
    return noted("latest", str(project_root(project_dir)), environ)


def note_cleared(project_dir: str | os.PathLike[str], session: str, environ: Mapping[str, str] | None = None) -> None:
    """Remember that a session ended because somebody cleared it: the one that begins next goes on with it."""
    put_note("cleared", str(project_root(project_dir)), session, environ)


def begin_after_clear(
    project_dir: str | os.PathLike[str], session: str, environ: Mapping[str, str] | None = None
) -> None:
    """A session begins in the place of the one that was cleared a moment ago. What was off the record stays so."""
    before = take_note("cleared", str(project_root(project_dir)), _CLEARED_SECONDS, environ)
    if before is None or before == session:
        return
    folder = session_folder(environ) / "off"
    with suppress(OSError):
        if is_marked(folder, before):
            set_mark(folder, session)
    put_note("continued", before, session, environ)


def current_session(session: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The session that went on with this one, however often it was cleared: a host does not tell its servers."""
    seen: set[str] = set()
    while session is not None and session not in seen:
        seen.add(session)
        session = noted("continued", session, environ) or session
    return session


def sessions_off_record(environ: Mapping[str, str] | None = None) -> list[str]:
    return marked(session_folder(environ) / "off")


def _private_root(folder: Path, project: ProjectFolder) -> Path | None:
    """The private project that a folder is in, or is a worktree of."""
    if not has_marks(folder / "private"):
        return None
    here, root = Path(os.path.realpath(project)), project.root
    places = dict.fromkeys((here, *here.parents, root, *root.parents))
    return next((place for place in places if is_marked(folder / "private", str(place))), None)
