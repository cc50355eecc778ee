"""What had to be found out about a model, such as how long its vectors are, kept in the cache for the next process.

Which generation a store needs is then known while the provider cannot be reached.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from perdure.files import private_folder


def read_cached(cache: Path, model: str) -> str | None:
    try:
        content = json.loads(_file(cache, model).read_bytes())
        return content["value"] if content["model"] == model and isinstance(content["value"], str) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_cached(cache: Path, model: str, value: str | None) -> None:
    """None: it proved to be wrong. What cannot be written is found out again."""
    file = _file(cache, model)
    with suppress(OSError):
        if value is None:
            file.unlink()
            return
        private_folder(cache)
        handle, temporary = tempfile.mkstemp(prefix=file.name + ".", suffix=".tmp", dir=cache)
        with os.fdopen(handle, "wb") as written:
            written.write(json.dumps({"model": model, "value": value}).encode())
        Path(temporary).replace(file)


def _file(cache: Path, model: str) -> Path:
    return cache / f"model-{sha256(model.encode()).hexdigest()[:16]}.json"
