"""The configuration of a project's sessions: the front matter of `.claude/iflow-dev.local.md`.

A value that cannot be is a problem that a person is told of; a session goes on with the default in its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perdure.files import read_regular
from perdure.git import is_tracked
from perdure.project import project_root
from perdure.trusted_projects import HERE, Refused, is_trusted, may_choose
from perdure.values import field, replace, value_class
from perdure.vocabulary import KEYWORD_TIERS

if TYPE_CHECKING:
    from perdure.settings import Settings

FILE: Final = ".claude/iflow-dev.local.md"
RECIPE: Final = "learnings"
OWN_RECIPE: Final = "session-start"
DEFAULT_WEIGHTS: Final = {"vector": 0.5, "keyword": 0.2, "prominence": 0.3}
# What a provider is asked for where the file names no model.
MODELS: Final = {
    "gemini": "gemini-embedding-001", "voyage": "voyage-code-3", "openai": "text-embedding-3-small",
    "ollama": "nomic-embed-text",
}  # fmt: skip
# Naming one of these is leave to send it texts, and nobody else.
HOSTS: Final = {
    "gemini": "generativelanguage.googleapis.com", "voyage": "api.voyageai.com", "openai": "api.openai.com",
}  # fmt: skip
# The variable that holds the key of each of them; that of Perdure's own settings does for any.
_KEYS: Final = {"gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY", "openai": "OPENAI_API_KEY"}
_ANY_KEY: Final = "PERDURE_EMBEDDER_KEY"
# Every key of the file that is ours begins so.
_OURS: Final = "memory_"
_KNOWN: Final = (
    "memory_semantic_enabled", "memory_vector_weight", "memory_keyword_weight", "memory_prominence_weight",
    "memory_embedding_provider", "memory_embedding_model", "memory_keyword_provider", "memory_injection_enabled",
    "memory_injection_limit",
)  # fmt: skip
# Those that ask no model.
_KEYWORDS_HERE: Final = ("auto", "claude", "off")
DEFAULT_LIMIT: Final = 20
_MOST_BYTES: Final = 1 << 20
_MOST_ENTRIES: Final = 1000
_TOLERANCE: Final = 1e-3
_SWITCHES: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@value_class(kw_only=True)
class SessionConfiguration:
    """`embedder` and `keywords` are None where the file does not choose, so that Perdure's own settings count.
    `file` is None where there is none. `warnings` say what of it does nothing. `refused` is what it may not choose;
    `project_problem` is what is wrong with another file of the project.
    """

    semantic: bool = True
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    embedder: str | None = None
    keywords: str | None = None
    injection: bool = True
    limit: int = DEFAULT_LIMIT
    file: Path | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    project_problem: str = ""

    @property
    def recipe(self) -> str:
        """The recipe that weighs learnings as the file says. `settings` knows it."""
        return RECIPE if self.weights == DEFAULT_WEIGHTS else OWN_RECIPE

    @property
    def told(self) -> tuple[str, ...]:
        """What a session is told of these files."""
        refused = dict.fromkeys(each.sentence for each in self.refused)
        problems = (f"{FILE}: {problem}" for problem in (*self.problems, *self.warnings))
        return (*problems, *refused, *([self.project_problem] if self.project_problem else []))

    def is_of_strangers(self, environ: Mapping[str, str]) -> bool:
        """Whether somebody else may have written the file: git tracks it, and nobody trusts the project."""
        return self.file is not None and is_tracked(self.file) and not is_trusted(self.file.parent, environ)

    def require_valid(self) -> SessionConfiguration:
        """Where a person asks: the first problem is an error."""
        if self.problems:
            from perdure.errors import SettingsInvalid

            raise SettingsInvalid(f"{self.file}: {self.problems[0]}", remedy="Correct the file, or remove the line.")
        return self


def read_configuration(project_dir: str | os.PathLike[str]) -> SessionConfiguration:
    """What the file in the project says; a worktree without one has that of its repository."""
    root = project_root(project_dir)
    for folder in dict.fromkeys((Path(project_dir), *Path(project_dir).parents)):
        if (folder / FILE).is_file():
            return _read(folder / FILE)
        if folder == root or (folder / ".git").exists():
            break
    return _read(root / FILE) if (root / FILE).is_file() else SessionConfiguration()


def session_settings(
    project_dir: str | os.PathLike[str] | None,
    *,
    environ: Mapping[str, str] | None = None,
    configuration: SessionConfiguration | None = None,
    **arguments: str | None,
) -> Settings:
    """The settings of a project's sessions. What the user set for Perdure itself (`perdure.toml`, `PERDURE_*`) counts
    before the file of one project: all projects share one store, and one model makes its vectors.
    """
    from perdure import settings

    environ = os.environ if environ is None else environ
    if configuration is None:
        configuration = SessionConfiguration() if project_dir is None else read_configuration(project_dir)
    chosen: dict[str, object] = {"embedder": configuration.embedder, "keywords": configuration.keywords}
    if any(chosen.values()):
        origins = {one.name: one.origin for one in settings.in_force(environ, project=None, **arguments)}
        chosen = {name: value for name, value in chosen.items() if origins[name] == "default"}
    folder = None if project_dir is None else Path(project_dir)
    loaded = settings.override(settings.load(environ, project=folder, **arguments), **chosen)
    host = HOSTS.get((configuration.embedder or "").partition(":")[0])
    if host and loaded.embedder == configuration.embedder and host not in loaded.egress:
        loaded = replace(loaded, egress=(*loaded.egress, host))
    if configuration.recipe == OWN_RECIPE:
        weights = {f"{name}_weight": value for name, value in configuration.weights.items()}
        loaded = replace(loaded, recipes={**loaded.recipes, OWN_RECIPE: {"like": RECIPE, **weights}})
    return loaded


def _read(path: Path) -> SessionConfiguration:
    try:
        text = read_regular(path, _MOST_BYTES)[:_MOST_BYTES].decode("utf-8", "replace")
    except OSError as error:
        return SessionConfiguration(file=path, problems=(f"It cannot be read: {error.strerror}.",))
    from perdure.bank.front_matter import split_front_matter

    given, _ = split_front_matter(text)
    values = _Values({name: value if isinstance(value, str) else ", ".join(value) for name, value in given.items()})
    read = SessionConfiguration(
        semantic=values.switch("memory_semantic_enabled"),
        injection=values.switch("memory_injection_enabled"),
        limit=values.count("memory_injection_limit", DEFAULT_LIMIT),
        keywords=values.choice("memory_keyword_provider", KEYWORD_TIERS),
        weights=values.weights(),
        embedder=values.embedder(path),
        file=path,
        problems=tuple(values.problems),
    )
    if read.keywords and read.keywords not in _KEYWORDS_HERE and not is_trusted(path.parent):
        read = replace(read, keywords=None, refused=(Refused(path, "keywords", read.keywords),))
    if read.embedder and not may_choose(read.embedder, path.parent):
        read = replace(read, embedder=None, refused=(*read.refused, Refused(path, "embedder", read.embedder)))
    return replace(read, warnings=tuple(_warnings(values.given, read.embedder)))


def _warnings(given: Mapping[str, str], embedder: str | None) -> Iterator[str]:
    """What of the file does nothing: keys that are not known, and a provider that cannot be asked without its key."""
    for name in given:
        if name.startswith(_OURS) and name not in _KNOWN:
            from difflib import get_close_matches

            near = get_close_matches(name, _KNOWN, 1)
            yield f"{name[:60]} is not known{f'; {near[0]} is' if near else ''}."
    provider = (embedder or "").partition(":")[0]
    variable = _KEYS.get(provider)
    if variable and not any(os.environ.get(name) for name in (variable, _ANY_KEY)):
        yield f"memory_embedding_provider is {provider}, but {variable} is not set, so it cannot be asked."


@value_class(frozen=False)
class _Values:
    """The values of a file, each checked when it is asked for; what cannot be is noted, and the default is answered."""

    given: Mapping[str, str]
    problems: list[str] = field(default_factory=list[str])

    def switch(self, name: str) -> bool:
        """All switches are on by default."""
        value = self.given.get(name, "").lower()
        if value and value not in _SWITCHES:
            self._wrong(name, "true or false")
        return _SWITCHES.get(value, True)

    def count(self, name: str, default: int) -> int:
        value = self.given.get(name, "")
        if value.isascii() and value.isdigit() and int(value[:9]) <= _MOST_ENTRIES:
            return int(value)
        if value:
            self._wrong(name, f"a whole number from 0 to {_MOST_ENTRIES:,}")
        return default

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        value = self.given.get(name, "").lower()
        if value and value not in choices:
            self._wrong(name, f"one of {', '.join(choices)}")
        return value if value in choices else None

    def weights(self) -> dict[str, float]:
        """The three weights, or all the defaults where these do not add up."""
        weights = dict(DEFAULT_WEIGHTS)
        for name, default in DEFAULT_WEIGHTS.items():
            value = self.given.get(f"memory_{name}_weight")
            try:
                weights[name] = float(value) if value else default
            except ValueError:
                self._wrong(f"memory_{name}_weight", "a number from 0 to 1")
        total = sum(weights.values())
        if all(0 <= weight <= 1 for weight in weights.values()) and abs(total - 1) <= _TOLERANCE:
            return weights
        sum_of = " + ".join(f"{weight:g}" for weight in weights.values())
        self.problems.append(
            "memory_vector_weight, memory_keyword_weight and memory_prominence_weight must each be from 0 to 1 and sum "
            f"to 1.0; they are {sum_of} = {total:g}."
        )
        return dict(DEFAULT_WEIGHTS)

    def embedder(self, path: Path) -> str | None:
        """Provider and model as Perdure names them. A known model tells its provider."""
        model = self.given.get("memory_embedding_model", "")
        provider = self.choice("memory_embedding_provider", (*MODELS, *HERE))
        if provider is None and model and "memory_embedding_provider" not in self.given:
            provider = next((name for name, known in MODELS.items() if known == model), None)
            if provider is None:
                self._wrong("memory_embedding_model", "given together with memory_embedding_provider")
        if provider is None or provider in HERE:
            return provider
        if provider in HOSTS and is_tracked(path):
            self.problems.append(
                f"memory_embedding_provider is {provider}, but git tracks the file: others can change it, so it does "
                "not allow texts to be sent away. Take it out of git (`git rm --cached`), or set embedder and egress "
                "in perdure.toml."
            )
            return None
        return f"{provider}:{model or MODELS[provider]}"

    def _wrong(self, name: str, expected: str) -> None:
        self.problems.append(f"{name} is {self.given[name][:60]!r}; it must be {expected}.")
