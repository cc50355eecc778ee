"""A sentence to forget never does the opposite: one that says what is to stay is refused, and what stays is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure import Memory, SemanticMemoryStore, errors

REFUSED = {
    "English": (
        "everything but Bob", "forget all but Bob", "EVERYTHING BUT BOB", "all except Bob", "excepting Bob",
        "everything with the exception of Bob", "forget Alice but not Bob", "not Bob",
        "everything that is not about Bob",
        "everything without Bob", "everything with no Bob in it", "anything other than Bob", "all notes apart from Bob",
        "everything aside from Bob", "all save for Bob", "everything save Bob", "excluding Bob", "exclude Bob",
        "everything unless it is about Bob", "never forget Bob", "don't forget that Bob likes tea",
        "don\u2019t forget Bob", "DON\u2018T FORGET BOB", "don\u02bct forget Bob", "dont forget Bob",
        "don t forget Bob",
        "do not erase Bob", "do not delete Bob", "please do not remove Bob", "remember to call Bob",
        "remember that Bob likes tea", "Remember Bob!", "can you remember Bob", "leave Bob alone",
        "leave Bob out of it",
        "anything that isn't Bob", "anything that isn\u2019t about Bob", "whatever doesn't mention Bob", "keep Bob",
        "forget Alice, keep Bob", "forget Alice and keep Bob", "forget everything, keeping Bob", "retain Bob",
        "preserve Bob", "everything unrelated to Bob", "everything else than Bob", "the rest, Bob stays",
        "all others but keep Bob", "forget nothing about Bob", "none of Bob", "lest we forget Bob",
        "did I forget Bob?", "I always forget Bob", "stop forgetting Bob", "avoid deleting Bob", "Alice instead of Bob",
        "Alice rather than Bob", "everything besides Bob", "all minus Bob", "skip Bob", "forget Alice; spare Bob",
        "forget that I am not vegetarian", "everything _not_ Bob", 'don"t forget Bob', "everything w/o Bob",
        "Bob should be remembered", "Bob, I need him", "everything that lacks Bob", "everything outside Bob",
        "note that Bob likes tea", "please know that Bob likes tea", "bear Bob in mind", "hold onto Bob", "Bob stays",
        "only Alice, Bob can stay", "everything exept Bob",
    ),
    "signs": (
        "everything -Bob", "everything - Bob", "all \u2014 Bob", "everything !Bob", "!Bob", "all != Bob",
        "all \u2260 Bob", "everything <> Bob", "\u00acBob", "!2", "forget !2", "!oldest", "everything -yesterday",
    ),
    "German": (
        "alles außer Bob", "ALLES AUSSER BOB", "alles bis auf Bob", "alles mit Ausnahme von Bob", "vergiss Bob nicht",
        "vergiss nie, dass Bob Tee mag", "alles ohne Bob", "keine Notiz über Bob", "behalte Bob", "lass Bob in Ruhe",
        "alles ausgenommen Bob", "abgesehen von Bob", "merk dir Bob",
    ),
    "French": (
        "tout sauf Bob", "tout à part Bob", "tout a part Bob", "tout excepté Bob", "à l'exception de Bob",
        "à l\u2019exception de Bob", "n'oublie pas Bob", "n\u2019oublie jamais Bob", "tout sans Bob", "garde Bob",
        "laisse Bob tranquille", "hormis Bob",
    ),
    "Spanish": (
        "todo menos Bob", "todo excepto Bob", "todo salvo Bob", "no olvides a Bob", "nunca olvides a Bob",
        "todo sin Bob", "conserva a Bob", "recuerda a Bob", "aparte de Bob", "a excepción de Bob",
    ),
    "Italian": (
        "tutto tranne Bob", "tutto eccetto Bob", "tutto salvo Bob", "non dimenticare Bob", "mai dimenticare Bob",
        "tutto senza Bob", "tieni Bob", "a parte Bob", "ricorda Bob",
    ),
    "Portuguese": (
        "tudo exceto o Bob", "tudo menos o Bob", "não esqueças o Bob", "nao esquecas o Bob", "nunca esqueças o Bob",
        "tudo sem o Bob", "mantém o Bob", "à exceção do Bob", "lembra o Bob",
    ),
    "Dutch": (
        "alles behalve Bob", "alles op Bob na", "vergeet Bob niet", "vergeet Bob nooit", "alles zonder Bob",
        "bewaar Bob", "laat Bob met rust", "alles met uitzondering van Bob",
    ),
    "Chinese": (
        "除了 Bob 以外的一切", "除 Bob 之外全部", "不要忘记 Bob", "别忘了 Bob", "別忘記 Bob", "没有 Bob 的",
        "保留 Bob", "记住 Bob",
    ),
    "Japanese": (
        "Bob 以外すべて", "Bob を除いて全部", "Bob を忘れないで", "Bob を忘れるな", "Bob を消さないでください",
        "Bob は残して", "Bob を覚えて",
    ),
    "others": (
        "Bob 말고 전부", "Bob을 잊지 마", "всё кроме Bob", "не забудь Bob", "glem ikke Bob", "nie zapomnij Bob",
        "allt utom Bob", "alt undtagen Bob", "kaikki paitsi Bob", "wszystko oprócz Bob", "všechno kromě Bob",
        "все, крім Bob", "sve osim Bob", "minden kivéve Bob", "Bob hariç her şey", "semua kecuali Bob",
        "όλα εκτός από Bob", "הכל חוץ מ Bob", "كل شيء ما عدا Bob", "tất cả trừ Bob", "ทุกอย่างยกเว้น Bob",
    ),
}  # fmt: skip
SENTENCES = [sentence for sentences in REFUSED.values() for sentence in sentences]

# They order nothing, and search would drop every word but the one that they are about.
NO_ORDERS = (
    "what do you know about Bob?", "what do you remember about Bob", "what did I tell you about Bob", "who is Bob?",
    "which notes do you have about Bob", "should I delete Bob?", "did you delete Bob?", "can I delete Bob?", "Bob?",
    "why did you delete Bob", "why forget Bob", "how to forget Bob", "who told you about Bob",
    "is there a note on Bob?",
    "are there any notes about Bob", "if you forget Bob", "tell me about Bob", "can you tell me about Bob",
    "I need the notes about Bob", "I want everything about Bob", "we'd like to know about Bob", "I remember Bob",
    "I did delete Bob", "forget to forget Bob", "forget that I told you to forget Bob", "forget it, Bob", "oldest?",
)  # fmt: skip

UNDERSTOOD = (
    "forget everything about Bob", "Could you please delete all my notes regarding Bob?", "what you remember about Bob",
    "everything we remember about Bob", "I want you to get rid of the Bob stuff", "you can forget everything about Bob",
    "vergiss alles über Bob", "oublie tout sur Bob", "olvida todo sobre Bob", "dimentica tutto su Bob",
    "esquece tudo sobre Bob", "vergeet alles over Bob", "Bob について全部忘れて", "忘记关于 Bob 的一切",
    "the failed deployment of Bob", "invoice no. 17 of Bob", "Bob at No 10", "the ValueError exception of Bob",
    "the spare key of Bob", "someone else's Bob", "Bob, opposite the station", "Bob in case of fire",
    "Bob's parental leave",
    "Bob's keep-alive and non-smoking sans-serif button", "Bob in Notre Dame", "Don Tillman and Bob", "Bob in Mai 2026",
    "cette personne en France et Bob", "would you please remove Bob?", "I'd like you to forget Bob",
    "what I said of Bob",
    "we want to remove Bob", "that Bob likes tea", "forget who Bob is", "forget how Bob makes tea", "how Bob makes tea",
    "what is stored about Bob", "the hotel where Bob stays", "Bob's hotel stay", "the record that Bob broke",
    "Bob's missing keys", "the songs Bob and I like", "the -v and the --force flag of Bob", "Bob - the plumber",
    "what Bob told me to buy", "Bob's saved games", "everything that has to do with Bob", "forget Bob!",
)  # fmt: skip


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none") as opened:
        tell(opened)
        yield opened


def tell(memory: Memory) -> None:
    memory.remember("Bob likes tea")
    memory.remember("Alice likes coffee")
    memory.remember("Never call Bob, not before nine")


def alive(memory: Memory) -> list[int]:
    return sorted(record.number for record in memory.list())


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_that_says_what_is_to_stay_is_refused_and_says_what_to_do(memory: Memory, sentence: str):
    for verb in (memory.forget, memory.erase):
        for confirm, dry_run in ((True, False), (False, True), (False, False)):
            with pytest.raises(errors.InvalidInput) as refused:
                verb(sentence, confirm=confirm, dry_run=dry_run)
            assert "says" in refused.value.sentence
            assert "number or key" in refused.value.remedy
            assert "double quotes" in refused.value.remedy
            assert "Nothing was changed" in refused.value.remedy
    assert alive(memory) == [1, 2, 3]


@pytest.mark.parametrize("sentence", NO_ORDERS)
def test_a_sentence_that_asks_wishes_or_tells_is_no_order(memory: Memory, sentence: str):
    for verb in (memory.forget, memory.erase):
        with pytest.raises(errors.InvalidInput) as refused:
            verb(sentence, confirm=True)
        assert "does not say what should go" in refused.value.sentence
        assert "Nothing was changed" in refused.value.remedy
    assert alive(memory) == [1, 2, 3]


@pytest.mark.parametrize("sentence", UNDERSTOOD)
def test_a_sentence_that_only_says_what_goes_is_understood(memory: Memory, sentence: str):
    assert "'bob'" in memory.forget(sentence, dry_run=True).understood


def test_what_stands_in_double_quotes_is_a_text_and_no_exception(memory: Memory):
    for sentence in ('"not before nine"', 'forget "Not  before nine"', "«not before nine»", "„not before nine“"):
        preview = memory.forget(sentence, dry_run=True)
        assert [record.number for record in preview.records] == [3]
        assert preview.understood.lower().startswith('every memory that holds "not')
    assert memory.forget('everything about "Bob"', dry_run=True).understood == 'every memory that holds "Bob"'
    assert [each.number for each in memory.forget('"never" and "not"', dry_run=True).records] == [3]
    assert not memory.forget('"nine before"', dry_run=True).records
    with pytest.raises(errors.InvalidInput, match="'but'"):
        memory.forget('everything but "Bob"', confirm=True)
    with pytest.raises(errors.NeedsConfirmation):
        memory.forget('"not before nine"')
    assert memory.erase('"not before nine"', confirm=True).done
    assert alive(memory) == [1, 2]


@pytest.mark.parametrize("quoted", ['"oldest"', '"least important"', '"2"', '"#2"', '"before:2030-01-01"'])
def test_an_instruction_in_double_quotes_is_a_text_as_well(memory: Memory, quoted: str):
    answer = memory.forget(quoted, confirm=True)
    assert (answer.records, answer.done) == ((), False)
    assert alive(memory) == [1, 2, 3]


def test_a_memory_that_holds_such_a_word_is_forgotten_by_its_name(memory: Memory):
    memory.remember("not a word", key="note:not-except-but")
    assert memory.forget("note:not-except-but").done
    assert memory.forget("forget #3").done
    assert memory.erase(memory.get(1).content_hash, confirm=True).done
    assert alive(memory) == [2]


def test_what_is_to_stay_is_named_and_stays(memory: Memory):
    preview = memory.forget("everything about Bob", keep=3, dry_run=True)
    assert [record.number for record in preview.records] == [1]
    assert preview.understood == "every memory that holds 'bob', but memory #3"
    assert memory.forget("everything about Bob", keep=["#3"], confirm=preview.token).done
    assert not memory.erase("likes", keep=[1, 2], confirm=True).records
    assert [record.number for record in memory.erase([2, 3], keep=[3], confirm=True).records] == [2]
    memory.remember("Bob likes soup")
    assert [record.number for record in memory.forget("oldest", keep=3).records] == [4]
    assert alive(memory) == [3]


@pytest.mark.parametrize(
    ("keep", "error"),
    [(99, errors.NotFound), ("everything else", errors.InvalidReference), (b"\x01", errors.InvalidReference)],
)
def test_what_is_to_stay_must_be_there(memory: Memory, keep: Any, error: type[Exception]):
    for verb in (memory.forget, memory.erase):
        with pytest.raises(error):
            verb("everything about Bob", keep=keep, confirm=True)
    assert alive(memory) == [1, 2, 3]


def test_what_was_made_of_the_erased_cannot_be_kept_without_saying_so(memory: Memory):
    source = memory.get(1)
    memory.remember("Somebody likes tea", evidence=[source.id])
    with pytest.raises(errors.Conflict, match="#4") as refused:
        memory.erase(1, keep=4, confirm=True)
    assert not isinstance(refused.value, errors.NeedsConfirmation)
    assert "related='none'" in refused.value.remedy
    assert memory.erase(1, keep=4, related="none", confirm=True).done
    assert alive(memory) == [2, 3, 4]


# -- what stays although a sentence names it in part -----------------------------------------------------------------


def test_a_preview_says_which_memories_hold_some_of_the_words_and_stay(memory: Memory):
    for verb in (memory.forget, memory.erase):
        preview = verb("everything about the tea that Bob likes", dry_run=True)
        assert [record.number for record in preview.records] == [1]
        assert {each.record.number: each.reason for each in preview.near_misses} == {
            2: "does not hold 'tea' and 'bob'",
            3: "does not hold 'tea' and 'likes'",
        }
        with pytest.raises(errors.NeedsConfirmation) as asked:
            verb("everything about the tea that Bob likes")
        assert asked.value.preview.near_misses == preview.near_misses


def test_a_memory_of_another_time_and_one_with_the_words_in_another_order_stay_too(memory: Memory):
    memory.remember("nine times before, not now")
    quoted = memory.erase('"not before nine"', dry_run=True)
    assert [each.reason for each in quoted.near_misses] == ["does not hold the quoted words in that order"]
    timed = memory.forget("everything about Bob since 2020-01-01", dry_run=True)
    assert timed.near_misses == ()
    older = memory.forget("what I told you before 2020-01-01 about Bob", dry_run=True)
    assert (older.records, older.near_misses) == ((), ())


def test_the_nearest_few_are_named_and_the_others_counted(memory: Memory):
    memory.import_([{"text": f"Bob number {number}"} for number in range(20)])
    memory.remember("Bob likes herbs")
    preview = memory.forget("the tea that Bob likes", dry_run=True)
    assert preview.near_misses[0].record.number == 24
    assert len(preview.near_misses) == 5
    assert any("18 more hold some of these words" in note for note in preview.notes)


def test_what_a_filter_leaves_out_and_what_is_kept_is_no_near_miss(memory: Memory):
    memory.remember("Bob likes green tea", tags=["green"])
    assert memory.forget("tea Bob likes", tags=["green"], dry_run=True).near_misses == ()
    kept = memory.forget("tea Bob likes", keep=[2, 3], dry_run=True)
    assert kept.near_misses == ()


def test_the_store_of_the_specification_refuses_it(tmp_path: Path):
    with SemanticMemoryStore(tmp_path / "m.db", embedder="none") as store:
        store.upsert("person:bob", "Bob likes tea")
        for mode in ("soft", "hard"):
            with pytest.raises(errors.InvalidInput):
                store.forget("everything but Bob", mode, confirm=True)
        assert store.forget("key:person:bob", "hard").confirmed
