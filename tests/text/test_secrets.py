"""Secrets leave the text, everything else stays.

No value below is real, and none is written out: secrets are drawn from a seeded generator in the format of their
vendor, so that this file holds nothing a scanner would have to be told to ignore.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import random
import re
import string
import subprocess
import sys
import uuid
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_secrets import planted

from perdure.text.secrets import KINDS, Redacted, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Draw = Callable[[random.Random], str]

# Read while collecting: no test sees the settings of whoever runs it.
BENCH_DATA = Path(os.environ.get("PERDURE_BENCH_DATA", os.devnull))

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
BASE32 = string.ascii_uppercase + "234567"


def seeded(seed: int) -> random.Random:
    return random.Random(seed)


def body(alphabet: str, least: int, most: int | None = None) -> Draw:
    return lambda rng: "".join(rng.choices(alphabet, k=rng.randint(least, most or least)))


def joined(*parts: str | Draw) -> Draw:
    return lambda rng: "".join(part if isinstance(part, str) else part(rng) for part in parts)


def one_of(*draws: Draw) -> Draw:
    return lambda rng: rng.choice(draws)(rng)


def jwt(rng: random.Random) -> str:
    head = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    claims = {"sub": str(rng.randrange(10**9)), "iat": rng.randrange(10**9, 2 * 10**9)}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, claims)]
    return ".".join([*parts, body(URLSAFE, 43)(rng)])


def pem(rng: random.Random) -> str:
    name = rng.choice(["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""]) + "PRIVATE KEY"
    lines = [body(ALNUM + "+/", 64)(rng) for _ in range(rng.randint(3, 12))] + [body(ALNUM, 30)(rng) + "=="]
    newline = rng.choice(["\n", "\n", "\\n", "\r\n", "\n    "])
    return newline.join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"])


def card(rng: random.Random) -> str:
    prefix = rng.choice(["4", "51", "55", "37", "6011", "2221"])
    digits = prefix + body(string.digits, (14 if prefix == "37" else 15) - len(prefix))(rng)
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def grouped_card(rng: random.Random) -> str:
    number, separator = card(rng), rng.choice(" -")
    cuts = (0, 4, 10, 15) if len(number) == 15 else (0, 4, 8, 12, 16)
    return separator.join(number[start:end] for start, end in pairwise(cuts))


def chosen_password(rng: random.Random) -> str:
    word = rng.choice(["sunflower", "Tr0ub4dor", "winter", "Dragon", "letmein", "c0ffee", "monkey", "Berlin"])
    return word + body(string.digits, 2, 4)(rng) + rng.choice(["", "!", "#x", "_Z"])


def generated_password(rng: random.Random) -> str:
    return "".join(rng.sample(string.ascii_letters, 8) + rng.sample(string.digits, 3)) + rng.choice("!@#%^*") + "q"


TOKENS: dict[str, Draw] = {
    "aws_key_id": joined(lambda rng: rng.choice(["AKIA", "ASIA"]), body(BASE32, 16)),
    "github_token": one_of(
        joined("gh", lambda rng: rng.choice("pousr"), "_", body(ALNUM, 36)),
        joined("github_pat_", body(ALNUM, 22), "_", body(ALNUM, 59)),
    ),
    "gitlab_token": joined("gl", lambda rng: rng.choice(["pat", "dt", "rt", "ptt"]), "-", body(URLSAFE, 20)),
    "perdure_token": joined("perdure_", body(HEX, 10), "_", body(URLSAFE, 43)),
    "slack_token": one_of(
        joined(
            "xox",
            lambda rng: rng.choice("bp"),
            "-",
            body("123456789", 12),
            "-",
            body("12345", 13),
            "-",
            body(ALNUM, 24),
        ),
        joined("xapp-1-A", body(BASE32, 10), "-", body("123456789", 13), "-", body(HEX, 64)),
    ),
    "slack_webhook": joined(
        "https://hooks.slack.com/services/T", body(BASE32, 9), "/B", body(BASE32, 9), "/", body(ALNUM, 24)
    ),
    "discord_webhook": joined("https://discord.com/api/webhooks/", body("123456789", 18), "/", body(URLSAFE, 68)),
    "telegram_token": joined(body("123456789", 10), ":AA", body(URLSAFE, 33)),
    "google_key": one_of(joined("AIza", body(URLSAFE, 35)), joined("GOCSPX-", body(URLSAFE, 28))),
    "anthropic_key": joined("sk-ant-api03-", body(URLSAFE, 93), "AA"),
    "openai_key": one_of(
        joined("sk-", body(ALNUM, 48)),
        joined("sk-proj-", body(URLSAFE, 74), "T3BlbkFJ", body(URLSAFE, 74)),
        joined("sk-or-v1-", body(HEX, 64)),
    ),
    "stripe_key": one_of(
        joined(lambda rng: rng.choice("rs"), "k_", lambda rng: rng.choice(["live", "test"]), "_", body(ALNUM, 24, 99)),
        joined("whsec_", body(ALNUM, 32)),
    ),
    "npm_token": joined("npm_", body(ALNUM, 36)),
    "pypi_token": joined("pypi-AgEIcHlwaS5vcmc", body(URLSAFE, 140, 180)),
    "huggingface_token": joined("hf_", body(ALNUM, 34)),
    "sendgrid_key": joined("SG.", body(URLSAFE, 22), ".", body(URLSAFE, 43)),
    "twilio_key": joined(lambda rng: rng.choice(["SK", "AC"]), body(HEX, 32)),
    "jwt": jwt,
    "private_key": pem,
    "card": grouped_card,
    "service_token": one_of(
        joined("shpat_", body(HEX, 32)), joined("dop_v1_", body(HEX, 64)), joined("gsk_", body(ALNUM, 52))
    ),
}

# What a person or an agent writes around a token it was shown.
PLACES = (
    "use {} for the staging deploy, the old one expired",
    "I rotated it yesterday, the new one is {}.",
    "The customer pasted {} into the ticket, please delete it",
    "- CI failed because `{}` was revoked\n- ask Dana for a new one",
    '{{"level": "error", "msg": "401 from upstream", "used": "{}", "took_ms": 12}}',
    "2024-05-01T12:00:03Z WARN client rejected credential={} status=403",
    "curl -s https://api.example.com/v1/items -H 'X-Custom: {}' | jq .",
    'client = Client("{}", timeout=30)',
    "export UPSTREAM={}\nmake deploy",
    "https://ci.example.com/job/42?x=1&k={}&y=2",
    "line one\\n{}\\nline three",
    "<config><entry>{}</entry></config>",
    "früher war es {}, jetzt nicht mehr",
    "{}",
)

VALUES: dict[str, Draw] = {
    "password": one_of(chosen_password, generated_password, body(ALNUM, 12, 24)),
    "api_key": one_of(body(HEX, 32), body(ALNUM, 24, 40)),
    "secret": one_of(body(HEX, 40, 64), body(ALNUM, 24, 48), body(ALNUM + "+/", 44)),
    "token": one_of(body(HEX, 32, 40), body(ALNUM, 20, 64), body(URLSAFE, 43)),
}

# {0} is the value, {1} one of the spellings of its name.
ASSIGNMENTS = (
    "{1} = {0}",
    "{1}: {0}",
    '{1} = "{0}"',
    "config['{1}'] = '{0}'",
    '{{"user": "dana", "{1}": "{0}", "port": 5432}}',
    '{{\\"{1}\\": \\"{0}\\"}}',
    "export {1}={0}",
    "APP_{1}={0}\nAPP_PORT=8080",
    "connect(host='db', {1}='{0}', retries=3)",
    "the {1} is {0}",
    "deploy --{1} {0} --region eu-west-1",
    "deploy --{1}={0}",
    "**{1}:** {0}",
    "<{1}>{0}</{1}>",
    "| host | db1 |\n| {1} | {0} |",
    "{1}: str = '{0}'",
    "spring.datasource.{1}={0}",
    "log in as dana ({1}: {0}) and press start",
    "Server=db;User=sa;{1}={0};Timeout=30",
)

SPELLINGS = {
    "password": ("password", "PASSWORD", "db_password", "passwd", "userPassword", "passphrase", "DB_PASS"),
    "api_key": ("api_key", "API_KEY", "apiKey", "x-api-key", "access-key"),
    "secret": ("secret", "client_secret", "SECRET_KEY", "clientSecret", "signing_key"),
    "token": ("token", "access_token", "AUTH_TOKEN", "refreshToken", "_authToken"),
}


def corpus() -> Iterator[tuple[str, str, str]]:
    """Yield kind, secret and the text it hides in; the same on every run."""
    rng = seeded(20240501)
    for kind, draw in TOKENS.items():
        for place in PLACES:
            secret = draw(rng)
            hidden = secret.partition("services/")[2] or secret if kind == "slack_webhook" else secret
            yield kind, hidden.removeprefix("https://discord.com/api/webhooks/"), place.format(secret)
    for kind, draw in VALUES.items():
        for shape in ASSIGNMENTS:
            for name in rng.sample(SPELLINGS[kind], 3):
                secret = draw(rng)
                yield kind, secret, shape.format(secret, name)
    for scheme in ("postgres", "postgresql+psycopg", "mysql", "redis", "amqp", "mongodb+srv", "https", "ftp"):
        for draw in (chosen_password, generated_password, body(ALNUM, 16)):
            secret = draw(rng).replace("#", "%23")
            yield "url_password", secret, f"DSN is {scheme}://svc_{scheme[:2]}:{secret}@db.internal:5432/app?ssl=1"
    for _ in range(12):
        secret = one_of(body(ALNUM, 32), body(URLSAFE, 40), body(HEX, 40))(rng)
        yield "bearer_token", secret, rng.choice(BEARERS).format(secret)
        secret = base64.b64encode(f"dana:{chosen_password(rng)}".encode()).decode()
        yield "basic_auth", secret, f"> GET /v1 HTTP/1.1\n> Authorization: Basic {secret}\n> Accept: */*"
        secret = body(ALNUM + "+/", 40)(rng)
        yield "aws_secret_key", secret, rng.choice(AWS_SECRETS).format(secret, TOKENS["aws_key_id"](rng))
        secret = card(rng)
        yield "card", secret, f"charged the company card {secret}, expires 04/27"


BEARERS = (
    "Authorization: Bearer {}",
    'headers={{"Authorization": "Bearer {}"}}',
    "curl -H 'authorization: bearer {}' https://api.example.com/me",
    "retried with Bearer {} and got 200",
)
AWS_SECRETS = (
    "aws_access_key_id = {1}\naws_secret_access_key = {0}",
    '{{"AccessKeyId": "{1}", "SecretAccessKey": "{0}"}}',
    "Access key ID,Secret access key\n{1},{0}",
    "export AWS_SECRET_ACCESS_KEY={0}",
)


def test_at_least_nineteen_secrets_in_twenty_are_found_and_their_bytes_are_gone() -> None:
    planted = list(corpus())
    missed = [(kind, text) for kind, secret, text in planted if secret in redact(text).text]
    by_kind = Counter(kind for kind, _, _ in planted)
    missed_by_kind = Counter(kind for kind, _ in missed)

    assert len(planted) >= 200
    assert len(missed) <= 0.02 * len(planted), missed
    assert all(missed_by_kind[kind] <= 0.1 * total for kind, total in by_kind.items()), missed


def test_what_surrounds_a_token_is_kept() -> None:
    rng = seeded(7)
    for kind, draw in TOKENS.items():
        if kind.endswith("webhook"):
            continue
        for place in PLACES:
            result = redact(place.format(draw(rng)))
            if result.found == (kind,):
                assert result.text == place.format(f"[REDACTED:{kind}]")


def test_every_kind_the_module_names_is_found_somewhere_in_the_corpus() -> None:
    texts = [*(text for _, _, text in corpus()), *(secret.text for secret in planted(seed=1))]

    assert {kind for text in texts for kind in redact(text).found} == set(KINDS)


def test_kinds_are_reported_in_order_of_appearance() -> None:
    rng = seeded(3)
    github, npm = TOKENS["github_token"](rng), TOKENS["npm_token"](rng)

    result = redact(f"{npm} then {github} then {npm}")

    assert result == Redacted(
        "[REDACTED:npm_token] then [REDACTED:github_token] then [REDACTED:npm_token]",
        ("npm_token", "github_token", "npm_token"),
    )


def test_an_address_keeps_everything_but_its_password() -> None:
    assert redact("postgres://user:" + "pass" + "@host:5432/db?x=1").text == (
        "postgres://user:[REDACTED:url_password]@host:5432/db?x=1"
    )


def test_an_address_loses_a_password_that_holds_an_at_sign() -> None:
    assert redact("redis://:p" + "@ss@cache/0").text == "redis://:[REDACTED:url_password]@cache/0"


def test_a_private_key_goes_from_its_first_line_to_its_last() -> None:
    block = pem(seeded(11))

    assert redact(f"before\n{block}\nafter").text == "before\n[REDACTED:private_key]\nafter"


def test_a_private_key_cut_short_goes_as_far_as_it_reaches() -> None:
    lines = pem(seeded(5)).replace("\\n", "\n").splitlines()[:3]

    result = redact("\n".join([*lines, "... and the log stopped here"]))

    assert result.text == "[REDACTED:private_key]\n... and the log stopped here"


def test_prose_between_two_quoted_markers_of_a_private_key_is_kept() -> None:
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    text = (
        f"{begin} opens the file.\n"
        + "Between them stands src/perdure/text/secrets/examples.\n" * 9
        + f"{end} ends it."
    )

    assert redact(text).text == text


def test_a_token_inside_a_password_field_is_named_by_what_it_is() -> None:
    token = TOKENS["github_token"](seeded(2))

    assert redact(f'password = "{token}"').text == 'password = "[REDACTED:github_token]"'


def test_a_secret_longer_than_any_limit_goes_whole() -> None:
    secret = body(ALNUM, 5000)(seeded(9))

    assert redact(f"token={secret} end").text == "token=[REDACTED:token] end"
    assert redact(f"Authorization: Bearer {secret}").text == "Authorization: Bearer [REDACTED:bearer_token]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: " + "changeme123", "password: [REDACTED:password]"),
        ("the wifi password is " + "sunflower42.", "the wifi password is [REDACTED:password]."),
        ("password for the staging db: " + "Xk29fjk2", "password for the staging db: [REDACTED:password]"),
        ("password = '" + "swordfish'", "password = '[REDACTED:password]'"),
        ("password: " + "20231994", "password: [REDACTED:password]"),
        ("password = " + "Tr!cky#Pass", "password = [REDACTED:password]"),
        ("PGPASSWORD=" + "a&b,(c12 psql", "PGPASSWORD=[REDACTED:password] psql"),
        ('"ab\\"12" password="' + 'x\\"y12345"', '"ab\\"12" password="[REDACTED:password]"'),
    ],
)
def test_passwords_people_choose_are_recognised(text: str, expected: str) -> None:
    assert redact(text) == Redacted(expected, ("password",))


@pytest.mark.parametrize(
    "text",
    [
        "password policy: at least 12 characters",
        "password: sha256 hashed with a salt",
        "password: required, 8-64 characters",
        "password: 2024-05-01 was the last change, dana@example.com made it",
        "password: dana@example.com knows it",
        "password: ~/.config/perdure/db1.pass",
        "token: the parser reads one token at a time",
        "token = tokens[0]",
        "password = getpass.getpass()",
        "password=self.password2",
        "api_key: str | None = None",
        "secret: ${{ secrets.NPM_TOKEN_2 }}",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $GITHUB_TOKEN_1",
        'f"postgres://{user}:{password}@{host}"',
        "postgres://$USER:$PASS@localhost",
        "http://localhost:8080, then mail dana@example.com",
        "docker://alpine:3.18@sha256:0123abcd",
        "ghp_" + "x" * 36,
        "-----BEGIN PRIVATE KEY----- is the first line, -----END PRIVATE KEY----- the last",
        "order 4111111111111112 and ticket 4111111111111111",
        '{"password": "This field is required.", "token": "Token"}',
        "next_page_token: " + "CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA",
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:" + "prod-db-a1b2c3d4e5f6g7",
    ],
)
def test_what_only_sounds_like_a_secret_is_left_alone(text: str) -> None:
    assert redact(text) == Redacted(text, ())


def hashes() -> Iterator[str]:
    """Yield lines full of identifiers that look random and are public."""
    rng = seeded(42)
    for _ in range(12):
        sha1, sha256 = body(HEX, 40)(rng), body(HEX, 64)(rng)
        digest = base64.b64encode(rng.randbytes(64)).decode()
        identifier = uuid.UUID(int=rng.getrandbits(128), version=4)
        yield f"bisected to commit {sha1}, first bad is {sha1[:7]}"
        yield f"{sha1[:10]} fix: close the cursor before the connection ({sha1[10:18]}..{sha1[20:28]})"
        yield f"request {identifier} timed out; trace_id={sha256[:32]} span_id={sha256[:16]}"
        yield f"image: registry.example.com/app@sha256:{sha256}"
        yield f"sha256sum of the model file: {sha256}  model.onnx"
        yield f'"integrity": "sha512-{digest}", "resolved": "https://registry.example.com/x/-/x-1.0.0.tgz"'
        yield f"![diagram](data:image/png;base64,iVBORw0KGgo{base64.b64encode(rng.randbytes(300)).decode()})"
        yield f'ETag: W/"{sha1[:27]}", content_hash={sha256}'
        yield f"/var/lib/docker/overlay2/{sha256}/merged/etc/hosts"
        yield f"cache key: v3-{sha256[:20]}-linux, primary key: {identifier}"
        yield f"traceparent: 00-{sha256[:32]}-{sha1[:16]}-01"
        yield f"SHA256:{base64.b64encode(rng.randbytes(32)).decode().rstrip('=')} dana@laptop (ED25519)"
        yield f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64.b64encode(rng.randbytes(32)).decode()} dana@laptop"
        yield f"id={rng.randrange(10**17, 10**18)} ts={rng.randrange(10**18, 2 * 10**18)} at={rng.randrange(10**15)}"


def locomo_turns() -> list[str]:
    file = BENCH_DATA / "locomo10.json"
    if not file.is_file():
        pytest.skip("PERDURE_BENCH_DATA does not hold locomo10.json")
    samples: list[dict[str, dict[str, Any]]] = json.loads(file.read_text(encoding="utf-8"))
    parts = [
        part for sample in samples for name, part in sample["conversation"].items() if re.match(r"session_\d+$", name)
    ]
    return [turn["text"] for part in parts for turn in part]


def test_no_public_hash_identifier_or_digest_is_taken_for_a_secret() -> None:
    assert [line for line in hashes() if redact(line).text != line] == []


def test_at_most_one_engineering_note_in_two_hundred_is_touched() -> None:
    notes = [line for line in NOTES.splitlines() if line]
    touched = [(note, redact(note).text) for note in notes if redact(note).text != note]

    assert len(notes) >= 200
    assert len(touched) <= 0.005 * len(notes), touched


def test_at_most_one_conversation_turn_in_two_hundred_is_touched() -> None:
    turns = locomo_turns()
    touched = [turn for turn in turns if redact(turn).text != turn]

    assert len(touched) <= 0.005 * len(turns), touched


def test_the_source_of_the_standard_library_keeps_its_code() -> None:
    sources = [Path(module.__file__ or "") for module in (json, random, string, uuid, base64, re, importlib.util)]

    assert [path.name for path in sources if redact(text := path.read_text(encoding="utf-8")).text != text] == []


def test_text_without_secrets_comes_back_as_the_same_object() -> None:
    text = "Dana prefers tabs; the build takes 4 minutes: see docs/build.md#caching"

    assert redact(text).text is text


def test_importing_and_clean_text_compile_no_pattern() -> None:
    script = """
import dataclasses, re
compiled = []
compiler = re.compile
re.compile = lambda pattern, flags=0: compiled.append(pattern) or compiler(pattern, flags)
from perdure.text.secrets import redact
redact("The meeting moved to Tuesday at 10:30, and Dana will bring the 3 posters.")
assert compiled == [], compiled
redact("password: " + "changeme123")
assert compiled != []
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


PIECES = (
    *("password", "token", "secret", "api_key", "passwd", "bearer ", "Authorization: ", "Basic ", "card", "user"),
    *(
        "=",
        ": ",
        " is ",
        " ",
        "\n",
        "\\n",
        '"',
        "'",
        "`",
        '\\"',
        "|",
        "<",
        ">",
        "--",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "$",
    ),
    *(
        "://",
        "@",
        ":",
        ".",
        ",",
        ";",
        "/",
        "+",
        "-",
        "_",
        "&",
        "é",
        "\u0130",
        "\ud800",
        "[REDACTED:",
        "[REDACTED:token]",
    ),
    *(
        "ghp_",
        "sk-",
        "sk-ant-",
        "eyJ",
        "AKIA",
        "SG.",
        "glpat-",
        "xoxb-",
        "npm_",
        "hf_",
        "AC",
        "hooks.slack.com/services/",
    ),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "hunter" + "22", "4111 1111 1111 " + "1111"),
    *("aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "0123456789abcdef0123456789abcdef", "A2B3C4D5E6F7G2H3", "4" + "1" * 15),
)


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
@settings(max_examples=250, deadline=None)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)

    assert redact(once.text) == once


def test_redacting_the_whole_corpus_twice_is_redacting_it_once() -> None:
    whole = "\n".join(text for _, _, text in corpus())
    once = redact(whole)

    assert redact(once.text) == once
    assert all(redact(redact(text).text) == redact(text) for _, _, text in corpus())


def test_a_placeholder_does_not_make_a_secret_of_what_follows_it() -> None:
    token = TOKENS["github_token"](seeded(1))
    text = f"{token}: a1b2c3d4e5f6g7h8: the build that used it"

    assert redact(text).text == "[REDACTED:github_token]: a1b2c3d4e5f6g7h8: the build that used it"


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_redacted(text: str) -> None:
    assert redact(redact(text).text) == redact(text)


@given(st.lists(st.from_regex(r"[a-z]{1,14}[.,;:?!]?", fullmatch=True), max_size=60).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_text_of_ordinary_words_stays_as_it_is(text: str) -> None:
    assert redact(text) == Redacted(text, ())


NOTES = """
The auth service issues a new token every 15 minutes; refresh happens in the background.
Decision: password reset links expire after 30 minutes, not 24h.
We moved the API key rotation job to Sunday 03:00 UTC.
Never log the Authorization header; the middleware drops it before the access log.
token: the lexer yields one token per call and keeps a single character of lookahead
The secret to fast builds here is the remote cache: hit rate went from 40% to 93%.
password: minimum 12 characters, no composition rules, check against the breach list
password: bcrypt with cost 12, migrating to argon2id in Q3
Password hashing: PBKDF2 with 600000 iterations as per OWASP 2023
The key insight: retries must be idempotent, otherwise the queue doubles the charge.
Primary key is (tenant_id, id); foreign key on delete cascade.
API key goes in the X-API-Key header, never in the query string.
pass: 312 tests, fail: 0, skipped: 4, duration 18.2s
pwd is /home/dana/src/perdure when the hook runs
cd "$(dirname "$0")" && pwd; echo $PATH | tr ':' '\\n'
max_tokens=4096, temperature=0.2, top_p=0.95
num_tokens: 128000 context, 16384 output
Tokenizer: cl100k_base for gpt-4, o200k_base for gpt-4o
eos_token = "<|endoftext|>", pad_token = "[PAD]", bos_token="<s>"
token_count = len(encoding.encode(text)); budget = 8192 - token_count
The parser fails on token: expected ')' but found 'EOF' at line 14
SyntaxError: invalid token (config.py, line 7)
csrf token missing or incorrect: happens only behind the Cloudflare tunnel
JWT expiry is 3600s, clock skew tolerance 60s, algorithm RS256.
jwt.decode(token, key, algorithms=["HS256"], audience="perdure")
def login(username: str, password: str) -> Token: ...
password: str = Field(min_length=12, max_length=128)
secret: SecretStr; use secret.get_secret_value() only at the edge
api_key: str | None = None  # read from the environment when absent
api_key = os.environ["OPENAI_API_KEY"]
api_key = os.getenv("ANTHROPIC_API_KEY", "")
token = request.headers.get("Authorization", "").removeprefix("Bearer ")
token = await vault.read("kv/data/ci/github2")
const token = useSelector((state) => state.session.token);
password = getpass.getpass("Database password: ")
PASSWORD=$(pass show infra/db/prod)
export GITHUB_TOKEN=$(gh auth token)
export OPENAI_API_KEY=${OPENAI_API_KEY:?set it first}
DB_PASSWORD: ${{ secrets.DB_PASSWORD }}
password: "{{ vault_db_password }}"
password: <redacted>
password: ********
api_key: YOUR_API_KEY
api_key="your-api-key-here"
token: "<paste token here>"
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/me
Bearer authentication is required for every route except /health.
Basic authentication over plain HTTP is refused with 426.
Authorization: role based, see docs/adr/0012-authorization.md
The Authorization header must use the Bearer scheme (RFC 6750).
Set secretKeyRef: name: db-credentials, key: password
kubectl create secret generic db-credentials --from-file=./password.txt
secretName: wildcard-example-com-tls
imagePullSecrets: [{name: regcred}]
credentials: include  # fetch option, needed for cookies across origins
credential helper: osxkeychain on macOS, libsecret on Linux
AWS_PROFILE=staging terraform plan -out=tfplan
aws sts get-caller-identity shows arn:aws:sts::123456789012:assumed-role/Deploy/ci
arn:aws:iam::123456789012:role/GitHubActionsDeploy is the only role with write access
Instance i-0abcd1234ef567890 in subnet-0a1b2c3d4e5f67890 keeps failing health checks
vpc-0123456789abcdef0, sg-0fedcba9876543210, ami-0c55b159cbfafe1f0
s3://perdure-artifacts/builds/2024/05/01/perdure-0.3.1-py3-none-any.whl
Access keys older than 90 days are disabled by a lambda; owners get a mail on day 80.
The access key rotation runbook is docs/runbooks/rotate-access-keys.md
Rotated the signing key on 2024-05-01; the old public key stays in the JWKS for 48h.
private key stays on the HSM; only the CSR leaves the machine
ssh-keygen -t ed25519 -C "dana@laptop" -f ~/.ssh/id_ed25519_work
Host key verification failed: remove line 14 of ~/.ssh/known_hosts
encryption key: derived per tenant with HKDF-SHA256
master key lives in KMS, data keys are wrapped and stored next to the blob
The cache key is sha256(prompt + model + temperature), truncated to 16 bytes.
Redis key layout: sess:{user_id}:{device}, ttl 1800
sort_key: created_at, partition key: tenant_id
Keyboard: access key Alt+Shift+P opens the palette
dict keys: name, email, role; missing key raises KeyError: 'role'
user:password in the URL is deprecated, browsers strip it
https://example.com:8443/login?next=/inbox keeps the port after redirect
git clone git@github.com:perdure/perdure.git && cd perdure
git remote set-url origin https://github.com/perdure/perdure.git
npm install @perdure/client@1.4.2 --save-exact
pip install "perdure[postgres]==0.3.1" --require-hashes -r requirements.txt
postgres://localhost:5432/perdure_test is created by the fixture
postgresql://%(user)s:%(password)s@%(host)s/%(name)s
redis://cache:6379/0 without auth on the internal network
amqp://guest@rabbit:5672/%2f
The webhook endpoint is https://hooks.example.com/services/ci and signs with HMAC-SHA256
Slack: post to #deploys via the incoming webhook, channel id C024BE91L
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX is the documented example
Sentry DSN belongs in the config map, it is not considered secret for browsers
uses: actions/checkout@b4ffde65f46336ab88eb53be808477a3936bae11  # v4.1.1
uses: pypa/gh-action-pypi-publish@release/v1 with trusted publishing, no token needed
pypi-publish-workflow-for-prereleases-on-the-main-branch-only.yml is disabled
sk-learn 1.4 changed the default of n_init; pin scikit-learn<1.5
class="sk-fading-circle sk-circle-1 sk-circle-12" comes from the spinner package
task-scheduling-for-background-consolidation-workers-v2 is the epic
risk-assessment-2024-q3-infrastructure-review.pdf is in the shared drive
npm_config_registry=https://registry.example.com npm_lifecycle_event=postinstall
hf_hub_download(repo_id="BAAI/bge-small-en-v1.5", filename="model.onnx")
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 pytest -q
gh pr create --fill --base main --head feature/redaction
gho_ and ghp_ prefixes mark GitHub tokens; we match on the prefix and the length
AKIA marks long-lived AWS keys, ASIA temporary ones
ASIA-PACIFIC latency is 210 ms, EU 38 ms, US-EAST 92 ms
ASIAPACIFICREGIONALHEADQUARTERS is one word in that CSV for some reason
SG.UTF-8 is not a locale; use en_SG.UTF-8
ACCEPT and ACTIVE states collapse into one; SKIPPED stays
AIzawa wrote the first draft of the paper, we cite it in section 4
eyJ is what base64 of '{"' looks like, which is why tokens start with it
The pagination cursor is base64 of the last row: eyJpZCI6MTIzNDUsImRpciI6ImFzYyJ9
next_token=eyJvZmZzZXQiOjIwMH0 means offset 200
"nextPageToken": "CAUQAA", "resultSizeEstimate": 201
continuation token: 1!48!MDAwMDEyIWxvZ3MvMjAyNC8wNS8wMS5sb2chMDAwMDI4
build 20240501.7 -> 20240502.1, tag v0.3.1-rc.2+build.55
Commit 3f2a9c1 broke main; reverted in 77b0d1e.
git bisect says 9fceb02d0ae598e95dc970b74767f19372d61af8 is the first bad commit
git diff 1f7ec5e..c6b0f7d -- src/perdure/store
d41d8cd98f00b204e9800998ecf8427e is the md5 of nothing
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 is sha256 of the empty string
--hash=sha256:2f1a4b6c8d0e2f4a6b8c0d2e4f6a8b0c2d4e6f8a0b2c4d6e8f0a2b4c6d8e0f2a
FROM python:3.11-slim@sha256:4f8d7c6b5a493827160f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09
checksum mismatch: expected crc32 0xdeadbeef, got 0x1badb002
content hash: 7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730
user 6ba7b810-9dad-11d1-80b4-00c04fd430c8 reported the duplicate memory
Request-Id: 01HWZX3V8Q2J5N7K9M1P3R5T7V took 840 ms
ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV sorts by time, UUIDv4 does not
device 00:1A:2B:3C:4D:5E got 192.168.17.23 from DHCP
fe80::1ff:fe23:4567:890a%eth0 is link-local, do not put it in the config
call +49 30 901820 for the building manager, +1 415 555 2671 for the SF office
IBAN is on the invoice, order 4500012345678901 was paid on 2024-04-30
invoice 2024-000118, PO 5105105105105, amount 1,299.00 EUR
timestamp 1714567890123456789 ns equals 2024-05-01T12:51:30.123456789Z
epoch 1714567890 and 1714567890123 are the same moment in s and ms
4611686018427387904 is 2**62, 9223372036854775807 is the int64 maximum
EXPLAIN: Index Scan using memories_pkey on memories (cost=0.42..8.44 rows=1 width=312)
ERROR 1045 (28000): Access denied for user 'app'@'10.0.3.17' (using password: YES)
FATAL: password authentication failed for user "perdure"
psycopg.OperationalError: connection failed: fe_sendauth: no password supplied
sudo: a password is required
mysql -u root -p asks for the password interactively
psql "host=db user=app dbname=perdure sslmode=require" reads ~/.pgpass
Use `--password-stdin` with docker login, `--password` leaks into the process list.
docker run -u 1000:1000 -e POSTGRES_PASSWORD_FILE=/run/secrets/pg postgres:16
vault kv get -field=password secret/data/ci/registry
op read "op://infra/staging-db/password"
sops -d secrets/prod.enc.yaml | yq .database.host
secrets.token_urlsafe(32) gives 43 characters; secrets.token_hex(16) gives 32
secrets.compare_digest(a, b) instead of == for anything attacker-supplied
SECRET_KEY must be set in production; manage.py check --deploy complains otherwise
secret scanning found nothing in the last 200 commits
gitleaks false positives are listed in .gitleaksignore with a reason
The secret is mounted at /var/run/secrets/kubernetes.io/serviceaccount/token
token: /var/run/secrets/tokens/vault-token-v2
password_hash TEXT NOT NULL, password_changed_at TIMESTAMPTZ
UPDATE users SET password_hash = crypt($1, gen_salt('bf', 12)) WHERE id = $2
INSERT INTO tokens (id, user_id, expires_at) VALUES ($1, $2, now() + interval '30 days')
SELECT token, count(*) FROM terms GROUP BY token ORDER BY 2 DESC LIMIT 20
bm25: k1=1.2, b=0.75; token filter: lowercase, asciifolding, stemmer
Unicode: NFC first, then casefold; the token boundary is UAX #29
"token": "string", "expires_in": 3600, "token_type": "Bearer"
{"password": {"type": "string", "minLength": 12, "format": "password"}}
<input type="password" name="password" autocomplete="current-password">
<label for="password">Password</label>
placeholder="Enter your password" aria-label="Password"
i18n: password = "Passwort", forgot_password = "Passwort vergessen?"
"password": "Your password must contain at least one number"
errors.password = "is too short (minimum is 12 characters)"
password: z.string().min(12).max(128)
password: ['', [Validators.required, Validators.minLength(12)]]
password VARCHAR(255), salt BINARY(16)
password1 and password2 must match in the signup form
test_password_is_never_logged passes; test_token_expires_after_1h is flaky
assert redact("password policy: at least 12 characters").found == ()
if token == Token.LPAREN: depth += 1
token := lexer.Next(); for token.Kind != EOF { ... }
match token { Token::Ident(name) => ..., Token::Number(n) => ... }
self.token = token or self.default_token
headers = {"Authorization": f"Bearer {self.token}"}
headers["X-Api-Key"] = settings.api_key.get_secret_value()
client = anthropic.Anthropic()  # reads the key from the environment
openai.api_key_path = "~/.config/openai/key"
boto3.client("s3", aws_access_key_id=key_id, aws_secret_access_key=secret_key)
session.get(url, auth=(user, password), timeout=10)
Credentials are read from ~/.aws/credentials, profile [staging]
Credentials(access_key=None, secret_key=None, token=None)
two-factor: TOTP with 6 digits and a 30 s window; recovery codes are hashed
OTP 6 digits, valid 10 minutes, 5 attempts
PIN: 4 digits on the kiosk, 6 on mobile
The wifi password is on the whiteboard in the kitchen.
The password is stored in 1Password under "Staging DB".
The token is valid for 15 minutes and bound to the device.
The secret is base64-encoded, not encrypted!
The api key is passed as a query parameter in v1 and as a header in v2.
password is case-sensitive; username is not
token is opaque; do not parse it
The passphrase is asked for once per login session.
passphrase: diceware, at least six words
passcode required on all managed devices
Ask Miguel for the credentials of the staging account.
Miguel has the only admin password, bus factor 1
credentials: see the vault entry infra/staging
login: dana, password: ask in #infra
user: admin / password: see vault
username: app_rw, password: (in vault), database: perdure
Please do not paste passwords or tokens into this channel.
Reminder: change the password of the shared mailbox before Friday.
Customer asked whether we support passwordless login: yes, passkeys since 0.3.
LDAP bind password moved from the ini file to systemd credentials.
TLS: cert-manager renews 30 days before expiry, secret istio-ingress-cert in ns istio-system
openssl req -new -newkey rsa:4096 -nodes -keyout server.key -out server.csr
PEM files start with -----BEGIN CERTIFICATE----- and hold base64 lines of 64 characters
-----BEGIN PUBLIC KEY----- blocks may be stored, private ones may not
src/perdure/text/secrets.py:212: error: Argument 1 has incompatible type "str | None"
tests/recall/test_rank_fusion_is_stable.py::test_ties_break_by_id_not_by_insertion_order PASSED
/Users/dana/Library/Application Support/Code/User/workspaceStorage/9c1f3a7e5b2d4860/state.vscdb
node_modules/.pnpm/@babel+core@7.24.5/node_modules/@babel/core/lib/index.js:12:34
com.example.perdure.AuthenticationTokenProviderFactoryBean could not be initialised
CancellationTokenSource.CreateLinkedTokenSource(token1, token2)
private_key: PKCS8PrivateKeyInfo, password: Optional[bytes]
X-Request-Id and X-Correlation-Id are logged; Cookie and Set-Cookie are not
WARN retry 3/5 in 800ms: 429 Too Many Requests, x-ratelimit-remaining-tokens: 0
Rate limit: 60 requests per minute per API key, burst 10.
Pricing: 3 USD per 1M input tokens, 15 USD per 1M output tokens
Embedding 12,500 notes cost 0.04 USD and 2.1M tokens.
model=claude-3-5-sonnet-20241022 max_tokens=1024 stop_reason=end_turn
gpt-4o-mini-2024-07-18 is the default for summaries, text-embedding-3-small for vectors
all-MiniLM-L6-v2, bge-small-en-v1.5 and e5-small-v2 were compared on STS
Standup: Dana unblocked CI, Miguel reviews the redaction PR, Aiko is out until 05/13.
Lunch place with the good dumplings: Kantstr. 30, cash or card, closed on Monday
Paid by company card ending 4242, receipt in the shared folder
Stripe test mode: use the 4242 card from the docs, any future date, any CVC
The card component takes title, subtitle, and an optional footer slot.
"""
