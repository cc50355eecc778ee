"""`perdure session`: start, explain, list, tools, forget, off, on, private, shared, trust, distrust."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import FilePath, Group, Target, option
from perdure.cli.confirm import DRY_RUN, YES, can_ask, require_yes
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.terminal import count_memories, dim, note, safe
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import list_document

if TYPE_CHECKING:
    from perdure.bank.vouching import Vouched
    from perdure.memory import Memory
    from perdure.session.listing import SessionSeen
    from perdure.session.start import SessionBlock

_SESSIONS: Final = ("PERDURE_SESSION", "CLAUDE_CODE_SESSION_ID")
_SECONDS: Final = 10.0

_PROJECT: Final = option(
    "--project", "-p", metavar="FOLDER", default=".", type=FilePath(file_okay=False, exists=True),
    help="The project.  [default: this folder]",
)  # fmt: skip
_ID: Final = click.argument("session", required=False)


@click.group("session", cls=Group)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Look at what sessions of a coding agent get and write, and take it back.

    docs/sessions.md tells what a session is told at its start, and how a project is kept private.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part(
    "start", examples=("perdure session start", "perdure session start --project ~/website --json")
)  # fmt: skip
@_PROJECT
def start(target: Target, *, project: str) -> View:
    """Print what a session would be told at its start.

    It is the text of the hook, made of the same memories, and what it costs; it counts as no use. A configuration file
    with a mistake in it is refused here, while the hook goes on with the default in its place.
    """
    block = _block(target, project)
    return View(
        json=_document(block),
        lines=[safe(block.text)] if block.text else [],
        after=[_cost(_document(block))]
        if block.text
        else empty_answer("A session would be told nothing here.", *block.notes),
    )


@main.part(
    "explain",
    examples=("perdure session explain", "perdure session explain --last", "perdure session explain 5f0c --json"),
)
@_ID
@option("--last", is_flag=True, help="The latest session.")
@_PROJECT
def explain(target: Target, *, session: str | None, last: bool, project: str) -> View:
    """Show why each memory is in the text that a session starts with.

    Without SESSION it is about a session that would start now: the question that was made of the project, the score of
    each memory by its signals, what of the room is used, and what found no room. With SESSION, or --last, it is what
    that session was really told, at its start and at its prompts. In a pipe each memory of the start is one line:
    number, category, score, title, and the signals.
    """
    document: dict[str, Any]
    if session is None and not last:
        document = _document(_block(target, project))
    else:
        from perdure.session.kept import kept_prompts, kept_start, kept_starts, start_without_text

        kept = (
            kept_start(session)
            if session
            else next((one for one in kept_starts(project=_project(project)) if one.text), None)
        )
        prompts = kept_prompts(kept.session if kept else session or "")
        if kept is None and not prompts:
            from perdure.errors import NotFound

            if session is None:
                remedy = f"What one would be told now: {target.hint('session', 'explain')}"
                raise NotFound("No session was told anything here yet.", remedy=remedy)
            raise NotFound(
                "It is no longer known what that session was told.", remedy="`perdure session list` lists sessions."
            )
        kept = kept or start_without_text(prompts[-1])
        document = {
            "mode": kept.mode, "query": kept.query, "text": kept.text, "tokens": -(-len(kept.text) // 4),
            "characters": len(kept.text), "diagnostics": kept.diagnostics, "notes": kept.notes,
            "constitutional": kept.constitutional, "about_you": kept.about, "entries": kept.entries,
            "no_room": kept.left_out,
            "prompts": [
                {"at": each.at, "text": each.text, "entries": each.entries, "no_room": each.left_out}
                for each in prompts
            ],
        }  # fmt: skip
    return View(
        json=document,
        lines=explanation_lines(document),
        rows=[
            (one["number"], one["category"], f"{one['score']:.4f}", one["title"] or one["text"],
             " ".join(f"{name}={signal['contribution']:.4f}" for name, signal in one["explain"].items()))
            for one in document["entries"]
        ],
        after=[_cost(document)],
    )  # fmt: skip


@main.part("list", examples=("perdure session list", "perdure session list --json"))
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of results.")
def list_(target: Target, *, limit: int) -> View:
    """List the latest sessions, newest first.

    These are sessions that began lately or wrote something lately, in any project. In a pipe each is one line: id,
    time, project, memories told, tokens, changes, and whether it is off the record.
    """
    from perdure.session.listing import list_sessions

    with target.memory() as memory:
        sessions = list_sessions(memory, limit=max(limit, 0))
    return View(
        json=list_document("sessions", sessions),
        lines=[Table(_COLUMNS, sessions)] if sessions else [],
        rows=[
            (
                one.session,
                format_time(one.last_at),
                one.project,
                one.injected,
                one.tokens,
                one.change_count,
                one.off_record,
            )
            for one in sessions
        ],
        after=() if sessions else empty_answer("No session is known here."),
    )


@main.part("tools", examples=("perdure session tools 5f0c9a4e", "perdure session tools --json"))
@_ID
def tools(target: Target, *, session: str | None) -> View:  # noqa: ARG001
    """Show what is kept of the tools that a session used.

    That is nothing, unless the setting `learn_from_tools` asks for it: then it is which files were changed, which
    commands failed with the last line of their error, and which command worked instead. Without SESSION it is the one
    that this command runs in, or else the latest one of this folder. In a pipe each is one line: file, failed or
    worked, then the path or the command, then the error or the command that failed.
    """
    from perdure.session.tool_use import tool_use_of

    chosen = _chosen_session(session)
    used = tool_use_of(chosen)
    failed = [{"command": one["command"], "error": one["error"]} for one in used.failed]
    fixes = [{"command": worked, "instead_of": before, "error": error} for before, error, worked in used.fixes]
    rows = [
        *(("file", path, "") for path in used.files),
        *(("failed", one["command"], one["error"]) for one in failed),
        *(("worked", one["command"], one["instead_of"]) for one in fixes),
    ]
    shown = {"failed": "  {}", "worked": "  instead of {}"}
    return View(
        json={"session": chosen, "touched_files": used.files, "failed_commands": failed, "fixes": fixes},
        lines=[
            f"{kind:<6}  {safe(what)}{dim(shown[kind].format(safe(more))) if more else ''}" for kind, what, more in rows
        ],
        rows=rows,
        after=() if rows else empty_answer(f"Nothing is kept of the tools of session {safe(chosen)}."),
    )


@main.part(
    "forget",
    examples=("perdure session forget --last --dry-run", "perdure session forget 5f0c9a4e --yes"),
)  # fmt: skip
@_ID
@option("--last", is_flag=True, help="The latest session that wrote something.")
@option("--force", is_flag=True, help="Also take back what others have changed since.")
@DRY_RUN
@YES
def forget(target: Target, *, session: str | None, last: bool, force: bool, dry_run: bool, yes: bool) -> View:
    """Take back everything that a session wrote.

    Whatever its hooks and its tools stored is removed, what it changed is as it was before, and episodes and facts that
    were made of what was said in it are forgotten; in every namespace. One undo brings it all back. In a pipe each
    memory is one line: removed, reverted, forgotten or skipped, its namespace, its number, and its text.
    """
    from functools import partial

    from perdure.session.listing import forget_session

    with target.memory() as memory:
        chosen = session or (_last_writer(memory) if last else _chosen_session(None))
        take_back = partial(forget_session, memory, chosen, force=force)
        if not yes and not dry_run:
            preview = take_back(dry_run=True)
            if preview.memories and not can_ask(target):
                from perdure.errors import NeedsConfirmation

                these = count_memories(len(preview.memories))
                go_ahead = target.hint("session", "forget", chosen, yes=True, force=force)
                raise NeedsConfirmation(f"What session {chosen} did to {these} would be taken back.",
                                        remedy=f"Go ahead: {go_ahead}")  # fmt: skip
            if preview.memories:
                require_yes(f"Take back what session {chosen} did to {count_memories(len(preview.memories))}?")
        done = take_back(dry_run=dry_run)
    after = list(map(note, done.notes))
    if not done.memories and not done.waiting:
        after = [f"Session {safe(chosen)} wrote nothing that is still there."]
    elif done.batch:
        after.append(dim(f"bring it back: {target.hint('undo', done.batch, all_namespaces=True)}"))
    elif dry_run:
        after.append(dim("nothing was changed"))
    waiting = f"Threw away {done.waiting} turns that waited to be stored" if done.waiting else ""
    return View(
        json=done,
        lines=[*(f"{one.outcome:<9}  #{one.number}  {safe(one.text)[:100]}" for one in done.memories),
               *([waiting] if waiting else [])],
        rows=[(one.outcome, one.namespace, one.number, one.text) for one in done.memories],
        after=after,
    )  # fmt: skip


@main.part("off", examples=("perdure session off 5f0c9a4e", "perdure session off"))
@_ID
def off(target: Target, *, session: str | None) -> View:  # noqa: ARG001
    """Put a session off the record: from now on nothing of it is stored.

    Hooks keep nothing that is said, and the tools of the model refuse to write and say why. Reading goes on. Without
    SESSION it is the one that this command runs in, or else the latest one of this folder.
    """
    from perdure.session.privacy import go_off_record

    chosen = _chosen_session(session)
    new = go_off_record(chosen)
    return _said(f"Session {safe(chosen)} is off the record{'' if new else ' already'}: nothing of it is stored.",
                 session=chosen, off_record=True)  # fmt: skip


@main.part("on", examples=("perdure session on 5f0c9a4e", "perdure session on"))
@_ID
def on(target: Target, *, session: str | None) -> View:  # noqa: ARG001
    """Put a session on the record again."""
    from perdure.session.privacy import go_on_record

    chosen = _chosen_session(session)
    went = go_on_record(chosen)
    return _said(f"Session {safe(chosen)} is on the record{' again' if went else ''}.",
                 session=chosen, off_record=False)  # fmt: skip


@main.part("private", examples=("perdure session private", "perdure session private --project ~/website"))
@_PROJECT
def private(target: Target, *, project: str) -> View:  # noqa: ARG001
    """Make a project private: nothing that is learned in it from now on is recalled elsewhere.

    Its memories go into a namespace of their own. Its sessions still see what is common.
    """
    from perdure.session.privacy import make_private, private_namespace

    root, new = make_private(project)
    namespace = private_namespace(root)
    return _said(f"{safe(str(root))} is private{'' if new else ' already'}; its memories go to {safe(namespace)}.",
                 project=str(root), private=True, namespace=namespace)  # fmt: skip


@main.part("shared", examples=("perdure session shared",))
@_PROJECT
def shared(target: Target, *, project: str) -> View:  # noqa: ARG001
    """Make a project shared again: what is learned in it from now on is common.

    What it stored while it was private stays in its own namespace.
    """
    from perdure.session.privacy import make_shared, private_namespace

    root, was_private = make_shared(project)
    kept = f" What was private stays in {safe(private_namespace(root))}." if was_private else ""
    return _said(f"{safe(str(root))} is shared.{kept}", project=str(root), private=False)


@main.part("trust", examples=("perdure session trust", "perdure session trust --project ~/website"))
@_PROJECT
def trust(target: Target, *, project: str) -> View:
    """Trust the files of a project, because you know who writes them.

    A project that came from somebody else is a stranger: what was imported from its files is of low trust and told in
    its own sessions alone, and its settings choose no model that asks a server. From now on they count as yours: what
    is and will be imported is told in all projects. Only a person can do this.
    """
    from perdure.bank.vouching import vouch

    done = _vouched(target, project, vouch)
    state = "" if done.is_new else " already"
    return _with_undo(target, done, f"{safe(done.project)} is trusted{state}: what it says is told in all projects.")


@main.part("distrust", examples=("perdure session distrust",))
@_PROJECT
def distrust(target: Target, *, project: str) -> View:
    """Trust the files of a project no longer.

    What you trusted is of low trust again, and told in its own sessions alone. What was imported while it was trusted
    stays as it is.
    """
    from perdure.bank.vouching import vouch_no_longer

    done = _vouched(target, project, vouch_no_longer)
    return _with_undo(target, done, f"{safe(done.project)} is not trusted: what it says is told in its own sessions.")


_COLUMNS: Final[tuple[Column[SessionSeen], ...]] = (
    Column("session", lambda one: one.session, "bold cyan", fold=True),
    Column("last seen", lambda one: age(one.last_at), "dim"),
    Column("project", lambda one: one.project or "", optional=True),
    Column("told", lambda one: str(one.injected or ""), number=True, optional=True),
    Column("tokens", lambda one: str(one.tokens or ""), number=True, optional=True),
    Column("changes", lambda one: str(one.change_count), number=True),
    Column("", lambda one: "off the record" if one.off_record else "", optional=True),
)


def _vouched(target: Target, project: str, vouching: Callable[[list[Memory], str], Vouched]) -> Vouched:
    """In the namespaces of the project, if there is a store."""
    from perdure.errors import NotAllowed, StoreMissing
    from perdure.session.privacy import where

    if target.own_settings.writer != "person":
        raise NotAllowed("Only a person may say which projects are trusted.", remedy="Ask your user to do it.")
    try:
        common = target.namespaces[0] if target.namespaces else target.own_settings.namespace
        with target.memory() as memory:
            names = where(project, namespace=common).read_namespaces
            return vouching([memory.namespace(name) for name in names], project)
    except StoreMissing:
        return vouching([], project)


def _with_undo(target: Target, done: Vouched, sentence: str) -> View:
    after = [dim(f"Another trust now: {count_memories(done.updated)}.")] if done.updated else []
    if done.batch:
        after.append(dim(f"take that back: {target.hint('undo', done.batch, all_namespaces=True)}"))
    return View(json=done, lines=[sentence], after=after)


def _project(folder: str) -> str:
    return str(Path(folder).resolve())


def _block(target: Target, project: str) -> SessionBlock:
    """What a hook would make, with a person's patience."""
    from perdure.session.configuration import read_configuration, session_settings
    from perdure.session.start import session_block

    folder = _project(project)
    configuration = read_configuration(folder).require_valid()
    namespace = target.namespaces[0] if target.namespaces else None
    settings = session_settings(folder, configuration=configuration, store=target.store, namespace=namespace)
    return session_block(settings, folder, budget=_SECONDS, counts=False)


def _last_writer(memory: Memory) -> str:
    from perdure.errors import NotFound
    from perdure.session.listing import latest_writer, list_sessions

    chosen = latest_writer(memory)
    if chosen is None and list_sessions(memory, limit=1):
        raise NotFound("No session wrote anything that is still there.", remedy="`perdure session list` lists them.")
    if chosen is None:
        raise NotFound(
            "There is no session yet.", remedy="The hooks of a coding agent make one, and `perdure remember --session`."
        )
    return chosen


def _chosen_session(session: str | None) -> str:
    from perdure.session.privacy import latest_session

    told = next((os.environ[name] for name in _SESSIONS if os.environ.get(name)), None)
    chosen = session or told or latest_session(Path.cwd())
    if chosen is None:
        raise click.UsageError("Name a session; `perdure session list` lists them.")
    return chosen


def _said(sentence: str, **values: object) -> View:
    return View(json=values, lines=[sentence])


def _document(block: SessionBlock) -> dict[str, Any]:
    from perdure.session.kept import entry_of, memory_of

    return {
        "mode": block.mode, "query": block.query, "text": block.text, "tokens": block.tokens,
        "characters": len(block.text), "diagnostics": block.diagnostics, "notes": list(block.notes),
        "constitutional": [memory_of(record) for record in block.constitutional],
        "about_you": [memory_of(record) for record in block.about],
        "entries": [entry_of(hit) for hit in block.entries],
        "no_room": [entry_of(hit) for hit in block.left_out],
        "from_files": block.from_files, "prompts": [],
    }  # fmt: skip


def explanation_lines(document: Mapping[str, Any]) -> Iterator[str]:
    from perdure.cli.score_view import score_bars
    from perdure.model import Signal

    asked = document["query"]
    yield f"asked: {safe(asked)}" if asked else "asked nothing: ordered by prominence alone"
    for record in document["constitutional"]:
        yield f"always  #{record['number']}  {safe(record['title'] or record['text'])[:100]}"
    for record in document["about_you"]:
        yield f"about   #{record['number']}  {safe(record['title'] or record['text'])[:100]}"
    best = max((one["score"] for one in document["entries"]), default=1.0)
    for one in document["entries"]:
        yield ""
        project = f"  {dim(safe(one['source_project']))}" if one["source_project"] else ""
        yield f"#{one['number']}  [{one['category']}]  {safe(one['title'] or one['text'])[:100]}{project}"
        signals = {name: Signal(**values) for name, values in one["explain"].items()}
        yield from score_bars(signals, one["score"], best)
    for one in document["no_room"]:
        yield f"no room  #{one['number']}  {one['score']:.3f}  {safe(one['title'] or one['text'])[:100]}"
    for prompt in document.get("prompts", ()):
        yield f"\nat a prompt, {safe(prompt['at'])}"
        for one in prompt["entries"]:
            yield f"#{one['number']}  {_why_suggested(one)}  {safe(one['title'] or one['text'])[:100]}"
        for one in prompt["no_room"]:
            yield f"no room  #{one['number']}  {_why_suggested(one)}  {safe(one['title'] or one['text'])[:100]}"


def _why_suggested(entry: Mapping[str, Any]) -> str:
    if entry.get("phrase"):
        return f"phrase \u201c{safe(entry['phrase'])}\u201d"
    return "" if entry.get("relevance") is None else f"{entry['relevance']:.2f}"


def _cost(document: Mapping[str, Any]) -> str:
    from perdure.session.start import MOST_CHARACTERS

    told = sum(len(document[part]) for part in ("constitutional", "about_you", "entries")) + document.get(
        "from_files", 0
    )
    room = f"{document['characters']:,} of {MOST_CHARACTERS:,} characters"
    left_out = f", {len(document['no_room'])} found no room" if document["no_room"] else ""
    return dim(f"{count_memories(told)}, about {document['tokens']:,} tokens, {room}{left_out}")
