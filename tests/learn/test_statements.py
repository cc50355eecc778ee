"""From what somebody says to statements: what is told of whom, what is none, and what nothing may break."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta, timezone
from types import FrameType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.learn.rules.english.statements import statements
from perdure.learn.rules.english.verbs import third_person
from perdure.learn.rules.english.worth import worth
from perdure.learn.rules.languages import Statement, choose
from tests.languages import CHINESE

CATEGORIES = frozenset("identity preference interest personality relationship experience goal guideline".split())
# A Wednesday.
AT = datetime(2024, 5, 15, 10, tzinfo=UTC)


def said(text: str, *, speaker: str = "Ana", at: datetime = AT, listener: str = "assistant") -> list[Statement]:
    return statements(text, speaker, at, listener=listener)


def facts(text: str, *, listener: str = "assistant") -> list[str]:
    return [one.fact for one in said(text, listener=listener)]


def the_only(text: str) -> Statement:
    (one,) = said(text)
    return one


@pytest.mark.parametrize(
    ("text", "fact", "category", "slot", "value"),
    [
        ("I live in Oslo.", "Ana lives in Oslo", "identity", "lives_in", "Oslo"),
        ("i live in oslo", "Ana lives in oslo", "identity", "lives_in", "oslo"),
        ("I live in the US.", "Ana lives in the US", "identity", "country", "the US"),
        ("I moved to the US.", "Ana moved to the US", "identity", "lives_in", "the US"),
        ("I moved from Osaka to Tokyo.", "Ana moved from Osaka to Tokyo", "identity", "lives_in", "Tokyo"),
        ("Actually I'm 34, not 33.", "Ana is 34, not 33", "identity", "age", "34"),
        ("I work as a nurse at Charité.", "Ana works as a nurse at Charité", "identity", "job", "nurse"),
        ("I'm a software engineer", "Ana is a software engineer", "identity", "job", "software engineer"),
        ("No wait, I work at Apple now.", "Ana works at Apple now", "identity", "works_at", "Apple"),
        ("I'm from Sweden.", "Ana is from Sweden", "identity", "comes_from", "Sweden"),
        ("My name is Anastasia.", "Ana's name is Anastasia", "identity", "name", "Anastasia"),
        ("My birthday is on 3 May.", "Ana's birthday is on 3 May", "identity", "birthday", "on 3 May"),
        ("I'm engaged!", "Ana is engaged", "identity", "status", "engaged"),
        ("We have two kids.", "Ana has two kids", "identity", "has:kids", "two kids"),
        ("I'm allergic to peanuts.", "Ana is allergic to peanuts", "identity", "allergic:peanuts", "peanuts"),
        ("I really love sushi!", "Ana really loves sushi", "preference", "likes:sushi", "sushi"),
        ("I prefer tea over coffee.", "Ana prefers tea over coffee", "preference", "prefers:tea", "tea"),
        ("My favourite book is Dune.", "Ana's favourite book is Dune", "preference", "favorite:book", "Dune"),
        ("I use Vim", "Ana uses Vim", "preference", "uses:vim", "Vim"),
        ("I'm into chess.", "Ana is into chess", "interest", "interest:chess", "chess"),
        ("I've been learning Japanese", "Ana has been learning Japanese", "interest", "interest:japanese", "Japanese"),
        ("I tend to dawdle", "Ana tends to dawdle", "personality", "tends:dawdle", "dawdle"),
        ("I'm an introvert.", "Ana is an introvert", "personality", "is:introvert", "introvert"),
        ("Eva is my wife.", "Eva is Ana's wife", "relationship", "wife", "Eva"),
        ("My wife's name is Eva.", "Eva is Ana's wife", "relationship", "wife", "Eva"),
        ("I want to learn Greek.", "Ana wants to learn Greek", "goal", "wants:learn greek", "learn Greek"),
        ("I'd love to visit Peru.", "Ana would love to visit Peru", "goal", "wants:visit peru", "visit Peru"),
        ("My boss is Mrs. Tanaka.", "Mrs. Tanaka is Ana's boss", "relationship", "boss", "Mrs. Tanaka"),
        ("I live on St. James Street.", "Ana lives on St. James Street", "experience", "", ""),
        ("I live in St. Louis.", "Ana lives in St. Louis", "identity", "lives_in", "St. Louis"),
        ("I live in the U.S.", "Ana lives in the U.S.", "identity", "lives_in", "the U.S."),
        ("I work for Acme Ltd. London.", "Ana works for Acme Ltd. London", "identity", "works_at", "Acme Ltd. London"),
        ("I work for the U.S. Army.", "Ana works for the U.S. Army", "experience", "", ""),
        ("I like e.g. jazz.", "Ana likes e.g. jazz", "preference", "likes:e.g. jazz", "e.g. jazz"),
        ("I prefer calls at 10 a.m. on Mondays.", "Ana prefers calls at 10 a.m. on Mondays", "preference",
         "prefers:calls at 10 a.m. on mondays", "calls at 10 a.m. on Mondays"),
        ("I use Node.js and Python 3.12.", "Ana uses Node.js and Python 3.12", "preference", "uses:node.js", "Node.js"),
        ("I broke my left arm.", "Ana broke their left arm", "experience", "", ""),
        ("Please always answer briefly", "Assistant should always answer briefly", "guideline", "should:answer:briefly",
         "briefly"),
        ("I need you to always answer in Greek.", "Assistant should always answer in Greek", "guideline", "language",
         "Greek"),
        ("Call me Al.", "Assistant should call Ana Al", "guideline", "should:call", "Ana Al"),
        ("Please answer in German.", "Assistant should answer in German", "guideline", "language", "German"),
        ("From now on use metric units.", "Assistant should use metric units", "guideline", "should:use:metric units",
         "metric units"),
        ("I want you to be concise.", "Assistant should be concise", "guideline", "should:be:concise", "concise"),
        ("When I ask for code, only show the diff.", "When Ana asks for code, assistant should only show the diff",
         "guideline", "should:show:the diff", "the diff"),
    ],
)  # fmt: skip
def test_a_sentence_becomes_a_fact_in_the_third_person(text: str, fact: str, category: str, slot: str, value: str):
    one = the_only(text)
    assert (one.fact, one.category, one.slot, one.value) == (fact, category, slot, value)
    assert one.affirmed
    assert one.valid_at == AT
    assert one.subject == ("assistant" if category == "guideline" else "Ana")
    assert one.speaker == "Ana"


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("I don't like sushi anymore.", "likes:sushi", "sushi"),
        ("I never really liked sushi", "", ""),
        ("I can't stand olives.", "likes:olives", "olives"),
        ("I hate Mondays", "likes:mondays", "Mondays"),
        ("I no longer work at Google.", "works_at", "Google"),
        ("I quit my job at Google.", "works_at", "Google"),
        ("I used to live in Osaka.", "lives_in", "Osaka"),
        ("I'm not married.", "status", "married"),
        ("I don't have any kids.", "has:kids", "any kids"),
        ("We have no pets.", "has:pets", "pets"),
        ("I never eat meat.", "eats:meat", "meat"),
        ("don't call me sir", "should:call:ana sir", "Ana sir"),
        ("Stop apologizing.", "should:stop:apologizing", "apologizing"),
    ],
)
def test_what_is_denied_or_over_fills_its_slot_without_being_affirmed(text: str, slot: str, value: str):
    one = the_only(text)
    assert (one.slot, one.value, one.affirmed) == (slot, value, False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Osaka.", "I moved from Osaka to Tokyo."),
        ("I'm 33.", "Actually I'm 34, not 33."),
        ("I work at Google.", "I got a new job at Apple."),
        ("I love sushi", "I can't stand sushi"),
        ("My favorite color is red", "my favourite color is blue"),
        ("My boss Tom is great at chess", "My boss Eva plays chess"),
        ("Call me Al.", "From now on call me Ana Maria."),
    ],
)
def test_a_correction_has_the_same_subject_and_slot_and_says_otherwise(before: str, after: str):
    first, second = said(before)[0], said(after)[0]
    assert (first.subject, first.slot) == (second.subject, second.slot)
    assert first.slot
    assert (first.value, first.affirmed) != (second.value, second.affirmed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I love sushi", "I love tea"),
        ("I have a dog", "I have a car"),
        ("Always use tabs", "Always use metric units"),
        ("My sister Anna called", "My sister Eva called"),
        ("I'm a nurse", "I'm a beginner"),
        ("I'm vegan", "I'm married"),
    ],
)
def test_what_can_be_true_beside_another_has_another_slot(one: str, other: str):
    assert {row.slot for row in said(one)}.isdisjoint(row.slot for row in said(other) if row.slot)


@pytest.mark.parametrize(
    "text",
    [
        "I'm trying out a bullet journal",
        "Being a cook at a place I love is hard",
        "I love what my band does",
        "I like them with rice",
        "I was moved to tears by the opera",
        "I live in constant fear of spiders",
        "I work at home on Fridays",
        "We got another cat",
    ],
)
def test_a_value_that_nobody_can_be_sure_of_fills_no_slot(text: str):
    assert [one.slot for one in said(text) if one.slot] == []


def test_somebody_of_the_speakers_is_a_subject_of_their_own():
    relation, job = said("My sister Anna is a nurse.")
    assert (relation.fact, relation.category, relation.subject) == ("Anna is Ana's sister", "relationship", "Ana")
    assert (relation.slot, relation.value) == ("sister:anna", "Anna")
    assert (job.fact, job.subject, job.slot, job.value) == ("Ana's sister Anna is a nurse", "Anna", "job", "nurse")


def test_a_title_or_an_initial_belongs_to_the_name_and_ends_no_clause():
    assert facts("My doctor is Dr. Lee at the clinic.") == ["Ana's doctor is Dr. Lee at the clinic"]
    assert facts("My friend J. Smith moved to Oslo.") == [
        "J. Smith is Ana's friend",
        "Ana's friend J. Smith moved to Oslo",
    ]
    assert facts("Dr. Lee lives in Oslo.") == ["Dr. Lee lives in Oslo"]
    (hated,) = said("I hate being called Mr. Perez.")
    assert (hated.fact, hated.value) == ("Ana hates being called Mr. Perez", "being called Mr. Perez")


def test_what_follows_an_abbreviation_as_a_sentence_of_its_own_is_told_by_itself():
    assert facts("I get up at 6 a.m. Then I run five miles.") == ["Ana gets up at 6 a.m.", "Then Ana runs five miles"]
    assert facts("i love my cat max. i live in oslo. i work as a nurse") == [
        "Ana loves their cat max",
        "Ana lives in oslo",
        "Ana works as a nurse",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I love you.",
        "I really don't like you!",
        "I need you to book a table.",
        "I want you back.",
        "I like that.",
        "I want it.",
    ],
)
def test_what_is_felt_for_the_assistant_or_for_nobody_knows_what_is_no_fact(text: str):
    assert facts(text) == []
    assert facts(f"{text} I live in Oslo.") == ["Ana lives in Oslo"]


def test_to_a_person_love_is_a_fact():
    assert facts("I love you.", listener="Mel") == ["Ana loves Mel"]


def test_he_and_she_are_whoever_was_named_before():
    *_, works = said("My sister Anna is a nurse. She works at Siemens.")
    assert (works.fact, works.subject, works.slot) == ("Anna works at Siemens", "Anna", "works_at")
    assert facts("My brother moved to Rome. He's a teacher.")[-1] == "Ana's brother is a teacher"
    assert facts("She works at Siemens.") == []
    assert facts("My sister Anna and my friend Tom met. She works at Siemens.")[-1] != "Anna works at Siemens"


def test_a_named_subject_needs_a_predicate_that_is_told_of_people():
    assert facts("Anna works at Google.") == ["Anna works at Google"]
    assert facts("Music is a great escape.") == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I'll paint my room", "Ana will paint their room"),
        ("My sister and I love opera", "Ana's sister and Ana love opera"),
        ("We both sing in a choir", "Ana and others both sing in a choir"),
        ("We're painting our kitchen", "Ana is painting their kitchen"),
        ("The course taught me patience", "The course taught Ana patience"),
        ("I bought myself a kayak", "Ana bought themselves a kayak"),
        ("Went to a pottery class!", "Ana went to a pottery class"),
        ("Been reading about glaciers", "Ana has been reading about glaciers"),
        ("Excited about my thesis on moss", "Ana is excited about their thesis on moss"),
        ("Hey Tom! Well, I sold my car, Tom.", "Ana sold their car"),
        ("It was hard, but I passed the driving test", "Ana passed the driving test"),
        ("I baked rye bread - you would love it", "Ana baked rye bread"),
        ("I grow tomatoes, leeks and chard.", "Ana grows tomatoes, leeks and chard"),
        ("I\u2019ve joined a rowing club 🎉", "Ana has joined a rowing club"),
    ],
)
def test_contractions_lists_and_what_is_left_out_are_told_in_full(text: str, fact: str):
    assert facts(text, listener="Tom") == [fact]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I'm 29 years old and live in Kyoto", ["Ana is 29 years old", "Ana lives in Kyoto"]),
        ("I've lived in Rome and I'd been a cook", ["Ana has lived in Rome", "Ana had been a cook"]),
        ("I do judo and try to win", ["Ana does judo", "Ana tries to win"]),
        ("We sold the flat and bought a boat.", ["Ana sold the flat", "Ana bought a boat"]),
        ("I teach maths, my brother Tom sells cars", ["Ana teaches maths", "Tom is Ana's brother",
         "Ana's brother Tom sells cars"]),
        ("The office is in Bergen now, the shop stays in Voss", ["The office is in Bergen now",
         "The shop stays in Voss"]),
        ("I bought a piano, a stool and a lamp", ["Ana bought a piano, a stool and a lamp"]),
        ("I want to sell the car and buy a bike", ["Ana wants to sell the car and buy a bike"]),
        ("My dad is 71 and my mum is 69", ["Ana's dad is 71", "Ana's mum is 69"]),
        ("I live in Oslo, I think", ["Ana lives in Oslo, Ana thinks"]),
    ],
)  # fmt: skip
def test_each_statement_of_a_sentence_is_told_by_itself(text: str, told: list[str]):
    assert facts(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "Do you like my new bike?",
        "do you know my sister Anna",
        "Hi there! How are you doing today?",
        "I'm glad you liked the concert.",
        "I hope you get the job!",
        "If I won the lottery I would buy a boat.",
        "Imagine I lived in Rome.",
        "I wish I had a garden with apple trees",
        "I'm the king of Spain! Just kidding.",
        "I ate forty burgers today /s",
        'Anna said "I live in Rome".',
        '"My dog ate my homework," said the boy.',
        "> I live in Rome\n> and I love it",
        "```\nI live in Rome\n```",
        "Tell Anna to call my mother.",
        "Take a look at my painting",
        "A picture of the house I grew up in",
        "Don't worry about my exam",
        "Write a poem about my cat.",
        "Let's meet at my place",
        "We should visit the museum",
        "You should see my garden",
        "I bought it last week.",
        "Been ages since we met in Rome!",
        "Been a busy week",
        "Got to go now!",
        "Dinner, and drinks with my friends",
        "Waiting on the bank so I can start repairs",
        "I won't quit",
        "I love making him happy",
        "I'd love to see",
        "It's been a while since I saw Anna",
        "It was my idea to go there",
        "Thanks for your help with my bike",
        "",
        "I",
        "my my my",
    ],
)
def test_what_is_no_statement_gives_none(text: str):
    assert facts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ich wohne in Berlin und arbeite bei Siemens.",
        "Mein Hund heißt Max. I bin a Bayer und wohn in Minga.",
        "Vivo en Madrid y trabajo en un banco.",
        "J'habite à Paris et me voilà content.",
        "I miei amici vivono a Roma, me ne vado.",
        "We wonen in Utrecht en was gisteren in Gent.",
        "I dag was jag hemma",
        "Я живу в Москве.",
        "أعيش في القاهرة",
        *CHINESE[0],
    ],
)
def test_another_language_gives_nothing(text: str):
    assert facts(text) == []
    assert facts(text, listener="Tom") == []


def test_instructions_are_guidelines_only_to_a_role():
    assert facts("Always answer briefly", listener="Tom") == []
    assert [one.category for one in said("Always answer briefly", listener="assistant")] == ["guideline"]
    assert facts("Always remember that you are loved. Never give up. Keep going. Be careful.") == []
    assert facts("Please write a summary. Show me the logs. Run the tests.") == []


@pytest.mark.parametrize(
    ("text", "fact", "valid_at"),
    [
        ("Last week I adopted a cat", "Last week (2024-05-06 to 2024-05-12) Ana adopted a cat", "2024-05-06"),
        ("I ran a marathon yesterday.", "Ana ran a marathon yesterday (2024-05-14)", "2024-05-14"),
        ("I flew to Oslo last month", "Ana flew to Oslo last month (2024-04)", "2024-04-01"),
        ("I saw Tosca last night", "Ana saw Tosca last night (2024-05-14)", "2024-05-14"),
        ("I moved to Berlin in 2021.", "Ana moved to Berlin in 2021", "2021-01-01"),
        ("I've been vegetarian since 2019.", "Ana has been vegetarian since 2019", "2019-01-01"),
    ],
)
def test_words_of_time_become_dates_and_say_since_when_it_is_true(text: str, fact: str, valid_at: str):
    one = the_only(text)
    assert (one.fact, f"{one.valid_at:%Y-%m-%d}", one.dated) == (fact, valid_at, True)


@pytest.mark.parametrize(
    ("text", "subject", "slot", "value"),
    [
        ("My rent is 900 euros.", "Ana's rent", "amount", "900"),
        ("Our phone number is 555-0134 now", "Ana's phone number", "amount", "555-0134"),
        ("My car is dark blue now", "Ana's car", "colour", "dark blue"),
        ("My appointment is on Thursday.", "Ana's appointment", "time", "Thursday"),
        ("My office is in Hamburg these days", "Ana's office", "place", "Hamburg"),
        ("My boss is Claudia now", "Ana", "boss", "Claudia"),
        ("My boyfriend is called Jules", "Ana", "boyfriend", "Jules"),
        ("I turned 30 yesterday", "Ana", "age", "30"),
        ("I moved again, to Valencia", "Ana", "lives_in", "Valencia"),
        ("I like jazz a lot", "Ana", "likes:jazz", "jazz"),
        ("I'm a team lead now", "Ana", "job", "team lead"),
    ],
)
def test_what_somebody_has_one_of_at_a_time_can_be_corrected(text: str, subject: str, slot: str, value: str):
    one = the_only(text)
    assert (one.subject, one.slot, one.value) == (subject, slot, value)


def test_where_a_boss_comes_from_is_no_name_and_a_mothers_cat_is_no_mother():
    assert not any(one.category == "relationship" for one in said("My boss is German. My wife is Spanish."))
    assert not any(one.slot == "mother" for one in said("Max is my mother's cat."))


def test_what_is_planned_is_true_from_now_on():
    assert the_only("I'm getting married in September.").fact == "Ana is getting married in September (2024-09)"
    assert the_only("I got married in September.").fact == "Ana got married in September (2023-09)"
    plan = the_only("I'm going to run a marathon next month.")
    assert plan.fact == "Ana is going to run a marathon next month (2024-06)"
    assert plan.valid_at == AT
    assert the_only("I play the violin every Friday.").fact == "Ana plays the violin every Friday"


def test_a_day_is_reckoned_where_it_was_said():
    late = datetime(2024, 5, 15, 1, tzinfo=timezone(timedelta(hours=9)))
    (one,) = said("I sold my car yesterday", at=late)
    assert one.fact == "Ana sold their car yesterday (2024-05-14)"
    assert said("I sold my car yesterday", at=late.replace(tzinfo=None))[0].fact == one.fact


@pytest.mark.parametrize(
    "doubtful",
    [
        "Maybe I'm allergic to nuts.",
        "I think I'm allergic to nuts.",
        "My mother said I'm allergic to nuts.",
        "I heard Tom is allergic to nuts.",
    ],
)
def test_what_is_hedged_or_hearsay_is_less_certain(doubtful: str):
    assert said(doubtful)[-1].confidence < the_only("I'm allergic to nuts.").confidence <= 1


def test_without_a_name_the_speaker_is_the_user():
    (one,) = said("I live in Tokyo", speaker=" \n")
    assert (one.fact, one.subject) == ("User lives in Tokyo", "user")


def test_keywords_are_those_of_the_fact():
    told = said("My colleague Alex taught me Rust")[-1]
    assert told.fact == "Ana's colleague Alex taught Ana Rust"
    assert {"Rust", "Alex"} <= {word for keyword in told.keywords for word in keyword.split()}


def test_what_says_little_is_not_kept_and_nothing_loses_its_place_to_others():
    talk = [
        "I had a great time, it was so much fun!",
        "I feel really good about my life and things",
        "Yesterday I adopted a beagle named Miso in Lyon.",
        "I might want to try something like that",
        "I enjoy my nice days",
        "My sister Anna is a nurse in Porto.",
        "I'm thinking of my chances",
    ]
    found = [said(text) for text in talk]
    kept = [statement.fact for _, statement in choose(found)]
    assert kept[0] == "Yesterday (2024-05-14) Ana adopted a beagle named Miso in Lyon"
    # What somebody may say otherwise one day is kept, however little it says.
    assert kept[1:] == ["Ana enjoys their nice days", "Anna is Ana's sister", "Ana's sister Anna is a nurse in Porto"]
    many = [said(f"I bought a lamp in shop number {number}.") for number in range(100)]
    assert len(choose(many)) == 100
    assert choose([]) == []


def test_a_fact_told_twice_is_kept_once():
    found = [said("I live in Oslo."), said("I live in Oslo."), said("Yes, I live in Oslo!")]
    assert [position for position, _ in choose(found)] == [0]


def test_an_event_with_a_name_and_a_date_is_worth_more_than_a_mood():
    event = the_only("I met Tom in Lisbon last Friday.")
    assert worth(event) > worth(the_only("I enjoy my nice days"))
    assert 0 < worth(event) < 1


# What a fact may have beside words of the text: names, forms of `be` and `have`, and words of a guideline.
ADDED = frozenset(
    """
    am ana and are assistant does doesn't going had has hasn't have i im is isn't its ive not others s should their
    themselves to wants was wasn't will would
    """.split()
)
SENTENCES = st.lists(
    st.sampled_from(
        """
        I i'm my we our me you your and but , . ! ? - live in Oslo work as a nurse at Google love don't can't never Anna
        sister dog Max is was last week yesterday 34 years old she he it that think maybe want to go going please always
        answer call sir named because when if not "quoted" went had been really
        """.split()
    ),
    max_size=30,
).map(" ".join)


@given(st.one_of(SENTENCES, st.text(max_size=300)))
@example("i'd i'll ive im we'd WE'RE My Our")
@example("I " * 50)
@example("My")
@example("'s I'm \x00 \u202e my dog")
@example("I'm ½ of ² my ١٢ dogs")
def test_a_fact_holds_nothing_but_what_was_said_and_names(text: str):
    for one in said(text):
        spoken = text.replace("\u2019", "'").replace("\u2018", "'").lower()
        words = set(re.findall(r"\w+", spoken))
        forms = {part for word in re.findall(r"\w+(?:'\w+)*", spoken) for part in third_person(word).split()}
        added = re.findall(r"\w+", re.sub(r" \(\d{4}[^)]*\)", "", one.fact).lower())
        assert set(added) <= words | {part for form in forms | ADDED for part in re.findall(r"\w+", form)}
        assert len(one.fact) <= len(text) + 12 * (2 + len(text.split()))
        assert 0 < one.confidence <= 1
        assert one.fact.strip()
        assert one.valid_at <= AT
        assert one.category in CATEGORIES


@given(st.one_of(SENTENCES, st.text(max_size=200)), st.text(max_size=80), st.text(max_size=80))
def test_any_text_of_anybody_gives_the_same_every_time(text: str, speaker: str, listener: str):
    first = said(text, speaker=speaker, listener=listener)
    assert said(text, speaker=speaker, listener=listener) == first
    assert len(choose([first])) <= 1


@pytest.mark.parametrize(
    "unit",
    [
        "I live in Oslo and I love my dog. ",
        "and I ",
        "so, well, no, ",
        "I ",
        "my dog Max ",
        "```\n~~~\n",
        "> I ",
        '"I" said I, ',
        "[",
        "yesterday last week ",
        "I think I think ",
        "if I could have ",
        "haha",
        "-- ",
        "you know, ",
        "please always never ",
        "I'm\t",
        "\U0001f600 ",
    ],
)
def test_the_work_grows_with_the_text_and_no_faster(unit: str):
    def calls(characters: int) -> int:
        counted = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event in {"call", "c_call"}

        text = unit * (characters // len(unit))
        sys.setprofile(count)
        try:
            said(text, listener="Tom")
        finally:
            sys.setprofile(None)
        return counted

    calls(1_000)
    assert calls(100_000) <= 12 * calls(10_000) + 2_000
