"""What a server counts of itself, in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Final

from perdure.http.tallies import Tallies
from perdure.store.stats import StoreStats

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# How many requests are being answered.
RUNNING: Final = "running"
# Upper ends of the histogram, in seconds.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Requests by route and status, and how long they took."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies

    def begin(self) -> None:
        self._tallies.add(RUNNING)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request has ended."""
        self._tallies.add(RUNNING, -1)
        self._tallies.add(f"request {method} {status} {route}")
        self._tallies.add(f"bucket {bisect_left(_BUCKETS, seconds)}")
        self._tallies.add("seconds", seconds)

    def text(self, stats: StoreStats) -> str:
        requests: dict[tuple[str, str, int], int] = {}
        buckets: Counter[int] = Counter()
        totals = self._tallies.totals()
        for name, value in totals.items():
            kind, *rest = name.split(" ", 3)
            if kind == "request":
                requests[rest[0], rest[2], int(rest[1])] = int(value)
            elif kind == "bucket":
                buckets[int(rest[0])] = int(value)
        running = int(totals.get(RUNNING, 0))
        lines = request_lines(requests, buckets, totals.get("seconds", 0.0), running)
        return "\n".join([*lines, *store_lines(stats), ""])


def request_lines(
    requests: dict[tuple[str, str, int], int], buckets: Counter[int], seconds: float, running: int
) -> Iterator[str]:
    yield from _header("perdure_http_requests_total", "counter", "Requests by method, route and status.")
    for (method, route, status), count in sorted(requests.items()):
        yield f'perdure_http_requests_total{{method="{method}",route="{_label(route)}",status="{status}"}} {count}'
    yield from _header("perdure_http_request_seconds", "histogram", "How long requests took.")
    total = 0
    for place, end in enumerate(_BUCKETS):
        total += buckets[place]
        yield f'perdure_http_request_seconds_bucket{{le="{end}"}} {total}'
    total += buckets[len(_BUCKETS)]
    yield f'perdure_http_request_seconds_bucket{{le="+Inf"}} {total}'
    yield f"perdure_http_request_seconds_sum {seconds:.6f}"
    yield f"perdure_http_request_seconds_count {total}"
    yield from _header("perdure_http_requests_running", "gauge", "Requests that are being answered.")
    yield f"perdure_http_requests_running {running}"


def store_lines(stats: StoreStats) -> Iterator[str]:
    yield from _header("perdure_store_bytes", "gauge", "The size of the store's file.")
    yield f"perdure_store_bytes {stats.bytes}"
    yield from _header("perdure_memories", "gauge", "Memories by namespace and state.")
    for namespace in stats.namespaces:
        for state, count in sorted(namespace.states.items()):
            yield f'perdure_memories{{namespace="{_label(namespace.name)}",state="{state}"}} {count}'
    yield from _header("perdure_vectors_pending", "gauge", "Memories that wait for a vector.")
    for namespace in stats.namespaces:
        yield f'perdure_vectors_pending{{namespace="{_label(namespace.name)}"}} {namespace.vectors_pending}'


def _header(name: str, kind: str, help: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
