"""Where Ollama is: on this machine, unless its own variable OLLAMA_HOST says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

# A server that listens on all addresses is asked on this machine.
_THIS_MACHINE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - not to listen on
_PORTS: Final = {"": "11434", "http": "80", "https": "443"}


def ollama_url(environ: Mapping[str, str] = os.environ) -> str:
    """The URL of the server, from OLLAMA_HOST in any of the forms that Ollama takes: `host`, `:port`, `host:port`, or
    with a scheme. Whether it may be asked is decided by the setting `egress`.
    """
    scheme, _, place = environ.get("OLLAMA_HOST", "").strip().rpartition("://")
    host_and_port, _, path = place.partition("/")
    # `::1` is an address without a port.
    with_port = host_and_port.count(":") == 1 or "]:" in host_and_port
    host, _, port = host_and_port.rpartition(":") if with_port else (host_and_port, "", "")
    host = host.strip("[]")
    host = _THIS_MACHINE.get(host, host)
    where = f"[{host}]" if ":" in host else host
    return f"{scheme or 'http'}://{where}:{port or _PORTS.get(scheme, '')}/{path}".rstrip("/")
