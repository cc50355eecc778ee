"""What `--json` prints: one document, safe on any terminal and complete in any encoding."""

from __future__ import annotations

import json
import re
import sys
from typing import Final

# `json` escapes C0 only; DEL, C1 and direction marks could still steer a terminal.
_UNSAFE: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def document(value: object) -> str:
    utf8 = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
