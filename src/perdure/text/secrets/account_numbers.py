"""Numbers of accounts: issuer prefix, length, check digits, and either grouping or a nearby word."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.text.secrets.spans import SecretSpan, regex

_SHORTEST_CARD = 13
_CAPITALS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
# Each digit as 0 and each capital as A: where no number can be, no regular expression is run.
_SHAPES = bytes(ord("0") if byte in _DIGITS else ord("A") if byte in _CAPITALS else byte for byte in range(256))


def find_account_numbers(text: str, raw: bytes, digits: int) -> Iterator[SecretSpan]:
    """`raw` is the text in ASCII, `digits` how many digits it has."""
    shape = raw.translate(_SHAPES)
    if digits >= _SHORTEST_CARD:
        yield from find_cards(text)
    if b"AA00" in shape:
        yield from find_ibans(text)
    if b"000-00-0000" in shape or b"000 00 0000" in shape:
        yield from find_social_security_numbers(text)


_CARD = r"[2-6](?:(?<![0-9A-Za-z_.#/+-].)|(?<=\\[nrt].))[0-9]{3}(?:[ -]?[0-9]){9,15}(?![0-9A-Za-z_/+-]|\.[0-9])"
_GROUPED = r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5}"
_ISSUED = (
    r"4[0-9]{15}|4[0-9]{12}|5[1-5][0-9]{14}|2(?:2[2-9]|[3-6][0-9]|7[01])[0-9]{13}|3[47][0-9]{13}"
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|35[2-8][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
)
_CARD_WORDS = r"(?i:(?<!REDACTED:)card|visa|amex|credit|debit|payment|checkout|cvv|cvc|billing)"
_NEARBY = 80


def find_cards(text: str) -> Iterator[SecretSpan]:
    for match in regex(_CARD).finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
        luhn = (doubled + sum(int(digit) for digit in digits[::-2])) % 10
        if luhn or not regex(_ISSUED).fullmatch(digits) or len(set(digits)) == 1:
            continue
        # One bare number in ten passes Luhn by chance, so an ungrouped one needs a word to explain it.
        around = text[max(0, match.start() - _NEARBY) : match.end() + _NEARBY]
        if regex(_GROUPED).fullmatch(match[0]) or (match[0] == digits and regex(_CARD_WORDS).search(around)):
            yield SecretSpan(*match.span(), "card")


# How long the account number of a country is, from the registry of ISO 13616.
_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in (
        row.split(":")
        for row in (
            "15:NO 16:BE 18:DK,FI,FO,GL,NL 19:MK,SI 20:AT,BA,EE,LT,LU,XK 21:CH,HR,LI,LV 22:BG,BH,DE,GB,GE,IE,ME,RS "
            "23:AE,GI,IL 24:AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN 25:PT 26:IS,TR 27:FR,GR,IT,MC,MR,SM 28:AL,AZ,CY,DO,HU,LB,PL "
            "29:BR,PS,QA,UA 30:JO,KW,MU 31:MT"
        ).split()
    )
    for country in countries.split(",")
}
_IBAN = r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}(?:[ -]?[A-Z0-9]){11,27}"


def find_ibans(text: str) -> Iterator[SecretSpan]:
    for match in regex(_IBAN).finditer(text):
        length = _IBAN_LENGTHS.get(match[0][:2], 0)
        # A word in capitals may follow, so it is cut off where its country says.
        ends = [at for at, character in enumerate(match[0], 1) if character.isalnum()]
        if not length or len(ends) < length:
            continue
        end = match.start() + ends[length - 1]
        number = "".join(character for character in text[match.start() : end] if character.isalnum())
        rest = int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97
        if rest == 1 and not text[end : end + 1].isalnum():
            yield SecretSpan(match.start(), end, "iban")


# Numbers that the Social Security Administration has never given are left alone.
_SSN = (
    r"[0-8](?<![0-9A-Za-z_.-].)(?!(?<=0)00|(?<=6)66)[0-9]{2}([- ])(?!00)[0-9]{2}\1(?!0000)[0-9]{4}"
    r"(?![0-9A-Za-z_-]|\.[0-9])"
)
_SSN_WORDS = r"(?i:\bssn|social.?security|\btax.?id)"


def find_social_security_numbers(text: str) -> Iterator[SecretSpan]:
    for match in regex(_SSN).finditer(text):
        around = text[max(0, match.start() - _NEARBY) : match.end() + _NEARBY]
        if match[1] == "-" or regex(_SSN_WORDS).search(around):
            yield SecretSpan(*match.span(), "ssn")
