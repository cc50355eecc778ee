"""What a person wrote in a prompt, without what they pasted into it: code, logs, tool output and quotations."""

from __future__ import annotations

from typing import Final

from perdure.text.patterns import pattern

_FENCE: Final = pattern(r"[ \t]*(?:```|~~~)")
_MACHINE_LINE: Final = pattern(
    r"\s*(?:"
    # A quotation, a line of a shell, a mark of a host, a line of a diff.
    r"> ?|[$%»] \S|</?[A-Za-z][\w:-]*(?:\s[^>]*)?>|\+\+\+ |--- |@@ |diff --git"
    # A time, as logs begin with one; a place in a file, as compilers and linters name it.
    r"|\[?\s*\d{4}-\d\d-\d\d[T ]\d|\[\s*\d+\.\d+\]|\[?\d\d:\d\d:\d\d|\S+:\d+(?::\d+)?:(?=\s|$)"
    # A level, an exception, a line of a stack.
    r"|\[?(?:WARN|WARNING|ERROR|INFO|DEBUG|TRACE|FATAL|CRITICAL|FAIL|FAILED|PASS|PASSED|OK)\b[\]: ]+\S"
    r"|[\w.]*(?:Error|Exception|Warning|Failure)\b(?: \[[^\]]*\])?:|(?:error|warning|fatal|panic|note|hint|remote)\b"
    r"(?:\[\w+\])?: |Traceback |File \"|goroutine \d|at [\w$.<>]+\(|npm (?:ERR|WARN)|E  +|[✓✗✔✘] )"
)
_LETTER: Final = pattern(r"[^\W\d_]")
# A line of which less than this share is letters and spaces was made by a program.
_LEAST_LETTERS: Final = 0.6
_SHORT: Final = 12


def without_pasted(text: str) -> str:
    """The lines that a person wrote, in their order."""
    kept: list[str] = []
    is_code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and not is_machine_line(line):
            kept.append(line)
    return "\n".join(kept).strip()


def is_machine_line(line: str) -> bool:
    """Whether a program wrote a line, as far as its form tells."""
    if _MACHINE_LINE.match(line):
        return True
    shown = line.strip()
    letters = len(_LETTER.findall(shown)) + shown.count(" ")
    return len(shown) > _SHORT and letters < _LEAST_LETTERS * len(shown)
