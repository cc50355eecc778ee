from __future__ import annotations

from itertools import chain, repeat

import pytest

from perdure.cli import progress
from perdure.cli.progress import Bar


@pytest.mark.parametrize(
    ("terminal", "times", "shown"),
    [(True, (0.0, 0.5, 0.9), False), (True, (0.0, 0.5, 1.5), True), (False, (0.0, 5.0, 9.0), False)],
    ids=["quick work", "long work", "no terminal"],
)
def test_a_bar_appears_on_a_terminal_once_work_took_a_second(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
    times: tuple[float, ...],
    shown: bool,
):
    def is_terminal(_stream: object) -> bool:
        return terminal

    monkeypatch.setattr(progress, "is_terminal", is_terminal)
    ticks = chain(times, repeat(times[-1]))
    with Bar("Embedding", clock=lambda: next(ticks)) as bar:
        bar(1, 3)
        bar(2, 3)
        bar(3, None)
    said = capsys.readouterr()
    assert said.out == ""
    assert ("Embedding" in said.err) is shown
