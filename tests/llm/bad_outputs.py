"""What language models say instead of what they were asked for: ten kinds, each with chance from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

from llm.scripted import GOOD

from perdure.model import Json


def truncated(chance: random.Random) -> str:
    return GOOD[: chance.randrange(1, len(GOOD) - 1)]


def in_prose(chance: random.Random) -> str:
    return f"{'So. ' * chance.randrange(5)}{truncated(chance)}{' Done.' * chance.randrange(3)}"


def in_a_fence(chance: random.Random) -> str:
    return f"```{chance.choice(['json', '', 'JSON5'])}\n{truncated(chance)}\n```"


def of_wrong_keys(chance: random.Random) -> str:
    keys = chance.sample(["Keywords", "keyword", "tags", "result", "keywords "], chance.randrange(1, 4))
    return json.dumps({key: ["bridge"] for key in keys})


WRONG_TYPES: list[Json] = [
    None, 1, 1.5, True, "bridge", {}, [None], [["bridge"]], [{"word": "bridge"}], [2], [],
]  # fmt: skip


def of_wrong_types(chance: random.Random) -> str:
    wrong = chance.choice(WRONG_TYPES)
    return json.dumps({"keywords": wrong})


def with_surrogates(chance: random.Random) -> str:
    half = chr(chance.randrange(0xD800, 0xE000))
    return json.dumps({"keywords": [f"bri{half}dge"]}, ensure_ascii=chance.random() < 0.5)


def with_a_key_twice(chance: random.Random) -> str:
    return f"{{{', '.join([GOOD[1:-1]] * chance.randrange(2, 5))}}}"


def without_numbers(chance: random.Random) -> str:
    return f'{{"keywords": ["bridge", {chance.choice(["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])}]}}'


def of_ten_megabytes(chance: random.Random) -> str:
    piece = chance.choice([" ", "{", "[", '{"', "x", '"', "\\", GOOD, "\ud800"])
    return piece * (10_000_000 // len(piece))


def of_noise(chance: random.Random) -> str:
    return "".join(chr(chance.choice([chance.randrange(0x80), chance.randrange(0x11_0000)])) for _ in range(300))


BAD_OUTPUTS: Mapping[str, Callable[[random.Random], str]] = {
    "truncated": truncated,
    "prose": in_prose,
    "fenced": in_a_fence,
    "wrong keys": of_wrong_keys,
    "wrong types": of_wrong_types,
    "surrogates": with_surrogates,
    "duplicate keys": with_a_key_twice,
    "NaN": without_numbers,
    "noise": of_noise,
    "10 MB": of_ten_megabytes,
}
