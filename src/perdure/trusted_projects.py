"""Which projects a person trusts. Whoever clones a repository has not written it: until a person says so, its files are
told in that project alone, and its settings choose nothing that runs code, asks somebody else or hides memories.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from perdure.errors import shown
from perdure.files import directory
from perdure.marks import is_marked, remove_mark, set_mark
from perdure.project import project_at, project_root
from perdure.values import value_class

# What the files of any project may choose as a model, and what those of one may that a person trusts. A model that is
# code, or a folder, is nobody's choice but the user's.
HERE: Final = ("local", "none")
PROVIDERS: Final = ("gemini", "voyage", "openai", "ollama")
_DIGITS: Final = 16
_MOST_OF_A_NAME: Final = 200


@value_class
class Refused:
    """A choice in a file of a project that is its user's alone. `sentence` is for a model too, which is told no command
    that makes the choice.
    """

    file: Path
    setting: str
    value: str

    @property
    def sentence(self) -> str:
        return f"A file of the project chooses its {self.setting}, which only its user may: `perdure doctor` says how."

    @property
    def detail(self) -> str:
        return f"{self.file} chooses {self.setting} {shown(self.value)}, which a file of a project may not."

    @property
    def remedy(self) -> str:
        yourself = f"Set it yourself, if you mean it: `perdure config set {self.setting} {shlex.quote(self.value)}`"
        trusting = "; or, if you know who writes its files, trust the project: `perdure session trust`"
        return f"{yourself}{trusting if self.setting != 'embedder' or provider_of(self.value) else ''}."


def provider_of(model: str) -> str | None:
    provider = model.partition(":")[0]
    return provider if provider in PROVIDERS else None


def may_choose(model: str, project: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a file of this project may choose this model."""
    return model in HERE or (provider_of(model) is not None and is_trusted(project, environ))


def is_trusted(project: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> bool:
    """Where the mark cannot be read, it is not."""
    try:
        return is_marked(_folder(environ), str(project_root(project)))
    except OSError:
        return False


def trust(project: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> tuple[Path, bool]:
    """From now on the files of this project count as the user's own. Answers its root, and whether that is new."""
    root = project_root(project)
    return root, set_mark(_folder(environ), str(root))


def distrust(project: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> tuple[Path, bool]:
    """Answers the root of the project, and whether it was trusted."""
    root = project_root(project)
    return root, remove_mark(_folder(environ), str(root))


def project_id(project: str | os.PathLike[str]) -> str:
    """What tells a project from every other on this machine, whatever its folder is called: worktrees have that of
    their main one.
    """
    return sha256(os.fsencode(project_root(project))).hexdigest()[:_DIGITS]


def names_of(project: str | os.PathLike[str]) -> tuple[str, ...]:
    """What memories that come from this project call it: its id, as `visibility.places_of` tells, the name of its
    folder, and that of its repository.
    """
    here = project_at(project)
    labels = (here.root.name[:_MOST_OF_A_NAME], here.label)
    return (project_id(here), *dict.fromkeys(f"/{label}" for label in labels))


def _folder(environ: Mapping[str, str] | None) -> Path:
    return directory("data", os.environ if environ is None else environ) / "trusted-projects"
