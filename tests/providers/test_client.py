"""What becomes of a request to a provider, whatever its server does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from providers.server import TRANSPORT_FAULTS, FaultServer, ok

from perdure.errors import ProviderUnavailable
from perdure.model import Json
from perdure.providers.access import Access
from perdure.providers.client import ProviderClient


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def access() -> Iterator[Access]:
    access = Access(redact=lambda text: text)
    yield access
    access.close()


def ask(client: ProviderClient, seconds: float = 5.0) -> Json:
    return client.post("/embed", {"input": "a text"}, purpose="embed query", items=1, seconds=seconds)


def test_a_good_answer_is_given_as_it_is(server: FaultServer, access: Access):
    server.always(ok({"vectors": [[1, 0]]}))
    client = ProviderClient(provider="mine", model="m", url=f"{server.url}/v1", access=access)
    assert ask(client) == {"vectors": [[1, 0]]}
    (request,) = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/v1/embed", {"input": "a text"})


@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_whatever_a_server_does_wrong_it_is_unavailable(server: FaultServer, access: Access, fault: str):
    server.always(TRANSPORT_FAULTS[fault])
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    with pytest.raises(ProviderUnavailable) as raised:
        ask(client, seconds=0.3 if fault in {"hang", "slow drip", "slow headers"} else 30)
    assert f"mine at 127.0.0.1:{server.port}" in raised.value.sentence
