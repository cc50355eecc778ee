"""What somebody who corrects something says: what holds now, what does not, and what a text says after that.

`The meeting is at 4, not at 3`, `we switched from gas to induction`. Where it is plain which words take the place of
which, these are exchanged and the rest of the text stays; else the correction itself is what the text says from now on,
with the parts of it that were not corrected. English, German, Spanish, Chinese and Japanese are read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from perdure.text.descriptions import Description
from perdure.text.keyword_terms import language_of
from perdure.text.patterns import pattern
from perdure.text.words import UNSPACED

_I: Final = re.IGNORECASE


class Exchange(NamedTuple):
    """The words that no longer hold, and those that hold in their place."""

    old: str
    new: str


class StatedCorrection(NamedTuple):
    """`statement` is what was said, without remarks such as `sorry`. `exchanges` are those that it spells out;
    `denied` are the words that it says do not hold.
    """

    statement: str
    exchanges: tuple[Exchange, ...] = ()
    denied: str = ""
    language: str = "en"


# Said beside a correction, and no part of what holds.
_REMARK: Final = pattern(
    r"^\W*(?:(?:oh|ah|ha|hm+|oops|whoops|wait|sorry|no|well|actually|btw|by the way|small thing|correction"
    r"|just so you know"
    r"|my (?:mistake|bad|fault)|i (?:was|am|'m) (?:wrong|mistaken|sorry)|i'm sorry|how time flies|sadly|ach|also"
    r"|übrigens"
    r"|perdón|por cierto|entschuldigung|tut mir leid)\b[\s,.!:]*)+$"
    r"|^\W*(?:i|we)(?:'ve| have|'d| had)? (?:just )?(?:mixed|misread|miscounted|misremembered|misspoke|mistyped"
    r"|got|had|told|"
    r"counted|checked|looked|confused|messed)\b(?!.*\b(?:now|is|are)\b).*$"
    r"|^\W*(?:i|we) (?:said|told) .{0,30}\b(?:rubbish|wrong|nonsense)\b.*$"
    r"|^\W*(?:could|can|would) you (?:please )?(?:keep|bear|note|remember|update|change|correct)\b.*$"
    r"|^\W*add a \w+$"
    r"|^[\s,，。、]*(?:对了|對了|我?说错了|我?說錯了|我记错了|更正一下|そういえば|そうそう|間違えました"
    r"|すみません|ごめん|訂正)[\s,，。、!！]*$",
    _I,
)
_OPENING: Final = pattern(
    r"^\W*(?:(?:oh|ah|ha|hm+|oops|whoops|wait|sorry|well|actually|btw|by the way|small thing|correction"
    r"|just so you know|"
    r"so|and|but|turns out|add a zero|by now)\b[\s,.!:]*)+"
    r"|^(?:对了|對了|说错了|說錯了|そういえば|そうそう)[，、,\s]*",
    _I,
)
_CLAUSE: Final = pattern(
    r"(?<=\w\w)[.](?=\s|$)|[!?;](?=\s|$)|,(?=\s)|\s[-\u2013\u2014]\s|[。；！？]|(?<=\D),(?=\D)|[，、]"
)
_MEANT: Final = pattern(r"^.*\bwhen i said (?P<old>.{2,80}?),? i meant (?P<new>.{2,80})$", _I)
# A, not B.
_NOT_BEHIND: Final = pattern(
    r"^(?P<new>.{1,160}?)(?:[,;]|\s+and)?\s+(?<!ya )(?:not|rather than|instead of|statt|anstatt|nicht|no|en vez de"
    r"|en lugar de)\s+(?P<old>(?!.*\b(?:any ?more|any longer|mehr)\b)(?!that\b|the same\b|more\b|longer\b).{1,60}?)"
    r"(?:[,;.]\s.*)?$",
    _I,
)
_NOT_BEFORE: Final = pattern(
    r"\b(?:not|wasn't|isn't|weren't|aren't|nicht)\s+(?P<old>(?!.{0,60}\b(?:any ?more|any longer"
    r"|mehr)\b)[\w\s'-]{1,40}?)(?:,| but| sondern)\s+(?:but |it's |it is |it was )?(?P<new>.{1,80})$",
    _I,
)
_FROM_TO: Final = pattern(
    r"\b(?:from|von|de)\s+(?P<old>(?:the |a |my )?[\w'-]+(?: [\w'-]+)?)\s+(?:to|auf|zu|nach|a)\s+(?P<new>(?:the "
    r"|a |my )?[\w'-]+(?: [\w'-]+)?)",
    _I,
)
_UNSPACED_FORMS: Final = tuple(
    map(
        pattern,
        (
            r"不是(?P<old>[^，。、]{1,10}?)[，、]?而?是(?P<new>[^，。、]{1,12})",
            r"(?P<new>[^，。、]{1,20}?)了?[，、]\s*不是(?P<old>[^，。、]{1,10})",
            r"(?P<old>[^，。、はがの]{1,10})(?:では|じゃ)なく(?:て)?[、]?(?P<new>[^。、]{1,14})",
            r"从(?P<old>[^，。到换改]{1,8})(?:换|改|变|搬)?(?:成|到|为)(?P<new>[^，。]{1,8})",
            r"(?P<old>[^、。はがの]{1,8})から(?P<new>[^、。]{1,8}?)に(?:変|移|替)",
        ),
    )
)
_UNSPACED_ENDS: Final = pattern(r"(?:でした|です|だった|だ|から|まで|ました|ます|了|的|吧)+$")
_WORD: Final = pattern(r"[^\W_]+(?:['\u2019-][^\W_]+)*|[0-9]+(?:[.,:][0-9]+)*")
_VALUE: Final = {
    "time": pattern(
        r"\b[0-9]{1,2}[:.][0-9]{2}\b|\b(?:(?<=at )(?:half past |quarter (?:past|to) )?|half past "
        r"|quarter (?:past|to) )"
        r"(?:[0-9]{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight)\b"
        r"|\b[0-9]{1,2} ?(?:am|pm|o'clock)\b",
        _I,
    ),
    "weekday": pattern(
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天]"
        r"|[月火水木金土日]曜日?|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
        r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b", _I),
    "day": pattern(r"\b[0-9]{1,2}(?:st|nd|rd|th)\b", _I),
    "number": pattern(r"(?<![\w.,:-])[0-9]+(?:[.,][0-9]+)*(?![\w:-]|[.,][0-9])"),
    "number word": pattern(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", _I),
    "clock": pattern("[一二三四五六七八九十两0-9]+[点時时]半?"),
    "grade": pattern("[一二三四五六七八九十]年级|[一二三四五六七八九十]+月[一二三四五六七八九十]+[号日]"),
}  # fmt: skip
_STILL: Final = pattern(
    r"\b(?:stays?|still|remains?|(?:is|are|the rest is|all) (?:the same|fine|unchanged)|as before|where i live"
    r"|bleibt)\b|没变|还在|还是|のまま|変わらず",
    _I,
)
_ENDED: Final = pattern(
    r"\b(?:any ?more|any longer|no longer|no more|never again|(?:is|are|was|were|do|does|did)(?:n't| not)"
    r"|nicht mehr|kein\w* mehr|ya no)\b|已经不|不再|もう.*ません|もう.*ない",
    _I,
)
_PARTS: Final = pattern(r"\s+and\s+|,\s+|[，、]|(?<=で)[、]|\s+und\s+|\s+y\s+")
_CONTRAST: Final = pattern(r"^\W*(?:but|so|and|aber|pero|但是?|が)\W*", _I)


def read_correction(text: str) -> StatedCorrection:
    text = " ".join(text.replace("\u2019", "'").replace("\u2018", "'").split())
    clauses = [part.strip(" ,.;:!?。，、") for part in _CLAUSE.split(text)]
    clauses = [clause for clause in clauses if clause and not _REMARK.match(clause)]
    joint = "，" if UNSPACED.search(text) else ", "
    said = [_OPENING.sub("", clause) for clause in clauses]
    said = [clause for clause in said if clause]
    statement = joint.join(said)
    exchanges = tuple(dict.fromkeys(exchanges_in(said, statement)))
    denied = joint.join([*(each.old for each in exchanges), *(clause for clause in said if _ENDED.search(clause))])
    return StatedCorrection(statement or text, exchanges, denied, language_of(text) or "en")


def exchanges_in(clauses: Sequence[str], statement: str) -> Iterator[Exchange]:
    if UNSPACED.search(statement):
        for form in _UNSPACED_FORMS:
            if found := form.search(statement):
                old, new = (_UNSPACED_ENDS.sub("", found[name]) for name in ("old", "new"))
                yield Exchange(old, piece_of_same_shape(old, new))
                return
        return
    if found := _MEANT.match(statement):
        yield from aligned_ends(found["old"], found["new"])
        return
    for text in (statement, *clauses):
        if found := _FROM_TO.search(text):
            yield Exchange(found["old"], first_words_of(found["new"], found["old"]))
            return
        if found := _NOT_BEHIND.match(text) or _NOT_BEFORE.search(text):
            yield _by_first_word(found["old"].strip(" ,."), found["new"].strip(" ,."))
            return


def first_words_of(new: str, old: str) -> str:
    """As many words as the old ones are."""
    ends = [match.end() for match in _WORD.finditer(new)]
    return new[: ends[min(len(_WORD.findall(old)), len(ends)) - 1]] if ends else new


def piece_of_same_shape(old: str, new: str) -> str:
    """Of a longer piece of an unspaced script what has the form of the old words."""
    if len(new) <= len(old):
        return new
    for at in range(len(new) - len(old), -1, -1):
        piece = new[at : at + len(old)]
        if piece != old and (piece[-1] == old[-1] or piece[0] == old[0]):
            return piece
    return new


def _by_first_word(old: str, new: str) -> Exchange:
    """`at 4` of `the meeting is at 4`, for `at 3`: from the last place where the first word of the old ones stands,
    else as many words as these, from the end.
    """
    olds, news = ([match[0] for match in _WORD.finditer(text)] for text in (old, new))
    if not olds or not news:
        return Exchange(old, new)
    places = [match.start() for match in _WORD.finditer(new) if match[0].lower() == olds[0].lower()]
    if places and len(olds) > 1:
        return Exchange(old, new[places[-1] :])
    starts = [match.start() for match in _WORD.finditer(new)]
    for kind in _VALUE.values():
        if kind.fullmatch(old) and (values := [match[0] for match in kind.finditer(new)]):
            return Exchange(old, values[-1])
    return Exchange(old, new[starts[-min(len(olds), len(starts))] :])


def aligned_ends(old: str, new: str) -> Iterator[Exchange]:
    """`Gunilla is my aunt`, `my great-aunt`: the end of the one for the end of the other."""
    yield _by_first_word(old, new) if len(new) >= len(old) else Exchange(tail_of(old, new), new)


def tail_of(old: str, new: str) -> str:
    first = next(iter(_WORD.finditer(new)))[0].lower()
    places = [match.start() for match in _WORD.finditer(old) if match[0].lower() == first]
    return old[places[-1] :] if places else old


def corrected(text: str, correction: StatedCorrection) -> str:
    """What a text says after a correction of it."""
    return exchanged(text, correction) or joined_parts(text, correction)


def exchanged(text: str, correction: StatedCorrection) -> str | None:
    """The text with the words exchanged that the correction is about; None where it is not plain which these are."""
    for old, new in correction.exchanges:
        if new and (changed := _replaced(text, old, new)) is not None:
            return changed
    return (
        with_other_spelling(text, correction)
        or with_other_value(text, correction)
        or with_other_piece(text, correction)
    )


def _replaced(text: str, old: str, new: str) -> str | None:
    """The text with the old words exchanged; also without the article or preposition that both begin with."""
    for before, after in ((old, new), without_first_word(old, new)):
        form = re.escape(before) if UNSPACED.search(before) else rf"(?<![\w-]){re.escape(before)}(?![\w-])"
        if before and after and (found := re.search(form, text, _I)):
            return f"{text[: found.start()]}{_as_written(found[0], after)}{text[found.end() :]}"
    return None


def without_first_word(old: str, new: str) -> tuple[str, str]:
    (first, _, olds), (other, _, news) = old.partition(" "), new.partition(" ")
    return (olds, news) if first.lower() == other.lower() else ("", "")


def _as_written(old: str, new: str) -> str:
    return (
        new[:1].upper() + new[1:] if old[:1].isupper() and old[1:].islower() and new.islower() and len(old) > 1 else new
    )


def with_other_piece(text: str, correction: StatedCorrection) -> str | None:
    """The text with the one piece exchanged in which a clause that says nearly the same differs from it."""
    is_unspaced = UNSPACED.search(correction.statement) is not None
    for clause in _CLAUSE.split(correction.statement):
        said = _NOW.sub("", clause).strip()
        units = (list(text), list(said)) if is_unspaced else (text.split(), said.split())
        matcher = SequenceMatcher(None, *([unit.lower() for unit in each] for each in units), autojunk=False)
        steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
        equal = len(units[1]) - sum(step[4] - step[3] for step in steps)
        inside = [step for step in steps if step[0] != "delete" or step[2] < len(units[0])]
        is_short = equal >= (_EQUAL_CHARACTERS if is_unspaced else _EQUAL_WORDS) and equal * 2 > len(units[1])
        if len(inside) == 1 and inside[0][0] == "replace" and is_short and inside[0][1] > 0:
            _, start, end, first, last = inside[0]
            joint = "" if is_unspaced else " "
            return joint.join([*units[0][:start], *units[1][first:last], *units[0][end:]])
    return None


_NOW: Final = pattern(r"\b(?:now|these days|by now|currently|at the moment|jetzt|ahora)\b|现在|現在|今は|今", _I)
_EQUAL_CHARACTERS: Final = 4
_EQUAL_WORDS: Final = 3


def with_other_spelling(text: str, correction: StatedCorrection) -> str | None:
    """`My niece's name is spelled Katharyn`: the name that is nearly written so."""
    found = _SPELLED.search(correction.statement)
    names = [match for match in _WORD.finditer(text) if match[0][:1].isupper()] if found else []
    near = (
        [match for match in names if SequenceMatcher(None, match[0], found[1]).ratio() >= _NEARLY_SPELLED]
        if found
        else []
    )
    if not found or len(near) != 1 or near[0][0] == found[1]:
        return None
    return f"{text[: near[0].start()]}{found[1]}{text[near[0].end() :]}"


_SPELLED: Final = pattern(
    r"\b(?:spell(?:ed|t)?|written|writes?|schreibt sich|geschrieben|se escribe|s'écrit)\s+(?:as |mit "
    r"|con )?([A-Z][\w'-]+)"
)
_NEARLY_SPELLED: Final = 0.7


def with_other_value(text: str, correction: StatedCorrection) -> str | None:
    """The text with its only value of a kind exchanged for the only new one of that kind that was said."""
    for kind in _VALUE.values():
        held = list(kind.finditer(text))
        said = [match[0] for match in kind.finditer(correction.statement)]
        new = [value for value in said if value.lower() not in {match[0].lower() for match in held}]
        if len(held) == 1 and len(set(new)) == 1:
            return f"{text[: held[0].start()]}{_as_written(held[0][0], new[0])}{text[held[0].end() :]}"
    return None


def joined_parts(text: str, correction: StatedCorrection) -> str:
    """The parts of the text that were not corrected, and what was said instead."""
    joint = "，" if UNSPACED.search(correction.statement) else ", "
    clauses = [clause for clause in correction.statement.split(joint) if clause]
    holds = [clause for clause in clauses if not _STILL.search(clause)] or clauses
    said = _CONTRAST.sub("", joint.join(holds))
    parts = _PARTS.split(text)
    if len(parts) == 1:
        return said
    told = Description(joint.join(holds), language=correction.language)
    still = Description(joint.join(clause for clause in clauses if clause not in holds), language=correction.language)
    kept = [part for part in parts if still.fit(part).held or (told.words and not told.fit(part).held)]
    if len(kept) == len(parts):
        kept = [part for part in parts if still.fit(part).held]
    return joint.join([*kept, said]) if len(kept) < len(parts) else said


def may_hold_still(text: str, correction: StatedCorrection) -> bool:
    """Whether a correction says that the rest stays as it is, and a text says more than one thing."""
    return _STILL.search(correction.statement) is not None and len(_PARTS.split(text)) > 1


def is_changed_by(text: str, correction: StatedCorrection) -> bool:
    """Whether a correction that spells out what no longer holds can be about a text: the text says so."""
    if not correction.exchanges:
        return True
    return any(_replaced(text, old, new or old) is not None for old, new in correction.exchanges)
