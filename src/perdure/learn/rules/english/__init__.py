"""The rules for English, as `LanguageRules` names them.

`statements` reads a message: `speech_acts` leaves out what tells nothing, `clause_split` cuts sentences into clauses,
`subjects` says whom a clause is about, `third_person` tells it of them, `slots` says what it fills.
"""

from __future__ import annotations

from perdure.learn.rules.english.changes import happened_once, is_doubtful, sounds_like_change, tells_change
from perdure.learn.rules.english.kin import is_permanent
from perdure.learn.rules.english.project_rules import project_rules, without_rules
from perdure.learn.rules.english.slots import plain_value
from perdure.learn.rules.english.statements import is_english as reads
from perdure.learn.rules.english.statements import statements
from perdure.learn.rules.english.third_person import in_third_person
from perdure.learn.rules.english.worth import worth

__all__ = [
    "happened_once",
    "in_third_person",
    "is_doubtful",
    "is_permanent",
    "plain_value",
    "project_rules",
    "reads",
    "sounds_like_change",
    "statements",
    "tells_change",
    "without_rules",
    "worth",
]
