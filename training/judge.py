"""Trains the judge: what a newer statement does to an older one.

    python -m training.judge --public public.json --talks talks.json --out judge.npz --minutes 30

It is the encoder again, reading both statements as one text, with small matrices beside its own (low-rank adapters) and
four numbers at its end. The tables of words and positions stay as they are, so that both models share them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.base import base_model, trained_weights
from training.changes import (
    APART,
    ENDS,
    LABELS,
    Pair,
    PairSampler,
    held_out,
    judging_pairs,
    read_public,
    read_topics,
    told,
)
from training.chats import ChatSampler
from training.encoder import LAYERS, PUBLISHED, WIDTH, Encoder, open_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

RANK: Final = 48
# In a step, as often as --draws says: so many pairs of our own topics, of public sources, of turns of talks, and of our
# own chats.
OWN: Final = 44
PUBLIC: Final = 4
TALKS_DRAWN: Final = 14
CHATS_DRAWN: Final = 30
# The shares of what is drawn of talks: mistakes of an earlier judge, and near facts and turns.
HARD: Final = 0.2
NEAR: Final = 0.55
# A turn that stands beside a statement.
MOST_WORDS_BESIDE: Final = 16
# A statement is cut here.
TOKENS: Final = 96
# The vector has length 1: what is multiplied with it has to be large.
SCALE: Final = 16.0
# Pairs of about equal length that are read together.
TOGETHER: Final = 16
WARM_UP: Final = 40
SMOOTHING: Final = 0.05
# So many steps may wait until they are taken.
MOST_AHEAD: Final = 64
MATRICES: Final = ("query", "key", "value", "mix", "widen", "narrow")


class Adapted(nn.Module):
    """A matrix that stays as it is, and two small ones beside it that are trained."""

    def __init__(self, fixed: nn.Linear, rank: int) -> None:
        super().__init__()
        self.fixed = fixed
        fixed.weight.requires_grad_(requires_grad=False)
        outputs, inputs = fixed.weight.shape
        self.right = nn.Parameter(torch.randn(rank, inputs) / math.sqrt(inputs))
        self.left = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, given: Tensor) -> Tensor:
        return self.fixed(given) + functional.linear(functional.linear(given, self.right), self.left)

    def merged(self) -> nn.Linear:
        self.fixed.weight = nn.Parameter(self.fixed.weight + self.left @ self.right)
        return self.fixed


class Judge(nn.Module):
    def __init__(self, weights: Mapping[str, NDArray[np.float32]], rank: int = RANK, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = Encoder(weights)
        for layer in self.encoder.layers:
            layer.drop = nn.Dropout(dropout)
        self.encoder.start.requires_grad_(requires_grad=False)
        for layer in self.encoder.layers:
            for name in MATRICES:
                setattr(layer, name, Adapted(getattr(layer, name), rank))
        self.head = nn.Linear(WIDTH, len(LABELS))

    def forward(self, pairs: Sequence[Sequence[int]]) -> Tensor:
        together = TOGETHER if self.head.weight.device.type == "cpu" else len(pairs)
        return self.head(SCALE * self.encoder.encode(pairs, together))

    def add_factors(self, factors: Mapping[str, NDArray[np.int16]]) -> None:
        """Start where a judge stands that training/delta.py wrote."""

        def read(name: str) -> Tensor:
            return torch.from_numpy(factors[name].astype(np.float32) * 2.0 ** int(factors[f"{name}|exponent"]))

        with torch.no_grad():
            for published, parameter in self.encoder.published_parameters():
                if f"{published}|whole" in factors:
                    parameter.add_(read(f"{published}|whole"))
            for number in range(LAYERS):
                layer = self.encoder.layers[number]
                for ours in MATRICES:
                    published = f"encoder.layer.{number}.{PUBLISHED[ours]}.weight"
                    adapted = getattr(layer, ours)
                    adapted.left.copy_(read(f"{published}|left"))
                    adapted.right.copy_(read(f"{published}|right"))
            self.head.weight.copy_(read("head.weight|whole") / SCALE)
            self.head.bias.copy_(read("head.bias|whole"))

    def changed(self) -> dict[str, NDArray[np.float32]]:
        """All that differs from the encoder, under the names of the published weights, and the head."""
        for number in range(LAYERS):
            layer = self.encoder.layers[number]
            for name in MATRICES:
                setattr(layer, name, getattr(layer, name).merged())
        head = {"head.weight": self.head.weight * SCALE, "head.bias": self.head.bias}
        return self.encoder.changed() | {
            name: one.detach().cpu().numpy().astype(np.float32) for name, one in head.items()
        }


def pair_tokens(tokenizer: Tokenizer, pair: Pair) -> list[int]:
    """Both statements as one text; as `perdure.learn.judge` gives them to the model."""
    older, newer = (tokenizer.encode(text).ids for text in (pair.older, pair.newer))
    return [*older, *newer[1:]]


@torch.no_grad()
def measure(judge: Judge, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> str:
    """How many are right, what share of the ends is found, and what share of the others is taken for one."""
    judge.eval()
    rows = [pair_tokens(tokenizer, pair) for pair in pairs]
    with torch.autocast(judge.head.weight.device.type, torch.bfloat16):
        logits = torch.cat([judge(rows[start : start + 256]) for start in range(0, len(rows), 256)])
    judge.train()
    shares = functional.softmax(logits.float(), dim=1).cpu().numpy()
    truth = np.array([LABELS.index(pair.label) for pair in pairs])
    ends, is_end = shares[:, LABELS.index(ENDS)], truth == LABELS.index(ENDS)

    def above(least: float) -> str:
        found = f"{(ends[is_end] > least).mean():.3f}" if is_end.any() else "none"
        return f"p>{least}: ends {found}, others {(ends[~is_end] > least).mean():.3f}"

    return "; ".join([f"right {(shares.argmax(1) == truth).mean():.3f}", *map(above, (0.5, 0.8, 0.9))])


class DrawnStep(NamedTuple):
    pairs: list[list[int]]
    labels: list[int]


class StepSampler:
    """Draws whole steps, as token numbers and labels. A process of its own may make them ahead."""

    def __init__(self, options: argparse.Namespace, seed: int) -> None:
        trained, judging = held_out(read_topics())
        topics = [*trained, *judging] if options.all else trained
        self._own = PairSampler(topics, seed, short_turns(options.talks))
        self._public = PublicSampler(options.public, seed) if options.public else None
        self._talks = TalkSampler(options.talks, PairSampler(trained, seed + 1), seed)
        self._chats = chat_samplers(options.chats, seed)["train"] if options.chats else None
        self._tokenizer = open_tokenizer(base_model(), TOKENS)
        self._draws = options.draws

    def draw(self) -> DrawnStep:
        drawn = [self._own.draw() for _ in range(OWN * self._draws)]
        drawn += (self._public.draw() for _ in range(PUBLIC * self._draws)) if self._public else ()
        drawn += (self._talks.draw() for _ in range(TALKS_DRAWN * self._draws))
        drawn += (self._chats.draw() for _ in range(CHATS_DRAWN * self._draws)) if self._chats else ()
        tokens = [pair_tokens(self._tokenizer, pair) for pair in drawn]
        return DrawnStep(tokens, [LABELS.index(pair.label) for pair in drawn])


def draw_ahead(options: argparse.Namespace, seed: int, steps: Queue[DrawnStep]) -> None:
    """What a process of its own does, until it is ended."""
    sampler = StepSampler(options, seed)
    while True:
        steps.put(sampler.draw())


@contextmanager
def drawing(options: argparse.Namespace) -> Generator[Callable[[], DrawnStep]]:
    """What draws the next step: this process, or --processes of their own, which follow no order."""
    if not options.processes:
        yield StepSampler(options, options.seed).draw
        return
    context = get_context("spawn")
    steps: Queue[DrawnStep] = context.Queue(MOST_AHEAD)
    started = [
        context.Process(target=draw_ahead, args=(options, options.seed * 100 + number, steps), daemon=True)
        for number in range(options.processes)
    ]
    for one in started:
        one.start()
    try:
        yield steps.get
    finally:
        for one in started:
            one.terminate()


class PublicSampler:
    """Draws public pairs: of each source equally many, and of its labels."""

    def __init__(self, path: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._sources = [
            [found for label in LABELS if (found := [pair for pair in pairs if pair.label == label])]
            for _, pairs in sorted(read_public(path).items())
        ]

    def draw(self) -> Pair:
        return self._random.choice(self._random.choice(self._random.choice(self._sources)))


class TalkSampler:
    """Draws what people say in talks (training/talks.py): near facts and turns, some of them such that an earlier judge
    took the newer one for an end; two turns of one talk; or one beside a text of a topic. Nearly always neither ends
    the other, in whatever mood they are said; most of what people say to each other is of that kind.
    """

    def __init__(self, path: Path, topics: PairSampler, seed: int) -> None:
        self._random, self._topics = random.Random(seed), topics
        content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        self._talks: list[list[str]] = content["talks"]
        self._hard, self._near = content["hard"], content["near"]

    def draw(self) -> Pair:
        kind = self._random.random()
        if kind < HARD + NEAR:
            return Pair(*self._random.choice(self._hard if kind < HARD else self._near), APART)
        one, other = self._random.sample(self._random.choice(self._talks), 2)
        beside, kind = self._topics.draw(), self._random.random()
        older = beside.older if kind < 0.4 else one
        newer = beside.newer if kind > 0.8 else other
        if self._random.random() < 0.6:
            older, newer = told(older, "User"), told(newer, "User")
        return Pair(older, newer, APART)


def short_turns(path: Path) -> list[str]:
    talks: list[list[str]] = json.loads(path.read_text("utf-8"))["talks"]
    return [turn for talk in talks for turn in talk if len(turn.split()) <= MOST_WORDS_BESIDE]


def chat_samplers(path: Path, seed: int) -> dict[str, ChatSampler]:
    """One of the chats to train on, and one of those that judge."""
    return {name: ChatSampler(pairs, seed) for name, pairs in json.loads(path.read_text("utf-8")).items()}


def tests_of(options: argparse.Namespace) -> dict[str, list[Pair]]:
    """Pairs to judge by, of topics that are not trained on, and of talks."""
    _, judging = held_out(read_topics())
    others = PairSampler(judging, options.seed, short_turns(options.talks))
    talks = TalkSampler(options.talks, PairSampler(judging, options.seed + 1), options.seed)
    chats = chat_samplers(options.chats, options.seed)["judge"] if options.chats else None
    return {
        "chats": [chats.draw() for _ in range(3000)] if chats else [],
        "held out": judging_pairs(judging, options.seed, 30),
        "unrelated": [others.of_two_topics() for _ in range(400)],
        "one thing": [others.of_one_thing() for _ in range(400)],
        "talks": [talks.draw() for _ in range(400)],
    }


def train(judge: Judge, tokenizer: Tokenizer, options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    tests = tests_of(options)
    moving = [parameter for parameter in judge.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(moving, lr=options.rate, weight_decay=0.01, betas=(0.9, 0.98))
    with drawing(options) as draw:
        began, step, done, total = time.monotonic(), 0, 0.0, 0.0
        while done < 1:
            spent = (time.monotonic() - began) / 60 / options.minutes if options.minutes else 0.0
            done = max(spent, step / options.steps if options.steps else 0.0)
            rate = options.rate * min(1.0, (step + 1) / WARM_UP) * max(0.02, 1 - done)
            for group in optimizer.param_groups:
                group["lr"] = rate
            drawn = draw()
            with torch.autocast(options.device, torch.bfloat16):
                logits = judge(drawn.pairs)
            truth = torch.tensor(drawn.labels, device=options.device)
            loss = functional.cross_entropy(logits.float(), truth, label_smoothing=SMOOTHING)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(moving, 1.0)
            optimizer.step()
            total += loss.item()
            step += 1
            if step % 25 == 0:
                minutes = (time.monotonic() - began) / 60
                print(f"step {step}: {total / 25:.3f}; {minutes:.1f} min, {done:.0%}", flush=True)
                total = 0.0
            if step % options.test_every == 0 or done >= 1:
                for name, pairs in tests.items():
                    print(f"  {name}: {measure(judge, tokenizer, pairs) if pairs else 'none'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the judge of what a newer statement does to an older one.")
    parser.add_argument("--public", type=Path, help="pairs of public data, as training.public wrote them")
    parser.add_argument("--talks", type=Path, required=True, help="what training.talks wrote")
    parser.add_argument("--chats", type=Path, help="what training.chats wrote")
    parser.add_argument("--rank", type=int, default=RANK, help="of the small matrices")
    parser.add_argument("--dropout", type=float, default=0.0, help="which share of what a layer adds is left out")
    parser.add_argument("--out", type=Path, required=True, help="where the changed weights go, as .npz")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps")
    parser.add_argument("--rate", type=float, default=1.0e-3, help="the highest learning rate")
    parser.add_argument("--draws", type=int, default=1, help="how many times 64 pairs a step takes")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for an accelerator")
    parser.add_argument("--processes", type=int, default=0, help="so many processes draw the steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--test-every", type=int, default=200)
    parser.add_argument(
        "--resume",
        type=Path,
        help="go on from what an earlier run wrote beside its weights, as .pt, or from a judge.npz",
    )
    parser.add_argument("--all", action="store_true", help="train on the topics that judge, too")
    options = parser.parse_args()
    if not (options.minutes or options.steps):
        parser.error("say when to end: --minutes or --steps")
    torch.set_num_threads(options.threads)
    model = base_model()
    weights: dict[str, Any] = trained_weights(model)
    judge, tokenizer = Judge(weights, options.rank, options.dropout), open_tokenizer(model, TOKENS)
    if options.resume and options.resume.suffix == ".npz":
        judge.add_factors(dict(np.load(options.resume)))
    elif options.resume:
        judge.load_state_dict(torch.load(options.resume))
    train(judge.to(options.device), tokenizer, options)
    torch.save(judge.state_dict(), options.out.with_suffix(".pt"))
    np.savez(options.out, **judge.changed())
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
