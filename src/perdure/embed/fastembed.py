"""ONNX models, run by fastembed, from a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from perdure.embed.folder import Encode, FolderEmbedder, import_package
from perdure.embed.port import Embedder, Vectors
from perdure.errors import EmbedderUnavailable
from perdure.providers.options import Options

_NEEDED: Final = "fastembed>=0.7"
# Where exporters put the model.
_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "model_quantized.onnx")
# How one vector is made of those of the tokens: as a model's configuration says it (with a switch for each, until
# version 5 of sentence-transformers), and as fastembed does.
_SWITCHES: Final = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
_POOLING: Final = {"mean": "MEAN", "cls": "CLS", "lasttoken": "LAST_TOKEN"}
# What a model may consist of. Without its other parts the vectors would be wrong, unnoticed.
_PARTS: Final = frozenset({"Transformer", "Pooling", "Normalize"})
# The names of the words that stand before a text.
_PROMPTS: Final = {"query": ("query",), "passage": ("document", "passage", "corpus")}


def open_embedder(model: str, options: Options) -> Embedder:
    return FolderEmbedder("fastembed", model, options.cache, load_model, "fastembed", _NEEDED)


def load_model(folder: Path) -> Encode:
    library = import_package("fastembed", _NEEDED)
    kinds = import_package("fastembed.common.model_description", _NEEDED)
    file = next((name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise EmbedderUnavailable(
            f"There is no model in {folder} that fastembed could run.",
            remedy="It needs an ONNX file, model.onnx, with the tokenizer.json of the model beside it.",
        )
    name = f"perdure {folder} {(folder / file).stat().st_mtime_ns}"
    if all(known["model"] != name for known in library.TextEmbedding.list_supported_models()):
        # It wants to know where to download the model from, which `specific_model_path` makes unnecessary, and how
        # long its vectors are, which it only repeats.
        library.TextEmbedding.add_custom_model(
            model=name,
            pooling=kinds.PoolingType[_POOLING[pooling_mode(folder)]],
            normalization=True,
            sources=kinds.ModelSource(url="file:///nowhere"),
            dim=_json(folder / "config.json", {}).get("hidden_size", 0),
            model_file=file,
        )
    running = library.TextEmbedding(model_name=name, specific_model_path=str(folder), local_files_only=True)
    prompts: dict[str, str] = _json(folder / "config_sentence_transformers.json", {}).get("prompts") or {}

    def encode(texts: Sequence[str], task: Literal["query", "passage"]) -> Vectors:
        import numpy as np

        run = running.query_embed if task == "query" else running.passage_embed
        prompt = next((prompts[name] for name in _PROMPTS[task] if prompts.get(name)), "")
        return np.stack(list(run([prompt + text for text in texts])))

    return encode


def pooling_mode(folder: Path) -> str:
    """How the model was trained to make one vector of many. Without a word about it, their mean."""
    config = _json(folder / "1_Pooling" / "config.json", {})
    given = config.get("pooling_mode") or [mode for switch, mode in _SWITCHES.items() if config.get(switch)] or "mean"
    modes = [given] if isinstance(given, str) else list(given)
    parts = {part["type"].rpartition(".")[2] for part in _json(folder / "modules.json", [])}
    if len(modes) > 1 or modes[0] not in _POOLING or parts - _PARTS:
        strange = ", ".join([*sorted(parts - _PARTS), *modes])
        raise EmbedderUnavailable(
            f"fastembed cannot run all that the model in {folder} consists of: {strange}.",
            remedy="Run it with sentence-transformers, or choose another model.",
        )
    return modes[0]


def _json(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_bytes()) if path.is_file() else otherwise
