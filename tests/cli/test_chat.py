"""`perdure chat`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def chat(tmp_path: Path) -> str:
    path = tmp_path / "chat.jsonl"
    said = [
        {"conversation_id": "c1", "role": "user", "content": "I moved to Osaka", "timestamp": "2026-03-01T10:00:00Z"},
        {"conversation_id": "c1", "role": "assistant", "content": "How do you like it?"},
        {"conversation_id": "c2", "role": "user", "content": "ok", "id": 7, "speaker": "Ada"},
    ]
    path.write_text("\n\n".join(map(json.dumps, said)), "utf-8")
    return str(path)


def test_a_file_of_messages_is_imported_once(user: User, chat: str):
    assert user.done("chat", "import", chat).out == "Imported 3 messages: 3 new, 0 known.\n"
    assert user.done("chat", "import", chat).out == "Imported 3 messages: 0 new, 3 known.\n"
    assert user.done("chat", "list").rows == [["c1"], ["c2"]]
    assert "I moved to Osaka" in user.done("recall", "Osaka").out


def test_a_dry_run_imports_nothing_and_makes_no_store(newcomer: User, chat: str, store: Path):
    answer = newcomer.done("chat", "import", chat, "--dry-run", "--json").json
    assert (answer["inserted"], answer["batch"]) == (3, None)
    assert "new store" not in newcomer.done("chat", "import", chat, "--dry-run").err
    assert not store.exists()
    newcomer.done("remember", "tea")
    assert newcomer.done("chat", "import", chat, "--dry-run", "--json").json["inserted"] == 3
    assert newcomer.done("chat", "list", "--json").json == {"conversations": []}


def test_one_message_is_one_and_meaning_is_not_promised_where_there_is_none(user: User):
    said = '{"conversation_id": "c1", "role": "user", "content": "I moved to Osaka"}'
    answer = user.done("chat", "import", "-", stdin=said, PERDURE_EMBEDDER="none")
    assert (answer.out, "by meaning" in answer.err) == ("Imported 1 message: 1 new, 0 known.\n", False)


def test_messages_come_from_a_pipe(user: User, chat: str):
    user.done("chat", "import", "-", stdin=Path(chat).read_text("utf-8"))
    assert user.done("chat", "list", "--json").json == {"conversations": ["c1", "c2"]}


def test_an_import_is_taken_back_whole(user: User, chat: str):
    batch = user.done("chat", "import", chat, "--json").json["batch"]
    user.done("undo", batch)
    assert user.done("recall", "Osaka").out == ""


def test_a_bad_line_is_named_and_nothing_is_stored(user: User, chat: str):
    with Path(chat).open("a", encoding="utf-8") as file:
        file.write('\n{"conversation_id": "c1", "role": "user"}\n')
    answer = user.fails(2, "chat", "import", chat)
    assert "Line 6: content is missing." in answer.err
    assert user.done("chat", "list").out == ""


def test_a_file_that_is_not_there_is_said_so(user: User):
    assert "There is no file" in user.fails(2, "chat", "import", "nowhere.jsonl").err


def test_chat_alone_explains_itself(user: User):
    assert "perdure chat import" in user.done("chat").out
