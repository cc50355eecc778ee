"""Recipes: how recall weighs what it knows about a memory. A recipe is a value with a name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

from perdure.errors import UnknownChoice, shown
from perdure.model import LEARNING_CATEGORIES, MIN_RELEVANCE
from perdure.values import value_class


class ConversationWeights(NamedTuple):
    """What the turns around a memory weigh, where the memory by itself weighs 1."""

    neighbours: float = 0.0
    session: float = 0.0
    named: float = 0.0
    asking: float = 0.0
    coverage: float = 0.0
    proper_names: float = 0.0
    when: float = 0.0
    learned: float = 0.0


Fusion: TypeAlias = Literal["chance", "maximum", "rank"]

# With a prominence weight, every match is scored up to this number of matches.
MOST_SCORED: Final = 10_000


@value_class(slots=False)
class Recipe:
    """The weights are shares of the score and add up to 1, but for `time_weight`; a signal that is missing leaves its
    share to the others. What each field is, `FIELDS` says.
    """

    name: str
    about: str
    keyword_weight: float
    vector_weight: float
    prominence_weight: float = 0.0
    tier_weight: float = 0.0
    decay_weight: float = 0.0
    anchor_weight: float = 0.0
    fusion: Fusion = "chance"
    rank_constant: int = 60
    candidates: int = 100
    observation_part: float = 0.3
    confidence_part: float = 0.2
    recency_part: float = 0.3
    recall_part: float = 0.2
    recency_days: float = 30.0
    recall_cap: int = 10
    forgets: bool = False
    per_category: int = 0
    balanced_categories: tuple[str, ...] = LEARNING_CATEGORIES
    scale: float = 1.0
    time_weight: float = 0.0
    neighbour_weight: float = 0.0
    session_weight: float = 0.0
    named_weight: float = 0.0
    asking_weight: float = 0.0
    coverage_weight: float = 0.0
    proper_name_weight: float = 0.0
    when_weight: float = 0.0
    learned_discount: float = 0.0
    min_relevance: float = 0.0

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each signal, by the name it has in an explanation; words and meaning are always there."""
        prominence = self.prominence_weight
        others = {
            "observations": prominence * self.observation_part,
            "confidence": prominence * self.confidence_part,
            "recency": prominence * self.recency_part,
            "recalls": prominence * self.recall_part,
            "tier": self.tier_weight,
            "decay": self.decay_weight,
            "anchor": self.anchor_weight,
        }
        matching = {"keyword": self.keyword_weight, "vector": self.vector_weight}
        return matching | {name: weight for name, weight in others.items() if weight}

    @cached_property
    def conversation(self) -> ConversationWeights:
        """They count where a score is nothing but how well words and meaning match."""
        others = self.prominence_weight or self.tier_weight or self.decay_weight or self.anchor_weight
        if self.fusion != "chance" or others or self.forgets or self.balances:
            return ConversationWeights()
        return ConversationWeights(
            self.neighbour_weight,
            self.session_weight,
            self.named_weight,
            self.asking_weight,
            self.coverage_weight,
            self.proper_name_weight,
            self.when_weight,
            self.learned_discount,
        )

    @property
    def fades(self) -> bool:
        """Whether a memory counts less when it is not used."""
        return bool(self.decay_weight or self.forgets)

    @cached_property
    def balances(self) -> bool:
        return bool(self.per_category and self.balanced_categories)


FIELDS: Final[Mapping[str, str]] = {
    "about": "one sentence for people",
    "keyword_weight": "the words of the question, by BM25",
    "vector_weight": "its meaning, by cosine",
    "prominence_weight": "how often a memory was said and recalled, how sure and how fresh it is; see the parts below",
    "tier_weight": "the boost of its tier, as a share of the highest",
    "decay_weight": "what decay leaves of a memory that is not used",
    "anchor_weight": "the share of the question's words in its anchor",
    "fusion": "how words and meaning are brought to 0..1: `chance` (0 is what chance reaches, 1 the best of this "
    "answer), `maximum` (divided by the best of this answer) or `rank` (reciprocal rank fusion by its maximum)",
    "rank_constant": "with `rank`: a rank counts 1 / (constant + rank)",
    "candidates": "how many of the best by words, and of the best by meaning, are compared. With a prominence weight "
    "every match of a namespace of up to 10,000 memories is; of a larger one the most prominent ones are added",
    "observation_part": "of prominence: how often it was said, divided by the most often said one of the namespace",
    "confidence_part": "of prominence: its confidence",
    "recency_part": "of prominence: 1 / (1 + days since its content changed or was said again / `recency_days`)",
    "recall_part": "of prominence: how often it was recalled, up to `recall_cap` times",
    "recency_days": "after so many days recency is one half",
    "recall_cap": "from so many recalls on they count in full",
    "forgets": "multiply by retrievability, (1 + 19/81 x days since last use / stability) ^ -0.5; the stability, in "
    "days, is `metadata.stability`, without it 1; episodes are found as well, and wait for a review if they fit",
    "per_category": "at least so many of each balanced category that has any, where the limit has room for all of them",
    "balanced_categories": "which categories these are",
    "scale": "the best possible score",
    "time_weight": "where the question names a time (`last week`, `in March`): how near a memory is to it; the other "
    "weights share the rest",
    "neighbour_weight": "in a conversation: the best match among the two memories before and the two after, beside a "
    "memory that weighs 1 itself; this and the next six count with `chance` and nothing but words and meaning",
    "session_weight": "in a conversation: the best match of its session",
    "named_weight": "who says it is named in the question; less where others say something that fits much better",
    "asking_weight": "in a conversation: by how much a memory that only asks counts less; what follows it gains half "
    "as much",
    "coverage_weight": "in a conversation: the share of the question's words, the rare ones counting more, that stand "
    "in a memory or in the two before and the two after it",
    "proper_name_weight": "in a conversation: how many names a memory holds, up to three",
    "when_weight": "where a question asks when something was: how well a memory matches that tells a time "
    "(`yesterday`, `two weeks ago`)",
    "learned_discount": "by how much a fact that was learned from a conversation counts less than what was said there, "
    "which it repeats. With it, a fact that holds no more counts for the one that took its place",
    "min_relevance": "nothing that fits less well is an answer, from 0 to 1; 0 fills the limit whatever fits",
}

BALANCED: Final = Recipe(
    name="balanced",
    about="Words and meaning alike: each signal is brought to 0..1, then they are added.",
    keyword_weight=0.5,
    vector_weight=0.5,
    time_weight=0.4,
    neighbour_weight=0.4,
    session_weight=0.5,
    named_weight=0.35,
    asking_weight=0.8,
    coverage_weight=0.4,
    proper_name_weight=0.3,
    when_weight=0.5,
    learned_discount=0.2,
    min_relevance=MIN_RELEVANCE,
)

FACTS: Final = Recipe(
    name="facts",
    about="Reciprocal rank fusion of words and meaning. A fact is true or it is not: it does not fade.",
    keyword_weight=0.5,
    vector_weight=0.5,
    fusion="rank",
)

LEARNINGS: Final = Recipe(
    name="learnings",
    about="What a coding agent has learned: meaning, words and prominence, and something of each kind of learning. "
    "Without a question, prominence alone.",
    keyword_weight=0.2,
    vector_weight=0.5,
    prominence_weight=0.3,
    fusion="maximum",
    per_category=3,
)

TIERED: Final = Recipe(
    name="tiered",
    about="Scores from 0 to 100: 40 for the ranks by words and by meaning, 25 for the tier, 20 for what decay leaves "
    "of a memory that is not used, 15 for words of the question in the anchor.",
    keyword_weight=0.2,
    vector_weight=0.2,
    tier_weight=0.25,
    decay_weight=0.2,
    anchor_weight=0.15,
    fusion="rank",
    candidates=20,
    scale=100.0,
    min_relevance=MIN_RELEVANCE,
)

EPISODES: Final = Recipe(
    name="episodes",
    about="Reciprocal rank fusion times retrievability: what was not used for long is hard to call back.",
    keyword_weight=0.5,
    vector_weight=0.5,
    fusion="rank",
    forgets=True,
)

RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe for recipe in (BALANCED, FACTS, LEARNINGS, TIERED, EPISODES)
}


def recipe_named(name: str, own: Mapping[str, Recipe] | None = None) -> Recipe:
    """A built-in recipe, or one of the user's `own`."""
    known = {**RECIPES, **(own or {})}
    try:
        return known[name]
    except (KeyError, TypeError):
        raise UnknownChoice(
            f"There is no recipe called {shown(name)}.", remedy=f"Use one of: {', '.join(known)}."
        ) from None
