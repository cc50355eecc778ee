"""The smallest parts of our own sentences: slots, people, articles, and how somebody types a question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

TEXTS = Path(__file__).parent / "texts"

MEN = (
    "Marco David Liam Noah Omar Ivan Pedro Kenji Tom Samuel Ravi Arjun Mateo Lucas Felix Oscar Hugo Emil Victor Simon "
    "Tariq Yusuf Bilal Wei Jorge Diego Miguel Antoine Stefan Finn Lars Erik Dmitri Pavel Jakub George Henry Jack Theo "
    "Ben Ethan Caleb Isaac Nathan Kofi Kwame Tunde Musa Rashid Karim Anton Milan Piotr Sven Tobias Ville Zoltan Hassan"
).split()
WOMEN = (
    "Anna Julia Olivia Sofia Lena Hannah Clara Marta Elena Irina Nadia Fatima Aisha Leila Priya Ananya Meera Yuki Mei "
    "Hana Carmen Lucia Ines Camille Chloe Ingrid Astrid Freya Greta Katja Nina Petra Zofia Agnes Grace Ruby Alice Lucy "
    "Molly Zoe Naomi Rachel Sarah Leah Amara Zainab Salma Yasmin Gabriela Valeria Rosa Birgit Signe Tamar Ebba Wanda"
).split()
SURNAMES = (
    "Bergman Okafor Lindqvist Moreau Castellano Petrov Nakamura Schuster Doyle Achterberg Kowalska Iyer Haddad Novak "
    "Fitzgerald Osei Brandt Marchetti Dubois Zielinski Tanaka Reyes"
).split()
COMPANIES = "Alpine Harbour Meridian Falcon Granite Lakeside Orchard Summit Beacon Cedar".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_AUXILIARIES = {"does": "do", "doesn't": "don't", "is": "am", "has": "have", "are": "am"}
_SAME_FOR_ME = "was did can must can't would should will had could may".split()
_PERSON_SLOT = re.compile(r"\{(he|his|him|himself)\}")


@dataclass(frozen=True)
class Person:
    name: str
    male: bool
    role: bool = False  # the name is "the user": the person is known by the role alone

    def pronoun(self, slot: str) -> str:
        if self.role:
            return {"he": self.name, "his": "their", "him": "them", "himself": "themselves"}[slot]
        if self.male:
            return slot
        return {"he": "she", "his": "her", "him": "her", "himself": "herself"}[slot]

    def named(self, slot: str) -> str:
        return f"{self.name}'s" if slot == "his" else self.name


def options(text: str) -> list[str]:
    """The parts of a line of alternatives, written with bars between them."""
    return [part.strip() for part in text.split(" | ") if part.strip()]


def sections(file: str) -> list[tuple[str, dict[str, list[str]]]]:
    """The blocks of a text file: a heading after `#`, then lines of alternatives, each marked by its first sign."""
    found: list[tuple[str, dict[str, list[str]]]] = []
    for line in (TEXTS / file).read_text("utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "#":
            found.append((rest.strip(), {}))
        elif rest:
            found[-1][1].setdefault(mark, []).extend(options(rest))
    return found


def keyed(file: str) -> dict[str, list[str]]:
    """The lines `key: alternatives` of a text file."""
    lines = (TEXTS / file).read_text("utf-8").splitlines()
    return {key: options(rest) for key, _, rest in (line.partition(": ") for line in lines) if rest}


def person(rng: Random) -> Person:
    male = rng.random() < 0.5
    return Person(rng.choice(MEN if male else WOMEN), male)


def day_of_year(rng: Random) -> str:
    day, month = rng.randint(1, 28), rng.choice(MONTHS)
    return rng.choice(
        [f"{day} {month}", f"{month} {day}", f"{day} {month[:3]}", f"{month} {day}, {rng.randint(2024, 2027)}"]
    )


def _clock(rng: Random) -> str:
    hour, minute = rng.randint(7, 19), rng.choice(["00", "15", "30", "45"])
    return rng.choice([f"{hour}:{minute}", f"{hour % 12 or 12} {'am' if hour < 12 else 'pm'}"])


def _money(rng: Random) -> str:
    amount = rng.choice([450, 620, 780, 940, 1150, 1400, 2300, 4800, 12000, 18500, 36000, 52000])
    return rng.choice([f"{amount} euros", f"${amount:,}", f"€{amount}", f"£{amount:,}"])


def fill(text: str, rng: Random, **given: str) -> str:
    """The text with its slots filled: what is given, else something by chance."""

    def slot(match: re.Match[str]) -> str:
        key = match[1]
        if key in given:
            return given[key]
        made = {
            "m": lambda: rng.choice(MEN),
            "f": lambda: rng.choice(WOMEN),
            "last": lambda: rng.choice(SURNAMES),
            "company": lambda: rng.choice(COMPANIES),
            "month": lambda: rng.choice(MONTHS),
            "day": lambda: rng.choice(DAYS),
            "date": lambda: day_of_year(rng),
            "time": lambda: _clock(rng),
            "money": lambda: _money(rng),
            "year": lambda: str(rng.randint(1998, 2026)),
            "digits": lambda: f"{rng.randint(100, 999)} {rng.randint(1000, 9999)}",
            "port": lambda: str(rng.randint(1025, 9999)),
            "handle": lambda: f"{rng.choice(MEN + WOMEN).lower()}.{rng.choice(SURNAMES).lower()}",
            "n": lambda: str(rng.randint(2, 15)),
            "n2": lambda: str(rng.randint(3, 19)),
            "n3": lambda: str(rng.randint(19, 78)),
            "n4": lambda: str(rng.randint(152, 201)),
            "n5": lambda: str(rng.randint(36, 47)),
        }
        return made[key]() if key in made else match[0]

    while (filled := re.sub(r"\{(\w+)\}", slot, text)) != text:
        text = filled
    return re.sub(r"\b([Aa]) (?=[aeioAEIO](?!ne\b|u)|u(?!ni|se|k))", r"\1n ", text)


def about(question: str, whom: Person, rng: Random, *, pronoun: bool = False) -> str:
    """The question about a person: by name first and by pronoun after that, or by pronouns alone."""
    first = [not pronoun]

    def slot(match: re.Match[str]) -> str:
        if first[0] and match[1] != "himself":
            first[0] = False
            return whom.named(match[1])
        return whom.pronoun(match[1])

    return fill(_PERSON_SLOT.sub(slot, question), rng)


def about_me(question: str, rng: Random) -> str | None:
    """The question as the person in it would ask it ("what is my job"), or None where that needs another verb."""

    def auxiliary(match: re.Match[str]) -> str:
        return f"{_AUXILIARIES.get(match[1], match[1])} I"

    if re.search(r"\b(I|we|us)\b", question):
        return None
    auxiliaries = "|".join([*_AUXILIARIES, *_SAME_FOR_ME])
    question = re.sub(rf"\b({auxiliaries}) \{{he\}}", auxiliary, question)
    question = question.replace("{his}", "my").replace("{him}", "me")
    return None if "{he" in question or "{him" in question or "my my" in question else fill(question, rng)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def asked(question: str, rng: Random, *, polite: bool = True) -> str:
    """The question as somebody types it: with and without capitals, marks and polite words."""
    question = question.strip().rstrip("?")
    chance = rng.random()
    if polite and chance < 0.08:
        lead = rng.choice(
            [
                "do you remember",
                "can you tell me",
                "remind me,",
                "hey,",
                "quick question:",
                "I forgot,",
                "please tell me",
            ]
        )
        question = f"{lead} {question}"
    if rng.random() < 0.6:
        question = capital(question)
    if chance > 0.97:
        return question.lower()
    return question + rng.choice(["?"] * 7 + ["", "", "??"])
