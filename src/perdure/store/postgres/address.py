"""Where a database is: an address as libpq takes it, with two options of our own, and never a password to be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from perdure.errors import InvalidInput
from perdure.store.postgres.sql import DEFAULT_SCHEMA
from perdure.values import value_class

# Ours, and taken out before libpq sees the address.
_OWN_OPTIONS: Final = ("schema", "prepare")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# A machine that is gone is noticed within half a minute, by who has sent something and by who waits for an answer.
_DEFAULTS: Final = {
    "connect_timeout": "10", "tcp_user_timeout": "10000", "keepalives_idle": "10", "keepalives_interval": "5",
    "keepalives_count": "3", "target_session_attrs": "read-write",
}  # fmt: skip
_FORM: Final = "Write it as postgresql://user@host/database, with the password in PGPASSFILE or PGPASSWORD."


@value_class
class Address:
    """`conninfo` is what libpq gets, and may hold a password. `shown` is what anybody may see. `prepares` says whether
    statements are prepared; None: unless a pooler stands before the server.
    """

    conninfo: str
    schema: str
    prepares: bool | None
    shown: str

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def parse_address(address: str, shown: str) -> Address:
    body, _, query = address.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    own = {name: value for name, value in options if name in _OWN_OPTIONS}
    left = urlencode([option for option in options if option[0] not in _OWN_OPTIONS], quote_via=quote)
    schema = own.get("schema") or DEFAULT_SCHEMA
    prepare = own.get("prepare")
    if prepare not in (None, "on", "off"):
        raise InvalidInput("The option prepare of a database's address is on or off.", remedy=_FORM)
    if "\0" in schema or len(schema.encode("utf-8", "replace")) > 63:  # noqa: PLR2004  (PostgreSQL's own limit)
        raise InvalidInput("The schema of a database's address is a name of at most 63 bytes.", remedy=_FORM)
    try:
        values: dict[str, Any] = conninfo_to_dict(f"{body}?{left}" if left else body)
    except Exception:  # noqa: BLE001  (whatever it says may quote the password)
        raise InvalidInput("The address of the database cannot be read.", remedy=_FORM) from None
    for name, value in _DEFAULTS.items():
        values.setdefault(name, value)
    if "sslmode" not in values and not os.environ.get("PGSSLMODE") and not _is_local(values):
        values["sslmode"] = "verify-full"
        own_root = Path("~/.postgresql/root.crt").expanduser()
        if "sslrootcert" not in values and not os.environ.get("PGSSLROOTCERT") and not own_root.exists():
            values["sslrootcert"] = "system"
    return Address(make_conninfo(**values), schema, None if prepare is None else prepare == "on", shown)


def _is_local(values: dict[str, Any]) -> bool:
    """Whether every host is this machine: a socket, or its own loopback."""
    hosts = f"{values.get('host') or os.environ.get('PGHOST') or ''}".split(",")
    return not values.get("hostaddr") and all(
        not host or host.startswith(("/", "@")) or host in _LOOPBACK for host in hosts
    )
