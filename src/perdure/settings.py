"""Settings: the project's own, `perdure.toml`, `PERDURE_*` in the environment, arguments; the later wins."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, cast

from perdure.errors import SettingsInvalid, shown
from perdure.files import directory
from perdure.location import StoreLocation, locate
from perdure.model import CATEGORIES, CONTEXT_TYPES, TIERS
from perdure.text.patterns import pattern
from perdure.validation import ABOVE_ZERO, number_in, refuse_address
from perdure.values import field, replace, value_class
from perdure.vocabulary import KEYWORD_TIERS, LEARNING_CATEGORIES, WRITERS

# The variables from which keys are read, and nowhere else.
API_KEYS: Final = (
    "OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "ANTHROPIC_API_KEY", "PERDURE_EMBEDDER_KEY",
    "PERDURE_LLM_KEY", "PERDURE_TOKEN",
)  # fmt: skip
# Variables of ours that are no settings.
OTHER_VARIABLES: Final = (
    "PERDURE_BUGGIFY", "PERDURE_CONFIG", "PERDURE_EMBEDDER_KEY", "PERDURE_LAYOUT", "PERDURE_LLM_KEY", "PERDURE_PROJECT",
    "PERDURE_TOKEN", "PERDURE_TRACEBACK",
)  # fmt: skip
_PREFIX: Final = "PERDURE_"
# What other programs call the place of their data.
_MEANING_STORE: Final = ("DATA", "DATABASE", "DB", "DIR", "FILE", "HOME", "PATH")
LEARN: Final = ("auto", "rules", "agent", "off")
LEARN_SCOPES: Final = ("subject", "conversation")
_MODEL: Final = pattern(r"local|none|[a-z][a-z0-9_.-]*:\S(.*\S)?")
_HOST: Final = pattern(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(/[0-9]{1,3})?")
_MODEL_REMEDY: Final = {
    "embedder": "Set it to `local`, `none` or a provider and its model, such as `ollama:nomic-embed-text`.",
    "llm": "Set it to `none` or a provider and its model, such as `ollama:qwen3`.",
}

_PRICE_REMEDY: Final = 'Write a model and its price, such as "openai:gpt-5-mini" = {input = 0.25, output = 2}.'


@value_class
class Setting:
    """One row of the settings table, from which the reference page is made. Its default is that of the field of
    `Settings`; `unset` describes it where no value does.
    """

    name: str
    kind: Literal[
        "path", "text", "words", "number", "count", "share", "amount", "switch", "tables", "patterns", "shares"
    ]
    help: str
    unset: str = ""

    @property
    def variable(self) -> str:
        return _PREFIX + self.name.upper()

    @property
    def default(self) -> str:
        """As it would be written in the environment."""
        from dataclasses import fields

        [value] = (field.default for field in fields(cast("Any", Settings)) if field.name == self.name)
        if self.unset or not isinstance(value, str | int | float | tuple):
            return self.unset
        if isinstance(value, tuple):
            return ",".join(cast("tuple[str, ...]", value))
        return f"{value:g}" if isinstance(value, float) else str(value).lower()

    def located(self, value: Any, environ: Mapping[str, str]) -> Path | StoreLocation:
        named = f"{self.name} (or {self.variable})"
        if self.name == "store":
            return locate(value, environ, named)
        refuse_address(value, named)
        return Path(value).expanduser()


SETTINGS: Final = (
    Setting(
        "store",
        "path",
        "The file that holds the memories; the URL of a server, such as `https://memory.example.org`; or a database, "
        "such as `postgresql://db.example.org/memory`.",
        unset="the user's data directory",
    ),
    Setting("namespace", "text", "The namespace to use, such as one for each user. Namespaces never mix."),
    Setting(
        "embedder",
        "text",
        "`local` (the packaged model), `none` (keyword search alone), or a provider and its model, such as "
        "`ollama:nomic-embed-text`; docs/models.md lists them.",
    ),
    Setting(
        "embedder_url",
        "text",
        "The address of the embedder's server, such as `http://127.0.0.1:8000/v1`.",
        unset="the provider's own",
    ),
    Setting("embedder_dimensions", "count", "The length of a vector, where the model lets you choose; 0: its usual."),
    Setting("llm", "text", "A language model, such as `ollama:qwen3`; `none`: Perdure asks no model."),
    Setting("llm_url", "text", "The address of the language model's server.", unset="the provider's own"),
    Setting(
        "egress",
        "words",
        "The hosts that texts may be sent to, such as `api.openai.com`; `none`: nothing leaves this machine.",
        unset="none",
    ),
    Setting(
        "provider_seconds", "number", "How long a read or a write waits for a provider; background work waits longer."
    ),
    Setting("daily_tokens", "count", "Tokens that background work may send to providers in a day; 0: no limit."),
    Setting("daily_cost", "amount", "What background work may cost in a day, by `prices`; 0: no limit."),
    Setting(
        "prices",
        "tables",
        'What a model costs for a million tokens, such as `{"openai:gpt-5-mini" = {input = 0.25, output = 2}}`.',
    ),
    Setting(
        "keywords",
        "text",
        "Who finds keywords for a memory that came without: `auto` (the language model if there is one, else Perdure "
        "itself), `claude`, `haiku`, `ollama` or `off`.",
    ),
    Setting("keyword_categories", "words", "The categories whose memories get keywords."),
    Setting("episode_min_messages", "count", "Minimum number of messages in an episode."),
    Setting("episode_max_messages", "count", "Maximum number of messages in an episode."),
    Setting("episode_gap_minutes", "number", "A silence longer than this ends an episode."),
    Setting(
        "episode_close_minutes", "number", "How long after a conversation's last message its last episode is closed."
    ),
    Setting("episode_short_message", "count", "A message with at most this many characters does not end an episode."),
    Setting(
        "learn",
        "text",
        "Who learns facts from episodes: `auto` (the language model if there is one, else rules), `rules`, `agent` "
        "(the agent itself, when it asks for episodes) or `off`.",
    ),
    Setting(
        "learn_scope",
        "text",
        "The facts that a new fact is compared with: `subject`, all facts of the namespace about the same person or "
        "thing, or `conversation`, those of its own conversation alone. With `conversation`, episodes wait in each "
        "conversation separately, and a conversation shorter than an episode stays open.",
    ),
    Setting(
        "learn_from_tools",
        "switch",
        "Whether Perdure learns from the tools that a coding agent uses: which command failed, and which one worked "
        "instead. docs/hooks.md says what is kept for that.",
    ),
    Setting("consolidation_episodes", "count", "Consolidation starts when this many episodes wait."),
    Setting("flashbulb_surprise", "share", "An episode with at least this surprise is consolidated at once."),
    Setting("consolidation_seconds", "number", "How long a language model may take for one consolidation."),
    Setting("consolidation_most_superseded", "count", "Maximum number of facts that one consolidation supersedes."),
    Setting("related_facts", "count", "Number of known facts that a consolidation is shown."),
    Setting("duplicate_cosine", "share", "A new fact at least this similar to a known one reinforces it instead."),
    Setting("duplicate_candidates", "count", "Number of known facts that a new fact is compared with."),
    Setting("recipe", "text", "How recall weighs its signals; docs/reference/recipes.md lists the recipes."),
    Setting("recipes", "tables", "Recipes of your own, each a table; docs/reference/recipes.md says what is in it."),
    Setting(
        "min_relevance",
        "share",
        "Recall leaves out memories below this relevance, from 0 to 1; 0: recall always fills its limit.",
        unset="the recipe's",
    ),
    Setting("categories", "words", "Categories of your own, besides the built-in ones."),
    Setting(
        "cache",
        "path",
        "The directory for derived files, such as what was found out about a model.",
        unset="the user's cache directory",
    ),
    Setting("redact", "switch", "Replace secrets by [REDACTED:kind] before anything is stored."),
    Setting(
        "redact_patterns",
        "patterns",
        'Secrets of your own: regular expressions by kind, such as `{badge = "BDG-[0-9]{6}"}`.',
    ),
    Setting("actor", "text", "The actor that the history of a memory names.", unset="the login name"),
    Setting("session", "text", "The session that the history of a memory names."),
    Setting(
        "writer",
        "text",
        "Who decides what is written: `person`, or `model`, which may not erase nor change constitutional memories.",
    ),
    Setting("busy_seconds", "number", "How long a write waits for other processes before it gives up."),
    Setting("store_connections", "count", "Maximum number of connections that a process opens to a database."),
    Setting("index_megabytes", "number", "Memory that the recall index of one process may take."),
    Setting(
        "index_file_megabytes",
        "number",
        "Disk space for the index files of a database on this machine; the least used are removed first.",
    ),
    Setting(
        "index_limit",
        "count",
        "A namespace in a database with more memories than this is searched there, not in an index of the process.",
    ),
    Setting("max_items", "count", "Maximum number of memories in a namespace; 0: no limit."),
    Setting("max_tokens", "count", "Maximum number of tokens in the current texts of a namespace; 0: no limit."),
    Setting("importance_high", "share", "Memories with at least this importance are never evicted."),
    Setting("importance_low", "share", "Memories below this importance are evicted first."),
    Setting("grace_days", "count", "Days during which an evicted memory can be restored; 0: never."),
    Setting("merge_always", "share", "Memories above this cosine are merged, if their words agree."),
    Setting("merge_never", "share", "Memories below this cosine are never merged; in between, a model decides."),
    Setting("merge_propose", "share", "Above this cosine a person is asked about merges that no model decides."),
    Setting("merge_faithfulness", "share", "Minimum cosine between a merged text and each text that it was made of."),
    Setting("merge_neighbours", "count", "Number of other memories that a merged one is compared with."),
    Setting("merge_neighbour_score", "share", "A merge whose mean cosine to those is higher is rejected."),
    Setting("merge_rounds", "count", "Maximum number of memories that one save merges; 0: none."),
    Setting("constitutional_tokens", "count", "Tokens of constitutional memories that are always surfaced."),
    Setting("validation_step", "share", "How far one validation moves the confidence towards 1 or 0."),
    Setting("decay", "switch", "Whether recipes that use tiers let unused memories fade."),
    Setting("decay_exempt", "words", "Tiers that never fade."),
    Setting(
        "decay_rates", "shares", "How much a memory of a tier fades in a day without use, such as `{normal = 0.02}`."
    ),
    Setting("decay_floor", "share", "Minimum that decay leaves of a score, if the tier has no higher one."),
    Setting("default_tier", "text", "The tier of a memory that came without one."),
    Setting("default_context_type", "text", "The context type of a memory that came without one."),
    Setting(
        "background",
        "switch",
        "Whether `perdure mcp` and `perdure serve` do outstanding work while they are idle; otherwise only `perdure "
        "work` does.",
    ),
    Setting(
        "auto_save_interval",
        "count",
        "Number of prompts in a session after which the agent is reminded to save the context; 0: never.",
    ),
    Setting("save_phrases", "words", "Words of a prompt that make the agent save the context."),
    Setting("versioning", "switch", "Keep the text of earlier versions; without it there is no way back."),
    Setting(
        "soft_delete",
        "switch",
        "Whether `forget` keeps what it hides; otherwise only `erase` is left. What `undo` and checkpoints remove is "
        "kept in any case.",
    ),
)


@value_class
class SettingInForce:
    name: str
    value: Any
    origin: str


@value_class(kw_only=True)
class Settings:
    store: StoreLocation
    namespace: str = "default"
    embedder: str = "local"
    embedder_url: str | None = None
    embedder_dimensions: int = 0
    llm: str = "none"
    llm_url: str | None = None
    egress: tuple[str, ...] = ()
    provider_seconds: float = 2.0
    daily_tokens: int = 0
    daily_cost: float = 0.0
    prices: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    keywords: str = "auto"
    keyword_categories: tuple[str, ...] = LEARNING_CATEGORIES
    episode_min_messages: int = 5
    episode_max_messages: int = 30
    episode_gap_minutes: float = 15.0
    episode_close_minutes: float = 60.0
    episode_short_message: int = 5
    learn: str = "auto"
    learn_scope: str = "subject"
    learn_from_tools: bool = False
    consolidation_episodes: int = 3
    flashbulb_surprise: float = 0.85
    consolidation_seconds: float = 120.0
    consolidation_most_superseded: int = 20
    related_facts: int = 20
    duplicate_cosine: float = 0.95
    duplicate_candidates: int = 5
    recipe: str = "balanced"
    recipes: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    min_relevance: float | None = None
    categories: frozenset[str] = frozenset(CATEGORIES)
    cache: Path
    redact: bool = True
    redact_patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    actor: str
    session: str | None = None
    writer: str = "person"
    busy_seconds: float = 30.0
    store_connections: int = 16
    index_megabytes: float = 1024.0
    index_file_megabytes: float = 4096.0
    index_limit: int = 500_000
    max_items: int = 0
    max_tokens: int = 0
    importance_high: float = 0.7
    importance_low: float = 0.3
    grace_days: int = 30
    merge_always: float = 0.9
    merge_never: float = 0.2
    merge_propose: float = 0.8
    merge_faithfulness: float = 0.7
    merge_neighbours: int = 3
    merge_neighbour_score: float = 0.6
    merge_rounds: int = 5
    constitutional_tokens: int = 500
    validation_step: float = 0.28
    decay: bool = True
    decay_exempt: tuple[str, ...] = ("constitutional", "critical")
    decay_rates: Mapping[str, float] = field(default_factory=dict[str, float])
    decay_floor: float = 0.0
    default_tier: str = "normal"
    default_context_type: str = "general"
    background: bool = True
    auto_save_interval: int = 0
    save_phrases: tuple[str, ...] = ()
    versioning: bool = True
    soft_delete: bool = True


def given(name: str, argument: object = None, environment: Mapping[str, str] | None = None) -> object:
    """What somebody says about one setting: the argument, else the variable, else the file. None if it is not set."""
    if argument is not None:
        return argument
    environ = os.environ if environment is None else environment
    return environ.get(_PREFIX + name.upper()) or _from_file(environ).get(name)


def load(environment: Mapping[str, str] | None = None, *, project: Path | None = None, **arguments: object) -> Settings:
    """The settings in force. `arguments` that are None count as not given. `project` is a directory, whose own settings
    count where the user has none.
    """
    environ = os.environ if environment is None else environment
    raw: dict[str, object] = {}
    for _, values in _sources(environ, arguments, project):
        raw |= values
    return _settings_of(raw, environ)


def check_file(content: bytes, path: Path, environ: Mapping[str, str]) -> Settings:
    """What a settings file says, whatever else is set; what it may not hold is refused."""
    return _settings_of(_read_toml(content, path), environ)


def _settings_of(raw: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    values = _typed_values(raw, environ)
    values["categories"] = frozenset(CATEGORIES) | frozenset(values.get("categories", ()))
    if "store" not in values:
        values["store"] = locate(directory("data", environ) / "memory.db")
    values.setdefault("cache", directory("cache", environ))
    if "actor" not in values:
        login = (environ[name] for name in ("USER", "LOGNAME", "USERNAME") if environ.get(name))
        values["actor"] = next(login, None) or _login_name()
    if values.get("egress") == ("none",):
        values["egress"] = ()
    if unknown := [entry for entry in values.get("egress", ()) if not _HOST.fullmatch(entry)]:
        remedy = "Name hosts such as `api.openai.com`, addresses or networks; a host in a private network by both."
        raise SettingsInvalid(f"egress names {shown(unknown[0])}, which is not a host.", remedy=remedy)
    choices_of = (("keywords", KEYWORD_TIERS), ("learn", LEARN), ("learn_scope", LEARN_SCOPES), ("writer", WRITERS))
    for name, choices in (*choices_of, ("default_tier", TIERS[1:]), ("default_context_type", CONTEXT_TYPES)):
        if name in values and values[name] not in choices:
            raise SettingsInvalid(f"{name} is {values[name]!r}.", remedy=f"Set it to {', '.join(choices)}.")
    for name in ("decay_exempt", "decay_rates"):
        if unknown := set(values.get(name, ())) - set(TIERS):
            raise SettingsInvalid(f"{name} names a tier {min(unknown)!r}.", remedy=f"Tiers: {', '.join(TIERS)}.")
    return _checked(Settings(**values))


@lru_cache(maxsize=1)
def _login_name() -> str:
    """The name of this process's user, for containers that set no variable. Not every user has one."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name or "unknown"
    except (ImportError, KeyError, OSError):
        return "unknown"


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str | None]:
    """Variables that look like ours and that nothing reads, each with the one that may have been meant."""
    from difflib import get_close_matches

    known = {name.removeprefix(_PREFIX): name for name in (*(s.variable for s in SETTINGS), *OTHER_VARIABLES)}
    given = sorted(name.removeprefix(_PREFIX) for name in environ if name.startswith(_PREFIX))
    # Without what all of them begin with: that alone makes any two of them alike.
    meant = {
        name: get_close_matches(name, [*known, *_MEANING_STORE], n=1, cutoff=0.7) for name in set(given) - set(known)
    }
    return {_PREFIX + name: known.get(close[0], known["STORE"]) if close else None for name, close in meant.items()}


def in_force(
    environment: Mapping[str, str], *, project: Path | None = None, **arguments: object
) -> list[SettingInForce]:
    """Every setting, its value, and who decided it: the default, the project, the file, a variable or an argument."""
    settings = load(environment, project=project, **arguments)
    origins = {name: source for source, values in _sources(environment, arguments, project) for name in values}
    described: list[SettingInForce] = []
    for setting in SETTINGS:
        value, origin = getattr(settings, setting.name), origins.get(setting.name, "default")
        if isinstance(value, StoreLocation):
            value = value.shown
        elif isinstance(value, Path | frozenset):
            value = str(value) if isinstance(value, Path) else sorted(settings.categories)
        described.append(SettingInForce(setting.name, value, setting.variable if origin == "variable" else origin))
    return described


def override(settings: Settings, **arguments: object) -> Settings:
    """These settings, with the arguments that are given instead."""
    said = {name: value for name, value in arguments.items() if value is not None}
    return _checked(replace(settings, **_typed_values(said)))


def _checked(settings: Settings) -> Settings:
    """What cannot be seen from one value alone, or from its kind."""
    for name, value in (("embedder", settings.embedder), ("llm", settings.llm)):
        if not _MODEL.fullmatch(value):
            raise SettingsInvalid(f"{name} is {value!r}.", remedy=_MODEL_REMEDY[name])
    for name, price in settings.prices.items():
        amounts = [number_in(amount, 0, 1e6) for amount in price.values()]
        if ":" not in name or not price or set(price) - {"input", "output"} or None in amounts:
            raise SettingsInvalid(f"prices has {shown({name: dict(price)})}.", remedy=_PRICE_REMEDY)
    if unknown := set(settings.keyword_categories) - settings.categories:
        known = ", ".join(sorted(settings.categories))
        raise SettingsInvalid(f"keyword_categories names a category {min(unknown)!r}.", remedy=f"Categories: {known}.")
    if settings.importance_low > settings.importance_high:
        raise SettingsInvalid(
            f"importance_low is {settings.importance_low}, above importance_high, which is {settings.importance_high}.",
            remedy="What is evicted first cannot be protected: lower the one or raise the other.",
        )
    return settings


def settings_file(environ: Mapping[str, str]) -> Path:
    """The settings file. Never in the working directory: a foreign project must not choose where memories go."""
    named = environ.get("PERDURE_CONFIG")
    refuse_address(named, "PERDURE_CONFIG")
    return Path(named) if named else directory("config", environ) / "perdure.toml"


def _sources(
    environ: Mapping[str, str], arguments: Mapping[str, object], project: Path | None
) -> list[tuple[str, Mapping[str, object]]]:
    """Who says which values; the later wins."""
    own: list[tuple[str, Mapping[str, object]]] = [
        ("file", _from_file(environ)),
        ("variable", _from_variables(environ)),
        ("option", {name: value for name, value in arguments.items() if value is not None}),
    ]
    if project is None:
        return own
    from perdure.project_settings import read_project_settings

    found = read_project_settings(project, environ)
    if any("embedder" in values for _, values in own):
        # Its dimensions are those of its model, and the user has chosen another.
        found_values = {name: value for name, value in found.values.items() if name != "embedder_dimensions"}
    else:
        found_values = found.values
    return [(str(found.path), found_values), *own]


def _from_variables(environ: Mapping[str, str]) -> dict[str, object]:
    """Those that are set: there are few, and many settings, and every hook reads them."""
    ours = {name: value for name, value in environ.items() if value and name.startswith(_PREFIX)}
    said = {name.removeprefix(_PREFIX).lower(): value for name, value in ours.items() if name.isupper()}
    return {setting.name: said[setting.name] for setting in SETTINGS if setting.name in said}


def _from_file(environ: Mapping[str, str]) -> dict[str, object]:
    named, path = environ.get("PERDURE_CONFIG"), settings_file(environ)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if named:
            raise SettingsInvalid(f"PERDURE_CONFIG names {named}, which does not exist.") from None
        return {}
    except OSError as error:
        raise SettingsInvalid(f"{path} cannot be read: {error.strerror}.") from error
    return _read_toml(content, path)


def _read_toml(content: bytes, path: Path) -> dict[str, object]:
    import tomllib

    try:
        values = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} is not valid TOML: {error}.") from error
    unknown = sorted(set(values) - {setting.name for setting in SETTINGS})
    if unknown:
        raise SettingsInvalid(f"{path} has a setting {unknown[0]!r}, which does not exist.")
    return values


def _typed_values(raw: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    return {setting.name: typed(setting, raw[setting.name], environ) for setting in SETTINGS if setting.name in raw}


def typed(setting: Setting, value: Any, environ: Mapping[str, str] = os.environ) -> Any:
    """The value of a setting as its kind says, from TOML, from an argument, or from the text of a variable."""
    kind = setting.kind
    try:
        if kind == "path" and str(value):
            return setting.located(value, environ)
        if kind == "switch":
            return value if isinstance(value, bool) else _SWITCH[str(value).lower()]
        if kind == "words":
            words: Any = value.split(",") if isinstance(value, str) else value
            return tuple(str(word).strip() for word in words if str(word).strip())
        if kind in {"tables", "patterns", "shares"} and isinstance(value, str):
            # In a variable it is an inline table: `{mine = {like = "facts"}}`.
            import tomllib

            value = tomllib.loads(f"value = {value}")["value"]
        if kind == "tables":
            return {name: dict[str, object](**table) for name, table in value.items()}
        if kind == "patterns":
            from perdure.text.secrets.own_patterns import check_patterns

            return check_patterns(dict(value))
        if kind == "shares":
            shares = {str(name): number_in(share, 0, 1) for name, share in value.items()}
            checked = None if None in shares.values() else shares
        elif kind in {"text", "path"}:
            checked = value if isinstance(value, str) and value else None
        else:
            whole, least, most = _NUMBERS[kind]
            if isinstance(value, str):
                value = int(value) if whole else float(value)
            checked = number_in(value, least, most, whole=whole)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, re.error):
        checked = None
    if checked is None:
        expected = f": it is {_EXPECTED[kind]}" if kind in _EXPECTED else ""
        raise SettingsInvalid(f"{setting.name} (or {setting.variable}) cannot be {shown(value)}{expected}.")
    return checked


# By kind: whether it is a whole number, the least and the most it may be.
_NUMBERS: Final[Mapping[str, tuple[bool, float, float]]] = {
    "number": (False, ABOVE_ZERO, 1e6), "count": (True, 0, 10**12), "share": (False, 0, 1),
    "amount": (False, 0, 1e9),
}  # fmt: skip
_EXPECTED: Final[Mapping[str, str]] = {
    "number": "a number above 0", "count": "a whole number, 0 or more", "share": "a number from 0 to 1",
    "amount": "a number, 0 or more", "switch": "true or false",
}  # fmt: skip
_SWITCH: Final = {"true": True, "1": True, "yes": True, "on": True,
                  "false": False, "0": False, "no": False, "off": False}  # fmt: skip
