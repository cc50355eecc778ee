"""A memory without a database: the same verbs on dictionaries, written to be obviously right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from perdure.ids import content_hash
from perdure.model import Record

STEP = 0.28


@dataclass(frozen=True)
class Life:
    """What the test compares of one memory. The confidence is compared bit for bit: rounded at each step, it drifts."""

    number: int
    text: str
    key: str | None = None
    conversation: str | None = None
    title: str | None = None
    tags: frozenset[str] = frozenset()
    state: str = "active"
    version: int = 1
    observations: int = 1
    confidence: float = 0.5
    validations: int = 0
    tier: str = "normal"

    @classmethod
    def of(cls, record: Record) -> Life:
        return cls(
            record.number,
            record.text,
            record.key,
            record.conversation_id,
            record.title,
            frozenset(record.tags),
            record.state,
            record.version,
            record.observation_count,
            record.confidence,
            record.validation_count,
            record.tier,
        )


Lives: TypeAlias = dict[int, Life]
Op: TypeAlias = Callable[["PlainMemory"], None]


@dataclass
class PlainMemory:
    """`batches` holds, for each call that changed something, what each touched memory was before it."""

    lives: Lives = field(default_factory=dict[int, Life])
    erased: set[int] = field(default_factory=set[int])
    highest: dict[int, int] = field(default_factory=dict[int, int])
    batches: list[dict[int, Life | None]] = field(default_factory=list[dict[int, Life | None]])
    checkpoints: dict[str, Lives] = field(default_factory=dict[str, Lives])

    def after(self, op: Op) -> PlainMemory:
        other = deepcopy(self)
        op(other)
        return other

    def remember(
        self, text: str, tags: frozenset[str] = frozenset(), conversation: str | None = None, title: str | None = None
    ) -> None:
        known = self.same(text, conversation)
        if known is None:
            self._put(Life(self._next(), text, conversation=conversation, title=title, tags=tags))
            return
        said = replace(known, tags=known.tags | tags, observations=known.observations + 1)
        if title is not None and title != known.title:
            said = replace(said, title=title, version=self._new_version(known))
        self._put(said)

    def same(self, text: str, conversation: str | None, other_than: int = 0) -> Life | None:
        """The memory without a key that says this in this conversation; of twins, which an undo may make, the first."""
        same = [
            life
            for life in self.lives.values()
            if (life.state, life.key, life.conversation) == ("active", None, conversation)
            and life.number != other_than
            and content_hash(life.text) == content_hash(text)
        ]
        return min(same, key=lambda life: life.number, default=None)

    def upsert(self, key: str, text: str, conversation: str | None = None) -> None:
        known = self.keyed(key)
        if known is None:
            self._put(Life(self._next(), text, key, conversation))
        else:
            self._put(replace(known, text=text, state="active", version=self._new_version(known)))

    def correct(self, number: int, text: str) -> None:
        life = self.lives[number]
        if life.text != text:
            self._put(replace(life, text=text, version=self._new_version(life)))

    def makes_a_twin(self, number: int, text: str) -> bool:
        """Whether the memory would say what another one says, which a correction and a restore refuse."""
        life = self.lives[number]
        if life.key is not None or (life.state == "active" and content_hash(life.text) == content_hash(text)):
            return False
        return self.same(text, life.conversation, other_than=number) is not None

    def tag(self, number: int, tag: str) -> None:
        life = self.lives[number]
        if tag not in life.tags:
            self._put(replace(life, tags=life.tags | {tag}))

    def forget(self, numbers: tuple[int, ...]) -> None:
        self._put(*(replace(self.lives[number], state="deleted") for number in numbers))

    def restore(self, numbers: tuple[int, ...]) -> None:
        self._put(*(replace(self.lives[number], state="active") for number in numbers))

    def erase(self, number: int) -> None:
        self.batches.append({number: self.lives.pop(number)})
        self.erased.add(number)

    def validate(self, number: int, *, useful: bool) -> None:
        life = self.lives[number]
        moved = life.confidence + STEP * ((1.0 if useful else 0.0) - life.confidence)
        self._put(replace(life, confidence=moved, validations=life.validations + 1))

    def promote(self, number: int, tier: str) -> None:
        life = self.lives[number]
        if life.tier != tier:
            self._put(replace(life, tier=tier))

    def undo(self, place: int) -> None:
        """By force: whatever happened since, each memory becomes what it was before that call."""
        self._bring_back(self.batches[place], removing=True)

    def checkpoint(self, name: str) -> None:
        self.checkpoints[name] = dict(self.lives)

    def restore_checkpoint(self, name: str, *, clear: bool) -> None:
        then = self.checkpoints[name]
        self._bring_back({number: then.get(number) for number in self.lives}, removing=clear)

    def _bring_back(self, goals: Mapping[int, Life | None], *, removing: bool) -> None:
        changed: list[Life] = []
        for number, goal in goals.items():
            now = self.lives.get(number)
            if now is None:
                continue
            if goal is None and removing and now.state != "deleted":
                changed.append(replace(now, state="deleted"))
            elif goal is not None and goal != now:
                changed.append(goal)
        self._put(*changed)

    def keyed(self, key: str) -> Life | None:
        return next((life for life in self.lives.values() if life.key == key), None)

    def _put(self, *lives: Life) -> None:
        if not lives:
            return
        self.batches.append({life.number: self.lives.get(life.number) for life in lives})
        for life in lives:
            self.lives[life.number] = life
            self.highest[life.number] = max(self.highest.get(life.number, 0), life.version)

    def _next(self) -> int:
        return max([0, *self.lives, *self.erased]) + 1

    def _new_version(self, life: Life) -> int:
        return self.highest[life.number] + 1
