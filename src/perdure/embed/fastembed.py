"""ONNX models, run by fastembed, from a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from perdure.embed.folder import Encode, FolderEmbedder, need
from perdure.embed.port import Embedder, Vectors
from perdure.errors import EmbedderUnavailable
from perdure.providers.options import Options

# Where exporters put the model.
_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "model_quantized.onnx")


def open_embedder(model: str, options: Options) -> Embedder:
    return FolderEmbedder("fastembed", model, options.cache, load_model)


def load_model(folder: Path) -> Encode:
    library = need("fastembed", "fastembed>=0.7")
    kinds = need("fastembed.common.model_description", "fastembed>=0.7")
    file = next((name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise EmbedderUnavailable(
            f"There is no model in {folder} that fastembed could run.",
            remedy="It needs an ONNX file, model.onnx, with the tokenizer.json of the model beside it.",
        )
    pooling = _json(folder / "1_Pooling" / "config.json")
    kind = kinds.PoolingType.CLS if pooling.get("pooling_mode_cls_token") else kinds.PoolingType.MEAN
    name = f"perdure {folder} {(folder / file).stat().st_mtime_ns}"
    if all(known["model"] != name for known in library.TextEmbedding.list_supported_models()):
        # It wants to know where to download the model from, which `specific_model_path` makes unnecessary, and how
        # long its vectors are, which it only repeats.
        library.TextEmbedding.add_custom_model(
            model=name,
            pooling=kind,
            normalization=True,
            sources=kinds.ModelSource(url="file:///nowhere"),
            dim=_json(folder / "config.json").get("hidden_size", 0),
            model_file=file,
        )
    running = library.TextEmbedding(model_name=name, specific_model_path=str(folder), local_files_only=True)

    def encode(texts: Sequence[str], task: Literal["query", "passage"]) -> Vectors:
        import numpy as np

        run = running.query_embed if task == "query" else running.passage_embed
        return np.stack(list(run(list(texts))))

    return encode


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes()) if path.is_file() else {}
