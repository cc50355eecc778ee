"""`python -m bench.asks_once FILE QUESTION`: a program that asks once and stays, so that its memory can be read."""

from __future__ import annotations

import sys

from perdure import Memory


def main(file: str, question: str) -> None:
    with Memory(file) as memory:
        memory.recall(question, min_relevance=0)
        print("asked", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
