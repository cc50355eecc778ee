"""The verbs of `Memory`, asked of a server. Each has the arguments, the answer and the errors of the local one."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias, Unpack, cast, overload
from urllib.parse import quote

from perdure import model
from perdure.errors import ExportFailed, ImportFailed, PerdureError, UnknownChoice, shown
from perdure.ids import check_key, is_sentence
from perdure.lifecycle.capacity import UNCHANGED, Limit
from perdure.remote.documents import LogPage, egress_of, stats_of
from perdure.remote.learning import RemoteLearning
from perdure.remote.namespace import given
from perdure.store.port import Progress
from perdure.store.stats import StoreStats
from perdure.text_files import replacing, rereadable
from perdure.validation import (
    MAX_REFERENCES,
    Fields,
    Filters,
    KeyedFields,
    Reference,
    References,
    StrPath,
    check_filters,
    check_limit,
    check_references,
    check_version,
)

if TYPE_CHECKING:
    from perdure.episodes.conversation import Conversation

# The most that one answer of a server lists.
PAGE: Final = 100
_AskPage: TypeAlias = Callable[[int, int | None], model.Page]


class RemoteMemory(RemoteLearning):
    """One durable memory that a server keeps. `Memory("https://…")` gives one."""

    # -- writing -------------------------------------------------------------------------------------------------------

    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> model.Remembered:
        return self._remote.write_once("POST", "/v1/memories", {"text": text, **fields}, idempotency_key)

    def upsert(
        self,
        key: str,
        text: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[KeyedFields],
    ) -> model.Remembered:
        expected = {"if-none-match": "*"} if expected_version == 0 else _if_match(expected_version)
        path = f"/v1/keys/{quote(check_key(key), safe='')}"
        return self._remote.write_once("PUT", path, {"text": text, **fields}, idempotency_key, expected)

    def update(
        self,
        ref: Reference,
        *,
        text: str | None = None,
        add_tags: Iterable[str] = (),
        remove_tags: Iterable[str] = (),
        expected_version: int | None = None,
        confirm: bool | str = False,
        **fields: Unpack[Fields],
    ) -> model.Remembered:
        tags = {"add_tags": list(add_tags), "remove_tags": list(remove_tags)}
        body = {**({} if text is None else {"text": text}), **{name: tag for name, tag in tags.items() if tag}}
        if not (fields or any(tags.values()) or expected_version) and is_sentence(ref):
            return self._remote.ask(
                model.Remembered, "POST", "/v1/correct", {"sentence": ref, **body, "confirm": confirm}
            )
        headers = _if_match(expected_version)
        return self._remote.ask(model.Remembered, "PATCH", self._remote.path(ref), {**body, **fields}, headers=headers)

    @overload
    def restore(self, refs: Reference) -> model.Remembered: ...
    @overload
    def restore(self, refs: Sequence[Reference]) -> tuple[model.Remembered, ...]: ...
    def restore(self, refs: Reference | Sequence[Reference]) -> model.Remembered | tuple[model.Remembered, ...]:
        if isinstance(refs, int | str):
            return self._remote.ask(model.Remembered, "POST", self._remote.path(refs, "restore"))
        named = check_references(refs, MAX_REFERENCES)
        return self._remote.ask(dict[str, tuple[model.Remembered, ...]], "POST", "/v1/restore", {"refs": named})[
            "remembered"
        ]

    def validate(self, ref: Reference, useful: bool) -> model.Remembered:  # noqa: FBT001 - as the local one
        return self._remote.ask(model.Remembered, "POST", self._remote.path(ref, "validate"), {"useful": useful})

    def promote(self, ref: Reference, tier: str | None = None) -> model.Remembered:
        return self._remote.ask(model.Remembered, "POST", self._remote.path(ref, "promote"), given({"tier": tier}))

    def forget(
        self,
        what: References | None = None,
        *,
        mode: Literal["soft", "hard"] = "soft",
        keep: References | None = None,
        confirm: bool | str = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> model.Forgotten:
        if mode == "hard":
            return self.erase(what, keep=keep, confirm=confirm, dry_run=dry_run, **filters)
        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use 'soft' or 'hard'.")
        body = given({"what": what, "keep": keep, "confirm": confirm, "dry_run": dry_run, **filters})
        return self._remote.ask(model.Forgotten, "POST", "/v1/forget", body)

    def erase(
        self,
        what: References | None = None,
        *,
        related: Literal["derived", "all", "none"] = "derived",
        keep: References | None = None,
        confirm: bool | str = False,
        dry_run: bool = False,
        **filters: Unpack[Filters],
    ) -> model.Forgotten:
        body = given({
            "what": what, "related": related, "keep": keep, "confirm": confirm, "dry_run": dry_run, **filters
        })  # fmt: skip
        return self._remote.ask(model.Forgotten, "POST", "/v1/erase", body, slow=True)

    def conversation(self, id: str) -> Conversation:
        from perdure.remote.conversation import RemoteConversation

        return RemoteConversation(self._remote, id)

    def import_messages(
        self,
        source: StrPath | TextIO | Iterable[Mapping[str, Any]],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> model.Imported:
        del progress
        return self._remote.ask(
            model.Imported, "POST", "/v1/messages", {**_sent(source, "messages"), "dry_run": dry_run}, slow=True
        )

    # -- recalling -----------------------------------------------------------------------------------------------------

    def recall(  # noqa: PLR0913 - those of the local one
        self,
        query: str | None = None,
        *,
        concepts: Sequence[str] | None = None,
        limit: int = 10,
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        use_decay: bool | None = None,
        min_relevance: float | None = None,
        include_constitutional: bool = True,
        **filters: Unpack[Filters],
    ) -> model.Recall:
        body = {
            "query": query, "concepts": concepts, "limit": limit, "namespaces": namespaces, "recipe": recipe,
            "as_of": as_of, "known_at": known_at, "use_decay": use_decay, "min_relevance": min_relevance,
            "include_constitutional": include_constitutional, **filters,
        }  # fmt: skip
        return self._remote.read(model.Recall, "/v1/recall", body)

    def context(  # noqa: PLR0913 - those of the local one
        self,
        query: str,
        *,
        concepts: Sequence[str] | None = None,
        budget: int = 2000,
        limit: int = 50,
        format: model.Format = "text",
        namespaces: Sequence[str] | None = None,
        recipe: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_relevance: float | None = None,
        include_constitutional: bool = True,
        **filters: Unpack[Filters],
    ) -> model.Context:
        body = {
            "query": query, "concepts": concepts, "budget": budget, "limit": limit, "format": format,
            "namespaces": namespaces, "recipe": recipe, "as_of": as_of, "known_at": known_at,
            "min_relevance": min_relevance, "include_constitutional": include_constitutional, **filters,
        }  # fmt: skip
        return self._remote.read(model.Context, "/v1/context", body)

    def recall_detail(self, refs: References, *, level: model.Level = "full") -> tuple[model.Detail, ...]:
        body = {"refs": check_references(refs, MAX_REFERENCES), "level": level}
        return self._remote.read(dict[str, tuple[model.Detail, ...]], "/v1/details", body)["details"]

    def match_triggers(
        self, prompt: str, *, limit: int = 3, namespaces: Sequence[str] | None = None, told_in: Sequence[str] = ()
    ) -> tuple[model.Triggered, ...]:
        body = {"prompt": prompt, "limit": limit, "namespaces": namespaces, "told_in": list(told_in)}
        return self._remote.read(dict[str, tuple[model.Triggered, ...]], "/v1/triggers", body)["triggered"]

    def summarize(
        self, scope: str | None = None, *, token_limit: int = 500, **filters: Unpack[Filters]
    ) -> model.Summary:
        return self._remote.read(
            model.Summary, "/v1/summarize", {"scope": scope, "token_limit": token_limit, **filters}
        )

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, ref: Reference, *, known_at: datetime | str | None = None) -> model.Record:
        return self._remote.ask(model.Record, "GET", self._remote.path(ref), query={"known_at": known_at})

    def list(
        self,
        *,
        limit: int = 20,
        after: int | None = None,
        newest: bool = True,
        known_at: datetime | str | None = None,
        **filters: Unpack[Filters],
    ) -> model.Page:
        body = {"newest": newest, "known_at": known_at, **filters}

        def ask(most: int, last: int | None) -> model.Page:
            return self._remote.read(model.Page, "/v1/list", {**body, "limit": most, "after": last})

        return self._pages(limit, after, ask)

    def _pages(self, limit: int, after: int | None, ask: _AskPage) -> model.Page:
        """As many pages as the limit needs, as one."""
        left, records = check_limit(limit), builtins.list[model.Record]()
        while True:
            page = ask(min(left, PAGE), after)
            records += page.records
            left, after = left - len(page.records), page.next
            if left <= 0 or after is None:
                return model.Page(tuple(records), after)

    def conversations(self) -> builtins.list[str]:
        return self._remote.ask(dict[str, builtins.list[str]], "GET", "/v1/conversations")["conversations"]

    def offers(self, *, limit: int = 20, after: int | None = None) -> model.Page:
        def ask(most: int, last: int | None) -> model.Page:
            return self._remote.ask(model.Page, "GET", "/v1/offers", query={"limit": most, "cursor": last})

        return self._pages(limit, after, ask)

    def constitution(self) -> model.Constitution:
        return self._remote.ask(model.Constitution, "GET", "/v1/constitution")

    def capacity(self, *, max_items: Limit = UNCHANGED, max_tokens: Limit = UNCHANGED) -> model.Capacity:
        limits = {"max_items": max_items, "max_tokens": max_tokens}
        changed = {name: limit for name, limit in limits.items() if limit != UNCHANGED}
        if changed:
            return self._remote.ask(model.Capacity, "PATCH", "/v1/capacity", changed, repeats=True)
        return self._remote.ask(model.Capacity, "GET", "/v1/capacity")

    def stats(self) -> StoreStats:
        """A token for some namespaces is told of those alone, and nothing about the file."""
        return stats_of(self._remote.ask(dict[str, Any], "GET", "/v1/stats"))

    # -- looking back --------------------------------------------------------------------------------------------------

    def history(self, ref: Reference) -> builtins.list[model.Revision]:
        path = self._remote.path(ref, "history")
        return self._remote.ask(dict[str, builtins.list[model.Revision]], "GET", path)["revisions"]

    def versions(self, ref: Reference) -> builtins.list[model.Version]:
        path = self._remote.path(ref, "versions")
        return self._remote.ask(dict[str, builtins.list[model.Version]], "GET", path)["versions"]

    def version(self, ref: Reference, n: int) -> model.Version:
        return self._remote.ask(model.Version, "GET", self._remote.path(ref, "versions", str(n)))

    def diff(self, ref: Reference, before: int | None = None, after: int | None = None) -> model.Diff:
        return self._remote.ask(
            model.Diff, "GET", self._remote.path(ref, "diff"), query={"before": before, "after": after}
        )

    def log(
        self,
        *,
        batch: str | None = None,
        session: str | None = None,
        actor: str | None = None,
        operation: model.Operation | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> builtins.list[model.Revision]:
        left, lines = check_limit(limit), builtins.list[model.Revision]()
        while True:
            query = {
                "batch": batch, "session": session, "actor": actor, "operation": operation, "since": since,
                "until": until, "cursor": before, "limit": min(left, PAGE),
            }  # fmt: skip
            page = self._remote.ask(LogPage, "GET", "/v1/log", query=query)
            lines += page.revisions
            left, before = left - len(page.revisions), page.next
            if left <= 0 or before is None:
                return lines

    def undo(
        self,
        batch: str | None = None,
        *,
        session: str | None = None,
        actor: str | None = None,
        since: datetime | str | None = None,
        force: bool = False,
        dry_run: bool = False,
        all_namespaces: bool = False,
    ) -> model.RevertResult:
        body = {
            "batch": batch, "session": session, "actor": actor, "since": since, "force": force, "dry_run": dry_run,
            "all_namespaces": all_namespaces,
        }  # fmt: skip
        return self._remote.ask(model.RevertResult, "POST", "/v1/undo", given(body))

    def checkpoint(
        self,
        name: str,
        *,
        description: str | None = None,
        spec_folder: str | None = None,
        metadata: Mapping[str, model.Json] | None = None,
        all_namespaces: bool = False,
    ) -> model.Checkpoint:
        body = {
            "name": name, "description": description, "spec_folder": spec_folder, "metadata": metadata,
            "all_namespaces": all_namespaces,
        }  # fmt: skip
        return self._remote.ask(model.Checkpoint, "POST", "/v1/checkpoints", given(body))

    def checkpoints(self, *, spec_folder: str | None = None, limit: int = 50) -> builtins.list[model.Checkpoint]:
        query = {"spec_folder": spec_folder, "limit": limit}
        return self._remote.ask(dict[str, builtins.list[model.Checkpoint]], "GET", "/v1/checkpoints", query=query)[
            "checkpoints"
        ]

    def restore_checkpoint(
        self, name: str, *, clear_existing: bool = False, dry_run: bool = False
    ) -> model.RevertResult:
        path, body = f"{_checkpoint(name)}/restore", {"clear_existing": clear_existing, "dry_run": dry_run}
        return self._remote.ask(model.RevertResult, "POST", path, body)

    def delete_checkpoint(self, name: str) -> model.Checkpoint:
        return self._remote.ask(model.Checkpoint, "DELETE", _checkpoint(name))

    # -- looking after the store ---------------------------------------------------------------------------------------

    def work(
        self,
        *,
        limit: int | None = None,
        purge: bool | None = None,
        drop_old_vectors: bool = False,
        progress: Progress | None = None,
    ) -> model.MaintenanceResult:
        del progress
        body = given({"limit": limit, "purge": purge, "drop_old_vectors": drop_old_vectors or None})
        return self._remote.ask(model.MaintenanceResult, "POST", "/v1/work", body, slow=True)

    def egress(self, *, since: datetime | str | None = None, limit: int = 20) -> model.Egress:
        """What left the server's machine."""
        return egress_of(self._remote.ask(dict[str, Any], "GET", "/v1/egress", query={"since": since, "limit": limit}))

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
            self._needs_file("export", "perdure export --all-namespaces FILE")
        asked = self._remote.asked("GET", "/v1/export", {"state": check_filters({"states": states}).states})
        with ExitStack() as stack:
            lines = stack.enter_context(self._remote.server.lines(asked))
            if isinstance(target, str | os.PathLike):
                target = stack.enter_context(replacing(target))
            elif not hasattr(target, "write"):
                raise ExportFailed(f"{shown(target)} cannot be written to.", remedy="Give a path or an open text file.")
            return model.Exported(_write(lines, target, progress))

    def import_(
        self,
        source: StrPath | TextIO | Iterable[Mapping[str, Any]],
        *,
        trusted: bool = False,
        revive: bool = False,
        all_namespaces: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> model.Imported:
        del progress
        if all_namespaces:
            self._needs_file("import_", "perdure import --all-namespaces FILE")
        body = {**_sent(source, "records"), "trusted": trusted, "revive": revive, "dry_run": dry_run}
        return self._remote.ask(model.Imported, "POST", "/v1/import", body, slow=True)

    def backup(self, path: StrPath, progress: Progress | None = None, *, overwrite: bool = False) -> model.Backup:
        del path, progress, overwrite
        self._needs_file("backup", "perdure backup FILE")

    def restore_backup(
        self, path: StrPath, *, keep: bool = True, erased: StrPath | None = None, progress: Progress | None = None
    ) -> model.BackupRestored:
        del path, keep, erased, progress
        self._needs_file("restore_backup", "perdure restore-backup FILE")

    def doctor(
        self, *, repair: bool = False, online: bool = False, secrets: bool = False, progress: Progress | None = None
    ) -> Iterator[model.Finding]:
        """Whether the server answers, and what the token allows; what else there is to check, only the server can."""
        del progress
        chosen = [name for name, value in (("repair", repair), ("online", online), ("secrets", secrets)) if value]
        if chosen:
            self._needs_file("doctor", f"perdure doctor {' '.join(f'--{name}' for name in chosen)}")
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


def _if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"if-match": f'"{check_version(version, "expected_version")}"'}


def _checkpoint(name: str) -> str:
    return f"/v1/checkpoints/{quote(name, safe='')}"


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
