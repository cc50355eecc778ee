"""What is done at each event, whichever host it comes from and whoever serves it: the program, or the MCP server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast, get_args

from perdure.hook.event import HookEvent
from perdure.values import field, replace, value_class

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.session.capture import Turn
    from perdure.session.configuration import SessionConfiguration
    from perdure.session.context import SessionContext
    from perdure.session.privacy import Place
    from perdure.session.prompt import PromptBlock
    from perdure.session.spool import Spool
    from perdure.settings import Settings

# Seconds: how long a hook waits for others that write; what it needs at least to load the model, to open the store and
# write to it, to look for the words of a prompt alone, and for the answer itself; what a host may take away at the end
# of a session. The share of its time that a hook gives the model before it looks for words alone.
BUSY_SECONDS: Final = 0.3
_TO_EMBED: Final = 1.3
_TO_OPEN: Final = 0.6
_FOR_WORDS: Final = 0.4
_TO_ANSWER: Final = 0.15
_AT_THE_END: Final = 0.6
_SHARE_OF_MODEL: Final = 0.65
# These models run in this process; any other would be sent the prompt.
_HERE: Final = frozenset({"local", "none"})
_UNKNOWN_SESSION: Final = "unknown"


@value_class(slots=False, frozen=False)
class Handler:
    """One event. `memory` opens the memory that the hook reads and writes; `deadline` is by `time.monotonic`."""

    event: HookEvent
    deadline: float
    memory: Callable[[Settings], AbstractContextManager[Memory]]
    environ: Mapping[str, str]
    # The store and the namespace, where a server was told which.
    options: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    # What a prompt is answered with, part by part; the last one may be whole only later.
    known: list[str] = field(default_factory=list[str])
    begun: str = ""

    def so_far(self) -> str:
        """As much of what the model should be told as is known."""
        return "\n\n".join(filter(None, (*self.known, self.begun)))

    def context(self) -> str:
        """Do what the event asks for; what the model should be told."""
        kind = self.event.kind
        if kind == "start":
            return self._start()
        if kind == "prompt":
            return self._prompt()
        if kind == "tool":
            self._note_tool()
            return ""
        if kind == "end" and self.event.text("reason") == "clear":
            from perdure.session.privacy import note_cleared

            note_cleared(self.session_context.project, self.session, self.environ)
        if kind is not None:
            self._keep()
        return ""

    def _start(self) -> str:
        """The text of the session's start. Whoever answers first answers alone."""
        from perdure.session.state import forget_old_sessions, session_state

        source = self.event.text("source") or "startup"
        forget_old_sessions()
        with session_state(self.session) as state:
            if not state.is_first(f"start {source} {self._turn}", unique=bool(self._turn)):
                return ""
            if source in {"compact", "clear"}:
                # What the session was shown is no longer before the model.
                state.shown.clear()
            if source == "clear":
                from perdure.session.privacy import begin_after_clear

                begin_after_clear(self.session_context.project, self.session, self.environ)
            if self.event.host == "copilot":
                # It does not wait for this hook, but for that of the prompt.
                state.pending_start = source
                return ""
        return self._block(source, self.deadline)

    def _block(self, source: str, deadline: float) -> str:
        from perdure.session.start import Source, context_block
        from perdure.session.state import session_state

        known = cast("Source", source) if source in get_args(Source) else "startup"
        seconds = max(deadline - time.monotonic() - _TO_ANSWER, 0.0)
        block = context_block(self.session_context, source=known, budget=seconds)
        with session_state(self.session) as state:
            others = (*block.constitutional, *block.about)
            state.show([*(hit.record.id for hit in block.entries), *(record.id for record in others)])
        return block.text

    def _prompt(self) -> str:
        """Keep what the user said, and tell the model what it brings to mind; Copilot's also how the session starts."""
        from perdure.session.prompt_kinds import is_machine_prompt, is_trivial

        prompt = self.event.text("prompt")
        if not prompt or is_machine_prompt(prompt):
            return ""
        from perdure.session.state import session_state

        with session_state(self.session) as state:
            if not state.is_first(f"prompt {self._turn or hash_of(prompt)}", unique=bool(self._turn)):
                return ""
            state.prompts += 1
            prompts = state.prompts
            is_owed = self.event.host == "copilot" and (prompts == 1 or state.pending_start)
            source, state.pending_start = state.pending_start, ""
        if self.configuration.semantic:
            from perdure.session.capture import capture

            # Where nothing can be written, something may still be read.
            with suppress(OSError):
                capture(self.settings, self.place, self._said("user", prompt))
            self.known.append(self._reminder(prompt, prompts))
        if is_owed:
            self.known.insert(0, self._block(source, self.deadline - _FOR_WORDS))
        if self.configuration.semantic and self.configuration.injection and not is_trivial(prompt):
            from perdure.errors import PerdureError

            # What is known so far is said also when the store cannot be read.
            with suppress(PerdureError):
                self.known.append(self._brought_to_mind(prompt))
                self.begun = ""
                return "\n\n".join(filter(None, self.known))
        return self.so_far()

    def _brought_to_mind(self, prompt: str) -> str:
        """Where the model is not loaded in time, words have to do."""
        from perdure.session.about import resume_context
        from perdure.session.prompt import prompt_context
        from perdure.session.start import in_time

        def look(settings: Settings) -> PromptBlock:
            with self.memory(settings) as memory:
                before = self.begun = resume_context(memory, self.place, self.session, prompt)
                block = prompt_context(memory, self.place, self.session, prompt)
                return replace(block, text="\n\n".join(filter(None, (before, block.text))))

        left = self.deadline - time.monotonic()
        found = None
        if self.settings.embedder != "none" and left >= _TO_EMBED:
            found = in_time(partial(look, self.settings), left * _SHARE_OF_MODEL)
        if found is None:
            found = look(self._without_model)
        if found.text and self.place.recording:
            self._keep_told(found)
        return found.text

    def _keep_told(self, block: PromptBlock) -> None:
        """So that a person can see later what the model was told, and why."""
        from perdure.clock import format_time, system_clock
        from perdure.session.kept import KeptPrompt, keep_prompt, prompted_entry

        kept = KeptPrompt(
            session=self.session, at=format_time(system_clock()), text=block.text,
            entries=[prompted_entry(record, why) for record, why in block.inside],
            left_out=[prompted_entry(record, why) for record, why in block.left_out],
        )  # fmt: skip
        keep_prompt(kept, self.environ)

    def _reminder(self, prompt: str, prompts: int) -> str:
        """After so many prompts, or at a phrase that asks for it, the agent is told to save its context (S3)."""
        settings = self.settings
        if not settings.auto_save_interval and not settings.save_phrases:
            return ""
        from perdure.bank.memory_files import SAVE_REMINDER, save_is_due, save_phrase

        return SAVE_REMINDER if save_phrase(prompt, settings) or save_is_due(prompts, settings) else ""

    def _keep(self) -> None:
        """Keep what the event tells, and put what waits into the store if there is time."""
        if not self.configuration.semantic:
            return
        from perdure.session.capture import capture
        from perdure.session.spool import Spool

        if turn := self._turn_of_event():
            capture(self.settings, self.place, turn)
        spool = Spool(self.settings.store)
        # A host may kill the last hook of a session sooner than others.
        spare = _AT_THE_END if self.event.kind == "end" else 0.0
        is_end = self.event.kind == "end" and self.place.recording
        if (spool.waiting() or is_end) and self._has_time(spare):
            self.drain(spool, is_end=is_end)

    @property
    def _learns_from_tools(self) -> bool:
        """Nothing of a private project: a command may name what nobody else should see."""
        is_chosen = self.settings.learn_from_tools and self.configuration.semantic
        return is_chosen and self.place.recording and not self.place.private

    def _note_tool(self) -> None:
        """Note which file was changed, or how a command ended; nothing unless the setting says so."""
        if not self._learns_from_tools:
            return
        from perdure.session.tool_use import note_tool

        note_tool(self.session, self.event.name, self.event.fields, self.folder, self.settings)

    def drain(self, spool: Spool, *, is_end: bool = False) -> None:
        """Store what waits; at the end of a session also that it has ended, so that it is learned from soon."""
        with self.memory(self._without_model) as memory:
            spool.drain(memory, self._has_time)
            if is_end:
                self.note_end(memory)

    def note_end(self, memory: Memory) -> None:
        own = memory.namespace(self.place.namespace).writing_as(writer="model", session=self.session)
        own.conversation(self.session).end()

    def _turn_of_event(self) -> Turn | None:
        event = self.event
        if event.kind == "end" and self._learns_from_tools:
            from perdure.learn.tool_fixes import TOOL_ROLE, TOOL_SPEAKER
            from perdure.session.tool_use import untold_fixes

            return self._said(TOOL_ROLE, untold_fixes(self.session), speaker=TOOL_SPEAKER)
        if event.kind == "compacted":
            return self._said("system", event.text("compact_summary"), speaker="summary")
        if event.kind == "subagent":
            return self._said("assistant", event.text("last_assistant_message"), speaker=event.text("agent_type"))
        if event.kind != "stop":
            return None
        said = event.text("last_assistant_message", "prompt_response")
        if not said and event.host == "copilot":
            from perdure.hook.copilot import last_message

            said = last_message(Path(event.text("transcript_path")), self._turn, self._has_time)
        return self._said("assistant", said)

    def _said(self, role: str, text: str, speaker: str = "") -> Turn:
        from perdure.session.capture import Turn

        return Turn(
            self.session, role, text, self._turn, project=self.session_context.project.label or None,
            channel=self.event.host, speaker=speaker or None,
        )  # fmt: skip

    def _has_time(self, spare: float = 0.0) -> bool:
        return time.monotonic() < self.deadline - _TO_OPEN - spare

    @cached_property
    def session(self) -> str:
        return self.event.text("session_id")[:200] or _UNKNOWN_SESSION

    @cached_property
    def _turn(self) -> str:
        """The host's own name for this turn. The hooks that Copilot runs for one event are told the same time."""
        named = self.event.text("prompt_id", "turn_id")
        return named or moment_of(self.event.fields.get("timestamp"))

    @property
    def folder(self) -> Path:
        """The folder that the host works in. A variable of another host, that this one was started in, may say where
        that one works.
        """
        here = Path(self.event.text("cwd") or Path.cwd())
        told = self.environ.get("CLAUDE_PROJECT_DIR", "")
        return Path(told) if told and here.is_relative_to(told) else here

    @cached_property
    def session_context(self) -> SessionContext:
        from perdure.project import ProjectFolder
        from perdure.session.context import SessionContext

        return SessionContext(ProjectFolder(self.folder), self.session, self.environ, self.options)

    @property
    def configuration(self) -> SessionConfiguration:
        return self.session_context.configuration

    @cached_property
    def settings(self) -> Settings:
        """A model that runs elsewhere is not asked: nothing leaves the machine because of a hook."""
        from perdure.settings import override

        chosen = self.session_context.chosen.settings
        return override(
            chosen, busy_seconds=BUSY_SECONDS, embedder=chosen.embedder if chosen.embedder in _HERE else "none"
        )

    @property
    def _without_model(self) -> Settings:
        from perdure.settings import override

        return override(self.settings, embedder="none")

    @cached_property
    def place(self) -> Place:
        return self.session_context.place(self.settings.namespace)


def open_memory(settings: Settings) -> Memory:
    from perdure.memory import Memory

    return Memory(settings=settings, surface="hook", writer="model")


def hash_of(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def moment_of(timestamp: object) -> str:
    """A time as milliseconds: Copilot tells its own hooks a number, and those of Claude Code a text."""
    if isinstance(timestamp, int | float):
        return str(int(timestamp))
    from datetime import datetime

    try:
        return str(round(datetime.fromisoformat(str(timestamp)).timestamp() * 1000))
    except ValueError:
        return ""
