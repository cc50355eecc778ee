"""Words that nobody may find after they were erased, and a look for them into every byte of every file.

Canaries have no vowels and everything else has hardly anything but vowels, so that even six letters of a canary are
found where an index has cut a word into pieces.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

CONSONANTS = "bcdfghjklmnpqrstvwxz"
PIECE = 6


def window(piece: int = PIECE) -> re.Pattern[bytes]:
    """Matches every run of so many consonants, also those that overlap."""
    return re.compile(rb"(?=([%s%s]{%d}))" % (CONSONANTS.encode(), CONSONANTS.upper().encode(), piece))


class Words:
    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self._used: set[bytes] = set()

    def canary(self) -> str:
        """No two share as much as a piece."""
        while True:
            canary = "".join(self.source.choices(CONSONANTS, k=14))
            if self._used.isdisjoint(pieces(canary)):
                self._used.update(pieces(canary))
                return canary

    def filler(self) -> str:
        count = self.source.randint(3, self.source.choice([8, 40, 200]))
        return " ".join("".join(self.source.choices("aeiouy", k=self.source.randint(2, 9))) for _ in range(count))


def pieces(canary: str, piece: int = PIECE) -> Iterator[bytes]:
    for at in range(len(canary) - piece + 1):
        yield canary[at : at + piece].encode()


def found_in(directory: Path, canaries: list[str], piece: int = PIECE) -> dict[str, set[bytes]]:
    """Every file, every byte; in small letters, in capitals, or with one at its head. Mixed at will, six letters are
    found by chance in the bytes of vectors and hashes.
    """
    forms = (form for canary in canaries for form in (canary.lower(), canary.upper(), canary.capitalize()))
    wanted = {part for form in forms for part in pieces(form, piece)}
    runs = window(piece)
    found: dict[str, set[bytes]] = {}
    for path in sorted(each for each in directory.rglob("*") if each.is_file()):
        hits = wanted & set(runs.findall(path.read_bytes()))
        if hits:
            found[path.name] = hits
    return found
