"""What the project says that an agent works in: S3's `config.jsonc`, in the words of our own settings.

It counts less than the user's own settings, and a foreign project chooses neither where memories go, nor code, nor who
is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from perdure.errors import SettingsInvalid, shown
from perdure.files import read_regular
from perdure.model import CONTEXT_TYPES, TIERS
from perdure.trusted_projects import Refused, is_trusted, may_choose
from perdure.validation import number_in
from perdure.values import field, value_class

CONFIG_FILES: Final = (".opencode/memory/config.jsonc", ".opencode/memory/database/config.jsonc")
INDEX_FILE: Final = ".opencode/memory/database/memory-index.sqlite"
_MODELS: Final = {"local": "local", "openai": "openai:text-embedding-3-small"}
_LOCAL_DIMENSIONS: Final = 384
# With another one a stranger's project would hide what is remembered in it, have it expire, or put it before all else.
HARMLESS_TIERS: Final = ("important", "normal")
_MAX_BYTES: Final = 1 << 20


@value_class
class ProjectSettings:
    """`path` is the file that they were read from, None where there is none. `index_path` is the database of the tool
    whose file it is; nothing is written to it. `refused` is what it may not choose.
    """

    path: Path | None
    index_path: Path
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    refused: tuple[Refused, ...] = ()


def read_project_settings(project: Path, environ: Mapping[str, str] | None = None) -> ProjectSettings:
    """SettingsInvalid names the file, the line and what to do."""
    index = project / INDEX_FILE
    for name in CONFIG_FILES:
        path = project / name
        if not path.is_file():
            continue
        try:
            content = read_regular(path, _MAX_BYTES)
            text = content.decode("utf-8-sig") if len(content) <= _MAX_BYTES else None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsInvalid(
                f"{path} cannot be read as text.", remedy="Save it as UTF-8, or remove it."
            ) from error
        if text is None:
            raise SettingsInvalid(f"{path} has more than {_MAX_BYTES:,} bytes.", remedy="Shorten or remove it.")
        config = ConfigFile(path, text)
        values, refused = config.settings(), list[Refused]()
        model, tier = str(values.get("embedder", "local")), str(values.get("default_tier", "normal"))
        if not may_choose(model, project, environ):
            refused.append(Refused(path, "embedder", model))
            values = {name: value for name, value in values.items() if not name.startswith("embedder")}
        if tier not in HARMLESS_TIERS and not is_trusted(project, environ):
            refused.append(Refused(path, "default_tier", tier))
            del values["default_tier"]
        return ProjectSettings(path, config.index_path(project) or index, values, tuple(refused))
    return ProjectSettings(None, index)


class ConfigFile:
    """One `config.jsonc`. What it has besides the entries that are read here is its tool's own business."""

    def __init__(self, path: Path, text: str) -> None:
        from perdure.text.jsonc import parse_jsonc

        self._path, self._text = path, text
        try:
            value: Any = parse_jsonc(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
            deep = "it is nested too deeply" if isinstance(error, RecursionError) else "a number in it is too long"
            wrong = error.msg if isinstance(error, json.JSONDecodeError) else deep
            raise self._invalid(line, f"is not JSON: {wrong}", "Mend that line; comments are allowed.") from error
        if not isinstance(value, dict):
            raise self._invalid(1, "is not an object", "Put everything between { and }.")
        self._value = cast("dict[str, Any]", value)

    def settings(self) -> dict[str, object]:
        """Ours, by name, as far as the file says something about them."""
        entries: Sequence[tuple[str, str, Callable[[Any], object], str]] = (
            ("triggers.autoSaveInterval", "auto_save_interval", as_count, "a whole number, 0 for never"),
            ("triggers.phrases", "save_phrases", as_texts, "a list of texts"),
            ("memory.decay.enabled", "decay", as_switch, "true or false"),
            ("memory.decay.rates", "decay_rates", as_rates, f"a number from 0 to 1 for each of {', '.join(TIERS)}"),
            ("memory.decay.minFloor", "decay_floor", as_share, "a number from 0 to 1"),
            ("memory.decay.exemptTiers", "decay_exempt", as_tiers, f"a list of {', '.join(TIERS)}"),
            ("memory.defaultTier", "default_tier", as_tier, f"one of {', '.join(TIERS[1:])}"),
            (
                "memory.defaultContextType",
                "default_context_type",
                as_context_type,
                f"one of {', '.join(CONTEXT_TYPES)}",
            ),
        )
        values = {setting: self._read(path, read, allowed) for path, setting, read, allowed in entries}
        return {**{name: value for name, value in values.items() if value is not None}, **self._embedder()}

    def index_path(self, project: Path) -> Path | None:
        given = self._read("semantic.indexPath", as_text, "a path")
        return project / str(given) if given is not None else None

    def _embedder(self) -> dict[str, object]:
        enabled = self._read("semantic.enabled", as_switch, "true or false")
        model = self._read("semantic.model", as_model, '"local", "openai", or a provider and its model')
        dimensions = self._read("semantic.dimensions", as_count, "a whole number")
        if enabled is False:
            return {"embedder": "none"}
        if model in {None, "local"}:
            if dimensions not in {None, 0, _LOCAL_DIMENSIONS}:
                remedy = f"Write {_LOCAL_DIMENSIONS}, or choose another model."
                raise self._invalid(
                    self._line("semantic.dimensions"), f"has {dimensions}, which the local model does not have", remedy
                )
            return {} if model is None else {"embedder": model}
        return {"embedder": model, **({"embedder_dimensions": dimensions} if dimensions else {})}

    def _read(self, path: str, read: Callable[[Any], object], allowed: str) -> object:
        """The value at a path such as `memory.decay.enabled`; None where the file says nothing."""
        value: Any = self._value
        names = path.split(".")
        for depth, name in enumerate(names):
            if not isinstance(value, dict):
                above = ".".join(names[:depth])
                raise self._invalid(
                    self._line(above), f"has {above}, which is not an object", "Put it between { and }."
                )
            value = cast("dict[str, Any]", value).get(name)
            if value is None:
                return None
        checked = read(value)
        if checked is None:
            raise self._invalid(self._line(path), f"has {path} {shown(value)}", f"It must be {allowed}.")
        return checked

    def _line(self, path: str) -> int:
        from perdure.text.jsonc import line_of

        return line_of(self._text, path.split("."))

    def _invalid(self, line: int, wrong: str, remedy: str) -> SettingsInvalid:
        return SettingsInvalid(f"{self._path}, line {line}, {wrong}.", remedy=remedy)


def as_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def as_switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def as_count(value: Any) -> object:
    return number_in(value, 0, 10**6, whole=True)


def as_share(value: Any) -> object:
    return number_in(value, 0, 1)


def as_texts(value: Any) -> tuple[str, ...] | None:
    texts: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
    return tuple(texts) if all(isinstance(text, str) for text in texts) else None


def as_tiers(value: Any) -> tuple[str, ...] | None:
    texts = as_texts(value)
    return texts if texts is not None and set(texts) <= set(TIERS) else None


def as_tier(value: Any) -> str | None:
    """A whole project cannot be constitutional: a person agrees to each such memory."""
    return value if value in TIERS[1:] else None


def as_context_type(value: Any) -> str | None:
    return value if value in CONTEXT_TYPES else None


def as_rates(value: Any) -> Mapping[str, object] | None:
    rates = cast("dict[str, Any]", value) if isinstance(value, dict) else {"": None}
    known = {tier: number_in(rate, 0, 1) for tier, rate in rates.items() if tier in TIERS}
    return known if len(known) == len(rates) and None not in known.values() else None


def as_model(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return _MODELS.get(value, value if ":" in value.strip(":") else None)
