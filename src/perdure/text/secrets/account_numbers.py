"""Numbers of accounts: issuer prefix, length, check digits, and either grouping or a nearby word."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.text.secrets.spans import SecretSpan, regex

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
