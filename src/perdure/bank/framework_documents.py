"""Documents of frameworks: what such a document is as a memory, its key and the entries of its metadata. The adapters
write them, and the import of the table in which LangGraph keeps a store.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from perdure.errors import InvalidInput, TextTooLong
from perdure.ids import check_key
from perdure.model import Json
from perdure.validation import MAX_METADATA_BYTES, check_metadata

# Entries of metadata: where a document lies, its name, and its text where a memory cannot have that text.
FOLDERS: Final = "folders"
NAME: Final = "name"
BLANK: Final = "blank"
_HASHED: Final = "sha256="
# Room for the entries that stand beside a value.
_MAX_VALUE_BYTES: Final = MAX_METADATA_BYTES // 2


def document_key(kind: str, name: str) -> str:
    """The key of the memory: readable where a key can be so, else by a hash of the name."""
    key = f"{kind}:{name}"
    with suppress(InvalidInput):
        is_plain = not name.startswith(_HASHED) and name == name.strip() == unicodedata.normalize("NFC", name)
        if is_plain and check_key(key) == key:
            return key
    return f"{kind}:{_HASHED}{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def fits_metadata(value: Json) -> bool:
    """Whether a value comes back from metadata as it was: it is JSON, neither too deep nor too large."""
    try:
        kept = check_metadata({"value": value}, "value")
    except (InvalidInput, TextTooLong):
        return False
    return kept["value"] == value and len(str(value)) < _MAX_VALUE_BYTES


class LangGraph:
    """An item of a store of LangGraph: its name has its namespace and its key, its folders are its namespaces."""

    KIND: Final = "langgraph"
    VALUE: Final = "value"
    SEARCHABLE: Final = "searchable"
    TTL: Final = "ttl"

    @staticmethod
    def name(namespace: Sequence[str], key: str) -> str:
        return json.dumps([*namespace, key])

    @staticmethod
    def folder(namespace: Sequence[str]) -> str:
        return json.dumps(list(namespace))

    @classmethod
    def folders(cls, namespace: Sequence[str]) -> list[str]:
        return [cls.folder(namespace[:depth]) for depth in range(1, len(namespace) + 1)]

    @staticmethod
    def readable(value: Mapping[str, Any]) -> str:
        """A value as a person reads it: the one text that it has, or a line for each entry."""
        if len(value) == 1 and isinstance(only := next(iter(value.values())), str):
            return only
        return "\n".join(
            f"{name}: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}"
            for name, each in value.items()
        )
