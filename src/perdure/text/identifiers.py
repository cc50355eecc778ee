"""Numbers and names that stand for exactly one thing: telephone and account numbers, order and customer numbers,
plates, addresses of mail, handles.

One is the same in any case and with any signs between its groups (`KD-20418`, `kd 20418`), a telephone number with and
without the code of its country; and it is never a part of a longer one. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from perdure.text.patterns import pattern

_MAIL: Final = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_HANDLE: Final = r"(?<![\w@])@\w{2,}|(?<!\w)[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+"
# Letters and figures: `KD-20418`, `HB-KU 312`, `DE02 1203 0000`, `a20977`.
_CODE: Final = (
    r"(?<![A-Za-z0-9])(?:[A-Z]{1,6}(?:-[A-Z]{1,3})?[- ]?|[a-z]{1,3})[0-9]{2,}(?:[ -][0-9]{2,})*(?![A-Za-z0-9])"
)
_FIGURES: Final = r"(?<![A-Za-z0-9.,])(?:\+|\()?[0-9]+(?:[ ()/.-]{1,2}[0-9]+)*(?![A-Za-z0-9])"
_IDENTIFIER: Final = pattern(
    rf"(?P<mail>{_MAIL})|(?P<handle>{_HANDLE})|(?P<code>{_CODE})|(?P<figures>{_FIGURES})", re.ASCII
)
_FEWEST_FIGURES: Final = 5
_DATE: Final = pattern(
    r"(?:19|20)[0-9]{2}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[./-][0-9]{1,2}[./-](?:19|20)?[0-9]{2}", re.ASCII
)
_BETWEEN: Final = r"[\s()./_-]{0,2}"


def identifiers_in(text: str) -> tuple[str, ...]:
    """As they are written, each once."""
    found: dict[str, None] = {}
    for match in _IDENTIFIER.finditer(text):
        written = match[0].strip(" .-/")
        figures = sum(map(str.isdigit, written))
        if match["figures"] and (figures < _FEWEST_FIGURES or _DATE.fullmatch(written)):
            continue
        found[written] = None
    return tuple(found)


def form_of(identifier: str) -> re.Pattern[str]:
    """What finds an identifier in a text, however it is written there."""
    if "@" in identifier[1:]:
        return re.compile(rf"(?<![\w.+-]){re.escape(identifier)}(?![\w-]|\.\w)", re.IGNORECASE)
    if identifier.startswith("@") or "_" in identifier:
        return re.compile(rf"(?<!\w)@?{re.escape(identifier.lstrip('@'))}(?!\w)", re.IGNORECASE)
    signs = [character for character in identifier if character.isalnum()]
    before = ""
    if signs[0] == "0" and all(map(str.isdigit, signs)):
        # 0664 … and +43 664 … are the same number.
        before, signs = rf"(?:0|(?:\+|00)[0-9]{{1,3}}{_BETWEEN}(?:\(0\))?){_BETWEEN}", signs[1:]
    body = _BETWEEN.join(map(re.escape, signs))
    return re.compile(rf"(?<![A-Za-z0-9]){before}{body}(?![A-Za-z0-9])(?![-./][0-9])", re.IGNORECASE)
