"""Tokens that their vendor made recognisable: one row for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from perdure.text.secrets.randomness import is_long_random, is_numbered, is_random, is_varied
from perdure.text.secrets.spans import SecretSpan, regex


class Shape(NamedTuple):
    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = is_varied
    solid: int = 0  # how many letters and digits in a row it holds at least: 0, 16 or 32


_service = partial(Shape, "service_token")


def _word(literal: str) -> str:
    """Match `literal` where no word is under way, or after an escape, for text that was JSON-encoded once already.

    The literal comes first because a pattern that opens with one is searched for several times faster.
    """
    return rf"{literal}(?:(?<![A-Za-z0-9_-]{literal})|(?<=\\[nrt]{literal}))"


def _words(*literals: str) -> str:
    return f"(?:{'|'.join(_word(literal) for literal in literals)})"


# Behind the first character of a pattern that opens with no literal: no word is under way before it.
_EDGE = r"(?<![A-Za-z0-9_-].)"
_URLSAFE = r"[A-Za-z0-9_-]"
_AWS = ("AKIA", "ASIA", "ABIA", "ACCA")
# ASIA opens ordinary capitalised words, so a digit has to follow; the others do not.
_ASIA = r"(?:(?<!ASIA)|(?=[A-Z]{0,15}[0-9]))"

SHAPES = (
    Shape("jwt", ("eyJ",), rf"{_word('eyJ')}{_URLSAFE}{{8,}}\.{_URLSAFE}{{8,}}(?:\.{_URLSAFE}+)*"),
    Shape("github_token", ("gh",), r"gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=32),
    Shape("github_token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}", is_random, solid=16),
    Shape(
        "gitlab_token",
        ("gl",),
        rf"gl(?:pat|dt|rtr?|ptt|cbt|f(?:fc)?t|soat|agent|imt|oas|wt)-{_URLSAFE}{{20,}}(?:\.[A-Za-z0-9]+)*",
    ),
    Shape("perdure_token", ("perdure_",), rf"perdure_[0-9a-f]{{10}}_{_URLSAFE}{{43}}", is_random, solid=0),
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
    Shape("stripe_key", ("sk_",), r"sk_(?:live|test|prod)_[A-Za-z0-9]{16,}", solid=16),
    Shape("stripe_key", ("rk_",), r"rk_(?:live|test|prod)_[A-Za-z0-9]{16,}", solid=16),
    Shape("stripe_key", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    Shape("npm_token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*", solid=32),
    Shape("pypi_token", ("pypi-",), rf"pypi-{_URLSAFE}{{50,}}", is_long_random),
    Shape("huggingface_token", ("hf_",), r"hf_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=16),
    Shape("huggingface_token", ("api_org_",), r"api_org_[A-Za-z0-9]{30}[A-Za-z0-9_]*", solid=16),
    Shape("sendgrid_key", ("SG.",), rf"SG\.{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    Shape("twilio_key", ("SK", "AC"), rf"{_words('SK', 'AC')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=32),
    Shape("aws_key_id", _AWS, rf"{_words(*_AWS)}{_ASIA}[A-Z0-9]{{16}}(?![A-Za-z0-9])", bool, solid=16),
    Shape("aws_key_id", ("ABSK",), rf"{_word('ABSK')}[A-Za-z0-9+/]{{100,}}={{0,2}}", is_random),  # Bedrock
    Shape("azure_key", ("Q~",), r"[A-Za-z0-9_~.](?<![A-Za-z0-9_~.-].)[A-Za-z0-9_~.]{2}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    *(
        Shape(
            "discord_token",
            (begin,),
            rf"{_word(begin)}{_URLSAFE}{{21,26}}\.{_URLSAFE}{{6}}\.{_URLSAFE}{{27,}}",
            is_random,
        )
        for begin in ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT")  # base64 of a number of eighteen digits
    ),
    # Language models and what agents use beside them
    _service(("gsk_",), r"gsk_[A-Za-z0-9]{40,}", solid=32),  # Groq
    _service(("xai-",), rf"{_word('xai-')}[A-Za-z0-9]{{40,}}", solid=32),  # xAI
    _service(("pplx-",), r"pplx-[A-Za-z0-9]{40,}", solid=32),  # Perplexity
    _service(("r8_",), rf"{_word('r8_')}[A-Za-z0-9]{{32,}}", solid=32),  # Replicate
    _service(("tvly-",), r"tvly-[A-Za-z0-9-]{20,}", is_random),  # Tavily
    _service(("pcsk_",), r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}", solid=32),  # Pinecone
    _service(("lsv2_",), r"lsv2_[a-z]{2}_[A-Za-z0-9]{32}_[A-Za-z0-9]{10}", solid=32),  # LangSmith
    _service(("nvapi-",), rf"nvapi-{_URLSAFE}{{40,}}", is_random),  # NVIDIA
    _service(("jina_",), r"jina_[A-Za-z0-9]{40,}", solid=32),  # Jina
    _service(("tgp_v1_",), rf"tgp_v1_{_URLSAFE}{{40,}}", is_random),  # Together
    _service(("fc-",), rf"{_word('fc-')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=32),  # Firecrawl
    _service(("e2b_",), rf"{_word('e2b_')}[0-9a-f]{{40}}", solid=32),  # E2B
    _service(("sk_",), rf"{_word('sk_')}[0-9a-f]{{48}}(?![A-Za-z0-9])", solid=32),  # ElevenLabs
    # Notes, design, data
    _service(("ntn_",), r"ntn_[A-Za-z0-9]{40,}", solid=32),  # Notion
    _service(("secret_",), rf"{_word('secret_')}[A-Za-z0-9]{{43}}(?![A-Za-z0-9])", is_random, solid=32),
    _service(("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", solid=32),  # Linear
    _service(("figd_",), rf"figd_{_URLSAFE}{{30,}}", is_random),  # Figma
    _service(("pat",), rf"{_word('pat')}[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}", solid=32),  # Airtable
    _service(("pat-",), rf"{_word('pat-')}[a-z]{{2}}[0-9]-[0-9a-f-]{{36}}"),  # HubSpot
    _service(("2/", "1/", "0/"), rf"[0-2]{_EDGE}/[0-9]{{10,20}}(?:/[0-9]{{10,20}})?:[0-9a-f]{{32}}"),  # Asana
    _service(("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", is_random),  # Atlassian
    _service(("ATBB",), rf"{_word('ATBB')}[A-Za-z0-9]{{28,}}", solid=16),  # Bitbucket
    _service(("CFPAT-",), rf"CFPAT-{_URLSAFE}{{40,}}", is_random),  # Contentful
    _service(("dapi",), rf"{_word('dapi')}[0-9a-f]{{32}}(?:-[0-9])?", solid=32),  # Databricks
    _service(("pscale_",), r"pscale_[a-z]{2,6}_[A-Za-z0-9_.=-]{32,}", is_random),  # PlanetScale
    _service(("sbp_",), r"sbp_[0-9a-f]{40}", solid=32),  # Supabase
    _service(("sb_secret_",), rf"sb_secret_{_URLSAFE}{{20,}}", is_random),  # Supabase
    _service(("sl.",), rf"{_word('sl[.]')}{_URLSAFE}{{130,}}", is_random),  # Dropbox
    # Where programs run and are watched
    _service(("_v1_",), r"do[opr]_v1_[A-Za-z0-9]{40,}", solid=32),  # DigitalOcean
    _service(("cfut_", "cfat_", "cfk_"), rf"cf(?:ut|at|k)_{_URLSAFE}{{40,}}", is_random),  # Cloudflare
    _service(("v1.0-",), rf"{_word('v1[.]0-')}[0-9a-f]{{24}}-[0-9a-f]{{140,}}", solid=32),  # Cloudflare
    _service(("vc",), rf"{_words('vcp_', 'vci_', 'vca_', 'vcr_', 'vck_')}[A-Za-z0-9]{{24,}}", solid=16),
    _service(("nfp_",), r"nfp_[A-Za-z0-9]{30,}", solid=16),  # Netlify
    _service(("fm1", "fm2_"), rf"{_word('fm')}[12][ar]?_[A-Za-z0-9+/]{{100,}}={{0,3}}", is_random),  # Fly
    _service(("fo1_",), rf"{_word('fo1_')}{_URLSAFE}{{40,}}", is_random),  # Fly
    _service(("rnd_",), rf"{_word('rnd_')}[A-Za-z0-9]{{24,}}", is_random, solid=16),  # Render
    _service(("HRKU-",), rf"HRKU-{_URLSAFE}{{30,}}", is_random),  # Heroku
    _service((".atlasv1.",), rf"[A-Za-z0-9]{_EDGE}[A-Za-z0-9]{{13}}\.atlasv1\.{_URLSAFE}{{60,}}"),  # Terraform
    _service(("pul-",), rf"{_word('pul-')}[0-9a-f]{{40}}", solid=32),  # Pulumi
    _service(("hvs.", "hvb.", "hvr."), rf"hv[sbr]\.{_URLSAFE}{{24,}}", is_random),  # Vault
    _service(("dp.",), rf"{_word('dp[.]')}[a-z]{{2,5}}\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,}}"),  # Doppler
    _service(("tskey-",), r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{20,}", is_random),  # Tailscale
    _service(("dckr_",), rf"dckr_[a-z]{{3}}_{_URLSAFE}{{20,}}", is_random),  # Docker Hub
    _service(("glsa_",), r"glsa_[A-Za-z0-9]{32}_[A-Za-z0-9]{8}", solid=32),  # Grafana
    _service(("glc_",), rf"{_word('glc_')}[A-Za-z0-9+/]{{32,}}={{0,3}}", is_random),  # Grafana
    _service(("sntry",), r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", is_random),  # Sentry
    _service(("NRAK-", "NRII-"), rf"NR(?:AK|II)-{_URLSAFE}{{27,}}", is_random),  # New Relic
    _service(("NRAL",), rf"[A-Za-z0-9]{_EDGE}[A-Za-z0-9]{{35}}NRAL(?![A-Za-z0-9])", solid=32),  # New Relic
    _service(("phx_",), r"phx_[A-Za-z0-9]{40,}", solid=32),  # PostHog
    _service(("CCIPAT_",), r"CCIPAT_[A-Za-z0-9]{20,}_[0-9a-f]{40}", solid=32),  # CircleCI
    # Shops, mail, packages, tools
    _service(("shp",), r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}", solid=32),  # Shopify
    _service(("EAAA",), rf"{_word('EAAA')}{_URLSAFE}{{56,}}", is_random),  # Square
    _service(("sq0",), rf"sq0(?:atp|csp)-{_URLSAFE}{{22,}}", is_random),  # Square
    _service(("key-",), rf"{_word('key-')}[0-9a-f]{{32}}(?![A-Za-z0-9])", solid=32),  # Mailgun
    _service(("-",), rf"[0-9a-f]{_EDGE}[0-9a-f]{{31}}-(?:us[0-9]{{1,2}}|[0-9a-f]{{8}}-[0-9a-f]{{8}})\b", solid=16),
    _service(("sib-",), r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}", solid=32),  # Brevo
    _service(("re_",), rf"{_word('re_')}[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}", is_random, solid=16),  # Resend
    _service(("rubygems_",), r"rubygems_[0-9a-f]{48}", solid=32),
    _service(("cio",), rf"{_word('cio')}[A-Za-z0-9]{{32}}(?![A-Za-z0-9])", is_random, solid=32),  # crates
    _service(("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", solid=32),  # Postman
    _service(("ops_eyJ",), rf"ops_eyJ{_URLSAFE}{{100,}}", is_random),  # 1Password
    _service(
        ("A3-",), rf"{_word('A3-')}[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}}"
    ),
    _service(("-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", solid=32),  # age
)


# By how many letters and digits in a row a text has at most. Every text with a long run is searched for all of them,
# so there is nothing but a loop around them.
_ANCHORS = {
    solid: tuple((anchor, shape) for shape in SHAPES if shape.solid <= solid for anchor in shape.anchors)
    for solid in (0, 16, 32)
}


def find_tokens(text: str, *, solid: int) -> Iterator[SecretSpan]:
    """`solid`: how many letters and digits the text has in a row: 0, 16 or 32."""
    for anchor, shape in _ANCHORS[solid]:
        if anchor not in text:
            continue
        for match in regex(shape.pattern).finditer(text):
            group = "secret" if "secret" in match.re.groupindex else 0
            if not shape.judge(match[group]):
                continue
            yield SecretSpan(*match.span(group), shape.kind)
            if shape.kind == "aws_key_id":
                # The secret that belongs to a key id: forty base64 characters are believed only beside one.
                bare = regex(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])")
                hashlike = regex(r"[0-9a-f]+|[0-9A-F]+|[^A-Z]+|[^a-z]+")
                for secret in bare.finditer(text, max(0, match.start() - _BESIDE), match.end() + _BESIDE):
                    if is_random(secret[0]) and not hashlike.fullmatch(secret[0]):
                        yield SecretSpan(*secret.span(), "aws_secret_key")


_BESIDE = 200
