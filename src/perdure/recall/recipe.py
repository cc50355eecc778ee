"""Recipes: how recall weighs what it knows about a memory. A recipe is a value with a name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal, TypeAlias

from perdure.errors import UnknownChoice, shown
from perdure.model import LEARNING_CATEGORIES, MIN_RELEVANCE
from perdure.values import value_class

Fusion: TypeAlias = Literal["evidence", "maximum", "rank"]

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
    fusion: Fusion = "evidence"
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
    conversation_weight: float = 0.0
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
    def is_relevance(self) -> bool:
        """Whether a score is the relevance itself. It is not where it weighs anything but how well a memory answers."""
        others = self.prominence_weight or self.tier_weight or self.decay_weight or self.anchor_weight
        return self.fusion == "evidence" and not (others or self.forgets or self.balances)

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
    "fusion": "how words and meaning are put together: `evidence` (each adds to how likely a memory answers; the score "
    "is the relevance), `maximum` (divided by the best of this answer) or `rank` (reciprocal rank fusion by its "
    "maximum)",
    "rank_constant": "with `rank`: a rank counts 1 / (constant + rank)",
    "candidates": "how many of the best by words, and of the best by meaning, are compared. With a prominence weight "
    "every match of a namespace of up to 10,000 memories is; of a larger one the most prominent ones are added",
    "observation_part": "of prominence: how often it was said, divided by the most often said one of the namespace",
    "confidence_part": "of prominence: its confidence",
    "recency_part": "of prominence: 1 / (1 + days since its content changed or was said again / `recency_days`)",
    "recall_part": "of prominence: how often it was recalled, up to `recall_cap` times",
    "recency_days": "days after which recency is one half",
    "recall_cap": "recalls from which on they count in full",
    "forgets": "multiply by retrievability, (1 + 19/81 x days since last use / stability) ^ -0.5; the stability, in "
    "days, is `metadata.stability`, without it 1; episodes are found as well, and wait for a review if they fit",
    "per_category": "minimum of each balanced category, if the limit has room for all of them",
    "balanced_categories": "which categories these are",
    "scale": "the best possible score",
    "time_weight": "where the question names a time (`last week`, `in March`): how near a memory is to it; the other "
    "weights share the rest",
    "conversation_weight": "with `evidence`: how much it counts who is meant, what was said just before and after a "
    "memory, and whether it only asks; 1 is as measured",
    "learned_discount": "by how much a fact that was learned from a conversation counts less than what was said there, "
    "which it repeats. With it, a fact that is no longer true counts for the one that took its place",
    "min_relevance": "nothing that fits less well is an answer, from 0 to 1; 0 fills the limit whatever fits",
}

BALANCED: Final = Recipe(
    name="balanced",
    about="How likely a memory answers, by meaning, words and the conversation around it: the score is the relevance.",
    keyword_weight=0.5,
    vector_weight=0.5,
    time_weight=0.5,
    conversation_weight=1.0,
    learned_discount=0.1,
    min_relevance=MIN_RELEVANCE,
)

MEANING: Final = Recipe(
    name="meaning",
    about="By meaning alone: the memories whose text is nearest to the question.",
    keyword_weight=0.0,
    vector_weight=1.0,
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
    recipe.name: recipe for recipe in (BALANCED, MEANING, FACTS, LEARNINGS, TIERED, EPISODES)
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
