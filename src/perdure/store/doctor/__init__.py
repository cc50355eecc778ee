"""Checks that are the same in every store: pure functions over what it reads."""
