"""Every life a memory can have, in any order, with restarts and kills between: the store and a plain model agree."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lives.plain_model import Life, Op, PlainMemory
from store.children import Child

from perdure import Memory, errors
from perdure.model import STATES
from perdure.testing.buggify import buggified

EXAMPLES = int(os.environ.get("PERDURE_LIVES", "60"))
STEPS = 50

Verb: TypeAlias = Callable[[Memory], Any]

WORDS = ("osaka", "Osaka", "tokyo", "flat", "tea")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join)
KEYS = st.sampled_from(("city:alice", "city:bob"))
TAGS = st.sampled_from(("home", "work"))
CONVERSATIONS = st.sampled_from((None, "c1"))
CHECKPOINTS = st.sampled_from(("one", "two"))
# Where a process may die. A call that does not come by is not killed, and must have done all of its work.
POINTS = (
    "put: memory written",
    "put: revision written",
    "before commit",
    "after commit",
    "rewind: half written",
    "erase: payloads deleted",
    "erase: memory deleted",
)


class Lives(RuleBasedStateMachine):
    """`_do` runs a verb on both sides; with `killed` in a child that dies at a labelled point."""

    @initialize()
    def open_a_store(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="lives"))
        self.plain = PlainMemory()
        self.ids: list[str] = []
        self.ticks = count(1)
        self.dying: tuple[str, int] | None = None
        self.memory = self._open()

    def _open(self) -> Memory:
        return Memory(self.directory / "memory.db", embedder="none", clock=self._clock)

    def _clock(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(self.ticks))

    def _do(self, op: Op, verb: Verb) -> None:
        after = self.plain.after(op)
        if self.dying is not None:
            self._do_and_die(after, verb)
            return
        verb(self.memory)
        self.plain = after
        self._note_batches()

    def _do_and_die(self, after: PlainMemory, verb: Verb) -> None:
        label, nth = self.dying or ("", 1)
        self.dying = None
        self.memory.close()

        def job() -> None:
            with buggified(label, "kill", nth), self._open() as memory:
                verb(memory)

        _, status = Child(job).result()
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0
        self.memory = self._open()
        lives = self._lives()
        if lives == after.lives and after.checkpoints == self._positions(after):
            self.plain = after
        else:
            assert killed
            assert lives == self.plain.lives
        self._note_batches()

    def _refused(self, verb: Verb) -> None:
        """Nothing is changed; `both_sides_agree` looks."""
        with pytest.raises(errors.Conflict, match="says the same"):
            verb(self.memory)

    def _positions(self, expected: PlainMemory) -> dict[str, dict[int, Life]]:
        names = {checkpoint.name for checkpoint in self.memory.checkpoints()}
        return {name: lives for name, lives in expected.checkpoints.items() if name in names}

    def _note_batches(self) -> None:
        """The ids of the batches in their order, as the log has them."""
        lines = self.memory.log(limit=100)
        known = set(self.ids)
        new = list(dict.fromkeys(line.change.batch for line in reversed(lines) if line.change.batch not in known))
        self.ids.extend(new)
        assert len(self.ids) == len(self.plain.batches)

    def _lives(self) -> dict[int, Life]:
        return {record.number: Life.of(record) for record in self.memory.list(states=STATES, limit=100)}

    def _some(self, data: st.DataObject, *states: str) -> int:
        return data.draw(st.sampled_from(self._in(*states)))

    def _in(self, *states: str) -> list[int]:
        return [life.number for life in self.plain.lives.values() if not states or life.state in states]

    @rule(label=st.sampled_from(POINTS), nth=st.integers(1, 2))
    def the_next_call_may_be_killed(self, label: str, nth: int) -> None:
        self.dying = (label, nth)

    @rule()
    def restart(self) -> None:
        self.memory.close()
        self.memory = self._open()

    @rule(text=TEXTS, tags=st.frozensets(TAGS), conversation=CONVERSATIONS, title=st.sampled_from((None, "one", "two")))
    def remember(self, text: str, tags: frozenset[str], conversation: str | None, title: str | None) -> None:
        given: dict[str, Any] = {} if title is None else {"title": title}
        self._do(
            lambda plain: plain.remember(text, tags, conversation, title),
            lambda memory: memory.remember(text, tags=sorted(tags), conversation_id=conversation, **given),
        )

    @rule(key=KEYS, text=TEXTS, conversation=CONVERSATIONS)
    def upsert(self, key: str, text: str, conversation: str | None) -> None:
        self._do(
            lambda plain: plain.upsert(key, text, conversation),
            lambda memory: memory.upsert(key, text, conversation_id=conversation),
        )

    @precondition(lambda self: self._in("active"))
    @rule(data=st.data(), text=TEXTS)
    def correct(self, data: st.DataObject, text: str) -> None:
        number = self._some(data, "active")
        if self.plain.makes_a_twin(number, text):
            self._refused(lambda memory: memory.update(number, text=text))
            return
        self._do(lambda plain: plain.correct(number, text), lambda memory: memory.update(number, text=text))

    @precondition(lambda self: self._in("active"))
    @rule(data=st.data(), tag=TAGS)
    def tag(self, data: st.DataObject, tag: str) -> None:
        number = self._some(data, "active")
        self._do(lambda plain: plain.tag(number, tag), lambda memory: memory.update(number, add_tags=[tag]))

    @precondition(lambda self: self._in("active"))
    @rule(data=st.data())
    def forget_some(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self._in("active")), min_size=1, max_size=3, unique=True))
        numbers = tuple(sorted(chosen))
        self._do(lambda plain: plain.forget(numbers), lambda memory: memory.forget(list(numbers), confirm=True))

    @precondition(lambda self: self._in("deleted"))
    @rule(data=st.data())
    def restore_some(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self._in("deleted")), min_size=1, max_size=3, unique=True))
        numbers = tuple(sorted(chosen))
        together = self.plain
        twins = False
        for number in numbers:
            twins = twins or together.makes_a_twin(number, together.lives[number].text)
            together = together.after(lambda plain, number=number: plain.restore((number,)))
        if twins:
            self._refused(lambda memory: memory.restore(numbers))
            return
        self._do(lambda plain: plain.restore(numbers), lambda memory: memory.restore(numbers))

    @precondition(lambda self: self._in())
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        number = self._some(data)
        self._do(lambda plain: plain.erase(number), lambda memory: memory.erase(number, confirm=True))

    @precondition(lambda self: self._in("active"))
    @rule(data=st.data(), useful=st.booleans())
    def validate(self, data: st.DataObject, useful: bool) -> None:
        number = self._some(data, "active")
        self._do(
            lambda plain: plain.validate(number, useful=useful), lambda memory: memory.validate(number, useful=useful)
        )

    @precondition(lambda self: self._in("active"))
    @rule(data=st.data(), tier=st.sampled_from(("critical", "important")))
    def promote(self, data: st.DataObject, tier: str) -> None:
        number = self._some(data, "active")
        self._do(lambda plain: plain.promote(number, tier), lambda memory: memory.promote(number, tier=tier))

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.ids) - 1))
        batch = self.ids[place]
        self._do(lambda plain: plain.undo(place), lambda memory: memory.undo(batch, force=True))

    @rule(name=CHECKPOINTS)
    def checkpoint(self, name: str) -> None:
        if name in self.plain.checkpoints:
            self.memory.delete_checkpoint(name)
            del self.plain.checkpoints[name]
        self._do(lambda plain: plain.checkpoint(name), lambda memory: memory.checkpoint(name))

    @precondition(lambda self: self.plain.checkpoints)
    @rule(data=st.data(), clear=st.booleans())
    def restore_checkpoint(self, data: st.DataObject, clear: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.plain.checkpoints)))
        self._do(
            lambda plain: plain.restore_checkpoint(name, clear=clear),
            lambda memory: memory.restore_checkpoint(name, clear_existing=clear),
        )

    @invariant()
    def both_sides_agree(self) -> None:
        assert self._lives() == self.plain.lives

    @invariant()
    def what_is_active_and_nothing_else_is_found_by_its_words(self) -> None:
        for word in ("osaka", "flat"):
            expected = {
                n for n, life in self.plain.lives.items() if life.state == "active" and word in life.text.lower()
            }
            assert {hit.record.number for hit in self.memory.recall(word, limit=100)} == expected

    @precondition(lambda self: self.plain.checkpoints)
    @invariant()
    def a_checkpoint_is_a_moment_that_can_be_looked_at(self) -> None:
        assert {each.name for each in self.memory.checkpoints()} == set(self.plain.checkpoints)

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        try:
            assert [finding for finding in self.memory.doctor() if finding.level == "problem"] == []
        finally:
            self.memory.close()
            shutil.rmtree(self.directory)


Lives.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TestLives = Lives.TestCase
