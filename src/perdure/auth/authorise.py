"""The one authoriser: whether a token allows an action in a namespace. Every route and every tool of a server declares
its action, and every request passes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

from perdure.errors import AccessDenied, Unauthenticated, shown
from perdure.remedies import Remedy, Run
from perdure.vocabulary import Writer

Scope: TypeAlias = Literal["read", "write", "delete", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What a token allows; never the token itself. `namespaces` are the ones that it is good for, None means all. What
    is done with it is written as its `name`, and as a person or a model.
    """

    id: str
    name: str
    scopes: tuple[Scope, ...]
    namespaces: tuple[str, ...] | None
    writer: Writer
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What a route or a tool does, as far as rights go: it needs every one of its scopes."""

    name: str
    scopes: tuple[Scope, ...]


def authorise(token: AccessToken | None, action: Action, namespace: str | None, now: datetime) -> AccessToken:
    """Give the token back, or raise why it does not allow the action. Without a `namespace` the action is about the
    whole store, and the token must be good for all namespaces. Nothing is said about whether a namespace exists.
    """
    if token is None:
        raise Unauthenticated
    if token.revoked_at is not None:
        raise Unauthenticated(f"The token {shown(token.name)} was revoked.")
    if token.expires_at is not None and token.expires_at <= now:
        raise Unauthenticated(f"The token {shown(token.name)} has expired.")
    if not action.scopes:
        # An action that says nothing about rights is a mistake, and a mistake must not open a door.
        raise AccessDenied(f"{action.name} does not say what it needs.")
    missing = [scope for scope in action.scopes if scope not in token.scopes]
    if missing:
        has = ", ".join(token.scopes) or "none"
        wanted = [scope for scope in SCOPES if scope in {*token.scopes, *action.scopes}]
        raise AccessDenied(
            f"{action.name} needs the scope {missing[0]}, and the token has {has}.",
            remedy=Remedy("Use a token that has it: ", Run("token create", "NAME", scope=wanted), " makes one."),
        )
    if token.namespaces is None:
        return token
    if namespace is None:
        raise AccessDenied(
            f"{action.name} is about all namespaces, and the token is good for some of them.",
            remedy=Remedy("Use a token for all namespaces: ", Run("token create", all_namespaces=True), "."),
        )
    if namespace not in token.namespaces:
        raise AccessDenied(
            f"The token is not good for the namespace {shown(namespace)}.",
            remedy=Remedy("Name a namespace that it is good for; ", Run("token list"), " shows them."),
        )
    return token
