"""The options every command shares: which memory it works on, and in which form it answers."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from perdure.clock import format_time

if TYPE_CHECKING:
    from perdure.memory import Memory


@dataclass(frozen=True, slots=True)
class Target:
    store: str | None
    namespaces: tuple[str, ...]
    json: bool

    @property
    def several(self) -> tuple[str, ...] | None:
        """The namespaces, when there is more than one to search."""
        return self.namespaces if len(self.namespaces) > 1 else None

    @contextmanager
    def memory(self) -> Generator[Memory]:
        from perdure.memory import Memory

        with Memory(self.store, namespace=self.namespaces[0] if self.namespaces else None, surface="cli") as memory:
            yield memory

    def hint(self, *words: object, **options: object) -> str:
        """A command to paste that works on the same memory. Options that were not given are left out."""
        line = ["perdure", *map(str, words)]
        for name, value in options.items():
            if value is None or value is False:
                continue
            values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
            for item in values:
                line.append(f"--{name.replace('_', '-')}")
                if item is not True:
                    line.append(format_time(item) if isinstance(item, datetime) else str(item))
        for name in self.namespaces:
            line += ["--namespace", name]
        return shlex.join([*line, *(["--store", self.store] if self.store else [])])

    @property
    def first_memory(self) -> str:
        """What to do where there is no memory yet."""
        return f"Store one: {self.hint('remember', 'Alice prefers dark mode')}"
