"""How many requests `perdure serve` answers in a second on 32 connections, beside as many threads that call the façade
in this process; and how many calls of a tool over MCP, beside the smallest server on the official SDK. Requests are
made by wrk, which nobody here wrote.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Final

from perdure import Memory
from perdure.auth.token_file import TokenFile

CONNECTIONS: Final = 32
_SECONDS: Final = 3
_ROUNDS: Final = 3
_THINGS: Final = ("bridge", "river", "parser", "deploy", "theme", "invoice", "garden", "kettle")
_SCRIPT: Final = Path(__file__).parent / "load.lua"
_RATE: Final = re.compile(r"Requests/sec:\s+([\d.]+)")
_ROUTES: Final = {"recall": "/v1/recall", "remember": "/v1/memories"}
# No two rounds ask or say the same.
_FAR: Final = 1_000_000


def http_rates(source: Path, note: Callable[[str], None]) -> dict[str, tuple[float, float]]:
    """Calls in a second over HTTP and in this process, by verb, in a copy of the store each; medians of rounds in
    turns. None without wrk. `note` is told what is measured.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        return {}
    stores = [source.with_name(f"{side}.db") for side in ("http", "inside")]
    with Memory(source) as memory:
        for store in stores:
            memory.backup(store)
    rates: dict[str, list[tuple[float, float]]] = {verb: [] for verb in _ROUTES}
    with _serving(stores[0]) as url, Memory(stores[1], embedder="local") as memory:
        verbs: dict[str, Callable[[str], object]] = {"recall": memory.recall, "remember": memory.remember}
        token = TokenFile(stores[0]).local_token() or ""
        for turn, verb in itertools.product(range(_ROUNDS + 1), _ROUTES):
            begin = (turn + 1) * _FAR
            note(f"{verb} over HTTP and in one process, {turn} of {_ROUNDS}")
            over = _load(wrk, url + _ROUTES[verb], token, begin)
            inside = _inside(verbs[verb], verb, begin)
            if turn:  # The first loads what was never used.
                rates[verb].append((over, inside))
    return {verb: (median(one for one, _ in each), median(one for _, one in each)) for verb, each in rates.items()}


def mcp_rates(source: Path, sdk: Sequence[str], note: Callable[[str], None]) -> tuple[float, float] | None:
    """Calls of the tool `recall` in a second over streamable HTTP, by us and by the SDK's server, which `sdk` starts
    with a port. None without wrk.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        return None
    ours: list[float] = []
    theirs: list[float] = []
    port = _free_port()
    with (
        _serving(source) as url,
        subprocess.Popen(  # noqa: S603 - the server beside ours
            [*sdk, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as other,
    ):
        token, address = TokenFile(source).local_token() or "", f"http://127.0.0.1:{port}"
        try:
            _await(port)
            for turn in range(_ROUNDS + 1):
                note(f"MCP over HTTP, ours and the SDK's, {turn} of {_ROUNDS}")
                begin = (turn + 1) * _FAR
                rates = _load(wrk, f"{url}/mcp", token, begin), _load(wrk, f"{address}/mcp", token, begin)
                if turn:
                    ours.append(rates[0])
                    theirs.append(rates[1])
        finally:
            other.terminate()
    return median(ours), median(theirs)


def _load(wrk: str, url: str, token: str, begin: int) -> float:
    """Requests in a second, all of them answered well."""
    command = [wrk, "-t1", f"-c{CONNECTIONS}", f"-d{_SECONDS}s", "-s", str(_SCRIPT), url, "--", token, str(begin)]
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own servers
    found = _RATE.search(done)
    if found is None or "Non-2xx" in done:
        raise RuntimeError(done)
    return float(found[1])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _await(port: int) -> None:
    """Until somebody listens there."""
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("the SDK's server does not listen")


@contextmanager
def _serving(store: Path) -> Generator[str]:
    program = str(Path(sys.executable).parent / "perdure")
    command = [program, "serve", "--store", str(store), "--port", "0", "--rate", "0", "--no-work", "--json"]
    environ = {**os.environ, "PERDURE_EMBEDDER": "local"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as process:  # noqa: S603 - our own server
        if process.stdout is None:
            raise RuntimeError("no pipe")
        yield json.loads(b"".join(iter(process.stdout.readline, b"}\n")) + b"}")["url"]
        process.terminate()


def _inside(call: Callable[[str], object], verb: str, begin: int) -> float:
    """The same by threads of this process."""
    numbers, over = itertools.count(begin), threading.Event()
    done = [0] * CONNECTIONS
    form = "which {} has number {}?" if verb == "recall" else "The {} of today has number {}"

    def run(place: int) -> None:
        while not over.is_set():
            number = next(numbers)
            call(form.format(_THINGS[number % len(_THINGS)], number))
            done[place] += 1

    threads = [threading.Thread(target=run, args=(place,)) for place in range(CONNECTIONS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    over.wait(_SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)
