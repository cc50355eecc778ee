"""A real server in a process of its own, and a client that speaks plain HTTP to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from coverage import Coverage

from perdure.auth.token_file import TokenFile

WAIT = 60
_RUN = "from perdure.cli.app import main; main()"
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem, or nothing."""
        is_problem = self.headers.get("content-type") == "application/problem+json"
        return self.json["code"] if is_problem else ""


@dataclass
class RunningServer:
    """`perdure serve` on a port that the system chose. Use it as a context manager."""

    store: Path | str
    options: tuple[str, ...] = ("--rate", "0", "--no-work")
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    # The module that is run, and its first arguments; or Python that runs before `perdure serve`.
    program: tuple[str, ...] = ("perdure", "serve")
    before: str = ""

    def __enter__(self) -> Self:
        command = [*interpreter(), *self.program]
        if self.before:
            command = [sys.executable, "-P", "-c", f"{self.before}\n{_RUN}", "serve"]
        command += ["--port", "0", "--json", *self.options]
        environ = {"PERDURE_STORE": str(self.store), "PERDURE_EMBEDDER": "none", **self.environment}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env={**os.environ, **environ}, stdout=pipe, stderr=pipe)
        assert self.process.stdout is not None
        lines: list[bytes] = []
        while (line := self.process.stdout.readline()) != b"}\n":
            assert line, self.process.communicate()
            lines.append(line)
        self.started: dict[str, Any] = json.loads(b"".join(lines) + b"}")
        self.address: str = urlsplit(str(self.started["url"])).netloc
        self.owner: str = TokenFile(self.store).local_token() or ""
        self.connection = HTTPConnection(self.address, timeout=WAIT)
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        if self.process.poll() is None:
            self.end()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(WAIT)

    def errors(self) -> str:
        """What the server said on stderr; it must have ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = "owner",
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **query: object,
    ) -> Reply:
        """One request on a connection that stays open. `token`: the owner's, another one, or None."""
        sent = self.headers(token, headers, has_body=body is not None)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        target = path + (f"?{urlencode(query, doseq=True)}" if query else "")
        self.connection.request(method, target, content, sent)
        response = self.connection.getresponse()
        return Reply(response.status, lowered(response), response.read())

    def headers(self, token: str | None, more: Mapping[str, str] | None, *, has_body: bool = False) -> dict[str, str]:
        shown = self.owner if token == "owner" else token  # noqa: S105
        return {
            **({"Authorization": f"Bearer {shown}"} if shown is not None else {}),
            **({"Content-Type": "application/json"} if has_body else {}),
            **(more or {}),
        }

    @contextmanager
    def stream(
        self,
        path: str,
        token: str | None = "owner",
        headers: Mapping[str, str] | None = None,
    ) -> Generator[HTTPResponse]:
        """A response that is read as it comes, on a connection of its own."""
        with closing(HTTPConnection(self.address, timeout=WAIT)) as connection:
            connection.request("GET", path, headers=self.headers(token, headers))
            with connection.getresponse() as response:
                yield response


def interpreter() -> list[str]:
    """Python, ready for the name of a module. Where coverage is measured, what the server runs is covered as well."""
    if Coverage.current() is None:
        return [sys.executable, "-P", "-m"]
    settings = [f"--rcfile={REPOSITORY / 'pyproject.toml'}", f"--data-file={REPOSITORY / '.coverage'}"]
    return [sys.executable, "-P", "-m", "coverage", "run", "--parallel-mode", *settings, "-m"]


def lowered(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def events(response: HTTPResponse) -> Iterator[dict[str, str]]:
    """Server-sent events, as they come."""
    event: dict[str, str] = {}
    for line in iter(response.readline, b""):
        text = line.decode().rstrip("\n")
        if not text:
            if event:
                yield event
            event = {}
        elif not text.startswith(":"):
            name, _, value = text.partition(": ")
            event[name] = value


def path_of(*parts: object) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)
