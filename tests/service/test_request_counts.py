import re

from hushrec.service.request_counts import RequestCounts

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? [0-9.]+')


def test_requests_bytes_and_seconds_are_counted_by_route():
    counts = RequestCounts()
    counts.add("/releases", 200, 100, 0.0005)
    counts.add("/releases", 200, 100, 0.02)
    counts.add("/releases", 304, 0, 99.0)
    text = counts.text({"hushrec_releases": ("Releases that are served.", 3)})
    assert text.endswith("\n")
    lines = text.splitlines()
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines)
    for line in (
        'hushrec_requests_total{route="/releases",status="200"} 2',
        'hushrec_requests_total{route="/releases",status="304"} 1',
        'hushrec_sent_bytes_total{route="/releases"} 200',
        'hushrec_request_seconds_bucket{route="/releases",le="0.001"} 1',
        'hushrec_request_seconds_bucket{route="/releases",le="0.025"} 2',
        'hushrec_request_seconds_bucket{route="/releases",le="30.0"} 2',
        'hushrec_request_seconds_bucket{route="/releases",le="+Inf"} 3',
        'hushrec_request_seconds_sum{route="/releases"} 99.020500',
        'hushrec_request_seconds_count{route="/releases"} 3',
        "hushrec_releases 3",
    ):
        assert line in lines
