"""What a fit takes, and how it is said."""

import pytest

from hushrec.privacy.query import Sum
from hushrec.statistics.footprint import Footprint, in_bytes, in_time


def test_a_model_that_does_not_say_is_judged_by_its_queries():
    """Never by nothing."""
    queries = [Sum("sums", 1.0, "l2", 1.0, 10**9), Sum("counts", 1.0, "l2", 1.0, 10**6)]
    assert Footprint.of(query.size for query in queries).memory >= 2 * 8 * 10**9
    assert Footprint.of([]).memory > 0


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 bytes"), (20, "20 bytes"), (1_450, "1.4 kB"), (177.4e9, "177 GB"), (3e18, "3,000 PB")],
)
def test_bytes(number, told):
    assert in_bytes(number) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0, "1 s"), (41.2, "42 s"), (90, "1.5 min"), (10_800, "3 h")]
)
def test_time(seconds, told):
    assert in_time(seconds) == told
