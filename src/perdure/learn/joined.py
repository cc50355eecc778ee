"""One memory for two: what it says, and what is known about it. Pure functions."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from perdure.ids import LEARNED, content_hash, new_id
from perdure.learn.claim import read_claim
from perdure.model import SCOPE_FIELDS, SPEAKER, Record
from perdure.text.negation import NEGATIONS
from perdure.text.preview import when
from perdure.text.sentences import sentences
from perdure.text.words import searchable, terms
from perdure.tiers import PROPOSED, TIERS
from perdure.validation import MAX_ITEMS, MAX_KEYWORDS
from perdure.vocabulary import TRUSTS

# As they stand before what was said.
ROLES: Final = ("user", "assistant")
_ROLE: Final = re.compile(rf"({'|'.join(ROLES)}): ")
_WORD: Final = re.compile(r"\w+")
# A sentence with one of these more says nothing more.
_ARTICLES: Final = frozenset(("a", "an", "the"))
_TRUST: Final = TRUSTS[::-1]


def split_role(text: str) -> tuple[str, str]:
    """`user: ` and the rest; nothing and all of it where nobody is named."""
    role = _ROLE.match(text)
    return (role[0], text[role.end() :]) if role else ("", text)


def join_texts(first: str, second: str) -> str:
    """All that either says, nothing twice: the longer one where it holds the other word for word, else the first and
    those sentences of the second that the first has not.
    """
    role, older = split_role(first)
    same_role, newer = split_role(second)
    if role != same_role:
        role, older, newer = "", first, second
    shorter, longer = sorted((older, newer), key=len)
    if f" {' '.join(_words(shorter))} " in f" {' '.join(_words(longer))} " or _stems(shorter) == _stems(longer):
        return f"{role}{longer}"
    told = {_bare(sentence) for sentence in sentences(older)}
    added = [sentence for sentence in sentences(newer) if _bare(sentence) not in told]
    # As it was written, with its lines and code, where nothing of it is left out.
    rest = newer.strip() if len(added) == len(sentences(newer)) else " ".join(added)
    beginning = older.rstrip()
    between = "\n" if "\n" in beginning or "\n" in rest else " "
    end = "." if between == " " and beginning[-1].isalnum() else ""
    return f"{role}{beginning}{end}{between}{rest}" if rest else f"{role}{older}"


def lost_words(text: str, *sources: str) -> tuple[str, ...]:
    """The names and numbers of the sources that a text for all of them lacks, and `not` where it denies nothing any
    more: what somebody else worded may leave out what a vector does not tell.
    """
    said = read_claim(text)
    lost: dict[str, None] = {}
    for source in sources:
        claim = read_claim(source)
        lost |= dict.fromkeys(claim.spell(*(name for name in claim.names if name not in said.counts)))
        lost |= dict.fromkeys(number for number in claim.numbers if number not in said.numbers)
        denied = NEGATIONS.intersection(claim.words)
        if denied and not NEGATIONS.intersection(said.words):
            lost |= dict.fromkeys(sorted(denied))
    return tuple(lost)


def joined_record(one: Record, other: Record, text: str, at: datetime) -> Record:
    """The memory that stands for two of one scope from now on. It has the higher standing of the two, the lower trust,
    the earlier time, and what both have of everything that is a list.
    """
    older, newer = sorted((one, other), key=lambda record: (when(record), record.number or MANY))
    both = (older, newer)
    dated = [record.valid_at for record in both if record.valid_at]
    expiries = [record.expires_at for record in both if record.expires_at]
    same: dict[str, Any] = {
        name: getattr(older, name) if getattr(older, name) == getattr(newer, name) else None
        for name in ("abstract", "summary", "source_project", "session_id", "channel")
    }
    reasoning = "\n".join(dict.fromkeys(record.reasoning for record in both if record.reasoning))
    metadata = {name: value for name, value in {**older.metadata, **newer.metadata}.items() if name != PROPOSED}
    return Record(
        id=new_id(),
        number=0,
        namespace=older.namespace,
        content_hash=content_hash(text),
        text=text,
        title=newer.title or older.title,
        reasoning=reasoning or None,
        category=newer.category or older.category,
        context_type=newer.context_type if newer.context_type != "general" else older.context_type,
        tags=together(older.tags, newer.tags)[:MAX_ITEMS],
        keywords=together(older.keywords, newer.keywords)[:MAX_KEYWORDS],
        references=together(older.references, newer.references)[:MAX_ITEMS],
        trigger_phrases=together(older.trigger_phrases, newer.trigger_phrases)[:MAX_ITEMS],
        metadata=metadata,
        source=newer.source,
        evidence=together(older.evidence, newer.evidence),
        merged_from=(older.id, newer.id),
        trust=min((record.trust for record in both), key=_TRUST.index),
        tier=max((record.tier for record in both), key=lambda tier: TIERS[tier].boost),
        importance=max(older.importance, newer.importance),
        confidence=max(older.confidence, newer.confidence),
        observation_count=older.observation_count + newer.observation_count,
        validation_count=older.validation_count + newer.validation_count,
        created_at=at,
        updated_at=at,
        valid_at=min(dated) if dated else None,
        expires_at=max(expiries) if len(expiries) == len(both) else None,
        **same,
        **{name: getattr(older, name) for name in SCOPE_FIELDS},
    )


def may_join(one: Record, other: Record) -> bool:
    """Whether two active memories may become one at all: neither has a key or an end, both are of one scope and one
    speaker, of the same category or one of none, and neither stands so high that it should stay as it was said. Facts
    that were learned from conversations are left to consolidation, which knows what each rests on.
    """
    kept_apart = {"constitutional", "critical", "deprecated"}
    category = {record.category for record in (one, other)} - {None}
    return (
        all(record.key is None and record.invalid_at is None for record in (one, other))
        and all(record.source != LEARNED for record in (one, other))
        and all(record.tier not in kept_apart for record in (one, other))
        and all(getattr(one, name) == getattr(other, name) for name in SCOPE_FIELDS)
        and len(category) <= 1
        and split_role(one.text)[0] == split_role(other.text)[0]
        and one.metadata.get(SPEAKER) == other.metadata.get(SPEAKER)
    )


# More than any number: what is not stored yet is newer than all that is.
MANY: Final = 1 << 40


def together(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*some, *others)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stems(text: str) -> list[str]:
    """`Green tea` and `green teas` are the same words."""
    return terms(searchable(text))


def _bare(sentence: str) -> tuple[str, ...]:
    return tuple(word for word in _words(sentence) if word not in _ARTICLES)
