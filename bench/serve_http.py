"""How many requests `perdure serve` answers in a second on 32 connections, beside as many threads that call the façade
in this process. Requests are made by wrk, which nobody here wrote.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from perdure import Memory
from perdure.auth.token_file import TokenFile

CONNECTIONS: Final = 32
_SECONDS: Final = 4
_ROUNDS: Final = 3
_THINGS: Final = ("bridge", "river", "parser", "deploy", "theme", "invoice", "garden", "kettle")
_SCRIPT: Final = Path(__file__).parent / "load.lua"
_RATE: Final = re.compile(r"Requests/sec:\s+([\d.]+)")
_ROUTES: Final = {"recall": "/v1/recall", "remember": "/v1/memories"}
# No two rounds ask or say the same.
_FAR: Final = 1_000_000


def http_rates(source: Path) -> dict[str, tuple[float, float]]:
    """Calls in a second over HTTP and in this process, by verb, in a copy of the store each; medians of rounds in
    turns. None without wrk.
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
            command = [wrk, "-t1", f"-c{CONNECTIONS}", f"-d{_SECONDS}s", "-s", str(_SCRIPT), url + _ROUTES[verb]]
            done = subprocess.run(  # noqa: S603 - wrk against our own server
                [*command, "--", token, str(begin)], capture_output=True, text=True, check=True
            ).stdout
            found = _RATE.search(done)
            if found is None or "Non-2xx" in done:
                raise RuntimeError(done)
            inside = _inside(verbs[verb], verb, begin)
            if turn:  # The first loads what was never used.
                rates[verb].append((float(found[1]), inside))
    return {verb: (median(one for one, _ in each), median(one for _, one in each)) for verb, each in rates.items()}


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
