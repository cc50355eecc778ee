"""A store that can be examined and repaired: it finds nothing wrong with what is sound, and changes nothing of it."""

from __future__ import annotations

import pytest

from perdure.errors import StoreClosed
from perdure.model import Filter
from perdure.store.capabilities import Doctor
from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, embed, problems, read_once, remember, repair


def doctor(store: Store) -> Doctor:
    assert isinstance(store, Doctor)
    return store


class DoctorTests(StoreTestBase):
    def test_a_sound_store_has_no_problems_before_and_after_a_repair(self, store: Store) -> None:
        record = remember(store, "tea", tags=("hot",))
        embed(store, [record])
        amend(store, record, text="green tea", tags=("green",))
        amend(store, remember(store, "coffee"), "forget", state="deleted")
        assert problems(store) == []
        rows, words = (
            store.index_rows(NAMESPACE, GENERATION, 0, 9),
            read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best,
        )
        assert repair(store) == []
        assert store.index_rows(NAMESPACE, GENERATION, 0, 9) == rows
        assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == words
        assert problems(store) == []

    def test_a_repair_tells_every_recall_index_to_look_again(self, store: Store) -> None:
        embed(store, [remember(store, "tea"), remember(store, "coffee")])
        amend(store, remember(store, "milk"), "forget", state="deleted")
        for generation in (None, GENERATION):
            before = store.position(NAMESPACE, generation)
            repair(store)
            after = store.position(NAMESPACE, generation)
            assert after != before
            changes = store.index_changes(NAMESPACE, generation, before)
            assert changes.rows == store.index_rows(NAMESPACE, generation, 0, 9)
            assert list(changes.removed) == [3]
            assert list(store.index_changes(NAMESPACE, generation, after).rows) == []

    def test_every_finding_is_a_sentence_and_every_problem_has_a_remedy(self, store: Store) -> None:
        remember(store, "tea")
        findings = list(doctor(store).check())
        assert len({finding.check for finding in findings}) == len(findings) > 0
        for finding in findings:
            assert finding.sentence.endswith(".")
            assert finding.level == "ok" or finding.remedy

    def test_a_closed_store_is_not_examined(self, store: Store) -> None:
        store.close()
        for examine in (doctor(store).check, doctor(store).repair):
            with pytest.raises(StoreClosed):
                list(examine())
