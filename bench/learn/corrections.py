"""Whether recall answers with what is true now: small stories in which somebody corrects what they said before.

Each is told in a conversation of its own among messages about other things, learned from without a language model, and
asked once. Beside it stands a control: what the same person said and never took back must still be found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from perdure import Memory
from perdure.embed.port import Embedder

_BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_DAYS_BETWEEN = 20
_LOOKED_AT = 10
_FIRST = 3


class Story(NamedTuple):
    """What somebody said, step by step; a question, a word that only the current answer holds, and words of the answers
    that held before.
    """

    speaker: str
    steps: tuple[str, ...]
    question: str
    current: str
    before: tuple[str, ...]


class Control(NamedTuple):
    """What every story tells besides, and what is asked about it."""

    question: str
    answer: str


STORIES = (
    Story("Mara", ("Hi, I'm Mara. I live in Osaka and I work as a nurse.", "Guess what: I moved to Tokyo last week."),
          "Where does Mara live?", "Tokyo", ("Osaka",)),
    Story("Ben", ("I live in Leeds with my brother.", "I've moved to Bristol, by the way."),
          "Which city does Ben live in?", "Bristol", ("Leeds",)),
    Story("Ines", ("I'm based in Porto these days.", "We relocated to Lisbon in April."),
          "Where is Ines based?", "Lisbon", ("Porto",)),
    Story("Tom", ("My office is in Berlin.", "My office is in Hamburg now, they closed the old one."),
          "Where is Tom's office?", "Hamburg", ("Berlin",)),
    Story("Ana", ("I live in Madrid.", "I moved to Seville for the summer.", "I moved again, to Valencia this time."),
          "Where does Ana live now?", "Valencia", ("Madrid", "Seville")),
    Story("Raj", ("I'm living in Pune.", "I don't live in Pune anymore, I live in Mumbai."),
          "Where does Raj live?", "Mumbai", ("Pune.",)),
    Story("Kim", ("I work as a nurse at the city hospital.", "I quit the hospital. I work as a teacher now."),
          "What is Kim's job?", "teacher", ("nurse",)),
    Story("Leo", ("I work for Siemens.", "I now work for Bosch."),
          "Which company does Leo work for?", "Bosch", ("Siemens",)),
    Story("Eva", ("I'm a junior developer at a small startup.", "I'm a team lead now, they promoted me."),
          "What does Eva do for work?", "lead", ("junior",)),
    Story("Sam", ("I work at a bakery.", "I left the bakery, I work at a library now.",
                  "I work at a museum since May."),
          "Where does Sam work?", "museum", ("bakery.", "library")),
    Story("Nora", ("My boss is Peter.", "My boss is Claudia now."), "Who is Nora's boss?", "Claudia", ("Peter",)),
    Story("Paul", ("I study biology.", "I switched to chemistry this term.",
                   "I study physics now, finally the right one."),
          "What does Paul study?", "physics", ("biology", "chemistry")),
    Story("Mia", ("I love green tea.", "I don't like green tea any more, I prefer coffee now."),
          "What does Mia like to drink?", "coffee", ("love green",)),
    Story("Jon", ("My favourite colour is blue.", "My favourite colour is green now."),
          "What is Jon's favourite colour?", "green", ("blue",)),
    Story("Lea", ("I'm a vegetarian.", "I'm not a vegetarian any more, I eat fish again."),
          "Is Lea a vegetarian?", "not a vegetarian", ("I'm a vegetarian",)),
    Story("Omar", ("I like jazz a lot.", "I don't like jazz anymore."), "Does Omar like jazz?", "n't like", ("a lot",)),
    Story("Zoe", ("I use Vim for everything.", "I switched from Vim to Emacs."),
          "Which editor does Zoe use?", "Emacs", ("everything",)),
    Story("Ida", ("My favourite band is Radiohead.", "My favourite band is Blur these days.",
                  "My favourite band is Wilco now."),
          "What is Ida's favourite band?", "Wilco", ("Radiohead", "Blur")),
    Story("Max", ("I prefer dark mode in my editor.", "Actually I prefer light mode in my editor now."),
          "Does Max prefer dark mode or light mode?", "light", ("dark mode in",)),
    Story("Amy", ("I hate running.", "I love running now, believe it or not."), "How does Amy feel about running?",
          "love", ("hate",)),
    Story("Finn", ("I am 29 years old.", "I turned 30 yesterday."), "How old is Finn?", "30", ("29",)),
    Story("Rosa", ("My phone number is 555-0134.", "My phone number is 555-0199 now."),
          "What is Rosa's phone number?", "0199", ("0134",)),
    Story("Karl", ("My rent is 900 euros.", "My rent is 1100 euros now."), "How much is Karl's rent?", "1100",
          ("900",)),
    Story("Lily", ("I have two cats.", "I have three cats now."), "How many cats does Lily have?", "three cats",
          ("two cats",)),
    Story("Hugo", ("Our budget is 5000 dollars.", "Our budget is 8000 dollars now.",
                   "Our budget is 6500 dollars, final."),
          "What is the budget of Hugo's project?", "6500", ("5000", "8000")),
    Story("Vera", ("My appointment is on Monday.", "My appointment is on Thursday, they changed it."),
          "When is Vera's appointment?", "Thursday", ("Monday",)),
    Story("Ali", ("I run 5 kilometres every morning.", "I run 10 kilometres every morning now."),
          "How far does Ali run every morning?", "10 kilo", ("5 kilo",)),
    Story("Gus", ("I'm single.", "I'm engaged since last week!", "I'm married now."),
          "Is Gus married, engaged or single?", "married", ("single", "engaged")),
    Story("Tess", ("My boyfriend is called Marc.", "I broke up with Marc.", "My boyfriend is called Jules."),
          "Who is Tess's boyfriend?", "Jules", ("called Marc",)),
    Story("Otto", ("I drive a Volvo.", "I sold the Volvo and drive a Tesla now."), "Which car does Otto drive?",
          "Tesla", ("drive a Volvo",)),
    Story("Wanda", ("I own a dog called Rex.", "I no longer own a dog."), "Does Wanda own a dog?", "no longer",
          ("Rex",)),
    Story("Yuki", ("I'm learning Spanish.", "I stopped learning Spanish, I'm learning Italian now."),
          "Which language is Yuki learning?", "Italian", ("I'm learning Spanish", "is learning Spanish")),
    Story("Nils", ("Our database is MySQL.", "Our database is PostgreSQL since the migration."),
          "Which database does Nils's team use?", "PostgreSQL", ("MySQL",)),
    Story("Cara", ("I want to become a pilot.", "I no longer want to become a pilot, I want to become a doctor."),
          "What does Cara want to become?", "doctor", ("become a pilot.",)),
    Story("Erik", ("Please answer in long paragraphs.", "Please answer in short bullet points from now on."),
          "How should the assistant answer Erik?", "bullet", ("paragraphs",)),
    Story("Jana", ("My car is red.", "My car is black now, I had it painted.", "My car is white since the accident."),
          "What colour is Jana's car?", "white", ("red", "black")),
)  # fmt: skip

# Said in every story, before, between and after its steps, a few of them about nearly the same things.
_AROUND = (
    ("My sister Yui is visiting in October.", "Lovely."),
    ("The weather was terrible all weekend, we stayed at home.", "Oh no."),
    ("We went to the Ghibli museum with the whole family.", "How was it?"),
    ("I want to learn to play the cello next year.", "Good goal."),
    ("My neighbour Biko lives in a huge old house.", "Sounds nice."),
    ("I read a book about the history of Rome.", "Was it good?"),
    ("My brother works at the airport in Oslo.", "Interesting."),
    ("I'm allergic to peanuts.", "Good to know."),
    ("I bought a new bicycle on Saturday.", "What kind?"),
    ("The train was late again this morning.", "Sorry to hear that."),
    ("I baked a cake with cherries for the party.", "Yum."),
    ("I saw a film about whales yesterday.", "What did you think?"),
)
CONTROLS = (
    Control("What is {} allergic to?", "peanuts"),
    Control("Where does the brother of {} work?", "Oslo"),
    Control("Who is visiting {} in October?", "Yui"),
    Control("What did {} bake for the party?", "cherries"),
)


class Outcome(NamedTuple):
    """Where the current answer stands among the hits, and the first one that holds no more; from 1, 0 for nowhere."""

    current: int
    before: int


def report(embedder: Embedder) -> None:
    outcomes, controls = measure(STORIES, embedder)
    places = [outcome.current for outcome in outcomes]
    first, soon = sum(place == 1 for place in places), sum(0 < place <= _FIRST for place in places)
    in_order = sum(one.current > 0 and (not one.before or one.current < one.before) for one in outcomes)
    print(f"\nWhat is true now, of {len(outcomes)} corrections: first {first}, in the first {_FIRST} {soon}, before "
          f"what was true {in_order}")  # fmt: skip
    print(f"What was never corrected, of {len(controls)} questions: first {sum(place == 1 for place in controls)}, "
          f"in the first {_FIRST} {sum(0 < place <= _FIRST for place in controls)}")  # fmt: skip


def measure(stories: Sequence[Story], embedder: Embedder) -> tuple[list[Outcome], list[int]]:
    """The outcome of each story, and where the answers to the controls stand."""
    outcomes: list[Outcome] = []
    controls: list[int] = []
    for story in stories:
        with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "story.db", embedder=embedder) as memory:
            memory.conversation(f"with {story.speaker}").add_messages(messages(story))
            memory.work()
            found = [hit.record.text for hit in memory.recall(story.question, limit=_LOOKED_AT)]
            past = [text if story.current not in text else "" for text in found]
            outcomes.append(Outcome(place(found, (story.current,)), place(past, story.before)))
            for asked, answer in CONTROLS:
                found = [hit.record.text for hit in memory.recall(asked.format(story.speaker))]
                controls.append(place(found, (answer,)))
    return outcomes, controls


def messages(story: Story) -> Iterator[dict[str, object]]:
    """The steps lie weeks apart, and a few other things are said around each."""
    around = iter(_AROUND)
    share = len(_AROUND) // (len(story.steps) + 1)
    for step, said in enumerate((*story.steps, None)):
        at = _BEGIN + timedelta(days=_DAYS_BETWEEN * step)
        for turn in range(share):
            other, reply = next(around)
            at += timedelta(minutes=1)
            if turn == 1 and said is not None:
                yield {"role": "user", "content": said, "speaker": story.speaker, "at": at - timedelta(seconds=30)}
            yield {"role": "user", "content": other, "speaker": story.speaker, "at": at}
            yield {"role": "assistant", "content": reply, "at": at}


def place(texts: Iterable[str], wanted: tuple[str, ...]) -> int:
    """Where the first text that holds one of these stands, from 1; 0 where none does."""
    return next((at for at, text in enumerate(texts, 1) if any(word in text for word in wanted)), 0)
