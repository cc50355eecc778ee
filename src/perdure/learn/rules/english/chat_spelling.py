"""What people write when they type fast, in full: `im` is `I'm`, `dont` is `don't`, `bc` is `because`."""

from __future__ import annotations

import re
from typing import Final

_FULL: Final = {
    "i": "I", "im": "I'm", "i'm": "I'm", "ive": "I've", "i've": "I've", "i'd": "I'd", "i'll": "I'll", "dont": "don't",
    "doesnt": "doesn't", "didnt": "didn't", "cant": "can't", "couldnt": "couldn't", "wont": "won't",
    "wouldnt": "wouldn't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "werent": "weren't",
    "havent": "haven't", "hasnt": "hasn't", "hadnt": "hadn't", "shouldnt": "shouldn't", "hes": "he's", "shes": "she's",
    "theyre": "they're", "theyve": "they've", "youre": "you're", "thats": "that's", "theres": "there's",
    "whats": "what's", "weve": "we've", "u": "you", "ur": "your", "r": "are", "bc": "because", "cuz": "because",
    "coz": "because", "cos": "because", "'cause": "because", "w": "with", "w/o": "without", "abt": "about",
    "ppl": "people", "thx": "thanks", "thnx": "thanks", "pls": "please", "plz": "please", "rn": "right now",
    "tmrw": "tomorrow", "wknd": "weekend", "gonna": "going to", "wanna": "want to", "gotta": "have to", "kno": "know",
    "nite": "night", "tho": "though", "thru": "through", "probs": "probably", "bday": "birthday", "appt": "appointment",
}  # fmt: skip
_WORDS: Final = re.compile(
    rf"(?<![\w'’./@#-])(?:{'|'.join(sorted(map(re.escape, _FULL), key=len, reverse=True))})(?![\w'’@/#-]|\.\w)",  # noqa: RUF001
    re.IGNORECASE,
)
# `Its official` says that it is; `its colour` is owned.
_FILLERS: Final = re.compile(
    r"(?<=[\w\"')]),? (?:btw|tbh|lol|lmao|imo|imho|omg|haha+)\b(?=[\s,.!?;)]|$)", re.IGNORECASE
)
_IT_IS: Final = re.compile(
    r"(?<![\w'])its (?=(?:a|an|the|been|not|all|so|too|very|really|just|now|only|still|on|in|at|about|ok|\d[\w:]*"
    r"|officially|\w+ing)\b)",
    re.IGNORECASE,
)


def plain_spelling(text: str) -> str:
    """The text with straight apostrophes and without the short forms of chats. A word in capitals keeps its form."""
    text = _FILLERS.sub("", text.replace("\u2019", "'").replace("\u2018", "'"))
    return _IT_IS.sub("it's ", _WORDS.sub(_in_full, text))


def _in_full(match: re.Match[str]) -> str:
    word = match[0]
    if len(word) > 1 and word.isupper():
        return word
    full = _FULL[word.lower()]
    return full[:1].upper() + full[1:] if word[0].isupper() and len(word) > 1 else full
