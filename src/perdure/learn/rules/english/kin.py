"""The people and animals of somebody's life, as they are mentioned: `my sister Anna`, `a dog named Max`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# One at a time: another name is another value.
_ONLY: Final = frozenset(
    """
    boss boyfriend dad father fiance fiancé fiancée girlfriend husband manager mom mother mum partner spouse wife
    """.split()
)
_MANY: Final = frozenset(
    """
    aunt auntie baby bird brother cat classmate co-worker coach colleague cousin coworker daughter doctor dog flatmate
    friend granddad grandfather grandma grandmother grandpa hamster horse kitten kitty mentor neighbor neighbour nephew
    niece parrot pup puppy rabbit roommate sister snake son stepdad stepmom teacher teammate therapist trainer turtle
    uncle
    """.split()
)
# Who was born as that stays so, whatever else is told of them.
_BORN: Final = frozenset(
    """
    aunt auntie brother cousin daughter granddad grandfather grandma grandmother grandpa nephew niece sister son uncle
    """.split()
)
_GROUPS: Final = frozenset("cats child children dogs family friends kid kids parents team".split())
RELATIONS: Final = _ONLY | _MANY | _GROUPS

_RELATION: Final = rf"(?P<relation>{'|'.join(sorted(_ONLY | _MANY, key=len, reverse=True))})"
_TITLE: Final = r"(?:Dr|Fr|Miss|Mrs?|Ms|Prof|Professor|Rev|St)"
_NAME: Final = (
    rf"(?P<name>(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)(?:{_TITLE}\.? |[A-Z]\. ){{0,3}}(?!{_TITLE}\b)"
    r"[A-Z][a-zà-ÿ]{1,20}(?:(?: [A-Z]\.)? [A-Z][a-zà-ÿ]{1,20})?)"
)
_OWN: Final = r"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+(?:-[a-z]+)? ){0,2}?"
_MAY_MENTION: Final = re.compile(r"\b(?:[Mm]y|[Oo]ur|named|called)\b")
_IS_MINE: Final = re.compile(rf"\b{_NAME} (?:is|was) (?:my|our) (?:[a-z-]+ ){{0,2}}?{_RELATION}\b(?!'s)")
_NAME_IS: Final = re.compile(rf"{_OWN}{_RELATION}'s name is {_NAME}\b")
# Of those there is one of, a name alone is enough, unless it is where they come from or what they believe.
_IS_NAME: Final = re.compile(
    rf"{_OWN}(?:{_RELATION}(?:'s| is| was) (?:now )?(?:called|named)"
    rf"|(?P<only>{'|'.join(sorted(_ONLY))})(?:'s| is)(?: now)?)"
    rf" (?!\w+(?:ish|ese|ian|ean|ican)\b|Dutch|French|German|Greek|Swiss|Thai|Muslim|Catholic|Hindu){_NAME}"
    r"(?= (?:now|these days)\b|[,;]|$)(?: now| these days)?"
)
_APPOSED: Final = re.compile(rf"^{_NAME}, (?:my|our) (?:[a-z]+ ){{0,2}}?{_RELATION}\b(?!'s)")
_NAMED: Final = re.compile(rf"\b(?:an?|another) (?:[a-z-]+ ){{0,2}}?{_RELATION} (?:named|called) {_NAME}\b")
_POSSESSED: Final = re.compile(rf"{_OWN}{_RELATION}\b(?!'s|-)(?:,? (?:named |called )?{_NAME}\b(?!'s))?")


class Kin(NamedTuple):
    """`name` is empty where nobody says it. `only`: the clause says nothing else."""

    relation: str
    name: str
    owner: str
    only: bool = False

    @property
    def subject(self) -> str:
        """What a fact calls them."""
        return self.name or f"{self.owner}'s {self.relation}"

    @property
    def fact(self) -> str:
        return f"{self.name} is {self.owner}'s {self.relation}"

    @property
    def slot(self) -> str:
        return self.relation if self.relation in _ONLY else f"{self.relation}:{self.name.lower()}"


def is_permanent(relation: str) -> bool:
    return relation.rstrip("s") in _BORN


def find_kin(clause: str, owner: str) -> list[Kin]:
    """Whom the clause mentions as somebody of the owner's, in order."""
    if not _MAY_MENTION.search(clause):
        return []
    for pattern in (_IS_MINE, _NAME_IS, _IS_NAME, _NAMED, _APPOSED):
        if match := pattern.search(clause):
            only = pattern is not _NAMED and match.span() == (0, len(clause))
            relation = match["relation"] or match.groupdict().get("only") or ""
            return [Kin(relation, match["name"], owner, only)]
    return [Kin(match["relation"], match["name"] or "", owner) for match in _POSSESSED.finditer(clause)]
