"""Models of sentence-transformers, from a folder. The library brings torch, so that Perdure does not install it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from perdure.embed.folder import Encode, FolderEmbedder, import_package
from perdure.embed.port import Embedder, Vectors
from perdure.providers.options import Options


def open_embedder(model: str, options: Options) -> Embedder:
    return FolderEmbedder("sentence-transformers", model, options.cache, load_model)


def load_model(folder: Path) -> Encode:
    # Version 5 knows which words the model wants before a question and before what may answer it.
    library = import_package("sentence_transformers", "sentence-transformers>=5")
    # A bar in the terminal while it loads is of no use to anybody who asked for a memory.
    if hide_bar := getattr(sys.modules.get("transformers.utils.logging"), "disable_progress_bar", None):
        hide_bar()
    transformer = library.SentenceTransformer(str(folder), local_files_only=True)

    def encode(texts: Sequence[str], task: Literal["query", "passage"]) -> Vectors:
        run = transformer.encode_query if task == "query" else transformer.encode_document
        return run(list(texts), show_progress_bar=False, convert_to_numpy=True)

    return encode
