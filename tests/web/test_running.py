"""`perdure ui` and `perdure serve --ui` as processes, with real connections."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from serve.running import RunningServer

from perdure.cli.app import perdure as program
from perdure.location import locate
from perdure.web.server import open_in_browser, opener_file


def run(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_the_page_opens_by_its_link_ends_with_close_and_a_second_call_opens_it_again(tmp_path: Path):
    store = tmp_path / "memory.db"
    with RunningServer(store, ("--no-open",), program=("perdure", "ui")) as server:
        link = urlsplit(str(server.started["url"]))
        opened = server("GET", f"{link.path}?{link.query}", token=None)
        cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
        assert opened.status == 200
        assert server("GET", f"{link.path}?{link.query}", token=None).status == 401
        assert server("GET", "/ui/", token=None, headers=cookie).status == 200
        assert server("GET", "/", token=None).headers["location"] == "ui/"
        # Nothing but the page is there.
        assert server("GET", "/v1/memories", token=None, headers=cookie).status == 404
        asked = ("ui", "--no-open", "--store", str(store), "--port", str(link.port))
        again = urlsplit(str(run(*asked)["url"]))
        assert server("GET", f"{again.path}?{again.query}", token=None).status == 200
        assert run("ui", "--close", "--store", str(store)) == {"closed": 2}
        assert server("GET", "/ui/", token=None, headers=cookie).status == 401


@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=["one process", "several processes"])
def test_a_server_with_a_page_answers_both_and_takes_the_cookie_for_one_alone(tmp_path: Path, more: tuple[str, ...]):
    with RunningServer(tmp_path / "memory.db", ("--rate", "0", "--no-work", "--ui", *more)) as server:
        link = urlsplit(str(server.started["page"]))
        opened = server("GET", f"{link.path}?{link.query}", token=None)
        cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
        assert server("GET", "/ui/", token=None, headers=cookie).status == 200
        assert server("GET", "/v1/memories", token=None, headers=cookie).status == 401
        assert server("GET", "/v1/memories").status == 200
        assert server("GET", "/ui/").status == 401
        assert server("GET", "/ui", token=None).headers["location"] == "ui/"


def test_a_browser_is_sent_through_a_file_that_only_its_owner_may_read(tmp_path: Path):
    location, asked = locate(tmp_path / "memory.db"), list[str]()

    def opener(address: str) -> bool:
        asked.append(address)
        return True

    assert open_in_browser("http://127.0.0.1:1/ui/open?link=secret", location, opener)
    file = opener_file(location)
    assert asked == [file.as_uri()]
    assert "link=secret" in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_page_of_a_server_elsewhere_is_named(tmp_path: Path):
    done = CliRunner().invoke(program, ["ui", "--store", "https://memory.example.org"])
    assert done.exit_code != 0
    assert "https://memory.example.org/ui/" in str(getattr(done.exception, "remedy", done.output))
