"""What was said and is not in the store yet: one small file for each message, in a folder that belongs to the store.

A hook has no time to wait for a store that is busy, locked or broken. So every message is put here first, and whoever
has time drains the folder into the store: another hook, the MCP server when it starts, `perdure work`. A message is on
disk before it counts as kept, it has its name before it has a place in the store, and a name that the store knows is
not stored again: whoever dies, and whenever, nothing is lost and nothing is doubled. No lock is needed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from perdure.buggify import point
from perdure.errors import InvalidInput
from perdure.files import private_folder
from perdure.location import StoreLocation, StrPath, locate

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Finding

# The second is for when something else has the name of the first.
_NAMES: Final = ("spool", "spool-2")
_READY: Final = ".json"
_REJECTED: Final = ".rejected"
_AT_ONCE: Final = 64
# If nobody drains the folder for so long, what is new is not kept.
_MOST_WAITING: Final = 10_000
# Half a file of a hook that was killed is removed after so many seconds.
_ABANDONED: Final = 3600
_KEY_IN_NAME: Final = 32
_STORE_THEM: Final = "Store them: `perdure work`."


class SpooledMessage(NamedTuple):
    """One message with everything that the store has to know. `key` is the same whichever hook was told of it."""

    namespace: str
    conversation: str
    role: str
    content: str
    at: str
    key: str
    source_project: str | None = None
    channel: str | None = None
    speaker: str | None = None

    @property
    def fields(self) -> Mapping[str, object]:
        """The message as `Conversation.add_messages` takes it."""
        given = self._asdict()
        conversation, key, _ = given.pop("conversation"), given.pop("key"), given.pop("namespace")
        return {**given, "session_id": conversation, "idempotency_key": f"hook {key}"}


class Spool:
    """The folder may be missing: it is made with the first message. A store in memory has none, and keeps nothing."""

    def __init__(self, store: StrPath | StoreLocation) -> None:
        location = locate(store)
        self.folders = () if location.kind == "memory" else tuple(map(location.beside, _NAMES))

    @property
    def folder(self) -> Path | None:
        """Where messages are put: the first folder that is ours, or can be made."""
        usable = (folder for folder in self.folders if is_missing(folder) or is_ours(folder))
        return next(usable, self.folders[0] if self.folders else None)

    def put(self, message: SpooledMessage) -> bool:
        """The message is on disk when this returns. False: it waits here already, or too many do."""
        waiting = self.waiting()
        mark = message.key[:_KEY_IN_NAME]
        if len(waiting) >= _MOST_WAITING or any(mark in path.name for path in waiting):
            return False
        folder = self.folder
        if folder is None:
            return False
        private_folder(folder)
        if not is_ours(folder):
            return False
        name = f"{time.time_ns():020}-{mark}"
        part = folder / f"{name}.{os.getpid()}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(message._asdict(), file)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            part.unlink(missing_ok=True)
            raise
        point("before a message has its name")
        part.rename(folder / (name + _READY))
        sync_folder(folder)
        return True

    def waiting(self) -> list[Path]:
        """The messages that wait, in the order in which they were put here."""
        return sorted((path for path in self._files() if path.name.endswith(_READY)), key=lambda path: path.name)

    def drain(self, memory: Memory, has_time: Callable[[], bool] = lambda: True) -> int:
        """Put what waits into the store, conversation by conversation, each in its order; how many messages are new. A
        store that cannot take them now is an error, and they wait on.
        """
        stored = 0
        conversations: dict[tuple[str, str], list[tuple[Path, SpooledMessage]]] = {}
        for path, message in self._read(self.waiting()):
            conversations.setdefault((message.namespace, message.conversation), []).append((path, message))
        for (namespace, conversation), group in conversations.items():
            files = iter(group)
            while some := list(islice(files, _AT_ONCE)):
                if not has_time():
                    return stored
                stored += self._store(memory, namespace, conversation, some)
        for path in self._files():
            with suppress(OSError):
                if path.suffix == ".part" and path.stat().st_mtime < time.time() - _ABANDONED:
                    path.unlink()
        return stored

    def discard(self, conversation: str) -> int:
        """Remove what waits of one conversation; how many messages that were."""
        gone = [path for path, message in self._read(self.waiting()) if message.conversation == conversation]
        for path in gone:
            path.unlink(missing_ok=True)
        return len(gone)

    def messages(self) -> list[SpooledMessage]:
        """What waits."""
        return [message for _, message in self._read(self.waiting())]

    def _read(self, paths: Iterable[Path]) -> list[tuple[Path, SpooledMessage]]:
        found: list[tuple[Path, SpooledMessage]] = []
        for path in paths:
            try:
                values: Any = json.loads(path.read_bytes())
                message = SpooledMessage(**cast("dict[str, Any]", values))
                "".join(part for part in message if part is not None)
            except FileNotFoundError:
                continue
            except (ValueError, TypeError, RecursionError):
                self._reject(path)
                continue
            found.append((path, message))
        return found

    def _store(
        self, memory: Memory, namespace: str, conversation: str, files: list[tuple[Path, SpooledMessage]]
    ) -> int:
        """One transaction. If the store refuses one of the messages, they are stored one by one without it."""
        try:
            # Whoever drains the folder, it was a hook that was told.
            own = memory.namespace(namespace).writing_as(writer="model", session=conversation, surface="hook")
            stored = own.conversation(conversation).add_messages([message.fields for _, message in files]).inserted
        except InvalidInput:
            if len(files) == 1:
                self._reject(files[0][0])
                return 0
            return sum(self._store(memory, namespace, conversation, [one]) for one in files)
        point("before stored messages are removed")
        for path, _ in files:
            path.unlink(missing_ok=True)
        return stored

    def _reject(self, path: Path) -> None:
        """Keep what cannot be stored out of the way of the others, and do not throw it away."""
        with suppress(OSError):
            path.rename(path.with_suffix(_REJECTED))

    def _files(self) -> list[Path]:
        files: list[Path] = []
        for folder in filter(is_ours, self.folders):
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
                files += [folder / entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        return files

    def findings(self) -> Iterator[Finding]:
        """What a person should know: that something is in the way, and what nobody could store."""
        from perdure.model import Finding

        blocked = [folder for folder in self.folders if not is_missing(folder) and not is_ours(folder)]
        if blocked:
            free = self.folder if len(blocked) < len(self.folders) else None
            kept = f"turns wait in {free.name}" if free else "no turn can be kept"
            remedy = "Move it away: hooks keep what is said there until it is stored."
            level = "warning" if len(blocked) < len(self.folders) else "problem"
            yield Finding("spool", level, f"{blocked[0]} is not a folder of yours, so {kept}.", remedy)
        waiting = len(self.waiting())
        if waiting >= _MOST_WAITING:
            yield Finding(
                "spool", "problem", f"{waiting:,} turns wait to be stored, and no more are kept.", _STORE_THEM
            )
        rejected = [path for path in self._files() if path.suffix == _REJECTED]
        if rejected:
            turns = "1 turn" if len(rejected) == 1 else f"{len(rejected):,} turns"
            sentence = f"{turns} could not be stored, and may be read in {rejected[0].parent}."
            yield Finding("spool", "warning", sentence, f"Look at the files that end in {_REJECTED}, and delete them.")


def is_missing(folder: Path) -> bool:
    """Whether there is nothing of this name, not even a link that leads nowhere."""
    return not os.path.lexists(folder)


def is_ours(folder: Path) -> bool:
    """In a folder that somebody else made, they could say what nobody said."""
    try:
        return folder.is_dir() and (not hasattr(os, "geteuid") or folder.lstat().st_uid == os.geteuid())
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """A name is on disk only once its folder is."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
