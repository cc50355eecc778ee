"""Conversations: messages are memories, one behind the other, and everything that works on memories works on them."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from clocks import NOON, HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.embed.port import Progress, Vectors
from perdure.errors import Conflict, ImportFailed, InvalidInput, NotAllowed
from perdure.model import Record
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

TALK = [
    {"role": "user", "content": "I moved to Osaka last week", "speaker": "Ada"},
    {"role": "assistant", "content": "How do you like it there?"},
    {"role": "user", "content": "The flat is small, but I like the river", "speaker": "Ada"},
]


def texts(records: list[Record]) -> list[str]:
    return [record.text for record in records]


def keys(records: list[Record]) -> list[str]:
    return [record.key or "" for record in records]


def test_a_message_is_a_memory_with_a_speaker_a_time_and_a_place(memory: Memory):
    said = datetime(2026, 3, 1, 10, tzinfo=UTC)
    done = memory.conversation("support-42").add_message("user", "I moved to Osaka", at=said, speaker="Ada")
    record = memory.get(done.record.number)
    assert record == done.record
    assert (record.text, record.conversation_id, record.valid_at) == ("I moved to Osaka", "support-42", said)
    assert record.metadata == {"role": "user", "speaker": "Ada"}
    assert record.key == "message:support-42/00000001"
    assert memory.get("message:support-42/00000001").number == record.number


def test_a_message_is_said_now_and_by_its_role_unless_told_otherwise(memory: Memory):
    record = memory.conversation("c").add_message("assistant", "Good morning").record
    assert record.valid_at == NOON
    assert record.metadata == {"role": "assistant", "speaker": "assistant"}


def test_the_same_words_twice_are_two_messages(memory: Memory):
    talk = memory.conversation("c")
    talk.add_message("user", "ok")
    talk.add_message("user", "ok")
    assert keys(talk.messages()) == ["message:c/00000001", "message:c/00000002"]
    assert [record.observation_count for record in talk.messages()] == [1, 1]


def test_positions_are_counted_in_each_conversation(memory: Memory):
    for n in range(3):
        memory.conversation("a").add_message("user", f"a{n}")
        memory.conversation("b").add_message("user", f"b{n}")
    assert texts(memory.conversation("b").messages()) == ["b0", "b1", "b2"]
    assert keys(memory.conversation("b").messages())[-1] == "message:b/00000003"


def test_messages_are_listed_in_order_and_the_last_ones_on_demand(memory: Memory):
    talk = memory.conversation("c")
    talk.add_messages({"role": "user", "content": f"message {n}"} for n in range(1200))
    assert texts(talk.messages()) == [f"message {n}" for n in range(1200)]
    assert texts(talk.messages(limit=3)) == ["message 1197", "message 1198", "message 1199"]
    assert memory.conversation("nowhere").messages() == []


@given(st.lists(st.text(min_size=1, max_size=40).map(str.strip).filter(bool), min_size=2, max_size=6, unique=True))
def test_any_id_names_one_conversation_and_no_other(ids: list[str]):
    ids = [id for id in ids if "\x00" not in id and id.encode("utf-8", "ignore").decode() == id]
    with Memory(":memory:", embedder="none", settings=load(redact=False)) as memory:
        for id in ids:
            memory.conversation(id).add_message("user", f"said in {id}")
        for id in ids:
            assert texts(memory.conversation(id).messages()) == [f"said in {id}"]
        assert sorted(memory.conversations()) == sorted(ids)


@pytest.mark.parametrize(
    "id",
    ["a/b", "a/00000001", "~a", "é", "e\u0301", "東京" * 9, "東京" * 100, "x" * 1024, ": colon", "line\nbreak", "%7E"],
    ids=ascii,
)
def test_odd_ids_survive(memory: Memory, id: str):
    for n in range(2):
        memory.conversation(id).add_message("user", f"said {n}")
    memory.conversation("a").add_message("user", "elsewhere")
    assert texts(memory.conversation(id).messages()) == ["said 0", "said 1"]
    assert {record.conversation_id for record in memory.conversation(id).messages()} == {id}
    assert set(memory.conversations()) == {id, "a"}


def test_a_key_that_somebody_else_gave_is_in_nobodys_way(memory: Memory):
    talk = memory.conversation("c")
    memory.upsert("message:c/zzz", "not a message")
    memory.upsert("message:c", "not a message either")
    for n in range(40):
        memory.upsert(f"message:c/9-{n}", "no position")
    talk.add_message("user", "one")
    talk.add_message("user", "two")
    assert texts(talk.messages()) == ["one", "two"]
    assert memory.conversations() == ["c"]


@pytest.mark.parametrize(
    ("role", "content", "more"),
    [
        ("", "hello", {}),
        ("user", " ", {}),
        ("user", "hello", {"at": "no time at all"}),
        ("user", "hello", {"speaker": ""}),
        ("user", 7, {}),
    ],
)
def test_what_is_no_message_is_refused_and_leaves_nothing(
    memory: Memory, role: str, content: str, more: dict[str, str]
):
    talk = memory.conversation("c")
    with pytest.raises(InvalidInput):
        talk.add_message(role, content, **more)
    with pytest.raises(InvalidInput, match="Message 2"):
        talk.add_messages([TALK[0], {"role": role, "content": content, **more}])
    assert talk.messages() == []


@pytest.mark.parametrize("key", ["message:c/99999999", "episode:c/00000003", "proposal:conflict/00000001"])
def test_a_model_does_not_write_under_the_keys_that_perdure_gives(memory: Memory, key: str):
    memory.conversation("c").add_message("user", "hello")
    own = memory.remember("a note", key="note:1").record
    model = memory.writing_as("assistant", writer="model")
    with pytest.raises(NotAllowed, match="A model cannot write under"):
        model.upsert(key, "forged")
    with pytest.raises(NotAllowed, match="A model cannot write under"):
        model.remember("forged", key=key)
    with pytest.raises(NotAllowed, match="A model cannot write under"):
        model.update(own.number, key=key)
    model.update("message:c/00000001", text="hello again")
    model.conversation("c").add_message("user", "and good bye")
    assert texts(memory.conversation("c").messages()) == ["hello again", "and good bye"]


def test_a_conversation_cannot_be_named_by_a_secret(memory: Memory):
    with pytest.raises(InvalidInput, match="secret"):
        memory.conversation("AKIAIOSFODNN7EXAMPLE")


def test_an_unknown_field_of_a_message_is_named(memory: Memory):
    with pytest.raises(InvalidInput, match="'mood'"):
        memory.conversation("c").add_messages([{"role": "user", "content": "hello", "mood": "good"}])


def test_a_repeated_call_with_an_idempotency_key_stores_nothing(memory: Memory):
    talk = memory.conversation("c")
    first = talk.add_message("user", "hello", idempotency_key="k1")
    again = talk.add_message("user", "hello", idempotency_key="k1")
    assert (again.outcome, again.record, again.batch) == ("repeated", first.record, None)
    assert len(talk.messages()) == 1
    with pytest.raises(Conflict):
        talk.add_message("user", "something else", idempotency_key="k1")
    with pytest.raises(Conflict):
        memory.conversation("other").add_message("user", "hello", idempotency_key="k1")


def test_secrets_are_taken_out_of_a_message(memory: Memory):
    done = memory.conversation("c").add_message("user", "my key is AKIAIOSFODNN7EXAMPLE")
    assert "AKIA" not in done.record.text
    assert any("Redacted" in note for note in done.notes)


def test_recall_finds_a_message_and_who_said_it(memory: Memory):
    memory.conversation("c").add_messages(TALK)
    memory.conversation("d").add_message("user", "I moved to Lisbon", speaker="Bob")
    found = memory.recall("where did Ada move to?")
    assert found[0].record.text == TALK[0]["content"]
    assert {hit.record.conversation_id for hit in memory.recall("moved", conversation_id="d")} == {"d"}
    assert {hit.record.number for hit in memory.recall("moved", key_type="message")} == {1, 4}


def test_the_name_of_a_conversation_is_no_reason_to_find_its_messages(memory: Memory):
    memory.conversation("osaka").add_message("user", "The weather is fine")
    assert len(memory.recall("osaka")) == 0


def test_a_message_is_found_by_meaning_at_once(clock: HandClock):
    with Memory(":memory:", embedder=WordEmbedder(), clock=clock) as memory:
        done = memory.conversation("c").add_message("user", "The flat is small")
        assert not done.vector_pending
        assert memory.stats().namespaces[0].vectors_pending == 0


def test_a_message_is_stored_before_anybody_is_asked_for_its_vector(clock: HandClock):
    stored: list[list[str]] = []

    class Watching(WordEmbedder):
        def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
            stored.append([record.text for record in memory.conversation("c").messages()])
            return super().embed_passages(texts, progress)

    with Memory(":memory:", embedder=Watching(), clock=clock) as memory:
        memory.conversation("c").add_message("user", "The flat is small")
    assert stored[0] == ["The flat is small"]


def test_several_messages_are_one_batch_that_one_undo_takes_back(memory: Memory):
    talk = memory.conversation("c")
    talk.add_message("user", "before")
    done = talk.add_messages(TALK)
    assert (done.inserted, len(talk.messages())) == (3, 4)
    memory.undo(done.batch)
    assert texts(talk.messages()) == ["before"]
    # Nobody gets the position of a message that was taken back: taking the undo back brings it there.
    talk.add_message("user", "after")
    assert keys(talk.messages()) == ["message:c/00000001", "message:c/00000005"]


def test_forgotten_and_erased_messages_leave_the_others_where_they_are(memory: Memory):
    talk = memory.conversation("c")
    talk.add_messages(TALK)
    memory.forget("message:c/00000001")
    memory.erase("message:c/00000002", confirm=True)
    talk.add_message("user", "next")
    assert keys(talk.messages()) == ["message:c/00000003", "message:c/00000004"]
    memory.restore("message:c/00000001")
    assert texts(talk.messages())[0] == TALK[0]["content"]
    assert "How do you like it" not in repr(memory.log(limit=20))


def test_a_conversation_is_erased_whole(memory: Memory):
    memory.conversation("c").add_messages(TALK)
    memory.conversation("d").add_messages(TALK)
    memory.erase(conversation_id="c", confirm=True)
    assert memory.conversations() == ["d"]


def test_an_export_brings_a_conversation_back(memory: Memory, clock: HandClock):
    memory.conversation("c").add_messages(TALK)
    file = io.StringIO()
    memory.export(file)
    file.seek(0)
    with Memory(":memory:", embedder="none", clock=clock) as other:
        other.import_(file, trusted=True)
        talk = other.conversation("c")
        assert texts(talk.messages()) == [message["content"] for message in TALK]
        talk.add_message("user", "next")
        assert keys(talk.messages())[-1] == "message:c/00000004"


def test_a_backup_has_the_messages_and_the_doctor_has_nothing_to_say(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        memory.conversation("c").add_messages(TALK)
        memory.backup(tmp_path / "copy")
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    with Memory(tmp_path / "copy", embedder="none") as copy:
        assert len(copy.conversation("c").messages()) == 3


def test_a_full_namespace_evicts_for_a_message(memory: Memory):
    memory.capacity(max_items=2)
    talk = memory.conversation("c")
    done = [talk.add_message("user", f"message {n}") for n in range(3)]
    assert texts([*done[-1].evicted]) == ["message 0"]
    assert texts(talk.messages()) == ["message 1", "message 2"]
    talk.add_messages(TALK[:2])
    assert keys(talk.messages()) == ["message:c/00000004", "message:c/00000005"]


def test_several_processes_write_into_one_conversation(tmp_path: Path):
    path = tmp_path / "m.db"
    script = """
import sys
from perdure import Memory
with Memory(sys.argv[1], embedder="none") as memory:
    for n in range(40):
        memory.conversation("c").add_message("user", f"{sys.argv[2]} {n}")
    memory.conversation("c").add_messages({"role": "user", "content": f"{sys.argv[2]} {n}"} for n in range(40, 80))
"""
    with Memory(path, embedder="none") as memory:
        memory.conversation("c").add_message("user", "first")
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
    assert [process.wait() for process in running] == [0, 0]
    with Memory(path, embedder="none") as memory:
        records = memory.conversation("c").messages()
    assert keys(records) == [f"message:c/{n:08}" for n in range(1, 162)]
    for name in "ab":
        assert [text for text in texts(records) if text.startswith(name)] == [f"{name} {n}" for n in range(80)]


# -- importing ---------------------------------------------------------------------------------------------------------


def lines(*contents: str, conversation: str = "c", **more: object) -> list[dict[str, object]]:
    return [{"conversation_id": conversation, "role": "user", "content": content, **more} for content in contents]


def test_importing_the_same_messages_again_stores_nothing(memory: Memory):
    file = [*lines("hello", "ok", "ok"), *lines("hello", conversation="d"), *lines("bye")]
    first = memory.import_messages(file)
    assert (first.inserted, first.present) == (5, 0)
    again = memory.import_messages(file)
    assert (again.inserted, again.present, again.batch) == (0, 5, None)
    assert texts(memory.conversation("c").messages()) == ["hello", "ok", "ok", "bye"]


def test_a_longer_file_adds_what_is_new(memory: Memory):
    memory.import_messages(lines("hello", "ok"))
    memory.conversation("c").add_message("user", "said here meanwhile")
    grown = lines("hello", "ok", "ok", "bye")
    done = memory.import_messages(grown)
    assert (done.inserted, done.present) == (2, 2)
    assert memory.import_messages(grown).inserted == 0
    assert texts(memory.conversation("c").messages()) == ["hello", "ok", "said here meanwhile", "ok", "bye"]


def test_a_long_file_is_stored_once_however_often_it_comes(memory: Memory):
    file = [line for n in range(300) for name in "cd" for line in lines(f"{n % 7}", conversation=name)]
    assert memory.import_messages(file[:450]).inserted == 450
    assert memory.import_messages(file).inserted == 150
    assert memory.import_messages(file).inserted == 0
    assert texts(memory.conversation("d").messages()) == [f"{n % 7}" for n in range(300)]


def test_messages_with_an_id_are_known_by_it_wherever_they_stand(memory: Memory):
    memory.import_messages([{**line, "id": n} for n, line in enumerate(lines("a", "b", "c"))])
    later = [{**line, "id": n} for n, line in enumerate(lines("b, corrected", "c", "d"), 1)]
    done = memory.import_messages(later)
    assert (done.inserted, done.present) == (1, 2)
    assert texts(memory.conversation("c").messages()) == ["a", "b", "c", "d"]


def test_other_times_or_roles_make_other_messages(memory: Memory):
    memory.import_messages(lines("hello", at="2026-01-01T10:00:00Z"))
    assert memory.import_messages(lines("hello", at="2026-01-02T10:00:00Z")).inserted == 1
    assert memory.import_messages(lines("hello", role="assistant")).inserted == 1
    assert memory.import_messages(lines("hello", at="2026-01-02T10:00:00Z")).inserted == 0


def test_times_are_read_as_iso_seconds_or_milliseconds(memory: Memory):
    when = datetime(2026, 3, 1, 10, tzinfo=UTC)
    seconds = int(when.timestamp())
    memory.import_messages(
        [*lines("a", timestamp=when.isoformat()), *lines("b", timestamp=seconds), *lines("c", at=seconds * 1000)]
    )
    assert [record.valid_at for record in memory.conversation("c").messages()] == [when] * 3


def test_what_was_forgotten_or_erased_does_not_come_back(memory: Memory, clock: HandClock):
    file = lines("first", "second", "third", "fourth", "fifth")
    memory.import_messages(file)
    clock.forward(hours=1)
    memory.forget("message:c/00000001")
    for position in (2, 4, 5):
        memory.erase(f"message:c/{position:08}", confirm=True)
    done = memory.import_messages(file)
    assert (done.inserted, done.present, done.skipped_deleted) == (0, 1, 4)
    assert texts(memory.conversation("c").messages()) == ["third"]


def test_a_corrected_message_stays_corrected(memory: Memory):
    memory.import_messages(lines("first", "second", "third"))
    memory.update("message:c/00000002", text="second, corrected")
    assert memory.import_messages(lines("first", "second", "third")).inserted == 0
    assert texts(memory.conversation("c").messages()) == ["first", "second, corrected", "third"]


def test_a_dry_run_says_what_would_be_stored_and_stores_nothing(memory: Memory):
    memory.import_messages(lines("hello"))
    done = memory.import_messages(lines("hello", "bye"), dry_run=True)
    assert (done.inserted, done.present, done.batch) == (1, 1, None)
    assert texts(memory.conversation("c").messages()) == ["hello"]


def test_a_message_without_words_is_skipped_and_counted(memory: Memory):
    done = memory.import_messages([*lines("hello", ""), {"conversation_id": "c", "role": "tool", "content": None}])
    assert done.inserted == 1
    assert any(note.startswith("2 messages skipped") for note in done.notes)


def test_what_strangers_said_is_of_low_trust(memory: Memory):
    memory.import_messages(lines("hello"))
    [record] = memory.conversation("c").messages()
    assert (record.source, record.trust) == ("import", "low")


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        ({"role": "user", "content": "x"}, "conversation_id"),
        ({"conversation_id": "c", "content": "x"}, "role"),
        ({"conversation_id": "c", "role": "user"}, "content"),
        ({"conversation_id": "c", "role": "user", "content": ["x"]}, "content must be text"),
        ({"conversation_id": "c", "role": "user", "content": "x", "at": "someday"}, "someday"),
        ({"conversation_id": "c", "role": "user", "content": "x", "timestamp": "yesterday"}, "timestamp is not a time"),
        ({"conversation_id": "c", "role": "user", "content": "x", "at": "2026-01-01", "timestamp": 1}, "both"),
        ({"conversation_id": "c", "role": "user", "content": "x", "mood": 1}, "mood"),
        ({"conversation_id": "c", "role": "user", "content": "x", "id": [1]}, "id"),
    ],
)
def test_one_bad_line_is_named_and_nothing_is_stored(memory: Memory, bad: dict[str, object], wrong: str):
    file = "\n".join(json.dumps(line) for line in [*lines("hello"), bad])
    with pytest.raises(ImportFailed, match=f"(?s)Line 2: .*{wrong}"):
        memory.import_messages(io.StringIO(file))
    assert memory.conversations() == []


def test_one_id_twice_is_an_error(memory: Memory):
    with pytest.raises(ImportFailed, match="Message 2"):
        memory.import_messages(lines("a", "b", id="same"))


def test_two_processes_import_one_file_once(tmp_path: Path):
    path, file = tmp_path / "m.db", tmp_path / "chat.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines(*(f"{n % 5}" for n in range(900)))), "utf-8")
    script = "import sys; from perdure import Memory; Memory(sys.argv[1], embedder='none').import_messages(sys.argv[2])"
    Memory(path, embedder="none").close()
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), str(file)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    with Memory(path, embedder="none") as memory:
        assert texts(memory.conversation("c").messages()) == [f"{n % 5}" for n in range(900)]


def test_an_import_that_was_interrupted_goes_on_where_it_stopped(memory: Memory):
    file = lines(*(f"{n % 5}" for n in range(300)))

    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.import_messages(file, progress=interrupt)
    assert 0 < len(memory.conversation("c").messages()) < 300
    memory.import_messages(file)
    assert texts(memory.conversation("c").messages()) == [f"{n % 5}" for n in range(300)]


def test_the_last_messages_are_found_behind_forgotten_ones(memory: Memory):
    talk = memory.conversation("c")
    talk.add_messages({"role": "user", "content": f"message {n}"} for n in range(30))
    for position in range(11, 31):
        memory.forget(f"message:c/{position:08}")
    assert texts(talk.messages(limit=2)) == ["message 8", "message 9"]


def test_the_page_about_conversations_runs_as_it_stands(repository: Path, tmp_path: Path):
    page = (repository / "docs" / "conversations.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "Ada I moved to Osaka last week" in done.stdout
