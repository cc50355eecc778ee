"""Copies of a whole store: made, checked, put back."""

from __future__ import annotations
