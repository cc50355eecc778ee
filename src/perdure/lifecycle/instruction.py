"""What an order to forget means. Pure: nothing is looked up here, and what is in doubt is refused, never guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from perdure.clock import format_time, parse_time
from perdure.errors import InvalidInput, InvalidReference, shown
from perdure.ids import Reference, parse_reference
from perdure.text.stopwords import STOPWORDS
from perdure.text.time_expressions import TimeRange, find_time_ranges, without_spans
from perdure.text.words import query_words

Kind: TypeAlias = Literal["reference", "oldest", "least important", "matching"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """Either one memory that is named, or the last in some order, or all that match: those that hold every one of
    `words` and were made between `since` (included) and `until` (not). Without words and times: all in the scope.
    `letters` are words like C++, which the index knows only in part: the text must hold them to the letter.
    """

    kind: Kind
    reference: Reference | None = None
    words: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    understood: str

    def covers(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)


_MOST: Final = 8192
_EVERYTHING: Final = Instruction(kind="matching", understood="every memory")


def parse(what: object, now: datetime, *, scoped: bool = False) -> Instruction:
    """A reference, one of `key:…`, `oldest`, `least important`, `before:…`, or a sentence. `scoped` says that filters
    narrow it, so that `everything` is a scope too.
    """
    if what is None:
        return _nothing_left("", scoped=scoped)
    if not isinstance(what, str):
        return named(what)
    text = what.strip()
    if len(text) > _MOST:
        raise InvalidInput(f"That instruction has {len(text):,} characters.", remedy="Say it in fewer words.")
    before = _BEFORE.fullmatch(text)
    if before:
        return _made_before(before[1].strip())
    return _plain(text) or _sentence(text, now, scoped=scoped)


def named(what: object) -> Instruction:
    """A reference and nothing else."""
    if not isinstance(what, int | str):
        raise InvalidReference(f"{shown(what)} does not name a memory.")
    reference = parse_reference(_without_prefix(what) if isinstance(what, str) else what)
    return Instruction(kind="reference", reference=reference, understood=f"the memory {reference.text}")


def _plain(text: str) -> Instruction | None:
    """What is no sentence, or one whose order is followed by a reference."""
    ordered = _MEMORY.sub("", _ORDER.sub("", text, count=1), count=1).strip(_MARKS)
    for candidate in dict.fromkeys((text, ordered)):
        extreme = _EXTREMES.get(" ".join(re.sub(r"[^\w\s]", " ", candidate.lower()).split()))
        if extreme:
            return Instruction(kind=extreme, understood=_IN_WORDS[extreme])
        try:
            return named(candidate)
        except InvalidReference:
            continue
    return None


def _without_prefix(text: str) -> str:
    """`key:person:alice` is the memory with the key person:alice."""
    inner = text.strip()[len(_KEY_PREFIX) :]
    if text.strip().lower().startswith(_KEY_PREFIX) and ":" in inner:
        return inner
    return text


def _made_before(said: str) -> Instruction:
    try:
        moment = parse_time(said, "before")
    except InvalidInput as error:
        raise InvalidInput(
            f"before:{said[:60]} does not say a time.",
            remedy="Write before:2026-03-14 or before:2026-03-14T09:26:53Z; a memory with such a key is "
            f"key:before:{said[:60]}. Nothing was changed.",
        ) from error
    return Instruction(kind="matching", until=moment, understood=f"every memory created before {format_time(moment)}")


def _sentence(text: str, now: datetime, *, scoped: bool) -> Instruction:
    said = text.translate(_APOSTROPHES)
    _refuse_what_is_no_order(said)
    spans = find_time_ranges(said, now)
    if len(spans) > 1:
        times = " and ".join(repr(span.words) for span in spans[:3])
        raise InvalidInput(f"That names more than one time: {times}.", remedy=_SAY_OTHERWISE)
    rest = without_spans(said, spans)
    _refuse_what_words_cannot_say(rest)
    words = content_words(rest)
    if not words:
        _refuse_a_subject_without_words(rest)
    if not words and not spans:
        return _nothing_left(text, scoped=scoped)
    span = spans[0] if spans else None
    return Instruction(
        kind="matching",
        words=words,
        letters=tuple(token.casefold() for token in _TOKEN.findall(rest) if _SIGNS.search(token)),
        since=span and span.since,
        until=span and span.until,
        understood=_understood(words, span),
    )


def content_words(sentence: str) -> tuple[str, ...]:
    """The words that say what it is about: without the order itself, and without words that are in every order."""
    rest = _SAID.sub(" ", _ORDER.sub("", sentence, count=1))
    tokens = _TOKEN.findall(rest)
    while tokens and _is_filler(tokens):
        tokens.pop(0)
    while tokens and tokens[-1].lower() in _VAGUE:
        tokens.pop()
    return tuple(word for word in query_words(" ".join(tokens)) if word not in STOPWORDS)


def _is_filler(tokens: list[str]) -> bool:
    first, following = tokens[0].lower(), [token.lower() for token in tokens[1:2]]
    if first in _CONTAINERS or first in _VAGUE:
        return not following or following[0] in _LINKS
    return first in STOPWORDS or first in _QUANTITIES or first in _LINKS


def _refuse_what_is_no_order(text: str) -> None:
    if _EXCEPT.search(text):
        raise InvalidInput("That says what to keep, or what not to do, and not what to forget.", remedy=_SAY_OTHERWISE)
    if _SEVERAL.fullmatch(_ORDER.sub("", text, count=1).strip(_MARKS)):
        raise InvalidInput(
            "That may name several memories, or the numbers they speak of.",
            remedy="Give the references as a list, or one by one; nothing was changed.",
        )
    if not _ORDER.match(text) and (text.rstrip(_MARKS).endswith("?") or _QUESTION.match(text)):
        raise InvalidInput("That is a question and no order, so nothing was forgotten.", remedy=_SAY_OTHERWISE)


def _refuse_what_words_cannot_say(rest: str) -> None:
    """`the last memory`, `this conversation`, `before midnight`: the words of it would find something else. Behind
    `about` they are words like all others.
    """
    if _ABOUT.search(rest):
        return
    if _PLACE.search(rest):
        raise InvalidInput(
            "By their place only `oldest` and `least important` are known.",
            remedy="Name the others by number, as `perdure list` shows them, or say `everything about …`; nothing was "
            "changed.",
        )
    if _HERE.search(rest):
        raise InvalidInput(
            "Nobody can tell from the words which one is meant by `this`.",
            remedy="Say conversation_id=…, spec_folder=… or another filter; nothing was changed.",
        )
    if _SOME_TIME.search(rest):
        raise InvalidInput(
            "That seems to name a time, but not one that is understood.",
            remedy="Say it as in `before 2026-03-14`, `yesterday` or `last week`, or say `everything about …`; nothing "
            "was changed.",
        )


def _refuse_a_subject_without_words(rest: str) -> None:
    """`everything about IT from yesterday` must not mean everything from yesterday."""
    tokens = _TOKEN.findall(_SAID.sub(" ", _ORDER.sub("", rest, count=1)))
    subject = _ABOUT.search(rest) or any(token.lower() not in _EMPTY for token in tokens)
    if subject:
        raise InvalidInput(
            "What it is about holds no word to search for.",
            remedy="Name the memories by number or key, or with a word that they hold; nothing was changed.",
        )


def _nothing_left(text: str, *, scoped: bool) -> Instruction:
    if scoped:
        return _EVERYTHING
    raise InvalidInput(
        f"{shown(text)} does not say which memories." if text else "Nothing says which memories.",
        remedy="Name one, or a time, or a word that they hold, or narrow it by a filter such as spec_folder or tags. "
        "Nothing was changed.",
    )


def _understood(words: tuple[str, ...], span: TimeRange | None) -> str:
    about = " and ".join(f"\u2018{word}\u2019" for word in words)
    that = f" that speaks of {about}" if words else ""
    made = "" if span and _AGE.match(span.words) else "created "
    when = f"{',' if words else ''} {made}{_OF.sub('', span.words)} ({span.dates} UTC)" if span else ""
    return f"every memory{that}{when}"


_SAY_OTHERWISE: Final = (
    "Name what should go: a number, a key, or words and one time, as in `forget everything about the Osaka flat`. "
    "Nothing was changed."
)
_KEY_PREFIX: Final = "key:"
_MARKS: Final = " \t\r\n.,;!\"'`"
_BEFORE: Final = re.compile(r"before:(.*)", re.IGNORECASE | re.DOTALL)
_EXTREMES: Final[dict[str, Kind]] = {
    f"{article}{word}{noun}": kind
    for kind, words in (("oldest", ("oldest", "least recently used")), ("least important", ("least important",)))
    for word in words
    for article in ("", "the ", "my ")
    for noun in ("", " one", " memory", " item", " fact")
}  # pyright: ignore[reportAssignmentType]
_IN_WORDS: Final[dict[Kind, str]] = {
    "oldest": "the least recently used memory",
    "least important": "the least important memory",
}

_ORDER: Final = re.compile(
    r"^\W*(?:(?:please|kindly|hey|ok|okay|now|just|also|then|and|so|(?:can|could|would|will)\s+you"
    r"|(?:i|we)\s+(?:want|need|would\s+like)(?:\s+you)?\s+to|(?:i|we)'d\s+like(?:\s+you)?\s+to|let'?s)\b\W*){0,6}"
    r"(?:forget|delete|remove|erase|drop|wipe|purge|clear|discard|get\s+rid\s+of)\b(?:\s+(?:out|away))?:?",
    re.IGNORECASE,
)
# In front of a number: `memory #7`.
_MEMORY: Final = re.compile(
    r"^\s*(?:the\s+)?(?:memory|number|no\.|item|entry|record|fact|note)\s+(?=#?[0-9]{1,10}\W*$)", re.IGNORECASE
)
_SEVERAL: Final = re.compile(
    r"(?:(?:the\s)?(?:memories|numbers|items)\s)?#?[0-9]{1,10}(?:(?:\s|,|and|&){1,8}#?[0-9]{1,10})+", re.IGNORECASE
)
_PLACE: Final = re.compile(
    r"\b(?:last|latest|newest|most|recent|recently|first|second|third|next|previous|oldest|least)\b", re.IGNORECASE
)
_HERE: Final = re.compile(
    r"\b(?:this|that|from|of|in)\s+(?:\w+\s+)?(?:conversation|session|chat|thread|project|folder|namespace)\b",
    re.IGNORECASE,
)
_SOME_TIME: Final = re.compile(r"\b(?:before|after|since|until|till|during|between|older|newer)\b", re.IGNORECASE)
_AGE: Final = re.compile("older|newer|younger|more|less", re.IGNORECASE)
_OF: Final = re.compile(r"^(?:of|for|over|from)\s+(?=\w+$)", re.IGNORECASE)
# `what I told you about`, `that we have saved`, `you know`.
_SAID: Final = re.compile(
    r"\b(?:i|we|you)(?:'ve|'d|\s+(?:have|had|ever|just|already|once)){0,3}\s+"
    r"(?:told|said|mentioned|saved|stored|wrote|noted|learned|learnt|heard|shared|gave|know|knew|remember|remembered"
    r"|recorded|have|keep|kept|did|discussed|talked|spoke)\b(?:\s+(?:to\s+)?(?:you|me|us))?(?:\s+down)?",
    re.IGNORECASE,
)
# An exception or a negation turns the meaning round, so the words alone must not decide.
_EXCEPT: Final = re.compile(
    r"\b(?:not|never|neither|nor|none|nobody|nothing|without|unless|except|excepting|excluding|besides|instead|"
    r"cannot|dont|doesnt|didnt|wont|cant|isnt|arent|wasnt|shouldnt|mustnt|but|only)\b|n't\b|\bno\b(?!\.?\s*[0-9])|[≠¬]"
    r"|\b(?:other|rather)\s+than\b|\b(?:apart|aside)\s+from\b|\bsave\s+for\b|\bkeep\s+(?:the|my|all|everything)\b",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"\W*(?:did|do|does|have|has|had|is|are|was|were|am|should|shall|must|why|how|who|whom|whose|when|where"
    r"|(?:what|which)\s+(?:did|do|does|have|has|had|is|are|was|were|should|can|could|will|would)"
    r"|(?:can|could|would|will|may|might)\s+(?:i|we|you|he|she|it|they))\b",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[^\s.,;:!?\"()\[\]{}<>]+")
_SIGNS: Final = re.compile(r"\w[+#@&/\\*=|~^%$]|[+#@&/\\*=|~^%$]\w")
_QUANTITIES: Final = frozenset("everything all anything every each any whatever whole entire ever please".split())
_LINKS: Final = frozenset("about regarding concerning on of from that which with in to related mentioning".split())
_CONTAINERS: Final = frozenset("fact facts note notes info information detail details data item items record".split())
# What people type for an apostrophe.
_APOSTROPHES: Final = dict.fromkeys(map(ord, "\u2019\u2018\u02bc\u00b4`\uff07\u02b9"), "'")
_ABOUT: Final = re.compile(r"\b(?:about|regarding|concerning|mentioning|related\s+to)\s+\S", re.IGNORECASE)
_VAGUE: Final = frozenset("memory memories thing things stuff entry entries records".split())
# An order may hold all of these and still say nothing of what it is about.
_EMPTY: Final = frozenset(
    {*_QUANTITIES, *_LINKS, *_CONTAINERS, *_VAGUE, *"the a an my our your what which that is are was were".split()}
)
