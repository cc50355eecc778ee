"""Providers and stores by name. Each is an entry point, of this package or of any other that is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal, TypeAlias

from perdure.errors import ProviderUnavailable, SettingsInvalid, StoreUnreadable
from perdure.installation import install_command
from perdure.location import EXTRAS, STORES
from perdure.remedies import Remedy, Run

Group: TypeAlias = Literal["perdure.embedders", "perdure.languages", "perdure.llms"]
LANGUAGES: Final = "perdure.languages"
_KIND: Final[dict[Group, str]] = {
    "perdure.embedders": "embedder",
    LANGUAGES: "language",
    "perdure.llms": "language model",
}
_SETTING: Final[dict[Group, str]] = {"perdure.embedders": "embedder", "perdure.llms": "llm"}
_SUCH_AS: Final[dict[Group, str]] = {"perdure.embedders": "nomic-embed-text", "perdure.llms": "qwen3"}


def provider_names(group: Group) -> list[str]:
    return sorted({point.name for point in entry_points(group=group)})


def packages_with(group: str, name: str) -> dict[str, EntryPoint]:
    return {point.dist.name if point.dist else "": point for point in entry_points(group=group, name=name)}


def require_provider(group: Group, name: str) -> EntryPoint:
    """The provider's entry point. Nothing of the provider is imported."""
    packages = packages_with(group, name)
    if not packages:
        known, setting = ", ".join(provider_names(group)) or "none", _SETTING[group]
        builtin = "`local`, `none`" if setting == "embedder" else "`none`"
        raise SettingsInvalid(
            f"No {_KIND[group]} is installed that is called {name!r}.",
            remedy=Remedy(
                f"Set `{setting}` to {builtin} or a provider and its model, such as `ollama:{_SUCH_AS[group]}`; or "
                "take it out: ",
                Run("config unset", setting),
                f". Providers installed: {known}.",
            ),
        )
    return ours_first(packages)


def ours_first(packages: dict[str, EntryPoint]) -> EntryPoint:
    """No other package takes the name of something that is built in, and with it the key of a provider."""
    return packages[min(packages, key=lambda package: (package != "perdure", package))]


def load(group: Group, name: str) -> Any:
    """What the provider's entry point names: a function of the model's name and the options."""
    point = require_provider(group, name)
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else "its package"
        instead = "remove it" if group == LANGUAGES else f"choose another {_KIND[group]}"
        raise ProviderUnavailable(
            f"The {_KIND[group]} {name!r} of {package} cannot be loaded: {type(error).__name__}: {error}.",
            remedy=f"Reinstall {package}, or {instead}.",
        ) from error


def load_store(scheme: str) -> Any:
    """What opens stores whose addresses begin with this scheme: `perdure.services.open_store` says how it is called."""
    packages = packages_with(STORES, scheme)
    extra = EXTRAS.get(scheme)
    remedy = install_command(extra) if extra else f"Install the package for {scheme}:// stores again."
    if not packages:
        raise StoreUnreadable(f"No package is installed that opens {scheme}:// stores.", remedy=remedy)
    try:
        return ours_first(packages).load()
    except ImportError as error:
        raise StoreUnreadable(f"What opens {scheme}:// stores cannot be loaded: {error}.", remedy=remedy) from error
