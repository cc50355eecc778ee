"""What somebody who says `forget …` wants to be gone: the order is taken away, and what it is about is left.

People say it in many ways: `forget the ski trip`, `what I said about quitting, please forget it`, `nothing about my
school may stay here`. English, German, Spanish, French, Chinese and Japanese are read; of another language the whole
sentence is what it is about. Pure.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from perdure.text.patterns import pattern

_I: Final = re.IGNORECASE


class Order(NamedTuple):
    """`about` is what is to go, in the words of who says it. `everything`: all that is about it, and not one thing.
    `states`: it is a statement (`that I have no car`), so that a denial in it is part of what was said. `rest` is what
    else was said, which may tell which one is meant; `sentence` is all of it.
    `is_read`: an order was found in it; `negative`: it says what must not stay (`don't keep …`).
    """

    about: str
    everything: bool = False
    states: bool = False
    rest: str = ""
    sentence: str = ""
    is_read: bool = False
    negative: bool = False


# -- spaced languages --------------------------------------------------------------------------------------------------

_PLEASE: Final = (
    r"(?:(?:and|btw|by the way|hey|hi|just|kindly|now|oh|ok|okay|please|so|then|well|actually|anyway|bitte|also"
    r"|por favor"
    r"|s'il te plaît|s'il vous plaît)\W+)*"
)
_POLITE: Final = (
    r"(?:(?:can|could|would) you(?: please| kindly| just)? |will you(?: please| kindly) |you (?:can|may|could"
    r"|should|might"
    r"(?: as well)?)(?: now| just| please| safely)? |(?:i|we)(?:'d|'ll| would)? (?:like|love|need|prefer"
    r"|want) (?:you )?to "
    r"(?:please )?|i(?:'d| would) (?:rather|prefer(?: it if)?) you |let(?:'s| us) |kannst du (?:bitte )?|puedes "
    r"|peux-tu )?"
)
_VERB: Final = (
    r"(?:forget|delete|remove|erase|drop|discard|wipe|purge|scrap|scratch|strike|un-?learn|let go of|get rid of"
    r"|throw (?:away|out)|take out|cross out|do away with"
    r"|vergiss|vergesst|vergessen sie|lösch(?:e|t)?|entfern(?:e|t)?|streich(?:e|t)?|tilg(?:e|t)?"
    r"|olvid(?:a|e|en|ar)|borr(?:a|e|en|ar)|elimin(?:a|e|en|ar)|oubli(?:e|ez|er)|efface[rz]?|supprime[rz]?"
    r"|dimentica|cancella|esquece|esqueça|apaga|vergeet|verwijder)"
)
_ORDER: Final = pattern(rf"^\W*{_PLEASE}{_POLITE}{_PLEASE}{_VERB}\b:?(?:\s+(?:about|out|away|off)\b(?=\s))?", _I)
# In a message an order begins a sentence, or is said politely: `I can relax, forget my troubles` is none.
_BEGINS: Final = pattern(rf"(?:^|[.!?;:\u2013\u2014-]\s+)\W*{_PLEASE}{_POLITE}{_PLEASE}{_VERB}\b", _I)
_SAID_POLITELY: Final = pattern(
    r"\b(?:please|bitte|por favor|(?:can|could|would) you|you (?:can|may|could|should)|ich möchte)\b"
    rf"[\s,]*{_PLEASE}{_VERB}\b"
    rf"|\b{_VERB} (?:it|that|this|them|es|das)\b",
    _I,
)
_PRONOUN: Final = pattern(
    r"(?:it|that|this|them|those|these|him|her|all of (?:it|that|this|them)|about it|es|das|sie|ihn|lo|la|los|las|ça)"
    r"(?:\s+(?:all|again|now|please|bitte|from .{1,30}|out|wieder|por favor))*",
    _I,
)
# What is to go stands before the verb: `the films can all go`, `das mit dem Verein kannst du streichen`.
_MAY_GO: Final = pattern(
    r"^(?P<about>.{2,200}?)\s+(?:(?:can|may|could|should|has to|have to|must|is to|are to|needs? to"
    r"|ought to)\s+(?:all |both "
    r"|now |just |please )*(?:go|vanish|disappear|be (?:forgotten|deleted|removed|erased|dropped|wiped|gone|cleared))"
    r"|kannst du (?:\w+ )?(?:streichen|vergessen|löschen|entfernen)|kann (?:\w+ )?(?:weg|gelöscht werden"
    r"|gestrichen werden)"
    r"|(?:is|are) (?:history|over and done with|done with|to go))\b(?:\s+(?:now|too|please|away|for good"
    r"|as well))*\W*$",
    _I,
)
# Said by way of what must not be: nothing here says that something is to stay.
_NOT_TO_STAY: Final = tuple(
    pattern(each, _I)
    for each in (
        (
            r"^\W*(?:please\s+)?(?:do not|don't|never|i (?:do not|don't|no longer|never) want (?:you )?to) "
            r"(?:keep|store|remember|save|record|retain|hold on to|note|have) (?P<about>.{2,})$"
        ),
        (
            r"^(?:nothing|not a word|not a thing|no trace) (?:about|of|on|regarding) (?P<about>.{2,200}?) "
            r"(?:may|should|must|can|is to|shall|ought to) (?:stay|remain|be (?:kept|left|stored|found|saved))\b.*$"
        ),
        (
            r"^(?P<about>.{2,200}?) (?:should|must|may|can|shall|ought)(?: not|n't|not)(?: ever)? "
            r"(?:be (?:stored|kept|saved|remembered|recorded|here|found|seen|read|known)|stay|remain)\b.*$"
        ),
        (
            r"^.*\b(?:must|may|should|shall|can)(?: not|n't|not| never) (?:ever )?"
            r"(?:see|read|know|find(?: out)?|learn|hear|get hold of) (?P<about>.{2,})$"
        ),
        (
            r"^.*\b(?:nobody|no one|no-one) (?:may|must|should|can|shall|is to)(?: ever)? "
            r"(?:see|read|know|find(?: out)?|learn|hear|get hold of) (?P<about>.{2,})$"
        ),
        (
            r"^.*\b(?:shouldn't|should not|oughtn't|wish i hadn't|wish i had not|regret)(?: to)? "
            r"(?:have |having )?(?:told|tell|said|say|mentioned|mention|written|talked|telling|mentioning)(?: you)?"
            r"(?P<about>.{2,})$"
        ),
        (
            r"^.*\b(?:if|wish) (?:only )?(?P<about>(?!nobody|no one|you|i\b|we\b).{2,200}?) "
            r"(?:was|were|is)(?: not|n't) (?:in here|here|stored|there|in your memory|written down)\b.*$"
        ),
        r"^.*\b(?:if|wish) (?:nobody|no one) knew (?:about |of )?(?P<about>.{2,})$",
    )
)
# What follows the order and tells nothing of what is to go.
_TAIL: Final = pattern(
    r"[\s,]*\b(?:please|bitte|for good|for ever|forever|everywhere|completely|entirely|altogether|at once"
    r"|right away|now"
    r"|again|vollständig|komplett|ganz|por favor|from (?:everything|everywhere|your (?:notes|memory|records|head))"
    r"|out of (?:your (?:notes|memory|records)))\W*$",
    _I,
)
_EVERYTHING: Final = pattern(
    r"\b(?:everything|anything|whatever|all|every|stuff|nothing|things|alles|todo|toda|todos|todas|tout|toute"
    r"|tous|tutto"
    r"|tudo)\b|^\W*(?:what|was|lo que|ce que) (?:i|we|you|ich|wir|du|te|me)\b|^\W*(?:what|whatever) (?:is"
    r"|we have|there is)\b",
    _I,
)
_KNOWN: Final = (
    r"(?:told|said|mentioned|wrote|noted|shared|gave|know|knew|have|had|stored|saved|remember|learned|heard)"
)
# Words before what it is about: `the thing about`, `what I told you about`, `all that you know of`.
_LEAD: Final = pattern(
    r"^\W*(?:(?:so|then|and)\b\W*(?=what|all|every|the )|(?:all of|all|every ?thing|any ?thing|whatever|every"
    r"|each|any|the whole|whole|entire|absolutely|simply|just|"
    r"alles|todo|toda|todos|todas|tout|toute|tous|was|lo que|ce que)\b\W*"
    rf"|(?:that |which )?(?:i|we|you|he|she|they|ich|wir|du)(?:'ve| have| ever| once| just| had| once)*"
    rf" {_KNOWN}(?: (?:you|me|us|to you))?\b\W*"
    r"|what (?:is|was|has been|we have|there is)(?: (?:stored|saved|kept|known|written|here))?\b\W*|what(?=\W)\W*"
    r"|(?:ich |du |wir )?(?:dir |uns )?(?:gesagt|erzählt)(?: habe| hast)?\b\W*|te (?:conté|dije|he contado)\b\W*"
    r"|(?:the|that|this|these|those|my|our|your|some|a|an|la|el|los|las|le|les|der|die|das|dem|den)? ?"
    r"(?:thing|things|stuff|bit|bits|part|piece|story|stories|note|notes|fact|facts|info|information|detail"
    r"|details|data"
    r"|entry|entries|memory|memories|records?|traces?|mention|business|sache|datos|data|notas?|informations?)"
    r"(?=\W+(?:about|on|of|with|regarding|concerning|that|which|i|we|you|mit|de|del|sur|über)\b)\W*"
    r"|(?:about|regarding|concerning|on|of|with|from|related to|to do with|mentioning|that|which|über|von|mit"
    r"|sobre|de|del"
    r"|sur|que|dass|acerca de|in my)\b\W*)",
    _I,
)
_STATEMENT: Final = pattern(r"^\W*(?:the fact )?(?:that|dass|daß|que)\b\W*", _I)
_TOLD_BEHIND: Final = pattern(
    rf"[\s,]+(?:that |which )?(?:(?:i|we|you) (?:\w+ )?{_KNOWN}(?: (?:you|me|us))?(?: (?:about|of|before|earlier))?"
    r"|(?:ich|du) (?:dir |mir )?(?:\w+ )?(?:erzählt|gesagt) (?:habe|hast)|(?:erzählt|gesagt) (?:habe|hast))\W*$",
    _I,
)
CLAUSE: Final = pattern(r"(?<=[^\s.][^\s.])[.](?=\s|$)|[!?;:](?=\s|$)|,(?=\s)|\s[-\u2013\u2014]\s|\n+")
_CUE: Final = pattern(rf"\b(?:{_KNOWN}|stuff|story|thing|about)\b", _I)

# -- Chinese and Japanese ----------------------------------------------------------------------------------------------

_UNSPACED: Final = pattern("[\u3041-\u30ff\u3400-\u9fff]")
_MARKS: Final = " \t\r\n\u3000。、，,.！!？?；;：:"
_ZH_FORGET: Final = "(?:忘掉|忘记|忘記|忘了|忘却|删除|刪除|删掉|刪掉|清除|抹掉|抹去|移除|去掉|消除)"
_ZH: Final = tuple(
    map(
        pattern,
        (
            (
                rf"^(?:请|請|麻烦|麻煩|帮我|幫我|你)*(?:彻底|徹底|完全|永久)?{_ZH_FORGET}(?:掉"
                rf"|吧)?(?P<about>.+?)(?:吧|了|好吗)*$"
            ),
            (
                rf"^(?:请|請|麻烦|麻煩|帮我|幫我|你)*[把将將](?P<about>.+?)(?:都|全部|全|通通|彻底|徹底|完全"
                rf"|从.{{1,8}}中)*{_ZH_FORGET}(?:吧|掉|了)*$"
            ),
            r"^(?P<about>.+?)(?:都|就|全)*(?:别|別|不要|不用|不必)再?(?:记|記|留|保存|提)(?:着|著|了|住)*$",
            rf"^(?P<about>.+?)(?:要求|希望|想|可以|就|都|全部|全)+{_ZH_FORGET}(?P<more>.*)$",
        ),
    )
)
_ZH_TAIL: Final = pattern(
    r"(?:的)?(?:一切|所有记录|所有記錄|全部|所有|记录|記錄|信息|資訊|资料|資料|个人资料|数据|内容|這件事|这件事"
    r"|这事|那件事|的事情|的事|事情|情况)+$"
)
_ZH_LEAD: Final = pattern(r"^(?:所有|一切|全部|有关|有關|关于|關於|我说过的|我說過的|那个|那個|这个|這個)+")
_ZH_ALL: Final = pattern("一切|所有|全部|关于|關於|有关|有關|都|资料|資料|信息")
_JA_FORGET: Final = "(?:忘れて|消して|削除して|消去して|削って|抹消して|なかったことにして)"
_JA: Final = pattern(
    rf"^(?P<about>.+?)(?:は|を|も|なんか|、|,)*(?:もう|全部|すべて|全て|完全に|みんな|きれいに|記憶から"
    rf"|、)*{_JA_FORGET}"
    r"(?:ください|下さい|ほしい|くれ|くれる|くれない|いい|ね|よ|です|か|もらえますか|おいて)*$"
)
_JA_TAIL: Final = pattern(
    r"(?:に関する|についての|について)?(?:の)?(?:こと|事|話|件|記録|情報|データ|個人情報|すべて|全て|全部"
    r"|と言った|と言ったの|の|、|は|を)+$"
)
_JA_ALL: Final = pattern("全部|すべて|全て|のこと|に関する|について|情報|記録")
_JA_NOT: Final = pattern("忘れな|消さな|削除しな|忘れません")


def says_everything(sentence: str) -> bool:
    return _EVERYTHING.search(sentence) is not None


def describe(sentence: str) -> Order:
    """What a sentence to forget is about. Whoever calls has been told to forget something: where no order is read, the
    sentence itself says what.
    """
    text = " ".join(sentence.replace("\u2019", "'").replace("\u2018", "'").split())
    order = read_order(text)
    if order is None:
        about = _about(text)
        return Order(about, everything=_is_plural(about) or " " not in about, sentence=text)
    return order._replace(sentence=text, is_read=True)


def read_order(text: str) -> Order | None:
    """The order to forget something in a text, if there plainly is one."""
    if _UNSPACED.search(text):
        return unspaced_order(text)
    clauses = [clause for part in CLAUSE.split(text) if (clause := part.strip(" .,;:!?\"'"))]
    for place, clause in enumerate(clauses):
        found = object_of(clause)
        if found is None:
            continue
        rest = [*clauses[:place], *clauses[place + 1 :]]
        if found and not _PRONOUN.fullmatch(found):
            named = next((each for each in clauses[place + 1 :] if _NAME_ALONE.fullmatch(each)), "")
            everything = _EVERYTHING.search(clause) is not None
            order = _order(named or found, " ".join([*([found] if named else []), *rest]), everything=everything)
            return order._replace(negative=any(form.search(clause) for form in _NOT_TO_STAY))
        # `what I said about quitting, please forget it`, `this must not be stored: what I said of panic`.
        told = [each for each in rest if _CUE.search(each)] or rest[:1]
        if not told:
            return Order("")
        order = _order(_COMMENT.sub("", told[0]), " ".join(each for each in rest if each != told[0]))
        return order._replace(negative=any(form.search(clause) for form in _NOT_TO_STAY))
    return None


def is_said_as_order(text: str) -> bool:
    """Whether a message says it as an order, with the verb of one."""
    return _BEGINS.search(text) is not None or _SAID_POLITELY.search(text) is not None


def may_go(text: str) -> bool:
    """Whether it is said of something that it may go."""
    return any(_MAY_GO.search(clause.strip(" .,;:!?")) for clause in CLAUSE.split(text))


def object_of(clause: str) -> str | None:
    """What a clause orders to be forgotten; None where it orders nothing."""
    for form in (*_NOT_TO_STAY, _MAY_GO):
        if found := form.search(clause):
            about = _REPORTED.sub("", found["about"])
            return _shortened(about)
    order = _ORDER.match(clause)
    return None if order is None else _shortened(clause[order.end() :].strip(" .,;:!?"))


def _shortened(about: str) -> str:
    while (shorter := _TAIL.sub("", f" {about}").strip()) != about:
        about = shorter
    return about


def _order(about: str, rest: str, *, everything: bool = False) -> Order:
    everything = everything or _EVERYTHING.search(about) is not None
    # `that bit about how much I earn` states nothing.
    states = _STATEMENT.match(about) is not None and not re.match(r"\W*that \w+ (?:about|of|on|with)\b", about, _I)
    if states:
        return Order(_STATEMENT.sub("", about, count=1), states=True, rest=rest)
    left = _about(about)
    # `forget Osaka` is about all of it, `forget the flat` about one.
    return Order(left, everything=everything or _is_plural(left) or " " not in left, rest=rest)


def _about(text: str) -> str:
    text = text.strip(" .,;:!?")
    while (shorter := _TOLD_BEHIND.sub("", _LEAD.sub("", text))) != text and shorter.strip(" .,;:!?\"'"):
        text = shorter
    return text.strip(" .,;:!?")


# `, Mr Castellane`: who was meant, said once more by name.
_NAME_ALONE: Final = pattern(r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau)\.? )?[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}")
_REPORTED: Final = pattern(
    r"^.*\b(?:says?|said|thinks?|told me|feels?) (?:that )?(?=(?:this|it|that|these|those)$)", _I
)
# What somebody thinks of it: `the stuff about my ex is nobody's business`.
_COMMENT: Final = pattern(r"(?<=\w)\s(?:is|was|are|were|has|have|had)\b.*$", _I)
_PLURAL_HEAD: Final = pattern(
    r"^(?:(?:my|our|the|all|these|those|your|their)\s+)+(?:[a-z-]+\s+)?[a-z-]{2,}[^s\W']s(?=\s|$)"
)


def _is_plural(about: str) -> bool:
    return _PLURAL_HEAD.match(about) is not None


def unspaced_order(text: str) -> Order | None:
    text = text.strip(_MARKS)
    if found := _JA.match(text):
        if _JA_NOT.search(text):
            return None
        about = found["about"]
        return Order(_stripped(_JA_TAIL, about), everything=_JA_ALL.search(text) is not None, states=True)
    for form in _ZH:
        if found := form.match(text):
            about = found["about"].strip(_MARKS)
            return Order(
                _stripped(_ZH_LEAD, _stripped(_ZH_TAIL, about)),
                everything=_ZH_ALL.search(text) is not None,
                states=True,
            )
    return None


def _stripped(form: re.Pattern[str], text: str) -> str:
    while (shorter := form.sub("", text).strip(_MARKS)) != text:
        text = shorter
    return text
