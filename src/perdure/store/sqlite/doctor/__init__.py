"""Finds what is wrong with a store, and repairs what can be derived."""

from __future__ import annotations
