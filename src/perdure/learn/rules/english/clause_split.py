"""A sentence as the clauses that each tell something by themselves, with the subject that they leave out.

`I sold the flat and bought a house` is told twice: if it were one statement, both would end with the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from perdure.learn.rules.english.clause_heads import (
    STRONG,
    THIRD,
    Head,
    ReadWord,
    find_head,
    find_late_head,
    has_verb,
    may_be_finite,
    tokens_of,
)
from perdure.learn.rules.english.verbs import BASE, MODALS, PARTICIPLES, is_adverb, is_past


class Piece(NamedTuple):
    """`begins`: it begins a sentence or stands behind a comma, so that a verb without a subject is the speaker's."""

    text: str
    begins: bool


def split_clauses(text: str, *, begins: bool = True) -> list[Piece]:
    if not _JOINT.search(text):
        return [Piece(text, begins)]
    tokens = tokens_of(text)
    pieces: list[Piece] = []
    start, first = 0, 0
    subject = ""
    for joint in joints(text, tokens):
        if joint.behind <= first:
            continue
        left = tokens[first : joint.before]
        head = _head(left)
        right = tokens[joint.behind :]
        begins_clause = _begins_clause(right, joint.word)
        # `The client is Norwegian and hates long emails`: `hates` are no people.
        shared = (
            shared_subject(text, left, right, head, joint.word) if right[0].word in THIRD or not begins_clause else ""
        )
        if (
            not shared
            and not (begins_clause and may_end(left, head, joint.word))
            and not turns(right, head, joint.word)
        ):
            continue
        pieces.append(Piece(subject + text[start : joint.start].strip(" ,:"), begins or bool(subject)))
        begins = joint.word == ","
        start, first, subject = joint.end, joint.behind, shared
    pieces.append(Piece(subject + text[start:].strip(" ,:"), begins or bool(subject)))
    return [piece for piece in pieces if piece.text]


class _Joint(NamedTuple):
    """Where a clause may end and the next begin: in the text, and as places of tokens."""

    word: str
    start: int
    end: int
    before: int
    behind: int


def joints(text: str, tokens: Sequence[ReadWord]) -> Iterator[_Joint]:
    by_start = {token.start: place for place, token in enumerate(tokens)}
    for match in _JOINT.finditer(text):
        place = by_start.get(match.end())
        if place is not None:
            words = (match[0].replace(",", " ").split() or [","])[-1].lower()
            before = place - len(match[0].replace(",", " ").replace(":", " ").split())
            yield _Joint(words, match.start(), match.end(), before, place)


def _head(tokens: Sequence[ReadWord]) -> Head | None:
    return find_head(tokens) or find_late_head(tokens)


def _begins_clause(right: Sequence[ReadWord], joint: str) -> bool:
    if joint == "so" and right[1:2]:
        if right[1].word in _PURPOSES:
            return False
        if right[0].word not in _SO_MUCH and has_verb(right):
            return True
    place = next((place for place, token in enumerate(right[:3]) if not is_filler(token)), 0)
    head = find_head(right, place)
    if head is None and right and (right[0].word in _TIME_LEADS or right[0].word in _PLAIN_LEADS):
        head = find_late_head(right)
        if head and any(token.breaks for token in right[1 : head.subject + 1]):
            return False
    return head is not None and not is_aside(right)


def turns(right: Sequence[ReadWord], head: Head | None, joint: str) -> bool:
    """Whether somebody is told to do something, or a sentence without a subject begins: `I moved, send it there`,
    `the test is red, changed the date`.
    """
    if joint not in {",", "so"} or len(right) < _FEWEST or right[1].breaks:
        return False
    first, second = right[0].word, right[1].word
    if head is None or first == "please":
        return first == "please"
    if first in {"don't", "let's"} or (first in BASE and second in _BEHIND_VERBS and not is_past(first)):
        return True
    return is_past(first) and second in _BEHIND_PASTS and head.kind in {"thing", "there"}


def is_aside(right: Sequence[ReadWord]) -> bool:
    """`I live in Oslo, I think`: it says how sure somebody is."""
    words = " ".join(token.word for token in right[:3])
    return _ASIDE.match(words) is not None


def is_filler(token: ReadWord) -> bool:
    return token.word in _FILLERS or (is_adverb(token.word) and not may_be_finite(token.word))


def may_end(left: Sequence[ReadWord], head: Head | None, joint: str) -> bool:
    """Whether what stands before the joint is a clause by itself, or something that may be left out."""
    if not left:
        return False
    if left[0].word in _SUBORDINATE or (left[0].word == "as" and left[1:2] and left[1].word == "soon"):
        return False
    if head is not None:
        return True
    if joint == "and":
        return any(token.word in _ELIDED or is_past(token.word) for token in left[:2])
    leads = left[0].word in _TIME_LEADS or left[0].word in _PREPOSITIONS or left[0].word.endswith("ly")
    return has_verb(left) or joint != "," or not leads


def shared_subject(
    text: str, left: Sequence[ReadWord], right: Sequence[ReadWord], head: Head | None, joint: str
) -> str:
    """The subject of the left clause, where the right one has a verb of its own that belongs to it."""
    if head is None or head.kind in {"you", "there"} or joint not in _SHARING or len(right) < _FEWEST:
        return ""
    is_bare = len(left) - head.verb <= 1 and head.kind == "self" and "'" not in left[head.verb].word
    place = next((place for place, token in enumerate(right) if not is_adverb(token.word) or token.word in STRONG), 0)
    if is_bare or not has_own_verb(left, right[place:], head, joint):
        return ""
    subject = text[left[head.subject].start : left[head.end - 1].end]
    return (subject.partition("'")[0] if head.verb == head.end - 1 else subject) + " "


def has_own_verb(left: Sequence[ReadWord], right: Sequence[ReadWord], head: Head, joint: str) -> bool:
    """Whether the right one begins with a verb that is no part of the left one."""
    first, words = left[head.verb].word, [token.word for token in left[head.verb :]]
    verb, following = right[0].word, right[1].word if len(right) > 1 else ""
    # `I moved to Nice in 2012 and returned` says that it is over.
    if first in MODALS or (verb in {"returned", "came"} and "moved" in words):
        return False
    if "to" in words and verb in BASE and not is_past(verb):
        return False
    if joint == ",":
        # Of a thing, a sentence without a subject is the speaker's.
        goes_on = head.kind != "thing" and verb in _PLAINLY_PAST and following in _BEHIND_PASTS
        return goes_on or (head.kind == "self" and verb in _ELIDED and verb != "not")
    if is_past(verb) and following not in {"by", ""}:
        # `I'm tired and annoyed` shares more than the subject.
        past = is_past(first) or first in PARTICIPLES or first.endswith("'ve") or first in {"have", "has"}
        return past or verb in _PLAINLY_PAST
    if head.kind == "self" and not head.is_plural:
        is_now = not is_past(first) or any(token.word in {"now", "instead", "currently"} for token in right)
        return verb in STRONG or (verb in BASE and following in _BEHIND_VERBS and is_now)
    return verb in STRONG or verb in THIRD


_SHARING: Final = frozenset(("and", "but", "then", ","))
_FEWEST: Final = 2
_JOINT: Final = re.compile(
    r"(?:\s*[,:]\s+|\s+)(?:(?:and|but|so|because|though|although|plus)\b(?: (?:then|so|also|now|that))?[\s,]+)"
    r"|\s*[,:]\s+(?:then |which means |or )?",
    re.IGNORECASE,
)
_FILLERS: Final = frozenset("now then also maybe apparently so yes anyway and but".split())
_SUBORDINATE: Final = frozenset(
    """
    after although because before if once since though unless until when whenever where wherever whether while what how
    why who which whatever
    """.split()
)
_TIME_LEADS: Final = frozenset(
    """
    last next this every each today tomorrow tonight yesterday now then later earlier recently once sometimes monday
    tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    mornings evenings weekends nights
    """.split()
)
_PLAIN_LEADS: Final = frozenset("in on at from since for with until after only".split())
_SO_MUCH: Final = frozenset("that much far many long as".split())
_PURPOSES: Final = frozenset("can could don't".split())
_BEHIND_PASTS: Final = frozenset("a an the my our his her their in out to up back on some two three".split())
_PREPOSITIONS: Final = frozenset(
    """
    after at before by despite during for from in inside near of on over per since through till to under
    until with within without
    """.split()
)
_ELIDED: Final = frozenset("can't cannot couldn't won't don't haven't have been not never".split())
_PLAINLY_PAST: Final = frozenset(
    """
    became began bought came did drove flew found gave got grew had left lost made met moved paid quit ran said saw sold
    spent started stopped switched took taught went won wrote
    """.split()
)
_BEHIND_VERBS: Final = frozenset(
    """
    a about all an and as at every for from her his in it me my no on one only our out over some that the their
    them these this three to two up us with
    """.split()
)
_ASIDE: Final = re.compile(
    r"(?:i|we) (?:think|guess|believe|suppose|hope|mean|know|swear|bet|say|admit|fear|see)\b|you (?:know|see|guessed)\b"
    r"|it's (?:fine|ok|okay|true)\b|that's (?:it|all|right|true)\b",
)
