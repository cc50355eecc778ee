"""What a message to an assistant orders it to forget, or corrects, as far as that is plain.

A message is no command: most that hold the word `forget` only mention it. So only what is said as an order, or sets the
assistant free of one (`you can stop reminding me of the exercises`), is read here; questions, wishes, and what somebody
tells of forgetting are not. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from perdure.text.corrections import StatedCorrection, read_correction
from perdure.text.exclusions import exclusion_in
from perdure.text.orders import CLAUSE, Order, is_said_as_order, may_go, read_order
from perdure.text.patterns import pattern
from perdure.text.words import UNSPACED

_I: Final = re.IGNORECASE
_MAX_CHARACTERS: Final = 600
# They free the assistant of something that it was told to do, or say that something is of no use any more.
_RELEASES: Final = tuple(
    pattern(each, _I)
    for each in (
        r"\byou (?:can|may|could|should) (?:now |please |just )?stop (?P<about>\w+ing\b.{2,})$",
        r"\b(?:please )?stop (?P<about>reminding\b.{2,})$",
        (
            r"\byou (?:needn't|need not|don't (?:have|need) to|do not (?:have|need) to|no longer (?:have|need) to) "
            r"(?P<about>.{2,}?)(?: any ?more| any longer| again)*$"
        ),
        (
            r"\b(?:nobody|no one|i|we) (?:no longer )?(?:needs?|uses?|wants?) (?P<about>.{2,}?) (?:any ?more"
            r"|any longer)$"
        ),
        r"\b(?:i|we) (?:no longer|don't|do not) (?:need|use|want) (?P<about>.{2,}?)(?: any ?more| any longer)$",
        (
            r"^(?:the |my |our )?(?P<about>(?:the |my |our )?.{2,80}?) (?:is|are|has|have) (?:now )?(?:void|expired"
            r"|run out"
            r"|been cancelled|no longer valid|obsolete|outdated|out of date)$"
        ),
        r"^(?:das mit )?(?P<about>.{2,80}?) kannst du (?:\w+ )?(?:streichen|vergessen|löschen)$",
        r"\bdu (?:musst|brauchst) (?:mich )?(?:nicht mehr|nicht länger) (?P<about>.{2,})$",
        r"\bya no (?:hace falta|tienes) que (?P<about>.{2,})$",
    )
)
_RELEASES_UNSPACED: Final = tuple(
    map(
        pattern,
        (
            r"(?:不用|不必|不需要|别|別)再?(?P<about>提醒我[^，。]*?)了?$",
            (
                r"(?:もう)?(?P<about>[^、。]+?)(?:は|を|のことは|も)?(?P<verb>言わ|教え|知らせ|思い出させ"
                r"|聞か)(?:て(?:くれ|もらわ))?なくて(?:も)?(?:いい|大丈夫|結構)"
            ),
        ),
    )
)
_ASKS: Final = pattern(
    r"^\W*(?:will|did|do|does|have|has|are|were|why|when|how|what|who|where|should|shall|must|may|might|if|unless)\b"
    r"(?!.*\b(?:i (?:told|said)|about)\b.*\?\s*\S)",
    _I,
)
_ASKED_POLITELY: Final = pattern(r"^\W*(?:(?:hey|ok|okay|please|and|so)\W+)*(?:can|could|would|will) you\b", _I)
# Nothing is named, or it is an idiom: `forget about it`, `forget it, I'll walk`.
_IDIOM: Final = pattern(r"^\W*(?:oh,? |ok,? |just )?forget (?:about )?(?:it|that|this)\b(?! (?:i|we|you) )", _I)
_ABOUT_WHAT_WAS_SAID: Final = pattern(
    r"\b(?:i|we) (?:just |ever |once |'ve )?(?:said|told|mentioned|wrote)|\b(?:reminder|notes?|memor(?:y|ies)"
    r"|entry|entries"
    r"|info|information|stuff|record|records)\b",
    _I,
)
_GOES_AT_THE_END: Final = pattern(r"\bgo\W*$", _I)
_CORRECTS: Final = pattern(
    r"\b(?:oops|whoops|oh wait|no wait|sorry|i meant|i mixed|i misread|i misspoke|my mistake|correction"
    r"|scratch that|rubbish"
    r"|i was wrong|that was wrong|actually|turns out|any ?more|any longer|no longer|instead|by now|these days"
    r"|from now on"
    r"|switched|changed|moved|took over|promoted|now|not|isn't|wasn't|aren't|weren't"
    r"|nicht mehr|jetzt|sondern|statt|ya no|ahora|en vez de|perdón)\b"
    r"|不是|说错|說錯|改[到成为]|换|變|变成|现在|現在|じゃなくて|ではなく|に変|へ変|間違え|もう.*(?:ません|ない)",
    _I,
)
_SCRATCH: Final = pattern(
    r"^\W*(?:ok,? |no,? )?(?:scratch|strike) (?:that|what i said)\b(?:[^,.;]*)[,.;]\s+(?=\S+ )", _I
)


def order_said(message: str) -> Order | None:
    """What a message orders to be forgotten; None where it orders nothing, or not plainly."""
    text = " ".join(message.replace("\u2019", "'").replace("\u2018", "'").split())
    if len(text) > _MAX_CHARACTERS or _SCRATCH.match(text):
        return None
    if (released := released_by(text)) is not None:
        return released
    if is_asked(text) or _IDIOM.match(text):
        return None
    order = read_order(text)
    if order is None or not order.about or order.negative:
        return None
    # `the kids can go` lets nothing be forgotten.
    is_imperative = (
        UNSPACED.search(text)
        or is_said_as_order(text)
        or (may_go(text) and (_ABOUT_WHAT_WAS_SAID.search(text) or not _GOES_AT_THE_END.search(text)))
    )
    said = text if not order.states or UNSPACED.search(text) else order.rest
    if not is_imperative or (exclusion_in(said) and not UNSPACED.search(text)):
        return None
    return order._replace(sentence=text, is_read=True)


def correction_said(message: str) -> StatedCorrection | None:
    """What a message corrects; None where nothing in it says that it corrects something."""
    text = " ".join(message.replace("\u2019", "'").replace("\u2018", "'").split())
    if len(text) > _MAX_CHARACTERS or text.endswith(("?", "\uff1f")):
        return None
    if found := _SCRATCH.match(text):
        about = about_of_order(found[0])
        correction = read_correction(text[found.end() :])
        return correction._replace(denied=about) if about else correction
    return read_correction(text) if _CORRECTS.search(text) else None


def about_of_order(said: str) -> str:
    order = read_order(said)
    return order.about if order else ""


def released_by(text: str) -> Order | None:
    if UNSPACED.search(text):
        for form in _RELEASES_UNSPACED:
            if found := form.search(text.strip(" 。！!ねよ")):
                # Without its ending, which another form of the verb does not have.
                verb = (found.groupdict().get("verb") or "")[:1]
                rest = text.replace(found[0], "")
                return Order(f"{found['about']} {verb}", states=False, rest=rest, sentence=text, is_read=True)
        return None
    clauses = [part.strip(" ,.;:!?") for part in CLAUSE.split(text)]
    for place, clause in enumerate(clauses):
        for form in _RELEASES:
            if found := form.search(clause):
                rest = ", ".join([*clauses[:place], *clauses[place + 1 :]])
                return Order(found["about"], rest=rest, sentence=text, is_read=True)
    return None


def is_asked(text: str) -> bool:
    """A question orders nothing, unless it asks politely: `could you forget Bob?`; `will you forget Bob?` asks."""
    if _ASKED_POLITELY.match(text):
        return re.match(r"\W*(?:\w+\W+)?will you\b(?!\W+(?:please|kindly))", text, _I) is not None
    return _ASKS.match(text) is not None or text.endswith(("?", "\uff1f"))
