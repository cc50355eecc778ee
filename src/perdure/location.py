"""Where a store is: a file, the memory of this process, a server, or a database. What belongs to a store and is not in
it, such as its tokens, asks the location where to be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias, TypeGuard

from perdure.errors import InvalidInput, NotAFile, StoreRemote
from perdure.files import directory
from perdure.remedies import Flag, Remedy
from perdure.text.patterns import pattern
from perdure.validation import refuse_address
from perdure.values import value_class

StrPath: TypeAlias = str | os.PathLike[str]

IN_MEMORY: Final = ":memory:"
# The entry points by which stores in databases are found, each named as the scheme of its addresses.
STORES: Final = "perdure.stores"
# The schemes of our own stores, each with the extra of the package that installs its driver.
EXTRAS: Final = {"postgresql": "postgres"}
_ALIASES: Final = {"postgres": "postgresql"}
_SERVER: Final = pattern(r"https?:", re.IGNORECASE)
_DATABASE: Final = pattern(r"([a-z][a-z0-9+.-]+)://(.*)", re.IGNORECASE | re.DOTALL)
# What a query may say about which store is meant; nothing else of it is ever shown. And what it may say besides that is
# no secret.
_NAMING: Final = frozenset({"dbname", "host", "port", "schema", "service", "user"})
_HARMLESS: Final = frozenset({"connect_timeout", "hostaddr", "prepare", "sslmode", "sslrootcert"})
_HASH_DIGITS: Final = 12


@value_class
class StoreLocation:
    """`address` is what the store is opened by, and may hold a password: it is for the store alone. `shown` is for
    people, and names the same store without one. `home` is the folder for what belongs to it, of one without a file.
    `holds_secret`: the address must not be written into a file.
    """

    kind: Literal["file", "memory", "server", "database"]
    address: str
    shown: str
    home: Path | None = None
    holds_secret: bool = False

    @classmethod
    def of_database(cls, scheme: str, address: str, rest: str, home: Path) -> Self:
        """`rest` is what stands behind `scheme://`. All before its last `@` is taken for user and password, so that a
        password may hold a slash.
        """
        place, _, query = rest.partition("?")
        if "@" in query or "#" in rest:
            raise NotAFile(
                "The address of the store holds signs that make it unclear where its password ends.",
                remedy="Write them as %40 (@), %23 (#), %3F (?) and %2F (/), or keep the password in PGPASSWORD.",
            )
        user_and_password, at, host = place.rpartition("@")
        user, colon, _ = user_and_password.partition(":")
        options = {part.partition("=")[0]: part for part in query.split("&") if part}
        named = "&".join(part for option, part in options.items() if option in _NAMING)
        shown = f"{scheme}://{user}{at}{host}{'?' if named else ''}{named}"
        return cls("database", address, shown, home, bool(colon) or not options.keys() <= _NAMING | _HARMLESS)

    @property
    def path(self) -> Path:
        """The file of the store. StoreRemote when it has none."""
        if self.kind not in {"file", "memory"}:
            raise StoreRemote(f"The store is {self.shown}, and this needs a file.")
        return Path(self.address)

    @property
    def scheme(self) -> str:
        """Of a database: the name of the store's entry point."""
        return self.shown.partition(":")[0]

    @property
    def is_missing(self) -> bool:
        """Whether it is a file that is not there. For other places that is known only after opening."""
        return self.kind == "file" and not self.path.exists()

    def beside(self, name: str) -> Path:
        """A file or folder that belongs to the store: beside its file, else among the user's data, under a hash of the
        address. A password is no part of the hash, because it may change.
        """
        if self.kind == "memory":
            raise InvalidInput(
                f"A store that lives in memory has no place for {name}.",
                remedy=Remedy("Name a file with ", Flag("store"), "."),
            )
        if self.home is None:
            path = self.path.absolute()
            return path.with_name(f"{path.name}-{name}")
        return self.home / f"store-{sha256(self.shown.encode()).hexdigest()[:_HASH_DIGITS]}-{name}"

    def __repr__(self) -> str:
        return f"StoreLocation({self.shown!r})"


def is_server(store: object) -> TypeGuard[str]:
    """Whether the address of a store is the URL of a server."""
    return isinstance(store, str) and _SERVER.match(store) is not None


def locate(
    store: StrPath | StoreLocation, environ: Mapping[str, str] = os.environ, name: str = "The store"
) -> StoreLocation:
    """What somebody wrote for a store, as a location. `name` is how an error calls it. An address of an unknown kind is
    refused, and not shown.
    """
    if isinstance(store, StoreLocation):
        return store
    if is_server(store):
        refuse_secrets(store)
        return StoreLocation("server", store, store, directory("data", environ))
    if isinstance(store, str) and (database := _DATABASE.fullmatch(store)):
        scheme = database[1].lower()
        scheme = _ALIASES.get(scheme, scheme)
        if scheme in EXTRAS or scheme in installed_stores():
            return StoreLocation.of_database(scheme, store, database[2], directory("data", environ))
    refuse_address(store, name)
    path = Path(store)
    if path == Path(IN_MEMORY):
        return StoreLocation("memory", IN_MEMORY, IN_MEMORY)
    path = str(path.expanduser())
    return StoreLocation("file", path, path)


@lru_cache(maxsize=1)
def installed_stores() -> frozenset[str]:
    """The schemes of the stores that any installed package brings."""
    from importlib.metadata import entry_points

    return frozenset(point.name for point in entry_points(group=STORES))


def refuse_secrets(url: str) -> None:
    """A password or a token in a server's address would stand in files, on screens and in the list of processes."""
    for signs, held in (("@", "a user name or a password"), ("?#", "more than a server and a path")):
        if not set(signs).isdisjoint(url):
            remedy = "Write https://host, or on this machine http://127.0.0.1:8733; the token stands apart."
            raise InvalidInput(f"The URL of the store holds {held}.", remedy=remedy)


def from_home(path: str) -> str:
    """A path as a person would type it: `~/memory.db` where it lies below their home."""
    home = os.environ.get("HOME")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}{os.sep}") else path
