"""Whom a clause is about: the speaker, somebody of theirs, or somebody who is named."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.learn.english_verbs import BASE, FEELINGS, MODALS, PARTICIPLES, is_adverb, is_finite, is_past, third_person
from perdure.learn.kin import Kin
from perdure.learn.slots import Reading, read_predicate, slot_of
from perdure.learn.speech_acts import Clause, is_order
from perdure.learn.third_person import tell


class Told(NamedTuple):
    """A clause in the third person, and what it tells of whom. Not `past`: it tells what is or will be."""

    text: str
    subject: str
    reading: Reading
    confidence: float
    past: bool = True


class SubjectReader:
    """Reads the clauses of one message in order. `he` or `she` is whoever the one before was about, if it was one."""

    def __init__(self, speaker: str, listener: str) -> None:
        self.speaker, self.listener = speaker, listener
        self.person = ""

    def read(self, clause: Clause, words: list[str], kin: list[Kin]) -> Told | None:
        """None where nobody can be told. `words` are those of the clause, in lower case."""
        told = (
            None if is_order(words) or words[0] in _FINITE or words[0] in _REACTIONS else self._told(clause, words, kin)
        )
        named = {one.subject for one in kin} or ({told.subject} - {self.speaker} if told else set[str]())
        self.person = named.pop() if len(named) == 1 else ""
        return told

    def _told(self, clause: Clause, words: list[str], kin: list[Kin]) -> Told | None:
        text = clause.text
        if words[0] in _PERSONS:
            return self._of_person(text, words)
        elided = _with_subject(text, words)
        if elided:
            return self._of_speaker(elided, [elided.partition(" ")[0].lower(), *words], 0.7) if clause.begins else None
        if not _SELF.isdisjoint(words):
            return self._of_speaker(text, words, 0.9)
        if words[0] in {"my", "our"}:
            return self._of_possession(text, kin)
        return self._of_name(text, words) or self._of_other(text, words)

    def _of_person(self, text: str, words: list[str]) -> Told | None:
        """`She works there`, of the one who was named before."""
        if not self.person or not _SELF.isdisjoint(words):
            return None
        verb = ""
        if "'" in words[0]:
            verb = " has" if words[1] in PARTICIPLES or words[1] == "got" else " is"
        told = tell(self.person + verb + text[len(words[0]) :], self.speaker, self.listener).text
        return _judged(told, self.person, told[len(self.person) + 1 :], 0.6)

    def _of_speaker(self, text: str, words: list[str], confidence: float) -> Told | None:
        told = tell(text, self.speaker, self.listener)
        at = next(at for at, word in enumerate(words) if word in _SELF)
        verb = next((word for word in words[at + 1 :] if not is_adverb(word)), "")
        if words[at] in {"i", "we"} and not is_finite(verb):
            return None
        comma = told.text[: told.subject].rstrip().endswith(",")
        adverbial = comma or words[0] in _ADVERBIAL or is_adverb(words[0]) or words[at - 1] == "and"
        if at and not adverbial:
            # `The book that I read is great` is about the book; `a picture of what I did` is no sentence.
            before = any(word in _FINITE or is_past(word) for word in words[:at])
            is_sentence = before or not _COPULAS.isdisjoint(words[at + 2 :])
            return Told(told.text, self.speaker, Reading(), confidence * 0.8) if is_sentence else None
        predicate = told.text[told.predicate :]
        # `I think I'm allergic to nuts` tells of the allergy.
        thought = _THOUGHT.match(predicate)
        if thought and predicate.startswith(f"{self.speaker} ", thought.end()):
            predicate = predicate[thought.end() + len(self.speaker) + 1 :]
        return _judged(told.text, self.speaker, predicate, confidence)

    def _of_possession(self, text: str, kin: list[Kin]) -> Told | None:
        """`My job is …` tells of the speaker, `my sister Anna is …` of Anna."""
        told = tell(text, self.speaker, self.listener).text
        rest = told[len(self.speaker) + 3 :]
        attribute = _ATTRIBUTE.match(rest)
        if attribute and attribute["kind"]:
            reading = Reading("preference", f"favorite:{attribute['kind'].lower()}", attribute["value"])
            return Told(told, self.speaker, reading, 0.9)
        if attribute and (known := _ATTRIBUTES.get(attribute["noun"].lower())):
            category, slot = known
            reading = Reading(category, slot_of(slot, attribute["value"]), attribute["value"])
            return Told(told, self.speaker, reading, 0.9)
        if thing := _THING.match(rest):
            kind, value = next((name, value) for name, value in thing.groupdict().items() if name != "noun" and value)
            return Told(told, f"{self.speaker}'s {thing['noun']}", Reading("identity", kind, value), 0.8, past=False)
        before, noun, named = "", rest.partition(" ")[0].rstrip(","), True
        for match in list(WORD.finditer(rest))[1:_LONGEST_SUBJECT]:
            word = match[0].lower()
            if word in _FINITE or is_past(word) or (word in BASE and _PLURAL.match(before)):
                owner = kin[0].subject if kin else f"{self.speaker}'s {noun}"
                return _judged(told, owner, rest[match.start() :], 0.8)
            named = named and word not in _PREPOSITIONS and not is_adverb(word) and rest[: match.start()][-2:-1] != ","
            noun = rest[: match.end()] if named else noun
            before = word
        return None

    def _of_name(self, text: str, words: list[str]) -> Told | None:
        """A capital letter that begins a sentence makes no name: the predicate must tell what is told of people."""
        name = _NAME.match(text)
        if name is None or is_adverb(words[0]) or words[0] in BASE or words[0].endswith("ing"):
            return None
        reading = read_predicate(text[name.end() + 1 :])
        if not reading.slot or reading.category == "goal":
            return None
        return _judged(tell(text, self.speaker, self.listener).text, name[0], text[name.end() + 1 :], 0.6)

    def _of_other(self, text: str, words: list[str]) -> Told | None:
        """`The course helped me relax`: something that has to do with the speaker."""
        if _OWN.isdisjoint(words):
            return None
        # `Dinner and drinks with my friends` has no verb.
        if not any(
            is_past(word) or (word in _FINITE and before not in _BEFORE_NOUNS) for before, word in pairwise(words)
        ):
            return None
        return Told(tell(text, self.speaker, self.listener).text, self.speaker, Reading(), 0.6)


def _judged(text: str, subject: str, predicate: str, confidence: float) -> Told | None:
    if _DANGLING.match(predicate):
        return None
    words = (word for word in predicate.lower().split() if not is_adverb(word))
    verb, following = next(words, ""), next(words, "")
    past = is_past(verb) or (verb in {"has", "have"} and (following in PARTICIPLES or is_past(following)))
    return Told(text, subject, read_predicate(predicate), confidence, past)


def _with_subject(clause: str, words: list[str]) -> str:
    """`Went to the beach yesterday` with the `I` that it leaves out; empty where it leaves out none."""
    at = next((at for at, word in enumerate(words) if not is_adverb(word)), 0)
    verb, following = words[at], words[at + 1 : at + 4]
    rest = clause[:1].lower() + clause[1:]
    # `Mixed emotions are rough` and `reminded me of it` have another subject.
    if not _OTHERS.isdisjoint(following):
        return ""
    if verb in FEELINGS or (is_past(verb) and following[:1] == ["by"]):
        return f"I'm {rest}"
    # `Been a busy week` leaves out `it has`.
    if verb in PARTICIPLES and (at or verb == "been") and following[:1] not in (["a"], ["an"]):
        return f"I've {rest}"
    if is_past(verb) and verb not in _NOT_ELIDED:
        return f"I {rest}"
    return f"I'm {rest}" if verb in _GERUNDS and _FINITE.isdisjoint(words[at + 1 :]) else ""


WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_LONGEST_SUBJECT: Final = 7
_SELF: Final = frozenset("i i'm i've i'd i'll im ive we we're we've we'd we'll".split())
_OWN: Final = frozenset("my our me us mine ours".split())
_PERSONS: Final = frozenset("he she he's she's".split())
_REACTIONS: Final = frozenset("glad happy sorry proud lucky sure hope grateful thankful".split())
# What may stand before `I` without being the subject.
_ADVERBIAL: Final = frozenset(
    """
    after although apart as at back because before besides by despite during earlier even ever every for from in
    last later maybe next on once one over perhaps since some sometimes these this though three to today tomorrow
    tonight two until when whenever while with without yesterday
    """.split()
)
_COPULAS: Final = frozenset("are aren't doesn't has hasn't is isn't was wasn't were weren't".split())
_FINITE: Final = frozenset(map(third_person, BASE)) | MODALS | _COPULAS
_GERUNDS: Final = frozenset(
    "considering getting heading hoping looking planning saving thinking trying working".split()
)
_NOT_ELIDED: Final = frozenset(
    "based bet called cost hurt left let looked made meant seemed sounded turned upset used was".split()
)
_OTHERS: Final = frozenset("are can is isn't me us was wasn't were will".split())
_BEFORE_NOUNS: Final = frozenset("a an and of or some the with".split())
_PREPOSITIONS: Final = frozenset("about and at by for from in of on that to who with".split())
_NAME: Final = re.compile(r"[A-Z][\w'-]*(?:\.? [A-Z][\w'-]*)*(?= )")
_PLURAL: Final = re.compile(r"kids|children|parents|people|\w{2,}[^s']s")
_THOUGHT: Final = re.compile(r"(?:\w+ )?(?:thinks|guesses|believes|supposes)(?: that)? ")
# `I bought it last week`: nobody knows what.
_DANGLING: Final = re.compile(
    r"(?:[\w']+ ){1,4}?(?:(?:it|that|they)'\w+\b|(?:it|that|this|them|these|those|him|her|there|so|too|one|ones)"
    r"(?:$|[,.;]| (?:a|a bit|a lot|after|again|all|already|am|and|are|as|at|back|because|before|but|by|down|ever|every"
    r"|for|from|happen|has|if|in|is|just|last|more|much|myself|next|now|off|often|on|or|out|over|really|recently|right"
    r"|since|so|some|sometime|soon|the|their|themselves|to|today|too|until|up|very|was|well|while|with|work|yesterday"
    r"|yet)\b))",
    re.IGNORECASE,
)
_ATTRIBUTES: Final = {
    "name": ("identity", "name"), "nickname": ("identity", "nickname"), "job": ("identity", "job"),
    "occupation": ("identity", "job"), "profession": ("identity", "job"), "birthday": ("identity", "birthday"),
    "hometown": ("identity", "comes_from"), "age": ("identity", "age"), "major": ("identity", "studies:"),
    "pronouns": ("identity", "pronouns"), "timezone": ("identity", "timezone"), "goal": ("goal", "wants:"),
    "dream": ("goal", "wants:"), "plan": ("goal", "wants:"), "hobby": ("interest", "interest:"),
    "passion": ("interest", "interest:"),
}  # fmt: skip
_ATTRIBUTE: Final = re.compile(
    r"(?:(?:all-time )?fav(?:ou?rite)? (?P<kind>[\w-]+(?: (?!is|are|was|to|thing)[\w-]+)?)|(?P<noun>[\w-]+)) "
    r"(?:is|are|was|would be) (?:called |named )?"
    r"(?P<value>[^,;:!?()]+?)(?=\s+(?:and|but|because|since|so|when|while|which|that)\b|[,;:!?()]|$)",
    re.IGNORECASE,
)
# What is told of a thing by a value that it has one of at a time: the rent, an appointment, the colour of a car.
_THING: Final = re.compile(
    r"(?P<noun>[a-z-]+(?: [a-z-]+){0,2}?) (?:is|are) (?:(?:now|only|about|around) )?"
    r"(?:[$€£]? ?(?P<amount>\d[\d.,:-]*)(?: ?(?:euros?|dollars?|pounds?|bucks|percent|%|kilos?|kg|km|miles"
    r"|hours?|minutes?))?"
    r"|(?P<colour>(?:(?:dark|light|bright) )?(?:black|blue|brown|gr[ae]y|green|orange|pink|purple|red|white|yellow))"
    r"|(?:on|at) (?P<time>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?)?)"
    r"|in (?P<place>(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)*))"
    r"(?=\s*(?:[,;!.]|$)|\s+(?:now|any ?more|these days|since|and|but|a month|a week|a year|per|at|every|instead)\b)",
    re.IGNORECASE,
)
