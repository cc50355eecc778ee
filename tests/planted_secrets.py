"""Secrets to plant: what agents are shown, in the format that its maker or a scanner documents, and where.

Written before the new patterns that have to find them, from documented formats. No value is real and none is written
out: a seeded generator draws them. `FORMATS` and `PERSONAL` are what Perdure promises to know; `UNLISTED` are vendors
for which it must never get a pattern: they show what becomes of a secret that nobody thought of.

Where a format is from, by `source`:

    gitleaks     github.com/gitleaks/gitleaks, config/gitleaks.toml and cmd/generate/config/rules
    trufflehog   github.com/trufflesecurity/trufflehog, pkg/detectors
    noseyparker  github.com/praetorian-inc/noseyparker, its rules
    otherwise    the page of the maker, or the standard
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

Draw = Callable[[random.Random], str]

LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


class Format(NamedTuple):
    """`variable` is what the environment variable is called. `bare`: recognisable without it."""

    kind: str
    variable: str
    draw: Draw
    source: str
    bare: bool = True


class Planted(NamedTuple):
    """`secret` is what must be gone from `text`."""

    kind: str
    secret: str
    text: str


def some(alphabet: str, least: int, most: int | None = None) -> Draw:
    """Drawn evenly, but for one thing: a run as long as a key holds a digit if it can."""

    def draw(chance: random.Random) -> str:
        drawn = chance.choices(alphabet, k=chance.randint(least, most or least))
        if "7" in alphabet and not any(character.isdigit() for character in drawn):
            drawn[chance.randrange(len(drawn))] = "7"
        return "".join(drawn)

    return draw


def joined(*parts: str | Draw) -> Draw:
    return lambda chance: "".join(part if isinstance(part, str) else part(chance) for part in parts)


def either(*draws: str | Draw) -> Draw:
    def draw(chance: random.Random) -> str:
        chosen = chance.choice(draws)
        return chosen if isinstance(chosen, str) else chosen(chance)

    return draw


def uuid4(chance: random.Random) -> str:
    drawn = "".join(chance.choices(HEX, k=32))
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-a{drawn[17:20]}-{drawn[20:]}"


def encoded(chance: random.Random, value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(chance: random.Random) -> str:
    head = encoded(chance, {"alg": chance.choice(["HS256", "RS256"]), "typ": "JWT"})
    body = encoded(chance, {"iss": "https://id.example.com/", "sub": str(chance.randrange(10**8)), "exp": 1893456000})
    return f"{head}.{body}.{some(URLSAFE, 43)(chance)}"


def sentry_organisation(chance: random.Random) -> str:
    told = {"iat": 1700000000.5, "url": "https://sentry.io", "region_url": "https://us.sentry.io", "org": "acme"}
    return f"sntrys_{encoded(chance, told)}_{some(BASE64, 43)(chance)}"


def discord_bot(chance: random.Random) -> str:
    user = base64.b64encode(str(chance.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{user}.{some(URLSAFE, 6)(chance)}.{some(URLSAFE, 27, 38)(chance)}"


def service_account(chance: random.Random) -> str:
    return "ops_" + encoded(chance, {"signInAddress": "my.1password.com", "key": some(ALNUM, 240)(chance)})


FORMATS = (
    Format("anthropic", "ANTHROPIC_API_KEY", joined("sk-ant-api03-", some(URLSAFE, 93), "AA"), "gitleaks"),
    Format("anthropic", "ANTHROPIC_ADMIN_KEY", joined("sk-ant-admin01-", some(URLSAFE, 93), "AA"), "gitleaks"),
    Format(
        "openai",
        "OPENAI_API_KEY",
        joined("sk-", either("proj", "svcacct", "admin"), "-", some(URLSAFE, 74), "T3BlbkFJ", some(URLSAFE, 74)),
        "gitleaks",
    ),
    Format("openai", "OPENAI_API_KEY", joined("sk-", some(ALNUM, 20), "T3BlbkFJ", some(ALNUM, 20)), "gitleaks"),
    Format("groq", "GROQ_API_KEY", joined("gsk_", some(ALNUM, 52)), "gitleaks"),
    Format("xai", "XAI_API_KEY", joined("xai-", some(ALNUM, 80)), "trufflehog"),
    Format("perplexity", "PPLX_API_KEY", joined("pplx-", some(ALNUM, 48)), "gitleaks"),
    Format("replicate", "REPLICATE_API_TOKEN", joined("r8_", some(ALNUM, 37)), "trufflehog"),
    Format("huggingface", "HF_TOKEN", joined("hf_", some(string.ascii_letters, 34)), "gitleaks"),
    Format("tavily", "TAVILY_API_KEY", joined("tvly-", either("", "dev-", "prod-"), some(ALNUM, 32)), "trufflehog"),
    Format("pinecone", "PINECONE_API_KEY", joined("pcsk_", some(ALNUM, 5, 6), "_", some(ALNUM, 63)), "trufflehog"),
    Format(
        "langsmith",
        "LANGSMITH_API_KEY",
        joined("lsv2_", either("pt", "sk"), "_", some(HEX, 32), "_", some(HEX, 10)),
        "gitleaks",
    ),
    Format("cohere", "COHERE_API_KEY", some(ALNUM, 40), "gitleaks", bare=False),
    Format("mistral", "MISTRAL_API_KEY", some(ALNUM, 32), "trufflehog", bare=False),
    Format("notion", "NOTION_TOKEN", joined("ntn_", some(string.digits, 11), some(ALNUM, 35)), "gitleaks"),
    Format("notion", "NOTION_API_KEY", joined("secret_", some(ALNUM, 43)), "trufflehog"),
    Format("supabase", "SUPABASE_ACCESS_TOKEN", joined("sbp_", some(HEX, 40)), "trufflehog"),
    Format(
        "supabase",
        "SUPABASE_SECRET_KEY",
        joined("sb_secret_", some(URLSAFE, 22), "_", some(URLSAFE, 8)),
        "supabase.com/docs/guides/api/api-keys",
    ),
    Format("figma", "FIGMA_TOKEN", joined("figd_", some(URLSAFE, 40)), "trufflehog"),
    Format("airtable", "AIRTABLE_TOKEN", joined("pat", some(ALNUM, 14), ".", some(HEX, 64)), "gitleaks"),
    Format("databricks", "DATABRICKS_TOKEN", joined("dapi", some(HEX, 32), either("", "-2")), "gitleaks"),
    Format("discord", "DISCORD_BOT_TOKEN", discord_bot, "trufflehog"),
    Format("sentry", "SENTRY_AUTH_TOKEN", either(sentry_organisation, joined("sntryu_", some(HEX, 64))), "gitleaks"),
    Format("newrelic", "NEW_RELIC_API_KEY", joined("NRAK-", some(UPPER, 27)), "gitleaks"),
    Format("newrelic", "NEW_RELIC_LICENSE_KEY", joined(some(HEX, 36), "NRAL"), "trufflehog"),
    Format(
        "doppler",
        "DOPPLER_TOKEN",
        joined("dp.", either("pt", "ct", "sa", "scim"), ".", some(ALNUM, 43)),
        "gitleaks; docs.doppler.com on token formats",
    ),
    Format("postman", "POSTMAN_API_KEY", joined("PMAK-", some(HEX, 24), "-", some(HEX, 34)), "gitleaks"),
    Format("square", "SQUARE_ACCESS_TOKEN", joined("EAAA", some(URLSAFE, 60)), "gitleaks"),
    Format("square", "SQUARE_SECRET", joined("sq0", either("csp", "atp"), "-", some(URLSAFE, 43)), "trufflehog"),
    Format("terraform", "TFE_TOKEN", joined(some(ALNUM, 14), ".atlasv1.", some(URLSAFE, 67)), "gitleaks"),
    Format("vercel", "VERCEL_TOKEN", joined(either("vcp", "vck", "vci"), "_", some(ALNUM, 56)), "vercel.com/changelog"),
    Format("netlify", "NETLIFY_AUTH_TOKEN", joined("nfp_", some(ALNUM, 36)), "trufflehog"),
    Format(
        "cloudflare",
        "CLOUDFLARE_API_TOKEN",
        joined(either("cfut", "cfat", "cfk"), "_", some(ALNUM, 40), some(HEX, 8)),
        "developers.cloudflare.com/fundamentals/api/get-started/token-formats",
    ),
    Format("cloudflare", "CLOUDFLARE_API_TOKEN", some(URLSAFE, 40), "gitleaks", bare=False),
    Format(
        "digitalocean", "DIGITALOCEAN_TOKEN", joined(either("dop", "doo", "dor"), "_v1_", some(HEX, 64)), "gitleaks"
    ),
    Format("fly", "FLY_API_TOKEN", joined(either("fm2_", "fm1a_", "fm1r_"), some(BASE64, 130, 220), "="), "gitleaks"),
    Format("fly", "FLY_API_TOKEN", joined("fo1_", some(URLSAFE, 43)), "gitleaks"),
    Format("render", "RENDER_API_KEY", joined("rnd_", some(ALNUM, 28)), "render.com/docs/api"),
    Format("heroku", "HEROKU_API_KEY", joined("HRKU-AA", some(URLSAFE, 58)), "gitleaks"),
    Format("heroku", "HEROKU_API_KEY", uuid4, "gitleaks", bare=False),
    Format("linear", "LINEAR_API_KEY", joined("lin_api_", some(ALNUM, 40)), "gitleaks"),
    Format(
        "asana",
        "ASANA_TOKEN",
        joined("2/", some("123456789", 16), "/", some("123456789", 16), ":", some(HEX, 32)),
        "trufflehog",
    ),
    Format(
        "atlassian",
        "JIRA_API_TOKEN",
        joined("ATATT3xFfGF0", some(URLSAFE, 171), "=", some("0123456789ABCDEF", 8)),
        "noseyparker",
    ),
    Format("bitbucket", "BITBUCKET_APP_PASSWORD", joined("ATBB", some(ALNUM, 32)), "trufflehog"),
    Format("shopify", "SHOPIFY_TOKEN", joined("shp", either("at", "ca", "pa", "ss"), "_", some(HEX, 32)), "gitleaks"),
    Format("twilio", "TWILIO_API_KEY", joined("SK", some(HEX, 32)), "gitleaks"),
    Format("twilio", "TWILIO_AUTH_TOKEN", some(HEX, 32), "trufflehog", bare=False),
    Format("sendgrid", "SENDGRID_API_KEY", joined("SG.", some(URLSAFE, 22), ".", some(URLSAFE, 43)), "gitleaks"),
    Format("mailgun", "MAILGUN_API_KEY", joined("key-", some(HEX, 32)), "gitleaks"),
    Format("mailgun", "MAILGUN_API_KEY", joined(some(HEX, 32), "-", some(HEX, 8), "-", some(HEX, 8)), "gitleaks"),
    Format("mailchimp", "MAILCHIMP_API_KEY", joined(some(HEX, 32), "-us", either("6", "14", "21")), "gitleaks"),
    Format("brevo", "BREVO_API_KEY", joined("xkeysib-", some(HEX, 64), "-", some(ALNUM, 16)), "gitleaks"),
    Format("pypi", "TWINE_PASSWORD", joined("pypi-AgEIcHlwaS5vcmc", some(URLSAFE, 140, 170)), "gitleaks"),
    Format("npm", "NPM_TOKEN", joined("npm_", some(ALNUM, 36)), "gitleaks"),
    Format("rubygems", "GEM_HOST_API_KEY", joined("rubygems_", some(HEX, 48)), "gitleaks"),
    Format("crates", "CARGO_REGISTRY_TOKEN", joined("cio", some(ALNUM, 32)), "noseyparker"),
    Format(
        "gitlab",
        "GITLAB_TOKEN",
        joined(
            either("glpat-", "gldt-", "glrt-", "glft-", "glimt-", "glsoat-", "glffct-", "glcbt-a1_", "GR1348941"),
            some(URLSAFE, 20),
        ),
        "gitleaks",
    ),
    Format("gitlab", "GITLAB_TRIGGER", joined("glptt-", some(HEX, 40)), "gitleaks"),
    Format("gitlab", "GITLAB_APP_SECRET", joined("gloas-", some(HEX, 64)), "gitleaks"),
    Format(
        "gitlab",
        "GITLAB_TOKEN",
        joined("glpat-", some(URLSAFE, 27, 40), ".", some(LOWER, 2), ".", some(LOWER, 9)),
        "gitleaks",
    ),
    Format("github", "GITHUB_TOKEN", joined("gh", either("p", "o", "u", "s", "r"), "_", some(ALNUM, 36)), "gitleaks"),
    Format("github", "GH_TOKEN", joined("github_pat_", some(ALNUM, 22), "_", some(ALNUM, 59)), "gitleaks"),
    Format("docker", "DOCKER_PAT", joined("dckr_", either("pat", "oat"), "_", some(URLSAFE, 27)), "trufflehog"),
    Format("grafana", "GRAFANA_TOKEN", joined("glsa_", some(ALNUM, 32), "_", some(HEX, 8)), "gitleaks"),
    Format("grafana", "GRAFANA_CLOUD_TOKEN", joined("glc_", some(BASE64, 90, 140), "="), "gitleaks"),
    Format("datadog", "DD_API_KEY", some(HEX, 32), "trufflehog", bare=False),
    Format("pagerduty", "PAGERDUTY_TOKEN", joined("u+", some(URLSAFE, 18)), "trufflehog", bare=False),
    Format("okta", "OKTA_API_TOKEN", joined("00", some(URLSAFE, 40)), "gitleaks", bare=False),
    Format("auth0", "AUTH0_CLIENT_SECRET", some(URLSAFE, 64), "trufflehog", bare=False),
    Format(
        "onepassword",
        "OP_SERVICE_ACCOUNT_TOKEN",
        either(service_account, joined("A3-", some(UPPER, 6), "-", some(UPPER, 11), *(["-", some(UPPER, 5)] * 3))),
        "gitleaks",
    ),
    Format("age", "SOPS_AGE_KEY", joined("AGE-SECRET-KEY-1", some(BECH32, 58)), "gitleaks"),
    Format("jwt", "SESSION_JWT", jwt, "RFC 7519"),
    Format(
        "slack",
        "SLACK_BOT_TOKEN",
        joined("xoxb-", some("123456789", 12), "-", some("123456789", 13), "-", some(ALNUM, 24)),
        "gitleaks",
    ),
    Format(
        "slack",
        "SLACK_APP_TOKEN",
        joined("xapp-1-A", some(UPPER, 10), "-", some("123456789", 13), "-", some(HEX, 64)),
        "gitleaks",
    ),
    Format(
        "stripe",
        "STRIPE_SECRET_KEY",
        joined(either("sk", "rk"), "_", either("live", "test"), "_", some(ALNUM, 24, 99)),
        "gitleaks",
    ),
    Format("google", "GOOGLE_API_KEY", joined("AIza", some(URLSAFE, 35)), "gitleaks"),
    Format("google", "GOOGLE_CLIENT_SECRET", joined("GOCSPX-", some(URLSAFE, 28)), "trufflehog"),
    Format(
        "aws",
        "AWS_ACCESS_KEY_ID",
        joined(either("AKIA", "ASIA"), some(string.ascii_uppercase + "234567", 16)),
        "gitleaks",
    ),
    Format("aws", "AWS_SECRET_ACCESS_KEY", some(BASE64, 40), "trufflehog", bare=False),
    Format("azure", "AZURE_CLIENT_SECRET", joined(some(ALNUM, 3), "8Q~", some(ALNUM + "_~.-", 34)), "gitleaks"),
    Format("azure", "AZURE_STORAGE_KEY", joined(some(BASE64, 86), "=="), "trufflehog", bare=False),
    Format("telegram", "TELEGRAM_BOT_TOKEN", joined(some("123456789", 10), ":AA", some(URLSAFE, 33)), "gitleaks"),
    Format("vault", "VAULT_TOKEN", joined(either("hvs.", "hvb."), some(URLSAFE, 95, 140)), "gitleaks"),
    Format(
        "planetscale",
        "PLANETSCALE_TOKEN",
        joined("pscale_", either("tkn", "pw", "oauth"), "_", some(URLSAFE, 43)),
        "gitleaks",
    ),
    Format("pulumi", "PULUMI_ACCESS_TOKEN", joined("pul-", some(HEX, 40)), "gitleaks"),
    Format("posthog", "POSTHOG_KEY", joined("phx_", some(ALNUM, 43)), "trufflehog"),
    Format("nvidia", "NVIDIA_API_KEY", joined("nvapi-", some(URLSAFE, 64)), "trufflehog"),
    Format("jina", "JINA_API_KEY", joined("jina_", some(ALNUM, 60)), "trufflehog"),
    Format("resend", "RESEND_API_KEY", joined("re_", some(ALNUM, 8), "_", some(ALNUM, 24)), "trufflehog"),
)

UNLISTED = (
    Format("typeform", "TYPEFORM_TOKEN", joined("tfp_", some(URLSAFE, 59)), "gitleaks"),
    Format("dynatrace", "DT_API_TOKEN", joined("dt0c01.", some(UPPER, 24), ".", some(UPPER, 64)), "gitleaks"),
    Format("frameio", "FRAMEIO_TOKEN", joined("fio-u-", some(URLSAFE, 64)), "gitleaks"),
    Format("easypost", "EASYPOST_API_KEY", joined("EZAK", some(ALNUM, 54)), "gitleaks"),
    Format("shippo", "SHIPPO_TOKEN", joined("shippo_live_", some(HEX, 40)), "gitleaks"),
    Format("readme", "README_API_KEY", joined("rdme_", some(LOWER, 70)), "gitleaks"),
    Format("prefect", "PREFECT_API_KEY", joined("pnu_", some(ALNUM, 36)), "gitleaks"),
    Format("duffel", "DUFFEL_ACCESS_TOKEN", joined("duffel_live_", some(URLSAFE, 43)), "gitleaks"),
    Format("infracost", "INFRACOST_API_KEY", joined("ico-", some(ALNUM, 32)), "gitleaks"),
    Format("scalingo", "SCALINGO_API_TOKEN", joined("tk-us-", some(URLSAFE, 48)), "gitleaks"),
)

# {0} is the secret, {1} its variable, {2} the variable in small letters, {3} the name of the service.
NAMED = (
    "{1}={0}",
    'export {1}="{0}"',
    "put this into your shell profile: export {1}={0} and open a new terminal",
    "# .env.local\nPORT=3000\n{1}={0}\nDEBUG=false",
    "services:\n  web:\n    environment:\n      {1}: {0}\n      TZ: UTC",
    "    environment:\n      - {1}={0}",
    '[service]\n{2} = "{0}"\nretries = 3',
    '{{"mcpServers": {{"{3}": {{"command": "npx", "env": {{"{1}": "{0}"}}}}}}}}',
    'os.environ["{1}"] = "{0}"',
    "os.environ.setdefault('{1}', '{0}')",
    "client = {3}.Client({2}='{0}')",
    "const {2} = '{0}';",
    "docker run --rm -e {1}={0} -p 8080:80 acme/web:latest",
    "@@ -1,3 +1,3 @@\n-{1}={0}\n+{1}=",
    "$ printenv | grep -i {3}\n{1}={0}",
    "| variable | value |\n|---|---|\n| {1} | {0} |",
    "Dana: what is the {1} on staging?\nOmar: {1} is {0}, same as last week",
    "fly secrets set {1}={0} --app web",
    "heroku config:set {1}={0}",
    "Set `{1}` to `{0}` and restart the worker.",
    "ENV {1}={0}",
    "[default]\n{2}={0}\n",
    "$env:{1} = '{0}'",
    "KeyError handled: config was {{'{2}': '{0}', 'region': 'eu'}}",
)
ANYWHERE = (
    "here is the {3} one: {0}",
    "I made a new one for you, {0}, the old one stops working on Friday",
    "Can you check whether {0} still works? I get a 401.",
    "The agent printed {0} into the log by accident.",
    "2026-02-11 09:14:02,331 ERROR worker[7]: 401 Unauthorized for {0} (attempt 2 of 3)",
    '  File "/srv/app/client.py", line 88, in connect\n    raise AuthError("{0}")\napp.AuthError: {0}',
    '{{"level": "warn", "event": "login_failed", "credential": "{0}", "took_ms": 41}}',
    'curl -sS https://api.example.com/v1/me -H "Authorization: Bearer {0}" | jq .id',
    "curl -X POST https://api.example.com/v1/runs -H 'X-Api-Key: {0}' -d '{{}}'",
    "GET /v2/search?q=tea&api_key={0}&page=2 HTTP/1.1",
    "mycli login --token {0} --profile work",
    "mycli auth '{0}'",
    "echo {0} | mycli login --stdin",
    'headers = {{"Authorization": "Bearer {0}", "Accept": "application/json"}}',
    'new Client("{0}", {{ timeout: 30 }})',
    "assert client.credential == '{0}'",
    '<string name="credential">{0}</string>',
    "Schick mir bitte nichts mehr an {0}, der ist gesperrt.",
    "le jeton {0} a été révoqué hier",
    "- [ ] revoke {0}\n- [x] tell Omar",
    "args: ['--key', '{0}', '--verbose']",
    '"{0}"',
    "{0}",
)  # fmt: skip


def word(chance: random.Random) -> str:
    return chance.choice(
        "copper lantern willow harbor maple thunder velvet orbit pepper canyon meadow rocket silver breeze".split()
    )


def chosen(chance: random.Random) -> str:
    """What a person makes up: a word with digits and signs, or a few words with hyphens."""
    mixed = word(chance).capitalize() + some(string.digits, 2, 4)(chance) + chance.choice(["", "!", "#", "_x", "$"])
    return chance.choice([mixed, mixed, word(chance)[:4] + "-" + word(chance) + "-" + word(chance)])


def generated(chance: random.Random) -> str:
    drawn = chance.sample(string.ascii_letters, 9) + chance.sample(string.digits, 3) + chance.sample("!%^*_+.", 1)
    chance.shuffle(drawn)
    return "".join(drawn).strip(".!") + "k4"


password = either(chosen, generated, some(ALNUM, 14, 20))


def luhn(digits: str) -> str:
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def card(chance: random.Random) -> str:
    prefix = chance.choice(["4", "52", "2223", "6011"])
    number = luhn(prefix + some(string.digits, 15 - len(prefix))(chance))
    separator = chance.choice([" ", "-"])
    return separator.join(number[at : at + 4] for at in range(0, 16, 4))


def iban(chance: random.Random) -> str:
    country, account = chance.choice([("DE", 18), ("FR", 23), ("NL", 14), ("ES", 20), ("IT", 23), ("GB", 18)])
    inner = some(string.digits, account)(chance)
    if country in {"NL", "GB"}:
        inner = "".join(chance.choices(string.ascii_uppercase, k=4)) + inner[4:]
    if country == "IT":
        inner = chance.choice(string.ascii_uppercase) + inner[1:]
    rest = int("".join(str(int(character, 36)) for character in inner + country + "00")) % 97
    number = f"{country}{98 - rest:02}{inner}"
    return number if chance.random() < 0.5 else " ".join(number[at : at + 4] for at in range(0, len(number), 4))


def social_security(chance: random.Random) -> str:
    area = chance.choice([chance.randint(1, 665), chance.randint(667, 899)])
    return f"{area:03}-{chance.randint(1, 99):02}-{chance.randint(1, 9999):04}"


def mnemonic(chance: random.Random) -> str:
    words = (
        "abandon ability about above absent absorb abstract absurd abuse access accident account accuse achieve acid "
        "acoustic acquire across act action actor actress actual adapt add addict address adjust admit adult advance "
        "zebra zero zone zoo youth young yellow year wrong wrist write world wood wonder wolf wise winter wing window"
    ).split()
    return " ".join(chance.choices(words, k=chance.choice([12, 24])))


def private_key(chance: random.Random, newline: str) -> str:
    name = chance.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"])
    lines = ["".join(chance.choices(BASE64, k=64)) for _ in range(chance.randint(3, 14))]
    return newline.join([f"-----BEGIN {name}-----", *lines, some(ALNUM, 22)(chance) + "==", f"-----END {name}-----"])


def azure_signature(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(32)).decode().replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")


BASE32 = string.ascii_uppercase + "234567"

# What is no token of a service: the kind, what is drawn, and where it stands. In each place {0} is the secret.
PERSONAL: tuple[tuple[str, Draw, tuple[str, ...]], ...] = (
    ("curl_user", password, (
        "curl -u dana:{0} https://api.example.com/v1/me",
        "curl -sS --user 'svc-deploy:{0}' https://ci.example.com/job/42/build",
        'curl --user "admin:{0}" -X PUT http://localhost:9200/_cluster/settings',
        "wget --user=dana --password={0} https://files.example.com/dump.sql.gz",
    )),
    ("command_password", password, (
        "mysql -h db.internal -u root -p{0} shop < dump.sql",
        "mysqldump -uroot -p{0} --single-transaction shop",
        "sshpass -p {0} ssh deploy@10.0.3.17",
        "sshpass -p '{0}' scp build.tgz deploy@web1:/srv",
        "redis-cli -h cache.internal -a {0} ping",
        "PGPASSWORD={0} psql -h db.internal -U app shop",
        "docker login -u dana -p {0} registry.example.com",
        "net use Z: \\\\fileserver\\share /password:{0} /user:ACME\\dana",
        "az login --service-principal -u app-id -p {0} --tenant acme",
        "openssl pkcs12 -in cert.p12 -passin pass:{0} -nodes",
    )),
    ("netrc", password, (
        "machine api.example.com login dana password {0}",
        "machine git.example.com\n  login dana\n  password {0}\n",
    )),
    ("pgpass", password, (
        "# ~/.pgpass\ndb.internal:5432:shop:app:{0}",
        "db.internal:5432:*:postgres:{0}",
    )),
    ("url", either(some(ALNUM, 14, 20), chosen), (
        "postgresql://app:{0}@db.internal:5432/shop",
        "DATABASE_URL=mysql+pymysql://root:{0}@127.0.0.1/shop?charset=utf8mb4",
        "mongodb+srv://app:{0}@cluster0.example.mongodb.net/?retryWrites=true",
        "redis://:{0}@cache.internal:6379/0",
        "amqps://svc:{0}@mq.example.com/vhost",
        "git clone https://dana:{0}@git.example.com/acme/web.git",
        "clickhouse://default:{0}@ch.internal:9000/events",
        "snowflake://dana:{0}@acme/prod",
        "smtp://mailer:{0}@smtp.example.com:587",
        "jdbc:postgresql://db.internal/shop?user=app&password={0}&ssl=true",
        "jdbc:sqlserver://db;databaseName=shop;user=sa;password={0};",
        "Server=tcp:acme.database.windows.net,1433;Database=shop;User ID=app;Password={0};Encrypt=True;",
        "host=db.internal port=5432 dbname=shop user=app password={0} sslmode=require",
        "Driver={{ODBC Driver 18}};Server=db;Uid=sa;Pwd={0};",
        "ftp://dana:{0}@files.example.com/in/",
    )),
    ("azure", azure_signature, (
        "https://acme.blob.core.windows.net/in/db.tgz?sp=r&se=2026-02-02T10:00:00Z&sv=2024-11-04&sr=b&sig={0}",
        "azcopy copy ./out 'https://acme.blob.core.windows.net/in?sv=2024-11-04&ss=b&srt=co&sp=rwl&sig={0}'",
    )),
    ("azure", joined(some(BASE64, 86), "=="), (
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={0};EndpointSuffix=core.windows.net",
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={0}",
    )),
    ("cookie", either(some(HEX, 32, 64), some(URLSAFE, 40, 60)), (
        "Cookie: sessionid={0}; theme=dark",
        "Set-Cookie: session={0}; Path=/; HttpOnly; Secure",
        "curl -b 'PHPSESSID={0}' https://intranet.example.com/",
        "cookie: connect.sid={0}",
        "> Cookie: lang=en; JSESSIONID={0}; _ga=GA1.2.3",
        "Set-Cookie: auth_session={0}; SameSite=Lax",
        "session id: {0}",
    )),
    ("totp", some(BASE32, 16, 32), (
        "otpauth://totp/Acme:dana@example.com?secret={0}&issuer=Acme",
        "my authenticator seed for the VPN: otpauth://totp/vpn?issuer=Acme&secret={0}&digits=6",
        "2FA secret: {0}",
        "TOTP secret key is {0}",
    )),
    ("seed_phrase", mnemonic, (
        "the seed phrase is {0}",
        "Recovery phrase: {0}",
        'MNEMONIC="{0}"',
        "my wallet's secret recovery phrase: {0}",
    )),
    ("card", card, (
        "charge it to {0}, expires 04/29",
        "her card number is {0} and the CVC is on the back",
        '{{"number": "{0}", "exp_month": 4}}',
    )),
    ("iban", iban, (
        "please transfer the rent to {0} by Friday",
        "IBAN: {0}",
        '{{"holder": "Dana Roth", "iban": "{0}"}}',
        "Kontoverbindung {0}, Verwendungszweck Miete März",
    )),
    ("ssn", social_security, (
        "my social security number is {0}",
        "SSN: {0}",
        "the form asks for her SSN ({0}) twice",
        '{{"name": "Dana Roth", "ssn": "{0}"}}',
    )),
    ("private_key", lambda chance: private_key(chance, "\n"), ("{0}", "cat ~/.ssh/id_rsa\n{0}\n$ exit")),
    ("private_key", lambda chance: private_key(chance, "\\n"), (
        '"private_key": "{0}\\n", "client_email": "svc@acme.iam.example.com"',
        'PRIVATE_KEY="{0}"',
    )),
    ("private_key", lambda chance: private_key(chance, " "), ("TLS_KEY='{0}'", "the key, in one line: {0}")),
    ("spoken_password", chosen, (
        "the wifi password is {0}",
        "WiFi: acme-guest, password: {0}",
        "Omar's password is {0} now, he changed it on Monday",
        "you can log in with dana@example.com / password: {0}",
        "the passphrase for the backup disk is {0}",
        "My new password: {0}",
        "use the password {0} for the staging site",
        "password for the staging db is {0}",
        "the password was changed to {0}",
        "login dana with password {0}",
        "pw: {0}",
        "The admin password should be {0} again",
    )),
    ("foreign_password", chosen, (
        "le mot de passe est {0}",
        "mot de passe : {0}",
        "mon mot de passe du wifi est {0}",
        "la contraseña es {0}",
        "contraseña: {0}",
        "La clave del wifi es {0}",
        "la password è {0}",
        "parola d'ordine: {0}",
        "a senha é {0}",
        "senha do banco: {0}",
        "palavra-passe: {0}",
        "het wachtwoord is {0}",
        "wachtwoord: {0}",
        "das Passwort ist {0}",
        "Das Kennwort lautet {0}",
        "Passwort: {0}",
        "lösenordet är {0}",
        "adgangskode: {0}",
        "passord: {0}",
        "salasana on {0}",
        "hasło: {0}",
        "heslo: {0}",
        "jelszó: {0}",
        "parolă: {0}",
        "şifre: {0}",
        "пароль: {0}",
        "пароль от wifi: {0}",
        "κωδικός: {0}",
        "パスワード: {0}",
        "パスワードは{0}です",
        "密码是{0}",
        "密码\uff1a{0}",
        "비밀번호: {0}",
        "kata sandi: {0}",
        "mật khẩu: {0}",
        "كلمة المرور: {0}",
        "סיסמה: {0}",
        "पासवर्ड: {0}",
    )),
    ("config_password", password, (
        "ansible_become_password: {0}",
        "spring.datasource.password={0}",
        'network={{\n  ssid="home"\n  psk="{0}"\n}}',
        "smtp_pass = {0}",
        "DB_PASS={0}",
        "requirepass {0}",
        "$db_pwd = '{0}';",
        "ALTER USER app WITH PASSWORD '{0}';",
        "CREATE USER 'app'@'%' IDENTIFIED BY '{0}';",
        "echo 'root:{0}' | chpasswd",
        '<add name="db" connectionString="Server=db;Uid=sa;Password={0}" />',
        "auth=('dana', '{0}')",
        "[credentials]\nusername = dana\npassword = {0}",
        "export RESTIC_PASSWORD='{0}'",
    )),
)  # fmt: skip


def planted(seed: int, each: int = 3) -> Iterator[Planted]:
    """`each` secrets of every format, each in another place; the same for the same seed."""
    chance = random.Random(seed)
    for row in FORMATS:
        yield from _tokens(chance, row, each)
    for kind, draw, places in PERSONAL:
        for place in chance.sample(places, min(len(places), max(each, len(places) // 3))):
            secret = draw(chance)
            yield Planted(kind, secret, place.format(secret))


def unlisted(seed: int, each: int = 3) -> Iterator[Planted]:
    chance = random.Random(seed)
    for row in UNLISTED:
        yield from _tokens(chance, row, each)


def _tokens(chance: random.Random, row: Format, each: int) -> Iterator[Planted]:
    for place in chance.sample([*NAMED, *(ANYWHERE if row.bare else ())], each):
        secret = row.draw(chance)
        yield Planted(row.kind, secret, place.format(secret, row.variable, row.variable.lower(), row.kind))
