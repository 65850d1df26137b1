"""Seeded experiments: repeatable, without a promise, and of noise that claims none."""

import pytest

import hushrec as hr
from hushrec.curator import seeded
from hushrec.documents.words import Clause
from hushrec.errors import ConfigError
from hushrec.privacy.noise.entropy import OperatingSystem

ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_the_same_seed_gives_the_same_bytes_and_promises_nothing(small, budget):
    def made(seed):
        return seeded.fit(small, hr.GlobalEffects(), budget(1.0), entropy=hr.testing.Seeded(seed))

    one, other = made(0), made(0)
    assert [release.tensors["item_effects"].tobytes() for release in (one, other)] == [
        one.tensors["item_effects"].tobytes()
    ] * 2
    assert made(1).tensors["item_effects"].tobytes() != one.tensors["item_effects"].tobytes()
    assert one.statement.caveats == (Clause("unprotected.seeded"),)


def test_data_are_seeded_too(small):
    data = [
        seeded.randomize(small, hr.RandomizedResponse(), ROWS, entropy=hr.testing.Seeded(0)) for _ in range(2)
    ]
    assert data[0].table.equals(data[1].table)
    assert not data[0].statement.private


def test_noise_that_claims_to_be_private_is_refused(small, budget):
    with pytest.raises(ConfigError, match="pass entropy=Seeded"):
        seeded.fit(small, hr.GlobalEffects(), budget(1.0), entropy=OperatingSystem())
    with pytest.raises(ConfigError, match="call the verb of hushrec itself"):
        seeded.randomize(small, hr.RandomizedResponse(), ROWS, entropy=OperatingSystem())
