"""What a predicate tells of its subject: its category, and the slot that it fills.

The patterns are matched where the predicate begins, with the verb in the third person and no adverb before it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from perdure.learn.rules.english.verbs import is_adverb


class Reading(NamedTuple):
    """`slot` is empty where nothing could be another value of it, as of what happened. Not `affirmed`: it is denied, or
    no longer so.
    """

    category: str = "experience"
    slot: str = ""
    value: str = ""
    affirmed: bool = True


def read_predicate(predicate: str) -> Reading:
    """`lives in Oslo with their dog` fills the slot `lives_in` with `Oslo`."""
    if _NOT_SO.search(predicate):
        return Reading()
    if _LATER.match(predicate):
        return Reading("goal")
    rest, affirmed = _verb_group(predicate)
    for pattern, category, slot in _PATTERNS:
        match = pattern.match(rest)
        if match is None:
            continue
        value = " ".join((match["value"] or "").split())
        affirmed = affirmed != slot.startswith("-")
        if value.count(" ") >= _MOST_WORDS or _UNCLEAR.match(value):
            return Reading(category, affirmed=affirmed)
        filled = slot.removeprefix("-")
        if slot == "lives_in" and _DWELLING.search(value):
            filled = "home"
        elif slot == "lives_in" and plain_value(value) in _COUNTRIES and not _MOVES.match(rest):
            filled = "country"
        elif slot in _SEVERAL and _BESIDES.search(predicate):
            filled = f"{slot}:"
        return Reading(category, slot_of(filled, value), value, affirmed)
    return Reading(affirmed=affirmed)


def slot_of(slot: str, value: str) -> str:
    """Behind a slot that ends in a colon stands its value."""
    return slot + plain_value(value) if slot.endswith(":") else slot


def plain_value(value: str) -> str:
    """As values are compared: in lower case and without articles and small numbers."""
    article = _ARTICLES.match(value)
    return (value[article.end() :] if article else value).lower()


def _verb_group(predicate: str) -> tuple[str, bool]:
    """The predicate from its verb on, and whether it is affirmed: `doesn't really like it` gives `like it`, False."""
    affirmed = _NO_MORE.search(predicate) is None or _CANNOT_STAND.match(predicate) is not None
    while True:
        denied = _DENIED.match(predicate)
        word, _, rest = predicate.partition(" ")
        if denied:
            affirmed = False
            verb = (denied["verb"] or "do").lower()
            predicate = _WITHOUT_NOT.get(verb, f"{verb} ") + predicate[denied.end() :]
            if verb not in _DO:
                break
        elif rest and is_adverb(word.strip(",").lower()):
            predicate = rest
        else:
            break
    predicate = _ADVERB_INSIDE.sub(r"\1 ", predicate)
    been = _HAS_BEEN.match(predicate)
    return f"is {predicate[been.end() :]}" if been else predicate, affirmed


_MOST_WORDS: Final = 6
# `Almost moved to Oslo`, `moved to Oslo in 2012 and returned`: it is not so, or not any more.
_NOT_SO: Final = re.compile(
    r"^(?:had |has )?(?:almost|nearly)\b|\bmoved\b.*\b(?:returned|came back|went back|moved back)\b", re.IGNORECASE
)
# `Is moving to Oslo next spring`: it is not so yet.
_LATER: Final = re.compile(
    r"(?:is|are|will be) (?:moving|relocating|starting|joining)\b.*\b(?:next|soon|tomorrow|later this"
    r"|in (?:an?|one|two|three|four|five|six|\d+) (?:weeks?|months?|years?)"
    r"|in (?:the )?(?:spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august|september"
    r"|october|november|december))\b",
    re.IGNORECASE,
)
# A house stands in a city, and neither ends the other; a second job ends none.
_DWELLING: Final = re.compile(r"\b(?:house|apartment|flat|farm)$", re.IGNORECASE)
# So does a city in a country, unless somebody moved there.
_COUNTRIES: Final = frozenset(
    """
    africa america argentina asia australia austria belgium bolivia brazil britain bulgaria cambodia cameroon canada
    chile china colombia croatia cuba cyprus czechia denmark ecuador egypt england estonia ethiopia europe finland
    france georgia germany ghana greece greenland haiti hungary iceland india indonesia iran iraq ireland israel italy
    jamaica japan jordan kenya kosovo laos latvia lebanon liechtenstein lithuania luxembourg madagascar malaysia malta
    mexico moldova mongolia montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua nigeria norway
    oman pakistan panama paraguay peru philippines poland portugal qatar romania russia rwanda scandinavia scotland
    senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand
    tunisia turkey uganda uk ukraine uruguay us usa uzbekistan venezuela vietnam wales yemen zambia zimbabwe
    """.split()
) | {"costa rica", "new zealand", "north korea", "saudi arabia", "south africa", "south korea", "sri lanka"}
_MOVES: Final = re.compile(r"(?:has |is )?(?:mov|relocat)|.*\bnow\b", re.IGNORECASE)
_SEVERAL: Final = ("job", "works_at")
_BESIDES: Final = re.compile(
    r"\b(?:also|too|as well|on the side|part[- ]time|(?:at|on) (?:the )?weekends?|in the evenings?)\b", re.IGNORECASE
)
_ADVERB_INSIDE: Final = re.compile(r"^(has|is) (?:just|now|recently|finally|already|officially) (?=\w)", re.IGNORECASE)
# Where what follows a verb ends, and something else begins. A dot in a clause belongs to an abbreviation or a number.
_VALUE: Final = (
    r"(?P<value>[^,;:!?()]+?)(?=\s+(?:and|but|because|since|so|when|while|where|which|that|who|with|now|any ?more"
    r"|again|lately|as|too|though|these days|this|last|next|yesterday|today|tomorrow|after|before|until|more than|over"
    r"|for (?:\d|(?:\w+ ){0,3}(?:years?|months?|weeks?|days?|while|bit|decades?|time))|instead|not|every|in \d{4}"
    r"|a lot|a bit|myself|themselves|so much|very much|the most|for (?:everything|all|most)"
    r"|on \w+day|at the moment|right)\b|[,;:!?()]|$)"
)
# Of a job, also where it is.
_POST: Final = _VALUE.replace("(?:and|", "(?:at|in|for|and|", 1)
_DEGREE: Final = (
    r"(?:(?:an?|such|very|really|quite|pretty|so|also|huge|big|massive|total|bit|of|still|now|always|just|super) )*"
)
_PROFESSION: Final = (
    r"(?:accountant|actor|actress|analyst|architect|artist|attorney|author|baker|banker|barber|barista|bartender"
    r"|biologist|bookkeeper|builder|carpenter|chef|chemist|cleaner|coach|consultant|cook|counsel+or|dancer|dentist"
    r"|designer|developer|director|doctor|driver|economist|editor|electrician|engineer|farmer|firefighter|freelancer"
    r"|gardener|geologist|hairdresser|historian|illustrator|instructor|intern|journalist|judge|lawyer|leader|lecturer"
    r"|librarian|manager|mechanic|midwife|model|musician|nurse|paramedic|pharmacist|photographer|physicist|pilot"
    r"|plumber|policeman|producer|professor|programmer|psychologist|researcher|salesman|scientist|secretary|singer"
    r"|social worker|soldier|student|surgeon|teacher|(?:team|tech|project) lead|technician|therapist|translator|tutor"
    r"|vet|veterinarian|waiter|waitress|writer)"
)
_PLACE: Final = (
    r"(?P<value>(?:the )?(?-i:[A-Z])[\w'.-]*(?:,? (?-i:[A-Z])[\w'.-]*)*|an? (?:[\w-]+ ){0,2}?(?:town|city|village|house"
    r"|apartment|flat|farm|suburb|country|state|neighbou?rhood)\b|the (?:countryside|city|suburbs|mountains|coast"
    r"|country)\b)"
)
_AFTER_AGE: Final = (
    r"(?=\s*(?:[,.;!]|$|(?:and|this|last|today|yesterday|recently|on (?:\w+day|the)"
    r"|(?:a|two) (?:days?|weeks?|months?) ago)\b))"
)
_COMPANY: Final = rf"(?=(?-i:[A-Z])|an? )(?!an? (?:while|lot|bit|few)){_VALUE}"
_BELONGING: Final = (
    r"(?:dogs?|cats?|pupp(?:y|ies)|pups?|kittens?|pets?|kids?|child|children|sons?|daughters?|sisters?|brothers?"
    r"|siblings?|birds?|horses?|snakes?|turtles?|rabbits?|fish|hamsters?|cars?|house|apartment|bike|motorcycle|boat)\b"
)
_HAS: Final = r"(?:has|have|owns?|got|has got|adopted|has adopted|rescued)"
_NUMBER: Final = r"(?:an?|any|one|two|three|four|five|six|seven|\d+|twin)"
_LIVES: Final = r"(?:lives?|is living|has lived|has been living|is based|resides?)"
_MOVED: Final = (
    r"(?:has |is )?(?:moved|relocated|moving|moves?)(?: again)?,? (?:(?:away )?from [^,.;!?]{1,40}? )?(?:back )?to"
)
_WORKS: Final = r"(?:works?|is working|has been working|is employed)"
_GOT_JOB: Final = r"(?:has )?(?:got|landed|took|starts?|started) an? (?:new )?job"
_LEFT_JOB: Final = r"(?:has )?(?:quit|left|lost) (?:their|the|his|her) job"
_INTERESTED: Final = r"(?:into|interested in|passionate about|fascinated (?:by|with)|keen on|curious about)"
_LEARNING: Final = (
    r"(?:has been|is|started|has started|began|took up|has taken up|got into) "
    r"(?:learning|practicing|playing|painting|collecting|studying|exploring|researching)(?: how)?(?: to)?"
)
_PLANNING: Final = (
    r"(?:wants?|would (?:really |also )?(?:like|love)|hopes?|plans?|aims?|intends?|dreams?|wishes|needs?|will|might"
    r"|(?:can't|cannot) wait|(?:is|are|has been) (?:planning|hoping|aiming|going|dreaming|considering|looking forward"
    r"|excited|(?:trying|determined|ready|eager|set|about|looking|preparing|saving|saving up)(?= to| for)"
    r"|thinking(?= of| about))) (?:(?:on|of|about|to|for) )*"
)
# `Drives to Rome`, `eats out`: where and how, not what.
_NO_WAY: Final = (
    r"(?!(?:to|down|up|home|back|from|in|on|at|with|out|off|around|over|by|every|together|alone|there|here|past|for|too"
    r"|so)\b)"
)
_TRAIT: Final = (
    r"(?P<value>shy|introvert(?:ed)?|extrovert(?:ed)?|patient|impatient|optimis(?:tic|t)|pessimis(?:tic|t)|competitive"
    r"|creative|stubborn|organized|disorganized|perfectionist|sensitive|outgoing|quiet|lazy|ambitious|punctual|clumsy"
    r"|forgetful|(?:[\w-]+ ){1,2}person)\b"
)
# By category: pattern and slot. What stands behind a colon is the value, so that another value is another slot; a slot
# behind `-` is filled by what is denied.
_TABLE: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "identity": (
        (rf"{_LIVES} in {_PLACE}", "lives_in"),
        (rf"{_LIVES} in (?!an?\b|the\b|peace|fear|harmony|constant|such){_VALUE}", "lives_in"),
        (rf"{_MOVED} {_PLACE}", "lives_in"),
        (r"(?:is|comes?|was) from (?P<value>(?:the )?(?-i:[A-Z])[\w'. -]{1,40})", "comes_from"),
        (rf"grew up in {_VALUE}", "grew_up_in"),
        (rf"was born (?:in|on) {_VALUE}", "born"),
        (rf"(?:is|turned|turns) (?P<value>\d{{1,3}})(?: years? old| now)?{_AFTER_AGE}", "age"),
        (rf"{_WORKS} as (?:an?|the) {_POST}", "job"),
        (rf"{_GOT_JOB} as (?:an? )?{_POST}", "job"),
        (rf"{_WORKS} (?:at|for) {_COMPANY}", "works_at"),
        (rf"{_GOT_JOB} (?:at|with) {_COMPANY}", "works_at"),
        (rf"{_LEFT_JOB} at {_COMPANY}", "-works_at"),
        (rf"{_LEFT_JOB}(?: as (?:an? )?{_POST})?", "-job"),
        (rf"(?:studies|study|is studying|majors? in|is majoring in) (?!for|to|at|in|about){_VALUE}", "studies:"),
        (rf"(?:is|got) {_DEGREE}(?P<value>married|single|divorced|engaged|widowed)\b", "status"),
        (rf"(?:is|got) {_DEGREE}(?P<value>retired|unemployed|self-employed|laid off)\b", "employment"),
        (rf"is {_DEGREE}(?P<value>vegan|vegetarian|pescatarian|gluten-free|lactose intolerant)\b", "diet"),
        (rf"is {_DEGREE}allergic to {_VALUE}", "allergic:"),
        (rf"(?:is|became|has become) (?:an?|the) (?P<value>(?:[\w-]+ ){{0,3}}?{_PROFESSION})\b", "job"),
        (rf"(?:has|have|owns?) no (?P<value>{_BELONGING})", "-has:"),
        (rf"{_HAS} (?P<value>{_NUMBER} (?:[\w-]+ ){{0,2}}?{_BELONGING})", "has:"),
    ),
    "preference": (
        (
            rf"(?:(?:likes?|loves?|enjoys?|adores?|is fond of|is obsessed with) |is {_DEGREE}fan of )(?:to )?{_VALUE}",
            "likes:",
        ),
        (rf"(?:prefers?|would rather|would prefer) {_VALUE}", "prefers:"),
        (
            rf"(?:hates?|dislikes?|can't stand|cannot stand|loathes?|is (?:sick|tired|afraid|scared) of) {_VALUE}",
            "-likes:",
        ),
        *((rf"{verb}s? {_NO_WAY}{_VALUE}", f"{verb}s:") for verb in ("eat", "drink", "use", "wear", "drive")),
    ),
    "interest": (
        (rf"is {_DEGREE}{_INTERESTED} {_VALUE}", "interest:"),
        (rf"{_LEARNING} {_VALUE}", "interest:"),
        (rf"(?:plays|paints|collects|practices|practises|follows|reads|watches|sings|writes) {_VALUE}", "interest:"),
    ),
    "goal": ((rf"{_PLANNING}{_VALUE}", "wants:"),),
    "personality": (
        (rf"tends? to {_VALUE}", "tends:"),
        (rf"is {_DEGREE}{_TRAIT}", "is:"),
        (r"(?:feels?|felt|(?:is|has been) feeling) (?P<value>)", ""),
    ),
}
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), category, slot) for category, rows in _TABLE.items() for pattern, slot in rows
)
_UNCLEAR: Final = re.compile(
    r"(?:it|them|that|this|these|those|what|how|something|anything|everything)\b", re.IGNORECASE
)
_DENIED: Final = re.compile(
    r"(?!can't (?:stand|wait))(?P<verb>do(?:es)?|did|is|was|are|were|has|have|had|ca|could|wo|would)(?:n't| not)\b ?"
    r"|(?:never|no longer|cannot(?! stand| wait)|used to) ",
    re.IGNORECASE,
)
_WITHOUT_NOT: Final = {"ca": "can ", "wo": "will ", "do": "", "does": "", "did": ""}
_DO: Final = frozenset(("do", "does", "did"))
# `Can't stand it any more` denies once.
_CANNOT_STAND: Final = re.compile(r"(?:can't|cannot|couldn't) (?:really )?(?:stand|bear)\b", re.IGNORECASE)
_NO_MORE: Final = re.compile(r"\b(?:no longer|any ?more|stopped|gave up|has given up|used to)\b", re.IGNORECASE)
_HAS_BEEN: Final = re.compile(r"has been (?!\w+ing\b)", re.IGNORECASE)
_ARTICLES: Final = re.compile(
    r"(?:(?:an?|any|the|his|her|their|some|to|really|very|new|being|one|two|three|four|five|six|seven|\d+) )+",
    re.IGNORECASE,
)
