"""Tokens that their vendor made recognisable: one row for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from perdure.text.secrets.randomness import is_long_random, is_numbered, is_random, is_varied
from perdure.text.secrets.spans import SecretSpan, regex


class Shape(NamedTuple):
    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = is_varied
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

SHAPES = (
    Shape("jwt", ("eyJ",), rf"{_word('eyJ')}{_URLSAFE}{{8,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}+)*"),
    Shape("github_token", ("gh",), r"gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=True),
    Shape("github_token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}", is_random, solid=True),
    Shape(
        "gitlab_token",
        ("gl",),
        rf"gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|imt|oas)-{_URLSAFE}{{20,}}(?:\.[A-Za-z0-9]+)*",
    ),
    Shape("slack_token", ("xox",), r"xox(?:e\.xox)?[a-z]-[A-Za-z0-9-]{10,}", is_numbered),
    Shape("slack_token", ("xapp-",), r"xapp-[0-9]-[A-Za-z0-9-]{10,}", is_numbered),
    Shape(
        "slack_webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{20,})",
    ),
    Shape("discord_webhook", ("/api/webhooks/",), rf"/api/webhooks/(?P<secret>[0-9]{{15,20}}/{_URLSAFE}{{30,}})"),
    Shape("telegram_token", (":AA",), rf"{_word('')}[0-9]{{8,10}}:AA{_URLSAFE}{{32,}}"),
    Shape("google_key", ("AIza",), rf"{_word('AIza')}{_URLSAFE}{{35,}}"),
    Shape("google_key", ("GOCSPX-",), rf"GOCSPX-{_URLSAFE}{{20,}}"),
    Shape("google_key", ("ya29.",), rf"ya29\.{_URLSAFE}{{20,}}", is_random),
    Shape("anthropic_key", ("sk-ant-",), rf"{_word('sk-ant-')}{_URLSAFE}{{20,}}", is_random),
    Shape("openai_key", ("sk-",), rf"{_word('sk-')}(?!ant-){_URLSAFE}{{20,}}", is_long_random),
    Shape("stripe_key", ("sk_live_", "sk_test_"), r"sk_(?:live|test)_[A-Za-z0-9]{16,}", solid=True),
    Shape("stripe_key", ("rk_live_", "rk_test_"), r"rk_(?:live|test)_[A-Za-z0-9]{16,}", solid=True),
    Shape("stripe_key", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    Shape("npm_token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=True),
    Shape("pypi_token", ("pypi-",), rf"pypi-{_URLSAFE}{{50,}}", is_long_random),
    Shape("huggingface_token", ("hf_",), r"hf_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    Shape("huggingface_token", ("api_org_",), r"api_org_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    Shape("sendgrid_key", ("SG.",), rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    Shape("twilio_key", ("SK", "AC"), rf"{_words('SK', 'AC')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=True),
    Shape("aws_key_id", _AWS, rf"{_words(*_AWS)}{_ASIA}[A-Z0-9]{{16}}(?![A-Za-z0-9])", bool, solid=True),
    Shape("service_token", ("shp",), r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}", solid=True),  # Shopify
    Shape("service_token", ("_v1_",), r"do[opr]_v1_[A-Za-z0-9]{40,}", solid=True),  # DigitalOcean
    Shape("service_token", ("dckr_",), rf"dckr_[a-z]{{3}}_{_URLSAFE}{{20,}}", is_random),  # Docker Hub
    Shape("service_token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[A-Za-z0-9]{8}", solid=True),  # Grafana
    Shape("service_token", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}", solid=True),  # Groq
    Shape("service_token", ("r8_",), rf"{_word('r8_')}[A-Za-z0-9]{{32,}}", solid=True),  # Replicate
    Shape("service_token", ("xai-",), rf"{_word('xai-')}[A-Za-z0-9]{{40,}}", solid=True),  # xAI
    Shape("service_token", ("hvs.",), rf"hvs\.{_URLSAFE}{{24,}}", is_random),  # Vault
    Shape("service_token", ("lin_api_",), r"lin_api_[A-Za-z0-9]{32,}", solid=True),  # Linear
    Shape("service_token", ("-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", solid=True),  # age
)


def find_tokens(text: str, *, solid: bool) -> Iterator[SecretSpan]:
    for kind, anchors, pattern, judge, needs_solid in SHAPES:
        if (needs_solid and not solid) or not any(anchor in text for anchor in anchors):
            continue
        for match in regex(pattern).finditer(text):
            group = "secret" if "secret" in match.re.groupindex else 0
            if not judge(match[group]):
                continue
            yield SecretSpan(*match.span(group), kind)
            if kind == "aws_key_id":
                # The secret that belongs to a key id: forty base64 characters are believed only beside one.
                bare = regex(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
                hashlike = regex(r"[0-9a-f]+|[0-9A-F]+|[^A-Z]+|[^a-z]+")
                for secret in bare.finditer(text, max(0, match.start() - _BESIDE), match.end() + _BESIDE):
                    if is_random(secret[0]) and not hashlike.fullmatch(secret[0]):
                        yield SecretSpan(*secret.span(), "aws_secret_key")


_BESIDE = 200
