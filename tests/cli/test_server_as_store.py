"""The command line with a server as the store."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.user import User
from serve.running import RunningServer, interpreter

from perdure import Memory
from perdure.errors import Unauthenticated


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder = tmp_path_factory.mktemp("served")
    with RunningServer(folder / "memory.db") as server:
        yield User({
            "PERDURE_STORE": server.started["url"], "PERDURE_TOKEN": server.owner, "HOME": str(folder),
            "COLUMNS": "100", "NO_COLOR": "",
        })  # fmt: skip


def test_a_sentence_corrects_a_memory_of_a_server_after_a_yes(remote: User):
    here = ("--namespace", "choir")
    remote.done("remember", "The choir sings on Thursday at 7", *here)
    sentence = "The choir sings at 8, not at 7"
    token = remote("update", sentence, *here).err.split("--confirm ")[1].split()[0]
    assert remote.done("update", sentence, "--confirm", token, *here).out.startswith("Updated #1, now version 2")
    assert remote.done("show", "1", "--json", *here).json["text"] == "The choir sings on Thursday at 8"


def test_commands_work_on_a_server_as_on_a_file(remote: User, tmp_path: Path):
    said = remote.done("remember", "Alice prefers dark mode", "--tag", "ui")
    assert (said.out.startswith("Remembered #1"), said.err) == (True, "")
    assert remote.done("recall", "dark mode", "--json").json["hits"][0]["record"]["number"] == 1
    remote.done("update", "1", "--text", "Alice prefers light mode")
    assert "Your last change was to update #1" in remote.done("undo", "--yes").err
    assert remote.done("show", "1", "--json").json["text"] == "Alice prefers dark mode"
    remote.done("export", str(tmp_path / "all.jsonl"))
    assert remote.done("import", str(tmp_path / "all.jsonl"), "--json").json["present"] == 1
    listed = {entry["name"]: entry["value"] for entry in remote.done("config", "--json").json["settings"]}
    assert listed["store"].startswith("http://127.0.0.1:")


def test_a_host_s_server_on_a_server_writes_as_a_model(remote: User):
    """`perdure mcp` with a person's token: what comes from a model counts as a model's."""
    params = {"name": "remember", "arguments": {"text": "Tea is green"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    started, pipe = [*interpreter(), "perdure", "mcp"], subprocess.PIPE
    with subprocess.Popen(started, env={**os.environ, **remote.environment}, stdin=pipe, stdout=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.stdin.close()
    assert answer["result"]["structuredContent"]["outcome"] == "inserted", answer
    assert remote.done("log", "--json").json["revisions"][0]["change"]["surface"] == "http (model)"


def test_what_needs_the_file_says_where_to_run_it(remote: User, tmp_path: Path):
    copy = tmp_path / "copy"
    copy.touch()
    for words in (
        ("backup", str(tmp_path / "new")), ("restore-backup", str(copy), "--yes"), ("token", "list"),
        ("token", "create", "x"), ("serve", "--port", "0"),
    ):  # fmt: skip
        refused = remote(*words, "--json")
        assert refused.code == 2, words
        assert json.loads(refused.err or refused.out)["code"] == "store_remote", words
    assert list(tmp_path.iterdir()) == [copy]


def test_doctor_asks_the_server_tries_the_token_and_says_where_the_rest_is_checked(remote: User):
    found = remote.done("doctor")
    assert [row[:2] for row in found.rows] == [["ok", "server"], ["ok", "token"], ["ok", "store"]]
    assert "where the server runs" in found.out
    refused = remote("doctor", PERDURE_TOKEN="wrong")  # noqa: S106
    assert (refused.code, "PERDURE_TOKEN" in refused.out) == (7, True)
    repairing = remote("doctor", "--repair")
    assert (repairing.code, "perdure doctor --repair" in repairing.out) == (7, True)
    away = remote("doctor", PERDURE_STORE="http://127.0.0.1:1")
    assert (away.code, "could not be asked" in away.out) == (7, True)


def test_a_wrong_token_is_mended_in_the_words_of_whoever_gave_it(remote: User):
    refused = remote.fails(4, "recall", "tea", PERDURE_TOKEN="wrong")  # noqa: S106
    assert "Put one into PERDURE_TOKEN" in refused.err
    assert "Authorization" not in refused.err
    with (
        Memory(remote.environment["PERDURE_STORE"], token="wrong") as memory,  # noqa: S106
        pytest.raises(Unauthenticated) as caught,
    ):
        memory.recall("tea")
    assert "`Memory(token=…)`" in str(caught.value)


def test_a_server_that_lost_for_now_is_an_error_of_the_store(remote: User):
    away = remote.fails(5, "recall", "tea", PERDURE_STORE="http://127.0.0.1:1", PERDURE_TOKEN="x")  # noqa: S106
    assert "could not be asked" in away.err
    assert "perdure serve" in away.err
