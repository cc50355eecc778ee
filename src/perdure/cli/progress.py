"""A progress bar on stderr: only on a terminal, and only once the work has taken a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from perdure.cli.terminal import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS: Final = 1.0


class Bar:
    """Call it with (done, total)."""

    def __init__(self, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._clock = clock
        self._started = clock()
        self._wanted = is_terminal(sys.stderr)
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int | None) -> None:
        if not self._wanted:
            return
        if self._shown is None:
            if self._clock() - self._started < _PATIENCE_SECONDS:
                return
            self._shown = self._show()
        progress, task = self._shown
        progress.update(task, completed=done, total=total or None)

    def _show(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=True), transient=True,
        )  # fmt: skip
        progress.start()
        return progress, progress.add_task(self._label, total=None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
