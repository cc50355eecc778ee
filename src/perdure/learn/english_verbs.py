"""Forms of English verbs, as far as a first person has to become a third one: `I have` and `she has`."""

from __future__ import annotations

from typing import Final

MODALS: Final = frozenset(
    """
    can can't cannot could couldn't may might mightn't must mustn't shall should shouldn't will won't would
    wouldn't
    """.split()
)
# Irregular ones. Those that may be either, as `put`, are the same for every person then.
PAST: Final = frozenset(
    """
    ate awoke beat became began bent bet bit bled blew bought bound bred broke brought built burnt burst came cast
    caught chose clung cost crept cut dealt did didn't dove drank drew drove dug fed fell felt flew forgave forgot
    fought found froze gave got grew ground had hadn't heard held hid hit hung hurt kept knelt knew knit laid lay
    leapt learnt led left lent let lit lost made meant met overcame paid put quit ran rang read redid rode rose
    said sang sank sat saw sent set shone shook shot showed shut slept slid smelt snuck sold sought spent split
    spoke sprang spread spun stole stood struck stuck stung sung swam swept swore swung taught thought threw told
    took tore understood upset used was wasn't went wept withdrew woke won wore wound wrote
    """.split()
)
PARTICIPLES: Final = frozenset(
    """
    become been begun bitten blown broken chosen come done drawn driven drunk eaten fallen flown forgotten given
    gone gotten grown hidden known ridden risen run seen shown spoken stolen sung sworn swum taken thrown torn
    woken worn written
    """.split()
)
# Verbs that people use of themselves, in their first form: what stands behind `and` is conjugated only if it is one.
BASE: Final = frozenset(
    """
    accept ache act add adjust admire admit adopt adore agree aim allow answer apply appreciate argue arrange
    arrive ask assist attend avoid bake be become begin believe belong bike blog borrow break bring build buy call
    camp care carry catch celebrate challenge change chat check choose clean climb close coach code collect come
    commit commute compete complete compose configure consider consult contain contribute cook coordinate count
    craft create crochet cry cut cycle dance deal debug decide decorate deliver depend deploy describe design
    develop die direct discover dislike dive divorce do donate draw dream dress drink drive earn eat edit encourage
    end enjoy escape exercise expect experience explore express face fail fall fear feature feed feel fight film
    find finish fish fix fly focus follow forget foster freelance gain garden get give go graduate grow handle hang
    happen hate have head hear help hike hire hold hope host hug hunt imagine improve inspire install intend intern
    invest invite jog join journal judge jump keep knit know lack laugh launch lead learn leave lend let lie lift
    like listen live long look lose love maintain make manage marry meditate meet mentor merge migrate mind miss
    mix monitor move need notice observe offer open order organize oversee own paint participate pass pay perform
    photograph pick plan plant play practice practise pray prefer prepare present prioritize produce promise
    promote protect provide publish push put quit race raise reach read realize receive recommend record reflect
    refuse regret rehearse relax rely remember remind rent repair report rescue research respect rest retire return
    review rewrite ride rock run sail save say see seek seem sell send serve set sew share ship shop show sing sit
    skate ski sleep smell smile smoke snowboard solve sound speak spend sponsor stand start stay stick stop store
    stream stretch strive struggle study suffer suggest supervise supply support suppose surf swim switch take talk
    teach tell tend test text thank think track train translate travel treasure treat trust try turn tutor
    understand update upgrade use value vary visit volunteer vote wait wake walk want warn wash watch wear weigh
    welcome win wish wonder work worry write yearn
    """.split()
)
# Between a subject and its verb.
ADVERBS: Final = frozenset(
    """
    actually all almost already also always basically both certainly clearly completely constantly currently daily
    deeply definitely easily even eventually ever finally first fully generally genuinely gladly gradually greatly
    hardly honestly immediately initially just kind kinda lately literally long longer luckily mainly mostly much
    naturally nearly never no normally not now obviously occasionally often once only originally otherwise
    particularly personally pretty previously primarily probably quickly quite rarely rather really recently
    regularly seldom seriously simply since slowly so somehow sometimes soon sort sorta still strongly suddenly
    super surely thankfully then therefore too totally truly typically usually very weekly well
    """.split()
)
# Participles of how somebody feels: `excited about it` leaves out `I am`.
FEELINGS: Final = frozenset(
    """
    amazed annoyed blessed bored convinced determined disappointed excited exhausted fascinated frustrated honored
    honoured hooked impressed inspired interested motivated obsessed overwhelmed pumped relaxed relieved shocked
    stoked stressed surprised thrilled tired touched worried
    """.split()
)
_SIBILANT: Final = ("s", "sh", "ch", "x", "z", "o")
_IRREGULAR: Final = {
    "am": "is", "are": "is", "be": "is", "were": "was", "aren't": "isn't", "weren't": "wasn't", "have": "has",
    "haven't": "hasn't", "do": "does", "don't": "doesn't", "go": "goes", "ain't": "isn't", "gotta": "has to",
    "wanna": "wants to", "gonna": "is going to", "dont": "doesn't", "havent": "hasn't",
}  # fmt: skip
# They end as a past does, and are none.
_NOT_PAST: Final = frozenset("bleed breed embed exceed feed heed need proceed speed succeed weed".split())


def is_past(verb: str) -> bool:
    return verb in PAST or (verb.endswith("ed") and verb not in _NOT_PAST)


def third_person(verb: str) -> str:
    """What `he` has where `I` or `we` have this; a modal or a past is the same for all."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in MODALS or is_past(verb) or not verb.isalpha():
        return verb
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(_SIBILANT) else "s")


def is_adverb(word: str) -> bool:
    return word in ADVERBS or (word.endswith("ly") and word not in BASE)


def is_finite(verb: str) -> bool:
    """Whether it may be what `I` or `we` do: a word that is no verb keeps `I, Claudius` from becoming a statement."""
    return verb in BASE or verb in _IRREGULAR or verb in MODALS or is_past(verb)
