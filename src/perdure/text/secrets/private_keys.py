"""Private keys: whole PEM blocks, also truncated ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from perdure.text.secrets.spans import SecretSpan, regex

_PEM_MARK = r"-{4,5} ?(?P<end>BEGIN|END) [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# Lines of base64, whatever mail quoting, indentation or JSON escaping wraps them.
_PEM_LINES = r"(?:(?:\\[nrt]|[\s>|\"'+,])*+[A-Za-z0-9+/=]{20,}+)+"


def find_private_keys(text: str) -> Iterator[SecretSpan]:
    if "PRIVATE KEY" not in text:
        return
    marks = list(regex(_PEM_MARK).finditer(text))
    for mark, following in zip_longest(marks, marks[1:]):
        if mark["end"] == "END":
            continue
        limit = following.start() if following else len(text)
        # Headers and log prefixes between the lines are fine; pages of prose between two quoted markers are not.
        base64 = sum(map(len, regex(r"[A-Za-z0-9+/=]{20,}").findall(text[mark.end() : limit])))
        if following and following["end"] == "END" and 2 * base64 >= limit - mark.end():
            yield SecretSpan(mark.start(), following.end(), "private_key")
        elif lines := regex(_PEM_LINES).match(text, mark.end(), limit):
            yield SecretSpan(mark.start(), lines.end(), "private_key")
