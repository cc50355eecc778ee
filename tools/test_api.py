"""Asks a real server everything that its OpenAPI document allows, and much that it does not: `make test-api`.

Schemathesis makes the requests. What is expected: no answer of 500 or more, none that is not described, and a refusal
of whatever the description forbids.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# The stream of changes never ends by itself. A value of the right type may still be one that Perdure refuses, such as
# words that are no time, so that "valid data is accepted" is not to be had from types alone.
LEFT_OUT = ("--exclude-path", "/v1/events", "--exclude-checks", "positive_data_acceptance")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemathesis", type=Path, help="the program `st`")
    parser.add_argument("--examples", type=int, default=80, help="how many for each operation")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "PERDURE_STORE": f"{folder}/memory.db", "PERDURE_EMBEDDER": "none"}
        command = [sys.executable, "-m", "perdure", "serve", "--port", "0", "--rate", "0", "--json"]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as server:  # noqa: S603 - ourselves
            lines = server.stdout.readline if server.stdout else bytes
            started = json.loads(b"".join(iter(lines, b"}\n")) + b"}")
            asked = [
                str(options.schemathesis.absolute()), "run", f"{started['url']}/openapi.json", *LEFT_OUT,
                "-H", f"Authorization: Bearer {started['secret']}", "-n", str(options.examples),
                "--seed", str(options.seed),
            ]  # fmt: skip
            found = subprocess.run(asked, cwd=folder, check=False).returncode  # noqa: S603 - what the Makefile built
            alive = server.poll() is None
            server.send_signal(signal.SIGTERM)
    print("the server lived" if alive else "the server died")
    return found or (0 if alive and server.returncode == 0 else 1)


if __name__ == "__main__":
    sys.exit(main())
