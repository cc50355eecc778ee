"""What was stored in a language is found by words in that language, without a model."""

from __future__ import annotations

import pytest
from languages import LANGUAGES

from perdure import Memory
from perdure.recall import recaller


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("warm", [False, True], ids=["from disk", "in memory"])
def test_the_memory_that_answers_comes_first(language: str, warm: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0 if warm else 10**9)
    texts, questions = LANGUAGES[language]
    with Memory(":memory:", embedder="none") as memory:
        for others, _ in LANGUAGES.values():
            for text in others:
                memory.remember(text)
        missed = {
            question: [hit.record.text for hit in memory.recall(question, limit=2)]
            for question, place in questions
            if [hit.record.text for hit in memory.recall(question, limit=1)] != [texts[place]]
        }
        assert missed == {}


# Written with marks and without, or in another case.
SPELLINGS = {
    "Arabic": ("أَتَعَلَّمُ اللُّغَةَ الْعَرَبِيَّةَ", "العربية"),
    "Hebrew": ("שָׁלוֹם לְכֻלָּם", "שלום"),
    "Greek": ("Ξένος Σίσυφος σπρώχνει", "σισυφος"),
    "old Greek": ("ἄνθρωπος μέτρον", "ανθρωπος"),
    "German": ("Wir wohnen in der Langen Straße", "strasse"),
    "capital German": ("LANGE STRAẞE", "straße"),
    "French": ("Le garçon a mangé", "garcon"),
    "emoji": ("released 👩‍💻 today", "👩‍💻"),
    "plain emoji": ("released 🎉 today", "🎉"),
}


@pytest.mark.parametrize(("written", "asked"), SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("warm", [False, True], ids=["from disk", "in memory"])
def test_marks_that_people_leave_out_do_not_matter_on_either_side(
    written: str, asked: str, warm: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0 if warm else 10**9)
    with Memory(":memory:", embedder="none") as memory:
        memory.remember(written, trigger_phrases=["nothing"])
        memory.remember("something else")
        assert [hit.record.text for hit in memory.recall(asked)] == [written]
        assert [hit.record.text for hit in memory.recall(f'"{asked}"')] == [written]
        assert [hit.record.text for hit in memory.recall(concepts=[asked, "nothing"])] == [written]
        assert [record.text for record in memory.forget(f"about {asked}", dry_run=True).records] == [written]


@pytest.mark.parametrize(("written", "asked"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_trigger_fires_however_its_letters_are_marked(written: str, asked: str):
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("a note", trigger_phrases=[asked])
        assert memory.match_triggers(written)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_part_of_a_memory_is_found_as_a_phrase(language: str):
    texts, _ = LANGUAGES[language]
    with Memory(":memory:", embedder="none") as memory:
        for text in texts:
            memory.remember(text)
        for text in texts:
            part = text[:5] if language in ("Chinese", "Japanese") else " ".join(text.split()[:3])
            assert text in [hit.record.text for hit in memory.recall(f'"{part}"')]
