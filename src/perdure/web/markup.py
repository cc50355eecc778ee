"""HTML that escapes by construction: a text becomes a text, and nothing else. Only `element` makes markup, and only
what it made is taken as such; an address is one that `page_link` made, so that no memory can become a link.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Final, TypeAlias
from urllib.parse import quote, urlencode

from perdure.text.unsafe_characters import written_out


class Markup(str):
    """HTML that is finished. Nobody but this module makes one."""

    __slots__ = ()


class PageLink(str):
    """An address within the page, relative to it."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | float | None"

NOTHING: Final = Markup()
_EMPTY: Final = frozenset({"br", "col", "hr", "input", "link", "meta", "path", "line", "rect", "circle"})
_ADDRESSES: Final = frozenset({"href", "action", "src", "formaction"})
# What a form gives back has to be what it was given, to the letter.
_EXACT: Final = frozenset({"value", "content"})


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """`class_` is the attribute `class`, `aria_label` is `aria-label`; one that is True stands alone, and one that is
    None or False is left out.
    """
    told = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    # The slash means nothing in HTML, and ends an element of SVG.
    return Markup(f"<{name}{told}/>" if name in _EMPTY else f"<{name}{told}>{join(children)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name.startswith("on") or name == "style" or (name in _ADDRESSES and not isinstance(value, PageLink)):
        raise TypeError(f"{name} cannot be made of a text")
    exact = name in _EXACT or name in _ADDRESSES
    return f' {name}="{escape(str(value) if exact else written_out(str(value)))}"'


def join(children: Iterable[Child], between: Markup = NOTHING) -> Markup:
    return Markup(between.join(map(_child, children)))


def _child(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(written_out(child), quote=False)
    if child is None:
        return ""
    return str(child) if isinstance(child, int) else join(child)


def text_area(text: str, **attributes: Attribute) -> Markup:
    """The text as it is, to be edited: a browser drops the first line break behind the tag."""
    opened = element("textarea", **attributes).removesuffix("</textarea>")
    return Markup(f"{opened}\n{escape(text, quote=False)}</textarea>")


def page_link(name: str, /, **query: object) -> PageLink:
    """`page_link("memory", n=7)` is `memory?n=7`. What is None or empty is left out; a list is repeated."""
    given = {key: value for key, value in query.items() if value not in (None, "", (), [])}
    told = urlencode(given, doseq=True, encoding="utf-8", errors="replace", quote_via=quote)
    return PageLink(f"{name or './'}{'?' if told else ''}{told}")


def document(title: str, *body: Child, lang: str = "en") -> bytes:
    """A whole page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · Perdure"),
        element("link", rel="icon", href=PageLink("icon.svg")),
        element("link", rel="stylesheet", href=PageLink("page.css")),
        element("script", src=PageLink("page.js"), type="module"),
    )
    whole = f"<!doctype html>\n{element('html', head, element('body', *body), lang=lang)}\n"
    return whole.encode("utf-8", "replace")


a, b, button, code, dd, details, div, dl, dt, em, fieldset, footer, form, h1, h2, h3, header, kbd = (
    partial(element, name)
    for name in (
        "a", "b", "button", "code", "dd", "details", "div", "dl", "dt", "em", "fieldset", "footer", "form", "h1", "h2",
        "h3", "header", "kbd",
    )
)  # fmt: skip
input_, label, legend, li, main, mark, nav, ol, option, output, p, pre, section, select, small, span, strong = (
    partial(element, name)
    for name in (
        "input", "label", "legend", "li", "main", "mark", "nav", "ol", "option", "output", "p", "pre", "section",
        "select", "small", "span", "strong",
    )
)  # fmt: skip
summary, table, tbody, td, th, thead, time_, tr, ul, ins, del_ = (
    partial(element, name)
    for name in ("summary", "table", "tbody", "td", "th", "thead", "time", "tr", "ul", "ins", "del")
)
