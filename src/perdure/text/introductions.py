"""How somebody who speaks is called, by their own words: `I'm Jonas`, `my name is Jonas`, `call me Jo`, `Jonas here`.

A name that is said of another is none of these: `my brother is Jonas`, `I'm Jonas's sister`.
"""

# ruff: noqa: RUF001 - apostrophes, dashes and letters as they are written
from __future__ import annotations

from typing import Final, NamedTuple

from perdure.text.patterns import pattern


class Introduction(NamedTuple):
    """`corrects`: the names that the speaker gave before were wrong, as in `no, I'm Jona`. `is_nickname`: it is how
    they want to be called, beside the name that they have.
    """

    name: str
    corrects: bool
    is_nickname: bool = False


def find_introduction(text: str, *, holds_names: bool = True) -> Introduction | None:
    """The name that the speaker of a text gives to themselves; in English and, in one or two ways, in languages near to
    it. `holds_names`: some words of it have capital letters. Never an error.
    """
    likely = (holds_names and _LIKELY.search(text, 0, _BEGINNING)) or text.find(" name", 0, _BEGINNING) >= 0
    if not likely and text.find(" here", 0, _LONGEST_NAME) < 0:
        return None
    beginning = text[:_BEGINNING]
    clauses = _CLAUSE.finditer(beginning) if likely else ()
    for start in (0, *(clause.end() for clause in clauses)):
        match = _INTRODUCTION.match(beginning, start)
        # Further on, `this is Paris` and `right here` introduce nobody.
        given = match and (match["told"] or match["said"] or match["called"])
        name = match and (given or (None if start else match["this"] or match["here"]))
        if match and name and _is_name(name, told=match["told"] is not None):
            corrects = bool(match["corrects"] or _NOT_ANOTHER.match(beginning, match.end()))
            return Introduction(name, corrects, is_nickname=name == match["called"])
    return None


def _is_name(name: str, *, told: bool) -> bool:
    """`told`: it is called a name, and may be written as people like, or be a word as well: `my name is april`."""
    from perdure.text.keyword_words import FUNCTION_WORDS

    word, others = name.partition(" ")[0], FUNCTION_WORDS["en"]
    other_words = others if told else others | _NO_NAMES
    is_written_so = told or (word[0].isupper() and not (len(word) > 1 and word.isupper()))
    return is_written_so and not name.endswith(("'s", "’s", "'", "’")) and word.lower() not in other_words


# People introduce themselves at once; further on, a text is mostly about something else, or a letter or a story.
_BEGINNING: Final = 160
_LONGEST_NAME: Final = 40
# Most messages have no capital letter behind the end of one of the phrases below, and need no closer look. The letters
# with which these end are compared first, which takes half the time.
_ENDS: Final = (
    r"['’]m", r"\bam", r"\bis", r"['’]s", r"\bby", r"\bme", "ed", "ist", "ße", "sse", "ich", "lle", "est", "uis", "amo",
    r"\bes", "soy", "è", "é", "eet", "ben", "ter", "der", "się", "mię", "вут", "ати",
)  # fmt: skip
_LIKELY: Final = pattern(
    f" [A-ZÀ-ÖØ-ÞĀ-ŽΑ-ΩА-Я](?<=[{''.join(sorted({end[-1] for end in _ENDS}))}] .)"
    f"(?:{'|'.join(f'(?<={end} .)' for end in _ENDS)})"
)
_GREETING: Final = (
    "(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|moin|bonjour|salut"
    "|hola|ciao|olá|hej|cześć|привет)(?: (?:there|all|again|everyone|everybody|zusammen))?"
)
_NAME_IS: Final = (
    "my (?:full |first )?name(?:['’]s| is)|the name['’]s|i(?:['’]m| am) called|mein name ist|ich hei(?:ß|ss)e"
    "|je m['’]appelle|mon nom est|me llamo|mi nombre es|mi chiamo|il mio nome è|(?:o )?meu nome é|(?:eu )?me chamo"
    "|ik heet|mijn naam is|jag heter|jeg he(?:ter|dder)|nazywam się|mam na imię|меня зовут|мене звати"
)
_I_AM: Final = "i(?:['’]m| am)|je suis|soy|ik ben"
_CALL_ME: Final = (
    "(?:please |just |and |(?:can|could|would|will) you (?:please )?|you (?:can|may|could) |friends |people |everyone "
    "|everybody |most people )?call me|i go by|nenn mich"
)
_NAME: Final = r"[^\W\d_][\w'’-]*(?: (?!I\b)[^\W\d_a-z][\w'’-]*){0,2}"
# Behind a name the clause is over: `I'm German literature's worst critic` has none.
_OVER: Final = r"(?=\s*(?:[.,!?;:)\n–—]|$|- )| (?:and|und|et|y|from|here|speaking|again|btw|by the way|but|aus|not)\b)"
_CLAUSE: Final = pattern(r"[.!?,;:\n(–—]| (?:and|but|-)(?= )")
_INTRODUCTION: Final = pattern(
    rf"\s{{0,4}}(?:(?i:{_GREETING})[\s,.!–—-]{{1,4}})?(?:(?i:so|well|ok|okay|oh|btw|by the way),? )?"
    r"(?:(?P<corrects>(?i:no|nope|sorry|actually|wait|nein|non|nee))[\s,.!…–—-]{1,4})?"
    rf"(?:(?i:{_NAME_IS}) (?P<told>{_NAME})|(?i:{_I_AM}) (?P<said>{_NAME})"
    rf"|(?i:{_CALL_ME}) (?P<called>{_NAME})"
    # `This is Max, he is so playful` shows a dog.
    rf"|(?i:this is|hier ist) (?P<this>{_NAME})(?!\W{{1,4}}(?i:he|she|it|they|my|our|who|an?|the|is)\b)"
    rf"|(?P<here>{_NAME}) here){_OVER}"
)
_NOT_ANOTHER: Final = pattern(r"[\s,]{1,4}(?:and )?not [^\W\d_a-z]")
# What people say they are, with a capital letter.
_NO_NAMES: Final = frozenset(
    """
    african american arab argentine argentinian asian australian austrian belgian black brazilian british bulgarian
    canadian catholic chilean chinese christian colombian croatian cuban czech danish dutch egyptian english estonian
    european filipino finnish french gay german greek hindu hispanic hungarian indian indonesian iranian iraqi irish
    israeli italian jamaican japanese jewish kenyan korean latina latino latvian lithuanian malaysian mexican mormon
    moroccan muslim nigerian norwegian pakistani persian peruvian polish portuguese protestant romanian russian scottish
    serbian sikh slovak slovenian spanish swedish swiss syrian taiwanese thai turkish ukrainian venezuelan vietnamese
    welsh
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december christmas easter
    amazing awesome brilliant cool cute excited fine good great happy hilarious horrible huge lovely mum mom dad new
    nice perfect ready right sad sorry sure terrible tired true wonderful wrong look come over stuck glad afraid curious
    """.split()
)
