"""Tokens that their vendor made recognisable: one row for each kind."""

from __future__ import annotations

import re
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


# For a pattern that opens with no literal.
_EDGE = r"(?<![A-Za-z0-9_-])"
_URLSAFE = r"[A-Za-z0-9_-]"
# How the base64 of a number of eighteen digits begins.
_DISCORD = ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")
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
        rf"gl(?:pat|dt|rtr?|ptt|cbt|f(?:fc)?t|soat|agent|imt|oas|wt)-{_URLSAFE}{{20,}}(?:\.[A-Za-z0-9]+)*",
    ),
    Shape("gitlab_token", ("GR1348941",), rf"GR1348941{_URLSAFE}{{20,}}"),
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
    Shape("stripe_key", ("sk_",), r"sk_(?:live|test|prod)_[A-Za-z0-9]{16,}", solid=True),
    Shape("stripe_key", ("rk_",), r"rk_(?:live|test|prod)_[A-Za-z0-9]{16,}", solid=True),
    Shape("stripe_key", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    Shape("npm_token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=True),
    Shape("pypi_token", ("pypi-",), rf"pypi-{_URLSAFE}{{50,}}", is_long_random),
    Shape("huggingface_token", ("hf_",), r"hf_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    Shape("huggingface_token", ("api_org_",), r"api_org_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=True),
    Shape("sendgrid_key", ("SG.",), rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    Shape("twilio_key", ("SK", "AC"), rf"{_words('SK', 'AC')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=True),
    Shape("aws_key_id", _AWS, rf"{_words(*_AWS)}{_ASIA}[A-Z0-9]{{16}}(?![A-Za-z0-9])", bool, solid=True),
    Shape("aws_key_id", ("ABSK",), rf"{_word('ABSK')}[A-Za-z0-9+/]{{100,}}={{0,2}}", is_random),  # Bedrock
    Shape("azure_key", ("Q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Shape(
        "discord_token", _DISCORD, rf"{_EDGE}[MNO]{_URLSAFE}{{22,27}}\.{_URLSAFE}{{6}}\.{_URLSAFE}{{27,}}", is_random
    ),
    # Language models and what agents use beside them
    Shape("service_token", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}", solid=True),  # Groq
    Shape("service_token", ("xai-",), rf"{_word('xai-')}[A-Za-z0-9]{{40,}}", solid=True),  # xAI
    Shape("service_token", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}", solid=True),  # Perplexity
    Shape("service_token", ("r8_",), rf"{_word('r8_')}[A-Za-z0-9]{{32,}}", solid=True),  # Replicate
    Shape("service_token", ("tvly-",), r"tvly-[A-Za-z0-9-]{20,}", is_random),  # Tavily
    Shape("service_token", ("pcsk_",), r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}", solid=True),  # Pinecone
    Shape("service_token", ("lsv2_",), r"lsv2_[a-z]{2}_[A-Za-z0-9]{32}_[A-Za-z0-9]{10}", solid=True),  # LangSmith
    Shape("service_token", ("nvapi-",), rf"nvapi-{_URLSAFE}{{40,}}", is_random),  # NVIDIA
    Shape("service_token", ("jina_",), r"jina_[A-Za-z0-9]{40,}", solid=True),  # Jina
    Shape("service_token", ("tgp_v1_",), rf"tgp_v1_{_URLSAFE}{{40,}}", is_random),  # Together
    Shape("service_token", ("fc-",), rf"{_word('fc-')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=True),  # Firecrawl
    Shape("service_token", ("e2b_",), rf"{_word('e2b_')}[0-9a-f]{{40}}", solid=True),  # E2B
    Shape("service_token", ("sk_",), rf"{_word('sk_')}[0-9a-f]{{48}}(?![A-Za-z0-9])", solid=True),  # ElevenLabs
    # Notes, design, data
    Shape("service_token", ("ntn_",), r"ntn_[A-Za-z0-9]{40,}", solid=True),  # Notion
    Shape("service_token", ("secret_",), rf"{_word('secret_')}[A-Za-z0-9]{{43}}(?![A-Za-z0-9])", is_random, solid=True),
    Shape("service_token", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", solid=True),  # Linear
    Shape("service_token", ("figd_",), rf"figd_{_URLSAFE}{{30,}}", is_random),  # Figma
    Shape("service_token", ("pat",), rf"{_word('pat')}[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}", solid=True),  # Airtable
    Shape("service_token", ("pat-",), rf"{_word('pat-')}[a-z]{{2}}[0-9]-[0-9a-f-]{{36}}"),  # HubSpot
    Shape(
        "service_token", ("2/", "1/", "0/"), rf"{_EDGE}[0-2]/[0-9]{{10,20}}(?:/[0-9]{{10,20}})?:[0-9a-f]{{32}}"
    ),  # Asana
    Shape("service_token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", is_random),  # Atlassian
    Shape("service_token", ("ATBB",), rf"{_word('ATBB')}[A-Za-z0-9]{{28,}}", solid=True),  # Bitbucket
    Shape("service_token", ("CFPAT-",), rf"CFPAT-{_URLSAFE}{{40,}}", is_random),  # Contentful
    Shape("service_token", ("dapi",), rf"{_word('dapi')}[0-9a-f]{{32}}(?:-[0-9])?", solid=True),  # Databricks
    Shape("service_token", ("pscale_",), r"pscale_[a-z]{2,6}_[A-Za-z0-9_.=-]{32,}", is_random),  # PlanetScale
    Shape("service_token", ("sbp_",), r"sbp_[0-9a-f]{40}", solid=True),  # Supabase
    Shape("service_token", ("sb_secret_",), rf"sb_secret_{_URLSAFE}{{20,}}", is_random),  # Supabase
    Shape("service_token", ("sl.",), rf"{_word('sl[.]')}{_URLSAFE}{{130,}}", is_random),  # Dropbox
    # Where programs run and are watched
    Shape("service_token", ("_v1_",), r"do[opr]_v1_[A-Za-z0-9]{40,}", solid=True),  # DigitalOcean
    Shape("service_token", ("cfut_", "cfat_", "cfk_"), rf"cf(?:ut|at|k)_{_URLSAFE}{{40,}}", is_random),  # Cloudflare
    Shape("service_token", ("v1.0-",), rf"{_word('v1[.]0-')}[0-9a-f]{{24}}-[0-9a-f]{{140,}}", solid=True),  # Cloudflare
    Shape("service_token", ("vc",), rf"{_words('vcp_', 'vci_', 'vca_', 'vcr_', 'vck_')}[A-Za-z0-9]{{24,}}", solid=True),
    Shape("service_token", ("nfp_",), r"nfp_[A-Za-z0-9]{30,}", solid=True),  # Netlify
    Shape("service_token", ("fm1", "fm2_"), rf"{_word('fm')}[12][ar]?_[A-Za-z0-9+/]{{100,}}={{0,3}}", is_random),  # Fly
    Shape("service_token", ("fo1_",), rf"{_word('fo1_')}{_URLSAFE}{{40,}}", is_random),  # Fly
    Shape("service_token", ("rnd_",), rf"{_word('rnd_')}[A-Za-z0-9]{{24,}}", is_random, solid=True),  # Render
    Shape("service_token", ("HRKU-",), rf"HRKU-{_URLSAFE}{{30,}}", is_random),  # Heroku
    Shape("service_token", (".atlasv1.",), rf"{_EDGE}[A-Za-z0-9]{{14}}\.atlasv1\.{_URLSAFE}{{60,}}"),  # Terraform
    Shape("service_token", ("pul-",), rf"{_word('pul-')}[0-9a-f]{{40}}", solid=True),  # Pulumi
    Shape("service_token", ("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_URLSAFE}{{24,}}", is_random),  # Vault
    Shape(
        "service_token", ("dp.",), rf"{_word('dp[.]')}[a-z]{{2,5}}\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,}}"
    ),  # Doppler
    Shape("service_token", ("tskey-",), r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{20,}", is_random),  # Tailscale
    Shape("service_token", ("dckr_",), rf"dckr_[a-z]{{3}}_{_URLSAFE}{{20,}}", is_random),  # Docker Hub
    Shape("service_token", ("glsa_",), r"glsa_[A-Za-z0-9]{32}_[A-Za-z0-9]{8}", solid=True),  # Grafana
    Shape("service_token", ("glc_",), rf"{_word('glc_')}[A-Za-z0-9+/]{{32,}}={{0,3}}", is_random),  # Grafana
    Shape("service_token", ("sntry",), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", is_random),  # Sentry
    Shape("service_token", ("NRAK-", "NRII-"), rf"NR(?:AK|II)-{_URLSAFE}{{27,}}", is_random),  # New Relic
    Shape("service_token", ("NRAL",), rf"{_EDGE}[A-Za-z0-9]{{36}}NRAL(?![A-Za-z0-9])", solid=True),  # New Relic
    Shape("service_token", ("phx_",), r"phx_[A-Za-z0-9]{40,}", solid=True),  # PostHog
    Shape("service_token", ("CCIPAT_",), r"CCIPAT_[A-Za-z0-9]{20,}_[0-9a-f]{40}", solid=True),  # CircleCI
    # Shops, mail, packages, tools
    Shape("service_token", ("shp",), r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}", solid=True),  # Shopify
    Shape("service_token", ("EAAA",), rf"{_word('EAAA')}{_URLSAFE}{{56,}}", is_random),  # Square
    Shape("service_token", ("sq0",), rf"sq0(?:atp|csp)-{_URLSAFE}{{22,}}", is_random),  # Square
    Shape("service_token", ("key-",), rf"{_word('key-')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=True),  # Mailgun
    Shape(
        "service_token", ("-",), rf"{_EDGE}[0-9a-f]{{32}}-(?:us[0-9]{{1,2}}|[0-9a-f]{{8}}-[0-9a-f]{{8}})\b", solid=True
    ),
    Shape("service_token", ("sib-",), r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", solid=True),  # Brevo
    Shape(
        "service_token", ("re_",), rf"{_word('re_')}[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}", is_random, solid=True
    ),  # Resend
    Shape("service_token", ("rubygems_",), r"rubygems_[0-9a-f]{48}", solid=True),
    Shape(
        "service_token", ("cio",), rf"{_word('cio')}[A-Za-z0-9]{{32}}(?![A-Za-z0-9])", is_random, solid=True
    ),  # crates
    Shape("service_token", ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", solid=True),  # Postman
    Shape("service_token", ("ops_eyJ",), rf"ops_eyJ{_URLSAFE}{{100,}}", is_random),  # 1Password
    Shape(
        "service_token",
        ("A3-",),
        rf"{_word('A3-')}[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}}",
    ),
    Shape("service_token", ("-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", solid=True),  # age
)


# Looked for in every text with a long run, so there is nothing but the loop around them.
_ANCHORS = tuple((anchor, shape) for shape in SHAPES for anchor in shape.anchors)
_BROKEN_ANCHORS = tuple((anchor, shape) for anchor, shape in _ANCHORS if not shape.solid)


def find_tokens(text: str, *, solid: bool) -> Iterator[SecretSpan]:
    """`solid`: the text holds at least sixteen letters and digits in a row."""
    for anchor, shape in _ANCHORS if solid else _BROKEN_ANCHORS:
        if anchor not in text:
            continue
        for match in regex(shape.pattern).finditer(text):
            group = "secret" if "secret" in match.re.groupindex else 0
            if not shape.judge(match[group]):
                continue
            yield SecretSpan(*match.span(group), shape.kind)
            if shape.kind == "aws_key_id":
                yield from _find_aws_secrets(text, match)


def _find_aws_secrets(text: str, key_id: re.Match[str]) -> Iterator[SecretSpan]:
    """The secret that belongs to a key id: forty base64 characters are believed only beside one."""
    bare = regex(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
    hashlike = regex(r"[0-9a-f]+|[0-9A-F]+|[^A-Z]+|[^a-z]+")
    for secret in bare.finditer(text, max(0, key_id.start() - _BESIDE), key_id.end() + _BESIDE):
        if is_random(secret[0]) and not hashlike.fullmatch(secret[0]):
            yield SecretSpan(*secret.span(), "aws_secret_key")


_BESIDE = 200
