"""An answer says whether anything fits: by the real model where meaning is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perdure import Memory, errors
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.embed.port import Generation, Progress, Vectors
from perdure.model import MIN_RELEVANCE
from perdure.recall.relevance import ANSWERS
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

NEEDS_MODEL = pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")

NOTES = (
    "Alice prefers dark mode", "Bob likes green tea", "The deploy runs on Fridays", "My sister lives in Lisbon",
    "The cat is called Tom", "The invoices are due on Mondays", "The wifi password hangs in the kitchen",
    "We planted tomatoes behind the shed", "The dentist moved to Baker Street", "Carla plays the cello",
    "The lease of the flat ends in June", "The printer needs new toner",
)  # fmt: skip
UNRELATED = "Byzantine emperors"


class Crowded:
    """The local model with all its vectors pushed together: unrelated texts have a cosine of about 0.7."""

    generation = Generation("testing", "crowded", 384, "1")

    def __init__(self, local: LocalEmbedder) -> None:
        self._local = local

    def embed_query(self, text: str) -> Vectors:
        return self._pushed(self._local.embed_query(text)[np.newaxis])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._pushed(self._local.embed_passages(texts, progress))

    def _pushed(self, vectors: Vectors) -> Vectors:
        common = np.full(384, 384**-0.5, np.float32)
        pushed = vectors + 1.6 * common
        return pushed / np.linalg.norm(pushed, axis=1, keepdims=True)


@pytest.fixture
def local() -> LocalEmbedder:
    return LocalEmbedder()


def holding(embedder: LocalEmbedder | Crowded | None, texts: Sequence[str]) -> Memory:
    memory = Memory(":memory:", embedder=embedder or "none")
    memory.import_([{"text": text} for text in texts])
    memory.work()
    return memory


def found(memory: Memory, query: str, **options: object) -> list[str]:
    return [hit.record.text for hit in memory.recall(query, **options)]  # pyright: ignore[reportArgumentType]


@NEEDS_MODEL
@pytest.mark.parametrize("recipe", ["balanced", "tiered"])
def test_where_nothing_fits_the_answer_is_empty_and_says_what_came_nearest(local: LocalEmbedder, recipe: str):
    with holding(local, ["Bob likes green tea"]) as memory:
        answer = memory.recall("quantum chromodynamics", recipe=recipe)
        assert (len(answer), answer.min_relevance) == (0, MIN_RELEVANCE)
        assert answer.nearest is not None
        assert answer.nearest.record.text == "Bob likes green tea"
        assert 0 <= answer.nearest.relevance < MIN_RELEVANCE
        (note,) = answer.notes
        assert "#1" in note
        assert "Bob likes green tea" in note


@NEEDS_MODEL
@pytest.mark.parametrize("recipe", ["facts", "episodes", "learnings"])
def test_recipes_of_a_specification_fill_their_limit(local: LocalEmbedder, recipe: str):
    with holding(local, ["Bob likes green tea"]) as memory:
        (hit,) = memory.recall("quantum chromodynamics", recipe=recipe)
        assert hit.relevance < MIN_RELEVANCE
        assert memory.recall("quantum chromodynamics", recipe=recipe).relevant == ()


@NEEDS_MODEL
def test_what_shares_no_word_but_means_it_fits(local: LocalEmbedder):
    with holding(local, ["Alice prefers dark mode"]) as memory:
        assert found(memory, "which theme does she like?") == ["Alice prefers dark mode"]
        assert found(memory, "price of tea in China") == []
        assert found(memory, "quantum chromodynamics") == []


@NEEDS_MODEL
@pytest.mark.parametrize("recipe", [None, "learnings"])
def test_nothing_that_does_not_fit_reaches_a_model(local: LocalEmbedder, recipe: str | None):
    with holding(local, NOTES) as memory:
        context = memory.context(UNRELATED, recipe=recipe)
        assert (context.text, context.items, context.omitted) == ("", (), ())
        assert context.nearest is not None
        packed = memory.context("what does Bob drink?", recipe=recipe)
        fitting = memory.recall("what does Bob drink?")
        assert packed.items[0].record.text == fitting[0].record.text == "Bob likes green tea"
        assert {(item.record.text, item.relevance) for item in packed.items} == {
            (hit.record.text, hit.relevance) for hit in fitting
        }


@NEEDS_MODEL
def test_nothing_that_does_not_fit_is_suggested_or_summarised(local: LocalEmbedder):
    with holding(local, NOTES) as memory:
        assert memory.forget(f"everything about {UNRELATED}").suggested == ()
        suggested = memory.forget("everything about cellos and violins").suggested
        assert suggested[0].text == "Carla plays the cello"
        assert memory.summarize(UNRELATED).sources == ()


@NEEDS_MODEL
@pytest.mark.parametrize("recipe", ["balanced", "facts", "episodes", "learnings", "tiered"])
def test_what_does_not_fit_never_counts_as_use(local: LocalEmbedder, recipe: str, tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder=local) as memory:
        memory.remember("Bob likes green tea")
        memory.remember("The deploy runs on Fridays")
        memory.recall("what does Bob drink?", recipe=recipe)
        memory.recall("quantum chromodynamics", recipe=recipe)
        memory.context("quantum chromodynamics", recipe=recipe)
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        assert [record.recall_count for record in memory.list(newest=False)] == [1, 0]


@NEEDS_MODEL
def test_a_relevance_does_not_depend_on_the_recipe_or_the_limit(local: LocalEmbedder):
    with holding(local, NOTES) as memory:
        asked = [
            memory.recall("what does Bob drink?", recipe=recipe, limit=limit)[0]
            for recipe in ("balanced", "facts", "episodes", "tiered")
            for limit in (1, 10)
        ]
        assert {hit.record.text for hit in asked} == {"Bob likes green tea"}
        assert len({hit.relevance for hit in asked}) == 1


@NEEDS_MODEL
def test_a_model_that_is_not_known_is_calibrated_by_the_store(local: LocalEmbedder):
    with holding(Crowded(local), NOTES) as memory:
        unrelated = memory.recall(UNRELATED, min_relevance=0)
        assert unrelated[0].explain["vector"].raw > 0.6
        assert found(memory, UNRELATED) == []
        assert found(memory, "what does Bob drink?", min_relevance=ANSWERS) == ["Bob likes green tea"]
        assert found(memory, "where does my sister live?", min_relevance=ANSWERS) == ["My sister lives in Lisbon"]


@NEEDS_MODEL
def test_a_better_match_lends_to_its_neighbours_in_the_conversation(local: LocalEmbedder):
    with Memory(":memory:", embedder=local) as memory:
        answering = "Hm, I would say the dark one that we saw in the other shop yesterday"
        for text in ("Which colour do you want for the sofa?", answering):
            memory.remember(text, conversation_id="chat", session_id="one")
        memory.remember(answering, conversation_id="elsewhere")
        answer = {hit.record.number: hit.relevance for hit in memory.recall("colour of the sofa", min_relevance=0)}
        assert min(answer[1], answer[2]) > answer[3]


def test_by_words_alone_a_relevance_is_the_same_from_disk_and_from_memory():
    with holding(None, [*NOTES, "Bob drinks his tea with milk and without sugar"]) as memory:
        for query in ("what does Bob drink?", "tea for the cat", "Alice Bob Carla Dora", "the printer in Lisbon"):
            asked = [{hit.record.number: hit.relevance for hit in memory.recall(query)} for _ in range(6)]
            assert asked[0]
            assert asked == [asked[0]] * 6


def test_by_words_alone_what_holds_next_to_nothing_of_the_question_does_not_fit():
    question = "does the lead engineer of the Osaka office know who ordered a printer for the seventh floor in March?"
    with holding(None, NOTES) as memory:
        answer = memory.recall(question)
        assert len(answer) == 0
        assert answer.nearest is not None
        assert found(memory, question, min_relevance=0) == [answer.nearest.record.text]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("La réunion est déplacée à jeudi", "quand est la réunion"),
        ("Die Besprechung ist jetzt am Donnerstag", "Wann ist die Besprechung?"),
        ("会議は木曜日に変更", "会議はいつ"),
        ("Собрание перенесли на четверг", "когда собрание"),
    ],
)
def test_in_every_language_words_fit(text: str, query: str):
    with holding(None, [text, *NOTES]) as memory:
        assert found(memory, query) == [text]


def test_what_waits_for_its_vector_fits_by_its_words():
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("The cat is called Tom")
        embedder.down = True
        memory.remember("Bob likes green tea")
        embedder.down = False
        assert found(memory, "green tea") == ["Bob likes green tea"]


@NEEDS_MODEL
def test_what_holds_the_phrase_or_all_concepts_fits(local: LocalEmbedder):
    long = (
        "Minutes of the meeting. " + "We spoke about the budget and the hiring plan. " * 20 + "Bob spilled green tea."
    )
    with holding(local, [long, *NOTES[2:]]) as memory:
        assert found(memory, 'who in the world of physics would ever mention "green tea" to Einstein?') == [long]
        assert found(memory, "quantum chromodynamics", concepts=["bob", "tea"]) == [long]


@NEEDS_MODEL
def test_the_floor_is_an_argument_a_setting_and_a_value_of_a_recipe(local: LocalEmbedder):
    recipes = {"strict": {"min_relevance": 0.99}, "lenient": {"like": "tiered", "min_relevance": 0}}
    with holding(local, NOTES) as memory:
        assert len(found(memory, "quantum chromodynamics", min_relevance=0)) == 10
        assert found(memory, "what does Bob drink?", min_relevance=1.0) == []
        for wrong in (-0.1, 1.1, "much", True):
            with pytest.raises(errors.InvalidInput, match="min_relevance"):
                memory.recall("tea", min_relevance=wrong)  # pyright: ignore[reportArgumentType]
    with Memory(":memory:", embedder=local, settings=load(recipes=recipes)) as memory:
        memory.remember("Bob likes green tea")
        assert found(memory, "what does Bob drink?", recipe="strict") == []
        assert len(found(memory, "quantum chromodynamics", recipe="lenient")) == 1
    with Memory(":memory:", embedder=local, settings=load(min_relevance="0")) as memory:
        memory.remember("Bob likes green tea")
        assert len(found(memory, "quantum chromodynamics")) == 1
    with Memory(":memory:", embedder=local, settings=load(min_relevance=0.99)) as memory:
        memory.remember("Bob likes green tea")
        assert found(memory, "what does Bob drink?") == []
        assert len(found(memory, "what does Bob drink?", recipe="facts")) == 1


def test_without_a_question_everything_fits():
    with holding(None, NOTES) as memory:
        answer = memory.recall(None, recipe="learnings")
        assert {hit.relevance for hit in answer} == {1.0}
        assert len(answer.relevant) == len(answer) == 10


@NEEDS_MODEL
def test_only_what_fits_is_counted_when_a_filter_leaves_nothing(local: LocalEmbedder):
    with holding(local, NOTES) as memory:
        assert memory.recall("what does Bob drink?", tags=["none"]).notes == (
            "Nothing passes all of the filters; without tags none there is 1.",
        )
