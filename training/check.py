"""How well an encoder finds what was held out: written groups that no training saw, and development sets.

python -m training.check trained.npz --dev dev.json.xz
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from training import written
from training.base import base_model, read_base
from training.encoder import Encoder, open_tokenizer
from training.templates import Group

FIRST = 10
MOST_QUESTIONS = 1500


def measured(encoder: Encoder, groups: Iterable[Group], most_tokens: int = 128) -> tuple[float, float, int]:
    """nDCG@10, the share of the questions with an answer in the first place, and how many questions there are."""
    tokenizer = open_tokenizer(base_model(), most_tokens)
    gains: list[float] = []
    firsts: list[bool] = []
    for group in groups:
        rows = [one.ids for one in tokenizer.encode_batch([*group["docs"], *(text for text, _ in group["qs"])])]
        with torch.no_grad():
            vectors = encoder.encode(rows, 256)
        docs, questions = vectors[: len(group["docs"])], vectors[len(group["docs"]) :]
        order = (questions @ docs.T).topk(min(FIRST, len(docs))).indices.cpu().numpy()
        for (_, gold), found in zip(group["qs"], order, strict=True):
            gain = sum(1 / math.log2(place + 2) for place, number in enumerate(found) if number in gold)
            gains.append(gain / sum(1 / math.log2(place + 2) for place in range(min(FIRST, len(set(gold))))))
            firsts.append(int(found[0]) in gold)
    return float(np.mean(gains)), float(np.mean(firsts)), len(gains)


def development(path: Path) -> Mapping[str, Sequence[Group]]:
    """The development sets, of each set some questions."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        content: Mapping[str, Any] = json.load(file)["src"]
    found: dict[str, Sequence[Group]] = {}
    for name, groups in content.items():
        share = min(1.0, MOST_QUESTIONS / sum(len(group["qs"]) for group in groups))
        rng = Random(len(groups))
        found[name] = [{"docs": one["docs"], "qs": [q for q in one["qs"] if rng.random() < share]} for one in groups]
    return found


def check(encoder: Encoder, dev: Path | None) -> list[str]:
    held = {f"written {kind}": written.split(kind)[1] for kind in written.KINDS}
    sets = {**held, **(development(dev) if dev else {})}
    lines: list[str] = []
    figures: list[float] = []
    for name, groups in sets.items():
        gain, first, count = measured(encoder, [one for one in groups if one["qs"]])
        figures.append(gain)
        lines.append(f"{name:<20} nDCG@10 {gain:.3f}  first {first:.3f}  of {count}")
    return [*lines, f"{'mean':<20} nDCG@10 {np.mean(figures):.3f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Say how well an encoder finds what was held out.")
    parser.add_argument(
        "trained", type=Path, nargs="?", help="what training.train wrote; without it the published model"
    )
    parser.add_argument("--dev", type=Path, help="dev.json.xz, the development sets")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    weights = read_base(base_model())
    if options.trained:
        weights = weights | dict(np.load(options.trained))
    encoder = Encoder(weights).to(options.device).eval()
    print("\n".join(check(encoder, options.dev)))


if __name__ == "__main__":
    main()
