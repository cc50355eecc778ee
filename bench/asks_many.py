"""`python -m bench.asks_many CONTENDER DIRECTORY`: a process that opens a store, asks, says what a question cost it and
stays, so that its memory can be read. Vectors are given, so that no model is in it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from typing import Final

from bench.ours import Perdure
from bench.peers import PEERS
from bench.synthetic import synthetic

_DIMENSIONS: Final = 384
_QUESTIONS: Final = 30


def main(name: str, directory: str) -> None:
    contender = next(each for each in (Perdure, *PEERS) if each.name == name)(Path(directory))
    corpus, taken = synthetic(_DIMENSIONS), list[float]()
    contender.open()
    for turn in range(2 * _QUESTIONS):
        question = turn % _QUESTIONS
        # Of all threads: some systems use several for one question.
        begun = time.process_time()
        contender.hybrid(corpus.questions[question], corpus.question_vectors[question], 10)
        taken.append((time.process_time() - begun) * 1000)
    print(f"{median(taken[_QUESTIONS:]):.3f}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
