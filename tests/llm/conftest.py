from __future__ import annotations

from providers.conftest import cloud, server

__all__ = ["cloud", "server"]
