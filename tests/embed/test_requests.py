"""How many texts go into a request, how much of each, and what becomes of the others when one is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from embed.wires import WIRES, Open, Wire, openai, vectors_of
from hypothesis import given
from hypothesis import strategies as st
from providers.server import VECTOR_FAULTS, FaultServer, Received, Refuse, answering, status

from perdure import Memory, settings
from perdure.embed.port import Vectors, checked_vectors
from perdure.embed.server import Limits, ServerEmbedder, WireFormat
from perdure.errors import EmbedderUnavailable
from perdure.providers.access import Access
from perdure.providers.options import Options
from perdure.settings import Settings

SMALL = 8


def compatible(server: FaultServer, tmp_path: Path, dimensions: int = SMALL) -> Settings:
    """A model of eight dimensions on a server that speaks like OpenAI's."""
    return settings.load(
        embedder="openai:tiny",
        embedder_url=f"{server.url}/v1",
        embedder_dimensions=dimensions,
        cache=tmp_path / "cache",
    )


def of_provider(wire: Wire, server: FaultServer, tmp_path: Path) -> Settings:
    url = server.url + wire.url.split(wire.host)[1]
    return settings.load(embedder=wire.model, embedder_url=url, cache=tmp_path / "cache")


def texts_of(received: Received) -> list[str]:
    body = received.json
    return body["input"] if "input" in body else [one["content"]["parts"][0]["text"] for one in body["requests"]]


@pytest.mark.parametrize(
    ("provider", "count", "sizes"),
    [("gemini", 201, [100, 100, 1]), ("voyage", 1001, [976, 25]), ("openai", 700, [651, 49]), ("ollama", 70, [64, 6])],
)
def test_no_request_has_more_texts_than_the_provider_takes_or_its_answer_can_carry(
    provider: str, count: int, sizes: Sequence[int], server: FaultServer, tmp_path: Path, opened: Open
):
    """An answer may have 32 MiB: a million numbers. That is the limit for OpenAI and Voyage, their own is higher."""
    wire = WIRES[provider]
    server.always(answering(wire.answer))
    made = opened(of_provider(wire, server, tmp_path)).embed_passages([f"text {n}" for n in range(count)])
    assert made.shape == (count, wire.dimensions)
    assert [len(texts_of(request)) for request in server.requests] == sizes


def test_openai_takes_2048_short_vectors_at_once(server: FaultServer, tmp_path: Path, opened: Open):
    server.always(answering(openai))
    opened(compatible(server, tmp_path)).embed_passages(["text"] * 2049)
    assert [len(texts_of(request)) for request in server.requests] == [2048, 1]


@pytest.mark.parametrize(("provider", "tokens"), [("openai", 300_000), ("voyage", 120_000), ("gemini", 200_000)])
def test_no_request_has_more_tokens_than_the_provider_takes(
    provider: str, tokens: int, server: FaultServer, tmp_path: Path, opened: Open
):
    """Counted as a third of the bytes, which is more than there are."""
    wire = WIRES[provider]
    server.always(answering(wire.answer))
    opened(of_provider(wire, server, tmp_path)).embed_passages(["déjà vu " * 3000] * 99)
    assert len(server.requests) > 1
    for request in server.requests:
        assert sum(len(text.encode()) for text in texts_of(request)) / 3 <= tokens


@pytest.mark.parametrize(
    ("provider", "window"), [("openai", 8191), ("voyage", 32_000), ("gemini", 2048), ("ollama", 8192)]
)
@pytest.mark.parametrize("letter", ["a", "é", "語", "🦉"])
def test_of_a_long_text_the_beginning_is_sent(
    provider: str, window: int, letter: str, server: FaultServer, tmp_path: Path, opened: Open
):
    wire = WIRES[provider]
    server.always(answering(wire.answer))
    text = letter * 200_000
    embedder = opened(of_provider(wire, server, tmp_path))
    embedder.embed_query(text)
    embedder.embed_passages([text])
    for request in server.requests:
        (sent,) = (one.partition(": ")[2] or one for one in texts_of(request))
        assert text.startswith(sent)
        assert 0 <= 3 * window - len(sent.encode()) < 4


def refusing(bad: Callable[[str], bool], code: int = 400) -> Callable[[Received], Any]:
    def answer(received: Received) -> Any:
        if any(bad(text) for text in received.json["input"]):
            raise Refuse(code, "this text is not wanted")
        return openai(received)

    return answer


def embed_all(embed: Callable[[], Vectors]) -> tuple[dict[int, Vectors], str]:
    try:
        return dict(enumerate(embed())), ""
    except EmbedderUnavailable as error:
        return dict(error.good or {}), error.sentence


@pytest.mark.parametrize("code", [400, 413, 422])
@pytest.mark.parametrize("bad", [{0}, {49}, {17}, {3, 31}, set[int]()])
def test_a_text_that_is_refused_does_not_keep_the_others_from_their_vectors(
    code: int, bad: set[int], server: FaultServer, tmp_path: Path, opened: Open
):
    server.always(answering(refusing(lambda text: int(text.split()[1]) in bad, code)))
    embedder, texts = opened(compatible(server, tmp_path)), [f"text {n}" for n in range(50)]
    made, said = embed_all(lambda: checked_vectors(embedder, texts))
    assert set(made) == set(range(50)) - bad
    assert bool(bad) == ("this text is not wanted" in said)
    expected = np.array(vectors_of(texts, SMALL)) / 3
    assert all(np.allclose(vector, expected[place], atol=1e-6) for place, vector in made.items())
    assert len(server.requests) <= 75


def test_there_are_at_most_three_requests_for_two_texts_however_many_are_refused(
    server: FaultServer, tmp_path: Path, opened: Open
):
    embedder = opened(compatible(server, tmp_path))
    for count in (2, 7, 50, 200):
        del server.requests[:]
        server.always(answering(refusing(lambda text: int(text.split()[1]) % 2 == 0)))
        made, _ = embed_all(lambda count=count: checked_vectors(embedder, [f"text {n}" for n in range(count)]))
        assert len(server.requests) <= 1.5 * count
        assert count < 50 or len(made) > count // 8


@pytest.mark.parametrize("code", [400, 401, 404])
def test_a_refusal_of_everything_is_understood_after_a_few_requests(
    code: int, server: FaultServer, tmp_path: Path, opened: Open
):
    server.always(status(code))
    embedder = opened(compatible(server, tmp_path))
    made, said = embed_all(lambda: checked_vectors(embedder, [f"text {n}" for n in range(50)]))
    assert (made, "the server says no" in said) == ({}, True)
    assert len(server.requests) == (8 if code == 400 else 1)


def test_a_text_that_is_too_long_for_an_unknown_model_is_tried_once_more_with_its_beginning(
    server: FaultServer, tmp_path: Path
):
    server.always(answering(refusing(lambda text: len(text) > 2000)))
    with Memory(":memory:", settings=compatible(server, tmp_path)) as memory:
        assert memory.remember("dark mode " * 500).notes == ()
        assert memory.recall("dark mode").mode == "hybrid"
    sent = [texts_of(request)[0] for request in server.requests]
    assert [len(text) for text in sent if text.startswith("dark")] == [5000, 1200, 9]


def test_what_was_made_before_a_failure_is_not_lost(server: FaultServer, tmp_path: Path, opened: Open):
    server.always(status(503))
    server.next(answering(openai))
    embedder = opened(compatible(server, tmp_path))
    made, said = embed_all(lambda: checked_vectors(embedder, ["text"] * 2049))
    assert (len(made), "(503)" in said) == (2048, True)


@pytest.mark.parametrize("fault", VECTOR_FAULTS.values(), ids=VECTOR_FAULTS)
def test_no_bad_vector_passes_and_the_sentence_says_what_is_wrong(
    fault: Callable[[list[list[Any]]], list[list[Any]]], server: FaultServer, tmp_path: Path
):
    def spoiled(received: Received) -> Any:
        answer = openai(received)
        made = fault([item["embedding"] for item in answer["data"]])
        return answer | {"data": [{"index": n, "embedding": vector} for n, vector in enumerate(made)]}

    server.always(answering(spoiled))
    with Memory(":memory:", settings=compatible(server, tmp_path)) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert "openai" in done.notes[0] or "The embedder gave" in done.notes[0]
        assert memory.stats().namespaces[0].vectors_pending == 1
        assert memory.recall("dark mode").mode == "keyword"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        None,
        {"data": None},
        {"data": {}},
        {"data": [{"embedding": [1.0] * SMALL}]},
        {"data": [{"index": "0", "embedding": [1.0] * SMALL}]},
        {"data": [{"index": 5, "embedding": [1.0] * SMALL}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 0, "embedding": [[1.0] * SMALL]}]},
        {"data": [{"index": 0, "embedding": [1.0, [2.0]] * 4}]},
        {"data": [{"index": 0, "embedding": {"values": [1.0] * SMALL}}]},
        {"data": [{"index": 0, "embedding": [None] * SMALL}]},
        {"data": [{"index": 0, "embedding": [True] * SMALL}]},
        {"data": [{"index": 0, "embedding": "AACAPwAAgD8="}]},
    ],
)
def test_an_answer_in_another_form_is_said_to_be_one(answer: Any, server: FaultServer, tmp_path: Path, opened: Open):
    server.always(answering(lambda _: answer))
    with pytest.raises(EmbedderUnavailable) as refused:
        checked_vectors(opened(compatible(server, tmp_path)), "dark?")
    assert "openai" in refused.value.sentence


@pytest.fixture
def learning(server: FaultServer, tmp_path: Path) -> Settings:
    """A model that nobody knows, on a server that is there."""
    server.always(answering(openai))
    return compatible(server, tmp_path, dimensions=0)


def test_how_long_the_vectors_of_an_unknown_model_are_is_asked_once_and_kept(
    server: FaultServer, learning: Settings, opened: Open
):
    with Memory(":memory:", settings=learning) as memory:
        assert not memory.remember("Alice prefers dark mode").vector_pending
    assert sum(b"How long" in request.body for request in server.requests) == 1
    server.always(status(503))
    with Memory(":memory:", settings=learning) as memory:
        # Known while the server is away: a memory waits for its vector of this generation and no other.
        assert memory.remember("Alice prefers dark mode").vector_pending
    assert opened(learning).generation.dimensions == SMALL


def test_while_nobody_knows_how_long_they_are_memories_are_stored_and_found_by_keyword(
    server: FaultServer, learning: Settings
):
    server.always(status(400))
    with Memory(":memory:", settings=learning) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert "the server says no" in done.notes[0]
        assert memory.recall("dark mode").mode == "keyword"
        (finding,) = (one for one in memory.doctor() if one.check == "embedder")
        assert (finding.level, "the server says no" in finding.sentence) == ("warning", True)
        server.always(answering(openai))
        memory.doctor()
        memory.work()
        assert memory.stats().namespaces[0].vectors_pending == 0
        assert memory.recall("dark mode").mode == "hybrid"


def test_a_model_that_changed_its_length_is_noticed_and_no_vector_of_it_is_stored(
    server: FaultServer, learning: Settings, opened: Open
):
    assert opened(learning).generation.dimensions == SMALL

    def longer(received: Received) -> Any:
        made = vectors_of(received.json["input"], 16)
        return {"data": [{"index": n, "embedding": vector} for n, vector in enumerate(made)]}

    server.always(answering(longer))
    with Memory(":memory:", settings=learning) as memory:
        done = memory.remember("Alice prefers dark mode")
        assert done.vector_pending
        assert "16 numbers instead of 8" in done.notes[0]
    assert opened(learning).generation.dimensions == 16


class Recorder:
    """In the place of a client: answers at once, and keeps what it was asked."""

    provider, model, url = "testing", "recorder", "http://127.0.0.1"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def sendable(self, text: str) -> str:
        return text

    def post(self, path: str, body: Any, **_: Any) -> Any:
        self.asked.append(body["texts"])
        return vectors_of(body["texts"], SMALL)


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), max_size=25),
    limits=st.builds(Limits, texts=st.integers(1, 8), tokens=st.integers(1, 40), window=st.integers(2, 12)),
)
def test_whatever_the_limits_every_text_is_sent_once_and_gets_its_own_vector(texts: list[str], limits: Limits):
    recorder = Recorder()
    wire = WireFormat(path="/", body=lambda texts, _: {"texts": [*texts]}, vectors=lambda answer: answer)
    options = Options(access=Access(redact=str), own_key="", cache=Path("nowhere"), dimensions=SMALL)
    embedder = ServerEmbedder(cast("Any", recorder), options, wire, limits)
    made = checked_vectors(embedder, texts)
    sent = [text for request in recorder.asked for text in request]
    assert len(sent) == len(texts)
    for whole, part in zip(texts, sent, strict=True):
        assert whole.startswith(part)
        assert part == whole or len(part.encode()) > 3 * limits.window - 4
        assert len(part.encode()) <= 3 * limits.window
    for request in recorder.asked:
        assert 0 < len(request) <= limits.texts
        assert len(request) == 1 or sum(-(-len(text.encode()) // 3) for text in request) <= limits.tokens
    expected = np.array(vectors_of(sent, SMALL), np.float32).reshape(-1, SMALL) / 3
    assert np.allclose(made, expected, atol=1e-6)


def test_work_makes_every_vector_but_that_of_the_text_that_is_refused(server: FaultServer, tmp_path: Path):
    server.always(answering(refusing(lambda text: "forbidden" in text)))
    with Memory(":memory:", settings=compatible(server, tmp_path)) as memory:
        memory.import_({"text": "a forbidden word" if n == 17 else f"memory number {n}"} for n in range(120))
        done = memory.work()
        assert (done.embedded, done.vectors_pending) == (119, 1)
        assert "this text is not wanted" in done.notes[0]
        assert len(server.requests) <= 1.5 * 120
        again = len(server.requests)
        assert memory.work().vectors_pending == 1
        assert len(server.requests) - again <= 2
        found = memory.recall("which word?")
        assert (found.mode, found[0].record.text) == ("hybrid", "a forbidden word")
