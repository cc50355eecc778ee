"""What people tell a coding agent that holds for the project: rules of the house, corrections and decisions.

`We never guess tax rates` is one, and so are `no, use click` and `squash is forbidden in this repo`. What is asked for
once, what is asked, what somebody reports of a bug, and whatever was pasted is none. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from perdure.learn.rules.english.verbs import BASE, PARTICIPLES, is_past
from perdure.learn.rules.languages import Category, ProjectRule
from perdure.text.pasted import without_pasted
from perdure.text.preview import clip, one_line
from perdure.text.sentences import is_abbreviation, sentences

# How sure it is that something holds for long: it is said outright, or follows from how it is said.
EXPLICIT: Final = 0.9
IMPLIED: Final = 0.7
_FEWEST_WORDS: Final = 3
_MOST_WORDS: Final = 60
_MOST_CHARACTERS: Final = 600
_MOST_OF_A_MESSAGE: Final = 8
_MOST_WORDS_ADDED: Final = 25
_TITLE: Final = 70
_ASKED: Final = 120

_PLACE: Final = (
    r"(?:repo|repository|project|codebase|code base|service|package|team|company|app|application|product|module|shop)"
)
_SCOPE: Final = rf"(?:\bhere\b|\bin (?:this|our|the whole) {_PLACE}\b|\b(?:this|our) {_PLACE}\b|\baround here\b)"


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


# What stands before a sentence and says nothing. The first ones only where a mark follows: `no printf here` is a rule.
_LEAD: Final = _pattern(
    r"(?:(?:that'?s not how we do (?:it|that|things|this)(?: here)?|no+|nope|wait|right|good|great|nice|perfect"
    r"|yes|yeah|what|stop|wrong|important|careful|reminder"
    r"|thanks|thx"
    r"|cool|hm+|sorry|attention|heads up|again|look|listen|well|ok|okay|lgtm|wtf|ugh"
    r"|argh)[,.:!;\s–—-]*[,.:!;–—-]\s*"  # noqa: RUF001
    r"|(?:also|and|but|so|then|please|pls|note(?: that)?|fyi|btw|by the way|actually|remember(?! to\b| that\b)"
    r"|just|ok|okay|ah"
    r"|oh|hey|hi|one (?:more )?thing|as i said|i (?:told|said)[^:,]{0,20}|for the record|in addition|besides|plus"
    r"|remind yourself(?: that)?|keep in mind(?! that)|mind that|be aware(?! that)|know that)[,:]?\s+)"
)
_CORRECTS: Final = _pattern(
    r"(?:no+|nope|wrong|not like that|that'?s (?:wrong|not)(?: how we do (?:it|that|things|this))?|stop"
    r"|that is (?:wrong"
    r"|not))\b[^\n]{0,20}?[,.:!;–—-]"  # noqa: RUF001
)
_LABEL: Final = _pattern(
    r"(?:it'?s |it is |that'?s )?(?:(?:a|an|the|our|one|agreed|house|team|project|another|new|general|golden"
    r"|important|simple|coding|style|first)\s+)*"
    r"(?:rules?|conventions?|policy|guidelines?|standard|decision|lessons?(?: learned)?|takeaway|principle|agreement"
    r"|approach"
    r"|final call)\b"
    r"(?: (?:of|for|in|on|from|here|around|with)\b[^:,.]{0,40})?(?:\s*[:–—]\s*|,? (?:is|are|was"  # noqa: RUF001
    r"|says)(?: that| to)?:? | (?:to|that) )"
)
# `Could you please not do that?` asks for nothing but that; `remember that` is said of what is to be kept in mind.
_POLITE: Final = _pattern(r"^(?:can|could|would|will) you (?:please )?(?P<how>not|never|stop) ")
_MINDED: Final = _pattern(
    r"(?:please )?(?:remember|keep in mind|be aware|bear in mind|don't forget) that (?!i\b|you\b)"
)
_NOT_A_RULE: Final = _pattern(
    r"\?\s*$|^(?:can|could|would|should|shall|will|why|how|what|which|who|is|are|was|were|did|does|do (?:you|we|i"
    r"|they))\b"
    r"|^(?:maybe|perhaps|i (?:think|guess|wonder|believe|hope|suppose)|what if|suppose|imagine|if i)\b"
    r"|\b(?:this time|for now|for the moment|right now|just now|today|tonight|this once|in this case|temporarily"
    r"|never ?mind|last time|maybe|not sure)\b"
    r"|^(?:he|she|they|it|this|that|these|those|there)(?:'s|'re| is| are| was| were)?\b"
    r"|\b(?:lol|haha|joking|kidding|just saying)\b|[:;]-?[)D]\s*$"
)
_FIRST_PERSON: Final = _pattern(r"i(?:'m|'ve|'d|'ll)?\b")
_FIRST_PERSON_RULE: Final = _pattern(
    r"i(?:'d)? (?:(?:do not|don't|never) want (?!to\b)|never want to see|(?:want|need|expect|would like|'d like) "
    r"(?:you to (?:always|never)|all|every|each|no)\b|don't (?:ever )?want to see)"
    r"|i(?:'d| would) (?:rather|prefer(?: it if)?|like it if) you (?:never|always|not|did not|didn't|don't)\b"
)
_DEICTIC: Final = _pattern(r"\b(?:it|this|that|these|those|them|there|again|yet|now|him|her)\b")
# `Add it nullable` is about something that was said before.
_POINTS_BACK: Final = _pattern(
    r"(?:we |you |please |always |never |ever |don't |do not |must |should |only )*"
    r"(?:\w+ )?(?:it|this|that|these|those|them)\b(?! is\b)"
)
_STATE_OF_US: Final = _pattern(
    r"we (?:do not|don't|never|no longer) (?:have|know|need|want|see|think|understand|care|get|mind|remember"
    r"|expect|seem)\b"
)

_DECISION: Final = _pattern(
    r"(?:we(?:'ve| have)?|the team|everybody|everyone) (?:all |finally |just )*(?:decided|agreed|chose|picked"
    r"|settled|opted"
    r"|voted)\b"
    r"|(?:we(?:'ll| will| are|'re)? |let'?s |i'?m )?(?:go|going|stick|sticking|stay|staying|went) with "
    r"(?!it\b|that\b|this\b|(?:the )?(?:first|second|third|last|other|former|latter|option|variant|plan|your)\b)"
    r"|we(?:'re| are) (?:moving|migrating|switching|dropping|replacing|deprecating|phasing out|getting rid of"
    r"|standardi[sz]ing|abandoning|retiring|freezing)\b"
    r"|we(?:'ll| will|'re going to| are going to) (?:use|adopt|switch to|move to|keep|stay on|build on)"
    r" (?!it\b|that\b|this\b|the (?:same|first|second|other|new|old)\b)"
    r"|we(?:'ve| have)? (?:moved|migrated|switched|standardi[sz]ed) (?:to|from|away|over|on)\b"
    r"|we(?:'ve| have)? (?:dropped|abandoned|deprecated|retired|replaced) (?!it\b|that\b|this\b)"
    r"|let'?s (?:use|adopt|standardi[sz]e on|keep) (?!it\b|that\b|this\b)[^,]{2,60}?"
    r"\b(?:for|instead|everywhere|as|throughout|from now)\b"
    r"|[\w .+-]{2,30} it is(?:,? then)?\b(?=[,.!]|$)"
)
_HOUSE: Final = _pattern(
    r"(?:(?:in|for|on|at|with) [^,]{3,40}?,? )?"
    r"(?:we|everybody|everyone|nobody|no one|the team|people here|all of us) "
    r"(?:must (?!have\b|be able\b)(?:not |never |always |only )?|(?:should|may|will|shall) (?:always|never|not|only) "
    r"|can (?:never|not|only) "
    r"|(?:cannot|can't|won't) (?=use|add|break|change|rely|depend|assume|ship|deploy|require|support|accept|merge)"
    r"|never |always |only |don't |do not |doesn't |no longer |mustn't |shouldn't |are not allowed to "
    r"|aren't allowed to "
    r"|are supposed to |avoid |try not to |insist on |require |prefer (?!not\b)|forbid )(?P<verb>[\w'-]*)"
)
# `It must be broken` guesses.
_GUESSED: Final = r"(?! have\b| be (?:broken|down|wrong|missing|somewhere|close|old|stale|related)\b)"
_HOUSE_HABIT: Final = _pattern(
    r"(?:(?:in|for|on|at|with) [^,]{3,40}?,? )?"
    r"(?:we (?:use|write|keep|store|name|put|run|pin|follow|log|test|format|version|sign|tag|target|support|build"
    r"|ship"
    r"|deploy|merge|rebase|squash|branch|release|commit|import|raise|return|validate|document|prefix)"
    r"|our [\w /-]{2,40}? (?:use|uses|is|are|follow|follows|run|runs|live|lives|go|goes|need|needs|have to"
    r"|has to"
    rf"|must{_GUESSED}|never|always|only|should)|everything (?:goes|must|has to|lives)|nothing (?:goes|may|must)"
    r"|nobody (?!knows|cares|likes|minds|wants|needs|understands|remembers|has|is\b|was)[\w']+s"
    r"|only [\w ]{2,30} (?:may|can|is allowed|are allowed))\b"
)
_GENERAL: Final = _pattern(
    r"\b(?:everywhere|throughout|always|never|only|exclusively|instead|by convention|standard|as a rule|for all"
    r"|for every"
    rf"|for everything|all the way|by default|must|nobody|nothing|everything|not|no)\b|{_SCOPE}"
)
_FORBIDDEN: Final = _pattern(
    r"[^,;]{2,90}? (?:is|are|stays?|remains?|gets?) (?:strictly |absolutely |completely |simply |generally "
    r"|explicitly )?"
    r"(?:forbidden|not allowed|disallowed|banned|prohibited|off[- ]limits|a no-go|mandatory|compulsory|not permitted"
    r"|verboten|taboo|obligatory|frozen|not an option|out of bounds|off the table)\b"
)
# `You can't use that` forbids, and `you can't see it` does not.
_CANNOT: Final = r"can(?:not|'t| not) (?:be|go|use|have|depend|contain|call|commit|push|merge|import|change|touch)"
_OBLIGATION: Final = _pattern(
    r"(?!the |it |this |that |you |i |he |she |they |these |those |a |an |my |your |there )"
    r"(?P<subject>[^,;:]{3,70}?) (?:must"
    rf"{_GUESSED}|has to|have to|needs? (?:to|an?|two|three|at least)|should|may (?:never"
    r"|not|only)"
    rf"|{_CANNOT}|can only|shall|ought to|mustn't|shouldn't)\b"
)
_GENERAL_SUBJECT: Final = _pattern(
    r"(?:all|every|each|any|no|only|nobody|new|public|our)\b|[^,;]*?[\w)`]s(?: in .*| of .*| for .*| on .*)?$"
)
_YOU_MUST: Final = _pattern(
    r"you (?:must (?:not|never|always)|mustn't|should (?:not|never|always)|shouldn't|may (?:not|never)"
    rf"|{_CANNOT}|are not (?:allowed|supposed) to|aren't (?:allowed|supposed) to|need to always|have to always)\b"
)
_IN_PLACE: Final = _pattern(
    r"(?!it |this |that |you |i |he |she |they |these |those |there )"
    rf"(?=.*(?:{_SCOPE}))"
    r"[^,;]{2,80}? (?:is|are|go|goes|live|lives|belong|belongs|start|starts|end|ends|get|gets|carry|carries|use|uses"
    r"|come|comes|need|needs)\b(?=.*(?:\b(?:always|never|only|by hand|exclusively|stored|named|written|kept|into"
    r"|under"
    rf"|in|with|through|against|must)\b))"
)
_ALL_OF: Final = _pattern(
    rf"(?:all|every|each) (?:[^,;]{{2,50}}?(?:{_SCOPE})[^,;]* (?:is|are|get|gets)|[^,;]{{2,50}}? (?:go|goes|live"
    r"|lives|belong"
    r"|belongs|use|uses|carry|carries|start|starts))\b"
)
_PLURAL_HABIT: Final = _pattern(
    r"(?!the |this |that |these |those |my |your |it |its )(?:[\w./`-]+ ){0,3}"
    r"(?!(?:has|is|was|does|his|this|plus|us)\b)[\w`-]+s "
    r"(?:(?:always|never|only) (?!fail|break|crash|hang|return|show|throw|time|finish|work|appear|disappear|come"
    r"|happen"
    r"|load|stop|flicker|run out|get |see |receive|reach|render|update|arrive)\w+"
    r"|(?:go|live|belong) (?:in|into|under|next|to|on|with|through)\b)"
    r"|(?!the |this |that |it |everything |nothing |what |he |she )[\w-]+(?: [\w-]+)? (?:goes|lives|belongs)"
    r" (?:in|into|under|to|through|via)\b"
    r"|(?:every|each|all|any new) [^,;]{2,60}? needs? \S"
    r"|[\w /-]{2,25}: (?:always|never|only|no) \S"
    r"|the [\w -]{2,40}? must (?:stay|remain|always|never|not|only)\b"
    r"|only (?:use|call|import|write|throw|raise|log|mock|store) (?!the |this |that |it\b|a |an |one )"
)
# What is always done with things is a rule where nobody does it but on purpose: `releases are always tagged from main`;
# or where it says how they are not. `Mails are always sent twice` reports a bug, and so does whatever says when it is
# seen, or what comes of it.
_BY_PEOPLE: Final = (
    r"tagged|versioned|merged|squashed|reviewed|documented|rotated|prefixed|committed|pinned|branched|released"
)
_DONE_TO_THINGS: Final = _pattern(
    r"(?!.*\b(?:when|whenever|since|if|but|again|twice|yesterday|on (?:re)?load|after reload|bugs?|complains?|slow|i"
    r"|and (?:it|then|the)|correctly|properly|wrong\w*)\b)"
    r"(?!the |my |your |it |this |that |these |those |there |everything |nothing |what |he |she |they |you |we )"
    r"(?:[\w./`-]+ ){1,4}(?:is|are) (?:"
    rf"(?:always|only) (?:{_BY_PEOPLE}) (?:in|as|by|from|to|into|with|under|at|through|before|after)\b"
    r"|never (?:reused|recycled|hard-?coded|committed|squashed|mocked|renumbered|force-?pushed)\b"
    rf"|(?:always |only )?(?:{_BY_PEOPLE}|stored|named|written|signed|built|kept|edited|cut|deployed)\b"
    r"[^,;]{3,60}, (?:(?:but |and )?never (?:from|in|into|to|by|with|under|at|on)\b|always[.!]?$)"
    r"|[^,;]{3,60}, (?:no exceptions?|that'?s (?:our|the) (?:rule|convention|policy|standard))[.!]?$)"
)
_ONLY_LAST: Final = _pattern(r"(?!i |it |this |that |they |he |she |we )(?P<first>[\w-]+) [^,;:]{3,80} only[.!]?$")
_NO_THING: Final = _pattern(
    r"no (?!that|this|it\b|i\b|you\b|we\b|they\b|the\b|problem|need|idea|rush|worries|way|luck|error|change"
    r"|difference|failure|output|more\b|one\b|longer|thanks|hurry"
    r"|matter|wonder|doubt|clue|such|sign|result|response|answer|big deal)[^;:]{3,90}?"
    r"\b(?:in|inside|without|on|for|from|after|before|outside|unless|anywhere|ever|please|at)\b"
)
_STANDING: Final = _pattern(
    r"(?:from now on|in (?:the )?future|going forward|from here on|next time|as a rule|in general)\b"
)
_STANDING_LATER: Final = _pattern(r"\b(?:from now on|next time|in (?:the )?future|going forward|from here on)\b")
_ORDER: Final = _pattern(
    r"(?P<how>always|never(?: ever)?|(?:do not|don't) ever|only ever|remember to|be sure to always"
    r"|make sure (?:to |you |we "
    r"|that you )?(?:always|never)) (?P<verb>[\w-]+)"
)
_MAKE_SURE: Final = _pattern(
    r"(?:make sure|be sure|don't forget|remember|please|ensure)\b(?=.*\b(?:always|never|every|each|whenever"
    r"|any time|before"
    r" (?:you|we|each|every|any)|after (?:each|every|any))\b)"
)
_PREFERENCE: Final = _pattern(
    r"(?:avoid|prefer|favou?r) (?!the |it\b|this\b|that\b|these\b|those\b|a )[^,;]{3,}|stick (?:to|with) (?!the "
    r"|it\b|this\b|that\b)"
)
_WHEN: Final = _pattern(
    r"(?P<verb>(?!whenever|every|each|when|if)[a-z]+) .*\b(?:whenever|when(?:ever)? (?:a|an|any)|if (?:a|an|any)"
    r"|unless (?:a|an|any|there)"
    r"|before (?:each"
    r"|every|any)|after (?:each|every|any)|before you (?:commit|push|merge|deploy|release|open|tag)"
    r"|before (?:committing"
    r"|pushing|merging|deploying|releasing))\b"
    r"|(?:whenever|every time|each time) (?:you|we)\b[^,]{3,80},"
    r" (?!(?:it|the|this|that|nothing|i|we|they|there|my)\b)[a-z]+ "
    r"|(?:when(?:ever)?|every time|each time|if|before|after|unless) (?:a|an|any|you|we|each|every"
    r"|\w+ing)\b[^,]{3,80}, (?:please )?(?:always |never |do not "
    r"|don't )?(?P<order>[a-z]+)\b"
)
_DONT: Final = _pattern(
    r"(?:do not|don'?t|dont|stop|no more|quit) (?:ever |just |please )?(?P<verb>[\w-]+)(?P<rest>.*)"
)
_REASON: Final = _pattern(
    r"\b(?:because|since|otherwise|or else|as (?:it|we|they|that)|so that|due to|instead)\b"
    r"|[,;–—-] ?(?:we|it|they|that|this|the|our|use|so|these|those|you)(?:'s|'re|'ve)?\b"  # noqa: RUF001
)
_ANYWHERE: Final = _pattern(
    rf"\b(?:ever|anywhere|at all|yourself|directly|by hand|manually|in prod(?:uction)?|in tests|in code|blindly"
    rf"|to (?:main|master|production))\b|{_SCOPE}"
)
_OBJECT_AT_LARGE: Final = _pattern(
    r" (?!the |my |your |a |an |his |her |it\b|this\b|that\b|these\b|those\b|them\b|me\b)\S+"
)
_RULED_VERBS: Final = frozenset(
    """
    add adding amend call calling catch change commit committing copy create depend deploy edit expose extract force
    hardcode hard-code import introduce invent log mix mock modify push pushing put rebase rely return run squash store
    swallow touch use using write writing
    """.split()
)
_COMFORT: Final = frozenset(
    """
    be been bother care did forget get got gave give had has have hesitate know let like lose made mean mind need panic
    said saw say seem stress take tell think understood wait was were want wonder worry
    """.split()
)
_STATES: Final = frozenset(
    "be been did get got had has have know made need said saw seem understood want was were".split()
)
_NO_ORDER: Final = _COMFORT | frozenset("a an at in my of on same that the this your".split())
_INSTEAD: Final = _pattern(
    r"(?P<verb>use|prefer|take|pick|import|call|write|return|raise|throw|store|log|name|split|sort|test|run"
    r"|install|target"
    r"|import|keep|round|build|deploy|merge|wrap) (?!it\b|this\b|that\b|them\b)[^;]{2,90}?"
    r"(?:,? (?:and |but )?(?:not|never)\b|\binstead of\b|\brather than\b|, no )"
)
_WE_DO: Final = _pattern(r"we (?P<verb>[a-z]+) (?!it\b|this\b|that\b)\S")
_USE: Final = _pattern(
    r"(?:(?:please |always )?(?:use|prefer|take|go with|stick to|stick with|keep to))"
    r" (?!it\b|this\b|that\b|them\b|the (?:other|same|first|second|old|new|one)\b|an? (?:\w+er|more|less|different"
    r"|slightly|bit|lot|\w+ly)\b|a\b|an\b)"
)
_SO_DO: Final = _pattern(
    r".{6,}?(?:,|;| -| –) ?(?:so|therefore|hence|that'?s why)(?: please| we)? (?:always|never|use"  # noqa: RUF001
    r"|do not|don't|only|avoid|keep|write|put)\b"
)
_DEPRECATED: Final = _pattern(
    r"[^,;]{2,60}? (?:is|are) (?:deprecated|legacy|obsolete|unmaintained|gone|retired"
    r"|frozen)[^,;]{0,40}[,;:–—-]+ ?"  # noqa: RUF001
    r"(?:please |so |and )*(?:use|do not|don't|never|prefer|avoid|leave)\b"
)
_FOLLOWS: Final = _pattern(
    r"(?:otherwise|because|that way|this way|instead|else|or else|use|put|prefer|keep|same for"
    r"|(?:the )?(?:reason|exception)|it \w+s|it's|they \w+|that \w+s)\b"
)
_ASIDE: Final = _pattern(r"\?\s*$|\b(?:this time|for now|thanks|thank you|please|now|again|i'm|i am)\b")
_NEGATIVE: Final = _pattern(
    r"^(?:[^,;:]{0,60}?\b(?:never|don't|do not|dont|doesn't|does not|mustn't|must not|must never|shouldn't|should not"
    r"|should never|cannot|can't|may not|may never|no longer|avoid|stop|nobody|forbidden|not allowed|disallowed"
    r"|banned"
    r"|prohibited|off[- ]limits|not permitted|no-go)\b|no \w)|\bso (?:please )?(?:don't|do not|never)\b"
)
_CONDITION: Final = _pattern(r"\b(?:when|whenever|if|unless|before|after|next time|every time|each time|until)\b")
_QUOTED: Final = re.compile(r"[\"“][^\"”]{8,}[\"”]|`[^`]*`")
_SPLIT: Final = re.compile(r"(?<=[a-z0-9)\]`'\"][.!?])\s+(?=[a-z])|\s*;\s+(?=(?:we|always|never|don't|do not|use)\b)")
_HERE: Final = _pattern(rf"\b(?P<of>in|of|for) (?:this|our) {_PLACE}\b|\b(?:around )?here\b(?=[,.;:!]|$)")
_EDGE: Final = _pattern(
    r"(?:from now on|going forward|from here on|in (?:the )?future|next time|remember to|please|as a rule)[,:]?\s+"
)
_LETS: Final = _pattern(r"^(?:let'?s|we(?:'ll| will)) (?=go with|stick|stay|use|adopt|keep)")
_CLAUSE: Final = re.compile(r"[,;:(–—]| because | so that | since | otherwise ")  # noqa: RUF001
_AT_LARGE: Final = (_NO_THING, _PLURAL_HABIT, _SO_DO, _DEPRECATED, _MAKE_SURE, _PREFERENCE, _IN_PLACE, _DONE_TO_THINGS)


def project_rules(message: str, project: str | None = None, asked: str = "") -> list[ProjectRule]:
    """The rules in one message of a person. `asked` is what they had asked for before: where a rule says `it`, that is
    told with it. A message with many of them is a document, and tells none.
    """
    found: list[ProjectRule] = []
    sure, said = 0.0, list[str]()

    def close() -> None:
        nonlocal said
        if said and (rule := as_rule(said, sure, project, asked)):
            found.append(rule)
        said = []

    corrects = False
    for sentence in _sentences(message):
        read = _read(sentence)
        if read:
            close()
            sure, said, corrects = read[1], [read[0]], _CORRECTS.match(sentence) is not None
        elif len(said) == 1 and is_reason(sentence, corrects=corrects):
            said.append(sentence)
        else:
            close()
    close()
    return found if len(found) <= _MOST_OF_A_MESSAGE else []


def without_rules(message: str) -> str:
    """What a person wrote in a message besides rules and what they pasted."""
    return " ".join(sentence for sentence in _sentences(message) if _read(sentence) is None)


def _sentences(message: str) -> Iterator[str]:
    """Also where nobody writes capital letters."""
    for paragraph in without_pasted(message).splitlines():
        for sentence in sentences(paragraph):
            start = 0
            for mark in _SPLIT.finditer(sentence):
                if not is_abbreviation(sentence, mark.start() - 1):
                    yield sentence[start : mark.start()]
                    start = mark.end()
            yield sentence[start:]


def _read(sentence: str) -> tuple[str, float] | None:
    """The rule that a sentence tells, without what leads to it, and how sure it is that it is one."""
    corrects = _CORRECTS.match(sentence) is not None
    rest = _POLITE.sub(lambda found: "don't " if found["how"].lower() == "not" else f"{found['how']} ", sentence)
    rest = _stripped(rest if rest == sentence else rest.rstrip(" ?"))
    minded = _MINDED.match(rest)
    rest = rest[minded.end() :] if minded else rest
    label = _LABEL.match(rest)
    rest = rest[label.end() :] if label else rest
    shown = _QUOTED.sub(lambda found: "x" * len(found[0]), rest)
    words = shown.split()
    if not (_FEWEST_WORDS - corrects) <= len(words) <= _MOST_WORDS or len(rest) > _MOST_CHARACTERS:
        return None
    if label and not shown.endswith("?"):
        return rest, EXPLICIT
    if _NOT_A_RULE.search(shown) or (_FIRST_PERSON.match(shown) and not _FIRST_PERSON_RULE.match(shown)):
        return None
    if is_explicit(shown):
        return rest, EXPLICIT
    return (rest, IMPLIED) if minded or is_implied(shown, corrects=corrects) else None


def is_explicit(text: str) -> bool:
    """Whether a sentence is a decision, an order for good, or says what is forbidden or what the house does."""
    if _DECISION.match(text) or _FORBIDDEN.match(text) or _YOU_MUST.match(text) or _FIRST_PERSON_RULE.match(text):
        return True
    house = _HOUSE.match(text)
    if (ordered := house or _ORDER.match(text)) and not _STATE_OF_US.match(text):
        verb = ordered["verb"].lower()
        is_done = is_past(verb) or verb in PARTICIPLES or verb.endswith("ing")
        return verb not in (_STATES if house else _NO_ORDER) and (verb in BASE or not is_done)
    return bool(_STANDING.match(text) or (_STANDING_LATER.search(text) and _is_order(text)) or _ALL_OF.match(text))


def is_implied(text: str, *, corrects: bool) -> bool:
    """Whether what is said at large, or as a correction, can only be meant to last."""
    if dont := _DONT.match(text):
        return is_ban(dont)
    if any(one.match(text) for one in _AT_LARGE):
        return True
    house, must, when = _HOUSE_HABIT.match(text), _OBLIGATION.match(text), _WHEN.match(text)
    if house and (_GENERAL.search(text) or text.lower().startswith("we use ")):
        return not _DEICTIC.search(text[house.end() : house.end() + 8])
    only, ours = _ONLY_LAST.match(text), _WE_DO.match(text) if corrects else None
    is_choice = _INSTEAD.match(text) or (_USE.match(text) and (corrects or _GENERAL.search(text)))
    return (
        (must is not None and _GENERAL_SUBJECT.match(must["subject"]) is not None and not _begins_with_verb(text))
        or (when is not None and (when["verb"] or when["order"] or "be").lower() in BASE | _RULED_VERBS)
        or (only is not None and not _begins_with_verb(text))
        or (ours is not None and ours["verb"].lower() not in _STATES and not is_past(ours["verb"].lower()))
        or (bool(is_choice) and not _DEICTIC.search(text.split(",", 1)[0]))
    )


def _begins_with_verb(text: str) -> bool:
    return text.split(" ", 1)[0].lower() in BASE | _RULED_VERBS


def is_ban(dont: re.Match[str]) -> bool:
    """Whether `don't` is meant to last: there is a reason for it, or it is said of things at large."""
    verb, rest = dont["verb"].lower(), dont["rest"]
    first = re.split(r"[,;:]| because | since | otherwise ", rest)[0]
    if verb in _COMFORT or _DEICTIC.search(first):
        return False
    if _REASON.search(rest) or _ANYWHERE.search(rest):
        return True
    return verb in _RULED_VERBS and _OBJECT_AT_LARGE.match(rest) is not None


def _is_order(text: str) -> bool:
    first = text.split(maxsplit=1)[0].lower().strip(",.")
    return first in BASE or first in {"use", "don't", "do", "never", "always", "please", "we"}


def is_reason(sentence: str, *, corrects: bool) -> bool:
    """Whether a sentence behind a rule belongs to it: it says why, or what to do instead. What follows a correction is
    its reason, unless it asks for something.
    """
    if len(sentence.split()) > _MOST_WORDS_ADDED or _ASIDE.search(sentence):
        return False
    return _FOLLOWS.match(sentence) is not None or (corrects and not _is_order(_stripped(sentence)))


def _stripped(sentence: str) -> str:
    rest = sentence.strip()
    while (lead := _LEAD.match(rest)) and lead.end() < len(rest):
        rest = rest[lead.end() :]
    return rest


def as_rule(said: list[str], sure: float, project: str | None, asked: str) -> ProjectRule | None:
    """The rule in words that stand alone; None where nobody would know what it is about."""
    rule = _in_project(said[0], project)
    is_next_time = _STANDING_LATER.search(rule) is not None
    while edge := _EDGE.match(rule):
        rule = rule[edge.end() :]
    if _POINTS_BACK.match(rule):
        if not asked:
            return None
        rule = f"When asked to “{clip(one_line(asked), _ASKED).rstrip('.')}”: {rule}"
    category: Category = "anti-patterns" if _NEGATIVE.search(rule) else "patterns"
    if category == "patterns" and (is_next_time or _CONDITION.search(rule)):
        category = "heuristics"
    text = " ".join(
        _sentence(part) for part in (_LETS.sub("We ", rule), *(_in_project(one, project) for one in said[1:]))
    )
    title = clip(_CLAUSE.split(text)[0].strip(" .!") or text, _TITLE)
    return ProjectRule(text, title, category, sure, " ".join(said))


def _in_project(text: str, project: str | None) -> str:
    """The name of the project in the place of `here` and `in this repo`: a learning may be told elsewhere."""
    return _HERE.sub(lambda found: f"{found['of'] or 'in'} {project or 'this project'}", text)


def _sentence(text: str) -> str:
    told = one_line(text).strip().rstrip("!").rstrip()
    return f"{told[:1].upper()}{told[1:]}{'' if told.endswith(('.', '…')) else '.'}"
