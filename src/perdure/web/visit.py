"""One request of a person: what they ask for, who they are, and what they may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from perdure.auth.authorise import AccessToken, Action, Scope, authorise
from perdure.clock import age, format_local, format_time, parse_time
from perdure.errors import InvalidInput, PerdureError, shown
from perdure.operations import ROWS
from perdure.web.markup import Child, Markup, PageLink, page_link, time_

if TYPE_CHECKING:
    from perdure.auth.tokens import Tokens
    from perdure.memory import Memory
    from perdure.settings import Settings

# How many a list shows.
PAGE: Final = 50
_LARGEST: Final = 2**53
_NO_QUERY: Final[Mapping[str, tuple[str, ...]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """`memory` is what they see: in one namespace, and written in their name. `home` is the namespace that they are in
    where no address says another one; `since` is when they were here before. `tokens` are None where nobody is asked
    for one.
    """

    memory: Memory
    token: AccessToken
    namespace: str
    home: str
    namespaces: tuple[str, ...]
    now: datetime
    settings: Settings
    tokens: Tokens | None
    screen: str = ""
    since: datetime | None = None
    query: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_QUERY)

    def one(self, name: str) -> str | None:
        """What the address says under a name; nothing where it says nothing."""
        values = self.query.get(name, ())
        return values[0].strip() or None if values else None

    def number(self, name: str) -> int | None:
        text = self.one(name)
        if text is not None and not (text.isascii() and text.isdigit() and int(text[:20]) < _LARGEST):
            raise InvalidInput(f"{name} must be a number, not {shown(text)}.")
        return None if text is None else int(text)

    def link(self, screen: str, /, **query: object) -> PageLink:
        """To a screen, in the same namespace."""
        place = {} if self.namespace == self.home else {"namespace": self.namespace}
        return page_link(screen, **{**place, **query})

    def here(self, /, **changes: object) -> PageLink:
        """To this screen, as it is but for these changes; what is None is left out."""
        return page_link(self.screen, **{**self.query, **changes})

    def at(self, address: str) -> Visit:
        """The same visit at another address: a form is answered as a part of the screen that it stands on."""
        path, _, query = address.partition("?")
        given = {name: tuple(values) for name, values in parse_qs(query).items()}
        return replace(self, screen=path.removeprefix("./"), query=given)

    @property
    def is_whole_store(self) -> bool:
        """Whether they may see all namespaces."""
        return self.token.namespaces is None

    @property
    def is_person(self) -> bool:
        return self.token.writer == "person"

    def may(self, verb: str, *, whole_store: bool = False) -> bool:
        """Whether they may do what a verb does: what they may not is not shown."""
        try:
            self.authorise(verb, whole_store=whole_store)
        except PerdureError:
            return False
        return True

    def authorise(self, verb: str, *, whole_store: bool = False) -> None:
        """The one authoriser is asked, for what the table of operations says that the verb needs."""
        scopes, is_whole = needs_of(verb)
        authorise(self.token, Action(verb, scopes), None if whole_store or is_whole else self.namespace, self.now)


def needs_of(verb: str) -> tuple[tuple[Scope, ...], bool]:
    """The scopes that a verb needs, and whether it is about the whole store. Of two ways to ask for it, the one that
    changes something counts.
    """
    rows = [row for row in ROWS if row.verb == verb]
    if not rows:
        raise LookupError(verb)
    row = max(rows, key=lambda row: (row.scopes != ("read",), len(row.scopes)))
    return row.scopes, row.whole_store


@dataclass(frozen=True, slots=True)
class Shown:
    """What a screen shows, and how to have the same as a command and in Python, which a refusal has not."""

    title: str
    body: Child
    command: tuple[str, ...] = ()
    python: str = ""
    # What stands beside the title.
    aside: Child = None


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen: its address, what makes it, and the verb whose rights it needs."""

    name: str
    title: str
    make: Callable[[Visit], Shown]
    verb: str
    # With `g` before it, the key that leads here; nothing for one that the menu does not have.
    key: str = ""
    whole_store: bool = False


@dataclass(frozen=True, slots=True)
class BackThen:
    """Which moment a list is about: `known_at`, what was known then; `as_of`, what was true then. None is now."""

    known_at: datetime | None = None
    as_of: datetime | None = None

    @property
    def given(self) -> dict[str, Any]:
        """As arguments of a verb that knows both."""
        return {name: value for name, value in (("known_at", self.known_at), ("as_of", self.as_of)) if value}

    @property
    def options(self) -> dict[str, Any]:
        """The same as they are typed."""
        return {name: format_time(value) for name, value in self.given.items()}


def past_of(visit: Visit) -> BackThen:
    """The moments that the sliders, or words such as `yesterday`, say. A slider at its end means now, which was `end`
    when it was drawn.
    """
    moments: dict[str, datetime | None] = {}
    end = visit.number("end") or int(visit.now.timestamp()) - 1
    for name, slider in (("known_at", "known"), ("as_of", "true")):
        words, position = visit.one(name), visit.number(slider)
        moments[name] = None if words is None else parse_time(words, name, visit.now)
        if words is None and position is not None and position < end:
            moments[name] = datetime.fromtimestamp(position, UTC)
    return BackThen(**moments)


def when(moment: datetime, now: datetime) -> Markup:
    """How long ago; the exact time is shown when somebody points at it."""
    return time_(age(moment, now), datetime=format_time(moment), title=format_local(moment))
