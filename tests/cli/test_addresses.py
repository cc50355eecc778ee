"""An address that is no file is refused wherever a file is meant, is never shown, and nothing is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hook.hosts import HostSession, tell
from mcp_server.host import ToolFailed, served

from perdure import Memory, SemanticMemoryStore, errors
from perdure.settings import load

if TYPE_CHECKING:
    from cli.user import User

ADDRESS = "mysql://ann:s3cret@db/mem"
# Of a kind that a store may have; nobody answers there.
DATABASE = "postgresql://ann:s3cret@127.0.0.1:9/mem"
ADDRESSES = (
    ADDRESS, " postgresql+psycopg://ann:s3cret@db/mem", " postgresql://ann:s3cret@db/mem",
    "postgresql://ann:s3cret?x@db/mem", "postgresql://ann:s3cret#x@db/mem",
    "'postgresql://ann:s3cret@db/mem'", '"postgresql://ann:s3cret@db/mem"', "<postgresql://ann:s3cret@db/mem>",
    "sqlite:///s3cret.db", "file:///tmp/s3cret.db", "file:s3cret.db", "FILE:/tmp/s3cret.db", "s3://ann:s3cret@bucket/x",
    "jdbc:postgresql://ann:s3cret@db/mem", "ftp://ann:s3cret@host/x", "postgresql:ann:s3cret@db",
    "host=db user=ann password=s3cret", "PWD = s3cret host=db",
)  # fmt: skip
USERINFO = ("http://ann:s3cret@127.0.0.1:8733", "https://s3cret@memory.example.org", "HTTPS://:s3cret@host")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to be in: in the end nothing is in it."""
    where = tmp_path / "where"
    where.mkdir()
    monkeypatch.chdir(where)
    yield where
    assert list(where.rglob("*")) == []


def refused(error: errors.PerdureError) -> None:
    assert "s3cret" not in f"{error} {error!r} {error.cli_remedy} {json.dumps(error.as_dict())}"
    assert "ann" not in error.sentence.split()


@pytest.mark.parametrize("address", ADDRESSES)
def test_python_makes_no_file_of_an_address(address: str):
    for store in (address, Path(address)):
        for opened in (Memory, SemanticMemoryStore):
            with pytest.raises(errors.NotAFile) as failed:
                opened(store)
            refused(failed.value)
    with pytest.raises(errors.NotAFile):
        load({"PERDURE_STORE": address})
    with Memory(":memory:", embedder="none") as memory:
        calls: list[Any] = [memory.backup, memory.restore_backup, memory.export, memory.import_, memory.import_messages]
        for call in calls:
            with pytest.raises(errors.NotAFile) as failed:
                call(address)
            refused(failed.value)


@pytest.mark.parametrize("url", USERINFO)
def test_a_server_s_address_with_a_name_or_a_password_is_refused_and_not_shown(url: str, user: User):
    with pytest.raises(errors.InvalidInput, match="user name or a password") as failed:
        Memory(url)
    refused(failed.value)
    for words in (["stats"], ["config"], ["doctor"], ["config", "get", "store"], ["remember", "tea"]):
        answer = user(*words, PERDURE_STORE=url)
        assert answer.code == 2
        assert "user name or a password" in answer.err
        assert "s3cret" not in answer.out + answer.err


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/?token=s3cret", "https://memory.example.org/#s3cret"])
def test_a_server_s_address_with_a_query_is_refused_and_not_shown(url: str, user: User):
    with pytest.raises(errors.InvalidInput, match="more than a server and a path") as failed:
        Memory(url)
    refused(failed.value)
    for words in (["stats"], ["config"], ["doctor"], ["serve", "--port", "0"], ["token", "list"]):
        answer = user(*words, PERDURE_STORE=url)
        assert (answer.code, "s3cret" in answer.out + answer.err) == (2, False)
    assert "s3cret" not in user.fails(2, "config", "set", "store", url).err


def test_a_path_that_only_looks_a_little_like_an_address_is_a_path(folder: Path, tmp_path: Path):
    for name in ("a:b.db", "C:", "file.db", "postgresql", "x@y.db", "my passwords.db", "ann:x.db"):
        with Memory(tmp_path / name, embedder="none") as memory:
            memory.remember("tea")
        assert (tmp_path / name).is_file()
    assert load({"PERDURE_STORE": "C:/memory.db"}).store.path == Path("C:/memory.db")
    assert load({"PERDURE_STORE": r"C:\memory.db"}).store.path == Path(r"C:\memory.db")


COMMANDS = (
    ["stats"], ["config"], ["config", "show"], ["config", "get", "store"], ["doctor"], ["remember", "tea"], ["list"],
    ["recall", "tea"], ["backup", "copy.db"], ["export", "all.jsonl"], ["serve", "--port", "0"], ["token", "list"],
    ["work"], ["session", "list"], ["session", "start"], ["erase", "1", "--yes"], ["namespaces"], ["egress"],
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_takes_an_address_for_the_store_or_shows_it(newcomer: User, words: list[str], tmp_path: Path):
    settings = tmp_path / "perdure.toml"
    settings.write_text(f'store = "{ADDRESS}"\n', encoding="utf-8")
    ways: list[tuple[list[str], dict[str, str]]] = [
        ([], {"PERDURE_STORE": ADDRESS}),
        (["--store", ADDRESS], {}),
        ([], {"PERDURE_STORE": "", "PERDURE_CONFIG": str(settings)}),
        ([], {"PERDURE_STORE": "", "PERDURE_CONFIG": ADDRESS}),
    ]
    for options, environ in ways:
        for form in ([], ["--json"]):
            answer = newcomer(*words, *options, *form, **environ)
            assert answer.code == 2, answer
            assert "address that begins with mysql:" in answer.err
            assert "s3cret" not in answer.out + answer.err
    assert json.loads(newcomer("stats", "--json", PERDURE_STORE=ADDRESS).err)["code"] == "not_a_file"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_shows_the_password_of_a_database(newcomer: User, words: list[str], tmp_path: Path):
    settings = tmp_path / "perdure.toml"
    settings.write_text(f'store = "{DATABASE}"\n', encoding="utf-8")
    ways: list[tuple[list[str], dict[str, str]]] = [
        ([], {"PERDURE_STORE": DATABASE}),
        (["--store", DATABASE], {}),
        ([], {"PERDURE_STORE": "", "PERDURE_CONFIG": str(settings)}),
    ]
    for options, environ in ways:
        for form in ([], ["--json"]):
            answer = newcomer(*words, *options, *form, **environ)
            assert "s3cret" not in answer.out + answer.err
            assert answer.code or words[0] in {"config", "session", "token"}, answer
    assert newcomer.done("config", "get", "store", PERDURE_STORE=DATABASE).out == "postgresql://ann@127.0.0.1:9/mem\n"


@pytest.mark.parametrize(
    "words",
    [
        ["backup", ADDRESS], ["restore-backup", ADDRESS], ["restore-backup", "x.db", "--erased", ADDRESS],
        ["import", ADDRESS], ["export", ADDRESS], ["chat", "import", ADDRESS], ["retro", ADDRESS],
        ["session", "start", "--project", ADDRESS], ["bank", "list", "--project", ADDRESS],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_takes_an_address_for_a_file_of_another_kind(user: User, words: list[str]):
    answer = user.fails(2, *words)
    assert "The path is an address that begins with mysql:" in answer.err
    assert "s3cret" not in answer.out + answer.err


def test_the_settings_file_takes_no_address_and_gives_one_back_that_is_in_it(user: User, tmp_path: Path):
    settings = tmp_path / "perdure.toml"
    settings.write_text("# mine\n", encoding="utf-8")
    own = {"PERDURE_CONFIG": str(settings), "PERDURE_STORE": ""}
    for value in (ADDRESS, DATABASE, *USERINFO):
        assert "s3cret" not in user.fails(2, "config", "set", "store", value, **own).err
    user.fails(2, "config", "set", "llm_url", "https://s3cret@models.example/v1", **own)
    assert settings.read_text(encoding="utf-8") == "# mine\n"
    settings.write_text(f'# mine\nstore = "{ADDRESS}"\n', encoding="utf-8")
    user.done("config", "unset", "store", **own)
    assert settings.read_text(encoding="utf-8") == "# mine\n"


def test_a_name_in_the_address_of_a_model_is_not_shown(user: User):
    for words in (["config"], ["config", "get", "llm_url"], ["config", "--json"]):
        answer = user.done(*words, PERDURE_LLM_URL="https://s3cret@models.example/v1")
        assert "models.example" in answer.out
        assert "s3cret" not in answer.out + answer.err


def test_the_tools_of_a_model_say_what_is_wrong_without_the_address():
    with served(ADDRESS) as host, pytest.raises(ToolFailed) as failed:
        host.call("remember", text="tea")
    assert failed.value.code == "not_a_file"
    assert "s3cret" not in str(failed.value) + json.dumps(failed.value.details)


def test_a_hook_says_nothing_of_it_and_ends_well(tmp_path: Path):
    session = HostSession("claude-code", tmp_path)
    for event in (session.start(), session.prompt("When is the deploy key rotated?"), session.stop("On Friday.")):
        run = tell(session, event, "--seconds", "50", PERDURE_STORE=ADDRESS)
        assert (run.exit_code, run.err) == (0, "")
        assert "s3cret" not in run.out
