"""Take secrets out of text before it is stored, logged or sent anywhere.

    redact("deploy with DB_PASSWORD=hunter2hunter2")
    # Redacted(text='deploy with DB_PASSWORD=[REDACTED:password]', found=('password',))

Four families of finders look at the text; whatever they point at is replaced by a visible placeholder:

    shapes        tokens a vendor made recognisable (`_SHAPES`, one row per kind)
    private keys  whole PEM blocks, also truncated ones
    cards         payment card numbers: issuer prefix, length, Luhn, and either grouping or a nearby word
    assignments   `password = …`, `token: …`, `Authorization: Bearer …`: a telling name and a value that looks secret

Most text holds no secret, so `_find` first decides from a few whole-text byte operations which families could match
at all; no regular expression is compiled or run for text that rules them all out. Every pattern is linear: an
unbounded run is either the end of its pattern, or guarded on the left so that it starts once per run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["KINDS", "Redacted", "redact"]


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets.

    `found` names the kind of every placeholder in `text`, in order of appearance. A placeholder left by an earlier
    pass counts too, which makes redacting twice the same as redacting once. To ask whether a text still held a
    secret, compare `text` with what went in.
    """

    text: str
    found: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret in `text` by `[REDACTED:kind]`; text without secrets comes back as the same object."""
    # Taking one secret out can lay bare another that was glued to it, so look again until nothing is left.
    for _ in range(_PASSES):
        spans = _find(text)
        if not spans:
            break
        # Overlapping spans are joined, so that no byte of either survives; the most telling kind names the whole.
        merged: list[_Span] = []
        for span in sorted(spans):
            if merged and span.start < merged[-1].end:
                last = merged.pop()
                kind = min(last.kind, span.kind, key=KINDS.index)
                merged.append(_Span(last.start, max(last.end, span.end), kind))
            else:
                merged.append(span)
        pieces: list[str] = []
        at = 0
        for span in merged:
            pieces += (text[at : span.start], f"[REDACTED:{span.kind}]")
            at = span.end
        text = "".join((*pieces, text[at:]))
    if _MARK not in text:
        return Redacted(text, ())
    kinds = _regex(r"\[REDACTED:([a-z_]{1,32})\]").findall(text)
    return Redacted(text, tuple(kind for kind in kinds if kind in KINDS))


_PASSES = 16


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def _find(text: str) -> list[_Span]:
    # Byte tables turn "sixteen token characters in a row" and "thirteen digits" into operations some twenty times
    # cheaper than any regular expression over the same text.
    raw = text.encode("ascii", "replace")
    spans: list[_Span] = []
    if _SHORTEST_RUN in raw.translate(_RUNS):
        spans += _find_private_keys(text)
        spans += _find_shapes(text, solid=_SHORTEST_RUN in raw.translate(_SOLID_RUNS))
    if "@" in text and "://" in text:
        spans += _find_url_passwords(text)
    digits = len(raw.translate(None, _NO_DIGITS))
    if digits >= _SHORTEST_CARD:
        spans += _find_cards(text)
    if digits or ":" in text or "=" in text:
        lowered_raw = raw.lower()
        if any(name in lowered_raw for name in _NAME_STEMS):
            # U+0130 is the one character that grows when lowered; offsets must stay those of the original.
            lowered = text.replace("\u0130", "i").lower()
            spans += _find_assignments(text, lowered)
            spans += _find_authorization(text, lowered)
    return spans


_MARK = "[REDACTED:"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _table(symbols: dict[int, str]) -> bytes:
    return bytes(ord(symbols.get(byte, " ")) for byte in range(256))


_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS | frozenset(b"_-"), "a"))
_SOLID_RUNS = _table(dict.fromkeys(_LETTERS | _DIGITS, "a"))
_NO_DIGITS = bytes(frozenset(range(256)) - _DIGITS)
_SHORTEST_RUN = b"a" * 16
_SHORTEST_CARD = 13


# The frequent ones first.
_NAME_STEMS = (b"pass", b"key", b"token", b"secret", b"pw", b"credential", b"bearer", b"authorization")


def _scrambled(value: str) -> int:
    """Count the characters of `value` that sit in parts no one would write as a word, a number or a short name."""
    wordlike = _regex(r"[A-Za-z]+|[0-9]+|[A-Za-z]{1,12}[0-9]{1,4}|[0-9]{1,4}[A-Za-z]{1,10}")
    parts = _regex(r"[^A-Za-z0-9]+").split(value)
    scrambled = 0
    for part in parts:
        # A type name may have a number in it, such as `Sha256HashAlgorithm`.
        humps = _regex(r"[A-Z][a-z]{2,}").findall(part)
        if part and not wordlike.fullmatch(part) and 10 * sum(map(len, humps)) < 7 * len(part):
            scrambled += len(part)
    return scrambled


def _varied(value: str) -> bool:
    """Tell a token from its documentation (`ghp_xxxxxxxx…`, `T00000000/B00000000/XXXX…`)."""
    return len(set(value)) >= _VARIED


def _numbered(value: str) -> bool:
    return _varied(value) and any(character.isdigit() for character in value)


def _random(value: str) -> bool:
    return _varied(value) and _scrambled(value) >= _RANDOM


def _long_random(value: str) -> bool:
    return _varied(value) and _scrambled(value) >= 2 * _RANDOM


_VARIED = 8
_RANDOM = 8


class _Shape(NamedTuple):
    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = _varied
    solid: bool = False  # the body holds at least sixteen letters and digits in a row


def _word(literal: str) -> str:
    """Match `literal` where no word is under way, or after an escape, for text that was JSON-encoded once already.

    The literal comes first because a pattern that opens with one is searched for several times faster.
    """
    return rf"{literal}(?:(?<![A-Za-z0-9_-]{literal})|(?<=\\[nrt]{literal}))"


def _words(*literals: str) -> str:
    return f"(?:{'|'.join(_word(literal) for literal in literals)})"


_URLSAFE = r"[A-Za-z0-9_-]"
_AWS = ("AKIA", "ASIA", "ABIA", "ACCA")
# ASIA opens ordinary capitalised words, so a digit has to follow; the others do not.
_ASIA = r"(?:(?<!ASIA)|(?=[A-Z]{0,15}[0-9]))"

_SHAPES = (
    _Shape("jwt", ("eyJ",), rf"{_word('eyJ')}{_URLSAFE}{{8,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}+)*"),
    _Shape("github_token", ("gh",), r"gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=True),
    _Shape("github_token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}", _random, solid=True),
    _Shape(
        "gitlab_token",
        ("gl",),
        rf"gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|imt|oas)-{_URLSAFE}{{20,}}(?:\.[A-Za-z0-9]+)*",
    ),
    _Shape("slack_token", ("xox",), r"xox(?:e\.xox)?[a-z]-[A-Za-z0-9-]{10,}", _numbered),
    _Shape("slack_token", ("xapp-",), r"xapp-[0-9]-[A-Za-z0-9-]{10,}", _numbered),
    _Shape(
        "slack_webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{20,})",
    ),
    _Shape("discord_webhook", ("/api/webhooks/",), rf"/api/webhooks/(?P<secret>[0-9]{{15,20}}/{_URLSAFE}{{30,}})"),
    _Shape("telegram_token", (":AA",), rf"{_word('')}[0-9]{{8,10}}:AA{_URLSAFE}{{32,}}"),
    _Shape("google_key", ("AIza",), rf"{_word('AIza')}{_URLSAFE}{{35,}}"),
    _Shape("google_key", ("GOCSPX-",), rf"GOCSPX-{_URLSAFE}{{20,}}"),
    _Shape("google_key", ("ya29.",), rf"ya29\.{_URLSAFE}{{20,}}", _random),
    _Shape("anthropic_key", ("sk-ant-",), rf"{_word('sk-ant-')}{_URLSAFE}{{20,}}", _random),
    _Shape("openai_key", ("sk-",), rf"{_word('sk-')}(?!ant-){_URLSAFE}{{20,}}", _long_random),
    _Shape("stripe_key", ("sk_live_", "sk_test_"), r"sk_(?:live|test)_[A-Za-z0-9]{16,}", solid=True),
    _Shape("stripe_key", ("rk_live_", "rk_test_"), r"rk_(?:live|test)_[A-Za-z0-9]{16,}", solid=True),
    _Shape("stripe_key", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _Shape("npm_token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=True),
    _Shape("pypi_token", ("pypi-",), rf"pypi-{_URLSAFE}{{50,}}", _long_random),
    _Shape("huggingface_token", ("hf_",), r"hf_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    _Shape("huggingface_token", ("api_org_",), r"api_org_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    _Shape("sendgrid_key", ("SG.",), rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    _Shape("twilio_key", ("SK", "AC"), rf"{_words('SK', 'AC')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=True),
    _Shape("aws_key_id", _AWS, rf"{_words(*_AWS)}{_ASIA}[A-Z0-9]{{16}}(?![A-Za-z0-9])", bool, solid=True),
    _Shape("service_token", ("shp",), r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}", solid=True),  # Shopify
    _Shape("service_token", ("_v1_",), r"do[opr]_v1_[A-Za-z0-9]{40,}", solid=True),  # DigitalOcean
    _Shape("service_token", ("dckr_",), rf"dckr_[a-z]{{3}}_{_URLSAFE}{{20,}}", _random),  # Docker Hub
    _Shape("service_token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[A-Za-z0-9]{8}", solid=True),  # Grafana
    _Shape("service_token", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}", solid=True),  # Groq
    _Shape("service_token", ("r8_",), rf"{_word('r8_')}[A-Za-z0-9]{{32,}}", solid=True),  # Replicate
    _Shape("service_token", ("xai-",), rf"{_word('xai-')}[A-Za-z0-9]{{40,}}", solid=True),  # xAI
    _Shape("service_token", ("hvs.",), rf"hvs\.{_URLSAFE}{{24,}}", _random),  # Vault
    _Shape("service_token", ("lin_api_",), r"lin_api_[A-Za-z0-9]{32,}", solid=True),  # Linear
    _Shape("service_token", ("-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", solid=True),  # age
)


def _find_shapes(text: str, *, solid: bool) -> Iterator[_Span]:
    for kind, anchors, pattern, judge, needs_solid in _SHAPES:
        if (needs_solid and not solid) or not any(anchor in text for anchor in anchors):
            continue
        for match in _regex(pattern).finditer(text):
            group = "secret" if "secret" in match.re.groupindex else 0
            if not judge(match[group]):
                continue
            yield _Span(*match.span(group), kind)
            if kind == "aws_key_id":
                # The secret that belongs to a key id: forty base64 characters are believed only beside one.
                bare = _regex(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
                hashlike = _regex(r"[0-9a-f]+|[0-9A-F]+|[^A-Z]+|[^a-z]+")
                for secret in bare.finditer(text, max(0, match.start() - _BESIDE), match.end() + _BESIDE):
                    if _random(secret[0]) and not hashlike.fullmatch(secret[0]):
                        yield _Span(*secret.span(), "aws_secret_key")


_BESIDE = 200

_PEM_MARK = r"-{4,5} ?(?P<end>BEGIN|END) [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# Lines of base64, whatever mail quoting, indentation or JSON escaping wraps them.
_PEM_LINES = r"(?:(?:\\[nrt]|[\s>|\"'+,])*+[A-Za-z0-9+/=]{20,}+)+"


def _find_private_keys(text: str) -> Iterator[_Span]:
    if "PRIVATE KEY" not in text:
        return
    marks = list(_regex(_PEM_MARK).finditer(text))
    for mark, following in zip_longest(marks, marks[1:]):
        if mark["end"] == "END":
            continue
        limit = following.start() if following else len(text)
        # Headers and log prefixes between the lines are fine; pages of prose between two quoted markers are not.
        base64 = sum(map(len, _regex(r"[A-Za-z0-9+/=]{20,}").findall(text[mark.end() : limit])))
        if following and following["end"] == "END" and 2 * base64 >= limit - mark.end():
            yield _Span(mark.start(), following.end(), "private_key")
        elif lines := _regex(_PEM_LINES).match(text, mark.end(), limit):
            yield _Span(mark.start(), lines.end(), "private_key")


_USERINFO = r"://[^\s:@/?#\"'<>\[]*:(?P<secret>[^\s/\"'<>`]+)@(?!sha[0-9]+:)"


def _find_url_passwords(text: str) -> Iterator[_Span]:
    for match in _regex(_USERINFO).finditer(text):
        value = match["secret"]
        # `http://host:8080, mail me@there` is an address with a port, then a sentence.
        if not _template(value) and not _regex(r"[0-9]{1,5}[^A-Za-z0-9].*|[*xX.•]+|%[sdr]").fullmatch(value):
            yield _Span(*match.span("secret"), "url_password")


_CARD = r"[2-6](?:(?<![0-9A-Za-z_.#/+-].)|(?<=\\[nrt].))[0-9]{3}(?:[ -]?[0-9]){9,15}(?![0-9A-Za-z_/+-]|\.[0-9])"
_GROUPED = r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5}"
_ISSUED = (
    r"4[0-9]{15}|4[0-9]{12}|5[1-5][0-9]{14}|2(?:2[2-9]|[3-6][0-9]|7[01])[0-9]{13}|3[47][0-9]{13}"
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|35[2-8][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
)
_CARD_WORDS = r"(?i:(?<!REDACTED:)card|visa|amex|credit|debit|payment|checkout|cvv|cvc|billing)"
_NEARBY = 80


def _find_cards(text: str) -> Iterator[_Span]:
    for match in _regex(_CARD).finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
        luhn = (doubled + sum(int(digit) for digit in digits[::-2])) % 10
        if luhn or not _regex(_ISSUED).fullmatch(digits) or len(set(digits)) == 1:
            continue
        # One bare number in ten passes Luhn by chance, so an ungrouped one needs a word to explain it.
        around = text[max(0, match.start() - _NEARBY) : match.end() + _NEARBY]
        if _regex(_GROUPED).fullmatch(match[0]) or (match[0] == digits and _regex(_CARD_WORDS).search(around)):
            yield _Span(*match.span(), "card")


# Matched against lowered text. Only the value is replaced, so what stands before the name matters for keys alone:
# a primary key, a cache key or a key of a dictionary is no secret.
_NAMES = (
    ("password", "pass", r"pass(?:w(?:or[dt]|d)|phrase|code|(?<=[_-]pass))"),
    ("password", "pw", r"pw(?:d|(?<![a-z0-9]pw))"),
    ("secret", "secret", r"secret"),
    ("secret", "credential", r"credentials?"),
    ("token", "token", r"token"),
    ("key", "key", r"key"),
)
_KEY_OF = (
    r"(?:(?P<aws_secret_key>secret[ _-]?access)|(?P<api_key>api|access|auth|account|app|service|subscription)"
    r"|(?P<secret>secret|private|signing|encryption|master))[ _-]?\Z"
)
# Page and lock tokens, resource names (`arn:…:secret:name`, `Vault::Secret`) and our own placeholders only sound like
# secrets. Were a placeholder taken for a name, each pass could redact what follows it, and so on down the text.
_HARMLESS = (
    r"(?::|::[a-z]{1,30}|\[redacted:[a-z_]{1,24}|(?:next|page|pagination|starting|continuation|backward|forward|sync"
    r"|cursor|lock|idempotency|public[_-]?key)[ _-]?)\Z"
)
_OPERATOR = (
    r"(?:[_-]?(?:[0-9]{1,2}|prod|production|dev|staging|test|live|value|old|new))?"
    r"(?:(?: (?:for|of|on|to) [^:=\n]{1,40}?| \([^()\n]{1,40}\))?[\"'`*\])\\]{0,4}"
    r"(?P<op>[ \t]{0,4}:[ \t]{0,4}[a-z][a-z0-9_.\[\]| ]{0,30}=(?=[ \t]{0,4}[\"'])"
    r"|[ \t]{0,4}(?::=|=>|->|={1,3}|:)|[ \t]+(?:is|was)(?=[ \t]))"
    r"|[ \t*`]{0,8}(?P<weak>[ |>]))"
    r"[ \t]{0,8}\*{0,2}[ \t]{0,8}(?:[brfu]{1,2}(?=[\"']))?"
)

_QUOTED = (
    r"\"(?P<double>(?:[^\"\\\n]|\\.){1,4096}+)\"|'(?P<single>(?:[^'\\\n]|\\.){1,4096}+)'|`(?P<tick>[^`\n]{1,4096}+)`"
    r"|\\[\"'](?P<escaped>[^\"'\\\n]{1,4096}+)\\[\"']"
)
# Judged on at most this much of it; the rest of an accepted run goes with it.
_JUDGED = 256
_BARE = r"\\?[\"'`]?(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\]{1,256})"
_BARE_REST = r"[^\s\"'`,;&|<>(){}\[\]\\]*"
# On a line of its own, `DB_PASSWORD=a&b,(c` is one value up to the next blank.
_LINE = r"(?P<bare>[^\s\"'`]{1,256})"
_LINE_REST = r"[^\s\"'`]*"
_LINE_START = r"(?:\A|\n)[ \t]*(?:export |set |env |- )?[a-z0-9_.-]*\Z"
_BEFORE = {
    " ": r"(?:\A|[\s\"'])--?[a-z0-9_-]*\Z",  # --password hunter22
    "|": r"\|[ \t*`]*[a-z0-9_ .-]*\Z",  # | password | hunter22 |
    ">": r"<[a-z0-9_:.-]*\Z",  # <password>hunter22</password>
}
_CONTEXT = 48


class _Value(NamedTuple):
    text: str
    kind: str
    quoted: bool
    line: bool
    start: int
    end: int
    after: str


def _find_assignments(text: str, lowered: str) -> Iterator[_Span]:
    for kind, stem, name in _NAMES:
        if stem not in lowered:
            continue
        done = 0
        for match in _regex(name + _OPERATOR).finditer(lowered):
            # Names inside a value already taken are skipped, or a long run of them would be walked once for each.
            if match.start() < done:
                continue
            value = _value(text, lowered, match, kind)
            if value and _secret_value(value):
                rest = _LINE_REST if value.line else _BARE_REST
                done = value.end if value.quoted else _end_of_run(rest, text, value.start, value.end)
                yield _Span(value.start, done, value.kind)


def _value(text: str, lowered: str, name: re.Match[str], kind: str) -> _Value | None:
    before = lowered[max(0, name.start() - _CONTEXT) : name.start()]
    if name["weak"] and not _regex(_BEFORE[name["weak"]]).search(before):
        return None
    if _regex(_HARMLESS).search(before):
        return None
    if kind == "key":
        of = _regex(_KEY_OF).search(before)
        if of is None or of.lastgroup is None:
            return None
        kind = of.lastgroup
    line = name["op"] == "=" and _regex(_LINE_START).search(before) is not None
    value = _regex(_QUOTED).match(text, name.end()) or _regex(_LINE if line else _BARE).match(text, name.end())
    if value is None or value.lastgroup is None:
        return None
    quoted = value.lastgroup != "bare"
    start, end = value.span(value.lastgroup)
    if not quoted and not line and end - start < _JUDGED:
        end = start + len(text[start:end].rstrip(".:?"))
    return _Value(text[start : min(end, start + _JUDGED)], kind, quoted, line, start, end, text[end : end + 2])


def _end_of_run(pattern: str, text: str, start: int, end: int) -> int:
    """Go on to the end of a run that was cut off to be judged."""
    rest = _regex(pattern).match(text, end) if end - start == _JUDGED else None
    return rest.end() if rest else end


def _secret_value(value: _Value) -> bool:
    text = value.text
    if _template(text) or _regex(r"\s").search(text):
        return False
    if not value.quoted:
        # An expression is no secret: a call, an index, an attribute, a constant, a numbered variable.
        call = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*[(\[]|{_IDENTIFIER}(?:\.{_IDENTIFIER})+=[A-Za-z]"
        name = (
            rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+"
            r"|[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20})+|[a-z]{1,20}(?:_[a-z]{1,20})+_?[0-9]{0,2}"
        )
        if value.after[:1] in ("(", "[") or _regex(call).match(text) or _regex(name).fullmatch(text):
            return False
    if value.kind == "password" or (value.kind == "secret" and (value.quoted or value.line) and "-" not in text):
        return _password(value)
    if not _regex(r"[A-Za-z]").search(text) or not _regex(r"[0-9]").search(text):
        return False
    if _regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(?:sha|md)[0-9]+[:=-]|[a-z][a-z0-9+.]*://|arn:").match(text):
        return False
    return _scrambled(text) >= (_RANDOM if value.quoted or value.line else _RANDOM_IN_PROSE)


_RANDOM_IN_PROSE = 12


def _template(text: str) -> bool:
    """Recognise a hole to be filled in, a mask, or a placeholder of ours."""
    return bool(
        _regex(r"\$\{|\{\{|\$\(|%\(|\[REDACTED:|\.\.\.|…|<[^<>\s]+>|&lt;|\{[A-Za-z_][A-Za-z0-9_.]*\}").search(text)
        or _regex(r"\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z0-9_]+%|\{[^{}]*\}|:[a-z_]+").fullmatch(text)
    )


_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,40}"
_TECHNICAL = (
    r"(?i:(?:sha|md|base|oauth|auth|argon|pbkdf|hs|rs|es|ps|utf|aes|rsa|rfc|http|ed|blake|tls|ipv|python|py|node|v|x"
    r"|version|step|phase|level|section|option|line|page|issue|part|java|win|web|s|ec|p|h|k|i|l)[0-9]{1,5}[a-z]{0,4}"
    r"|[0-9]{1,4}(?:x|s|ms|m|h|d|k|kb|mb|gb|min|mins|hrs?|hours?|days?|weeks?|months?|years?|chars?|characters?"
    r"|digits?|bits?|bytes?|letters?|symbols?|words?|times?|attempts?|tries|th|st|nd|rd))"
)
_DUMMY = (
    r"pass|pwd|secret|token|string|text|your|example|sample|placeholder|required|optional|hidden|none|null|undefined"
    r"|invalid|missing|incorrect|wrong|reset|forgot|confirm|enter|field|input|user|value|type|redact|removed|mask|xxx"
    r"|prompt|default|login|encrypted|hashed|object|label|stdin|vault|keyring"
)
_SHORTEST_PASSWORD = 6
_LONG_PASSWORD = 8


def _password(value: _Value) -> bool:
    text = value.text
    if len(text) < _SHORTEST_PASSWORD or _regex(r"(.)\1*").fullmatch(text):
        return False
    long = len(text) >= _LONG_PASSWORD
    prose = not value.quoted and not value.line and _regex(r"[ \t][A-Za-z]").match(value.after) is not None
    if not _regex(r"[A-Za-z]").search(text):
        return not prose and _regex(r"[0-9]+").fullmatch(text) is not None
    if _regex(r"[0-9]").search(text):
        return (long or not prose) and not _ordinary(text)
    if _regex(r"[^@#].{2,}[!@#$%^].+").fullmatch(text):
        return long and not _regex(r"[^@]+@[^@]+\.[A-Za-z]+").fullmatch(text)
    # Letters alone are a password only in quotes, and not when they are a label ("Passwort") or a type ("string").
    if value.kind != "password" or not value.quoted or _regex(_DUMMY).search(text):
        return False
    return _regex(r"[a-z]+(?:(?:-[a-z]+){2,})?").fullmatch(text) is not None


def _ordinary(text: str) -> bool:
    """Recognise what follows `password:` in a sentence about passwords: `sha256`, `8-digit`, `2024-05-01`, `v1.2`."""
    if _regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z][a-z0-9+.]*://").match(text):
        return True
    if _regex(r"\.{0,2}~?/[A-Za-z0-9_./-]+").fullmatch(text):
        return _scrambled(text) < _RANDOM
    parts = _regex(r"[-_./:+]").split(text)
    technical = [part for part in parts if _regex(rf"{_TECHNICAL}|[0-9]{{1,3}}").fullmatch(part)]
    return bool(technical) and all(part in technical or _regex(r"[A-Za-z]*|[0-9]+").fullmatch(part) for part in parts)


_AUTHORIZATION = (
    r"authorization(?<![a-z]authorization)[\"'\\`]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'\\`]{0,4}"
    r"(?:(?:bearer|token|apikey|(?P<basic>basic))[ \t]{1,4})?"
)
_BEARER = r"bearer(?P<basic>)[ \t]{1,4}"
_CREDENTIAL = r"[A-Za-z0-9._~+/=:|-]{1,256}"
_CREDENTIAL_REST = r"[A-Za-z0-9._~+/=:|-]*"


def _find_authorization(text: str, lowered: str) -> Iterator[_Span]:
    for stem, scheme in (("authorization", _AUTHORIZATION), ("bearer", _BEARER)):
        if stem not in lowered:
            continue
        done = 0
        for match in _regex(scheme).finditer(lowered):
            value = _regex(_CREDENTIAL).match(text, match.end())
            if value is None or match.start() < done:
                continue
            start, end = match.end(), match.end() + len(value[0].rstrip("."))
            credential = text[start:end]
            # Base64 need not hold a digit, but is no word: `Basic Authentication` is not a credential.
            word = _regex(r"[A-Z]?[a-z]+|[A-Z]+").fullmatch(credential)
            base64 = _regex(r"(?:[A-Za-z0-9+/]{4})+[A-Za-z0-9+/]{2}[A-Za-z0-9+/=]{2}").fullmatch(credential)
            if _random(credential) or (match["basic"] and base64 and not word):
                done = _end_of_run(_CREDENTIAL_REST, text, start, end)
                yield _Span(start, done, "basic_auth" if match["basic"] else "bearer_token")


# Most telling first: where two findings overlap, the earlier kind names the placeholder.
KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        kind
        for kinds in (
            ("private_key",),
            (shape.kind for shape in _SHAPES),
            ("aws_secret_key", "url_password", "card", "bearer_token", "basic_auth"),
            ("password", "api_key", "secret", "token"),
        )
        for kind in kinds
    )
)
