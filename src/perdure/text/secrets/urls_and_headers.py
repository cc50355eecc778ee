"""Secrets in addresses: passwords, signatures, one-time keys; and credentials and cookies in HTTP headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.text.secrets.randomness import is_random, is_template
from perdure.text.secrets.spans import SecretSpan, end_of_run, regex

_USERINFO = r"://[^\s:@/?#\"'<>\[]*:(?P<secret>[^\s/\"'<>`]+)@(?!sha[0-9]+:)"


def find_url_passwords(text: str) -> Iterator[SecretSpan]:
    for match in regex(_USERINFO).finditer(text):
        value = match["secret"]
        # `http://host:8080, mail me@there` is an address with a port, then a sentence.
        if not is_template(value) and not regex(r"[0-9]{1,5}[^A-Za-z0-9].*|[*xX.•]+|%[sdr]").fullmatch(value):
            yield SecretSpan(*match.span("secret"), "url_password")


_AUTHORIZATION = (
    r"authorization(?<![a-z]authorization)[\"'\\`]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\"'\\`]{0,4}"
    r"(?:(?:bearer|token|apikey|(?P<basic>basic))[ \t]{1,4})?"
)
_BEARER = r"bearer(?P<basic>)[ \t]{1,4}"
_CREDENTIAL = r"[A-Za-z0-9._~+/=:|-]{1,256}"
_CREDENTIAL_REST = r"[A-Za-z0-9._~+/=:|-]*"


def find_authorization(text: str, lowered: str) -> Iterator[SecretSpan]:
    for stem, scheme in (("authorization", _AUTHORIZATION), ("bearer", _BEARER)):
        if stem not in lowered:
            continue
        done = 0
        for match in regex(scheme).finditer(lowered):
            value = regex(_CREDENTIAL).match(text, match.end())
            if value is None or match.start() < done:
                continue
            start, end = match.end(), match.end() + len(value[0].rstrip("."))
            credential = text[start:end]
            # Base64 need not hold a digit, but is no word: `Basic Authentication` is not a credential.
            word = regex(r"[A-Z]?[a-z]+|[A-Z]+").fullmatch(credential)
            base64 = regex(r"(?:[A-Za-z0-9+/]{4})+[A-Za-z0-9+/]{2}[A-Za-z0-9+/=]{2}").fullmatch(credential)
            if is_random(credential) or (match["basic"] and base64 and not word):
                done = end_of_run(_CREDENTIAL_REST, text, start, end)
                yield SecretSpan(start, done, "basic_auth" if match["basic"] else "bearer_token")


_SIGNATURE = r"[?&;]sig=(?P<secret>[A-Za-z0-9%/+_-]{30,}={0,2})"
_ONE_TIME_KEY = r"otpauth://[^\s\"'<>]{1,200}?[?&]secret=(?P<secret>[A-Za-z2-7]{10,}={0,6})"


def find_signatures(text: str) -> Iterator[SecretSpan]:
    """Shared access signatures of Azure, and the keys behind one-time passwords."""
    for match in regex(_SIGNATURE).finditer(text):
        if is_random(match["secret"]):
            yield SecretSpan(*match.span("secret"), "azure_key")
    if "otpauth://" in text:
        for match in regex(_ONE_TIME_KEY).finditer(text):
            yield SecretSpan(*match.span("secret"), "totp_secret")


# The cookies of a header, up to the end of the line; and those that are known by their name anywhere.
_COOKIES = (
    r"cookie(?<![a-z]cookie)[\"'\\]{0,3}[ \t]{0,4}[:=][ \t]{0,4}(?P<cookies>[^\r\n]{1,4096})",
    r"-b(?<!\S-b) (?P<cookies>[^\r\n]{1,4096})",
)
_COOKIE = (
    r"(?<![^\s;\"'])[A-Za-z0-9_.-]{0,40}(?:sess|sid|auth|token|login|jwt)[A-Za-z0-9_.-]{0,20}"
    r"=(?P<secret>[^\s;\"',\\]{16,})"
)
_SESSION_COOKIES = ("sessid=", "sessionid=", ".sid=")


def find_cookies(text: str, lowered: str) -> Iterator[SecretSpan]:
    spans = [
        match.span("secret")
        for name in _SESSION_COOKIES
        if name in lowered
        for match in regex(re.escape(name) + r"(?P<secret>[^\s;\"',&\\]{16,})").finditer(lowered)
    ]
    headers = _COOKIES if "curl" in lowered else _COOKIES[:1] if "cookie" in lowered else ()
    for pattern in headers:
        for header in regex(pattern).finditer(lowered):
            within = header.span("cookies")
            spans += (match.span("secret") for match in regex(_COOKIE).finditer(lowered, *within))
    for start, end in spans:
        if is_random(text[start:end]) and not is_template(text[start:end]):
            yield SecretSpan(start, end, "cookie")
