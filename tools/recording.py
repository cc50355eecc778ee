"""Writes docs/demo.svg, a recording of `perdure demo` in four frames: `.venv/bin/python tools/recording.py`.

Every line of the recording is one that the program printed; tests/cli/test_demo.py compares them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

RECORDING: Final = Path(__file__).parent.parent / "docs" / "demo.svg"
FRAME_SECONDS: Final = 6
# Of each frame its caption, and how the paragraphs of the demo begin that it shows.
FRAMES: Final = (
    ("An agent learns, and somebody asks in other words", ("An agent learns", "Somebody asks")),
    ("Another project knows the lesson", ("A coding agent in the project shop", "Another project")),
    ("A session was poisoned: one call takes it back", ("A hostile web page",)),
    ("A writer is killed: nothing that was acknowledged is lost", ("A writer takes notes",)),
)
LINE_HEIGHT: Final = 19
LEFT, TOP, WIDTH = 18, 62, 880

STYLE: Final = """
    .page { fill: #ffffff; stroke: #d8dee6 }
    .bar { fill: #f3f6fa }
    .caption { fill: #1d2733; font-weight: 600; font-size: 15px; font-family: ui-sans-serif, system-ui, sans-serif }
    .line { fill: #5b6875 }
    .typed { fill: #1f5fc4; font-weight: 600 }
    text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; white-space: pre }
    @media (prefers-color-scheme: dark) {
      .page { fill: #11161d; stroke: #2c3641 }
      .bar { fill: #18202a }
      .caption { fill: #e8edf3 }
      .line { fill: #9eacba }
      .typed { fill: #78a6ff }
    }
    .frame { opacity: 0; animation: shown TOTALs infinite }
    @keyframes shown { 0%, SHARE% { opacity: 1 } NEXT%, 100% { opacity: 0 } }
    @media (prefers-reduced-motion: reduce) { .frame { animation: none } .first { opacity: 1 } }
"""


def story() -> list[list[str]]:
    """The paragraphs that the demo prints."""
    command = [sys.executable, "-m", "perdure", "demo"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)  # noqa: S603
    return [paragraph.splitlines() for paragraph in done.stdout.split("\n\n")]


def shown(paragraphs: Sequence[Sequence[str]], beginnings: Sequence[str]) -> list[str]:
    """The lines of a frame; the path of a temporary store, which is another one each time, is left out."""
    chosen = [next(lines for lines in paragraphs if lines[0].startswith(start)) for start in beginnings]
    lines = [line for paragraph in chosen for line in ("", *paragraph) if not line.startswith("new store:")]
    return lines[1:]


def frame(number: int, caption: str, lines: Sequence[str]) -> str:
    rows = [
        f'    <text class="{"typed" if line.startswith("$ ") else "line"}" x="{LEFT}" '
        f'y="{TOP + row * LINE_HEIGHT}">{escape(line)}</text>'
        for row, line in enumerate(lines)
        if line
    ]
    kind = "frame first" if number == 0 else "frame"
    head = f'    <text class="caption" x="{LEFT}" y="27">{number + 1}. {escape(caption)}</text>'
    opened = f'  <g class="{kind}" style="animation-delay: {number * FRAME_SECONDS}s">'
    return "\n".join([opened, head, *rows, "  </g>"])


def drawn(paragraphs: Sequence[Sequence[str]]) -> str:
    frames = [(caption, shown(paragraphs, beginnings)) for caption, beginnings in FRAMES]
    height = TOP + LINE_HEIGHT * max(len(lines) for _, lines in frames)
    share = 100 / len(frames)
    style = STYLE.replace("TOTAL", str(FRAME_SECONDS * len(frames)))
    style = style.replace("SHARE", f"{share - 1:g}").replace("NEXT", f"{share:g}")
    title = "Perdure in four frames, recorded from perdure demo"
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'  <title id="title">{title}</title>',
        f"  <style>{style}  </style>",
        f'  <rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'  <rect class="bar" x="1" y="1" width="{WIDTH - 2}" height="40" rx="8"/>',
        *(frame(number, caption, lines) for number, (caption, lines) in enumerate(frames)),
        "</svg>\n",
    ])  # fmt: skip


if __name__ == "__main__":
    RECORDING.write_text(drawn(story()), encoding="utf-8")
