"""Words with which a sentence says what is to stay: `everything but Bob`, `don't forget`, `alles außer Bob`.

Whoever searches for the words of such a sentence finds exactly what it wants to keep. Refusing one sentence too many
costs its speaker a second one, so in doubt a word counts. Denials are those of `negation.py`, in some thirty languages.
Exceptions and orders to keep are here, in English, German, French, Spanish, Italian, Portuguese, Dutch, Russian,
Chinese, Japanese and Korean. Pure.
"""

from __future__ import annotations

from typing import Final

from perdure.text.negation import NEGATIONS
from perdure.text.patterns import pattern
from perdure.text.phrases import fold

# Denials that are none in an order: words of a statement (`the failed deployment`), words that mean something else in
# another of these languages (`en`, `et`, `mai`), and `no`, which has its own line below.
_NO_DENIALS_HERE: Final = frozenset(
    """
    barely denied denies deny denying fail failed failing fails hardly lack lacked lacking lacks no refuse refused
    refuses refusing scarcely
    ei eivät emme en et ette mai nic nu personne tak
    """.split()
)
# All patterns are for folded text: lower case, without accents, one space between words.
_VERBS: Final = "ai are ca could did do does had has have is might must need sha should was were wo would"
_REMOVING: Final = "(?:forgett|delet|eras|remov|dropp|wip|purg|clear|discard)ing"
# Search drops these, also as part of a word: `no-code` would find `code`.
_DROPPED_BY_SEARCH: Final = (
    rf"(?:{_VERBS.replace(' ', '|')})n\s?['`\u2032\u201b]?\s?t",
    "not",
    r"no(?!\.?\s*#?[0-9])",
    "but",
)
_ENGLISH: Final = (
    "noone", "unless", "lest", "in case (?:he|i|it|she|they|we|you)",
    "except(?:ing|ed)?", "(?:the|an|one|only) exceptions? (?:for|is|of|to)", "exclud(?:e|es|ed|ing)", "exclusive of",
    "other than", "rather than", "instead of", "(?:apart|aside|different) from", "save for", "besides", "barring",
    "outside of", "minus", "omit(?:s|ted|ting)?", "exempting", "sparing",
    r"(?:all|any\w*|every\w*) (?:bar|beyond|else|less|save)", "(?:all|any) (?:the )?others?", "the (?:others|rest)",
    "opposite of", "unrelated", "unconnected", "irrelevant", "unlike",
    "keep(?:ing)?", "be kept", "retain(?:ing)?", "preserv(?:e|ing)", "(?:hang|hold) on to",
    "leav(?:e|ing) (?:.{1,80} )?(?:alone|as is|as it is|as they are|be|in place|intact|out|there|untouched)",
    "(?:must|shall|should|let .{1,80}) (?:remain|stay)",
    # `what you remember about Bob` is all there is; without anybody who remembers it is an order.
    r"(?<!you )(?<!we )(?<!i )(?<!they )remember(?:ing)?", "(?:can|could|will|would|must|should) (?:you|we) remember",
    rf"(?:avoid|cease|quit|refrain|stop)\b.{{1,40}}\b{_REMOVING}",
    # Somebody may tell or ask of forgetting: `did I forget the tea?`
    r"(?:i|we|he|she|they)(?: \w+)? forg[eo]t", r"(?:did|do|does|had|has|have|why|when) you(?: \w+)? forg[eo]t(?:ten)?",
)  # fmt: skip
# Where an order begins; elsewhere they are what a memory is about: `the spare key`, `parental leave`.
_ORDERS_TO_KEEP: Final = (
    r"(?:^|[.,;:!?] ?|\b(?:and|then|please) )(?:exempt|ignore|leave|protect|remind|save|skip|spare)\b"
)
_GERMAN: Final = (
    "ausser(?:halb)?", "ausgenommen", "ausgeschlossen", "mit ausnahme", "bis auf", "abgesehen von", "es sei denn",
    "sondern", "statt", "anstatt", "anstelle", "alle?s? (?:sonst|anderen?|ubrigen?)", "nirgends", "behalte[nt]?",
    "(?:auf)?bewahren?", "merke? dir", "denke? (?:daran|dran)", "erinner[en]? (?:dich|mich|uns)", "heb .{1,80} auf",
    "lass[et]? .{1,80} (?:da|drin|in ruhe|stehen|ubrig)",
)  # fmt: skip
_FRENCH: Final = (
    # Without its accent `à part` is English.
    "sauf", "exceptee?s?", "hormis", "hors", "à part", "mis a part", r"tou\w+ (?:\w+ ){0,3}a part", "l'exception",
    "en dehors", "a moins", "plutot que", "au lieu", "autres? que", "tou[ts] les? (?:autres|reste)", "nul(?:le)?",
    "gard(?:e|er|ez|ons)", "conserv(?:e|er|ez)", "laiss(?:e|er|ez)", "rappelle[zr]?", "souviens", "souvenez", "retiens",
)  # fmt: skip
_SPANISH_ITALIAN_PORTUGUESE: Final = (
    "excepto", "exceto", "salvo", "menos", "meno", "tranne", "eccetto", "fuorche", r"exclu[iy]\w*", r"esclu[sd]\w+",
    "(?:a|la|com|con|ad) (?:excepcion|excecao|eccezione)", "aparte de", "a parte", "fuera de", "tudo fora", "infuori",
    "quitando", "tirando", "alem d[aeo]s?", "e[mn] (?:lugar|vez) d[aeo]", "invece di", "anziche", "sino", "senao", "ni",
    "a no ser", "l[ao]s? demas", "[ao]s? demais", "(?:el|o|il) resto", "nessun",
    "mai (?:cancell|dimentic|elimin|rimuov)are",
    "conserva(?:r|re)?", "mant(?:en|ener|enga|em|enha|er|ieni|enere)", "guard(?:a|ar|e)", "tieni", "tenere",
    "recuerd(?:a|ar|e)", "acuerdate", "ricord(?:a|are|ati)", "lembr(?:a|ar|e)", "dej[ae](?! vu)", "deix(?:a|ar|e)",
    "lascia(?:re)?",
)  # fmt: skip
_DUTCH_AND_RUSSIAN: Final = (
    "behalve", "uitgezonderd", "uitgesloten", "met uitzondering", "alles (?:buiten|op .{1,80} na)", "tenzij",
    "in plaats van", "afgezien van", "al het andere", "de rest", "bewa(?:ar|ren)", "behoud(?:en)?", "houd?(?! van)",
    "onthoud(?:en)?", "laat .{1,80} (?:met rust|staan|zitten)", "nergens",
    "кроме", "помимо", "исключая", "исключением", "оставь(?:те)?", "сохрани(?:те)?", "запомни(?:те)?",
)  # fmt: skip
# Of languages that put no space between words, or endings behind them: anywhere in a text.
_CHINESE: Final = (
    "[不没沒勿]", "除.{1,20}外", "除[了非去外開开]", "[以之]外", "[别別][忘删刪动動清抹丢把]", "莫忘", "无关", "無關",
    "[而并並]非", "保留",
    "留[下着著住]", "[记記][住得]", "牢[记記]", "但[是要]", "其[他它余餘]",
)  # fmt: skip
_JAPANESE: Final = (
    "な(?:い|く|かっ|けれ)", "ません", "ずに", "除[いきく]", "のぞ[いきく]", "以外", "の他", "のほか", "残[しすせり]",
    "[覚憶]え[てと]", "おぼえて", "保持",
    "[るすくむう]な(?:よ|$|[。!、 ])", "ただし",
)  # fmt: skip
_KOREAN: Final = (
    "말고", "제외", "빼고", "이외", "외[에의]", "않", "없", "아[닌니]", "지 ?마", "말아", "남[겨기]", "기억", "보존",
    "나머지",
)  # fmt: skip

_DENIALS: Final = sorted({fold(word) for word in NEGATIONS - _NO_DENIALS_HERE})
_WORDS: Final = (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH_ITALIAN_PORTUGUESE, *_DUTCH_AND_RUSSIAN, *_DENIALS)
_EXCLUSION: Final = pattern(
    rf"\b(?:{'|'.join(_DROPPED_BY_SEARCH)})\b|(?<![\w-])(?:{'|'.join(_WORDS)})(?![\w-])"
    rf"|{'|'.join((_ORDERS_TO_KEEP, *_CHINESE, *_JAPANESE, *_KOREAN))}"
)


def exclusion_in(sentence: str) -> str | None:
    """The first words that say that something is to stay, in lower case; None where there are none."""
    for text in (fold(sentence), " ".join(sentence.casefold().split())):
        if found := _EXCLUSION.search(text):
            return found[0].strip(" .,;:!?")
    return None
