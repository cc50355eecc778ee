"""What of a message tells something: what is left without greetings, questions, quotations, jokes and small talk.

Only English is understood. A sentence is read up to a length, so that every pattern has little to look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from perdure.learn.rules.english.chat_spelling import plain_spelling
from perdure.learn.rules.english.clause_split import split_clauses
from perdure.learn.rules.english.slips import without_slips
from perdure.learn.rules.english.verbs import BASE, MODALS, is_adverb, is_past
from perdure.text.question_share import QUESTION_MARKS
from perdure.text.sentences import is_abbreviation, sentences

# A longer sentence is a list, a log or a rant, and no statement.
_LONGEST: Final = 400
_FEWEST_WORDS: Final = 3
_SHORT_REMARK: Final = 30
_SHORTEST_NAME: Final = 3


class Clause(NamedTuple):
    """`text` is what it tells, and empty where it tells nothing; `spoken` is all that was said, instructions among it.
    `begins`: it begins a sentence, so that a verb without a subject there is the speaker's. `asks`: it is a question.
    """

    text: str
    spoken: str
    begins: bool = True
    asks: bool = False


def clauses(text: str, listener: str) -> Iterator[Clause]:
    """What was said, in order, each without the names and interjections that address somebody."""
    text = plain_spelling(text)
    if ">" in text or "`" in text or "~" in text:
        text = _FENCED.sub("\n\n", _QUOTED_LINE.sub("\n", text))
    if not text.isascii() or ":" in text or ";" in text or "<3" in text:
        text = _SYMBOLS.sub(" ", _LINK.sub(" ", text))
    # Most messages hold neither, and need not be looked through sentence by sentence.
    lower = text.lower()
    jokes, quotes = any(mark in lower for mark in _JOKE_MARKS), any(mark in text for mark in _QUOTES)
    found = sentences(text)
    for sentence, following in pairwise((*found, "")):
        if len(sentence) > _LONGEST:
            continue
        if jokes and (_is_joke(sentence) or (len(following) < _SHORT_REMARK and _is_joke(following))):
            continue
        if quotes and (_STARTS_QUOTED.match(sentence) or _QUOTED_SELF.search(sentence)):
            continue
        for part, mark in _parts(without_slips(sentence)):
            yield from _clauses_of(part, listener, asks=not _ASKING_MARKS.isdisjoint(mark or part[-1:]))


def _clauses_of(part: str, listener: str, *, asks: bool) -> Iterator[Clause]:
    """Of what ends with a question mark, the last clause asks, and the others may tell something."""
    spoken = _unaddressed(part, listener)
    pieces = split_clauses(spoken) if spoken else []
    for place, piece in enumerate(pieces):
        said = spoken if piece.text == spoken else _unaddressed(piece.text, listener)
        if "," in said or " while " in said or said.endswith(_DANGLING_ENDS):
            said = _BESIDES.sub("", said)
        if said.endswith(_THOUGHTS):
            said = _THOUGHT.sub(r", \1", said)
        if said and asks and place == len(pieces) - 1:
            reason = _REASON.match(piece.text)
            yield Clause(_telling(reason[1]) if reason else "", said, asks=True)
        elif said:
            yield Clause(_telling(said), said, piece.begins)
        if _RENDERS.match(said):
            return


def _parts(sentence: str) -> Iterator[tuple[str, str]]:
    """What stands between the signs that break a sentence, and behind each the sign that ends it. What is long and in
    brackets stands by itself.
    """
    aside = _ASIDE.search(sentence)
    if aside:
        yield from _parts(f"{sentence[: aside.start()]}{sentence[aside.end() :]}")
        yield from _parts(aside[1])
        return
    start = 0
    for sign in _BREAK.finditer(sentence):
        if sign[0].strip() != "." or not is_abbreviation(sentence, sentence.index(".", sign.start())):
            yield sentence[start : sign.start()], sign[0]
            start = sign.end()
    yield sentence[start:], ""


def _is_joke(sentence: str) -> bool:
    return _JOKE.search(sentence) is not None and _NO_JOKE.search(sentence) is None


def _unaddressed(clause: str, listener: str) -> str:
    """Without what only addresses somebody: `Hey Mel, well, I …, Mel!`."""
    address, before = _address(listener), ""
    clause = (_SINCE_THEN.sub("", clause) if "since" in clause.lower() else clause).strip(_SIGNS)
    while before != clause:
        before = clause
        opening = _OPENING.match(clause)
        if opening and opening.end() < len(clause):
            clause = clause[opening.end() :]
        if "," in clause:
            clause = address.sub("", clause).strip(_SIGNS)
        if clause.endswith(_LAST_WORDS):
            clause = _CLOSING.sub("", clause).strip(_SIGNS)
    return f"{clause}." if _DOTTED_END.search(clause) else clause


@lru_cache(256)
def _address(listener: str) -> re.Pattern[str]:
    """The listener's name where it addresses them: at the beginning, or between commas, also shortened."""
    lengths = range(len(listener), _SHORTEST_NAME - 1, -1) if listener[:1].isupper() else ()
    names = "|".join([*(re.escape(listener[:length]) for length in lengths), "guys|everyone|folks|buddy|dude|man|bud"])
    return re.compile(rf"^(?:{names})\b\s*[,!.:-]+\s*|^(?:{names}) (?=I\b)|,\s*(?:my )?(?:{names})\b(?=\s*(?:[,!.]|$))")


def _telling(spoken: str) -> str:
    clause = _without_you(spoken)
    return "" if _is_void(clause) else clause


def _without_you(clause: str) -> str:
    """What stands before `, and you …`; nothing where the whole is about `you`."""
    if "you" not in clause.lower():
        return clause
    matches = list(_WORD.finditer(clause))
    words = [match[0].lower() for match in matches]
    for at, word in enumerate(words):
        if word not in _YOU or not _is_subject(words, at):
            continue
        joint = at > 0 and words[at - 1] in _JOINTS
        head = clause[: matches[at - 1 if joint else at].start()].rstrip()
        return head.rstrip(" ,") if at > _FEWEST_WORDS and (joint or head.endswith(",")) else ""
    return clause


def _is_subject(words: list[str], at: int) -> bool:
    if "'" in words[at]:
        return True
    following = words[at + 1] if at + 1 < len(words) else ""
    verb = following in BASE or following in MODALS or following in {"are", "were"} or is_past(following)
    return (verb or is_adverb(following)) and (at == 0 or words[at - 1] not in _BEFORE_OBJECTS)


def _is_void(clause: str) -> bool:
    if _IDIOM.search(clause):
        return True
    if clause.count(" ") + clause.count("'") < _FEWEST_WORDS - 1 and not _SHORT_EVENT.fullmatch(clause):
        return True
    if clause.partition(" ")[0].lower() in _UNRESOLVED and not _SINCE.match(clause):
        return True
    if _ASKS.match(clause) or _SUPPOSES.match(clause) or _SMALL_TALK.match(clause):
        return True
    words = frozenset(clause.lower().split())
    if not words.isdisjoint(_UNREAL) and _HYPOTHETICAL.search(clause):
        return True
    return not words.isdisjoint(_ADDRESSED) and _TO_LISTENER.search(clause) is not None


_WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_QUOTED_LINE: Final = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_FENCED: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"https?://\S+")
# Hearts, faces and arrows say how something is meant, and belong to no fact.
_SYMBOLS: Final = re.compile("[\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+|(?<!\\w)[:;]-?[)(DPpO](?!\\w)|<3")
_ASKING_MARKS: Final = frozenset(QUESTION_MARKS)
# What stands in brackets, if it has three words or more.
_ASIDE: Final = re.compile(r"\s*\(([^()\s]+(?:\s+[^()\s]+){2,})\)")
# `Translate this: the train is late`: what follows is no statement of the speaker's.
# `Since I have gout, which fish can I eat?`
# `I moved to Bonn for it`, `they want 900, which is a lot`: the rest is plain.
_BESIDES: Final = re.compile(
    r"(?<=\w\w\w) (?:for|because of|after|before) (?:it|that|this|them)$|(?<=\w), (?:which|and yes|yes)\b.*$"
    r"|(?<=\w) while (?:he|she|they)(?:'s|'re| is| are)\b.*$",
    re.IGNORECASE,
)
_DANGLING_ENDS: Final = (" it", " that", " this", " them")
_THOUGHTS: Final = (" think", " guess", " believe", " suppose")
_THOUGHT: Final = re.compile(r"(?<=\w) (I (?:think|guess|believe|suppose))$", re.IGNORECASE)
_REASON: Final = re.compile(r"(?:since|because|as|now that) ((?:I|we|my)\b[^,]+), ", re.IGNORECASE)
_RENDERS: Final = re.compile(r"(?:please )?(?:translate|rephrase|proofread|correct|rewrite|say|spell)\b", re.IGNORECASE)
_QUOTES: Final = '"“«'
_STARTS_QUOTED: Final = re.compile(r"\W*[\"“«]")
_QUOTED_SELF: Final = re.compile(
    r"[\"“«][^\"”»]*\b(?:I|my|me|we|you)\b|\b(?:says?|said|asked|told|goes|like)\b[^\"“«]*[\"“«]", re.IGNORECASE
)
_JOKE_MARKS: Final = ("kidding", "joking", "jk", "j/k", "sarcasm", "a joke", "/s")
_JOKE: Final = re.compile(r"\b(?:kidding|joking|jk|j/k|sarcasm|just a joke)\b|(?<!\w)/s(?!\w)", re.IGNORECASE)
_NO_JOKE: Final = re.compile(r"\b(?:not (?:kidding|joking)|no (?:joke|kidding))\b", re.IGNORECASE)
_BREAK: Final = re.compile(r"\s*(?:;|\s[-–—]+\s|-+\s|--+|—|–|\.{2,}|…|[!?.](?=\s+\S))\s*")  # noqa: RUF001 - dashes

_OPENING: Final = re.compile(
    r"(?:(?:hey|hi|hello|wow|whoa|woah|yeah|yea|yep|yes|yup|nope|nah|oh|ah|aww?|hm+|well|so|and|but|also|plus"
    r"|anyways?|btw"
    r"|by the way|(?:ha){2,}h?|lol|omg|ok|okay|sure|totally|definitely|absolutely|exactly|thanks|thank you|thx"
    r"|actually|honestly|basically|guess what|you know(?: what)?|i mean|in fact|oh my god|sorry|unfortunately"
    r"|luckily|fortunately|sadly|thankfully|anyhow|for sure|of course|to be honest|tbh|fyi|or|yet|heads up|apparently"
    r"|(?:please )?(?:remember|note) that|keep in mind that|just so you know|for the record|in case you (?:need it"
    r"|wonder)|(?:a |quick |small |gentle )?reminder that"
    r"|(?:it )?turn(?:s|ed) out(?: that)?|(?:i )?(?:must|have to|should|can|need to) (?:tell you|say"
    r"|admit)(?: that)?|because"
    r"|good (?:morning|afternoon|evening|night))\b[\s,!.:-]*"
    r"|(?:no|not yet|not really|same here|true|right|cool|nice|great|awesome|amazing|good|then|now|besides"
    r"|in addition|speaking of which|on another note|good news|great news|first|second|third|finally|not much|same"
    r"|agreed|good point|no worries|no problem|as for me|as you know|like i said|no wait|wait|hold on|scratch that"
    r"|correction|dude|man|bro|though|please|perfect|ugh|ha|hooray|(?:the |a |an |one |just |and )?(?:[a-z]+ ){0,2}?"
    r"(?:news|update|twist|fact|thing|one|note|question|reminder|spoiler|ps|p\.s|confession))\s*[,!.:-]+\s*)+",
    re.IGNORECASE,
)
_SIGNS: Final = " \t,.!:;*_~-"
# `at 10 a.m` and `the U.S` miss their last dot.
_DOTTED_END: Final = re.compile(r"\b[A-Za-z]\.[A-Za-z]$")
_LAST_WORDS: Final = (
    "though", "too", "haha", "lol", "know", "right", "well", "yeah", "btw", "way", "tbh", "fyi", "apparently",
    "obviously", "it", "yes", "no", "oops", "record", "thanks", "finally", "sorry", "wonder",
)  # fmt: skip
_CLOSING: Final = re.compile(
    r"(?:,\s*(?:though|too|yes|no|oops|you know|right|as well|so yeah|obviously|apparently|finally|sorry)"
    r"|[,\s]+(?:haha|lol|btw"
    r"|by the way|tbh|fyi|thanks|for the record|in case you (?:need it|wonder|ever need it)|though))$",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"(?:what|why|who|whom|whose|where|how|which)(?:'s|'re|'d)?\b(?!ever)"
    r"|(?:have|has|had|haven't|hasn't) (?:i|you|we|they|he|she|it)\b(?!.*, (?:i|we|my)\b)"
    r"|(?:when|do|does|did|are|is|was|were|can|could|would|will|should|shall|may|don't|doesn't|didn't"
    r"|aren't|isn't|can't|couldn't|wouldn't|won't|shouldn't) (?:i|you|we|they|he|she|it|your|my|the|there)\b"
    r"(?!.*, (?:i|we|my)\b)|any(?:thing|one|body)? (?:new|else|plans|tips|advice|ideas)\b",
    re.IGNORECASE,
)
_SUPPOSES: Final = re.compile(
    r"(?:even |as |only )?(?:if|unless|imagine|suppose|supposing|assuming|pretend|let's|lets|let us|let me|say)\b",
    re.IGNORECASE,
)
_UNREAL: Final = frozenset("can could could've if might must should should've wish would would've".split())
_HYPOTHETICAL: Final = re.compile(
    r"\b(?:if (?:i|we|they|he|she|it) \w+|(?:would|could|should|might) have|would've|could've|should've|as if|if only"
    r"|wish (?:i|we) (?:had|were|was|could)|(?:we|you) (?:should|could|might|must|can(?!.*\b(?:now|again|only)\b)))\b",
    re.IGNORECASE,
)
_DEGREE: Final = (
    r"(?:(?:am|really|so|also|just|totally|definitely|do|can|can't|couldn't|don't|will|always|truly|completely|still"
    r"|too|all|must|have to|would|very|super|only|absolutely|never|haven't|have|been) )*"
)
# They are said to be polite, to agree or to encourage, and tell nothing that holds tomorrow.
_SMALL_TALK: Final = re.compile(
    rf"(?:i|i'm|i'll|i'd|i've|we|we're|we'll|we'd|we've) {_DEGREE}"
    r"(?:glad|sorry|sure\b|here for|here if|rooting|jealous|impressed|envious|all ears|there for you|blown away"
    r"|pleased to|happy (?:for|to (?:hear|help|see|know|be))|(?:grateful|thankful|lucky) (?:for|to have) you|bet\b"
    r"|agree|see\b(?: what|\.|,|$)|hear (?:you|ya|that)|get (?:it|you|that|what|how|where)\b"
    r"|got (?:you|ya|it|this|your)\b|know (?:what|how|you|that|it|right|the feeling|exactly|who)"
    r"|understand\b(?! (?:some|a|\w+ and\b|(?-i:[A-Z])))"
    r"|imagine|appreciate|thank\b|admit|relate|think (?:so|it|that|you)|guess so|let you|talk to you|see you|tell you"
    r"|hope (?:you|your|it|that|everything|this|they|he|she|all|so|to see you|to hear)|wish you|believe in"
    r"|keep (?:you|that in mind|it in mind|in touch|it up|that up|pushing|going)|wait to (?:see|hear|read|try)"
    r"|wait\b[.,!]*$|support you|say\b|check (?:it|that|them|this) out|give (?:it|that|them) a"
    r"|doing (?:well|good|great|okay|ok|fine|alright)|(?:good|fine|great|down|in|okay|know|there)\b[.,!]*$"
    r"|welcome|be honest"
    r"|have no idea|wonder|promise|catch(?:ing)? up|chat|(?:have|got|had) (?:something|some news|news)|talked|spoken"
    r"|caught up|(?:looking )?forward to (?:it|that|hearing|seeing (?:you|how|what))|need (?:it|that)\b"
    r"|feel (?:the same|you|ya)|with you|be there\b|on it\b|remember (?:that|it|you)|stay in touch"
    r"|last (?:talked|chatted|spoke))|my (?:pleasure|bad|goodness|god|oh|dear|friend\b[.,!]*$)"
    r"|a lot(?:'s| has) happened|long time|been (?:ages|a while|so long|too long|forever)"
    r"|(?:i |i've )?(?:got|have|need|gotta)(?: to)? (?:go|run|leave)\b[\w ]{0,8}(?:$|,)",
    re.IGNORECASE,
)
_ADDRESSED: Final = frozenset("me thanks you you, you. your yours yourself".split())
_TO_LISTENER: Final = re.compile(
    r"\b(?:proud of you|see you|miss(?:ed)? you|thank you|thanks|wish(?:ing)? you|reminds? me of you|you too|for you"
    r"|you guys|your|yours|yourself|(?:let|tell|show|ask|teach|send|remind|keep|lend|meet|join) (?:me|you))\b",
    re.IGNORECASE,
)
# Nobody who reads such a sentence alone knows what it is about.
_UNRESOLVED: Final = frozenset(
    """
    anything each everyone everything here here's him nothing one same someone something such them what which
    """.split()
)
# They need no more words: `Zoe died`.
_SINCE_THEN: Final = re.compile(
    r",?\s*\bsince (?:(?:we|I)(?:'ve)? (?:last )?(?:talked|spoke|spoken|chatted)|(?:our|the) last (?:chat|talk"
    r"|call))\b,?",
    re.IGNORECASE,
)
_IDIOM: Final = re.compile(
    r"\b(?:get me started|fingers crossed|long story|no offen[cs]e|speak of the devil|thank god$"
    r"|believe it or not$)",
    re.IGNORECASE,
)
_SHORT_EVENT: Final = re.compile(
    r"[A-Z][\w'-]+ (?:died|left|quit|retired|resigned|moved|graduated|married)|I (?:smoke|vape|retired|graduated)"
)
_SINCE: Final = re.compile(
    r"it(?:'s| has| is| was) (?:been )?(?!ages|a while|so long|too long|forever).* since (?:i|we|my)\b", re.IGNORECASE
)
_YOU: Final = frozenset("you you're you'll you'd you've".split())
_JOINTS: Final = frozenset("and but so because if when while as like since where".split())
_BEFORE_OBJECTS: Final = frozenset(
    "about ask asked at by for from gave give help helped meet met of on saw see show tell than to told with".split()
)
