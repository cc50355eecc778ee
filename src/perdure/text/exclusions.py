"""Words with which a sentence says what is to stay: `everything but Bob`, `don't forget`, `alles außer Bob`; and those
with which it only asks, wishes or tells: `what do you know about Bob?`, `I need the notes about Bob`.

Whoever searches for the words of such a sentence finds exactly what it wants to keep. Refusing one sentence too many
costs its speaker a second one, so in doubt a word counts. Denials are those of `negation.py`, in some thirty languages.
Exceptions are here in as many, and orders to keep in English, German, French, Spanish, Italian, Portuguese, Dutch,
Russian, Chinese, Japanese and Korean. A question or a wish is looked for in English: of other languages search drops no
word, so that a memory has to hold all of them. Pure.
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
_REMOVE: Final = "(?:forget|delete|remove|erase|drop|wipe|purge|clear|discard)"
_REMOVING: Final = "(?:forgett|delet|eras|remov|dropp|wip|purg|clear|discard)ing"
_ALL: Final = r"(?:all|any\w*|every\w*|whatever)"
# Search drops these, also as part of a word: `no-code` would find `code`.
_DROPPED_BY_SEARCH: Final = (
    rf"(?:{_VERBS.replace(' ', '|')})\s?n\s?[\"'`\u2032\u201b]?\s?t",
    "not",
    r"no(?!\.?\s*#?[0-9])",
    "but",
)
# Signs that say no in searches, in code and in logic. The `-v` of a command is none of them, nor is its `--force`.
_SIGNS: Final = (
    r"(?:^|(?<=\s))(?:!=|<>|/=|≠|!|¬)\s?(?=\w)",
    r"(?:^|(?<=\s))[-\u2212](?=[^\W\d_]{2})",
    rf"\b{_ALL} [-\u2010-\u2015\u2212] ",
)
_ENGLISH: Final = (
    "noone", "unless", "lest", "in case (?:he|i|it|she|they|we|you)",
    "except(?:ing|ed)?", "(?:the|an|one|only) exceptions? (?:for|is|of|to)", "exclud(?:e|es|ed|ing)", "exclusive of",
    "other than", "rather than", "instead of", "(?:apart|aside|different) from", "save for", "besides", "barring",
    "outside of", "minus", "omit(?:s|ted|ting)?", "exempting", "sparing", "exept", "'cept", "w/o(?:ut)?",
    rf"{_ALL} (?:bar|beside|beyond|else|less|outside|save)", "(?:all|any) (?:the )?others?", "the (?:others|rest)",
    rf"{_ALL} (?:(?:that|which) )?(?:free of|lack(?:s|ing)?|missing)", rf"{_ALL} non[- ].*",
    "(?:memories|notes|ones|those) (?:bar|lacking|missing|outside)",
    "where .{1,80} (?:is|are) (?:absent|lacking|missing)",
    "opposite of", "unrelated", "unconnected", "irrelevant", "unlike", "(?:apart|aside|exempted|notwithstanding)$",
    "keep(?:ing)?", "be kept", "retain(?:ing)?", "preserv(?:e|ing)", "(?:hang|hold) on ?to", "hands off",
    "bear (?:.{1,80} )?in mind", "be (?:known|noted|recorded|remembered|saved|stored)",
    "(?:i|we) (?:like|love|need|want) (?:h[ei][rm]|it|th[eo]se|them)",
    "(?:can|has to|have to|is to|may|needs? to) (?:remain|stay)", r"(?:^|[,.;:!] |only )\w+ (?:is left|remains|stays)$",
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
    r"(?:^|[.,;:!?] ?|\b(?:and|then|please) )(?:(?:exempt|ignore|leave|protect|remind|save|skip|spare)\b"
    r"|(?:know|note|record) that\b)"
)
# Where a sentence begins: `what you know about Bob` is all there is, `what do you know about Bob` only asks.
_BEGINNING: Final = r"^(?:\W|(?:and|hey|hi|ok|okay|please|so|well)\b)*"
_POLITE: Final = pattern(
    rf"{_BEGINNING}(?:kindly\W+)?(?:(?:can|could|would) you|will you (?:kindly|please)|get rid|{_REMOVE})\b"
)
_SOMEBODY: Final = r"(?:i|we|he|she|it|they|there|this|that|any\w*|some\w*)"
_BE_OR_DO: Final = "(?:am|are|did|do|does|had|has|have|is|may|might|must|shall|should|was|were)"
_ASKING: Final = r"(?:how|what|when|where|which|whom?|whose|why)(?:'s)? (?:(?!(?:i|we|you|he|she|it|they)\b)\w+ )?"
# `I want you to forget Bob` is an order all the same.
_WISH: Final = (
    "(?:i|we|you|they)(?:'d|'ll| also| do| really| still| would)* (?:know|like|love|need|remember|want)"
    rf"(?! (?:(?:you|us) )?to (?:(?:kindly|now|please) )?(?:get rid|{_REMOVE}))"
)
_ASKS_OR_TELLS: Final = (
    rf"(?:{_ASKING})?(?:{_BE_OR_DO}|can|could|will|would) {_SOMEBODY}",
    # It asks what will be, other than `could you` does.
    "will you(?! (?:kindly|please))",
    rf"(?:{_ASKING}(?:can|could|will|would)|(?:{_ASKING})?{_BE_OR_DO}) you",
    "(?:how|where|who|why) (?:are|could|did|do|does|is|was|were|would)", "who (?:said|told|wrote)",
    rf"(?:how|what|when|where|whether|who|why) (?:to )?{_REMOVE}", "(?:if|whether) (?:i|we|you)",
    r"(?:(?:can|could|will|would) you )?tell (?:me|us)",
    _WISH,
    rf"(?:i|we|you|he|she|they) did {_REMOVE}", f"{_REMOVE} to", r"forget (?:about )?it\b(?=[^\w\s])",
    rf"{_REMOVE} .{{0,80}}\b(?:asked|ordered|said|told|wanted)\b.{{0,40}} (?:must|should|to) {_REMOVE}",
)  # fmt: skip
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

# Exceptions in other languages of `negation.py`.
_ELSEWHERE: Final = """
    utom förutom undtagen unntatt bortset bortsett paitsi lukuunottamatta oprócz prócz poza wyjątkiem kromě okrem mimo
    крім окрім освен осим osim kivéve kecuali selain hariç d\u0131ş\u0131nda excepte menys εκτός πλην excepția afară
    חוץ מלבד למעט عدا إلا باستثناء سوى छोड़कर अलावा सिवा trừ ngoài
""".split()
_UNSPACED_ELSEWHERE: Final = ("ยกเว้น", "นอกจาก", "อย่า")
_FOLDED: Final = sorted({fold(word) for word in (*_ELSEWHERE, *(NEGATIONS - _NO_DENIALS_HERE))})
_WORDS: Final = (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH_ITALIAN_PORTUGUESE, *_DUTCH_AND_RUSSIAN, *_FOLDED)
_EXCLUSION: Final = pattern(
    rf"\b(?:{'|'.join(_DROPPED_BY_SEARCH)})\b|(?<![\w-])(?:{'|'.join(_WORDS)})(?![\w-])"
    rf"|{'|'.join((*_SIGNS, _ORDERS_TO_KEEP, *_CHINESE, *_JAPANESE, *_KOREAN, *_UNSPACED_ELSEWHERE))}"
)
_NO_ORDER: Final = pattern(rf"{_BEGINNING}((?:{'|'.join(_ASKS_OR_TELLS)})\b)")
_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f", "\u037e")


def exclusion_in(sentence: str) -> str | None:
    """The first words that say that something is to stay, in lower case; None where there are none."""
    # An underscore joins words, and does not hide one: `everything _not_ Bob`.
    for text in (fold(sentence), " ".join(sentence.casefold().split())):
        if found := _EXCLUSION.search(text.replace("_", " ")):
            return found[0].strip(" .,;:")
    return None


def question_in(sentence: str) -> str | None:
    """What shows that a sentence asks, wishes or tells, and orders nothing; None where nothing does."""
    text = fold(sentence)
    if found := _NO_ORDER.search(text):
        return found[1]
    asks = text.rstrip(" !.\"'").endswith(_QUESTION_MARKS)
    return text[-1] if asks and not _POLITE.search(text) else None
