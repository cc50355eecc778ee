"""Models of sentence-transformers, from a folder. The library brings torch, so that Perdure does not install it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from perdure.embed.folder import Encode, FolderEmbedder, import_package
from perdure.embed.port import Embedder, Vectors
from perdure.errors import EmbedderUnavailable, shown
from perdure.files import read_regular
from perdure.providers.options import Options

# Version 5 knows which words the model wants before a question and before what may answer it.
_LIBRARY: Final = ("sentence_transformers", "sentence-transformers>=5")
# Which parts a model is made of, in the order in which they work.
_PARTS: Final = "modules.json"
_MAX_BYTES: Final = 1 << 20
_REMEDY: Final = "Use a model that needs no code of its own, or serve it (Ollama, vLLM) and name the server."


def open_embedder(model: str, options: Options) -> Embedder:
    return FolderEmbedder("sentence-transformers", model, options.cache, load_model, *_LIBRARY)


def load_model(folder: Path) -> Encode:
    library = import_package(*_LIBRARY)
    require_library_parts(folder)
    # A bar in the terminal while it loads is of no use to anybody who asked for a memory.
    if hide_bar := getattr(sys.modules.get("transformers.utils.logging"), "disable_progress_bar", None):
        hide_bar()
    transformer = library.SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)

    def encode(texts: Sequence[str], task: Literal["query", "passage"]) -> Vectors:
        run = transformer.encode_query if task == "query" else transformer.encode_document
        return run(list(texts), show_progress_bar=False, convert_to_numpy=True)

    return encode


def require_library_parts(folder: Path) -> None:
    """Refuse a model that brings code of its own: earlier versions of the library import what lies in the folder,
    whatever they are told.
    """
    for path in sorted(folder.glob(_PARTS)) + sorted(folder.glob("*/router_config.json")):
        try:
            parts: Any = json.loads(read_regular(path, _MAX_BYTES))
            is_list = path.name == _PARTS
            types: list[Any] = [part["type"] for part in parts] if is_list else list(parts["types"].values())
            foreign = [name for name in types if not str(name).startswith("sentence_transformers.")]
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise EmbedderUnavailable(f"{path} cannot be read: {type(error).__name__}.", remedy=_REMEDY) from error
        if foreign:
            raise EmbedderUnavailable(
                f"{path} names code that does not belong to sentence-transformers: {shown(foreign[0])}.", remedy=_REMEDY
            )
