"""Whom a clause is about: the speaker, somebody or something of theirs, or whoever and whatever is named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.learn.rules.english.clause_heads import STRONG, THIRD, Head, ReadWord, find_head, find_late_head, tokens_of
from perdure.learn.rules.english.kin import RELATIONS, Kin
from perdure.learn.rules.english.notes import read_note
from perdure.learn.rules.english.slots import Reading, read_predicate, slot_of
from perdure.learn.rules.english.speech_acts import Clause
from perdure.learn.rules.english.substance import is_particular, is_passing, is_plain, says_enough
from perdure.learn.rules.english.third_person import tell
from perdure.learn.rules.english.verbs import BASE, FEELINGS, PARTICIPLES, is_adverb, is_past


class Told(NamedTuple):
    """A clause in the third person, and what it tells of whom. Not `past`: it tells what is or will be. `habit`: what
    is done again and again, so that `in the summer` is every one.
    """

    text: str
    subject: str
    reading: Reading
    confidence: float
    past: bool = True
    habit: bool = False


class SubjectReader:
    """Reads the clauses of one message in order. `he` and `she` are whoever the one before was about, `it` is the thing
    that it was about, if there was one.
    """

    def __init__(self, speaker: str, listener: str) -> None:
        self.speaker, self.listener = speaker, listener
        self.person = self.thing = ""

    def read(self, clause: Clause, kin: list[Kin]) -> Told | None:
        """None where nothing is told of anybody."""
        tokens = tokens_of(clause.text)
        if not tokens or tokens[0].word in _REACTIONS:
            self.person = self.thing = ""
            return None
        head = find_head(tokens) or find_late_head(tokens)
        if head and head.subject and head.kind == "thing_pronoun" and tokens[0].word in _REASONS:
            # `Since we moved to Bonn it's an hour`: what is not plain is left out.
            clause = clause._replace(text=clause.text[tokens[1].start : tokens[head.subject - 1].end])
            tokens = tokens_of(clause.text)
            head = find_head(tokens)
        if head and not _UNKNOWN.isdisjoint(token.word for token in tokens[: head.subject]):
            return None
        told = self._told(clause, tokens, head, kin)
        self._remember(clause.text, tokens, head, kin, told)
        return told

    def hear(self, spoken: str, kin: list[Kin]) -> None:
        """What tells nothing may still name whom the next clause is about: `Carys rang`, `what does my son eat?`."""
        tokens = tokens_of(spoken)
        self._remember(spoken, tokens, find_head(tokens), kin, None)

    def _told(self, clause: Clause, tokens: list[ReadWord], head: Head | None, kin: list[Kin]) -> Told | None:
        text = clause.text
        if head is None:
            elided = _with_subject(text, tokens) if clause.begins else ""
            full = tokens_of(elided)
            head = find_head(full) if elided else None
            return self._of_speaker(elided, full, head, 0.7) if head else self._of_note(text, tokens)
        told: Told | None = None
        match head.kind:
            case "self":
                told = self._of_speaker(text, tokens, head, 0.9)
            case "person" | "thing_pronoun":
                told = self._of_pronoun(text, tokens, head)
            case "own" | "name" if "i" in (token.word for token in tokens[head.subject : head.end]):
                told = self._of_several(text, tokens, head)
            case "own":
                told = self._of_possession(text, tokens, head, kin)
            case "name" | "thing":
                told = self._of_other(text, tokens, head)
            case "there":
                told = self._of_what_there_is(text, tokens, head)
            case "you":
                pass
        return told

    def _of_note(self, text: str, tokens: list[ReadWord]) -> Told | None:
        note = read_note(text, tokens)
        if note is None:
            return None
        subject = note.subject or self.speaker
        return Told(tell(note.text, self.speaker, self.listener).text, subject, Reading(), 0.5, past=False)

    def _remember(
        self, text: str, tokens: list[ReadWord], head: Head | None, kin: list[Kin], told: Told | None
    ) -> None:
        """Whom and what the next clause may mean."""
        if head and head.kind in {"person", "thing_pronoun"} and told:
            return
        called = _CALLED.findall(text)
        people = {one.subject for one in kin} | {name[:1].upper() + name[1:] for name in called}
        if head and head.kind == "name" and head.end - head.subject <= _SHORT:
            people.add(text[tokens[head.subject].start : tokens[head.end - 1].end].removesuffix("'s"))
        self.person = people.pop() if len(people) == 1 else ""
        is_thing = head and (head.kind == "thing" or (head.kind == "own" and not kin)) and not head.is_plural
        self.thing = _subject_text(text, tokens, head) if head and is_thing else ""

    def _of_pronoun(self, text: str, tokens: list[ReadWord], head: Head) -> Told | None:
        """`She works there`, of the one who was named before; `it is …`, of the thing."""
        if tokens[head.subject].word.startswith("they"):
            done = _DONE_BY_THEM.match(text)
            return self._of_what_was_done(done) if done and not self.person else None
        is_person = head.kind == "person"
        named = self.person if is_person else self.thing if tokens[head.subject].word.startswith("it") else ""
        if not named or head.subject > 0:
            return None
        if "'" in tokens[head.subject].word:
            if not tokens[head.subject].word.endswith("'s"):
                return None
            text = _spelled_out(text, tokens, head)
        after = text[text.index(" ") :]
        told = tell(named + after, self.speaker, self.listener).text
        own = tell(named, self.speaker, self.listener).text
        predicate = told[len(own) + 1 :]
        if is_person:
            return _judged_person(told, own, predicate, 0.6)
        return self._judged_thing(told, own, predicate, 0.5)

    def _of_what_was_done(self, done: re.Match[str]) -> Told | None:
        """`They have changed my tablets`: nobody needs to know who."""
        thing = done["thing"].lower()
        if thing in {"me", "us"}:
            subject, several = self.speaker, False
        else:
            subject, several = tell(done["thing"], self.speaker, self.listener).text, thing.endswith("s")
        after = tell(done["rest"], self.speaker, self.listener).text if done["rest"] else ""
        predicate = f"{'were' if several else 'was'} {done['verb'].lower()}{after}"
        return Told(f"{subject} {predicate}", subject, Reading(), 0.6)

    def _of_what_there_is(self, text: str, tokens: list[ReadWord], head: Head) -> Told | None:
        """`There's a room from the 4th of May`."""
        start = tokens[head.subject].end
        full = f"There is{text[start:]}" if head.verb < head.end else text
        found = _WHAT_THERE_IS.match(full)
        if head.subject > 0 or found is None or not is_particular(found["what"], is_named=False):
            return None
        told = tell(full, self.speaker, self.listener).text
        return None if _DANGLING.match(found["what"]) else Told(told, found["noun"].lower(), Reading(), 0.6, past=False)

    def _of_speaker(self, text: str, tokens: list[ReadWord], head: Head, confidence: float) -> Told | None:
        told = tell(text, self.speaker, self.listener)
        predicate = told.text[told.predicate :]
        # `I think I'm allergic to nuts` tells of the allergy.
        thought = _THOUGHT.match(predicate)
        if thought and predicate.startswith(f"{self.speaker} ", thought.end()):
            predicate = predicate[thought.end() + len(self.speaker) + 1 :]
        if is_passing(predicate):
            return None
        # `I'm Ana, 34`: the name is told by whoever gives it.
        if predicate.startswith(f"is {self.speaker},"):
            predicate = f"is {predicate[len(self.speaker) + 4 :].strip(' ,')}"
            return _judged(f"{self.speaker} {predicate}", self.speaker, predicate, confidence)
        if predicate == f"is {self.speaker}":
            return None
        if tokens[head.subject].word.startswith("we") and _OF_A_PLACE.match(predicate):
            # Not the speaker is open on Sundays.
            place = f"{self.speaker}'s place"
            fact = f"{told.text[: told.subject]}{place} {predicate}"
            return Told(f"{fact[:1].upper()}{fact[1:]}", place, Reading(), confidence, past=False)
        return _judged(told.text, self.speaker, predicate, confidence)

    def _of_several(self, text: str, tokens: list[ReadWord], head: Head) -> Told | None:
        """`My sister and I love opera`."""
        told = tell(text, self.speaker, self.listener).text
        predicate = told[_predicate_start(told, tokens, head) :]
        return None if is_passing(predicate) else _judged(told, self.speaker, predicate, 0.8)

    def _of_possession(self, text: str, tokens: list[ReadWord], head: Head, kin: list[Kin]) -> Told | None:
        """`My job is …` tells of the speaker, `my sister Anna is …` of Anna."""
        if head.subject > 0:
            told = tell(text, self.speaker, self.listener).text
            owner = kin[0].subject if kin else _subject_text(text, tokens, head).replace("my ", f"{self.speaker}'s ", 1)
            return _judged(told, owner, text[tokens[head.verb].start :], 0.7)
        told = tell(_spelled_out(text, tokens, head), self.speaker, self.listener).text
        rest = told[len(self.speaker) + 3 :]
        if attribute := _read_attribute(rest):
            return Told(told, self.speaker, attribute, 0.9)
        thing = _THING.match(rest)
        if thing and thing["noun"].split()[-1].lower() not in RELATIONS:
            kind, value = next((name, value) for name, value in thing.groupdict().items() if name != "noun" and value)
            return Told(told, f"{self.speaker}'s {thing['noun']}", Reading("identity", kind, value), 0.8, past=False)
        predicate = told[_predicate_start(told, tokens, head) :]
        ends = (at for at in range(2, head.end) if tokens[at].word in _PREPOSITIONS or tokens[at].breaks)
        noun = text[tokens[1].start : tokens[next(ends, max(head.end, 2)) - 1].end].removesuffix("'s")
        own = kin[0].subject if kin else f"{self.speaker}'s {noun}"
        last = noun.split()[-1].lower()
        if noun.lower() in _SELF_PARTS or last in {"one", "ones"}:
            return None
        judge = _judged_person if kin or last in RELATIONS else self._judged_thing
        return judge(told, own, predicate, 0.8)

    def _of_other(self, text: str, tokens: list[ReadWord], head: Head) -> Told | None:
        """Somebody or something that is named, or that both know: `Anna works at Google`, `the rent is 900`."""
        owner = tokens[head.subject].word
        subject = _subject_text(text, tokens, head)
        if owner in {"his", "her"}:
            if not self.person or head.subject > 0:
                return None
            text = f"{self.person}'s{text[tokens[head.subject].end :]}"
            tokens = tokens_of(text)
            head = find_head(tokens) or head
            subject = _subject_text(text, tokens, head)
        elif owner in _NOBODY:
            return None
        told = tell(_spelled_out(text, tokens, head), self.speaker, self.listener).text
        subject = tell(subject, self.speaker, self.listener).text
        predicate = told[_predicate_start(told, tokens, head) :]
        is_named = head.kind == "name" and head.subject == 0
        is_bare = head.kind == "thing" and owner not in _DETERMINED
        if owner.endswith("ing") and (owner[:-3] in BASE or f"{owner[:-3]}e" in BASE) and owner not in _THINGS:
            return None
        if is_named and not head.is_plural and _is_person(subject, predicate):
            return _judged_person(told, subject, predicate, 0.6)
        return self._judged_thing(told, subject, predicate, 0.6, is_named=is_named, is_bare=is_bare)

    def _judged_thing(
        self,
        text: str,
        subject: str,
        predicate: str,
        confidence: float,
        *,
        is_named: bool = False,
        is_bare: bool = False,
    ) -> Told | None:
        """What is told of a thing fills no slot: there may be several of its kind."""
        if _DANGLING.match(predicate) or not is_particular(predicate, is_named=is_named, is_bare=is_bare):
            return None
        verb = predicate.partition(" ")[0].lower()
        return Told(text, subject, Reading(), confidence, past=is_past(verb), habit=_is_habit(verb, predicate))


def _read_attribute(told: str) -> Reading | None:
    """What of the speaker `favourite book is Dune` or `job is …` tells."""
    attribute = _ATTRIBUTE.match(told)
    if attribute and attribute["kind"]:
        return Reading("preference", f"favorite:{attribute['kind'].lower()}", attribute["value"])
    known = _ATTRIBUTES.get(attribute["noun"].lower()) if attribute else None
    if attribute is None or known is None:
        return None
    category, slot = known
    return Reading(category, slot_of(slot, attribute["value"]), attribute["value"])


def _judged_person(text: str, subject: str, predicate: str, confidence: float) -> Told | None:
    """What is told of somebody else: `Linus is civilised` says little."""
    told = None if is_passing(predicate) else _judged(text, subject, predicate, confidence)
    return told if told and (told.reading.slot or says_enough(predicate)) else None


def _judged(text: str, subject: str, predicate: str, confidence: float) -> Told | None:
    if _DANGLING.match(predicate) or not is_plain(predicate):
        return None
    words = (word for word in predicate.lower().split() if not is_adverb(word))
    verb, following = next(words, ""), next(words, "")
    past = is_past(verb) or (verb in {"has", "have"} and (following in PARTICIPLES or is_past(following)))
    return Told(text, subject, read_predicate(predicate), confidence, past, _is_habit(verb, predicate))


def _is_habit(verb: str, predicate: str) -> bool:
    """`He starts on Monday` happens once, `he swims on Mondays` does not."""
    is_present = (verb in THIRD or verb in BASE) and verb not in STRONG and verb not in _SCHEDULED
    return is_present or predicate.startswith("used to ")


def _subject_text(text: str, tokens: Sequence[ReadWord], head: Head) -> str:
    return text[tokens[head.subject].start : tokens[head.end - 1].end].removesuffix(
        "'s" if head.verb < head.end else ""
    )


def _spelled_out(text: str, tokens: Sequence[ReadWord], head: Head) -> str:
    """`Ben's on leave` with its verb: `Ben is on leave`."""
    token = tokens[head.verb]
    if head.verb >= head.end or not token.word.endswith("'s"):
        return text
    following = next((one.word for one in tokens[head.verb + 1 :] if not is_adverb(one.word)), "")
    words = [one.word for one in tokens[head.verb + 1 : head.verb + 4] if not is_adverb(one.word)]
    has_object = len(words) > 1 and (is_past(words[0]) or words[0] in PARTICIPLES) and words[1] in _OBJECTS
    verb = "has" if following in _BEHIND_HAS or has_object else "is"
    return f"{text[: token.end - 2]} {verb}{text[token.end :]}"


def _predicate_start(told: str, tokens: Sequence[ReadWord], head: Head) -> int:
    """Where the verb stands in what became of the clause."""
    token = tokens[head.verb]
    verb = token.spelled if head.verb >= head.end else ""
    pattern = rf"\b{re.escape(verb)}\b" if verb else r"\b(?:is|has)\b"
    places = [match.start() for match in re.finditer(pattern, told)]
    least = sum(len(one.spelled) for one in tokens[: head.verb])
    return next((place for place in places if place >= least), places[-1] if places else 0)


def _is_person(name: str, predicate: str) -> bool:
    """Whether a name is that of somebody, as far as what is told of it says so: `Redis is 8` and `Deployment moved to
    Azure` are told of things.
    """
    words = name.split()
    if not all(word[0].isupper() for word in words) or words[0].endswith(_OF_THINGS):
        return False
    reading = read_predicate(predicate)
    if reading.slot == "age" or _OF_DAYS.search(reading.value):
        return False
    return bool(reading.slot) and reading.category != "goal"


def _with_subject(clause: str, tokens: Sequence[ReadWord]) -> str:
    """`Went to the beach yesterday` with the `I` that it leaves out; empty where it leaves out none."""
    words = [token.word for token in tokens]
    at = next((at for at, word in enumerate(words) if not is_adverb(word) or word in STRONG), 0)
    verb, following = words[at], words[at + 1 : at + 4]
    rest = clause[:1].lower() + clause[1:]
    # `Mixed emotions are rough` and `reminded me of it` have another subject.
    if not _OTHERS.isdisjoint(following) or (at + 1 < len(tokens) and tokens[at + 1].breaks):
        return ""
    if verb in FEELINGS or verb in _STATES or (is_past(verb) and following[:1] == ["by"]):
        return f"I'm {rest}"
    # `Been a busy week` leaves out `it has`.
    if verb in PARTICIPLES and (at or verb == "been") and following[:1] not in (["a"], ["an"]):
        return f"I've {rest}"
    if verb in _LEFT_ALONE and following and (verb != "have" or following[0] in PARTICIPLES or is_past(following[0])):
        return f"I {rest}"
    if is_past(verb) and verb not in _NOT_ELIDED and following and not _SINCE.match(" ".join(following)):
        return f"I {rest}"
    denied = words[0] == "not" and (verb.endswith("ing") or verb in {"a", "an", "into", "the"})
    gerund = verb in _GERUNDS and STRONG.isdisjoint(words[at + 1 :])
    return f"I'm {rest}" if gerund or denied else ""


_SHORT: Final = 3
_SCHEDULED: Final = frozenset("starts begins leaves arrives ends turns flies lands moves gets opens comes".split())
_DETERMINED: Final = frozenset(
    "the a an this that these those both all his her two three every each another other".split()
)
_THINGS: Final = frozenset("staging training meeting building parking swimming climbing boxing billing testing".split())
_REASONS: Final = frozenset(("since", "because", "after"))
# How they are is how somebody feels.
_SELF_PARTS: Final = frozenset("brain head heart mind soul mood feet face".split())
_DONE_BY_THEM: Final = re.compile(
    r"they(?:'ve| have| just| finally)* (?P<verb>\w{3,}ed|cut|put)(?= (?:me|us|my|our|the)\b)"
    r" (?P<thing>me|us|(?:my|our|the) [\w'-]+(?: (?!to\b|from\b|on\b|in\b|at\b|by\b|for\b|until\b|off\b)[\w'-]+){0,2})"
    r"(?P<rest>(?: .*)?)",
    re.IGNORECASE,
)
_UNKNOWN: Final = frozenset("he he's she she's they they're it it's him them those these".split())
_WHAT_THERE_IS: Final = re.compile(
    r"There (?:is|are) (?P<what>(?:an?|one|two|three|only|\d+)(?: new| only)? (?P<noun>[\w-]+)\b.*)", re.IGNORECASE
)
_NOBODY: Final = frozenset("spring summer autumn winter weather their its your no any nobody".split())
_REACTIONS: Final = frozenset("glad happy sorry proud lucky sure hope grateful thankful".split())
_GERUNDS: Final = frozenset(
    """
    considering getting heading hoping learning looking moving planning saving starting studying thinking trying working
    """.split()
)
_STATES: Final = frozenset(("off", "allergic", "vegan", "vegetarian", "pregnant", "retired", "unemployed"))
_LEFT_ALONE: Final = frozenset("can't cannot couldn't don't won't haven't have had".split()) - frozenset(("don't",))
_NOT_ELIDED: Final = frozenset(
    "based bet called cost done hurt left let looked made meant named seemed sounded turned upset used was were".split()
)
_SINCE: Final = re.compile(r"since\b|for (?:\d|a|ages|years)")
_OTHERS: Final = frozenset("are can is isn't me us was wasn't were will".split())
_PREPOSITIONS: Final = frozenset("about and at by for from in of on that to who with called named".split())
_BEHIND_HAS: Final = frozenset("been got had become".split())
_OBJECTS: Final = frozenset("a an the my our his her their your its me us him them it some two three".split())
_CALLED: Final = re.compile(
    r"\b(?:called|named) ((?:Dr|Mrs?|Ms)\.? [A-Z][\w'-]+|[A-Z][\w'-]+(?: [A-Z][\w'-]+)?|[a-z]+(?=$|[,.;]))"
)
_OF_THINGS: Final = (
    "ment",
    "tion",
    "sion",
    "ness",
    "ing",
    "ity",
    "ism",
    "ship",
    "ance",
    "ence",
    "ics",
    "ys",
    "ts",
    "ks",
)
_OF_DAYS: Final = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b", re.IGNORECASE)
_OF_A_PLACE: Final = re.compile(
    r"(?:\w+ly )?(?:is|are|was|will be)? ?(?:not |now |also |still |only )*(?:(?:open|closed|shut)\b(?! to)"
    r"|(?:opens?|closes?)"
    r" (?:at|on|for|from|until|till|every|earlier|later|again|all|now)|(?:doesn't|don't|won't) (?:open|close)\b)"
)
_THOUGHT: Final = re.compile(r"(?:\w+ )?(?:thinks|guesses|believes|supposes)(?: that)? ")
# `I bought it last week`: nobody knows what.
_DANGLING: Final = re.compile(
    r"[\w']+ ones?(?:$|[,.;]| )|(?:[\w'-]+ ){5,8}?(?:it|them|him|there)(?:$|[,.;])|(?:[\w']+ ){1,4}?(?:(?:it|that"
    r"|they)'\w+\b|(?:it|that|this"
    r"|them|these|those|him|her|there|so|too|others"
    r"|something|anything|his|hers|theirs|the same(?: thing)?|the other one|this time|that time|the thing)"
    r"(?:$|[,.;]| (?:a|a bit|a lot|after|again|all|already|am|and|are|as|at|back|because|before|but|by|down|ever|every"
    r"|for|from|happen|has|\w+ing|if|in|is|just|last|more|much|myself|next|now|off|often|on|or|out|over|really"
    r"|recently|right"
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
