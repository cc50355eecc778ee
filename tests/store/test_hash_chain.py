"""The chain proves the log: no line can be changed, dropped or moved without it showing."""

from __future__ import annotations

from perdure.store.hash_chain import Line, digest_of, genesis, link
from perdure.store.rows import pack_name, unpack_name
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, amend, read_once, remember

LINE = Line(1, 2, "id", 3, "insert", "me", "test", None, None, 4, "batch", b"digest")


def test_every_field_of_a_line_counts():
    changed: dict[str, object] = {"digest": b"other", "session": "s", "request": "r"}
    for name, value in LINE._asdict().items():
        other = changed.get(name, value + 1 if isinstance(value, int) else f"{value}x")
        assert link(b"head", LINE._replace(**{name: other})) != link(b"head", LINE)
    assert link(b"other", LINE) != link(b"head", LINE)


def test_a_value_cannot_pass_from_one_field_to_the_next():
    assert link(b"", LINE._replace(actor="a", surface="bc")) != link(b"", LINE._replace(actor="ab", surface="c"))
    assert link(b"", LINE._replace(session="x")) != link(b"", LINE._replace(request="x"))


def test_two_namespaces_begin_differently_and_the_same_text_has_two_digests():
    assert genesis("a") != genesis("b")
    assert digest_of(b"salt", b"text") != digest_of(b"other", b"text")


def test_what_the_store_says_of_its_log_can_be_proved_from_outside(store: SqliteStore):
    record = remember(store, "tea")
    amend(store, record, text="green tea")
    remember(store, "coffee")
    revisions = sorted(
        (revision for number in (1, 2) for revision in read_once(store).revisions(number)), key=lambda line: line.seq
    )
    head = genesis(NAMESPACE)
    for revision in revisions:
        change = revision.change
        micros = round(change.at.timestamp() * 1_000_000)
        line = Line(
            revision.seq, revision.number, revision.memory, revision.version, change.operation, change.actor,
            change.surface, change.session, change.request, micros, change.batch, bytes.fromhex(revision.digest),
        )  # fmt: skip
        head = link(head, line)
        assert head.hex() == revision.hash


def test_a_batch_is_kept_whatever_it_is_called():
    for batch in ("0198c0de-0000-7000-8000-000000000001", "batch 1", "0198C0DE-0000-7000-8000-000000000001", "ab", ""):
        assert unpack_name(pack_name(batch)) == batch
