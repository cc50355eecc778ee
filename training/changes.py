"""Pairs of statements for the judge: an older and a newer one, and what the newer does to the older.

Our own texts (texts/judge) are topics: texts that all say one thing, and texts that end it, say it again, say more of
it or leave it alone. Every combination within a topic is a pair. Several topics may be about one `thing`, each about
something else of it: what ends one of them ends no other. Public pairs come from training/inference.py.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from perdure.learn.rules.english.third_person import tell

TEXTS: Final = Path(__file__).parent / "texts" / "judge"
ENDS: Final = "ends"
APART: Final = "apart"
LABELS: Final = (ENDS, "refines", "same", APART)
# How often each label is drawn within a topic.
_SHARES: Final = (0.38, 0.12, 0.13, 0.37)
# Every sixteenth topic judges, and every fifth thing with all its topics; they are not trained on.
_HELD_OUT: Final = 16
_THINGS_HELD_OUT: Final = 5
# A message tells other things, too: so often something stands beside the newer statement, or the older one.
_BESIDE_NEWER: Final = 0.5
_BESIDE_OLDER: Final = 0.3
_MOST_WORDS: Final = 64
_BETWEEN: Final = (". ", ". ", ". ", ", and ", ". also ", ". oh and ", " btw. ", "! ", ", ", " - ")
NAMES: Final = (
    "Ada", "Ben", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jamal", "Karin", "Luis", "Mara",
    "Nils", "Olga", "Priya", "Quentin", "Rosa", "Sven", "Tariq", "Uma", "Viktor", "Wanda", "Yusuf", "Zofia",
)  # fmt: skip
USER: Final = "User"


class Pair(NamedTuple):
    older: str
    newer: str
    label: str


@dataclass(frozen=True, slots=True)
class JudgedTopic:
    """`texts` by label; `old` are the statements that they are compared with."""

    name: str
    values: Sequence[tuple[str, str]]
    old: Sequence[str]
    texts: Mapping[str, Sequence[str]]
    thing: str = ""


def read_topics(folder: Path = TEXTS) -> list[JudgedTopic]:
    found: list[JudgedTopic] = []
    for path in sorted(folder.glob("*.json")):
        for topic in json.loads(path.read_text("utf-8")):
            values = [(str(one), str(other)) for one, other in topic["values"]] or [("", "")]
            texts = {label: topic[label] for label in LABELS}
            name, thing = f"{path.stem}: {topic['topic']}", topic.get("thing", "")
            found.append(JudgedTopic(name, values, topic["old"], texts, thing))
    return found


def held_out(topics: Sequence[JudgedTopic]) -> tuple[list[JudgedTopic], list[JudgedTopic]]:
    """Those to train on, and those that judge."""
    things = list(dict.fromkeys(topic.thing for topic in topics if topic.thing))[::_THINGS_HELD_OUT]
    judging = [topic for topic in topics if not topic.thing][::_HELD_OUT]
    judging += [topic for topic in topics if topic.thing in things]
    names = {topic.name for topic in judging}
    return [topic for topic in topics if topic.name not in names], judging


class PairSampler:
    """Draws pairs of topics, the same ones with the same seed."""

    def __init__(self, topics: Sequence[JudgedTopic], seed: int, turns: Sequence[str] = ()) -> None:
        """`turns` are short ones of talks; they stand beside statements, as other topics do."""
        self._random = random.Random(seed)
        self._topics, self._turns = topics, turns
        self._things = [topic for topic in topics if topic.thing]

    def draw(self) -> Pair:
        """Most facts that somebody tells have nothing to do with each other, and many of them tell of a change: a third
        of the pairs are of that kind.
        """
        kind = self._random.random()
        if kind < 0.26:
            return self.of_two_topics()
        if kind < 0.31:
            return self._of_two_people()
        if kind < 0.36:
            return self._of_two_values()
        if kind < 0.46 and self._things:
            return self.of_one_thing()
        return self.within_topic()

    def within_topic(self) -> Pair:
        choose = self._random
        topic = choose.choice(self._topics)
        (label,) = choose.choices(LABELS, _SHARES)
        values = choose.choice(topic.values)
        return self._told(
            filled(choose.choice(topic.old), values), filled(choose.choice(topic.texts[label]), values), label
        )

    def of_two_topics(self) -> Pair:
        """What has nothing to do with each other; half of it of topics side by side, which are nearer."""
        choose = self._random
        place = choose.randrange(len(self._topics))
        distance = (
            choose.choice((-3, -2, 2, 3)) if choose.random() < 0.5 else choose.randrange(4, len(self._topics) - 4)
        )
        one, other = self._topics[place], self._topics[(place + distance) % len(self._topics)]
        older, newer = self._any_text(one, old=0.7), self._any_text(other, old=0.2)
        return self._told(older, newer, APART)

    def of_one_thing(self) -> Pair:
        """What ends something of a thing, or tells it, beside something else of the same thing."""
        choose = self._random
        one = choose.choice(self._things)
        other = choose.choice([topic for topic in self._things if topic.thing == one.thing and topic is not one])
        older = filled(choose.choice(one.old), choose.choice(one.values))
        return self._told(older, self._any_text(other, old=0.2), APART)

    def _any_text(self, topic: JudgedTopic, old: float) -> str:
        choose = self._random
        texts = topic.old if choose.random() < old else topic.texts[choose.choices(LABELS, (0.6, 0.1, 0.05, 0.25))[0]]
        return filled(choose.choice(texts), choose.choice(topic.values))

    def _of_two_people(self) -> Pair:
        """What somebody says ends nothing that is told of somebody else."""
        choose = self._random
        topic = choose.choice(self._topics)
        values = choose.choice(topic.values)
        older, newer = filled(choose.choice(topic.old), values), filled(choose.choice(topic.texts[ENDS]), values)
        if not (speaks_of_self(older) and speaks_of_self(newer)):
            return self.within_topic()
        one, other = choose.sample([*NAMES, USER], 2)
        return Pair(told(older, one), told(newer, other), APART)

    def _of_two_values(self) -> Pair:
        """What ends one thing, and names it, ends no other one of its kind."""
        choose = self._random
        topic = choose.choice(self._topics)
        naming = [text for text in topic.texts[ENDS] if "{a}" in text and "{b}" not in text]
        if not naming or len(topic.values) < 2:
            return self.within_topic()
        one, other = choose.sample(list(topic.values), 2)
        mentioned = {value.lower() for value in other}
        if any(value.lower() in mentioned for value in one):
            return self.within_topic()
        old = [text for text in topic.old if "{a}" in text]
        if not old:
            return self.within_topic()
        return self._told(filled(choose.choice(old), one), filled(choose.choice(naming), other), APART)

    def _told(self, older: str, newer: str, label: str) -> Pair:
        """As people said it, or as facts tell it of them, in a message of its own or beside something else."""
        if self._random.random() < _BESIDE_NEWER:
            newer = self._beside(newer)
        if self._random.random() < _BESIDE_OLDER:
            older = self._beside(older)
        how = self._random.random()
        if how < 0.55:
            return Pair(older, newer, label)
        name = USER if how < 0.8 else self._random.choice(NAMES)
        return Pair(told(older, name), told(newer, name), label)

    def _beside(self, text: str) -> str:
        """The text with something else before or behind it, if both are short."""
        choose = self._random
        is_turn = bool(self._turns) and choose.random() < 0.5
        other = choose.choice(self._turns) if is_turn else self._any_text(choose.choice(self._topics), old=0.5)
        if len(text.split()) + len(other.split()) > _MOST_WORDS:
            return text
        first, second = (text, other) if choose.random() < 0.5 else (other, text)
        return f"{first.rstrip('.!')}{choose.choice(_BETWEEN)}{second}"


def filled(text: str, values: tuple[str, str]) -> str:
    return text.replace("{a}", values[0]).replace("{b}", values[1])


def told(text: str, name: str) -> str:
    return tell(text, name, "assistant").text.rstrip(".")


def speaks_of_self(text: str) -> bool:
    words = f" {text.lower()} "
    return any(f" {word}" in words for word in ("i ", "i'", "my ", "we ", "we'", "our "))


def judging_pairs(topics: Sequence[JudgedTopic], seed: int, most: int) -> list[Pair]:
    """So many pairs of each topic, to judge by."""
    samplers = [PairSampler([topic], seed) for topic in topics]
    return [sampler.within_topic() for sampler in samplers for _ in range(most)]


def read_public(path: Path) -> dict[str, list[Pair]]:
    content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    return {name: [Pair(*one) for one in pairs] for name, pairs in content.items()}
