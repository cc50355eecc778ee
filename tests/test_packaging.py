"""What starts a server with the machine: a container, systemd, launchd. Their commands are tried here."""

from __future__ import annotations

import ast
import configparser
import json
import plistlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from serve.running import RunningServer


@pytest.fixture
def packaging(repository: Path) -> Path:
    return repository / "packaging"


def instructions(packaging: Path) -> list[tuple[str, str]]:
    text = (packaging / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def options_of(words: list[str]) -> list[str]:
    """What comes after `perdure serve`, without the port, which tests choose themselves."""
    assert words[:2] == ["perdure", "serve"]
    port = words.index("--port")
    return [*words[2:port], *words[port + 2 :]]


def test_the_container_installs_only_what_has_a_hash_and_runs_without_rights(packaging: Path, repository: Path):
    found = instructions(packaging)
    names = [name for name, _ in found]
    assert names[0] == "FROM"
    assert set(names) <= {"FROM", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD"}
    install = next(text for name, text in found if name == "RUN")
    assert "--require-hashes" in install
    assert "--no-index /tmp/perdure/*.whl" in install
    assert names.index("USER") > names.index("RUN")
    copied = shlex.split(next(text for name, text in found if name == "COPY"))[:-1]
    assert (repository / copied[0]).is_file()


# Binds every address of this machine in words alone: a test listens to nobody else.
_ON_THIS_MACHINE = """
import socket
class OnThisMachine(socket.socket):
    def bind(self, address):
        super().bind(("127.0.0.1", address[1]))
socket.socket = OnThisMachine
"""


def test_the_container_s_command_serves_and_its_health_check_passes(packaging: Path, tmp_path: Path):
    found = dict(instructions(packaging))
    options = options_of(json.loads(found["CMD"]))
    assert options[:2] == ["--host", "0.0.0.0"]  # noqa: S104
    check = json.loads(found["HEALTHCHECK"].removeprefix("CMD "))
    ast.parse(check[2])
    with RunningServer(tmp_path / "memory.db", tuple(options), before=_ON_THIS_MACHINE) as server:
        here = check[2].replace("8733", server.address.rpartition(":")[2])
        assert here != check[2]
        subprocess.run([sys.executable, "-c", here], check=True)
        assert server("GET", "/v1/memories", headers={"Host": "localhost:8733"}).status == 200
        assert server("GET", "/v1/memories", headers={"Host": "attacker.example"}).status == 421


def test_the_unit_of_systemd_starts_the_server_and_guards_the_rest(packaging: Path):
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(packaging / "perdure.service", encoding="utf-8")
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[0] == "%h/.local/bin/perdure"
    assert options_of(["perdure", *words[1:]]) == []
    assert unit["Service"]["ProtectSystem"] == "strict"
    assert "%h/.local/share/perdure" in unit["Service"]["ReadWritePaths"]
    assert unit["Install"]["WantedBy"] == "default.target"


def test_the_property_list_of_launchd_starts_the_server(packaging: Path):
    content = plistlib.loads((packaging / "perdure.plist").read_bytes())
    program, *words = content["ProgramArguments"]
    assert program == "/Users/USER/.local/bin/perdure"
    assert options_of(["perdure", *words]) == []
    assert (content["RunAtLoad"], content["Umask"]) == (True, 0o077)


def test_the_port_is_the_server_s_own_everywhere(packaging: Path):
    for name in ("Containerfile", "perdure.service", "perdure.plist"):
        text = (packaging / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\b8\d{3}\b", text)) == {"8733"}
