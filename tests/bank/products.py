"""Exports as other products write them, made from their documented formats: the smallest that has every part."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import apsw

ASKED = "I moved to Osaka, can you plan my first week?"
ANSWERED = "Of course: start with the ward office."
SPOKEN = "Oh, and I am allergic to peanuts."


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def chatgpt_node(id: str, parent: str | None, children: list[str], message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": id, "parent": parent, "children": children, "message": message}


def chatgpt_message(role: str, content: dict[str, Any], at: float | None) -> dict[str, Any]:
    return {"author": {"role": role}, "content": content, "create_time": at, "metadata": {}}


def text_content(text: str) -> dict[str, Any]:
    return {"content_type": "text", "parts": [text]}


def chatgpt_conversation(id: str = "c-1", asked: str = ASKED) -> dict[str, Any]:
    """A question that was asked twice, a tool that was called, and a spoken message with a picture."""
    spoken = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "audio_transcription", "text": SPOKEN}, {"content_type": "image_asset_pointer"}],
    }
    return {
        "id": id, "title": None, "create_time": 1772355600.0, "update_time": 1772359200.5, "current_node": "n5",
        "mapping": {
            "n0": chatgpt_node("n0", None, ["n1", "n2"], None),
            "n1": chatgpt_node("n1", "n0", [], chatgpt_message("user", text_content("Plan my week?"), 1772355601.0)),
            "n2": chatgpt_node("n2", "n0", ["n3"], chatgpt_message("user", text_content(asked), 1772355602.0)),
            "n3": chatgpt_node(
                "n3", "n2", ["n4"], chatgpt_message("tool", {"content_type": "code", "text": "search()"}, 1772355603.0)
            ),
            "n4": chatgpt_node("n4", "n3", ["n5"], chatgpt_message("assistant", text_content(ANSWERED), 0)),
            "n5": chatgpt_node("n5", "n4", [], chatgpt_message("user", spoken, 1772355700.0)),
        },
    }  # fmt: skip


def chatgpt_zip(path: Path) -> Path:
    """Since 2026: in parts, with a manifest."""
    files = {
        "conversations-000.json": json.dumps([chatgpt_conversation()]),
        "conversations-001.json": json.dumps([chatgpt_conversation("c-2", "What is a shinkansen?")]),
        "export_manifest.json": "{}", "user.json": '{"id": "u"}', "chat.html": "<html></html>",
    }  # fmt: skip
    return zipped(path, files)


def old_chatgpt_zip(path: Path) -> Path:
    return zipped(
        path, {"conversations.json": json.dumps([chatgpt_conversation(), chatgpt_conversation("c-2", "What?")])}
    )


def claude_zip(path: Path) -> Path:
    message = {"uuid": "m-1", "sender": "human", "text": ASKED, "content": [{"type": "text", "text": ASKED}],
               "created_at": "2026-03-01T09:00:00Z", "attachments": [], "files": []}  # fmt: skip
    answer = {"uuid": "m-2", "sender": "assistant", "text": "", "created_at": "2026-03-01T09:00:05Z",
              "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ANSWERED}]}  # fmt: skip
    tool = {"uuid": "m-3", "sender": "assistant", "text": "", "content": [{"type": "tool_use", "name": "web"}]}
    conversation = {"uuid": "c-1", "name": "Osaka", "created_at": "2026-03-01T09:00:00Z",
                    "chat_messages": [message, answer, tool]}  # fmt: skip
    memories = {
        "account_uuid": "a-1",
        "conversations_memory": "**Work context**\n\nBo builds bridges.\n\n**Personal**\n\nBo lives in Osaka.",
        "project_memories": {"p-1": "The bridge is made of steel."},
    }
    project = {"uuid": "p-1", "name": "Bridge", "prompt_template": "Answer in metres.", "created_at": "2026-02-01",
               "docs": [{"filename": "norms.md", "content": "Loads follow EN 1991."}]}  # fmt: skip
    files = {
        "conversations.json": [conversation],
        "memories.json": [memories],
        "projects.json": [project],
        "users.json": [],
    }
    return zipped(path, {name: json.dumps(value) for name, value in files.items()})


def takeout_zip(path: Path) -> Path:
    """The newest first, one with an answer as a page."""
    address = "https://gemini.google.com/app/c/9f3"
    events = [
        {"header": "Gemini Apps", "title": f"Prompted {SPOKEN}", "titleUrl": address, "time": "2026-03-01T10:00:00Z",
         "safeHtmlItem": [{"html": "<p>I will <b>remember</b> that.</p>"}]},
        {"header": "Gemini Apps", "title": "Prompted", "titleUrl": address, "time": "2026-03-01T09:00:00Z",
         "details": [{"name": "Request", "value": ASKED}, {"name": "Response", "value": ANSWERED}]},
        {"header": "Gemini Apps", "title": "Gave feedback", "time": "2026-02-01T09:00:00Z"},
    ]  # fmt: skip
    return zipped(path, {"Takeout/My Activity/Gemini Apps/MyActivity.json": json.dumps(events)})


def mem0_answer(path: Path) -> Path:
    one = {"id": "m-1", "memory": "Bo lives in Osaka", "hash": "x", "metadata": {"topic": "home"}, "user_id": "bo",
           "created_at": "2026-03-01T09:00:00-08:00", "updated_at": None}  # fmt: skip
    path.write_text(json.dumps({"results": [one, {"id": "m-2", "memory": ""}]}), encoding="utf-8")
    return path


def mem0_markdown(path: Path) -> Path:
    path.write_text(
        "---\nid: m-1\ncreated_at: 2026-03-01T09:00:00Z\ntype: decision\nconfidence: 0.9\n"
        "categories: [build, ci]\n---\n"
        "CI runs on two cores.\n\n---\nid: m-2\ncreated_at: 2026-03-02T09:00:00Z\n---\nReleases are on Tuesdays.\n",
        encoding="utf-8",
    )
    return path


def open_memory_zip(path: Path) -> Path:
    memories: list[dict[str, Any]] = [
        {"id": "m-1", "content": "Bo lives in Osaka", "state": "active", "created_at": "2026-03-01T09:00:00+00:00",
         "category_ids": ["k-1"], "metadata": {}},
        {"id": "m-2", "content": "Bo lives in Kobe", "state": "deleted", "created_at": "2026-02-01T09:00:00+00:00"},
    ]  # fmt: skip
    document: dict[str, Any] = {"user": {"id": "u"}, "apps": [], "categories": [{"id": "k-1", "name": "home"}],
                "memories": memories, "status_history": [], "export_meta": {"version": 1}}  # fmt: skip
    return zipped(path, {"memories.json": json.dumps(document), "memories.jsonl.gz": gzip.compress(b"{}")})


def letta_file(path: Path) -> Path:
    said = [
        {"id": "m-0", "role": "system", "content": [{"type": "text", "text": "You are helpful."}]},
        {
            "id": "m-1",
            "role": "user",
            "content": [{"type": "text", "text": ASKED}],
            "created_at": "2026-03-01T09:00:00Z",
        },
        {"id": "m-2", "role": "assistant", "content": [{"type": "text", "text": ANSWERED}]},
    ]
    agent = {"id": "agent-0", "name": "guide", "messages": said, "block_ids": ["block-0"]}
    blocks = [{"id": "block-0", "label": "human", "value": "Bo lives in Osaka.", "description": "About the user"},
              {"id": "block-1", "label": "persona", "value": ""}]  # fmt: skip
    path.write_text(json.dumps({"agents": [agent], "groups": [], "blocks": blocks, "tools": []}), encoding="utf-8")
    return path


def pasted_file(path: Path) -> Path:
    path.write_text(
        "Here is what I remember:\n\n## Preferences\n- Likes tea,\n  never coffee\n"
        "- [2026-02-01] - Uses metric units\n\n"
        "**Work**\nBuilds bridges in Osaka.\n",
        encoding="utf-8",
    )
    return path


def database(path: Path, schema: str, rows: Mapping[str, list[tuple[Any, ...]]]) -> Path:
    connection = cast("Any", apsw.Connection(str(path)))
    connection.execute(schema)
    for table, values in rows.items():
        for row in values:
            connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
    connection.close()
    return path


def claude_mem_database(path: Path) -> Path:
    schema = """
    CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
      title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
      prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER);
    CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT, investigated TEXT, learned TEXT,
      completed TEXT, next_steps TEXT, notes TEXT, created_at TEXT, created_at_epoch INTEGER);
    """
    observation = (7, "s", "shop", None, "bugfix", "Orders were placed twice", "A retry", '["POST is not repeated"]',
                   "It was sent again.", '["http"]', "[]", '["shop/client.py"]', 1, "", 1772355600000)  # fmt: skip
    empty = (8, "s", "shop", None, "note", None, None, None, None, None, None, None, 2, "", 1772355601000)
    summary = (1, "shop", "Mend the orders", "", "Timeouts lie", "Done", "Tests", "", "2026-03-01T09:00:00Z", None)
    return database(path, schema, {"observations": [observation, empty], "session_summaries": [summary]})


def mem0_database(path: Path) -> Path:
    schema = """CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
      created_at TEXT, updated_at TEXT, is_deleted INTEGER, actor_id TEXT, role TEXT);"""
    return database(path, schema, {"history": [
        ("1", "m-1", None, "Bo lives in Kobe", "ADD", "2026-02-01T09:00:00+00:00", None, 0, None, None),
        ("2", "m-2", None, "Bo owns a cat", "ADD", "2026-02-01T09:00:00+00:00", None, 0, None, None),
        ("3", "m-1", "Bo lives in Kobe", "Bo lives in Osaka", "UPDATE", "2026-02-01T09:00:00+00:00",
         "2026-03-01T09:00:00+00:00", 0, None, None),
        ("4", "m-2", "Bo owns a cat", None, "DELETE", "2026-02-01T09:00:00+00:00", None, 1, None, None),
    ]})  # fmt: skip


def chroma_database(path: Path) -> Path:
    schema = """
    CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
    CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, created_at TIMESTAMP);
    CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, float_value REAL,
      bool_value INTEGER, PRIMARY KEY (id, key));
    """
    return database(path, schema, {
        "collections": [("k", "notes")], "segments": [("s", "metadata", "METADATA", "k")],
        "embeddings": [(1, "s", "n-1", "2026-03-01 09:00:00"), (2, "s", "n-2", "2026-03-01 09:00:00"),
                       (3, "s", "n-3", "2026-03-01 09:00:00")],
        "embedding_metadata": [(1, "chroma:document", "Bo lives in Osaka", None, None, None),
                               (1, "page", None, 3, None, None), (2, "page", None, 4, None, None)],
    })  # fmt: skip


def langgraph_database(path: Path) -> Path:
    schema = """CREATE TABLE store (prefix TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, created_at TIMESTAMP,
      updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key));"""
    times = ("2026-03-01 09:00:00", "2026-03-01 09:00:00", None, None)
    return database(path, schema, {"store": [
        ("users.bo", "home", '{"content": "Bo lives in Osaka", "kind": "fact"}', *times),
        ("users.bo", "sizes", '{"shoe": 44}', *times), ("users.bo", "broken", "{", *times),
    ]})  # fmt: skip
