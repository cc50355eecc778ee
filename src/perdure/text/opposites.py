"""Words that exclude each other, in English: `open` and `closed`, `up` and `down`, `red` and `blue`, `Monday` and
`Tuesday`.

A group ends with a semicolon, its sides are parted by strokes, and words of one side may stand for each other. A word
may be in several groups: `light` is neither dark nor heavy. That two words are not here says nothing: no table is
complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from perdure.text.words import terms

_TIMES: Final = """
    monday mon / tuesday tue / wednesday wed / thursday thu thurs / friday fri / saturday sat / sunday sun;
    january jan / february feb / march mar / april apr / may / june jun / july jul / august aug / september sep sept
        / october oct / november nov / december dec;
    yesterday / today tonight / tomorrow;
    morning / noon midday / afternoon / evening / night midnight;
    day daytime / night nighttime;
    sunrise dawn / sunset dusk;
    spring / summer / autumn fall / winter;
    breakfast / lunch / dinner supper;
    am / pm;
    before earlier / after afterwards later;
    past previous last former formerly / future next upcoming;
    weekday / weekend;
    hourly / daily / weekly / monthly / quarterly / yearly annually;
    ms millisecond / s sec second / min minute / h hr hour / d day / week / month / year / decade / century;
    until till / since;
    temporary temporarily / permanent;
"""
_OPPOSITES: Final = """
    yes / no;
    true correct right / false wrong incorrect untrue;
    on onto / off;
    in into / out;
    inside indoor into / outside outdoor;
    up upward upstairs / down downward downstairs;
    above over atop / below under beneath underneath;
    top / bottom;
    front forward / behind back rear backward;
    near nearby close closer next beside adjacent / far away distant further;
    here / there;
    left / right;
    north northern / south southern / east eastern oriental / west western occidental;
    toward to / from;
    first / second / third / fourth / fifth / last final;
    full fully / part partial partly half;
    beginning start began begun commence / end finish stop quit cease;
    open / close shut;
    continue extend resume / halt suspend lift end;
    enter arrive come came / leave left exit depart go went;
    inner internal / outer external;
    big large huge giant enormous gigantic massive bigger larger biggest largest / small little tiny smaller
        smallest miniature;
    tall taller high higher highest / short shorter low lower lowest;
    long longer longest / short shorter shortest brief;
    wide wider broad / narrow;
    thick / thin;
    fat overweight / thin slim skinny;
    heavy heavier / light lighter lightweight;
    light bright lit sunny / dark dim darkened;
    deep deeper / shallow;
    fast faster fastest quick quickly rapid rapidly / slow slower slowest slowly;
    early earlier earliest / late later latest;
    young younger youngest / old older oldest elderly;
    new newer newest modern / old older oldest ancient;
    hot warm hotter warmer / cold cool cooler colder chilly freezing;
    wet / dry;
    full / empty;
    clean clear / dirty muddy;
    hard / soft;
    hard difficult / easy simple;
    rough / smooth;
    sharp / blunt dull;
    loud loudly noisy / quiet quietly silent;
    strong stronger / weak weaker;
    rich wealthy / poor;
    cheap cheaper inexpensive / expensive dear costly;
    good better best great excellent / bad worse worst terrible awful poor;
    well / badly poorly;
    beautiful pretty / ugly;
    happy happily glad cheerful / sad sadly unhappy;
    calm calmly peacefully / angry angrily excited nervous nervously;
    safe / dangerous unsafe;
    healthy well / sick ill unhealthy;
    alive living / dead died die deceased;
    awake / asleep sleeping slept;
    married / single unmarried / divorced / widowed / engaged;
    public publicly / private;
    free / paid;
    guilty / innocent;
    legal / illegal;
    positive / negative;
    possible / impossible;
    same identical equal / different unequal;
    always constantly / never / sometimes occasionally / often frequently usually / rarely seldom;
    all every everyone everybody everything each / no none nobody nothing / some several somebody someone;
    everywhere / nowhere;
    both / neither;
    many much lots plenty / few little;
    more most / less least fewer fewest;
    maximum max most / minimum min least;
    increase rise rose risen raise grow grew grown climb gain jump surge up higher / decrease fall fell fallen drop
        decline sink sank slide slid lower shrink shrank lose lost down;
    add added append / remove delete subtract drop;
    buy bought purchase acquire / sell sold;
    borrow / lend lent;
    give gave given / take took taken receive;
    send sent / receive get got;
    put wear worn / take took remove;
    push / pull;
    throw threw thrown drop / catch caught;
    catch caught hit / miss;
    win won / lose lost / draw drew;
    pass succeed succeeded success / fail failure;
    love like enjoy adore / hate dislike detest;
    prefer favor favour / avoid;
    accept approve agree sign / reject refuse decline deny disapprove disagree;
    allow permit / forbid forbidden ban prohibit block deny prevent;
    enable activate / disable deactivate;
    include / exclude;
    connect attach / disconnect detach separate;
    join / leave left;
    build built create make made construct assemble / destroy demolish break broke broken;
    fix repair / break broke broken introduce;
    follow chase / lead led precede shun avoid;
    remember / forget forgot forgotten;
    find found / lose lost;
    show shown reveal display / hide hid hidden conceal cover;
    save keep kept / delete waste discard lose lost spend spent;
    lock / unlock;
    load / unload;
    fill / empty drain;
    tie tied tying / untie;
    mix combine join / separate split;
    arrest detain / release free freed;
    attack / defend;
    support favor favour / oppose;
    confirm / deny cancel;
    sit sat seated / stand stood / lie lies lying laying / kneel / squat crouch / walk / run ran jog sprint
        / swim swam / crawl / fly flies flew / drive drove ride rode / rest;
    move / stay still standing;
    run ran running walk drive / stop halt;
    laugh smile / cry cries weep frown;
    speak talk / listen;
    ask / answer;
    question / answer;
    teach taught teacher / learn student pupil;
    cause / prevent;
    import / export;
    upload / download;
    upgrade / downgrade;
    read / write wrote written;
    input / output;
    client / server;
    inbound incoming / outbound outgoing;
    ascending / descending;
    synchronous sync / asynchronous async;
    local / remote;
    online / offline;
    manual / automatic;
    required mandatory obligatory / optional;
    primary main / secondary;
    major / minor;
    vertical / horizontal;
    even / odd;
    plus / minus;
    profit / loss;
    income revenue / expense cost;
    asset / liability;
    war / peace;
    friend ally / enemy;
    victory / defeat;
    advantage / disadvantage;
    employer / employee;
    landlord / tenant;
    lender / borrower;
    buyer / seller;
    host / guest;
    plaintiff / defendant;
    doctor / nurse / patient;
    parent / child;
    uphill / downhill;
    urban city / rural countryside;
    land ground / sea water ocean / air sky;
    for / against;
    with / without;
    i me my mine myself / you your yourself;
    i me my mine myself / he him his himself she her herself they them their themselves;
    you your yourself / he him his himself she her herself they them their themselves;
    man men male boy guy gentleman he him his himself father dad son brother husband uncle nephew grandfather king
        prince / woman women female girl lady she her herself mother mom mum daughter sister wife aunt niece
        grandmother queen princess;
    user / assistant / system;
    < ≤ / > ≥;
    → / ←;
    ↑ / ↓;
    = / ≠;
    $ / € / £ / ¥ / ₹;
    absent / present;
    admit confess / deny;
    ahead / behind;
    amateur / professional;
    attract / repel;
    blame criticize criticise condemn / praise;
    bless / curse;
    bold brave / timid cowardly;
    busy / idle;
    common / rare;
    complex complicated / simple;
    consumer / producer;
    cruel / kind;
    arrival / departure;
    despair / hope;
    divide / multiply unite;
    drunk / sober;
    emigrate / immigrate;
    entrance / exit;
    expand / contract shrink collapse;
    fake false artificial / real genuine natural;
    famous / unknown obscure;
    fiction / fact;
    float / sink sank sunk;
    foolish stupid / wise clever smart;
    foreign / domestic native;
    former / latter;
    fresh / stale rotten;
    freeze froze frozen / melt thaw / boil;
    generous / stingy;
    gradual / sudden;
    heaven / hell;
    hero / villain;
    hollow / solid;
    humble modest / proud arrogant;
    ignore / notice heed;
    inferior / superior;
    interesting / boring;
    introvert / extrovert;
    joy / sorrow grief;
    junior / senior;
    lazy / hardworking diligent;
    liquid / solid / gas;
    loose / tight;
    naked nude / clothed dressed;
    neat tidy / messy;
    obey / defy;
    optimist / pessimist;
    oral spoken / written;
    plural / singular;
    polite / rude;
    promote / demote;
    punish / reward;
    raw / cooked;
    scatter / gather collect;
    serious / funny;
    sour / sweet / bitter / salty / spicy;
    straight / curved crooked curly;
    strict / lenient;
    supply / demand;
    surplus / deficit shortage;
    tame / wild;
    tense / relaxed;
    terrible / wonderful;
    tragedy / comedy;
    transparent / opaque;
    trivial / important;
    truth / lie;
    vacant / occupied;
    vague / clear;
    voluntary / mandatory;
    wealth / poverty;
    worried anxious / calm;
    hire / fire dismiss;
    employed working / unemployed retired;
    own / rent lease;
    rent lease / buy bought;
    grant / revoke;
    encrypt / decrypt;
    encode / decode;
    serialize / deserialize;
    commit / revert;
    merge / split;
    deploy / rollback;
    login / logout;
    increment / decrement;
    mutable / immutable;
    stateful / stateless;
    mount / unmount;
    high / medium / low;
    large big / medium / small;
    left / center centre middle / right;
    once / twice / thrice;
    single / double / triple;
    adult / child / teenager / baby;
    beginner novice / expert;
    carnivore / vegetarian;
    question / statement;
    thesis / antithesis;
    older elder / younger;
    lefthanded / righthanded;
    inhale / exhale;
    appear / vanish disappear;
    tighten / loosen;
    strengthen / weaken;
    widen / narrow;
    lengthen / shorten;
    heat warm / cool chill;
    wake woke / sleep slept;
    plug / unplug;
    dress / undress;
    borrow / return;
    earn / spend spent;
    friendly / hostile;
    acquit / convict;
    mortal / immortal;
    nocturnal / diurnal;
    portable / stationary;
    prior / subsequent;
"""
# Things of one kind: what is one of them is not another.
_KINDS: Final = """
    black / white / red / green / blue / yellow / orange / purple violet / pink / brown tan / gray grey / gold
        golden / silver;
    dog puppy / cat kitten / horse pony / cow / pig / sheep lamb goat / rabbit bunny / mouse rat hamster / lion /
        tiger / cheetah leopard / elephant / panda / bear / monkey ape / kangaroo / fox / wolf / deer reindeer /
        squirrel / camel / zebra / giraffe / rhino / bird / parrot / eagle / owl / duck goose / chicken hen rooster
        / fish shark / dolphin / whale / snake / lizard / turtle / frog / bee / butterfly / spider;
    guitar / piano keyboard / violin / flute / drum / trumpet / saxophone / harp / cello / bass / clarinet /
        accordion / harmonica;
    football soccer / basketball / baseball / tennis / volleyball / golf / hockey / rugby / cricket / badminton /
        chess / karate / boxing / wrestling / surfing / skiing / snowboarding / skateboarding / cycling;
    car / truck lorry / bus / train / tram / subway metro / bicycle bike / motorcycle motorbike / boat ship /
        airplane plane aircraft / helicopter / scooter / tractor / taxi cab;
    coffee / tea / water / milk / juice / beer / wine / whisky whiskey / vodka / soda cola / lemonade;
    potato / tomato / onion / carrot / mushroom / cucumber / pepper / garlic / broccoli / cabbage / lettuce / corn /
        beans / rice / pasta spaghetti noodles / bread / pizza / burger / soup / salad / cheese / butter / egg /
        tofu / apple / banana / pear / cherry / grape / lemon / mango / peanut / walnut;
    beef steak / pork ham bacon / chicken / lamb / fish / shrimp prawn;
    hand / foot feet / head / arm / leg / nose / ear / eye / mouth / knee / shoulder / neck / belly stomach;
    jacket coat / shirt / dress / skirt / pants trousers / shorts / hat cap / shoes / boots / scarf / gloves;
    kitchen / bathroom / bedroom / garage / garden / basement / office / attic;
    table / chair / sofa couch / bed / desk / bench;
    wood wooden / metal steel iron / plastic / glass / paper / stone / leather / cotton / wool;
    iron / steel / copper / aluminium aluminum / gold / silver / bronze;
    mother / father / sister / brother / daughter / son / aunt / uncle / grandmother / grandfather / cousin / wife /
        husband / niece / nephew;
    vegetarian / vegan / omnivore;
    rain rainy / snow snowy / sunny sunshine / cloudy / foggy / windy;
    beach / mountain / forest / desert / lake / river / ocean sea / field / street road / park / city;
    school / university college / hospital / church / restaurant / hotel / museum / library / airport / bank /
        prison;
    engineer / doctor / teacher / lawyer / nurse / driver / pilot / chef / actor / singer / writer / painter /
        farmer / soldier / dentist / accountant / architect / designer;
    spoon / fork / knife;
    home / office;
    electric / diesel / petrol gasoline / hybrid;
    parallel / sequential serial;
    euro / dollar / pound / yen / rupee / franc / yuan;
    kb kilobyte / mb megabyte / gb gigabyte / tb terabyte;
    mm millimetre millimeter / cm centimetre centimeter / metre meter / km kilometre kilometer / mile / inch / yard;
    g gram / kg kilogram / lb pound / ton tonne / ounce;
    celsius / fahrenheit / kelvin;
    bachelor / master / phd doctorate;
    python / java / javascript / typescript / rust / ruby / golang / kotlin / swift / php / perl / scala;
    postgresql postgres / mysql / sqlite / mariadb / oracle / mongodb / redis;
    linux / windows / macos / android / ios;
    spaces / tabs;
    npm / yarn / pnpm / bun;
    pip / poetry / conda / uv;
    vim neovim / emacs / vscode;
    pytest / unittest;
    react / vue / angular / svelte;
    django / flask / fastapi;
    docker / podman;
    aws / gcp / azure;
    github / gitlab / bitbucket;
    slack / teams / discord / zoom;
    email mail / phone / letter / chat;
    json / yaml / toml / xml / csv;
    debug / info / warning / error;
    tcp / udp;
    get / put / post / delete / patch;
    production prod / staging / development dev;
    cut slice chop / peel / fry fries / boil / bake / stir mix / eat / drink / wash / pour;
    dance / sing / fight / sleep / cry / jump / climb / swim / sit / paint / draw;
    north / northeast / northwest / south / southeast / southwest;
"""
# Before a word, these turn it into its opposite.
_PREFIXES: Final = ("un", "dis", "in", "im", "il", "ir", "non", "anti", "de", "mis")
_SHORTEST: Final = 3


class Opposites(NamedTuple):
    """A stem of each text. `when`: they tell a time."""

    first: str
    second: str
    when: bool


def opposites(first: Iterable[str], second: Iterable[str]) -> list[Opposites]:
    """The pairs of stems, one of each, that exclude each other."""
    times = _sides()[1]
    held: dict[int, list[tuple[int, str]]] = {}
    for stem in first:
        for group, side in _places(stem):
            held.setdefault(group, []).append((side, stem))
    pairs: dict[Opposites, None] = {}
    first, second = set(first), list(second)
    for stem in second:
        for group, side in _places(stem):
            for other, word in held.get(group, ()):
                if other != side:
                    pairs[Opposites(word, stem, group < times)] = None
        for prefix in _PREFIXES:
            if stem.startswith(prefix) and (bare := stem.removeprefix(prefix)) in first and len(bare) >= _SHORTEST:
                pairs[Opposites(bare, stem, when=False)] = None
            if (turned := prefix + stem) in first and len(stem) >= _SHORTEST:
                pairs[Opposites(turned, stem, when=False)] = None
        if (without := stem + "less") in first or (without := stem.removesuffix("less")) in first - {stem}:
            pairs[Opposites(without, stem, when=False)] = None
    return list(pairs)


def _places(stem: str) -> tuple[tuple[int, int], ...]:
    """Where it stands in the table; `richer` and `richest` stand where `rich` does."""
    sides = _sides()[0]
    return sides.get(stem) or sides.get(stem.removesuffix("er")) or sides.get(stem.removesuffix("est"), ())


def in_table(word: str) -> bool:
    return word in _sides()[0]


@cache
def _sides() -> tuple[dict[str, tuple[tuple[int, int], ...]], int]:
    """For each word and its stem the sides that it is on: the group's place in the table, and the side's in the group;
    and how many groups, the first of all, tell a time.
    """
    found: dict[str, dict[tuple[int, int], None]] = {}
    for group, words_of_group in enumerate((_TIMES + _OPPOSITES + _KINDS).split(";")):
        for side, words in enumerate(words_of_group.split("/")):
            for stem in (*terms(words), *words.split()):
                found.setdefault(stem, {})[group, side] = None
    return {stem: tuple(places) for stem, places in found.items()}, _TIMES.count(";")
