"""The hook, served by the process that a session has running anyway: Claude Code calls it as a tool at the events of a
session, and the text of the answer is what a hook would print.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any, Final

from perdure.hook.event import answer, event_of
from perdure.hook.handlers import Handler, open_memory
from perdure.hook.program import BUDGET
from perdure.mcp.lazy_memory import LazyMemory
from perdure.mcp.tool import is_object
from perdure.memory import Memory
from perdure.session.spool import Spool
from perdure.session.start import in_time
from perdure.settings import Settings

_draining: Final = threading.Lock()


def answer_hook(memory: LazyMemory, given: object) -> dict[str, Any]:
    """The result of the tool: nothing to say is an empty object, and so is everything that goes wrong. Where nobody
    listens it is an empty text: what is answered after a compaction, the host puts before its model.
    """
    event = event_of(given if is_object(given) else {}, os.environ, "claude-code")
    deadline = time.monotonic() + BUDGET
    handler = ServedHandler(event, deadline, partial(_opened, memory), os.environ, memory.options)
    context = in_time(handler.context, BUDGET) or ""
    nothing = "" if event.kind == "compacted" else "{}"
    return {"content": [{"type": "text", "text": answer(event, context) or nothing}], "isError": False}


class ServedHandler(Handler):
    """What was said is on disk when the host is answered; the store gets it afterwards, however long that takes."""

    def drain(self, spool: Spool, *, is_end: bool = False) -> None:
        def work() -> None:
            with _draining, suppress(Exception), self.memory(self.settings) as memory:
                spool.drain(memory)
                if is_end:
                    self.note_end(memory)

        threading.Thread(target=work, daemon=True).start()


def _opened(lazy: LazyMemory, settings: Settings) -> AbstractContextManager[Memory]:
    """The memory of the server, unless that would ask a model elsewhere."""
    memory = lazy.open()
    return nullcontext(memory) if lazy.embeds_here else open_memory(settings)
