"""Correcting in a sentence: the memory that it is about is shown as it would be, and changed after a yes."""

from __future__ import annotations

import pytest

from perdure import Memory, errors


def told(memory: Memory, *texts: str) -> Memory:
    for text in texts:
        memory.remember(text)
    return memory


def texts(memory: Memory) -> list[str]:
    return [record.text for record in sorted(memory.list(), key=lambda record: record.number)]


@pytest.mark.parametrize(
    ("sentence", "before", "after", "other"),
    [
        ("The choir sings at 8, not at 7.", "The choir sings on Thursday at 7", "The choir sings on Thursday at 8",
         "The band plays on Thursday at 7"),
        ("Juniper is a mare, sorry, not a gelding.", "Juniper is a gelding, eight years old",
         "Juniper is a mare, eight years old", "Jasper is a gelding, twelve years old"),
        ("It wasn't Lisbon, we met in Faro.", "My husband and I met in Lisbon in 2009",
         "My husband and I met in Faro in 2009", "My parents met in Lisbon in 1974"),
        ("We switched from gas to induction for cooking.", "We cook with gas", "We cook with induction",
         "The heating runs on gas"),
        ("My niece Katharine is spelled Katharyn.", "My niece Katharine studies in Ghent",
         "My niece Katharyn studies in Ghent", "My aunt Katharine was a nun"),
        ("It's 62 chairs, I counted again.", "The hall has 58 chairs", "The hall has 62 chairs",
         "The hall has 58 coat hooks"),
        ("The red pills are for the evening, I mixed that up.", "The red pills are for the morning",
         "The red pills are for the evening", "The white pills are for the morning"),
        ("聚餐改到七点了，不是六点。", "周六的聚餐是六点", "周六的聚餐是七点", "周六的电影是六点"),  # noqa: RUF001 - as it is written
        ("祖父の出身は長崎じゃなくて佐賀でした。", "祖父は長崎の出身です", "祖父は佐賀の出身です",
         "祖母は長崎の出身です"),
        ("Der Elternabend ist am 8., nicht am 6.", "Der Elternabend ist am 6. Oktober",
         "Der Elternabend ist am 8. Oktober", "Das Schulfest ist am 6. November"),
    ],
)  # fmt: skip
def test_a_sentence_corrects_the_memory_it_is_about_and_keeps_the_rest(
    memory: Memory, sentence: str, before: str, after: str, other: str
):
    told(memory, other, before)
    with pytest.raises(errors.NeedsConfirmation) as needed:
        memory.update(sentence)
    proposed = needed.value.preview
    assert (proposed.record.number, proposed.text) == (2, after)
    assert texts(memory) == [other, before]
    done = memory.update(sentence, confirm=proposed.token)
    assert (done.record.text, done.record.version) == (after, 2)
    assert texts(memory) == [other, after]
    memory.undo(done.batch)
    assert texts(memory) == [other, before]


def test_what_says_more_than_one_thing_loses_only_what_was_corrected(memory: Memory):
    told(memory, "I live in Altenburg and work in Gera")
    memory.update("I don't work in Gera any more, my new office is in Zwickau.", confirm=True)
    assert texts(memory) == ["I live in Altenburg, I don't work in Gera any more, my new office is in Zwickau"]


def test_a_sentence_that_fits_several_memories_or_none_changes_nothing(memory: Memory):
    told(memory, "The bicycle is grey", "My eyes are grey")
    with pytest.raises(errors.AmbiguousReference, match="#1 The bicycle is grey; #2 My eyes are grey") as several:
        memory.update("The colour is green, not grey.", confirm=True)
    assert "nothing was changed" in several.value.remedy
    with pytest.raises(errors.NotFound, match="No memory fits") as none:
        memory.update("The ferry leaves at nine, not at eight.", confirm=True)
    assert "nothing was changed" in none.value.remedy
    assert texts(memory) == ["The bicycle is grey", "My eyes are grey"]


def test_a_description_beside_a_text_names_the_memory(memory: Memory):
    told(memory, "The meeting with the roofer is on Tuesday", "The meeting with the plumber is on Tuesday")
    memory.update("the meeting with the roofer", text="The roofer is ill", confirm=True)
    assert texts(memory) == ["The roofer is ill", "The meeting with the plumber is on Tuesday"]


def test_a_token_confirms_exactly_what_was_shown(memory: Memory):
    told(memory, "The choir sings on Thursday at 7")
    with pytest.raises(errors.NeedsConfirmation) as needed:
        memory.update("The choir sings at 8, not at 7")
    memory.update(1, text="The choir sings on Friday at 7")
    with pytest.raises(errors.Conflict, match="confirms another correction"):
        memory.update("The choir sings at 8, not at 7", confirm=needed.value.preview.token)
    assert texts(memory) == ["The choir sings on Friday at 7"]


def test_what_was_said_in_a_conversation_stays_as_it_was_said(memory: Memory):
    memory.conversation("chat").add_message("user", "The choir sings on Thursday at 7")
    with pytest.raises(errors.NotFound):
        memory.update("The choir sings at 8, not at 7", confirm=True)
