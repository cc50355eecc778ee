"""Search inside the database: the same memories and scores as from an index, and the answer says where it looked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perdure import Memory
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.embed.port import Embedder
from perdure.location import locate
from perdure.model import Recall
from perdure.recall import recaller
from perdure.settings import load
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.migrate import migrate
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

EVERYDAY = json.loads(Path(__file__).with_name("everyday.json").read_text(encoding="utf-8"))
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
# Scores come from the vectors themselves, whatever the server compared.
TOLERANCE = 1e-6
ROOMS = ("kitchen", "workshop", "stable", "library", "cellar", "orchard", "laundry", "boathouse", "attic", "nursery")
THINGS = ("roof", "floor", "window", "stove", "staircase", "lamp", "wall", "drain", "bench", "curtain")
FILTERS: tuple[dict[str, Any], ...] = (
    {}, {"tags": ["house"]}, {"min_importance": 0.6}, {"conversation_id": "two speakers"},
    {"limit": 60, "min_relevance": 0.0}, {"recipe": "meaning"}, {"include_constitutional": True},
)  # fmt: skip


def asked(memory: Memory, question: str, filters: dict[str, Any]) -> Recall:
    return memory.recall(question, **filters)


def shown(answer: Recall) -> list[tuple[int, float, float]]:
    return [(hit.record.number, hit.relevance, hit.score) for hit in answer]


def opened(url: str, embedder: Embedder, limit: int) -> Memory:
    settings = load(store=url, index_limit=limit)
    return Memory(settings=settings, embedder=embedder, clock=lambda: NOON)


def was_inside(answer: Recall) -> bool:
    return any(note.startswith("Searched inside the database") for note in answer.notes)


@pytest.fixture(scope="module")
def inside(postgres_kinds: Callable[..., EmptyStores]) -> EmptyStores:
    from postgres_server import has_pgvector

    if not has_pgvector():
        pytest.skip("the server that PERDURE_TEST_POSTGRES names has no pgvector")
    return postgres_kinds(pgvector=True)


@pytest.fixture(scope="module")
def everyday(inside: EmptyStores) -> Iterator[tuple[Memory, Callable[[], Memory]]]:
    """All everyday stores in one namespace among notes about a house: asked of an index, and of whoever has none."""
    if unavailable() is not None:
        pytest.skip("the local model is not installed")
    url, local = inside.new_url(), LocalEmbedder()
    with opened(url, local, 10**9) as whole:
        for name, store in EVERYDAY["stores"].items():
            for text in store.get("memories", ()):
                whole.remember(text.replace("{20 kB of other paragraphs}", "\n\n".join(repairs())), importance=0.7)
            for message in store.get("messages", ()):
                content = message["content"].replace("{20 kB of other paragraphs}", "\n\n".join(repairs()))
                whole.conversation(name).add_message(**{**message, "content": content})
        for place, text in enumerate(repairs()):
            whole.remember(text, tags=["house"] if place % 3 else [], importance=0.9 if place == 7 else 0.5)
        whole.forget(whole.remember("The curtain of the attic is blue").record.number)
        whole.remember("Never paint the stable red", tier="constitutional")
        whole.work()
        yield whole, lambda: opened(url, local, 0)


def repairs() -> list[str]:
    return [f"The {thing} of the {room} was repaired by two men from the village" for room in ROOMS for thing in THINGS]


@pytest.mark.parametrize("filters", FILTERS, ids=repr)
def test_answers_are_those_of_an_index(everyday: tuple[Memory, Callable[[], Memory]], filters: dict[str, Any]):
    whole, fresh = everyday
    questions = [case["question"] for case in EVERYDAY["questions"]]
    questions += ["what was repaired in the kitchen?", '"curtain of the attic"', "the stove", "wallpaper", "Jonas"]
    # What names a time is answered from an index.
    of_a_time = {case["question"] for case in EVERYDAY["questions"] if "only" in case}
    places: list[bool] = []
    for question in questions[::2] if not filters else questions[::6] + questions[-5:]:
        with fresh() as part:
            answer = asked(part, question, filters)
        compare(question, asked(whole, question, filters), answer)
        if question not in of_a_time:
            places.append(was_inside(answer))
    # Some others name a time, too.
    assert sum(places) > len(places) * 3 // 4


def compare(question: str, expected: Recall, answer: Recall) -> None:
    relevances = {hit.record.number: hit.relevance for hit in expected}
    assert relevances.keys() == {hit.record.number for hit in answer}, question
    # In the same order, but where two are as near to each other as an index and the database may differ.
    in_order = [relevances[hit.record.number] for hit in answer]
    assert all(one >= other - TOLERANCE for one, other in pairwise(in_order)), question
    assert answer.mode == expected.mode
    assert [record.number for record in answer.constitutional] == [record.number for record in expected.constitutional]
    for one, other in zip(sorted(shown(expected)), sorted(shown(answer)), strict=True):
        assert one == pytest.approx(other, abs=TOLERANCE), question
    notes = [note for note in answer.notes if not note.startswith("Searched inside the database")]
    assert notes == list(expected.notes)


def test_vectors_of_before_are_found_when_the_extension_comes_later(inside: EmptyStores) -> None:
    """Programs that do not know of pgvector leave its column empty."""
    url = inside.new_url()
    with opened(url, WordEmbedder(), 0) as memory:
        memory.remember("tea in the morning")
        emptied(inside, url)
        memory.remember("milk in the evening")
        found = memory.recall("tea in the morning")
        assert found[0].text == "tea in the morning"
        assert was_inside(found)


def test_a_migration_lets_the_server_compare_what_was_there_before(inside: EmptyStores) -> None:
    url = inside.new_url()
    with opened(url, WordEmbedder(), 0) as memory:
        memory.remember("tea in the morning")
    emptied(inside, url)
    location = locate(url)
    assert migrate(parse_address(location.address, location.shown)).pgvector
    assert rows_of(inside, url, "SELECT count(*) FROM {}.vector WHERE near IS NULL") == [(0,)]


def test_many_vectors_that_the_server_cannot_compare_are_left_to_an_index(
    inside: EmptyStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.store.postgres import store

    monkeypatch.setattr(store, "MOST_NOT_COMPARED", 1)
    url = inside.new_url()
    with opened(url, WordEmbedder(), 0) as memory:
        for text in ("tea in the morning", "milk in the evening", "water at noon"):
            memory.remember(text)
        emptied(inside, url)
        found = memory.recall("tea in the morning")
        assert found.mode == "keyword"
        assert "more than an index may hold" in " ".join(found.notes)


def test_without_the_extension_a_namespace_above_the_limit_is_searched_by_words(postgres_stores: EmptyStores) -> None:
    with opened(postgres_stores.new_url(), WordEmbedder(), 1) as memory:
        for text in ("tea in the morning", "milk in the evening"):
            memory.remember(text)
        found = memory.recall("tea")
        assert [hit.text for hit in found] == ["tea in the morning"]
        assert found.mode == "keyword"
        assert "index_limit" in " ".join(found.notes)


def test_a_process_without_an_index_asks_the_database_at_first(
    inside: EmptyStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recaller, "_LONG_TO_READ", 1)
    with opened(inside.new_url(), WordEmbedder(), 1000) as memory:
        for text in ("tea in the morning", "milk in the evening"):
            memory.remember(text)
        ways = [was_inside(memory.recall("tea")) for _ in range(5)]
        assert ways == [True, True, True, False, False]


def test_what_is_erased_is_gone_from_the_extension_as_well(inside: EmptyStores) -> None:
    url = inside.new_url()
    with opened(url, WordEmbedder(), 0) as memory:
        number = memory.remember("tea in the morning").record.number
        assert rows_of(inside, url, "SELECT count(*) FROM {}.vector WHERE near IS NOT NULL") == [(1,)]
        memory.erase(number, confirm=True)
        assert rows_of(inside, url, "SELECT count(*) FROM {}.vector") == [(0,)]


def test_a_role_that_owns_nothing_searches_inside_its_own_namespace_alone(
    inside: EmptyStores, postgres_kinds: Callable[..., EmptyStores]
) -> None:
    url = postgres_kinds(role="searching_app", prepare="off", pgvector=True).new_url()
    with opened(url, WordEmbedder(), 0) as memory, Memory(url, embedder=WordEmbedder(), namespace="other") as other:
        memory.remember("tea in the morning")
        other.remember("tea in the morning, says somebody else")
        found = memory.recall("tea in the morning", min_relevance=0.0)
        assert [hit.text for hit in found] == ["tea in the morning"]
        assert was_inside(found)


def emptied(stores: EmptyStores, url: str) -> None:
    rows_of(stores, url, "UPDATE {}.vector SET near = NULL RETURNING 1")


def rows_of(stores: EmptyStores, url: str, sql: str) -> Sequence[Any]:
    import psycopg

    schema = url.partition("schema=")[2].partition("&")[0]
    with psycopg.connect(stores.conninfo(schema)) as connection:
        connection.execute("SET perdure.everywhere = 'on'")
        return connection.execute(sql.format(f'"{schema}"').encode()).fetchall()
