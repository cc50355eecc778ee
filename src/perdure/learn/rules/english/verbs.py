"""Forms of English verbs, as far as a first person has to become a third one: `I have` and `she has`."""

from __future__ import annotations

from functools import lru_cache
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
    took tore undid underwent understood upset used was wasn't went wept withdrew woke won wore wound wrote
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
    accept ache act add adjust admire admit adopt adore afford agree aim allow annoy answer apply appreciate argue
    arrange arrive ask assist attend avoid bake bark bathe be beat become begin believe belong bend bet bid bike
    bill bite blame bleed block blog blow boil book borrow bother break breathe breed brew bring brush build burn
    bury buy call camp cancel care carry catch cater cause celebrate challenge change chase chat cheat check chew
    choose chop claim clean clear climb close coach code collapse collect combine come comfort commit commute
    compare compete complain complete compose configure confirm confuse connect consider consult contact contain
    continue contribute convert cook coordinate copy correct cost cough count cover craft crash crave create
    crochet cross cry cure cut cycle damage dance date deal debug decide declare decline decorate define delay
    delete deliver demand deny depend deploy describe deserve design destroy detest develop die differ direct
    disagree disappear discover dislike dive divorce do donate double doubt draft draw dream dress drink drive drop
    dump earn eat edit email employ empty enable encourage end enjoy enrol enroll enter escape exchange exercise
    exist expand expect experience explore export express extend face fade fail fall fear feature feed feel fetch
    fight figure file fill film find finish fire fish fit fix flood flow fly focus fold follow force forget forgive
    form foster freelance freeze gain garden gather generate get give go grab grade graduate grant grill grind grow
    guard guess guide hand handle hang happen harvest hate have head hear heat help hide hike hire hit hold hope
    host hug hunt hurt ignore imagine import improve include increase inherit injure insist inspire install insure
    intend intern invent invest invite involve iron jog join journal judge juggle jump keep kick kill kiss knit
    know lack land laugh launch lay lead leak learn leave lecture lend let lie lift light like limit link list
    listen live load loathe lock log long look lose love mail maintain make manage mark marry match matter mean
    measure meditate meet melt mend mention mentor merge migrate mind miss mix monitor mount mourn move mow nap
    need note notice number nurse observe occur offer open operate order organize outsource oversee owe own pack
    paint park participate pass patch pause pay peel perform permit phone photograph pick plan plant play point
    polish post pour practice practise pray prefer prepare present press print prioritize process produce promise
    promote protect prove provide publish pull punish push put qualify query question queue quit quote race rain
    raise rate reach react read realize rearrange rebuild recall receive recommend record recover recycle redesign
    redo reduce refer reflect refurbish refuse register regret rehearse reject relax relocate rely remain remarry
    remember remind remove rename renovate rent repair repeat replace reply report represent require reschedule
    rescue research reserve resign resolve respect rest restart restore retire retrain return reveal revert review
    revise rewrite ride ring rise risk roast rock roll rotate row ruin rule run rush sail save say scale scan
    schedule score scrap search see seek seem select sell send separate serve set settle sew shake shape share
    shave shift shine ship shoot shop shout show shut sign sing sink sit skate sketch ski skip sleep smash smell
    smile smoke snore snow snowboard solder solve sort sound speak specialise specialize spell spend spill split
    spoil sponsor spray spread squeeze stain stand start stay steal steer step stick stir stitch stop store stream
    stretch strike strip strive struggle study stutter subscribe suffer suggest suit supervise supply support
    suppose surf surprise survive swap swear sweep swim swing switch take talk taste teach tear tease telephone
    tell tempt tend test text thank think throw tidy tie time toast tolerate touch tour tow track trade train
    transfer translate transport travel treasure treat trim trip trust try turn tutor twist type understand unpack
    update upgrade use vacuum value vape vary visit volunteer vote wait wake walk wander want warm warn wash waste
    watch water wear weave weigh welcome win wipe wish withdraw wonder work worry wrap write yearn yell zip
    """.split()
)
# Between a subject and its verb.
ADVERBS: Final = frozenset(
    """
    actually all almost already also always basically both certainly clearly completely constantly currently daily
    deeply definitely easily even eventually ever finally first fully generally genuinely gladly gradually greatly
    hardly honestly immediately initially just kind kinda last lately literally long longer luckily mainly mostly much
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
_PREFIXES: Final = ("re", "over", "out", "mis")
_PREFIXED: Final = frozenset(
    "built did drew grew heard made paid ran read slept sold set taught thought took told wrote".split()
)
_NOT_PAST: Final = frozenset("bleed breed embed exceed feed heed need proceed speed succeed weed".split())


@lru_cache(4096)
def is_past(verb: str) -> bool:
    """Also of `rewrote` and `overslept`."""
    if verb in PAST or (verb.endswith("ed") and verb not in _NOT_PAST):
        return True
    prefix = verb.startswith(_PREFIXES) and next(one for one in _PREFIXES if verb.startswith(one))
    return bool(prefix) and verb[len(prefix) :] in _PREFIXED


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
