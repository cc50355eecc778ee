"""What all screens share: the frame around them, lists of memories, pages of a list, the sliders over time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.clock import format_local
from perdure.errors import NotFound, PerdureError
from perdure.model import Record
from perdure.text.patterns import pattern
from perdure.text.preview import clip, one_line
from perdure.web.markup import (
    NOTHING,
    Child,
    Markup,
    PageLink,
    a,
    button,
    code,
    details,
    div,
    document,
    footer,
    form,
    h1,
    h2,
    header,
    input_,
    kbd,
    label,
    li,
    main,
    nav,
    option,
    output,
    p,
    page_link,
    pre,
    section,
    select,
    small,
    span,
    strong,
    summary,
    table,
    tbody,
    td,
    th,
    thead,
    tr,
    ul,
)
from perdure.web.visit import BackThen, Screen, Shown, Visit, past_of, when

if TYPE_CHECKING:
    from perdure.model import Page

_LINE: Final = 160
_TAGS: Final = 8
_FIGURE: Final = pattern(r"[+-]?[0-9][0-9.,]*|", re.ASCII)


def frame(visit: Visit, shown: Shown, screens: Sequence[Screen], banner: Child = None) -> bytes:
    """A screen with the menu, the search, what was just done, and the same as a command and in Python."""
    entries = [
        li(
            a(
                screen.title,
                href=visit.link(screen.name),
                aria_current="page" if screen.name == visit.screen else None,
                data_go=screen.key,
            )
        )
        for screen in screens
        if screen.key and visit.may(screen.verb, whole_store=screen.whole_store)
    ]
    place = hidden(visit)
    search = form(
        place,
        label("Search", for_="q", class_="quiet"),
        input_(
            id="q", name="q", type="search", value=visit.one("q") if visit.screen == "search" else None,
            placeholder="Ask in your own words", autocomplete="off", maxlength=2000,
        ),
        button("Search", type="submit"),
        action=page_link("search"), method="get", role="search",
    )  # fmt: skip
    top = header(
        a("Skip to the content", href=PageLink("#content"), class_="skip"),
        a(strong("Perdure"), href=visit.link(""), class_="name"),
        search,
        namespace_choice(visit),
        class_="top",
    )
    menu = nav(ul(entries), id="menu", aria_label="Screens")
    content = main(
        banner or NOTHING,
        div(h1(shown.title), shown.aside, class_="title"),
        shown.body,
        same_elsewhere(shown) if shown.command else NOTHING,
        id="content",
        tabindex="-1",
    )
    bottom = footer(
        span(f"{visit.token.name} · {visit.namespace}"),
        span(a("Keys", href=visit.link("help")), " ", kbd("?"), class_="keys"),
        form(
            hidden(visit), button("Sign out", type="submit", class_="plain"), action=page_link("leave"), method="post"
        ),
        class_="bottom",
    )
    return document(shown.title, top, menu, content, bottom)


def namespace_choice(visit: Visit) -> Markup:
    if len(visit.namespaces) < 2:  # noqa: PLR2004 - one needs no choice
        return NOTHING
    options = [option(name, value=name, selected=name == visit.namespace) for name in visit.namespaces]
    return form(
        label("Namespace", for_="namespace", class_="quiet"),
        select(options, id="namespace", name="namespace"),
        button("Go", type="submit", class_="plain"),
        action=page_link(visit.screen if visit.screen in {"", "memories", "log", "review", "facts"} else ""),
        method="get",
        class_="place",
    )


def hidden(visit: Visit, /, **values: object) -> list[Markup]:
    """What a form sends besides what is typed."""
    place = {} if visit.namespace == visit.home else {"namespace": visit.namespace}
    given = {**place, **{name: value for name, value in values.items() if value is not None}}
    return [
        input_(type="hidden", name=name, value=str(each)) for name, value in given.items() for each in each_of(value)
    ]


def each_of(value: object) -> Sequence[object]:
    """Several values, or the one."""
    return cast("Sequence[object]", value) if isinstance(value, tuple | list) else (value,)


def same_elsewhere(shown: Shown) -> Markup:
    """The same as a command, and in Python."""
    return details(
        summary("The same as a command and in Python"),
        copied(command_line(shown.command), "Command"),
        copied(shown.python, "Python"),
        class_="same",
    )


def copied(text: str, what: str) -> Markup:
    """A text to be copied: with scripts by its button, without them by selecting it."""
    copy = button("Copy", type="button", class_="plain", data_copy=True, aria_label=f"Copy: {what}")
    return div(pre(code(text), tabindex="0", aria_label=what), copy, class_="copied")


def command_line(words: Sequence[str]) -> str:
    return shlex.join(words)


def spoken(visit: Visit, verb: str, *arguments: object, command: str | None = None, **options: Any) -> dict[str, Any]:
    """A call of a verb, as a command and in Python: `spoken(visit, "get", 7, command="show")`."""
    given = {name: value for name, value in options.items() if value not in (None, "", (), [])}
    words = ["perdure", *(command or verb).split(), *map(str, arguments)]
    for name, value in given.items():
        flag = f"--{name.removesuffix('s') if name in {'tags', 'states'} else name}".replace("_", "-")
        if value is True:
            words.append(flag)
            continue
        for each in each_of(value):
            words += [flag, str(each)]
    is_elsewhere = visit.namespace != visit.settings.namespace
    if is_elsewhere:
        words += ["--namespace", visit.namespace]
    memory = f"memory.namespace({visit.namespace!r})" if is_elsewhere else "memory"
    told = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in given.items())]
    return {"command": tuple(words), "python": f"{memory}.{verb}({', '.join(told)})"}


# -- memories ----------------------------------------------------------------------------------------------------------


def memory_link(visit: Visit, record: Record, past: BackThen | None = None, words: Child = None) -> Markup:
    """`words` stand for its title, or the beginning of its text."""
    known = {} if past is None or past.known_at is None else {"known_at": past.options["known_at"]}
    return a(
        words or clip(one_line(record.title or record.text), _LINE),
        href=visit.link("memory", n=record.number, **known), class_="memory",
    )  # fmt: skip


def badges(visit: Visit, record: Record, most_tags: int | None = _TAGS) -> list[Markup]:
    """What is out of the ordinary about a memory; tags and categories lead to others like it."""
    told: list[Markup] = []
    if record.category:
        told.append(a(record.category, href=visit.link("memories", category=record.category), class_="badge"))
    told += (a(f"#{tag}", href=visit.link("memories", tags=tag), class_="badge") for tag in record.tags[:most_tags])
    if most_tags is not None and len(record.tags) > most_tags:
        told.append(small(f"and {len(record.tags) - most_tags} more tags"))
    if record.state != "active":
        told.append(span(state_words(record.state), class_="badge gone"))
    if record.tier != "normal":
        told.append(span(record.tier, class_="badge tier"))
    if record.trust == "low":
        told.append(span("low trust", class_="badge gone"))
    return told


def state_words(state: str) -> str:
    """A state as people say it: the menu calls it forgetting, too."""
    return "forgotten" if state == "deleted" else state


def memory_list(
    visit: Visit, records: Iterable[Record], *, past: BackThen | None = None, more: Mapping[int, Child] | None = None
) -> Markup:
    """`more` is what stands below a memory, by its number."""
    rows = [
        li(
            div(
                span(f"#{record.number}", class_="number"),
                memory_link(visit, record, past),
                class_="line",
            ),
            div(badges(visit, record), small(when(record.valid_at or record.created_at, visit.now)), class_="about"),
            None if more is None else more.get(record.number),
            data_row=True,
        )
        for record in records
    ]
    return ul(rows, class_="memories")


def paged(visit: Visit, page: Page) -> Markup:
    """Links to the first page and to the next one."""
    first = a("First page", href=visit.here(after=None)) if visit.one("after") else None
    following = a("Next page", href=visit.here(after=page.next), rel="next") if page.next is not None else None
    return nav(first, following, class_="pages", aria_label="Pages") if first or following else NOTHING


def empty(sentence: str, *commands: str) -> Markup:
    """Nothing is here: what that means, and one thing to do about it."""
    return div(p(sentence), [pre(code(each), tabindex="0") for each in commands], class_="empty")


def data_table(heads: Sequence[str], rows: Iterable[Sequence[Child]], caption: str) -> Markup:
    """Figures stand below one another, by their last digit. On a phone each row is a list, with the heads in it."""
    listed = [list(row) for row in rows]
    columns = [all(_is_figure(cell) for cell in column) for column in zip(*listed, strict=True)]
    kinds = ["figures" if is_figures else None for is_figures in columns] or [None] * len(heads)
    body = [
        tr([td(cell, class_=kind, data_head=head or None) for cell, kind, head in zip(row, kinds, heads, strict=True)])
        for row in listed
    ]
    named = [th(head, scope="col", class_=kind) if head else td() for head, kind in zip(heads, kinds, strict=True)]
    top = thead(tr(named))
    return div(
        table(top, tbody(body), aria_label=caption), class_="wide", tabindex="0", role="group", aria_label=caption
    )


def _is_figure(cell: Child) -> bool:
    return isinstance(cell, int) or (isinstance(cell, str) and _FIGURE.fullmatch(cell) is not None)


# -- the past ----------------------------------------------------------------------------------------------------------


def back_then(visit: Visit, oldest: datetime | None, *, true_then: bool = True) -> Markup:
    """The sliders: the list as it was known at a time, and what was true at a time."""
    if oldest is None or oldest >= visit.now:
        return NOTHING
    past = past_of(visit)
    kept = {name: value for name, value in visit.query.items() if name not in _PAST}
    sliders = [_slider(visit, "known", "Known then", past.known_at, oldest)]
    if true_then:
        sliders.append(_slider(visit, "true", "True then", past.as_of, oldest))
    is_past = past != BackThen()
    bar = form(
        hidden(visit, end=int(visit.now.timestamp()), **{name: kept[name] for name in kept if name != "namespace"}),
        sliders,
        div(button("Show", type="submit"), class_="row"),
        action=page_link(visit.screen),
        method="get",
        data_slide=True,
    )
    return details(summary("Back then"), bar, open=is_past, class_="past")


_PAST: Final = ("known", "true", "end", "known_at", "as_of", "after", "before", "from", "done", "said", "was")
_STEPS: Final = 500


def now_link(visit: Visit) -> Markup:
    return a("Back to now", href=visit.here(**dict.fromkeys(_PAST)))


def _slider(visit: Visit, name: str, title: str, moment: datetime | None, oldest: datetime) -> Markup:
    last = int(visit.now.timestamp())
    # A slider stands at whole steps from its beginning alone, and its end has to be one of them: it means now.
    step = max(-(-(last - int(oldest.timestamp())) // _STEPS), 1)
    position = last if moment is None else int(moment.timestamp())
    told = "now" if moment is None else format_local(moment)
    return div(
        label(title, for_=name),
        input_(
            id=name, name=name, type="range", min=last - _STEPS * step, max=last, value=position, step=step,
        ),
        output(told, for_=name),
        class_="slider",
    )  # fmt: skip


# -- without a visit ---------------------------------------------------------------------------------------------------


def sign_in_page(*, has_tokens: bool, wrong: str = "") -> bytes:
    """For whoever has no cookie: how to get one."""
    by_token = form(
        label("Your token", for_="token"),
        input_(id="token", name="token", type="password", autocomplete="current-password", required=True),
        button("Sign in", type="submit"),
        action=page_link("open"),
        method="post",
        class_="stack",
    )
    return document(
        "Sign in",
        main(
            h1("Sign in"),
            p(wrong, role="alert", class_="bad") if wrong else None,
            p("On the machine where the memory is, this opens the page. Its link counts once, for ten minutes."),
            pre(code("perdure ui"), tabindex="0"),
            section(h2("With a token of a team server"), by_token) if has_tokens else None,
            id="content",
            class_="narrow",
        ),
    )


def opened_page() -> bytes:
    """The link was good: on to the page. A cookie that a link from elsewhere set is sent only from here on."""
    go = Markup('<meta http-equiv="refresh" content="0; url=./">')
    return document(
        "Welcome", go, main(p("Signed in. ", a("Go on", href=PageLink("./"))), id="content", class_="narrow")
    )


def refusal(error: PerdureError, visit: Visit | None = None, *more: Child) -> Markup:
    """What did not happen, and what can be done about it: `more` in place of what the command line would be told."""
    told: Child = p(with_code(error.cli_remedy))
    if visit is not None and error.advice is NotFound.default_remedy:
        told = p("Search for it above, or look at ", a("all memories", href=visit.link("memories")), ".")
    return section(
        p(error.sentence, role="alert"),
        more or told,
        p(a("To the first page", href=PageLink("./"))),
        data_error=error.code,
    )


def with_code(sentence: str) -> list[Child]:
    """What stands between backticks is a command."""
    return [code(part) if place % 2 else part for place, part in enumerate(sentence.split("`"))]
