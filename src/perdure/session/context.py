"""One event of a session: in which project it is, and what holds there. Everything is looked up once, by whoever asks
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from perdure.project import ProjectFolder
from perdure.project_settings import read_project_settings
from perdure.session.configuration import read_configuration, session_settings
from perdure.session.privacy import where
from perdure.values import field, replace, value_class

if TYPE_CHECKING:
    from perdure.session.configuration import SessionConfiguration
    from perdure.session.privacy import Place
    from perdure.settings import Settings


class ChosenSettings(NamedTuple):
    """`configuration` also tells what is wrong with the other files of the project, and what they may not choose."""

    settings: Settings
    configuration: SessionConfiguration


@value_class(slots=False)
class SessionContext:
    """`options` are the store and the namespace, where a server was told which."""

    project: ProjectFolder
    session: str | None
    environ: Mapping[str, str]
    options: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])

    @cached_property
    def configuration(self) -> SessionConfiguration:
        return read_configuration(self.project)

    @cached_property
    def chosen(self) -> ChosenSettings:
        """What is wrong in a file of the project costs neither what is said in it nor the user's memories: the user's
        own settings count then. SettingsInvalid, if these are wrong as well.
        """
        from perdure.errors import SettingsInvalid
        from perdure.settings import load, override

        configuration = self.configuration
        try:
            settings = session_settings(self.project, environ=self.environ, configuration=configuration, **self.options)
            refused = read_project_settings(self.project.folder, self.environ).refused
            refused = (*configuration.refused, *refused)
            return ChosenSettings(settings, replace(configuration, refused=refused))
        except SettingsInvalid as error:
            own = override(load(self.environ), **self.options)
            return ChosenSettings(own, replace(configuration, project_problem=error.sentence))

    def place(self, namespace: str | None = None) -> Place:
        return where(self.project, self.session, namespace=namespace, environ=self.environ)
