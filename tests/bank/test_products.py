"""What people have in other products comes along: recognised by its content, with its times, once, and taken back as
one batch.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from bank import products
from bank.products import ANSWERED, ASKED, SPOKEN
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.bank.importers.json_items import json_items
from perdure.bank.importers.store import import_with
from perdure.bank.sections import ImportOptions, ImportReport
from perdure.bank.sources import import_source, recognise
from perdure.errors import ImportFailed, NotFound

Make = Callable[[Path], Path]
# By name: how it is made, what it is called, and how many conversations, messages and memories it holds.
PRODUCTS: dict[str, tuple[Make, str, dict[str, int]]] = {
    "chatgpt.zip": (products.chatgpt_zip, "ChatGPT export", {"conversations": 2, "messages": 6}),
    "old.zip": (products.old_chatgpt_zip, "ChatGPT export", {"conversations": 2, "messages": 6}),
    "claude.zip": (products.claude_zip, "Claude export", {"conversations": 1, "messages": 2, "memories": 5}),
    "takeout.zip": (products.takeout_zip, "Gemini Takeout", {"conversations": 1, "messages": 4}),
    "all.json": (products.mem0_answer, "mem0 memories", {"memories": 1}),
    "mem0-export-shop-2026-03-01.md": (products.mem0_markdown, "mem0 Markdown export", {"memories": 2}),
    "openmemory.zip": (products.open_memory_zip, "OpenMemory export", {"memories": 1}),
    "guide.af": (products.letta_file, "Letta agent file", {"conversations": 1, "messages": 2, "memories": 1}),
    "pasted.txt": (products.pasted_file, "pasted text", {"memories": 3}),
    "claude-mem.db": (products.claude_mem_database, "claude-mem database", {"memories": 2}),
    "history.db": (products.mem0_database, "mem0 database", {"memories": 1}),
    "chroma.sqlite3": (products.chroma_database, "Chroma database", {"memories": 1}),
    "store.db": (products.langgraph_database, "LangGraph store", {"memories": 2}),
}
EVERY = pytest.mark.parametrize("name", PRODUCTS)


@pytest.fixture
def memory() -> Any:
    with Memory(":memory:", embedder="none") as opened:
        yield opened


def made(tmp_path: Path, name: str) -> Path:
    return PRODUCTS[name][0](tmp_path / name)


def imported(memory: Memory, path: Path, options: ImportOptions | None = None) -> ImportReport:
    return import_source(memory, recognise(path), options or ImportOptions())


def texts(memory: Memory) -> list[str]:
    return sorted(record.text for record in memory.list(limit=100))


@EVERY
def test_an_export_is_recognised_by_its_content_and_counted_by_kind(memory: Memory, tmp_path: Path, name: str):
    _, kind, counts = PRODUCTS[name]
    report = imported(memory, made(tmp_path, name))
    assert (report.kind, dict(report.kinds)) == (kind, counts)
    assert report.inserted == counts.get("messages", 0) + counts.get("memories", 0) == len(memory.list(limit=100))


@EVERY
def test_a_dry_run_counts_the_same_and_stores_nothing(memory: Memory, tmp_path: Path, name: str):
    report = imported(memory, made(tmp_path, name), ImportOptions(dry_run=True))
    assert (dict(report.kinds), report.batch, texts(memory)) == (PRODUCTS[name][2], None, [])
    assert report.inserted == sum(PRODUCTS[name][2].values()) - PRODUCTS[name][2].get("conversations", 0)


@EVERY
def test_an_export_that_is_imported_again_adds_nothing(memory: Memory, tmp_path: Path, name: str):
    path = made(tmp_path, name)
    first = imported(memory, path)
    again = imported(memory, path)
    assert (again.inserted, again.updated, again.present, again.batch) == (0, 0, first.inserted, None)


@EVERY
def test_one_undo_takes_an_import_back_and_it_can_be_done_again(memory: Memory, tmp_path: Path, name: str):
    memory.remember("This was here before")
    path = made(tmp_path, name)
    first = imported(memory, path)
    stored = texts(memory)
    for _ in range(2):
        memory.undo(memory.log(limit=1)[0].change.batch)
        assert texts(memory) == ["This was here before"]
        again = imported(memory, path)
        assert again.inserted + again.updated == first.inserted
        assert (again.kept_forgotten, texts(memory)) == (0, stored)
        assert imported(memory, path).present == first.inserted


@EVERY
def test_what_strangers_wrote_is_of_low_trust_until_somebody_vouches_for_it(tmp_path: Path, name: str):
    path = made(tmp_path, name)
    with Memory(":memory:", embedder="none") as memory:
        imported(memory, path)
        assert {(record.trust, record.source) for record in memory.list(limit=100)} == {("low", "import")}


@EVERY
def test_an_export_that_is_cut_off_is_an_error_and_stores_nothing(memory: Memory, tmp_path: Path, name: str):
    if name.endswith((".txt", ".md")):
        pytest.skip("any part of a text is a text")
    path = made(tmp_path, name)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = {each: archive.read(each) for each in archive.namelist()}
        products.zipped(path, {each: content[: len(content) * 9 // 10] for each, content in files.items()})
    else:
        # A database may end in pages that nobody needs.
        share = 0.9 if path.suffix in {".af", ".json"} else 0.5
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    try:
        report = imported(memory, path)
    except ImportFailed:
        assert texts(memory) == []
    else:
        assert report.unread


@EVERY
def test_a_damaged_byte_is_never_more_than_a_clear_error(tmp_path: Path, name: str):
    path = made(tmp_path, name)
    content, chance = path.read_bytes(), random.Random(name)
    for _ in range(6):
        damaged = bytearray(content)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with Memory(":memory:", embedder="none") as memory, suppress(ImportFailed):
            imported(memory, path)


# What nobody expects where a value stands.
ODD: tuple[Any, ...] = (None, 1e300, "", [[]], {"a": 1}, "a\0b\ud800")


def places_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a document stand, but for the document itself."""
    held = cast("dict[Any, Any] | list[Any]", value) if isinstance(value, dict | list) else []
    for name, each in held.items() if isinstance(held, dict) else enumerate(held):
        yield (*place, name)
        yield from places_in(each, (*place, name))


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> str:
    document = json.loads(json.dumps(document))
    *before, last = place
    around = document
    for name in before:
        around = around[name]
    around[last] = value
    return json.dumps(document)


@pytest.mark.parametrize("name", ["chatgpt.zip", "claude.zip", "takeout.zip", "all.json", "openmemory.zip", "guide.af"])
def test_an_odd_value_anywhere_is_never_more_than_a_clear_error(memory: Memory, tmp_path: Path, name: str):
    path = made(tmp_path, name)
    files = {name: path.read_bytes()}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = {each: archive.read(each) for each in archive.namelist() if each.endswith(".json")}
    importer = products_importer(PRODUCTS[name][1])
    for file, content in files.items():
        document = json.loads(content)
        for place, odd in product(places_in(document), ODD):
            text = replaced(document, place, odd)
            if name.endswith(".zip"):
                products.zipped(path, {**files, file: text})
            else:
                path.write_text(text, encoding="utf-8")
            with suppress(ImportFailed):
                import_with(memory, importer, path, ImportOptions(dry_run=True))


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name.endswith((".db", ".sqlite3"))])
def test_an_odd_value_in_any_column_is_never_more_than_a_clear_error(memory: Memory, tmp_path: Path, name: str):
    importer = products_importer(PRODUCTS[name][1])
    path = made(tmp_path, name)
    connection = cast("Any", apsw.Connection(str(path)))
    tables = [table for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    content = path.read_bytes()
    for (table, column), odd in product(columns, (None, 1e300, "", b"\xff\x00", "a\0b", "[[]]", '{"a": 1}')):
        path.write_bytes(content)
        connection = cast("Any", apsw.Connection(str(path)))
        connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        with suppress(apsw.ConstraintError, apsw.MismatchError):
            connection.execute(f"UPDATE {table} SET {column} = ?", (odd,))  # noqa: S608
        connection.close()
        with suppress(ImportFailed):
            import_with(memory, importer, path, ImportOptions(dry_run=True))


def test_a_newer_takeout_adds_what_is_new_although_the_oldest_events_are_gone(memory: Memory, tmp_path: Path):
    def taken(*days: int, address: str = "") -> Path:
        events = [
            {"header": "Gemini Apps", "title": "Prompted", "titleUrl": address, "time": f"2026-03-0{day}T09:00:00Z",
             "details": [{"name": "Request", "value": f"What is on day {day}?"},
                         {"name": "Response", "value": f"Rain on day {day}."}]}
            for day in days
        ]  # fmt: skip
        return products.zipped(
            tmp_path / "takeout.zip", {"Takeout/My Activity/Gemini Apps/MyActivity.json": json.dumps(events)}
        )

    for address in ("", "https://gemini.google.com/app/c/9f3"):
        assert imported(memory, taken(2, 1, address=address)).inserted == 4
        newer = imported(memory, taken(3, 2, address=address))
        assert (newer.inserted, newer.present) == (2, 2)


def test_a_store_of_langgraph_is_kept_as_its_adapter_keeps_it(memory: Memory, tmp_path: Path):
    """So that a program which changes its store finds its items; tests/adapters/test_langgraph.py does."""
    imported(memory, made(tmp_path, "store.db"))
    record = memory.get('langgraph:["users", "bo", "home"]')
    assert (record.text, record.metadata["value"]) == (
        "Bo lives in Osaka", {"content": "Bo lives in Osaka", "kind": "fact"},
    )  # fmt: skip
    assert record.metadata["folders"] == ['["users"]', '["users", "bo"]']


def test_of_a_chatgpt_conversation_the_branch_that_was_shown_last_is_stored_with_its_times(
    memory: Memory, tmp_path: Path
):
    report = imported(memory, made(tmp_path, "chatgpt.zip"))
    said = memory.conversation("chatgpt-c-1").messages()
    assert [(one.metadata["role"], one.text) for one in said] == [
        ("user", ASKED), ("assistant", ANSWERED), ("user", SPOKEN),
    ]  # fmt: skip
    assert [one.valid_at.isoformat() for one in said if one.valid_at] == [
        "2026-03-01T09:00:02+00:00", "2026-03-01T09:00:02+00:00", "2026-03-01T09:01:40+00:00",
    ]  # fmt: skip
    assert report.notes == (
        "Left out: messages of tools, system prompts and pictures (2).",
        "Left out: messages of branches that were not shown last (2).",
        "Left out: pictures and files in messages (2).",
    )


def test_a_new_export_of_claude_brings_a_new_version_of_what_it_remembers(memory: Memory, tmp_path: Path):
    path = made(tmp_path, "claude.zip")
    imported(memory, path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    files["memories.json"] = files["memories.json"].replace("lives in Osaka", "lives in Kyoto")
    report = imported(memory, products.zipped(path, files))
    assert (report.inserted, report.updated) == (0, 1)
    assert [one.record.text for one in memory.versions("claude:a-1/personal") if one.record] == [
        "Bo lives in Osaka.", "Bo lives in Kyoto.",
    ]  # fmt: skip


def test_every_record_that_is_left_out_is_named_with_a_reason(memory: Memory, tmp_path: Path):
    assert [tuple(vars_of(each)) for each in imported(memory, made(tmp_path, "openmemory.zip")).unread] == [
        ("memory m-2", "It is deleted there.")
    ]
    assert [each.what for each in imported(memory, made(tmp_path, "store.db")).unread] == ["users.bo, broken"]
    assert [each.what for each in imported(memory, made(tmp_path, "chroma.sqlite3")).unread] == [
        "notes, n-2", "notes, n-3",
    ]  # fmt: skip


def test_what_is_no_record_at_all_is_named_by_its_place(memory: Memory, tmp_path: Path):
    """Also before the first record that tells what the file is, and in a file that holds none."""
    conversation = products.chatgpt_conversation()
    given: list[Any] = [None, "a, [b]", [{"mapping": {}}], {"id": "x"}, conversation, 17.5, True]
    files = {"conversations-000.json": "[]", "conversations-001.json": json.dumps(given)}
    report = imported(memory, products.zipped(tmp_path / "odd.zip", files))
    assert report.kinds["messages"] == 3
    place, loose = "conversations-001.json, conversation", "It is not an object."
    assert [vars_of(each) for each in report.unread] == [
        (f"{place} 1", loose), (f"{place} 2", loose), (f"{place} 3", loose), (f"{place} 4", "It has no messages."),
        (f"{place} 6", loose), (f"{place} 7", loose),
    ]  # fmt: skip


def test_a_chat_whose_tree_is_broken_says_what_can_be_reached(memory: Memory, tmp_path: Path):
    conversation = products.chatgpt_conversation()
    del conversation["current_node"]
    conversation["mapping"]["n0"] |= {"parent": ["n1"], "children": [["n1"], {"a": 1}, None, "n2"]}
    imported(memory, products.zipped(tmp_path / "odd.zip", {"conversations.json": json.dumps([conversation])}))
    assert [one.text for one in memory.conversation("chatgpt-c-1").messages()] == [ASKED, ANSWERED, SPOKEN]


def test_of_two_messages_with_one_id_the_second_is_named_and_the_rest_of_the_chat_is_there(
    memory: Memory, tmp_path: Path
):
    said: list[dict[str, Any]] = [{"uuid": "m", "sender": "human", "text": text} for text in ("One", "Two")]
    said.append({"uuid": "n", "sender": "assistant", "text": "Three", "attachments": [{"file_name": "a.pdf"}]})
    chats = json.dumps([{"uuid": "c", "chat_messages": said}])
    report = imported(memory, products.zipped(tmp_path / "claude.zip", {"conversations.json": chats}))
    assert [one.text for one in memory.conversation("claude-c").messages()] == ["One", "Three"]
    assert [vars_of(each) for each in report.unread] == [
        ("claude-c, m", "Another message of this conversation has the same id.")
    ]
    assert report.notes == ("Left out: attachments and files of messages (1).",)


def test_metadata_of_others_is_kept_as_far_as_a_memory_can_hold_it(memory: Memory, tmp_path: Path):
    """A name with a space, as splitters of Markdown give it, would have kept the whole memory out."""
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    given = {"page": 3, "Header 1": "Coffee", "deep": deep, "large": "x" * 100_000, "odd": float("nan")}
    (tmp_path / "all.json").write_text(json.dumps([{"id": "m", "memory": "Two cups", "metadata": given}]), "utf-8")
    report = imported(memory, tmp_path / "all.json")
    assert memory.get("mem0:m").metadata == {"page": 3, "foreign_metadata": {"Header 1": "Coffee"}}
    assert report.notes == ("Left out: entries of metadata that no memory can hold (3).",)
    assert imported(memory, tmp_path / "all.json").present == 1


def test_a_statement_that_is_too_long_is_named_by_its_first_words(memory: Memory, tmp_path: Path):
    (tmp_path / "pasted.txt").write_text(f"- Likes\0 tea\n- {'Never coffee ' * 100_000}\n", "utf-8")
    report = imported(memory, tmp_path / "pasted.txt")
    assert texts(memory) == ["Likes tea"]
    assert [each.what for each in report.unread] == ["'Never coffee Never coffee Never coffee Never coffee Never …"]


@pytest.mark.parametrize(("content", "told"), [
    ('[{"title": "Caf\u00e9"}]'.encode("latin-1"), "conversations.json is not UTF-8"),
    ("[]".encode("utf-16"), "conversations.json is not UTF-8"), (b"", "conversations.json is not JSON"),
])  # fmt: skip
def test_a_file_of_a_known_name_that_cannot_be_read_says_why(tmp_path: Path, content: bytes, told: str):
    with pytest.raises(ImportFailed, match=told):
        recognise(products.zipped(tmp_path / "odd.zip", {"conversations.json": content}))


def test_a_zip_file_of_nothing_known_says_what_is_known(tmp_path: Path):
    with pytest.raises(ImportFailed, match="holds nothing that is known here"):
        recognise(products.zipped(tmp_path / "holiday.zip", {"beach.txt": "sand", "conversations.json": "[]"}))


def test_the_folder_in_which_chroma_keeps_its_database_is_known(memory: Memory, tmp_path: Path):
    products.chroma_database(tmp_path / "chroma.sqlite3")
    assert imported(memory, tmp_path).kind == "Chroma database"


def vars_of(unread: Any) -> tuple[str, str]:
    return unread.what, unread.reason


def test_what_was_forgotten_here_does_not_come_back_with_an_old_export(memory: Memory, tmp_path: Path):
    path = made(tmp_path, "history.db")
    imported(memory, path)
    memory.forget("mem0:m-1")
    report = imported(memory, path)
    assert (report.inserted, report.kept_forgotten, texts(memory)) == (0, 1, [])


def test_pasted_lines_are_memories_under_their_heading(memory: Memory, tmp_path: Path):
    imported(memory, made(tmp_path, "pasted.txt"))
    assert {record.text: record.tags for record in memory.list(limit=10)} == {
        "Likes tea, never coffee": ("preferences",),
        "Uses metric units": ("preferences",),
        "Builds bridges in Osaka.": ("work",),
    }


def test_fields_of_others_become_ours(memory: Memory, tmp_path: Path):
    imported(memory, made(tmp_path, "claude-mem.db"))
    record = memory.get("claude-mem:observation-7")
    assert (record.source_project, record.tags, record.references) == ("shop", ("bugfix", "http"), ("shop/client.py",))
    assert record.created_at.isoformat() == "2026-03-01T09:00:00+00:00"
    assert "POST is not repeated" in record.text


@pytest.mark.parametrize(("made_as", "name", "kind"), [
    ("chatgpt.zip", "conversations-000.json", "ChatGPT export"), ("claude.zip", "conversations.json", "Claude export"),
    ("claude.zip", "memories.json", "Claude export"), ("takeout.zip", "MyActivity.json", "Gemini Takeout"),
])  # fmt: skip
def test_a_single_file_is_known_by_its_content_whatever_it_is_called(
    memory: Memory, tmp_path: Path, made_as: str, name: str, kind: str
):
    with zipfile.ZipFile(made(tmp_path, made_as)) as archive:
        content = next(archive.read(each) for each in archive.namelist() if each.endswith(name))
    (tmp_path / "mine (1).json").write_bytes(content)
    report = imported(memory, tmp_path / "mine (1).json")
    assert (report.kind, report.unread) == (kind, ())
    assert report.inserted


def test_objects_with_a_field_of_that_name_are_no_conversations(tmp_path: Path):
    (tmp_path / "all.json").write_text('[{"text": "Tea", "mapping": {"a": {"b": 1}}}]', "utf-8")
    assert recognise(tmp_path / "all.json").kind == "records"


def test_a_zip_file_without_its_ending_is_one(tmp_path: Path):
    path = made(tmp_path, "claude.zip")
    assert recognise(path.rename(tmp_path / "data-2026-03-01")).kind == "Claude export"


def test_a_takeout_in_another_language_is_known(memory: Memory, tmp_path: Path):
    event = {"header": "Gemini-Apps", "title": "Prompt: Wie hoch ist der Ararat?", "time": "2026-03-01T09:00:00Z",
             "products": ["Gemini-Apps"], "safeHtmlItem": [{"html": "<p>5.137 m</p>"}]}  # fmt: skip
    name = "Takeout/Meine Aktivit\u00e4ten/Gemini-Apps/MeineAktivit\u00e4ten.json"
    files = {name: json.dumps([event]), "Takeout/archive_browser.html": "<html>"}
    imported(memory, products.zipped(tmp_path / "takeout.zip", files))
    assert texts(memory) == ["5.137 m", "Prompt: Wie hoch ist der Ararat?"]


def test_an_unpacked_export_is_imported_like_the_zip_file(memory: Memory, tmp_path: Path):
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(made(tmp_path, "claude.zip")) as archive:
        archive.extractall(folder)
    imported(memory, folder)
    assert imported(memory, tmp_path / "claude.zip").inserted == 0


def test_a_zip_file_that_would_fill_the_disk_is_refused(tmp_path: Path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as file:
        for _ in range(80):
            file.write(b" " * (1 << 20))
    with pytest.raises(ImportFailed, match=r"claims 83,886,080 bytes"):
        recognise(path)


def test_takeout_as_a_page_says_how_to_get_json(tmp_path: Path):
    path = products.zipped(tmp_path / "t.zip", {"Takeout/My Activity/Gemini Apps/MyActivity.html": "<html>"})
    with pytest.raises(ImportFailed, match="as a page of HTML"):
        recognise(path)


def test_an_import_that_is_killed_goes_on_where_it_stopped(tmp_path: Path):
    conversations = [products.chatgpt_conversation(f"c-{number}", f"Question {number}?") for number in range(300)]
    path = products.zipped(tmp_path / "chatgpt.zip", {"conversations.json": json.dumps(conversations)})
    store = str(tmp_path / "memory.db")
    environment = {**os.environ, "PERDURE_STORE": store, "PERDURE_EMBEDDER": "none"}
    with subprocess.Popen(
        [sys.executable, "-m", "perdure", "import", str(path)],
        env=environment,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stderr
        assert "if it is interrupted, take it back" in process.stderr.readline()
        process.send_signal(signal.SIGKILL)
    with Memory(store, embedder="none") as memory:
        before = len(memory.conversations())
        report = imported(memory, path)
        assert report.inserted + report.present == 900
        assert len(memory.conversations()) == 300 > before
        assert len(memory.conversation("chatgpt-c-7").messages()) == 3


# Small values: what is hard is where they are cut, and making large ones takes ten times as long as reading them.
WORD = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(WORD, JSON, max_size=3), max_size=5), st.booleans(), st.integers(1, 7))
def test_objects_are_read_one_at_a_time_as_json_reads_them_at_once(
    items: list[dict[str, Any]], ascii_only: bool, chunk: int
):
    class Slow(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(chunk)

    text = json.dumps(items, ensure_ascii=ascii_only, indent=1).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        return
    assert [item.value for item in json_items(Slow(text), "x")] == items
    named = json.dumps({"other": [{"a": [1]}], "items": items, "n": 1}, ensure_ascii=ascii_only).encode()
    assert [item.value for item in json_items(Slow(named), "x", ("items",))] == items


@given(st.lists(JSON, max_size=6), st.integers(1, 7))
def test_every_value_of_an_array_is_an_object_or_named_in_its_place(values: list[Any], chunk: int):
    class Slow(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(chunk)

    found = list(json_items(Slow(json.dumps(values).encode()), "x"))
    assert [item.position for item in found] == list(range(1, len(values) + 1))
    assert [item.value for item in found] == [value if isinstance(value, dict) else None for value in values]


def test_a_large_document_is_never_whole_in_memory():
    document = json.dumps([{"text": "x" * 1000, "n": number} for number in range(20_000)]).encode()
    tracemalloc.start()
    count = sum(1 for _ in json_items(BytesIO(document), "x"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 8 << 20 < len(document)


def test_of_long_chats_only_a_few_are_in_memory_at_a_time(memory: Memory, tmp_path: Path):
    said = [{"uuid": "m", "sender": "human", "text": "Tell me about bridges. " * 40_000}]
    chats = [{"uuid": f"c-{number}", "chat_messages": said} for number in range(20)]
    path = products.zipped(tmp_path / "claude.zip", {"conversations.json": json.dumps(chats)})
    told: list[tuple[int, int | None]] = []
    imported(memory, path, ImportOptions(dry_run=True, progress=lambda done, total: told.append((done, total))))
    assert told == [(5, 20), (10, 20), (15, 20), (20, 20)]


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process ever had")
def test_a_large_export_is_imported_in_200_megabytes(tmp_path: Path):
    """`make soak` makes a gigabyte."""
    path, size = tmp_path / "chatgpt.zip", int(os.environ.get("PERDURE_EXPORT_MB", "4")) << 20
    filler = "Some long answer about bridges. " * 1000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        written = part = 0
        while written < size:
            with archive.open(f"conversations-{part:03}.json", "w") as file:
                file.write(b"[")
                for number in range(100):
                    conversation = json.dumps(products.chatgpt_conversation(f"c-{part}-{number}", filler))
                    file.write((b"," if number else b"") + conversation.encode())
                    written += len(conversation)
                file.write(b"]")
            part += 1
    # Not `getrusage`, which counts what the process was before it became Python: the tests themselves.
    script = (
        "import re, sys; from pathlib import Path; from perdure import Memory;"
        "from perdure.bank.importers.store import find_importer, import_with;"
        "from perdure.bank.sections import ImportOptions;"
        "memory = Memory(sys.argv[2], embedder='none'); path = Path(sys.argv[1]);"
        "report = import_with(memory, find_importer(path), path, ImportOptions());"
        "status = Path('/proc/self/status').read_text('utf-8');"
        "print(report.kinds['conversations'], re.search(r'VmHWM:\\s+(\\d+)', status)[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(tmp_path / "memory.db")],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    conversations, kilobytes = map(int, done.stdout.split())
    assert conversations == part * 100
    assert kilobytes < 200 << 10


def test_an_importer_s_errors_are_those_of_the_file_and_not_of_the_store(tmp_path: Path, memory: Memory):
    path = products.zipped(tmp_path / "locked.zip", {"conversations.json": "[1, 2"})
    with pytest.raises(ImportFailed):
        import_with(memory, products_importer("ChatGPT export"), path, ImportOptions())
    with pytest.raises(NotFound):
        memory.get("chatgpt:x")


def products_importer(kind: str) -> Any:
    from perdure.bank.importers.store import IMPORTERS

    return IMPORTERS[kind]
