"""Forgetting by reference, by instruction, by sentence and by filter."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st
from store.children import in_child

from perdure import Memory, errors
from perdure.lifecycle import forget as forgetting
from perdure.lifecycle import selection
from perdure.lifecycle.instruction import parse
from perdure.model import Forgotten, replace_record
from perdure.settings import load
from perdure.store.port import NumberSearch
from perdure.testing.embedder import WordEmbedder
from perdure.text.entry import Entry, entry_of

START = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(START)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock) as opened:
        yield opened


@pytest.fixture
def known(memory: Memory, clock: HandClock) -> Memory:
    """Three memories of yesterday, two of today."""
    memory.remember("The Osaka flat has two rooms", tags=["home"], importance=0.9)
    memory.remember("Flats in Osaka are paid on Mondays", spec_folder="007-rent")
    memory.remember("Alice prefers dark mode", key="person:alice", importance=0.2)
    clock.forward(days=1)
    memory.remember("The Tokyo flat is gone", spec_folder="007-rent")
    memory.remember("Bob eats no peanuts", importance=0.7)
    return memory


def numbers(answer: Forgotten) -> list[int]:
    return [record.number for record in answer.records]


def meant(memory: Memory, what: Any = None, **filters: Any) -> list[int]:
    return numbers(memory.forget(what, dry_run=True, **filters))


def alive(memory: Memory) -> list[int]:
    return sorted(record.number for record in memory.list(limit=100))


# -- what an instruction means -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [3, "3", "#3", "person:alice", "key:person:alice", "forget #3", "Please delete memory 3.", "forget no. 3"],
    ids=repr,
)
def test_a_reference_names_one_memory(known: Memory, what: int | str):
    assert meant(known, what) == [3]


def test_id_and_content_hash_are_references_too(known: Memory):
    record = known.get(3)
    assert meant(known, record.id) == meant(known, record.content_hash) == [3]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("forget everything about the Osaka flat", [1, 2]),
        ("FORGET EVERYTHING ABOUT THE OSAKA FLAT!!!", [1, 2]),
        ("Could you please delete all my notes regarding Osaka?", [1, 2]),
        ("I want you to get rid of the Osaka stuff", [1, 2]),
        ("osaka flats", [1, 2]),
        ("everything about the flat", [1, 2, 4]),
        ("the flat", []),
        ("delete what I told you yesterday", [1, 2, 3]),
        ("remove everything you stored today", [4, 5]),
        ("what we said yesterday about the flat", [1, 2]),
        ("forget the flat that I told you about today", [4]),
        ("everything since 2026-03-19", [4, 5]),
        ("forget all that is older than 20 hours", [1, 2, 3]),
        ("before:2026-03-19", [1, 2, 3]),
        ("before:2026-03-18T09:26:53Z", []),
        ("forget the oldest", [1]),
        ("least recently used", [1]),
        ("the least important memory", [3]),
        ("forget that Alice prefers dark mode", [3]),
        ("delete everything about Kyoto", []),
        ("tags", []),
    ],
)
def test_an_instruction_means_the_memories_with_its_words_and_time(known: Memory, sentence: str, expected: list[int]):
    assert meant(known, sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "", " ", "forget everything", "delete all memories", "forget it", "please forget", "everything you know", "the",
        "before:launch", "before:", "everything before midnight", "what I said yesterday and on Monday about Osaka",
        "forget everything about IT from yesterday", "forget everything about \u2192 from yesterday",
        "forget everything about \u2018Will\u2019 from yesterday", "forget everything about ??? from yesterday",
        "forget us yesterday", "forget The Who yesterday", "x" * 9000,
    ],
)  # fmt: skip
def test_a_sentence_without_a_word_to_search_for_or_a_time_that_can_be_read_is_refused(known: Memory, sentence: str):
    for verb in (known.forget, known.erase):
        with pytest.raises(errors.InvalidInput) as refused:
            verb(sentence, confirm=True)
        assert "othing was changed" in refused.value.remedy or "fewer words" in refused.value.remedy
    assert alive(known) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "sentence",
    [
        "everything about peanuts", "peanuts", "forget what I told you today about peanuts", "the oldest flat",
        "forget the last peanuts", "what I told you yesterday", '"no peanuts"',
    ],
)  # fmt: skip
def test_a_sentence_is_never_carried_out_without_a_yes(known: Memory, sentence: str):
    for verb in (known.forget, known.erase):
        with suppress(errors.NeedsConfirmation):
            assert not verb(sentence).records
    assert alive(known) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "sentence",
    ["forget everything about Alice or peanuts", "Osaka or Tokyo", "what I told you about the flat OR the tea"],
)
def test_or_is_refused_because_all_of_the_words_would_have_to_match(known: Memory, sentence: str):
    for verb in (known.forget, known.erase):
        with pytest.raises(errors.InvalidInput, match="'or'") as refused:
            verb(sentence, confirm=True)
        assert "Nothing was changed" in refused.value.remedy
    assert alive(known) == [1, 2, 3, 4, 5]


def test_a_word_that_ends_in_or_is_no_or(memory: Memory):
    memory.remember("the door of the floor")
    assert meant(memory, "everything about the door or") == [1]
    assert meant(memory, "floor") == [1]


def test_an_emoji_is_a_word_to_forget_by(memory: Memory):
    memory.remember("\U0001f3e0 two rooms")
    memory.remember("a house")
    assert meant(memory, "everything about \U0001f3e0") == [1]


def test_other_languages_work_by_their_words(memory: Memory):
    memory.remember("大阪のアパートは二部屋")
    memory.remember("Die Wohnung in Köln ist teuer")
    assert meant(memory, "大阪") == [1]
    assert meant(memory, "köln wohnung") == [2]


def test_every_field_that_search_knows_counts_as_words(memory: Memory):
    memory.remember("two rooms", title="Osaka", tags=["flat"])
    memory.remember("about Osaka", reasoning="the flat")
    memory.remember("Osaka")
    assert meant(memory, "osaka flat") == [1, 2]


def test_the_deprecated_and_what_is_true_no_more_are_forgotten_too(memory: Memory, clock: HandClock):
    memory.remember("Osaka one", tier="deprecated")
    memory.remember("Osaka two", valid_at="2020-01-01", invalid_at="2021-01-01")
    memory.remember("Osaka three", valid_at="2030-01-01")
    assert meant(memory, "osaka") == [1, 2, 3]
    assert meant(memory, "osaka", tier="deprecated") == [1]


def test_oldest_is_what_was_not_used_for_the_longest_time(known: Memory, clock: HandClock):
    clock.forward(hours=1)
    known.get(1)
    assert len(known.recall("rooms Mondays")) == 2
    assert meant(known, "oldest") == [3]


def test_of_equal_ones_the_oldest_number_goes(memory: Memory):
    memory.import_([{"text": text, "importance": 0.5} for text in ("a1", "b2", "c3")])
    assert meant(memory, "oldest") == meant(memory, "least important") == [1]


def test_protection_from_eviction_does_not_keep_a_person_from_forgetting(memory: Memory):
    memory.remember("rule", tier="critical", importance=1.0)
    assert meant(memory, "oldest") == [1]


# -- filters -------------------------------------------------------------------------------------------------------


def test_filters_narrow_an_instruction(known: Memory):
    assert meant(known, "flat", spec_folder="007-rent") == [2, 4]
    assert meant(known, "oldest", spec_folder="007-rent") == [2]
    assert meant(known, "yesterday", tags=["home"]) == [1]
    assert meant(known, "before:2026-03-19", spec_folder="007-rent") == [2]


def test_filters_alone_are_a_scope(known: Memory):
    assert meant(known, spec_folder="007-rent") == [2, 4]
    assert meant(known, "everything", tags="home") == [1]


@pytest.mark.parametrize("filters", [{}, {"tags": []}, {"states": "active"}, {"spec_folder": None}])
def test_a_filter_that_narrows_nothing_is_no_scope(known: Memory, filters: dict[str, Any]):
    with pytest.raises(errors.InvalidInput):
        known.forget(confirm=True, **filters)
    assert len(alive(known)) == 5


def test_a_folder_goes_when_it_is_confirmed(known: Memory):
    with pytest.raises(errors.NeedsConfirmation):
        known.forget(spec_folder="007-rent")
    assert numbers(known.forget(spec_folder="007-rent", confirm=True)) == [2, 4]
    assert alive(known) == [1, 3, 5]


def test_a_filter_does_not_make_an_order_of_a_pronoun(known: Memory):
    with pytest.raises(errors.InvalidInput):
        known.forget("forget about it", spec_folder="007-rent", confirm=True)
    assert meant(known, "forget everything", spec_folder="007-rent") == [2, 4]


def test_a_name_and_a_filter_together_are_refused(known: Memory):
    with pytest.raises(errors.InvalidInput):
        known.forget(1, tags=["home"])


def test_a_filter_that_does_not_exist_is_refused(known: Memory):
    with pytest.raises(errors.UnknownChoice):
        known.forget("osaka", folder="x")  # pyright: ignore[reportCallIssue]


# -- confirmation --------------------------------------------------------------------------------------------------


def test_one_memory_that_a_filter_finds_is_forgotten_at_once(known: Memory):
    known.remember("The soup was salty", spec_folder="008-food")
    done = known.forget(spec_folder="008-food")
    assert (numbers(done), done.done, done.deletion, done.remaining) == ([6], True, "soft", 5)
    assert [record.state for record in done.records] == ["deleted"]
    assert known.history(6)[-1].change.batch == done.batch
    assert any("perdure restore 6" in note for note in done.notes)


def test_several_that_are_named_are_forgotten_at_once(known: Memory):
    done = known.forget([1, "#3", "person:alice"])
    assert (numbers(done), done.done) == ([1, 3], True)
    assert {line.change.batch for number in (1, 3) for line in known.history(number)[1:]} == {done.batch}


def test_several_that_were_searched_for_need_a_yes(known: Memory):
    with pytest.raises(errors.NeedsConfirmation) as asked:
        known.forget("everything about the Osaka flat")
    preview: Forgotten = asked.value.preview
    assert (numbers(preview), preview.done, preview.batch, preview.remaining) == ([1, 2], False, None, 5)
    assert "'osaka' and 'flat'" in preview.understood
    assert alive(known) == [1, 2, 3, 4, 5]
    done = known.forget("everything about the Osaka flat", confirm=preview.token)
    assert (numbers(done), done.done, done.remaining) == ([1, 2], True, 3)
    assert any(f"perdure undo {done.batch}" in note for note in done.notes)


def test_the_answer_says_how_a_time_was_understood(known: Memory):
    preview = known.forget("forget what I told you yesterday about flats", dry_run=True)
    assert preview.understood == "every memory that holds 'flats', created 2026-03-18 UTC ('yesterday')"


def test_a_token_is_worth_nothing_once_the_matches_are_others(known: Memory):
    token = known.forget("osaka", dry_run=True).token
    known.remember("Osaka has a castle")
    with pytest.raises(errors.Conflict) as refused:
        known.forget("osaka", confirm=token)
    assert not isinstance(refused.value, errors.NeedsConfirmation)
    assert alive(known) == [1, 2, 3, 4, 5, 6]


def test_a_token_is_worth_nothing_once_a_memory_says_something_else(known: Memory):
    token = known.forget("osaka", dry_run=True).token
    known.update(1, text="The Osaka flat has nine rooms")
    with pytest.raises(errors.Conflict):
        known.forget("osaka", confirm=token)


def test_a_token_to_forget_does_not_erase(known: Memory):
    token = known.forget("osaka", dry_run=True).token
    with pytest.raises(errors.Conflict):
        known.erase("osaka", confirm=token)


@pytest.mark.parametrize("odd", [None, 1, "", b"x", []])
def test_a_confirmation_that_is_none_is_refused(known: Memory, odd: Any):
    with pytest.raises(errors.PerdureError):
        known.forget("osaka", confirm=odd)
    assert len(alive(known)) == 5


def test_when_nothing_holds_all_the_words_the_nearest_are_suggested_and_left_alone(known: Memory):
    answer = known.forget("everything about the Osaka castle", confirm=True)
    assert (answer.records, answer.done) == ((), False)
    assert {record.number for record in answer.suggested} == {1, 2}
    assert alive(known) == [1, 2, 3, 4, 5]
    assert known.get(1).recall_count == 0


def test_a_reference_that_means_two_memories_is_an_error_that_lists_them(memory: Memory):
    memory.remember("one")
    memory.remember("Same", key="a:x")
    memory.remember("same", key="a:y")
    with pytest.raises(errors.AmbiguousReference, match=r"#2.*#3"):
        memory.forget(memory.get(2).content_hash)


def test_when_one_of_several_is_wrong_nothing_is_forgotten(known: Memory):
    for wrong, kind in ((99, errors.NotFound), ("nonsense", errors.InvalidReference), (b"\x01", errors.PerdureError)):
        with pytest.raises(kind):
            known.forget([1, wrong])  # pyright: ignore[reportArgumentType]
    known.forget(2)
    with pytest.raises(errors.Conflict):
        known.forget([1, 2])
    assert alive(known) == [1, 3, 4, 5]


def test_bytes_are_no_list_of_numbers(known: Memory):
    with pytest.raises(errors.InvalidReference):
        known.forget(b"\x01\x02")


def test_soft_forgetting_can_be_switched_off(tmp_path: Path):
    rules = load(soft_delete=False, store=tmp_path / "m.db")
    with Memory(settings=rules, embedder="none") as memory:
        memory.remember("tea")
        with pytest.raises(errors.Conflict) as refused:
            memory.forget(1)
        assert "memory.erase(…)" in refused.value.remedy
        assert memory.forget(1, mode="hard", confirm=True).done


def test_what_undo_and_checkpoints_remove_is_kept_also_without_soft_forgetting(tmp_path: Path):
    """Both can be taken back themselves; only `erase` removes for ever."""
    with Memory(settings=load(soft_delete=False, store=tmp_path / "m.db"), embedder="none") as memory:
        memory.checkpoint("empty")
        done = memory.remember("tea")
        memory.undo(memory.undo(done.batch).batch)
        assert memory.get(1).text == "tea"
        memory.undo(memory.restore_checkpoint("empty", clear_existing=True).batch)
        assert memory.get(1).text == "tea"


def test_more_than_can_be_looked_over_at_once_are_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selection, "MAX_SELECTED", 20)
    memory.import_({"text": f"tea {number}"} for number in range(21))
    for what in ("tea", "before:2030-01-01", list(range(1, 22))):
        with pytest.raises(errors.InvalidInput, match="more than 20 memories"):
            memory.forget(what, confirm=True)
    memory.forget(1)
    assert len(memory.forget("tea", confirm=True).records) == 20


# -- others at the same time -----------------------------------------------------------------------------------------


def interrupt(monkeypatch: pytest.MonkeyPatch, what: Callable[[], object], times: int) -> None:
    """Let something happen between the selection and the transaction, so many times."""
    left = [times]

    def prepare(*arguments: Any) -> Entry:
        if left[0]:
            left[0] -= 1
            what()
        return entry_of(*arguments)

    monkeypatch.setattr(forgetting, "entry_of", prepare)


def test_what_somebody_changes_meanwhile_is_looked_at_again(known: Memory, monkeypatch: pytest.MonkeyPatch):
    interrupt(monkeypatch, lambda: known.update(1, text="The Osaka flat is sold", add_tags=["sold"]), 1)
    done = known.forget("osaka", confirm=True)
    assert [(record.number, record.version) for record in done.records] == [(1, 2), (2, 1)]
    assert alive(known) == [3, 4, 5]


def test_what_is_about_something_else_meanwhile_stays(known: Memory, monkeypatch: pytest.MonkeyPatch):
    interrupt(monkeypatch, lambda: known.update(1, text="A flat elsewhere"), 1)
    assert numbers(known.forget("osaka", confirm=True)) == [2]


def test_a_token_given_for_what_somebody_changes_meanwhile_is_refused(known: Memory, monkeypatch: pytest.MonkeyPatch):
    token = known.forget("osaka", dry_run=True).token
    interrupt(monkeypatch, lambda: known.update(1, add_tags=["new"]), 1)
    with pytest.raises(errors.Conflict):
        known.forget("osaka", confirm=token)
    assert alive(known) == [1, 2, 3, 4, 5]


def test_when_others_never_stop_changing_it_nothing_is_forgotten(known: Memory, monkeypatch: pytest.MonkeyPatch):
    turn = iter(range(1000))
    interrupt(monkeypatch, lambda: known.update(1, title=f"title {next(turn)}"), 1000)
    with pytest.raises(errors.Conflict, match="keep changing"):
        known.forget("osaka", confirm=True)
    assert alive(known) == [1, 2, 3, 4, 5]


def test_a_search_that_ran_out_of_time_is_done_again_without_hurry(known: Memory, monkeypatch: pytest.MonkeyPatch):
    def hurried(*_: object, **__: object) -> NumberSearch:
        return NumberSearch(complete=False)

    monkeypatch.setattr("perdure.store.sqlite.reader.SqliteReader.numbers_with_all", hurried)
    assert meant(known, "osaka flat") == [1, 2]


# -- gone on every path --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", ["none", "words"])
@pytest.mark.parametrize("warm", [False, True])
def test_what_is_forgotten_is_found_on_no_path(clock: HandClock, embedder: str, warm: bool):
    chosen: Any = WordEmbedder() if embedder == "words" else "none"
    with Memory(":memory:", embedder=chosen, clock=clock) as memory:
        made = memory.remember("Osaka flat", key="home:osaka", tags=["home"]).record
        memory.remember("Tokyo flat")
        for _ in range(4 if warm else 0):
            assert len(memory.recall("flat osaka")) == 2
        memory.forget("the Osaka flat", confirm=True)
        assert [hit.record.number for hit in memory.recall("flat osaka")] == [2]
        assert [hit.record.number for hit in memory.recall("flat osaka", states=["active", "superseded"])] == [2]
        assert alive(memory) == [2]
        for reference in (made.number, made.id, made.content_hash, "home:osaka"):
            with pytest.raises(errors.NotFound):
                memory.get(reference)
        written = io.StringIO()
        memory.export(written)
        assert [json.loads(line).get("number") for line in written.getvalue().splitlines()].count(1) == 0
        assert "Osaka" not in written.getvalue()


def test_another_process_with_a_warm_index_sees_it_go(tmp_path: Path):
    path = tmp_path / "memory.db"
    with Memory(path, embedder="none") as memory:
        memory.remember("Osaka flat")
        memory.remember("Osaka castle")
        for _ in range(5):
            assert len(memory.recall("osaka")) == 2

        def forget() -> None:
            with Memory(path, embedder="none") as there:
                there.forget("the Osaka flat", confirm=True)

        in_child(forget)
        assert [hit.record.number for hit in memory.recall("osaka")] == [2]


def test_what_was_forgotten_together_comes_back_together(known: Memory):
    before = {number: known.get(number) for number in (1, 2)}
    done = known.forget("osaka", confirm=True)
    assert done.batch
    known.undo(done.batch)
    for number, record in before.items():
        back = known.get(number)
        assert (back.text, back.version, back.state, back.tags) == (record.text, 1, "active", record.tags)


def test_what_is_forgotten_does_not_come_back_by_an_older_file(known: Memory, clock: HandClock):
    written = io.StringIO()
    known.export(written)
    clock.forward(hours=1)
    known.forget("osaka", confirm=True)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert known.import_(line for line in lines if "Osaka" in line.get("text", "")).skipped_deleted == 2
    assert alive(known) == [3, 4, 5]


# -- properties ----------------------------------------------------------------------------------------------------

ORDERS = st.lists(
    st.sampled_from(
        "forget delete please everything all about the osaka flat tokyo yesterday today last week before march don't "
        "not except ? # 1 2 7 oldest least important key: before: person:alice what I told you on monday and".split(" ")
    ),
    max_size=8,
).map(" ".join)


@given(st.text() | ORDERS | st.binary() | st.integers() | st.floats() | st.none(), st.booleans())
def test_reading_an_instruction_fails_only_with_an_error_of_ours(what: object, scoped: bool):
    try:
        instruction = parse(what, START, scoped=scoped)
    except errors.PerdureError:
        return
    assert instruction.understood
    narrow = instruction.reference or instruction.wanted or instruction.since or instruction.until
    assert narrow or instruction.kind != "matching" or scoped


TEXTS = st.lists(st.sampled_from("osaka tokyo flat flats room tea".split()), min_size=1, max_size=4).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=8, unique=True), ORDERS)
def test_a_preview_changes_nothing_and_its_token_confirms_exactly_what_it_showed(documents: list[str], order: str):
    with Memory(":memory:", embedder="none", clock=lambda: START) as memory:
        for text in documents:
            memory.remember(text)
        before = {number: memory.history(number) for number in range(1, len(documents) + 1)}
        try:
            preview = memory.forget(order, dry_run=True)
        except errors.PerdureError:
            preview = None
        assert {number: memory.history(number) for number in before} == before
        if preview is None or not preview.records:
            return
        done = memory.forget(order, confirm=preview.token)
        assert numbers(done) == numbers(preview)
        assert alive(memory) == sorted(set(before) - set(numbers(preview)))


@given(st.lists(TEXTS, min_size=1, max_size=8, unique=True), TEXTS)
def test_a_sentence_means_the_memories_with_all_its_words_and_no_others(documents: list[str], words: str):
    def stems(text: str) -> set[str]:
        return {word.removesuffix("s") for word in text.split()}

    with Memory(":memory:", embedder="none", clock=lambda: START) as memory:
        memory.import_({"text": text} for text in documents)
        expected = {record.number for record in memory.list(limit=100) if stems(words) <= stems(record.text)}
        assert set(meant(memory, f"forget everything about the {words}")) == expected


def test_a_model_may_forget_but_not_what_is_constitutional(tmp_path: Path):
    path = tmp_path / "memory.db"
    with Memory(path, embedder="none") as person:
        person.remember("Never deploy on a Friday", tier="constitutional")
        person.remember("The oven is on")
    with Memory(path, embedder="none", writer="model") as model:
        for what in (1, "oldest", "everything about Friday"):
            with pytest.raises(errors.NotAllowed):
                model.forget(what, confirm=True)
        assert model.forget(2).done
    with Memory(path, embedder="none") as person:
        assert alive(person) == [1]
        assert person.forget(1).done


def test_a_token_stands_for_the_words_too_and_not_only_for_a_place_in_the_log(known: Memory):
    record = known.get(1)
    other = replace_record(record, content_hash=known.get(2).content_hash)
    assert forgetting.confirmation_token("default", "soft", [record]) != forgetting.confirmation_token(
        "default", "soft", [other]
    )


def test_behind_about_every_word_is_a_word(memory: Memory):
    memory.remember("The last train leaves at 23:10")
    memory.remember("Backups run before midnight")
    assert meant(memory, "forget everything about the last train") == [1]
    assert meant(memory, "everything regarding backups before midnight") == [2]


def test_a_word_with_signs_is_meant_to_the_letter(memory: Memory):
    memory.remember("Vitamin C is healthy")
    memory.remember("The parser is written in C++")
    assert meant(memory, "forget everything about C++") == [2]
    assert meant(memory, "C#") == []
