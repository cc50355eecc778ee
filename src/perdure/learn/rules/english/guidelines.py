"""Finds standing instructions ("always answer in French"). One-off requests are ignored."""

from __future__ import annotations

import re
from typing import Final

from perdure.learn.rules.english.slots import Reading
from perdure.learn.rules.english.third_person import tell
from perdure.learn.rules.english.verbs import BASE

# What an assistant can be told to do always. `Don't worry` and `never give up` are said to people.
_VERBS: Final = (
    r"(?P<verb>add|address|answer|apologi[sz]e|ask|assume|avoid|be|call|change|check|cite|comment|commit|confirm|create"
    r"|delete|document|edit|end|explain|format|give|include|install|keep|make|mention|name|offer|prefer|propose|push"
    r"|put"
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
_STYLE: Final = re.compile(
    r" (?:it|things|them|this) (?:\w+ )?(?:short|brief|simple|concise|formal|informal|casual|polite|plain|quick)",
    re.IGNORECASE,
)
_IN_LANGUAGE: Final = re.compile(
    r"^ in (?:(?:British|American|plain|simple) )?(?:English|German|French|Spanish|Italian|Portuguese|Dutch|Polish"
    r"|Russian|Chinese|Japanese|Korean|Turkish|Arabic|Swedish|Danish|Norwegian|Finnish|Greek|Hindi)\b"
)
_AT_LAST: Final = re.compile(r" (?:from now on|in (?:the )?future|going forward|by default)$", re.IGNORECASE)
_CHEERS: Final = re.compile(r" (?:up|it|going|yourself|afraid|sorry|kind|strong|happy)\b", re.IGNORECASE)
_ONCE_ALLOWED: Final = re.compile(r"^ (?:see|tell|imagine|guess|say|laugh|bet)\b", re.IGNORECASE)
_PLEASE: Final = re.compile(r",? please$", re.IGNORECASE)
_NOT: Final = {"don't": "not", "do not": "not"}
_DENYING: Final = frozenset(("never", "not", "avoid", "stop"))
_MOST_WORDS: Final = 6
_YOUR: Final = re.compile(r"\byour\b", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"(?:answer|respond|reply|speak|talk|write) (?:to me )?in ([A-Z]\w+)")


# Firm words make an order of every verb, but for those by which people are comforted or asked for patience.
_FIRM: Final = re.compile(
    r"(?P<lead>(?:(?:please|from now on|in future|also|and|just)[ ,]+)*)(?P<how>always|never|do not|don't)\b"
    r" (?P<verb>[a-z]+)\b(?P<rest> .+)",
    re.IGNORECASE,
)
_ALLOWED: Final = re.compile(
    r"(?P<when>(?:for|in|on|from) [^,]{3,40}?,? )?you (?P<may>can|may|don't have to|do not have to|don't need to"
    r"|needn't"
    r"|no longer (?:have|need) to|are allowed to|are free to)(?P<rest> .+)",
    re.IGNORECASE,
)
# What is allowed for long, and no polite way to ask.
_ALLOWANCE: Final = re.compile(
    r"\b(?:again|back|any ?more|from now on|without asking|no longer|always|not have to|don't (?:have|need) to"
    r"|for th[ie]s"
    r"|needn't|may|allowed|free to)\b",
    re.IGNORECASE,
)
_THIRD: Final = {
    "don't have to": "doesn't have to", "do not have to": "does not have to", "don't need to": "doesn't need to",
    "are allowed to": "is allowed to", "are free to": "is free to", "no longer have to": "no longer has to",
    "no longer need to": "no longer needs to",
}  # fmt: skip
_WANTED: Final = re.compile(
    r"(?P<please>please,? )?(?P<what>no (?!need|problem|worries|rush|idea|way|hurry|more\b|thanks)[^,.;]{3,60}?"
    r"|(?!no\b)[\w -]{3,40}, (?:not|no) [\w ]{3,30}?|only [\w -]{3,40}?)(?P<asked>,? please)?",
    re.IGNORECASE,
)
_RULE: Final = re.compile(
    r"(?:(?:(?:new|another|one|house|small) )?rules? for you|new rule)[:, ]+(?P<rest>.{6,})", re.IGNORECASE
)
_SETTING: Final = re.compile(
    r"(?:please )?(?P<what>(?:make|set|change|raise|lower|increase|reduce|rename|move|switch) (?!it\b|this\b|that\b"
    r"|them\b|me\b"
    r"|sure\b|an? )[\w' -]{2,40}? (?:(?:to|from) )?(?:[A-Z]\w*|\d[\w.%]*)(?: ?[\w%]{1,8})?)(?:,.*)?",
)
_COMFORT: Final = frozenset(
    """
    bother care cry die forget get give hesitate hurt know laugh let lose mean mind need panic say see stress take tell
    think wait want wonder worry
    """.split()
)


def read_guideline(clause: str, speaker: str, listener: str) -> tuple[str, Reading] | None:
    """The fact and what it tells: `don't call me sir` becomes `Assistant should not call Ana sir`."""
    if " of us " in clause:
        return None
    wanted = _WANTED.fullmatch(clause)
    if wanted and (wanted["please"] or wanted["asked"]):
        return _told(f"should use {wanted['what'].strip()}", speaker, listener)
    clause = _PLEASE.sub("", clause)
    rule = _RULE.fullmatch(clause)
    if rule:
        return f"Rule for {listener}: {tell(rule['rest'], speaker, listener).text}", Reading("guideline")
    allowed = _ALLOWED.fullmatch(clause)
    if allowed and _ALLOWANCE.search(clause) and not _ONCE_ALLOWED.search(allowed["rest"]):
        may = allowed["may"].lower()
        when = f" {allowed['when'].strip(' ,').lower()}" if allowed["when"] else ""
        return _told(f"{_THIRD.get(may, may)}{allowed['rest']}{when}", speaker, listener)
    return _read_standing(clause, speaker, listener)


def read_request(clause: str, speaker: str, listener: str) -> str | None:
    """What is to be so from now on, and says how much or what: `make the tiles 24 px`, `set the limit to 10`."""
    match = _SETTING.fullmatch(_PLEASE.sub("", clause))
    if match is None:
        return None
    what = tell(match["what"], speaker, listener).text
    return f"{speaker[:1].upper()}{speaker[1:]} asked to {what[:1].lower()}{what[1:]}"


def _told(predicate: str, speaker: str, listener: str) -> tuple[str, Reading]:
    fact = tell(_YOUR.sub("its", predicate), speaker, listener).text
    return f"{listener[:1].upper()}{listener[1:]} {fact[:1].lower()}{fact[1:]}", Reading("guideline")


def _read_standing(clause: str, speaker: str, listener: str) -> tuple[str, Reading] | None:
    match = _STANDING.fullmatch(clause)
    if match is None:
        firm = _FIRM.fullmatch(clause)
        if firm is None or firm["verb"].lower() not in BASE - _COMFORT or _ONCE.search(firm["rest"]):
            return None
        how = firm["how"].lower()
        return _told(f"should {_NOT.get(how, how)} {firm['verb'].lower()}{firm['rest']}", speaker, listener)
    verb, how = match["verb"].lower(), (match["how"] or "").strip().lower()
    how = _NOT.get(how, how)
    lasts = _IN_LANGUAGE.search(match["rest"]) if verb == "write" else None
    lasts = (
        lasts
        or how
        or match["when"]
        or _LASTS.search(match["lead"])
        or verb in _DENYING
        or _AT_LAST.search(match["rest"])
    )
    if _CHEERS.match(match["rest"]) and not _STYLE.fullmatch(match["rest"]):
        return None
    if not lasts and (verb not in _MANNER or (_ONCE.search(match["rest"]) and not _STYLE.fullmatch(match["rest"]))):
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
