"""Events that stand for a time: `before we moved`, `since the trip to Kyoto`, `when we were in Rome`.

Which time that was only memories can tell; recall looks for the one that tells it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from perdure.text.discourse import ASKING_WORDS, content_words


@dataclass(frozen=True, slots=True)
class EventMention:
    """`relation` is `before`, `since`, `after`, `until` or `when`; `event` are the words for what happened. It stands
    at `start` to `end` in the text.
    """

    relation: str
    event: str
    start: int
    end: int
    words: str


def find_event(text: str, taken: tuple[tuple[int, int], ...] = ()) -> EventMention | None:
    """The first event that the text gives as a time; none inside the parts that are `taken`, which are times
    themselves. Never an error.
    """
    for match in _EVENT.finditer(text):
        start, end = match.span()
        if any(start < until and since < end for since, until in taken):
            continue
        relation, event = match["relation"].lower(), match["event"].strip()
        # `When did we move?` asks for the time, and `when we moved` at the beginning gives one only before a comma.
        asking = relation == "when" and (
            _AUXILIARY.match(event) or (not text[:start].strip() and text[end:][:1] != ",")
        )
        # `Until when is the shop open?` asks for a time as well.
        asking = asking or _QUESTION.match(event)
        if asking or ASKING_WORDS.issuperset(content_words(event)) or _is_general(text, relation, event):
            continue
        return EventMention(_RELATIONS.get(relation, "when"), event, start, end, " ".join(match[0].split()))
    return None


def _is_general(text: str, relation: str, event: str) -> bool:
    """`What should I do when the build fails?`, `what to check after a deploy` and `what to do until the paint is dry`
    ask for no time: nothing happened.
    """
    if _PAST.search(text) or relation == "since":
        return False
    lasts = not _NAMES_EVENT.match(event) or _PRESENT.search(event)
    return bool(lasts or relation in {"when", "while"} or _ADVICE.search(text))


_RELATIONS: Final = {"before": "before", "since": "since", "after": "after", "until": "until", "till": "until"}
_EVENT: Final = re.compile(
    r"(?<![\w-])(?P<relation>before|since|after|until|till|when|while|during|around\s{1,4}the\s{1,4}time"
    r"(?:\s{1,4}(?:of|when|that))?|at\s{1,4}the\s{1,4}time\s{1,4}(?:of|when|that))\s{1,4}(?P<event>[^,;.?!\n]{2,120})",
    re.IGNORECASE,
)
_AUXILIARY: Final = re.compile(
    "(?:did|do|does|is|was|are|were|am|will|would|has|have|had|can|could|should|shall|may|might)(?![a-z])",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"(?:when|what\s{1,4}time|how\s{1,4}long)(?![\w-])", re.IGNORECASE)
# Something that happened is told in the past; `is reached` is not.
_PAST: Final = re.compile(
    r"(?<![\w-])(?<!is )(?<!are )(?<!be )(?:[a-z]{2,}[^\W_e]ed|did|was|were|had|been|used"
    "|ate|became|began|bought|brought|broke|built|came|caught"
    "|chose|drove|fell|felt|flew|found|gave|got|grew|heard|held|kept|knew|left|lost|made|met|paid|ran|said|sang|sat|saw"
    r"|sent|slept|sold|spent|spoke|stood|swam|taught|thought|told|took|went|won|wore|wrote)(?![\w-])",
    re.IGNORECASE,
)
# An event that is named, unlike `a deploy` and `you deploy`.
_NAMES_EVENT: Final = re.compile(
    r"(?!(?:an?|any|each|every|i|you|we|he|she|it|they|one|[a-z]+ing)(?!\w))", re.IGNORECASE
)
_PRESENT: Final = re.compile(r"(?<=\w )(?:am|is|are|isn|aren|do|does|will|can|has|have)(?![\w-])", re.IGNORECASE)
_ADVICE: Final = re.compile(
    r"(?<![\w-])(?:should|shall|must|can|could|may|might|need|happens|(?:what|how|where|when|who|which)\s{1,4}to"
    r"|(?:do|does)\s{1,4}\w{1,40}\s{1,4}(?:do|need|have))(?![\w-])",
    re.IGNORECASE,
)
