"""Pairs of whole chats for the judge (texts/judge_chats): what a later message does to an earlier one, said as people
say it, between other things.

    python -m training.chats --out chats.json

A chat names the parts of two messages of which the newer one ends the older one, says it again, says more of it, or
only looks as if it did (`keeps`). Whatever is not named has nothing to do with each other; of that, what is nearest by
the encoder is written, because that is what the product compares.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from training.changes import APART, ENDS, LABELS, NAMES, USER, Pair, told

CHATS: Final = Path(__file__).parent / "texts" / "judge_chats"
KEEPS: Final = "keeps"
KINDS: Final = (*(label for label in LABELS if label != APART), KEEPS)
ASSISTANT: Final = "assistant"
# Every sixth chat of a file judges, and is not trained on.
HELD_OUT: Final = 6
# Of what is named in no list, so many of the nearest earlier parts are written for each part of a message.
NEAREST: Final = 4
FEWEST_WORDS: Final = 3
# How often each kind of named pair is drawn, and how often what is not named.
_KIND_SHARES: Final = {ENDS: 0.36, KEEPS: 0.26, "refines": 0.06, "same": 0.06, "beside": 0.12, "near": 0.14}
_SIDES: Final = 2


class Message(NamedTuple):
    speaker: str
    text: str


class NamedPair(NamedTuple):
    """The places of two messages, and the parts of them that are meant."""

    older: int
    old_words: str
    newer: int
    new_words: str
    kind: str


class Form(NamedTuple):
    """What stands in a pair: the text, whose it is, and its language."""

    text: str
    speaker: str
    language: str


@dataclass(frozen=True)
class JudgedChat:
    """`place` is where it stands in its file."""

    name: str
    place: int
    language: str
    messages: Sequence[Message]
    pairs: Sequence[NamedPair]
    of_messages: dict[tuple[int, int], set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for one in self.pairs:
            self.of_messages[one.older, one.newer].add(one.kind)

    def form(self, place: int, words: str = "") -> Form:
        said = self.messages[place]
        return Form(words or said.text, said.speaker, self.language)


class FormPair(NamedTuple):
    older: Form
    newer: Form
    label: str


def read_chats(folder: Path = CHATS) -> list[JudgedChat]:
    found: list[JudgedChat] = []
    for path in sorted(folder.glob("*.json")):
        for place, chat in enumerate(json.loads(path.read_text("utf-8"))["talks"]):
            messages = [Message(speaker, " ".join(text.split())) for _, speaker, text in chat["messages"]]
            pairs = [
                NamedPair(older, " ".join(old.split()), newer, " ".join(new.split()), kind)
                for kind in KINDS
                for older, old, newer, new in chat[kind]
            ]
            found.append(JudgedChat(chat["id"], place, chat["language"], messages, pairs))
    return found


def held_out(chats: Sequence[JudgedChat]) -> tuple[list[JudgedChat], list[JudgedChat]]:
    """Those to train on, and those that judge."""
    return [one for one in chats if one.place % HELD_OUT], [one for one in chats if not one.place % HELD_OUT]


def named_pairs(chat: JudgedChat) -> Iterator[tuple[str, FormPair]]:
    """Each named pair by its kind: its parts, its whole messages, and one beside the other."""
    for one in chat.pairs:
        kinds = chat.of_messages[one.older, one.newer]
        label = APART if one.kind == KEEPS else one.kind
        old, new = chat.form(one.older, one.old_words), chat.form(one.newer, one.new_words)
        yield one.kind, FormPair(old, new, label)
        # As a whole a message ends the other one if any part of it does.
        whole = next((kind for kind in KINDS if kind in kinds), APART)
        label = APART if whole == KEEPS else whole
        said = chat.messages[one.older].text, chat.messages[one.newer].text
        if whole == one.kind and (old.text, new.text) != said:
            yield one.kind, FormPair(chat.form(one.older), chat.form(one.newer), label)
            if not ends_otherwise(chat, one):
                yield one.kind, FormPair(old, chat.form(one.newer), label)
                yield one.kind, FormPair(chat.form(one.older), new, label)


def ends_otherwise(chat: JudgedChat, pair: NamedPair) -> bool:
    """Whether another part of one of its messages ends something of the other, which this pair does not."""
    if pair.kind == ENDS:
        return False
    return ENDS in chat.of_messages[pair.older, pair.newer]


def parts_beside(chat: JudgedChat) -> Iterator[FormPair]:
    """What an older message says beside what ends, with the words that end that; and the other way round."""
    from perdure.learn.rules.languages import parts_of

    def parts(text: str) -> list[str]:
        return [part for part in parts_of(text, lambda _: False) if len(part.split()) >= FEWEST_WORDS]

    for one in chat.pairs:
        if one.kind != ENDS:
            continue
        alike = [each for each in chat.pairs if (each.older, each.newer) == (one.older, one.newer)]
        for part in parts(chat.messages[one.older].text):
            if not any(overlaps(part, each.old_words) for each in alike):
                yield FormPair(chat.form(one.older, part), chat.form(one.newer, one.new_words), APART)
        for part in parts(chat.messages[one.newer].text):
            if not any(overlaps(part, each.new_words) for each in alike):
                yield FormPair(chat.form(one.older, one.old_words), chat.form(one.newer, part), APART)


def overlaps(one: str, other: str) -> bool:
    words, others = set(one.lower().split()), set(other.lower().split())
    return len(words & others) >= max(1, min(len(words), len(others)) // _SIDES)


def near_pairs(chat: JudgedChat, embed: Any) -> Iterator[FormPair]:
    """Of each message the nearest earlier ones of the same person that are named nowhere with it."""
    places = [
        place for place, one in enumerate(chat.messages)
        if one.speaker != ASSISTANT and len(one.text.split()) + len(one.text) / 12 >= FEWEST_WORDS
    ]  # fmt: skip
    vectors = embed([chat.messages[place].text for place in places])
    cosines = vectors @ vectors.T
    for row, newer in enumerate(places):
        earlier = [
            column for column, older in enumerate(places[:row])
            if chat.messages[older].speaker == chat.messages[newer].speaker
            and chat.messages[older].text != chat.messages[newer].text
            and not chat.of_messages.get((older, newer))
        ]  # fmt: skip
        for column in sorted(earlier, key=lambda column: -cosines[row, column])[:NEAREST]:
            yield FormPair(chat.form(places[column]), chat.form(newer), APART)


class ChatSampler:
    """Draws pairs of chats, as people said them or as facts tell it of them."""

    def __init__(self, pairs: dict[str, list[list[Any]]], seed: int) -> None:
        self._random = random.Random(seed)
        self._pairs = {kind: [as_pair(row) for row in rows] for kind, rows in pairs.items() if rows}
        self._kinds = [kind for kind in _KIND_SHARES if kind in self._pairs]

    def draw(self) -> Pair:
        choose = self._random
        (kind,) = choose.choices(self._kinds, [_KIND_SHARES[kind] for kind in self._kinds])
        return self.as_told(choose.choice(self._pairs[kind]))

    def as_told(self, pair: FormPair) -> Pair:
        """In their own words, told of them, or the older one alone told of them, as a fact is."""
        choose = self._random
        names = {ASSISTANT: ASSISTANT, "user": USER if choose.random() < 0.75 else choose.choice(NAMES)}
        how = choose.random()
        older = pair.older.text if how < 0.45 else told_of(pair.older, names)
        newer = pair.newer.text if how < 0.75 else told_of(pair.newer, names)
        return Pair(older, newer, pair.label)


def as_pair(row: Sequence[Any]) -> FormPair:
    older, newer, label = row
    return FormPair(Form(*older), Form(*newer), label)


def told_of(form: Form, names: dict[str, str]) -> str:
    name = names.get(form.speaker, form.speaker)
    return told(form.text, name) if form.language == "en" else f"{name}: {form.text}".rstrip(".! ")


def pairs_of(chats: Sequence[JudgedChat], embed: Any) -> dict[str, list[FormPair]]:
    found: dict[str, list[FormPair]] = {kind: [] for kind in _KIND_SHARES}
    for chat in chats:
        for kind, pair in named_pairs(chat):
            found[kind].append(pair)
        found["beside"] += parts_beside(chat)
        found["near"] += near_pairs(chat, embed)
    return found


def main() -> None:
    from perdure.embed.local import LocalEmbedder

    parser = argparse.ArgumentParser(description="Write the pairs of our chats for the judge.")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    embed = LocalEmbedder().embed_passages
    trained, judging = held_out(read_chats())
    written = {"train": pairs_of(trained, embed), "judge": pairs_of(judging, embed)}
    options.out.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    for name, pairs in written.items():
        print(name, {kind: len(rows) for kind, rows in pairs.items()})


if __name__ == "__main__":
    main()
