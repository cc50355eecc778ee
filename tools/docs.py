"""Writes docs/reference from the code, and the lists of llms.txt from the navigation; with `--check` only says which
pages are no longer true.

A page is a function that answers Markdown. What the code itself cannot say, the meaning of a record's field, stands in
`MEANING` below, and a field without a meaning is an error.
"""

from __future__ import annotations

import dataclasses
import inspect
import posixpath
import re
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, get_args

import click
from json_keys import JSON_KEYS

import perdure
from perdure import errors, model, settings, validation
from perdure.cli.app import COMMANDS, ENVIRONMENT
from perdure.cli.app import perdure as program
from perdure.cli.command import REFERENCE as REFERENCE_HELP
from perdure.cli.exit_codes import EXIT_CODES
from perdure.http.app import TABLES
from perdure.http.problems import status_of
from perdure.llm.port import Parked
from perdure.mcp.prompts import PROMPTS
from perdure.mcp.resources import RESOURCES, TEMPLATES
from perdure.mcp.tools import TOOLS, tools_of
from perdure.providers.call import ProviderCall
from perdure.recall.cookbook import LIKE, WEIGHTS
from perdure.recall.recipe import BALANCED, FIELDS, RECIPES, Recipe
from perdure.store import stats

REPOSITORY: Final = Path(__file__).parent.parent
REFERENCE: Final = REPOSITORY / "docs" / "reference"
FOR_AGENTS: Final = REPOSITORY / "llms.txt"
WIDTH: Final = 100

MEANING: Final = {
    "id": "UUIDv7; the same memory for ever, in every copy",
    "number": "small, counted per namespace, never reused; the name that people and models use",
    "namespace": "the person, team or agent whose memory it is; one namespace never sees another",
    "key": "a name you chose, `type:identifier`; remembering under the same key makes a new version",
    "content_hash": "16 hex digits of the text, ignoring case and white space; a repeated text has the same",
    "version": "counts the changes of content",
    "seq": "the position of its newest revision in its namespace's log",
    "text": "the memory itself; any Unicode, at most 1 MiB",
    "title": "a heading; part of what is searched and embedded",
    "abstract": "one sentence about it",
    "summary": "a few sentences about it",
    "reasoning": "why it is believed; searched",
    "category": "one of the categories below, or one of your own (setting `categories`)",
    "context_type": "the kind of work it came from",
    "tags": "labels to filter by; searched",
    "keywords": "up to 10 words that should find it; part of what is embedded",
    "references": "what it refers to: files, pages, tickets",
    "trigger_phrases": "phrases in a prompt that bring it up; searched",
    "metadata": "anything else, as JSON; `speaker` is part of what is searched and embedded",
    "source": "which kind of origin: `manual`, `import`, …",
    "source_project": "the project it was learned in; a label, not a boundary",
    "conversation_id": "the conversation it belongs to",
    "session_id": "the session that it came from",
    "channel": "the channel that it came through",
    "spec_folder": "the folder of the document it came from; searched",
    "file_path": "the file it came from",
    "anchor_id": "the section of that file; searched",
    "evidence": "ids of the memories that it was concluded from, or names of whatever else supports it",
    "supersedes": "ids of the memories that it replaced; only Perdure sets it",
    "merged_from": "ids of the memories that it was merged from; only Perdure sets it",
    "trust": "how far its origin is trusted; imports of strangers are `low`",
    "tier": "one of six ranks: boost, fading and expiry",
    "importance": "0 to 1; what has little is evicted first",
    "confidence": "0 to 1; each validation moves it",
    "observation_count": "how often it was said",
    "validation_count": "how often it was validated",
    "recall_count": "how often recall returned it; counted outside history",
    "recalled_at": "when recall last returned it",
    "access_count": "how often it was read by reference; counted outside history",
    "accessed_at": "when it was last read by reference",
    "created_at": "when it was first stored",
    "updated_at": "when its content last changed or it was last said again",
    "valid_at": "when it became true, in the world; part of what is searched and embedded",
    "invalid_at": "when it stopped being true",
    "expires_at": "when it expires",
    "state": "`active` is what lists and recall show",
}
OTHER_TYPES: Final = {
    "`Reference`": "`int` or `str`: a number, an id, a content hash or a key",
    "`References`": "a `Reference`, or several of them",
    "`StrPath`": "`str` or `os.PathLike[str]`: the path of a file",
    "`Progress`": "a function that is given how many are done and how many there are, or None while nobody knows",
}


def main(arguments: Sequence[str]) -> int:
    pages = {REFERENCE / name: page() for name, page in PAGES.items()} | {FOR_AGENTS: page_for_agents()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stray = sorted(set(REFERENCE.glob("*")) - set(pages))
    if "--check" in arguments:
        for path in [*stale, *stray]:
            print(f"{path.relative_to(REPOSITORY)} is not what the code says; `make docs` writes it again.")
        return 1 if stale or stray else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path in stray:
        path.unlink()
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")
        print(f"wrote {path.relative_to(REPOSITORY)}")
    return 0


# -- pages -------------------------------------------------------------------------------------------------------------


def index_page() -> str:
    lines = [f"- [{title_of(page())}]({name})" for name, page in PAGES.items() if page is not index_page]
    return document(
        "Reference", "the code", "These pages are made from the code, and CI fails when they are not.", *lines
    )


def page_for_agents() -> str:
    """llms.txt as it is, up to its lists of pages: they are the navigation, and `Optional` is what may be skipped."""
    written, _, _ = FOR_AGENTS.read_text(encoding="utf-8").partition("## Start\n")
    front = REPOSITORY / "docs" / "README.md"
    lists = runpy.run_path(str(front.with_name("conf.py")))["navigation"](front.read_text(encoding="utf-8"))
    for heading, links in lists.items():
        written += f"## {'Optional' if heading == 'Project' else heading}\n\n"
        for title, path, about in links:
            if path != "../llms.txt":
                written += f"- [{title}]({posixpath.normpath(f'docs/{path}')}){about}\n"
        written += "\n"
    return written.rstrip() + "\n"


def errors_page() -> str:
    def row(cls: type[errors.PerdureError]) -> tuple[str, ...]:
        retry = "yes" if cls.retryable else "no"
        return code(cls.__name__), code(cls.code), str(cls.exit_code), retry, sentence(cls), cls().cli_remedy

    tree = dedent((errors.__doc__ or "").split("\n\n", 2)[2]).rstrip()
    about = """
        Everything Perdure raises is a `perdure.errors.PerdureError`: a sentence that says what happened, a `remedy`
        that says what you can do, a stable `code`, and whether trying again can help. The command line prints the
        sentence and the remedy, and ends with the exit code; with `--json` they are one object on stderr. A raised
        error often has a sharper sentence than the one listed here. Remedies are listed in the words of the command
        line; in Python, over MCP and over HTTP the same remedy names a call, a tool or a route.
    """
    head = ("error", "code", "exit", "retry", "what happened", "what to do")
    listed = table(head, map(row, from_root(errors.PerdureError)))
    return document("Errors", "src/perdure/errors.py", dedent(about), fenced(tree, "text"), "", *listed)


def settings_page() -> str:
    about = """
        A setting comes from your settings file, then from its environment variable, then from the option or argument of
        the call; the later wins. The file is `~/.config/perdure/perdure.toml` on Linux (or below `XDG_CONFIG_HOME`),
        `~/Library/Application Support/perdure/perdure.toml` on macOS, or what `PERDURE_CONFIG` names;
        `perdure config path` tells. A `perdure.toml` in the current folder is ignored, so that another project cannot
        redirect your store. `perdure config` shows what is in force and where each value comes from, and
        `perdure config set NAME VALUE` writes into the file. [A sample file](../install.md#the-settings-file).
    """
    values = """
        A switch is `true` or `false`; `yes`, `no`, `on`, `off`, `1` and `0` are understood. Words are a list in the
        file, and separated by commas in a variable. Tables are tables in the file, and one inline table in a variable.

        ## Variables that are not settings
    """
    rows = ((code(s.name), code(s.variable), s.kind, s.default or "none", s.help) for s in settings.SETTINGS)
    others = {name: meaning for name, meaning in ENVIRONMENT.items() if "…" not in name}
    others = {"PERDURE_CONFIG": "the settings file, instead of the usual one"} | others
    return document(
        "Settings",
        "src/perdure/settings.py",
        dedent(about),
        *table(("setting", "variable", "kind", "default", "what it does"), rows),
        dedent(values),
        *table(("variable", "what it does"), ((code(name), meaning) for name, meaning in others.items())),
    )


def cli_page() -> str:
    context = click.Context(program, info_name="perdure")
    context.meta[REFERENCE_HELP] = True
    contents = ((f"[`{name}`](#perdure-{name})", line) for name, (_, line) in COMMANDS.items())
    return document(
        "Command line",
        "src/perdure/cli",
        "`perdure COMMAND --help` says the same in the terminal, with the defaults of your settings; `--help-all` "
        "shows the options that few people need, too, where there are any.\n",
        *table(("command", "what it does"), contents),
        "",
        *(line for name in COMMANDS for line in command_section(context, name)),
        "## Exit codes\n",
        *table(("code", "meaning"), ((str(number), meaning) for number, meaning in EXIT_CODES.items())),
    )


def command_section(parent: click.Context, name: str, heading: str = "##") -> Iterator[str]:
    """A command that is a group has a section for each of its parts below its own."""
    owner = parent.command
    command = owner.get_command(parent, name) if isinstance(owner, click.Group) else None
    if command is None:
        raise LookupError(name)
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield f"{heading} {context.command_path}\n"
    yield fenced(" ".join([context.command_path, *command.collect_usage_pieces(context)]), "text")
    yield ""
    yield inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record:
            sections.setdefault(getattr(parameter, "section", "Options"), []).append((code(record[0]), record[1]))
    for section, rows in sections.items():
        yield from table((section.lower(), ""), rows)
        yield ""
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            yield from command_section(context, part, f"{heading}#")
        return
    examples: Sequence[str] = getattr(command, "examples", ())
    if examples:
        yield fenced("\n".join(examples), "sh")
        yield ""


def recipes_page() -> str:
    about = """
        A recipe is how recall weighs its signals: a value with a name, chosen by the setting `recipe`, by
        `recall(…, recipe=…)` or by `perdure recall --recipe`. Every hit's `explain` shows each signal's part in its
        score. The weights are shares of it and add up to 1; a signal that is missing leaves its share to the others.
    """
    own = """
        ## Your own

        A table in `perdure.toml` makes a recipe; from then on its name is good wherever a recipe is named. It begins
        as the built-in recipe that it is `like` (`balanced` when it does not say), and changes what it says. Weights
        only have to be right among each other: they are brought to a sum of 1, and so are the parts of prominence.

        ```toml
        [recipes.fresh]
        like = "learnings"
        about = "What was learned lately."
        prominence_weight = 0.6
        recency_part = 0.8
        recency_days = 7
        ```
    """
    head = ("recipe", *(name.removesuffix("_weight") for name in WEIGHTS), "fusion", "candidates", "how it weighs")
    rows = [recipe_row(recipe) for recipe in RECIPES.values()]
    fields = [(code(name), in_balanced(name), meaning) for name, meaning in FIELDS.items()]
    fields.insert(0, (code(LIKE), code(BALANCED.name), "the built-in recipe to begin with"))
    return document(
        "Recipes", "src/perdure/recall/recipe.py", dedent(about), *table(head, rows), dedent(own),
        *table(("field", "in `balanced`", "what it is"), fields),
    )  # fmt: skip


def recipe_row(recipe: Recipe) -> tuple[str, ...]:
    weights = (f"{getattr(recipe, name):g}" for name in WEIGHTS)
    fusion = f"{recipe.fusion}, k = {recipe.rank_constant}" if recipe.fusion == "rank" else recipe.fusion
    return code(recipe.name), *weights, fusion, str(recipe.candidates), f"{recipe.about} {unusual(recipe)}".strip()


def unusual(recipe: Recipe) -> str:
    """The fields that the other columns leave out, where a recipe differs from the usual or a weight asks for them."""
    shown = {field.name for field in dataclasses.fields(Recipe)} - {"name", "about", "fusion", "rank_constant"}
    shown -= {"candidates", *WEIGHTS}
    usual = {field.name: field.default for field in dataclasses.fields(Recipe)}
    parts = {name for name in FIELDS if name.startswith(("observation", "confidence", "recency", "recall"))}
    told = [
        name
        for name in FIELDS
        if name in shown and (getattr(recipe, name) != usual[name] or (name in parts and recipe.prominence_weight))
    ]
    if recipe.per_category:
        told.append("balanced_categories")
    return f"({', '.join(f'{name} {plain(getattr(recipe, name))}' for name in told)})" if told else ""


def plain(value: str | float | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def in_balanced(name: str) -> str:
    return code(plain(getattr(BALANCED, name))) if name != "about" else ""


def records_page() -> str:
    lines: list[str] = []
    for group, names in record_groups():
        lines.append(f"## {group.capitalize()}\n")
        lines += table(("field", "type", "default", "meaning"), (field_row(name) for name in names))
        lines.append("")
    choices = {
        "category": (*model.LEARNING_CATEGORIES, *model.FACT_CATEGORIES),
        "context_type": model.CONTEXT_TYPES,
        "state": model.STATES,
        "tier": model.TIERS,
        "trust": model.TRUSTS,
    }
    lines.append("## Values allowed\n")
    lines += table(("field", "values"), ((code(name), codes(values)) for name, values in choices.items()))
    about = """
        One memory is one `perdure.Record`, whatever it was made from. These are its fields, in Python, in `--json` and
        in an export alike. Times are UTC, in JSON as ISO 8601.
    """
    return document("Records", "src/perdure/model.py", dedent(about), *lines)


def json_page() -> str:
    about = """
        With `--json` a command answers one JSON document on stdout, and a failure is one on stderr. A key has one
        meaning and one type in all of them; a test runs every command to see that it holds. Times are strings, ISO 8601
        in UTC. The servers to come use the same documents.
    """
    lines: list[str] = []
    for section, keys in JSON_KEYS.items():
        rows = ((code(key), kind, meaning) for key, (kind, meaning) in keys.items())
        lines += [f"## {section}\n", *table(("key", "type", "meaning"), rows), ""]
    fields = (
        (code(field.name), json_type(str(field.type)), MEANING[field.name])
        for field in dataclasses.fields(model.Record)
    )
    lines += ["## Fields of a record\n", *table(("key", "type", "meaning"), fields)]
    return document("JSON", "tools/json_keys.py and src/perdure/model.py", dedent(about), *lines)


def json_type(annotation: str) -> str:
    """`string or null` for `datetime | None`."""
    kind = annotation.removesuffix(" | None")
    names = {"int": "number", "float": "number", "tuple[str, ...]": "array of strings"}
    name = "any" if kind.startswith("Mapping") else names.get(kind, "string")
    return f"{name} or null" if annotation.endswith("| None") else name


def http_page() -> str:
    about = """
        What `perdure serve` answers. A token needs every scope that stands beside a route. Routes about the whole store
        need a token that is good for all namespaces; all others take `?namespace=`. [Serving](../serve.md) says how to
        begin, and `/openapi.json` has the fields of every body.
    """
    lines: list[str] = []
    for routes in TABLES:
        rows = (
            (
                code(f"{row.method} {row.shown_path}"),
                codes(row.scopes) + (" on the whole store" if row.whole_store else ""),
                " ".join(filter(None, (f"{row.options['summary']}.", inspect.getdoc(row.endpoint)))),
            )
            for row in routes.rows
        )
        lines += [f"## {routes.tag.capitalize()}\n", *table(("route", "needs", "what it does"), rows), ""]
    statuses = ((code(cls.code), str(status_of(cls)), sentence(cls)) for cls in from_root(errors.PerdureError))
    lines += ["## Errors\n", *table(("code", "status", "what happened"), statuses)]
    open_routes = "Without a token: `GET /healthz` says that it answers, `GET /openapi.json` describes the routes.\n"
    return document("HTTP", "src/perdure/http", dedent(about), open_routes, *lines)


def python_page() -> str:
    lines: list[str] = []
    for name in sorted(perdure.__all__, key=lambda name: (name != "Memory", name)):
        lines.append(f"## `perdure.{name}`\n")
        lines += section_for(getattr(perdure, name))
    lines += ["## Fields and filters\n", "What `**fields` of `remember` and `update` may be:\n"]
    lines += table(("field", "type"), typed(validation.Fields))
    lines += ["", "[Records](records.md) says what each means.", ""]
    lines += [inspect.cleandoc(validation.Filters.__doc__ or "") + "\n"]
    lines += table(("filter", "type"), typed(validation.Filters))
    lines += ["", "## Other types\n", "They come with the answers above; none has to be imported.\n"]
    choices = {"State": model.State, "Outcome": model.Outcome, "Operation": model.Operation, "Mode": model.Mode}
    choices |= {"Form": model.Form, "Level": model.Level, "Format": model.Format}
    allowed = {code(name): codes(map(repr, get_args(choice))) for name, choice in choices.items()}
    lines += table(("type", "what it is"), (OTHER_TYPES | allowed).items())
    for thing in (model.Change, stats.StoreStats, stats.NamespaceStats, ProviderCall, Parked):
        lines += ["", f"### `{thing.__name__}`\n", *section_for(thing)]
    origin = "src/perdure/memory.py, src/perdure/semantic.py and src/perdure/model.py"
    return document("Python", origin, "`from perdure import Memory` is the door.\n", *lines)


def section_for(thing: Any) -> Iterator[str]:
    if thing is errors:
        yield "Every error, and what to do about it: [Errors](errors.md).\n"
        return
    yield inspect.cleandoc(thing.__doc__) + "\n" if has_own_docstring(thing) else ""
    if thing is model.Record:
        yield "Its fields: [Records](records.md).\n"
    elif dataclasses.is_dataclass(thing):
        rows = [(code(field.name), code(str(field.type)), default_of(field)) for field in dataclasses.fields(thing)]
        yield from table(("field", "type", "default"), rows)
        yield ""
    else:
        yield fenced(signature(thing.__name__, thing.__init__), "python") + "\n"
        for name, method in methods(thing):
            yield f"### `{name}`\n"
            yield fenced(signature(name, method), "python") + "\n"
            yield inspect.cleandoc(method.__doc__ or "") + "\n"


def tools_page() -> str:
    sections: list[str] = []
    for tool in TOOLS:
        hints = tool.definition["annotations"]
        kind = "reads" if hints["readOnlyHint"] else "destroys, hosts may ask" if hints["destructiveHint"] else "writes"
        rows = [
            (
                code(each.name),
                schema_in_words(each.schema),
                "yes" if each.required else "",
                "" if each.default is None else code(str(each.default).lower()),
                each.description,
                codes(each.aliases),
            )
            for each in tool.parameters
        ]
        head = ("parameter", "type", "required", "default", "meaning", "also understood as")
        answers = codes(tool.output["properties"])
        sets = (*tool.sets, *(("all",) if tool.name in tools_of("all") else ()))
        sections += [
            f"## {tool.name}",
            f"{tool.description}",
            "",
            f"Sets: {codes(sets)}. It {kind}. It answers {answers}.",
            "",
            *(table(head, rows) if rows else ["It takes no arguments."]),
            "",
        ]
    prompts = [(code(each["name"]), each["description"]) for each in PROMPTS]
    resources = [(code(each["uri"]), each["description"]) for each in RESOURCES]
    resources += [(code(each["uriTemplate"]), each["description"]) for each in TEMPLATES]
    return document(
        "Tools of `perdure mcp`",
        "perdure.mcp",
        "What a model is given; [MCP](../mcp.md) says how. A parameter is understood in any case,",
        "with or without underscores. The numbers in an answer name memories.",
        "",
        *sections,
        "## Resources",
        "",
        *table(("resource", "what it holds"), resources),
        "",
        "## Prompts",
        "",
        *table(("prompt", "what it does"), prompts),
    )


def schema_in_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return codes(schema["enum"])
    kind = str(schema["type"])
    if kind == "array":
        return f"list of {schema_in_words(schema['items'])}"
    limits = [str(schema[name]) for name in ("minimum", "maximum") if name in schema]
    return f"{kind}, {' to '.join(limits)}" if limits else kind


PAGES: Final[dict[str, Callable[[], str]]] = {
    "README.md": index_page,
    "python.md": python_page,
    "cli.md": cli_page,
    "json.md": json_page,
    "http.md": http_page,
    "records.md": records_page,
    "recipes.md": recipes_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "tools.md": tools_page,
}

# -- what the code says ------------------------------------------------------------------------------------------------


def methods(thing: type) -> list[tuple[str, Callable[..., Any]]]:
    """The public ones, its own first and then those of its groups, in the order of the source."""
    order = [cls.__module__ for cls in thing.__mro__]
    found = inspect.getmembers(thing, inspect.isfunction)
    # The verbs of an `AsyncMemory` are those of `Memory`.
    public = [pair for pair in found if not pair[0].startswith("_") and pair[1].__module__ in order]
    return sorted(public, key=lambda pair: (order.index(pair[1].__module__), pair[1].__code__.co_firstlineno))


def record_groups() -> Iterator[tuple[str, list[str]]]:
    """The fields of a record by the comments that head them in the source."""
    group, names = "", list[str]()
    for line in inspect.getsource(model.Record).splitlines():
        if heading := re.fullmatch(r"\s+# (\w+).*", line):
            if names:
                yield group, names
            group, names = heading[1], []
        elif field := re.match(r"    (\w+): ", line):
            names.append(field[1])
    yield group, names


def field_row(name: str) -> tuple[str, ...]:
    field = next(field for field in dataclasses.fields(model.Record) if field.name == name)
    return code(name), code(str(field.type)), default_of(field), MEANING[name]


def default_of(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return code(repr(field.default_factory()))
    return "" if field.default is dataclasses.MISSING else code(repr(field.default))


def typed(fields: type) -> list[tuple[str, str]]:
    return [
        (code(name), code(getattr(kind, "__forward_arg__", str(kind)))) for name, kind in fields.__annotations__.items()
    ]


def signature(name: str, function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    parts = list(parameters(parameter for parameter in found.parameters.values() if parameter.name != "self"))
    # Inside the class `list` is a verb, so the type has to be written as `builtins.list` there.
    answered = str(found.return_annotation).removeprefix("builtins.").replace("model.", "")
    answer = "" if answered == "None" else f" -> {answered}"
    line = f"{name}({', '.join(parts)}){answer}"
    below = ",\n    ".join(parts)
    return line if len(line) <= WIDTH else f"{name}(\n    {below},\n){answer}"


def parameters(given: Iterable[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for parameter in given:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        stars = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
        default = getattr(parameter.default, "__name__", repr(parameter.default))
        ending = "" if parameter.default is inspect.Parameter.empty else f" = {default}"
        kind = str(parameter.annotation).replace("model.", "")
        yield f"{stars}{parameter.name}: {kind}{ending}"


def from_root(cls: type[errors.PerdureError]) -> Iterator[type[errors.PerdureError]]:
    """The tree as it is drawn: each branch to its end."""
    yield cls
    for child in cls.__subclasses__():
        yield from from_root(child)


def sentence(thing: type) -> str:
    return inspect.cleandoc(thing.__doc__ or "").replace("\n", " ")


def has_own_docstring(thing: type) -> bool:
    """A dataclass without one gets its signature as docstring, which says nothing new."""
    return bool(thing.__doc__) and not str(thing.__doc__).startswith(f"{thing.__name__}(")


# -- Markdown ----------------------------------------------------------------------------------------------------------


def document(title: str, origin: str, *lines: str) -> str:
    note = f"<!-- Made from {origin} by `make docs`: change the code, not this page. -->"
    return re.sub(r"\n{3,}", "\n\n", "\n".join([note, f"# {title}", "", *lines])).rstrip() + "\n"


def title_of(page: str) -> str:
    found = re.search(r"^# (.+)$", page, re.MULTILINE)
    return found[1] if found else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(head), line(["---"] * len(head)), *map(line, rows)]


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    return ", ".join(map(code, texts))


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
