"""Forgetting and erasing by a description: what is meant goes after a yes, look-alikes stay, doubt changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from perdure import Memory, errors


def told(memory: Memory, *texts: str) -> Memory:
    for text in texts:
        memory.remember(text)
    return memory


def meant(memory: Memory, sentence: str, **options: Any) -> list[int]:
    return [record.number for record in memory.forget(sentence, dry_run=True, **options).records]


def alive(memory: Memory) -> list[int]:
    return sorted(record.number for record in memory.list())


@pytest.mark.parametrize(
    ("sentence", "texts"),
    [
        ("forget the flight to oslo", ("The flight to Oslo leaves at 6:40", "The flight from Oslo lands at 22:15")),
        ("Forget that Joan is coming on Sunday.", ("Joan is coming on Sunday for lunch", "Joanna is coming on Sunday")),
        (
            "Forget my appointment with Dr Farkas on Monday.",
            ("Monday 10:30: appointment with Dr Farkas", "Thursday 10:30: appointment with Dr Farkas"),
        ),
        ("Forget that my father takes aspirin.", ("My father takes aspirin", "My father-in-law takes aspirin")),
        ("Forget that Annika has no car.", ("Annika has no car", "Annika has a car")),
        ("Forget that I never drink coffee after four.", ("I never drink coffee after four", "I drink coffee at four")),
        ("Forget the code for the shed.", ("The padlock of the shed opens with 4471", "The shed needs a new roof")),
        ("Nothing about the Lindgren school may stay here.", ("Anna goes to the Lindgren school", "The school is old")),
        ("What I said about the ladder, please forget it.", ("I lent Gregor my ladder", "Gregor is a goalkeeper")),
        ("I don't want you to keep what I told you about the merger.", ("The merger is in May", "The mill is old")),
        ("忘掉去厦门的航班。", ("去厦门的航班早上七点起飞", "从厦门回来的航班晚上九点降落")),
        ("忘记李敏的地址。", ("李敏住在南京路18号", "李敏会弹古筝", "李明住在南京路81号")),
        ("忘掉我不吃香菜这件事。", ("我不吃香菜", "我爸爱吃香菜")),
        ("火曜日の歯医者の予約を忘れてください。",
         ("火曜日の十時に歯医者の予約があります", "水曜日の十時に耳鼻科の予約があります")),
        ("Vergiss den Termin beim Orthopäden.",
         ("Mittwoch Termin beim Orthopäden", "Der Orthopäde hat einen Parkplatz")),
    ],
)  # fmt: skip
def test_what_is_described_goes_and_its_look_alikes_stay(memory: Memory, sentence: str, texts: tuple[str, ...]):
    told(memory, *texts)
    with pytest.raises(errors.NeedsConfirmation) as needed:
        memory.forget(sentence)
    assert alive(memory) == list(range(1, len(texts) + 1))
    memory.forget(sentence, confirm=needed.value.preview.token)
    assert alive(memory) == list(range(2, len(texts) + 1))


def test_by_its_meaning_a_memory_is_found_that_does_not_hold_the_word():
    with Memory(":memory:", embedder="local") as memory:
        told(
            memory, "The neighbour above us plays drums until midnight", "The neighbour below us waters our plants",
            "My father takes metformin twice a day", "My father takes the tram to town twice a day",
        )  # fmt: skip
        assert meant(memory, "Forget the thing about my neighbour's noise.") == [1]
        answer = memory.forget("Forget which medicine my father takes.", dry_run=True)
        assert [record.number for record in answer.records] == [3]
        assert "in whatever words" in answer.understood


@pytest.mark.parametrize("sentence", ["Forget the number.", "Erase my friend.", "Forget what my son said."])
def test_one_thing_that_several_memories_fit_changes_nothing_and_names_them(memory: Memory, sentence: str):
    noun = sentence.rstrip(".").replace(" said", "").split()[-1]
    told(memory, f"My {noun} Arvid is seven", f"My {noun} Elis is nine")
    for verb in (memory.forget, memory.erase):
        answer = verb(sentence, confirm=True)
        assert (answer.records, answer.done) == ((), False)
        assert [record.number for record in answer.suggested] == [1, 2]
        assert "fit it equally well" in answer.notes[0]
    assert alive(memory) == [1, 2]


def test_everything_about_somebody_is_all_that_names_them_and_no_other_of_that_name(memory: Memory):
    told(
        memory, "Theodora Blix applied for the job", "Ms Blix wants 52,000 a year", "Interview with Blix, Theodora",
        "Theodora is also the name of an empress", "Theodor Blixen applied as well", "Blix Road is closed",
    )  # fmt: skip
    answer = memory.erase("Wipe everything about the applicant Theodora Blix.", dry_run=True)
    assert [record.number for record in answer.records] == [1, 2, 3]
    assert {4, 6} <= {each.record.number for each in answer.near_misses}


def test_who_is_described_goes_with_all_that_calls_them_by_name(memory: Memory):
    told(memory, "My former flatmate Quentin kept a snake", "Quentin owes me rent", "My flatmate Ulla keeps insects")
    assert meant(memory, "Erase my former flatmate, you know, the one with the snake.") == [1, 2]


@pytest.mark.parametrize(
    ("sentence", "held", "others"),
    [
        (
            "Erase every trace of the number 0664 555 0191.",
            ("Call 0664 555 0191", "+43 664 5550191 called"),
            ("Call 0664 555 0190", "Call 0664 555 01911"),
        ),
        ("Erase the customer KD-20418.", ("KD-20418 ordered", "kd 20418 called"), ("KD-2041 paid", "KD-20481 paid")),
        (
            "Erase r.villa@example.org everywhere.",
            ("R.Villa@Example.org wrote", "Ask r.villa@example.org"),
            ("a.villa@example.org", "r.villa.sales@example.org", "r.villanueva@example.org"),
        ),
        ("Erase the ticket INFRA-77.", ("INFRA-77: long requests",), ("INFRA-770: rename", "INFRA-7: buy a printer")),
        ("把手机号 13800138072 的所有记录彻底删除。", ("电话是 13800138072", "138-0013-8072 打来"), ("13800138027",)),
        ("会員番号 M-3306 の情報を完全に削除して。", ("会員番号M-3306は", "会員 m3306 は"), ("会員番号M-3360は",)),
    ],
)  # fmt: skip
def test_a_number_is_the_same_in_any_writing_and_never_a_part_of_another(
    memory: Memory, sentence: str, held: tuple[str, ...], others: tuple[str, ...]
):
    told(memory, *held, *others)
    with pytest.raises(errors.NeedsConfirmation) as needed:
        memory.erase(sentence)
    memory.erase(sentence, confirm=needed.value.preview.token)
    assert alive(memory) == list(range(len(held) + 1, len(held) + len(others) + 1))


@pytest.mark.parametrize("sentence", ["Will you forget Bob?", "will you forget Bob"])
def test_who_asks_what_will_be_orders_nothing(memory: Memory, sentence: str):
    told(memory, "Bob likes tea")
    with pytest.raises(errors.InvalidInput, match="does not say what should go"):
        memory.forget(sentence, confirm=True)
    assert meant(memory, "will you please forget Bob?") == meant(memory, "could you forget Bob?") == [1]


def test_what_a_filter_leaves_out_and_what_is_kept_is_not_meant_either(memory: Memory):
    told(memory, "The flight to Oslo leaves at six")
    memory.remember("The flight to Oslo costs 90", tags=["costs"])
    assert meant(memory, "the flight to Oslo") == [1, 2]
    assert meant(memory, "the flight to Oslo", tags=["costs"]) == [2]
    assert meant(memory, "the flight to Oslo", keep=2) == [1]
