"""The page in a real Chromium: every screen, the actions with their undo, without scripts, by keyboard alone, on a
phone, in the dark; and what others try with it. `make test-web` runs these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest
from web.hostile_store import Said, category, say_everywhere
from web.hostile_texts import HOSTILE
from web_browser.conftest import told

from perdure import Memory
from perdure.web.screens import SCREENS

if TYPE_CHECKING:
    from clocks import HandClock
    from web_browser.browser import Browser, Visitor
    from web_browser.conftest import Served

pytestmark = pytest.mark.skipif("PERDURE_WEB" not in os.environ, reason="`make test-web` runs these")

MONDAY = "5f0c9a4e-monday"
# Where screenshots go, if anybody wants them.
PICTURES = os.environ.get("PERDURE_PICTURES")
LARGE = {"width": 860, "height": 560}
PHONE = {"width": 360, "height": 640}


def address(name: str, numbers: dict[str, int]) -> str:
    asked = {
        "memory": f"?n={numbers['port']}", "correct": f"?n={numbers['port']}", "erase": f"?n={numbers['wrong']}",
        "around": f"?n={numbers['agent']}", "session": f"?id={MONDAY}", "conversation": "?id=support-42",
        "search": "?q=staging%20server%20port", "memories": "?known_at=2026-03-16",
    }  # fmt: skip
    return name + asked.get(name, "")


def current(served: Served, number: int) -> str | None:
    with Memory(served.store, embedder="none") as memory:
        record = memory.history(number)[-1].record
        return record.text if record is not None and record.state == "active" else None


def test_every_screen_can_be_used_by_everybody_in_light_and_dark_and_on_a_phone(
    browser: Browser, serve: Callable[..., Served]
):
    served = serve()
    for look, size, colours in (("light", LARGE, "light"), ("dark", LARGE, "dark"), ("phone", PHONE, "light")):
        with browser.visit(served.new_link(), viewport=size, color_scheme=colours) as visitor:
            for screen in SCREENS:
                visitor.go(address(screen.name, served.numbers))
                assert browser.serious(visitor) == [], (look, screen.name)
                width = visitor.page.evaluate("document.documentElement.scrollWidth")
                assert width <= size["width"], (look, screen.name)
                assert (visitor.errors, visitor.violations) == ([], []), (look, screen.name)
                picture(visitor, look, screen.name or "today")
            outside = [each for each in visitor.requests if not each.startswith(visitor.base)]
            assert outside == []


def picture(visitor: Visitor, look: str, name: str) -> None:
    """Of every screen in light, of one in the dark, of one on a phone."""
    if PICTURES and (look == "light" or (look, name) in {("dark", "today"), ("phone", "memory")}):
        from web_browser.browser import save_small

        save_small(visitor, Path(PICTURES) / f"{name if look == 'light' else f'{name}-{look}'}.png")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_newcomer_finds_what_is_wrong_corrects_it_sees_who_was_told_takes_the_session_back_and_erases_one_for_good(
    browser: Browser, serve: Callable[..., Served], scripts: bool
):
    served = serve()
    wrong, agent = served.numbers["wrong"], served.numbers["agent"]
    with browser.visit(served.link, java_script_enabled=scripts) as visitor:
        page = visitor.page
        page.get_by_role("searchbox").fill("when does the team meet")
        visitor.click("Search")
        page.get_by_role("link", name="The team meets on Mondays at ten").click()
        visitor.says("Who was told it")
        visitor.click("Correct", "link")
        page.get_by_role("textbox", name="Text").fill("The team meets on Tuesdays at ten")
        visitor.click("Correct")
        visitor.says("Done: corrected")
        assert current(served, wrong) == "The team meets on Tuesdays at ten"
        page.get_by_role("link", name=MONDAY).first.click()
        visitor.says("Why each line got in")
        visitor.click("Take the session back")
        visitor.says("Nothing was changed yet")
        visitor.says("Bob owns the billing service")
        visitor.click("Yes: take the session back")
        visitor.says("Done:")
        assert current(served, agent) is None
        visitor.click("Undo", within=".banner")
        visitor.says("undid the undo of")
        assert current(served, agent) == "Bob owns the billing service"
        visitor.go(f"memory?n={wrong}")
        visitor.click("Erase for good", "link")
        visitor.click("Show what would go")
        page.get_by_label("Type 1 to erase 1 memory for good").fill("7")
        visitor.click("Erase for good")
        visitor.says("not the number that was asked for")
        page.get_by_label("Type 1 to erase 1 memory for good").fill("1")
        if PICTURES and scripts:
            picture(visitor, "light", "erase-asks")
        visitor.click("Erase for good")
        visitor.says("Receipt: 1 memory erased")
        visitor.says("no text is left")
        if PICTURES and scripts:
            picture(visitor, "light", "receipt")
        assert visitor.errors == []
    assert b"meets on Tuesdays" not in served.store.read_bytes()


def test_every_action_is_done_and_taken_back_with_a_mouse(browser: Browser, serve: Callable[..., Served]):
    served = serve()
    port, theme = served.numbers["port"], served.numbers["theme"]
    with browser.visit(served.link) as visitor:
        for start, done, undone in (
            (f"memory?n={theme}", "Forget", lambda: current(served, theme) is not None),
            (f"memory?n={port}", "Restore this version", lambda: "9090" in (current(served, port) or "")),
            (f"memory?n={theme}", "Useful", lambda: current(served, theme) is not None),
            ("review", "Make them one", lambda: pairs(served) == 2),
            ("review", "Keep both", lambda: pairs(served) == 2),
        ):
            visitor.go(start)
            visitor.click(done, within="main")
            visitor.says("Done:")
            visitor.click("Undo", within=".banner")
            visitor.page.get_by_role("button", name="Redo").wait_for()
            assert undone(), done
        visitor.go(f"session?id={MONDAY}")
        visitor.click("Put it off the record")
        visitor.says("nothing of this session is stored")
        visitor.click("Put it on the record")
        visitor.says("on the record again")
        visitor.go("checkpoints")
        visitor.page.get_by_label("Name", exact=True).fill("today")
        visitor.click("Name this state")
        visitor.says("This state has a name now")
        visitor.click("Go back to this")
        visitor.click("Leave it as it is", "link")
        visitor.says("Named states")
        visitor.go("remember")
        visitor.page.get_by_role("textbox", name="Text").fill("Bread is bought on Saturdays")
        visitor.click("Remember")
        visitor.says("Done: remembered")
        visitor.click("Undo", within=".banner")
        visitor.says("Done: took back")
        visitor.go("health")
        visitor.click("Check the store")
        visitor.says("0 problems")
        visitor.go("log")
        visitor.click("Undo", within="main")
        visitor.says("This is what would happen")
        assert visitor.errors == []


def test_tags_tiers_named_states_limits_and_private_projects_are_changed_and_taken_back_with_a_mouse(
    browser: Browser, serve: Callable[..., Served], tmp_path: Path
):
    def told_with_project(memory: Memory, clock: HandClock) -> dict[str, int]:
        from perdure.session.kept import KeptStart, keep

        keep(KeptStart(
            session="tuesday", project=str(tmp_path), at="2026-03-14T11:00:00Z", source="startup", mode="semantic",
            text="",
        ))  # fmt: skip
        return told(memory, clock)

    served = serve(told_with_project)
    theme = served.numbers["theme"]
    with browser.visit(served.link) as visitor:
        page = visitor.page
        for done, fill in (
            ("Tag", lambda: page.locator(f"#tag-add_tags-{theme}").fill("night")),
            ("Promote", lambda: page.locator(f"#promote-tier-{theme}").select_option("critical")),
        ):
            visitor.go("search?q=who%20prefers%20dark%20mode")
            page.get_by_text("Tag or promote").first.click()
            before = standing(served, theme)
            fill()
            visitor.click(done, within="main")
            visitor.says("Done:")
            assert standing(served, theme) != before, done
            visitor.click("Undo", within=".banner")
            page.get_by_role("button", name="Redo").wait_for()
            assert standing(served, theme) == before, done
        with Memory(served.store, embedder="none") as memory:
            memory.update(theme, text="Alice prefers light mode")
        visitor.go("checkpoints")
        visitor.click("Go back to this")
        visitor.says("becomes what it was before")
        visitor.click("Yes: go back to this")
        visitor.says("Done:")
        assert current(served, theme) == "Alice prefers dark mode in every editor"
        visitor.click("Undo", within=".banner")
        page.get_by_role("button", name="Redo").wait_for()
        assert current(served, theme) == "Alice prefers light mode"
        for most in ("500", ""):
            visitor.go("health")
            page.get_by_label("Most memories").fill(most)
            visitor.click("Set the limits")
            visitor.says("The limits are set")
            assert limit(served) == (int(most) if most else None)
        visitor.click("Undo", within=".banner")
        page.locator("#limits-max_items[value='500']").wait_for()
        assert limit(served) == 500
        visitor.go("session?id=tuesday")
        visitor.click("Make its project private")
        visitor.says("recalled nowhere else")
        visitor.click("Share its project again")
        visitor.says("common again")
        assert visitor.errors == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_what_others_changed_since_is_overruled_after_a_look_and_brought_back(
    browser: Browser, serve: Callable[..., Served], scripts: bool
):
    served = serve()
    agent = served.numbers["agent"]
    with Memory(served.store, embedder="none") as memory:
        memory.update(agent, text="Bob and Chen own the billing service")
    with browser.visit(served.link, viewport=PHONE, java_script_enabled=scripts) as visitor:
        visitor.go(f"session?id={MONDAY}")
        visitor.click("Take the session back")
        visitor.says("Changed since")
        if scripts:
            assert browser.serious(visitor) == []
        visitor.click("Take it back all the same")
        visitor.says("Nothing was changed yet")
        assert current(served, agent) == "Bob and Chen own the billing service"
        visitor.click("Yes: take the session back")
        visitor.says("Done:")
        assert current(served, agent) is None
        visitor.click("Undo", within=".banner")
        visitor.says("undid the undo of")
        assert current(served, agent) == "Bob and Chen own the billing service"
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def limit(served: Served) -> int | None:
    with Memory(served.store, embedder="none") as memory:
        return memory.capacity().max_items


def standing(served: Served, number: int) -> tuple[object, ...]:
    with Memory(served.store, embedder="none") as memory:
        record = memory.get(number)
        return record.tier, sorted(record.tags)


def pairs(served: Served) -> int:
    with Memory(served.store, embedder="none") as memory:
        return len(memory.review())


def test_everything_is_reached_with_the_keyboard_alone(browser: Browser, serve: Callable[..., Served]):
    served = serve()
    wrong = served.numbers["wrong"]
    with browser.visit(served.link) as visitor:
        press: Callable[..., None] = visitor.page.keyboard.press
        press("/")
        visitor.page.keyboard.type("when does the team meet")
        press("Enter")
        visitor.page.get_by_role("heading", name="when does the team meet").wait_for()
        visitor.page.locator("main").focus()
        press("j")
        press("Enter")
        visitor.says("Who was told it")
        press("e")
        visitor.says("Other words make a new version")
        visitor.page.get_by_role("textbox", name="Text").focus()
        press("Control+A")
        visitor.page.keyboard.type("The team meets on Wednesdays")
        for _ in range(5):
            press("Tab")
        press("Enter")
        visitor.says("Done: corrected")
        assert current(served, wrong) == "The team meets on Wednesdays"
        press("u")
        visitor.says("Redo")
        assert current(served, wrong) == "The team meets on Mondays at ten"
        press("f")
        visitor.says("Done: forgot")
        press("u")
        visitor.says("Redo")
        for keys, words in (("gr", "Pairs"), ("gh", "Settings in force"), ("gs", MONDAY), ("gt", "What changed")):
            for key in keys:
                press(key)
            visitor.says(words)
        press("?")
        visitor.says("the next and the previous line")
        press("g")
        press("r")
        visitor.says("Pairs")
        before = pairs(served)
        press("j")
        press("r")
        visitor.says("Done:")
        assert pairs(served) == before - 1
        press("u")
        visitor.says("Redo")
        assert pairs(served) == before


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_first_key_leads_past_the_menu(browser: Browser, serve: Callable[..., Served], scripts: bool):
    served = serve()
    with browser.visit(served.link, java_script_enabled=scripts) as visitor:
        press: Callable[..., None] = visitor.page.keyboard.press
        press("Tab")
        press("Enter")
        visitor.page.wait_for_url(f"{visitor.base}#content")
        press("Tab")
        reached = "document.querySelector('main').contains(document.activeElement)"
        assert visitor.page.evaluate(reached)
        visitor.page.get_by_role("link", name="Memories", exact=True).click()
        visitor.page.wait_for_url(f"{visitor.base}memories")
        visitor.page.go_back()
        visitor.says("What changed")


def test_a_screen_is_swapped_in_place_and_the_way_back_works(browser: Browser, serve: Callable[..., Served]):
    served = serve()
    with browser.visit(served.link) as visitor:
        page = visitor.page
        page.evaluate("window.same = true")
        page.get_by_role("link", name="Memories", exact=True).click()
        page.wait_for_url(f"{visitor.base}memories")
        visitor.says("dark mode")
        assert page.title() == "Memories · Perdure"
        assert page.evaluate("window.same") is True
        assert page.locator("[aria-current=page]").inner_text() == "Memories"
        page.get_by_text("Back then").nth(1).click()
        slider = page.get_by_label("Known then")
        slider.focus()
        page.keyboard.press("Home")
        page.get_by_text("The team meets on Mondays").wait_for(state="detached")
        assert page.evaluate("window.same") is True
        # Only the slider that was moved speaks of the past, and at its end neither does.
        assert page.get_by_text("as it was known").count() == 1
        assert page.get_by_text("as it was true").count() == 0
        page.keyboard.press("End")
        page.get_by_text("The team meets on Mondays").wait_for()
        assert page.get_by_text("This is not now").count() == 0
        page.go_back()
        visitor.says("What changed")
        assert (visitor.errors, visitor.violations) == ([], [])


def test_the_command_of_a_screen_is_copied_by_its_button_which_is_not_there_without_scripts(
    browser: Browser, serve: Callable[..., Served]
):
    served = serve()
    with browser.visit(served.link, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        visitor.page.get_by_role("link", name="Memories", exact=True).click()
        visitor.page.wait_for_url(f"{visitor.base}memories")
        visitor.page.get_by_text("The same as a command").click()
        visitor.click("Copy: Python")
        visitor.says("Copied")
        assert visitor.page.evaluate("navigator.clipboard.readText()") == "memory.list(limit=50)"
        assert (visitor.errors, visitor.violations) == ([], [])
    with browser.visit(served.new_link(), java_script_enabled=False) as visitor:
        visitor.page.get_by_text("The same as a command").click()
        assert visitor.page.get_by_label("Python", exact=True).is_visible()
        assert visitor.page.get_by_role("button", name="Copy").count() == 0


# Elements that no screen of ours has, and attributes that none of our elements has.
THEIRS = """
() => [...document.querySelectorAll("main *")].filter((each) =>
  /^(script|img|iframe|object|embed|video|audio|link|style|meta|base|math|template|noscript|use)$/.test(each.localName)
  || [...each.attributes].some(({ name }) => name.startsWith("on") || ["style", "srcdoc"].includes(name))
).map((each) => each.outerHTML)
"""


def test_hostile_texts_run_no_script_send_no_request_and_break_no_rule(
    browser: Browser, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERDURE_CATEGORIES", ",".join(map(category, HOSTILE)))
    said: dict[str, Said] = {}

    def hostile(memory: Memory, clock: HandClock) -> dict[str, int]:
        said.update((text, say_everywhere(memory, text)) for text in HOSTILE)
        return {}

    served = serve(hostile)
    asked_for = {"memory", "correct", "erase", "around", "session", "conversation"}
    addresses = [screen.name for screen in SCREENS if screen.name not in asked_for]
    for text, each in said.items():
        name, words = quote(each.session, safe=""), quote(text, safe="")
        addresses += [f"{screen}?n={each.number}" for screen in ("memory", "correct", "erase", "around")]
        addresses += [f"session?id={name}", f"conversation?id={name}", f"search?q={words}", f"log?actor={name}"]
        addresses += [
            f"memories?tags={name}",
            f"facts?about={name}",
            f"memories?category={quote(category(text), safe='')}",
        ]
        addresses += [f"memories?namespace={name}", f"erased?batch={each.erased}"]
    with browser.visit(served.link) as visitor:
        for each in addresses:
            # Half of them as whole pages, all of them as parts that are swapped in.
            if "memory" in each or "session" in each:
                visitor.go(each)
            visitor.page.evaluate(
                "address => { const a = document.createElement('a'); a.href = address;"
                " document.querySelector('main').append(a); a.click(); }",
                each or "./",
            )
            visitor.page.wait_for_function(
                "address => location.href === new URL(address, document.baseURI).href", arg=each or "./"
            )
            assert visitor.page.evaluate(THEIRS) == [], each
        # What is shown before a yes, as a whole page.
        for start, name in (("log", "Undo"), ("checkpoints", "Go back to this"), ("checkpoints", "Delete the name")):
            visitor.go(start)
            visitor.click(name, within="main")
            visitor.says("Leave it as it is")
            assert visitor.page.evaluate(THEIRS) == [], name
        visitor.page.wait_for_load_state("networkidle")
        assert visitor.page.evaluate("window.taken") is None
        assert visitor.violations == []
        assert visitor.errors == []
        names = {urlsplit(each).path.removeprefix("/ui/") for each in visitor.requests if each.startswith(visitor.base)}
        known = {screen.name for screen in SCREENS} | {"open", "page.css", "page.js", "icon.svg", "changes"}
        known |= {"undo", "go-back", "delete-checkpoint"}
        assert names <= known
        assert [each for each in visitor.requests if not each.startswith(visitor.base)] == []


def test_other_sites_and_other_ports_of_this_machine_can_do_nothing(browser: Browser, serve: Callable[..., Served]):
    served = serve()
    theme = served.numbers["theme"]
    port = urlsplit(served.base).port
    attack = (
        f'<form id=f method=post action="{served.base}forget"><input name=what value={theme}>'
        '<input name=back value="./"></form><script>f.submit()</script>'
    )

    def of_the_page(request: Any) -> bool:
        return request.url == served.base

    with browser.visit(served.link) as visitor:
        page = visitor.page
        # A name that leads to this machine: the page is refused by it.
        assert page.goto(f"http://attacker.example:{port}/ui/").status == 421
        for origin in ("http://attacker.example:8000", "http://127.0.0.1:1", "http://localhost:1"):
            page.route(f"{origin}/*", answering(attack))
            with page.expect_response(f"{served.base}forget") as refused:
                # Its script leads away before the site is there.
                page.goto(f"{origin}/", wait_until="commit")
            assert refused.value.status == 403, origin
            page.wait_for_url(f"{served.base}forget")
        # The cookie goes to the page alone.
        kept = [each for each in page.context.cookies() if each["name"].startswith("perdure-page-")]
        assert [(each["path"], each["httpOnly"], each["sameSite"]) for each in kept] == [("/ui", True, "Strict")]
        assert page.goto(served.link).status == 401
        frame, link = f'<iframe src="{served.base}"></iframe>', f'<a href="{served.base}memory?n={theme}">A memory</a>'
        with site(frame + link) as elsewhere:
            # No other site has it in a frame.
            with page.expect_event("requestfailed", of_the_page) as framed:
                page.goto(elsewhere)
            assert framed.value.failure == "net::ERR_BLOCKED_BY_RESPONSE"
            # A link of another site leads to the screen once the person goes on.
            visitor.click("A memory", "link")
            visitor.says("Another site led here")
            assert "dark mode" not in visitor.text
            visitor.click("Go on", "link")
            visitor.says("Alice prefers dark mode")
    assert current(served, theme)


@contextmanager
def site(body: str) -> Generator[str]:
    """A site on another port of this machine, of which a browser knows that it is one: its address."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def answering(body: str) -> Callable[[Any], None]:
    """A site of somebody else's, which always answers this."""
    return lambda route: route.fulfill(body=body, content_type="text/html")


def test_behind_a_proxy_under_a_path_everything_works(browser: Browser, serve: Callable[..., Served]):
    served = serve()
    target = urlsplit(served.base).netloc

    class Proxy(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            behind = HTTPConnection(target)
            assert self.path.startswith("/team/memory/"), self.path
            behind.request(self.command, self.path.removeprefix("/team/memory"), body, dict(self.headers))
            found = behind.getresponse()
            content = found.read()
            behind.close()
            self.send_response(found.status)
            for name, value in found.getheaders():
                if name.lower() not in {"connection", "transfer-encoding", "date"}:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer  # noqa: N815 - the names that the module calls

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{proxy.server_port}/team/memory/ui/"
        link = base + served.link.partition("/ui/")[2]
        with browser.visit(link) as visitor:
            visitor.page.get_by_role("link", name="Memories", exact=True).click()
            visitor.page.get_by_role("link", name="The team meets on Mondays at ten").click()
            visitor.says("Who was told it")
            visitor.click("Forget", within="main")
            visitor.says("Done: forgot")
            visitor.click("Undo", within=".banner")
            visitor.says("Redo")
            assert visitor.page.url.startswith(base)
            assert [each for each in visitor.requests if not each.startswith(base)] == []
    finally:
        proxy.shutdown()
        proxy.server_close()


def test_a_file_of_its_owner_sends_the_browser_to_the_link(browser: Browser, serve: Callable[..., Served]):
    from perdure.location import locate
    from perdure.web.server import open_in_browser

    served, asked = serve(), list[str]()
    open_in_browser(served.link, locate(served.store), lambda address: not asked.append(address))
    context = browser.chromium.new_context()
    page = context.new_page()
    page.goto(asked[0])
    page.wait_for_url(served.base)
    assert "What changed" in page.inner_text("body")
    context.close()
