"""Words of mood and praise: they say how something was, not what."""

from __future__ import annotations

from typing import Final

MOODS: Final = frozenset(
    """
    absolutely amazed amazing amazingly appreciate awesome awesomely awful bad beautiful best better big bit
    blessed bond busy calm challenge challenges chance change changes comforting content convinced cool crazy cute
    deep determined difference difficult dream dreams easy emotional energy enjoy enjoyable enjoyed enjoying epic
    excited exciting experience experiences fantastic favorite feel feeling feelings feels felt fine forget forward
    fulfilling full fun future glad goal goals good gorgeous grateful great happen happening happens happier
    happiness happy hard heart holds honest hope hopes hoping huge idea impact important incredible inspiration
    inspired inspiring intense interesting journey joy keep keeping keeps kind life lot lots love loved lovely
    loves loving lucky make makes making memorable memories mind moment moments mood motivated motivating new nice
    opportunities opportunity overwhelmed passion passionate peace peaceful people perfect positive powerful
    priceless progress proud push pushing ready refreshing relaxed relaxing relieved remember remembers rewarding
    sad satisfying scary sense share special spirits stay step steps stoked strength stress stressed stressful
    strong stuff success super support supportive surreal swamped sweet tell thankful thing things think thinking
    thinks thought thrilled thrilling time times ton tons tough tried true try trying unforgettable unique vibe
    vibes way ways wild wonderful world worth wow
    """.split()
)
