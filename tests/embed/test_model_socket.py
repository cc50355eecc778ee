"""A process that has the model loaded answers others of the same user; without one, nobody waits."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import NoReturn

import numpy as np
import pytest
from hook.hosts import eventually
from store.children import Child, unprivileged

from perdure.embed import model_socket
from perdure.embed.local import UNTRAINED, LocalEmbedder, Model, load_model

TEXT = "which theme does she like?"


def refuses() -> NoReturn:
    raise AssertionError("the model was loaded")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short path: that of a socket may not be long."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        yield Path(folder) / "perdure" / "model"


class Serving:
    """A process that has the model loaded, and lives until it is told to end."""

    def __init__(self) -> None:
        ending, self._end = os.pipe()
        end = self._end

        def serve() -> None:
            os.close(end)
            LocalEmbedder(sharing="serves").embed_query("ready")
            os.read(ending, 1)

        self._child = Child(serve)
        os.close(ending)

    @property
    def pid(self) -> int:
        return self._child.pid

    def end(self) -> None:
        # A byte, because children that were forked later have this end of the pipe as well.
        os.write(self._end, b".")
        os.close(self._end)
        self._child.result()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, an answer that comes is waited for."""
    for name in ("_CONNECT", "_ANSWER"):
        monkeypatch.setattr(model_socket, name, 60.0)


@pytest.fixture
def serving(place: Path, patient: None) -> Iterator[Path]:
    server = Serving()
    eventually(model_socket.is_served)
    yield place
    server.end()


def test_a_question_is_embedded_by_a_process_that_has_the_model(serving: Path):
    asking = LocalEmbedder(refuses, sharing="asks")
    asking.load_beside()
    assert np.array_equal(asking.embed_query(TEXT), LocalEmbedder().embed_query(TEXT))
    assert (serving / "socket").stat().st_mode & 0o777 == 0o600
    assert serving.stat().st_mode & 0o777 == 0o700


def test_a_few_short_texts_are_embedded_by_a_process_that_has_the_model_and_long_ones_are_not(serving: Path):
    asking, texts = LocalEmbedder(refuses, sharing="asks"), [TEXT, "", "a\0b", "Ärger \ud83d", "x " * 500]
    told: list[tuple[int, int]] = []
    vectors = asking.embed_passages(texts, lambda done, total: told.append((done, total)))
    assert told == [(5, 5)]
    assert np.allclose(vectors, [LocalEmbedder().embed_query(text) for text in texts], atol=1e-5)
    with pytest.raises(AssertionError):
        asking.embed_passages(["y " * 2000, "z " * 2000])


def test_who_speaks_of_another_model_or_otherwise_is_not_answered(serving: Path):
    assert model_socket.ask(UNTRAINED, [TEXT]) is None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(serving / "socket"))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    assert model_socket.ask(LocalEmbedder().generation, [TEXT]) is not None


def test_without_a_server_the_model_is_loaded(place: Path):
    expected = LocalEmbedder().embed_query(TEXT)
    assert np.array_equal(LocalEmbedder(sharing="asks").embed_query(TEXT), expected)
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(place / "socket"))
    assert np.array_equal(LocalEmbedder(sharing="asks").embed_query(TEXT), expected)


def test_a_server_that_does_not_answer_is_not_waited_for(place: Path):
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(place / "socket"))
        hanging.listen()
        assert model_socket.ask(LocalEmbedder().generation, [TEXT]) is None


@contextmanager
def answering(place: Path, answer: Callable[[socket.socket], None]) -> Generator[None]:
    """A server of the same user that says what it likes."""
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place / "socket"))
        listening.listen()

        def serve() -> None:
            connection = listening.accept()[0]
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                answer(connection)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield
    thread.join()


GENERATION = LocalEmbedder().generation
TRUE = np.full(GENERATION.dimensions, GENERATION.dimensions**-0.5, "<f4")
LIES = {
    "not a number": np.full(GENERATION.dimensions, np.nan, "<f4"),
    "too large": np.full(GENERATION.dimensions, 1e30, "<f4"),
    "nothing": np.zeros(GENERATION.dimensions, "<f4"),
    "of another length": TRUE[1:],
    "text": np.frombuffer(b"HTTP" * GENERATION.dimensions, "<f4"),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_no_vector_of_a_text_is_not_believed(lie: str, place: Path, patient: None):
    with answering(place, lambda connection: connection.sendall(LIES[lie].tobytes())):
        assert model_socket.ask(GENERATION, [TEXT]) is None


def test_an_answer_is_believed_that_looks_like_one(place: Path, patient: None):
    """So that what is refused above is refused for what it says."""
    with answering(place, lambda connection: connection.sendall(TRUE.tobytes())):
        assert model_socket.ask(GENERATION, [TEXT]) is not None


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for(place: Path):
    pause = Event()

    def drip(connection: socket.socket) -> None:
        for byte in TRUE.tobytes():
            connection.sendall(bytes([byte]))
            pause.wait(0.01)

    with answering(place, drip):
        assert model_socket.ask(GENERATION, [TEXT]) is None


def test_a_server_that_stands_still_is_not_waited_for(place: Path):
    server = Serving()
    eventually(model_socket.is_served)
    os.kill(server.pid, signal.SIGSTOP)
    # Each of its threads stops when it notices, and one of them might still answer.
    os.waitpid(server.pid, os.WUNTRACED)
    try:
        assert model_socket.ask(GENERATION, [TEXT]) is None
    finally:
        os.kill(server.pid, signal.SIGCONT)
    eventually(lambda: model_socket.ask(GENERATION, [TEXT]) is not None)
    server.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_neither_asks_nor_answers(serving: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where the folder lets everybody in."""
    cache = serving.parents[1]
    for path in (cache, serving.parent, serving, serving / "socket"):
        path.chmod(0o777)
    assert model_socket.ask(GENERATION, [TEXT]) is not None
    assert unprivileged(lambda: model_socket.ask(GENERATION, [TEXT])) is None

    def asks_as_if_it_were_his() -> object:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        return model_socket.ask(GENERATION, [TEXT])

    assert unprivileged(asks_as_if_it_were_his) is None


def test_the_next_server_takes_the_place_of_one_that_ended(place: Path):
    generation = LocalEmbedder().generation
    first = Serving()
    eventually(model_socket.is_served)
    second = Serving()
    first.end()
    eventually(lambda: model_socket.ask(generation, [TEXT]) is not None)
    second.end()
    assert not model_socket.is_served()
    assert (place / "socket").exists()


def test_of_two_mcp_servers_the_second_asks_the_first_until_that_ends(place: Path, patient: None):
    first = Serving()
    eventually(model_socket.is_served)
    expected, loaded = LocalEmbedder().embed_query(TEXT), list[str]()

    def load() -> Model:
        loaded.append("model")
        return load_model()

    second = LocalEmbedder(load, sharing="both")
    second.load_beside()
    assert np.array_equal(second.embed_query(TEXT), expected)
    assert np.array_equal(second.embed_passages([TEXT])[0], expected)
    assert loaded == []
    first.end()
    assert np.array_equal(second.embed_query(TEXT), expected)
    assert loaded == ["model"]
    eventually(model_socket.is_served)
