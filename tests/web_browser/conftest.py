from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from clocks import NOON, HandClock
from learn.proposals import proposed
from serve.running import RunningServer
from web.stories import tell
from web_browser.browser import Browser, launched

from perdure import Memory

CHROMIUM = "Chromium is not there. Install it, on Debian: apt-get install chromium"


@dataclass(frozen=True)
class Served:
    """A store that `perdure ui` shows. `link` opens the page once."""

    store: Path
    link: str
    numbers: dict[str, int]

    @property
    def base(self) -> str:
        return self.link.partition("open?")[0]

    def new_link(self) -> str:
        from perdure.clock import system_clock
        from perdure.web.sign_in import Admissions

        port = int(self.base.split(":")[2].partition("/")[0])
        secret = Admissions(self.store.with_name(f"{self.store.name}-page"), system_clock).new_link(port)
        return f"{self.base}open?link={secret}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's own Chromium; names of attackers lead to this machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail(CHROMIUM)
    (packages,) = Path(os.environ["PERDURE_WEB"]).glob("lib/python*/site-packages")
    with launched(packages, program, "--host-resolver-rules=MAP *.example 127.0.0.1") as browser:
        yield browser


@pytest.fixture
def serve(stranger: Path) -> Iterator[Callable[..., Served]]:
    """Starts `perdure ui` for a memory that a function has told something. It lies in the home directory, so that no
    picture shows where tests run.
    """
    with ExitStack() as servers:

        def start(story: Callable[[Memory, HandClock], dict[str, int]] = told) -> Served:
            store, clock = stranger / "memory.db", HandClock(NOON)
            with Memory(store, embedder="none", clock=clock, actor="ada") as memory:
                numbers = story(memory, clock)
            server = servers.enter_context(
                RunningServer(store, ("--no-open",), {"PERDURE_ACTOR": "ada"}, program=("perdure", "ui"))
            )
            return Served(store, server.started["url"], numbers)

        yield start


def told(memory: Memory, clock: HandClock) -> dict[str, int]:
    numbers = tell(memory, clock)
    first, second = (memory.remember(f"The canteen opens at {hour}").record for hour in ("eleven", "noon"))
    proposed(memory, first, second, "conflict")
    one, other = (memory.remember(text).record for text in ("Ada likes tea", "Ada is fond of tea"))
    proposed(memory, one, other)
    return numbers
