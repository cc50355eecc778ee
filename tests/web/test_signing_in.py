"""Who sees the page: a link that counts once, a cookie that counts here alone, and requests of the page itself."""

from __future__ import annotations

import re
import stat
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from web.pages import HOST, ORIGIN, PORT, Page, page_of

from perdure import Memory
from perdure.auth.token_file import TokenFile
from perdure.http.app import build_app
from perdure.http.guard import Guard, RequestRules
from perdure.http.rate_limit import RateLimit
from perdure.http.routing import Serving
from perdure.http.server import MAX_BODY
from perdure.web.actions import ACTIONS
from perdure.web.page_guard import HEADERS
from perdure.web.screens import SCREENS

if TYPE_CHECKING:
    from clocks import HandClock

ADDRESSES = [*(screen.name for screen in SCREENS), "page.css", "page.js", "icon.svg", "open", "changes", "nothing-here"]
FOREIGN_HOSTS = """
attacker.example attacker.example:8733 127.0.0.1.attacker.example localhost.attacker.example 0.0.0.0 [::] 127.1
2130706433 localhost. localhost:x
""".split()


@pytest.fixture
def stranger_page(remembered: Memory, tmp_path: Path, clock: HandClock) -> Page:
    return page_of(remembered, tmp_path, clock=clock)


def test_a_link_counts_once_and_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(stranger_page: Page):
    secret = stranger_page.admissions.new_link(PORT)
    opened = stranger_page.get("open", link=secret)
    (cookie,) = opened.cookies
    assert opened.status == 200
    assert cookie.startswith(f"perdure-page-{PORT}=")
    assert {"HttpOnly", "SameSite=Strict", "Max-Age=86400"} <= set(cookie.split("; ")[1:])
    assert "Path" not in cookie
    assert secret not in cookie
    again = stranger_page.get("open", link=secret)
    assert (again.status, again.cookies) == (401, ())
    assert "was used before" in again.words


def test_a_link_is_good_for_ten_minutes_and_a_visit_for_a_day(stranger_page: Page, clock: HandClock):
    secret = stranger_page.admissions.new_link(PORT)
    clock.forward(minutes=10)
    assert stranger_page.get("open", link=secret).status == 401
    stranger_page.sign_in()
    clock.forward(hours=23)
    assert stranger_page.get("").status == 200
    clock.forward(hours=1)
    assert stranger_page.get("").status == 401


def test_nothing_but_style_and_signing_in_is_shown_without_a_cookie(stranger_page: Page):
    for screen in SCREENS:
        refused = stranger_page.get(screen.name)
        assert (refused.status, "perdure ui" in refused.words) == (401, True), screen.name
    for action in ACTIONS:
        assert stranger_page.post(action).status == 401, action
    assert [stranger_page.get(name).status for name in ("page.css", "page.js", "icon.svg")] == [200] * 3


def test_a_made_up_cookie_is_none(stranger_page: Page):
    for cookie in (f"perdure-page-{PORT}=", f"perdure-page-{PORT}=guess", "perdure-page-1=guess", "x"):
        stranger_page.cookie = cookie
        assert stranger_page.get("").status == 401


def test_what_is_kept_of_links_and_cookies_is_no_secret_and_its_owner_s_alone(stranger_page: Page, tmp_path: Path):
    secret = stranger_page.admissions.new_link(PORT)
    stranger_page.sign_in()
    file = tmp_path / "memory.db-page"
    kept = file.read_text(encoding="utf-8")
    assert secret not in kept
    assert stranger_page.cookie.partition("=")[2] not in kept
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_signing_out_and_closing_end_a_visit_at_once(page: Page):
    assert page.post("leave").status == 303
    assert page.get("").status == 401
    page.sign_in()
    assert page.admissions.end() == 1
    assert page.get("").status == 401


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_site_whose_name_leads_to_this_machine_is_refused_on_every_address(page: Page, host: str):
    for address in ADDRESSES:
        refused = page.ask("GET", address, headers={"host": host})
        assert refused.status == 421, address
    for action in ACTIONS:
        assert page.ask("POST", action, headers={"host": host, "origin": f"http://{host}"}).status == 421, action


def test_another_site_can_neither_change_nor_see_anything(page: Page, numbers: dict[str, int], remembered: Memory):
    before = len(remembered.log(limit=100))
    number = str(numbers["theme"]).encode()
    for headers in (
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"origin": f"http://{HOST}.attacker.example"},
        {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {},
    ):
        for action in ACTIONS:
            refused = page.ask("POST", action, b"back=./&what=" + number, headers)
            assert refused.status == 403, (action, headers)
    for site in ("cross-site", "same-site"):
        for screen in SCREENS:
            assert page.ask("GET", screen.name, headers={"sec-fetch-site": site}).status == 403, screen.name
    assert len(remembered.log(limit=100)) == before


def test_a_link_on_another_site_leads_to_the_screen_only_when_the_person_goes_on(page: Page, numbers: dict[str, int]):
    led = page.ask("GET", "memory?n=1&name=x", headers={"sec-fetch-site": "cross-site"})
    assert led.status == 403
    assert "dark mode" not in led.words
    assert 'href="memory?n=1&amp;name=x"' in led.text
    assert page.get("memory", n=1, name="x").status == 200
    for address in ("/attacker.example", "a/b", "..", "memory%00"):
        led = page.ask("GET", "", headers={"sec-fetch-site": "cross-site"}, prefix=f"/ui/{address}")
        assert re.findall(r'<a href="([^"]*)"', led.text) == ["./"], address


def test_a_link_may_be_followed_from_the_file_that_opens_the_browser(stranger_page: Page):
    secret = stranger_page.admissions.new_link(PORT)
    opened = stranger_page.ask("GET", f"open?link={secret}", headers={"sec-fetch-site": "cross-site"})
    assert opened.status == 200


def test_behind_a_proxy_with_tls_the_page_knows_itself(page: Page):
    sent = {"origin": f"https://{HOST}", "sec-fetch-site": "same-origin"}
    assert page.ask("POST", "remember", b"text=Tea&back=./", sent).status == 303


def test_asking_with_get_never_does_anything(page: Page, numbers: dict[str, int], remembered: Memory):
    before = len(remembered.log(limit=100))
    for action in ACTIONS:
        page.get(action, what=numbers["theme"], batch="x", session="5f0c9a4e-monday", sure="1", back="./")
    assert len(remembered.log(limit=100)) == before


def test_every_answer_says_what_a_browser_may_do_with_it(page: Page, stranger_page: Page):
    expected = {name.decode(): value.decode() for name, value in HEADERS}
    policy = expected["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "unsafe" not in policy
    answers = [page.get(address) for address in ADDRESSES]
    answers += [stranger_page.get(""), page.ask("GET", "", headers={"host": "attacker.example"}), page.post("forget")]
    for answer in answers:
        assert expected.items() <= answer.headers.items()


def test_the_cookie_is_nothing_on_the_other_routes_of_a_server(remembered: Memory, tmp_path: Path, clock: HandClock):
    tokens = TokenFile(tmp_path / "memory.db", clock)
    tokens.create("local", namespaces=None)
    serving = Serving(remembered, tokens, "default", clock=clock)
    rules = RequestRules(frozenset({"127.0.0.1"}), tokens, None, MAX_BODY)
    routes = Guard(build_app(serving), rules, RateLimit(0, 1), serving.metrics)
    page = page_of(remembered, tmp_path, tokens=tokens, clock=clock, rest=routes).sign_in()
    assert page.get("").status == 200
    same = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
    for path in ("v1/memories", "v1/log", "v1/whoami", "mcp", "v1/events", "metrics"):
        assert page.ask("GET", path, headers=same, prefix="/").status == 401, path
    forget = page.ask("POST", "v1/forget", b'{"what": 1}', {**same, "content-type": "application/json"}, prefix="/")
    assert forget.status == 401


def test_a_visit_asks_as_often_as_the_server_allows_and_another_one_as_often(remembered: Memory, tmp_path: Path):
    limit = RateLimit(rate=1, burst=3, clock=lambda: 0.0)
    ada = page_of(remembered, tmp_path, limit=limit).sign_in()
    eve = page_of(remembered, tmp_path, limit=limit).sign_in()
    assert [ada.get("help").status for _ in range(4)] == [200, 200, 200, 429]
    assert eve.get("help").status == 200
    free = page_of(remembered, tmp_path).sign_in()
    assert {free.get("help").status for _ in range(150)} == {200}


def test_a_visit_ends_with_the_token_that_it_began_with(remembered: Memory, tmp_path: Path, clock: HandClock):
    tokens = TokenFile(tmp_path / "memory.db", clock)
    expires = clock.now + timedelta(hours=2)
    _, secret = tokens.create("bob", namespaces=None, writer="person", expires_at=expires)
    page = page_of(remembered, tmp_path, tokens=tokens, clock=clock)
    assert page.post("open", {"token": "perdure_guess"}).status == 401
    page.sign_in(secret)
    assert page.get("").status == 200
    clock.forward(hours=3)
    assert page.get("").status == 401
    _, other = tokens.create("eve", namespaces=None, writer="person")
    page.sign_in(other)
    tokens.revoke("eve")
    assert page.get("").status == 401
