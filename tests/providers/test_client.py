"""What becomes of a request to a provider, whatever its server does."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from providers.audit import network_events
from providers.server import MIB, TRANSPORT_FAULTS, Connection, FaultServer, Received, hang, ok, redirect, status, text

from perdure.errors import EgressForbidden, ProviderRefused, ProviderUnavailable
from perdure.model import Json
from perdure.providers.access import Access
from perdure.providers.breaker import Breaker
from perdure.providers.budget import background
from perdure.providers.call import ProviderCall
from perdure.providers.client import ProviderClient
from perdure.providers.options import ApiKey, Options

if TYPE_CHECKING:
    from providers.cloud import Cloud

HOST = "api.provider.example"
SECRET = "sk-test-4711-and-more-of-it"  # noqa: S105 - nobody's
NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
# Those that end only by our own deadline.
ENDLESS = {"hang", "slow drip", "slow headers"}

Ask = Callable[..., Json]


class Books:
    """What is planned and what is told."""

    def __init__(self) -> None:
        self.planned: list[ProviderCall] = []
        self.calls: list[ProviderCall] = []


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def access(books: Books) -> Iterator[Access]:
    access = Access(
        egress=(HOST,),
        redact=lambda text: text.replace("hunter2", "[REDACTED:password]"),
        allow=books.planned.append,
        record=books.calls.append,
        clock=lambda: NOW,
    )
    yield access
    access.close()


@pytest.fixture
def asking(access: Access) -> Callable[..., Ask]:
    """A client for a URL, as the function that asks it."""

    def make(url: str, **options: Any) -> Ask:
        client = ProviderClient(provider="mine", model="m", url=url, access=access, **options)
        return partial(client.post, "/embed", {"input": "a text"}, purpose="embed query", items=1, seconds=30)

    return make


def error_of(ask: Ask, **options: Any) -> ProviderUnavailable:
    with pytest.raises(ProviderUnavailable) as raised:
        ask(**options)
    return raised.value


def test_a_body_is_sent_as_json_and_the_json_of_the_answer_comes_back(server: FaultServer, asking: Callable[..., Ask]):
    server.always(ok({"vectors": [[1, 0]]}))
    ask = asking(f"{server.url}/v1/", headers={"x-version": "3"})
    assert ask() == {"vectors": [[1, 0]]}
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/embed", b'{"input":"a text"}')
    assert request.headers == {
        "host": f"127.0.0.1:{server.port}",
        "content-type": "application/json",
        "content-length": "18",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": "perdure",
        "x-version": "3",
    }


def test_a_path_cannot_leave_its_place(server: FaultServer, access: Access):
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    client.post("/models/a b?key=1\r\nX: y#z:embed", {}, purpose="p", items=1, seconds=30)
    assert server.requests[0].path == "/models/a%20b%3Fkey%3D1%0D%0AX%3A%20y%23z:embed".replace("%3A", ":")


def test_lone_halves_of_characters_do_not_keep_a_text_from_being_sent(server: FaultServer, access: Access):
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    client.post("/embed", {"input": "half \ud83d"}, purpose="p", items=1, seconds=30)
    assert server.requests[0].json == {"input": "half ?"}


@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_whatever_a_server_does_wrong_it_is_unavailable_and_named(
    server: FaultServer, asking: Callable[..., Ask], fault: str
):
    server.always(TRANSPORT_FAULTS[fault])
    error = error_of(asking(server.url), seconds=0.2 if fault in ENDLESS else 30)
    assert f"mine at 127.0.0.1:{server.port}" in error.sentence
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", sorted(ENDLESS))
def test_one_deadline_holds_for_the_whole_exchange(server: FaultServer, asking: Callable[..., Ask], fault: str):
    """A server that drips is always in time for those who count the seconds between two bytes."""
    server.always(TRANSPORT_FAULTS[fault])
    assert "did not answer within 0.2 s" in error_of(asking(server.url), seconds=0.2).sentence


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_does_not_read_is_not_waited_for(access: Access, scheme: str):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}"
        client = ProviderClient(provider="mine", model="m", url=url, access=access)
        with pytest.raises(ProviderUnavailable, match=r"did not answer within 0\.2 s"):
            client.post("/embed", {"input": "x" * (20 * MIB)}, purpose="p", items=1, seconds=0.2)


def endless(connection: Connection, _: Received) -> None:
    """Chunk after chunk, without a word about how many."""
    connection.begin(200, "application/json", {"Transfer-Encoding": "chunked"})
    connection.close_connection = True
    while True:
        connection.wfile.write(b"%x\r\n%s\r\n" % (MIB, b" " * MIB))
        connection.faults.sent_bytes += MIB


@pytest.mark.parametrize("behaviour", [TRANSPORT_FAULTS["100 MB"], endless])
def test_an_answer_without_end_is_cut_off(server: FaultServer, asking: Callable[..., Ask], behaviour: Any):
    server.always(behaviour)
    assert "more than 32 MiB" in error_of(asking(server.url)).sentence
    assert server.sent_bytes < 60 * MIB


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"data": [1, 2', "Expecting ',' delimiter at character 14"),
        ("", "Expecting value at character 0"),
        ('{"vector": [NaN]}', "it holds NaN"),
        ('{"vector": [-Infinity]}', "it holds -Infinity"),
        (b'{"a": "\xff"}', "can't decode byte"),
        ("[" * 200_000, "while decoding a JSON array"),
        ("1" * 5000, "limit"),
    ],
)
def test_what_is_no_json_is_an_error_that_says_why(
    server: FaultServer, asking: Callable[..., Ask], body: str | bytes, reason: str
):
    server.always(text(body))
    error = error_of(asking(server.url))
    assert "not valid JSON" in error.sentence
    assert reason in error.sentence


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/problem+json", "text/json"])
def test_json_by_any_of_its_names_is_read(server: FaultServer, asking: Callable[..., Ask], kind: str):
    server.always(text("[1]", kind))
    assert asking(server.url)() == [1]


# Each provider keeps its words elsewhere: OpenAI, Anthropic, Gemini (once as a list), Voyage, Ollama, FastAPI.
WORDS = [
    {"error": {"message": "too many words", "type": "invalid_request_error", "code": None}},
    {"type": "error", "error": {"type": "invalid_request_error", "message": "too many words"}},
    {"error": {"code": 400, "message": "too many words", "status": "INVALID_ARGUMENT"}},
    [{"error": {"code": 400, "message": "too many words"}}],
    {"detail": "too many words"},
    {"error": "too many words"},
    {"detail": [{"loc": ["body"], "msg": "too many words"}]},
]


@pytest.mark.parametrize("value", WORDS)
def test_the_providers_own_words_are_what_the_user_sees(server: FaultServer, asking: Callable[..., Ask], value: Json):
    server.always(status(400, value))
    error = error_of(asking(server.url))
    assert isinstance(error, ProviderRefused)
    assert error.sentence == f"mine at 127.0.0.1:{server.port} refused the request (400): too many words."


@pytest.mark.parametrize("value", [None, {}, [], {"error": {}}, {"error": 7}, "", 3, {"error": {"message": ["x"]}}])
def test_a_provider_without_words_is_quoted_with_none(server: FaultServer, asking: Callable[..., Ask], value: Json):
    server.always(text(json.dumps(value), code=500))
    assert "(500)" in error_of(asking(server.url)).sentence


def test_foreign_words_are_one_short_line(server: FaultServer, asking: Callable[..., Ask]):
    server.always(text("\x1b[31mred\nalert\x07 " + "and so on " * 500, "text/plain", code=500))
    sentence = error_of(asking(server.url)).sentence
    assert sentence.isprintable()
    assert "red alert" in sentence
    assert len(sentence) < 400


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    [
        (400, ProviderRefused, "what it takes"),
        (401, ProviderRefused, "Check the key in MY_KEY"),
        (403, ProviderRefused, "Check the key in MY_KEY"),
        (404, ProviderRefused, "Check the model's name and the URL"),
        (413, ProviderRefused, "what it takes"),
        (422, ProviderRefused, "what it takes"),
        (408, ProviderUnavailable, "memory.work()"),
        (429, ProviderUnavailable, "memory.work()"),
        (500, ProviderUnavailable, "memory.work()"),
        (503, ProviderUnavailable, "memory.work()"),
        (529, ProviderUnavailable, "memory.work()"),
    ],
)
def test_a_status_says_whether_to_ask_again_and_what_to_do(
    server: FaultServer,
    asking: Callable[..., Ask],
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: type[Exception],
    remedy: str,
):
    monkeypatch.setenv("MY_KEY", SECRET)
    server.always(status(code))
    error = error_of(asking(server.url, api_key=ApiKey(variable="MY_KEY")))
    assert type(error) is kind
    assert error.retryable is (kind is ProviderUnavailable)
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "Sat, 14 Mar 2026 09:27:13 GMT"}, 20.0),
        ({"Retry-After": "Sat, 14 Mar 2026 09:00:00 GMT"}, 0.0),
        ({"Retry-After": "Saturday, 14-Mar-26 09:27:13 GMT"}, 20.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "9", "Retry-After-Ms": "250"}, 0.25),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_when_the_server_wants_to_be_asked_again_is_told(
    server: FaultServer, asking: Callable[..., Ask], headers: Mapping[str, str], seconds: float | None, code: int
):
    server.always(lambda connection, _: connection.send(code, b"{}", headers=headers))
    assert error_of(asking(server.url)).retry_after == seconds


def test_nobody_listening_is_unavailable(asking: Callable[..., Ask]):
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    error = error_of(asking(f"http://127.0.0.1:{port}"))
    assert error.sentence == f"mine at 127.0.0.1:{port} could not be asked: Connection refused."
    assert "Check that the server runs" in error.remedy


def test_localhost_is_this_machine_without_a_look_up(server: FaultServer, asking: Callable[..., Ask]):
    """Whatever /etc/hosts or a resolver says."""
    server.always(ok("here"))
    with network_events() as events:
        assert asking(f"http://localhost:{server.port}")() == "here"
        assert asking(f"http://models.localhost:{server.port}")() == "here"
    assert {where for event, where in events if event == "socket.getaddrinfo"} == {"127.0.0.1"}
    assert [request.headers["host"].partition(":")[0] for request in server.requests] == [
        "localhost",
        "models.localhost",
    ]


# What leaves this machine


def test_a_cloud_is_asked_by_its_name_over_tls_at_the_address_that_was_looked_up_once(
    cloud: Cloud, asking: Callable[..., Ask]
):
    server = cloud(HOST)
    server.always(ok("from afar"))
    assert asking(f"https://{HOST}/v1")() == "from afar"
    assert cloud.lookups == [HOST]
    assert server.requests[0].headers["host"] == HOST


def test_connections_are_kept_for_the_next_request(cloud: Cloud, asking: Callable[..., Ask]):
    server = cloud(HOST)
    ask = asking(f"https://{HOST}")
    for _ in range(5):
        ask()
    assert (len(server.requests), cloud.lookups) == (5, [HOST])


def test_a_resolver_that_hangs_is_not_waited_for(
    cloud: Cloud, asking: Callable[..., Ask], monkeypatch: pytest.MonkeyPatch
):
    """The system's own knows no deadline."""
    released = threading.Event()

    def hanging(*_: Any, **__: Any) -> list[Any]:
        released.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    assert "did not answer within 0.2 s" in error_of(asking(f"https://{HOST}"), seconds=0.2).sentence
    released.set()


def test_of_several_addresses_the_next_is_tried(cloud: Cloud, asking: Callable[..., Ask]):
    server = cloud(HOST)
    server.always(ok("good"))
    (good,) = cloud.addresses[HOST]
    cloud.addresses[HOST] = ["2001:500:88:200::8", "2001:500:88:200::8", "192.0.43.99", good]
    assert asking(f"https://{HOST}")() == "good"


@pytest.mark.parametrize("answer", [[], ["no address"]])
def test_a_name_without_an_address_is_unavailable(cloud: Cloud, asking: Callable[..., Ask], answer: list[str]):
    cloud.addresses[HOST] = answer
    assert "its name has no address" in error_of(asking(f"https://{HOST}")).sentence


def test_a_certificate_that_nobody_vouches_for_is_refused(cloud: Cloud, asking: Callable[..., Ask], books: Books):
    server = cloud(HOST, trusted=False)
    error = error_of(asking(f"https://{HOST}"))
    assert "its certificate is not trusted" in error.sentence
    assert server.requests == []
    assert (books.calls[0].sent_bytes, books.calls[0].input_tokens) == (0, 0)


def test_a_certificate_of_another_host_is_refused(cloud: Cloud, asking: Callable[..., Ask]):
    server = cloud(HOST, name="other.provider.example")
    error = error_of(asking(f"https://{HOST}"))
    assert "its certificate is not trusted" in error.sentence
    assert "other.provider.example" not in error.remedy
    assert server.requests == []


def test_secrets_are_taken_out_of_everything_that_leaves(cloud: Cloud, access: Access):
    server = cloud(HOST)
    client = ProviderClient(provider="mine", model="m", url=f"https://{HOST}", access=access)
    body: dict[str, Json] = {
        "input": ["hunter2 a", "b"],
        "messages": [{"role": "user", "content": [{"text": "say hunter2"}]}],
        "n": 3,
        "ok": True,
        "none": None,
    }
    client.post("/embed", body, purpose="embed passages", items=2, seconds=30)
    assert b"hunter2" not in server.requests[0].body
    assert server.requests[0].json == {
        "input": ["[REDACTED:password] a", "b"],
        "messages": [{"role": "user", "content": [{"text": "say [REDACTED:password]"}]}],
        "n": 3,
        "ok": True,
        "none": None,
    }


def test_on_this_machine_texts_are_sent_as_they_are_and_no_call_is_listed(
    server: FaultServer, access: Access, books: Books
):
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    client.post("/embed", {"input": "hunter2"}, purpose="embed query", items=1, seconds=30)
    assert server.requests[0].json == {"input": "hunter2"}
    assert (books.planned, books.calls) == ([], [])


def test_each_request_that_leaves_is_listed_with_its_purpose_and_size(
    cloud: Cloud, asking: Callable[..., Ask], books: Books
):
    cloud(HOST).always(ok({"v": 1, "usage": {"prompt_tokens": 5}}))
    asking(f"https://{HOST}")(purpose="embed passages", items=7)
    (call,) = books.calls
    assert call == ProviderCall(
        at=NOW,
        provider="mine",
        model="m",
        host=HOST,
        purpose="embed passages",
        items=7,
        sent_bytes=18,
        received_bytes=39,
        input_tokens=4,
        output_tokens=0,
        outcome="ok",
    )
    assert books.planned[0].input_tokens == 4


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"in": 11, "out": 3}, (11, 3)),
        ({"in": "11", "out": 3.0}, (11, 3)),
        ({"in": 11}, (4, 0)),
        ({"in": "many", "out": 3}, (4, 0)),
        ({"in": None, "out": 3}, (4, 0)),
        ({"in": -5, "out": 3}, (0, 3)),
        ({"in": 1e999, "out": 3}, (4, 0)),
        ("all", (4, 0)),
        (None, (4, 0)),
    ],
)
def test_tokens_are_those_that_the_answer_tells_else_estimated(
    cloud: Cloud, asking: Callable[..., Ask], books: Books, usage: Json, tokens: tuple[int, int]
):
    cloud(HOST).always(text(json.dumps({"usage": usage}).replace("Infinity", "1e999")))

    def tell(answer: Any) -> tuple[int, int]:
        return answer["usage"]["in"], answer["usage"]["out"]

    asking(f"https://{HOST}")(usage=tell)
    assert (books.calls[0].input_tokens, books.calls[0].output_tokens) == tokens


@pytest.mark.parametrize(
    ("behaviour", "outcome", "received"),
    [
        (status(500, {"error": "no"}), "provider_unavailable", 15),
        (status(400, {"error": "no"}), "provider_refused", 15),
        (TRANSPORT_FAULTS["reset"], "provider_unavailable", 0),
        (TRANSPORT_FAULTS["truncated JSON"], "provider_unavailable", 34),
        (redirect("https://elsewhere.example/"), "provider_refused", 2),
    ],
)
def test_a_request_that_failed_is_listed_too(
    cloud: Cloud, asking: Callable[..., Ask], books: Books, behaviour: Any, outcome: str, received: int
):
    cloud(HOST).always(behaviour)
    error_of(asking(f"https://{HOST}"))
    (call,) = books.calls
    assert (call.outcome, call.sent_bytes, call.received_bytes) == (outcome, 18, received)


def test_of_a_provider_that_cannot_be_connected_to_the_list_says_that_nothing_was_sent(
    cloud: Cloud, asking: Callable[..., Ask], books: Books
):
    assert "its name could not be looked up" in error_of(asking(f"https://{HOST}")).sentence
    (call,) = books.calls
    assert (call.outcome, call.sent_bytes, call.input_tokens) == ("provider_unavailable", 0, 0)


def test_a_request_that_was_interrupted_is_listed_as_such(cloud: Cloud, books: Books):
    """Ctrl-C, here while the answer is read: the text has left."""

    def redact(text: str) -> str:
        if text == "the server says no":
            raise KeyboardInterrupt
        return text

    cloud(HOST).always(status(500))
    access = Access(redact=redact, egress=(HOST,), record=books.calls.append)
    client = ProviderClient(provider="mine", model="m", url=f"https://{HOST}", access=access)
    with pytest.raises(KeyboardInterrupt):
        client.post("/embed", {"input": "a text"}, purpose="p", items=1, seconds=30)
    access.close()
    assert [(call.outcome, call.sent_bytes) for call in books.calls] == [("interrupted", 18)]


def test_a_budget_that_is_used_up_keeps_the_request_here(cloud: Cloud, books: Books):
    def enough(call: ProviderCall) -> None:
        raise ProviderUnavailable(f"{call.input_tokens} tokens are too many.")

    server = cloud(HOST)
    access = Access(redact=str, egress=(HOST,), allow=enough, record=books.calls.append)
    client = ProviderClient(provider="mine", model="m", url=f"https://{HOST}", access=access)
    with pytest.raises(ProviderUnavailable, match="4 tokens are too many"):
        client.post("/embed", {"input": "a text"}, purpose="p", items=1, seconds=30)
    assert (server.requests, books.calls, cloud.lookups) == ([], [], [])


def test_a_host_that_is_not_named_is_not_even_looked_up(cloud: Cloud, asking: Callable[..., Ask], books: Books):
    server = cloud("api.other.example")
    error = error_of(asking("https://api.other.example/v1"))
    assert isinstance(error, EgressForbidden)
    assert f'`egress = ["{HOST}", "api.other.example"]`' in error.remedy
    assert f"PERDURE_EGRESS={HOST},api.other.example" in error.remedy
    assert (server.requests, books.calls, books.planned, cloud.lookups) == ([], [], [], [])


def test_no_proxy_of_the_environment_is_asked(
    server: FaultServer, cloud: Cloud, asking: Callable[..., Ask], monkeypatch: pytest.MonkeyPatch
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, server.url)
    far = cloud(HOST)
    asking(f"https://{HOST}")()
    assert (len(far.requests), len(server.requests)) == (1, 0)


# Redirects and keys


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_that_names_the_host_it_points_to(
    server: FaultServer, asking: Callable[..., Ask], monkeypatch: pytest.MonkeyPatch, code: int
):
    monkeypatch.setenv("MY_KEY", SECRET)
    with FaultServer() as other:
        server.always(redirect(f"{other.url}/steal?key={SECRET}", code))
        error = error_of(asking(server.url, api_key=ApiKey(variable="MY_KEY")))
        assert isinstance(error, ProviderRefused)
        assert "redirects to 127.0.0.1, and Perdure follows no redirect" in error.sentence
        assert SECRET not in str(error)
        assert other.requests == []


@pytest.mark.parametrize("location", ["", "/v2", "//", "http://[", "\x80"])
def test_a_redirect_to_nowhere_is_an_error_as_well(server: FaultServer, asking: Callable[..., Ask], location: str):
    server.always(redirect(location))
    assert "redirects to" in error_of(asking(server.url)).sentence


def test_a_key_comes_from_the_environment_and_a_missing_one_is_named_without_a_request(
    server: FaultServer, asking: Callable[..., Ask], monkeypatch: pytest.MonkeyPatch
):
    ask = asking(server.url, api_key=ApiKey(variable="MY_KEY", header="x-api-key", prefix=""))
    error = error_of(ask)
    assert isinstance(error, ProviderRefused)
    assert error.sentence == "mine needs a key, and MY_KEY is not set."
    assert "Set MY_KEY in the environment" in error.remedy
    assert server.requests == []
    monkeypatch.setenv("MY_KEY", f" {SECRET}\n")
    ask()
    assert server.requests[0].headers["x-api-key"] == SECRET


@pytest.mark.parametrize("value", ["sk-\r\nX-Other: 1", "sk-ключ", "a\x00b"])
def test_a_key_that_is_none_is_not_sent_and_not_shown(
    server: FaultServer, asking: Callable[..., Ask], monkeypatch: pytest.MonkeyPatch, value: str
):
    monkeypatch.setattr(os, "environ", {**os.environ, "MY_KEY": value})
    error = error_of(asking(server.url, api_key=ApiKey(variable="MY_KEY")))
    assert "The key in MY_KEY holds signs that no key has" in error.sentence
    assert value.strip() not in str(error)
    assert server.requests == []


def test_a_key_is_in_no_error_no_log_and_no_repr(
    server: FaultServer, access: Access, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", SECRET)
    server.always(status(401, {"error": {"message": f"Incorrect API key provided: {SECRET}. Password hunter2."}}))
    key = ApiKey(variable="MY_KEY")
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access, api_key=key)
    with pytest.raises(ProviderRefused) as raised:
        client.post("/embed", {}, purpose="p", items=1, seconds=30)
    assert "Incorrect API key provided: [key]. Password [REDACTED:password]." in raised.value.sentence
    seen = f"{raised.value!r} {raised.value.as_dict()} {client!r} {access!r} {key!r} {vars(client)!r} {caplog.text}"
    assert SECRET not in seen
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("own", [None, "my-own-key"])
def test_a_providers_key_never_goes_to_a_url_of_ones_own(
    server: FaultServer, access: Access, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, own: str | None
):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    if own is not None:
        monkeypatch.setenv("PERDURE_EMBEDDER_KEY", own)
    options = Options(access=access, own_key="PERDURE_EMBEDDER_KEY", cache=tmp_path, url=f"{server.url}/v1")
    client = options.client(
        "openai", "m", url=f"https://{HOST}/v1", api_key=ApiKey(variable="OPENAI_API_KEY"), headers={}
    )
    client.post("/embed", {}, purpose="p", items=1, seconds=30)
    assert server.requests[0].headers.get("authorization") == (own and f"Bearer {own}")
    assert SECRET not in str(server.requests)


def test_a_providers_key_goes_to_its_own_host_whatever_path_the_user_gives(
    cloud: Cloud, access: Access, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("PERDURE_LLM_KEY", "my-own-key")
    server = cloud(HOST)
    options = Options(access=access, own_key="PERDURE_LLM_KEY", cache=tmp_path, url=f"https://{HOST.upper()}:443/v9")
    client = options.client("openai", "m", url=f"https://{HOST}/v1", api_key=ApiKey(variable="OPENAI_API_KEY"))
    client.post("/chat", {}, purpose="p", items=1, seconds=30)
    assert (server.requests[0].path, server.requests[0].headers["authorization"]) == ("/v9/chat", f"Bearer {SECRET}")


def test_one_text_is_waited_for_shortly_and_a_batch_longer(access: Access, tmp_path: Any):
    options = Options(access=access, own_key="PERDURE_LLM_KEY", cache=tmp_path, seconds=1.5)
    assert (options.seconds_for(1), options.seconds_for(50)) == (1.5, 1.5)
    with background():
        assert (options.seconds_for(1), options.seconds_for(50)) == (1.5, 60.0)


# The circuit breaker


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the circuit breaker no time passes, however slow this machine is."""
    monkeypatch.setattr("perdure.providers.client.Breaker", partial(Breaker, lambda: 0.0, lambda: 0.5))


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_a_provider_that_failed_is_not_asked_again_at_once(server: FaultServer, asking: Callable[..., Ask], fault: str):
    server.always(TRANSPORT_FAULTS[fault])
    ask = asking(server.url)
    first = error_of(ask, seconds=0.2 if fault in ENDLESS else 30)
    again = error_of(ask)
    assert type(again) is type(first)
    assert again.sentence.startswith(first.sentence)
    assert "It is asked again in" in again.sentence
    assert again.retry_after == 1.5
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_request_that_is_refused_does_not_keep_the_next_from_being_sent(
    server: FaultServer, asking: Callable[..., Ask], code: int
):
    server.next(status(code))
    server.always(ok("good"))
    ask = asking(server.url)
    error_of(ask)
    assert ask() == "good"


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("code", [401, 403, 404])
def test_what_all_requests_would_hear_is_asked_once(server: FaultServer, asking: Callable[..., Ask], code: int):
    server.always(status(code))
    ask = asking(server.url)
    first = error_of(ask)
    assert isinstance(error_of(ask), ProviderRefused)
    assert error_of(ask).remedy == first.remedy
    assert len(server.requests) == 1


# Threads, processes, the end


def test_many_threads_share_one_client(server: FaultServer, asking: Callable[..., Ask]):
    server.always(ok("good"))
    ask = asking(server.url)
    answers: list[Json] = []
    threads = [threading.Thread(target=lambda: answers.extend(ask() for _ in range(10))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["good"] * 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_connections_of_its_own_and_the_parent_keeps_its(cloud: Cloud, asking: Callable[..., Ask]):
    server = cloud(HOST)
    server.always(ok("good"))
    ask = asking(f"https://{HOST}")
    ask()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if ask() == "good" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ask() == "good"
    # The child looked the name up for itself; the parent did not have to again.
    assert (len(server.requests), cloud.lookups) == (3, [HOST])


def test_closing_ends_what_is_under_way_and_what_comes_later(server: FaultServer, access: Access):
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    under_way = threading.Event()

    def wait(connection: Connection, received: Received) -> None:
        under_way.set()
        hang(connection, received)

    server.always(wait)
    errors: list[ProviderUnavailable] = []

    def ask() -> None:
        with pytest.raises(ProviderUnavailable) as raised:
            client.post("/embed", {}, purpose="p", items=1, seconds=30)
        errors.append(raised.value)

    thread = threading.Thread(target=ask)
    thread.start()
    under_way.wait()
    access.close()
    server.release()
    thread.join()
    ask()
    assert len(errors) == 2
    assert errors[1].sentence == "The connections to mine are closed."
    assert len(server.requests) == 1
