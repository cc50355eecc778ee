"""The one authoriser: every combination of what a token is and what an action needs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import combinations, product

import pytest
from clocks import NOON

from perdure.auth.authorise import SCOPES, AccessToken, Action, Scope, authorise
from perdure.errors import AccessDenied, Unauthenticated

OWNER = AccessToken("0a1b2c3d4e", "owner", SCOPES, None, "person", NOON)
SETS: list[tuple[Scope, ...]] = [chosen for size in range(5) for chosen in combinations(SCOPES, size)]
NAMESPACES: list[tuple[str, ...] | None] = [None, (), ("ours",), ("ours", "theirs")]


def test_a_token_allows_what_all_its_parts_allow_and_nothing_else():
    """16 by 16 sets of scopes, 4 kinds of namespaces, 3 requests: an action without a scope is never allowed."""
    allowed = 0
    for has, needs, granted, asked in product(SETS, SETS, NAMESPACES, ("ours", "elsewhere", None)):
        token = replace(OWNER, scopes=has, namespaces=granted)
        expected = bool(needs) and set(needs) <= set(has) and (granted is None or asked in granted)
        allowed += expected
        with nullcontext() if expected else pytest.raises(AccessDenied) as refused:
            authorise(token, Action("something", needs), asked, NOON)
        assert refused is None or not isinstance(refused.value, Unauthenticated)
    assert allowed == 325


@pytest.mark.parametrize(
    "token",
    [
        None,
        replace(OWNER, revoked_at=NOON),
        replace(OWNER, revoked_at=NOON + timedelta(days=1)),
        replace(OWNER, expires_at=NOON),
        replace(OWNER, expires_at=NOON - timedelta(microseconds=1)),
    ],
    ids=["none", "revoked", "revoked by a clock ahead", "expires now", "expired"],
)
def test_a_token_that_does_not_count_allows_nothing(token: AccessToken | None):
    for needs in SETS:
        with pytest.raises(Unauthenticated):
            authorise(token, Action("something", needs), "ours", NOON)


def test_a_token_counts_until_it_expires():
    token = replace(OWNER, expires_at=NOON + timedelta(microseconds=1))
    assert authorise(token, Action("something", ("read",)), "ours", NOON) is token


def test_a_refusal_says_what_is_missing_and_never_whether_a_namespace_exists():
    reader = replace(OWNER, scopes=("read",), namespaces=("ours",))
    with pytest.raises(AccessDenied, match="needs the scope delete, and the token has read") as scope:
        authorise(reader, Action("DELETE /v1/memories/{ref}", ("delete",)), "ours", NOON)
    assert "`perdure token create NAME --scope read --scope delete`" in scope.value.remedy
    assert "`perdure token create NAME --scope read --scope delete`" in scope.value.remedy_for("http")
    with pytest.raises(AccessDenied, match="not good for the namespace 'theirs'"):
        authorise(reader, Action("GET /v1/memories", ("read",)), "theirs", NOON)
    with pytest.raises(AccessDenied, match="about all namespaces"):
        authorise(reader, Action("GET /metrics", ("read",)), None, NOON)
