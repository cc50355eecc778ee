"""Instructions that hold from now on, told as what the assistant should do. What is asked for once is none."""

from __future__ import annotations

import re
from typing import Final

from perdure.learn.slots import Reading
from perdure.learn.third_person import tell

# What an assistant can be told to do always. `Don't worry` and `never give up` are said to people.
_VERBS: Final = (
    r"(?P<verb>add|address|answer|apologi[sz]e|ask|assume|avoid|be|call|change|check|cite|comment|commit|confirm|create"
    r"|delete|document|edit|end|explain|format|give|include|install|keep|make|mention|name|offer|prefer|propose|push|put"
    r"|quote|recommend|refactor|refer|remind|repeat|reply|respond|run|show|sign|skip|speak|start|stick|stop|suggest"
    r"|summari[sz]e|switch|talk|test|translate|use|write)"
)
_STANDING: Final = re.compile(
    r"(?P<when>(?:when(?:ever)?|every time|if) [^,]{3,80}, )?"
    r"(?P<lead>(?:(?:please|from now on|in (?:the )?future|going forward|by default|remember to"
    r"|make sure (?:to|you|that you)|you (?:should|must|have to|need to)"
    r"|i(?:'d| would)? (?:want|like|prefer|need|expect) you to)[ ,]+)*)"
    rf"(?P<how>(?:always|never|do not|don't|only)\b )?(?:please )?{_VERBS}\b(?P<rest> .+)",
    re.IGNORECASE,
)
_LASTS: Final = re.compile(
    r"from now|future|forward|default|remember|make sure|should|must|have to|you to", re.IGNORECASE
)
# How somebody is spoken to is meant to last, also where nobody says so.
_MANNER: Final = frozenset("answer respond reply speak talk call address be keep".split())
_ONCE: Final = re.compile(
    r"\b(?:this|that|these|those|it|now|today|tomorrow|tonight|again|there|careful|safe|well|up|going|back)\b",
    re.IGNORECASE,
)
# `Never give up`, `always be yourself`: they are said to anybody.
_CHEERS: Final = re.compile(r" (?:up|it|going|yourself|afraid|sorry|kind|strong|happy)\b", re.IGNORECASE)
_NOT: Final = {"don't": "not", "do not": "not"}
_DENYING: Final = frozenset(("never", "not", "avoid", "stop"))
_MOST_WORDS: Final = 6
_YOUR: Final = re.compile(r"\byour\b", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"(?:answer|respond|reply|speak|talk|write) (?:to me )?in ([A-Z]\w+)")


def read_guideline(clause: str, speaker: str, listener: str) -> tuple[str, Reading] | None:
    """The fact and what it tells: `don't call me sir` becomes `Assistant should not call Ana sir`."""
    match = _STANDING.fullmatch(clause)
    if match is None:
        return None
    verb, how = match["verb"].lower(), (match["how"] or "").strip().lower()
    how = _NOT.get(how, how)
    lasts = how or match["when"] or _LASTS.search(match["lead"]) or verb in _DENYING
    if _CHEERS.match(match["rest"]):
        return None
    if not lasts and (verb not in _MANNER or _ONCE.search(match["rest"])):
        return None
    order = f"{verb}{match['rest']}"
    when = tell(match["when"], speaker, listener).text if match["when"] else ""
    told = tell(_YOUR.sub("its", order), speaker, listener).text[len(verb) + 1 :]
    named = listener if when else listener[:1].upper() + listener[1:]
    denied = how in _DENYING or verb in _DENYING
    language = _LANGUAGE.fullmatch(order)
    slot, value = f"should:{verb}:{told.lower()}", told
    if language and not denied:
        slot, value = "language", language[1]
    elif verb == "call" and not denied:
        slot = "should:call"
    elif told.count(" ") >= _MOST_WORDS or "," in told:
        slot = value = ""
    fact = f"{when}{named} should {how + ' ' if how else ''}{verb} {told}"
    return fact, Reading("guideline", slot, value, not denied)
