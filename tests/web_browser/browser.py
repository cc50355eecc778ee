"""A real Chromium, as a person uses it; and what it notes meanwhile: requests, violations of the policy, errors."""

from __future__ import annotations

import json
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np

# Milliseconds until something that is waited for does not come: nothing waits so long, however busy the machine is.
PATIENCE = 60_000
# As many as a palette has.
MOST_COLOURS = 256
# Noted by the page itself, before anything of it runs.
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@dataclass
class Visitor:
    """A window of the browser. `base` is the address of the page, with its slash."""

    page: Any
    base: str
    requests: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def note_request(self, request: Any) -> None:
        self.requests.append(request.url)

    def note_error(self, error: Any) -> None:
        self.errors.append(str(error))

    def note_console(self, told: Any) -> None:
        if told.type == "error":
            self.errors.append(told.text)

    def go(self, address: str = "") -> Visitor:
        self.page.goto(self.base + address)
        return self

    def click(self, name: str, role: str = "button", within: str = "body") -> None:
        self.page.locator(within).get_by_role(role, name=name, exact=True).first.click()

    def says(self, words: str) -> None:
        """Waits for the words, and fails where they do not come."""
        self.page.get_by_text(words).first.wait_for()
        # Keys do nothing until the script is there, which may be later than the words.
        self.page.wait_for_load_state()

    @property
    def text(self) -> str:
        return self.page.inner_text("body")

    @property
    def violations(self) -> list[str]:
        return self.page.evaluate("window.violations")


@dataclass
class Browser:
    chromium: Any
    axe: str

    @contextmanager
    def visit(self, link: str, *, base: str = "", **options: Any) -> Generator[Visitor]:
        """Somebody who opened the link. `options` are those of a new context of the browser."""
        context = self.chromium.new_context(**{"viewport": {"width": 1000, "height": 700}, **options})
        try:
            if options.get("java_script_enabled", True):
                context.add_init_script(_WATCH)
            page = context.new_page()
            visitor = Visitor(page, base or link.partition("open?")[0])
            page.set_default_timeout(PATIENCE)
            page.on("request", visitor.note_request)
            page.on("pageerror", visitor.note_error)
            page.on("console", visitor.note_console)
            page.goto(link)
            page.wait_for_url(visitor.base)
            yield visitor
        finally:
            context.close()

    def serious(self, visitor: Visitor) -> list[str]:
        """What axe finds that keeps people out. It is run past the policy, as the tools of a developer are."""
        session = visitor.page.context.new_cdp_session(visitor.page)
        session.send("Runtime.evaluate", {"expression": self.axe})
        asked = {"expression": "axe.run().then(found => JSON.stringify(found.violations))", "awaitPromise": True}
        told = session.send("Runtime.evaluate", {**asked, "returnByValue": True})
        found: list[dict[str, Any]] = json.loads(told["result"]["value"])
        return [
            f"{each['id']}: {node['html'][:120]}"
            for each in found
            if each["impact"] in {"serious", "critical"}
            for node in each["nodes"]
        ]


@contextmanager
def launched(packages: Path, program: str, *arguments: str) -> Generator[Browser]:
    """`packages` has playwright, `program` is the system's own Chromium."""
    if str(packages) not in sys.path:
        sys.path.append(str(packages))
    axe = next(packages.glob("axe_playwright_python/axe.min.js")).read_text(encoding="utf-8")
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *arguments])
        try:
            yield Browser(chromium, axe)
        finally:
            chromium.close()


_PLAIN_PATHS = """
() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    texts.currentNode.data = texts.currentNode.data.replace(/\\/\\S+\\/(memory\\.db)/, "~/.local/share/perdure/$1");
}
"""
_DECODE = """
async (picture) => {
  const image = new Image();
  image.src = "data:image/png;base64," + picture;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, image.width, image.height).data;
  let text = "";
  for (let place = 0; place < bytes.length; place += 32768)
    text += String.fromCharCode(...bytes.subarray(place, place + 32768));
  return [image.width, image.height, btoa(text)];
}
"""


def save_small(visitor: Visitor, path: Path) -> None:
    """A screenshot with few colours: a fraction of the bytes, and nobody sees it."""
    # Where the store of a test is says nothing to readers.
    visitor.page.evaluate(_PLAIN_PATHS)
    picture = b64encode(visitor.page.screenshot()).decode()
    blank = visitor.page.context.new_page()
    width, height, decoded = blank.evaluate(_DECODE, picture)
    blank.close()
    pixels = np.frombuffer(b64decode(decoded), np.uint8).reshape(height, width, 4)[..., :3]
    # Most of a page is one of few colours, which stay as they are; any other becomes the nearest of them.
    found, places, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    own = found[counts.argsort()[::-1][:MOST_COLOURS]]
    distances = ((found[:, None].astype(int) - own[None].astype(int)) ** 2).sum(-1)
    codes = distances.argmin(-1).astype(np.uint8)[places].reshape(height, width)
    lines = b"".join(b"\0" + codes[row].tobytes() for row in range(height))
    head = pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", own.tobytes()), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    chunks = (pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data)) for kind, data in parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
