"""Questions about a time, a session or an event: answered from that time, and the answer says which time it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clocks import HandClock

from perdure import Memory
from perdure.model import Recall
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder

# A Wednesday.
NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)
# When the sessions of the conversation began; the last one is long over.
SESSIONS = ["2025-05-08T13:56", "2025-06-09T10:00", "2025-11-20T20:15", "2026-03-12T18:30", "2026-03-17T08:00"]


# The testing embedder takes words of a date for words of the question; among many others they count for little.
RAMBLING = (
    "which are green and wet, or old and slow, though neither grows well without somebody who looks after them every "
    "single evening with patience, warm clothes, good tools, dry wood, fresh paint and a kettle full of strong coffee"
)


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[tuple[object, str], Memory]]:
    """Memories by what they were told and by the route; a test that only asks is given one of these."""
    opened: dict[tuple[object, str], Memory] = {}
    yield opened
    for memory in opened.values():
        memory.close()


@pytest.fixture(params=["hybrid", "from disk"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if request.param == "from disk" else 0)
    return request.param


def memory_by(route: str) -> Memory:
    return Memory(":memory:", embedder=WordEmbedder(1024) if route == "hybrid" else "none", clock=HandClock(NOW))


def a_diary(route: str) -> Memory:
    """Twelve turns in each session; turn 3 of session 2 is memory 15."""
    memory = memory_by(route)
    for which, begun in enumerate(SESSIONS, 1):
        start = datetime.fromisoformat(begun).replace(tzinfo=UTC)
        for turn in range(12):
            said = f"Well, number {turn} of {which} is what I had to say about gardens and boats, {RAMBLING}"
            memory.remember(
                said,
                conversation_id="c",
                session_id=f"s{which}",
                valid_at=start + timedelta(minutes=turn),
                metadata={"speaker": "Ann" if turn % 2 else "Bob"},
            )
    return memory


def shared(opened: dict[tuple[object, str], Memory], make: Callable[[str], Memory], route: str) -> Memory:
    if (make, route) not in opened:
        opened[make, route] = make(route)
    return opened[make, route]


@pytest.fixture
def diary(route: str, opened: dict[tuple[object, str], Memory]) -> Memory:
    return shared(opened, a_diary, route)


@pytest.fixture
def own_diary(route: str) -> Iterator[Memory]:
    with a_diary(route) as memory:
        yield memory


def sessions(answer: Recall) -> set[str | None]:
    return {hit.record.session_id for hit in answer}


def numbers(answer: Recall) -> list[int]:
    return [hit.record.number for hit in answer]


@pytest.mark.parametrize("asking", ["What did we talk about {}?", "{}: remind me what came up", "Recap {}, please."])
@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("on 8 May", {"s1"}),
        ("on June 9th", {"s2"}),
        ("118 days ago", {"s3"}),
        ("yesterday", {"s5"}),
        ("last Thursday", {"s4"}),
        ("in November", {"s3"}),
        ("over the last seven days", {"s4", "s5"}),
        ("between 8 May and 9 June", {"s1", "s2"}),
        ("in our first session", {"s1"}),
        ("in session 3", {"s3"}),
        ("in sessions 2 through 4", {"s2", "s3", "s4"}),
        ("two sessions ago", {"s4"}),
        ("last time we spoke", {"s5"}),
        ("the last time we talked", {"s5"}),
        ("in the previous conversation", {"s5"}),
        ("in the last two sessions", {"s4", "s5"}),
        ("since our fourth session", {"s4", "s5"}),
        ("before our third conversation", {"s1", "s2"}),
    ],
)
def test_a_question_about_a_time_alone_is_answered_from_that_time(
    diary: Memory, asking: str, when: str, expected: set[str]
):
    answer = diary.recall(asking.format(when))
    assert len(answer) == 10
    assert sessions(answer) == expected
    assert answer.mode == "time"


def test_the_answer_stands_in_the_order_of_time_and_is_spread_over_it(diary: Memory):
    answer = diary.recall("What did we discuss before 2026-03-15?", limit=8)
    dates = [hit.record.valid_at for hit in answer]
    assert dates == sorted(dates, key=lambda date: date or NOW)
    assert [sum(hit.record.session_id == f"s{which}" for hit in answer) for which in (1, 2, 3, 4)] == [2, 2, 2, 2]


def test_every_hit_of_a_time_alone_is_explained_by_the_time(diary: Memory):
    answer = diary.recall("What happened in our second session?")
    for hit in answer:
        assert set(hit.explain) == {"time"}
        time = hit.explain["time"]
        assert (time.raw, time.normalised, time.contribution) == (0, 1, hit.score)
        assert time.about == "in our second session: 2025-06-09 10:00 to 2025-06-09 10:11"
    assert answer.notes[-1] == "“in our second session” was read as 2025-06-09 10:00 to 2025-06-09 10:11."


@pytest.mark.parametrize("limit", [1, 3, 12, 40])
def test_an_answer_has_as_many_as_are_asked_for_and_of_that_time(diary: Memory, limit: int):
    answer = diary.recall("What did we talk about yesterday?", limit=limit)
    assert len(answer) == min(limit, 12)
    assert sessions(answer) == {"s5"}


def test_where_nothing_is_of_the_time_the_answer_says_so_and_shows_the_nearest_day(diary: Memory):
    answer = diary.recall("What did we talk about on 10 May?")
    assert sessions(answer) == {"s1"}
    assert answer.notes == ("No memory is of that time (on 10 May: 2025-05-10). The nearest are of 2025-05-08.",)
    assert all(hit.score < 1 for hit in answer)
    # As near as they are, they are not of that time.
    assert all(0.3 <= hit.relevance <= 0.5 for hit in answer)


def test_what_is_far_from_the_time_does_not_fit_and_comes_only_without_a_floor(diary: Memory):
    answer = diary.recall("What did we talk about on 10 May 2020?")
    assert not answer
    assert answer.notes == ("No memory is of that time (on 10 May 2020: 2020-05-10). The nearest are of 2025-05-08.",)
    assert answer.nearest is not None
    assert sessions(diary.recall("What did we talk about on 10 May 2020?", min_relevance=0)) == {"s1"}


def test_whatever_is_of_a_time_alone_fits_in_full_and_counts_as_used(diary: Memory):
    answer = diary.recall("What did we talk about yesterday?", min_relevance=1)
    assert [hit.relevance for hit in answer] == [1.0] * 10
    assert len(answer.relevant) == 10


def test_a_session_that_there_never_was_is_no_time(diary: Memory):
    answer = diary.recall("What did we say about boats in our ninth session?")
    assert any(note.startswith("There is no such session: in our ninth session. There are 5.") for note in answer.notes)
    assert all("time" not in hit.explain for hit in answer)


def test_whoever_spoke_a_moment_ago_is_still_speaking():
    clock = HandClock(NOW)
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        for which in (1, 2, 3):
            memory.remember(f"It is said in {which}", conversation_id="c", session_id=f"s{which}")
            clock.forward(days=2)
        clock.forward(days=-2, minutes=5)
        assert sessions(memory.recall("What did we discuss last time we spoke?")) == {"s2"}
        assert sessions(memory.recall("What did we discuss two sessions ago?")) == {"s1"}
        assert sessions(memory.recall("What did we discuss in this session?")) == {"s3"}
        clock.forward(hours=3)
        assert sessions(memory.recall("What did we discuss last time we spoke?")) == {"s3"}


@pytest.mark.parametrize(("asking_in", "last_time"), [("s3", "s2"), ("s4", "s3")])
def test_a_session_that_is_known_to_go_on_is_not_the_last_one(tmp_path: Path, asking_in: str, last_time: str):
    clock = HandClock(NOW)
    with Memory(tmp_path / "memory.db", embedder="none", clock=clock) as memory:
        for which in (1, 2, 3):
            memory.remember(f"It is said in {which}", conversation_id="c", session_id=f"s{which}")
            clock.forward(minutes=10)
    with Memory(tmp_path / "memory.db", embedder="none", clock=clock, session=asking_in) as memory:
        assert sessions(memory.recall("What did we discuss last time we spoke?")) == {last_time}


def test_sessions_are_those_of_the_conversation_that_is_asked():
    with Memory(":memory:", embedder="none", clock=HandClock(NOW)) as memory:
        for day, conversation in enumerate(("a", "b", "a", "b"), 1):
            memory.remember(
                f"On day {day}", conversation_id=conversation, session_id=f"{day}", valid_at=f"2026-01-0{day}T12:00Z"
            )
        question = "What did we talk about in our second session?"
        assert sessions(memory.recall(question)) == {"2"}
        assert sessions(memory.recall(question, conversation_id="a")) == {"3"}
        assert sessions(memory.recall(question, conversation_id="b")) == {"4"}


@pytest.mark.parametrize("conversation", [None, "c"])
def test_without_names_for_sessions_a_pause_begins_the_next(conversation: str | None):
    with Memory(":memory:", embedder="none", clock=HandClock(NOW)) as memory:
        for hour in (8, 9, 10, 20, 21):
            memory.remember(f"At {hour}", conversation_id=conversation, valid_at=f"2026-01-02T{hour:02}:00Z")
        assert numbers(memory.recall("What came up in our first session?")) == [1, 2, 3]
        assert numbers(memory.recall("What came up in the last session?")) == [4, 5]


def test_who_speaks_may_be_named_beside_the_time():
    with Memory(":memory:", embedder=WordEmbedder(), clock=HandClock(NOW)) as memory:
        for turn, speaker in enumerate(("Ann", "Bob", "Ann", "Bob")):
            memory.remember(
                f"Turn {turn}", conversation_id="c", valid_at="2026-03-17T12:00Z", metadata={"speaker": speaker}
            )
        assert numbers(memory.recall("What did Bob talk about yesterday?")) == [2, 4]
        assert numbers(memory.recall("What did we talk about yesterday?")) == [1, 2, 3, 4]


def test_of_memories_that_follow_each_other_the_more_telling_one_stands_for_all(own_diary: Memory):
    own_diary.remember("Hello!", valid_at="2024-02-03T10:00Z")
    own_diary.remember("We will open the shop in the harbour after all", valid_at="2024-02-03T10:01Z")
    own_diary.remember("Fine", valid_at="2024-02-03T10:02Z")
    (hit,) = own_diary.recall("What happened on 3 February 2024?", limit=1)
    assert hit.record.text.startswith("We will open")


def test_a_filter_holds_for_a_question_about_a_time(own_diary: Memory):
    own_diary.remember("Tagged", tags=["t"], valid_at="2025-05-08T14:00Z")
    assert numbers(own_diary.recall("What did we talk about on 8 May?", tags=["t"])) == [61]
    assert not own_diary.recall("What did we talk about on 8 May?", tags=["other"])


def test_a_required_word_stays_required_beside_a_time(own_diary: Memory):
    own_diary.remember("The harbour master called", valid_at="2025-06-09T10:30Z")
    assert numbers(own_diary.recall("What did we talk about on 9 June?", concepts=["harbour", "master"])) == [61]


def test_what_is_forgotten_is_of_no_time(own_diary: Memory):
    own_diary.forget(1)
    answer = own_diary.recall("What did we talk about on 8 May?", limit=20)
    assert numbers(answer) == list(range(2, 13))


def test_a_time_is_reckoned_from_the_moment_that_is_asked_about():
    clock = HandClock(NOW)
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        memory.remember("First", conversation_id="c", session_id="s1")
        clock.forward(days=3)
        memory.remember("Second", conversation_id="c", session_id="s2")
        clock.forward(days=3)
        question = "What did we talk about in our last session?"
        assert numbers(memory.recall(question)) == [2]
        assert numbers(memory.recall(question, known_at=NOW + timedelta(days=1))) == [1]
        assert numbers(memory.recall("What did we talk about yesterday?", as_of=NOW + timedelta(days=1))) == [1]


def test_times_are_gathered_from_all_namespaces_that_are_asked():
    with Memory(":memory:", embedder="none", clock=HandClock(NOW)) as memory:
        memory.namespace("a").remember("In a", valid_at="2026-03-17T09:00Z")
        memory.namespace("b").remember("In b", valid_at="2026-03-17T08:00Z")
        memory.namespace("c").remember("In c", valid_at="2026-03-17T07:00Z")
        answer = memory.recall("What happened yesterday?", namespaces=["a", "b"])
        assert [hit.record.text for hit in answer] == ["In b", "In a"]


def test_a_recipe_that_knows_no_time_answers_by_words(diary: Memory):
    answer = diary.recall("What did we say about boats in our first session?", recipe="facts")
    assert answer.mode != "time"
    assert all("time" not in hit.explain for hit in answer)


# -- times as people say them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What sorts of things did we discuss 118 days ago?", {"s3"}),
        ("which topics came up a hundred and eighteen days ago", {"s3"}),
        ("Remind me what happened on June ninth.", {"s2"}),
        ("what were we talking about on the twentieth of November", {"s3"}),
        ("Can you summarise what I told you from the second through fourth sessions?", {"s2", "s3", "s4"}),
        ("What did we get into in our fifth session?", {"s5"}),
        ("What did we cover in the second-to-last session?", {"s4"}),
        ("What were we up to at the start of May?", {"s1"}),
        ("what did I say early yesterday morning?", {"s5"}),
        ("What did we chat about around Thanksgiving?", {"s3"}),
    ],
)
def test_a_time_in_anyones_words_is_answered_from_that_time(diary: Memory, question: str, expected: set[str]):
    answer = diary.recall(question)
    assert sessions(answer) == expected
    assert answer.mode == "time"


# -- a time of which nothing else fits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "session"),
    [
        ("Which philharmonic overture did we rehearse on 8 May?", "s1"),
        ("Which philharmonic overture did we rehearse in our second session?", "s2"),
        ("philharmonic overtures 118 days ago", "s3"),
    ],
)
def test_where_nothing_of_a_time_fits_the_rest_the_time_is_the_answer_and_a_note_says_so(
    diary: Memory, question: str, session: str
):
    answer = diary.recall(question)
    assert sessions(answer) == {session}
    assert len(answer) == 10
    dates = [hit.record.valid_at for hit in answer]
    assert dates == sorted(dates, key=lambda date: date or NOW)
    assert {hit.relevance for hit in answer} == {0.5}
    assert answer.mode == "time"
    assert sum("is about the rest of the question" in note for note in answer.notes) == 1
    assert not any("Nothing here is about that" in note for note in answer.notes)


def test_what_fits_from_another_time_stays_and_what_is_of_the_time_is_added_by_relevance(own_diary: Memory):
    own_diary.remember("The philharmonic rehearsed the overture", valid_at="2023-02-03T10:00Z")
    answer = own_diary.recall("When did the philharmonic rehearse the overture, yesterday?")
    assert numbers(answer)[0] == 61
    assert {hit.record.session_id for hit in answer[1:]} == {"s5"}
    relevances = [hit.relevance for hit in answer]
    assert relevances == sorted(relevances, reverse=True)


def test_what_was_told_soon_after_a_time_answers_for_it(own_diary: Memory):
    own_diary.remember("The philharmonic rehearsed the overture", valid_at="2025-05-20T10:00Z")
    answer = own_diary.recall("Which overture did the philharmonic rehearse on 8 May?")
    assert numbers(answer) == [61]
    assert not any("rest of the question" in note for note in answer.notes)


def test_a_time_without_memories_answers_nothing_else(diary: Memory):
    answer = diary.recall("Which philharmonic overture did we rehearse on 3 April 2024?")
    assert not answer
    assert not any("rest of the question" in note for note in answer.notes)


def test_whoever_wants_only_what_fits_better_is_not_given_a_time(diary: Memory):
    assert not diary.recall("Which philharmonic overture did we rehearse on 8 May?", min_relevance=0.6)


def test_a_phrase_that_is_required_is_required_of_that_time_too(diary: Memory):
    assert not diary.recall('the "philharmonic overture" on 8 May')


def test_a_prompt_that_names_a_time_brings_nothing_to_mind_by_the_time_alone(own_diary: Memory):
    own_diary.remember("Gardens and boats", valid_at="2026-03-17T09:00Z")
    assert not own_diary.suggest("Rehearse the philharmonic overture of yesterday").records


# -- something and a time ------------------------------------------------------------------------------------------


def some_years(route: str) -> Memory:
    """Better matches of another year, more of them than are compared; memory 151 alone is of this year. Most are about
    something else.
    """
    memory = memory_by(route)
    for day in range(150):
        plan = f"{'abcdefghij'[day // 10 % 10]}{'klmnopqrst'[day % 10]}{'xyz'[day // 100]}"
        memory.remember(f"harbour shop, the shop in the harbour, {plan}", valid_at=f"2024-0{day % 9 + 1}-03")
    memory.remember("Somebody said that the harbour shop is to be painted before summer", valid_at="2026-03-11")
    others = ({"text": f"garden chair {number}", "valid_at": "2024-10-03"} for number in range(250))
    memory.import_(others)
    memory.work()
    return memory


@pytest.fixture
def years(route: str, opened: dict[tuple[object, str], Memory]) -> Memory:
    return shared(opened, some_years, route)


@pytest.mark.parametrize("when", ["last week", "in March 2026", "on 11 March", "since January 2026", "7 days ago"])
def test_a_time_wins_against_a_better_match_of_another_year(years: Memory, when: str):
    assert numbers(years.recall(f"the harbour shop {when}"))[0] == 151


def test_a_time_is_no_reason_for_what_does_not_match(route: str):
    with some_years(route) as years:
        years.remember("Green tea", valid_at="2026-03-12")
        if years.recall("the harbour shop last week").mode == "keyword":
            assert 152 not in numbers(years.recall("the harbour shop last week", limit=100))


def test_what_matches_and_is_of_another_time_is_still_found(years: Memory):
    assert len(years.recall("the harbour shop last week")) == 10


# -- events --------------------------------------------------------------------------------------------------------


@pytest.fixture
def life(route: str) -> Iterator[Memory]:
    with memory_by(route) as memory:
        memory.remember("The rent of the small flat was high", valid_at="2025-02-01")
        memory.remember("We moved to Osaka", valid_at="2025-04-10")
        memory.remember("The rent of the new house is low", valid_at="2025-05-20")
        memory.remember("Our trip to Kyoto begins", valid_at="2025-10-03")
        memory.remember("The rent went up again", valid_at="2025-12-01")
        yield memory


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened before we moved?", [1, 2]),
        ("What happened after we moved?", [2, 3, 4, 5]),
        ("What happened since the trip to Kyoto?", [4, 5]),
        ("What did we talk about until the trip to Kyoto?", [1, 2, 3, 4]),
        ("When we moved to Osaka, what happened?", [2]),
        ("Tell me everything from around the time of the trip to Kyoto", [4]),
    ],
)
def test_an_event_is_a_time_when_a_memory_tells_of_it(life: Memory, question: str, expected: list[int]):
    answer = life.recall(question)
    assert numbers(answer) == expected
    assert answer.mode == "time"


def test_the_answer_says_which_memory_gave_the_time(life: Memory):
    answer = life.recall("What did the rent cost since the trip to Kyoto?")
    rents = [number for number in numbers(answer) if number in {1, 3, 5}]
    assert rents[0] == 5
    assert answer[0].explain["time"].about == "since the trip to Kyoto (memory #4): from 2025-10-03 on"
    assert "“since the trip to Kyoto (memory #4)” was read as from 2025-10-03 on." in answer.notes


def test_the_same_question_has_another_answer_before_the_event(life: Memory):
    answer = life.recall("What did the rent cost before we moved?")
    assert next(number for number in numbers(answer) if number in {1, 3, 5}) == 1


def test_an_event_that_no_memory_tells_of_is_no_time(life: Memory):
    answer = life.recall("What did the rent cost since the dragon landed?")
    assert "No memory tells when this was: the dragon landed. It did not count as a time." in answer.notes
    assert all("time" not in hit.explain for hit in answer)


def test_an_event_of_several_times_is_no_time_where_more_is_asked(life: Memory):
    life.remember("We moved to Kobe", valid_at="2025-11-01")
    assert all("time" not in hit.explain for hit in life.recall("What did the rent cost before we moved?"))


def test_a_memory_of_an_event_may_name_its_time(life: Memory):
    life.remember("The wedding of Alice was last week", valid_at="2025-08-13")
    answer = life.recall("What happened when Alice had the wedding?", limit=1)
    assert answer[0].explain["time"].about.endswith("(memory #6): 2025-07-28 to 2025-08-17")


@pytest.mark.parametrize("question", ["When did we move to Osaka?", "When we moved to Osaka?", "Have we moved before?"])
def test_a_question_for_a_time_gives_none(life: Memory, question: str):
    assert all("time" not in hit.explain for hit in life.recall(question))


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What should I do when the build fails?", "If the build fails, delete the cache"),
        ("What do we do when S3 returns 503?", "Retry later when S3 returns 503"),
        ("What happens when the timeout is reached?", "The timeout is reached after a minute: then S3 is asked again"),
        ("What do I need to do after a deploy?", "After a deploy, look at the dashboard"),
        ("What should we do before the release?", "Before the release, the tests run twice"),
        ("What to do after you deploy?", "After a deploy, look at the dashboard"),
    ],
)
def test_what_has_not_happened_is_no_event(life: Memory, question: str, wanted: str):
    for text in (
        "If the build fails, delete the cache", "Retry later when S3 returns 503", "The printer needs toner",
        "The timeout is reached after a minute: then S3 is asked again", "After a deploy, look at the dashboard",
        "Before the release, the tests run twice",
    ):  # fmt: skip
        life.remember(text)
    answer = life.recall(question)
    assert answer.mode != "time"
    assert answer[0].record.text == wanted
    assert not any("was read as" in note for note in answer.notes)


def test_a_context_of_a_time_is_packed_like_any_other(life: Memory):
    made = life.context("What happened since the trip to Kyoto?", budget=400)
    assert [item.record.number for item in made.items] == [5, 4] or [item.record.number for item in made.items] == [
        4,
        5,
    ]
    assert made.mode == "time"
