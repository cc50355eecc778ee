"""Whether what is told of somebody or something is worth a sentence: what lasts, and says something in particular."""

from __future__ import annotations

import re
from typing import Final

from perdure.learn.rules.english.moods import MOODS
from perdure.text.keyword_words import FUNCTION_WORDS

_WORD: Final = re.compile(r"\w+(?:['-]\w+)*")
_ENGLISH: Final = FUNCTION_WORDS["en"]
# How somebody feels now, or how it is: gone tomorrow.
_FEELING: Final = (
    r"(?:afraid|angry|annoyed|awake|awkward|bored|broken|cold|confused|crazy|cross|crying|cursed|dead|delighted"
    r"|depressed"
    r"|desperate|devastated|done|down|drained|drunk|dying|embarrassed|exhausted|fed up|fine|freezing|frustrated|full"
    r"|furious"
    r"|gutted|happy|heartbroken|here|home|hot|hungover|hungry|impatient|in tears|insulted|invincible|jealous"
    r"|knackered|late"
    r"|lonely|lost|mad|melting|miserable|nervous|numb|ok|okay|over the moon|pleased|proud|relieved|sad|scared|shattered"
    r"|shaking|shocked|sick of|sleepy|sore|speechless|starving|stressed|stuck|sweating|terrified|thirsty|tired"
    r"|touched|upset"
    r"|wet|worn out|wrecked|worried)"
)
_DEGREE: Final = (
    r"(?:\w+ly |so |very |too |all |just |a bit |a little |quite |pretty |rather |still |now |also |kind of )*"
)
_PASSING: Final = re.compile(
    rf"(?:is|are|was|were|feels?|felt|has been|is feeling|gets?|got) {_DEGREE}{_FEELING}\b(?! (?:of|to) \w+ing)"
    r"|(?:feels?|felt|is feeling) "
    # Said to make a point: `I could scream`, `I'd marry that cake`.
    r"|(?:\w+ly )?(?:could|would|should|might|may|must|shall)(?:n't| not)?\b"
    r"(?! (?:really |also |much )?(?:like|love|prefer|rather)\b)"
    r"|(?:is|are) (?:basically|literally|practically|secretly|virtually|apparently)\b"
    r"|(?:looks?|seems?|sounds?) (?!after|for|at|into|forward|up|in )|(?:doesn't|don't|couldn't) care\b"
    r"|(?:miss|misses|regret|regrets|swear|swears|hope|hopes|wonder|wonders|guess|guesses|bet|bets|doubts?|wish"
    r"|wishes)\b"
    r"|.*\b(?:coming over|heading (?:over|home|out)|on (?:my|their) way)\b"
    r"|(?:\w+ly )?(?:thinks|believes|supposes)\b(?! (?:about|of)\b)"
    r"|(?:is|are) going to be [a-z]+$"
    r"|(?:nearly|almost) (?:wept|cried|died|fainted|screamed|laughed)\b|(?:wept|cried|laughed|screamed)\b"
    r"|(?:has|have) no (?:idea|clue|words|words left|regrets)\b|\w+(?: \w+)? (?:as if|like (?:an?|the|my|it))\b",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    r"\b(?:since|for (?:\d|\w+ (?:years|months|weeks))|always|never|any ?more|no longer|every|again|until)\b",
    re.IGNORECASE,
)
_WOULD_LIKE: Final = re.compile(r"(?:\w+ly )?would (?:really |also |much )?(?:like|love|prefer)\b", re.IGNORECASE)
_UNREAL: Final = re.compile(
    r"(?:\w+ly )?(?:could|would|should|might|may|must|'d)(?:n't| not)?\b|(?:was|is) supposed\b", re.IGNORECASE
)
# What is otherwise than before, or holds from or to some time, or is where, when, whose or how much.
_MARKED: Final = re.compile(
    r"\b(?:now|any ?more|no longer|again|instead|since|until|till|from|as of|so far|already|not yet|still|only|called"
    r"|named|due|moved|moves|changed|changes|switched|became|became|starts?|started|ends?|ended|stays|opens?|closes?"
    r"|cancelled|canceled|booked|broken|dead|gone|sold|stolen|repaired|fixed|replaced|finished|over|shut|closed|full"
    r"|empty"
    r"|died|dies|born|pregnant|married|divorced|engaged|retired|left|leaves|quit|arrived|arrives|comes|goes|went|back"
    r"|sick|ill|in|on|at|with|by|of|under|behind|near|for|every|per|daily|weekly|monthly|costs?|takes?|needs?|uses?"
    r"|runs?"
    r"|belongs?|weighs?|holds?|owns?|works?)\b|\d|n't\b|\w[_@/]\w",
    re.IGNORECASE,
)
_TIMES: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|june|july|august|september"
    r"|october"
    r"|november|december|noon|midnight|o'clock)\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b",
    re.IGNORECASE,
)
_BARE_DENIAL: Final = re.compile(
    r"(?:has|have|does|do|did|ca|wo)n't(?: (?:for|since|in|any ?more|yet|so|either|too|at)\b|$)", re.IGNORECASE
)
_REQUIRED: Final = re.compile(r"(?:should|must)(?:n't| not)? be\b", re.IGNORECASE)
_PRAISE: Final = re.compile(
    r"(?:is|are|was|were|looks?|sounds?|seems?|feels?|tastes?|smells?) (?:\w+ly |so |very |too |just |quite |pretty "
    r"|all )*"
    r"(?:the (?:best|worst|most|least|funniest|greatest|only thing)|an? (?:\w+ )?(?:nightmare|dream|joke|treasure"
    r"|monster"
    r"|mess|pain|gem|saint|genius|idiot|blast|disaster|miracle|shame|thing|life|hero|legend)\b)|(?:is|are|was"
    r"|were) (?:too|so)\b"
    r"|(?:is|are|was|were) (?:\w+ly |much |way |far |so |a lot )*(?:[a-z]+er|more [a-z]+|less [a-z]+) than\b"
    r"|(?:is|are|was|were) about (?:the|an?|my|our|how|what)\b|(?:looks?|sounds?|seems?|feels?) (?!after|for|at|into"
    r"|forward|up|in )",
    re.IGNORECASE,
)


def is_passing(predicate: str) -> bool:
    """`is so tired today`, `could scream`: it says nothing that holds tomorrow."""
    match = _PASSING.match(predicate)
    return match is not None and _WOULD_LIKE.match(predicate) is None and _LASTING.search(predicate) is None


def is_plain(predicate: str) -> bool:
    """Not `would rather live with a bear`: it is not so; nor `hasn't for years`: nobody knows what."""
    if _BARE_DENIAL.match(predicate):
        return False
    return _UNREAL.match(predicate) is None or _WOULD_LIKE.match(predicate) is not None


def is_particular(predicate: str, *, is_named: bool, is_bare: bool = False) -> bool:
    """Whether what is told of a thing is more than praise and mood. `The house is too quiet` is not, and of what has no
    article, `dance gives me an escape` is neither: a number, a time, a name or a change has to be in it.
    """
    if (not is_plain(predicate) and not _REQUIRED.match(predicate)) or _PRAISE.match(predicate):
        return False
    spelled = _WORD.findall(predicate)
    if len(spelled) == 1 and spelled[0].lower() not in _ENDINGS:
        return False
    words = {word.lower() for word in spelled}
    content = words - _ENGLISH - MOODS
    marks = (
        bool(_MARKED.search(predicate))
        + bool(_TIMES.search(predicate))
        + any(word[0].isupper() for word in spelled[1:])
    )
    if (spelled and spelled[0].lower() in _ENDINGS) or _ENDED.match(predicate):
        return True
    if words & MOODS and marks < _SEVERAL:
        return False
    acts = bool(spelled) and spelled[0].lower() not in _COPULAS
    if is_bare and acts and not (marks > 1 or _FIRM.search(predicate) or _TIMES.search(predicate)):
        return False
    enough = _ENOUGH - (is_named or acts)
    return bool(content or _TIMES.search(predicate)) and (marks > 0 or len(content) > enough)


def says_enough(predicate: str) -> bool:
    """Two words that mean something, or one beside a number, a time or a name, or of a change or a state."""
    spelled = _WORD.findall(predicate)
    content = {word.lower() for word in spelled} - _ENGLISH - MOODS
    is_marked = any(word[0].isupper() or word[0].isdigit() for word in spelled[1:]) or bool(_TIMES.search(predicate))
    return len(content) > 1 or is_marked or (bool(content) and is_brief(predicate))


def is_brief(text: str) -> bool:
    """Whether few words are enough: `became a pilot`, `has asthma`, `is a widower`, `can't drive`."""
    return says_what_changed(text) or _STATE.search(text) is not None


def says_what_changed(text: str) -> bool:
    """`pays alone now`, `became a pilot`: what is otherwise than before."""
    return _CHANGES.search(text) is not None and _PROMISED.search(text) is None


_CHANGES: Final = re.compile(
    r"\b(?:now|any ?more|no longer|again|instead|only|alone|became|become|joined|quit|left|died|gave up|given up"
    r"|switched"
    r"|stopped|started|moved|retired|resigned|sold|bought|adopted|married|divorced|graduated|promoted|hired|fired|born"
    r"|cancell?ed|lost|broke up|split up|used to|had been)\b",
    re.IGNORECASE,
)
_STATE: Final = re.compile(
    r"\b(?:pregnant|allergic|vegan|vegetarian|single|retired|sick|ill|dead|diabetic|deaf|blind|back|away|gone|abroad"
    r"|unemployed|missing|[a-z]+-(?:handed|blind|sighted|intolerant)|smokes|vapes|name is|called|named"
    r"|on (?:leave|holiday|vacation|call|strike|nights?|days|parole)"
    r"|(?:has|have) (?:an? |no |two |three |some )?(?!(?:an?|no|to|two|three|some|questions?|plans?|news|requests?"
    r"|doubts?"
    r"|favou?r|guests?|class|work|ideas?|point|problem|favou?rite)\b)[a-z-]{3,}|does (?!not\b)\w+"
    r"|(?:is|are) (?:finally |now |already )?(?:over|through|deleted)"
    r"|(?:can't|cannot|doesn't|don't|never) (?:drive|swim|drink|smoke|cook|fly|dance|sing|ride|ski|run|walk|see"
    r"|hear)s?)\b"
    r"|\b(?:is|was) (?:an?|the) (?!idiot|mess|wreck|genius|angel|potato|zombie|machine|monster|treasure|star|saint"
    r"|joke|fan)"
    r"[a-z-]{3,}$",
    re.IGNORECASE,
)
_PROMISED: Final = re.compile(r"\b(?:will|won't|wouldn't|can't wait)\b", re.IGNORECASE)
_FIRM: Final = re.compile(
    r"\d|n't\b|\s(?-i:[A-Z])\w|\s/\w|\b(?:lives?|sits?|runs?|goes|go|stays?|belongs?) (?:in|on|at|to|under|from)\b"
    r"|\b(?:now|any ?more|no longer|again|instead|since|until|till|every|daily|weekly|moved"
    r"|changed"
    r"|switched|died|left|gone)\b",
    re.IGNORECASE,
)
_ENOUGH: Final = 2
_SEVERAL: Final = 2
_COPULAS: Final = frozenset("is are was were isn't aren't wasn't weren't".split())
_ENDED: Final = re.compile(
    r"(?:is|are) (?:finally |now |already |all )?(?:over|gone|back|through|deleted)\b", re.IGNORECASE
)
_ENDINGS: Final = frozenset(
    """
    approved booked cancelled canceled confirmed died fixed left moved paid passed quit repaired resigned retired signed
    sold stolen
    """.split()
)
