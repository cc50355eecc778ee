"""Our own conversations, notes and messages, made from the texts in `texts/`: what people tell an agent, and how
somebody asks for it later. The questions share few words with the statements that answer them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import TypedDict

from training.wording import (
    MEN,
    MONTHS,
    WOMEN,
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
SMALL_TALK = keyed("smalltalk.txt")
REQUESTS = keyed("requests.txt")
CHANGES = keyed("changes.txt")
CHANGING_LIVES = (
    "job employer home diet dish drink hobby vehicle trip moving rent salary doctor appointment wedding phone email "
    "sleep insurance bank course exam medicine timezone gift"
).split()
TOPICS = [part for _, part in sections("paragraphs.txt") if "+" in part]
ADVICE = [(title.removesuffix(" assistant"), part) for title, part in sections("paragraphs.txt") if "-" in part]
LEARNINGS = sections("learnings.txt")
FOREIGN = sections("languages.txt")
FOREIGN_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
}
USER = Person("the user", male=True, role=True)

_INTRODUCTIONS = options(
    "I'm {name} | my name is {name} | call me {name} | Hi, {name} here | this is {name}, hello | I go by {name} | "
    "Hello! {name} is my name, what is yours? | everyone calls me {name} | Good morning, I am {name}, I'm new here | "
    "{name} speaking | you can just say {name} to me | first things first: I'm {name}"
)
_NAME_QUESTIONS = options(
    "what is the user's name | what's my name | who am I | how should I address the user | who is writing here | "
    "what is the person called | do you know what I'm called | by which name did the user introduce themselves | "
    "whom am I talking to | what do people call me | who is the human in this chat | tell me my name"
)
_LEADS = options(
    "By the way, | Oh, and | You know, | Well, | So, | Honestly, | Just so you know, | Fun fact: | Yeah, | Hmm,"
)
_TAILS = options("you know | as I said | just saying | if you ask me | believe it or not | that's how it is")


def _dates(rng: Random, longest: int) -> Iterator[str]:
    """Dates as the product writes them before a passage; now and then the next one is some days later."""
    today = date(2019, 1, 1) + timedelta(days=rng.randint(0, 2600))
    while True:
        yield f"[{today.day} {MONTHS[today.month - 1]} {today.year}] "
        today += timedelta(days=rng.randint(1, longest) if rng.random() < 0.2 else 0)


def _sentence(text: str, rng: Random) -> str:
    """A statement as a message: with a capital and a full stop or without, sometimes among other words."""
    chance = rng.random()
    if chance < 0.15:
        text = f"{rng.choice(_LEADS)} {text}"
    elif chance < 0.2:
        text = f"{text}, {rng.choice(_TAILS)}"
    if rng.random() < 0.8:
        text = capital(text)
    if text[-1] not in ".?!" and rng.random() < 0.8:
        text += rng.choice([".", ".", ".", "!"])
    return text


def _small_talk(rng: Random, other: str) -> str:
    return fill(rng.choice(SMALL_TALK["en"]), rng, other=other)


def _questions(
    relation: Relation, whom: Person | None, rng: Random, count: int, *, only_name: bool = False
) -> list[str]:
    """Questions for a relation of this person, or of a project where there is no person."""
    found: list[str] = []
    for text in rng.sample(relation.asks, min(count, len(relation.asks))):
        if whom is None:
            found.append(asked(fill(text, rng), rng))
            continue
        mine = about_me(text, rng) if whom.role and rng.random() < 0.5 else None
        pronoun = not only_name and not whom.role and rng.random() < 0.3
        found.append(asked(mine or about(text, whom, rng, pronoun=pronoun), rng))
    return found


def _state(relation: Relation, rng: Random, text: str = "", value: str = "") -> str:
    return fill(text or rng.choice(relation.says), rng, v=value or rng.choice(relation.values))


def _group(turns: list[Turn], rng: Random, *, dated: bool) -> Group:
    """Turns as the product's passages: date and speaker before the text, where they are known."""
    docs: list[str] = []
    questions: list[tuple[str, list[int]]] = []
    for turn, day in zip(turns, _dates(rng, 60), strict=False):
        speaker = f"{turn.speaker}: " if turn.speaker else ""
        docs.append(f"{day if dated else ''}{speaker}{turn.text}")
        questions += [(question, [len(docs) - 1]) for question in turn.questions]
    return {"docs": docs, "qs": questions}


def _mixed(turns: list[Turn], rng: Random, speakers: list[str], names: list[str]) -> list[Turn]:
    """The turns in any order, with small talk between them."""
    rng.shuffle(turns)
    found: list[Turn] = []
    for turn in turns:
        found.append(turn)
        while rng.random() < 0.45:
            speaker = rng.choice(speakers)
            others = [name for name in names if name != speaker]
            found.append(Turn(_small_talk(rng, rng.choice(others or [*MEN, *WOMEN])), speaker))
    return found


def conversation(rng: Random) -> Group:
    """Two people talk about themselves; each question names one of them or says he or she."""
    one, two = person(rng), person(rng)
    while two.name == one.name:
        two = person(rng)
    named = rng.random() < 0.85
    turns: list[Turn] = []
    for relation in rng.sample(LIVES, rng.randint(9, 16)):
        both = named and rng.random() < 0.25
        values = rng.sample(relation.values, 2) if both and len(relation.values) > 1 else [rng.choice(relation.values)]
        people = [one, two] if rng.random() < 0.5 else [two, one]
        for whom, value in zip(people, values, strict=False):
            text = _sentence(_state(relation, rng, value=value), rng)
            if rng.random() < 0.15:
                text = f"{_small_talk(rng, people[1].name)} {text}"
            asks = _questions(relation, whom, rng, 2 - both, only_name=both)
            turns.append(Turn(text, whom.name if named else "", asks))
    speakers = [one.name, two.name] if named else [""]
    return _group(_mixed(turns, rng, speakers, [one.name, two.name]), rng, dated=rng.random() < 0.6)


def assistant_chat(rng: Random) -> Group:
    """A user tells an assistant things in passing or together with a request, and says the own name once."""
    name = person(rng).name
    user, assistant = rng.choice([("user", "assistant"), ("User", "Assistant"), ("user", "assistant"), ("", "")])
    hello = Turn(_sentence(fill(rng.choice(_INTRODUCTIONS), rng, name=name), rng), user)
    hello.questions = [asked(question, rng) for question in rng.sample(_NAME_QUESTIONS, 2)]
    greeting = rng.choice(
        [f"Nice to meet you, {name}!", f"Hello {name}, how can I help?", "Hi! What can I do for you today?"]
    )
    turns: list[Turn] = []
    for relation in rng.sample(LIVES, rng.randint(4, 7)) + rng.sample(PROJECTS, rng.randint(2, 5)):
        life = relation in LIVES
        text = _state(relation, rng)
        if rng.random() < 0.65:
            request = fill(rng.choice(REQUESTS["life" if life else "project"]), rng)
            text = rng.choice(REQUESTS["lead"]).format(s=text, S=capital(text), r=request, R=capital(request))
        turns.append(Turn(_sentence(text, rng), user, _questions(relation, USER if life else None, rng, 2)))
    return _group(
        [hello, Turn(greeting, assistant), *_mixed(turns, rng, [user, assistant], [name])],
        rng,
        dated=rng.random() < 0.4,
    )


def notes(rng: Random) -> Group:
    """What an agent wrote down: short notes about people and a project, without speakers."""
    turns: list[Turn] = []
    for relation in rng.sample(LIVES, rng.randint(6, 12)):
        whom = USER if rng.random() < 0.35 else person(rng)
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
    named = rng.random() < 0.8
    turns = [
        Turn(
            _sentence(_state(relation, rng), rng),
            rng.choice(people) if named else "",
            _questions(relation, None, rng, 2),
        )
        for relation in rng.sample(PROJECTS, rng.randint(8, 14))
    ]
    return _group(_mixed(turns, rng, people if named else [""], people), rng, dated=rng.random() < 0.5)


def changes(rng: Random) -> Group:
    """Something is said, and later something else holds: the question is answered by the newer statement alone."""
    life = rng.random() < 0.5
    whom = rng.choice([USER, person(rng)]) if life else None
    speaker = "" if rng.random() < 0.2 else "user" if whom is None or whom.role else whom.name
    other = "assistant" if speaker == "user" else person(rng).name if speaker else ""
    pool = [relation for relation in LIVES if relation.name in CHANGING_LIVES] if life else PROJECTS
    older: list[Turn] = []
    newer: list[Turn] = []
    for relation in rng.sample(pool, rng.randint(4, 7)):
        before, now = (
            fill(value, rng)
            for value in (rng.sample(relation.values, 2) if len(relation.values) > 1 else relation.values * 2)
        )
        if before == now:
            continue
        first, second = (_state(relation, rng, value=value) for value in (before, now))
        older.append(Turn(_sentence(rng.choice(CHANGES["old"]).format(s=first, S=capital(first)), rng), speaker))
        questions = [
            asked(
                rng.choice(CHANGES["ask"]).format(q=question.strip("?")[:1].lower() + question.strip("?")[1:]),
                rng,
                polite=False,
            )
            for question in _questions(relation, whom, rng, 3, only_name=True)
        ]
        text = rng.choice(CHANGES["new"]).format(s=second, S=capital(second))
        newer.append(Turn(_sentence(text, rng), speaker, questions))
    others = [relation for relation in LIVES + PROJECTS if relation not in pool]
    older += [Turn(_sentence(_state(relation, rng), rng), speaker) for relation in rng.sample(others, 4)]
    speakers = [speaker, other]
    turns = _mixed(older, rng, speakers, [*MEN, *WOMEN]) + _mixed(newer, rng, speakers, [*MEN, *WOMEN])
    return _group(turns, rng, dated=rng.random() < 0.6)


def _long_message(rng: Random, facts: list[tuple[str, list[str]]]) -> list[Turn]:
    """A message of several paragraphs, cut into passages; every fact is in a paragraph of its own."""
    topics = rng.sample(TOPICS, max(len(facts), rng.randint(3, 5)))
    told = [*facts, *[("", list[str]())] * (len(topics) - len(facts))]
    rng.shuffle(told)
    found: list[Turn] = []
    for topic, (fact, questions) in zip(topics, told, strict=True):
        lines = [fill(line, rng) for line in rng.sample(topic["+"], rng.randint(5, 7))]
        if fact:
            lines.insert(rng.randint(0, len(lines)), capital(fact.rstrip(".")) + ".")
        found.append(Turn(" ".join(lines), "", questions))
    return found


def _markdown_answer(rng: Random, facts: list[tuple[str, list[str]]]) -> list[Turn]:
    """An assistant's answer under headings, cut at the headings; a fact is one of the points of a list."""
    parts = rng.sample(ADVICE, max(len(facts), rng.randint(3, 5)))
    told = [*facts, *[("", list[str]())] * (len(parts) - len(facts))]
    rng.shuffle(told)
    found: list[Turn] = []
    for (heading, part), (fact, questions) in zip(parts, told, strict=True):
        lines = [fill(line, rng) for line in rng.sample(part["-"], rng.randint(3, 5))]
        if fact:
            lines.insert(
                rng.randint(0, len(lines)),
                rng.choice(["You said: ", "Keep in mind: ", "", "As noted, ", "**Important:** "]) + fact,
            )
        mark = rng.choice(["- ", "* ", "1. "])
        found.append(
            Turn(
                f"{rng.choice(['## ', '### ', '**'])}{heading}\n" + "\n".join(mark + line for line in lines),
                "",
                questions,
            )
        )
    return found


def long_messages(rng: Random) -> Group:
    """Long messages of a user and an assistant about one person and one project: the passage with the fact must win."""
    user, assistant = rng.choice([("user", "assistant"), ("", ""), (person(rng).name, "Assistant")])
    whom = USER if user in {"", "user"} else Person(user, male=True)
    pool = rng.sample(LIVES, 8) + rng.sample(PROJECTS, 6)
    rng.shuffle(pool)
    turns: list[Turn] = []
    while len(pool) > 1:
        answer = rng.random() < 0.35
        facts: list[tuple[str, list[str]]] = []
        for relation in (pool.pop() for _ in range(rng.randint(1, min(2, len(pool))))):
            life = relation in LIVES
            text = (
                fill(
                    rng.choice(relation.notes),
                    rng,
                    N="the user" if whom.role else whom.name,
                    v=rng.choice(relation.values),
                )
                if answer
                else _state(relation, rng)
            )
            asks = _questions(relation, whom if life else None, rng, 3, only_name=True)
            facts.append((about(text, whom, rng, pronoun=True), asks))
        written = _markdown_answer(rng, facts) if answer else _long_message(rng, facts)
        for turn in written:
            turn.speaker = assistant if answer else user
        turns += [*written, Turn(_small_talk(rng, person(rng).name), rng.choice([user, assistant]))]
    return _group(turns, rng, dated=rng.random() < 0.4)


def learnings(rng: Random) -> Group:
    """What coding agents learned: a title, the problem, the remedy; a developer asks by symptom or error message."""
    shape = rng.choice([
        "{t}\nProblem: {p}\nRemedy: {r}",
        "{t}. {P}. Fix: {r}.",
        "**{t}**\n\n{P}. {R}.",
        "Learned: {t}. What happened: {p}. What to do: {r}.",
        "{t} ({p}) -> {r}",
        "{t}: {r}",
    ])  # fmt: skip
    turns: list[Turn] = []
    for title, part in rng.sample(LEARNINGS, rng.randint(12, 20)):
        problem, remedy = (fill(part[mark][0], rng) for mark in "pr")
        text = shape.format(t=title, p=problem, P=capital(problem), r=remedy, R=capital(remedy))
        asks = [
            question if rng.random() < 0.4 else asked(question, rng, polite=False)
            for question in rng.sample(part["?"], 3)
        ]
        turns.append(Turn(text, "", asks))
    turns += [
        Turn(_sentence(_state(relation, rng), rng), "", _questions(relation, None, rng, 1))
        for relation in rng.sample(PROJECTS, rng.randint(2, 6))
    ]
    rng.shuffle(turns)
    return _group(turns, rng, dated=rng.random() < 0.2)


def other_languages(rng: Random) -> Group:
    """Statements in German, Spanish or French; the questions are in the same language and in English."""
    code = rng.choice(["de", "es", "fr"])
    whom = person(rng)
    english = {relation.name: relation for relation in LIVES + PROJECTS}
    turns: list[Turn] = []
    for title, part in FOREIGN:
        name, language, *project = title.split()
        if language != code:
            continue
        month = rng.choice(FOREIGN_MONTHS[code])
        text = fill(rng.choice(part["+"]), rng, v=rng.choice(part["="]), month=month)
        asks = [asked(_foreign(question, whom), rng, polite=False) for question in rng.sample(part["?"], 2)]
        asks += _questions(english[name], None if project else whom, rng, 2)
        turns.append(Turn(capital(text) + rng.choice([".", "", "!"]), "" if project else whom.name, asks))
    friend = person(rng).name
    talk = [rng.choice(SMALL_TALK[code]) for _ in range(rng.randint(4, 9))]
    foreign = {title.split()[0] for title, _ in FOREIGN}
    talk += [_sentence(_state(relation, rng), rng) for relation in rng.sample(LIVES, 5) if relation.name not in foreign]
    turns += [Turn(text, friend) for text in talk]
    rng.shuffle(turns)
    return _group(turns, rng, dated=rng.random() < 0.4)


def _foreign(question: str, whom: Person) -> str:
    return question.replace("{he}", whom.name).replace("{him}", whom.name)


KINDS = {
    "conversations": (conversation, 1400),
    "assistant chats": (assistant_chat, 1200),
    "notes": (notes, 500),
    "team chats": (team_chat, 500),
    "changes": (changes, 900),
    "long messages": (long_messages, 700),
    "learnings": (learnings, 300),
    "languages": (other_languages, 500),
}


def build(rng: Random) -> dict[str, list[Group]]:
    """Every kind of group, as often as its number says."""
    return {f"own {kind}": [make(rng) for _ in range(count)] for kind, (make, count) in KINDS.items()}
