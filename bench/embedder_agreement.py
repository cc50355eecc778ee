"""Does int8 find what float32 finds? Recall@10 on LoCoMo with both, turn by turn, and what each costs.

    python bench/embedder_agreement.py PATH/TO/locomo10.json

Exits with 1 if the two differ by more than 0.005. LoCoMo is snap-research/locomo on GitHub (CC BY-NC 4.0); it is not
part of this repository. Needs `onnx`, to build the float32 graph. Times are ratios: the two take turns on the machine.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perdure.embed import weights
from perdure.embed.local import LocalEmbedder, Model, load_model, open_session, open_tokenizer

Vectors: TypeAlias = NDArray[np.float32]

SHA256: Final = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
LIMIT: Final = 0.005
DEPTH: Final = 10
ADVERSARIAL: Final = 5
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN: Final = re.compile(r"D:?(\d+):(\d+)")
_ALONE: Final = 200
_LOADS: Final = 5


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    category: int
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: list[str]
    questions: list[Question]


@dataclass(slots=True)
class Contender:
    """One precision: its graph, what it found and how long it took."""

    name: str
    graph: bytes
    embedder: LocalEmbedder
    turns: list[Vectors] = field(default_factory=list[Vectors])
    questions: list[Vectors] = field(default_factory=list[Vectors])
    bulk_seconds: float = 0
    query_seconds: float = 0
    load_seconds: float = float("inf")


def conversations(path: Path) -> list[Conversation]:
    content = path.read_bytes()
    if sha256(content).hexdigest() != SHA256:
        sys.exit(f"{path} is not the locomo10.json that the figures are about.")
    return [_conversation(one) for one in json.loads(content)]


def _conversation(data: dict[str, Any]) -> Conversation:
    dialogue = data["conversation"]
    turns: list[str] = []
    numbers: dict[tuple[int, int], int] = {}
    for key, session in dialogue.items():
        if _SESSION.fullmatch(key):
            for turn in session:
                numbers.setdefault(_turn_ids(turn["dia_id"])[0], len(turns))
                turns.append(_document(dialogue[key + "_date_time"], turn))
    questions: list[Question] = []
    for asked in data["qa"]:
        named = [one for evidence in asked.get("evidence", []) for one in _turn_ids(evidence)]
        gold = frozenset(numbers[one] for one in named if one in numbers)
        if gold:
            questions.append(Question(asked["question"], asked["category"], gold))
    return Conversation(turns, questions)


def _turn_ids(text: str) -> list[tuple[int, int]]:
    return [(int(session), int(turn)) for session, turn in _TURN.findall(text)]


def _document(date: str, turn: dict[str, Any]) -> str:
    text = f"[{date}] {turn['speaker']}: {turn['text']}"
    return f"{text} [shares image: {turn['blip_caption']}]" if turn.get("blip_caption") else text


def recalls(conversation: Conversation, turns: Vectors, questions: Vectors) -> list[tuple[int, float]]:
    """Category, and share of the gold turns among the first ten, of every question."""
    ranked = np.argsort(-(questions @ turns.T), axis=1, kind="stable")[:, :DEPTH]
    return [
        (question.category, len(question.gold.intersection(first.tolist())) / len(question.gold))
        for question, first in zip(conversation.questions, ranked, strict=True)
    ]


def float_model() -> Model:
    """The same architecture with every tensor as it was trained."""
    directory = weights.model_directory()
    if directory is None:
        sys.exit("The local model is not installed.")
    builder = script("packages/minilm/build_weights.py")
    tensors = builder.fold(builder.read_source(builder.source_directory() / builder.SOURCE_FILE))
    return Model(open_tokenizer(directory), open_session(exact_graph(), tensors), tensors)


def exact_graph() -> bytes:
    return script("tools/build_graph.py").build(exact=True)


def script(path: str) -> Any:
    """A script of this repository, as a module."""
    spec = spec_from_file_location(Path(path).stem, Path(__file__).parent.parent / path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is missing.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(contenders: Sequence[Contender], data: Sequence[Conversation]) -> None:
    """Everything embedded by both in turn, so that whatever else the machine does slows both alike."""
    for one in contenders:
        one.embedder.embed_query("Load first.")
    for number, conversation in enumerate(data, 1):
        for one in contenders:
            start = time.perf_counter()
            one.turns.append(one.embedder.embed_passages(conversation.turns))
            one.bulk_seconds += time.perf_counter() - start
            one.questions.append(one.embedder.embed_passages([question.text for question in conversation.questions]))
        print(f"\r{number} of {len(data)} conversations", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    for question in data[0].questions[:_ALONE]:
        for one in contenders:
            start = time.perf_counter()
            one.embedder.embed_query(question.text)
            one.query_seconds += (time.perf_counter() - start) / len(data[0].questions[:_ALONE])


def measure_loads(contenders: Sequence[Contender]) -> None:
    """The best of five sessions made from tensors at hand; reading them is not counted."""
    tensors = {"int8": load_model().mapped_weights, "float32": float_model().mapped_weights}
    for _ in range(_LOADS):
        for one in contenders:
            start = time.perf_counter()
            open_session(one.graph, tensors[one.name])
            one.load_seconds = min(one.load_seconds, time.perf_counter() - start)


def report(exact: Contender, small: Contender, data: Sequence[Conversation]) -> float:
    """Print both, and return the larger of the two differences in recall."""
    everything = {1, 2, 3, 4, ADVERSARIAL}
    differences: list[float] = []
    for title, categories in (("without category 5", everything - {ADVERSARIAL}), ("all questions", everything)):
        before, after = (mean_recall(one, data, categories) for one in (exact, small))
        differences.append(after - before)
        count = sum(question.category in categories for one in data for question in one.questions)
        figures = f"float32 {before:.4f}, int8 {after:.4f}, difference {after - before:+.4f}"
        print(f"recall@{DEPTH}, {title} (n={count:,}): {figures}")
    cosines = np.concatenate([(a * b).sum(axis=1) for a, b in zip(exact.turns, small.turns, strict=True)])
    print(f"cosine of a turn's two vectors: mean {cosines.mean():.5f}, lowest {cosines.min():.5f}")
    rates = [len(cosines) / one.bulk_seconds for one in (exact, small)]
    print(f"turns per second: float32 {rates[0]:.0f}, int8 {rates[1]:.0f}, ratio {rates[1] / rates[0]:.2f}")
    for title, first, second in (
        ("one question", exact.query_seconds, small.query_seconds),
        ("making a session", exact.load_seconds, small.load_seconds),
    ):
        print(f"{title}: float32 {first * 1e3:.1f} ms, int8 {second * 1e3:.1f} ms, ratio {second / first:.2f}")
    return max(map(abs, differences))


def mean_recall(contender: Contender, data: Sequence[Conversation], categories: set[int]) -> float:
    found = [
        recall
        for conversation, turns, questions in zip(data, contender.turns, contender.questions, strict=True)
        for category, recall in recalls(conversation, turns, questions)
        if category in categories
    ]
    return sum(found) / len(found)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    data = conversations(Path(arguments[0]))
    shipped = (Path(weights.__file__).parent / "minilm.onnx").read_bytes()
    exact = Contender("float32", exact_graph(), LocalEmbedder(float_model))
    small = Contender("int8", shipped, LocalEmbedder())
    measure((exact, small), data)
    measure_loads((exact, small))
    return 1 if report(exact, small, data) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
