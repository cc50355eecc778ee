"""Markdown as people and other tools keep it: the knowledge bank, read and written without losing a line."""

from __future__ import annotations
