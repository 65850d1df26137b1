"""What a fit takes, and how it is said."""

import pytest

from hushrec.data.declarations import Crowd
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.sums.footprint import Footprint, in_bytes, in_time


def test_a_model_that_does_not_say_is_judged_by_its_queries():
    """Never by nothing."""
    queries = [Measurement("sums", 1.0, "l2", 1.0, 10**9), Measurement("counts", 1.0, "l2", 1.0, 10**6)]
    assert Footprint.of(query.size for query in queries).memory >= 2 * 8 * 10**9
    assert Footprint.of([]).memory > 0


def test_the_memory_of_a_declared_crowd_is_add_up():
    footprint, declared = Footprint(1e7, 20, 1000), Crowd(10_000, 1_000_000, declared=True)
    assert footprint.bytes_held(1_000_000, 10_000) == 4e7
    assert ", in all 40 MB for the expected 1,000,000; takes" in footprint.in_words(declared)
    assert "in all" not in footprint.in_words(declared._replace(declared=False))


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
