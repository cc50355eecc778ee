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
WINDOW = re.compile(rb"(?=([%s]{%d}))" % (CONSONANTS.encode(), PIECE))


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


def pieces(canary: str) -> Iterator[bytes]:
    for at in range(len(canary) - PIECE + 1):
        yield canary[at : at + PIECE].encode()


def found_in(directory: Path, canaries: list[str]) -> dict[str, set[bytes]]:
    """Every file, every byte; capital letters count as small ones."""
    wanted = {piece for canary in canaries for piece in pieces(canary.lower())}
    found: dict[str, set[bytes]] = {}
    for path in sorted(each for each in directory.rglob("*") if each.is_file()):
        hits = wanted & set(WINDOW.findall(path.read_bytes().lower()))
        if hits:
            found[path.name] = hits
    return found
