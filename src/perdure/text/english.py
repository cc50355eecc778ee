"""Whether a text is in English: what is known here about opposites and ways to deny holds for no other language."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from perdure.text.opposites import in_table

_COMMON: Final = frozenset(
    """
    able about above accept accident account across act action add address adult advice afraid after afternoon
    again against age ago agree air airport all almost alone along already also although always among amount and
    angry another answer any anyone anything apartment appear apple are area army around arrive art ask asked
    asset assets attack attention author autumn away baby back bad bag bans base beach bear beat beautiful
    because become bed been before began begin behind being believe below beside best better between big bill
    bird birth birthday black blast block blood blue board boat body bomb book born borrow boss both bottle
    bottom box boy boys brain branch bread break breakfast bridge bright bring broke broken brother brought
    brown budget bug build building burn business busy but buy cache call called came campaign can cancel cannot
    captures car card care carry case cat catch cause celebrates center centre century certain chair chance
    change charge charged charges cheap check cheese chicken chief child children choice choose church city
    claim claims class clean clear climb clock close closed clothes cloud coach coast coat code coffee cold
    collapse collect college colour command commit common company complete concert condition config confirm
    consider contain continue contract control conversation cook cool copy corner correct cost cotton could
    count country couple course court cover crash create crime cross crowd cry cup current customer customers
    cut daily damage dance danger dark database date daughter dead deal death deep default defence defense
    degree delay demand depend deploy describe desert design desk detail details develop device dictionary did
    dies difference different difficult dinner direct discover discuss disease distance district does dog dollar
    done door doubt down draw dream dress drink drive driver drop dry due during each early earn earth east easy
    eat economy edge education effect effort eight either election email employee empty end enemy energy engine
    engineer enjoy enough enter entire equal error escape especially even evening event ever every everyone
    everything evidence example except exercise expect expensive experience expert explain explosion express
    extra eye eyes face fact fail fair family famous far farm father favorite favourite fear feature federal
    feel felt female few field fight figure file fill finally find finger finish fire first fit five fix flat
    flight flights floor flower fly follow food foot football for force forces foreign forest forget form former
    forward found four free fresh friend friends from front fruit full fun function funds future gain gallery
    game garden gate gave general get gets gift girl girls give given glass goal goes going golden good got
    government grass great green ground group grow guard guess guest guide gun guy had hair half handle hang
    happen happened happy hard has hate have having head health heard heart heat heavy held help her here hide
    high hill his history hit hold hole holiday home hope horse hot hour hours house how huge human hundred hurt
    husband ice imagine important improve include increase indeed individual industry inform information injured
    inside install insurance interest interesting into island issue item its jail join journey judge jump just
    keep key kick kill killed killing kills king kitchen knew knife knock know lack lady lake language large
    last late later laugh launch law lawyer lay lead leader leaders leak learn leather leave left less lesson
    let letter level lie life lift light like likes limit line list listen little live lives load local lock log
    long look looking loss lost lot loud love low lucky lunch made magazine mail major make makes making male
    manager many map march mark market marriage married master match material matter may maybe meal mean measure
    meat media medical meet meeting member members memory men mention metal method middle might mile miles
    military milk million mind minister minor minute minutes miss missing mistake mix model modern modified
    moment money month months moon more morning most mother mountain mouse mouth move movement movie much music
    must narrow nation national near necessary neck need never new news next night nine nobody noise north nose
    nothing notice now nuclear number object ocean off offer office officer official officials often oil old
    older once one onion only open opinion opposite option orange order ordinary organize other our out outside
    over own owner pack paid paint painting pair paper parent parents part particular partner party pass past
    path pattern pay peace pen pencil people percent perfect perhaps period phone photo pick picture piece pilot
    pink plane plans plant plastic play player players playing please pleasure pocket poem point police policy
    political pool poor population position possible post pot potato power practice prefer prefers prepare
    present president press pretty price prime prison private prize probably produce product program project
    promise proper protect protest prove provide public publish pull purple purpose push put quality quarter
    queen question quick quickly quiet quite race railway rain raise ran rate reach read reading ready really
    reason rebels receive recent record red reduce refuse region relationship release remain remember remove
    rent repair repeat replace reply report reports request research resign resigns response rest result return
    returns reveal rich ride right rise risk river road rock roof room rope round row rule rules run running
    safe said salad sale salt same save saw say saying says scene school science score screen sea search seat
    second secret secretary security seem seen sell send sense sentence separate serious serve server service
    set setting settings settle seven several shall shape share sharp she sheet ship shirt shoe shoes shooting
    shop short shot should shoulder shout show shows shut sick side sign signal silver since single sir sister
    sit site situation six size skin sky sleep slice slow small smart smell smile smoke smooth snow society soft
    soil soldier soldiers solution solve some something sometimes song soon soup source south space speak
    special speech speed spend spoke spoon spring square stage stairs stamp stand standing star start state
    statement states station stay steal step stick stock stone stop store storm story straight strange stream
    street strength stress strike string strong structure struggle student study stupid style subject success
    such sudden suddenly sugar suggest suit summer sun supply support suppose sure surface surprise suspect
    sweet swim tail take taken takes talk talks tall task taste tax tea teach teacher technology tell
    temperature ten term terrible test tests than thank that the their them then there these they thick thin
    thing things think third thirty this those though thought threat three through throw ticket tie till time
    tiny tired title today toe together told tomato tomorrow tongue too took tool tooth top touch tour toward
    towards town toy trade traffic translate travel tree trial tried trip troops trouble truck true trust truth
    try turn two type ugly uncle under understand uniform union university unless until update upon upset use
    used user uses using usual usually vacation valley value variety various vegetable vehicle version very
    victims view violence visit visitor voice vote wait wake walk wall want wanted wants warn warns wash waste
    watch water way weak wear wearing weather wedding week weeks weight welcome well went were west wet what
    wheel when where whether which while white who whole why wide wife will win window wine wing wins winter
    wise wish with without woman women wonder wood wooden word work worked worker workers working works world
    worry worse worst worth would wound write wrong wrote yard year years yellow yes yesterday yet you young
    your zoo
    """.split()
)
# English words that other languages have as well.
_SHARED: Final = frozenset(
    """
    a am an arm as at ball be by come computer die do fast go gold hand hat he i if in is it job kind land main man me
    my name no not of on or plan problem ring sand see so son still system team to train up us war warm was we wild wind
    """.split()
)
# Small words of languages that are written with the letters a to z, none of them English.
_FOREIGN: Final = frozenset(
    """
    das dem der des ein eine einen er haben ich ihr im ist mit nicht sein sie und vom von wird wir zu zum
    au avec ce dans du elle est et je la le les nous pour que qui sur une un vous
    al del el en es las lo los muy pero por se su y
    anche che della di gli il nel sono
    ao da e em na o os um uma
    aan de een het hij ik je niet op voor wij zij zijn
    ar att av det er inte jeg med och og pa som til
    ei etta ja minun olen se
    akan dan dari dengan di ini itu kami ke saya untuk yang
    ako ang kwa mga na ng ni sa si wa za
    aur hai ka ke ki ko mein nahi
    ben bir bu cok icin var ve
    jest nie sa w z ze
    """.split()
)
_ENDINGS: Final = ("ing", "ed", "ly", "ness", "ight", "ough")
_SOME: Final = 0.2
_ENOUGH: Final = 0.12


def is_common(word: str) -> bool:
    return word in _COMMON or (word in _SHARED and len(word) > 1)


class Evidence(Enum):
    """What the words of two texts show about their language."""

    ENGLISH = "English"
    NONE = "none"
    FOREIGN = "another language"


def evidence_of_english(*texts: Sequence[str]) -> Evidence:
    """`texts` are words in lower case. What one text does not show the other may."""
    shares = [english_share(words) for words in texts]
    if min(shares) < 0:
        return Evidence.FOREIGN
    return Evidence.ENGLISH if sum(shares) >= _ENOUGH * len(shares) else Evidence.NONE


def english_share(words: Sequence[str]) -> float:
    share = 0.0
    for word in words:
        if word in _FOREIGN or not word.isascii():
            share -= 1
        elif word in _COMMON or (in_table(word) and word not in _SHARED):
            share += 1
        elif word in _SHARED or word.endswith(_ENDINGS):
            share += _SOME
    return share / (len(words) or 1)
