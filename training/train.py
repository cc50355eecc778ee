"""Trains the encoder on questions and the texts that answer them.

    python -m training.train --data train.json.xz --out trained.npz --minutes 45

Three losses are added up. Questions: among all texts of a step the one that answers has to be nearest; as a step takes
many questions of one conversation, what else was said there is among them. Pairs: statements that say the same, are
about the same or have nothing in common, in that order. Anchor: general texts, also long ones, stay where the published
model has them.

A step does not depend on how fast the machine is, but the schedule ends after `--minutes`, so that another machine
makes more or fewer of them: `--steps` makes as many everywhere.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.base import base_model, read_base
from training.encoder import Encoder, open_tokenizer
from training.weights import ANCHORS, OTHER, WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# In a step: so many questions of each draw, and so many other texts of the same conversation; for each draw so many
# pairs and anchors.
QUESTIONS: Final = 28
OTHERS: Final = 10
# Of each question so many texts that are mistaken for an answer, drawn from so many; when they are looked for, as
# shares of the time. The very nearest are passed over where there are many texts: some of them answer as well.
MISTAKEN: Final = 2
NEAREST: Final = 24
PASSED_OVER: Final = 2
MANY: Final = 100
LOOKED_FOR: Final = (0.12, 0.5)
PAIRS: Final = 4
ANCHORED: Final = 4
ANCHOR_TEXTS: Final = 6000
# Of a conversation, so many texts that answer no question are kept.
MOST_OTHERS: Final = 150
# A text of the data is cut here; longer ones come as several.
TEXT_TOKENS: Final = 128
TEMPERATURE: Final = 0.05
PAIR_WEIGHT: Final = 0.4
WARM_UP: Final = 20
# The pairs that have a grade between 0 and 1.
GRADED: Final = "own"

Tokens = Sequence[int]


class Group(NamedTuple):
    """Texts that belong together, the questions about them with the numbers of the texts that answer, and for each
    question the numbers of the texts that are mistaken for an answer, as far as they were looked for.
    """

    texts: Sequence[Tokens]
    questions: Sequence[tuple[Tokens, Sequence[int]]]
    mistaken: list[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Data:
    sources: Mapping[str, Sequence[Group]]
    pairs: Sequence[tuple[Tokens, Tokens, float]]


class Step(NamedTuple):
    """`answers` is the place of the text that answers each question; `also` are places that must not count as wrong."""

    questions: list[Tokens]
    texts: list[Tokens]
    answers: list[int]
    also: list[tuple[int, int]]


def read_data(path: Path, tokenizer: Tokenizer) -> Data:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        content: Any = json.load(file)

    def tokens(texts: Sequence[str]) -> list[Tokens]:
        return [one.ids for one in tokenizer.encode_batch(list(texts))]

    def read_group(group: Mapping[str, Any]) -> Group:
        """Texts that answer nothing are there to be mistaken for an answer, and some are enough for that."""
        answers = {number for _, gold in group["qs"] for number in gold}
        others = [number for number in range(len(group["docs"])) if number not in answers]
        kept = sorted(answers | set(random.Random(len(others)).sample(others, min(MOST_OTHERS, len(others)))))
        place = {number: at for at, number in enumerate(kept)}
        gold = [[place[number] for number in one] for _, one in group["qs"]]
        questions = tokens([question for question, _ in group["qs"]])
        return Group(tokens([group["docs"][number] for number in kept]), list(zip(questions, gold, strict=True)), [])

    sources = {name: [read_group(group) for group in groups if group["qs"]] for name, groups in content["src"].items()}
    for name, alike in content["pairs"].items():
        # A text finds the one that says the same, as a question finds its answer.
        same = [(one, other) for one, other, label in alike if label == 1]
        firsts, seconds = tokens([one for one, _ in same]), tokens([other for _, other in same])
        asked = [(first, [number]) for number, first in enumerate(firsts)]
        if asked:
            sources[f"same {name}"] = [Group(seconds, asked, [])]
    graded = content["pairs"][GRADED]
    firsts, seconds = tokens([one for one, _, _ in graded]), tokens([other for _, other, _ in graded])
    return Data(sources, [(*both, label) for *both, (_, _, label) in zip(firsts, seconds, graded, strict=True)])


class Sampler:
    """Draws steps, the same ones with the same seed."""

    def __init__(self, data: Data, seed: int, draws: int) -> None:
        self._random = random.Random(seed)
        self._data, self._draws = data, draws
        self._names = sorted(name for name, groups in data.sources.items() if groups)
        self._weights = [WEIGHTS.get(name, OTHER) for name in self._names]
        self._by_size = {name: [len(group.questions) ** 0.5 for group in data.sources[name]] for name in self._names}

    def step(self) -> Step:
        step = Step([], [], [], [])
        seen: dict[tuple[int, ...], int] = {}
        for name in self._random.choices(self._names, self._weights, k=self._draws):
            (group,) = self._random.choices(self._data.sources[name], self._by_size[name])
            self._draw(group, step, seen)
        return step

    def _draw(self, group: Group, step: Step, seen: dict[tuple[int, ...], int]) -> None:
        numbers = self._random.sample(range(len(group.questions)), min(QUESTIONS, len(group.questions)))

        def place(text: Tokens) -> int:
            key = tuple(text)
            if key not in seen:
                seen[key] = len(step.texts)
                step.texts.append(text)
            return seen[key]

        drawn: list[tuple[int, Sequence[int]]] = []
        for asked in numbers:
            question, gold = group.questions[asked]
            drawn.append((len(step.questions), gold))
            step.questions.append(question)
            step.answers.append(place(group.texts[self._random.choice(gold)]))
            if group.mistaken:
                near = group.mistaken[asked]
                for number in self._random.sample(near, min(MISTAKEN, len(near))):
                    place(group.texts[number])
        for number in self._random.sample(range(len(group.texts)), min(OTHERS, len(group.texts))):
            place(group.texts[number])
        for row, gold in drawn:
            places = {seen[key] for number in gold if (key := tuple(group.texts[number])) in seen}
            step.also.extend((row, one) for one in places if one != step.answers[row])

    def pairs(self) -> list[tuple[Tokens, Tokens, float]]:
        return self._random.sample(list(self._data.pairs), min(PAIRS * self._draws, len(self._data.pairs)))

    def anchors(self, count: int) -> list[Tokens]:
        """General texts and questions, and several texts in one."""
        names = [name for name in self._names if name in ANCHORS]
        found: list[Tokens] = []
        while len(found) < count:
            (group,) = self._random.choices(self._data.sources[self._random.choice(names)])
            kind = self._random.random()
            if kind < 0.3:
                found.append(self._random.choice(group.questions)[0])
            elif kind < 0.65:
                found.append(self._random.choice(group.texts))
            else:
                several = self._random.choices(group.texts, k=self._random.choice((2, 3)))
                found.append([several[0][0], *(token for one in several for token in one[1:-1]), several[0][-1]][:160])
        return found


def question_loss(encoder: Encoder, step: Step) -> Tensor:
    vectors = encoder.encode([*step.questions, *step.texts])
    device = vectors.device
    questions, texts = vectors.split([len(step.questions), len(step.texts)])
    with torch.autocast(device.type, enabled=False):
        scores = (questions @ texts.T) / TEMPERATURE
    if step.also:
        rows, columns = torch.tensor(step.also, device=device).T
        scores = scores.index_put((rows, columns), torch.tensor(-1e4, device=device))
    answers = torch.tensor(step.answers, device=device)
    loss = functional.cross_entropy(scores, answers)
    # The other way round, every text has to find its question among those of the step.
    back = scores[:, answers].T.clone()
    same = answers[:, None] == answers[None, :]
    back = back.masked_fill(same & ~torch.eye(len(answers), dtype=torch.bool, device=device), -1e4)
    return loss + 0.3 * functional.cross_entropy(back, torch.arange(len(answers), device=device))


def pair_loss(encoder: Encoder, pairs: Sequence[tuple[Tokens, Tokens, float]]) -> Tensor:
    """Of any two pairs, the one that people found more alike has to have the higher cosine."""
    vectors = encoder.encode([one for one, _, _ in pairs] + [other for _, other, _ in pairs])
    first, second = vectors.split(len(pairs))
    cosines = (first * second).sum(1).float()
    scores = torch.tensor([score for _, _, score in pairs], device=cosines.device)
    differences = (cosines[None, :] - cosines[:, None]) / TEMPERATURE
    wrong = differences[scores[:, None] > scores[None, :] + 0.05]
    return torch.logsumexp(torch.cat([torch.zeros(1, device=wrong.device), wrong]), 0)


def anchor_loss(encoder: Encoder, texts: Sequence[Tokens], there: Tensor) -> Tensor:
    vectors = encoder.encode(texts)
    return (1 - (vectors * there).sum(1)).mean() + 2 * ((vectors @ vectors.T - there @ there.T) ** 2).mean()


@torch.no_grad()
def encode_all(encoder: Encoder, texts: Sequence[Tokens]) -> Tensor:
    return torch.cat([encoder.encode(texts[start : start + 512]) for start in range(0, len(texts), 512)])


@torch.no_grad()
def look_for_mistaken(encoder: Encoder, data: Data) -> None:
    """Notes for each question the texts of its group that are nearest to it and do not answer it."""
    groups = [group for each in data.sources.values() for group in each if len(group.texts) > 2]
    rows = [text for group in groups for text in (*group.texts, *(question for question, _ in group.questions))]
    vectors = torch.cat([encoder.encode(rows[start : start + 65_536], 1024) for start in range(0, len(rows), 65_536)])
    start = 0
    for group in groups:
        middle, end = start + len(group.texts), start + len(group.texts) + len(group.questions)
        texts, questions, start = vectors[start:middle], vectors[middle:end], end
        passed = PASSED_OVER if len(group.texts) > MANY else 0
        most = min(NEAREST + passed, len(group.texts))
        group.mistaken.clear()
        for part in questions.split(4096):
            nearest = (part @ texts.T).topk(most).indices[:, passed:].tolist()
            for row in nearest:
                gold = group.questions[len(group.mistaken)][1]
                group.mistaken.append([number for number in row if number not in gold])


def train(data: Data, base: Mapping[str, Any], options: argparse.Namespace) -> Encoder:
    torch.manual_seed(options.seed)
    encoder, sampler = Encoder(base).to(options.device), Sampler(data, options.seed, options.draws)
    encoder.start.requires_grad_(requires_grad=False)
    anchors = sampler.anchors(ANCHOR_TEXTS)
    with torch.autocast(options.device, torch.bfloat16):
        there = encode_all(encoder, anchors)
    for layer in encoder.layers[: options.frozen]:
        layer.requires_grad_(requires_grad=False)
    moving = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(moving, lr=options.rate, weight_decay=0.01, betas=(0.9, 0.98))
    began, step, done, sums = time.monotonic(), 0, 0.0, np.zeros(3)
    times = list(LOOKED_FOR) if options.mistaken else []
    while done < 1:
        if times and done >= times[0]:
            times.pop(0)
            with torch.autocast(options.device, torch.bfloat16):
                look_for_mistaken(encoder, data)
        spent = (time.monotonic() - began) / 60 / options.minutes if options.minutes else 0.0
        done = max(spent, step / options.steps if options.steps else 0.0)
        rate = options.rate * min(1.0, (step + 1) / WARM_UP) * max(0.02, 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
        for group in optimizer.param_groups:
            group["lr"] = rate
        chosen = random.Random(options.seed + step).sample(range(len(anchors)), ANCHORED * options.draws)
        with torch.autocast(options.device, torch.bfloat16):
            asked = question_loss(encoder, sampler.step())
            alike = pair_loss(encoder, sampler.pairs())
            moved = anchor_loss(encoder, [anchors[number] for number in chosen], there[chosen])
        optimizer.zero_grad(set_to_none=True)
        (asked + PAIR_WEIGHT * alike + options.anchor * moved).backward()
        torch.nn.utils.clip_grad_norm_(moving, 1.0)
        optimizer.step()
        sums += [asked.item(), alike.item(), moved.item()]
        step += 1
        if step % 10 == 0:
            losses = " ".join(f"{one:.3f}" for one in sums / 10)
            minutes = (time.monotonic() - began) / 60
            print(f"step {step}: questions, pairs, anchor {losses}; {minutes:.1f} min, {done:.0%}", flush=True)
            sums[:] = 0
        if options.keep_every and step % options.keep_every == 0:
            np.savez(options.out.with_suffix(f".{step}.npz"), **encoder.changed())
    return encoder


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the encoder on questions and the texts that answer them.")
    parser.add_argument("--data", type=Path, required=True, help="what training.prepare wrote")
    parser.add_argument("--out", type=Path, required=True, help="where the changed weights go, as .npz")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so long")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps")
    parser.add_argument("--rate", type=float, default=1.6e-4, help="the highest learning rate")
    parser.add_argument("--anchor", type=float, default=5.0, help="how much it counts that general texts stay")
    parser.add_argument("--draws", type=int, default=5, help="in a step so many times 28 questions of one source")
    parser.add_argument("--mistaken", action="store_true", help="look for texts that are mistaken for an answer")
    parser.add_argument("--frozen", type=int, default=0, help="so many of the first layers stay as they are")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for an accelerator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep-every", type=int, default=0, help="write the weights after every so many steps as well")
    options = parser.parse_args()
    if not (options.minutes or options.steps):
        parser.error("say when to end: --minutes or --steps")
    torch.set_num_threads(options.threads)
    model = base_model()
    data = read_data(options.data, open_tokenizer(model, TEXT_TOKENS))
    for name, groups in sorted(data.sources.items()):
        questions = sum(len(group.questions) for group in groups)
        print(f"{name:<24} {questions:>7} questions, weight {WEIGHTS.get(name, OTHER)}")
    encoder = train(data, read_base(model), options)
    np.savez(options.out, **encoder.changed())
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
