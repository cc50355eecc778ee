"""The encoder that is trained: all-MiniLM-L6-v2 in PyTorch, under the names that its published weights have.

Word and position tables stay as they are: questions of people hold words that the training data does not, and a table
that does not move keeps them where they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

LAYERS: Final = 6
WIDTH: Final = 384
HEADS: Final = 12
MOST_TOKENS: Final = 256
# Texts of about equal length are encoded together, so that little of the work is padding.
TOGETHER: Final = 64

# Our names of what a layer holds, and the published ones.
PUBLISHED: Final = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mix": "attention.output.dense",
    "mixed": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "done": "output.LayerNorm",
}

Weights = Mapping[str, NDArray[np.float32]]


class Layer(nn.Module):
    """Attention over all tokens of a text, then two dense layers, each added to what came in and normalised."""

    def __init__(self, weights: Weights, prefix: str) -> None:
        super().__init__()
        self.query = linear(weights, prefix + "attention.self.query")
        self.key = linear(weights, prefix + "attention.self.key")
        self.value = linear(weights, prefix + "attention.self.value")
        self.mix = linear(weights, prefix + "attention.output.dense")
        self.mixed = norm(weights, prefix + "attention.output.LayerNorm")
        self.widen = linear(weights, prefix + "intermediate.dense")
        self.narrow = linear(weights, prefix + "output.dense")
        self.done = norm(weights, prefix + "output.LayerNorm")
        # Which share of what is added is left out while it is trained.
        self.drop = nn.Dropout(0.0)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        texts, tokens, _ = hidden.shape
        query, key, value = (
            each(hidden).view(texts, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for each in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        hidden = self.mixed(hidden + self.drop(self.mix(attended.transpose(1, 2).reshape(texts, tokens, WIDTH))))
        return self.done(hidden + self.drop(self.narrow(functional.gelu(self.widen(hidden)))))


class Encoder(nn.Module):
    """Unit vectors of texts: the mean of the last layer over the tokens of each."""

    words: Tensor
    positions: Tensor

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        types = weights["embeddings.token_type_embeddings.weight"][0]
        self.register_buffer("words", tensor(weights["embeddings.word_embeddings.weight"]), persistent=False)
        positions = weights["embeddings.position_embeddings.weight"] + types
        self.register_buffer("positions", tensor(positions), persistent=False)
        self.start = norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(weights, f"encoder.layer.{number}.") for number in range(LAYERS))

    def forward(self, tokens: Tensor) -> Tensor:
        """Rows of token numbers, filled up with 0."""
        given = tokens != 0
        hidden = self.start(self.words[tokens] + self.positions[: tokens.shape[1]])
        for layer in self.layers:
            hidden = layer(hidden, given[:, None, None, :])
        share = given[:, :, None].to(hidden.dtype)
        return functional.normalize(((hidden * share).sum(1) / share.sum(1)).float(), dim=1)

    def encode(self, texts: Sequence[Sequence[int]], together: int = TOGETHER) -> Tensor:
        """The vectors of tokenised texts, in their order."""
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        parts: list[Tensor] = []
        for start in range(0, len(order), together):
            rows = [texts[number] for number in order[start : start + together]]
            padded = np.zeros((len(rows), max(map(len, rows))), np.int64)
            for place, row in enumerate(rows):
                padded[place, : len(row)] = row
            parts.append(self(torch.from_numpy(padded).to(self.words.device)))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return torch.cat(parts)[torch.from_numpy(back).to(self.words.device)]

    def published_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The weights that training moves, by their published names."""
        for name, parameter in self.named_parameters():
            module, _, kind = name.replace(".fixed", "").rpartition(".")
            if module == "start":
                yield f"embeddings.LayerNorm.{kind}", parameter
            elif kind in {"weight", "bias"}:
                _, number, ours = module.split(".")
                yield f"encoder.layer.{number}.{PUBLISHED[ours]}.{kind}", parameter

    def changed(self) -> dict[str, NDArray[np.float32]]:
        return {
            name: parameter.detach().cpu().numpy().astype(np.float32) for name, parameter in self.published_parameters()
        }


def tensor(values: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.array(values, np.float32))


def linear(weights: Weights, name: str) -> nn.Linear:
    outputs, inputs = weights[name + ".weight"].shape
    made = nn.Linear(inputs, outputs)
    made.weight = nn.Parameter(tensor(weights[name + ".weight"]))
    made.bias = nn.Parameter(tensor(weights[name + ".bias"]))
    return made


def norm(weights: Weights, name: str) -> nn.LayerNorm:
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    made.weight = nn.Parameter(tensor(weights[name + ".weight"]))
    made.bias = nn.Parameter(tensor(weights[name + ".bias"]))
    return made


def open_tokenizer(model: Path, most_tokens: int = MOST_TOKENS) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens)
    return tokenizer
