"""`perdure` as its users have it: a process of its own, on a terminal or in a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from cli.user import User

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX terminals and signals")


def on_a_terminal(user: User, *words: str, **environment: str) -> str:
    """What a terminal of 100 columns is sent."""
    import pty

    leader, follower = pty.openpty()
    process = user.start(*words, stdin=follower, stdout=follower, stderr=follower, environment=environment)
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux ends a terminal with an error, others with nothing
            chunk = b""
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert process.wait(60) == 0, said
    return said.decode("utf-8")


def test_a_second_process_recalls_what_the_first_remembered(user: User):
    assert user.process("remember", "Alice prefers dark mode")[0] == 0
    code, out, _ = user.process("recall", "dark", "--json")
    assert code == 0
    assert json.loads(out)["hits"][0]["record"]["text"] == "Alice prefers dark mode"


@posix
def test_a_terminal_gets_colours_and_a_layout(user: User):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui")
    said = on_a_terminal(user, "recall", "dark")
    assert "\x1b[" in said
    assert "#1" in re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert "\x1b[" in on_a_terminal(user, "list")


@posix
@pytest.mark.parametrize("words", [("recall", "dark"), ("list",), ("stats",)], ids=lambda words: words[0])
def test_no_color_means_no_colours(user: User, words: tuple[str, ...]):
    user.done("remember", "Alice prefers dark mode", "--tag", "ui", "--category", "goal")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", on_a_terminal(user, *words, NO_COLOR="1"))


@pytest.mark.parametrize(
    "words", [("recall", "dark"), ("list",), ("history", "1"), ("doctor",)], ids=lambda words: words[0]
)
def test_a_pipe_gets_no_colours(user: User, words: tuple[str, ...]):
    user.done("remember", "Alice prefers dark mode")
    _, out, err = user.process(*words)
    assert out
    assert b"\x1b" not in out + err


@posix
def test_a_reader_that_leaves_early_is_no_error(user: User):
    user.done("remember", "--lines", stdin="\n".join(f"note {number} {'x' * 2000}" for number in range(99)))
    process = user.start("list", "--limit", "99")
    out, err = cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stderr)
    with out, err:
        assert out.readline().startswith(b"99\t")
        out.close()
        assert process.wait(60) == 141
        assert err.read() == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal_survives_any_text(user: User, encoding: str):
    user.done("remember", "東京 → naïve ✓", "--tag", "日本")
    for words, layout in (
        (("list",), "terminal"),
        (("recall", "naïve", "--explain"), "terminal"),
        (("show", "1"), "plain"),
    ):
        code, out, err = user.process(*words, PYTHONIOENCODING=encoding, PERDURE_LAYOUT=layout)
        assert (code, b"Traceback" in err) == (0, False), err
        assert out.decode(encoding)
    _, out, _ = user.process("show", "1", "--json", PYTHONIOENCODING=encoding)
    assert json.loads(out.decode(encoding))["text"] == "東京 → naïve ✓"


@posix
def test_ctrl_c_ends_with_130_and_keeps_what_was_acknowledged(user: User):
    process = user.start("remember", "--lines", stdin=subprocess.PIPE)
    feed, out = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    feed.write(b"one\n")
    feed.flush()
    assert out.readline().startswith(b"Remembered #1")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert [record["text"] for record in user.done("list", "--json").json["records"]] == ["one"]


@posix
def test_a_closed_standard_output_is_no_error(user: User):
    user.done("remember", "one")
    words = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-P", "-m", "perdure", "list"]
    done = subprocess.run(words, env={**os.environ, **user.environment}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_recall_in_a_pipe_imports_neither_rich_nor_other_commands(user: User):
    user.done("remember", "Alice prefers dark mode")
    script = (
        "import sys\n"
        "from perdure.cli.app import perdure\n"
        "try: perdure.main(['recall', 'dark'])\n"
        "except SystemExit: print(*sorted(sys.modules), sep='\\n', file=sys.stderr)\n"
    )
    environment = {**os.environ, **user.environment}
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, capture_output=True, check=True)
    loaded = set(done.stderr.decode("utf-8").split())
    assert "perdure.cli.recall" in loaded
    assert not {"rich", "pydantic", "onnxruntime", "perdure.cli.list", "perdure.cli.remember"} & loaded
