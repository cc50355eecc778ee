"""A prompt of many sentences, a pasted text or code: what fits one of its sentences fits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure import Memory
from perdure.embed.local import LocalEmbedder, unavailable
from perdure.recall import recaller
from perdure.recall.relevance import ANSWERS, relevance

NOTES = (
    "My cat is called Ada", "Ticket PX-4711: the login page crashes on Safari", "Deploy by tools/deploy_prod.sh",
    "Error E1042 means the license server is down", "The backup runs nightly at 02:00 UTC", "Bob drinks green tea",
    "parseConfig raises KeyError when the section is missing", "Our wedding anniversary is 12 June",
    "The report lies in the upper drawer", "The API allows 100 requests a minute", "Alice moved to Berlin in March",
)  # fmt: skip
PASTED = (
    "The quarterly numbers show that revenue grew moderately while costs stayed flat.",
    "Customers in the northern region ordered fewer spare parts than a year before.",
    "Two suppliers raised their prices, and a third one left the market entirely.",
    "Management expects slower growth, unless exchange rates improve considerably.",
    "Hiring continues in research, but the sales department stays at its present size.",
)


@pytest.fixture(
    params=[
        pytest.param("local", marks=pytest.mark.skipif(unavailable() is not None, reason="no local model")),
        "from disk",
        "in memory",
    ]
)
def notes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if request.param == "from disk" else 0)
    embedder = LocalEmbedder() if request.param == "local" else "none"
    with Memory(":memory:", embedder=embedder) as memory:
        memory.import_([{"text": text} for text in NOTES])
        memory.work()
        yield memory


def found(memory: Memory, query: str, min_relevance: float | None = None) -> list[str]:
    return [hit.record.text for hit in memory.recall(query, min_relevance=min_relevance)]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("What is my cat called?", "My cat is called Ada"),
        ("Look at tools/deploy_prod.sh for that.", "Deploy by tools/deploy_prod.sh"),
        ("When does the backup run?", "The backup runs nightly at 02:00 UTC"),
    ],
)
@pytest.mark.parametrize("around", [1, 2, 5])
def test_what_one_sentence_of_a_text_asks_is_found(notes: Memory, said: str, wanted: str, around: int):
    text = " ".join([*PASTED[: around - 1], said, *PASTED[around - 1 : around]])
    assert found(notes, text)[:1] == found(notes, text, ANSWERS) == [wanted]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("We saw the same in PX-4711.", "Ticket PX-4711: the login page crashes on Safari"),
        ("It failed with E1042 again.", "Error E1042 means the license server is down"),
    ],
)
@pytest.mark.parametrize("around", [1, 2, 5])
def test_an_identifier_that_one_sentence_of_a_text_names_is_found(notes: Memory, said: str, wanted: str, around: int):
    text = " ".join([*PASTED[: around - 1], said, *PASTED[around - 1 : around]])
    assert found(notes, text)[:1] == [wanted]
    assert set(found(notes, text, ANSWERS)) <= {wanted}


def test_a_text_that_shares_a_word_with_a_memory_is_not_about_it(notes: Memory):
    """`minute`, `section` and `page` are each in one memory."""
    others = ("A page of it takes a minute to read.", "Section four was written by somebody else altogether.")
    text = " ".join([*PASTED, *others])
    sharing = {note for note in NOTES if {"minute", "section", "page"} & set(note.split())}
    assert len(sharing) == 3
    assert sharing.isdisjoint(found(notes, text))
    assert found(notes, text, ANSWERS) == []


def test_an_identifier_in_a_question_of_many_words_is_found(notes: Memory):
    question = "Does anyone still remember whether PX-4711 was reproduced last sprint or should we simply close it now"
    assert found(notes, question)[:1] == ["Ticket PX-4711: the login page crashes on Safari"]


def test_quotation_marks_in_a_pasted_text_are_no_exact_phrases(notes: Memory):
    trace = (
        'Traceback (most recent call last):\n  File "/app/main.py", line 12, in run\n    parseConfig(section)\n'
        "KeyError: the section is missing\n"
    )
    assert found(notes, trace)[:1] == ["parseConfig raises KeyError when the section is missing"]
    quoting = f'{" ".join(PASTED)} He called it "an excellent year". What is my cat called?'
    assert found(notes, quoting)[:1] == found(notes, quoting, ANSWERS) == ["My cat is called Ada"]


def test_quotation_marks_in_a_question_are_exact_phrases(notes: Memory):
    assert found(notes, '"green tea"') == ["Bob drinks green tea"]
    assert found(notes, 'who drinks "black tea" here?') == []
    assert found(notes, '"tea\ngreen"') == []


@pytest.mark.skipif(unavailable() is not None, reason="no local model")
def test_a_prompt_brings_to_mind_what_its_clause_asks_for_and_names_no_time_and_quotes_nothing_to_look_for():
    with Memory(":memory:", embedder=LocalEmbedder()) as memory:
        learned = "Round money half up to the cent and never with binary floats."
        memory.import_([{"text": learned, "category": "patterns"}, *({"text": text} for text in NOTES)])
        memory.work()
        said = 'Hi, a ticket of Monday says "totals look odd", so please round the money amounts in the invoice'
        assert [record.text for record in memory.suggest(said)] == [learned]


@pytest.mark.skipif(unavailable() is not None, reason="no local model")
def test_a_learning_of_which_one_sentence_is_near_to_a_prompt_stands_out():
    learned = {
        "Believing the first reading": "A new probe answers 85 until it has measured once. We raised an alarm in three "
        "greenhouses. Skip what comes in the first second, and log it.",
        "Settings are written once an hour": "The flash wore out.",
    }
    with Memory(":memory:", embedder=LocalEmbedder()) as memory:
        memory.import_([{"title": title, "text": learned[title], "category": "patterns"} for title in learned])
        memory.work()
        said = "Hello, the display reads 85 just after we turn the thing on. Any idea?"
        found = memory.suggest(said)
        first, *others = zip(found.records, found.why, strict=True)
        assert first[0].title == "Believing the first reading"
        assert first[1].relevance is not None
        assert first[1].relevance > ANSWERS
        for _, why in (first, *others):
            assert relevance(sum(signal.contribution for signal in why.explain.values())) == pytest.approx(
                why.relevance, abs=1e-3
            )
        parts = [why.explain["part"].contribution for _, why in (first, *others)]
        assert parts[0] > 0 > max(parts[1:], default=-1.0)
