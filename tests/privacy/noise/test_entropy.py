"""Keys: fresh from the system, repeatable from a seed."""

import hashlib

import pytest

from hushrec.privacy.noise import entropy
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem, Seeded


def test_the_system_gives_fresh_keys() -> None:
    source: Entropy = OperatingSystem()
    keys = {source.key() for _ in range(1000)}
    assert source.private
    assert len(keys) == 1000
    assert {len(key) for key in keys} == {32}


def test_the_system_is_asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(entropy.os, "urandom", lambda size: asked.append(size) or bytes(size))
    source = OperatingSystem()
    assert source.key() == source.key() == bytes(32)
    assert asked == [32, 32]


def test_a_seed_repeats_itself_and_never_a_key() -> None:
    source: Entropy = Seeded(7)
    keys = [source.key() for _ in range(1000)]
    again = Seeded(7)
    assert keys == [again.key() for _ in range(1000)]
    assert len(set(keys)) == 1000
    assert not source.private


def test_seeds_do_not_share_keys() -> None:
    sources = [Seeded(seed) for seed in (0, 1, -1, 11, 2**70)]
    assert len({source.key() for source in sources for _ in range(20)}) == 100


def test_a_seeded_key_is_the_stated_hash() -> None:
    assert Seeded(12).key() == hashlib.sha256(b"hushrec seeded entropy\x0012\x001").digest()
