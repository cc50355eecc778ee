"""A process that has the model loaded answers others of the same user; without one, nobody waits."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hook.hosts import eventually
from store.children import Child

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

    def end(self) -> None:
        # A byte, because children that were forked later have this end of the pipe as well.
        os.write(self._end, b".")
        os.close(self._end)
        self._child.result()


@pytest.fixture
def serving(place: Path) -> Iterator[Path]:
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


def test_of_two_mcp_servers_the_second_asks_the_first_until_that_ends(place: Path):
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
