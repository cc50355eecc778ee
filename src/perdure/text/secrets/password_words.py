"""The word for a password in the languages that people write their notes in, and how they say what it is."""

from __future__ import annotations

from typing import Final

# What must be in the lowered text for the pattern to match, and the pattern.
PASSWORD_WORDS: Final = (
    ("mot de passe", r"mots? de passe"),  # French
    ("contrase", r"contrase[ñn]as?"),  # Spanish
    ("clave", r"clave(?<![a-z]clave)"),  # Spanish
    ("senha", r"senha(?<![a-z]senha)"),  # Portuguese
    ("palavra", r"palavra[ -]passe"),  # Portuguese
    ("parol", r"parol(?<![a-z]parol)[aăe](?: d'ordine)?"),  # Italian, Romanian, Turkish
    ("wachtwoord", r"wachtwoord"),  # Dutch
    ("kennwort", r"kennwort"),  # German
    ("passord", r"passord(?:et)?"),  # Norwegian
    ("senord", r"l[öo]senord(?:et)?"),  # Swedish
    ("adgangskode", r"adgangskoden?"),  # Danish
    ("salasana", r"salasana"),  # Finnish
    ("hasło", r"hasło(?<![a-z]hasło)"),  # Polish
    ("haslo", r"haslo(?<![a-z]haslo)"),
    ("heslo", r"heslo(?<![a-z]heslo)"),  # Czech, Slovak
    ("jelsz", r"jelsz[óo]"),  # Hungarian
    ("ifre", r"[şs]ifre(?<![a-z].ifre)"),  # Turkish
    ("kata sandi", r"kata sandi"),  # Indonesian
    ("khẩu", r"mật khẩu"),  # Vietnamese
    ("парол", r"парол[ьяюе]м?"),  # Russian, Ukrainian, Bulgarian
    ("κωδικ", r"κωδικό\w?"),  # Greek
    ("パスワード", r"パスワード"),  # Japanese
    ("密", r"密[码碼]"),  # Chinese
    ("비밀번호", r"비밀번호"),  # Korean
    ("كلمة", r"كلمة (?:المرور|السر)"),  # Arabic
    ("סיסמ", r"סיסמ[הא]"),  # Hebrew
    ("पासवर्ड", r"पासवर्ड"),  # Hindi
)
# What is left of them when all but the letters of ASCII is taken out of a text; `mot de passe` and others hold `pass`
# anyway.
ASCII_WORDS: Final = (
    *(b"contrase", b"contrasena", b"clave", b"senha", b"parola", b"parol", b"parole", b"wachtwoord", b"kennwort"),
    *(b"senord", b"senordet", b"losenord", b"adgangskode", b"adgangskoden", b"salasana", b"haslo", b"heslo"),
    *(b"jelsz", b"jelszo", b"sifre", b"sandi"),
)
OTHER_STEMS: Final = ("şifre", *(stem for stem, _ in PASSWORD_WORDS if not stem.isascii()))

# What may stand between the word and its value, in a sentence: `the password for the wifi is`, `la clave del wifi es`.
ITS_OWNER: Final = (
    r" (?:for|of|on|to|du|de|del|do|da|von|vom|für|van|voor|för|til|para|pour|per|di|для|от) [^:=\n]{1,40}?"
)
_IS: Final = r"is|was|est|es|è|é|ist|lautet|war|är|er|jest|je|este|era|adalah|là|είναι"
_BECAME: Final = (
    r"(?:(?:is|was|were|has been|got)[ \t]+)?(?:set|changed|reset|updated|rotated)[ \t]+to|(?:should|must|will)[ \t]+be"
)
SAID: Final = (
    rf"[ \t]+(?:{_BECAME}|{_IS}|(?<=salasana )on)(?=[ \t:])(?:[ \t]+(?:now|still|again))?[ \t]*:?"
    r"|[ \t]+to(?=[ \t]+[`\"'])|[ \t]?(?:\uff1a|は|是|为|為|은|는)"
)
