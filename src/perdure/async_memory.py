"""`AsyncMemory`: the verbs of `Memory` as coroutines.

Each verb is made of the one of `Memory`, with its arguments, its answer and its docstring, and runs in a worker thread,
so that the event loop goes on meanwhile. Here stand their names alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from functools import update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar

from perdure.episodes.conversation import Conversation
from perdure.memory import Memory
from perdure.model import Finding

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Local = TypeVar("Local")


def _coroutine(
    local: Callable[Concatenate[Local, Arguments], Answer],
) -> Callable[Concatenate[_Async[Local], Arguments], Coroutine[Any, Any, Answer]]:
    """A verb that calls the one of the same name: of a memory that a server keeps, that is another one."""

    async def verb(self: _Async[Local], *arguments: Arguments.args, **named: Arguments.kwargs) -> Answer:
        return await asyncio.to_thread(getattr(self.local, local.__name__), *arguments, **named)

    return update_wrapper(verb, local)


class _Async(Generic[Local]):
    def __init__(self, local: Local) -> None:
        self.local = local


class AsyncConversation(_Async[Conversation]):
    """What was said in one conversation. `AsyncMemory.conversation` gives one."""

    add_message = _coroutine(Conversation.add_message)
    add_messages = _coroutine(Conversation.add_messages)
    end = _coroutine(Conversation.end)
    messages = _coroutine(Conversation.messages)

    @property
    def id(self) -> str:
        return self.local.id


class AsyncMemory(_Async[Memory]):
    """A `Memory` whose verbs are coroutines. `await AsyncMemory.open("agent.db")` opens one, with the arguments of
    `Memory`; `AsyncMemory(memory)` is one that is open already. `local` is the `Memory` itself.

    Cancelling a task does not stop the verb that it waits for: a write that has begun is finished.
    """

    @classmethod
    async def open(cls, *arguments: Any, **named: Any) -> Self:
        """Open a memory in a worker thread, with the arguments of `Memory`."""
        return cls(await asyncio.to_thread(Memory, *arguments, **named))

    remember = _coroutine(Memory.remember)
    upsert = _coroutine(Memory.upsert)
    update = _coroutine(Memory.update)
    restore = _coroutine(Memory.restore)
    validate = _coroutine(Memory.validate)
    promote = _coroutine(Memory.promote)
    forget = _coroutine(Memory.forget)
    erase = _coroutine(Memory.erase)
    import_messages = _coroutine(Memory.import_messages)
    recall = _coroutine(Memory.recall)
    episodes = _coroutine(Memory.episodes)
    context = _coroutine(Memory.context)
    recall_detail = _coroutine(Memory.recall_detail)
    match_triggers = _coroutine(Memory.match_triggers)
    suggest = _coroutine(Memory.suggest)
    summarize = _coroutine(Memory.summarize)
    get = _coroutine(Memory.get)
    list = _coroutine(Memory.list)
    conversations = _coroutine(Memory.conversations)
    offers = _coroutine(Memory.offers)
    constitution = _coroutine(Memory.constitution)
    capacity = _coroutine(Memory.capacity)
    stats = _coroutine(Memory.stats)
    history = _coroutine(Memory.history)
    versions = _coroutine(Memory.versions)
    version = _coroutine(Memory.version)
    diff = _coroutine(Memory.diff)
    log = _coroutine(Memory.log)
    undo = _coroutine(Memory.undo)
    checkpoint = _coroutine(Memory.checkpoint)
    checkpoints = _coroutine(Memory.checkpoints)
    restore_checkpoint = _coroutine(Memory.restore_checkpoint)
    delete_checkpoint = _coroutine(Memory.delete_checkpoint)
    consolidate = _coroutine(Memory.consolidate)
    open_consolidation = _coroutine(Memory.open_consolidation)
    finish_consolidation = _coroutine(Memory.finish_consolidation)
    facts = _coroutine(Memory.facts)
    conflicts = _coroutine(Memory.conflicts)
    uncompared = _coroutine(Memory.uncompared)
    save_memory = _coroutine(Memory.save_memory)
    review = _coroutine(Memory.review)
    accept = _coroutine(Memory.accept)
    reject = _coroutine(Memory.reject)
    learnings = _coroutine(Memory.learnings)
    injected = _coroutine(Memory.injected)
    note_markdown = _coroutine(Memory.note_markdown)
    forgotten_since = _coroutine(Memory.forgotten_since)
    parked = _coroutine(Memory.parked)
    retry_parked = _coroutine(Memory.retry_parked)
    discard_parked = _coroutine(Memory.discard_parked)
    work = _coroutine(Memory.work)
    egress = _coroutine(Memory.egress)
    export = _coroutine(Memory.export)
    import_ = _coroutine(Memory.import_)
    backup = _coroutine(Memory.backup)
    restore_backup = _coroutine(Memory.restore_backup)
    warm = _coroutine(Memory.warm)
    close = _coroutine(Memory.close)

    async def doctor(self, **named: Any) -> tuple[Finding, ...]:
        """Check everything that can be wrong with a store, with the arguments of `Memory.doctor`, and answer it all."""
        return await asyncio.to_thread(lambda: tuple(self.local.doctor(**named)))

    async def call(
        self,
        function: Callable[Concatenate[Memory, Arguments], Answer],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Answer:
        """Call a function of yours with the `Memory` itself, in a worker thread: one that asks several verbs."""
        return await asyncio.to_thread(function, self.local, *arguments, **named)

    # -- these wait for nothing ----------------------------------------------------------------------------------------

    @property
    def actor(self) -> str:
        return self.local.actor

    def batch(self, id: str | None = None) -> AbstractContextManager[str]:
        """`with memory.batch() as batch:` makes one batch of everything that this task writes inside."""
        return self.local.batch(id)

    def conversation(self, id: str) -> AsyncConversation:
        """One conversation, whose messages are memories."""
        return AsyncConversation(self.local.conversation(id))

    def namespace(self, name: str) -> Self:
        """The same memory seen as another namespace."""
        return type(self)(self.local.namespace(name))

    def writing_as(
        self,
        actor: str | None = None,
        *,
        writer: Literal["person", "model"],
        session: str | None = None,
        surface: str | None = None,
    ) -> Self:
        """The same memory written by somebody else."""
        return type(self)(self.local.writing_as(actor, writer=writer, session=session, surface=surface))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self.local)[1:]}"
