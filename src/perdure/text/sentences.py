"""A text cut into sentences, by rules alone: abbreviations, scripts with full stops of their own, lists and code.

Every step is linear in the length of the text, whatever it holds.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from perdure.text.patterns import pattern

# A line that begins something of its own: a bullet, a number, a heading, a quotation.
_ITEM: Final = pattern(r"[ \t]*(?:[-*+•‣◦–—][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+|>[ \t]?)")  # noqa: RUF001 - a dash
_HEADING: Final = pattern(r"[ \t]*#{1,6}[ \t]")
_RULE: Final = pattern(r"[ \t]*([-*_=~])(?:[ \t]*\1){2,}[ \t]*")
_FENCE: Final = pattern(r"[ \t]*(```|~~~)[^`\s]*[ \t]*")
# What may end a sentence, with the closing marks that belong to it. The second group needs no space after it.
_END: Final = pattern(r"(?:([.!?…؟۔।॥።]+)|([。！？｡]+))[\"'”’»)\]}」』）】》]*")  # noqa: RUF001 - other scripts
_CODE: Final = pattern(r"`[^`\n]*`")
_LAST_WORD: Final = 24
_OPENING: Final = "\"'“‘«([{"  # noqa: RUF001 - as they are written
_UNSPACED: Final = pattern("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")

_ABBREVIATIONS: Final = frozenset(
    """
    al approx apr art aug ave bd bspw bzw ca cf ch co corp dec dept dipl dr ed eds eq est etc ev excl feb fig figs fr
    fri ft gen gov hon hr hrs inc incl jan jr jul jun lt ltd mar max mi min misc mon mr mrs ms mt nov nr oct op p pp
    prof resp rev sec sen sep sept sr st str tel thu thur thurs tue tues usw vgl vol vs wed z
    """.split()
)
# Abbreviations only before a number: elsewhere `No.` is an answer.
_BEFORE_NUMBERS: Final = frozenset({"no", "nos", "art", "p", "pp", "fig", "vol", "ch", "sec", "sat", "sun"})
# Something always follows these, also `He`, which is a name in `Dr. He`.
_NEVER_LAST: Final = frozenset(("e.g", "i.e", *"cf dr gen gov hon lt mr mrs ms prof rev sen vs".split()))
# What begins a sentence and is no name: behind `at 10 a.m.` and `Acme Inc.` it says that the dot was also a full stop.
_STARTER: Final = pattern(
    r"\s+(?:(?i:i|he|she|it|we|they|you)(?:'\w+)?|My|Our|His|Her|Their|Your|The|This|That|These|Those|There|Then|And|But"
    r"|So|Or|If|When|After|Because|Also|However|What|Why|How|Who|Where|Yes|No)\b(?![.-])"
)


def sentences(text: str) -> list[str]:
    """The sentences in order, each on one line, none empty. Paragraphs and list items are cut into sentences, without
    bullets, numbers and heading marks; headings and fenced code are kept whole.
    """
    found: list[str] = []
    lines: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        mark = _FENCE.fullmatch(line)
        if fence is not None:
            if mark and mark[1] == fence:
                found += _whole(lines)
                lines, fence = [], None
            else:
                lines.append(line)
        elif mark:
            found += _cut(lines)
            lines, fence = [], mark[1]
        elif not line.strip() or _RULE.fullmatch(line):
            found += _cut(lines)
            lines = []
        elif item := _ITEM.match(line):
            found += _cut(lines)
            lines = [line[item.end() :]]
            if _HEADING.match(line):
                found += _whole(lines)
                lines = []
        else:
            lines.append(line)
    return found + (_whole(lines) if fence is not None else _cut(lines))


def _whole(lines: list[str]) -> list[str]:
    joined = " ".join(" ".join(lines).split())
    return [joined] if joined else []


def _cut(lines: list[str]) -> list[str]:
    """The sentences of a paragraph. Lines of a script without spaces are joined without one."""
    parts: list[str] = []
    for line in (" ".join(line.split()) for line in lines):
        if line:
            unspaced = parts and _UNSPACED.match(line) and _UNSPACED.match(parts[-1][-1])
            parts += [line] if not parts or unspaced else [" ", line]
    text = "".join(parts)
    starts = [0]
    code = _CODE.finditer(text)
    quoted = next(code, None)
    for mark in _END.finditer(text):
        while quoted and quoted.end() <= mark.start():
            quoted = next(code, None)
        if quoted and quoted.start() < mark.start():
            continue
        end = mark.end()
        # A sentence is followed by a space, and by something that can begin the next one.
        followed = text[end : end + 1] == " " and not text[end + 1 : end + 2].islower()
        is_dot = mark[1] == "." and end == mark.end(1)
        if mark[2] or (followed and not (is_dot and is_abbreviation(text, mark.start()))):
            starts.append(end)
    pieces = (text[start:end].strip() for start, end in zip_longest(starts, starts[1:]))
    return [piece for piece in pieces if piece]


def is_abbreviation(text: str, dot: int) -> bool:
    """Whether the dot there belongs to the word before it, and no sentence ends with it."""
    written = text[max(0, dot - _LAST_WORD) : dot].rpartition(" ")[2].lstrip(_OPENING)
    word = written.lower()
    if word in _BEFORE_NUMBERS:
        return text[dot + 2 : dot + 3].isdigit()
    # An initial, as in `J. Smith`, and dots inside, as in `U.S.` and `e.g.`.
    initial = len(word) == 1 and word.isalpha() and word != "i"
    if not (initial or word in _ABBREVIATIONS or _DOTTED.fullmatch(word)):
        return False
    return word in _NEVER_LAST or (initial and written.isupper()) or not _STARTER.match(text, dot + 1)


_DOTTED: Final = pattern(r"(?:[^\W\d_]\.)+[^\W\d_]")
