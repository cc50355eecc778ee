"""Every source of the training data: where it is, at which commit, under which licence, and how it is read.

The licence is the one that stands in the snapshot itself, in the file named beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from training import inference, readers
from training.inference import Judged
from training.snapshots import Snapshot
from training.templates import Group


@dataclass(frozen=True)
class Origin:
    name: str
    repository: str
    commit: str
    licence: str
    licence_file: str


@dataclass(frozen=True)
class Source(Origin):
    """A source of the encoder's data."""

    read: Callable[[Snapshot, Random], list[Group]]


@dataclass(frozen=True)
class PairSource(Origin):
    """A source of the judge's data."""

    taken: str
    read: Callable[[Snapshot, Random], Iterator[Judged]]


SOURCES = [
    Source(
        "crd3",
        "RevanthRameshkumar/CRD3",
        "7fd4515eea411f0f9c5d0a03a8b6b8b2da464e81",
        "CC BY-SA 4.0",
        "LICENSE",
        readers.crd3,
    ),
    Source(
        "schema-guided",
        "google-research-datasets/dstc8-schema-guided-dialogue",
        "e852981ae34990f4358979625854259302feaa78",
        "CC BY-SA 4.0",
        "LICENSE.txt",
        readers.schema_guided,
    ),
    Source(
        "multidogo",
        "awslabs/multi-domain-goal-oriented-dialogues-dataset",
        "baa30639c4b271f394b81443c842193407cdf26d",
        "CDLA-Permissive 1.0",
        "LICENSE.txt",
        readers.multidogo,
    ),
    Source(
        "topical-chat",
        "alexa/Topical-Chat",
        "7c939229cbcf6f55f6977b341a5a2f2fe982d53f",
        "CDLA-Sharing 1.0",
        "DATALICENSE",
        readers.topical_chat,
    ),
    Source("qmsum", "Yale-LILY/QMSum", "83d7768c1f2b4dfeb091385d3dc7e239b8e5bb7e", "MIT", "LICENSE", readers.qmsum),
    Source("qamr", "uwnlp/qamr", "956b0eb2d5857f4aafa1af257ba06fa6cb683b99", "MIT", "LICENSE", readers.qamr),
    Source(
        "xquad",
        "google-deepmind/xquad",
        "7d30520c717524000f0d9d2f9c10a069acd9d285",
        "CC BY-SA 4.0",
        "CC-BY-SA4.0.txt",
        readers.xquad,
    ),
    Source(
        "strategyqa",
        "eladsegal/strategyqa",
        "1ba1e97452e189569357876f2854b01357ffbe37",
        "MIT",
        "LICENSE",
        readers.strategy_qa,
    ),
    Source("mdn", "mdn/content", "b2c48c8b7c097aeab4bc15a388c913f466f40e25", "CC BY-SA 2.5", "LICENSE.md", readers.mdn),
    Source(
        "kubernetes",
        "kubernetes/website",
        "56464fe6c846523da555b49fbb012f0e270871ae",
        "CC BY 4.0",
        "LICENSE",
        readers.kubernetes,
    ),
    Source(
        "docker", "docker/docs", "a3fd0352216480db9becce4878e8e79caae46a45", "Apache-2.0", "LICENSE", readers.docker
    ),
    Source("github", "github/docs", "60321755e16a2252417e95479ac5faaf854c660a", "CC BY 4.0", "LICENSE", readers.github),
    Source("fastapi", "fastapi/fastapi", "c3f316b7e814667e8ee81e03a7330d00ee61e45c", "MIT", "LICENSE", readers.fastapi),
    Source(
        "tldr", "tldr-pages/tldr", "08e345f42639f67d99282813247ac670dc6e87cb", "CC BY 4.0", "LICENSE.md", readers.tldr
    ),
    Source(
        "commits of langgraph",
        "langchain-ai/langgraph",
        "f09cfe8ffc1eeffd68f4b628ed69c30f7cad229f",
        "MIT",
        "LICENSE",
        readers.commits,
    ),
    Source(
        "commits of adk",
        "google/adk-python",
        "7c670f638bc17374ceb08740bdd057e55c9c2e12",
        "Apache-2.0",
        "LICENSE",
        readers.commits,
    ),
    Source(
        "commits of datasette",
        "simonw/datasette",
        "481df7ff6d78a8ccf919984d27f27201b081bd53",
        "Apache-2.0",
        "LICENSE",
        readers.commits,
    ),
    Source(
        "commits of uv",
        "astral-sh/uv",
        "26a9dd4b2125bc271b47855e1fa0c49af3365db5",
        "MIT or Apache-2.0",
        "LICENSE-MIT",
        readers.commits,
    ),
    Source(
        "commits of docker",
        "docker/docs",
        "a3fd0352216480db9becce4878e8e79caae46a45",
        "Apache-2.0",
        "LICENSE",
        readers.commits,
    ),
]

PAIR_SOURCES = [
    PairSource(
        "med",
        "verypluming/MED",
        "860ba36ce95ecba9f1ebe348d3d8cf1b3cba435a",
        "CC BY-SA 4.0",
        "LICENSE",
        "the crowd's examples",
        inference.monotonicity,
    ),
    PairSource(
        "clcd",
        "felipessalvatore/CLCD",
        "422f9e93d49e4fcfd8048ad5b36898f8713d0370",
        "MIT",
        "LICENSE",
        "English, simple negation and coordination, short",
        inference.cross_lingual_contradictions,
    ),
    PairSource(
        "wiki-split",
        "google-research-datasets/wiki-split",
        "80f5bddf42d1a68201b7b107ee4b8d86d82e9fde",
        "CC BY-SA 4.0",
        "README.md",
        "tune and validation",
        inference.wiki_split,
    ),
    PairSource(
        "para-qa",
        "barshana-banerjee/ParaQA",
        "979a02a8e1ccc2ae87eb7a33fdc555adee0eb554",
        "CC BY 4.0",
        "LICENSE",
        "answers in other words",
        inference.para_qa,
    ),
    PairSource(
        "verbal-conv-questions",
        "endrikacupaj/Verbal-ConvQuestions",
        "4485e83aed4fa7d269b42a4b5928f259198548c5",
        "CC BY 4.0",
        "dataset/LICENCE",
        "answers in other words, val and test",
        inference.verbal_questions,
    ),
    PairSource(
        "schema-guided changes",
        "google-research-datasets/dstc8-schema-guided-dialogue",
        "e852981ae34990f4358979625854259302feaa78",
        "CC BY-SA 4.0",
        "LICENSE.txt",
        "turns of users, all parts",
        inference.schema_guided_changes,
    ),
    PairSource(
        "open-pi",
        "allenai/openpi-dataset",
        "90acda8957e232decad40c41d86af79800bdd68e",
        "MIT",
        "LICENSE",
        "the answers of workers, without the steps",
        inference.open_pi,
    ),
    PairSource(
        "pro-para",
        "allenai/propara",
        "51a3cccbedcbe5f92276f9925e0ce1e6ec4247bb",
        "Apache-2.0",
        "LICENSE",
        "grids of EMNLP 2018, train and dev",
        inference.pro_para,
    ),
    PairSource(
        "persona talks",
        "google-research-datasets/Synthetic-Persona-Chat",
        "1f367a0f05d388ca96ebbbc9e5752ab19ac76510",
        "CC BY 4.0",
        "README.md",
        "sentences of the talks, valid and test",
        inference.persona_talks,
    ),
    PairSource(
        "e2e",
        "tuetschek/e2e-dataset",
        "ab0d967dd5729ce455ef14ba9ffafc456a335264",
        "CC BY-SA 4.0",
        "README.md",
        "dev and test",
        inference.restaurants,
    ),
]
