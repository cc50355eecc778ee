"""Whether two texts say the same: what the words have against it, whatever their cosine is."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.learn.sameness import Verdict, duplicate_verdict, merge_verdict

# As near as two texts come that are not equal.
NEAR = 0.999


def verdict(first: str, second: str, cosine: float | None = NEAR) -> Verdict:
    return merge_verdict(first, second, cosine).verdict


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user prefers dark mode", "User prefers dark mode"),
        ("Alice lives in Osaka", "Alice is living in Osaka"),
        ("Alice has 2 cats", "Alice has two cats"),
        ("The price is 1,000 dollars", "The price is 1000 dollars"),
        ("The deadline is 2026-03-14", "The deadline is 14 March 2026"),
        ("The meeting is at 3 pm", "The meeting is at 15:00"),
        ("He cannot swim", "He can't swim"),
        ("Alice isn't a vegetarian", "Alice is not a vegetarian"),
        ("The U.S. president spoke", "The US president spoke"),
        ("The Iranian minister spoke in the morning", "Iran's minister spoke in the morning"),
        ("He works for International Business Machines in the city", "He works for IBM in the city"),
        ("Bob called Alice yesterday", "Yesterday Bob called Alice"),
        ("Run the tests before you commit", "Before you commit, run the tests"),
        ("Alice and Bob are married", "Bob and Alice are married"),
        ("A woman slices tofu", "Tofu is sliced by a woman"),
        ("The kids are playing outside", "The children are playing outside"),
        ("Bob's dog is big", "Bob's dog is large"),
        ("The limit is 5 MB", "The limit is 5MB"),
        ("The release is planned for March 2026", "The release is planned for 2026-03"),
        ("The build fails on Windows", "On Windows the build fails"),
        ("The form has to be signed", "The form must be signed"),
        ("It takes at most an hour", "It takes no more than an hour"),
        ("Bob is going to work by bus since March", "Since March Bob is going to work by bus"),
        ("The office declined to give details", "The office gave no details"),
        ("She teaches at the University of California", "She teaches at the UC"),
        ("Ann stopped for a coffee in the city", "Ann paused for a coffee in the city"),
        ("Bob plans to meet Ann in Rome", "Bob will meet Ann in Rome"),
        ("I gave my brother the drill", "The drill was given to my brother by me"),
        ("The ports 80 and 443 are open", "The ports 443 and 80 are open"),
        ("We open from 9 to 17 on Mondays", "On Mondays we open from 9 to 17"),
        ("The flight takes 2 hours and costs 90 euros", "The flight costs 90 euros and takes 2 hours"),
    ],
)
def test_other_words_for_the_same_are_the_same(first: str, second: str):
    assert merge_verdict(first, second, NEAR) == (Verdict.SAME, ())


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        # Denials
        ("Alice is vegetarian", "Alice is not vegetarian", "one of them denies it: not"),
        ("Alice can swim", "Alice can't swim", "one of them denies it: not"),
        ("Alice is a vegetarian", "Alice is no longer a vegetarian", "one of them denies it: no"),
        ("A man in a hat sings", "A man with no hat sings", "one of them denies it: no"),
        ("Store secrets in the vault", "Don't store secrets in the vault", "one of them denies it: not"),
        # Numbers
        ("Bob owes Alice 20 dollars", "Bob owes Alice 30 dollars", "the numbers differ: 20 / 30"),
        ("Alice has two cats", "Alice has three cats", "the numbers differ: 2 / 3"),
        ("The port is 8080", "The port is 8081", "the numbers differ: 8080 / 8081"),
        ("It is -5 degrees outside", "It is 5 degrees outside", "the numbers differ: -5 / 5"),
        ("The result is 1,000", "The result is 10,000", "the numbers differ: 1000 / 10000"),
        ("Set the timeout to 30s", "Set the timeout to 30ms", "the times differ: s / ms"),
        # Times
        ("The deadline is 2026-03-14", "The deadline is 2026-04-14", "the times differ: march / april"),
        ("Alice married Bob in 2019", "Alice married Bob in 2020", "the times differ: 2019 / 2020"),
        ("The meeting is at 10:30", "The meeting is at 3 pm", "the times differ: 10:30 / 15:00"),
        ("Run it before the deploy", "Run it after the deploy", "the times differ: before / after"),
        # Names
        ("The user lives in Osaka", "The user lives in Tokyo", "the names differ: osaka / tokyo"),
        ("I spoke with Anna Smith", "I spoke with Anna Jones", "the names differ: smith / jones"),
        ("Use python3.11 for this", "Use python3.12 for this", "the names differ: python3.11 / python3.12"),
        (
            "It is in config_dev.yaml",
            "It is in config_prod.yaml",
            "the names differ: config_dev.yaml / config_prod.yaml",
        ),
        ("Call it parseFile there", "Call it parseText there", "the names differ: parsefile / parsetext"),
        ("The limit is 5 MB", "The limit is 5 GB", "the names differ: mb / gb"),
        # Opposites
        (
            "The shop is open on Sundays",
            "The shop is closed on Sundays",
            "these words exclude each other: open / closed",
        ),
        ("The door is locked", "The door is unlocked", "these words exclude each other: locked / unlocked"),
        ("Alice trusts Bob", "Alice distrusts Bob", "these words exclude each other: trusts / distrusts"),
        ("Bob is richer than Carl", "Bob is poorer than Carl", "these words exclude each other: richer / poorer"),
        ("All tests pass", "Some tests pass", "these words exclude each other: all / some"),
        ("user: I like tea", "assistant: I like tea", "these words exclude each other: user / assistant"),
        ("It must be > 5", "It must be < 5", "these words exclude each other: > / <"),
    ],
)
def test_what_cannot_both_be_true_of_one_thing_conflicts(first: str, second: str, reason: str):
    found = merge_verdict(first, second, NEAR)
    assert found.verdict is Verdict.CONFLICTS
    assert reason in found.reasons


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Alice called Bob", "Bob called Alice"),
        ("The kangaroo is picking up the woman", "The woman is picking up the kangaroo"),
        ("Alice is taller than Bob", "Bob is taller than Alice"),
        ("Alice is Bob's mother", "Bob is Alice's mother"),
        ("The flight goes from Paris to Rome", "The flight goes from Rome to Paris"),
        ("Alice prefers tea to coffee", "Alice prefers coffee to tea"),
        ("The black dog and the white cat", "The white dog and the black cat"),
        ("My brother lent me the drill", "I lent my brother the drill"),
        ("We pay the tenants", "The tenants pay us"),
        ("The dog chased the cat", "The dog was chased by the cat"),
        ("The tofu was sliced by a woman", "A woman was sliced by the tofu"),
    ],
)
def test_who_does_it_to_whom_is_told_by_the_order_of_the_words(first: str, second: str):
    found = merge_verdict(first, second, NEAR)
    assert found.verdict is Verdict.CONFLICTS
    assert found.reasons[0].startswith("the same words stand in another order")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("Alice might move to Berlin", "Alice moves to Berlin", "only one of them says it with this word: might"),
        ("Alice will move to Berlin", "Alice moved to Berlin", "only one of them says it with this word: will"),
        ("Alice used to live in Osaka", "Alice lives in Osaka", "only one of them says it with this word: used"),
        ("Alice plans to learn Greek", "Alice learns Greek", "only one of them says it with this word: plans"),
        ("Alice smokes", "Alice quit smoking", "only one of them says it with this word: quit"),
        ("If it rains the match is off", "The match is off", "only one of them says it with this word: if"),
        ("Only Bob may deploy", "Bob may deploy", "only one of them says it with this word: only"),
        ("Alice was the head of Acme", "Alice is the head of Acme", "only one of them is about the past"),
        ("The server is down?", "The server is down", "only one of them is a question"),
        ("Bob likes tea", "Alice likes tea", "the subjects differ: bob / alice"),
        ("Alice has two cats", "Alice has cats", "the numbers differ: 2"),
        ("He gave it a 👍", "He gave it a 👎", "the signs differ"),
        ("Alice eats meat but not fish", "Alice eats fish but not meat", "they deny different things"),
        ("Room 3 has 4 beds", "Room 4 has 3 beds", "the numbers stand elsewhere: 3, 4 / 4, 3"),
        (
            "Rack 4 told switch 9 to restart",
            "Rack 9 told switch 4 to restart",
            "the numbers stand elsewhere: 4, 9 / 9, 4",
        ),
        ("Client 0 said fact 5", "Client 5 said fact 0", "the numbers stand elsewhere: 0, 5 / 5, 0"),
        ("Bus 12 leaves from bay 7", "Bus 7 leaves from bay 12", "the numbers stand elsewhere: 12, 7 / 7, 12"),
    ],
)
def test_what_may_be_two_things_is_left_to_somebody_else(first: str, second: str, reason: str):
    found = merge_verdict(first, second, NEAR)
    assert found.verdict in {Verdict.UNDECIDED, Verdict.CONFLICTS}
    assert any(told.startswith(reason) for told in found.reasons), found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A man is playing the guitar", "A man is playing the flute"),
        ("A black dog and a white cat", "A white dog and a black cat"),
        ("A dog is behind a tree", "A dog is in front of a tree"),
        ("The shop is not open on Sundays", "The shop is closed on Sundays"),
        ("Bob does not play the guitar", "Bob plays the flute"),
    ],
)
def test_what_may_be_true_beside_each_other_is_neither_the_same_nor_a_conflict(first: str, second: str):
    assert verdict(first, second) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna isst Fleisch", "Anna isst kein Fleisch"),
        ("Anna wohnt in Berlin", "Anna arbeitet in Berlin"),
        ("Das Treffen ist am Montag", "Das Treffen ist am Dienstag"),
        ("Marie mange de la viande", "Marie ne mange pas de viande"),
        ("La porte est ouverte", "La porte est fermée"),
        ("Juan come carne", "Juan no come carne"),
        ("Juan vive en Madrid", "Juan trabaja en Madrid"),
        ("Mario non abita a Roma", "Mario abita a Roma"),
        ("Jan woont in Delft", "Jan werkt in Delft"),
        ("Anna bor i Oslo", "Anna jobbar i Oslo"),
        ("Pidän kahvista", "En pidä kahvista"),
        ("Kahve seviyorum", "Kahve sevmiyorum"),
        ("Ninapenda kahawa", "Sipendi kahawa"),
        ("Анна любит чай", "Анна не любит чай"),
        ("Анна любит чай", "Анна любит кофе"),
        ("أحب القهوة", "لا أحب القهوة"),
        ("我喝咖啡", "我不喝咖啡"),
        ("我喜欢茶", "我喜欢咖啡"),
        ("太郎は肉を食べる", "太郎は肉を食べない"),
        ("나는 커피를 좋아한다", "나는 커피를 좋아하지 않는다"),
    ],
)
def test_in_another_language_nothing_that_differs_is_taken_for_the_same(first: str, second: str):
    assert verdict(first, second) in {Verdict.UNDECIDED, Verdict.CONFLICTS}


@pytest.mark.parametrize(
    "text", ["Anna wohnt in Berlin", "我喜欢茶", "Анна любит чай", "أحب القهوة", "Kahve seviyorum"]
)
def test_in_any_language_an_equal_text_is_the_same(text: str):
    assert verdict(text, f"  {text.upper()}.", None) is Verdict.SAME


def test_one_name_more_is_a_detail_for_a_merge_that_keeps_it_and_no_duplicate():
    texts = "The team meets on the second floor", "The team meets with Carol on the second floor"
    assert merge_verdict(*texts, NEAR).verdict is Verdict.SAME
    assert duplicate_verdict(*texts, NEAR) == (Verdict.UNDECIDED, ("the names differ: carol",))


def test_without_a_cosine_only_equal_texts_are_the_same_and_only_one_subject_conflicts():
    assert verdict("The user prefers dark mode", "User prefers dark mode", None) is Verdict.UNDECIDED
    assert verdict("Alice is vegetarian", "Alice is not vegetarian", None) is Verdict.CONFLICTS
    assert verdict("Alice is vegetarian", "It never rains in this town", None) is Verdict.UNDECIDED
    assert verdict("Alice is vegetarian", "Alice is not vegetarian", float("nan")) is Verdict.CONFLICTS


def test_a_conflict_is_seen_between_the_bands_too_where_nearly_all_words_are_the_same():
    assert verdict("The shop is open on Sundays", "The shop is closed on Sundays", 0.6) is Verdict.CONFLICTS
    assert verdict("The shop is open on Sundays", "We never closed a bank on a Sunday", 0.6) is Verdict.UNDECIDED


PIECES = st.sampled_from(
    "Alice Bob called was by the not never no 2 two 14 2026-03-14 10:30 open closed may if ? . ! US IBM in Osaka Tokyo "
    "é 不 喝 茶 👍 a_b don't can't - > I you used to will".split()
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=9).map(" ".join))
COSINES = st.one_of(st.none(), st.floats())


@given(first=TEXTS, second=TEXTS, cosine=COSINES)
@example(first="", second="?", cosine=None)
@example(first="9" * 5000, second="\ud800", cosine=1.0)
def test_the_verdict_does_not_depend_on_which_text_comes_first_and_no_text_is_an_error(
    first: str, second: str, cosine: float | None
):
    for decide in (merge_verdict, duplicate_verdict):
        one, other = decide(first, second, cosine), decide(second, first, cosine)
        assert one.verdict is other.verdict
        assert len(one.reasons) == len(other.reasons)


@given(text=TEXTS, cosine=COSINES)
def test_a_text_and_itself_are_always_the_same(text: str, cosine: float | None):
    assert merge_verdict(text, text, cosine) == duplicate_verdict(text, text, cosine) == (Verdict.SAME, ())


@given(words=st.lists(PIECES, min_size=1, max_size=9), cosine=st.floats(max_value=0.9))
def test_a_low_cosine_makes_nothing_the_same_that_is_not_equal(words: list[str], cosine: float):
    assert verdict(" ".join(words), " ".join([*words, "indeed"]), cosine) is not Verdict.SAME
