"""The tokens of a store, wherever they are kept: a file that belongs to it, or a table of its database."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final, cast

from perdure.auth.authorise import SCOPES, AccessToken, Scope
from perdure.clock import Clock
from perdure.errors import Conflict, InvalidInput, NotFound, Unauthenticated, shown
from perdure.remedies import Remedy, Run
from perdure.validation import check_choice, check_namespaces, check_single_line
from perdure.vocabulary import WRITERS, Writer

# A token is `perdure_<id>_<secret>`: the id is no secret, and says which of those that are kept to compare with.
PREFIX: Final = "perdure_"
MAX_TOKEN_CHARACTERS: Final = 200
_ID_BYTES: Final = 5
_SECRET_BYTES: Final = 32
_UNKNOWN: Final = sha256(b"no token has this secret").hexdigest()


@dataclass(frozen=True, slots=True)
class KeptToken:
    """A token as it is kept: with the hash of its secret, never the secret itself."""

    token: AccessToken
    digest: str


class Tokens(ABC):
    """The tokens of one store. They may be used by any number of threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @abstractmethod
    def _read(self) -> Mapping[str, KeptToken]:
        """All of them by id, oldest first."""

    @abstractmethod
    def _add(self, kept: KeptToken) -> None:
        """Kept for good when this returns. Conflict when a valid token has the name."""

    @abstractmethod
    def _revoke(self, id: str, at: datetime) -> None:
        """Revoked for good when this returns."""

    @property
    def is_current(self) -> bool:
        """Whether a token can be looked up without waiting for anybody. Where not, `look` waits."""
        return True

    def look(self) -> None:
        """See what others have made and revoked meanwhile."""
        self._read()

    def create(
        self,
        name: str,
        *,
        scopes: tuple[str, ...] = ("read", "write"),
        namespaces: tuple[str, ...] | None,
        writer: str = "model",
        expires_at: datetime | None = None,
    ) -> tuple[AccessToken, str]:
        """Make a token. The second value is what its holder has to show: it is kept nowhere, and shown once."""
        if not scopes:
            raise InvalidInput("A token without a scope is good for nothing.", remedy=f"Choose of {', '.join(SCOPES)}.")
        for scope in scopes:
            check_choice(SCOPES, scope, "scope")
        check_choice(WRITERS, writer, "writer")
        now = self._clock()
        if expires_at is not None and expires_at <= now:
            raise InvalidInput("The token would have expired already.", remedy="Name a time that is still to come.")
        token = AccessToken(
            secrets.token_hex(_ID_BYTES),
            check_single_line(name, "name"),
            cast("tuple[Scope, ...]", tuple(scope for scope in SCOPES if scope in scopes)),
            None if namespaces is None else tuple(check_namespaces(namespaces)),
            cast("Writer", writer),
            now,
            expires_at,
        )
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._add(KeptToken(token, _digest(secret)))
        return token, f"{PREFIX}{token.id}_{secret}"

    def revoke(self, name: str) -> AccessToken:
        """Revoke the token of this name or id. Servers refuse it from the next time on that they look."""
        valid = [each for each in self.list() if each.revoked_at is None]
        named = next((each for each in valid if name in (each.id, each.name)), None)
        if named is None:
            raise NotFound(f"No valid token is called {shown(name)}.", remedy=Remedy("See them: ", Run("token list")))
        now = self._clock()
        self._revoke(named.id, now)
        return replace(named, revoked_at=now)

    def copy_to(self, others: Tokens, *, dry_run: bool = False) -> int:
        """Make what counts here count there, too, and revoke there what is revoked here; how many were new. Nothing
        that is revoked on either side counts again. A name that another valid token has there gets its id behind it.
        """
        known = others._read()
        now, new = self._clock(), 0
        for id, kept in self._read().items():
            token, there = kept.token, known.get(id)
            if there is None:
                if token.revoked_at is None and (token.expires_at is None or token.expires_at > now):
                    new += 1
                    if not dry_run:
                        others._add_copy(kept)
            elif token.revoked_at is not None and there.token.revoked_at is None and not dry_run:
                others._revoke(id, token.revoked_at)
        return new

    def _add_copy(self, kept: KeptToken) -> None:
        try:
            self._add(kept)
        except Conflict:
            self._add(replace(kept, token=replace(kept.token, name=f"{kept.token.name} {kept.token.id}")))

    def list(self) -> list[AccessToken]:
        """All tokens that were ever made here, oldest first."""
        return [kept.token for kept in self._read().values()]

    def find(self, presented: str) -> AccessToken:
        """The token that somebody shows, whether it still counts or not: that is for `authorise` to say."""
        id, _, secret = presented[:MAX_TOKEN_CHARACTERS].removeprefix(PREFIX).partition("_")
        kept = self._read().get(id)
        digest = _digest(secret)
        # Compared in any case, and in constant time: how long it takes tells nothing.
        if not compare_digest(digest, kept.digest if kept else _UNKNOWN) or kept is None:
            raise Unauthenticated("That is not a token of this store.")
        return kept.token

    def by_id(self, id: str) -> AccessToken | None:
        """A token that was shown before, as it is now."""
        kept = self._read().get(id)
        return kept.token if kept else None


def name_taken(name: str) -> Conflict:
    return Conflict(f"There is a token {shown(name)} already.", remedy="Choose another name, or revoke that one first.")


def _digest(secret: str) -> str:
    """The secret is 256 random bits, so that one round of a hash is enough: it cannot be guessed."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
