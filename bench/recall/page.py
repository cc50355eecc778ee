"""The page that the repository keeps, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

from bench.recall.data import CATEGORIES, NAMES
from bench.recall.fits import FLOORS, MOST_FALLEN, MOST_LOST, Fits, leave_one_out, with_floor
from bench.recall.results import ANSWERS_IT, DEPTHS, MOST_BELOW, Answers, LocomoResult, Results, SetResult
from bench.recall.systems import DEFAULT, FTS5, MEANING, SUM, UNFLOORED, WORDS
from bench.recall.weights import LeftOut
from perdure.model import MIN_RELEVANCE

_COLUMNS: Final = (DEFAULT, UNFLOORED, WORDS, MEANING, SUM, FTS5)
# What BEAM asks of a theme rather than of a fact.
_THEMES: Final = ("event_ordering", "summarization")
_OPENING: Final = """# How well recall finds

Written by `make bench-recall LOCOMO=… SCIFACT=… BEAM=… DEV=… STS=… SICK=… RECALL=--save`. Everything is stored and
asked through `perdure.Memory`. The embedding model is the local one that comes with Perdure. No language model, no
reranker.

![nDCG@10 of each set](recall.svg)
"""
_PROTOCOL: Final = r"""
## How it is measured

The question is asked word for word. nDCG@10 has the logarithm of 2 from rank 1, `R@k` is the share of the evidence
among the first k, MRR looks at the first fifty. Each conversation, chat, scene or meeting is a namespace of its own.

- **LoCoMo** (CC BY-NC 4.0): one memory for each turn, with `[shares image: caption]` where there is one; the date of
  the session is `valid_at`, and `metadata.speaker`, `conversation_id` and `session_id` are set. Evidence ids are read
  as `D:?(\d+):(\d+)`; those that are not in the dialogue are dropped, and four questions without evidence are left out.
  Its line among the sets is without category 5.
- **BEAM** (no licence stated; for measuring only), chats 1 to 10 of 100,000 tokens: one memory for each message, the
  role is the speaker, the last time anchor is `valid_at`; the evidence is every number in `source_chat_ids`.
- **SciFact** (claims CC BY 4.0, abstracts ODC-By 1.0): one memory for each abstract, the test claims are the questions.
- **Circa, FriendsQA, QMSum, CRD3, SGD, unseen relations**: the development parts of sets that the model's training
  also uses. Scenes, meetings, games and bookings are conversations; the answers of Circa and the relations are not.
- **Ours**: [bench/recall/sets](recall/sets/README.md), written before the ranking that they judge.

`words alone`, `meaning alone` and `plain sum` are recipes with these weights and nothing else, without a floor. SQLite
FTS5 has the tokenizer `porter unicode61`, any of the question's words but stopwords, and date and speaker before the
text. None of the sets of others is part of this repository.
"""


def page(results: Results) -> Iterator[str]:
    yield _OPENING
    yield from comparison(results.sets)
    if results.pairs:
        yield from _pairs(results)
    for result in results.sets:
        if result.judging_set.name == "beam":
            yield from _abilities(result)
    if results.weights:
        yield from _weights(results.weights)
    if results.locomo is not None:
        yield from _locomo(results.locomo)
    yield _PROTOCOL.strip()


def _weights(rows: Sequence[LeftOut]) -> Iterator[str]:
    yield "## The weights"
    yield ""
    yield "They were fitted on all sets at once, each counting as much as every other, and rounded. For each set the"
    yield "best of these, and of each of them half as large and half as large again, was chosen on the other sets, by"
    yield "the mean of their nDCG@10; of each set 300 questions at most count, and of each question the first fifty"
    yield "hits."
    yield ""
    chosen = [
        [row.name, f"{row.chosen.signal} x {row.chosen.factor:g}" if row.chosen.signal else "as they are",
         _three(row.with_chosen), _three(row.as_it_is)]
        for row in rows
    ]  # fmt: skip
    means = (fmean(row.with_chosen for row in rows), fmean(row.as_it_is for row in rows))
    chosen.append(["**mean**", "", *map(_three, means)])
    yield from _table(
        ["left out", "chosen on the others", "with what was chosen", "with the weights as they are"], chosen
    )


def comparison(sets: Sequence[SetResult]) -> Iterator[str]:
    """How the systems compare on each set."""
    yield from _sets_table(sets)
    yield from _first_table(sets)
    yield from _absent_table(sets)


def _sets_table(sets: Sequence[SetResult]) -> Iterator[str]:
    """The rule: nDCG@10 of each set, and how far the default is from the best single signal."""
    yield "## Every kind of text"
    yield ""
    yield f"nDCG@10. The rule: on no set is the default more than {_three(MOST_BELOW)} below the better of words alone"
    yield "and meaning alone (`difference`), and the mean over the sets decides, never one set. The default is what a"
    yield "user gets, who may get nothing; all others fill their ten."
    yield ""
    rows = [
        [
            result.judging_set.name,
            str(len(result.default.each())),
            *(_three(result.answers[system.name].ndcg) for system in _COLUMNS),
            _three(result.default.found(10)),
            _signed(result.difference),
        ]
        for result in sets
    ]
    means = [_three(fmean(result.answers[system.name].ndcg for result in sets)) for system in _COLUMNS]
    found, difference = fmean(one.default.found(10) for one in sets), fmean(one.difference for one in sets)
    rows.append(["**mean**", "", *means, _three(found), _signed(difference)])
    columns = [system.about for system in _COLUMNS]
    yield from _table(["set", "n", *columns, "default R@10", "difference"], rows)
    worst = min(sets, key=lambda result: result.difference)
    broken = [result.judging_set.name for result in sets if result.difference < -MOST_BELOW]
    yield f"Worst: {worst.judging_set.name}, {_signed(worst.difference)}. The rule is broken on {len(broken)} of"
    yield f"{len(sets)} sets{': ' * bool(broken)}{', '.join(broken)}."
    yield ""


def _first_table(sets: Sequence[SetResult]) -> Iterator[str]:
    yield "What is first, and what is nothing: the share of the questions with an answer in the first place, with"
    yield "one among the first three, and of those that wrongly got nothing. Of the questions with an answer among"
    yield f"the first ten, `unsure` are those where it is shown with less than {ANSWERS_IT:g}."
    yield ""
    compared = (DEFAULT, WORDS, MEANING)
    header = [f"{where}: {system.about}" for where in ("first", "in three") for system in compared]
    rows = [
        [
            f"{result.judging_set.name} ({result.judging_set.about})",
            *(f"{result.answers[system.name].any_found(depth):.1%}" for depth in (1, 3) for system in compared),
            f"{result.default.empty:.1%}",
            f"{result.default.unsure:.1%}",
        ]
        for result in sets
    ]
    yield from _table(["set", *header, "wrongly nothing", "unsure"], rows)


def _absent_table(sets: Sequence[SetResult]) -> Iterator[str]:
    asked = [result for result in sets if result.absent]
    if not asked:
        return
    yield "Questions that nothing there answers, although they are about what is there:"
    yield ""
    rows = [
        [
            result.judging_set.name,
            str(len(result.absent)),
            f"{result.absent_empty:.1%}",
            f"{result.absent_unanswered:.1%}",
            f"{result.default.empty:.1%}",
        ]
        for result in asked
    ]
    below = f"nothing, or all below {ANSWERS_IT:g}"
    yield from _table(["set", "n", "nothing", below, "wrongly nothing"], rows)


def _pairs(results: Results) -> Iterator[str]:
    yield "## The encoder alone"
    yield ""
    yield "Spearman's correlation of its cosines with the scores that people gave to pairs of sentences."
    yield ""
    yield from _table(["", "pairs", "Spearman"], [[k, str(n), _three(rho)] for k, (n, rho) in results.pairs.items()])


def _abilities(result: SetResult) -> Iterator[str]:
    yield "## BEAM, by ability"
    yield ""
    abilities = sorted({question.ability for question in result.default.questions})
    yield "Event ordering and summaries ask for a theme and not for a fact. nDCG@10:"
    yield ""
    kinds = {
        **{ability: (ability,) for ability in abilities},
        "all but themes": tuple(ability for ability in abilities if ability not in _THEMES),
    }
    rows = [[name.replace("_", " "), *_of_ability(result, members)] for name, members in kinds.items() if any(members)]
    yield from _table(["ability", "n", *(system.about for system in _COLUMNS), "default R@10"], rows)


def _of_ability(result: SetResult, members: Sequence[str]) -> list[str]:
    of = {name: answers.of(lambda one: one.ability in members) for name, answers in result.answers.items()}
    default = of[DEFAULT.name]
    scores = [_three(of[system.name].ndcg) for system in _COLUMNS]
    return [str(len(default.questions)), *scores, _three(default.found(10))]


def _locomo(result: LocomoResult) -> Iterator[str]:
    yield from _turns(result)
    yield from _categories(result)
    yield from _sessions(result)
    yield from _pooled(result)
    yield from _times(result)
    yield from _fits(result)


def _turns(result: LocomoResult) -> Iterator[str]:
    first = next(iter(result.deep.values()))
    yield "## LoCoMo, turn by turn"
    yield ""
    yield f"{len(first.each()):,} questions without category 5; the last column is the mean of the five categories"
    yield f"({len(first.questions):,} questions). Without a floor; the interval holds 95 % of 2,000 resamples."
    yield ""
    rows = [
        [
            about,
            *_scores(answers),
            *(_three(answers.found(depth)) for depth in DEPTHS),
            _three(answers.mrr),
            _three(answers.mean_of_categories),
        ]
        for about, answers in _named(result.deep)
    ]
    depths = [f"R@{depth}" for depth in DEPTHS]
    yield from _table(["", "nDCG@10", "95 %", *depths, "MRR", "mean of five, nDCG@10"], rows)


def _categories(result: LocomoResult) -> Iterator[str]:
    default = result.deep[UNFLOORED.name]
    names = [name for name in default.of_category(CATEGORIES[0]) if name != "n"]
    rows = [
        [f"{category} {NAMES[category]}", f"{scores['n']:.0f}", *(_three(scores[name]) for name in names)]
        for category in CATEGORIES
        for scores in [default.of_category(category)]
    ]
    yield from _table(["default, category", "n", *names], rows)
    rows = [
        [about, *(_three(answers.of_category(category)["nDCG@10"]) for category in CATEGORIES)]
        for about, answers in _named(result.deep)
    ]
    yield from _table(["nDCG@10 by category", *map(str, CATEGORIES)], rows)


def _sessions(result: LocomoResult) -> Iterator[str]:
    yield "## LoCoMo, by session"
    yield ""
    yield "All questions. A session stands where its best turn does; `all@5`: all sessions with evidence are among 5."
    yield ""
    names = list(result.deep[UNFLOORED.name].sessions())
    rows = [[about, *map(_three, answers.sessions().values())] for about, answers in _named(result.deep)]
    yield from _table(["", *names], rows)


def _pooled(result: LocomoResult) -> Iterator[str]:
    yield "## LoCoMo, all conversations in one namespace"
    yield ""
    rows = [
        [about, *_scores(answers), _three(answers.found(10)), _three(answers.mean_of_categories)]
        for about, answers in _named(result.pooled)
    ]
    yield from _table(["", "nDCG@10", "95 %", "R@10", "mean of five, nDCG@10"], rows)


def _times(result: LocomoResult) -> Iterator[str]:
    """Questions about a time alone, then those about something and a time."""
    shares, ndcgs = result.times.shares(), result.times.ndcgs()
    yield "## LoCoMo, questions about a time"
    yield ""
    asked = sum(number for number, _ in shares.values())
    yield f"{asked} questions made from the dates of the conversations, asked five minutes after the last turn, in"
    yield "six wordings such as “What did we talk about on 8 May?” and “Remind me what came up three sessions ago.”"
    yield "Measured is the share of the first ten that are of that time, divided by the most that could be. A session"
    yield "that is still going on does not count as one ago."
    yield ""
    yield from _table(
        ["kind", "n", "of that time"], [[kind, str(n), _three(share)] for kind, (n, share) in shares.items()]
    )
    yield "Questions of LoCoMo that name no time, with the day or the month of their evidence added:"
    yield ""
    yield from _table(["kind", "n", "nDCG@10"], [[kind, str(n), _three(score)] for kind, (n, score) in ndcgs.items()])


def _fits(result: LocomoResult) -> Iterator[str]:
    yield "## Does an answer say when nothing fits?"
    yield ""
    yield "Each conversation of LoCoMo is asked its own questions, 7 of each other conversation and 20 claims of"
    yield f"SciFact, with the default recipe, whose `min_relevance` is {MIN_RELEVANCE:g}. Lost: of the own questions"
    yield "with evidence among the first ten, those that have none left. Chosen: for each conversation the highest"
    limits = f"loses {MOST_LOST:.0%} at most and costs {_three(MOST_FALLEN)} of nDCG@10 at most"
    yield f"of these that on the nine others {limits}."
    yield ""
    chosen, which = leave_one_out(result.fits)
    counts = ", ".join(f"{floor:g}: {count}" for floor, count in Counter(which.values()).most_common())
    rows = [[f"{floor:g}", *_fit_row(with_floor(result.fits, floor))] for floor in FLOORS]
    rows.append([f"chosen ({counts})", *_fit_row(chosen)])
    header = ["empty: SciFact", "empty: other conversations", "empty: own", "lost", "nDCG@10 falls by"]
    yield from _table(["`min_relevance`", *header], rows)


def _fit_row(fits: Fits) -> list[str]:
    shares = (fits.claims_empty, fits.others_empty, fits.own_empty, fits.lost)
    return [*(f"{share:.1%}" for share in shares), f"{fits.fallen:.4f}"]


def _named(answers: Mapping[str, Answers]) -> Iterator[tuple[str, Answers]]:
    """With what each system is about, the default without its floor."""
    for system in (UNFLOORED, WORDS, MEANING, SUM):
        yield "default" if system is UNFLOORED else system.about, answers[system.name]


def _scores(answers: Answers) -> list[str]:
    low, high = answers.interval
    return [_three(answers.ndcg), f"{_three(low)}-{_three(high)}"]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _three(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_three(abs(value))}"
