"""`perdure facts` and `perdure conflicts`, from a conversation that was imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User

FIVE = ("What a day it is today", "So much to do this week", "Let us see what comes", "Well, well, here we are")


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Three sittings, a month after the other, and what was said in each of them."""
    sittings = (("01", "I live in Osaka."), ("02", "I live in Tokyo."), ("03", "I love sushi."), ("04", "Hello again!"))
    lines = [
        {
            "conversation_id": "ada",
            "role": "user",
            "speaker": "Ada",
            "content": text,
            "at": f"2026-{month}-01T09:00:00Z",
        }
        for month, told in sittings
        for text in (told, *FIVE)
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def test_an_imported_conversation_becomes_facts_and_a_correction_wins(user: User, chat: Path):
    user.done("chat", "import", str(chat))
    assert "facts changed" in user.done("work").out
    facts = user.done("facts", "--json").json["facts"]
    assert [fact["record"]["text"] for fact in facts] == ["Ada loves sushi", "Ada lives in Tokyo"]
    assert [one["text"] for one in facts[1]["earlier"]] == ["Ada lives in Osaka"]
    found = user.done("facts", "where does Ada live", "--category", "identity", "--json").json["facts"]
    assert [fact["record"]["text"] for fact in found] == ["Ada lives in Tokyo"]


def test_facts_show_what_was_true_before(user: User, chat: Path):
    user.done("chat", "import", str(chat))
    user.done("work")
    shown = user.done("facts", PERDURE_LAYOUT="terminal")
    assert "[identity] Ada lives in Tokyo (sources: 1 conversation)" in shown.out
    assert "Osaka" not in shown.out
    assert "perdure facts --history" in shown.err
    history = user.done("facts", "--history", PERDURE_LAYOUT="terminal").out
    assert "2026-01-01 to 2026-02-01: Ada lives in Osaka" in history
    rows = [line.split("\t") for line in user.done("facts", "--history").out.splitlines()]
    assert [(row[1], row[2], row[-1]) for row in rows] == [
        ("active", "preference", "Ada loves sushi"),
        ("active", "identity", "Ada lives in Tokyo"),
        ("superseded", "identity", "Ada lives in Osaka"),
    ]


def test_facts_stay_within_a_conversation(user: User, chat: Path):
    user.done("chat", "import", str(chat))
    user.done("work")
    assert user.done("facts", "--conversation", "ada", "--json").json["facts"]
    empty = user.done("facts", "--conversation", "ben", PERDURE_LAYOUT="terminal")
    assert "No such fact is known." in empty.out + empty.err


def test_conflicts_name_the_commands_that_settle_them(user: User, chat: Path):
    chat.write_text(chat.read_text("utf-8").replace("2026-02-01T09:00", "2026-01-01T09:00"), "utf-8")
    user.done("chat", "import", str(chat))
    user.done("work")
    user.done("consolidate")
    shown = user.done("conflicts", PERDURE_LAYOUT="terminal")
    [conflict] = user.done("conflicts", "--json").json["proposals"]
    assert "Ada lives in Osaka" in shown.out
    assert f"perdure review accept {conflict['number']} --keep {conflict['first']['number']}" in shown.out + shown.err
    user.done("review", "accept", str(conflict["number"]), "--keep", str(conflict["first"]["number"]))
    assert user.done("conflicts", "--json").json["proposals"] == []
    texts = [fact["record"]["text"] for fact in user.done("facts", "--category", "identity", "--json").json["facts"]]
    assert texts == [conflict["first"]["text"]]


def test_conflicts_claim_nothing_of_what_nobody_has_compared(user: User, chat: Path):
    def answer() -> list[str]:
        return user.done("conflicts", PERDURE_LAYOUT="terminal").err.splitlines()

    user.done("remember", "Bananas are yellow")
    unknown = [
        "No contradiction is known, and not everything has been compared.",
        "  What you remember is compared by the local model, which is not in use here: perdure doctor",
    ]
    assert answer() == unknown
    user.done("chat", "import", str(chat))
    assert answer() == [*unknown, "  Learn from 20 messages: perdure work"]
    user.done("work", PERDURE_LEARN="agent")
    assert answer() == [*unknown, "  Learn from 4 episodes: perdure consolidate"]
    user.done("work")
    assert answer() == unknown


def test_where_no_fact_is_known_what_is_missing_is_said(user: User, chat: Path, tmp_path: Path):
    def hint(*arguments: str, **environment: str) -> str:
        return user.done("facts", *arguments, PERDURE_LAYOUT="terminal", **environment).err

    user.done("remember", "Bananas are yellow")
    assert "Nothing was said here yet: perdure chat import FILE" in hint()
    user.done("chat", "import", str(chat))
    assert "Learn from 20 messages: perdure work" in hint()
    assert "the setting `learn` is `off`" in hint(PERDURE_LEARN="off")
    user.done("work", PERDURE_LEARN="agent")
    assert "Learn from 4 episodes: perdure consolidate" in hint()
    user.done("work")
    assert "Nothing waits" in hint("--category", "goal")
    just_now = tmp_path / "now.jsonl"
    just_now.write_text(json.dumps({"conversation_id": "new", "role": "user", "content": "I live in Ulm."}), "utf-8")
    user.done("chat", "import", str(just_now))
    assert "1 message waits for an episode" in hint("--conversation", "new")


def test_what_is_known_of_a_person_is_shown_by_category_and_by_whichever_name(user: User, tmp_path: Path):
    said = {
        "01": ("Hi, I'm Lena. I live in Ulm.", "Call me Leni.", "I love jazz."),
        "02": ("I moved to Bonn.", "My sister Eva is a vet.", "Bob lives in Rome."),
    }
    lines = [
        {"conversation_id": f"chat-{month}", "role": "user", "content": text, "at": f"2026-{month}-01T09:0{place}:00Z"}
        for month, texts in said.items()
        for place, text in enumerate((*texts, *FIVE))
    ]
    path = tmp_path / "lena.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    user.done("chat", "import", str(path))
    user.done("work")
    shown = user.done("facts", "--about", "Lena", PERDURE_LAYOUT="terminal").out
    assert shown.index("identity") < shown.index("Lena moved to Bonn") < shown.index("preference") < shown.index("jazz")
    assert "since 2026-02-01" in shown
    assert "Ulm" not in shown
    assert "Rome" not in shown
    assert "2026-01-01 to 2026-02-01: Lena lives in Ulm" in user.done(
        "facts", "--about", "Lena", "--history", PERDURE_LAYOUT="terminal"
    ).out  # fmt: skip
    by_nickname = user.done("facts", "--about", "leni", "--json").json["facts"]
    assert by_nickname == user.done("facts", "--about", "Lena", "--json").json["facts"]
    assert [one["record"]["text"] for one in user.done("facts", "--about", "Bob", "--json").json["facts"]] == [
        "Bob lives in Rome"
    ]
    assert "Nothing is known of Karin." in user.done("facts", "--about", "Karin").err
    old = user.done("recall", "where does Lena live?", PERDURE_LAYOUT="terminal").out
    assert "until 2026-02-01, then #" in old
    [outdated] = [hit for hit in user.done("recall", "where does Lena live?", "--json").json["hits"] if hit["outdated"]]
    assert "Ulm" in outdated["record"]["text"]
    assert outdated["outdated"]["until"] == "2026-02-01T09:00:00Z"
