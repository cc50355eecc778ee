"""How Perdure's own encoder is made: the data (`prepare`), the training and its checks. Nothing here is shipped."""

from __future__ import annotations
