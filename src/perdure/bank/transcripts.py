"""Transcripts of coding agents, as the conversations they were: only what the user and the model said. What hooks and
hosts put in between, tools and their results, and subagents are left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from perdure.bank.sections import UNTRUSTED, ImportOptions, ImportReport, Unread
from perdure.clock import parse_time
from perdure.errors import ImportFailed, PerdureError
from perdure.files import open_regular
from perdure.ids import content_hash
from perdure.validation import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from perdure.memory import Memory

Agent: TypeAlias = Literal["claude-code", "codex"]
Message: TypeAlias = Mapping[str, Any]

_MOST_OF_A_NAME: Final = 200
_MAX_LINE: Final = 64 << 20
_MACHINE_TAGS: Final = (
    "system-reminder", "task-notification", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "command-name", "command-message", "command-args", "bash-input", "bash-stdout", "bash-stderr", "hook_context",
    "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "environment_context", "user_instructions",
    "turn_aborted", "system_reminder", "user_action",
)  # fmt: skip
_MACHINE: Final = re.compile(rf"<({'|'.join(_MACHINE_TAGS)})\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL)
_MACHINE_BEGINNINGS: Final = (
    "Caveat: The messages below were generated",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "# AGENTS.md instructions",
)
# Lines of Claude Code that carry a message, but not one that somebody said here.
_NOT_SAID: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in one session. `directory` is the one that the agent worked in; `unreadable` are broken lines."""

    agent: Agent
    path: Path
    messages: tuple[Message, ...]
    directory: str | None = None
    unreadable: int = 0
    too_long: int = 0


@dataclass(slots=True)
class TranscriptReading:
    """What was read of a file so far."""

    messages: list[Message] = field(default_factory=list[Message])
    directory: str | None = None
    unreadable: int = 0
    too_long: int = 0

    def said(self, session: object, id: str, role: str, text: str, at: object) -> None:
        text = said_by_user(text) if role == "user" else text.strip()
        text = text.replace("\0", "").encode("utf-8", "replace").decode()
        if not text or not isinstance(session, str) or not session.split() or not session.isprintable():
            return
        if len(text.encode()) > MAX_TEXT_BYTES:
            self.too_long += 1
            return
        session = " ".join(session.split())[:_MOST_OF_A_NAME]
        message = {"conversation_id": session, "session_id": session, "id": id, "role": role, "content": text}
        self.messages.append({**message, **({"at": at} if is_time(at) else {})})


def is_time(value: object) -> bool:
    """Whether it says when something was said; what does not is left out, and its message is not."""
    try:
        return isinstance(value, str) and bool(parse_time(value, "timestamp"))
    except PerdureError:
        return False


def said_by_user(text: str) -> str:
    """Pure: what a person wrote of a prompt; nothing if a machine wrote all of it."""
    rest = _MACHINE.sub("", text).strip()
    return "" if rest.startswith(_MACHINE_BEGINNINGS) else rest


def read_transcript(path: Path, agent: Agent) -> Transcript:
    reading = TranscriptReading()
    lines = objects_in(path, reading)
    if agent == "claude-code":
        read_claude_code(lines, reading)
    else:
        read_codex(lines, reading)
    unique = {(each["conversation_id"], each["id"]): each for each in reversed(reading.messages)}
    messages = tuple(reversed(unique.values()))
    return Transcript(agent, path, messages, reading.directory, reading.unreadable, reading.too_long)


def objects_in(
    path: Path, reading: TranscriptReading | None = None, most: float = inf
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a file of JSON lines, with the numbers of their lines, until `most` bytes were read. The last one
    may be half written.
    """
    try:
        with open_regular(path) as stream:
            number = size = 0
            while size <= most and (line := stream.readline(_MAX_LINE)):
                number, size = number + 1, size + len(line)
                try:
                    value: Any = json.loads(line) if line.strip() else None
                except (ValueError, RecursionError):
                    value = None
                    if reading is not None:
                        reading.unreadable += 1
                if isinstance(value, dict):
                    yield number, cast("dict[str, Any]", value)
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}.") from error


def read_claude_code(lines: Iterable[tuple[int, Mapping[str, Any]]], reading: TranscriptReading) -> None:
    for number, line in lines:
        message = line.get("message")
        if isinstance(line.get("cwd"), str):
            reading.directory = reading.directory or line["cwd"]
        if str(line.get("type")) not in {"user", "assistant"} or any(line.get(flag) for flag in _NOT_SAID):
            continue
        if not isinstance(message, dict) or cast("dict[str, Any]", message).get("model") == "<synthetic>":
            continue
        text = text_in(cast("dict[str, Any]", message).get("content"), ("text",))
        id = line.get("uuid")
        named = id[:_MOST_OF_A_NAME] if isinstance(id, str) and id.isprintable() and id.strip() else f"line {number}"
        reading.said(line.get("sessionId"), named, str(line["type"]), text, line.get("timestamp"))


def read_codex(lines: Iterable[tuple[int, Mapping[str, Any]]], reading: TranscriptReading) -> None:
    """A rollout says most things twice: as events, which are what was said, and as items of the request, in which there
    is much besides. Old rollouts have only the items.
    """
    session: str | None = None
    items: list[tuple[int, str, str, object]] = []
    events: list[tuple[int, str, str, object]] = []
    for number, line in lines:
        payload = cast("dict[str, Any]", line["payload"]) if isinstance(line.get("payload"), dict) else {}
        kind, inner, at = line.get("type"), str(payload.get("type")), line.get("timestamp")
        if kind == "session_meta":
            if isinstance(payload.get("source"), dict):
                return  # a subagent's
            session = session or payload.get("id")
            place = payload.get("cwd")
            reading.directory = reading.directory or (place if isinstance(place, str) else None)
        elif kind == "event_msg" and inner in {"user_message", "agent_message"}:
            role = "user" if inner == "user_message" else "assistant"
            events.append((number, role, str(payload.get("message") or ""), at))
        elif kind == "response_item" and inner == "message" and str(payload.get("role")) in {"user", "assistant"}:
            text = text_in(payload.get("content"), ("input_text", "output_text", "text"))
            items.append((number, str(payload["role"]), text, at))
    for number, role, text, at in events if any(role == "user" for _, role, _, _ in events) else items:
        reading.said(session, f"line {number}", role, text, at)


def text_in(content: object, kinds: Sequence[str]) -> str:
    """The text of a message: a text, or those of its blocks that are of these kinds."""
    if isinstance(content, str):
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    named = [cast("dict[str, Any]", block) for block in blocks if isinstance(block, dict)]
    texts = [block.get("text") for block in named if block.get("type") in kinds]
    return "\n\n".join(text for text in texts if isinstance(text, str))


# -- storing -----------------------------------------------------------------------------------------------------------


def import_transcripts(
    memory: Memory,
    paths: Sequence[Path],
    agent: Agent,
    report: ImportReport,
    options: ImportOptions = UNTRUSTED,
) -> ImportReport:
    """Store the conversations of these files, as one batch. What is stored already, from an earlier import or while it
    was said, is not stored again.
    """
    inserted = present = forgotten = 0
    unread, notes = list(report.unread), Counter[str]()
    with memory.batch() as batch:
        for count, path in enumerate(paths, 1):
            try:
                transcript = read_transcript(path, agent)
                for session, messages in by_session(transcript):
                    target = memory if options.place is None else options.place(transcript.directory, session)
                    if target is None:
                        unread.append(Unread(path.name, "The session is off the record."))
                        continue
                    new = not_yet_heard(target, session, messages)
                    done = target.import_messages(new, dry_run=options.dry_run)
                    inserted += done.inserted
                    present += done.present + len(messages) - len(new)
                    forgotten += done.skipped_deleted
            except PerdureError as error:
                unread.append(Unread(str(path), error.sentence))
                continue
            notes["lines that are not JSON were left out"] += transcript.unreadable
            notes["messages are too long for a memory, and were left out"] += transcript.too_long
            if options.progress:
                options.progress(count, len(paths))
    told = [f"{number:,} {text}." for text, number in notes.items() if number]
    return replace(
        report, inserted=inserted, present=present, kept_forgotten=forgotten, unread=tuple(unread),
        notes=(*report.notes, *told), batch=batch if inserted and not options.dry_run else None,
    )  # fmt: skip


def by_session(transcript: Transcript) -> Iterator[tuple[str, list[Message]]]:
    sessions: dict[str, list[Message]] = {}
    for message in transcript.messages:
        sessions.setdefault(message["conversation_id"], []).append(message)
    return iter(sessions.items())


def not_yet_heard(memory: Memory, session: str, messages: Sequence[Message]) -> list[Message]:
    """Without what was stored while it was said, which has no id of the transcript."""
    heard = Counter(
        (record.metadata.get("role"), record.content_hash)
        for record in memory.conversation(session).messages()
        if record.source != "import"
    )
    new: list[Message] = []
    for message in messages:
        said = (message["role"], content_hash(message["content"]))
        if heard[said] > 0:
            heard[said] -= 1
        else:
            new.append(message)
    return new
