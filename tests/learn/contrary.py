"""Statements in ordinary words: an older one, a newer one, and what somebody would ask."""

from __future__ import annotations

import pytest

from perdure.embed import judge

needs_judge = pytest.mark.skipif(not judge.is_available(), reason="the local model is not installed")

# The second one cannot be true together with the first.
CONTRADICTIONS = (
    ("We use Postgres for orders", "We switched from Postgres to MySQL for orders", "which database holds our orders?"),
    ("The tax report is due on May 3", "The deadline of the tax report was moved to June 10", "when is it due?"),
    ("The dev server listens on port 8080", "The dev server listens on port 9090", "the port of the dev server?"),
    ("Ada writes her code in Vim", "Ada has dropped Vim and writes her code in Helix", "which editor does Ada use?"),
    ("Mira lives in Lisbon", "Mira lives in Porto", "where does Mira live?"),
    ("The pro plan costs 20 euros a month", "The pro plan costs 25 euros a month", "the price of the pro plan?"),
)  # fmt: skip
# Both can be true, however near they are.
COMPATIBLE = (
    ("Staging runs on Postgres 15", "Production runs on Postgres 16"),
    ("My favourite colour is green", "Her favourite colour is blue"),
    ("The backups are kept in Frankfurt", "We plan to look at Paris for the backups next year"),
    ("Jonas has a cat called Zoe", "Jonas got a second cat called Max"),
    ("Hana keeps the bakery in Quito, shelf 117", "Ann keeps the bakery in Quito, shelf 108"),
    ("The team plan has ten seats", "The school plan has forty seats"),
    ("Lena plays the cello", "Lena plays the cello in a quartet on Thursdays"),
)
