"""From any text to the words of the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.stopwords import STOPWORDS
from perdure.text.words import clean, query_words, searchable, spelled_out, terms


def indexed(text: str) -> set[str]:
    return set(terms(searchable(text)))


def asked(query: str) -> set[str]:
    return set(terms(" ".join(spelled_out(query_words(query)))))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("see parseFile()", "parse"),
        ("see parseFile()", "file"),
        ("see parseFile()", "parsefile"),
        ("see parseFile()", "parseFile"),
        ("HTTPServer starts", "http server"),
        ("HTTPServer2 starts", "httpserver2"),
        ("max_retry_count is 3", "retry"),
        ("kebab-case-name", "case"),
        ("path/to/module.py:42", "module 42"),
        ("version v1.2.3", "v1"),
        ("mail ana@example.com", "example"),
        ("she was running", "runs"),
        ("naïve café", "NAIVE CAFE"),
        ("cafe", "café"),
        ("cafe\u0301", "café"),
        ("Ångström Größe", "angstrom große"),
        ("ﬁle №5", "file no5"),
        ("\uff26\uff35\uff2c\uff2c width", "full"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("他住在東京都", "東京"),
        ("他住在東京都", "都"),
        ("猫が好き", "猫"),
        ("私は猫が好きです", "猫が"),
        ("서울에서 만나요", "서울"),
        ("ภาษาไทย", "ไทย"),
        ("שלום עולם", "עולם"),
        ("говорит по-русски", "русски"),
        ("it's Alice's \"dark mode\"", "alice 'dark mode'"),
        ("don't", "don't"),
        ("C++ and C#", "c"),
        ("2023-05-08", "2023"),
        ("👩‍💻 ships it", "ships"),
        ("👩‍💻 ships it", "👩‍💻"),
        ("ship it 🎉🎉", "🎉"),
        ("الْعَرَبِيَّةُ", "العربية"),
        ("العربية", "الْعَرَبِيَّةُ"),
        ("العـــربية", "العربية"),
        ("שָׁלוֹם", "שלום"),
        ("שלום", "שָׁלוֹם"),
        ("τον Σίσυφος", "σισυφος"),
        ("ΣΙΣΥΦΟΣ", "σίσυφος"),
        ("ἄνθρωπος", "ανθρωπος"),
        ("die Straße", "STRASSE"),
        ("Strasse", "Straße"),
        ("STRAẞE", "straße"),
    ],
)
def test_what_a_person_would_ask_for_is_found(text: str, query: str):
    assert asked(query)
    assert asked(query) <= indexed(text)


def test_a_pair_of_characters_is_not_found_where_they_stand_apart():
    assert not asked("東京") & indexed("東の京")


def test_unspaced_text_is_asked_for_by_pairs_and_single_characters_alone():
    assert query_words("東京都") == ["東京", "京都"]
    assert query_words("東") == ["東"]


@pytest.mark.parametrize("query", ["what is the of", "The", "who are you?", "it's"])
def test_a_question_of_stopwords_alone_keeps_them(query: str):
    assert query_words(query)


def test_stopwords_leave_a_question_that_has_other_words():
    assert query_words("What does she think about the new theme?") == ["think", "new", "theme"]


@pytest.mark.parametrize("word", ["may", "before", "after", "first", "like", "never"])
def test_words_that_can_tell_memories_apart_are_no_stopwords(word: str):
    assert word not in STOPWORDS


def test_stopwords_are_written_as_the_tokenizer_writes_them():
    assert [word for word in STOPWORDS if query_words(word) != [word]] == []


def test_each_word_is_asked_for_once():
    assert query_words("Tea tea TEA téa") == ["tea"]


def test_a_word_that_is_made_of_several_is_asked_for_once_as_it_is_written():
    assert query_words("javascript JavaScript JAVASCRIPT") == ["JavaScript"]
    assert query_words("JavaScript javaScript") == ["JavaScript"]


def test_a_word_of_other_letters_is_whole_in_the_index_and_in_no_parts():
    assert indexed("ÜberCamel 0AÀ") == {"ubercamel", "0aa"}


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=200))
def test_any_string_becomes_words_that_can_be_stored_and_asked_for_again(text: str):
    for word in query_words(text):
        assert word == clean(word)
        assert word.strip()
        assert terms(word)


@given(st.text(max_size=100))
def test_the_words_of_a_text_find_that_text(text: str):
    if "\x00" not in text:
        assert asked(text) <= indexed(text)


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=100))
def test_cleaning_twice_is_cleaning_once(text: str):
    assert clean(clean(text)) == clean(text)
    clean(text).encode("utf-8")
