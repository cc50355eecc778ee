"""What somebody says of themselves, told of them: `I moved with my dog` becomes `Ana moved with their dog`.

Nothing is added but names, `their`, `themselves`, and forms of the verb.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from perdure.learn.rules.english.verbs import BASE, MODALS, PARTICIPLES, is_adverb, is_past, third_person

_TOKEN: Final = re.compile(r"\w+(?:['-]\w+)*|\W+")
# What a contraction stands for behind the name; `I'd` depends on what follows.
_CONTRACTED: Final = {"'m": "is", "'re": "is", "'ve": "has", "'ll": "will", "'d": "would"}
_PLURAL: Final = {"is": "are", "has": "have"}
_UNMARKED: Final = {"im": "i'm", "ive": "i've"}
_SUBJECTS: Final = frozenset(("i", "we"))
_JOINS: Final = frozenset(("and", "but", "or"))
# Behind these begins what is not said of the subject any more.
_ENDS_PREDICATE: Final = MODALS | frozenset(
    """
    although as because he how if it she since so than that there they though to until what when where which while who
    """.split()
)
_AUXILIARIES: Final = frozenset("am are aren't have haven't were weren't".split())
_FINITE: Final = MODALS | frozenset(("is", "are", "has", "have"))
_BEHIND_VERBS: Final = frozenset(
    "a about all an as at for from her his in it me my on our out some the their them these this to up us with".split()
)
_GROUP: Final = re.compile(
    r"\b(?:we|us) (?:both|all|each)\b|\btogether\b|\beach other\b"
    r"|\bwe(?:'re| are) (?:an? )?(?:\w+ )?(?:team|family|couple|household|band|group|company)\b",
    re.IGNORECASE,
)


class Telling(NamedTuple):
    """The sentence in the third person. `subject` is where the name begins that took the place of the first `I` or
    `we`, `predicate` where what is said of it begins; both are -1 where there is none.
    """

    text: str
    subject: int
    predicate: int


def tell(sentence: str, speaker: str, listener: str) -> Telling:
    return _Teller(sentence, speaker, listener).tell()


def in_third_person(text: str, speaker: str, listener: str) -> str:
    return tell(text, speaker, listener).text


class _Teller:
    def __init__(self, sentence: str, speaker: str, listener: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(sentence)
        self.words = [token.lower() for token in self.tokens if _is_word(token)]
        self.speaker = speaker
        self.group = _GROUP.search(sentence) is not None
        self.replaced = _replacements(speaker, listener, self.group)
        self.told: list[str] = []
        self.subject = self.predicate = -1
        # `agrees`: the next verb belongs to the name. `joins`: one behind `and` does, too. `joined`: it is that one.
        self.agrees = self.joins = self.joined = False

    def tell(self) -> Telling:
        at = -1
        for token in self.tokens:
            if not _is_word(token):
                if token.strip(" ,"):
                    self.agrees = self.joins = False
                self.told.append(token)
                continue
            at += 1
            word = self.words[at]
            word = _UNMARKED.get(word, word)
            stem, apostrophe, ending = word.partition("'")
            if stem in _SUBJECTS and (not apostrophe or apostrophe + ending in _CONTRACTED):
                self._name_subject(at, stem, _CONTRACTED.get(apostrophe + ending, ""))
            elif word in {"my", "our"}:
                self.told.append("their" if self.subject >= 0 else f"{self.speaker}'s")
            elif word == "us" and self._word(at - 1) == "of" and self._word(at + 1) not in {"two", "three", "four"}:
                self.told.append(f"{self.speaker}'s group")
            elif word in self.replaced and not (word == "us" and self._word(at - 1) == "the"):
                self.told.append(self.replaced[word])
            else:
                self.told.append(self._verb(at, word, token))
        text = "".join(self.told)
        return Telling(text[:1].upper() + text[1:], self.subject, self.predicate)

    def _name_subject(self, at: int, stem: str, verb: str) -> None:
        several = stem == "we" and self.group
        # `My sister and I love`, `I and my sister love`: the verb stays as it is.
        before = self.words[: max(at - 1, 0)]
        alone = _FINITE.isdisjoint(before) and not any(word.endswith("'s") or is_past(word) for word in before)
        joined = self._word(at - 1) == "and" and alone
        compound = several or (joined and self.subject < 0) or (self._word(at + 1) == "and" and not verb)
        if verb == "would":
            following = next((word for word in self.words[at + 1 : at + 5] if not is_adverb(word)), "")
            if following in PARTICIPLES or following == "better" or is_past(following):
                verb = "had"
        elif compound:
            verb = _PLURAL.get(verb, verb)
        name = f"{self.speaker} and others" if several else self.speaker
        if self.subject < 0:
            self.subject = sum(map(len, self.told))
            self.predicate = self.subject + len(name) + 1
        self.told.append(f"{name} {verb}" if verb else name)
        self.agrees, self.joined = not verb and not compound, False
        self.joins = verb in {"is", "has"}

    def _verb(self, at: int, word: str, token: str) -> str:
        """The word, in the form that agrees with the name if it is the verb of it."""
        if self.agrees and not is_adverb(word):
            self.agrees = False
            follows = self._word(at + 1) in _BEHIND_VERBS or self._word(at - 2) in BASE
            if self.joined and word not in _AUXILIARIES and not (word in BASE and follows):
                return token
            form = third_person(word)
            self.joins = word in _AUXILIARIES or word in BASE or form == word
            return token if form == word else form
        if not self.agrees:
            if self.joins and word in _JOINS:
                self.agrees = self.joined = True
            elif word in _ENDS_PREDICATE:
                self.joins = False
        return token

    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""


@lru_cache(256)
def _replacements(speaker: str, listener: str, group: bool) -> dict[str, str]:  # noqa: FBT001 - `us` are several
    return {
        "me": speaker,
        "us": f"{speaker} and others" if group else speaker,
        "mine": f"{speaker}'s",
        "ours": f"{speaker}'s",
        "myself": "themselves",
        "ourselves": "themselves",
        "you": listener,
        "your": f"{listener}'s",
        "yours": f"{listener}'s",
        "yourself": listener,
    }


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"
