from hushrec.service import token_buckets
from hushrec.service.token_buckets import TokenBuckets


def test_a_burst_then_the_rate():
    buckets = TokenBuckets(rate=2, burst=5)
    assert [buckets.wait("192.0.2.1", 0.0) for _ in range(6)] == [0] * 5 + [1]
    assert buckets.wait("192.0.2.1", 0.4) == 1
    assert buckets.wait("192.0.2.1", 0.6) == 0
    assert buckets.wait("192.0.2.2", 0.6) == 0, "others have their own"
    assert [buckets.wait("192.0.2.1", 100.0) for _ in range(6)] == [0] * 5 + [1], (
        "no more than a burst is saved"
    )


def test_what_is_refused_says_how_long():
    buckets = TokenBuckets(rate=0.1, burst=1)
    assert [buckets.wait("192.0.2.1", 0.0), buckets.wait("192.0.2.1", 0.0)] == [0, 10]
    assert buckets.wait("192.0.2.1", 8.5) == 2


def test_asking_while_refused_does_not_make_the_wait_longer():
    buckets = TokenBuckets(rate=1, burst=1)
    buckets.wait("192.0.2.1", 0.0)
    assert all(buckets.wait("192.0.2.1", n / 100) == 1 for n in range(1, 99))
    assert buckets.wait("192.0.2.1", 1.01) == 0


def test_a_network_of_ipv6_is_one_client_and_mapped_ipv4_is_ipv4():
    buckets = TokenBuckets(rate=1, burst=1)
    assert buckets.wait("2001:db8::1", 0) == 0
    assert buckets.wait("2001:db8::ffff:2", 0) == 1
    assert buckets.wait("2001:db8:0:1::1", 0) == 0
    assert buckets.wait("192.0.2.1", 0) == 0
    assert buckets.wait("::ffff:192.0.2.1", 0) == 1
    assert buckets.wait("::ffff:192.0.2.2", 0) == 0


def test_the_table_is_bounded_and_odd_addresses_do_no_harm(monkeypatch):
    monkeypatch.setattr(token_buckets, "_CLIENTS", 100)
    buckets = TokenBuckets(rate=1, burst=1)
    for n in range(1000):
        buckets.wait(f"10.0.{n // 250}.{n % 250}", 0)
        buckets.wait("x" * n, 0)
    assert len(buckets) == 100


def test_no_rate_is_no_limit():
    buckets = TokenBuckets(rate=0, burst=0)
    assert not any(buckets.wait("192.0.2.1", 0) for _ in range(1000))
    assert len(buckets) == 0
