"""Rules for a language come from any installed package, and English is read as ever beside them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perdure import Memory
from perdure.learn.rules.languages import languages, parts_of
from perdure.settings import load

PAGE = Path(__file__).parents[2] / "docs" / "consolidation.md"
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package with the rules for a language where Python finds it, as an installer would."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    languages.cache_clear()

    def put(source: str) -> None:
        information = tmp_path / "perdure_german-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: perdure_german\nVersion: 1.0\n", "utf-8")
        points = "[perdure.languages]\nde = perdure_german:German\nen = perdure_german:German\n"
        (information / "entry_points.txt").write_text(points, "utf-8")
        (tmp_path / "perdure_german.py").write_text(source, "utf-8")
        monkeypatch.delitem(sys.modules, "perdure_german", raising=False)

    yield put
    languages.cache_clear()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    path = tmp_path / "m.db"
    values = load(store=path, embedder="none", learn="rules", episode_min_messages=1, episode_max_messages=1)
    with Memory(path, settings=values) as memory:
        yield memory


def learn(memory: Memory, *texts: str) -> set[str]:
    """What is known of Ada when she has said these things, each a while after the one before."""
    for day, text in enumerate(texts, start=1):
        memory.conversation("talk").add_message("user", text, speaker="Ada", at=f"2026-03-0{day}T10:00:00Z")
        memory.work()
    memory.consolidate()
    return {fact.record.text for fact in memory.facts(limit=100)}


def test_the_language_of_the_docs_is_learned_and_corrected_beside_english(install: Install, memory: Memory):
    install(re.findall(r"```python\n(import re.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0])
    known = learn(memory, "Ich wohne in Kiel und lese viel.", "I work as a nurse.", "Ich wohne jetzt in Bremen.")
    assert known == {"Ada wohnt in Bremen", "Ada works as a nurse"}


def test_without_it_nothing_is_learned_of_the_language_and_the_answer_says_so(memory: Memory):
    memory.conversation("talk").add_message("user", "Ich wohne in Kiel und lese dort sehr viel.", speaker="Ada")
    memory.work()
    assert "language" in " ".join(memory.consolidate().notes)
    assert not memory.facts(limit=100)


def test_a_language_that_cannot_be_loaded_is_named_with_its_package(install: Install, memory: Memory):
    install("import a_library_that_is_not_here")
    memory.conversation("talk").add_message("user", "I work as a nurse.", speaker="Ada")
    memory.work()
    [note] = memory.consolidate().notes
    assert note == (
        "The language 'de' of perdure_german cannot be loaded: ModuleNotFoundError: No module named "
        "'a_library_that_is_not_here'. Reinstall perdure_german, or remove it. The episodes wait."
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ich wohne in Ulm, der Hund heißt Rex", ["Ich wohne in Ulm", "der Hund heißt Rex"]),
        ("三月で出版社を辞めて、今は翻訳をしています。", ["三月で出版社を辞めて", "今は翻訳をしています。"]),
        ("Der Kurs kostet 1,50 Euro um 18:30 Uhr", ["Der Kurs kostet 1,50 Euro um 18:30 Uhr"]),
    ],
)  # fmt: skip
def test_a_long_sentence_in_another_language_is_compared_comma_by_comma(text: str, parts: list[str]):
    assert parts_of(text, lambda _: False) == parts
