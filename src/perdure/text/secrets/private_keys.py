"""Private keys: whole PEM blocks, also truncated ones; and the seed phrases of wallets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from perdure.text.secrets.spans import SecretSpan, regex

_PEM_MARK = r"-{4,5} ?(?P<end>BEGIN|END) [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# Lines of base64, whatever mail quoting, indentation or JSON escaping wraps them.
_PEM_LINES = r"(?:(?:\\[nrt]|[\s>|\"'+,])*+[A-Za-z0-9+/=]{20,}+)+"


def find_private_keys(text: str) -> Iterator[SecretSpan]:
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


# Twelve to twenty-four short words, as BIP 39 makes them, behind a name that says so.
_SEED_NAME = r"(?:seed|recovery|backup|mnemonic|wallet|secret)[ _-]?\Z"
_SEED_PHRASE = (
    r"[\"'`*)]{0,3}[ \t]{0,4}(?:[:=]|\bis\b|\bwas\b)[ \t:=]{0,4}[\"'`]?"
    r"(?P<secret>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}(?![a-z]))"
)


def find_seed_phrases(lowered: str) -> Iterator[SecretSpan]:
    for name in ("phrase", "mnemonic"):
        for match in regex(name + _SEED_PHRASE).finditer(lowered) if name in lowered else ():
            if name == "mnemonic" or regex(_SEED_NAME).search(lowered[max(0, match.start() - 10) : match.start()]):
                yield SecretSpan(*match.span("secret"), "seed_phrase")
