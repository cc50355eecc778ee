"""What a session should know without asking: who it works for, what was decided in the project, and where it stopped.

`about` is a part of the text that a session starts with; `resume_context` answers a prompt that asks for it. Both read
what is stored, and take no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.clock import local_day
from perdure.ids import BY_HAND, CAPTURED, MESSAGE
from perdure.model import ROLE, Record
from perdure.recall.envelope import doubt_about, enclose, unused_mark
from perdure.text.patterns import pattern
from perdure.text.preview import clip, one_line, when
from perdure.values import replace
from perdure.visibility import is_told_in

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.session.privacy import Place

MAX_CHARACTERS: Final = 1_500
HEADING: Final = "### About you and this project"
# By what a person most wants an agent to know at once.
_PREFERENCE: Final = "preference"
_OF_PEOPLE: Final = ("guideline", _PREFERENCE, "identity")
_REMEMBERED: Final = (BY_HAND, CAPTURED)
_MOST_OF_PEOPLE: Final = 8
_MOST_DECISIONS: Final = 5
_READ: Final = 60
_LINE: Final = 200
_PART: Final = 260
_REQUEST: Final = 110
_MOST_MESSAGES: Final = 30
_NEAR_THE_END: Final = 6

_DECISION: Final = pattern(
    r"we(?:'ve| have)? (?:decided|agreed|chose|settled|picked|go with|are moving|are migrating|are switching|use)\b"
    r"|(?:decision|decided|agreed)\b",
    2,
)
_ABOUT_USER: Final = pattern(
    r"(?:the )?user(?:'s)? |my name is |call me |i (?:prefer|like|want|hate|dislike|speak|work|always|never)\b", 2
)
_ASKS: Final = pattern(
    r"\bwhere (?:were|are) we\b(?! (?:put|stor|call|us|do))|\bwhere (?:did|had) (?:we|i) (?:stop|le[af]|end|get|got)"
    r"|\bwhat (?:were|was) (?:we|i) (?:working on|doing|up to|at)\b"
    r"|\bwhat did (?:we|you|i) (?:do|work on|finish|get done|leave)\b[^.?!]{0,30}"
    r"\b(?:last|yesterday|before|open|previous)"
    r"|\b(?:go on|continue|carry on|resume|pick up|proceed|keep going)\b[^.?!]{0,40}"
    r"\b(?:yesterday|last (?:time|session|week|night)|where (?:we|i|you)|left off|stopped|(?:previous|earlier) session)"
    r"|\b(?:left|leave) off\b|\blast (?:time|session)'s (?:work|task)|\bcatch me up\b|\bbring me up to speed\b"
    r"|\bwhat(?:'s| is| was) (?:still )?(?:left|open) (?:from|of|since)\b"
    r"|\bwo (?:waren|sind|haben) wir\b|\b(?:weiter|weitermachen)\b[^.?!]{0,30}\b(?:gestern|aufgehört|letzte)",
    2,
)
_OPEN: Final = pattern(
    r"\b(?:next(?: step| up|:)|to-?do|still|remain(?:s|ing)?|left to|is left|are left|open|tomorrow|later|not yet"
    r"|pending|follow[- ]up|blocked|waiting|unfinished|continue with|missing|needs to|have to|should be)\b",
    2,
)
# What was done stands before it, and what is left open behind it.
_BUT: Final = pattern(r"(?:;|,? (?:but|though|only)\b|, and\b)\s+", 2)
_FEWEST_WORDS: Final = 3


class AboutBlock(NamedTuple):
    """The lines, and the memories that they show."""

    text: str = ""
    records: tuple[Record, ...] = ()


def asks_to_resume(prompt: str) -> bool:
    """Whether a prompt asks for the last session: `where were we?`, `go on with yesterday's work`."""
    from perdure.text.pasted import without_pasted

    return _ASKS.search(without_pasted(prompt)[: _REQUEST * 4]) is not None


def about(
    memory: Memory,
    place: Place,
    session: str | None = None,
    told: Iterable[str] = (),
    *,
    with_last_session: bool = True,
) -> AboutBlock:
    """Guidelines, preferences and identity; the newest decisions and notes of this project; its last session. `told`
    are the ids of memories that the session is told elsewhere, or was told before.
    """
    told = set(told)
    remembered = {name: remembered_in(memory, name) for name in place.read_namespaces}
    chosen: list[tuple[str, Record]] = []
    for kind, record in (*facts_of_people(memory, remembered), *notes_of_project(memory, place, remembered)):
        if record.id not in told and is_told_in(record, place.told_in):
            told.add(record.id)
            chosen.append((kind, record))
    last = list(last_session(memory, place, session)) if with_last_session else []
    room = MAX_CHARACTERS - len(HEADING) - sum(len(line) + 1 for line in last) - 1
    lines: list[str] = []
    inside: list[Record] = []
    for kind, record in chosen:
        line = line_of(kind, record)
        if len(line) + 1 <= room:
            room -= len(line) + 1
            lines.append(line)
            inside.append(record)
    if not lines and not last:
        return AboutBlock()
    return AboutBlock("\n".join((HEADING, *lines, *last)), tuple(inside))


def resume_context(memory: Memory, place: Place, session: str, prompt: str) -> str:
    """The last session of this project, for a prompt that asks for it; else empty."""
    lines = list(last_session(memory, place, session)) if asks_to_resume(prompt) else []
    return enclose(lines, unused_mark(lines)) if lines else ""


def last_session(memory: Memory, place: Place, session: str | None) -> Iterator[str]:
    """When it was, what was done, and what was left open, in three lines; nothing where there was none."""
    messages = last_messages(memory, place, session)
    if not messages:
        return
    from perdure.session.block import harmless
    from perdure.text.sentences import sentences

    last = messages[-1]
    asked = [_prompt(one) for one in messages if _is_by_user(one)]
    asked = [one for one in asked if one and not asks_to_resume(one)]
    answers = [one for one in messages if not _is_by_user(one)]
    done = clip(one_line(" ".join(sentences(answers[-1].text)[:2])), _PART) if answers else ""
    # What was asked for first is what the session was about; what was asked for last is where it ended.
    requests = "; ".join(f"“{clip(one, _REQUEST)}”" for one in dict.fromkeys((*asked[:1], *asked[-1:])))
    yield f"- Last session here: {local_day(when(last))}, {_counted(len(messages))}" + (
        f", asked for: {harmless(requests)}" if requests else ""
    )
    yield f"- Done at the end: {harmless(done) or 'nothing was answered'}"
    yield f"- Left open: {harmless(left_open(messages)) or 'nothing was named'}"


def left_open(messages: Sequence[Record]) -> str:
    """A prompt that nobody answered; else what was called open near the end."""
    from perdure.text.pasted import without_pasted
    from perdure.text.sentences import sentences

    if _is_by_user(messages[-1]) and (prompt := _prompt(messages[-1])):
        return f"the last request was not answered: “{clip(prompt, _PART)}”"
    said = (text for one in messages[-_NEAR_THE_END:] for text in sentences(without_pasted(one.text)))
    named = [_from_what_is_open(text) for text in said if _OPEN.search(text) and not text.endswith("?")]
    return clip(one_line(" ".join(named[-2:])), _PART)


def _from_what_is_open(sentence: str) -> str:
    """`the tests are missing` of `Tagged it; the tests are missing`: the rest is told as done."""
    for cut in _BUT.finditer(sentence):
        done, rest = sentence[: cut.start()], sentence[cut.end() :]
        if not _OPEN.search(done) and len(rest.split()) >= _FEWEST_WORDS:
            return rest
    return sentence


def last_messages(memory: Memory, place: Place, session: str | None) -> list[Record]:
    """The last messages of the newest session of this project that is not this one."""
    if place.label is None:
        return []
    own = memory.namespace(place.namespace)
    newest = own.list(key_type=MESSAGE, source_project=place.label, limit=_READ).records
    others = (record.conversation_id for record in newest if record.conversation_id != session)
    found = next(filter(None, others), None)
    if found is None:
        return []
    from perdure.learn.tool_fixes import TOOL_ROLE

    messages = own.conversation(found).messages(limit=_MOST_MESSAGES)
    return [message for message in messages if message.metadata.get(ROLE) != TOOL_ROLE]


def remembered_in(memory: Memory, namespace: str, project: str | None = None) -> Sequence[Record]:
    """The newest memories of a namespace, or of a project in it, that somebody told or that a session left."""
    return memory.namespace(namespace).list(source=_REMEMBERED, source_project=project, limit=_READ).records


def facts_of_people(memory: Memory, remembered: Mapping[str, Sequence[Record]]) -> Iterator[tuple[str, Record]]:
    """What holds for the person in all their projects, or in this one: as they are, and how they want things done.
    `remembered` is what `remembered_in` tells of each namespace.
    """
    found: list[tuple[str, Record]] = []
    for namespace, newest in remembered.items():
        of_people = memory.namespace(namespace).list(category=_OF_PEOPLE, limit=_READ).records
        found += [(record.category or "", record) for record in of_people]
        found += [(_PREFERENCE, record) for record in newest if not record.category and _is_of_user(record)]
    yield from without_repeats(sorted(found, key=lambda pair: _OF_PEOPLE.index(pair[0])))[:_MOST_OF_PEOPLE]


def without_repeats(found: Sequence[tuple[str, Record]]) -> list[tuple[str, Record]]:
    """Of several that say the same in nearly the same words, whenever that was, the first."""
    if len(found) < 2:  # noqa: PLR2004 - to compare
        return list(found)
    from perdure.recall.near_duplicates import Shingles, is_near_duplicate

    kept: list[tuple[str, Record]] = []
    seen: list[Shingles] = []
    for kind, record in found:
        shingles = Shingles.of(replace(record, valid_at=None, metadata={}))
        if not any(is_near_duplicate(shingles, other) for other in seen):
            seen.append(shingles)
            kept.append((kind, record))
    return kept


def notes_of_project(
    memory: Memory, place: Place, remembered: Mapping[str, Sequence[Record]]
) -> Iterator[tuple[str, Record]]:
    """Decisions of the project, and what was remembered in it without a category; the newest first."""
    if place.label is None:
        return
    newest = remembered[place.namespace]
    if len(newest) < _READ:
        # These are all that there are.
        found = [record for record in newest if record.source_project == place.label]
    else:
        found = remembered_in(memory, place.namespace, place.label)
    decisions = [("decision", record) for record in found if _DECISION.match(record.text)]
    notes = [("note", record) for record in found if not record.category and not _is_of_user(record)]
    yield from sorted((*decisions, *notes), key=lambda pair: when(pair[1]), reverse=True)[:_MOST_DECISIONS]


def _is_of_user(record: Record) -> bool:
    return _ABOUT_USER.match(record.text) is not None


def line_of(kind: str, record: Record) -> str:
    from perdure.session.block import harmless

    doubt = doubt_about(record)
    return (
        f"- [{kind}] {harmless(clip(one_line(record.text), _LINE))} (#{record.number}{f', {doubt}' if doubt else ''})"
    )


def _counted(messages: int) -> str:
    return "1 message" if messages == 1 else f"{messages} messages"


def _is_by_user(message: Record) -> bool:
    return message.metadata.get(ROLE) == "user"


def _prompt(message: Record) -> str:
    from perdure.text.pasted import without_pasted

    return one_line(without_pasted(message.text))
