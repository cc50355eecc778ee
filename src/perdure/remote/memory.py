"""The verbs of `Memory`, asked of a server. Each has the arguments, the answer and the errors of the local one. Most
are made of the table of operations; what a row cannot say is written here.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import update_wrapper
from inspect import Parameter, signature
from typing import Any, Final, TextIO, TypeVar, cast

from perdure import model
from perdure.errors import ExportFailed, ImportFailed, PerdureError, UnknownChoice, shown
from perdure.ids import is_sentence
from perdure.memory import Memory
from perdure.operations import LOCAL_ARGUMENTS, ROWS, Operation
from perdure.remedies import Run
from perdure.remote.documents import LogPage, egress_of, parked_of, stats_of
from perdure.remote.open_remote import OpenRemote
from perdure.remote.signatures import answer_of
from perdure.store.port import Progress
from perdure.text_files import replacing, rereadable
from perdure.validation import StrPath, check_filters, check_limit

Verb = TypeVar("Verb", bound=Callable[..., Any])
# The most that one answer of a server lists.
PAGE: Final = 100
# The rows of each verb, in the order of the table. A client asks the first.
_ROWS: Final[Mapping[str, Sequence[Operation]]] = {
    row.verb: [each for each in ROWS if each.verb == row.verb] for row in ROWS
}


def like(local: Verb) -> Callable[[Callable[..., Any]], Verb]:
    """The decorated function is given what was said, by name, and has the signature and the words of the local verb."""
    parameters = signature(local)
    (packed,) = [each for each in parameters.parameters.values() if each.kind is Parameter.VAR_KEYWORD] or [None]
    # A filter that is None narrows nothing; a field that is None is taken away.
    is_filter = packed is not None and "Filters" in str(packed.annotation)

    def decorate(ask: Callable[..., Any]) -> Verb:
        def verb(self: RemoteMemory, *arguments: Any, **named: Any) -> Any:
            given = parameters.bind(self, *arguments, **named).arguments
            more: Mapping[str, Any] = given.pop(packed.name, {}) if packed else {}
            said = {
                name: value
                for name, value in builtins.list(given.items())[1:]
                if name not in LOCAL_ARGUMENTS and not (value is None is parameters.parameters[name].default)
            }
            said |= {name: value for name, value in more.items() if value is not None or not is_filter}
            return ask(self, **said)

        return cast("Verb", update_wrapper(verb, local))

    return decorate


class RemoteMemory(OpenRemote):
    """One durable memory that a server keeps. `Memory("https://…")` gives one."""

    # -- what one row cannot say ---------------------------------------------------------------------------------------

    @like(Memory.update)
    def update(self, ref: Any, **given: Any) -> model.Remembered:
        """For `ref` may stand a sentence, which has a route of its own."""
        tags = {name: builtins.list(given.pop(name)) for name in ("add_tags", "remove_tags") if name in given}
        given |= {name: each for name, each in tags.items() if each}
        confirm = given.pop("confirm", False)
        if given.keys() <= {"text"} and is_sentence(ref):
            body = {"sentence": ref, **given, "confirm": confirm}
            return self._remote.ask(model.Remembered, "POST", "/v1/correct", body)
        return self._call("update", ref=ref, **given)

    @like(Memory.restore)
    def restore(self, refs: Any) -> Any:
        several, single = _ROWS["restore"]
        if isinstance(refs, int | str):
            return self._remote.call(single, model.Remembered, {"refs": refs})
        return self._remote.call(several, tuple[model.Remembered, ...], {"refs": refs})

    @like(Memory.forget)
    def forget(self, *, mode: object = "soft", **given: Any) -> model.Forgotten:
        if mode == "hard":
            return self.erase(**given)
        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use 'soft' or 'hard'.")
        return self._call("forget", **given)

    @like(Memory.conversation)
    def conversation(self, id: str) -> Any:
        from perdure.remote.conversation import RemoteConversation

        return RemoteConversation(self._remote, id)

    @like(Memory.capacity)
    def capacity(self, **given: Any) -> model.Capacity:
        asking, setting = _ROWS["capacity"]
        return self._remote.call(setting if given else asking, model.Capacity, given)

    @like(Memory.suggest)
    def suggest(self, *, without: Any = (), **given: Any) -> model.Suggestions:
        """What can only be asked whether it holds an id is asked here."""
        known = builtins.list(cast("Iterable[str]", without)) if isinstance(without, Iterable) else []
        found: model.Suggestions = self._call("suggest", without=known, **given)
        inside = [n for n, record in enumerate(found.records) if record.id not in without]
        why = tuple(found.why[n] for n in inside) if found.why else ()
        return model.Suggestions(tuple(found.records[n] for n in inside), why)

    @like(Memory.injected)
    def injected(self, records: Sequence[model.Record]) -> None:
        for name in dict.fromkeys(record.namespace for record in records):
            refs = [record.id for record in records if record.namespace == name]
            self._remote.renamed(name).ask(dict[str, int], "POST", "/v1/injected", {"refs": refs})

    @like(Memory.note_markdown)
    def note_markdown(self, **_: Any) -> None:
        """A server changes no files on the machines of those who ask it."""

    @like(Memory.forgotten_since)
    def forgotten_since(self, **_: Any) -> None:
        """A server does not say it."""

    @like(Memory.uncompared)
    def uncompared(self) -> int | None:
        return self._remote.ask(dict[str, Any], "GET", "/v1/conflicts", query={"limit": 1})["uncompared"]

    @like(Memory.accept)
    def accept(self, proposal: Any, **given: Any) -> Any:
        return self._call("accept", proposal=self._number(proposal), **given)

    @like(Memory.reject)
    def reject(self, proposal: Any) -> Any:
        return self._call("reject", proposal=self._number(proposal))

    def _number(self, proposal: Any) -> int:
        named = proposal if isinstance(proposal, int | str) else proposal.number
        return named if isinstance(named, int) else self.get(named).number

    # -- what is listed page by page -----------------------------------------------------------------------------------

    @like(Memory.list)
    def list(self, **given: Any) -> model.Page:
        return self._pages(_ROWS["list"][0], given)

    @like(Memory.offers)
    def offers(self, **given: Any) -> model.Page:
        return self._pages(_ROWS["offers"][0], given)

    def _pages(self, row: Operation, given: Mapping[str, Any]) -> model.Page:
        """As many pages as the limit needs, as one."""
        left, after = check_limit(given.get("limit", 20)), given.get("after")
        records = builtins.list[model.Record]()
        while True:
            page = self._remote.call(row, model.Page, {**given, "limit": min(left, PAGE), "after": after})
            records += page.records
            left, after = left - len(page.records), page.next
            if left <= 0 or after is None:
                return model.Page(tuple(records), after)

    @like(Memory.log)
    def log(self, **given: Any) -> builtins.list[model.Revision]:
        left, before = check_limit(given.get("limit", 20)), given.get("before")
        lines = builtins.list[model.Revision]()
        while True:
            asked = {**given, "limit": min(left, PAGE), "before": before}
            page = self._remote.call(_ROWS["log"][0], LogPage, asked)
            lines += page.revisions
            left, before = left - len(page.revisions), page.next
            if left <= 0 or before is None:
                return lines

    # -- answers that are no value -------------------------------------------------------------------------------------

    @like(Memory.stats)
    def stats(self) -> Any:
        """A token for some namespaces is told of those alone, and nothing about the file."""
        return stats_of(self._remote.call(_ROWS["stats"][0], dict[str, Any], {}))

    @like(Memory.parked)
    def parked(self) -> Any:
        return parked_of(self._remote.call(_ROWS["parked"][0], dict[str, Any], {}))

    @like(Memory.egress)
    def egress(self, **given: Any) -> model.Egress:
        """What left the server's machine."""
        return egress_of(self._remote.call(_ROWS["egress"][0], dict[str, Any], given))

    # -- files ---------------------------------------------------------------------------------------------------------

    @like(Memory.import_messages)
    def import_messages(self, source: Any, **given: Any) -> model.Imported:
        return self._remote.ask(
            model.Imported, "POST", "/v1/messages", {**_sent(source, "messages"), **given}, slow=True
        )

    @like(Memory.import_)
    def import_(self, source: Any, *, all_namespaces: bool = False, **given: Any) -> model.Imported:
        if all_namespaces:
            self._needs_file("import_", Run("import", "FILE", all_namespaces=True))
        return self._remote.ask(model.Imported, "POST", "/v1/import", {**_sent(source, "records"), **given}, slow=True)

    @like(Memory.backup)
    def backup(self, **_: Any) -> Any:
        self._needs_file("backup", Run("backup", "FILE"))

    @like(Memory.restore_backup)
    def restore_backup(self, **_: Any) -> Any:
        self._needs_file("restore_backup", Run("restore-backup", "FILE"))

    @like(Memory.doctor)
    def doctor(self, **given: Any) -> Iterator[model.Finding]:
        """Whether the server answers, and what the token allows; what else there is to check, only the server can."""
        chosen = [name for name, value in given.items() if value]
        if chosen:
            self._needs_file("doctor", Run("doctor", **dict.fromkeys(chosen, True)))
        return self._findings()

    def _findings(self) -> Iterator[model.Finding]:
        name = self._remote.server.name
        try:
            told = self._remote.ask(dict[str, Any], "GET", "/v1/whoami")
        except PerdureError as error:
            yield model.Finding("server", "problem", error.sentence, error.cli_remedy)
            return
        scopes = ", ".join(map(str, told["scopes"]))
        yield model.Finding("server", "ok", f"{name} answers.")
        yield model.Finding("token", "ok", f"The token {told['actor']} may: {scopes}.")
        yield model.Finding("store", "ok", "The store itself is checked where the server runs: `perdure doctor` there.")

    def export(
        self,
        target: StrPath | TextIO,
        *,
        states: Sequence[model.State] = ("active",),
        all_namespaces: bool = False,
        progress: Progress | None = None,
    ) -> model.Exported:
        """What the server could not read of its own store, it does not say in a stream: `doctor` does, there."""
        if all_namespaces:
            self._needs_file("export", Run("export", "FILE", all_namespaces=True))
        asked = self._remote.asked("GET", "/v1/export", {"state": check_filters({"states": states}).states})
        with ExitStack() as stack:
            lines = stack.enter_context(self._remote.server.lines(asked))
            if isinstance(target, str | os.PathLike):
                target = stack.enter_context(replacing(target))
            elif not hasattr(target, "write"):
                raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
            return model.Exported(_write(lines, target, progress))

    def _call(self, verb: str, **given: Any) -> Any:
        return self._remote.call(_ROWS[verb][0], answer_of(getattr(Memory, verb)), given)


def _made(row: Operation) -> Callable[..., Any]:
    """A verb that is nothing but its row."""

    def ask(self: RemoteMemory, **given: Any) -> Any:
        return self._call(row.verb, **given)  # pyright: ignore[reportPrivateUsage] - it is a method of this class

    return like(getattr(Memory, row.verb))(ask)


for _row in ROWS:
    # What is listed is asked of `review`, by the verb of `Memory` itself.
    if _row.verb not in {*vars(RemoteMemory), "conflicts"}:
        setattr(RemoteMemory, _row.verb, _made(_row))


def _sent(source: object, name: str) -> dict[str, object]:
    """A file is sent as its lines, so that an error names the line; mappings as they are."""
    if isinstance(source, str | os.PathLike) or hasattr(source, "readline"):
        with rereadable(cast("StrPath | TextIO", source)) as stream:
            return {"lines": stream.read()}
    if not isinstance(source, Iterable):
        raise ImportFailed(f"{shown(source)} holds no {name}.", remedy="Give a path, a file or mappings.")
    return {name: list(cast("Iterable[object]", source))}


def _write(lines: Iterable[str], target: TextIO, progress: Progress | None) -> int:
    """How many memories were written; the first line says what the file is."""
    written = -1
    for written, line in enumerate(lines):
        try:
            target.write(f"{line}\n")
        except TypeError as error:
            raise ExportFailed(
                "The file is open for bytes.", remedy="Open it for text, with encoding='utf-8'."
            ) from error
        if progress and written and written % PAGE == 0:
            progress(written, None)
    return max(written, 0)
