"""Gemini's part of Google Takeout: events of *My Activity*, the newest first. Events of one conversation share the end
of their address; one without an address is a conversation of its own. A newer file has more events before the known
ones, and may have lost the oldest: so nothing is known by its place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import Any, Final

from perdure.bank.importers.archive import Archive, single_json
from perdure.bank.importers.item import Chat, Importer, Item, LeftOut, listed, mapping, moment, text_in
from perdure.bank.importers.json_items import first_items, json_items
from perdure.bank.sections import Unread
from perdure.errors import ImportFailed
from perdure.ids import content_hash

_FILES: Final = ("MyActivity.json", "My Activity.json")
_PAGES: Final = ("MyActivity.html", "My Activity.html")
_PRODUCT: Final = "Gemini"
_ARRAYS: Final = ("userInteractions",)
_PROMPTED: Final = "Prompted "
_SPOOL: Final = 16 << 20
_UNSAID: Final = "events in which nothing was asked, and those of other products"


def activity_files(archive: Archive) -> list[str]:
    """Takeout gives its files names in the language of the account; the folder is called Gemini in each."""
    alone = single_json(archive)
    return [
        name
        for name in archive.names
        if name == alone or PurePosixPath(name).name in _FILES or (_PRODUCT in name and name.endswith(".json"))
    ]


def recognises(archive: Archive) -> bool:
    for name in activity_files(archive):
        with archive.open(name) as stream:
            if any(is_gemini(first, name) for _, first in first_items(stream, name, _ARRAYS)):
                return True
    if any(_PRODUCT in name and PurePosixPath(name).name in _PAGES for name in archive.names):
        raise ImportFailed(
            f"{archive.path} has the activity as a page of HTML.", remedy="Choose JSON for My Activity in Takeout."
        )
    return False


def is_gemini(event: Mapping[str, Any], name: str) -> bool:
    products = [event.get("header"), *listed(event.get("products"))]
    return ("time" in event and "title" in event and any(_PRODUCT in str(each) for each in products)) or (
        _PRODUCT in name and PurePosixPath(name).name in _FILES and ("details" in event or "request" in event)
    )


def read(archive: Archive) -> Iterator[Item]:
    """Events are written to a temporary file, and read from there in the order in which they happened."""
    places: list[tuple[str, str, int]] = []
    with SpooledTemporaryFile(_SPOOL) as spool:
        for name in activity_files(archive):
            with archive.open(name) as stream:
                for item in json_items(stream, name, _ARRAYS):
                    what = f"{name}, event {item.position}"
                    if item.value is None:
                        yield Unread(what, item.reason)
                        continue
                    turn = said(item.value) if is_gemini(item.value, name) else []
                    if not turn:
                        yield LeftOut(_UNSAID)
                        continue
                    at = moment(item.value.get("time")) or ""
                    address = text_in(item.value.get("titleUrl")).rstrip("/").rpartition("/c/")[2].partition("?")[0]
                    alone = f"{at}-{content_hash(turn[0][1])}"
                    conversation = address if "/" not in address and address else alone
                    places.append((conversation, at, spool.tell()))
                    spool.write(json.dumps(turn).encode() + b"\n")
        places.sort()
        for conversation, events in groupby(places, itemgetter(0)):
            messages: list[dict[str, Any]] = []
            said_at = Counter[str]()
            for _, at, place in events:
                spool.seek(place)
                for role, text in json.loads(spool.readline()):
                    said_at[name := f"{at} {role}"] += 1
                    id = name if said_at[name] == 1 else f"{name} {said_at[name]}"
                    messages.append({"id": id, "role": role, "content": text, **({"at": at} if at else {})})
            yield Chat(f"gemini-{conversation}", messages)


def said(event: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was asked and answered. Takeout often cuts answers, or leaves them out."""
    given = map(mapping, listed(event.get("details")))
    details = {name: each.get("value") for each in given if (name := text_in(each.get("name")))}
    title = text_in(event.get("title"))
    asked = text_in(details.get("Request")) or text_in(event.get("request"))
    asked = asked or (title.removeprefix(_PROMPTED) if title.startswith(_PROMPTED) else "")
    pages = (text_in(mapping(each).get("html")) for each in listed(event.get("safeHtmlItem")))
    answered = text_in(details.get("Response")) or text_in(event.get("response"))
    answered = answered or "\n\n".join(text for page in pages if (text := text_of_page(page)))
    # In another language the title begins with other words.
    asked = asked or (title if answered else "")
    return [(role, text) for role, text in (("user", asked), ("assistant", answered)) if text] if asked else []


def text_of_page(page: str) -> str:
    reader = _PageText()
    reader.feed(page)
    reader.close()
    return "".join(reader.texts).strip()


class _PageText(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"p", "li", "h1", "h2", "h3", "div", "pre", "tr"}:
            self.texts.append("\n")


GEMINI: Final = Importer("Gemini Takeout", recognises, read)
