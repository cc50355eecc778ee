"""Which servers may be asked: a corpus of URLs and addresses that lead where nobody meant to go, and properties."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from providers.audit import network_events
from providers.server import ok

from perdure.errors import EgressForbidden, SettingsInvalid
from perdure.providers.access import Access
from perdure.providers.address import Endpoint, check_addresses, check_endpoint, parse_url, same_server
from perdure.providers.client import ProviderClient
from perdure.settings import load

if TYPE_CHECKING:
    from providers.cloud import Cloud

HOST = "api.provider.example"
# Each is refused although HOST, and the addresses below, are named.
URLS = [
    # without https
    f"http://{HOST}/",
    f"http://{HOST}:443/",
    "http://10.0.0.5/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.168.1.1/",
    # not named
    "https://api.other.example/",
    f"https://{HOST}.evil.example/",
    f"https://evil-{HOST}/",
    "https://provider.example/",
    f"https://v1.{HOST}/",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    # private, link-local, metadata
    "https://10.0.0.6/",
    "https://172.16.0.1/",
    "https://192.168.0.1/",
    "https://169.254.169.254/",
    "https://100.100.100.200/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fc00::1]/",
    "https://[::ffff:10.0.0.6]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:a9fe:a9fe::1]/",
    # nobody's
    "https://0.0.0.0/",
    "http://0.0.0.0:11434/",
    "http://[::]:11434/",
    "https://255.255.255.255/",
    "https://224.0.0.1/",
    "https://[ff02::1]/",
    # addresses in disguise: decimal, octal, hexadecimal, short
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.01/",
    "http://00000127.0.0.1/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://169.254.43518/",
    "https://0xa9.254.0251.0376/",
    "http://127.0.0.1.0x1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    # a user, or what looks like one
    f"https://user:password@{HOST}/",
    f"https://{HOST}@evil.example/",
    f"https://{HOST}:443@evil.example/",
    "http://127.0.0.1@evil.example/",
    f"https://evil.example\\@{HOST}/",
    # other readings of one text
    f"https://{HOST}\\.evil.example/",
    f"https://{HOST}#@evil.example/",
    f"https://{HOST}?@evil.example/",
    f"https://{HOST}/?to=evil.example",
    f"https://{HOST}%2eevil.example/",
    f"https://{HOST}\t.evil.example/",
    f"https://{HOST}\n/",
    f" https://{HOST}/",
    f"https://{HOST} /",
    f"https:/{HOST}/",
    f"https:{HOST}/",
    f"//{HOST}/",
    f"https://{HOST}./",
    f"https://.{HOST}/",
    "https://api..provider.example/",
    f"https://-{HOST}/",
    f"https://{HOST}:0/",
    f"https://{HOST}:65536/",
    f"https://{HOST}:/",
    f"https://{HOST}:44e1/",
    "https://[::1/",
    "https://[]/",
    "https://[10.0.0.5]/x",
    "https:///v1",
    "https://",
    "",
    "https://\u0430pi.provider.example/",
    "https://\uff41\uff50\uff49.provider.example/",
    # other schemes
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "unix:///var/run/docker.sock",
    "ws://127.0.0.1/",
    "javascript:alert(1)",
]
NAMED = (HOST, "10.0.0.5", "203.0.113.0/24")
# What a resolver may say of HOST although HOST is named.
ANSWERS = [
    ["127.0.0.1"],
    ["127.8.8.8"],
    ["::1"],
    ["0.0.0.0"],  # noqa: S104 - what a resolver says
    ["::"],
    ["10.1.2.3"],
    ["172.31.255.255"],
    ["192.168.178.1"],
    ["169.254.169.254"],
    ["100.64.0.1"],
    ["168.63.129.16"],
    ["198.18.0.1"],
    ["192.0.2.1"],
    ["224.0.0.251"],
    ["255.255.255.255"],
    ["240.0.0.1"],
    ["fd12:3456::1"],
    ["fe80::1%2"],
    ["fec0::1"],
    ["ff02::1"],
    ["::ffff:127.0.0.1"],
    ["::ffff:169.254.169.254"],
    ["::127.0.0.1"],
    ["64:ff9b::10.0.0.1"],
    ["64:ff9b:1::1"],
    ["2002:7f00:1::"],
    ["2001::1"],
    ["2001:db8::1"],
    ["192.0.43.1", "127.0.0.1"],
    ["192.0.43.1", "192.0.43.2", "fd00::1"],
]


def ask(url: str, egress: tuple[str, ...]) -> Any:
    access = Access(redact=str, egress=egress)
    client = ProviderClient(provider="mine", model="m", url=url, access=access)
    try:
        return client.post("/embed", {"input": "a text"}, purpose="p", items=1, seconds=30)
    finally:
        access.close()


def test_the_corpus_is_as_large_as_promised():
    assert len({*URLS}) >= 60
    assert len(ANSWERS) >= 20


@pytest.mark.parametrize("egress", [(), NAMED])
@pytest.mark.parametrize("url", URLS)
def test_a_url_that_leads_elsewhere_is_refused_without_a_packet(url: str, egress: tuple[str, ...]):
    with network_events() as events, pytest.raises(EgressForbidden) as raised:
        ask(url, egress)
    assert events == []
    assert "password" not in raised.value.sentence.partition("holds")[0]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_name_that_stands_for_an_inner_address_is_not_connected_to(cloud: Cloud, answer: list[str]):
    server = cloud(HOST)
    cloud.addresses[HOST] = answer
    with network_events() as events, pytest.raises(EgressForbidden) as raised:
        ask(f"https://{HOST}/", (HOST,))
    assert events == []
    assert server.requests == []
    assert HOST in raised.value.sentence


def test_a_resolver_that_changes_its_answer_finds_no_second_question(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    """Rebinding: the first answer is good, so that it passes; every later one leads inside."""
    server = cloud(HOST)
    server.always(ok("from afar"))
    good = cloud.addresses[HOST]
    look_up = socket.getaddrinfo

    def rebind(*arguments: Any, **options: Any) -> Any:
        found = look_up(*arguments, **options)
        cloud.addresses[HOST] = ["169.254.169.254"]
        return found

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    with network_events() as events:
        assert ask(f"https://{HOST}/", (HOST,)) == "from afar"
        with pytest.raises(EgressForbidden, match=r"169\.254\.169\.254"):
            ask(f"https://{HOST}/", (HOST,))
    assert cloud.lookups == [HOST, HOST]
    assert [where for event, where in events if event == "socket.connect"] == [("127.0.0.1", server.port)]
    assert good != cloud.addresses[HOST]


def test_an_inner_address_that_is_named_beside_its_host_is_connected_to(cloud: Cloud):
    server = cloud(HOST)
    server.always(ok("near"))
    cloud.move(HOST, "10.7.0.9")
    with pytest.raises(EgressForbidden) as raised:
        ask(f"https://{HOST}/", (HOST,))
    assert f'egress = ["{HOST}", "10.7.0.9"]' in raised.value.remedy
    assert ask(f"https://{HOST}/", (HOST, "10.7.0.9")) == "near"
    assert ask(f"https://{HOST}/", (HOST, "10.7.0.0/16")) == "near"


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://API.Provider.Example/V1/", Endpoint("https", HOST, 443, "/V1")),
        ("HTTPS://api.provider.example:8443", Endpoint("https", HOST, 8443, "")),
        ("http://127.0.0.1:11434", Endpoint("http", "127.0.0.1", 11434, "")),
        ("http://[::1]:8080/v1", Endpoint("http", "::1", 8080, "/v1")),
        ("http://localhost/a/b/", Endpoint("http", "localhost", 80, "/a/b")),
        ("https://xn--bcher-kva.example", Endpoint("https", "xn--bcher-kva.example", 443, "")),
        ("https://my_models.corp.example", Endpoint("https", "my_models.corp.example", 443, "")),
    ],
)
def test_a_url_is_read_in_one_way(url: str, endpoint: Endpoint):
    assert parse_url(url) == endpoint


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://h.example", "h.example"),
        ("https://h.example:80", "h.example:80"),
        ("http://127.0.0.1:11434", "127.0.0.1:11434"),
        ("http://[::1]", "[::1]"),
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
def test_the_host_header_names_the_port_where_it_is_unusual(url: str, authority: str):
    assert parse_url(url).authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://127.9.9.9/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://models.localhost/",
        "https://localhost/",
    ],
)
def test_this_machine_may_be_asked_whatever_egress_says(url: str):
    endpoint = parse_url(url)
    assert endpoint.is_loopback
    check_endpoint(endpoint, ())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://h.example/v1", "https://H.example:443/v2", True),
        ("https://h.example/v1", "http://h.example/v1", False),
        ("https://h.example/v1", "https://h.example:8443/v1", False),
        ("https://h.example/v1", "https://h.example.evil/v1", False),
        ("https://h.example/v1", "no url", False),
    ],
)
def test_a_server_is_a_scheme_a_host_and_a_port(one: str, other: str, same: bool):
    assert same_server(one, other) is same


@given(st.text() | st.from_regex(r"https?://[!-~]{1,40}", fullmatch=True))
@example("http://[")
@example("https://[::ffff:]")
def test_any_text_is_a_server_or_refused(text: str):
    try:
        endpoint = parse_url(text)
    except EgressForbidden:
        return
    assert text.lower().startswith(f"{endpoint.scheme}://")
    assert endpoint.host in text.lower()
    assert endpoint.host.isascii()
    assert parse_url(f"{endpoint.scheme}://{endpoint.authority}{endpoint.path}") == endpoint


NUMBERS = st.one_of(
    st.integers(0, 2**32 - 1).map(str),
    st.integers(0, 2**32 - 1).map(hex),
    st.integers(0, 2**32 - 1).map(lambda number: f"0{number:o}"),
    st.integers(0, 255).map(str),
)


@given(st.lists(NUMBERS, min_size=1, max_size=4).map(".".join))
def test_a_host_of_numbers_is_an_address_as_everybody_writes_it_or_refused(host: str):
    """The C library reads 0x7f.1 and 2130706433 as addresses, other libraries as names."""
    try:
        endpoint = parse_url(f"https://{host}/")
    except EgressForbidden:
        return
    assert str(ipaddress.IPv4Address(host)) == host == str(endpoint.address)


IPV6 = st.ip_addresses(v=6) | st.sampled_from(
    ["::ffff:0:0/96", "64:ff9b::/96", "2002::/16", "2001::/23", "fc00::/7", "fe80::/10", "2000::/3"]
).flatmap(lambda network: st.ip_addresses(network=network))


@given(st.ip_addresses(v=4) | IPV6)
def test_an_address_behind_a_name_that_may_be_connected_to_is_public(address: Any):
    """The interpreter's own table is the second opinion; ours may be stricter."""
    try:
        check_addresses(Endpoint("https", HOST, 443, ""), [address], (HOST,))
    except EgressForbidden:
        return
    assert address.version == 4 or address in ipaddress.ip_network("2000::/3") or inner(address) is not None
    real = inner(address) or address
    assert real.is_global
    assert not any([real.is_multicast, real.is_loopback, real.is_link_local, real.is_private])


def inner(address: Any) -> ipaddress.IPv4Address | None:
    if address.version == 6 and address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour if address.version == 6 else None


@given(st.ip_addresses(network="127.0.0.0/8") | st.just(ipaddress.IPv6Address("::1")))
def test_this_machine_is_reached_by_its_own_name_alone(address: Any):
    check_addresses(Endpoint("http", "localhost", 80, ""), [address], ())
    with pytest.raises(EgressForbidden):
        check_addresses(Endpoint("https", HOST, 443, ""), [address], (HOST,))


@pytest.mark.parametrize("value", ["https://api.openai.com", "api.openai.com/v1", "a b", "*.example", "user@host", "é"])
def test_what_is_no_host_cannot_be_named_in_egress(value: str):
    with pytest.raises(SettingsInvalid, match="egress names"):
        load({"PERDURE_EGRESS": value})


def test_egress_names_hosts_addresses_and_networks():
    settings = load({"PERDURE_EGRESS": "api.openai.com, 10.0.0.0/8, fd00::/8, 192.168.1.7"})
    assert settings.egress == ("api.openai.com", "10.0.0.0/8", "fd00::/8", "192.168.1.7")
    assert load({"PERDURE_EGRESS": "none"}).egress == load({}).egress == ()
