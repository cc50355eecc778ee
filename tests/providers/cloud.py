"""Servers on this machine that pass for those of a cloud: names, public addresses and certificates are made up, and
everything in between is real. The fixture is `cloud` in `tests/conftest.py`.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from providers.server import FaultServer

# Addresses of IANA's own pages: public, and nobody's provider.
PUBLIC = "192.0.43."


def certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """A certificate that nobody trusts, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    chain, key = folder / f"{host}.pem", folder / f"{host}.key"
    command = [
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"),
        *("-keyout", str(key), "-out", str(chain), "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"),
        *("-addext", "keyUsage=critical,digitalSignature,keyCertSign"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return chain, key


class Cloud:
    """Call it with the name of a host: the server that answers there over https, as long as the test runs."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, servers: ExitStack) -> None:
        self.lookups: list[str] = []
        self.addresses: dict[str, list[str]] = {}
        self._folder = folder
        self._patch = patch
        self._servers = servers
        self._ports: dict[str, int] = {}
        patch.setattr(socket, "getaddrinfo", self._look_up)
        patch.setattr(socket, "create_connection", self._connect_here)

    def __call__(self, host: str, *, trusted: bool = True, name: str | None = None) -> FaultServer:
        """`name` is the name in its certificate, if it is not the host's."""
        chain, key = certificate(self._folder, name or host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        server = self._servers.enter_context(FaultServer(context))
        address = f"{PUBLIC}{len(self._ports) + 1}"
        self.addresses[host] = [address]
        self._ports[address] = server.port
        if trusted:
            bundle = self._folder / "trusted.pem"
            with bundle.open("a", encoding="ascii") as file:
                file.write(chain.read_text(encoding="ascii"))
            self._patch.setenv("SSL_CERT_FILE", str(bundle))
        return server

    def move(self, host: str, address: str) -> None:
        """From now on the host's server answers at this address."""
        self._ports[address] = self._ports[self.addresses[host][0]]
        self.addresses[host] = [address]

    def _look_up(self, host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        self.lookups.append(host)
        if host not in self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        kinds = [(socket.AF_INET6 if ":" in address else socket.AF_INET, address) for address in self.addresses[host]]
        return [(family, socket.SOCK_STREAM, 6, "", (address, port)) for family, address in kinds]

    def _connect_here(self, address: tuple[str, int], *arguments: Any, **options: Any) -> socket.socket:
        host, port = address
        if not host.startswith("127."):
            assert port == 443, "a cloud is asked over https"
            if host not in self._ports:
                raise ConnectionRefusedError(111, "Connection refused")
            host, port = "127.0.0.1", self._ports[host]
        connection = socket.socket()
        connection.settimeout(options["timeout"] if "timeout" in options else arguments[0])
        try:
            connection.connect((host, port))
        except OSError:
            connection.close()
            raise
        return connection
