"""Where a provider may be: the URL of its server, and the addresses its name stands for. Pure: nothing here asks a
resolver or opens a connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from perdure.errors import EgressForbidden, shown

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Nothing but ASCII, so that no letter is only alike; no user, no query, no fragment.
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?(?P<path>(/[!-~]*)?)",
    re.IGNORECASE | re.ASCII,
)
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.ASCII)
# 127.1, 2130706433, 0x7f.0.0.1: the C library reads these as addresses.
_NUMBER: Final = re.compile(r"([0-9]+|0x[0-9a-f]*)", re.ASCII)
_WRITE_IT_SO: Final = "Write it as https://host/path; only on this machine, as http://127.0.0.1:port/path."
_LONGEST_NAME: Final = 253
_PORTS: Final = 65535

LOOPBACK: Final = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
# IANA's registries of special-purpose addresses, written out because interpreters differ in what they call global.
_NOT_PUBLIC: Final[tuple[Network, ...]] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
        "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
        "168.63.129.16/32 ::/3 2001::/23 2001:db8::/32 3fff::/20 4000::/2 8000::/1"
    ).split()
)  # 168.63.129.16 looks public, but answers for the machine's own cloud
# Networks whose addresses end in an IPv4 address to which the packet really goes.
_MAPPED: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
_6TO4: Final = IPv6Network("2002::/16")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, as its URL names it."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def address(self) -> Address | None:
        """The address, if the URL names one instead of a name."""
        return _literal(self.host)

    @property
    def is_loopback(self) -> bool:
        """`localhost` is this machine by definition, so it is never looked up."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        address = self.address
        return address is not None and _real(address).is_loopback

    @property
    def authority(self) -> str:
        """The host, with the port where it is not the usual one, as the header `Host` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _usual_port(self.scheme) else f"{host}:{self.port}"


def _usual_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def parse_url(url: str) -> Endpoint:
    """The server that a URL names. Raises `EgressForbidden` where it could be read in two ways."""
    if "@" in url:
        # It may hold a password, so that it is not shown.
        raise EgressForbidden("The URL of the provider holds a user name or a password.", remedy=_WRITE_IT_SO)
    match = _URL.fullmatch(url)
    if match is None or any(sign in match["path"] for sign in "?#\\"):
        raise EgressForbidden(f"{shown(url)} is not the URL of a provider.", remedy=_WRITE_IT_SO)
    scheme, host = match["scheme"].lower(), match["host"].lower().strip("[]")
    port = int(match["port"] or _usual_port(scheme))
    is_name = _NAME.fullmatch(host) and len(host) <= _LONGEST_NAME and not _NUMBER.fullmatch(host.rpartition(".")[2])
    is_address = _literal(host) is not None and match["host"].startswith("[") == (":" in host)
    if not 0 < port <= _PORTS or not (is_name or is_address):
        raise EgressForbidden(f"{shown(url)} does not name a server that can be asked.", remedy=_WRITE_IT_SO)
    return Endpoint(scheme, host, port, match["path"].rstrip("/"))


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def same_server(one: str, other: str) -> bool:
    """Whether two URLs lead to one server, so that what belongs to the one may be sent to the other."""
    try:
        return parse_url(one).origin == parse_url(other).origin
    except EgressForbidden:
        return False


def check_endpoint(endpoint: Endpoint, egress: Sequence[str]) -> None:
    """Whether the settings let texts go to this server. Raises `EgressForbidden` if not."""
    if endpoint.is_loopback:
        return
    if endpoint.scheme != "https":
        raise EgressForbidden(
            f"The URL of {endpoint.host} begins with http://, so that everybody on the way could read the texts.",
            remedy="Write https://; without it only this machine is asked.",
        )
    address = endpoint.address
    names = {entry.lower() for entry in egress}
    named = endpoint.host in names if address is None else _in_networks(address, egress)
    if not named:
        raise _forbidden(f"The settings do not let texts go to {endpoint.host}.", egress, endpoint.host)
    if address is not None:
        check_addresses(endpoint, [address], egress)


def check_addresses(endpoint: Endpoint, addresses: Iterable[Address], egress: Sequence[str]) -> None:
    """Whether every address that the name stands for may be connected to. Raises `EgressForbidden` if one may not:
    the owner of a name must not lead the request to this machine or into its network.
    """
    for address in addresses:
        real = _real(address)
        if endpoint.is_loopback and real.is_loopback:
            continue
        if real.is_unspecified or real.is_multicast or real == IPv4Address("255.255.255.255"):
            raise EgressForbidden(
                f"{endpoint.host} is {address}, which is not the address of a server.",
                remedy="Name the server; this machine is 127.0.0.1.",
            )
        if any(real in network for network in _NOT_PUBLIC) and not _in_networks(address, egress):
            raise _forbidden(
                f"{endpoint.host} is {address}, an address inside a private network.", egress, str(address)
            )


def _real(address: Address) -> Address:
    """The address to which a packet goes: an IPv4 address may be written inside an IPv6 address."""
    if isinstance(address, IPv6Address):
        if any(address in network for network in _MAPPED):
            return IPv4Address(int(address) & 0xFFFFFFFF)
        if address in _6TO4:
            return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return address


def _in_networks(address: Address, egress: Sequence[str]) -> bool:
    """Whether the address, or a network that holds it, is named."""
    for entry in egress:
        try:
            network = ip_network(entry, strict=False)
        except ValueError:
            continue
        if _real(address) in network or address in network:
            return True
    return False


def _forbidden(sentence: str, egress: Sequence[str], missing: str) -> EgressForbidden:
    line = ", ".join(f'"{entry}"' for entry in [*egress, missing])
    return EgressForbidden(
        sentence,
        remedy=f"If texts may be sent there, write `egress = [{line}]` into perdure.toml, or set "
        f"PERDURE_EGRESS={','.join([*egress, missing])}.",
    )
