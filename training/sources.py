"""Every source of the training data: where it is, at which commit, under which licence, and how it is read.

The licence is the one that stands in the snapshot itself, in the file named beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training import readers
from training.snapshots import Snapshot
from training.templates import Group


@dataclass(frozen=True)
class Source:
    name: str
    repository: str
    commit: str
    licence: str
    licence_file: str
    read: Callable[[Snapshot, Random], list[Group]]


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
