"""Which memory a command works on, and in which form it answers: the options every command shares."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import option
from perdure.cli.document import document
from perdure.cli.screen import say

if TYPE_CHECKING:
    from perdure.memory import Memory


@dataclass(frozen=True, slots=True)
class Target:
    store: str | None
    namespaces: tuple[str, ...]
    json: bool

    @contextmanager
    def memory(self) -> Generator[Memory]:
        from perdure.memory import Memory

        with Memory(self.store, namespace=self.namespaces[0] if self.namespaces else None, surface="cli") as memory:
            yield memory

    def answer(self, value: object) -> None:
        """The one JSON document of this command."""
        say(document(value))

    def hint(self, *words: object) -> str:
        """A command to paste that works on the same memory."""
        store = ["--store", self.store] if self.store else []
        namespaces = [word for name in self.namespaces for word in ("--namespace", name)]
        return shlex.join(["perdure", *map(str, words), *namespaces, *store])


def with_target(*, several: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds --namespace, --store and --json, and hands them over as the first argument, a `Target`."""
    names = "Whose memories. Repeat it to search several at once." if several else "Whose memories."

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @option("--namespace", "-n", "namespaces", multiple=True, metavar="NAME", help=f"{names}  [default: default]")
        @option("--store", "-s", metavar="FILE", help="The file that holds them.  [default: your data directory]")
        @option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
        @wraps(function)
        def wrapper(*args: Any, namespaces: tuple[str, ...], store: str | None, as_json: bool, **options: Any) -> None:
            if len(namespaces) > 1 and not several:
                raise click.UsageError("This command works on one namespace; name it once.")
            function(Target(store, namespaces, as_json), *args, **options)

        return wrapper

    return decorate
