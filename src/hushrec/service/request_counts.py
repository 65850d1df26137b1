"""Counts of requests in Prometheus' text format: by route and status, of nobody in particular."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of seconds."""


class RequestCounts:
    """Requests, bytes and seconds by route. Routes are templates, so the number of lines is bounded.

    Privacy: public; holds no addresses, no paths and no times of day.
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._sent: Counter[str] = Counter()
        self._seconds: dict[str, list[int]] = {}
        self._total: Counter[str] = Counter()

    def add(self, route: str, status: int, sent: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: template of its route.
            status: of the response.
            sent: bytes of the response's body.
            seconds: from the request's headers to the last byte given to the system.
        """
        self._requests[route, status] += 1
        self._sent[route] += sent
        self._total[route] += seconds  # type: ignore[assignment]  # a Counter adds floats as well
        self._seconds.setdefault(route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1

    def text(self, gauges: Mapping[str, tuple[str, int]]) -> str:
        """All counts.

        Args:
            gauges: name → (help, value), of what is not counted but read.
        """
        return "\n".join([*self._lines(), *_gauges(gauges), ""])

    def _lines(self) -> Iterator[str]:
        yield from _head("hushrec_requests_total", "counter", "Requests answered.")
        for (route, status), count in sorted(self._requests.items()):
            yield f'hushrec_requests_total{{route="{route}",status="{status}"}} {count}'
        yield from _head("hushrec_sent_bytes_total", "counter", "Bytes of bodies sent.")
        for route, count in sorted(self._sent.items()):
            yield f'hushrec_sent_bytes_total{{route="{route}"}} {count}'
        yield from _head("hushrec_request_seconds", "histogram", "Seconds of a request.")
        for route, counts in sorted(self._seconds.items()):
            below = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                below += count
                yield f'hushrec_request_seconds_bucket{{route="{route}",le="{bound}"}} {below}'
            yield f'hushrec_request_seconds_sum{{route="{route}"}} {self._total[route]:.6f}'
            yield f'hushrec_request_seconds_count{{route="{route}"}} {below}'


def _gauges(gauges: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    for name, (told, value) in gauges.items():
        yield from _head(name, "gauge", told)
        yield f"{name} {value}"


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
