"""Tokens through the command line and through the file: shown once, kept as hashes, revoked at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cli.user import User
from clocks import NOON, HandClock

from perdure import Memory
from perdure.auth.authorise import SCOPES, AccessToken
from perdure.auth.token_file import TokenFile
from perdure.errors import InvalidInput, StoreUnsafe, Unauthenticated


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def user(store: Path) -> User:
    return User({"PERDURE_STORE": str(store), "COLUMNS": "120", "NO_COLOR": "1"})


def test_a_token_is_shown_once_and_only_its_hash_is_kept(user: User, store: Path):
    made = user.done("token", "create", "my-agent")
    secret = made.out.strip()
    assert secret.startswith("perdure_")
    assert "my-agent may read, write in default as a model." in made.err
    for path in store.parent.iterdir():
        assert secret.rpartition("_")[2] not in path.read_text(encoding="utf-8")
    token = TokenFile(store).find(secret)
    assert (token.name, token.scopes, token.namespaces, token.writer) == (
        "my-agent", ("read", "write"), ("default",), "model",
    )  # fmt: skip
    assert secret not in repr(token) + repr(TokenFile(store)) + user.done("token", "list", "--json").out


def test_scopes_namespaces_writer_and_expiry_are_what_was_asked_for(user: User, store: Path):
    words = "token create me --scope delete --scope read -n ours -n theirs --writer person --expires 30d --json"
    made = user.done(*words.split()).json
    assert (made["scopes"], made["granted_namespaces"], made["writer"]) == (
        ["read", "delete"], ["ours", "theirs"], "person",
    )  # fmt: skip
    token = TokenFile(store).find(made["secret"])
    assert token.expires_at is not None
    assert timedelta(days=29) < token.expires_at - token.created_at < timedelta(days=31)
    assert user.done("token", "create", "all", "--all-namespaces", "--json").json["granted_namespaces"] is None


def test_the_list_shows_every_token_and_whether_it_counts(user: User):
    assert "no token for this store yet" in user.done("token", "list").err
    user.done("token", "create", "first")
    user.done("token", "create", "second", "--expires", "30d")
    user.done("token", "revoke", "first")
    assert [(row[0], row[6].split(" in ")[0]) for row in user.done("token", "list").rows] == [
        ("first", "revoked"), ("second", "expires"),
    ]  # fmt: skip
    assert "second" in user.screen("token", "list")


def test_a_revocation_is_seen_at_once_by_whoever_has_the_file_open(user: User, store: Path):
    secret = user.done("token", "create", "my-agent").out.strip()
    serving = TokenFile(store)
    assert serving.find(secret).revoked_at is None
    user.done("token", "revoke", serving.find(secret).id)
    assert serving.find(secret).revoked_at is not None


def test_a_name_is_given_once_until_it_is_revoked(user: User):
    user.done("token", "create", "my-agent")
    assert "already" in user.fails(4, "token", "create", "my-agent").err
    user.done("token", "revoke", "my-agent")
    user.done("token", "create", "my-agent")
    assert "No valid token" in user.fails(3, "token", "revoke", "nobody").err


def test_what_makes_no_sense_is_refused(user: User, tmp_path: Path):
    assert "expired already" in user.fails(2, "token", "create", "x", "--expires", "2020-01-01").err
    user.fails(2, "token", "create", "x", "--scope", "everything")
    user.fails(2, "token", "create", "x", "--all-namespaces", "-n", "ours")
    user.fails(2, "token", "create", " ")
    user.fails(2, "token", "create", "x", "-n", "\x1b[31m")
    assert "no place for tokens" in user.fails(2, "token", "create", "x", "--store", ":memory:").err
    with pytest.raises(InvalidInput, match="good for nothing"):
        TokenFile(tmp_path / "m.db").create("x", scopes=(), namespaces=None)
    assert not (tmp_path / "memory.db-tokens").exists()


WRONG = [
    "", "perdure_", "perdure__", "Bearer", "perdure_0000000000_" + "A" * 43, "\x00", "é", "x" * 99_999,
]  # fmt: skip


def test_nothing_but_the_whole_token_is_a_token(store: Path):
    tokens = TokenFile(store)
    token, secret = tokens.create("me", scopes=SCOPES, namespaces=None, writer="person")
    _, other = tokens.create("other", namespaces=None)
    id, body = token.id, secret.rpartition(f"{token.id}_")[2]
    close = [
        secret[:-1], secret + "x", secret.upper(), body, f"perdure_{id}", f"perdure_{id}_{body[::-1]}", f" {secret}",
        other.replace(other.split("_")[1], id), f"perdure_{id}_", f"{secret}\n",
    ]  # fmt: skip
    for presented in [*WRONG, *close]:
        with pytest.raises(Unauthenticated) as refused:
            tokens.find(presented)
        assert body not in str(refused.value)
    assert tokens.find(secret) == token


def test_the_files_are_their_owner_s_alone_whatever_the_umask(store: Path):
    before = os.umask(0)
    try:
        tokens = TokenFile(store)
        kept = tokens.keep_local(tokens.create("me", namespaces=None)[1])
    finally:
        os.umask(before)
    for path in (kept, store.with_name("memory.db-tokens")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tokens.find(tokens.local_token() or "").name == "me"


def test_a_file_that_others_may_use_or_that_is_a_link_is_refused(store: Path, tmp_path: Path):
    tokens, path = TokenFile(store), store.with_name("memory.db-tokens")
    _, secret = tokens.create("me", namespaces=None)
    path.chmod(0o660)
    with pytest.raises(StoreUnsafe, match="Others may use"):
        TokenFile(store).find(secret)
    path.chmod(0o600)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsafe, match="symbolic link"):
        TokenFile(store).find(secret)
    path.unlink()
    path.hardlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsafe, match="not a file of its own"):
        TokenFile(store).create("other", namespaces=None)


def test_lines_that_are_torn_or_foreign_are_skipped_and_nobody_else_s_token_is_lost(store: Path):
    tokens, path = TokenFile(store), store.with_name("memory.db-tokens")
    _, first = tokens.create("first", namespaces=None)
    whole = path.read_bytes()
    foreign = [
        b"{}",
        b"[]",
        b"null",
        b"nonsense",
        b'{"revoke": 3}',
        b'{"revoke": "x", "at": 1}',
        whole[: len(whole) // 2],
    ]
    path.write_bytes(whole + b"\n".join(foreign))
    _, second = tokens.create("second", namespaces=None)
    assert [token.name for token in tokens.list()] == ["first", "second"]
    for secret in (first, second):
        assert isinstance(tokens.find(secret), AccessToken)


def test_processes_that_make_tokens_at_once_lose_none(store: Path):
    script = (
        "import sys; from perdure.auth.token_file import TokenFile\n"
        "for n in range(20): TokenFile(sys.argv[1]).create(f'{sys.argv[2]}-{n}', namespaces=None)"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(store), str(n)]) for n in range(4)]
    assert [each.wait(60) for each in running] == [0, 0, 0, 0]
    assert len({token.name for token in TokenFile(store).list()}) == 80


def test_a_backup_that_is_restored_brings_no_revoked_token_back(store: Path, tmp_path: Path):
    tokens = TokenFile(store)
    _, secret = tokens.create("me", namespaces=None)
    with Memory(store, embedder="none") as memory:
        memory.remember("Alice prefers dark mode")
        memory.backup(tmp_path / "copy")
        tokens.revoke("me")
        memory.restore_backup(tmp_path / "copy")
    assert tokens.find(secret).revoked_at is not None


def test_a_token_that_somebody_says_is_not_remembered(store: Path):
    _, secret = TokenFile(store).create("me", namespaces=None)
    with Memory(store, embedder="none") as memory:
        stored = memory.remember(f"The server's token is {secret}, use it")
    assert stored.record.text == "The server's token is [REDACTED:perdure_token], use it"


def test_expiry_follows_the_clock(store: Path):
    clock = HandClock(NOON)
    tokens = TokenFile(store, clock)
    token, secret = tokens.create("me", namespaces=None, expires_at=NOON + timedelta(days=1))
    assert tokens.find(secret) == token
    clock.now += timedelta(days=2)
    with pytest.raises(InvalidInput, match="expired already"):
        tokens.create("other", namespaces=None, expires_at=token.expires_at)
