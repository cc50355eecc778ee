"""A reader for every source: it makes groups of documents and questions out of a snapshot."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random
from typing import Any

from training.snapshots import Snapshot
from training.templates import Group
from training.wording import MONTHS, Person, person

MAX_WORDS = 105
_STOP = frozenset(
    "a an and are as at be but by can did do does for from had has have he her his how i if in is it its me my not of "
    "on or our she so that the their them there they this to was we were what when where which who whose why will with "
    "you your".split()
)
# How a question to a person becomes a question about that person; {he} and {his} are filled later.
_TO_ABOUT = (
    (r"\b(do|don't|are|aren't|have|haven't|were|weren't) you\b", None),
    (r"\byou're\b", "{he} is"),
    (r"\byou've\b", "{he} has"),
    (r"\byou'd\b", "{he} would"),
    (r"\byour\b", "{his}"),
    (r"\byou\b", "{he}"),
)
_SINGULAR = {
    "do": "does",
    "don't": "doesn't",
    "are": "is",
    "aren't": "isn't",
    "have": "has",
    "haven't": "hasn't",
    "were": "was",
    "weren't": "wasn't",
}


def clip(text: str, words: int = MAX_WORDS) -> str:
    """The first words of a text, in one line."""
    return " ".join(text.split()[:words])


def terms(text: str) -> list[str]:
    return [word for word in re.findall(r"\w[\w']*", text.lower()) if word not in _STOP]


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text.strip())


def dated(rng: Random, share: float) -> str:
    """A date as the product writes it before a passage, or nothing."""
    return f"[{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(2019, 2026)}] " if rng.random() < share else ""


def one_group(pairs: Iterable[tuple[str, str]]) -> list[Group]:
    """Pairs of a question and its passage as one group; a passage that answers several questions stands there once."""
    numbers: dict[str, int] = {}
    questions: list[tuple[str, list[int]]] = []
    for question, passage in pairs:
        query, doc = clip(question, 60), clip(passage)
        if len(terms(query)) > 0 and len(terms(doc)) > 1:
            questions.append((query, [numbers.setdefault(doc, len(numbers))]))
    return [{"docs": list(numbers), "qs": questions}]


def asked_about(question: str, whom: Person, rng: Random) -> str:
    """A question put to somebody ("where do you live?") as a question about that person ("where does Ines live?")."""

    def verb(match: re.Match[str]) -> str:
        plural = match[1]
        singular = _SINGULAR[plural.lower()]
        return f"{singular.capitalize() if plural[0].isupper() else singular} {{he}}"

    for pattern, written in _TO_ABOUT:
        question = re.sub(pattern, written or verb, question, flags=re.IGNORECASE)
    named = rng.random() < 0.7

    def slot(match: re.Match[str]) -> str:
        nonlocal named
        if named:
            named = False
            return whom.named(match[1])
        return whom.pronoun(match[1])

    question = re.sub(r"\{(he|his)\}", slot, question)
    return question[:1].upper() + question[1:] if rng.random() < 0.7 else question


def best(text: str, docs: list[str], numbers: list[int]) -> tuple[float, int]:
    """Which of these documents shares the rarest words with a text, and how much."""
    found = {number: terms(docs[number]) for number in numbers}
    df = Counter(term for words in found.values() for term in set(words))
    wanted = sorted(set(terms(text)))  # in order, so that the sums are the same at every run

    def score(number: int) -> float:
        shared = sum(1 / df[term] ** 0.5 for term in wanted if term in found[number])
        return shared / (3 + len(found[number])) ** 0.3

    number = max(numbers, key=score)
    return score(number), number


# Conversations


def crd3(snapshot: Snapshot, rng: Random) -> list[Group]:
    """A sentence of the summary is answered by the turn it tells of; a question in the talk by the next turn."""
    listed = set(snapshot.text("data/aligned data/train_files").split())
    paths: dict[str, str] = {}
    for path in snapshot.paths("data/aligned data/c=2/", r"\.json$"):
        paths.setdefault(path.rsplit("/", 1)[1].split("_")[0], path)
    groups: list[Group] = []
    for _, text in snapshot.texts([path for episode, path in sorted(paths.items()) if episode in listed]):
        docs: dict[str, int] = {}
        group: Group = {"docs": [], "qs": []}
        for chunk in json.loads(text):
            numbers: list[int] = []
            for turn in chunk["TURNS"]:
                doc = clip(f"{turn['NAMES'][0].title()}: {' '.join(turn['UTTERANCES'])}", 80)
                numbers.append(docs.setdefault(doc, len(docs)))
            written = list(docs)
            for sentence in sentences(chunk["CHUNK"]):
                if 6 <= len(sentence.split()) <= 45:
                    score, number = best(sentence, written, sorted(set(numbers)))
                    if score > 0.7:
                        group["qs"].append((sentence, [number]))
        group["docs"] = list(docs)
        for number, (turn, answer) in enumerate(zip(group["docs"], group["docs"][1:], strict=False), 1):
            question, name = turn.split(": ", 1)[1], answer.split(": ", 1)[0]
            if (
                question.endswith("?")
                and 4 < len(question.split()) < 18
                and len(answer.split()) > 8
                and rng.random() < 0.5
            ):
                whom = Person(name, male=name not in {"Laura", "Marisha", "Ashley"})
                group["qs"].append((asked_about(question, whom, rng), [number]))
        groups.append(group)
    return groups


def topical_chat(snapshot: Snapshot, rng: Random) -> list[Group]:
    """Two people talk, eight talks in a group: the question at the end of a turn is answered by the other's turn."""
    talks: list[Any] = []
    for _, text in snapshot.texts(snapshot.paths("conversations/", r"(valid|test)_\w+\.json$")):
        talks += [talk["content"] for talk in json.loads(text).values()]
    rng.shuffle(talks)
    groups: list[Group] = []
    for start in range(0, len(talks), 8):
        group: Group = {"docs": [], "qs": []}
        for talk in talks[start : start + 8]:
            people = {"agent_1": person(rng), "agent_2": person(rng)}
            date, before = dated(rng, 0.5), {"agent": "", "message": ""}
            for turn in talk:
                whom = people[turn["agent"]]
                group["docs"].append(clip(f"{date}{whom.name}: {turn['message']}"))
                question = sentences(before["message"])[-1]
                new_side = before["agent"] != turn["agent"]
                if new_side and question.endswith("?") and len(terms(question)) > 1 and len(terms(turn["message"])) > 2:
                    group["qs"].append((asked_about(question, whom, rng), [len(group["docs"]) - 1]))
                before = turn
        groups.append(group)
    return groups


# Invented by those who wrote the talks, but they look like data of real people.
_NOT_ASKED = {"O", "ssn", "phone number", "email address", "account number", "card number"}


def multidogo(snapshot: Snapshot, rng: Random) -> list[Group]:
    """What customers of six trades tell an agent, asked by the labels of their words (`departure_city`)."""
    talks = defaultdict[str, list[list[str]]](list)
    folder = "data/paper_splits/splits_annotated_at_turn_level/"
    for path, text in snapshot.texts(snapshot.paths(folder, r"train\.tsv$")):
        for line in text.splitlines()[1:]:
            cells = line.split("\t")
            if len(cells) > 4:
                talks[f"{path.split('/')[-2]} {cells[0]}"].append(cells)
    names = sorted(talks)
    rng.shuffle(names)
    groups: list[Group] = []
    for start in range(0, len(names), 4):
        group: Group = {"docs": [], "qs": []}
        for name in names[start : start + 4]:
            roles = rng.random() < 0.5
            whom = Person("the user", male=True, role=True) if roles else person(rng)
            date, trade = dated(rng, 0.4), name.split()[0]
            for cells in sorted(talks[name], key=lambda cells: float(cells[1])):
                group["docs"].append(clip(f"{date}{'user' if roles else whom.name}: {cells[3]}"))
                for slot in sorted({label.replace("_", " ") for label in cells[4].split()} - _NOT_ASKED):
                    if rng.random() < 0.3:
                        asked = rng.choice([
                            f"what is {whom.name}'s {slot}?",
                            f"Which {slot} did {whom.name} give?",
                            f"{whom.name} {trade} {slot}",
                            f"What has {whom.name} said about the {slot}?",
                            f"do we know the {slot}?",
                        ])  # fmt: skip
                        group["qs"].append((asked, [len(group["docs"]) - 1]))
        groups.append(group)
    return groups


def schema_guided(snapshot: Snapshot, rng: Random) -> list[Group]:
    """What a user tells an assistant in order to book something: asked by the slot, or as the assistant did."""
    schema: dict[tuple[str, str], str] = {}
    for service in json.loads(snapshot.text("train/schema.json")):
        schema.update({(service["service_name"], slot["name"]): slot["description"] for slot in service["slots"]})
    dialogues: list[Any] = [
        talk
        for _, text in snapshot.texts(snapshot.paths("train/", r"dialogues_\d+\.json$"))
        for talk in json.loads(text)
    ]
    rng.shuffle(dialogues)
    groups: list[Group] = []
    for start in range(0, 4800, 6):
        group: Group = {"docs": [], "qs": []}
        roles = rng.random() < 0.4
        whom = Person("the user", male=True, role=True) if roles else person(rng)
        for talk in dialogues[start : start + 6]:
            date, last = dated(rng, 0.5), ""
            for turn in talk["turns"]:
                user = turn["speaker"] == "USER"
                speaker = ("user" if user else "assistant") if roles else whom.name if user else "Assistant"
                group["docs"].append(clip(f"{date}{speaker}: {turn['utterance']}"))
                here = [len(group["docs"]) - 1]
                if not user:
                    last = sentences(turn["utterance"])[-1]
                    continue
                if last.endswith("?") and len(terms(last)) > 1 and len(terms(turn["utterance"])) > 2:
                    group["qs"].append((asked_about(last, whom, rng), here))
                for frame in turn["frames"]:
                    thing = re.sub(r"s?_\d+$", "", frame["service"]).lower()
                    for action in frame["actions"]:
                        meaning = schema.get((frame["service"], action["slot"]), "")
                        if action["act"] == "INFORM" and meaning and rng.random() < 0.4:
                            group["qs"].append(
                                (_slot_question(action["slot"].replace("_", " "), meaning, thing, whom, rng), here)
                            )
        groups.append(group)
    return groups


def _slot_question(slot: str, meaning: str, thing: str, whom: Person, rng: Random) -> str:
    meaning = meaning.rstrip(".")
    meaning = meaning[:1].lower() + meaning[1:]
    return rng.choice([
        f"What {slot} does {whom.name} want for the {thing}?",
        f"which {slot} did {whom.name} ask for",
        f"{meaning} ({whom.name})",
        f"What has {whom.name} said about the {slot}?",
        f"what was {whom.name}'s wish for the {slot} of the {thing}?",
        f"do we know {meaning}?",
    ])  # fmt: skip


def qmsum(snapshot: Snapshot, rng: Random) -> list[Group]:  # noqa: ARG001 - every reader takes the same two
    """A question about a meeting is answered by those turns of the marked span that share most with the answer."""
    groups: list[Group] = []
    for _, text in snapshot.texts(snapshot.paths("data/ALL/train/", r"\.json$")):
        meeting = json.loads(text)
        docs = [
            clip(f"{turn['speaker']}: {re.sub(r'{.*?}', '', turn['content'])}")
            for turn in meeting["meeting_transcripts"]
        ]
        group: Group = {"docs": docs, "qs": []}
        for query in meeting["specific_query_list"]:
            spans = ((int(start), min(int(end) + 1, len(docs))) for start, end in query["relevant_text_span"])
            numbers = sorted(
                {number for start, end in spans for number in range(start, end) if len(docs[number].split()) > 7}
            )
            if not numbers:
                continue
            first = best(query["query"] + " " + query["answer"], docs, numbers)[1]
            rest = [number for number in numbers if number != first]
            group["qs"].append((query["query"], [first] + ([best(query["answer"], docs, rest)[1]] if rest else [])))
            for sentence in sentences(query["answer"]):
                if 6 < len(sentence.split()) < 40:
                    group["qs"].append((sentence, [best(sentence, docs, numbers)[1]]))
        groups.append(group)
    return groups


# Questions about texts


def qamr(snapshot: Snapshot, rng: Random) -> list[Group]:
    """Questions about single sentences of encyclopedia and news."""
    marks = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "-LSB-": "[", "-RSB-": "]"}

    def plain(text: str) -> str:
        text = " ".join(marks.get(word, word) for word in text.split())
        return re.sub(r"\s+([.,;:?!')\]%])|([(\[$])\s+", r"\1\2", text).replace(" n't", "n't").replace(" 's", "'s")

    lines = (line.split("\t") for line in snapshot.text("data/wiki-sentences.tsv").splitlines())
    texts = {cells[0]: plain(cells[1]) for cells in lines}
    pairs: list[tuple[str, str]] = []
    for _, table in snapshot.texts(["data/filtered/dev.tsv", "data/filtered/test.tsv"]):
        rows = (line.split("\t") for line in table.splitlines())
        pairs += [(plain(row[5]), texts[row[0]]) for row in rows if row[0] in texts and rng.random() < 0.5]
    return one_group(pairs)


def xquad(snapshot: Snapshot, rng: Random) -> list[Group]:  # noqa: ARG001
    """Questions about paragraphs in English, German and Spanish, the passages cut where they are long; some questions
    are asked in English about the German or Spanish text.
    """
    articles = {code: json.loads(snapshot.text(f"xquad.{code}.json"))["data"] for code in ("en", "de", "es")}
    english = {
        qa["id"]: qa["question"] for article in articles["en"] for part in article["paragraphs"] for qa in part["qas"]
    }
    groups: list[Group] = []
    for code, data in articles.items():
        group: Group = {"docs": [], "qs": []}
        for part in (part for article in data for part in article["paragraphs"]):
            starts: list[int] = []
            offset = 0
            for passage in passages(part["context"]):
                offset = part["context"].index(passage[:20], offset)
                starts.append(offset)
                group["docs"].append(clip(passage))
            first = len(group["docs"]) - len(starts)
            for qa in part["qas"]:
                at = max(
                    number
                    for number, start in enumerate(starts)
                    if start <= max(qa["answers"][0]["answer_start"], starts[0])
                )
                group["qs"].append((qa["question"], [first + at]))
                if code != "en":
                    group["qs"].append((english[qa["id"]], [first + at]))
        groups.append(group)
    return groups


def passages(text: str, words: int = 90) -> list[str]:
    """A text cut at the ends of sentences into passages of about so many words."""
    found: list[str] = [""]
    for sentence in sentences(text):
        if found[-1] and len(found[-1].split()) + len(sentence.split()) > words:
            found.append("")
        found[-1] = f"{found[-1]} {sentence}".strip()
    return found


def strategy_qa(snapshot: Snapshot, rng: Random) -> list[Group]:  # noqa: ARG001
    """A question that needs several facts, each of which is an answer."""
    pairs = json.loads(snapshot.text("data/strategyqa/train.json"))
    return one_group((item["question"], fact) for item in pairs for fact in item["facts"])


# Documentation and code

_DULL = frozenset(
    "examples,example,see also,syntax,specifications,value,parameters,return value,what's next,description,exceptions,"
    "browser compatibility,formal syntax,further reading,overview,introduction,next steps,prerequisites,notes".split(
        ","
    )
)


def _sections_of(markdown: str, rng: Random) -> list[tuple[str, str]]:
    """The headings of a page, each with the first words under it."""
    matter = re.match(r"(?s)---\n(.*?)\n---", markdown)
    title = (
        re.search(r"(?m)^title:\s*[\"']?(.*?)[\"']?\s*$", matter[1])
        if matter
        else re.search(r"(?m)^# (.+?)(\s*\{.*\})?$", markdown)
    )
    name = title[1] if title else ""
    body = markdown[matter.end() :] if matter else markdown
    body = re.sub(r"(?s)```.*?```|<!--.*?-->|\{\{.*?\}\}|\{[%*].*?[%*]\}|<[^>]+>|\[![A-Z]+\]", " ", body)
    body = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", body)
    parts = re.split(r"(?m)^#{2,4}\s+(.*?)\s*(?:\{.*\})?$", body)
    found: list[tuple[str, str]] = []
    for heading, text in zip(["", *parts[1::2]], parts[::2], strict=True):
        text = re.sub(r"(?m)[*_`>|#]|^/// .*$|^///$", "", text)  # noqa: PLW2901
        asked = heading.replace("`", "").replace("*", "")
        if len(terms(text)) > 14 and asked.lower() not in _DULL and len(asked) < 90 and (asked or name):
            found.append(
                (f"{name}: {asked}" if asked and name and rng.random() < 0.5 else asked or name, passages(text)[0])
            )
    return found


def _pages(snapshot: Snapshot, rng: Random, folders: dict[str, int], pattern: str = r"\.md$") -> list[Group]:
    """One group for every folder, with at most so many sections of it."""
    groups: list[Group] = []
    for folder, limit in folders.items():
        paths = snapshot.paths(folder, pattern)
        rng.shuffle(paths)
        found = [pair for _, text in snapshot.texts(paths[:limit]) for pair in _sections_of(text, rng)]
        rng.shuffle(found)
        groups += one_group(found[:limit])
    return groups


def mdn(snapshot: Snapshot, rng: Random) -> list[Group]:
    return _pages(
        snapshot,
        rng,
        {"files/en-us/web/": 3500, "files/en-us/learn_web_development/": 800, "files/en-us/glossary/": 500},
    )


def kubernetes(snapshot: Snapshot, rng: Random) -> list[Group]:
    return _pages(
        snapshot,
        rng,
        {"content/en/docs/": 3500, "content/de/docs/": 600, "content/es/docs/": 600, "content/fr/docs/": 700},
    )


def docker(snapshot: Snapshot, rng: Random) -> list[Group]:
    return _pages(snapshot, rng, {"content/": 3500})


def github(snapshot: Snapshot, rng: Random) -> list[Group]:
    return _pages(snapshot, rng, {"content/": 4500})


def fastapi(snapshot: Snapshot, rng: Random) -> list[Group]:
    return _pages(snapshot, rng, {f"docs/{code}/docs/": 700 for code in ("en", "de", "es", "fr")})


def tldr(snapshot: Snapshot, rng: Random) -> list[Group]:
    """What a command does, in four languages, and the command line that does it."""
    groups: list[Group] = []
    for folder, how, limit in (
        ("pages/", "how do I {}?", 1500),
        ("pages.de/", "wie geht das: {}?", 500),
        ("pages.es/", "¿cómo puedo {}?", 500),
        ("pages.fr/", "comment {} ?", 500),
    ):
        paths = snapshot.paths(folder, r"\.md$")
        rng.shuffle(paths)
        pairs: list[tuple[str, str]] = []
        for path, text in snapshot.texts(paths[:limit]):
            # A page that only names another page says `tldr OTHER`.
            for what, line in re.findall(r"(?m)^- (.*?):?\n\n`(?!tldr )(.*?)`", text)[:3]:
                asked = what if rng.random() < 0.5 else how.format(what[:1].lower() + what[1:])
                pairs.append((asked, f"{path.rsplit('/', 1)[1][:-3]}: {re.sub(r'[{}]{2}', '', line)}"))
        groups += one_group(pairs)
    return groups


def commits(snapshot: Snapshot, rng: Random) -> list[Group]:
    """The subject of a commit asks for what its body tells."""
    pairs: list[tuple[str, str]] = []
    for subject, body in snapshot.commits(8000):
        text = re.sub(
            r"(?m)^\s*(Signed-off-by|Co-authored-by|PiperOrigin|Change-Id|Merge|COPYBARA|Closes|Fixes|---|#).*$",
            "",
            body,
        )
        text = re.sub(r"<[^>]+>|https?://\S+", " ", text)
        asked = re.sub(r"\s*\(#\d+\)|^\w+(\(.*?\))?!?:\s*|^\S{1,2}\s", "", subject)
        if len(terms(asked)) > 3 and len(terms(text)) > 12 and not asked.lower().startswith("bump"):
            pairs.append((asked, passages(text)[0]))
    rng.shuffle(pairs)
    return one_group(pairs[:1500])
