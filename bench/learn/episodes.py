"""What conversations are cut into without a language model, how surprising that is, and what it costs, on LoCoMo."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

from bench.learn.cost import MOST_TIME
from bench.recall.data import Collection
from perdure import Memory, Record
from perdure.embed.port import Embedder
from perdure.episodes.metadata import BOUNDARY, SURPRISE
from perdure.location import locate
from perdure.settings import Settings

# Surprise from which an episode is a prediction error, and from which it is consolidated at once.
_LEVELS: Final = (0.5, 0.7, 0.85)
# Every so many turns are embedded; all of them would take a minute.
_EMBEDDED: Final = 10


def report(conversations: Sequence[Collection], embedder: Embedder) -> bool:
    """Prints it; whether the goal is reached."""
    turns = [turn for each in conversations for turn in each.memories]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        settings = Settings(store=locate(store), cache=Path(folder), actor="bench", embedder="none", learn="off")
        with Memory(store, settings=settings) as memory:
            # What is imported for it is imported once.
            memory.work()
            for each in conversations:
                memory.conversation(each.name).add_messages(
                    {
                        "role": "user",
                        "speaker": turn["metadata"]["speaker"],
                        "content": turn["text"],
                        "at": turn["valid_at"],
                        "session_id": turn["session_id"],
                    }
                    for turn in each.memories
                )
            start = process_time()
            memory.work()
            making = process_time() - start
            made: list[Record] = []
            after: int | None = None
            while page := memory.list(key_type="episode", limit=100, after=after, newest=False):
                made += page
                after = page.next
                if after is None:
                    break
    start = process_time()
    embedder.embed_passages([turn["text"] for turn in turns[::_EMBEDDED]])
    embedding = (process_time() - start) * _EMBEDDED
    surprise = sorted(float(str(record.metadata[SURPRISE])) for record in made)
    shares = ", ".join(f"{sum(one >= level for one in surprise) / len(surprise):.3f} ≥ {level}" for level in _LEVELS)
    sizes = [len(record.evidence) for record in made]
    ends = Counter(str(record.metadata[BOUNDARY]) for record in made)
    reasons = ", ".join(f"{count} by {boundary}" for boundary, count in ends.most_common())
    print(f"episodes: {len(made)} of {len(turns)} turns, {min(sizes)} to {max(sizes)} each, median {median(sizes)}")
    print(f"          {reasons}")
    print(f"surprise: {shares}, median {median(surprise):.3f}")
    print(
        f"processor time: {1e6 * making / len(turns):.0f} µs a turn to cut, sum up and store, "
        f"{making / embedding:.4f} of embedding the same turns\n"
    )
    return making <= MOST_TIME * embedding
