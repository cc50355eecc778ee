"""Our own conversations, notes and messages, made from the texts in `texts/`: what people tell an agent, and how
somebody asks for it later. The questions share few words with the statements that answer them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TypedDict

from training.wording import (
    MONTHS,
    TEXTS,
    Person,
    about,
    about_me,
    asked,
    capital,
    fill,
    keyed,
    options,
    person,
    sections,
)


class Group(TypedDict):
    """Documents that belong together, and questions with the numbers of the documents that answer them."""

    docs: list[str]
    qs: list[tuple[str, list[int]]]


@dataclass(frozen=True)
class Relation:
    name: str
    values: list[str]
    says: list[str]  # in the first person
    notes: list[str]  # as somebody else writes it down
    asks: list[str]


@dataclass
class Turn:
    text: str
    speaker: str = ""
    questions: list[str] = field(default_factory=list[str])


def _relations(file: str) -> list[Relation]:
    return [Relation(name, part["="], part["+"], part["~"], part["?"]) for name, part in sections(file)]


LIVES = _relations("lives.txt")
PROJECTS = _relations("projects.txt")
SMALL_TALK = options((TEXTS / "smalltalk.txt").read_text("utf-8"))
REQUESTS = keyed("requests.txt")
CHANGES = keyed("changes.txt")
CHANGING_LIVES = (
    "job employer home diet dish drink hobby vehicle trip moving rent salary doctor appointment wedding phone email sleep "
    "insurance bank course exam medicine timezone gift"
).split()
USER = Person("the user", male=True, role=True)

_INTRODUCTIONS = options(
    "I'm {name} | my name is {name} | call me {name} | Hi, {name} here | this is {name}, hello | I go by {name} | "
    "Hello! {name} is my name, what is yours? | everyone calls me {name} | Good morning, I am {name} and I'm new here | "
    "{name} speaking | you can just say {name} to me | first things first: I'm {name}"
)
_NAME_QUESTIONS = options(
    "what is the user's name | what's my name | who am I | how should I address the user | who is writing here | "
    "what is the person called | do you know what I'm called | by which name did the user introduce themselves | "
    "whom am I talking to | what do people call me | who is the human in this chat | tell me my name"
)
_LEADS = options("By the way, | Oh, and | You know, | Well, | So, | Honestly, | Just so you know, | Fun fact: | Yeah, | Hmm,")
_TAILS = options("you know | as I said | just saying | if you ask me | believe it or not | that's how it is")


def _date(rng: Random) -> str:
    return f"[{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(2019, 2026)}] "


def _sentence(text: str, rng: Random) -> str:
    """A statement as a message: with a capital and a full stop or without, sometimes among other words."""
    chance = rng.random()
    if chance < 0.15:  # noqa: PLR2004 - shares of the messages, here and below
        text = f"{rng.choice(_LEADS)} {text}"
    elif chance < 0.2:  # noqa: PLR2004
        text = f"{text}, {rng.choice(_TAILS)}"
    if rng.random() < 0.8:  # noqa: PLR2004
        text = capital(text)
    if text[-1] not in ".?!" and rng.random() < 0.8:  # noqa: PLR2004
        text += rng.choice([".", ".", ".", "!"])
    return text


def _small_talk(rng: Random, other: str) -> str:
    return fill(rng.choice(SMALL_TALK), rng, other=other)


def _questions(relation: Relation, whom: Person | None, rng: Random, count: int, *, only_name: bool = False) -> list[str]:
    """Questions for a relation of this person, or of a project where there is no person."""
    found: list[str] = []
    for text in rng.sample(relation.asks, min(count, len(relation.asks))):
        if whom is None:
            found.append(asked(fill(text, rng), rng))
            continue
        mine = about_me(text, rng) if whom.role and rng.random() < 0.5 else None  # noqa: PLR2004
        pronoun = not only_name and not whom.role and rng.random() < 0.3  # noqa: PLR2004
        found.append(asked(mine or about(text, whom, rng, pronoun=pronoun), rng))
    return found


def _state(relation: Relation, rng: Random, text: str = "", value: str = "") -> str:
    return fill(text or rng.choice(relation.says), rng, v=value or rng.choice(relation.values))


def _group(turns: list[Turn], rng: Random, *, dated: bool, first_dates: bool = False) -> Group:
    """Turns as the product's passages: date and speaker before the text, where they are known."""
    docs: list[str] = []
    questions: list[tuple[str, list[int]]] = []
    date = _date(rng)
    for turn in turns:
        if rng.random() < (0.12 if not first_dates else 0.3):
            date = _date(rng)
        speaker = f"{turn.speaker}: " if turn.speaker else ""
        docs.append(f"{date if dated else ''}{speaker}{turn.text}")
        questions += [(question, [len(docs) - 1]) for question in turn.questions]
    return {"docs": docs, "qs": questions}


def _mixed(turns: list[Turn], rng: Random, speakers: list[str], names: list[str]) -> list[Turn]:
    """The turns in any order, with small talk between them."""
    rng.shuffle(turns)
    found: list[Turn] = []
    for turn in turns:
        found.append(turn)
        while rng.random() < 0.45:  # noqa: PLR2004
            found.append(Turn(_small_talk(rng, rng.choice(names)), rng.choice(speakers)))
    return found


def conversation(rng: Random) -> Group:
    """Two people talk about themselves; each question names one of them or says he or she."""
    one, two = person(rng), person(rng)
    while two.name == one.name:
        two = person(rng)
    named = rng.random() < 0.85  # noqa: PLR2004
    turns: list[Turn] = []
    for relation in rng.sample(LIVES, rng.randint(9, 16)):
        both = named and rng.random() < 0.25  # noqa: PLR2004
        values = rng.sample(relation.values, 2) if both and len(relation.values) > 1 else [rng.choice(relation.values)]
        people = [one, two] if rng.random() < 0.5 else [two, one]  # noqa: PLR2004
        for whom, value in zip(people, values, strict=False):
            text = _sentence(_state(relation, rng, value=value), rng)
            if rng.random() < 0.15:  # noqa: PLR2004
                text = f"{_small_talk(rng, people[1].name)} {text}"
            asks = _questions(relation, whom, rng, 2 - both, only_name=both)
            turns.append(Turn(text, whom.name if named else "", asks))
    speakers = [one.name, two.name] if named else [""]
    return _group(_mixed(turns, rng, speakers, [one.name, two.name]), rng, dated=rng.random() < 0.6)  # noqa: PLR2004


def assistant_chat(rng: Random) -> Group:
    """A user tells an assistant things in passing or together with a request, and says the own name once."""
    name = person(rng).name
    user, assistant = rng.choice([("user", "assistant"), ("User", "Assistant"), ("user", "assistant"), ("", "")])
    hello = Turn(_sentence(fill(rng.choice(_INTRODUCTIONS), rng, name=name), rng), user)
    hello.questions = [asked(question, rng) for question in rng.sample(_NAME_QUESTIONS, 2)]
    greeting = rng.choice([f"Nice to meet you, {name}!", f"Hello {name}, how can I help?", "Hi! What can I do for you today?"])
    turns: list[Turn] = []
    for _ in range(rng.randint(7, 12)):
        life = rng.random() < 0.6  # noqa: PLR2004
        relation = rng.choice(LIVES if life else PROJECTS)
        if any(turn.speaker == relation.name for turn in turns):
            continue
        text = _state(relation, rng)
        if rng.random() < 0.65:  # noqa: PLR2004
            request = fill(rng.choice(REQUESTS["life" if life else "project"]), rng)
            text = rng.choice(REQUESTS["lead"]).format(s=text, S=capital(text), r=request, R=capital(request))
        turns.append(Turn(_sentence(text, rng), relation.name, _questions(relation, USER if life else None, rng, 2)))
    for turn in turns:
        turn.speaker = user
    return _group([hello, Turn(greeting, assistant), *_mixed(turns, rng, [user, assistant], [name])], rng, dated=rng.random() < 0.4)


def notes(rng: Random) -> Group:
    """What an agent wrote down: short notes about people and a project, without speakers."""
    turns: list[Turn] = []
    for relation in rng.sample(LIVES, rng.randint(6, 12)):
        whom = USER if rng.random() < 0.35 else person(rng)  # noqa: PLR2004
        text = fill(rng.choice(relation.notes), rng, N=capital(whom.name), v=rng.choice(relation.values))
        text = about(text, whom, rng, pronoun=True).replace(" my ", f" {whom.pronoun('his')} ")
        if whom.name.lower() not in text.lower():
            text = f"{capital(whom.name)}: {text}"
        turns.append(Turn(_sentence(text, rng), "", _questions(relation, whom, rng, 2, only_name=True)))
    for relation in rng.sample(PROJECTS, rng.randint(4, 9)):
        text = fill(rng.choice(relation.notes), rng, v=rng.choice(relation.values))
        turns.append(Turn(_sentence(text, rng), "", _questions(relation, None, rng, 2)))
    rng.shuffle(turns)
    return _group(turns, rng, dated=rng.random() < 0.3)


def team_chat(rng: Random) -> Group:
    """Colleagues talk about a project; every question is about the project."""
    people = [person(rng).name for _ in range(rng.randint(2, 4))]
    named = rng.random() < 0.8  # noqa: PLR2004
    turns = [
        Turn(_sentence(_state(relation, rng), rng), rng.choice(people) if named else "", _questions(relation, None, rng, 2))
        for relation in rng.sample(PROJECTS, rng.randint(8, 14))
    ]
    return _group(_mixed(turns, rng, people if named else [""], people), rng, dated=rng.random() < 0.5)  # noqa: PLR2004


def changes(rng: Random) -> Group:
    """Something is said, and later something else holds: the question is answered by the newer statement alone."""
    life = rng.random() < 0.5  # noqa: PLR2004
    whom = rng.choice([USER, person(rng)]) if life else None
    speaker = "" if rng.random() < 0.2 else "user" if whom is None or whom.role else whom.name  # noqa: PLR2004
    other = "assistant" if speaker == "user" else person(rng).name if speaker else ""
    pool = [relation for relation in LIVES if relation.name in CHANGING_LIVES] if life else PROJECTS
    older: list[Turn] = []
    newer: list[Turn] = []
    for relation in rng.sample(pool, rng.randint(4, 7)):
        before, now = (fill(value, rng) for value in (rng.sample(relation.values, 2) if len(relation.values) > 1 else relation.values * 2))
        if before == now:
            continue
        first, second = (_state(relation, rng, value=value) for value in (before, now))
        older.append(Turn(_sentence(rng.choice(CHANGES["old"]).format(s=first, S=capital(first)), rng), speaker))
        questions = [
            asked(rng.choice(CHANGES["ask"]).format(q=question.strip("?")[:1].lower() + question.strip("?")[1:]), rng)
            for question in _questions(relation, whom, rng, 3, only_name=True)
        ]
        text = rng.choice(CHANGES["new"]).format(s=second, S=capital(second))
        newer.append(Turn(_sentence(text, rng), speaker, questions))
    for relation in rng.sample([relation for relation in LIVES + PROJECTS if relation not in pool], 4):
        older.append(Turn(_sentence(_state(relation, rng), rng), speaker))
    turns = _mixed(older, rng, [speaker, other], ["you"]) + _mixed(newer, rng, [speaker, other], ["you"])
    return _group(turns, rng, dated=rng.random() < 0.6, first_dates=True)  # noqa: PLR2004


KINDS = {
    "conversations": (conversation, 1400),
    "assistant chats": (assistant_chat, 1200),
    "notes": (notes, 500),
    "team chats": (team_chat, 500),
    "changes": (changes, 900),
}


def build(rng: Random) -> dict[str, list[Group]]:
    """Every kind of group, as often as its number says."""
    return {f"own {kind}": [make(rng) for _ in range(count)] for kind, (make, count) in KINDS.items()}
