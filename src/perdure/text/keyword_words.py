"""Words that are no keywords, or poor ones. Few languages on purpose: what a list does not know, rarity has to tell."""

# ruff: noqa: RUF001 - the letters are those of the languages
from __future__ import annotations

from typing import Final

# The words that say nothing about a memory of a developer's (S1, criterion 5).
GENERIC: Final = frozenset(
    "code development software system application implementation feature project function method file data error bug "
    "fix update change".split()
)

# By language; the one whose words are most frequent in a text counts. English ones end a phrase in every text.
FUNCTION_WORDS: Final = {
    "en": frozenset(
        """
        a able about above across after again against ah ain all almost alone along already also although always am
        among an and another any anybody anyone anything anyway anywhere are aren around as at away back be became
        because become been before behind being below beneath beside besides between beyond both but by bye can cannot
        cheers could couldn d despite did didn do does doesn doing don done down during each eg either else enough etc
        even ever every everybody everyone everything everywhere except few for from further gonna gotta had hadn haha
        has hasn have haven having he hello hence her here hers herself hey hi him himself his hmm how however i ie if
        in indeed inside instead into is isn it its itself just last least less lest let lets like likely ll lol m many
        may maybe me might mine more moreover most mostly much must mustn my myself near nearly neither never
        nevertheless next no nobody none nope nor not nothing now nowhere of off often oh ok okay on once one ones only
        onto or other others otherwise ought our ours ourselves out outside over own per perhaps please quite rather re
        really s same shall shan she should shouldn since so some somebody somehow someone something sometimes somewhere
        soon still such t than thank thanks that the their theirs them themselves then there therefore these they this
        those though three through throughout thus till to together too toward towards two under unless unlike until up
        upon us usually ve very via vs wanna was wasn we well were weren what whatever whats when whenever where whereas
        wherever whether which whichever while who whoever whole whom whose why will with within without won would
        wouldn wow yeah yep yes yet you your yours yourself yourselves
        """.split()
    ),
    "de": frozenset(
        """
        aber alle allem allen aller alles als also am an ander andere anderen anderer anderes ans auch auf aus bei beide
        beim bereits bevor bin bis bisher bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf
        daraus darf darin darum darüber das dass dasselbe davon davor dazu dein deine dem den denen denn dennoch der
        deren des deshalb dessen die dies diese diesem diesen dieser dieses doch dort du durch dürfen ein eine einem
        einen einer eines einige einmal er erst es etwa etwas euch euer fast für ganz gar gegen genug gibt habe haben
        hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins ist ja jede
        jedem jeden jeder jedes jedoch jene jetzt kann kein keine keinem keinen keiner können könnte man manche mehr
        mein meine meinem meinen mich mir mit muss musste müssen nach nachdem neben nein nicht nichts nie noch nun nur
        ob obwohl oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so sobald solche soll sollen
        sollte sondern sonst sowie statt trotzdem um und uns unser unsere unter viel viele vom von vor wann war waren
        warum was weder weg wegen weil weiter welche welchem welchen welcher welches wenig wenige wenn wer werden wessen
        wie wieder will wir wird wo wobei wollen worden wurde wurden während zu zum zur zwar zwischen über
        """.split()
    ),
    "fr": frozenset(
        """
        a alors après au aussi aux avant avec bien c ce ces cette comme d dans de del des deux donc dont du elle elles
        en encore est et eux faire fait ici il ils jamais je l la le les leur leurs lui mais mes moi mon même n ne nos
        notre nous ont ou où par pas peut plus pour qu que qui s sa sans se ses si sinon son sont sous sur ta te tes toi
        ton toujours tous tout toute toutes très tu un une vos votre vous y à été être
        """.split()
    ),
    "es": frozenset(
        """
        al como con cual cuando de del desde donde el ella ellos en entre era eran es esa ese eso esta estaba este esto
        fue ha han hasta hay la las lo los mi muy más nada ni nos o para pero por porque que quien se ser si sin sobre
        soy su sus también te tiene todo todos tu un una uno unos y ya yo
        """.split()
    ),
    "it": frozenset(
        """
        che ci come con cui da dal dalla degli dei della delle di e gli ho i il in io la le loro ma mio nel nella non
        per perché più quella quello questa questo sei si sono sua sul suo ti tra tuo tutti tutto un una è
        """.split()
    ),
    "pt": frozenset(
        """
        a ao aos com da das de do dos e ela ele em essa esse isso isto mas meu minha muito na nas nem no num numa não
        nós o os para pela pelo por que seu sua são também tem um uma você
        """.split()
    ),
    "ru": frozenset(
        """
        а без бы был была были было быть в вам вас ведь внутри во вот все всегда всё вы где да даже для до его ее ему
        если есть еще ещё её же за и из или им иначе их к как ко когда кто ли либо между меня мне много может мой мы
        на над надо нас наш не него нет ни никогда ничего но ну нужно о об один он она они оно от очень по
        под после потом потому при про раз с сам себя со так такой там тебя тем теперь то тогда того тоже только том
        ты у уже чего чем что чтобы эта эти это этого этот я
        """.split()
    ),
    "nl": frozenset(
        """
        aan als bij dan dat de deze die dit door een en er geen haar heb hebben heeft het hij hun ik is je jij kan maar
        meer met mij mijn naar niet nog of om ook op te toen uit van voor waar was wat werd wij wordt ze zich zij zijn
        zo
        """.split()
    ),
}

# These are keywords only where a text has nothing better.
WEAK_WORDS: Final = frozenset(
    """
    absolutely accelerates according achten activates actually add added adding additional affects ago allow allowed
    allows alters amazing answered answers appear apply appreciate appropriate arises ask asked asking associated
    assumes attempts available avoid awesome aww bad based basically becomes began begin believe belong belongs best
    better big bigger bit bleibt blocks bodes bothers braucht bring brings brought buddy call called came carry case
    cases cause caused causes causing certain certainly check chooses chose clear combines come comes coming compared
    completely comprises confers congrats congratulations consider consisting contain contains continue contributes
    controls converts cool correct couple cover create created creates currently cut dabei darum day days decide decided
    decreases decreasing definitely demonstrate demonstrates depend depending depends describe describes determines
    develops different differs difficult disrupts dozen drives due easy eigentlich eight enables encodes enhances enjoy
    enjoyed enjoys ensure entire erste ersten especially eventually evidence exact exactly example examples exhausts
    exhibits exists explain explores extremely fact fail failed fails fall faster favorite favourite feel feeling feels
    fell felt fetch finally find finding finds fine finish first five follow following forget forgot forms forty found
    four full fully fun gave gehen geht gemacht genau general generally generates get gets getting give given gives
    giving glad go goes going gone good got gotten great grow großen größer guess gut gute guten guys handle happen
    happened happening happens happy hard hear heard help helped helping helps heute hid high higher hilft hit hold
    holds hope hoping hour hours huge huh hundred idea imagine immediately important improves include included includes
    including increase increased increases increasing independent indicate indicates indicating induces inhibits
    initially instantly interesting introduce involve involves involving issue issues item keep keeping keeps kept kind
    kinds klar knew know known knows kommen kommt kurz lang large larger lassen late lately later lead leading leads
    learn learned leave leaves leaving led left leicht leider life limits literally little long look looked looking
    looks lose loses lost lot lots love loved loves low lower lässt machen macht made main maintains major make makes
    making manchmal matter mean means meant mediates meet meist meistens mention mentioned merely met million minute
    minutes miss missed modulates month months morning move moved multiple need needed needs neu neue neuen new nice
    night nine normal notice number nutzen obviously occur occurs offer oft old ooh open opened originally originating
    overall part particular parts pass passed past people performs person pick picked piece place plan planning plays
    point possess possible possibly potential prefer preferred prefers presence present pretty prevent prevents previous
    previously primary prints probably problem problems produce promotes proper properly protects provide provided
    provides put puts putting quick quickly ran reach read reads ready real realize realized reason reasons recent
    recently reduce reduced reduces reducing regarding regulates related relevant relies remain remains remember
    replaces represents require required requires respectively respond responds restricts result resulting results
    return returned returns reveal reveals right run running runs safe sagen sagt said saw say saying says schnell
    second see seeing seem seemed seems seen sees sehen send sends sent serves set sets setting seven share shared short
    show showed shown shows sicher side significant significantly similar simple simply single sit six slower slowly
    slows small smaller sofort solve sorry sort sound sounds speak special specific spend spent stand start started
    starting starts stay stayed stehen steht stop stopped stops strong study stuff suddenly suggest suggesting suggests
    super support suppose suppresses sure survive take taken takes taking talk talked talking targets teil tell telling
    tells ten tend thing things think thinking thinks third thought thousand time times today told tomorrow tonight took
    total totally tough tried tries triggers true truly try trying tun turn turned turns tut twice type types undergo
    undergoes understand use used useful uses using usual varies various verify verwenden vielleicht wait waiting want
    wanted wants watch way ways week weekend went wichtig wirklich wish wonder wonderful woohoo work worked working
    works worry worth write writes writing written wrong wrote yay year years yesterday zeit zuerst zuletzt
    """.split()
)

# Words in -ly that are no adverbs.
NOT_ADVERBS: Final = frozenset(
    "ally anomaly apply assembly belly bully butterfly comply family fly holly imply italy jelly july lily multiply "
    "rally rely reply supply tally".split()
)

# What may follow the part that two forms of a word share; nothing is one of them.
ENDINGS: Final = frozenset(("", *"d e ed em en er ern ers es ies ing ings n r rs s y".split()))
