"""Databases as other memory tools make them: S1's learnings, and S3's memory index in both of its versions."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, cast

import apsw

LEARNINGS = """
CREATE TABLE entries (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, reasoning TEXT, category TEXT NOT NULL,
  keywords TEXT, "references" TEXT, observation_count INTEGER DEFAULT 1, confidence TEXT DEFAULT 'medium',
  recall_count INTEGER DEFAULT 0, last_recalled_at TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  source TEXT NOT NULL, source_project TEXT, embedding BLOB);
CREATE VIRTUAL TABLE entries_fts USING fts5(name, description, keywords, reasoning, content='entries');
CREATE TABLE _metadata (key TEXT PRIMARY KEY, value TEXT);
INSERT INTO _metadata VALUES ('embedding_provider', 'gemini'), ('embedding_model', 'gemini-embedding-001'),
  ('embedding_dimensions', '768'), ('schema_version', '1');
"""
# The schema of S3's section 5.
MEMORY_INDEX = """
CREATE TABLE memory_index (
  id INTEGER PRIMARY KEY, spec_folder TEXT NOT NULL, file_path TEXT NOT NULL UNIQUE, title TEXT, anchor_id TEXT,
  content TEXT, embedding BLOB, created_at TEXT DEFAULT (datetime('now')), created_at_epoch INTEGER, updated_at TEXT,
  importance_weight REAL DEFAULT 0.5,
  importance_tier TEXT CHECK(importance_tier IN ('constitutional', 'critical', 'important', 'normal', 'temporary',
    'deprecated')) DEFAULT 'normal',
  context_type TEXT CHECK(context_type IN ('research', 'implementation', 'decision', 'discovery', 'general'))
    DEFAULT 'general',
  channel TEXT, session_id TEXT, access_count INTEGER DEFAULT 0, last_accessed TEXT, validation_count INTEGER DEFAULT 0,
  confidence_score REAL DEFAULT 0.5, trigger_phrases TEXT DEFAULT '[]');
CREATE TABLE memory_history (id INTEGER PRIMARY KEY, memory_id INTEGER NOT NULL, field_changed TEXT NOT NULL,
  old_value TEXT, new_value TEXT, changed_at TEXT DEFAULT (datetime('now')),
  FOREIGN KEY (memory_id) REFERENCES memory_index(id) ON DELETE CASCADE);
CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT,
  created_at TEXT DEFAULT (datetime('now')), memory_count INTEGER, snapshot_path TEXT, metadata TEXT);
CREATE VIRTUAL TABLE memory_fts USING fts5(title, content, anchor_id, spec_folder, content='memory_index',
  content_rowid='id', tokenize='porter unicode61');
"""
# Without the columns that version 11 added.
MEMORY_INDEX_10 = """
CREATE TABLE memory_index (
  id INTEGER PRIMARY KEY, spec_folder TEXT NOT NULL, file_path TEXT NOT NULL UNIQUE, title TEXT, anchor_id TEXT,
  content TEXT, embedding BLOB, created_at TEXT DEFAULT (datetime('now')), updated_at TEXT,
  importance_weight REAL DEFAULT 0.5, trigger_phrases TEXT DEFAULT '[]');
"""
VECTOR = struct.pack("4f", 1, 0, 0, 0)


def opened(path: Path) -> Any:
    """A connection; apsw's own types leave much open."""
    return cast("Any", apsw.Connection(str(path)))


def make(path: Path, schema: str, table: str, rows: list[dict[str, Any]], *more: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = opened(path)
    connection.execute(schema)
    with connection:
        for row in rows:
            names = ", ".join(f'"{name}"' for name in row)
            values = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({values})", tuple(row.values()))  # noqa: S608
    for statement in more:
        connection.execute(statement)
    connection.close()
    return path


def learning(n: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{n:016x}",
        "name": f"Learning {n}",
        "description": f"Parser {n} reads real samples before it is written.",
        "reasoning": "Three bugs came from invented samples.",
        "category": "heuristics",
        "keywords": json.dumps(["parser", "samples"]),
        "references": json.dumps(["src/parser.py"]),
        "observation_count": 3,
        "confidence": "high",
        "recall_count": 4,
        "last_recalled_at": "2026-01-05T10:00:00+00:00",
        "created_at": "2025-11-01T08:00:00+00:00",
        "updated_at": "2025-12-01T08:00:00+00:00",
        "source": "retro",
        "source_project": "project-a",
        "embedding": VECTOR,
        **changes,
    }


def indexed(n: int, **changes: Any) -> dict[str, Any]:
    return {
        "spec_folder": "049-auth",
        "file_path": f"specs/049-auth/memory/28-11-25_14-3{n}__oauth.md",
        "title": "OAuth callback flow",
        "anchor_id": "oauth",
        "content": f"Callback {n} verifies the state parameter.",
        "created_at": "2025-11-28 14:30:00",
        "updated_at": "2025-11-29 09:00:00",
        "importance_weight": 0.8,
        "importance_tier": "critical",
        "context_type": "decision",
        "channel": "main",
        "session_id": "s-1",
        "access_count": 7,
        "last_accessed": "2025-12-01 10:00:00",
        "validation_count": 5,
        "confidence_score": 0.92,
        "trigger_phrases": json.dumps(["oauth callback"]),
        "embedding": VECTOR,
        **changes,
    }
