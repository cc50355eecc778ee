"""A reader for every public source of judged pairs: an older statement, a newer one, and what the newer does to it.

The labels are those of the judge: `ends` where the newer statement contradicts the older, `same` where both mean the
same, `refines` where the newer says more and the older stays true, `apart` where neither follows from the other.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from training.snapshots import Snapshot

Judged = tuple[str, str, str]


def _mixed(one: str, two: str, label: str, rng: Random) -> Judged:
    """A pair whose label holds in both directions, in one of them."""
    return (one, two, label) if rng.random() < 0.5 else (two, one, label)


def _rows(text: str, delimiter: str, *, quoted: bool = True) -> Iterator[dict[str, str]]:
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    yield from csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter, quoting=quoting)


# Inference


def monotonicity(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:  # noqa: ARG001 - every reader takes the same two
    """A sentence and what somebody added to it. The examples that were collected from publications are left out."""
    for row in _rows(snapshot.text("MED.tsv"), "\t", quoted=False):
        one, two = row["sentence1"], row["sentence2"]
        if not row["genre"].startswith("crowd"):
            continue
        if row["gold_label"] == "entailment":
            yield two, one, "refines"
        elif "upward" in row["genre"] and set(one.lower().rstrip(".").split()) < set(two.lower().rstrip(".").split()):
            yield one, two, "refines"


def cross_lingual_contradictions(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """Made by templates: who visited which country. Only short ones, about another person or place or the same."""
    for name in ("simple_negation", "boolean_coordination"):
        rows = [
            row
            for row in _rows(snapshot.text(f"clcd_datasets/English/{name}_train.csv"), ",")
            if len(row["sentence1"].split()) <= 16
        ]
        for row in rng.sample(rows, min(len(rows), 600)):
            yield row["sentence1"], row["sentence2"], "ends" if row["label"] == "1" else "apart"


# Paraphrases


def wiki_split(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """A long sentence, and the same in two sentences; the first of the two is refined by the long one."""
    for _, text in snapshot.texts(["tune.tsv", "validation.tsv"]):
        for line in text.splitlines():
            whole, _, parts = line.partition("\t")
            if "<::::>" not in parts:
                continue
            if rng.random() < 0.5:
                yield _mixed(whole, parts.replace("<::::>", " "), "same", rng)
            else:
                yield parts.split("<::::>")[0], whole, "refines"


def _bare(answers: list[str]) -> list[str]:
    """The first two answers without the brackets around the value, if they give the same value and the same names."""
    values = [re.findall(r"\[(.*?)\]", answer) for answer in answers[:2]]
    if len(values) < 2 or not values[0] or values[0] != values[1] or "answer" in values[0]:
        return []
    found = [re.sub(r"\s*\[(.*?)\]\s*", r" \1 ", answer).strip().replace(";", ", ") for answer in answers[:2]]
    words = [set(re.findall(r"\w+", text.lower())) for text in found]
    names = [{name.lower() for name in re.findall(r"(?<=\s)[A-Z0-9]\w*", text)} for text in found]
    return found if names[0] <= words[1] and names[1] <= words[0] else []


def para_qa(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """The answer to a question in two ways. The further ways, some of which a program translated, are left out."""
    for _, text in snapshot.texts(["dataset/train.json", "dataset/test.json"]):
        for item in json.loads(text):
            found = _bare([item["verbalized_answer"], item["verbalized_answer_2"]])
            if found:
                yield _mixed(found[0], found[1], "same", rng)


def verbal_questions(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """The answers of conversations in different words."""
    for _, text in snapshot.texts(snapshot.paths("dataset/", r"/(val|test)_\w+\.json$")):
        for talk in json.loads(text):
            for item in talk["questions"]:
                found = _bare(item["paraphrased_answer"])
                if found:
                    yield _mixed(found[0], found[1], "same", rng)


# States and their changes


@dataclass(frozen=True)
class _Turn:
    """What a user told an assistant: the words, and the slots with their values."""

    text: str
    service: str
    intents: frozenset[str]
    slots: dict[str, str]


def _told(turn: dict[str, Any]) -> _Turn | None:
    """A user's turn that only gives values, each of them in its words."""
    if turn["speaker"] != "USER" or len(turn["frames"]) != 1:
        return None
    frame, text = turn["frames"][0], turn["utterance"]
    intents: set[str] = set()
    slots: dict[str, str] = {}
    for action in frame["actions"]:
        if action["act"] == "INFORM_INTENT":
            intents.update(action["values"])
        elif action["act"] == "INFORM" and action["values"] and action["values"][0].lower() in text.lower():
            slots[action["slot"]] = action["canonical_values"][0].lower()
        else:
            return None
    return _Turn(text, frame["service"], frozenset(intents), slots) if slots and len(text.split()) > 3 else None


def _differ(one: _Turn, two: _Turn) -> bool:
    return any(two.slots[slot] != value for slot, value in one.slots.items() if slot in two.slots)


def schema_guided_changes(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """Wishes told to an assistant: another value of a wish ends it, within one talk and, less often, across talks."""
    told: dict[tuple[str, str], list[_Turn]] = defaultdict(list)
    paths = [path for part in ("train/", "dev/", "test/") for path in snapshot.paths(part, r"dialogues_\d+\.json$")]
    for _, text in snapshot.texts(paths):
        for talk in json.loads(text):
            turns = [found for turn in talk["turns"] if (found := _told(turn)) is not None]
            for turn in turns:
                for slot in turn.slots:
                    told[turn.service, slot].append(turn)
            yield from _within(turns, rng)
    for turns in told.values():
        for one in rng.sample(turns, min(len(turns), 120)):
            for found in _across(one, rng.sample(turns, min(len(turns), 40))):
                if found[2] != "ends" or rng.random() < 0.15:
                    yield found


def _within(turns: list[_Turn], rng: Random) -> Iterator[Judged]:
    """One person's turns in one talk: every change of a value, and one pair about two different things."""
    free: list[Judged] = []
    for number, newer in enumerate(turns):
        for older in turns[:number]:
            if older.service.split("_")[0] != newer.service.split("_")[0]:
                free.append((older.text, newer.text, "apart"))
            elif _differ(older, newer):
                yield older.text, newer.text, "ends"
    if free:
        yield rng.choice(free)


def _across(one: _Turn, others: list[_Turn]) -> Iterator[Judged]:
    """A turn and those of other people about the same thing: one pair of every kind that is found."""
    found: dict[str, Judged] = {}
    for other in others:
        if other.intents != one.intents or other.text == one.text:
            continue
        if other.slots == one.slots:
            found["same"] = (one.text, other.text, "same")
        elif one.slots.items() < other.slots.items():
            found["refines"] = (one.text, other.text, "refines")
        elif one.slots.keys() == other.slots.keys() and len(one.slots) == 1:
            found["ends"] = (one.text, other.text, "ends")
    yield from found.values()


_STATE = re.compile(r"^(.+?) of (.+?) (?:was|were) (.+?) before and (.+?) afterwards$")
_PLAIN = frozenset(
    "location state condition cleanness cleanliness temperature wetness placement fullness shape moisture dryness "
    "hardness texture color position heat softness weight size openness availability composition".split()
)


@dataclass(frozen=True)
class _Change:
    """A thing whose attribute had one value before a step and another one afterwards."""

    attribute: str
    thing: str
    before: str
    after: str

    def says(self, value: str, when: str, rng: Random) -> str:
        """A sentence that the attribute has this value."""
        verb = "are" if re.search(r"[^su]s$", self.thing) else "is"
        middle = f"{when} " if when else ""
        if self.attribute in _PLAIN and rng.random() < 0.7:
            return f"The {self.thing} {verb} {middle}{value}."
        return f"The {self.attribute} of the {self.thing} is {middle}{value}."


def _change(answer: str) -> _Change | None:
    match = _STATE.match(answer.strip().lower())
    if match is None:
        return None
    attribute, thing, before, after = (
        re.sub(r"^(the|a|an|now|your|my|his|her) ", "", part.strip()) for part in match.groups()
    )
    short = all(0 < len(part.split()) < 7 for part in (attribute, thing, before, after))
    fresh = before != after and thing != "you" and not set(attribute.split()) & set(thing.split())
    return _Change(attribute, thing, before, after) if short and fresh else None


def open_pi(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """What changes in a step of a work, as workers wrote it. The steps themselves, which are of a web site whose
    licence we did not see, are not read.
    """
    for _, text in snapshot.texts([f"data/gold/{part}/id_answers.jsonl" for part in ("train", "dev", "test")]):
        for line in text.splitlines():
            found = [change for answer in json.loads(line)["answers"] if (change := _change(answer)) is not None]
            if not found:
                continue
            one, two = rng.choice(found), rng.choice(found)
            older = one.says(one.before, "", rng)
            yield older, one.says(one.after, rng.choice(["now", ""]), rng), "ends"
            yield older, one.says(one.before, rng.choice(["still", "now", ""]), rng), "same"
            if two.attribute != one.attribute and not set(two.thing.split()) & set(one.thing.split()):
                yield older, two.says(two.after, rng.choice(["now", ""]), rng), "apart"


_PLACES = ("The {thing} {verb} in the {place}.", "You find the {thing} in the {place}.")


def pro_para(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """Where something is in a process of nature, and the next sentence, after which it is elsewhere, or gone, or still
    there.
    """
    for _, text in snapshot.texts([f"data/emnlp18/grids.v1.{part}.json" for part in ("train", "dev")]):
        for item in map(json.loads, text.splitlines()):
            for names, states in zip(item["participants"], item["states"], strict=True):
                thing = names.split(";")[0].strip()
                verb = "are" if re.search(r"[^su]s$", thing) else "is"
                for before, after, newer in zip(states, states[1:], item["sentence_texts"], strict=False):
                    if before in {"-", "?"} or after == "?" or (before == after and rng.random() < 0.7):
                        continue
                    place = re.sub(r" ([,;])", r"\1", before)
                    older = rng.choice(_PLACES).format(thing=thing, verb=verb, place=place)
                    yield older, newer, "apart" if before == after else "ends"


def persona_talks(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """Two things that one person tells of himself in a talk."""
    for turns in turns_of_personas(snapshot):
        told = [
            sentence
            for turn in turns
            for sentence in re.split(r"(?<=[.!?])\s+", turn)
            if re.match(r"(I|My|I'm|I've|We) ", sentence) and sentence[-1:] in ".!" and len(sentence.split()) > 4
        ]
        if len(told) > 1:
            first, second = sorted(rng.sample(range(len(told)), 2))
            if len(_content(told[first]) & _content(told[second])) < 2:
                yield told[first], told[second], "apart"


def turns_of_personas(snapshot: Snapshot) -> Iterator[list[str]]:
    """What one of two people says in a talk. The lists of traits the talks were made from are not read: they are older
    than this source.
    """
    for _, text in snapshot.texts([f"data/Synthetic-Persona-Chat_{part}.csv" for part in ("valid", "test")]):
        for row in _rows(text, ","):
            for user in ("User 1", "User 2"):
                yield re.findall(rf"(?m)^{user}: (.*)$", row["Best Generated Conversation"])


def _content(sentence: str) -> set[str]:
    return {word for word in re.findall(r"\w+", sentence.lower()) if len(word) > 3}


# How the values of a restaurant are said; what is not found in the text was left out by who wrote it.
_SAID = {
    "city centre": r"cent(re|er)",
    "riverside": r"river",
    "less than £20": r"(less than|under|below) £20",
    "high": r"high|expensive",
    "yes": r"famil|kid|child",
    "no": r"famil|kid|child|adult",
}
_LEVELS = {
    **dict.fromkeys(("cheap", "less than £20", "low", "1 out of 5"), 1),
    **dict.fromkeys(("moderate", "£20-25", "average", "3 out of 5"), 2),
    **dict.fromkeys(("high", "more than £30", "5 out of 5"), 3),
}


@dataclass(frozen=True)
class _Place:
    """A text about a restaurant, and what it says."""

    text: str
    values: dict[str, str]

    def whole(self) -> bool:
        """Whether every value is found in the text."""
        return all(
            re.search(_SAID.get(value, re.escape(value.lower())), self.text.lower()) for value in self.values.values()
        )


def _compared(one: _Place, two: _Place) -> str:
    """What the second text does to the first."""
    here, there = dict(one.values), dict(two.values)
    if here.pop("name") != there.pop("name"):
        return "apart"
    if here == there:
        return "same"
    shared = {slot: (value, there[slot]) for slot, value in here.items() if slot in there}
    for slot in ("priceRange", "customer rating", "area", "food"):
        old, new = shared.get(slot, ("", ""))
        if _LEVELS.get(old, old) != _LEVELS.get(new, new):
            return "ends"
    return "refines" if here.items() < there.items() else ""


def restaurants(snapshot: Snapshot, rng: Random) -> Iterator[Judged]:
    """Texts about invented restaurants, compared by the values that they were written from."""
    places: dict[str, list[_Place]] = defaultdict(list)
    for _, text in snapshot.texts(["devset.csv", "testset_w_refs.csv"]):
        for row in _rows(text, ","):
            values = dict(re.findall(r"([\w ]+?)\[(.*?)\](?:, )?", row["mr" if "mr" in row else "MR"]))
            place = _Place(row["ref"], values)
            if "name" in values and place.whole():
                places[values["name"]].append(place)
    everything = [place for found in places.values() for place in found]
    for found in places.values():
        for one in found:
            kinds: dict[str, Judged] = {}
            others = rng.sample(everything, 20)
            likest = max(others, key=lambda other: len(one.values.keys() & other.values.keys()))
            for two in [*rng.sample(found, min(len(found), 60)), likest]:
                label = _compared(one, two)
                if label and one.text != two.text:
                    kinds[label] = (one.text, two.text, label)
            yield from kinds.values()
