"""Secrets that were planted before there were patterns for them are found, and harmless text is left alone.

`make bench-secrets` prints the same figures over more seeds, conversations and the standard library.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from planted_secrets import Planted, planted, unlisted

from perdure import Memory, errors
from perdure.text.secrets import redact

REPOSITORY = Path(__file__).parents[2]
# They show what a secret looks like.
SHOW_SECRETS = {"secrets", "planted_secrets.py", "test_secrets.py"}


def is_found(secret: Planted) -> bool:
    return secret.secret not in redact(secret.text).text


@pytest.mark.parametrize("seed", [1, 2])
def test_of_several_hundred_planted_secrets_at_least_nineteen_in_twenty_are_found(seed: int):
    secrets = list(planted(seed))
    by_kind = Counter(secret.kind for secret in secrets)
    missed = [secret for secret in secrets if not is_found(secret)]
    assert len(secrets) >= 200
    assert len(by_kind) >= 20
    assert len(missed) <= 0.05 * len(secrets), missed
    assert {
        kind for kind, count in Counter(secret.kind for secret in missed).items() if count == by_kind[kind]
    } == set()


def test_of_vendors_that_nobody_thought_of_most_secrets_are_found_by_where_they_stand():
    secrets = [secret for seed in (1, 2, 3) for secret in unlisted(seed)]
    assert sum(is_found(secret) for secret in secrets) >= 0.5 * len(secrets)


def test_at_most_one_line_of_code_in_two_hundred_is_touched():
    paths = [path for folder in ("src", "tests", "tools", "bench") for path in (REPOSITORY / folder).rglob("*.py")]
    code = [path for path in paths if not SHOW_SECRETS & set(path.relative_to(REPOSITORY).parts)]
    lines = [line for path in code for line in path.read_text(encoding="utf-8").splitlines()]
    touched = [line for line in lines if redact(line).text != line]
    assert len(lines) > 20_000
    assert len(touched) <= 0.005 * len(lines), touched


def test_no_byte_of_a_secret_of_any_kind_is_in_a_file_a_note_or_an_error(tmp_path: Path):
    one_of_each = {secret.kind: secret for secret in planted(seed=3) if is_found(secret)}
    said: list[str] = []
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        for secret in one_of_each.values():
            done = memory.remember(
                secret.text,
                title=secret.text.replace("\n", " ")[:200],
                reasoning=secret.text,
                metadata={"log": [secret.text]},
            )
            said += (done.record.text, *done.notes)
            assert done.notes, secret
            with pytest.raises(errors.PerdureError) as raised:
                memory.remember("x", key=secret.text)
            said.append(str(raised.value))
            memory.update(done.record.number, text=f"{secret.text}\nonce more ({secret.kind})")
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(one_of_each) >= 80
    for kind, secret, _ in one_of_each.values():
        assert not any(secret.encode() in content for content in files), kind
        assert not any(secret in text for text in said), kind
