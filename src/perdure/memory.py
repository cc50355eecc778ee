"""The façade: every verb of Perdure, in one class.

A verb checks what it was given, calls one function of `recall/` or `lifecycle/`, and answers a value of `model`.
"""

from __future__ import annotations

import builtins
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO, Unpack, cast, get_args, overload

from perdure import lifecycle, model, recall, validation
from perdure.errors import UnknownChoice, shown
from perdure.ids import KINDS, content_hash, is_sentence
from perdure.open_memory import OpenMemory, is_remote
from perdure.store.port import Progress
from perdure.validation import Fields, Filters, KeyedFields, Reference, References, StrPath
from perdure.values import replace
from perdure.vocabulary import UNCHANGED, Limit

if TYPE_CHECKING:
    from pathlib import Path

    from perdure.episodes.conversation import Conversation
    from perdure.learn.merge_results import Saved
    from perdure.learn.results import Consolidation, Decision, Fact, Proposal
    from perdure.learn.task import ConsolidationTask
    from perdure.lifecycle.comparison import Comparison
    from perdure.lifecycle.write import WriteRequest
    from perdure.llm.port import Parked
    from perdure.recall.learnings import AskedVectors, LearningsFound
    from perdure.store.stats import StoreStats

MAX_BUDGET: Final = 1_000_000
# How many more than the limit are looked for, in the place of those that are left out.
SPARE_SUGGESTIONS: Final = 20


class Memory(OpenMemory):
    """One durable memory: a local file, or whatever else implements the store.

    Without arguments it opens the user's own memory; where there is no file yet it makes one, unless `create` is
    False. It is safe to share between threads, and any number of processes may open the same file. Use it as a context
    manager, or call `close`. `embedder` is one of your own, or a name as in the settings (`ollama:nomic-embed-text`).

    `count_tokens` counts for every budget and limit, in place of our own counter, and answers name it. What a memory
    takes of `max_tokens` was counted when it was written, by its writer's counter.

    The store may be the URL of a `perdure serve`, with a `token`: docs/serve.md says what differs then.
    """

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """For a URL, the memory of a server: it has the same verbs, and nothing of the engine is loaded for it."""
        if cls is Memory and is_remote(*arguments, **named):
            from perdure.remote.memory import RemoteMemory

            return super().__new__(cast("type[Self]", RemoteMemory))
        return super().__new__(cls)

    # -- writing -------------------------------------------------------------------------------------------------------

    def remember(self, text: str, *, idempotency_key: str | None = None, **fields: Unpack[Fields]) -> model.Remembered:
        """Store a memory. The same text again, in the same conversation, spec folder, file and anchor, is one more
        observation of the same memory, which keeps its origin; elsewhere it is another memory. Other words about it, or
        another text under the same key, make a new version.

        It is compared with the memories nearest to it. One that says the same is observed instead, if nothing but the
        text was given; one that cannot be true together with it is named in `Remembered.contradicts`, and both stay
        until a person decides (`review`). In a `batch`, and in a large store that was not searched yet, `work` compares
        later.

        A call repeated with the same `idempotency_key` does nothing and answers what the first one stored.
        """
        request, notes = lifecycle.write.check_request(self._services, text, fields, idempotency_key)
        done = lifecycle.write.remember(self._services, self._namespace, request, self._comparison(request))
        return self._written(done, notes)

    def upsert(
        self,
        key: str,
        text: str,
        *,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[KeyedFields],
    ) -> model.Remembered:
        """Store a memory under its key (`type:identifier`): version 1, or a new version of the memory with that key,
        also when the text is the same, and also when the memory was forgotten. With `expected_version` it is stored
        only if the memory has that version now; 0 means that no memory with this key may be active.
        """
        request, notes = lifecycle.write.check_request(
            self._services, text, {**fields, "key": key}, idempotency_key, expected_version, force_new_version=True
        )
        done = lifecycle.write.remember(self._services, self._namespace, request, self._comparison(request))
        return self._written(done, notes)

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
        """Correct a memory. Other words (text, title, abstract, summary, reasoning) make a new version, all else a
        revision of the same one. `metadata` changes the entries it names, an empty one removes them; where it comes
        from stays. With `expected_version` it must have that version now. `ref` may be a sentence that says what is
        true now, or beside a text a description: that needs `confirm`, True or the token of what was shown.
        """
        added, removed = (validation.check_filters({"tags": given}).tags for given in (add_tags, remove_tags))
        if not (fields or added or removed or expected_version) and is_sentence(ref):
            return self._written(lifecycle.correction.correct(self._services, self._namespace, ref, text, confirm))
        checked, notes = lifecycle.write.check_write(self._services, text, fields, partial=True)
        version = validation.optional(validation.check_version, expected_version, "expected_version")
        record, comparison = self._find(ref), self._comparison()
        done = lifecycle.update.update(self._services, record, checked, added, removed, version, comparison=comparison)
        return self._written(done, notes)

    @overload
    def restore(self, refs: Reference) -> model.Remembered: ...
    @overload
    def restore(self, refs: Sequence[Reference]) -> tuple[model.Remembered, ...]: ...
    def restore(self, refs: Reference | Sequence[Reference]) -> model.Remembered | tuple[model.Remembered, ...]:
        """Bring a forgotten, expired or evicted memory back, as it was; or several of them, in one batch, all or none.
        A Conflict is raised beside a memory that says the same.
        """
        found = [self._find(ref) for ref in validation.check_references(refs, validation.MAX_REFERENCES)]
        records = list({record.number: record for record in found}.values())
        restored = lifecycle.update.restore(self._services, self._namespace, records)
        answers = tuple(self._written(done) for done in restored)
        return answers[0] if isinstance(refs, int | str) else answers

    def validate(self, ref: Reference, useful: bool) -> model.Remembered:  # noqa: FBT001 - the one thing that is asked
        """Say whether a memory was useful: its confidence rises or falls. After five judgements and with a confidence
        of 0.9 or more it is offered the tier `critical`, which `promote` accepts.
        """
        judged = validation.check_bool(useful, "useful")
        done = lifecycle.feedback.validate(self._services, self._find(ref), useful=judged)
        return self._written(done, check_budget=False)

    def promote(self, ref: Reference, tier: str | None = None) -> model.Remembered:
        """Give a memory the tier that is on offer for it, or the one named. Only a person makes one constitutional."""
        chosen = None if tier is None else validation.check_fields({"tier": tier}).get("tier")
        return self._written(lifecycle.feedback.promote(self._services, self._find(ref), chosen))

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
        """Forget memories: they leave every list and every search at once, and `restore` or `undo` brings them back.

        `what` is a reference, several of them, `oldest`, `least important`, `before:2026-03-14`, or a sentence such as
        "everything about the Osaka flat". Filters narrow it, or say alone what goes; `keep` names what stays. Whatever
        a sentence finds, and more than one memory that a time or a filter finds, needs `confirm=True` or the token of a
        preview: `NeedsConfirmation.preview`, or what `dry_run` answers.
        """
        if mode == "hard":
            return self.erase(what, keep=keep, confirm=confirm, dry_run=dry_run, **filters)
        if mode != "soft":
            raise UnknownChoice(f"There is no way to forget called {shown(mode)}.", remedy="Use 'soft' or 'hard'.")
        request = lifecycle.forget.ForgetRequest(what, keep, confirm, validation.check_bool(dry_run, "dry_run"))
        return lifecycle.forget.forget(lifecycle.selection.scope(self._services, self._namespace, filters), request)

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
        """Erase memories for ever, with all their versions, from every file of the store. Nothing brings them back.

        `what` and `keep` are as in `forget`, in whatever state the memories are. What was made of them and holds their
        words goes as well, or is made anew without them; with `related="all"` also what they were made of, with "none"
        nothing else. Their Markdown copies in knowledge banks and memory files go too, as `copies` tells. It always
        needs `confirm`, also for one memory.
        """
        from perdure.bank.copies import CopySearch
        from perdure.learn.erase_related import related_search

        request = lifecycle.forget.ForgetRequest(what, keep, confirm, validation.check_bool(dry_run, "dry_run"))
        scope = lifecycle.selection.scope(self._services, self._namespace, filters, every_state=True)
        copies = CopySearch(self._services, self._namespace)
        return lifecycle.erase.erase(scope, request, related_search(self._services, related), copies)

    def conversation(self, id: str) -> Conversation:
        """One conversation, whose messages are memories: `conversation(id).add_message(role, content)` stores one."""
        from perdure.episodes.conversation import Conversation

        return Conversation(self._services, self._namespace, id)

    def import_messages(
        self,
        source: StrPath | TextIO | Iterable[Mapping[str, Any]],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> model.Imported:
        """Read the messages of conversations from JSON Lines or from mappings, each with `conversation_id`, `role` and
        `content` and, if you like, `at` or `timestamp`, `speaker`, `session_id` and an `id`. All are checked first: one
        bad line, and none is stored. A message that is stored already, by its id or by its order, is not stored again.
        """
        from perdure.episodes.chat_import import import_messages

        dry = validation.check_bool(dry_run, "dry_run")
        return import_messages(self._services, self._namespace, source, dry_run=dry, progress=progress)

    # -- recalling -----------------------------------------------------------------------------------------------------

    def recall(  # noqa: PLR0913 - one for each thing a caller may decide
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
        """Find the memories that answer the query best, each with its reasons. Recall never waits for a writer.

        A memory must hold a "phrase" in quotation marks word for word; a time in the query (`last week`) makes memories
        of that time count more. A memory must also hold each of two to five `concepts`, and `Hit.concepts` says how
        often it does; without a query, the concepts are the query.

        No hit has a relevance below `min_relevance`; left out, the recipe has one, and 0 fills the limit whatever fits.
        Where nothing fits, the answer is empty, and `Recall.nearest` is what came nearest.

        `as_of` asks what was true at a time, of what is known now; `known_at` asks what was known at a time, in the
        words of then. Filters look at the memories as they were. A recall of the past does not count as use, shows no
        use, and surfaces no constitutional memories.
        """
        request = recall.query.check_request(
            self._services, self._namespace, query, filters, concepts=concepts, limit=limit, namespaces=namespaces,
            recipe=recipe, as_of=as_of, known_at=known_at, use_decay=use_decay, min_relevance=min_relevance,
            include_constitutional=include_constitutional,
        )  # fmt: skip
        answer = self._services.recaller().recall(request)
        if not request.is_past:
            self._services.usage.recalled(answer.relevant, request.now)
            if request.recipe.forgets:
                self._services.usage.retrieved(answer.relevant, request.now)
        return answer

    def episodes(self, query: str, *, limit: int = 10, **filters: Unpack[Filters]) -> model.Recall:
        """Find the episodes of conversations that answer the query best: `recall` with the recipe `episodes` among
        them. `list(key_type="episode")` lists them.
        """
        return self.recall(query, limit=limit, recipe="episodes", **{**filters, "key_type": "episode"})

    def context(  # noqa: PLR0913 - one for each thing a caller may decide
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
        """Make one text of at most `budget` tokens to put before a model: the constitutional memories, then the best
        that recall finds, each with its date, number and origin. Long memories are abridged, near duplicates are left
        out, and `Context.omitted` names every memory that is not in the text. What does not fit is left out, with every
        recipe; `min_relevance` is as in `recall`.

        The text is data between two marks that no memory can forge. `format` is 'text', or 'records' for one JSON
        object per line.
        """
        room = validation.check_int(budget, "budget", 1, MAX_BUDGET)
        validation.check_choice(get_args(model.Format), format, "format")
        request = recall.query.check_request(
            self._services, self._namespace, validation.check_query(query), filters, concepts=concepts, limit=limit,
            namespaces=namespaces, recipe=recipe, as_of=as_of, known_at=known_at, min_relevance=min_relevance,
            include_constitutional=include_constitutional, for_model=True,
        )  # fmt: skip
        answer = self._services.recaller().recall(request)
        style = recall.envelope.Style(format, len(request.namespaces) > 1)
        packed = recall.pack.pack(answer, recall.pack.Pack(query, room, self._services.tokens, style))
        if not request.is_past:
            surfaced = {item.record.id for item in packed.items if item.relevance is not None}
            used = [one for one in answer.relevant if one.id in surfaced]
            self._services.usage.recalled(used, request.now)
            self._services.usage.read_by_model(used, request.now)
            if request.recipe.forgets:
                self._services.usage.retrieved(used, request.now)
        return packed

    def recall_detail(self, refs: References, *, level: model.Level = "full") -> tuple[model.Detail, ...]:
        """Get memories by reference, in as much detail as `level` says: 'index' is a line of about 20 tokens,
        'abstract' a few sentences, 'full' the whole text. It counts as access, not as recall. If one of the memories
        does not exist, NotFound is raised.
        """
        references = validation.check_references(refs, validation.MAX_REFERENCES)
        return lifecycle.lookup.details(self._services, self._namespace, references, level)

    def match_triggers(
        self, prompt: str, *, limit: int = 3, namespaces: Sequence[str] | None = None, told_in: Sequence[str] = ()
    ) -> tuple[model.Triggered, ...]:
        """Find the memories whose trigger phrase occurs in the prompt, in any case, accents and inflection: the surest
        match first, then the longest phrase, then the most important memory. No model is asked. `told_in` are the names
        of the project that asks: imports from another, untrusted project are left out.
        """
        now, most = self._services.context.clock(), validation.check_limit(limit)
        names = [self._namespace] if namespaces is None else validation.check_namespaces(namespaces)
        triggered = self._services.triggers().match(validation.check_query(prompt), names, most, now, tuple(told_in))
        self._services.usage.recalled((match.record for match in triggered), now)
        return tuple(triggered)

    def suggest(
        self,
        prompt: str,
        *,
        limit: int = 5,
        namespaces: Sequence[str] | None = None,
        without: Container[str] = (),
        told_in: Sequence[str] = (),
    ) -> model.Suggestions:
        """Find what a prompt brings to mind: the memories whose trigger phrase occurs in it, then those that fit it
        nearly as well as the best one. Messages of conversations, constitutional memories and those whose ids are in
        `without` are left out. `told_in` are the names of the project that asks: imports from another, untrusted
        project are left out, and so are learnings of other projects that fit little. The answer counts as recalled.
        """
        services, most = self._services, validation.check_limit(limit)
        request = recall.query.check_request(
            services, self._namespace, prompt, {}, limit=most + SPARE_SUGGESTIONS, namespaces=namespaces, for_model=True
        )
        places = tuple(told_in)
        triggered = services.triggers().match(prompt, request.namespaces, most + SPARE_SUGGESTIONS, request.now, places)
        request = replace(request, filter=model.Filter(hidden=KINDS, told_in=places), is_question=False)
        from perdure.recall.fitting import fitting_memories

        fitting = fitting_memories(services.recaller().recall(request).hits, places)
        found = {one.record.id: (one.record, model.SuggestedBy(one.phrase)) for one in triggered}
        for hit in fitting:
            found.setdefault(hit.record.id, (hit.record, model.SuggestedBy(None, hit.relevance, hit.explain)))
        seen = (one for id, one in found.items() if id not in without and one[0].tier != "constitutional")
        chosen = tuple(islice(seen, most))
        services.usage.recalled([record for record, _ in chosen], request.now)
        return model.Suggestions(tuple(record for record, _ in chosen), tuple(why for _, why in chosen))

    def summarize(
        self, scope: str | None = None, *, token_limit: int = 500, **filters: Unpack[Filters]
    ) -> model.Summary:
        """Make one text of at most `token_limit` tokens of the most telling sentences of all memories, or of those that
        `scope` (a question, some words, a key) and the filters find. Each line names the memory it comes from.
        """
        limit = validation.check_int(token_limit, "token_limit", 1, MAX_BUDGET)
        return lifecycle.summary.summarize_namespace(self._services, self._namespace, scope, limit, filters)

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, ref: Reference, *, known_at: datetime | str | None = None) -> model.Record:
        """Get one memory by its number, id, content hash or key, as it is now or as it was known at a time."""
        return lifecycle.lookup.get(self._services, self._namespace, ref, known_at)

    def list(
        self,
        *,
        limit: int = 20,
        after: int | None = None,
        newest: bool = True,
        known_at: datetime | str | None = None,
        **filters: Unpack[Filters],
    ) -> model.Page:
        """List memories by number, newest first, as they are now or as they were known at a time. `Page.next` is the
        `after` of the search page.
        """
        return lifecycle.lookup.list_page(
            self._services, self._namespace, filters, after=after, limit=limit, newest=newest, known_at=known_at
        )

    def conversations(self) -> builtins.list[str]:
        """List the ids of the conversations that have messages here."""
        from perdure.episodes.messages import conversation_ids

        return conversation_ids(self._services, self._namespace)

    def offers(self, *, limit: int = 20, after: int | None = None) -> model.Page:
        """List the memories that wait for a person to `promote` them, newest first."""
        filter = model.Filter(offered=True, unexpired_at=self._services.context.clock())
        with self._services.store.read(self._namespace) as reader:
            return lifecycle.lookup.page(reader.page, filter, after, validation.check_limit(limit))

    def constitution(self) -> model.Constitution:
        """Get the memories that every recall surfaces, oldest first, as many as fit their budget of tokens."""
        return lifecycle.constitution.constitution(self._services, self._namespace)

    def capacity(self, *, max_items: Limit = UNCHANGED, max_tokens: Limit = UNCHANGED) -> model.Capacity:
        """Say how full this namespace is, and which memories would be evicted first. A limit that is given is set for
        this namespace alone; 0 or None removes it, so that the settings count again. A lower limit evicts nothing by
        itself: the next write makes room.
        """
        if (max_items, max_tokens) != (UNCHANGED, UNCHANGED):
            lifecycle.capacity.set_limits(self._services, self._namespace, max_items, max_tokens)
        return lifecycle.capacity.capacity(self._services, self._namespace)

    def stats(self) -> StoreStats:
        """Count what the store holds, per namespace."""
        return self._services.store.stats(self._services.embedders.target().generation)

    # -- looking back --------------------------------------------------------------------------------------------------

    def history(self, ref: Reference) -> builtins.list[model.Revision]:
        """List everything that ever happened to a memory, oldest first, also when it is forgotten. The history of an
        erased memory, by its number or its id, says what was done to it and when, without its text.
        """
        return lifecycle.lookup.history(self._services.store, self._namespace, ref)

    def versions(self, ref: Reference) -> builtins.list[model.Version]:
        """List the versions of a memory, oldest first: one for each time its words changed."""
        return lifecycle.versions.versions_of(self.history(ref))

    def version(self, ref: Reference, n: int) -> model.Version:
        """Get one version of a memory, also of a forgotten one."""
        return lifecycle.versions.version_of(self.history(ref), n)

    def diff(self, ref: Reference, before: int | None = None, after: int | None = None) -> model.Diff:
        """Compare two versions: by default the current version with the one that it was made from."""
        return lifecycle.versions.difference(self.history(ref), before, after)

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
        """List who did what in this namespace, newest first. `before` is the `seq` of the last line that was shown."""
        filter = lifecycle.lookup.check_log_filter(
            batch=batch, session=session, actor=actor, operation=operation, since=since, until=until, before=before,
            clock=self._services.context.clock,
        )  # fmt: skip
        return lifecycle.lookup.log(self._services.store, self._namespace, filter, limit)

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
        """Take back what one call did (its `batch`, or the first or last 8 characters), or all that a session or an
        actor wrote, `since` a moment if you like. Every memory becomes byte for byte what it was before; memories that
        were created by it are removed. Undoing the batch of the answer takes the undo back.

        If others changed one of the memories since, or one was erased, a Conflict says so and nothing happens; with
        `force` their changes are overruled, and the erased ones are named in `skipped`. The answer has no batch if
        there was nothing to do, or with `dry_run`. `all_namespaces` means all namespaces, in one transaction.
        """
        clock = self._services.context.clock
        filter = lifecycle.lookup.check_log_filter(batch=batch, session=session, actor=actor, since=since, clock=clock)
        forced, dry = validation.check_bool(force, "force"), validation.check_bool(dry_run, "dry_run")
        names = (
            self._services.store.namespaces()
            if validation.check_bool(all_namespaces, "all_namespaces")
            else [self._namespace]
        )
        return lifecycle.undo.undo(self._services, names, filter, force=forced, dry_run=dry)

    def checkpoint(
        self,
        name: str,
        *,
        description: str | None = None,
        spec_folder: str | None = None,
        metadata: Mapping[str, model.Json] | None = None,
        all_namespaces: bool = False,
    ) -> model.Checkpoint:
        """Give the present state a name: of this namespace, of one spec folder in it, or of all namespaces.

        A checkpoint costs one small write, however much is stored, and copies nothing: what is erased later is gone
        from the checkpoint too.
        """
        covered = None if validation.check_bool(all_namespaces, "all_namespaces") else self._namespace
        return lifecycle.checkpoint.create(
            self._services, covered, name, spec_folder=spec_folder, description=description, metadata=metadata
        )

    def checkpoints(self, *, spec_folder: str | None = None, limit: int = 50) -> builtins.list[model.Checkpoint]:
        """List the checkpoints of this namespace and those of everything, newest first."""
        return lifecycle.checkpoint.visible(self._services.store, self._namespace, spec_folder, limit)

    def restore_checkpoint(
        self, name: str, *, clear_existing: bool = False, dry_run: bool = False
    ) -> model.RevertResult:
        """Make everything that the checkpoint covers what it was then. Memories that were created later stay, unless
        `clear_existing` removes them.

        A restore appends to the log, so undoing the batch of the answer takes it back. Memories that were erased since
        do not come back: `skipped` names them.
        """
        clear, dry = validation.check_bool(clear_existing, "clear_existing"), validation.check_bool(dry_run, "dry_run")
        return lifecycle.checkpoint.restore(self._services, self._namespace, name, clear=clear, dry_run=dry)

    def delete_checkpoint(self, name: str) -> model.Checkpoint:
        """Delete the name of a checkpoint. The memories and their history stay."""
        return lifecycle.checkpoint.delete(self._services, self._namespace, name)

    # -- learning ------------------------------------------------------------------------------------------------------

    def consolidate(
        self,
        conversation_id: str | None = None,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Make facts of the episodes that wait, of one conversation or of all, however few they are: the language model
        of the settings is asked, or rules find them. Facts are added, get more evidence, or end and are superseded;
        none is deleted, and undoing the batch of the answer takes all of it back.

        `work` does so when a session has ended, when enough episodes wait in the namespace or a surprising one, or
        when the oldest has waited for a day. `dry_run` changes nothing. `limit` is how many episodes are looked at.
        """
        from perdure.learn.consolidate import consolidate

        dry = validation.check_bool(dry_run, "dry_run")
        return consolidate(
            self._services, self._namespace, conversation_id, dry_run=dry, limit=limit, progress=progress
        )

    def open_consolidation(
        self, conversation_id: str | None = None, *, limit: int | None = None
    ) -> ConsolidationTask | None:
        """Hand out the oldest episodes of a conversation that wait, with the facts that are related to them and with
        instructions, for the agent itself to consolidate. None when nothing waits. Nothing is written.
        """
        from perdure.learn.consolidate import open_consolidation

        return open_consolidation(self._services, self._namespace, conversation_id, limit)

    def finish_consolidation(
        self, token: str, actions: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    ) -> Consolidation:
        """Take back what the agent makes of a task, as its schema says. Only facts that the task showed can be named:
        any other number means a new fact. A Conflict is raised when the episodes were consolidated, or changed, since.
        """
        from perdure.learn.agent_task import finish

        return finish(self._services, self._namespace, token, actions)

    def facts(
        self,
        query: str | None = None,
        *,
        about: str | None = None,
        limit: int = 20,
        history: bool = False,
        **filters: Unpack[Filters],
    ) -> tuple[Fact, ...]:
        """Find the facts that answer the query best, by the recipe `facts`; without a query, list the newest. Filters
        are as in `recall`: `conversation_id` stays within one conversation, `category` is one of S2's eight. Each comes
        with the facts that it took the place of; with `history`, facts that ended are found as well.

        `about` is a person, by any name that they go by, or a thing: what is known of them alone, by category, the
        newest first.
        """
        from perdure.learn.facts import find_facts

        return find_facts(self._services, self._namespace, query, filters, limit=limit, history=history, about=about)

    def conflicts(self, *, limit: int = 20) -> builtins.list[Proposal]:
        """List the undecided pairs of memories that cannot both be true, newest first. They are proposals: `accept` and
        `reject` settle them. `uncompared` counts the memories that were not compared yet.
        """
        return self.review("conflict", limit=limit)

    def uncompared(self) -> int | None:
        """Count the memories that were not yet compared with those near them, up to a thousand; `work` compares them.
        None if memories are not compared: without the local model, or with `learn` other than `auto`.
        """
        from perdure.learn.compare_work import uncompared

        return uncompared(self._services, self._namespace)

    def save_memory(self, text: str, *, role: str | None = None, **fields: Unpack[Fields]) -> Saved:
        """Store a memory, and merge it with what says the same: what is known to the letter is one more observation.

        `role` is `user` or `assistant` and stands before the text that is stored. Memories of the same scope become one
        when they are nearer than `merge_always` and their words have nothing against it; where neither is clear, the
        language model decides, and without one a person (`review`). What contradicts the text is never merged. The
        memories that became one stay, restorable, and one undo takes everything back.
        """
        from perdure.learn.save import save_memory

        return save_memory(self._services, self._namespace, text, role, fields)

    def review(self, kind: str | None = None, *, limit: int = 20) -> builtins.list[Proposal]:
        """List what waits for a person, newest first: pairs of memories that may say the same (`merge`), or cannot both
        be true (`conflict`).
        """
        from perdure.learn.proposals import review

        return review(self._services, self._namespace, kind, limit)

    def accept(self, proposal: Proposal | Reference, *, keep: Reference | None = None) -> Decision:
        """Apply a proposal. A merge is made even if the gate objects (see `notes`). In a conflict the newer memory
        supersedes the older; `keep` names the one to keep instead. One undo takes it back. Only a person may do this.
        """
        from perdure.learn.review import accept

        return accept(self._services, self._namespace, proposal, keep)

    def reject(self, proposal: Proposal | Reference) -> Decision:
        """Leave both memories of a proposal as they are. The pair is not proposed again, unless one of them changes.
        Only a person may do this.
        """
        from perdure.learn.review import reject

        return reject(self._services, self._namespace, proposal)

    def learnings(
        self,
        query: str | None = None,
        *,
        limit: int = 20,
        namespaces: Sequence[str] | None = None,
        recipe: str = "learnings",
        asked: AskedVectors | None = None,
        told_in: Sequence[str] = (),
        min_relevance: float = 0.0,
        project: str | None = None,
    ) -> LearningsFound:
        """Find the learnings for somebody who starts to work, each with its reasons: patterns, anti-patterns and
        heuristics. Without a query they are ordered by prominence alone. They count as used only when `injected` says
        so. `asked` keeps the vectors of queries, so that a repeated query needs no model. `told_in` are the names of
        the project that asks: imports from another, untrusted project are left out. `min_relevance`, from 0 to 1,
        leaves out what fits less by its meaning, and `project` what was learned in another project.
        """
        from perdure.recall.learnings import find_learnings

        names = namespaces or [self._namespace]
        return find_learnings(
            self._services, query, names, limit=limit, recipe=recipe, asked=asked, told_in=tuple(told_in),
            min_relevance=min_relevance, project=project,
        )  # fmt: skip

    def injected(self, records: Sequence[model.Record]) -> None:
        """Count that these memories were put before a model without being asked for, best first: each is one recall."""
        self._services.usage.recalled(records, self._services.context.clock())

    def note_markdown(self, project: Path | None = None, shared: Path | None = None) -> None:
        """Note that memories of this namespace also stand in Markdown files: in the knowledge bank and the memory files
        of a project, or in a bank that projects share. Erasing a memory takes it out of them.
        """
        from perdure.bank.copies import note_folders

        note_folders(self._services.store, self._namespace, project, shared)

    def forgotten_since(self, text: str, key: str | None = None) -> datetime | None:
        """Since when this text, under this key, is forgotten, corrected or erased here; None where it is not."""
        with self._services.store.read(self._namespace) as reader:
            said = self._services.redact(text).text
            return reader.tombstone_since(model.Identity(content_hash(said), key))

    def parked(self) -> builtins.list[Parked]:
        """List what a language model said in this namespace that could not be used, oldest first."""
        return lifecycle.parked.parked(self._services, self._namespace)

    def retry_parked(self, ids: Sequence[int] | None = None) -> model.ParkedRetry:
        """Ask the language model again about what is parked under these ids, or about all of it."""
        from perdure.learn.consolidate import RETRIES

        return lifecycle.parked.retry(self._services, self._namespace, ids, RETRIES)

    def discard_parked(self, ids: Sequence[int] | None = None) -> tuple[int, ...]:
        """Throw away what is parked under these ids, or all of it, and answer what was thrown away. Memories stay as
        they are.
        """
        return lifecycle.parked.discard(self._services, self._namespace, ids)

    # -- looking after the store ---------------------------------------------------------------------------------------

    def work(
        self,
        *,
        limit: int | None = None,
        purge: bool | None = None,
        drop_old_vectors: bool = False,
        progress: Progress | None = None,
    ) -> model.MaintenanceResult:
        """Do what is outstanding, in every namespace: expire memories that are due, purge evicted ones whose grace
        period is over, make episodes of messages and facts of episodes, review the episodes that were retrieved, find
        keywords for learnings, compute vectors for the memories that have none. If the clock leapt, purging waits until
        a week of writes has followed, or until `purge=True` says that the clock is right; `purge=False` purges nothing.
        `drop_old_vectors` deletes the vectors of models that were in use before.
        """
        from perdure.work import work

        return work(self._services, limit=limit, purge=purge, drop_old_vectors=drop_old_vectors, progress=progress)

    def egress(self, *, since: datetime | str | None = None, limit: int = 20) -> model.Egress:
        """List what left this machine: every request to a model that is not on it, with its purpose and its size, but
        without a word of any text; and how much of today's budget is used.
        """
        return lifecycle.egress.egress(self._services, since, limit)

    def export(
        self,
        target: StrPath | TextIO,
        *,
        states: Sequence[model.State] = ("active",),
        all_namespaces: bool = False,
        progress: Progress | None = None,
    ) -> model.Exported:
        """Write this namespace, or all of them, as JSON Lines. A path is replaced whole or not at all."""
        name = None if validation.check_bool(all_namespaces, "all_namespaces") else self._namespace
        wanted = validation.check_filters({"states": states}).states
        return lifecycle.import_export.export_to(self._services, name, target, wanted, progress)

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
        """Read memories from JSON Lines, an array or mappings. All are checked first: one bad one, and none is stored.

        `trusted` keeps the source, trust, times and counts that an export of your own carries. A record that was
        forgotten or corrected here after its last update is skipped, unless `revive` brings it back. All go into this
        namespace, or with `all_namespaces` each into the one it names; one undo takes them back, `all_namespaces`.
        `dry_run` only counts what would become of them.
        """
        flags = {"trusted": trusted, "revive": revive, "all_namespaces": all_namespaces, "dry_run": dry_run}
        checked = {name: validation.check_bool(flag, name) for name, flag in flags.items()}
        return lifecycle.import_export.import_from(
            self._services, self._namespace, source, progress=progress, **checked
        )

    def backup(self, path: StrPath, progress: Progress | None = None, *, overwrite: bool = False) -> model.Backup:
        """Copy the whole store, all namespaces, to a file while others go on working. The copy is read again and
        checked before it gets its name; its checksum stands in `<path>.sha256`.
        """
        overwrite = validation.check_bool(overwrite, "overwrite")
        return lifecycle.backup.backup(
            self._services, validation.check_path(path), overwrite=overwrite, progress=progress
        )

    def restore_backup(
        self, path: StrPath, *, keep: bool = True, erased: StrPath | None = None, progress: Progress | None = None
    ) -> model.BackupRestored:
        """Replace the whole store, all namespaces, by a backup, all or nothing. A `StoreBusy` error is raised while
        another process, or another Memory object of this one, has the store open. What was erased here since the
        backup is erased again. On another machine, `erased` names the list of what was erased, `<store>-erased` beside
        the store. With `keep`, a backup of the present store is made first.
        """
        ledger = None if erased is None else validation.check_path(erased)
        return lifecycle.backup.restore_backup(
            self._services,
            validation.check_path(path),
            keep=validation.check_bool(keep, "keep"),
            erased=ledger,
            progress=progress,
        )

    def doctor(
        self,
        *,
        repair: bool = False,
        online: bool = False,
        secrets: bool = False,
        erased: StrPath | None = None,
        progress: Progress | None = None,
    ) -> Iterator[model.Finding]:
        """Check everything that can be wrong with a store. `repair` first brings damaged records back from their
        history, where it can be proven, and rebuilds what is derived. `online` also asks the embedder and the language
        model whether they answer.

        `secrets` looks for secrets instead, in all namespaces and their history; `repair` then takes them out for good.

        `erased` names a list of erased memories, `<store>-erased`: what is on it and has come back, because a database
        was restored to an earlier moment, is first erased again.
        """
        services = self._services
        ledger = None if erased is None else validation.check_path(erased)
        if validation.check_bool(secrets, "secrets"):
            return lifecycle.secret_sweep.sweep_secrets(services, repair=repair, progress=progress)
        models = lifecycle.provider_check.check_providers(services, online=validation.check_bool(online, "online"))
        from perdure.recall.index_check import check_index_files
        from perdure.store.capabilities import examine

        again = () if ledger is None else lifecycle.erase_again.erase_again(services, ledger)
        indexes = check_index_files(services.store, repair=repair)
        return chain(again, models, examine(services.store, repair=repair), indexes)

    # -- shared by the verbs -------------------------------------------------------------------------------------------

    def _find(self, ref: Reference) -> model.Record:
        return lifecycle.lookup.find(self._services.store, self._namespace, ref)

    def _written(
        self, done: model.Remembered, notes: tuple[str, ...] = (), *, check_budget: bool = True
    ) -> model.Remembered:
        """The answer of a write, with everything that its caller should hear."""
        if check_budget and done.outcome != "repeated" and done.record.tier == "constitutional":
            notes = (*notes, *lifecycle.constitution.over_budget(self._services, done.record))
        notes = (*notes, *done.notes, *(self._services.note_missing_embedder() if done.vector_pending else ()))
        return replace(done, notes=notes) if notes else done

    def _comparison(self, request: WriteRequest | None = None) -> Comparison | None:
        """Compares the next write with the memories near it; None if `work` does that later, or no model can."""
        services, namespace = self._services, self._namespace
        generation = services.embedders.current().generation
        # How near is near is known of the local model alone.
        if generation is None or generation.provider != "local" or services.judge is None:
            return None
        if services.context.is_in_batch or services.context.surface == "hook":
            return None
        from perdure.lifecycle.comparison import COLD_LINES

        if not services.has_index(namespace) and services.store.position(namespace, generation).seq > COLD_LINES:
            return None
        from perdure.learn.compare import WriteComparison

        return WriteComparison(services, request)
