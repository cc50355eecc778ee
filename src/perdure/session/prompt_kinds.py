"""Which prompts bring nothing to mind. It is decided before anything else is loaded, because hooks see every prompt."""

from __future__ import annotations

from typing import Final

from perdure.text.patterns import pattern

# What hosts write as prompts themselves.
_MACHINE: Final = pattern(r"\s*<(?:task-notification|system-reminder|local-command|command-|bash-|user-memory)")
# `/compact now`, but not `/etc/hosts is wrong`.
_COMMAND: Final = pattern(r"\s*/[A-Za-z][\w:.-]*(?:\s|$)")
_WORD: Final = pattern(r"[^\W_]+")
_SHORTEST: Final = 3
_FEW: Final = 8
# Words that say go on, stop or thanks, and those that stand around them.
_SAYS_LITTLE: Final = frozenset(
    """
    a again ahead all alright also and any as at awesome but carry chance continue cool correct could course do does
    doing done else exactly excellent fine first for fourth from further go going good got great hello hey hi i in is it
    its just keep lets like looks many me more much my next nice no nope not now of off ok okay on one only option our
    perfect please proceed ready really right same second see sgtm should so sounds stop sure thank thanks that the them
    then there thing things think third this three thx to too try two understood up very wait want we well were what
    with wonderful would yeah yep yes you your yup
    bitte danke doch genau gut ja klar mach nein passt super weiter weitermachen
    adelante bien bueno claro de gracias perfecto por favor sigue si sí vale
    accord d merci non oui parfait vas y
    avanti bene certo grazie sì va
    continua obrigado sim
    """.split()
)


def is_machine_prompt(prompt: str) -> bool:
    """Whether a host wrote it, or it is a command to the host: nobody said it."""
    return _MACHINE.match(prompt) is not None or _COMMAND.match(prompt) is not None


def is_trivial(prompt: str) -> bool:
    """Whether a prompt is about nothing in particular: `ok`, `yes please`, `continue with that`, `2`."""
    words = _WORD.findall(prompt[:1000].casefold())
    if sum(map(len, words)) < _SHORTEST:
        return True
    return len(words) <= _FEW and all(word in _SAYS_LITTLE or word.isdigit() for word in words)
