"""The store by the names of its specification: memorize, remember, forget, upsert, summarize."""

from __future__ import annotations
