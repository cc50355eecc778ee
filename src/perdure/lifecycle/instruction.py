"""Parsing an instruction to forget: a reference, `oldest`, `least important`, `before:…`, or a sentence. Pure.

A sentence is only searched for by its words and its time. It is not understood beyond that, so whatever it finds needs
a confirmation, and one that says what is to stay is refused. What stands in double quotes is a text that a memory holds
word for word; no word in it is an instruction.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from perdure.clock import format_local, parse_time
from perdure.errors import InvalidInput, InvalidReference, shown
from perdure.ids import Reference, parse_reference
from perdure.model import Record
from perdure.text.descriptions import without_denials
from perdure.text.exclusions import exclusion_in, question_in
from perdure.text.orders import Order, describe
from perdure.text.phrases import has_phrases, spellings, split_phrases
from perdure.text.stopwords import STOPWORDS
from perdure.text.time_expressions import find_time_ranges, without_mentions
from perdure.text.wanted import WantedWords

Kind: TypeAlias = Literal["reference", "oldest", "least important", "scope", "sentence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One parsed instruction. `scope` means all memories of a time or of the filters that the caller gives.

    `wanted`: a match holds every one of these words, and each of the `phrases`, given in its spellings, as it stands.
    `since`, `until`: a match was created in [since, until). `order` is what a sentence is about, as far as it can be
    read; `denial` are words in what it says that would say in another place that something is to stay.
    """

    kind: Kind
    reference: Reference | None = None
    wanted: WantedWords | None = None
    phrases: tuple[tuple[str, ...], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    order: Order | None = None
    denial: str = ""
    understood: str

    def covers(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)

    def held_by(self, record: Record) -> bool:
        return (self.wanted is None or self.wanted.held_by(record)) and has_phrases(record, self.phrases)

    def why_not(self, record: Record) -> str:
        """What keeps a memory that a sentence names in part from being meant."""
        wanted = self.wanted.written if self.wanted else ()
        missing = [f"'{word}'" for word in wanted if not WantedWords(word).held_by(record)]
        if missing:
            return f"does not hold {' and '.join(missing)}"
        return "is of another time" if self.held_by(record) else "does not hold the quoted words in that order"


_MAX_CHARACTERS: Final = 8192
_MARKS: Final = " \t\r\n.,;\"'`"
_KEY_PREFIX: Final = "key:"
_BEFORE: Final = re.compile(r"before:(.*)", re.IGNORECASE | re.DOTALL)
_LEAST: Final = re.compile(
    r"(?:(?:the|my) )?(?:(oldest|least recently used)|least important)(?: (?:one|memory|item|fact))?"
)
# The order in front of what it is about: `please forget …`, `delete memory #7`.
_ORDER: Final = re.compile(
    r"^\W*(?:(?:please|kindly|(?:can|could|would|will)\s+you)\b\W*){0,3}"
    r"(?:forget|delete|remove|erase|drop|discard)\b:?"
    r"(?:\s+(?:the\s+)?(?:memory|number|no\.|item|entry|record|fact|note)(?=\s+#?[0-9]{1,10}\W*$))?",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(r"\b(?:about|regarding|concerning|mentioning|related\s+to)\s+\S", re.IGNORECASE)
_TIME_WORD: Final = re.compile(
    r"\b(?:before|after|since|until|till|during|between|older|newer)\b|\b[0-9]{1,2}[./-][0-9]{1,2}[./-](?:19|20)[0-9]{2}\b",
    re.IGNORECASE,
)
# A time must not be left out because it was not understood: `ago` counts behind `about` as well.
_UNREAD_TIME: Final = re.compile(r"\bago\b", re.IGNORECASE)
_TOKEN: Final = re.compile("[^\\s.,;:!?\"'\u2019\u2018()\\[\\]{}<>]+")
_OR: Final = re.compile(r"\bor\b", re.IGNORECASE)

# Words around the subject of a sentence. They are dropped at its beginning and at its end.
_FILLER: Final = frozenset(
    """
    forget delete remove erase drop wipe purge clear discard get rid please kindly can could would will want need like
    everything all anything every each any whatever whole entire ever
    about regarding concerning on of from that which with in to related mentioning what the a an is are was were
    i we you me my our your ve d have had told said mentioned saved stored wrote noted learned learnt heard shared gave
    know knew remember remembered recorded discussed talked spoke
    """.split()
)
_LINKS: Final = frozenset("about regarding concerning on of from that which with in to related mentioning".split())
_VAGUE_NOUNS: Final = frozenset("memory memories thing things stuff entry entries records".split())
# These are dropped only in front of a link, as in `notes about tea`.
_NOUNS: Final = _VAGUE_NOUNS | frozenset(
    "fact facts note notes info information detail details data item items record".split()
)


def parse(what: object, now: datetime, *, scoped: bool = False) -> Instruction:
    """`scoped` says that filters narrow the instruction; then `everything` is a scope too."""
    if what is None:
        return _everything("", scoped=scoped)
    if not isinstance(what, str):
        return _reference(reference_of(what))
    text = what.strip()
    if len(text) > _MAX_CHARACTERS:
        raise InvalidInput(f"That instruction has {len(text):,} characters.", remedy="Say it in fewer words.")
    if before := _BEFORE.fullmatch(text):
        time = before[1].strip()
        try:
            moment = parse_time(time, "before", now)
        except InvalidInput as error:
            raise InvalidInput(
                f"before:{time[:60]} does not say a time.",
                remedy="Write before:2026-03-14, before:3d or 'before:last week'; a memory with such a key is "
                f"key:before:{time[:60]}. Nothing was changed.",
            ) from error
        return Instruction(kind="scope", until=moment, understood=f"every memory created before {format_local(moment)}")
    # `!7` says that it is not #7; `forget 7!` does not.
    ordered = _ORDER.sub("", text, count=1).lstrip(_MARKS).rstrip(_MARKS + "!")
    for candidate in () if split_phrases(text).phrases else dict.fromkeys((text, ordered)):
        if least := _LEAST.fullmatch(" ".join(candidate.lower().rstrip(_MARKS + "!").split())):
            kind, which = ("oldest", "least recently used") if least[1] else ("least important", "least important")
            return Instruction(kind=kind, understood=f"the {which} memory")
        with suppress(InvalidReference):
            return _reference(reference_of(candidate))
    return _sentence(text, now, scoped=scoped)


def reference_of(what: object) -> Reference:
    """A reference and nothing else. `key:person:alice` is the memory with the key person:alice."""
    if not isinstance(what, int | str):
        raise InvalidReference(f"{shown(what)} does not name a memory.")
    if isinstance(what, str) and what.strip().lower().startswith(_KEY_PREFIX):
        key = what.strip()[len(_KEY_PREFIX) :]
        what = key if ":" in key else what
    return parse_reference(what)


def _reference(reference: Reference) -> Instruction:
    return Instruction(kind="reference", reference=reference, understood=f"the memory {reference.text}")


def _everything(text: str, *, scoped: bool) -> Instruction:
    if scoped:
        return Instruction(kind="scope", understood="every memory")
    raise InvalidInput(
        f"{shown(text)} does not say which memories." if text else "You did not say which memories.",
        remedy="Give a number, a key, a time or words that they hold, or a filter such as spec_folder or tags. "
        "Nothing was changed.",
    )


def _sentence(text: str, now: datetime, *, scoped: bool) -> Instruction:
    quoted = split_phrases(text)
    order = None if quoted.phrases else describe(quoted.unquoted)
    denial = exclusion_in(quoted.unquoted) or ""
    if denial and (order is None or not _only_states(order)):
        raise says_what_stays(denial)
    if said := question_in(quoted.unquoted) if not denial else None:
        raise InvalidInput(
            f"The instruction says {shown(said)}. It asks, wishes or tells, and does not say what should go.",
            remedy="Say only what should go, as in `everything about tea`, or name it by number or key. Put a text "
            "that holds such words in double quotes. Nothing was changed.",
        )
    # Nothing was stored in times to come: there, `the trip next week` is what a memory speaks of.
    # Nor is what a memory says the time at which it was stored: `forget that I drink no coffee after four`.
    states = order is not None and order.states and order.is_read
    found = () if states else find_time_ranges(quoted.unquoted, now)
    ranges = tuple(each for each in found if each.since is None or each.since <= now)
    rest = without_mentions(quoted.unquoted, ranges)
    subject = _SUBJECT.search(rest)
    # Behind `about`, a word of time is a word like any other.
    if not states and (len(ranges) > 1 or _UNREAD_TIME.search(rest) or (_TIME_WORD.search(rest) and not subject)):
        raise InvalidInput(
            "The instruction names a time that cannot be read, or several times.",
            remedy="Name one time, as in `before 2026-03-14`, `yesterday` or `last week`, or say `everything about …`. "
            "Nothing was changed.",
        )
    wanted = subject_words(order.about if order and order.is_read and not ranges else rest)
    if wanted and _OR.search(wanted.text):
        raise InvalidInput(
            "The instruction says 'or', and a memory to forget holds all of the words that are named.",
            remedy="Give one instruction for each, without 'or'. Nothing was changed.",
        )
    if not wanted and not quoted.phrases:
        # `everything about IT from yesterday` must not mean everything from yesterday.
        if subject or any(token.lower() not in _FILLER | _NOUNS for token in _TOKEN.findall(rest)):
            raise InvalidInput(
                f"{shown(text)} holds no word to search for.",
                remedy="Name the memories by number or key, or with a word that they hold. Nothing was changed.",
            )
        if not ranges:
            return _everything(text, scoped=scoped)
    understood = "every memory"
    held = [*(f"'{word}'" for word in (wanted.written if wanted else ())), *(f'"{each}"' for each in quoted.phrases)]
    if held:
        understood += f" that holds {' and '.join(held)}"
    if quoted.phrases:
        wanted = WantedWords(" ".join((*([wanted.text] if wanted else ()), *quoted.phrases)))
    if ranges:
        understood += f", created {ranges[0].dates} {ranges[0].zone_name} ('{ranges[0].words}')"
    return Instruction(
        kind="sentence",
        wanted=wanted,
        phrases=tuple(map(spellings, quoted.phrases)),
        since=ranges[0].since if ranges else None,
        until=ranges[0].until if ranges else None,
        order=order,
        denial=denial,
        understood=understood,
    )


def says_what_stays(said: str) -> InvalidInput:
    return InvalidInput(
        f"The instruction says {shown(said)}. Its words are only searched for, so it could remove what should stay.",
        remedy="Say only what should go, or name it by number or key. Put a text that holds such a word in double "
        'quotes, as in "not before nine". Nothing was changed.',
    )


def _only_states(order: Order) -> bool:
    """Whether what sounds as if something were to stay is only how it is said, or what a memory says: `don't keep my
    notes about tea`, `forget that I have no car`.
    """
    if order.negative:
        return exclusion_in(without_denials(f"{order.about}. {order.rest}")) is None
    return order.is_read and order.states and exclusion_in(without_denials(order.sentence)) is None


def subject_words(sentence: str) -> WantedWords | None:
    """The words that say what a sentence is about: without the order itself, and not of stopwords alone."""
    tokens = list(_TOKEN.finditer(sentence))
    lower = [token[0].lower() for token in tokens]
    start, end = 0, len(tokens)
    while start < end and (
        lower[start] in _FILLER
        or lower[start] in STOPWORDS
        or (lower[start] in _NOUNS and (start + 1 == end or lower[start + 1] in _LINKS))
    ):
        start += 1
    while start < end and (lower[end - 1] in _FILLER or lower[end - 1] in STOPWORDS or lower[end - 1] in _VAGUE_NOUNS):
        end -= 1
    if start == end:
        return None
    # The dot of `.NET` belongs to it.
    first = tokens[start].start()
    wanted = WantedWords(sentence[first - 1 if sentence[:first].endswith(".") else first : tokens[end - 1].end()])
    return None if STOPWORDS.issuperset(wanted.words) else wanted
