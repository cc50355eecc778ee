"""What the commands share that work on the knowledge bank of a project: which project it is, and what its sessions may
write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perdure.cli.command import FilePath, Target, option
from perdure.errors import NotAllowed

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.session.configuration import SessionConfiguration
    from perdure.session.origin import Origin
    from perdure.session.privacy import Place
    from perdure.session.retro import Retro
    from perdure.settings import Settings

PROJECT: Final = option(
    "--project",
    "-p",
    type=FilePath(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A folder of the project.  [default: where you are]",
)


@dataclass(frozen=True, slots=True)
class Project:
    """`folder` is the working tree whose files are meant, `name` what memories call the project."""

    folder: Path
    name: str
    configuration: SessionConfiguration
    settings: Settings
    origin: Origin
    place: Place

    def require_recording(self) -> None:
        if not self.place.recording:
            raise NotAllowed(self.place.reason, remedy="perdure session on records it again.")

    @contextmanager
    def memory(self, target: Target, *, dry_run: bool = False) -> Generator[Memory]:
        """The memory that the project's sessions write into."""
        self.require_recording()
        more: dict[str, Any] = {"settings": self.settings, "namespace": self.place.namespace}
        with target.memory(dry_run=dry_run, session=self.origin.session, **more) as memory:
            yield memory


def find_project(target: Target, folder: Path | None) -> Project:
    from perdure.project import project_root
    from perdure.session.branch import checkout
    from perdure.session.configuration import read_configuration, session_settings
    from perdure.session.origin import find_origin
    from perdure.session.privacy import where

    tree = checkout(folder or Path.cwd())
    configuration = read_configuration(tree)
    namespace = target.namespaces[0] if target.namespaces else None
    settings = session_settings(tree, configuration=configuration, store=target.store, namespace=namespace)
    origin = find_origin(os.environ, project=str(project_root(tree)))
    place = where(tree, origin.session, namespace=settings.namespace)
    return Project(tree, origin.project or tree.name, configuration, settings, origin, place)


@contextmanager
def open_retro(
    target: Target, folder: Path | None, *, feature: str | None = None, promote: bool = False, dry_run: bool = False
) -> Generator[Retro]:
    """A retro in this project. Where its semantic memory is switched off, it touches no store."""
    from perdure.clock import system_clock
    from perdure.session.branch import feature_work
    from perdure.session.retro import Retro

    project = find_project(target, folder)
    project.require_recording()
    redact: Callable[[str], str] = str
    if project.settings.redact:
        from perdure.text.secrets import redactor

        without_secrets = redactor(project.settings.redact_patterns)
        redact = lambda text: without_secrets(text).text  # noqa: E731
    day = system_clock().astimezone().date()
    common: dict[str, Any] = {
        "project": project.folder, "name": project.name, "work": feature_work(project.folder, feature), "day": day,
        "origin": project.origin.fields, "redact": redact, "promote": promote, "private": project.place.private,
    }  # fmt: skip
    if not project.configuration.semantic:
        yield Retro(memory=None, **common)
        return
    with project.memory(target, dry_run=dry_run) as memory:
        yield Retro(memory=memory, **common)
